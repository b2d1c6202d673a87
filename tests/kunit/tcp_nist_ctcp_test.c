// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the NIST study's Compound TCP: the delay window. */
#include "../../nist/tcp_nist_ctcp.c"

#include "nist_test.h"

static struct ctcp ctcp;

/* alpha w^0.8 - 1: 100, 1000 and 10^6 segments */
static void gain_of_window(struct kunit *test)
{
	EXPECT_NEAR(test, ctcp_gain(nist_segs(41)), milli(1439), 500);
	EXPECT_NEAR(test, ctcp_gain(nist_segs(100)), milli(3976), 500);
	EXPECT_NEAR(test, ctcp_gain(nist_segs(1000)), milli(30399), 200);
	EXPECT_NEAR(test, ctcp_gain(nist_segs(1000000)), milli(7885617), 200);
	KUNIT_EXPECT_EQ(test, ctcp_gain(nist_segs(1)), 0);
	KUNIT_EXPECT_EQ(test, ctcp_gain(nist_segs(13)), 0);
	KUNIT_EXPECT_LT(test, ctcp_gain(nist_segs(NIST_CWND_MAX)),
			nist_segs(NIST_CWND_MAX / 8));
}

/* The errors of the two functions that win^k is computed with */
static void near_powers(struct kunit *test)
{
	u32 x, log;

	for (x = BIT(16); x < BIT(30); x += x / 1000) {
		s32 off = tcpcc_log2_near(x) - tcpcc_log2(x);

		KUNIT_EXPECT_LE(test, abs(off), TCPCC_LOG2_ONE / 1000 + 1);
	}
	for (log = 0; log < 12 * TCPCC_LOG2_ONE; log += 101)
		EXPECT_NEAR(test, tcpcc_reduce_near(BIT_ULL(60), log) >> 30,
			    tcpcc_exp2(30 * TCPCC_LOG2_ONE - log), 200);
}

/* diff: with 1058 segments, 50.4 ms on a path of 42 ms are the 176 segments of the buffer */
static void queue_of_rtt(struct kunit *test)
{
	EXPECT_NEAR(test, nist_queued(nist_segs(1058), 42000, 50381), nist_segs(176), 500);
	KUNIT_EXPECT_EQ(test, nist_queued(nist_segs(1058), 42000, 42000), 0);
	KUNIT_EXPECT_EQ(test, nist_queued(nist_segs(1058), U32_MAX, 1), 0);
}

/* A round trip of @srtt_us ends. */
static void period(struct ctcp *flow, u32 srtt_us)
{
	nist_now.limited = true;
	nist_next(&flow->nist, srtt_us, 0, srtt_us);
}

static void delay_window(struct kunit *test)
{
	struct nist *nist = &ctcp.nist;

	begin(nist, sizeof(ctcp), 1000);
	nist->rtt_min_us = 42000;
	/* without a queue it grows once in a round trip, and is a part of the window */
	period(&ctcp, 42000);
	EXPECT_NEAR(test, ctcp.dwnd, milli(30399), 200);
	EXPECT_NEAR(test, nist->cwnd, milli(1030399), 10);
	nist_next(nist, 41999, 0, 42000);
	EXPECT_NEAR(test, nist->cwnd, milli(1030399), 10);
	/* Eq. 14: one segment more for the ACKs of the whole window, both parts */
	EXPECT_NEAR(test, growth(nist), NIST_ONE, 2000);
	/* 29 of 1000 segments queued do not count as a queue; 31 do, and it shrinks by 3.1 */
	nist->cwnd = nist_segs(1000);
	ctcp.dwnd = nist_segs(100);
	period(&ctcp, 43254);
	KUNIT_EXPECT_GT(test, ctcp.dwnd, nist_segs(100));
	nist->cwnd = nist_segs(1000);
	ctcp.dwnd = nist_segs(100);
	period(&ctcp, 43344);
	EXPECT_NEAR(test, ctcp.dwnd, milli(96900), 1000);
	EXPECT_NEAR(test, nist->cwnd, milli(996900), 100);
	/* exactly as printed, the delay window becomes 0 */
	nist->cwnd = nist_segs(1000);
	ctcp.dwnd = nist_segs(100);
	ctcp_zero = 1;
	period(&ctcp, 43254);
	KUNIT_EXPECT_GT(test, ctcp.dwnd, nist_segs(100));
	nist->cwnd = nist_segs(1000);
	ctcp.dwnd = nist_segs(100);
	period(&ctcp, 43344);
	KUNIT_EXPECT_EQ(test, ctcp.dwnd, 0);
	EXPECT_NEAR(test, nist->cwnd, milli(900000), 100);
	ctcp_zero = 0;
	/* never below 0 */
	nist->cwnd = milli(996900);
	ctcp.dwnd = nist_segs(1);
	period(&ctcp, 84000);
	KUNIT_EXPECT_EQ(test, ctcp.dwnd, 0);
	EXPECT_NEAR(test, nist->cwnd, milli(995900), 100);
}

/* Eq. 15: both parts are halved.  Then one period without a change, and none in recovery. */
static void loses(struct kunit *test)
{
	struct nist *nist = &ctcp.nist;

	begin(nist, sizeof(ctcp), 1000);
	nist->rtt_min_us = 42000;
	ctcp.dwnd = nist_segs(400);
	lose(nist);
	EXPECT_NEAR(test, nist->cwnd, nist_segs(500), 1);
	EXPECT_NEAR(test, ctcp.dwnd, nist_segs(200), 1);
	period(&ctcp, 42000);
	EXPECT_NEAR(test, ctcp.dwnd, nist_segs(200), 1);
	nist_now.recovery = true;
	period(&ctcp, 42000);
	EXPECT_NEAR(test, ctcp.dwnd, nist_segs(200), 1);
	nist_now.recovery = false;
	period(&ctcp, 42000);
	KUNIT_EXPECT_GT(test, ctcp.dwnd, nist_segs(200));
	/* a timeout sets the delay window to 0 */
	nist->cwnd = nist_segs(800);
	lose(nist);
	EXPECT_NEAR(test, nist_law.timeout(nist), nist_segs(400), 1);
	KUNIT_EXPECT_EQ(test, ctcp.dwnd, 0);
}

/* The delay window does not grow if the window is not used. */
static void unused(struct kunit *test)
{
	struct sock *sk = nist_socket(100);
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

	for (i = 0; i < 10; i++)
		nist_socket_ack(sk, 4, 42000, 42000);
	/* 4 in a round trip with a window of 100 */
	KUNIT_EXPECT_GT(test, tp->snd_cwnd, 130);
	tp->is_cwnd_limited = 0;
	tp->snd_cwnd = 100;
	for (i = 0; i < 10; i++)
		nist_socket_ack(sk, 4, 42000, 42000);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 100);
}

static void has_delay_window(struct sock *sk)
{
	struct ctcp *flow = inet_csk_ca(sk);

	flow->dwnd = nist_segs(600);
	flow->period_us = tcp_sk(sk)->tcp_mstamp;
}

/* An undo restores what the loss changed: the delay window */
static void undone(struct kunit *test)
{
	comes_back(test, 1000, has_delay_window, nist_socket_lose);
	comes_back(test, 1000, has_delay_window, nist_socket_timeout);
}

/* With a window below 41 there is no delay window. */
static void low(struct kunit *test)
{
	struct nist *nist = &ctcp.nist;

	begin(nist, sizeof(ctcp), 40);
	nist->rtt_min_us = 42000;
	ctcp.dwnd = nist_segs(20);
	period(&ctcp, 42000);
	KUNIT_EXPECT_EQ(test, ctcp.dwnd, 0);
	KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(40));
	EXPECT_NEAR(test, growth(nist), NIST_ONE, 1000);
	nist->cwnd = nist_segs(40);
	lose(nist);
	KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(20));
}

static void rests_after_a_loss(struct kunit *test)
{
	rests(test);
}

static void extremes(struct kunit *test)
{
	u32 srtt;

	begin(&ctcp.nist, sizeof(ctcp), 1);
	survives(test, &ctcp.nist);
	for (srtt = 1; srtt < 100000000; srtt *= 10) {
		ctcp.nist.cwnd = nist_segs(NIST_CWND_MAX);
		ctcp.dwnd = U64_MAX;
		ctcp.congested = false;
		period(&ctcp, srtt);
		KUNIT_EXPECT_LE(test, ctcp.nist.cwnd, nist_segs(NIST_CWND_MAX));
		KUNIT_EXPECT_LE(test, ctcp.dwnd, ctcp.nist.cwnd);
		ctcp.nist.rtt_min_us = 100;
	}
}

static struct kunit_case ctcp_cases[] = {
	KUNIT_CASE(gain_of_window),
	KUNIT_CASE(near_powers),
	KUNIT_CASE(queue_of_rtt),
	KUNIT_CASE(delay_window),
	KUNIT_CASE(loses),
	KUNIT_CASE(unused),
	KUNIT_CASE(undone),
	KUNIT_CASE(low),
	KUNIT_CASE(rests_after_a_loss),
	KUNIT_CASE(extremes),
	{}
};

static struct kunit_suite ctcp_suite = {
	.name = "tcp_nist_ctcp",
	.test_cases = ctcp_cases,
};

kunit_test_suite(ctcp_suite);
