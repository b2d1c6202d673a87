// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ACP's law with the numbers of the paper: 1000-byte packets, its
 * Table I, and the filter of Eq. 4.
 */
#include "../../tcp_acp_host.c"

#include <kunit/test.h>

#include "near.h"

#define MBPS	125000ULL

static u64 segs(u64 n)
{
	return n << ACP_SCALE;
}

/* Eq. 3: rates that share a link of C among N make windows of C * rtt / N */
static void desired_window(struct kunit *test)
{
	/* 50 users of 155 Mb/s at 80 ms, 1000 bytes: 31 packets */
	KUNIT_EXPECT_EQ(test, acp_desired(155 * MBPS / 50, 80000, 1000),
			segs(31));
	/* Fig. 7: 77.5 Mb/s at 80 ms is 775 packets */
	KUNIT_EXPECT_EQ(test, acp_desired(77500000 / 8, 80000, 1000),
			segs(775));
	/* a packet's fraction counts: 1 Mb/s at 10 ms are 1.25 packets */
	KUNIT_EXPECT_EQ(test, acp_desired(MBPS, 10000, 1000),
			segs(1) + ACP_ONE / 4);
	KUNIT_EXPECT_EQ(test, acp_desired(0, 80000, 1000), 0);
}

static void desired_is_bounded(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, acp_desired(TCPCC_FB_RATE_MAX, ACP_RTT_CAP, 0),
			ACP_MOST);
	/* 400 Gb/s, 10 s, 1500 bytes */
	EXPECT_NEAR(test, acp_desired(50000000000ULL, 10 * USEC_PER_SEC, 1500),
		    segs(333333333), 1);
	/* 400 Gb/s, 10 us: 333 packets; 1 kb/s, 10 us: nothing */
	EXPECT_NEAR(test, acp_desired(50000000000ULL, 10, 1500), segs(1000) / 3,
		    10);
	EXPECT_NEAR(test, acp_desired(125, 10, 1500), 0, 0);
}

/* From a window of 1 the first ACK goes all the way: the gain is 1. */
static void first_ack(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, acp_filter(ACP_ONE, segs(775), false, 10, 1),
			segs(775));
	EXPECT_NEAR(test, acp_filter(ACP_ONE, segs(771), true, 10, 1),
		    segs(78), 1);
}

/* As a user it goes 1 - 1/e of it, unless it is told that the link is congested. */
static void first_step(struct kunit *test)
{
	u64 whole = segs(775), part = ACP_ONE + 774 * ACP_ONE * 632 / 1000;

	EXPECT_NEAR(test, acp_first_step(ACP_ONE, whole, false, 632), part, 0);
	KUNIT_EXPECT_EQ(test, acp_first_step(ACP_ONE, whole, false, 1000), whole);
	KUNIT_EXPECT_EQ(test, acp_first_step(ACP_ONE, whole, true, 632), whole);
	KUNIT_EXPECT_EQ(test, acp_first_step(ACP_ONE + 1, whole, false, 632),
			whole);
	KUNIT_EXPECT_EQ(test, acp_first_step(ACP_ONE, ACP_ONE / 2, false, 632),
			ACP_ONE / 2);
	EXPECT_NEAR(test, acp_first_step(ACP_ONE, ACP_MOST, false, 632),
		    ACP_MOST / 1000 * 632, 10);
}

/* One window of ACKs is one time constant: 1 - 1/e of the way */
static void one_round_trip(struct kunit *test)
{
	u64 w = acp_filter(segs(1000), segs(1010), false, 10, 1000);

	EXPECT_NEAR(test, w, segs(1000) + 10 * 41427, 1000);
	/* a tenth of the gain in congestion, but only to grow */
	w = acp_filter(segs(1000), segs(1010), true, 10, 1000);
	EXPECT_NEAR(test, w, segs(1000) + 10 * 6236, 1000);
	KUNIT_EXPECT_EQ(test, acp_filter(segs(1000), segs(990), true, 10, 77),
			acp_filter(segs(1000), segs(990), false, 10, 77));
}

/* Eq. 4 as it is printed, once for each segment */
static u64 filter_by_segments(u64 window, u64 desired, bool congested, u32 slow,
			      u32 acked)
{
	while (acked--) {
		u64 gain = congested && desired > window ? slow : 1;

		if (desired > window)
			window += div64_u64((desired - window) << ACP_SCALE,
					    window * gain);
		else
			window -= div64_u64((window - desired) << ACP_SCALE,
					    window);
		window = max(window, ACP_ONE);
	}
	return window;
}

/*
 * One segment in an ACK is Eq. 4 exactly; many are as many ACKs to 1/500 of the
 * window or, if that is longer, of the way that it goes.
 */
static void per_segment(struct kunit *test)
{
	static const u64 windows[] = {
		ACP_ONE, 3 * ACP_ONE / 2, 2 * ACP_ONE, 3 * ACP_ONE, 10 * ACP_ONE,
		31 * ACP_ONE, 138 * ACP_ONE, 775 * ACP_ONE, 20000 * ACP_ONE,
		ACP_MOST / 3, ACP_MOST,
	};
	static const u64 desireds[] = {
		0, ACP_ONE / 6, ACP_ONE, 3 * ACP_ONE / 2, 5 * ACP_ONE,
		31 * ACP_ONE, 32 * ACP_ONE, 160 * ACP_ONE, 775 * ACP_ONE,
		9000 * ACP_ONE, 21000 * ACP_ONE, ACP_MOST / 2, ACP_MOST,
	};
	static const u32 segments[] = {
		0, 1, 2, 3, 4, 7, 10, 16, 44, 100, 255, 700, ACP_ACKED_MAX,
	};
	int i, j, k, congested;

	for (i = 0; i < ARRAY_SIZE(windows) * ARRAY_SIZE(desireds); i++)
		for (k = 0; k < ARRAY_SIZE(segments); k++)
			for (congested = 0; congested < 2; congested++) {
				u64 w = windows[i % ARRAY_SIZE(windows)];
				u64 want, have, most;
				u32 n = segments[k];

				j = i / ARRAY_SIZE(windows);
				want = filter_by_segments(w, desireds[j],
							  congested, 10, n);
				have = acp_filter(w, desireds[j], congested, 10,
						  n);
				most = max(want, w) - min(want, w);
				most = n > 1 ? div_u64(max(most, want), 500) : 0;
				KUNIT_EXPECT_LE_MSG(test,
						    abs((s64)have - (s64)want),
						    most,
						    "%llu to %llu, %u segments: %llu, not %llu",
						    w, desireds[j], n, have,
						    want);
			}
}

static void power(struct kunit *test)
{
	u64 one = BIT_ULL(ACP_LEFT);

	KUNIT_EXPECT_EQ(test, acp_power(one, 1024), one);
	KUNIT_EXPECT_EQ(test, acp_power(one / 3, 0), one);
	KUNIT_EXPECT_EQ(test, acp_power(one / 3, 1), one / 3);
	KUNIT_EXPECT_EQ(test, acp_power(one / 2, 5), one / 32);
	KUNIT_EXPECT_EQ(test, acp_power(0, 3), 0);
	/* (1 - 1/1000)^1000 = 0.367695 */
	EXPECT_NEAR(test, acp_power(one - one / 1000, 1000),
		    one / 1000000 * 367695, 10);
}

/* What may be in flight is the window, at most rounded up. */
static void packets(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, acp_packets(ACP_ONE, true), 1);
	KUNIT_EXPECT_EQ(test, acp_packets(ACP_ONE, false), 1);
	KUNIT_EXPECT_EQ(test, acp_packets(ACP_ONE + 1, true), 2);
	KUNIT_EXPECT_EQ(test, acp_packets(ACP_ONE + 1, false), 1);
	KUNIT_EXPECT_EQ(test, acp_packets(segs(31), true), 31);
	KUNIT_EXPECT_EQ(test, acp_packets(segs(32) - 1, true), 32);
	KUNIT_EXPECT_EQ(test, acp_packets(segs(32) - 1, false), 31);
	KUNIT_EXPECT_EQ(test, acp_packets(ACP_MOST, true), BIT(30));
}

/* It converges to what is desired, from both sides, to a part in 10^4. */
static void converges(struct kunit *test)
{
	static const u32 table_1[] = { 56, 13, 37, 9 };	/* max-min windows */
	static const u64 from[] = { 1, 40, 5000 };
	int i, j, k;

	for (i = 0; i < ARRAY_SIZE(table_1); i++)
		for (j = 0; j < ARRAY_SIZE(from); j++) {
			u64 w = segs(from[j]);

			for (k = 0; k < 200; k++)
				w = acp_filter(w, segs(table_1[i]), k & 1, 10,
					       w >> ACP_SCALE);
			EXPECT_NEAR(test, w, segs(table_1[i]), 100);
		}
}

/* Eq. 5, and no step that overflows */
static void window_is_bounded(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, acp_filter(segs(2), 0, false, 10, 1000), ACP_ONE);
	KUNIT_EXPECT_EQ(test, acp_filter(ACP_ONE, 0, true, 10, 1), ACP_ONE);
	KUNIT_EXPECT_EQ(test, acp_filter(ACP_ONE, ACP_MOST, false, 10, 1),
			ACP_MOST);
	KUNIT_EXPECT_GE(test, acp_filter(ACP_MOST, 0, false, 10, U32_MAX),
			ACP_ONE);
	KUNIT_EXPECT_LE(test, acp_filter(ACP_MOST - 1, ACP_MOST, false, 10,
					 U32_MAX), ACP_MOST);
}

static void spread(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, acp_spread_us(80000, 80000), 80000);
	KUNIT_EXPECT_EQ(test, acp_spread_us(90000, 80000), 85000);
	KUNIT_EXPECT_EQ(test, acp_spread_us(160001, 80000), 120000);
	KUNIT_EXPECT_EQ(test, acp_spread_us(U32_MAX, 80000), 120000);
	KUNIT_EXPECT_EQ(test, acp_spread_us(0, 80000), 80000);
	KUNIT_EXPECT_EQ(test, acp_spread_us(79999, 80000), 80000);
	KUNIT_EXPECT_EQ(test, acp_spread_us(U32_MAX, ACP_RTT_CAP),
			ACP_RTT_CAP / 2 * 3);
}

static void pacing_rate(struct kunit *test)
{
	/* 31 segments of 960 bytes in 80 ms */
	KUNIT_EXPECT_EQ(test, acp_rate(segs(31), 960, 80000), 372000);
	EXPECT_NEAR(test, acp_rate(segs(333333333), 1448, 10 * USEC_PER_SEC),
		    48266666618LL, 10);
	KUNIT_EXPECT_GT(test, acp_rate(ACP_MOST, U16_MAX, 0), 0);
	KUNIT_EXPECT_GT(test, acp_rate(ACP_MOST, U16_MAX, U32_MAX), 0);
	KUNIT_EXPECT_EQ(test, acp_rate(0, 1448, 10), 0);
}

/* RFC 6937: half of the window goes, one for two, and the first at once */
static void reduction(struct kunit *test)
{
	u32 in_flight = 99, out = 0, delivered;

	KUNIT_EXPECT_EQ(test, acp_reduction(99, 50, 100, 1, 0, 1), 1);
	for (delivered = 1; delivered <= 98; delivered++) {
		u32 send;

		in_flight--;
		send = acp_reduction(in_flight, 50, 100, delivered, out, 1);
		KUNIT_EXPECT_LE(test, send, 2);
		out += send;
		in_flight += send;
	}
	EXPECT_NEAR(test, out, 49, 50000);
	KUNIT_EXPECT_EQ(test, in_flight, 50);
	/* far below it: slow start's two for one, no more */
	KUNIT_EXPECT_EQ(test, acp_reduction(10, 50, 100, 5, 5, 1), 2);
	KUNIT_EXPECT_EQ(test, acp_reduction(50, 50, 100, 5, 5, 1), 0);
	/* no division by nothing */
	KUNIT_EXPECT_GE(test, acp_reduction(5, 2, 0, 1, 0, 1), 1);
}

static struct kunit_case acp_cases[] = {
	KUNIT_CASE(desired_window),
	KUNIT_CASE(desired_is_bounded),
	KUNIT_CASE(first_ack),
	KUNIT_CASE(first_step),
	KUNIT_CASE(one_round_trip),
	KUNIT_CASE(per_segment),
	KUNIT_CASE(power),
	KUNIT_CASE(packets),
	KUNIT_CASE(converges),
	KUNIT_CASE(window_is_bounded),
	KUNIT_CASE(spread),
	KUNIT_CASE(pacing_rate),
	KUNIT_CASE(reduction),
	{}
};

static struct kunit_suite acp_suite = {
	.name = "tcp_acp",
	.test_cases = acp_cases,
};

kunit_test_suite(acp_suite);
