// SPDX-License-Identifier: GPL-2.0
/*
 * Compound TCP as in the NIST study: section 5.2.2, parameters of Table 5-4.
 *
 * It has two windows: the sending window is win = cwnd + dwnd.  cwnd is Reno's.  dwnd, the delay
 * window, grows if few packets are queued, and shrinks otherwise.
 *
 *   ACK	cwnd += 1 / win, Eq. 14
 *   loss	dwnd = max(0, win (1 - beta) - cwnd / 2), cwnd /= 2, sst = win, Eq. 15
 *   timeout	sst = max(win / 2, 2), dwnd = 0, Eq. 16
 *   every round trip, Eq. 17:	diff = win (1 - rtt_min / srtt), what is queued
 *		dwnd += max(0, alpha win^k - 1)		if diff < gamma
 *		dwnd = max(0, dwnd - zeta diff)		else
 *
 * Below LW_C it is Reno without dwnd, Eq. 13.
 *
 * The equations as printed do not work.  What was decided, after Compound TCP itself:
 *   o Eq. 17's min(0, ...) and min[0, ...] would keep dwnd at 0 or below.  They are the
 *     (x)^+ of Compound TCP, max(0, ...).
 *   o Eqs. 14, 15 and 17 add dwnd to cwnd again and again.  Here the two are kept apart, and
 *     win is their sum.
 *   o Eq. 17's max(int_max, ...) is min.
 *   o LW_C, the exponent and both throughputs refer to win, which is what the network sees,
 *     not to cwnd alone.
 *   o After a loss Eq. 17 changes dwnd in the next period, but Eq. 15 changes the window at once.
 *     Here the change is at once.  CD_C only keeps dwnd constant for the rest of the period.
 *   o dwnd does not change in slow start and recovery, and does not grow if the window is
 *     not used.
 * With this reading the link is used better than in the study, and its buffer is not empty
 * (scenario nist).  The study's figures come from another reading: Eq. 17's second min[0, ...] to
 * the letter.  This minimum is 0 as long as dwnd is more than zeta diff, so dwnd drops to 0 at
 * once, although the text says that dwnd shrinks linearly.  ctcp_zero=1 selects this reading.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#define NIST_PERIODIC
#define NIST_AVOID	__always_inline
#include "nist.h"
#include "tcpcc_log2.h"

TCPCC_PARAM(alpha, 125, 0, 1000, "alpha_C, weight of the delay window's increase, thousandths");
TCPCC_PARAM(beta, 500, 1, 999, "beta_C, part of the window that a loss takes away, thousandths");
TCPCC_PARAM(gamma, 30, 1, 1000000, "gamma_C, number of queued packets that is early congestion");
TCPCC_PARAM(zeta, 100, 0, 1000, "zeta_C, how fast the delay window shrinks, thousandths");
TCPCC_PARAM(k, 800, 0, 1000, "k_C, exponent of the delay window's increase, thousandths");
TCPCC_PARAM(low_window, 41, 2, 1000000, "LW_C, window below which the law is Reno, segments");
TCPCC_PARAM(ctcp_zero, 0, 0, 1, "1: the delay window drops to 0 if gamma_C packets are queued");

/**
 * struct ctcp - per-socket state
 * @nist: the state in common with the other laws; its window is win
 * @dwnd: the delay window, a part of win, NIST_SCALE
 * @undo_dwnd: @dwnd before the last loss, NIST_SCALE
 * @period_us: start of this round trip, us
 * @congested: CD_C, there was a loss in this round trip
 */
struct ctcp {
	struct nist	nist;
	u64		dwnd;
	u64		undo_dwnd;
	u64		period_us;
	bool		congested;
};

/**
 * ctcp_gain() - by how much the delay window grows in a round trip without a queue
 * @win: NIST_SCALE, at least one segment, below 2^62
 *
 * The error of win^k is below 0.0004 of it with the study's k: (1 - k) ln 2 * 0.001 from the
 * logarithm, and 0.0002 from the division.
 *
 * Return: alpha win^k - 1, NIST_SCALE, at least 0
 */
static u64 ctcp_gain(u64 win)
{
	u32 log = tcpcc_log2_near(win) - NIST_SCALE * TCPCC_LOG2_ONE;
	/* win^k is computed as win / win^(1 - k) */
	u64 power = tcpcc_reduce_near(win, log * (1000 - READ_ONCE(k)) / 1000);
	u64 gain = div_u64(power, 1000) * READ_ONCE(alpha);

	return gain > NIST_ONE ? gain - NIST_ONE : 0;
}

/*
 * Before dwnd is used: limits it to the window, which TCP may have reduced.  Below the low window
 * dwnd is 0.
 */
static bool ctcp_is_low(struct ctcp *ctcp)
{
	u64 win = ctcp->nist.cwnd;

	if (win < nist_segs(READ_ONCE(low_window))) {
		ctcp->dwnd = 0;
		return true;
	}
	ctcp->dwnd = min(ctcp->dwnd, win);
	return false;
}

static u64 ctcp_decrease(struct nist *nist)
{
	struct ctcp *ctcp = container_of(nist, struct ctcp, nist);
	u64 left = nist->cwnd / 2, half;

	ctcp->undo_dwnd = ctcp->dwnd;
	if (!ctcp_is_low(ctcp))
		left = nist_permille(nist->cwnd, 1000 - READ_ONCE(beta));
	half = (nist->cwnd - ctcp->dwnd) / 2;
	left = max(left, half);
	ctcp->dwnd = left < nist_segs(READ_ONCE(low_window)) ? 0 : left - half;
	ctcp->congested = true;
	return left;
}

static u64 ctcp_timeout(struct nist *nist)
{
	struct ctcp *ctcp = container_of(nist, struct ctcp, nist);

	ctcp->dwnd = 0;
	return nist->prior / 2;
}

static void ctcp_undo(struct nist *nist)
{
	struct ctcp *ctcp = container_of(nist, struct ctcp, nist);

	ctcp->dwnd = ctcp->undo_dwnd;
	ctcp->congested = false;
}

static bool ctcp_due(const struct nist *nist, const struct nist_ack *ack)
{
	const struct ctcp *ctcp = container_of(nist, struct ctcp, nist);

	return nist_is_round(ctcp->period_us, ack->srtt_us, ack->now_us);
}

static __always_inline void ctcp_periodic(struct nist *nist, const struct nist_ack *ack)
{
	struct ctcp *ctcp = container_of(nist, struct ctcp, nist);
	u64 queued, less;

	ctcp->period_us = ack->now_us;
	if (!ack->avoidance || ctcp->congested) {
		ctcp->congested = false;
		return;
	}
	if (ctcp_is_low(ctcp))
		return;
	queued = nist_queued(nist->cwnd, nist->rtt_min_us, ack->srtt_us);
	if (queued < nist_segs(READ_ONCE(gamma))) {
		u64 more = min(ctcp_gain(nist->cwnd),
			       nist_segs(NIST_CWND_MAX) - nist->cwnd);

		if (!ack->limited)
			return;
		ctcp->dwnd += more;
		nist->cwnd += more;
	} else {
		less = min(nist_permille(queued, READ_ONCE(zeta)), ctcp->dwnd);
		if (READ_ONCE(ctcp_zero))
			less = ctcp->dwnd;
		ctcp->dwnd -= less;
		nist->cwnd -= less;
	}
}

static const struct nist_law nist_law = {
	.increase	= nist_reno,
	.decrease	= ctcp_decrease,
	.timeout	= ctcp_timeout,
	.undo		= ctcp_undo,
	.periodic	= ctcp_periodic,
	.due		= ctcp_due,
};

NIST_MODULE("nist_ctcp", struct ctcp, "Compound TCP", 0);
