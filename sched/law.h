/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the laws of links share: rates from what has passed, and the clock of those that look
 * at the rate in one period and at the queue in another.
 */
#ifndef _TCPCC_LAW_H
#define _TCPCC_LAW_H

#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/* Gains and shares are in units of 1 / LAW_UNIT; the papers' are exact so. */
#define LAW_UNIT	1000000

/* Rates and capacities are below this, bytes/s (4.4 Tbit/s) */
#define LAW_RATE_BITS	39

/* Gains are at most this, of LAW_UNIT */
#define LAW_GAIN_MAX	(4 * LAW_UNIT)

/* Bounds of a control period, us, whatever packets say */
#define LAW_INTERVAL_MIN	1000U
#define LAW_INTERVAL_MAX	10000000U

/* The least time over which the queue's minimum is taken, us */
#define LAW_WINDOW_MIN	2000U

/**
 * struct law_clock - control periods, and windows in which the least queue is looked for
 * @control_ns: end of this period
 * @queue_ns: end of this window
 * @next_ns: the sooner of the two; U64_MAX: time does not count yet
 * @queue: the least queue in the window before, bytes
 * @queue_min: the least in this one so far, bytes
 * @running: time counts
 *
 * There is no timer for either.  Between two packets the queue does not change and nobody
 * reads what the law wants, so what has ended since the last packet may as well be reckoned
 * up when the next one comes:
 *
 *	while (law_clock_due(c, now_ns))
 *		if (!law_clock_window(c, now_ns, window_us, backlog)) {
 *			(what the end of a period means)
 *			law_clock_period(c, interval_us);
 *		}
 */
struct law_clock {
	u64 control_ns;
	u64 queue_ns;
	u64 next_ns;
	u32 queue;
	u32 queue_min;
	bool running;
};

/**
 * law_share() - part of a rate
 * @rate: bytes/s, below 2^LAW_RATE_BITS
 * @share: 1 / LAW_UNIT, at most LAW_GAIN_MAX
 *
 * Return: bytes/s
 */
static inline u64 law_share(u64 rate, u32 share)
{
	return div_u64(rate * share, LAW_UNIT);
}

/**
 * law_per_second() - what passed in a time, as a rate
 * @bytes: how many; more than 2^43 are taken for as many
 * @us: time, us
 *
 * Return: bytes/s, below 2^LAW_RATE_BITS
 */
static inline u64 law_per_second(u64 bytes, u32 us)
{
	bytes = min_t(u64, bytes, BIT_ULL(43)) * USEC_PER_SEC;
	return min_t(u64, div_u64(bytes, us), BIT_ULL(LAW_RATE_BITS) - 1);
}

/**
 * law_delay_us() - how long a link needs for a queue
 * @backlog: bytes
 * @capacity: bytes/s, at least 1
 *
 * Return: us, at most LAW_INTERVAL_MAX
 */
static inline u32 law_delay_us(u32 backlog, u64 capacity)
{
	return min_t(u64, div64_u64((u64)backlog * USEC_PER_SEC, capacity),
		     LAW_INTERVAL_MAX);
}

/**
 * law_clock_due() - whether a period or a window has ended
 * @c: clock
 * @now_ns: time
 *
 * Return: true if there is something to reckon up
 */
static inline bool law_clock_due(const struct law_clock *c, u64 now_ns)
{
	return now_ns >= c->next_ns;
}

/**
 * law_clock_init() - before time counts
 * @c: clock, all zero
 */
static inline void law_clock_init(struct law_clock *c)
{
	c->next_ns = U64_MAX;
}

/**
 * law_clock_start() - begin to count time, or begin anew
 * @c: clock
 * @now_ns: time
 * @interval_us: of the first period, us
 * @window_us: of the first window, us
 * @backlog: queue, bytes
 */
static inline void law_clock_start(struct law_clock *c, u64 now_ns, u32 interval_us,
				   u32 window_us, u32 backlog)
{
	c->running = true;
	c->queue_min = backlog;
	c->control_ns = now_ns + (u64)interval_us * NSEC_PER_USEC;
	c->queue_ns = now_ns + (u64)window_us * NSEC_PER_USEC;
	c->next_ns = min(c->control_ns, c->queue_ns);
}

/**
 * law_clock_queue() - look at the queue
 * @c: clock
 * @backlog: how long it is, bytes
 */
static inline void law_clock_queue(struct law_clock *c, u32 backlog)
{
	if (backlog < c->queue_min)
		c->queue_min = backlog;
}

/**
 * law_clock_window() - end a window, if that is what ends next
 * @c: clock, due
 * @now_ns: time
 * @window_us: length of those that come, us
 * @backlog: queue since the last packet, bytes
 *
 * Windows that follow it without a packet are alike, and skipped.
 *
 * Return: false: a period ends before
 */
static inline bool law_clock_window(struct law_clock *c, u64 now_ns, u32 window_us,
				    u32 backlog)
{
	u64 window_ns = (u64)window_us * NSEC_PER_USEC;
	u64 until_ns = min(now_ns, c->control_ns);

	if (c->queue_ns > c->control_ns)
		return false;
	c->queue = c->queue_min;
	c->queue_min = backlog;
	c->queue_ns += window_ns;
	if (c->queue_ns + window_ns < until_ns)
		c->queue_ns = until_ns - window_ns;
	c->next_ns = min(c->control_ns, c->queue_ns);
	return true;
}

/**
 * law_clock_period() - the next period begins where this one ends
 * @c: clock
 * @interval_us: its length, us
 */
static inline void law_clock_period(struct law_clock *c, u32 interval_us)
{
	c->control_ns += (u64)interval_us * NSEC_PER_USEC;
	c->next_ns = min(c->control_ns, c->queue_ns);
}

#endif /* _TCPCC_LAW_H */
