// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of MCCP: Eqs. 1 to 6, the history under whatever ACKs come,
 * non-congestion detection, and growth with memory and without.
 */
#include "../../tcp_mccp.c"

#include <linux/prandom.h>

#include <kunit/test.h>

#include "near.h"

/* So many thousandths, as a share */
#define MILLI(x)	((u64)(x) * MCCP_ONE / 1000)

/* So many segments per second, as a rate, and back */
#define PER_S(x)	div_u64((u64)(x) << MCCP_RATE, USEC_PER_SEC)
#define TO_PER_S(x)	mul_u64_u32_shr(x, USEC_PER_SEC, MCCP_RATE)

/* A sender, its ACKs and its estimate */
struct estimator {
	struct mccp_history *history;
	struct mccp_abe abe;
	struct mccp_ack ack;
	u64	integral;	/* of the estimate over time, MCCP_RATE * us */
	u64	us;
};

static void begin(struct kunit *test, struct estimator *e, u32 rtt_us, u32 cwnd)
{
	*e = (struct estimator) {
		.history = kunit_kzalloc(test, sizeof(*e->history), GFP_KERNEL),
		.ack = {
			/* both wrap soon */
			.us = -1000, .delivered = -100, .sample_us = rtt_us,
			.rtt_us = rtt_us, .rtt_min_us = rtt_us, .cwnd = cwnd,
		},
	};
	KUNIT_ASSERT_NOT_NULL(test, e->history);
	mccp_remember(e->history, e->ack.us, e->ack.delivered);
	e->history->ack_us = e->ack.us;
}

/* After so long, an ACK for so many segments */
static void ack(struct estimator *e, u32 us, u32 segs)
{
	struct mccp_step step;

	e->integral += e->abe.rate * us;
	e->us += us;
	e->ack.us += us;
	e->ack.delivered += segs;
	mccp_moment(e->history, &e->abe, &e->ack, &step);
}

static u64 mean_per_s(const struct estimator *e)
{
	return TO_PER_S(div64_u64(e->integral, e->us));
}

/* Forgets the beginning of the mean. */
static void settle(struct estimator *e)
{
	e->integral = 0;
	e->us = 0;
}

/* T = RTT (cwin - ABE rtt_min) / cwin */
static void eq2(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mccp_interval_us(50, 100, 100000), 50000);
	KUNIT_EXPECT_EQ(test, mccp_interval_us(75, 100, 200000), 50000);
	KUNIT_EXPECT_EQ(test, mccp_interval_us(1, 3, 90000), 60000);
	/* no congestion: T_min; no estimate: T_max */
	KUNIT_EXPECT_EQ(test, mccp_interval_us(100, 100, 100000), 0);
	KUNIT_EXPECT_EQ(test, mccp_interval_us(S32_MAX, 1, 100000), 0);
	KUNIT_EXPECT_EQ(test, mccp_interval_us(0, 100, 100000), 100000);
	KUNIT_EXPECT_EQ(test, mccp_interval_us(1, S32_MAX, MCCP_TIME_CAP),
			MCCP_TIME_CAP - 1);
}

/* Moments at 0, 10, 20 and 50 ms, when 0, 10, 30 and 36 segments had been delivered. */
static void eq4(struct kunit *test)
{
	struct mccp_history history = {};
	u32 us = U32_MAX - 20000, segs = U32_MAX - 15;

	mccp_remember(&history, us, segs);
	mccp_remember(&history, us + 10000, segs + 10);
	mccp_remember(&history, us + 20000, segs + 30);
	mccp_remember(&history, us + 50000, segs + 36);
	us += 60000;
	segs += 40;
	/* from moments: 4 in 10 ms, 10 in 40, 30 in 50, 40 in 60 */
	EXPECT_NEAR(test, mccp_sample(&history, us, segs, 10000), PER_S(400), 1);
	EXPECT_NEAR(test, mccp_sample(&history, us, segs, 40000), PER_S(250), 1);
	EXPECT_NEAR(test, mccp_sample(&history, us, segs, 50000), PER_S(600), 1);
	EXPECT_NEAR(test, mccp_sample(&history, us, segs, 60000), PER_S(40000) / 60, 2);
	/* between them: 4 and half of 6; 10 and half of 20; half of 4 */
	EXPECT_NEAR(test, mccp_sample(&history, us, segs, 25000), PER_S(280), 1);
	EXPECT_NEAR(test, mccp_sample(&history, us, segs, 45000), PER_S(20000) / 45, 1);
	EXPECT_NEAR(test, mccp_sample(&history, us, segs, 5000), PER_S(400), 1);
	/* no longer than is remembered */
	EXPECT_NEAR(test, mccp_sample(&history, us, segs, MCCP_TIME_CAP),
		    PER_S(40000) / 60, 2);
	/* less than 1/256 segment is nothing */
	KUNIT_EXPECT_EQ(test, mccp_sample(&history, us, segs, 1), 0);
}

/* U = .6 U' + .4 |s - s'|, over the largest of the last ten */
static void eq5(struct kunit *test)
{
	struct mccp_history history = {};
	struct mccp_abe abe = {};
	int i;

	KUNIT_EXPECT_EQ(test, mccp_unstable(&history, &abe, 0, 60), 0);
	/* 40; 24 + 80; 62.4 + 40 */
	KUNIT_EXPECT_EQ(test, mccp_unstable(&history, &abe, PER_S(100), 60), MCCP_ONE);
	EXPECT_NEAR(test, abe.instability, PER_S(40), 10);
	abe.sample = PER_S(100);
	KUNIT_EXPECT_EQ(test, mccp_unstable(&history, &abe, PER_S(300), 60), MCCP_ONE);
	EXPECT_NEAR(test, abe.instability, PER_S(104), 10);
	abe.sample = PER_S(300);
	EXPECT_NEAR(test, mccp_unstable(&history, &abe, PER_S(200), 60),
		    MCCP_ONE / 1040 * 1024, 10);
	abe.sample = PER_S(200);
	/* nothing changes: .6^8 of 102.4 over 104, then what was is forgotten: .6^9 */
	for (i = 0; i < 8; i++)
		mccp_unstable(&history, &abe, abe.sample, 60);
	EXPECT_NEAR(test, mccp_unstable(&history, &abe, abe.sample, 60),
		    MCCP_ONE / 1000000 * 10078, 1000);
	EXPECT_NEAR(test, mccp_unstable(&history, &abe, abe.sample, 60),
		    MCCP_ONE / 1000000 * 10078, 1000);
	/* the largest rates */
	abe.sample = 0;
	KUNIT_EXPECT_EQ(test, mccp_unstable(&history, &abe, MCCP_RATE_MAX, 0), MCCP_ONE);
	abe.sample = MCCP_RATE_MAX / 4;
	EXPECT_NEAR(test, mccp_unstable(&history, &abe, 0, 0), MCCP_ONE / 4, 10);
}

/* 1 - a = 2 Dt / (2 tau + Dt), tau = RTT + N RTT U / U_max */
static void eq6(struct kunit *test)
{
	/* tau = RTT, 6 RTT, 11 RTT; Dt a tenth of it */
	EXPECT_NEAR(test, mccp_weight(10000, 100000, 0, 10), MCCP_ONE / 21 * 2, 10);
	EXPECT_NEAR(test, mccp_weight(10000, 100000, MCCP_ONE / 2, 10), MCCP_ONE / 121 * 2, 10);
	EXPECT_NEAR(test, mccp_weight(10000, 100000, MCCP_ONE, 10), MCCP_ONE / 221 * 2, 10);
	EXPECT_NEAR(test, mccp_weight(10000, 100000, MCCP_ONE, 0), MCCP_ONE / 21 * 2, 10);
	/* a is not below 0 */
	KUNIT_EXPECT_EQ(test, mccp_weight(200000, 100000, 0, 10), MCCP_ONE);
	KUNIT_EXPECT_EQ(test, mccp_weight(MCCP_TIME_CAP, 10, 0, 10), MCCP_ONE);
	KUNIT_EXPECT_LT(test, mccp_weight(199999, 100000, 0, 10), MCCP_ONE);
	/* nothing overflows */
	EXPECT_NEAR(test, mccp_weight(MCCP_TIME_CAP, MCCP_TIME_CAP, MCCP_ONE, 100),
		    MCCP_ONE / 203 * 2, 10);
	KUNIT_EXPECT_EQ(test, mccp_weight(0, 0, 0, 0), MCCP_ONE);
}

static void eq1(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mccp_filter(0, 1000, MILLI(1)), 1000);
	KUNIT_EXPECT_EQ(test, mccp_filter(1000, 2000, MILLI(250)), 1250);
	KUNIT_EXPECT_EQ(test, mccp_filter(2000, 1000, MILLI(250)), 1750);
	KUNIT_EXPECT_EQ(test, mccp_filter(2000, 1000, MCCP_ONE), 1000);
	KUNIT_EXPECT_EQ(test, mccp_filter(1, MCCP_RATE_MAX, MCCP_ONE), MCCP_RATE_MAX);
	/* there is an estimate from the first sample on */
	KUNIT_EXPECT_EQ(test, mccp_filter(5, 0, MCCP_ONE), 1);
	KUNIT_EXPECT_EQ(test, mccp_filter(0, 0, MCCP_ONE), 1);
}

/* All of them as printed, T from the last two ACKs, beside a model in floating point */
static void as_printed(struct kunit *test)
{
	static const struct {
		u32 us, segs;
		u64 milli_per_s;	/* what S becomes */
	} acks[] = {
		{ 10000, 10, 1000000 },
		{ 10000, 10, 1000000 },
		{ 2000, 4, 1001817 },
		{ 38000, 2, 969583 },
		{ 30000, 34, 974025 },
		{ 10000, 10, 974372 },
		{ 30000, 30, 975907 },
		{ 10000, 10, 976623 },
	};
	struct estimator e;
	int i;

	begin(test, &e, 100000, 100);
	e.ack.rtt_min_us = 1000;	/* T is Dt */
	mccp_interval = MCCP_T_ACK;
	for (i = 0; i < ARRAY_SIZE(acks); i++) {
		ack(&e, acks[i].us, acks[i].segs);
		EXPECT_NEAR(test, TO_PER_S(e.abe.rate * 1000), acks[i].milli_per_s, 20);
	}
	mccp_interval = MCCP_T_EQ2;
}

/* ------------------------------------------------------------------------- */

/* 8000 segments/s at 100 ms, by ACKs of many kinds: all the same */
static void whatever_acks(struct kunit *test)
{
	static const struct {
		u32 segs, lost;		/* of an ACK; of 256 ACKs */
	} kinds[] = { { 1, 0 }, { 2, 0 }, { 44, 0 }, { 1, 128 }, { 2, 230 } };
	struct rnd_state dice;
	struct estimator e;
	int i, j;

	prandom_seed_state(&dice, 1);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		u32 us = 0, segs = 0;

		begin(test, &e, 100000, 800);
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

/* The same, held back for a millisecond or five: at one moment, or one after another */
static void batches(struct kunit *test)
{
	static const u32 apart[] = { 1000, 5000, 9000 };
	struct estimator e;
	int i, j, k;
	u32 spread;

	for (i = 0; i < ARRAY_SIZE(apart); i++)
		for (spread = 0; spread <= 3; spread += 3) {
			u32 n = apart[i] / 250;

			begin(test, &e, 100000, 800);
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
 * Flows that share a queue get their packets through in trains: half, or a tenth, of the
 * time at 8000 segments/s.  The estimate is the share, whereas with a short T or the mean
 * of two samples it is off by more than a tenth.
 */
static void trains(struct kunit *test)
{
	static const struct {
		unsigned int interval, mean, floor;
		bool right;
	} rules[] = {
		{ MCCP_T_EQ2, 0, 2, true }, { MCCP_T_RTT, 0, 2, true },
		{ MCCP_T_ACK, 0, 2, true }, { MCCP_T_ACK, 0, 16, false },
		{ MCCP_T_EQ2, 1, 2, false }, { MCCP_T_ACK, 1, 16, false },
	};
	static const u32 flows[] = { 2, 10 };
	struct estimator e;
	int i, j, k, l;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		s64 worst = 0;

		mccp_interval = rules[i].interval;
		mccp_mean = rules[i].mean;
		mccp_floor = rules[i].floor;
		for (j = 0; j < ARRAY_SIZE(flows); j++) {
			u32 n = 600 / flows[j], share = 8000 / flows[j];

			begin(test, &e, 150000, 2 * n);
			e.ack.rtt_min_us = 100000;
			for (k = 0; k < 400; k++) {
				if (k == 100)
					settle(&e);
				ack(&e, 150000 - (n - 1) * 250, 2);
				for (l = 1; l < n; l++)
					ack(&e, 250, 2);
			}
			worst = max_t(s64, worst, div_s64(abs((s64)mean_per_s(&e) - share) * 100, share));
		}
		if (rules[i].right)
			KUNIT_EXPECT_LE(test, worst, 2);
		else
			KUNIT_EXPECT_GT(test, worst, 10);
	}
	mccp_interval = MCCP_T_EQ2;
	mccp_mean = 0;
	mccp_floor = 2;
}

/* Nothing to send for a while is not a slow path; nothing delivered for a while is. */
static void silence(struct kunit *test)
{
	struct estimator e;
	int i;

	begin(test, &e, 100000, 800);
	for (i = 0; i < 4000; i++)
		ack(&e, 250, 2);
	ack(&e, 10 * USEC_PER_SEC, 10);
	KUNIT_EXPECT_GT(test, TO_PER_S(e.abe.rate), 2000);
	/* but a round trip of it counts */
	KUNIT_EXPECT_LT(test, TO_PER_S(e.abe.rate), 7900);
	/* nor is a round trip that gets short, in the middle of T */
	for (i = 0; i < 4000; i++) {
		ack(&e, 250, 2);
		e.ack.sample_us = i < 2000 ? 100000 : 10000;
		e.ack.cwnd = 1600;
	}
	EXPECT_NEAR(test, TO_PER_S(e.abe.rate), 8000, 10000);
	begin(test, &e, 100000, 800);
	for (i = 0; i < 4000; i++)
		ack(&e, 250, 2);
	EXPECT_NEAR(test, TO_PER_S(e.abe.rate), 8000, 10000);
	/* a timeout: the ACK of what was sent again shows no round trip */
	e.ack.sample_us = -1;
	ack(&e, 10 * USEC_PER_SEC, 10);
	KUNIT_EXPECT_LT(test, TO_PER_S(e.abe.rate), 100);
}

/* A delay that grows tenfold: what is remembered is enough, and bounded. */
static void history_is_bounded(struct kunit *test)
{
	struct estimator e;
	int i;

	for (mccp_interval = MCCP_T_EQ2; mccp_interval <= MCCP_T_RTT; mccp_interval++) {
		begin(test, &e, 100000, 800);
		for (i = 0; i < 20000; i++) {
			e.ack.rtt_us = min(100000 + i * 100, 1000000);
			e.ack.cwnd = 8000 * (e.ack.rtt_us / 1000) / 1000;
			ack(&e, 250, 2);
			KUNIT_ASSERT_LE(test, e.history->count, MCCP_POINTS);
			if (i > 100)
				EXPECT_NEAR(test, TO_PER_S(e.abe.rate), 8000, 10000);
		}
		/* a round trip fits */
		KUNIT_EXPECT_GE(test, e.ack.us - mccp_point(e.history, e.history->count - 1)->us,
				e.ack.rtt_us * 7 / 4 - 20000);
	}
	mccp_interval = MCCP_T_EQ2;
	KUNIT_EXPECT_EQ(test, e.history->count, MCCP_POINTS);
}

/* From 1 kbit/s to 400 Gbit/s and from 10 us to 10 s, packets of 1514 bytes */
static void extremes(struct kunit *test)
{
	/* us for so many segments */
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
		for (j = 0; j < ARRAY_SIZE(rtts); j++) {
			u32 us = rates[i].us;
			u64 want = div_u64((u64)rates[i].segs << MCCP_RATE, us);
			u32 pipe = max_t(u32, mccp_pipe(want, rtts[j]), 2);

			begin(test, &e, max(rtts[j], us), pipe);
			e.ack.rtt_min_us = rtts[j];
			for (k = 0; k < 1000 || e.us < 4 * rtts[j]; k++)
				ack(&e, us, rates[i].segs);
			EXPECT_NEAR(test, e.abe.rate, want, 10000);
			EXPECT_NEAR(test, mccp_bytes_ps(e.abe.rate, 1514),
				    div_u64(1514ULL * rates[i].segs * USEC_PER_SEC, us), 10000);
		}
	/* no ACK may break it */
	ack(&e, 1, U32_MAX);
	ack(&e, U32_MAX - 1, 0);
	KUNIT_EXPECT_LE(test, e.abe.rate, MCCP_RATE_MAX);
	KUNIT_EXPECT_GE(test, e.abe.rate, 1);
}

/* In slow start the estimate is late; a burst shows the path at once. */
static void burst_shows_path(struct kunit *test)
{
	/* segments of an ACK; what a sixteenth of 800 segments shows of them */
	static const struct {
		u32 segs, most;
	} kinds[] = { { 1, 50 }, { 2, 50 }, { 5, 50 } };
	u32 k, round, i;

	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		u32 window = 80, segs = kinds[k].segs;
		struct mccp_burst burst = {};
		struct estimator e;

		/* 100 ms, 800 segments; a window's ACKs come at the path's rate */
		begin(test, &e, 100000, window);
		for (round = 0; round < 3; round++) {
			u32 n = window / segs;

			for (i = 0; i < n; i++) {
				ack(&e, i ? 125 * segs : 100000 - (n - 1) * 125 * segs, segs);
				e.ack.cwnd += segs;
				mccp_measure(&burst, e.ack.us, e.ack.delivered, segs, 100000);
			}
			window = e.ack.cwnd;
			KUNIT_EXPECT_LT(test, mccp_pipe(e.abe.rate, 100000), window);
		}
		KUNIT_EXPECT_GE(test, burst.most[0], kinds[k].most - segs);
		KUNIT_EXPECT_LE(test, burst.most[0], kinds[k].most + segs - 2 * (segs > 1));
	}
}

/* One ACK for all, or for each; nothing that goes on for long is more than the path. */
static void bursts(struct kunit *test)
{
	struct mccp_burst burst = {};

	mccp_measure(&burst, 100000, 10, 1, 100000);
	KUNIT_EXPECT_EQ(test, burst.most[0], 0);
	mccp_measure(&burst, 100100, 12, 2, 100000);
	mccp_measure(&burst, 106250, 14, 2, 100000);
	KUNIT_EXPECT_EQ(test, burst.most[0], 4);
	mccp_measure(&burst, 106251, 17, 3, 100000);
	KUNIT_EXPECT_EQ(test, burst.most[0], 4);
	mccp_measure(&burst, 206251, 61, 44, 100000);
	KUNIT_EXPECT_EQ(test, burst.most[0], 42);
	KUNIT_EXPECT_EQ(test, mccp_burst_pipe(&burst), 42 * 16);
	burst.most[1] = U32_MAX;
	KUNIT_EXPECT_EQ(test, mccp_burst_pipe(&burst), U16_MAX * 64 * 16);
}

/* ------------------------------------------------------------------------- */

/* cwnd 100, 80 when avoidance began: .5 * 98.5 + .5 * 80 = 89.25 */
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
	KUNIT_EXPECT_FALSE(test, mccp_is_spare(0, 0, 0, 99) &&
			   !mccp_is_spare(1, 0, 0, 99));
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
 * Avoidance from 100 segments on, after its first two round trips.  If ABE is the window
 * 1.5 round trips ago, since there is bandwidth, the boundary is left behind at 103; if ABE
 * stays, or varies by a twentieth about that, it is not.
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
	EXPECT_NEAR(test, mccp_pipe(div_u64(100ULL << MCCP_RATE, 12112), 100000), 825, 1000);
	KUNIT_EXPECT_EQ(test, mccp_pipe(0, 100000), 0);
	KUNIT_EXPECT_EQ(test, mccp_pipe(MCCP_RATE_MAX, MCCP_TIME_CAP), S32_MAX);
	EXPECT_NEAR(test, mccp_bytes_ps(PER_S(1000), 1448), 1448000, 10);
	EXPECT_NEAR(test, mccp_bytes_ps(MCCP_RATE_MAX, 65535), 1024LL * 65535 * 1000000, 10);
}

/* ------------------------------------------------------------------------- */

/* One segment in 25 ms, but neither less than one in a round trip nor 1/16 of the window. */
static void growth(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mccp_growth(100000, 1000, 25), 4 * 16);
	KUNIT_EXPECT_EQ(test, mccp_growth(40000, 1000, 25), 25);	/* 25.6 */
	KUNIT_EXPECT_EQ(test, mccp_growth(25000, 1000, 25), 16);
	KUNIT_EXPECT_EQ(test, mccp_growth(100, 1000, 25), 16);
	KUNIT_EXPECT_EQ(test, mccp_growth(200000, 1000, 25), 8 * 16);
	KUNIT_EXPECT_EQ(test, mccp_growth(200000, 100, 25), 100);
	KUNIT_EXPECT_EQ(test, mccp_growth(200000, 3, 25), 16);
	KUNIT_EXPECT_EQ(test, mccp_growth(200000, 1000, 0), 16);
	KUNIT_EXPECT_EQ(test, mccp_growth(MCCP_TIME_CAP, U32_MAX, 1), 256 * 16);
}

/* A socket in congestion avoidance whose history found no memory. */
static struct tcp_sock *without_history(struct kunit *test)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;
	struct mccp *ca = inet_csk_ca(sk);

	KUNIT_ASSERT_NOT_NULL(test, tp);
	tp->snd_cwnd_clamp = ~0;
	tp->mss_cache = 1448;
	tcp_snd_cwnd_set(tp, 20);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	mccp_init(sk);
	KUNIT_ASSERT_NOT_NULL(test, ca->history);
	mccp_release(sk);
	KUNIT_ASSERT_NULL(test, ca->history);
	tp->snd_ssthresh = 10;
	tp->is_cwnd_limited = 1;
	tp->srtt_us = 100000 << 3;
	return tp;
}

/* Without a history it is Reno: one segment in a round trip, a half after a loss. */
static void no_memory(struct kunit *test)
{
	struct tcp_sock *tp = without_history(test);
	struct sock *sk = (struct sock *)tp;
	const struct mccp *ca = inet_csk_ca(sk);
	union tcp_cc_info info;
	int i, attr;

	for (i = 0; i < 1000; i++) {
		const struct ack_sample sample = { .pkts_acked = 1, .rtt_us = 100000 };

		tp->tcp_mstamp += 1000;
		tp->delivered++;
		tp->snd_una += 1448;
		tp->snd_nxt = tp->snd_una + 20 * 1448;
		mccp_pkts_acked(sk, &sample);
		if (i < 20)
			mccp_cong_avoid(sk, tp->snd_una, 1);
	}
	KUNIT_EXPECT_EQ(test, ca->abe.rate, 0);
	KUNIT_EXPECT_EQ(test, ca->counter, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 21);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 10);
	KUNIT_EXPECT_EQ(test, mccp_ssthresh_of(sk), 10);
	KUNIT_EXPECT_EQ(test, mccp_get_info(sk, 1 << (INET_DIAG_BBRINFO - 1), &attr, &info),
			sizeof(info.bbr));
	KUNIT_EXPECT_EQ(test, info.bbr.bbr_bw_lo, 0);
	mccp_release(sk);
}

/* By four in a round trip of 100 ms, if there is a queue and has been a loss. */
static void grows(struct kunit *test)
{
	struct tcp_sock *tp = without_history(test);
	struct sock *sk = (struct sock *)tp;
	struct mccp *ca = inet_csk_ca(sk);
	u32 i;

	mccp_init(sk);
	KUNIT_ASSERT_NOT_NULL(test, ca->history);
	tcp_snd_cwnd_set(tp, 100);
	ca->rtt_min_us = 80000;
	ca->round_rtt_us = 90001;
	mccp_round(sk);
	KUNIT_EXPECT_EQ(test, ca->growth, 16);
	mccp_set_state(sk, TCP_CA_Recovery);
	ca->round_rtt_us = 90000;
	mccp_round(sk);
	KUNIT_EXPECT_EQ(test, ca->growth, 16);
	ca->round_rtt_us = 90001;
	mccp_round(sk);
	KUNIT_EXPECT_EQ(test, ca->growth, 4 * 16);

	for (i = 0; i < 100; i += 2)
		mccp_cong_avoid(sk, tp->snd_una, 2);
	/* a little less, since the window grows meanwhile */
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 103);
	mccp_cong_avoid(sk, tp->snd_una, 6);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 104);
	/* and one ACK for all */
	mccp_cong_avoid(sk, tp->snd_una, 104);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 108);
	mccp_release(sk);
}

/* A loss leaves what the path holds, by the estimate or by the last round trip if that is more. */
static void loss(struct kunit *test)
{
	struct tcp_sock *tp = without_history(test);
	struct sock *sk = (struct sock *)tp;
	struct mccp *ca = inet_csk_ca(sk);

	tcp_snd_cwnd_set(tp, 200);
	tp->tcp_mstamp = 1000000;
	mccp_init(sk);
	KUNIT_ASSERT_NOT_NULL(test, ca->history);
	KUNIT_EXPECT_EQ(test, mccp_ssthresh_of(sk), 100);
	ca->rtt_min_us = 50000;
	ca->abe.rate = PER_S(1000);
	tp->tcp_mstamp += 100000;
	tp->delivered += 90;
	KUNIT_EXPECT_EQ(test, mccp_ssthresh_of(sk), 49);
	tp->delivered += 60;
	mccp_agile = 0;
	KUNIT_EXPECT_EQ(test, mccp_ssthresh_of(sk), 49);
	mccp_agile = 1;
	KUNIT_EXPECT_EQ(test, mccp_ssthresh_of(sk), 74);
	ca->abe.rate = PER_S(100000);
	KUNIT_EXPECT_EQ(test, mccp_ssthresh_of(sk), 200);
	ca->abe.rate = PER_S(1);
	tp->tcp_mstamp += MCCP_TIME_CAP;
	KUNIT_EXPECT_EQ(test, mccp_ssthresh_of(sk), 2);
	/* however long ago */
	tp->tcp_mstamp = 1000000 + BIT_ULL(32);
	KUNIT_EXPECT_EQ(test, mccp_ssthresh_of(sk), 200);
	mccp_release(sk);
}

static struct kunit_case mccp_cases[] = {
	KUNIT_CASE(eq2),
	KUNIT_CASE(eq4),
	KUNIT_CASE(eq5),
	KUNIT_CASE(eq6),
	KUNIT_CASE(eq1),
	KUNIT_CASE(as_printed),
	KUNIT_CASE(whatever_acks),
	KUNIT_CASE(batches),
	KUNIT_CASE(trains),
	KUNIT_CASE(silence),
	KUNIT_CASE(history_is_bounded),
	KUNIT_CASE(extremes),
	KUNIT_CASE(burst_shows_path),
	KUNIT_CASE(bursts),
	KUNIT_CASE(boundary),
	KUNIT_CASE(counter),
	KUNIT_CASE(detects),
	KUNIT_CASE(pipes),
	KUNIT_CASE(growth),
	KUNIT_CASE(no_memory),
	KUNIT_CASE(grows),
	KUNIT_CASE(loss),
	{}
};

static struct kunit_suite mccp_suite = {
	.name = "tcp_mccp",
	.test_cases = mccp_cases,
};

kunit_test_suite(mccp_suite);
