// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of CCPD's laws, estimators and parameters, with the numbers of
 * the paper and of the algebra that its header derives.
 */
#include "../../tcp_ccpd.c"

#include <kunit/test.h>

#include "near.h"

/* Rate of a link of @mbps that carries frames of 1514 bytes, BW_SCALE */
static u32 link_bw(u32 mbps)
{
	return div_u64(((u64)mbps << BW_SCALE), 8 * 1514);
}

static s64 segs(s64 n)
{
	return n << SEG_SCALE;
}

/* Eq. 4 from 1 Mb/s to 400 Gb/s: a pair of full frames, ns clock */
static void capacity_is_exact(struct kunit *test)
{
	static const u32 mbps[] = { 1, 10, 100, 1000, 10000, 100000, 400000 };
	int i;

	for (i = 0; i < ARRAY_SIZE(mbps); i++) {
		u64 span_ns = div_u64(1514ULL * 8 * 1000, mbps[i]);
		/* 1 ns of 30 is 3 %: that is the clock's, so use ten pairs */
		u32 bw = ccpd_bw(10 * 1448, 1448, 10 * span_ns);

		EXPECT_NEAR(test, bw, link_bw(mbps[i]), 10000);
	}
}

static void capacity_survives_nonsense(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ccpd_bw(1448, 1448, 0), 0);
	KUNIT_EXPECT_EQ(test, ccpd_bw(1448, 0, 1000), 0);
	KUNIT_EXPECT_EQ(test, ccpd_bw(0, 1448, 1000), 0);
	KUNIT_EXPECT_EQ(test, ccpd_bw((1 << 30) - 1, 1, 1), U32_MAX);
	/* one segment in 4 s, 3 kbit/s, still is something */
	KUNIT_EXPECT_GT(test, ccpd_bw(1448, 1448, U32_MAX), 0);
}

/* bytes/s of a rate, both ways */
static void rate_in_bytes(struct kunit *test)
{
	EXPECT_NEAR(test, ccpd_bytes_ps(link_bw(1000), 1514), 125000000, 1000);
	EXPECT_NEAR(test, ccpd_bytes_ps(link_bw(400000), 1514), 50000000000LL,
		    1000);
	EXPECT_NEAR(test, ccpd_bytes_ps(link_bw(1), 1514), 125000, 1000);
	KUNIT_EXPECT_GT(test, ccpd_bytes_ps(U32_MAX, U16_MAX), 0);
}

/* Eqs. 5 and 6: 1 Gb/s, 190 ms: 15687 segments of 1514 bytes in the pipe */
static void buffer_from_rtts(struct kunit *test)
{
	EXPECT_NEAR(test, ccpd_segs(link_bw(1000), 190000), segs(15687), 200);
	/* 700 packets of buffer are 8.478 ms */
	EXPECT_NEAR(test, ccpd_segs(link_bw(1000), 8478), segs(700), 2000);
	KUNIT_EXPECT_EQ(test, ccpd_segs(0, CCPD_RTT_CAP), 0);
	KUNIT_EXPECT_GT(test, ccpd_segs(U32_MAX, CCPD_RTT_CAP), 0);
}

/*
 * Eq. 3 in equilibrium, from its algebra (d = 0).  For each pipe and buffer the
 * window at which the law answers with the window itself.
 */
static void law_in_equilibrium(struct kunit *test)
{
	static const struct {
		u32 kp, pipe, buffer, window;
	} c[] = {
		/* the paper's path: 700 packets, never full: Kp B / (1 + Kp) */
		{ 2, 15687, 700, 467 },
		{ 4, 15687, 700, 560 },
		{ 2, 1000, 1000, 667 },
		/* Kp (B + P) / (1 + 2 Kp), once B >= P (1 + 1 / Kp) */
		{ 2, 1000, 2000, 1200 },
		{ 4, 1000, 2000, 1333 },
		{ 1, 1000, 2000, 1000 },
		{ 8, 1000, 2000, 1412 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		s64 queue = max_t(s64, 0, (s64)c[i].window - c[i].pipe);
		s64 p = ccpd_p_term(c[i].kp, segs(c[i].buffer), segs(queue),
				    segs(c[i].window));

		/* the table's windows are rounded, and Kp multiplies that */
		KUNIT_EXPECT_LE(test, abs(p - segs(c[i].window)),
				segs(c[i].kp * 2));
		KUNIT_EXPECT_LT(test, queue, c[i].buffer / 2);
	}
}

/* Full buffer: the law closes the window rather than overflow it. */
static void law_is_bounded(struct kunit *test)
{
	s64 p = ccpd_p_term(2, segs(700), segs(700), segs(100));

	KUNIT_EXPECT_LT(test, p, 0);
	KUNIT_EXPECT_EQ(test, ccpd_window(p, segs(1000)), 2);
	KUNIT_EXPECT_EQ(test, ccpd_window(segs(5000), segs(1000)), 1000);
	KUNIT_EXPECT_EQ(test, ccpd_window(S64_MAX, S64_MAX), S32_MAX);
	KUNIT_EXPECT_EQ(test, ccpd_window(S64_MIN, 0), 2);
	/* nothing measured: the least window */
	KUNIT_EXPECT_EQ(test, ccpd_window(ccpd_p_term(2, 0, 0, segs(10)), 0),
			2);
}

/* Kd = 100 us at 1 Gb/s: a segment more every 12.1 us is 8.26 segments off. */
static void derivative_has_its_unit(struct kunit *test)
{
	s64 big = segs(100000);

	EXPECT_NEAR(test, ccpd_d_term(100, segs(100), segs(101), 12112, big),
		    -2114, 1000);
	EXPECT_NEAR(test, ccpd_d_term(100, segs(101), segs(100), 12112, big),
		    2114, 1000);
	EXPECT_NEAR(test, ccpd_d_term(1000, segs(101), segs(100), 121120, big),
		    2114, 1000);
	KUNIT_EXPECT_EQ(test, ccpd_d_term(0, segs(1), segs(9), 1000, big), 0);
	KUNIT_EXPECT_EQ(test, ccpd_d_term(100, segs(9), segs(9), 0, big), 0);
}

static void derivative_is_limited(struct kunit *test)
{
	/* ACKs of one instant: dt is 1 us, the term B / 32 */
	KUNIT_EXPECT_EQ(test, ccpd_d_term(100, segs(400), segs(410), 0,
					  segs(320)), -segs(10));
	KUNIT_EXPECT_EQ(test, ccpd_d_term(100000, segs(0), segs(1 << 20), 1,
					  segs(320)), -segs(10));
	KUNIT_EXPECT_EQ(test, ccpd_d_term(100000, U32_MAX, 0, U32_MAX,
					  segs(1ULL << 40)),
			div_s64(100000LL * 1000 * U32_MAX, S32_MAX));
}

/* Eq. 3 with our storage: one flow fills the pipe and q0, at any gain. */
static void path_fills_the_pipe(struct kunit *test)
{
	static const u32 gain[] = { 1, 2, 4, 16 };
	static const u32 mbps[] = { 1, 100, 1000, 400000 };
	int i, j;

	for (i = 0; i < ARRAY_SIZE(gain); i++) {
		for (j = 0; j < ARRAY_SIZE(mbps); j++) {
			u32 bw = link_bw(mbps[j]), rtt = 190000;
			u32 q0 = ccpd_path_queue_us(bw, rtt, rtt + rtt / 2);
			s64 w = ccpd_segs(bw, rtt + q0);
			s64 p = ccpd_path_storage(bw, gain[i], rtt, q0) +
				ccpd_p_term(gain[i], 0, ccpd_segs(bw, q0), w);

			EXPECT_NEAR(test, p, w, 10000);
		}
	}
}

/* q0: a sixteenth of the path, a quarter of a small buffer, never nothing */
static void path_queue_target(struct kunit *test)
{
	u32 bw = link_bw(1000);

	KUNIT_EXPECT_EQ(test, ccpd_path_queue_us(bw, 160000, 240000), 10000);
	KUNIT_EXPECT_EQ(test, ccpd_path_queue_us(bw, 160000, 176000), 4000);
	KUNIT_EXPECT_EQ(test, ccpd_path_queue_us(bw, 160000, 160000), 2501);
	KUNIT_EXPECT_EQ(test, ccpd_path_queue_us(0, 1, 1), 1);
	KUNIT_EXPECT_EQ(test, ccpd_path_queue_us(0, 10, CCPD_RTT_CAP), 1);
	/* three segments, where a sixteenth of the path is less: 36.3 us */
	KUNIT_EXPECT_EQ(test, ccpd_path_queue_us(bw, 100, 1000), 37);
	EXPECT_NEAR(test, ccpd_path_queue_us(link_bw(1), 40000, 400000), 36336,
		    1000);
}

static void path_claim_shares(struct kunit *test)
{
	u32 bw = link_bw(1000), q0 = 10000;
	u32 n;

	/* alone, or with a queue of 2 * q0: what it has */
	KUNIT_EXPECT_EQ(test, ccpd_path_claim(bw, bw, 0, q0), bw);
	KUNIT_EXPECT_EQ(test, ccpd_path_claim(2 * bw, bw, 0, q0), 2 * bw);
	KUNIT_EXPECT_EQ(test, ccpd_path_claim(bw / 9, bw, 2 * q0, q0), bw / 9);
	KUNIT_EXPECT_EQ(test, ccpd_path_claim(0, bw, 0, q0), 0);

	for (n = 2; n <= 1024; n *= 2) {
		u32 rate = bw / n;
		/* log2(n) * ln(2) / 8 of it more, half of that at q0 */
		u32 more = ccpd_path_claim(rate, bw, 0, q0) - rate;
		u32 half = ccpd_path_claim(rate, bw, q0, q0) - rate;

		EXPECT_NEAR(test, more, div_u64((u64)rate * ilog2(n) * 866,
						10000), 20000);
		EXPECT_NEAR(test, half, more / 2, 20000);
	}

	/* never more than the capacity, no overflow at its largest */
	KUNIT_EXPECT_LE(test, ccpd_path_claim(1, U32_MAX, 0, U32_MAX / 4),
			U32_MAX);
	KUNIT_EXPECT_EQ(test, ccpd_path_claim(U32_MAX - 1, U32_MAX, 0, 1000),
			U32_MAX - 1);
}

/* Fifty segments withdrawn at 1 Gb/s are 606 us of queue. */
static void path_verdict(struct kunit *test)
{
	u32 bw = link_bw(1000);

	KUNIT_EXPECT_EQ(test, ccpd_path_verdict(50, 0, bw, 6), CCPD_EMPTY);
	KUNIT_EXPECT_EQ(test, ccpd_path_verdict(50, 140, bw, 6), CCPD_EMPTY);
	KUNIT_EXPECT_EQ(test, ccpd_path_verdict(50, 606, bw, 6), CCPD_FOREIGN);
	KUNIT_EXPECT_EQ(test, ccpd_path_verdict(50, 1700, bw, 6), CCPD_FOREIGN);
	KUNIT_EXPECT_EQ(test, ccpd_path_verdict(50, 2000, bw, 6), CCPD_FRIENDLY);
	KUNIT_EXPECT_EQ(test, ccpd_path_verdict(50, 850, bw, 3), CCPD_FOREIGN);
	KUNIT_EXPECT_EQ(test, ccpd_path_verdict(50, 1000, bw, 3), CCPD_FRIENDLY);
	/* too little to be a witness, and no overflow at the largest */
	KUNIT_EXPECT_EQ(test, ccpd_path_verdict(8, 97, bw, 6), CCPD_FRIENDLY);
	KUNIT_EXPECT_EQ(test, ccpd_path_verdict(U32_MAX, U32_MAX, U32_MAX, 6),
			CCPD_FRIENDLY);
}

static void logarithm(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ccpd_log2(1), 0);
	KUNIT_EXPECT_EQ(test, ccpd_log2(2), 1 << 8);
	KUNIT_EXPECT_EQ(test, ccpd_log2(3), 3 << 7);
	KUNIT_EXPECT_EQ(test, ccpd_log2(1U << 31), 31 << 8);
	KUNIT_EXPECT_EQ(test, ccpd_log2(U32_MAX), (32 << 8) - 1);
}

/* The pair that waited least is believed, and forgotten after 32 others. */
static void pair_filter(struct kunit *test)
{
	struct ccpd ca = {};
	int i;

	KUNIT_EXPECT_EQ(test, ccpd_capacity(&ca), 0);
	ccpd_pair_add(&ca, 500, 2000);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&ca), 500);
	ccpd_pair_add(&ca, 900, 3000);	/* compressed behind a queue */
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&ca), 500);
	ccpd_pair_add(&ca, 600, 1000);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&ca), 600);
	for (i = 0; i < CCPD_PAIRS; i++)
		ccpd_pair_add(&ca, 300, 2000);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&ca), 600);
	for (i = 0; i < CCPD_PAIRS; i++)
		ccpd_pair_add(&ca, 300, 2000);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&ca), 300);
}

/* What a policer lets through is the capacity until enough pairs were seen. */
static void policer_caps(struct kunit *test)
{
	struct ccpd ca = {};
	int i;

	ccpd_pair_add(&ca, 20000, 10);
	KUNIT_EXPECT_FALSE(test, ccpd_capped(&ca));
	ccpd_cap(&ca, 1000);
	for (i = 0; i < 2 * CCPD_PAIRS; i++) {
		KUNIT_EXPECT_TRUE(test, ccpd_capped(&ca));
		KUNIT_EXPECT_EQ(test, ccpd_capacity(&ca), 1000);
		ccpd_pair_add(&ca, 20000, 10);
	}
	ccpd_pair_add(&ca, 20000, 10);
	KUNIT_EXPECT_FALSE(test, ccpd_capped(&ca));
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&ca), 20000);
}

/* An rtt that is met by luck does not make noise a queue; a shorter path does. */
static void noise_is_no_queue(struct kunit *test)
{
	struct ccpd ca = { .rtt_min_us = 56400, .rtt_s = 58400 << 3 };

	ccpd_set_noise(&ca, 1600);
	KUNIT_EXPECT_EQ(test, ccpd_base_us(&ca), 58000);
	KUNIT_EXPECT_EQ(test, ccpd_queue_us(&ca), 400);
	ccpd_rtt_min(&ca, 50000);
	KUNIT_EXPECT_EQ(test, ca.rtt_min_us, 50000);
	KUNIT_EXPECT_EQ(test, ccpd_base_us(&ca), 58000);
	ccpd_rtt_min(&ca, 45000);
	KUNIT_EXPECT_EQ(test, ccpd_base_us(&ca), 45000);
	KUNIT_EXPECT_EQ(test, ccpd_queue_in(&ca, 44000), 0);
}

/* A bad value is refused and the old one stays. */
static void parameters_are_checked(struct kunit *test)
{
	static const char * const bad[] = {
		"0", "17", "-1", "", "x", "4294967298", "2 3", "1.5",
	};
	const struct kernel_param kp_param = {
		.name = "kp",
		.arg = (void *)&tcpcc_param_kp,
	};
	unsigned int was = kp;
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_EQ(test, tcpcc_param_set(bad[i], &kp_param),
				-EINVAL);
		KUNIT_EXPECT_EQ(test, kp, was);
	}
	KUNIT_EXPECT_EQ(test, tcpcc_param_set(NULL, &kp_param), -EINVAL);
	KUNIT_EXPECT_EQ(test, tcpcc_param_set("16\n", &kp_param), 0);
	KUNIT_EXPECT_EQ(test, kp, 16);
	kp = was;
}

static struct kunit_case ccpd_cases[] = {
	KUNIT_CASE(capacity_is_exact),
	KUNIT_CASE(capacity_survives_nonsense),
	KUNIT_CASE(rate_in_bytes),
	KUNIT_CASE(buffer_from_rtts),
	KUNIT_CASE(law_in_equilibrium),
	KUNIT_CASE(law_is_bounded),
	KUNIT_CASE(derivative_has_its_unit),
	KUNIT_CASE(derivative_is_limited),
	KUNIT_CASE(path_fills_the_pipe),
	KUNIT_CASE(path_queue_target),
	KUNIT_CASE(path_claim_shares),
	KUNIT_CASE(path_verdict),
	KUNIT_CASE(logarithm),
	KUNIT_CASE(pair_filter),
	KUNIT_CASE(policer_caps),
	KUNIT_CASE(noise_is_no_queue),
	KUNIT_CASE(parameters_are_checked),
	{}
};

static struct kunit_suite ccpd_suite = {
	.name = "tcp_ccpd",
	.test_cases = ccpd_cases,
};

kunit_test_suite(ccpd_suite);
