/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoint acp:acp_update, one event per ACK that acknowledges data or brings feedback.
 *
 *   echo 1 > /sys/kernel/tracing/events/acp/acp_update/enable
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM acp

#if !defined(_TRACE_ACP_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_ACP_H

#include <linux/tracepoint.h>

#include "trace_sock.h"

/* Windows in 1/65536 segment; feedback_bps in bytes/s, all bits set: no limit. */
TRACE_EVENT(acp_update,
	TP_PROTO(const struct sock *sk, u32 mode, u32 echoes, u64 feedback_bps,
		 bool congested, u32 rtt_us, u32 mrtt_us, u32 acked,
		 u64 desired, u64 window),

	TP_ARGS(sk, mode, echoes, feedback_bps, congested, rtt_us, mrtt_us,
		acked, desired, window),

	TP_STRUCT__entry(
		TCPCC_TRACE_SOCK_FIELDS
		__field(u32, mode)
		__field(u32, echoes)
		__field(u64, feedback_bps)
		__field(bool, congested)
		__field(u32, rtt_us)
		__field(u32, mrtt_us)
		__field(u32, acked)
		__field(u64, desired)
		__field(u64, window)
	),

	TP_fast_assign(
		TCPCC_TRACE_SOCK_ASSIGN(sk);
		__entry->mode = mode;
		__entry->echoes = echoes;
		__entry->feedback_bps = feedback_bps;
		__entry->congested = congested;
		__entry->rtt_us = rtt_us;
		__entry->mrtt_us = mrtt_us;
		__entry->acked = acked;
		__entry->desired = desired;
		__entry->window = window;
	),

	TP_printk(TCPCC_TRACE_SOCK_FORMAT " mode=%u echoes=%u feedback_bps=%llu congested=%d rtt_us=%u mrtt_us=%u acked=%u desired=%llu window=%llu",
		  TCPCC_TRACE_SOCK_ARGS, __entry->mode,
		  __entry->echoes, __entry->feedback_bps, __entry->congested,
		  __entry->rtt_us, __entry->mrtt_us, __entry->acked,
		  __entry->desired, __entry->window)
);

#endif /* _TRACE_ACP_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_acp
#include <trace/define_trace.h>
