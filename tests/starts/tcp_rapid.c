// SPDX-License-Identifier: GPL-2.0
/*
 * Rapid Start: the window grows by a factor of three per round trip until there is a queue.
 *
 *   K. Oku, M. Welzl, "Rapid Startup of Congestion Control", draft-kazuho-ccwg-rapid-start,
 *   section 3 (Algorithm)
 *
 * The initial window is twice the usual one, and is paced over a round trip; but Linux does not
 * pace the first ten segments of a connection.  Each acknowledged segment adds two segments to the
 * window while the least rtt of the round is at most min(rtt_min + 4 ms, 1.1 rtt_min), otherwise
 * one.  At the first loss or mark the window is reduced to 9/10 at once.  During this recovery each
 * acknowledged segment reduces the window by 1/5 of a segment, and each lost segment by 9/10.  The
 * result is 0.7 (as in CUBIC) of the segments delivered in that round trip, and at least 0.7/3 of
 * the window.
 *
 * The draft does not specify the pacing rate of later rounds.  Here it is the kernel's rate for
 * slow start, two windows per round trip.  With one window the factor would be 2.3, not 3.
 */
#include "starts.h"

#define RAPID_LEAST_RISE_US	4000

/* Reduction of the window per segment, tenths of a segment: K = 2/3, beta = 0.7 */
#define RAPID_ACKED	2
#define RAPID_LOST	9

enum rapid_phase {
	RAPID_START,
	RAPID_RECOVERY,		/* the first recovery, of the losses of the start */
	RAPID_AFTER,
};

/**
 * struct rapid - per-socket state
 * @after: state after the start
 * @round_end: tp->delivered at the end of this round, when all segments in flight have arrived
 * @round_rtt_us: least rtt of this round, us
 * @least: the least window after the first recovery, segments
 * @taken: part of the reduction that is not a whole segment yet, tenths of a segment
 * @phase: enum rapid_phase
 */
struct rapid {
	struct starts	after;
	u32		round_end;
	u32		round_rtt_us;
	u32		least;
	u32		taken;
	enum rapid_phase phase;
};

/* Growth per acknowledged segment, segments.  Arguments: the least rtt of the round and of all */
static u32 rapid_growth(u32 round_rtt_us, u32 rtt_min_us)
{
	return round_rtt_us <= rtt_min_us + min(RAPID_LEAST_RISE_US, rtt_min_us / 10) ? 2 : 1;
}

static void rapid_grow(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct rapid *r = inet_csk_ca(sk);

	if ((s32)(tp->delivered - r->round_end) > 0) {
		r->round_end = tp->delivered + tcp_packets_in_flight(tp);
		r->round_rtt_us = U32_MAX;
	}
	if (rs->rtt_us > 0)
		r->round_rtt_us = min_t(u32, r->round_rtt_us, rs->rtt_us);
	if (rs->acked_sacked > 0 && tcp_is_cwnd_limited(sk))
		tcp_snd_cwnd_set(tp, tcp_snd_cwnd(tp) + rs->acked_sacked *
				 rapid_growth(r->round_rtt_us, tcp_min_rtt(tp)));
	/* two windows per round trip; rapid_init() paces the initial window at half of this */
	starts_pace(sk, starts_rate(sk, tcp_snd_cwnd(tp), tp->srtt_us >> 4));
}

static void rapid_recover(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct rapid *r = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp), less;

	r->taken += rs->acked_sacked * RAPID_ACKED + rs->losses * RAPID_LOST;
	less = min(r->taken / 10, cwnd - min(cwnd, r->least));
	r->taken %= 10;
	tcp_snd_cwnd_set(tp, cwnd - less);
}

tcpcc_cong_control(rapid_control)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct rapid *r = inet_csk_ca(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	bool reduced = state == TCP_CA_Recovery || state == TCP_CA_CWR;
	u32 cwnd = tcp_snd_cwnd(tp);

	if (r->phase == RAPID_START && !reduced && state != TCP_CA_Loss) {
		rapid_grow(sk, rs);
		return;
	}
	starts_pace(sk, ~0ULL);
	if (r->phase == RAPID_START && reduced) {
		r->phase = RAPID_RECOVERY;
		r->least = max(cwnd * 7 / 30, 2U);
		tcp_snd_cwnd_set(tp, max(cwnd - cwnd / 10, r->least));
	}
	if (r->phase == RAPID_RECOVERY && reduced) {
		rapid_recover(sk, rs);
		return;
	}
	if (r->phase == RAPID_RECOVERY && state != TCP_CA_Loss) {
		starts_leave(sk, cwnd);
		/* twice the capacity of the path, because CUBIC's fast convergence is on */
		r->after.w_max = cwnd * 20 / 7;
	}
	r->phase = RAPID_AFTER;
	if (!starts_after(sk, rs) && rs->acked_sacked > 0 && tcp_is_cwnd_limited(sk))
		tcp_slow_start(tp, rs->acked_sacked);
}

static void rapid_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct rapid *r = inet_csk_ca(sk);

	memset(r, 0, sizeof(*r));
	r->round_rtt_us = U32_MAX;
	if (!tp->packets_out)
		tcp_snd_cwnd_set(tp, 2 * TCP_INIT_CWND);
	starts_pace(sk, tp->srtt_us ? starts_rate(sk, tcp_snd_cwnd(tp), tp->srtt_us >> 3) : ~0ULL);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

STARTS_MODULE(rapid, "Rapid Start: a factor of three until there is a queue");
