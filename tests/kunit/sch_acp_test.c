// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the router qdisc acp: the law, with the paper's numbers and with
 * extreme ones, and the congestion header on well formed and on hostile packets.
 */
#include "../../sched/acp_law.c"
#include "../../sched/acp_police.c"
#include "../../sched/acp_newcomers.c"
#include "../../sched/sch_header.c"

#include <kunit/test.h>
#include <linux/module.h>
#include <linux/random.h>

#include "sch_packet.h"

#define MBIT		125000ULL	/* bytes/s */
#define PAPER_LINK	(155 * MBIT)
#define PAPER_RTT	80000		/* us */
#define PAPER_SIZE	1000		/* bytes */

/* ------------------------------------------------------------------------- */
/* The law                                                                   */

/* A link, and flows that send at its rate one period later. */
struct loop {
	struct acp_law law;
	u32 flows;
	u32 other;	/* bytes of other traffic in a period */
	u64 before;	/* the link's rate in the period before, ACP_SCALE */
	u64 queue;	/* bytes */
};

static void loop_init(struct loop *l, u64 capacity, u32 flows)
{
	memset(l, 0, sizeof(*l));
	acp_law_init(&l->law, &acp_paper, capacity);
	l->flows = flows;
}

static void loop_run(struct loop *l, u32 rtt_us, int periods)
{
	struct acp_law *a = &l->law;

	while (periods--) {
		u64 wanted = a->rate;
		u64 bytes = div_u64(div_u64((l->flows * l->before), 1000) *
				    (a->interval_us / 1000), 1 << ACP_SCALE) +
			    l->other;
		u64 sent = div_u64(a->capacity * a->interval_us, USEC_PER_SEC);

		a->bytes = bytes;
		a->packets = div_u64(bytes, PAPER_SIZE);
		a->rtt_weight = !!a->packets;
		a->rtt_sum_us = rtt_us * a->rtt_weight;
		l->queue += bytes;
		l->queue -= min(l->queue, sent);
		a->clock.queue = min_t(u64, l->queue, U32_MAX);
		acp_law_step(a);
		l->before = wanted;
	}
}

/* Eq. 6 from a rate of 0: 0.1587 * 0.99 * C / 10.  Eq. 8 does not change N yet. */
static void first_step(struct kunit *test)
{
	struct acp_law a;

	acp_law_init(&a, &acp_paper, PAPER_LINK);
	KUNIT_EXPECT_EQ(test, a.rate, 0);
	KUNIT_EXPECT_EQ(test, a.interval_us, 50000);
	acp_law_step(&a);
	EXPECT_NEAR(test, acp_law_rate(&a), 304406, 10);
	KUNIT_EXPECT_EQ(test, a.flows, 10ULL << ACP_SCALE);
	KUNIT_EXPECT_EQ(test, a.periods, 1);
}

/* One step of Eqs. 6 and 8 with all terms, compared with a calculation by hand. */
static void one_step(struct kunit *test)
{
	struct acp_law a;

	acp_law_init(&a, &acp_paper, PAPER_LINK);
	a.interval_us = 80000;
	a.rate = 1000000ULL << ACP_SCALE;
	a.flows = 20ULL << ACP_SCALE;
	a.bytes = 1200000;		/* y = 15000000 bytes/s */
	a.packets = 1200;
	a.clock.queue = 40000;		/* q / d = 500000 bytes/s */
	a.rtt_sum_us = 1200 * 90000ULL;
	a.rtt_weight = 1200;
	acp_law_step(&a);
	/* 10^6 + (.1587 * (19181250 - 15 * 10^6) - .3175 * 500000) / 20 */
	EXPECT_NEAR(test, acp_law_rate(&a), 1025240, 5);
	/* 20 + .1 * (15 - 20) */
	EXPECT_NEAR(test, a.flows, (39ULL << ACP_SCALE) / 2, 5);
	KUNIT_EXPECT_EQ(test, a.input, 15000000);
	KUNIT_EXPECT_EQ(test, a.interval_us, 90000);
	KUNIT_EXPECT_EQ(test, a.bytes, 0);
	KUNIT_EXPECT_EQ(test, a.rtt_weight, 0);
}

/* p = 0.99 * C / N, and N itself, from 1 Mbit/s to 400 Gbit/s */
static void equilibrium(struct kunit *test)
{
	static const u32 mbps[] = { 1, 10, 155, 1000, 10000, 100000, 400000 };
	static const u32 flows[] = { 1, 2, 10, 50, 200, 1000 };
	int i, j;

	for (i = 0; i < ARRAY_SIZE(mbps); i++) {
		for (j = 0; j < ARRAY_SIZE(flows); j++) {
			u64 capacity = mbps[i] * MBIT;
			u64 fair = div_u64(capacity * 99, 100 * flows[j]);
			struct loop l;

			/* each must have at least two packets per period */
			if (fair < 2 * 1000000 / 80)
				continue;
			loop_init(&l, capacity, flows[j]);
			loop_run(&l, PAPER_RTT, 500);
			EXPECT_NEAR(test, acp_law_rate(&l.law), fair, 1000);
			EXPECT_NEAR(test, l.law.flows,
				    (u64)flows[j] << ACP_SCALE, 2000);
			EXPECT_NEAR(test, l.law.input,
				    div_u64(capacity * 99, 100), 1000);
			KUNIT_EXPECT_EQ(test, l.queue, 0);
			KUNIT_EXPECT_TRUE(test, l.law.congested);
		}
	}
}

/* Figs. 9 to 11: 30, 10, then 50 users, for five seconds (62 periods of 80 ms) each */
static void estimator_follows(struct kunit *test)
{
	static const u32 users[] = { 30, 10, 50 };
	struct loop l;
	int i;

	loop_init(&l, PAPER_LINK, users[0]);
	for (i = 0; i < ARRAY_SIZE(users); i++) {
		l.flows = users[i];
		loop_run(&l, PAPER_RTT, 62);
		EXPECT_NEAR(test, l.law.flows, (u64)users[i] << ACP_SCALE,
			    50000);
		EXPECT_NEAR(test, acp_law_rate(&l.law),
			    PAPER_LINK * 99 / 100 / users[i], 50000);
	}
}

/* Twenty users become sixty: the queue term of Eq. 6 drains the queue that they build. */
static void queue_drains(struct kunit *test)
{
	struct loop l;

	loop_init(&l, PAPER_LINK, 20);
	loop_run(&l, PAPER_RTT, 200);
	l.flows = 60;
	loop_run(&l, PAPER_RTT, 3);
	KUNIT_EXPECT_GT(test, l.queue, 0);
	loop_run(&l, PAPER_RTT, 60);
	KUNIT_EXPECT_EQ(test, l.queue, 0);
}

/*
 * Fifty users are idle for ten seconds, and N is not updated (Appendix A).  There is no other
 * traffic, or one packet in each period.  Then the users return, with the same rates.
 */
static void idle_keeps_flows(struct kunit *test)
{
	static const u32 other[] = { 0, PAPER_SIZE };
	u64 fair = div_u64(PAPER_LINK * 99, 100 * 50);
	struct loop l;
	int i, period;

	for (i = 0; i < ARRAY_SIZE(other); i++) {
		loop_init(&l, PAPER_LINK, 50);
		loop_run(&l, PAPER_RTT, 200);
		l.flows = 0;
		l.other = other[i];
		loop_run(&l, PAPER_RTT, 10 * USEC_PER_SEC / PAPER_RTT);
		EXPECT_NEAR(test, l.law.flows, 50ULL << ACP_SCALE, 1000);
		EXPECT_NEAR(test, acp_law_rate(&l.law), fair, 1000);
		l.flows = 50;
		for (period = 0; period < 20; period++) {
			loop_run(&l, PAPER_RTT, 1);
			EXPECT_NEAR(test, acp_law_rate(&l.law), fair, 5000);
			KUNIT_EXPECT_LE(test, l.queue, 2 * PAPER_SIZE);
		}
	}
}

/* One of fifty users remains, and soon has the whole link. */
static void one_of_many_remains(struct kunit *test)
{
	struct loop l;

	loop_init(&l, PAPER_LINK, 50);
	loop_run(&l, PAPER_RTT, 200);
	l.flows = 1;
	/* as in Figs. 9 to 11: within five seconds */
	loop_run(&l, PAPER_RTT, 62);
	EXPECT_NEAR(test, acp_law_rate(&l.law), PAPER_LINK * 99 / 100, 50000);
}

/*
 * If the link is idle from the beginning, p rises to 0.99 * C / N.  The number of steps is small
 * for any idle time.
 */
static void idle(struct kunit *test)
{
	static const u64 capacity[] = { 125, MBIT, PAPER_LINK, 50000000000ULL };
	static const u32 flows[] = { 1, 50, 1000, ACP_FLOWS_MAX };
	int i, j;

	for (i = 0; i < ARRAY_SIZE(capacity); i++) {
		for (j = 0; j < ARRAY_SIZE(flows); j++) {
			/* packets of 1500 bytes, one in 50 ms for each flow */
			u64 most = max_t(u64, div_u64(capacity[i], 30000), 1);
			u64 n = min_t(u64, flows[j], most);
			struct acp_law a;
			u64 now = 3600ULL * NSEC_PER_SEC;

			acp_law_init(&a, &acp_paper, capacity[i]);
			a.flows = (u64)flows[j] << ACP_SCALE;
			acp_law_start(&a, 1, 0);
			acp_law_advance(&a, now, 0);
			EXPECT_NEAR(test, a.flows, n << ACP_SCALE, 50000);
			EXPECT_NEAR(test, a.rate,
				    div_u64(div_u64(capacity[i] * 99, 100) << ACP_SCALE, n),
				    50000);
			KUNIT_EXPECT_LE(test, a.periods, 2 * ACP_REST);
			KUNIT_EXPECT_FALSE(test, acp_law_due(&a, now));
			KUNIT_EXPECT_TRUE(test, acp_law_due(&a, now +
							    NSEC_PER_SEC));
			KUNIT_EXPECT_FALSE(test, a.congested);
		}
	}
}

/* Before its first header a link has no periods. */
static void waits_for_first(struct kunit *test)
{
	struct acp_law a;

	acp_law_init(&a, &acp_paper, PAPER_LINK);
	KUNIT_EXPECT_FALSE(test, acp_law_due(&a, U64_MAX - 1));
	acp_law_arrive(&a, 1500, 0, 0);
	acp_law_advance(&a, U64_MAX / 2, 0);
	KUNIT_EXPECT_EQ(test, a.rate, 0);
	KUNIT_EXPECT_EQ(test, a.periods, 0);
}

/* Periods and windows end at the same times, whether they are computed at once or later. */
static void late_is_the_same(struct kunit *test)
{
	struct acp_law often, late;
	u64 now = 0, next = 0;
	int i;

	acp_law_init(&often, &acp_paper, PAPER_LINK);
	acp_law_start(&often, 0, 0);
	late = often;
	for (i = 0; i < 2000; i++) {
		u32 backlog = i * 37 % 11 * 1000;

		/* 17 us to 10.2 ms until the next packet */
		next += 17000 * (1 + i * i % 600);
		while (now + 50000 < next) {
			now += 50000;
			acp_law_advance(&often, now, backlog);
		}
		acp_law_advance(&often, next, backlog);
		acp_law_advance(&late, next, backlog);
		KUNIT_ASSERT_EQ(test, memcmp(&often, &late, sizeof(late)), 0);
		acp_law_arrive(&often, 1000, 20000 + i, backlog);
		acp_law_arrive(&late, 1000, 20000 + i, backlog);
	}
	KUNIT_EXPECT_GT(test, late.periods, 100);
	KUNIT_EXPECT_GT(test, late.rate, 0);
}

/* The persistent queue is the least queue of a window; an arrival at an empty queue makes it 0. */
static void persistent_queue(struct kunit *test)
{
	struct acp_law a;
	u64 ms = NSEC_PER_MSEC;

	acp_law_init(&a, &acp_paper, PAPER_LINK);
	a.interval_us = 20000;
	acp_law_start(&a, 0, 50000);
	acp_law_arrive(&a, 1000, 0, 50000);
	acp_law_arrive(&a, 1000, 0, 30000);
	acp_law_arrive(&a, 1000, 0, 70000);
	/* the window is 20 ms minus 2.58 ms, the time of 50000 bytes */
	acp_law_advance(&a, 17 * ms, 70000);
	KUNIT_EXPECT_EQ(test, a.clock.queue, 0);
	acp_law_advance(&a, 17 * ms + ms / 2, 70000);
	KUNIT_EXPECT_EQ(test, a.clock.queue, 30000);
	/* no packet has arrived since then: the whole queue is persistent */
	acp_law_advance(&a, 60 * ms, 70000);
	KUNIT_EXPECT_EQ(test, a.clock.queue, 70000);
	acp_law_arrive(&a, 1000, 0, 0);
	acp_law_advance(&a, 80 * ms, 90000);
	KUNIT_EXPECT_EQ(test, a.clock.queue, 0);

	/* the least window is 2 ms */
	KUNIT_EXPECT_EQ(test, acp_window_us(&a, 0), 20000);
	KUNIT_EXPECT_EQ(test, acp_window_us(&a, U32_MAX), 2000);
	a.interval_us = LAW_INTERVAL_MIN;
	KUNIT_EXPECT_EQ(test, acp_window_us(&a, 0), 2000);
}

static void congestion_bit(struct kunit *test)
{
	struct acp_law a;
	u64 edge = div_u64(PAPER_LINK * 95, 100 * 20);

	acp_law_init(&a, &acp_paper, PAPER_LINK);
	a.bytes = edge;
	acp_law_step(&a);
	KUNIT_EXPECT_FALSE(test, a.congested);
	a.bytes = edge + 1000;
	acp_law_step(&a);
	KUNIT_EXPECT_TRUE(test, a.congested);
	/* with more capacity it is not congested */
	acp_law_set_capacity(&a, 2 * PAPER_LINK);
	KUNIT_EXPECT_FALSE(test, a.congested);
}

static void interval_is_bounded(struct kunit *test)
{
	struct acp_law a;
	int i;

	acp_law_init(&a, &acp_paper, PAPER_LINK);
	acp_law_arrive(&a, 1000, 0, 0);
	acp_law_step(&a);
	KUNIT_EXPECT_EQ(test, a.interval_us, 50000);
	acp_law_arrive(&a, 1000, 80000, 0);
	acp_law_arrive(&a, 1000, 0, 0);
	acp_law_arrive(&a, 1000, 120000, 0);
	acp_law_step(&a);
	KUNIT_EXPECT_EQ(test, a.interval_us, 90000);
	for (i = 0; i < 10; i++) {
		acp_law_arrive(&a, 1000, TCPCC_FB_RTT_MAX, 0);
		acp_law_step(&a);
	}
	KUNIT_EXPECT_EQ(test, a.interval_us, LAW_INTERVAL_MAX);
	/* the sums of a period at the highest rate do not overflow */
	a.rtt_sum_us = (u64)ACP_RTT_MOST * LAW_INTERVAL_MAX * BIT_ULL(43 - ACP_WEIGHT);
	a.rtt_weight = BIT_ULL(43 - ACP_WEIGHT);
	acp_law_step(&a);
	KUNIT_EXPECT_EQ(test, a.interval_us, LAW_INTERVAL_MAX);
	acp_law_arrive(&a, 1000, 1, 0);
	acp_law_step(&a);
	KUNIT_EXPECT_EQ(test, a.interval_us, LAW_INTERVAL_MIN);
}

/*
 * The control period of a link, us, after many periods in which @liars of 100 packets have @size
 * bytes and claim an rtt of @claim_us; the others claim @rtt_us
 */
static u32 interval_among(u32 liars, u32 size, u32 claim_us, u32 rtt_us)
{
	struct acp_law a;
	int i, period;

	acp_law_init(&a, &acp_paper, PAPER_LINK);
	for (period = 0; period < 100; period++) {
		for (i = 0; i < 100; i++) {
			if (i < liars)
				acp_law_arrive(&a, size, claim_us, 0);
			else
				acp_law_arrive(&a, 1000, rtt_us, 0);
		}
		acp_law_step(&a);
	}
	return a.interval_us;
}

/*
 * If a part k of the bytes claims a wrong rtt, the period is multiplied by at most
 * (1 - k) / (1 - 2 * k), and by at least 1 - k.
 */
static void lies_have_little_power(struct kunit *test)
{
	EXPECT_NEAR(test, interval_among(10, 1000, TCPCC_FB_RTT_MAX, 80000), 90000, 1000);
	EXPECT_NEAR(test, interval_among(25, 1000, TCPCC_FB_RTT_MAX, 80000), 120000, 1000);
	EXPECT_NEAR(test, interval_among(10, 1000, 1, 80000), 72000, 1000);
	/* many small packets change little more: half of the packets have a ninth of the weight */
	EXPECT_NEAR(test, interval_among(50, 66, TCPCC_FB_RTT_MAX, 80000), 91430, 1000);
	/* correct rtts that differ by a factor of thirty give their mean */
	EXPECT_NEAR(test, interval_among(50, 1000, 300000, 10000), 155000, 1000);
}

static void slower_link(struct kunit *test)
{
	struct acp_law a;

	acp_law_init(&a, &acp_paper, PAPER_LINK);
	a.rate = PAPER_LINK << ACP_SCALE;
	acp_law_set_capacity(&a, MBIT);
	KUNIT_EXPECT_EQ(test, acp_law_rate(&a), MBIT);
}

/* Steps with @bytes in a period: 0 <= p <= C and 1 <= N for any values. */
static void abuse(struct kunit *test, const struct acp_gains *gains,
		  u64 capacity, u64 bytes, bool fast)
{
	static const u32 queue[] = { 0, 1, U32_MAX };
	static const u32 interval[] = { LAW_INTERVAL_MIN, LAW_INTERVAL_MAX };
	static const u64 flows[] = { 1, ACP_FLOWS_MAX };
	int i, step;

	for (i = 0; i < 3 * 2 * 2; i++) {
		struct acp_law a;

		acp_law_init(&a, gains, capacity);
		a.interval_us = interval[i & 1];
		a.flows = flows[i / 2 & 1] << ACP_SCALE;
		a.rate = fast ? capacity << ACP_SCALE : 0;
		for (step = 0; step < 2; step++) {
			a.bytes = bytes;
			a.packets = !!bytes;
			a.clock.queue = queue[i / 4];
			acp_law_step(&a);
			KUNIT_EXPECT_LE(test, a.rate, capacity << ACP_SCALE);
			KUNIT_EXPECT_GE(test, a.flows, BIT_ULL(ACP_SCALE));
			KUNIT_EXPECT_LE(test, a.flows,
					(u64)ACP_FLOWS_MAX << ACP_SCALE);
		}
		/* if more arrives than the link can carry, p becomes less */
		if (bytes == U64_MAX && capacity <= MBIT && fast)
			KUNIT_EXPECT_LT(test, a.rate, capacity << ACP_SCALE);
	}
}

static void survives_nonsense(struct kunit *test)
{
	static const u64 capacity[] = { 1, 125, MBIT, 50000000000ULL,
					BIT_ULL(LAW_RATE_BITS) - 1 };
	static const u64 bytes[] = { 0, 1, 65535, BIT_ULL(43), U64_MAX };
	struct acp_gains wild = { LAW_GAIN_MAX, LAW_GAIN_MAX, LAW_UNIT,
				  LAW_UNIT, LAW_UNIT, 1, LAW_INTERVAL_MIN };
	int c, b;

	for (c = 0; c < ARRAY_SIZE(capacity); c++) {
		for (b = 0; b < ARRAY_SIZE(bytes); b++) {
			abuse(test, &acp_paper, capacity[c], bytes[b], false);
			abuse(test, &acp_paper, capacity[c], bytes[b], true);
			abuse(test, &wild, capacity[c], bytes[b], false);
			abuse(test, &wild, capacity[c], bytes[b], true);
		}
	}
}

/* ------------------------------------------------------------------------- */
/* Newcomers                                                                 */

/* Flows @from to @to - 1 send a packet each.  Return: number of known flows after that */
static u32 newcomers_send(struct acp_newcomers *c, u32 from, u32 to)
{
	u32 i;

	for (i = from; i < to; i++)
		acp_newcomers_saw(c, jhash_1word(i, 0));
	return c->known;
}

static struct acp_newcomers *newcomers_of(struct kunit *test, u32 flows)
{
	struct acp_newcomers *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	acp_newcomers_init(c, flows);
	return c;
}

/*
 * With m places linear counting has a standard error of
 * sqrt(m * (exp(n / m) - n / m - 1)) / n, here up to 1.6 %.  Three times that, 5 %, is allowed.
 */
static void newcomers_are_counted(struct kunit *test)
{
	static const u32 most[] = { 1, 2, 10, 100, 1000, 4000, 10000 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(most); i++) {
		struct acp_newcomers *c = newcomers_of(test, 1);
		u32 n = most[i];

		EXPECT_NEAR(test, newcomers_send(c, 0, n), n, 50000);
		/* a known flow is not a newcomer */
		KUNIT_EXPECT_EQ(test, acp_newcomers_saw(c, jhash_1word(0, 0)), 0);
	}
	KUNIT_EXPECT_EQ(test, acp_newcomers_count(ACP_PLACES), 34068);
}

/* Flows that stay are counted once.  When flows leave, the count falls slowly. */
static void newcomers_become_known(struct kunit *test)
{
	struct acp_newcomers *c = newcomers_of(test, 10);
	u32 period, was;

	/* a flow that sends again before its mark expires is not counted again */
	was = newcomers_send(c, 0, 50);
	for (period = 0; period < ACP_MARKED - 1; period++)
		acp_newcomers_period(c);
	KUNIT_EXPECT_EQ(test, newcomers_send(c, 0, 50), was);

	for (period = 0; period < 20; period++) {
		newcomers_send(c, 0, 100);
		EXPECT_NEAR(test, c->known, 100, 50000);
		acp_newcomers_period(c);
	}
	was = c->known;
	for (period = 0; period < ACP_MARKED - 1; period++) {
		KUNIT_EXPECT_EQ(test, newcomers_send(c, 0, 10), was);
		acp_newcomers_period(c);
	}
	/* the marks of the other ninety have expired */
	EXPECT_NEAR(test, c->live, 10, 0);
	EXPECT_NEAR(test, c->known, was - DIV_ROUND_UP(was - 10 - 3 * 3, 16), 0);
	/* new flows do not raise the count, because it has not fallen yet */
	KUNIT_EXPECT_EQ(test, newcomers_send(c, 100, 150), c->known);
	/* 100 flows stay; the count may exceed that by chance, by 3 sqrt(100) */
	newcomers_send(c, 0, 200);
	for (period = 0; period < 100; period++) {
		newcomers_send(c, 0, 100);
		acp_newcomers_period(c);
	}
	EXPECT_NEAR(test, c->known, 100 + 30, 50000);
	for (period = 0; period < 100; period++)
		acp_newcomers_period(c);
	KUNIT_EXPECT_EQ(test, c->live, 0);
	KUNIT_EXPECT_EQ(test, c->known, 1);
}

/* Newcomers do not change the sum of all rates, and neither p nor N overflows. */
static void newcomers_share(struct kunit *test)
{
	struct acp_law a;

	acp_law_init(&a, &acp_paper, 19375000);
	a.rate = 19375000ULL << ACP_SCALE;
	acp_law_share(&a, 10, 1000);
	KUNIT_EXPECT_EQ(test, acp_law_rate(&a), 193750);
	KUNIT_EXPECT_EQ(test, a.flows, 1000ULL << ACP_SCALE);

	acp_law_init(&a, &acp_paper, BIT_ULL(LAW_RATE_BITS) - 1);
	a.rate = (BIT_ULL(LAW_RATE_BITS) - 1) << ACP_SCALE;
	a.flows = (u64)ACP_FLOWS_MAX << ACP_SCALE;
	acp_law_share(&a, 1, 34068);
	KUNIT_EXPECT_EQ(test, acp_law_rate(&a), (BIT_ULL(LAW_RATE_BITS) - 1) / 34068);
	KUNIT_EXPECT_EQ(test, a.flows, (u64)ACP_FLOWS_MAX << ACP_SCALE);
}

/* ------------------------------------------------------------------------- */
/* The police                                                                */

/* Flow @i sends @bytes in packets.  Return: bytes of packets that may pass */
static u32 police_send(struct acp_police *p, u32 i, u32 bytes)
{
	u32 passed = 0;

	for (; bytes >= PAPER_SIZE; bytes -= PAPER_SIZE)
		passed += PAPER_SIZE *
			  !acp_police_exceeds(p, i * 0x9e3779b1, PAPER_SIZE);
	return passed;
}

/* The next period of 80 ms, in which each flow is granted @packets packets */
static void police_next(struct acp_police *p, u32 packets)
{
	acp_police_grant(p, div_u64((u64)packets * PAPER_SIZE * USEC_PER_SEC, PAPER_RTT),
			 LAW_UNIT / 10, PAPER_RTT, PAPER_SIZE,
			 p->time_ns + PAPER_RTT * NSEC_PER_USEC);
}

/*
 * No packet of a hundred flows exceeds if they send their grant, or a tenth more.  Nor does
 * one if the grant falls to a fiftieth, and the flows follow four periods later.
 */
static void police_spares_the_honest(struct kunit *test)
{
	struct acp_police *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	int period, i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	for (period = 0; period < 300; period++) {
		u32 bytes = (period < 154 ? 110 : 2) * PAPER_SIZE;

		police_next(p, period < 150 ? 100 : 2);
		for (i = 0; i < 100; i++)
			KUNIT_EXPECT_EQ(test, police_send(p, i, bytes), bytes);
	}
	KUNIT_EXPECT_EQ(test, acp_police_over(p), 0);
}

/* If flows send more, what exceeds 1.1 times the grant is dropped, to 1 %. */
static void police_stops_liars(struct kunit *test)
{
	static const u32 sent[] = { 100, 120, 200, 1000 };
	u64 passed[ARRAY_SIZE(sent)] = {};
	struct acp_police *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	int period, i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	for (period = 0; period < 400; period++) {
		police_next(p, 100);
		for (i = 0; i < ARRAY_SIZE(sent); i++) {
			u32 bytes = police_send(p, i, sent[i] * PAPER_SIZE);

			/* 120 exceeds 110 by the tolerated eight periods' worth after 88 periods */
			if (period >= 200)
				passed[i] += bytes;
		}
	}
	EXPECT_NEAR(test, passed[0], 200ULL * 100 * PAPER_SIZE, 0);
	for (i = 1; i < ARRAY_SIZE(sent); i++)
		EXPECT_NEAR(test, passed[i], 200ULL * 110 * PAPER_SIZE, 10000);
	KUNIT_EXPECT_EQ(test, acp_police_over(p), ARRAY_SIZE(sent) - 1);
}

/* A short excess passes, here that of a newcomer for five periods */
static void police_waits(struct kunit *test)
{
	struct acp_police *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	u32 bytes = 200 * PAPER_SIZE;
	int period;

	KUNIT_ASSERT_NOT_NULL(test, p);
	for (period = 0; period < 5; period++) {
		police_next(p, 100);
		KUNIT_EXPECT_EQ(test, police_send(p, 1, bytes), bytes);
	}
}

/*
 * One set has ten times as many flows as places.  Each flow sends its grant, except one, which
 * sends ten times its grant.  That one is limited to 1.1 times the grant, to 10 %, and no packet
 * of the others exceeds.
 */
static void police_is_overrun(struct kunit *test)
{
	struct acp_police *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	u32 passed = 0, unfair = 0;
	int period, round, i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	for (period = 0; period < 200; period++) {
		police_next(p, 100);
		for (round = 0; round < 100; round++) {
			for (i = 1; i < 10 * ACP_POLICE_WAYS; i++)
				unfair += acp_police_exceeds(p, i * ACP_POLICE_SETS,
							     PAPER_SIZE);
			for (i = 0; i < 10; i++)
				passed += !acp_police_exceeds(p, 0, PAPER_SIZE) &&
					  period >= 100;
		}
	}
	KUNIT_EXPECT_EQ(test, unfair, 0);
	EXPECT_NEAR(test, passed, 100 * 110, 100000);
}

/* ------------------------------------------------------------------------- */
/* The header on packets                                                     */

static const u8 data_option[] = {
	253, 12, 0xac, 0x50, 0x10, 0x01, 0x38, 0x80, 0x1f, 0xff, 0xff, 0xff,
};

/* Changes the word of a packet whose place of the word is known */
static int change(struct sk_buff *skb, u32 old, u32 new)
{
	const struct tcpcc_place *place = tcpcc_place(skb);

	return tcpcc_header_change(skb, place, tcpcc_header_at(skb, place), old, new);
}

/* For packets of all shapes the word is found and changed, and the checksum is correct. */
static void header_is_changed(struct kunit *test)
{
	static const u8 summed[] = { CHECKSUM_NONE, CHECKSUM_UNNECESSARY,
				     CHECKSUM_COMPLETE, CHECKSUM_PARTIAL };
	u32 old = TCPCC_FB_NO_LIMIT, new = tcpcc_fb_encode(387500, true);
	int i, j;

	for (i = 0; i < 2 * 2 * 6 * 2; i++) {
		for (j = 0; j < ARRAY_SIZE(summed); j++) {
			struct shape s = {
				.v6 = i & 1, .vlan = i & 2, .pad = i / 4 % 6,
				.extension = i / 24 * 8, .summed = summed[j],
			};
			struct tcpcc_fb_header h;
			struct sk_buff *skb, *clone;
			struct tcphdr *th;
			u16 was;

			skb = packet(test, &s, data_option,
				     sizeof(data_option));
			th = tcp_of(skb, &s);
			was = tcp_sum(skb, &s);
			th->check = (__force __sum16)was;
			KUNIT_ASSERT_EQ(test, tcpcc_header_find(skb, &h), 1);
			KUNIT_EXPECT_EQ(test, h.protocol, TCPCC_FB_ACP);
			KUNIT_EXPECT_EQ(test, h.info, 80000);
			KUNIT_EXPECT_EQ(test, h.word, old);
			KUNIT_EXPECT_EQ(test,
					tcpcc_header_word(skb,
							  tcpcc_place(skb)),
					old);

			/* a clone shares the data, and must not change */
			clone = skb_clone(skb, GFP_KERNEL);
			KUNIT_ASSERT_NOT_NULL(test, clone);
			KUNIT_EXPECT_EQ(test, change(skb, old, new), 0);
			KUNIT_EXPECT_EQ(test,
					tcpcc_header_word(skb,
							  tcpcc_place(skb)),
					new);
			KUNIT_EXPECT_EQ(test,
					tcpcc_header_word(clone,
							  tcpcc_place(clone)),
					old);
			if (summed[j] == CHECKSUM_PARTIAL)
				KUNIT_EXPECT_EQ(test, (__force u16)
						tcp_of(skb, &s)->check, was);
			else
				KUNIT_EXPECT_EQ(test, tcp_sum(skb, &s), 0);
			KUNIT_EXPECT_EQ(test, tcp_sum(clone, &s), 0);
			kfree_skb(clone);
			kfree_skb(skb);
		}
	}
}

static int find(struct kunit *test, const struct shape *s, const u8 *option,
		unsigned int len)
{
	struct sk_buff *skb = packet(test, s, option, len);
	struct tcpcc_fb_header h;
	int found = tcpcc_header_find(skb, &h);

	KUNIT_EXPECT_TRUE(test, found > 0 || !tcpcc_place(skb)->word);
	kfree_skb(skb);
	return found;
}

/* Valid headers are found.  Other options and malformed headers are refused. */
static void header_is_checked(struct kunit *test)
{
	static const u8 echo[] = { 253, 8, 0xac, 0x50, 0, 0, 1, 0 };
	static const u8 both[] = { 253, 16, 0xac, 0x50, 0x10, 0, 0, 0,
				   0, 0, 1, 0, 0, 0, 2, 0 };
	static const u8 other[] = { 253, 12, 0xac, 0x51, 0, 0, 0, 0,
				    0, 0, 0, 0 };
	static const u8 odd[] = { 253, 11, 0xac, 0x50, 0, 0, 0, 0, 0, 0, 0, 1 };
	static const u8 version[] = { 253, 12, 0xac, 0x50, 0x10, 0, 0, 0,
				      0x40, 0, 0, 0 };
	static const u8 cut[] = { 1, 1, 253, 12, 0xac, 0x50, 0, 0 };
	static const u8 nothing[] = { 1, 1, 1, 253 };
	static const u8 zero[] = { 8, 0, 0xac, 0x50 };
	struct shape s = {};

	for (s.v6 = 0; ; s.v6 = 1) {
		KUNIT_EXPECT_EQ(test, find(test, &s, data_option, 12), 1);
		KUNIT_EXPECT_EQ(test, find(test, &s, echo, sizeof(echo)), 1);
		KUNIT_EXPECT_EQ(test, find(test, &s, both, sizeof(both)), 1);
		KUNIT_EXPECT_EQ(test, find(test, &s, NULL, 0), 0);
		KUNIT_EXPECT_EQ(test, find(test, &s, other, sizeof(other)), 0);
		KUNIT_EXPECT_EQ(test, find(test, &s, odd, sizeof(odd)),
				-EBADMSG);
		KUNIT_EXPECT_EQ(test, find(test, &s, version, sizeof(version)),
				-EBADMSG);
		KUNIT_EXPECT_LE(test, find(test, &s, cut, sizeof(cut)), 0);
		KUNIT_EXPECT_LE(test, find(test, &s, nothing, sizeof(nothing)),
				0);
		KUNIT_EXPECT_LE(test, find(test, &s, zero, sizeof(zero)), 0);
		if (s.v6)
			break;
	}
}

/*
 * Each packet is counted once, in the class that it has for a router of this protocol.  Its place
 * is set if it has a word of this protocol.
 */
static void arrivals_are_counted(struct kunit *test)
{
	static const struct {
		u8 option[16], len;
		u8 protocol;	/* of its word; 0: no word */
		struct tcpcc_arrivals as;	/* count if it has no word of our protocol */
	} c[] = {
		{ { 0 }, 0, 0, { .plain = 1 } },
		{ { 1, 1, 5, 10 }, 12, 0, { .plain = 1 } },
		{ { 253, 12, 0xac, 0x50, 0x15, 1, 2, 3 }, 12, 1, { .plain = 1 } },
		{ { 253, 12, 0xac, 0x50, 0x25, 1, 2, 3 }, 12, 2, { .plain = 1 } },
		{ { 253, 12, 0xac, 0x50, 0x35, 1, 2, 3 }, 12, 3, { .plain = 1 } },
		/* with an echo */
		{ { 253, 16, 0xac, 0x50, 0x25, 1, 2, 3 }, 16, 2, { .plain = 1 } },
		{ { 253, 12, 0xac, 0x50, 0xf5, 1, 2, 3 }, 12, 15, { .plain = 1 } },
		{ { 253, 8, 0xac, 0x50, 0x25, 1, 2, 3 }, 8, 0, { .echoes = 1 } },
		{ { 253, 11, 0xac, 0x50, 0x25, 1, 2, 3 }, 12, 0, { .malformed = 1 } },
		{ { 253, 12, 0xac, 0x50, 0x25, 1, 2, 3, 0x40 }, 12, 0, { .malformed = 1 } },
	};
	const struct tcpcc_arrivals own = { .headers = 1 };
	int i, protocol;

	for (i = 0; i < ARRAY_SIZE(c) * 3; i++) {
		int n = i / 3;
		struct shape s = { .v6 = n & 1, .pad = i & 2 };
		struct sk_buff *skb = packet(test, &s, c[n].option, c[n].len);
		struct tcpcc_arrivals count = {};
		u32 info = 0x12345678;
		bool ours;

		protocol = TCPCC_FB_ACP + i % 3;
		ours = protocol == c[n].protocol;
		KUNIT_EXPECT_EQ_MSG(test, tcpcc_header_arrive(skb, protocol, &count, &info),
				    ours, "case %d", n);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(&count, ours ? &own : &c[n].as,
						 sizeof(count)), 0,
				    "case %d: %llu headers, %llu echoes, %llu plain, %llu malformed",
				    n, count.headers, count.echoes, count.plain,
				    count.malformed);
		KUNIT_EXPECT_EQ(test, !!tcpcc_place(skb)->word, ours);
		KUNIT_EXPECT_EQ(test, info, ours ? 0x5010203 : 0x12345678);
		kfree_skb(skb);
	}
}

/* A queued packet has the word that was written.  If it was truncated, there is no word. */
static void word_of_a_queued_packet(struct kunit *test)
{
	struct tcpcc_fb_header h;
	struct tcpcc_place *place;
	struct sk_buff *skb;
	u8 *at;
	int i;

	for (i = 0; i < 2 * 6 * 2; i++) {
		struct shape s = {
			.v6 = i & 1, .pad = i / 2 % 6, .extension = i / 12 * 8,
		};

		skb = packet(test, &s, data_option, sizeof(data_option));
		place = tcpcc_place(skb);
		KUNIT_ASSERT_EQ(test, tcpcc_header_find(skb, &h), 1);
		at = tcpcc_header_at(skb, place);
		KUNIT_EXPECT_PTR_EQ(test, at, (u8 *)(tcp_of(skb, &s) + 1) + s.pad + 8);
		KUNIT_EXPECT_EQ(test, change(skb, TCPCC_FB_NO_LIMIT, -7 & 0x3fffffff), 0);
		KUNIT_EXPECT_EQ(test, tcpcc_header_word(skb, place), -7 & 0x3fffffff);
		skb_trim(skb, skb_network_offset(skb) + place->word + 3);
		KUNIT_EXPECT_NULL(test, tcpcc_header_at(skb, place));
		KUNIT_EXPECT_EQ(test, tcpcc_header_word(skb, place), TCPCC_FB_NO_LIMIT);
		kfree_skb(skb);
	}
}

/* The short check accepts only usual packets, and finds the same as the walk of all headers. */
static void usual_packets(struct kunit *test)
{
	int i;

	for (i = 0; i < 64; i++) {
		struct shape s = {
			.v6 = i & 1, .vlan = i & 2, .pad = i & 4, .extension = i & 8,
			.empty = i & 16,
		};
		struct sk_buff *skb = packet(test, &s, data_option, sizeof(data_option));
		u8 protocol = i & 32 ? TCPCC_FB_XCP : TCPCC_FB_ACP;
		struct tcpcc_arrivals count = {};
		struct tcpcc_place place = {};
		int found;

		*tcpcc_place(skb) = place;
		found = tcpcc_header_usual(skb, protocol);
		place = *tcpcc_place(skb);
		KUNIT_EXPECT_EQ_MSG(test, found >= 0, !(i & 62), "case %d", i);
		KUNIT_EXPECT_EQ(test, !!place.word, found >= 0);
		if (found >= 0) {
			KUNIT_EXPECT_EQ(test, tcpcc_header_walk(skb, protocol, &count), found);
			KUNIT_EXPECT_EQ(test, tcpcc_place(skb)->tcp, place.tcp);
			KUNIT_EXPECT_EQ(test, tcpcc_place(skb)->word, place.word);
		}
		kfree_skb(skb);
	}
}

/* Packets whose outer headers are wrong are refused */
static void lies_are_seen(struct kunit *test)
{
	struct tcpcc_fb_header h;
	struct shape v4 = {}, v6 = { .v6 = true, .extension = 8 };
	struct sk_buff *skb;
	int i;

	for (i = 0; i < 9; i++) {
		bool six = i >= 6;

		skb = packet(test, six ? &v6 : &v4, data_option, 12);
		switch (i) {
		case 0:
			ip_hdr(skb)->frag_off = htons(IP_MF);
			break;
		case 1:
			ip_hdr(skb)->frag_off = htons(7);
			break;
		case 2:
			ip_hdr(skb)->ihl = 4;
			break;
		case 3:
			ip_hdr(skb)->ihl = 15;
			ip_hdr(skb)->tot_len = htons(64);
			break;
		case 4:
			ip_hdr(skb)->tot_len = htons(skb->len + 1);
			break;
		case 5:
			ip_hdr(skb)->protocol = IPPROTO_UDP;
			break;
		case 6:
			skb_network_header(skb)[41] = 255;
			break;
		case 7:
			ipv6_hdr(skb)->nexthdr = IPPROTO_FRAGMENT;
			skb_network_header(skb)[43] = 1;
			break;
		case 8:
			ipv6_hdr(skb)->version = 4;
			break;
		}
		KUNIT_EXPECT_LE_MSG(test, tcpcc_header_find(skb, &h), 0,
				    "case %d", i);
		KUNIT_EXPECT_LT_MSG(test, tcpcc_header_usual(skb, TCPCC_FB_ACP), 0,
				    "case %d", i);
		KUNIT_EXPECT_EQ(test, tcpcc_place(skb)->word, 0);
		kfree_skb(skb);
	}

	/* doff beyond the packet */
	skb = packet(test, &v4, data_option, 12);
	skb_trim(skb, ETH + 20 + 24);
	ip_hdr(skb)->tot_len = htons(44);
	KUNIT_EXPECT_EQ(test, tcpcc_header_find(skb, &h), -EBADMSG);
	kfree_skb(skb);
	skb = packet(test, &v4, data_option, 12);
	tcp_of(skb, &v4)->doff = 4;
	KUNIT_EXPECT_EQ(test, tcpcc_header_find(skb, &h), -EBADMSG);
	kfree_skb(skb);
}

/* An IPv6 packet with @headers extension headers of eight bytes, of type @kind */
static struct sk_buff *behind(struct kunit *test, unsigned int headers, u8 kind)
{
	struct shape s = { .v6 = true, .extension = 8 * headers };
	struct sk_buff *skb = packet(test, &s, data_option, 12);
	u8 *at = skb_network_header(skb) + sizeof(struct ipv6hdr);
	unsigned int i;

	ipv6_hdr(skb)->nexthdr = kind;
	for (i = 0; i < headers; i++) {
		at[8 * i] = i + 1 < headers ? kind : IPPROTO_TCP;
		at[8 * i + 1] = 0;
	}
	return skb;
}

/*
 * Extension headers are walked under the qdisc's lock, and a packet has room for thousands.  A
 * packet with more than eight is treated as one that is not TCP.
 */
static void extension_headers_are_few(struct kunit *test)
{
	static const u8 kinds[] = { IPPROTO_HOPOPTS, IPPROTO_ROUTING,
				    IPPROTO_DSTOPTS };
	struct tcpcc_fb_header h;
	struct sk_buff *skb;
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (n = 1; n < 20; n++) {
			skb = behind(test, n, kinds[i]);
			KUNIT_EXPECT_EQ_MSG(test, tcpcc_header_find(skb, &h),
					    n <= 8, "%u headers", n);
			KUNIT_EXPECT_EQ(test, !!tcpcc_place(skb)->word, n <= 8);
			kfree_skb(skb);
		}
	}
}

/* A router must not change data that an authentication header protects. */
static void authenticated_is_left_alone(struct kunit *test)
{
	struct tcpcc_fb_header h;
	struct sk_buff *skb = behind(test, 1, IPPROTO_AH);

	KUNIT_EXPECT_EQ(test, tcpcc_header_find(skb, &h), 0);
	kfree_skb(skb);
	/* nor is a fragment changed, even if it is the only one */
	skb = behind(test, 1, IPPROTO_FRAGMENT);
	KUNIT_EXPECT_EQ(test, tcpcc_header_find(skb, &h), 0);
	kfree_skb(skb);
}

/* Sets the length in the IP header */
static void say_length(struct sk_buff *skb, bool v6, unsigned int len)
{
	if (v6)
		ipv6_hdr(skb)->payload_len = htons(len - 40);
	else
		ip_hdr(skb)->tot_len = htons(len);
}

/*
 * A copy of @skb in which all bytes outside of the packet are inverted: those after @end, the
 * end by the IP header, and those after the end of the buffer.
 */
static struct sk_buff *twin(struct kunit *test, struct sk_buff *skb,
			    unsigned int end)
{
	struct sk_buff *other = skb_copy(skb, GFP_KERNEL);
	unsigned int i, room;

	KUNIT_ASSERT_NOT_NULL(test, other);
	*tcpcc_place(other) = *tcpcc_place(skb);
	room = min(skb->len + skb_tailroom(skb),
		   other->len + skb_tailroom(other));
	for (i = end; i < room; i++)
		other->data[i] = ~skb->data[i];
	return other;
}

/*
 * Packets with random bytes, which end anywhere, by the IP header or by the buffer.  The bytes
 * after the end, here the rest of a good packet, have no effect and are not changed.
 */
static void noise_is_harmless(struct kunit *test)
{
	int i, found = 0, cut = 0, in_short = 0;

	for (i = 0; i < 20000; i++) {
		struct tcpcc_fb_header h = {}, h2 = {};
		struct shape s = { .v6 = i & 1 };
		struct sk_buff *skb = packet(test, &s, data_option, 12), *other;
		unsigned int at = get_random_u32() % 6, end = skb->len, was;
		int got, usual;

		/* some random bytes everywhere, or many in the options */
		if (i & 2)
			get_random_bytes((u8 *)(tcp_of(skb, &s) + 1), 12);
		while (at--)
			skb->data[ETH + get_random_u32() % (skb->len - ETH)] =
				get_random_u32();
		was = skb->len;
		if (i & 4) {
			/* the end is mostly in the TCP header or close to it */
			end = s.v6 ? ETH + 40 : ETH + 20;
			end += get_random_u32() % min(40, was - end);
			say_length(skb, s.v6, end - ETH);
			if (i & 8)
				skb_trim(skb, end);
		}
		other = twin(test, skb, end);
		usual = tcpcc_header_usual(skb, TCPCC_FB_ACP);
		got = tcpcc_header_find(skb, &h);
		if (usual >= 0) {
			in_short++;
			KUNIT_EXPECT_EQ(test, got, 1);
			KUNIT_EXPECT_EQ(test, h.protocol, TCPCC_FB_ACP);
			KUNIT_EXPECT_EQ(test, h.info, usual);
		}
		KUNIT_EXPECT_EQ(test, tcpcc_header_find(other, &h2), got);
		KUNIT_EXPECT_EQ(test, tcpcc_place(other)->word,
				tcpcc_place(skb)->word);
		if (got == 1 && tcpcc_place(skb)->word) {
			found++;
			cut += end < was;
			KUNIT_EXPECT_EQ(test, h2.word, h.word);
			KUNIT_EXPECT_EQ(test, change(skb, h.word, ~h.word), 0);
			for (at = end; at < was; at++)
				KUNIT_EXPECT_EQ(test, skb->data[at],
						(u8)~other->data[at]);
		}
		kfree_skb(other);
		kfree_skb(skb);
	}
	KUNIT_EXPECT_GT(test, found, 1000);
	KUNIT_EXPECT_GT(test, cut, 100);
	KUNIT_EXPECT_GT(test, in_short, 1000);
}

static struct kunit_case acp_cases[] = {
	KUNIT_CASE(first_step),
	KUNIT_CASE(one_step),
	KUNIT_CASE(equilibrium),
	KUNIT_CASE(estimator_follows),
	KUNIT_CASE(queue_drains),
	KUNIT_CASE(idle_keeps_flows),
	KUNIT_CASE(one_of_many_remains),
	KUNIT_CASE(idle),
	KUNIT_CASE(waits_for_first),
	KUNIT_CASE(late_is_the_same),
	KUNIT_CASE(persistent_queue),
	KUNIT_CASE(congestion_bit),
	KUNIT_CASE(interval_is_bounded),
	KUNIT_CASE(lies_have_little_power),
	KUNIT_CASE(slower_link),
	KUNIT_CASE(survives_nonsense),
	KUNIT_CASE(newcomers_are_counted),
	KUNIT_CASE(newcomers_become_known),
	KUNIT_CASE(newcomers_share),
	KUNIT_CASE(police_spares_the_honest),
	KUNIT_CASE(police_stops_liars),
	KUNIT_CASE(police_waits),
	KUNIT_CASE(police_is_overrun),
	KUNIT_CASE(header_is_changed),
	KUNIT_CASE(header_is_checked),
	KUNIT_CASE(arrivals_are_counted),
	KUNIT_CASE(word_of_a_queued_packet),
	KUNIT_CASE(usual_packets),
	KUNIT_CASE(lies_are_seen),
	KUNIT_CASE(extension_headers_are_few),
	KUNIT_CASE(authenticated_is_left_alone),
	KUNIT_CASE(noise_is_harmless),
	{}
};

static struct kunit_suite acp_suite = {
	.name = "sch_acp",
	.test_cases = acp_cases,
};

kunit_test_suite(acp_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the router qdisc acp");
