/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints mccp:mccp_update and mccp_path:mccp_update, one event per sample of the
 * bandwidth.  The module that includes this file defines MCCP_SYSTEM, the name of the system.
 *
 *   echo 1 > /sys/kernel/tracing/events/mccp/mccp_update/enable
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM MCCP_SYSTEM

#if !defined(_TRACE_MCCP_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MCCP_H

#include <linux/tracepoint.h>

#include "trace_sock.h"

/*
 * abe and sample are in bytes/s; interval_us is T; unstable, U / U_max, and weight, 1 - a, are in
 * 1/65536; counter is in segments.  A kernel with BPF allows at most twelve arguments, so cwnd and
 * ssthresh are read from the socket.
 */
TRACE_EVENT(mccp_update,
	TP_PROTO(const struct sock *sk, u32 mode, u64 abe, u64 sample,
		 u32 interval_us, u32 dt_us, u32 unstable, u32 weight,
		 u32 rtt_us, u32 rtt_min_us, u32 counter),

	TP_ARGS(sk, mode, abe, sample, interval_us, dt_us, unstable, weight,
		rtt_us, rtt_min_us, counter),

	TP_STRUCT__entry(
		TCPCC_TRACE_SOCK_FIELDS
		__field(u32, mode)
		__field(u64, abe)
		__field(u64, sample)
		__field(u32, interval_us)
		__field(u32, dt_us)
		__field(u32, unstable)
		__field(u32, weight)
		__field(u32, rtt_us)
		__field(u32, rtt_min_us)
		__field(u32, counter)
		__field(u32, cwnd)
		__field(u32, ssthresh)
	),

	TP_fast_assign(
		TCPCC_TRACE_SOCK_ASSIGN(sk);
		__entry->mode = mode;
		__entry->abe = abe;
		__entry->sample = sample;
		__entry->interval_us = interval_us;
		__entry->dt_us = dt_us;
		__entry->unstable = unstable;
		__entry->weight = weight;
		__entry->rtt_us = rtt_us;
		__entry->rtt_min_us = rtt_min_us;
		__entry->counter = counter;
		__entry->cwnd = tcp_snd_cwnd(tcp_sk(sk));
		__entry->ssthresh = tcp_sk(sk)->snd_ssthresh;
	),

	TP_printk(TCPCC_TRACE_SOCK_FORMAT " mode=%u abe=%llu sample=%llu interval_us=%u dt_us=%u unstable=%u weight=%u rtt_us=%u rtt_min_us=%u counter=%u cwnd=%u ssthresh=%u",
		  TCPCC_TRACE_SOCK_ARGS, __entry->mode, __entry->abe,
		  __entry->sample, __entry->interval_us, __entry->dt_us,
		  __entry->unstable, __entry->weight, __entry->rtt_us,
		  __entry->rtt_min_us, __entry->counter, __entry->cwnd,
		  __entry->ssthresh)
);

#endif /* _TRACE_MCCP_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_mccp
#include <trace/define_trace.h>
