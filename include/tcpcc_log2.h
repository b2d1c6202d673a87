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

#endif /* _TCPCC_LOG2_H */
