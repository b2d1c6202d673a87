/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoint ccpd:ccpd_update, one event per ACK in slow start,
 * and per evaluation of Eq. 3 after it.
 *
 *   echo 1 > /sys/kernel/tracing/events/ccpd/ccpd_update/enable
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ccpd

#if !defined(_TRACE_CCPD_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_CCPD_H

#include <linux/tracepoint.h>

#include "trace_sock.h"

/*
 * Windows and levels are in segments.  @storage is B, @level is x.  @p and @d are the terms of
 * Eq. 3, before their sum is limited to a valid window.
 */
TRACE_EVENT(ccpd_update,
	TP_PROTO(const struct sock *sk, u64 capacity_bps, u32 rtt_us,
		 u32 rtt_min_us, u32 rtt_max_us, s64 storage,
		 s64 level, u32 in_flight, s64 p, s64 d, u32 cwnd),

	TP_ARGS(sk, capacity_bps, rtt_us, rtt_min_us, rtt_max_us,
		storage, level, in_flight, p, d, cwnd),

	TP_STRUCT__entry(
		TCPCC_TRACE_SOCK_FIELDS
		__field(u64, capacity_bps)
		__field(u32, rtt_us)
		__field(u32, rtt_min_us)
		__field(u32, rtt_max_us)
		__field(s64, storage)
		__field(s64, level)
		__field(u32, in_flight)
		__field(s64, p)
		__field(s64, d)
		__field(u32, cwnd)
	),

	TP_fast_assign(
		TCPCC_TRACE_SOCK_ASSIGN(sk);
		__entry->capacity_bps = capacity_bps;
		__entry->rtt_us = rtt_us;
		__entry->rtt_min_us = rtt_min_us;
		__entry->rtt_max_us = rtt_max_us;
		__entry->storage = storage;
		__entry->level = level;
		__entry->in_flight = in_flight;
		__entry->p = p;
		__entry->d = d;
		__entry->cwnd = cwnd;
	),

	TP_printk(TCPCC_TRACE_SOCK_FORMAT " capacity_bps=%llu rtt_us=%u rtt_min_us=%u rtt_max_us=%u storage=%lld level=%lld in_flight=%u p=%lld d=%lld cwnd=%u",
		  TCPCC_TRACE_SOCK_ARGS, __entry->capacity_bps,
		  __entry->rtt_us, __entry->rtt_min_us,
		  __entry->rtt_max_us, __entry->storage, __entry->level,
		  __entry->in_flight, __entry->p, __entry->d, __entry->cwnd)
);

#endif /* _TRACE_CCPD_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_ccpd
#include <trace/define_trace.h>
