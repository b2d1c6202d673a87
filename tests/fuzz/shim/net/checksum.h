/* SPDX-License-Identifier: GPL-2.0 */
/* Fuzzing: sums in one's complement, RFC 1071, and their correction, RFC 1624 */
#ifndef _FUZZ_NET_CHECKSUM_H
#define _FUZZ_NET_CHECKSUM_H

#include <linux/skbuff.h>

static inline __wsum csum_add(__wsum a, __wsum b)
{
	u64 sum = (u64)a + b;

	return sum + (sum >> 32);
}

static inline __wsum csum_sub(__wsum a, __wsum b)
{
	return csum_add(a, ~b);
}

static inline __sum16 csum_fold(__wsum sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static inline void csum_replace4(__sum16 *check, __be32 from, __be32 to)
{
	__wsum sum = (u16)~*check;

	*check = csum_fold(csum_add(csum_sub(sum, from), to));
}

#endif /* _FUZZ_NET_CHECKSUM_H */
