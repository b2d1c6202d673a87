// SPDX-License-Identifier: GPL-2.0
/*
 * MCCP for real paths: tcp_mccp.c's law, with an estimate of the share that a flow gets.
 *
 * In common with the paper's (tcpcc_mccp.h) are the two modes, non-congestion detection, and
 * the filters of Eqs. 1, 5 and 6 (tcpcc_abe.h) with its constants.  What differs, and why:
 *
 *   o Samples are T of Eq. 2 apart, so that each covers what no other does, and Eq. 1 takes
 *     the newest alone.  Flows that share a queue get their packets through in trains.
 *     Samples of two ACKs, and the mean of two samples, count a train for the silence after
 *     it: the estimate becomes up to 1.6 times the share (KUnit: trains).  These are right to
 *     a few hundredths.
 *   o T is at least rtt_min / mccp_floor, or ACKs that a receiver's card or a radio link
 *     holds back would show its rate and not the path's (mccp-batch).  The default is a
 *     half: shorter samples within a train agree with one another, so that Eq. 6 counts them
 *     for more than the silence after it, and fast probing begins for nothing.
 *   o Agile fast probing (mccp_agile).  An estimate without bias is at most half the window
 *     in slow start, because the window has doubled in the round trip that the estimate is
 *     late, and ssthresh would never be raised.  Where there is no queue, which the least
 *     delay of a round trip tells, fast probing follows the rate at which the path passes a
 *     burst: the most that was delivered in a sixteenth of rtt_min, in this round trip or the
 *     last.  That is the short T that Eq. 2 asks for where there is no congestion.  ssthresh
 *     is raised by it no farther than the window needs, so that it stops where a queue
 *     begins.  tau is RTT meanwhile, because it is our own probing that makes samples
 *     differ.  Not so for MCCP_MARKED round trips after a mark: where a router keeps the
 *     queue short, that there is none does not tell that there is room, and a burst passes
 *     at the rate of all flows together.
 *   o At a loss the estimate, late for a window that has grown, becomes what the last round
 *     trip delivered if that is more (also mccp_agile).  Else ten flows are all left with too
 *     little and all begin anew.
 *   o In a queue windows grow by a segment in mccp_rtt0_ms if a round trip is longer, as TCP
 *     Hybla's do, but by at most 1/16 of a window in each.  By one in a round trip MCCP gets 14
 *     to 22 of 100 Mbit/s at 100 ms beside a CUBIC that had begun before (mccp-friend),
 *     because CUBIC's growth goes by time too, and ten flows are long in getting alike.  Not
 *     before the first loss, because ssthresh is unknown then; and not where there is less
 *     of a queue, because there NCD watches whether the estimate keeps up with the window.
 *
 * TCP_CONG_NON_RESTRICTED: a process may choose it on its own.  Its estimate is its share, a
 * loss or a mark takes the window to that, and a CUBIC beside it keeps 39 of 100 Mbit/s or
 * more (mccp-friend).
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <net/tcp.h>

#include "tcpcc_param.h"

#define MCCP_SYSTEM mccp_path
#define CREATE_TRACE_POINTS
#include "tcpcc_mccp.h"

/* The paper's values: N of Eq. 6, beta of Eq. 5 and of the congestion boundary, percent */
#define MCCP_N		10U
#define MCCP_BETA	60U
#define MCCP_BOUNDARY	50U

/* Fraction bits of growth; the most of it is this part of the window (mccp-share) */
#define MCCP_GROWTH	4
#define MCCP_GROWTH_ONE	((u32)BIT(MCCP_GROWTH))
#define MCCP_GROWTH_MAX	(256U << MCCP_GROWTH)

/* Bursts are measured in so many parts of rtt_min (KUnit: burst_shows_path) */
#define MCCP_PARTS	16U

/* Delay that is a queue, rtt_min / 2^n: windows grow by time; bursts say nothing any more */
#define MCCP_QUEUE_GROW	3
#define MCCP_QUEUE_BURST 4

/* For so many round trips after a mark bursts say nothing.  Each of four flows has one in 5. */
#define MCCP_MARKED	16

TCPCC_PARAM(mccp_agile, 1, 0, 1,
	    "Fast probing follows bursts where there is no queue");
TCPCC_PARAM(mccp_floor, 2, 1, 64,
	    "Sampling interval is at least rtt_min divided by this");
TCPCC_PARAM(mccp_rtt0_ms, 25, 0, 1000,
	    "In a queue windows grow by a segment in so many ms if a round trip is longer; 0: never");
TCPCC_PARAM(mccp_ssthresh, 24, 0, 1000000,
	    "Initial ssthresh where TCP has none, segments; 0: none");

/**
 * struct mccp_burst - at what rate ACKs come when they come
 * @us: when this part of a round trip began
 * @delivered: what counts for it, from there on, segments
 * @most: the most of a part, in this round trip and the last, segments
 */
struct mccp_burst {
	u32	us;
	u32	delivered;
	u32	most[2];
};

/**
 * struct mccp_path - the state of a socket
 * @mccp: what the paper's has too; comes first
 * @burst: in this round trip and the last
 * @round_rtt_us: least round-trip time in this round trip, us; U32_MAX: none yet
 * @growth: how much a window grows in a round trip above ssthresh, 1/16 segment
 * @managed: for so many more round trips a mark counts, whose router keeps the queue short
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
 * mccp_measure() - an ACK is part of a burst
 * @burst: it, and those before
 * @us: when the ACK came
 * @delivered: until then, segments
 * @acked: segments that it delivers
 * @rtt_min_us: us; parts are this long, divided by MCCP_PARTS
 *
 * A part begins with an ACK.  Two segments of that, a delayed ACK's, came before it.
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

/* What the path would hold at the rate of bursts, segments */
static u32 mccp_burst_pipe(const struct mccp_burst *burst)
{
	return min(max(burst->most[0], burst->most[1]), U16_MAX * 64U) * MCCP_PARTS;
}

/**
 * mccp_growth() - by how much a window grows in a round trip above ssthresh
 * @rtt_us: us, up to ABE_TIME_CAP
 * @cwnd: segments
 * @rtt0_ms: one segment in so many ms; 0: in a round trip
 *
 * Return: rtt / rtt0, 1/16 segment: from a segment to 1/16 of @cwnd, or MCCP_GROWTH_MAX
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

/* By the least delay in this round trip: a queue of at most rtt_min / 2^@shift */
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

	if (rtt_us > 0 && (u32)rtt_us < ca->round_rtt_us)
		ca->round_rtt_us = rtt_us;
	acked = mccp_measured(sk, rtt_us);
	if (!acked || !ca->mccp.history || !tp->srtt_us || ca->mccp.rtt_min_us == U32_MAX)
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

/* The growth of a round trip, in avoidance */
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
		u32 pipe = mccp_pipe(&ca->mccp);

		if (mccp_is_agile(ca) && mccp_no_queue(ca, MCCP_QUEUE_BURST))
			pipe = max(pipe, min(mccp_burst_pipe(&ca->burst),
					     tcp_snd_cwnd(tp) + acked));
		mccp_raise(sk, pipe);
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
		/* what the last round trip carried, if the estimate has not come so far */
		last = abe_sample(ca->history, tp->tcp_mstamp, tp->delivered, mccp_rtt_us(tp));
		if (last > ca->abe.rate) {
			ca->was_rate = ca->abe.rate;
			ca->abe.rate = last;
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
