// SPDX-License-Identifier: GPL-2.0
/*
 * Rapid Start: a factor of three in a round trip until there is a queue.
 *
 *   K. Oku, M. Welzl, "Rapid Startup of Congestion Control", draft-kazuho-ccwg-rapid-start,
 *   section 3 (Algorithm)
 *
 * The initial window, twice the usual one, is paced over a round trip; but Linux paces none of a
 * connection's first ten segments.  Each segment acknowledged adds two to the window while the
 * least rtt of the round is at most min(rtt_min + 4 ms, 1.1 rtt_min), and one beyond.  At the first
 * loss or mark the window becomes 9/10 at once, and until that is repaired each segment that is
 * acknowledged takes 1/5 of one, and each lost 9/10: what is left is 0.7 (CUBIC's) of what came
 * through in that round trip, and 0.7/3 of the window at least.
 *
 * The draft leaves the rate of later rounds open.  Here it is the kernel's own for slow start, two
 * windows in a round trip: at one window the factor would be 2.3, not 3.
 */
#include "starts.h"

#define RAPID_LEAST_RISE_US	4000

/* What is taken of the window, tenths of a segment: K = 2/3, beta = 0.7 */
#define RAPID_ACKED	2
#define RAPID_LOST	9

enum rapid_phase {
	RAPID_START,
	RAPID_RECOVERY,		/* the first, of what the start has lost */
	RAPID_AFTER,
};

/**
 * struct rapid - per-socket state
 * @after: what follows the start
 * @round_end: tp->delivered when what is under way has arrived
 * @round_rtt_us: least rtt of this round, us
 * @least: window that recovery leaves at least, segments
 * @taken: of the window, tenths of a segment that are not a whole one
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

/* What a segment acknowledged adds, segments, with these least rtts of the round and of all */
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
	/* the initial window over a whole round trip */
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
		/* twice what the path holds, since CUBIC's fast convergence is on */
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
