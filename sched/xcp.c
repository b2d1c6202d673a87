// SPDX-License-Identifier: GPL-2.0
/*
 * Router qdisc "xcp": applies the law of xcp_law.c to packets.
 *
 * A sender writes into the congestion header its rtt, the gap between two packets of its window,
 * and a change of its rate, at first the largest possible.  On arrival the qdisc reads the rtt and
 * the gap.  On departure it lowers the change to the feedback of this link for the packet.  The
 * receiver adds up the changes and sends the sum back.
 *
 * The control periods begin with the first packet that has a header.
 */

#include <linux/module.h>

#include "sch_header.h"
#include "tcpcc_pkt_sched.h"
#include "tcpcc_sched.h"
#include "xcp_law.h"

struct xcp {
	struct xcp_law law;

	/* see struct tc_xcp_xstats */
	struct tcpcc_arrivals arrivals;
	u64 changed;
	u64 unwritable;
};

static void xcp_setup(void *state, u64 rate)
{
	struct xcp *xcp = state;

	memset(xcp, 0, sizeof(*xcp));
	xcp_law_init(&xcp->law, &xcp_paper, rate);
}

static void xcp_restart(void *state)
{
	struct xcp *xcp = state;

	xcp_law_init(&xcp->law, &xcp->law.gains, xcp->law.capacity);
}

static inline void xcp_advance(struct xcp *xcp, u64 now_ns, u32 backlog)
{
	if (unlikely(xcp_law_due(&xcp->law, now_ns)))
		xcp_law_advance(&xcp->law, now_ns, backlog);
}

static __always_inline bool xcp_arrive(void *state, struct sk_buff *skb, u64 now_ns, u32 backlog)
{
	struct xcp *xcp = state;
	u32 info, rtt_us = 0, gap = XCP_NO_GAP;

	if (tcpcc_header_arrive(skb, TCPCC_FB_XCP, &xcp->arrivals, &info)) {
		rtt_us = min(tcpcc_fb_xcp_rtt_us(info), XCP_RTT_MOST);
		gap = xcp_gap_ns(rtt_us, tcpcc_fb_xcp_gap_ns(info));
		tcpcc_place(skb)->note = gap;
		if (!xcp->law.clock.running)
			xcp_law_start(&xcp->law, now_ns, backlog);
	}
	xcp_advance(xcp, now_ns, backlog);
	xcp_law_arrive(&xcp->law, qdisc_pkt_len(skb), rtt_us, gap);
	return true;
}

static __always_inline void xcp_depart(void *state, struct sk_buff *skb, u64 now_ns, u32 backlog)
{
	const struct tcpcc_place *place = tcpcc_place(skb);
	u32 len = qdisc_pkt_len(skb);
	struct xcp *xcp = state;
	u32 old, new;
	u8 *at;

	xcp_advance(xcp, now_ns, backlog + len);
	xcp_law_depart(&xcp->law, backlog);
	if (!place->word)
		return;
	at = tcpcc_header_at(skb, place);
	old = tcpcc_header_word(skb, place);
	new = tcpcc_fb_change_word(xcp_law_feedback(&xcp->law, len, place->note,
						    tcpcc_fb_change(old)));
	if (new == old)
		return;
	if (tcpcc_header_change(skb, place, at, old, new))
		xcp->unwritable++;
	else
		xcp->changed++;
}

static const struct tcpcc_option xcp_table[] = {
	TCPCC_OPTION(TCA_XCP_ALPHA, struct xcp_gains, alpha, 1, LAW_GAIN_MAX,
		     "xcp: alpha must be above 0 and at most 4"),
	TCPCC_OPTION(TCA_XCP_BETA, struct xcp_gains, beta, 0, LAW_GAIN_MAX,
		     "xcp: beta must be from 0 to 4"),
	TCPCC_OPTION(TCA_XCP_GAMMA, struct xcp_gains, gamma, 0, LAW_UNIT,
		     "xcp: gamma must be from 0 to 1"),
	{}
};

static int xcp_change(void *state, u64 rate, const void *config,
		      struct netlink_ext_ack *extack)
{
	const struct xcp_gains *gains = config;
	struct xcp *xcp = state;

	xcp->law.gains = *gains;
	xcp->law.capacity = rate;
	return 0;
}

static void xcp_stats(void *state, u64 now_ns, u32 backlog, void *out, unsigned int *len)
{
	struct xcp *xcp = state;
	const struct xcp_law *x = &xcp->law;
	struct tc_xcp_xstats *st = out;

	BUILD_BUG_ON(sizeof(*st) > TCPCC_STATS_MAX);
	xcp_advance(xcp, now_ns, backlog);
	*st = (struct tc_xcp_xstats) {
		.spare		= x->spare,
		.input		= x->input,
		.interval	= x->rtt_us,
		.queue		= x->clock.queue,
		.running	= x->clock.running,
		.periods	= x->periods,
		.headers	= xcp->arrivals.headers,
		.echoes		= xcp->arrivals.echoes,
		.plain		= xcp->arrivals.plain,
		.malformed	= xcp->arrivals.malformed,
		.changed	= xcp->changed,
		.unwritable	= xcp->unwritable,
	};
	*len = sizeof(*st);
}

static const struct tcpcc_hooks xcp_hooks = {
	.arrive	= xcp_arrive,
	.depart	= xcp_depart,
};

TCPCC_QDISC(xcp)

struct tcpcc_kind xcp_kind = {
	.ops		= TCPCC_QDISC_OPS(xcp),
	.hooks		= &xcp_hooks,
	.table		= xcp_table,
	.attr_max	= TCA_XCP_MAX,
	.state_size	= sizeof(struct xcp),
	.config_at	= offsetof(struct xcp, law.gains),
	.config_size	= sizeof(struct xcp_gains),
	.setup		= xcp_setup,
	.restart	= xcp_restart,
	.change		= xcp_change,
	.stats		= xcp_stats,
};

MODULE_ALIAS("sch_xcp");
MODULE_ALIAS_NET_SCH("xcp");
