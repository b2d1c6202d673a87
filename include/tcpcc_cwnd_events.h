/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hook for the start of sending.  A part of tcpcc_compat.h, and of bpf/kernel.h, which replaces
 * tcpcc_compat.h in BPF.
 */
#ifndef _TCPCC_CWND_EVENTS_H
#define _TCPCC_CWND_EVENTS_H

/*
 * tcpcc_cwnd_events(name, tx_start, other); - write it after the two functions
 * TCPCC_CWND_EVENTS(name, tx_start, other) - write it in struct tcp_congestion_ops
 *
 * The kernel then calls @tx_start(sk) when sending begins after an idle time, and
 * @other(sk, event) at each other event.  @other may be NULL.  @name is an unused
 * name, for a function that the macro may define.
 *
 * From 7.1 on the start of sending has its own hook.  In earlier kernels it is the
 * event CA_EVENT_TX_START of .cwnd_event.
 */
#ifdef TCPCC_HAVE_CWND_EVENT_TX_START
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

#endif /* _TCPCC_CWND_EVENTS_H */
