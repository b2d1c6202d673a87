// SPDX-License-Identifier: GPL-2.0
/*
 * The law of a link of the Explicit Control Protocol (XCP).
 *
 *   D. Katabi, M. Handley, C. Rohrs, "Congestion Control for High Bandwidth-Delay
 *   Product Networks", SIGCOMM 2002; as one of the rivals in the ACP paper (Table I).
 *
 * Packets carry the rtt of their flow and the gap X = rtt / cwnd between two packets.  Once per
 * mean rtt d a link takes the rate of arrivals y and the persistent queue Q.  All flows together
 * should change their rates by
 *
 *   phi = alpha * (C - y) - beta * Q / d
 *
 * In addition, the link redistributes a rate h: it takes h from the flows in proportion to their
 * rates, and gives it back in equal parts, so that rates become equal even if phi is 0:
 *
 *   h = max(0, gamma * y - |phi|)
 *
 * Positive feedback, RP = max(0, phi) + h, is distributed in proportion to X.  A flow sends rtt / X
 * packets in a round trip, so each flow gets the same.  Negative feedback, RN = max(0, -phi) + h,
 * is distributed in proportion to bytes, so each flow loses the same share of its rate.  In one
 * period
 *
 *   packet i:  p = RP * X_i / sum(X)    n = RN * len_i / sum(len)    feedback F = p - n
 *
 * Both sums are those of the previous period.  So the distributed feedback may be less than RP and
 * RN, but never more.  If a packet arrives with less feedback than p - n, because a link before
 * this one allows less, it keeps that feedback, and n is increased by the difference.
 *
 * What the paper leaves open (the first two as in the authors' own simulator, ns-2's xcpq.cc):
 *   o d is the mean of rtts weighted by X, in which an rtt counts as at most a second.
 *   o Q is the least queue that departing packets left behind, in windows of half of the
 *     propagation delay, d - queue / C, but at least 2 ms.
 *   o Periods begin with the first packet that has a header; none is shorter than 1 ms.  After a
 *     period without a packet there is nothing to distribute, and d is 50 ms.
 *   o A packet without an rtt gets F = 0, or keeps what it carries if that is less.  The simulator
 *     sets 0 there, but a link must never raise the feedback of another.
 *   o F on the wire is in whole bytes/s, rounded to the nearest, and the rounded value counts as
 *     distributed.  Near the equilibrium the part of a packet is gamma * len / d, which is 100
 *     bytes/s if d is a second.
 *
 * A link does not check the X and d in packets, and a flow that claims a larger X gets more.  This
 * is a property of XCP.  sch_tcpcc has no protection against it; the bounds above only keep the
 * sums right.
 */

#include <linux/kernel.h>
#include <linux/string.h>

#include "xcp_law.h"

/* A sum of units of a period counts as at least this, so that the quotients do not overflow */
#define XCP_GAPS_LEAST	1024U
#define XCP_BYTES_LEAST	64U

const struct xcp_gains xcp_paper = {
	.alpha	= 400000,
	.beta	= 226000,
	.gamma	= 100000,
};

/* Distributes @rate, bytes/s, below 2^42, among packets with so many @units in total */
static void xcp_share_out(struct xcp_residue *r, u64 rate, u64 units, u8 shift)
{
	r->left = rate << XCP_SCALE;
	r->units = units;
	/* @left is below 2^58; times 2^16 / 2^10 or 2^8 / 2^6 */
	r->per = mul_u64_u64_div_u64(r->left, BIT(shift), units);
}

/* Length of the window for the minimum of the queue: half of the propagation delay, us */
static u32 xcp_window_us(const struct xcp_law *x, u32 backlog)
{
	u32 delay_us = law_delay_us(backlog, x->capacity);

	return max((x->rtt_us - min(delay_us, x->rtt_us)) / 2, LAW_WINDOW_MIN);
}

/**
 * xcp_law_init() - initialise a link, before its first packet
 * @x: link
 * @gains: its constants
 * @capacity: bytes/s, at least 1, below 2^LAW_RATE_BITS
 */
void xcp_law_init(struct xcp_law *x, const struct xcp_gains *gains, u64 capacity)
{
	struct xcp_gains kept = *gains;

	memset(x, 0, sizeof(*x));
	law_clock_init(&x->clock);
	x->gains = kept;
	x->capacity = capacity;
	x->rtt_us = XCP_INTERVAL;
}

/* Resets the counters of a period */
static void xcp_count_anew(struct xcp_law *x)
{
	x->bytes = 0;
	x->gaps_ns = 0;
	x->rtt_sum = 0;
	x->rtt_weight = 0;
}

/**
 * xcp_law_start() - start or restart the clock
 * @x: link
 * @now_ns: time
 * @backlog: queue, bytes
 */
void xcp_law_start(struct xcp_law *x, u64 now_ns, u32 backlog)
{
	xcp_count_anew(x);
	law_clock_start(&x->clock, now_ns, x->rtt_us, xcp_window_us(x, backlog), backlog);
}

/**
 * xcp_law_step() - the end of a control period
 * @x: link
 */
void xcp_law_step(struct xcp_law *x)
{
	u64 raise, cut, shuffled, spare;

	x->input = law_per_second(x->bytes, x->rtt_us);
	/* each product in the sum was divided by 2^4 */
	x->rtt_us = x->rtt_weight ?
		    clamp_t(u64, div64_u64(x->rtt_sum, max(x->rtt_weight >> 4, 1ULL)),
			    LAW_INTERVAL_MIN, XCP_RTT_MOST) : XCP_INTERVAL;

	/* below 2^41 each */
	x->spare = 0;
	if (x->bytes) {
		s64 free = x->capacity - x->input;
		s64 queue = law_per_second(x->clock.queue, x->rtt_us);

		x->spare = div_s64(x->gains.alpha * free - x->gains.beta * queue, LAW_UNIT);
	}
	spare = abs(x->spare);
	shuffled = law_share(x->input, x->gains.gamma);
	shuffled -= min(shuffled, spare);
	raise = shuffled + (x->spare > 0 ? spare : 0);
	cut = shuffled + (x->spare < 0 ? spare : 0);
	xcp_share_out(&x->raise, x->gaps_ns ? raise : 0,
		      max(x->gaps_ns, XCP_GAPS_LEAST), XCP_RAISE_SHIFT);
	xcp_share_out(&x->cut, x->bytes ? cut : 0, max(x->bytes, XCP_BYTES_LEAST),
		      XCP_CUT_SHIFT);
	x->periods++;
	xcp_count_anew(x);
}

/**
 * xcp_law_advance() - compute all periods and windows that have ended
 * @x: link
 * @now_ns: time
 * @backlog: queue since the last arrival or departure, bytes
 *
 * After a period without arrivals there is nothing to distribute, and further such periods change
 * nothing.
 */
void xcp_law_advance(struct xcp_law *x, u64 now_ns, u32 backlog)
{
	bool idle = false;

	while (xcp_law_due(x, now_ns)) {
		if (law_clock_window(&x->clock, now_ns, xcp_window_us(x, backlog), backlog))
			continue;
		if (idle) {
			xcp_law_start(x, now_ns, backlog);
			continue;
		}
		idle = !x->bytes;
		xcp_law_step(x);
		law_clock_period(&x->clock, x->rtt_us);
	}
}
