// SPDX-License-Identifier: GPL-2.0
/*
 * Router qdisc "estcp": applies the law of estcp_law.c to packets.
 *
 * On arrival the DSCP in the outermost IP header decides whether a packet is data of the class.
 * The TCP header is not read, and may be encrypted.  If data of the class is dropped, this may end
 * the phase.  When data of the class leaves, it gets the codepoint of the present phase, so data
 * that is in the queue when a phase ends already carries the codepoint of the next phase.  All
 * other packets share the queue and are not changed: echoes (which carry a codepoint back, and have
 * another DSCP), packets in which the two bits are ECN, and packets that could be dropped because
 * of a change of the bits (tcpcc_header_dsfield()).
 *
 * If a path has several such links, the codepoint of the last one reaches the receiver.
 */

#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <net/inet_ecn.h>

#include "estcp_law.h"
#include "sch_header.h"
#include "tcpcc_compat.h"
#include "tcpcc_pkt_sched.h"
#include "tcpcc_sched.h"

#define ESTCP_HOLDOFF_ERROR	"estcp: holdoff must be shorter than target"

struct estcp {
	struct estcp_law law;
	struct rnd_state dice;

	/* see struct tc_estcp_xstats */
	u64 marked;
	u64 unmarked;
	u64 plain;
	u64 foreign;
	u64 held;
	u64 unwritable;
};

/* Data that is kept with a packet while it is queued */
struct estcp_cb {
	u32 backlog;	/* the queue on its arrival, bytes */
	bool data;	/* of the class */
	u8 ecn;		/* ECN bits on its arrival */
};

static struct estcp_cb *estcp_cb(struct sk_buff *skb)
{
	struct qdisc_skb_cb *cb = qdisc_skb_cb(skb);

	BUILD_BUG_ON(sizeof(struct estcp_cb) > sizeof(cb->data));
	return (struct estcp_cb *)cb->data;
}

static void estcp_setup(void *state, u64 rate)
{
	struct estcp *estcp = state;

	memset(estcp, 0, sizeof(*estcp));
	prandom_seed_state(&estcp->dice, get_random_u64());
	estcp_law_init(&estcp->law, &estcp_default);
}

static void estcp_restart(void *state)
{
	struct estcp *estcp = state;

	estcp_law_init(&estcp->law, &estcp->law.config);
}

static __always_inline bool estcp_arrive(void *state, struct sk_buff *skb, u64 now_ns,
					 u32 backlog)
{
	struct estcp_cb *cb = estcp_cb(skb);
	struct estcp *estcp = state;
	int dsfield = tcpcc_header_dsfield(skb);

	cb->data = dsfield >> TCPCC_DSCP_SHIFT == estcp->law.config.dscp;
	if (!cb->data) {
		estcp->plain++;
		return true;
	}
	cb->backlog = backlog;
	cb->ecn = dsfield & INET_ECN_MASK;
	estcp->foreign += !!cb->ecn;
	if (unlikely(!estcp->law.running))
		estcp_law_start(&estcp->law, now_ns);
	return true;
}

static void estcp_drop(void *state, struct sk_buff *skb, u64 now_ns)
{
	const struct estcp_cb *cb = estcp_cb(skb);
	struct estcp *estcp = state;

	if (!cb->data)
		return;
	estcp_law_full(&estcp->law, cb->backlog);
	estcp->held += !estcp_law_overflow(&estcp->law, now_ns);
}

static __always_inline void estcp_depart(void *state, struct sk_buff *skb, u64 now_ns,
					 u32 backlog)
{
	const struct estcp_cb *cb = estcp_cb(skb);
	struct estcp *estcp = state;
	u8 ecn;

	estcp_law_queue(&estcp->law, backlog);
	if (!cb->data)
		return;
	if (unlikely(estcp_law_impatient(&estcp->law, now_ns)))
		estcp_law_hurry(&estcp->law, now_ns, backlog);

	ecn = estcp_law_codepoint(&estcp->law, prandom_u32_state(&estcp->dice));
	if (ecn != cb->ecn && unlikely(tcpcc_header_set_ecn(skb, ecn)))
		estcp->unwritable++;
	else if (ecn & TCPCC_ESTCP_MARK)
		estcp->marked++;
	else
		estcp->unmarked++;
}

static u32 estcp_shown_holdoff(const void *config)
{
	return estcp_holdoff_us(config);
}

static const struct tcpcc_option estcp_table[] = {
	TCPCC_OPTION(TCA_ESTCP_TARGET, struct estcp_config, target_us,
		     ESTCP_TARGET_MIN, ESTCP_TARGET_MAX,
		     "estcp: target must be from 200ms to 1000s: senders ignore shorter phases"),
	TCPCC_OPTION(TCA_ESTCP_GAMMA, struct estcp_config, gamma, 0, ESTCP_GAMMA_MAX,
		     "estcp: gamma must be from 0 to 4"),
	TCPCC_OPTION(TCA_ESTCP_KAPPA, struct estcp_config, kappa,
		     ESTCP_KAPPA_MIN, ESTCP_KAPPA_MAX,
		     "estcp: kappa must be from 0.001 to 4"),
	TCPCC_OPTION(TCA_ESTCP_FIRST, struct estcp_config, first_us,
		     TCPCC_ESTCP_G_MIN, TCPCC_ESTCP_G_MAX,
		     "estcp: g must be from 1024us to 16777216us"),
	TCPCC_OPTION(TCA_ESTCP_HOLDOFF, struct estcp_config, holdoff_us,
		     0, ESTCP_TARGET_MAX - 1,
		     ESTCP_HOLDOFF_ERROR, .shown = estcp_shown_holdoff),
	TCPCC_OPTION(TCA_ESTCP_PATIENCE, struct estcp_config, patience,
		     0, ESTCP_PATIENCE_MAX,
		     "estcp: patience must be from 0 to 1000000"),
	TCPCC_OPTION(TCA_ESTCP_DSCP, struct estcp_config, dscp,
		     TCPCC_ESTCP_DSCP_MIN, TCPCC_ESTCP_DSCP_MAX,
		     "estcp: dscp must be from 1 to 63: 0 is ordinary traffic"),
	{}
};

static int estcp_change(void *state, u64 rate, const void *config,
			struct netlink_ext_ack *extack)
{
	const struct estcp_config *c = config;
	struct estcp *estcp = state;

	if (c->holdoff_us >= c->target_us) {
		NL_SET_ERR_MSG(extack, ESTCP_HOLDOFF_ERROR);
		return -EINVAL;
	}
	estcp_law_configure(&estcp->law, c);
	return 0;
}

static void estcp_stats(void *state, u64 now_ns, u32 backlog,
			void *out, unsigned int *len)
{
	const struct estcp *estcp = state;
	const struct estcp_law *e = &estcp->law;
	struct tc_estcp_xstats *st = out;

	BUILD_BUG_ON(sizeof(*st) > TCPCC_STATS_MAX);
	*st = (struct tc_estcp_xstats) {
		.g		= estcp_law_g_us(e),
		.share		= (u64)e->share * ESTCP_UNIT >>
				  TCPCC_ESTCP_SCALE,
		.phase		= e->phase,
		.last		= e->last_us,
		.elapsed	= e->running ?
				  div_u64(now_ns - e->start_ns,
					  NSEC_PER_USEC) : 0,
		.running	= e->running,
		.marked		= estcp->marked,
		.unmarked	= estcp->unmarked,
		.plain		= estcp->plain,
		.foreign	= estcp->foreign,
		.held		= estcp->held,
		.unwritable	= estcp->unwritable,
	};
	*len = sizeof(*st);
}

static const struct tcpcc_hooks estcp_hooks = {
	.arrive	= estcp_arrive,
	.drop	= estcp_drop,
	.depart	= estcp_depart,
};

TCPCC_QDISC(estcp)

struct tcpcc_kind estcp_kind = {
	.ops		= TCPCC_QDISC_OPS(estcp),
	.hooks		= &estcp_hooks,
	.table		= estcp_table,
	.attr_max	= TCA_ESTCP_MAX,
	.state_size	= sizeof(struct estcp),
	.config_at	= offsetof(struct estcp, law.config),
	.config_size	= sizeof(struct estcp_config),
	.setup		= estcp_setup,
	.restart	= estcp_restart,
	.change		= estcp_change,
	.stats		= estcp_stats,
};

MODULE_ALIAS("sch_estcp");
MODULE_ALIAS_NET_SCH("estcp");
