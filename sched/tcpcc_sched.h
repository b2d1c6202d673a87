/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the core of the router qdiscs (sch_core.c) and the kinds, each of
 * which is a control law and what it reads from and writes to packets.
 */
#ifndef _TCPCC_SCHED_H
#define _TCPCC_SCHED_H

#include <net/netlink.h>
#include <net/pkt_sched.h>

/* What a kind may have at most: attributes, and bytes of state and statistics */
#define TCPCC_ATTR_MAX	31
#define TCPCC_STATE_MAX	384
#define TCPCC_STATS_MAX	160

/**
 * struct tcpcc_kind - a kind of router
 * @ops: for the kernel; see TCPCC_QDISC_OPS()
 * @policy: of its attributes, those of the core included
 * @attr_max: the last of them
 * @state_size: bytes of its state, at most TCPCC_STATE_MAX
 * @setup: the state of a new link of @rate bytes/s
 * @restart: to that state, but with the options as they are
 * @options: takes its attributes, all or, with an error, none; @tb has what was
 *	given.  @rate is the bandwidth as it will be, bytes/s
 * @dump: adds its options to a message
 * @arrive: a packet is here, and will be queued or dropped
 * @drop: and now it is dropped, for the queue is full; may be NULL
 * @depart: a packet leaves, and may be marked
 * @stats: its TCA_XSTATS at the time @now_ns, at most TCPCC_STATS_MAX bytes
 *
 * @state is the kind's own.  All callbacks but @dump run under the lock of the
 * queue.  @backlog is the queue in bytes, of which the packet is no part when it
 * arrives or departs.
 */
struct tcpcc_kind {
	struct Qdisc_ops ops;
	const struct nla_policy *policy;
	unsigned int attr_max;
	unsigned int state_size;

	void (*setup)(void *state, u64 rate);
	void (*restart)(void *state);
	int (*options)(void *state, u64 rate, struct nlattr **tb,
		       struct netlink_ext_ack *extack);
	int (*dump)(const void *state, struct sk_buff *msg);
	void (*arrive)(void *state, struct sk_buff *skb, u64 now_ns,
		       u32 backlog);
	void (*drop)(void *state, struct sk_buff *skb, u64 now_ns);
	void (*depart)(void *state, struct sk_buff *skb, u64 now_ns,
		       u32 backlog);
	void (*stats)(void *state, u64 now_ns, u32 backlog, void *out,
		      unsigned int *len);
};

extern struct tcpcc_kind acp_kind;
extern struct tcpcc_kind estcp_kind;

int tcpcc_sched_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free);
struct sk_buff *tcpcc_sched_dequeue(struct Qdisc *sch);
int tcpcc_sched_init(struct Qdisc *sch, struct nlattr *opt,
		     struct netlink_ext_ack *extack);
void tcpcc_sched_reset(struct Qdisc *sch);
void tcpcc_sched_destroy(struct Qdisc *sch);
int tcpcc_sched_change(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack);
int tcpcc_sched_dump(struct Qdisc *sch, struct sk_buff *msg);
int tcpcc_sched_dump_stats(struct Qdisc *sch, struct gnet_dump *d);

/**
 * tcpcc_take() - an option that may have been given
 * @attr: a u32, or NULL
 * @value: of the option so far; becomes what was given
 * @min: the least that is allowed
 * @max: the most
 *
 * Return: false if the value is not allowed
 */
static inline bool tcpcc_take(const struct nlattr *attr, u32 *value, u32 min,
			      u32 max)
{
	if (attr)
		*value = nla_get_u32(attr);
	return *value >= min && *value <= max;
}

#define TCPCC_QDISC_OPS(_id)						\
	{								\
		.id		= _id,					\
		.enqueue	= tcpcc_sched_enqueue,			\
		.dequeue	= tcpcc_sched_dequeue,			\
		.peek		= qdisc_peek_dequeued,			\
		.init		= tcpcc_sched_init,			\
		.reset		= tcpcc_sched_reset,			\
		.destroy	= tcpcc_sched_destroy,			\
		.change		= tcpcc_sched_change,			\
		.dump		= tcpcc_sched_dump,			\
		.dump_stats	= tcpcc_sched_dump_stats,		\
		.owner		= THIS_MODULE,				\
	}

/* Policy of the attributes that every kind has */
#define TCPCC_SCHED_POLICY						\
	[TCA_TCPCC_BANDWIDTH]	= { .type = NLA_U64 },			\
	[TCA_TCPCC_LIMIT]	= { .type = NLA_U32 }

#endif /* _TCPCC_SCHED_H */
