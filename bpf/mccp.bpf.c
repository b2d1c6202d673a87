// SPDX-License-Identifier: GPL-2.0
/* bpf_mccp: tcp_mccp.c */
#include "kernel.h"
#include "mccp_state.h"

#include "../tcp_mccp.c"

#include "hooks.h"

TCPCC_HOOK(mccp_ops, init);
TCPCC_HOOK(mccp_ops, release);
TCPCC_HOOK(mccp_ops, in_ack_event);
TCPCC_HOOK(mccp_ops, pkts_acked);
TCPCC_HOOK(mccp_ops, cong_avoid);
TCPCC_HOOK_U32(mccp_ops, ssthresh);
TCPCC_HOOK(mccp_ops, set_state);
TCPCC_HOOK_U32(mccp_ops, undo_cwnd);
TCPCC_HOOK_TX_START(mccp_ops);

TCPCC_SENDER(bpf_mccp) = {
	.name = "bpf_mccp",
	TCPCC_SET(init),
	TCPCC_SET(release),
	TCPCC_SET(in_ack_event),
	TCPCC_SET(pkts_acked),
	TCPCC_SET(cong_avoid),
	TCPCC_SET(ssthresh),
	TCPCC_SET(set_state),
	TCPCC_SET(undo_cwnd),
	TCPCC_SET_TX_START,
};
