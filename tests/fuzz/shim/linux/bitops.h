/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FUZZ_LINUX_BITOPS_H
#define _FUZZ_LINUX_BITOPS_H

#include <linux/types.h>

#define BIT(n)	(1UL << (n))
#define BIT_ULL(n)	(1ULL << (n))

/* Number of the highest bit that is set, from 1; 0 if no bit is set */
static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline u32 ror32(u32 x, unsigned int n)
{
	return x >> (n & 31) | x << (-n & 31);
}

#endif /* _FUZZ_LINUX_BITOPS_H */
