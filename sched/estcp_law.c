// SPDX-License-Identifier: GPL-2.0
/*
 * The law of a link of Explicitly Synchronized TCP (ESTCP): what the paper calls
 * the traffic controller.
 *
 *   H. Nishiyama, N. Ansari, N. Kato, "Wireless Loss-Tolerant Congestion Control
 *   Protocol Based on Dynamic AIMD Theory".
 *
 * A phase lasts from one overflow of the buffer to the next.  All senders shrink
 * their windows when it ends, by what is in the buffer, and then grow by 1 / g
 * packets per second each, whatever their round trip times are.  The link wants
 * phases of length D and, whenever one of length I has ended, corrects g:
 *
 *   g' = g + gamma * (D - I)
 *
 * Stability.  N flows fill a buffer of B packets in I = g * B / N, hence
 *
 *   g' - g* = (1 - gamma * B / N) * (g - g*),	g* = D * N / B
 *
 * which converges for 0 < gamma < 2 * N / B, at once for gamma = N / B.  A link
 * does not know N.  But it has just measured it: N / B = g / I.  With
 *
 *   gamma = kappa * g / I
 *
 * the factor is 1 - kappa for every N and B, so the default kappa of 1/2 halves
 * the distance with each phase.  This is not only so close to g*.  If part t of a
 * phase does not depend on g, as the round trip that a shrinking takes, it is
 * I = g * B / N + t; the factor is then 1 - kappa * (1 - t / D), still in (0, 1),
 * and I still comes to D.
 *
 * The paper's gamma is a constant, "determined from the stability analysis", without a
 * value.  It is not the default because there is no such constant for a link that does not
 * know N: what is stable for one flow, below 2 / B, closes 1 / N of the distance with each
 * phase, so that a hundred flows would need hundreds of phases.  The option gamma has it
 * for comparison: with "gamma 0.002 patience 0", half of what is stable for one flow on a
 * buffer of 500 packets, as the column "as printed" of the scenarios estcp-fig2,
 * estcp-fig3a and estcp-few-many.
 *
 * What the paper leaves open, and what is added:
 *   o An overflow drops many packets.  The first drop ends the phase; others do
 *     not count during the hold-off, by default D / 10, in which senders can
 *     react.  It must be longer than their round trips.
 *   o Only drops of data of the class count: no others were told a g.
 *   o The first phase begins with the first packet of the class, not with the
 *     link: there is nothing to be learned from time before it.
 *   o The first g is for a flow alone, of which a buffer takes hundreds of packets:
 *     from one that is too small the law is where it should be after a few short
 *     phases, from one that is too large after a few long ones.
 *   o g grows by a factor of at most 2 per phase.  A phase that ends early may be
 *     an accident, as of a flow in slow start, and the normalised gain would
 *     answer a phase of I = D / 100 with a factor of 50.  Downwards the
 *     normalised gain up to 1 has a bound of itself: 1 - kappa.
 *   o g stays in the range that marks can express.
 *   o In the paper g only changes when a phase ends, so one that is far too large
 *     stays for long: among few flows with a large buffer the first phase lasts
 *     g * B / N, and a hundred flows that come within five seconds overflow the
 *     buffer so often that, from a g of 100 ms, it is at its bound when they are all
 *     there, and phases then last 8 to 60 s.  With "patience" the link looks at
 *     its buffer after so many D, and then once per D in which data left.  The queue
 *     grows at a constant pace, so where it has come a share f of the way after one D
 *     the phase will last D / f, and g * f is right.  That is done below a half, down
 *     to an eighth: else the overflow is near, and says it better.  Before the first
 *     overflow the way is not known, and g is halved.  The default is 1.  The paper's is
 *     none, which is "patience 0"; it is not the default because of these first minutes.
 */

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "estcp_law.h"

#define ESTCP_G_MIN	((u64)TCPCC_ESTCP_G_MIN << ESTCP_SCALE)
#define ESTCP_G_MAX	((u64)TCPCC_ESTCP_G_MAX << ESTCP_SCALE)

/* Bits of fraction of (D - I) / I */
#define ESTCP_RATIO	20

const struct estcp_config estcp_default = {
	.target_us	= 5 * USEC_PER_SEC,
	.kappa		= ESTCP_UNIT / 2,
	.first_us	= 10 * USEC_PER_MSEC,
	.patience	= 1,
	.dscp		= TCPCC_ESTCP_DSCP,
};

/**
 * estcp_step() - by how much g changes
 * @e: link
 * @length_us: I, us, at least 1
 *
 * Neither product overflows: with a gain of choice 2^32 * 2^32; normalised upwards less
 * than g << ESTCP_RATIO, 2^60, since a step of g or more is cut before, and downwards
 * less than four times as much.
 *
 * Return: |g' - g|, 2^-ESTCP_SCALE us; upwards at most g
 */
static u64 estcp_step(const struct estcp_law *e, u32 length_us)
{
	const struct estcp_config *c = &e->config;
	bool up = length_us < c->target_us;
	u32 off_us = up ? c->target_us - length_us : length_us - c->target_us;
	u64 part, ratio;
	u32 rest;

	if (c->gamma) {
		part = div_u64_rem((u64)c->gamma * off_us, ESTCP_GAMMA_UNIT,
				   &rest);
		part = (part << ESTCP_SCALE) +
		       div_u64((u64)rest << ESTCP_SCALE, ESTCP_GAMMA_UNIT);
		return up ? min(part, e->g) : part;
	}

	if (up && (u64)off_us * c->kappa >= (u64)length_us * ESTCP_UNIT)
		return e->g;
	part = div_u64(e->g * c->kappa, ESTCP_UNIT);
	ratio = div_u64((u64)off_us << ESTCP_RATIO, length_us);
	return part * ratio >> ESTCP_RATIO;
}

/* Another g, as near to it as may be */
static void estcp_set(struct estcp_law *e, s64 g)
{
	e->g = clamp_t(s64, g, ESTCP_G_MIN, ESTCP_G_MAX);
	e->share = tcpcc_estcp_share(estcp_law_g_us(e));
}

static u64 estcp_target_ns(const struct estcp_law *e)
{
	return (u64)e->config.target_us * NSEC_PER_USEC;
}

static void estcp_be_patient(struct estcp_law *e)
{
	e->patience_ns = e->running && e->config.patience ?
		e->start_ns + e->config.patience * estcp_target_ns(e) : U64_MAX;
}

/**
 * estcp_law_init() - the link before its first packet
 * @e: link
 * @config: its constants
 */
void estcp_law_init(struct estcp_law *e, const struct estcp_config *config)
{
	struct estcp_config kept = *config;

	memset(e, 0, sizeof(*e));
	e->config = kept;
	estcp_set(e, (u64)kept.first_us << ESTCP_SCALE);
	estcp_be_patient(e);
}

/**
 * estcp_law_configure() - other constants, for a link at work
 * @e: link
 * @config: its constants from now on
 *
 * The phase goes on, and so does the hold-off.  A link that waits for its first
 * packet begins with the new g.
 */
void estcp_law_configure(struct estcp_law *e,
			 const struct estcp_config *config)
{
	if (!e->running) {
		estcp_law_init(e, config);
		return;
	}
	e->config = *config;
	estcp_be_patient(e);
}

/**
 * estcp_law_start() - the first phase begins
 * @e: link
 * @now_ns: time
 */
void estcp_law_start(struct estcp_law *e, u64 now_ns)
{
	e->running = true;
	e->start_ns = now_ns;
	estcp_be_patient(e);
}

/**
 * estcp_law_overflow() - a packet has been dropped
 * @e: link
 * @now_ns: time
 *
 * Return: true if that ended the phase
 */
bool estcp_law_overflow(struct estcp_law *e, u64 now_ns)
{
	const struct estcp_config *c = &e->config;
	u32 length_us;
	s64 step;

	if (now_ns < e->hold_ns)
		return false;

	e->last_us = div_u64(now_ns - e->start_ns, NSEC_PER_USEC);
	length_us = clamp_t(u64, e->last_us, 1, U32_MAX);
	step = estcp_step(e, length_us);
	estcp_set(e, e->g + (length_us < c->target_us ? step : -step));

	e->phase++;
	e->pair ^= TCPCC_ESTCP_ODD;
	e->start_ns = now_ns;
	e->hold_ns = now_ns + (u64)estcp_holdoff_us(c) * NSEC_PER_USEC;
	estcp_be_patient(e);
	return true;
}

/*
 * How far the queue has come in this phase, from the shortest to the longest that it
 * can be, 1 / ESTCP_UNIT; half the way if that is not known
 */
static u32 estcp_done(const struct estcp_law *e, u32 backlog)
{
	u32 way = e->full - e->least;

	if (!way)
		return ESTCP_UNIT / 2;
	backlog = clamp(backlog, e->least, e->full);
	return div_u64((u64)(backlog - e->least) * ESTCP_UNIT, way);
}

/**
 * estcp_law_hurry() - a smaller g, if no overflow is in sight
 * @e: link
 * @now_ns: time, and data leaves
 * @backlog: how long the queue is, bytes
 *
 * Once however late: time in which nothing left is no sign of a g too large.
 */
void estcp_law_hurry(struct estcp_law *e, u64 now_ns, u32 backlog)
{
	u32 done = estcp_done(e, backlog);

	if (done <= ESTCP_UNIT / 2)
		estcp_set(e, div_u64(e->g * max(done, ESTCP_UNIT / 8),
				     ESTCP_UNIT));
	e->patience_ns = now_ns + estcp_target_ns(e);
}
