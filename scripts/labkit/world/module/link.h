/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* The netlink interface between tc, the lab's agent and its qdisc link. */
#ifndef _LAB_LINK_H
#define _LAB_LINK_H

#include <linux/types.h>

/* Attributes within TCA_OPTIONS */
enum {
	TCA_LINK_UNSPEC,
	TCA_LINK_PAD,
	TCA_LINK_RATE,		/* u64, bytes/s; absent: the link follows a trace */
	TCA_LINK_SPLIT,		/* u32; 1: large packets are cut into segments on arrival */
	__TCA_LINK_MAX
};

#define TCA_LINK_MAX	(__TCA_LINK_MAX - 1)

/**
 * struct tc_link_xstats - TCA_XSTATS of kind link
 * @queue_sum: integral of the queue over the time since the last reading of these statistics,
 *	packets * ns; a packet on the wire does not count
 * @queue_max: the longest queue since the last reading, packets
 */
struct tc_link_xstats {
	__u64 queue_sum;
	__u32 queue_max;
	__u32 reserved;
};

#endif /* _LAB_LINK_H */
