// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ACP's law with the numbers of the paper: 1000-byte packets, its
 * Table I, and the filter of Eq. 4.  Then scripts of events on a socket: loss and undo,
 * timeout, CE, idle, changes of the MTU and of the congestion control.
 */
#include "explicit_sock.h"

#include "../../tcp_acp_host.c"

#include <kunit/test.h>

#include "near.h"

#define MBPS	125000ULL

static u64 segs(u64 n)
{
	return n << EXPLICIT_SCALE;
}

static u64 distance(u64 a, u64 b)
{
	return max(a, b) - min(a, b);
}

/* Eq. 3: a rate of C / N gives a window of C * rtt / N */
static void desired_window(struct kunit *test)
{
	/* 50 users of 155 Mb/s at 80 ms, 1000 bytes: 31 packets */
	KUNIT_EXPECT_EQ(test, explicit_desired(155 * MBPS / 50, 80000, 1000),
			segs(31));
	/* Fig. 7: 77.5 Mb/s at 80 ms is 775 packets */
	KUNIT_EXPECT_EQ(test, explicit_desired(77500000 / 8, 80000, 1000),
			segs(775));
	/* fractions of packets count: 1 Mb/s at 10 ms are 1.25 packets */
	KUNIT_EXPECT_EQ(test, explicit_desired(MBPS, 10000, 1000),
			segs(1) + EXPLICIT_ONE / 4);
	KUNIT_EXPECT_EQ(test, explicit_desired(0, 80000, 1000), 0);
}

static void desired_is_bounded(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, explicit_desired(TCPCC_FB_RATE_MAX, EXPLICIT_RTT_CAP, 0),
			EXPLICIT_MOST);
	/* 400 Gb/s, 10 s, 1500 bytes */
	EXPECT_NEAR(test, explicit_desired(50000000000ULL, 10 * USEC_PER_SEC, 1500),
		    segs(333333333), 1);
	/* 400 Gb/s, 10 us: 333 packets; 1 kb/s, 10 us: almost 0 */
	EXPECT_NEAR(test, explicit_desired(50000000000ULL, 10, 1500), segs(1000) / 3,
		    10);
	EXPECT_NEAR(test, explicit_desired(125, 10, 1500), 0, 0);
}

/* From a window of 1 the first ACK sets the desired window, because the gain is 1. */
static void first_ack(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, acp_filter(EXPLICIT_ONE, segs(775), false, 10, 1),
			segs(775));
	EXPECT_NEAR(test, acp_filter(EXPLICIT_ONE, segs(771), true, 10, 1),
		    segs(78), 1);
}

/* One window of ACKs is one time constant: the window moves by 1 - 1/e of the difference */
static void one_round_trip(struct kunit *test)
{
	u64 w = acp_filter(segs(1000), segs(1010), false, 10, 1000);

	EXPECT_NEAR(test, w, segs(1000) + 10 * 41427, 1000);
	/* in congestion the gain is a tenth, but only for growth */
	w = acp_filter(segs(1000), segs(1010), true, 10, 1000);
	EXPECT_NEAR(test, w, segs(1000) + 10 * 6236, 1000);
	KUNIT_EXPECT_EQ(test, acp_filter(segs(1000), segs(990), true, 10, 77),
			acp_filter(segs(1000), segs(990), false, 10, 77));
}

/* Eq. 4 as printed, once for each segment */
static u64 filter_by_segments(u64 window, u64 desired, bool congested, u32 slow,
			      u32 acked)
{
	while (acked--) {
		u64 gain = congested && desired > window ? slow : 1;

		if (desired > window)
			window += div64_u64((desired - window) << EXPLICIT_SCALE,
					    window * gain);
		else
			window -= div64_u64((window - desired) << EXPLICIT_SCALE,
					    window);
		window = max(window, EXPLICIT_ONE);
	}
	return window;
}

/*
 * An ACK for one segment is exactly Eq. 4.  An ACK for many is as many ACKs for one, to 1/500
 * of the window, or of the difference that the window moves, whichever is larger.
 */
static void per_segment(struct kunit *test)
{
	static const u64 windows[] = {
		EXPLICIT_ONE, 3 * EXPLICIT_ONE / 2, 2 * EXPLICIT_ONE, 3 * EXPLICIT_ONE,
		10 * EXPLICIT_ONE, 31 * EXPLICIT_ONE, 138 * EXPLICIT_ONE, 775 * EXPLICIT_ONE,
		20000 * EXPLICIT_ONE, EXPLICIT_MOST / 3, EXPLICIT_MOST,
	};
	static const u64 desireds[] = {
		0, EXPLICIT_ONE / 6, EXPLICIT_ONE, 3 * EXPLICIT_ONE / 2, 5 * EXPLICIT_ONE,
		31 * EXPLICIT_ONE, 32 * EXPLICIT_ONE, 160 * EXPLICIT_ONE, 775 * EXPLICIT_ONE,
		9000 * EXPLICIT_ONE, 21000 * EXPLICIT_ONE, EXPLICIT_MOST / 2, EXPLICIT_MOST,
	};
	static const u32 segments[] = {
		0, 1, 2, 3, 4, 7, 10, 16, 44, 100, 255, 700, ACP_ACKED_MAX,
	};
	int i, j, k, congested;

	for (i = 0; i < ARRAY_SIZE(windows) * ARRAY_SIZE(desireds); i++)
		for (k = 0; k < ARRAY_SIZE(segments); k++)
			for (congested = 0; congested < 2; congested++) {
				u64 w = windows[i % ARRAY_SIZE(windows)];
				u64 want, have, most;
				u32 n = segments[k];

				j = i / ARRAY_SIZE(windows);
				want = filter_by_segments(w, desireds[j],
							  congested, 10, n);
				have = acp_filter(w, desireds[j], congested, 10,
						  n);
				most = max(want, w) - min(want, w);
				most = n > 1 ? div_u64(max(most, want), 500) : 0;
				KUNIT_EXPECT_LE_MSG(test,
						    abs((s64)have - (s64)want),
						    most,
						    "%llu to %llu, %u segments: %llu, not %llu",
						    w, desireds[j], n, have,
						    want);
			}
}

static void power(struct kunit *test)
{
	u64 one = BIT_ULL(ACP_LEFT);

	KUNIT_EXPECT_EQ(test, acp_power(one, 1024), one);
	KUNIT_EXPECT_EQ(test, acp_power(one / 3, 0), one);
	KUNIT_EXPECT_EQ(test, acp_power(one / 3, 1), one / 3);
	KUNIT_EXPECT_EQ(test, acp_power(one / 2, 5), one / 32);
	KUNIT_EXPECT_EQ(test, acp_power(0, 3), 0);
	/* (1 - 1/1000)^1000 = 0.367695 */
	EXPECT_NEAR(test, acp_power(one - one / 1000, 1000),
		    one / 1000000 * 367695, 10);
}

/* The segments that may be in flight are the window, rounded down, or up if that is allowed. */
static void packets(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, explicit_packets(EXPLICIT_ONE, true), 1);
	KUNIT_EXPECT_EQ(test, explicit_packets(EXPLICIT_ONE, false), 1);
	KUNIT_EXPECT_EQ(test, explicit_packets(EXPLICIT_ONE + 1, true), 2);
	KUNIT_EXPECT_EQ(test, explicit_packets(EXPLICIT_ONE + 1, false), 1);
	KUNIT_EXPECT_EQ(test, explicit_packets(segs(31), true), 31);
	KUNIT_EXPECT_EQ(test, explicit_packets(segs(32) - 1, true), 32);
	KUNIT_EXPECT_EQ(test, explicit_packets(segs(32) - 1, false), 31);
	KUNIT_EXPECT_EQ(test, explicit_packets(EXPLICIT_MOST, true), BIT(30));
}

/* The window converges to the desired window, from both sides, to 1 in 10^4. */
static void converges(struct kunit *test)
{
	static const u32 table_1[] = { 56, 13, 37, 9 };	/* max-min windows */
	static const u64 from[] = { 1, 40, 5000 };
	int i, j, k;

	for (i = 0; i < ARRAY_SIZE(table_1); i++)
		for (j = 0; j < ARRAY_SIZE(from); j++) {
			u64 w = segs(from[j]);

			for (k = 0; k < 200; k++)
				w = acp_filter(w, segs(table_1[i]), k & 1, 10,
					       w >> EXPLICIT_SCALE);
			EXPECT_NEAR(test, w, segs(table_1[i]), 100);
		}
}

/* Eq. 5; no step overflows */
static void window_is_bounded(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, acp_filter(segs(2), 0, false, 10, 1000), EXPLICIT_ONE);
	KUNIT_EXPECT_EQ(test, acp_filter(EXPLICIT_ONE, 0, true, 10, 1), EXPLICIT_ONE);
	KUNIT_EXPECT_EQ(test, acp_filter(EXPLICIT_ONE, EXPLICIT_MOST, false, 10, 1),
			EXPLICIT_MOST);
	/* towards 0 each segment subtracts one, to a rounding error of one unit per segment */
	KUNIT_EXPECT_LE(test, distance(acp_filter(EXPLICIT_MOST, 0, false, 10, U32_MAX),
				       EXPLICIT_MOST - segs(ACP_ACKED_MAX)),
			ACP_ACKED_MAX);
	KUNIT_EXPECT_LE(test, distance(acp_filter(EXPLICIT_MOST - 1, EXPLICIT_MOST, false,
						  10, U32_MAX), EXPLICIT_MOST), 1);
	KUNIT_EXPECT_LE(test, acp_filter(EXPLICIT_MOST - 1, EXPLICIT_MOST, false, 10,
					 U32_MAX), EXPLICIT_MOST);
}

/* A desired window is accepted up to a multiple of what was delivered */
static void bound(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, explicit_proven(10, 80000, 80000), segs(10));
	/* ten segments that took two round trips to arrive */
	KUNIT_EXPECT_EQ(test, explicit_proven(10, 160000, 80000), segs(5));
	KUNIT_EXPECT_EQ(test, explicit_proven(1U << 30, 1, EXPLICIT_RTT_CAP), EXPLICIT_MOST);
	KUNIT_EXPECT_EQ(test, explicit_proven(1, 0, 1), EXPLICIT_ONE);
	KUNIT_EXPECT_EQ(test, explicit_bound(segs(32), 225), segs(72));
	KUNIT_EXPECT_EQ(test, explicit_bound(0, 225), segs(2));
	KUNIT_EXPECT_EQ(test, explicit_bound(0, 0), EXPLICIT_MOST);
	KUNIT_EXPECT_EQ(test, explicit_bound(EXPLICIT_MOST, 10000), EXPLICIT_MOST);
	KUNIT_EXPECT_FALSE(test, explicit_queue_stands(86000, 80000));
	KUNIT_EXPECT_TRUE(test, explicit_queue_stands(86001, 80000));
	KUNIT_EXPECT_FALSE(test, explicit_queue_stands(0, U32_MAX));
	KUNIT_EXPECT_TRUE(test, explicit_loss_is_heavy(9, 32));
	KUNIT_EXPECT_FALSE(test, explicit_loss_is_heavy(8, 32));
	KUNIT_EXPECT_FALSE(test, explicit_loss_is_heavy(7, 8));
	KUNIT_EXPECT_TRUE(test, explicit_loss_is_heavy(8, 8));
}

static void spread(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, explicit_spread_us(80000, 80000), 80000);
	KUNIT_EXPECT_EQ(test, explicit_spread_us(90000, 80000), 85000);
	KUNIT_EXPECT_EQ(test, explicit_spread_us(160001, 80000), 120000);
	KUNIT_EXPECT_EQ(test, explicit_spread_us(U32_MAX, 80000), 120000);
	KUNIT_EXPECT_EQ(test, explicit_spread_us(0, 80000), 80000);
	KUNIT_EXPECT_EQ(test, explicit_spread_us(79999, 80000), 80000);
	KUNIT_EXPECT_EQ(test, explicit_spread_us(U32_MAX, EXPLICIT_RTT_CAP),
			EXPLICIT_RTT_CAP / 2 * 3);
}

static void pacing_rate(struct kunit *test)
{
	/* 31 segments of 960 bytes in 80 ms */
	KUNIT_EXPECT_EQ(test, explicit_rate(segs(31), 960, 80000), 372000);
	EXPECT_NEAR(test, explicit_rate(segs(333333333), 1448, 10 * USEC_PER_SEC),
		    48266666618LL, 10);
	/* at most 2^20 bytes/us, as for the largest window with an rtt of 0 */
	KUNIT_EXPECT_EQ(test, explicit_rate(EXPLICIT_MOST, U16_MAX, 0),
			(u64)USEC_PER_SEC << 20);
	/* 2^30 segments in 100 s */
	KUNIT_EXPECT_EQ(test, explicit_rate(EXPLICIT_MOST, U16_MAX, U32_MAX),
			div_u64(((u64)U16_MAX << 30), 100));
	KUNIT_EXPECT_EQ(test, explicit_rate(0, 1448, 10), 0);
}

/* RFC 6937: the window is halved; one segment is sent for two acknowledged, the first at once */
static void reduction(struct kunit *test)
{
	u32 in_flight = 99, out = 0, delivered;

	KUNIT_EXPECT_EQ(test, explicit_reduction(99, 50, 100, 1, 0, 1), 1);
	for (delivered = 1; delivered <= 98; delivered++) {
		u32 send;

		in_flight--;
		send = explicit_reduction(in_flight, 50, 100, delivered, out, 1);
		KUNIT_EXPECT_LE(test, send, 2);
		out += send;
		in_flight += send;
	}
	KUNIT_EXPECT_EQ(test, out, 49);
	KUNIT_EXPECT_EQ(test, in_flight, 50);
	/* far below ssthresh: as in slow start, two segments for one at most */
	KUNIT_EXPECT_EQ(test, explicit_reduction(10, 50, 100, 5, 5, 1), 2);
	KUNIT_EXPECT_EQ(test, explicit_reduction(50, 50, 100, 5, 5, 1), 0);
	/* no division by zero */
	KUNIT_EXPECT_EQ(test, explicit_reduction(5, 2, 0, 1, 0, 1), 2);
}

/* ------------------------------------------------------------------------- */
/* Scripts.  Segments have 1000 bytes, and the rtt is 80 ms.                  */

#define GRANTED	(100 * FAKE_MSS * 25 / 2)	/* 100 segments per rtt, bytes/s */

static struct acp *acp_of(struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* A connection without routers, with a window of @cwnd and this ssthresh */
static struct sock *open_reno(struct kunit *test, u32 cwnd, u32 ssthresh)
{
	struct sock *sk = fake_open(test, &explicit_ops);

	tcp_snd_cwnd_set(tcp_sk(sk), cwnd);
	tcp_sk(sk)->snd_ssthresh = ssthresh;
	fake_send(sk, 1);
	tcp_snd_cwnd_set(tcp_sk(sk), cwnd);
	fake_send(sk, cwnd - 1);
	return sk;
}

/* A connection whose routers grant GRANTED, in equilibrium */
static struct sock *open_heard(struct kunit *test)
{
	struct sock *sk = fake_open(test, &explicit_ops);
	int i;

	sk->sk_pacing_status = SK_PACING_NEEDED;
	fake_router.word = tcpcc_fb_encode(GRANTED, false);
	for (i = 0; i < 25; i++)
		fake_round(sk, true);
	fake_send(sk, cwnd_of(sk));
	return sk;
}

/* The first window is 1.  Without a router it grows as with Reno. */
static void starts_as_reno(struct kunit *test)
{
	struct sock *sk = fake_open(test, &explicit_ops);
	u32 want;

	for (want = 1; want <= 64; want *= 2) {
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), want);
		fake_round(sk, false);
	}
	tcp_sk(sk)->snd_ssthresh = 128;
	fake_round(sk, false);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 129);
}

/* A loss at 20: the window falls to a half segment by segment, and is a half after recovery */
static void recovers_as_reno(struct kunit *test)
{
	struct sock *sk = open_reno(test, 20, 15);
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

	fake_reduce(sk, TCP_CA_Recovery);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 10);
	for (i = 0; i < 19; i++) {
		fake_ack(sk, 1);
		KUNIT_EXPECT_LE(test, cwnd_of(sk), 20);
		if (cwnd_of(sk) > tcp_packets_in_flight(tp))
			fake_send(sk, cwnd_of(sk) - tcp_packets_in_flight(tp));
	}
	KUNIT_EXPECT_EQ(test, tcp_packets_in_flight(tp), 10);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 10);
}

/* After a spurious loss the window is restored, in slow start and after it. */
static void undo_as_reno(struct kunit *test)
{
	static const u32 ssthresh[] = { TCP_INFINITE_SSTHRESH, 15 };
	int i;

	for (i = 0; i < ARRAY_SIZE(ssthresh); i++) {
		struct sock *sk = open_reno(test, 20, ssthresh[i]);

		fake_reduce(sk, TCP_CA_Recovery);
		fake_ack(sk, 1);
		KUNIT_EXPECT_LT(test, cwnd_of(sk), 21);
		fake_undo(sk);
		fake_ack(sk, 1);
		KUNIT_EXPECT_GE(test, cwnd_of(sk), 20);
		KUNIT_EXPECT_LE(test, cwnd_of(sk), 22);
		KUNIT_EXPECT_GE(test, tcp_sk(sk)->snd_ssthresh, ssthresh[i]);
	}
}

/* A timeout in recovery: slow start follows, and the window does not jump to ssthresh after it */
static void timeout_in_recovery(struct kunit *test)
{
	struct sock *sk = open_reno(test, 20, 15);

	fake_reduce(sk, TCP_CA_Recovery);
	fake_ack(sk, 1);
	fake_timeout(sk);
	tcp_sk(sk)->packets_out = 1;
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
	fake_send(sk, 2);
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 3);
}

/* A CE mark halves the window, once per round trip (TCP's state CWR). */
static void answers_ce_as_reno(struct kunit *test)
{
	struct sock *sk = open_reno(test, 20, 15);
	int i;

	fake_reduce(sk, TCP_CA_CWR);
	for (i = 0; i < 20; i++)
		fake_ack(sk, 1);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
	fake_ack(sk, 0);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 10);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, 10);
}

/* A switch from bbr in recovery: bbr sets no ssthresh, and does not count delivered segments */
static void changed_to_in_recovery(struct kunit *test)
{
	struct sock *sk = open_reno(test, 20, TCP_INFINITE_SSTHRESH);
	struct tcp_sock *tp = tcp_sk(sk);
	int i;

	inet_csk(sk)->icsk_ca_state = TCP_CA_Recovery;
	tp->prior_cwnd = 20;
	tp->prr_out = 40;
	memset(acp_of(sk), 0, sizeof(struct acp));
	acp_init(sk);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 20);
	for (i = 0; i < 10; i++)
		fake_ack(sk, 1);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
	fake_ack(sk, 1);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 2);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 32);
}

/* TCP's own pacing rate: twice the window per rtt in slow start, 1.2 times the window later */
static void paces_as_reno(struct kunit *test)
{
	struct sock *sk = open_reno(test, 20, TCP_INFINITE_SSTHRESH);

	/* values that bbr has set */
	sk->sk_pacing_status = SK_PACING_NEEDED;
	sk->sk_pacing_rate = 1;
	fake_ack(sk, 1);
	EXPECT_NEAR(test, sk->sk_pacing_rate, 2 * 21 * FAKE_MSS * 25 / 2, 1000);
	/* from half of ssthresh on */
	tcp_sk(sk)->snd_ssthresh = 40;
	fake_ack(sk, 1);
	EXPECT_NEAR(test, sk->sk_pacing_rate, 22 * FAKE_MSS * 15, 1000);
	/* in recovery packets_out counts, because the window is small for some time */
	fake_send(sk, 8);
	fake_reduce(sk, TCP_CA_Recovery);
	fake_ack(sk, 16);
	KUNIT_EXPECT_LT(test, cwnd_of(sk), tcp_sk(sk)->packets_out + 2);
	KUNIT_EXPECT_GE(test, sk->sk_pacing_rate,
			tcp_sk(sk)->packets_out * FAKE_MSS * 15 - 100);
	sk->sk_max_pacing_rate = 1000;
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_rate, 1000);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_status, SK_PACING_NEEDED);
}

/* Without a router an idle time has the kernel's effect: the window falls to 10, not to 1. */
static void idle_as_reno(struct kunit *test)
{
	struct sock *sk = open_reno(test, 80, 50);

	fake_ack(sk, 80);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 80);
	fake_idle(sk, 3000);
	fake_send(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), TCP_INIT_CWND);
	KUNIT_EXPECT_GE(test, tcp_sk(sk)->snd_ssthresh, 60);
	/* idle for one rto: the window is halved */
	tcp_sk(sk)->packets_out = 0;
	tcp_snd_cwnd_set(tcp_sk(sk), 80);
	fake_idle(sk, 300);
	fake_send(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40);
	/* less than one rto: no effect */
	tcp_sk(sk)->packets_out = 0;
	fake_idle(sk, 200);
	fake_send(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 40);
}

/* The window does not grow if the application does not use it. */
static void grows_what_is_used(struct kunit *test)
{
	struct sock *sk = open_reno(test, 20, 10);

	tcp_sk(sk)->is_cwnd_limited = 0;
	fake_ack(sk, 20);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 20);
	tcp_sk(sk)->is_cwnd_limited = 1;
	fake_send(sk, 20);
	fake_ack(sk, 20);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 21);
}

/* The window is what routers grant, for any losses. */
static void follows_a_router(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	u64 want = explicit_desired(GRANTED, FAKE_RTT_US, explicit_size(sk, acp_overhead));

	KUNIT_EXPECT_EQ(test, acp_of(sk)->w.ex.mode, EXPLICIT_FEEDBACK);
	EXPECT_NEAR(test, acp_of(sk)->w.segs, want, 1000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), explicit_packets(acp_of(sk)->w.segs, true));
	fake_reduce(sk, TCP_CA_Recovery);
	fake_ack_heard(sk, 1, 1);
	EXPECT_NEAR(test, acp_of(sk)->w.segs, want, 1000);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
	fake_ack_heard(sk, 1, 1);
	EXPECT_NEAR(test, acp_of(sk)->w.segs, want, 1000);
	/* a CE mark has no effect either, because the rate already reacts to congestion */
	fake_reduce(sk, TCP_CA_CWR);
	fake_ack_heard(sk, 1, 1);
	EXPECT_NEAR(test, acp_of(sk)->w.segs, want, 1000);
}

/* With echoes of 100 GB/s the window is at most 2.25 times what is delivered. */
static void doubts_a_word(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	u32 cwnd = cwnd_of(sk);
	int i;

	fake_router.path_segs = cwnd;
	fake_router.word = tcpcc_fb_encode(100000000000ULL, false);
	for (i = 0; i < 20; i++) {
		fake_round(sk, true);
		KUNIT_EXPECT_LE(test, cwnd_of(sk), cwnd * 9 / 4 + 1);
	}
	KUNIT_EXPECT_GT(test, cwnd_of(sk), cwnd + cwnd / 2);
	/* if the rtt shows the queue that this causes, the window returns to what is delivered */
	fake_router.rtt_us = 2 * FAKE_RTT_US;
	for (i = 0; i < 5; i++)
		fake_round(sk, true);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), cwnd + cwnd / 20);
	/* the evidence of an earlier delivery is halved in each round trip */
	fake_router.path_segs = cwnd / 4;
	for (i = 0; i < 8; i++)
		fake_round(sk, true);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), cwnd / 4 + cwnd / 20);

	/* as printed: no limit */
	acp_trust = 0;
	fake_round(sk, true);
	fake_round(sk, true);
	KUNIT_EXPECT_GT(test, cwnd_of(sk), 100000);
	acp_trust = 225;
}

/* A queue lowers trust to 100 %, and never raises it.  0, no limit, stays. */
static void queue_lowers_trust(struct kunit *test)
{
	struct explicit_window *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	u64 proven = EXPLICIT_LEAST * 1000;

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->ex.mrtt_us = FAKE_RTT_US;
	w->ex.rtt_us = FAKE_RTT_US;
	KUNIT_EXPECT_EQ(test, explicit_trusted(w, proven, 225), proven * 9 / 4);
	KUNIT_EXPECT_EQ(test, explicit_trusted(w, proven, 50), proven / 2);
	w->ex.rtt_us = 2 * FAKE_RTT_US;
	KUNIT_EXPECT_EQ(test, explicit_trusted(w, proven, 225), proven);
	KUNIT_EXPECT_EQ(test, explicit_trusted(w, proven, 50), proven / 2);
	KUNIT_EXPECT_EQ(test, explicit_trusted(w, proven, 0), EXPLICIT_MOST);
}

/* The window that is reached with a grant of 100 segments in FAKE_RTT_US */
static u32 settled(struct sock *sk)
{
	int i;

	fake_router.word = tcpcc_fb_encode(100ULL * (FAKE_MSS + 100) * USEC_PER_SEC / FAKE_RTT_US,
					   false);
	for (i = 0; i < 10; i++)
		fake_round(sk, true);
	return cwnd_of(sk);
}

/*
 * The path becomes three times as long.  That is no queue, and the grant is reached again: it is
 * three times as many segments in such a round trip.
 */
static void path_becomes_longer(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	u32 cwnd = settled(sk), i;

	fake_router.rtt_us = 3 * FAKE_RTT_US;
	fake_router.srtt_us = 3 * FAKE_RTT_US;
	for (i = 0; i < 30; i++)
		fake_round(sk, true);
	KUNIT_EXPECT_EQ(test, acp_of(sk)->w.ex.mrtt_us, 3 * FAKE_RTT_US);
	EXPECT_NEAR(test, cwnd_of(sk), 3 * cwnd, 20000);
	/* and when it is short again the window is as before */
	fake_router.rtt_us = FAKE_RTT_US;
	fake_router.srtt_us = FAKE_RTT_US;
	for (i = 0; i < 10; i++)
		fake_round(sk, true);
	EXPECT_NEAR(test, cwnd_of(sk), cwnd, 20000);
}

/*
 * ACKs have jitter and stay in order, so nearly all of them are late, and one in a while is not.
 * That is no queue, and the grant is used.
 */
static void acks_have_jitter(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	u32 cwnd = settled(sk), i;

	fake_router.srtt_us = 96000;
	for (i = 0; i < 4000; i++) {
		fake_router.rtt_us = i % 32 ? 98000 : 82000;
		fake_ack_heard(sk, 1, true);
		if (tcp_sk(sk)->packets_out < cwnd_of(sk))
			fake_send(sk, cwnd_of(sk) - tcp_sk(sk)->packets_out);
	}
	KUNIT_EXPECT_GE(test, cwnd_of(sk), cwnd);
}

/* Without a larger grant, or after a delay that was a queue, mrtt stays. */
static void queue_is_no_longer_path(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	u32 i;

	fake_router.word = tcpcc_fb_encode((u64)FAKE_MSS * USEC_PER_SEC / FAKE_RTT_US,
					   false);
	fake_router.rtt_us = 3 * FAKE_RTT_US;
	fake_router.srtt_us = 3 * FAKE_RTT_US;
	for (i = 0; i < 40; i++)
		fake_round(sk, true);
	KUNIT_EXPECT_EQ(test, acp_of(sk)->w.ex.mrtt_us, FAKE_RTT_US);

	/* a queue that drains within a few round trips of the least window */
	fake_router.word = tcpcc_fb_encode(100000000000ULL, false);
	for (i = 0; i < 40; i++) {
		u32 queue = i % 8 == 7 ? 1 : 3;

		fake_router.rtt_us = queue * FAKE_RTT_US;
		fake_round(sk, true);
		KUNIT_EXPECT_EQ(test, acp_of(sk)->w.ex.mrtt_us, FAKE_RTT_US);
	}
}

/* A grant of 1000 segments is reached from a window of 1 in 10 round trips. */
static void grows_to_a_grant(struct kunit *test)
{
	struct sock *sk = fake_open(test, &explicit_ops);
	int i;

	sk->sk_pacing_status = SK_PACING_NEEDED;
	fake_router.word = tcpcc_fb_encode(1000ULL * (FAKE_MSS + 100) *
					   USEC_PER_SEC / FAKE_RTT_US, false);
	fake_round(sk, true);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), 3);
	for (i = 1; i < 10; i++)
		fake_round(sk, true);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 900);
	/* a round trip in which the application sends little changes nothing */
	fake_send(sk, 1);
	fake_ack_heard(sk, 1, 1);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 900);
}

/*
 * If a round trip loses half of a window, feedback is ignored for eight round trips, the next time
 * for sixteen.
 */
static void heavy_loss_with_a_router(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = cwnd_of(sk), again, i;

	for (again = 0; again < 3; again++) {
		KUNIT_EXPECT_EQ(test, acp_of(sk)->w.ex.mode, EXPLICIT_FEEDBACK);
		cwnd = cwnd_of(sk);
		tp->lost += max(cwnd / 2, EXPLICIT_HEAVY_SEGS);
		for (i = 0; i < 3 && acp_of(sk)->w.ex.mode == EXPLICIT_FEEDBACK; i++)
			fake_round(sk, true);
		KUNIT_EXPECT_EQ(test, acp_of(sk)->w.ex.mode, EXPLICIT_FALLBACK);
		KUNIT_EXPECT_LE(test, cwnd_of(sk), cwnd / 2 + 2);
		for (i = 1; i < EXPLICIT_REFUSED << again; i++) {
			KUNIT_EXPECT_EQ(test, acp_of(sk)->w.ex.mode, EXPLICIT_FALLBACK);
			fake_round(sk, true);
		}
		for (i = 0; i < 8; i++)
			fake_round(sk, true);
	}
}

/* After a spurious timeout the window is restored.  A real timeout ends with the next echo. */
static void timeout_with_a_router(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	u64 was = acp_of(sk)->w.segs;
	u32 cwnd = cwnd_of(sk);

	fake_timeout(sk);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1);
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1);
	fake_undo(sk);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), cwnd);
	KUNIT_EXPECT_EQ(test, acp_of(sk)->w.segs, was);
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), cwnd);

	fake_timeout(sk);
	fake_ack_heard(sk, 1, 1);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), cwnd / 2);
}

/* If echoes cease, the window is half of what was granted, and stays so */
static void router_ceases(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	u32 cwnd = cwnd_of(sk);
	int i;

	/* a timeout comes first, and is found to be spurious when the grant has expired */
	fake_timeout(sk);
	tcp_snd_cwnd_set(tcp_sk(sk), cwnd);
	for (i = 0; i < 6 && acp_of(sk)->w.ex.mode == EXPLICIT_FEEDBACK; i++) {
		KUNIT_EXPECT_EQ(test, acp_of(sk)->w.ex.mode, EXPLICIT_FEEDBACK);
		fake_round(sk, false);
	}
	KUNIT_EXPECT_EQ(test, acp_of(sk)->w.ex.mode, EXPLICIT_FALLBACK);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), cwnd / 2 + 2);
	fake_undo(sk);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), cwnd / 2 + 2);
	KUNIT_EXPECT_LE(test, tcp_sk(sk)->snd_ssthresh, cwnd / 2);
	/* an echo starts feedback again */
	fake_round(sk, true);
	KUNIT_EXPECT_EQ(test, acp_of(sk)->w.ex.mode, EXPLICIT_FEEDBACK);
}

/* Echoes cease during recovery: segments delivered since its begin have been counted. */
static void router_ceases_in_recovery(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 stuck = 0;
	int i;

	fake_reduce(sk, TCP_CA_Recovery);
	for (i = 0; i < 700; i++) {
		u32 in_flight;

		fake_ack(sk, 1);
		in_flight = tcp_packets_in_flight(tp);
		if (cwnd_of(sk) > in_flight)
			fake_send(sk, cwnd_of(sk) - in_flight);
		stuck = in_flight < 10 ? stuck + 1 : 0;
		KUNIT_ASSERT_LE(test, stuck, 10);
	}
	KUNIT_EXPECT_EQ(test, acp_of(sk)->w.ex.mode, EXPLICIT_FALLBACK);
}

/* After an idle time the window is 1.  It is set when sending begins, not by a query of TCP. */
static void idle_with_a_router(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	u32 cwnd = cwnd_of(sk);

	fake_ack_heard(sk, tcp_sk(sk)->packets_out, 1);
	fake_idle(sk, 100);
	fake_send(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), cwnd);
	fake_ack_heard(sk, 1, 1);

	fake_idle(sk, 30000);
	KUNIT_EXPECT_EQ(test, acp_min_tso_segs(sk), 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), cwnd);
	fake_send(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1);
	KUNIT_EXPECT_EQ(test, acp_of(sk)->w.segs, EXPLICIT_ONE);
	fake_ack_heard(sk, 1, 1);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), cwnd / 2);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), cwnd);
}

/* A retransmission with nothing in flight is not the end of an idle time. */
static void retransmits_after_silence(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 ssthresh;

	fake_timeout(sk);
	ssthresh = tp->snd_ssthresh;
	tp->lost_out = tp->packets_out;
	tcp_snd_cwnd_set(tp, 5);
	fake_idle(sk, 3000);
	fake_tx_start(sk);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 5);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, ssthresh);
}

/*
 * TCP's query for the size of packets changes nothing: with feedback, after an idle time, with
 * whole windows, and without a router.
 */
static void asking_changes_nothing(struct kunit *test)
{
	struct tcp_sock *was = kunit_kmalloc(test, sizeof(*was), GFP_KERNEL);
	u32 reno = READ_ONCE(init_net.ipv4.sysctl_tcp_min_tso_segs), i;

	KUNIT_ASSERT_NOT_NULL(test, was);
	for (i = 0; i < 4; i++) {
		struct sock *sk = i < 3 ? open_heard(test) : open_reno(test, 20, 15);

		/* everything is acknowledged, so that sending could begin */
		fake_ack(sk, tcp_sk(sk)->packets_out);
		if (i)
			fake_idle(sk, 30000);
		if (i == 2) {
			sk->sk_pacing_status = SK_PACING_NONE;
			fake_ack_heard(sk, 1, 1);
		}
		memcpy(was, sk, sizeof(*was));
		KUNIT_EXPECT_EQ(test, acp_min_tso_segs(sk), i < 2 ? 1 : reno);
		KUNIT_EXPECT_EQ(test, memcmp(was, sk, sizeof(*was)), 0);
	}
}

/* If the size of segments changes, the window in bytes stays the same */
static void mtu_changes(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 bytes = acp_of(sk)->w.segs * FAKE_MSS;

	tp->mss_cache = 6 * FAKE_MSS;
	fake_ack(sk, 1);
	EXPECT_NEAR(test, acp_of(sk)->w.segs * tp->mss_cache, bytes, 1000);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), explicit_packets(acp_of(sk)->w.segs, true));
	tp->mss_cache = FAKE_MSS / 2;
	fake_ack(sk, 1);
	EXPECT_NEAR(test, acp_of(sk)->w.segs * tp->mss_cache, bytes, 1000);
	/* TCP rescales the window itself if an MTU probe finds a larger size: not a second time */
	tcp_snd_cwnd_set(tp, cwnd_of(sk) / 2);
	tp->mss_cache = FAKE_MSS;
	fake_ack(sk, 1);
	EXPECT_NEAR(test, acp_of(sk)->w.segs * tp->mss_cache, bytes, 20000);
	/* the window is at least one segment */
	tp->mss_cache = 60000;
	tcp_snd_cwnd_set(tp, 2);
	fake_ack(sk, 1);
	tp->mss_cache = 64000;
	fake_ack(sk, 1);
	KUNIT_EXPECT_GE(test, acp_of(sk)->w.segs, EXPLICIT_ONE);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 1);
}

/* With feedback the pacing rate is one window per rtt, with TCP's pacing and with fq. */
static void paces_with_a_router(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	u64 want = explicit_rate(acp_of(sk)->w.segs, FAKE_MSS, FAKE_RTT_US);

	EXPECT_NEAR(test, sk->sk_pacing_rate, want, 1000);
	sk->sk_pacing_status = SK_PACING_FQ;
	fake_ack(sk, 1);
	EXPECT_NEAR(test, sk->sk_pacing_rate, want, 1000);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_status, SK_PACING_FQ);
	/* an application's limit is requested from routers, and holds at once */
	sk->sk_max_pacing_rate = 5000;
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_rate, 5000);
	KUNIT_EXPECT_EQ(test, fake_router.asked_word,
			tcpcc_fb_encode(5000, false));
}

/* Each segment carries TCP's smoothed rtt, limited to its field. */
static void says_its_rtt(struct kunit *test)
{
	struct sock *sk = open_heard(test);

	KUNIT_EXPECT_EQ(test, fake_router.asked_info, FAKE_RTT_US);
	tcp_sk(sk)->srtt_us = 16777214U << 3;
	explicit_request(sk);
	KUNIT_EXPECT_EQ(test, fake_router.asked_info, 0xfffffe);
	tcp_sk(sk)->srtt_us = 17000000U << 3;
	explicit_request(sk);
	KUNIT_EXPECT_EQ(test, fake_router.asked_info, 0xffffff);
	tcp_sk(sk)->srtt_us = 0;
	explicit_request(sk);
	KUNIT_EXPECT_EQ(test, fake_router.asked_info, 0);
}

/* Whole windows, released by ACKs: without pacing, and without fractions of a segment */
static void sends_whole_windows(struct kunit *test)
{
	struct sock *sk;

	acp_pacing = 0;
	sk = open_heard(test);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), acp_of(sk)->w.segs >> EXPLICIT_SCALE);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_rate, ~0UL);
	acp_pacing = 1;
	fake_ack_heard(sk, 1, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), (acp_of(sk)->w.segs >> EXPLICIT_SCALE) + 1);
	KUNIT_EXPECT_NE(test, sk->sk_pacing_rate, ~0UL);
}

/* ss shows a rate and an rtt in bbr's format, without gains. */
static void tells_ss(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	union tcp_cc_info info;
	int attr = 0;

	memset(&info, 0xff, sizeof(info));
	KUNIT_EXPECT_EQ(test, acp_get_info(sk, 1, &attr, &info), 0);
	KUNIT_EXPECT_EQ(test, acp_get_info(sk, 1 << (INET_DIAG_BBRINFO - 1), &attr,
					   &info), sizeof(info.bbr));
	KUNIT_EXPECT_EQ(test, attr, INET_DIAG_BBRINFO);
	EXPECT_NEAR(test, info.bbr.bbr_bw_lo, GRANTED, 10);
	KUNIT_EXPECT_EQ(test, info.bbr.bbr_bw_hi, 0);
	KUNIT_EXPECT_EQ(test, info.bbr.bbr_min_rtt, FAKE_RTT_US);
	KUNIT_EXPECT_EQ(test, info.bbr.bbr_pacing_gain, 0);
	KUNIT_EXPECT_EQ(test, info.bbr.bbr_cwnd_gain, 0);
}

static struct kunit_case acp_cases[] = {
	KUNIT_CASE(desired_window),
	KUNIT_CASE(desired_is_bounded),
	KUNIT_CASE(first_ack),
	KUNIT_CASE(one_round_trip),
	KUNIT_CASE(per_segment),
	KUNIT_CASE(power),
	KUNIT_CASE(packets),
	KUNIT_CASE(converges),
	KUNIT_CASE(window_is_bounded),
	KUNIT_CASE(bound),
	KUNIT_CASE(spread),
	KUNIT_CASE(pacing_rate),
	KUNIT_CASE(reduction),
	KUNIT_CASE(starts_as_reno),
	KUNIT_CASE(recovers_as_reno),
	KUNIT_CASE(undo_as_reno),
	KUNIT_CASE(timeout_in_recovery),
	KUNIT_CASE(answers_ce_as_reno),
	KUNIT_CASE(changed_to_in_recovery),
	KUNIT_CASE(paces_as_reno),
	KUNIT_CASE(idle_as_reno),
	KUNIT_CASE(grows_what_is_used),
	KUNIT_CASE(follows_a_router),
	KUNIT_CASE(doubts_a_word),
	KUNIT_CASE(queue_lowers_trust),
	KUNIT_CASE(path_becomes_longer),
	KUNIT_CASE(acks_have_jitter),
	KUNIT_CASE(queue_is_no_longer_path),
	KUNIT_CASE(grows_to_a_grant),
	KUNIT_CASE(heavy_loss_with_a_router),
	KUNIT_CASE(timeout_with_a_router),
	KUNIT_CASE(router_ceases),
	KUNIT_CASE(router_ceases_in_recovery),
	KUNIT_CASE(idle_with_a_router),
	KUNIT_CASE(asking_changes_nothing),
	KUNIT_CASE(retransmits_after_silence),
	KUNIT_CASE(mtu_changes),
	KUNIT_CASE(paces_with_a_router),
	KUNIT_CASE(says_its_rtt),
	KUNIT_CASE(sends_whole_windows),
	KUNIT_CASE(tells_ss),
	{}
};

static struct kunit_suite acp_suite = {
	.name = "tcp_acp",
	.test_cases = acp_cases,
};

kunit_test_suite(acp_suite);
