// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of TCP New Jersey: the estimate, the receiver's clock, and losses. */
#include "../../rivals/tcp_newjersey.c"

#include <kunit/test.h>

#include "near.h"

#define RTT_US	100000

/* 12.5 MB/s in segments of 1500 bytes: a segment every 120 us, NJ_SCALE */
#define PAPER	div_u64(BIT_ULL(NJ_SCALE), 120)

/* The estimate after @n ACKs for @segs segments each, one every @us */
static u64 estimate(u32 n, u32 segs, u32 us)
{
	u64 rate = 0;

	while (n--)
		rate = nj_filter(rate, segs, us, RTT_US);
	return rate;
}

/* The estimate moves by 1 - 1 / e in tau, also if ACKs are delayed, lost or come together */
static void estimate_converges(struct kunit *test)
{
	u64 rate = 0;
	int i;

	EXPECT_NEAR(test, estimate(833, 1, 120), div_u64(PAPER * 6321, 10000), 2000);
	EXPECT_NEAR(test, estimate(8330, 1, 120), PAPER, 1000);
	EXPECT_NEAR(test, estimate(4165, 2, 240), PAPER, 10000);
	EXPECT_NEAR(test, estimate(833, 10, 1200), PAPER, 10000);
	/* 25 segments in three ticks of a millisecond */
	for (i = 0; i < 16660; i++)
		rate = nj_filter(rate, 1, i % 25 == 8 || i % 25 == 16 || i % 25 == 24 ? 1000 : 0,
				 RTT_US);
	EXPECT_NEAR(test, rate, PAPER, 10000);
}

static void estimate_is_bounded(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, nj_filter(7, 5, 0, 0), 7);
	KUNIT_EXPECT_EQ(test, nj_filter(0, U32_MAX, 1, 0), NJ_RATE_MAX);
	KUNIT_EXPECT_EQ(test, nj_filter(NJ_RATE_MAX, U32_MAX, 0, 1), NJ_RATE_MAX);
	KUNIT_EXPECT_LE(test, nj_filter(NJ_RATE_MAX, 0, RIVAL_TIME_CAP, RIVAL_TIME_CAP),
			NJ_RATE_MAX / 2);
	KUNIT_EXPECT_EQ(test, nj_ownd(0, RTT_US), 2);
	KUNIT_EXPECT_EQ(test, nj_ownd(NJ_RATE_MAX, RIVAL_TIME_CAP), S32_MAX);
	/* 833 segments are a tenth of a second at this rate */
	KUNIT_EXPECT_EQ(test, nj_ownd(PAPER, RTT_US), 833);
}

/* Kernels use units of 1 us, 1, 4 and 10 ms; a unit that differs by a quarter is refused */
static void unit_is_found(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rival_clock_unit(USEC_PER_SEC, USEC_PER_SEC), 1);
	KUNIT_EXPECT_EQ(test, rival_clock_unit(USEC_PER_SEC, 1000), 1000);
	KUNIT_EXPECT_EQ(test, rival_clock_unit(USEC_PER_SEC, 1200), 1000);
	KUNIT_EXPECT_EQ(test, rival_clock_unit(USEC_PER_SEC, 250), 4000);
	KUNIT_EXPECT_EQ(test, rival_clock_unit(USEC_PER_SEC, 100), 10000);
	KUNIT_EXPECT_EQ(test, rival_clock_unit(USEC_PER_SEC, 500), 0);
	KUNIT_EXPECT_EQ(test, rival_clock_unit(USEC_PER_SEC, 0), 0);
	KUNIT_EXPECT_EQ(test, rival_clock_unit(S32_MAX, U32_MAX), 0);
}

/*
 * Times of ACK arrivals are used until the unit is known, then the receiver's times.  An ACK that
 * was overtaken has none.
 */
static void clock_is_the_receivers(struct kunit *test)
{
	u32 now_us = 0U - 500000, tsval = 0U - 600;
	struct rival_clock c = {};
	int i;

	c.now_us = now_us;
	for (i = 0; i < 101; i++) {
		now_us += 10000;
		tsval += 10;
		KUNIT_EXPECT_EQ(test, rival_clock_ack(&c, now_us, tsval, true), 10000);
	}
	KUNIT_EXPECT_EQ(test, c.unit_us, 1000);
	/* ACKs that come closer together after a queue on the way back */
	KUNIT_EXPECT_EQ(test, rival_clock_ack(&c, now_us + 100, tsval + 7, true), 7000);
	KUNIT_EXPECT_EQ(test, rival_clock_ack(&c, now_us + 200, tsval + 5, true), 0);
	KUNIT_EXPECT_EQ(test, rival_clock_ack(&c, now_us + 300, tsval + 8, true), 1000);
	KUNIT_EXPECT_EQ(test, rival_clock_ack(&c, now_us + 900, 0, false), 600);
	c.idle = 1;
	KUNIT_EXPECT_EQ(test, rival_clock_ack(&c, now_us + 9900, tsval + 5000, true), 0);
	KUNIT_EXPECT_EQ(test, rival_clock_ack(&c, now_us + 9900, tsval + 5001, true), 1000);
	KUNIT_EXPECT_EQ(test, rival_clock_ack(&c, now_us, tsval + 2000000000, true),
			RIVAL_TIME_CAP);
}

/* Slow start continues after noise, and ends at the same ssthresh */
static void kept_loss_ends_nothing(struct kunit *test)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;
	u32 before = 0;

	KUNIT_ASSERT_NOT_NULL(test, tp);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tcp_snd_cwnd_set(tp, 40);
	tp->snd_ssthresh = rival_keep(sk, &before);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 40);
	rival_event(sk, CA_EVENT_COMPLETE_CWR, &before);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, TCP_INFINITE_SSTHRESH);
	KUNIT_EXPECT_EQ(test, before, 0);
	/* after a timeout slow start ends at the window */
	tp->snd_ssthresh = rival_keep(sk, &before);
	rival_event(sk, CA_EVENT_LOSS, &before);
	rival_event(sk, CA_EVENT_COMPLETE_CWR, &before);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 40);
}

static void ecn_is_negotiated(struct tcp_sock *tp)
{
#ifdef TCP_ECN_OK
	tp->ecn_flags = TCP_ECN_OK;
#else
	tcp_ecn_mode_set(tp, TCP_ECN_MODE_RFC3168);
#endif
}

/* ownd is 833 segments, and the window is 1000: with and without warnings by routers */
static void losses_are_told_apart(struct kunit *test)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;
	struct nj *ca = inet_csk_ca(sk);

	KUNIT_ASSERT_NOT_NULL(test, tp);
	tp->tcp_mstamp = USEC_PER_SEC;
	tp->srtt_us = RTT_US << 3;
	minmax_reset(&tp->rtt_min, 0, RTT_US);
	tcp_snd_cwnd_set(tp, 1000);
	tp->rx_opt.tstamp_ok = 1;
	nj_init(sk);
	ca->rate = PAPER;

	/* without ECN, and without timestamps, as Reno */
	KUNIT_EXPECT_EQ(test, nj_ssthresh(sk), 500);
	ecn_is_negotiated(tp);
	tp->rx_opt.tstamp_ok = 0;
	KUNIT_EXPECT_EQ(test, nj_ssthresh(sk), 500);
	tp->rx_opt.tstamp_ok = 1;

	/* no router has ever warned: with nj_careful, and as printed */
	KUNIT_EXPECT_EQ(test, nj_ssthresh(sk), 833);
	nj_careful = 0;
	KUNIT_EXPECT_EQ(test, nj_ssthresh(sk), 1000);
	nj_careful = 1;

	/* a warning lasts until everything that was in flight at that time is acknowledged */
	tp->snd_una = 5000;
	tp->snd_nxt = 9000;
	nj_ack(sk, CA_ACK_ECE);
	ca->rate = PAPER;
	KUNIT_EXPECT_EQ(test, nj_ssthresh(sk), 833);
	tp->snd_una = 8999;
	nj_ack(sk, 0);
	ca->rate = PAPER;
	KUNIT_EXPECT_EQ(test, nj_ssthresh(sk), 833);
	tp->snd_una = 9000;
	nj_ack(sk, 0);
	ca->rate = PAPER;
	KUNIT_EXPECT_EQ(test, nj_ssthresh(sk), 1000);

	/* a larger ownd does not increase the window */
	tcp_snd_cwnd_set(tp, 100);
	nj_ack(sk, CA_ACK_ECE);
	ca->rate = PAPER;
	KUNIT_EXPECT_EQ(test, nj_ssthresh(sk), 100);
}

/*
 * Requests of one or of four segments, with a pause of a second before each.  The path delivers two
 * segments in 240 us.  One ACK alone shows nothing, and two ACKs show this rate.
 */
static void pauses_are_no_rate(struct kunit *test)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;
	struct nj *ca = inet_csk_ca(sk);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, tp);
	tp->srtt_us = RTT_US << 3;
	tcp_snd_cwnd_set(tp, 1000);
	tp->rx_opt.tstamp_ok = 1;
	ecn_is_negotiated(tp);
	nj_init(sk);
	for (i = 0; i < 1000; i++) {
		nj_restart(sk);
		tp->tcp_mstamp += USEC_PER_SEC;
		tp->delivered++;
		nj_ack(sk, 0);
	}
	KUNIT_EXPECT_EQ(test, ca->rate, 0);
	KUNIT_EXPECT_EQ(test, nj_ssthresh(sk), 500);

	for (i = 0; i < 8000; i++) {
		nj_restart(sk);
		tp->tcp_mstamp += USEC_PER_SEC;
		tp->delivered += 2;
		nj_ack(sk, 0);
		tp->tcp_mstamp += 240;
		tp->delivered += 2;
		nj_ack(sk, 0);
	}
	EXPECT_NEAR(test, ca->rate, PAPER, 10000);
}

static struct kunit_case nj_cases[] = {
	KUNIT_CASE(estimate_converges),
	KUNIT_CASE(estimate_is_bounded),
	KUNIT_CASE(unit_is_found),
	KUNIT_CASE(clock_is_the_receivers),
	KUNIT_CASE(kept_loss_ends_nothing),
	KUNIT_CASE(losses_are_told_apart),
	KUNIT_CASE(pauses_are_no_rate),
	{}
};

static struct kunit_suite nj_suite = {
	.name = "tcp_newjersey",
	.test_cases = nj_cases,
};

kunit_test_suite(nj_suite);
