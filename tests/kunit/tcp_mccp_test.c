// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of MCCP: Eqs. 1 to 6, the estimate with ACKs of many kinds, non-congestion
 * detection (NCD), and a socket with the events of TCP: losses and their undo, marks, idle
 * times, another size of segments.  tcp_mccp_path_test.c tests what is not in the paper.
 */
#include "../../tcp_mccp.c"

#include <linux/prandom.h>

#include <kunit/test.h>

#include "near.h"

/* A share of @x thousandths */
#define MILLI(x)	((u64)(x) * ABE_ONE / 1000)

/* Conversion of segments per second to a rate, and back */
#define PER_S(x)	div_u64((u64)(x) << ABE_RATE, USEC_PER_SEC)
#define TO_PER_S(x)	mul_u64_u32_shr(x, USEC_PER_SEC, ABE_RATE)

/* The rules of the paper, and those of mccp_path for a least rtt of @min_us */
#define PAPER		{ .interval = ABE_ACK, .n = 10, .beta = 60, .mean = true }
#define PATH(min_us)	{ .interval = ABE_APART_EQ2, .floor_us = (min_us) / 2, .n = 10, .beta = 60 }

/* A sender, its ACKs and its estimate */
struct estimator {
	struct abe_history *history;
	struct abe abe;
	struct abe_rules rules;
	struct abe_ack ack;
	u64	integral;	/* integral of the estimate over time, ABE_RATE * us */
	u64	us;
};

static void begin(struct kunit *test, struct estimator *e, u32 rtt_us, u32 cwnd,
		  struct abe_rules rules)
{
	*e = (struct estimator) {
		.history = kunit_kzalloc(test, sizeof(*e->history), GFP_KERNEL),
		.rules = rules,
		.ack = {
			/* both numbers wrap soon */
			.us = -1000, .delivered = -100,
			.rtt_us = rtt_us, .rtt_min_us = rtt_us, .cwnd = cwnd,
			.limited = true,
		},
	};
	KUNIT_ASSERT_NOT_NULL(test, e->history);
	abe_restart(e->history, e->ack.us, e->ack.delivered);
}

/* After @us, an ACK for @segs segments */
static void ack(struct estimator *e, u32 us, u32 segs)
{
	struct abe_step step;

	e->integral += e->abe.rate * us;
	e->us += us;
	e->ack.us += us;
	e->ack.delivered += segs;
	if (abe_is_due(e->ack.us - abe_point(e->history, 0)->us, e->history->next_us,
		       e->ack.rtt_us, e->ack.limited))
		abe_take(e->history, &e->abe, &e->rules, &e->ack, &step);
}

static u64 mean_per_s(const struct estimator *e)
{
	return TO_PER_S(div64_u64(e->integral, e->us));
}

/* Restarts the mean of the estimate. */
static void settle(struct estimator *e)
{
	e->integral = 0;
	e->us = 0;
}

/* T, us, for a path that holds @pipe segments, a window of @cwnd, and both rtts of @rtt_us */
static u32 t_us(u32 pipe, u32 cwnd, u32 rtt_us)
{
	const struct abe_ack ack = { .rtt_us = rtt_us, .rtt_min_us = rtt_us, .cwnd = cwnd };

	/* a little more, since abe_pipe() rounds down */
	return abe_t_us(pipe ? div_u64((u64)pipe << ABE_RATE, rtt_us) + 1 : 0, &ack);
}

/* T = RTT (cwin - ABE rtt_min) / cwin */
static void eq2(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, t_us(50, 100, 100000), 50000);
	KUNIT_EXPECT_EQ(test, t_us(75, 100, 200000), 50000);
	KUNIT_EXPECT_EQ(test, t_us(1, 3, 90000), 60000);
	/* no congestion: T_min; no estimate: T_max */
	KUNIT_EXPECT_EQ(test, t_us(100, 100, 100000), 0);
	KUNIT_EXPECT_EQ(test, t_us(1000000, 1, 100000), 0);
	KUNIT_EXPECT_EQ(test, t_us(0, 100, 100000), 100000);
	KUNIT_EXPECT_EQ(test, t_us(1, S32_MAX, ABE_TIME_CAP), ABE_TIME_CAP - 1);
}

/* At 0, 10, 20 and 50 ms, 0, 10, 30 and 36 segments have been delivered. */
static void eq4(struct kunit *test)
{
	struct abe_history history = {};
	u32 us = U32_MAX - 20000, segs = U32_MAX - 15;

	abe_restart(&history, us, segs);
	abe_remember(&history, us + 10000, segs + 10, 10000);
	abe_remember(&history, us + 20000, segs + 30, 10000);
	abe_remember(&history, us + 50000, segs + 36, 10000);
	us += 60000;
	segs += 40;
	/* intervals between remembered times: 4 in 10 ms, 10 in 40, 30 in 50, 40 in 60 */
	EXPECT_NEAR(test, abe_sample(&history, us, segs, 10000), PER_S(400), 1);
	EXPECT_NEAR(test, abe_sample(&history, us, segs, 40000), PER_S(250), 1);
	EXPECT_NEAR(test, abe_sample(&history, us, segs, 50000), PER_S(600), 1);
	EXPECT_NEAR(test, abe_sample(&history, us, segs, 60000), PER_S(40000) / 60, 2);
	/* interpolated: 4 and half of 6; 10 and half of 20; half of 4 */
	EXPECT_NEAR(test, abe_sample(&history, us, segs, 25000), PER_S(280), 1);
	EXPECT_NEAR(test, abe_sample(&history, us, segs, 45000), PER_S(20000) / 45, 1);
	EXPECT_NEAR(test, abe_sample(&history, us, segs, 5000), PER_S(400), 1);
	/* an interval is at most as long as the history */
	EXPECT_NEAR(test, abe_sample(&history, us, segs, ABE_TIME_CAP),
		    PER_S(40000) / 60, 2);
	/* less than 1/256 segment counts as 0 */
	KUNIT_EXPECT_EQ(test, abe_sample(&history, us, segs, 1), 0);
}

/* U = .6 U' + .4 |s - s'|, divided by the largest U of the last ten */
static void eq5(struct kunit *test)
{
	struct abe_history history = {};
	int i;

	KUNIT_EXPECT_EQ(test, abe_unstable(&history, 0, 0, 60), 0);
	/* 40; 24 + 80; 62.4 + 40 */
	KUNIT_EXPECT_EQ(test, abe_unstable(&history, 0, PER_S(100), 60), ABE_ONE);
	EXPECT_NEAR(test, history.instability, PER_S(40), 10);
	KUNIT_EXPECT_EQ(test, abe_unstable(&history, PER_S(100), PER_S(300), 60), ABE_ONE);
	EXPECT_NEAR(test, history.instability, PER_S(104), 10);
	EXPECT_NEAR(test, abe_unstable(&history, PER_S(300), PER_S(200), 60),
		    ABE_ONE / 1040 * 1024, 10);
	/* no changes: .6^8 of 102.4 over 104; then the old maximum is forgotten: .6^9 */
	for (i = 0; i < 8; i++)
		abe_unstable(&history, PER_S(200), PER_S(200), 60);
	EXPECT_NEAR(test, abe_unstable(&history, PER_S(200), PER_S(200), 60),
		    ABE_ONE / 1000000 * 10078, 1000);
	EXPECT_NEAR(test, abe_unstable(&history, PER_S(200), PER_S(200), 60),
		    ABE_ONE / 1000000 * 10078, 1000);
	/* the largest rates */
	KUNIT_EXPECT_EQ(test, abe_unstable(&history, 0, ABE_RATE_MAX, 0), ABE_ONE);
	EXPECT_NEAR(test, abe_unstable(&history, ABE_RATE_MAX / 4, 0, 0), ABE_ONE / 4, 10);
}

/* 1 - a = 2 Dt / (2 tau + Dt), tau = RTT + N RTT U / U_max */
static void eq6(struct kunit *test)
{
	/* tau = RTT, 6 RTT, 11 RTT; Dt is a tenth of the RTT */
	EXPECT_NEAR(test, abe_weight(10000, 100000, 0, 10), ABE_ONE / 21 * 2, 10);
	EXPECT_NEAR(test, abe_weight(10000, 100000, ABE_ONE / 2, 10), ABE_ONE / 121 * 2, 10);
	EXPECT_NEAR(test, abe_weight(10000, 100000, ABE_ONE, 10), ABE_ONE / 221 * 2, 10);
	EXPECT_NEAR(test, abe_weight(10000, 100000, ABE_ONE, 0), ABE_ONE / 21 * 2, 10);
	/* a is not below 0 */
	KUNIT_EXPECT_EQ(test, abe_weight(200000, 100000, 0, 10), ABE_ONE);
	KUNIT_EXPECT_EQ(test, abe_weight(ABE_TIME_CAP, 10, 0, 10), ABE_ONE);
	KUNIT_EXPECT_LT(test, abe_weight(199999, 100000, 0, 10), ABE_ONE);
	/* nothing overflows */
	EXPECT_NEAR(test, abe_weight(ABE_TIME_CAP, ABE_TIME_CAP, ABE_ONE, 100),
		    ABE_ONE / 203 * 2, 10);
	KUNIT_EXPECT_EQ(test, abe_weight(0, 0, 0, 0), ABE_ONE);
}

static void eq1(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, abe_filter(0, 1000, MILLI(1)), 1000);
	KUNIT_EXPECT_EQ(test, abe_filter(1000, 2000, MILLI(250)), 1250);
	KUNIT_EXPECT_EQ(test, abe_filter(2000, 1000, MILLI(250)), 1750);
	KUNIT_EXPECT_EQ(test, abe_filter(2000, 1000, ABE_ONE), 1000);
	KUNIT_EXPECT_EQ(test, abe_filter(1, ABE_RATE_MAX, ABE_ONE), ABE_RATE_MAX);
	/* there is an estimate from the first sample on */
	KUNIT_EXPECT_EQ(test, abe_filter(5, 0, ABE_ONE), 1);
	KUNIT_EXPECT_EQ(test, abe_filter(0, 0, ABE_ONE), 1);
}

/* All equations, with T from the last two ACKs, compared with a floating-point model */
static void as_printed(struct kunit *test)
{
	static const struct {
		u32 us, segs;
		u64 milli_per_s[2];	/* S after it, with one sample, and with the mean of two */
	} acks[] = {
		{ 10000, 10, { 1000000, 1000000 } },
		{ 10000, 10, { 1000000, 1000000 } },
		{ 2000, 4, { 1001817, 1000908 } },
		{ 38000, 2, { 969583, 1001771 } },
		{ 30000, 34, { 974025, 990684 } },
		{ 10000, 10, { 974372, 991700 } },
		{ 30000, 30, { 975907, 992197 } },
		{ 10000, 10, { 976623, 992429 } },
	};
	struct abe_rules rules = PAPER;
	struct estimator e;
	int i, mean;

	for (mean = 0; mean <= 1; mean++) {
		rules.mean = mean;
		begin(test, &e, 100000, 100, rules);
		for (i = 0; i < ARRAY_SIZE(acks); i++) {
			ack(&e, acks[i].us, acks[i].segs);
			EXPECT_NEAR(test, TO_PER_S(e.abe.rate * 1000),
				    acks[i].milli_per_s[mean], 20);
		}
	}
}

/* @count samples of 10 ms on a path of 100 ms, with @each[] segments in turn */
static void samples(struct estimator *e, u32 count, const u32 each[4])
{
	u32 i;

	for (i = 0; i < count; i++)
		ack(e, 10000, each[i % 4]);
}

/*
 * "To dampen estimates when the network exhibits very unstable behavior and react quickly to
 * persistent changes" (ABE).  After a lasting change the estimate is within a tenth of it after
 * ln 10 = 2.3 RTT with tau = RTT, and after 25.3 RTT with tau = 11 RTT.  With N = 10 tau rises
 * from the first to the second, and the change itself is forgotten after the ten samples of U_max,
 * another RTT.  A single outlier counts with its weight: 2/21 with tau = RTT and 2/221 with
 * tau = 11 RTT, which is 10.5 times less.  In the unstable series here every other sample equals
 * the one before, which leaves 0.6 of U: tau is at least 7 RTT, and the weight at most 2/141, which
 * is 6.7 times less.
 */
static void follows_what_lasts_and_dampens_the_rest(struct kunit *test)
{
	static const u32 steady[] = { 10, 10, 10, 10 }, more[] = { 20, 20, 20, 20 };
	static const u32 less[] = { 5, 5, 5, 5 }, swings[] = { 5, 5, 15, 15 };
	struct abe_rules rules = PAPER;
	u64 dip[2], ripple[2];
	struct estimator e;
	u32 after, i, n;

	rules.mean = false;
	/* the rate doubles, and later falls to a quarter */
	begin(test, &e, 100000, 100, rules);
	samples(&e, 100, steady);
	for (after = 0; TO_PER_S(e.abe.rate) < 1900 && after < 500; after++)
		samples(&e, 1, more);
	KUNIT_EXPECT_LE(test, after, 23 + 10 + 1);
	samples(&e, 100, more);
	for (after = 0; TO_PER_S(e.abe.rate) > 600 && after < 500; after++)
		samples(&e, 1, less);
	KUNIT_EXPECT_LE(test, after, 23 + 10 + 1);

	/* with N = 0 tau is always RTT */
	for (n = 0; n < 2; n++) {
		u64 least = ABE_RATE_MAX, most = 0;

		rules.n = n ? 10 : 0;
		begin(test, &e, 100000, 100, rules);
		samples(&e, 100, steady);
		samples(&e, 1, less);
		dip[n] = 1000 * 1000 - TO_PER_S(1000 * e.abe.rate);
		samples(&e, 400, swings);
		for (i = 0; i < 40; i++) {
			ack(&e, 10000, swings[i % 4]);
			least = min(least, e.abe.rate);
			most = max(most, e.abe.rate);
		}
		ripple[n] = TO_PER_S(1000 * (most - least));
		EXPECT_NEAR(test, mean_per_s(&e), 1000, 20000);
	}
	KUNIT_EXPECT_LE(test, dip[1] * 10, dip[0]);
	KUNIT_EXPECT_LE(test, ripple[1] * 6, ripple[0]);
}

/* ------------------------------------------------------------------------- */

/* 8000 segments/s at 100 ms: the estimate is the same with ACKs of many kinds */
static void whatever_acks(struct kunit *test)
{
	static const struct {
		u32 segs, lost;		/* segments per ACK; lost ACKs of 256 */
	} kinds[] = { { 1, 0 }, { 2, 0 }, { 44, 0 }, { 1, 128 }, { 2, 230 } };
	struct rnd_state dice;
	struct estimator e;
	int i, j;

	prandom_seed_state(&dice, 1);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		u32 us = 0, segs = 0;

		begin(test, &e, 100000, 800, (struct abe_rules)PATH(100000));
		for (j = 0; j < 40000; j++) {
			us += kinds[i].segs * 125;
			segs += kinds[i].segs;
			if (prandom_u32_state(&dice) % 256 < kinds[i].lost)
				continue;
			ack(&e, us, segs);
			us = 0;
			segs = 0;
			if (j > 1000)
				EXPECT_NEAR(test, TO_PER_S(e.abe.rate), 8000, 10000);
		}
	}
}

/* The same, but ACKs are held back for 1, 5 or 9 ms, and come at once or one after another */
static void batches(struct kunit *test)
{
	static const u32 apart[] = { 1000, 5000, 9000 };
	struct estimator e;
	int i, j, k;
	u32 spread;

	for (i = 0; i < ARRAY_SIZE(apart); i++)
		for (spread = 0; spread <= 3; spread += 3) {
			u32 n = apart[i] / 250;

			begin(test, &e, 100000, 800, (struct abe_rules)PATH(100000));
			for (j = 0; j < 5000; j++) {
				ack(&e, apart[i] - (n - 1) * spread, 2);
				for (k = 1; k < n; k++)
					ack(&e, spread, 2);
				if (j > 2500)
					EXPECT_NEAR(test, TO_PER_S(e.abe.rate), 8000, 10000);
			}
		}
}

/*
 * The packets of flows that share a queue pass in trains at 8000 segments/s, in half, or a tenth,
 * of the time.  mccp_path's estimate is the flow's share.  With the paper's short T, or the mean of
 * two samples, the error is more than a tenth.
 */
static void trains(struct kunit *test)
{
	static const struct {
		struct abe_rules rules;
		bool right;
	} kinds[] = {
		{ PATH(100000), true },
		{ { .interval = ABE_ACK, .floor_us = 50000, .n = 10, .beta = 60 }, true },
		{ { .interval = ABE_ACK, .n = 10, .beta = 60 }, false },
		{ PAPER, false },
	};
	static const u32 flows[] = { 2, 10 };
	struct estimator e;
	int i, j, k, l;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		s64 worst = 0;

		for (j = 0; j < ARRAY_SIZE(flows); j++) {
			u32 n = 600 / flows[j], share = 8000 / flows[j];

			begin(test, &e, 150000, 2 * n, kinds[i].rules);
			e.ack.rtt_min_us = 100000;
			for (k = 0; k < 400; k++) {
				if (k == 100)
					settle(&e);
				ack(&e, 150000 - (n - 1) * 250, 2);
				for (l = 1; l < n; l++)
					ack(&e, 250, 2);
			}
			worst = max_t(s64, worst,
				      div_s64(abs((s64)mean_per_s(&e) - share) * 100, share));
		}
		if (kinds[i].right)
			KUNIT_EXPECT_LE(test, worst, 2);
		else
			KUNIT_EXPECT_GT(test, worst, 10);
	}
}

/* A time without deliveries lowers the rate.  A restart forgets that time, but not the rate. */
static void silence(struct kunit *test)
{
	static const struct abe_rules kinds[] = { PAPER, PATH(100000) };
	struct estimator e;
	int i, kind;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		begin(test, &e, 100000, 800, kinds[kind]);
		for (i = 0; i < 4000; i++)
			ack(&e, 250, 2);
		e.ack.us += 10 * USEC_PER_SEC;
		e.ack.delivered += 10;
		abe_restart(e.history, e.ack.us, e.ack.delivered);
		EXPECT_NEAR(test, TO_PER_S(e.abe.rate), 8000, 10000);
		for (i = 0; i < 400; i++) {
			ack(&e, 250, 2);
			EXPECT_NEAR(test, TO_PER_S(e.abe.rate), 8000, 10000);
		}
		/* a timeout */
		ack(&e, 10 * USEC_PER_SEC, 10);
		KUNIT_EXPECT_LT(test, TO_PER_S(e.abe.rate), 4100);
	}
}

/* If less is sent than the window allows, the estimate is a lower bound. */
static void lower_bound(struct kunit *test)
{
	static const struct abe_rules kinds[] = { PAPER, PATH(100000) };
	struct estimator e;
	int i, j, kind;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		begin(test, &e, 100000, 800, kinds[kind]);
		for (i = 0; i < 4000; i++)
			ack(&e, 250, 2);
		/* ten segments in each round trip */
		e.ack.limited = false;
		for (i = 0; i < 400; i++)
			ack(&e, 20000, 2);
		EXPECT_NEAR(test, TO_PER_S(e.abe.rate), 8000, 10000);
		/* no burst raises it */
		for (i = 0; i < 50; i++)
			for (j = 0; j < 100; j++)
				ack(&e, j ? 25 : 100000 - 99 * 25, 2);
		EXPECT_NEAR(test, TO_PER_S(e.abe.rate), 8000, 10000);
		/* a larger rate over a whole round trip raises it */
		for (i = 0; i < 8000; i++)
			ack(&e, 125, 2);
		KUNIT_EXPECT_GT(test, TO_PER_S(e.abe.rate), 12000);
		KUNIT_EXPECT_LE(test, TO_PER_S(e.abe.rate), 16100);
		/* a slower path lowers it when the window is used again */
		e.ack.limited = true;
		for (i = 0; i < 16000; i++)
			ack(&e, 1000, 2);
		EXPECT_NEAR(test, TO_PER_S(e.abe.rate), 2000, 10000);
	}
}

/* If the delay grows tenfold, the history is long enough, and bounded. */
static void history_is_bounded(struct kunit *test)
{
	struct abe_rules rules = { .n = 10, .beta = 60 };
	struct estimator e;
	int i;

	for (rules.interval = ABE_EQ2; rules.interval <= ABE_APART_EQ2; rules.interval++) {
		begin(test, &e, 100000, 800, rules);
		for (i = 0; i < 20000; i++) {
			e.ack.rtt_us = min(100000 + i * 100, 1000000);
			e.ack.cwnd = 8000 * (e.ack.rtt_us / 1000) / 1000;
			ack(&e, 250, 2);
			KUNIT_ASSERT_LE(test, e.history->count, ABE_POINTS);
			if (i > 100)
				EXPECT_NEAR(test, TO_PER_S(e.abe.rate), 8000, 10000);
		}
		/* samples since the last moment need no more than that moment */
		if (rules.interval == ABE_ACK) {
			KUNIT_EXPECT_EQ(test, e.history->count, 1);
			continue;
		}
		/* the history covers a round trip */
		KUNIT_EXPECT_GE(test, e.ack.us - abe_point(e.history, e.history->count - 1)->us,
				e.ack.rtt_us);
		KUNIT_EXPECT_EQ(test, e.history->count, ABE_POINTS);
	}
}

/* If the size of segments changes, the rate in bytes stays, and nothing is counted twice */
static void another_size(struct kunit *test)
{
	struct estimator e;
	int i;

	begin(test, &e, 100000, 800, (struct abe_rules)PAPER);
	for (i = 0; i < 4000; i++)
		ack(&e, 250, 2);
	abe_rescale(e.history, &e.abe, e.ack.us, e.ack.delivered, 1448, 8948);
	EXPECT_NEAR(test, abe_bytes_ps(e.abe.rate, 8948), 8000 * 1448, 10000);
	for (i = 0; i < 4000; i++) {
		ack(&e, 1545, 2);
		EXPECT_NEAR(test, abe_bytes_ps(e.abe.rate, 8948), 8000 * 1448, 10000);
	}
	abe_rescale(e.history, &e.abe, e.ack.us, e.ack.delivered, 8948, 536);
	EXPECT_NEAR(test, abe_bytes_ps(e.abe.rate, 536), 8000 * 1448, 10000);
	e.abe.rate = ABE_RATE_MAX;
	abe_rescale(e.history, &e.abe, e.ack.us, e.ack.delivered, 65535, 0);
	KUNIT_EXPECT_EQ(test, e.abe.rate, ABE_RATE_MAX);
}

/* From 1 kbit/s to 400 Gbit/s and from 10 us to 10 s, packets of 1514 bytes */
static void extremes(struct kunit *test)
{
	/* the time of @segs segments, us */
	static const struct {
		u32 us, segs;
	} rates[] = {
		{ 12112000, 1 }, { 1211200, 1 }, { 12112, 1 }, { 1211, 10 }, { 121, 10 },
		{ 121, 100 }, { 121, 1000 }, { 121, 4000 },
	};
	static const u32 rtts[] = { 10, 100, 1000, 40000, 1000000, 10000000 };
	struct estimator e;
	int i, j, k;

	for (i = 0; i < ARRAY_SIZE(rates); i++)
		for (j = 0; j < 2 * ARRAY_SIZE(rtts); j++) {
			struct abe_rules kinds[] = { PAPER, PATH(rtts[j / 2]) };
			u32 us = rates[i].us;
			u64 want = div_u64((u64)rates[i].segs << ABE_RATE, us);
			u32 pipe = max_t(u32, abe_pipe(want, rtts[j / 2]), 2);

			begin(test, &e, max(rtts[j / 2], us), pipe, kinds[j % 2]);
			e.ack.rtt_min_us = rtts[j / 2];
			for (k = 0; k < 1000 || e.us < 4 * rtts[j / 2]; k++)
				ack(&e, us, rates[i].segs);
			EXPECT_NEAR(test, e.abe.rate, want, 10000);
			EXPECT_NEAR(test, abe_bytes_ps(e.abe.rate, 1514),
				    div_u64(1514ULL * rates[i].segs * USEC_PER_SEC, us), 10000);
		}
	/* extreme ACKs keep the estimate in its range */
	ack(&e, 1, U32_MAX);
	ack(&e, U32_MAX - 1, 0);
	KUNIT_EXPECT_LE(test, e.abe.rate, ABE_RATE_MAX);
	KUNIT_EXPECT_GE(test, e.abe.rate, 1);
}

/* ------------------------------------------------------------------------- */

/* cwnd is 100, and was 80 when avoidance began: the boundary is .5 * 98.5 + .5 * 80 = 89.25 */
static void boundary(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, mccp_is_spare(89, 100, 80, 50));
	KUNIT_EXPECT_TRUE(test, mccp_is_spare(90, 100, 80, 50));
	/* .9: 96.65; .1: 81.85 */
	KUNIT_EXPECT_FALSE(test, mccp_is_spare(96, 100, 80, 90));
	KUNIT_EXPECT_TRUE(test, mccp_is_spare(97, 100, 80, 90));
	KUNIT_EXPECT_FALSE(test, mccp_is_spare(81, 100, 80, 10));
	KUNIT_EXPECT_TRUE(test, mccp_is_spare(82, 100, 80, 10));
	/* small and large windows */
	KUNIT_EXPECT_FALSE(test, mccp_is_spare(0, 1, 2, 50));
	KUNIT_EXPECT_FALSE(test, mccp_is_spare(0, 2, 0, 99));
	KUNIT_EXPECT_TRUE(test, mccp_is_spare(1, 2, 0, 99));
	/* below 1.5 segments the boundary is always exceeded */
	KUNIT_EXPECT_TRUE(test, mccp_is_spare(0, 1, 0, 99));
	KUNIT_EXPECT_FALSE(test, mccp_is_spare(S32_MAX, U32_MAX, U32_MAX, 50));
	KUNIT_EXPECT_TRUE(test, mccp_is_spare(S32_MAX, 1000, TCP_INFINITE_SSTHRESH - 1, 50));
}

static void counter(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mccp_count(10, 3, true), 13);
	KUNIT_EXPECT_EQ(test, mccp_count(10, 3, false), 7);
	KUNIT_EXPECT_EQ(test, mccp_count(2, 3, false), 0);
	KUNIT_EXPECT_EQ(test, mccp_count(U32_MAX, U32_MAX, true), U32_MAX - 1);
}

/*
 * Avoidance starts at 100 segments, after its first two round trips.  If there is free bandwidth,
 * ABE equals the window of 1.5 round trips ago, and exceeds the boundary from 103 segments on.  If
 * ABE is constant, or varies by a twentieth, it does not exceed the boundary.
 */
static void detects(struct kunit *test)
{
	struct rnd_state dice;
	u32 kind, round, i;

	prandom_seed_state(&dice, 1);
	for (kind = 0; kind < 3; kind++) {
		u32 cwnd = 102, count = 0, found = 0;

		for (round = 1; round < 60 && !found; round++) {
			for (i = 0; i < cwnd && !found; i += 2) {
				u32 pipe = kind == 0 ? cwnd - 2 : 100;

				if (kind == 2)
					pipe += prandom_u32_state(&dice) % 11 - 5;
				count = mccp_count(count, 2, mccp_is_spare(pipe, cwnd, 100, 50));
				if (count > cwnd)
					found = round;
			}
			cwnd++;
		}
		KUNIT_EXPECT_EQ(test, found, kind == 0 ? 2 : 0);
	}
}

/* ABE * rtt_min: 100 Mbit/s and 100 ms are 825 packets of 1514 bytes. */
static void pipes(struct kunit *test)
{
	EXPECT_NEAR(test, abe_pipe(div_u64(100ULL << ABE_RATE, 12112), 100000), 825, 1000);
	KUNIT_EXPECT_EQ(test, abe_pipe(0, 100000), 0);
	KUNIT_EXPECT_EQ(test, abe_pipe(ABE_RATE_MAX, ABE_TIME_CAP), S32_MAX);
	EXPECT_NEAR(test, abe_bytes_ps(PER_S(1000), 1448), 1448000, 10);
	EXPECT_NEAR(test, abe_bytes_ps(ABE_RATE_MAX, 65535), 1024LL * 65535 * 1000000, 10);
}

/* ------------------------------------------------------------------------- */
/* A socket with the events of TCP (tcp_input.c of 6.12)                     */

#define MSS		1448U
#define RTT_US		100000U

/* An established socket with a window of 100, which has not sent anything */
static struct tcp_sock *fresh(struct kunit *test)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;

	KUNIT_ASSERT_NOT_NULL(test, tp);
	tp->snd_cwnd_clamp = ~0;
	tp->mss_cache = MSS;
	tcp_snd_cwnd_set(tp, 100);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->srtt_us = RTT_US << 3;
	minmax_reset(&tp->rtt_min, 0, RTT_US);
	/* the sequence numbers wrap soon */
	tp->snd_nxt = -20 * MSS;
	tp->snd_una = tp->snd_nxt;
	tp->tcp_mstamp = U32_MAX;
	mccp_init(sk);
	inet_csk(sk)->icsk_ca_initialized = 1;
	return tp;
}

/* tcp_write_xmit(): sends @segs segments, or as many as the window allows */
static void send(struct tcp_sock *tp, u32 segs)
{
	struct sock *sk = (struct sock *)tp;
	u32 room = tcp_snd_cwnd(tp) - min(tp->packets_out, tcp_snd_cwnd(tp));

	if (!tcp_packets_in_flight(tp))
		mccp_start(sk);
	tp->is_cwnd_limited = segs >= room;
	segs = min(segs, room);
	tp->packets_out += segs;
	tp->max_packets_out = tp->packets_out;
	tp->snd_nxt += segs * tp->mss_cache;
}

/* tcp_ack(): after @us, an ACK for @segs segments, with flags CA_ACK_... */
static void acked(struct tcp_sock *tp, u32 us, u32 segs, u32 flags)
{
	const struct ack_sample sample = { .pkts_acked = segs, .rtt_us = RTT_US };
	struct sock *sk = (struct sock *)tp;

	tp->tcp_mstamp += us;
	tp->delivered += segs;
	tp->packets_out -= min(segs, tp->packets_out);
	tp->snd_una += segs * tp->mss_cache;
	mccp_pkts_acked(sk, &sample);
	mccp_in_ack_event(sk, flags);
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Open)
		mccp_cong_avoid(sk, tp->snd_una, segs);
}

static void state(struct tcp_sock *tp, u8 to)
{
	struct sock *sk = (struct sock *)tp;

	mccp_set_state(sk, to);
	inet_csk(sk)->icsk_ca_state = to;
}

/* tcp_init_cwnd_reduction() or tcp_enter_loss(): enters state @to after a loss */
static void lose(struct tcp_sock *tp, u8 to)
{
	tp->prior_ssthresh = max(tp->snd_ssthresh, tcp_snd_cwnd(tp) / 4 * 3);
	tp->prior_cwnd = tcp_snd_cwnd(tp);
	tp->snd_ssthresh = mccp_ssthresh_of((struct sock *)tp);
	tcp_snd_cwnd_set(tp, to == TCP_CA_Loss ? 1 : tp->snd_ssthresh);
	state(tp, to);
}

/* tcp_undo_cwnd_reduction(): by DSACK, Eifel or F-RTO */
static void undo(struct tcp_sock *tp)
{
	tcp_snd_cwnd_set(tp, mccp_undo_cwnd((struct sock *)tp));
	tp->snd_ssthresh = max(tp->snd_ssthresh, tp->prior_ssthresh);
	state(tp, TCP_CA_Open);
}

/* In avoidance for a long time, at 1000 segments/s, which is one window per rtt */
static struct tcp_sock *busy(struct kunit *test)
{
	struct tcp_sock *tp = fresh(test);
	int i;

	tp->snd_ssthresh = 90;
	send(tp, U16_MAX);
	state(tp, TCP_CA_Recovery);
	state(tp, TCP_CA_Open);
	for (i = 0; i < 1000; i++) {
		tcp_snd_cwnd_set(tp, 100);
		tp->snd_cwnd_cnt = 0;
		acked(tp, 2000, 2, 0);
		send(tp, U16_MAX);
		/* as if NCD had found that the estimate follows the window */
		((struct mccp *)inet_csk_ca((struct sock *)tp))->counter = 7;
	}
	EXPECT_NEAR(test, mccp_pipe(inet_csk_ca((struct sock *)tp)), 100, 20000);
	return tp;
}

static void done(struct tcp_sock *tp)
{
	mccp_release((struct sock *)tp);
}

/* The history is allocated when data is first sent, not for a receiver, nor before .init. */
static void memory(struct kunit *test)
{
	struct tcp_sock *tp = fresh(test);
	struct sock *sk = (struct sock *)tp;
	const struct mccp *ca = inet_csk_ca(sk);
	int i;

	KUNIT_EXPECT_NULL(test, ca->history);
	/* an ACK does not allocate */
	for (i = 0; i < 10; i++)
		acked(tp, 1000, 0, 0);
	KUNIT_EXPECT_NULL(test, ca->history);
	send(tp, 10);
	KUNIT_EXPECT_NOT_NULL(test, ca->history);
	KUNIT_EXPECT_LE(test, sizeof(*ca->history), 192);
	done(tp);
	KUNIT_EXPECT_NULL(test, ca->history);
	/* the congestion control changes while data is in flight */
	mccp_init(sk);
	KUNIT_EXPECT_NOT_NULL(test, ca->history);
	done(tp);
	/* data in a SYN */
	memset(inet_csk_ca(sk), 0, ICSK_CA_PRIV_SIZE);
	inet_csk(sk)->icsk_ca_initialized = 0;
	mccp_start(sk);
	KUNIT_EXPECT_NULL(test, ca->history);
}

/*
 * The initial ssthresh is for paths of 1 ms and more: what a shorter path holds at its least rtt is
 * a few segments, so that fast probing would never raise ssthresh.
 */
static void initial_ssthresh(struct kunit *test)
{
	static const struct {
		u32 rtt_us, cwnd, was, is;
	} kinds[] = {
		{ 100000, 10, TCP_INFINITE_SSTHRESH, 24 },
		{ 1000, 10, TCP_INFINITE_SSTHRESH, 24 },
		{ 999, 10, TCP_INFINITE_SSTHRESH, TCP_INFINITE_SSTHRESH },
		{ 20, 10, TCP_INFINITE_SSTHRESH, TCP_INFINITE_SSTHRESH },
		/* the handshake has not shown one */
		{ 0, 10, TCP_INFINITE_SSTHRESH, 24 },
		{ 100000, 40, TCP_INFINITE_SSTHRESH, 40 },
		/* tcp_metrics knows one */
		{ 100000, 10, 50, 50 },
		{ 20, 10, 50, 50 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct tcp_sock *tp = fresh(test);

		/* that of a connection before on the same socket is not used */
		minmax_reset(&tp->rtt_min, 0, 20);
		tp->srtt_us = kinds[i].rtt_us << 3;
		tp->snd_ssthresh = kinds[i].was;
		tcp_snd_cwnd_set(tp, kinds[i].cwnd);
		send(tp, 1);
		KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, kinds[i].is);
		done(tp);
	}
}

/* Without a history it is Reno: one segment more per round trip, a half after a loss. */
static void no_memory(struct kunit *test)
{
	struct tcp_sock *tp = fresh(test);
	struct sock *sk = (struct sock *)tp;
	const struct mccp *ca = inet_csk_ca(sk);
	union tcp_cc_info info;
	int i, attr;

	tcp_snd_cwnd_set(tp, 20);
	send(tp, U16_MAX);
	done(tp);
	tp->snd_ssthresh = 10;
	for (i = 0; i < 1000; i++) {
		acked(tp, 1000, i < 20, 0);
		send(tp, 1);
		if (!tcp_packets_in_flight(tp))
			break;
	}
	KUNIT_EXPECT_EQ(test, ca->abe.rate, 0);
	KUNIT_EXPECT_EQ(test, ca->counter, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 21);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 10);
	KUNIT_EXPECT_EQ(test, mccp_ssthresh_of(sk), 10);
	KUNIT_EXPECT_EQ(test, mccp_get_info(sk, 1 << (INET_DIAG_BBRINFO - 1), &attr, &info),
			sizeof(info.bbr));
	KUNIT_EXPECT_EQ(test, info.bbr.bbr_bw_lo, 0);
}

/* After a loss the window is what the path holds, at most the old window, at least two. */
static void loss(struct kunit *test)
{
	struct tcp_sock *tp = busy(test);
	struct sock *sk = (struct sock *)tp;
	struct mccp *ca = inet_csk_ca(sk);

	ca->abe.rate = PER_S(500);
	KUNIT_EXPECT_EQ(test, mccp_ssthresh_of(sk), 49);
	ca->abe.rate = PER_S(1);
	KUNIT_EXPECT_EQ(test, mccp_ssthresh_of(sk), 2);
	ca->abe.rate = PER_S(100000);
	KUNIT_EXPECT_EQ(test, mccp_ssthresh_of(sk), 100);
	lose(tp, TCP_CA_Recovery);
	KUNIT_EXPECT_EQ(test, (int)ca->mode, MCCP_AVOIDANCE);
	lose(tp, TCP_CA_Loss);
	KUNIT_EXPECT_EQ(test, (int)ca->mode, MCCP_PROBING);
	done(tp);
}

/* A mark reduces the window, even if the path seems to hold more.  A loss after it is a loss. */
static void mark(struct kunit *test)
{
	struct tcp_sock *tp = busy(test);
	struct sock *sk = (struct sock *)tp;
	struct mccp *ca = inet_csk_ca(sk);

	ca->abe.rate = PER_S(5000);
	acked(tp, 1, 0, CA_ACK_SLOWPATH | CA_ACK_ECE);
	KUNIT_EXPECT_LE(test, mccp_ssthresh_of(sk), 85);
	KUNIT_EXPECT_GE(test, mccp_ssthresh_of(sk), 80);
	ca->abe.rate = PER_S(500);
	KUNIT_EXPECT_EQ(test, mccp_ssthresh_of(sk), 49);
	tcp_snd_cwnd_set(tp, 2);
	KUNIT_EXPECT_EQ(test, mccp_ssthresh_of(sk), 2);
	tcp_snd_cwnd_set(tp, 100);
	ca->abe.rate = PER_S(5000);
	acked(tp, 1, 0, CA_ACK_SLOWPATH);
	KUNIT_EXPECT_EQ(test, mccp_ssthresh_of(sk), 100);
	/* in the round trip of the reduction, and after it, fast probing does not raise ssthresh */
	acked(tp, 1, 0, CA_ACK_SLOWPATH | CA_ACK_ECE);
	lose(tp, TCP_CA_CWR);
	state(tp, TCP_CA_Open);
	acked(tp, 2000, 2, 0);
	KUNIT_EXPECT_LE(test, tp->snd_ssthresh, 85);
	KUNIT_EXPECT_LE(test, mccp_after_mark(U32_MAX), U32_MAX / 100 * 85);
	done(tp);
}

/* An undo restores what a spurious loss changed, in recovery and after a timeout, in both modes. */
static void undone(struct kunit *test)
{
	static const u8 losses[] = { TCP_CA_Recovery, TCP_CA_Loss };
	static const u8 modes[] = { MCCP_AVOIDANCE, MCCP_PROBING };
	int i, j;

	for (i = 0; i < ARRAY_SIZE(losses); i++)
		for (j = 0; j < ARRAY_SIZE(modes); j++) {
			struct tcp_sock *tp = busy(test);
			struct mccp *ca = inet_csk_ca((struct sock *)tp);
			u64 rate = ca->abe.rate;

			ca->mode = modes[j];
			ca->wait = 1;
			tcp_snd_cwnd_set(tp, 160);
			lose(tp, losses[i]);
			KUNIT_EXPECT_LT(test, tcp_snd_cwnd(tp), 110);
			undo(tp);
			KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 160);
			KUNIT_EXPECT_GE(test, tp->snd_ssthresh, 90);
			KUNIT_EXPECT_EQ(test, (int)ca->mode, modes[j]);
			KUNIT_EXPECT_EQ(test, ca->entry, 90);
			KUNIT_EXPECT_EQ(test, ca->counter, 7);
			KUNIT_EXPECT_EQ(test, (int)ca->wait, 1);
			KUNIT_EXPECT_EQ(test, ca->abe.rate, rate);
			done(tp);
		}
}

/* After a loss that was not spurious, NCD waits for two round trips after recovery. */
static void not_undone(struct kunit *test)
{
	struct tcp_sock *tp = busy(test);
	struct mccp *ca = inet_csk_ca((struct sock *)tp);

	tcp_snd_cwnd_set(tp, 160);
	lose(tp, TCP_CA_Recovery);
	ca->wait = 0;
	state(tp, TCP_CA_Open);
	KUNIT_EXPECT_EQ(test, (int)ca->wait, MCCP_WAIT);
	KUNIT_EXPECT_EQ(test, ca->counter, 0);
	KUNIT_EXPECT_EQ(test, ca->entry, tp->snd_ssthresh);
	/* an undo has no effect on a later loss */
	lose(tp, TCP_CA_Recovery);
	undo(tp);
	lose(tp, TCP_CA_Recovery);
	ca->wait = 0;
	state(tp, TCP_CA_Open);
	KUNIT_EXPECT_EQ(test, (int)ca->wait, MCCP_WAIT);
	done(tp);
}

/* After ten idle times of ten seconds the rate is the same as before. */
static void idle(struct kunit *test)
{
	struct tcp_sock *tp = busy(test);
	struct mccp *ca = inet_csk_ca((struct sock *)tp);
	int i, j;

	for (i = 0; i < 10; i++) {
		while (tp->packets_out)
			acked(tp, 2000, 2, 0);
		tp->tcp_mstamp += 10 * USEC_PER_SEC;
		send(tp, U16_MAX);
		acked(tp, RTT_US, 2, 0);
		KUNIT_EXPECT_GE(test, TO_PER_S(ca->abe.rate), 980);
		for (j = 0; j < 10; j++) {
			send(tp, U16_MAX);
			acked(tp, 2000, 2, 0);
		}
		KUNIT_EXPECT_GE(test, TO_PER_S(ca->abe.rate), 980);
		KUNIT_EXPECT_LE(test, TO_PER_S(ca->abe.rate), 1020);
	}
	/* after a loss the window is what the path holds */
	KUNIT_EXPECT_GE(test, mccp_ssthresh_of((struct sock *)tp), 95);
	done(tp);
}

/* After 10 s with four segments per round trip the path's rate is still known at a loss. */
static void app_limited(struct kunit *test)
{
	struct tcp_sock *tp = busy(test);
	struct mccp *ca = inet_csk_ca((struct sock *)tp);
	int i;

	while (tp->packets_out)
		acked(tp, 2000, 2, 0);
	for (i = 0; i < 100; i++) {
		send(tp, 4);
		acked(tp, RTT_US / 2, 2, 0);
		acked(tp, RTT_US / 2, 2, 0);
	}
	KUNIT_EXPECT_GE(test, TO_PER_S(ca->abe.rate), 980);
	KUNIT_EXPECT_GE(test, mccp_ssthresh_of((struct sock *)tp), 95);
	/* the path now has a tenth of the rate */
	for (i = 0; i < 1000; i++) {
		send(tp, U16_MAX);
		acked(tp, 20000, 2, 0);
	}
	EXPECT_NEAR(test, TO_PER_S(ca->abe.rate), 100, 50000);
	done(tp);
}

/* After a timeout, sending begins while packets are lost: the time before counts. */
static void timeout(struct kunit *test)
{
	struct tcp_sock *tp = busy(test);
	struct sock *sk = (struct sock *)tp;
	struct mccp *ca = inet_csk_ca(sk);

	lose(tp, TCP_CA_Loss);
	tp->lost_out = tp->packets_out;
	KUNIT_EXPECT_EQ(test, tcp_packets_in_flight(tp), 0);
	mccp_start(sk);
	KUNIT_EXPECT_FALSE(test, ca->restart);
	done(tp);
}

/* Jumbo frames after an MTU probe: the rate in bytes stays; numbers in segments are rescaled */
static void new_mss(struct kunit *test)
{
	struct tcp_sock *tp = busy(test);
	struct mccp *ca = inet_csk_ca((struct sock *)tp);
	u64 was = abe_bytes_ps(ca->abe.rate, MSS);

	while (tp->packets_out)
		acked(tp, 2000, 2, 0);
	tp->mss_cache = 4 * MSS;
	tcp_snd_cwnd_set(tp, 25);
	send(tp, U16_MAX);
	acked(tp, 8000, 2, 0);
	EXPECT_NEAR(test, abe_bytes_ps(ca->abe.rate, tp->mss_cache), was, 10000);
	KUNIT_EXPECT_EQ(test, ca->entry, 90 / 4);
	KUNIT_EXPECT_GE(test, mccp_ssthresh_of((struct sock *)tp), 24);
	done(tp);
}

/* ss shows a rate and an rtt, and nothing that it would interpret wrongly. */
static void info(struct kunit *test)
{
	struct tcp_sock *tp = busy(test);
	struct sock *sk = (struct sock *)tp;
	struct mccp *ca = inet_csk_ca(sk);
	struct tcpcc_view view = {};
	union tcp_cc_info form;
	int attr = 0;

	ca->abe.rate = PER_S(1000);
	KUNIT_EXPECT_EQ(test, mccp_get_info(sk, 1 << (INET_DIAG_BBRINFO - 1), &attr, &form),
			sizeof(form.bbr));
	KUNIT_EXPECT_EQ(test, attr, INET_DIAG_BBRINFO);
	EXPECT_NEAR(test, form.bbr.bbr_bw_lo, 1000 * MSS, 100);
	KUNIT_EXPECT_EQ(test, form.bbr.bbr_min_rtt, RTT_US);
	KUNIT_EXPECT_EQ(test, form.bbr.bbr_pacing_gain, 0);
	KUNIT_EXPECT_EQ(test, form.bbr.bbr_cwnd_gain, 0);
	KUNIT_EXPECT_EQ(test, mccp_get_info(sk, 0, &attr, &form), 0);

	KUNIT_EXPECT_EQ(test, mccp_get_info(sk, TCPCC_VIEW, &attr, &view.form), 0);
	KUNIT_EXPECT_STREQ(test, view.mode, "avoidance");
	KUNIT_ASSERT_EQ(test, view.count, 5);
	KUNIT_EXPECT_STREQ(test, view.field[0].name, "abe_bps");
	EXPECT_NEAR(test, view.field[0].value, 8000 * MSS, 100);
	KUNIT_EXPECT_STREQ(test, view.field[2].name, "pipe_segs");
	EXPECT_NEAR(test, view.field[2].value, 100, 10);
	KUNIT_EXPECT_STREQ(test, view.field[3].name, "counter_segs");
	KUNIT_EXPECT_EQ(test, view.field[3].value, 7);
	done(tp);
}

/*
 * A flow in avoidance on a path with free capacity.  NCD starts fast probing within a few round
 * trips, and the window reaches what the path holds in slow start, not by one per round trip.
 */
static void takes_what_is_free(struct kunit *test)
{
	struct tcp_sock *tp = busy(test);
	struct mccp *ca = inet_csk_ca((struct sock *)tp);
	int round, i, n;

	for (round = 0; round < 60 && tcp_snd_cwnd(tp) < 800; round++) {
		n = tcp_snd_cwnd(tp) / 2;
		for (i = 0; i < n; i++) {
			/* a train at 8000 segments/s, then a pause */
			acked(tp, i ? 250 : RTT_US - min(n - 1, 399) * 250, 2, 0);
			send(tp, U16_MAX);
		}
	}
	KUNIT_EXPECT_EQ(test, (int)ca->mode, MCCP_PROBING);
	KUNIT_EXPECT_LT(test, round, 60);
	done(tp);
}

static struct kunit_case mccp_cases[] = {
	KUNIT_CASE(eq2),
	KUNIT_CASE(eq4),
	KUNIT_CASE(eq5),
	KUNIT_CASE(eq6),
	KUNIT_CASE(eq1),
	KUNIT_CASE(as_printed),
	KUNIT_CASE(follows_what_lasts_and_dampens_the_rest),
	KUNIT_CASE(whatever_acks),
	KUNIT_CASE(batches),
	KUNIT_CASE(trains),
	KUNIT_CASE(silence),
	KUNIT_CASE(lower_bound),
	KUNIT_CASE(history_is_bounded),
	KUNIT_CASE(another_size),
	KUNIT_CASE(extremes),
	KUNIT_CASE(boundary),
	KUNIT_CASE(counter),
	KUNIT_CASE(detects),
	KUNIT_CASE(pipes),
	KUNIT_CASE(memory),
	KUNIT_CASE(initial_ssthresh),
	KUNIT_CASE(no_memory),
	KUNIT_CASE(loss),
	KUNIT_CASE(mark),
	KUNIT_CASE(undone),
	KUNIT_CASE(not_undone),
	KUNIT_CASE(idle),
	KUNIT_CASE(app_limited),
	KUNIT_CASE(timeout),
	KUNIT_CASE(new_mss),
	KUNIT_CASE(info),
	KUNIT_CASE(takes_what_is_free),
	{}
};

static struct kunit_suite mccp_suite = {
	.name = "tcp_mccp",
	.test_cases = mccp_cases,
};

kunit_test_suite(mccp_suite);
