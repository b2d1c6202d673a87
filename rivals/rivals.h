/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common code of JTCP and TCP New Jersey.
 *
 * Losses that are noise.  Both laws distinguish them from losses of congestion.  If a loss is
 * noise, it is only retransmitted.  But TCP calls .ssthresh at each loss, and at the end of
 * recovery sets the window to the result.  So .ssthresh returns the window itself.  The previous
 * ssthresh is restored when recovery ends, because the first loss would otherwise end slow start.
 *
 * The receiver's clock.  TSval is the time at which the receiver sent an ACK.  A queue on the way
 * back does not change it.  The receiver is free to choose its unit, so the unit is found by
 * comparison with the sender's own clock.
 */
#ifndef _RIVALS_H
#define _RIVALS_H

#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "tcpcc_compat.h"
#include "tcpcc_param.h"
#include "tcpcc_view.h"

/* Upper limit of a time that is used in a product, us */
#define RIVAL_TIME_CAP	(100 * USEC_PER_SEC)

/* How long the receiver's clock is compared before its unit is known, us */
#define RIVAL_CLOCK_WATCH	USEC_PER_SEC

/* ------------------------------------------------------------------------- */
/* Losses that are noise                                                     */

/**
 * rival_keep() - result of .ssthresh for a loss that is noise
 * @sk: the socket
 * @before: set to ssthresh, for rival_event()
 *
 * Return: the window, segments, at least 2
 */
static inline u32 rival_keep(struct sock *sk, u32 *before)
{
	struct tcp_sock *tp = tcp_sk(sk);

	*before = tp->snd_ssthresh;
	return max(tcp_snd_cwnd(tp), 2U);
}

/**
 * rival_event() - restore ssthresh at the end of recovery
 * @sk: the socket
 * @event: argument of .cwnd_event
 * @before: from rival_keep(); 0: nothing to restore
 *
 * After a timeout nothing is restored: slow start ends at the result of .ssthresh.
 */
static inline void rival_event(struct sock *sk, enum tcp_ca_event event, u32 *before)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (event == CA_EVENT_COMPLETE_CWR && *before)
		WRITE_ONCE(tp->snd_ssthresh, max(tp->snd_ssthresh, *before));
	if (event == CA_EVENT_COMPLETE_CWR || event == CA_EVENT_LOSS)
		*before = 0;
}

/* ------------------------------------------------------------------------- */
/* The receiver's clock                                                      */

/**
 * struct rival_clock - state of the receiver's clock
 * @tsval: TSval of the newest ACK
 * @now_us: own time when the last ACK arrived, us
 * @watch_tsval: TSval when the comparison began
 * @watch_us: own time when the comparison began, us
 * @unit_us: unit of TSval, us; 0: not known
 * @watched: the comparison has begun
 * @idle: the time until the next ACK is a pause of the application
 */
struct rival_clock {
	u32	tsval;
	u32	now_us;
	u32	watch_tsval;
	u32	watch_us;
	u16	unit_us;
	u8	watched:1,
		idle:1;
};

/**
 * rival_clock_unit() - the unit of a clock
 * @passed_us: time that has passed on the own clock, us, at most 2^31
 * @ticks: ticks of the receiver's clock in this time
 *
 * Linux counts microseconds or milliseconds; others count jiffies of 4 or 10 ms.  A deviation of a
 * quarter is accepted, because the delay of the path may have changed meanwhile.
 *
 * Return: unit, us; 0: none of these fits
 */
static inline u16 rival_clock_unit(u32 passed_us, u32 ticks)
{
	static const u16 unit_us[] = { 1, 1000, 4000, 10000 };
	int i;

	for (i = 0; i < ARRAY_SIZE(unit_us); i++) {
		u64 us = (u64)ticks * unit_us[i];

		if (us >= passed_us - passed_us / 4 && us <= passed_us + passed_us / 4)
			return unit_us[i];
	}
	return 0;
}

static inline void rival_clock_watch(struct rival_clock *c)
{
	u32 passed_us = c->now_us - c->watch_us;

	if (c->watched && passed_us < RIVAL_CLOCK_WATCH)
		return;
	if (c->watched && passed_us <= S32_MAX)
		c->unit_us = rival_clock_unit(passed_us, c->tsval - c->watch_tsval);
	c->watched = 1;
	c->watch_tsval = c->tsval;
	c->watch_us = c->now_us;
}

/**
 * rival_clock_ack() - process an ACK
 * @c: the clock
 * @now_us: own time, us
 * @tsval: TSval of the ACK
 * @there: the ACK has a TSval
 *
 * If newer ACKs have overtaken this ACK, no time has passed.
 *
 * Return: time between the sending of the previous ACK and of this one, us, at most
 * RIVAL_TIME_CAP; if the unit is not known, time between their arrivals; 0 after a pause
 */
static inline u32 rival_clock_ack(struct rival_clock *c, u32 now_us, u32 tsval, bool there)
{
	u32 passed_us = now_us - c->now_us;
	s32 ticks = tsval - c->tsval;

	c->now_us = now_us;
	if (there) {
		if (ticks > 0 || !c->watched)
			c->tsval = tsval;
		if (c->unit_us)
			passed_us = min_t(u64, (u64)max(ticks, 0) * c->unit_us, RIVAL_TIME_CAP);
		else
			rival_clock_watch(c);
	}
	if (c->idle) {
		c->idle = 0;
		return 0;
	}
	return min_t(u32, passed_us, RIVAL_TIME_CAP);
}

#endif /* _RIVALS_H */
