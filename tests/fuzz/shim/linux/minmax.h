/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FUZZ_LINUX_MINMAX_H
#define _FUZZ_LINUX_MINMAX_H

#define min_t(type, a, b) ({						\
	type min_a = (a), min_b = (b);					\
	min_a < min_b ? min_a : min_b; })
#define max_t(type, a, b) ({						\
	type max_a = (a), max_b = (b);					\
	max_a > max_b ? max_a : max_b; })
#define min(a, b)	min_t(__typeof__((a) + (b)), a, b)
#define max(a, b)	max_t(__typeof__((a) + (b)), a, b)
#define clamp_t(type, value, lo, hi)	min_t(type, max_t(type, value, lo), hi)

#endif /* _FUZZ_LINUX_MINMAX_H */
