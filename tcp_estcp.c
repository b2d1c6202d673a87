// SPDX-License-Identifier: GPL-2.0
/*
 * Explicitly Synchronized TCP (ESTCP): the window controller of its senders.
 *
 *   H. Nishiyama, N. Ansari, N. Kato, "Wireless Loss-Tolerant Congestion Control
 *   Protocol Based on Dynamic AIMD Theory".
 *
 * The bottleneck keeps all its flows in step.  When its buffer overflows a phase ends: it
 * tells everybody, and everybody reduces the window by as much as empties the queue.  Within
 * a phase all open their rates equally fast, whatever their round trip times, at a pace g
 * that the router chooses so that phases become D long:
 *
 *   cwnd += alpha / cwnd for each ACK,   alpha = rtt_min / g
 *   cwnd *= beta at the end of a phase
 *	  and at each loss,		beta = rtt_min / rtt_cur
 *
 * g is in seconds per packet: a window grows by alpha in a round trip, so a rate by
 * 1 / g packets/s in a second.  A router says it by the share p of packets that it marks, and
 * the phase by which pair of codepoints it uses; include/tcpcc_estcp.h has both.
 * tcp_feedback.ko, here and at the receiver, carries them.
 *
 * All but this law is TCP's and include/tcpcc_explicit.h's, which has the modes.  FEEDBACK
 * begins when both codepoints of a pair have come.  Silence, no marks, or marks that are no
 * router's end it.  A connection that uses ECN itself asks for no codepoints, and stays Reno.
 *
 * One default is not the paper's: the share of marks of the last phase counts for 384 segments
 * of this one (estcp_prior), since p is estimated from few marks when a phase begins, and
 * alpha would jump.  "As printed" is estcp_prior=0, with a router of "patience 0" and a constant
 * gain (sched/estcp_law.c says why these are not the default); the scenarios estcp-fig2,
 * estcp-fig3a and estcp-few-many have both columns.
 *
 * What the paper leaves open:
 *   o rtt_min is the least sample since the flow began.  rtt_cur is the last sample before
 *     the reduction: a smoothed one is still that of an emptier queue.  beta is within
 *     [1/4, 1], and a window never below 2.
 *   o An overflow shows twice, as the end of a phase and as a loss.  The window is reduced
 *     once: after a reduction there is no other until all that was sent before it has been
 *     acknowledged.  A loss that turns out to be none gives its reduction back, with the
 *     fraction of a segment, and the next one counts.  The end of a phase is no mistake: its
 *     reduction stands, also where a loss came before it.
 *   o At a loss TCP goes to the smaller window by proportional rate reduction (RFC 6937).  At
 *     the end of a phase the window is set at once, since the queue is to drain now.  If a
 *     loss of the same overflow is noticed then, TCP is told the packets in flight as the
 *     window to come down from, or it would stay there until recovery ends.
 *   o A window grows in recovery too ("for each ACK").  With one packet in a thousand lost on
 *     the way a sender is in recovery half of the time, and would be left behind.
 *   o Slow start is TCP's.  The first reduction ends it, and is to a half at most, as TCP's,
 *     since the last round trip has doubled the window.  It matters to a flow that comes into
 *     a queue that never empties: its rtt_min is that of the queue, and beta would be 1.
 *   o Until ESTCP_KNOWN ACKs have brought a codepoint g is not known, and alpha is Reno's, 1.
 *   o g is estimated all the time, not once per phase.  Counts are of segments: each ACK's
 *     codepoint has the weight of what it newly acknowledges, by SACK too.  That is right for
 *     packets that GRO has merged, which are of one codepoint.  For ACKs that speak for others
 *     that were delayed or lost it is unbiased, and only noisier.
 *   o Three segments in a row with the other pair are a new phase; one or two are packets that
 *     have overtaken others.  For a round trip after it the old pair is late packets: ignored.
 *   o After more than half a second without a codepoint the phase is not known any more.  The
 *     next codepoint says it, and nothing is reduced for an overflow in which the flow had no
 *     part.
 *   o Fractions of a segment are kept, also through a reduction.  A window does not grow faster
 *     than in slow start, whatever alpha is.
 *   o beta is 1 where the queue is empty.  That is how ESTCP bears losses of a link.  On a link
 *     that drops without a queue (a policer) only the router's marks limit its growth.
 *
 * The paper says that losses can be told apart: a loss without the end of a phase is none of
 * congestion.  It does not use that, since the loss may be noticed before the phase's end.
 * With estcp_each_loss=0 a loss leaves the window, and the end of its phase, which comes within
 * a round trip, takes it down (estcp-fig3b has the column).  Behind a router that drops and
 * marks no phase, as a policer does, nothing would: hence the default.
 *
 * What is not an ESTCP router's:
 *   o No codepoint for estcp_patience round trips: silence.
 *   o ESTCP_SAME ACKs in a row with the same one: a path that clears the bits, or where nobody
 *     sets them.  A router marks at least 1/16 and at most 15/16.
 *   o Codepoints of both pairs in one phase, or phases that are shorter than routers make them:
 *     somebody sets the bits in the sense of RFC 3168 (11 is Congestion Experienced there, and
 *     a router may set it on 01 and 10).  Each such event adds to a doubt that time takes away;
 *     at ESTCP_DOUBT it is Reno, until there were two whole phases without.  Where 10 becomes
 *     11 it looks like a mark of the same phase, so only even phases show it.  The parameter
 *     estcp_distrusted counts how often it was.
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

/* Fraction bits of alpha: g is at most 2^24 us, so 1 us of rtt_min is 1 at least */
#define ESTCP_ALPHA	24
#define ESTCP_RENO	BIT_ULL(ESTCP_ALPHA)	/* alpha of Reno: 1 segment */

/* The least beta: one sample of a delayed ACK takes no more than 3/4 (beta_of_rtt) */
#define ESTCP_BETA_MIN	(TCPCC_ESTCP_ONE / 4)

/* The most that beta may be for the reduction that ends slow start: TCP's (estcp-crowd) */
#define ESTCP_BETA_START	((u32)TCPCC_ESTCP_ONE / 2)

/* The smallest window, segments: TCP's (RFC 5681) */
#define ESTCP_CWND_MIN	2U

/*
 * ACKs that have to bring a codepoint before g is known: the share of 32 is right to 0.09
 * (one standard deviation), g to a factor of 2.7 (estimates_nothing_from_little)
 */
#define ESTCP_KNOWN	32U

/* g is computed at each so many of them: a logarithm for each ACK would be for nothing */
#define ESTCP_EVERY	16U

/* Segments in a row that are a new phase: reordering by two is none (phase_with_reordering) */
#define ESTCP_RUN	3U

/*
 * ACKs in a row with one codepoint that no router would send: with the share of 15/16
 * 256 in a row are (15/16)^256, 1 in 15 million (bleached)
 */
#define ESTCP_SAME	256U

/* What one ACK may count for, segments: more than GRO merges */
#define ESTCP_WEIGHT	64U

/*
 * A phase with more segments than this counts the older ones half: routers may lower
 * g within a phase that lasts too long, and a fast flow should not be the last to know
 */
#define ESTCP_N_MAX	4096U

/*
 * Points of doubt: for a pair that does not belong, for a short phase, and enough.  Three
 * short phases are enough; one point goes with each 256 ACKs (notices_rfc3168 in
 * tests/selftests/estcp.sh)
 */
#define ESTCP_MIXED_PAIRS	1
#define ESTCP_SHORT_PHASE	3
#define ESTCP_DOUBT		8

/* Phases without doubt before marks are believed again */
#define ESTCP_CLEAN		2

/* Without a codepoint for longer the phase is unknown: routers' shortest, ms */
#define ESTCP_GAP	500

/* A phase shorter than two round trips, within these bounds, is short, ms */
#define ESTCP_SHORT_MIN	200
#define ESTCP_SHORT_MAX	400

TCPCC_PARAM(estcp_prior, 384, 0, 65536,
	    "Segments that the share of the last phase counts for in this one");
TCPCC_PARAM(estcp_patience, 4, 1, 100,
	    "Round trips without a codepoint before the fallback");
TCPCC_PARAM(estcp_each_loss, 1, 0, 1,
	    "1: each loss reduces the window; 0: the end of a phase alone does");

static atomic_t estcp_distrusted = ATOMIC_INIT(0);

static int estcp_distrusted_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%u\n", atomic_read(&estcp_distrusted));
}

static const struct kernel_param_ops estcp_distrusted_ops = {
	.get	= estcp_distrusted_get,
};

module_param_cb(estcp_distrusted, &estcp_distrusted_ops, NULL, 0444);
MODULE_PARM_DESC(estcp_distrusted, "How often marks were taken for no router's");

enum estcp_event {
	ESTCP_NOTHING,
	ESTCP_CHANGE,		/* a new phase has begun */
	ESTCP_MIXED,		/* a pair that does not belong was there */
};

/* What is known of the phase, and of the one before */
struct estcp_phase {
	u32	n;		/* segments whose codepoint has come */
	u32	marked;		/* those of them that were marked */
	u32	prior;		/* share in the phase before, TCPCC_ESTCP_SCALE; 0: not known */
	u32	other;		/* segments in a row of the other pair */
	u32	other_marked;	/* those of them that were marked */
	u16	acks;		/* that brought n, up to U16_MAX */
	u16	same;		/* ACKs in a row with the same codepoint, up to U16_MAX */
	u8	count;		/* phases that have ended; wraps */
	u8	last:2,		/* the codepoint of the last one */
		heard:1,	/* odd is that of the router */
		odd:1,		/* the pair of this phase */
		known:1;	/* acks has been ESTCP_KNOWN once */
};

/* Per-socket state */
struct estcp {
	struct explicit_sender ex;
	u64	alpha;		/* 2^-24 segment for each round trip */
	u64	owed;		/* growth that is no whole segment yet, alpha */
	struct estcp_phase phase;
	u32	delivered;	/* tp->delivered at the last ACK */
	s32	credit;		/* segments delivered that no codepoint stands for */
	u32	hold_end;	/* snd_nxt at the last reduction */
	u32	settle_end;	/* snd_nxt when the phase began */
	u32	undo;		/* cwnd before the last loss */
	u32	undo_part;	/* and the fraction of a segment, 2^-24 */
	u32	heard_at;	/* when the last codepoint came, jiffies */
	u32	changed_at;	/* when the phase began, jiffies */
	u8	doubt;		/* points */
	u8	calm;		/* ACKs towards one point less */
	u8	clean:4,	/* phases without doubt */
		distrust:1,	/* doubt was why it fell back */
		held:1,		/* there is no reduction before hold_end */
		by_loss:1,	/* it was a loss that began the hold */
		settling:1;	/* the old pair is ignored before settle_end */
};

/* ------------------------------------------------------------------------- */
/* The law: pure functions, driven by tests/kunit with the paper's numbers   */

/* By what a window grows in a round trip: segments, ESTCP_ALPHA, below 2^41 */
static u64 estcp_alpha(u32 rtt_min_us, u32 g_us)
{
	return div_u64((u64)rtt_min_us << ESTCP_ALPHA, g_us);
}

/* What is left of a window: a share, ESTCP_BETA_MIN to TCPCC_ESTCP_ONE.  rtt_cur 0: none yet */
static u32 estcp_beta(u32 rtt_min_us, u32 rtt_us)
{
	if (rtt_us <= rtt_min_us)
		return TCPCC_ESTCP_ONE;
	return max_t(u32, div_u64((u64)rtt_min_us << TCPCC_ESTCP_SCALE, rtt_us),
		     ESTCP_BETA_MIN);
}

/*
 * The fraction of a segment in a window, ESTCP_ALPHA: less than one also where TCP has taken
 * the window down itself (idle).  What was owed to a window of 1000 would be a hundred segments
 * to one of 10.
 */
static u32 estcp_part(u64 owed, u32 cwnd)
{
	return min_t(u64, div_u64(owed, max(cwnd, 1U)), ESTCP_RENO - 1);
}

/**
 * estcp_decrease() - the window after a reduction
 * @cwnd: segments
 * @beta: what is left of it, TCPCC_ESTCP_SCALE
 * @owed: as of estcp_increase(); keeps the fraction of a segment, half of which in
 *	the mean would be a tenth of a window of five
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
 * estcp_increase() - by what a window grows now
 * @owed: growth that is no whole segment yet, 2^-24 segment times cwnd
 * @cwnd: segments
 * @alpha: of estcp_alpha()
 * @acked: segments that an ACK acknowledges
 *
 * Each adds alpha / cwnd, or 1 if that is less.  @owed keeps the rest, so nothing is
 * lost, and divides only where it is worth several segments.  For what was kept see
 * estcp_part().
 *
 * Return: segments
 */
static u32 estcp_increase(u64 *owed, u32 cwnd, u64 alpha, u32 acked)
{
	u64 unit = (u64)max(cwnd, 1U) << ESTCP_ALPHA;

	/* below 2^41 times 2^20, and a unit below 2^56 */
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

/* The estimate of p, in which the phase before counts for @prior segments; 0: nothing has come */
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
 * @phase ends; what has come of the other pair is the first of the new one.  Until g
 * is known, phases count as one: where they are short none alone would be enough.
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
 * estcp_hear() - a codepoint has come
 * @phase: what was known
 * @codepoint: 0 to 3
 * @weight: segments that it stands for, 1 to ESTCP_WEIGHT
 * @settling: it is less than a round trip since the phase began
 * @prior: what the share of the phase before is to count for, segments
 *
 * Return: what it means
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
	phase->acks = min(phase->acks + 1, U16_MAX);
	if (phase->acks >= ESTCP_KNOWN)
		phase->known = 1;
	return event;
}

/* What has come of the phase may be a router's: both codepoints of the pair */
static bool estcp_is_router(const struct estcp_phase *phase)
{
	return phase->marked && phase->marked < phase->n;
}

/**
 * estcp_weight() - what the codepoints count for that an ACK has brought
 * @credit: segments delivered that no codepoint stands for yet; below 0: codepoints
 *	that came before their ACKs were looked at
 * @n: codepoints
 *
 * TCP looks at ACKs late while the application has the socket.  The first of them
 * then brings all their codepoints, and the others bring none.
 *
 * Return: segments, for all of them
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

/* A phase of @ms was shorter than routers make them. */
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

/* A window has been reduced, and not all that was sent before is acknowledged. */
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
	/* who comes back may be another */
	memset(&ca->phase, 0, sizeof(ca->phase));
}

/* Who has written these bits was no router of ours. */
static void estcp_distrust(struct sock *sk)
{
	struct estcp *ca = inet_csk_ca(sk);

	atomic_inc(&estcp_distrusted);
	pr_info_once("somebody sets the codepoints who is no ESTCP router, as Reno from here\n");
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
 * A loss has taken the window down, and now its phase is over: so there was an overflow,
 * and should TCP find that this segment was not lost after all, no more than the reduced
 * window comes back.
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

/* A phase is over: the window goes down now, unless it just did. */
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
	/* TCP is on its way to ssthresh in these, and that is what goes down */
	if (state >= TCP_CA_CWR)
		cwnd = min(tp->snd_ssthresh, max(cwnd, tp->prior_cwnd));
	cwnd = estcp_decrease(cwnd, estcp_beta_of(sk), &ca->owed);
	WRITE_ONCE(tp->snd_ssthresh, cwnd);
	/* of this reduction nothing is to be undone */
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

/* @codepoint has come, for @weight segments. */
static void estcp_note(struct sock *sk, u8 codepoint, u32 weight)
{
	struct estcp *ca = inet_csk_ca(sk);

	if (!weight)
		return;
	/* when it wraps, time has passed */
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

/* What the codepoints of an ACK mean for mode and alpha */
static void estcp_judge(struct sock *sk)
{
	struct estcp *ca = inet_csk_ca(sk);
	const struct estcp_phase *phase = &ca->phase;

	if (ca->ex.mode == EXPLICIT_FEEDBACK) {
		if (phase->same >= ESTCP_SAME) {
			pr_info_once("a path on which nobody marks, as Reno from here\n");
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
		/* the other pair first, and the last one last; it gets the rest */
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
 * In recovery TCP does not ask for growth, and will set cwnd to ssthresh when it ends:
 * so that grows meanwhile, by what has been delivered.
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
	/* who has come from bbr in recovery has no ssthresh to end at */
	if (cwnd >= TCP_INFINITE_SSTHRESH)
		return;
	cwnd += estcp_increase(&ca->owed, cwnd, ca->alpha, delivered);
	WRITE_ONCE(tp->snd_ssthresh, min(cwnd, tp->snd_cwnd_clamp));
}

/*
 * TCP has taken from its queue what the ACK acknowledges, and has counted it; it
 * will ask for ssthresh next if that showed a loss, and let the window grow then.
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
		/* what is in flight is more if the window was set at once */
		tp->prior_cwnd = max(cwnd, tcp_packets_in_flight(tp));
		return max(cwnd, ESTCP_CWND_MIN);
	}
	estcp_hold(sk, true);
	return estcp_decrease(cwnd, estcp_beta_of(sk), &ca->owed);
}

/*
 * There was no loss: the window comes back, and the next loss counts.  Where a phase's end
 * had reduced the window before, that reduction stands, and so does its hold.
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
		pr_info_once("a connection with ECN, as Reno\n");
	else
		ca->ex.fb = tcpcc_feedback_attach(sk, TCPCC_FB_ESTCP);
}

/*
 * For /proc/net/tcpcc alone: there is no rate of the path among what estcp knows, and ss
 * shows the least round trip by itself.
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
 * TCP_CONG_NON_RESTRICTED is not set, by one more reason than every explicit sender has: where
 * no queue stands, beta is 1 and losses do not reduce the window at all.  That is right behind
 * a router of ESTCP and nowhere else.
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

MODULE_DESCRIPTION("TCP ESTCP: windows in step with the bottleneck's phases");
