/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Logarithms and powers to the base of 2, without floating point.
 */
#ifndef _TCPCC_LOG2_H
#define _TCPCC_LOG2_H

#include <linux/bitops.h>
#include <linux/types.h>

/* Logarithms are in units of 2^-16 */
#define TCPCC_LOG2_SCALE	16
#define TCPCC_LOG2_ONE		BIT(TCPCC_LOG2_SCALE)

/**
 * tcpcc_log2() - logarithm to the base of 2
 * @x: at least 1
 *
 * Each squaring of the mantissa gives one more bit of the fraction.
 *
 * Return: log2(x), TCPCC_LOG2_SCALE, rounded down
 */
static inline u32 tcpcc_log2(u32 x)
{
	u32 log = __fls(x);
	u64 mantissa = (u64)x << (31 - log);
	int i;

	for (i = 0; i < TCPCC_LOG2_SCALE; i++) {
		mantissa = mantissa * mantissa >> 31;
		log <<= 1;
		if (mantissa >> 32) {
			mantissa >>= 1;
			log |= 1;
		}
	}
	return log;
}

/**
 * tcpcc_exp2() - power of 2
 * @log: exponent, TCPCC_LOG2_SCALE, below 31
 *
 * Return: 2^log, rounded down
 */
static inline u32 tcpcc_exp2(u32 log)
{
	/* 2^(1/2), 2^(1/4), ..., in units of 2^-31 */
	static const u32 roots[TCPCC_LOG2_SCALE] = {
		0xb504f334, 0x9837f052, 0x8b95c1e4, 0x85aac368,
		0x82cd8699, 0x8164d1f4, 0x80b1ed50, 0x8058d7d3,
		0x802c6437, 0x8016302f, 0x800b179d, 0x80058baf,
		0x8002c5d0, 0x800162e6, 0x8000b173, 0x800058b9,
	};
	u64 mantissa = BIT_ULL(31);
	int i;

	for (i = 0; i < TCPCC_LOG2_SCALE; i++)
		if (log & BIT(TCPCC_LOG2_SCALE - 1 - i))
			mantissa = mantissa * roots[i] >> 31;
	return mantissa >> (31 - (log >> TCPCC_LOG2_SCALE));
}

/* c1 f - c2 f^2 + c3 f^3, all TCPCC_LOG2_SCALE, @f below 1 */
static inline u32 tcpcc_cubic(u64 f, u32 c1, u32 c2, u32 c3)
{
	return f * (c1 - (f * (c2 - (f * c3 >> TCPCC_LOG2_SCALE)) >> TCPCC_LOG2_SCALE)) >>
	       TCPCC_LOG2_SCALE;
}

/**
 * tcpcc_log2_near() - logarithm to the base of 2, for code that runs often
 * @x: at least 2^16
 *
 * log2(1 + f) is 1.4224 f - 0.5804 f^2 + 0.158 f^3, with an error of up to 0.00091.
 *
 * Return: log2(x), TCPCC_LOG2_SCALE, with an error of up to 0.001
 */
static inline u32 tcpcc_log2_near(u64 x)
{
	u32 log = fls64(x) - 1;
	u32 f = (x >> (log - TCPCC_LOG2_SCALE)) - TCPCC_LOG2_ONE;

	return (log << TCPCC_LOG2_SCALE) + tcpcc_cubic(f, 93218, 38034, 10352);
}

/**
 * tcpcc_reduce_near() - division by a power of 2, for code that runs often
 * @x: from 2^32 to 2^62
 * @log: logarithm of the divisor, TCPCC_LOG2_SCALE, below 32
 *
 * 2^-f is 1 - (0.6908 f - 0.2286 f^2 + 0.0378 f^3), with an error of up to 0.00016 of it.
 *
 * Return: @x / 2^@log, with an error of up to 0.0002 of it
 */
static inline u64 tcpcc_reduce_near(u64 x, u32 log)
{
	u32 f = log & (TCPCC_LOG2_ONE - 1);
	u32 share = TCPCC_LOG2_ONE - tcpcc_cubic(f, 45272, 14980, 2476);

	return (x >> TCPCC_LOG2_SCALE) * share >> (log >> TCPCC_LOG2_SCALE);
}

#endif /* _TCPCC_LOG2_H */
