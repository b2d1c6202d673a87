// SPDX-License-Identifier: GPL-2.0
/*
 * H-TCP as in the NIST study: section 5.2.5, parameters of Table 5-7.
 *
 * The window grows faster the longer there was no loss.  A loss reduces the window by what the
 * queue held.  D is the time since the last loss.
 *
 *   ACK	cwnd += 2 (1 - beta) f(D) / cwnd, Eq. 30
 *		f(D) = 1 up to DL, then max(h(D) rtt_min, 1), Eq. 31
 *		h(D) = 1 + 10 (D - DL) + 0.25 (D - DL)^2, Eq. 32
 *   loss	beta = 1/2 if throughput has changed by more than DB since the last loss,
 *		else rtt_min / rtt_max, up to G, Eq. 34
 *		cwnd *= beta, sst = cwnd, D = 0, Eq. 33
 *   timeout	beta = 1/2, sst = max(cwnd / 2, 2), D = 0, Eq. 35
 *   every U	throughput is averaged, Eq. 36
 *
 * What was decided:
 *   o Eq. 31's rtt_min is in seconds.  With this the study's buffers result (the spec's packet
 *     model: 0.30, 0.19, 0.17; the study: 0.31, 0.21, 0.22).  The kernel uses units of 100 ms,
 *     limits the rtt to 10 to 200 ms, and scales before DL too: htcp_linux=1 selects this.
 *   o Eq. 32 is right as printed: 0.25 (D - DL)^2 is ((D - DL) / 2)^2, as in the kernel.
 *   o Eq. 33 uses two subscripts for one throughput, and omits sst = cwnd and D = 0.
 *     At the first loss there is no earlier throughput.  This counts as a change.
 *   o Eq. 34 has no lower limit.  With a buffer of more than a bandwidth-delay product
 *     a loss would cost more than with TCP.  Here the limit is 1/2.
 *   o Eq. 36's second line, "acksRTT", sets it to 0.
 *   o Before the first loss D is the time since the flow began.
 *   o rtt_max uses samples outside recovery only: in recovery they contain more than the delay of
 *     the path.
 *
 * The kernel's htcp has these differences.  It keeps time in jiffies (10 ms in the lab).  It uses
 * the largest throughput since the loss as the current one.  It starts D at the end of recovery.
 * Its rtt_max fades by 5 % at each loss.  With each increase it loses the ACK that caused the
 * increase, and the fraction that was left.  scripts/scenarios/nist-kernel.toml measures the
 * effect.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#define NIST_PERIODIC
#define NIST_AVOID	__always_inline
#include "nist.h"

TCPCC_PARAM(delta_l, 1000, 0, 60000, "DL_H, time after a loss in which growth is Reno's, ms");
TCPCC_PARAM(delta_b, 200, 0, 1000,
	    "DB_H, larger changes of throughput set beta to 1/2, thousandths");
TCPCC_PARAM(beta_max, 800, 500, 999,
	    "G_H, largest part of the window left after a loss, thousandths");
TCPCC_PARAM(weight, 500, 1, 1000, "T_H, weight of the newest throughput sample, thousandths");
TCPCC_PARAM(update, 250, 1, 60000, "U_H, time between updates of the mean throughput, ms");
TCPCC_PARAM(htcp_linux, 0, 0, 1, "1: rtt_min in units of 100 ms, as in the kernel's H-TCP");

/* Scale of beta */
#define HTCP_SCALE	16
#define HTCP_ONE	BIT(HTCP_SCALE)

/* Times that are multiplied are in units of 2^-20 s.  D - DL is at most HTCP_DELTA_CAP, us. */
#define HTCP_SECOND	20
#define HTCP_DELTA_CAP	(4000ULL * USEC_PER_SEC)

/* Upper limit of rtt_min in htcp_f(), us */
#define HTCP_RTT_CAP	(100 * USEC_PER_SEC)

/*
 * A value of f() is used until D is 1/2^7 larger, because it costs more than the rest of an ACK.
 * It is the value in the middle of that time: right on average, and by Eqs. 31 and 32 wrong by at
 * most 1 % at rtts up to 160 ms, 1.6 % at 324 ms.
 */
#define HTCP_NEAR	7

/**
 * struct htcp - per-socket state
 * @nist: the state in common with the other laws
 * @now_us: time of the last ACK, us
 * @loss_us: time of the last loss, us
 * @rate: throughput; a rule is due at the end of its interval, and if @alpha is old
 * @loss_rate: throughput at the last loss; 0: there was none
 * @undo_loss_rate: @loss_rate before the last loss
 * @alpha: 2 (1 - beta) f(D), the growth in a round trip, HTCP_SCALE: below 2^16 segments, which
 *	f reaches half an hour after a loss, at an rtt of 100 ms
 * @undo_us: time between the last loss and the one before, us; longer than a u32: U32_MAX
 * @rtt_max_us: largest rtt, us; 0: none yet
 * @beta: the share that the last loss left, HTCP_SCALE, below HTCP_ONE
 * @undo_beta: @beta before the last loss
 */
struct htcp {
	struct nist	nist;
	u64		now_us;
	u64		loss_us;
	struct nist_rate rate;
	u64		loss_rate;
	u64		undo_loss_rate;
	u32		alpha;
	u32		undo_us;
	u32		rtt_max_us;
	u16		beta;
	u16		undo_beta;
};

/* Converts us, up to HTCP_DELTA_CAP, to 2^-20 s: both are below 2^32 */
static u32 htcp_seconds(u32 us)
{
	return (u64)us * 281474977 >> 28;
}

/**
 * htcp_f() - Eqs. 31 and 32
 * @delta_us: D, us
 * @rtt_min_us: least rtt, us
 *
 * Return: segments, NIST_SCALE, at least 1
 */
static u64 htcp_f(u64 delta_us, u32 rtt_min_us)
{
	u64 start_us = (u64)READ_ONCE(delta_l) * USEC_PER_MSEC;
	bool linux_scale = READ_ONCE(htcp_linux);
	u64 h = BIT_ULL(HTCP_SECOND), d;
	u32 rtt;

	if (likely(delta_us > start_us)) {
		d = htcp_seconds(min(delta_us - start_us, HTCP_DELTA_CAP));
		h += 10 * d + (d * d >> (HTCP_SECOND + 2));
	} else if (!linux_scale) {
		return NIST_ONE;
	}
	if (unlikely(rtt_min_us > HTCP_RTT_CAP))
		rtt_min_us = HTCP_RTT_CAP;
	rtt = htcp_seconds(rtt_min_us);
	if (linux_scale)
		rtt = clamp_t(u32, 10 * rtt, BIT(HTCP_SECOND) / 10, 2 * BIT(HTCP_SECOND));
	return max(mul_u64_u32_shr(h, rtt, 2 * HTCP_SECOND - NIST_SCALE), NIST_ONE);
}

/**
 * htcp_beta() - Eq. 34, the share of a window that a loss leaves
 * @rate: throughput now
 * @loss_rate: throughput at the last loss; 0: there was none
 * @rtt_min_us: least rtt, us
 * @rtt_max_us: largest rtt, us; 0: none yet
 *
 * Return: share, HTCP_SCALE
 */
static u32 htcp_beta(u64 rate, u64 loss_rate, u32 rtt_min_us, u32 rtt_max_us)
{
	u64 change = rate > loss_rate ? rate - loss_rate : loss_rate - rate;
	u32 most = READ_ONCE(beta_max) * HTCP_ONE / 1000;

	if (!loss_rate || change * 1000 > loss_rate * READ_ONCE(delta_b) ||
	    rtt_max_us < rtt_min_us)
		return HTCP_ONE / 2;
	return clamp_t(u64, div_u64((u64)rtt_min_us << HTCP_SCALE, rtt_max_us),
		       HTCP_ONE / 2, most);
}

static void htcp_start(struct nist *nist, const struct nist_ack *ack)
{
	struct htcp *htcp = container_of(nist, struct htcp, nist);

	htcp->beta = HTCP_ONE / 2;
	htcp->now_us = ack->now_us;
	htcp->loss_us = ack->now_us;
	htcp->rate.since_us = ack->now_us;
	htcp->rate.delivered = ack->delivered;
}

static __always_inline void htcp_increase(struct nist *nist, u32 acked)
{
	struct htcp *htcp = container_of(nist, struct htcp, nist);

	nist_add(nist, (u64)htcp->alpha * nist_inverse(nist) >> HTCP_SCALE, acked,
		 nist_segs(NIST_CWND_MAX));
}

static u64 htcp_decrease(struct nist *nist)
{
	struct htcp *htcp = container_of(nist, struct htcp, nist);

	htcp->undo_beta = htcp->beta;
	htcp->undo_loss_rate = htcp->loss_rate;
	htcp->undo_us = min_t(u64, htcp->now_us - htcp->loss_us, U32_MAX);
	htcp->beta = htcp_beta(htcp->rate.rate, htcp->loss_rate, nist->rtt_min_us,
			       htcp->rtt_max_us);
	htcp->loss_rate = htcp->rate.rate;
	htcp->loss_us = htcp->now_us;
	htcp->rate.wait_us = 0;
	return mul_u64_u32_shr(nist->cwnd, htcp->beta, HTCP_SCALE);
}

static u64 htcp_timeout(struct nist *nist)
{
	struct htcp *htcp = container_of(nist, struct htcp, nist);

	htcp->beta = HTCP_ONE / 2;
	htcp->rate.wait_us = 0;
	return nist->prior / 2;
}

/* The throughput is a measurement, and is not restored. */
static void htcp_undo(struct nist *nist)
{
	struct htcp *htcp = container_of(nist, struct htcp, nist);

	htcp->loss_us -= htcp->undo_us;
	htcp->loss_rate = htcp->undo_loss_rate;
	htcp->beta = htcp->undo_beta;
	htcp->rate.wait_us = 0;
}

/* The rules that are due: averages throughput, if its interval is over, and computes alpha */
static noinline void htcp_rules(struct htcp *htcp, u32 delivered)
{
	u32 interval_us = READ_ONCE(update) * USEC_PER_MSEC;
	u64 delta_us = htcp->now_us - htcp->loss_us, near_us = delta_us >> HTCP_NEAR;
	u64 f = htcp_f(delta_us + near_us / 2, htcp->nist.rtt_min_us);

	nist_rate_update(&htcp->rate, htcp->now_us, delivered, interval_us, READ_ONCE(weight));
	htcp->alpha = min_t(u64, mul_u64_u32_shr(f, 2 * (HTCP_ONE - htcp->beta), NIST_SCALE),
			    U32_MAX);
	htcp->rate.wait_us = min_t(u64, htcp->now_us - htcp->rate.since_us + near_us, interval_us);
}

static __always_inline void htcp_periodic(struct nist *nist, const struct nist_ack *ack)
{
	struct htcp *htcp = container_of(nist, struct htcp, nist);

	if (unlikely(ack->rtt_us > (s32)htcp->rtt_max_us) && !ack->recovery)
		htcp->rtt_max_us = ack->rtt_us;
	htcp->now_us = ack->now_us;
	if (nist_is_over(htcp->rate.since_us, htcp->rate.wait_us, ack->now_us))
		htcp_rules(htcp, ack->delivered);
}

static const struct nist_law nist_law = {
	.start		= htcp_start,
	.increase	= htcp_increase,
	.decrease	= htcp_decrease,
	.timeout	= htcp_timeout,
	.undo		= htcp_undo,
	.periodic	= htcp_periodic,
};

NIST_MODULE("nist_htcp", struct htcp, "H-TCP", 0);
