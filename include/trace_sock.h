/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The first fields of all our tracepoints: the ports of the socket.  These are parts
 * of a TRACE_EVENT() whose first argument is @sk.
 */
#ifndef _TRACE_SOCK_H
#define _TRACE_SOCK_H

#include <net/inet_sock.h>

#define TCPCC_TRACE_SOCK_FIELDS						\
	__field(u16, sport)						\
	__field(u16, dport)

#define TCPCC_TRACE_SOCK_ASSIGN(sk)					\
	__entry->sport = ntohs(inet_sk(sk)->inet_sport);		\
	__entry->dport = ntohs(inet_sk(sk)->inet_dport)

#define TCPCC_TRACE_SOCK_FORMAT	"sport=%u dport=%u"

#define TCPCC_TRACE_SOCK_ARGS	__entry->sport, __entry->dport

#endif /* _TRACE_SOCK_H */
