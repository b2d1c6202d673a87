// SPDX-License-Identifier: GPL-2.0
/* A law of nist/: the Makefile sets which one, its name, and who may select it (TCPCC_FLAGS). */
#include "kernel.h"
#include "log2.h"

#include TCPCC_LAW

#include "hooks.h"

TCPCC_HOOK(nist_ops, init);
#ifdef NIST_PERIODIC
TCPCC_HOOK(nist_ops, pkts_acked);
#endif
TCPCC_HOOK(nist_ops, cong_avoid);
TCPCC_HOOK_U32(nist_ops, ssthresh);
TCPCC_HOOK(nist_ops, cwnd_event);
TCPCC_HOOK_U32(nist_ops, undo_cwnd);
TCPCC_HOOK_U32(nist_ops, sndbuf_expand);

TCPCC_SENDER(TCPCC_NAME) = {
	.name = TCPCC_TEXT_OF(TCPCC_NAME),
	.flags = TCPCC_FLAGS,
	TCPCC_SET(init),
#ifdef NIST_PERIODIC
	TCPCC_SET(pkts_acked),
#endif
	TCPCC_SET(cong_avoid),
	TCPCC_SET(ssthresh),
	TCPCC_SET(cwnd_event),
	TCPCC_SET(undo_cwnd),
	TCPCC_SET(sndbuf_expand),
};
