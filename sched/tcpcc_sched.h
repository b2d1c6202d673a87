/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between the core of the router qdiscs (sch_core.c) and the kinds.  A kind is a
 * control law together with the code that reads and changes packets for it.
 */
#ifndef _TCPCC_SCHED_H
#define _TCPCC_SCHED_H

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/time64.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

/* Limits of a kind: the largest attribute, and bytes of state, options and statistics */
#define TCPCC_ATTR_MAX	31
#define TCPCC_STATE_MAX	384
#define TCPCC_CONFIG_MAX	64
#define TCPCC_STATS_MAX	160

/**
 * struct tcpcc_option - an option of a kind: a u32 in its struct of options
 * @attr: attribute; 0: end of the table
 * @at: offset in that struct, bytes
 * @min: the smallest valid value, in the unit of the attribute
 * @max: the largest valid value
 * @error: error message for any other value
 * @shown: computes the value that a dump shows from the struct of options; NULL: a dump shows the
 *	option itself
 */
struct tcpcc_option {
	u16 attr;
	u16 at;
	u32 min;
	u32 max;
	const char *error;
	u32 (*shown)(const void *config);
};

/* An option that is @_member of @_struct.  @... may set @shown; otherwise @shown is NULL. */
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
 * struct tcpcc_hooks - callbacks of a kind for each packet
 * @arrive: a packet arrives; returns false if the packet is to be dropped
 * @drop: the queue is full, and the packet that @arrive accepted is dropped; may be NULL
 * @depart: a packet leaves, and its header may be changed
 *
 * @state is the state of the kind.  All callbacks run under the lock of the queue.  @backlog is
 * the queue in bytes, without the packet that arrives or departs.
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
 * @ops: qdisc operations for the kernel; see TCPCC_QDISC_OPS()
 * @hooks: callbacks for packets
 * @table: table of the options
 * @attr_max: the largest attribute
 * @state_size: size of the state, bytes, at most TCPCC_STATE_MAX
 * @config_at: offset of the struct of options in the state, bytes
 * @config_size: size of the struct of options, bytes, at most TCPCC_CONFIG_MAX
 * @setup: sets the state of a new link of @rate bytes/s
 * @restart: sets the state of a new link again, but keeps the options
 * @change: takes a struct of options, each within its range.  It takes all of them, or returns an
 *	error and takes none.  @rate is the new bandwidth, bytes/s
 * @destroy: frees what the state refers to, also if the setup of the link was not complete; may be
 *	NULL
 * @stats: writes TCA_XSTATS at the time @now_ns to @out, at most TCPCC_STATS_MAX bytes
 *
 * @state is the state of the kind.  All callbacks run under the lock of the queue, except while the
 * qdisc has no other user: when it is created or destroyed.
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

/* The largest delay of the shaper that it makes up for, ns */
#define TCPCC_CATCH_UP	NSEC_PER_MSEC

/* A length has at most so many bits: with more bytes the time of a packet would overflow */
#define TCPCC_LEN_BITS	20

/**
 * struct tcpcc_sched - a link
 * @rate: its bandwidth, bytes/s
 * @limit: limit of its queue, packets
 * @shift: see @mult
 * @mult: time of a byte on the wire, ns << @shift
 * @free_ns: time from which the wire is free for the next packet
 * @free_part: fraction of a ns to add to @free_ns, ns << @shift
 * @now_ns: the last reading of the clock
 * @now_jiffies: jiffies at that reading
 * @watchdog: timer that wakes the qdisc at @free_ns
 * @state: state of the kind
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

/* The last reading of the clock if it was made in this tick, otherwise a new reading */
static inline u64 tcpcc_about_now(struct tcpcc_sched *q)
{
	unsigned long tick = jiffies;

	return likely(q->now_jiffies == tick) ? q->now_ns : tcpcc_read_clock(q);
}

/*
 * The following functions are inlined into the functions of each kind, which TCPCC_QDISC() defines.
 * There the hooks are constant, so the compiler inlines them too.  Calls by a pointer would cost 70
 * instructions per packet, as much as the law (scripts/lab bench --instructions).
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
	/* idle time is not credited */
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

/* Defines .enqueue and .dequeue of the kind with _id##_hooks, for TCPCC_QDISC_OPS() */
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
