// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the router qdisc xcp: the law, with the numbers of the ACP paper's link,
 * with users that follow the feedback, and with extreme packets; and the words that it
 * writes to packets.
 */
#include "sch_kind.h"

#include "../../sched/xcp_law.c"
#include "../../sched/sch_header.c"
#include "../../sched/xcp.c"

#include <linux/prandom.h>

#define MBIT		125000ULL	/* bytes/s */
#define PAPER_LINK	(155 * MBIT)
#define PAPER_RTT	80000		/* us */
#define PAPER_SIZE	1000		/* bytes */
#define MS		((u64)NSEC_PER_MSEC)
#define ALL		((s32)TCPCC_FB_NO_LIMIT)

/* ------------------------------------------------------------------------- */
/* The law                                                                   */

/* The positive and negative feedback that is not handed out yet, whole bytes/s */
static u64 raise_left(const struct xcp_law *x)
{
	return x->raise.left >> XCP_SCALE;
}

static u64 cut_left(const struct xcp_law *x)
{
	return x->cut.left >> XCP_SCALE;
}

/* A packet with this rtt and gap in its header */
static void packet_arrives(struct xcp_law *x, u32 len, u32 rtt_us, u64 gap_ns)
{
	xcp_law_arrive(x, len, rtt_us, xcp_gap_ns(rtt_us, gap_ns));
}

static s32 packet_departs(struct xcp_law *x, u32 len, u32 rtt_us, u64 gap_ns, s32 wanted)
{
	return xcp_law_feedback(x, len, xcp_gap_ns(rtt_us, gap_ns), wanted);
}

/* Ends a period of PAPER_RTT in which @packets packets of PAPER_SIZE have arrived */
static void one_period(struct xcp_law *x, u32 packets, u32 rtt_us, u32 gap_ns, u32 queue)
{
	x->rtt_us = PAPER_RTT;
	x->clock.queue = queue;
	while (packets--)
		packet_arrives(x, PAPER_SIZE, rtt_us, gap_ns);
	xcp_law_step(x);
}

/* The paper's link, full and without a queue: 1550 packets of 51.6 us in a period */
static void full_link(struct xcp_law *x)
{
	xcp_law_init(x, &xcp_paper, PAPER_LINK);
	one_period(x, 1550, PAPER_RTT, 51600, 0);
}

/* phi = 0, h = gamma * C: each packet gets 1250 bytes/s and loses as much; nothing is left. */
static void equilibrium(struct kunit *test)
{
	struct xcp_law x;
	int i;

	full_link(&x);
	KUNIT_EXPECT_EQ(test, x.input, PAPER_LINK);
	KUNIT_EXPECT_EQ(test, x.spare, 0);
	KUNIT_EXPECT_EQ(test, x.rtt_us, PAPER_RTT);
	KUNIT_EXPECT_EQ(test, x.raise.left, 1937500ULL << XCP_SCALE);
	KUNIT_EXPECT_EQ(test, x.cut.left, 1937500ULL << XCP_SCALE);
	for (i = 1; i <= 1550; i++) {
		KUNIT_EXPECT_EQ(test, packet_departs(&x, PAPER_SIZE, PAPER_RTT, 51600, ALL), 0);
		KUNIT_EXPECT_EQ(test, raise_left(&x), 1937500 - i * 1250);
		KUNIT_EXPECT_EQ(test, cut_left(&x), 1937500 - i * 1250);
	}
	KUNIT_EXPECT_EQ(test, x.raise.left, 0);
	KUNIT_EXPECT_EQ(test, x.cut.left, 0);
}

/* All terms, compared with a calculation by hand: below the capacity, and above it */
static void one_step(struct kunit *test)
{
	struct xcp_law x;
	int i;

	/* .4 * (19375000 - 15000000) - .226 * 40000 / .09, which exceeds .1 * 15000000 */
	xcp_law_init(&x, &xcp_paper, PAPER_LINK);
	one_period(&x, 1200, 90000, 75000, 40000);
	KUNIT_EXPECT_EQ(test, x.input, 15000000);
	KUNIT_EXPECT_EQ(test, x.rtt_us, 90000);
	EXPECT_NEAR(test, x.spare, 1649556, 1);
	EXPECT_NEAR(test, raise_left(&x), 1649556, 1);
	KUNIT_EXPECT_EQ(test, x.cut.left, 0);
	KUNIT_EXPECT_EQ(test, x.bytes, 0);
	KUNIT_EXPECT_EQ(test, x.gaps_ns, 0);
	/* 1374.63 for each, rounded; the last one gets the rest */
	for (i = 0; i < 1199; i++)
		KUNIT_EXPECT_EQ(test, packet_departs(&x, PAPER_SIZE, 90000, 75000, ALL), 1375);

	/* .4 * (19375000 - 20000000) - .226 * 40000 / .09; h is .1 * 20000000 minus |phi| */
	one_period(&x, 1600, 90000, 56250, 40000);
	EXPECT_NEAR(test, x.spare, -350444, 1);
	EXPECT_NEAR(test, raise_left(&x), 1649556, 1);
	EXPECT_NEAR(test, cut_left(&x), 2000000, 1);
	/* 1030.97 - 1250 */
	for (i = 0; i < 1599; i++)
		KUNIT_EXPECT_EQ(test, packet_departs(&x, PAPER_SIZE, 90000, 56250, ALL), -219);
	KUNIT_EXPECT_EQ(test, x.periods, 2);
}

/*
 * Ten flows whose packets differ in rtt, gap and length; each packet is sent @times times.
 *
 * Return: sum of the feedback, bytes/s
 */
static s64 mixture(struct xcp_law *x, int times, bool arrive)
{
	s64 sum = 0;
	int i, flow;

	for (i = 0; i < times * 100; i++) {
		u32 rtt_us, gap_ns, len;

		flow = i % 10;
		rtt_us = 10000 * (flow + 1);
		gap_ns = 3 * 4177 * (flow % 3 + 1) * (flow % 7 + 1);
		len = 66 + 157 * flow;
		if (arrive)
			packet_arrives(x, len, rtt_us, gap_ns);
		else
			sum += packet_departs(x, len, rtt_us, gap_ns, ALL);
	}
	return sum;
}

/*
 * In a period with the same packets as the one before the sum of the feedback is phi, to half a
 * byte/s per packet for rounding.  If the period is longer, no more is handed out.
 */
static void hands_out_phi(struct kunit *test)
{
	static const u32 mbps[] = { 1, 8, 9, 20, 155, 10000 };
	static const u32 queue[] = { 0, 5000, 300000 };
	int i, times;

	for (i = 0; i < ARRAY_SIZE(mbps) * ARRAY_SIZE(queue); i++) {
		for (times = 1; times <= 3; times++) {
			struct xcp_law x;
			s64 sum;

			xcp_law_init(&x, &xcp_paper, mbps[i / 3] * MBIT);
			x.rtt_us = PAPER_RTT;
			x.clock.queue = queue[i % 3];
			mixture(&x, 1, true);
			xcp_law_step(&x);
			sum = mixture(&x, times, false);
			KUNIT_EXPECT_LE_MSG(test, abs(sum - x.spare), times * 50,
					    "%u Mbit/s, %u bytes: %lld, not %lld",
					    mbps[i / 3], queue[i % 3], sum, x.spare);
			KUNIT_EXPECT_LE(test, raise_left(&x), 100);
			KUNIT_EXPECT_LE(test, cut_left(&x), 100);
		}
	}
}

/*
 * By the gaps each flow gets the same, for any rtt and size of packets.  What it loses is
 * proportional to its bytes.
 */
static void shares(struct kunit *test)
{
	struct xcp_law x;
	int i;

	/* an almost idle link gives almost .4 * 19375000 */
	xcp_law_init(&x, &xcp_paper, PAPER_LINK);
	x.rtt_us = PAPER_RTT;
	for (i = 0; i < 100; i++)
		packet_arrives(&x, 50, PAPER_RTT, 800000);
	packet_arrives(&x, 1500, PAPER_RTT, 80000000);
	xcp_law_step(&x);
	/* .4 * (19375000 - 6500 / .08) */
	EXPECT_NEAR(test, raise_left(&x), 7717500, 1);
	KUNIT_EXPECT_EQ(test, x.cut.left, 0);
	EXPECT_NEAR(test, packet_departs(&x, 1500, PAPER_RTT, 80000000, ALL), 3858750, 1);
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_LE(test, abs(packet_departs(&x, 50, PAPER_RTT, 800000, ALL) -
					  38588), 1);

	/* a link that is too slow takes .4 * (6500 / .08): 5 bytes/s for each byte */
	xcp_law_init(&x, &xcp_paper, 1);
	x.rtt_us = PAPER_RTT;
	for (i = 0; i < 100; i++)
		packet_arrives(&x, 50, PAPER_RTT, 800000);
	packet_arrives(&x, 1500, PAPER_RTT, 80000000);
	xcp_law_step(&x);
	EXPECT_NEAR(test, cut_left(&x), 32500, 1);
	KUNIT_EXPECT_EQ(test, x.raise.left, 0);
	KUNIT_EXPECT_EQ(test, packet_departs(&x, 1500, PAPER_RTT, 80000000, ALL), -7500);
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_LE(test, abs(packet_departs(&x, 50, PAPER_RTT, 800000, ALL) + 250),
				1);
}

/* If an earlier link allows less, the difference counts as taken here. */
static void upstream_allows_less(struct kunit *test)
{
	static const struct {
		u32 gap_ns;
		s32 brought;
		s32 given;
		u32 raise;	/* reduction of what is left to give */
		u32 cut;	/* reduction of what is left to take */
	} c[] = {
		{ 51600, ALL, 0, 1250, 1250 },
		{ 51600, 0, 0, 1250, 1250 },
		{ 51600, -1, -1, 1250, 1251 },
		{ 51600, -5000, -5000, 1250, 6250 },
		/* twice the gap, and therefore twice the positive feedback */
		{ 103200, ALL, 1250, 2500, 1250 },
		{ 103200, 1250, 1250, 2500, 1250 },
		{ 103200, 1249, 1249, 2500, 1251 },
		{ 103200, 0, 0, 2500, 2500 },
		{ 103200, -5000, -5000, 2500, 7500 },
		/* no gap */
		{ 0, ALL, -1250, 0, 1250 },
		{ 0, -1251, -1251, 0, 1251 },
		/* all that is left to take is taken; the rest does not count here */
		{ 51600, -3000000, -3000000, 0, 1937500 },
		{ 51600, -(1 << 29), -(1 << 29), 0, 1937500 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		struct xcp_law x;

		full_link(&x);
		KUNIT_EXPECT_EQ_MSG(test,
				    packet_departs(&x, PAPER_SIZE, PAPER_RTT, c[i].gap_ns,
						   c[i].brought),
				    c[i].given, "case %d", i);
		KUNIT_EXPECT_LE_MSG(test, abs((s64)raise_left(&x) - (1937500 - c[i].raise)), 1,
				    "case %d", i);
		KUNIT_EXPECT_LE_MSG(test, abs((s64)cut_left(&x) - (1937500 - c[i].cut)), 1,
				    "case %d", i);
	}
}

/* A packet without an rtt counts for y.  It is granted nothing, and a link raises no feedback. */
static void without_rtt(struct kunit *test)
{
	struct xcp_law x;

	full_link(&x);
	KUNIT_EXPECT_EQ(test, packet_departs(&x, PAPER_SIZE, 0, 51600, ALL), 0);
	KUNIT_EXPECT_EQ(test, packet_departs(&x, PAPER_SIZE, 0, 51600, 1), 0);
	KUNIT_EXPECT_EQ(test, packet_departs(&x, PAPER_SIZE, 0, 51600, 0), 0);
	KUNIT_EXPECT_EQ(test, packet_departs(&x, PAPER_SIZE, 0, 51600, -5), -5);
	KUNIT_EXPECT_EQ(test, packet_departs(&x, PAPER_SIZE, 0, 51600, -(1 << 29)), -(1 << 29));
	KUNIT_EXPECT_EQ(test, raise_left(&x), 1937500);
	KUNIT_EXPECT_EQ(test, cut_left(&x), 1937500);
	/* only packets without an rtt: no flow can get feedback, but y is known */
	one_period(&x, 155, 0, 51600, 0);
	KUNIT_EXPECT_EQ(test, x.input, PAPER_LINK / 10);
	KUNIT_EXPECT_EQ(test, x.rtt_us, 50000);
	KUNIT_EXPECT_EQ(test, x.raise.left, 0);
}

/* A packet is given or loses at most what fits into a word of XCP. */
static void at_most(struct kunit *test)
{
	const u64 most = (u64)XCP_FEEDBACK_MOST;
	struct xcp_law x;

	/* 0.4 of 1 Tbit/s for one packet */
	xcp_law_init(&x, &xcp_paper, 1000000 * MBIT);
	one_period(&x, 1, PAPER_RTT, 80000000, 0);
	EXPECT_NEAR(test, raise_left(&x), 49999995000, 1);
	KUNIT_EXPECT_EQ(test, packet_departs(&x, PAPER_SIZE, PAPER_RTT, 80000000, ALL), most);
	/* the next packet gets the same */
	EXPECT_NEAR(test, raise_left(&x), 49999995000 - most, 1);
	KUNIT_EXPECT_EQ(test, packet_departs(&x, PAPER_SIZE, PAPER_RTT, 80000000, ALL), most);
	/* the most differs from the word that means that no link has changed it */
	KUNIT_EXPECT_LT(test, most, TCPCC_FB_NO_LIMIT);

	/* 10^9 bytes/s are left to take: one packet loses the most, and the rest is left */
	full_link(&x);
	x.cut.left = 1000000000ULL << XCP_SCALE;
	x.cut.units = PAPER_SIZE;
	KUNIT_EXPECT_EQ(test, packet_departs(&x, PAPER_SIZE, PAPER_RTT, 51600, ALL),
			-(s64)most);
	EXPECT_NEAR(test, cut_left(&x), 1000000000 - most - 1250, 1);
	EXPECT_NEAR(test, raise_left(&x), 1937500 - 1250, 1);
}

/* d is a mean weighted by gaps: each flow counts once, for any number of its packets. */
static void mean_rtt(struct kunit *test)
{
	struct xcp_law x;
	int i;

	xcp_law_init(&x, &xcp_paper, PAPER_LINK);
	for (i = 0; i < 10; i++)
		packet_arrives(&x, 1000, 80000, 8000000);
	for (i = 0; i < 1000; i++)
		packet_arrives(&x, 100, 40000, 40000);
	for (i = 0; i < 1000; i++)
		packet_arrives(&x, 1500, 0, 40000);
	xcp_law_step(&x);
	/* (80 * 80 + 40 * 40) / 120 */
	EXPECT_NEAR(test, x.rtt_us, 66667, 20);
	/* at most a second, and at least a millisecond */
	packet_arrives(&x, 1000, 33521664, 33521664000);
	xcp_law_step(&x);
	KUNIT_EXPECT_EQ(test, x.rtt_us, USEC_PER_SEC);
	packet_arrives(&x, 1000, 10, 100);
	xcp_law_step(&x);
	KUNIT_EXPECT_EQ(test, x.rtt_us, 1000);
	/* a gap is at most the rtt; a packet without a gap does not count */
	packet_arrives(&x, 1000, 20000, U64_MAX);
	KUNIT_EXPECT_EQ(test, x.gaps_ns, 20000000);
	packet_arrives(&x, 1000, 40000, 0);
	xcp_law_step(&x);
	KUNIT_EXPECT_EQ(test, x.rtt_us, 20000);
	xcp_law_step(&x);
	KUNIT_EXPECT_EQ(test, x.rtt_us, 50000);
}

/* Before its first header a link has no periods. */
static void waits_for_first(struct kunit *test)
{
	struct xcp_law x;

	xcp_law_init(&x, &xcp_paper, PAPER_LINK);
	packet_arrives(&x, 1500, 0, 0);
	xcp_law_advance(&x, U64_MAX / 2, 0);
	KUNIT_EXPECT_EQ(test, x.periods, 0);
	KUNIT_EXPECT_EQ(test, packet_departs(&x, 1500, PAPER_RTT, 51600, ALL), 0);
	/* what arrived before it belongs to no period */
	xcp_law_start(&x, 5 * MS, 0);
	KUNIT_EXPECT_EQ(test, x.bytes, 0);
	xcp_law_advance(&x, 55 * MS - 1, 0);
	KUNIT_EXPECT_EQ(test, x.periods, 0);
	xcp_law_advance(&x, 55 * MS, 0);
	KUNIT_EXPECT_EQ(test, x.periods, 1);
}

/* After a period without packets nothing is left to hand out.  Hours have the same effect. */
static void idle(struct kunit *test)
{
	static const u32 queue[] = { 0, 70000 };
	static const u32 seconds[] = { 1, 60, 4 * 3600 };
	int i;

	for (i = 0; i < ARRAY_SIZE(queue) * ARRAY_SIZE(seconds); i++) {
		u64 now = MS + seconds[i / 2] * (u64)NSEC_PER_SEC;
		struct xcp_law x;

		full_link(&x);
		xcp_law_start(&x, MS, 0);
		packet_arrives(&x, 1000, PAPER_RTT, 51600);
		/* the period with the packets ends: phi and h are to be handed out */
		xcp_law_advance(&x, MS + 80 * MS, queue[i & 1]);
		KUNIT_EXPECT_GT(test, x.raise.left, 0);
		xcp_law_advance(&x, now, queue[i & 1]);
		KUNIT_EXPECT_EQ(test, x.spare, 0);
		KUNIT_EXPECT_EQ(test, x.input, 0);
		KUNIT_EXPECT_EQ(test, x.raise.left, 0);
		KUNIT_EXPECT_EQ(test, x.cut.left, 0);
		KUNIT_EXPECT_EQ(test, x.rtt_us, 50000);
		KUNIT_EXPECT_EQ(test, x.clock.queue, queue[i & 1]);
		KUNIT_EXPECT_LE(test, x.periods, 4);
		KUNIT_EXPECT_FALSE(test, law_clock_due(&x.clock, now));
		/* the next period has its full length */
		xcp_law_advance(&x, now + 50 * MS - 1, queue[i & 1]);
		KUNIT_EXPECT_LE(test, x.periods, 4);
		KUNIT_EXPECT_TRUE(test, law_clock_due(&x.clock, now + 50 * MS));
	}
}

/* Periods and windows end at the same times, whether they are computed at once or later. */
static void late_is_the_same(struct kunit *test)
{
	struct xcp_law often, late;
	u64 now = 0, next = 0;
	int i;

	xcp_law_init(&often, &xcp_paper, PAPER_LINK);
	xcp_law_start(&often, 0, 0);
	late = often;
	for (i = 0; i < 2000; i++) {
		u32 backlog = i * 37 % 11 * 1000;

		/* 17 us to 10.2 ms until the next packet */
		next += 17000 * (1 + i * i % 600);
		while (now + 50000 < next) {
			now += 50000;
			xcp_law_advance(&often, now, backlog);
		}
		xcp_law_advance(&often, next, backlog);
		xcp_law_advance(&late, next, backlog);
		KUNIT_ASSERT_EQ(test, memcmp(&often, &late, sizeof(late)), 0);
		packet_arrives(&often, 1000, 20000 + i, 1000000);
		packet_arrives(&late, 1000, 20000 + i, 1000000);
		xcp_law_depart(&often, backlog);
		xcp_law_depart(&late, backlog);
	}
	KUNIT_EXPECT_GT(test, late.periods, 100);
	KUNIT_EXPECT_GT(test, late.clock.queue, 0);
}

/* The persistent queue is the least queue after a departure in a window. */
static void persistent_queue(struct kunit *test)
{
	struct xcp_law x;

	xcp_law_init(&x, &xcp_paper, PAPER_LINK);
	x.rtt_us = 20000;
	xcp_law_start(&x, 0, 50000);
	packet_arrives(&x, 1000, 20000, 100000);
	xcp_law_depart(&x, 50000);
	xcp_law_depart(&x, 30000);
	xcp_law_depart(&x, 70000);
	/* 50000 bytes take 2.58 ms of 20 ms, and half of the rest is 8.71 ms */
	xcp_law_advance(&x, 8700000, 70000);
	KUNIT_EXPECT_EQ(test, x.clock.queue, 0);
	xcp_law_advance(&x, 8710000, 70000);
	KUNIT_EXPECT_EQ(test, x.clock.queue, 30000);
	/* no packet has departed since then: after 8.19 ms the whole queue is persistent */
	xcp_law_advance(&x, 16890000, 70000);
	KUNIT_EXPECT_EQ(test, x.clock.queue, 30000);
	xcp_law_advance(&x, 16910000, 70000);
	KUNIT_EXPECT_EQ(test, x.clock.queue, 70000);

	/* half of the propagation delay, and at least 2 ms */
	KUNIT_EXPECT_EQ(test, xcp_window_us(&x, 0), 10000);
	KUNIT_EXPECT_EQ(test, xcp_window_us(&x, U32_MAX), 2000);
	x.rtt_us = LAW_INTERVAL_MIN;
	KUNIT_EXPECT_EQ(test, xcp_window_us(&x, 0), 2000);
}

/* ------------------------------------------------------------------------- */
/* Users that follow the feedback                                            */

#define USERS	200

/*
 * A link, and users whose rtt is its period.  The feedback of the packets of a period is added
 * to a user's rate in the next period.  The first @led users are limited by another link: their
 * rates do not change.
 */
struct loop {
	struct xcp_law law;
	u32 users;
	u32 led;
	u32 rtt_us;
	u32 size;	/* size of a packet, bytes */
	u64 rate[USERS];	/* bytes/s */
	u64 due[USERS];		/* part of the next packet, bytes * 10^6 */
	s64 change[USERS];	/* bytes/s */
	u64 queue;		/* bytes */
};

static struct loop *loop_of(struct kunit *test, u64 capacity, u32 users, u32 rtt_us, u32 size)
{
	struct loop *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, l);
	KUNIT_ASSERT_LE(test, users, USERS);
	xcp_law_init(&l->law, &xcp_paper, capacity);
	l->law.rtt_us = rtt_us;
	l->users = users;
	l->rtt_us = rtt_us;
	l->size = size;
	/* one packet per round trip, as with a first window; the first user has a tenth of C */
	for (i = 0; i < users; i++) {
		l->rate[i] = div_u64((u64)size * USEC_PER_SEC, rtt_us);
		/* their packets are not synchronized */
		l->due[i] = div_u64((u64)size * USEC_PER_SEC * i, users);
	}
	l->rate[0] = max(l->rate[0], div_u64(capacity, 10));
	return l;
}

static void loop_packet(struct loop *l, u32 i)
{
	u64 gap_ns = div64_u64((u64)l->size * NSEC_PER_SEC, l->rate[i]);

	packet_arrives(&l->law, l->size, l->rtt_us, gap_ns);
	l->change[i] += packet_departs(&l->law, l->size, l->rtt_us, gap_ns, ALL);
	l->queue += l->size;
}

static void loop_run(struct loop *l, int periods)
{
	const u64 packet = (u64)l->size * USEC_PER_SEC;
	u64 least = div_u64(packet, l->rtt_us), sent, step;
	u32 i;

	sent = div_u64(l->law.capacity * l->rtt_us, USEC_PER_SEC);
	while (periods--) {
		/* in small steps; otherwise the last user would always get what others leave */
		for (step = 0; step < 100; step++)
			for (i = 0; i < l->users; i++)
				for (l->due[i] += div_u64(l->rate[i] * l->rtt_us, 100);
				     l->due[i] >= packet; l->due[i] -= packet)
					loop_packet(l, i);
		l->queue -= min(l->queue, sent);
		l->law.clock.queue = min_t(u64, l->queue, U32_MAX);
		xcp_law_step(&l->law);
		for (i = 0; i < l->users; i++) {
			if (i >= l->led)
				l->rate[i] = max_t(s64, l->rate[i] + l->change[i], least);
			l->change[i] = 0;
		}
	}
}

/* Each user gets C / N, to 2 %, without a queue, from 1 Mbit/s to 1 Tbit/s. */
static void settles(struct kunit *test)
{
	static const struct {
		u32 mbps;
		u32 rtt_us;
		u32 size;
	} link[] = {
		{ 1, 1000000, 1000 }, { 10, 100000, 1000 }, { 155, 80000, 1000 },
		{ 155, 500000, 1500 }, { 1000, 10000, 1500 }, { 10000, 1000, 1500 },
		{ 400000, 1000, 9000 }, { 1000000, 1000, 9000 },
	};
	static const u32 users[] = { 1, 2, 10, 50, 200 };
	int i;
	u32 k;

	for (i = 0; i < ARRAY_SIZE(link) * ARRAY_SIZE(users); i++) {
		u64 capacity = link[i / 5].mbps * MBIT;
		u64 fair = div_u64(capacity, users[i % 5]);
		struct loop *l;

		/* one packet more or less must be a small difference */
		if (div_u64(fair * link[i / 5].rtt_us, USEC_PER_SEC) < 20 * link[i / 5].size)
			continue;
		l = loop_of(test, capacity, users[i % 5], link[i / 5].rtt_us, link[i / 5].size);
		/* a tenth of each rate is redistributed in a round trip */
		loop_run(l, 150);
		for (k = 0; k < l->users; k++)
			EXPECT_NEAR(test, l->rate[k], fair, 20000);
		EXPECT_NEAR(test, l->law.input, capacity, 20000);
		/* a thousandth of what the link holds, or two packets */
		KUNIT_EXPECT_LE(test, l->queue,
				max_t(u64, div_u64(capacity * link[i / 5].rtt_us, 1000000000),
				      2 * link[i / 5].size));
		kunit_kfree(test, l);
	}
}

/*
 * The first link of Table I.  70 of its 80 users are limited by other links, to 80 Mbit/s in
 * sum.  What h gives to these 70 has no effect, but h also takes from the ten others.  If each of
 * these ten has x, and y = 10 * x + 80 Mbit/s, the equilibrium is
 *
 *   gamma * y^2 / (80 * x) = gamma * y - alpha * (C - y)
 *
 * which gives x = 5.237 Mbit/s, not 7.5, and y = 0.854 * C.
 */
static void first_link_of_table_1(struct kunit *test)
{
	struct loop *l = loop_of(test, PAPER_LINK, 80, PAPER_RTT, PAPER_SIZE);
	u32 i;

	l->led = 70;
	for (i = 0; i < l->led; i++)
		l->rate[i] = div_u64(80 * MBIT, l->led);
	loop_run(l, 300);
	for (; i < l->users; i++)
		EXPECT_NEAR(test, l->rate[i], 654600, 20000);
	EXPECT_NEAR(test, l->law.input, 132366 * (u64)MBIT / 1000, 5000);
	KUNIT_EXPECT_EQ(test, l->queue, 0);
}

/* Since h >= 0, alpha / (alpha + gamma) of a link is used if at least one user wants more. */
static void least_use(struct kunit *test)
{
	struct loop *l = loop_of(test, PAPER_LINK, 200, PAPER_RTT, PAPER_SIZE);
	u32 i;

	l->led = 199;
	for (i = 0; i < l->led; i++)
		l->rate[i] = div_u64(110 * MBIT, l->led);
	loop_run(l, 300);
	KUNIT_EXPECT_GE(test, l->law.input, div_u64(PAPER_LINK * 795, 1000));
	KUNIT_EXPECT_LE(test, l->law.input, div_u64(PAPER_LINK * 850, 1000));
}

/* Twenty users become sixty: the queue that they build is drained. */
static void queue_drains(struct kunit *test)
{
	struct loop *l = loop_of(test, PAPER_LINK, 60, PAPER_RTT, PAPER_SIZE);
	u32 i;

	l->users = 20;
	loop_run(l, 150);
	l->users = 60;
	for (i = 20; i < 60; i++)
		l->rate[i] = PAPER_LINK / 50;
	loop_run(l, 1);
	/* the queue is more than half of what the link holds, later less than a hundredth */
	KUNIT_EXPECT_GT(test, l->queue, 1550 * PAPER_SIZE / 2);
	loop_run(l, 150);
	KUNIT_EXPECT_LE(test, l->queue, 1550 * PAPER_SIZE / 100);
	for (i = 0; i < 60; i++)
		EXPECT_NEAR(test, l->rate[i], PAPER_LINK / 60, 20000);
}

/* ------------------------------------------------------------------------- */
/* Nonsense                                                                  */

/* One packet after a period: checks the bounds of its feedback, and of what is left */
static void abuse_packet(struct kunit *test, struct xcp_law *x, u32 len, u32 rtt_us, u64 gap_ns,
			 s32 wanted)
{
	const s32 most = (s32)XCP_FEEDBACK_MOST;
	struct xcp_law was = *x;
	s32 given = packet_departs(x, len, rtt_us, gap_ns, wanted);

	if (!rtt_us) {
		KUNIT_EXPECT_EQ(test, given, min(wanted, 0));
		return;
	}
	KUNIT_EXPECT_LE(test, given, min(wanted, most));
	KUNIT_EXPECT_GE(test, given, min(wanted, -most));
	KUNIT_EXPECT_LE(test, x->raise.left, was.raise.left);
	KUNIT_EXPECT_LE(test, x->cut.left, was.cut.left);
	/*
	 * to half a byte/s, no more is given than was left; and no more is taken, unless
	 * another link took it
	 */
	if (given > 0)
		KUNIT_EXPECT_LE(test, given - 1, was.raise.left >> XCP_SCALE);
	else if (given < 0 && given != wanted)
		KUNIT_EXPECT_LE(test, -given - 1, was.cut.left >> XCP_SCALE);
}

static void abuse(struct kunit *test, const struct xcp_gains *gains, u64 capacity, u64 bytes,
		  u64 gaps_ns)
{
	static const u32 queue[] = { 0, 1, U32_MAX };
	static const u32 rtt[] = { LAW_INTERVAL_MIN, 80000, XCP_RTT_MOST };
	static const u32 lens[] = { 0, 1, 60, 65535, U32_MAX };
	static const u32 rtts[] = { 0, 1, 80000, 33521664, U32_MAX };
	static const u64 gaps[] = { 0, 1, 51600, 511ULL << 31, U64_MAX };
	static const s32 wanted[] = { ALL, 1, 0, -1, -(1 << 28), -(1 << 29) };
	u32 i, k;

	for (i = 0; i < 3 * 3; i++) {
		struct xcp_law x;
		u64 largest;

		xcp_law_init(&x, gains, capacity);
		x.rtt_us = rtt[i % 3];
		x.clock.queue = queue[i / 3];
		x.bytes = bytes;
		x.gaps_ns = gaps_ns;
		x.rtt_sum = gaps_ns;
		x.rtt_weight = gaps_ns;
		xcp_law_step(&x);
		/* phi is bounded by its two terms, each with a gain of at most 4 */
		largest = 8ULL << LAW_RATE_BITS;
		KUNIT_EXPECT_LE(test, abs(x.spare), largest);
		KUNIT_EXPECT_LE(test, raise_left(&x), largest);
		KUNIT_EXPECT_LE(test, cut_left(&x), largest);
		KUNIT_EXPECT_GE(test, x.rtt_us, LAW_INTERVAL_MIN);
		KUNIT_EXPECT_LE(test, x.rtt_us, XCP_RTT_MOST);
		if (bytes && gaps_ns)
			KUNIT_EXPECT_GE(test, (s64)(raise_left(&x) - cut_left(&x) - x.spare), -1);
		for (k = 0; k < 5 * 5 * 5 * 6; k++)
			abuse_packet(test, &x, lens[k % 5], rtts[k / 5 % 5], gaps[k / 25 % 5],
				     wanted[k / 125]);
	}
}

static void survives_nonsense(struct kunit *test)
{
	static const u64 capacity[] = { 1, 125, MBIT, 1000000 * MBIT,
					BIT_ULL(LAW_RATE_BITS) - 1 };
	static const u64 bytes[] = { 0, 1, 65535, BIT_ULL(43), U64_MAX };
	static const u64 gaps_ns[] = { 0, 1, 1023, 51600, BIT_ULL(63) };
	static const struct xcp_gains least = { 1, 0, 0 };
	static const struct xcp_gains largest = { LAW_GAIN_MAX, LAW_GAIN_MAX, LAW_UNIT };
	u32 i;

	for (i = 0; i < 5 * 5 * 5; i++) {
		abuse(test, &xcp_paper, capacity[i % 5], bytes[i / 5 % 5], gaps_ns[i / 25]);
		abuse(test, &least, capacity[i % 5], bytes[i / 5 % 5], gaps_ns[i / 25]);
		abuse(test, &largest, capacity[i % 5], bytes[i / 5 % 5], gaps_ns[i / 25]);
	}
}

/* A million random packets: times and sums stay bounded. */
static void noise(struct kunit *test)
{
	struct rnd_state dice;
	struct xcp_law x;
	u64 now = 0;
	int i;

	prandom_seed_state(&dice, 1);
	xcp_law_init(&x, &xcp_paper, PAPER_LINK);
	xcp_law_start(&x, now, 0);
	for (i = 0; i < 1000000; i++) {
		u32 noise = prandom_u32_state(&dice), info = prandom_u32_state(&dice);
		u32 backlog = prandom_u32_state(&dice) >> (noise & 31);

		now += noise >> (noise >> 27);
		xcp_law_advance(&x, now, backlog);
		KUNIT_ASSERT_FALSE(test, law_clock_due(&x.clock, now));
		packet_arrives(&x, noise & 0xffff, tcpcc_fb_xcp_rtt_us(info),
			       tcpcc_fb_xcp_gap_ns(info));
		xcp_law_depart(&x, backlog);
		abuse_packet(test, &x, noise & 0xffff, tcpcc_fb_xcp_rtt_us(info),
			     tcpcc_fb_xcp_gap_ns(info), tcpcc_fb_change(noise));
	}
	KUNIT_EXPECT_GT(test, x.periods, 1000);
}

/* ------------------------------------------------------------------------- */
/* Packets                                                                   */

/* The header of a packet with a window of 1550 */
static struct tcpcc_fb_header header(u32 word)
{
	return (struct tcpcc_fb_header) {
		.has_word = true, .protocol = TCPCC_FB_XCP, .word = word,
		.info = tcpcc_fb_xcp_info(PAPER_RTT, 51600),
	};
}

/* On a full link a packet gets 1250 by its gap and loses 1.25 per byte. */
static void words_are_lowered(struct kunit *test)
{
	int i;

	for (i = 0; i < 2 * 2 * 6; i++) {
		struct shape s = { .v6 = i & 1, .vlan = i & 2, .pad = i / 4 };
		struct tcpcc_fb_header h = header(TCPCC_FB_NO_LIMIT);
		struct xcp xcp;
		s32 change;
		u32 len;

		len = 14 + (s.v6 ? 40 : 20) + (s.vlan ? 4 : 0) + 20 + ALIGN(s.pad + 12, 4) + 100;
		xcp_setup(&xcp, PAPER_LINK);
		full_link(&xcp.law);
		xcp_law_start(&xcp.law, MS, 0);
		/* the gap is rounded to 51584 ns */
		change = tcpcc_fb_change(word_after(test, &xcp_kind, &xcp, &s, &h, MS));
		KUNIT_EXPECT_LE(test, abs(change - (1250 - (s32)len * 5 / 4)), 1);
		KUNIT_EXPECT_EQ(test, xcp.changed, 1);
		/* a packet that brings less is not changed */
		h.word = tcpcc_fb_change_word(-2000);
		KUNIT_EXPECT_EQ(test, word_after(test, &xcp_kind, &xcp, &s, &h, MS), h.word);
		KUNIT_EXPECT_EQ(test, xcp.changed, 1);
		/* a packet without an rtt gets nothing; if it asks for less, it keeps that */
		h = header(TCPCC_FB_NO_LIMIT);
		h.info = tcpcc_fb_xcp_info(0, 51600);
		KUNIT_EXPECT_EQ(test, word_after(test, &xcp_kind, &xcp, &s, &h, MS), 0);
		KUNIT_EXPECT_EQ(test, xcp.changed, 2);
		h.word = tcpcc_fb_change_word(-5);
		KUNIT_EXPECT_EQ(test, word_after(test, &xcp_kind, &xcp, &s, &h, MS), h.word);
		KUNIT_EXPECT_EQ(test, xcp.changed, 2);
		KUNIT_EXPECT_EQ(test, xcp.arrivals.headers, 4);
		KUNIT_EXPECT_EQ(test, xcp.law.bytes, 4 * len);
		KUNIT_EXPECT_EQ(test, xcp.unwritable, 0);
	}
}

static void words_of_others(struct kunit *test)
{
	struct tcpcc_fb_header h = header(TCPCC_FB_NO_LIMIT);
	struct shape s = {};
	struct xcp xcp;

	xcp_setup(&xcp, PAPER_LINK);
	leaves_others(test, &xcp_kind, &xcp, TCPCC_FB_XCP, MS);
	/* these packets do not start the first period either */
	KUNIT_EXPECT_FALSE(test, xcp.law.clock.running);
	KUNIT_EXPECT_EQ(test, xcp.arrivals.headers, 0);
	KUNIT_EXPECT_EQ(test, xcp.arrivals.malformed, 2);
	KUNIT_EXPECT_EQ(test, xcp.arrivals.plain, 30);
	/* the first packet gets nothing, because nothing is known of the link yet */
	KUNIT_EXPECT_EQ(test, word_after(test, &xcp_kind, &xcp, &s, &h, MS), 0);
	KUNIT_EXPECT_TRUE(test, xcp.law.clock.running);
	KUNIT_EXPECT_EQ(test, xcp.law.clock.control_ns, MS + 50 * MS);
}

/* A running link continues with new options.  A reset does not change the options. */
static void configure(struct kunit *test)
{
	static const struct xcp_gains other = { 1, 2, 3 };
	struct xcp xcp;

	xcp_setup(&xcp, PAPER_LINK);
	KUNIT_EXPECT_EQ(test, memcmp(&xcp.law.gains, &xcp_paper, sizeof(xcp_paper)), 0);
	full_link(&xcp.law);
	xcp_law_start(&xcp.law, MS, 0);
	KUNIT_EXPECT_EQ(test, xcp_change(&xcp, MBIT, &other, NULL), 0);
	KUNIT_EXPECT_EQ(test, xcp.law.capacity, MBIT);
	KUNIT_EXPECT_EQ(test, xcp.law.gains.gamma, 3);
	KUNIT_EXPECT_EQ(test, xcp.law.input, PAPER_LINK);
	xcp_restart(&xcp);
	KUNIT_EXPECT_EQ(test, xcp.law.capacity, MBIT);
	KUNIT_EXPECT_EQ(test, xcp.law.gains.beta, 2);
	KUNIT_EXPECT_EQ(test, xcp.law.input, 0);
	KUNIT_EXPECT_FALSE(test, xcp.law.clock.running);
}

static struct kunit_case xcp_cases[] = {
	KUNIT_CASE(equilibrium),
	KUNIT_CASE(one_step),
	KUNIT_CASE(hands_out_phi),
	KUNIT_CASE(shares),
	KUNIT_CASE(upstream_allows_less),
	KUNIT_CASE(without_rtt),
	KUNIT_CASE(at_most),
	KUNIT_CASE(mean_rtt),
	KUNIT_CASE(waits_for_first),
	KUNIT_CASE(idle),
	KUNIT_CASE(late_is_the_same),
	KUNIT_CASE(persistent_queue),
	KUNIT_CASE(settles),
	KUNIT_CASE(first_link_of_table_1),
	KUNIT_CASE(least_use),
	KUNIT_CASE(queue_drains),
	KUNIT_CASE(survives_nonsense),
	KUNIT_CASE(noise),
	KUNIT_CASE(words_are_lowered),
	KUNIT_CASE(words_of_others),
	KUNIT_CASE(configure),
	{}
};

static struct kunit_suite xcp_suite = {
	.name = "sch_xcp",
	.test_cases = xcp_cases,
};

kunit_test_suite(xcp_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the router qdisc xcp");
