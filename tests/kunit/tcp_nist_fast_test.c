// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the NIST study's FAST: the target of the window, and the steps to it. */
#include "../../nist/tcp_nist_fast.c"

#include "nist_test.h"

static struct fast fast;

/* Eq. 21 on the study's path: 882 packets at 42 ms */
static void target(struct kunit *test)
{
	/* without a queue: plus half of alpha */
	EXPECT_NEAR(test, fast_target(nist_segs(882), 42000, 42000, 200),
		    nist_segs(982), 1);
	/* with alpha packets in the queue it does not change: 962 / 882 is 45.81 ms */
	EXPECT_NEAR(test, fast_target(nist_segs(962), 42000, 45810, 80),
		    nist_segs(962), 50);
	/* with more in the queue it shrinks: 1058 and 50.381 ms, (1058 + 882 + 80) / 2 */
	EXPECT_NEAR(test, fast_target(nist_segs(1058), 42000, 50381, 80),
		    nist_segs(1010), 50);
	/* at most twice the window */
	KUNIT_EXPECT_EQ(test, fast_target(nist_segs(10), 42000, 42000, 200), nist_segs(20));
	KUNIT_EXPECT_LE(test, fast_target(nist_segs(NIST_CWND_MAX), U32_MAX, 1, 100000),
			nist_segs(NIST_CWND_MAX + 100000));
}

/* An ACK after @passed_us, for @segs segments */
static void ack(struct fast *flow, u64 passed_us, u32 segs, u32 srtt_us)
{
	nist_next(&flow->nist, passed_us, segs, srtt_us);
}

/* Each ACK moves the window up by 1 / acksRTT of the way to T.  Down to T it goes at once. */
static void increases(struct kunit *test)
{
	struct nist *nist = &fast.nist;

	begin(nist, sizeof(fast), 800);
	nist->rtt_min_us = 42000;
	/* the first T is the window */
	nist_law.increase(nist, 1);
	KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(800));
	ack(&fast, 42000, 800, 42000);
	EXPECT_NEAR(test, fast.target, nist_segs(900), 1);
	nist_law.increase(nist, 1);
	EXPECT_NEAR(test, nist->cwnd, milli(800125), 10);
	/* 1 - 1/e of the way in a round trip */
	nist->cwnd = nist_segs(800);
	EXPECT_NEAR(test, growth(nist), milli(63212), 2000);
	/* T is kept for 20 ms */
	ack(&fast, 19000, 400, 60000);
	EXPECT_NEAR(test, fast.target, nist_segs(900), 1);
	ack(&fast, 1000, 20, 60000);
	/* (1000 + 700 + 200) / 2 */
	nist->cwnd = nist_segs(1000);
	ack(&fast, 20000, 400, 60000);
	EXPECT_NEAR(test, fast.target, nist_segs(950), 1);
	nist_law.increase(nist, 1);
	EXPECT_NEAR(test, nist->cwnd, nist_segs(950), 1);
}

/* On a closed path of 882 packets the window converges to 882 plus alpha. */
static void settles(struct kunit *test)
{
	struct nist *nist = &fast.nist;
	int i;

	alpha = 80;
	begin(nist, sizeof(fast), 450);
	nist->rtt_min_us = 42000;
	for (i = 0; i < 300; i++) {
		u32 whole = nist->cwnd >> NIST_SCALE;
		u32 rtt_us = max(42000U, 42000 * whole / 882);

		ack(&fast, rtt_us, whole, rtt_us);
		round_trip(nist);
	}
	EXPECT_NEAR(test, nist->cwnd, nist_segs(962), 2000);
	alpha = 200;
}

/* Eq. 22: all four limits, and the 200 s of the first one */
static void tuning(struct kunit *test)
{
	int i;

	KUNIT_EXPECT_EQ(test, fast_tune(0, 1499), 0);
	KUNIT_EXPECT_EQ(test, fast_tune(0, 1500), 1);
	KUNIT_EXPECT_EQ(test, fast_tune(1, 1250), 0);
	KUNIT_EXPECT_EQ(test, fast_tune(1, 1251), 1);
	KUNIT_EXPECT_EQ(test, fast_tune(1, 14999), 1);
	KUNIT_EXPECT_EQ(test, fast_tune(1, 15000), 2);
	KUNIT_EXPECT_EQ(test, fast_tune(2, 12500), 1);
	KUNIT_EXPECT_EQ(test, fast_tune(2, 12501), 2);

	begin(&fast.nist, sizeof(fast), 450);
	fast.nist.rtt_min_us = 42000;
	KUNIT_EXPECT_EQ(test, fast_alpha(&fast), 200);
	tune = 1;
	KUNIT_EXPECT_EQ(test, fast_alpha(&fast), 200);
	/* half of the study's link: 10.5 packets/ms */
	for (i = 0; i < 199; i++)
		ack(&fast, USEC_PER_SEC, 10500, 42000);
	KUNIT_EXPECT_EQ(test, fast_alpha(&fast), 200);
	ack(&fast, USEC_PER_SEC, 10500, 42000);
	KUNIT_EXPECT_EQ(test, fast_alpha(&fast), 20);
	tune = 0;
}

/* Eq. 19: T is reduced with the window; slow start forgets T */
static void loses(struct kunit *test)
{
	struct nist *nist = &fast.nist;

	begin(nist, sizeof(fast), 1000);
	fast.target = nist_segs(1100);
	lose(nist);
	KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(500));
	KUNIT_EXPECT_EQ(test, fast.target, nist_segs(500));
	nist_now.slow_start = true;
	nist_next(nist, 0, 0, 42000);
	KUNIT_EXPECT_EQ(test, fast.target, 0);
}

/* Eq. 20: ssthresh is half of the window, at least two segments */
static void times_out(struct kunit *test)
{
	leaves_threshold(test, 1000, 500);
}

/* After a spurious loss, the ACK that shows this and later ACKs do not reduce the window. */
static void undone(struct kunit *test)
{
	struct sock *sk = nist_socket(1000);
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

	for (i = 0; i < 60; i++)
		nist_socket_ack(sk, 24, 1000, 42000);
	for (i = 0; i < 2; i++) {
		u32 before = tp->snd_cwnd;

		if (i)
			nist_socket_timeout(sk);
		else
			nist_socket_lose(sk);
		nist_socket_ack(sk, 24, 1000, 42000);
		nist_socket_undo(sk);
		tp->snd_ssthresh = 2;
		nist_cong_avoid(sk, tp->snd_una, 1);
		KUNIT_EXPECT_GE(test, tp->snd_cwnd, before);
		nist_socket_ack(sk, 24, 1000, 42000);
		KUNIT_EXPECT_GE(test, tp->snd_cwnd, before);
	}
}

static void rests_after_a_loss(struct kunit *test)
{
	rests(test);
}

static void extremes(struct kunit *test)
{
	begin(&fast.nist, sizeof(fast), 1);
	survives(test, &fast.nist);
	fast.nist.cwnd = nist_segs(NIST_CWND_MAX);
	ack(&fast, 1 << 30, U32_MAX, 1);
	KUNIT_EXPECT_LE(test, fast.target, nist_segs(NIST_CWND_MAX));
}

/* The state that an ACK changes */
static void pkts_acked(struct kunit *test)
{
	struct sock *sk = nist_socket(100);
	struct nist *nist = inet_csk_ca(sk);

	nist_socket_ack(sk, 10, 1000, 50000);
	KUNIT_EXPECT_EQ(test, nist->rtt_min_us, 50000);
	nist_socket_ack(sk, 10, 1000, 42000);
	KUNIT_EXPECT_EQ(test, nist->rtt_min_us, 42000);
	/* an ACK without an rtt */
	nist_socket_ack(sk, 10, 1000, -1);
	nist_socket_ack(sk, 10, 1000, 60000);
	KUNIT_EXPECT_EQ(test, nist->rtt_min_us, 42000);
}

static struct kunit_case fast_cases[] = {
	KUNIT_CASE(pkts_acked),
	KUNIT_CASE(target),
	KUNIT_CASE(increases),
	KUNIT_CASE(settles),
	KUNIT_CASE(tuning),
	KUNIT_CASE(loses),
	KUNIT_CASE(times_out),
	KUNIT_CASE(undone),
	KUNIT_CASE(rests_after_a_loss),
	KUNIT_CASE(extremes),
	{}
};

static struct kunit_suite fast_suite = {
	.name = "tcp_nist_fast",
	.test_cases = fast_cases,
};

kunit_test_suite(fast_suite);
