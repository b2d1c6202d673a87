// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ESTCP's sender: the paper's alpha and beta, the meaning of a share of
 * marks, its estimate, phases, and codepoints that no router would send.  Then scripts of
 * events on a socket: loss and undo beside the end of a phase, timeout, CE, idle, changes
 * of the MTU and of the congestion control.
 */
#include "explicit_sock.h"

#include "../../tcp_estcp.c"

#include <linux/prandom.h>

#include <kunit/test.h>

#include "near.h"

#define ONE	TCPCC_ESTCP_ONE

/* p = (25 - log2(g / us)) / 16 at powers of two, and between them */
static void share_of_g(struct kunit *test)
{
	int log;

	for (log = 10; log <= 24; log++)
		KUNIT_EXPECT_EQ(test, tcpcc_estcp_share(BIT(log)),
				(25 - log) * ONE / 16);
	/* 100 ms: log2 is 16.6096; 6 ms, Fig. 3b's g: 12.5507 */
	EXPECT_NEAR(test, tcpcc_estcp_share(100000), 34367, 50);
	EXPECT_NEAR(test, tcpcc_estcp_share(6000), 50992, 50);
	KUNIT_EXPECT_EQ(test, tcpcc_estcp_share(0), TCPCC_ESTCP_P_MAX);
	KUNIT_EXPECT_EQ(test, tcpcc_estcp_share(U32_MAX), TCPCC_ESTCP_P_MIN);
}

/* From 1 ms to 16.8 s the inverse of f returns the original g, to 0.1 %. */
static void g_survives(struct kunit *test)
{
	u32 g, last = U32_MAX, p;

	for (g = TCPCC_ESTCP_G_MIN; g <= TCPCC_ESTCP_G_MAX; g += g / 97)
		EXPECT_NEAR(test, tcpcc_estcp_g_us(tcpcc_estcp_share(g)), g,
			    1000);
	for (p = 0; p <= ONE; p += 64) {
		g = tcpcc_estcp_g_us(p);
		KUNIT_EXPECT_LE(test, g, last);
		last = g;
	}
	/* no marks mean the slowest growth; only marks mean the fastest */
	KUNIT_EXPECT_EQ(test, tcpcc_estcp_g_us(0), TCPCC_ESTCP_G_MAX);
	KUNIT_EXPECT_EQ(test, tcpcc_estcp_g_us(U32_MAX), TCPCC_ESTCP_G_MIN);
}

/* alpha = rtt_min / g: 100 ms / 6 ms gives 16.7 packets, 100 ms / 100 ms gives one. */
static void alpha_of_g(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, estcp_alpha(100000, 100000), ESTCP_RENO);
	EXPECT_NEAR(test, estcp_alpha(100000, 6000), ESTCP_RENO * 50 / 3, 1);
	/* growth per second does not depend on the rtt: 40 and 200 ms */
	KUNIT_EXPECT_EQ(test, estcp_alpha(40000, 80000) * 5,
			estcp_alpha(200000, 80000));
	/* never 0, never too large */
	KUNIT_EXPECT_EQ(test, estcp_alpha(1, TCPCC_ESTCP_G_MAX), 1);
	KUNIT_EXPECT_LT(test, estcp_alpha(EXPLICIT_RTT_CAP, TCPCC_ESTCP_G_MIN),
			BIT_ULL(41));
}

/* beta = rtt_min / rtt_cur: 2/3 with a buffer of half a BDP, 1/2 with one of a BDP. */
static void beta_of_rtt(struct kunit *test)
{
	EXPECT_NEAR(test, estcp_beta(100000, 150000), ONE * 2 / 3, 20);
	KUNIT_EXPECT_EQ(test, estcp_beta(100000, 200000), ONE / 2);
	EXPECT_NEAR(test, estcp_beta(200000, 240000), ONE * 5 / 6, 20);
	/* without a queue a random loss does not reduce the window */
	KUNIT_EXPECT_EQ(test, estcp_beta(100000, 100000), ONE);
	KUNIT_EXPECT_EQ(test, estcp_beta(1, 1), ONE);
	/* no sample yet, or an impossible one */
	KUNIT_EXPECT_EQ(test, estcp_beta(U32_MAX, 0), ONE);
	KUNIT_EXPECT_EQ(test, estcp_beta(100000, 99999), ONE);
	/* bounds */
	KUNIT_EXPECT_EQ(test, estcp_beta(10, EXPLICIT_RTT_CAP), ONE / 4);
	KUNIT_EXPECT_EQ(test, estcp_beta(1000, 4001), ONE / 4);
	KUNIT_EXPECT_GT(test, estcp_beta(1000, 3990), ONE / 4);
}

static u32 decreased(u32 cwnd, u32 beta)
{
	u64 owed = 0;

	return estcp_decrease(cwnd, beta, &owed);
}

static void decrease(struct kunit *test)
{
	u64 owed = 0;

	/* Fig. 2: a window of BDP + B = 1.5 BDP becomes BDP, so throughput does not fall */
	EXPECT_NEAR(test, decreased(1249, estcp_beta(100000, 150000)), 832,
		    100);
	KUNIT_EXPECT_EQ(test, decreased(1000, ONE), 1000);
	KUNIT_EXPECT_EQ(test, decreased(1, ONE), 2);
	KUNIT_EXPECT_EQ(test, decreased(3, ONE / 4), 2);
	KUNIT_EXPECT_EQ(test, decreased(0, ONE / 4), 2);
	KUNIT_EXPECT_EQ(test, decreased(BIT(30), ONE / 4), BIT(28));
	/* 13 become 6.5; the fraction is kept, so 6.5 become 3.25 */
	KUNIT_EXPECT_EQ(test, estcp_decrease(13, ONE / 2, &owed), 6);
	KUNIT_EXPECT_EQ(test, owed, 6 * ESTCP_RENO / 2);
	KUNIT_EXPECT_EQ(test, estcp_decrease(6, ONE / 2, &owed), 3);
	KUNIT_EXPECT_EQ(test, owed, 3 * ESTCP_RENO / 4);
	owed = 3 * ESTCP_RENO - 1;
	KUNIT_EXPECT_EQ(test, estcp_decrease(3, ONE / 4, &owed), 2);
	KUNIT_EXPECT_EQ(test, owed, 0);
}

/* The ACKs of one window increase it by alpha, for any number of segments per ACK. */
static void increase(struct kunit *test)
{
	static const u32 windows[] = { 2, 3, 10, 833, 1666, 333333333 };
	static const u32 many[] = { 1, 2, 7, 44, 1000 };
	static const u64 alphas[] = {
		ESTCP_RENO / 200, ESTCP_RENO, ESTCP_RENO * 5 / 3,
	};
	int i, j, k;

	for (i = 0; i < ARRAY_SIZE(windows); i++)
		for (j = 0; j < ARRAY_SIZE(many); j++)
			for (k = 0; k < ARRAY_SIZE(alphas); k++) {
				/* ACKs for 400000 segments, with a constant window */
				u64 n = 400000 / many[j], owed = 0, sum = 0, l;
				u64 want = n * many[j] * alphas[k];

				for (l = 0; l < n; l++)
					sum += estcp_increase(&owed, windows[i],
							      alphas[k],
							      many[j]);
				KUNIT_EXPECT_EQ(test, want,
						((u64)windows[i] * sum <<
						 ESTCP_ALPHA) + owed);
			}
}

/* With alpha = 1 growth is Reno's: from 10, after 10 + 11 + ... + 19 segments, by 10. */
static void increases_as_reno(struct kunit *test)
{
	u64 owed = 0;
	u32 cwnd = 10, n;

	for (n = 0; n < 145; n++)
		cwnd += estcp_increase(&owed, cwnd, ESTCP_RENO, 1);
	KUNIT_EXPECT_EQ(test, cwnd, 20);
	KUNIT_EXPECT_EQ(test, owed, 0);
}

/* Growth is not faster than slow start, and nothing overflows. */
static void increase_is_bounded(struct kunit *test)
{
	u64 most = estcp_alpha(EXPLICIT_RTT_CAP, TCPCC_ESTCP_G_MIN), owed = 0;

	KUNIT_EXPECT_EQ(test, estcp_increase(&owed, 2, most, 1), 1);
	KUNIT_EXPECT_EQ(test, estcp_increase(&owed, 2, most, 44), 44);
	KUNIT_EXPECT_EQ(test, estcp_increase(&owed, 1, most, 44), 44);
	KUNIT_EXPECT_EQ(test, owed, 0);
	KUNIT_EXPECT_LE(test, estcp_increase(&owed, 0, most, 5), 5);
	owed = ((u64)BIT(30) << ESTCP_ALPHA) - 1;
	EXPECT_NEAR(test, estcp_increase(&owed, BIT(30), most, U32_MAX),
		    (s64)(most >> ESTCP_ALPHA) << 20 >> 30, 20000);
}

/* ------------------------------------------------------------------------- */

static u32 hear(struct estcp_phase *phase, u8 codepoint, u32 weight)
{
	return estcp_hear(phase, codepoint, weight, false, 96);
}

/* @n codepoints of a pair, marked with probability @share, in ACKs for @each segments */
static void router(struct kunit *test, struct estcp_phase *phase,
		   struct rnd_state *dice, bool odd, u32 share, u32 n, u32 each)
{
	u32 i;

	for (i = 0; i < n; i += each) {
		bool mark = prandom_u32_state(dice) >> 16 < share;

		KUNIT_EXPECT_NE(test, hear(phase, odd * 2 + mark, each),
				ESTCP_MIXED);
	}
}

/* In the first phase the estimate is the share of marks so far. */
static void estimates(struct kunit *test)
{
	struct estcp_phase phase = {};
	u32 i;

	KUNIT_EXPECT_EQ(test, estcp_share(&phase, 96), 0);
	for (i = 0; i < 400; i++)
		hear(&phase, i % 4 == 3, 1);
	KUNIT_EXPECT_EQ(test, estcp_share(&phase, 96), ONE / 4);
	KUNIT_EXPECT_TRUE(test, phase.known);
	/* an ACK for three segments counts three times */
	for (i = 0; i < 100; i++)
		hear(&phase, 1, 3);
	KUNIT_EXPECT_EQ(test, estcp_share(&phase, 96), ONE * 400 / 700);
}

/* The previous phase counts as 96 segments, so that new segments soon outweigh it. */
static void estimates_from_before(struct kunit *test)
{
	struct estcp_phase phase = {};
	u32 i;

	for (i = 0; i < 400; i++)
		hear(&phase, i % 4 == 3, 1);
	for (i = 0; i < 3; i++)
		hear(&phase, 3, 1);
	KUNIT_EXPECT_EQ(test, phase.count, 1);
	KUNIT_EXPECT_EQ(test, phase.prior, ONE / 4);
	KUNIT_EXPECT_EQ(test, phase.n, 3);
	EXPECT_NEAR(test, estcp_share(&phase, 96), ONE * (24 + 3) / 99, 100);
	KUNIT_EXPECT_EQ(test, estcp_share(&phase, 0), ONE);
	for (i = 0; i < 93; i++)
		hear(&phase, 3, 1);
	EXPECT_NEAR(test, estcp_share(&phase, 96), ONE * (24 + 96) / 192, 100);
	/* a previous phase with only marks counts as a share of 15/16 */
	for (i = 0; i < 4000; i++)
		hear(&phase, 3, 1);
	for (i = 0; i < 3; i++)
		hear(&phase, 0, 1);
	KUNIT_EXPECT_EQ(test, phase.prior, TCPCC_ESTCP_P_MAX);
}

/* Until g is known, phases count as one phase, and there is no previous estimate. */
static void estimates_nothing_from_little(struct kunit *test)
{
	struct estcp_phase phase = {};
	u32 i;

	for (i = 0; i < ESTCP_KNOWN - 1; i++)
		hear(&phase, i & 1, 1);
	KUNIT_EXPECT_FALSE(test, phase.known);
	for (i = 0; i < 3; i++)
		hear(&phase, 2, 1);
	KUNIT_EXPECT_EQ(test, phase.count, 1);
	KUNIT_EXPECT_EQ(test, phase.prior, 0);
	KUNIT_EXPECT_FALSE(test, phase.known);
	KUNIT_EXPECT_EQ(test, phase.n, ESTCP_KNOWN - 1 + 3);
	KUNIT_EXPECT_EQ(test, phase.marked, (ESTCP_KNOWN - 1) / 2);
	hear(&phase, 3, 1);
	KUNIT_EXPECT_TRUE(test, phase.known);
}

/*
 * Random codepoints for all p: the estimate is within four standard deviations.  If each ACK
 * counts for eight segments because other ACKs are lost, the error is that of an eighth of the
 * segments.  GRO only merges segments with the same codepoint, and then all eight count.
 */
static void estimates_by_dice(struct kunit *test)
{
	struct rnd_state dice;
	u32 share, each;

	prandom_seed_state(&dice, 1);
	for (share = ONE / 16; share <= ONE / 16 * 15; share += ONE / 16)
		for (each = 1; each <= 8; each *= 8) {
			struct estcp_phase phase = {};
			u32 n = 4000, sigma;

			router(test, &phase, &dice, each > 1, share, n, each);
			sigma = int_sqrt64(div_u64((u64)share * (ONE - share),
						   n / each));
			KUNIT_EXPECT_EQ(test, phase.n, n);
			KUNIT_EXPECT_LE(test, abs((int)estcp_share(&phase, 96) -
						  (int)share), 4 * sigma);
		}
}

/* One ACK for each run of equal codepoints, as with GRO: the estimate has no bias */
static void estimates_runs(struct kunit *test)
{
	struct estcp_phase phase = {};
	struct rnd_state dice;
	u32 run = 0, i;
	u8 last = 0;

	prandom_seed_state(&dice, 2);
	for (i = 0; i < 20000; i++) {
		u8 codepoint = prandom_u32_state(&dice) >> 16 < ONE / 16 * 15;

		if (run && (codepoint != last || run == 44)) {
			hear(&phase, last, run);
			run = 0;
		}
		last = codepoint;
		run++;
	}
	EXPECT_NEAR(test, estcp_share(&phase, 96), ONE / 16 * 15, 8000);
}

static void estimates_for_long(struct kunit *test)
{
	struct estcp_phase phase = { .n = ESTCP_N_MAX, .marked = ESTCP_N_MAX / 2 };
	u32 i;

	for (i = 0; i < 400000; i++)
		hear(&phase, i & 1, ESTCP_WEIGHT);
	KUNIT_EXPECT_LE(test, phase.n, ESTCP_N_MAX + ESTCP_WEIGHT);
	EXPECT_NEAR(test, estcp_share(&phase, 96), ONE / 2, 100);
	KUNIT_EXPECT_TRUE(test, phase.known);
}

/*
 * Three codepoints of the other pair in a row begin a phase, and count for it.  So does one ACK for
 * three segments.
 */
static void phase_begins(struct kunit *test)
{
	struct estcp_phase phase = { .known = 1 };

	KUNIT_EXPECT_EQ(test, hear(&phase, 1, 1), ESTCP_NOTHING);
	KUNIT_EXPECT_EQ(test, hear(&phase, 2, 1), ESTCP_NOTHING);
	KUNIT_EXPECT_EQ(test, hear(&phase, 3, 1), ESTCP_NOTHING);
	KUNIT_EXPECT_EQ(test, hear(&phase, 3, 1), ESTCP_CHANGE);
	KUNIT_EXPECT_EQ(test, phase.n, 3);
	KUNIT_EXPECT_EQ(test, phase.marked, 2);
	KUNIT_EXPECT_TRUE(test, phase.odd);
	KUNIT_EXPECT_EQ(test, hear(&phase, 2, 1), ESTCP_NOTHING);
	KUNIT_EXPECT_EQ(test, hear(&phase, 0, 3), ESTCP_CHANGE);
	KUNIT_EXPECT_EQ(test, phase.n, 3);
	KUNIT_EXPECT_EQ(test, phase.marked, 0);
	KUNIT_EXPECT_EQ(test, phase.count, 2);
}

/* The first pair that is heard, or heard after a gap, is the present phase, not a change. */
static void phase_is_found(struct kunit *test)
{
	struct estcp_phase phase = {};
	u32 i;

	KUNIT_EXPECT_EQ(test, hear(&phase, 2, 5), ESTCP_NOTHING);
	KUNIT_EXPECT_TRUE(test, phase.odd);
	KUNIT_EXPECT_EQ(test, phase.n, 5);
	for (i = 0; i < 40; i++)
		hear(&phase, 2 + (i & 1), 1);

	phase.heard = 0;
	KUNIT_EXPECT_EQ(test, hear(&phase, 3, 1), ESTCP_NOTHING);
	KUNIT_EXPECT_EQ(test, phase.n, 46);
	phase.heard = 0;
	KUNIT_EXPECT_EQ(test, hear(&phase, 1, 1), ESTCP_NOTHING);
	KUNIT_EXPECT_FALSE(test, phase.odd);
	KUNIT_EXPECT_EQ(test, phase.n, 1);
	KUNIT_EXPECT_NE(test, phase.prior, 0);
}

/* Packets that overtake others do not begin a phase, nor do late packets of the old phase. */
static void phase_with_reordering(struct kunit *test)
{
	struct estcp_phase phase = { .known = 1 };
	u32 i;

	hear(&phase, 0, 10);
	KUNIT_EXPECT_EQ(test, hear(&phase, 2, 2), ESTCP_NOTHING);
	KUNIT_EXPECT_EQ(test, hear(&phase, 0, 1), ESTCP_MIXED);
	KUNIT_EXPECT_EQ(test, hear(&phase, 3, 2), ESTCP_NOTHING);
	KUNIT_EXPECT_EQ(test, hear(&phase, 1, 1), ESTCP_MIXED);
	KUNIT_EXPECT_EQ(test, phase.n, 12);
	KUNIT_EXPECT_EQ(test, phase.count, 0);

	KUNIT_EXPECT_EQ(test, hear(&phase, 3, 3), ESTCP_CHANGE);
	for (i = 0; i < 100; i++) {
		KUNIT_EXPECT_EQ(test, estcp_hear(&phase, 1, 1, true, 96),
				ESTCP_NOTHING);
		KUNIT_EXPECT_EQ(test, estcp_hear(&phase, 2, 1, true, 96),
				ESTCP_NOTHING);
	}
	KUNIT_EXPECT_EQ(test, phase.count, 1);
	KUNIT_EXPECT_EQ(test, phase.n, 103);
}

/* If only one in twenty ACKs arrives, the first one of a new phase shows the phase. */
static void phase_with_ack_loss(struct kunit *test)
{
	struct estcp_phase phase = {};
	struct rnd_state dice;
	u32 i;

	prandom_seed_state(&dice, 3);
	for (i = 0; i < 10; i++) {
		router(test, &phase, &dice, i & 1, ONE / 2, 2000, 20);
		KUNIT_EXPECT_EQ(test, phase.count, i);
	}
	KUNIT_EXPECT_LE(test, abs((int)estcp_share(&phase, 96) - (int)ONE / 2),
			(int)ONE / 5);
}

/* With random codepoints all numbers stay in their range. */
static void hostile_codepoints(struct kunit *test)
{
	struct estcp_phase phase = {};
	struct rnd_state dice;
	u32 mixed = 0, changes = 0, i;

	prandom_seed_state(&dice, 4);
	for (i = 0; i < 100000; i++) {
		u32 r = prandom_u32_state(&dice);
		u32 share;

		switch (hear(&phase, r & 3, 1 + (r >> 8) % ESTCP_WEIGHT)) {
		case ESTCP_MIXED:
			mixed++;
			break;
		case ESTCP_CHANGE:
			changes++;
			break;
		}
		share = estcp_share(&phase, 96);
		KUNIT_EXPECT_LE(test, phase.marked, phase.n);
		KUNIT_EXPECT_LE(test, share, ONE);
	}
	/* many of them are reported as mixed, or as a change of phase */
	KUNIT_EXPECT_GT(test, mixed + changes, 10000);
}

/* If only one codepoint comes, no router marks. */
static void bleached(struct kunit *test)
{
	u8 codepoint;
	u32 i;

	for (codepoint = 0; codepoint < 4; codepoint++) {
		struct estcp_phase phase = {};

		for (i = 0; i < ESTCP_SAME; i++) {
			KUNIT_EXPECT_LT(test, phase.same, ESTCP_SAME);
			hear(&phase, codepoint, 1);
		}
		KUNIT_EXPECT_EQ(test, phase.same, ESTCP_SAME);
		KUNIT_EXPECT_FALSE(test, estcp_is_router(&phase));
		hear(&phase, codepoint ^ TCPCC_ESTCP_MARK, 1);
		KUNIT_EXPECT_EQ(test, phase.same, 1);
		KUNIT_EXPECT_TRUE(test, estcp_is_router(&phase));
	}
}

/* ------------------------------------------------------------------------- */

static void weights(struct kunit *test)
{
	s32 credit = 1;
	u32 i;

	/* one ACK counts for what it acknowledges: a segment, none, or a run of segments */
	KUNIT_EXPECT_EQ(test, estcp_weight(&credit, 1), 1);
	KUNIT_EXPECT_EQ(test, credit, 0);
	KUNIT_EXPECT_EQ(test, estcp_weight(&credit, 1), 0);
	credit = 44;
	KUNIT_EXPECT_EQ(test, estcp_weight(&credit, 1), 44);
	KUNIT_EXPECT_EQ(test, credit, 0);
	/* and for what ACKs without a codepoint acknowledged before, up to a limit */
	credit = 1 << 20;
	KUNIT_EXPECT_EQ(test, estcp_weight(&credit, 1), ESTCP_WEIGHT);
	KUNIT_EXPECT_EQ(test, credit, 0);

	/* ten ACKs came while the socket was locked: the first call has all their codepoints */
	credit = 1;
	KUNIT_EXPECT_EQ(test, estcp_weight(&credit, 10), 10);
	KUNIT_EXPECT_EQ(test, credit, -9);
	credit += 9;
	credit += 2;
	KUNIT_EXPECT_EQ(test, estcp_weight(&credit, 1), 2);
	/* or TCP has processed all ten as one ACK */
	credit = 20;
	KUNIT_EXPECT_EQ(test, estcp_weight(&credit, 10), 20);
	KUNIT_EXPECT_EQ(test, credit, 0);

	/* ACKs that acknowledge nothing do not make the credit unbounded */
	for (i = 0; i < 1000; i++)
		estcp_weight(&credit, U32_MAX);
	KUNIT_EXPECT_GE(test, credit, -4 * (s32)TCPCC_FB_COUNT_MAX);
}

static void short_phases(struct kunit *test)
{
	/* limit: two rtts, at least 200 ms and at most 400 ms; a router's hold-off is 500 ms */
	KUNIT_EXPECT_TRUE(test, estcp_is_short(199, 10000));
	KUNIT_EXPECT_FALSE(test, estcp_is_short(200, 10000));
	KUNIT_EXPECT_TRUE(test, estcp_is_short(299, 150000));
	KUNIT_EXPECT_FALSE(test, estcp_is_short(300, 150000));
	KUNIT_EXPECT_TRUE(test, estcp_is_short(399, U32_MAX));
	KUNIT_EXPECT_FALSE(test, estcp_is_short(400, U32_MAX));
}

/*
 * Two flows with rtts of 40 and 200 ms, and a buffer of 10 ms at 8333 packets/s.  At the end
 * of each phase a flow reduces its window by its part of the queue.  Then the window grows by
 * 1 / g packets per second.  Rates that differ by a factor of nine converge to equal rates, to
 * a tenth, because the queue makes the rtts longer.
 */
static void equal_rates(struct kunit *test)
{
	static const u32 rtt[2] = { 40000, 200000 };
	const u32 queue_us = 10000, step_us = 10000;
	u32 cwnd[2] = { 42, 1575 }, phases, i;
	u64 owed[2] = {};
	u64 rate[2], sum;

	for (phases = 0; phases < 200; phases++) {
		for (i = 0; i < 2; i++) {
			u32 beta = estcp_beta(rtt[i], rtt[i] + queue_us);

			cwnd[i] = estcp_decrease(cwnd[i], beta, &owed[i]);
		}
		do {
			sum = 0;
			for (i = 0; i < 2; i++) {
				u32 acked = cwnd[i] * step_us /
					    (rtt[i] + queue_us / 2);

				cwnd[i] += estcp_increase(&owed[i], cwnd[i],
							  estcp_alpha(rtt[i], 20000),
							  acked);
				rate[i] = div_u64((u64)cwnd[i] * USEC_PER_SEC,
						  rtt[i] + queue_us);
				sum += rate[i];
			}
		} while (sum < 8333);
	}
	EXPECT_NEAR(test, rate[0], rate[1], 100000);
}

/* ------------------------------------------------------------------------- */
/* Scripts.  Segments have 1000 bytes, and the rtt is 80 ms or more.          */

static struct estcp *estcp_of(struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* An ACK for one segment, with a codepoint */
static void ack_with(struct sock *sk, u8 codepoint)
{
	fake_router.word = tcpcc_fb_tally(0, codepoint, 1);
	fake_ack_heard(sk, 1, 1);
}

/* @n ACKs of an odd or even phase, every other one marked */
static void acks_of(struct sock *sk, bool odd, u32 n)
{
	while (n--)
		ack_with(sk, odd * 2 + (n & 1));
}

/*
 * A connection in an even phase, in avoidance, with a window of @cwnd, all of which is in
 * flight; p = 1/2, so g = 2^17 us and alpha = 0.61
 */
static struct sock *open_marked(struct kunit *test, u32 cwnd)
{
	struct sock *sk = fake_open(test, &explicit_ops);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_ssthresh = 10;
	fake_send(sk, 64);
	acks_of(sk, false, 64);
	KUNIT_ASSERT_EQ(test, estcp_of(sk)->ex.mode, EXPLICIT_FEEDBACK);
	estcp_of(sk)->owed = 0;
	tcp_snd_cwnd_set(tp, cwnd);
	tp->snd_ssthresh = cwnd;
	fake_send(sk, cwnd);
	return sk;
}

/*
 * A fast flow in a long phase: after 70000 ACKs the router lowers g from 2^17 to 2^11 us.  alpha
 * follows, as it does at the beginning of the phase
 */
static void follows_for_long(struct kunit *test)
{
	struct sock *sk = open_marked(test, 100);
	u32 i;

	tcp_sk(sk)->is_cwnd_limited = 0;
	for (i = 0; i < 70000; i++) {
		fake_send(sk, 1);
		ack_with(sk, i & 1);
	}
	EXPECT_NEAR(test, estcp_of(sk)->alpha, estcp_alpha(FAKE_RTT_US, 1 << 17), 10000);
	for (i = 0; i < 70000; i++) {
		fake_send(sk, 1);
		ack_with(sk, i % 8 > 0);
	}
	KUNIT_EXPECT_EQ(test, estcp_of(sk)->phase.count, 0);
	EXPECT_NEAR(test, estcp_of(sk)->alpha, estcp_alpha(FAKE_RTT_US, 1 << 11), 20000);
}

/* Without codepoints it is Reno, also at losses and CE marks; a spurious loss is undone. */
static void is_reno(struct kunit *test)
{
	struct sock *sk = fake_open(test, &explicit_ops);
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

	fake_send(sk, 10);
	fake_ack(sk, 10);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 20);
	fake_send(sk, 20);
	fake_reduce(sk, TCP_CA_Recovery);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 10);
	tcp_snd_cwnd_set(tp, 15);
	fake_undo(sk);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 20);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, TCP_INFINITE_SSTHRESH);
	fake_reduce(sk, TCP_CA_CWR);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 10);
	/* TCP ends recovery with this window; then it grows by one segment per rtt */
	tcp_snd_cwnd_set(tp, 10);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
	for (i = 0; i < 10; i++)
		fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 11);
	KUNIT_EXPECT_EQ(test, estcp_of(sk)->ex.mode, EXPLICIT_START);
}

/* A connection that uses ECN requests no codepoints, and ignores those that come. */
static void leaves_ecn_alone(struct kunit *test)
{
	struct sock *sk = fake_open(test, &explicit_ops);

	KUNIT_EXPECT_NOT_NULL(test, estcp_of(sk)->ex.fb);
#ifdef TCP_ECN_OK
	tcp_sk(sk)->ecn_flags = TCP_ECN_OK;
	estcp_init(sk);
	KUNIT_EXPECT_NULL(test, estcp_of(sk)->ex.fb);
	fake_send(sk, 64);
	acks_of(sk, false, 64);
	KUNIT_EXPECT_EQ(test, estcp_of(sk)->ex.mode, EXPLICIT_START);
	fake_reduce(sk, TCP_CA_CWR);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, cwnd_of(sk) / 2);
#endif
}

/* The window is 100, half of it queued.  The end of the phase sets it to 50, and so does a loss. */
static void phase_ends(struct kunit *test)
{
	struct sock *sk = open_marked(test, 100);

	fake_router.rtt_us = 2 * FAKE_RTT_US;
	acks_of(sk, true, 3);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 50);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, 50);
	/* the same overflow also causes a loss: no second reduction */
	fake_reduce(sk, TCP_CA_Recovery);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, 50);
	/* an undo does not undo the end of the phase, and the next loss belongs to that end */
	fake_undo(sk);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 51);
	fake_reduce(sk, TCP_CA_Recovery);
	KUNIT_EXPECT_GE(test, tcp_sk(sk)->snd_ssthresh, 50);
	KUNIT_EXPECT_LE(test, tcp_sk(sk)->snd_ssthresh, 51);
}

/* An undo restores the window with its fraction of a segment.  The next loss counts. */
static void undo_gives_back(struct kunit *test)
{
	struct sock *sk = open_marked(test, 99);
	u64 owed;

	fake_router.rtt_us = 2 * FAKE_RTT_US;
	acks_of(sk, false, 20);
	owed = estcp_of(sk)->owed;
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 99);
	KUNIT_EXPECT_GT(test, owed, 11 * ESTCP_RENO);
	fake_reduce(sk, TCP_CA_Recovery);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, 49);
	tcp_snd_cwnd_set(tcp_sk(sk), 60);
	fake_undo(sk);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 99);
	EXPECT_NEAR(test, estcp_of(sk)->owed, owed, 1000);
	fake_reduce(sk, TCP_CA_Recovery);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, 49);
}

/* If the phase ends during recovery or a timeout, the reduction is kept even after an undo. */
static void phase_confirms_a_loss(struct kunit *test)
{
	static const u8 states[] = { TCP_CA_Recovery, TCP_CA_Loss };
	int i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		struct sock *sk = open_marked(test, 100);
		struct tcp_sock *tp = tcp_sk(sk);

		fake_router.rtt_us = 2 * FAKE_RTT_US;
		ack_with(sk, 0);
		if (states[i] == TCP_CA_Loss)
			fake_timeout(sk);
		else
			fake_reduce(sk, TCP_CA_Recovery);
		KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 50);
		acks_of(sk, true, 3);
		fake_undo(sk);
		/* recovery allows a little growth; a timeout's undo restores the reduced window */
		KUNIT_EXPECT_GE(test, cwnd_of(sk), states[i] == TCP_CA_Loss ? 50 : 2);
		if (states[i] == TCP_CA_Loss)
			KUNIT_EXPECT_LE(test, cwnd_of(sk), 52);
		KUNIT_EXPECT_LE(test, tp->snd_ssthresh, 52);
	}
}

/* With estcp_each_loss=0 a loss alone does not reduce the window.  The end of the phase does. */
static void tells_losses_apart(struct kunit *test)
{
	struct sock *sk = open_marked(test, 100);

	estcp_each_loss = 0;
	fake_router.rtt_us = 2 * FAKE_RTT_US;
	ack_with(sk, 0);
	fake_reduce(sk, TCP_CA_Recovery);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, 100);
	acks_of(sk, true, 3);
	EXPECT_NEAR(test, tcp_sk(sk)->snd_ssthresh, 50, 20000);
	/* without a router a loss halves the window, as with Reno */
	estcp_enter(sk, EXPLICIT_FALLBACK);
	fake_reduce(sk, TCP_CA_Recovery);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, cwnd_of(sk) / 2);
	estcp_each_loss = 1;
}

/* A spurious timeout without the end of a phase */
static void undoes_a_timeout(struct kunit *test)
{
	struct sock *sk = open_marked(test, 100);

	fake_timeout(sk);
	ack_with(sk, 0);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 2);
	fake_undo(sk);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 100);
}

/*
 * TCP reduces the window after an idle time.  The fraction (owed) that belonged to the large
 * window must not count then.  After a loss, or the end of a phase, without a queue, the window
 * is not larger than before, and an ACK for one segment adds one at most.
 */
static void idle_owes_nothing(struct kunit *test)
{
	struct sock *sk = open_marked(test, 1000);
	struct tcp_sock *tp = tcp_sk(sk);

	/* 999/1000 of a segment of the large window */
	estcp_of(sk)->owed = 999 * ESTCP_RENO;
	tcp_snd_cwnd_set(tp, 10);
	fake_reduce(sk, TCP_CA_Recovery);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 10);

	sk = open_marked(test, 1000);
	tp = tcp_sk(sk);
	estcp_of(sk)->owed = 999 * ESTCP_RENO;
	tcp_snd_cwnd_set(tp, 10);
	tp->snd_ssthresh = 750;
	acks_of(sk, true, 3);
	KUNIT_EXPECT_LE(test, tp->snd_ssthresh, 13);

	sk = open_marked(test, 1000);
	tp = tcp_sk(sk);
	estcp_of(sk)->owed = 999 * ESTCP_RENO;
	tcp_snd_cwnd_set(tp, 10);
	tp->snd_ssthresh = 10;
	ack_with(sk, 0);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 11);
}

/* After a time without codepoints the next one sets the phase, and does not end one */
static void idle_over_phases(struct kunit *test)
{
	struct sock *sk = open_marked(test, 100);

	fake_router.rtt_us = 2 * FAKE_RTT_US;
	estcp_of(sk)->heard_at = tcp_jiffies32 - msecs_to_jiffies(3000);
	acks_of(sk, true, 5);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 100);
	KUNIT_EXPECT_EQ(test, estcp_of(sk)->ex.mode, EXPLICIT_FEEDBACK);
	KUNIT_EXPECT_TRUE(test, estcp_of(sk)->phase.odd);
}

/* The window does not grow if the application does not use it. */
static void grows_what_is_used(struct kunit *test)
{
	struct sock *sk = open_marked(test, 20);
	u64 owed = estcp_of(sk)->owed;

	tcp_sk(sk)->is_cwnd_limited = 0;
	tcp_sk(sk)->snd_ssthresh = 10;
	acks_of(sk, false, 20);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 20);
	KUNIT_EXPECT_EQ(test, estcp_of(sk)->owed, owed);
	tcp_sk(sk)->is_cwnd_limited = 1;
	fake_send(sk, 60);
	acks_of(sk, false, 60);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 21);
}

/* A switch from bbr in recovery, without ssthresh: a bound of the window does not become it */
static void changed_to_in_recovery(struct kunit *test)
{
	struct sock *sk = open_marked(test, 20);
	struct tcp_sock *tp = tcp_sk(sk);

	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->snd_cwnd_clamp = 1000;
	tp->high_seq = tp->snd_nxt;
	ack_with(sk, 0);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, TCP_INFINITE_SSTHRESH);
}

/* The window is in segments of any size.  The pacing rate is left to TCP. */
static void mtu_and_pacing_are_tcps(struct kunit *test)
{
	struct sock *sk = open_marked(test, 100);
	u64 alpha = estcp_of(sk)->alpha;

	sk->sk_pacing_status = SK_PACING_NEEDED;
	sk->sk_pacing_rate = 12345;
	tcp_sk(sk)->mss_cache = 9000;
	ack_with(sk, 0);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 100);
	KUNIT_EXPECT_EQ(test, estcp_of(sk)->alpha, alpha);
	explicit_release(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_status, SK_PACING_NEEDED);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_rate, 12345);
}

/* ss has no suitable format, so nothing is shown. */
static void tells_ss_nothing(struct kunit *test)
{
	struct sock *sk = open_marked(test, 100);
	union tcp_cc_info info;
	int attr = 0;

	KUNIT_EXPECT_EQ(test, estcp_get_info(sk, 1 << (INET_DIAG_BBRINFO - 1) |
					     1 << (INET_DIAG_VEGASINFO - 1),
					     &attr, &info), 0);
	KUNIT_EXPECT_EQ(test, attr, 0);
}

static struct kunit_case estcp_cases[] = {
	KUNIT_CASE(share_of_g),
	KUNIT_CASE(g_survives),
	KUNIT_CASE(alpha_of_g),
	KUNIT_CASE(beta_of_rtt),
	KUNIT_CASE(decrease),
	KUNIT_CASE(increase),
	KUNIT_CASE(increases_as_reno),
	KUNIT_CASE(increase_is_bounded),
	KUNIT_CASE(estimates),
	KUNIT_CASE(estimates_from_before),
	KUNIT_CASE(estimates_nothing_from_little),
	KUNIT_CASE(estimates_by_dice),
	KUNIT_CASE(estimates_runs),
	KUNIT_CASE(estimates_for_long),
	KUNIT_CASE(phase_begins),
	KUNIT_CASE(phase_is_found),
	KUNIT_CASE(phase_with_reordering),
	KUNIT_CASE(phase_with_ack_loss),
	KUNIT_CASE(hostile_codepoints),
	KUNIT_CASE(bleached),
	KUNIT_CASE(weights),
	KUNIT_CASE(short_phases),
	KUNIT_CASE(equal_rates),
	KUNIT_CASE(follows_for_long),
	KUNIT_CASE(is_reno),
	KUNIT_CASE(leaves_ecn_alone),
	KUNIT_CASE(phase_ends),
	KUNIT_CASE(undo_gives_back),
	KUNIT_CASE(phase_confirms_a_loss),
	KUNIT_CASE(tells_losses_apart),
	KUNIT_CASE(undoes_a_timeout),
	KUNIT_CASE(idle_owes_nothing),
	KUNIT_CASE(idle_over_phases),
	KUNIT_CASE(grows_what_is_used),
	KUNIT_CASE(changed_to_in_recovery),
	KUNIT_CASE(mtu_and_pacing_are_tcps),
	KUNIT_CASE(tells_ss_nothing),
	{}
};

static struct kunit_suite estcp_suite = {
	.name = "tcp_estcp",
	.test_cases = estcp_cases,
};

kunit_test_suite(estcp_suite);
