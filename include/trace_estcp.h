/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoint estcp:estcp_update, one event per ACK that brings codepoints.
 *
 *   echo 1 > /sys/kernel/tracing/events/estcp/estcp_update/enable
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM estcp

#if !defined(_TRACE_ESTCP_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_ESTCP_H

#include <linux/tracepoint.h>

#include "trace_sock.h"

/*
 * Share and beta in 1/65536, alpha in 2^-24 segment; weight: segments that the codepoints
 * of this ACK count for; n: segments whose codepoints count in this phase.  A kernel with BPF
 * allows at most twelve arguments, so cwnd and ssthresh are read from the socket.
 */
TRACE_EVENT(estcp_update,
	TP_PROTO(const struct sock *sk, u32 mode, u32 phases, u32 codepoint,
		 u32 weight, u32 n, u32 share, u64 alpha, u32 rtt_us,
		 u32 rtt_min_us, u32 beta),

	TP_ARGS(sk, mode, phases, codepoint, weight, n, share, alpha, rtt_us,
		rtt_min_us, beta),

	TP_STRUCT__entry(
		TCPCC_TRACE_SOCK_FIELDS
		__field(u32, mode)
		__field(u32, phases)
		__field(u32, codepoint)
		__field(u32, weight)
		__field(u32, n)
		__field(u32, share)
		__field(u64, alpha)
		__field(u32, rtt_us)
		__field(u32, rtt_min_us)
		__field(u32, beta)
		__field(u32, cwnd)
		__field(u32, ssthresh)
	),

	TP_fast_assign(
		TCPCC_TRACE_SOCK_ASSIGN(sk);
		__entry->mode = mode;
		__entry->phases = phases;
		__entry->codepoint = codepoint;
		__entry->weight = weight;
		__entry->n = n;
		__entry->share = share;
		__entry->alpha = alpha;
		__entry->rtt_us = rtt_us;
		__entry->rtt_min_us = rtt_min_us;
		__entry->beta = beta;
		__entry->cwnd = tcp_snd_cwnd(tcp_sk(sk));
		__entry->ssthresh = tcp_sk(sk)->snd_ssthresh;
	),

	TP_printk(TCPCC_TRACE_SOCK_FORMAT " mode=%u phases=%u codepoint=%u weight=%u n=%u share=%u alpha=%llu rtt_us=%u rtt_min_us=%u beta=%u cwnd=%u ssthresh=%u",
		  TCPCC_TRACE_SOCK_ARGS, __entry->mode, __entry->phases,
		  __entry->codepoint, __entry->weight, __entry->n,
		  __entry->share, __entry->alpha, __entry->rtt_us,
		  __entry->rtt_min_us, __entry->beta, __entry->cwnd,
		  __entry->ssthresh)
);

#endif /* _TRACE_ESTCP_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_estcp
#include <trace/define_trace.h>
