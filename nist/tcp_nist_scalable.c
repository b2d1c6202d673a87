// SPDX-License-Identifier: GPL-2.0
/*
 * Scalable TCP as in the NIST study: section 5.2.6, parameters of Table 5-8.
 *
 *   ACK	cwnd += alpha_S, Eq. 38
 *   loss	cwnd *= beta_S, sst = cwnd, Eq. 39
 *   timeout	sst = max(beta_S cwnd, 2), Eq. 40
 *
 * Below LW_S it is Reno, Eq. 37.  Increase and decrease are both multiplicative, so two flows keep
 * the ratio of their windows, and do not become fair.
 *
 * The equations have no errors.  The kernel's scalable adds 1 / min(cwnd, 100), and never halves.
 * This module adds 1 / 100 from LW_S on.  Above 100 segments the two are the same.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#define NIST_AVOID	__always_inline
#include "nist.h"

TCPCC_PARAM(alpha, 10, 1, 1000, "alpha_S, increase for each ACK, thousandths of a segment");
TCPCC_PARAM(beta, 875, 1, 999, "beta_S, part of the window that is left after a loss, thousandths");
TCPCC_PARAM(low_window, 16, 2, 1000000, "LW_S, window below which the law is Reno, segments");

struct scalable {
	struct nist	nist;
};

static __always_inline void scalable_increase(struct nist *nist, u32 acked)
{
	if (nist->cwnd < nist_segs(READ_ONCE(low_window)))
		nist_reno(nist, acked);
	else
		nist_grow(nist, nist_permille(nist->cwnd, READ_ONCE(alpha)), acked);
}

static u64 scalable_decrease(struct nist *nist)
{
	if (nist->cwnd < nist_segs(READ_ONCE(low_window)))
		return nist->cwnd / 2;
	return nist_permille(nist->cwnd, READ_ONCE(beta));
}

static const struct nist_law nist_law = {
	.increase	= scalable_increase,
	.decrease	= scalable_decrease,
};

NIST_MODULE("nist_scalable", struct scalable, "Scalable TCP", 0);
