/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for the tests of the NIST study's senders: flows without a socket, and flows with
 * a model of a socket.  A test includes the law's source, and then this file.
 */
#ifndef _NIST_TEST_H
#define _NIST_TEST_H

#include <kunit/test.h>

#include "near.h"

/* A window of @x thousandths of a segment, NIST_SCALE */
static inline u64 milli(u32 x)
{
	return div_u64((u64)x << NIST_SCALE, 1000);
}

/* The last ACK of the flow, as periodic() sees it */
static struct nist_ack nist_now;

/*
 * The next ACK, @passed_us later, which delivers @segs segments, with a smoothed rtt of @srtt_us.
 * Other fields of nist_now may be set before the call.
 */
static inline void nist_next(struct nist *nist, u64 passed_us, u32 segs, u32 srtt_us)
{
	nist_now.now_us += passed_us;
	nist_now.delivered += segs;
	nist_now.srtt_us = srtt_us;
	nist_now.avoidance = !nist_now.recovery && !nist_now.slow_start;
	if (nist_law.periodic && (!nist_law.due || nist_law.due(nist, &nist_now)))
		nist_law.periodic(nist, &nist_now);
}

/* A flow with a window of @segs segments, as nist_init() would leave it */
static inline void begin(struct nist *nist, size_t size, u32 segs)
{
	memset(nist, 0, size);
	nist->cwnd = nist_segs(segs);
	nist->prior = nist->cwnd;
	nist->rtt_min_us = U32_MAX;
	nist_now = (struct nist_ack){ .now_us = USEC_PER_SEC };
	if (nist_law.start)
		nist_law.start(nist, &nist_now);
}

/* A round trip in which each segment of the window is acknowledged separately */
static inline void round_trip(struct nist *nist)
{
	u32 n = nist->cwnd >> NIST_SCALE;

	while (n--)
		nist_law.increase(nist, 1);
}

/* The growth of the window in a round trip, NIST_SCALE */
static inline u64 growth(struct nist *nist)
{
	u64 before = nist->cwnd;

	round_trip(nist);
	return nist->cwnd - before;
}

/* A loss, with the effect of nist_ssthresh() */
static inline void lose(struct nist *nist)
{
	nist->prior = nist->cwnd;
	nist->cwnd = max(nist_law.decrease(nist), nist_segs(NIST_CWND_MIN));
}

/*
 * A socket with the fields that the callbacks use: in congestion avoidance, with a window
 * of @segs segments, all of which is used.
 */
static inline struct sock *nist_socket(u32 segs)
{
	static struct tcp_sock tp;
	struct sock *sk = (struct sock *)&tp;

	memset(&tp, 0, sizeof(tp));
	tp.snd_cwnd = segs;
	tp.snd_cwnd_clamp = U32_MAX;
	tp.snd_ssthresh = min(segs, 2U);
	tp.prior_cwnd = segs;
	tp.is_cwnd_limited = 1;
	tp.max_packets_out = segs;
	tp.srtt_us = 42000 << 3;
	tp.tcp_mstamp = USEC_PER_SEC;
	tp.delivered = 1;
	nist_init(sk);
	return sk;
}

/* An ACK for @segs segments, @passed_us after the last one; calls are in the kernel's order */
static inline void nist_socket_ack(struct sock *sk, u32 segs, u32 passed_us, u32 rtt_us)
{
	const struct ack_sample sample = { .pkts_acked = segs, .rtt_us = rtt_us };
	struct tcp_sock *tp = tcp_sk(sk);

	tp->tcp_mstamp += passed_us;
	tp->delivered += segs;
	if (nist_ops.pkts_acked)
		nist_ops.pkts_acked(sk, &sample);
	if (!tcp_in_cwnd_reduction(sk))
		nist_cong_avoid(sk, tp->snd_una, segs);
}

/* A loss is found, and proportional rate reduction has set the window to ssthresh. */
static inline void nist_socket_lose(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->prior_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = nist_ssthresh(sk);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	tp->snd_cwnd = tp->snd_ssthresh;
}

/* A timeout */
static inline void nist_socket_timeout(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->prior_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = nist_ssthresh(sk);
	nist_cwnd_event(sk, CA_EVENT_LOSS);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Loss;
	tp->snd_cwnd = 1;
}

/* With a window of @segs a timeout sets ssthresh to @left.  It never sets less than two. */
static inline void leaves_threshold(struct kunit *test, u32 segs, u32 left)
{
	struct sock *sk = nist_socket(segs);

	nist_socket_timeout(sk);
	EXPECT_NEAR(test, tcp_sk(sk)->snd_ssthresh, left, 100);
	sk = nist_socket(3);
	nist_socket_timeout(sk);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, 2);
}

/* The last loss or timeout was spurious. */
static inline void nist_socket_undo(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_cwnd = nist_undo_cwnd(sk);
	tp->snd_ssthresh = max(tp->snd_ssthresh, tp->prior_cwnd / 4 * 3);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
}

/*
 * Two flows have the same history, but one of them also has a spurious loss or timeout.
 * After it ACKs and a real loss have the same effect on both.
 */
static inline void comes_back(struct kunit *test, u32 segs,
			      void (*go)(struct sock *sk),
			      void (*lose)(struct sock *sk))
{
	u32 grown[2], left[2];
	int i;

	for (i = 0; i < 2; i++) {
		struct sock *sk = nist_socket(segs);
		int n;

		go(sk);
		if (i) {
			lose(sk);
			nist_socket_undo(sk);
		}
		tcp_sk(sk)->snd_ssthresh = 2;
		for (n = 0; n < 400; n++)
			nist_socket_ack(sk, 10, 1000, 42000);
		grown[i] = tcp_sk(sk)->snd_cwnd;
		nist_socket_lose(sk);
		left[i] = tcp_sk(sk)->snd_cwnd;
	}
	KUNIT_EXPECT_EQ(test, grown[1], grown[0]);
	KUNIT_EXPECT_EQ(test, left[1], left[0]);
}

/*
 * Section 5.1: a loss reduces the window once.  The window does not grow in the rest of the
 * round trip, not even by a fraction of a segment.  After that the law continues.
 */
static inline void rests(struct kunit *test)
{
	struct sock *sk = nist_socket(1000);
	const struct nist *nist = inet_csk_ca(sk);
	u64 left;
	int n;

	for (n = 0; n < 42; n++)
		nist_socket_ack(sk, 24, 1000, 42000);
	nist_socket_lose(sk);
	left = nist->cwnd;
	for (n = 0; n < 42; n++) {
		nist_socket_ack(sk, 12, 1000, 42000);
		KUNIT_ASSERT_EQ(test, nist->cwnd, left);
	}
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_cwnd, left >> NIST_SCALE);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
	for (n = 0; n < 42; n++)
		nist_socket_ack(sk, 24, 1000, 42000);
	KUNIT_EXPECT_GT(test, nist->cwnd, left);
}

/* From any window the result of the law is a valid window, and grows no faster than slow start. */
static inline void survives(struct kunit *test, struct nist *nist)
{
	static const u32 windows[] = {
		1, 2, 3, 13, 14, 31, 1000, 83000, 333333333, NIST_CWND_MAX,
	};
	int i, j;

	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		for (j = 0; j < 4; j++) {
			u64 most;

			nist_next(nist, USEC_PER_SEC << 10 * j, 0, 1);
			nist->cwnd = nist_segs(windows[i]);
			most = nist->cwnd + nist_segs(j + 1);
			nist_law.increase(nist, j + 1);
			KUNIT_EXPECT_LE(test, nist->cwnd, most);
			/* no more bytes, so no more segments, can be in flight */
			nist_law.increase(nist, S32_MAX);
			KUNIT_EXPECT_LE(test, nist->cwnd, nist_segs(NIST_CWND_MAX));
			nist->cwnd = nist_segs(windows[i]);
			lose(nist);
			KUNIT_EXPECT_LE(test, nist->cwnd,
					max(nist->prior, nist_segs(NIST_CWND_MIN)));
			KUNIT_EXPECT_GE(test, nist->cwnd, nist_segs(NIST_CWND_MIN));
			if (nist_law.timeout)
				KUNIT_EXPECT_LE(test, nist_law.timeout(nist), nist->prior);
		}
	}
}

#endif /* _NIST_TEST_H */
