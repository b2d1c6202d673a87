/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Capacity and congestion probing: what ccpd and ccpd_path have in common.
 *
 *   D. Cavendish, H. Kuwahara, K. Kumazoe, M. Tsuru, Y. Oie, "TCP Congestion
 *   Avoidance using Proportional plus Derivative Control".
 *
 * The units of rates and windows, the estimators (packet pairs, round-trip times, what a
 * round trip delivered), and Eq. 3.
 *
 * Packet pairs.  A pair is the burst that one increase of the window releases.  Its capacity
 * is what its ACKs acknowledge after the first of them, over the time that this takes
 * (Eq. 4).  On a real host the time between two ACKs may be that of something else:
 *   o ACKs that one poll of the network card takes out are processed 0.2 to 2 us apart, in a
 *     guest without hardware help 20 us.  Those less than CCPD_POLL apart are one moment, and
 *     only the time between moments counts.
 *   o The first of ACKs that were held back together has waited for the others.  So a pair is
 *     believed only if the first of its packets was not delayed by more than the pair's own
 *     length (CapProbe, the paper's reference 10): this is the paper's "pair that saw no
 *     queueing".
 *   o A burst that is paced shows the pacing.  None is timed then.
 *   o A batch boundary inside a pair makes it longer.  Then one of its gaps is much longer
 *     than the others, and it does not count.  And the capacity is never less than what a
 *     round trip has delivered lately.
 *   o On a slow host an ACK takes longer than CCPD_POLL, and those of a batch are moments of
 *     their own.  A pair that follows another ACK twice as closely as segments are delivered,
 *     and shows more than eight times what any round trip has delivered, is of such a batch if
 *     there is a queue; without one it is the window that is small.  Then for 16 to 32 round
 *     trips no pair is believed that shows so much.
 * Of the pairs of the last 16 to 32 round trips the one with the least delay counts, and of
 * the rates the largest.
 */
#ifndef _CCPD_PROBE_H
#define _CCPD_PROBE_H

#include <linux/math64.h>
#include <net/tcp.h>

/*
 * Rates are in segments per microsecond, scaled by 2^24: a u32 holds 0.06
 * segments/s to 256 segments/us, at 1500 bytes 715 bit/s to 3 Tbit/s.
 */
#define BW_SCALE	24

/*
 * Windows and levels are in 1/256 segment, in s64: 3 Tbit/s * 10 s are 2^32
 * segments, and with Kp <= 16 all products stay below 2^48.
 */
#define SEG_SCALE	8

/* The largest rtt that enters an estimate, us */
#define CCPD_RTT_CAP	(100 * USEC_PER_SEC)

/* Times within a pair are in units of 2^4 ns: a u32 holds 68 s, 1 kbit/s takes 48 s */
#define CCPD_PAIR_SHIFT	4

/* One epoch of the pair filter, round trips; two of them are remembered */
#define CCPD_EPOCH	16

/* The longest burst that is timed, segments: it is not paced */
#define CCPD_BURST	32U

/*
 * ACKs that one poll of the network card takes out are processed 0.2 to 2 us apart.  Those
 * closer than 1 us are one moment: a frame at 10 Gb/s takes 1.2 us.  In units of
 * 2^CCPD_PAIR_SHIFT ns.
 */
#define CCPD_POLL	(1000U >> CCPD_PAIR_SHIFT)

/* More segments than this acknowledged at one moment are a batch of ACKs */
#define CCPD_BATCH	4

/*
 * Gaps between the ACKs of a burst differ by less than this factor, and so do what the path
 * delivers and what a pair shows that may be of a batch; stock_hosts
 */
#define CCPD_UNEVEN	8

/*
 * Where packets have jitter, a burst of a few segments may show half of the truth or twice it; one
 * of so many segments is worth more; stock_cases, idle
 */
#define CCPD_SURE	8U

/*
 * TCP tells the rtt of a segment sent twice by its time stamp, in whole ms.  It may be 1 ms too
 * little, and that is too much on a path shorter than this
 */
#define CCPD_COARSE_US	(16 * USEC_PER_MSEC)

/* A CE mark leaves 218/256 = 0.85 of the window: RFC 8511's factor */
#define CCPD_ECN_KEEP	218U

enum ccpd_pair_stage {
	PAIR_IDLE,		/* wait until @pair_end is acknowledged */
	PAIR_SENT,		/* wait for the first ACK of the burst */
	PAIR_FIRST,		/* ACKs have come at one moment */
	PAIR_SECOND,		/* at two */
	PAIR_MORE,		/* at more */
};

/**
 * struct ccpd_pair - the best packet pair of an epoch
 * @delay_us: sum of the delays of its packets, us; the least one wins
 * @bw: capacity that it shows, BW_SCALE; 0: none yet
 */
struct ccpd_pair {
	u32 delay_us;
	u32 bw;
};

/**
 * struct ccpd_probe - the estimators of a socket
 * @pair_start: when the first moment of the burst that is timed was, 2^CCPD_PAIR_SHIFT ns;
 *	until then, when the latest ACK came
 * @pair_span: from then to the latest ACK for a part of it, 2^CCPD_PAIR_SHIFT ns
 * @pair_end: sequence number at its end; idle: where the next may start
 * @first_seq: what the ACKs of the first moment acknowledged
 * @last_seq: what the latest ACK within the burst acknowledged; before a second
 *	moment, where the burst begins
 * @pair_rtt_us: rtt of the first moment, us
 * @best: the pairs of this epoch and of the one before
 * @rate: the most that a round trip has delivered, in this epoch and in the one before,
 *	BW_SCALE
 * @rtt_min_us: least round-trip time, us; U32_MAX: none yet
 * @rtt_s: smoothed round-trip time, us << 3
 * @round_delivered: tp->delivered when this round trip began, or when it will
 * @round_rtt_us: least rtt in this round trip, us; U32_MAX: none yet
 * @mss: bytes of the segments in which rates and windows are
 * @pair_stage: enum ccpd_pair_stage
 * @batched: ACKs come many at a time
 * @pair_close: the burst's first ACK follows another closely
 * @doubt: ACKs of a batch have been taken for a pair; epochs for which to believe it
 * @epoch: round trips of this epoch
 * @stretch: the receiver delays ACKs; round trips for which to believe it
 * @sure: the best pair, the last one that became it, is of at least CCPD_SURE segments
 * @timed_out: what comes back may have been sent before a timeout
 */
struct ccpd_probe {
	u32	pair_start;
	u32	pair_span;
	u32	pair_end;
	u32	first_seq;
	u32	last_seq;
	u32	pair_rtt_us;
	struct ccpd_pair best[2];
	u32	rate[2];
	u32	rtt_min_us;
	u32	rtt_s;
	u32	round_delivered;
	u32	round_rtt_us;
	u16	mss;
	u16	pair_stage:3,
		batched:1,
		pair_close:1,
		doubt:2,
		epoch:5,
		stretch:2,
		timed_out:1,
		sure:1;
};

/* ------------------------------------------------------------------------- */
/* The laws: pure functions, driven by tests/kunit with the paper's numbers  */

/**
 * ccpd_segs() - what a rate moves in a time
 * @bw: rate, BW_SCALE
 * @us: time, us, at most CCPD_RTT_CAP
 *
 * Eqs. 5 and 6 are this, of (rtt_max - rtt_min) and of (rtt_s - rtt_min).
 *
 * Return: segments, SEG_SCALE
 */
static inline s64 ccpd_segs(u32 bw, u32 us)
{
	return (u64)bw * us >> (BW_SCALE - SEG_SCALE);
}

/**
 * ccpd_bw() - the rate at which bytes passed in a time (Eq. 4)
 * @bytes: how many, below 2^30
 * @mss: bytes of a segment
 * @span_ns: time, ns
 *
 * Return: rate, BW_SCALE, at most U32_MAX; 0 for a span or an mss of nothing
 */
static inline u32 ccpd_bw(u32 bytes, u32 mss, u64 span_ns)
{
	u64 unit = mss * span_ns;

	if (!unit)
		return 0;
	/* bytes * 1000 < 2^40, so it may be shifted by 24 */
	return min_t(u64, div64_u64((u64)bytes * NSEC_PER_USEC << BW_SCALE,
				    unit), U32_MAX);
}

/**
 * ccpd_bytes_ps() - a rate as bytes per second
 * @bw: rate, BW_SCALE
 * @mss: bytes of a segment
 *
 * Return: bytes/s; at most 2^32 * 2^16 * 10^6 before the shift
 */
static inline u64 ccpd_bytes_ps(u32 bw, u32 mss)
{
	return ((u64)bw * mss >> 4) * USEC_PER_SEC >> (BW_SCALE - 4);
}

/**
 * ccpd_rescale() - a number of segments, or a rate, after a change of their size
 * @value: in segments of @old bytes
 * @old: bytes
 * @new: bytes
 *
 * Return: in segments of @new bytes, at most U32_MAX
 */
static inline u32 ccpd_rescale(u32 value, u32 old, u32 new)
{
	return min_t(u64, div_u64((u64)value * old, max(new, 1U)), U32_MAX);
}

/**
 * ccpd_p_term() - proportional part of Eq. 3
 * @gain: Kp
 * @storage: Kp * B, SEG_SCALE
 * @level: x, SEG_SCALE
 * @in_flight: f, SEG_SCALE
 *
 * Return: Kp * (B - x - f), SEG_SCALE; may be negative
 */
static inline s64 ccpd_p_term(u32 gain, s64 storage, s64 level, s64 in_flight)
{
	return storage - gain * (level + in_flight);
}

/**
 * ccpd_d_term() - derivative part of Eq. 3
 * @gain_us: Kd, us
 * @prev: S = x + f at the evaluation before, SEG_SCALE
 * @now: S now, SEG_SCALE
 * @dt_ns: time between the two, ns; taken as 1 us to 2.1 s
 * @storage: B, SEG_SCALE; the term is limited to 1/32 of it
 *
 * Return: window, SEG_SCALE; negative while the queue grows
 */
static inline s64 ccpd_d_term(u32 gain_us, s64 prev, s64 now, u32 dt_ns, s64 storage)
{
	s64 limit = storage >> 5;
	s64 d;

	if (!gain_us || prev == now)
		return 0;
	dt_ns = clamp_t(u32, dt_ns, NSEC_PER_USEC, S32_MAX);
	/* gain < 2^17, 1000 < 2^10, S < 2^33 */
	d = div_s64((s64)gain_us * NSEC_PER_USEC * (prev - now), dt_ns);
	return clamp_t(s64, d, -limit, limit);
}

/**
 * ccpd_window() - the window that Eq. 3 asks for, as one that can be set
 * @w: sum of its two terms, SEG_SCALE
 * @most: largest sensible window, storage plus pipe, SEG_SCALE
 *
 * Return: segments, at least 2
 */
static inline u32 ccpd_window(s64 w, s64 most)
{
	w = min(w, most) >> SEG_SCALE;
	return clamp_t(s64, w, 2, S32_MAX);
}

/**
 * struct ccpd_prev - the evaluation of Eq. 3 before
 * @ns: its time, ns; wraps every 4.3 s, when the derivative term is next to nothing
 * @sum: its S = x + f, SEG_SCALE; 0: there was none
 */
struct ccpd_prev {
	u32 ns;
	u32 sum;
};

/**
 * struct ccpd_eval - what Eq. 3 is given, and what it answers
 * @kp: proportional gain
 * @kd_us: derivative gain, us
 * @storage: Kp * B, SEG_SCALE
 * @limit: B, to which the derivative term is limited, SEG_SCALE
 * @level: x, SEG_SCALE
 * @in_flight: f, segments
 * @p: proportional term, SEG_SCALE
 * @d: derivative term, SEG_SCALE
 */
struct ccpd_eval {
	u32 kp;
	u32 kd_us;
	s64 storage;
	s64 limit;
	s64 level;
	u32 in_flight;
	s64 p;
	s64 d;
};

/**
 * ccpd_eq3() - the law
 * @e: all but the terms; this sets them
 * @prev: the evaluation before; becomes this one
 * @now_ns: time, ns
 * @most: largest sensible window, SEG_SCALE
 *
 * Return: window, segments, at least 2
 */
static inline u32 ccpd_eq3(struct ccpd_eval *e, struct ccpd_prev *prev, u32 now_ns, s64 most)
{
	s64 f = (s64)e->in_flight << SEG_SCALE;
	s64 sum = min_t(s64, e->level + f, U32_MAX);

	e->p = ccpd_p_term(e->kp, e->storage, e->level, f);
	e->d = prev->sum ? ccpd_d_term(e->kd_us, prev->sum, sum, now_ns - prev->ns, e->limit) : 0;
	prev->sum = sum;
	prev->ns = now_ns;
	return ccpd_window(e->p + e->d, most);
}

/* ------------------------------------------------------------------------- */
/* The estimators                                                            */

/* Eq. 4: of the pairs remembered, the one that waited least */
static inline u32 ccpd_pair_bw(const struct ccpd_probe *p)
{
	const struct ccpd_pair *b = p->best;

	if (!b[1].bw || (b[0].bw && b[0].delay_us <= b[1].delay_us))
		return b[0].bw;
	return b[1].bw;
}

/* The most that a round trip has delivered lately */
static inline u32 ccpd_delivery_rate(const struct ccpd_probe *p)
{
	return max(p->rate[0], p->rate[1]);
}

/* C: what pairs show, and no less than what was delivered */
static inline u32 ccpd_capacity(const struct ccpd_probe *p)
{
	return max(ccpd_pair_bw(p), ccpd_delivery_rate(p));
}

/* A @gap, 2^CCPD_PAIR_SHIFT ns, in which less than half a segment is delivered */
static inline bool ccpd_pair_follows(const struct ccpd_probe *p, u32 gap)
{
	u32 rate = ccpd_delivery_rate(p);

	return rate && (u64)rate * gap < NSEC_PER_USEC << (BW_SCALE - CCPD_PAIR_SHIFT - 1);
}

/* Queueing delay in the smoothed rtt, us, beyond @base_us */
static inline u32 ccpd_queue_us(const struct ccpd_probe *p, u32 base_us)
{
	u32 rtt_us = p->rtt_s >> 3;

	return rtt_us - min(rtt_us, base_us);
}

/* ACKs of a batch show much more than the path delivers. */
static inline bool ccpd_pair_far(const struct ccpd_probe *p, u32 bw)
{
	return bw / CCPD_UNEVEN > ccpd_delivery_rate(p);
}

/*
 * What is far is wrong if there is a queue.  A window of less than 1 / CCPD_UNEVEN of the path
 * delivers as little; but it comes in bursts of at most twice the path's rate, so that half of
 * it queues, or rtt_min / (2 * CCPD_UNEVEN).
 */
static inline bool ccpd_pair_wrong(const struct ccpd_probe *p, u32 bw)
{
	return ccpd_pair_far(p, bw) &&
	       ccpd_queue_us(p, p->rtt_min_us) > p->rtt_min_us / (2 * CCPD_UNEVEN);
}

/* Return: whether it is the best one of this epoch */
static inline bool ccpd_pair_add(struct ccpd_probe *p, u32 bw, u32 delay_us)
{
	struct ccpd_pair *b = p->best;

	if ((p->doubt && ccpd_pair_far(p, bw)) || (b[0].bw && delay_us >= b[0].delay_us))
		return false;
	b[0].bw = bw;
	b[0].delay_us = delay_us;
	return true;
}

/* Such a burst was of a batch; what is remembered may be of one as well. */
static inline void ccpd_doubt(struct ccpd_probe *p)
{
	int i;

	p->doubt = ARRAY_SIZE(p->best);
	for (i = 0; i < ARRAY_SIZE(p->best); i++)
		if (ccpd_pair_far(p, p->best[i].bw))
			p->best[i].bw = 0;
}

/*
 * A round trip more, in which there was enough to send.  One with too little shows a rate that
 * is the application's: what is known of the path must not expire meanwhile.  Without pairs in
 * this epoch those of the one before are kept: a crowd lets none through (path-flows).
 */
static inline void ccpd_age(struct ccpd_probe *p)
{
	if (++p->epoch < CCPD_EPOCH)
		return;
	p->epoch = 0;
	p->doubt -= !!p->doubt;
	p->rate[1] = p->rate[0];
	p->rate[0] = 0;
	if (p->best[0].bw) {
		p->best[1] = p->best[0];
		p->best[0].bw = 0;
	}
}

/* No pair is to be had from what is in flight; start anew behind it. */
static inline void ccpd_pair_drop(struct sock *sk, struct ccpd_probe *p)
{
	p->pair_stage = PAIR_IDLE;
	p->pair_end = tcp_sk(sk)->snd_nxt;
}

/**
 * ccpd_pair_done() - take what a burst shows, and wait for a round trip
 * @sk: socket
 * @p: its estimators
 * @least_us: rtt of a packet that was not delayed, us
 */
static inline void ccpd_pair_done(struct sock *sk, struct ccpd_probe *p, u32 least_us)
{
	u64 span_ns = (u64)p->pair_span << CCPD_PAIR_SHIFT;
	u32 span_us = div_u64(span_ns, NSEC_PER_USEC);
	bool known;
	u32 bw;

	/*
	 * When ACKs come in batches, the time between two of them is the batch's
	 * and not the burst's.
	 */
	known = p->pair_stage == PAIR_MORE || (p->pair_stage == PAIR_SECOND && !p->batched);
	bw = p->pair_stage >= PAIR_SECOND ?
		ccpd_bw(p->last_seq - p->first_seq, p->mss, span_ns) : 0;
	if (p->pair_close && ccpd_pair_wrong(p, bw))
		ccpd_doubt(p);
	/* both ends of the burst left at once: one rtt tells both */
	else if (known && bw && p->pair_rtt_us - min(least_us, p->pair_rtt_us) <= span_us &&
		 ccpd_pair_add(p, bw, 2 * p->pair_rtt_us + span_us))
		p->sure = p->last_seq - p->first_seq >= CCPD_SURE * p->mss;
	ccpd_pair_drop(sk, p);
}

/* The least rtt, us: also of the handshake, since the first window's ACKs may be held back */
static inline u32 ccpd_least_us(const struct sock *sk, const struct ccpd_probe *p)
{
	return min(p->rtt_min_us, tcp_min_rtt(tcp_sk(sk)));
}

/*
 * A @gap, 2^CCPD_PAIR_SHIFT ns, before a further moment: it, or the one gap before it, is
 * CCPD_UNEVEN times as long as the rest.  Then it lies between two batches of ACKs, and tells
 * how far these are apart.
 */
static inline bool ccpd_pair_uneven(const struct ccpd_probe *p, u32 gap)
{
	if (p->pair_stage < PAIR_SECOND)
		return false;
	return gap / CCPD_UNEVEN > p->pair_span ||
	       (p->pair_stage == PAIR_SECOND && p->pair_span / CCPD_UNEVEN > gap);
}

/**
 * ccpd_pair_ack() - an ACK for new data
 * @sk: socket
 * @p: its estimators
 * @rtt_us: rtt that the ACK shows, us
 *
 * Return: whether the burst is acknowledged: ccpd_pair_done() is next
 */
static inline bool ccpd_pair_ack(struct sock *sk, struct ccpd_probe *p, u32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 now = tp->tcp_clock_cache >> CCPD_PAIR_SHIFT, span;

	/* held back by something after all */
	if (p->pair_stage == PAIR_SENT && before(tp->snd_nxt, p->pair_end))
		ccpd_pair_drop(sk, p);
	if (p->pair_stage == PAIR_IDLE ||
	    (p->pair_stage == PAIR_SENT && !after(tp->snd_una, p->last_seq))) {
		p->pair_start = now;
		return false;
	}
	if (after(tp->snd_una, p->pair_end))
		return true;
	if (p->pair_stage == PAIR_SENT) {
		p->pair_stage = PAIR_FIRST;
		p->pair_close = ccpd_pair_follows(p, now - p->pair_start);
		p->pair_start = now;
	}
	span = now - p->pair_start;
	if (p->pair_stage == PAIR_FIRST && span <= CCPD_POLL) {
		/* of one poll: their order says nothing, only their sum does */
		p->pair_start = now;
		p->pair_span = 0;
		p->pair_rtt_us = rtt_us;
		p->first_seq = tp->snd_una;
		if (tp->snd_una - p->last_seq > CCPD_BATCH * p->mss)
			p->batched = 1;
	} else {
		if (span - p->pair_span > CCPD_POLL) {
			if (ccpd_pair_uneven(p, span - p->pair_span)) {
				p->batched = 1;
				ccpd_pair_drop(sk, p);
				return false;
			}
			p->pair_stage = min(p->pair_stage + 1, PAIR_MORE);
		}
		p->pair_span = span;
		p->last_seq = tp->snd_una;
	}
	return tp->snd_una == p->pair_end;
}

/* Segments that may leave, as far as the receiver's window and the data go */
static inline u32 ccpd_room_bytes(const struct tcp_sock *tp)
{
	u32 window = tcp_wnd_end(tp) - tp->snd_nxt;

	if ((s32)window < 0)
		return 0;
	return min(tp->write_seq - tp->snd_nxt, window);
}

/**
 * ccpd_pair_begin() - what leaves from now on is a burst
 * @sk: socket
 * @p: its estimators
 * @segs: how many segments
 */
static inline void ccpd_pair_begin(struct sock *sk, struct ccpd_probe *p, u32 segs)
{
	p->last_seq = tcp_sk(sk)->snd_nxt;
	p->pair_end = p->last_seq + segs * p->mss;
	p->pair_stage = PAIR_SENT;
}

/**
 * ccpd_pair_start() - time what the ACK that is being processed releases, if that is a burst
 * @sk: socket
 * @p: its estimators
 *
 * The window has just grown: what this ACK releases will leave as one burst behind snd_nxt.
 * It is timed if it has two segments, is all there to send, and is not held back by pacing,
 * once per round trip.  The caller sees to it that pacing does not hold it back.
 *
 * Return: whether a burst follows
 */
static inline bool ccpd_pair_start(struct sock *sk, struct ccpd_probe *p)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	s32 segs = tcp_snd_cwnd(tp) - tcp_packets_in_flight(tp);

	if (p->pair_stage != PAIR_IDLE || before(tp->snd_una, p->pair_end) ||
	    segs < 2 || segs > (s32)CCPD_BURST ||
	    ccpd_room_bytes(tp) < segs * p->mss ||
	    tp->tcp_wstamp_ns > tp->tcp_clock_cache)
		return false;

	ccpd_pair_begin(sk, p, segs);
	return true;
}

/* What is acknowledged was sent in this round trip */
static inline bool ccpd_round_is_over(const struct ccpd_probe *p, const struct rate_sample *rs)
{
	return rs->prior_delivered && !before(rs->prior_delivered, p->round_delivered);
}

/**
 * ccpd_rtt() - the rtt sample of an ACK
 * @sk: the socket
 * @p: the estimators
 * @rs: rate sample of the ACK
 *
 * A lone segment acknowledged by a receiver that otherwise acknowledges two has waited for
 * the delayed-ACK timer: that is no queue, and no sample.  Unless a segment is missing: then
 * a receiver acknowledges each one at once (RFC 5681 section 4.2).  Nor is a time in whole ms one
 * on a short path, or where it would be the first.
 *
 * Return: the sample, us, at most CCPD_RTT_CAP; 0: none
 */
static inline u32 ccpd_rtt(const struct sock *sk, struct ccpd_probe *p,
			   const struct rate_sample *rs)
{
	u32 rtt_us;

	/* where none is known rtt_min_us is U32_MAX, and that plus 1 is 0 */
	if (rs->rtt_us <= 0 || rs->is_ack_delayed ||
	    (rs->is_retrans && p->rtt_min_us + 1 <= CCPD_COARSE_US))
		return 0;
	if (p->timed_out) {
		if (!ccpd_round_is_over(p, rs))
			return 0;
		p->timed_out = 0;
	}
	if (rs->acked_sacked > 1)
		p->stretch = 3;
	else if (p->stretch && !tcp_sk(sk)->sacked_out)
		return 0;

	rtt_us = min_t(long, rs->rtt_us, CCPD_RTT_CAP);
	if (p->rtt_s)
		p->rtt_s += rtt_us - (p->rtt_s >> 3);
	else
		p->rtt_s = rtt_us << 3;
	p->round_rtt_us = min(p->round_rtt_us, rtt_us);
	p->rtt_min_us = min(p->rtt_min_us, rtt_us);
	return rtt_us;
}

/**
 * ccpd_round_rate() - at the end of a round trip, the rate at which it delivered
 * @p: the estimators
 * @rs: rate sample of the ACK at which ccpd_round_is_over()
 *
 * The kernel's rate sample leaves out the time in which nothing was in flight.
 *
 * Return: rate, BW_SCALE; 0: there is no sample
 */
static inline u32 ccpd_round_rate(struct ccpd_probe *p, const struct rate_sample *rs)
{
	u32 rate;

	if (rs->delivered <= 0 || rs->interval_us <= 0)
		return 0;
	rate = ccpd_bw(min_t(u32, rs->delivered, BIT(30) - 1), 1,
		       (u64)rs->interval_us * NSEC_PER_USEC);
	p->rate[0] = max(p->rate[0], rate);
	return rate;
}

/* A round trip begins. */
static inline void ccpd_round_begin(struct sock *sk, struct ccpd_probe *p)
{
	/* a timer's segment begins one too, and what it may show is told at ccpd_timeout() */
	p->round_delivered = tcp_sk(sk)->delivered + p->timed_out;
	p->round_rtt_us = U32_MAX;
	p->stretch -= !!p->stretch;
}

/*
 * A timeout.  An ACK of what was sent before it may show an rtt of the whole outage, as where
 * that had arrived and TCP finds by its time stamp that it has: no queue, so it does not count
 * until something comes back that was sent after the first ACK.
 */
static inline void ccpd_timeout(struct sock *sk, struct ccpd_probe *p)
{
	p->timed_out = 1;
	p->round_delivered = tcp_sk(sk)->delivered + 1;
}

/* Segments have another size: what is kept in segments changes its meaning. */
static inline void ccpd_probe_rescale(struct ccpd_probe *p, u32 mss)
{
	p->best[0].bw = ccpd_rescale(p->best[0].bw, p->mss, mss);
	p->best[1].bw = ccpd_rescale(p->best[1].bw, p->mss, mss);
	p->rate[0] = ccpd_rescale(p->rate[0], p->mss, mss);
	p->rate[1] = ccpd_rescale(p->rate[1], p->mss, mss);
	p->mss = mss;
}

/*
 * The same, in a flow.  What is in flight still has the old size, and would be counted as if
 * it had the new one: until it is delivered there is neither a rate nor a pair.
 */
static inline void ccpd_mss_changed(struct sock *sk, struct ccpd_probe *p)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	ccpd_probe_rescale(p, tp->mss_cache);
	ccpd_pair_drop(sk, p);
	p->round_delivered = tp->delivered + tcp_packets_in_flight(tp);
}

static inline void ccpd_probe_init(struct sock *sk, struct ccpd_probe *p)
{
	p->rtt_min_us = U32_MAX;
	p->mss = tcp_sk(sk)->mss_cache;
	ccpd_pair_drop(sk, p);
	ccpd_round_begin(sk, p);
}

/* Whole segments for those who watch */
static inline u64 ccpd_whole_segs(s64 segs)
{
	return max(segs + (1 << SEG_SCALE) / 2, 0LL) >> SEG_SCALE;
}

static inline void ccpd_set_rate(struct sock *sk, u64 bytes_ps)
{
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, bytes_ps, READ_ONCE(sk->sk_max_pacing_rate)));
}

#endif /* _CCPD_PROBE_H */
