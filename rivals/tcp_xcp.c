// SPDX-License-Identifier: GPL-2.0
/*
 * Explicit Control Protocol (XCP): the sender.
 *
 *   D. Katabi, M. Handley, C. Rohrs, "Congestion Control for High Bandwidth-Delay
 *   Product Networks", SIGCOMM 2002; as one of the rivals in the ACP paper (Table I).
 *
 * Each packet carries the rtt of its flow and the gap between two packets, rtt / cwnd.  It also
 * requests a change of the flow's rate; the sender requests the largest one.  Each link on the
 * way lowers it to what the link can give this packet (sched/xcp_law.c).  The receiver adds up the
 * changes, and the sender adds the sum E, bytes/s, to its window:
 *
 *   cwnd += E * rtt / size, at least 1
 *
 * In START and FALLBACK, without such links, the sender is Reno: see include/tcpcc_explicit.h.  A
 * loss halves the window as Reno does, in FEEDBACK too, and feedback that arrives in recovery is
 * not added.  A timeout sets the window to 1, and feedback continues from there.
 *
 * Defaults that differ from the paper.  "As printed" is xcp_trust=0.
 *   o xcp_trust.  The paper's sender believes each word.  Here no window grows beyond 2.25 times
 *     what the path has delivered in a round trip; tcp_acp_host.c gives the reason.
 *     While the newest rtt shows a queue no window grows.  If this lasts for some round trips a
 *     window is reduced for a short time, to see if the queue is its own: explicit_renew().
 *   o xcp_pacing.  A window is spread over a round trip.  In the paper's network links between
 *     the hosts and the bottleneck, with the bottleneck's rate, have the same effect.
 *
 * What the paper does not specify:
 *   o rtt is TCP's smoothed rtt.  Before the first sample packets carry no rtt, and routers grant
 *     them nothing.  So the window is 1 for two round trips.
 *   o size is the size of a packet as routers count it: payload, TCP, IP, and xcp_overhead bytes
 *     of link header.
 *   o If a request comes back unchanged, it is not a grant, because no link has seen it.
 *   o If the application uses less than the window, the window does not grow.  Otherwise an unused
 *     window would accumulate, and could later be sent at once.
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

#define TCPCC_TRACE_SYSTEM xcp
#define CREATE_TRACE_POINTS
#include "trace_explicit.h"

TCPCC_PARAM(xcp_overhead, 14, 0, 256,
	    "Bytes of link header that routers count for each packet");
TCPCC_PARAM(xcp_pacing, 1, 0, 1,
	    "1: windows with fractions, spread over a round trip; 0: whole windows, sent on ACKs");
TCPCC_PARAM(xcp_trust, 225, 0, 10000,
	    "Limit of the window, per cent of what was delivered in a round trip; 0: none");
TCPCC_PARAM(xcp_patience, 4, 1, 100,
	    "Round trips without feedback before the fallback to Reno");

/* Per-socket state */
struct xcp {
	struct explicit_window w;
	u32	word;		/* sum of the changes that the last ACK brought */
};

/* ------------------------------------------------------------------------- */
/* The law: pure functions, driven by tests/kunit                            */

/**
 * xcp_gap() - the gap between two packets that a sender reports
 * @window: EXPLICIT_SCALE, at least 1
 * @rtt_us: us, at most EXPLICIT_RTT_CAP; 0: none yet
 *
 * Return: ns
 */
static u64 xcp_gap(u64 window, u32 rtt_us)
{
	/* below 2^37, below 2^53 */
	return div64_u64((rtt_us * (u64)NSEC_PER_USEC) << EXPLICIT_SCALE, window);
}

/**
 * xcp_window() - the window after feedback
 * @window: window before, EXPLICIT_SCALE, EXPLICIT_ONE to EXPLICIT_MOST
 * @change: bytes/s, 30 bits with sign
 * @rtt_us: us, at most EXPLICIT_RTT_CAP
 * @size: packet size, bytes
 *
 * Return: window, EXPLICIT_SCALE, EXPLICIT_ONE to EXPLICIT_MOST
 */
static u64 xcp_window(u64 window, s32 change, u32 rtt_us, u32 size)
{
	u64 way = explicit_desired(abs(change), rtt_us, size);

	if (change < 0)
		return max(window - min(way, window), EXPLICIT_ONE);
	return min(window + way, EXPLICIT_MOST);
}

/* ------------------------------------------------------------------------- */
/* The sender                                                                */

static u32 xcp_rtt_us(const struct sock *sk)
{
	return min(tcp_sk(sk)->srtt_us >> 3, (u32)EXPLICIT_RTT_CAP);
}

/*
 * Sets what the next packets carry.  The requested change is not divided among the packets, because
 * links lower it for each packet.
 */
static void xcp_request(struct sock *sk)
{
	struct xcp *ca = inet_csk_ca(sk);
	u32 rtt_us = xcp_rtt_us(sk);

	if (ca->w.ex.fb)
		tcpcc_feedback_request(sk, ca->w.ex.fb,
				       tcpcc_fb_xcp_info(rtt_us,
							 xcp_gap(max(ca->w.segs, EXPLICIT_ONE),
								 rtt_us)),
				       TCPCC_FB_NO_LIMIT);
}

/* Takes the echoes of an ACK.  Return: their number; 0: none, or no link has changed them */
static u32 xcp_listen(struct sock *sk)
{
	struct xcp *ca = inet_csk_ca(sk);
	u32 echoes = explicit_take(sk, &ca->word);

	if (!echoes || ca->word == TCPCC_FB_NO_LIMIT)
		return 0;
	explicit_heard(sk, READ_ONCE(xcp_pacing));
	return echoes;
}

/* Applies the feedback of an ACK: growth only if the application uses it, and as far as trusted */
static void xcp_follow(struct sock *sk, const struct rate_sample *rs)
{
	struct xcp *ca = inet_csk_ca(sk);
	s32 change = tcpcc_fb_change(ca->word);
	u64 was = ca->w.segs, window;

	if (change > 0 && rs->is_app_limited)
		return;
	window = xcp_window(was, change, xcp_rtt_us(sk),
			    explicit_size(sk, READ_ONCE(xcp_overhead)));
	if (window > was) {
		u64 most = explicit_most(&ca->w, window, READ_ONCE(xcp_trust));

		window = min(window, explicit_makes_way(&ca->w) ? most : max(was, most));
	}
	explicit_set(sk, window);
}

static void xcp_update(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct xcp *ca = inet_csk_ca(sk);
	struct explicit_sender *ex = &ca->w.ex;
	u32 acked = max(rs->acked_sacked, 0);
	u32 echoes;

	explicit_ack(sk, rs);
	echoes = xcp_listen(sk);
	explicit_round(sk, rs, READ_ONCE(xcp_trust), READ_ONCE(xcp_patience));

	if (ex->mode != EXPLICIT_FEEDBACK) {
		explicit_reno(sk, acked);
	} else {
		explicit_begin(sk, READ_ONCE(xcp_pacing));
		if (!explicit_recover(sk, acked) && echoes)
			xcp_follow(sk, rs);
		explicit_pace(sk);
	}
	xcp_request(sk);
	if (trace_explicit_update_enabled() && (echoes || acked))
		trace_explicit_update(sk, ex->mode, echoes,
				      echoes ? tcpcc_fb_change(ca->word) : 0,
				      tp->srtt_us >> 3, ex->mrtt_us, acked, ca->w.segs);
}

tcpcc_cong_control(xcp_cong_control)
{
	xcp_update(sk, rs);
}

static void xcp_restart(struct sock *sk)
{
	if (explicit_restart(sk))
		xcp_request(sk);
}

tcpcc_cwnd_events(xcp_cwnd_event, xcp_restart, NULL);

tcpcc_min_tso_segs(xcp_min_tso_segs)
{
	return explicit_min_tso_segs(sk);
}

static void xcp_init(struct sock *sk)
{
	struct xcp *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->word = TCPCC_FB_NO_LIMIT;
	explicit_window_init(sk, TCPCC_FB_XCP);
	xcp_request(sk);
}

/* Only for /proc/net/tcpcc: ss has no field for this, because links grant changes and no rate. */
static size_t xcp_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct xcp *ca = inet_csk_ca(sk);
	const struct explicit_sender *ex = &ca->w.ex;
	struct tcpcc_view *view = tcpcc_view_of(ext, info, explicit_mode_name(ex, "feedback"));

	if (!view)
		return 0;
	if (ex->mode == EXPLICIT_FEEDBACK)
		tcpcc_view_add(view, "window_milli_segs",
			       ca->w.segs * 1000 >> EXPLICIT_SCALE);
	tcpcc_view_add(view, "mrtt_us", ex->mrtt_us == U32_MAX ? 0 : ex->mrtt_us);
	return 0;
}

static struct tcp_congestion_ops explicit_ops __read_mostly = {
	.name		= "xcp",
	.owner		= THIS_MODULE,
	.init		= xcp_init,
	.release	= explicit_release,
	.cong_control	= xcp_cong_control,
	.ssthresh	= explicit_ssthresh,
	.undo_cwnd	= explicit_undo_cwnd,
	.sndbuf_expand	= explicit_sndbuf_expand,
	.get_info	= xcp_get_info,
	TCPCC_MIN_TSO_SEGS(xcp_min_tso_segs),
	TCPCC_CWND_EVENTS(xcp_cwnd_event, xcp_restart, NULL),
};

static_assert(sizeof(struct xcp) <= ICSK_CA_PRIV_SIZE);

MODULE_DESCRIPTION("TCP XCP: routers compute the changes of windows");
