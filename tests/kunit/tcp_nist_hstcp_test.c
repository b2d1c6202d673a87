// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the NIST study's HighSpeed TCP: the response function and its limits. */
#include "../../nist/tcp_nist_hstcp.c"

#include "nist_test.h"

static struct hstcp hstcp;

/* Eq. 27: 1/2 at 31 and 1/10 at 83000, its values between these, and no change outside */
static void b_of_window(struct kunit *test)
{
	static const struct {
		u32 w, ppm;
	} points[] = {
		{ 31, 500000 }, { 100, 440644 }, { 1000, 323948 }, { 10000, 207253 },
		{ 83000, 100000 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(points); i++)
		EXPECT_NEAR(test, (u64)hstcp_b(points[i].w) * 1000000 >> HSTCP_SCALE,
			    points[i].ppm, 300);
	KUNIT_EXPECT_EQ(test, hstcp_b(1), HSTCP_ONE / 2);
	KUNIT_EXPECT_EQ(test, hstcp_b(U32_MAX), hstcp_b(83000));
}

/* Eq. 26, rounded */
static void a_of_window(struct kunit *test)
{
	static const struct {
		u32 w, a;
	} points[] = {
		{ 31, 1 },
		{ 77, 1 },
		{ 80, 2 },
		{ 171, 2 },
		{ 174, 3 },
		{ 1449, 9 },
		{ 1452, 10 },
		{ 4958, 19 },
		{ 4967, 20 },
		{ 30928, 49 },
		{ 30989, 50 },
		{ 84039, 71 },
		{ 84208, 72 },
		{ 83000, 71 },
	};
	u32 w, last = 1;
	int i;

	for (i = 0; i < ARRAY_SIZE(points); i++)
		KUNIT_EXPECT_EQ_MSG(test, hstcp_a(points[i].w), points[i].a,
				    "at %u", points[i].w);
	for (w = 1; w < NIST_CWND_MAX; w += w / 100 + 1) {
		KUNIT_EXPECT_GE(test, hstcp_a(w), last);
		last = hstcp_a(w);
	}
}

/* A round trip adds a(), a loss multiplies by 1 - b(); below 31 both are as with Reno. */
static void is_used(struct kunit *test)
{
	struct nist *nist = &hstcp.nist;

	begin(nist, sizeof(hstcp), 10000);
	EXPECT_NEAR(test, growth(nist), nist_segs(hstcp_a(10000)), 4000);
	nist->cwnd = nist_segs(83000);
	lose(nist);
	EXPECT_NEAR(test, nist->cwnd, nist_segs(74700), 100);
	begin(nist, sizeof(hstcp), 30);
	EXPECT_NEAR(test, growth(nist), NIST_ONE, 1000);
	nist->cwnd = nist_segs(30);
	lose(nist);
	KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(15));
}

/* Eq. 29: ssthresh is the window after a loss, at least two segments */
static void times_out(struct kunit *test)
{
	leaves_threshold(test, 83000, 74700);
}

/* Logarithms are computed only if the window has changed enough, not for each segment. */
static void is_cached(struct kunit *test)
{
	struct nist *nist = &hstcp.nist;
	u32 w, last = 0, taken = 0;

	begin(nist, sizeof(hstcp), 1000);
	while ((w = nist->cwnd >> NIST_SCALE) < 2000) {
		nist_law.increase(nist, 100);
		taken += hstcp.alpha_of != last;
		last = hstcp.alpha_of;
		/* to one segment, the cached value is correct */
		KUNIT_EXPECT_LE(test, abs((int)hstcp.alpha - (int)hstcp_a(w)), 1);
	}
	/* the window doubles in steps of 1/64 */
	KUNIT_EXPECT_LE(test, taken, 65);
	/* they are also computed when the window has become less */
	nist->cwnd = nist_segs(500);
	nist_law.increase(nist, 1);
	KUNIT_EXPECT_EQ(test, hstcp.alpha, hstcp_a(500));
}

/* The logarithms in the source are those of the default parameters. */
static void logs_of_defaults(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, low_window, HSTCP_LOW);
	KUNIT_EXPECT_EQ(test, high_window, HSTCP_HIGH);
	KUNIT_EXPECT_EQ(test, tcpcc_log2(HSTCP_LOW), HSTCP_LOG_LOW);
	KUNIT_EXPECT_EQ(test, tcpcc_log2(HSTCP_HIGH), HSTCP_LOG_HIGH);
}

/* The steps of a() in the source are those of the default parameters, for each window. */
static void steps_of_defaults(struct kunit *test)
{
	u32 last = hstcp_steps[HSTCP_STEPS - 1], w;

	KUNIT_EXPECT_EQ(test, beta_high, HSTCP_LEAST);
	for (w = 1; w < last; w++)
		KUNIT_ASSERT_EQ(test, hstcp_alpha(w), hstcp_a(w));
	KUNIT_EXPECT_EQ(test, hstcp_a(last - 1), HSTCP_STEPS);
	KUNIT_EXPECT_EQ(test, hstcp_a(last), HSTCP_STEPS + 1);
	KUNIT_EXPECT_EQ(test, hstcp_alpha(83000), hstcp_a(83000));
	/* with other parameters the steps are not used */
	beta_high = 300;
	KUNIT_EXPECT_EQ(test, hstcp_alpha(10000), hstcp_a(10000));
	beta_high = HSTCP_LEAST;
}

/* Contradicting parameters do not cause a division by zero. */
static void odd_parameters(struct kunit *test)
{
	u32 was = high_window;

	high_window = 3;
	KUNIT_EXPECT_LE(test, hstcp_b(1000), HSTCP_ONE / 2);
	KUNIT_EXPECT_GE(test, hstcp_a(1000), 1);
	high_window = was;
}

static void rests_after_a_loss(struct kunit *test)
{
	rests(test);
}

static void extremes(struct kunit *test)
{
	begin(&hstcp.nist, sizeof(hstcp), 1);
	survives(test, &hstcp.nist);
}

static struct kunit_case hstcp_cases[] = {
	KUNIT_CASE(b_of_window),
	KUNIT_CASE(a_of_window),
	KUNIT_CASE(is_used),
	KUNIT_CASE(times_out),
	KUNIT_CASE(is_cached),
	KUNIT_CASE(logs_of_defaults),
	KUNIT_CASE(steps_of_defaults),
	KUNIT_CASE(odd_parameters),
	KUNIT_CASE(rests_after_a_loss),
	KUNIT_CASE(extremes),
	{}
};

static struct kunit_suite hstcp_suite = {
	.name = "tcp_nist_hstcp",
	.test_cases = hstcp_cases,
};

kunit_test_suite(hstcp_suite);
