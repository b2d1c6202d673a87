// SPDX-License-Identifier: GPL-2.0
/*
 * MCCP: windows from an estimate of the available bandwidth.
 *
 *   S. Arumugam, T. Jebarajan, D.C. Joy Winnie Wise, "Congestion Control Algorithm in
 *   Computer Communication Network".
 *
 * This is the paper, and nothing else; tcp_mccp_path.c is our variant.  The sender estimates from
 * its ACKs at what rate the path delivers to it (ABE, tcpcc_abe.h).  It uses the estimate for three
 * things:
 *
 *   o A loss sets ssthresh and window to ABE * rtt_min, which is what the path holds
 *     without a queue.  The window before the loss does not matter.
 *   o Fast probing, with which a connection starts, raises ssthresh to ABE * rtt_min
 *     whenever that is larger.  The window grows by slow start up to ssthresh, and by one segment
 *     per round trip above it.
 *   o Non-congestion detection (NCD, tcpcc_mccp.h) checks in congestion avoidance whether
 *     there is spare bandwidth, and then begins fast probing again.
 *
 * Fast probing and NCD can be switched off.  If the paper leaves a choice, it is a parameter:
 *
 *   o mccp_interval.  The paper has two rules for the time that a sample covers: Eq. 2, and the
 *     time between the last two ACKs, which it used "in this set of experiments".  The default
 *     is the second rule.
 *   o mccp_mean.  Eq. 1 as printed uses the newest sample alone.  But its coefficient is
 *     that of a filter that uses the mean of the last two (the bilinear transform, as in
 *     TCP Westwood).  As printed, the first ACK after the silence between two windows'
 *     trains of ACKs gets almost all the weight, with a sample near zero, and the estimate
 *     falls behind the window (mccp-fig3, mccp-fig4: "as printed").  The default is the mean.
 *   o mccp_ssthresh.  The paper does not say with which ssthresh its connections start.
 *     NewReno's numbers in its Tables 1 and 2, at 20 to 200 ms, imply 20 to 24 packets.  Below 1 ms
 *     there is none (MCCP_NEAR_US).
 *   o mccp_boundary.  The paper only says that NCD's beta is between 0 and 1.
 *
 * The packets of a flow leave a shared queue in a train, and a silence follows.  The mean of two
 * samples counts the rate of the train for that silence too.  So the estimate may be far more than
 * the share of the flow, and a loss then hardly reduces the window.  Therefore a process must not
 * choose this on its own: no TCP_CONG_NON_RESTRICTED.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <net/tcp.h>

#include "tcpcc_param.h"

#define MCCP_SYSTEM mccp
#define CREATE_TRACE_POINTS
#include "tcpcc_mccp.h"

TCPCC_PARAM(mccp_probe, 1, 0, 1,
	    "1: fast probing, which raises ssthresh to the estimate; 0: off");
TCPCC_PARAM(mccp_ncd, 1, 0, 1,
	    "1: non-congestion detection begins fast probing again; 0: off");
TCPCC_PARAM(mccp_boundary, 50, 1, 99,
	    "Congestion boundary: weight of the expected rate, percent");
TCPCC_PARAM(mccp_n, 10, 0, 100,
	    "N of Eq. 6: how much instability slows the estimate, no unit");
TCPCC_PARAM(mccp_beta, 60, 0, 99,
	    "beta of Eq. 5: gain of the instability filter, percent");
TCPCC_PARAM(mccp_mean, 1, 0, 1,
	    "Sample in Eq. 1. 0: the last one, as printed; 1: mean of the last two");
TCPCC_PARAM(mccp_interval, 1, 0, 1,
	    "Sampling interval T. 0: Eq. 2; 1: time between the last two ACKs");
TCPCC_PARAM(mccp_ssthresh, 24, 0, 1000000,
	    "Initial ssthresh if TCP has none and the rtt is 1 ms or more, segments; 0: none");

/* Inline in a function for each @interval, so that it is a constant in the estimate */
static __always_inline void mccp_moment(struct sock *sk, enum abe_interval interval)
{
	const struct abe_rules rules = {
		.interval = interval,
		.n = READ_ONCE(mccp_n),
		.beta = READ_ONCE(mccp_beta),
		.mean = READ_ONCE(mccp_mean),
	};

	mccp_estimate(sk, &rules);
}

static noinline void mccp_moment_ack(struct sock *sk)
{
	mccp_moment(sk, ABE_ACK);
}

static noinline void mccp_moment_eq2(struct sock *sk)
{
	mccp_moment(sk, ABE_EQ2);
}

static __always_inline void mccp_acked(struct sock *sk, s32 rtt_us)
{
	mccp_least(inet_csk_ca(sk), rtt_us);
	if (!mccp_measured(sk) || !mccp_is_due(sk))
		return;
	if (READ_ONCE(mccp_interval))
		mccp_moment_ack(sk);
	else
		mccp_moment_eq2(sk);
}

static noinline void mccp_acked_new(struct sock *sk, s32 rtt_us)
{
	mccp_round(sk);
	mccp_new_mss(sk);
	mccp_acked(sk, rtt_us);
}

static void mccp_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	if (mccp_is_new(sk))
		mccp_acked_new(sk, sample->rtt_us);
	else
		mccp_acked(sk, sample->rtt_us);
}

static void mccp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct mccp *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (READ_ONCE(mccp_ncd))
		mccp_detect(sk, acked, READ_ONCE(mccp_boundary));
	if (ca->mode == MCCP_PROBING && READ_ONCE(mccp_probe))
		mccp_raise(sk, ca->pipe);
	tcp_reno_cong_avoid(sk, ack, acked);
}

static u32 mccp_ssthresh_of(struct sock *sk)
{
	mccp_keep(sk);
	return mccp_reduced(sk);
}

/* Without fast probing nothing would raise the initial ssthresh again. */
static u32 mccp_initial(void)
{
	return READ_ONCE(mccp_probe) ? READ_ONCE(mccp_ssthresh) : 0;
}

static void mccp_start(struct sock *sk)
{
	mccp_tx_start(sk, mccp_initial());
}

static void mccp_init(struct sock *sk)
{
	mccp_init_socket(sk, mccp_initial());
}

tcpcc_cwnd_events(mccp_cwnd_event, mccp_start, NULL);

static struct tcp_congestion_ops mccp_ops __read_mostly = {
	TCPCC_CWND_EVENTS(mccp_cwnd_event, mccp_start, NULL),
	.name		= "mccp",
	.owner		= THIS_MODULE,
	.init		= mccp_init,
	.release	= mccp_release,
	.in_ack_event	= mccp_in_ack_event,
	.pkts_acked	= mccp_pkts_acked,
	.cong_avoid	= mccp_cong_avoid,
	.ssthresh	= mccp_ssthresh_of,
	.set_state	= mccp_set_state,
	.undo_cwnd	= mccp_undo_cwnd,
	.get_info	= mccp_get_info,
};

static int __init mccp_register(void)
{
	BUILD_BUG_ON(sizeof(struct mccp) > ICSK_CA_PRIV_SIZE);

	return tcp_register_congestion_control(&mccp_ops);
}

static void __exit mccp_unregister(void)
{
	tcp_unregister_congestion_control(&mccp_ops);
}

module_init(mccp_register);
module_exit(mccp_unregister);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP MCCP: windows from an estimate of the available bandwidth");
