// SPDX-License-Identifier: GPL-2.0
/*
 * Reno as in the NIST study, which calls it TCP, with the study's limited slow start.
 *
 *   ACK	cwnd += 1 / cwnd, Eq. 6
 *   loss	cwnd /= 2, sst = cwnd, Eq. 7
 *   timeout	sst = max(cwnd / 2, 2), Eq. 8
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#define NIST_AVOID	__always_inline
#include "nist.h"

struct reno {
	struct nist	nist;
};

static u64 reno_decrease(struct nist *nist)
{
	return nist->cwnd / 2;
}

static const struct nist_law nist_law = {
	.increase	= nist_reno,
	.decrease	= reno_decrease,
};

NIST_MODULE("nist_reno", struct reno, "TCP", TCP_CONG_NON_RESTRICTED);
