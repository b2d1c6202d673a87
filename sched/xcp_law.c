// SPDX-License-Identifier: GPL-2.0
/*
 * The law of a link of the Explicit Control Protocol (XCP).
 *
 *   D. Katabi, M. Handley, C. Rohrs, "Congestion Control for High Bandwidth-Delay
 *   Product Networks", SIGCOMM 2002; as one of the rivals in the ACP paper (Table I).
 *
 * Packets say the rtt of their flow and the gap X = rtt / cwnd between two of them.  Once
 * per mean rtt d a link looks at the rate y at which bytes came and at the queue Q that never
 * went away.  What its users together should add is
 *
 *   phi = alpha * (C - y) - beta * Q / d
 *
 * and beside that it takes h from all by what they send, and gives it back to all alike, so
 * that rates become equal where phi is 0:
 *
 *   h = max(0, gamma * y - |phi|)
 *
 * What is to be given, RP = max(0, phi) + h, is shared out by X: a flow sends rtt / X packets
 * in a round trip, so each flow gets the same.  What is to be taken, RN = max(0, -phi) + h, is
 * shared out by bytes: each flow loses the same share of its rate.  In one period
 *
 *   packet i:  p = RP * X_i / sum(X)    n = RN * len_i / sum(len)    feedback F = p - n
 *
 * Both sums are of the period before, so what is handed out may differ from RP and RN; it is
 * never more.  A packet that brings less feedback than p - n, since a link before this one
 * allows less, keeps that, and n makes up for the difference.
 *
 * What the paper leaves open, and how it is here (the first two as in the authors' own
 * simulator, ns-2's xcpq.cc):
 *   o d is the mean of rtts weighted by X, in which no rtt counts as more than a second.
 *   o Q is the least queue that packets left behind them, over windows of half of the
 *     propagation delay, d - queue / C, but at least 2 ms.
 *   o Periods begin with the first packet that has a header; none is shorter than 1 ms.  One
 *     without a packet ends what there was to hand out, and d is 50 ms.
 *   o F is in whole bytes/s on the wire, rounded to the nearest, and what was written counts
 *     as handed out: near the equilibrium a packet's part is gamma * len / d, which is 100
 *     bytes/s where d is a second.
 *
 * A link believes what packets say of X and d, and a flow that says a larger X gets more: that
 * is XCP.  Against it sch_tcpcc has nothing; the bounds above only keep the sums right.
 */

#include <linux/kernel.h>
#include <linux/string.h>

#include "xcp_law.h"

/* The least units that a period's sum counts as: so the quotients fit */
#define XCP_GAPS_LEAST	1024U
#define XCP_BYTES_LEAST	64U

const struct xcp_gains xcp_paper = {
	.alpha	= 400000,
	.beta	= 226000,
	.gamma	= 100000,
};

/* @rate bytes/s, below 2^42, to be shared out among packets with so many @units in all */
static void xcp_share_out(struct xcp_residue *r, u64 rate, u64 units, u8 shift)
{
	r->left = rate << XCP_SCALE;
	r->units = units;
	/* below 2^58; times 2^16 by 2^10, or 2^8 by 2^6 */
	r->per = mul_u64_u64_div_u64(r->left, BIT(shift), units);
}

/* Half of the propagation delay, us: over how long the queue's minimum is taken */
static u32 xcp_window_us(const struct xcp_law *x, u32 backlog)
{
	u32 delay_us = law_delay_us(backlog, x->capacity);

	return max((x->rtt_us - min(delay_us, x->rtt_us)) / 2, LAW_WINDOW_MIN);
}

/**
 * xcp_law_init() - the link before its first packet
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

/* What is counted in a period */
static void xcp_count_anew(struct xcp_law *x)
{
	x->bytes = 0;
	x->gaps_ns = 0;
	x->rtt_sum = 0;
	x->rtt_weight = 0;
}

/**
 * xcp_law_start() - begin to count time
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
	/* the sum is short of 2^-4 in each product */
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
 * xcp_law_advance() - let the periods and windows end that have ended
 * @x: link
 * @now_ns: time
 * @backlog: queue since the last arrival or departure, bytes
 *
 * A period without arrivals leaves nothing to hand out, and a second one is like it.
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
