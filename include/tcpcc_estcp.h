/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The channel of Explicitly Synchronized TCP (ESTCP): what a router tells senders
 * in the two ECN bits of the IP header, and what these bits stand for.
 *
 *   H. Nishiyama, N. Ansari, N. Kato, "Wireless Loss-Tolerant Congestion Control
 *   Protocol Based on Dynamic AIMD Theory".
 *
 * Phases.  A router numbers its phases; one ends with each overflow of its buffer.
 * It writes into each data packet that leaves it one of two codepoints:
 *
 *              not marked   marked
 *   even phase     00         01
 *   odd phase      10         11
 *
 * A sender that sees the other pair knows that a new phase has begun.  The share p
 * of marked packets stands for g, the seconds in which senders are to open their
 * windows by one packet per round trip and second of it:
 *
 *   p = f(g) = (25 - log2(g / us)) / 16,  g from 2^10 to 2^24 us
 *
 * so p is from 1/16 (16.8 s) to 15/16 (1.02 ms).  It is never 0, nor 1: a path on
 * which nobody marks shows as such.
 *
 * Class.  The bits have another meaning for everybody else (RFC 3168), so they are
 * only used where the DSCP of a packet says so.  There are two of these:
 *
 *   TCPCC_ESTCP_DSCP	  000011  data, to which a sender that has chosen estcp gives it,
 *				  with 00
 *   TCPCC_ESTCP_DSCP_ECHO  000111  echoes: the ACKs without data by which a receiver with
 *				  tcp_feedback.ko returns the codepoint that came
 *
 * Routers change data and nothing else.  They must not change an echo, and know one from
 * data by the DSCP: there need not be a TCP header that they could read (ESP).
 *
 * Both can be chosen, on hosts and routers.  The defaults are for local use (xxxx11, pool
 * 2 of RFC 2474), and of these the two with 000 in front.  Some networks take these three
 * bits for the precedence of RFC 791 and clear them (RFC 9435): both stay as they are, while
 * echoes with, say, 001011 would become data.  One masked comparison finds them both, for
 * a queue of their own.
 */
#ifndef _TCPCC_ESTCP_H
#define _TCPCC_ESTCP_H

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/types.h>

#include "tcpcc_log2.h"

#define TCPCC_ESTCP_DSCP	0x03
#define TCPCC_ESTCP_DSCP_ECHO	0x07

/* DSCPs that the class can have: 0 is everybody's */
#define TCPCC_ESTCP_DSCP_MIN	1
#define TCPCC_ESTCP_DSCP_MAX	63

/* Where a DSCP is in the eight bits of the IP header that it shares with ECN (RFC 2474) */
#define TCPCC_DSCP_SHIFT	2

/* Codepoints: the pair tells the phase, the lower bit is the mark */
#define TCPCC_ESTCP_MARK	0x01
#define TCPCC_ESTCP_ODD		0x02

/* Shares and logarithms are in units of 2^-16 */
#define TCPCC_ESTCP_SCALE	16
#define TCPCC_ESTCP_ONE		BIT(TCPCC_ESTCP_SCALE)

/* The range of g, us, and that of p */
#define TCPCC_ESTCP_G_MIN	BIT(10)
#define TCPCC_ESTCP_G_MAX	BIT(24)
#define TCPCC_ESTCP_P_MIN	(TCPCC_ESTCP_ONE / 16)
#define TCPCC_ESTCP_P_MAX	(TCPCC_ESTCP_ONE / 16 * 15)

/**
 * tcpcc_estcp_share() - what share of packets to mark: f
 * @g_us: us per packet; beyond its range it counts as its bound
 *
 * Return: p, TCPCC_ESTCP_SCALE, TCPCC_ESTCP_P_MIN to TCPCC_ESTCP_P_MAX
 */
static inline u32 tcpcc_estcp_share(u32 g_us)
{
	u32 g = clamp_t(u32, g_us, TCPCC_ESTCP_G_MIN, TCPCC_ESTCP_G_MAX);

	return (25 * TCPCC_ESTCP_ONE - tcpcc_log2(g)) / 16;
}

/**
 * tcpcc_estcp_g_us() - what a share of marked packets stands for: the inverse of f
 * @share: p, TCPCC_ESTCP_SCALE; beyond its range it counts as its bound
 *
 * Return: g, us per packet, TCPCC_ESTCP_G_MIN to TCPCC_ESTCP_G_MAX
 */
static inline u32 tcpcc_estcp_g_us(u32 share)
{
	u32 p = clamp_t(u32, share, TCPCC_ESTCP_P_MIN, TCPCC_ESTCP_P_MAX);

	return tcpcc_exp2(25 * TCPCC_ESTCP_ONE - 16 * p);
}

#endif /* _TCPCC_ESTCP_H */
