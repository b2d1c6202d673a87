// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ccpd_path: its law, and its reactions to losses, marks, idle times and
 * spurious losses.  The tests of the estimators are in tcp_ccpd_test.c.
 */
#include "../../tcp_ccpd_path.c"

#include <kunit/test.h>

#include "near.h"

/* The rate of a link of @mbps Mb/s with frames of 1514 bytes, BW_SCALE */
static u32 link_bw(u32 mbps)
{
	return div_u64(((u64)mbps << BW_SCALE), 8 * 1514);
}

/* Eq. 3 with our storage: one flow fills the path and keeps a queue of q0, with any gain. */
static void path_fills_the_pipe(struct kunit *test)
{
	static const u32 gain[] = { 1, 2, 4, 16 };
	static const u32 mbps[] = { 1, 100, 1000, 400000 };
	int i, j;

	for (i = 0; i < ARRAY_SIZE(gain); i++) {
		for (j = 0; j < ARRAY_SIZE(mbps); j++) {
			u32 bw = link_bw(mbps[j]), rtt = 190000;
			u32 q0 = path_q0_us(bw, rtt, rtt / 2, 0);
			s64 w = ccpd_segs(bw, rtt + q0);
			s64 p = ccpd_p_term(gain[i], path_storage(bw, gain[i], rtt, q0),
					    ccpd_segs(bw, q0), w);

			EXPECT_NEAR(test, p, w, 10000);
		}
	}
}

/* q0: a sixteenth of rtt_min, or a quarter of a small buffer, and at least 1 us */
static void path_queue_target(struct kunit *test)
{
	u32 bw = link_bw(1000);

	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 160000, 80000, 0), 10000);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 160000, 16000, 0), 4000);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 160000, 0, 0), 2501);
	/* short paths: bursts of 44 and of 5 segments, at most a quarter of rtt_min */
	KUNIT_EXPECT_EQ(test, path_q0_us(link_bw(10000), 500, 0, 0), 54);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 1600, 0, 0), 61);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 400, 0, 0), 100);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 5000, 0, 0), 79);
	/* what hosts need, if the buffer has room for it */
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 100, 900, 0), 128);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 100, 360, 0), 90);
	/* four segments (161 us), because that is less */
	KUNIT_EXPECT_EQ(test, path_q0_us(link_bw(300), 100, 900, 0), 162);
	EXPECT_NEAR(test, path_q0_us(link_bw(1), 40000, 360000, 0), 48448,
		    1000);
	/* half of a buffer of five segments; with a smaller buffer two segments */
	KUNIT_EXPECT_EQ(test, path_q0_us(link_bw(10), 10000, 6000, 0), 3000);
	EXPECT_NEAR(test, path_q0_us(link_bw(10), 10000, 2400, 0), 2422, 1000);
	/* the variation of the delay, if that is more than a sixteenth, up to a half */
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 20000, 40000, 1000), 1250);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 20000, 40000, 3000), 3000);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 20000, 60000, 19000), 10000);
	/* but not more than a quarter of the buffer */
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 20000, 8000, 3000), 2000);
	/* inside a host */
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 31, 500, 0), 1149);
	KUNIT_EXPECT_EQ(test, path_q0_us(link_bw(50000), 1, 0, 0), 1025);
	KUNIT_EXPECT_EQ(test, path_q0_us(link_bw(50000), 32, 500, 0), 125);
	/* no capacity is known; as a constant, sparse would report a division by it */
	bw = 0;
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 32, 0, 0), 1);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 40, CCPD_RTT_CAP - 40, 0), 128);
}

static void path_claim_shares(struct kunit *test)
{
	u32 bw = link_bw(1000), q0 = 10000;
	u32 n;

	/* a flow alone, or with a queue of 2 * q0, claims its rate */
	KUNIT_EXPECT_EQ(test, path_share(bw, bw, 0, q0), bw);
	KUNIT_EXPECT_EQ(test, path_share(2 * bw, bw, 0, q0), 2 * bw);
	KUNIT_EXPECT_EQ(test, path_share(bw / 9, bw, 2 * q0, q0), bw / 9);
	KUNIT_EXPECT_EQ(test, path_share(0, bw, 0, q0), 0);

	for (n = 2; n <= 1024; n *= 2) {
		u32 rate = bw / n;
		/* without a queue the rate is increased by log2(n) * ln(2) / 8; at q0 by half */
		u32 more = path_share(rate, bw, 0, q0) - rate;
		u32 half = path_share(rate, bw, q0, q0) - rate;

		EXPECT_NEAR(test, more, div_u64((u64)rate * ilog2(n) * 866,
						10000), 20000);
		EXPECT_NEAR(test, half, more / 2, 20000);
	}

	/* never more than the capacity; no integer overflow */
	KUNIT_EXPECT_LE(test, path_share(1, U32_MAX, 0, U32_MAX / 4),
			U32_MAX);
	KUNIT_EXPECT_EQ(test, path_share(U32_MAX - 1, U32_MAX, 0, 1000),
			U32_MAX - 1);
}

/*
 * Fifty withdrawn segments are 606 us of queue at 1 Gb/s.  If the delay falls by less than a
 * quarter of that, there was no queue, and the path is longer.
 */
static void path_verdict(struct kunit *test)
{
	u32 bw = link_bw(1000);

	KUNIT_EXPECT_TRUE(test, path_is_longer(50, 0, 5000, bw));
	KUNIT_EXPECT_TRUE(test, path_is_longer(50, 140, 5000, bw));
	KUNIT_EXPECT_FALSE(test, path_is_longer(50, 160, 5000, bw));
	KUNIT_EXPECT_FALSE(test, path_is_longer(50, 606, 5000, bw));
	/* a 32nd of what the path holds is enough to decide; with less the flow is one of many */
	KUNIT_EXPECT_TRUE(test, path_is_longer(50, 0, 19200, bw));
	KUNIT_EXPECT_FALSE(test, path_is_longer(50, 0, 19900, bw));
	/* a few segments are not enough, unless the path holds few: four of 30, and of 41 */
	KUNIT_EXPECT_FALSE(test, path_is_longer(8, 0, 3000, bw));
	KUNIT_EXPECT_TRUE(test, path_is_longer(4, 0, 37000, link_bw(10)));
	KUNIT_EXPECT_FALSE(test, path_is_longer(4, 0, 50000, link_bw(10)));
	/* limit: the delay falls by the time of one of the four segments */
	KUNIT_EXPECT_TRUE(test, path_is_longer(4, 1100, 37000, link_bw(10)));
	KUNIT_EXPECT_FALSE(test, path_is_longer(4, 1300, 37000, link_bw(10)));
	/* no integer overflow */
	KUNIT_EXPECT_FALSE(test, path_is_longer(U32_MAX, U32_MAX, U32_MAX, U32_MAX));
}

static void logarithm(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, path_log2(1), 0);
	KUNIT_EXPECT_EQ(test, path_log2(2), 1 << 8);
	KUNIT_EXPECT_EQ(test, path_log2(3), 3 << 7);
	KUNIT_EXPECT_EQ(test, path_log2(1U << 31), 31 << 8);
	KUNIT_EXPECT_EQ(test, path_log2(U32_MAX), (32 << 8) - 1);
}

/* A socket with this window, of which TCP knows no rtt */
static struct sock *opened(struct kunit *test, u32 cwnd)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;

	KUNIT_ASSERT_NOT_NULL(test, tp);
	sock_net_set(sk, &init_net);
	sk->sk_max_pacing_rate = ~0UL;
	tp->mss_cache = 1448;
	tp->snd_cwnd_clamp = U32_MAX;
	tcp_snd_cwnd_set(tp, cwnd);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	minmax_reset(&tp->rtt_min, tcp_jiffies32, ~0U);
	/* it may send TSO packets, as after sk_setup_caps() */
	sk->sk_gso_type = SKB_GSO_TCPV4;
	sk->sk_route_caps = NETIF_F_GSO | NETIF_F_GSO_SOFTWARE;
	return sk;
}

/* A socket in avoidance, at 100 Mb/s and 50 ms without a queue */
static struct sock *flow(struct kunit *test)
{
	struct sock *sk = opened(test, 10);
	struct cpath *ca = inet_csk_ca(sk);

	path_init(sk);
	ca->probe.rtt_min_us = 50000;
	ca->room = 50000 / PATH_QUEUE;
	ca->probe.round_rtt_us = 50000;
	ca->probe.rtt_s = 50000 << 3;
	ca->claim = link_bw(100);
	path_enter(ca, PATH_AVOIDANCE);
	ca->rounds = 5;
	ccpd_pair_add(&ca->probe, link_bw(100), 100000);
	return sk;
}

static void ack(struct sock *sk, const struct rate_sample *rs)
{
#ifdef TCPCC_HAVE_CONG_CONTROL_ACK
	path_cong_control(sk, 0, 0, rs);
#else
	path_cong_control(sk, rs);
#endif
}

/*
 * Of two flows that share a path, one knows a larger delay of the empty path than the other.  It
 * gains little from that.  Before the first drain other flows are not considered.
 */
static void delay_varies_alike_for_all(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);

	ca->probe.rtt_min_us = 20000;
	ca->room = 40000 / PATH_QUEUE;
	tcp_sk(sk)->mdev_us = 4 * 1250;
	path_set_noise(ca, 4032);
	KUNIT_EXPECT_EQ(test, path_q0(sk, path_capacity(ca)), 4032);
	ca->rival = PATH_FRIENDLY;
	KUNIT_EXPECT_EQ(test, path_q0(sk, path_capacity(ca)), 2500);
	path_set_noise(ca, 1664);
	KUNIT_EXPECT_EQ(test, path_q0(sk, path_capacity(ca)), 1664);
	/* if the rtt hardly deviates: half of the known variation, up to an eighth of rtt_min */
	tcp_sk(sk)->mdev_us = 4 * 100;
	path_set_noise(ca, 3200);
	KUNIT_EXPECT_EQ(test, path_q0(sk, path_capacity(ca)), 1600);
	path_set_noise(ca, 16000);
	KUNIT_EXPECT_EQ(test, path_q0(sk, path_capacity(ca)), 2500);
	/* always at most half of rtt_min */
	tcp_sk(sk)->mdev_us = 4 * 9000;
	KUNIT_EXPECT_EQ(test, path_q0(sk, path_capacity(ca)), 10000);
	/* a deviation of the rtt that is due to a moving queue does not increase q0 */
	path_set_noise(ca, 640);
	KUNIT_EXPECT_EQ(test, path_q0(sk, path_capacity(ca)), 1250);
}

/* 4 segments at 100 Mb/s or, if the capacity moves, at the claim of 10 Mb/s. */
static void least_queue_is_of_the_claim(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = link_bw(100);

	ca->claim = link_bw(10);
	ca->probe.rtt_min_us = 4000;
	ca->room = 40000 / PATH_QUEUE;
	EXPECT_NEAR(test, path_q0(sk, bw), 484, 10000);
	ca->moves = PATH_MOVES;
	EXPECT_NEAR(test, path_q0(sk, bw), 4844, 10000);
	/* on a short path at the capacity, because TSO bursts are sent at that rate */
	ca->probe.rtt_min_us = 1900;
	EXPECT_NEAR(test, path_q0(sk, bw), 484, 10000);
}

/* The rate that a policer lets through is the capacity, until the policer lets more through. */
static void policer_caps(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 half = link_bw(50), i;

	tcp_sk(sk)->delivered = 300;
	ca->round_lost = 100;		/* beside 300, without a queue, in two round trips */
	path_round(sk, half);
	KUNIT_EXPECT_FALSE(test, ca->capped);
	path_round(sk, half);
	KUNIT_EXPECT_EQ(test, ca->cap, half - half / 32);
	KUNIT_EXPECT_EQ(test, path_capacity(ca), half - half / 32);
	KUNIT_EXPECT_EQ(test, ca->claim, half - half / 32);
	/* losses of the next two round trips do not count: the cap has no effect on them yet */
	for (i = 0; i < 2; i++) {
		ca->round_lost = 100;
		path_round(sk, half / 4);
		KUNIT_EXPECT_GE(test, ca->cap, half - half / 32);
		ca->rounds = i;
	}
	/* then losses of a 64th lower the cap, which is then held for 14 round trips */
	ca->rounds = 5;
	ca->round_lost = 8;
	path_round(sk, half);
	for (i = 0; i < PATH_ROUNDS; i++) {
		KUNIT_EXPECT_EQ(test, ca->cap, half - half / 32);
		ca->round_lost = 0;
		path_round(sk, half);
	}
	ca->cap = half - half / 32;

	/* 64/31 is (1 + 1/64)^46.75; the cap ends when it reaches the rate of the link */
	for (i = 0; i < 46; i++) {
		ca->round_lost = 0;
		path_round(sk, half);
		KUNIT_EXPECT_TRUE(test, ca->capped);
	}
	path_round(sk, half);
	path_round(sk, half);
	KUNIT_EXPECT_FALSE(test, ca->capped);
	KUNIT_EXPECT_EQ(test, path_capacity(ca), link_bw(100));

	/* if no pair was seen, the delivered rate is below the cap, and does not end it */
	memset(ca->probe.best, 0, sizeof(ca->probe.best));
	ca->cap = half;
	ca->capped = 1;
	path_round(sk, half - half / 64);
	KUNIT_EXPECT_TRUE(test, ca->capped);

	/* with an rtt of 400 ms the cap rises four times as much */
	ca->probe.rtt_s = 400000 << 3;
	ca->cap = half;
	path_cap_rises(ca, 0, 1000);
	EXPECT_NEAR(test, ca->cap, half + half / 16, 1000);

	/* a queue ends the cap, because it shows that there is no policer */
	ca->cap = half;
	ca->capped = 1;
	ca->probe.round_rtt_us = 80000;
	path_round(sk, half);
	KUNIT_EXPECT_FALSE(test, ca->capped);
}

/*
 * A burst of losses is over in the next round trip, and the claim stays.  A policer drops in that
 * one, too.  If more than half is lost, one round trip is enough.
 */
static void burst_of_losses_is_no_policer(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 claim = ca->claim, i;

	tcp_sk(sk)->delivered = 100;
	for (i = 0; i < 3; i++) {
		ca->round_lost = 60;
		path_round(sk, claim / 2);
		KUNIT_EXPECT_FALSE(test, ca->capped);
		KUNIT_EXPECT_EQ(test, ca->claim, claim);
		/* without a loss, or with a few */
		ca->round_lost = i;
		path_round(sk, claim);
		KUNIT_EXPECT_GE(test, ca->claim, claim);
		ca->claim = claim;
	}
	ca->round_lost = 60;
	path_round(sk, claim / 2);
	path_round(sk, claim / 2);
	KUNIT_EXPECT_TRUE(test, ca->capped);

	ca->capped = 0;
	ca->rounds = 5;
	ca->round_lost = 101;
	path_round(sk, claim / 2);
	KUNIT_EXPECT_TRUE(test, ca->capped);
	ca->capped = 0;

	/* a look, an idle time or an undo is between two bursts */
	ca->before_loss = PATH_AVOIDANCE;
	tcp_sk(sk)->app_limited = 1;
	tcp_sk(sk)->tcp_mstamp = tcp_sk(sk)->delivered_mstamp + USEC_PER_SEC;
	for (i = 0; i < 3; i++) {
		ca->mode = PATH_AVOIDANCE;
		ca->rounds = 5;
		ca->round_lost = 60;
		path_round(sk, claim / 2);
		if (i == 0)
			path_drain(sk);
		else if (i == 1)
			path_tx_start(sk);
		else
			path_undo_cwnd(sk);
		tcp_sk(sk)->delivered = ca->probe.round_delivered + 100;
		ca->mode = PATH_AVOIDANCE;
		ca->rounds = 5;
		ca->round_lost = 60;
		path_round(sk, claim / 2);
		KUNIT_EXPECT_FALSE(test, ca->capped);
		ca->empty = 0;
	}
}

/* Neither a few losses nor many losses found by a timeout cause a cap. */
static void noise_and_outages_do_not_cap(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	struct rate_sample rs = {
		.prior_delivered = 1, .delivered = 10, .interval_us = 1500000,
		.rtt_us = 50000, .losses = 300, .acked_sacked = 2,
	};
	u32 claim = ca->claim;

	tcp_sk(sk)->delivered = 300;
	ca->round_lost = 37;		/* an eighth is 37.5 */
	path_round(sk, claim);
	KUNIT_EXPECT_FALSE(test, ca->capped);
	KUNIT_EXPECT_GE(test, ca->claim, claim);

	inet_csk(sk)->icsk_ca_state = TCP_CA_Loss;
	tcp_sk(sk)->snd_ssthresh = path_ssthresh(sk);
	ca->probe.round_delivered = 0;
	ack(sk, &rs);
	KUNIT_EXPECT_FALSE(test, ca->capped);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_SLOW_START);
	KUNIT_EXPECT_GE(test, ca->claim, claim);
	/* slow start ends at the claim from before the timeout */
	EXPECT_NEAR(test, tcp_sk(sk)->snd_ssthresh, ccpd_segs(ca->claim, 50000) >> SEG_SCALE,
		    10000);
}

/* After a spurious loss claim, mode and window are restored. */
static void undo_gives_back(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 claim = ca->claim;

	tp->prior_cwnd = 500;
	tp->delivered = 300;
	tp->snd_ssthresh = path_ssthresh(sk);
	ca->round_lost = 301;
	path_round(sk, claim / 3);
	KUNIT_EXPECT_EQ(test, ca->cap, claim / 3 - claim / 3 / 32);
	KUNIT_EXPECT_EQ(test, path_undo_cwnd(sk), 500);
	KUNIT_EXPECT_FALSE(test, ca->capped);
	EXPECT_NEAR(test, ca->claim, claim, 5000);

	/* a spurious timeout */
	tp->snd_ssthresh = path_ssthresh(sk);
	path_enter(ca, PATH_SLOW_START);
	path_undo_cwnd(sk);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);

	/* spurious losses have ended the start before a pair was seen */
	memset(ca->probe.best, 0, sizeof(ca->probe.best));
	path_enter(ca, PATH_SLOW_START);
	KUNIT_EXPECT_EQ(test, path_ssthresh(sk), TCP_INFINITE_SSTHRESH);
	path_enter(ca, PATH_AVOIDANCE);
	path_undo_cwnd(sk);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_SLOW_START);
	/* the start continues, and not with the rate that was delivered during the repair */
	KUNIT_EXPECT_EQ(test, ca->claim, 0);

	/* the same if losses continue, and only the second ones are found to be spurious */
	ca->claim = claim / 10;
	path_enter(ca, PATH_AVOIDANCE);
	ca->rounds = PATH_REPAIRS - 1;
	KUNIT_EXPECT_EQ(test, path_ssthresh(sk), TCP_INFINITE_SSTHRESH);
	path_undo_cwnd(sk);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_SLOW_START);
	/* an undo of later losses returns to avoidance */
	ca->claim = claim / 10;
	path_enter(ca, PATH_AVOIDANCE);
	ca->rounds = PATH_REPAIRS;
	tp->snd_ssthresh = path_ssthresh(sk);
	KUNIT_EXPECT_LT(test, tp->snd_ssthresh, TCP_INFINITE_SSTHRESH);
	path_undo_cwnd(sk);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	EXPECT_NEAR(test, ca->claim, claim / 10, 5000);
}

/*
 * If a retransmitted segment is acknowledged too soon, the ACK is for the original: the rate of
 * this ACK does not count.
 */
static void sent_twice_shows_no_rate(struct kunit *test)
{
	struct rate_sample rs = {
		.prior_delivered = 1, .delivered = 2, .interval_us = 80000, .acked_sacked = 1,
		.rtt_us = -1, .is_retrans = true,
	};
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 claim = ca->claim;

	tcp_sk(sk)->delivered = 300;
	tcp_sk(sk)->tcp_mstamp = USEC_PER_SEC;
	ca->probe.rtt_s = 90000 << 3;
	ca->probe.round_rtt_us = 90000;
	/* too soon for the retransmission: the rate may be that of other segments */
	rs.prior_mstamp = tcp_sk(sk)->tcp_mstamp - 41000;
	ack(sk, &rs);
	KUNIT_EXPECT_EQ(test, ca->claim, claim);
	/* the original was lost, and the ACK comes one round trip after the retransmission */
	rs.prior_mstamp = tcp_sk(sk)->tcp_mstamp - 80000;
	ack(sk, &rs);
	KUNIT_EXPECT_LT(test, ca->claim, claim);
}

/*
 * In a repair only retransmissions arrive, without an rtt.  If more than four fifths are lost, the
 * claim falls to their rate, by halves.
 */
static void blind_round_lowers_the_claim(struct kunit *test)
{
	struct rate_sample rs = {
		.delivered = 2, .interval_us = 80000, .acked_sacked = 1, .rtt_us = -1,
		.is_retrans = true,
	};
	struct sock *sk = flow(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i, claim = ca->claim;

	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	tp->tcp_mstamp = USEC_PER_SEC;
	rs.prior_mstamp = tp->tcp_mstamp - 80000;
	ca->rounds = 0;
	for (i = 0; i < 20; i++) {
		ca->probe.round_rtt_us = U32_MAX;
		ca->probe.round_delivered = tp->delivered;
		tp->delivered += 2;
		rs.prior_delivered = tp->delivered;
		/* the first two are of the window before */
		rs.losses = i == 2 ? 8 : 9;
		ack(sk, &rs);
		if (i < 4)
			KUNIT_EXPECT_EQ(test, ca->claim, i < 3 ? claim : claim / 2);
	}
	EXPECT_NEAR(test, ca->claim, 2 * (BIT(BW_SCALE) / 80000), 10000);
	/* a timeout takes everything for lost */
	ca->claim = claim;
	inet_csk(sk)->icsk_ca_state = TCP_CA_Loss;
	ca->probe.round_delivered = tp->delivered - 2;
	ack(sk, &rs);
	KUNIT_EXPECT_EQ(test, ca->claim, claim);
}

/* A mark multiplies the claim by 0.85 (RFC 8511).  During CWR and recovery nothing is added. */
static void mark_is_answered(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 claim = ca->claim;

	tcp_sk(sk)->delivered = 300;
	path_set_state(sk, TCP_CA_CWR);
	inet_csk(sk)->icsk_ca_state = TCP_CA_CWR;
	EXPECT_NEAR(test, ca->claim, mul_u64_u32_div(claim, 85, 100), 3000);
	/* if ACKs come in bunches, the claim is used in place of the largest delivered rate */
	ca->probe.rate[0] = claim;
	ca->bunches = PATH_BUNCHES;
	KUNIT_EXPECT_EQ(test, path_moving_rate(ca), claim);
	path_set_state(sk, TCP_CA_CWR);
	KUNIT_EXPECT_EQ(test, path_moving_rate(ca), ca->claim);
	ca->bunches = 0;
	ca->probe.rate[0] = 0;
	ca->claim = mul_u64_u32_div(claim, 85, 100);
	path_round(sk, claim);
	EXPECT_NEAR(test, ca->claim, mul_u64_u32_div(claim, 85, 100), 3000);
	path_set_state(sk, TCP_CA_Recovery);
	EXPECT_NEAR(test, ca->claim, mul_u64_u32_div(claim, 85, 100), 3000);
}

/*
 * A mark in the start: the claim is what was sent in a round trip, or what the train before showed.
 * It is not the rate of the train, which nothing has confirmed, nor the capacity at which slow
 * start was to end.
 */
static void mark_ends_the_start(struct kunit *test)
{
	u32 i, claim;

	for (i = 0; i < 3; i++) {
		struct sock *sk = flow(test);
		struct cpath *ca = inet_csk_ca(sk);
		struct tcp_sock *tp = tcp_sk(sk);

		path_enter(ca, PATH_SLOW_START);
		ca->train = TRAIN_NONE;
		tp->snd_wnd = BIT(30);
		tcp_snd_cwnd_set(tp, 20);
		if (i) {
			path_train_send(sk, 20, 1600);
			/* the window is what is left of the train */
			tcp_snd_cwnd_set(tp, 1);
			ca->train_zero = i == 1;
		}
		/* a train at 1/8.81 of this rate, and as long, has this one after it: 1 + 50/6.4 */
		claim = i == 2 ? mul_u64_u32_div(ca->claim, 100, 881) :
				 20 * (BIT(BW_SCALE) / (ca->probe.rtt_s >> 3));
		path_set_state(sk, TCP_CA_CWR);
		KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
		EXPECT_NEAR(test, ca->claim, mul_u64_u32_div(claim, 85, 100), 5000);
	}
}

/*
 * Round trips in which the application sends too little neither lower the claim nor end the start.
 */
static void little_to_send_teaches_nothing(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 claim = ca->claim;

	tcp_sk(sk)->delivered = 8;
	ca->limited = 1;
	path_round(sk, 1000);
	KUNIT_EXPECT_EQ(test, ca->claim, claim);

	path_enter(ca, PATH_SLOW_START);
	ca->probe.round_rtt_us = 60000;
	path_round(sk, 1000);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_SLOW_START);
	KUNIT_EXPECT_EQ(test, ca->claim, claim);
	ca->limited = 0;
	path_round(sk, claim / 2);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	KUNIT_EXPECT_EQ(test, ca->claim, claim / 2);
}

/* After an idle time there is no queue of ours, so no drain is needed. */
static void idle_is_a_drain(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);

	tcp_sk(sk)->delivered = 300;
	ca->rtt_min_stamp = path_now(sk) - path_ticks(11);
	tcp_sk(sk)->delivered_mstamp = USEC_PER_SEC;
	tcp_sk(sk)->tcp_mstamp = USEC_PER_SEC + 50000;
	tcp_sk(sk)->app_limited = 1;
	path_tx_start(sk);
	tcp_sk(sk)->delivered += 300;
	ca->probe.round_rtt_us = 50000;
	ca->rounds = 5;
	path_round(sk, ca->claim);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);

	/*
	 * no drain if the queue ran empty: 300 segments took 1 ms more on average; with 2 ms a
	 * drain follows
	 */
	ca->noise = 0;
	ca->rtt_min_stamp = path_now(sk) - path_ticks(11);
	ca->delay_sum = 300 * 1000 / PATH_NOISE;
	path_round(sk, ca->claim);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	ca->rtt_min_stamp = path_now(sk) - path_ticks(11);
	ca->delay_sum = 300 * 2000 / PATH_NOISE;
	path_round(sk, ca->claim);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	/* less than a round trip without ACKs (a small window was acknowledged): no idle time */
	tcp_sk(sk)->tcp_mstamp = USEC_PER_SEC + 49999;
	path_tx_start(sk);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	/* not limited by the application (pacing held the segment back): no idle time */
	tcp_sk(sk)->app_limited = 0;
	tcp_sk(sk)->tcp_mstamp = USEC_PER_SEC + 50000;
	path_tx_start(sk);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	/* an idle time of the application ends a drain */
	tcp_sk(sk)->app_limited = 1;
	path_tx_start(sk);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
}

/* If the receive window is smaller than the train, a shorter train is sent. */
static void train_fits_the_receiver(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	path_enter(ca, PATH_SLOW_START);
	tp->snd_wnd = 45 * 1448;
	path_train_send(sk, 200, 10000);
	KUNIT_EXPECT_EQ(test, path_train_segs(ca), 45);
	EXPECT_NEAR(test, ca->claim, 45 * (BIT(BW_SCALE) / 10000), 1000);
	tp->snd_wnd = 0;
	path_train_send(sk, 200, 10000);
	KUNIT_EXPECT_EQ(test, path_train_segs(ca), 1);
	/* the receiver has shrunk its window */
	tp->snd_nxt += 10 * 1448;
	path_train_send(sk, 200, 10000);
	KUNIT_EXPECT_EQ(test, path_train_segs(ca), 1);
	KUNIT_EXPECT_TRUE(test, ca->train_limited);
}

/* A flow that has sent a whole train of @segs segments in @time_us */
static struct sock *train(struct kunit *test, u32 segs, u32 time_us)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	path_enter(ca, PATH_SLOW_START);
	tp->snd_wnd = BIT(30);
	tp->tcp_mstamp = USEC_PER_SEC;
	path_train_send(sk, segs, time_us);
	tp->packets_out = segs;
	return sk;
}

/* An ACK of a train for @segs segments, @after_us after the ACK before */
static void train_ack(struct sock *sk, u32 after_us, u32 segs, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->tcp_mstamp += after_us;
	tp->delivered += segs;
	tp->packets_out -= min(tp->packets_out, segs);
	path_train(sk, rtt_us);
}

/* The train was late, and the claim is the rate of the link, to 2 %. */
static void expect_late(struct kunit *test, struct sock *sk, u32 mbps)
{
	struct cpath *ca = inet_csk_ca(sk);

	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	EXPECT_NEAR(test, ca->claim, link_bw(mbps), 20000);
}

/*
 * A train that was sent at 200 Mb/s arrives at 100 Mb/s.  The measured rate is the same for single
 * ACKs and for ACKs in batches of 20 and of 64.
 */
static void late_train_tells_the_rate(struct kunit *test)
{
	static const u32 batch[] = { 1, 20, 64 };
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(batch); i++) {
		u32 time_us = 1000 * 1514 * 8 / 200;
		struct sock *sk = train(test, 1000, time_us);
		struct cpath *ca = inet_csk_ca(sk);

		for (j = 0; j < 1000 && path_in_train(ca); j++)
			/* ACKs of a batch are 1 us apart, and end when its last segment arrives */
			train_ack(sk, j % batch[i] ? batch[i] > 1 : batch[i] * 121 - batch[i] + 1,
				  1, 50000);
		expect_late(test, sk, 100);
		EXPECT_NEAR(test, path_capacity(ca), link_bw(100), 20000);
		/* perhaps it was jitter: later round trips decide, unless a drain or idle begins */
		KUNIT_EXPECT_TRUE(test, ca->late);
		path_enter(ca, PATH_DRAIN);
		KUNIT_EXPECT_FALSE(test, ca->late);
	}
}

/*
 * The first ACK of a train is 30 us late, as if it had waited for a sleeping processor.  Then two
 * segments seem to take 212 us, 12 % less than they do.  Most of the train is hardly affected.
 */
static void late_first_ack_changes_no_rate(struct kunit *test)
{
	struct sock *sk = train(test, 10, 250);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	train_ack(sk, 0, 1, 50000);
	for (i = 1; i < 10 && path_in_train(ca); i++)
		train_ack(sk, i == 1 ? 121 - 30 : 121, 1, 50000);
	EXPECT_NEAR(test, ca->claim, link_bw(100), 50000);
}

/*
 * A train of 50 that arrives at half of its rate, with an end that does not come: it was not sent,
 * or it is lost, and a segment of a probe tells, without an rtt.  What has arrived is the rate.
 */
static void train_without_an_end_tells_the_rate(struct kunit *test)
{
	u32 i, j;

	for (i = 0; i < 2; i++) {
		struct sock *sk = train(test, 50, 50 * 60);
		struct tcp_sock *tp = tcp_sk(sk);
		struct cpath *ca = inet_csk_ca(sk);

		tp->packets_out = i ? 50 : 30;
		for (j = 0; j < 30; j++)
			train_ack(sk, 121, 1, 50000);
		if (i) {
			ca->round_lost = 19;
			tp->lost = 19;
			tp->lost_out = 19;
			tp->packets_out = 19;
			train_ack(sk, 100000, 1, 0);
		}
		expect_late(test, sk, 100);
	}
}

/* Of the initial window three segments were sent, and two arrive: the window is the third. */
static void first_train_is_what_was_sent(struct kunit *test)
{
	struct sock *sk = opened(test, 10);
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);

	tp->snd_wnd = BIT(30);
	path_init(sk);
	tp->tcp_mstamp = USEC_PER_SEC;
	tp->packets_out = 3;
	ca->probe.rtt_min_us = 50000;
	ca->probe.rtt_s = 50000 << 3;
	train_ack(sk, 50000, 2, 50000);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 1);
}

/*
 * Many hosts answer at once, on a path of 200 us.  The train of each shows the capacity of the
 * whole link.  So plain slow start follows, up to the window for that capacity.
 */
static void short_path_has_one_train(struct kunit *test)
{
	struct sock *sk = train(test, 10, 7);
	struct cpath *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 i;

	ca->probe.rtt_min_us = 200;
	for (i = 0; i < 10 && path_in_train(ca); i++)
		train_ack(sk, 121, 1, 200);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_SLOW_START);
	KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_NONE);
	EXPECT_NEAR(test, path_capacity(ca), link_bw(100), 20000);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), tp->packets_out + 10);
	/* 45 segments at 100 Mb/s: more than the path holds, with q0 */
	tcp_snd_cwnd_set(tp, 45);
	path_slow_start(sk, 1, 200);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	EXPECT_NEAR(test, ca->claim, link_bw(100), 20000);
	/* at 1 Gb/s: 20.6 segments, also if there was a delay of 4 ms */
	ca->probe.best[0].bw = link_bw(1000);
	ca->claim = link_bw(1000);
	ca->room = 4000 / PATH_QUEUE;
	path_enter(ca, PATH_SLOW_START);
	tcp_snd_cwnd_set(tp, 20);
	path_slow_start(sk, 0, 200);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_SLOW_START);
	tcp_snd_cwnd_set(tp, 21);
	path_slow_start(sk, 0, 200);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
}

/*
 * The switch is full: two segments of a train on a short path are lost.  Nothing else would be sent
 * while the train is under way, so the loss of its end would show only at a timeout.
 */
static void loss_ends_a_short_train(struct kunit *test)
{
	static const struct {
		u32 rtt_min_us, time_us, lost;
		bool ends;
	} c[] = {
		{ 200, 7, 2, true },
		/* one loss may be noise, if the train is not late */
		{ 200, 1210, 1, false },
		{ PATH_SHORT_US, 1210, 2, false },
	};
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		struct sock *sk = train(test, 10, c[i].time_us);
		struct cpath *ca = inet_csk_ca(sk);

		memset(ca->probe.best, 0, sizeof(ca->probe.best));
		ca->probe.rtt_min_us = c[i].rtt_min_us;
		for (j = 0; j < 6; j++)
			train_ack(sk, 121, 1, c[i].rtt_min_us);
		ca->round_lost = c[i].lost;
		path_slow_start(sk, 1, c[i].rtt_min_us);
		KUNIT_EXPECT_EQ(test, path_in_train(ca), !c[i].ends);
		if (!c[i].ends)
			continue;
		KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
		/* six segments arrived in a round trip, and the train shows the capacity */
		EXPECT_NEAR(test, ca->claim, 6 * (BIT(BW_SCALE) / 200), 1000);
		EXPECT_NEAR(test, path_capacity(ca), link_bw(100), 20000);
	}
}

/*
 * The end of a short train by losses, when the round trip is said to begin later (the route's MTU
 * has fallen, or a timeout was undone): the claim is at least that of one segment.  No rate is
 * known, but what leaves is paced.  A train at a remembered rate is over, too.
 */
static void lost_train_leaves_a_claim(struct kunit *test)
{
	struct rate_sample rs = { .acked_sacked = 1, .rtt_us = 300, .losses = 2 };
	struct sock *sk = train(test, 10, 7);
	struct cpath *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	memset(ca->probe.best, 0, sizeof(ca->probe.best));
	ca->probe.rtt_min_us = 200;
	ca->probe.rtt_s = 200 << 3;
	ca->room = 100 / PATH_QUEUE;
	ca->fell = 1;
	ca->train_zero = 1;
	train_ack(sk, 121, 1, 200);
	ca->probe.round_delivered = tp->delivered + 10;
	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	tp->delivered++;
	tp->lost_out = 2;
	ack(sk, &rs);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	/* the rest may be lost, too: this ACK releases the first retransmission */
	KUNIT_EXPECT_GT(test, tcp_snd_cwnd(tp), tcp_packets_in_flight(tp));
	EXPECT_NEAR(test, ca->claim, BIT(BW_SCALE) / 200, 1000);
	KUNIT_EXPECT_GT(test, sk->sk_pacing_rate, 0UL);
	KUNIT_EXPECT_FALSE(test, ca->fell);
}

/* Segments come late on a path whose handshake took 200 us: it is a short path. */
static void handshake_tells_a_short_path(struct kunit *test)
{
	struct sock *sk = train(test, 10, 7);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	minmax_reset(&tcp_sk(sk)->rtt_min, tcp_jiffies32, 200);
	ca->probe.rtt_min_us = 3000;
	for (i = 0; i < 10 && path_in_train(ca); i++)
		train_ack(sk, 121, 1, 3000);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_SLOW_START);
	KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_NONE);
}

/* Its handshake took 50 ms, and another congestion control has @out segments in flight. */
static struct sock *fresh(struct kunit *test, u32 cwnd, u32 ssthresh, u32 out)
{
	struct sock *sk = opened(test, cwnd);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_wnd = BIT(30);
	tp->snd_ssthresh = ssthresh;
	tp->srtt_us = 50000 << 3;
	minmax_reset(&tp->rtt_min, tcp_jiffies32, 50000);
	tp->tcp_mstamp = USEC_PER_SEC;
	tp->packets_out = out;
	tp->delivered = out ? 1000 : 1;
	tp->is_cwnd_limited = 1;
	path_init(sk);
	return sk;
}

/*
 * A flow changes to ccpd_path in avoidance.  Its window stays, and after two round trips the claim
 * is what was delivered, not the mean of that and of nothing.
 */
static void window_of_another_goes_on(struct kunit *test)
{
	struct sock *sk = fresh(test, 100, 50, 100);
	struct cpath *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 i, j;

	for (i = 0; i < 3; i++) {
		u32 from = tp->delivered;

		for (j = 0; j < 100; j++) {
			struct rate_sample rs = {
				.prior_delivered = from + j + 1 - 100, .delivered = 100,
				.interval_us = 50000, .rtt_us = 50000, .acked_sacked = 1,
			};

			tp->delivered++;
			tp->tcp_mstamp += 500;
			tp->tcp_clock_cache += 500000;
			tp->packets_out = 100;
			tp->max_packets_out = 100;
			ack(sk, &rs);
			if (!ca->claim)
				KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 100);
		}
	}
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	KUNIT_EXPECT_GE(test, ccpd_segs(ca->claim, 50000) >> SEG_SCALE, 99);
}

/* A loss in plain slow start was none: no train begins, since none was under way. */
static void undo_begins_no_train(struct kunit *test)
{
	struct sock *sk = fresh(test, 200, TCP_INFINITE_SSTHRESH, 200);
	struct rate_sample rs = { .acked_sacked = 1, .rtt_us = 50000 };
	struct tcp_sock *tp = tcp_sk(sk);

	ack(sk, &rs);
	tp->prior_cwnd = tcp_snd_cwnd(tp);
	path_ssthresh(sk);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	rs.losses = 1;
	ack(sk, &rs);
	tcp_snd_cwnd_set(tp, path_undo_cwnd(sk));
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
	rs.losses = 0;
	tp->packets_out = 20;
	ack(sk, &rs);
	KUNIT_EXPECT_FALSE(test, path_in_train(inet_csk_ca(sk)));
	KUNIT_EXPECT_GE(test, tcp_snd_cwnd(tp), 200);
}

/* The first ACK of the initial window has a mark, before a round trip of data is known. */
static void first_ack_may_have_a_mark(struct kunit *test)
{
	struct sock *sk = fresh(test, 10, TCP_INFINITE_SSTHRESH, 0);
	struct cpath *ca = inet_csk_ca(sk);

	tcp_sk(sk)->packets_out = 10;
	path_ssthresh(sk);
	path_set_state(sk, TCP_CA_CWR);
	EXPECT_NEAR(test, ca->claim, 10 * (BIT(BW_SCALE) / 50000) * 85 / 100, 5000);
}

/* A mark in slow start after a timeout: the claim from before the timeout does not rise. */
static void mark_raises_no_claim(struct kunit *test)
{
	struct rate_sample rs = { .acked_sacked = 1, .rtt_us = 50000 };
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);

	ca->probe.rate[1] = link_bw(100);
	ca->claim = link_bw(20);
	tcp_sk(sk)->snd_ssthresh = path_ssthresh(sk);
	path_set_state(sk, TCP_CA_Loss);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Loss;
	tcp_snd_cwnd_set(tcp_sk(sk), 4);
	ack(sk, &rs);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_SLOW_START);
	path_set_state(sk, TCP_CA_CWR);
	KUNIT_EXPECT_LE(test, ca->claim, link_bw(20));
}

/*
 * On a short path each two segments that arrive during a repair release one, even if the law asks
 * for less: nothing else would show that what is in flight was lost.
 */
static void short_repair_keeps_its_clock(struct kunit *test)
{
	struct rate_sample rs = { .acked_sacked = 1, .rtt_us = 400 };
	struct sock *sk = flow(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);

	ca->probe.rtt_min_us = 200;
	ca->probe.rtt_s = 400 << 3;
	ca->noise = 0;
	ca->claim = link_bw(10);
	tp->packets_out = 20;
	tp->delivered = 300;
	ack(sk, &rs);
	KUNIT_EXPECT_LT(test, tcp_snd_cwnd(tp), 20);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	ack(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 20);
	tp->delivered++;
	ack(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 20 + 1);
	rs.acked_sacked = 6;
	ack(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 20 + 3);
	ca->probe.rtt_min_us = PATH_SHORT_US;
	ca->probe.rtt_s = 2 * PATH_SHORT_US << 3;
	rs.rtt_us = 2 * PATH_SHORT_US;
	ack(sk, &rs);
	KUNIT_EXPECT_LT(test, tcp_snd_cwnd(tp), 20);
}

/* Ten segments have five ACKs and four gaps, which are never equal on a real host. */
static void short_train_has_uneven_gaps(struct kunit *test)
{
	static const u32 gap_us[] = { 0, 1209, 1222, 1213, 1212 };
	struct sock *sk = train(test, 10, 1250);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(gap_us); i++)
		train_ack(sk, gap_us[i], 2, 50000);
	expect_late(test, sk, 20);
}

/* The ACK of the last of 13 segments waited for the delayed-ACK timer: it does not count. */
static void odd_train_has_no_gap(struct kunit *test)
{
	struct sock *sk = train(test, 13, 5000);
	u32 i;

	for (i = 0; i < 6; i++)
		train_ack(sk, 1211, 2, 50000);
	train_ack(sk, 40000, 1, 0);
	expect_late(test, sk, 20);
}

/*
 * The way back is congested, and the ACKs of a train come almost together.  The peer's time stamps
 * show when the train arrived.  Time stamps in us are not used.
 */
static void acks_come_closer_than_the_train(struct kunit *test)
{
	static const u32 ticks[] = { 1, 1000 };
	u32 i, j;

	for (j = 0; j < ARRAY_SIZE(ticks); j++) {
		struct sock *sk = train(test, 250, 1600);
		struct cpath *ca = inet_csk_ca(sk);

		/* 250 segments of 121 us each, whose ACKs are 6 us apart */
		for (i = 0; i < 250 && path_in_train(ca); i++) {
			tcp_sk(sk)->rx_opt.rcv_tsval = U32_MAX + i * 121 / 1000 * ticks[j];
			train_ack(sk, 6, 1, 50000 - i * 115);
		}
		if (ticks[j] == 1) {
			KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
			/* rounding removes one ms, of five or more */
			KUNIT_EXPECT_GE(test, ca->claim, link_bw(100));
			KUNIT_EXPECT_LE(test, ca->claim, link_bw(125));
		} else {
			KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_SENT);
		}
	}
}

/* Each segment has its own ACK, and no ACK has an rtt: this is not a queue of others. */
static void untimed_train_tells_of_no_queue(struct kunit *test)
{
	struct sock *sk = train(test, 50, 40000);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	for (i = 0; i < 50; i++)
		train_ack(sk, 800, 1, 0);
	KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_SENT);
}

/* If a train arrives at the rate at which it was sent, the next train is faster and longer. */
static void train_in_time_grows(struct kunit *test)
{
	u32 time_us = 50 * 1514 * 8 / 50, i, tries;
	struct sock *sk = train(test, 50, time_us);
	struct cpath *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	for (i = 0; i < 46; i++)
		train_ack(sk, 242, 1, 50000);
	/* only the train was sent, so cwnd is the number of its segments still in flight */
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 4);
	train_ack(sk, 242, 1, 50000);
	KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_SENT);
	KUNIT_EXPECT_EQ(test, path_train_segs(ca), 101);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 3 + 101);
	/*
	 * if the host had too little to send, the same train is sent again, but not for ever: a
	 * host that cannot send as fast as a train would then wait in each round trip
	 */
	for (tries = 1; tries <= PATH_HELD; tries++) {
		KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_SENT);
		KUNIT_EXPECT_EQ(test, path_train_segs(ca), 101);
		tp->packets_out = 104;
		ca->train_limited = 1;
		for (i = 0; i < 10 || (i < 120 && ca->train > TRAIN_SENT); i++)
			train_ack(sk, 121, 1, 50000);
	}
	KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_NONE);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_SLOW_START);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), tcp_packets_in_flight(tp) + 101);

	/* an idle time restarts the count */
	path_train_send(sk, 101, time_us);
	KUNIT_EXPECT_TRUE(test, ca->rounds == PATH_HELD);
	tp->app_limited = 1;
	tp->delivered_mstamp = tp->tcp_mstamp - USEC_PER_SEC;
	path_tx_start(sk);
	KUNIT_EXPECT_TRUE(test, ca->rounds == 0);
	KUNIT_EXPECT_TRUE(test, path_in_train(ca));
}

/* A single gap between batches is not enough: the next train takes four times as long as it. */
static void batch_makes_the_train_longer(struct kunit *test)
{
	struct sock *sk = train(test, 100, 1600);
	struct cpath *ca = inet_csk_ca(sk);

	train_ack(sk, 0, 50, 50000);
	train_ack(sk, 4000, 50, 50000);
	KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_SENT);
	KUNIT_EXPECT_EQ(test, ca->train_us, 4 * 4000);
}

/*
 * A path of 2 ms and 32 Mb/s, on which packets arrive every 1.5 ms: no train has four gaps.  The
 * longest train takes one round trip.  If it is late, its mean rate is claimed, without one gap.
 */
static void longest_train_is_the_last(struct kunit *test)
{
	struct sock *sk = train(test, 14, 2000);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	ca->probe.rtt_min_us = 2000;
	train_ack(sk, 0, 2, 2000);
	for (i = 0; i < 3; i++)
		train_ack(sk, 1500, 4, 2500);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	EXPECT_NEAR(test, ca->claim, 14 * (BIT(BW_SCALE) / 3000), 1000);
}

/* A train has many losses without a queue: a longer train measures the rate of the policer. */
static void policer_in_the_start(struct kunit *test)
{
	struct sock *sk = train(test, 1000, 1600);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	ca->room = 0;
	for (i = 0; i < 2; i++) {
		u32 segs = path_train_segs(ca);

		tcp_sk(sk)->packets_out = segs;
		train_ack(sk, 1000, 10, 50000);
		ca->round_lost = segs - 200;
		tcp_sk(sk)->lost += segs - 200;
		tcp_sk(sk)->packets_out = 190;
		train_ack(sk, 1000, 190, 50000);
		if (!i) {
			KUNIT_EXPECT_EQ(test, path_train_segs(ca), 1000);
			KUNIT_EXPECT_EQ(test, ca->train_us, 50000);
		}
	}
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	KUNIT_EXPECT_TRUE(test, ca->capped);
	/* three quarters of 200 segments in 50 ms */
	EXPECT_NEAR(test, ca->cap, 150 * (BIT(BW_SCALE) / 50000), 5000);

	/* or the rate after the policer's bucket is empty: 16 segments in a ms, then 6 */
	sk = train(test, 1000, 50000);
	ca = inet_csk_ca(sk);
	ca->room = 0;
	for (i = 0; i < 50; i++) {
		ca->round_lost += i < 25 ? 4 : 14;
		tcp_sk(sk)->lost += i < 25 ? 4 : 14;
		train_ack(sk, 1000, i < 25 ? 16 : 6, 50000);
	}
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	KUNIT_EXPECT_TRUE(test, ca->capped);
	EXPECT_NEAR(test, ca->cap, 6 * (BIT(BW_SCALE) / 1000), 10000);
}

/*
 * The end of a train of 50 is lost in a small buffer.  The segments before it, which were late, are
 * enough to measure the rate.  One loss in a train of 50 is noise.
 */
static void overflow_ends_the_train(struct kunit *test)
{
	struct sock *sk = train(test, 50, 1600);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	for (i = 0; i < 19; i++)
		train_ack(sk, 121, 1, 50000 + i * 90);
	ca->round_lost = 1;
	train_ack(sk, 121, 1, 52000);
	KUNIT_EXPECT_TRUE(test, path_in_train(ca));
	ca->round_lost = 3;
	train_ack(sk, 121, 1, 52000);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	EXPECT_NEAR(test, ca->claim, link_bw(100), 20000);
}

/*
 * A train of 100 arrives in two batches, and loses 40 segments beside a queue.  It has no rate.
 * The next train has as many segments as arrived, in a round trip.  After 20 losses the next train
 * is longer.
 */
static void train_too_fast(struct kunit *test)
{
	static const u32 lost[] = { 40, 20 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lost); i++) {
		struct sock *sk = train(test, 100, 1600);
		struct cpath *ca = inet_csk_ca(sk);

		train_ack(sk, 0, 30, 50000);
		ca->round_lost = lost[i];
		tcp_sk(sk)->lost += lost[i];
		tcp_sk(sk)->packets_out = 70 - lost[i];
		train_ack(sk, 4000, 70 - lost[i], 50000);
		KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_SENT);
		if (i) {
			KUNIT_EXPECT_GT(test, path_train_segs(ca), 100);
		} else {
			KUNIT_EXPECT_EQ(test, path_train_segs(ca), 60);
			KUNIT_EXPECT_EQ(test, ca->train_us, ca->probe.rtt_min_us);
		}
	}
}

/*
 * A TSO burst takes at most rtt_min/16, and no longer than TCP's default.  A shift that a driver
 * has set is kept.
 */
static void bursts_are_short(struct kunit *test)
{
	static const struct {
		u32 rtt_us;
		u8 before, after;
	} seen[] = {
		{ 40000, 10, 10 }, { 16384, 10, 10 }, { 16383, 10, 11 }, { 2000, 10, 14 },
		{ 100, 12, 14 }, { 40000, 14, 10 }, { 2000, 8, 8 }, { U32_MAX, 10, 10 },
	};
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(seen); i++) {
		sk->sk_pacing_shift = seen[i].before;
		ca->probe.rtt_min_us = seen[i].rtt_us;
		path_set_burst(sk);
		KUNIT_EXPECT_EQ(test, sk->sk_pacing_shift, seen[i].after);
	}
	/* the next congestion control gets TCP's default */
	sk->sk_pacing_shift = 14;
	path_release(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_shift, 10);
}

/*
 * If ACKs come in bunches, the base is an average over many round trips, so that one round trip
 * with a low mean by chance changes it little.
 */
static void bunches_are_averaged(struct kunit *test)
{
	struct cpath c = { .mode = PATH_AVOIDANCE, .bunches = PATH_BUNCHES, .claim = link_bw(20) };

	c.probe.rtt_min_us = 10000;
	c.room = 30000 / PATH_QUEUE;
	path_set_noise(&c, 6400);
	/* a round trip with a lower mean moves the base an eighth of the way */
	c.probe.round_rtt_us = 10000;
	c.delay_sum = 10 * 1600 / PATH_NOISE;
	KUNIT_EXPECT_EQ(test, path_learn_base(&c, 10, 2500), 0);
	EXPECT_NEAR(test, path_noise_us(&c), 6400 - 4800 / 8, 20000);
	/* so does a round trip with larger differences of delay, if the queue ran empty */
	c.delay_sum = 10 * 9600 / PATH_NOISE;
	path_learn_base(&c, 10, 2500);
	EXPECT_NEAR(test, path_noise_us(&c), 5800 + 3800 / 8, 20000);
	c.probe.round_rtt_us = 15000;
	c.delay_sum = 10 * 14400 / PATH_NOISE;
	path_learn_base(&c, 10, 2500);
	EXPECT_NEAR(test, path_noise_us(&c), 5800 + 3800 / 8, 20000);
}

/*
 * Bunches of 14 ms on a path of 10 ms: all segments that one releases wait for another one.  With
 * few segments in a round trip that is no queue.  With more it may be ours.  Above 40 ms it is a
 * queue of many flows.
 */
static void few_wait_for_the_next_bunch(struct kunit *test)
{
	struct cpath c = { .mode = PATH_AVOIDANCE, .bunches = PATH_BUNCHES };
	u32 least, i;

	c.probe.rtt_min_us = 10000;
	c.probe.round_rtt_us = 27000;
	c.probe.rtt_s = 28000 << 3;
	c.room = 30000 / PATH_QUEUE;
	path_set_noise(&c, 6400);
	c.delay_sum = 10 * 17920 / PATH_NOISE;
	least = path_least_claim(&c);
	c.claim = 3 * least;
	path_learn_base(&c, 10, 2500);
	KUNIT_EXPECT_EQ(test, path_noise_us(&c), 6400);
	c.claim = 2 * least;
	path_learn_base(&c, 10, 2500);
	EXPECT_NEAR(test, path_noise_us(&c), 6400 + 11520 / 8, 20000);
	/* until they take no more than q0 longer */
	for (i = 0; i < 30; i++)
		path_learn_base(&c, 10, 2500);
	EXPECT_NEAR(test, path_noise_us(&c), 14500, 40000);
	path_set_noise(&c, 6400);
	c.delay_sum = 10 * 41600 / PATH_NOISE;
	path_learn_base(&c, 10, 2500);
	KUNIT_EXPECT_EQ(test, path_noise_us(&c), 6400);
	c.delay_sum = 10 * 39680 / PATH_NOISE;
	path_learn_base(&c, 10, 2500);
	EXPECT_NEAR(test, path_noise_us(&c), 6400 + 33280 / 8, 20000);
	c.delay_sum = 10 * 17920 / PATH_NOISE;
	c.bunches = 0;
	path_set_noise(&c, 6400);
	path_learn_base(&c, 10, 2500);
	KUNIT_EXPECT_EQ(test, path_noise_us(&c), 6400);
}

/*
 * If a packet met an empty path in a round trip, the claim stays, even if less was delivered.
 * Beside a queue it falls.
 */
static void empty_path_keeps_the_claim(struct kunit *test)
{
	struct cpath *ca = inet_csk_ca(flow(test));
	u32 claim = ca->claim;

	ca->room = 50000 / PATH_QUEUE;
	ca->probe.round_rtt_us = ca->probe.rtt_min_us + 1000;
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, claim / 2, 100, 0, claim, 3000, 2500), claim);
	ca->probe.round_rtt_us = ca->probe.rtt_min_us + 2000;
	KUNIT_EXPECT_LT(test, path_next_claim(ca, claim / 2, 100, 0, claim, 3000, 2500), claim);
	/* a queue on the way back */
	ca->back = 10;
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, claim / 2, 100, 0, claim, 3000, 2500), claim);
}

/*
 * On a path of 1.5 ms a burst takes a large part of a round trip.  The claim is kept if any ACK of
 * the round trip has shown its rate; the rate of the last ACK alone does not count.
 */
static void burst_is_counted_whole(struct kunit *test)
{
	struct rate_sample rs = { .delivered = 12, .interval_us = 12 * 121 };
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 claim = ca->claim;

	KUNIT_EXPECT_FALSE(test, path_has_met(ca, &rs));
	ca->probe.rtt_min_us = 1500;
	KUNIT_EXPECT_TRUE(test, path_has_met(ca, &rs));
	rs.delivered = 11;
	KUNIT_EXPECT_FALSE(test, path_has_met(ca, &rs));
	ca->room = 1500 / PATH_QUEUE;
	ca->probe.rtt_s = 2500 << 3;
	ca->probe.round_rtt_us = 2500;
	tcp_sk(sk)->delivered = 12;
	ca->met = 1;
	path_round(sk, claim / 2);
	KUNIT_EXPECT_GE(test, ca->claim, claim);
	ca->met = 0;
	path_round(sk, claim / 2);
	KUNIT_EXPECT_LT(test, ca->claim, claim);
}

/* The pacing rate for @claim with a queue of @queue_us, bytes per second */
static u64 paced_at(struct sock *sk, u32 claim, u32 queue_us)
{
	struct cpath *ca = inet_csk_ca(sk);

	ca->claim = claim;
	ca->probe.rtt_s = (ca->probe.rtt_min_us + queue_us) << 3;
	path_pace(sk, false, path_capacity(ca));
	return sk->sk_pacing_rate;
}

/*
 * A path of 1.5 ms at 100 Mb/s with a buffer of five segments, where TSO bursts have 11 segments.
 * There segments leave one by one.  If a queue stands, they are paced at the capacity at most;
 * without a queue at 1/16 more.  With a larger buffer bursts are as long as the device allows.  At
 * a higher rate a packet has what the path carries in 32 us.  If the capacity moves bursts are long
 * too, but at most two segments where ACKs clock them, as they do with fewer than 8 segments of
 * buffer.
 */
static void small_buffer_takes_small_packets(struct kunit *test)
{
	struct net_device *dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	struct dst_entry *dst = kunit_kzalloc(test, sizeof(*dst), GFP_KERNEL);
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = link_bw(100);

	KUNIT_ASSERT_NOT_NULL(test, dev);
	KUNIT_ASSERT_NOT_NULL(test, dst);
	dev->gso_max_segs = 64;
	dst->dev = dev;
	rcu_assign_pointer(sk->sk_dst_cache, dst);
	sk->sk_gso_max_segs = 64;
	ca->probe.rtt_min_us = 1500;
	ca->probe.round_rtt_us = 1500;
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 64);
	ca->room = 600 / PATH_QUEUE;
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 1);
	KUNIT_EXPECT_EQ(test, paced_at(sk, link_bw(120), 300), ccpd_bytes_ps(bw, 1448));
	KUNIT_EXPECT_EQ(test, paced_at(sk, link_bw(120), 0), ccpd_bytes_ps(bw + bw / 16, 1448));
	ca->moves = PATH_MOVES;
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 2);
	KUNIT_EXPECT_GE(test, paced_at(sk, link_bw(120), 300), ccpd_bytes_ps(link_bw(120), 1448));
	ca->room = 1200 / PATH_QUEUE;
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 64);
	ca->moves = 0;
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 1);
	/* 3 ms at 100 Mb/s hold more than two bursts (22 segments) */
	ca->room = 3000 / PATH_QUEUE;
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 64);
	ca->room = 300 / PATH_QUEUE;
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 1);
	/* 31 250 segments in a second, and fewer than 8 of buffer: ACKs clock */
	ccpd_pair_add(&ca->probe, link_bw(800), 1000);
	ca->room = 80 / PATH_QUEUE;
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 2);
	ca->room = 160 / PATH_QUEUE;
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 3);
	/* a policer's cap makes a buffer of 13 segments one of 3 */
	ca->cap = link_bw(200);
	ca->capped = 1;
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 2);
	ca->capped = 0;
	ca->room = 800 / PATH_QUEUE;
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 64);
	/* the next congestion control gets the device's value */
	sk->sk_gso_max_segs = 1;
	path_release(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 64);
}

/*
 * A packet never has more segments than sk_setup_caps() allows: what the device takes, or one if
 * the socket has no GSO (TCP-MD5 signs a segment).  Such a socket is not one whose segments leave
 * one by one by our choice.  Without a route the limit stays, since sk_setup_caps() sets it next.
 */
static void packets_are_no_larger_than_allowed(struct kunit *test)
{
	struct net_device *dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	struct dst_entry *dst = kunit_kzalloc(test, sizeof(*dst), GFP_KERNEL);
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);

	KUNIT_ASSERT_NOT_NULL(test, dev);
	KUNIT_ASSERT_NOT_NULL(test, dst);
	dst->dev = dev;
	rcu_assign_pointer(sk->sk_dst_cache, dst);
	dev->gso_max_segs = 8;
	sk->sk_gso_max_segs = 8;
	path_limit_burst(sk, 3);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 3);
	path_limit_burst(sk, 27);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 8);
	path_limit_burst(sk, 1);
	KUNIT_EXPECT_TRUE(test, path_is_single(sk));
	path_limit_burst(sk, 0);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 8);
	dev->gso_max_segs = 1;
	path_limit_burst(sk, 2);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 1);

	dev->gso_max_segs = 64;
	sk_gso_disable(sk);
	path_limit_burst(sk, 2);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 1);
	ca->probe.rtt_min_us = 50000;
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 1);
	path_release(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 1);
	KUNIT_EXPECT_FALSE(test, path_is_single(sk));

	RCU_INIT_POINTER(sk->sk_dst_cache, NULL);
	path_limit_burst(sk, 0);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 1);
}

/*
 * A path of 1.5 ms with a buffer of five segments: an ACK for two segments releases three, without
 * pacing.  An ACK for many does not, because that would be a burst.  With a large buffer (in
 * segments) no ACK does, because the buffer holds a burst.
 */
static void acks_clock_a_short_path(struct kunit *test)
{
	struct rate_sample rs = { .acked_sacked = 2, .rtt_us = 1600 };
	struct sock *sk = flow(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);

	KUNIT_EXPECT_FALSE(test, path_clock(sk, 2, link_bw(100)));
	ca->probe.rtt_min_us = 1500;
	ca->probe.round_rtt_us = 1500;
	ca->probe.rtt_s = 1600 << 3;
	ca->room = 600 / PATH_QUEUE;
	KUNIT_EXPECT_TRUE(test, path_clock(sk, 2, link_bw(100)));
	KUNIT_EXPECT_FALSE(test, path_clock(sk, 4, link_bw(100)));
	KUNIT_EXPECT_FALSE(test, path_clock(sk, 2, link_bw(1000)));
	tp->packets_out = 5;
	tp->tcp_clock_cache = NSEC_PER_SEC;
	tcp_snd_cwnd_set(tp, 7);
	ack(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 8);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_rate, ~0UL);
}

/*
 * Loopback: segments wait 0.4 ms for a processor, which is no queue, and they are not paced.  On a
 * path of 32 us that is a queue, and the window becomes smaller.  There, and up to 512 us, they are
 * paced after the first loss or mark.
 */
static void nothing_waits_inside_a_host(struct kunit *test)
{
	struct rate_sample rs = { .acked_sacked = 2, .rtt_us = 400 };
	struct sock *sk = flow(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);

	ca->claim = link_bw(20000);
	memset(ca->probe.best, 0, sizeof(ca->probe.best));
	ccpd_pair_add(&ca->probe, link_bw(20000), 100000);
	ca->room = 400 / PATH_QUEUE;
	ca->probe.rtt_min_us = 31;
	ca->probe.round_rtt_us = 400;
	ca->probe.rtt_s = 400 << 3;
	tp->packets_out = 700;
	tp->tcp_clock_cache = NSEC_PER_SEC;
	tcp_snd_cwnd_set(tp, 710);
	ack(sk, &rs);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_rate, ~0UL);
	KUNIT_EXPECT_GE(test, tcp_snd_cwnd(tp), 710);
	ca->probe.rtt_min_us = 32;
	ack(sk, &rs);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_rate, ~0UL);
	KUNIT_EXPECT_LT(test, tcp_snd_cwnd(tp), 710);
	tp->total_retrans = 1;
	ack(sk, &rs);
	KUNIT_EXPECT_LT(test, sk->sk_pacing_rate, ~0UL);
	tp->total_retrans = 0;
	tp->delivered_ce = 1;
	KUNIT_EXPECT_FALSE(test, path_is_free(sk, 511));
	tp->delivered_ce = 0;
	KUNIT_EXPECT_TRUE(test, path_is_free(sk, 511));
	KUNIT_EXPECT_FALSE(test, path_is_free(sk, 512));
}

/*
 * 83 segments fill a path of 10 ms at 100 Mb/s, and a quarter of the buffer is five segments.  87
 * are in flight, and the law asks for more.  Five of these leave as a timed burst.  The others are
 * paced.  With a larger buffer all of them leave as a timed burst.
 */
static void timed_burst_is_part_of_the_buffer(struct kunit *test)
{
	struct rate_sample rs = { .acked_sacked = 2, .rtt_us = 10000 };
	struct sock *sk = flow(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);

	ca->noise = 0;
	tp->tcp_clock_cache = NSEC_PER_SEC;
	tp->write_seq = 100 * 1448;
	tp->snd_wnd = 100 * 1448;
	tp->packets_out = 87;
	ca->room = 2500 / PATH_QUEUE;
	ca->probe.rtt_min_us = 10000;
	ca->probe.round_rtt_us = 10000;
	ca->probe.rtt_s = 10000 << 3;
	ack(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 87 + 5);
	KUNIT_EXPECT_EQ(test, ca->probe.pair_end, 5 * 1448);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_rate, ~0UL);
	/* the burst has left: the others are paced */
	tp->snd_nxt = 5 * 1448;
	ack(sk, &rs);
	KUNIT_EXPECT_GT(test, tcp_snd_cwnd(tp), 95);
	KUNIT_EXPECT_LT(test, sk->sk_pacing_rate, ~0UL);

	sk = flow(test);
	tp = tcp_sk(sk);
	ca = inet_csk_ca(sk);
	ca->noise = 0;
	ca->claim = link_bw(10);
	tp->tcp_clock_cache = NSEC_PER_SEC;
	tp->write_seq = 100 * 1448;
	tp->snd_wnd = 100 * 1448;
	tp->packets_out = 40;
	rs.rtt_us = 50000;
	ack(sk, &rs);
	KUNIT_EXPECT_GT(test, tcp_snd_cwnd(tp), 45);
	KUNIT_EXPECT_EQ(test, ca->probe.pair_end, (tcp_snd_cwnd(tp) - 40) * 1448);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_rate, ~0UL);
}

/*
 * Beside a rival pacing is at most twice the claim, not twice the capacity.  At that rate all
 * segments that a look has withdrawn would leave as a burst after the look.
 */
static void rival_meets_no_burst(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);

	ca->rival = PATH_FOREIGN;
	KUNIT_EXPECT_EQ(test, paced_at(sk, link_bw(20), 0), ccpd_bytes_ps(2 * link_bw(20), 1448));
	ca->rival = PATH_FRIENDLY;
	KUNIT_EXPECT_EQ(test, paced_at(sk, link_bw(20), 0),
			ccpd_bytes_ps(link_bw(20) + link_bw(20) / 4, 1448));
}

/*
 * A path that holds 12 segments and has a buffer of 9.  While segments are missing, few are in
 * flight, and the law asks for more.  More than 21 would be lost again.  If no delay of 2 * q0 was
 * ever seen, no buffer was full, and the losses are noise.
 */
static void no_more_than_the_path_holds(struct kunit *test)
{
	struct rate_sample rs = { .acked_sacked = 5, .rtt_us = 1600 };
	struct sock *sk = flow(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);

	ca->probe.rtt_min_us = 1500;
	ca->probe.round_rtt_us = 1500;
	ca->probe.rtt_s = 1600 << 3;
	ca->room = 1100 / PATH_QUEUE;
	tp->packets_out = 2;
	tp->tcp_clock_cache = NSEC_PER_SEC;
	ack(sk, &rs);
	EXPECT_NEAR(test, tcp_snd_cwnd(tp), 33, 1);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	tp->tcp_clock_cache = 2 * NSEC_PER_SEC;
	ack(sk, &rs);
	EXPECT_NEAR(test, tcp_snd_cwnd(tp), 21, 1);
	ca->room = 700 / PATH_QUEUE;
	tp->tcp_clock_cache = 3ULL * NSEC_PER_SEC;
	ack(sk, &rs);
	EXPECT_NEAR(test, tcp_snd_cwnd(tp), 30, 1);
}

/*
 * 300 of 400 segments are missing, and a queue of 40 ms stands.  Whatever the claim is, an ACK
 * releases the segments that it acknowledges, plus one if nothing was lost in this round trip.  But
 * as much as a recent round trip delivered may be in flight.  Without the queue other flows have
 * left, and the window is that of the claim; so it is if the capacity moves, or if few are missing.
 */
static void repair_is_no_flood(struct kunit *test)
{
	struct rate_sample rs = { .acked_sacked = 2, .rtt_us = 90000 };
	struct sock *sk = flow(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);

	ca->probe.rtt_s = 90000 << 3;
	tp->srtt_us = 90000 << 3;
	tp->packets_out = 400;
	tp->lost_out = 300;
	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	tp->rx_opt.rcv_tsecr = 1;
	ca->back = PATH_NO_CLOCK;
	ack(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 100 + 2 + 1);
	/* no limit without time stamps, because it is not seen when the queue is gone */
	tp->rx_opt.rcv_tsecr = 0;
	tcp_snd_cwnd_set(tp, 412);
	path_repair(sk, 2, link_bw(100));
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 412);
	tp->rx_opt.rcv_tsecr = 1;
	ca->round_lost = 1;
	ack(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 100 + 2);
	ca->probe.rate[0] = link_bw(50);
	ack(sk, &rs);
	EXPECT_NEAR(test, tcp_snd_cwnd(tp), 412 / 2, 1);
	ca->probe.rate[0] = 0;
	ca->moves = PATH_MOVES;
	ack(sk, &rs);
	KUNIT_EXPECT_GE(test, tcp_snd_cwnd(tp), 412 * 3 / 4);
	ca->moves = 0;
	/* the queue was that of a train, and is gone */
	ca->late = 1;
	ca->rounds = 0;
	ack(sk, &rs);
	KUNIT_EXPECT_GE(test, tcp_snd_cwnd(tp), 412 * 3 / 4);
	ca->rounds = 1;
	ack(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 100 + 2);
	ca->late = 0;
	tp->lost_out = 20;
	ack(sk, &rs);
	KUNIT_EXPECT_GE(test, tcp_snd_cwnd(tp), 412 * 3 / 4);
	tp->lost_out = 300;
	tp->srtt_us = 52000 << 3;
	ack(sk, &rs);
	KUNIT_EXPECT_GE(test, tcp_snd_cwnd(tp), 412 * 3 / 4);
}

/* However large the queue is, the window is at least 3/4 of claim * base (412 segments). */
static void window_keeps_most_of_the_claim(struct kunit *test)
{
	struct rate_sample rs = { .acked_sacked = 1, .rtt_us = 200000 };
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);

	ca->noise = 0;
	ca->room = 400000 / PATH_QUEUE;
	ca->probe.rtt_s = 200000 << 3;
	tcp_sk(sk)->packets_out = 1600;
	ack(sk, &rs);
	EXPECT_NEAR(test, tcp_snd_cwnd(tcp_sk(sk)), 412 * 3 / 4, 1);
}

/*
 * Segments lost without a queue count as delivered, but only up to the capacity.  Beyond that a
 * small buffer has overflowed, and was soon empty again.
 */
static void losses_do_not_raise_the_claim(struct kunit *test)
{
	struct cpath *ca = inet_csk_ca(flow(test));
	u32 bw = ca->claim;

	KUNIT_EXPECT_EQ(test, path_next_claim(ca, bw, 100, 12, bw, 3000, 3000), bw);
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, bw - bw / 16, 100, 12, bw, 3000, 3000), bw);
	bw /= 2;
	ca->claim = bw;
	KUNIT_EXPECT_GT(test, path_next_claim(ca, bw, 100, 12, 2 * bw, 3000, 3000), bw + bw / 16);
}

/*
 * Losses were wrongly taken for those of a policer, and no pair is ever seen.  The cap rises
 * without further losses, and the delivered rate and the claim follow it.
 */
static void cap_without_a_pair_ends(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 rate, i;

	ca->probe.best[0].bw = 0;
	ca->claim = link_bw(4);
	ca->probe.rate[0] = ca->claim;
	ca->cap = ca->claim;
	ca->capped = 1;
	ca->rounds = PATH_ROUNDS;
	ca->rtt_min_stamp = path_now(sk);
	for (i = 0; i < 100; i++) {
		tcp_sk(sk)->delivered += 20;
		ca->delay_sum = 0;
		ca->probe.round_rtt_us = 50000;
		/* paced at 17/16 of the capacity; batches of ACKs hide the sixteenth */
		rate = min(ca->claim + ca->claim / 4, path_capacity(ca));
		ca->probe.rate[0] = max(ca->probe.rate[0], rate);
		path_round(sk, rate);
		ca->probe.round_delivered = tcp_sk(sk)->delivered;
	}
	KUNIT_EXPECT_GT(test, ca->claim, link_bw(8));
}

/* Losses beside a queue, or with ACKs in bunches, are not a policer's. */
static void bursts_are_not_policed(struct kunit *test)
{
	struct cpath *ca = inet_csk_ca(flow(test));
	u32 bw = ca->claim, rate = bw / 4;

	ca->room = 50000 / PATH_QUEUE;
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, rate, 100, 20, bw, 3000, 4000), bw / 2);
	KUNIT_EXPECT_FALSE(test, ca->capped);
	ca->bunches = PATH_BUNCHES;
	ca->probe.rate[0] = 2 * bw;
	KUNIT_EXPECT_EQ(test, path_moving_rate(ca), 2 * bw);
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, rate, 100, 20, bw, 3000, 0), bw / 2);
	KUNIT_EXPECT_FALSE(test, ca->capped);
	/* the largest delivered rate has overflowed a buffer: the claim is used instead */
	KUNIT_EXPECT_EQ(test, path_moving_rate(ca), bw);
	ca->bunches = 0;
	KUNIT_EXPECT_EQ(test, path_moving_rate(ca), 0);
	path_next_claim(ca, rate, 100, 20, bw, 3000, 0);
	path_next_claim(ca, rate, 100, 20, bw, 3000, 0);
	KUNIT_EXPECT_TRUE(test, ca->capped);
}

/*
 * If ACKs come in bunches, two losses beside a queue are an overflow.  Without a queue they are
 * noise, and so is one loss.
 */
static void bunches_answer_a_loss(struct kunit *test)
{
	struct cpath *ca = inet_csk_ca(flow(test));
	u32 bw = ca->claim;

	KUNIT_EXPECT_GE(test, path_next_claim(ca, bw, 80, 2, bw, 3000, 3000), bw);
	ca->bunches = PATH_BUNCHES;
	KUNIT_EXPECT_GE(test, path_next_claim(ca, bw, 80, 2, bw, 3000, 2999), bw);
	KUNIT_EXPECT_GE(test, path_next_claim(ca, bw, 20, 1, bw, 3000, 3000), bw);
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, bw, 80, 2, bw, 3000, 3000), bw - bw / 4);
	/* the largest delivered rate was too much: the claim is used instead */
	ca->probe.rate[0] = 2 * bw;
	KUNIT_EXPECT_EQ(test, path_moving_rate(ca), bw);
}

/*
 * A buffer of four segments cannot lose many, so a few losses are an overflow.  With a large buffer
 * they are random losses.
 */
static void small_buffer_answers_a_few_losses(struct kunit *test)
{
	struct cpath *ca = inet_csk_ca(flow(test));
	u32 bw = ca->claim, rate = bw - bw / 8;

	ca->room = 50000 / PATH_QUEUE;
	KUNIT_EXPECT_GE(test, path_next_claim(ca, rate, 8, 2, bw, 3000, 1000), bw);
	ca->room = 480 / PATH_QUEUE;
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, rate, 8, 2, bw, 3000, 1000), rate);
	KUNIT_EXPECT_GE(test, path_next_claim(ca, rate, 16, 2, bw, 3000, 1000), bw);
	/* a much lower delivered rate may be a stall: the claim falls by a quarter at most */
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, bw / 2, 8, 2, bw, 3000, 1000), bw - bw / 4);
	/* the path is empty only because of the losses, so this does not keep the claim */
	KUNIT_EXPECT_LT(test, path_next_claim(ca, rate / 2, 5, 1, bw, 3000, 1500), bw);
}

/*
 * Jitter of rtt_min/4 may have stretched a late train: the claim is twice the delivered rate in
 * each round trip, until a queue stands.
 */
static void late_train_may_be_jitter(struct kunit *test)
{
	struct cpath *ca = inet_csk_ca(flow(test));
	u32 bw = ca->claim, rtt_min_us = ca->probe.rtt_min_us, noise_us = rtt_min_us / 4;

	ca->probe.round_rtt_us = rtt_min_us + noise_us / 2;
	path_set_noise(ca, noise_us);
	ca->late = 1;
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, bw, 100, 0, bw, 3000, 2000), 2 * bw);
	/* it stays if the effect of the last claim is not seen yet, or if too little was sent */
	ca->claim = 2 * bw;
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, bw, 100, 2, bw, 3000, 2000), 2 * bw);
	ca->limited = 1;
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, bw, 100, 0, bw, 3000, 20000), 2 * bw);
	KUNIT_EXPECT_TRUE(test, ca->late);
	ca->limited = 0;
	/* a queue stands */
	KUNIT_EXPECT_LT(test, path_next_claim(ca, bw, 100, 0, bw, 3000, rtt_min_us / 4), 2 * bw);
	KUNIT_EXPECT_FALSE(test, ca->late);
	/* it also ends at losses, and if the delay does not vary */
	ca->late = 1;
	path_next_claim(ca, bw, 100, 20, bw, 3000, 4000);
	KUNIT_EXPECT_FALSE(test, ca->late);
	ca->late = 1;
	path_set_noise(ca, 0);
	path_next_claim(ca, bw, 100, 0, bw, 3000, 0);
	KUNIT_EXPECT_FALSE(test, ca->late);
}

/*
 * If ACKs come together after a pause, again and again, they come in bunches.  The ACKs of one of
 * 60 flows, which sometimes come at the rate of the link, do not.
 */
static void acks_come_in_bunches(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i, j;

	ca->prev.sum = 1;
	for (i = 0; i < 20; i++) {
		for (j = 0; j < 4; j++) {
			tp->tcp_clock_cache += (j ? 1 : 20000) * NSEC_PER_USEC;
			path_count_bunches(sk, 2, link_bw(100));
			ca->prev.ns = tp->tcp_clock_cache;
		}
		KUNIT_EXPECT_TRUE(test, path_bunched(ca));
	}
	/* while a segment is missing, each segment has its own ACK: these do not count */
	tp->sacked_out = 1;
	for (i = 0; i < PATH_BUNCHES_MOST; i++) {
		tp->tcp_clock_cache += 242 * NSEC_PER_USEC;
		path_count_bunches(sk, 1, link_bw(100));
		ca->prev.ns = tp->tcp_clock_cache;
	}
	KUNIT_EXPECT_TRUE(test, path_bunched(ca));
	tp->sacked_out = 0;
	/* bunches, even if ACKs of 84 bytes are as far apart as on a way back of the same rate */
	ca->bunches = 0;
	for (i = 0; i < 20; i++) {
		tp->tcp_clock_cache += i % 4 ? 6720 : 20000 * NSEC_PER_USEC;
		path_count_bunches(sk, 2, link_bw(100));
		ca->prev.ns = tp->tcp_clock_cache;
	}
	KUNIT_EXPECT_TRUE(test, path_bunched(ca));
	/* ACKs at the rate of the link are not in bunches: these reduce the counter to zero */
	for (i = 0; i < PATH_BUNCHES_MOST; i++) {
		tp->tcp_clock_cache += 242 * NSEC_PER_USEC;
		path_count_bunches(sk, 2, link_bw(100));
		ca->prev.ns = tp->tcp_clock_cache;
	}
	KUNIT_EXPECT_TRUE(test, !ca->bunches);
	/* one of 60 flows: two ACKs at the rate of the link, after each pause */
	for (i = 0; i < 40; i++) {
		tp->tcp_clock_cache += (i % 2 ? 242 : 20000) * NSEC_PER_USEC;
		path_count_bunches(sk, 2, link_bw(100) / 60);
		ca->prev.ns = tp->tcp_clock_cache;
		KUNIT_EXPECT_FALSE(test, path_bunched(ca));
	}
	/* at 100 Gb/s ACKs at the rate of the link are less than 1 us apart */
	for (i = 0; i < 40; i++) {
		tp->tcp_clock_cache += i % 4 ? 242 : 20000 * NSEC_PER_USEC;
		path_count_bunches(sk, 2, link_bw(100000));
		ca->prev.ns = tp->tcp_clock_cache;
		KUNIT_EXPECT_FALSE(test, path_bunched(ca));
	}
	/* jitter of ACKs also causes pauses; with rtt_min/4 (four times q0) most are shorter */
	for (i = 0; i < 40; i++) {
		tp->tcp_clock_cache += (i % 4 ? 1 : ca->probe.rtt_min_us / 6) * NSEC_PER_USEC;
		path_count_bunches(sk, 2, link_bw(100));
		ca->prev.ns = tp->tcp_clock_cache;
		KUNIT_EXPECT_FALSE(test, path_bunched(ca));
	}
	/* bunches without a long pause come from a way back that is shared with other flows */
	for (i = 0; i < 40; i++) {
		tp->tcp_clock_cache += (i % 4 ? 1 : 1000) * NSEC_PER_USEC;
		path_count_bunches(sk, 2, link_bw(100));
		ca->prev.ns = tp->tcp_clock_cache;
		KUNIT_EXPECT_FALSE(test, path_bunched(ca));
	}
}

/* A new namespace that contains only a table of visits */
static struct net *visits_net(struct kunit *test)
{
	struct net *net = kunit_kzalloc(test, sizeof(*net), GFP_KERNEL);
	struct net_generic *gen = kunit_kzalloc(test, (path_visits_id + 1) * sizeof(void *),
						GFP_KERNEL);
	struct path_visits *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, net && gen && t);
	seqlock_init(&t->lock);
	gen->ptr[path_visits_id] = t;
	RCU_INIT_POINTER(net->gen, gen);
	return net;
}

static struct path_visits *visits_table(struct kunit *test)
{
	return net_generic(visits_net(test), path_visits_id);
}

static struct path_visits_peer peer_of(u32 n)
{
	struct path_visits_peer peer = {};

	ipv6_addr_set_v4mapped(cpu_to_be32(n), &peer.address);
	return peer;
}

static bool visited(struct path_visits *t, u32 n, u32 now_s, struct path_visit *visit)
{
	struct path_visits_peer peer = peer_of(n);

	return path_visits_get(t, &peer, now_s, 600, visit);
}

static void visit(struct path_visits *t, u32 n, u32 now_s)
{
	const struct path_visit v = { .bytes_ps = n, .rtt_min_us = n };
	struct path_visits_peer peer = peer_of(n);

	path_visits_put(t, &peer, now_s, &v);
}

/*
 * The table is bounded for any number of peers.  The last peer always has an entry, and a lookup
 * never finds the entry of another peer.
 */
static void visits_are_bounded(struct kunit *test)
{
	struct path_visits *t = visits_table(test);
	struct path_visit v;
	u32 n, there = 0;

	for (n = 1; n <= 5000; n++) {
		visit(t, n, 100);
		KUNIT_ASSERT_TRUE(test, visited(t, n, 100, &v));
	}
	for (n = 1; n <= 5000; n++) {
		if (!visited(t, n, 100, &v))
			continue;
		there++;
		KUNIT_EXPECT_EQ(test, v.bytes_ps, n);
	}
	KUNIT_EXPECT_EQ(test, there, PATH_VISITS_SETS * PATH_VISITS_WAYS);
	KUNIT_EXPECT_EQ(test, path_visits_count(t), there);
	path_visits_clear(t);
	KUNIT_EXPECT_EQ(test, path_visits_count(t), 0);
	KUNIT_EXPECT_FALSE(test, visited(t, 5000, 100, &v));
}

static void visits_expire(struct kunit *test)
{
	struct path_visits *t = visits_table(test);
	struct path_visit v;

	visit(t, 1, 100);
	KUNIT_EXPECT_TRUE(test, visited(t, 1, 699, &v));
	KUNIT_EXPECT_FALSE(test, visited(t, 1, 700, &v));
	visit(t, 1, 700);
	KUNIT_EXPECT_TRUE(test, visited(t, 1, 1299, &v));
	KUNIT_EXPECT_EQ(test, path_visits_count(t), 1);
	/* also when the count of seconds wraps */
	visit(t, 2, U32_MAX);
	KUNIT_EXPECT_TRUE(test, visited(t, 2, 598, &v));
	KUNIT_EXPECT_FALSE(test, visited(t, 2, 599, &v));
}

/* If a set is full, the oldest entry is replaced.  Another visit makes an entry the youngest. */
static void visits_replace_the_oldest(struct kunit *test)
{
	struct path_visits *t = visits_table(test);
	struct path_visits_peer peer = peer_of(1);
	const void *set = path_visits_set(t, &peer);
	u32 same[PATH_VISITS_WAYS + 2], found = 0, n, i;
	struct path_visit v;

	for (n = 1; found < ARRAY_SIZE(same); n++) {
		peer = peer_of(n);
		if (path_visits_set(t, &peer) == set)
			same[found++] = n;
	}
	for (i = 0; i < PATH_VISITS_WAYS; i++)
		visit(t, same[i], 100 + i);
	visit(t, same[0], 110);
	visit(t, same[PATH_VISITS_WAYS], 111);
	visit(t, same[PATH_VISITS_WAYS + 1], 112);
	for (i = 0; i < ARRAY_SIZE(same); i++)
		KUNIT_EXPECT_EQ(test, visited(t, same[i], 112, &v), i != 1 && i != 2);
}

/* A new connection to the peer, whose handshake took @rtt_us */
static struct sock *visitor(struct kunit *test, struct net *net, u32 rtt_us)
{
	struct sock *sk = flow(test);
	struct tcp_sock *tp = tcp_sk(sk);

	sock_net_set(sk, net);
	sk->sk_family = AF_INET;
	sk->sk_daddr = cpu_to_be32(1);
	tp->srtt_us = rtt_us << 3;
	tp->snd_wnd = 65535;
	tp->tcp_mstamp = USEC_PER_SEC;
	path_init(sk);
	return sk;
}

static void visits_are_private(struct kunit *test)
{
	struct net *net = visits_net(test), *other = visits_net(test);
	struct sock *sk = visitor(test, net, 190000);
	struct path_visit v;

	path_visits_store(sk, 125000000, 190000);
	KUNIT_EXPECT_TRUE(test, path_visits_find(sk, 10, &v));
	KUNIT_EXPECT_FALSE(test, path_visits_find(sk, 0, &v));
	sk->sk_daddr = cpu_to_be32(2);
	KUNIT_EXPECT_FALSE(test, path_visits_find(sk, 10, &v));
	sk->sk_daddr = cpu_to_be32(1);
	/* the same address in a VRF, or a link-local one of another link, is another host */
	sk->sk_bound_dev_if = 3;
	KUNIT_EXPECT_FALSE(test, path_visits_find(sk, 10, &v));
	path_visits_store(sk, 1000000, 10000);
	sk->sk_bound_dev_if = 0;
	KUNIT_EXPECT_TRUE(test, path_visits_find(sk, 10, &v));
	KUNIT_EXPECT_EQ(test, v.rtt_min_us, 190000);
	sock_net_set(sk, other);
	KUNIT_EXPECT_FALSE(test, path_visits_find(sk, 10, &v));
}

/* A connection is remembered if visits= is set and it ends in avoidance without a cap. */
static void visit_is_remembered(struct kunit *test)
{
	struct net *net = visits_net(test);
	struct sock *sk = visitor(test, net, 190000);
	struct cpath *ca = inet_csk_ca(sk);
	struct path_visit v;

	ca->probe.rate[0] = link_bw(1000);
	ca->probe.rtt_min_us = 190000;
	ca->mode = PATH_AVOIDANCE;
	path_release(sk);
	KUNIT_EXPECT_FALSE(test, path_visits_find(sk, 10, &v));
	WRITE_ONCE(visits, 10);
	ca->mode = PATH_SLOW_START;
	path_release(sk);
	ca->mode = PATH_AVOIDANCE;
	ca->capped = 1;
	path_release(sk);
	KUNIT_EXPECT_FALSE(test, path_visits_find(sk, 10, &v));
	ca->capped = 0;
	path_release(sk);
	WRITE_ONCE(visits, 0);
	KUNIT_EXPECT_TRUE(test, path_visits_find(sk, 10, &v));
	EXPECT_NEAR(test, v.bytes_ps, ccpd_bytes_ps(link_bw(1000), 1448), 1000);
	KUNIT_EXPECT_EQ(test, v.rtt_min_us, 190000);
}

/* ACKs for @segs segments of a train arrive, one every @each_ns. */
static void visitors_acks(struct sock *sk, u32 segs, u32 each_ns)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i, begin_us = tp->tcp_mstamp;

	ca->probe.rtt_min_us = 190000;
	ca->probe.rtt_s = 190000 << 3;
	for (i = 1; i <= segs && ca->mode == PATH_SLOW_START; i++)
		train_ack(sk, begin_us + div_u64((u64)i * each_ns, 1000) - (u32)tp->tcp_mstamp,
			  1, 190000);
}

/*
 * A remembered path of 1 Gb/s and 190 ms.  The first train is as long as the window in the peer's
 * SYN allows, at the remembered rate.  The second is half of what the path holds.  If half of it,
 * after its first batch, arrives in time, the start ends.  If the rate is now a quarter, a train of
 * the usual length follows the first one.  After an overflow half of the delivered rate is claimed.
 */
static void visit_begins_where_the_last_ended(struct kunit *test)
{
	static const u32 rtt_us[] = { 94999, 95000, 190000, 1900000, 1900001 };
	struct net *net = visits_net(test);
	u32 bw = link_bw(1000), each_ns = 12112, half, i;
	struct cpath *ca;
	struct sock *sk;

	path_visits_store(visitor(test, net, 190000), ccpd_bytes_ps(bw, 1448), 190000);
	WRITE_ONCE(visits, 10);
	for (i = 0; i < ARRAY_SIZE(rtt_us); i++) {
		ca = inet_csk_ca(visitor(test, net, rtt_us[i]));
		KUNIT_EXPECT_EQ(test, path_train_segs(ca), i % 4 ? 45 : 0);
		if (i % 4)
			EXPECT_NEAR(test, ca->claim, bw, 3000);
	}

	for (i = 0; i < 3; i++) {
		sk = visitor(test, net, 190000);
		ca = inet_csk_ca(sk);
		tcp_sk(sk)->packets_out = 45;
		tcp_sk(sk)->snd_wnd = BIT(30);
		visitors_acks(sk, 44, i == 2 ? 4 * each_ns : each_ns);
		if (i == 2) {
			EXPECT_NEAR(test, ca->claim, bw / 16 * 5, 30000);
			KUNIT_EXPECT_EQ(test, ca->train_us, 190000 / 32 + 1);
			continue;
		}
		half = path_train_segs(ca);
		EXPECT_NEAR(test, half, 95000000 / each_ns, 3000);
		tcp_sk(sk)->packets_out = half + 1;
		if (!i) {
			visitors_acks(sk, half / 8 * 5 + 20, each_ns);
			KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
			EXPECT_NEAR(test, ca->claim, bw, 3000);
			continue;
		}
		/* half of the rate, and every other segment is lost */
		visitors_acks(sk, half / 4, 2 * each_ns);
		ca->round_lost = half / 2;
		tcp_sk(sk)->lost += half / 2;
		visitors_acks(sk, half / 4, 2 * each_ns);
		KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
		EXPECT_NEAR(test, ca->claim, bw / 4, 20000);
	}
	WRITE_ONCE(visits, 0);
}

/* With almost no queue a flow claims up to a quarter more, whatever the known capacity is. */
static void empty_path_has_room(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, path_room(1000, 1, U32_MAX, 0, 100), 1250);
	KUNIT_EXPECT_EQ(test, path_room(1000, 1, U32_MAX, 25, 100), 1125);
	KUNIT_EXPECT_EQ(test, path_room(1000, 1, U32_MAX, 50, 100), 1000);
	KUNIT_EXPECT_EQ(test, path_room(1000, 1, U32_MAX, U32_MAX, 100), 1000);
	KUNIT_EXPECT_EQ(test, path_room(U32_MAX, 1, U32_MAX, 0, 1), U32_MAX);
}

/* A long path has fewer round trips, so each step is larger, up to twice the rate. */
static void long_path_has_more_room(struct kunit *test)
{
	struct cpath *ca = inet_csk_ca(flow(test));
	u32 bw = link_bw(100);

	/* up to the capacity; beyond it, as much as on a short path */
	ca->probe.rtt_s = 300000 << 3;
	ca->claim = bw / 2;
	EXPECT_NEAR(test, path_next_claim(ca, bw / 2, 100, 0, bw, 20000, 0), bw * 3 / 4, 10000);
	EXPECT_NEAR(test, path_next_claim(ca, bw * 3 / 4, 100, 0, bw, 20000, 0), bw * 3 / 4, 10000);
	EXPECT_NEAR(test, path_next_claim(ca, bw, 100, 0, bw, 20000, 0), bw * 7 / 8, 10000);

	KUNIT_EXPECT_EQ(test, path_room(1000, path_long(130000), U32_MAX, 0, 100), 1250);
	KUNIT_EXPECT_EQ(test, path_room(1000, path_long(132000), U32_MAX, 0, 100), 1500);
	KUNIT_EXPECT_EQ(test, path_room(1000, path_long(132000), U32_MAX, 25, 100), 1250);
	KUNIT_EXPECT_EQ(test, path_room(1000, path_long(258000), U32_MAX, 0, 100), 1750);
	KUNIT_EXPECT_EQ(test, path_room(1000, path_long(600000), U32_MAX, 0, 100), 2000);
	KUNIT_EXPECT_EQ(test, path_room(1000, path_long(600000), U32_MAX, 50, 100), 1000);
	KUNIT_EXPECT_EQ(test, path_room(U32_MAX, path_long(U32_MAX), U32_MAX, 0, 1), U32_MAX);
}

/*
 * A flow that had most of the capacity lately returns to half of that in large steps, after two
 * round trips with an empty path.
 */
static void what_was_had_is_regained(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = link_bw(100);

	ca->probe.rtt_s = 50000 << 3;
	ca->probe.rate[0] = bw;
	ca->claim = bw / 2 - 1;
	path_watch(sk, ca->claim, true);
	KUNIT_EXPECT_EQ(test, path_step(ca), 1);
	path_watch(sk, ca->claim, true);
	KUNIT_EXPECT_EQ(test, path_step(ca), PATH_ROOM_MOST);
	ca->probe.round_rtt_us = 50000;
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, bw / 4, 100, 0, bw, 3000, 0),
			(ca->claim + bw / 4 * 2) / 2);
	/* half of it is reached */
	ca->claim = bw / 2;
	KUNIT_EXPECT_EQ(test, path_step(ca), 1);
	/* one of several flows */
	ca->claim = bw / 8;
	KUNIT_EXPECT_EQ(test, path_step(ca), PATH_ROOM_MOST);
	ca->probe.rate[0] = bw / 2;
	KUNIT_EXPECT_EQ(test, path_step(ca), 1);
	ca->probe.rate[0] = bw;
	/* ACKs in bunches */
	ca->bunches = PATH_BUNCHES;
	KUNIT_EXPECT_EQ(test, path_step(ca), 1);
	/* without a pair its part of the path is not known */
	ca->bunches = 0;
	KUNIT_EXPECT_EQ(test, path_step(ca), PATH_ROOM_MOST);
	memset(ca->probe.best, 0, sizeof(ca->probe.best));
	KUNIT_EXPECT_EQ(test, path_step(ca), 1);
}

/*
 * If the delivered rate falls, and later the queue is empty in four successive round trips, the
 * capacity counts as one that moves for eight seconds.
 */
static void capacity_that_moves(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	ca->probe.rate[0] = link_bw(100);
	KUNIT_EXPECT_EQ(test, path_moving_window(ca, 50000), 0);
	for (i = 0; i < 5; i++)
		path_watch(sk, ca->claim, true);
	KUNIT_EXPECT_FALSE(test, path_moves(ca));
	path_watch(sk, ca->claim / 2, false);
	for (i = 0; i < PATH_EMPTY_ROUNDS; i++) {
		KUNIT_EXPECT_FALSE(test, path_moves(ca));
		path_watch(sk, ca->claim, true);
	}
	KUNIT_EXPECT_TRUE(test, ca->moves == PATH_MOVES);
	/* the window for the largest delivered rate, or @floor if larger (at first cwnd) */
	EXPECT_NEAR(test, path_moving_window(ca, 50000), 412, 5000);
	KUNIT_EXPECT_EQ(test, ca->floor >> PATH_WINDOW_PART, tcp_snd_cwnd(tcp_sk(sk)));
	ca->floor = 800 << PATH_WINDOW_PART;
	KUNIT_EXPECT_EQ(test, path_moving_window(ca, 50000), 800);
	/* a rate from before the fall counts only up to twice the claim */
	ca->probe.rate[0] = 3 * ca->claim;
	KUNIT_EXPECT_EQ(test, path_moving_rate(ca), 2 * ca->claim);
	ca->probe.rate[0] = link_bw(100);
	/* another fall renews this state */
	ca->moves = 1;
	path_watch(sk, ca->claim / 2, false);
	KUNIT_EXPECT_TRUE(test, path_moves(ca) && ca->moves == PATH_MOVES);
	/* an overflow ends it, until the queue was empty in several round trips again */
	ca->probe.rtt_s = 90000 << 3;
	ca->probe.round_rtt_us = 90000;
	ca->noise = 0;
	path_next_claim(ca, ca->claim, 300, 100, ca->claim, 3125, 40000);
	KUNIT_EXPECT_FALSE(test, path_moves(ca));
	ca->rounds = PATH_ROUNDS;
	for (i = 0; i < PATH_EMPTY_ROUNDS; i++)
		path_watch(sk, ca->claim, true);
	KUNIT_EXPECT_TRUE(test, path_has_window(ca));
	/* slow start also ends it, because @train_end shares memory with the window */
	path_enter(ca, PATH_SLOW_START);
	path_enter(ca, PATH_AVOIDANCE);
	KUNIT_EXPECT_FALSE(test, path_moves(ca));
	ca->rounds = PATH_ROUNDS;

	/* a rise more than 8 s after the fall does not count */
	path_watch(sk, ca->claim / 2, false);
	for (i = 0; i < PATH_MOVES; i++) {
		tcp_sk(sk)->tcp_mstamp += PATH_TICK;
		path_age(sk, tcp_sk(sk)->tcp_mstamp);
	}
	for (i = 0; i < 5; i++)
		path_watch(sk, ca->claim, true);
	KUNIT_EXPECT_FALSE(test, path_moves(ca));

	/* three round trips are enough if they are long */
	ca->probe.rtt_s = 200000 << 3;
	path_watch(sk, ca->claim / 2, false);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_FALSE(test, path_moves(ca));
		path_watch(sk, ca->claim, true);
	}
	KUNIT_EXPECT_TRUE(test, path_moves(ca));
	ca->moves = 0;

	/* a flow that had less than half of the capacity cannot decide */
	ca->probe.rate[0] = link_bw(40);
	ca->probe.rate[1] = 0;
	path_watch(sk, ca->claim / 2, false);
	for (i = 0; i < 5; i++)
		path_watch(sk, ca->claim, true);
	KUNIT_EXPECT_FALSE(test, path_moves(ca));
}

/*
 * If the capacity moves, the window is such that the queue is empty in one of nine round trips.  It
 * grows by an eighth if a packet met an empty path, and otherwise falls by 1/64 for each rtt_min
 * that the round trip takes.  It depends only on the queue, not on the delivered rate.
 */
static void window_follows_the_queue(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	ca->noise = 0;
	ca->room = 100000 / PATH_QUEUE;
	ca->moves = PATH_MOVES;
	ca->floor = 640 << PATH_WINDOW_PART;
	ca->probe.rtt_s = 50000 << 3;
	ca->probe.round_rtt_us = 50000;
	tp->is_cwnd_limited = 1;
	path_follow(sk, 3125);
	KUNIT_EXPECT_EQ(test, ca->floor >> PATH_WINDOW_PART, 720);
	/* the window was not used */
	tp->is_cwnd_limited = 0;
	path_follow(sk, 3125);
	KUNIT_EXPECT_EQ(test, ca->floor >> PATH_WINDOW_PART, 720);
	/* a queue in eight other round trips: the window is the initial one again */
	ca->probe.round_rtt_us = 60000;
	ca->probe.rtt_s = 70000 << 3;
	for (i = 0; i < 8; i++)
		path_follow(sk, 3125);
	EXPECT_NEAR(test, ca->floor >> PATH_WINDOW_PART, 640, 10000);
	/* with a queue of three rtt_min a round trip counts four times */
	ca->floor = 640 << PATH_WINDOW_PART;
	ca->probe.rtt_s = 200000 << 3;
	path_follow(sk, 3125);
	KUNIT_EXPECT_EQ(test, ca->floor >> PATH_WINDOW_PART, 600);

	/* used if it exceeds that of Eq. 3 and that of the largest delivered rate */
	ca->probe.rate[0] = link_bw(20);
	ca->probe.rate[1] = 0;
	path_avoid(sk, 2, path_capacity(ca));
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 600);

	/* no such window if its memory holds a policer's cap or the floor beside a rival */
	ca->capped = 1;
	KUNIT_EXPECT_FALSE(test, path_has_window(ca));
	ca->capped = 0;
	ca->rival = PATH_FOREIGN;
	KUNIT_EXPECT_FALSE(test, path_has_window(ca));
	ca->rival = PATH_FRIENDLY;
	KUNIT_EXPECT_TRUE(test, path_has_window(ca));

	/* no empty path for long: other flows have come, or the capacity has fallen */
	ca->rounds = PATH_ROUNDS - 1;
	path_follow(sk, 3125);
	KUNIT_EXPECT_TRUE(test, path_has_window(ca));
	ca->rounds = PATH_ROUNDS;
	path_follow(sk, 3125);
	KUNIT_EXPECT_FALSE(test, path_has_window(ca) || path_moves(ca));
}

static void cube_root(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, path_cbrt(0), 0);
	KUNIT_EXPECT_EQ(test, path_cbrt(1), 1);
	KUNIT_EXPECT_EQ(test, path_cbrt(26), 2);
	KUNIT_EXPECT_EQ(test, path_cbrt(27), 3);
	KUNIT_EXPECT_EQ(test, path_cbrt(1000000), 100);
	KUNIT_EXPECT_EQ(test, path_cbrt(U32_MAX), 1625);
}

/*
 * Beside a rival a few losses without a queue are noise.  Many losses are an overflow, even without
 * a queue, and the floor falls: a flow that has never met an empty path may not see the queue.
 */
static void rival_is_no_reason_to_flood(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 floor = 700;

	ca->rival = PATH_FOREIGN;
	ca->floor = floor;
	ca->probe.round_rtt_us = 52000;
	ca->probe.rtt_s = 52000 << 3;
	ca->round_queue = 2000 / PATH_QUEUE;
	ca->rtt_min_stamp = path_now(sk);
	tcp_sk(sk)->is_cwnd_limited = 1;
	tcp_sk(sk)->delivered = ca->probe.round_delivered + 300;
	ca->round_lost = 3;
	path_round(sk, link_bw(50));
	KUNIT_EXPECT_GE(test, ca->floor, floor);
	floor = ca->floor;
	ca->delay_sum = 300 * 6000 / PATH_NOISE;
	ca->round_lost = 300;
	path_round(sk, link_bw(50));
	KUNIT_EXPECT_EQ(test, ca->floor, floor * 7 / 10);
}

/*
 * Beside a rival the floor grows as fast as CUBIC's window, and is multiplied by 0.7 after a loss.
 * This ends when two looks have found no queue.
 */
static void rival_is_matched(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = link_bw(100), q0 = 3125;

	ca->noise = 0;
	ca->rival = PATH_FOREIGN;
	ca->floor = 1000;
	ca->probe.rtt_s = 90000 << 3;
	ca->probe.round_rtt_us = 90000;
	ca->round_queue = 40000 / PATH_QUEUE;
	/* a window that is not used does not grow */
	path_compete(sk, bw / 2, bw, 40000, q0, false);
	KUNIT_EXPECT_EQ(test, ca->floor, 1000);
	tcp_sk(sk)->is_cwnd_limited = 1;
	/* nor does a floor that exceeds the window, as during a repair */
	tcp_snd_cwnd_set(tcp_sk(sk), 999);
	path_compete(sk, bw / 2, bw, 40000, q0, false);
	KUNIT_EXPECT_EQ(test, ca->floor, 1000);
	tcp_snd_cwnd_set(tcp_sk(sk), 1100);
	/* 1000^(2/3) / 3 per second, plus one per round trip, as Reno */
	path_compete(sk, bw / 2, bw, 40000, q0, false);
	KUNIT_EXPECT_EQ(test, ca->floor, 1000 + 1 + 2);
	path_compete(sk, bw / 2, bw, 40000, q0, true);
	KUNIT_EXPECT_EQ(test, ca->floor, 1003 * 7 / 10);
	/* a small floor grows as half of what the path holds (11890) would: by 108 per second */
	ca->floor = 10;
	path_compete(sk, bw / 2, 16 * bw, 40000, q0, false);
	KUNIT_EXPECT_EQ(test, ca->floor, 10 + 1 + 9);
	/* without a queue the floor does not grow */
	ca->floor = 702;
	ca->round_queue = 0;
	path_compete(sk, bw / 2, bw, 2 * q0, q0, false);
	KUNIT_EXPECT_EQ(test, ca->floor, 702);
	/* if the queue has fallen by a quarter, a look follows */
	ca->round_queue = 40000 / PATH_QUEUE;
	path_compete(sk, bw / 2, bw, 2 * q0, q0, false);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	KUNIT_EXPECT_EQ(test, ca->floor, 702);

	/* more than 5 of 40 ms of queue are still there */
	ca->probe.round_rtt_us = 56000;
	path_drained(sk, bw, true);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FOREIGN);
	KUNIT_EXPECT_TRUE(test, !ca->doubt);
	/* the others withdraw, too: the queue is gone in two looks */
	ca->before_us = 90000;
	ca->probe.round_rtt_us = 54000;
	path_drained(sk, bw, false);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FOREIGN);
	ca->before_us = 90000;
	path_drained(sk, bw, false);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FRIENDLY);
}

/*
 * The floor grows by a half in each round trip until a sixth of the capacity is ours: before the
 * first loss, and later while half of the buffer is free
 */
static void rival_is_caught_up_with(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = link_bw(100), q0 = 3125, i;

	ca->noise = 0;
	tcp_sk(sk)->is_cwnd_limited = 1;
	tcp_snd_cwnd_set(tcp_sk(sk), 200);
	ca->probe.rtt_s = 90000 << 3;
	ca->probe.round_rtt_us = 90000;
	for (i = 0; i < 2; i++) {
		ca->rival = PATH_FOREIGN;
		ca->doubt = PATH_CATCH_UP;
		ca->floor = 100;
		path_compete(sk, bw / 7, bw, 40000, q0, false);
		KUNIT_EXPECT_EQ(test, ca->floor, 151);
		/* a sixth of the capacity, or a loss, ends this */
		path_compete(sk, i ? bw / 7 : bw / 6, bw, 40000, q0, i);
		KUNIT_EXPECT_TRUE(test, !ca->doubt);
		ca->floor = 100;
		path_compete(sk, bw / 7, bw, 40000, q0, false);
		KUNIT_EXPECT_LT(test, ca->floor, 105);
		/* the queue is less than half of the largest one, 50 ms */
		ca->floor = 100;
		path_compete(sk, bw / 7, bw, 24000, q0, false);
		KUNIT_EXPECT_EQ(test, ca->floor, 151);
		path_compete(sk, bw / 6, bw, 24000, q0, false);
		KUNIT_EXPECT_LT(test, ca->floor, 160);
	}
}

/*
 * A queue that stays for fifteen round trips after a look is a rival's, even if the look could not
 * decide anything.  It is not if it has once become shorter by a sixteenth of the round trip.
 */
static void queue_that_stays_is_a_rivals(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = link_bw(100), floor, i;

	ca->noise = 0;
	ca->claim = link_bw(10);
	ca->probe.rtt_s = 80000 << 3;
	ca->probe.round_rtt_us = 80000;
	ca->round_queue = 30000 / PATH_QUEUE;
	tcp_sk(sk)->packets_out = 8;
	path_crowded(sk, 30000, 0);
	floor = ca->floor;
	KUNIT_EXPECT_EQ(test, floor, 41);		/* 10 Mb/s * 50 ms / 1514 bytes */
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	path_crowded(sk, 30000, 0);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	path_drained(sk, bw, true);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FRIENDLY);
	/* until then the flow gives way */
	ca->claim = link_bw(1);
	for (i = 0; i <= PATH_ROUNDS; i++) {
		KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
		ca->rounds = i;
		path_crowded(sk, 30000, 0);
	}
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	path_drained(sk, bw, true);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FOREIGN);
	KUNIT_EXPECT_TRUE(test, ca->doubt == PATH_CATCH_UP);
	KUNIT_EXPECT_EQ(test, ca->floor, floor);

	/* a round trip of four times 131 ms counts five times */
	ca->rival = PATH_FRIENDLY;
	path_enter(ca, PATH_AVOIDANCE);
	ca->doubt = PATH_UNSURE;
	ca->probe.rtt_s = 530000 << 3;
	ca->rounds = PATH_ROUNDS - 5;
	path_crowded(sk, 30000, 0);
	KUNIT_EXPECT_TRUE(test, ca->rounds == PATH_ROUNDS - 1 && ca->mode == PATH_AVOIDANCE);
	ca->rounds++;
	path_crowded(sk, 30000, 0);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	ca->probe.rtt_s = 80000 << 3;
	path_enter(ca, PATH_AVOIDANCE);

	/* the queue becomes shorter by 5 ms, a sixteenth of 80 ms */
	ca->rival = PATH_FRIENDLY;
	ca->doubt = PATH_UNSURE;
	ca->rounds = PATH_ROUNDS;
	path_crowded(sk, 24000, 0);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	KUNIT_EXPECT_TRUE(test, ca->rounds == PATH_DOUBT);
	/* or it is gone at the end of the look */
	path_drained(sk, bw, false);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FRIENDLY && !ca->doubt);
}

/*
 * A flow that gives way looks a second time when its window becomes less than three eighths of what
 * it had.  That look finds the longer path, or tells as little as the first.  It is not made beside
 * a long queue, nor by a flow that did not have most of the path lately.
 */
static void who_gives_way_in_vain_looks_again(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);

	ca->noise = 0;
	ca->floor = 400;
	ca->probe.rate[0] = link_bw(100);
	ca->probe.rtt_s = 75000 << 3;
	ca->probe.round_rtt_us = 75000;
	ca->round_queue = 25000 / PATH_QUEUE;
	tcp_sk(sk)->packets_out = 200;
	ca->doubt = PATH_UNSURE;
	ca->claim = link_bw(37);		/* 37 Mb/s * 50 ms / 1514 bytes: 152 segments */
	path_crowded(sk, 25000, 160);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	ca->claim = link_bw(36);		/* 148 */
	path_crowded(sk, 25000, 148);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	path_crowded(sk, 37500, 152);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	ca->room = 100000 / PATH_QUEUE;
	path_crowded(sk, 50000, 152);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	ca->room = 50000 / PATH_QUEUE;
	ca->probe.rate[0] = link_bw(70);
	path_crowded(sk, 25000, 152);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	ca->probe.rate[0] = link_bw(100);
	path_crowded(sk, 25000, 152);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	/* the delay went with what was withdrawn: it is not a longer path, and perhaps no rival */
	ca->probe.rtt_s = 65000 << 3;
	ca->probe.round_rtt_us = 65000;
	path_drained(sk, link_bw(100), true);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FRIENDLY && ca->doubt == PATH_UNSURE);
	KUNIT_EXPECT_EQ(test, ca->floor, 400);
	/* the delay stays in two looks: it is */
	ca->probe.rtt_s = 75000 << 3;
	ca->probe.round_rtt_us = 75000;
	path_crowded(sk, 25000, 152);
	path_drained(sk, link_bw(100), true);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_EMPTY && ca->mode == PATH_DRAIN);
	path_drained(sk, link_bw(100), true);
	KUNIT_EXPECT_EQ(test, ca->probe.rtt_min_us, 75000);

	/* within a round trip: from 37 Mb/s, 152 segments, to less than 150 */
	ca->probe.rtt_min_us = 50000;
	ca->room = 50000 / PATH_QUEUE;
	ca->round_queue = 25000 / PATH_QUEUE;
	ca->rival = PATH_FRIENDLY;
	ca->noise = 0;
	ca->rounds = 5;
	ca->doubt = PATH_UNSURE;
	ca->claim = link_bw(37);
	tcp_sk(sk)->delivered = 120;
	ca->delay_sum = 120 * 25000 / PATH_NOISE;
	path_round(sk, link_bw(30));
	KUNIT_EXPECT_LT(test, path_claim_segs(ca), 150);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
}

/* The noise of an empty path is not taken for a fall of the queue, if the queue is constant. */
static void noise_hides_no_rival(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	path_set_noise(ca, 10240);
	ca->claim = link_bw(10);
	ca->probe.rtt_s = 90000 << 3;
	ca->probe.round_rtt_us = 90000;
	ca->round_queue = 40000 / PATH_QUEUE;
	tcp_sk(sk)->packets_out = 8;
	KUNIT_EXPECT_EQ(test, path_round_queue_us(ca), 29760);
	KUNIT_EXPECT_EQ(test, path_queue_before_us(ca), 29760);
	ca->doubt = PATH_UNSURE;
	for (i = 0; i <= PATH_ROUNDS; i++) {
		KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
		ca->rounds = i;
		path_crowded(sk, path_round_queue_us(ca), 0);
	}
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);

	path_enter(ca, PATH_AVOIDANCE);
	ca->rival = PATH_FOREIGN;
	ca->doubt = PATH_CATCH_UP;
	path_compete(sk, link_bw(50), link_bw(100), path_round_queue_us(ca), 3125, false);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
}

/*
 * Two looks find no queue: the path has become longer.  A flow that never saw a pair cannot decide
 * this.
 */
static void longer_path_is_found(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = link_bw(100), i;

	ca->noise = 0;
	ca->probe.rtt_s = 75000 << 3;
	ca->probe.round_rtt_us = 74000;
	tcp_sk(sk)->packets_out = 400;
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, path_base_us(ca), 50000);
		path_drain(sk);
		ca->doubt = PATH_DOUBT;
		path_drained(sk, bw, false);
	}
	KUNIT_EXPECT_EQ(test, ca->probe.rtt_min_us, 74000);
	EXPECT_NEAR(test, path_base_us(ca), 75000, 2000);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_UNASKED);

	memset(ca->probe.best, 0, sizeof(ca->probe.best));
	ca->probe.rtt_s = 100000 << 3;
	path_drain(sk);
	path_drained(sk, bw, true);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FRIENDLY);
	KUNIT_EXPECT_TRUE(test, ca->doubt == PATH_UNSURE);
}

/* The new rtt_min includes the delay of the way back, which is not added a second time. */
static void longer_path_has_its_way_back(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);

	ca->noise = 0;
	ca->back = 20;
	ca->probe.rtt_s = 54000 << 3;
	ca->probe.round_rtt_us = 74000;
	path_has_grown(ca);
	KUNIT_EXPECT_EQ(test, path_base_us(ca), 74000);
	ca->back = PATH_NO_CLOCK;
	path_has_grown(ca);
	KUNIT_EXPECT_TRUE(test, ca->back == PATH_NO_CLOCK);
}

/*
 * The path has become longer by 10 ms, in both directions, which is less than 2 * q0 because the
 * delay varies.  So the claim decays.  A flow that had most of the capacity looks after a quarter
 * of the usual time, looks again at once, and then has found the longer path.  A flow that had less
 * does not look sooner, nor does a flow that may be beside a rival.
 */
static void who_gave_way_looks_sooner(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = link_bw(100), base = 50000, q0 = 6000;

	ca->noise = 0;
	ca->claim = bw / 2;
	ca->probe.rate[0] = bw - bw / 8;
	ca->rtt_min_stamp = path_now(sk) - path_ticks(3);
	KUNIT_EXPECT_TRUE(test, path_wants_look(sk, base, bw, q0));
	ca->doubt = PATH_UNSURE;
	KUNIT_EXPECT_FALSE(test, path_wants_look(sk, base, bw, q0));
	ca->doubt = 0;
	ca->rival = PATH_FOREIGN;
	KUNIT_EXPECT_FALSE(test, path_wants_look(sk, base, bw, q0));
	ca->rival = PATH_FRIENDLY;
	ca->rtt_min_stamp = path_now(sk) - path_ticks(2);
	KUNIT_EXPECT_FALSE(test, path_wants_look(sk, base, bw, q0));

	ca->back = 4;
	tcp_sk(sk)->packets_out = 250;
	ca->probe.rtt_s = 61000 << 3;
	ca->probe.round_rtt_us = 60000;
	path_drain(sk);
	path_drained(sk, bw, false);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	KUNIT_EXPECT_EQ(test, ca->probe.rtt_min_us, 50000);
	path_drained(sk, bw, false);
	KUNIT_EXPECT_EQ(test, ca->probe.rtt_min_us, 60000);

	ca->probe.rate[0] = bw / 2;
	ca->rtt_min_stamp = path_now(sk) - path_ticks(3);
	KUNIT_EXPECT_FALSE(test, path_wants_look(sk, base, bw, q0));
}

/* If a packet met almost no queue during a look, the path has not become longer. */
static void met_path_is_no_longer(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	ca->noise = 0;
	tcp_sk(sk)->packets_out = 400;
	ca->probe.rtt_s = 55000 << 3;
	ca->probe.round_rtt_us = 50000;
	for (i = 0; i < 4; i++) {
		path_drain(sk);
		path_drained(sk, link_bw(100), false);
		KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FRIENDLY);
	}
	EXPECT_NEAR(test, path_base_us(ca), 50000, 1);
}

/* A look withdraws half of what is in flight; beside a rival only our part of the queue */
static void look_is_shallow_beside_a_rival(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);

	ca->noise = 0;
	tcp_sk(sk)->packets_out = 400;
	ca->probe.round_rtt_us = 60000;
	ca->probe.rtt_s = 62500 << 3;
	path_drain(sk);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 200);
	ca->rival = PATH_FOREIGN;
	path_drain(sk);
	/* a queue of 10 ms, with a smoothed rtt of 62.5 ms */
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 400 - 64);
	KUNIT_EXPECT_EQ(test, ca->before_us, 60000);
	/* more than half, if the queue is three rtt_min: our whole part of it */
	ca->probe.round_rtt_us = 200000;
	ca->probe.rtt_s = 200000 << 3;
	path_drain(sk);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 400 - 300);
	/* the smoothed rtt is behind the queue: at most all that is in flight */
	ca->probe.rtt_s = 100000 << 3;
	path_drain(sk);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), PATH_LEAST_WINDOW);
}

/*
 * An ACK at @now_ms.  The segment took @there_ms, and the ACK @back_ms.  The peer's clock has
 * fallen behind by @behind_ms.
 */
static void late_stamp(struct sock *sk, u32 now_ms, u32 there_ms, u32 back_ms, u32 behind_ms)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = (there_ms + back_ms) * USEC_PER_MSEC;

	tp->tcp_mstamp = (u64)now_ms * USEC_PER_MSEC;
	tp->rx_opt.rcv_tsecr = 1;
	tp->rx_opt.rcv_tsval = now_ms - back_ms + 1000000007 - behind_ms;
	path_way_back(sk, rtt_us, rtt_us == 50000);
}

static void stamped_ack(struct sock *sk, u32 now_ms, u32 there_ms, u32 back_ms)
{
	late_stamp(sk, now_ms, there_ms, back_ms, 0);
}

/* Both clocks are rounded to ms, so the base is known to 2 ms. */
static void expect_base(struct kunit *test, const struct cpath *ca, u32 us)
{
	KUNIT_EXPECT_LE(test, path_base_us(ca), us + 2000);
	KUNIT_EXPECT_GE(test, path_base_us(ca), us - 2000);
}

/* Additional delay of the way back is not a queue of ours.  Delay of the way there is. */
static void way_back_is_no_queue(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i, now_ms = 5000;

	stamped_ack(sk, now_ms, 20, 30);
	KUNIT_EXPECT_EQ(test, path_base_us(ca), 50000);
	for (i = 0; i < 100; i++)
		stamped_ack(sk, now_ms++, 20 + 40, 30);
	KUNIT_EXPECT_EQ(test, path_base_us(ca), 50000);
	for (i = 0; i < 100; i++)
		stamped_ack(sk, now_ms++, 20, 30 + 40);
	expect_base(test, ca, 90000);
	for (i = 0; i < 100; i++)
		stamped_ack(sk, now_ms++, 20 + 40, 30 + 40);
	expect_base(test, ca, 90000);
	/* a delay that is ambiguous in 10 bits of the time stamp changes nothing */
	for (i = 0; i < 200; i++)
		stamped_ack(sk, now_ms++, 20 + 600, 30);
	expect_base(test, ca, 90000);
	for (i = 0; i < 100; i++)
		stamped_ack(sk, now_ms++, 20, 30);
	KUNIT_EXPECT_EQ(test, path_base_us(ca), 50000);
}

/*
 * The way back takes 40 ms more, and then 1 ms less with each ACK.  The queue that is seen in that
 * time is at most 3 ms: the rounding of two clocks, and 1 ms by which the estimate is behind.
 */
static void falling_way_back_is_no_queue(struct kunit *test)
{
	struct rate_sample rs = { .acked_sacked = 2 };
	struct sock *sk = flow(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i, now_ms = 5000, back_ms;

	ca->noise = 0;
	stamped_ack(sk, now_ms, 20, 30);
	for (i = 0; i < 200; i++) {
		back_ms = 30 + (i < 100 ? 40 : 140 - min(i, 140U));
		now_ms += 2;
		tp->tcp_mstamp = (u64)now_ms * USEC_PER_MSEC;
		tp->rx_opt.rcv_tsval = now_ms - back_ms + 1000000007;
		tp->delivered += 2;
		rs.rtt_us = (20 + back_ms) * USEC_PER_MSEC;
		path_rtt(sk, &rs);
		if (i >= 100)
			KUNIT_EXPECT_LE(test, path_queue_us(ca), 3 * USEC_PER_MSEC);
	}
	KUNIT_EXPECT_EQ(test, path_base_us(ca), 50000);
}

/*
 * With few ACKs in a round trip the estimate follows at once.  It falls within a few ACKs, and on a
 * short path 1 ms stays: 2 ms more may be a queue on the way back that no clock shows.  That ends
 * when the smoothed rtt meets rtt_min.
 */
static void few_acks_show_the_way_back(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i, now_ms = 5000;

	stamped_ack(sk, now_ms, 20, 30);
	stamped_ack(sk, now_ms += 50, 20, 30 + 40);
	expect_base(test, ca, 90000);
	for (i = 0; i < 6; i++)
		stamped_ack(sk, now_ms += 50, 20, 31);
	expect_base(test, ca, 50000);

	ca->probe.rtt_min_us = 5000;
	ca->back = 0;
	late_stamp(sk, now_ms, 2, 3, 0);
	path_way_back(sk, 5000, true);
	stamped_ack(sk, now_ms += 50, 2, 3 + 20);
	for (i = 0; i < 20; i++)
		stamped_ack(sk, now_ms += 50, 2, 3 + 2);
	KUNIT_EXPECT_GE(test, path_base_us(ca), 7000);
	/* a queue on the way there, which the clocks show */
	stamped_ack(sk, now_ms += 50, 2 + 4, 3);
	KUNIT_EXPECT_EQ(test, path_base_us(ca), 5000);
	stamped_ack(sk, now_ms += 50, 2, 3 + 5);
	KUNIT_EXPECT_GE(test, path_base_us(ca), 7000);
	path_way_back(sk, 5000, true);
	KUNIT_EXPECT_EQ(test, path_base_us(ca), 5000);

	/* a path of 8 ms is not short */
	ca->probe.rtt_min_us = 8 << PATH_MS;
	late_stamp(sk, now_ms, 4, 4, 0);
	path_way_back(sk, 8 << PATH_MS, true);
	stamped_ack(sk, now_ms += 50, 4, 4 + 20);
	for (i = 0; i < 20; i++)
		stamped_ack(sk, now_ms += 50, 4, 4 + 2);
	KUNIT_EXPECT_EQ(test, path_base_us(ca), 8 << PATH_MS);
}

/* The delay of the way back is at most eight times rtt_min, whatever the peer's time stamps are */
static void way_back_is_bounded(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i, now_ms = 5000;

	ca->probe.rtt_min_us = 20000;
	stamped_ack(sk, now_ms, 10, 10);
	for (i = 0; i < 200; i++)
		stamped_ack(sk, now_ms++, 10, 10 + 220);
	expect_base(test, ca, 180000);
}

/* A deep buffer on the way back holds 400 ms, and the way there has a queue of 30 ms. */
static void way_back_is_long(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i, now_ms = 5000;

	ca->probe.rtt_min_us = 110000;
	stamped_ack(sk, now_ms++, 50, 60);
	for (i = 0; i < 500; i++)
		stamped_ack(sk, now_ms++, 80, 60 + 400);
	expect_base(test, ca, 510000);

	/* where the capacity moves, that is a link that stops for a while */
	ca->back = 0;
	ca->moves = PATH_MOVES;
	for (i = 0; i < 500; i++)
		stamped_ack(sk, now_ms++, 50, 60 + 400);
	KUNIT_EXPECT_EQ(test, path_base_us(ca), 110000);
	for (i = 0; i < 500; i++)
		stamped_ack(sk, now_ms++, 50, 60 + 100);
	expect_base(test, ca, 210000);
}

/*
 * rtt_min becomes less because the way back is shorter, while there is a queue on the way there.
 * When that queue has gone, the peer's clock must not seem to fall behind.
 */
static void shorter_way_back(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i, now_ms = 5000;

	stamped_ack(sk, now_ms, 20, 30);
	ca->probe.rtt_min_us = 46000;
	stamped_ack(sk, now_ms++, 26, 20);
	for (i = 0; i < 100; i++)
		stamped_ack(sk, now_ms++, 20, 40);
	expect_base(test, ca, 60000);
}

/*
 * The first ACK has waited at the receiver.  In the start later ACKs may show a shorter way there.
 */
static void first_ack_has_waited(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i, now_ms = 5000;

	path_enter(ca, PATH_SLOW_START);
	stamped_ack(sk, now_ms++, 30, 20);
	for (i = 0; i < 100; i++)
		stamped_ack(sk, now_ms++, 20, 70);
	path_enter(ca, PATH_AVOIDANCE);
	/* so may ACKs in the first round trip after it, which are for segments of the start */
	for (i = 0; i < 100; i++)
		stamped_ack(sk, now_ms++, 14, 76);
	expect_base(test, ca, 90000);
	ca->rounds = 1;
	stamped_ack(sk, now_ms++, 8, 82);
	KUNIT_EXPECT_TRUE(test, ca->back == PATH_NO_CLOCK);
}

/*
 * If a drain finds no queue except the delay of the way back, the path is empty, and has not become
 * longer.
 */
static void congested_way_back_is_no_longer_path(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = link_bw(100), i;

	ca->noise = 0;
	ca->probe.rtt_s = 75000 << 3;
	ca->probe.round_rtt_us = 74000;
	tcp_sk(sk)->packets_out = 400;
	ca->back = 22;
	for (i = 0; i < 4; i++) {
		path_drain(sk);
		ca->before_us = 76000;
		path_drained(sk, bw, false);
		KUNIT_EXPECT_EQ(test, ca->probe.rtt_min_us, 50000);
		KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FRIENDLY);
	}
}

/*
 * A peer's clock stands, ticks every 4 ms, or runs backwards, and there is a queue of 40 ms on the
 * way there.  This queue is taken for delay of the way back, at most 42 ms, until the clock has
 * fallen behind by as much.  From then on the way back is not known.
 */
static void clock_of_another_kind(struct kunit *test)
{
	/* the clock falls behind by so many quarters of a ms in each ms */
	static const u32 behind[] = { 4, 3, 8 };
	u32 i, j;

	for (j = 0; j < ARRAY_SIZE(behind); j++) {
		struct sock *sk = flow(test);
		struct cpath *ca = inet_csk_ca(sk);

		stamped_ack(sk, 5000, 20, 30);
		for (i = 1; i <= 60; i++) {
			late_stamp(sk, 5000 + i, 20 + 40, 30, i * behind[j] / 4);
			KUNIT_EXPECT_LE(test, path_base_us(ca), 50000 + 42000);
		}
		KUNIT_EXPECT_TRUE(test, ca->back == PATH_NO_CLOCK);
		KUNIT_EXPECT_EQ(test, path_base_us(ca), 50000);
	}
}

/* Without time stamps the delay of the way back is not known. */
static void no_clock_at_all(struct kunit *test)
{
	struct sock *sk = flow(test);
	u32 i;

	for (i = 0; i < 100; i++)
		path_way_back(sk, 90000, false);
	KUNIT_EXPECT_EQ(test, path_base_us(inet_csk_ca(sk)), 50000);
}

/* Delay that varies by itself is not a queue, also not after a smaller rtt is met by chance. */
static void noise_is_no_queue(struct kunit *test)
{
	struct cpath ca = {
		.probe = { .rtt_min_us = 50000, .round_rtt_us = 50000,
			   .rtt_s = 55000 << 3 },
		.noise = PATH_NO_NOISE,
		.room = 30000 / PATH_QUEUE,
	};
	u32 i;

	KUNIT_EXPECT_EQ(test, path_base_us(&ca), 50000);
	/* 64 segments took 5 ms more on average, which is 4992 us in units of 64 us */
	ca.delay_sum = 64 * 5000 / PATH_NOISE;
	path_learn_base(&ca, 64, 2500);
	KUNIT_EXPECT_EQ(test, path_base_us(&ca), 50000 + 4992);
	/* 3 ms more for all packets are a queue */
	ca.probe.round_rtt_us = 58000;
	ca.probe.rtt_s = 58000 << 3;
	ca.delay_sum = 64 * 8000 / PATH_NOISE;
	path_learn_base(&ca, 64, 2500);
	KUNIT_EXPECT_EQ(test, path_queue_us(&ca), 3008);
	/*
	 * they are not a queue if some packets do not meet it in seven successive round trips: the
	 * base then moves by an eighth of the difference
	 */
	ca.probe.round_rtt_us = 50000;
	for (i = 1; i < PATH_CLEAR_ROUNDS; i++) {
		path_learn_base(&ca, 64, 2500);
		KUNIT_EXPECT_EQ(test, path_base_us(&ca), 50000 + 4992);
	}
	path_learn_base(&ca, 64, 2500);
	KUNIT_EXPECT_EQ(test, path_base_us(&ca), 50000 + 4992 + 5 * PATH_NOISE);
	/* but in a buffer of less than rtt_min/16 a queue of ours looks the same: no change */
	ca.room = 3000 / PATH_QUEUE;
	path_learn_base(&ca, 64, 2500);
	KUNIT_EXPECT_EQ(test, path_base_us(&ca), 50000 + 4992 + 5 * PATH_NOISE);
	ca.room = 30000 / PATH_QUEUE;
	/* a smaller rtt_min is met by chance, after 48 segments of this round trip took 50 ms */
	ca.probe.rtt_min_us = 45008;
	ca.delay_sum = 0;
	path_rtt_min(&ca, 50000, 48);
	KUNIT_EXPECT_EQ(test, path_base_us(&ca), 50000 + 4992 + 5 * PATH_NOISE);
	KUNIT_EXPECT_EQ(test, ca.delay_sum, 48 * (4992 / PATH_NOISE));
	/* three segments are too few for a mean */
	ca.delay_sum = 0;
	path_learn_base(&ca, 3, 2500);
	KUNIT_EXPECT_EQ(test, path_base_us(&ca), 50000 + 4992 + 5 * PATH_NOISE);
	/* a few segments move the base by an eighth of the difference */
	path_learn_base(&ca, 8, 2500);
	EXPECT_NEAR(test, path_base_us(&ca), 45008 + 7 * (9984 + 5 * PATH_NOISE) / 8, 2000);
	/* but in a look the mean of a few counts as it is */
	ca.mode = PATH_DRAIN;
	ca.delay_sum = 8 * 3200 / PATH_NOISE;
	path_learn_base(&ca, 8, 2500);
	KUNIT_EXPECT_EQ(test, path_base_us(&ca), 45008 + 3200);
	ca.mode = PATH_AVOIDANCE;
	ca.delay_sum = 0;
	/* with 16 segments a shorter path is found at once */
	path_learn_base(&ca, 16, 2500);
	KUNIT_EXPECT_EQ(test, path_base_us(&ca), 45008);
	ca.probe.round_rtt_us = 44000;
	KUNIT_EXPECT_EQ(test, path_round_queue_us(&ca), 0);
}

/*
 * Packets that keep their order wait for the slowest one before them.  So the base is larger if a
 * round trip has more packets.
 */
static void jitter_raises_the_base(struct kunit *test)
{
	struct cpath ca = {
		.probe = { .rtt_min_us = 5000, .round_rtt_us = 8600, .rtt_s = 10000 << 3 },
		.noise = 3200 / PATH_NOISE,
		.room = 6000 / PATH_QUEUE,
	};
	u32 i;

	/* all packets took 0.4 ms more than the base, and 1.6 ms more on average */
	for (i = 0; i < PATH_CLEAR_ROUNDS; i++) {
		ca.delay_sum = 128 * 4800 / PATH_NOISE;
		path_learn_base(&ca, 128, 1250);
	}
	KUNIT_EXPECT_EQ(test, path_noise_us(&ca), 3200 + 3 * PATH_NOISE);
	/* if all took more than half of q0 beyond the base, there is a queue */
	ca.probe.round_rtt_us = 9100;
	path_learn_base(&ca, 128, 1250);
	KUNIT_EXPECT_FALSE(test, ca.clear);
	/* or if the delay varies by less than rtt_min/4, the largest q0 */
	ca.probe.rtt_min_us = 50000;
	ca.probe.round_rtt_us = path_base_us(&ca) + 400;
	path_learn_base(&ca, 128, 3125);
	KUNIT_EXPECT_FALSE(test, ca.clear);
}

/* One of four packets overtakes the others: its rtt is not that of an empty path. */
static void overtaker_is_no_base(struct kunit *test)
{
	struct rate_sample rs = { .rtt_us = 100000, .acked_sacked = 1 };
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	ca->probe.rtt_min_us = 40000;
	ca->probe.rtt_s = 100000 << 3;
	path_set_noise(ca, 60000);
	for (i = 0; i < 4; i++) {
		rs.rtt_us = i == 2 ? 40000 : 100000;
		path_rtt(sk, &rs);
	}
	path_learn_base(ca, 4, 2500);
	KUNIT_EXPECT_GE(test, path_base_us(ca), 95000);
	/* a round trip without such a packet does not seem to have a queue of others */
	ca->probe.round_rtt_us = 100000;
	KUNIT_EXPECT_LT(test, path_round_queue_us(ca), 2 * path_q0(sk, path_capacity(ca)));
	/* the segments of half a second at 400 Gb/s do not overflow the sum */
	rs.rtt_us = 600000;
	rs.acked_sacked = 18 * 1000 * 1000;
	path_rtt(sk, &rs);
	KUNIT_EXPECT_EQ(test, ca->delay_sum, U32_MAX);
}

/* An overflow halves the claim at most.  The claim is at least the least window per rtt. */
static void claim_has_a_floor(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 claim = ca->claim, i;

	tcp_sk(sk)->delivered = 300;
	ca->probe.rtt_s = 90000 << 3;
	ca->probe.round_rtt_us = 90000;
	ca->noise = 0;
	ca->round_lost = 100;
	path_round(sk, claim / 100);
	KUNIT_EXPECT_EQ(test, ca->claim, claim / 2);

	ca->round_lost = 0;
	ca->probe.rtt_s = 50000 << 3;
	for (i = 0; i < 20; i++) {
		ca->mode = PATH_AVOIDANCE;
		path_round(sk, 1000);
	}
	/* 4 segments in 50 ms, in units of 2^-24 segments per us */
	KUNIT_EXPECT_EQ(test, ca->claim, 1342);
}

/* The floor is the window of the claim, also if only a drain has found the queue of others. */
static void floor_is_of_the_claim(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);

	ca->noise = 0;
	ca->cap = link_bw(50);		/* shares memory with the floor */
	ca->capped = 1;
	ca->before_us = 90000;
	ca->probe.rtt_s = 80000 << 3;
	ca->probe.round_rtt_us = 80000;
	ca->withdrawn = 100;
	path_drained(sk, link_bw(100), true);
	KUNIT_EXPECT_TRUE(test, ca->doubt == PATH_UNSURE);
	KUNIT_EXPECT_FALSE(test, ca->capped);
	KUNIT_EXPECT_EQ(test, ca->floor, 412);	/* 100 Mb/s * 50 ms / 1514 bytes */

	/* a cap in the same memory is not used as a floor */
	ca->doubt = 1;
	tcp_sk(sk)->delivered = 300;
	ca->round_lost = 301;
	ca->probe.rtt_s = 50000 << 3;
	path_next_claim(ca, link_bw(50), 300, 301, link_bw(100), 3125, 0);
	KUNIT_EXPECT_TRUE(test, ca->capped);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FRIENDLY);
	KUNIT_EXPECT_TRUE(test, !ca->doubt);
}

/* The claim is in segments.  If their size changes, the claim in bytes stays the same. */
static void segments_change_their_size(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u64 bytes_ps = ccpd_bytes_ps(ca->claim, 1448);

	ca->cap = ca->claim / 2;
	ca->capped = 1;
	tcp_sk(sk)->mss_cache = 8948;
	path_rescale(sk);
	EXPECT_NEAR(test, ccpd_bytes_ps(ca->claim, 8948), bytes_ps, 100);
	EXPECT_NEAR(test, ccpd_bytes_ps(ca->cap, 8948), bytes_ps / 2, 100);
}

/*
 * A timeout in a train takes all of it for lost, and the next ACK shows that it was spurious: the
 * train is not through.  That holds before its first ACK, too.
 */
static void undone_timeout_ends_no_train(struct kunit *test)
{
	struct sock *sk = train(test, 40, 1600);
	struct rate_sample rs = { .acked_sacked = 1, .rtt_us = 250000 };
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	for (i = 0; i < 2; i++) {
		u32 left = tp->packets_out;

		tp->snd_ssthresh = path_ssthresh(sk);
		tp->lost += left;
		tp->lost_out = left;
		path_set_state(sk, TCP_CA_Loss);
		inet_csk(sk)->icsk_ca_state = TCP_CA_Loss;
		tp->tcp_mstamp += 250000;
		tp->delivered++;
		tp->packets_out--;
		tp->lost_out = 0;
		tcp_snd_cwnd_set(tp, path_undo_cwnd(sk));
		path_set_state(sk, TCP_CA_Open);
		inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
		ack(sk, &rs);
		KUNIT_EXPECT_TRUE(test, ca->train == (i ? TRAIN_OPEN : TRAIN_FIRST));
		KUNIT_EXPECT_EQ(test, path_train_segs(ca), 40);
		KUNIT_EXPECT_EQ(test, ca->train_end - path_through(tp), left - 1);
		KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), left - 1);
	}
	/* two ACKs of segments that left before the train do not begin it */
	sk = train(test, 40, 1600);
	tp = tcp_sk(sk);
	ca = inet_csk_ca(sk);
	tp->packets_out = 42;
	ca->t.begin += 2;
	ca->train_end += 2;
	path_ssthresh(sk);
	tp->lost += 42;
	inet_csk(sk)->icsk_ca_state = TCP_CA_Loss;
	tp->delivered++;
	tp->packets_out--;
	path_undo_cwnd(sk);
	path_train(sk, 250000);
	KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_SENT);
	train_ack(sk, 100, 1, 250000);
	KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_SENT);
	train_ack(sk, 100, 1, 250000);
	KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_FIRST);

	/* the application had 3 segments for a train of 40: it is no longer than that */
	sk = train(test, 40, 1600);
	tp = tcp_sk(sk);
	ca = inet_csk_ca(sk);
	ca->train_zero = 1;
	tp->packets_out = 3;
	path_ssthresh(sk);
	tp->lost += 3;
	inet_csk(sk)->icsk_ca_state = TCP_CA_Loss;
	tp->delivered++;
	tp->packets_out--;
	path_undo_cwnd(sk);
	path_train(sk, 250000);
	KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_FIRST);
	KUNIT_EXPECT_EQ(test, path_train_segs(ca), 6);
}

/* On a path of 131 ms and more a flow that has most of it withdraws a quarter. */
static void look_is_short_on_a_long_path(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = ccpd_pair_bw(&ca->probe);

	ca->noise = 0;
	tcp_sk(sk)->packets_out = 400;
	ca->claim = bw;
	ca->probe.rtt_min_us = 140000;
	ca->probe.round_rtt_us = 140000 + 140000 / 8;
	path_drain(sk);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 300);
	/* the queue is longer than the law makes it */
	ca->probe.round_rtt_us++;
	path_drain(sk);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 200);
	/* the flow has given way, perhaps to others */
	ca->probe.round_rtt_us = 140000;
	ca->claim = bw - (bw >> 2);
	path_drain(sk);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 200);
	/* a shorter path */
	ca->claim = bw;
	ca->probe.rtt_min_us = 130000;
	ca->probe.round_rtt_us = 130000;
	path_drain(sk);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 200);
}

/*
 * A base that no packet meets includes a queue, so the flow looks after fifteen round trips.  It
 * does not if some packets take less than half of what the base has beyond rtt_min, since then the
 * delay varies; nor if that is more than ten segments.  This is asked until the first look.
 */
static void base_with_a_queue_is_looked_at(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = link_bw(18);

	memset(ca->probe.best, 0, sizeof(ca->probe.best));
	ccpd_pair_add(&ca->probe, bw, 100000);
	path_set_noise(ca, 6400);
	ca->rtt_min_stamp = path_now(sk);
	ca->rounds = PATH_ROUNDS;
	ca->probe.round_rtt_us = 53201;
	KUNIT_EXPECT_TRUE(test, path_wants_look(sk, path_base_us(ca), bw, 6000));
	ca->probe.round_rtt_us = 53200;
	KUNIT_EXPECT_FALSE(test, path_wants_look(sk, path_base_us(ca), bw, 6000));
	ca->probe.round_rtt_us = 56000;
	ca->rounds--;
	KUNIT_EXPECT_FALSE(test, path_wants_look(sk, path_base_us(ca), bw, 6000));
	ca->rounds = PATH_ROUNDS;
	ca->bunches = PATH_BUNCHES_MOST;
	KUNIT_EXPECT_FALSE(test, path_wants_look(sk, path_base_us(ca), bw, 6000));
	ca->bunches = 0;
	ca->rival = PATH_FRIENDLY;
	KUNIT_EXPECT_FALSE(test, path_wants_look(sk, path_base_us(ca), bw, 6000));
	ca->rival = PATH_UNASKED;
	/* at most rtt_min/16 */
	path_set_noise(ca, 3125);
	KUNIT_EXPECT_FALSE(test, path_wants_look(sk, path_base_us(ca), bw, 6000));
	/* more than ten segments in 6.4 ms */
	path_set_noise(ca, 6400);
	ccpd_pair_add(&ca->probe, link_bw(20), 90000);
	KUNIT_EXPECT_FALSE(test, path_wants_look(sk, path_base_us(ca), bw, 6000));
}

/* With the least window in flight a look withdraws nothing, so it tells of no longer path. */
static void look_withdraws_something(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = link_bw(1) / 16, i;

	memset(ca->probe.best, 0, sizeof(ca->probe.best));
	ccpd_pair_add(&ca->probe, bw, 475000);
	ca->noise = 0;
	ca->claim = bw;
	ca->room = 520000 / PATH_QUEUE;
	ca->probe.rtt_min_us = 237500;
	ca->probe.rtt_s = 757000 << 3;
	ca->probe.round_rtt_us = 757000;
	tcp_sk(sk)->packets_out = PATH_LEAST_WINDOW;
	for (i = 0; i < 2; i++) {
		ca->doubt = PATH_DOUBT;
		path_drain(sk);
		KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), PATH_LEAST_WINDOW);
		path_drained(sk, bw, false);
		KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FRIENDLY);
	}
	KUNIT_EXPECT_EQ(test, ca->probe.rtt_min_us, 237500);
	/* of five it withdraws one, which is enough on a path that holds so few */
	tcp_sk(sk)->packets_out = PATH_LEAST_WINDOW + 1;
	path_drain(sk);
	path_drained(sk, bw, false);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_EMPTY);
}

/*
 * A look for another reason than a queue finds a longer path, and then a rival comes.  The floor is
 * the window from before, and not what else was in its memory.
 */
static void first_look_sets_the_floor(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = link_bw(100), i;

	ca->noise = 0;
	ca->cap = bw;			/* shares memory with the floor */
	ca->claim = bw / 2;
	tcp_sk(sk)->packets_out = 250;
	ca->probe.rtt_s = 56000 << 3;
	ca->probe.round_rtt_us = 55000;
	path_drain(sk);
	path_drained(sk, bw, false);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_EMPTY);
	KUNIT_EXPECT_EQ(test, ca->floor, 206);		/* 50 Mb/s * 50 ms / 1514 bytes */
	/* the rival's queue: our part of it is gone with a look, the rest stays */
	ca->probe.rtt_s = 90000 << 3;
	ca->probe.round_rtt_us = 88000;
	path_crowded(sk, 38000, 0);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	ca->probe.rtt_s = 76000 << 3;
	ca->probe.round_rtt_us = 75000;
	path_drained(sk, bw, true);
	ca->probe.rtt_s = 90000 << 3;
	ca->probe.round_rtt_us = 90000;
	ca->round_queue = 40000 / PATH_QUEUE;
	for (i = 0; i <= PATH_ROUNDS && ca->mode == PATH_AVOIDANCE; i++) {
		ca->rounds = i;
		path_crowded(sk, 40000, 0);
	}
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	ca->probe.rtt_s = 76000 << 3;
	ca->probe.round_rtt_us = 75000;
	path_drained(sk, bw, true);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FOREIGN);
	KUNIT_EXPECT_EQ(test, ca->floor, 206);
}

/*
 * Before a policer most of the longest train is lost.  What arrives of it arrives in one batch, or
 * the last ACKs deliver nothing.  Then no rate after the bucket was empty is known.
 */
static void policed_train_leaves_a_claim(struct kunit *test)
{
	struct sock *sk = train(test, 64, 50000);
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	ca->room = 0;
	train_ack(sk, 50000, 1, 50000);
	KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_FIRST);
	train_ack(sk, 10, 1, 50000);
	ca->round_lost = 60;
	tp->lost += 60;
	tp->packets_out -= 60;
	train_ack(sk, 10, 1, 50000);
	KUNIT_EXPECT_TRUE(test, ca->capped);
	/* 3/4 of the four that arrived, in 50 ms */
	EXPECT_NEAR(test, ca->cap, 3 * (BIT(BW_SCALE) / 50000), 1000);
	KUNIT_EXPECT_EQ(test, ca->claim, ca->cap);

	sk = train(test, 64, 50000);
	tp = tcp_sk(sk);
	ca = inet_csk_ca(sk);
	ca->room = 0;
	for (i = 0; i < 16; i++)
		train_ack(sk, 2000, 1, 50000);
	ca->round_lost = 48;
	tp->lost += 44;
	tp->packets_out -= 44;
	train_ack(sk, 8000, 0, 0);
	tp->lost += 4;
	tp->packets_out -= 4;
	train_ack(sk, 8000, 0, 0);
	KUNIT_EXPECT_TRUE(test, ca->capped);
	KUNIT_EXPECT_GT(test, ca->cap, BIT(BW_SCALE) / 50000);
	KUNIT_EXPECT_EQ(test, ca->claim, ca->cap);
}

/* Without a pair a cap may rise as long as the flow lives: it stays at the largest rate. */
static void cap_does_not_wrap(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i, before;

	memset(ca->probe.best, 0, sizeof(ca->probe.best));
	ca->noise = 0;
	ca->cap = link_bw(1000);
	ca->capped = 1;
	ca->rounds = PATH_ROUNDS;
	for (i = 0; i < 2000; i++) {
		before = ca->cap;
		path_cap_rises(ca, 3125, 3125);
		KUNIT_ASSERT_GE(test, ca->cap, before);
	}
	KUNIT_EXPECT_EQ(test, ca->cap, U32_MAX);
}

/*
 * A flow that has changed to ccpd_path has no claim yet.  If it loses a fifth of its first round
 * trip without a queue, the claim is what was delivered, and not the least one.
 */
static void unknown_claim_is_no_limit(struct kunit *test)
{
	struct sock *sk = fresh(test, 500, 50, 500);
	struct cpath *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	path_enter(ca, PATH_AVOIDANCE);
	ca->probe.rtt_min_us = 50000;
	ca->probe.rtt_s = 50000 << 3;
	ca->probe.round_rtt_us = 50000;
	ca->rounds = 1;
	ca->probe.round_delivered = tp->delivered;
	tp->delivered += 400;
	ca->round_lost = 100;
	path_round(sk, link_bw(96));
	EXPECT_NEAR(test, ca->claim, link_bw(96), 1000);
}

/* The size of segments changes in a train: no gap between its ACKs results from that. */
static void segments_change_in_a_train(struct kunit *test)
{
	struct sock *sk = train(test, 200, 1600);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	tcp_sk(sk)->snd_nxt = 123456789;
	for (i = 0; i < 20; i++)
		train_ack(sk, 121, 1, 50000);
	KUNIT_EXPECT_EQ(test, ca->t.gap_us, 121);
	tcp_sk(sk)->mss_cache = 1400;
	path_rescale(sk);
	train_ack(sk, 121, 1, 50000);
	KUNIT_EXPECT_EQ(test, ca->t.gap_us, 121);
}

/* The ACK with the first mark is for a retransmission, and has no rtt: the window stays. */
static void mark_before_any_rtt(struct kunit *test)
{
	struct sock *sk = fresh(test, 10, TCP_INFINITE_SSTHRESH, 0);
	struct rate_sample rs = { .acked_sacked = 1, .rtt_us = 50000, .is_retrans = true };
	struct tcp_sock *tp = tcp_sk(sk);

	tp->packets_out = 10;
	path_ssthresh(sk);
	path_set_state(sk, TCP_CA_CWR);
	inet_csk(sk)->icsk_ca_state = TCP_CA_CWR;
	tp->delivered++;
	ack(sk, &rs);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 10);
}

/*
 * After a change to ccpd_path the ACK of one segment has waited for the receiver's timer, so there
 * is no rtt: the window stays, and nothing is claimed.
 */
static void rate_without_an_rtt(struct kunit *test)
{
	struct sock *sk = fresh(test, 20, 10, 1);
	struct cpath *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	ca->probe.rate[0] = link_bw(10);
	ca->probe.rtt_s = 0;
	ca->probe.rtt_min_us = U32_MAX;
	path_start(sk, 1, 0);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	KUNIT_EXPECT_EQ(test, ca->claim, 0);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 20);
}

/* A claim that is not known limits nothing after a mark, and an undo does not set it. */
static void unknown_claim_and_a_mark(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	ca->claim = 0;
	tp->snd_ssthresh = path_ssthresh(sk);
	path_undo_cwnd(sk);
	KUNIT_EXPECT_EQ(test, ca->claim, 0);
	inet_csk(sk)->icsk_ca_state = TCP_CA_CWR;
	ca->rounds = 5;
	tp->delivered = 300;
	path_round(sk, link_bw(50));
	KUNIT_EXPECT_GE(test, ca->claim, link_bw(49));
}

/* A timeout, and slow start after it, keep the floor beside a rival: it is rescaled there, too. */
static void floor_changes_in_slow_start(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);

	ca->rival = PATH_FOREIGN;
	ca->floor = 100;
	path_train_stop(sk, TRAIN_NONE);
	path_enter(ca, PATH_SLOW_START);
	tcp_sk(sk)->mss_cache = 724;
	path_rescale(sk);
	KUNIT_EXPECT_EQ(test, ca->floor, 200);
	/* a train has its end there */
	sk = train(test, 200, 1600);
	ca = inet_csk_ca(sk);
	tcp_sk(sk)->mss_cache = 724;
	path_rescale(sk);
	KUNIT_EXPECT_EQ(test, ca->train_end, 200);
}

/* Segments so large that their product with USEC_PER_SEC exceeds 32 bits. */
static void visit_of_large_segments(struct kunit *test)
{
	struct sock *sk = visitor(test, visits_net(test), 1000);
	struct cpath *ca = inet_csk_ca(sk);

	/* 100 Mb/s, 1 ms: an eighth is 1562 bytes, less than an initial window */
	path_visits_store(sk, 12500000, 1000);
	WRITE_ONCE(visits, 10);
	tcp_sk(sk)->mss_cache = 4312;
	tcp_snd_cwnd_set(tcp_sk(sk), 10);
	path_init(sk);
	WRITE_ONCE(visits, 0);
	KUNIT_EXPECT_FALSE(test, ca->fell);
}

/* The stamps do not jump where jiffies wrap, 300 s after the boot. */
static void clock_does_not_jump(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	for (i = 0; i < 5000; i += 5) {
		tp->tcp_mstamp = (u64)i * USEC_PER_SEC;
		ca->rtt_min_stamp = path_now(sk);
		tp->tcp_mstamp += 5 * USEC_PER_SEC;
		KUNIT_ASSERT_GE(test, path_since(sk, ca->rtt_min_stamp), path_ticks(5));
		KUNIT_ASSERT_LE(test, path_since(sk, ca->rtt_min_stamp), path_ticks(5) + 1);
	}
	/* the longest time of a drain that can be set */
	tp->tcp_mstamp += 3595ULL * USEC_PER_SEC;
	KUNIT_EXPECT_GE(test, path_since(sk, ca->rtt_min_stamp), path_ticks(3600));
}

/*
 * What was delivered is remembered for one to two epochs of 16 ticks, and a capacity that moves for
 * 31 ticks, whatever a round trip takes; each ends with one.
 */
static void memory_is_of_seconds(struct kunit *test)
{
	static const u32 rtt_ms[] = { 40, 250, 262, 300, 470, 500, 524, 1000, 3000 };
	u32 i, begin_us, rtt_us;

	for (i = 0; i < ARRAY_SIZE(rtt_ms); i++) {
		rtt_us = rtt_ms[i] * USEC_PER_MSEC;
		for (begin_us = 0; begin_us < 5 * USEC_PER_SEC; begin_us += 190 * USEC_PER_MSEC) {
			struct sock *sk = flow(test);
			struct tcp_sock *tp = tcp_sk(sk);
			struct cpath *ca = inet_csk_ca(sk);
			u32 past_us = 0, moved_us = 0, known_us = 0, wait_us;

			/* an epoch may have begun before */
			tp->tcp_mstamp = USEC_PER_SEC;
			ca->tick = path_now(sk) & 1;
			for (; past_us < begin_us; past_us += rtt_us) {
				tp->tcp_mstamp += rtt_us;
				path_age(sk, tp->tcp_mstamp - rtt_us);
			}
			ca->moves = PATH_MOVES;
			ca->probe.rate[0] = 1000;
			for (past_us = 0; past_us < 20 * USEC_PER_SEC; past_us += rtt_us) {
				if (ca->moves)
					moved_us = past_us + rtt_us;
				if (ccpd_delivery_rate(&ca->probe))
					known_us = past_us + rtt_us;
				/* a segment may leave some time after the round trip began */
				wait_us = past_us / rtt_us % 2 * min(rtt_us / 4, 200000U);
				tp->tcp_mstamp += rtt_us;
				path_age(sk, tp->tcp_mstamp - rtt_us + wait_us);
			}
			KUNIT_EXPECT_GE(test, known_us, CCPD_EPOCH * PATH_TICK);
			KUNIT_EXPECT_LE(test, known_us, 2 * CCPD_EPOCH * PATH_TICK + rtt_us);
			KUNIT_EXPECT_GE(test, moved_us, (PATH_MOVES - 1) * PATH_TICK);
			KUNIT_EXPECT_LE(test, moved_us, PATH_MOVES * PATH_TICK + rtt_us);
			kunit_kfree(test, sk);
		}
	}
}

/* A pair among the packets of others: the known rate halves, unless this flow has what it shows. */
static void pair_among_others_is_doubted(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	struct ccpd_probe *p = &ca->probe;
	u32 bw = link_bw(10);

	p->best[0] = (struct ccpd_pair) { .bw = bw, .delay_us = 120000 };
	p->best[1] = (struct ccpd_pair) { .bw = link_bw(100), .delay_us = 110000 };
	p->rate[0] = bw / 2;
	p->rate[1] = 0;
	p->epoch = CCPD_EPOCH - 2;
	tcp_sk(sk)->tcp_mstamp += PATH_TICK;
	path_age(sk, tcp_sk(sk)->tcp_mstamp - PATH_TICK);
	KUNIT_EXPECT_EQ(test, p->best[0].bw, bw);
	/* the epoch ends */
	tcp_sk(sk)->tcp_mstamp += 2 * PATH_TICK;
	path_age(sk, tcp_sk(sk)->tcp_mstamp - 2 * PATH_TICK);
	KUNIT_EXPECT_EQ(test, ccpd_pair_bw(p), link_bw(100) / 2);

	/* half of the rate before is possible */
	p->best[0] = (struct ccpd_pair) { .bw = link_bw(100) / 4, .delay_us = 120000 };
	path_doubt_pair(p);
	ccpd_age(p, CCPD_EPOCH);
	KUNIT_EXPECT_EQ(test, ccpd_pair_bw(p), link_bw(100) / 4);

	/* so is a rate that this flow has */
	p->best[0] = (struct ccpd_pair) { .bw = bw, .delay_us = 120000 };
	p->rate[0] = bw - bw / 4;
	path_doubt_pair(p);
	ccpd_age(p, CCPD_EPOCH);
	KUNIT_EXPECT_EQ(test, ccpd_pair_bw(p), bw);
}

static struct kunit_case path_cases[] = {
	KUNIT_CASE(path_fills_the_pipe),
	KUNIT_CASE(path_queue_target),
	KUNIT_CASE(delay_varies_alike_for_all),
	KUNIT_CASE(least_queue_is_of_the_claim),
	KUNIT_CASE(path_claim_shares),
	KUNIT_CASE(path_verdict),
	KUNIT_CASE(logarithm),
	KUNIT_CASE(policer_caps),
	KUNIT_CASE(burst_of_losses_is_no_policer),
	KUNIT_CASE(noise_and_outages_do_not_cap),
	KUNIT_CASE(undo_gives_back),
	KUNIT_CASE(sent_twice_shows_no_rate),
	KUNIT_CASE(blind_round_lowers_the_claim),
	KUNIT_CASE(mark_is_answered),
	KUNIT_CASE(little_to_send_teaches_nothing),
	KUNIT_CASE(idle_is_a_drain),
	KUNIT_CASE(clock_does_not_jump),
	KUNIT_CASE(train_fits_the_receiver),
	KUNIT_CASE(way_back_is_no_queue),
	KUNIT_CASE(falling_way_back_is_no_queue),
	KUNIT_CASE(few_acks_show_the_way_back),
	KUNIT_CASE(way_back_is_bounded),
	KUNIT_CASE(way_back_is_long),
	KUNIT_CASE(shorter_way_back),
	KUNIT_CASE(first_ack_has_waited),
	KUNIT_CASE(congested_way_back_is_no_longer_path),
	KUNIT_CASE(clock_of_another_kind),
	KUNIT_CASE(no_clock_at_all),
	KUNIT_CASE(noise_is_no_queue),
	KUNIT_CASE(jitter_raises_the_base),
	KUNIT_CASE(overtaker_is_no_base),
	KUNIT_CASE(claim_has_a_floor),
	KUNIT_CASE(floor_is_of_the_claim),
	KUNIT_CASE(late_train_tells_the_rate),
	KUNIT_CASE(late_first_ack_changes_no_rate),
	KUNIT_CASE(train_without_an_end_tells_the_rate),
	KUNIT_CASE(first_train_is_what_was_sent),
	KUNIT_CASE(short_path_has_one_train),
	KUNIT_CASE(loss_ends_a_short_train),
	KUNIT_CASE(short_repair_keeps_its_clock),
	KUNIT_CASE(lost_train_leaves_a_claim),
	KUNIT_CASE(handshake_tells_a_short_path),
	KUNIT_CASE(window_of_another_goes_on),
	KUNIT_CASE(unknown_claim_is_no_limit),
	KUNIT_CASE(undo_begins_no_train),
	KUNIT_CASE(undone_timeout_ends_no_train),
	KUNIT_CASE(first_ack_may_have_a_mark),
	KUNIT_CASE(mark_before_any_rtt),
	KUNIT_CASE(rate_without_an_rtt),
	KUNIT_CASE(unknown_claim_and_a_mark),
	KUNIT_CASE(mark_raises_no_claim),
	KUNIT_CASE(mark_ends_the_start),
	KUNIT_CASE(short_train_has_uneven_gaps),
	KUNIT_CASE(odd_train_has_no_gap),
	KUNIT_CASE(untimed_train_tells_of_no_queue),
	KUNIT_CASE(acks_come_closer_than_the_train),
	KUNIT_CASE(train_in_time_grows),
	KUNIT_CASE(batch_makes_the_train_longer),
	KUNIT_CASE(longest_train_is_the_last),
	KUNIT_CASE(policer_in_the_start),
	KUNIT_CASE(policed_train_leaves_a_claim),
	KUNIT_CASE(overflow_ends_the_train),
	KUNIT_CASE(train_too_fast),
	KUNIT_CASE(bursts_are_short),
	KUNIT_CASE(bunches_are_averaged),
	KUNIT_CASE(few_wait_for_the_next_bunch),
	KUNIT_CASE(acks_come_in_bunches),
	KUNIT_CASE(empty_path_keeps_the_claim),
	KUNIT_CASE(burst_is_counted_whole),
	KUNIT_CASE(small_buffer_takes_small_packets),
	KUNIT_CASE(packets_are_no_larger_than_allowed),
	KUNIT_CASE(acks_clock_a_short_path),
	KUNIT_CASE(nothing_waits_inside_a_host),
	KUNIT_CASE(no_more_than_the_path_holds),
	KUNIT_CASE(timed_burst_is_part_of_the_buffer),
	KUNIT_CASE(rival_meets_no_burst),
	KUNIT_CASE(repair_is_no_flood),
	KUNIT_CASE(window_keeps_most_of_the_claim),
	KUNIT_CASE(losses_do_not_raise_the_claim),
	KUNIT_CASE(cap_without_a_pair_ends),
	KUNIT_CASE(cap_does_not_wrap),
	KUNIT_CASE(bursts_are_not_policed),
	KUNIT_CASE(bunches_answer_a_loss),
	KUNIT_CASE(small_buffer_answers_a_few_losses),
	KUNIT_CASE(late_train_may_be_jitter),
	KUNIT_CASE(visits_are_bounded),
	KUNIT_CASE(visits_expire),
	KUNIT_CASE(visits_replace_the_oldest),
	KUNIT_CASE(visits_are_private),
	KUNIT_CASE(visit_is_remembered),
	KUNIT_CASE(visit_begins_where_the_last_ended),
	KUNIT_CASE(visit_of_large_segments),
	KUNIT_CASE(empty_path_has_room),
	KUNIT_CASE(long_path_has_more_room),
	KUNIT_CASE(what_was_had_is_regained),
	KUNIT_CASE(capacity_that_moves),
	KUNIT_CASE(memory_is_of_seconds),
	KUNIT_CASE(window_follows_the_queue),
	KUNIT_CASE(cube_root),
	KUNIT_CASE(rival_is_no_reason_to_flood),
	KUNIT_CASE(rival_is_matched),
	KUNIT_CASE(rival_is_caught_up_with),
	KUNIT_CASE(queue_that_stays_is_a_rivals),
	KUNIT_CASE(who_gives_way_in_vain_looks_again),
	KUNIT_CASE(noise_hides_no_rival),
	KUNIT_CASE(longer_path_is_found),
	KUNIT_CASE(longer_path_has_its_way_back),
	KUNIT_CASE(who_gave_way_looks_sooner),
	KUNIT_CASE(met_path_is_no_longer),
	KUNIT_CASE(base_with_a_queue_is_looked_at),
	KUNIT_CASE(look_withdraws_something),
	KUNIT_CASE(look_is_shallow_beside_a_rival),
	KUNIT_CASE(look_is_short_on_a_long_path),
	KUNIT_CASE(first_look_sets_the_floor),
	KUNIT_CASE(segments_change_their_size),
	KUNIT_CASE(floor_changes_in_slow_start),
	KUNIT_CASE(segments_change_in_a_train),
	KUNIT_CASE(pair_among_others_is_doubted),
	{}
};

/*
 * TCP calls us with the socket's lock, as __sk_dst_get() wants.  The sockets of these tests have
 * none, so lockdep must not ask for it.  Each case has a thread of its own, which then ends.
 */
static int path_case_init(struct kunit *test)
{
	lockdep_off();
	return 0;
}

static struct kunit_suite path_suite = {
	.name = "tcp_ccpd_path",
	.init = path_case_init,
	.test_cases = path_cases,
};

kunit_test_suite(path_suite);
