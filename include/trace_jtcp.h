/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoint jtcp:jtcp_update, one event per sample of the round-trip time.
 *
 *   echo 1 > /sys/kernel/tracing/events/jtcp/jtcp_update/enable
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM jtcp

#if !defined(_TRACE_JTCP_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_JTCP_H

#include <linux/tracepoint.h>

#include "trace_sock.h"

/*
 * grows: growth of the queue in a round trip, Jr * cwnd, in 1/256 packet; windows: how many of the
 * two windows that it is computed from are known
 */
TRACE_EVENT(jtcp_update,
	TP_PROTO(const struct sock *sk, s64 grows, u32 windows, u32 rtt_us, u32 rtt_min_us,
		 u32 rtt_max_us),

	TP_ARGS(sk, grows, windows, rtt_us, rtt_min_us, rtt_max_us),

	TP_STRUCT__entry(
		TCPCC_TRACE_SOCK_FIELDS
		__field(s64, grows)
		__field(u32, windows)
		__field(u32, rtt_us)
		__field(u32, rtt_min_us)
		__field(u32, rtt_max_us)
		__field(u32, cwnd)
		__field(u32, ssthresh)
	),

	TP_fast_assign(
		TCPCC_TRACE_SOCK_ASSIGN(sk);
		__entry->grows = grows;
		__entry->windows = windows;
		__entry->rtt_us = rtt_us;
		__entry->rtt_min_us = rtt_min_us;
		__entry->rtt_max_us = rtt_max_us;
		__entry->cwnd = tcp_snd_cwnd(tcp_sk(sk));
		__entry->ssthresh = tcp_sk(sk)->snd_ssthresh;
	),

	TP_printk(TCPCC_TRACE_SOCK_FORMAT " grows=%lld windows=%u rtt_us=%u rtt_min_us=%u rtt_max_us=%u cwnd=%u ssthresh=%u",
		  TCPCC_TRACE_SOCK_ARGS, __entry->grows, __entry->windows, __entry->rtt_us,
		  __entry->rtt_min_us, __entry->rtt_max_us, __entry->cwnd, __entry->ssthresh)
);

#endif /* _TRACE_JTCP_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_jtcp
#include <trace/define_trace.h>
