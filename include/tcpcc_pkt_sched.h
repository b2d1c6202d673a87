/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What tc and the router qdiscs of tcpcc say to each other: the attributes
 * within TCA_OPTIONS, and the statistics in TCA_XSTATS.
 *
 * A struct of statistics only ever grows at its end.  Whoever reads one takes as
 * much as both sides know, and what is missing as zero.
 */
#ifndef _TCPCC_PKT_SCHED_H
#define _TCPCC_PKT_SCHED_H

#include <linux/types.h>

/* Options that every kind has; those of a kind begin at TCA_TCPCC_KIND. */
enum {
	TCA_TCPCC_UNSPEC,
	TCA_TCPCC_PAD,
	TCA_TCPCC_BANDWIDTH,		/* u64, bytes/s */
	TCA_TCPCC_LIMIT,		/* u32, packets */
	TCA_TCPCC_KIND = 8,
};

/* The smallest and the largest bandwidth, bytes/s: 1 kbit/s and 1 Tbit/s */
#define TCPCC_BANDWIDTH_MIN	125ULL
#define TCPCC_BANDWIDTH_MAX	125000000000ULL

/* Gains and shares of kind acp are in units of 10^-6 */
#define TC_ACP_UNIT		1000000

enum {
	TCA_ACP_KI = TCA_TCPCC_KIND,	/* u32: gain of the spare rate, Eq. 6 */
	TCA_ACP_KQ,			/* u32: gain of the queue, Eq. 6 */
	TCA_ACP_GAMMA,			/* u32: gain of the estimator, Eq. 8 */
	TCA_ACP_TARGET,			/* u32: share of the bandwidth to fill */
	TCA_ACP_CONGESTION,		/* u32: share from which on to warn */
	TCA_ACP_FLOWS,			/* u32: number of flows to begin with */
	TCA_ACP_INTERVAL,		/* u32: control period to begin with, us */
	TCA_ACP_POLICE,			/* u32: share to exceed a grant by; 0: any */
	TCA_ACP_NEWCOMERS,		/* u32: 1: a new flow counts at once */
	__TCA_ACP_MAX
};

#define TCA_ACP_MAX	(__TCA_ACP_MAX - 1)

/**
 * struct tc_acp_xstats - TCA_XSTATS of kind acp
 * @desired: p, the rate that the link wants of each flow, bytes/s
 * @input: y, the rate of arrivals in the last period, bytes/s
 * @flows: N, the estimated number of flows, 1/1000
 * @interval: d, the control period, us
 * @queue: q, the persistent queue, bytes
 * @congested: 1: arrivals exceed the congestion threshold
 * @running: 1: since a packet with a header came, there is something to control
 * @periods: control periods so far
 * @headers: packets with a data header
 * @echoes: packets with an echo only: acknowledgments
 * @plain: packets without a header
 * @malformed: packets with a header that is not well formed
 * @lowered: headers whose rate this link has lowered
 * @unwritable: headers that should have been changed and could not be, for want
 *	of memory
 * @policed: packets that were dropped, since their flows exceeded what was granted
 * @over: flows that are well ahead of what was granted
 * @known: flows among which is shared what is wanted; 0: newcomers do not count at once
 */
struct tc_acp_xstats {
	__u64 desired;
	__u64 input;
	__u64 flows;
	__u32 interval;
	__u32 queue;
	__u32 congested;
	__u32 running;
	__u64 periods;
	__u64 headers;
	__u64 echoes;
	__u64 plain;
	__u64 malformed;
	__u64 lowered;
	__u64 unwritable;
	__u64 policed;
	__u32 over;
	__u32 known;
};

/* Kind estcp: kappa and shares are in units of 10^-6, gamma in units of 10^-9 */
#define TC_ESTCP_UNIT		1000000
#define TC_ESTCP_GAMMA_UNIT	1000000000

enum {
	TCA_ESTCP_TARGET = TCA_TCPCC_KIND, /* u32: D, length of a phase, us */
	TCA_ESTCP_GAMMA,		/* u32: gain; 0: normalised, by kappa */
	TCA_ESTCP_KAPPA,		/* u32: normalised gain */
	TCA_ESTCP_FIRST,		/* u32: g to begin with, us */
	TCA_ESTCP_HOLDOFF,		/* u32: us; 0: a tenth of the target */
	TCA_ESTCP_PATIENCE,		/* u32: periods of the target; 0: off */
	TCA_ESTCP_DSCP,			/* u32: of the class */
	__TCA_ESTCP_MAX
};

#define TCA_ESTCP_MAX	(__TCA_ESTCP_MAX - 1)

/**
 * struct tc_estcp_xstats - TCA_XSTATS of kind estcp
 * @g: what senders are told: seconds per packet, us
 * @share: of data that is marked, to say so, 10^-6
 * @phase: number of this phase, from 0
 * @last: length of the one before, us; 0: there was none
 * @elapsed: time in this phase, us
 * @running: 1: since a packet of the class came, phases are counted
 * @pad: 0
 * @marked: data of the class that left with a mark
 * @unmarked: and without
 * @plain: other packets that came
 * @foreign: data of the class that came with ECN bits other than 0
 * @held: data of the class that was dropped in a hold-off
 * @unwritable: data that should have been changed and could not be, for want of
 *	memory
 */
struct tc_estcp_xstats {
	__u32 g;
	__u32 share;
	__u64 phase;
	__u64 last;
	__u64 elapsed;
	__u32 running;
	__u32 pad;
	__u64 marked;
	__u64 unmarked;
	__u64 plain;
	__u64 foreign;
	__u64 held;
	__u64 unwritable;
};

/* Kinds xcp and rcp: gains, shares and packets are in units of 10^-6 */
#define TC_XCP_UNIT		1000000
#define TC_RCP_UNIT		1000000

enum {
	TCA_XCP_ALPHA = TCA_TCPCC_KIND,	/* u32: gain of the spare rate */
	TCA_XCP_BETA,			/* u32: gain of the queue */
	TCA_XCP_GAMMA,			/* u32: share of the input to give to others */
	__TCA_XCP_MAX
};

#define TCA_XCP_MAX	(__TCA_XCP_MAX - 1)

/**
 * struct tc_xcp_xstats - TCA_XSTATS of kind xcp
 * @spare: phi, by how much senders should be faster, bytes/s; negative: slower
 * @input: y, the rate of arrivals in the last period, bytes/s
 * @interval: d, the mean rtt, us
 * @queue: Q, the persistent queue, bytes
 * @running: 1: since a packet with a header came, there is something to control
 * @pad: 0
 * @periods: control periods so far
 * @headers: packets with a header of XCP
 * @echoes: packets with an echo only: acknowledgments
 * @plain: packets without a header, or with another protocol's
 * @malformed: packets with a header that is not well formed
 * @changed: headers whose word this link has changed
 * @unwritable: headers that should have been changed and could not be, for want of memory
 */
struct tc_xcp_xstats {
	__s64 spare;
	__u64 input;
	__u32 interval;
	__u32 queue;
	__u32 running;
	__u32 pad;
	__u64 periods;
	__u64 headers;
	__u64 echoes;
	__u64 plain;
	__u64 malformed;
	__u64 changed;
	__u64 unwritable;
};

enum {
	TCA_RCP_ALPHA = TCA_TCPCC_KIND,	/* u32: gain of the spare rate */
	TCA_RCP_BETA,			/* u32: gain of the queue */
	TCA_RCP_GAMMA,			/* u32: share of the bandwidth to fill */
	TCA_RCP_INTERVAL,		/* u32: control period, us; 0: the mean rtt */
	TCA_RCP_FLOOR,			/* u32: least rate, packets in a mean rtt */
	TCA_RCP_START,			/* u32: first rate, share of the bandwidth */
	__TCA_RCP_MAX
};

#define TCA_RCP_MAX	(__TCA_RCP_MAX - 1)

/**
 * struct tc_rcp_xstats - TCA_XSTATS of kind rcp
 * @rate: R, the rate that the link wants of each flow, bytes/s
 * @input: y, the rate of arrivals in the last period, bytes/s
 * @interval: T, the control period, us
 * @rtt: d, the mean rtt, us
 * @queue: q, the queue at the end of the last period, bytes
 * @running: 1: since a packet with a header came, there is something to control
 * @periods: control periods so far
 * @headers: packets with a header of RCP
 * @echoes: packets with an echo only: acknowledgments
 * @plain: packets without a header, or with another protocol's
 * @malformed: packets with a header that is not well formed
 * @lowered: headers whose rate this link has lowered
 * @unwritable: headers that should have been changed and could not be, for want of memory
 */
struct tc_rcp_xstats {
	__u64 rate;
	__u64 input;
	__u32 interval;
	__u32 rtt;
	__u32 queue;
	__u32 running;
	__u64 periods;
	__u64 headers;
	__u64 echoes;
	__u64 plain;
	__u64 malformed;
	__u64 lowered;
	__u64 unwritable;
};

#endif /* _TCPCC_PKT_SCHED_H */
