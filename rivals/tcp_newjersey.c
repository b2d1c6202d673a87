// SPDX-License-Identifier: GPL-2.0
/*
 * TCP New Jersey, from Table 1 of the ESTCP paper.
 *
 *   K. Xu, Y. Tian, N. Ansari, "TCP-Jersey for wireless IP communications", IEEE JSAC 22(4),
 *   2004; "Improving TCP performance in integrated wireless communications networks",
 *   Computer Networks 47(2), 2005.
 *
 * Routers warn before they overflow: they mark all packets while a queue is longer than a
 * threshold (in-tree red with min and max a byte apart, ecn and nodrop).  The sender estimates R,
 * the rate at which the path delivers, from the time t at which the receiver sent each ACK, and
 * from L, the amount that the ACK acknowledges:
 *
 *   R = (tau R + L) / (t - t' + tau), tau = K rtt
 *   ownd = R rtt_min
 *
 *   ACK without a mark	as Reno
 *   ACK with one	cwnd = ssthresh = ownd, if that is less, once in a round trip
 *   loss, warned	the same
 *   loss, not warned	noise: the loss is retransmitted, and nothing else changes
 *   timeout		ssthresh as for a loss, and slow start
 *
 * Design decisions.  Only an abstract of the papers was available, and the description in the
 * ESTCP paper.
 *   o ownd is computed from rtt_min, as Westwood's window.  With the current rtt (nj_rtt=1) ownd
 *     is about cwnd, and the queue never drains.
 *   o ownd never makes the window larger.
 *   o A sender is "warned" from an ACK with a mark until all data that was in flight then is
 *     acknowledged.
 *   o A path whose routers do not warn would be flooded.  So until the first mark arrives each
 *     loss is treated as warned (nj_careful=1); the paper's columns set 0.  Without ECN or
 *     timestamps the law is Reno.
 *   o The flag TCP_CONG_NEEDS_ECN is not set, although red without nodrop drops retransmissions,
 *     because they are not ECN-capable (RFC 3168, section 6.1.5).  With that flag the SYN would
 *     be ECN-capable too, and a listener whose own congestion control lacks the flag would then
 *     refuse ECN.
 *   o A pause of the application is no measurement of the path, nor are the segments of the first
 *     ACK after it.  Without a measurement the law is Reno.
 *
 * A process cannot choose it without privileges (no TCP_CONG_NON_RESTRICTED), because losses do
 * not reduce the window unless a router of this kind has warned.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "rivals.h"

#define CREATE_TRACE_POINTS
#include "trace_newjersey.h"

TCPCC_PARAM(nj_k, 1, 1, 16, "K, tau is K times the rtt, no unit");
TCPCC_PARAM(nj_careful, 1, 0, 1,
	    "1: each loss is congestion until a router has warned; 0: as printed");
TCPCC_PARAM(nj_rtt, 0, 0, 1, "1: ownd from the current rtt; 0: from the least rtt");

/*
 * R is in segments per microsecond, scaled by 2^28, at most 2^36: 256 segments/us are 3 Tbit/s.
 * tau is below 2^27, so a product has 63 bits.
 */
#define NJ_SCALE	28
#define NJ_RATE_MAX	BIT_ULL(NJ_SCALE + 8)

/**
 * struct nj - per-socket state
 * @rate: R, NJ_SCALE
 * @clock: the receiver's clock
 * @delivered: tp->delivered at the last ACK
 * @warned_to: tp->snd_nxt at the last mark
 * @before: see rival_keep()
 * @warned: @warned_to is not acknowledged yet
 * @marked: there was a mark on this connection
 */
struct nj {
	u64	rate;
	struct rival_clock clock;
	u32	delivered;
	u32	warned_to;
	u32	before;
	u8	warned:1,
		marked:1;
};

/* ------------------------------------------------------------------------- */
/* The law: pure functions, driven by tests/kunit                            */

/**
 * nj_filter() - the estimate after an ACK
 * @rate: R before the ACK, NJ_SCALE, at most NJ_RATE_MAX
 * @segs: L, the segments that the ACK acknowledges
 * @passed_us: t - t', us, at most RIVAL_TIME_CAP
 * @tau_us: tau, us, at most RIVAL_TIME_CAP
 *
 * Return: R, NJ_SCALE, at most NJ_RATE_MAX
 */
static u64 nj_filter(u64 rate, u32 segs, u32 passed_us, u32 tau_us)
{
	u64 sum = tau_us * rate + ((u64)min_t(u32, segs, BIT(30)) << NJ_SCALE);

	if (!passed_us && !tau_us)
		return rate;
	return min(div_u64(sum, passed_us + tau_us), NJ_RATE_MAX);
}

/**
 * nj_ownd() - the window for a rate
 * @rate: R, NJ_SCALE, at most NJ_RATE_MAX
 * @rtt_us: us, at most RIVAL_TIME_CAP
 *
 * Return: window, segments, at least 2
 */
static u32 nj_ownd(u64 rate, u32 rtt_us)
{
	return clamp_t(u64, rate * rtt_us >> NJ_SCALE, 2, S32_MAX);
}

/* ------------------------------------------------------------------------- */
/* The sender                                                                */

static u64 nj_bytes_ps(u64 rate, u32 mss)
{
	return mul_u64_u32_shr(rate * USEC_PER_SEC, mss, NJ_SCALE);
}

static u32 nj_rtt_us(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return min3(tp->srtt_us >> 3, READ_ONCE(nj_rtt) ? U32_MAX : tcp_min_rtt(tp),
		    (u32)RIVAL_TIME_CAP);
}

/* TCP calls this for each ACK, before it reacts to a loss or a mark. */
static void nj_ack(struct sock *sk, u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct nj *ca = inet_csk_ca(sk);
	u32 segs = tp->delivered - ca->delivered, passed_us, tau_us;

	if (flags & CA_ACK_ECE) {
		ca->warned_to = tp->snd_nxt;
		ca->warned = 1;
		ca->marked = 1;
	} else if (ca->warned && !before(tp->snd_una, ca->warned_to)) {
		ca->warned = 0;
	}
	/* they were delivered in a time that is not known */
	if (ca->clock.idle)
		segs = 0;
	passed_us = rival_clock_ack(&ca->clock, tp->tcp_mstamp, tp->rx_opt.rcv_tsval,
				    tp->rx_opt.saw_tstamp);
	tau_us = min_t(u64, (u64)(tp->srtt_us >> 3) * READ_ONCE(nj_k), RIVAL_TIME_CAP);
	ca->rate = nj_filter(ca->rate, segs, passed_us, tau_us);
	ca->delivered = tp->delivered;
	if (trace_newjersey_update_enabled())
		trace_newjersey_update(sk, nj_bytes_ps(ca->rate, tp->mss_cache), segs, passed_us,
				       tau_us, ca->clock.unit_us, ca->warned);
}

static u32 nj_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct nj *ca = inet_csk_ca(sk);

	ca->before = 0;
	if (!tcpcc_ecn_negotiated(tp) || !tp->rx_opt.tstamp_ok || !tp->srtt_us || !ca->rate)
		return tcp_reno_ssthresh(sk);
	if (ca->warned || (READ_ONCE(nj_careful) && !ca->marked))
		return max(min(tcp_snd_cwnd(tp), nj_ownd(ca->rate, nj_rtt_us(sk))), 2U);
	return rival_keep(sk, &ca->before);
}

static void nj_restart(struct sock *sk)
{
	struct nj *ca = inet_csk_ca(sk);

	ca->clock.idle = 1;
}

static void nj_event(struct sock *sk, enum tcp_ca_event event)
{
	struct nj *ca = inet_csk_ca(sk);

	rival_event(sk, event, &ca->before);
}

tcpcc_cwnd_events(nj_cwnd_event, nj_restart, nj_event);

static void nj_init(struct sock *sk)
{
	struct nj *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->delivered = tcp_sk(sk)->delivered;
	ca->clock.now_us = tcp_sk(sk)->tcp_mstamp;
	ca->clock.idle = 1;
}

static size_t nj_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct nj *ca = inet_csk_ca(sk);
	u64 bytes_ps = nj_bytes_ps(ca->rate, tp->mss_cache);
	u32 rtt_min_us = tp->srtt_us ? tcp_min_rtt(tp) : 0;
	struct tcpcc_view *view;

	view = tcpcc_view_of(ext, info, ca->warned ? "warned" : "not warned");
	if (!view)
		return tcpcc_info_rate(ext, attr, info, bytes_ps, rtt_min_us);
	tcpcc_view_add(view, "rate_bps", bytes_ps * BITS_PER_BYTE);
	tcpcc_view_add(view, "ownd_segs", tp->srtt_us ? nj_ownd(ca->rate, nj_rtt_us(sk)) : 0);
	tcpcc_view_add(view, "timestamp_unit_us", ca->clock.unit_us);
	return 0;
}

static struct tcp_congestion_ops nj_ops __read_mostly = {
	.name		= "newjersey",
	.owner		= THIS_MODULE,
	.init		= nj_init,
	.ssthresh	= nj_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.in_ack_event	= nj_ack,
	.get_info	= nj_get_info,
	TCPCC_CWND_EVENTS(nj_cwnd_event, nj_restart, nj_event),
};

static int __init nj_register(void)
{
	BUILD_BUG_ON(sizeof(struct nj) > ICSK_CA_PRIV_SIZE);

	return tcp_register_congestion_control(&nj_ops);
}

static void __exit nj_unregister(void)
{
	tcp_unregister_congestion_control(&nj_ops);
}

module_init(nj_register);
module_exit(nj_unregister);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP New Jersey: windows from a bandwidth estimate and routers' warnings");
