/* SPDX-License-Identifier: GPL-2.0 */
/* New flows of an ACP link; see acp_newcomers.c. */
#ifndef _TCPCC_ACP_NEWCOMERS_H
#define _TCPCC_ACP_NEWCOMERS_H

#include <linux/compiler.h>
#include <linux/types.h>

/* Number of places for the marks of flows, a power of two: enough to count up to 34000 flows */
#define ACP_PLACES	4096

/* A mark stays for so many control periods: long enough for a round trip */
#define ACP_MARKED	4

/**
 * struct acp_newcomers - how many flows a link has seen
 * @known: known number of flows, at least 1; if more are counted, the desired rate falls
 * @live: number of places with a mark
 * @mark: for each place, the number of periods that its mark stays; 0: no mark
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
 * acp_newcomers_saw() - a packet of a flow has arrived
 * @c: flows
 * @hash: of the flow
 *
 * Return: the previous @known if it has risen; 0 if it has not
 */
static inline u32 acp_newcomers_saw(struct acp_newcomers *c, u32 hash)
{
	u8 *mark = &c->mark[hash % ACP_PLACES];
	bool marked = *mark;

	*mark = ACP_MARKED;
	return likely(marked) ? 0 : acp_newcomers_met(c);
}

#endif /* _TCPCC_ACP_NEWCOMERS_H */
