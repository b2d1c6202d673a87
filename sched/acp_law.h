/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control law of an ACP link: its constants, variables and counters.  It does not depend on
 * qdiscs or packets; see acp_law.c.
 */
#ifndef _TCPCC_ACP_LAW_H
#define _TCPCC_ACP_LAW_H

#include <linux/bits.h>

#include "law.h"

/*
 * The desired rate is in units of 2^-16 bytes/s, the number of flows in units of 2^-16.  With fewer
 * bits of fraction the integral of Eq. 6 would stop before the equilibrium: with many flows on a
 * slow link one step is a small part of a byte/s.
 */
#define ACP_SCALE	16

/* The largest estimate of the number of flows */
#define ACP_FLOWS_MAX	BIT(24)

/* A packet's rtt counts as at most this many control periods: see acp_law_arrive() */
#define ACP_RTT_MOST	2

/* The weight of an rtt is its packet's size in units of 2^6 bytes, so that the sum fits 64 bits */
#define ACP_WEIGHT	6

/**
 * struct acp_gains - the constants of the law
 * @ki: gain of the spare rate in Eq. 6, 1 / LAW_UNIT
 * @kq: gain of the queue in Eq. 6, 1 / LAW_UNIT
 * @gamma: gain of Eq. 8, 1 / LAW_UNIT
 * @target: share of the capacity to fill, 1 / LAW_UNIT
 * @congestion: share of the capacity above which H_congestion is set, 1 / LAW_UNIT
 * @flows: initial number of flows
 * @interval_us: initial control period, us
 * @newcomers: 1: a flow that was not seen recently counts at once, see acp_newcomers.c
 * @police: share by which a flow may exceed its grant, 1 / LAW_UNIT; 0: no limit.  The law itself
 *	does not use it.
 */
struct acp_gains {
	u32 ki;
	u32 kq;
	u32 gamma;
	u32 target;
	u32 congestion;
	u32 flows;
	u32 interval_us;
	u32 newcomers;
	u32 police;
};

extern const struct acp_gains acp_paper;

/**
 * struct acp_law - one link
 * @gains: its constants
 * @capacity: C, bytes/s
 * @rate: p, the desired rate of each flow, 2^-ACP_SCALE bytes/s
 * @flows: N, the estimated number of flows, 2^-ACP_SCALE
 * @input: y, rate of arrivals in the last period, bytes/s
 * @interval_us: d, control period, us
 * @size: mean size of packets in the last period that had any, bytes
 * @congested: @input exceeded the congestion threshold in the last period
 * @was_full: @congested was true in some period so far
 * @clock: its window is the propagation delay, its queue is q
 * @periods: control periods so far
 * @bytes: arrived in this period
 * @packets: arrived in this period
 * @rtt_weight: sum of the weights of the packets with an rtt, 2^ACP_WEIGHT bytes
 * @rtt_sum_us: sum of their rtts, each times its weight, us * 2^ACP_WEIGHT bytes
 */
struct acp_law {
	struct acp_gains gains;
	u64 capacity;

	u64 rate;
	u64 flows;
	u64 input;
	u32 interval_us;
	u32 size;
	bool congested;
	bool was_full;
	struct law_clock clock;
	u64 periods;

	u64 bytes;
	u32 packets;
	u64 rtt_weight;
	u64 rtt_sum_us;
};

void acp_law_init(struct acp_law *a, const struct acp_gains *gains,
		  u64 capacity);
void acp_law_start(struct acp_law *a, u64 now_ns, u32 backlog);
void acp_law_set_capacity(struct acp_law *a, u64 capacity);
void acp_law_share(struct acp_law *a, u32 was, u32 is);
void acp_law_step(struct acp_law *a);
void acp_law_advance(struct acp_law *a, u64 now_ns, u32 backlog);

/**
 * acp_law_due() - whether a period or a window has ended
 * @a: link
 * @now_ns: time
 *
 * Return: true if acp_law_advance() has something to do
 */
static inline bool acp_law_due(const struct acp_law *a, u64 now_ns)
{
	return law_clock_due(&a->clock, now_ns);
}

/**
 * acp_law_arrive() - a packet has arrived, to be queued or dropped
 * @a: link, advanced to this time
 * @len: size of the packet on the wire, bytes
 * @rtt_us: the rtt in its header, us; 0: it has none
 * @backlog: queue before the packet is added, bytes
 *
 * A sender may claim any rtt, and all flows share the control period.  So an rtt is weighted by the
 * size of its packet, and counts as at most ACP_RTT_MOST periods.  A sender with a share k of the
 * bytes can then make the period at most (1 - k) / (1 - 2 * k) times as long (10 %: 1.12; 25 %:
 * 1.5; from one half on only LAW_INTERVAL_MAX limits it), or shorten it to 1 - k times.  A plain
 * mean has no upper limit.  The cost: if a few honest packets have an rtt far above all others, the
 * period is shorter than the mean rtt.
 */
static inline void acp_law_arrive(struct acp_law *a, u32 len, u32 rtt_us,
				  u32 backlog)
{
	u32 weight = (len >> ACP_WEIGHT) + 1;

	a->bytes += len;
	a->packets++;
	/* the rtt is below 2^25 us, and the sum of the weights in 10 s below 2^37 */
	if (rtt_us) {
		a->rtt_sum_us += (u64)min(rtt_us, ACP_RTT_MOST * a->interval_us) * weight;
		a->rtt_weight += weight;
	}
	law_clock_queue(&a->clock, backlog);
}

/**
 * acp_law_rate() - the desired rate
 * @a: link
 *
 * Return: p, bytes/s
 */
static inline u64 acp_law_rate(const struct acp_law *a)
{
	return a->rate >> ACP_SCALE;
}

#endif /* _TCPCC_ACP_LAW_H */
