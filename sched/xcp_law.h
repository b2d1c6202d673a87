/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control law of an XCP link: its constants, variables and counters.  It does not depend on
 * qdiscs or packets; see xcp_law.c.
 */
#ifndef _TCPCC_XCP_LAW_H
#define _TCPCC_XCP_LAW_H

#include <linux/bits.h>

#include "law.h"

/* Feedback is in units of 2^-16 bytes/s, because the part of a packet may be a few bytes/s. */
#define XCP_SCALE	16

/* An rtt counts as at most this, us, as in the authors' code; a gap counts as at most its rtt. */
#define XCP_RTT_MOST	1000000U

/* The initial period, and the period if no packet carries an rtt, us */
#define XCP_INTERVAL	50000U

/* Shifts of @per of struct xcp_residue, for gaps (the larger sums) and for bytes */
#define XCP_RAISE_SHIFT	16
#define XCP_CUT_SHIFT	8

/* X of a packet that carries no rtt */
#define XCP_NO_GAP	U32_MAX

/* The largest feedback of a link in one packet, positive or negative, bytes/s */
#define XCP_FEEDBACK_MOST	BIT(28)

/**
 * struct xcp_gains - the constants of the law
 * @alpha: gain of the spare rate, 1 / LAW_UNIT
 * @beta: gain of the queue, 1 / LAW_UNIT
 * @gamma: share of the input that is redistributed among the flows, 1 / LAW_UNIT
 */
struct xcp_gains {
	u32 alpha;
	u32 beta;
	u32 gamma;
};

extern const struct xcp_gains xcp_paper;

/**
 * struct xcp_residue - the part of a period's sum that is not distributed yet
 * @left: the rest of the sum, 2^-XCP_SCALE bytes/s
 * @per: part of a packet for each of its units, 2^-XCP_SCALE bytes/s << XCP_RAISE_SHIFT or
 *	XCP_CUT_SHIFT
 * @units: units of all packets of the previous period
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
 * @clock: its queue is Q
 * @periods: control periods so far
 * @raise: positive feedback; the unit of a packet is its gap, ns
 * @cut: negative feedback; the unit of a packet is its length, bytes
 * @bytes: arrived in this period
 * @gaps_ns: sum of the gaps X of the packets of this period
 * @rtt_sum: sum of their rtts, each times its gap, in units of 2^4 us * ns
 * @rtt_weight: sum of these gaps, ns
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
 * xcp_gap_ns() - the gap X of a packet as it counts in the law
 * @rtt_us: the rtt in the packet, us; 0: it has none
 * @gap_ns: the gap in the packet, ns
 *
 * Return: X, ns, at most 2^30; XCP_NO_GAP if there is no rtt
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
 * @rtt_us: the rtt in its header, us; 0: it has none
 * @gap: xcp_gap_ns() of the packet
 */
static inline void xcp_law_arrive(struct xcp_law *x, u32 len, u32 rtt_us, u32 gap)
{
	x->bytes += len;
	if (gap == XCP_NO_GAP)
		return;
	x->gaps_ns += gap;
	/* a product is below 2^46; a sum of 2^62 has enough of them for the mean */
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

/* The part of a packet with so many @units, 2^-XCP_SCALE bytes/s */
static inline u64 xcp_part(const struct xcp_residue *r, u32 units, u8 shift)
{
	/* more units than all packets of the previous period: the product might overflow */
	if (units >= r->units)
		return r->left;
	return min(r->left, mul_u64_u64_shr(r->per, units, shift));
}

/**
 * xcp_law_feedback() - the new feedback of a departing packet
 * @x: link, advanced to this time
 * @len: size of the packet on the wire, bytes
 * @gap: xcp_gap_ns() of the packet; XCP_NO_GAP: it is granted nothing, and loses nothing
 * @wanted: the feedback that the packet carries, bytes/s, 30 bits with sign
 *
 * Return: feedback to write into the packet, bytes/s: at most @wanted, and from -XCP_FEEDBACK_MOST
 * to XCP_FEEDBACK_MOST unless @wanted is lower; at most 0 if @gap is XCP_NO_GAP
 */
static inline s32 xcp_law_feedback(struct xcp_law *x, u32 len, u32 gap, s32 wanted)
{
	const s64 most = (s64)XCP_FEEDBACK_MOST << XCP_SCALE, half = BIT(XCP_SCALE - 1);
	s64 give, take, given;

	/* a link only lowers feedback: less than 0 is what the sender or an earlier link wants */
	if (gap == XCP_NO_GAP)
		return min(wanted, 0);
	/* below 2^58 each */
	give = xcp_part(&x->raise, gap, XCP_RAISE_SHIFT);
	take = xcp_part(&x->cut, len, XCP_CUT_SHIFT);
	/* what does not fit into this packet stays for the next ones */
	if (unlikely((give | take) >= most)) {
		give = min(give, take + most);
		take = min(take, give + most);
	}
	given = (give - take + half) >> XCP_SCALE;
	if (wanted < given) {
		/* a link before this one allows less: the negative part makes up for it */
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
