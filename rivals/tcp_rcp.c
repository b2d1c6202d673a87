// SPDX-License-Identifier: GPL-2.0
/*
 * Rate Control Protocol (RCP): the sender.
 *
 *   N. Dukkipati, M. Kobayashi, R. Zhang-Shen, N. McKeown, "Processor Sharing Flows in the
 *   Internet", IWQoS 2005; as one of the rivals in the ACP paper (Figs. 16, 17).
 *
 * Each link computes one rate for all its flows (sched/rcp_law.c).  A packet collects the lowest
 * rate on its way, and the receiver returns it.  From then on the sender sends at this rate, R.
 * There is no window and no slow start.
 *
 * TCP needs a window, so it is made so large that it does not limit the rate: three times R in a
 * round trip, plus three segments.  The reason is that a queue of one bandwidth-delay product
 * doubles the round trip before the smoothed rtt shows it.  With a window of only a quarter more
 * than R, the window limited senders just while the law finds its lowest rate (acp-rcp-interval:
 * 270 packets instead of 166).  The window that /proc/net/tcpcc and the tracepoint show is
 * R * mrtt / size, as with ACP.
 *
 * In START and FALLBACK, without such links, the sender is Reno: see include/tcpcc_explicit.h.
 * In FEEDBACK neither a loss nor CE changes R.  A timeout sets the window to 1 until the next
 * echo.
 *
 * Defaults that differ from the paper.  "As printed" is rcp_trust=0.
 *   o rcp_trust.  The paper's sender believes each word.  Here no rate goes beyond 2.25 times what
 *     the path has delivered; tcp_acp_host.c gives the reason.  While the newest rtt shows a
 *     queue no rate grows.  If this lasts for some round trips a rate is reduced for a short time,
 *     to see if the queue is its own: explicit_renew().
 *
 * What the paper does not specify:
 *   o In the paper the first packet of a connection requests a rate, and the answer is known when
 *     data is sent.  Here only segments with data have the option, so the window is 1 for the
 *     first round trip.
 *   o size is the size of a packet as routers count it: payload, TCP, IP, and rcp_overhead bytes
 *     of link header.
 *   o If packets are more than an rtt apart, the authors' simulator sends a probe in each rtt.
 *     Here the rate is at least one segment per second instead.  TCP has no timer for segments
 *     that its pacing holds back, and until the next segment is sent the sender gets no new rate.
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

#define TCPCC_TRACE_SYSTEM rcp
#define CREATE_TRACE_POINTS
#include "trace_explicit.h"

/* The window is so many times R in a round trip: see above */
#define RCP_TIMES	3

/* Additional segments, for delayed ACKs and for segments that wait in the host */
#define RCP_ROOM	(3 * EXPLICIT_ONE)

TCPCC_PARAM(rcp_overhead, 14, 0, 256,
	    "Bytes of link header that routers count for each packet");
TCPCC_PARAM(rcp_trust, 225, 0, 10000,
	    "Limit of the rate, per cent of the rate delivered in a round trip; 0: none");
TCPCC_PARAM(rcp_patience, 4, 1, 100,
	    "Round trips without feedback before the fallback to Reno");

/* Per-socket state */
struct rcp {
	struct explicit_window w;
	u64	desired;	/* R * mrtt / size, EXPLICIT_SCALE; 0: none */
	u32	word;		/* the last R */
};

/**
 * rcp_window() - a window that does not limit a rate
 * @desired: the rate, as a window of @mrtt_us, EXPLICIT_SCALE, at most EXPLICIT_MOST
 * @rtt_us: us, at most EXPLICIT_RTT_CAP
 * @mrtt_us: us, at least 1
 *
 * Return: window, EXPLICIT_SCALE, at most EXPLICIT_MOST
 */
static u64 rcp_window(u64 desired, u32 rtt_us, u32 mrtt_us)
{
	/* below 2^48; an rtt counts as at most 2^10 times the least, so that the quotient fits */
	u64 window = mul_u64_u64_div_u64(desired * RCP_TIMES,
					 clamp_t(u64, rtt_us, mrtt_us, (u64)mrtt_us << 10),
					 max(mrtt_us, 1U));

	return min(window + RCP_ROOM, EXPLICIT_MOST);
}

/* Takes the echoes of an ACK.  Return: their number; 0: none, or the newest has no limit */
static u32 rcp_listen(struct sock *sk)
{
	struct rcp *ca = inet_csk_ca(sk);
	u32 echoes = explicit_take(sk, &ca->word);

	if (!echoes || tcpcc_fb_decode(ca->word) == TCPCC_FB_RATE_NONE)
		return 0;
	explicit_heard(sk, true);
	return echoes;
}

/* Sets the rate that was received, and a window for it */
static void rcp_follow(struct sock *sk)
{
	struct rcp *ca = inet_csk_ca(sk);
	u32 mrtt_us = ca->w.ex.mrtt_us, mss = tcp_sk(sk)->mss_cache;
	u64 desired = explicit_desired(tcpcc_fb_decode(ca->word), mrtt_us,
				       explicit_size(sk, READ_ONCE(rcp_overhead)));
	u64 most = explicit_most(&ca->w, desired, READ_ONCE(rcp_trust));

	/* at the rate that is delivered a queue would stay as it is */
	if (unlikely(explicit_makes_way(&ca->w)))
		most = max(mul_u64_u32_div(most, mrtt_us, ca->w.ex.rtt_us), EXPLICIT_LEAST);
	ca->desired = min(desired, most);
	explicit_set(sk, rcp_window(ca->desired, tcp_sk(sk)->srtt_us >> 3, mrtt_us));
	/* at least a segment in a second */
	explicit_set_rate(sk, max_t(u64, explicit_rate(ca->desired, mss, mrtt_us), mss));
}

static void rcp_update(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct rcp *ca = inet_csk_ca(sk);
	struct explicit_sender *ex = &ca->w.ex;
	u32 acked = max(rs->acked_sacked, 0);
	u32 echoes;

	explicit_ack(sk, rs);
	explicit_request(sk);
	echoes = rcp_listen(sk);
	explicit_round(sk, rs, READ_ONCE(rcp_trust), READ_ONCE(rcp_patience));

	if (ex->mode != EXPLICIT_FEEDBACK) {
		explicit_reno(sk, acked);
		ca->desired = 0;
	} else {
		explicit_begin(sk, true);
		if (echoes && ex->mrtt_us != U32_MAX)
			rcp_follow(sk);
	}
	if (trace_explicit_update_enabled() && (echoes || acked))
		trace_explicit_update(sk, ex->mode, echoes,
				      echoes ? tcpcc_fb_decode(ca->word) : 0,
				      tp->srtt_us >> 3, ex->mrtt_us, acked, ca->desired);
}

tcpcc_cong_control(rcp_cong_control)
{
	rcp_update(sk, rs);
}

static void rcp_restart(struct sock *sk)
{
	if (explicit_restart(sk))
		explicit_request(sk);
}

tcpcc_cwnd_events(rcp_cwnd_event, rcp_restart, NULL);

tcpcc_min_tso_segs(rcp_min_tso_segs)
{
	return explicit_min_tso_segs(sk);
}

static void rcp_init(struct sock *sk)
{
	struct rcp *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->word = TCPCC_FB_NO_LIMIT;
	explicit_window_init(sk, TCPCC_FB_RCP);
	explicit_request(sk);
}

/* ss shows R as bw, and mrtt. */
static size_t rcp_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct rcp *ca = inet_csk_ca(sk);
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
		tcpcc_view_add(view, "desired_milli_segs",
			       ca->desired * 1000 >> EXPLICIT_SCALE);
	}
	tcpcc_view_add(view, "mrtt_us", mrtt_us);
	return 0;
}

static struct tcp_congestion_ops explicit_ops __read_mostly = {
	.name		= "rcp",
	.owner		= THIS_MODULE,
	.init		= rcp_init,
	.release	= explicit_release,
	.cong_control	= rcp_cong_control,
	.ssthresh	= explicit_kept_ssthresh,
	.undo_cwnd	= explicit_undo_cwnd,
	.sndbuf_expand	= explicit_sndbuf_expand,
	.get_info	= rcp_get_info,
	TCPCC_MIN_TSO_SEGS(rcp_min_tso_segs),
	TCPCC_CWND_EVENTS(rcp_cwnd_event, rcp_restart, NULL),
};

static_assert(sizeof(struct rcp) <= ICSK_CA_PRIV_SIZE);

MODULE_DESCRIPTION("TCP RCP: senders send at the rate that routers compute");
