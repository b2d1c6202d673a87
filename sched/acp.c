// SPDX-License-Identifier: GPL-2.0
/*
 * Router qdisc "acp": applies the law of acp_law.c to packets.
 *
 * A sender writes its rtt and a rate into the congestion header; at first this is the rate that the
 * sender asks for.  On arrival the qdisc reads the rtt.  On departure it lowers the rate to the
 * desired rate of this link, if that is less, and sets H_congestion if the link is near its
 * capacity.  The receiver sends the result back to the sender.
 *
 * The control periods begin with the first packet that has a header.  Before it there is nothing to
 * control.
 *
 * With the option police, packets that exceed the grant of their flow are dropped on arrival while
 * the link is near its capacity.  The law does not count them; see acp_police.c.  With the option
 * newcomers a new flow counts at once; see acp_newcomers.c.
 */

#include <linux/module.h>

#include <linux/random.h>
#include <linux/slab.h>

#include "acp_law.h"
#include "acp_newcomers.h"
#include "acp_police.h"
#include "sch_header.h"
#include "tcpcc_compat.h"
#include "tcpcc_pkt_sched.h"
#include "tcpcc_sched.h"

struct acp {
	struct acp_law law;
	struct acp_police *police;	/* NULL: off */
	u64 policed_before;		/* @policed when this period began */
	bool policing;			/* the last period was congested, or packets were policed */
	struct acp_newcomers *newcomers;	/* NULL: off, only the law estimates N */

	/* see struct tc_acp_xstats */
	struct tcpcc_arrivals arrivals;
	u64 lowered;
	u64 unwritable;
	u64 policed;
};

static void acp_setup(void *state, u64 rate)
{
	struct acp *acp = state;

	memset(acp, 0, sizeof(*acp));
	acp_law_init(&acp->law, &acp_paper, rate);
	/* unlike the paper: there, flows that begin at the same time lose packets (acp-storm) */
	acp->law.gains.newcomers = 1;
}

static void acp_destroy(void *state)
{
	struct acp *acp = state;

	kfree(acp->police);
	acp->police = NULL;
	kfree(acp->newcomers);
	acp->newcomers = NULL;
}

static void acp_restart(void *state)
{
	struct acp *acp = state;

	acp_law_init(&acp->law, &acp->law.gains, acp->law.capacity);
	acp->policing = false;
	if (acp->newcomers)
		acp_newcomers_init(acp->newcomers, acp->law.gains.flows);
}

/* Computes the periods and windows that have ended */
static noinline void acp_reckon(struct acp *acp, u64 now_ns, u32 backlog)
{
	struct acp_law *a = &acp->law;
	u64 periods = a->periods;

	acp_law_advance(a, now_ns, backlog);
	if (a->periods == periods)
		return;
	for (; acp->newcomers && periods != a->periods; periods++)
		acp_newcomers_period(acp->newcomers);
	if (!acp->police)
		return;
	acp_police_grant(acp->police, acp_law_rate(a), a->gains.police,
			 a->interval_us, a->size, now_ns);
	acp->policing = a->congested || acp->policed != acp->policed_before;
	acp->policed_before = acp->policed;
}

static inline void acp_advance(struct acp *acp, u64 now_ns, u32 backlog)
{
	if (unlikely(acp_law_due(&acp->law, now_ns)))
		acp_reckon(acp, now_ns, backlog);
}

static bool acp_exceeds(struct acp *acp, struct sk_buff *skb)
{
	u32 hash = skb_get_hash_perturb(skb, &acp->police->key);

	return acp_police_exceeds(acp->police, hash, qdisc_pkt_len(skb)) &&
	       acp->policing;
}

/* A packet with a word has arrived: if its flow is new, lower the desired rate. */
static void acp_meet(struct acp *acp, struct sk_buff *skb)
{
	u32 was = acp_newcomers_saw(acp->newcomers, skb_get_hash(skb));

	if (was)
		acp_law_share(&acp->law, was, acp->newcomers->known);
}

static __always_inline bool acp_arrive(void *state, struct sk_buff *skb, u64 now_ns,
				       u32 backlog)
{
	struct acp *acp = state;
	u32 info, rtt_us = 0;

	if (tcpcc_header_arrive(skb, TCPCC_FB_ACP, &acp->arrivals, &info)) {
		rtt_us = tcpcc_fb_rtt_us(info);
		if (!acp->law.clock.running)
			acp_law_start(&acp->law, now_ns, backlog);
	}
	acp_advance(acp, now_ns, backlog);
	if (acp->police && acp_exceeds(acp, skb)) {
		acp->policed++;
		return false;
	}
	if (acp->newcomers && tcpcc_place(skb)->word)
		acp_meet(acp, skb);
	acp_law_arrive(&acp->law, qdisc_pkt_len(skb), rtt_us, backlog);
	return true;
}

static __always_inline void acp_depart(void *state, struct sk_buff *skb, u64 now_ns,
				       u32 backlog)
{
	const struct tcpcc_place *place = tcpcc_place(skb);
	struct acp *acp = state;
	u32 old, new;
	u8 *at;

	acp_advance(acp, now_ns, backlog + qdisc_pkt_len(skb));
	if (!place->word)
		return;
	at = tcpcc_header_at(skb, place);
	old = tcpcc_header_word(skb, place);
	new = tcpcc_fb_limit(old, acp_law_rate(&acp->law), acp->law.congested);
	if (new == old)
		return;
	if (tcpcc_header_change(skb, place, at, old, new))
		acp->unwritable++;
	else if ((new ^ old) & TCPCC_FB_RATE_MASK)
		acp->lowered++;
}

static const struct tcpcc_option acp_table[] = {
	TCPCC_OPTION(TCA_ACP_KI, struct acp_gains, ki, 1, LAW_GAIN_MAX,
		     "acp: ki must be above 0 and at most 4"),
	TCPCC_OPTION(TCA_ACP_KQ, struct acp_gains, kq, 0, LAW_GAIN_MAX,
		     "acp: kq must be from 0 to 4"),
	TCPCC_OPTION(TCA_ACP_GAMMA, struct acp_gains, gamma, 1, LAW_UNIT,
		     "acp: gamma must be above 0 and at most 1"),
	TCPCC_OPTION(TCA_ACP_TARGET, struct acp_gains, target, 1, LAW_UNIT,
		     "acp: target must be above 0 and at most 1"),
	TCPCC_OPTION(TCA_ACP_CONGESTION, struct acp_gains, congestion, 1, LAW_UNIT,
		     "acp: congestion must be above 0 and at most 1"),
	TCPCC_OPTION(TCA_ACP_FLOWS, struct acp_gains, flows, 1, ACP_FLOWS_MAX,
		     "acp: flows must be from 1 to 16777216"),
	TCPCC_OPTION(TCA_ACP_INTERVAL, struct acp_gains, interval_us,
		     LAW_INTERVAL_MIN, LAW_INTERVAL_MAX,
		     "acp: interval must be from 1ms to 10s"),
	TCPCC_OPTION(TCA_ACP_POLICE, struct acp_gains, police, 0, LAW_UNIT,
		     "acp: police must be from 0 to 1"),
	TCPCC_OPTION(TCA_ACP_NEWCOMERS, struct acp_gains, newcomers, 0, 1,
		     "acp: newcomers must be 0 or 1"),
	{}
};

static int acp_change(void *state, u64 rate, const void *config,
		      struct netlink_ext_ack *extack)
{
	const struct acp_gains *g = config;
	struct acp *acp = state;
	struct acp_gains was = acp->law.gains;
	struct acp_newcomers *newcomers = NULL;
	struct acp_police *police = NULL;

	/* allocate first: if that fails nothing has changed */
	if (g->police && !acp->police) {
		police = kzalloc(sizeof(*police), GFP_ATOMIC | __GFP_NOWARN);
		if (!police) {
			NL_SET_ERR_MSG(extack, "acp: not enough memory for police: try again");
			return -ENOMEM;
		}
	}
	if (g->newcomers && !acp->newcomers) {
		newcomers = kmalloc(sizeof(*newcomers), GFP_ATOMIC | __GFP_NOWARN);
		if (!newcomers) {
			kfree(police);
			NL_SET_ERR_MSG(extack, "acp: not enough memory for newcomers: try again");
			return -ENOMEM;
		}
	}
	if (police) {
		get_random_bytes(&police->key, sizeof(police->key));
		acp->police = police;
		/* no grant has been computed yet */
		acp->policing = false;
	} else if (!g->police) {
		kfree(acp->police);
		acp->police = NULL;
	}
	if (newcomers) {
		/* flows that are there already are not new */
		acp_newcomers_init(newcomers, acp->law.clock.running ?
				   (acp->law.flows >> ACP_SCALE) + 1 : was.flows);
		acp->newcomers = newcomers;
	} else if (!g->newcomers) {
		kfree(acp->newcomers);
		acp->newcomers = NULL;
	}

	acp->law.gains = *g;
	if (rate != acp->law.capacity)
		acp_law_set_capacity(&acp->law, rate);
	/* initial values have no effect on a link that has started */
	if (!acp->law.clock.running && (g->flows != was.flows ||
					g->interval_us != was.interval_us)) {
		acp_law_init(&acp->law, g, rate);
		if (acp->newcomers)
			acp_newcomers_init(acp->newcomers, g->flows);
	}
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
		.queue		= a->clock.queue,
		.congested	= a->congested,
		.running	= a->clock.running,
		.periods	= a->periods,
		.headers	= acp->arrivals.headers,
		.echoes		= acp->arrivals.echoes,
		.plain		= acp->arrivals.plain,
		.malformed	= acp->arrivals.malformed,
		.lowered	= acp->lowered,
		.unwritable	= acp->unwritable,
		.policed	= acp->policed,
		.over		= acp->police ? acp_police_over(acp->police) : 0,
		.known		= acp->newcomers ? acp->newcomers->known : 0,
	};
	*len = sizeof(*st);
}

static const struct tcpcc_hooks acp_hooks = {
	.arrive	= acp_arrive,
	.depart	= acp_depart,
};

TCPCC_QDISC(acp)

struct tcpcc_kind acp_kind = {
	.ops		= TCPCC_QDISC_OPS(acp),
	.hooks		= &acp_hooks,
	.table		= acp_table,
	.attr_max	= TCA_ACP_MAX,
	.state_size	= sizeof(struct acp),
	.config_at	= offsetof(struct acp, law.gains),
	.config_size	= sizeof(struct acp_gains),
	.setup		= acp_setup,
	.restart	= acp_restart,
	.destroy	= acp_destroy,
	.change		= acp_change,
	.stats		= acp_stats,
};

MODULE_ALIAS("sch_acp");
MODULE_ALIAS_NET_SCH("acp");
