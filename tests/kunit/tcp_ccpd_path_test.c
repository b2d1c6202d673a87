// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ccpd_path: its law, what it makes of losses, marks, idle and spurious
 * events.  The estimators are in tcp_ccpd_test.c.
 */
#include "../../tcp_ccpd_path.c"

#include <kunit/test.h>

#include "near.h"

/* Rate of a link of @mbps that carries frames of 1514 bytes, BW_SCALE */
static u32 link_bw(u32 mbps)
{
	return div_u64(((u64)mbps << BW_SCALE), 8 * 1514);
}

/* Eq. 3 with our storage: one flow fills the pipe and q0, at any gain. */
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

/* q0: a sixteenth of the path, a quarter of a small buffer, never nothing */
static void path_queue_target(struct kunit *test)
{
	u32 bw = link_bw(1000);

	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 160000, 80000, 0), 10000);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 160000, 16000, 0), 4000);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 160000, 0, 0), 2501);
	KUNIT_EXPECT_EQ(test, path_q0_us(0, 1, 0, 0), 1);
	KUNIT_EXPECT_EQ(test, path_q0_us(0, 10, CCPD_RTT_CAP - 10, 0), 1);
	/* bursts of 44 and of 5 segments on short paths, and no more than a quarter of those */
	KUNIT_EXPECT_EQ(test, path_q0_us(link_bw(10000), 500, 0, 0), 54);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 1600, 0, 0), 61);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 400, 0, 0), 100);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 5000, 0, 0), 79);
	/* four segments, where a sixteenth of the path is less: 48.4 us */
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 100, 900, 0), 49);
	EXPECT_NEAR(test, path_q0_us(link_bw(1), 40000, 360000, 0), 48448,
		    1000);
	/* half of a buffer of five segments; half of the four, of a smaller one */
	KUNIT_EXPECT_EQ(test, path_q0_us(link_bw(10), 10000, 6000, 0), 3000);
	EXPECT_NEAR(test, path_q0_us(link_bw(10), 10000, 2400, 0), 2422, 1000);
	/* as much as the delay varies, where that is more than a sixteenth, to a quarter */
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 20000, 40000, 1000), 1250);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 20000, 40000, 3000), 3000);
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 20000, 40000, 9000), 5000);
	/* but never more than a quarter of the buffer */
	KUNIT_EXPECT_EQ(test, path_q0_us(bw, 20000, 8000, 3000), 2000);
}

static void path_claim_shares(struct kunit *test)
{
	u32 bw = link_bw(1000), q0 = 10000;
	u32 n;

	/* alone, or with a queue of 2 * q0: what it has */
	KUNIT_EXPECT_EQ(test, path_share(bw, bw, 0, q0), bw);
	KUNIT_EXPECT_EQ(test, path_share(2 * bw, bw, 0, q0), 2 * bw);
	KUNIT_EXPECT_EQ(test, path_share(bw / 9, bw, 2 * q0, q0), bw / 9);
	KUNIT_EXPECT_EQ(test, path_share(0, bw, 0, q0), 0);

	for (n = 2; n <= 1024; n *= 2) {
		u32 rate = bw / n;
		/* log2(n) * ln(2) / 8 of it more, half of that at q0 */
		u32 more = path_share(rate, bw, 0, q0) - rate;
		u32 half = path_share(rate, bw, q0, q0) - rate;

		EXPECT_NEAR(test, more, div_u64((u64)rate * ilog2(n) * 866,
						10000), 20000);
		EXPECT_NEAR(test, half, more / 2, 20000);
	}

	/* never more than the capacity, no overflow at its largest */
	KUNIT_EXPECT_LE(test, path_share(1, U32_MAX, 0, U32_MAX / 4),
			U32_MAX);
	KUNIT_EXPECT_EQ(test, path_share(U32_MAX - 1, U32_MAX, 0, 1000),
			U32_MAX - 1);
}

/* Fifty segments withdrawn at 1 Gb/s are 606 us of queue: less than a quarter of it is none. */
static void path_verdict(struct kunit *test)
{
	u32 bw = link_bw(1000);

	KUNIT_EXPECT_TRUE(test, path_is_longer(50, 0, 5000, bw));
	KUNIT_EXPECT_TRUE(test, path_is_longer(50, 140, 5000, bw));
	KUNIT_EXPECT_FALSE(test, path_is_longer(50, 160, 5000, bw));
	KUNIT_EXPECT_FALSE(test, path_is_longer(50, 606, 5000, bw));
	/* a 32nd of what the path holds is enough to tell, less is one of many flows */
	KUNIT_EXPECT_TRUE(test, path_is_longer(50, 0, 19200, bw));
	KUNIT_EXPECT_FALSE(test, path_is_longer(50, 0, 19900, bw));
	/* few, unless the path holds few: four of 30, and of 41 */
	KUNIT_EXPECT_FALSE(test, path_is_longer(8, 0, 3000, bw));
	KUNIT_EXPECT_TRUE(test, path_is_longer(4, 0, 37000, link_bw(10)));
	KUNIT_EXPECT_FALSE(test, path_is_longer(4, 0, 50000, link_bw(10)));
	/* less than one of four */
	KUNIT_EXPECT_TRUE(test, path_is_longer(4, 1100, 37000, link_bw(10)));
	KUNIT_EXPECT_FALSE(test, path_is_longer(4, 1300, 37000, link_bw(10)));
	/* no overflow at the largest */
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

/* A socket in avoidance, at 100 Mb/s and 50 ms without a queue */
static struct sock *flow(struct kunit *test)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;
	struct cpath *ca = inet_csk_ca(sk);

	KUNIT_ASSERT_NOT_NULL(test, tp);
	sock_net_set(sk, &init_net);
	sk->sk_max_pacing_rate = ~0UL;
	tp->mss_cache = 1448;
	tp->snd_cwnd_clamp = U32_MAX;
	tcp_snd_cwnd_set(tp, 10);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	path_init(sk);
	ca->probe.rtt_min_us = 50000;
	ca->room = 50000 / PATH_QUEUE;
	ca->probe.round_rtt_us = 50000;
	ca->probe.rtt_s = 50000 << 3;
	ca->claim = link_bw(100);
	ca->mode = PATH_AVOIDANCE;
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
 * One of two flows that share a path knows more than the other of what it takes when it is empty,
 * and gains little from that.  Before the first drain nothing tells of others.
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
	/* where rtts are alike, half of what is known, and twice the least at most */
	tcp_sk(sk)->mdev_us = 4 * 100;
	path_set_noise(ca, 3200);
	KUNIT_EXPECT_EQ(test, path_q0(sk, path_capacity(ca)), 1600);
	path_set_noise(ca, 16000);
	KUNIT_EXPECT_EQ(test, path_q0(sk, path_capacity(ca)), 2500);
	/* a quarter of the path at most, as ever */
	tcp_sk(sk)->mdev_us = 4 * 9000;
	KUNIT_EXPECT_EQ(test, path_q0(sk, path_capacity(ca)), 5000);
	/* rtts that differ since a queue moves do not make it longer */
	path_set_noise(ca, 640);
	KUNIT_EXPECT_EQ(test, path_q0(sk, path_capacity(ca)), 1250);
}

/* 4 segments at 100 Mb/s, or, where the capacity moves, at the 10 that are claimed of it. */
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
	/* bursts for TSO are no slower */
	ca->probe.rtt_min_us = 1900;
	EXPECT_NEAR(test, path_q0(sk, bw), 484, 10000);
}

/* What a policer lets through is the capacity until it lets more through. */
static void policer_caps(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 half = link_bw(50), i;

	tcp_sk(sk)->delivered = 300;
	ca->round_lost = 100;		/* of 300, and no queue */
	path_round(sk, half);
	KUNIT_EXPECT_EQ(test, ca->cap, half - half / 32);
	KUNIT_EXPECT_EQ(test, path_capacity(ca), half - half / 32);
	KUNIT_EXPECT_EQ(test, ca->claim, half - half / 32);
	/* the losses of the two round trips until that is felt do not count */
	for (i = 0; i < 2; i++) {
		ca->round_lost = 100;
		path_round(sk, half / 4);
		KUNIT_EXPECT_GE(test, ca->cap, half - half / 32);
		ca->rounds = i;
	}
	/* then a 64th is enough to lower it, which is held for 14 round trips */
	ca->rounds = 5;
	ca->round_lost = 8;
	path_round(sk, half);
	for (i = 0; i < PATH_ROUNDS; i++) {
		KUNIT_EXPECT_EQ(test, ca->cap, half - half / 32);
		ca->round_lost = 0;
		path_round(sk, half);
	}
	ca->cap = half - half / 32;

	/* 64/31 is (1 + 1/64)^46.75: it ends when the cap is what the link lets through */
	for (i = 0; i < 46; i++) {
		ca->round_lost = 0;
		path_round(sk, half);
		KUNIT_EXPECT_TRUE(test, ca->capped);
	}
	path_round(sk, half);
	path_round(sk, half);
	KUNIT_EXPECT_FALSE(test, ca->capped);
	KUNIT_EXPECT_EQ(test, path_capacity(ca), link_bw(100));

	/* where no pair was seen what is delivered is below the cap, and does not end it */
	memset(ca->probe.best, 0, sizeof(ca->probe.best));
	ca->cap = half;
	ca->capped = 1;
	path_round(sk, half - half / 64);
	KUNIT_EXPECT_TRUE(test, ca->capped);

	/* on a path of 400 ms it rises four times as much */
	ca->probe.rtt_s = 400000 << 3;
	ca->cap = half;
	path_cap_rises(ca, 0, 1000);
	EXPECT_NEAR(test, ca->cap, half + half / 16, 1000);

	/* a queue does, which shows that it was none */
	ca->cap = half;
	ca->capped = 1;
	ca->probe.round_rtt_us = 80000;
	path_round(sk, half);
	KUNIT_EXPECT_FALSE(test, ca->capped);
}

/* A few losses, or many that a timeout tells of, cap nothing. */
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
	ca->round_lost = 37;		/* an eighth are 37.5 */
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
	/* slow start ends at the share that it had */
	EXPECT_NEAR(test, tcp_sk(sk)->snd_ssthresh, ccpd_segs(ca->claim, 50000) >> SEG_SCALE,
		    10000);
}

/* A loss that was none: claim, mode and window are what they were. */
static void undo_gives_back(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 claim = ca->claim;

	tp->prior_cwnd = 500;
	tp->delivered = 300;
	tp->snd_ssthresh = path_ssthresh(sk);
	ca->round_lost = 150;
	path_round(sk, claim / 3);
	KUNIT_EXPECT_EQ(test, ca->cap, claim / 3 - claim / 3 / 32);
	KUNIT_EXPECT_EQ(test, path_undo_cwnd(sk), 500);
	KUNIT_EXPECT_FALSE(test, ca->capped);
	EXPECT_NEAR(test, ca->claim, claim, 5000);

	/* of a timeout */
	tp->snd_ssthresh = path_ssthresh(sk);
	path_enter(ca, PATH_SLOW_START);
	path_undo_cwnd(sk);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);

	/* in the start, which losses have ended before a pair was seen */
	memset(ca->probe.best, 0, sizeof(ca->probe.best));
	path_enter(ca, PATH_SLOW_START);
	KUNIT_EXPECT_EQ(test, path_ssthresh(sk), TCP_INFINITE_SSTHRESH);
	path_enter(ca, PATH_AVOIDANCE);
	path_undo_cwnd(sk);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_SLOW_START);
	/* and which goes on: not to the window of what was delivered amid the repairs */
	KUNIT_EXPECT_EQ(test, ca->claim, 0);

	/* the same if they go on, and only the second time it was none */
	ca->claim = claim / 10;
	path_enter(ca, PATH_AVOIDANCE);
	ca->rounds = PATH_REPAIRS - 1;
	KUNIT_EXPECT_EQ(test, path_ssthresh(sk), TCP_INFINITE_SSTHRESH);
	path_undo_cwnd(sk);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_SLOW_START);
	/* later ones are of avoidance */
	ca->claim = claim / 10;
	path_enter(ca, PATH_AVOIDANCE);
	ca->rounds = PATH_REPAIRS;
	tp->snd_ssthresh = path_ssthresh(sk);
	KUNIT_EXPECT_LT(test, tp->snd_ssthresh, TCP_INFINITE_SSTHRESH);
	path_undo_cwnd(sk);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	EXPECT_NEAR(test, ca->claim, claim / 10, 5000);
}

/* What was sent twice, and is acknowledged sooner than others, came the first time. */
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
	/* the interval may be that in which others were sent */
	rs.prior_mstamp = tcp_sk(sk)->tcp_mstamp - 41000;
	ack(sk, &rs);
	KUNIT_EXPECT_EQ(test, ca->claim, claim);
	/* it was lost, and its repair has its round trip */
	rs.prior_mstamp = tcp_sk(sk)->tcp_mstamp - 80000;
	ack(sk, &rs);
	KUNIT_EXPECT_LT(test, ca->claim, claim);
}

/* RFC 8511's 0.85 of the claim; nothing is added while the mark is answered. */
static void mark_is_answered(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 claim = ca->claim;

	tcp_sk(sk)->delivered = 300;
	path_set_state(sk, TCP_CA_CWR);
	inet_csk(sk)->icsk_ca_state = TCP_CA_CWR;
	EXPECT_NEAR(test, ca->claim, (u64)claim * 85 / 100, 3000);
	/* also of what was delivered at most, where ACKs come in bunches */
	ca->probe.rate[0] = 2 * claim;
	ca->bunches = PATH_BUNCHES;
	KUNIT_EXPECT_EQ(test, path_moving_rate(ca), 2 * claim);
	path_set_state(sk, TCP_CA_CWR);
	KUNIT_EXPECT_EQ(test, path_moving_rate(ca), ca->claim);
	ca->bunches = 0;
	ca->probe.rate[0] = 0;
	ca->claim = (u64)claim * 85 / 100;
	path_round(sk, claim);
	EXPECT_NEAR(test, ca->claim, (u64)claim * 85 / 100, 3000);
	path_set_state(sk, TCP_CA_Recovery);
	EXPECT_NEAR(test, ca->claim, (u64)claim * 85 / 100, 3000);
}

/* Round trips in which the application sends too little teach nothing. */
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

/* After an idle time there is no queue of ours to drain. */
static void idle_is_a_drain(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);

	tcp_sk(sk)->delivered = 300;
	ca->rtt_min_stamp = path_now() - 4 * 11;
	tcp_sk(sk)->delivered_mstamp = USEC_PER_SEC;
	tcp_sk(sk)->tcp_mstamp = USEC_PER_SEC + 50000;
	tcp_sk(sk)->app_limited = 1;
	path_tx_start(sk);
	tcp_sk(sk)->delivered += 300;
	ca->probe.round_rtt_us = 50000;
	ca->rounds = 5;
	path_round(sk, ca->claim);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);

	/* nor if the queue ran empty: 300 segments with 1 ms more on average, or 2 */
	ca->noise = 0;
	ca->rtt_min_stamp = path_now() - 4 * 11;
	ca->delay_sum = 300 * 1000 / PATH_NOISE;
	path_round(sk, ca->claim);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	ca->rtt_min_stamp = path_now() - 4 * 11;
	ca->delay_sum = 300 * 2000 / PATH_NOISE;
	path_round(sk, ca->claim);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	/* all of a small window was acknowledged: no idle time */
	tcp_sk(sk)->tcp_mstamp = USEC_PER_SEC + 49999;
	path_tx_start(sk);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	/* pacing held the segment back */
	tcp_sk(sk)->app_limited = 0;
	tcp_sk(sk)->tcp_mstamp = USEC_PER_SEC + 50000;
	path_tx_start(sk);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	/* a drain that the application has ended is over */
	tcp_sk(sk)->app_limited = 1;
	path_tx_start(sk);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
}

/* The receiver has room for less than the train: what is missing is not late. */
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
	/* the window was taken back */
	tp->snd_nxt += 10 * 1448;
	path_train_send(sk, 200, 10000);
	KUNIT_EXPECT_EQ(test, path_train_segs(ca), 1);
	KUNIT_EXPECT_TRUE(test, ca->train_limited);
}

/* A train of so many segments, in so many us, of a flow that has sent all that it may */
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

/* An ACK of a train, so long after the one before, for so many segments */
static void train_ack(struct sock *sk, u32 after_us, u32 segs, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->tcp_mstamp += after_us;
	tp->delivered += segs;
	tp->packets_out -= min(tp->packets_out, segs);
	path_train(sk, rtt_us);
}

/* A train was late, and told the rate of a link, to 2 %. */
static void expect_late(struct kunit *test, struct sock *sk, u32 mbps)
{
	struct cpath *ca = inet_csk_ca(sk);

	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	EXPECT_NEAR(test, ca->claim, link_bw(mbps), 20000);
}

/*
 * A train that left at 200 Mb/s arrives at 100: at once, in batches of an eighth of it each, or
 * with jitter of the first, the rate is the same.
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
			/* of one poll, 1 us apart, at the time when the last of them came */
			train_ack(sk, j % batch[i] ? batch[i] > 1 : batch[i] * 121 - batch[i] + 1,
				  1, 50000);
		expect_late(test, sk, 100);
		EXPECT_NEAR(test, path_capacity(ca), link_bw(100), 20000);
		/* what comes next tells if it was jitter, unless a drain or an idle time begins */
		KUNIT_EXPECT_TRUE(test, ca->late);
		path_enter(ca, PATH_DRAIN);
		KUNIT_EXPECT_FALSE(test, ca->late);
	}
}

/* Ten segments come with four gaps, and on a real host no two of them are equal. */
static void short_train_has_uneven_gaps(struct kunit *test)
{
	static const u32 gap_us[] = { 0, 1209, 1222, 1213, 1212 };
	struct sock *sk = train(test, 10, 1250);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(gap_us); i++)
		train_ack(sk, gap_us[i], 2, 50000);
	expect_late(test, sk, 20);
}

/* The last of 13 segments waits for the delayed-ACK timer: that is neither a gap nor a batch. */
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
 * The way back is congested, and the ACKs of a train come at once: the peer's clock tells when it
 * arrived.  One that ticks in us tells nothing.
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
			/* of five ms or more one is rounded off */
			KUNIT_EXPECT_GE(test, ca->claim, link_bw(100));
			KUNIT_EXPECT_LE(test, ca->claim, link_bw(125));
		} else {
			KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_SENT);
		}
	}
}

/* A receiver acknowledges each segment, which looks as if all had waited for its timer. */
static void untimed_train_tells_of_no_queue(struct kunit *test)
{
	struct sock *sk = train(test, 50, 40000);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i;

	for (i = 0; i < 50; i++)
		train_ack(sk, 800, 1, 0);
	KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_SENT);
}

/* It arrives as it left: the next one is faster, and holds five times as much. */
static void train_in_time_grows(struct kunit *test)
{
	u32 time_us = 50 * 1514 * 8 / 50, i;
	struct sock *sk = train(test, 50, time_us);
	struct cpath *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	for (i = 0; i < 46; i++)
		train_ack(sk, 242, 1, 50000);
	/* nothing but the train has left, and what was on its way is still in flight */
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 4);
	train_ack(sk, 242, 1, 50000);
	KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_SENT);
	KUNIT_EXPECT_EQ(test, path_train_segs(ca), 101);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 3 + 101);
	/* with too little to send it is the same train again */
	tp->packets_out = 104;
	ca->train_limited = 1;
	for (i = 0; i < 98; i++)
		train_ack(sk, 121, 1, 50000);
	KUNIT_EXPECT_TRUE(test, ca->train == TRAIN_SENT);
	KUNIT_EXPECT_EQ(test, path_train_segs(ca), 101);
}

/* One batch says nothing: the next train takes longer than its gaps. */
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
 * A round trip of 2 ms at 32 Mb/s, where packets come each 1.5 ms: no train has four gaps.  One
 * that takes a round trip is the last: it is late, and what came, without a gap, is claimed.
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

/* Much is lost of a train, and no queue is there: a longer one tells a policer's rate. */
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
	/* three quarters of 200 in 50 ms */
	EXPECT_NEAR(test, ca->cap, 150 * (BIT(BW_SCALE) / 50000), 5000);

	/* or what came when its bucket was empty: 16 in a ms, then 6 */
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
 * The end of a train of 50 is lost in a small buffer: what came before, late, is enough.  One loss
 * of so many is noise.
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
 * Of a train of 100, in two batches, 40 are lost beside a queue.  It tells no rate.  The next one
 * is what came, in a round trip.  With 20 lost, it grows.
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

/* A sixteenth of a round trip at most, but TCP's own where that is less; a driver's stays. */
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
	/* who comes next has TCP's own */
	sk->sk_pacing_shift = 14;
	path_release(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_shift, 10);
}

/*
 * Where ACKs come in bunches what an empty path takes is an average, which one lucky round trip
 * does not end.
 */
static void bunches_are_averaged(struct kunit *test)
{
	struct cpath c = { .mode = PATH_AVOIDANCE, .bunches = PATH_BUNCHES, .claim = link_bw(20) };

	c.probe.rtt_min_us = 10000;
	c.room = 30000 / PATH_QUEUE;
	path_set_noise(&c, 6400);
	/* a lucky one takes an eighth of the way */
	c.probe.round_rtt_us = 10000;
	c.delay_sum = 10 * 1600 / PATH_NOISE;
	KUNIT_EXPECT_EQ(test, path_learn_base(&c, 10, 2500), 0);
	EXPECT_NEAR(test, path_noise_us(&c), 6400 - 4800 / 8, 20000);
	/* one that differs by more as well, if the queue ran empty */
	c.delay_sum = 10 * 9600 / PATH_NOISE;
	path_learn_base(&c, 10, 2500);
	EXPECT_NEAR(test, path_noise_us(&c), 5800 + 3800 / 8, 20000);
	c.probe.round_rtt_us = 15000;
	c.delay_sum = 10 * 14400 / PATH_NOISE;
	path_learn_base(&c, 10, 2500);
	EXPECT_NEAR(test, path_noise_us(&c), 5800 + 3800 / 8, 20000);
}

/*
 * In a round trip in which a packet met an empty path less than the claim may be delivered, and it
 * stays.  Beside a queue it falls.
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
}

/*
 * On a path of 1.5 ms a burst takes much of a round trip: the rate is what one ACK of it shows, and
 * not what the last one does.
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

/* Single segments leave at most at what the path takes, bytes/s, with a queue of @queue_us. */
static u64 paced_at(struct sock *sk, u32 claim, u32 queue_us)
{
	struct cpath *ca = inet_csk_ca(sk);

	ca->claim = claim;
	ca->probe.rtt_s = (ca->probe.rtt_min_us + queue_us) << 3;
	path_pace(sk, false, path_capacity(ca));
	return sk->sk_pacing_rate;
}

/*
 * A path of 1.5 ms at 100 Mb/s with a buffer of five segments: bursts for TSO are of 11 there.
 * Segments leave one by one.  Once a queue stands no faster than the pair showed: without one a
 * sixteenth more.  A larger buffer takes a burst again, as long as the device does.  A path on
 * which more than 31 250 segments leave in a second, or that moves, has bursts.
 */
static void small_buffer_takes_single_segments(struct kunit *test)
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
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 64);
	KUNIT_EXPECT_GE(test, paced_at(sk, link_bw(120), 300), ccpd_bytes_ps(link_bw(120), 1448));
	ca->moves = 0;
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 1);
	/* two bursts are 22 segments, and 3 ms at 100 Mb/s are more */
	ca->room = 3000 / PATH_QUEUE;
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 64);
	ca->room = 300 / PATH_QUEUE;
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 1);
	ccpd_pair_add(&ca->probe, link_bw(1000), 1000);
	path_round_begin(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 64);
	/* the next congestion control finds what it was */
	sk->sk_gso_max_segs = 1;
	path_release(sk);
	KUNIT_EXPECT_EQ(test, sk->sk_gso_max_segs, 64);
}

/*
 * A path of 1.5 ms with a buffer of five segments: an ACK for two releases three, and pacing does
 * not hold them back.  An ACK for many would release a burst, and a large buffer takes one.
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
 * 83 segments fill a path of 10 ms at 100 Mb/s, and a fourth of the buffer is five.  Of what the
 * law asks for beyond 87 five leave as a burst that is timed, and pacing holds the others back.  A
 * larger buffer takes all of it.
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
	/* it has left: one at a time */
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
 * Beside a rival a window beyond the claim is paced at twice of what is delivered, not at twice of
 * what the path takes: after a look that would be a burst of all that was withdrawn.
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
 * A path of 12 segments with a buffer of 9: while segments are missing little is in flight, and the
 * law asks for more.  What is more than 21 would be lost again.  If less than 2 * q0 was ever seen,
 * no buffer was full, and what is missing was noise.
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
 * Of 400 segments 300 are missing, and a queue of 40 ms stands: what arrives is replaced, and no
 * more once something is lost in this round trip, whatever the claim asks for.  What was delivered
 * in a recent one may be there.  Without the queue others have gone, and the claim counts; so it
 * does where the capacity moves.
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
	/* without time stamps nothing tells that a queue is gone */
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
	tp->lost_out = 20;
	ack(sk, &rs);
	KUNIT_EXPECT_GE(test, tcp_snd_cwnd(tp), 412 * 3 / 4);
	tp->lost_out = 300;
	tp->srtt_us = 52000 << 3;
	ack(sk, &rs);
	KUNIT_EXPECT_GE(test, tcp_snd_cwnd(tp), 412 * 3 / 4);
}

/* However large a queue is: three fourths of the 412 segments that the claim needs without one. */
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
 * What was lost without a queue is counted as delivered up to the capacity.  Beyond that a small
 * buffer has overflowed, and was empty again soon.
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
 * Losses were taken for a policer's, and no pair ever tells otherwise.  What is delivered and
 * claimed follows the cap, which rises without further losses.
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
	ca->rtt_min_stamp = path_now();
	for (i = 0; i < 100; i++) {
		tcp_sk(sk)->delivered += 20;
		ca->delay_sum = 0;
		ca->probe.round_rtt_us = 50000;
		/* of the 17/16 at which it paces batches of ACKs hide a sixteenth */
		rate = min(ca->claim + ca->claim / 4, path_capacity(ca));
		ca->probe.rate[0] = max(ca->probe.rate[0], rate);
		path_round(sk, rate);
		ca->probe.round_delivered = tcp_sk(sk)->delivered;
	}
	KUNIT_EXPECT_GT(test, ca->claim, link_bw(8));
}

/* What overflows within a round trip, and what ACKs in bunches tell of, is no policer's loss. */
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
	/* what was delivered at most was too much for a buffer */
	KUNIT_EXPECT_EQ(test, path_moving_rate(ca), bw);
	ca->bunches = 0;
	KUNIT_EXPECT_EQ(test, path_moving_rate(ca), 0);
	path_next_claim(ca, rate, 100, 20, bw, 3000, 0);
	KUNIT_EXPECT_TRUE(test, ca->capped);
}

/* Of bunches two losses are enough, if there was a queue. Else they are noise, as one is. */
static void bunches_answer_a_loss(struct kunit *test)
{
	struct cpath *ca = inet_csk_ca(flow(test));
	u32 bw = ca->claim;

	KUNIT_EXPECT_GE(test, path_next_claim(ca, bw, 80, 2, bw, 3000, 3000), bw);
	ca->bunches = PATH_BUNCHES;
	KUNIT_EXPECT_GE(test, path_next_claim(ca, bw, 80, 2, bw, 3000, 2999), bw);
	KUNIT_EXPECT_GE(test, path_next_claim(ca, bw, 20, 1, bw, 3000, 3000), bw);
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, bw, 80, 2, bw, 3000, 3000), bw - bw / 4);
	/* the most that was delivered was too much */
	ca->probe.rate[0] = 2 * bw;
	KUNIT_EXPECT_EQ(test, path_moving_rate(ca), bw);
}

/* A buffer of four segments loses as many at most. A large one may lose them by chance. */
static void small_buffer_answers_a_few_losses(struct kunit *test)
{
	struct cpath *ca = inet_csk_ca(flow(test));
	u32 bw = ca->claim, rate = bw - bw / 8;

	ca->room = 50000 / PATH_QUEUE;
	KUNIT_EXPECT_GE(test, path_next_claim(ca, rate, 8, 2, bw, 3000, 1000), bw);
	ca->room = 480 / PATH_QUEUE;
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, rate, 8, 2, bw, 3000, 1000), rate);
	KUNIT_EXPECT_GE(test, path_next_claim(ca, rate, 16, 2, bw, 3000, 1000), bw);
	/* a stall is no rate */
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, bw / 2, 8, 2, bw, 3000, 1000), bw - bw / 4);
	/* the path is empty since much was lost: no reason to keep what was too much */
	KUNIT_EXPECT_LT(test, path_next_claim(ca, rate / 2, 5, 1, bw, 3000, 1500), bw);
}

/* Jitter of a quarter of a round trip has stretched the train: slow start, until a queue stands */
static void late_train_may_be_jitter(struct kunit *test)
{
	struct cpath *ca = inet_csk_ca(flow(test));
	u32 bw = ca->claim, rtt_min_us = ca->probe.rtt_min_us, noise_us = rtt_min_us / 4;

	ca->probe.round_rtt_us = rtt_min_us + noise_us / 2;
	path_set_noise(ca, noise_us);
	ca->late = 1;
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, bw, 100, 0, bw, 3000, 2000), 2 * bw);
	/* what was sent has not come yet, or there was too little to send */
	ca->claim = 2 * bw;
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, bw, 100, 2, bw, 3000, 2000), 2 * bw);
	ca->limited = 1;
	KUNIT_EXPECT_EQ(test, path_next_claim(ca, bw, 100, 0, bw, 3000, 20000), 2 * bw);
	KUNIT_EXPECT_TRUE(test, ca->late);
	ca->limited = 0;
	/* a queue stands */
	KUNIT_EXPECT_LT(test, path_next_claim(ca, bw, 100, 0, bw, 3000, rtt_min_us / 4), 2 * bw);
	KUNIT_EXPECT_FALSE(test, ca->late);
	/* losses are an answer; and so is a path that is steady */
	ca->late = 1;
	path_next_claim(ca, bw, 100, 20, bw, 3000, 4000);
	KUNIT_EXPECT_FALSE(test, ca->late);
	ca->late = 1;
	path_set_noise(ca, 0);
	path_next_claim(ca, bw, 100, 0, bw, 3000, 0);
	KUNIT_EXPECT_FALSE(test, ca->late);
}

/*
 * ACKs that come at once after a pause, again and again, are of bunches.  Those of one of 30 flows,
 * which come at the rate of the link now and then, are not.
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
	/* while a segment is missing, one by one: that tells nothing */
	tp->sacked_out = 1;
	for (i = 0; i < PATH_BUNCHES_MOST; i++) {
		tp->tcp_clock_cache += 242 * NSEC_PER_USEC;
		path_count_bunches(sk, 1, link_bw(100));
		ca->prev.ns = tp->tcp_clock_cache;
	}
	KUNIT_EXPECT_TRUE(test, path_bunched(ca));
	tp->sacked_out = 0;
	/* no closer than a way back of the same rate lets two ACKs of 84 bytes be */
	ca->bunches = 0;
	for (i = 0; i < 20; i++) {
		tp->tcp_clock_cache += i % 4 ? 6720 : 20000 * NSEC_PER_USEC;
		path_count_bunches(sk, 2, link_bw(100));
		ca->prev.ns = tp->tcp_clock_cache;
	}
	KUNIT_EXPECT_TRUE(test, path_bunched(ca));
	/* as far apart from one another as the link lets them be: that ends it */
	for (i = 0; i < PATH_BUNCHES_MOST; i++) {
		tp->tcp_clock_cache += 242 * NSEC_PER_USEC;
		path_count_bunches(sk, 2, link_bw(100));
		ca->prev.ns = tp->tcp_clock_cache;
	}
	KUNIT_EXPECT_TRUE(test, !ca->bunches);
	/* one of 60: two ACKs at the rate of the link, after each pause */
	for (i = 0; i < 40; i++) {
		tp->tcp_clock_cache += (i % 2 ? 242 : 20000) * NSEC_PER_USEC;
		path_count_bunches(sk, 2, link_bw(100) / 60);
		ca->prev.ns = tp->tcp_clock_cache;
		KUNIT_EXPECT_FALSE(test, path_bunched(ca));
	}
	/* at 100 Gb/s ACKs at the rate of the link are less than a us apart */
	for (i = 0; i < 40; i++) {
		tp->tcp_clock_cache += i % 4 ? 242 : 20000 * NSEC_PER_USEC;
		path_count_bunches(sk, 2, link_bw(100000));
		ca->prev.ns = tp->tcp_clock_cache;
		KUNIT_EXPECT_FALSE(test, path_bunched(ca));
	}
	/* jitter of ACKs, too, makes pauses: with four times q0, rtt_min/4, most are shorter */
	for (i = 0; i < 40; i++) {
		tp->tcp_clock_cache += (i % 4 ? 1 : ca->probe.rtt_min_us / 6) * NSEC_PER_USEC;
		path_count_bunches(sk, 2, link_bw(100));
		ca->prev.ns = tp->tcp_clock_cache;
		KUNIT_EXPECT_FALSE(test, path_bunched(ca));
	}
	/* bunches without a pause are of a way back that is shared */
	for (i = 0; i < 40; i++) {
		tp->tcp_clock_cache += (i % 4 ? 1 : 1000) * NSEC_PER_USEC;
		path_count_bunches(sk, 2, link_bw(100));
		ca->prev.ns = tp->tcp_clock_cache;
		KUNIT_EXPECT_FALSE(test, path_bunched(ca));
	}
}

/* A namespace of its own, with a table and nothing else */
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

static struct in6_addr peer_of(u32 n)
{
	struct in6_addr peer;

	ipv6_addr_set_v4mapped(cpu_to_be32(n), &peer);
	return peer;
}

static bool visited(struct path_visits *t, u32 n, u32 now_s, struct path_visit *visit)
{
	struct in6_addr peer = peer_of(n);

	return path_visits_get(t, &peer, now_s, 600, visit);
}

static void visit(struct path_visits *t, u32 n, u32 now_s)
{
	const struct path_visit v = { .bytes_ps = n, .rtt_min_us = n };
	struct in6_addr peer = peer_of(n);

	path_visits_put(t, &peer, now_s, &v);
}

/* However many peers there are; the last one has its place, and an entry is of its own peer. */
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
	/* also where seconds wrap */
	visit(t, 2, U32_MAX);
	KUNIT_EXPECT_TRUE(test, visited(t, 2, 598, &v));
	KUNIT_EXPECT_FALSE(test, visited(t, 2, 599, &v));
}

/* Of a set that is full the oldest goes, and who comes again becomes the youngest. */
static void visits_replace_the_oldest(struct kunit *test)
{
	struct path_visits *t = visits_table(test);
	struct in6_addr peer = peer_of(1);
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

/* A connection to a peer of 1 Gb/s and 190 ms, whose handshake took so long */
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
	sock_net_set(sk, other);
	KUNIT_EXPECT_FALSE(test, path_visits_find(sk, 10, &v));
}

/* What ended in avoidance is remembered, if that is wanted; what did not is not. */
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

/* So many segments of a train arrive, each so long after the one before. */
static void visitors_acks(struct sock *sk, u32 segs, u32 each_ns)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 i, begin_us = tp->tcp_mstamp;

	ca->probe.rtt_min_us = 190000;
	ca->probe.rtt_s = 190000 << 3;
	for (i = 1; i <= segs && ca->mode == PATH_SLOW_START; i++)
		train_ack(sk, begin_us + (u64)i * each_ns / 1000 - (u32)tp->tcp_mstamp, 1, 190000);
}

/*
 * 1 Gb/s, 190 ms: what the SYN's window allows leaves at that rate, then half of what the path
 * holds.  Half of that in time, behind its first batch, is enough.  A fourth of the rate is found
 * by a train of the usual length; an overflow leaves half of it.
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
		/* half of the rate, and every other one is lost */
		visitors_acks(sk, half / 4, 2 * each_ns);
		ca->round_lost = half / 2;
		tcp_sk(sk)->lost += half / 2;
		visitors_acks(sk, half / 4, 2 * each_ns);
		KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
		EXPECT_NEAR(test, ca->claim, bw / 4, 20000);
	}
	WRITE_ONCE(visits, 0);
}

/* Next to no queue: up to a quarter more, whatever is known of the capacity. */
static void empty_path_has_room(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, path_room(1000, 50000, 0, 100), 1250);
	KUNIT_EXPECT_EQ(test, path_room(1000, 50000, 25, 100), 1125);
	KUNIT_EXPECT_EQ(test, path_room(1000, 50000, 50, 100), 1000);
	KUNIT_EXPECT_EQ(test, path_room(1000, 50000, U32_MAX, 100), 1000);
	KUNIT_EXPECT_EQ(test, path_room(U32_MAX, 50000, 0, 1), U32_MAX);
}

/* Of a long path more in each round trip, as it has fewer, and twice the rate at most. */
static void long_path_has_more_room(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, path_room(1000, 130000, 0, 100), 1250);
	KUNIT_EXPECT_EQ(test, path_room(1000, 132000, 0, 100), 1500);
	KUNIT_EXPECT_EQ(test, path_room(1000, 132000, 25, 100), 1250);
	KUNIT_EXPECT_EQ(test, path_room(1000, 258000, 0, 100), 1750);
	KUNIT_EXPECT_EQ(test, path_room(1000, 600000, 0, 100), 2000);
	KUNIT_EXPECT_EQ(test, path_room(1000, 600000, 50, 100), 1000);
	KUNIT_EXPECT_EQ(test, path_room(U32_MAX, U32_MAX, 0, 1), U32_MAX);
}

/*
 * What is delivered falls, and later the queue runs empty for four rounds: the capacity moves for
 * eight seconds.
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
	/* what fills it at the most that was delivered, or what there is */
	EXPECT_NEAR(test, path_moving_window(ca, 50000), 412, 5000);
	KUNIT_EXPECT_EQ(test, ca->floor >> PATH_WINDOW_PART, tcp_snd_cwnd(tcp_sk(sk)));
	ca->floor = 800 << PATH_WINDOW_PART;
	KUNIT_EXPECT_EQ(test, path_moving_window(ca, 50000), 800);
	/* to fall again is enough to stay so */
	ca->moves = 1;
	path_watch(sk, ca->claim / 2, false);
	KUNIT_EXPECT_TRUE(test, path_moves(ca) && ca->moves == PATH_MOVES);
	/* an overflow ends it until the queue was empty again for several rounds */
	ca->probe.rtt_s = 90000 << 3;
	ca->probe.round_rtt_us = 90000;
	ca->noise = 0;
	path_next_claim(ca, ca->claim, 300, 100, ca->claim, 3125, 40000);
	KUNIT_EXPECT_FALSE(test, path_moves(ca));
	ca->rounds = PATH_ROUNDS;
	for (i = 0; i < PATH_EMPTY_ROUNDS; i++)
		path_watch(sk, ca->claim, true);
	KUNIT_EXPECT_TRUE(test, path_has_window(ca));
	/* slow start ends it, too: the end of a train shares memory with the window */
	path_enter(ca, PATH_SLOW_START);
	path_enter(ca, PATH_AVOIDANCE);
	KUNIT_EXPECT_FALSE(test, path_moves(ca));
	ca->rounds = PATH_ROUNDS;

	/* a rise more than 8 s later is another matter */
	path_watch(sk, ca->claim / 2, false);
	for (i = 0; i < PATH_MOVES; i++) {
		ca->tick = !(path_now() & 1);
		path_age(ca);
	}
	for (i = 0; i < 5; i++)
		path_watch(sk, ca->claim, true);
	KUNIT_EXPECT_FALSE(test, path_moves(ca));

	/* two round trips of 300 ms count for three each */
	ca->probe.rtt_s = 300000 << 3;
	path_watch(sk, ca->claim / 2, false);
	path_watch(sk, ca->claim, true);
	KUNIT_EXPECT_FALSE(test, path_moves(ca));
	path_watch(sk, ca->claim, true);
	KUNIT_EXPECT_TRUE(test, path_moves(ca));
	ca->moves = 0;

	/* one of several */
	ca->probe.rate[0] = link_bw(40);
	ca->probe.rate[1] = 0;
	path_watch(sk, ca->claim / 2, false);
	for (i = 0; i < 5; i++)
		path_watch(sk, ca->claim, true);
	KUNIT_EXPECT_FALSE(test, path_moves(ca));
}

/*
 * Where the capacity moves the window is what keeps the queue empty in one round trip of nine: more
 * by an eighth where a packet met an empty path, less by 1/64 else, and by as much for each rtt_min
 * that a longer one takes.  The rate does not matter, only what the queue did.
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
	/* it was not used */
	tp->is_cwnd_limited = 0;
	path_follow(sk, 3125);
	KUNIT_EXPECT_EQ(test, ca->floor >> PATH_WINDOW_PART, 720);
	/* a queue in eight others: as much as before */
	ca->probe.round_rtt_us = 60000;
	ca->probe.rtt_s = 70000 << 3;
	for (i = 0; i < 8; i++)
		path_follow(sk, 3125);
	EXPECT_NEAR(test, ca->floor >> PATH_WINDOW_PART, 640, 10000);
	/* beside a queue of three rtt_min a round trip counts four times */
	ca->floor = 640 << PATH_WINDOW_PART;
	ca->probe.rtt_s = 200000 << 3;
	path_follow(sk, 3125);
	KUNIT_EXPECT_EQ(test, ca->floor >> PATH_WINDOW_PART, 600);

	/* the window is that, if it is more than the law says, and than what was delivered fills */
	ca->probe.rate[0] = link_bw(20);
	ca->probe.rate[1] = 0;
	path_avoid(sk, 2, path_capacity(ca));
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tp), 600);

	/* where a policer's cap, or a rival's floor, has its place it is none */
	ca->capped = 1;
	KUNIT_EXPECT_FALSE(test, path_has_window(ca));
	ca->capped = 0;
	ca->rival = PATH_FOREIGN;
	KUNIT_EXPECT_FALSE(test, path_has_window(ca));
	ca->rival = PATH_FRIENDLY;
	KUNIT_EXPECT_TRUE(test, path_has_window(ca));

	/* no empty path for long: others are there, or it has fallen */
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
 * Beside a rival a few losses without a queue are noise.  A flow that has never seen the path empty
 * knows of no queue, and many losses are an overflow: the window that it holds falls.
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
	ca->rtt_min_stamp = path_now();
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

/* Beside others: as fast as CUBIC, 0.7 after a loss, and until two looks find no queue. */
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
	/* nor one of which a repair has less in use */
	tcp_snd_cwnd_set(tcp_sk(sk), 999);
	path_compete(sk, bw / 2, bw, 40000, q0, false);
	KUNIT_EXPECT_EQ(test, ca->floor, 1000);
	tcp_snd_cwnd_set(tcp_sk(sk), 1100);
	/* 1000^(2/3) / 3 in a second, and at least Reno's one in a round trip */
	path_compete(sk, bw / 2, bw, 40000, q0, false);
	KUNIT_EXPECT_EQ(test, ca->floor, 1000 + 1 + 2);
	path_compete(sk, bw / 2, bw, 40000, q0, true);
	KUNIT_EXPECT_EQ(test, ca->floor, 1003 * 7 / 10);
	/* with little it grows as with half of a path of 11890: 108 in a second */
	ca->floor = 10;
	path_compete(sk, bw / 2, 16 * bw, 40000, q0, false);
	KUNIT_EXPECT_EQ(test, ca->floor, 10 + 1 + 9);
	/* nor does it where there is no queue */
	ca->floor = 702;
	ca->round_queue = 0;
	path_compete(sk, bw / 2, bw, 2 * q0, q0, false);
	KUNIT_EXPECT_EQ(test, ca->floor, 702);
	/* a queue that has fallen by a quarter asks for a look */
	ca->round_queue = 40000 / PATH_QUEUE;
	path_compete(sk, bw / 2, bw, 2 * q0, q0, false);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	KUNIT_EXPECT_EQ(test, ca->floor, 702);

	/* of 40 ms of queue more than five are still there */
	ca->probe.round_rtt_us = 56000;
	path_drained(sk, bw, true);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FOREIGN);
	KUNIT_EXPECT_TRUE(test, !ca->doubt);
	/* another withdraws too: the queue is gone, twice */
	ca->before_us = 90000;
	ca->probe.round_rtt_us = 54000;
	path_drained(sk, bw, false);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FOREIGN);
	ca->before_us = 90000;
	path_drained(sk, bw, false);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FRIENDLY);
}

/*
 * Half as much again in a round trip, until a sixth of the path is ours: before the first loss,
 * and then where half of the buffer is free
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
		/* a sixth, or a loss */
		path_compete(sk, i ? bw / 7 : bw / 6, bw, 40000, q0, i);
		KUNIT_EXPECT_TRUE(test, !ca->doubt);
		ca->floor = 100;
		path_compete(sk, bw / 7, bw, 40000, q0, false);
		KUNIT_EXPECT_LT(test, ca->floor, 105);
		/* of the 50 ms that there were at most less than half are taken */
		ca->floor = 100;
		path_compete(sk, bw / 7, bw, 24000, q0, false);
		KUNIT_EXPECT_EQ(test, ca->floor, 151);
		path_compete(sk, bw / 6, bw, 24000, q0, false);
		KUNIT_EXPECT_LT(test, ca->floor, 160);
	}
}

/*
 * A queue that is there for fifteen round trips after a look is a rival's, however little the look
 * could tell; not if it was once less by a sixteenth of the round trip.
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
	path_crowded(sk, 30000);
	floor = ca->floor;
	KUNIT_EXPECT_EQ(test, floor, 41);		/* 10 Mb/s * 50 ms / 1514 bytes */
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	path_crowded(sk, 30000);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	path_drained(sk, bw, true);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FRIENDLY);
	/* until that is known it gives way */
	ca->claim = link_bw(1);
	for (i = 0; i <= PATH_ROUNDS; i++) {
		KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
		ca->rounds = i;
		path_crowded(sk, 30000);
	}
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	path_drained(sk, bw, true);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FOREIGN);
	KUNIT_EXPECT_TRUE(test, ca->doubt == PATH_CATCH_UP);
	KUNIT_EXPECT_EQ(test, ca->floor, floor);

	/* four times 131 ms: it counts five times */
	ca->rival = PATH_FRIENDLY;
	path_enter(ca, PATH_AVOIDANCE);
	ca->doubt = PATH_UNSURE;
	ca->probe.rtt_s = 530000 << 3;
	ca->rounds = PATH_ROUNDS - 5;
	path_crowded(sk, 30000);
	KUNIT_EXPECT_TRUE(test, ca->rounds == PATH_ROUNDS - 1 && ca->mode == PATH_AVOIDANCE);
	ca->rounds++;
	path_crowded(sk, 30000);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);
	ca->probe.rtt_s = 80000 << 3;
	path_enter(ca, PATH_AVOIDANCE);

	/* 5 ms of 80 less */
	ca->rival = PATH_FRIENDLY;
	ca->doubt = PATH_UNSURE;
	ca->rounds = PATH_ROUNDS;
	path_crowded(sk, 24000);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
	KUNIT_EXPECT_TRUE(test, ca->rounds == PATH_DOUBT);
	/* or gone when the look is over */
	path_drained(sk, bw, false);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FRIENDLY && !ca->doubt);
}

/* What an empty path takes beyond rtt_min is no fall of a queue that stays as it was. */
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
		path_crowded(sk, path_round_queue_us(ca));
	}
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_DRAIN);

	path_enter(ca, PATH_AVOIDANCE);
	ca->rival = PATH_FOREIGN;
	ca->doubt = PATH_CATCH_UP;
	path_compete(sk, link_bw(50), link_bw(100), path_round_queue_us(ca), 3125, false);
	KUNIT_EXPECT_TRUE(test, ca->mode == PATH_AVOIDANCE);
}

/* Two looks that find no queue: the path is longer.  Who never saw a pair cannot say so. */
static void longer_path_is_found(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = link_bw(100), i;

	ca->noise = 0;
	ca->probe.rtt_s = 75000 << 3;
	ca->probe.round_rtt_us = 74000;
	tcp_snd_cwnd_set(tcp_sk(sk), 200);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, path_base_us(ca), 50000);
		ca->before_us = 75000;
		ca->doubt = PATH_DOUBT;
		path_drained(sk, bw, false);
	}
	KUNIT_EXPECT_EQ(test, ca->probe.rtt_min_us, 74000);
	EXPECT_NEAR(test, path_base_us(ca), 75000, 2000);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FRIENDLY);

	memset(ca->probe.best, 0, sizeof(ca->probe.best));
	ca->before_us = 100000;
	ca->probe.rtt_s = 100000 << 3;
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
 * The path has become longer, both ways, by 10 ms: less than two q0, where the delay varies.  What
 * is claimed decays.  Who had most of it looks after a fourth of the time, at once a second time,
 * and believes it.  One of several flows waits, as does who perhaps sees a rival.
 */
static void who_gave_way_looks_sooner(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = link_bw(100), base = 50000, q0 = 6000;

	ca->noise = 0;
	ca->claim = bw / 2;
	ca->probe.rate[0] = bw - bw / 8;
	ca->rtt_min_stamp = path_now() - 3 * (HZ / PATH_TICK);
	KUNIT_EXPECT_TRUE(test, path_wants_look(ca, base, bw, q0));
	ca->doubt = PATH_UNSURE;
	KUNIT_EXPECT_FALSE(test, path_wants_look(ca, base, bw, q0));
	ca->doubt = 0;
	ca->rival = PATH_FOREIGN;
	KUNIT_EXPECT_FALSE(test, path_wants_look(ca, base, bw, q0));
	ca->rival = PATH_FRIENDLY;
	ca->rtt_min_stamp = path_now() - 2 * (HZ / PATH_TICK);
	KUNIT_EXPECT_FALSE(test, path_wants_look(ca, base, bw, q0));

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
	ca->rtt_min_stamp = path_now() - 3 * (HZ / PATH_TICK);
	KUNIT_EXPECT_FALSE(test, path_wants_look(ca, base, bw, q0));
}

/* A packet met next to no queue while we looked: the path is no longer than it was. */
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

/* What is withdrawn to look: half, and beside a rival our part of the queue at most */
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
	/* 10 ms of 62.5 */
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 400 - 64);
	KUNIT_EXPECT_EQ(test, ca->before_us, 60000);
	/* all of it: without half of what is in flight a queue of three round trips would stay */
	ca->probe.round_rtt_us = 200000;
	ca->probe.rtt_s = 200000 << 3;
	path_drain(sk);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), 400 - 300);
	/* the smoothed rtt follows later: no more than all */
	ca->probe.rtt_s = 100000 << 3;
	path_drain(sk);
	KUNIT_EXPECT_EQ(test, tcp_snd_cwnd(tcp_sk(sk)), PATH_LEAST_WINDOW);
}

/*
 * An ACK at @now_ms of a segment that took so long there and back, ms; the peer's clock is so many
 * ms behind what it was.
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

/* Both clocks are rounded to ms, so an empty path is known to 2 ms. */
static void expect_base(struct kunit *test, const struct cpath *ca, u32 us)
{
	KUNIT_EXPECT_LE(test, path_base_us(ca), us + 2000);
	KUNIT_EXPECT_GE(test, path_base_us(ca), us - 2000);
}

/* What only the way back takes longer is no queue of ours; the way there is, as ever. */
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
	/* more than 10 bits of a time stamp can show changes nothing */
	for (i = 0; i < 200; i++)
		stamped_ack(sk, now_ms++, 20 + 600, 30);
	expect_base(test, ca, 90000);
	for (i = 0; i < 100; i++)
		stamped_ack(sk, now_ms++, 20, 30);
	KUNIT_EXPECT_EQ(test, path_base_us(ca), 50000);
}

/*
 * The way back takes 40 ms more, and then one less with each ACK: no queue is seen meanwhile, but
 * for what the two clocks round off, and the ms by which an ACK may be ahead of the estimate.
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

/* The way back takes at most eight times rtt_min more, whatever the peer claims. */
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
 * rtt_min is less now since the way back is shorter, and there is a queue on the way there, which
 * then goes: that is no clock that falls behind.
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

/* In the start the way there may be shorter than it was with the first ACK, which has waited. */
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
	/* what the start has sent is acknowledged in the first round trip after it */
	for (i = 0; i < 100; i++)
		stamped_ack(sk, now_ms++, 14, 76);
	expect_base(test, ca, 90000);
	ca->rounds = 1;
	stamped_ack(sk, now_ms++, 8, 82);
	KUNIT_EXPECT_TRUE(test, ca->back == PATH_NO_CLOCK);
}

/* A drain that sees no queue beyond what the way back takes has met an empty path. */
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
 * A peer's clock stands, ticks every 4 ms, or goes back, and there are 40 ms of a queue on the way
 * there.  That is taken for the way back until the clock has fallen behind by as much, and never
 * for more than eight times rtt_min.  From then on the way back is not known.
 */
static void clock_of_another_kind(struct kunit *test)
{
	/* by so many quarters of a ms in a ms */
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

/* Without time stamps nothing tells of the way back. */
static void no_clock_at_all(struct kunit *test)
{
	struct sock *sk = flow(test);
	u32 i;

	for (i = 0; i < 100; i++)
		path_way_back(sk, 90000, false);
	KUNIT_EXPECT_EQ(test, path_base_us(inet_csk_ca(sk)), 50000);
}

/* Delay that varies by itself is no queue, and an rtt that is met by luck does not make it one. */
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
	/* 64 segments with 5 ms more on average, of 64 us each */
	ca.delay_sum = 64 * 5000 / PATH_NOISE;
	path_learn_base(&ca, 64, 2500);
	KUNIT_EXPECT_EQ(test, path_base_us(&ca), 50000 + 4992);
	/* a queue of 3 ms, which all meet, is one */
	ca.probe.round_rtt_us = 58000;
	ca.probe.rtt_s = 58000 << 3;
	ca.delay_sum = 64 * 8000 / PATH_NOISE;
	path_learn_base(&ca, 64, 2500);
	KUNIT_EXPECT_EQ(test, path_queue_us(&ca), 3008);
	/* which some do not meet, round after round, is none: an eighth of what is more */
	ca.probe.round_rtt_us = 50000;
	for (i = 1; i < PATH_CLEAR_ROUNDS; i++) {
		path_learn_base(&ca, 64, 2500);
		KUNIT_EXPECT_EQ(test, path_base_us(&ca), 50000 + 4992);
	}
	path_learn_base(&ca, 64, 2500);
	KUNIT_EXPECT_EQ(test, path_base_us(&ca), 50000 + 4992 + 5 * PATH_NOISE);
	/* in a buffer of less than a 16th a queue of ours looks like that */
	ca.room = 3000 / PATH_QUEUE;
	path_learn_base(&ca, 64, 2500);
	KUNIT_EXPECT_EQ(test, path_base_us(&ca), 50000 + 4992 + 5 * PATH_NOISE);
	ca.room = 30000 / PATH_QUEUE;
	/* by luck, when 48 segments of this round trip have taken 50 ms */
	ca.probe.rtt_min_us = 45008;
	ca.delay_sum = 0;
	path_rtt_min(&ca, 50000, 48);
	KUNIT_EXPECT_EQ(test, path_base_us(&ca), 50000 + 4992 + 5 * PATH_NOISE);
	KUNIT_EXPECT_EQ(test, ca.delay_sum, 48 * (4992 / PATH_NOISE));
	/* too few to tell */
	ca.delay_sum = 0;
	path_learn_base(&ca, 3, 2500);
	KUNIT_EXPECT_EQ(test, path_base_us(&ca), 50000 + 4992 + 5 * PATH_NOISE);
	/* few take an eighth of the way */
	path_learn_base(&ca, 8, 2500);
	EXPECT_NEAR(test, path_base_us(&ca), 45008 + 7 * (9984 + 5 * PATH_NOISE) / 8, 2000);
	/* a shorter path */
	path_learn_base(&ca, 16, 2500);
	KUNIT_EXPECT_EQ(test, path_base_us(&ca), 45008);
	ca.probe.round_rtt_us = 44000;
	KUNIT_EXPECT_EQ(test, path_round_queue_us(&ca), 0);
}

/* Packets that keep their order wait for the slowest: the base of more of them is larger. */
static void jitter_raises_the_base(struct kunit *test)
{
	struct cpath ca = {
		.probe = { .rtt_min_us = 5000, .round_rtt_us = 8600, .rtt_s = 10000 << 3 },
		.noise = 3200 / PATH_NOISE,
		.room = 6000 / PATH_QUEUE,
	};
	u32 i;

	/* all took 0.4 ms more than with fewer of them, and 1.6 ms more in the mean */
	for (i = 0; i < PATH_CLEAR_ROUNDS; i++) {
		ca.delay_sum = 128 * 4800 / PATH_NOISE;
		path_learn_base(&ca, 128, 1250);
	}
	KUNIT_EXPECT_EQ(test, path_noise_us(&ca), 3200 + 3 * PATH_NOISE);
	/* that they all do is a queue where it is more than half of q0 */
	ca.probe.round_rtt_us = 9100;
	path_learn_base(&ca, 128, 1250);
	KUNIT_EXPECT_FALSE(test, ca.clear);
	/* or where the delay varies less than the largest q0 does */
	ca.probe.rtt_min_us = 50000;
	ca.probe.round_rtt_us = path_base_us(&ca) + 400;
	path_learn_base(&ca, 128, 3125);
	KUNIT_EXPECT_FALSE(test, ca.clear);
}

/* One of four packets overtakes the others: it does not tell what an empty path takes. */
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
	/* nor does the next round trip without one show a queue that others keep up */
	ca->probe.round_rtt_us = 100000;
	KUNIT_EXPECT_LT(test, path_round_queue_us(ca), 2 * path_q0(sk, path_capacity(ca)));
	/* as many segments as there are in half a second of 400 Gb/s do not wrap */
	rs.rtt_us = 600000;
	rs.acked_sacked = 18 * 1000 * 1000;
	path_rtt(sk, &rs);
	KUNIT_EXPECT_EQ(test, ca->delay_sum, U32_MAX);
}

/* An overflow takes a half at most, and pacing never less than the least window asks for. */
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
	/* 4 segments in 50 ms, of 2^24 a microsecond */
	KUNIT_EXPECT_EQ(test, ca->claim, 1342);
}

/* Beside others it holds the window of its claim, also if only a drain has shown them. */
static void floor_is_of_the_claim(struct kunit *test)
{
	struct sock *sk = flow(test);
	struct cpath *ca = inet_csk_ca(sk);

	ca->noise = 0;
	ca->cap = link_bw(50);		/* where the floor is kept too */
	ca->capped = 1;
	ca->before_us = 90000;
	ca->probe.rtt_s = 80000 << 3;
	ca->probe.round_rtt_us = 80000;
	tcp_snd_cwnd_set(tcp_sk(sk), 100);
	path_drained(sk, link_bw(100), true);
	KUNIT_EXPECT_TRUE(test, ca->doubt == PATH_UNSURE);
	KUNIT_EXPECT_FALSE(test, ca->capped);
	KUNIT_EXPECT_EQ(test, ca->floor, 412);	/* 100 Mb/s * 50 ms / 1514 bytes */

	/* a cap in its place is no floor */
	ca->doubt = 1;
	tcp_sk(sk)->delivered = 300;
	ca->round_lost = 100;
	ca->probe.rtt_s = 50000 << 3;
	path_next_claim(ca, link_bw(50), 300, 100, link_bw(100), 3125, 0);
	KUNIT_EXPECT_TRUE(test, ca->capped);
	KUNIT_EXPECT_TRUE(test, ca->rival == PATH_FRIENDLY);
	KUNIT_EXPECT_TRUE(test, !ca->doubt);
}

/* The claim is in segments: other segments, the same bytes. */
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

static struct kunit_case path_cases[] = {
	KUNIT_CASE(path_fills_the_pipe),
	KUNIT_CASE(path_queue_target),
	KUNIT_CASE(delay_varies_alike_for_all),
	KUNIT_CASE(least_queue_is_of_the_claim),
	KUNIT_CASE(path_claim_shares),
	KUNIT_CASE(path_verdict),
	KUNIT_CASE(logarithm),
	KUNIT_CASE(policer_caps),
	KUNIT_CASE(noise_and_outages_do_not_cap),
	KUNIT_CASE(undo_gives_back),
	KUNIT_CASE(sent_twice_shows_no_rate),
	KUNIT_CASE(mark_is_answered),
	KUNIT_CASE(little_to_send_teaches_nothing),
	KUNIT_CASE(idle_is_a_drain),
	KUNIT_CASE(train_fits_the_receiver),
	KUNIT_CASE(way_back_is_no_queue),
	KUNIT_CASE(falling_way_back_is_no_queue),
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
	KUNIT_CASE(short_train_has_uneven_gaps),
	KUNIT_CASE(odd_train_has_no_gap),
	KUNIT_CASE(untimed_train_tells_of_no_queue),
	KUNIT_CASE(acks_come_closer_than_the_train),
	KUNIT_CASE(train_in_time_grows),
	KUNIT_CASE(batch_makes_the_train_longer),
	KUNIT_CASE(longest_train_is_the_last),
	KUNIT_CASE(policer_in_the_start),
	KUNIT_CASE(overflow_ends_the_train),
	KUNIT_CASE(train_too_fast),
	KUNIT_CASE(bursts_are_short),
	KUNIT_CASE(bunches_are_averaged),
	KUNIT_CASE(acks_come_in_bunches),
	KUNIT_CASE(empty_path_keeps_the_claim),
	KUNIT_CASE(burst_is_counted_whole),
	KUNIT_CASE(small_buffer_takes_single_segments),
	KUNIT_CASE(acks_clock_a_short_path),
	KUNIT_CASE(no_more_than_the_path_holds),
	KUNIT_CASE(timed_burst_is_part_of_the_buffer),
	KUNIT_CASE(rival_meets_no_burst),
	KUNIT_CASE(repair_is_no_flood),
	KUNIT_CASE(window_keeps_most_of_the_claim),
	KUNIT_CASE(losses_do_not_raise_the_claim),
	KUNIT_CASE(cap_without_a_pair_ends),
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
	KUNIT_CASE(empty_path_has_room),
	KUNIT_CASE(long_path_has_more_room),
	KUNIT_CASE(capacity_that_moves),
	KUNIT_CASE(window_follows_the_queue),
	KUNIT_CASE(cube_root),
	KUNIT_CASE(rival_is_no_reason_to_flood),
	KUNIT_CASE(rival_is_matched),
	KUNIT_CASE(rival_is_caught_up_with),
	KUNIT_CASE(queue_that_stays_is_a_rivals),
	KUNIT_CASE(noise_hides_no_rival),
	KUNIT_CASE(longer_path_is_found),
	KUNIT_CASE(longer_path_has_its_way_back),
	KUNIT_CASE(who_gave_way_looks_sooner),
	KUNIT_CASE(met_path_is_no_longer),
	KUNIT_CASE(look_is_shallow_beside_a_rival),
	KUNIT_CASE(segments_change_their_size),
	{}
};

static struct kunit_suite path_suite = {
	.name = "tcp_ccpd_path",
	.test_cases = path_cases,
};

kunit_test_suite(path_suite);
