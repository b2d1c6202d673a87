/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoint ccpd_path:ccpd_path_update, one event per evaluation of the control law.
 *
 *   echo 1 > /sys/kernel/tracing/events/ccpd_path/ccpd_path_update/enable
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ccpd_path

#if !defined(_TRACE_CCPD_PATH_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_CCPD_PATH_H

#include <linux/tracepoint.h>

#include "trace_sock.h"

/*
 * Windows and levels are in segments.  @p and @d are the terms of Eq. 3, before their sum is
 * limited to a valid window.  @base_us is the rtt of an empty path, @q0_us the target queueing
 * delay.
 */
TRACE_EVENT(ccpd_path_update,
	TP_PROTO(const struct sock *sk, u64 capacity_bps, u64 claim_bps,
		 u32 rtt_us, u32 base_us, u32 q0_us, s64 level,
		 u32 in_flight, s64 p, s64 d, u32 cwnd),

	TP_ARGS(sk, capacity_bps, claim_bps, rtt_us, base_us, q0_us, level,
	 in_flight, p, d, cwnd),

	TP_STRUCT__entry(
		TCPCC_TRACE_SOCK_FIELDS
		__field(u64, capacity_bps)
		__field(u64, claim_bps)
		__field(u32, rtt_us)
		__field(u32, base_us)
		__field(u32, q0_us)
		__field(s64, level)
		__field(u32, in_flight)
		__field(s64, p)
		__field(s64, d)
		__field(u32, cwnd)
	),

	TP_fast_assign(
		TCPCC_TRACE_SOCK_ASSIGN(sk);
		__entry->capacity_bps = capacity_bps;
		__entry->claim_bps = claim_bps;
		__entry->rtt_us = rtt_us;
		__entry->base_us = base_us;
		__entry->q0_us = q0_us;
		__entry->level = level;
		__entry->in_flight = in_flight;
		__entry->p = p;
		__entry->d = d;
		__entry->cwnd = cwnd;
	),

	TP_printk(TCPCC_TRACE_SOCK_FORMAT " capacity_bps=%llu claim_bps=%llu rtt_us=%u base_us=%u q0_us=%u level=%lld in_flight=%u p=%lld d=%lld cwnd=%u",
		  TCPCC_TRACE_SOCK_ARGS, __entry->capacity_bps,
		  __entry->claim_bps, __entry->rtt_us, __entry->base_us,
		  __entry->q0_us, __entry->level,
		  __entry->in_flight, __entry->p, __entry->d, __entry->cwnd)
);

#endif /* _TRACE_CCPD_PATH_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_ccpd_path
#include <trace/define_trace.h>
