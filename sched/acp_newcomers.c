// SPDX-License-Identifier: GPL-2.0
/*
 * Counts new flows of an ACP link at once.
 *
 * The law's estimate of the number of flows (Eq. 8) corrects a tenth of its error per control
 * period.  If a thousand flows begin within one round trip, all of them get a rate that was right
 * for the flows before, and they get the next rate only a round trip later.  So each flow that the
 * link has not seen recently counts at once: if n flows were known and one more comes, the desired
 * rate falls to n / (n + 1) of its value.  The sum of the desired rates of all flows does not
 * change, and the law continues from there.
 *
 * A flow sets a mark in one of ACP_PLACES = m places, by its hash.  The number of flows follows
 * from the share of places with a mark, live / m (linear counting): n = -m * ln(1 - live / m).  A
 * mark ends after ACP_MARKED periods without a packet.  If flows end, the desired rate does not
 * rise here; the law raises it when the input falls.  @known then falls by a sixteenth of the
 * difference per period, down to the number of flows plus a margin for chance (ACP_CHANCE).  So
 * @known is usually large enough already for short flows, which come and go all the time.
 */

#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/string.h>

#include "acp_newcomers.h"
#include "tcpcc_log2.h"

/* ACP_PLACES * ln 2 */
#define ACP_PLACES_LN2	2839

/*
 * If there are n short flows on average, their number varies by sqrt(n) by chance (Poisson).  Up to
 * three times as many more flows do not lower the desired rate (acp-fig6, acp-storm).
 */
#define ACP_CHANCE	3

/* @known falls by this part of the difference in a period, 2^-n */
#define ACP_KNOWN_FALLS	4

/* The number of flows that have set so many marks: 34068 if all places have one */
static u32 acp_newcomers_count(u32 live)
{
	u32 left = max(ACP_PLACES - live, 1U);
	u64 log = (ilog2(ACP_PLACES) << TCPCC_LOG2_SCALE) - tcpcc_log2(left);

	return (log * ACP_PLACES_LN2 + TCPCC_LOG2_ONE / 2) >> TCPCC_LOG2_SCALE;
}

/**
 * acp_newcomers_init() - initialise; no flow was seen yet
 * @c: flows
 * @flows: the number of flows that the law estimates, at least 1
 */
void acp_newcomers_init(struct acp_newcomers *c, u32 flows)
{
	memset(c, 0, sizeof(*c));
	c->known = flows;
}

/**
 * acp_newcomers_period() - end of a control period
 * @c: flows
 */
void acp_newcomers_period(struct acp_newcomers *c)
{
	u32 i, flows, live = 0;

	/* after an idle time many periods end at once; without marks there is no need to loop */
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
 * acp_newcomers_met() - a flow has set a mark in a place that had none
 * @c: flows
 *
 * Return: the previous @known if it has risen; 0 if it has not
 */
u32 acp_newcomers_met(struct acp_newcomers *c)
{
	u32 flows = acp_newcomers_count(++c->live), known = c->known;

	if (flows <= known)
		return 0;
	c->known = flows;
	return known;
}
