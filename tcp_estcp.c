// SPDX-License-Identifier: GPL-2.0
/*
 * Explicitly Synchronized TCP (ESTCP): the window controller of its senders.
 *
 *   H. Nishiyama, N. Ansari, N. Kato, "Wireless Loss-Tolerant Congestion Control
 *   Protocol Based on Dynamic AIMD Theory".
 *
 * The bottleneck synchronizes all its flows.  When its buffer overflows a phase ends.  The
 * router signals this to all flows, and each reduces its window by so much that the queue
 * empties.  Within a phase the rates of all flows grow equally fast, independent of their round
 * trip times.  The router chooses the pace, g, so that a phase takes the time D:
 *
 *   cwnd += alpha / cwnd for each ACK,   alpha = rtt_min / g
 *   cwnd *= beta at the end of a phase
 *	  and at each loss,		beta = rtt_min / rtt_cur
 *
 * g is in seconds per packet.  A window grows by alpha in a round trip, so a rate grows by 1 / g
 * packets/s in a second.  The share p of packets that the router marks encodes g, and the pair
 * of codepoints that it uses encodes the phase (see include/tcpcc_estcp.h).  tcp_feedback.ko,
 * here and at the receiver, returns the codepoints.
 *
 * TCP and include/tcpcc_explicit.h do everything except this law; the header describes the
 * modes.  FEEDBACK begins when both codepoints of a pair have arrived.  It ends if there are no
 * codepoints, or no marks, or if something other than an ESTCP router sets them.  A
 * connection that uses ECN requests no codepoints, and stays Reno.
 *
 * One default differs from the paper: the share of marks of the last phase counts like 384
 * segments of this phase (estcp_prior).  When a phase begins p is estimated from few marks, and
 * without this alpha would jump.  "As printed" is estcp_prior=0, with a router of "patience 0"
 * and a constant gain (sched/estcp_law.c explains why these are not the default).  The scenarios
 * estcp-fig2, estcp-fig3a and estcp-few-many have both columns.
 *
 * What the paper does not specify:
 *   o rtt_min is the least sample since the flow began.  rtt_cur is the last sample before the
 *     reduction, because a smoothed rtt would still show an emptier queue.  beta is within
 *     [1/4, 1], and a window is never below 2.
 *   o An overflow is seen twice, as the end of a phase and as a loss.  The window is reduced
 *     once: after a reduction there is no other until everything that was sent before has been
 *     acknowledged.  If a loss turns out to be spurious its reduction is undone, including the
 *     fraction of a segment, and the next loss reduces the window again.  The end of a phase is
 *     never spurious: its reduction stays, even if a loss came before it.
 *   o At a loss TCP goes to the smaller window by proportional rate reduction (RFC 6937).  At the
 *     end of a phase the window is set at once, so that the queue drains now.  If a loss of the
 *     same overflow is noticed after that, TCP's reduction starts from the packets in flight.
 *     Otherwise these packets would stay in flight until recovery ends.
 *   o A window also grows in recovery ("for each ACK").  If the path loses one packet in a
 *     thousand a sender is in recovery half of the time, and would otherwise get less than others.
 *   o Slow start is TCP's.  The first reduction ends it, and leaves at most half of the window, as
 *     TCP does, because the last round trip has doubled the window.  This matters to a flow that
 *     starts while a queue never empties: its rtt_min includes the queue, and beta would be 1.
 *   o Until ESTCP_KNOWN ACKs have brought a codepoint g is not known, and alpha is Reno's, 1.
 *   o g is estimated continuously, not once per phase.  Segments are counted: the weight of an
 *     ACK's codepoint is the number of segments that the ACK newly acknowledges, also by SACK.
 *     This is exact for packets that GRO has merged, because they have the same codepoint.  If
 *     other ACKs were delayed or lost, the estimate is unbiased, but noisier.
 *   o Three successive segments with the other pair are a new phase; one or two are reordered
 *     packets.  For a round trip after a new phase has begun the old pair is ignored, because
 *     these are late packets.
 *   o After more than half a second without a codepoint the phase is unknown.  The next codepoint
 *     sets it, and the window is not reduced for an overflow in which the flow had no part.
 *   o Fractions of a segment are kept, also in a reduction.  A window never grows faster than in
 *     slow start, even if alpha is large.
 *   o beta is 1 if the queue is empty.  This is how ESTCP tolerates losses of a link.  On a link
 *     that drops without a queue (a policer) only the router's marks limit the growth.
 *
 * The paper states that losses can be distinguished: a loss without the end of a phase is not
 * from congestion.  It does not use this, because the loss may be noticed before the phase ends.
 * With estcp_each_loss=0 a loss does not reduce the window; the end of its phase, within a round
 * trip, does (column in estcp-fig3b).  But behind a router that drops packets and signals no
 * phase, such as a policer, nothing would reduce the window.  So this is not the default.
 *
 * Signs that there is no ESTCP router:
 *   o No codepoint for estcp_patience round trips.
 *   o ESTCP_SAME successive ACKs with the same codepoint: the path clears the bits, or does not
 *     set them.  A router marks at least 1/16 and at most 15/16 of the packets.
 *   o Codepoints of both pairs in one phase, or phases that are shorter than those of routers:
 *     some device sets the bits as in RFC 3168 (there 11 is Congestion Experienced, and a router
 *     may set it on 01 and 10).  Each such event adds to a doubt, and the doubt decreases with
 *     time.  At ESTCP_DOUBT the sender falls back to Reno, until there were two whole phases
 *     without such an event.  A change from 10 to 11 looks like a mark of the same phase, so only
 *     even phases show this.  The parameter estcp_distrusted counts how often this happens.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "tcpcc_compat.h"
#include "tcpcc_estcp.h"
#include "tcpcc_explicit.h"
#include "tcpcc_feedback.h"
#include "tcpcc_param.h"
#include "tcpcc_view.h"

#define CREATE_TRACE_POINTS
#include "trace_estcp.h"

/* Fraction bits of alpha: g is at most 2^24 us, so alpha is at least 1 per us of rtt_min */
#define ESTCP_ALPHA	24
#define ESTCP_RENO	BIT_ULL(ESTCP_ALPHA)	/* alpha of Reno: 1 segment */

/* The least beta: one sample of a delayed ACK reduces by at most 3/4 (beta_of_rtt) */
#define ESTCP_BETA_MIN	(TCPCC_ESTCP_ONE / 4)

/* The largest beta for the reduction that ends slow start, as TCP's (estcp-crowd) */
#define ESTCP_BETA_START	((u32)TCPCC_ESTCP_ONE / 2)

/* The smallest window, segments, as TCP's (RFC 5681) */
#define ESTCP_CWND_MIN	2U

/*
 * ACKs with a codepoint until g is known: one standard deviation of the share of 32 is 0.09, a
 * factor of 2.7 in g (estimates_nothing_from_little)
 */
#define ESTCP_KNOWN	32U

/* g is computed once per so many of them: a logarithm for each ACK would be a waste */
#define ESTCP_EVERY	16U

/* Successive segments that make a new phase; reordering by two does not (phase_with_reordering) */
#define ESTCP_RUN	3U

/*
 * Successive ACKs with one codepoint that show that there is no router: with a share of 15/16,
 * the probability of 256 is (15/16)^256, 1 in 15 million (bleached)
 */
#define ESTCP_SAME	256U

/* The most segments that one ACK may count for: more than GRO merges */
#define ESTCP_WEIGHT	64U

/*
 * When a phase has more segments than this, its counts are halved.  So newer segments count
 * more: a router may lower g within a phase that lasts too long, and a fast flow has to notice
 */
#define ESTCP_N_MAX	4096U

/*
 * Points of doubt: for a codepoint of the other pair, for a short phase, and the limit.  Three
 * short phases reach the limit.  After each 256 ACKs a point is removed (notices_rfc3168 in
 * tests/selftests/estcp.sh)
 */
#define ESTCP_MIXED_PAIRS	1
#define ESTCP_SHORT_PHASE	3
#define ESTCP_DOUBT		8

/* Phases without doubt before marks are believed again */
#define ESTCP_CLEAN		2

/* After so long without a codepoint the phase is unknown: a router's hold-off by default, ms */
#define ESTCP_GAP	500

/* A phase is short if it is shorter than two round trips, limited to this range, ms */
#define ESTCP_SHORT_MIN	TCPCC_ESTCP_PHASE_MIN
#define ESTCP_SHORT_MAX	400

TCPCC_PARAM(estcp_prior, 384, 0, 65536,
	    "Weight of the last phase's share of marks in this phase, segments");
TCPCC_PARAM(estcp_patience, 4, 1, 100,
	    "Round trips without a codepoint before the fallback to Reno");
TCPCC_PARAM(estcp_each_loss, 1, 0, 1,
	    "1: each loss reduces the window; 0: only the end of a phase does");

static atomic_t estcp_distrusted = ATOMIC_INIT(0);

static int estcp_distrusted_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%u\n", atomic_read(&estcp_distrusted));
}

static const struct kernel_param_ops estcp_distrusted_ops = {
	.get	= estcp_distrusted_get,
};

module_param_cb(estcp_distrusted, &estcp_distrusted_ops, NULL, 0444);
MODULE_PARM_DESC(estcp_distrusted,
		 "Number of times that marks were not from an ESTCP router");

enum estcp_event {
	ESTCP_NOTHING,
	ESTCP_CHANGE,		/* a new phase has begun */
	ESTCP_MIXED,		/* the other pair came, but no new phase */
};

/* State of this phase, and of the previous one */
struct estcp_phase {
	u32	n;		/* segments whose codepoint has arrived */
	u32	marked;		/* those of them that were marked */
	u32	prior;		/* share in the previous phase, TCPCC_ESTCP_SCALE; 0: not known */
	u32	other;		/* successive segments of the other pair */
	u32	other_marked;	/* those of them that were marked */
	u16	acks;		/* ACKs that brought n; wraps */
	u16	same;		/* successive ACKs with the same codepoint, up to U16_MAX */
	u8	count;		/* phases that have ended; wraps */
	u8	last:2,		/* codepoint of the last ACK */
		heard:1,	/* odd is the current phase of the router */
		odd:1,		/* the pair of this phase */
		known:1;	/* acks has reached ESTCP_KNOWN once */
};

/* Per-socket state */
struct estcp {
	struct explicit_sender ex;
	u64	alpha;		/* 2^-24 segment per round trip */
	u64	owed;		/* growth that is less than a segment, see estcp_increase() */
	struct estcp_phase phase;
	u32	delivered;	/* tp->delivered at the last ACK */
	s32	credit;		/* delivered segments that no codepoint counts for yet */
	u32	hold_end;	/* snd_nxt at the last reduction */
	u32	settle_end;	/* snd_nxt when the phase began */
	u32	undo;		/* cwnd before the last loss */
	u32	undo_part;	/* and the fraction of a segment, 2^-24 */
	u32	heard_at;	/* when the last codepoint came, jiffies */
	u32	changed_at;	/* when the phase began, jiffies */
	u8	doubt;		/* points of doubt */
	u8	calm;		/* counts ACKs; when it wraps, a point of doubt is removed */
	u8	clean:4,	/* successive phases without doubt */
		distrust:1,	/* doubt was the reason of the last fallback */
		held:1,		/* there is no reduction before hold_end */
		by_loss:1,	/* a loss alone caused the last reduction */
		settling:1;	/* the old pair is ignored before settle_end */
};

/* ------------------------------------------------------------------------- */
/* The law: pure functions, driven by tests/kunit with the paper's numbers   */

/* The growth of a window in a round trip: segments, ESTCP_ALPHA, below 2^41 */
static u64 estcp_alpha(u32 rtt_min_us, u32 g_us)
{
	return div_u64((u64)rtt_min_us << ESTCP_ALPHA, g_us);
}

/* beta: ESTCP_BETA_MIN to TCPCC_ESTCP_ONE.  @rtt_us: rtt_cur; 0: none yet */
static u32 estcp_beta(u32 rtt_min_us, u32 rtt_us)
{
	if (rtt_us <= rtt_min_us)
		return TCPCC_ESTCP_ONE;
	return max_t(u32, div_u64((u64)rtt_min_us << TCPCC_ESTCP_SCALE, rtt_us),
		     ESTCP_BETA_MIN);
}

/*
 * The fraction of a segment in a window, ESTCP_ALPHA.  It is less than one segment, even if TCP
 * itself has reduced the window (idle): @owed of a window of 1000 would be a hundred segments
 * of a window of 10.
 */
static u32 estcp_part(u64 owed, u32 cwnd)
{
	return min_t(u64, div_u64(owed, max(cwnd, 1U)), ESTCP_RENO - 1);
}

/**
 * estcp_decrease() - the window after a reduction
 * @cwnd: segments
 * @beta: the share that is left, TCPCC_ESTCP_SCALE
 * @owed: as in estcp_increase(); set to the fraction of a segment that is left.  Without it half
 *	a segment would be lost on average, a tenth of a window of five
 *
 * Return: segments, at least ESTCP_CWND_MIN
 */
static u32 estcp_decrease(u32 cwnd, u32 beta, u64 *owed)
{
	u64 window = ((u64)cwnd << ESTCP_ALPHA) + estcp_part(*owed, cwnd);
	u32 whole;

	window = mul_u64_u32_shr(window, beta, TCPCC_ESTCP_SCALE);
	whole = window >> ESTCP_ALPHA;
	*owed = 0;
	if (whole < ESTCP_CWND_MIN)
		return ESTCP_CWND_MIN;
	*owed = (window & (ESTCP_RENO - 1)) * whole;
	return whole;
}

/**
 * estcp_increase() - the growth of a window for an ACK
 * @owed: growth that is less than a whole segment, 2^-24 segment times cwnd
 * @cwnd: segments
 * @alpha: from estcp_alpha()
 * @acked: segments that the ACK acknowledges
 *
 * Each acknowledged segment adds alpha / cwnd, at most 1.  @owed keeps the rest, so nothing is
 * lost.  A division is only needed for several segments.  For the limit of @owed see
 * estcp_part().
 *
 * Return: segments
 */
static u32 estcp_increase(u64 *owed, u32 cwnd, u64 alpha, u32 acked)
{
	u64 unit = (u64)max(cwnd, 1U) << ESTCP_ALPHA;

	/* the product is below 2^41 * 2^20, a unit below 2^56 */
	*owed = min(*owed, unit - 1);
	*owed += min(alpha, unit) * min(acked, 1U << 20);
	if (*owed < unit)
		return 0;
	if (*owed < 2 * unit) {
		*owed -= unit;
		return 1;
	}
	return div64_u64_rem(*owed, unit, owed);
}

/* The estimate of p; the previous phase counts like @prior segments.  0: no codepoint yet */
static u32 estcp_share(const struct estcp_phase *phase, u32 prior)
{
	u32 n = phase->n;
	u64 marked = (u64)phase->marked << TCPCC_ESTCP_SCALE;

	if (phase->prior) {
		n += prior;
		marked += (u64)phase->prior * prior;
	}
	return n ? div_u64(marked, n) : 0;
}

/*
 * Begins a new phase with the segments of the other pair.  Until g is known, all phases are
 * counted as one, because a single short phase would not have enough ACKs.
 */
static void estcp_next_phase(struct estcp_phase *phase, u32 prior)
{
	if (phase->known) {
		phase->prior = clamp_t(u32, estcp_share(phase, prior),
				       TCPCC_ESTCP_P_MIN, TCPCC_ESTCP_P_MAX);
		phase->n = 0;
		phase->marked = 0;
		phase->acks = 0;
	}
	phase->odd = !phase->odd;
	phase->n += phase->other;
	phase->marked += phase->other_marked;
	phase->acks += !!phase->other;
	phase->other = 0;
	phase->other_marked = 0;
	phase->count++;
}

/**
 * estcp_hear() - evaluate a codepoint
 * @phase: state of the phase
 * @codepoint: 0 to 3
 * @weight: segments that it counts for, 1 to ESTCP_WEIGHT
 * @settling: the phase began less than a round trip ago
 * @prior: the share of the previous phase counts like so many segments
 *
 * Return: enum estcp_event
 */
static enum estcp_event estcp_hear(struct estcp_phase *phase, u8 codepoint,
				   u32 weight, bool settling, u32 prior)
{
	u32 marked = codepoint & TCPCC_ESTCP_MARK ? weight : 0;
	bool odd = codepoint & TCPCC_ESTCP_ODD;
	enum estcp_event event = ESTCP_NOTHING;

	phase->same = codepoint == phase->last ?
		      min(phase->same + 1, U16_MAX) : 1;
	phase->last = codepoint;

	if (!phase->heard) {
		phase->other = 0;
		phase->other_marked = 0;
		if (odd != phase->odd)
			estcp_next_phase(phase, prior);
		phase->heard = 1;
	}
	if (odd != phase->odd) {
		if (settling)
			return ESTCP_NOTHING;
		phase->other += weight;
		phase->other_marked += marked;
		if (phase->other < ESTCP_RUN)
			return ESTCP_NOTHING;
		estcp_next_phase(phase, prior);
		return ESTCP_CHANGE;
	}

	if (phase->other) {
		phase->other = 0;
		phase->other_marked = 0;
		event = ESTCP_MIXED;
	}
	if (phase->n >= ESTCP_N_MAX) {
		phase->n /= 2;
		phase->marked /= 2;
	}
	phase->n += weight;
	phase->marked += marked;
	/* it must not stop at a limit: estcp_judge() uses every 16th (follows_for_long) */
	if (++phase->acks >= ESTCP_KNOWN)
		phase->known = 1;
	return event;
}

/* Whether a router may have set the codepoints of the phase: both of the pair were there */
static bool estcp_is_router(const struct estcp_phase *phase)
{
	return phase->marked && phase->marked < phase->n;
}

/**
 * estcp_weight() - how many segments the codepoints of an ACK count for
 * @credit: delivered segments that no codepoint counts for yet; below 0: segments that were
 *	counted before TCP processed their ACKs
 * @n: number of codepoints
 *
 * While the application owns the socket, TCP processes ACKs late.  The first of these ACKs then
 * brings all codepoints, and the others bring none.
 *
 * Return: segments, for all @n together
 */
static u32 estcp_weight(s32 *credit, u32 n)
{
	s32 most = min(n, 4 * TCPCC_FB_COUNT_MAX);
	s32 weight = *credit;

	if (most > 1)
		weight = max(weight, most);
	if (weight <= 0)
		return 0;
	*credit = max(*credit - weight, -(s32)(4 * TCPCC_FB_COUNT_MAX));
	return min_t(u32, weight, most * ESTCP_WEIGHT);
}

/* Whether a phase of @ms is shorter than those of routers */
static bool estcp_is_short(u32 ms, u32 srtt_us)
{
	return ms < clamp_t(u32, 2 * (srtt_us / USEC_PER_MSEC), ESTCP_SHORT_MIN,
			    ESTCP_SHORT_MAX);
}

/* ------------------------------------------------------------------------- */
/* The sender                                                                */

static u32 estcp_beta_now(const struct estcp *ca)
{
	return estcp_beta(ca->ex.mrtt_us, ca->ex.rtt_us);
}

/* beta for this socket, now */
static u32 estcp_beta_of(const struct sock *sk)
{
	u32 beta = estcp_beta_now(inet_csk_ca(sk));

	if (tcp_sk(sk)->snd_ssthresh >= TCP_INFINITE_SSTHRESH)
		return min(beta, ESTCP_BETA_START);
	return beta;
}

static void estcp_hold(struct sock *sk, bool by_loss)
{
	struct estcp *ca = inet_csk_ca(sk);

	ca->hold_end = tcp_sk(sk)->snd_nxt;
	ca->held = 1;
	ca->by_loss = by_loss;
}

/* Whether data that was sent before the last reduction is not acknowledged yet */
static bool estcp_is_held(const struct sock *sk)
{
	const struct estcp *ca = inet_csk_ca(sk);

	return ca->held && before(tcp_sk(sk)->snd_una, ca->hold_end);
}

static void estcp_enter(struct sock *sk, enum explicit_mode mode)
{
	struct estcp *ca = inet_csk_ca(sk);

	explicit_enter(&ca->ex, mode);
	ca->doubt = 0;
	ca->calm = 0;
	ca->clean = 0;
	ca->owed = 0;
	ca->alpha = ESTCP_RENO;
	if (mode == EXPLICIT_FEEDBACK) {
		ca->distrust = 0;
		return;
	}
	/* the next codepoints may be of another router */
	memset(&ca->phase, 0, sizeof(ca->phase));
}

/* The codepoints are not from an ESTCP router: falls back */
static void estcp_distrust(struct sock *sk)
{
	struct estcp *ca = inet_csk_ca(sk);

	atomic_inc(&estcp_distrusted);
	pr_info_once("codepoints are not from an ESTCP router: falling back to Reno\n");
	estcp_enter(sk, EXPLICIT_FALLBACK);
	ca->distrust = 1;
}

static void estcp_doubt(struct sock *sk, u32 points)
{
	struct estcp *ca = inet_csk_ca(sk);

	ca->clean = 0;
	ca->doubt = min(ca->doubt + points, 255U);
	if (ca->doubt >= ESTCP_DOUBT && !ca->distrust)
		estcp_distrust(sk);
}

/*
 * A loss has reduced the window, and now the phase has ended, so there was an overflow.  If TCP
 * finds later that the loss was spurious, the window must not come back beyond the reduced one.
 */
static void estcp_confirm(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct estcp *ca = inet_csk_ca(sk);

	ca->by_loss = 0;
	ca->undo = min(ca->undo, tp->snd_ssthresh);
	ca->undo_part = 0;
	tp->prior_ssthresh = min(tp->prior_ssthresh, tp->snd_ssthresh);
}

/* At the end of a phase: reduces the window, unless it was just reduced */
static void estcp_reduce(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct estcp *ca = inet_csk_ca(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	u32 cwnd = tcp_snd_cwnd(tp);

	if (estcp_is_held(sk)) {
		if (ca->by_loss)
			estcp_confirm(sk);
		return;
	}
	estcp_hold(sk, false);
	/* in these states TCP goes to ssthresh, so ssthresh is what must be reduced */
	if (state >= TCP_CA_CWR)
		cwnd = min(tp->snd_ssthresh, max(cwnd, tp->prior_cwnd));
	cwnd = estcp_decrease(cwnd, estcp_beta_of(sk), &ca->owed);
	WRITE_ONCE(tp->snd_ssthresh, cwnd);
	/* this reduction must not be undone */
	tp->prior_ssthresh = 0;
	if (state < TCP_CA_CWR)
		tcp_snd_cwnd_set(tp, min(cwnd, tcp_snd_cwnd(tp)));
}

static void estcp_changed(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct estcp *ca = inet_csk_ca(sk);
	u32 ms = jiffies_to_msecs(tcp_jiffies32 - ca->changed_at);
	bool first = !ca->changed_at;

	ca->changed_at = tcp_jiffies32 ?: 1;
	ca->settle_end = tp->snd_nxt;
	ca->settling = 1;
	if (ca->ex.mode == EXPLICIT_FEEDBACK)
		estcp_reduce(sk);
	if (!first && estcp_is_short(ms, tp->srtt_us >> 3))
		estcp_doubt(sk, ESTCP_SHORT_PHASE);
	else
		ca->clean = min(ca->clean + 1, ESTCP_CLEAN);
}

/* Evaluates @codepoint, which counts for @weight segments */
static void estcp_note(struct sock *sk, u8 codepoint, u32 weight)
{
	struct estcp *ca = inet_csk_ca(sk);

	if (!weight)
		return;
	/* when it wraps, 256 ACKs have passed */
	if (!++ca->calm && ca->doubt)
		ca->doubt--;
	switch (estcp_hear(&ca->phase, codepoint, weight, ca->settling,
			   READ_ONCE(estcp_prior))) {
	case ESTCP_CHANGE:
		estcp_changed(sk);
		break;
	case ESTCP_MIXED:
		estcp_doubt(sk, ESTCP_MIXED_PAIRS);
		break;
	case ESTCP_NOTHING:
		break;
	}
}

/* Updates mode and alpha after the codepoints of an ACK */
static void estcp_judge(struct sock *sk)
{
	struct estcp *ca = inet_csk_ca(sk);
	const struct estcp_phase *phase = &ca->phase;

	if (ca->ex.mode == EXPLICIT_FEEDBACK) {
		if (phase->same >= ESTCP_SAME) {
			pr_info_once("no router on the path marks packets: falling back to Reno\n");
			estcp_enter(sk, EXPLICIT_FALLBACK);
		}
	} else if (estcp_is_router(phase) &&
		   (!ca->distrust || ca->clean >= ESTCP_CLEAN)) {
		estcp_enter(sk, EXPLICIT_FEEDBACK);
	}
	if (ca->ex.mode == EXPLICIT_FEEDBACK && phase->known &&
	    (phase->acks % ESTCP_EVERY == 0 || ca->alpha == ESTCP_RENO))
		ca->alpha = estcp_alpha(ca->ex.mrtt_us,
					tcpcc_estcp_g_us(estcp_share(phase,
								     READ_ONCE(estcp_prior))));
}

/* The ACK has brought @n codepoints, which are in @word. */
static void estcp_listen(struct sock *sk, u32 word, u32 n)
{
	struct estcp *ca = inet_csk_ca(sk);
	u8 last = tcpcc_fb_last(word);
	u32 weight = estcp_weight(&ca->credit, n);
	u32 left = weight, sum = 0, i;
	u8 codepoint;

	ca->ex.heard = true;
	if (tcp_jiffies32 - ca->heard_at > msecs_to_jiffies(ESTCP_GAP))
		ca->phase.heard = 0;
	ca->heard_at = tcp_jiffies32;

	if (n > 1) {
		for (i = 0; i < 4; i++)
			sum += tcpcc_fb_count(word, i);
		/* the other pair first, and the last codepoint last, with the remaining weight */
		for (i = 0; i < 3; i++) {
			u32 part;

			codepoint = last ^ (3 - i);
			part = weight * tcpcc_fb_count(word, codepoint) / sum;
			left -= part;
			estcp_note(sk, codepoint, part);
		}
	}
	estcp_note(sk, last, left);
	if (weight)
		estcp_judge(sk);
	if (trace_estcp_update_enabled())
		trace_estcp_update(sk, ca->ex.mode, ca->phase.count, last, weight,
				   ca->phase.n,
				   estcp_share(&ca->phase, READ_ONCE(estcp_prior)),
				   ca->alpha, ca->ex.rtt_us, ca->ex.mrtt_us,
				   estcp_beta_now(ca));
}

/*
 * In recovery TCP does not call .cong_avoid, and sets cwnd to ssthresh at its end.  So ssthresh
 * grows meanwhile, for the delivered segments.
 */
static void estcp_grow_in_recovery(struct sock *sk, u32 delivered)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct estcp *ca = inet_csk_ca(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	u32 cwnd = tp->snd_ssthresh;

	if ((state != TCP_CA_CWR && state != TCP_CA_Recovery) ||
	    !before(tp->snd_una, tp->high_seq) || !tcp_is_cwnd_limited(sk))
		return;
	/* a socket that changed from bbr during recovery has no ssthresh */
	if (cwnd >= TCP_INFINITE_SSTHRESH)
		return;
	cwnd += estcp_increase(&ca->owed, cwnd, ca->alpha, delivered);
	WRITE_ONCE(tp->snd_ssthresh, min(cwnd, tp->snd_cwnd_clamp));
}

/*
 * TCP calls this after it has removed the acknowledged segments from its queue and counted them.
 * After this it calls .ssthresh, if the ACK shows a loss, and then .cong_avoid.
 */
static void estcp_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct estcp *ca = inet_csk_ca(sk);
	u32 delivered = min(tp->delivered - ca->delivered, 1U << 20);
	u32 word, n;

	ca->delivered = tp->delivered;
	if (sample->rtt_us > 0) {
		ca->ex.rtt_us = min_t(u32, sample->rtt_us, EXPLICIT_RTT_CAP);
		ca->ex.mrtt_us = min(ca->ex.mrtt_us, ca->ex.rtt_us);
	}
	if (!ca->ex.fb)
		return;

	ca->held = estcp_is_held(sk);
	if (ca->settling && !before(tp->snd_una, ca->settle_end))
		ca->settling = 0;
	ca->credit = min_t(s32, ca->credit + delivered, 1 << 20);
	if (ca->ex.mode == EXPLICIT_FEEDBACK)
		estcp_grow_in_recovery(sk, delivered);

	n = tcpcc_feedback_take(ca->ex.fb, &word);
	if (n)
		estcp_listen(sk, word, n);
	if (before(tp->snd_una, ca->ex.round))
		return;
	ca->ex.round = tp->snd_nxt;
	if (explicit_is_silent(&ca->ex, READ_ONCE(estcp_patience)))
		estcp_enter(sk, EXPLICIT_FALLBACK);
}

static void estcp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct estcp *ca = inet_csk_ca(sk);
	u32 cwnd;

	if (ca->ex.mode != EXPLICIT_FEEDBACK) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	cwnd = tcp_snd_cwnd(tp);
	cwnd += estcp_increase(&ca->owed, cwnd, ca->alpha, acked);
	tcp_snd_cwnd_set(tp, clamp(cwnd, 1U, max(tp->snd_cwnd_clamp, 1U)));
}

static u32 estcp_ssthresh(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct estcp *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	ca->undo = cwnd;
	ca->undo_part = estcp_part(ca->owed, cwnd);
	if (ca->ex.mode != EXPLICIT_FEEDBACK)
		return tcp_reno_ssthresh(sk);
	if (estcp_is_held(sk) || !READ_ONCE(estcp_each_loss)) {
		/* after the end of a phase more than the window may be in flight */
		tp->prior_cwnd = max(cwnd, tcp_packets_in_flight(tp));
		return max(cwnd, ESTCP_CWND_MIN);
	}
	estcp_hold(sk, true);
	return estcp_decrease(cwnd, estcp_beta_of(sk), &ca->owed);
}

/*
 * The loss was spurious: the window comes back, and the next loss reduces it again.  If the end
 * of a phase has reduced the window before, this reduction and its hold stay.
 */
static u32 estcp_undo_cwnd(struct sock *sk)
{
	struct estcp *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (ca->by_loss)
		ca->held = 0;
	ca->by_loss = 0;
	if (cwnd >= ca->undo)
		return cwnd;
	ca->owed = (u64)ca->undo_part * ca->undo;
	return ca->undo;
}

static void estcp_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct estcp *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->ex.mrtt_us = U32_MAX;
	ca->ex.round = tp->snd_nxt;
	ca->alpha = ESTCP_RENO;
	ca->delivered = tp->delivered;
	ca->undo = tcp_snd_cwnd(tp);
	ca->heard_at = tcp_jiffies32;
	if (tcpcc_ecn_negotiated(tp))
		pr_info_once("a connection uses ECN: it stays Reno\n");
	else
		ca->ex.fb = tcpcc_feedback_attach(sk, TCPCC_FB_ESTCP);
}

/*
 * Only for /proc/net/tcpcc: ss shows the least rtt without this, and estcp knows no rate of the
 * path.
 */
static size_t estcp_get_info(struct sock *sk, u32 ext, int *attr,
			     union tcp_cc_info *info)
{
	const struct estcp *ca = inet_csk_ca(sk);
	struct tcpcc_view *view = tcpcc_view_of(ext, info, explicit_mode_name(&ca->ex, "marks"));
	u32 share;

	if (!view)
		return 0;
	if (ca->ex.mrtt_us != U32_MAX)
		tcpcc_view_add(view, "rtt_min_us", ca->ex.mrtt_us);
	if (ca->ex.mode == EXPLICIT_FEEDBACK && ca->phase.known) {
		share = estcp_share(&ca->phase, READ_ONCE(estcp_prior));
		tcpcc_view_add(view, "g_us_per_seg", tcpcc_estcp_g_us(share));
		tcpcc_view_add(view, "alpha_milli_segs",
			       ca->alpha * 1000 >> ESTCP_ALPHA);
		tcpcc_view_add(view, "beta_permille",
			       estcp_beta_now(ca) * 1000 >> TCPCC_ESTCP_SCALE);
		tcpcc_view_add(view, "phases", ca->phase.count);
	}
	return 0;
}

/*
 * TCP_CONG_NON_RESTRICTED is not set, for the reason of all explicit senders and for one more: if
 * no queue stands, beta is 1 and losses do not reduce the window at all.  This is right behind an
 * ESTCP router only.
 */
static struct tcp_congestion_ops explicit_ops __read_mostly = {
	.name		= "estcp",
	.owner		= THIS_MODULE,
	.init		= estcp_init,
	.release	= explicit_release,
	.pkts_acked	= estcp_pkts_acked,
	.cong_avoid	= estcp_cong_avoid,
	.ssthresh	= estcp_ssthresh,
	.undo_cwnd	= estcp_undo_cwnd,
	.sndbuf_expand	= explicit_sndbuf_expand,
	.get_info	= estcp_get_info,
};

static_assert(sizeof(struct estcp) <= ICSK_CA_PRIV_SIZE);

MODULE_DESCRIPTION("TCP ESTCP: windows synchronized by the bottleneck's phases");
