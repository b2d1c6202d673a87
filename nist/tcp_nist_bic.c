// SPDX-License-Identifier: GPL-2.0
/*
 * BIC as in the NIST study: section 5.2.1, parameters of Table 5-3.
 *
 * A loss sets MAX to the window, and the window then grows towards MAX by a search: in each round
 * trip by a share of the distance to the target TGT, the midpoint between the window and MAX.
 * Beyond MAX the search ends.  The window then grows by SSW per round trip, slowly at first and
 * then faster, until a new search begins.  Its MAX is twice the window at which MAX was passed.
 *
 *   search	cwnd += f(cwnd) / cwnd for each ACK;	TGT = (MAX + cwnd) / 2
 *		until cwnd >= MAX: MAX = 2 cwnd, SSW = 1, SST = cwnd + 1
 *   beyond	cwnd += SSW / cwnd for each ACK
 *		at SST: SSW *= B / (B - 1), SST = cwnd + SSW
 *		until SSW >= S_max: TGT = (MAX + cwnd) / 2
 *   loss	MAX = cwnd, or (1 + beta) / 2 cwnd if that is below the last MAX
 *		cwnd *= beta, sst = cwnd, and a search
 *   timeout	the same, but sst = max(cwnd / 2, 2)
 *
 *   f(c) = B / sigma		D <= 1, or TGT <= c < TGT + B;	D = (TGT - c) / B
 *	    D			1 < D <= S_max
 *	    (c - TGT) / (B - 1)	TGT + B <= c < TGT + S_max (B - 1)
 *	    S_max		else
 *
 * Eqs. 9 to 12, and Reno below LW.  Their errors, and what was decided:
 *   o Eq. 10 prints TGT / (B - 1) for the third case, which would be a jump by a third
 *     of the window just above TGT.  The distance (c - TGT) / (B - 1), as in the kernel, joins
 *     B / sigma and S_max without a jump.
 *   o Eq. 10 leaves D = 1 and D = S_max to "otherwise".  Here they belong to the case of the
 *     smaller D.
 *   o Eq. 9 leaves slow start (SS, beyond MAX) at "SSW >= MAX", which is never true.  Here the
 *     condition is SSW >= S_max, as in BIC.
 *   o After that Eq. 9 uses an old MIN.  Here MIN is the window.  MIN is only used as the window
 *     when TGT is computed, so it is not stored.
 *   o SSW needs about 123 segments to reach S_max.  If MAX is smaller, the window passes the new
 *     MAX before SSW reaches S_max.  TGT is then at or below the window when the search begins,
 *     and the next ACK finds that MAX is passed.
 *   o Eq. 11 sets TGT to 0, which is the case "otherwise" for one ACK.  Here TGT is the midpoint.
 *   o MAX and the previous MAX are 0 at first, so the first loss sets MAX to the window.
 *   o The study has both a target at the midpoint and a fourth of the distance to it.
 *     BIC and the kernel have a fourth of the distance to MAX itself, and no end of the
 *     search.  bic_linux=1 selects this.  In the spec's packet model its results are a little
 *     nearer to the study (Jain's index at 324 ms: 0.88 instead of 0.90; the study has 0.77).
 *
 * The kernel's bic searches as with bic_linux=1, but has these differences:
 *   o It divides distances to whole numbers, so that the slow part around MAX begins 8 segments
 *     before MAX and not 4.
 *   o The window grows twice as fast until the module has found that ACKs are not delayed.  If each
 *     segment has an ACK of its own, this takes a minute.
 *   o The window grows by 5 % in a round trip before the first loss.
 *   o A timeout resets MAX.
 * scripts/scenarios/nist-kernel.toml measures the effect.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#define NIST_AVOID	__always_inline
#include "nist.h"

TCPCC_PARAM(beta, 800, 1, 999, "beta_B, part of the window that is left after a loss, thousandths");
TCPCC_PARAM(b, 4, 2, 64, "B_B, a round trip covers 1/B of the distance to the target");
TCPCC_PARAM(sigma, 20, 1, 1000, "sigma_B, the smallest increase is B / sigma");
TCPCC_PARAM(s_max, 32, 1, 65536, "S_max, the largest increase in a round trip, segments");
TCPCC_PARAM(low_window, 14, 2, 1000000, "LW_B, window below which the law is Reno, segments");
TCPCC_PARAM(bic_linux, 0, 0, 1, "1: search towards MAX itself, as the kernel's BIC does");

/**
 * struct bic - per-socket state; windows and increases in NIST_SCALE
 * @nist: the state in common with the other laws
 * @max: MAX, the upper end of the search
 * @prev: MAX of the last loss
 * @target: TGT
 * @ssw: SSW, the increase beyond MAX
 * @sst: SST, the window at which @ssw changes
 * @undo_max: @max before the last loss
 * @undo_prev: @prev before the last loss
 * @beyond: SS, MAX is passed, and a new search has not begun
 * @undo_beyond: @beyond before the last loss
 */
struct bic {
	struct nist	nist;
	u64		max;
	u64		prev;
	u64		target;
	u64		ssw;
	u64		sst;
	u64		undo_max;
	u64		undo_prev;
	bool		beyond;
	bool		undo_beyond;
};

/**
 * bic_f() - Eq. 10, the increase in a round trip
 * @cwnd: window, NIST_SCALE
 * @target: TGT, NIST_SCALE
 *
 * Return: increase, NIST_SCALE
 */
static __always_inline u64 bic_f(u64 cwnd, u64 target)
{
	u32 share = READ_ONCE(b);
	u64 most = nist_segs(READ_ONCE(s_max));
	u64 distance;

	if (cwnd < target) {
		distance = target - cwnd;
		if (distance > nist_segs(share))
			return min(div_u64(distance, share), most);
	} else {
		distance = cwnd - target;
		if (distance >= nist_segs(share))
			return min(div_u64(distance, share - 1), most);
	}
	return div_u64(nist_segs(share), READ_ONCE(sigma));
}

/* The sum does not overflow: MAX is at most twice the largest window, 2^63 */
static void bic_aim(struct bic *bic)
{
	bic->target = (bic->max + bic->nist.cwnd) / 2;
}

static void bic_search(struct bic *bic)
{
	bic->beyond = false;
	bic_aim(bic);
}

/* Eq. 9 after the increase: the next target, or the next step beyond */
static void bic_next(struct bic *bic)
{
	u64 cwnd = bic->nist.cwnd;
	u32 share = READ_ONCE(b);

	if (!bic->beyond) {
		if (cwnd < bic->max) {
			bic_aim(bic);
			return;
		}
		bic->beyond = true;
		bic->max = 2 * cwnd;
		bic->ssw = NIST_ONE;
		bic->sst = cwnd + NIST_ONE;
		return;
	}
	if (cwnd >= bic->sst) {
		bic->ssw += div_u64(bic->ssw, share - 1);
		bic->sst = cwnd + bic->ssw;
	}
	if (bic->ssw >= nist_segs(READ_ONCE(s_max)))
		bic_search(bic);
}

static __always_inline void bic_increase(struct nist *nist, u32 acked)
{
	struct bic *bic = container_of(nist, struct bic, nist);

	if (nist->cwnd < nist_segs(READ_ONCE(low_window))) {
		nist_reno(nist, acked);
	} else if (READ_ONCE(bic_linux)) {
		nist_grow(nist, bic_f(nist->cwnd, bic->max), acked);
	} else {
		nist_grow(nist, bic->beyond ? bic->ssw :
			  bic_f(nist->cwnd, bic->target), acked);
		bic_next(bic);
	}
}

static u64 bic_decrease(struct nist *nist)
{
	struct bic *bic = container_of(nist, struct bic, nist);
	u32 left = READ_ONCE(beta);
	u64 cwnd = nist->cwnd;

	bic->undo_max = bic->max;
	bic->undo_prev = bic->prev;
	bic->undo_beyond = bic->beyond;
	bic->max = cwnd < bic->prev ? nist_permille(cwnd, (1000 + left) / 2) : cwnd;
	bic->prev = bic->max;
	if (cwnd < nist_segs(READ_ONCE(low_window)))
		left = 500;
	nist->cwnd = nist_permille(cwnd, left);
	bic_search(bic);
	return nist->cwnd;
}

static u64 bic_timeout(struct nist *nist)
{
	return nist->prior / 2;
}

/* SSW and SST were not changed.  TGT is computed from MAX in each ACK. */
static void bic_undo(struct nist *nist)
{
	struct bic *bic = container_of(nist, struct bic, nist);

	bic->max = bic->undo_max;
	bic->prev = bic->undo_prev;
	bic_search(bic);
	bic->beyond = bic->undo_beyond;
}

static const struct nist_law nist_law = {
	.increase	= bic_increase,
	.decrease	= bic_decrease,
	.timeout	= bic_timeout,
	.undo		= bic_undo,
};

NIST_MODULE("nist_bic", struct bic, "BIC", 0);
