// SPDX-License-Identifier: GPL-2.0
/*
 * FAST as in the NIST study: section 5.2.3, parameters of Table 5-5.
 *
 * The window moves to the value at which the flow has alpha packets in the queue, and stays there.
 *
 *   every UW	T = min(2 cwnd, (1 - gamma) cwnd + gamma (rtt_min / srtt cwnd + alpha)),
 *		Eq. 21
 *   ACK	cwnd += (T - cwnd) / acksRTT up to T; at once if T < cwnd, Eq. 18
 *   loss	cwnd /= 2, T = cwnd, sst = cwnd, Eq. 19
 *   timeout	sst = max(cwnd / 2, 2), Eq. 20
 *   every RTT	acksRTT: segments acknowledged in it; with tune=1 throughput is averaged, Eq. 23
 *   every UA	with tune=1, from when it is switched on: alpha goes from 200 to 20 to 8 packets
 *		if throughput is low, and back if it is high, Eq. 22
 *
 * There is no low window.  What was decided:
 *   o Eq. 18 prints cwnd <- (T - cwnd) / acksRTT.  Here the quotient is added to cwnd.
 *   o acksRTT is the count of the last complete round trip.  The count for Eq. 23 in the current
 *     round trip begins at 0.
 *   o gamma_F of Eq. 21 is beta_F of Table 5-5, UA_H and UW_H are UA_F and UW_F.
 *   o The throughputs in "ppms" are packets per second: the study's link carries 21 packets per
 *     millisecond, and FAST's own limits between 8, 20 and 200 are 10 and 100 Mb/s.
 *   o alpha begins at 200 with tune=1.
 *   o Only a loss or sst_int ends slow start.  The first T is the window at that time.
 *
 * rtt_min is the least rtt since the flow began.  If there is a queue when a flow begins, the flow
 * takes the queueing delay for a part of the path's delay.  The srtt is TCP's, with a weight of 1/8
 * for each sample.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#define NIST_PERIODIC
#define NIST_AVOID	__always_inline
#include "nist.h"

TCPCC_PARAM(alpha, 200, 1, 100000, "AD_F, packets of a flow in the queue if tune=0");
TCPCC_PARAM(tune, 0, 0, 1, "AT_F, 1: throughput selects alpha: alpha1, alpha2 or alpha3");
TCPCC_PARAM(alpha1, 8, 1, 100000, "A1_F, alpha at low throughput, packets");
TCPCC_PARAM(alpha2, 20, 1, 100000, "A2_F, alpha at medium throughput, packets");
TCPCC_PARAM(alpha3, 200, 1, 100000, "A3_F, alpha at high throughput, packets");
TCPCC_PARAM(m0m1, 1500, 0, 1000000000,
	    "M0M1_F, throughput from which alpha1 becomes alpha2, packets/s");
TCPCC_PARAM(m1m0, 1250, 0, 1000000000,
	    "M1M0_F, throughput up to which alpha2 becomes alpha1, packets/s");
TCPCC_PARAM(m1m2, 15000, 0, 1000000000,
	    "M1M2_F, throughput from which alpha2 becomes alpha3, packets/s");
TCPCC_PARAM(m2m1, 12500, 0, 1000000000,
	    "M2M1_F, throughput up to which alpha3 becomes alpha2, packets/s");
TCPCC_PARAM(gain, 500, 1, 1000,
	    "gamma_F, weight of the new value in T; the rest is cwnd; thousandths");
TCPCC_PARAM(weight, 500, 1, 1000, "T_F, weight of the newest throughput sample, thousandths");
TCPCC_PARAM(update, 20, 1, 10000, "UW_F, time between computations of T, ms");
TCPCC_PARAM(update_alpha, 200, 1, 4000, "UA_F, time between changes of alpha, s");

/**
 * struct fast - per-socket state
 * @nist: the state in common with the other laws
 * @target: T, NIST_SCALE; 0: none since slow start
 * @rate: throughput; its intervals are round trips
 * @target_us: time when T was computed, us
 * @tune_us: time when alpha was tuned, us
 * @share: 2^32 / acksRTT; 0: no round trip yet
 * @level: index of alpha with tuning, 0 to 2
 */
struct fast {
	struct nist	nist;
	u64		target;
	struct nist_rate rate;
	u64		target_us;
	u64		tune_us;
	u32		share;
	u8		level;
};

/**
 * fast_target() - T, Eq. 21
 * @cwnd: window, NIST_SCALE
 * @rtt_min_us: least rtt, us
 * @srtt_us: smoothed rtt, us
 * @packets: alpha
 *
 * (1 - gamma) cwnd + gamma (rtt_min / srtt cwnd + alpha) is cwnd + gamma (alpha - queued).
 *
 * Return: T, NIST_SCALE
 */
static u64 fast_target(u64 cwnd, u32 rtt_min_us, u32 srtt_us, u32 packets)
{
	u64 queued = nist_queued(cwnd, rtt_min_us, srtt_us);
	u32 share = READ_ONCE(gain);

	return min(2 * cwnd, cwnd + nist_permille(nist_segs(packets), share) -
			     nist_permille(queued, share));
}

/**
 * fast_tune() - Eq. 22
 * @level: current index of alpha, 0 to 2
 * @rate: throughput, packets/s
 *
 * Return: new index of alpha, 0 to 2
 */
static u8 fast_tune(u8 level, u64 rate)
{
	if (level == 0)
		return rate >= READ_ONCE(m0m1) ? 1 : 0;
	if (level == 2)
		return rate <= READ_ONCE(m2m1) ? 1 : 2;
	if (rate <= READ_ONCE(m1m0))
		return 0;
	return rate >= READ_ONCE(m1m2) ? 2 : 1;
}

static u32 fast_alpha(const struct fast *fast)
{
	if (!READ_ONCE(tune))
		return READ_ONCE(alpha);
	switch (fast->level) {
	case 0:
		return READ_ONCE(alpha1);
	case 1:
		return READ_ONCE(alpha2);
	default:
		return READ_ONCE(alpha3);
	}
}

static void fast_start(struct nist *nist, const struct nist_ack *ack)
{
	struct fast *fast = container_of(nist, struct fast, nist);

	fast->level = 2;
	fast->tune_us = ack->now_us;
	fast->rate.since_us = ack->now_us;
	fast->rate.delivered = ack->delivered;
}

static __always_inline void fast_increase(struct nist *nist, u32 acked)
{
	struct fast *fast = container_of(nist, struct fast, nist);

	if (fast->target <= nist->cwnd) {
		if (!fast->target)
			fast->target = nist->cwnd;
		nist->cwnd = max(fast->target, nist_segs(NIST_CWND_MIN));
		return;
	}
	nist_add(nist, nist_share(fast->target - nist->cwnd, fast->share, 32), acked, fast->target);
}

static u64 fast_decrease(struct nist *nist)
{
	struct fast *fast = container_of(nist, struct fast, nist);

	fast->target = nist->cwnd / 2;
	return fast->target;
}

/* 0 means that there is no T.  The next ACK sets T to the window, the next update computes T. */
static void fast_undo(struct nist *nist)
{
	struct fast *fast = container_of(nist, struct fast, nist);

	fast->target = 0;
}

static bool fast_is_update(const struct fast *fast, u64 now_us)
{
	return nist_is_over(fast->target_us, READ_ONCE(update) * USEC_PER_MSEC, now_us);
}

static bool fast_is_tune(const struct fast *fast, u64 now_us)
{
	return nist_is_over(fast->tune_us, (u64)READ_ONCE(update_alpha) * USEC_PER_SEC, now_us);
}

/* The rule for alpha (every UA) waits for the end of a round trip. */
static bool fast_due(const struct nist *nist, const struct nist_ack *ack)
{
	const struct fast *fast = container_of(nist, struct fast, nist);

	return nist_is_round(fast->rate.since_us, ack->srtt_us, ack->now_us) ||
	       (ack->slow_start ? fast->target : fast_is_update(fast, ack->now_us));
}

/* At the end of a round trip.  Only tuning needs the throughput, from when it is switched on. */
static __always_inline void fast_round(struct fast *fast, const struct nist_ack *ack)
{
	u32 acks = ack->delivered - fast->rate.delivered;

	if (acks)
		fast->share = U32_MAX / acks;
	if (!READ_ONCE(tune)) {
		fast->rate.since_us = ack->now_us;
		fast->rate.delivered = ack->delivered;
		fast->tune_us = ack->now_us;
		return;
	}
	nist_rate_end(&fast->rate, ack->now_us, ack->delivered, READ_ONCE(weight));
	if (fast_is_tune(fast, ack->now_us)) {
		fast->tune_us = ack->now_us;
		fast->level = fast_tune(fast->level, fast->rate.rate >> NIST_RATE_SCALE);
	}
}

static __always_inline void fast_periodic(struct nist *nist, const struct nist_ack *ack)
{
	struct fast *fast = container_of(nist, struct fast, nist);

	if (nist_is_round(fast->rate.since_us, ack->srtt_us, ack->now_us))
		fast_round(fast, ack);
	if (ack->slow_start) {
		fast->target = 0;
	} else if (fast_is_update(fast, ack->now_us)) {
		fast->target_us = ack->now_us;
		fast->target = min(fast_target(nist->cwnd, nist->rtt_min_us, ack->srtt_us,
					       fast_alpha(fast)),
				   nist_segs(NIST_CWND_MAX));
	}
}

static const struct nist_law nist_law = {
	.start		= fast_start,
	.increase	= fast_increase,
	.decrease	= fast_decrease,
	.undo		= fast_undo,
	.periodic	= fast_periodic,
	.due		= fast_due,
};

NIST_MODULE("nist_fast", struct fast, "FAST", 0);
