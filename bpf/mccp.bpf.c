// SPDX-License-Identifier: GPL-2.0
/* mccp or mccp_path: the Makefile sets which one, and who may select it (TCPCC_FLAGS). */
#include "kernel.h"
#include "mccp_state.h"

#include TCPCC_LAW

#include "hooks.h"

TCPCC_HOOK(TCPCC_OPS, init);
TCPCC_HOOK(TCPCC_OPS, release);
TCPCC_HOOK(TCPCC_OPS, in_ack_event);
TCPCC_HOOK(TCPCC_OPS, pkts_acked);
TCPCC_HOOK(TCPCC_OPS, cong_avoid);
TCPCC_HOOK_U32(TCPCC_OPS, ssthresh);
TCPCC_HOOK(TCPCC_OPS, set_state);
TCPCC_HOOK_U32(TCPCC_OPS, undo_cwnd);
TCPCC_HOOK_TX_START(TCPCC_OPS);

TCPCC_SENDER(TCPCC_NAME) = {
	.name = TCPCC_TEXT_OF(TCPCC_NAME),
	.flags = TCPCC_FLAGS,
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
