// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Capacity and Congestion Probing with a Proportional plus Derivative controller (CCPD),
 * and its predecessor CCP: only the paper's laws.
 *
 *   D. Cavendish, H. Kuwahara, K. Kumazoe, M. Tsuru, Y. Oie, "TCP Congestion
 *   Avoidance using Proportional plus Derivative Control".
 *
 * The sender measures its path, and computes its window from these measurements,
 * not from its previous window:
 *
 *   C = MSS / dispersion of a packet pair		capacity		(Eq. 4)
 *   B = C * (rtt_max - rtt_min)		size of the buffer	(Eq. 5)
 *   x = C * (rtt_s - rtt_min)			level of the buffer	(Eq. 6)
 *   w = Kp * (B - x - f) + Kd / dt * (S' - S)	window, S = x + f	(Eq. 3)
 *
 * f is the number of segments in flight, S' is S at the previous evaluation, and
 * dt is the time since then.  Losses do not enter the law.
 *
 *   ccpd       Eq. 3 as printed.
 *   ccp        the same without the derivative term (Kd = 0).
 *
 *      first loss or CE mark, or cwnd >= ssthresh
 *   SLOW START ------------------------> AVOIDANCE
 *       ^                                    |
 *       +------------------------------------+
 *              retransmission timeout
 *
 * The equilibrium of Eq. 3 for one flow on a path of P = C * rtt_min segments:
 *   o B < P * (1 + 1 / Kp): w = Kp * B / (1 + Kp), which is less than P.
 *   o B >= P * (1 + 1 / Kp): w = Kp * (B + P) / (1 + 2 * Kp), with a queue of
 *     w - P < B / 2.
 * So ccpd leaves a path with a smaller buffer partly empty; the paper's own tables
 * show this.  And if a loss ends slow start before a queue was seen, B is about
 * zero, and the window stays small for the whole connection.  tcp_ccpd_path.c has
 * a sender for such paths.
 *
 * The paper leaves these points open.  The decisions:
 *   o Eq. 2 prints Kd twice; the first is Kp, as in Eq. 3.
 *   o The unit of time in Kd / dt is not given.  The microsecond is the only unit
 *     in which the paper's Kd of 100 and 1000 neither vanish nor diverge.  dt is
 *     measured in nanoseconds and is at least 1 us, and the term is limited to
 *     B / 32, because ACKs that arrive together would make it arbitrarily large.
 *   o f is Linux's count of segments in flight, which includes the queue.  So a
 *     queue is counted twice, in x and in f, as in the printed law.
 *   o 2 <= w <= B + C * rtt_min.
 *   o Which packet pairs count, and for how long: ccpd_probe.h.
 *   o rtt_max does not include the time that a delayed ACK adds.
 *   o After a timeout slow start ends at the number of segments that were
 *     outstanding before the timeout.
 *
 * The paper does not treat these points.  The sender's behaviour:
 *   o A spurious loss (DSACK, Eifel, F-RTO) is undone: the sender returns to slow start if it
 *     was in slow start, with the window from before the loss.
 *   o ECN: the reaction to a router's CE mark is that of Reno with RFC 8511's factor.  The
 *     window is then at most 0.85 of what was in flight, plus one segment for each round trip.
 *     Below this limit Eq. 3 applies, and slow start is over.  A packet that a queue of the host
 *     drops is a loss.
 *   o Pacing only sets the size of TSO bursts.  The pacing rate is 5/4 of the window per smoothed
 *     rtt; in slow start it is twice the window per smoothed rtt.  If fq, or a congestion control
 *     that the flow used earlier, enforces the pacing rate, no pair is timed.
 *   o If it is selected during a flow, it begins with slow start, because B comes from its own
 *     measurements.
 *   o After an idle time longer than the RTO the window is at most 10 segments (RFC 2861) if
 *     net.ipv4.tcp_slow_start_after_idle is set, because nothing paces the burst.
 *
 * Unprivileged processes may not select ccpd or ccp (no TCP_CONG_NON_RESTRICTED): losses do not
 * reduce the window, so a process that selects one could take the shares of others.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <net/tcp.h>

#include "ccpd_probe.h"
#include "tcpcc_compat.h"
#include "tcpcc_param.h"
#include "tcpcc_view.h"

#define CREATE_TRACE_POINTS
#include "trace_ccpd.h"

/* Largest window for which a pacing rate is computed, segments: 400 Gb/s for half a second */
#define CCPD_PACE_SEGS_MAX	BIT(24)

TCPCC_PARAM(kp, 2, 1, 16,
	    "Proportional gain Kp of Eq. 3, no unit");
TCPCC_PARAM(kd, 100, 0, 100000,
	    "ccpd: derivative gain Kd of Eq. 3, us");
TCPCC_PARAM(b_min, 0, 0, 1000000,
	    "Lower limit of the buffer size B of Eq. 5, segments");

enum ccpd_mode {
	CCPD_SLOW_START,	/* window grows by the segments acknowledged */
	CCPD_AVOIDANCE,		/* window from Eq. 3 */
	CCPD_NOT_OURS,		/* before_loss: no loss yet under this congestion control */
};

/**
 * struct ccpd - per-socket state
 * @probe: the estimators
 * @prev: the previous evaluation of Eq. 3
 * @rtt_max_us: largest round-trip time, us
 * @una: tp->snd_una at the last ACK
 * @ecn_cwnd: upper limit of the window after CE marks, segments; 0: there was no CE mark
 * @delivered_ce: tp->delivered_ce at the last ACK
 * @bw: C, BW_SCALE: ccpd_capacity() when the estimators last changed
 * @mode: enum ccpd_mode
 * @before_loss: @mode before the last loss
 * @derivative: whether Eq. 3 has its second term
 * @marked: a CE mark has been answered since TCP entered CWR
 */
struct ccpd {
	struct ccpd_probe probe;
	struct ccpd_prev prev;
	u32	rtt_max_us;
	u32	una;
	u32	ecn_cwnd;
	u32	delivered_ce;
	u32	bw;
	u8	mode:1,
		before_loss:2,
		derivative:1,
		marked:1;
};

static void ccpd_set_cwnd(struct sock *sk, u32 cwnd)
{
	const struct ccpd *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (ca->ecn_cwnd)
		cwnd = min(cwnd, ca->ecn_cwnd);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
}

static void ccpd_enter(struct ccpd *ca, enum ccpd_mode mode)
{
	ca->mode = mode;
	ca->prev.sum = 0;
}

/* B, Eq. 5, SEG_SCALE */
static s64 ccpd_buffer(const struct ccpd *ca, u32 bw)
{
	return max_t(s64, ccpd_segs(bw, ca->rtt_max_us - ca->probe.rtt_min_us),
		     (s64)READ_ONCE(b_min) << SEG_SCALE);
}

/* x, Eq. 6, SEG_SCALE */
static s64 ccpd_level(const struct ccpd_probe *p, u32 bw)
{
	return ccpd_segs(bw, ccpd_queue_us(p, p->rtt_min_us));
}

/*
 * Traces an evaluation of Eq. 3.  In slow start @e has only in_flight, and all else is 0.  Always
 * inline: otherwise each ACK would store @e in memory, also while nothing is traced.
 */
static __always_inline void ccpd_trace(const struct sock *sk, const struct ccpd_eval *e)
{
	const struct ccpd *ca = inet_csk_ca(sk);
	const struct ccpd_probe *p = &ca->probe;

	if (trace_ccpd_update_enabled())
		trace_ccpd_update(sk, ccpd_bytes_ps(ccpd_capacity(p), p->mss) * 8, p->rtt_s >> 3,
				  p->rtt_min_us, ca->rtt_max_us, e->limit >> SEG_SCALE,
				  e->level >> SEG_SCALE, e->in_flight, e->p >> SEG_SCALE,
				  e->d >> SEG_SCALE, tcp_snd_cwnd(tcp_sk(sk)));
}

/* Eq. 3, on an ACK that acknowledges new data */
static void ccpd_avoid(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);
	const struct ccpd_probe *p = &ca->probe;
	u32 bw = ca->bw, window;
	s64 buffer = ccpd_buffer(ca, bw);
	struct ccpd_eval e = {
		.kp = READ_ONCE(kp),
		.kd_us = ca->derivative ? READ_ONCE(kd) : 0,
		.limit = buffer,
		.level = ccpd_level(p, bw),
		.in_flight = tcp_packets_in_flight(tp),
	};

	/* no capacity measured yet: keep the window */
	if (!bw)
		return;
	e.storage = e.kp * buffer;
	window = ccpd_eq3(&e, &ca->prev, tp->tcp_clock_cache,
			  buffer + ccpd_segs(bw, p->rtt_min_us));
	ccpd_set_cwnd(sk, window);
	ccpd_trace(sk, &e);
}

/*
 * Recovery, as in the paper: the window keeps its value, and each ACK releases
 * as many segments as it acknowledges.  Linux subtracts lost segments from those
 * in flight at once.  So with only the unchanged window all of them would be sent
 * again in one burst, and be lost again.  If nearly all segments are lost, each ACK
 * releases one more, because recovery would otherwise take very many round trips.
 */
static void ccpd_hold(struct sock *sk, u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 in_flight = tcp_packets_in_flight(tp);
	u32 more = acked + (in_flight < tp->snd_ssthresh / 4);

	ccpd_set_cwnd(sk, min(tp->snd_ssthresh, in_flight + max(more, 1U)));
}

static void ccpd_slow_start(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);

	if (acked && tcp_is_cwnd_limited(sk))
		tcp_slow_start(tp, acked);
	if (!tcp_in_slow_start(tp))
		ccpd_enter(ca, CCPD_AVOIDANCE);
	ccpd_trace(sk, &(struct ccpd_eval){ .in_flight = tcp_packets_in_flight(tp) });
}

/*
 * Sets a pacing rate similar to TCP's own for a congestion control that sets none.  Always inline,
 * because each ACK needs it.
 */
static __always_inline void ccpd_pace(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct ccpd *ca = inet_csk_ca(sk);
	u64 bytes = min(max(tcp_snd_cwnd(tp), tp->packets_out), CCPD_PACE_SEGS_MAX);

	if (!tp->srtt_us)
		return;
	bytes *= tp->mss_cache;
	bytes += ca->mode == CCPD_SLOW_START ? bytes : bytes >> 2;
	/* srtt is in us << 3 */
	ccpd_set_rate(sk, mul_u64_u32_div(bytes, USEC_PER_SEC << 3, tp->srtt_us));
}

/*
 * The answer to CE marks, once in a round trip, that is each time that TCP enters CWR.  TCP also
 * enters CWR when a queue of this host drops a packet.  That is a loss, and only the count of
 * marked segments differs.  A mark ends slow start, as a loss does.
 */
static void ccpd_answer_mark(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);
	u32 kept = (u64)tcp_packets_in_flight(tp) * CCPD_ECN_KEEP >> 8;

	ca->marked = 1;
	ca->ecn_cwnd = max(kept, 2U);
	if (ca->mode == CCPD_SLOW_START)
		ccpd_enter(ca, CCPD_AVOIDANCE);
	ccpd_set_cwnd(sk, tcp_snd_cwnd(tp));
}

/* A round trip begins.  Not inline, for the same reason as ccpd_pair_done() */
static noinline void ccpd_round(struct sock *sk, bool limited)
{
	struct ccpd *ca = inet_csk_ca(sk);

	if (ca->ecn_cwnd)
		ca->ecn_cwnd++;
	if (!limited)
		ccpd_age(&ca->probe, 1);
	ca->bw = ccpd_capacity(&ca->probe);
	ccpd_round_begin(sk, &ca->probe);
}

tcpcc_cong_control(ccpd_cong_control)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);
	struct ccpd_probe *p = &ca->probe;
	u8 state = inet_csk(sk)->icsk_ca_state;
	bool ordered = state <= TCP_CA_CWR;
	bool advanced = tp->snd_una != ca->una;
	u32 cwnd = tcp_snd_cwnd(tp), rtt_us = 0;

	ca->una = tp->snd_una;
	if (p->mss != tp->mss_cache) {
		ccpd_mss_changed(sk, p);
		ca->bw = ccpd_capacity(p);
		ca->prev.sum = 0;
	}

	/* the paper's estimators pause during recovery, like its window */
	if (ordered)
		rtt_us = ccpd_rtt(sk, p, rs);
	ca->rtt_max_us = max(ca->rtt_max_us, rtt_us);
	if (state != TCP_CA_Open || rs->is_retrans) {
		ccpd_pair_drop(sk, p);
	} else if (advanced && rtt_us && ccpd_pair_ack(sk, p, rtt_us)) {
		ccpd_pair_done(sk, p, ccpd_least_us(sk, p));
		ca->bw = ccpd_capacity(p);
	}
	if (ccpd_round_is_over(p, rs) && ccpd_round_rate(p, rs))
		ccpd_round(sk, rs->is_app_limited);

	if (state == TCP_CA_CWR && !ca->marked && tp->delivered_ce != ca->delivered_ce)
		ccpd_answer_mark(sk);
	ca->delivered_ce = tp->delivered_ce;

	if (state == TCP_CA_Loss && ca->mode != CCPD_SLOW_START)
		ccpd_enter(ca, CCPD_SLOW_START);

	if (ca->mode == CCPD_SLOW_START) {
		if (state == TCP_CA_Recovery)
			ccpd_enter(ca, CCPD_AVOIDANCE);
		else
			ccpd_slow_start(sk, rs->acked_sacked);
		/* growth by one is enough: an ACK for one segment then releases two */
		cwnd++;
	} else {
		if (!ordered)
			ccpd_hold(sk, rs->acked_sacked);
		else if (advanced)
			ccpd_avoid(sk);
		/* in the paper a pair needs a growth by two segments */
		cwnd += 2;
	}

	if (state == TCP_CA_Open && tcp_snd_cwnd(tp) >= cwnd &&
	    READ_ONCE(sk->sk_pacing_status) == SK_PACING_NONE)
		ccpd_pair_start(sk, p);
	ccpd_pace(sk);
}

static void ccpd_start(struct sock *sk, bool derivative)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->derivative = derivative;
	ca->before_loss = CCPD_NOT_OURS;
	ca->una = tp->snd_una;
	ca->delivered_ce = tp->delivered_ce;
	/* another congestion control's ssthresh is no measurement of the queue: slow start again */
	if (tp->data_segs_out)
		WRITE_ONCE(tp->snd_ssthresh, TCP_INFINITE_SSTHRESH);
	ccpd_probe_init(sk, &ca->probe);
	ccpd_pace(sk);
}

static void ccpd_init(struct sock *sk)
{
	ccpd_start(sk, true);
}

static void ccp_init(struct sock *sk)
{
	ccpd_start(sk, false);
}

/*
 * A loss does not reduce the number of outstanding segments, and slow start after a
 * timeout ends at that number.  snd_cwnd cannot be used: from one ACK to the next
 * Eq. 3 swings between nothing and Kp * B around that number.
 */
static u32 ccpd_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);

	ca->before_loss = ca->mode;
	return max(tp->packets_out - tp->sacked_out, 2U);
}

/* TCP calls .ssthresh first.  Only here is the reason known: a timeout, or CWR. */
static void ccpd_set_state(struct sock *sk, u8 state)
{
	struct ccpd *ca = inet_csk_ca(sk);

	if (state == TCP_CA_Loss)
		ccpd_timeout(sk, &ca->probe);
	if (state == TCP_CA_CWR)
		ca->marked = 0;
}

/* The loss was spurious: the mode before it is restored, slow start or avoidance. */
static u32 ccpd_undo_cwnd(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);

	if (ca->before_loss != CCPD_NOT_OURS)
		ccpd_enter(ca, ca->before_loss);
	return max(tcp_snd_cwnd(tp), tp->prior_cwnd);
}

/* A segment is sent while none is in flight. */
static void ccpd_tx_start(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ccpd *ca = inet_csk_ca(sk);

	ca->prev.sum = 0;
	ccpd_pair_drop(sk, &ca->probe);
	ccpd_round_begin(sk, &ca->probe);
	if (READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle) &&
	    tcp_jiffies32 - tp->lsndtime > inet_csk(sk)->icsk_rto)
		tcp_snd_cwnd_set(tp, min_t(u32, tcp_snd_cwnd(tp), TCP_INIT_CWND));
}

tcpcc_cwnd_events(ccpd_cwnd_event, ccpd_tx_start, NULL);

static u32 ccpd_sndbuf_expand(struct sock *sk)
{
	/* the window of Eq. 3 may be several times what is in flight */
	return 3;
}

static size_t ccpd_get_info(struct sock *sk, u32 ext, int *attr,
			    union tcp_cc_info *info)
{
	const struct ccpd *ca = inet_csk_ca(sk);
	const struct ccpd_probe *p = &ca->probe;
	u32 bw = ccpd_capacity(p), mss = tcp_sk(sk)->mss_cache;
	u32 rtt_min_us = p->rtt_s ? p->rtt_min_us : 0;
	struct tcpcc_view *view;

	view = tcpcc_view_of(ext, info, ca->mode == CCPD_SLOW_START ?
			     "slow-start" : "avoidance");
	if (!view)
		return tcpcc_info_rate(ext, attr, info, ccpd_bytes_ps(bw, mss), rtt_min_us);

	tcpcc_view_add(view, "capacity_bps", ccpd_bytes_ps(bw, mss) * 8);
	tcpcc_view_add(view, "rtt_min_us", rtt_min_us);
	tcpcc_view_add(view, "rtt_max_us", ca->rtt_max_us);
	if (p->rtt_s) {
		tcpcc_view_add(view, "buffer_segs", ccpd_whole_segs(ccpd_buffer(ca, bw)));
		tcpcc_view_add(view, "level_segs", ccpd_whole_segs(ccpd_level(p, bw)));
	}
	tcpcc_view_add(view, "ecn_cwnd_segs", ca->ecn_cwnd);
	return 0;
}

#define CCPD_OPS(_name, _init)						\
	{								\
		.name		= _name,				\
		.owner		= THIS_MODULE,				\
		.init		= _init,				\
		.cong_control	= ccpd_cong_control,			\
		.ssthresh	= ccpd_ssthresh,			\
		.set_state	= ccpd_set_state,			\
		.undo_cwnd	= ccpd_undo_cwnd,			\
		TCPCC_CWND_EVENTS(ccpd_cwnd_event, ccpd_tx_start, NULL), \
		.sndbuf_expand	= ccpd_sndbuf_expand,			\
		.get_info	= ccpd_get_info,			\
	}

static struct tcp_congestion_ops ccpd_ops[] __read_mostly = {
	CCPD_OPS("ccpd", ccpd_init),
	CCPD_OPS("ccp", ccp_init),
};

static int __init ccpd_register(void)
{
	int i, err;

	BUILD_BUG_ON(sizeof(struct ccpd) > ICSK_CA_PRIV_SIZE);

	for (i = 0; i < ARRAY_SIZE(ccpd_ops); i++) {
		err = tcp_register_congestion_control(&ccpd_ops[i]);
		if (err)
			goto undo;
	}
	return 0;
undo:
	while (i--)
		tcp_unregister_congestion_control(&ccpd_ops[i]);
	return err;
}

static void __exit ccpd_unregister(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ccpd_ops); i++)
		tcp_unregister_congestion_control(&ccpd_ops[i]);
}

module_init(ccpd_register);
module_exit(ccpd_unregister);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP CCPD: proportional plus derivative congestion control");
MODULE_ALIAS("tcp_ccp");
