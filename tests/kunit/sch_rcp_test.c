// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the router qdisc rcp: the law in its two forms, with users that send at the
 * rate of the link, and with extreme numbers; and the words that it writes to packets.
 */
#include "sch_kind.h"

#include "../../sched/rcp_law.c"
#include "../../sched/sch_header.c"
#include "../../sched/rcp.c"

#include <linux/prandom.h>

#define MBIT		125000ULL	/* bytes/s */
#define PAPER_LINK	(155 * MBIT)
#define PAPER_RTT	80000U		/* us */
#define PAPER_SIZE	1000		/* bytes */
#define MS		((u64)NSEC_PER_MSEC)

/* The paper of 2005: one step per mean rtt, and R is at least one packet per mean rtt */
static const struct rcp_gains paper = {
	.alpha		= 100000,
	.beta		= 1000000,
	.gamma		= 1000000,
	.interval_us	= 0,
	.floor		= 1000000,
	.start		= 50000,
};

/* ------------------------------------------------------------------------- */
/* The law                                                                   */

/* A link with a mean rtt of PAPER_RTT */
static void link_init(struct rcp_law *r, const struct rcp_gains *gains)
{
	rcp_law_init(r, gains, PAPER_LINK);
	r->rtt_us = PAPER_RTT;
	r->interval_us = rcp_interval_us(r);
	r->size = PAPER_SIZE;
}

/*
 * The factor by which R changes in a period, 10^-6, for an input y of @input percent of C and a
 * queue q of @queue percent of C * d
 */
static u64 factor(const struct rcp_gains *gains, u32 input, u32 queue)
{
	struct rcp_law r;
	u64 before;

	link_init(&r, gains);
	r.bytes = div_u64(PAPER_LINK * input * r.interval_us, 100 * USEC_PER_SEC);
	r.packets = div_u64(r.bytes, PAPER_SIZE);
	before = r.rate;
	rcp_law_step(&r, div_u64(PAPER_LINK * PAPER_RTT / 100 * queue, USEC_PER_SEC));
	return div64_u64(r.rate * 1000000, before);
}

/* y = 2 * C with q = C * d, y = 0, and the equilibrium: with periods of d, and of d/8 */
static void equation(struct kunit *test)
{
	struct rcp_gains eighth = paper, faster = paper;

	eighth.interval_us = PAPER_RTT / 8;
	/* the equation gives -.1, so the floor counts: 12500 of 968750 bytes/s */
	EXPECT_NEAR(test, factor(&paper, 200, 100), 12903, 100);
	EXPECT_NEAR(test, factor(&paper, 0, 0), 1100000, 1);
	EXPECT_NEAR(test, factor(&paper, 100, 0), 1000000, 1);
	EXPECT_NEAR(test, factor(&paper, 0, 10), 1000000, 1);
	EXPECT_NEAR(test, factor(&paper, 100, 90), 100000, 1);
	EXPECT_NEAR(test, factor(&eighth, 200, 100), 862500, 1);
	EXPECT_NEAR(test, factor(&eighth, 0, 0), 1012500, 1);
	/* the authors' gains, with an interval of 10 ms: .05 * (.4 - .4 * .5) */
	EXPECT_NEAR(test, factor(&rcp_default, 0, 0), 1050000, 1);
	EXPECT_NEAR(test, factor(&rcp_default, 0, 50), 1025000, 1);
	EXPECT_NEAR(test, factor(&rcp_default, 200, 100), 900000, 1);
	/* gamma = 1/2: an input of C/2 is the equilibrium, and q counts twice */
	faster.gamma = 500000;
	EXPECT_NEAR(test, factor(&faster, 50, 0), 1000000, 1);
	EXPECT_NEAR(test, factor(&faster, 100, 10), 700000, 1);
}

static void first_rate(struct kunit *test)
{
	struct rcp_law r;

	rcp_law_init(&r, &rcp_default, PAPER_LINK);
	KUNIT_EXPECT_EQ(test, rcp_law_rate(&r), PAPER_LINK / 20);
	KUNIT_EXPECT_EQ(test, r.rtt_us, 200000);
	KUNIT_EXPECT_EQ(test, r.interval_us, 10000);
	rcp_law_init(&r, &paper, PAPER_LINK);
	KUNIT_EXPECT_EQ(test, r.interval_us, 200000);
	/* a packet of 1500 bytes in 200 ms is more than a twentieth of 100 kbit/s */
	rcp_law_init(&r, &paper, 12500);
	KUNIT_EXPECT_EQ(test, rcp_law_rate(&r), 7500);
}

/* R is at least the floor, in packets of the size that arrived, and at most gamma * C */
static void bounds(struct kunit *test)
{
	struct rcp_gains gains = paper;
	struct rcp_law r;
	int i;

	link_init(&r, &paper);
	for (i = 0; i < 500; i++)
		rcp_law_arrive(&r, i % 2 ? 100 : 1500, 0);
	rcp_law_step(&r, U32_MAX);
	KUNIT_EXPECT_EQ(test, r.size, 800);
	KUNIT_EXPECT_EQ(test, rcp_law_rate(&r), 10000);
	/* nothing has arrived: the size of packets stays */
	rcp_law_step(&r, U32_MAX);
	KUNIT_EXPECT_EQ(test, rcp_law_rate(&r), 10000);
	gains.floor = 10000;
	r.gains = gains;
	rcp_law_step(&r, U32_MAX);
	KUNIT_EXPECT_EQ(test, rcp_law_rate(&r), 100);
	/* without a floor R is at least 1, so that it can grow again */
	r.gains.floor = 0;
	rcp_law_step(&r, U32_MAX);
	KUNIT_EXPECT_EQ(test, r.rate, 1);
	r.gains.alpha = LAW_GAIN_MAX;
	for (i = 0; i < 100; i++)
		rcp_law_step(&r, 0);
	KUNIT_EXPECT_EQ(test, r.rate, PAPER_LINK << RCP_SCALE);
	/* a floor above the capacity */
	r.gains.floor = RCP_FLOOR_MAX;
	r.capacity = 1000;
	rcp_law_step(&r, U32_MAX);
	KUNIT_EXPECT_EQ(test, rcp_law_rate(&r), 1000);
	r.gains.gamma = LAW_UNIT / 2;
	rcp_law_step(&r, 0);
	KUNIT_EXPECT_EQ(test, rcp_law_rate(&r), 500);
}

/*
 * One period of @interval_us of a link with a mean rtt of @rtt_us and R = @rate, in which packets
 * carry an rtt of @mean, us
 *
 * Return: d after it, us
 */
static u32 rtt_after(u32 interval_us, u32 rtt_us, u32 mean, u64 rate)
{
	struct rcp_law r;

	link_init(&r, &paper);
	r.gains.interval_us = interval_us;
	r.rtt_us = rtt_us;
	r.interval_us = rcp_interval_us(&r);
	r.rate = rate << RCP_SCALE;
	rcp_law_arrive(&r, PAPER_SIZE, mean);
	rcp_law_step(&r, 0);
	return r.rtt_us;
}

/* The gain of d is T / d if it rises, and (R / C) * (s / d) * (T / d) if it falls. */
static void mean_rtt(struct kunit *test)
{
	struct rcp_law r;

	KUNIT_EXPECT_EQ(test, rtt_after(10000, 80000, 160000, 1), 90000);
	KUNIT_EXPECT_EQ(test, rtt_after(0, 80000, 160000, 1), 160000);
	KUNIT_EXPECT_EQ(test, rtt_after(0, 80000, 40000, PAPER_LINK), 60000);
	KUNIT_EXPECT_EQ(test, rtt_after(0, 80000, 40000, PAPER_LINK / 2), 70000);
	EXPECT_NEAR(test, rtt_after(0, 80000, 40000, PAPER_LINK / 1000), 79980, 15);
	/* 80 - 40 / 2 / 2 / 8 */
	EXPECT_NEAR(test, rtt_after(10000, 80000, 40000, PAPER_LINK / 2), 78750, 15);
	KUNIT_EXPECT_EQ(test, rtt_after(0, 80000, 80000, PAPER_LINK), 80000);
	/* without an rtt d stays, and d is within its bounds */
	KUNIT_EXPECT_EQ(test, rtt_after(0, 80000, 0, PAPER_LINK), 80000);
	KUNIT_EXPECT_EQ(test, rtt_after(0, 80000, U32_MAX, PAPER_LINK), 10000000);
	KUNIT_EXPECT_EQ(test, rtt_after(0, 1000, 1, PAPER_LINK), 1000);

	/* weighted by bytes: 900 with 160 ms, 100 with 20 ms, and 5000 without an rtt */
	link_init(&r, &paper);
	rcp_law_arrive(&r, 900, 160000);
	rcp_law_arrive(&r, 100, 20000);
	rcp_law_arrive(&r, 5000, 0);
	rcp_law_step(&r, 0);
	KUNIT_EXPECT_EQ(test, r.rtt_us, 146000);
	KUNIT_EXPECT_EQ(test, r.input, 75000);
	/* the next period lasts d */
	KUNIT_EXPECT_EQ(test, r.interval_us, 146000);
	KUNIT_EXPECT_EQ(test, r.bytes, 0);
}

/* The interval is at most d. */
static void intervals(struct kunit *test)
{
	struct rcp_law r;

	link_init(&r, &rcp_default);
	KUNIT_EXPECT_EQ(test, r.interval_us, 10000);
	r.rtt_us = 3000;
	KUNIT_EXPECT_EQ(test, rcp_interval_us(&r), 3000);
	r.gains.interval_us = 0;
	KUNIT_EXPECT_EQ(test, rcp_interval_us(&r), 3000);
	r.gains.interval_us = LAW_INTERVAL_MIN;
	KUNIT_EXPECT_EQ(test, rcp_interval_us(&r), 1000);
}

/* Before its first header a link has no periods. */
static void waits_for_first(struct kunit *test)
{
	struct rcp_law r;

	rcp_law_init(&r, &rcp_default, PAPER_LINK);
	rcp_law_arrive(&r, 1500, 0);
	rcp_law_advance(&r, U64_MAX / 2, 0);
	KUNIT_EXPECT_EQ(test, r.periods, 0);
	/* what arrived before it belongs to no period */
	rcp_law_start(&r, 5 * MS);
	KUNIT_EXPECT_EQ(test, r.bytes, 0);
	rcp_law_advance(&r, 15 * MS - 1, 0);
	KUNIT_EXPECT_EQ(test, r.periods, 0);
	rcp_law_advance(&r, 15 * MS, 0);
	KUNIT_EXPECT_EQ(test, r.periods, 1);
}

/* On an idle link R is multiplied by 1 + alpha * T / d in each period, up to gamma * C. */
static void idle(struct kunit *test)
{
	static const u32 periods[] = { 1, 2, 3, 7, 20, 30, 31, 32 };
	struct rcp_law r;
	int i, k;

	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		u64 want = PAPER_LINK / 20 * 1000;

		link_init(&r, &paper);
		rcp_law_start(&r, MS);
		for (k = 0; k < periods[i]; k++)
			want += div_u64(want, 10);
		/* to the end of the last period, and to 1 ns before the end of the next one */
		rcp_law_advance(&r, MS + 80 * MS * periods[i], 0);
		EXPECT_NEAR(test, rcp_law_rate(&r), min(div_u64(want, 1000), PAPER_LINK), 1);
		KUNIT_EXPECT_EQ(test, r.periods, periods[i]);
		rcp_law_advance(&r, MS + 80 * MS * (periods[i] + 1) - 1, 0);
		KUNIT_EXPECT_EQ(test, r.periods, periods[i]);
		KUNIT_EXPECT_EQ(test, r.input, 0);
	}
	/* hours, and centuries */
	for (i = 0; i < 2; i++) {
		link_init(&r, &rcp_default);
		r.rate = 1;
		rcp_law_start(&r, MS);
		rcp_law_advance(&r, i ? U64_MAX / 2 : 4ULL * 3600 * NSEC_PER_SEC, 0);
		KUNIT_EXPECT_EQ(test, r.rate, PAPER_LINK << RCP_SCALE);
		KUNIT_EXPECT_EQ(test, r.rtt_us, PAPER_RTT);
		KUNIT_EXPECT_GT(test, r.control_ns, i ? U64_MAX / 2 : 4ULL * 3600 * NSEC_PER_SEC);
		/* beside a queue that does not move R falls to the floor: .01 packets per d */
		rcp_law_advance(&r, r.control_ns + 3600ULL * NSEC_PER_SEC, U32_MAX);
		KUNIT_EXPECT_EQ(test, rcp_law_rate(&r), 125);
	}
}

/*
 * Periods end at the same times, whether they are computed at once or later.  R is the same except
 * for the rounding of powers.
 */
static void late_is_the_same(struct kunit *test)
{
	struct rcp_law often, late;
	u64 now = 0, next = 0;
	int i;

	rcp_law_init(&often, &rcp_default, PAPER_LINK);
	rcp_law_start(&often, 0);
	late = often;
	for (i = 0; i < 2000; i++) {
		u32 backlog = i * 37 % 11 * 1000;

		/* 17 us to 102 ms until the next packet */
		next += 170000 * (1 + i * i % 600);
		while (now + 500000 < next) {
			now += 500000;
			rcp_law_advance(&often, now, backlog);
		}
		rcp_law_advance(&often, next, backlog);
		rcp_law_advance(&late, next, backlog);
		EXPECT_NEAR(test, late.rate, often.rate, 1);
		late.rate = often.rate;
		KUNIT_ASSERT_EQ(test, memcmp(&often, &late, sizeof(late)), 0);
		rcp_law_arrive(&often, 200000, 20000 + i);
		rcp_law_arrive(&late, 200000, 20000 + i);
	}
	KUNIT_EXPECT_GT(test, late.periods, 1000);
}

/* If the capacity of a running link falls, R is at most the new capacity at once. */
static void slower_link(struct kunit *test)
{
	struct rcp_law r;

	link_init(&r, &rcp_default);
	r.rate = PAPER_LINK << RCP_SCALE;
	rcp_law_set_capacity(&r, MBIT);
	KUNIT_EXPECT_EQ(test, rcp_law_rate(&r), MBIT);
	rcp_law_set_capacity(&r, PAPER_LINK);
	KUNIT_EXPECT_EQ(test, rcp_law_rate(&r), MBIT);
}

/* ------------------------------------------------------------------------- */
/* Users that send at the rate of the link                                   */

#define DELAY	8	/* the most periods in a round trip */

/* A link, and users that send at its rate one round trip later */
struct loop {
	struct rcp_law law;
	u32 users;
	u32 delay;		/* periods */
	u64 wanted[DELAY];	/* RCP_SCALE */
	u32 at;
	u64 queue;		/* bytes */
	u64 queue_most;
};

static void loop_init(struct loop *l, const struct rcp_gains *gains, u64 capacity, u32 users,
		      u32 rtt_us)
{
	memset(l, 0, sizeof(*l));
	rcp_law_init(&l->law, gains, capacity);
	l->law.rtt_us = rtt_us;
	l->law.interval_us = rcp_interval_us(&l->law);
	l->delay = rtt_us / l->law.interval_us;
	l->users = users;
}

static void loop_run(struct loop *l, int periods)
{
	struct rcp_law *r = &l->law;
	u32 rtt_us = r->rtt_us;
	u64 bytes, sent;

	while (periods--) {
		bytes = mul_u64_u64_div_u64(l->wanted[l->at] * l->users, r->interval_us,
					    (u64)USEC_PER_SEC << RCP_SCALE);
		sent = div_u64(r->capacity * r->interval_us, USEC_PER_SEC);
		l->wanted[l->at] = r->rate;
		l->at = (l->at + 1) % l->delay;
		r->bytes = bytes;
		r->packets = div_u64(bytes, PAPER_SIZE);
		r->rtt_bytes = bytes;
		r->rtt_sum = bytes * rtt_us;
		l->queue += bytes;
		l->queue -= min(l->queue, sent);
		l->queue_most = max(l->queue_most, l->queue);
		rcp_law_step(r, min_t(u64, l->queue, U32_MAX));
	}
}

/* Each user gets gamma * C / N without a queue, in both forms, from 1 Mbit/s to 400 Gbit/s. */
static void settles(struct kunit *test)
{
	static const u32 mbps[] = { 1, 10, 155, 1000, 10000, 400000 };
	static const u32 users[] = { 1, 2, 10, 50, 200, 1000 };
	struct rcp_gains gains;
	int i, form;

	for (i = 0; i < ARRAY_SIZE(mbps) * ARRAY_SIZE(users) * 3; i++) {
		u64 capacity = mbps[i / 6 % 6] * MBIT;
		u64 fair = div_u64(capacity, users[i % 6]);
		struct loop l;

		form = i / 36;
		gains = form ? rcp_default : paper;
		if (form == 2) {
			gains.gamma = 950000;
			fair = div_u64(fair * 95, 100);
		}
		/* each must have at least two packets in a round trip */
		if (fair < 2 * PAPER_SIZE * 1000 / 80)
			continue;
		loop_init(&l, &gains, capacity, users[i % 6], PAPER_RTT);
		/*
		 * With a first rate of C / 20 the queue of 1000 users needs 50 round trips
		 * to drain; then the rest decays with a time constant of d / alpha
		 */
		loop_run(&l, form ? 250 * 8 : 500);
		EXPECT_NEAR(test, rcp_law_rate(&l.law), fair, 1000);
		EXPECT_NEAR(test, l.law.input, fair * users[i % 6], 1000);
		/* a queue of at most 0.1 % of C * d, or one packet */
		KUNIT_EXPECT_LE(test, l.queue,
				max_t(u64, div_u64(capacity * PAPER_RTT, 1000000000),
				      PAPER_SIZE));
		KUNIT_EXPECT_EQ(test, l.law.rtt_us, PAPER_RTT);
	}
}

/*
 * The second user of Fig. 16.  With periods of d the rate falls at once to one packet per d, and
 * then grows by a tenth in each d: by a factor of 45 in 40 periods.  With periods of d/8 it never
 * falls that low, and after the same time it exceeds half of the fair rate.
 */
static void second_user(struct kunit *test)
{
	const u64 fair = PAPER_LINK / 2, packet = PAPER_SIZE * 1000 / 80;
	struct rcp_gains quick = paper;
	struct loop l;
	int form, i;

	quick.interval_us = PAPER_RTT / 8;
	for (form = 0; form < 2; form++) {
		u32 in_rtt = form ? 8 : 1;
		u64 least = fair;

		loop_init(&l, form ? &quick : &paper, PAPER_LINK, 1, PAPER_RTT);
		loop_run(&l, 300 * in_rtt);
		l.users = 2;
		for (i = 0; i < 10 * in_rtt; i++) {
			loop_run(&l, 1);
			least = min(least, rcp_law_rate(&l.law));
		}
		if (form)
			KUNIT_EXPECT_GT(test, least, 10 * packet);
		else
			KUNIT_EXPECT_EQ(test, least, packet);
		loop_run(&l, 40 * in_rtt);
		if (form)
			KUNIT_EXPECT_GT(test, rcp_law_rate(&l.law), fair / 2);
		else
			KUNIT_EXPECT_LT(test, rcp_law_rate(&l.law), 2 * 45 * packet);
		loop_run(&l, 150 * in_rtt);
		EXPECT_NEAR(test, rcp_law_rate(&l.law), fair, 10000);
	}
}

/* ------------------------------------------------------------------------- */
/* Nonsense                                                                  */

/* R is above 0 and at most gamma * C; d and T are in their ranges. */
static void sane(struct kunit *test, const struct rcp_law *r)
{
	KUNIT_EXPECT_GE(test, r->rate, 1);
	KUNIT_EXPECT_LE(test, r->rate, rcp_target(r) << RCP_SCALE);
	KUNIT_EXPECT_GE(test, r->rtt_us, LAW_INTERVAL_MIN);
	KUNIT_EXPECT_LE(test, r->rtt_us, RCP_RTT_MOST);
	KUNIT_EXPECT_GE(test, r->interval_us, LAW_INTERVAL_MIN);
	KUNIT_EXPECT_LE(test, r->interval_us, r->rtt_us);
}

static void abuse(struct kunit *test, const struct rcp_gains *gains, u64 capacity)
{
	static const u64 bytes[] = { 0, 1, 65535, BIT_ULL(43), U64_MAX };
	static const u32 queue[] = { 0, 1, U32_MAX };
	static const u32 lens[] = { 0, 66, 65535, U32_MAX };
	static const u32 rtts[] = { 0, 1, PAPER_RTT, U32_MAX };
	struct rcp_law r;
	u32 i, step;

	for (i = 0; i < 5 * 3 * 4 * 4; i++) {
		rcp_law_init(&r, gains, capacity);
		sane(test, &r);
		if (i & 1)
			r.rtt_us = LAW_INTERVAL_MIN;
		r.interval_us = rcp_interval_us(&r);
		r.running = true;
		for (step = 0; step < 6; step++) {
			u64 now = r.control_ns + (step < 4 ? 0 : (u64)NSEC_PER_SEC << (step * 5));

			if (step & 1) {
				rcp_law_arrive(&r, lens[i / 15 % 4], rtts[i / 60]);
				r.bytes = bytes[i % 5];
			}
			if (step == 2)
				r.rate = rcp_target(&r) << RCP_SCALE;
			rcp_law_advance(&r, now, queue[i / 5 % 3]);
			sane(test, &r);
			KUNIT_EXPECT_GT(test, r.control_ns, now);
		}
	}
}

static void survives_nonsense(struct kunit *test)
{
	static const u64 capacity[] = { 1, 125, MBIT, 1000000 * MBIT,
					BIT_ULL(LAW_RATE_BITS) - 1 };
	static const struct rcp_gains least = { 1, 0, 1, LAW_INTERVAL_MIN, 0, 1 };
	static const struct rcp_gains largest = { LAW_GAIN_MAX, LAW_GAIN_MAX, LAW_UNIT,
						  LAW_INTERVAL_MAX, RCP_FLOOR_MAX, LAW_UNIT };
	static const struct rcp_gains mixed = { LAW_GAIN_MAX, LAW_GAIN_MAX, 1, 0, 0, 1 };
	int i;

	for (i = 0; i < ARRAY_SIZE(capacity); i++) {
		abuse(test, &rcp_default, capacity[i]);
		abuse(test, &paper, capacity[i]);
		abuse(test, &least, capacity[i]);
		abuse(test, &largest, capacity[i]);
		abuse(test, &mixed, capacity[i]);
	}
}

static void noise(struct kunit *test)
{
	struct rnd_state dice;
	struct rcp_law r;
	u64 now = 0;
	int i;

	prandom_seed_state(&dice, 1);
	rcp_law_init(&r, &rcp_default, PAPER_LINK);
	rcp_law_start(&r, now);
	for (i = 0; i < 1000000; i++) {
		u32 noise = prandom_u32_state(&dice), rtt_us = prandom_u32_state(&dice);

		now += noise >> (noise >> 27);
		rcp_law_advance(&r, now, prandom_u32_state(&dice) >> (noise & 31));
		rcp_law_arrive(&r, noise & 0xffff, rtt_us >> (noise & 31));
		KUNIT_ASSERT_GT(test, r.control_ns, now);
		sane(test, &r);
	}
	KUNIT_EXPECT_GT(test, r.periods, 1000);
}

/* ------------------------------------------------------------------------- */
/* Packets                                                                   */

static void words_are_lowered(struct kunit *test)
{
	u32 own = tcpcc_fb_encode(PAPER_LINK / 20, false);
	int i;

	for (i = 0; i < 2 * 2 * 6; i++) {
		struct shape s = { .v6 = i & 1, .vlan = i & 2, .pad = i / 4 };
		struct tcpcc_fb_header h = {
			.has_word = true, .protocol = TCPCC_FB_RCP, .word = TCPCC_FB_NO_LIMIT,
			/* the four bits above the rtt are reserved */
			.info = 0x5000000 | PAPER_RTT,
		};
		struct rcp rcp;

		rcp_setup(&rcp, PAPER_LINK);
		KUNIT_EXPECT_EQ(test, word_after(test, &rcp_kind, &rcp, &s, &h, MS), own);
		KUNIT_EXPECT_EQ(test, rcp.lowered, 1);
		KUNIT_EXPECT_EQ(test, rcp.law.control_ns, MS + 10 * MS);
		KUNIT_EXPECT_EQ(test, rcp.law.packets, 1);
		KUNIT_EXPECT_EQ(test, rcp.law.rtt_sum, (u64)rcp.law.bytes * PAPER_RTT);
		/* a word with less than R does not change, whatever its other bits are */
		h.word = tcpcc_fb_encode(1000, true);
		KUNIT_EXPECT_EQ(test, word_after(test, &rcp_kind, &rcp, &s, &h, MS), h.word);
		KUNIT_EXPECT_EQ(test, rcp.lowered, 1);
		/* a lowered word keeps its congestion bit */
		h.word = tcpcc_fb_encode(PAPER_LINK, true);
		KUNIT_EXPECT_EQ(test, word_after(test, &rcp_kind, &rcp, &s, &h, MS),
				own | TCPCC_FB_CONGESTION);
		KUNIT_EXPECT_EQ(test, rcp.arrivals.headers, 3);
		KUNIT_EXPECT_EQ(test, rcp.unwritable, 0);
	}
}

static void words_of_others(struct kunit *test)
{
	struct rcp rcp;

	rcp_setup(&rcp, PAPER_LINK);
	leaves_others(test, &rcp_kind, &rcp, TCPCC_FB_RCP, MS);
	KUNIT_EXPECT_FALSE(test, rcp.law.running);
	KUNIT_EXPECT_EQ(test, rcp.arrivals.headers, 0);
	KUNIT_EXPECT_EQ(test, rcp.arrivals.malformed, 2);
	KUNIT_EXPECT_EQ(test, rcp.arrivals.plain, 30);
}

/* A link that has not started yet begins with the new values.  A running link keeps R. */
static void configure(struct kunit *test)
{
	struct rcp_gains other = rcp_default;
	struct rcp rcp;

	rcp_setup(&rcp, PAPER_LINK);
	KUNIT_EXPECT_EQ(test, memcmp(&rcp.law.gains, &rcp_default, sizeof(other)), 0);
	other.interval_us = LAW_INTERVAL_MIN - 1;
	other.start = 100000;
	KUNIT_EXPECT_EQ(test, rcp_change(&rcp, PAPER_LINK, &other, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, memcmp(&rcp.law.gains, &rcp_default, sizeof(other)), 0);
	other.interval_us = 0;
	KUNIT_EXPECT_EQ(test, rcp_change(&rcp, PAPER_LINK, &other, NULL), 0);
	KUNIT_EXPECT_EQ(test, rcp_law_rate(&rcp.law), PAPER_LINK / 10);
	rcp_law_start(&rcp.law, MS);
	other.start = 200000;
	KUNIT_EXPECT_EQ(test, rcp_change(&rcp, 2 * PAPER_LINK, &other, NULL), 0);
	KUNIT_EXPECT_EQ(test, rcp_law_rate(&rcp.law), PAPER_LINK / 10);
	KUNIT_EXPECT_EQ(test, rcp.law.capacity, 2 * PAPER_LINK);
	rcp_restart(&rcp);
	KUNIT_EXPECT_EQ(test, rcp_law_rate(&rcp.law), 2 * PAPER_LINK / 5);
	KUNIT_EXPECT_FALSE(test, rcp.law.running);
}

static struct kunit_case rcp_cases[] = {
	KUNIT_CASE(equation),
	KUNIT_CASE(first_rate),
	KUNIT_CASE(bounds),
	KUNIT_CASE(mean_rtt),
	KUNIT_CASE(intervals),
	KUNIT_CASE(waits_for_first),
	KUNIT_CASE(idle),
	KUNIT_CASE(late_is_the_same),
	KUNIT_CASE(slower_link),
	KUNIT_CASE(settles),
	KUNIT_CASE(second_user),
	KUNIT_CASE(survives_nonsense),
	KUNIT_CASE(noise),
	KUNIT_CASE(words_are_lowered),
	KUNIT_CASE(words_of_others),
	KUNIT_CASE(configure),
	{}
};

static struct kunit_suite rcp_suite = {
	.name = "sch_rcp",
	.test_cases = rcp_cases,
};

kunit_test_suite(rcp_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the router qdisc rcp");
