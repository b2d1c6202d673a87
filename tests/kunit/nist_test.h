/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the NIST study's senders share: flows without a socket.  A test
 * includes the law's source, then this file.
 */
#ifndef _NIST_TEST_H
#define _NIST_TEST_H

#include <kunit/test.h>

#include "near.h"

/* @x thousandths of a segment, as a window */
static inline u64 milli(u32 x)
{
	return div_u64((u64)x << NIST_SCALE, 1000);
}

/* The last ACK of that flow, as periodic rules see it */
static struct nist_ack nist_now;

/*
 * Another, @passed_us later, which delivers @segs segments, with a smoothed round trip of @srtt_us.
 * The rest of it may be set before.
 */
static inline void nist_next(struct nist *nist, u64 passed_us, u32 segs, u32 srtt_us)
{
	nist_now.now_us += passed_us;
	nist_now.delivered += segs;
	nist_now.srtt_us = srtt_us;
	if (nist_law.periodic)
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

/* A round trip in which each segment of the window is acknowledged for itself */
static inline void round_trip(struct nist *nist)
{
	u32 n = nist->cwnd >> NIST_SCALE;

	while (n--)
		nist_law.increase(nist, 1);
}

/* By what the window grows in a round trip */
static inline u64 growth(struct nist *nist)
{
	u64 before = nist->cwnd;

	round_trip(nist);
	return nist->cwnd - before;
}

/* A loss, as nist_ssthresh() would have it */
static inline void lose(struct nist *nist)
{
	nist->prior = nist->cwnd;
	nist->cwnd = max(nist_law.decrease(nist), nist_segs(NIST_CWND_MIN));
}

/*
 * A socket for the callbacks, as far as they look at it: established, in avoidance, and
 * all of its window of @segs segments is in use.
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

/* An ACK for @segs segments, @passed_us after the last: the kernel's order of calls */
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

/* A loss is found, and the window is where proportional rate reduction leads it. */
static inline void nist_socket_lose(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->prior_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = nist_ssthresh(sk);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	tp->snd_cwnd = tp->snd_ssthresh;
}

/* It is a timeout. */
static inline void nist_socket_timeout(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->prior_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = nist_ssthresh(sk);
	nist_cwnd_event(sk, CA_EVENT_LOSS);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Loss;
	tp->snd_cwnd = 1;
}

/* A timeout leaves @left of @segs as the threshold of slow start, and never less than two. */
static inline void leaves_threshold(struct kunit *test, u32 segs, u32 left)
{
	struct sock *sk = nist_socket(segs);

	nist_socket_timeout(sk);
	EXPECT_NEAR(test, tcp_sk(sk)->snd_ssthresh, left, 100);
	sk = nist_socket(3);
	nist_socket_timeout(sk);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, 2);
}

/* It was none. */
static inline void nist_socket_undo(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_cwnd = nist_undo_cwnd(sk);
	tp->snd_ssthresh = max(tp->snd_ssthresh, tp->prior_cwnd / 4 * 3);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
}

/*
 * Two flows go the same way, but one has a loss, or a timeout, that was none.  From then
 * on an ACK and a real loss do the same to both.
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
 * Section 5.1: a loss cuts the window once, and nothing grows for the rest of a round trip,
 * not by a fraction of a segment either.  When it is over, the law goes on.
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

/* No window leads the law out of what a window can be, nor past slow start's pace. */
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
			nist_law.increase(nist, U32_MAX);
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
