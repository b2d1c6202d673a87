/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the core of the router qdiscs (sch_core.c) and the kinds, each of
 * which is a control law and what it reads from and writes to packets.
 */
#ifndef _TCPCC_SCHED_H
#define _TCPCC_SCHED_H

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/time64.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

/* What a kind may have at most: attributes, and bytes of state, options and statistics */
#define TCPCC_ATTR_MAX	31
#define TCPCC_STATE_MAX	384
#define TCPCC_CONFIG_MAX	64
#define TCPCC_STATS_MAX	160

/**
 * struct tcpcc_option - an option of a kind: a u32 in its struct of options
 * @attr: attribute; 0: the table ends here
 * @at: where it is in that struct, bytes
 * @min: the least that it may be, in the attribute's unit
 * @max: the most
 * @error: what is said of any other
 * @shown: what a dump has instead of the value itself, which it gets; may be NULL
 */
struct tcpcc_option {
	u16 attr;
	u16 at;
	u32 min;
	u32 max;
	const char *error;
	u32 (*shown)(const void *config);
};

/* The option of @_member of @_struct; what is left out in @... is NULL */
#define TCPCC_OPTION(_attr, _struct, _member, _min, _max, _error, ...)	\
	{								\
		.attr	= (_attr),					\
		.at	= offsetof(_struct, _member),			\
		.min	= (_min),					\
		.max	= (_max),					\
		.error	= (_error),					\
		__VA_ARGS__						\
	}

/**
 * struct tcpcc_hooks - what a kind does with each packet
 * @arrive: a packet is here, and will be queued or dropped; false: drop it
 * @drop: and now it is dropped, for the queue is full; may be NULL
 * @depart: a packet leaves, and may be marked
 *
 * @state is the kind's own.  All run under the lock of the queue.  @backlog is the queue in
 * bytes, of which the packet is no part when it arrives or departs.
 */
struct tcpcc_hooks {
	bool (*arrive)(void *state, struct sk_buff *skb, u64 now_ns,
		       u32 backlog);
	void (*drop)(void *state, struct sk_buff *skb, u64 now_ns);
	void (*depart)(void *state, struct sk_buff *skb, u64 now_ns,
		       u32 backlog);
};

/**
 * struct tcpcc_kind - a kind of router
 * @ops: for the kernel; see TCPCC_QDISC_OPS()
 * @hooks: for packets
 * @table: its options
 * @attr_max: the last of its attributes
 * @state_size: bytes of its state, at most TCPCC_STATE_MAX
 * @config_at: where in its state the struct of its options is, bytes
 * @config_size: and how many it has, at most TCPCC_CONFIG_MAX
 * @setup: the state of a new link of @rate bytes/s
 * @restart: to that state, but with the options as they are
 * @change: takes a struct of options, each within its range, all or, with an error,
 *	none.  @rate is the bandwidth as it will be, bytes/s
 * @destroy: the link goes, or never was complete; may be NULL
 * @stats: its TCA_XSTATS at the time @now_ns, at most TCPCC_STATS_MAX bytes
 *
 * @state is the kind's own.  All callbacks run under the lock of the queue.
 */
struct tcpcc_kind {
	struct Qdisc_ops ops;
	const struct tcpcc_hooks *hooks;
	const struct tcpcc_option *table;
	unsigned int attr_max;
	unsigned int state_size;
	unsigned int config_at;
	unsigned int config_size;

	void (*setup)(void *state, u64 rate);
	void (*restart)(void *state);
	void (*destroy)(void *state);
	int (*change)(void *state, u64 rate, const void *config,
		      struct netlink_ext_ack *extack);
	void (*stats)(void *state, u64 now_ns, u32 backlog, void *out,
		      unsigned int *len);
};

extern struct tcpcc_kind acp_kind;
extern struct tcpcc_kind estcp_kind;
extern struct tcpcc_kind rcp_kind;
extern struct tcpcc_kind xcp_kind;

int tcpcc_enqueue_segments(struct sk_buff *skb, struct Qdisc *sch, u64 now_ns,
			   struct sk_buff **to_free);
int tcpcc_sched_init(struct Qdisc *sch, struct nlattr *opt,
		     struct netlink_ext_ack *extack);
void tcpcc_sched_reset(struct Qdisc *sch);
void tcpcc_sched_destroy(struct Qdisc *sch);
int tcpcc_sched_change(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack);
int tcpcc_sched_dump(struct Qdisc *sch, struct sk_buff *msg);
int tcpcc_sched_dump_stats(struct Qdisc *sch, struct gnet_dump *d);

/* How far the shaper may have fallen behind and still make up for it, ns */
#define TCPCC_CATCH_UP	NSEC_PER_MSEC

/* A packet is at most this long, bytes, or its time would overflow */
#define TCPCC_LEN_BITS	20

/**
 * struct tcpcc_sched - a link
 * @rate: its bandwidth, bytes/s
 * @limit: of its queue, packets
 * @mult: time of a byte on the wire, ns << @shift
 * @shift: see @mult
 * @free_ns: when the wire is free for the next packet
 * @free_part: and the fraction of ns to that, ns << @shift
 * @now_ns: what the clock said last
 * @now_jiffies: the tick of that
 * @watchdog: wakes us then
 * @state: the kind's
 */
struct tcpcc_sched {
	u64 rate;
	u32 limit;
	u8 shift;
	u64 mult;
	u64 free_ns;
	u64 free_part;
	u64 now_ns;
	unsigned long now_jiffies;
	struct qdisc_watchdog watchdog;
	u64 state[TCPCC_STATE_MAX / sizeof(u64)];
};

static inline void tcpcc_spend(struct tcpcc_sched *q, u32 len)
{
	u64 part = q->free_part + min_t(u32, len, BIT(TCPCC_LEN_BITS) - 1) * q->mult;
	u64 ns = part >> q->shift;

	q->free_ns += ns;
	q->free_part = part - (ns << q->shift);
}

static inline u64 tcpcc_read_clock(struct tcpcc_sched *q)
{
	q->now_jiffies = jiffies;
	q->now_ns = ktime_get_ns();
	return q->now_ns;
}

/* What the clock said last, or says now if that was in another tick */
static inline u64 tcpcc_about_now(struct tcpcc_sched *q)
{
	unsigned long tick = jiffies;

	return likely(q->now_jiffies == tick) ? q->now_ns : tcpcc_read_clock(q);
}

/*
 * What follows is in line in functions of each kind, which TCPCC_QDISC() makes.  They know their
 * hooks, so that these are in line too: to call a kind by a pointer costs a packet 70
 * instructions, which is as much as its law (scripts/lab bench --instructions).
 */
static __always_inline int tcpcc_enqueue_one(struct sk_buff *skb, struct Qdisc *sch, u64 now_ns,
					     struct sk_buff **to_free,
					     const struct tcpcc_hooks *hooks)
{
	struct tcpcc_sched *q = qdisc_priv(sch);

	if (!hooks->arrive(q->state, skb, now_ns, sch->qstats.backlog))
		return qdisc_drop(skb, sch, to_free);
	if (unlikely(sch->q.qlen >= q->limit)) {
		if (hooks->drop)
			hooks->drop(q->state, skb, now_ns);
		return qdisc_drop(skb, sch, to_free);
	}
	/* an idle wire saves nothing up */
	if (!sch->q.qlen && q->free_ns < now_ns) {
		q->free_ns = now_ns;
		q->free_part = 0;
	}
	return qdisc_enqueue_tail(skb, sch);
}

static __always_inline int tcpcc_sched_enqueue(struct sk_buff *skb, struct Qdisc *sch,
					       struct sk_buff **to_free,
					       const struct tcpcc_hooks *hooks)
{
	struct tcpcc_sched *q = qdisc_priv(sch);
	u64 now_ns = sch->q.head ? tcpcc_about_now(q) : tcpcc_read_clock(q);

	if (skb_is_gso(skb))
		return tcpcc_enqueue_segments(skb, sch, now_ns, to_free);
	return tcpcc_enqueue_one(skb, sch, now_ns, to_free, hooks);
}

static __always_inline struct sk_buff *tcpcc_sched_dequeue(struct Qdisc *sch,
							   const struct tcpcc_hooks *hooks)
{
	struct tcpcc_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;
	u64 now_ns;

	if (!sch->q.head)
		return NULL;
	now_ns = tcpcc_about_now(q);
	if (now_ns < q->free_ns)
		now_ns = tcpcc_read_clock(q);
	if (now_ns < q->free_ns) {
		qdisc_qstats_overlimit(sch);
		qdisc_watchdog_schedule_ns(&q->watchdog, q->free_ns);
		return NULL;
	}
	skb = qdisc_dequeue_head(sch);
	if (now_ns - q->free_ns > TCPCC_CATCH_UP)
		q->free_ns = now_ns - TCPCC_CATCH_UP;
	tcpcc_spend(q, qdisc_pkt_len(skb));
	hooks->depart(q->state, skb, now_ns, sch->qstats.backlog);
	return skb;
}

/* .enqueue and .dequeue of the kind whose hooks are _id##_hooks, for TCPCC_QDISC_OPS() */
#define TCPCC_QDISC(_id)						\
static int _id##_enqueue(struct sk_buff *skb, struct Qdisc *sch,	\
			 struct sk_buff **to_free)			\
{									\
	return tcpcc_sched_enqueue(skb, sch, to_free, &_id##_hooks);	\
}									\
									\
static struct sk_buff *_id##_dequeue(struct Qdisc *sch)			\
{									\
	return tcpcc_sched_dequeue(sch, &_id##_hooks);			\
}

#define TCPCC_QDISC_OPS(_id)						\
	{								\
		.id		= #_id,					\
		.enqueue	= _id##_enqueue,			\
		.dequeue	= _id##_dequeue,			\
		.peek		= qdisc_peek_dequeued,			\
		.init		= tcpcc_sched_init,			\
		.reset		= tcpcc_sched_reset,			\
		.destroy	= tcpcc_sched_destroy,			\
		.change		= tcpcc_sched_change,			\
		.dump		= tcpcc_sched_dump,			\
		.dump_stats	= tcpcc_sched_dump_stats,		\
		.owner		= THIS_MODULE,				\
	}

#endif /* _TCPCC_SCHED_H */
