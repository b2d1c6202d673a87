/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The channel of Explicitly Synchronized TCP (ESTCP): what a router writes into the two ECN
 * bits of the IP header, and what these bits mean for senders.
 *
 *   H. Nishiyama, N. Ansari, N. Kato, "Wireless Loss-Tolerant Congestion Control
 *   Protocol Based on Dynamic AIMD Theory".
 *
 * Phases.  A router numbers its phases; a phase ends with each overflow of its buffer.
 * The router writes one of two codepoints into each data packet that it sends:
 *
 *              not marked   marked
 *   even phase     00         01
 *   odd phase      10         11
 *
 * If the pair changes, the sender knows that a new phase has begun.  The share p of marked
 * packets encodes g, in seconds per packet: in a round trip a sender opens its window by
 * rtt_min / g packets.
 *
 *   p = f(g) = (25 - log2(g / us)) / 16,  g from 2^10 to 2^24 us
 *
 * So p is from 1/16 (16.8 s) to 15/16 (1.02 ms).  It is never 0 or 1.  So a sender can
 * recognize a path without a router that marks.
 *
 * Class.  For all other traffic the bits have another meaning (RFC 3168).  So they are only
 * used in packets with one of these two DSCPs:
 *
 *   TCPCC_ESTCP_DSCP	  000011  data: a sender that uses estcp sets this DSCP, and the
 *				  bits 00
 *   TCPCC_ESTCP_DSCP_ECHO  000111  echoes: the ACKs without data in which a receiver with
 *				  tcp_feedback.ko returns the codepoint that it received
 *
 * Routers change data only.  They must not change an echo.  They distinguish the two by the
 * DSCP, because they may be unable to read a TCP header (ESP).
 *
 * Both DSCPs can be configured, on hosts and routers.  The defaults are from the range for
 * local use (xxxx11, pool 2 of RFC 2474), and both begin with 000.  The reason is that some
 * networks take these three bits for the precedence of RFC 791 and clear them (RFC 9435).  This
 * does not change the defaults, but it would change echoes with, for example, 001011 to data.
 * One masked comparison matches both defaults, to give them a queue of their own.
 */
#ifndef _TCPCC_ESTCP_H
#define _TCPCC_ESTCP_H

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/types.h>

#include "tcpcc_log2.h"

#define TCPCC_ESTCP_DSCP	0x03
#define TCPCC_ESTCP_DSCP_ECHO	0x07

/* DSCPs that the class can have; 0 is the default of all other traffic */
#define TCPCC_ESTCP_DSCP_MIN	1
#define TCPCC_ESTCP_DSCP_MAX	63

/* Position of the DSCP in the eight bits of the IP header that it shares with ECN (RFC 2474) */
#define TCPCC_DSCP_SHIFT	2

/* Codepoints: the higher bit is the parity of the phase, the lower bit is the mark */
#define TCPCC_ESTCP_MARK	0x01
#define TCPCC_ESTCP_ODD		0x02

/* Shares and logarithms are in units of 2^-16 */
#define TCPCC_ESTCP_SCALE	16
#define TCPCC_ESTCP_ONE		BIT(TCPCC_ESTCP_SCALE)

/* The ranges of g, us, and of p */
#define TCPCC_ESTCP_G_MIN	BIT(10)
#define TCPCC_ESTCP_G_MAX	BIT(24)
#define TCPCC_ESTCP_P_MIN	(TCPCC_ESTCP_ONE / 16)
#define TCPCC_ESTCP_P_MAX	(TCPCC_ESTCP_ONE / 16 * 15)

/*
 * A phase that is shorter than this is not from a router, ms: RFC 3168 marks change that often.
 * A sender whose rtt is above half of this wants longer phases (estcp_is_short()).
 */
#define TCPCC_ESTCP_PHASE_MIN	200

/**
 * tcpcc_estcp_share() - the share of packets to mark: f
 * @g_us: g, us per packet; a value outside the range counts as the nearer limit
 *
 * Return: p, TCPCC_ESTCP_SCALE, TCPCC_ESTCP_P_MIN to TCPCC_ESTCP_P_MAX
 */
static inline u32 tcpcc_estcp_share(u32 g_us)
{
	u32 g = clamp_t(u32, g_us, TCPCC_ESTCP_G_MIN, TCPCC_ESTCP_G_MAX);

	return (25 * TCPCC_ESTCP_ONE - tcpcc_log2(g)) / 16;
}

/**
 * tcpcc_estcp_g_us() - the g that a share of marked packets encodes: the inverse of f
 * @share: p, TCPCC_ESTCP_SCALE; a value outside the range counts as the nearer limit
 *
 * Return: g, us per packet, TCPCC_ESTCP_G_MIN to TCPCC_ESTCP_G_MAX
 */
static inline u32 tcpcc_estcp_g_us(u32 share)
{
	u32 p = clamp_t(u32, share, TCPCC_ESTCP_P_MIN, TCPCC_ESTCP_P_MAX);

	return tcpcc_exp2(25 * TCPCC_ESTCP_ONE - 16 * p);
}

#endif /* _TCPCC_ESTCP_H */
