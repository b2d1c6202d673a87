// SPDX-License-Identifier: GPL-2.0
/*
 * HighSpeed TCP as in the NIST study: section 5.2.4, parameters of Table 5-6.
 *
 *   ACK	cwnd += a(cwnd) / cwnd, Eq. 25
 *   loss	cwnd *= 1 - b(cwnd), sst = cwnd, Eq. 28
 *   timeout	sst = max((1 - b(cwnd)) cwnd, 2), Eq. 29
 *
 * Below LW_HS it is Reno, Eq. 24.  a() is computed from b() and a response function, which gives a
 * loss rate for each window.  b() goes from 1/2 at LW_HS to R_HS at HW_HS:
 *
 *   a(w) = w^2 0.078 / w^1.2  2 b(w) / (2 - b(w)) + 0.5, Eq. 26
 *   b(w) = (R_HS - 0.5) (log w - log LW_HS) / (log HW_HS - log LW_HS) + 0.5, Eq. 27
 *
 * What was decided:
 *   o "+ 0.5" in Eq. 26 rounds: a() is a whole number, at least 1.  Read as a sum it is half a
 *     segment more than the response function asks for.  In the spec's packet model two flows at
 *     162 ms are then fairer (Jain's index 0.98) than the study found (0.95).  With rounding all
 *     cells are as in the study.
 *   o LW_HS is 31, as in the drafts of RFC 3649 (the RFC has 38).
 *   o Above HW_HS b() stays R_HS.
 *
 * The kernel's highspeed uses RFC 3649's table, from 38 on, and b() in 1/256.  It takes a() from
 * the next entry of the table, so it rounds up: at 700 segments it uses 7, the RFC's formula gives
 * 6.2, and this module uses 6.  It counts an ACK once, even if the ACK is for many segments.
 * scripts/scenarios/nist-kernel.toml measures the effect.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "nist.h"
#include "tcpcc_log2.h"

TCPCC_PARAM(low_window, 31, 2, 1000000, "LW_HS, window below which the law is Reno, segments");
TCPCC_PARAM(high_window, 83000, 3, 1073741824, "HW_HS, window from which b is beta_high, segments");
TCPCC_PARAM(beta_high, 100, 1, 500, "R_HS, b from the high window on, thousandths");

/* A value of a() is used until the window is smaller, or over 1/2^6 larger: an error of 1 % */
#define HSTCP_NEAR	6

/* Logarithms of the default parameters, so that they are not computed each time */
#define HSTCP_LOW	31
#define HSTCP_LOG_LOW	324678
#define HSTCP_HIGH	83000
#define HSTCP_LOG_HIGH	1070912

#define HSTCP_LEAST	100

/*
 * The windows at which hstcp_a() with the default parameters becomes 2, 3, ...  The number of
 * segments in a small window changes often, and the table avoids a logarithm at each change.  It
 * ends where a rounding error of the logarithms first makes a() smaller again.
 */
static const u16 hstcp_steps[] = {
	79, 173, 292, 434, 597, 781, 985, 1208, 1452, 1714, 1996, 2298, 2618, 2959, 3319, 3700,
	4100, 4522, 4964, 5426, 5911, 6418, 6947, 7499, 8074, 8674, 9299, 9947, 10622, 11323,
	12051, 12807, 13589, 14403,
};

#define HSTCP_STEPS	((u32)ARRAY_SIZE(hstcp_steps))

/* Scale of b() */
#define HSTCP_SCALE	16
#define HSTCP_ONE	BIT(HSTCP_SCALE)

/**
 * struct hstcp - per-socket state
 * @nist: the state in common with the other laws
 * @alpha: a(@alpha_of), segments
 * @alpha_of: window, whole segments; 0: not computed yet
 */
struct hstcp {
	struct nist	nist;
	u32		alpha;
	u32		alpha_of;
};

/**
 * hstcp_b_of() - Eq. 27, the share of a window that a loss removes
 * @log: log2 of the window, TCPCC_LOG2_SCALE
 *
 * Return: share, HSTCP_SCALE
 */
static u32 hstcp_b_of(u32 log)
{
	u32 low = READ_ONCE(low_window), high = max(READ_ONCE(high_window), low + 1);
	u32 least = READ_ONCE(beta_high) * HSTCP_ONE / 1000;
	u32 log_low = low == HSTCP_LOW ? HSTCP_LOG_LOW : tcpcc_log2(low);
	u32 log_high = high == HSTCP_HIGH ? HSTCP_LOG_HIGH : tcpcc_log2(high);
	u32 range = max(log_high - log_low, 1U);
	u32 above = clamp(log, log_low, log_high) - log_low;

	return HSTCP_ONE / 2 - div_u64((u64)(HSTCP_ONE / 2 - least) * above, range);
}

/**
 * hstcp_b() - the same, from the window itself
 * @w: window, segments, at least 1
 *
 * Return: share, HSTCP_SCALE
 */
static u32 hstcp_b(u32 w)
{
	return hstcp_b_of(tcpcc_log2(w));
}

/**
 * hstcp_a() - Eq. 26, by how much a window grows in a round trip
 * @w: window, segments, 1 to NIST_CWND_MAX
 *
 * w^2 / w^1.2 is computed as w * w^-0.2, because w^-0.2 is at most 1.
 *
 * Return: segments, at least 1
 */
static u32 hstcp_a(u32 w)
{
	u32 log = tcpcc_log2(w), b = hstcp_b_of(log);
	u32 ratio = (b << HSTCP_SCALE) / (2 * HSTCP_ONE - b);
	u64 power = (u64)w * tcpcc_exp2(30 * TCPCC_LOG2_ONE - log / 5);
	/* 2 * 0.078 is in 2^-32, power in 2^-30 */
	u64 a = mul_u64_u32_shr(mul_u64_u32_shr(power, 670014898, 32), ratio, 30);

	return max_t(u32, (a + HSTCP_ONE / 2) >> HSTCP_SCALE, 1);
}

/* a() of a window @w, from the table if @w is in its range */
static noinline u32 hstcp_alpha(u32 w)
{
	u32 steps = 0, more;

	if (w >= hstcp_steps[HSTCP_STEPS - 1] || READ_ONCE(low_window) != HSTCP_LOW ||
	    READ_ONCE(high_window) != HSTCP_HIGH || READ_ONCE(beta_high) != HSTCP_LEAST)
		return hstcp_a(w);
	for (more = 32; more; more /= 2)
		if (steps + more <= HSTCP_STEPS && w >= hstcp_steps[steps + more - 1])
			steps += more;
	return steps + 1;
}

static __always_inline void hstcp_increase(struct nist *nist, u32 acked)
{
	struct hstcp *hstcp = container_of(nist, struct hstcp, nist);
	u32 whole = nist->cwnd >> NIST_SCALE;

	if (whole < READ_ONCE(low_window)) {
		nist_reno(nist, acked);
		return;
	}
	if (whole - hstcp->alpha_of > hstcp->alpha_of >> HSTCP_NEAR) {
		hstcp->alpha_of = whole;
		hstcp->alpha = hstcp_alpha(whole);
	}
	nist_grow_segs(nist, hstcp->alpha, acked);
}

static u64 hstcp_decrease(struct nist *nist)
{
	u32 whole = nist->cwnd >> NIST_SCALE;

	if (whole < READ_ONCE(low_window))
		return nist->cwnd / 2;
	return nist->cwnd - mul_u64_u32_shr(nist->cwnd, hstcp_b(whole), HSTCP_SCALE);
}

static const struct nist_law nist_law = {
	.increase	= hstcp_increase,
	.decrease	= hstcp_decrease,
};

NIST_MODULE("nist_hstcp", struct hstcp, "HighSpeed TCP", 0);
