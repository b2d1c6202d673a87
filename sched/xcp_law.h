/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The law of an XCP link: its constants, its variables, what it counts.  It knows
 * nothing of qdiscs or packets; see xcp_law.c.
 */
#ifndef _TCPCC_XCP_LAW_H
#define _TCPCC_XCP_LAW_H

#include <linux/bits.h>

#include "law.h"

/* Feedback and what is left of it is in 2^-16 bytes/s: a packet's part may be few bytes/s. */
#define XCP_SCALE	16

/* An rtt counts as at most this, us, as in the authors' code, and a gap as at most its rtt. */
#define XCP_RTT_MOST	1000000U

/* The period to begin with, and where no packet says an rtt, us */
#define XCP_INTERVAL	50000U

/* Shifts of struct xcp_residue's per: of gaps, which are many, and of bytes */
#define XCP_RAISE_SHIFT	16
#define XCP_CUT_SHIFT	8

/* X of a packet that says no rtt */
#define XCP_NO_GAP	U32_MAX

/* The most that a link gives to one packet or takes by it, bytes/s */
#define XCP_FEEDBACK_MOST	BIT(28)

/**
 * struct xcp_gains - the constants of the law
 * @alpha: gain of the spare rate, 1 / LAW_UNIT
 * @beta: gain of the queue, 1 / LAW_UNIT
 * @gamma: share of the input that is taken from all and given to all, 1 / LAW_UNIT
 */
struct xcp_gains {
	u32 alpha;
	u32 beta;
	u32 gamma;
};

extern const struct xcp_gains xcp_paper;

/**
 * struct xcp_residue - what is left of one period's sum, and how it is shared out
 * @left: not handed out yet, XCP_SCALE
 * @per: part of a packet for each of its units, 2^-@XCP_SCALE bytes/s << @shift
 * @units: of all packets of the period before
 */
struct xcp_residue {
	u64 left;
	u64 per;
	u64 units;
};

/**
 * struct xcp_law - one link
 * @gains: its constants
 * @capacity: C, bytes/s
 * @spare: phi, by how much the input should change, bytes/s
 * @input: y, rate of arrivals in the last period, bytes/s
 * @rtt_us: d, mean rtt, us
 * @clock: whose queue is Q
 * @periods: how many there were
 * @raise: what is left to give to packets; their units are gaps, ns
 * @cut: what is left to take by packets; their units are bytes
 * @bytes: arrived in this period
 * @gaps_ns: the sum of the gaps X of its packets
 * @rtt_sum: the sum of their rtts, each times its gap, us * ns * 2^-4
 * @rtt_weight: and of these gaps, ns
 */
struct xcp_law {
	struct xcp_gains gains;
	u64 capacity;

	s64 spare;
	u64 input;
	u32 rtt_us;
	struct law_clock clock;
	u64 periods;
	struct xcp_residue raise;
	struct xcp_residue cut;

	u64 bytes;
	u64 gaps_ns;
	u64 rtt_sum;
	u64 rtt_weight;
};

void xcp_law_init(struct xcp_law *x, const struct xcp_gains *gains, u64 capacity);
void xcp_law_start(struct xcp_law *x, u64 now_ns, u32 backlog);
void xcp_law_step(struct xcp_law *x);
void xcp_law_advance(struct xcp_law *x, u64 now_ns, u32 backlog);

/**
 * xcp_law_due() - whether a period or a window has ended
 * @x: link
 * @now_ns: time
 *
 * Return: true if xcp_law_advance() has something to do
 */
static inline bool xcp_law_due(const struct xcp_law *x, u64 now_ns)
{
	return law_clock_due(&x->clock, now_ns);
}

/**
 * xcp_gap_ns() - the gap that counts of what a packet says
 * @rtt_us: its rtt, us; 0: nothing
 * @gap_ns: its gap, ns
 *
 * Return: X, ns, at most 2^30, or XCP_NO_GAP
 */
static inline u32 xcp_gap_ns(u32 rtt_us, u64 gap_ns)
{
	if (unlikely(!rtt_us))
		return XCP_NO_GAP;
	return min_t(u64, gap_ns, min(rtt_us, XCP_RTT_MOST) * (u64)NSEC_PER_USEC);
}

/**
 * xcp_law_arrive() - a packet has arrived, to be queued or dropped
 * @x: link, advanced to this time
 * @len: size of the packet on the wire, bytes
 * @rtt_us: what its header says, us; 0: nothing
 * @gap: xcp_gap_ns() of it
 */
static inline void xcp_law_arrive(struct xcp_law *x, u32 len, u32 rtt_us, u32 gap)
{
	x->bytes += len;
	if (gap == XCP_NO_GAP)
		return;
	x->gaps_ns += gap;
	/* a product is below 2^46; a mean over 2^62 of them is one of enough */
	if (x->rtt_sum < BIT_ULL(62)) {
		x->rtt_sum += ((u64)gap * min(rtt_us, XCP_RTT_MOST)) >> 4;
		x->rtt_weight += gap;
	}
}

/**
 * xcp_law_depart() - a packet has left
 * @x: link
 * @backlog: the queue that it leaves behind, bytes
 */
static inline void xcp_law_depart(struct xcp_law *x, u32 backlog)
{
	law_clock_queue(&x->clock, backlog);
}

/* What is left for a packet of so many @units, XCP_SCALE */
static inline u64 xcp_part(const struct xcp_residue *r, u32 units, u8 shift)
{
	/* one that has more than all had before: the product might not fit */
	if (units >= r->units)
		return r->left;
	return min(r->left, mul_u64_u64_shr(r->per, units, shift));
}

/**
 * xcp_law_feedback() - what becomes of a departing packet's feedback
 * @x: link, advanced to this time
 * @len: size of the packet on the wire, bytes
 * @gap: xcp_gap_ns() of it; XCP_NO_GAP: it gets no feedback
 * @wanted: the feedback that it brings, bytes/s, of 30 bits
 *
 * Return: feedback to go on with, bytes/s, at most @wanted and within XCP_FEEDBACK_MOST, unless
 * @wanted is below that
 */
static inline s32 xcp_law_feedback(struct xcp_law *x, u32 len, u32 gap, s32 wanted)
{
	const s64 most = (s64)XCP_FEEDBACK_MOST << XCP_SCALE, half = BIT(XCP_SCALE - 1);
	s64 give, take, given;

	if (gap == XCP_NO_GAP)
		return 0;
	/* below 2^58 each */
	give = xcp_part(&x->raise, gap, XCP_RAISE_SHIFT);
	take = xcp_part(&x->cut, len, XCP_CUT_SHIFT);
	/* what there is no room for in this packet is for the next ones */
	if (unlikely((give | take) >= most)) {
		give = min(give, take + most);
		take = min(take, give + most);
	}
	given = (give - take + half) >> XCP_SCALE;
	if (wanted < given) {
		/* a link before this one allows less: so much is left here to give */
		take = min_t(s64, give - ((s64)wanted << XCP_SCALE), x->cut.left);
		given = wanted;
	}

	give = (given << XCP_SCALE) + take;
	if (unlikely(give < 0)) {
		take = min_t(s64, take - give, x->cut.left);
		give = 0;
	}
	x->raise.left -= min_t(u64, give, x->raise.left);
	x->cut.left -= take;
	return given;
}

#endif /* _TCPCC_XCP_LAW_H */
