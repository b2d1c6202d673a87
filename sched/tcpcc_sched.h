/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the core of the router qdiscs (sch_core.c) and the kinds, each of
 * which is a control law and what it reads from and writes to packets.
 */
#ifndef _TCPCC_SCHED_H
#define _TCPCC_SCHED_H

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
 * struct tcpcc_kind - a kind of router
 * @ops: for the kernel; see TCPCC_QDISC_OPS()
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
 * @arrive: a packet is here, and will be queued or dropped; false: drop it
 * @drop: and now it is dropped, for the queue is full; may be NULL
 * @depart: a packet leaves, and may be marked
 * @stats: its TCA_XSTATS at the time @now_ns, at most TCPCC_STATS_MAX bytes
 *
 * @state is the kind's own.  All callbacks run under the lock of the queue.
 * @backlog is the queue in bytes, of which the packet is no part when it arrives or
 * departs.
 */
struct tcpcc_kind {
	struct Qdisc_ops ops;
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
	bool (*arrive)(void *state, struct sk_buff *skb, u64 now_ns,
		       u32 backlog);
	void (*drop)(void *state, struct sk_buff *skb, u64 now_ns);
	void (*depart)(void *state, struct sk_buff *skb, u64 now_ns,
		       u32 backlog);
	void (*stats)(void *state, u64 now_ns, u32 backlog, void *out,
		      unsigned int *len);
};

extern struct tcpcc_kind acp_kind;
extern struct tcpcc_kind estcp_kind;
extern struct tcpcc_kind rcp_kind;
extern struct tcpcc_kind xcp_kind;

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

#endif /* _TCPCC_SCHED_H */
