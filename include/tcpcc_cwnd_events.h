/* SPDX-License-Identifier: GPL-2.0 */
/* The start of sending, for a sender: of tcpcc_compat.h, and of bpf/kernel.h in its place */
#ifndef _TCPCC_CWND_EVENTS_H
#define _TCPCC_CWND_EVENTS_H

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
