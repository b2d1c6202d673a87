// SPDX-License-Identifier: GPL-2.0
/*
 * Adaptive Congestion Protocol (ACP): the hosts' part.
 *
 *   M. Lestas, A. Pitsillides, P. Ioannou, G. Hadjipollas, "Adaptive Congestion
 *   Protocol: A Congestion Control Protocol with Learning Capability".
 *
 * Each link computes a rate, the same for all flows on it.  A packet collects the lowest rate
 * of the links on its way.  The receiver returns this rate, H_feedback, and the sender computes
 * a window from it:
 *
 *   desired = H_feedback * mrtt / size					(Eq. 3)
 *   cwnd += 0.1 / cwnd * (desired - cwnd)    if desired > cwnd and H_congestion
 *   cwnd += 1 / cwnd * (desired - cwnd)      otherwise			(Eq. 4)
 *   cwnd is never below 1						(Eq. 5)
 *
 * mrtt is the least estimate of the round trip time, and size is the size of a packet.  If there
 * is one ACK for each packet of a window, Eq. 4 is a first-order filter with a time constant of
 * one round trip.  H_congestion means that a link is already at 95 % of its capacity.  New flows
 * then take ten times as long, so that the link can react to them.  The first window is 1.
 *
 * include/tcpcc_explicit.h has everything except this law, and describes the modes.
 *
 * In FEEDBACK neither CE nor a loss reduces the window, unless the loss is heavy (acp_trust):
 * the rate is known, and it alone determines the window.  So ACP does not react to a queue
 * without an ACP router.  Use it only on networks whose bottlenecks all have such routers.  A
 * timeout sets the window to 1.  The next echo brings it back, or TCP does if it finds that the
 * timeout was spurious.
 *
 * Defaults that differ from the paper.  "As printed" is acp_pacing=0 acp_trust=0; the scenarios
 * acp-fig5, acp-fig8, acp-fig16 and acp-table1 have both columns.
 *   o acp_trust.  The paper's sender believes each word.  But a receiver may lie, and a link on
 *     the way may have no ACP router.  A link that was nearly idle also grants its whole rate to
 *     each of many flows that start at once, because it cannot know of them for a round trip.  So
 *     no window goes beyond 2.25 times what the path has delivered in mrtt (acp_trust, per cent),
 *     or twice that with H_congestion, because Eq. 4 then goes only a tenth of the way.  If the
 *     newest rtt shows a queue, no window goes beyond what was delivered.  If the path has become
 *     longer, or ACKs have jitter, mrtt is renewed: see explicit_renew().
 *     The price is that a window of 1000 is reached in 10 round trips, not in two.  In acp-fig8
 *     (the paper's Fig. 7) three flows come to such a link, where the gain of Eq. 4 is 1.  As
 *     printed they put three bandwidth-delay products on the link, and it loses 1554 packets; the
 *     paper reports no losses.  With acp_trust none are lost.  Against a storm of flows within
 *     one round trip there is the router's option newcomers (acp-storm).
 *     If the losses of a round trip are more than a quarter of what it delivered, the path cannot
 *     carry what the words grant.  The sender then goes to FALLBACK for eight round trips, and
 *     for twice as many each further time.
 *   o acp_pacing.  The paper's windows are whole numbers.  So senders that get the same rate round
 *     to the same window at the same time, the sum of N windows moves in steps of N packets, and
 *     the capacity lies between two steps.  The link oscillates.  The paper describes this for
 *     windows of 1 and 2, as the loss of a tenth of the capacity (its Fig. 5, acp-fig5).  By
 *     default the fraction of a window is used too: a window is kept in 1/65536 segment and
 *     spread over a round trip, one packet each rtt / cwnd.  Beside the whole packets one more may
 *     be in flight, for the fraction.  So on average cwnd packets are in flight, at any cwnd.  The
 *     round trip for this is halfway between mrtt and the newest rtt, so that a sender slows down
 *     while a queue grows: see explicit_spread_us().
 *
 * What the paper does not specify:
 *   o size is the size of a packet as routers count it: payload, TCP, IP, and acp_overhead bytes
 *     of link header.  With another size the headers would leave a part of the link unused.
 *   o Eq. 4 is applied for each acknowledged segment.  Otherwise a receiver that delays its ACKs
 *     would make the filter slower.  Segments acknowledged by an ACK without an echo count with
 *     the next echo.
 *   o H_feedback starts as "no limit", or as SO_MAX_PACING_RATE.
 *   o After an idle time longer than the retransmission timeout the window is 1 again (unless
 *     net.ipv4.tcp_slow_start_after_idle is off), and one round trip brings it back.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "tcpcc_compat.h"
#include "tcpcc_explicit.h"
#include "tcpcc_feedback.h"
#include "tcpcc_param.h"
#include "tcpcc_view.h"

#define CREATE_TRACE_POINTS
#include "trace_acp.h"

/*
 * The most segments that one ACK may count for in Eq. 4, 16 GRO packets of 64.  The count is cut
 * only if no echo has arrived for a long time (window_is_bounded)
 */
#define ACP_ACKED_MAX	1024U

/*
 * Fraction bits of the factor by which a segment reduces the difference in Eq. 4.  Together with
 * the fraction bits of a window these are 64, the width of a quotient
 */
#define ACP_LEFT	(64 - EXPLICIT_SCALE)

/* A step for several segments changes the window by at most 2^-3 of it (per_segment: 1/500) */
#define ACP_STEP	3

TCPCC_PARAM(acp_slow, 10, 1, 1000,
	    "Divisor of the gain of Eq. 4 for growth while H_congestion is set");
TCPCC_PARAM(acp_overhead, 14, 0, 256,
	    "Bytes of link header that routers count for each packet");
TCPCC_PARAM(acp_pacing, 1, 0, 1,
	    "1: windows with fractions, spread over a round trip; 0: whole windows, sent on ACKs");
TCPCC_PARAM(acp_trust, 225, 0, 10000,
	    "Limit of the window, per cent of what was delivered in a round trip; 0: none");
TCPCC_PARAM(acp_patience, 4, 1, 100,
	    "Round trips without feedback before the fallback to Reno");

/* Per-socket state */
struct acp {
	struct explicit_window w;
	u64	desired;	/* result of Eq. 3, EXPLICIT_SCALE; 0: none */
	u32	word;		/* the last H_feedback and H_congestion */
	u32	acked;		/* acknowledged segments that wait for an echo */
};

/* ------------------------------------------------------------------------- */
/* The law: pure functions, driven by tests/kunit with the paper's numbers   */

/* @x to the power of @n; both @x, at most 1, and the result in ACP_LEFT */
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
 * @window: window before, EXPLICIT_SCALE, EXPLICIT_ONE to EXPLICIT_MOST
 * @desired: result of Eq. 3, EXPLICIT_SCALE
 * @congested: H_congestion
 * @slow: with @congested the gain of growth is divided by this
 * @acked: acknowledged segments
 *
 * Each segment multiplies the difference to @desired by 1 - gain / window.  While the window
 * changes little, n segments multiply it by the nth power of that, with the window at half of
 * its way.  So one ACK for many segments needs a step or two.  Only if the window changes by a
 * large factor it needs more, at most 80.  A step of one segment is Eq. 4 itself.
 *
 * Return: window, EXPLICIT_SCALE, at least EXPLICIT_ONE
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
		u64 delta = div64_u64(way << EXPLICIT_SCALE, window * divisor);

		if (!way || (!up && window == EXPLICIT_ONE))
			break;
		for (n = acked; n > 1 && delta * n > window >> ACP_STEP;)
			n >>= 1;
		if (n == 1) {
			window = up ? window + delta : window - delta;
		} else {
			u64 half = min(delta * (n - 1), way) / 2;
			u64 middle = up ? window + half : window - half;
			u64 gain = div64_u64(U64_MAX,
					     max(middle, EXPLICIT_ONE) * divisor);

			gain = BIT_ULL(ACP_LEFT) - gain;
			way = mul_u64_u64_shr(way, acp_power(gain, n), ACP_LEFT);
			window = up ? desired - way : desired + way;
		}
		window = max(window, EXPLICIT_ONE);
	}
	return window;
}

/* ------------------------------------------------------------------------- */
/* The sender                                                                */

/* Takes the echoes of an ACK.  Return: their number; 0: none, or the newest has no limit */
static u32 acp_listen(struct sock *sk)
{
	struct acp *ca = inet_csk_ca(sk);
	u32 echoes = explicit_take(sk, &ca->word);

	if (!echoes || tcpcc_fb_decode(ca->word) == TCPCC_FB_RATE_NONE)
		return 0;
	explicit_heard(sk, READ_ONCE(acp_pacing));
	return echoes;
}

/*
 * The window of Eq. 4, limited to what is believed.  With H_congestion Eq. 4 is ten times as slow,
 * so the limit is twice as high.  A window above the limit also goes down by Eq. 4, so that a
 * queue is gone after a round trip.
 */
static u64 acp_next_window(struct acp *ca)
{
	bool congested = ca->word & TCPCC_FB_CONGESTION;
	u64 window = acp_filter(ca->w.segs, ca->desired, congested, READ_ONCE(acp_slow),
				ca->acked);
	u64 most = explicit_most(&ca->w, window, READ_ONCE(acp_trust) << congested);

	if (likely(window <= most))
		return window;
	if (most >= ca->w.segs)
		return most;
	return min(window, acp_filter(ca->w.segs, most, false, 1, ca->acked));
}

static void acp_update(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct acp *ca = inet_csk_ca(sk);
	struct explicit_sender *ex = &ca->w.ex;
	u32 acked = max(rs->acked_sacked, 0);
	u32 echoes;

	explicit_ack(sk, rs);
	explicit_request(sk);
	echoes = acp_listen(sk);
	explicit_round(sk, rs, READ_ONCE(acp_trust), READ_ONCE(acp_patience));

	if (ex->mode != EXPLICIT_FEEDBACK) {
		explicit_reno(sk, acked);
		ca->desired = 0;
		ca->acked = 0;
	} else {
		explicit_begin(sk, READ_ONCE(acp_pacing));
		ca->acked += acked;
		if (echoes && ex->mrtt_us != U32_MAX) {
			ca->desired = explicit_desired(tcpcc_fb_decode(ca->word), ex->mrtt_us,
						       explicit_size(sk, READ_ONCE(acp_overhead)));
			explicit_set(sk, acp_next_window(ca));
			ca->acked = 0;
		}
		explicit_pace(sk);
	}
	if (trace_acp_update_enabled() && (echoes || acked))
		trace_acp_update(sk, ex->mode, echoes, tcpcc_fb_decode(ca->word),
				 ca->word & TCPCC_FB_CONGESTION, tp->srtt_us >> 3,
				 ex->mrtt_us, acked, ca->desired, ca->w.segs);
}

tcpcc_cong_control(acp_cong_control)
{
	acp_update(sk, rs);
}

static void acp_restart(struct sock *sk)
{
	struct acp *ca = inet_csk_ca(sk);

	if (!explicit_restart(sk))
		return;
	ca->acked = 0;
	explicit_request(sk);
}

tcpcc_cwnd_events(acp_cwnd_event, acp_restart, NULL);

tcpcc_min_tso_segs(acp_min_tso_segs)
{
	return explicit_min_tso_segs(sk);
}

static void acp_init(struct sock *sk)
{
	struct acp *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->word = TCPCC_FB_NO_LIMIT;
	explicit_window_init(sk, TCPCC_FB_ACP);
	explicit_request(sk);
}

/*
 * ss shows the granted rate as bw, and mrtt.  The window and the desired window are given in
 * 1/1000 segment, because their fraction matters below ten segments.
 */
static size_t acp_get_info(struct sock *sk, u32 ext, int *attr,
			   union tcp_cc_info *info)
{
	const struct acp *ca = inet_csk_ca(sk);
	const struct explicit_sender *ex = &ca->w.ex;
	struct tcpcc_view *view = tcpcc_view_of(ext, info, explicit_mode_name(ex, "feedback"));
	u32 mrtt_us = ex->mrtt_us == U32_MAX ? 0 : ex->mrtt_us;
	u64 granted = tcpcc_fb_decode(ca->word);

	if (ex->mode != EXPLICIT_FEEDBACK || granted == TCPCC_FB_RATE_NONE)
		granted = 0;
	if (!view)
		return tcpcc_info_rate(ext, attr, info, granted, mrtt_us);

	if (ex->mode == EXPLICIT_FEEDBACK) {
		tcpcc_view_add(view, "granted_bps", granted * BITS_PER_BYTE);
		tcpcc_view_add(view, "congested_bool", !!(ca->word & TCPCC_FB_CONGESTION));
		tcpcc_view_add(view, "desired_milli_segs",
			       ca->desired * 1000 >> EXPLICIT_SCALE);
		tcpcc_view_add(view, "window_milli_segs",
			       ca->w.segs * 1000 >> EXPLICIT_SCALE);
	}
	tcpcc_view_add(view, "mrtt_us", mrtt_us);
	return 0;
}

static struct tcp_congestion_ops explicit_ops __read_mostly = {
	.name		= "acp",
	.owner		= THIS_MODULE,
	.init		= acp_init,
	.release	= explicit_release,
	.cong_control	= acp_cong_control,
	.ssthresh	= explicit_kept_ssthresh,
	.undo_cwnd	= explicit_undo_cwnd,
	.sndbuf_expand	= explicit_sndbuf_expand,
	.get_info	= acp_get_info,
	TCPCC_MIN_TSO_SEGS(acp_min_tso_segs),
	TCPCC_CWND_EVENTS(acp_cwnd_event, acp_restart, NULL),
};

static_assert(sizeof(struct acp) <= ICSK_CA_PRIV_SIZE);

MODULE_DESCRIPTION("TCP ACP: explicit rates from routers");
MODULE_ALIAS("tcp_acp");
