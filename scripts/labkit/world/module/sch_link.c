// SPDX-License-Identifier: GPL-2.0
/*
 * sch_link: the wire of a bottleneck.  Its queue is a child qdisc.
 *
 *   tc qdisc add dev DEV root handle 1: link rate 100mbit
 *   tc qdisc add dev DEV parent 1: handle 10: pfifo limit 100
 *
 * With a rate, the link takes one packet at a time from the queue, and delivers it when its last
 * bit has been sent.  The first packet on an idle link takes bytes / rate, too, as in any network
 * card.  (tbf lets that packet pass at once, because its bucket is full.)  The remainder of each
 * division is added to the next packet, so that the rate is exact even at 400 Gb/s.
 *
 * Without a rate, the link serves its queue according to a Mahimahi trace.  A trace is a list of
 * times in ms.  At each time one packet of 1500 bytes may leave; this is one opportunity.  After
 * the last time the trace begins again.  The rules are those of Mahimahi's link_queue.cc (Netravali
 * et al., USENIX ATC 2015).  If the first packet does not need all bytes of an opportunity, the
 * next packets use the rest.  Opportunities are lost while the queue is empty.  A packet that is
 * longer than an opportunity takes several.  On this link a packet of 1500 bytes is a frame of
 * 1514, because the Ethernet header counts, as everywhere in the lab.  The file DIR/trace.DEV
 * contains the times, 32 bits little-endian each, relative to the time START of CLOCK_MONOTONIC.
 * DIR and START are module parameters.
 *
 * The statistics have the mean and the longest queue since they were last read.  They include every
 * packet, because samples of the queue would miss the bursts between them.  A reading resets the
 * statistics, so each sample of a series covers the time since the previous sample.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel_read_file.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/vmalloc.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#include "link.h"
#include "tcpcc_compat.h"

#define OPPORTUNITY	1514	/* bytes of a full frame */
#define LONGEST		(64 << 20)	/* bytes of a file */

static char *dir = "/run/lab";
module_param(dir, charp, 0444);
MODULE_PARM_DESC(dir, "where the files are that are named trace.DEV");

static unsigned long long start;
module_param(start, ullong, 0644);
MODULE_PARM_DESC(start, "when a trace begins, in ns of CLOCK_MONOTONIC (0)");

struct lab_link_sched_data {
	struct Qdisc *child;
	struct qdisc_watchdog watchdog;
	u32 queue_max;		/* packets, since the last reading of statistics */
	u64 queue_sum;		/* packets * ns, from the last reading */
	u64 summed_ns;		/* to this time */
	/* with a rate */
	u64 rate;		/* bytes/s; 0: a trace */
	bool split;		/* cut large packets into segments */
	struct sk_buff *wire;	/* the packet that is being sent */
	u64 free_ns;		/* time at which its last bit is sent */
	u64 remainder;		/* fraction of free_ns, in units of 1 / rate */
	/* with a trace */
	void *moments;		/* __le32, ms, in rising order */
	u32 count;
	u32 next;		/* index of the next moment */
	u64 base_ns;		/* start of this round of the trace */
	u32 credit;		/* bytes that may leave now */
};

static u64 moment_ms(const struct lab_link_sched_data *q, u32 i)
{
	return le32_to_cpu(((const __le32 *)q->moments)[i]);
}

static u64 next_ns(const struct lab_link_sched_data *q)
{
	return q->base_ns + moment_ms(q, q->next) * NSEC_PER_MSEC;
}

static void advance(struct lab_link_sched_data *q)
{
	if (++q->next == q->count) {
		q->next = 0;
		q->base_ns += moment_ms(q, q->count - 1) * NSEC_PER_MSEC;
	}
}

/* Updates queue_sum; to be called before the queue changes. */
static void sum_up(struct Qdisc *sch)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);
	u64 now = ktime_get_ns();

	q->queue_sum += sch->q.qlen * (now - q->summed_ns);
	q->summed_ns = now;
}

static int enqueue_one(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	int ret = qdisc_enqueue(skb, q->child, to_free);

	if (ret != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(ret))
			qdisc_qstats_drop(sch);
		return ret;
	}
	sch->qstats.backlog += len;
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

/* With offload, one packet in memory stands for several packets on the wire. */
static int enqueue_split(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sk_buff *segs, *next;
	int ret = NET_XMIT_DROP;

	segs = skb_gso_segment(skb, netif_skb_features(skb) & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segs))
		return qdisc_drop(skb, sch, to_free);
	skb_list_walk_safe(segs, segs, next) {
		skb_mark_not_on_list(segs);
		qdisc_skb_cb(segs)->pkt_len = segs->len;
		if (enqueue_one(segs, sch, to_free) == NET_XMIT_SUCCESS)
			ret = NET_XMIT_SUCCESS;
	}
	consume_skb(skb);
	return ret;
}

static int lab_link_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);

	sum_up(sch);
	if (!q->rate && !sch->q.qlen) {
		u64 now = ktime_get_ns();

		/* opportunities with an empty queue are lost */
		while (next_ns(q) <= now)
			advance(q);
		q->credit = 0;
	}
	if (q->split && skb_is_gso(skb))
		return enqueue_split(skb, sch, to_free);
	return enqueue_one(skb, sch, to_free);
}

static struct sk_buff *take(struct Qdisc *sch)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = qdisc_dequeue_peeked(q->child);

	if (skb) {
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
	}
	return skb;
}

/* Begins to send the next packet at the time @at_ns, if there is one. */
static void send_next(struct Qdisc *sch, u64 at_ns)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);
	u64 work;

	q->wire = take(sch);
	if (!q->wire) {
		q->remainder = 0;
		return;
	}
	work = qdisc_pkt_len(q->wire) * (u64)NSEC_PER_SEC + q->remainder;
	q->free_ns = at_ns + div64_u64_rem(work, q->rate, &q->remainder);
	qdisc_watchdog_schedule_ns(&q->watchdog, q->free_ns);
}

static struct sk_buff *dequeue_sent(struct Qdisc *sch)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);
	struct sk_buff *sent = NULL;
	u64 now = ktime_get_ns();

	if (!q->wire) {
		send_next(sch, now);
	} else if (q->free_ns <= now) {
		sent = q->wire;
		/* from the time when the wire was free, also if the timer is late */
		send_next(sch, q->free_ns);
	}
	return sent;
}

static struct sk_buff *dequeue_traced(struct Qdisc *sch)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = q->child->ops->peek(q->child);
	u64 now;

	if (!skb)
		return NULL;
	now = ktime_get_ns();
	while (q->credit < qdisc_pkt_len(skb) && next_ns(q) <= now) {
		q->credit += OPPORTUNITY;
		advance(q);
	}
	if (q->credit < qdisc_pkt_len(skb)) {
		qdisc_watchdog_schedule_ns(&q->watchdog, next_ns(q));
		return NULL;
	}
	skb = take(sch);
	if (skb)
		q->credit -= qdisc_pkt_len(skb);
	return skb;
}

static struct sk_buff *lab_link_dequeue(struct Qdisc *sch)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb;

	sum_up(sch);
	skb = q->rate ? dequeue_sent(sch) : dequeue_traced(sch);
	if (skb)
		qdisc_bstats_update(sch, skb);
	else	/* All packets that may leave at this time have left; the others wait. */
		q->queue_max = max(q->queue_max, sch->q.qlen);
	return skb;
}

static int read_moments(struct lab_link_sched_data *q, const char *dev,
			struct netlink_ext_ack *extack)
{
	char path[128];
	size_t size;
	ssize_t got;
	u32 i;

	snprintf(path, sizeof(path), "%s/trace.%s", dir, dev);
	got = kernel_read_file_from_path(path, 0, &q->moments, LONGEST, &size, READING_UNKNOWN);
	if (got < 0) {
		NL_SET_ERR_MSG(extack, "no file trace.DEV in the directory that dir names");
		return got;
	}
	q->count = got / sizeof(__le32);
	for (i = 1; i < q->count; i++)
		if (moment_ms(q, i) < moment_ms(q, i - 1))
			break;
	if (!q->count || i < q->count || !moment_ms(q, q->count - 1)) {
		NL_SET_ERR_MSG(extack, "the moments of a trace rise, and end later than at 0");
		return -EINVAL;
	}
	return 0;
}

#define RATE_MAX	125000000000ULL	/* 1 Tbit/s */

static const struct nla_policy lab_link_policy[TCA_LINK_MAX + 1] = {
	[TCA_LINK_RATE]		= { .type = NLA_U64 },
	[TCA_LINK_SPLIT]	= NLA_POLICY_MAX(NLA_U32, 1),
};

static int lab_link_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_LINK_MAX + 1];
	u64 rate;
	int err = nla_parse_nested(tb, TCA_LINK_MAX, opt, lab_link_policy, extack);

	if (err)
		return err;
	if (q->moments || !tb[TCA_LINK_RATE]) {
		NL_SET_ERR_MSG(extack, "give a rate; a link that follows a trace has no options");
		return -EINVAL;
	}
	rate = nla_get_u64(tb[TCA_LINK_RATE]);
	if (!rate || rate > RATE_MAX) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_LINK_RATE], "a rate is 8 bit/s to 1 Tbit/s");
		return -EINVAL;
	}
	sch_tree_lock(sch);
	q->rate = rate;
	q->remainder = 0;
	if (tb[TCA_LINK_SPLIT])
		q->split = nla_get_u32(tb[TCA_LINK_SPLIT]);
	sch_tree_unlock(sch);
	return 0;
}

static int lab_link_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);
	int err;

	qdisc_watchdog_init(&q->watchdog, sch);
	q->child = &noop_qdisc;
	q->base_ns = start;
	q->summed_ns = ktime_get_ns();
	if (opt && nla_len(opt))
		err = lab_link_change(sch, opt, extack);
	else
		err = read_moments(q, qdisc_dev(sch)->name, extack);
	if (err)
		return err;
	q->child = fifo_create_dflt(sch, &pfifo_qdisc_ops, qdisc_dev(sch)->tx_queue_len, extack);
	if (IS_ERR(q->child)) {
		err = PTR_ERR(q->child);
		q->child = &noop_qdisc;
	}
	return err;
}

static int lab_link_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);
	struct tc_link_xstats st = {};

	sum_up(sch);
	st.queue_sum = q->queue_sum;
	st.queue_max = q->queue_max;
	q->queue_sum = 0;
	q->queue_max = sch->q.qlen;
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static void lab_link_reset(struct Qdisc *sch)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);

	qdisc_reset(q->child);
	qdisc_watchdog_cancel(&q->watchdog);
	kfree_skb(q->wire);
	q->wire = NULL;
	q->credit = 0;
}

/* Also after a failed lab_link_init() */
static void lab_link_destroy(struct Qdisc *sch)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	kfree_skb(q->wire);
	qdisc_put(q->child);
	vfree(q->moments);
}

static int lab_link_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new,
			  struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ?: &noop_qdisc, &q->child);
	return 0;
}

static struct Qdisc *lab_link_leaf(struct Qdisc *sch, unsigned long arg)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);

	return q->child;
}

static unsigned long lab_link_find(struct Qdisc *sch, u32 classid)
{
	return 1;
}

static void lab_link_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop && walker->count++ >= walker->skip && walker->fn(sch, 1, walker) < 0)
		walker->stop = 1;
}

static int lab_link_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
			       struct tcmsg *tcm)
{
	struct lab_link_sched_data *q = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(1);
	tcm->tcm_info = q->child->handle;
	return 0;
}

static const struct Qdisc_class_ops lab_link_class_ops = {
	.graft	= lab_link_graft,
	.leaf	= lab_link_leaf,
	.find	= lab_link_find,
	.walk	= lab_link_walk,
	.dump	= lab_link_dump_class,
};

static struct Qdisc_ops lab_link_qdisc_ops __read_mostly = {
	.cl_ops		= &lab_link_class_ops,
	.id		= "link",
	.priv_size	= sizeof(struct lab_link_sched_data),
	.enqueue	= lab_link_enqueue,
	.dequeue	= lab_link_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= lab_link_init,
	.change		= lab_link_change,
	.dump_stats	= lab_link_dump_stats,
	.reset		= lab_link_reset,
	.destroy	= lab_link_destroy,
	.owner		= THIS_MODULE,
};

static int __init lab_link_module_init(void)
{
	return register_qdisc(&lab_link_qdisc_ops);
}

static void __exit lab_link_module_exit(void)
{
	unregister_qdisc(&lab_link_qdisc_ops);
}

module_init(lab_link_module_init);
module_exit(lab_link_module_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("The wire of a bottleneck: a rate, or a trace of Mahimahi's");
