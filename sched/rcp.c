// SPDX-License-Identifier: GPL-2.0
/*
 * Router qdisc "rcp": applies the law of rcp_law.c to packets.
 *
 * A sender writes its rtt and a rate into the congestion header; at first this is the rate that the
 * sender asks for.  On arrival the qdisc reads the rtt.  On departure it lowers the rate to that of
 * this link, if that is less.  The receiver sends the result back to the sender.
 *
 * The control periods begin with the first packet that has a header.
 */

#include <linux/module.h>

#include "rcp_law.h"
#include "sch_header.h"
#include "tcpcc_pkt_sched.h"
#include "tcpcc_sched.h"

struct rcp {
	struct rcp_law law;

	/* see struct tc_rcp_xstats */
	struct tcpcc_arrivals arrivals;
	u64 lowered;
	u64 unwritable;
};

static void rcp_setup(void *state, u64 rate)
{
	struct rcp *rcp = state;

	memset(rcp, 0, sizeof(*rcp));
	rcp_law_init(&rcp->law, &rcp_default, rate);
}

static void rcp_restart(void *state)
{
	struct rcp *rcp = state;

	rcp_law_init(&rcp->law, &rcp->law.gains, rcp->law.capacity);
}

static inline void rcp_advance(struct rcp *rcp, u64 now_ns, u32 backlog)
{
	if (unlikely(rcp_law_due(&rcp->law, now_ns)))
		rcp_law_advance(&rcp->law, now_ns, backlog);
}

static __always_inline bool rcp_arrive(void *state, struct sk_buff *skb, u64 now_ns, u32 backlog)
{
	struct rcp *rcp = state;
	u32 info, rtt_us = 0;

	if (tcpcc_header_arrive(skb, TCPCC_FB_RCP, &rcp->arrivals, &info)) {
		rtt_us = tcpcc_fb_rtt_us(info);
		if (!rcp->law.running)
			rcp_law_start(&rcp->law, now_ns);
	}
	rcp_advance(rcp, now_ns, backlog);
	rcp_law_arrive(&rcp->law, qdisc_pkt_len(skb), rtt_us);
	return true;
}

static __always_inline void rcp_depart(void *state, struct sk_buff *skb, u64 now_ns, u32 backlog)
{
	const struct tcpcc_place *place = tcpcc_place(skb);
	struct rcp *rcp = state;
	u32 old, new;
	u8 *at;

	rcp_advance(rcp, now_ns, backlog + qdisc_pkt_len(skb));
	if (!place->word)
		return;
	at = tcpcc_header_at(skb, place);
	old = tcpcc_header_word(skb, place);
	new = tcpcc_fb_limit(old, rcp_law_rate(&rcp->law), false);
	if (new == old)
		return;
	if (tcpcc_header_change(skb, place, at, old, new))
		rcp->unwritable++;
	else
		rcp->lowered++;
}

static const struct tcpcc_option rcp_table[] = {
	TCPCC_OPTION(TCA_RCP_ALPHA, struct rcp_gains, alpha, 1, LAW_GAIN_MAX,
		     "rcp: alpha must be above 0 and at most 4"),
	TCPCC_OPTION(TCA_RCP_BETA, struct rcp_gains, beta, 0, LAW_GAIN_MAX,
		     "rcp: beta must be from 0 to 4"),
	TCPCC_OPTION(TCA_RCP_GAMMA, struct rcp_gains, gamma, 1, LAW_UNIT,
		     "rcp: gamma must be above 0 and at most 1"),
	TCPCC_OPTION(TCA_RCP_INTERVAL, struct rcp_gains, interval_us, 0, LAW_INTERVAL_MAX,
		     "rcp: interval must be 0 or from 1ms to 10s"),
	TCPCC_OPTION(TCA_RCP_FLOOR, struct rcp_gains, floor, 0, RCP_FLOOR_MAX,
		     "rcp: floor must be from 0 to 1000"),
	TCPCC_OPTION(TCA_RCP_START, struct rcp_gains, start, 1, LAW_UNIT,
		     "rcp: start must be above 0 and at most 1"),
	{}
};

static int rcp_change(void *state, u64 rate, const void *config,
		      struct netlink_ext_ack *extack)
{
	const struct rcp_gains *gains = config;
	struct rcp *rcp = state;

	if (gains->interval_us && gains->interval_us < LAW_INTERVAL_MIN) {
		NL_SET_ERR_MSG(extack, "rcp: interval must be 0 or from 1ms to 10s");
		return -EINVAL;
	}
	rcp->law.gains = *gains;
	if (rcp->law.running)
		rcp_law_set_capacity(&rcp->law, rate);
	else
		rcp_law_init(&rcp->law, gains, rate);
	return 0;
}

static void rcp_stats(void *state, u64 now_ns, u32 backlog, void *out, unsigned int *len)
{
	struct rcp *rcp = state;
	const struct rcp_law *r = &rcp->law;
	struct tc_rcp_xstats *st = out;

	BUILD_BUG_ON(sizeof(*st) > TCPCC_STATS_MAX);
	rcp_advance(rcp, now_ns, backlog);
	*st = (struct tc_rcp_xstats) {
		.rate		= rcp_law_rate(r),
		.input		= r->input,
		.interval	= r->interval_us,
		.rtt		= r->rtt_us,
		.queue		= r->queue,
		.running	= r->running,
		.periods	= r->periods,
		.headers	= rcp->arrivals.headers,
		.echoes		= rcp->arrivals.echoes,
		.plain		= rcp->arrivals.plain,
		.malformed	= rcp->arrivals.malformed,
		.lowered	= rcp->lowered,
		.unwritable	= rcp->unwritable,
	};
	*len = sizeof(*st);
}

static const struct tcpcc_hooks rcp_hooks = {
	.arrive	= rcp_arrive,
	.depart	= rcp_depart,
};

TCPCC_QDISC(rcp)

struct tcpcc_kind rcp_kind = {
	.ops		= TCPCC_QDISC_OPS(rcp),
	.hooks		= &rcp_hooks,
	.table		= rcp_table,
	.attr_max	= TCA_RCP_MAX,
	.state_size	= sizeof(struct rcp),
	.config_at	= offsetof(struct rcp, law.gains),
	.config_size	= sizeof(struct rcp_gains),
	.setup		= rcp_setup,
	.restart	= rcp_restart,
	.change		= rcp_change,
	.stats		= rcp_stats,
};

MODULE_ALIAS("sch_rcp");
MODULE_ALIAS_NET_SCH("rcp");
