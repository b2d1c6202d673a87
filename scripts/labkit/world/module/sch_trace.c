// SPDX-License-Identifier: GPL-2.0
/*
 * sch_trace: a link that serves its queue as a trace of Mahimahi's says.
 *
 * A trace is a list of moments, in ms, at each of which one packet of 1500 bytes may leave; after
 * the last one it begins anew.  As in Mahimahi's link_queue.cc (Netravali et al., USENIX ATC 2015):
 * bytes of an opportunity that the packet at the head does not need go to those behind it, what an
 * empty queue leaves unused is lost, and a packet that is longer than an opportunity takes several.
 * On this link a packet of 1500 bytes is a frame of 1514: Ethernet's header counts, as everywhere.
 *
 * tbf can't do it: each change of its rate fills its bucket again, and starts no timer.
 *
 *   tc qdisc add dev DEV root handle 1: trace
 *   tc qdisc add dev DEV parent 1: handle 10: pfifo limit 100
 *
 * tc knows no options of it: the moments are in the file DIR/trace.DEV, 32 bits little-endian each,
 * from START on CLOCK_MONOTONIC on; both are parameters of the module.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel_read_file.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/vmalloc.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#define OPPORTUNITY	1514	/* bytes of a full frame */
#define LONGEST		(64 << 20)	/* bytes of a file */

static char *dir = "/run/lab";
module_param(dir, charp, 0444);
MODULE_PARM_DESC(dir, "where the files are that are named trace.DEV");

static unsigned long long start;
module_param(start, ullong, 0644);
MODULE_PARM_DESC(start, "when a trace begins, in ns of CLOCK_MONOTONIC (0)");

struct lab_trace_sched_data {
	struct Qdisc *child;
	struct qdisc_watchdog watchdog;
	void *moments;		/* __le32, in ms, rising */
	u32 count;
	u32 next;		/* of the moments */
	u64 base_ns;		/* when this round of the trace began */
	u32 credit;		/* bytes that may leave now */
};

static u64 moment_ms(const struct lab_trace_sched_data *q, u32 i)
{
	return le32_to_cpu(((const __le32 *)q->moments)[i]);
}

static u64 next_ns(const struct lab_trace_sched_data *q)
{
	return q->base_ns + moment_ms(q, q->next) * NSEC_PER_MSEC;
}

static void advance(struct lab_trace_sched_data *q)
{
	if (++q->next == q->count) {
		q->next = 0;
		q->base_ns += moment_ms(q, q->count - 1) * NSEC_PER_MSEC;
	}
}

static int lab_trace_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct lab_trace_sched_data *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	int ret;

	if (!sch->q.qlen) {
		u64 now = ktime_get_ns();

		/* nobody was there to use them */
		while (next_ns(q) <= now)
			advance(q);
		q->credit = 0;
	}
	ret = qdisc_enqueue(skb, q->child, to_free);
	if (ret != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(ret))
			qdisc_qstats_drop(sch);
		return ret;
	}
	sch->qstats.backlog += len;
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *lab_trace_dequeue(struct Qdisc *sch)
{
	struct lab_trace_sched_data *q = qdisc_priv(sch);
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
		qdisc_qstats_overlimit(sch);
		return NULL;
	}
	skb = qdisc_dequeue_peeked(q->child);
	if (unlikely(!skb))
		return NULL;
	q->credit -= qdisc_pkt_len(skb);
	qdisc_qstats_backlog_dec(sch, skb);
	sch->q.qlen--;
	qdisc_bstats_update(sch, skb);
	return skb;
}

static int read_moments(struct lab_trace_sched_data *q, const char *dev,
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

static int lab_trace_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct lab_trace_sched_data *q = qdisc_priv(sch);
	int err;

	qdisc_watchdog_init(&q->watchdog, sch);
	q->child = &noop_qdisc;
	q->base_ns = start;
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

static void lab_trace_reset(struct Qdisc *sch)
{
	struct lab_trace_sched_data *q = qdisc_priv(sch);

	qdisc_reset(q->child);
	qdisc_watchdog_cancel(&q->watchdog);
	q->credit = 0;
}

/* Also after a failed lab_trace_init() */
static void lab_trace_destroy(struct Qdisc *sch)
{
	struct lab_trace_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	qdisc_put(q->child);
	vfree(q->moments);
}

static int lab_trace_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new,
			   struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct lab_trace_sched_data *q = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ?: &noop_qdisc, &q->child);
	return 0;
}

static struct Qdisc *lab_trace_leaf(struct Qdisc *sch, unsigned long arg)
{
	struct lab_trace_sched_data *q = qdisc_priv(sch);

	return q->child;
}

static unsigned long lab_trace_find(struct Qdisc *sch, u32 classid)
{
	return 1;
}

static void lab_trace_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop && walker->count++ >= walker->skip && walker->fn(sch, 1, walker) < 0)
		walker->stop = 1;
}

static int lab_trace_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
				struct tcmsg *tcm)
{
	struct lab_trace_sched_data *q = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(1);
	tcm->tcm_info = q->child->handle;
	return 0;
}

static const struct Qdisc_class_ops lab_trace_class_ops = {
	.graft	= lab_trace_graft,
	.leaf	= lab_trace_leaf,
	.find	= lab_trace_find,
	.walk	= lab_trace_walk,
	.dump	= lab_trace_dump_class,
};

static struct Qdisc_ops lab_trace_qdisc_ops __read_mostly = {
	.cl_ops		= &lab_trace_class_ops,
	.id		= "trace",
	.priv_size	= sizeof(struct lab_trace_sched_data),
	.enqueue	= lab_trace_enqueue,
	.dequeue	= lab_trace_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= lab_trace_init,
	.reset		= lab_trace_reset,
	.destroy	= lab_trace_destroy,
	.owner		= THIS_MODULE,
};

static int __init lab_trace_module_init(void)
{
	return register_qdisc(&lab_trace_qdisc_ops);
}

static void __exit lab_trace_module_exit(void)
{
	unregister_qdisc(&lab_trace_qdisc_ops);
}

module_init(lab_trace_module_init);
module_exit(lab_trace_module_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A link that serves its queue as a trace of Mahimahi's says");
