// SPDX-License-Identifier: GPL-2.0
/*
 * Router qdiscs: the common part of all kinds.
 *
 * A qdisc is a link with its own rate and one FIFO queue, limited in packets.  A struct tcpcc_kind
 * makes it acp or another kind.  The kind is called for each packet that arrives or leaves.
 *
 * The rate is configured, not learned from a device, because the law must know its capacity, and
 * the queue must be in this qdisc.  Packets leave one by one, each after the time of the previous
 * packet on the wire.  That time is kept with a fraction of a ns, so that the rate is exact even if
 * a packet takes only a few ns.  If the watchdog fires late, by at most TCPCC_CATCH_UP, no capacity
 * is lost: the packets that should have left leave at once.
 *
 * Reading the clock is the most expensive operation per packet.  So the last reading from the same
 * tick is used in two cases: if a packet arrives at a queue that is not empty, and if the wire was
 * already free at that reading when a packet leaves.  A packet may therefore count for a period
 * that has ended before.  The error is at most the time of a packet on the wire, or a tick while
 * the device is stopped.  Each packet counts exactly once in any case.
 *
 * Large packets are cut into segments before they are queued, because each segment has a header to
 * change, and the limit is in packets.  (As in tbf and cake, the size of a segment is its own
 * length, without what a size table of tc's "stab" would add.)
 *
 * There is no timer for the control periods.  A law computes the periods that have ended when a
 * packet arrives or leaves, or when statistics are read.  The result is the same, because in
 * between nothing changes that the end of a period depends on.  A timer would need the lock of the
 * root, it would have to end before the queue and the module do, and a thousand idle links would
 * have a thousand running timers.
 */

#include <linux/module.h>
#include <linux/skbuff.h>

#include "tcpcc_compat.h"
#include "tcpcc_param.h"
#include "tcpcc_pkt_sched.h"
#include "tcpcc_sched.h"

TCPCC_PARAM(bandwidth, 0, 0, 1000000000,
	    "bandwidth of a link if tc gives none, kbit/s; 0: tc must give it");
TCPCC_PARAM(limit, 1000, 1, 100000000,
	    "limit of a link if tc gives none, packets");

static const struct tcpcc_kind *tcpcc_kind(const struct Qdisc *sch)
{
	return container_of(sch->ops, struct tcpcc_kind, ops);
}

/* The struct of options of a kind */
static const u32 *tcpcc_config(struct Qdisc *sch)
{
	struct tcpcc_sched *q = qdisc_priv(sch);

	return (const u32 *)((u8 *)q->state + tcpcc_kind(sch)->config_at);
}

/* @mult has as many bits as fit: its product with a length of 20 bits must fit 64 bits. */
static void tcpcc_set_rate(struct tcpcc_sched *q, u64 rate)
{
	u64 mult = div64_u64(NSEC_PER_SEC, rate);
	u8 shift = 64 - TCPCC_LEN_BITS - 1 - fls64(mult);

	/* NSEC_PER_SEC has 30 bits, so 34 can be shifted at once */
	shift = min_t(u8, shift, 34);
	q->mult = div64_u64((u64)NSEC_PER_SEC << shift, rate);
	q->shift = shift;
	q->rate = rate;
	q->free_part = 0;
}

/**
 * tcpcc_enqueue_segments() - cut a large packet into segments, and queue them
 * @skb: a packet of several segments
 * @sch: the qdisc
 * @now_ns: time
 * @to_free: list to which dropped packets are added
 *
 * Return: NET_XMIT_SUCCESS, or NET_XMIT_DROP if no segment was queued
 */
int tcpcc_enqueue_segments(struct sk_buff *skb, struct Qdisc *sch, u64 now_ns,
			   struct sk_buff **to_free)
{
	const struct tcpcc_hooks *hooks = tcpcc_kind(sch)->hooks;
	netdev_features_t features = netif_skb_features(skb);
	unsigned int len = 0, queued = 0, whole = qdisc_pkt_len(skb);
	struct sk_buff *segs, *next;

	segs = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segs))
		return qdisc_drop(skb, sch, to_free);

	skb_list_walk_safe(segs, segs, next) {
		skb_mark_not_on_list(segs);
		tcpcc_segment_len(segs);
		if (tcpcc_enqueue_one(segs, sch, now_ns, to_free, hooks) ==
		    NET_XMIT_SUCCESS) {
			queued++;
			len += qdisc_pkt_len(segs);
		}
	}
	if (!queued) {
		kfree_skb(skb);
		return NET_XMIT_DROP;
	}
	/* the caller counts one packet of the original size */
	qdisc_tree_reduce_backlog(sch, 1 - queued, whole - len);
	consume_skb(skb);
	return NET_XMIT_SUCCESS;
}

static void tcpcc_new_rate(struct Qdisc *sch, u64 rate)
{
	struct tcpcc_sched *q = qdisc_priv(sch);
	u64 now_ns = ktime_get_ns();
	u64 free_ns = q->free_ns;

	tcpcc_set_rate(q, rate);
	/* a packet that was sent at a very low rate must not block the wire for long */
	q->free_ns = now_ns;
	tcpcc_spend(q, psched_mtu(qdisc_dev(sch)));
	q->free_ns = min(q->free_ns, free_ns);
	if (sch->q.head)
		qdisc_watchdog_schedule_ns(&q->watchdog,
					   max(q->free_ns, now_ns));
}

/* The options of all kinds have one type; their ranges are in the tables of the kinds. */
static const struct nla_policy tcpcc_policy[TCPCC_ATTR_MAX + 1] = {
	[TCA_TCPCC_BANDWIDTH]			= { .type = NLA_U64 },
	[TCA_TCPCC_LIMIT]			= { .type = NLA_U32 },
	[TCA_TCPCC_KIND ... TCPCC_ATTR_MAX]	= { .type = NLA_U32 },
};

/* Copies the options in @tb into @config, the struct of options of a kind. */
static int tcpcc_take(const struct tcpcc_option *o, struct nlattr **tb,
		      u32 *config, struct netlink_ext_ack *extack)
{
	for (; o->attr; o++) {
		u32 value;

		if (!tb[o->attr])
			continue;
		value = nla_get_u32(tb[o->attr]);
		if (value < o->min || value > o->max) {
			NL_SET_BAD_ATTR(extack, tb[o->attr]);
			if (extack)
				extack->_msg = o->error;
			return -EINVAL;
		}
		config[o->at / sizeof(u32)] = value;
	}
	return 0;
}

int tcpcc_sched_change(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	const struct tcpcc_kind *kind = tcpcc_kind(sch);
	struct tcpcc_sched *q = qdisc_priv(sch);
	u32 config[TCPCC_CONFIG_MAX / sizeof(u32)];
	struct nlattr *tb[TCPCC_ATTR_MAX + 1];
	u64 rate = q->rate;
	u32 most = q->limit;
	int err;

	err = nla_parse_nested(tb, kind->attr_max, opt, tcpcc_policy, extack);
	if (err < 0)
		return err;

	if (tb[TCA_TCPCC_BANDWIDTH]) {
		rate = nla_get_u64(tb[TCA_TCPCC_BANDWIDTH]);
		if (rate < TCPCC_BANDWIDTH_MIN || rate > TCPCC_BANDWIDTH_MAX) {
			NL_SET_ERR_MSG_ATTR(extack, tb[TCA_TCPCC_BANDWIDTH],
					    "bandwidth must be from 1kbit to 1tbit");
			return -EINVAL;
		}
	}
	if (tb[TCA_TCPCC_LIMIT]) {
		most = nla_get_u32(tb[TCA_TCPCC_LIMIT]);
		if (!most) {
			NL_SET_ERR_MSG_ATTR(extack, tb[TCA_TCPCC_LIMIT],
					    "limit must be at least 1 packet");
			return -EINVAL;
		}
	}
	if (!rate) {
		NL_SET_ERR_MSG(extack,
			       "bandwidth is missing: give one, or set the module parameter sch_tcpcc.bandwidth");
		return -EINVAL;
	}

	sch_tree_lock(sch);
	if (!q->rate)
		kind->setup(q->state, rate);
	memcpy(config, tcpcc_config(sch), kind->config_size);
	err = tcpcc_take(kind->table, tb, config, extack);
	if (!err)
		err = kind->change(q->state, rate, config, extack);
	if (!err) {
		/* packets beyond a smaller limit stay in the queue; it applies to arrivals */
		WRITE_ONCE(q->limit, most);
		if (rate != q->rate)
			tcpcc_new_rate(sch, rate);
	}
	sch_tree_unlock(sch);
	return err;
}

int tcpcc_sched_init(struct Qdisc *sch, struct nlattr *opt,
		     struct netlink_ext_ack *extack)
{
	const struct tcpcc_kind *kind = tcpcc_kind(sch);
	struct tcpcc_sched *q = qdisc_priv(sch);
	u32 config[TCPCC_CONFIG_MAX / sizeof(u32)];
	/* kbit/s to bytes/s */
	u64 rate = READ_ONCE(bandwidth) * 125ULL;

	qdisc_watchdog_init(&q->watchdog, sch);
	q->limit = READ_ONCE(limit);
	if (rate) {
		kind->setup(q->state, rate);
		tcpcc_set_rate(q, rate);
	}
	if (opt)
		return tcpcc_sched_change(sch, opt, extack);
	if (!rate) {
		NL_SET_ERR_MSG(extack,
			       "bandwidth is missing: give one, or set the module parameter sch_tcpcc.bandwidth");
		return -EINVAL;
	}
	/* the defaults, which may need memory of the kind */
	memcpy(config, tcpcc_config(sch), kind->config_size);
	return kind->change(q->state, rate, config, extack);
}

void tcpcc_sched_reset(struct Qdisc *sch)
{
	struct tcpcc_sched *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	qdisc_watchdog_cancel(&q->watchdog);
	q->free_ns = 0;
	q->free_part = 0;
	if (q->rate)
		tcpcc_kind(sch)->restart(q->state);
}

void tcpcc_sched_destroy(struct Qdisc *sch)
{
	const struct tcpcc_kind *kind = tcpcc_kind(sch);
	struct tcpcc_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	if (kind->destroy)
		kind->destroy(q->state);
}

int tcpcc_sched_dump(struct Qdisc *sch, struct sk_buff *msg)
{
	const struct tcpcc_option *o = tcpcc_kind(sch)->table;
	const u32 *config = tcpcc_config(sch);
	struct tcpcc_sched *q = qdisc_priv(sch);
	struct nlattr *nest = nla_nest_start_noflag(msg, TCA_OPTIONS);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(msg, TCA_TCPCC_BANDWIDTH, READ_ONCE(q->rate),
			      TCA_TCPCC_PAD) ||
	    nla_put_u32(msg, TCA_TCPCC_LIMIT, READ_ONCE(q->limit)))
		goto full;
	for (; o->attr; o++) {
		u32 value = READ_ONCE(config[o->at / sizeof(u32)]);

		if (nla_put_u32(msg, o->attr, o->shown ? o->shown(config) : value))
			goto full;
	}
	return nla_nest_end(msg, nest);
full:
	nla_nest_cancel(msg, nest);
	return -EMSGSIZE;
}

int tcpcc_sched_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tcpcc_sched *q = qdisc_priv(sch);
	u64 stats[TCPCC_STATS_MAX / sizeof(u64)];
	unsigned int len = 0;

	sch_tree_lock(sch);
	tcpcc_kind(sch)->stats(q->state, ktime_get_ns(), sch->qstats.backlog,
			       stats, &len);
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, stats, len);
}

static struct tcpcc_kind * const tcpcc_kinds[] = {
	&acp_kind,
	&estcp_kind,
	&rcp_kind,
	&xcp_kind,
};

static int __init tcpcc_sched_register(void)
{
	int i, err;

	for (i = 0; i < ARRAY_SIZE(tcpcc_kinds); i++) {
		struct tcpcc_kind *kind = tcpcc_kinds[i];

		err = -EINVAL;
		if (WARN_ON(kind->attr_max > TCPCC_ATTR_MAX ||
			    kind->state_size > TCPCC_STATE_MAX ||
			    kind->config_size > TCPCC_CONFIG_MAX))
			goto undo;
		kind->ops.priv_size = offsetof(struct tcpcc_sched, state) +
				      kind->state_size;
		err = register_qdisc(&kind->ops);
		if (err)
			goto undo;
	}
	return 0;
undo:
	while (i--)
		unregister_qdisc(&tcpcc_kinds[i]->ops);
	return err;
}

static void __exit tcpcc_sched_unregister(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(tcpcc_kinds); i++)
		unregister_qdisc(&tcpcc_kinds[i]->ops);
}

module_init(tcpcc_sched_register);
module_exit(tcpcc_sched_unregister);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Routers with explicit feedback: qdiscs acp, estcp, rcp, xcp");
