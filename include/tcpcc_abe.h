/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ABE, MCCP's estimate of the bandwidth that a path gives to a sender.
 *
 * With Dt the time since the previous ACK, and a prime for the previous value:
 *
 *   T = RTT * (cwin - S' * rtt_min) / cwin, from Dt to RTT	time of a sample     (Eq. 2)
 *   s = segments delivered in the last T, over T		sample		     (Eq. 4)
 *   U = beta * U' + (1 - beta) * |s - s'|			instability	     (Eq. 5)
 *   tau = RTT + N * RTT * U / U_max		U_max: largest of the last ten U     (Eq. 6)
 *   S = a * S' + (1 - a) * s,  a = (2 tau - Dt) / (2 tau + Dt)	estimate	     (Eq. 1)
 *
 * The equations are evaluated only at moments.  A moment is an ACK at least RTT / 64 after the
 * previous moment, and Dt is the time between the two.  ACKs between two moments only add their
 * segments.  So the result is the same if ACKs are delayed, compressed, lost or arrive in a group,
 * and an ACK between moments costs only comparisons.  (The model in PROTOCOLS.md has a minimum of
 * rtt_min / 16 between moments.  With that minimum the paper's own rules lose a fifth of the
 * goodput in Fig. 3.)
 *
 * A sample is the difference of two entries of the history, divided by the time between them.
 * Delivered data are counted in segments, including those that SACK reports.  No segment is
 * counted twice.
 *
 * Where the paper says nothing:
 *   o a is limited to 0 <= a <= 1.  If U_max = 0, tau = RTT.  The first sample is the first
 *     estimate.
 *   o The segments that an ACK delivers are spread evenly over the time since the entry before.
 *   o Time without segments in flight is not a measurement of the path.  So the first ACK after
 *     it starts the history again: abe_restart().
 *   o If a sender has less to send than its window allows, the rate delivered to it is its sending
 *     rate, which is only a lower bound of the rate of the path.  Samples are then one round trip
 *     long, because shorter samples show the rate of bursts, and can only raise the estimate.
 */
#ifndef _TCPCC_ABE_H
#define _TCPCC_ABE_H

#include <linux/build_bug.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/*
 * Rates are in segments per microsecond, scaled by 2^32.  mul_u64_u32_shr() can remove this scale.
 * At 1500 bytes 1 kbit/s is 358 and 400 Gbit/s is 2^37.
 */
#define ABE_RATE	32

/* Upper limit of a sum, segments: 400 Gbit/s for 10 s is 330 million */
#define ABE_SEGS_MAX	500000000U

/* Upper limit of a rate: 1024 segments/us, at 1500 bytes 12 Tbit/s */
#define ABE_RATE_MAX	BIT_ULL(ABE_RATE + 10)

/* Fraction bits of shares: U / U_max, and the weight 1 - a */
#define ABE_SHARE	30
#define ABE_ONE		BIT(ABE_SHARE)

/* The longest time that is used in an estimate, us */
#define ABE_TIME_CAP	(100U * USEC_PER_SEC)

/* Moments are at least 2^-6 of a round trip apart.  Table 1 needs this: scenario mccp-table1 */
#define ABE_STEPS	6

/*
 * Entries of the history are at least 2^-3 of a round trip apart, except the newest entry, which is
 * always the last moment.  The ten full intervals are then longer than a round trip, the largest T.
 */
#define ABE_APART	3
#define ABE_POINTS	12U

/* U_max is the largest of this many values of U (Eq. 6) */
#define ABE_RECENT	10U

/**
 * enum abe_interval - the time that a sample covers
 * @ABE_EQ2: T of Eq. 2, at each moment; samples overlap
 * @ABE_ACK: the time since the last moment, which is the only entry of the history
 * @ABE_APART_EQ2: the time since the last moment; moments are at least T of Eq. 2 apart
 */
enum abe_interval { ABE_EQ2, ABE_ACK, ABE_APART_EQ2 };

/**
 * struct abe_rules - what the paper leaves open
 * @interval: the time that a sample covers
 * @floor_us: minimum time between moments, us
 * @n: N of Eq. 6, up to 100
 * @beta: beta of Eq. 5, percent
 * @mean: Eq. 1 uses the mean of the last two samples
 */
struct abe_rules {
	enum abe_interval interval;
	u32	floor_us;
	u32	n;
	u32	beta;
	bool	mean;
};

/**
 * struct abe_point - an entry of the history
 * @us: time, tp->tcp_mstamp; wraps
 * @delivered: tp->delivered at that time, segments; wraps
 */
struct abe_point {
	u32	us;
	u32	delivered;
};

/**
 * struct abe_history - the memory of the estimator; too large for the private area of a socket
 * @instability: U, ABE_RATE
 * @next_us: minimum time from the last moment to the next, us
 * @last: index of the newest entry in @point
 * @count: number of entries in @point
 * @next: index in @recent of the next value
 * @top: index in @recent of the largest value
 * @recent: a ring of the last values of U, ABE_RATE
 * @point: a ring of moments
 *
 * With ABE_ACK only the first entry of @point is used: a moment is then in two cache lines.
 */
struct abe_history {
	u64	instability;
	u32	next_us;
	u8	last;
	u8	count;
	u8	next;
	u8	top;
	u64	recent[ABE_RECENT];
	struct abe_point point[ABE_POINTS];
};

/* Each sending socket allocates one: it must fit the slab of this size. */
static_assert(sizeof(struct abe_history) <= 192);

/**
 * struct abe - the available bandwidth estimate
 * @rate: S, ABE_RATE; 0: there is none yet
 * @sample: the last s, ABE_RATE
 */
struct abe {
	u64	rate;
	u64	sample;
};

/**
 * struct abe_ack - what an ACK shows, and the state of the sender
 * @us: time of the ACK
 * @delivered: segments delivered until then; wraps
 * @rtt_us: smoothed round-trip time, us, up to ABE_TIME_CAP
 * @rtt_min_us: least round-trip time, us
 * @cwnd: segments
 * @limited: the sender is limited by cwnd: the delivered rate is the rate of the path
 */
struct abe_ack {
	u32	us;
	u32	delivered;
	u32	rtt_us;
	u32	rtt_min_us;
	u32	cwnd;
	bool	limited;
};

/**
 * struct abe_step - results of a moment, for the tracepoint
 * @t_us: T, us
 * @dt_us: Dt, us
 * @unstable: U / U_max, ABE_SHARE
 * @weight: 1 - a, ABE_SHARE
 */
struct abe_step {
	u32	t_us;
	u32	dt_us;
	u32	unstable;
	u32	weight;
};

/* The entry that is @back entries before the newest.  @back must be below @count. */
static inline const struct abe_point *abe_point(const struct abe_history *history, u32 back)
{
	u32 at = history->last + ABE_POINTS - back;

	return &history->point[at < ABE_POINTS ? at : at - ABE_POINTS];
}

/**
 * abe_restart() - start the history again
 * @history: all of its entries are replaced by one entry
 * @us: now
 * @delivered: segments delivered until now
 */
static inline void abe_restart(struct abe_history *history, u32 us, u32 delivered)
{
	history->last = 0;
	history->count = 1;
	history->point[0] = (struct abe_point){ us, delivered };
}

/**
 * abe_remember() - make a moment the newest entry of the history
 * @history: if it is full, the oldest entry is dropped
 * @us: time of the moment
 * @delivered: segments delivered until then
 * @apart_us: the newest entry is replaced if it is closer than this to the entry before it, us
 */
static inline void abe_remember(struct abe_history *history, u32 us, u32 delivered,
				u32 apart_us)
{
	if (history->count < 2 ||
	    abe_point(history, 0)->us - abe_point(history, 1)->us >= apart_us) {
		history->last = history->last + 1U < ABE_POINTS ? history->last + 1 : 0;
		history->count = min(history->count + 1U, ABE_POINTS);
	}
	history->point[history->last] = (struct abe_point){ us, delivered };
}

/*
 * @rate * @x / 2^@shift, with @shift up to 32.  The two halves of the rate are multiplied
 * separately, to avoid a product of 128 bits.
 */
static inline u64 abe_times(u64 rate, u32 x, u32 shift)
{
	return ((rate >> 32) * x << (32 - shift)) + ((rate & U32_MAX) * x >> shift);
}

/**
 * abe_pipe() - what a path holds without a queue
 * @rate: the estimate, ABE_RATE
 * @rtt_min_us: least round-trip time, us
 *
 * Return: rate * rtt_min, segments
 */
static inline u32 abe_pipe(u64 rate, u32 rtt_min_us)
{
	return min_t(u64, abe_times(rate, rtt_min_us, ABE_RATE), S32_MAX);
}

/**
 * abe_bytes_ps() - convert a rate to bytes per second
 * @rate: ABE_RATE
 * @mss: size of a segment, bytes
 *
 * Return: bytes/s
 */
static inline u64 abe_bytes_ps(u64 rate, u32 mss)
{
	return mul_u64_u32_shr(rate * min(mss, 65535U), USEC_PER_SEC, ABE_RATE);
}

/**
 * abe_t_us() - the time that a sample should cover (Eq. 2)
 * @rate: the estimate, ABE_RATE
 * @ack: for the window and the round-trip times
 *
 * Return: T, us, up to the round-trip time; 0: as short as possible
 */
static inline u32 abe_t_us(u64 rate, const struct abe_ack *ack)
{
	u32 pipe = abe_pipe(rate, ack->rtt_min_us);

	if (pipe >= ack->cwnd)
		return 0;
	return div_u64((u64)ack->rtt_us * (ack->cwnd - pipe), ack->cwnd);
}

/**
 * abe_rate() - the rate of delivery
 * @delivered: segments
 * @us: time in which they were delivered, us, at least 1
 *
 * Return: ABE_RATE
 */
static inline u64 abe_rate(u32 delivered, u32 us)
{
	return min(div_u64((u64)min(delivered, ABE_SEGS_MAX) << ABE_RATE, us), ABE_RATE_MAX);
}

/**
 * abe_sample() - the rate at which segments were delivered in the last T (Eq. 4)
 * @history: the moments before; at least one
 * @us: now, later than all of them
 * @delivered: segments delivered until now
 * @t_us: T, us; limited to the time that @history covers
 *
 * If T begins between two entries, a proportional part of what was delivered between them counts.
 *
 * Return: s, ABE_RATE
 */
static noinline u64 abe_sample(const struct abe_history *history, u32 us, u32 delivered,
			       u32 t_us)
{
	struct abe_point next = { us, delivered };
	const struct abe_point *then;
	u32 back;
	u64 sum;

	for (back = 0;; back++) {
		then = abe_point(history, back);
		if (us - then->us >= t_us || back + 1U == history->count)
			break;
		next = *then;
	}
	t_us = max(min(t_us, us - then->us), 1U);
	/* in 1/256 segment; the product is below 2^37 * 2^27 us */
	sum = (u64)min(delivered - next.delivered, ABE_SEGS_MAX) << 8;
	sum += div_u64(((u64)min(next.delivered - then->delivered, ABE_SEGS_MAX) << 8) *
		       (next.us - (us - t_us)), max(next.us - then->us, 1U));
	return min(div_u64(sum << (ABE_RATE - 8), t_us), ABE_RATE_MAX);
}

/**
 * abe_most() - U_max: the largest of the last values of U (Eq. 6)
 * @history: for these values; this function adds @u
 * @u: the newest U, ABE_RATE
 *
 * The index of the largest is kept.  The values are compared again only if @u replaces the largest.
 *
 * Return: U_max, ABE_RATE
 */
static inline u64 abe_most(struct abe_history *history, u64 u)
{
	u64 most = history->recent[history->top];
	u8 at = history->next;
	int i;

	history->recent[at] = u;
	history->next = at + 1U < ABE_RECENT ? at + 1 : 0;
	if (u < most) {
		if (at != history->top)
			return most;
		for (i = 0; i < ABE_RECENT; i++)
			if (history->recent[i] > history->recent[history->top])
				history->top = i;
		return history->recent[history->top];
	}
	history->top = at;
	return u;
}

/**
 * abe_unstable() - how unstable the samples are (Eqs. 5 and 6)
 * @history: for U and its last values; this function updates them
 * @last: the last sample, ABE_RATE
 * @sample: the new sample, ABE_RATE
 * @beta: percent
 *
 * Return: U / U_max, ABE_SHARE
 */
static inline u32 abe_unstable(struct abe_history *history, u64 last, u64 sample, u32 beta)
{
	u64 change = sample > last ? sample - last : last - sample;
	u64 u = div_u64(beta * history->instability + (100 - beta) * change, 100), most;
	int shift;

	history->instability = u;
	most = abe_most(history, u);
	if (u == most)
		return u ? ABE_ONE : 0;
	/* shift both to 32 bits at most, so that the shift by ABE_SHARE cannot overflow */
	shift = max(fls64(most) - 32, 0);
	return div_u64((u >> shift) << ABE_SHARE, most >> shift);
}

/**
 * abe_weight() - the weight of a sample, 1 - a (Eqs. 1 and 6)
 * @dt_us: time since the sample before, us
 * @rtt_us: us
 * @unstable: U / U_max, ABE_SHARE
 * @n: N
 *
 * Return: share, ABE_SHARE
 */
static inline u32 abe_weight(u32 dt_us, u32 rtt_us, u32 unstable, u32 n)
{
	/* the product is below 2^64: at most 10^8 us * 100 * 2^30 */
	u64 tau = rtt_us + (((u64)rtt_us * n * unstable) >> ABE_SHARE);

	if (dt_us >= 2 * tau)
		return ABE_ONE;
	return div64_u64((u64)dt_us << (ABE_SHARE + 1), 2 * tau + dt_us);
}

/**
 * abe_filter() - add one sample to the estimate (Eq. 1)
 * @rate: the estimate before, S', ABE_RATE; 0: there is none yet
 * @sample: the new sample, ABE_RATE
 * @weight: weight of the sample, ABE_SHARE
 *
 * Return: S, ABE_RATE, at least 1
 */
static inline u64 abe_filter(u64 rate, u64 sample, u32 weight)
{
	if (!rate)
		rate = sample;
	else if (sample < rate)
		rate -= abe_times(rate - sample, weight, ABE_SHARE);
	else
		rate += abe_times(sample - rate, weight, ABE_SHARE);
	return max(rate, 1ULL);
}

/**
 * abe_is_due() - check if enough time has passed since the last moment
 * @since_us: this time, us
 * @next_us: see struct abe_history
 * @rtt_us: see struct abe_ack
 * @limited: see struct abe_ack
 *
 * Return: true if this ACK is a moment
 */
static inline bool abe_is_due(u32 since_us, u32 next_us, u32 rtt_us, bool limited)
{
	if (!limited)
		return since_us >= rtt_us && since_us;
	return since_us >= next_us && since_us >= rtt_us >> ABE_STEPS && since_us;
}

/**
 * abe_take() - update the estimate at a moment
 * @history: it must have an entry, and abe_is_due() must be true for the newest
 * @abe: the estimate
 * @rules: what the paper leaves open
 * @ack: the ACK; it must deliver something, and becomes the newest entry
 * @step: results for the tracepoint, if the estimate has changed
 *
 * Return: true if the estimate has changed
 */
static __always_inline bool abe_take(struct abe_history *history, struct abe *abe,
				     const struct abe_rules *rules, const struct abe_ack *ack,
				     struct abe_step *step)
{
	const struct abe_point *last = abe_point(history, 0);
	u32 since_us = ack->us - last->us, dt_us = min(since_us, ABE_TIME_CAP), t_us = dt_us;
	u64 sample, value, rate;

	if (rules->interval == ABE_EQ2 && ack->limited)
		t_us = max(t_us, abe_t_us(abe->rate, ack));
	if (likely(t_us == since_us))
		sample = abe_rate(ack->delivered - last->delivered, t_us);
	else
		sample = abe_sample(history, ack->us, ack->delivered, t_us);
	if (!ack->limited && sample <= abe->rate) {
		abe_restart(history, ack->us, ack->delivered);
		return false;
	}
	if (rules->interval == ABE_ACK)
		abe_restart(history, ack->us, ack->delivered);
	else
		abe_remember(history, ack->us, ack->delivered, ack->rtt_us >> ABE_APART);

	step->t_us = t_us;
	step->dt_us = dt_us;
	step->unstable = abe_unstable(history, abe->sample, sample, rules->beta);
	step->weight = abe_weight(dt_us, ack->rtt_us, step->unstable, rules->n);
	value = rules->mean && abe->rate && ack->limited ? (sample + abe->sample) / 2 : sample;
	rate = abe_filter(abe->rate, value, step->weight);
	if (rules->interval == ABE_APART_EQ2)
		history->next_us = max(rules->floor_us, abe_t_us(rate, ack));
	else
		history->next_us = rules->floor_us;
	abe->sample = sample;
	abe->rate = rate;
	return true;
}

/**
 * abe_rescale() - convert the estimate to segments of another size
 * @history: it is started again
 * @abe: the estimate, which stays the same in bytes
 * @us: now
 * @delivered: segments delivered until now
 * @was: old size of a segment, bytes, up to 65535
 * @is: new size of a segment, bytes
 */
static inline void abe_rescale(struct abe_history *history, struct abe *abe, u32 us,
			       u32 delivered, u32 was, u32 is)
{
	int i;

	is = max(is, 1U);
	abe->rate = min(div_u64(abe->rate * was, is), ABE_RATE_MAX);
	abe->sample = min(div_u64(abe->sample * was, is), ABE_RATE_MAX);
	history->instability = min(div_u64(history->instability * was, is), ABE_RATE_MAX);
	for (i = 0; i < ABE_RECENT; i++)
		history->recent[i] = min(div_u64(history->recent[i] * was, is), ABE_RATE_MAX);
	abe_restart(history, us, delivered);
}

#endif /* _TCPCC_ABE_H */
