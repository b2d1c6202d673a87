/* SPDX-License-Identifier: GPL-2.0 */
/* Who sends more than an ACP link granted; see acp_police.c. */
#ifndef _TCPCC_ACP_POLICE_H
#define _TCPCC_ACP_POLICE_H

#include <linux/siphash.h>
#include <linux/types.h>

/* Flows that are known at a time: a power of two of sets, and so many in each */
#define ACP_POLICE_SETS	256
#define ACP_POLICE_WAYS	4

/* How far a flow may be ahead of its grant: so many periods of it, and so many packets */
#define ACP_POLICE_PERIODS	8
#define ACP_POLICE_PACKETS	16

/* What a flow is always granted in a period: TCP's least window, and as much for chance */
#define ACP_POLICE_LEAST	2

/**
 * struct acp_police_set - flows whose hashes end alike
 * @used: what each has used of what was ever granted to one, bytes; a place is free if it
 *	is not ahead of that
 * @hash: of each
 */
struct acp_police_set {
	u64 used[ACP_POLICE_WAYS];
	u32 hash[ACP_POLICE_WAYS];
};

/**
 * struct acp_police - what flows have sent of what they were granted
 * @key: of the hashes, so that nobody can choose flows that collide
 * @granted: what one flow was granted since the beginning, bytes
 * @rate: what it is granted now, bytes/s
 * @time_ns: when @granted was reckoned up
 * @ahead: by how much a flow may be ahead of it, bytes
 * @set: the flows
 */
struct acp_police {
	siphash_key_t key;
	u64 granted;
	u64 rate;
	u64 time_ns;
	u64 ahead;
	struct acp_police_set set[ACP_POLICE_SETS];
};

void acp_police_grant(struct acp_police *p, u64 rate, u32 slack, u32 interval_us,
		      u32 size, u64 now_ns);
bool acp_police_exceeds(struct acp_police *p, u32 hash, u32 len);
u32 acp_police_over(const struct acp_police *p);

#endif /* _TCPCC_ACP_POLICE_H */
