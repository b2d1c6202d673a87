/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The explicit sender: the common part of all senders that get explicit feedback from routers.
 * Each module adds its own law, which computes a window from that feedback.
 *
 *           words arrive               no words, or they are not believed
 *   START ----------------> FEEDBACK -----------------------------------> FALLBACK
 *                              ^                                              |
 *                              +----------------------------------------------+
 *                                            words arrive again
 *
 * START and FALLBACK are Reno, for a path without such routers, or a peer that returns no words.
 * FEEDBACK ends after several successive round trips without a word.  Their number is a parameter
 * of each module, its patience.
 *
 * There are two kinds of laws.  For each there is a struct, the first member of the sender's state.
 *   o The law computes how much an ACK adds to the window, and how much a loss takes from it
 *     (ESTCP): struct explicit_sender.  Such a sender has .cong_avoid.  TCP does Reno, recovery,
 *     idle times and pacing.  A change of the mode does not change the window.  A round trip ends
 *     when the data that was sent at its beginning is acknowledged.
 *   o The law sets the window or the rate (ACP, XCP, RCP): struct explicit_window.  Such a
 *     sender needs .cong_control, because TCP would otherwise reduce the window at a loss.  With
 *     .cong_control TCP leaves all of the following to the sender, and this file does it: windows
 *     with a fraction and their pacing, Reno, recovery, idle times, undo, and a limit on how
 *     much of a word is believed.  Reno differs from the kernel's in two ways: the first window
 *     is 1, and a window that the application does not fill any more is not reduced.  When
 *     FEEDBACK ends the grant is void: the window is halved, and slow start is over.  The rate
 *     sample determines when a round trip ends.
 *
 * None of the modules sets TCP_CONG_NON_RESTRICTED.  With a router, the receiver's echo determines
 * the window, and a receiver may lie: a process without privileges could agree with its peer on
 * any rate, on links that others share.  A user who may set the default congestion control or that
 * of a route, or has CAP_NET_ADMIN, can choose such a module.  Any process may use the default.
 */
#ifndef _TCPCC_EXPLICIT_H
#define _TCPCC_EXPLICIT_H

#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "tcpcc_compat.h"
#include "tcpcc_feedback.h"

/*
 * Windows are in 1/65536 segment, in u64, and at most 2^30 segments.  That is 400 Gb/s for 10 s
 * in packets of 512 bytes.  A difference of windows may be shifted by EXPLICIT_SCALE again.
 */
#define EXPLICIT_SCALE	16
#define EXPLICIT_ONE	BIT_ULL(EXPLICIT_SCALE)
#define EXPLICIT_MOST	(EXPLICIT_ONE << 30)

/* This window is always believed: with 1 a path could hardly show that it can carry more */
#define EXPLICIT_LEAST	(2 * EXPLICIT_ONE)

/* A longer rtt counts as this, us: it bounds products (desired_is_bounded in tcp_acp) */
#define EXPLICIT_RTT_CAP	(100 * USEC_PER_SEC)

/* A heavy loss is of at least so many segments */
#define EXPLICIT_HEAVY_SEGS	8

/* Round trips in which words are ignored after a heavy loss, and how often that may double */
#define EXPLICIT_REFUSED	8
#define EXPLICIT_DOUBTS		7

/* After so many round trips in which a queue seems to stand, but cannot be ours, mrtt is renewed */
#define EXPLICIT_STALE	8

/* In the last so many of them the sender must not make a queue: explicit_makes_way() */
#define EXPLICIT_WAY	4

/* What interrupts and a busy processor add to a round trip, us */
#define EXPLICIT_HOST_US	USEC_PER_MSEC

enum explicit_mode {
	EXPLICIT_START,		/* Reno, until a first word arrives */
	EXPLICIT_FEEDBACK,	/* the law */
	EXPLICIT_FALLBACK,	/* Reno, because no words arrive any more */
};

/* State of each sender */
struct explicit_sender {
	struct tcpcc_feedback *fb;	/* source of words; NULL: there is none */
	u32	rtt_us;		/* newest rtt; 0: none yet */
	u32	mrtt_us;	/* least rtt, as the law measures it; U32_MAX: none yet */
	u32	round;		/* start of this round trip: tp->delivered, or snd_nxt */
	u8	mode;		/* enum explicit_mode */
	u8	silent;		/* successive round trips without a word */
	bool	heard;		/* a word has arrived in this round trip */
};

/* State of a sender that sets its window itself */
struct explicit_window {
	struct explicit_sender ex;
	u64	segs;		/* cwnd with its fraction, EXPLICIT_SCALE */
	u64	undo;		/* segs before the last loss */
	u64	proven;		/* delivered in mrtt, in recent round trips, EXPLICIT_SCALE */
	u32	mss;		/* size of the segments that windows count, bytes */
	u32	lost;		/* tp->lost when this round trip began */
	u32	fast_segs;	/* fastest rate sample of this round trip: its segments */
	u32	fast_us;	/* and its interval, us; 0: none yet */
	u32	srtt_us;	/* least smoothed rtt of this round trip, or since it makes way */
	u16	refused;	/* so many more round trips ignore all words */
	u8	doubts;		/* how often words were refused, up to EXPLICIT_DOUBTS */
	u8	paced:1,	/* the window is spread over a round trip; in FEEDBACK only */
		limited:1,	/* the application had too little to send in this round trip */
		reducing:1,	/* Reno: cwnd goes down to ssthresh */
		held:1;		/* in this round trip a queue seemed to forbid what was granted */
	u8	stale;		/* successive round trips with @held, and with a smoothed queue */
};

/* ------------------------------------------------------------------------- */
/* All senders                                                               */

static inline void explicit_release(struct sock *sk)
{
	struct explicit_sender *ex = inet_csk_ca(sk);

	tcpcc_feedback_detach(sk, ex->fb);
	ex->fb = NULL;
}

static inline void explicit_enter(struct explicit_sender *ex, enum explicit_mode mode)
{
	ex->mode = mode;
	ex->silent = 0;
}

/* At the end of a round trip.  Return: FEEDBACK must end: @patience round trips had no word */
static inline bool explicit_is_silent(struct explicit_sender *ex, u32 patience)
{
	ex->silent = ex->heard ? 0 : min(ex->silent + 1, 255);
	ex->heard = false;
	if (ex->silent < patience)
		return false;
	if (ex->mode == EXPLICIT_START)
		pr_info_once("no feedback from this path: using Reno\n");
	if (ex->mode != EXPLICIT_FEEDBACK)
		return false;
	pr_info_once("feedback has ended: falling back to Reno\n");
	return true;
}

/* The mode's name in /proc/net/tcpcc; @feedback is the name of FEEDBACK there. */
static inline const char *explicit_mode_name(const struct explicit_sender *ex,
					     const char *feedback)
{
	if (ex->mode == EXPLICIT_FEEDBACK)
		return feedback;
	return ex->mode == EXPLICIT_START ? "start" : "fallback";
}

/*
 * Size of the send buffer, in windows: a segment that is lost twice is delivered in a third
 * round trip, and the window does not shrink until then.
 */
static inline u32 explicit_sndbuf_expand(struct sock *sk)
{
	return 4;
}

/* Each module defines this.  The rest of a module is the same for all, and follows here. */
static struct tcp_congestion_ops explicit_ops __read_mostly;

static int __init explicit_register(void)
{
	return tcp_register_congestion_control(&explicit_ops);
}

static void __exit explicit_unregister(void)
{
	tcp_unregister_congestion_control(&explicit_ops);
}

module_init(explicit_register);
module_exit(explicit_unregister);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");

/* ------------------------------------------------------------------------- */
/* Windows that the sender sets: pure functions                              */

/*
 * Packets that may be in flight.  If @paced, the fraction of @window counts as a packet, because
 * the pacing rate, explicit_rate(), holds this packet back until it is due.  Otherwise the
 * fraction does not count.
 */
static inline u32 explicit_packets(u64 window, bool paced)
{
	return (paced ? window + EXPLICIT_ONE - 1 : window) >> EXPLICIT_SCALE;
}

/**
 * explicit_spread_us() - the time over which a window is spread
 * @rtt_us: rtt of the segment that was acknowledged last, us; 0: not known
 * @mrtt_us: least rtt, us
 *
 * The time is mrtt plus half of the queueing delay.  Two other choices do not work:
 *   o The newest rtt.  It belongs to a packet that left m = ceil(cwnd) packets ago.  If that
 *     packet met a longer queue, the next packet leaves later, by 1 / cwnd of the difference.
 *     So a bunch of x packets becomes x(k) = x(k - 1) - x(k - 1 - m) / cwnd.  It grows if cwnd
 *     is below 1 / (2 * sin(pi / (4 * m + 2))), which is so from 1 to 1.6 and from 2 to 2.2.  A
 *     thousand users with a cwnd of 1.5 each would finally send in bunches of 300.
 *   o mrtt.  A bunch would never dissolve.
 * With half of the queueing delay a bunch dissolves at any window.  An rtt above twice mrtt is
 * an outlier, and counts as twice mrtt.
 *
 * Return: us
 */
static inline u32 explicit_spread_us(u32 rtt_us, u32 mrtt_us)
{
	return mrtt_us + (clamp(rtt_us, mrtt_us, 2 * mrtt_us) - mrtt_us) / 2;
}

/* The rate of @window, at most EXPLICIT_MOST, in segments of @mss bytes, per @rtt_us: bytes/s */
static inline u64 explicit_rate(u64 window, u32 mss, u32 rtt_us)
{
	u64 unit = (u64)clamp_t(u32, rtt_us, 1, EXPLICIT_RTT_CAP) << EXPLICIT_SCALE;

	/* at most 2^20 bytes/us, so the first product is below 2^63 and the quotient below 2^40 */
	return mul_u64_u64_div_u64(min(window * mss, unit << 20), USEC_PER_SEC,
				   unit);
}

/**
 * explicit_desired() - the window for a rate (Eq. 3 of the ACP paper)
 * @rate: bytes/s, at most TCPCC_FB_RATE_MAX
 * @rtt_us: us, at most EXPLICIT_RTT_CAP
 * @size: packet size, bytes
 *
 * Return: window, EXPLICIT_SCALE, at most EXPLICIT_MOST
 */
static inline u64 explicit_desired(u64 rate, u32 rtt_us, u32 size)
{
	/* below 2^37, below 2^43, below 2^49 */
	return min_t(u64, mul_u64_u64_div_u64(rate, (u64)rtt_us << EXPLICIT_SCALE,
					      (u64)max(size, 1U) * USEC_PER_SEC),
		     EXPLICIT_MOST);
}

/* Converts @window from segments of @was bytes to segments of @mss bytes */
static inline u64 explicit_resize(u64 window, u32 was, u32 mss)
{
	return min(mul_u64_u32_div(window, was, mss), EXPLICIT_MOST);
}

/*
 * Segments that may be sent now in Reno's recovery (RFC 6937), which reduces the window from
 * @prior to @ssthresh.  In this recovery @delivered segments were delivered, @acked of them by
 * this ACK, and @out were sent.
 */
static inline u32 explicit_reduction(u32 in_flight, u32 ssthresh, u32 prior,
				     u32 delivered, u32 out, u32 acked)
{
	u32 send;

	if (in_flight > ssthresh) {
		u64 due = (u64)ssthresh * delivered + max(prior, 1U) - 1;

		due = div_u64(due, max(prior, 1U));
		send = due > out ? due - out : 0;
	} else {
		send = max(delivered > out ? delivered - out : 0, acked) + 1;
		send = min(ssthresh - in_flight, send);
	}
	/* the first retransmission does not wait */
	return max(send, out ? 0U : 1U);
}

/*
 * What the path delivers in mrtt according to a rate sample, as a window.  With a queue a round
 * trip is longer and delivers more, but this value stays the same.  An interval counts as at least
 * a sixteenth of mrtt, so that the quotient fits; TCP makes no sample shorter than mrtt.
 */
static inline u64 explicit_proven(u32 segs, u32 interval_us, u32 mrtt_us)
{
	/* below 2^48, below 2^27; the quotient below 2^52 */
	return min_t(u64, mul_u64_u64_div_u64((u64)segs << EXPLICIT_SCALE, mrtt_us,
					      max3(interval_us, mrtt_us >> 4, 1U)),
		     EXPLICIT_MOST);
}

/* The largest window that is believed: @trust per cent of @proven; 0: any window */
static inline u64 explicit_bound(u64 proven, u32 trust)
{
	if (!trust)
		return EXPLICIT_MOST;
	/* below 2^61 */
	return clamp(div_u64(proven * trust, 100), EXPLICIT_LEAST, EXPLICIT_MOST);
}

/* Whether @rtt_us exceeds @mrtt_us by more than a sixteenth and what hosts may add */
static inline bool explicit_queue_stands(u32 rtt_us, u32 mrtt_us)
{
	return rtt_us > mrtt_us + (mrtt_us >> 4) + EXPLICIT_HOST_US;
}

/*
 * Whether the losses of a round trip show that the path cannot carry what was granted.  They are
 * more than a quarter of what was delivered, and not few: a small window may lose a few by chance.
 */
static inline bool explicit_loss_is_heavy(u32 lost, u32 delivered)
{
	return lost >= EXPLICIT_HEAVY_SEGS && lost > delivered / 4;
}

/* ------------------------------------------------------------------------- */
/* Windows that the sender sets: on the socket                               */

static inline void explicit_set_cwnd(struct sock *sk, u32 cwnd)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, clamp(cwnd, 1U, max(tp->snd_cwnd_clamp, 1U)));
}

static inline void explicit_set_rate(struct sock *sk, u64 bytes_ps)
{
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, bytes_ps, READ_ONCE(sk->sk_max_pacing_rate)));
}

/* The size of our packets as routers count it, with @overhead bytes of link header; bytes */
static inline u32 explicit_size(const struct sock *sk, u32 overhead)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->mss_cache + tp->tcp_header_len + TCPCC_FB_LEN_DATA +
	       inet_csk(sk)->icsk_af_ops->net_header_len + overhead;
}

/* Asks for any rate, or for SO_MAX_PACING_RATE: its limit counts like that of a router. */
static inline void explicit_request(struct sock *sk)
{
	struct explicit_sender *ex = inet_csk_ca(sk);
	unsigned long most = READ_ONCE(sk->sk_max_pacing_rate);
	u64 rate = most == ~0UL ? TCPCC_FB_RATE_NONE : most;

	if (ex->fb)
		tcpcc_feedback_request(sk, ex->fb,
				       tcpcc_fb_rtt_info(tcp_sk(sk)->srtt_us >> 3),
				       tcpcc_fb_encode(rate, false));
}

/* Sets segs to cwnd, if TCP or Reno has changed cwnd */
static inline void explicit_sync(struct sock *sk)
{
	struct explicit_window *w = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (explicit_packets(w->segs, false) != cwnd &&
	    explicit_packets(w->segs, true) != cwnd)
		w->segs = min(max_t(u64, cwnd, 1) << EXPLICIT_SCALE, EXPLICIT_MOST);
}

/*
 * .init, after the state was set to zero.  A new flow starts with a window of 1, also if one
 * segment has gone with the SYN (TCP Fast Open).  A flow that has sent more keeps its window.
 */
static inline void explicit_window_init(struct sock *sk, enum tcpcc_fb_protocol protocol)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct explicit_window *w = inet_csk_ca(sk);

	w->ex.mrtt_us = U32_MAX;
	w->ex.round = tp->delivered;
	w->lost = tp->lost;
	w->mss = max(tp->mss_cache, 1U);
	if (tp->data_segs_out <= 1)
		explicit_set_cwnd(sk, 1);
	explicit_sync(sk);
	w->ex.fb = tcpcc_feedback_attach(sk, protocol);
}

/* Updates the rtts, and the fastest rate sample of this round trip, from an ACK */
static inline void explicit_ack(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct explicit_window *w = inet_csk_ca(sk);

	if (tp->srtt_us) {
		u32 srtt_us = min(tp->srtt_us >> 3, (u32)EXPLICIT_RTT_CAP);

		w->ex.mrtt_us = min(w->ex.mrtt_us, srtt_us);
		w->srtt_us = min(w->srtt_us, srtt_us);
	}
	if (rs->rtt_us > 0)
		w->ex.rtt_us = min_t(long, rs->rtt_us, EXPLICIT_RTT_CAP);
	w->limited |= rs->is_app_limited;
	if (rs->delivered <= 0 || rs->interval_us <= 0)
		return;
	/* compares two quotients without a division */
	if ((u64)rs->delivered * w->fast_us >= (u64)w->fast_segs * rs->interval_us) {
		w->fast_segs = rs->delivered;
		w->fast_us = min_t(u64, rs->interval_us, U32_MAX);
	}
}

/* The number of echoes that arrived, combined in @word; 0: none that counts, @word is unchanged */
static inline u32 explicit_take(struct sock *sk, u32 *word)
{
	struct explicit_window *w = inet_csk_ca(sk);
	u32 newest, echoes = w->ex.fb ? tcpcc_feedback_take(w->ex.fb, &newest) : 0;

	if (!echoes || w->refused)
		return 0;
	*word = newest;
	return echoes;
}

/* A word of a router has arrived.  @pacing: let TCP pace this socket, if it is not paced yet */
static inline void explicit_heard(struct sock *sk, bool pacing)
{
	struct explicit_window *w = inet_csk_ca(sk);

	w->ex.heard = true;
	if (w->ex.mode == EXPLICIT_FEEDBACK)
		return;
	explicit_enter(&w->ex, EXPLICIT_FEEDBACK);
	w->reducing = 0;
	w->mss = max(tcp_sk(sk)->mss_cache, 1U);
	if (pacing)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static inline void explicit_fall_back(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct explicit_window *w = inet_csk_ca(sk);

	explicit_enter(&w->ex, EXPLICIT_FALLBACK);
	w->reducing = 0;
	w->paced = 0;
	w->segs = 0;
	WRITE_ONCE(tp->snd_ssthresh, max(tcp_snd_cwnd(tp) / 2, 2U));
	explicit_set_cwnd(sk, tp->snd_ssthresh);
	explicit_sync(sk);
	/* a spurious loss must not bring the granted window back */
	tp->prior_ssthresh = 0;
}

/* What the path delivers in mrtt, according to this round trip so far, EXPLICIT_SCALE */
static inline u64 explicit_shown(const struct explicit_window *w)
{
	if (!w->fast_us || w->ex.mrtt_us == U32_MAX)
		return 0;
	return explicit_proven(w->fast_segs, w->fast_us, w->ex.mrtt_us);
}

/*
 * The largest window that is believed if the path delivers @proven in mrtt.  If a queue stands,
 * this is at most @proven: the queue shows that the path delivers no more.  @trust: per cent;
 * 0: no limit
 */
static inline u64 explicit_trusted(const struct explicit_window *w, u64 proven, u32 trust)
{
	if (explicit_queue_stands(w->ex.rtt_us, w->ex.mrtt_us))
		trust = min(trust, 100U);
	return explicit_bound(proven, trust);
}

/*
 * The largest window that is believed now, for a law that computed @window.  explicit_shown()
 * costs a division, so it is called only if it can make a difference.
 */
static inline u64 explicit_most(struct explicit_window *w, u64 window, u32 trust)
{
	u64 most = explicit_trusted(w, w->proven, trust);

	if (likely(window <= most))
		return most;
	most = explicit_trusted(w, max(w->proven, explicit_shown(w)), trust);
	if (window > most && explicit_queue_stands(w->ex.rtt_us, w->ex.mrtt_us))
		w->held = 1;
	return most;
}

/*
 * Whether a queue seems to stand although the window has not grown for some round trips.  A law
 * that only stops growing beside a queue must then send less than is delivered, so that a queue of
 * this flow goes: explicit_renew()
 */
static inline bool explicit_makes_way(const struct explicit_window *w)
{
	return w->stale >= EXPLICIT_STALE - EXPLICIT_WAY &&
	       explicit_queue_stands(w->ex.rtt_us, w->ex.mrtt_us);
}

/*
 * At the end of a round trip: if the path has become longer, or if the ACKs have jitter, the
 * difference to mrtt looks like a queue, and the window is limited to what was delivered in mrtt.
 * So small a window makes no queue.  If the words granted more in each of EXPLICIT_STALE round
 * trips, and the smoothed rtt has not fallen to mrtt in the last EXPLICIT_WAY of them, its least
 * value in these is the rtt of the path now.  A queue of this flow is gone after one or two.
 */
static inline void explicit_renew(struct explicit_window *w)
{
	bool queue = explicit_queue_stands(w->srtt_us, w->ex.mrtt_us);

	w->stale = w->held && queue ? w->stale + 1 : 0;
	w->held = 0;
	if (w->stale == EXPLICIT_STALE) {
		w->stale = 0;
		w->ex.mrtt_us = min_t(u32, w->srtt_us, EXPLICIT_RTT_CAP);
	}
	if (w->stale <= EXPLICIT_STALE - EXPLICIT_WAY)
		w->srtt_us = U32_MAX;
}

/**
 * explicit_round() - if a round trip is over, evaluate it
 * @sk: the socket
 * @rs: rate sample of the ACK
 * @wary: if there is a heavy loss, fall back and ignore words for some round trips, because
 *	the path cannot carry what they grant
 * @patience: successive round trips without a word that end FEEDBACK
 */
static inline void explicit_round(struct sock *sk, const struct rate_sample *rs, bool wary,
				  u32 patience)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct explicit_window *w = inet_csk_ca(sk);
	u32 delivered = tp->delivered - w->ex.round;
	u32 lost = tp->lost - w->lost;

	if (!rs->prior_delivered || before(rs->prior_delivered, w->ex.round))
		return;
	/*
	 * a round trip in which the application had too little to send does not measure the path,
	 * so it does not lower the value; other round trips at most halve it, because a small
	 * window, as after an idle time, shows little of the path
	 */
	if (!w->limited)
		w->proven /= 2;
	w->proven = max(w->proven, explicit_shown(w));
	explicit_renew(w);
	w->fast_segs = 0;
	w->fast_us = 0;
	w->limited = 0;
	w->refused -= !!w->refused;
	w->ex.round = tp->delivered;
	w->lost = tp->lost;
	if (w->ex.mode == EXPLICIT_FEEDBACK && wary &&
	    explicit_loss_is_heavy(lost, delivered)) {
		w->refused = EXPLICIT_REFUSED << w->doubts;
		w->doubts = min(w->doubts + 1, EXPLICIT_DOUBTS);
		pr_info_once("heavy losses at the granted rate: falling back to Reno\n");
		explicit_fall_back(sk);
	}
	if (explicit_is_silent(&w->ex, patience))
		explicit_fall_back(sk);
}

/*
 * To be called in FEEDBACK before the law: takes the window over as TCP has left it.  @pacing:
 * spread the window over a round trip, if the socket is paced.
 *
 * A router grants bytes.  So if the segment size changes (path MTU, MTU probing), the window
 * keeps its bytes and not its number of segments.  Otherwise it would be seven times the grant
 * for a round trip when 1280 bytes become 9000.  If TCP has changed the window, as it does when a
 * probe succeeds, TCP has converted it already.
 */
static inline void explicit_begin(struct sock *sk, bool pacing)
{
	struct explicit_window *w = inet_csk_ca(sk);
	u32 mss = tcp_sk(sk)->mss_cache;
	u64 was = w->segs;

	w->paced = pacing && w->ex.mrtt_us != U32_MAX &&
		   READ_ONCE(sk->sk_pacing_status) != SK_PACING_NONE;
	explicit_sync(sk);
	if (likely(w->mss == mss))
		return;
	mss = max(mss, 1U);
	if (w->segs == was) {
		w->segs = max(explicit_resize(was, w->mss, mss), EXPLICIT_ONE);
		explicit_set_cwnd(sk, explicit_packets(w->segs, w->paced));
	}
	w->undo = max(explicit_resize(w->undo, w->mss, mss), EXPLICIT_ONE);
	w->proven = explicit_resize(w->proven, w->mss, mss);
	w->mss = mss;
}

/* Sets the window that the law computed, EXPLICIT_SCALE */
static inline void explicit_set(struct sock *sk, u64 window)
{
	struct explicit_window *w = inet_csk_ca(sk);

	w->segs = window;
	explicit_set_cwnd(sk, explicit_packets(window, w->paced));
}

/* Sets the pacing rate: the window per explicit_spread_us(), or no limit */
static inline void explicit_pace(struct sock *sk)
{
	const struct explicit_window *w = inet_csk_ca(sk);
	u64 rate = ~0ULL;

	if (w->paced)
		rate = explicit_rate(w->segs, tcp_sk(sk)->mss_cache,
				     explicit_spread_us(w->ex.rtt_us, w->ex.mrtt_us));
	explicit_set_rate(sk, rate);
}

/*
 * TCP's own pacing rate, bytes/s, which TCP does not set if there is .cong_control.  It determines
 * how large TSO packets are.  It is also the rate of a socket that is paced: by fq, because of
 * SO_MAX_PACING_RATE, or because the socket used bbr before.
 */
static inline u64 explicit_reno_rate(const struct sock *sk)
{
	const struct netns_ipv4 *ipv4 = &sock_net(sk)->ipv4;
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 percent = cwnd < tp->snd_ssthresh / 2 ?
		      READ_ONCE(ipv4->sysctl_tcp_pacing_ss_ratio) :
		      READ_ONCE(ipv4->sysctl_tcp_pacing_ca_ratio);
	u64 window = (u64)max(cwnd, tp->packets_out) << EXPLICIT_SCALE;

	if (!tp->srtt_us)
		return ~0ULL;
	return mul_u64_u32_div(explicit_rate(min(window, EXPLICIT_MOST), tp->mss_cache,
					     tp->srtt_us >> 3), percent, 100);
}

/*
 * Reduces the window to ssthresh as Reno does, in recovery and after CE (once in a round trip),
 * and sets it to ssthresh at the end.
 *
 * Return: true: the reduction goes on, and the window must not grow
 */
static inline bool explicit_recover(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct explicit_window *w = inet_csk_ca(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	bool down = state == TCP_CA_CWR || state == TCP_CA_Recovery;

	if (down && acked) {
		u32 in_flight = tcp_packets_in_flight(tp);

		tp->prr_delivered += acked;
		explicit_set_cwnd(sk, in_flight +
				  explicit_reduction(in_flight, tp->snd_ssthresh,
						     tp->prior_cwnd, tp->prr_delivered,
						     tp->prr_out, acked));
	}
	/* a socket that changed from bbr during recovery has no ssthresh */
	if (!down && w->reducing && state != TCP_CA_Loss &&
	    tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
		explicit_set_cwnd(sk, tp->snd_ssthresh);
	w->reducing = down;
	explicit_sync(sk);
	return down;
}

/* Reno, for paths without feedback: growth, recovery, and the pacing rate */
static inline void explicit_reno(struct sock *sk, u32 acked)
{
	if (!explicit_recover(sk, acked) && acked)
		tcp_reno_cong_avoid(sk, 0, acked);
	explicit_sync(sk);
	explicit_set_rate(sk, explicit_reno_rate(sk));
}

/*
 * Called when sending begins (tcpcc_cwnd_events).  The window is reset at the first segment, and
 * after an idle time longer than the retransmission timeout.  It is not reset when TCP
 * retransmits segments that it regards as lost.
 *
 * Other flows may now use what a router granted.  So in FEEDBACK the window is 1 again, and the
 * first echo brings it back.  Without a router the window shrinks as the kernel's does: TCP does
 * not call tcp_cwnd_restart() if there is .cong_control.
 *
 * TCP has already built the first packet, of the size that TSO chose (what the last rate sends
 * in a millisecond).  Only the packets after it obey the new window.
 *
 * Return: whether the window was reset
 */
static inline bool explicit_restart(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct explicit_window *w = inet_csk_ca(sk);
	s32 idle = tcp_jiffies32 - tp->lsndtime;
	s32 rto = inet_csk(sk)->icsk_rto;
	bool first = !tp->data_segs_out;
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 least;

	if (tp->packets_out)
		return false;
	if (!first) {
		if (idle <= rto ||
		    !READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle))
			return false;
		WRITE_ONCE(tp->snd_ssthresh, tcp_current_ssthresh(sk));
	}
	if (first || w->ex.mode == EXPLICIT_FEEDBACK)
		cwnd = 1;
	least = min_t(u32, cwnd, TCP_INIT_CWND);
	while ((idle -= rto) > 0 && cwnd > least)
		cwnd >>= 1;
	cwnd = max(cwnd, least);
	explicit_set_cwnd(sk, cwnd);
	w->segs = (u64)cwnd << EXPLICIT_SCALE;
	return true;
}

/*
 * If the window is paced the least packet is one segment, because two at once may exceed the
 * window.  At high rates TCP makes larger packets.  The output path calls this, so it must not
 * change any state.
 */
static inline u32 explicit_min_tso_segs(const struct sock *sk)
{
	const struct explicit_window *w = inet_csk_ca(sk);

	return w->paced ? 1 : READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_min_tso_segs);
}

/* .ssthresh of Reno; saves the window for undo */
static inline u32 explicit_ssthresh(struct sock *sk)
{
	struct explicit_window *w = inet_csk_ca(sk);

	explicit_sync(sk);
	w->undo = w->segs;
	return tcp_reno_ssthresh(sk);
}

/* .ssthresh of a law that ignores losses in FEEDBACK */
static inline u32 explicit_kept_ssthresh(struct sock *sk)
{
	const struct explicit_sender *ex = inet_csk_ca(sk);
	u32 reno = explicit_ssthresh(sk);

	if (ex->mode != EXPLICIT_FEEDBACK)
		return reno;
	return max(tcp_snd_cwnd(tcp_sk(sk)), 2U);
}

/*
 * The loss was spurious.  In FEEDBACK the window is restored only after a timeout, or while Reno
 * reduces it: nothing else has reduced it.
 */
static inline u32 explicit_undo_cwnd(struct sock *sk)
{
	struct explicit_window *w = inet_csk_ca(sk);

	explicit_sync(sk);
	if (w->ex.mode != EXPLICIT_FEEDBACK || w->reducing ||
	    inet_csk(sk)->icsk_ca_state == TCP_CA_Loss)
		w->segs = max(w->segs, w->undo);
	w->reducing = 0;
	return explicit_packets(w->segs, w->paced);
}

#endif /* _TCPCC_EXPLICIT_H */
