// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the NIST study's BIC: f, the search, growth beyond MAX, losses. */
#include "../../nist/tcp_nist_bic.c"

#include "nist_test.h"

static struct bic bic;

/* Eq. 10 with a target of 1000: far below, near, at, above, and far above it */
static void f_of_distance(struct kunit *test)
{
	static const struct {
		u32 cwnd, milli;
	} points[] = {
		{ 100, 32000 }, { 871, 32000 }, { 872, 32000 }, { 900, 25000 },
		{ 992, 2000 }, { 995, 1250 }, { 996, 200 }, { 999, 200 },
		{ 1000, 200 }, { 1003, 200 }, { 1006, 2000 }, { 1030, 10000 },
		{ 1093, 31000 }, { 1096, 32000 }, { 9000, 32000 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(points); i++)
		EXPECT_NEAR(test, bic_f(nist_segs(points[i].cwnd), nist_segs(1000)),
			    milli(points[i].milli), 1);
}

/*
 * A loss at 1000 leaves 800, so the midpoint is 900.  The window first grows by 25 in a round
 * trip, and in each following one by an eighth less
 */
static void searches(struct kunit *test)
{
	struct nist *nist = &bic.nist;
	int rounds = 0;
	u64 step, last;

	begin(nist, sizeof(bic), 1000);
	lose(nist);
	EXPECT_NEAR(test, nist->cwnd, nist_segs(800), 1);
	EXPECT_NEAR(test, bic.target, nist_segs(900), 1);
	last = growth(nist);
	/* 200 (1 - e^-(1/8)) */
	EXPECT_NEAR(test, last, milli(23500), 20000);
	while (nist->cwnd < nist_segs(990)) {
		step = growth(nist);
		KUNIT_EXPECT_LT(test, step, last);
		EXPECT_NEAR(test, step, div_u64(last * 7, 8), 20000);
		last = step;
		rounds++;
	}
	KUNIT_EXPECT_EQ(test, rounds, 24);
	/* 0.2 in a round trip if the midpoint is less than 4 away */
	nist->cwnd = nist_segs(993);
	round_trip(nist);
	EXPECT_NEAR(test, growth(nist), milli(200), 2000);
	KUNIT_EXPECT_FALSE(test, bic.beyond);
}

/* Beyond MAX the step is 1, then 4/3 of the step before, up to S_max; then towards 2000 */
static void grows_beyond(struct kunit *test)
{
	struct nist *nist = &bic.nist;
	u64 ssw = NIST_ONE;
	int steps = 0;

	begin(nist, sizeof(bic), 1000);
	bic.max = nist_segs(1000);
	bic.target = nist_segs(1000);
	nist_law.increase(nist, 1);
	KUNIT_ASSERT_TRUE(test, bic.beyond);
	EXPECT_NEAR(test, bic.max, nist_segs(2000), 1);
	while (bic.beyond && steps < 100) {
		EXPECT_NEAR(test, bic.ssw, ssw, 10);
		nist->cwnd = bic.sst;
		nist_law.increase(nist, 1);
		ssw += div_u64(ssw, 3);
		steps++;
	}
	/* (4/3)^13 is the first step above 32; the sum of the steps before it is 123 */
	KUNIT_EXPECT_EQ(test, steps, 13);
	EXPECT_NEAR(test, nist->cwnd >> NIST_SCALE, 1123, 1000);
	EXPECT_NEAR(test, bic.target, (bic.max + nist->cwnd) / 2, 1);
}

/*
 * SSW needs 123 segments to reach S_max, which is more than twice a window of 50.  So MAX is
 * passed again before the search towards it has begun.
 */
static void passes_a_small_max(struct kunit *test)
{
	struct nist *nist = &bic.nist;
	int i;

	begin(nist, sizeof(bic), 50);
	bic.max = nist_segs(50);
	bic.target = nist_segs(50);
	for (i = 0; i < 1000; i++) {
		round_trip(nist);
		KUNIT_EXPECT_LE(test, bic.target, max(bic.max, nist->cwnd));
		KUNIT_EXPECT_GE(test, bic.target, min(bic.max, nist_segs(50)));
		if (nist->cwnd > nist_segs(5000))
			break;
	}
	KUNIT_EXPECT_GT(test, nist->cwnd, nist_segs(5000));
}

static void search_and_pass(struct sock *sk)
{
	struct bic *flow = inet_csk_ca(sk);

	flow->max = nist_segs(1000);
	flow->prev = nist_segs(1100);
	flow->target = nist_segs(990);
}

static void pass(struct sock *sk)
{
	struct bic *flow = inet_csk_ca(sk);

	search_and_pass(sk);
	flow->beyond = true;
	flow->max = nist_segs(1960);
	flow->ssw = nist_segs(3);
	flow->sst = nist_segs(1000);
}

/* An undo restores what the loss changed: MAX, the MAX before, and the state of the search */
static void undone(struct kunit *test)
{
	comes_back(test, 980, search_and_pass, nist_socket_lose);
	comes_back(test, 980, search_and_pass, nist_socket_timeout);
	comes_back(test, 980, pass, nist_socket_lose);
	comes_back(test, 980, pass, nist_socket_timeout);
}

/* Eqs. 11 and 12: fast convergence, and the low window */
static void loses(struct kunit *test)
{
	struct nist *nist = &bic.nist;

	begin(nist, sizeof(bic), 1000);
	lose(nist);
	EXPECT_NEAR(test, bic.max, nist_segs(1000), 1);
	nist->cwnd = nist_segs(900);
	lose(nist);
	EXPECT_NEAR(test, bic.max, nist_segs(810), 1);
	EXPECT_NEAR(test, nist->cwnd, nist_segs(720), 1);
	/* 850 is above 810 again */
	nist->cwnd = nist_segs(850);
	bic.beyond = true;
	lose(nist);
	EXPECT_NEAR(test, bic.max, nist_segs(850), 1);
	KUNIT_EXPECT_FALSE(test, bic.beyond);
	/* a timeout after decrease() halves the window from before decrease() */
	EXPECT_NEAR(test, nist_law.timeout(nist), nist_segs(425), 1);
	begin(nist, sizeof(bic), 12);
	EXPECT_NEAR(test, growth(nist), NIST_ONE, 1000);
	nist->cwnd = nist_segs(12);
	lose(nist);
	KUNIT_EXPECT_EQ(test, nist->cwnd, nist_segs(6));
}

/* As in the kernel: a quarter of the distance to MAX itself, and beyond MAX after that */
static void as_the_kernel(struct kunit *test)
{
	struct nist *nist = &bic.nist;

	bic_linux = 1;
	begin(nist, sizeof(bic), 1000);
	lose(nist);
	EXPECT_NEAR(test, growth(nist), nist_segs(32), 20000);
	nist->cwnd = nist_segs(1009);
	EXPECT_NEAR(test, growth(nist), nist_segs(3), 200000);
	KUNIT_EXPECT_FALSE(test, bic.beyond);
	bic_linux = 0;
}

static void rests_after_a_loss(struct kunit *test)
{
	rests(test);
}

static void extremes(struct kunit *test)
{
	begin(&bic.nist, sizeof(bic), 1);
	survives(test, &bic.nist);
	bic_linux = 1;
	survives(test, &bic.nist);
	bic_linux = 0;
}

static struct kunit_case bic_cases[] = {
	KUNIT_CASE(f_of_distance),
	KUNIT_CASE(searches),
	KUNIT_CASE(grows_beyond),
	KUNIT_CASE(passes_a_small_max),
	KUNIT_CASE(undone),
	KUNIT_CASE(loses),
	KUNIT_CASE(as_the_kernel),
	KUNIT_CASE(rests_after_a_loss),
	KUNIT_CASE(extremes),
	{}
};

static struct kunit_suite bic_suite = {
	.name = "tcp_nist_bic",
	.test_cases = bic_cases,
};

kunit_test_suite(bic_suite);
