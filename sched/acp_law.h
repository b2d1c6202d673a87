/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The law of an ACP link: its constants, its variables, what it counts.  It
 * knows nothing of qdiscs or packets; see acp_law.c.
 */
#ifndef _TCPCC_ACP_LAW_H
#define _TCPCC_ACP_LAW_H

#include <linux/bits.h>

#include "law.h"

/*
 * The desired rate is in 2^-16 bytes/s and the number of flows in 2^-16.  With
 * less the integral of Eq. 6 would stand still before it is where it belongs:
 * among many flows on a slow link one step is a small part of a byte/s.
 */
#define ACP_SCALE	16

/* The most flows that the estimator may count to */
#define ACP_FLOWS_MAX	BIT(24)

/* A packet's rtt counts as at most this many control periods: see acp_law_arrive() */
#define ACP_RTT_MOST	2

/* An rtt's weight is its packet's size in units of 2^6 bytes: so the sum fits 64 bits */
#define ACP_WEIGHT	6

/**
 * struct acp_gains - the constants of the law
 * @ki: gain of the spare rate in Eq. 6, 1 / LAW_UNIT
 * @kq: gain of the queue in Eq. 6, 1 / LAW_UNIT
 * @gamma: gain of Eq. 8, 1 / LAW_UNIT
 * @target: share of the capacity to fill, 1 / LAW_UNIT
 * @congestion: share of the capacity from which on to warn, 1 / LAW_UNIT
 * @flows: number of flows to begin with
 * @interval_us: control period to begin with, us
 * @newcomers: 1: a flow that was not seen lately counts at once, see acp_newcomers.c
 * @police: by which share a flow may exceed what it was granted, 1 / LAW_UNIT, which the
 *	law does not look at; 0: by any
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
 * @rate: p, what it wants of each flow, ACP_SCALE
 * @flows: N, how many flows it takes to be there, ACP_SCALE
 * @input: y, rate of arrivals in the last period, bytes/s
 * @interval_us: d, control period, us
 * @size: mean size of packets in the last period that had any, bytes
 * @congested: arrivals exceed the threshold
 * @was_full: they have, in this period or an earlier one
 * @clock: whose window is the propagation delay, and queue is q
 * @periods: how many there were
 * @bytes: arrived in this period
 * @packets: arrived in this period
 * @rtt_weight: sizes of those that said an rtt, 2^ACP_WEIGHT bytes
 * @rtt_sum_us: the sum of what they said, each times its size, us * 2^ACP_WEIGHT bytes
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
 * @rtt_us: what its header says, us; 0: nothing
 * @backlog: the queue that it finds, bytes
 *
 * Anybody may claim any rtt, and the control period is everybody's.  So an rtt weighs as
 * many bytes as its packet has, and counts as at most ACP_RTT_MOST periods.  Who sends a
 * share k of the bytes can make the period (1 - k) / (1 - 2 * k) times as long, where a
 * plain mean has no bound (10 %: 1.12; 25 %: 1.5; from one half on only LAW_INTERVAL_MAX
 * stops it), or 1 - k times.  The price: if few honest packets have an rtt far above all
 * others, the period is shorter than their mean.
 */
static inline void acp_law_arrive(struct acp_law *a, u32 len, u32 rtt_us,
				  u32 backlog)
{
	u32 weight = (len >> ACP_WEIGHT) + 1;

	a->bytes += len;
	a->packets++;
	/* below 2^25 us; in 10 s below 2^37 */
	if (rtt_us) {
		a->rtt_sum_us += (u64)min(rtt_us, ACP_RTT_MOST * a->interval_us) * weight;
		a->rtt_weight += weight;
	}
	law_clock_queue(&a->clock, backlog);
}

/**
 * acp_law_rate() - what the link wants of each flow
 * @a: link
 *
 * Return: bytes/s
 */
static inline u64 acp_law_rate(const struct acp_law *a)
{
	return a->rate >> ACP_SCALE;
}

#endif /* _TCPCC_ACP_LAW_H */
