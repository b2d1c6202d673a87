/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Capacity and congestion probing: the part that ccpd and ccpd_path share.
 *
 *   D. Cavendish, H. Kuwahara, K. Kumazoe, M. Tsuru, Y. Oie, "TCP Congestion
 *   Avoidance using Proportional plus Derivative Control".
 *
 * This file has the units of rates and windows, the estimators (packet pairs, round-trip times,
 * the rate delivered in a round trip), and Eq. 3.
 *
 * Packet pairs.  A pair is the burst that one increase of the window releases.  Its rate is an
 * estimate of the capacity: the data that its ACKs acknowledge after the first ACK, divided by the
 * time from the first ACK to the last (Eq. 4).  On a real host the time between two ACKs may have
 * another cause than the path:
 *   o ACKs from one poll of the network card are processed 0.2 to 2 us apart, in a guest without
 *     hardware help 20 us.  ACKs at most CCPD_POLL apart count as one moment, and only the time
 *     between moments counts.
 *   o If ACKs were held back together, the first one has waited for the others.  So a pair counts
 *     only if its first packet was not delayed by more than the pair's own length (CapProbe, the
 *     paper's reference 10).  This is the paper's "pair that saw no queueing".
 *   o A paced burst shows the pacing rate.  So no paced burst is timed.
 *   o A boundary between two batches of ACKs makes a pair longer.  Then one of its gaps is much
 *     longer than the others, and the pair does not count.  Also, the capacity is never less than
 *     the rate delivered in a recent round trip.
 *   o On a slow host an ACK takes longer than CCPD_POLL, so each ACK of a batch is a moment of its
 *     own.  A pair is taken to be of such a batch if it follows another ACK in less than half the
 *     time in which a segment is delivered, its rate is more than eight times what any round trip
 *     has delivered, and there is a queue.  (Without a queue the window may just be small.)  For
 *     the next 16 to 32 round trips no pair with such a rate counts.
 * Of the pairs of the last 16 to 32 round trips the one with the least delay counts, and of the
 * delivered rates the largest.
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

/* Largest rtt that enters an estimate, us; a larger one counts as this */
#define CCPD_RTT_CAP	(100 * USEC_PER_SEC)

/* Times within a pair are in units of 2^4 ns: a u32 holds 68 s; a pair at 1 kbit/s takes 48 s */
#define CCPD_PAIR_SHIFT	4

/* Length of an epoch of the pair filter, round trips; two epochs are remembered */
#define CCPD_EPOCH	16

/* The longest burst that is timed, segments: it leaves without pacing */
#define CCPD_BURST	32U

/*
 * ACKs from one poll of the network card are processed 0.2 to 2 us apart.  ACKs at most this
 * (1 us) apart count as one moment, because a frame at 10 Gb/s takes 1.2 us.  In units of
 * 2^CCPD_PAIR_SHIFT ns.
 */
#define CCPD_POLL	(1000U >> CCPD_PAIR_SHIFT)

/* If one moment acknowledges more segments than this, ACKs come in batches */
#define CCPD_BATCH	4

/*
 * Without batches the gaps between the ACKs of a burst differ by less than this factor.  A pair's
 * rate is suspect if it exceeds the delivered rate by more than the same factor; stock_hosts
 */
#define CCPD_UNEVEN	8

/*
 * If packets have jitter, a burst of a few segments may show half of the capacity or twice the
 * capacity.  A burst of at least so many segments is more reliable; stock_cases, idle
 */
#define CCPD_SURE	8U

/*
 * TCP computes the rtt of a retransmitted segment from its time stamp, in whole ms.  It may be 1 ms
 * too small.  On a path with an rtt below this limit that error is too large.
 */
#define CCPD_COARSE_US	(16 * USEC_PER_MSEC)

/* A CE mark leaves 218/256 = 0.85 of the window: RFC 8511's factor */
#define CCPD_ECN_KEEP	218U

enum ccpd_pair_stage {
	PAIR_IDLE,		/* waits until @pair_end is acknowledged */
	PAIR_SENT,		/* waits for the first ACK of the burst */
	PAIR_FIRST,		/* ACKs came at one moment */
	PAIR_SECOND,		/* ACKs came at two moments */
	PAIR_MORE,		/* ACKs came at more than two moments */
};

/**
 * struct ccpd_pair - the best packet pair of an epoch
 * @delay_us: sum of the rtts of its first and its last packet, us; the pair with the least counts
 * @bw: its rate, BW_SCALE; 0: no pair yet
 */
struct ccpd_pair {
	u32 delay_us;
	u32 bw;
};

/**
 * struct ccpd_probe - the estimators of a socket
 * @pair_start: time of the first moment of the timed burst, 2^CCPD_PAIR_SHIFT ns; before that
 *	moment: time of the latest ACK
 * @pair_span: time from @pair_start to the latest ACK for a part of the burst,
 *	2^CCPD_PAIR_SHIFT ns
 * @pair_end: sequence number at the end of the burst; idle: where the next burst may start
 * @first_seq: sequence number up to which the ACKs of the first moment acknowledged
 * @last_seq: sequence number up to which the latest ACK within the burst acknowledged; before
 *	the second moment: where the burst begins
 * @pair_rtt_us: rtt of the first moment, us
 * @best: the best pair of this epoch, and that of an earlier epoch
 * @rate: largest rate that a round trip delivered, in this epoch and in the one before,
 *	BW_SCALE
 * @rtt_min_us: least round-trip time, us; U32_MAX: none yet
 * @rtt_s: smoothed round-trip time, us << 3
 * @round_delivered: tp->delivered at which this round trip began, or will begin
 * @round_rtt_us: least rtt in this round trip, us; U32_MAX: none yet
 * @mss: bytes of a segment, the unit of rates and windows
 * @pair_stage: enum ccpd_pair_stage
 * @batched: ACKs come in batches
 * @pair_close: the burst's first ACK closely follows another ACK; ccpd_pair_follows()
 * @doubt: the ACKs of a batch looked like a pair; for so many more epochs pairs with such a rate
 *	do not count
 * @epoch: round trips of this epoch; ccpd_path: its PATH_TICKs
 * @stretch: the receiver delays ACKs; assumed for so many more round trips
 * @sure: the pair that last became the best one has at least CCPD_SURE segments
 * @timed_out: ACKs may be for segments that were sent before a timeout
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
/* The laws: pure functions, tested by tests/kunit with the paper's numbers  */

/**
 * ccpd_segs() - segments that a rate delivers in a time
 * @bw: rate, BW_SCALE
 * @us: time, us, at most CCPD_RTT_CAP
 *
 * Eqs. 5 and 6 are this function of (rtt_max - rtt_min) and of (rtt_s - rtt_min).
 *
 * Return: segments, SEG_SCALE
 */
static inline s64 ccpd_segs(u32 bw, u32 us)
{
	return (u64)bw * us >> (BW_SCALE - SEG_SCALE);
}

/**
 * ccpd_bw() - the rate of a number of bytes in a time (Eq. 4)
 * @bytes: number of bytes, below 2^30
 * @mss: bytes of a segment
 * @span_ns: time, ns
 *
 * Return: rate, BW_SCALE, at most U32_MAX; 0 if the time or the mss is 0
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
 * Return: bytes/s; the product is at most 2^32 * 2^16 * 10^6 before the shifts
 */
static inline u64 ccpd_bytes_ps(u32 bw, u32 mss)
{
	return ((u64)bw * mss >> 4) * USEC_PER_SEC >> (BW_SCALE - 4);
}

/**
 * ccpd_rescale() - convert a number of segments, or a rate, to another segment size
 * @value: in segments of @old bytes
 * @old: old size of a segment, bytes
 * @new: new size of a segment, bytes
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
 * @prev: S = x + f at the previous evaluation, SEG_SCALE
 * @now: S now, SEG_SCALE
 * @dt_ns: time between the two, ns; limited to 1 us to 2.1 s
 * @storage: B, SEG_SCALE; the term is limited to +-1/32 of it
 *
 * Return: the term, SEG_SCALE; negative while S grows
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
 * ccpd_window() - limit the window of Eq. 3 to values that can be set
 * @w: sum of the two terms of Eq. 3, SEG_SCALE
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
 * struct ccpd_prev - the previous evaluation of Eq. 3
 * @ns: its time, ns; wraps every 4.3 s, and after so long the derivative term is about 0
 * @sum: its S = x + f, SEG_SCALE; 0: there was no evaluation
 */
struct ccpd_prev {
	u32 ns;
	u32 sum;
};

/**
 * struct ccpd_eval - the inputs and the terms of Eq. 3
 * @kp: proportional gain
 * @kd_us: derivative gain, us
 * @storage: Kp * B, SEG_SCALE
 * @limit: B, SEG_SCALE; it limits the derivative term
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
 * @e: the inputs; the function sets the two terms
 * @prev: the previous evaluation; the function stores this one there
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

/* Eq. 4: the rate of the remembered pair with the least delay, BW_SCALE; 0: none */
static inline u32 ccpd_pair_bw(const struct ccpd_probe *p)
{
	const struct ccpd_pair *b = p->best;

	if (!b[1].bw || (b[0].bw && b[0].delay_us <= b[1].delay_us))
		return b[0].bw;
	return b[1].bw;
}

/* Largest rate that a round trip delivered in this epoch or the one before, BW_SCALE; 0: none */
static inline u32 ccpd_delivery_rate(const struct ccpd_probe *p)
{
	return max(p->rate[0], p->rate[1]);
}

/* C: the rate of the pairs, or the delivered rate if that is larger */
static inline u32 ccpd_capacity(const struct ccpd_probe *p)
{
	return max(ccpd_pair_bw(p), ccpd_delivery_rate(p));
}

/* Whether less than half a segment is delivered in a @gap, 2^CCPD_PAIR_SHIFT ns */
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

/* Whether a pair's rate is so much above the delivered rate that it may be of a batch of ACKs */
static inline bool ccpd_pair_far(const struct ccpd_probe *p, u32 bw)
{
	return bw / CCPD_UNEVEN > ccpd_delivery_rate(p);
}

/*
 * Whether a pair's rate is wrong: it is far above the delivered rate, and there is a queue.  The
 * delivered rate is also far below the capacity if the window is less than 1 / CCPD_UNEVEN of what
 * the path holds.  But such a window arrives in bursts of at most twice the path's rate.  So at
 * most half of it queues, which is a queueing delay of rtt_min / (2 * CCPD_UNEVEN).
 */
static inline bool ccpd_pair_wrong(const struct ccpd_probe *p, u32 bw)
{
	return ccpd_pair_far(p, bw) &&
	       ccpd_queue_us(p, p->rtt_min_us) > p->rtt_min_us / (2 * CCPD_UNEVEN);
}

/* Return: whether the pair becomes the best one of this epoch */
static inline bool ccpd_pair_add(struct ccpd_probe *p, u32 bw, u32 delay_us)
{
	struct ccpd_pair *b = p->best;

	if ((p->doubt && ccpd_pair_far(p, bw)) || (b[0].bw && delay_us >= b[0].delay_us))
		return false;
	b[0].bw = bw;
	b[0].delay_us = delay_us;
	return true;
}

/* A pair was of a batch of ACKs.  Forget the remembered pairs that may be of a batch, too. */
static inline void ccpd_doubt(struct ccpd_probe *p)
{
	int i;

	p->doubt = ARRAY_SIZE(p->best);
	for (i = 0; i < ARRAY_SIZE(p->best); i++)
		if (ccpd_pair_far(p, p->best[i].bw))
			p->best[i].bw = 0;
}

/*
 * Counts @rounds, at most CCPD_EPOCH, in which the application had enough to send.  Other round
 * trips show the rate of the application, and the estimates of the path must not expire in them.
 * If an epoch had no pair, the pair of the epoch before is kept, because among many flows no pair
 * passes without delay (path-flows).
 */
static inline void ccpd_age(struct ccpd_probe *p, u32 rounds)
{
	p->epoch += rounds;
	if (p->epoch < CCPD_EPOCH)
		return;
	p->epoch -= CCPD_EPOCH;
	p->doubt -= !!p->doubt;
	p->rate[1] = p->rate[0];
	p->rate[0] = 0;
	if (p->best[0].bw) {
		p->best[1] = p->best[0];
		p->best[0].bw = 0;
	}
}

/* Gives up timing among the segments in flight.  The next burst may start behind them. */
static inline void ccpd_pair_drop(struct sock *sk, struct ccpd_probe *p)
{
	p->pair_stage = PAIR_IDLE;
	p->pair_end = tcp_sk(sk)->snd_nxt;
}

/**
 * ccpd_pair_done() - evaluate a timed burst; the next one may start after a round trip
 * @sk: socket
 * @p: its estimators
 * @least_us: rtt of a packet that was not delayed, us
 *
 * Not inline: it happens once in a round trip, and would use registers that each ACK needs.
 */
static noinline void ccpd_pair_done(struct sock *sk, struct ccpd_probe *p, u32 least_us)
{
	u64 span_ns = (u64)p->pair_span << CCPD_PAIR_SHIFT;
	u32 span_us = div_u64(span_ns, NSEC_PER_USEC);
	bool known;
	u32 bw;

	/*
	 * If ACKs come in batches, the time between two moments is the time
	 * between batches, and not that of the burst.
	 */
	known = p->pair_stage == PAIR_MORE || (p->pair_stage == PAIR_SECOND && !p->batched);
	bw = p->pair_stage >= PAIR_SECOND ?
		ccpd_bw(p->last_seq - p->first_seq, p->mss, span_ns) : 0;
	if (p->pair_close && ccpd_pair_wrong(p, bw))
		ccpd_doubt(p);
	/* the burst left at once: the rtt of its last packet is pair_rtt_us + span_us */
	else if (known && bw && p->pair_rtt_us - min(least_us, p->pair_rtt_us) <= span_us &&
		 ccpd_pair_add(p, bw, 2 * p->pair_rtt_us + span_us))
		p->sure = p->last_seq - p->first_seq >= CCPD_SURE * p->mss;
	ccpd_pair_drop(sk, p);
}

/* Least rtt, us.  It includes the handshake, because the first window's ACKs may be held back. */
static inline u32 ccpd_least_us(const struct sock *sk, const struct ccpd_probe *p)
{
	return min(p->rtt_min_us, tcp_min_rtt(tcp_sk(sk)));
}

/*
 * Whether one gap is CCPD_UNEVEN times as long as the rest of the burst: the @gap before a new
 * moment, 2^CCPD_PAIR_SHIFT ns, or the only gap before it.  Such a gap lies between two batches of
 * ACKs, and is the time between the batches.
 */
static inline bool ccpd_pair_uneven(const struct ccpd_probe *p, u32 gap)
{
	if (p->pair_stage < PAIR_SECOND)
		return false;
	return gap / CCPD_UNEVEN > p->pair_span ||
	       (p->pair_stage == PAIR_SECOND && p->pair_span / CCPD_UNEVEN > gap);
}

/**
 * ccpd_pair_ack() - process an ACK for new data
 * @sk: socket
 * @p: its estimators
 * @rtt_us: rtt sample of the ACK, us
 *
 * Return: whether the whole burst is acknowledged; the caller then calls ccpd_pair_done()
 */
static inline bool ccpd_pair_ack(struct sock *sk, struct ccpd_probe *p, u32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 now = tp->tcp_clock_cache >> CCPD_PAIR_SHIFT, span;

	/* a part of the burst was not sent */
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
		/* ACKs of one poll: only what they acknowledge together counts */
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

/* Bytes that may be sent, by the receive window and the data that are there */
static inline u32 ccpd_room_bytes(const struct tcp_sock *tp)
{
	u32 window = tcp_wnd_end(tp) - tp->snd_nxt;

	if ((s32)window < 0)
		return 0;
	return min(tp->write_seq - tp->snd_nxt, window);
}

/**
 * ccpd_pair_begin() - time the next segments that are sent as a burst
 * @sk: socket
 * @p: its estimators
 * @segs: number of segments in the burst
 */
static inline void ccpd_pair_begin(struct sock *sk, struct ccpd_probe *p, u32 segs)
{
	p->last_seq = tcp_sk(sk)->snd_nxt;
	p->pair_end = p->last_seq + segs * p->mss;
	p->pair_stage = PAIR_SENT;
}

/**
 * ccpd_pair_start() - time the segments that the current ACK releases, if they are a burst
 * @sk: socket
 * @p: its estimators
 *
 * The window has just grown: the segments that this ACK releases leave as one burst, from snd_nxt
 * on.  One burst in a round trip is timed.  It must have 2 to CCPD_BURST segments, the data and
 * the receive window must suffice for all of them, and pacing must not delay them at this moment.
 * The caller makes sure that pacing does not delay them later.
 *
 * Return: whether a timed burst follows
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

/* Whether a segment that was sent in this round trip is acknowledged, which ends it */
static inline bool ccpd_round_is_over(const struct ccpd_probe *p, const struct rate_sample *rs)
{
	return rs->prior_delivered && !before(rs->prior_delivered, p->round_delivered);
}

/**
 * ccpd_rtt() - take the rtt sample of an ACK
 * @sk: the socket
 * @p: the estimators
 * @rs: rate sample of the ACK
 *
 * If a receiver that acknowledges two segments at a time acknowledges only one, that segment has
 * waited for the delayed-ACK timer.  This is not queueing delay, so the ACK gives no sample.
 * Exception: if a segment is missing, a receiver acknowledges each segment at once (RFC 5681
 * section 4.2).  An rtt in whole ms (see CCPD_COARSE_US) is not a sample on a short path, nor if
 * it would be the first sample.
 *
 * Return: the sample, us, at most CCPD_RTT_CAP; 0: no sample
 */
static inline u32 ccpd_rtt(const struct sock *sk, struct ccpd_probe *p,
			   const struct rate_sample *rs)
{
	u32 rtt_us;

	/* if no rtt is known, rtt_min_us is U32_MAX, and U32_MAX + 1 is 0 */
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
 * ccpd_round_rate() - take the rate that a round trip delivered, at its end
 * @p: the estimators
 * @rs: rate sample of the ACK at which ccpd_round_is_over()
 *
 * The kernel's rate sample does not include time without segments in flight.
 *
 * Return: rate, BW_SCALE; 0: no sample
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
	/* the segment that a timeout sends begins a round trip, too; see ccpd_timeout() */
	p->round_delivered = tcp_sk(sk)->delivered + p->timed_out;
	p->round_rtt_us = U32_MAX;
	p->stretch -= !!p->stretch;
}

/*
 * A timeout.  The rtt of a segment that was sent before it may include the whole outage, for
 * example if the segment had arrived, and TCP detects that by its time stamp.  This is not queueing
 * delay.  So no rtt counts until a segment is acknowledged that was sent after the first ACK.
 */
static inline void ccpd_timeout(struct sock *sk, struct ccpd_probe *p)
{
	p->timed_out = 1;
	p->round_delivered = tcp_sk(sk)->delivered + 1;
}

/* The segment size changes: convert all values whose unit is the segment. */
static inline void ccpd_probe_rescale(struct ccpd_probe *p, u32 mss)
{
	p->best[0].bw = ccpd_rescale(p->best[0].bw, p->mss, mss);
	p->best[1].bw = ccpd_rescale(p->best[1].bw, p->mss, mss);
	p->rate[0] = ccpd_rescale(p->rate[0], p->mss, mss);
	p->rate[1] = ccpd_rescale(p->rate[1], p->mss, mss);
	p->mss = mss;
}

/*
 * The same during a flow.  Segments in flight still have the old size, but would be counted as if
 * they had the new one.  So there is no rate and no pair until they are delivered.
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

/* Rounds @segs, SEG_SCALE, to whole segments for .get_info; a negative value becomes 0 */
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
