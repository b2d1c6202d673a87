// SPDX-License-Identifier: GPL-2.0
/*
 * Router qdisc "acp": the law of acp_law.c at work on packets.
 *
 * Senders write into the congestion header their rtt and a rate, at first the
 * one they would like.  On arrival the rtt is read.  On departure the rate is
 * lowered to what this link wants, if that is less, and H_congestion is set if
 * the link is near its capacity.  The receiver sends back what it gets.
 *
 * Time begins with the first packet that has a header: until then there is
 * nothing to control.
 */

#include <linux/module.h>

#include "acp_law.h"
#include "sch_header.h"
#include "tcpcc_compat.h"
#include "tcpcc_pkt_sched.h"
#include "tcpcc_sched.h"

struct acp {
	struct acp_law law;

	/* see struct tc_acp_xstats */
	u64 headers;
	u64 echoes;
	u64 plain;
	u64 malformed;
	u64 lowered;
	u64 unwritable;
};

static void acp_setup(void *state, u64 rate)
{
	struct acp *acp = state;

	memset(acp, 0, sizeof(*acp));
	acp_law_init(&acp->law, &acp_paper, rate);
}

static void acp_restart(void *state)
{
	struct acp *acp = state;

	acp_law_init(&acp->law, &acp->law.gains, acp->law.capacity);
}

static void acp_advance(struct acp *acp, u64 now_ns, u32 backlog)
{
	if (acp_law_due(&acp->law, now_ns))
		acp_law_advance(&acp->law, now_ns, backlog);
}

static void acp_arrive(void *state, struct sk_buff *skb, u64 now_ns,
		       u32 backlog)
{
	struct tcpcc_fb_header h;
	struct acp *acp = state;
	u32 rtt_us = 0;

	switch (tcpcc_header_find(skb, &h)) {
	case 0:
		acp->plain++;
		break;
	case 1:
		if (h.has_word && h.protocol == TCPCC_FB_ACP) {
			rtt_us = h.rtt_us;
			acp->headers++;
			if (!acp->law.running)
				acp_law_start(&acp->law, now_ns, backlog);
			break;
		}
		/* another protocol's word is not ours to change */
		tcpcc_place(skb)->word = 0;
		if (h.has_word)
			acp->plain++;
		else
			acp->echoes++;
		break;
	default:
		acp->malformed++;
		break;
	}
	acp_advance(acp, now_ns, backlog);
	acp_law_arrive(&acp->law, qdisc_pkt_len(skb), rtt_us, backlog);
}

static void acp_depart(void *state, struct sk_buff *skb, u64 now_ns,
		       u32 backlog)
{
	const struct tcpcc_place *place = tcpcc_place(skb);
	struct acp *acp = state;
	u32 old, new;

	acp_advance(acp, now_ns, backlog + qdisc_pkt_len(skb));
	if (!place->word)
		return;
	old = tcpcc_header_word(skb, place);
	new = tcpcc_fb_limit(old, acp_law_rate(&acp->law), acp->law.congested);
	if (new == old)
		return;
	if (tcpcc_header_change(skb, place, old, new))
		acp->unwritable++;
	else if ((new ^ old) & TCPCC_FB_RATE_MASK)
		acp->lowered++;
}

static const struct tcpcc_option acp_table[] = {
	TCPCC_OPTION(TCA_ACP_KI, struct acp_gains, ki, 1, ACP_GAIN_MAX,
		     "acp: ki must be above 0 and at most 4"),
	TCPCC_OPTION(TCA_ACP_KQ, struct acp_gains, kq, 0, ACP_GAIN_MAX,
		     "acp: kq must be from 0 to 4"),
	TCPCC_OPTION(TCA_ACP_GAMMA, struct acp_gains, gamma, 1, ACP_UNIT,
		     "acp: gamma must be above 0 and at most 1"),
	TCPCC_OPTION(TCA_ACP_TARGET, struct acp_gains, target, 1, ACP_UNIT,
		     "acp: target must be above 0 and at most 1"),
	TCPCC_OPTION(TCA_ACP_CONGESTION, struct acp_gains, congestion, 1, ACP_UNIT,
		     "acp: congestion must be above 0 and at most 1"),
	TCPCC_OPTION(TCA_ACP_FLOWS, struct acp_gains, flows, 1, ACP_FLOWS_MAX,
		     "acp: flows must be from 1 to 16777216"),
	TCPCC_OPTION(TCA_ACP_INTERVAL, struct acp_gains, interval_us,
		     ACP_INTERVAL_MIN, ACP_INTERVAL_MAX,
		     "acp: interval must be from 1ms to 10s"),
	{}
};

static int acp_change(void *state, u64 rate, const void *config,
		      struct netlink_ext_ack *extack)
{
	const struct acp_gains *g = config;
	struct acp *acp = state;
	struct acp_gains was = acp->law.gains;

	acp->law.gains = *g;
	if (rate != acp->law.capacity)
		acp_law_set_capacity(&acp->law, rate);
	/* what the link begins with does not change one that has begun */
	if (!acp->law.running && (g->flows != was.flows ||
				  g->interval_us != was.interval_us))
		acp_law_init(&acp->law, g, rate);
	return 0;
}

static void acp_stats(void *state, u64 now_ns, u32 backlog,
		      void *out, unsigned int *len)
{
	struct acp *acp = state;
	const struct acp_law *a = &acp->law;
	struct tc_acp_xstats *st = out;

	BUILD_BUG_ON(sizeof(*st) > TCPCC_STATS_MAX);
	acp_advance(acp, now_ns, backlog);
	*st = (struct tc_acp_xstats) {
		.desired	= acp_law_rate(a),
		.input		= a->input,
		.flows		= a->flows * 1000 >> ACP_SCALE,
		.interval	= a->interval_us,
		.queue		= a->queue,
		.congested	= a->congested,
		.running	= a->running,
		.periods	= a->periods,
		.headers	= acp->headers,
		.echoes		= acp->echoes,
		.plain		= acp->plain,
		.malformed	= acp->malformed,
		.lowered	= acp->lowered,
		.unwritable	= acp->unwritable,
	};
	*len = sizeof(*st);
}

struct tcpcc_kind acp_kind = {
	.ops		= TCPCC_QDISC_OPS("acp"),
	.table		= acp_table,
	.attr_max	= TCA_ACP_MAX,
	.state_size	= sizeof(struct acp),
	.config_at	= offsetof(struct acp, law.gains),
	.config_size	= sizeof(struct acp_gains),
	.setup		= acp_setup,
	.restart	= acp_restart,
	.change		= acp_change,
	.arrive		= acp_arrive,
	.depart		= acp_depart,
	.stats		= acp_stats,
};

MODULE_ALIAS("sch_acp");
MODULE_ALIAS_NET_SCH("acp");
