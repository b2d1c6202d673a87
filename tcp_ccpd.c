// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Capacity and Congestion Probing with a Proportional plus Derivative
 * controller (CCPD), its ancestor CCP, and CCPD for real paths.
 *
 *   D. Cavendish, H. Kuwahara, K. Kumazoe, M. Tsuru, Y. Oie, "TCP Congestion
 *   Avoidance using Proportional plus Derivative Control".
 *
 * The sender measures its path and sets its window from what it measured, not
 * from the window that it had before:
 *
 *   C = MSS / dispersion of a packet pair		capacity		(Eq. 4)
 *   B = C * (rtt_max - rtt_min)		size of the buffer	(Eq. 5)
 *   x = C * (rtt_s - rtt_min)			level of the buffer	(Eq. 6)
 *   w = Kp * (B - x - f) + Kd / dt * (S' - S)	window, S = x + f	(Eq. 3)
 *
 * where f is what is in flight, S' the S of the evaluation before and dt the
 * time since.  A loss does not enter the law.  Three algorithms use it:
 *
 *   ccpd       Eq. 3 as printed.
 *   ccp        the same without the derivative term (Kd = 0).
 *   ccpd_path  the same law, with a storage that a path needs to be full.
 *
 *      first loss, cwnd >= ssthresh, or        every 10 s, or a strange queue
 *      the law's window in reach                       (ccpd_path only)
 *   SLOW START ----------------------------> AVOIDANCE -----------------> DRAIN
 *       ^                                     |     ^                       |
 *       +-------------------------------------+     +-----------------------+
 *                  retransmission timeout                 rtt_min measured
 *
 * What Eq. 3 does in equilibrium, by its own algebra, for one flow on a path of
 * P = C * rtt_min segments: w = Kp * B / (1 + Kp) while that is below P, and
 * w = Kp * (B + P) / (1 + 2 * Kp) with a queue of w - P < B / 2 once
 * B >= P * (1 + 1 / Kp).  So ccpd leaves a path with a smaller buffer partly
 * empty, and if a loss ends slow start before a queue was seen, B is about zero
 * and the window stays small for good.  The paper's own tables show the former.
 *
 * ccpd_path turns the condition around and chooses the storage for which the
 * algebra gives a full path and a small queue of its own choice, q0:
 *
 *   B = C * (rtt_min * (1 + 1 / Kp) + q0 * (2 + 1 / Kp))
 *
 * It replaces C in Eqs. 5 and 6 by the flow's own claim: what the flow was
 * delivered in the last round trip, plus a share of what is left of C that
 * falls to zero as the queue rises to 2 * q0 and is relatively larger for a
 * smaller flow.  Flows therefore meet at equal rates, with a queue between q0
 * and 2 * q0 (and what Kp makes each window overshoot) however many they are.
 * It paces, and halves its window for two round trips every ten seconds so that
 * rtt_min stays true.
 *
 * It starts with trains (path_start): once the first burst has shown C, each
 * round trip sends a train at that rate, five times as long as the one before if
 * that one arrived as it left; the rate at which one arrives late is what there
 * is.  So the path is full after log5 of its length in round trips, and slow start
 * ends at the law's window instead of at an overflow.
 *
 * Losses beside a queue, when many, are an overflow: the claim falls.  Without a
 * queue they are noise and do not count, unless they are more than an eighth:
 * then something drops what is above its rate, and that rate is taken for C.
 *
 * A queue that stays above 2 * q0 is not of its making.  Halving the window
 * tells why.  If the delay does not fall, twice in a row, it is the path's own:
 * rtt_min has grown, or the delay varies by itself, and its mean without a queue
 * takes the place of rtt_min.  If it falls by what was withdrawn, a flow that
 * gives way only to losses shares the link, and beside that one a floor below the
 * window, with additive increase and multiplicative decrease, keeps the law from
 * starving.
 *
 * How this differs from the paper, and what the paper leaves open:
 *   o Eq. 2 prints Kd twice; the first is Kp, as in Eq. 3.
 *   o The unit of time in Kd / dt is not given.  Microseconds are the one unit
 *     in which the paper's Kd of 100 and 1000 neither vanish nor diverge.  dt is
 *     taken in nanoseconds, as at least 1 us, and the term is limited to B / 32:
 *     ACKs that arrive together would make it arbitrarily large.
 *   o f is what Linux counts as in flight, which includes the queue, so a queue
 *     is counted in x and in f.  That is the printed law.
 *   o 2 <= w <= B + C * rtt_min.
 *   o Of the packet pairs of the last 16 to 32 round trips the one with the
 *     least sum of delays is believed (CapProbe, the paper's reference 10).  A
 *     pair is the whole burst that one increase of the window releases, from the
 *     first to the last of its ACKs.
 *   o rtt_max excludes what a delayed ACK adds.
 *   o After a timeout: slow start up to the window before it.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "tcpcc_compat.h"
#include "tcpcc_param.h"

#define CREATE_TRACE_POINTS
#include "trace_ccpd.h"

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

/* One epoch of the pair filter; two of them are remembered */
#define CCPD_PAIRS	16

/* The longest burst that is timed, segments: it is not paced */
#define CCPD_BURST	32

/* More segments than this acknowledged at one moment are a batch of ACKs */
#define CCPD_BATCH	4

/* Units of what is kept in 16 bits: a quarter of a second in jiffies, and 64 us */
#define CCPD_TICK	(HZ / 4)
#define CCPD_NOISE	64

/* A round trip's losses count when they are this many and 1/50 of it */
#define CCPD_LOSSES	8

/* Windows of ccpd_path are at least this, so that ACKs need not be delayed */
#define CCPD_LEAST_WINDOW	4U

/* What must be withdrawn at least, segments, to tell something from it */
#define CCPD_LEAST_WITNESS	8U

/* The least queue that ccpd_path aims at, segments */
#define CCPD_LEAST_QUEUE	3U

/* By how much each train of ccpd_path's start is longer than the one before */
#define CCPD_TRAIN_GROWTH	5

/* Rounds for which ccpd_path gives way to a queue above 2 * q0 */
#define CCPD_DOUBT	2

/* Rounds of a smaller queue after which ccpd_path ceases to compete */
#define CCPD_CALM	31U

TCPCC_PARAM(kp, 2, 1, 16,
	    "ccpd, ccp: proportional gain Kp of Eq. 3, no unit");
TCPCC_PARAM(kd, 100, 0, 100000,
	    "ccpd, ccpd_path: derivative gain Kd of Eq. 3, us");
TCPCC_PARAM(b_min, 0, 0, 1000000,
	    "ccpd, ccp: least buffer size that Eq. 5 may give, segments");
TCPCC_PARAM(path_kp, 4, 1, 16,
	    "ccpd_path: proportional gain Kp, no unit");
TCPCC_PARAM(path_start, 1, 0, 1,
	    "ccpd_path: 1: start with trains at the measured capacity; 0: slow start");
TCPCC_PARAM(path_drain, 10, 1, 3600,
	    "ccpd_path: time without a new rtt_min before the queue is drained, s");

enum ccpd_mode {
	CCPD_SLOW_START,	/* window grows by what is acknowledged */
	CCPD_AVOIDANCE,		/* window from Eq. 3 */
	CCPD_DRAIN,		/* ccpd_path: window halved to see rtt_min */
};

enum ccpd_pair_stage {
	PAIR_IDLE,		/* wait until @end is acknowledged */
	PAIR_SENT,		/* wait for the first ACK of the burst */
	PAIR_FIRST,		/* ACKs have come at one moment */
	PAIR_SECOND,		/* at two */
	PAIR_MORE,		/* at more */
};

/**
 * struct ccpd_pair - the burst that is being timed
 * @span_ns: from the first ACK for a part of it to the latest, ns
 * @end: sequence number at its end; idle: where the next may start
 * @first_seq: what the ACKs of the first moment acknowledged
 * @last_seq: what the latest ACK within the burst acknowledged; before a second
 *	moment, where the burst begins
 * @rtt_us: rtt of the first ACK, us
 */
struct ccpd_pair {
	u32 span_ns;
	u32 end;
	u32 first_seq;
	u32 last_seq;
	u32 rtt_us;
};

/**
 * struct ccpd_capacity - the best packet pair of an epoch
 * @delay_us: sum of the delays of its packets, us; the least one wins
 * @bw: capacity that it shows, BW_SCALE; 0: none yet
 */
struct ccpd_capacity {
	u32 delay_us;
	u32 bw;
};

/* Per-socket state */
struct ccpd {
	u64	pair_ns;		/* arrival of the pair's first ACK */
	struct ccpd_pair pair;
	struct ccpd_capacity best[2];	/* this epoch and the one before */

	u32	rtt_min_us;
	u32	rtt_max_us;
	u32	rtt_s;			/* smoothed rtt, us << 3 */

	u32	una;			/* what the last ACK acknowledged */
	union {
		struct {		/* of the last evaluation */
			u32 prev_ns;	/*   its time */
			u32 prev_sum;	/*   its S = x + f, SEG_SCALE; 0: none */
		};
		struct {		/* in slow start, of a train */
			u32 train_us;	/*   when its first ACK came */
			u32 train_end;	/*   tp->delivered after it */
		};
	};

	u32	round_delivered;	/* tp->delivered, lost and time when */
	u32	round_lost;		/*   this round trip began */
	u32	round_us;
	u32	round_rtt_us;		/* least rtt in this round trip */

	/* ccpd_path only */
	u32	claim;			/* our part of the capacity, BW_SCALE */
	union {
		u32 floor;		/* least window beside others, segs */
		u32 train_begin;	/* of a train: tp->delivered before it */
	};
	u32	before_us;		/* mean rtt before we gave way */
	u16	rtt_min_stamp;		/* when rtt_min was last met, CCPD_TICK */
	u16	noise;			/* delay of an empty path, CCPD_NOISE us */

	u32	mode:2,			/* enum ccpd_mode */
		pair_stage:3,		/* enum ccpd_pair_stage */
		batched:1,		/* ACKs come many at a time */
		pair_count:5,		/* pairs in this epoch */
		stretch:2,		/* receiver delays ACKs: rounds to believe it */
		limited:1,		/* application-limited in this round */
		rounds:4,		/* in this mode, up to 15 */
		doubt:2,		/* rounds with a queue above 2 * q0 */
		rival:2,		/* enum ccpd_verdict, the last */
		calm:5,			/* rounds without such a queue */
		law:2,			/* enum ccpd_law */
		train:2,		/* enum ccpd_train */
		train_late:1;		/* trains arrive slower than they left */
};

enum ccpd_train {
	TRAIN_NONE,		/* plain slow start */
	TRAIN_WANTED,		/* until a capacity is known */
	TRAIN_SENT,		/* until its first ACK */
	TRAIN_OPEN,		/* until its last */
};

enum ccpd_law { CCPD_LITERAL, CCPD_PROPORTIONAL, CCPD_PATH };

enum ccpd_verdict {
	CCPD_FRIENDLY,		/* all that share the queue give way to it */
	CCPD_EMPTY,		/* there is no queue: the path is longer */
	CCPD_FOREIGN,		/* it is kept up by others */
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
static s64 ccpd_segs(u32 bw, u32 us)
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
static u32 ccpd_bw(u32 bytes, u32 mss, u64 span_ns)
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
static u64 ccpd_bytes_ps(u32 bw, u32 mss)
{
	return ((u64)bw * mss >> 4) * USEC_PER_SEC >> (BW_SCALE - 4);
}

/**
 * ccpd_p_term() - proportional part of Eq. 3
 * @gain: Kp
 * @storage: B, SEG_SCALE
 * @level: x, SEG_SCALE
 * @in_flight: f, SEG_SCALE
 *
 * Return: window, SEG_SCALE; may be negative
 */
static s64 ccpd_p_term(u32 gain, s64 storage, s64 level, s64 in_flight)
{
	return gain * (storage - level - in_flight);
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
static s64 ccpd_d_term(u32 gain_us, s64 prev, s64 now, u32 dt_ns, s64 storage)
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
static u32 ccpd_window(s64 w, s64 most)
{
	w = min(w, most) >> SEG_SCALE;
	return clamp_t(s64, w, 2, S32_MAX);
}

/**
 * ccpd_path_queue_us() - the queueing delay that ccpd_path aims at, q0
 * @bw: capacity, BW_SCALE
 * @rtt_min_us: us
 * @rtt_max_us: us
 *
 * A sixteenth of the propagation delay, or a quarter of the buffer where that
 * is less; where no queue was ever seen, a sixty-fourth.  Never less than
 * CCPD_LEAST_QUEUE segments take, or windows of whole segments would miss it.
 *
 * Return: us, at least 1
 */
static u32 ccpd_path_queue_us(u32 bw, u32 rtt_min_us, u32 rtt_max_us)
{
	u32 least = (rtt_min_us >> 6) + 1;

	/* only a path of few segments has to divide */
	if (bw && ccpd_segs(bw, least) < CCPD_LEAST_QUEUE << SEG_SCALE)
		least = (CCPD_LEAST_QUEUE << BW_SCALE) / bw + 1;
	return clamp((rtt_max_us - rtt_min_us) >> 2, least,
		     max(rtt_min_us >> 4, least));
}

/**
 * ccpd_path_storage() - the storage for which Eq. 3 fills the path
 * @claim: our part of the capacity, BW_SCALE
 * @gain: Kp
 * @rtt_min_us: us
 * @q0_us: queueing delay to aim at, us
 *
 * B = claim * (rtt_min * (1 + 1 / Kp) + q0 * (2 + 1 / Kp)), from Eq. 3 in
 * equilibrium with w = f = claim * (rtt_min + q0) and x = claim * q0.
 *
 * Return: Kp * B, SEG_SCALE: so there is nothing to divide
 */
static s64 ccpd_path_storage(u32 claim, u32 gain, u32 rtt_min_us, u32 q0_us)
{
	return (gain + 1) * ccpd_segs(claim, rtt_min_us) +
	       (2 * gain + 1) * ccpd_segs(claim, q0_us);
}

/**
 * ccpd_log2() - binary logarithm, linear between powers of two
 * @v: at least 1
 *
 * Return: log2(v), scaled by 2^8, at most 0.09 too small
 */
static u32 ccpd_log2(u32 v)
{
	u32 e = fls(v) - 1;

	return (e << 8) + ((v << (31 - e) & S32_MAX) >> 23);
}

/**
 * ccpd_path_claim() - what a flow may ask of the capacity
 * @rate: what it was delivered in the last round trip, BW_SCALE
 * @bw: capacity, BW_SCALE
 * @queue_us: queueing delay in that round trip, us
 * @q0_us: queueing delay to aim at, us
 *
 * rate * (1 + ln(C / rate) / 8 * (1 - queue / (2 * q0))): a flow that has the
 * capacity to itself asks for no more, one of N equal flows for up to ln(N) / 8
 * more, and none for more once the queue is 2 * q0.  The logarithm makes small
 * flows grow faster than large ones by the same factor at any N.
 *
 * Return: rate, BW_SCALE
 */
static u32 ccpd_path_claim(u32 rate, u32 bw, u32 queue_us, u32 q0_us)
{
	u32 room, share;
	u64 more;

	if (!rate || rate >= bw || queue_us >= 2 * q0_us)
		return rate;
	room = div_u64((u64)(2 * q0_us - queue_us) << 7, q0_us);  /* 2^8 */
	share = ccpd_log2(bw) - ccpd_log2(rate);		  /* 2^8 */
	/* ln 2 / 8 is 22 / 2^8; the product is below 2^32 * 2^8 * 2^13 * 2^5 */
	more = (u64)rate * room * share * 22 >> 24;
	return min_t(u64, rate + more, bw);
}

/**
 * ccpd_path_verdict() - whose queue was it that we withdrew from?
 * @withdrawn: what we have less in flight than before, segments
 * @fell_us: by how much the delay has fallen since, us
 * @bw: capacity, BW_SCALE
 * @most: the queue is others' if it fell by at most so many halves of @withdrawn
 *
 * If the delay fell by much less than what we withdrew takes to pass, there is
 * no queue, and what delay is left is the path's own.  If it fell by much more,
 * others have given way as we did.  If it fell by about that, nobody else has,
 * or a loss has taken a part of somebody's window.
 *
 * Return: what can be said; very little withdrawn says nothing
 */
static enum ccpd_verdict ccpd_path_verdict(u32 withdrawn, u32 fell_us, u32 bw,
					   u32 most)
{
	s64 fell = ccpd_segs(bw, fell_us) >> SEG_SCALE;

	if (withdrawn <= CCPD_LEAST_WITNESS)
		return CCPD_FRIENDLY;
	if (fell < withdrawn / 4)
		return CCPD_EMPTY;
	return 2 * fell > (s64)most * withdrawn ? CCPD_FRIENDLY : CCPD_FOREIGN;
}

/* ------------------------------------------------------------------------- */
/* The estimators                                                            */

/* Eq. 4: of the pairs remembered, the one that waited least */
static u32 ccpd_capacity(const struct ccpd *ca)
{
	const struct ccpd_capacity *b = ca->best;

	if (!b[1].bw || (b[0].bw && b[0].delay_us <= b[1].delay_us))
		return b[0].bw;
	return b[1].bw;
}

/*
 * Something lets through less than the slowest link does, and drops the rest: a
 * policer.  For the next 32 pairs what it let through is the capacity.
 */
static void ccpd_cap(struct ccpd *ca, u32 rate)
{
	ca->best[0].bw = rate;
	ca->best[0].delay_us = 0;
	ca->best[1].bw = 0;
	ca->pair_count = 0;
}

static bool ccpd_capped(const struct ccpd *ca)
{
	const struct ccpd_capacity *b = ca->best;

	return (b[0].bw && !b[0].delay_us) || (b[1].bw && !b[1].delay_us);
}

static void ccpd_pair_add(struct ccpd *ca, u32 bw, u32 delay_us)
{
	struct ccpd_capacity *b = ca->best;

	if (ca->pair_count == CCPD_PAIRS) {
		b[1] = b[0];
		b[0].bw = 0;
		ca->pair_count = 0;
	}
	ca->pair_count++;
	if (!b[0].bw || delay_us < b[0].delay_us) {
		b[0].bw = bw;
		b[0].delay_us = delay_us;
	}
}

/* No pair is to be had from what is in flight; start anew behind it. */
static void ccpd_pair_drop(struct sock *sk)
{
	struct ccpd *ca = inet_csk_ca(sk);

	ca->pair_stage = PAIR_IDLE;
	ca->pair.end = tcp_sk(sk)->snd_nxt;
}

/* The burst is acknowledged: take what it shows, and wait for a round trip. */
static void ccpd_pair_done(struct sock *sk)
{
	struct ccpd *ca = inet_csk_ca(sk);
	const struct ccpd_pair *p = &ca->pair;
	u32 bw;

	/*
	 * When ACKs come in batches, the time between two of them is the batch's
	 * and not the burst's.
	 */
	if (ca->pair_stage == PAIR_MORE ||
	    (ca->pair_stage == PAIR_SECOND && !ca->batched)) {
		bw = ccpd_bw(p->last_seq - p->first_seq, tcp_sk(sk)->mss_cache,
			     p->span_ns);
		/* both ends of the burst left at once: one rtt tells both */
		if (bw)
			ccpd_pair_add(ca, bw, 2 * p->rtt_us +
				      p->span_ns / NSEC_PER_USEC);
	}
	ccpd_pair_drop(sk);
}

/*
 * An ACK for new data.  Those that arrive at the same instant are one: their
 * order says nothing of the path, only their sum does.
 */
static void ccpd_pair_ack(struct sock *sk, u32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);
	struct ccpd_pair *p = &ca->pair;
	u64 span_ns;

	if (ca->pair_stage == PAIR_IDLE)
		return;
	if (after(tp->snd_una, p->end)) {
		ccpd_pair_done(sk);
		return;
	}
	if (ca->pair_stage == PAIR_SENT) {
		if (!after(tp->snd_una, p->last_seq))
			return;
		if (before(tp->snd_nxt, p->end)) {
			ccpd_pair_drop(sk);
			return;
		}
		ca->pair_stage = PAIR_FIRST;
		ca->pair_ns = tp->tcp_clock_cache;
		p->span_ns = 0;
	}
	span_ns = tp->tcp_clock_cache - ca->pair_ns;
	if (!span_ns) {
		p->first_seq = tp->snd_una;
		p->rtt_us = rtt_us;
		if (tp->snd_una - p->last_seq > CCPD_BATCH * tp->mss_cache)
			ca->batched = 1;
	} else if (span_ns <= U32_MAX) {
		if (span_ns != p->span_ns)
			ca->pair_stage = min(ca->pair_stage + 1, PAIR_MORE);
		p->span_ns = span_ns;
		p->last_seq = tp->snd_una;
	}
	if (tp->snd_una == p->end)
		ccpd_pair_done(sk);
}

/*
 * The window has just grown: what this ACK releases will leave as one burst
 * behind snd_nxt.  It is timed if it has two segments, once per round trip.
 *
 * Return: true if a burst follows, so that it must not be paced
 */
static bool ccpd_pair_start(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);
	struct ccpd_pair *p = &ca->pair;
	s32 segs = tcp_snd_cwnd(tp) - tcp_packets_in_flight(tp);
	u32 bytes;

	if (ca->pair_stage != PAIR_IDLE || before(tp->snd_una, p->end) ||
	    segs < 2 || segs > CCPD_BURST)
		return false;

	/* only what is there to send, may be sent, and is not held by pacing */
	bytes = segs * tp->mss_cache;
	if (tp->write_seq - tp->snd_nxt < bytes ||
	    after(tp->snd_nxt + bytes, tcp_wnd_end(tp)) ||
	    tp->tcp_wstamp_ns > tp->tcp_clock_cache)
		return false;

	p->last_seq = tp->snd_nxt;
	p->end = tp->snd_nxt + bytes;
	ca->pair_stage = PAIR_SENT;
	return true;
}

/* Time in units of CCPD_TICK; differences of it are taken modulo 2^16. */
static u16 ccpd_now(void)
{
	return tcp_jiffies32 / CCPD_TICK;
}

static void ccpd_set_noise(struct ccpd *ca, u32 us)
{
	ca->noise = min(us / CCPD_NOISE, U16_MAX);
}

/*
 * A smaller rtt than any before.  If the delay of the path varies by itself, the
 * sum of the two is what an empty path takes; if that is much more than the rtt,
 * the path has become shorter.
 */
static void ccpd_rtt_min(struct ccpd *ca, u32 rtt_us)
{
	u32 noise_us = ca->noise * CCPD_NOISE + ca->rtt_min_us - rtt_us;

	if (ca->noise)
		ccpd_set_noise(ca, noise_us > rtt_us / 4 ? 0 : noise_us);
	ca->rtt_min_us = rtt_us;
}

/*
 * A lone segment acknowledged by a receiver that otherwise acknowledges two
 * has waited for the delayed-ACK timer: that is no queue.
 */
static void ccpd_rtt(struct sock *sk, const struct rate_sample *rs)
{
	struct ccpd *ca = inet_csk_ca(sk);
	u32 rtt_us;

	if (rs->rtt_us <= 0 || rs->is_ack_delayed)
		return;
	if (rs->acked_sacked > 1)
		ca->stretch = 3;
	else if (ca->stretch)
		return;

	rtt_us = min_t(long, rs->rtt_us, CCPD_RTT_CAP);
	if (ca->rtt_s)
		ca->rtt_s += rtt_us - (ca->rtt_s >> 3);
	else
		ca->rtt_s = rtt_us << 3;
	ca->round_rtt_us = min(ca->round_rtt_us, rtt_us);
	ca->rtt_max_us = max(ca->rtt_max_us, rtt_us);
	/* met again, and not by chance: no need to look for it */
	if (ca->rtt_s >> 3 <= ca->rtt_min_us + (ca->rtt_min_us >> 7))
		ca->rtt_min_stamp = ccpd_now();
	if (rtt_us < ca->rtt_min_us)
		ccpd_rtt_min(ca, rtt_us);
}

/* What an empty path takes on average, us */
static u32 ccpd_base_us(const struct ccpd *ca)
{
	return ca->rtt_min_us + ca->noise * CCPD_NOISE;
}

/* Queueing delay in an rtt, us */
static u32 ccpd_queue_in(const struct ccpd *ca, u32 rtt_us)
{
	return rtt_us - min(rtt_us, ccpd_base_us(ca));
}

/* The same in the smoothed rtt, us */
static u32 ccpd_queue_us(const struct ccpd *ca)
{
	return ccpd_queue_in(ca, ca->rtt_s >> 3);
}

static u32 ccpd_path_q0(const struct ccpd *ca)
{
	return ccpd_path_queue_us(ccpd_capacity(ca), ca->rtt_min_us,
				  ca->rtt_max_us);
}

/* ------------------------------------------------------------------------- */
/* The senders                                                               */

/* In slow start and without an estimate, only the size of TSO bursts. */
static void ccpd_set_rate(struct sock *sk, u64 bytes_ps)
{
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, bytes_ps, READ_ONCE(sk->sk_max_pacing_rate)));
}

static void ccpd_set_cwnd(struct sock *sk, u32 cwnd)
{
	const struct ccpd *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (ca->law == CCPD_PATH)
		cwnd = max(cwnd, CCPD_LEAST_WINDOW);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
}

static void ccpd_enter(struct sock *sk, enum ccpd_mode mode)
{
	struct ccpd *ca = inet_csk_ca(sk);

	ca->mode = mode;
	ca->rounds = 0;
	ca->prev_sum = 0;
}

/* What the law is given, and what it answers */
struct ccpd_eval {
	s64 storage;		/* B, SEG_SCALE */
	s64 level;		/* x, SEG_SCALE */
	s64 p;			/* the two terms of Eq. 3, SEG_SCALE */
	s64 d;
	u32 window;		/* segments */
};

static void ccpd_eval_literal(const struct ccpd *ca, struct ccpd_eval *e,
			      s64 in_flight)
{
	u32 bw = ccpd_capacity(ca);

	e->storage = max_t(s64, ccpd_segs(bw, ca->rtt_max_us - ca->rtt_min_us),
			   (s64)READ_ONCE(b_min) << SEG_SCALE);
	e->level = ccpd_segs(bw, ccpd_queue_us(ca));
	e->p = ccpd_p_term(READ_ONCE(kp), e->storage, e->level, in_flight);
}

static void ccpd_eval_path(const struct ccpd *ca, struct ccpd_eval *e,
			   s64 in_flight)
{
	u32 gain = READ_ONCE(path_kp);
	u32 q0 = ccpd_path_q0(ca);

	e->level = ccpd_segs(ca->claim, ccpd_queue_us(ca));
	e->p = ccpd_path_storage(ca->claim, gain, ccpd_base_us(ca), q0) +
	       ccpd_p_term(gain, 0, e->level, in_flight);
	e->storage = ccpd_segs(ca->claim, ccpd_base_us(ca) + 2 * q0);
}

/* Eq. 3, on an ACK that acknowledges new data */
static u32 ccpd_eval(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);
	u32 in_flight = tcp_packets_in_flight(tp);
	s64 f = (s64)in_flight << SEG_SCALE;
	u32 now_ns = tp->tcp_clock_cache;
	struct ccpd_eval e;
	s64 sum;

	if (ca->law == CCPD_PATH)
		ccpd_eval_path(ca, &e, f);
	else
		ccpd_eval_literal(ca, &e, f);

	/* prev_ns wraps every 4.3 s: by then the term is nil in any case */
	sum = min_t(s64, e.level + f, U32_MAX);
	e.d = 0;
	if (ca->law != CCPD_PROPORTIONAL && ca->prev_sum)
		e.d = ccpd_d_term(READ_ONCE(kd), ca->prev_sum, sum,
				  now_ns - ca->prev_ns, e.storage);
	ca->prev_sum = sum;
	ca->prev_ns = now_ns;

	e.window = ccpd_window(e.p + e.d, e.storage +
			       ccpd_segs(ccpd_capacity(ca), ca->rtt_min_us));

	if (trace_ccpd_update_enabled()) {
		u32 mss = tp->mss_cache;

		trace_ccpd_update(sk, ccpd_bytes_ps(ccpd_capacity(ca), mss) * 8,
				  ccpd_bytes_ps(ca->claim, mss) * 8,
				  ca->rtt_s >> 3, ca->rtt_min_us,
				  ca->rtt_max_us, e.storage >> SEG_SCALE,
				  e.level >> SEG_SCALE, in_flight,
				  e.p >> SEG_SCALE, e.d >> SEG_SCALE, e.window);
	}
	return e.window;
}

static void ccpd_avoid(struct sock *sk)
{
	const struct ccpd *ca = inet_csk_ca(sk);
	u32 w;

	/* nothing measured yet: keep the window until it is */
	if (ca->law == CCPD_PATH ? !ca->claim : !ccpd_capacity(ca))
		return;
	w = ccpd_eval(sk);
	if (ca->rival == CCPD_FOREIGN)
		w = max(w, ca->floor);
	ccpd_set_cwnd(sk, w);
}

/*
 * Recovery, as in the paper: the window stays what it was, and each ACK lets
 * one segment out.  Linux takes what is lost out of flight at once; with the
 * bare window all of it would leave again as one burst, and be lost again.  If
 * nearly all is lost, one more for each ACK, or it would take as many rounds.
 */
static void ccpd_hold(struct sock *sk, u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 in_flight = tcp_packets_in_flight(tp);
	u32 more = acked + (in_flight < tp->snd_ssthresh / 4);

	ccpd_set_cwnd(sk, min(tp->snd_ssthresh, in_flight + max(more, 1U)));
}

/*
 * The next train: the window becomes cwnd, and what that releases leaves at the
 * rate of our claim, behind what is in flight already.
 *
 * Return: true if the window that the law aims at is within reach instead
 */
static bool ccpd_train_send(struct sock *sk, u64 cwnd)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);
	u32 in_flight = tcp_packets_in_flight(tp);
	s64 target = ccpd_segs(ca->claim, ca->rtt_min_us + ccpd_path_q0(ca));
	u32 more;

	if (cwnd >= target >> SEG_SCALE)
		return true;
	ccpd_set_cwnd(sk, cwnd);
	more = max(tcp_snd_cwnd(tp), in_flight) - in_flight;
	ca->train_begin = tp->delivered + in_flight;
	/* what is lost of it must not make us wait for what comes after it */
	ca->train_end = ca->train_begin + more - (more >> 4);
	ca->train = TRAIN_SENT;
	return false;
}

/*
 * A train is through.  If it arrived about as fast as it left, the rate is there,
 * for so long at least, and the next train may be longer; otherwise the rate at
 * which it arrived is what there is.
 *
 * Return: as ccpd_train_send()
 */
static bool ccpd_train_done(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);
	u32 span_us = (u32)tp->tcp_mstamp - ca->train_us;
	u32 rate = ccpd_bw(tp->delivered - ca->train_begin, 1,
			   (u64)span_us * NSEC_PER_USEC);
	u64 cwnd = tcp_snd_cwnd(tp);

	/* not sent as one: nothing learned, nothing gained */
	if (ca->limited)
		return ccpd_train_send(sk, cwnd);
	if (rate && rate < ca->claim - (ca->claim >> 3)) {
		ca->claim = rate;
		ca->train_late = 1;
	} else if (!ca->train_late) {
		ca->claim = ccpd_capacity(ca);
	}
	return ccpd_train_send(sk, cwnd * CCPD_TRAIN_GROWTH);
}

/*
 * ccpd_path's start.  Once a capacity is known, a train at that rate goes out in
 * every round trip, each CCPD_TRAIN_GROWTH times as long as the one before, and
 * only if that one arrived as it was sent.
 *
 * Return: true when the start is over
 */
static bool ccpd_train(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);

	switch (ca->train) {
	case TRAIN_WANTED:
		ca->claim = ccpd_capacity(ca);
		if (ca->claim && ca->rtt_s)
			return ccpd_train_send(sk, tcp_snd_cwnd(tp) +
						   CCPD_BURST);
		break;
	case TRAIN_SENT:
		if (before(tp->delivered, ca->train_begin + 1))
			break;
		ca->train_begin = tp->delivered;
		ca->train_us = tp->tcp_mstamp;
		ca->train = TRAIN_OPEN;
		break;
	case TRAIN_OPEN:
		if (!before(tp->delivered, ca->train_end))
			return ccpd_train_done(sk);
		break;
	}
	return false;
}

static void ccpd_slow_start(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);
	u32 bw = ccpd_capacity(ca);
	s64 target;

	if (ca->train != TRAIN_NONE && ccpd_train(sk)) {
		ccpd_enter(sk, CCPD_AVOIDANCE);
		return;
	}
	if (ca->train > TRAIN_WANTED)
		return;
	if (rs->acked_sacked && tcp_is_cwnd_limited(sk))
		tcp_slow_start(tp, rs->acked_sacked);

	if (!tcp_in_slow_start(tp)) {
		ca->claim = bw;
		ccpd_enter(sk, CCPD_AVOIDANCE);
	} else if (ca->law == CCPD_PATH && bw && ca->rtt_s) {
		/* the window that the law would set with the path to itself */
		target = ccpd_segs(bw, ca->rtt_min_us +
				   ccpd_path_q0(ca));
		if ((s64)tcp_snd_cwnd(tp) << SEG_SCALE >= target) {
			ca->claim = bw;
			ccpd_enter(sk, CCPD_AVOIDANCE);
		}
	}
}

static void ccpd_path_drain(struct sock *sk)
{
	struct ccpd *ca = inet_csk_ca(sk);

	ca->before_us = ca->rtt_s >> 3;
	ccpd_set_cwnd(sk, tcp_packets_in_flight(tcp_sk(sk)) / 2);
	ccpd_enter(sk, CCPD_DRAIN);
}

/*
 * Two rounds at half the window: what is the rtt now, and what does it tell?  A
 * queue that is still there is others' even if some of them gave way; one that
 * made us doubt and is gone, only if it fell by no more than our part.
 */
static void ccpd_path_drained(struct sock *sk, u32 bw, bool crowded)
{
	struct ccpd *ca = inet_csk_ca(sk);
	u32 mean_us = ca->rtt_s >> 3;
	u32 fell_us = ca->before_us - min(ca->before_us, mean_us);
	enum ccpd_verdict verdict =
		ccpd_path_verdict(tcp_snd_cwnd(tcp_sk(sk)), fell_us, bw,
				  crowded ? 6 : ca->doubt ? 3 : 0);

	ccpd_enter(sk, CCPD_AVOIDANCE);
	ca->calm = 0;
	if (verdict == CCPD_EMPTY && ca->rival != CCPD_EMPTY) {
		/* or somebody has just taken what we gave: once more */
		ca->rival = CCPD_EMPTY;
		ca->doubt = CCPD_DOUBT - 1;
		return;
	}
	ca->rival = verdict;
	if (verdict == CCPD_EMPTY) {
		ca->rival = CCPD_FRIENDLY;
		ca->rtt_min_us = ca->round_rtt_us;
		ca->rtt_max_us = max(ca->rtt_max_us, ca->rtt_min_us);
	}
	/* what delays at half the window, and did not fall with it, is no queue */
	if (verdict == CCPD_EMPTY || mean_us < ccpd_base_us(ca))
		ccpd_set_noise(ca, mean_us - min(mean_us, ca->rtt_min_us));
	ca->doubt = 0;
	ca->rtt_min_stamp = ccpd_now();
}

/*
 * A queue above 2 * q0.  For a round or two the law gives way, as all of our
 * kind do at once, then the window is halved to find out.  If neither helps,
 * either the path has become longer, or the queue is kept up by a flow that
 * knows no such law.
 */
static void ccpd_path_crowded(struct sock *sk)
{
	struct ccpd *ca = inet_csk_ca(sk);

	if (!ca->doubt)
		ca->floor = ccpd_segs(ca->claim, ca->rtt_min_us) >> SEG_SCALE;
	if (++ca->doubt == CCPD_DOUBT)
		ccpd_path_drain(sk);
}

/*
 * Beside a flow that gives way only to losses, the window that we had is held,
 * and follows additive increase, multiplicative decrease, until the queue was
 * small for longer than such a flow leaves it so after a loss; a queue that runs
 * empty now and then is nobody's who fills it.  A loss meets all at once: if all
 * are of our kind after all, each halves its window now, and sees it.
 */
static void ccpd_path_compete(struct sock *sk, u32 queue_us, u32 q0, bool lost)
{
	struct ccpd *ca = inet_csk_ca(sk);
	u32 calm = ca->calm;

	if (lost) {
		ca->floor -= ca->floor >> 2;
		ccpd_path_drain(sk);
		return;
	}
	if (queue_us > 2 * q0) {
		ca->floor++;
		calm -= !!calm;
	} else {
		calm += queue_us < q0 / 2 ? CCPD_CALM / 4 : 1;
	}
	ca->calm = min(calm, CCPD_CALM);
	if (calm >= CCPD_CALM)
		ca->rival = CCPD_FRIENDLY;
}

/*
 * What ccpd_path claims after a round trip.  Losses beside a queue are those of
 * an overflow.  Without a queue a few are noise: what they took is counted as
 * delivered; many are a policer's.
 */
static u32 ccpd_path_next_claim(struct ccpd *ca, u32 rate, u32 delivered,
				u32 lost, u32 bw, u32 q0)
{
	u32 queue_us = ccpd_queue_in(ca, ca->round_rtt_us);
	bool empty = ccpd_queue_us(ca) < q0;

	if (lost >= CCPD_LOSSES && lost > delivered / (empty ? 8 : 50)) {
		if (empty)
			ccpd_cap(ca, rate);
		return empty ? rate : rate - rate / 4;
	}
	if (ca->limited)
		return max(ca->claim, rate);
	if (empty)
		rate += div_u64((u64)rate * min(lost, delivered), delivered);
	if (ccpd_capped(ca))
		rate = min(rate, bw);
	/* half way, since a round trip passes before it is felt */
	return ((u64)ca->claim +
		ccpd_path_claim(rate, bw, queue_us, q0)) >> 1;
}

/*
 * The capacity as far as it is known.  Losses all the time let no pair through:
 * then there may be twice of what is delivered.
 */
static u32 ccpd_path_capacity(const struct ccpd *ca, u32 rate)
{
	u32 bw = ccpd_capacity(ca);

	if (ccpd_capped(ca))
		return bw;
	/* doubtful */
	if (!bw || (rate >= bw && ccpd_queue_us(ca) < ccpd_path_q0(ca)))
		return min_t(u64, 2ULL * rate, U32_MAX);
	return max(bw, rate);
}

/*
 * ccpd_path, once per round trip: what the round delivered and lost, and the
 * least rtt in it, decide what to claim in the next.
 */
static void ccpd_path_round(struct sock *sk, u32 rate, u32 delivered, u32 lost)
{
	struct ccpd *ca = inet_csk_ca(sk);
	u32 bw = ccpd_path_capacity(ca, rate);
	u32 q0 = ccpd_path_q0(ca);
	u32 queue_us = ccpd_queue_in(ca, ca->round_rtt_us);
	bool crowded = queue_us > 2 * q0;

	ca->rounds = min(ca->rounds + 1, 15);
	switch (ca->mode) {
	case CCPD_SLOW_START:
		/* a queue that lasts a round trip, or losses: the pipe is full */
		if ((lost >= CCPD_LOSSES && lost > delivered / 50) ||
		    queue_us > 2 * q0 + 1000) {
			ca->claim = rate;
			ccpd_enter(sk, CCPD_AVOIDANCE);
		}
		return;
	case CCPD_DRAIN:
		if (ca->rounds >= 2)
			ccpd_path_drained(sk, bw, crowded);
		return;
	}

	/* what is delivered now was sent under the window before */
	if (ca->rounds < 2)
		return;

	ca->claim = ccpd_path_next_claim(ca, rate, delivered, lost, bw, q0);

	if ((u16)(ccpd_now() - ca->rtt_min_stamp) >
		    READ_ONCE(path_drain) * (HZ / CCPD_TICK) ||
	    (ca->rounds == 15 && ca->rival != CCPD_FOREIGN &&
	     ccpd_queue_us(ca) > 2 * q0 && ca->claim < bw - (bw >> 3)))
		ccpd_path_drain(sk);
	else if (ca->rival == CCPD_FOREIGN)
		ccpd_path_compete(sk, queue_us, q0, lost);
	else if (crowded)
		ccpd_path_crowded(sk);
	else
		ca->doubt = 0;
}

/* The round trip that began at round_delivered is over. */
static void ccpd_round(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);
	u32 delivered = tp->delivered - ca->round_delivered;
	u32 span_us = (u32)tp->tcp_mstamp - ca->round_us;
	u32 rate = ccpd_bw(min(delivered, 1U << 20), 1,
			   (u64)span_us * NSEC_PER_USEC);

	if (ca->law == CCPD_PATH && rate && ca->round_rtt_us != U32_MAX)
		ccpd_path_round(sk, rate, delivered, tp->lost - ca->round_lost);

	if (ca->law != CCPD_PATH)
		ccpd_set_rate(sk, ccpd_bytes_ps(rate, tp->mss_cache) *
				  (ca->mode == CCPD_SLOW_START ? 4 : 2));

	ca->round_delivered = tp->delivered;
	ca->round_lost = tp->lost;
	ca->round_us = tp->tcp_mstamp;
	ca->round_rtt_us = U32_MAX;
	ca->limited = 0;
	ca->stretch -= !!ca->stretch;
}

/*
 * ccpd_path leaves a burst that is timed alone.  A train leaves at the rate of
 * our claim, all else a quarter faster, but not beyond 17/16 of the capacity: what
 * refills the path would meet a queue that the window does not show yet.  Until
 * the first pair is seen slow start is not paced: a pair needs a burst.
 */
static void ccpd_pace(struct sock *sk, bool burst)
{
	const struct ccpd *ca = inet_csk_ca(sk);
	u32 bw = ccpd_capacity(ca);
	u32 claim = ca->claim ?: bw;
	u64 rate = claim;

	if (ca->mode != CCPD_SLOW_START || ca->train <= TRAIN_WANTED)
		rate = max_t(u64, claim, min(rate + (claim >> 2),
					     (u64)bw + (bw >> 4)));
	if (claim)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE,
			SK_PACING_NEEDED);
	rate = ccpd_bytes_ps(min_t(u64, rate, U32_MAX),
			     tcp_sk(sk)->mss_cache);
	ccpd_set_rate(sk, burst || !claim ? ~0ULL : rate);
}

static void ccpd_update(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	bool ordered = state == TCP_CA_Open || state == TCP_CA_Disorder;
	bool advanced = tp->snd_una != ca->una;
	bool burst = false;
	u32 cwnd = tcp_snd_cwnd(tp);

	ca->una = tp->snd_una;
	ca->limited |= rs->is_app_limited;

	/* the paper's estimators pause during recovery, as its window does */
	if (ordered || ca->law == CCPD_PATH)
		ccpd_rtt(sk, rs);
	if (state != TCP_CA_Open || rs->is_retrans)
		ccpd_pair_drop(sk);
	else if (advanced && rs->rtt_us > 0)
		ccpd_pair_ack(sk, rs->rtt_us);

	if (rs->prior_delivered > 0 &&
	    !before(rs->prior_delivered, ca->round_delivered))
		ccpd_round(sk);

	if (state == TCP_CA_Loss) {
		ca->train = TRAIN_NONE;
		if (ca->mode != CCPD_SLOW_START) {
			ca->claim = 0;
			ccpd_enter(sk, CCPD_SLOW_START);
		}
	}

	if (ca->mode == CCPD_SLOW_START) {
		if (ordered || state == TCP_CA_Loss || ca->law == CCPD_PATH)
			ccpd_slow_start(sk, rs);
		else if (state == TCP_CA_Recovery)
			ccpd_enter(sk, CCPD_AVOIDANCE);
	} else if (ca->mode == CCPD_AVOIDANCE) {
		/* the paper's law ignores duplicate ACKs and holds in recovery;
		 * ours goes by what is delivered, in order or not
		 */
		if (ca->law != CCPD_PATH && !ordered)
			ccpd_hold(sk, rs->acked_sacked);
		else if (ca->law == CCPD_PATH ? rs->acked_sacked : advanced)
			ccpd_avoid(sk);
	}

	/* the paper wants two segments more; in slow start one ACK, and what
	 * it acknowledges, releases as many
	 */
	if (ca->mode == CCPD_SLOW_START)
		cwnd++;
	else
		cwnd += 2;
	if (state == TCP_CA_Open && tcp_snd_cwnd(tp) >= cwnd)
		burst = ccpd_pair_start(sk);

	if (ca->law == CCPD_PATH)
		ccpd_pace(sk, burst);
}

tcpcc_cong_control(ccpd_cong_control)
{
	ccpd_update(sk, rs);
}

static void ccpd_start(struct sock *sk, enum ccpd_law law)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->law = law;
	ca->rtt_min_us = U32_MAX;
	ca->rtt_min_stamp = ccpd_now();
	ca->una = tp->snd_una;
	ca->pair.end = tp->snd_nxt;
	ca->round_delivered = tp->delivered;
	ca->round_lost = tp->lost;
	ca->round_us = tp->tcp_mstamp;
	ca->round_rtt_us = U32_MAX;
}

static void ccpd_init(struct sock *sk)
{
	ccpd_start(sk, CCPD_LITERAL);
}

static void ccp_init(struct sock *sk)
{
	ccpd_start(sk, CCPD_PROPORTIONAL);
}

static void ccpd_path_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);

	ccpd_start(sk, CCPD_PATH);
	/* the first window is a burst too, if all of it is there to send */
	if (READ_ONCE(path_start) && !tp->packets_out) {
		ca->train = TRAIN_WANTED;
		ca->pair.last_seq = tp->snd_nxt;
		ca->pair.end = tp->snd_nxt +
			       min_t(u32, tcp_snd_cwnd(tp), CCPD_BURST) *
			       tp->mss_cache;
		ca->pair_stage = PAIR_SENT;
	}
}

/*
 * A loss leaves what is outstanding as it is, and that is where slow start after
 * a timeout will end.  snd_cwnd does not tell it: from one ACK to the next Eq. 3
 * swings between nothing and Kp * B around it.  For ccpd_path a loss in slow
 * start does not end it.
 */
static u32 ccpd_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct ccpd *ca = inet_csk_ca(sk);

	if (ca->law != CCPD_PATH)
		return max(tp->packets_out - tp->sacked_out, 2U);
	if (ca->mode == CCPD_SLOW_START)
		return TCP_INFINITE_SSTHRESH;
	return tcp_snd_cwnd(tp);
}

static u32 ccpd_undo_cwnd(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

static u32 ccpd_sndbuf_expand(struct sock *sk)
{
	/* Eq. 3 may ask for several times what is in flight */
	return 3;
}

/*
 * In the form that ss prints: bw is the capacity, mrtt rtt_min, and the two
 * gains are the size of the buffer and its level, both in segments.
 */
static size_t ccpd_get_info(struct sock *sk, u32 ext, int *attr,
			    union tcp_cc_info *info)
{
	const struct ccpd *ca = inet_csk_ca(sk);
	u32 bw = ccpd_capacity(ca);
	u64 bytes_ps;

	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1))) &&
	    !(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;

	memset(&info->bbr, 0, sizeof(info->bbr));
	bytes_ps = ccpd_bytes_ps(bw, tcp_sk(sk)->mss_cache);
	info->bbr.bbr_bw_lo = (u32)bytes_ps;
	info->bbr.bbr_bw_hi = (u32)(bytes_ps >> 32);
	if (ca->rtt_s) {
		info->bbr.bbr_min_rtt = ca->rtt_min_us;
		/* ss shows 1/256 of them: SEG_SCALE */
		info->bbr.bbr_pacing_gain =
			min_t(s64, ccpd_segs(bw, ca->rtt_max_us -
					     ca->rtt_min_us), U32_MAX);
		info->bbr.bbr_cwnd_gain =
			min_t(s64, ccpd_segs(bw, ccpd_queue_us(ca)), U32_MAX);
	}
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

#define CCPD_OPS(_name, _init)						\
	{								\
		.flags		= TCP_CONG_NON_RESTRICTED,		\
		.name		= _name,				\
		.owner		= THIS_MODULE,				\
		.init		= _init,				\
		.cong_control	= ccpd_cong_control,			\
		.ssthresh	= ccpd_ssthresh,			\
		.undo_cwnd	= ccpd_undo_cwnd,			\
		.sndbuf_expand	= ccpd_sndbuf_expand,			\
		.get_info	= ccpd_get_info,			\
	}

static struct tcp_congestion_ops ccpd_ops[] __read_mostly = {
	CCPD_OPS("ccpd", ccpd_init),
	CCPD_OPS("ccp", ccp_init),
	CCPD_OPS("ccpd_path", ccpd_path_init),
};

static int __init ccpd_register(void)
{
	int i, err;

	BUILD_BUG_ON(sizeof(struct ccpd) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(CCPD_PAIRS >= 1 << 5);

	for (i = 0; i < ARRAY_SIZE(ccpd_ops); i++) {
		err = tcp_register_congestion_control(&ccpd_ops[i]);
		if (err)
			goto undo;
	}
	return 0;
undo:
	while (i--)
		tcp_unregister_congestion_control(&ccpd_ops[i]);
	return err;
}

static void __exit ccpd_unregister(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ccpd_ops); i++)
		tcp_unregister_congestion_control(&ccpd_ops[i]);
}

module_init(ccpd_register);
module_exit(ccpd_unregister);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP CCPD: proportional plus derivative congestion control");
MODULE_ALIAS("tcp_ccp");
MODULE_ALIAS("tcp_ccpd_path");
