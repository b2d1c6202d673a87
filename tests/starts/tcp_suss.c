// SPDX-License-Identifier: GPL-2.0
/*
 * SUSS: the window grows by a factor of four per round trip, as long as HyStart would not stop slow
 * start in the next round trip.
 *
 *   M. Arghavani, H. Zhang, D. Eyers, A. Arghavani, "SUSS: Improving TCP Performance by Speeding
 *   Up Slow-Start", ACM SIGCOMM 2024, sections 3 and 4
 *
 * Round 1 sends the initial window.  In round i the ACKs of the blue segments (those that ACKs
 * clocked in the previous round) release twice as many segments.  At the end of this train of ACKs,
 * red segments are added, until the window is four times the previous one.  The red segments are
 * paced over the rest of the round trip, 1 - 2^(1-i) of it, after a guard interval: half of the
 * time that the blue train did not use of its own part.  ACKs of red segments do not release
 * segments.  The segments that the last blue ACK releases are paced together with the red ones.
 *
 * In round 2 this is done if the rtt is more than 10 ms and the train takes less than a quarter of
 * the rtt.  In later rounds it is done while both conditions of HyStart will hold in the next
 * round:
 *   1. the length of the whole train, which grew from d' to d, will be d^2 / d' <= rtt_min;
 *   2. the least rtt of a round, which grew in k rounds, will be <= 9/8 rtt_min in round k + 1.
 *
 * HyStart (S. Ha, I. Rhee, "Taming the Elephants", 2011), with the kernel's constants, ends the
 * start.  Only the blue part of a train is a measurement.  The length of the whole train is
 * estimated as the length of the blue train times the window over the blue segments.
 */
#include "starts.h"

#define SUSS_LEAST_RTT_US	10000
#define SUSS_ROUNDS		20	/* the largest shift */

/* HyStart, as in tcp_cubic.c: segments; us between two ACKs of a train; samples per round; us */
#define SUSS_LOW_WINDOW		16
#define SUSS_TRAIN_GAP_US	2000
#define SUSS_SAMPLES		8
#define SUSS_LEAST_RISE_US	4000U
#define SUSS_MOST_RISE_US	16000U

/**
 * struct suss - per-socket state
 * @after: state after the start
 * @rtt_min_us: the least rtt, us
 * @round_rtt_us: the least rtt of this round, us
 * @round_us: start of this round, us
 * @last_us: time of the last ACK of the train of this round, us
 * @round_end: snd_nxt at the start of this round
 * @blue_end: sequence number at the end of the blue segments of this round
 * @next_blue_end: the same for the next round
 * @window: the window at the start of this round, segments
 * @blue_all: number of blue segments in @window
 * @blue: number of blue segments that are acknowledged
 * @train_us: length of the whole train of the previous round, us
 * @round: number of this round, from 1
 * @rtt_min_round: number of the round in which the least rtt was measured
 * @samples: number of rtt samples in this round
 * @in_blue: the ACKs of blue segments are arriving
 * @fast: all rounds so far have met the conditions
 * @fours: at least one round has met the conditions
 */
struct suss {
	struct starts	after;
	u32		rtt_min_us;
	u32		round_rtt_us;
	u32		round_us;
	u32		last_us;
	u32		round_end;
	u32		blue_end;
	u32		next_blue_end;
	u32		window;
	u32		blue_all;
	u32		blue;
	u32		train_us;
	u8		round;
	u8		rtt_min_round;
	u8		samples;
	bool		in_blue;
	bool		fast;
	bool		fours;
};

/* Scales @of_blue, a time or a number of the blue segments, to the whole window. */
static u64 suss_whole(const struct suss *s, u32 of_blue)
{
	return div_u64((u64)of_blue * s->window, max(s->blue_all, 1U));
}

/**
 * suss_four() - whether HyStart will let slow start go on in the next round after a factor of four
 * @s: the flow
 * @blue_us: length of the blue train of this round, us
 * @whole_us: estimated length of the train of the whole window, us
 */
static bool suss_four(const struct suss *s, u32 blue_us, u32 whole_us)
{
	u32 k = s->round - s->rtt_min_round;

	if (s->round == 2)
		return s->rtt_min_us > SUSS_LEAST_RTT_US && blue_us < s->rtt_min_us / 4;
	if ((u64)whole_us * whole_us > (u64)s->rtt_min_us * max(s->train_us, 1U))
		return false;
	return (u64)(k + 1) * (s->round_rtt_us - s->rtt_min_us) <= (u64)k * (s->rtt_min_us >> 3);
}

/* At the end of the blue train: decides whether red segments follow, and starts them. */
static void suss_red(struct sock *sk, u32 now_us, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct suss *s = inet_csk_ca(sk);
	u32 left_us = s->rtt_min_us >> (s->round - 1), blue_us, whole_us, window = 4 * s->window;
	u32 clocked = 2 * s->blue - (tcp_snd_cwnd(tp) - tcp_packets_in_flight(tp));

	/* the time begins with the first ACK, so the time of its segments is missing */
	blue_us = div_u64((u64)(now_us - s->round_us) * s->blue, max(s->blue - acked, 1U));
	whole_us = suss_whole(s, blue_us);
	s->fast = s->fast && s->round < SUSS_ROUNDS && blue_us < left_us &&
		  window > clocked && suss_four(s, blue_us, whole_us);
	s->train_us = whole_us;
	if (!s->fast)
		return;
	s->fours = true;
	tcp_snd_cwnd_set(tp, window);
	starts_pace(sk, starts_rate(sk, window - clocked, s->rtt_min_us - left_us));
	tp->tcp_wstamp_ns = max(tp->tcp_wstamp_ns, tp->tcp_clock_cache) +
			    (left_us - blue_us) / 2 * NSEC_PER_USEC;
}

static void suss_hystart(struct sock *sk, u32 now_us, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct suss *s = inet_csk_ca(sk);
	u32 rise_us = clamp(s->rtt_min_us >> 3, SUSS_LEAST_RISE_US, SUSS_MOST_RISE_US);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (cwnd < SUSS_LOW_WINDOW)
		return;
	if (s->in_blue && now_us - s->last_us <= SUSS_TRAIN_GAP_US) {
		s->last_us = now_us;
		if (suss_whole(s, now_us - s->round_us) > s->rtt_min_us / 2) {
			/* the window to which the ACKs of a whole train would have led */
			s->fast = false;
			tp->snd_ssthresh = cwnd + suss_whole(s, s->blue) - s->blue;
		}
	}
	if (rtt_us && s->samples < SUSS_SAMPLES)
		s->samples++;
	else if (rtt_us && s->round_rtt_us > s->rtt_min_us + rise_us)
		starts_leave(sk, s->fours ? min(cwnd, tcp_packets_in_flight(tp) + 1) : cwnd);
}

tcpcc_cong_control(suss_control)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct suss *s = inet_csk_ca(sk);
	u32 now_us = tp->tcp_mstamp, acked = max(rs->acked_sacked, 0), rtt_us = max(rs->rtt_us, 0L);
	bool tail;

	if (starts_after(sk, rs)) {
		starts_pace(sk, ~0ULL);
		return;
	}
	if (after(tp->snd_una, s->round_end)) {
		s->round = min(s->round + 1, U8_MAX);
		s->round_us = now_us;
		s->last_us = now_us;
		s->blue_end = s->round == 2 ? tp->snd_nxt : s->next_blue_end;
		s->blue_all = (s->blue_end - s->round_end) / tp->mss_cache;
		s->round_end = tp->snd_nxt;
		s->window = tcp_snd_cwnd(tp);
		s->round_rtt_us = U32_MAX;
		s->samples = 0;
		s->blue = 0;
		s->in_blue = true;
		starts_pace(sk, ~0ULL);
	}
	if (rtt_us) {
		s->round_rtt_us = min(s->round_rtt_us, rtt_us);
		if (rtt_us < s->rtt_min_us) {
			s->rtt_min_us = rtt_us;
			s->rtt_min_round = s->round;
		}
	}
	/* the window already includes what ACKs of red segments would release */
	if ((s->in_blue || !s->fast) && tcp_is_cwnd_limited(sk))
		tcp_slow_start(tp, acked);
	tail = s->in_blue && !before(tp->snd_una, s->blue_end);
	if (s->in_blue)
		s->blue += acked;
	if (s->rtt_min_us != U32_MAX && tcp_in_slow_start(tp))
		suss_hystart(sk, now_us, rtt_us);
	if (!tail)
		return;
	s->in_blue = false;
	s->next_blue_end = tp->snd_nxt;
	if (s->rtt_min_us != U32_MAX && tcp_in_slow_start(tp))
		suss_red(sk, now_us, acked);
}

static void suss_init(struct sock *sk)
{
	struct suss *s = inet_csk_ca(sk);

	memset(s, 0, sizeof(*s));
	s->rtt_min_us = U32_MAX;
	s->round_end = tcp_sk(sk)->snd_una;
	s->round = 1;
	s->fast = true;
	starts_pace(sk, ~0ULL);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

STARTS_MODULE(suss, "SUSS: a factor of four while HyStart will not stop slow start");
