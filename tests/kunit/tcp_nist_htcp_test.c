// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the NIST study's H-TCP: f of the time since a loss, beta, throughput. */
#include "../../nist/tcp_nist_htcp.c"

#include "nist_test.h"

static struct htcp htcp;

/* h = 1 + 10 * t + 0.25 * t^2, t seconds after DL; f is h times rtt_min, and at least 1 */
static void f_of_time(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, htcp_f(0, 42000), NIST_ONE);
	KUNIT_EXPECT_EQ(test, htcp_f(USEC_PER_SEC, 324000), NIST_ONE);
	/* 1 + 10 * 8 + 0.25 * 64 = 97 */
	EXPECT_NEAR(test, htcp_f(9 * USEC_PER_SEC, 42000), milli(97 * 42), 20);
	EXPECT_NEAR(test, htcp_f(9 * USEC_PER_SEC, 162000), milli(97 * 162), 20);
	EXPECT_NEAR(test, htcp_f(9 * USEC_PER_SEC, 324000), milli(97 * 324), 20);
	/* 1 + 10 + 0.25 = 11.25, times 42 ms, is less than 1 */
	KUNIT_EXPECT_EQ(test, htcp_f(2 * USEC_PER_SEC, 42000), NIST_ONE);
	/* more than an hour, with an rtt of 1 s: 1 + 10 * 3999 + 0.25 * 3999^2 */
	EXPECT_NEAR(test, htcp_f(4000ULL * USEC_PER_SEC, 1000000), nist_segs(4037991), 20);
	KUNIT_EXPECT_LT(test, htcp_f(U64_MAX, U32_MAX), BIT_ULL(62));
}

/* As in the kernel: rtt_min in units of 100 ms, limited to 10 to 200 ms, also before DL */
static void f_as_the_kernel(struct kunit *test)
{
	htcp_linux = 1;
	EXPECT_NEAR(test, htcp_f(9 * USEC_PER_SEC, 50000), milli(48500), 20);
	EXPECT_NEAR(test, htcp_f(9 * USEC_PER_SEC, 324000), nist_segs(194), 20);
	EXPECT_NEAR(test, htcp_f(9 * USEC_PER_SEC, 1000), milli(9700), 20);
	EXPECT_NEAR(test, htcp_f(0, 200000), nist_segs(2), 20);
	htcp_linux = 0;
}

/* Eq. 34: 1/2 if the throughput changed by a fifth; else the ratio of rtts, from 1/2 to 0.8 */
static void beta_of_queue(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, htcp_beta(1000, 0, 42000, 50000), HTCP_ONE / 2);
	KUNIT_EXPECT_EQ(test, htcp_beta(1201, 1000, 42000, 50000), HTCP_ONE / 2);
	KUNIT_EXPECT_EQ(test, htcp_beta(799, 1000, 42000, 50000), HTCP_ONE / 2);
	EXPECT_NEAR(test, htcp_beta(1200, 1000, 42000, 60000), HTCP_ONE * 7 / 10, 20);
	EXPECT_NEAR(test, htcp_beta(800, 1000, 42000, 60000), HTCP_ONE * 7 / 10, 20);
	/* with a buffer of a fifth of the path 1 / 1.2 exceeds the limit G */
	EXPECT_NEAR(test, htcp_beta(1000, 1000, 42000, 50400), HTCP_ONE * 8 / 10, 20);
	KUNIT_EXPECT_EQ(test, htcp_beta(1000, 1000, 42000, 420000), HTCP_ONE / 2);
	KUNIT_EXPECT_EQ(test, htcp_beta(1000, 1000, U32_MAX, 0), HTCP_ONE / 2);
}

static void ack(struct htcp *flow, u64 passed_us, u32 segs, u32 rtt_us, bool recovery)
{
	nist_now.rtt_us = rtt_us;
	nist_now.recovery = recovery;
	flow->nist.rtt_min_us = min(flow->nist.rtt_min_us, rtt_us);
	nist_next(&flow->nist, passed_us, segs, 42000);
}

/* Losses at a constant throughput: the first halves the window, the second subtracts the queue. */
static void life(struct kunit *test)
{
	struct nist *nist = &htcp.nist;
	int i;

	begin(nist, sizeof(htcp), 1000);
	for (i = 0; i < 20; i++)
		ack(&htcp, 250000, 5250, i % 2 ? 42000 : 60000, false);
	KUNIT_EXPECT_EQ(test, htcp.rate.rate >> NIST_RATE_SCALE, 20999);
	/* 2 (1 - 1/2) f: 5 s after the beginning f is 1.886 */
	EXPECT_NEAR(test, growth(nist), milli(1890), 10000);
	nist->cwnd = nist_segs(1000);
	lose(nist);
	KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(500));
	for (i = 0; i < 4; i++)
		ack(&htcp, 250000, 5250, 50000, false);
	nist->cwnd = nist_segs(1000);
	/* an rtt sample in recovery does not count */
	ack(&htcp, 0, 0, 900000, true);
	lose(nist);
	EXPECT_NEAR(test, nist->cwnd, nist_segs(700), 20);
	ack(&htcp, 0, 0, 50000, false);
	/* within DL growth is 2 (1 - 0.7) */
	EXPECT_NEAR(test, growth(nist), milli(600), 2000);
	/* the loss was spurious: the time since the last loss is restored */
	nist->cwnd = nist->prior;
	nist_law.undo(nist);
	KUNIT_EXPECT_EQ(test, htcp.now_us - htcp.loss_us, USEC_PER_SEC);
	lose(nist);
	EXPECT_NEAR(test, nist_law.timeout(nist), nist->prior / 2, 1);
	KUNIT_EXPECT_EQ(test, htcp.beta, HTCP_ONE / 2);
}

/*
 * ACKs of 1 ms, with losses of all kinds: the growth for an ACK is that of Eqs. 30 to 32 for the
 * time of this ACK.  Only the ACK of an undo itself does not know D yet.
 */
static void follows_time(struct kunit *test)
{
	struct nist *nist = &htcp.nist;
	u64 exact = 0, total = 0;
	int i;

	begin(nist, sizeof(htcp), 1000);
	for (i = 1; i < 20000; i++) {
		u64 f, grown;

		ack(&htcp, 1000, 24, i % 2 ? 162000 : 200000, false);
		nist->cwnd = nist_segs(1000);
		if (i == 6000 || i == 9000) {
			lose(nist);
			nist->cwnd = nist_segs(1000);
		}
		if (i == 9000)
			nist_law.timeout(nist);
		if (i == 7500 || i == 10500)
			nist_law.undo(nist);
		if (i % 1500 == 0)
			continue;
		f = htcp_f(htcp.now_us - htcp.loss_us, 162000);
		nist_law.increase(nist, 1);
		grown = nist->cwnd - nist_segs(1000);
		f = mul_u64_u32_shr(f, 2 * (HTCP_ONE - htcp.beta), HTCP_SCALE);
		EXPECT_NEAR(test, grown * 1000, f, 10500);
		exact += f;
		total += grown * 1000;
	}
	EXPECT_NEAR(test, total, exact, 1000);
}

static void has_lost(struct sock *sk)
{
	struct htcp *flow = inet_csk_ca(sk);
	int i;

	/* a second at 10 segments per ms, with a queue of a fifth of the path */
	for (i = 0; i < 1000; i++)
		nist_socket_ack(sk, 10, 1000, i % 2 ? 42000 : 52000);
	tcp_sk(sk)->snd_cwnd = 1000;
	nist_socket_lose(sk);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
	for (i = 0; i < 1000; i++)
		nist_socket_ack(sk, 10, 1000, 42000);
	tcp_sk(sk)->snd_cwnd = 1000;
	/* values that differ from those that the next loss would compute */
	flow->loss_rate = flow->rate.rate / 2;
	flow->beta = HTCP_ONE * 7 / 10;
}

/* An undo restores what the loss changed: D, beta, and the throughput for comparison */
static void undone(struct kunit *test)
{
	comes_back(test, 1000, has_lost, nist_socket_lose);
	comes_back(test, 1000, has_lost, nist_socket_timeout);
}

/* After a switch in recovery the undo has no loss of this law to restore. */
static void undone_of_another(struct kunit *test)
{
	struct sock *sk = nist_socket(100);
	struct htcp *flow = inet_csk_ca(sk);

	nist_socket_undo(sk);
	KUNIT_EXPECT_EQ(test, flow->loss_us, USEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, flow->beta, HTCP_ONE / 2);
}

static void rests_after_a_loss(struct kunit *test)
{
	rests(test);
}

static void extremes(struct kunit *test)
{
	begin(&htcp.nist, sizeof(htcp), 1);
	survives(test, &htcp.nist);
}

static struct kunit_case htcp_cases[] = {
	KUNIT_CASE(f_of_time),
	KUNIT_CASE(f_as_the_kernel),
	KUNIT_CASE(beta_of_queue),
	KUNIT_CASE(life),
	KUNIT_CASE(follows_time),
	KUNIT_CASE(undone),
	KUNIT_CASE(undone_of_another),
	KUNIT_CASE(rests_after_a_loss),
	KUNIT_CASE(extremes),
	{}
};

static struct kunit_suite htcp_suite = {
	.name = "tcp_nist_htcp",
	.test_cases = htcp_cases,
};

kunit_test_suite(htcp_suite);
