/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common parts of the control laws: rates computed from bytes and time, and the clock of the laws
 * that measure the rate in one kind of period and the queue in another.
 */
#ifndef _TCPCC_LAW_H
#define _TCPCC_LAW_H

#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/* Gains and shares are in units of 1 / LAW_UNIT, in which the values of the papers are exact. */
#define LAW_UNIT	1000000

/* Rates and capacities are below this, bytes/s (4.4 Tbit/s) */
#define LAW_RATE_BITS	39

/* The largest gain, 1 / LAW_UNIT */
#define LAW_GAIN_MAX	(4 * LAW_UNIT)

/* Bounds of a control period, us, whatever rtt packets carry */
#define LAW_INTERVAL_MIN	1000U
#define LAW_INTERVAL_MAX	10000000U

/* The shortest window for the minimum of the queue, us */
#define LAW_WINDOW_MIN	2000U

/**
 * struct law_clock - control periods, and windows for the minimum of the queue
 * @control_ns: end of this period
 * @queue_ns: end of this window
 * @next_ns: the earlier of the two; U64_MAX: the clock does not run yet
 * @queue: the least queue in the previous window, bytes
 * @queue_min: the least queue in this window so far, bytes
 * @running: the clock runs
 *
 * There is no timer for periods and windows.  Between two packets the queue does not change, and
 * the result of the law is not used.  So the periods and windows that have ended since the last
 * packet are computed when the next packet arrives or leaves:
 *
 *	while (law_clock_due(c, now_ns))
 *		if (!law_clock_window(c, now_ns, window_us, backlog)) {
 *			(the step of the law at the end of a period)
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
 * law_per_second() - the rate at which bytes passed
 * @bytes: number of bytes; more than 2^43 count as 2^43
 * @us: time in which they passed, us, at least 1
 *
 * Return: bytes/s, below 2^LAW_RATE_BITS
 */
static inline u64 law_per_second(u64 bytes, u32 us)
{
	bytes = min_t(u64, bytes, BIT_ULL(43)) * USEC_PER_SEC;
	return min_t(u64, div_u64(bytes, us), BIT_ULL(LAW_RATE_BITS) - 1);
}

/**
 * law_delay_us() - time that a link needs to send a queue
 * @backlog: the queue, bytes
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
 * Return: true if a period or a window has ended
 */
static inline bool law_clock_due(const struct law_clock *c, u64 now_ns)
{
	return now_ns >= c->next_ns;
}

/**
 * law_clock_init() - initialise a clock that does not run yet
 * @c: clock, all zero
 */
static inline void law_clock_init(struct law_clock *c)
{
	c->next_ns = U64_MAX;
}

/**
 * law_clock_start() - start or restart the clock
 * @c: clock
 * @now_ns: time
 * @interval_us: length of the first period, us
 * @window_us: length of the first window, us
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
 * law_clock_queue() - note the length of the queue
 * @c: clock
 * @backlog: the queue, bytes
 */
static inline void law_clock_queue(struct law_clock *c, u32 backlog)
{
	if (backlog < c->queue_min)
		c->queue_min = backlog;
}

/**
 * law_clock_window() - end a window, if it does not end after the period
 * @c: clock, due
 * @now_ns: time
 * @window_us: length of the next windows, us
 * @backlog: queue since the last packet, bytes
 *
 * Further windows that end without a packet all have the same minimum, and are skipped.
 *
 * Return: true if a window has ended; false if the period ends first, and then nothing changes
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
 * law_clock_period() - begin the next period at the end of this one
 * @c: clock
 * @interval_us: length of the next period, us
 */
static inline void law_clock_period(struct law_clock *c, u32 interval_us)
{
	c->control_ns += (u64)interval_us * NSEC_PER_USEC;
	c->next_ns = min(c->control_ns, c->queue_ns);
}

#endif /* _TCPCC_LAW_H */
