// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the XCP sender: its law, also with extreme numbers, and scripts of events on
 * a socket whose links send changes.
 */
#include "explicit_sock.h"

#include "../../rivals/tcp_xcp.c"

#include <kunit/test.h>

#include "near.h"

static u64 segs(u64 n)
{
	return n << EXPLICIT_SCALE;
}

/* ------------------------------------------------------------------------- */
/* The law                                                                   */

/* rtt / cwnd */
static void gap(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, xcp_gap(EXPLICIT_ONE, 80000), 80000000);
	/* 1550 packets in 80 ms */
	KUNIT_EXPECT_EQ(test, xcp_gap(segs(1550), 80000), 51612);
	KUNIT_EXPECT_EQ(test, xcp_gap(segs(3) / 2, 3), 2000);
	KUNIT_EXPECT_EQ(test, xcp_gap(EXPLICIT_ONE, 0), 0);
	KUNIT_EXPECT_EQ(test, xcp_gap(EXPLICIT_ONE, EXPLICIT_RTT_CAP), 100ULL * NSEC_PER_SEC);
	/* 400 Gbit/s in packets of 1500 bytes: 30 ns, at any rtt */
	KUNIT_EXPECT_EQ(test, xcp_gap(segs(333333333), 10 * USEC_PER_SEC), 30);
	KUNIT_EXPECT_EQ(test, xcp_gap(segs(1000) / 3, 10), 30);
	KUNIT_EXPECT_EQ(test, xcp_gap(EXPLICIT_MOST, 10), 0);
}

/* cwnd += E * rtt / size */
static void window(struct kunit *test)
{
	/* 12500 bytes/s at 80 ms are one packet of 1000 bytes */
	KUNIT_EXPECT_EQ(test, xcp_window(segs(10), 12500, 80000, 1000), segs(11));
	KUNIT_EXPECT_EQ(test, xcp_window(segs(10), -12500, 80000, 1000), segs(9));
	KUNIT_EXPECT_EQ(test, xcp_window(segs(10), 0, 80000, 1000), segs(10));
	/* fractions are kept: 1250 bytes/s, as a link gives in equilibrium */
	EXPECT_NEAR(test, xcp_window(segs(10), 1250, 80000, 1000),
		    segs(101) / 10, 2);
	EXPECT_NEAR(test, xcp_window(segs(10), -1, 80000, 1000),
		    segs(10) - 5, 1);
	/* never below 1 */
	KUNIT_EXPECT_EQ(test, xcp_window(segs(10), -125000, 80000, 1000),
			EXPLICIT_ONE);
	KUNIT_EXPECT_EQ(test, xcp_window(EXPLICIT_ONE, -(1 << 29), EXPLICIT_RTT_CAP, 1),
			EXPLICIT_ONE);
}

/* From an rtt of 0 or 1 us and a change of 1 kbit/s to the largest change in 100 s */
static void window_is_bounded(struct kunit *test)
{
	static const u64 windows[] = { EXPLICIT_ONE, EXPLICIT_ONE + 1, 775 * EXPLICIT_ONE,
				       EXPLICIT_MOST };
	static const s32 changes[] = { -(1 << 29), -(1 << 28), -125, -1, 0, 1, 125, 1 << 28,
				       (1 << 29) - 1 };
	static const u32 rtts[] = { 0, 1, 10, 80000, EXPLICIT_RTT_CAP };
	static const u32 sizes[] = { 0, 1, 1000, 9000, 65535 };
	u32 i;

	for (i = 0; i < 4 * 9 * 5 * 5; i++) {
		u64 was = windows[i % 4], is;
		s32 change = changes[i / 4 % 9];

		is = xcp_window(was, change, rtts[i / 36 % 5], sizes[i / 180]);
		KUNIT_EXPECT_GE(test, is, EXPLICIT_ONE);
		KUNIT_EXPECT_LE(test, is, EXPLICIT_MOST);
		if (change < 0)
			KUNIT_EXPECT_LE(test, is, was);
		else
			KUNIT_EXPECT_GE(test, is, was);
	}
}

/* From one packet per 10 ms to 400 Gbit/s, in steps of the most that a link gives, and back */
static void reaches_400_gbps(struct kunit *test)
{
	u64 w = EXPLICIT_ONE;
	int i;

	/* 187 * 2^28 bytes/s are 401 Gbit/s, and 334649 packets of 1500 bytes in 10 ms */
	for (i = 0; i < 187; i++)
		w = xcp_window(w, 1 << 28, 10000, 1500);
	EXPECT_NEAR(test, w, segs(334650), 10);
	for (i = 0; i < 186; i++)
		w = xcp_window(w, -(1 << 28), 10000, 1500);
	EXPECT_NEAR(test, w, segs(1791) - segs(1) / 5, 1000);
	/* down to 1 kbit/s, an eighth of a packet per second: the window is 1 */
	KUNIT_EXPECT_EQ(test, xcp_window(w, 125 - (1 << 28), USEC_PER_SEC, 1000),
			EXPLICIT_ONE);
}

/* ------------------------------------------------------------------------- */
/* Scripts.  Segments have 1000 bytes, and the rtt is 80 ms.                  */

/* A change of one segment per rtt, bytes/s; links count 1066 bytes for a segment */
#define ONE_MORE	((FAKE_MSS + 66) * 25 / 2)
#define SETTLED		64U

static struct xcp *xcp_of(struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* Sets the change in the next echoes */
static void say(s32 change)
{
	fake_router.word = tcpcc_fb_change_word(change);
}

/* An ACK for one segment, with an echo of this change */
static void ack_says(struct sock *sk, s32 change)
{
	say(change);
	fake_ack_heard(sk, 1, 1);
}

/* A connection with a window of SETTLED, all of which is in flight */
static struct sock *open_heard(struct kunit *test)
{
	struct sock *sk = fake_open(test, &explicit_ops);
	int i;

	sk->sk_pacing_status = SK_PACING_NEEDED;
	say(ONE_MORE);
	while (cwnd_of(sk) < SETTLED / 2)
		fake_round(sk, true);
	say(0);
	fake_round(sk, true);
	fake_send(sk, cwnd_of(sk));
	ack_says(sk, ((s32)SETTLED - (s32)cwnd_of(sk)) * ONE_MORE);
	say(0);
	for (i = 0; i < 3; i++)
		fake_round(sk, true);
	fake_send(sk, cwnd_of(sk));
	KUNIT_ASSERT_EQ(test, xcp_of(sk)->w.ex.mode, EXPLICIT_FEEDBACK);
	KUNIT_ASSERT_EQ(test, xcp_of(sk)->w.segs, segs(SETTLED));
	KUNIT_ASSERT_EQ(test, cwnd_of(sk), SETTLED);
	return sk;
}

/* The first window is 1.  A word that no link has changed has no effect: the window is Reno's. */
static void starts_as_reno(struct kunit *test)
{
	struct sock *sk = fake_open(test, &explicit_ops);
	u32 want;

	KUNIT_EXPECT_EQ(test, fake_router.asked_info, 0);
	KUNIT_EXPECT_EQ(test, fake_router.asked_word, TCPCC_FB_NO_LIMIT);
	fake_router.word = TCPCC_FB_NO_LIMIT;
	for (want = 1; want <= 64; want *= 2) {
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), want);
		fake_round(sk, want & 0x14);
		KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.ex.mode, EXPLICIT_START);
	}
}

/* The first changed word ends Reno, even with a change of 0, as for the first packet of a link. */
static void feedback_begins(struct kunit *test)
{
	struct sock *sk = fake_open(test, &explicit_ops);

	say(0);
	fake_round(sk, true);
	KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.ex.mode, EXPLICIT_FEEDBACK);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1);
	fake_round(sk, false);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1);
	say(ONE_MORE);
	fake_round(sk, true);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2);
}

/* The change in each echo is added, with its sign.  An ACK without an echo adds nothing. */
static void adds_what_links_say(struct kunit *test)
{
	struct sock *sk = open_heard(test);

	ack_says(sk, ONE_MORE);
	KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.segs, segs(65));
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.segs, segs(65));
	ack_says(sk, -3 * ONE_MORE);
	KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.segs, segs(62));
	ack_says(sk, ONE_MORE / 5);
	EXPECT_NEAR(test, xcp_of(sk)->w.segs, segs(62) + segs(1) / 5, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 63);
	ack_says(sk, -100 * ONE_MORE);
	KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.segs, EXPLICIT_ONE);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1);
}

/* A positive change is not added if the window is not used.  A negative change always counts. */
static void adds_what_is_used(struct kunit *test)
{
	struct sock *sk = open_heard(test);

	fake_ack(sk, SETTLED);
	fake_send(sk, 5);
	ack_says(sk, ONE_MORE);
	KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.segs, segs(SETTLED));
	ack_says(sk, -ONE_MORE);
	KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.segs, segs(SETTLED - 1));
	/* the window is filled again */
	fake_send(sk, SETTLED);
	fake_ack(sk, 4);
	ack_says(sk, ONE_MORE);
	KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.segs, segs(SETTLED));
}

/* A loss or a CE mark halves the window, as with Reno.  Changes in that time do not count. */
static void loss_halves(struct kunit *test)
{
	static const u8 states[] = { TCP_CA_Recovery, TCP_CA_CWR };
	static const s32 said[] = { 2 * ONE_MORE, -2 * ONE_MORE };
	int i, n;

	for (i = 0; i < ARRAY_SIZE(states) * ARRAY_SIZE(said); i++) {
		struct sock *sk = open_heard(test);
		struct tcp_sock *tp = tcp_sk(sk);

		fake_reduce(sk, states[i & 1]);
		KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, SETTLED / 2);
		for (n = 0; n < SETTLED - 1; n++) {
			ack_says(sk, said[i / 2]);
			KUNIT_EXPECT_LE(test, cwnd_of(sk), SETTLED);
			KUNIT_EXPECT_GE(test, cwnd_of(sk), SETTLED / 2 - 1);
			if (cwnd_of(sk) > tcp_packets_in_flight(tp))
				fake_send(sk, cwnd_of(sk) - tcp_packets_in_flight(tp));
		}
		inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
		fake_ack(sk, 1);
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), SETTLED / 2);
		KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.segs, segs(SETTLED / 2));
		/* after that changes count again */
		fake_flight.limited = false;
		ack_says(sk, ONE_MORE);
		KUNIT_EXPECT_EQ(test, cwnd_of(sk), SETTLED / 2 + 1);
		KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.ex.mode, EXPLICIT_FEEDBACK);
	}
}

/* Reordering alone does not reduce the window, and changes continue to count. */
static void disorder(struct kunit *test)
{
	struct sock *sk = open_heard(test);

	inet_csk(sk)->icsk_ca_state = TCP_CA_Disorder;
	ack_says(sk, ONE_MORE);
	KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.segs, segs(SETTLED + 1));
}

/* A timeout sets the window to 1, and feedback continues from there. */
static void timeout(struct kunit *test)
{
	struct sock *sk = open_heard(test);

	fake_timeout(sk);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_ssthresh, SETTLED / 2);
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1);
	ack_says(sk, 5 * ONE_MORE);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 6);
	inet_csk(sk)->icsk_ca_state = TCP_CA_Open;
	ack_says(sk, ONE_MORE);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 7);
}

/* After a spurious loss or timeout the window is restored. */
static void undo(struct kunit *test)
{
	struct sock *sk = open_heard(test);

	fake_reduce(sk, TCP_CA_Recovery);
	fake_ack(sk, 1);
	fake_ack(sk, 9);
	KUNIT_EXPECT_LT(test, cwnd_of(sk), SETTLED);
	fake_undo(sk);
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), SETTLED);
	KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.segs, segs(SETTLED));

	fake_timeout(sk);
	fake_ack(sk, 1);
	fake_undo(sk);
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), SETTLED);
}

/* Without echoes, or with words that no link has changed, feedback ends after four round trips. */
static void links_cease(struct kunit *test)
{
	int i, untouched;

	for (untouched = 0; untouched < 2; untouched++) {
		struct sock *sk = open_heard(test);

		fake_router.word = TCPCC_FB_NO_LIMIT;
		fake_round(sk, untouched);
		for (i = 0; i < 6 && xcp_of(sk)->w.ex.mode == EXPLICIT_FEEDBACK; i++) {
			KUNIT_EXPECT_EQ(test, cwnd_of(sk), SETTLED);
			fake_round(sk, untouched);
		}
		/* the present round trip already had some echoes */
		KUNIT_EXPECT_GE(test, i, 3);
		KUNIT_EXPECT_LE(test, i, 4);
		KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.ex.mode, EXPLICIT_FALLBACK);
		KUNIT_EXPECT_LE(test, cwnd_of(sk), SETTLED / 2 + 2);
		/* an echo starts feedback again */
		say(0);
		fake_round(sk, true);
		KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.ex.mode, EXPLICIT_FEEDBACK);
	}
}

/* After an idle time the window is set to 1 when sending begins. */
static void idle(struct kunit *test)
{
	struct sock *sk = open_heard(test);

	fake_ack(sk, SETTLED);
	fake_idle(sk, 100);
	fake_send(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), SETTLED);
	fake_ack(sk, 1);
	fake_idle(sk, 30000);
	fake_send(sk, 1);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 1);
	/* packets carry the gap for this window at once */
	KUNIT_EXPECT_EQ(test, fake_router.asked_info,
			tcpcc_fb_xcp_info(FAKE_RTT_US, FAKE_RTT_US * 1000ULL));
	ack_says(sk, ONE_MORE);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 2);
}

/* If the size of segments changes, the window in bytes stays the same; changes use the new size */
static void mtu_changes(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	u64 was;

	tcp_sk(sk)->mss_cache = 4 * FAKE_MSS;
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.segs, segs(SETTLED / 4));
	ack_says(sk, (4 * FAKE_MSS + 66) * 25 / 2);
	EXPECT_NEAR(test, xcp_of(sk)->w.segs, segs(SETTLED / 4 + 1), 1);
	was = xcp_of(sk)->w.segs;
	tcp_sk(sk)->mss_cache = FAKE_MSS / 2;
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.segs, was * 8);
}

/* If a receiver increases the words, the window is at most 2.25 times what is delivered. */
static void doubts_a_word(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	u32 cwnd;
	int i;

	fake_router.path_segs = SETTLED;
	/* the largest sum that counts */
	say(TCPCC_FB_NO_LIMIT - 1);
	for (i = 0; i < 20; i++) {
		fake_round(sk, true);
		KUNIT_ASSERT_LE(test, cwnd_of(sk), SETTLED * 9 / 4 + 1);
	}
	KUNIT_EXPECT_GT(test, cwnd_of(sk), SETTLED * 2);
	/* if the rtt shows the queue that this causes, the window does not grow any more */
	cwnd = cwnd_of(sk);
	ack_says(sk, -10 * ONE_MORE);
	fake_router.rtt_us = 2 * FAKE_RTT_US;
	say(TCPCC_FB_NO_LIMIT - 1);
	for (i = 0; i < 5; i++)
		fake_round(sk, true);
	KUNIT_EXPECT_LE(test, cwnd_of(sk), cwnd - 10);

	/* as printed: no limit */
	xcp_trust = 0;
	fake_round(sk, true);
	KUNIT_EXPECT_GT(test, cwnd_of(sk), 100000);
	xcp_trust = 225;
}

/*
 * The path becomes three times as long.  The window grows again, for what links grant in such a
 * round trip.
 */
static void path_becomes_longer(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	int i;

	fake_router.rtt_us = 3 * FAKE_RTT_US;
	fake_router.srtt_us = 3 * FAKE_RTT_US;
	say(ONE_MORE / 4);
	for (i = 0; i < 40 && cwnd_of(sk) < 3 * SETTLED; i++)
		fake_round(sk, true);
	KUNIT_EXPECT_GE(test, cwnd_of(sk), 3 * SETTLED);
	KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.ex.mrtt_us, 3 * FAKE_RTT_US);
}

/* A queue that the window makes, because words grant more than the path has, is no longer path */
static void queue_is_no_longer_path(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	u32 most = 0;
	int i;

	fake_router.path_segs = SETTLED;
	say(TCPCC_FB_NO_LIMIT - 1);
	for (i = 0; i < 60; i++) {
		fake_router.rtt_us = FAKE_RTT_US * max(cwnd_of(sk), SETTLED) / SETTLED;
		fake_router.srtt_us = fake_router.rtt_us;
		fake_round(sk, true);
		most = max(most, cwnd_of(sk));
		KUNIT_ASSERT_LE(test, cwnd_of(sk), SETTLED * 9 / 4 + 1);
	}
	KUNIT_EXPECT_GT(test, most, SETTLED * 2);
	KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.ex.mrtt_us, FAKE_RTT_US);
}

/* A few late ACKs in each round trip forbid growth, and the window stays as it is */
static void late_acks(struct kunit *test)
{
	struct sock *sk = open_heard(test);
	int i;

	say(ONE_MORE);
	for (i = 0; i < 1000; i++) {
		fake_router.rtt_us = FAKE_RTT_US * (i & 7 ? 1 : 2);
		say(i & 7 ? 0 : ONE_MORE);
		fake_ack_heard(sk, 1, 1);
		fake_send(sk, 1);
	}
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), SETTLED);
	KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.ex.mrtt_us, FAKE_RTT_US);
}

/* If a path loses half of what is sent, feedback is not trusted; as printed it is */
static void heavy_loss(struct kunit *test)
{
	int i, trust;

	for (trust = 0; trust <= 225; trust += 225) {
		struct sock *sk = open_heard(test);

		xcp_trust = trust;
		say(ONE_MORE);
		tcp_sk(sk)->lost += SETTLED / 2;
		for (i = 0; i < 2; i++)
			fake_round(sk, true);
		if (trust) {
			KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.ex.mode, EXPLICIT_FALLBACK);
		} else {
			KUNIT_EXPECT_EQ(test, xcp_of(sk)->w.ex.mode, EXPLICIT_FEEDBACK);
			KUNIT_EXPECT_GT(test, cwnd_of(sk), SETTLED);
		}
	}
}

/* Each packet carries TCP's rtt and gap, and requests the largest change. */
static void says_rtt_and_gap(struct kunit *test)
{
	struct sock *sk = open_heard(test);

	/* 80 ms / 64 */
	KUNIT_EXPECT_EQ(test, fake_router.asked_info, tcpcc_fb_xcp_info(80000, 1250000));
	KUNIT_EXPECT_EQ(test, fake_router.asked_word, TCPCC_FB_NO_LIMIT);
	ack_says(sk, -32 * ONE_MORE);
	KUNIT_EXPECT_EQ(test, fake_router.asked_info, tcpcc_fb_xcp_info(80000, 2500000));
	/* an application's maximum rate is not requested, because it does not limit the window */
	sk->sk_max_pacing_rate = 5000;
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, fake_router.asked_word, TCPCC_FB_NO_LIMIT);
	tcp_sk(sk)->srtt_us = 0;
	xcp_request(sk);
	KUNIT_EXPECT_EQ(test, fake_router.asked_info, 0);
	tcp_sk(sk)->srtt_us = U32_MAX;
	xcp_request(sk);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_xcp_rtt_us(fake_router.asked_info), 33521664);
}

/* The pacing rate is one window per rtt; without pacing ACKs release the window. */
static void paces(struct kunit *test)
{
	struct sock *sk = open_heard(test);

	/* 64 segments in 80 ms */
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_rate, 800000);
	ack_says(sk, 8 * ONE_MORE);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_rate, 900000);
	sk->sk_max_pacing_rate = 5000;
	fake_ack(sk, 1);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_rate, 5000);
	sk->sk_max_pacing_rate = ~0UL;
	xcp_pacing = 0;
	ack_says(sk, ONE_MORE / 2);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 72);
	KUNIT_EXPECT_EQ(test, sk->sk_pacing_rate, ~0UL);
	xcp_pacing = 1;
	fake_ack_heard(sk, 1, 0);
	ack_says(sk, 0);
	KUNIT_EXPECT_EQ(test, cwnd_of(sk), 73);
}

static struct kunit_case xcp_cases[] = {
	KUNIT_CASE(gap),
	KUNIT_CASE(window),
	KUNIT_CASE(window_is_bounded),
	KUNIT_CASE(reaches_400_gbps),
	KUNIT_CASE(starts_as_reno),
	KUNIT_CASE(feedback_begins),
	KUNIT_CASE(adds_what_links_say),
	KUNIT_CASE(adds_what_is_used),
	KUNIT_CASE(loss_halves),
	KUNIT_CASE(disorder),
	KUNIT_CASE(timeout),
	KUNIT_CASE(undo),
	KUNIT_CASE(links_cease),
	KUNIT_CASE(idle),
	KUNIT_CASE(mtu_changes),
	KUNIT_CASE(doubts_a_word),
	KUNIT_CASE(path_becomes_longer),
	KUNIT_CASE(queue_is_no_longer_path),
	KUNIT_CASE(late_acks),
	KUNIT_CASE(heavy_loss),
	KUNIT_CASE(says_rtt_and_gap),
	KUNIT_CASE(paces),
	{}
};

static struct kunit_suite xcp_suite = {
	.name = "tcp_xcp",
	.test_cases = xcp_cases,
};

kunit_test_suite(xcp_suite);
