/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the kernels we build for (6.1 to 7.2), in one place.
 * Algorithms contain no version test; they use the names defined here.
 */
#ifndef _TCPCC_COMPAT_H
#define _TCPCC_COMPAT_H

#include <linux/version.h>
#include <net/pkt_sched.h>
#include <net/tcp.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#else
#include <linux/skbuff.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "tcpcc needs Linux 6.1 or later"
#endif

/*
 * tcpcc_cong_control(name) - head of a .cong_control callback
 *
 * The callback gained the ACK number and the ACK's flags in 6.10.  None of
 * our algorithms wants them; @sk and @rs are there on every kernel.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define tcpcc_cong_control(name) \
	static void name(struct sock *sk, u32 ack, int flag, \
			 const struct rate_sample *rs)
#else
#define tcpcc_cong_control(name) \
	static void name(struct sock *sk, const struct rate_sample *rs)
#endif

/*
 * tcpcc_cwnd_events(name, tx_start, other); - after the two functions, and
 * TCPCC_CWND_EVENTS(name, tx_start, other) - in struct tcp_congestion_ops:
 * @tx_start of @sk is called when sending begins after an idle time, @other of
 * @sk and the event at each other event; @other may be NULL.  @name is free for
 * what is made of them.
 *
 * The start of sending has a hook of its own from 7.1 on; before, it is the event
 * CA_EVENT_TX_START.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#define tcpcc_cwnd_events(name, tx_start, other)	struct sock
#define TCPCC_CWND_EVENTS(name, start, other) \
	.cwnd_event_tx_start = start, .cwnd_event = other
#else
#define tcpcc_cwnd_events(name, tx_start, other)				\
	static void name(struct sock *sk, enum tcp_ca_event event)		\
	{									\
		void (*rest)(struct sock *sk, enum tcp_ca_event event) = other;	\
										\
		if (event == CA_EVENT_TX_START)					\
			tx_start(sk);						\
		else if (rest)							\
			rest(sk, event);					\
	}									\
	struct sock
#define TCPCC_CWND_EVENTS(name, tx_start, other)	.cwnd_event = name
#endif

/* By what the kernel asks for the module of a qdisc, from 6.8 on */
#ifndef MODULE_ALIAS_NET_SCH
#define MODULE_ALIAS_NET_SCH(id)	MODULE_ALIAS("net-sch-" id)
#endif

/**
 * tcpcc_ecn_negotiated() - whether a connection uses ECN
 * @tp: the socket
 *
 * Of RFC 3168, or accurate ECN where the kernel has that.
 */
static inline bool tcpcc_ecn_negotiated(const struct tcp_sock *tp)
{
#ifdef TCP_ECN_OK
	return tp->ecn_flags & TCP_ECN_OK;
#else
	return tcp_ecn_mode_any(tp);
#endif
}

/**
 * tcpcc_segment_len() - tell the qdiscs the size of a segment made from a larger
 * packet
 * @seg: the segment
 *
 * From 6.19 on the number of segments is counted beside it.
 */
static inline void tcpcc_segment_len(struct sk_buff *seg)
{
	qdisc_skb_cb(seg)->pkt_len = seg->len;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
	qdisc_skb_cb(seg)->pkt_segs = 1;
#endif
}

#endif /* _TCPCC_COMPAT_H */
