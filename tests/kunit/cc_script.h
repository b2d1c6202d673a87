/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A TCP sender without a network: an unconnected socket, a model of the path, and a copy
 * of what net/ipv4/tcp_input.c and tcp_output.c (6.12) do around the callbacks of a
 * congestion control.
 *
 * A script is a C function that calls the events below.  cc_bulk(), cc_limited(),
 * cc_idle() and cc_respond() let time pass.  cc_drop(), cc_late(), cc_stall(),
 * cc_blackout(), cc_mark(), cc_stretch(), cc_mss() and cc_switch() set what happens
 * during that time.  After each ACK, each call of cc_send() and each timeout
 * cc_invariants() checks what must hold for every sender in every state.  The script
 * checks the rest with cc_expect().
 *
 * The clock and jiffies are the kernel's own: an event waits until its time.  In the lab
 * this wait takes no real time.  Callbacks are called in the same order as in the kernel,
 * and with the same values in the socket.  If a function is a model of a kernel function,
 * its name is the kernel's name after "cc_".  Not modelled: MTU probes themselves, tail
 * loss probes, RACK's reordering window (a segment is lost when three segments above it
 * are acknowledged), and the limits of the receiver and of memory.
 */
#ifndef _TCPCC_CC_SCRIPT_H
#define _TCPCC_CC_SCRIPT_H

#include <linux/hrtimer.h>
#include <linux/in.h>
#include <linux/module.h>
#include <linux/net.h>
#include <net/inet_common.h>
#include <net/tcp.h>

#include <kunit/test.h>

#include "tcpcc_compat.h"

/* The most segments outstanding, and the most transmissions under way; powers of 2 */
#define CC_SEGS		4096
#define CC_WIRES	8192

/* snd_cwnd_clamp, segments */
#define CC_CLAMP	3000

/* A delayed ACK waits at most this long for another segment, us */
#define CC_DELACK_US	1000

/* Value of cc_flow.data: the application always has more data */
#define CC_ENDLESS	U32_MAX

/* The first sequence number: so large that sequence numbers wrap during a script */
#define CC_ISN		0xffff0000U

/**
 * struct cc_seg - an outstanding segment: the sender's state (sk_buff) and the receiver's
 * @sent_us: time of the last transmission
 * @first_tx_us: tp->first_tx_mstamp at that time, for the rate sample
 * @delivered_us: tp->delivered_mstamp at that time; 0: not used for a rate sample any more
 * @delivered: tp->delivered at that time
 * @delivered_ce: tp->delivered_ce at that time
 * @app_limited: whether tp->app_limited was set at that time
 * @end_seq: the sequence number after the segment
 * @retrans: a retransmission is under way
 * @ever_retrans: it was retransmitted at least once
 * @sacked: a SACK has acknowledged it
 * @lost: the sender has marked it as lost
 * @received: it has arrived at the receiver
 */
struct cc_seg {
	u64	sent_us;
	u64	first_tx_us;
	u64	delivered_us;
	u32	delivered;
	u32	delivered_ce;
	u32	end_seq;
	bool	app_limited;
	bool	retrans;
	bool	ever_retrans;
	bool	sacked;
	bool	lost;
	bool	received;
};

/**
 * struct cc_wire - a transmission that will arrive
 * @due_us: time at which an ACK for it would be back at the sender
 * @sent_us: time of transmission, which is also its time stamp
 * @seg: index of the segment
 * @ce: it carries a CE mark
 * @cwr: it carries the CWR flag
 */
struct cc_wire {
	u64	due_us;
	u64	sent_us;
	u32	seg;
	bool	ce;
	bool	cwr;
};

/**
 * struct cc_flow - a socket, its path, and the results of a script
 * @sock: the socket
 * @sk: @sock->sk
 * @name: name of the congestion control
 * @rtt_us: rtt of the empty path
 * @rate_bps: bytes per second of the bottleneck
 * @buffer: segments that fit into the bottleneck's buffer; one more is dropped
 * @stretch: the most segments for which one ACK is sent
 * @batch_us: ACKs are released together, once in this time; 0: each at once
 * @poll_ns: delay between the processing of two ACKs that arrive together
 * @timestamps: the peer echoes time stamps, so that Eifel detection works
 * @una: the first outstanding segment, as a count from 0
 * @nxt: the next segment to be sent for the first time
 * @rcv: the next segment that the receiver expects
 * @data: segments that the application has written and TCP has not sent, or CC_ENDLESS
 * @link_ns: time at which the bottleneck is free
 * @pace_ns: time at which pacing allows the next segment
 * @rto_us: time at which the retransmission timer expires; 0: it does not run
 * @blackout_us: transmissions before this time are lost
 * @drop: number of the next transmissions that are lost
 * @mark: number of the next transmissions that get a CE mark
 * @late_us: additional delay of the next transmission
 * @retrans_us: time of the first retransmission of this recovery; 0: none yet
 * @echo: the receiver sends ECE
 * @cwr: the next new segment carries CWR
 * @rexmit_new: F-RTO sends new data instead of lost segments
 * @pending: in-order segments for which no ACK was sent yet
 * @timeouts: number of timeouts
 * @recoveries: number of fast recoveries
 * @undos: number of undone reductions
 * @reductions: calls of ssthresh()
 * @was_cwnd: cwnd at the last call of ssthresh(), segments
 * @was_ssthresh: ssthresh at the last call of ssthresh(), segments
 * @undone: this ACK has undone the last reduction
 * @stale_rate: an input of the pacing rate has changed, and no ACK has come since
 * @least: the smallest cwnd since cc_watch(), segments
 * @most: the largest cwnd since cc_watch(), segments
 * @burst: segments sent since the last ACK, or since the last idle time
 * @swings: the law computes cwnd anew at each ACK, so that an undo need not restore it
 * @failures: number of expectations that were not met
 * @why: message of the first of them
 * @segs: outstanding segments
 * @wires: transmissions under way, in order of arrival
 * @wire_head: index of the first of @wires
 * @wire_tail: index after the last of @wires
 */
struct cc_flow {
	struct socket	*sock;
	struct sock	*sk;
	const char	*name;
	u32		rtt_us;
	u64		rate_bps;
	u32		buffer;
	u32		stretch;
	u32		batch_us;
	u32		poll_ns;
	bool		timestamps;
	u32		una, nxt, rcv;
	u32		data;
	u64		link_ns, pace_ns;
	u64		rto_us;
	u64		blackout_us;
	u32		drop, mark, late_us;
	u64		retrans_us;
	bool		echo, cwr, rexmit_new;
	u32		pending;
	u32		timeouts, recoveries, undos, reductions;
	u32		was_cwnd, was_ssthresh;
	bool		undone, stale_rate;
	u32		least, most, burst;
	bool		swings;
	u32		failures;
	char		why[160];
	struct cc_seg	segs[CC_SEGS];
	struct cc_wire	wires[CC_WIRES];
	u32		wire_head, wire_tail;
};

/* Flags of an ACK, as in tcp_input.c */
#define CC_ADVANCED	BIT(0)
#define CC_SACKED	BIT(1)
#define CC_ORIG_ACKED	BIT(2)
#define CC_DSACKED	BIT(3)
#define CC_ECE		BIT(4)

static inline const struct tcp_congestion_ops *cc_ops(const struct cc_flow *f)
{
	return inet_csk(f->sk)->icsk_ca_ops;
}

static inline u8 cc_state(const struct cc_flow *f)
{
	return inet_csk(f->sk)->icsk_ca_state;
}

static inline u32 cc_cwnd(const struct cc_flow *f)
{
	return tcp_snd_cwnd(tcp_sk(f->sk));
}

static inline u32 cc_ssthresh(const struct cc_flow *f)
{
	return tcp_sk(f->sk)->snd_ssthresh;
}

static inline struct cc_seg *cc_seg(struct cc_flow *f, u32 i)
{
	return &f->segs[i % CC_SEGS];
}

/* ------------------------------------------------------------------------- */
/* Expectations                                                              */

/* Not KUNIT_EXPECT, because a script that is known to fail must fail */
#define cc_expect(f, condition, fmt, ...) do {				\
	struct cc_flow *__f = (f);					\
									\
	if (!(condition) && !__f->failures++)				\
		snprintf(__f->why, sizeof(__f->why), "line %d: " fmt	\
			 " (cwnd %u, ssthresh %u, state %u)", __LINE__,	\
			 ##__VA_ARGS__, cc_cwnd(__f), cc_ssthresh(__f),	\
			 cc_state(__f));				\
} while (0)

/* The rate of the window, bytes per second: the kernel itself never paces more slowly */
static inline u64 cc_window_bps(const struct cc_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(f->sk);

	return div_u64((u64)cc_cwnd(f) * tp->mss_cache * USEC_PER_SEC,
		       max(tp->srtt_us >> 3, 1U));
}

/* Checks what must hold for every sender after every event */
static inline void cc_invariants(struct cc_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(f->sk);
	unsigned long rate = READ_ONCE(f->sk->sk_pacing_rate);
	u32 cwnd = cc_cwnd(f);

	f->least = min(f->least, cwnd);
	f->most = max(f->most, cwnd);
	cc_expect(f, cwnd >= 1, "no window");
	cc_expect(f, cwnd <= tp->snd_cwnd_clamp, "a window above its clamp %u",
		  tp->snd_cwnd_clamp);
	cc_expect(f, tp->snd_ssthresh >= 2, "no threshold");
	cc_expect(f, rate, "a pacing rate of 0");
	cc_expect(f, rate <= READ_ONCE(f->sk->sk_max_pacing_rate),
		  "paces at %lu, above the maximum", rate);
	if (f->undone) {
		cc_expect(f, cwnd >= f->was_cwnd || f->swings,
			  "an undone loss has left %u of %u", cwnd, f->was_cwnd);
		cc_expect(f, tp->snd_ssthresh >= f->was_ssthresh,
			  "an undone loss has left the threshold %u of %u", tp->snd_ssthresh,
			  f->was_ssthresh);
		f->undone = false;
	}
	/*
	 * If the pacing rate is less than half of the window's rate, pacing limits the flow and
	 * not the window.  This is acceptable from half of the link's rate on.  BBR is exempt,
	 * because it does this by design while it drains the queue.
	 */
	if (tp->srtt_us && cc_state(f) == TCP_CA_Open && !f->stale_rate &&
	    strcmp(cc_ops(f)->name, "bbr"))
		cc_expect(f, rate >= min_t(u64, min(cc_window_bps(f), f->rate_bps) / 2,
					   READ_ONCE(f->sk->sk_max_pacing_rate)),
			  "paces at %lu B/s where the window is %llu B/s", rate,
			  cc_window_bps(f));
}

/* Starts to record @least, @most and @reductions. */
static inline void cc_watch(struct cc_flow *f)
{
	f->least = cc_cwnd(f);
	f->most = cc_cwnd(f);
	f->reductions = 0;
}

/* ------------------------------------------------------------------------- */
/* Time                                                                      */

static inline u64 cc_now(void)
{
	return tcp_clock_us();
}

static inline void cc_refresh(struct cc_flow *f)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	u64 ns = tcp_clock_ns();

	tp->tcp_clock_cache = ns;
	tp->tcp_mstamp = div_u64(ns, NSEC_PER_USEC);
}

static inline void cc_sleep_until(u64 us)
{
	ktime_t when = ns_to_ktime(us * NSEC_PER_USEC);

	while (cc_now() < us) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_hrtimeout(&when, HRTIMER_MODE_ABS);
	}
}

/* ------------------------------------------------------------------------- */
/* tcp_output.c                                                              */

static inline u64 cc_rto_us(const struct cc_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(f->sk);

	return ((tp->srtt_us >> 3) + 200 * USEC_PER_MSEC) << inet_csk(f->sk)->icsk_backoff;
}

static inline void cc_rearm(struct cc_flow *f)
{
	f->rto_us = tcp_sk(f->sk)->packets_out ? cc_now() + cc_rto_us(f) : 0;
}

/* The path: drops or marks a transmission, and computes when an ACK for it would be back */
static inline void cc_put_on_wire(struct cc_flow *f, u32 i, bool cwr)
{
	u32 ser_ns = div64_u64((u64)tcp_sk(f->sk)->mss_cache * NSEC_PER_SEC, f->rate_bps);
	u64 now_ns = tcp_clock_ns();
	struct cc_wire wire = { .seg = i, .sent_us = cc_now(), .cwr = cwr };
	u32 at = f->wire_tail;

	if (f->drop) {
		f->drop--;
		return;
	}
	if (cc_now() < f->blackout_us ||
	    f->link_ns > now_ns + (u64)f->buffer * ser_ns)
		return;
	f->link_ns = max(f->link_ns, now_ns) + ser_ns;
	wire.due_us = div_u64(f->link_ns, NSEC_PER_USEC) + f->rtt_us + f->late_us;
	if (f->batch_us)
		wire.due_us = DIV_ROUND_UP_ULL(wire.due_us, f->batch_us) * f->batch_us;
	f->late_us = 0;
	if (f->mark) {
		f->mark--;
		wire.ce = true;
	}
	if (WARN_ON(at - f->wire_head == CC_WIRES))
		return;
	while (at != f->wire_head && f->wires[(at - 1) % CC_WIRES].due_us > wire.due_us) {
		f->wires[at % CC_WIRES] = f->wires[(at - 1) % CC_WIRES];
		at--;
	}
	f->wires[at % CC_WIRES] = wire;
	f->wire_tail++;
}

/* __tcp_transmit_skb() and tcp_rate_skb_sent() */
static inline void cc_transmit(struct cc_flow *f, u32 i)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	struct cc_seg *seg = cc_seg(f, i);
	bool cwr = f->cwr && i == f->nxt;

	if (!tp->packets_out) {
		tp->first_tx_mstamp = tp->tcp_mstamp;
		tp->delivered_mstamp = tp->tcp_mstamp;
	}
	seg->sent_us = tp->tcp_mstamp;
	seg->first_tx_us = tp->first_tx_mstamp;
	seg->delivered_us = tp->delivered_mstamp;
	seg->delivered = tp->delivered;
	seg->delivered_ce = tp->delivered_ce;
	seg->app_limited = tp->app_limited;
	if (cwr)
		f->cwr = false;
	f->burst++;
	if (READ_ONCE(f->sk->sk_pacing_status) != SK_PACING_NONE) {
		unsigned long rate = READ_ONCE(f->sk->sk_pacing_rate);
		u64 now_ns = tcp_clock_ns();

		f->pace_ns = max(f->pace_ns, now_ns);
		if (rate && rate != ~0UL)
			f->pace_ns += div64_u64((u64)tp->mss_cache * NSEC_PER_SEC, rate);
	}
	cc_put_on_wire(f, i, cwr);
}

/* tcp_cwnd_application_limited() and tcp_cwnd_validate() */
static inline void cc_cwnd_validate(struct cc_flow *f, bool is_cwnd_limited)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	u32 win_used;

	if (!before(tp->snd_una, tp->cwnd_usage_seq) || is_cwnd_limited ||
	    (!tp->is_cwnd_limited && tp->packets_out > tp->max_packets_out)) {
		tp->is_cwnd_limited = is_cwnd_limited;
		tp->max_packets_out = tp->packets_out;
		tp->cwnd_usage_seq = tp->snd_nxt;
	}
	if (tcp_is_cwnd_limited(f->sk)) {
		tp->snd_cwnd_used = 0;
		tp->snd_cwnd_stamp = tcp_jiffies32;
		return;
	}
	tp->snd_cwnd_used = max(tp->snd_cwnd_used, tp->packets_out);
	if ((s32)(tcp_jiffies32 - tp->snd_cwnd_stamp) < inet_csk(f->sk)->icsk_rto ||
	    cc_ops(f)->cong_control)
		return;
	if (cc_state(f) == TCP_CA_Open) {
		win_used = max_t(u32, tp->snd_cwnd_used, TCP_INIT_CWND);
		if (win_used < cc_cwnd(f)) {
			tp->snd_ssthresh = tcp_current_ssthresh(f->sk);
			tcp_snd_cwnd_set(tp, (cc_cwnd(f) + win_used) >> 1);
		}
		tp->snd_cwnd_used = 0;
	}
	tp->snd_cwnd_stamp = tcp_jiffies32;
}

/* tcp_slow_start_after_idle_check() and tcp_cwnd_restart() */
static inline void cc_restart_after_idle(struct cc_flow *f)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	s32 rto = inet_csk(f->sk)->icsk_rto;
	s32 delta = tcp_jiffies32 - tp->lsndtime;
	u32 cwnd = cc_cwnd(f), restart_cwnd = min_t(u32, TCP_INIT_CWND, cwnd);

	if (tp->packets_out || cc_ops(f)->cong_control || !tp->data_segs_out || delta <= rto)
		return;
	tcp_ca_event(f->sk, CA_EVENT_CWND_RESTART);
	tp->snd_ssthresh = tcp_current_ssthresh(f->sk);
	while ((delta -= rto) > 0 && cwnd > restart_cwnd)
		cwnd >>= 1;
	tcp_snd_cwnd_set(tp, max(cwnd, restart_cwnd));
	tp->snd_cwnd_stamp = tcp_jiffies32;
	tp->snd_cwnd_used = 0;
}

/* The application writes: tcp_rate_check_app_limited(), tcp_skb_entail() */
static inline void cc_write(struct cc_flow *f, u32 segs)
{
	struct tcp_sock *tp = tcp_sk(f->sk);

	cc_refresh(f);
	if (!f->data && tcp_packets_in_flight(tp) < cc_cwnd(f) &&
	    tp->lost_out <= tp->retrans_out)
		tp->app_limited = (tp->delivered + tcp_packets_in_flight(tp)) ? : 1;
	cc_restart_after_idle(f);
	f->data = segs;
}

/* tcp_xmit_retransmit_queue(): lost segments are sent before new ones */
static inline void cc_retransmit(struct cc_flow *f)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	u32 i;

	for (i = f->una; i != f->nxt && tp->lost_out > tp->retrans_out; i++) {
		struct cc_seg *seg = cc_seg(f, i);

		if (!seg->lost || seg->retrans || seg->sacked)
			continue;
		if (tcp_packets_in_flight(tp) >= cc_cwnd(f))
			return;
		cc_transmit(f, i);
		seg->retrans = true;
		seg->ever_retrans = true;
		tp->retrans_out++;
		tp->total_retrans++;
		if (!f->retrans_us)
			f->retrans_us = tp->tcp_mstamp;
		if (tp->undo_retrans < 0)
			tp->undo_retrans = 0;
		tp->undo_retrans++;
		if (tcp_in_cwnd_reduction(f->sk))
			tp->prr_out++;
	}
}

/* tcp_write_xmit() */
static inline void cc_send(struct cc_flow *f)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	bool is_cwnd_limited = false, new_first = f->rexmit_new;
	u32 sent = 0;

	local_bh_disable();
	cc_refresh(f);
	f->rexmit_new = false;
	if (cc_state(f) >= TCP_CA_Recovery && !new_first)
		cc_retransmit(f);
	while (f->data && f->nxt - f->una < CC_SEGS - 1) {
		struct cc_seg *seg = cc_seg(f, f->nxt);

		if (cc_ops(f)->min_tso_segs)
			cc_ops(f)->min_tso_segs(f->sk);
		if (tcp_packets_in_flight(tp) >= cc_cwnd(f)) {
			is_cwnd_limited = true;
			break;
		}
		if (READ_ONCE(f->sk->sk_pacing_status) != SK_PACING_NONE &&
		    f->pace_ns > tcp_clock_ns())
			break;
		*seg = (struct cc_seg){ .end_seq = tp->snd_nxt + tp->mss_cache };
		if (!tcp_packets_in_flight(tp))
			tcp_ca_event(f->sk, CA_EVENT_TX_START);
		tp->lsndtime = tcp_jiffies32;
		tp->data_segs_out++;
		cc_transmit(f, f->nxt);
		f->nxt++;
		if (f->data != CC_ENDLESS)
			f->data--;
		WRITE_ONCE(tp->snd_nxt, seg->end_seq);
		tp->write_seq = tp->snd_nxt;
		tp->packets_out++;
		if (tcp_in_cwnd_reduction(f->sk))
			tp->prr_out++;
		sent++;
	}
	if (new_first && !sent) {
		tp->frto = 0;
		cc_retransmit(f);
	}
	is_cwnd_limited |= tcp_packets_in_flight(tp) >= cc_cwnd(f);
	if (sent || is_cwnd_limited)
		cc_cwnd_validate(f, is_cwnd_limited);
	if (sent && !f->rto_us)
		cc_rearm(f);
	cc_invariants(f);
	local_bh_enable();
}

/* ------------------------------------------------------------------------- */
/* tcp_input.c                                                               */

static inline void cc_set_state(struct cc_flow *f, u8 state)
{
	struct inet_connection_sock *icsk = inet_csk(f->sk);

	if (icsk->icsk_ca_ops->set_state)
		icsk->icsk_ca_ops->set_state(f->sk, state);
	icsk->icsk_ca_state = state;
}

/* tcp_rtt_estimator(), without the variance */
static inline void cc_rtt(struct cc_flow *f, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	u32 srtt = tp->srtt_us;

	tp->srtt_us = max(srtt ? srtt + rtt_us - (srtt >> 3) : rtt_us << 3, 1U);
	minmax_reset(&tp->rtt_min, tcp_jiffies32, clamp(rtt_us, 1U, max(tcp_min_rtt(tp), 1U)));
	inet_csk(f->sk)->icsk_backoff = 0;
	inet_csk(f->sk)->icsk_rto = usecs_to_jiffies(cc_rto_us(f));
}

static inline u32 cc_ask_ssthresh(struct cc_flow *f)
{
	f->reductions++;
	f->was_cwnd = cc_cwnd(f);
	f->was_ssthresh = cc_ssthresh(f);
	return cc_ops(f)->ssthresh(f->sk);
}

static inline void cc_init_undo(struct cc_flow *f)
{
	struct tcp_sock *tp = tcp_sk(f->sk);

	tp->undo_marker = tp->snd_una;
	tp->undo_retrans = tp->retrans_out ? : -1;
}

static inline void cc_init_cwnd_reduction(struct cc_flow *f)
{
	struct tcp_sock *tp = tcp_sk(f->sk);

	tp->high_seq = tp->snd_nxt;
	tp->snd_cwnd_cnt = 0;
	tp->prior_cwnd = cc_cwnd(f);
	tp->prr_delivered = 0;
	tp->prr_out = 0;
	tp->snd_ssthresh = cc_ask_ssthresh(f);
	f->cwr = true;
}

static inline void cc_cwnd_reduction(struct cc_flow *f, u32 acked, u32 lost, u32 flag)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	int delta = tp->snd_ssthresh - tcp_packets_in_flight(tp);
	int sndcnt = 0;

	if (!acked || !tp->prior_cwnd)
		return;
	tp->prr_delivered += acked;
	if (delta < 0) {
		sndcnt = div_u64((u64)tp->snd_ssthresh * tp->prr_delivered +
				 tp->prior_cwnd - 1, tp->prior_cwnd) - tp->prr_out;
	} else {
		sndcnt = max_t(int, tp->prr_delivered - tp->prr_out, acked);
		if (flag & CC_ADVANCED && !lost)
			sndcnt++;
		sndcnt = min(delta, sndcnt);
	}
	sndcnt = max(sndcnt, tp->prr_out ? 0 : 1);
	tcp_snd_cwnd_set(tp, tcp_packets_in_flight(tp) + sndcnt);
}

static inline void cc_end_cwnd_reduction(struct cc_flow *f)
{
	struct tcp_sock *tp = tcp_sk(f->sk);

	if (cc_ops(f)->cong_control)
		return;
	if (tp->snd_ssthresh < TCP_INFINITE_SSTHRESH &&
	    (cc_state(f) == TCP_CA_CWR || tp->undo_marker)) {
		tcp_snd_cwnd_set(tp, tp->snd_ssthresh);
		tp->snd_cwnd_stamp = tcp_jiffies32;
	}
	tcp_ca_event(f->sk, CA_EVENT_COMPLETE_CWR);
}

static inline void cc_enter_cwr(struct cc_flow *f)
{
	struct tcp_sock *tp = tcp_sk(f->sk);

	tp->prior_ssthresh = 0;
	if (cc_state(f) < TCP_CA_CWR) {
		tp->undo_marker = 0;
		cc_init_cwnd_reduction(f);
		cc_set_state(f, TCP_CA_CWR);
	}
}

static inline void cc_enter_recovery(struct cc_flow *f, bool ece)
{
	struct tcp_sock *tp = tcp_sk(f->sk);

	f->retrans_us = 0;
	tp->prior_ssthresh = 0;
	cc_init_undo(f);
	if (!tcp_in_cwnd_reduction(f->sk)) {
		if (!ece)
			tp->prior_ssthresh = tcp_current_ssthresh(f->sk);
		cc_init_cwnd_reduction(f);
	}
	cc_set_state(f, TCP_CA_Recovery);
	f->recoveries++;
}

/* The retransmission timer expires: tcp_enter_loss(), then a segment is sent */
static inline void cc_timeout(struct cc_flow *f)
{
	struct inet_connection_sock *icsk = inet_csk(f->sk);
	struct tcp_sock *tp = tcp_sk(f->sk);
	bool new_recovery = cc_state(f) < TCP_CA_Recovery;
	u32 i;

	local_bh_disable();
	cc_refresh(f);
	for (i = f->una; i != f->nxt; i++) {
		struct cc_seg *seg = cc_seg(f, i);

		if (seg->retrans)
			tp->retrans_out--;
		seg->retrans = false;
		if (!seg->sacked && !seg->lost) {
			seg->lost = true;
			tp->lost_out++;
			tp->lost++;
		}
	}
	if (cc_state(f) <= TCP_CA_Disorder || !after(tp->high_seq, tp->snd_una) ||
	    (cc_state(f) == TCP_CA_Loss && !icsk->icsk_retransmits)) {
		tp->prior_ssthresh = tcp_current_ssthresh(f->sk);
		tp->prior_cwnd = cc_cwnd(f);
		tp->snd_ssthresh = cc_ask_ssthresh(f);
		tcp_ca_event(f->sk, CA_EVENT_LOSS);
		cc_init_undo(f);
	}
	tcp_snd_cwnd_set(tp, tcp_packets_in_flight(tp) + 1);
	tp->snd_cwnd_cnt = 0;
	tp->snd_cwnd_stamp = tcp_jiffies32;
	cc_set_state(f, TCP_CA_Loss);
	tp->high_seq = tp->snd_nxt;
	tp->frto = new_recovery || icsk->icsk_retransmits;
	f->cwr = true;
	f->retrans_us = 0;
	f->timeouts++;
	icsk->icsk_retransmits++;
	if (icsk->icsk_backoff < 6)
		icsk->icsk_backoff++;
	f->pace_ns = 0;
	cc_rearm(f);
	cc_invariants(f);
	local_bh_enable();
	cc_send(f);
}

static inline void cc_undo_cwnd_reduction(struct cc_flow *f, bool unmark_loss)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	u32 i;

	if (unmark_loss) {
		for (i = f->una; i != f->nxt; i++)
			cc_seg(f, i)->lost = false;
		tp->lost_out = 0;
	}
	if (tp->prior_ssthresh) {
		tcp_snd_cwnd_set(tp, cc_ops(f)->undo_cwnd(f->sk));
		if (tp->prior_ssthresh > tp->snd_ssthresh) {
			tp->snd_ssthresh = tp->prior_ssthresh;
			f->cwr = false;
		}
	}
	tp->snd_cwnd_stamp = tcp_jiffies32;
	tp->undo_marker = 0;
	f->undos++;
	f->undone = true;
}

static inline bool cc_may_undo(const struct cc_flow *f, u64 echo_us)
{
	const struct tcp_sock *tp = tcp_sk(f->sk);

	return tp->undo_marker &&
	       (!tp->undo_retrans || !f->retrans_us ||
		(f->timestamps && echo_us && echo_us < f->retrans_us));
}

static inline void cc_try_keep_open(struct cc_flow *f)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	u8 state = tcp_left_out(tp) || tp->retrans_out ? TCP_CA_Disorder : TCP_CA_Open;

	if (cc_state(f) != state) {
		cc_set_state(f, state);
		tp->high_seq = tp->snd_nxt;
	}
}

static inline void cc_try_to_open(struct cc_flow *f, u32 flag)
{
	if (!tcp_sk(f->sk)->retrans_out)
		f->retrans_us = 0;
	if (flag & CC_ECE)
		cc_enter_cwr(f);
	if (cc_state(f) != TCP_CA_CWR)
		cc_try_keep_open(f);
}

static inline bool cc_try_undo_dsack(struct cc_flow *f)
{
	struct tcp_sock *tp = tcp_sk(f->sk);

	if (!tp->undo_marker || tp->undo_retrans)
		return false;
	cc_undo_cwnd_reduction(f, false);
	return true;
}

/* Marks a segment as lost if three segments above it have arrived */
static inline void cc_mark_lost(struct cc_flow *f)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	u32 i, above = tp->sacked_out;

	for (i = f->una; i != f->nxt && above >= 3; i++) {
		struct cc_seg *seg = cc_seg(f, i);

		if (seg->sacked) {
			above--;
		} else if (!seg->lost && !seg->ever_retrans) {
			seg->lost = true;
			tp->lost_out++;
			tp->lost++;
		}
	}
}

static inline bool cc_try_undo_loss(struct cc_flow *f, bool frto, u64 echo_us)
{
	if (!frto && !cc_may_undo(f, echo_us))
		return false;
	cc_undo_cwnd_reduction(f, true);
	inet_csk(f->sk)->icsk_retransmits = 0;
	cc_set_state(f, TCP_CA_Open);
	return true;
}

static inline void cc_process_loss(struct cc_flow *f, u32 flag, u64 echo_us)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	bool recovered = !before(tp->snd_una, tp->high_seq);

	if (flag & CC_ADVANCED && cc_try_undo_loss(f, false, echo_us))
		return;
	if (tp->frto) {
		if (flag & CC_ORIG_ACKED && cc_try_undo_loss(f, true, echo_us))
			return;
		if (after(tp->snd_nxt, tp->high_seq)) {
			if (flag & CC_SACKED)
				tp->frto = 0;
		} else if (flag & CC_ADVANCED && !recovered) {
			tp->high_seq = tp->snd_nxt;
			if (f->data) {
				f->rexmit_new = true;
				return;
			}
			tp->frto = 0;
		}
	}
	if (recovered) {
		if (cc_may_undo(f, echo_us))
			cc_undo_cwnd_reduction(f, false);
		cc_set_state(f, TCP_CA_Open);
	}
}

static inline void cc_fastretrans_alert(struct cc_flow *f, u32 flag, u64 echo_us)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	bool ece = flag & CC_ECE;

	if (ece)
		tp->prior_ssthresh = 0;
	if (cc_state(f) == TCP_CA_Open) {
		f->retrans_us = 0;
	} else if (!before(tp->snd_una, tp->high_seq)) {
		if (cc_state(f) == TCP_CA_CWR && tp->snd_una != tp->high_seq) {
			cc_end_cwnd_reduction(f);
			cc_set_state(f, TCP_CA_Open);
		} else if (cc_state(f) == TCP_CA_Recovery) {
			if (cc_may_undo(f, echo_us))
				cc_undo_cwnd_reduction(f, false);
			cc_set_state(f, TCP_CA_Open);
			cc_end_cwnd_reduction(f);
		}
	}

	switch (cc_state(f)) {
	case TCP_CA_Recovery:
		if (flag & CC_ADVANCED && tp->undo_marker && f->timestamps &&
		    f->retrans_us && echo_us && echo_us < f->retrans_us) {
			if (tp->retrans_out)
				return;
			cc_undo_cwnd_reduction(f, true);
			cc_try_keep_open(f);
		}
		if (cc_try_undo_dsack(f))
			cc_try_to_open(f, flag);
		cc_mark_lost(f);
		if (cc_state(f) != TCP_CA_Recovery && tp->lost_out)
			cc_enter_recovery(f, ece);
		return;
	case TCP_CA_Loss:
		cc_process_loss(f, flag, echo_us);
		cc_mark_lost(f);
		if (cc_state(f) != TCP_CA_Open)
			return;
		fallthrough;
	default:
		if (cc_state(f) <= TCP_CA_Disorder)
			cc_try_undo_dsack(f);
		cc_mark_lost(f);
		if (tp->lost_out)
			cc_enter_recovery(f, ece);
		else
			cc_try_to_open(f, flag);
	}
}

/* tcp_rate_skb_delivered() */
static inline void cc_rate_delivered(struct cc_flow *f, struct cc_seg *seg,
				     struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(f->sk);

	if (!seg->delivered_us)
		return;
	if (!rs->prior_delivered || seg->sent_us > tp->first_tx_mstamp ||
	    (seg->sent_us == tp->first_tx_mstamp && after(seg->end_seq, rs->last_end_seq))) {
		rs->prior_delivered_ce = seg->delivered_ce;
		rs->prior_delivered = seg->delivered;
		rs->prior_mstamp = seg->delivered_us;
		rs->is_app_limited = seg->app_limited;
		rs->is_retrans = seg->ever_retrans;
		rs->last_end_seq = seg->end_seq;
		tp->first_tx_mstamp = seg->sent_us;
		rs->interval_us = seg->sent_us - seg->first_tx_us;
	}
	if (seg->sacked)
		seg->delivered_us = 0;
}

/* tcp_rate_gen() */
static inline void cc_rate_gen(struct cc_flow *f, u32 delivered, u32 lost,
			       struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	u32 snd_us, ack_us;

	if (tp->app_limited && after(tp->delivered, tp->app_limited))
		tp->app_limited = 0;
	if (delivered)
		tp->delivered_mstamp = tp->tcp_mstamp;
	rs->acked_sacked = delivered;
	rs->losses = lost;
	if (!rs->prior_mstamp) {
		rs->delivered = -1;
		rs->interval_us = -1;
		return;
	}
	rs->delivered = tp->delivered - rs->prior_delivered;
	rs->delivered_ce = tp->delivered_ce - rs->prior_delivered_ce;
	snd_us = rs->interval_us;
	ack_us = tp->tcp_mstamp - rs->prior_mstamp;
	rs->interval_us = max(snd_us, ack_us);
	rs->snd_interval_us = snd_us;
	rs->rcv_interval_us = ack_us;
	if (rs->interval_us < tcp_min_rtt(tp)) {
		rs->interval_us = -1;
		return;
	}
	if (!rs->is_app_limited ||
	    (u64)rs->delivered * tp->rate_interval_us >=
	    (u64)tp->rate_delivered * rs->interval_us) {
		tp->rate_delivered = rs->delivered;
		tp->rate_interval_us = rs->interval_us;
		tp->rate_app_limited = rs->is_app_limited;
	}
}

/* tcp_update_pacing_rate() */
static inline void cc_update_pacing_rate(struct cc_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(f->sk);
	u64 rate = (u64)tp->mss_cache * ((USEC_PER_SEC / 100) << 3);

	rate *= cc_cwnd(f) < tp->snd_ssthresh / 2 ? 200 : 120;
	rate *= max(cc_cwnd(f), tp->packets_out);
	if (tp->srtt_us)
		rate = div_u64(rate, tp->srtt_us);
	WRITE_ONCE(f->sk->sk_pacing_rate,
		   min_t(u64, rate, READ_ONCE(f->sk->sk_max_pacing_rate)));
}

/* Removes an acknowledged segment from the sender's list, or marks it as SACKed. */
static inline void cc_take(struct cc_flow *f, u32 i, bool cumulative, bool ece, u32 *flag,
			   struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	struct cc_seg *seg = cc_seg(f, i);

	if (!seg->sacked) {
		if (!cumulative)
			seg->sacked = true;
		tp->delivered++;
		if (ece)
			tp->delivered_ce++;
		if (seg->lost)
			tp->lost_out--;
		if (seg->retrans)
			tp->retrans_out--;
		seg->lost = false;
		seg->retrans = false;
		if (!seg->ever_retrans) {
			rs->rtt_us = tp->tcp_mstamp - seg->sent_us;
			if (!after(seg->end_seq, tp->high_seq))
				*flag |= CC_ORIG_ACKED;
		}
		if (!cumulative) {
			tp->sacked_out++;
			*flag |= CC_SACKED;
		}
		cc_rate_delivered(f, seg, rs);
	} else if (cumulative) {
		tp->sacked_out--;
	}
	if (cumulative) {
		tp->packets_out--;
		tp->snd_una = seg->end_seq;
		*flag |= CC_ADVANCED;
	}
}

/* Since 6.10 the callback also has the ACK and its flags as arguments. */
static inline void cc_cong_control(struct cc_flow *f, u32 ack, const struct rate_sample *rs)
{
	typedef void (*with_ack)(struct sock *, u32, int, const struct rate_sample *);
	typedef void (*without)(struct sock *, const struct rate_sample *);
	void *callback = cc_ops(f)->cong_control;

	if (__same_type(cc_ops(f)->cong_control, with_ack))
		((with_ack)callback)(f->sk, ack, 0, rs);
	else
		((without)callback)(f->sk, rs);
}

/* tcp_ack(); @dsack: a segment arrived twice; @echo_us: the time stamp that the ACK echoes */
static inline void cc_ack(struct cc_flow *f, bool dsack, u64 echo_us)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	u32 delivered = tp->delivered, lost = tp->lost, i;
	u32 flag = (dsack ? CC_DSACKED : 0) | (f->echo ? CC_ECE : 0);
	struct rate_sample rs = {
		.rtt_us = -1,
		.prior_in_flight = tcp_packets_in_flight(tp),
	};
	struct ack_sample sample;

	local_bh_disable();
	cc_refresh(f);
	f->burst = 0;
	if (!tp->packets_out)
		goto out;
	if (dsack && tp->undo_marker && tp->undo_retrans > 0)
		tp->undo_retrans--;
	for (i = f->rcv; i != f->nxt; i++)
		if (cc_seg(f, i)->received && !cc_seg(f, i)->sacked)
			cc_take(f, i, false, f->echo, &flag, &rs);
	sample.pkts_acked = f->rcv - f->una;
	for (i = f->una; i != f->rcv; i++)
		cc_take(f, i, true, f->echo, &flag, &rs);
	f->una = f->rcv;
	if (flag & CC_ADVANCED) {
		inet_csk(f->sk)->icsk_retransmits = 0;
		f->pending = 0;
	}
	if (rs.rtt_us >= 0)
		cc_rtt(f, rs.rtt_us);
	if (flag & (CC_ADVANCED | CC_SACKED))
		cc_rearm(f);
	if (cc_ops(f)->pkts_acked) {
		sample.rtt_us = rs.rtt_us;
		sample.in_flight = rs.prior_in_flight;
		cc_ops(f)->pkts_acked(f->sk, &sample);
	}
	if (cc_ops(f)->in_ack_event)
		cc_ops(f)->in_ack_event(f->sk, CA_ACK_SLOWPATH |
					(flag & CC_ECE ? CA_ACK_ECE : 0));
	/* tcp_ack_is_dubious() */
	if (flag & (CC_ECE | CC_SACKED | CC_DSACKED) || !(flag & CC_ADVANCED) ||
	    cc_state(f) != TCP_CA_Open)
		cc_fastretrans_alert(f, flag, echo_us);

	delivered = tp->delivered - delivered;
	lost = tp->lost - lost;
	cc_rate_gen(f, delivered, lost, &rs);
	if (cc_ops(f)->cong_control) {
		cc_cong_control(f, tp->snd_una, &rs);
	} else {
		if (tcp_in_cwnd_reduction(f->sk)) {
			cc_cwnd_reduction(f, delivered, lost, flag);
		} else if (flag & CC_ADVANCED) {
			cc_ops(f)->cong_avoid(f->sk, tp->snd_una, delivered);
			tp->snd_cwnd_stamp = tcp_jiffies32;
		}
		cc_update_pacing_rate(f);
	}
	f->stale_rate = false;
out:
	cc_invariants(f);
	local_bh_enable();
	cc_send(f);
}

/* ------------------------------------------------------------------------- */
/* The receiver, and time                                                    */

/* A transmission arrives at the receiver. */
static inline void cc_arrive(struct cc_flow *f, const struct cc_wire *wire)
{
	const struct cc_wire *after = &f->wires[f->wire_head % CC_WIRES];
	bool more = f->wire_head != f->wire_tail && after->due_us < cc_now() + CC_DELACK_US;
	bool next = wire->seg == f->rcv, dsack;

	if (wire->ce)
		f->echo = true;
	if (wire->cwr)
		f->echo = wire->ce;
	dsack = (s32)(wire->seg - f->rcv) < 0 || cc_seg(f, wire->seg)->received;
	if (!dsack)
		cc_seg(f, wire->seg)->received = true;
	while (f->rcv != f->nxt && cc_seg(f, f->rcv)->received)
		f->rcv++;
	/* an ACK is delayed only if all segments arrived in order */
	if (next && !dsack && !tcp_sk(f->sk)->sacked_out && !f->echo &&
	    ++f->pending < f->stretch && more)
		return;
	if (f->poll_ns)
		ndelay(f->poll_ns);
	cc_ack(f, dsack, wire->sent_us);
}

/* Runs all events until @until_us or, if @all, until all written data is acknowledged */
static inline void cc_pass(struct cc_flow *f, u64 until_us, bool all)
{
	/* more events than any script has, so that a sender in a loop ends */
	u32 budget = 400000;

	for (; budget; budget--) {
		u64 next_us = until_us, now_us = cc_now();
		const struct cc_wire *head = &f->wires[f->wire_head % CC_WIRES];
		bool paced = f->data && READ_ONCE(f->sk->sk_pacing_status) != SK_PACING_NONE &&
			     tcp_packets_in_flight(tcp_sk(f->sk)) < cc_cwnd(f) &&
			     f->nxt - f->una < CC_SEGS - 1;

		if (all && !f->data && !tcp_sk(f->sk)->packets_out)
			return;
		if (f->wire_head != f->wire_tail)
			next_us = min(next_us, head->due_us);
		if (f->rto_us)
			next_us = min(next_us, f->rto_us);
		if (paced)
			next_us = min(next_us, div_u64(f->pace_ns, NSEC_PER_USEC) + 1);
		if (next_us > now_us) {
			cc_sleep_until(next_us);
			continue;
		}
		if (f->wire_head != f->wire_tail && head->due_us <= now_us) {
			struct cc_wire wire = *head;

			f->wire_head++;
			cc_arrive(f, &wire);
		} else if (f->rto_us && f->rto_us <= now_us) {
			cc_timeout(f);
		} else if (paced && f->pace_ns <= tcp_clock_ns()) {
			cc_send(f);
		} else if (now_us >= until_us) {
			return;
		}
	}
	cc_expect(f, false, "no end of events");
}

/* ------------------------------------------------------------------------- */
/* Events                                                                    */

/* From now on an ACK acknowledges up to @n segments. */
static inline void cc_stretch(struct cc_flow *f, u32 n)
{
	f->stretch = n;
}

/* The next @n transmissions are lost. */
static inline void cc_drop(struct cc_flow *f, u32 n)
{
	f->drop = n;
}

/* The next @n transmissions get a CE mark. */
static inline void cc_mark(struct cc_flow *f, u32 n)
{
	f->mark = n;
}

/* The next transmission arrives @us late, so that later ones overtake it. */
static inline void cc_late(struct cc_flow *f, u32 us)
{
	f->late_us = us;
}

/* All transmissions under way arrive @us later, and the bottleneck sends nothing for @us. */
static inline void cc_stall(struct cc_flow *f, u32 us)
{
	u32 i;

	for (i = f->wire_head; i != f->wire_tail; i++)
		f->wires[i % CC_WIRES].due_us += us;
	f->link_ns = max(f->link_ns, tcp_clock_ns()) + (u64)us * NSEC_PER_USEC;
}

/* Loses all transmissions under way, and all that are sent in the next @us. */
static inline void cc_blackout(struct cc_flow *f, u32 us)
{
	f->wire_head = f->wire_tail;
	f->blackout_us = cc_now() + us;
}

/* The path's MTU has changed. */
static inline void cc_mss(struct cc_flow *f, u32 bytes)
{
	tcp_sk(f->sk)->mss_cache = bytes;
	f->stale_rate = true;
}

/* The application always has data to send, for @us. */
static inline void cc_bulk(struct cc_flow *f, u64 us)
{
	u64 until_us = cc_now() + us;

	cc_write(f, CC_ENDLESS);
	cc_send(f);
	cc_pass(f, until_us, false);
	f->data = 0;
}

/* The application writes @segs in every other round trip, for @us. */
static inline void cc_limited(struct cc_flow *f, u32 segs, u64 us)
{
	u64 until_us = cc_now() + us, now_us;

	while ((now_us = cc_now()) < until_us) {
		cc_write(f, segs);
		cc_send(f);
		cc_pass(f, min(until_us, now_us + 2 * f->rtt_us), false);
	}
}

/* The application writes nothing for @us.  Segments under way are acknowledged. */
static inline void cc_idle(struct cc_flow *f, u64 us)
{
	u64 until_us = cc_now() + us;

	f->data = 0;
	cc_pass(f, until_us, false);
}

/*
 * The application writes a response of @segs segments.
 *
 * Return: segments of it that were sent before the first ACK
 */
static inline u32 cc_respond(struct cc_flow *f, u32 segs)
{
	u64 now_us = cc_now();
	u32 first;

	cc_write(f, segs);
	f->burst = 0;
	cc_send(f);
	cc_pass(f, now_us + f->rtt_us - 1, true);
	first = f->burst;
	cc_pass(f, now_us + 60 * USEC_PER_SEC, true);
	return first;
}

/* ------------------------------------------------------------------------- */
/* Begin and end of a flow                                                   */

static inline int cc_set(struct cc_flow *f, const char *name)
{
	f->name = name;
	return f->sock->ops->setsockopt(f->sock, SOL_TCP, TCP_CONGESTION,
					KERNEL_SOCKPTR((void *)name), strlen(name));
}

/* setsockopt(TCP_CONGESTION) in the middle of a flow */
static inline void cc_switch(struct cc_flow *f, const char *name)
{
	cc_expect(f, !cc_set(f, name), "no %s", name);
	f->stale_rate = true;
	cc_send(f);
}

/**
 * cc_open() - open a flow in the state after the three-way handshake
 * @f: the flow, filled with zeroes
 * @name: name of the congestion control
 * @rtt_us: rtt of the empty path, and the sample of the handshake, us
 *
 * The path has 100 Mb/s and a buffer of 500 segments, unless a script changes this.
 *
 * Return: 0 or a negative error code
 */
static inline int cc_open(struct cc_flow *f, const char *name, u32 rtt_us)
{
	struct tcp_sock *tp;
	int err;

	err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &f->sock);
	if (err)
		return err;
	f->sk = f->sock->sk;
	f->rtt_us = rtt_us;
	f->rate_bps = 100 * 1000 * 1000 / 8;
	f->buffer = 500;
	f->stretch = 1;
	tp = tcp_sk(f->sk);
	cc_refresh(f);
	tp->mss_cache = 1448;
	tp->snd_una = CC_ISN;
	tp->snd_nxt = CC_ISN;
	tp->write_seq = CC_ISN;
	tp->high_seq = CC_ISN;
	tp->snd_wnd = U32_MAX / 2;
	tp->snd_cwnd_clamp = CC_CLAMP;
	tp->rx_opt.sack_ok = TCP_SACK_SEEN;
	tp->delivered = 1;
	tp->delivered_mstamp = tp->tcp_mstamp;
	tp->lsndtime = tcp_jiffies32;
	tp->snd_cwnd_stamp = tcp_jiffies32;
	cc_rtt(f, rtt_us);
	f->sk->sk_state = TCP_ESTABLISHED;
	err = cc_set(f, name);
	if (!err && !cc_ops(f)->cong_control)
		cc_update_pacing_rate(f);
	cc_watch(f);
	return err;
}

/* Like tcp_close(), if the last data and the FIN are already acknowledged */
static inline void cc_close(struct cc_flow *f)
{
	if (!f->sock)
		return;
	f->sk->sk_state = TCP_CLOSE;
	tcp_sk(f->sk)->packets_out = 0;
	sock_release(f->sock);
	f->sock = NULL;
	f->sk = NULL;
}

#endif /* _TCPCC_CC_SCRIPT_H */
