// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the RCP sender: its window, also with extreme numbers, and scripts of events
 * on a socket whose links send a rate R.
 */
#include "explicit_sock.h"

#include "../../rivals/tcp_rcp.c"

#include <kunit/test.h>

#include "near.h"

static u64 segs(u64 n)
{
	return n << EXPLICIT_SCALE;
}

/* ------------------------------------------------------------------------- */
/* The law                                                                   */

/* The window is three times R * rtt, plus three segments */
static void window(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rcp_window(segs(100), 80000, 80000), segs(303));
	/* a queue makes the rtt longer, and the window still allows R */
	KUNIT_EXPECT_EQ(test, rcp_window(segs(100), 160000, 80000), segs(603));
	/* an rtt below the least rtt is not used */
	KUNIT_EXPECT_EQ(test, rcp_window(segs(100), 0, 80000), segs(303));
	KUNIT_EXPECT_EQ(test, rcp_window(0, 80000, 80000), segs(3));
}

/* From 1 kbit/s to 400 Gbit/s, with any rtt, the window is larger than R needs. */
static void window_does_not_limit(struct kunit *test)
{
	static const u64 rates[] = { 125, 125000, 19375000, 1250000000, 50000000000 };
	static const u32 mrtts[] = { 1, 50, 1000, 80000, 4194303, 4194304, 5000000,
				     EXPLICIT_RTT_CAP };
	u32 i, times;

	for (i = 0; i < ARRAY_SIZE(rates) * ARRAY_SIZE(mrtts); i++) {
		for (times = 1; times <= 16; times *= 4) {
			u32 mrtt_us = mrtts[i / 5];
			u64 desired = explicit_desired(rates[i % 5], mrtt_us, 1500);
			u64 need = min(desired * times, EXPLICIT_MOST);
			u64 have = rcp_window(desired, mrtt_us * times, mrtt_us);

			KUNIT_EXPECT_GE_MSG(test, have, need, "%llu bytes/s, %u us, %u times",
					    rates[i % 5], mrtt_us, times);
			KUNIT_EXPECT_LE(test, have, min(need * RCP_TIMES + RCP_ROOM,
							EXPLICIT_MOST));
		}
	}
	KUNIT_EXPECT_EQ(test, rcp_window(EXPLICIT_MOST, U32_MAX, EXPLICIT_RTT_CAP),
			EXPLICIT_MOST);
	KUNIT_EXPECT_EQ(test, rcp_window(EXPLICIT_MOST, U32_MAX, 1), EXPLICIT_MOST);
	/* no division by zero */
	KUNIT_EXPECT_EQ(test, rcp_window(0, 0, 0), segs(3));
}

/* ------------------------------------------------------------------------- */
/* Scripts.  Segments have 1000 bytes, and the rtt is 80 ms.                  */

/* 100 segments per rtt, bytes/s; links count 1066 bytes for a segment */
#define GRANTED		(100 * (FAKE_MSS + 66) * 25 / 2)
#define WINDOW		303U	/* three times 100, plus three */
#define RATE		1250000U	/* 100 times 1000 bytes per rtt */

static struct rcp *rcp_of(struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* Sets the rate in the next echoes */
static void say(u64 rate)
{
	fake_router.word = tcpcc_fb_encode(rate, false);
}

/* An ACK for one segment, with an echo of this rate */
static void ack_says(struct sock *sk, u64 rate)
{
	say(rate);
	fake_ack_heard(sk, 1, 1);
}

/* Window and pacing rate must be those for @percent hundredths of GRANTED. */
static void expect(struct kunit *test, struct sock *sk, u32 percent)
{
	EXPECT_NEAR(test, rcp_of(sk)->desired, segs(percent), 20);
	EXPECT_NEAR(test, sk->sk_pacing_rate, RATE / 100 * percent, 20);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), percent * RCP_TIMES + 4);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), percent * RCP_TIMES + 3);
}

/* A connection whose links send GRANTED, in equilibrium */
static struct sock *open_heard(struct kunit *test)
{
	struct sock *sk = fake_open(test, &explicit_ops);
	int i;

	say(GRANTED);
	for (i = 0; i < 12; i++)
		fake_round(sk, true);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_status, SK_PACING_NEEDED);
	KUNIT_ASSERT_EQ(test, rcp_of(sk)->w.ex.mode, EXPLICIT_FEEDBACK);
	expect(test, sk, 100);
	fake_send(sk, cwnd_of(sk));
	return sk;
}

/* The first window is 1.  A word that no link has limited has no effect: the window is Reno's. */
static void starts_as_reno(struct kunit *test)
{
	struct sock *sk = fake_open(test, &explicit_ops);
	u32 want;

	say(TCPCC_FB_RATE_NONE);
	for (want = 1; want <= 64; want *= 2) {
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), want);
		fake_round(sk, want & 0x14);
		KUNIT_EXPECT_EQ(test, rcp_of(sk)->w.ex.mode, EXPLICIT_START);
	}
}

/* As printed, the first echo sets R, after a window of 1. */
static void starts_at_r(struct kunit *test)
{
	struct sock *sk = fake_open(test, &explicit_ops);

	rcp_trust = 0;
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1);
	say(GRANTED);
	fake_round(sk, true);
	expect(test, sk, 100);
	rcp_trust = 225;
}

/* R takes effect at the ACK that brings it.  An ACK without an echo changes nothing. */
static void follows_at_once(struct kunit *test)
{
	struct sock *sk = open_heard(test);

	ack_says(sk, GRANTED / 10);
	expect(test, sk, 10);
	fake_ack(sk, 1);
	expect(test, sk, 10);
	ack_says(sk, GRANTED / 2 * 3);
	expect(test, sk, 150);
	ack_says(sk, GRANTED);
	expect(test, sk, 100);
	/* the congestion bit is for ACP only, and has no effect */
	fake_router.word = tcpcc_fb_encode(GRANTED / 2, true);
	fake_ack_heard(sk, 1, 1);
	expect(test, sk, 50);
}

/* A loss, a CE mark and reordering change nothing. */
static void losses_say_nothing(struct kunit *test)
{
	static const u8 states[] = { TCP_CA_Recovery, TCP_CA_CWR };
	int i, n;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		struct sock *sk = open_heard(test);
		u32 cwnd = cwnd_of(sk);

		fake_reduce(sk, states[i]);
		KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, cwnd);
		for (n = 0; n < 50; n++) {
			fake_ack_heard(sk, 1, n & 1);
			expect(test, sk, 100);
		}
		ack_says(sk, GRANTED / 2);
		expect(test, sk, 50);
		inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
		fake_ack(sk, 1);
		expect(test, sk, 50);
	}
}

/* A timeout sets the window to 1 until the next echo, or until it is found to be spurious. */
static void timeout(struct kunit *test)
{
	struct sock *sk = open_heard(test);

	fake_timeout(sk);
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1);
	fake_ack_heard(sk, 1, 1);
	expect(test, sk, 100);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;

	fake_timeout(sk);
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1);
	fake_undo(sk);
	expect(test, sk, 100);
	/* a spurious recovery has not changed the window, and its undo does not either */
	fake_reduce(sk, TCP_CA_Recovery);
	ack_says(sk, GRANTED / 2);
	fake_undo(sk);
	expect(test, sk, 50);
}

/* Without echoes, or with words without a limit, feedback ends after four round trips. */
static void links_cease(struct kunit *test)
{
	int i, unlimited;

	for (unlimited = 0; unlimited < 2; unlimited++) {
		struct sock *sk = open_heard(test);

		say(TCPCC_FB_RATE_NONE);
		fake_round(sk, unlimited);
		for (i = 0; i < 6 && rcp_of(sk)->w.ex.mode == EXPLICIT_FEEDBACK; i++) {
			expect(test, sk, 100);
			fake_round(sk, unlimited);
		}
		/* the present round trip already had some echoes */
		KUNIT_EXPECT_GE(test, i, 3);
		KUNIT_EXPECT_LE(test, i, 4);
		KUNIT_EXPECT_EQ(test, rcp_of(sk)->w.ex.mode, EXPLICIT_FALLBACK);
		KUNIT_EXPECT_EQ(test, rcp_of(sk)->desired, 0);
		KUNIT_EXPECT_LE(test, cwnd_of(sk), WINDOW / 2 + 2);
		/* an echo starts feedback again */
		say(GRANTED);
		fake_round(sk, true);
		KUNIT_EXPECT_EQ(test, rcp_of(sk)->w.ex.mode, EXPLICIT_FEEDBACK);
	}
}

/* After an idle time the window is 1, until the first echo. */
static void idle(struct kunit *test)
{
	struct sock *sk = open_heard(test);

	fake_ack(sk, tcp_sk(sk)->packets_out);
	fake_idle(sk, 30000);
	fake_send(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1);
	fake_ack_heard(sk, 1, 1);
	expect(test, sk, 100);
}

/* If the application has little to send, the flow keeps R. */
static void limited(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	int i;

	fake_ack(sk, tcp_sk(sk)->packets_out);
	for (i = 0; i < 20; i++) {
		fake_send(sk, 2);
		fake_ack_heard(sk, 2, 2);
		expect(test, sk, 100);
	}
}

/* With larger segments the rate in bytes stays the same, and a larger part of it is payload */
static void mtu_changes(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	u64 segments;

	tcp_sk(sk)->mss_cache = 4 * FAKE_MSS;
	fake_ack_heard(sk, 1, 1);
	/* 106600 bytes per 80 ms, in segments of 4066 bytes */
	segments = div_u64(106600ULL << EXPLICIT_SCALE, 4066);
	EXPECT_NEAR(test, rcp_of(sk)->desired, segments, 20);
	EXPECT_NEAR(test, sk->sk_pacing_rate, 1310871, 20);
}

/* If a receiver increases R in echoes, the rate is at most 2.25 times what is delivered. */
static void doubts_a_word(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	int i;

	/* the test does not pace, so a round trip would deliver the window instead of R */
	fake_router.path_segs = 100;
	for (i = 0; i < 3; i++)
		fake_round(sk, true);
	say(TCPCC_FB_RATE_MAX);
	for (i = 0; i < 20; i++) {
		fake_round(sk, true);
		KUNIT_EXPECT_LE(test, rcp_of(sk)->desired, segs(225));
	}
	KUNIT_EXPECT_GT(test, rcp_of(sk)->desired, segs(200));
	/* if the rtt shows the queue that this causes, the rate returns to what is delivered */
	fake_router.rtt_us = 2 * FAKE_RTT_US;
	for (i = 0; i < 5; i++)
		fake_round(sk, true);
	KUNIT_EXPECT_LE(test, rcp_of(sk)->desired, segs(105));
	KUNIT_EXPECT_LE(test, sk->sk_pacing_rate, RATE / 100 * 105);

	/* as printed: no limit */
	rcp_trust = 0;
	fake_round(sk, true);
	KUNIT_EXPECT_GT(test, rcp_of(sk)->desired, segs(100000));
	rcp_trust = 225;
}

/*
 * A round trip at the rate R: so many segments are in flight, and each one is acknowledged.  A path
 * with @path_segs carries 100 segments per FAKE_RTT_US; the others wait, and the rtt is longer.
 */
static void round_at_rate(struct sock *sk, u32 least_us)
{
	u64 window = mul_u64_u32_div(rcp_of(sk)->desired, fake_router.srtt_us,
				     rcp_of(sk)->w.ex.mrtt_us);
	u32 n = max_t(u32, window >> EXPLICIT_SCALE, 2), i;

	fake_router.rtt_us = least_us;
	if (fake_router.path_segs)
		fake_router.rtt_us = max(least_us, n * (FAKE_RTT_US / 100));
	fake_router.srtt_us = fake_router.rtt_us;
	if (tcp_sk(sk)->packets_out < n)
		fake_send(sk, n - tcp_sk(sk)->packets_out);
	fake_flight.limited = false;
	for (i = tcp_sk(sk)->packets_out; i; i--)
		fake_ack_heard(sk, 1, 1);
}

/* The path becomes three times as long, while R is small.  A larger R is reached again. */
static void path_becomes_longer(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	int i;

	fake_ack(sk, tcp_sk(sk)->packets_out);
	say(GRANTED / 4);
	for (i = 0; i < 10; i++)
		round_at_rate(sk, FAKE_RTT_US);
	expect(test, sk, 25);
	for (i = 0; i < 10; i++)
		round_at_rate(sk, 3 * FAKE_RTT_US);
	say(GRANTED);
	for (i = 0; i < 40; i++)
		round_at_rate(sk, 3 * FAKE_RTT_US);
	KUNIT_EXPECT_EQ(test, rcp_of(sk)->w.ex.mrtt_us, 3 * FAKE_RTT_US);
	EXPECT_NEAR(test, sk->sk_pacing_rate, RATE, 20);
}

/* A queue of this flow, because R is more than the path has, is no longer path */
static void queue_is_no_longer_path(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	u64 most = 0;
	int i;

	fake_ack(sk, tcp_sk(sk)->packets_out);
	fake_router.path_segs = 100;
	say(TCPCC_FB_RATE_MAX);
	for (i = 0; i < 60; i++) {
		round_at_rate(sk, FAKE_RTT_US);
		KUNIT_ASSERT_LE(test, fake_router.srtt_us, 4 * FAKE_RTT_US);
		most = max(most, rcp_of(sk)->desired);
	}
	KUNIT_EXPECT_GT(test, most, segs(200));
	KUNIT_EXPECT_EQ(test, rcp_of(sk)->w.ex.mrtt_us, FAKE_RTT_US);
}

/* With R = 0 the pacing rate is not 0, which TCP would treat as unlimited. */
static void next_to_nothing(struct kunit *test)
{
	static const u32 rates[] = { 0, 1, 125 };
	int i;

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		struct sock *sk = open_heard(test);

		ack_says(sk, rates[i]);
		/* at least one packet per second, as with fq */
		KUNIT_EXPECT_EQ(test, sk->sk_pacing_rate, FAKE_MSS);
		KUNIT_EXPECT_LE(test, cwnd_of(sk), 4);
		ack_says(sk, GRANTED);
		expect(test, sk, 100);
	}
}

/* Each packet carries TCP's rtt, and requests any rate, or the application's maximum. */
static void requests(struct kunit *test)
{
	struct sock *sk = open_heard(test);

	KUNIT_EXPECT_EQ(test, fake_router.asked_info, FAKE_RTT_US);
	KUNIT_EXPECT_EQ(test, fake_router.asked_word, TCPCC_FB_NO_LIMIT);
	sk->sk_max_pacing_rate = 5000;
	fake_ack_heard(sk, 1, 1);
	KUNIT_EXPECT_EQ(test, fake_router.asked_word, tcpcc_fb_encode(5000, false));
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_rate, 5000);
	KUNIT_EXPECT_EQ(test, rcp_min_tso_segs(sk), 1);
}

/* ss shows R and an rtt in bbr's format, if there is an R. */
static void tells_ss(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	union tcp_cc_info info;
	int attr = 0, i;

	KUNIT_EXPECT_EQ(test, rcp_get_info(sk, 1 << (INET_DIAG_BBRINFO - 1), &attr, &info),
			sizeof(info.bbr));
	EXPECT_NEAR(test, info.bbr.bbr_bw_lo, GRANTED, 10);
	KUNIT_EXPECT_EQ(test, info.bbr.bbr_min_rtt, FAKE_RTT_US);
	for (i = 0; i < 8; i++)
		fake_round(sk, false);
	rcp_get_info(sk, 1 << (INET_DIAG_BBRINFO - 1), &attr, &info);
	KUNIT_EXPECT_EQ(test, info.bbr.bbr_bw_lo, 0);
}

static struct kunit_case rcp_cases[] = {
	KUNIT_CASE(window),
	KUNIT_CASE(window_does_not_limit),
	KUNIT_CASE(starts_as_reno),
	KUNIT_CASE(starts_at_r),
	KUNIT_CASE(follows_at_once),
	KUNIT_CASE(losses_say_nothing),
	KUNIT_CASE(timeout),
	KUNIT_CASE(links_cease),
	KUNIT_CASE(idle),
	KUNIT_CASE(limited),
	KUNIT_CASE(mtu_changes),
	KUNIT_CASE(doubts_a_word),
	KUNIT_CASE(path_becomes_longer),
	KUNIT_CASE(queue_is_no_longer_path),
	KUNIT_CASE(next_to_nothing),
	KUNIT_CASE(requests),
	KUNIT_CASE(tells_ss),
	{}
};

static struct kunit_suite rcp_suite = {
	.name = "tcp_rcp",
	.test_cases = rcp_cases,
};

kunit_test_suite(rcp_suite);
