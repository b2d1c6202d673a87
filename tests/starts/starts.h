/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common part of the start algorithms that are compared here: everything after the start.
 *
 * After the start the window follows CUBIC (RFC 9438), with the kernel's addition that before the
 * first loss the window grows by at least a twentieth per round trip.  So a column of a table
 * differs from the kernel's CUBIC only by its start.  In recovery the window follows proportional
 * rate reduction (RFC 6937).
 *
 * All of them set .cong_control, because a start that paces must set the pacing rate itself.
 */
#ifndef _STARTS_H
#define _STARTS_H

#include <linux/module.h>
#include <net/tcp.h>

#include "tcpcc_compat.h"

/* (ms)^3 per segment with CUBIC's C = 0.4: 1000^3 / 0.4 */
#define STARTS_CUBE	2500000000U

/* The largest time from K that counts, ms: its cube, 2^54, fits 64 bits */
#define STARTS_MOST_MS	BIT(18)

/**
 * struct starts - state after the start; the first member of the state of each algorithm
 * @w_max: window before the last reduction, segments; 0: there was none
 * @origin: window at K, segments
 * @epoch_ms: start of this growth, ms; 0: it has not started
 * @k_ms: K, the time from @epoch_ms until the window reaches @origin, ms
 * @w_est: the window that Reno would have at this time, segments
 * @w_est_acked: segments acknowledged towards the next segment of @w_est
 * @reduced: the window was reduced, and recovery has not ended yet
 */
struct starts {
	u32	w_max;
	u32	origin;
	u32	epoch_ms;
	u32	k_ms;
	u32	w_est;
	u32	w_est_acked:31,
		reduced:1;
};

/* The integer cube root, at most STARTS_MOST_MS */
static inline u32 starts_cbrt(u64 v)
{
	u64 root = 0, bit;

	for (bit = STARTS_MOST_MS; bit; bit >>= 1)
		if ((root | bit) * (root | bit) * (root | bit) <= v)
			root |= bit;
	return root;
}

/* Congestion avoidance, on an ACK of @acked segments: W(t) = 0.4 (t - K)^3 + W_max */
static inline void starts_avoid(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct starts *s = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp), now_ms = div_u64(tp->tcp_mstamp, USEC_PER_MSEC), cnt;
	s64 off_ms, target;

	if (!s->epoch_ms) {
		s->epoch_ms = now_ms ?: 1;
		s->origin = max(s->w_max, cwnd);
		s->k_ms = starts_cbrt((u64)(s->origin - cwnd) * STARTS_CUBE);
		s->w_est = cwnd;
		s->w_est_acked = 0;
	}
	off_ms = (s64)(now_ms - s->epoch_ms) + (tp->srtt_us >> 3) / USEC_PER_MSEC - s->k_ms;
	off_ms = clamp_t(s64, off_ms, -(s64)STARTS_MOST_MS, STARTS_MOST_MS);
	target = s->origin + div_s64(off_ms * off_ms * off_ms / 2, STARTS_CUBE / 2);
	cnt = target > cwnd ? cwnd / (u32)min_t(s64, target - cwnd, cwnd) : 100 * cwnd;
	if (!s->w_max)
		cnt = min(cnt, 20U);

	/* 3 (1 - 0.7) / (1 + 0.7) = 9/17 of a segment per round trip is as fast as Reno */
	s->w_est_acked += acked;
	if (s->w_est_acked * 9ULL >= s->w_est * 17ULL) {
		s->w_est_acked = 0;
		s->w_est++;
	}
	if (s->w_est > cwnd)
		cnt = min(cnt, cwnd / min(s->w_est - cwnd, cwnd));
	tcp_cong_avoid_ai(tp, max(cnt, 2U), acked);
}

/*
 * Handles an ACK in every state except slow start.
 *
 * Return: true if the ACK was handled; false if the flow is in slow start, and the caller must let
 * the window grow
 */
static inline bool starts_after(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct starts *s = inet_csk_ca(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	u32 in_flight = tcp_packets_in_flight(tp), ssthresh = tp->snd_ssthresh;
	s32 send;

	if (state == TCP_CA_Recovery || state == TCP_CA_CWR) {
		s->reduced = 1;
		tp->prr_delivered += rs->acked_sacked;
		if (in_flight > ssthresh)
			send = DIV_ROUND_UP_ULL((u64)ssthresh * tp->prr_delivered,
						max(tp->prior_cwnd, 1U)) - tp->prr_out;
		else
			send = min_t(s32, ssthresh - in_flight,
				     max_t(s32, tp->prr_delivered - tp->prr_out,
					   rs->acked_sacked) + !rs->losses);
		tcp_snd_cwnd_set(tp, in_flight + max(send, tp->prr_out ? 0 : 1));
		return true;
	}
	if (s->reduced && ssthresh < TCP_INFINITE_SSTHRESH && state != TCP_CA_Loss)
		tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), ssthresh));
	s->reduced = 0;
	if (tcp_in_slow_start(tp))
		return false;
	if (rs->acked_sacked > 0 && tcp_is_cwnd_limited(sk))
		starts_avoid(sk, rs->acked_sacked);
	return true;
}

/* Sets w_max to the window at the loss, or less if it has fallen (fast convergence) */
static inline u32 starts_ssthresh(struct sock *sk)
{
	struct starts *s = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	s->epoch_ms = 0;
	s->w_max = cwnd < s->w_max ? cwnd - cwnd * 3 / 20 : cwnd;
	return max(cwnd - cwnd * 3 / 10, 2U);
}

/* Ends the start with this window. */
static inline void starts_leave(struct sock *sk, u32 cwnd)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, cwnd);
	tp->snd_ssthresh = cwnd;
}

/* bytes/s at which @segs segments leave in @us */
static inline u64 starts_rate(const struct sock *sk, u32 segs, u32 us)
{
	return div_u64((u64)segs * tcp_sk(sk)->mss_cache * USEC_PER_SEC, max(us, 1U));
}

static inline void starts_pace(struct sock *sk, u64 rate)
{
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/* Defines a module with a congestion control @_name, whose state is struct @_name */
#define STARTS_MODULE(_name, _what)						\
static struct tcp_congestion_ops _name##_ops __read_mostly = {			\
	.name		= #_name,						\
	.owner		= THIS_MODULE,						\
	.init		= _name##_init,						\
	.cong_control	= _name##_control,					\
	.ssthresh	= starts_ssthresh,					\
	.undo_cwnd	= tcp_reno_undo_cwnd,					\
};										\
										\
static int __init _name##_register(void)					\
{										\
	BUILD_BUG_ON(sizeof(struct _name) > ICSK_CA_PRIV_SIZE);			\
	BUILD_BUG_ON(offsetof(struct _name, after));				\
	return tcp_register_congestion_control(&_name##_ops);			\
}										\
										\
static void __exit _name##_unregister(void)					\
{										\
	tcp_unregister_congestion_control(&_name##_ops);			\
}										\
										\
module_init(_name##_register);							\
module_exit(_name##_unregister);						\
MODULE_LICENSE("GPL");								\
MODULE_DESCRIPTION(_what)

#endif /* _STARTS_H */
