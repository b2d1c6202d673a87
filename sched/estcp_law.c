// SPDX-License-Identifier: GPL-2.0
/*
 * The law of a link of Explicitly Synchronized TCP (ESTCP): what the paper calls
 * the traffic controller.
 *
 *   H. Nishiyama, N. Ansari, N. Kato, "Wireless Loss-Tolerant Congestion Control
 *   Protocol Based on Dynamic AIMD Theory".
 *
 * A phase lasts from one overflow of the buffer to the next.  When it ends, all senders reduce
 * their windows by the amount in the buffer.  Then each window grows by 1 / g packets per second,
 * whatever its rtt.  The target length of a phase is D.  At the end of each phase, of length I,
 * the link corrects g:
 *
 *   g' = g + gamma * (D - I)
 *
 * Stability.  N flows fill a buffer of B packets in I = g * B / N, hence
 *
 *   g' - g* = (1 - gamma * B / N) * (g - g*),	g* = D * N / B
 *
 * which converges for 0 < gamma < 2 * N / B, and in one step for gamma = N / B.  A link does not
 * know N, but the last phase is a measurement: N / B = g / I.  With
 *
 *   gamma = kappa * g / I
 *
 * the factor is 1 - kappa for every N and B, so the default kappa of 1/2 halves the distance to g*
 * in each phase.  This also holds far from g*.  If a part t of a phase does not depend on g, for
 * example the round trip in which senders reduce their windows, then I = g * B / N + t.  The factor
 * is then 1 - kappa * (1 - t / D), still in (0, 1), and I still converges to D.
 *
 * The gamma of the paper is a constant, "determined from the stability analysis", without a value.
 * It is not the default because no constant suits a link that does not know N.  A gamma that is
 * stable for one flow, below 2 / B, corrects 1 / N of the distance in each phase, so a hundred
 * flows would need hundreds of phases.  The option gamma sets a constant, for comparison.  The
 * column "as printed" of the scenarios estcp-fig2, estcp-fig3a and estcp-few-many has "gamma 0.002
 * patience 0", half of the stable limit for one flow on a buffer of 500 packets.
 *
 * What the paper leaves open, and what is added:
 *   o An overflow drops many packets.  The first drop ends the phase.  During the hold-off, by
 *     default D / 10, further drops do not count, so that senders have time to react.  The hold-off
 *     must be longer than their round trips.
 *   o Only drops of data of the class count, because only its senders get g.
 *   o The first phase begins with the first packet of the class, not with the link, because the
 *     time before it is no measurement.
 *   o The initial g suits one flow, and a buffer of hundreds of packets.  If it is too small, the
 *     law converges in a few short phases; if it is too large, in a few long phases.
 *   o g grows by a factor of at most 2 per phase.  A phase may end early by accident, for example
 *     if a flow is in slow start, and with the normalised gain a phase of I = D / 100 would give a
 *     factor of 50.  Downwards the normalised gain needs no limit: with kappa up to 1 the factor is
 *     at least 1 - kappa.
 *   o g stays in the range that marks can express.
 *   o In the paper g changes only when a phase ends, so a g that is far too large stays for long.
 *     With few flows and a large buffer the first phase lasts g * B / N.  If a hundred flows begin
 *     within five seconds, they overflow the buffer so often that g has risen from 100 ms to its
 *     upper bound when all flows are there; phases then last 8 to 60 s.  With "patience" the link
 *     looks at its buffer after so many D, and then once per D if data left.  The queue grows at a
 *     constant rate.  So if the queue after one D has come a share f of the way to the overflow,
 *     the phase will last D / f, and g * f is right.  If f is at most a half, g is multiplied by f,
 *     but by at least an eighth.  If f is larger, the overflow is near, and is a better
 *     measurement.  Before the first overflow the way is not known, and g is halved.  The default
 *     patience is 1.  The paper has none ("patience 0"), which is not the default because of these
 *     first minutes.
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
 * estcp_step() - the change of g at the end of a phase
 * @e: link
 * @length_us: I, us, at least 1
 *
 * The products do not overflow.  With a constant gamma both factors are below 2^32.  With the
 * normalised gain an upward product is below g << ESTCP_RATIO, 2^60, because a step of g or more is
 * cut before.  A downward product is below four times that.
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

/* Sets g, limited to its range, and the share of marks for it */
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
 * estcp_law_init() - initialise a link, before its first packet
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
 * estcp_law_configure() - change the constants of a link
 * @e: link
 * @config: its new constants
 *
 * If the link runs, the phase and the hold-off continue.  If the link still waits for its first
 * packet, it begins with the new g.
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
 * estcp_law_start() - begin the first phase
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
 * Return: true if this has ended the phase; false in a hold-off
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
 * The share of the way from the shortest queue to the full buffer that the queue has come in this
 * phase, 1 / ESTCP_UNIT; a half if the way is not known
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
 * estcp_law_hurry() - reduce g if no overflow is near
 * @e: link
 * @now_ns: time, at which data leaves
 * @backlog: the queue, bytes
 *
 * g is reduced only once, however late the call is: time in which no data left does not mean that g
 * is too large.
 */
void estcp_law_hurry(struct estcp_law *e, u64 now_ns, u32 backlog)
{
	u32 done = estcp_done(e, backlog);

	if (done <= ESTCP_UNIT / 2)
		estcp_set(e, div_u64(e->g * max(done, ESTCP_UNIT / 8),
				     ESTCP_UNIT));
	e->patience_ns = now_ns + estcp_target_ns(e);
}
