/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A socket without a real connection, for the scripts of the tests that include this file.
 * Each function changes it as TCP does at the same event, in the same order
 * (net/ipv4/tcp_input.c and tcp_output.c of 6.12), as far as a congestion control can see.
 * The feedback of routers comes from a variable, not from tcp_feedback.ko.
 *
 * The source under test is included after this file.
 */
#ifndef _TCPCC_KUNIT_EXPLICIT_SOCK_H
#define _TCPCC_KUNIT_EXPLICIT_SOCK_H

#define tcpcc_feedback_attach	fake_feedback_attach
#define tcpcc_feedback_detach	fake_feedback_detach
#define tcpcc_feedback_request	fake_feedback_request
#define tcpcc_feedback_take	fake_feedback_take

#include <net/tcp.h>

#include <kunit/test.h>

#include "tcpcc_feedback.h"

#define FAKE_MSS	1000U
#define FAKE_RTT_US	80000U

/*
 * The next ACK brings @echoes echoes of @word, and a sample @rtt_us of the rtt.  The path
 * delivers @path_segs segments in FAKE_RTT_US (0: as many as are sent, in the smoothed rtt
 * @srtt_us).  @asked_info and @asked_word are the sender's last request.
 */
static struct {
	u32 word;
	u32 echoes;
	u32 rtt_us;
	u32 srtt_us;
	u32 path_segs;
	u32 asked_info;
	u32 asked_word;
} fake_router;

/* tp->delivered when each segment was sent; and the numbers of segments sent and acknowledged */
#define FAKE_FLIGHT	4096
static struct {
	u32 delivered[FAKE_FLIGHT];
	u32 sent;
	u32 acked;
	bool limited;	/* the last send left a part of the window unused */
} fake_flight;

struct tcpcc_feedback *fake_feedback_attach(struct sock *sk,
					    enum tcpcc_fb_protocol protocol)
{
	return (struct tcpcc_feedback *)&fake_router;
}

void fake_feedback_detach(struct sock *sk, struct tcpcc_feedback *fb)
{
}

void fake_feedback_request(struct sock *sk, struct tcpcc_feedback *fb,
			   u32 info, u32 word)
{
	fake_router.asked_info = info;
	fake_router.asked_word = word;
}

u32 fake_feedback_take(struct tcpcc_feedback *fb, u32 *word)
{
	u32 echoes = fake_router.echoes;

	*word = fake_router.word;
	fake_router.echoes = 0;
	return echoes;
}

/* tcp_cong_control(): in CWR and in recovery TCP does not call cong_avoid(). */
static inline void fake_cong_control(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	u8 state = inet_csk(sk)->icsk_ca_state;

	if (ops->cong_control)
#ifdef TCPCC_HAVE_CONG_CONTROL_ACK
		ops->cong_control(sk, tcp_sk(sk)->snd_una, 0, rs);
#else
		ops->cong_control(sk, rs);
#endif
	else if (state != TCP_CA_CWR && state != TCP_CA_Recovery && rs->acked_sacked)
		ops->cong_avoid(sk, tcp_sk(sk)->snd_una, rs->acked_sacked);
}

/* CA_EVENT_TX_START */
static inline void fake_tx_start(struct sock *sk)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;

#ifdef TCPCC_HAVE_CWND_EVENT_TX_START
	if (ops->cwnd_event_tx_start)
		ops->cwnd_event_tx_start(sk);
#else
	if (ops->cwnd_event)
		ops->cwnd_event(sk, CA_EVENT_TX_START);
#endif
}

static const struct inet_connection_sock_af_ops fake_af_ops = {
	.net_header_len = sizeof(struct iphdr),
};

static inline u32 cwnd_of(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

/* A connection that has sent nothing yet, with TCP's initial window */
static inline struct sock *fake_open(struct kunit *test,
				     const struct tcp_congestion_ops *ops)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;

	KUNIT_ASSERT_NOT_NULL(test, tp);
	memset(&fake_router, 0, sizeof(fake_router));
	memset(&fake_flight, 0, sizeof(fake_flight));
	fake_router.rtt_us = FAKE_RTT_US;
	fake_router.srtt_us = FAKE_RTT_US;
	write_pnet(&sk->sk_net, &init_net);
	sk->sk_state = TCP_ESTABLISHED;
	sk->sk_pacing_status = SK_PACING_NONE;
	sk->sk_pacing_rate = ~0UL;
	sk->sk_max_pacing_rate = ~0UL;
	inet_csk(sk)->icsk_af_ops = &fake_af_ops;
	inet_csk(sk)->icsk_ca_ops = ops;
	inet_csk(sk)->icsk_rto = HZ / 4;
	tp->mss_cache = FAKE_MSS;
	tp->tcp_header_len = 20;
	tp->snd_cwnd_clamp = ~0U;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->is_cwnd_limited = 1;
	tp->delivered = 1;
	tp->lsndtime = tcp_jiffies32;
	tcp_snd_cwnd_set(tp, TCP_INIT_CWND);
	ops->init(sk);
	return sk;
}

/* TCP sends @n new segments. */
static inline void fake_send(struct sock *sk, u32 n)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_packets_in_flight(tp))
		fake_tx_start(sk);
	tp->lsndtime = tcp_jiffies32;
	for (u32 i = 0; i < n; i++)
		fake_flight.delivered[fake_flight.sent++ % FAKE_FLIGHT] = tp->delivered;
	tp->data_segs_out += n;
	tp->snd_nxt += n * FAKE_MSS;
	tp->packets_out += n;
	fake_flight.limited = tp->packets_out < tcp_snd_cwnd(tp);
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_CWR ||
	    inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery)
		tp->prr_out += n;
}

/* An ACK for @n segments; @echoes of them have an echo of the router's word. */
static inline void fake_ack_heard(struct sock *sk, u32 n, u32 echoes)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	struct ack_sample sample = { .pkts_acked = n, .rtt_us = fake_router.rtt_us };
	u32 last = (fake_flight.acked += n) - 1;
	struct rate_sample rs = {
		.prior_delivered = fake_flight.delivered[last % FAKE_FLIGHT],
		.acked_sacked = n,
		.rtt_us = fake_router.rtt_us,
		.interval_us = fake_router.srtt_us,
		.is_app_limited = fake_flight.limited,
	};

	fake_router.echoes = echoes;
	tp->srtt_us = fake_router.srtt_us << 3;
	tp->delivered += n;
	rs.delivered = tp->delivered - rs.prior_delivered;
	if (fake_router.path_segs && rs.delivered > fake_router.path_segs)
		rs.interval_us = div_u64((u64)FAKE_RTT_US * rs.delivered,
					 fake_router.path_segs);
	tp->snd_una += n * FAKE_MSS;
	tp->packets_out -= min(n, tp->packets_out);
	if (ops->pkts_acked)
		ops->pkts_acked(sk, &sample);
	fake_cong_control(sk, &rs);
}

static inline void fake_ack(struct sock *sk, u32 n)
{
	fake_ack_heard(sk, n, 0);
}

/* Sends one window, and acknowledges each segment separately */
static inline void fake_round(struct sock *sk, bool heard)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 n;

	if (tp->packets_out < tcp_snd_cwnd(tp))
		fake_send(sk, tcp_snd_cwnd(tp) - tp->packets_out);
	for (n = tp->packets_out; n; n--)
		fake_ack_heard(sk, 1, heard);
}

/* tcp_enter_recovery() and, with TCP_CA_CWR, tcp_enter_cwr() */
static inline void fake_reduce(struct sock *sk, u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->prior_ssthresh = state == TCP_CA_CWR ? 0 : tcp_current_ssthresh(sk);
	tp->high_seq = tp->snd_nxt;
	tp->prior_cwnd = tcp_snd_cwnd(tp);
	tp->prr_delivered = 0;
	tp->prr_out = 0;
	tp->snd_ssthresh = inet_csk(sk)->icsk_ca_ops->ssthresh(sk);
	inet_csk(sk)->icsk_ca_state = state;
}

/* tcp_enter_loss() */
static inline void fake_timeout(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (inet_csk(sk)->icsk_ca_state <= TCP_CA_Disorder) {
		tp->prior_ssthresh = tcp_current_ssthresh(sk);
		tp->prior_cwnd = tcp_snd_cwnd(tp);
		tp->snd_ssthresh = inet_csk(sk)->icsk_ca_ops->ssthresh(sk);
	}
	tcp_snd_cwnd_set(tp, 1);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Loss;
	tp->high_seq = tp->snd_nxt;
}

/* tcp_undo_cwnd_reduction(), then back to TCP_CA_Open */
static inline void fake_undo(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->prior_ssthresh) {
		tcp_snd_cwnd_set(tp, inet_csk(sk)->icsk_ca_ops->undo_cwnd(sk));
		tp->snd_ssthresh = max(tp->snd_ssthresh, tp->prior_ssthresh);
	}
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
}

/* The sender was idle for @ms. */
static inline void fake_idle(struct sock *sk, u32 ms)
{
	tcp_sk(sk)->lsndtime = tcp_jiffies32 - msecs_to_jiffies(ms);
}

/* The source under test defines its own. */
#undef pr_fmt

#endif /* _TCPCC_KUNIT_EXPLICIT_SOCK_H */
