/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control law of an RCP link: its constants, variables and counters.  It does not depend on
 * qdiscs or packets; see rcp_law.c.
 */
#ifndef _TCPCC_RCP_LAW_H
#define _TCPCC_RCP_LAW_H

#include <linux/bits.h>

#include "law.h"

/* The rate is in units of 2^-16 bytes/s, because a step may be a small part of a byte/s. */
#define RCP_SCALE	16

/* The factor of growth in one period is in units of 2^-32. */
#define RCP_GROWTH	32

/* The initial mean rtt, and the largest, us */
#define RCP_RTT_FIRST	200000U
#define RCP_RTT_MOST	LAW_INTERVAL_MAX

/* The largest floor of the rate, packets per mean rtt, 1 / LAW_UNIT */
#define RCP_FLOOR_MAX	(1000U * LAW_UNIT)

/* The largest packet size that counts, bytes; a size table (tc-stab) may yield any size */
#define RCP_SIZE_MOST	BIT(20)

/**
 * struct rcp_gains - the constants of the law
 * @alpha: gain of the spare rate, 1 / LAW_UNIT
 * @beta: gain of the queue, 1 / LAW_UNIT
 * @gamma: share of the capacity to fill, 1 / LAW_UNIT
 * @interval_us: control period T, unless d is shorter, us; 0: T is d
 * @floor: the least rate, packets per d, 1 / LAW_UNIT
 * @start: the first rate, share of the capacity, 1 / LAW_UNIT
 */
struct rcp_gains {
	u32 alpha;
	u32 beta;
	u32 gamma;
	u32 interval_us;
	u32 floor;
	u32 start;
};

extern const struct rcp_gains rcp_default;

/**
 * struct rcp_law - one link
 * @gains: its constants
 * @capacity: C, bytes/s
 * @rate: R, the rate of each flow, 2^-RCP_SCALE bytes/s
 * @input: y, rate of arrivals in the last period, bytes/s
 * @rtt_us: d, mean rtt, us
 * @interval_us: T, control period, us
 * @queue: q, the queue at the end of the last period, bytes
 * @size: mean size of packets in the last period that had any, bytes
 * @running: control periods are counted
 * @periods: control periods so far
 * @control_ns: end of this period
 * @bytes: arrived in this period
 * @packets: arrived in this period
 * @rtt_bytes: bytes of the packets with an rtt
 * @rtt_sum: sum of their rtts, each times the size of its packet, us * bytes
 */
struct rcp_law {
	struct rcp_gains gains;
	u64 capacity;

	u64 rate;
	u64 input;
	u32 rtt_us;
	u32 interval_us;
	u32 queue;
	u32 size;
	bool running;
	u64 periods;

	u64 control_ns;
	u64 bytes;
	u32 packets;
	u64 rtt_bytes;
	u64 rtt_sum;
};

void rcp_law_init(struct rcp_law *r, const struct rcp_gains *gains, u64 capacity);
void rcp_law_start(struct rcp_law *r, u64 now_ns);
void rcp_law_set_capacity(struct rcp_law *r, u64 capacity);
void rcp_law_step(struct rcp_law *r, u32 backlog);
void rcp_law_advance(struct rcp_law *r, u64 now_ns, u32 backlog);

/**
 * rcp_law_due() - whether a period has ended
 * @r: link
 * @now_ns: time
 *
 * Return: true if rcp_law_advance() has something to do
 */
static inline bool rcp_law_due(const struct rcp_law *r, u64 now_ns)
{
	return r->running && now_ns >= r->control_ns;
}

/**
 * rcp_law_arrive() - a packet has arrived, to be queued or dropped
 * @r: link, advanced to this time
 * @len: size of the packet on the wire, bytes
 * @rtt_us: the rtt in its header, us; 0: it has none
 */
static inline void rcp_law_arrive(struct rcp_law *r, u32 len, u32 rtt_us)
{
	r->bytes += len;
	r->packets++;
	/* below 2^41 bytes in 10 s, times at most 2^24 us */
	if (rtt_us && r->rtt_sum < BIT_ULL(62)) {
		r->rtt_bytes += len;
		r->rtt_sum += (u64)min(rtt_us, RCP_RTT_MOST) * len;
	}
}

/**
 * rcp_law_rate() - the rate of each flow
 * @r: link
 *
 * Return: R, bytes/s
 */
static inline u64 rcp_law_rate(const struct rcp_law *r)
{
	return r->rate >> RCP_SCALE;
}

#endif /* _TCPCC_RCP_LAW_H */
