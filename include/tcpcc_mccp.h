/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two MCCP senders have in common: the state of a socket, its two modes, the
 * detection of bandwidth to spare, and what a loss, a mark and an undo change.
 *
 *               duplicate ACKs, ECN
 *   PROBING --------------------------> AVOIDANCE
 *     ^  ^                                |   |
 *     |  +---- NCD: counter > cwnd -------+   |
 *     +------- retransmission timeout --------+
 *
 * In congestion avoidance, non-congestion detection (NCD) looks at whether the estimate
 * keeps up with a growing window.  If for more than a window it was above
 *
 *   boundary = b * (cwnd - 1.5) + (1 - b) * (ssthresh when avoidance began)
 *
 * over rtt_min, fast probing begins again.
 *
 * Where the paper is ambiguous or says nothing:
 *   o NCD's braces, as printed, would begin fast probing only in an ACK that speaks against
 *     it, and forget all at each that does not.  Here the counter is compared at each ACK,
 *     and reset when avoidance begins.  It counts segments, not ACKs, because one ACK may
 *     stand for many.  The "initial 2 RTT" are those after recovery has ended, because the
 *     estimate follows the window by as much.
 *   o beta is used twice; for the boundary it is a value of its own.
 *   o A loss sets ssthresh to the estimate times rtt_min, at least 2 and at most the window:
 *     a larger one would let the window grow in recovery.  After a timeout TCP sets the
 *     window.
 *   o A mark of ECN is answered as a loss is, but the window after it is at most 0.85 of
 *     that before (RFC 8511).  TCP asks for ssthresh at most once a round trip.
 *   o If the loss was spurious (DSACK, Eifel, F-RTO), what it changed comes back.
 *   o Segments may get another size.  Rates stay the same in bytes then.
 *
 * The history of the estimate does not fit into the 104 bytes that a socket has for us.
 * It is allocated when a socket first sends, never for an ACK.  Without it the sender
 * is Reno.
 */
#ifndef _TCPCC_MCCP_H
#define _TCPCC_MCCP_H

#include <linux/slab.h>
#include <net/tcp.h>

#include "tcpcc_abe.h"
#include "tcpcc_compat.h"
#include "tcpcc_view.h"
#include "trace_mccp.h"

#define MCCP_CWND_MIN	2U

/* What is left of the window after a mark, 1/256: 0.85 (RFC 8511) */
#define MCCP_MARK	217U

/* In avoidance NCD waits so many round trips (the paper) */
#define MCCP_WAIT	2

/* Segments that an ACK may stand for, so that a sum of two is no overflow */
#define MCCP_ACKED_MAX	(U32_MAX / 2)

enum mccp_mode {
	MCCP_PROBING,		/* fast probing */
	MCCP_AVOIDANCE,		/* congestion avoidance, and NCD */
};

/**
 * struct mccp - the state of a socket; what an ACK reads is in one cache line
 * @history: of the estimate; NULL: nothing was sent yet, or there was no memory
 * @abe: the estimate
 * @rtt_min_us: least round-trip time, us; U32_MAX: none yet
 * @delivered: tp->delivered at the last ACK, segments; wraps
 * @round_end: tp->snd_nxt when this round trip began
 * @moment_us: when the last moment of the estimate was; wraps
 * @next_us: how long after it the next one may be, us
 * @entry: ssthresh when avoidance began, segments
 * @counter: of NCD, segments
 * @mss: tp->mss_cache at the last ACK, bytes
 * @mode: enum mccp_mode
 * @wait: round trips before NCD begins
 * @marked: the last ACK had ECE
 * @bubble: what was sent while the window was not in use is still being acknowledged
 * @restart: the next ACK is where time begins anew for the estimate
 * @undone: a loss was spurious; TCP has not left its state yet
 * @was_mode: @mode before a loss
 * @was_wait: @wait before a loss
 * @was_entry: @entry before a loss
 * @was_counter: @counter before a loss
 * @bubble_end: with @bubble, tp->snd_nxt when the window was last not in use
 * @was_rate: the estimate before a loss, ABE_RATE; 0: not changed
 */
struct mccp {
	struct abe_history *history;
	struct abe abe;
	u32	rtt_min_us;
	u32	delivered;
	u32	round_end;
	u32	moment_us;
	u32	next_us;
	u32	entry;
	u32	counter;
	u32	mss;
	u8	mode;
	u8	wait;
	u8	marked;
	u8	bubble:1,
		restart:1,
		undone:1,
		was_mode:1,
		was_wait:2;
	u32	bubble_end;
	u32	was_entry;
	u32	was_counter;
	u64	was_rate;
};

/* ------------------------------------------------------------------------- */
/* Non-congestion detection, and the answer to a mark                        */

/**
 * mccp_is_spare() - whether the path seems to have bandwidth to spare
 * @pipe: estimate * rtt_min, segments
 * @cwnd: segments
 * @entry: ssthresh when avoidance began, segments
 * @boundary: weight of the expected rate, percent
 *
 * Return: whether the estimate is above the congestion boundary, all times rtt_min
 */
static inline bool mccp_is_spare(u32 pipe, u32 cwnd, u32 entry, u32 boundary)
{
	/* in 1/200 segment: 1.5 are 3 halves */
	return 200LL * pipe > boundary * (2LL * cwnd - 3) + (100 - boundary) * 2LL * entry;
}

/**
 * mccp_count() - the counter of NCD
 * @counter: before, segments
 * @acked: segments that an ACK acknowledges
 * @spare: of mccp_is_spare()
 *
 * Return: after
 */
static inline u32 mccp_count(u32 counter, u32 acked, bool spare)
{
	if (spare)
		return min(counter, MCCP_ACKED_MAX) + min(acked, MCCP_ACKED_MAX);
	return counter - min(counter, acked);
}

/**
 * mccp_after_mark() - the most that a mark leaves of a window
 * @cwnd: segments
 *
 * Return: segments
 */
static inline u32 mccp_after_mark(u32 cwnd)
{
	return ((u64)cwnd * MCCP_MARK) >> 8;
}

/* ------------------------------------------------------------------------- */
/* The socket                                                                */

/* Smoothed, us */
static inline u32 mccp_rtt_us(const struct tcp_sock *tp)
{
	return min(tp->srtt_us >> 3, ABE_TIME_CAP);
}

/* 0 without an estimate; where there is one there is rtt_min. */
static inline u32 mccp_pipe(const struct mccp *ca)
{
	return abe_pipe(ca->abe.rate, ca->rtt_min_us);
}

static inline void mccp_enter(struct sock *sk, enum mccp_mode mode)
{
	struct mccp *ca = inet_csk_ca(sk);

	ca->mode = mode;
	ca->counter = 0;
	ca->wait = MCCP_WAIT;
	ca->round_end = tcp_sk(sk)->snd_nxt;
	ca->entry = tcp_sk(sk)->snd_ssthresh;
}

/* Whether an ACK begins a round trip, or segments have another size: most do not */
static inline bool mccp_is_new(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct mccp *ca = inet_csk_ca(sk);

	return unlikely(!before(tp->snd_una, ca->round_end)) ||
	       unlikely(tp->mss_cache != ca->mss);
}

/**
 * mccp_round() - whether an ACK begins a round trip
 * @sk: the socket
 *
 * Return: whether it does
 */
static inline bool mccp_round(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);

	if (before(tp->snd_una, ca->round_end))
		return false;
	ca->round_end = tp->snd_nxt;
	if (ca->wait)
		ca->wait--;
	return true;
}

/**
 * mccp_new_mss() - segments may have another size than at the last ACK
 * @sk: the socket
 *
 * The kernel does the same for the window after a probe of the MTU.
 *
 * Return: whether they have
 */
static inline bool mccp_new_mss(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);
	u32 was = clamp_t(u32, ca->mss, 1, U16_MAX), is = clamp_t(u32, tp->mss_cache, 1, U16_MAX);

	ca->mss = tp->mss_cache;
	if (was == is)
		return false;
	if (ca->history) {
		abe_rescale(ca->history, &ca->abe, tp->tcp_mstamp, tp->delivered, was, is);
		ca->moment_us = tp->tcp_mstamp;
	}
	ca->entry = min_t(u64, div_u64((u64)ca->entry * was, is), TCP_INFINITE_SSTHRESH);
	ca->counter = 0;
	ca->was_rate = 0;
	return true;
}

/* For those who watch: what a moment came to */
static noinline void mccp_trace(const struct sock *sk, const struct abe_step *step)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct mccp *ca = inet_csk_ca(sk);

	trace_mccp_update(sk, ca->mode, abe_bytes_ps(ca->abe.rate, tp->mss_cache),
			  abe_bytes_ps(ca->abe.sample, tp->mss_cache), step->t_us, step->dt_us,
			  step->unstable >> (ABE_SHARE - 16), step->weight >> (ABE_SHARE - 16),
			  mccp_rtt_us(tp), ca->rtt_min_us, ca->counter);
}

/**
 * mccp_estimate() - an ACK enters the estimate
 * @sk: the socket, of which mccp_is_due()
 * @rules: what the paper leaves open
 */
static inline void mccp_estimate(struct sock *sk, const struct abe_rules *rules)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);
	struct abe_history *history = ca->history;
	const struct abe_ack ack = {
		.us = tp->tcp_mstamp,
		.delivered = tp->delivered,
		.rtt_us = mccp_rtt_us(tp),
		.rtt_min_us = ca->rtt_min_us,
		.cwnd = tcp_snd_cwnd(tp),
		.limited = !ca->bubble,
	};
	struct abe_step step;

	if (!history || !tp->srtt_us || ack.rtt_min_us == U32_MAX)
		return;
	ca->moment_us = ack.us;
	if (unlikely(ca->restart)) {
		ca->restart = false;
		abe_restart(history, ack.us, ack.delivered);
	} else if (abe_take(history, &ca->abe, rules, &ack, &step)) {
		ca->next_us = history->next_us;
		if (trace_mccp_update_enabled())
			mccp_trace(sk, &step);
	}
}

/**
 * mccp_measured() - what an ACK says of the path, before the estimate
 * @sk: the socket
 * @rtt_us: round-trip time that the ACK shows, us; 0 or less: none
 *
 * Return: segments that it delivers
 */
static inline u32 mccp_measured(struct sock *sk, s32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);
	u32 acked = tp->delivered - ca->delivered;

	ca->delivered = tp->delivered;
	if (unlikely((u32)rtt_us < ca->rtt_min_us) && rtt_us > 0)
		ca->rtt_min_us = min((u32)rtt_us, ABE_TIME_CAP);
	if (!tcp_is_cwnd_limited(sk)) {
		ca->bubble = true;
		ca->bubble_end = tp->snd_nxt;
	} else if (unlikely(ca->bubble) && !before(tp->snd_una, ca->bubble_end)) {
		ca->bubble = false;
		ca->restart = true;
	}
	return acked;
}

/**
 * mccp_is_due() - whether an ACK enters the estimate
 * @sk: the socket
 *
 * Most do not.  It shows in what the socket has, without the history.
 *
 * Return: whether it does
 */
static inline bool mccp_is_due(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct mccp *ca = inet_csk_ca(sk);
	u32 since_us = (u32)tp->tcp_mstamp - ca->moment_us;

	if (ca->bubble || ca->restart)
		return ca->restart || abe_is_due(since_us, 0, mccp_rtt_us(tp), false);
	return abe_is_due(since_us, ca->next_us, mccp_rtt_us(tp), true);
}

/**
 * mccp_detect() - NCD: an ACK speaks for or against bandwidth to spare
 * @sk: the socket
 * @acked: segments that the ACK acknowledges
 * @boundary: weight of the expected rate, percent
 */
static inline void mccp_detect(struct sock *sk, u32 acked, u32 boundary)
{
	struct mccp *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (ca->mode != MCCP_AVOIDANCE || ca->wait)
		return;
	ca->counter = mccp_count(ca->counter, acked,
				 mccp_is_spare(mccp_pipe(ca), cwnd, ca->entry, boundary));
	if (ca->counter > cwnd)
		mccp_enter(sk, MCCP_PROBING);
}

/**
 * mccp_raise() - fast probing: ssthresh follows the estimate upward, and never downward
 * @sk: the socket
 * @pipe: what the path holds, segments
 */
static inline void mccp_raise(struct sock *sk, u32 pipe)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (pipe > tp->snd_ssthresh)
		WRITE_ONCE(tp->snd_ssthresh, pipe);
}

/**
 * mccp_keep() - before a loss or a mark changes anything
 * @sk: the socket
 */
static inline void mccp_keep(struct sock *sk)
{
	struct mccp *ca = inet_csk_ca(sk);

	ca->was_rate = 0;
	ca->was_entry = ca->entry;
	ca->was_counter = ca->counter;
	ca->was_mode = ca->mode;
	ca->was_wait = ca->wait;
}

/**
 * mccp_reduced() - the window after a loss or a mark
 * @sk: the socket
 *
 * Return: segments
 */
static inline u32 mccp_reduced(struct sock *sk)
{
	const struct mccp *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (!ca->abe.rate)
		return tcp_reno_ssthresh(sk);
	if (ca->marked)
		cwnd = mccp_after_mark(cwnd);
	return max(min(mccp_pipe(ca), cwnd), MCCP_CWND_MIN);
}

/* .set_state */
static inline void mccp_set_state(struct sock *sk, u8 state)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	struct mccp *ca = inet_csk_ca(sk);
	bool reduced = icsk->icsk_ca_state == TCP_CA_Recovery ||
		       icsk->icsk_ca_state == TCP_CA_CWR;
	bool undone = ca->undone;

	ca->undone = false;
	if (state == TCP_CA_Loss) {
		/* the silence before it takes the estimate down, with the first ACK after it */
		if (!ca->was_rate)
			ca->was_rate = ca->abe.rate;
		mccp_enter(sk, MCCP_PROBING);
	} else if (state == TCP_CA_Recovery || state == TCP_CA_CWR ||
		   (reduced && ca->mode == MCCP_AVOIDANCE && !undone)) {
		/* once more when it is over: NCD waits from then on */
		mccp_enter(sk, MCCP_AVOIDANCE);
	}
}

/* .undo_cwnd.  TCP itself takes ssthresh back to prior_ssthresh. */
static inline u32 mccp_undo_cwnd(struct sock *sk)
{
	struct mccp *ca = inet_csk_ca(sk);

	ca->mode = ca->was_mode;
	ca->entry = ca->was_entry;
	ca->counter = ca->was_counter;
	ca->wait = ca->was_wait;
	if (ca->was_rate)
		ca->abe.rate = ca->was_rate;
	ca->undone = true;
	return tcp_reno_undo_cwnd(sk);
}

/* .in_ack_event, which comes before .ssthresh: how TCP calls that does not say why */
static inline void mccp_in_ack_event(struct sock *sk, u32 flags)
{
	struct mccp *ca = inet_csk_ca(sk);

	ca->marked = flags & CA_ACK_ECE;
}

/**
 * mccp_begin() - there are data to be sent: allocates the history
 * @sk: the socket
 * @ssthresh: initial ssthresh where TCP has none, segments; 0: none
 */
static inline void mccp_begin(struct sock *sk, u32 ssthresh)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);

	ca->history = kzalloc(sizeof(*ca->history), GFP_ATOMIC | __GFP_NOWARN);
	if (!ca->history)
		return;
	ca->restart = true;
	if (ssthresh && tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH)
		WRITE_ONCE(tp->snd_ssthresh, max(ssthresh, tcp_snd_cwnd(tp)));
}

/**
 * mccp_tx_start() - sending begins after an idle time, or a timeout
 * @sk: the socket; TCP may not have called .init for it yet (data with a SYN)
 * @ssthresh: as of mccp_begin()
 */
static inline void mccp_tx_start(struct sock *sk, u32 ssthresh)
{
	struct mccp *ca = inet_csk_ca(sk);

	if (!inet_csk(sk)->icsk_ca_initialized)
		return;
	/* after a timeout there are packets: they were in flight, and nothing came of them */
	if (!tcp_sk(sk)->packets_out)
		ca->restart = true;
	if (!ca->history)
		mccp_begin(sk, ssthresh);
}

/**
 * mccp_init_socket() - for .init
 * @sk: the socket
 * @ssthresh: as of mccp_begin()
 */
static inline void mccp_init_socket(struct sock *sk, u32 ssthresh)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);

	*ca = (struct mccp){
		.rtt_min_us = U32_MAX,
		.round_end = tp->snd_nxt,
		.delivered = tp->delivered,
		.mss = tp->mss_cache,
	};
	/* a change of congestion control while data are in flight: there is no start to wait for */
	if (tp->packets_out)
		mccp_begin(sk, ssthresh);
}

/* .release.  6.1 calls it also for a socket that .init has never seen: all is zero then. */
static inline void mccp_release(struct sock *sk)
{
	struct mccp *ca = inet_csk_ca(sk);

	kfree(ca->history);
	ca->history = NULL;
}

/*
 * .get_info.  ss shows the estimate as bw and rtt_min as mrtt.  Nobody holds the socket, so
 * that the history must not be touched.
 */
static inline size_t mccp_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct mccp *ca = inet_csk_ca(sk);
	u32 mss = tcp_sk(sk)->mss_cache, rtt_min_us = ca->rtt_min_us;
	u64 bytes_ps = abe_bytes_ps(ca->abe.rate, mss);
	struct tcpcc_view *view;

	view = tcpcc_view_of(ext, info, ca->mode == MCCP_PROBING ? "probing" : "avoidance");
	if (view) {
		tcpcc_view_add(view, "abe_bps", 8 * bytes_ps);
		tcpcc_view_add(view, "sample_bps", 8 * abe_bytes_ps(ca->abe.sample, mss));
		tcpcc_view_add(view, "pipe_segs", mccp_pipe(ca));
		tcpcc_view_add(view, "counter_segs", ca->counter);
		tcpcc_view_add(view, "entry_segs", ca->entry);
		return 0;
	}
	return tcpcc_info_rate(ext, attr, info, bytes_ps,
			       rtt_min_us == U32_MAX ? 0 : rtt_min_us);
}

#endif /* _TCPCC_MCCP_H */
