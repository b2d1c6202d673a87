/* SPDX-License-Identifier: GPL-2.0 */
/* Flows that come to an ACP link; see acp_newcomers.c. */
#ifndef _TCPCC_ACP_NEWCOMERS_H
#define _TCPCC_ACP_NEWCOMERS_H

#include <linux/compiler.h>
#include <linux/types.h>

/* Places in which flows leave a mark, a power of two: up to 34000 flows can be told */
#define ACP_PLACES	4096

/* A mark stays for so many control periods, in which a round trip has time enough */
#define ACP_MARKED	4

/**
 * struct acp_newcomers - how many flows a link has seen
 * @known: more flows than these lower what the link wants of each; at least 1
 * @live: places with a mark
 * @mark: of each place, for how many more periods it stays; 0: none
 */
struct acp_newcomers {
	u32 known;
	u32 live;
	u8 mark[ACP_PLACES];
};

void acp_newcomers_init(struct acp_newcomers *c, u32 flows);
void acp_newcomers_period(struct acp_newcomers *c);
u32 acp_newcomers_met(struct acp_newcomers *c);

/**
 * acp_newcomers_saw() - a packet of a flow has come
 * @c: flows
 * @hash: of the flow
 *
 * Return: how many flows were known, if there are more now; else 0
 */
static inline u32 acp_newcomers_saw(struct acp_newcomers *c, u32 hash)
{
	u8 *mark = &c->mark[hash % ACP_PLACES];
	bool marked = *mark;

	*mark = ACP_MARKED;
	return likely(marked) ? 0 : acp_newcomers_met(c);
}

#endif /* _TCPCC_ACP_NEWCOMERS_H */
