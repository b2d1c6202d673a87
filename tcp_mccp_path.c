// SPDX-License-Identifier: GPL-2.0
/*
 * MCCP for real paths: the law of tcp_mccp.c, with an estimate of the share that a flow gets.
 *
 * The two modes, non-congestion detection (tcpcc_mccp.h), and the filters of Eqs. 1, 5 and 6 with
 * their constants (tcpcc_abe.h) are the same as in the paper's sender.  The differences, and why:
 *
 *   o Samples are T of Eq. 2 apart, so that they do not overlap, and Eq. 1 uses the newest sample
 *     alone.  Reason: the packets of flows that share a queue leave it in trains.  Samples between
 *     two ACKs, and the mean of two samples, count the rate of a train for the silence after it
 *     too: the estimate becomes up to 1.6 times the share (KUnit: trains).  The estimate here is
 *     right to a few hundredths.
 *   o T is at least rtt_min / mccp_floor.  If a receiver's card or a radio link holds ACKs back,
 *     shorter samples would show the rate of these ACKs and not that of the path (mccp-batch).
 *     The default is half of rtt_min: shorter samples within a train agree with one another, so
 *     that Eq. 6 gives them more weight than the silence after the train, and fast probing would
 *     begin without reason.
 *   o Agile fast probing (mccp_agile).  In slow start an unbiased estimate is at most half of the
 *     window, because it lags by a round trip, in which the window doubles.  It would never raise
 *     ssthresh.  So if there is no queue, which the least delay of a round trip shows, fast probing
 *     follows the rate at which the path passes a burst: the largest number of segments delivered
 *     in a sixteenth of rtt_min, in this round trip or the last.  This is the short T that Eq. 2
 *     asks for without congestion.  Bursts raise ssthresh no farther than the window needs, so
 *     that the growth stops when a queue begins.  Meanwhile tau is RTT, because our own probing
 *     makes the samples differ.  After a mark agile probing is off for MCCP_MARKED round trips: if
 *     a router keeps the queue short, the lack of a queue does not mean spare bandwidth, and a
 *     burst passes at the rate of all flows together.
 *   o A loss raises the estimate to the rate of the last round trip, if that is larger (also
 *     mccp_agile), because the estimate lags a window that has grown.  Otherwise ten flows would
 *     all be left with too little, and would all begin again.
 *   o If there is a queue, and a round trip is longer than mccp_rtt0_ms, windows grow by a segment
 *     in mccp_rtt0_ms, as those of TCP Hybla, but by at most 1/16 of a window per round trip.
 *     Growth by one segment per round trip gives MCCP 14 to 22 of 100 Mbit/s at 100 ms beside a
 *     CUBIC that began earlier (mccp-friend), because CUBIC too grows with time, and ten flows need
 *     long to reach equal shares.  Windows do not grow like this before the first loss, because
 *     ssthresh is unknown then; nor if the queue is smaller, because NCD then watches whether the
 *     estimate keeps up with the window.
 *
 * TCP_CONG_NON_RESTRICTED: a process may choose it on its own.  The estimate is the share of the
 * flow, a loss or a mark reduces the window to that, and a CUBIC beside it keeps 39 of 100 Mbit/s
 * or more (mccp-friend).
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <net/tcp.h>

#include "tcpcc_param.h"

#define MCCP_SYSTEM mccp_path
#define CREATE_TRACE_POINTS
#include "tcpcc_mccp.h"

/* The paper's values: N of Eq. 6; beta of Eq. 5 and of the congestion boundary, percent */
#define MCCP_N		10U
#define MCCP_BETA	60U
#define MCCP_BOUNDARY	50U

/* Growth is in 1/2^4 segment per round trip; its maximum is 1/2^4 of the window (mccp-share) */
#define MCCP_GROWTH	4
#define MCCP_GROWTH_ONE	((u32)BIT(MCCP_GROWTH))
#define MCCP_GROWTH_MAX	(256U << MCCP_GROWTH)

/* A burst is measured in one of this many parts of rtt_min (KUnit: burst_shows_path) */
#define MCCP_PARTS	16U

/*
 * Delay that is a queue: rtt_min / 2^n.  Above the first windows grow by time.  Above the second
 * bursts are not used.
 */
#define MCCP_QUEUE_GROW	3
#define MCCP_QUEUE_BURST 4

/* Bursts are not used in this many round trips after a mark.  Four flows: each gets one in 5. */
#define MCCP_MARKED	16

TCPCC_PARAM(mccp_agile, 1, 0, 1,
	    "1: fast probing follows bursts if there is no queue; 0: off");
TCPCC_PARAM(mccp_floor, 2, 1, 64,
	    "Sampling interval is at least rtt_min divided by this");
TCPCC_PARAM(mccp_rtt0_ms, 25, 0, 1000,
	    "Time for a segment of growth if there is a queue and the rtt is longer, ms; 0: off");
TCPCC_PARAM(mccp_ssthresh, 24, 0, 1000000,
	    "Initial ssthresh if TCP has none and the rtt is 1 ms or more, segments; 0: none");

/**
 * struct mccp_burst - the rate of ACKs within a burst
 * @us: time when this part of a round trip began, us; wraps
 * @delivered: tp->delivered from which this part counts, segments; wraps
 * @most: largest number of segments in a part, in this round trip and in the last
 */
struct mccp_burst {
	u32	us;
	u32	delivered;
	u32	most[2];
};

/**
 * struct mccp_path - the state of a socket
 * @mccp: the part in common with the paper's sender; must be first
 * @burst: bursts in this round trip and the last
 * @round_rtt_us: least round-trip time in this round trip, us; U32_MAX: none yet
 * @growth: by how much the window grows in a round trip above ssthresh, 1/16 segment
 * @managed: round trips for which the last mark still counts: a router keeps the queue short
 */
struct mccp_path {
	struct mccp mccp;
	struct mccp_burst burst;
	u32	round_rtt_us;
	u16	growth;
	u8	managed;
};

/* ------------------------------------------------------------------------- */
/* The law                                                                   */

/**
 * mccp_measure() - count an ACK as part of a burst
 * @burst: this burst, and those before
 * @us: time of the ACK, us
 * @delivered: tp->delivered after the ACK, segments
 * @acked: segments that the ACK delivers
 * @rtt_min_us: least round-trip time, us; a part is 1/MCCP_PARTS of it
 *
 * A part begins with an ACK.  Up to two segments of that ACK (a delayed ACK) arrived before the
 * part, and do not count.
 */
static void mccp_measure(struct mccp_burst *burst, u32 us, u32 delivered, u32 acked,
			 u32 rtt_min_us)
{
	if (us - burst->us > rtt_min_us / MCCP_PARTS) {
		burst->us = us;
		burst->delivered = delivered - acked + min(acked, 2U);
	}
	if (delivered - burst->delivered > burst->most[0])
		burst->most[0] = delivered - burst->delivered;
}

/* What the path would hold at the rate of the largest burst, segments */
static u32 mccp_burst_pipe(const struct mccp_burst *burst)
{
	return min(max(burst->most[0], burst->most[1]), U16_MAX * 64U) * MCCP_PARTS;
}

/**
 * mccp_growth() - by how much the window grows in a round trip above ssthresh
 * @rtt_us: us, up to ABE_TIME_CAP
 * @cwnd: segments
 * @rtt0_ms: one segment in this time, ms; 0: one segment per round trip
 *
 * Return: rtt / rtt0, 1/16 segment; at least one segment, and at most the smaller of 1/16 of @cwnd
 * and MCCP_GROWTH_MAX
 */
static u32 mccp_growth(u32 rtt_us, u32 cwnd, u32 rtt0_ms)
{
	u32 most = clamp(cwnd, MCCP_GROWTH_ONE, MCCP_GROWTH_MAX);

	if (!rtt0_ms)
		return MCCP_GROWTH_ONE;
	return clamp((rtt_us << MCCP_GROWTH) / (rtt0_ms * (u32)USEC_PER_MSEC), MCCP_GROWTH_ONE,
		     most);
}

/* ------------------------------------------------------------------------- */
/* The socket                                                                */

static bool mccp_is_agile(const struct mccp_path *ca)
{
	return ca->mccp.mode == MCCP_PROBING && !ca->managed && READ_ONCE(mccp_agile);
}

/* Whether the least delay in this round trip shows a queue of at most rtt_min / 2^@shift */
static bool mccp_no_queue(const struct mccp_path *ca, int shift)
{
	return ca->round_rtt_us != U32_MAX &&
	       ca->round_rtt_us - ca->mccp.rtt_min_us <= ca->mccp.rtt_min_us >> shift;
}

/* A round trip begins. */
static void mccp_path_round(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp_path *ca = inet_csk_ca(sk);

	ca->growth = MCCP_GROWTH_ONE;
	if (ca->mccp.history && ca->mccp.entry && !mccp_no_queue(ca, MCCP_QUEUE_GROW))
		ca->growth = mccp_growth(mccp_rtt_us(tp), tcp_snd_cwnd(tp),
					 READ_ONCE(mccp_rtt0_ms));
	if (ca->managed)
		ca->managed--;
	ca->round_rtt_us = U32_MAX;
	ca->burst.most[1] = ca->burst.most[0];
	ca->burst.most[0] = 0;
}

static noinline void mccp_path_moment(struct sock *sk)
{
	const struct mccp_path *ca = inet_csk_ca(sk);
	const struct abe_rules rules = {
		.interval = ABE_APART_EQ2,
		.floor_us = ca->mccp.rtt_min_us / READ_ONCE(mccp_floor),
		.n = mccp_is_agile(ca) ? 0 : MCCP_N,
		.beta = MCCP_BETA,
	};

	mccp_estimate(sk, &rules);
}

static __always_inline void mccp_path_acked(struct sock *sk, s32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp_path *ca = inet_csk_ca(sk);
	u32 acked;

	if ((u32)rtt_us < ca->round_rtt_us && rtt_us > 0) {
		ca->round_rtt_us = rtt_us;
		mccp_least(&ca->mccp, rtt_us);
	}
	acked = mccp_measured(sk);
	if (!acked || (unlikely(ca->mccp.restart) && !mccp_is_ready(sk)))
		return;
	mccp_measure(&ca->burst, tp->tcp_mstamp, tp->delivered, acked, ca->mccp.rtt_min_us);
	if (mccp_is_due(sk))
		mccp_path_moment(sk);
}

static noinline void mccp_path_acked_new(struct sock *sk, s32 rtt_us)
{
	struct mccp_path *ca = inet_csk_ca(sk);

	if (mccp_round(sk))
		mccp_path_round(sk);
	if (ca->mccp.marked)
		ca->managed = MCCP_MARKED;
	if (mccp_new_mss(sk))
		ca->burst = (struct mccp_burst){};
	mccp_path_acked(sk, rtt_us);
}

static void mccp_path_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct mccp_path *ca = inet_csk_ca(sk);

	if (mccp_is_new(sk) || unlikely(ca->mccp.marked))
		mccp_path_acked_new(sk, sample->rtt_us);
	else
		mccp_path_acked(sk, sample->rtt_us);
}

/* Growth by ca->growth per round trip, in avoidance */
static void mccp_path_grow(struct tcp_sock *tp, const struct mccp_path *ca, u32 acked)
{
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp) << MCCP_GROWTH, acked * ca->growth);
}

static noinline void mccp_path_slow_start(struct tcp_sock *tp, const struct mccp_path *ca,
					  u32 acked)
{
	acked = tcp_slow_start(tp, acked);
	if (acked)
		mccp_path_grow(tp, ca, acked);
}

static void mccp_path_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct mccp_path *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	mccp_detect(sk, acked, MCCP_BOUNDARY);
	if (ca->mccp.mode == MCCP_PROBING) {
		u32 burst = min(mccp_burst_pipe(&ca->burst), tcp_snd_cwnd(tp) + acked);

		mccp_raise(sk, ca->mccp.pipe);
		if (burst > tp->snd_ssthresh && mccp_is_agile(ca) &&
		    mccp_no_queue(ca, MCCP_QUEUE_BURST))
			mccp_raise(sk, burst);
	}
	if (tcp_in_slow_start(tp))
		mccp_path_slow_start(tp, ca, acked);
	else
		mccp_path_grow(tp, ca, acked);
}

static u32 mccp_path_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);
	u64 last;

	mccp_keep(sk);
	if (ca->abe.rate && READ_ONCE(mccp_agile)) {
		/* the rate of the last round trip, if the estimate lags it */
		last = abe_sample(ca->history, tp->tcp_mstamp, tp->delivered, mccp_rtt_us(tp));
		if (last > ca->abe.rate) {
			ca->was_rate = ca->abe.rate;
			ca->abe.rate = last;
			mccp_changed(ca);
		}
	}
	return mccp_reduced(sk);
}

static void mccp_path_start(struct sock *sk)
{
	mccp_tx_start(sk, READ_ONCE(mccp_ssthresh));
}

static void mccp_path_init(struct sock *sk)
{
	struct mccp_path *ca = inet_csk_ca(sk);

	*ca = (struct mccp_path){
		.round_rtt_us = U32_MAX,
		.growth = MCCP_GROWTH_ONE,
	};
	mccp_init_socket(sk, READ_ONCE(mccp_ssthresh));
}

tcpcc_cwnd_events(mccp_path_cwnd_event, mccp_path_start, NULL);

static struct tcp_congestion_ops mccp_path_ops __read_mostly = {
	TCPCC_CWND_EVENTS(mccp_path_cwnd_event, mccp_path_start, NULL),
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "mccp_path",
	.owner		= THIS_MODULE,
	.init		= mccp_path_init,
	.release	= mccp_release,
	.in_ack_event	= mccp_in_ack_event,
	.pkts_acked	= mccp_path_pkts_acked,
	.cong_avoid	= mccp_path_cong_avoid,
	.ssthresh	= mccp_path_ssthresh,
	.set_state	= mccp_set_state,
	.undo_cwnd	= mccp_undo_cwnd,
	.get_info	= mccp_get_info,
};

static int __init mccp_path_register(void)
{
	BUILD_BUG_ON(sizeof(struct mccp_path) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(offsetof(struct mccp_path, mccp));

	return tcp_register_congestion_control(&mccp_path_ops);
}

static void __exit mccp_path_unregister(void)
{
	tcp_unregister_congestion_control(&mccp_path_ops);
}

module_init(mccp_path_register);
module_exit(mccp_path_unregister);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP MCCP for real paths: windows from an estimate of the share of a path");
