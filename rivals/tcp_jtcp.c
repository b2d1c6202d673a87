// SPDX-License-Identifier: GPL-2.0
/*
 * JTCP, jitter-based TCP, from Table 1 of the ESTCP paper.
 *
 *   E. H.-K. Wu, M.-Z. Chen, "JTCP: jitter-based TCP for heterogeneous wireless networks",
 *   IEEE JSAC 22(4), 2004.
 *
 * If a queue grows, packets are delayed more and more.  Two packets i and j are sent at S and
 * received at R.  Their jitter is D = (R_j - R_i) - (S_j - S_i), as in RTP (RFC 1889).  The
 * jitter ratio over one window is
 *
 *   Jr = D / (R_j - R_i)
 *
 * It is the share of the sent packets that is now in the queue.  So Jr * cwnd is the growth of the
 * queue in a round trip, in packets.
 *
 *   ACK		as Reno
 *   loss		Jr < k / cwnd: noise; the loss is retransmitted, and nothing else changes;
 *		else as Reno
 *   timeout	ssthresh as for a loss, and slow start
 *
 * Design decisions.  Only the abstract of the paper was available, and the description in the
 * ESTCP paper.
 *   o In congestion avoidance a full link has exactly Jr = 1 / cwnd, because a window grows by one
 *     packet in a round trip.  So Jr * cwnd is rounded to whole packets: from k - 1/2 on it is
 *     congestion.  With the strict test a flow that is alone would never halve its window.
 *   o A queue that is always full does not grow, and Jr is 0.  Each loss would be noise, and the
 *     queue would never drain.  With jtcp_guard=1 there is also congestion if the rtt is in the
 *     last eighth of the range from the least to the largest rtt of the connection, and these
 *     are at least a millisecond apart.  0 is as printed.
 *   o The first and the last packet of a window are not enough for Jr: a burst of two changes the
 *     growth by one packet.  So i and j are the means of the last two windows.
 *   o D is the difference of two round-trip times, and R is the arrival of an ACK.  If the way
 *     back has no queue this is the same, and it is exact to a microsecond.  One packet in a
 *     window of 826 is 0.12 ms on 100 Mb/s, less than a tick of most timestamps.  With
 *     jtcp_clock=1 both are from timestamps, if both ends count microseconds in them.
 *   o A CE mark is congestion.  If there is no Jr yet, each loss is congestion.
 *
 * A process cannot choose it without privileges (no TCP_CONG_NON_RESTRICTED), because it ignores
 * losses if other flows keep a queue full.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "rivals.h"

#define CREATE_TRACE_POINTS
#include "trace_jtcp.h"

TCPCC_PARAM(jtcp_k, 1, 1, 64, "k: growth of the queue in a round trip that is congestion, packets");
TCPCC_PARAM(jtcp_guard, 1, 0, 1, "1: a queue that stays full is congestion; 0: as printed");
TCPCC_PARAM(jtcp_clock, 0, 0, 1,
	    "1: jitter from timestamps if they count microseconds; 0: from round-trip times");

/* The growth of a queue is in 1/256 packet */
#define JTCP_SCALE	8

/* A larger window counts as this, segments: 100 Gb/s for two seconds */
#define JTCP_CWND_MAX	BIT(24)

/* The guard: the last 1/2^3 of the range of the rtt, if the range is at least so wide, us */
#define JTCP_FULL	3
#define JTCP_APART_US	USEC_PER_MSEC

/**
 * struct jtcp_window - summary of the packets of one window
 * @stamp: R of the last packet, us
 * @transit: mean of R - S, us, plus a constant
 */
struct jtcp_window {
	u32	stamp;
	u32	transit;
};

/**
 * struct jtcp - per-socket state
 * @last: the last window
 * @prev: the window before @last
 * @clock: the receiver's clock
 * @sum: sum of (R - S - @base) of the packets of this window, us
 * @base: R - S of the first packet of this window, us
 * @count: samples in this window
 * @end: tp->delivered at the end of this window
 * @rtt_us: newest rtt, us; 0: none yet
 * @rtt_min_us: least rtt, us
 * @rtt_max_us: largest rtt, us; 0: none yet
 * @before: see rival_keep()
 * @windows: how many of @last and @prev are known, 0 to 2
 * @timestamps: R and S are from timestamps
 * @marked: the last ACK reports a CE mark
 */
struct jtcp {
	struct jtcp_window last;
	struct jtcp_window prev;
	struct rival_clock clock;
	s64	sum;
	u32	base;
	u32	count;
	u32	end;
	u32	rtt_us;
	u32	rtt_min_us;
	u32	rtt_max_us;
	u32	before;
	u8	windows:2,
		timestamps:1,
		marked:1;
};

/* ------------------------------------------------------------------------- */
/* The law: pure functions, driven by tests/kunit                            */

/**
 * jtcp_growth() - growth of the queue in a round trip, Jr * cwnd
 * @i: the older window
 * @j: the newer window
 * @cwnd: segments
 *
 * Return: packets, JTCP_SCALE; 0 if no time has passed
 */
static s64 jtcp_growth(const struct jtcp_window *i, const struct jtcp_window *j, u32 cwnd)
{
	u32 passed_us = j->stamp - i->stamp;
	/* 31 bits: half an hour */
	s64 jitter_us = (s32)(j->transit - i->transit);

	if (!passed_us || passed_us > S32_MAX)
		return 0;
	/* a queue grows by at most a window: 31 + 24 + 8 bits */
	jitter_us = clamp_t(s64, jitter_us, -(s64)passed_us, passed_us);
	return div_s64(jitter_us * min_t(u32, cwnd, JTCP_CWND_MAX) * (1 << JTCP_SCALE), passed_us);
}

/* Whether @growth is congestion: at least @k packets, rounded */
static bool jtcp_grows(s64 growth, u32 k)
{
	return growth >= (s64)k * (1 << JTCP_SCALE) - (1 << (JTCP_SCALE - 1));
}

/* Whether the rtt is close to the largest of the connection */
static bool jtcp_full(u32 rtt_us, u32 rtt_min_us, u32 rtt_max_us)
{
	u32 apart_us = rtt_max_us - rtt_min_us;

	return apart_us >= JTCP_APART_US && rtt_us >= rtt_max_us - (apart_us >> JTCP_FULL);
}

/* ------------------------------------------------------------------------- */
/* The sender                                                                */

/* Discards what was measured of windows */
static void jtcp_forget(struct jtcp *ca)
{
	ca->windows = 0;
	ca->count = 0;
}

/* Adds a packet to this window, and ends the window if it was its last packet */
static void jtcp_sample(struct jtcp *ca, const struct tcp_sock *tp, u32 stamp, u32 transit)
{
	if (!ca->count) {
		ca->base = transit;
		ca->sum = 0;
		ca->end = tp->delivered + tcp_snd_cwnd(tp) - 1;
	}
	ca->count++;
	ca->sum += (s32)(transit - ca->base);
	if (before(tp->delivered, ca->end))
		return;
	ca->prev = ca->last;
	ca->last = (struct jtcp_window){ stamp, ca->base + (s32)div_s64(ca->sum, ca->count) };
	ca->windows = min(ca->windows + 1, 2);
	ca->count = 0;
}

/* Growth of the queue in a round trip, packets, JTCP_SCALE */
static s64 jtcp_queue_grows(const struct sock *sk)
{
	const struct jtcp *ca = inet_csk_ca(sk);

	return jtcp_growth(&ca->prev, &ca->last, tcp_snd_cwnd(tcp_sk(sk)));
}

static void jtcp_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct jtcp *ca = inet_csk_ca(sk);
	u32 tsval = tp->rx_opt.rcv_tsval;
	bool timestamps;

	/* a retransmission has no rtt, and an ACK that acknowledges nothing has an old timestamp */
	if (sample->rtt_us <= 0 || !sample->pkts_acked)
		return;
	ca->rtt_us = sample->rtt_us;
	ca->rtt_min_us = ca->rtt_max_us ? min(ca->rtt_min_us, ca->rtt_us) : ca->rtt_us;
	ca->rtt_max_us = max(ca->rtt_max_us, ca->rtt_us);

	timestamps = READ_ONCE(jtcp_clock) && tcpcc_usec_ts(tp);
	if (timestamps) {
		rival_clock_ack(&ca->clock, tp->tcp_mstamp, tsval, tp->rx_opt.saw_tstamp);
		timestamps = ca->clock.unit_us == 1;
	}
	if (timestamps != ca->timestamps) {
		ca->timestamps = timestamps;
		jtcp_forget(ca);
	}
	if (timestamps)
		jtcp_sample(ca, tp, tsval, tsval - tp->rx_opt.rcv_tsecr);
	else
		jtcp_sample(ca, tp, tp->tcp_mstamp, ca->rtt_us);
	if (trace_jtcp_update_enabled())
		trace_jtcp_update(sk, jtcp_queue_grows(sk), ca->windows, ca->rtt_us,
				  ca->rtt_min_us, ca->rtt_max_us);
}

static bool jtcp_is_congested(const struct sock *sk)
{
	const struct jtcp *ca = inet_csk_ca(sk);

	if (ca->marked || ca->windows < 2)
		return true;
	if (READ_ONCE(jtcp_guard) && jtcp_full(ca->rtt_us, ca->rtt_min_us, ca->rtt_max_us))
		return true;
	return jtcp_grows(jtcp_queue_grows(sk), READ_ONCE(jtcp_k));
}

static u32 jtcp_ssthresh(struct sock *sk)
{
	struct jtcp *ca = inet_csk_ca(sk);

	ca->before = 0;
	return jtcp_is_congested(sk) ? tcp_reno_ssthresh(sk) : rival_keep(sk, &ca->before);
}

static void jtcp_ack(struct sock *sk, u32 flags)
{
	struct jtcp *ca = inet_csk_ca(sk);

	ca->marked = !!(flags & CA_ACK_ECE);
}

/* A pause of the application is no measurement of a queue. */
static void jtcp_restart(struct sock *sk)
{
	jtcp_forget(inet_csk_ca(sk));
}

static void jtcp_event(struct sock *sk, enum tcp_ca_event event)
{
	struct jtcp *ca = inet_csk_ca(sk);

	rival_event(sk, event, &ca->before);
}

tcpcc_cwnd_events(jtcp_cwnd_event, jtcp_restart, jtcp_event);

static void jtcp_init(struct sock *sk)
{
	struct jtcp *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
}

static size_t jtcp_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct jtcp *ca = inet_csk_ca(sk);
	struct tcpcc_view *view;

	view = tcpcc_view_of(ext, info, ca->timestamps ? "timestamps" : "round-trip times");
	if (!view || ca->windows < 2)
		return 0;
	tcpcc_view_add(view, "queue_grows_milli_segs",
		       max(jtcp_queue_grows(sk), 0LL) * 1000 >> JTCP_SCALE);
	tcpcc_view_add(view, "rtt_us", ca->rtt_us);
	tcpcc_view_add(view, "rtt_min_us", ca->rtt_min_us);
	tcpcc_view_add(view, "rtt_max_us", ca->rtt_max_us);
	return 0;
}

static struct tcp_congestion_ops jtcp_ops __read_mostly = {
	.name		= "jtcp",
	.owner		= THIS_MODULE,
	.init		= jtcp_init,
	.ssthresh	= jtcp_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.in_ack_event	= jtcp_ack,
	.pkts_acked	= jtcp_acked,
	.get_info	= jtcp_get_info,
	TCPCC_CWND_EVENTS(jtcp_cwnd_event, jtcp_restart, jtcp_event),
};

static int __init jtcp_register(void)
{
	BUILD_BUG_ON(sizeof(struct jtcp) > ICSK_CA_PRIV_SIZE);

	return tcp_register_congestion_control(&jtcp_ops);
}

static void __exit jtcp_unregister(void)
{
	tcp_unregister_congestion_control(&jtcp_ops);
}

module_init(jtcp_register);
module_exit(jtcp_unregister);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("JTCP: distinguishes congestion losses from noise by jitter");
