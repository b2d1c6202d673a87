/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The explicit sender: what every sender needs whose routers tell it how to send.  The law,
 * which makes a window of what they say, is the module's own.
 *
 *           routers speak             silence, or they are not believed
 *   START ----------------> FEEDBACK -----------------------------------> FALLBACK
 *                              ^                                              |
 *                              +----------------------------------------------+
 *                                            routers speak again
 *
 * START and FALLBACK are Reno.  So a path without such routers, or a peer that returns
 * nothing, gets what every path may get.  Silence is so many round trips in a row without a
 * word; how many is a parameter of each module, its patience.
 *
 * There are two kinds of senders, by what their law is.  Each has its struct first in its state.
 *   o The law says how much an ACK adds and a loss takes (ESTCP): struct explicit_sender.  Such
 *     a sender has .cong_avoid.  Reno, recovery, idle times and pacing are TCP's; a window
 *     stays as it is when the mode changes; and a round trip ends when what was sent at its
 *     beginning is acknowledged.
 *   o The law sets the window or the rate (ACP, XCP, RCP): struct explicit_window.  Such a
 *     sender needs .cong_control, or TCP would take the window down at a loss.  Then TCP
 *     leaves all else to it as well, and that is here: windows with a fraction and their
 *     pacing, Reno, recovery, idle times, undo, and how much of a word is believed.  Reno
 *     differs from the kernel's in two ways: the first window is 1, and a window that is not
 *     filled any more stays.  At the end of FEEDBACK the grant is void: half of the window is
 *     left, and slow start is over.  A round trip is what the rate sample says.
 *
 * None of them sets TCP_CONG_NON_RESTRICTED.  With a router the window is what the receiver
 * says, and a receiver may lie: a process without privileges could agree with its peer on any
 * rate, on links that others share.  Who may set the default congestion control, a route's,
 * or has CAP_NET_ADMIN can choose one; the default is open to all.
 */
#ifndef _TCPCC_EXPLICIT_H
#define _TCPCC_EXPLICIT_H

#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "tcpcc_compat.h"
#include "tcpcc_feedback.h"

/*
 * Windows are in 1/65536 segment, in u64, and at most 2^30 segments: 400 Gb/s for
 * 10 s in packets of 512 bytes are that.  So a difference may be shifted once more.
 */
#define EXPLICIT_SCALE	16
#define EXPLICIT_ONE	BIT_ULL(EXPLICIT_SCALE)
#define EXPLICIT_MOST	(EXPLICIT_ONE << 30)

/* The window that needs no evidence: with 1 a path could hardly show that it takes more */
#define EXPLICIT_LEAST	(2 * EXPLICIT_ONE)

/* The largest rtt that is believed, us: bounds products (desired_is_bounded in tcp_acp) */
#define EXPLICIT_RTT_CAP	(100 * USEC_PER_SEC)

/* A heavy loss is at least of so many segments */
#define EXPLICIT_HEAVY_SEGS	8

/* Round trips without words after a heavy loss, and how often that may double */
#define EXPLICIT_REFUSED	8
#define EXPLICIT_DOUBTS		7

/* What interrupts and a busy processor add to a round trip, us */
#define EXPLICIT_HOST_US	USEC_PER_MSEC

enum explicit_mode {
	EXPLICIT_START,		/* Reno, until a router speaks */
	EXPLICIT_FEEDBACK,	/* the law */
	EXPLICIT_FALLBACK,	/* Reno, since no router speaks any more */
};

/* Of each sender: what it knows of its path */
struct explicit_sender {
	struct tcpcc_feedback *fb;	/* where words come from; NULL: from nowhere */
	u32	rtt_us;		/* the newest; 0: none yet */
	u32	mrtt_us;	/* the least, by the law's measure; U32_MAX: none yet */
	u32	round;		/* where this round trip began: segments delivered, or snd_nxt */
	u8	mode;		/* enum explicit_mode */
	u8	silent;		/* round trips without a word */
	bool	heard;		/* a word has come in this round trip */
};

/* Of a sender that sets its window itself */
struct explicit_window {
	struct explicit_sender ex;
	u64	segs;		/* cwnd with its fraction, EXPLICIT_SCALE */
	u64	undo;		/* that before the last loss */
	u64	proven;		/* delivered in mrtt, of the last round trips, EXPLICIT_SCALE */
	u32	mss;		/* that windows are in segments of, bytes */
	u32	lost;		/* tp->lost when this round trip began */
	u32	fast_segs;	/* of this round trip's fastest rate sample: segments */
	u32	fast_us;	/* and us; 0: none yet */
	u16	refused;	/* round trips in which no word counts */
	u8	doubts;		/* how often words were refused */
	u8	paced:1,	/* the window is spread over a round trip; in FEEDBACK only */
		limited:1,	/* the application had too little for this round trip */
		reducing:1;	/* Reno: cwnd goes down to ssthresh */
};

/* ------------------------------------------------------------------------- */
/* Each sender                                                               */

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

/* A round trip is over.  Return: FEEDBACK is too, after @patience of them without a word */
static inline bool explicit_is_silent(struct explicit_sender *ex, u32 patience)
{
	ex->silent = ex->heard ? 0 : min(ex->silent + 1, 255);
	ex->heard = false;
	if (ex->silent < patience)
		return false;
	if (ex->mode == EXPLICIT_START)
		pr_info_once("no feedback from this path, as Reno\n");
	if (ex->mode != EXPLICIT_FEEDBACK)
		return false;
	pr_info_once("feedback has ceased, as Reno from here\n");
	return true;
}

/* The mode's name in /proc/net/tcpcc; the law says what FEEDBACK is called there. */
static inline const char *explicit_mode_name(const struct explicit_sender *ex,
					     const char *feedback)
{
	if (ex->mode == EXPLICIT_FEEDBACK)
		return feedback;
	return ex->mode == EXPLICIT_START ? "start" : "fallback";
}

/*
 * Room to send, in windows: what was lost twice takes a third round trip, in which the
 * window does not shrink.
 */
static inline u32 explicit_sndbuf_expand(struct sock *sk)
{
	return 4;
}

/* What the module fills in, and what is left of it */
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
 * The packets of @window that may be in flight.  @paced: the rate is explicit_rate(), which
 * lets the last of them go when its time has come; else the fraction of a packet has to wait.
 */
static inline u32 explicit_packets(u64 window, bool paced)
{
	return (paced ? window + EXPLICIT_ONE - 1 : window) >> EXPLICIT_SCALE;
}

/**
 * explicit_spread_us() - over how long a window is spread
 * @rtt_us: of the segment that was acknowledged last, us; 0: not known
 * @mrtt_us: us
 *
 * Over the newest rtt it would be cwnd / rtt.  But that is of a packet that left m =
 * ceil(cwnd) packets ago.  Where that one saw a longer queue the next packet leaves later,
 * by 1 / cwnd of it, so that of a bunch x of packets remains x(k) = x(k - 1) -
 * x(k - 1 - m) / cwnd.  It grows if cwnd is below 1 / (2 * sin(pi / (4 * m + 2))), as 1 to
 * 1.6 and 2 to 2.2 are: a thousand users with 1.5 each would come to leave in bunches of
 * 300.  Over mrtt nothing would take a bunch apart.  Half of the queue does it at any
 * window.  An rtt above twice mrtt is an outlier, and counts as that.
 *
 * Return: us
 */
static inline u32 explicit_spread_us(u32 rtt_us, u32 mrtt_us)
{
	return mrtt_us + (clamp(rtt_us, mrtt_us, 2 * mrtt_us) - mrtt_us) / 2;
}

/* @window, at most EXPLICIT_MOST, in segments of @mss bytes, in a round trip: bytes/s */
static inline u64 explicit_rate(u64 window, u32 mss, u32 rtt_us)
{
	u64 unit = (u64)clamp_t(u32, rtt_us, 1, EXPLICIT_RTT_CAP) << EXPLICIT_SCALE;

	/* at most 2^20 bytes/us: so the product is below 2^63, the quotient 2^40 */
	return mul_u64_u64_div_u64(min(window * mss, unit << 20), USEC_PER_SEC,
				   unit);
}

/**
 * explicit_desired() - a rate as a window (Eq. 3 of the ACP paper)
 * @rate: bytes/s, at most TCPCC_FB_RATE_MAX
 * @rtt_us: us, at most EXPLICIT_RTT_CAP
 * @size: of a packet, bytes
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

/* @window in segments of @was bytes as one in segments of @mss: of the same bytes */
static inline u64 explicit_resize(u64 window, u32 was, u32 mss)
{
	return min(mul_u64_u32_div(window, was, mss), EXPLICIT_MOST);
}

/*
 * What may be sent in Reno's recovery (RFC 6937), on the way from @prior to @ssthresh, when
 * @delivered and @out segments were delivered and sent in it, @acked of them by this ACK
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
 * What a path delivers in a round trip, by a rate sample: a window.  A packet that waits in a
 * queue adds to what a round trip delivers, but nothing to this.  An interval counts as at
 * least a sixteenth of mrtt, for the quotient to fit; TCP makes no sample of less than mrtt.
 */
static inline u64 explicit_proven(u32 segs, u32 interval_us, u32 mrtt_us)
{
	/* below 2^48, below 2^27; the quotient below 2^52 */
	return min_t(u64, mul_u64_u64_div_u64((u64)segs << EXPLICIT_SCALE, mrtt_us,
					      max3(interval_us, mrtt_us >> 4, 1U)),
		     EXPLICIT_MOST);
}

/* The largest window to go to: @trust per cent of what was proven; 0: all is believed */
static inline u64 explicit_bound(u64 proven, u32 trust)
{
	if (!trust)
		return EXPLICIT_MOST;
	/* below 2^60 */
	return clamp(div_u64(proven * trust, 100), EXPLICIT_LEAST, EXPLICIT_MOST);
}

/* Whether @rtt_us is longer than an empty path's: by a sixteenth, and what hosts may add */
static inline bool explicit_queue_stands(u32 rtt_us, u32 mrtt_us)
{
	return rtt_us > mrtt_us + (mrtt_us >> 4) + EXPLICIT_HOST_US;
}

/*
 * Whether a path can't do what was granted, by the segments of a round trip: more than a
 * quarter lost, and not few, as chance takes from a small window
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

/* What routers count for one of our packets, with @overhead bytes of link header, bytes */
static inline u32 explicit_size(const struct sock *sk, u32 overhead)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->mss_cache + tp->tcp_header_len + TCPCC_FB_LEN_DATA +
	       inet_csk(sk)->icsk_af_ops->net_header_len + overhead;
}

/* Ask for any rate, or for SO_MAX_PACING_RATE.  A limit of the application is a router's. */
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

/* Where the window is now, if it is not ours: TCP or Reno has changed it. */
static inline void explicit_sync(struct sock *sk)
{
	struct explicit_window *w = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (explicit_packets(w->segs, false) != cwnd &&
	    explicit_packets(w->segs, true) != cwnd)
		w->segs = min(max_t(u64, cwnd, 1) << EXPLICIT_SCALE, EXPLICIT_MOST);
}

/*
 * .init, after the state was set to zero.  In the middle of a flow its window goes on from
 * where it is; one segment may have gone with the SYN (TCP Fast Open).
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

/* What an ACK shows of the path: round trips, and the fastest rate sample of this one */
static inline void explicit_ack(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct explicit_window *w = inet_csk_ca(sk);

	if (tp->srtt_us)
		w->ex.mrtt_us = min3(w->ex.mrtt_us, tp->srtt_us >> 3,
				     (u32)EXPLICIT_RTT_CAP);
	if (rs->rtt_us > 0)
		w->ex.rtt_us = min_t(long, rs->rtt_us, EXPLICIT_RTT_CAP);
	w->limited |= rs->is_app_limited;
	if (rs->delivered <= 0 || rs->interval_us <= 0)
		return;
	/* the larger of two fractions */
	if ((u64)rs->delivered * w->fast_us >= (u64)w->fast_segs * rs->interval_us) {
		w->fast_segs = rs->delivered;
		w->fast_us = min_t(u64, rs->interval_us, U32_MAX);
	}
}

/* How many echoes the ACK brought, the newest as @word; 0: none that counts, @word stays */
static inline u32 explicit_take(struct sock *sk, u32 *word)
{
	struct explicit_window *w = inet_csk_ca(sk);
	u32 newest, echoes = w->ex.fb ? tcpcc_feedback_take(w->ex.fb, &newest) : 0;

	if (!echoes || w->refused)
		return 0;
	*word = newest;
	return echoes;
}

/* A router's word has come.  @pacing: TCP is to pace this socket, if nobody does */
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
	/* a loss that turns out to be none does not bring the grant back */
	tp->prior_ssthresh = 0;
}

/* What the path has shown in this round trip that it delivers in one, EXPLICIT_SCALE */
static inline u64 explicit_shown(const struct explicit_window *w)
{
	if (!w->fast_us || w->ex.mrtt_us == U32_MAX)
		return 0;
	return explicit_proven(w->fast_segs, w->fast_us, w->ex.mrtt_us);
}

/* What is believed if a round trip delivers @proven.  A queue is an answer of the path's own. */
static inline u64 explicit_trusted(const struct explicit_window *w, u64 proven, u32 trust)
{
	if (trust && explicit_queue_stands(w->ex.rtt_us, w->ex.mrtt_us))
		trust = 100;
	return explicit_bound(proven, trust);
}

/*
 * The largest window to go to now, for a law that wants @window.  What this round trip has
 * shown so far costs a division: it is looked at only if it matters.
 */
static inline u64 explicit_most(const struct explicit_window *w, u64 window, u32 trust)
{
	u64 most = explicit_trusted(w, w->proven, trust);

	if (likely(window <= most))
		return most;
	return explicit_trusted(w, max(w->proven, explicit_shown(w)), trust);
}

/**
 * explicit_round() - look whether a round trip is over, and at what it was like
 * @sk: the socket
 * @rs: rate sample of the ACK
 * @wary: after a heavy loss words count for nothing, for some round trips: they promise
 *	what the path can't do
 * @patience: round trips without a word that end FEEDBACK
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
	 * an application that has little to send shows nothing of the path, and a small
	 * window, as after an idle time, little
	 */
	if (!w->limited)
		w->proven /= 2;
	w->proven = max(w->proven, explicit_shown(w));
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
		pr_info_once("heavy losses at the rate that was granted, as Reno from here\n");
		explicit_fall_back(sk);
	}
	if (explicit_is_silent(&w->ex, patience))
		explicit_fall_back(sk);
}

/*
 * Before the law, in FEEDBACK: the window as TCP has left it.  @pacing: it is to be spread
 * over a round trip, where somebody paces.
 *
 * A router grants bytes.  So where segments change their size (path MTU, MTU probing) the
 * window keeps its bytes and not its number of segments, or it would be seven times the
 * grant for a round trip when 1280 bytes become 9000.  Where TCP has changed the window it
 * has done that already, as it does when a probe succeeds.
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

/* The law's window, EXPLICIT_SCALE */
static inline void explicit_set(struct sock *sk, u64 window)
{
	struct explicit_window *w = inet_csk_ca(sk);

	w->segs = window;
	explicit_set_cwnd(sk, explicit_packets(window, w->paced));
}

/* At which rate the window goes */
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
 * TCP's own pacing rate, which it does not set beside .cong_control.  It says how large packets
 * TSO makes, and is for who paces: fq, SO_MAX_PACING_RATE, or bbr before us on this socket.
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
 * Reno's way down to ssthresh in recovery and after CE (once for each round trip), and its end.
 *
 * Return: whether it goes on: nothing may be added to the window
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
	/* who has come from bbr in recovery has no ssthresh to end at */
	if (!down && w->reducing && state != TCP_CA_Loss &&
	    tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
		explicit_set_cwnd(sk, tp->snd_ssthresh);
	w->reducing = down;
	explicit_sync(sk);
	return down;
}

/* Reno, for paths that do not speak: growth, recovery, and the pacing rate */
static inline void explicit_reno(struct sock *sk, u32 acked)
{
	if (!explicit_recover(sk, acked) && acked)
		tcp_reno_cong_avoid(sk, 0, acked);
	explicit_sync(sk);
	explicit_set_rate(sk, explicit_reno_rate(sk));
}

/*
 * Sending begins (tcpcc_cwnd_events), for the first time or after an idle time of more than
 * a timeout; or TCP sends again what it takes for lost, which is neither.
 *
 * What a router granted may be in use by others by now, so that window is 1 again, and
 * the first echo brings it back.  Without a router the window shrinks as the kernel's
 * does: tcp_cwnd_restart() is not called for who has .cong_control.
 *
 * TCP has made the first packet by now, as large as TSO makes them (of what the last rate
 * sends in a millisecond).  What follows it keeps to the new window.
 *
 * Return: whether the window begins anew
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
 * Paced packets are of one segment, unless the rate is such that TCP makes larger ones: two
 * at once would be more than a window's fraction.  The output path asks: nothing may change.
 */
static inline u32 explicit_min_tso_segs(const struct sock *sk)
{
	const struct explicit_window *w = inet_csk_ca(sk);

	return w->paced ? 1 : READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_min_tso_segs);
}

/* .ssthresh of Reno, which notes the window for undo */
static inline u32 explicit_ssthresh(struct sock *sk)
{
	struct explicit_window *w = inet_csk_ca(sk);

	explicit_sync(sk);
	w->undo = w->segs;
	return tcp_reno_ssthresh(sk);
}

/* .ssthresh of a law to which a loss says nothing where a router speaks */
static inline u32 explicit_kept_ssthresh(struct sock *sk)
{
	const struct explicit_sender *ex = inet_csk_ca(sk);
	u32 reno = explicit_ssthresh(sk);

	if (ex->mode != EXPLICIT_FEEDBACK)
		return reno;
	return max(tcp_snd_cwnd(tcp_sk(sk)), 2U);
}

/* There was no loss.  In FEEDBACK only a timeout, or Reno, has taken anything away. */
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
