// SPDX-License-Identifier: GPL-2.0
/*
 * The law of a link of the Rate Control Protocol (RCP).
 *
 *   N. Dukkipati, M. Kobayashi, R. Zhang-Shen, N. McKeown, "Processor Sharing Flows in the
 *   Internet", IWQoS 2005; as one of the rivals in the ACP paper (Figs. 16, 17).
 *
 * A link has one rate R for all flows that cross it.  At the end of each control period T the link
 * computes R from the rate of arrivals y, the present queue q, and the mean d of the rtts that
 * packets carry:
 *
 *   R' = R * (1 + T / d * (alpha * (gamma * C - y) - beta * q / d) / (gamma * C))
 *
 * R is at most gamma * C, and at least the number of packets per d in the option floor.  Unlike ACP
 * the law needs no estimate of the number of flows: C / R takes its place, so the change of R is
 * proportional to R.
 *
 * There are two forms of RCP.  Here T = min(d, interval), or T = d if interval is 0.
 *   o Later simulator of the authors (rcp.cc of ns-2): T = min(d, 10 ms), alpha and beta 0.4, floor
 *     0.01 packets.  These are the defaults.
 *   o Paper of 2005, which the ACP paper compares with: T = d, alpha 0.1, beta 1, and a floor of
 *     one packet.  If the queue is above 0.9 * C * d, the factor is negative, and R falls to the
 *     floor in one step.  R needs many round trips to rise again (acp-fig16).
 *
 * What the papers leave open (as in rcp.cc):
 *   o y counts all arrivals, also packets that are then dropped.  q is the queue at the end of the
 *     period, not a minimum.
 *   o d follows the mean s of a period, weighted by bytes.  The gain is T / d if s is above d, and
 *     (R / C) * (s / d) * (T / d) if s is below d: d rises fast and falls slowly.  If no packet
 *     carries an rtt, d stays.  d is from 1 ms to 10 s.
 *   o Initially R = start * C and d = 200 ms.  A packet of the floor has the mean size of the
 *     packets that arrived.
 *   o Order: y, then d, then R with both, then T.
 *
 * While no packet arrives, R grows to gamma * C by the equation.  The first flow after an idle time
 * may therefore use the whole link.
 */

#include <linux/kernel.h>
#include <linux/string.h>

#include "rcp_law.h"

const struct rcp_gains rcp_default = {
	.alpha		= 400000,
	.beta		= 400000,
	.gamma		= 1000000,
	.interval_us	= 10000,
	.floor		= 10000,
	.start		= 50000,
};

static u32 rcp_interval_us(const struct rcp_law *r)
{
	u32 t = r->gains.interval_us ?: r->rtt_us;

	return max(min(t, r->rtt_us), LAW_INTERVAL_MIN);
}

/* The capacity to fill, bytes/s */
static u64 rcp_target(const struct rcp_law *r)
{
	return max(law_share(r->capacity, r->gains.gamma), 1ULL);
}

static u64 rcp_bounded(const struct rcp_law *r, u64 rate)
{
	u64 most = rcp_target(r) << RCP_SCALE;
	/* 10^-6 bytes per 10^-6 s; the first product is at most 2^50, the quotient below 2^57 */
	u64 least = mul_u64_u64_div_u64((u64)r->size * r->gains.floor, BIT(RCP_SCALE), r->rtt_us);

	return clamp(rate, clamp(least, 1ULL, most), most);
}

/**
 * rcp_growth() - the factor of R in a period
 * @r: link, with y, q, d and T of the period that ends
 *
 * Return: the factor, 2^-RCP_GROWTH; 0 if it is negative
 */
static u64 rcp_growth(const struct rcp_law *r)
{
	u64 target = rcp_target(r);
	s64 free = target - r->input;
	u64 drain = law_per_second(r->queue, r->rtt_us);
	/* both products below 2^61 */
	s64 change = r->gains.alpha * free - (s64)(r->gains.beta * drain);
	u64 unit = target * LAW_UNIT;
	u64 step = abs(change);

	/* the factor is negative even with the smallest T / d */
	if (change < 0 && step >> 20 >= unit)
		return 0;
	/* below 2^52 after the first line; the second does not increase it */
	step = mul_u64_u64_div_u64(step, BIT_ULL(RCP_GROWTH), unit);
	step = mul_u64_u64_div_u64(step, r->interval_us, r->rtt_us);
	if (change >= 0)
		return BIT_ULL(RCP_GROWTH) + step;
	return BIT_ULL(RCP_GROWTH) - min(step, BIT_ULL(RCP_GROWTH));
}

/* @x times @factor (2^-RCP_GROWTH), but at most @most */
static u64 rcp_times(u64 x, u64 factor, u64 most)
{
	if (mul_u64_u64_shr(x, factor, 64) >> RCP_GROWTH)
		return most;
	return min(mul_u64_u64_shr(x, factor, RCP_GROWTH), most);
}

/* R multiplied by @factor in each of so many periods, within its bounds */
static u64 rcp_grown(const struct rcp_law *r, u64 factor, u64 periods)
{
	u64 rate = r->rate;

	for (; periods; periods >>= 1) {
		if (periods & 1)
			rate = rcp_times(rate, factor, U64_MAX);
		factor = rcp_times(factor, factor, U64_MAX);
	}
	return rcp_bounded(r, rate);
}

/* Updates d with the mean rtt of the packets of a period */
static void rcp_average(struct rcp_law *r)
{
	u32 mean, gain_us;
	u64 move;

	if (!r->rtt_bytes)
		return;
	mean = div64_u64(r->rtt_sum, r->rtt_bytes);
	if (mean >= r->rtt_us) {
		/* (mean - d) * T / d */
		move = mul_u64_u32_div(mean - r->rtt_us, r->interval_us, r->rtt_us);
		r->rtt_us += move;
	} else {
		/* (mean - d) * (R / C) * (mean / d) * T / d; T * mean / d is at most T */
		gain_us = mul_u64_u32_div(r->interval_us, mean, r->rtt_us);
		move = mul_u64_u64_div_u64(r->rtt_us - mean, rcp_law_rate(r), r->capacity);
		move = mul_u64_u32_div(move, gain_us, r->rtt_us);
		r->rtt_us -= move;
	}
	r->rtt_us = clamp(r->rtt_us, LAW_INTERVAL_MIN, RCP_RTT_MOST);
}

/**
 * rcp_law_init() - initialise a link, before its first packet
 * @r: link
 * @gains: its constants
 * @capacity: bytes/s, at least 1, below 2^LAW_RATE_BITS
 */
void rcp_law_init(struct rcp_law *r, const struct rcp_gains *gains, u64 capacity)
{
	struct rcp_gains kept = *gains;

	memset(r, 0, sizeof(*r));
	r->gains = kept;
	r->capacity = capacity;
	r->rtt_us = RCP_RTT_FIRST;
	r->size = 1500;
	r->interval_us = rcp_interval_us(r);
	r->rate = rcp_bounded(r, law_share(capacity, kept.start) << RCP_SCALE);
}

/* Resets the counters of a period */
static void rcp_count_anew(struct rcp_law *r)
{
	r->bytes = 0;
	r->packets = 0;
	r->rtt_bytes = 0;
	r->rtt_sum = 0;
}

/**
 * rcp_law_start() - begin the first control period
 * @r: link
 * @now_ns: time
 */
void rcp_law_start(struct rcp_law *r, u64 now_ns)
{
	r->running = true;
	rcp_count_anew(r);
	r->control_ns = now_ns + (u64)r->interval_us * NSEC_PER_USEC;
}

/**
 * rcp_law_set_capacity() - change the capacity
 * @r: link
 * @capacity: as in rcp_law_init()
 */
void rcp_law_set_capacity(struct rcp_law *r, u64 capacity)
{
	r->capacity = capacity;
	r->rate = rcp_bounded(r, r->rate);
}

/**
 * rcp_law_step() - the end of a control period
 * @r: link
 * @backlog: the queue at that time, bytes
 */
void rcp_law_step(struct rcp_law *r, u32 backlog)
{
	r->input = law_per_second(r->bytes, r->interval_us);
	r->queue = backlog;
	if (r->packets)
		r->size = min_t(u64, div_u64(r->bytes, r->packets), RCP_SIZE_MOST);
	rcp_average(r);
	r->rate = rcp_grown(r, rcp_growth(r), 1);
	r->interval_us = rcp_interval_us(r);
	r->periods++;
	rcp_count_anew(r);
}

/**
 * rcp_law_advance() - compute all periods that have ended
 * @r: link
 * @now_ns: time
 * @backlog: queue since the last arrival or departure, bytes
 *
 * There is no timer for periods, as with struct law_clock.  All periods without arrivals have the
 * same factor, and are computed in one step.
 */
void rcp_law_advance(struct rcp_law *r, u64 now_ns, u32 backlog)
{
	u64 interval_ns, idle;

	if (!rcp_law_due(r, now_ns))
		return;
	rcp_law_step(r, backlog);
	interval_ns = (u64)r->interval_us * NSEC_PER_USEC;
	idle = div64_u64(now_ns - r->control_ns, interval_ns);
	if (idle) {
		r->input = 0;
		r->rate = rcp_grown(r, rcp_growth(r), idle);
		r->periods += idle;
	}
	r->control_ns += (idle + 1) * interval_ns;
}
