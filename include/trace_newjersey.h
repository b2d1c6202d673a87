/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoint newjersey:newjersey_update, one event per ACK.
 *
 *   echo 1 > /sys/kernel/tracing/events/newjersey/newjersey_update/enable
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM newjersey

#if !defined(_TRACE_NEWJERSEY_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_NEWJERSEY_H

#include <linux/tracepoint.h>

#include "trace_sock.h"

/* rate: R, bytes/s; segs: L; passed_us: t - t'; unit_us: of the receiver's TSval, 0: unknown */
TRACE_EVENT(newjersey_update,
	TP_PROTO(const struct sock *sk, u64 rate, u32 segs, u32 passed_us, u32 tau_us,
		 u32 unit_us, bool warned),

	TP_ARGS(sk, rate, segs, passed_us, tau_us, unit_us, warned),

	TP_STRUCT__entry(
		TCPCC_TRACE_SOCK_FIELDS
		__field(u64, rate)
		__field(u32, segs)
		__field(u32, passed_us)
		__field(u32, tau_us)
		__field(u32, unit_us)
		__field(bool, warned)
		__field(u32, cwnd)
		__field(u32, ssthresh)
	),

	TP_fast_assign(
		TCPCC_TRACE_SOCK_ASSIGN(sk);
		__entry->rate = rate;
		__entry->segs = segs;
		__entry->passed_us = passed_us;
		__entry->tau_us = tau_us;
		__entry->unit_us = unit_us;
		__entry->warned = warned;
		__entry->cwnd = tcp_snd_cwnd(tcp_sk(sk));
		__entry->ssthresh = tcp_sk(sk)->snd_ssthresh;
	),

	TP_printk(TCPCC_TRACE_SOCK_FORMAT " rate=%llu segs=%u passed_us=%u tau_us=%u unit_us=%u warned=%d cwnd=%u ssthresh=%u",
		  TCPCC_TRACE_SOCK_ARGS, __entry->rate, __entry->segs, __entry->passed_us,
		  __entry->tau_us, __entry->unit_us, __entry->warned, __entry->cwnd,
		  __entry->ssthresh)
);

#endif /* _TRACE_NEWJERSEY_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_newjersey
#include <trace/define_trace.h>
