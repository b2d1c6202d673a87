/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common code of the senders of a NIST study.
 *
 *   K. Mills, J. Filliben, D. Cho, E. Schwartz, D. Genin, "Study of Proposed Internet
 *   Congestion Control Mechanisms", NIST SP 500-282, chapter 5.
 *
 * The study writes Reno and six laws for congestion avoidance in one form, to compare
 * them.  Each has a module in this directory.  The study defines for all of them:
 *
 *   slow start	cwnd += 1 for each segment acknowledged, Eq. 5; limited (RFC 3742)
 *		from sst_max on: cwnd += sst_max / 2 / cwnd.  Slow start ends at the first
 *		loss, or at sst_int
 *   increase	after slow start, by the law; below the low window of the law as Reno
 *   loss	by the law, once in a round trip; sst = cwnd
 *   timeout	sst by the law, and slow start
 *   periodic	rules that run at an ACK if their interval is over
 *
 * The study is a packet model without delayed ACKs, SACK or reordering.  So here
 *   o "for each ACK" means for each segment acknowledged;
 *   o the study's rule of no increase and no second decrease in the rest of a round trip after a
 *     loss is TCP's recovery here.  TCP reaches the smaller window by proportional rate reduction
 *     (RFC 6937), and the law uses the window at the end of recovery;
 *   o TCP sets the initial window and the window after a timeout: they are not the study's 2;
 *   o the reaction to CE is the reaction to a loss (RFC 3168 section 6.1.2), with the law's own
 *     factor.  TCP asks for it at most once in a round trip, because TCP stays in CWR until the
 *     data in flight are acknowledged;
 *   o if DSACK, Eifel or F-RTO find that a loss was spurious, all of its effects are undone: the
 *     window, the threshold and the state of the law are as before;
 *   o a law never increases faster than slow start does.  H-TCP would, after an hour
 *     without a loss, and BIC below S_max;
 *   o a flow that does not use its window does not increase it;
 *   o all values are in segments.  If TCP changes the size of segments, it keeps the window or sets
 *     a new one, and the law continues from that window.  Values that the law remembers from the
 *     old size are replaced at the next loss.
 *
 * A module includes this file, defines nist_law, and ends with NIST_MODULE().  If its law has
 * periodic rules, it defines NIST_PERIODIC before the include; the other laws have no work in each
 * ACK.  An ACK that does not reach the increase should save no registers.  So the increase is a
 * function of its own.  A module for which the compiler needs no such help defines NIST_AVOID as
 * __always_inline, which saves the call.
 */
#ifndef _NIST_H
#define _NIST_H

#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "tcpcc_compat.h"
#include "tcpcc_param.h"

/* Windows and increases are in units of 2^-32 segment, so that 1 / cwnd is never rounded to 0 */
#define NIST_SCALE	32
#define NIST_ONE	BIT_ULL(NIST_SCALE)

#ifndef NIST_AVOID
#define NIST_AVOID	noinline
#endif

/* Upper limit of a window, segments: 400 Gb/s for 10 s is a third of it */
#define NIST_CWND_MAX	BIT(30)

/* The study's cwnd_INT, and the least window after a reduction, segments */
#define NIST_CWND_MIN	2

TCPCC_PARAM(sst_max, 100, 2, 2147483648,
	    "Window from which slow start is limited, segments; sst_int or more: not limited");
TCPCC_PARAM(sst_int, 2147483648, 2, 2147483648,
	    "Window at which the first slow start ends, segments");

/**
 * struct nist - state that every law keeps for a flow; the first member of the law's own state
 * @cwnd: the window, NIST_SCALE; in recovery the window at its end
 * @prior: @cwnd before the last reduction; 0: there was no reduction, or it is undone
 * @rtt_min_us: least round-trip time since the flow began, us; U32_MAX: none yet
 * @inverse: 2^32 / @inverse_of
 * @inverse_of: segments
 */
struct nist {
	u64	cwnd;
	u64	prior;
	u32	rtt_min_us;
	u32	inverse;
	u32	inverse_of;
};

/**
 * struct nist_ack - an ACK, for the periodic rules
 * @now_us: time of the ACK, us
 * @rtt_us: its rtt sample, us; 0 or less: none
 * @srtt_us: TCP's smoothed rtt, us; 0: none yet
 * @delivered: tp->delivered, segments; wraps
 * @recovery: TCP is in CWR, Recovery or Loss
 * @slow_start: the window is below sst
 * @avoidance: neither of these; only for @periodic of a law that has @due
 * @limited: the window is fully used; only with @avoidance
 */
struct nist_ack {
	u64	now_us;
	s32	rtt_us;
	u32	srtt_us;
	u32	delivered;
	bool	recovery;
	bool	slow_start;
	bool	avoidance;
	bool	limited;
};

/**
 * struct nist_law - a law for congestion avoidance
 * @start: a flow begins; @ack has only @now_us and @delivered.  NULL: all zero is right
 * @increase: @acked segments were acknowledged: changes cwnd
 * @decrease: a segment was lost.  Return: the new window
 * @timeout: the loss was found by a timeout; called after @decrease.  Return: the threshold of
 *	slow start; NULL: the result of @decrease
 * @undo: the loss was spurious, and cwnd is restored; restores what @decrease and @timeout
 *	changed.  NULL: nothing to restore
 * @periodic: an ACK came, in any state; for modules that define NIST_PERIODIC
 * @due: whether @periodic, which may then change cwnd, has work.  NULL: @periodic is called for
 *	every ACK, and must not change cwnd
 */
struct nist_law {
	void	(*start)(struct nist *nist, const struct nist_ack *ack);
	void	(*increase)(struct nist *nist, u32 acked);
	u64	(*decrease)(struct nist *nist);
	u64	(*timeout)(struct nist *nist);
	void	(*undo)(struct nist *nist);
	void	(*periodic)(struct nist *nist, const struct nist_ack *ack);
	bool	(*due)(const struct nist *nist, const struct nist_ack *ack);
};

static const struct nist_law nist_law;	/* defined by each module */

/* ------------------------------------------------------------------------- */
/* Pure functions                                                            */

/* @segs segments as a window */
static inline u64 nist_segs(u32 segs)
{
	return (u64)segs << NIST_SCALE;
}

/*
 * @x * @share / 2^@shift, with @shift up to 32.  This is mul_u64_u32_shr() in two parts, because
 * gcc needs a stack frame for a product of 128 bits.
 */
static inline u64 nist_share(u64 x, u32 share, u32 shift)
{
	return ((x >> 32) * share << (32 - shift)) + ((x & U32_MAX) * share >> shift);
}

/* @share thousandths of @x; @share is at most 1000 */
static inline u64 nist_permille(u64 x, u32 share)
{
	return nist_share(x, (share << 22) / 1000, 22);
}

/* 1 / cwnd, NIST_SCALE.  Divides only if the number of whole segments in the window changed. */
static __always_inline u32 nist_inverse(struct nist *nist)
{
	u32 whole = nist->cwnd >> NIST_SCALE;

	if (nist->inverse_of != whole) {
		nist->inverse_of = whole;
		nist->inverse = U32_MAX / max(whole, 1U);
	}
	return nist->inverse;
}

/*
 * Each of @acked segments adds @step, but at most 1, up to a window of @most.  All NIST_SCALE.
 * The sum does not overflow: fewer than 2^31 bytes are in flight, so @acked is less than 2^31.
 */
static __always_inline void nist_add(struct nist *nist, u64 step, u32 acked, u64 most)
{
	nist->cwnd = min(nist->cwnd + min(step, NIST_ONE) * acked, most);
}

/* The window grows by @alpha, NIST_SCALE, per round trip: by @alpha / cwnd for each of @acked. */
static __always_inline void nist_grow(struct nist *nist, u64 alpha, u32 acked)
{
	nist_add(nist, nist_share(alpha, nist_inverse(nist), 32), acked,
		 nist_segs(NIST_CWND_MAX));
}

/* The same, with @alpha in whole segments */
static __always_inline void nist_grow_segs(struct nist *nist, u32 alpha, u32 acked)
{
	nist_add(nist, (u64)alpha * nist_inverse(nist), acked, nist_segs(NIST_CWND_MAX));
}

/* Reno's increase: one segment in a round trip, Eq. 6 */
static __always_inline void nist_reno(struct nist *nist, u32 acked)
{
	nist_grow_segs(nist, 1, acked);
}

/**
 * nist_slow_start() - Eq. 5
 * @nist: the flow
 * @sst: slow start ends at this window, segments; above the current window
 * @limit: slow start is limited from this window on, segments
 * @acked: segments acknowledged
 *
 * Return: the part of @acked that is left for congestion avoidance
 */
static inline u32 nist_slow_start(struct nist *nist, u32 sst, u32 limit, u32 acked)
{
	u32 whole = nist->cwnd >> NIST_SCALE;
	u32 n = whole < limit ? min(acked, min(sst, limit) - whole) : 0;

	nist->cwnd += nist_segs(n);
	acked -= n;
	if (!acked || whole + n >= sst)
		return acked;
	nist_grow(nist, nist_segs(limit) / 2, acked);
	nist->cwnd = min(nist->cwnd, nist_segs(sst));
	return 0;
}

/**
 * nist_queued() - the part of a window that is in the queue
 * @win: NIST_SCALE
 * @rtt_min_us: least rtt, us
 * @srtt_us: smoothed rtt, us
 *
 * Return: packets, NIST_SCALE
 */
static inline u64 nist_queued(u64 win, u32 rtt_min_us, u32 srtt_us)
{
	if (srtt_us <= rtt_min_us)
		return 0;
	return mul_u64_u32_div(win, srtt_us - rtt_min_us, srtt_us);
}

/* Whether an interval is over.  A sum, because a difference would need a copy of @now_us. */
static inline bool nist_is_over(u64 since_us, u64 interval_us, u64 now_us)
{
	return unlikely(since_us + interval_us <= now_us);
}

/* The same for a round trip, but at least 1 us, because the smoothed rtt may be 0 */
static inline bool nist_is_round(u64 since_us, u32 srtt_us, u64 now_us)
{
	return nist_is_over(since_us, srtt_us, now_us) && since_us != now_us;
}

/**
 * struct nist_rate - average throughput, Eqs. 23 and 36
 * @rate: packets/s in units of 2^-8
 * @since_us: start of this interval, us
 * @delivered: tp->delivered at that time
 * @wait_us: for the law: time from @since_us until its rules are due, us
 */
struct nist_rate {
	u64	rate;
	u64	since_us;
	u32	delivered;
	u32	wait_us;
};

#define NIST_RATE_SCALE	8

/* At the end of an interval */
static inline u32 nist_rate_end(struct nist_rate *rate, u64 now_us, u32 delivered, u32 weight)
{
	u32 acks = delivered - rate->delivered;
	u64 sample = div64_u64((u64)acks * (USEC_PER_SEC << NIST_RATE_SCALE),
			       now_us - rate->since_us);

	rate->rate = nist_permille(sample, weight) +
		     nist_permille(rate->rate, 1000 - weight);
	rate->since_us = now_us;
	rate->delivered = delivered;
	return acks;
}

/**
 * nist_rate_update() - update the average if an interval is over
 * @rate: the average
 * @now_us: current time, us
 * @delivered: tp->delivered
 * @interval_us: minimum length of an interval, us, more than 0
 * @weight: weight of the last interval, thousandths
 *
 * The study divides by the nominal interval.  Here the divisor is the real length of the interval.
 *
 * Return: segments of the interval if it is over, else 0
 */
static inline u32 nist_rate_update(struct nist_rate *rate, u64 now_us, u32 delivered,
				   u32 interval_us, u32 weight)
{
	if (!nist_is_over(rate->since_us, interval_us, now_us))
		return 0;
	return nist_rate_end(rate, now_us, delivered, weight);
}

/* ------------------------------------------------------------------------- */
/* The sender                                                                */

/* If TCP changed its window, as after a timeout, use that window.  The fraction is lost then. */
static void nist_follow(struct sock *sk)
{
	struct nist *nist = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (nist->cwnd >> NIST_SCALE != cwnd)
		nist->cwnd = nist_segs(cwnd);
}

static void nist_apply(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct nist *nist = inet_csk_ca(sk);
	u32 cwnd = nist->cwnd >> NIST_SCALE;

	/* no window reaches 2^31 segments */
	tcp_snd_cwnd_set(tp, max_t(int, min(cwnd, tp->snd_cwnd_clamp), 1));
}

static __always_inline void nist_increase(struct sock *sk, u32 acked)
{
	struct nist *nist = inet_csk_ca(sk);

	if (acked)
		nist_law.increase(nist, acked);
	/* most ACKs change a fraction of a segment */
	if (nist->cwnd >> NIST_SCALE != tcp_snd_cwnd(tcp_sk(sk)))
		nist_apply(sk);
}

static noinline void nist_start(struct sock *sk, u32 acked)
{
	u32 limit = READ_ONCE(sst_max);

	nist_follow(sk);
	if (limit >= READ_ONCE(sst_int))
		limit = U32_MAX;
	nist_increase(sk, nist_slow_start(inet_csk_ca(sk), tcp_sk(sk)->snd_ssthresh, limit, acked));
}

static NIST_AVOID void nist_avoid(struct sock *sk, u32 acked)
{
	nist_follow(sk);
	nist_increase(sk, acked);
}

static void nist_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tcp_sk(sk)))
		nist_start(sk, acked);
	else
		nist_avoid(sk, acked);
}

#ifdef NIST_PERIODIC
/* Runs the rules at an ACK for which they are due */
static noinline void nist_periodic(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct nist *nist = inet_csk_ca(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	const struct nist_ack ack = {
		.now_us = tp->tcp_mstamp,
		.srtt_us = tp->srtt_us >> 3,
		.delivered = tp->delivered,
		.recovery = state >= TCP_CA_CWR,
		.slow_start = tcp_in_slow_start(tp),
		.avoidance = state < TCP_CA_CWR && !tcp_in_slow_start(tp),
		.limited = tp->is_cwnd_limited,
	};
	/* TCP is still on its way to the window from @decrease, and will reach it */
	bool on_way = state == TCP_CA_CWR || state == TCP_CA_Recovery;
	u64 before;

	if (!on_way)
		nist_follow(sk);
	before = nist->cwnd;
	nist_law.periodic(nist, &ack);
	if (nist->cwnd != before && !on_way)
		nist_apply(sk);
}

/*
 * TCP has removed the acknowledged segments from its queue.  Later in the same ACK it calls
 * .ssthresh, if the ACK showed a loss, and lets the window grow.
 */
static void nist_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct nist *nist = inet_csk_ca(sk);
	const struct nist_ack ack = {
		.now_us = tp->tcp_mstamp,
		.rtt_us = sample->rtt_us,
		.srtt_us = tp->srtt_us >> 3,
		.delivered = tp->delivered,
		.recovery = inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR,
		.slow_start = tcp_in_slow_start(tp),
	};

	if (unlikely((u32)sample->rtt_us < nist->rtt_min_us) && sample->rtt_us > 0)
		nist->rtt_min_us = sample->rtt_us;
	if (!nist_law.due)
		nist_law.periodic(nist, &ack);
	else if (nist_law.due(nist, &ack))
		nist_periodic(sk);
}

#define NIST_PKTS_ACKED	nist_pkts_acked
#else
#define NIST_PKTS_ACKED	NULL
#endif

static u32 nist_ssthresh(struct sock *sk)
{
	struct nist *nist = inet_csk_ca(sk);

	nist_follow(sk);
	nist->prior = nist->cwnd;
	nist->cwnd = max(nist_law.decrease(nist), nist_segs(NIST_CWND_MIN));
	return nist->cwnd >> NIST_SCALE;
}

/* TCP has already called .ssthresh, and now gives the reason: a timeout. */
static void nist_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct nist *nist = inet_csk_ca(sk);

	if (event == CA_EVENT_LOSS && nist_law.timeout)
		WRITE_ONCE(tcp_sk(sk)->snd_ssthresh,
			   max_t(u32, nist_law.timeout(nist) >> NIST_SCALE,
				 NIST_CWND_MIN));
}

/*
 * The loss was spurious.  If the loss was under another congestion control, and the socket was
 * switched to this one in recovery, only TCP knows the window before the loss.
 */
static u32 nist_undo_cwnd(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct nist *nist = inet_csk_ca(sk);

	nist->cwnd = max3(nist->prior, nist_segs(tcp_snd_cwnd(tp)),
			  nist_segs(tp->prior_cwnd));
	if (nist->prior && nist_law.undo)
		nist_law.undo(nist);
	nist->prior = 0;
	return nist->cwnd >> NIST_SCALE;
}

/*
 * Size of the send buffer, in windows.  A segment that is lost twice takes a third round trip, and
 * the window does not shrink in it.
 */
static u32 nist_sndbuf_expand(struct sock *sk)
{
	return 4;
}

static void nist_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct nist *nist = inet_csk_ca(sk);
	const struct nist_ack ack = {
		.now_us = tp->tcp_mstamp,
		.delivered = tp->delivered,
	};

	memset(nist, 0, ICSK_CA_PRIV_SIZE);
	nist->cwnd = nist_segs(tcp_snd_cwnd(tp));
	nist->rtt_min_us = U32_MAX;
	/* a route may have set ssthresh */
	if (tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH)
		WRITE_ONCE(tp->snd_ssthresh,
			   min(READ_ONCE(sst_int), TCP_INFINITE_SSTHRESH));
	if (nist_law.start)
		nist_law.start(nist, &ack);
}

static struct tcp_congestion_ops nist_ops __read_mostly;

static int __init nist_register(void)
{
	return tcp_register_congestion_control(&nist_ops);
}

static void __exit nist_unregister(void)
{
	tcp_unregister_congestion_control(&nist_ops);
}

/*
 * The rest of a module: its @_name, the type of its @_state, its @_title and its
 * @_flags.
 *
 * TCP_CONG_NON_RESTRICTED is for a congestion control that a process without privileges may choose
 * on a shared link.  Here only Reno has the flag.  The other six take more than Reno from a flow
 * beside them, or keep a queue.  They were designed for this, and the administrator must allow it
 * (net.ipv4.tcp_allowed_congestion_control).  The kernel's own bic, highspeed, htcp and
 * scalable do not have the flag either.
 */
#define NIST_MODULE(_name, _state, _title, _flags)			\
static_assert(offsetof(_state, nist) == 0);				\
static_assert(sizeof(_state) <= ICSK_CA_PRIV_SIZE);			\
									\
static struct tcp_congestion_ops nist_ops __read_mostly = {		\
	.flags		= _flags,					\
	.name		= _name,					\
	.owner		= THIS_MODULE,					\
	.init		= nist_init,					\
	.pkts_acked	= NIST_PKTS_ACKED,				\
	.cong_avoid	= nist_cong_avoid,				\
	.ssthresh	= nist_ssthresh,				\
	.cwnd_event	= nist_cwnd_event,				\
	.undo_cwnd	= nist_undo_cwnd,				\
	.sndbuf_expand	= nist_sndbuf_expand,				\
};									\
									\
module_init(nist_register);						\
module_exit(nist_unregister);						\
									\
MODULE_AUTHOR("The tcpcc developers");					\
MODULE_LICENSE("GPL");							\
MODULE_DESCRIPTION(_title " of the NIST study")

#endif /* _NIST_H */
