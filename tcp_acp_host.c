// SPDX-License-Identifier: GPL-2.0
/*
 * Adaptive Congestion Protocol (ACP): the hosts' part.
 *
 *   M. Lestas, A. Pitsillides, P. Ioannou, G. Hadjipollas, "Adaptive Congestion
 *   Protocol: A Congestion Control Protocol with Learning Capability".
 *
 * Each link tells its users at which rate to send, the same to all, and a packet
 * collects the least of what the links on its way want.  The receiver returns it,
 * and the sender makes a window of it:
 *
 *   desired = H_feedback * mrtt / size					(Eq. 3)
 *   cwnd += 0.1 / cwnd * (desired - cwnd)    if desired > cwnd and H_congestion
 *   cwnd += 1 / cwnd * (desired - cwnd)      otherwise			(Eq. 4)
 *   cwnd is never below 1						(Eq. 5)
 *
 * mrtt is the least of the estimates of the round trip time, size that of a packet.
 * One ACK for each packet of a window makes Eq. 4 a first-order filter with a time
 * constant of one round trip; with H_congestion, where a link is already at 95 % of
 * its capacity, newcomers take ten times as long, so that the link can see them
 * coming.  The first window is 1.
 *
 *      first limit from a router                  four round trips without one
 *   START ----------------------------> FEEDBACK ---------------------> FALLBACK
 *                                          ^                                |
 *                                          +--------------------------------+
 *                                                    a limit again
 *
 * START and FALLBACK are Reno as the kernel has it: slow start, congestion avoidance,
 * half the window for a loss or for CE (once for each round trip), proportional rate
 * reduction (RFC 6937), undo, a smaller window after idle, and the kernel's pacing rate.
 * So a path without ACP routers, or a peer that returns nothing, gets what every path may
 * get.  Two things differ: the first window is 1 there too; and a window that grew and is
 * not filled any more stays, which the kernel shrinks for who has no .cong_control.  When a
 * router ceases to speak, what it granted is void: the window is halved once, and slow
 * start is over.
 *
 * In FEEDBACK neither a loss, unless it is heavy (acp_trust), nor CE reduces the window: the
 * rate is what counts, and it is known.  So a queue on the way that is not ACP's gets no
 * answer, and ACP belongs on networks whose bottlenecks all have its routers.  A timeout
 * sets the window to 1, and the next echo, or TCP's finding that the timeout was none,
 * brings it back.
 *
 * Where the default is not the paper's.  "As printed" is acp_pacing=0 acp_trust=0; the
 * scenarios acp-fig5, acp-fig8, acp-fig16 and acp-table1 have both columns.
 *   o acp_trust.  The paper believes each word.  But the receiver returns it, and a
 *     receiver may lie; a link on the way may have no ACP router; and a link that was
 *     nearly idle wants its whole rate of each of many users who come at once, which it
 *     can't know of for a round trip.  So no window goes beyond 2.25 times what the path
 *     has delivered in mrtt (acp_trust, per cent), or twice that where H_congestion lets it
 *     go only a tenth of the way; and where the newest rtt shows a queue, no further than
 *     what was delivered.  The price is that a window of 1000 is reached in 10 round
 *     trips, not in two.  In acp-fig8 (the paper's Fig. 7) three users come to such a link,
 *     where the gain of Eq. 4 is 1: as printed they put three bandwidth-delay products
 *     on it, and it loses 1545 packets, where the paper reports none; and none are lost
 *     with acp_trust.  Of a storm of users within one round trip the link still loses some,
 *     see acp-storm.  With acp_trust=175 it loses none, but acp-fig8 takes 6 s to settle.
 *     Where more than a quarter of a round trip's packets is lost, the words are not what
 *     the path can do: FALLBACK, for eight round trips, and for twice as many at each
 *     further time.
 *   o acp_pacing.  The paper's windows are whole.  So senders that are told the same rate
 *     round the same window at the same time, their sum moves in steps of N packets, and
 *     what the link wants lies between two steps.  The link oscillates; the paper
 *     describes it for windows of 1 and 2, as the loss of a tenth of the capacity
 *     (its Fig. 5, acp-fig5).  By default fractions of a window are sent too: it is kept
 *     in 1/65536 segment and spread over a round trip, one packet each rtt / cwnd, and
 *     one packet that the round trip is not long enough for may be in flight beside the
 *     whole ones.  So on average cwnd packets are in flight, at any cwnd.
 *     The round trip that it is spread over is in the middle between mrtt and the newest
 *     one, so that a sender slows down while a queue grows, as windows do: see
 *     acp_spread_us().
 *
 * What the paper leaves open:
 *   o size is what routers count a packet as, or the link would be under-used by
 *     the headers: payload, TCP, IP, and acp_overhead bytes of link header.
 *   o Eq. 4 is applied for each segment that was acknowledged, or a receiver that
 *     delays its ACKs would make the filter slower.  What an ACK without an echo
 *     acknowledged counts with the next echo.
 *   o H_feedback starts as "no limit", or as SO_MAX_PACING_RATE.
 *   o After an idle time of more than a retransmission timeout the window is 1
 *     again (unless net.ipv4.tcp_slow_start_after_idle is off): what was granted
 *     may be in use by others by now.  One round trip brings it back.
 *   o Where segments change their size the window keeps its bytes.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "tcpcc_compat.h"
#include "tcpcc_feedback.h"
#include "tcpcc_param.h"
#include "tcpcc_view.h"

#define CREATE_TRACE_POINTS
#include "trace_acp.h"

/*
 * Windows are in 1/65536 segment, in u64, and at most 2^30 segments: 400 Gb/s for
 * 10 s in packets of 512 bytes are that.  So a difference may be shifted once more.
 */
#define ACP_SCALE	16
#define ACP_ONE		BIT_ULL(ACP_SCALE)
#define ACP_MOST	(ACP_ONE << 30)

/* The window that needs no evidence: with 1 a path could hardly show that it takes more */
#define ACP_LEAST	(2 * ACP_ONE)

/* The largest rtt that is believed, us: bounds the products (desired_is_bounded) */
#define ACP_RTT_CAP	(100 * USEC_PER_SEC)

/*
 * Segments that one ACK may count for in Eq. 4: 16 GRO packets of 64, so only what came
 * without an echo for long is cut (window_is_bounded)
 */
#define ACP_ACKED_MAX	1024U

/*
 * Fraction bits of the share of the difference that a segment leaves in Eq. 4:
 * with those of a window they are 64, the width of a quotient
 */
#define ACP_LEFT	(64 - ACP_SCALE)

/*
 * A loss is heavy if it is more than 2^-2 of what a round trip delivered, and of so many
 * segments: few in a small window may be chance
 */
#define ACP_HEAVY	2
#define ACP_HEAVY_SEGS	8

/* What interrupts and a busy processor add to a round trip, us */
#define ACP_HOST_US	USEC_PER_MSEC

/* Round trips without words after a heavy loss, and how often that may double */
#define ACP_REFUSED	8
#define ACP_DOUBTS	7

/* A step of several segments moves the window by 2^-3 of it at most (per_segment: 1/500) */
#define ACP_STEP	3

TCPCC_PARAM(acp_slow, 10, 1, 1000,
	    "divides the gain of Eq. 4 for growth while H_congestion is set");
TCPCC_PARAM(acp_overhead, 14, 0, 256,
	    "Bytes of link header that routers count for a packet");
TCPCC_PARAM(acp_pacing, 1, 0, 1,
	    "1: windows with fractions, spread over a round trip; 0: whole windows, as ACKs release them");
TCPCC_PARAM(acp_trust, 225, 0, 10000,
	    "Of what was delivered in a round trip, what the next window may be, per cent; 0: any");
TCPCC_PARAM(acp_patience, 4, 1, 100,
	    "Round trips without feedback before the fallback");

enum acp_mode {
	ACP_START,		/* Reno, until a router speaks */
	ACP_FEEDBACK,		/* Eqs. 3 to 5 */
	ACP_FALLBACK,		/* Reno, since no router speaks any more */
};

/* Per-socket state */
struct acp {
	struct tcpcc_feedback *fb;	/* NULL: there was no memory */
	u64	window;		/* cwnd with its fraction, ACP_SCALE */
	u64	undo;		/* the window before the last loss, ACP_SCALE */
	u64	desired;	/* of Eq. 3, ACP_SCALE; 0: none yet */
	u64	feedback;	/* H_feedback, bytes/s; TCPCC_FB_RATE_NONE: no limit */
	u32	mrtt_us;
	u32	rtt_us;		/* the newest; 0: none yet */
	u32	mss;		/* that the window is in segments of, bytes */
	u32	acked;		/* segments that wait for an echo */
	u32	round_delivered; /* tp->delivered when this round trip began */
	u32	round_lost;	/* tp->lost then */
	u64	proven;		/* delivered in mrtt, of the last round trips, ACP_SCALE */
	u32	fast_segs;	/* of this round trip's fastest rate sample: segments */
	u32	fast_us;	/* and us; 0: none yet */
	u16	refused;	/* round trips in which no word counts */
	u8	doubts;		/* how often words were refused */
	u8	mode;		/* enum acp_mode */
	u8	silent;		/* round trips without a limit */
	u8	congested:1,	/* H_congestion */
		heard:1,	/* a limit has come in this round trip */
		limited:1,	/* the application had too little for it */
		reducing:1;	/* Reno: cwnd goes down to ssthresh */
};

/* ------------------------------------------------------------------------- */
/* The law: pure functions, driven by tests/kunit with the paper's numbers   */

/**
 * acp_desired() - the window that the network wants (Eq. 3)
 * @feedback: H_feedback, bytes/s, at most TCPCC_FB_RATE_MAX
 * @mrtt_us: us, at most ACP_RTT_CAP
 * @size: of a packet, bytes
 *
 * Return: window, ACP_SCALE, at most ACP_MOST
 */
static u64 acp_desired(u64 feedback, u32 mrtt_us, u32 size)
{
	/* below 2^37, below 2^43, below 2^49 */
	return min_t(u64, mul_u64_u64_div_u64(feedback,
					      (u64)mrtt_us << ACP_SCALE,
					      (u64)max(size, 1U) * USEC_PER_SEC),
		     ACP_MOST);
}

/**
 * acp_power() - a fraction multiplied by itself
 * @x: ACP_LEFT, at most 1
 * @n: how often it is there
 *
 * Return: x^n, ACP_LEFT
 */
static u64 acp_power(u64 x, u32 n)
{
	u64 power = BIT_ULL(ACP_LEFT);

	for (; n; n >>= 1) {
		if (n & 1)
			power = mul_u64_u64_shr(power, x, ACP_LEFT);
		x = mul_u64_u64_shr(x, x, ACP_LEFT);
	}
	return power;
}

/**
 * acp_filter() - the window after some segments were acknowledged (Eqs. 4, 5)
 * @window: before, ACP_SCALE, ACP_ONE to ACP_MOST
 * @desired: of Eq. 3, ACP_SCALE
 * @congested: H_congestion
 * @slow: what H_congestion divides the gain by
 * @acked: segments
 *
 * Of the difference to desired each segment leaves 1 - gain / window.  While the
 * window changes little, n segments leave the nth power of that, with the window
 * in the middle of its way.  So one ACK for many segments takes a step or two; only
 * for a window that becomes a multiple or a part of itself it takes more, at most
 * 80.  A step of one segment is Eq. 4 itself.
 *
 * Return: window, ACP_SCALE, at least ACP_ONE
 */
static u64 acp_filter(u64 window, u64 desired, bool congested, u32 slow,
		      u32 acked)
{
	bool up = desired > window;
	u32 divisor = congested && up ? slow : 1;
	u32 n;

	for (acked = min(acked, ACP_ACKED_MAX); acked; acked -= n) {
		u64 way = up ? desired - window : window - desired;
		/* the way is below 2^46, so it may be shifted by 16 */
		u64 delta = div64_u64(way << ACP_SCALE, window * divisor);

		if (!way || (!up && window == ACP_ONE))
			break;
		for (n = acked; n > 1 && delta * n > window >> ACP_STEP;)
			n >>= 1;
		if (n == 1) {
			window = up ? window + delta : window - delta;
		} else {
			u64 half = min(delta * (n - 1), way) / 2;
			u64 middle = up ? window + half : window - half;
			u64 gain = div64_u64(U64_MAX,
					     max(middle, ACP_ONE) * divisor);

			gain = BIT_ULL(ACP_LEFT) - gain;
			way = mul_u64_u64_shr(way, acp_power(gain, n), ACP_LEFT);
			window = up ? desired - way : desired + way;
		}
		window = max(window, ACP_ONE);
	}
	return window;
}

/**
 * acp_proven() - what a path has delivered in a round trip
 * @segs: of a rate sample, segments
 * @interval_us: of the rate sample, us
 * @mrtt_us: us, at most ACP_RTT_CAP
 *
 * Of the time that packets and ACKs took: a packet that waits in a queue adds to what a
 * round trip delivers, but nothing to this.  An interval counts as at least a sixteenth of
 * mrtt, for the quotient to fit; TCP makes no sample of less than the least rtt.
 *
 * Return: window, ACP_SCALE, at most ACP_MOST
 */
static u64 acp_proven(u32 segs, u32 interval_us, u32 mrtt_us)
{
	/* below 2^48, below 2^27; the quotient below 2^52 */
	return min_t(u64, mul_u64_u64_div_u64((u64)segs << ACP_SCALE, mrtt_us,
					      max3(interval_us, mrtt_us >> 4, 1U)),
		     ACP_MOST);
}

/**
 * acp_bound() - the largest window to go to, whatever routers say
 * @proven: acp_proven() of the last round trips, ACP_SCALE, at most ACP_MOST
 * @trust: per cent of that; 0: all is believed
 *
 * Return: window, ACP_SCALE, at least ACP_LEAST and at most ACP_MOST
 */
static u64 acp_bound(u64 proven, u32 trust)
{
	if (!trust)
		return ACP_MOST;
	/* below 2^60 */
	return clamp(div_u64(proven * trust, 100), ACP_LEAST, ACP_MOST);
}

/**
 * acp_queue_stands() - whether a round trip was longer than an empty path's
 * @rtt_us: the newest, us
 * @mrtt_us: us
 *
 * By a sixteenth, and by what hosts may add to it.
 */
static bool acp_queue_stands(u32 rtt_us, u32 mrtt_us)
{
	return rtt_us > mrtt_us + (mrtt_us >> 4) + ACP_HOST_US;
}

/**
 * acp_loss_is_heavy() - whether a path can't do what was granted
 * @lost: segments in a round trip
 * @delivered: segments in it
 */
static bool acp_loss_is_heavy(u32 lost, u32 delivered)
{
	return lost >= ACP_HEAVY_SEGS && lost > delivered >> ACP_HEAVY;
}

/**
 * acp_packets() - how many packets of a window may be in flight
 * @window: ACP_SCALE
 * @paced: the rate is acp_rate(), which lets the last of them go when its time has
 *	come; or else the fraction of a packet has to wait
 *
 * Return: packets
 */
static u32 acp_packets(u64 window, bool paced)
{
	return (paced ? window + ACP_ONE - 1 : window) >> ACP_SCALE;
}

/**
 * acp_spread_us() - over how long a window is spread
 * @rtt_us: of the segment that was acknowledged last, us; 0: not known
 * @mrtt_us: us
 *
 * With the newest rtt the rate would be a window's own, cwnd / rtt.  But the rtt is
 * of a packet that left m = ceil(cwnd) packets ago.  Where that one saw a longer
 * queue the next packet leaves later, by 1 / cwnd of it, so that of a bunch x of
 * packets remains x(k) = x(k - 1) - x(k - 1 - m) / cwnd.  It grows if cwnd is below
 * 1 / (2 * sin(pi / (4 * m + 2))), as 1 to 1.6 and 2 to 2.2 are: a thousand users
 * with 1.5 each would come to leave in bunches of 300.  With mrtt nothing would take
 * a bunch apart.  Half of the queue does it at any window.
 *
 * An rtt above twice mrtt counts as that: an outlier is not to hold the next packet
 * back for as long.
 *
 * Return: us
 */
static u32 acp_spread_us(u32 rtt_us, u32 mrtt_us)
{
	return mrtt_us + (clamp(rtt_us, mrtt_us, 2 * mrtt_us) - mrtt_us) / 2;
}

/**
 * acp_rate() - at which a window is spread over a round trip
 * @window: ACP_SCALE, at most ACP_MOST
 * @mss: bytes of a segment
 * @rtt_us: us
 *
 * Return: bytes/s
 */
static u64 acp_rate(u64 window, u32 mss, u32 rtt_us)
{
	u64 unit = (u64)clamp_t(u32, rtt_us, 1, ACP_RTT_CAP) << ACP_SCALE;

	/* at most 2^20 bytes/us: so the product is below 2^63, the quotient 2^40 */
	return mul_u64_u64_div_u64(min(window * mss, unit << 20), USEC_PER_SEC,
				   unit);
}

/**
 * acp_reduction() - what may be sent in Reno's recovery (RFC 6937)
 * @in_flight: segments
 * @ssthresh: where the window goes to, segments
 * @prior: the window before, segments
 * @delivered: segments delivered since recovery began
 * @out: segments sent since
 * @acked: segments that this ACK delivered
 *
 * Return: segments
 */
static u32 acp_reduction(u32 in_flight, u32 ssthresh, u32 prior, u32 delivered,
			 u32 out, u32 acked)
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

/* ------------------------------------------------------------------------- */
/* The sender                                                                */

static void acp_set_cwnd(struct sock *sk, u32 cwnd)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, clamp(cwnd, 1U, max(tp->snd_cwnd_clamp, 1U)));
}

static void acp_set_rate(struct sock *sk, u64 bytes_ps)
{
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, bytes_ps, READ_ONCE(sk->sk_max_pacing_rate)));
}

/* What routers count for one of our packets, bytes */
static u32 acp_size(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->mss_cache + tp->tcp_header_len + TCPCC_FB_LEN_DATA +
	       inet_csk(sk)->icsk_af_ops->net_header_len +
	       READ_ONCE(acp_overhead);
}

/* Where the window is now, if it is not ours: TCP or Reno has changed it. */
static void acp_sync(struct sock *sk)
{
	struct acp *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (acp_packets(ca->window, false) != cwnd &&
	    acp_packets(ca->window, true) != cwnd)
		ca->window = min(max_t(u64, cwnd, 1) << ACP_SCALE, ACP_MOST);
}

static bool acp_paced(const struct sock *sk)
{
	const struct acp *ca = inet_csk_ca(sk);

	return READ_ONCE(acp_pacing) && ca->mrtt_us != U32_MAX &&
	       READ_ONCE(sk->sk_pacing_status) != SK_PACING_NONE;
}

/*
 * A router grants bytes.  So where segments change their size (path MTU, MTU probing) the
 * window keeps its bytes and not its number of segments, or it would be seven times the
 * grant for a round trip when 1280 bytes become 9000.  @was is the window before
 * acp_sync(): if that has changed it, TCP has rescaled it already, as it does when a probe
 * succeeds.
 */
static void acp_rescale(struct sock *sk, u64 was)
{
	struct acp *ca = inet_csk_ca(sk);
	u32 mss = max(tcp_sk(sk)->mss_cache, 1U);

	if (ca->window == was) {
		ca->window = clamp(mul_u64_u32_div(was, ca->mss, mss), ACP_ONE,
				   ACP_MOST);
		acp_set_cwnd(sk, acp_packets(ca->window, acp_paced(sk)));
	}
	ca->undo = clamp(mul_u64_u32_div(ca->undo, ca->mss, mss), ACP_ONE,
			 ACP_MOST);
	ca->proven = min(mul_u64_u32_div(ca->proven, ca->mss, mss), ACP_MOST);
	ca->mss = mss;
}

static void acp_request(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct acp *ca = inet_csk_ca(sk);
	unsigned long most = READ_ONCE(sk->sk_max_pacing_rate);
	u64 rate = most == ~0UL ? TCPCC_FB_RATE_NONE : most;

	if (ca->fb)
		tcpcc_feedback_request(sk, ca->fb, tp->srtt_us >> 3,
				       tcpcc_fb_encode(rate, false));
}

static void acp_enter(struct sock *sk, enum acp_mode mode)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct acp *ca = inet_csk_ca(sk);

	ca->mode = mode;
	ca->silent = 0;
	ca->reducing = 0;
	if (mode == ACP_FEEDBACK) {
		ca->acked = 0;
		ca->mss = max(tp->mss_cache, 1U);
		if (READ_ONCE(acp_pacing))
			cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE,
				SK_PACING_NEEDED);
		return;
	}
	ca->desired = 0;
	ca->window = 0;
	WRITE_ONCE(tp->snd_ssthresh, max(tcp_snd_cwnd(tp) / 2, 2U));
	acp_set_cwnd(sk, tp->snd_ssthresh);
	acp_sync(sk);
	/* a loss that turns out to be none does not bring the grant back */
	tp->prior_ssthresh = 0;
	pr_info_once("feedback has ceased, as Reno from here\n");
}

/* What the ACK brought.  Return: the number of echoes with a limit */
static u32 acp_listen(struct sock *sk)
{
	struct acp *ca = inet_csk_ca(sk);
	u32 echoes = 0;
	u32 word;

	if (ca->fb)
		echoes = tcpcc_feedback_take(ca->fb, &word);
	if (!echoes || ca->refused)
		return 0;
	ca->congested = !!(word & TCPCC_FB_CONGESTION);
	ca->feedback = tcpcc_fb_decode(word);
	if (ca->feedback == TCPCC_FB_RATE_NONE)
		return 0;
	ca->heard = 1;
	if (ca->mode != ACP_FEEDBACK)
		acp_enter(sk, ACP_FEEDBACK);
	return echoes;
}

/* What the path has shown that it delivers in a round trip, ACP_SCALE */
static u64 acp_shown(const struct acp *ca)
{
	if (!ca->fast_us || ca->mrtt_us == U32_MAX)
		return 0;
	return acp_proven(ca->fast_segs, ca->fast_us, ca->mrtt_us);
}

/*
 * The largest window to go to now, ACP_SCALE, if a round trip delivers that many.  A queue is
 * an answer of the path's own.  With H_congestion Eq. 4 itself is ten times as slow.
 */
static u64 acp_most(const struct acp *ca, u64 proven)
{
	u32 trust = READ_ONCE(acp_trust);

	if (trust && acp_queue_stands(ca->rtt_us, ca->mrtt_us))
		trust = 100;
	else if (ca->congested)
		trust *= 2;
	return acp_bound(proven, trust);
}

/*
 * Eq. 4 towards what the network wants, and no further than what is believed.  A window
 * above that goes down by Eq. 4 too: what a queue holds is gone after a round trip.  What
 * this round trip has shown so far costs a division: it is looked at only if it matters.
 */
static u64 acp_next_window(const struct acp *ca)
{
	u64 window = acp_filter(ca->window, ca->desired, ca->congested,
				READ_ONCE(acp_slow), ca->acked);
	u64 most = acp_most(ca, ca->proven);

	if (window > most)
		most = acp_most(ca, max(ca->proven, acp_shown(ca)));
	if (likely(window <= most))
		return window;
	if (most >= ca->window)
		return most;
	return min(window, acp_filter(ca->window, most, false, 1, ca->acked));
}

/* Keeps the fastest rate sample: the larger of two fractions. */
static void acp_sample(struct acp *ca, const struct rate_sample *rs)
{
	ca->limited |= rs->is_app_limited;
	if (rs->delivered <= 0 || rs->interval_us <= 0)
		return;
	if ((u64)rs->delivered * ca->fast_us >=
	    (u64)ca->fast_segs * rs->interval_us) {
		ca->fast_segs = rs->delivered;
		ca->fast_us = min_t(u64, rs->interval_us, U32_MAX);
	}
}

/* Words that promise what the path can't do count for nothing, for some time. */
static void acp_refuse(struct sock *sk)
{
	struct acp *ca = inet_csk_ca(sk);

	ca->refused = ACP_REFUSED << ca->doubts;
	ca->doubts = min(ca->doubts + 1, ACP_DOUBTS);
	pr_info_once("heavy losses at the rate that was granted, as Reno from here\n");
	acp_enter(sk, ACP_FALLBACK);
}

/* A round trip is over. */
static void acp_round(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct acp *ca = inet_csk_ca(sk);
	u32 delivered = tp->delivered - ca->round_delivered;
	u32 lost = tp->lost - ca->round_lost;
	u64 shown = acp_shown(ca);

	/*
	 * an application that has little to send shows nothing of the path, and a small
	 * window, as after an idle time, little
	 */
	if (!ca->limited)
		ca->proven /= 2;
	ca->proven = max(ca->proven, shown);
	ca->fast_segs = 0;
	ca->fast_us = 0;
	ca->limited = 0;
	ca->refused -= !!ca->refused;
	ca->round_delivered = tp->delivered;
	ca->round_lost = tp->lost;
	if (ca->mode == ACP_FEEDBACK && READ_ONCE(acp_trust) &&
	    acp_loss_is_heavy(lost, delivered))
		acp_refuse(sk);
	ca->silent = ca->heard ? 0 : min(ca->silent + 1, 255);
	ca->heard = 0;
	if (ca->silent < READ_ONCE(acp_patience))
		return;
	if (ca->mode == ACP_FEEDBACK)
		acp_enter(sk, ACP_FALLBACK);
	else if (ca->mode == ACP_START)
		pr_info_once("no feedback from this path, as Reno\n");
}

/*
 * The rate that TCP itself sets for a congestion control without .cong_control: for the
 * size of packets that TSO makes, and for who paces (fq, SO_MAX_PACING_RATE, or bbr
 * before us on this socket).
 */
static u64 acp_reno_rate(const struct sock *sk)
{
	const struct netns_ipv4 *ipv4 = &sock_net(sk)->ipv4;
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 percent = cwnd < tp->snd_ssthresh / 2 ?
		      READ_ONCE(ipv4->sysctl_tcp_pacing_ss_ratio) :
		      READ_ONCE(ipv4->sysctl_tcp_pacing_ca_ratio);
	u64 window = (u64)max(cwnd, tp->packets_out) << ACP_SCALE;

	if (!tp->srtt_us)
		return ~0ULL;
	return mul_u64_u32_div(acp_rate(min(window, ACP_MOST), tp->mss_cache,
					tp->srtt_us >> 3), percent, 100);
}

/*
 * Reno, for paths that do not speak.  TCP leaves all of it to .cong_control: the way down
 * to ssthresh in recovery and after CE (once for each round trip), its end, and growth.
 */
static void acp_reno(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct acp *ca = inet_csk_ca(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery) {
		u32 in_flight = tcp_packets_in_flight(tp);

		ca->reducing = 1;
		if (acked) {
			tp->prr_delivered += acked;
			acp_set_cwnd(sk, in_flight +
				     acp_reduction(in_flight, tp->snd_ssthresh,
						   tp->prior_cwnd,
						   tp->prr_delivered,
						   tp->prr_out, acked));
		}
	} else {
		/* who has come from bbr in recovery has no ssthresh to end at */
		if (ca->reducing && state != TCP_CA_Loss &&
		    tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
			acp_set_cwnd(sk, tp->snd_ssthresh);
		ca->reducing = 0;
		if (acked)
			tcp_reno_cong_avoid(sk, 0, acked);
	}
	acp_sync(sk);
	acp_set_rate(sk, acp_reno_rate(sk));
}

static void acp_update(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct acp *ca = inet_csk_ca(sk);
	u32 acked = max(rs->acked_sacked, 0);
	u64 rate = ~0ULL, was;
	u32 echoes;

	if (tp->srtt_us)
		ca->mrtt_us = min3(ca->mrtt_us, tp->srtt_us >> 3,
				   (u32)ACP_RTT_CAP);
	if (rs->rtt_us > 0)
		ca->rtt_us = min_t(long, rs->rtt_us, ACP_RTT_CAP);
	acp_sample(ca, rs);
	acp_request(sk);
	echoes = acp_listen(sk);
	if (rs->prior_delivered > 0 &&
	    !before(rs->prior_delivered, ca->round_delivered))
		acp_round(sk);

	if (ca->mode != ACP_FEEDBACK) {
		acp_reno(sk, acked);
	} else {
		was = ca->window;
		acp_sync(sk);
		if (unlikely(ca->mss != tp->mss_cache))
			acp_rescale(sk, was);
		ca->acked += acked;
		if (echoes && ca->mrtt_us != U32_MAX) {
			ca->desired = acp_desired(ca->feedback, ca->mrtt_us,
						  acp_size(sk));
			ca->window = acp_next_window(ca);
			ca->acked = 0;
			acp_set_cwnd(sk, acp_packets(ca->window, acp_paced(sk)));
		}
		if (acp_paced(sk))
			rate = acp_rate(ca->window, tp->mss_cache,
					acp_spread_us(ca->rtt_us, ca->mrtt_us));
		acp_set_rate(sk, rate);
	}
	if (trace_acp_update_enabled() && (echoes || acked))
		trace_acp_update(sk, ca->mode, echoes, ca->feedback,
				 ca->congested, tp->srtt_us >> 3, ca->mrtt_us,
				 acked, ca->desired, ca->window);
}

tcpcc_cong_control(acp_cong_control)
{
	acp_update(sk, rs);
}

/*
 * Sending begins, for the first time or after an idle time of more than a timeout; or TCP
 * sends again what it takes for lost, which is neither.
 *
 * What a router granted may be in use by others by now, so that window is 1 again, and
 * the first echo brings it back.  Without a router the window shrinks as the kernel's
 * does: tcp_cwnd_restart() is not called for who has .cong_control.
 *
 * TCP has made the first packet by now, as large as TSO makes them (of what the last rate
 * sends in a millisecond).  What follows it keeps to the new window.
 */
static void acp_restart(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct acp *ca = inet_csk_ca(sk);
	s32 idle = tcp_jiffies32 - tp->lsndtime;
	s32 rto = inet_csk(sk)->icsk_rto;
	bool first = !tp->data_segs_out;
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 least;

	if (tp->packets_out)
		return;
	if (!first) {
		if (idle <= rto ||
		    !READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle))
			return;
		WRITE_ONCE(tp->snd_ssthresh, tcp_current_ssthresh(sk));
	}
	if (first || ca->mode == ACP_FEEDBACK)
		cwnd = 1;
	least = min_t(u32, cwnd, TCP_INIT_CWND);
	while ((idle -= rto) > 0 && cwnd > least)
		cwnd >>= 1;
	cwnd = max(cwnd, least);
	acp_set_cwnd(sk, cwnd);
	ca->window = (u64)cwnd << ACP_SCALE;
	ca->acked = 0;
	acp_request(sk);
}

tcpcc_cwnd_events(acp_cwnd_event, acp_restart, NULL);

/*
 * Paced packets are of one segment, unless the rate is such that TCP makes larger
 * ones.  Two at once would be more than a window's fraction.
 */
tcpcc_min_tso_segs(acp_min_tso_segs)
{
	const struct acp *ca = inet_csk_ca(sk);

	if (ca->mode == ACP_FEEDBACK && acp_paced(sk))
		return 1;
	return READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_min_tso_segs);
}

/* Room to send, in windows: see tcp_estcp.c; a window does not shrink for a loss here */
static u32 acp_sndbuf_expand(struct sock *sk)
{
	return 4;
}

static void acp_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct acp *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->feedback = TCPCC_FB_RATE_NONE;
	ca->mrtt_us = U32_MAX;
	ca->round_delivered = tp->delivered;
	ca->round_lost = tp->lost;
	ca->mss = max(tp->mss_cache, 1U);
	/*
	 * in the middle of a flow its window goes on from where it is; one segment may
	 * have gone with the SYN (TCP Fast Open)
	 */
	if (tp->data_segs_out <= 1)
		acp_set_cwnd(sk, 1);
	acp_sync(sk);
	ca->fb = tcpcc_feedback_attach(sk, TCPCC_FB_ACP);
	acp_request(sk);
}

static void acp_release(struct sock *sk)
{
	struct acp *ca = inet_csk_ca(sk);

	tcpcc_feedback_detach(sk, ca->fb);
	ca->fb = NULL;
}

static u32 acp_ssthresh(struct sock *sk)
{
	struct acp *ca = inet_csk_ca(sk);

	acp_sync(sk);
	ca->undo = ca->window;
	if (ca->mode != ACP_FEEDBACK)
		return tcp_reno_ssthresh(sk);
	return max(tcp_snd_cwnd(tcp_sk(sk)), 2U);
}

/* There was no loss.  With a router only a timeout has taken anything away. */
static u32 acp_undo_cwnd(struct sock *sk)
{
	struct acp *ca = inet_csk_ca(sk);

	ca->reducing = 0;
	acp_sync(sk);
	if (ca->mode != ACP_FEEDBACK || inet_csk(sk)->icsk_ca_state == TCP_CA_Loss)
		ca->window = max(ca->window, ca->undo);
	return acp_packets(ca->window, ca->mode == ACP_FEEDBACK && acp_paced(sk));
}

static const char *acp_mode_name(const struct acp *ca)
{
	static const char * const names[] = {
		[ACP_START]	= "start",
		[ACP_FEEDBACK]	= "feedback",
		[ACP_FALLBACK]	= "fallback",
	};

	return names[ca->mode];
}

/*
 * ss shows what the network grants as bw, and the paper's mrtt.  Window and desired window
 * have a fraction, which matters below ten segments: so they are told in thousandths.
 */
static size_t acp_get_info(struct sock *sk, u32 ext, int *attr,
			   union tcp_cc_info *info)
{
	const struct acp *ca = inet_csk_ca(sk);
	struct tcpcc_view *view = tcpcc_view_of(ext, info, acp_mode_name(ca));
	u32 mrtt_us = ca->mrtt_us == U32_MAX ? 0 : ca->mrtt_us;
	u64 granted = 0;

	if (ca->mode == ACP_FEEDBACK && ca->feedback != TCPCC_FB_RATE_NONE)
		granted = ca->feedback;
	if (!view)
		return tcpcc_info_rate(ext, attr, info, granted, mrtt_us);

	if (ca->mode == ACP_FEEDBACK) {
		tcpcc_view_add(view, "granted_bps", granted * BITS_PER_BYTE);
		tcpcc_view_add(view, "congested_bool", ca->congested);
		tcpcc_view_add(view, "desired_milli_segs",
			       ca->desired * 1000 >> ACP_SCALE);
		tcpcc_view_add(view, "window_milli_segs",
			       ca->window * 1000 >> ACP_SCALE);
	}
	tcpcc_view_add(view, "mrtt_us", mrtt_us);
	return 0;
}

/*
 * TCP_CONG_NON_RESTRICTED is not set: with a router the window is what the receiver says,
 * whatever is lost or marked, and a receiver may lie.  A process without privileges could
 * agree with its peer on any rate, on links that others share.  Who may set the default
 * congestion control, a route's, or has CAP_NET_ADMIN can choose acp; being made the
 * default, it is open to all.
 */
static struct tcp_congestion_ops acp_ops __read_mostly = {
	.name		= "acp",
	.owner		= THIS_MODULE,
	.init		= acp_init,
	.release	= acp_release,
	.cong_control	= acp_cong_control,
	.ssthresh	= acp_ssthresh,
	.undo_cwnd	= acp_undo_cwnd,
	.sndbuf_expand	= acp_sndbuf_expand,
	.get_info	= acp_get_info,
	TCPCC_MIN_TSO_SEGS(acp_min_tso_segs),
	TCPCC_CWND_EVENTS(acp_cwnd_event, acp_restart, NULL),
};

static int __init acp_register(void)
{
	BUILD_BUG_ON(sizeof(struct acp) > ICSK_CA_PRIV_SIZE);

	return tcp_register_congestion_control(&acp_ops);
}

static void __exit acp_unregister(void)
{
	tcp_unregister_congestion_control(&acp_ops);
}

module_init(acp_register);
module_exit(acp_unregister);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP ACP: explicit rates from routers");
MODULE_ALIAS("tcp_acp");
