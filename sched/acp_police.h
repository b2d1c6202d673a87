/* SPDX-License-Identifier: GPL-2.0 */
/* Flows that send more than an ACP link granted; see acp_police.c. */
#ifndef _TCPCC_ACP_POLICE_H
#define _TCPCC_ACP_POLICE_H

#include <linux/siphash.h>
#include <linux/types.h>

/* Size of the table of flows: the number of sets, a power of two, and of flows in each set */
#define ACP_POLICE_SETS	256
#define ACP_POLICE_WAYS	4

/* A flow may be ahead by the grant of so many periods plus so many packets */
#define ACP_POLICE_PERIODS	8
#define ACP_POLICE_PACKETS	16

/* The least grant of a period, packets: TCP's least window, and as much again for chance */
#define ACP_POLICE_LEAST	2

/**
 * struct acp_police_set - flows whose hashes have the same low bits
 * @used: what each flow has used of the sum of all grants, bytes; a place is free if this is not
 *	more than @granted of struct acp_police
 * @hash: of each flow
 */
struct acp_police_set {
	u64 used[ACP_POLICE_WAYS];
	u32 hash[ACP_POLICE_WAYS];
};

/**
 * struct acp_police - grants, and the flows that are ahead of them
 * @key: key of the hashes, so that flows that collide cannot be chosen on purpose
 * @granted: sum of what one flow was granted since the beginning, bytes
 * @rate: the present grant, bytes/s
 * @time_ns: time of the last update of @granted
 * @ahead: by how much a flow may be ahead of @granted, bytes
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
