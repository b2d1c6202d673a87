/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The law of an ESTCP link: its constants, its variables.  It knows nothing of
 * qdiscs or packets; see estcp_law.c.
 */
#ifndef _TCPCC_ESTCP_LAW_H
#define _TCPCC_ESTCP_LAW_H

#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "tcpcc_estcp.h"

/* g is in 2^-16 us: the least step, of a link near its target, is far above that. */
#define ESTCP_SCALE	16

/* kappa is in units of 1 / ESTCP_UNIT, gamma in units of 1 / ESTCP_GAMMA_UNIT. */
#define ESTCP_UNIT	1000000
#define ESTCP_GAMMA_UNIT	1000000000

/*
 * The most that gamma may be, 1 / ESTCP_GAMMA_UNIT, and the bounds of kappa: it
 * should be below 2, and more is there to see why
 */
#define ESTCP_GAMMA_MAX	(4U * ESTCP_GAMMA_UNIT)
#define ESTCP_KAPPA_MIN	1000
#define ESTCP_KAPPA_MAX	(4 * ESTCP_UNIT)

/* Bounds of D, us, and the most periods of it to be patient for */
#define ESTCP_TARGET_MIN	1000U
#define ESTCP_TARGET_MAX	1000000000U
#define ESTCP_PATIENCE_MAX	1000000U

/**
 * struct estcp_config - the constants of a link
 * @target_us: D, how long a phase should last, us
 * @gamma: gain, 1 / ESTCP_GAMMA_UNIT; 0: by @kappa
 * @kappa: normalised gain, 1 / ESTCP_UNIT
 * @first_us: g to begin with, us
 * @holdoff_us: after an overflow, how long others do not count, us; 0: D / 10
 * @patience: after how many D without an overflow to look at the buffer; 0: never
 * @dscp: of the class, which the law does not look at
 */
struct estcp_config {
	u32 target_us;
	u32 gamma;
	u32 kappa;
	u32 first_us;
	u32 holdoff_us;
	u32 patience;
	u32 dscp;
};

extern const struct estcp_config estcp_default;

/**
 * struct estcp_law - one link
 * @config: its constants
 * @g: seconds per packet in which windows are to grow, 2^-ESTCP_SCALE us
 * @share: p, the share of packets to mark, TCPCC_ESTCP_SCALE
 * @pair: codepoint of this phase without a mark
 * @running: time counts
 * @phase: number of this phase
 * @start_ns: when it began
 * @hold_ns: until when overflows do not end it
 * @patience_ns: when to look at the buffer; U64_MAX: never
 * @last_us: I, length of the phase before, us; 0: there was none
 * @full: the queue at the last overflow, bytes; 0: there was none
 * @least: the shortest since, bytes
 */
struct estcp_law {
	struct estcp_config config;
	u64 g;
	u32 share;
	u8 pair;
	bool running;
	u64 phase;
	u64 start_ns;
	u64 hold_ns;
	u64 patience_ns;
	u64 last_us;
	u32 full;
	u32 least;
};

void estcp_law_init(struct estcp_law *e, const struct estcp_config *config);
void estcp_law_configure(struct estcp_law *e,
			 const struct estcp_config *config);
void estcp_law_start(struct estcp_law *e, u64 now_ns);
bool estcp_law_overflow(struct estcp_law *e, u64 now_ns);
void estcp_law_hurry(struct estcp_law *e, u64 now_ns, u32 backlog);

/**
 * estcp_holdoff_us() - how long an overflow keeps others from counting
 * @config: constants of a link
 *
 * Return: us
 */
static inline u32 estcp_holdoff_us(const struct estcp_config *config)
{
	return READ_ONCE(config->holdoff_us) ?:
	       READ_ONCE(config->target_us) / 10;
}

/**
 * estcp_law_full() - the buffer was full
 * @e: link
 * @backlog: that a dropped packet met, bytes
 */
static inline void estcp_law_full(struct estcp_law *e, u32 backlog)
{
	e->full = backlog;
	e->least = backlog;
}

/**
 * estcp_law_queue() - how long the queue is
 * @e: link
 * @backlog: that a packet leaves behind, bytes
 */
static inline void estcp_law_queue(struct estcp_law *e, u32 backlog)
{
	if (backlog < e->least)
		e->least = backlog;
}

/**
 * estcp_law_impatient() - whether the phase lasts too long
 * @e: link
 * @now_ns: time
 *
 * Return: true if estcp_law_hurry() is due
 */
static inline bool estcp_law_impatient(const struct estcp_law *e, u64 now_ns)
{
	return now_ns >= e->patience_ns;
}

/**
 * estcp_law_codepoint() - what to write into a packet
 * @e: link
 * @dice: a random number
 *
 * Return: the two ECN bits
 */
static inline u8 estcp_law_codepoint(const struct estcp_law *e, u32 dice)
{
	return e->pair | (dice >> (32 - TCPCC_ESTCP_SCALE) < e->share ?
			  TCPCC_ESTCP_MARK : 0);
}

/**
 * estcp_law_g_us() - what the senders are told
 * @e: link
 *
 * Return: g, us
 */
static inline u32 estcp_law_g_us(const struct estcp_law *e)
{
	return e->g >> ESTCP_SCALE;
}

#endif /* _TCPCC_ESTCP_LAW_H */
