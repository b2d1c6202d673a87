// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of JTCP: the jitter ratio, and which losses are congestion. */
#include "../../rivals/tcp_jtcp.c"

#include <kunit/test.h>

#include "near.h"

/* 100 Mb/s, 100 ms: 826 packets of 121 us each */
#define CWND	826
#define RTT_US	100000
#define SEG_US	121

/* jtcp_growth() for a queue that grows by @segs packets in a round trip */
static s64 growth(s32 segs)
{
	struct jtcp_window i = { 0U - 50000, RTT_US }, j = i;

	j.stamp += RTT_US + segs * SEG_US;
	j.transit += segs * SEG_US;
	return jtcp_growth(&i, &j, CWND);
}

/* Jr * cwnd is the growth in packets; from k on, after rounding, it is congestion */
static void growth_is_in_packets(struct kunit *test)
{
	int k;

	KUNIT_EXPECT_EQ(test, growth(0), 0);
	EXPECT_NEAR(test, growth(1), 1 << JTCP_SCALE, 10000);
	EXPECT_NEAR(test, growth(10), 10 << JTCP_SCALE, 20000);
	KUNIT_EXPECT_LT(test, growth(-1), 0);
	for (k = 1; k < 5; k++) {
		KUNIT_EXPECT_TRUE(test, jtcp_grows(growth(k), k));
		KUNIT_EXPECT_FALSE(test, jtcp_grows(growth(k - 1), k));
	}
	KUNIT_EXPECT_FALSE(test, jtcp_grows(growth(-1), 1));
	/* without rounding, a full link in congestion avoidance (0.99 packets) would not be one */
	KUNIT_EXPECT_LT(test, growth(1), 1 << JTCP_SCALE);
}

static void growth_is_bounded(struct kunit *test)
{
	struct jtcp_window i = { 0, 0 }, j = { S32_MAX, S32_MAX };

	KUNIT_EXPECT_EQ(test, jtcp_growth(&i, &i, U32_MAX), 0);
	EXPECT_NEAR(test, jtcp_growth(&i, &j, U32_MAX), (s64)JTCP_CWND_MAX << JTCP_SCALE, 1);
	EXPECT_NEAR(test, -jtcp_growth(&i, &(struct jtcp_window){ S32_MAX, 0U - S32_MAX }, U32_MAX),
		    (s64)JTCP_CWND_MAX << JTCP_SCALE, 1);
	/* a queue cannot grow by more than was sent */
	KUNIT_EXPECT_EQ(test, jtcp_growth(&i, &(struct jtcp_window){ 10, 10000 }, 100),
			100 << JTCP_SCALE);
	/* the second sample is older, as after half an hour */
	KUNIT_EXPECT_EQ(test, jtcp_growth(&j, &i, 100), 0);
}

/* The queue is full in the last eighth of its range, if that range is at least a millisecond */
static void queue_is_full(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, jtcp_full(150000, 100000, 150000));
	KUNIT_EXPECT_TRUE(test, jtcp_full(143750, 100000, 150000));
	KUNIT_EXPECT_FALSE(test, jtcp_full(143749, 100000, 150000));
	KUNIT_EXPECT_FALSE(test, jtcp_full(100999, 100000, 100999));
	KUNIT_EXPECT_TRUE(test, jtcp_full(101000, 100000, 101000));
}

struct flow {
	struct inet_connection_sock *icsk;
	struct tcp_sock *tp;
	struct sock *sk;
};

static void begin(struct kunit *test, struct flow *f, u32 cwnd)
{
	f->tp = kunit_kzalloc(test, sizeof(*f->tp), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->tp);
	f->sk = (struct sock *)f->tp;
	f->icsk = inet_csk(f->sk);
	tcp_snd_cwnd_set(f->tp, cwnd);
	f->tp->snd_ssthresh = 500;
	f->tp->tcp_mstamp = USEC_PER_SEC;
	jtcp_init(f->sk);
}

/* The ACKs of one window, during which the rtt changes from @from_us to @to_us */
static void window(struct flow *f, u32 from_us, u32 to_us)
{
	u32 i, cwnd = tcp_snd_cwnd(f->tp);

	for (i = 1; i <= cwnd; i++) {
		s32 more = (s32)(to_us - from_us) * (s32)i / (s32)cwnd;
		struct ack_sample sample = { .pkts_acked = 1, .rtt_us = from_us + more };

		f->tp->delivered++;
		f->tp->tcp_mstamp += RTT_US / cwnd;
		jtcp_acked(f->sk, &sample);
	}
}

/* The window after a loss */
static u32 loss(struct flow *f)
{
	return jtcp_ssthresh(f->sk);
}

/*
 * A queue that grows by one per window is congestion.  A constant queue is noise, except if the
 * additional check finds it full.
 */
static void losses_are_told_apart(struct kunit *test)
{
	static const u32 cwnds[] = { 4, 12, 100, CWND };
	struct flow f;
	int i;

	for (i = 0; i < ARRAY_SIZE(cwnds); i++) {
		u32 cwnd = cwnds[i], seg_us = RTT_US / cwnd;

		begin(test, &f, cwnd);
		/* nothing is known yet */
		KUNIT_EXPECT_EQ(test, loss(&f), cwnd / 2);
		window(&f, RTT_US, RTT_US);
		window(&f, RTT_US, RTT_US);
		KUNIT_EXPECT_EQ(test, loss(&f), cwnd);
		window(&f, RTT_US, RTT_US + seg_us);
		window(&f, RTT_US + seg_us, RTT_US + 2 * seg_us);
		KUNIT_EXPECT_EQ(test, loss(&f), cwnd / 2);

		window(&f, RTT_US + 50000, RTT_US + 50000);
		window(&f, RTT_US + 50000, RTT_US + 50000);
		KUNIT_EXPECT_EQ(test, loss(&f), cwnd / 2);
		jtcp_guard = 0;
		KUNIT_EXPECT_EQ(test, loss(&f), cwnd);
		jtcp_guard = 1;
		/* a half full queue is not congestion */
		window(&f, RTT_US + 25000, RTT_US + 25000);
		window(&f, RTT_US + 25000, RTT_US + 25000);
		KUNIT_EXPECT_EQ(test, loss(&f), cwnd);
		/* a mark is congestion */
		jtcp_ack(f.sk, CA_ACK_ECE);
		KUNIT_EXPECT_EQ(test, loss(&f), cwnd / 2);
		jtcp_ack(f.sk, 0);
		/* after a pause the history is forgotten */
		jtcp_restart(f.sk);
		KUNIT_EXPECT_EQ(test, loss(&f), cwnd / 2);
	}
}

static struct kunit_case jtcp_cases[] = {
	KUNIT_CASE(growth_is_in_packets),
	KUNIT_CASE(growth_is_bounded),
	KUNIT_CASE(queue_is_full),
	KUNIT_CASE(losses_are_told_apart),
	{}
};

static struct kunit_suite jtcp_suite = {
	.name = "tcp_jtcp",
	.test_cases = jtcp_cases,
};

kunit_test_suite(jtcp_suite);
