/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control law of an ESTCP link: its constants and variables.  It does not depend on qdiscs or
 * packets; see estcp_law.c.
 */
#ifndef _TCPCC_ESTCP_LAW_H
#define _TCPCC_ESTCP_LAW_H

#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "tcpcc_estcp.h"

/* g is in units of 2^-16 us: even the small steps of a link near its target are far larger. */
#define ESTCP_SCALE	16

/* kappa is in units of 1 / ESTCP_UNIT, gamma in units of 1 / ESTCP_GAMMA_UNIT. */
#define ESTCP_UNIT	1000000
#define ESTCP_GAMMA_UNIT	1000000000

/*
 * The largest gamma, 1 / ESTCP_GAMMA_UNIT, and the bounds of kappa.  kappa should be below 2; more
 * is allowed only to show why.
 */
#define ESTCP_GAMMA_MAX	(4U * ESTCP_GAMMA_UNIT)
#define ESTCP_KAPPA_MIN	1000
#define ESTCP_KAPPA_MAX	(4 * ESTCP_UNIT)

/* Bounds of D, us: senders fall back to Reno if phases are shorter.  The largest patience, D */
#define ESTCP_TARGET_MIN	(TCPCC_ESTCP_PHASE_MIN * 1000U)
#define ESTCP_TARGET_MAX	1000000000U
#define ESTCP_PATIENCE_MAX	1000000U

/**
 * struct estcp_config - the constants of a link
 * @target_us: D, how long a phase should last, us
 * @gamma: gain, 1 / ESTCP_GAMMA_UNIT; 0: use @kappa
 * @kappa: normalised gain, 1 / ESTCP_UNIT
 * @first_us: initial g, us
 * @holdoff_us: time after an overflow in which other overflows do not count, us; 0: D / 10
 * @patience: number of D without an overflow after which to look at the buffer; 0: never
 * @dscp: DSCP of the class; the law itself does not use it
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
 * @g: time in which each window is to grow by one packet, 2^-ESTCP_SCALE us
 * @share: p, the share of packets to mark, 2^-TCPCC_ESTCP_SCALE
 * @pair: codepoint of an unmarked packet in this phase
 * @running: the first phase has begun
 * @phase: number of this phase
 * @start_ns: start of this phase
 * @hold_ns: overflows before this time do not end the phase
 * @patience_ns: when to look at the buffer; U64_MAX: never
 * @last_us: I, length of the previous phase, us; 0: there was none
 * @full: the queue at the last overflow, bytes; 0: there was none
 * @least: the shortest queue since then, bytes
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
 * estcp_holdoff_us() - time after an overflow in which other overflows do not count
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
 * @backlog: the queue when the dropped packet arrived, bytes
 */
static inline void estcp_law_full(struct estcp_law *e, u32 backlog)
{
	e->full = backlog;
	e->least = backlog;
}

/**
 * estcp_law_queue() - note the length of the queue
 * @e: link
 * @backlog: the queue that a departing packet leaves behind, bytes
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
 * estcp_law_codepoint() - the codepoint to write into a packet
 * @e: link
 * @dice: a random number of 32 bits
 *
 * Return: the two ECN bits
 */
static inline u8 estcp_law_codepoint(const struct estcp_law *e, u32 dice)
{
	return e->pair | (dice >> (32 - TCPCC_ESTCP_SCALE) < e->share ?
			  TCPCC_ESTCP_MARK : 0);
}

/**
 * estcp_law_g_us() - g as it is signalled to the senders
 * @e: link
 *
 * Return: g, us
 */
static inline u32 estcp_law_g_us(const struct estcp_law *e)
{
	return e->g >> ESTCP_SCALE;
}

#endif /* _TCPCC_ESTCP_LAW_H */
