// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the router qdisc estcp: the law, with windows that behave as in the
 * paper; which packets get a codepoint, and which do not.
 */
#include "../../sched/estcp_law.c"
#include "../../sched/sch_header.c"

#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/random.h>

#include "sch_packet.h"

#define SEC		((u64)NSEC_PER_SEC)
#define MSEC		((u64)NSEC_PER_MSEC)
#define FIRST		(7 * SEC)	/* time at which the first phase begins */

/* ------------------------------------------------------------------------- */
/* The law                                                                   */

static const u32 users[] = { 1, 2, 10, 30, 100, 200 };
static const u32 buffers[] = { 50, 200, 500, 1000, 8000 };

/* A link with @flows windows, which fill a buffer of @buffer packets after a delay */
struct plant {
	struct estcp_law law;
	u32 flows;
	u32 buffer;
	u32 delay_us;
	u64 now_ns;
};

static void plant_init(struct plant *p, const struct estcp_config *config,
		       u32 flows, u32 buffer)
{
	memset(p, 0, sizeof(*p));
	estcp_law_init(&p->law, config);
	p->flows = flows;
	p->buffer = buffer;
	p->now_ns = FIRST;
	estcp_law_start(&p->law, p->now_ns);
}

/* Runs @phases phases.  Each ends with one drop per flow. */
static void plant_run(struct kunit *test, struct plant *p, int phases)
{
	u32 i;

	while (phases--) {
		u64 fill = p->law.g * p->buffer;

		p->now_ns += div_u64(fill * 1000, p->flows) >> ESTCP_SCALE;
		p->now_ns += (u64)p->delay_us * NSEC_PER_USEC;
		KUNIT_ASSERT_TRUE(test, estcp_law_overflow(&p->law, p->now_ns));
		for (i = 0; i < p->flows; i++)
			KUNIT_ASSERT_FALSE(test,
					   estcp_law_overflow(&p->law,
							      p->now_ns + i));
	}
}

/* The numbers below are for a link that starts with g = 100 ms. */
static struct estcp_config from_100_ms(void)
{
	struct estcp_config c = estcp_default;

	c.first_us = 100000;
	return c;
}

/* Almost no hold-off, because it would lengthen very short phases. */
static struct estcp_config quick(u32 gamma)
{
	struct estcp_config c = from_100_ms();

	c.gamma = gamma;
	c.holdoff_us = 1;
	return c;
}

/* g in equilibrium: D * N / B, limited to the range of g, us */
static u32 fixpoint(const struct plant *p)
{
	u64 g = div_u64((u64)p->law.config.target_us * p->flows, p->buffer);

	return clamp_t(u64, g, TCPCC_ESTCP_G_MIN, TCPCC_ESTCP_G_MAX);
}

/* g after one phase of @length_ns that starts with g = 100 ms, us */
static u32 g_after(const struct estcp_config *config, u64 length_ns)
{
	struct estcp_law e;

	estcp_law_init(&e, config);
	estcp_law_start(&e, FIRST);
	estcp_law_overflow(&e, FIRST + length_ns);
	return estcp_law_g_us(&e);
}

static void defaults(struct kunit *test)
{
	struct estcp_law e;

	estcp_law_init(&e, &estcp_default);
	KUNIT_EXPECT_EQ(test, e.config.target_us, 5000000);
	KUNIT_EXPECT_EQ(test, estcp_holdoff_us(&e.config), 500000);
	KUNIT_EXPECT_EQ(test, estcp_law_g_us(&e), 10000);
	KUNIT_EXPECT_EQ(test, e.share, tcpcc_estcp_share(10000));
	KUNIT_EXPECT_EQ(test, e.pair, 0);
	KUNIT_EXPECT_EQ(test, e.phase, 0);
	KUNIT_EXPECT_FALSE(test, estcp_law_impatient(&e, U64_MAX - 1));
}

/* g + gamma * (D - I), compared with a calculation by hand */
static void equation(struct kunit *test)
{
	struct estcp_config c = quick(20000000);	/* 0.02 */

	KUNIT_EXPECT_EQ(test, g_after(&c, 4 * SEC), 120000);
	KUNIT_EXPECT_EQ(test, g_after(&c, 6 * SEC), 80000);
	KUNIT_EXPECT_EQ(test, g_after(&c, 5 * SEC), 100000);
	/* minus 99 ms would be 1 ms, which is below the range */
	KUNIT_EXPECT_EQ(test, g_after(&c, 9950 * MSEC), TCPCC_ESTCP_G_MIN);
	KUNIT_EXPECT_EQ(test, g_after(&c, 3600 * SEC), TCPCC_ESTCP_G_MIN);
	c.target_us = 2000000;
	KUNIT_EXPECT_EQ(test, g_after(&c, 4 * SEC), 60000);
	/* g at most doubles */
	c.gamma = ESTCP_GAMMA_MAX;
	KUNIT_EXPECT_EQ(test, g_after(&c, 1 * SEC), 200000);
	/* gamma = 10^-9 */
	c.gamma = 1;
	c.target_us = ESTCP_TARGET_MAX;
	EXPECT_NEAR(test, g_after(&c, 1), 100001, 0);
}

/* g + kappa * g / I * (D - I) */
static void normalised(struct kunit *test)
{
	struct estcp_config c = quick(0);

	EXPECT_NEAR(test, g_after(&c, 4 * SEC), 112500, 0);
	EXPECT_NEAR(test, g_after(&c, 10 * SEC), 75000, 0);
	KUNIT_EXPECT_EQ(test, g_after(&c, 5 * SEC), 100000);
	/* g doubles at I = D / 3, and also at a smaller I */
	EXPECT_NEAR(test, g_after(&c, 5 * SEC / 3 + 1000), 200000, 2);
	KUNIT_EXPECT_EQ(test, g_after(&c, SEC), 200000);
	KUNIT_EXPECT_EQ(test, g_after(&c, 0), 200000);
	/* g never falls to much less than a half */
	EXPECT_NEAR(test, g_after(&c, 86400 * SEC), 50060, 1000);
	EXPECT_NEAR(test, g_after(&c, U64_MAX - FIRST), 50000, 2000);
	/* kappa = 1: the equilibrium in one step */
	c.kappa = ESTCP_UNIT;
	EXPECT_NEAR(test, g_after(&c, 4 * SEC), 125000, 0);
	EXPECT_NEAR(test, g_after(&c, 10 * SEC), 50000, 0);
}

/* With any N, B and first g, phases come to last D, with g = D * N / B if that is in range */
static void converges(struct kunit *test)
{
	static const u32 first[] = { TCPCC_ESTCP_G_MIN, 100000,
				     TCPCC_ESTCP_G_MAX };
	static const u32 kappas[] = { 100000, 500000, 1000000 };
	int n, b, f, k;

	for (n = 0; n < ARRAY_SIZE(users) * ARRAY_SIZE(buffers); n++) {
		b = n / ARRAY_SIZE(users);
		for (f = 0; f < ARRAY_SIZE(first); f++) {
			for (k = 0; k < ARRAY_SIZE(kappas); k++) {
				struct estcp_config c = quick(0);
				struct plant p;

				c.first_us = first[f];
				c.kappa = kappas[k];
				plant_init(&p, &c, users[n % ARRAY_SIZE(users)],
					   buffers[b]);
				/* 0.9^200: the slowest has converged to 10^-9 */
				plant_run(test, &p, k ? 40 : 250);
				EXPECT_NEAR(test, estcp_law_g_us(&p.law),
					    fixpoint(&p), 100);
			}
		}
	}
}

/* With the default kappa the distance halves in each phase, for any N and B. */
static void halves_the_distance(struct kunit *test)
{
	int n, b, i;

	for (n = 0; n < ARRAY_SIZE(users); n++) {
		for (b = 0; b < ARRAY_SIZE(buffers); b++) {
			struct estcp_config c = quick(0);
			s64 far, want;
			struct plant p;

			plant_init(&p, &c, users[n], buffers[b]);
			want = fixpoint(&p);
			if (want <= TCPCC_ESTCP_G_MIN * 2 ||
			    want >= TCPCC_ESTCP_G_MAX / 2)
				continue;
			/* below g* / 3, g doubles in each phase */
			while (estcp_law_g_us(&p.law) < div_u64(want, 3))
				plant_run(test, &p, 1);
			for (i = 0; i < 5; i++) {
				far = estcp_law_g_us(&p.law) - want;
				plant_run(test, &p, 1);
				EXPECT_NEAR(test, estcp_law_g_us(&p.law),
					    want + div_s64(far, 2), 100);
			}
		}
	}
}

/* A fixed gain gamma is stable only below 2 * N / B. */
static void fixed_gain(struct kunit *test)
{
	static const struct {
		u32 tenths;
		bool stable;
	} gains[] = {
		{ 2, true }, { 10, true }, { 18, true }, { 22, false },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(gains); i++) {
		/* N / B = 0.02, g* = 100 ms */
		struct estcp_config c = quick(2000000 * gains[i].tenths);
		struct plant p;
		s64 far;

		c.first_us = 101000;
		plant_init(&p, &c, 10, 500);
		plant_run(test, &p, 100);
		far = abs((s64)estcp_law_g_us(&p.law) - 100000);
		if (gains[i].stable)
			KUNIT_EXPECT_LE(test, far, 10);
		else
			KUNIT_EXPECT_GT(test, far, 10000);
	}
}

/* A part of each phase that does not depend on g does not change that phases come to last D. */
static void delay(struct kunit *test)
{
	static const u32 delay_us[] = { 40000, 200000, 1000000, 4000000 };
	int i;

	for (i = 0; i < ARRAY_SIZE(delay_us); i++) {
		struct estcp_config c = quick(0);
		struct plant p;

		plant_init(&p, &c, 30, 500);
		p.delay_us = delay_us[i];
		plant_run(test, &p, 100);
		EXPECT_NEAR(test, p.law.last_us, 5000000, 10);
	}
}

/* g also changes for a small distance from D, at both ends of the range. */
static void does_not_stick(struct kunit *test)
{
	struct estcp_config c = quick(0);
	struct estcp_law e;
	u64 g;

	c.first_us = TCPCC_ESTCP_G_MIN;
	c.kappa = 10000;
	estcp_law_init(&e, &c);
	estcp_law_start(&e, FIRST);
	g = e.g;
	estcp_law_overflow(&e, FIRST + 4999 * MSEC);
	KUNIT_EXPECT_GT(test, e.g, g);

	c.first_us = TCPCC_ESTCP_G_MAX;
	estcp_law_init(&e, &c);
	estcp_law_start(&e, FIRST);
	g = e.g;
	estcp_law_overflow(&e, FIRST + 5001 * MSEC);
	KUNIT_EXPECT_LT(test, e.g, g);
}

static void holdoff(struct kunit *test)
{
	struct estcp_config c = from_100_ms();
	struct estcp_law e;
	u64 now = FIRST;

	estcp_law_init(&e, &c);
	estcp_law_start(&e, now);
	/* no phase has ended yet, so there is no hold-off */
	now += 100 * MSEC;
	KUNIT_EXPECT_TRUE(test, estcp_law_overflow(&e, now));
	KUNIT_EXPECT_EQ(test, e.phase, 1);
	KUNIT_EXPECT_EQ(test, e.pair, TCPCC_ESTCP_ODD);
	KUNIT_EXPECT_EQ(test, e.last_us, 100000);
	KUNIT_EXPECT_EQ(test, e.start_ns, now);

	KUNIT_EXPECT_FALSE(test, estcp_law_overflow(&e, now));
	KUNIT_EXPECT_FALSE(test, estcp_law_overflow(&e, now + 500 * MSEC - 1));
	KUNIT_EXPECT_EQ(test, e.phase, 1);
	KUNIT_EXPECT_EQ(test, e.start_ns, now);
	now += 500 * MSEC;
	KUNIT_EXPECT_TRUE(test, estcp_law_overflow(&e, now));
	KUNIT_EXPECT_EQ(test, e.phase, 2);
	KUNIT_EXPECT_EQ(test, e.pair, 0);

	/* the present hold-off continues; the option counts for the next one */
	c.holdoff_us = 100000;
	estcp_law_configure(&e, &c);
	KUNIT_EXPECT_FALSE(test, estcp_law_overflow(&e, now + 499 * MSEC));
	now += 500 * MSEC;
	KUNIT_EXPECT_TRUE(test, estcp_law_overflow(&e, now));
	KUNIT_EXPECT_FALSE(test, estcp_law_overflow(&e, now + 99 * MSEC));
	KUNIT_EXPECT_TRUE(test, estcp_law_overflow(&e, now + 100 * MSEC));
}

static void patience(struct kunit *test)
{
	struct estcp_config c = from_100_ms();
	struct estcp_law e;
	u64 now = FIRST;

	c.patience = 4;
	estcp_law_init(&e, &c);
	KUNIT_EXPECT_FALSE(test, estcp_law_impatient(&e, U64_MAX - 1));
	estcp_law_start(&e, now);
	KUNIT_EXPECT_FALSE(test, estcp_law_impatient(&e, now + 20 * SEC - 1));
	KUNIT_EXPECT_TRUE(test, estcp_law_impatient(&e, now + 20 * SEC));
	now += 20 * SEC;
	/* there was no overflow yet: g is halved, for any queue */
	estcp_law_queue(&e, 5000);
	estcp_law_hurry(&e, now, 1000000);
	KUNIT_EXPECT_EQ(test, estcp_law_g_us(&e), 50000);
	KUNIT_EXPECT_EQ(test, e.share, tcpcc_estcp_share(50000));
	KUNIT_EXPECT_FALSE(test, estcp_law_impatient(&e, now + 5 * SEC - 1));
	KUNIT_EXPECT_TRUE(test, estcp_law_impatient(&e, now + 5 * SEC));
	/* an hour without packets counts as one D, not as 720 */
	now += 3600 * SEC;
	estcp_law_hurry(&e, now, 0);
	KUNIT_EXPECT_EQ(test, estcp_law_g_us(&e), 25000);
	KUNIT_EXPECT_FALSE(test, estcp_law_impatient(&e, now));
	/* a phase goes from 20 kB to 100 kB; at 36 kB it would last D * 80 / 16 */
	estcp_law_full(&e, 100000);
	estcp_law_queue(&e, 20000);
	estcp_law_queue(&e, 90000);
	/* but after more than half of the way the phase is near its end: no change */
	estcp_law_hurry(&e, now, 60001);
	KUNIT_EXPECT_EQ(test, estcp_law_g_us(&e), 25000);
	estcp_law_hurry(&e, now, 250000);
	KUNIT_EXPECT_EQ(test, estcp_law_g_us(&e), 25000);
	estcp_law_hurry(&e, now, 60000);
	KUNIT_EXPECT_EQ(test, estcp_law_g_us(&e), 12500);
	estcp_law_hurry(&e, now, 36000);
	KUNIT_EXPECT_EQ(test, estcp_law_g_us(&e), 2500);
	e.g *= 32;
	estcp_law_hurry(&e, now, 20000);
	KUNIT_EXPECT_EQ(test, estcp_law_g_us(&e), 10000);
	estcp_law_hurry(&e, now, 0);
	KUNIT_EXPECT_EQ(test, estcp_law_g_us(&e), 1250);
	e.g *= 8;
	/* an overflow starts the count again */
	now += SEC;
	KUNIT_EXPECT_TRUE(test, estcp_law_overflow(&e, now));
	KUNIT_EXPECT_FALSE(test, estcp_law_impatient(&e, now + 20 * SEC - 1));
	c.patience = 0;
	estcp_law_configure(&e, &c);
	KUNIT_EXPECT_FALSE(test, estcp_law_impatient(&e, U64_MAX - 1));
}

/* A running link keeps g and its phase.  A link that has not started yet begins with the new g. */
static void configure(struct kunit *test)
{
	struct estcp_config c = from_100_ms();
	struct estcp_law e;

	estcp_law_init(&e, &c);
	c.first_us = 200000;
	estcp_law_configure(&e, &c);
	KUNIT_EXPECT_EQ(test, estcp_law_g_us(&e), 200000);
	estcp_law_start(&e, FIRST);
	c.first_us = 300000;
	c.target_us = 1000000;
	estcp_law_configure(&e, &c);
	KUNIT_EXPECT_EQ(test, estcp_law_g_us(&e), 200000);
	KUNIT_EXPECT_TRUE(test, estcp_law_overflow(&e, FIRST + SEC));
	KUNIT_EXPECT_EQ(test, estcp_law_g_us(&e), 200000);
	/* as after a reset */
	estcp_law_init(&e, &e.config);
	KUNIT_EXPECT_EQ(test, estcp_law_g_us(&e), 300000);
	KUNIT_EXPECT_FALSE(test, e.running);
	KUNIT_EXPECT_EQ(test, e.config.target_us, 1000000);
}

/* With any values g stays in its range, and at most doubles. */
static void survives_nonsense(struct kunit *test)
{
	static const u32 target[] = { ESTCP_TARGET_MIN, 5000000,
				      ESTCP_TARGET_MAX };
	static const u32 gamma[] = { 0, 1, 20000000, ESTCP_GAMMA_MAX };
	static const u32 kappa[] = { ESTCP_KAPPA_MIN, ESTCP_KAPPA_MAX };
	static const u32 first[] = { TCPCC_ESTCP_G_MIN, TCPCC_ESTCP_G_MAX };
	static const u64 length[] = { 0, 1, 999, 1000, MSEC, SEC, 5000 * SEC,
				      1ULL << 62 };
	int i, k;

	for (i = 0; i < 3 * 4 * 2 * 2; i++) {
		struct estcp_config c = {
			.target_us = target[i % 3], .gamma = gamma[i / 3 % 4],
			.kappa = kappa[i / 12 % 2], .first_us = first[i / 24],
			.holdoff_us = 1,
		};

		for (k = 0; k < ARRAY_SIZE(length); k++) {
			struct estcp_law e;
			u64 g;

			estcp_law_init(&e, &c);
			estcp_law_start(&e, FIRST);
			g = e.g;
			estcp_law_overflow(&e, FIRST + length[k]);
			KUNIT_EXPECT_GE(test, e.g, ESTCP_G_MIN);
			KUNIT_EXPECT_LE(test, e.g, min(2 * g, ESTCP_G_MAX));
			KUNIT_EXPECT_GE(test, e.share, TCPCC_ESTCP_P_MIN);
			KUNIT_EXPECT_LE(test, e.share, TCPCC_ESTCP_P_MAX);
			/* g changes in the right direction */
			if (div_u64(length[k], 1000) < c.target_us)
				KUNIT_EXPECT_GE(test, e.g, g);
			else
				KUNIT_EXPECT_LE(test, e.g, g);
		}
	}
}

/* The share of marks is the one for g, in both pairs, and a receiver can compute g from it. */
static void marks(struct kunit *test)
{
	static const u32 g_us[] = { TCPCC_ESTCP_G_MIN, 6000, 100000, 1000000,
				    TCPCC_ESTCP_G_MAX };
	const u32 draws = 200000;
	struct rnd_state dice;
	int i;
	u32 n;

	prandom_seed_state(&dice, 1);
	for (i = 0; i < 2 * ARRAY_SIZE(g_us); i++) {
		struct estcp_config c = from_100_ms();
		struct estcp_law e;
		u32 count[4] = {};
		u64 share;

		c.first_us = g_us[i / 2];
		estcp_law_init(&e, &c);
		e.pair = i & 1 ? TCPCC_ESTCP_ODD : 0;
		for (n = 0; n < draws; n++)
			count[estcp_law_codepoint(&e,
						  prandom_u32_state(&dice))]++;
		KUNIT_EXPECT_EQ(test, count[e.pair] +
				count[e.pair | TCPCC_ESTCP_MARK], draws);
		share = div_u64((u64)count[e.pair | TCPCC_ESTCP_MARK] <<
				TCPCC_ESTCP_SCALE, draws);
		/* four times sqrt(0.25 / draws), in units of 1/65536 */
		KUNIT_EXPECT_LE(test, abs((s64)share - e.share), 293);
		/* the same error in g: multiplied by 16 * ln(2) */
		EXPECT_NEAR(test, tcpcc_estcp_g_us(share), g_us[i / 2], 51000);
	}
}

/* ------------------------------------------------------------------------- */
/* Packets                                                                   */

#define DSFIELD	(TCPCC_ESTCP_DSCP << 2)

/* Packets of all shapes, from each codepoint to each other, with correct checksums */
static void codepoint_is_written(struct kunit *test)
{
	static const u8 summed[] = { CHECKSUM_NONE, CHECKSUM_UNNECESSARY,
				     CHECKSUM_COMPLETE, CHECKSUM_PARTIAL };
	int i, from, to;

	for (i = 0; i < 2 * 2 * 2 * 4 * 16; i++) {
		struct shape s = {
			.v6 = i & 1, .vlan = i & 2,
			/* some packets have IPv4 options, others are ACKs without data */
			.extension = (i & 5) == 4 ? 8 : 0,
			.empty = (i & 5) == 5,
			.summed = summed[i / 8 % 4],
		};
		u8 was[200], *header;
		struct sk_buff *skb, *clone;
		__wsum all;
		u16 sum;

		from = i / 32 & 3;
		to = i / 128 & 3;
		s.dsfield = DSFIELD | from;
		skb = packet(test, &s, NULL, 0);
		sum = tcp_sum(skb, &s);
		KUNIT_ASSERT_LE(test, skb->len, sizeof(was));
		memcpy(was, skb->data, skb->len);
		if (s.summed == CHECKSUM_COMPLETE)
			skb->csum = skb_checksum(skb, 0, skb->len, 0);
		KUNIT_EXPECT_EQ(test, tcpcc_header_dsfield(skb), s.dsfield);

		/* a clone shares the data, and must not change */
		clone = skb_clone(skb, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, clone);
		KUNIT_ASSERT_EQ(test, tcpcc_header_set_ecn(skb, to), 0);
		KUNIT_EXPECT_EQ(test, tcpcc_header_dsfield(skb), DSFIELD | to);
		KUNIT_EXPECT_EQ(test, tcpcc_header_dsfield(clone), s.dsfield);
		KUNIT_EXPECT_EQ(test, memcmp(clone->data, was, clone->len),
				0);
		KUNIT_EXPECT_EQ(test, tcp_sum(skb, &s), sum);
		if (s.summed == CHECKSUM_COMPLETE) {
			all = skb_checksum(skb, 0, skb->len, 0);
			KUNIT_EXPECT_EQ(test, (__force u16)csum_fold(skb->csum),
					(__force u16)csum_fold(all));
		}
		header = skb_network_header(skb);
		if (s.v6) {
			KUNIT_EXPECT_EQ(test, header[0], 0x60 | DSFIELD >> 4);
			KUNIT_EXPECT_EQ(test, header[1],
					((DSFIELD | to) & 0xf) << 4);
			header[1] = was[skb_network_offset(skb) + 1];
		} else {
			KUNIT_EXPECT_EQ(test, (__force u16)
					ip_fast_csum(header, header[0] & 15),
					0);
			header[1] = s.dsfield;
			memcpy(header + 10, was + skb_network_offset(skb) +
			       10, 2);
		}
		/* nothing else has changed */
		KUNIT_EXPECT_EQ(test, memcmp(skb->data, was, skb->len), 0);
		kfree_skb(clone);
		kfree_skb(skb);
	}
}

/* Headers need not be in the linear part of the skb: some devices put them in a page. */
static void pages(struct kunit *test)
{
	int i, keep;

	for (i = 0; i < 2; i++) {
		for (keep = 0; keep < ETH + 60; keep++) {
			struct shape s = { .v6 = i, .dsfield = DSFIELD };
			struct sk_buff *skb = packet(test, &s, NULL, 0);
			unsigned int rest = skb->len - keep;
			struct page *page = alloc_page(GFP_KERNEL);

			KUNIT_ASSERT_NOT_NULL(test, page);
			memcpy(page_address(page), skb->data + keep, rest);
			memset(skb->data + keep, 0xff, rest);
			skb_trim(skb, keep);
			skb_add_rx_frag(skb, 0, page, 0, rest, PAGE_SIZE);

			KUNIT_EXPECT_EQ(test, tcpcc_header_dsfield(skb),
					DSFIELD);
			KUNIT_EXPECT_EQ(test, tcpcc_header_set_ecn(skb, 3), 0);
			KUNIT_EXPECT_EQ(test, tcpcc_header_dsfield(skb),
					DSFIELD | 3);
			if (!s.v6)
				KUNIT_EXPECT_EQ(test, (__force u16)
						ip_fast_csum(ip_hdr(skb), 5),
						0);
			kfree_skb(skb);
		}
	}
}

/* A wrong header checksum stays wrong, so that the next host can detect it. */
static void wrong_stays_wrong(struct kunit *test)
{
	struct shape s = { .dsfield = DSFIELD };
	struct sk_buff *skb = packet(test, &s, NULL, 0);

	ip_hdr(skb)->id = htons(0x1234);
	KUNIT_EXPECT_EQ(test, tcpcc_header_set_ecn(skb, 3), 0);
	KUNIT_EXPECT_NE(test, (__force u16)ip_fast_csum(ip_hdr(skb), 5), 0);
	kfree_skb(skb);
}

/* Protocols in the IP header, and whether the DS field belongs to that packet itself */
static void bits_of_its_own(struct kunit *test)
{
	static const struct {
		u8 protocol;
		bool own;
	} carried[] = {
		{ IPPROTO_TCP, true }, { IPPROTO_ESP, true },
		{ IPPROTO_AH, true }, { IPPROTO_IPIP, false },
		{ IPPROTO_IPV6, false }, { IPPROTO_GRE, false },
		{ IPPROTO_UDP, false }, { IPPROTO_MPLS, false },
		{ IPPROTO_FRAGMENT, false }, { IPPROTO_DSTOPTS, false },
		{ IPPROTO_HOPOPTS, false },
	};
	int i;

	for (i = 0; i < 2 * ARRAY_SIZE(carried); i++) {
		struct shape s = { .v6 = i & 1, .dsfield = DSFIELD | 2 };
		struct sk_buff *skb = packet(test, &s, NULL, 0);

		/* the data may be encrypted, so it must have no effect */
		get_random_bytes(tcp_of(skb, &s), 20 + PAYLOAD);
		if (s.v6)
			ipv6_hdr(skb)->nexthdr = carried[i / 2].protocol;
		else
			ip_hdr(skb)->protocol = carried[i / 2].protocol;
		if (carried[i / 2].own)
			KUNIT_EXPECT_EQ(test, tcpcc_header_dsfield(skb),
					DSFIELD | 2);
		else
			KUNIT_EXPECT_LT(test, tcpcc_header_dsfield(skb), 0);
		kfree_skb(skb);
	}
}

/* Fragments, whose bits are for a whole packet, and packets that are not valid IP are refused. */
static void others_have_none(struct kunit *test)
{
	struct shape v4 = { .dsfield = DSFIELD };
	struct shape v6 = { .v6 = true, .dsfield = DSFIELD };
	struct sk_buff *skb;
	int i;

	for (i = 0; i < 7; i++) {
		skb = packet(test, i >= 5 ? &v6 : &v4, NULL, 0);
		switch (i) {
		case 0:
			ip_hdr(skb)->frag_off = htons(IP_MF);
			break;
		case 1:
			ip_hdr(skb)->frag_off = htons(7);
			break;
		case 2:
			ip_hdr(skb)->version = 6;
			break;
		case 3:
			skb->protocol = htons(ETH_P_ARP);
			break;
		case 4:
			skb_trim(skb, ETH + 9);
			break;
		case 5:
			ipv6_hdr(skb)->version = 4;
			break;
		case 6:
			skb_set_network_header(skb, -1);
			break;
		}
		KUNIT_EXPECT_LT_MSG(test, tcpcc_header_dsfield(skb), 0,
				    "case %d", i);
		kfree_skb(skb);
	}
	/* a packet with DF is not a fragment */
	skb = packet(test, &v4, NULL, 0);
	ip_hdr(skb)->frag_off = htons(IP_DF);
	KUNIT_EXPECT_EQ(test, tcpcc_header_dsfield(skb), DSFIELD);
	kfree_skb(skb);
}

/* Packets with random bytes, which end anywhere: nothing outside of them is read or written. */
static void noise_is_harmless(struct kunit *test)
{
	int i, found = 0;

	for (i = 0; i < 20000; i++) {
		struct shape s = {
			.v6 = i & 1, .vlan = i & 2, .dsfield = DSFIELD,
		};
		struct sk_buff *skb = packet(test, &s, NULL, 0);
		unsigned int noise = get_random_u32() % 6;

		while (noise--)
			skb->data[ETH + get_random_u32() % (skb->len - ETH)] =
				get_random_u32();
		if (i & 8)
			skb_trim(skb, get_random_u32() % skb->len);
		if (tcpcc_header_dsfield(skb) >= 0) {
			unsigned int whole = skb_network_offset(skb) +
					     (s.v6 ? 40 : 20);

			found++;
			KUNIT_EXPECT_EQ(test, tcpcc_header_set_ecn(skb, i & 3),
					skb->len < whole ? -ENOMEM : 0);
		}
		kfree_skb(skb);
	}
	KUNIT_EXPECT_GT(test, found, 1000);
}

static struct kunit_case estcp_cases[] = {
	KUNIT_CASE(defaults),
	KUNIT_CASE(equation),
	KUNIT_CASE(normalised),
	KUNIT_CASE(converges),
	KUNIT_CASE(halves_the_distance),
	KUNIT_CASE(fixed_gain),
	KUNIT_CASE(delay),
	KUNIT_CASE(does_not_stick),
	KUNIT_CASE(holdoff),
	KUNIT_CASE(patience),
	KUNIT_CASE(configure),
	KUNIT_CASE(survives_nonsense),
	KUNIT_CASE(marks),
	KUNIT_CASE(codepoint_is_written),
	KUNIT_CASE(pages),
	KUNIT_CASE(wrong_stays_wrong),
	KUNIT_CASE(bits_of_its_own),
	KUNIT_CASE(others_have_none),
	KUNIT_CASE(noise_is_harmless),
	{}
};

static struct kunit_suite estcp_suite = {
	.name = "sch_estcp",
	.test_cases = estcp_cases,
};

kunit_test_suite(estcp_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the router qdisc estcp");
