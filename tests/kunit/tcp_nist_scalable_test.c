// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the NIST study's Scalable TCP. */
#include "../../nist/tcp_nist_scalable.c"

#include "nist_test.h"

static struct scalable scalable;

/* Eq. 38: 0.01 per ACK, which is 10 in a round trip of 1000; as Reno below 16 */
static void increases(struct kunit *test)
{
	struct nist *nist = &scalable.nist;

	begin(nist, sizeof(scalable), 1000);
	EXPECT_NEAR(test, growth(nist), nist_segs(10), 10000);
	begin(nist, sizeof(scalable), 16);
	EXPECT_NEAR(test, growth(nist), milli(160), 10000);
	begin(nist, sizeof(scalable), 15);
	EXPECT_NEAR(test, growth(nist), NIST_ONE, 1000);
}

/* Eq. 39: 7/8 of the window; half of it below 16 */
static void decreases(struct kunit *test)
{
	struct nist *nist = &scalable.nist;

	begin(nist, sizeof(scalable), 1000);
	lose(nist);
	KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(875));
	nist->cwnd = nist_segs(16);
	lose(nist);
	KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(14));
	lose(nist);
	KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(7));
}

/* Eq. 40: ssthresh is seven eighths of the window, at least two segments */
static void times_out(struct kunit *test)
{
	leaves_threshold(test, 1000, 875);
}

/* The reason of its unfairness: the ratio of two windows does not change in a whole cycle. */
static void ratio_stays(struct kunit *test)
{
	struct scalable small, large;
	int i;

	begin(&large.nist, sizeof(large), 9000);
	begin(&small.nist, sizeof(small), 1000);
	lose(&large.nist);
	lose(&small.nist);
	for (i = 0; i < 13; i++) {
		round_trip(&large.nist);
		round_trip(&small.nist);
	}
	EXPECT_NEAR(test, large.nist.cwnd, 9 * small.nist.cwnd, 3000);
	KUNIT_EXPECT_GT(test, small.nist.cwnd, nist_segs(980));
}

static void rests_after_a_loss(struct kunit *test)
{
	rests(test);
}

static void extremes(struct kunit *test)
{
	begin(&scalable.nist, sizeof(scalable), 1);
	survives(test, &scalable.nist);
}

static struct kunit_case scalable_cases[] = {
	KUNIT_CASE(increases),
	KUNIT_CASE(decreases),
	KUNIT_CASE(times_out),
	KUNIT_CASE(ratio_stays),
	KUNIT_CASE(rests_after_a_loss),
	KUNIT_CASE(extremes),
	{}
};

static struct kunit_suite scalable_suite = {
	.name = "tcp_nist_scalable",
	.test_cases = scalable_cases,
};

kunit_test_suite(scalable_suite);
