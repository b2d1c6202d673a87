// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the common code of the NIST study's senders, mainly slow start, and of its
 * Reno.
 */
#include "../../nist/tcp_nist_reno.c"

#include "nist_test.h"

static struct reno reno;

/* Each acknowledged segment adds one: the window doubles in a round trip, up to sst. */
static void standard_slow_start(struct kunit *test)
{
	struct nist *nist = &reno.nist;
	int i;

	begin(nist, sizeof(reno), 2);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, nist_slow_start(nist, 1 << 30, U32_MAX,
						      nist->cwnd >> NIST_SCALE), 0);
		KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(2 << i));
	}
	KUNIT_EXPECT_EQ(test, nist_slow_start(nist, 3000, U32_MAX, 2000), 2000 - 952);
	KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(3000));
}

/* Eq. 5 with the study's sst_max of 100: doubling up to 100, then 50 more in a round trip */
static void limited_slow_start(struct kunit *test)
{
	struct nist *nist = &reno.nist;
	int i, n;

	begin(nist, sizeof(reno), 2);
	KUNIT_EXPECT_EQ(test, nist_slow_start(nist, U32_MAX, 100, 98), 0);
	KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(100));
	for (i = 0; i < 20; i++) {
		/* in units of 2^-8; since the divisor grows, c^2 grows by 2 50 c */
		u64 before = nist->cwnd >> 24, after;

		for (n = before >> 8; n; n--)
			nist_slow_start(nist, U32_MAX, 100, 1);
		after = nist->cwnd >> 24;
		EXPECT_NEAR(test, after * after, before * (before + (100 << 8)), 5000);
		KUNIT_EXPECT_LT(test, after - before, 50 << 8);
	}
	/* an ACK that crosses sst_max: 10 segments at full growth, 10 at half of it */
	nist->cwnd = nist_segs(90);
	nist_slow_start(nist, U32_MAX, 100, 20);
	EXPECT_NEAR(test, nist->cwnd, nist_segs(105), 1);
	/* slow start ends at sst (128 in Fig. 5-5), also within an ACK */
	nist->cwnd = nist_segs(127);
	KUNIT_EXPECT_EQ(test, nist_slow_start(nist, 128, 16, 100), 0);
	KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(128));
	KUNIT_EXPECT_EQ(test, nist_slow_start(nist, 128, 16, 7), 7);
}

/* Eq. 6: one segment in a round trip, to 0.05 %, from 10 to a million segments */
static void increases(struct kunit *test)
{
	struct nist *nist = &reno.nist;
	u32 segs;

	for (segs = 10; segs <= 1000000; segs *= 10) {
		begin(nist, sizeof(reno), segs);
		EXPECT_NEAR(test, growth(nist), NIST_ONE, 500);
	}
	/* an ACK for many segments has the effect of as many ACKs */
	begin(nist, sizeof(reno), 1000);
	nist_law.increase(nist, 500);
	EXPECT_NEAR(test, nist->cwnd, milli(1000500), 1);
}

/* Eq. 7: half of the window, including its fraction */
static void decreases(struct kunit *test)
{
	struct nist *nist = &reno.nist;

	begin(nist, sizeof(reno), 1101);
	lose(nist);
	KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(550) + NIST_ONE / 2);
	nist->cwnd = nist_segs(3);
	lose(nist);
	KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(2));
}

static void shares(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, nist_permille(nist_segs(1000), 875), nist_segs(875));
	KUNIT_EXPECT_EQ(test, nist_permille(nist_segs(1000), 1000), nist_segs(1000));
	KUNIT_EXPECT_EQ(test, nist_permille(nist_segs(1000), 0), 0);
	EXPECT_NEAR(test, nist_permille(nist_segs(NIST_CWND_MAX), 800),
		    nist_segs(NIST_CWND_MAX / 5 * 4), 1);
}

/* 21 packets per ms with a weight of 1/2: 10500, 15750, ..., then an interval that ends late */
static void rates(struct kunit *test)
{
	struct nist_rate rate = { .since_us = 1000 };

	KUNIT_EXPECT_EQ(test, nist_rate_update(&rate, 1000, 2000, 250000, 500), 0);
	KUNIT_EXPECT_EQ(test, nist_rate_update(&rate, 250999, 5000, 250000, 500), 0);
	KUNIT_EXPECT_EQ(test, nist_rate_update(&rate, 251000, 5250, 250000, 500), 5250);
	KUNIT_EXPECT_EQ(test, rate.rate, 10500 << NIST_RATE_SCALE);
	KUNIT_EXPECT_EQ(test, nist_rate_update(&rate, 501000, 10500, 250000, 500), 5250);
	KUNIT_EXPECT_EQ(test, rate.rate, 15750 << NIST_RATE_SCALE);
	KUNIT_EXPECT_EQ(test, nist_rate_update(&rate, 1001000, 21000, 250000, 1000), 10500);
	KUNIT_EXPECT_EQ(test, rate.rate, 21000 << NIST_RATE_SCALE);
	/* 400 Gb/s, 10 s */
	nist_rate_update(&rate, 11001000, 21000 + 333333333, 250000, 1000);
	KUNIT_EXPECT_EQ(test, rate.rate >> NIST_RATE_SCALE, 33333333);
}

/* Eq. 6 through the socket: the window grows if it is used, up to the clamp */
static void cong_avoid(struct kunit *test)
{
	struct sock *sk = nist_socket(100);
	struct tcp_sock *tp = tcp_sk(sk);

	/* one more than the window, since 1 / cwnd is rounded down */
	nist_socket_ack(sk, 101, 42000, 42000);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 101);
	tp->is_cwnd_limited = 0;
	nist_socket_ack(sk, 1000, 42000, 42000);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 101);
	tp->is_cwnd_limited = 1;
	tp->snd_cwnd_clamp = 103;
	nist_socket_ack(sk, 1000, 42000, 42000);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 103);
	/* TCP has changed the window, and the law continues from there */
	tp->snd_cwnd = 50;
	nist_socket_ack(sk, 51, 42000, 42000);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 51);
	/* one ACK ends slow start: 45 segments up to ssthresh, the rest, 97, in avoidance */
	tp->snd_cwnd_clamp = U32_MAX;
	tp->snd_ssthresh = 96;
	nist_socket_ack(sk, 45 + 97, 42000, 42000);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 97);
}

/*
 * An undo restores the window with its fraction.  After a switch in recovery it restores the
 * kernel's prior_cwnd.
 */
static void undo_cwnd(struct kunit *test)
{
	struct sock *sk = nist_socket(100);
	struct tcp_sock *tp = tcp_sk(sk);
	struct nist *nist = inet_csk_ca(sk);
	u64 before;

	nist_socket_ack(sk, 50, 42000, 42000);
	before = nist->cwnd;
	nist_socket_lose(sk);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 50);
	nist_socket_undo(sk);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 100);
	KUNIT_EXPECT_EQ(test, nist->cwnd, before);
	nist_socket_timeout(sk);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 50);
	nist_socket_undo(sk);
	KUNIT_EXPECT_EQ(test, nist->cwnd, before);
	/* a switch in recovery: the loss was that of another congestion control */
	sk = nist_socket(30);
	tp->prior_cwnd = 60;
	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	nist_socket_undo(sk);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 60);
}

static void rests_after_a_loss(struct kunit *test)
{
	rests(test);
}

static void extremes(struct kunit *test)
{
	begin(&reno.nist, sizeof(reno), 1);
	survives(test, &reno.nist);
}

static struct kunit_case reno_cases[] = {
	KUNIT_CASE(standard_slow_start),
	KUNIT_CASE(limited_slow_start),
	KUNIT_CASE(increases),
	KUNIT_CASE(decreases),
	KUNIT_CASE(shares),
	KUNIT_CASE(rates),
	KUNIT_CASE(cong_avoid),
	KUNIT_CASE(undo_cwnd),
	KUNIT_CASE(rests_after_a_loss),
	KUNIT_CASE(extremes),
	{}
};

static struct kunit_suite reno_suite = {
	.name = "tcp_nist_reno",
	.test_cases = reno_cases,
};

kunit_test_suite(reno_suite);
