// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of mccp_path: bursts, growth by time, and the effect of a loss on the estimate.
 * tcp_mccp_test.c tests what mccp_path and the paper's MCCP have in common.
 */
#include "../../tcp_mccp_path.c"

#include <kunit/test.h>

#include "near.h"

/* A rate of @x segments per second */
#define PER_S(x)	div_u64((u64)(x) << ABE_RATE, USEC_PER_SEC)

/* In slow start the estimate is late, but a burst shows the path's rate at once. */
static void burst_shows_path(struct kunit *test)
{
	/* segments per ACK; segments delivered in a sixteenth of an rtt, of 800 per rtt */
	static const struct {
		u32 segs, most;
	} kinds[] = { { 1, 50 }, { 2, 50 }, { 5, 50 } };
	u32 k, round, i;

	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		u32 window = 80, segs = kinds[k].segs;
		u32 us = -1000, delivered = -100;
		struct mccp_burst burst = {};

		/* 100 ms, 800 segments per rtt; the ACKs of a window come at the path's rate */
		for (round = 0; round < 3; round++) {
			u32 n = window / segs;

			for (i = 0; i < n; i++) {
				us += i ? 125 * segs : 100000 - (n - 1) * 125 * segs;
				delivered += segs;
				mccp_measure(&burst, us, delivered, segs, 100000);
			}
			window *= 2;
		}
		KUNIT_EXPECT_GE(test, burst.most[0], kinds[k].most - segs);
		KUNIT_EXPECT_LE(test, burst.most[0], kinds[k].most + segs - 2 * (segs > 1));
	}
}

/* Bursts with one ACK for all segments, and with several ACKs */
static void bursts(struct kunit *test)
{
	struct mccp_burst burst = {};

	mccp_measure(&burst, 100000, 10, 1, 100000);
	KUNIT_EXPECT_EQ(test, burst.most[0], 0);
	mccp_measure(&burst, 100100, 12, 2, 100000);
	mccp_measure(&burst, 106250, 14, 2, 100000);
	KUNIT_EXPECT_EQ(test, burst.most[0], 4);
	mccp_measure(&burst, 106251, 17, 3, 100000);
	KUNIT_EXPECT_EQ(test, burst.most[0], 4);
	mccp_measure(&burst, 206251, 61, 44, 100000);
	KUNIT_EXPECT_EQ(test, burst.most[0], 42);
	KUNIT_EXPECT_EQ(test, mccp_burst_pipe(&burst), 42 * 16);
	burst.most[1] = U32_MAX;
	KUNIT_EXPECT_EQ(test, mccp_burst_pipe(&burst), U16_MAX * 64 * 16);
}

/* Growth of one segment per 25 ms; per rtt at least one, and at most 1/16 of the window. */
static void growth(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mccp_growth(100000, 1000, 25), 4 * 16);
	KUNIT_EXPECT_EQ(test, mccp_growth(40000, 1000, 25), 25);	/* 25.6 */
	KUNIT_EXPECT_EQ(test, mccp_growth(25000, 1000, 25), 16);
	KUNIT_EXPECT_EQ(test, mccp_growth(100, 1000, 25), 16);
	KUNIT_EXPECT_EQ(test, mccp_growth(200000, 1000, 25), 8 * 16);
	KUNIT_EXPECT_EQ(test, mccp_growth(200000, 100, 25), 100);
	KUNIT_EXPECT_EQ(test, mccp_growth(200000, 3, 25), 16);
	KUNIT_EXPECT_EQ(test, mccp_growth(200000, 1000, 0), 16);
	KUNIT_EXPECT_EQ(test, mccp_growth(ABE_TIME_CAP, U32_MAX, 1), 256 * 16);
}

/* A socket that has sent data, so that it has a history. */
static struct tcp_sock *sender(struct kunit *test, u32 cwnd)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;
	struct mccp_path *ca = inet_csk_ca(sk);

	KUNIT_ASSERT_NOT_NULL(test, tp);
	tp->snd_cwnd_clamp = ~0;
	tp->mss_cache = 1448;
	tcp_snd_cwnd_set(tp, cwnd);
	tp->snd_ssthresh = 10;
	tp->is_cwnd_limited = 1;
	tp->srtt_us = 100000 << 3;
	tp->tcp_mstamp = 1000000;
	mccp_path_init(sk);
	inet_csk(sk)->icsk_ca_initialized = 1;
	KUNIT_ASSERT_NULL(test, ca->mccp.history);
	mccp_path_start(sk);
	KUNIT_ASSERT_NOT_NULL(test, ca->mccp.history);
	abe_restart(ca->mccp.history, tp->tcp_mstamp, 0);
	return tp;
}

/* The window grows by four in an rtt of 100 ms, if there is a queue, and there was a loss. */
static void grows(struct kunit *test)
{
	struct tcp_sock *tp = sender(test, 100);
	struct sock *sk = (struct sock *)tp;
	struct mccp_path *ca = inet_csk_ca(sk);
	u32 i;

	ca->mccp.rtt_min_us = 80000;
	ca->round_rtt_us = 90001;
	mccp_path_round(sk);
	KUNIT_EXPECT_EQ(test, ca->growth, 16);
	mccp_set_state(sk, TCP_CA_Recovery);
	ca->round_rtt_us = 90000;
	mccp_path_round(sk);
	KUNIT_EXPECT_EQ(test, ca->growth, 16);
	ca->round_rtt_us = 90001;
	mccp_path_round(sk);
	KUNIT_EXPECT_EQ(test, ca->growth, 4 * 16);

	for (i = 0; i < 100; i += 2)
		mccp_path_cong_avoid(sk, tp->snd_una, 2);
	/* a little less than four, because the window grows */
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 103);
	mccp_path_cong_avoid(sk, tp->snd_una, 6);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 104);
	/* the same with one ACK for all segments */
	mccp_path_cong_avoid(sk, tp->snd_una, 104);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 108);
	mccp_release(sk);
}

/*
 * After a loss the window is what the path holds, by the estimate, or by the last round trip if
 * that is more.
 */
static void loss(struct kunit *test)
{
	struct tcp_sock *tp = sender(test, 200);
	struct sock *sk = (struct sock *)tp;
	struct mccp_path *ca = inet_csk_ca(sk);

	KUNIT_EXPECT_EQ(test, mccp_path_ssthresh(sk), 100);
	ca->mccp.rtt_min_us = 50000;
	ca->mccp.abe.rate = PER_S(1000);
	tp->tcp_mstamp += 100000;
	tp->delivered += 90;
	KUNIT_EXPECT_EQ(test, mccp_path_ssthresh(sk), 49);
	tp->delivered += 60;
	mccp_agile = 0;
	KUNIT_EXPECT_EQ(test, mccp_path_ssthresh(sk), 49);
	mccp_agile = 1;
	KUNIT_EXPECT_EQ(test, mccp_path_ssthresh(sk), 74);
	ca->mccp.abe.rate = PER_S(100000);
	KUNIT_EXPECT_EQ(test, mccp_path_ssthresh(sk), 200);
	ca->mccp.abe.rate = PER_S(1);
	tp->tcp_mstamp += ABE_TIME_CAP;
	KUNIT_EXPECT_EQ(test, mccp_path_ssthresh(sk), 2);
	/* also if the last round trip was long ago */
	tp->tcp_mstamp = 1000000 + BIT_ULL(32);
	KUNIT_EXPECT_EQ(test, mccp_path_ssthresh(sk), 200);
	mccp_release(sk);
}

/* After a spurious loss the estimate is restored if the loss raised it; otherwise it stays. */
static void undone(struct kunit *test)
{
	struct tcp_sock *tp = sender(test, 200);
	struct sock *sk = (struct sock *)tp;
	struct mccp_path *ca = inet_csk_ca(sk);

	ca->mccp.rtt_min_us = 50000;
	ca->mccp.abe.rate = PER_S(1000);
	tp->tcp_mstamp += 100000;
	tp->delivered += 150;
	tp->prior_cwnd = 200;
	tcp_snd_cwnd_set(tp, mccp_path_ssthresh(sk));
	KUNIT_EXPECT_GT(test, ca->mccp.abe.rate, PER_S(1400));
	mccp_set_state(sk, TCP_CA_Recovery);
	KUNIT_EXPECT_EQ(test, (int)ca->mccp.mode, MCCP_AVOIDANCE);
	KUNIT_EXPECT_EQ(test, mccp_undo_cwnd(sk), 200);
	KUNIT_EXPECT_EQ(test, ca->mccp.abe.rate, PER_S(1000));
	KUNIT_EXPECT_EQ(test, (int)ca->mccp.mode, MCCP_PROBING);
	KUNIT_EXPECT_EQ(test, ca->mccp.entry, 0);

	ca->mccp.abe.rate = PER_S(2000);
	mccp_path_ssthresh(sk);
	ca->mccp.abe.rate = PER_S(1900);
	mccp_undo_cwnd(sk);
	KUNIT_EXPECT_EQ(test, ca->mccp.abe.rate, PER_S(1900));
	mccp_release(sk);
}

/* A mark reduces the window, even if the last round trip delivered a whole window. */
static void mark(struct kunit *test)
{
	struct tcp_sock *tp = sender(test, 200);
	struct sock *sk = (struct sock *)tp;
	struct mccp_path *ca = inet_csk_ca(sk);

	ca->mccp.rtt_min_us = 100000;
	ca->mccp.abe.rate = PER_S(1000);
	tp->tcp_mstamp += 100000;
	tp->delivered += 200;
	mccp_in_ack_event(sk, CA_ACK_SLOWPATH | CA_ACK_ECE);
	KUNIT_EXPECT_LE(test, mccp_path_ssthresh(sk), 170);
	KUNIT_EXPECT_GE(test, mccp_path_ssthresh(sk), 160);
	mccp_release(sk);
}

/* ssthresh that fast probing sets after a burst in a round trip without a queue */
static u32 after_burst(struct sock *sk)
{
	struct mccp_path *ca = inet_csk_ca(sk);

	tcp_sk(sk)->snd_ssthresh = 10;
	tcp_snd_cwnd_set(tcp_sk(sk), 100);
	ca->round_rtt_us = 50000;
	ca->burst.most[0] = 40;
	mccp_path_cong_avoid(sk, tcp_sk(sk)->snd_una, 1);
	return tcp_sk(sk)->snd_ssthresh;
}

/* After a mark, bursts are ignored until 16 round trips have passed without a mark. */
static void marks_hide_bursts(struct kunit *test)
{
	const struct ack_sample sample = { .rtt_us = 50000 };
	struct tcp_sock *tp = sender(test, 100);
	struct sock *sk = (struct sock *)tp;
	struct mccp_path *ca = inet_csk_ca(sk);
	u32 i;

	ca->mccp.rtt_min_us = 50000;
	KUNIT_EXPECT_EQ(test, (int)ca->mccp.mode, MCCP_PROBING);
	KUNIT_EXPECT_EQ(test, after_burst(sk), 101);
	mccp_in_ack_event(sk, CA_ACK_SLOWPATH | CA_ACK_ECE);
	mccp_path_pkts_acked(sk, &sample);
	mccp_in_ack_event(sk, 0);
	for (i = 0; i < 16; i++) {
		KUNIT_EXPECT_EQ(test, after_burst(sk), 10);
		mccp_path_pkts_acked(sk, &sample);	/* a round trip: nothing is in flight */
	}
	KUNIT_EXPECT_EQ(test, after_burst(sk), 101);
	mccp_release(sk);
}

/* The initial ssthresh is for paths of 1 ms and more. */
static void initial_ssthresh(struct kunit *test)
{
	static const u32 rtts_us[] = { 999, 1000 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rtts_us); i++) {
		struct tcp_sock *tp = sender(test, 10);
		struct sock *sk = (struct sock *)tp;

		mccp_release(sk);
		tp->srtt_us = rtts_us[i] << 3;
		tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
		mccp_path_start(sk);
		KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, i ? 24 : TCP_INFINITE_SSTHRESH);
		mccp_release(sk);
	}
}

static struct kunit_case mccp_path_cases[] = {
	KUNIT_CASE(burst_shows_path),
	KUNIT_CASE(bursts),
	KUNIT_CASE(growth),
	KUNIT_CASE(grows),
	KUNIT_CASE(loss),
	KUNIT_CASE(undone),
	KUNIT_CASE(mark),
	KUNIT_CASE(marks_hide_bursts),
	KUNIT_CASE(initial_ssthresh),
	{}
};

static struct kunit_suite mccp_path_suite = {
	.name = "tcp_mccp_path",
	.test_cases = mccp_path_cases,
};

kunit_test_suite(mccp_path_suite);
