/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The netlink interface between tc and the router qdiscs of tcpcc: the attributes within
 * TCA_OPTIONS, and the statistics in TCA_XSTATS.
 *
 * New fields of a struct of statistics are only added at its end.  A reader takes as many bytes as
 * both sides have, and sets missing fields to zero.
 */
#ifndef _TCPCC_PKT_SCHED_H
#define _TCPCC_PKT_SCHED_H

#include <linux/types.h>

/* Options of every kind; the options of a single kind begin at TCA_TCPCC_KIND. */
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
	TCA_ACP_CONGESTION,		/* u32: share above which H_congestion is set */
	TCA_ACP_FLOWS,			/* u32: initial number of flows */
	TCA_ACP_INTERVAL,		/* u32: initial control period, us */
	TCA_ACP_POLICE,			/* u32: share to exceed a grant by; 0: no limit */
	TCA_ACP_NEWCOMERS,		/* u32: 1: a new flow counts at once */
	__TCA_ACP_MAX
};

#define TCA_ACP_MAX	(__TCA_ACP_MAX - 1)

/**
 * struct tc_acp_xstats - TCA_XSTATS of kind acp
 * @desired: p, the desired rate of each flow, bytes/s
 * @input: y, the rate of arrivals in the last period, bytes/s
 * @flows: N, the estimated number of flows, in units of 1/1000
 * @interval: d, the control period, us
 * @queue: q, the persistent queue, bytes
 * @congested: 1: @input exceeds the congestion threshold
 * @running: 1: a packet with a header has arrived, and control periods are counted
 * @periods: control periods so far
 * @headers: packets with a header of ACP
 * @echoes: packets with an echo only: acknowledgments
 * @plain: packets without a header, or with one of another protocol
 * @malformed: packets with a header that is not well formed
 * @lowered: headers whose rate this link has lowered
 * @unwritable: headers that should have been changed, but there was no memory to do so
 * @policed: packets that were dropped because their flows exceeded their grants
 * @over: flows that are well ahead of their grants
 * @known: known number of flows; 0: the option newcomers is off
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
	TCA_ESTCP_FIRST,		/* u32: initial g, us */
	TCA_ESTCP_HOLDOFF,		/* u32: us; 0: a tenth of the target */
	TCA_ESTCP_PATIENCE,		/* u32: periods of the target; 0: off */
	TCA_ESTCP_DSCP,			/* u32: DSCP of the class */
	__TCA_ESTCP_MAX
};

#define TCA_ESTCP_MAX	(__TCA_ESTCP_MAX - 1)

/**
 * struct tc_estcp_xstats - TCA_XSTATS of kind estcp
 * @g: time in which a window is to grow by one packet, as signalled to senders, us
 * @share: share of the data that is marked to signal @g, 10^-6
 * @phase: number of this phase, from 0
 * @last: length of the previous phase, us; 0: there was none
 * @elapsed: time in this phase, us
 * @running: 1: a packet of the class has arrived, and phases are counted
 * @pad: 0
 * @marked: packets of the class that left with a mark
 * @unmarked: packets of the class that left without a mark
 * @plain: other packets that arrived
 * @foreign: packets of the class that arrived with ECN bits other than 0
 * @held: packets of the class that were dropped in a hold-off
 * @unwritable: packets that should have been changed, but there was no memory to do so
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
	TCA_XCP_GAMMA,			/* u32: share of the input to redistribute */
	__TCA_XCP_MAX
};

#define TCA_XCP_MAX	(__TCA_XCP_MAX - 1)

/**
 * struct tc_xcp_xstats - TCA_XSTATS of kind xcp
 * @spare: phi, by which the senders together should change their rates, bytes/s
 * @input: y, the rate of arrivals in the last period, bytes/s
 * @interval: d, the mean rtt, us
 * @queue: Q, the persistent queue, bytes
 * @running: 1: a packet with a header has arrived, and control periods are counted
 * @pad: 0
 * @periods: control periods so far
 * @headers: packets with a header of XCP
 * @echoes: packets with an echo only: acknowledgments
 * @plain: packets without a header, or with one of another protocol
 * @malformed: packets with a header that is not well formed
 * @changed: headers whose word this link has changed
 * @unwritable: headers that should have been changed, but there was no memory to do so
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
	TCA_RCP_FLOOR,			/* u32: least rate, packets per mean rtt */
	TCA_RCP_START,			/* u32: first rate, share of the bandwidth */
	__TCA_RCP_MAX
};

#define TCA_RCP_MAX	(__TCA_RCP_MAX - 1)

/**
 * struct tc_rcp_xstats - TCA_XSTATS of kind rcp
 * @rate: R, the rate of each flow, bytes/s
 * @input: y, the rate of arrivals in the last period, bytes/s
 * @interval: T, the control period, us
 * @rtt: d, the mean rtt, us
 * @queue: q, the queue at the end of the last period, bytes
 * @running: 1: a packet with a header has arrived, and control periods are counted
 * @periods: control periods so far
 * @headers: packets with a header of RCP
 * @echoes: packets with an echo only: acknowledgments
 * @plain: packets without a header, or with one of another protocol
 * @malformed: packets with a header that is not well formed
 * @lowered: headers whose rate this link has lowered
 * @unwritable: headers that should have been changed, but there was no memory to do so
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
