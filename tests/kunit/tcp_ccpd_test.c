// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of CCPD's law, estimators and parameters, with numbers from the
 * paper and from the algebra at the head of tcp_ccpd.c.
 */
#include "../../tcp_ccpd.c"

#include <kunit/test.h>

#include "near.h"

/* The rate of a link of @mbps Mb/s with frames of 1514 bytes, BW_SCALE */
static u32 link_bw(u32 mbps)
{
	return div_u64(((u64)mbps << BW_SCALE), 8 * 1514);
}

static s64 segs(s64 n)
{
	return n << SEG_SCALE;
}

/* Eq. 4 from 1 Mb/s to 400 Gb/s: pairs of full frames, with a clock of 1 ns */
static void capacity_is_exact(struct kunit *test)
{
	static const u32 mbps[] = { 1, 10, 100, 1000, 10000, 100000, 400000 };
	int i;

	for (i = 0; i < ARRAY_SIZE(mbps); i++) {
		u64 span_ns = div_u64(1514ULL * 8 * 1000, mbps[i]);
		/* 1 ns of 30 is an error of 3 % by the clock, so use ten pairs */
		u32 bw = ccpd_bw(10 * 1448, 1448, 10 * span_ns);

		EXPECT_NEAR(test, bw, link_bw(mbps[i]), 10000);
	}
}

static void capacity_survives_nonsense(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ccpd_bw(1448, 1448, 0), 0);
	KUNIT_EXPECT_EQ(test, ccpd_bw(1448, 0, 1000), 0);
	KUNIT_EXPECT_EQ(test, ccpd_bw(0, 1448, 1000), 0);
	KUNIT_EXPECT_EQ(test, ccpd_bw((1 << 30) - 1, 1, 1), U32_MAX);
	/* one segment in 4 s (3 kbit/s) is not rounded to 0 */
	KUNIT_EXPECT_GT(test, ccpd_bw(1448, 1448, U32_MAX), 0);
}

/* Conversion of a rate to bytes/s, and back */
static void rate_in_bytes(struct kunit *test)
{
	EXPECT_NEAR(test, ccpd_bytes_ps(link_bw(1000), 1514), 125000000, 1000);
	EXPECT_NEAR(test, ccpd_bytes_ps(link_bw(400000), 1514), 50000000000LL,
		    1000);
	EXPECT_NEAR(test, ccpd_bytes_ps(link_bw(1), 1514), 125000, 1000);
	KUNIT_EXPECT_GT(test, ccpd_bytes_ps(U32_MAX, U16_MAX), 0);
}

/* Eqs. 5 and 6: a path of 1 Gb/s and 190 ms holds 15687 segments of 1514 bytes */
static void buffer_from_rtts(struct kunit *test)
{
	EXPECT_NEAR(test, ccpd_segs(link_bw(1000), 190000), segs(15687), 200);
	/* 700 packets of buffer are 8.478 ms */
	EXPECT_NEAR(test, ccpd_segs(link_bw(1000), 8478), segs(700), 2000);
	KUNIT_EXPECT_EQ(test, ccpd_segs(0, CCPD_RTT_CAP), 0);
	KUNIT_EXPECT_GT(test, ccpd_segs(U32_MAX, CCPD_RTT_CAP), 0);
}

/*
 * Eq. 3 in equilibrium, from its algebra (d = 0).  For each path and buffer, the
 * window for which the law's result is the same window.
 */
static void law_in_equilibrium(struct kunit *test)
{
	static const struct {
		u32 kp, pipe, buffer, window;
	} c[] = {
		/* the paper's path: 700 packets, never full: Kp B / (1 + Kp) */
		{ 2, 15687, 700, 467 },
		{ 4, 15687, 700, 560 },
		{ 2, 1000, 1000, 667 },
		/* Kp (B + P) / (1 + 2 Kp), once B >= P (1 + 1 / Kp) */
		{ 2, 1000, 2000, 1200 },
		{ 4, 1000, 2000, 1333 },
		{ 1, 1000, 2000, 1000 },
		{ 8, 1000, 2000, 1412 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		s64 queue = max_t(s64, 0, (s64)c[i].window - c[i].pipe);
		s64 p = ccpd_p_term(c[i].kp, c[i].kp * segs(c[i].buffer),
				    segs(queue), segs(c[i].window));

		/* the table's windows are rounded, and Kp multiplies the error */
		KUNIT_EXPECT_LE(test, abs(p - segs(c[i].window)),
				segs(c[i].kp * 2));
		KUNIT_EXPECT_LT(test, queue, c[i].buffer / 2);
	}
}

/* If the buffer is full, the law sets the least window. */
static void law_is_bounded(struct kunit *test)
{
	s64 p = ccpd_p_term(2, 2 * segs(700), segs(700), segs(100));

	KUNIT_EXPECT_LT(test, p, 0);
	KUNIT_EXPECT_EQ(test, ccpd_window(p, segs(1000)), 2);
	KUNIT_EXPECT_EQ(test, ccpd_window(segs(5000), segs(1000)), 1000);
	KUNIT_EXPECT_EQ(test, ccpd_window(S64_MAX, S64_MAX), S32_MAX);
	KUNIT_EXPECT_EQ(test, ccpd_window(S64_MIN, 0), 2);
	/* nothing is measured: the least window */
	KUNIT_EXPECT_EQ(test, ccpd_window(ccpd_p_term(2, 0, 0, segs(10)), 0),
			2);
}

/* Kd = 100 us at 1 Gb/s: one segment more every 12.1 us subtracts 8.26 segments. */
static void derivative_has_its_unit(struct kunit *test)
{
	s64 big = segs(100000);

	EXPECT_NEAR(test, ccpd_d_term(100, segs(100), segs(101), 12112, big),
		    -2114, 1000);
	EXPECT_NEAR(test, ccpd_d_term(100, segs(101), segs(100), 12112, big),
		    2114, 1000);
	EXPECT_NEAR(test, ccpd_d_term(1000, segs(101), segs(100), 121120, big),
		    2114, 1000);
	KUNIT_EXPECT_EQ(test, ccpd_d_term(0, segs(1), segs(9), 1000, big), 0);
	KUNIT_EXPECT_EQ(test, ccpd_d_term(100, segs(9), segs(9), 0, big), 0);
}

static void derivative_is_limited(struct kunit *test)
{
	/* ACKs at the same time: dt is 1 us, and the term is at most B / 32 */
	KUNIT_EXPECT_EQ(test, ccpd_d_term(100, segs(400), segs(410), 0,
					  segs(320)), -segs(10));
	KUNIT_EXPECT_EQ(test, ccpd_d_term(100000, segs(0), segs(1 << 20), 1,
					  segs(320)), -segs(10));
	KUNIT_EXPECT_EQ(test, ccpd_d_term(100000, U32_MAX, 0, U32_MAX,
					  segs(1ULL << 40)),
			div_s64(100000LL * 1000 * U32_MAX, S32_MAX));
}

/* The pair with the least delay counts, and is forgotten after 16 to 32 round trips. */
static void pair_filter(struct kunit *test)
{
	struct ccpd_probe p = {};
	int i;

	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), 0);
	ccpd_pair_add(&p, 500, 2000);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), 500);
	ccpd_pair_add(&p, 900, 3000);	/* compressed behind a queue */
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), 500);
	ccpd_pair_add(&p, 600, 1000);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), 600);
	for (i = 0; i < CCPD_EPOCH; i++)
		ccpd_age(&p, 1);
	ccpd_pair_add(&p, 300, 2000);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), 600);
	for (i = 0; i < CCPD_EPOCH; i++)
		ccpd_age(&p, 1);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), 300);
	/* without other pairs it is not forgotten */
	for (i = 0; i < 10 * CCPD_EPOCH; i++)
		ccpd_age(&p, 1);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), 300);
}

/* The capacity is at least the delivered rate, which is forgotten after 16 to 32 round trips. */
static void capacity_is_what_was_delivered(struct kunit *test)
{
	struct ccpd_probe p = { .mss = 1448 };
	struct rate_sample rs = {
		.prior_delivered = 1, .delivered = 100, .interval_us = 10000,
	};
	u32 full = ccpd_bw(100, 1, 10000000), i;

	KUNIT_EXPECT_EQ(test, ccpd_round_rate(&p, &rs), full);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), full);
	ccpd_pair_add(&p, full / 5, 10000);	/* a batch boundary made it longer */
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), full);
	ccpd_pair_add(&p, 3 * full, 9000);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), 3 * full);

	rs.delivered = 10;
	for (i = 0; i < CCPD_EPOCH; i++) {
		ccpd_round_rate(&p, &rs);
		ccpd_age(&p, 1);
	}
	KUNIT_EXPECT_EQ(test, ccpd_delivery_rate(&p), full);
	for (i = 0; i < CCPD_EPOCH; i++) {
		ccpd_round_rate(&p, &rs);
		ccpd_age(&p, 1);
	}
	EXPECT_NEAR(test, ccpd_delivery_rate(&p), full / 10, 10);
	/* no sample, or a sample of an earlier round trip */
	rs.interval_us = -1;
	KUNIT_EXPECT_EQ(test, ccpd_round_rate(&p, &rs), 0);
	rs.interval_us = 10000;
	KUNIT_EXPECT_TRUE(test, ccpd_round_is_over(&p, &rs));
	p.round_delivered = 2;
	KUNIT_EXPECT_FALSE(test, ccpd_round_is_over(&p, &rs));
}

/* A socket that has sent a burst of @segs segments, which is timed */
static struct sock *burst_sent(struct kunit *test, struct ccpd_probe *p, u32 segs)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, tp);
	*p = (struct ccpd_probe){ .mss = 1448, .rtt_min_us = 20000 };
	tp->mss_cache = 1448;
	tp->snd_una = 5000;
	tp->snd_nxt = 5000;
	tp->tcp_clock_cache = NSEC_PER_SEC;
	minmax_reset(&tp->rtt_min, 0, 20000);
	ccpd_pair_begin((struct sock *)tp, p, segs);
	tp->snd_nxt += segs * 1448;
	return (struct sock *)tp;
}

/* An ACK for @segs segments, @later_ns after the ACK before, with an rtt of @rtt_us */
static void acked(struct sock *sk, struct ccpd_probe *p, u32 segs, u32 later_ns, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_una += segs * 1448;
	tp->tcp_clock_cache += later_ns;
	if (ccpd_pair_ack(sk, p, rtt_us))
		ccpd_pair_done(sk, p, ccpd_least_us(sk, p));
}

/* 1 Gb/s: an ACK for two frames every 24.2 us */
static void pair_shows_the_link(struct kunit *test)
{
	struct ccpd_probe p;
	struct sock *sk = burst_sent(test, &p, 6);
	int i;

	for (i = 0; i < 3; i++)
		acked(sk, &p, 2, 24224, 20024 + 24 * i);
	EXPECT_NEAR(test, ccpd_capacity(&p), link_bw(1000), 2000);
	KUNIT_EXPECT_TRUE(test, p.pair_stage == PAIR_IDLE);
}

/* The paper's Section V: one sample per round trip, if the window grew by two or more. */
static void one_sample_a_round_trip(struct kunit *test)
{
	struct ccpd_probe p;
	struct sock *sk = burst_sent(test, &p, 4);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->write_seq = tp->snd_nxt + 100 * 1448;
	tp->snd_wnd = 100 * 1448;
	tp->snd_wl1 = tp->snd_una;
	tcp_snd_cwnd_set(tp, 10);
	/* no new one while a sample is under way */
	KUNIT_EXPECT_FALSE(test, ccpd_pair_start(sk, &p));
	acked(sk, &p, 2, 20024, 20024);
	acked(sk, &p, 2, 20048, 20048);
	KUNIT_EXPECT_TRUE(test, p.pair_stage == PAIR_IDLE);
	/* nor until all segments sent in that time are acknowledged */
	tp->snd_nxt += 6 * 1448;
	tp->packets_out = 6;
	p.pair_end = tp->snd_nxt;
	KUNIT_EXPECT_FALSE(test, ccpd_pair_start(sk, &p));
	tp->snd_una = tp->snd_nxt;
	tp->packets_out = 0;
	/* then one, if the window allows two segments at once */
	tcp_snd_cwnd_set(tp, 1);
	KUNIT_EXPECT_FALSE(test, ccpd_pair_start(sk, &p));
	tcp_snd_cwnd_set(tp, 2);
	KUNIT_EXPECT_TRUE(test, ccpd_pair_start(sk, &p));
	KUNIT_EXPECT_FALSE(test, ccpd_pair_start(sk, &p));
}

/*
 * The growth for a sample is that of Eq. 3 from one ACK to the next.  On a path of 100 Mb/s and
 * 50 ms, with a buffer of 50 ms and 270 segments in flight, Eq. 3 gives 286: 16 may be sent.
 */
static void eq3_adds_two_for_a_sample(struct kunit *test)
{
	static const struct {
		u32 less;
		bool sample;
	} c[] = { { 0, false }, { 1, false }, { 2, true }, { 100, true } };
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct rate_sample rs = { .rtt_us = -1 };
	struct sock *sk = (struct sock *)tp;
	struct ccpd *ca = inet_csk_ca(sk);
	u32 wanted, i;

	KUNIT_ASSERT_NOT_NULL(test, tp);
	sk->sk_max_pacing_rate = ~0UL;
	tp->mss_cache = 1448;
	tp->snd_cwnd_clamp = U32_MAX;
	tp->packets_out = 270;
	tp->snd_wnd = 1000 * 1448;
	ccpd_start(sk, false);
	ca->mode = CCPD_AVOIDANCE;
	ca->probe.rtt_min_us = 50000;
	ca->rtt_max_us = 100000;
	ca->probe.rtt_s = 50000 << 3;
	ccpd_pair_add(&ca->probe, link_bw(100), 100000);
	ca->bw = ccpd_capacity(&ca->probe);
	wanted = ccpd_window(ccpd_p_term(2, 2 * ccpd_buffer(ca, link_bw(100)), 0,
					 segs(270)), segs(1000));
	for (i = 0; i < ARRAY_SIZE(c); i++) {
		/* everything is acknowledged, so a new sample may begin */
		ccpd_pair_drop(sk, &ca->probe);
		tp->snd_una += 1448;
		tp->snd_nxt = tp->snd_una;
		tp->snd_wl1 = tp->snd_una;
		tp->write_seq = tp->snd_nxt + 100 * 1448;
		tcp_snd_cwnd_set(tp, wanted - c[i].less);
#ifdef TCPCC_HAVE_CONG_CONTROL_ACK
		ccpd_cong_control(sk, 0, 0, &rs);
#else
		ccpd_cong_control(sk, &rs);
#endif
		KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), wanted);
		KUNIT_EXPECT_EQ_MSG(test, ca->probe.pair_stage == PAIR_SENT, c[i].sample,
				    "%u more", c[i].less);
	}
}

/* A socket with a window of 100 segments, all of them in flight, that uses ECN */
static struct sock *window_in_flight(struct kunit *test, enum ccpd_mode mode)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;
	struct ccpd *ca = inet_csk_ca(sk);

	KUNIT_ASSERT_NOT_NULL(test, tp);
	sk->sk_max_pacing_rate = ~0UL;
	tp->mss_cache = 1448;
	tp->snd_cwnd_clamp = U32_MAX;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->packets_out = 100;
	tp->max_packets_out = 100;
	tp->delivered_ce = 7;
	tcp_snd_cwnd_set(tp, 100);
	ccpd_start(sk, true);
	ca->mode = mode;
	return sk;
}

/* tcp_enter_cwr(), for an ACK with ECE or because a local queue has dropped a packet */
static void enters_cwr(struct sock *sk)
{
	tcp_sk(sk)->snd_ssthresh = ccpd_ssthresh(sk);
	ccpd_set_state(sk, TCP_CA_CWR);
	inet_csk(sk)->icsk_ca_state = TCP_CA_CWR;
}

/* An ACK for a segment, after which another one is sent; @ece: the ACK has ECE */
static void ack_arrives(struct sock *sk, bool ece)
{
	struct rate_sample rs = { .rtt_us = -1, .acked_sacked = 1 };
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_una += 1448;
	tp->delivered_ce += ece;
#ifdef TCPCC_HAVE_CONG_CONTROL_ACK
	ccpd_cong_control(sk, 0, 0, &rs);
#else
	ccpd_cong_control(sk, &rs);
#endif
}

/* A CE mark leaves 0.85 of what is in flight, in slow start too, and slow start is over. */
static void mark_limits_at_once(struct kunit *test)
{
	static const enum ccpd_mode modes[] = { CCPD_SLOW_START, CCPD_AVOIDANCE };
	int i, n;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		struct sock *sk = window_in_flight(test, modes[i]);
		const struct ccpd *ca = inet_csk_ca(sk);

		enters_cwr(sk);
		for (n = 0; n < 100; n++) {
			ack_arrives(sk, n < 50);
			KUNIT_ASSERT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 85);
		}
		KUNIT_EXPECT_EQ(test, ca->ecn_cwnd, 85);
		KUNIT_EXPECT_TRUE(test, ca->mode == CCPD_AVOIDANCE);
		/* a mark in the next round trip, with an ACK that also ends CWR */
		tcp_sk(sk)->packets_out = 80;
		ccpd_set_state(sk, TCP_CA_Open);
		enters_cwr(sk);
		ack_arrives(sk, true);
		KUNIT_EXPECT_EQ(test, ca->ecn_cwnd, 68);
	}
}

/* A packet that a queue of the host drops is a loss, and no mark: the law does not limit itself. */
static void local_drop_is_no_mark(struct kunit *test)
{
	struct sock *sk = window_in_flight(test, CCPD_AVOIDANCE);
	const struct ccpd *ca = inet_csk_ca(sk);

	enters_cwr(sk);
	ack_arrives(sk, false);
	KUNIT_EXPECT_EQ(test, ca->ecn_cwnd, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 100);
	/* but a mark while TCP is in this state is a mark */
	ack_arrives(sk, true);
	KUNIT_EXPECT_EQ(test, ca->ecn_cwnd, 85);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 85);
}

/* ACKs of one poll of the network card, eight segments in 1.2 us, do not show 77 Gb/s. */
static void poll_is_one_moment(struct kunit *test)
{
	struct ccpd_probe p;
	struct sock *sk = burst_sent(test, &p, 10);
	int i;

	for (i = 0; i < 5; i++)
		acked(sk, &p, 2, 300, 20000);
	KUNIT_EXPECT_TRUE(test, p.pair_stage == PAIR_IDLE);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), 0);
	KUNIT_EXPECT_TRUE(test, p.batched);

	/* two polls of 4 segments, 50 us apart: 4 segments in 50 us, 0.97 Gb/s */
	sk = burst_sent(test, &p, 8);
	acked(sk, &p, 2, 300, 20030);
	acked(sk, &p, 2, 300, 20030);
	acked(sk, &p, 2, 50000, 20080);
	acked(sk, &p, 2, 300, 20080);
	EXPECT_NEAR(test, ccpd_capacity(&p), ccpd_bw(4, 1, 50300), 10000);
}

/*
 * At 20 Mb/s an ACK for two frames comes every 1.2 ms.  A guest needs 20 us for an ACK.  Two
 * ACKs that were held back together do not show 1.2 Gb/s.
 */
static void held_back_acks_are_no_pair(struct kunit *test)
{
	struct ccpd_probe p;
	struct sock *sk = burst_sent(test, &p, 4);

	acked(sk, &p, 2, 0, 21600);
	acked(sk, &p, 2, 20000, 21600);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), 0);

	/* nor as the first ACKs of the flow, because the handshake had a smaller rtt */
	sk = burst_sent(test, &p, 4);
	p.rtt_min_us = 21600;
	acked(sk, &p, 2, 0, 21600);
	acked(sk, &p, 2, 20000, 21600);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), 0);

	/* ACKs that were not held back are a pair */
	sk = burst_sent(test, &p, 4);
	acked(sk, &p, 2, 0, 20600);
	acked(sk, &p, 2, 1211200, 21800);
	EXPECT_NEAR(test, ccpd_capacity(&p), link_bw(20), 2000);
}

/*
 * ACKs are released every 10 ms, and processed 30 us apart.  A burst in two such batches would
 * only measure the time between the batches, whichever of the three gaps that is.
 */
static void burst_in_two_bunches_is_no_pair(struct kunit *test)
{
	static const u32 gap_us[][3] = {
		{ 30, 30, 10000 }, { 30, 10000, 30 }, { 10000, 30, 30 },
	};
	struct ccpd_probe p;
	struct sock *sk;
	int i, j;

	for (i = 0; i < ARRAY_SIZE(gap_us); i++) {
		sk = burst_sent(test, &p, 8);
		acked(sk, &p, 2, 0, 20000);
		for (j = 0; j < 3; j++)
			acked(sk, &p, 2, gap_us[i][j] * NSEC_PER_USEC, 20000);
		KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), 0);
		KUNIT_EXPECT_TRUE(test, p.batched);
	}

	/* but gaps that differ because of another flow's packets are gaps of the link */
	sk = burst_sent(test, &p, 8);
	acked(sk, &p, 2, 0, 20000);
	acked(sk, &p, 2, 1200000, 20000);
	acked(sk, &p, 2, 4800000, 20000);
	acked(sk, &p, 2, 1200000, 20000);
	EXPECT_NEAR(test, ccpd_capacity(&p), ccpd_bw(6, 1, 7200000), 1000);
}

/* A burst of four segments: its two ACKs come @before_ns after another ACK, and 4.3 us apart */
static void four_in_a_batch(struct sock *sk, struct ccpd_probe *p, u32 before_ns)
{
	ccpd_pair_begin(sk, p, 4);
	tcp_sk(sk)->snd_nxt = p->pair_end;
	acked(sk, p, 0, 600000, 20000);
	acked(sk, p, 2, before_ns, 20000);
	acked(sk, p, 2, 4304, 20000);
}

/*
 * At 20 Mb/s ACKs are released together, and a host needs 4.3 us for each: they show 5.6 Gb/s.
 * If a burst follows another ACK closely, its ACKs belong to a batch.  Then no burst that shows
 * such a rate counts for 16 to 32 round trips.
 */
static void acks_of_a_batch_are_no_pair(struct kunit *test)
{
	struct ccpd_probe p;
	struct sock *sk = burst_sent(test, &p, 0);
	int i;

	p.rate[0] = link_bw(20);
	four_in_a_batch(sk, &p, 600000);
	EXPECT_NEAR(test, ccpd_capacity(&p), ccpd_bw(2, 1, 4304), 2000);
	/* without a queue the delivered rate is low because the window is small: the pair counts */
	p.rtt_s = 21250 << 3;
	four_in_a_batch(sk, &p, 4304);
	EXPECT_NEAR(test, ccpd_capacity(&p), ccpd_bw(2, 1, 4304), 2000);
	p.rtt_s = 21251 << 3;
	four_in_a_batch(sk, &p, 4304);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), link_bw(20));
	four_in_a_batch(sk, &p, 600000);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), link_bw(20));

	/* for 16 to 32 round trips */
	for (i = 0; i < CCPD_EPOCH; i++)
		ccpd_age(&p, 1);
	p.rate[0] = link_bw(20);
	four_in_a_batch(sk, &p, 600000);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), link_bw(20));
	for (i = 0; i < CCPD_EPOCH; i++)
		ccpd_age(&p, 1);
	four_in_a_batch(sk, &p, 600000);
	EXPECT_NEAR(test, ccpd_capacity(&p), ccpd_bw(2, 1, 4304), 2000);

	/* the delivered rate is an eighth of 5.6 Gb/s: near enough for the pair to count */
	p.rate[0] = link_bw(710);
	four_in_a_batch(sk, &p, 4304);
	EXPECT_NEAR(test, ccpd_capacity(&p), ccpd_bw(2, 1, 4304), 2000);
}

/* A burst that did not leave at once was paced, and would show the pacing rate. */
static void paced_burst_is_no_pair(struct kunit *test)
{
	struct ccpd_probe p;
	struct sock *sk = burst_sent(test, &p, 4);

	tcp_sk(sk)->snd_nxt -= 1448;
	acked(sk, &p, 2, 0, 20024);
	KUNIT_EXPECT_TRUE(test, p.pair_stage == PAIR_IDLE);
	tcp_sk(sk)->snd_nxt += 1448;
	acked(sk, &p, 2, 24224, 20048);
	KUNIT_EXPECT_EQ(test, ccpd_capacity(&p), 0);
}

/* At 4 kbit/s two frames take 6.1 s, which is more than 2^32 ns. */
static void slow_pairs(struct kunit *test)
{
	struct ccpd_probe p;
	struct sock *sk = burst_sent(test, &p, 4);

	acked(sk, &p, 2, 0, 20000);
	tcp_sk(sk)->tcp_clock_cache += 5LL * NSEC_PER_SEC;
	acked(sk, &p, 2, 1056 * NSEC_PER_MSEC, 20000);
	/* a rate is a multiple of 0.7 kbit/s */
	EXPECT_NEAR(test, ccpd_bytes_ps(ccpd_capacity(&p), 1514) * 8, 4000, 180000);
}

/* The rtt of segments sent before a timeout is neither a queue nor a largest rtt. */
static void outage_is_no_queue(struct kunit *test)
{
	struct ccpd_probe p = { .rtt_s = 40000 << 3, .rtt_min_us = 40000 };
	struct sock *sk = burst_sent(test, &p, 4);
	struct rate_sample rs = { .rtt_us = 16 * USEC_PER_SEC, .acked_sacked = 1 };

	tcp_sk(sk)->delivered = 100;
	p.rtt_s = 40000 << 3;
	ccpd_timeout(sk, &p);
	/* only the segment of the timer is in flight: a round trip begins, as after an idle time */
	ccpd_round_begin(sk, &p);
	/* segments sent before the timeout, and the segment of the timer, do not count */
	for (rs.prior_delivered = 98; rs.prior_delivered <= 100; rs.prior_delivered++)
		KUNIT_EXPECT_EQ(test, ccpd_rtt(sk, &p, &rs), 0);
	KUNIT_EXPECT_EQ(test, p.rtt_s, 40000 << 3);
	/* a segment sent after the first ACK counts, and all that are acknowledged after it */
	rs.rtt_us = 48000;
	KUNIT_EXPECT_EQ(test, ccpd_rtt(sk, &p, &rs), 48000);
	KUNIT_EXPECT_EQ(test, p.rtt_s, 41000 << 3);
	rs.prior_delivered = 99;
	KUNIT_EXPECT_EQ(test, ccpd_rtt(sk, &p, &rs), 48000);
}

/*
 * If ACKs are for two segments, an ACK for one segment has waited for the delayed-ACK timer, and
 * its rtt does not count.  It counts while a segment is missing, because then there is no delayed
 * ACK.  With continuous reordering nothing else would show that a queue grows.
 */
static void lone_segments_behind_a_hole(struct kunit *test)
{
	struct ccpd_probe p;
	struct sock *sk = burst_sent(test, &p, 4);
	struct rate_sample rs = { .rtt_us = 40000, .acked_sacked = 1 };

	KUNIT_EXPECT_EQ(test, ccpd_rtt(sk, &p, &rs), 40000);
	rs.acked_sacked = 2;
	KUNIT_EXPECT_EQ(test, ccpd_rtt(sk, &p, &rs), 40000);
	rs.acked_sacked = 1;
	rs.rtt_us = 80000;
	KUNIT_EXPECT_EQ(test, ccpd_rtt(sk, &p, &rs), 0);
	tcp_sk(sk)->sacked_out = 1;
	KUNIT_EXPECT_EQ(test, ccpd_rtt(sk, &p, &rs), 80000);
}

/* The rtt of a retransmitted segment is in whole ms: on a path of 1.5 ms it may be 1 ms. */
static void coarse_time_is_no_rtt(struct kunit *test)
{
	struct ccpd_probe p = { .rtt_s = 2000 << 3, .rtt_min_us = 1500 };
	struct sock *sk = burst_sent(test, &p, 4);
	struct rate_sample rs = { .rtt_us = 1000, .acked_sacked = 2, .is_retrans = true };

	p.rtt_min_us = 1500;
	KUNIT_EXPECT_EQ(test, ccpd_rtt(sk, &p, &rs), 0);
	KUNIT_EXPECT_EQ(test, p.rtt_min_us, 1500);
	/* nor does it count as the first rtt of the flow */
	p.rtt_min_us = U32_MAX;
	KUNIT_EXPECT_EQ(test, ccpd_rtt(sk, &p, &rs), 0);
	KUNIT_EXPECT_EQ(test, p.rtt_min_us, U32_MAX);
	/* on a long path the error is small, and a repair has no other rtt */
	p.rtt_min_us = 40000;
	rs.rtt_us = 41000;
	KUNIT_EXPECT_EQ(test, ccpd_rtt(sk, &p, &rs), 41000);
}

/* Rates are in segments.  If the size of segments changes, the rates in bytes stay the same. */
static void segments_change_their_size(struct kunit *test)
{
	struct ccpd_probe p = { .mss = 1448, .rate = { 1000000 } };

	ccpd_pair_add(&p, 8000000, 100);
	ccpd_probe_rescale(&p, 8948);
	EXPECT_NEAR(test, ccpd_delivery_rate(&p) * 8948ULL, 1000000 * 1448ULL, 10);
	EXPECT_NEAR(test, ccpd_pair_bw(&p) * 8948ULL, 8000000 * 1448ULL, 10);
	KUNIT_EXPECT_EQ(test, p.mss, 8948);
	KUNIT_EXPECT_EQ(test, ccpd_rescale(U32_MAX, 65535, 1), U32_MAX);
	KUNIT_EXPECT_EQ(test, ccpd_rescale(5, 1448, 0), 7240);
}

/* A bad value is refused, and the old value stays. */
static void parameters_are_checked(struct kunit *test)
{
	static const char * const bad[] = {
		"0", "17", "-1", "", "x", "4294967298", "2 3", "1.5",
	};
	const struct kernel_param kp_param = {
		.name = "kp",
		.arg = (void *)&tcpcc_param_kp,
	};
	unsigned int was = kp;
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_EQ(test, tcpcc_param_set(bad[i], &kp_param),
				-EINVAL);
		KUNIT_EXPECT_EQ(test, kp, was);
	}
	KUNIT_EXPECT_EQ(test, tcpcc_param_set(NULL, &kp_param), -EINVAL);
	KUNIT_EXPECT_EQ(test, tcpcc_param_set("16\n", &kp_param), 0);
	KUNIT_EXPECT_EQ(test, kp, 16);
	kp = was;
}

static struct kunit_case ccpd_cases[] = {
	KUNIT_CASE(capacity_is_exact),
	KUNIT_CASE(capacity_survives_nonsense),
	KUNIT_CASE(rate_in_bytes),
	KUNIT_CASE(buffer_from_rtts),
	KUNIT_CASE(law_in_equilibrium),
	KUNIT_CASE(law_is_bounded),
	KUNIT_CASE(derivative_has_its_unit),
	KUNIT_CASE(derivative_is_limited),
	KUNIT_CASE(pair_filter),
	KUNIT_CASE(capacity_is_what_was_delivered),
	KUNIT_CASE(pair_shows_the_link),
	KUNIT_CASE(one_sample_a_round_trip),
	KUNIT_CASE(eq3_adds_two_for_a_sample),
	KUNIT_CASE(mark_limits_at_once),
	KUNIT_CASE(local_drop_is_no_mark),
	KUNIT_CASE(poll_is_one_moment),
	KUNIT_CASE(held_back_acks_are_no_pair),
	KUNIT_CASE(burst_in_two_bunches_is_no_pair),
	KUNIT_CASE(acks_of_a_batch_are_no_pair),
	KUNIT_CASE(paced_burst_is_no_pair),
	KUNIT_CASE(slow_pairs),
	KUNIT_CASE(outage_is_no_queue),
	KUNIT_CASE(lone_segments_behind_a_hole),
	KUNIT_CASE(coarse_time_is_no_rtt),
	KUNIT_CASE(segments_change_their_size),
	KUNIT_CASE(parameters_are_checked),
	{}
};

static struct kunit_suite ccpd_suite = {
	.name = "tcp_ccpd",
	.test_cases = ccpd_cases,
};

kunit_test_suite(ccpd_suite);
