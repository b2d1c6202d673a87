// SPDX-License-Identifier: GPL-2.0
/*
 * MCCP: windows from an estimate of the bandwidth that there is.
 *
 *   S. Arumugam, T. Jebarajan, D.C. Joy Winnie Wise, "Congestion Control Algorithm in
 *   Computer Communication Network".
 *
 * The sender estimates from its ACKs at what rate the path delivers to it.  With t_k when
 * an ACK came and Dt_k the time since the one before:
 *
 *   T = RTT * (cwin - S' * rtt_min) / cwin, from Dt to RTT	what a sample covers (Eq. 2)
 *   s = what was delivered in the last T, over T		sample		     (Eq. 4)
 *   U = beta * U' + (1 - beta) * |s - s'|			instability	     (Eq. 5)
 *   tau = RTT + N * RTT * U / U_max				U_max: of the last ten (Eq. 6)
 *   S = a * S' + (1 - a) * s,  a = (2 tau - Dt) / (2 tau + Dt)	the estimate, ABE    (Eq. 1)
 *
 * and uses it for three things.  A loss sets ssthresh and window to ABE * rtt_min, which
 * is what the path holds without a queue, whatever the window was.  Fast probing raises
 * ssthresh to ABE * rtt_min whenever that is more, so that the window grows by slow start
 * up to what the path is known to carry, and by one a round trip beyond.  Non-congestion
 * detection (NCD) looks in congestion avoidance at whether ABE keeps up with a growing
 * window; if for more than a window it was above
 *
 *   boundary = b * (cwnd - 1.5) + (1 - b) * (ssthresh when avoidance began)
 *
 * over rtt_min, there is bandwidth to be had, and it begins fast probing again.
 *
 *               duplicate ACKs, ECN
 *   PROBING --------------------------> AVOIDANCE
 *     ^  ^                                |   |
 *     |  +---- NCD: counter > cwnd -------+   |
 *     +------- retransmission timeout --------+
 *
 * Where what is remembered lives: the sum in Eq. 4 needs a history of up to a round trip,
 * which is more than the 104 bytes that a socket has for us.  It is in one block of less
 * than a kilobyte that is allocated when the connection is made and freed with it; without
 * that block it is Reno.  The history holds what had been delivered at moments at least
 * RTT / 64 apart, hence is bounded; a sample is the difference of two of its entries, and so
 * is what a whole round trip delivered.
 * Each moment is an ACK's, and the filters run then, with the time since the moment before
 * for Dt; ACKs between moments only count.  So a sample neither loses nor invents anything
 * however ACKs come: delayed, compressed, lost, or many at once.  What is delivered, d, are
 * segments.  It includes what SACK says, and nothing twice.
 *
 * The filters run at moments only, at most 64 times in a round trip, and divide seven times
 * each; an ACK between moments costs comparisons.
 *
 * What the paper leaves open, or where we differ, and why:
 *   o The paper has two rules for T, Eq. 2 and the time between the last two ACKs, which
 *     it used "in this set of experiments", and a sample over the last T at each ACK.  Flows
 *     that share a queue get their packets through in trains, of which such samples, taken
 *     at ACKs, see more than of the silence between them.  Here they are T apart, so that
 *     each covers what no other does, and Eq. 2 is right to a few hundredths.  mccp_interval
 *     has both rules, and T_max, the RTT, for which samples overlap: that is right where T
 *     stays the same.
 *   o Eq. 1 as printed takes the newest sample alone, though its a is that of a filter that
 *     takes the mean of the last two.  With trains the mean counts a burst for the silence
 *     after it, and the estimate becomes up to 1.6 times the share; mccp_mean.
 *   o T is at least rtt_min / mccp_floor, or ACKs that a receiver's card or a radio link
 *     holds back would show its rate and not the path's.  The default is a half: of shorter
 *     samples those within a train agree with one another, so that Eq. 6 counts them for
 *     more than the silence after it, fast probing begins for nothing, and two flows of
 *     250 Mbit/s at 42 ms lost a packet in a hundred.
 *   o What an ACK acknowledges counts for the time since the moment before, evenly.
 *   o 0 <= a <= 1.  U_max = 0 is tau = RTT.  The first sample is the first estimate.
 *   o Time in which there was nothing to acknowledge says nothing of the path: of the time
 *     since the ACK before, at most the round-trip time that an ACK shows counts.
 *   o In slow start an estimate without bias is at most half the window, since that has
 *     doubled in the round trip that the estimate is late, and fast probing would never
 *     raise ssthresh.  So where there is no queue, which a round trip's least delay tells,
 *     mccp_agile lets fast probing follow the rate at which the path passes a burst: the
 *     most that was delivered in a sixteenth of rtt_min, in this round trip or the last.  That
 *     is the short T that Eq. 2 asks for where there is no congestion.  ssthresh is raised
 *     by it no farther than the window needs, so that it stops where a queue begins.  tau is
 *     RTT throughout fast probing, since it is our own probing that makes samples differ.
 *     At a loss the estimate, late for a window that has grown, becomes what the last round
 *     trip delivered if that is more, or ten flows would all be left with too little and all
 *     begin anew.  0 is the paper's.
 *   o beta is used twice; for the boundary it is mccp_boundary.
 *   o NCD's braces, as printed, would begin fast probing only in an ACK that speaks against
 *     it, and forget all at each that does not.  Here the counter is compared at each ACK,
 *     and reset when avoidance begins.  It counts segments, not ACKs.  The "initial 2 RTT"
 *     are those after recovery has ended, since ABE follows the window by as much.
 *   o In a queue, of more than an eighth of rtt_min, windows grow by a segment in
 *     mccp_rtt0_ms if a round trip is longer, as TCP Hybla's do, though by at most 1/16 of a
 *     window in each.  By one in a round trip, as in the paper, it gets 14 to 22 of
 *     100 Mbit/s at 100 ms beside a CUBIC that had begun before, whose growth goes by time
 *     too, and ten flows are long in getting alike.  Not before the first loss, which need
 *     not be soon; and not where there is less of a queue, since there NCD watches whether
 *     ABE keeps up with the window.
 *   o ssthresh is only ever raised in fast probing.  It begins with mccp_ssthresh where TCP
 *     has no bound of its own, as the paper's simulator has one.
 *   o Windows are at least 2.  After a timeout TCP sets the window, and ssthresh is the same
 *     as after any loss.
 *   o A window below ssthresh in congestion avoidance, which is there only after an idle
 *     time, grows by slow start.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "tcpcc_compat.h"
#include "tcpcc_param.h"

#define CREATE_TRACE_POINTS
#include "trace_mccp.h"

/*
 * Rates are in segments per microsecond, scaled by 2^32, which is what mul_u64_u32_shr()
 * can take back: at 1500 bytes 1 kbit/s is 356 and 400 Gbit/s are 2^37.
 */
#define MCCP_RATE	32

/* No sum is larger, segments: 400 Gbit/s for 10 s are 330 million */
#define MCCP_SEGS_MAX	500000000U

/* No rate is larger: 1024 segments/us, at 1500 bytes 12 Tbit/s */
#define MCCP_RATE_MAX	BIT_ULL(MCCP_RATE + 10)

/* Fraction bits of shares: U / U_max, and the weight 1 - a */
#define MCCP_SHARE	30
#define MCCP_ONE	BIT(MCCP_SHARE)

/* The longest time that enters an estimate, us */
#define MCCP_TIME_CAP	(100U * USEC_PER_SEC)

/* Moments of the history are 1/64 of a round trip apart; it holds one and three quarters */
#define MCCP_STEPS	6
#define MCCP_POINTS	112U

/* U_max is the largest of so many (Eq. 6) */
#define MCCP_RECENT	10U

#define MCCP_CWND_MIN	2U

/* Fraction bits of growth, and the share of the window that is the most of it: 1/16 */
#define MCCP_GROWTH	4
#define MCCP_GROWTH_ONE	((u32)BIT(MCCP_GROWTH))
#define MCCP_GROWTH_MAX	(256U << MCCP_GROWTH)

/* Bursts are measured in so many parts of rtt_min */
#define MCCP_PARTS	16U

/* After recovery NCD waits so many round trips */
#define MCCP_WAIT	2

TCPCC_PARAM(mccp_probe, 1, 0, 1,
	    "Fast probing: ssthresh follows the estimate upward");
TCPCC_PARAM(mccp_agile, 1, 0, 1,
	    "Fast probing follows single samples where there is no queue");
TCPCC_PARAM(mccp_ncd, 1, 0, 1,
	    "Non-congestion detection: fast probing also from congestion avoidance");
TCPCC_PARAM(mccp_boundary, 50, 1, 99,
	    "Congestion boundary: weight of the expected rate, percent");
TCPCC_PARAM(mccp_n, 10, 0, 100,
	    "N of Eq. 6: how much instability slows the estimate, no unit");
TCPCC_PARAM(mccp_beta, 60, 0, 99,
	    "beta of Eq. 5: gain of the instability filter, percent");
TCPCC_PARAM(mccp_mean, 0, 0, 1,
	    "Eq. 1 takes 0: the last sample, as printed; 1: the mean of the last two");
TCPCC_PARAM(mccp_interval, 0, 0, 2,
	    "Sampling interval T, 0: Eq. 2; 1: time between the last two ACKs; 2: T_max, the RTT");
TCPCC_PARAM(mccp_floor, 2, 1, 64,
	    "Sampling interval is at least rtt_min divided by this");
TCPCC_PARAM(mccp_rtt0_ms, 25, 0, 1000,
	    "In a queue windows grow by a segment in so many ms if a round trip is longer; 0: never");
TCPCC_PARAM(mccp_ssthresh, 24, 0, 1000000,
	    "Initial ssthresh where TCP has none, segments; 0: none");

/* Values of mccp_interval */
enum mccp_t { MCCP_T_EQ2, MCCP_T_ACK, MCCP_T_RTT };

/**
 * struct mccp_point - a moment of the history
 * @us: when, tp->tcp_mstamp; wraps
 * @delivered: tp->delivered then, segments; wraps
 */
struct mccp_point {
	u32	us;
	u32	delivered;
};

/**
 * struct mccp_history - what the estimator remembers
 * @point: a ring of moments
 * @recent: a ring of the last values of U, MCCP_RATE
 * @ack_us: when the last ACK came, moment or not; wraps
 * @last: the newest of @point
 * @count: how many there are
 * @next: where in @recent the next one goes
 */
struct mccp_history {
	struct mccp_point point[MCCP_POINTS];
	u64	recent[MCCP_RECENT];
	u32	ack_us;
	u8	last;
	u8	count;
	u8	next;
};

/**
 * struct mccp_abe - the available bandwidth estimate
 * @rate: S, MCCP_RATE; 0: there is none yet
 * @sample: the last s, MCCP_RATE
 * @instability: U, MCCP_RATE
 * @t_us: T of @sample, us
 * @next_us: how long after it the next one may be, us
 */
struct mccp_abe {
	u64	rate;
	u64	sample;
	u64	instability;
	u32	t_us;
	u32	next_us;
};

/**
 * struct mccp_ack - what an ACK shows, and what the sender knew before
 * @us: when it came
 * @delivered: until then, segments; wraps
 * @sample_us: its round-trip time, us; 0 or less: none
 * @rtt_us: smoothed, us, up to MCCP_TIME_CAP
 * @rtt_min_us: us
 * @cwnd: segments
 * @agile: tau is RTT, as in agile fast probing
 */
struct mccp_ack {
	u32	us;
	u32	delivered;
	s32	sample_us;
	u32	rtt_us;
	u32	rtt_min_us;
	u32	cwnd;
	bool	agile;
};

/**
 * struct mccp_step - what a moment came to, for those who watch
 * @dt_us: Dt, us
 * @unstable: U / U_max, MCCP_SHARE
 * @weight: 1 - a, MCCP_SHARE
 */
struct mccp_step {
	u32	dt_us;
	u32	unstable;
	u32	weight;
};

/**
 * struct mccp_burst - at what rate ACKs come when they come
 * @us: when this part of a round trip began
 * @delivered: what counts for it, from there on, segments
 * @most: the most of a part, in this round trip and the last, segments
 */
struct mccp_burst {
	u32	us;
	u32	delivered;
	u32	most[2];
};

enum mccp_mode {
	MCCP_PROBING,		/* fast probing */
	MCCP_AVOIDANCE,		/* congestion avoidance, and NCD */
};

/* Per-socket state */
struct mccp {
	struct mccp_history *history;	/* NULL: there was no memory, as Reno */
	struct mccp_abe abe;
	u32	rtt_min_us;	/* U32_MAX: none yet */
	u32	delivered;	/* tp->delivered at the last ACK */
	u32	round_rtt_us;	/* least rtt in this round trip; U32_MAX: none yet */
	struct mccp_burst burst;
	u32	entry;		/* ssthresh when avoidance began */
	u32	counter;	/* of NCD, segments */
	u32	round_end;	/* snd_nxt when this round trip began */
	u16	growth;		/* in this round trip above ssthresh, 1/16 segment */
	u8	mode;		/* enum mccp_mode */
	u8	was;		/* the same, before the last loss */
	u8	wait;		/* round trips before NCD begins */
};

/* ------------------------------------------------------------------------- */
/* The law: pure functions, driven by tests/kunit with the paper's numbers   */

/* By how many moments @back is before the newest; there must be so many. */
static const struct mccp_point *mccp_point(const struct mccp_history *history, u32 back)
{
	u32 at = history->last + MCCP_POINTS - back;

	return &history->point[at < MCCP_POINTS ? at : at - MCCP_POINTS];
}

/**
 * mccp_remember() - a moment becomes part of the history
 * @history: it loses its oldest one
 * @us: when
 * @delivered: by then
 */
static void mccp_remember(struct mccp_history *history, u32 us, u32 delivered)
{
	history->last = history->last + 1U < MCCP_POINTS ? history->last + 1 : 0;
	history->point[history->last] = (struct mccp_point){ us, delivered };
	history->count = min(history->count + 1U, MCCP_POINTS);
}

/**
 * mccp_interval_us() - what a sample is to cover (Eq. 2)
 * @pipe: ABE * rtt_min, segments
 * @cwnd: segments
 * @rtt_us: us
 *
 * Return: T, us, up to @rtt_us; 0: as little as possible
 */
static u32 mccp_interval_us(u32 pipe, u32 cwnd, u32 rtt_us)
{
	return pipe < cwnd ? div_u64((u64)rtt_us * (cwnd - pipe), cwnd) : 0;
}

/**
 * mccp_sample() - the rate at which segments were delivered lately (Eq. 4)
 * @history: of moments before; there must be one
 * @us: now, later than all of them
 * @delivered: until now
 * @t_us: T, us; limited to what is remembered
 *
 * What an ACK acknowledges counts for the time since the moment before, evenly: so the
 * sum of Eq. 4 has a part of it where T begins between two moments.
 *
 * Return: s, MCCP_RATE
 */
static u64 mccp_sample(const struct mccp_history *history, u32 us, u32 delivered, u32 t_us)
{
	u32 low = 0, high = history->count;
	const struct mccp_point *then, *next;
	u64 sum;

	t_us = max(min(t_us, us - mccp_point(history, high - 1)->us), 1U);
	/* how many moments are within T, without the one at which it begins */
	while (low < high) {
		u32 middle = (low + high) / 2;

		if (us - mccp_point(history, middle)->us < t_us)
			low = middle + 1;
		else
			high = middle;
	}
	then = mccp_point(history, low);
	next = low ? mccp_point(history, low - 1) : &(struct mccp_point){ us, delivered };
	/* 1/256 segment; below 2^37 times 2^27 us */
	sum = (u64)min(delivered - next->delivered, MCCP_SEGS_MAX) << 8;
	sum += div_u64(((u64)min(next->delivered - then->delivered, MCCP_SEGS_MAX) << 8) *
		       (next->us - (us - t_us)), max(next->us - then->us, 1U));
	return min(div_u64(sum << (MCCP_RATE - 8), t_us), MCCP_RATE_MAX);
}

/**
 * mccp_unstable() - how unstable the samples are (Eqs. 5 and 6)
 * @history: where the last values are
 * @abe: with the last sample and U; this updates U
 * @sample: the new one, MCCP_RATE
 * @beta: percent
 *
 * Return: U / U_max, MCCP_SHARE
 */
static u32 mccp_unstable(struct mccp_history *history, struct mccp_abe *abe, u64 sample,
			 u32 beta)
{
	u64 change = sample > abe->sample ? sample - abe->sample : abe->sample - sample;
	u64 u = div_u64(beta * abe->instability + (100 - beta) * change, 100), most = 0;
	int shift, i;

	abe->instability = u;
	history->recent[history->next] = u;
	history->next = history->next + 1U < MCCP_RECENT ? history->next + 1 : 0;
	for (i = 0; i < MCCP_RECENT; i++)
		most = max(most, history->recent[i]);
	if (u == most)
		return u ? MCCP_ONE : 0;
	/* as much of them as leaves room for the shift */
	shift = max(fls64(most) - 32, 0);
	return div_u64((u >> shift) << MCCP_SHARE, most >> shift);
}

/**
 * mccp_weight() - what a sample counts for, 1 - a (Eqs. 1 and 6)
 * @dt_us: time since the one before, us
 * @rtt_us: us
 * @unstable: U / U_max, MCCP_SHARE
 * @n: N
 *
 * Return: share, MCCP_SHARE
 */
static u32 mccp_weight(u32 dt_us, u32 rtt_us, u32 unstable, u32 n)
{
	/* below 2^64: 10^8 us, 100 and 2^30 */
	u64 tau = rtt_us + (((u64)rtt_us * n * unstable) >> MCCP_SHARE);

	if (dt_us >= 2 * tau)
		return MCCP_ONE;
	return div64_u64((u64)dt_us << (MCCP_SHARE + 1), 2 * tau + dt_us);
}

/**
 * mccp_filter() - the estimate with one more sample (Eq. 1)
 * @rate: S' before, MCCP_RATE; 0: there is none yet
 * @sample: the new one, MCCP_RATE
 * @weight: what it counts for, MCCP_SHARE
 *
 * Return: S, MCCP_RATE, at least 1
 */
static u64 mccp_filter(u64 rate, u64 sample, u32 weight)
{
	if (!rate)
		rate = sample;
	else if (sample < rate)
		rate -= mul_u64_u32_shr(rate - sample, weight, MCCP_SHARE);
	else
		rate += mul_u64_u32_shr(sample - rate, weight, MCCP_SHARE);
	return max(rate, 1ULL);
}

/**
 * mccp_pipe() - what a path holds without a queue
 * @rate: ABE, MCCP_RATE
 * @rtt_min_us: us
 *
 * Return: ABE * rtt_min, segments
 */
static u32 mccp_pipe(u64 rate, u32 rtt_min_us)
{
	return min_t(u64, mul_u64_u32_shr(rate, rtt_min_us, MCCP_RATE), S32_MAX);
}

/**
 * mccp_moment() - an ACK enters the estimate, if the last moment is long enough ago
 * @history: what has been; there must be a moment
 * @abe: the estimate
 * @ack: the ACK; it delivers something
 * @step: what the moment came to
 *
 * Return: whether it was a moment
 */
static bool mccp_moment(struct mccp_history *history, struct mccp_abe *abe,
			const struct mccp_ack *ack, struct mccp_step *step)
{
	u32 dt_us = ack->us - mccp_point(history, 0)->us;
	u32 idle_us = ack->us - history->ack_us;
	enum mccp_t rule = READ_ONCE(mccp_interval);
	u32 floor_us, t_us;
	u64 sample, value;

	history->ack_us = ack->us;
	if (ack->sample_us > 0 && idle_us > ack->sample_us) {
		/* nothing was in flight before */
		idle_us -= ack->sample_us;
		history->point[history->last].us += idle_us;
		history->count = 1;
		dt_us -= idle_us;
	}
	if (dt_us < max3(ack->rtt_us >> MCCP_STEPS, abe->next_us, 1U))
		return false;
	dt_us = min(dt_us, MCCP_TIME_CAP);

	floor_us = ack->rtt_min_us / READ_ONCE(mccp_floor);
	t_us = rule == MCCP_T_RTT ? max3(ack->rtt_us, floor_us, dt_us) : dt_us;
	sample = mccp_sample(history, ack->us, ack->delivered, t_us);
	mccp_remember(history, ack->us, ack->delivered);

	step->dt_us = dt_us;
	step->unstable = mccp_unstable(history, abe, sample, READ_ONCE(mccp_beta));
	step->weight = mccp_weight(dt_us, ack->rtt_us, step->unstable,
				   ack->agile ? 0 : READ_ONCE(mccp_n));
	value = READ_ONCE(mccp_mean) ? (sample + abe->sample) / 2 : sample;
	abe->rate = mccp_filter(abe->rate, value, step->weight);
	abe->sample = sample;
	abe->t_us = t_us;
	if (rule == MCCP_T_EQ2)
		abe->next_us = max(floor_us,
				   mccp_interval_us(mccp_pipe(abe->rate, ack->rtt_min_us),
						    ack->cwnd, ack->rtt_us));
	else
		abe->next_us = rule == MCCP_T_ACK ? floor_us : 0;
	return true;
}

/**
 * mccp_measure() - an ACK is part of a burst
 * @burst: it, and those before
 * @us: when the ACK came
 * @delivered: until then, segments
 * @acked: segments that it delivers
 * @rtt_min_us: us; parts are this long, divided by MCCP_PARTS
 *
 * A part begins with an ACK.  Two segments of that, a delayed ACK's, came before it.
 */
static void mccp_measure(struct mccp_burst *burst, u32 us, u32 delivered, u32 acked,
			 u32 rtt_min_us)
{
	if ((u64)(us - burst->us) * MCCP_PARTS > rtt_min_us) {
		burst->us = us;
		burst->delivered = delivered - acked + min(acked, 2U);
	}
	burst->most[0] = max(burst->most[0], delivered - burst->delivered);
}

/**
 * mccp_is_spare() - whether the path seems to have bandwidth to spare
 * @pipe: ABE * rtt_min, segments
 * @cwnd: segments
 * @entry: ssthresh when avoidance began, segments
 * @boundary: weight of the expected rate, percent
 *
 * Return: whether ABE is above the congestion boundary, all times rtt_min
 */
static bool mccp_is_spare(u32 pipe, u32 cwnd, u32 entry, u32 boundary)
{
	/* in 1/200 segment: 1.5 are 3 halves */
	return 200LL * pipe > boundary * (2LL * cwnd - 3) + (100 - boundary) * 2LL * entry;
}

/**
 * mccp_count() - the counter of NCD
 * @counter: before, segments
 * @acked: segments that an ACK acknowledges
 * @spare: of mccp_is_spare()
 *
 * Return: after
 */
static u32 mccp_count(u32 counter, u32 acked, bool spare)
{
	if (spare)
		return min(counter, U32_MAX / 2) + min(acked, U32_MAX / 2);
	return counter - min(counter, acked);
}

/**
 * mccp_growth() - by how much a window grows in a round trip above ssthresh
 * @rtt_us: us, up to MCCP_TIME_CAP
 * @cwnd: segments
 * @rtt0_ms: one segment in so many ms; 0: in a round trip
 *
 * Return: rtt / rtt0, 1/16 segment: from a segment to 1/16 of @cwnd, or MCCP_GROWTH_MAX
 */
static u32 mccp_growth(u32 rtt_us, u32 cwnd, u32 rtt0_ms)
{
	u32 most = clamp(cwnd, MCCP_GROWTH_ONE, MCCP_GROWTH_MAX);

	if (!rtt0_ms)
		return MCCP_GROWTH_ONE;
	return clamp((rtt_us << MCCP_GROWTH) / (rtt0_ms * (u32)USEC_PER_MSEC), MCCP_GROWTH_ONE,
		     most);
}

/**
 * mccp_bytes_ps() - a rate as bytes per second
 * @rate: MCCP_RATE
 * @mss: bytes of a segment
 *
 * Return: bytes/s
 */
static u64 mccp_bytes_ps(u64 rate, u32 mss)
{
	return mul_u64_u32_shr(rate * min(mss, 65535U), USEC_PER_SEC, MCCP_RATE);
}

/* ------------------------------------------------------------------------- */
/* The socket                                                                */

/* Smoothed, us */
static u32 mccp_rtt_us(const struct tcp_sock *tp)
{
	return min(tp->srtt_us >> 3, MCCP_TIME_CAP);
}

/* 0 without an estimate; where there is one there is rtt_min. */
static u32 mccp_pipe_now(const struct mccp *ca)
{
	return mccp_pipe(ca->abe.rate, ca->rtt_min_us);
}

/* What the path would hold at the rate of bursts, segments */
static u32 mccp_burst_pipe(const struct mccp_burst *burst)
{
	return min(max(burst->most[0], burst->most[1]), U16_MAX * 64U) * MCCP_PARTS;
}

static bool mccp_is_agile(const struct mccp *ca)
{
	return ca->mode == MCCP_PROBING && READ_ONCE(mccp_agile);
}

/* By the least delay in this round trip: a queue of at most rtt_min / 2^@shift */
static bool mccp_no_queue(const struct mccp *ca, int shift)
{
	return ca->round_rtt_us != U32_MAX &&
	       ca->round_rtt_us - ca->rtt_min_us <= ca->rtt_min_us >> shift;
}

/* TCP has counted what an ACK acknowledges, which shows a round trip of @sample_us, or -1. */
static void mccp_update(struct sock *sk, s32 sample_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);
	const struct mccp_ack ack = {
		.us = tp->tcp_mstamp,
		.delivered = tp->delivered,
		.sample_us = sample_us,
		.rtt_us = mccp_rtt_us(tp),
		.rtt_min_us = ca->rtt_min_us,
		.cwnd = tcp_snd_cwnd(tp),
		.agile = mccp_is_agile(ca),
	};
	struct mccp_step step;

	if (!mccp_moment(ca->history, &ca->abe, &ack, &step))
		return;
	trace_mccp_update(sk, ca->mode, mccp_bytes_ps(ca->abe.rate, tp->mss_cache),
			  mccp_bytes_ps(ca->abe.sample, tp->mss_cache), ca->abe.t_us,
			  step.dt_us, step.unstable >> (MCCP_SHARE - 16),
			  step.weight >> (MCCP_SHARE - 16), ack.rtt_us, ack.rtt_min_us,
			  ca->counter);
}

static void mccp_enter(struct sock *sk, enum mccp_mode mode)
{
	struct mccp *ca = inet_csk_ca(sk);

	ca->mode = mode;
	ca->counter = 0;
	ca->wait = MCCP_WAIT;
	ca->round_end = tcp_sk(sk)->snd_nxt;
	ca->entry = tcp_sk(sk)->snd_ssthresh;
}

/* A round trip begins. */
static void mccp_round(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);

	ca->growth = MCCP_GROWTH_ONE;
	if (ca->history && ca->entry && !mccp_no_queue(ca, 3))
		ca->growth = mccp_growth(mccp_rtt_us(tp), tcp_snd_cwnd(tp),
					 READ_ONCE(mccp_rtt0_ms));
	ca->round_end = tp->snd_nxt;
	ca->round_rtt_us = U32_MAX;
	ca->burst.most[1] = ca->burst.most[0];
	ca->burst.most[0] = 0;
	if (ca->wait)
		ca->wait--;
}

static void mccp_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);

	if (!before(tp->snd_una, ca->round_end))
		mccp_round(sk);
	if (sample->rtt_us > 0) {
		ca->round_rtt_us = min_t(u32, ca->round_rtt_us, sample->rtt_us);
		ca->rtt_min_us = min3(ca->rtt_min_us, ca->round_rtt_us, MCCP_TIME_CAP);
	}
	if (ca->history && tp->delivered != ca->delivered && tp->srtt_us &&
	    ca->rtt_min_us != U32_MAX) {
		mccp_measure(&ca->burst, tp->tcp_mstamp, tp->delivered,
			     tp->delivered - ca->delivered, ca->rtt_min_us);
		mccp_update(sk, sample->rtt_us);
	}
	ca->delivered = tp->delivered;
}

/* @acked segments speak for or against bandwidth to spare. */
static void mccp_detect(struct sock *sk, u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (ca->wait)
		return;
	ca->counter = mccp_count(ca->counter, acked,
				 mccp_is_spare(mccp_pipe_now(ca), cwnd, ca->entry,
					       READ_ONCE(mccp_boundary)));
	if (ca->counter > cwnd)
		mccp_enter(sk, MCCP_PROBING);
}

static void mccp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (ca->mode == MCCP_AVOIDANCE && READ_ONCE(mccp_ncd))
		mccp_detect(sk, acked);
	if (ca->mode == MCCP_PROBING && READ_ONCE(mccp_probe)) {
		u32 pipe = mccp_pipe_now(ca);

		if (mccp_is_agile(ca) && mccp_no_queue(ca, 4))
			pipe = max(pipe, min(mccp_burst_pipe(&ca->burst),
					     tcp_snd_cwnd(tp) + acked));
		WRITE_ONCE(tp->snd_ssthresh, max(tp->snd_ssthresh, pipe));
	}
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp) << MCCP_GROWTH, acked * ca->growth);
}

static u32 mccp_ssthresh_of(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);

	ca->was = ca->mode;
	if (!ca->abe.rate)
		return tcp_reno_ssthresh(sk);
	/* what the last round trip carried, if the estimate has not come so far */
	if (READ_ONCE(mccp_agile))
		ca->abe.rate = max(ca->abe.rate,
				   mccp_sample(ca->history, tp->tcp_mstamp, tp->delivered,
					       mccp_rtt_us(tp)));
	return clamp(mccp_pipe_now(ca), MCCP_CWND_MIN, max(tcp_snd_cwnd(tp), MCCP_CWND_MIN));
}

static void mccp_set_state(struct sock *sk, u8 state)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	struct mccp *ca = inet_csk_ca(sk);
	bool reduced = icsk->icsk_ca_state == TCP_CA_Recovery ||
		       icsk->icsk_ca_state == TCP_CA_CWR;

	if (state == TCP_CA_Loss) {
		mccp_enter(sk, MCCP_PROBING);
	} else if (state == TCP_CA_Recovery || state == TCP_CA_CWR ||
		   (reduced && ca->mode == MCCP_AVOIDANCE)) {
		/* once more when it is over: NCD waits from then on */
		mccp_enter(sk, MCCP_AVOIDANCE);
	}
}

static u32 mccp_undo_cwnd(struct sock *sk)
{
	struct mccp *ca = inet_csk_ca(sk);

	ca->mode = ca->was;
	return tcp_reno_undo_cwnd(sk);
}

static void mccp_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);
	u32 ssthresh = READ_ONCE(mccp_ssthresh);

	memset(ca, 0, sizeof(*ca));
	ca->rtt_min_us = U32_MAX;
	ca->round_rtt_us = U32_MAX;
	ca->round_end = tp->snd_nxt;
	ca->growth = MCCP_GROWTH_ONE;
	ca->delivered = tp->delivered;
	ca->history = kzalloc(sizeof(*ca->history), GFP_ATOMIC | __GFP_NOWARN);
	if (!ca->history)
		return;
	mccp_remember(ca->history, tp->tcp_mstamp, tp->delivered);
	ca->history->ack_us = tp->tcp_mstamp;
	if (ssthresh && READ_ONCE(mccp_probe) && tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH)
		WRITE_ONCE(tp->snd_ssthresh, max(ssthresh, tcp_snd_cwnd(tp)));
}

/* 6.1 calls it also for a socket that mccp_init() has never seen: all is zero then. */
static void mccp_release(struct sock *sk)
{
	struct mccp *ca = inet_csk_ca(sk);

	kfree(ca->history);
	ca->history = NULL;
}

/*
 * In the form that ss prints: bw is the estimate, mrtt is rtt_min, and the two gains are
 * ABE * rtt_min and the counter of NCD, both in segments.
 */
static size_t mccp_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct mccp *ca = inet_csk_ca(sk);
	u64 bw;

	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1))) &&
	    !(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;

	memset(&info->bbr, 0, sizeof(info->bbr));
	bw = mccp_bytes_ps(ca->abe.rate, tcp_sk(sk)->mss_cache);
	info->bbr.bbr_bw_lo = (u32)bw;
	info->bbr.bbr_bw_hi = (u32)(bw >> 32);
	if (ca->rtt_min_us != U32_MAX)
		info->bbr.bbr_min_rtt = ca->rtt_min_us;
	/* ss shows 1/256 of them */
	info->bbr.bbr_pacing_gain = min(mccp_pipe_now(ca), U32_MAX >> 8) << 8;
	info->bbr.bbr_cwnd_gain = min(ca->counter, U32_MAX >> 8) << 8;
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

static struct tcp_congestion_ops mccp_ops __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "mccp",
	.owner		= THIS_MODULE,
	.init		= mccp_init,
	.release	= mccp_release,
	.pkts_acked	= mccp_pkts_acked,
	.cong_avoid	= mccp_cong_avoid,
	.ssthresh	= mccp_ssthresh_of,
	.set_state	= mccp_set_state,
	.undo_cwnd	= mccp_undo_cwnd,
	.get_info	= mccp_get_info,
};

static int __init mccp_register(void)
{
	BUILD_BUG_ON(sizeof(struct mccp) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(sizeof(struct mccp_history) > 1024);

	return tcp_register_congestion_control(&mccp_ops);
}

static void __exit mccp_unregister(void)
{
	tcp_unregister_congestion_control(&mccp_ops);
}

module_init(mccp_register);
module_exit(mccp_unregister);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP MCCP: windows from an estimate of the available bandwidth");
