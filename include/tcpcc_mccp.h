/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common code of the two MCCP senders: the state of a socket, its two modes, the detection of
 * spare bandwidth, and the reaction to a loss, a mark and an undo.
 *
 *               duplicate ACKs, ECN
 *   PROBING --------------------------> AVOIDANCE
 *     ^  ^                                |   |
 *     |  +---- NCD: counter > cwnd -------+   |
 *     +------- retransmission timeout --------+
 *
 * In congestion avoidance, non-congestion detection (NCD) checks whether the estimate keeps up
 * with a growing window.  Fast probing begins again if, for more than a window, the estimate times
 * rtt_min was above
 *
 *   boundary = b * (cwnd - 1.5) + (1 - b) * (ssthresh when avoidance began)
 *
 * Where the paper is ambiguous or says nothing:
 *   o NCD's braces, as printed, start fast probing only in an ACK that is evidence against spare
 *     bandwidth, and reset the counter in each other ACK.  Here the counter is compared in each
 *     ACK, and reset when avoidance begins.  It counts segments, not ACKs, because one ACK may
 *     be for many segments.  The "initial 2 RTT" are counted from the end of recovery, because the
 *     estimate lags the window by that time.
 *   o The paper uses beta for two values.  The beta of the boundary is a separate value here.
 *   o A loss sets ssthresh to the estimate times rtt_min, at least 2 and at most the window: a
 *     larger ssthresh would let the window grow in recovery.  After a timeout TCP sets the window.
 *   o The reaction to an ECN mark is the same, but the window after it is at most 0.85 of the
 *     window before (RFC 8511).  TCP asks for ssthresh at most once per round trip.
 *   o There is no initial ssthresh if the rtt of the handshake is below 1 ms (MCCP_NEAR_US).
 *   o If a loss was spurious (DSACK, Eifel, F-RTO), its changes are undone.
 *   o If the size of segments changes, rates stay the same in bytes.
 *
 * The history of the estimate does not fit into the 104 private bytes of a socket.  It is
 * allocated when a socket first sends, never for an ACK.  Without a history the sender is Reno.
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

/* The window after a mark, in 1/256 of the window before: 0.85 (RFC 8511) */
#define MCCP_MARK	217U

/*
 * Below this least round-trip time there is no initial ssthresh, us.  TCP makes bursts of up to
 * 1 ms of data (sk_pacing_shift), and a shorter path holds less than such a burst.  There
 * ABE * rtt_min is a few segments, because rtt_min is that of a single packet, and never raises
 * ssthresh.
 */
#define MCCP_NEAR_US	USEC_PER_MSEC

/* In avoidance NCD waits for this many round trips (the paper) */
#define MCCP_WAIT	2

/* Limit of the segments that one ACK counts for, so that a sum of two does not overflow */
#define MCCP_ACKED_MAX	(U32_MAX / 2)

enum mccp_mode {
	MCCP_PROBING,		/* fast probing */
	MCCP_AVOIDANCE,		/* congestion avoidance, and NCD */
};

/**
 * struct mccp - the state of a socket; all that an ACK reads is in one cache line
 * @history: of the estimate; NULL: nothing was sent yet, or there was no memory
 * @abe: the estimate
 * @rtt_min_us: least round-trip time, us; U32_MAX: none yet
 * @pipe: what the path holds, mccp_pipe(), segments
 * @delivered: tp->delivered at the last ACK, segments; wraps
 * @round_end: tp->snd_nxt when this round trip began
 * @moment_us: time of the last moment of the estimate, us; wraps
 * @next_us: minimum time from that moment to the next, us
 * @entry: ssthresh when avoidance began, segments
 * @counter: counter of NCD, segments
 * @mss: tp->mss_cache at the last ACK, bytes
 * @marked: the last ACK had ECE
 * @mode: enum mccp_mode
 * @wait: round trips before NCD begins
 * @bubble: segments that were sent while cwnd was not the limit are still being acknowledged
 * @restart: the next ACK starts the history of the estimate again, or for the first time
 * @bubble_end: if @bubble, tp->snd_nxt when cwnd was last not the limit
 * @was_entry: @entry before a loss
 * @was_counter: @counter before a loss
 * @was_rate: the estimate before a loss, ABE_RATE; 0: the loss did not change it
 * @was_mode: @mode before a loss
 * @was_wait: @wait before a loss
 * @undone: a loss was spurious, and TCP has not left the state of that loss yet
 */
struct mccp {
	struct abe_history *history;
	struct abe abe;
	u32	rtt_min_us;
	u32	pipe;
	u32	delivered;
	u32	round_end;
	u32	moment_us;
	u32	next_us;
	u32	entry;
	u32	counter;
	u16	mss;
	u8	marked;
	u8	mode:1,
		wait:2,
		bubble:1,
		restart:1;
	u32	bubble_end;
	u32	was_entry;
	u32	was_counter;
	u64	was_rate:48,	/* at most ABE_RATE_MAX */
		was_mode:1,
		was_wait:2,
		undone:1;
};

/* ------------------------------------------------------------------------- */
/* Non-congestion detection, and the reaction to a mark                      */

/**
 * mccp_is_spare() - check if the path seems to have spare bandwidth
 * @pipe: estimate * rtt_min, segments
 * @cwnd: segments
 * @entry: ssthresh when avoidance began, segments
 * @boundary: weight of the expected rate, percent
 *
 * Return: true if the estimate times rtt_min is above the congestion boundary
 */
static inline bool mccp_is_spare(u32 pipe, u32 cwnd, u32 entry, u32 boundary)
{
	/* both sides in 1/200 segment: 1.5 segments are 3 halves */
	return 200LL * pipe > boundary * (2LL * cwnd - 3) + (100 - boundary) * 2LL * entry;
}

/**
 * mccp_count() - update the counter of NCD
 * @counter: the counter before, segments
 * @acked: segments that an ACK acknowledges
 * @spare: result of mccp_is_spare()
 *
 * Return: the counter after, segments
 */
static inline u32 mccp_count(u32 counter, u32 acked, bool spare)
{
	if (spare)
		return min(counter, MCCP_ACKED_MAX) + min(acked, MCCP_ACKED_MAX);
	return counter - min(counter, acked);
}

/**
 * mccp_after_mark() - the largest window after a mark
 * @cwnd: the window before, segments
 *
 * Return: segments
 */
static inline u32 mccp_after_mark(u32 cwnd)
{
	return ((u64)cwnd * MCCP_MARK) >> 8;
}

/* ------------------------------------------------------------------------- */
/* The socket                                                                */

/* Smoothed round-trip time, us */
static inline u32 mccp_rtt_us(const struct tcp_sock *tp)
{
	return min(tp->srtt_us >> 3, ABE_TIME_CAP);
}

/* What the path holds, segments.  0 without an estimate; with an estimate rtt_min is known. */
static inline u32 mccp_pipe(const struct mccp *ca)
{
	return abe_pipe(ca->abe.rate, ca->rtt_min_us);
}

/* The estimate or rtt_min has changed. */
static inline void mccp_changed(struct mccp *ca)
{
	ca->pipe = mccp_pipe(ca);
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

/* Whether an ACK begins a round trip, or the size of segments changed.  Rare. */
static inline bool mccp_is_new(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct mccp *ca = inet_csk_ca(sk);

	return unlikely(!before(tp->snd_una, ca->round_end)) ||
	       unlikely(tp->mss_cache != ca->mss);
}

/**
 * mccp_round() - check if an ACK begins a round trip
 * @sk: the socket
 *
 * Return: true if it does
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
 * mccp_new_mss() - check if the size of segments changed since the last ACK, and convert
 * @sk: the socket
 *
 * The kernel converts the window in the same way after an MTU probe.
 *
 * Return: true if the size changed
 */
static inline bool mccp_new_mss(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);
	u32 was = max(ca->mss, 1), is = clamp_t(u32, tp->mss_cache, 1, U16_MAX);

	if (likely(tp->mss_cache == ca->mss))
		return false;
	ca->mss = is;
	if (was == is)
		return false;
	if (ca->history) {
		abe_rescale(ca->history, &ca->abe, tp->tcp_mstamp, tp->delivered, was, is);
		ca->moment_us = tp->tcp_mstamp;
		mccp_changed(ca);
	}
	ca->entry = min_t(u64, div_u64((u64)ca->entry * was, is), TCP_INFINITE_SSTHRESH);
	ca->counter = 0;
	ca->was_rate = 0;
	return true;
}

/* Report the results of a moment to the tracepoint */
static noinline void mccp_trace(const struct sock *sk, const struct abe_step *step)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct mccp *ca = inet_csk_ca(sk);

	trace_mccp_update(sk, ca->mode, abe_bytes_ps(ca->abe.rate, tp->mss_cache),
			  abe_bytes_ps(ca->abe.sample, tp->mss_cache), step->t_us, step->dt_us,
			  step->unstable >> (ABE_SHARE - 16), step->weight >> (ABE_SHARE - 16),
			  mccp_rtt_us(tp), ca->rtt_min_us, ca->counter);
}

/* Whether there can be an estimate.  Without one, @restart is set. */
static inline bool mccp_is_ready(const struct sock *sk)
{
	const struct mccp *ca = inet_csk_ca(sk);

	return ca->history && tcp_sk(sk)->srtt_us && ca->rtt_min_us != U32_MAX;
}

/**
 * mccp_estimate() - update the estimate at an ACK
 * @sk: the socket; mccp_is_due() is true
 * @rules: what the paper leaves open
 */
static __always_inline void mccp_estimate(struct sock *sk, const struct abe_rules *rules)
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

	if (!history || (unlikely(ca->restart) && !mccp_is_ready(sk)))
		return;
	ca->moment_us = ack.us;
	if (unlikely(ca->restart)) {
		ca->restart = false;
		abe_restart(history, ack.us, ack.delivered);
	} else if (abe_take(history, &ca->abe, rules, &ack, &step)) {
		ca->next_us = history->next_us;
		ca->pipe = abe_pipe(ca->abe.rate, ack.rtt_min_us);
		if (trace_mccp_update_enabled())
			mccp_trace(sk, &step);
	}
}

/* The round-trip time of an ACK, us; 0 or less: none */
static inline void mccp_least(struct mccp *ca, s32 rtt_us)
{
	if (unlikely((u32)rtt_us < ca->rtt_min_us) && rtt_us > 0) {
		ca->rtt_min_us = min_t(u32, rtt_us, ABE_TIME_CAP);
		mccp_changed(ca);
	}
}

/**
 * mccp_measured() - update the measurements of an ACK, before the estimate
 * @sk: the socket
 *
 * Return: segments that the ACK delivers
 */
static inline u32 mccp_measured(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);
	u32 acked = tp->delivered - ca->delivered;

	ca->delivered = tp->delivered;
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
 * mccp_is_due() - check if an ACK updates the estimate
 * @sk: the socket
 *
 * Most ACKs do not.  This check reads only the socket, not the history.
 *
 * Return: true if it does
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
 * mccp_detect() - NCD: count an ACK as evidence for or against spare bandwidth
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
				 mccp_is_spare(ca->pipe, cwnd, ca->entry, boundary));
	if (ca->counter > cwnd)
		mccp_enter(sk, MCCP_PROBING);
}

/**
 * mccp_raise() - fast probing: raise ssthresh to the estimate, but never lower it
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
 * mccp_keep() - save the state before a loss or a mark, for an undo
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
 * mccp_reduced() - ssthresh after a loss or a mark
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
		/* for an undo: the sample after the timeout covers the silence, and is too low */
		if (!ca->was_rate)
			ca->was_rate = ca->abe.rate;
		mccp_enter(sk, MCCP_PROBING);
	} else if (state == TCP_CA_Recovery || state == TCP_CA_CWR ||
		   (reduced && ca->mode == MCCP_AVOIDANCE && !undone)) {
		/* again when recovery or CWR ends, so that NCD waits from then on */
		mccp_enter(sk, MCCP_AVOIDANCE);
	}
}

/* .undo_cwnd.  TCP itself restores ssthresh from prior_ssthresh. */
static inline u32 mccp_undo_cwnd(struct sock *sk)
{
	struct mccp *ca = inet_csk_ca(sk);

	ca->mode = ca->was_mode;
	ca->entry = ca->was_entry;
	ca->counter = ca->was_counter;
	ca->wait = ca->was_wait;
	if (ca->was_rate) {
		ca->abe.rate = ca->was_rate;
		mccp_changed(ca);
	}
	ca->undone = true;
	return tcp_reno_undo_cwnd(sk);
}

/* TCP calls .in_ack_event before .ssthresh, and does not give .ssthresh the reason. */
static inline void mccp_in_ack_event(struct sock *sk, u32 flags)
{
	struct mccp *ca = inet_csk_ca(sk);

	ca->marked = flags & CA_ACK_ECE;
}

/**
 * mccp_begin() - allocate the history, because there are data to send
 * @sk: the socket
 * @ssthresh: initial ssthresh if TCP has none, segments; 0: none
 *
 * The handshake has shown a round-trip time, except if its SYN was repeated or was a SYN cookie and
 * there are no time stamps, or if this end answers data in a SYN (TFO).  Then the initial ssthresh
 * is used.  Time stamps in ms show at least 1 ms.
 */
static inline void mccp_begin(struct sock *sk, u32 ssthresh)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);

	ca->history = kzalloc(sizeof(*ca->history), GFP_ATOMIC | __GFP_NOWARN);
	if (!ca->history)
		return;
	ca->restart = true;
	if (ssthresh && tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH &&
	    (!tp->srtt_us || tp->srtt_us >> 3 >= MCCP_NEAR_US))
		WRITE_ONCE(tp->snd_ssthresh, max(ssthresh, tcp_snd_cwnd(tp)));
}

/**
 * mccp_tx_start() - sending begins after an idle time or a timeout
 * @sk: the socket; TCP may not have called .init yet (data with a SYN)
 * @ssthresh: see mccp_begin()
 */
static inline void mccp_tx_start(struct sock *sk, u32 ssthresh)
{
	struct mccp *ca = inet_csk_ca(sk);

	if (!inet_csk(sk)->icsk_ca_initialized)
		return;
	/* after a timeout segments were in flight without result: that time counts, no restart */
	if (!tcp_sk(sk)->packets_out)
		ca->restart = true;
	if (!ca->history)
		mccp_begin(sk, ssthresh);
}

/**
 * mccp_init_socket() - for .init
 * @sk: the socket
 * @ssthresh: see mccp_begin()
 */
static inline void mccp_init_socket(struct sock *sk, u32 ssthresh)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct mccp *ca = inet_csk_ca(sk);

	*ca = (struct mccp){
		.rtt_min_us = U32_MAX,
		.round_end = tp->snd_nxt,
		.delivered = tp->delivered,
		.mss = min(tp->mss_cache, U16_MAX),
		.restart = true,
	};
	/* congestion control was changed while data are in flight: do not wait for a start */
	if (tp->packets_out)
		mccp_begin(sk, ssthresh);
}

/* .release.  6.1 calls it even if .init was never called: all is zero then. */
static inline void mccp_release(struct sock *sk)
{
	struct mccp *ca = inet_csk_ca(sk);

	kfree(ca->history);
	ca->history = NULL;
}

/*
 * .get_info.  ss shows the estimate as bw and rtt_min as mrtt.  The socket is not locked, so this
 * function must not access the history.
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
