// SPDX-License-Identifier: GPL-2.0
/*
 * Flows that come to an ACP link, counted as they come.
 *
 * The law's estimate of the number of flows (Eq. 8) closes a tenth of its error in a
 * control period.  A thousand flows that begin within one round trip are all told a rate
 * that was right for those before them, and their windows are a round trip's flight from
 * the next word.  So each flow that the link has not seen lately counts at once: where n
 * flows were known and one comes, what the link wants of each falls to n / (n + 1).  The
 * sum of what is wanted stays, and so does the law, which goes on from there.
 *
 * A flow leaves a mark in one of ACP_PLACES places, by its hash.  From the share of places
 * without a mark follows how many flows there are (linear counting): n = -m * ln(1 - live /
 * m).  A mark goes after ACP_MARKED periods without a packet.  When flows go, what is
 * wanted of the others does not rise here: the law raises it, as it sees the link empty.
 * So the number that is known follows downward by a sixteenth of the difference in a
 * period, down to the flows that are there and as many more as chance may bring.  Short
 * flows, which come and go all the time, then find it large enough already.
 */

#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/string.h>

#include "acp_newcomers.h"
#include "tcpcc_log2.h"

/* ACP_PLACES * ln 2 */
#define ACP_PLACES_LN2	2839

/*
 * Where n short flows are there on average, sqrt(n) more or less are there by chance (Poisson):
 * up to three times that is no reason to want less of each (acp-fig6, acp-storm).
 */
#define ACP_CHANCE	3

/* By which part of the difference @known falls in a period, 2^-n */
#define ACP_KNOWN_FALLS	4

/* How many flows have left so many marks: 34068 if there is no place without */
static u32 acp_newcomers_count(u32 live)
{
	u32 left = max(ACP_PLACES - live, 1U);
	u64 log = (ilog2(ACP_PLACES) << TCPCC_LOG2_SCALE) - tcpcc_log2(left);

	return (log * ACP_PLACES_LN2 + TCPCC_LOG2_ONE / 2) >> TCPCC_LOG2_SCALE;
}

/**
 * acp_newcomers_init() - no flow was seen yet
 * @c: flows
 * @flows: how many the law takes to be there, at least 1
 */
void acp_newcomers_init(struct acp_newcomers *c, u32 flows)
{
	memset(c, 0, sizeof(*c));
	c->known = flows;
}

/**
 * acp_newcomers_period() - a control period has ended
 * @c: flows
 */
void acp_newcomers_period(struct acp_newcomers *c)
{
	u32 i, flows, live = 0;

	/* a link that was idle has many periods to reckon up, and no marks */
	for (i = 0; c->live && i < ACP_PLACES; i++) {
		c->mark[i] -= !!c->mark[i];
		live += !!c->mark[i];
	}
	c->live = live;
	flows = max(acp_newcomers_count(c->live), 1U);
	flows += ACP_CHANCE * int_sqrt(flows - 1);
	if (flows < c->known)
		c->known -= DIV_ROUND_UP(c->known - flows, 1 << ACP_KNOWN_FALLS);
}

/**
 * acp_newcomers_met() - a flow has left a mark where there was none
 * @c: flows
 *
 * Return: how many flows were known, if there are more now; else 0
 */
u32 acp_newcomers_met(struct acp_newcomers *c)
{
	u32 flows = acp_newcomers_count(++c->live), known = c->known;

	if (flows <= known)
		return 0;
	c->known = flows;
	return known;
}
