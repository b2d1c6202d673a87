/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What JTCP and TCP New Jersey have in common.
 *
 * Losses that are noise.  Both tell them from congestion, and then only send again what is
 * lost.  TCP asks for a new ssthresh at each loss, and its recovery ends with a window of
 * that size.  So the answer is the window itself; and the ssthresh from before comes back
 * when recovery ends, or the first loss would end slow start.
 *
 * The receiver's clock.  TSval says when the receiver sent an ACK, which no queue on the way
 * back can change.  Its unit is the receiver's own affair: it is found by comparison.
 */
#ifndef _RIVALS_H
#define _RIVALS_H

#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "tcpcc_compat.h"
#include "tcpcc_param.h"
#include "tcpcc_view.h"

/* A time that enters a product is at most this, us */
#define RIVAL_TIME_CAP	(100 * USEC_PER_SEC)

/* How long the receiver's clock is watched before its unit is known, us */
#define RIVAL_CLOCK_WATCH	USEC_PER_SEC

/* ------------------------------------------------------------------------- */
/* Losses that are noise                                                     */

/**
 * rival_keep() - what .ssthresh answers to such a loss
 * @sk: the socket
 * @before: where ssthresh waits for the end of recovery
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
 * rival_event() - put ssthresh back
 * @sk: the socket
 * @event: of .cwnd_event
 * @before: of rival_keep(); 0: nothing was kept
 *
 * After a timeout slow start ends where .ssthresh said.
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
 * struct rival_clock - what is known of it
 * @tsval: of the newest ACK
 * @now_us: when that came, own time
 * @watch_tsval: when the comparison began
 * @watch_us: the same, own time
 * @unit_us: of TSval; 0: not known yet
 * @watched: the comparison has begun
 * @idle: what passes until the next ACK is the application's pause
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
 * @passed_us: own time, at most 2^31
 * @ticks: of the clock meanwhile
 *
 * Linux counts microseconds or milliseconds; others jiffies of 4 or 10 ms.  A quarter more
 * or less is what the way's delay may have changed meanwhile.
 *
 * Return: us; 0: none of them
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
 * rival_clock_ack() - an ACK has come
 * @c: the clock
 * @now_us: own time
 * @tsval: of the ACK
 * @there: it has one
 *
 * An ACK that others have overtaken was sent before them: no time has passed.
 *
 * Return: between the sending of this ACK and of the one before, us, at most RIVAL_TIME_CAP;
 * between their arrivals, as long as the unit is not known
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
