// SPDX-License-Identifier: GPL-2.0
/*
 * The law of a link of the Adaptive Congestion Protocol (ACP).
 *
 *   M. Lestas, A. Pitsillides, P. Ioannou, G. Hadjipollas, "Adaptive Congestion
 *   Protocol: A Congestion Control Protocol with Learning Capability".
 *
 * Each link has one desired rate p for all flows that cross it.  A control period lasts for d, the
 * mean of the rtts that packets carry.  Once per period the link takes the rate of arrivals y and
 * the persistent queue q, and corrects p:
 *
 *   p' = p + (ki * (0.99 * C - y) - kq * q / d) / N,	0 <= p' <= C	(6, 7)
 *
 * C is the capacity.  If N flows follow p, y changes N times as much as p; hence the division by N.
 * N is an estimate, the number that fits y = N * p best:
 *
 *   N' = N + gamma * (y - N * p) * p / (1 + p^2),	N' >= 1		(8, 9)
 *
 * In equilibrium y = 0.99 * C, q = 0, N is the number of flows that follow p (any other flow
 * counts as its rate divided by p), and p = 0.99 * C / N.  There is no state per flow.
 *
 * What the paper leaves open:
 *   o Order: first y; then p, with N and q; then N, with the y and the p of the period that ends;
 *     then d, for the period that begins.
 *   o The term 1 + p^2 of Eq. 8 depends on the unit of p.  Rates are in bytes/s, the only unit that
 *     the paper names, so the 1 is negligible above 10 bytes/s.
 *   o While p is below one packet per d, no flow can follow p, and y / p is no measure of the
 *     number of flows.  Eq. 8 then pauses, and N is limited to C * d / packet.  Otherwise an
 *     estimate from longer periods could keep p that low for hours.
 *   o d is the mean over bytes, in which an rtt counts as at most twice the last d: see
 *     acp_law_arrive().  If no packet carries an rtt, d stays.  d is always from 1 ms to 10 s.
 *   o q is the least queue that packets met on arrival, in a window as long as the propagation
 *     delay, d - queue / C, but at least 2 ms.  If no packet arrived, q is the queue itself.
 *   o While no data passes, Appendix A does not update N.  Eq. 6 alone would raise p to C, and then
 *     all flows that come back would get C.  So p rises to at most 0.99 * C / N, the rate of each
 *     of N flows.  Once N is an estimate, the same holds while y is below half of p: then no flow
 *     follows p, and Eq. 8 would lower N to 1 because of a few packets.  N is an estimate once the
 *     link was full for the first time.  Before that N is a guess, and new flows are slow at first.
 */

#include <linux/kernel.h>
#include <linux/string.h>

#include "acp_law.h"

/* Steps after which a link without arrivals is at rest: p needs 1 / ki of them */
#define ACP_REST	256

const struct acp_gains acp_paper = {
	.ki		= 158700,
	.kq		= 317500,
	.gamma		= 100000,
	.target		= 990000,
	.congestion	= 950000,
	.flows		= 10,
	.interval_us	= 50000,
};

/**
 * acp_ratio() - a quotient with ACP_SCALE bits of fraction
 * @a: dividend
 * @b: divisor, 1 to 2^48 - 1; a / b is below 2^47
 *
 * Return: a / b, 2^-ACP_SCALE
 */
static u64 acp_ratio(u64 a, u64 b)
{
	u64 rest;
	u64 whole = div64_u64_rem(a, b, &rest);

	return (whole << ACP_SCALE) + div64_u64(rest << ACP_SCALE, b);
}

/**
 * acp_is_quiet() - whether a period is no measurement of the number of flows
 * @a: link, with y and p of the period that ends
 *
 * A flow that follows p sends at p, or at the p of one round trip ago.
 *
 * Return: true if no such flow is there
 */
static bool acp_is_quiet(const struct acp_law *a)
{
	return !a->input || (a->was_full && a->input < acp_law_rate(a) / 2);
}

/**
 * acp_next_rate() - Eqs. 6 and 7
 * @a: link, with p and N of the period that ends
 *
 * Each of the two products is below 2^61, and so is their difference.  The division by LAW_UNIT
 * takes 20 bits and adds 16, so below 2^57 is divided by N.
 *
 * Return: p of the period that begins, 2^-ACP_SCALE bytes/s
 */
static u64 acp_next_rate(const struct acp_law *a)
{
	u64 target = law_share(a->capacity, a->gains.target);
	s64 spare = target - a->input;
	u64 drain = law_per_second(a->clock.queue, a->interval_us);
	s64 change = a->gains.ki * spare - (s64)(a->gains.kq * drain);
	u64 step = acp_ratio(acp_ratio(abs(change), LAW_UNIT), a->flows);
	u64 most = a->capacity << ACP_SCALE;

	if (change < 0)
		return a->rate - min(a->rate, step);
	if (acp_is_quiet(a))
		most = max(a->rate, acp_ratio(target << ACP_SCALE, a->flows));
	return min(a->rate + step, most);
}

/**
 * acp_next_flows() - Eqs. 8 and 9
 * @a: link, with p and N of the period that ends
 *
 * Computed as N + gamma * (y / p - N) * p^2 / (1 + p^2).  The last factor is 1 except at very low
 * rates.
 *
 * Return: N of the period that begins, 2^-ACP_SCALE
 */
static u64 acp_next_flows(const struct acp_law *a)
{
	u64 packet = max_t(u64, law_per_second(a->size, a->interval_us), 1);
	u64 p = a->rate;
	u64 y = a->input << ACP_SCALE;
	s64 error;

	if (p < packet << ACP_SCALE)
		return clamp_t(u64, acp_ratio(a->capacity, packet),
			       BIT_ULL(ACP_SCALE), a->flows);
	if (acp_is_quiet(a))
		return a->flows;

	/* the divisor of acp_ratio() must be below 2^48; p is at least a byte/s */
	if (p >> 47) {
		p >>= 8;
		y >>= 8;
	}
	error = min_t(u64, acp_ratio(y, p),
		      (u64)ACP_FLOWS_MAX << ACP_SCALE) - a->flows;

	p = acp_law_rate(a);
	if (p < BIT_ULL(ACP_SCALE))
		error -= div64_s64(error, 1 + p * p);

	/* |error| <= 2^40 */
	error = div_s64(error * a->gains.gamma, LAW_UNIT);
	return clamp_t(s64, a->flows + error, BIT_ULL(ACP_SCALE),
		       (u64)ACP_FLOWS_MAX << ACP_SCALE);
}

/**
 * acp_window_us() - length of the window for the minimum of the queue
 * @a: link
 * @backlog: the queue now, bytes
 *
 * Return: the propagation delay, us, at least LAW_WINDOW_MIN
 */
static u32 acp_window_us(const struct acp_law *a, u32 backlog)
{
	u32 delay_us = law_delay_us(backlog, a->capacity);

	return max(a->interval_us - min(delay_us, a->interval_us), LAW_WINDOW_MIN);
}

/**
 * acp_law_init() - initialise a link, before its first packet
 * @a: link
 * @gains: its constants
 * @capacity: bytes/s, at least 1, below 2^LAW_RATE_BITS
 */
void acp_law_init(struct acp_law *a, const struct acp_gains *gains,
		  u64 capacity)
{
	struct acp_gains kept = *gains;

	memset(a, 0, sizeof(*a));
	law_clock_init(&a->clock);
	a->gains = kept;
	a->capacity = capacity;
	a->flows = (u64)kept.flows << ACP_SCALE;
	a->interval_us = kept.interval_us;
	a->size = 1500;
}

/* Resets the counters of a period */
static void acp_count_anew(struct acp_law *a)
{
	a->bytes = 0;
	a->packets = 0;
	a->rtt_sum_us = 0;
	a->rtt_weight = 0;
}

/**
 * acp_law_start() - start or restart the clock
 * @a: link
 * @now_ns: time
 * @backlog: queue, bytes
 */
void acp_law_start(struct acp_law *a, u64 now_ns, u32 backlog)
{
	acp_count_anew(a);
	law_clock_start(&a->clock, now_ns, a->interval_us, acp_window_us(a, backlog), backlog);
}

/**
 * acp_law_set_capacity() - change the capacity
 * @a: link
 * @capacity: as in acp_law_init()
 */
void acp_law_set_capacity(struct acp_law *a, u64 capacity)
{
	a->capacity = capacity;
	a->rate = min(a->rate, capacity << ACP_SCALE);
	a->congested = a->input > law_share(capacity, a->gains.congestion);
}

/**
 * acp_law_share() - raise N and lower p, because there are more flows than were known
 * @a: link
 * @was: previously known number of flows, at least 1, below 2^16
 * @is: present number of flows, more than @was, below 2^16
 *
 * The product of N and p does not change.
 */
void acp_law_share(struct acp_law *a, u32 was, u32 is)
{
	/* the product is below 2^40 * 2^16 */
	a->flows = min_t(u64, div_u64(a->flows * is, was),
			 (u64)ACP_FLOWS_MAX << ACP_SCALE);
	a->rate = mul_u64_u32_div(a->rate, was, is);
}

/**
 * acp_law_step() - the end of a control period
 * @a: link
 */
void acp_law_step(struct acp_law *a)
{
	u64 rate;

	a->input = law_per_second(a->bytes, a->interval_us);
	a->congested = a->input > law_share(a->capacity, a->gains.congestion);
	a->was_full |= a->congested;
	if (a->packets)
		a->size = div_u64(a->bytes, a->packets);

	rate = acp_next_rate(a);
	a->flows = acp_next_flows(a);
	a->rate = rate;

	if (a->rtt_weight)
		a->interval_us = clamp_t(u64,
					 div64_u64(a->rtt_sum_us, a->rtt_weight),
					 LAW_INTERVAL_MIN, LAW_INTERVAL_MAX);
	a->periods++;
	acp_count_anew(a);
}

/**
 * acp_law_advance() - compute all periods and windows that have ended
 * @a: link
 * @now_ns: time
 * @backlog: queue since the last arrival or departure, bytes
 *
 * After ACP_REST steps a link without arrivals is at rest, or nearly so; the rest of its idle time
 * is skipped.
 */
void acp_law_advance(struct acp_law *a, u64 now_ns, u32 backlog)
{
	int steps = 0;

	while (acp_law_due(a, now_ns)) {
		if (law_clock_window(&a->clock, now_ns, acp_window_us(a, backlog), backlog))
			continue;
		if (steps++ < ACP_REST) {
			acp_law_step(a);
			law_clock_period(&a->clock, a->interval_us);
		} else {
			acp_law_start(a, now_ns, backlog);
		}
	}
}
