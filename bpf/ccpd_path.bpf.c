// SPDX-License-Identifier: GPL-2.0
/* bpf_ccpd_path: tcp_ccpd_path.c */
#include "kernel.h"

#include "../tcp_ccpd_path.c"

#include "hooks.h"

TCPCC_HOOK(path_ops, init);
TCPCC_HOOK(path_ops, cong_control);
TCPCC_HOOK_U32(path_ops, ssthresh);
TCPCC_HOOK(path_ops, set_state);
TCPCC_HOOK_U32(path_ops, undo_cwnd);
TCPCC_HOOK_TX_START(path_ops);
TCPCC_HOOK_U32(path_ops, sndbuf_expand);

TCPCC_SENDER(bpf_ccpd_path) = {
	.name = "bpf_ccpd_path",
	.flags = TCP_CONG_NON_RESTRICTED,
	TCPCC_SET(init),
	TCPCC_SET(cong_control),
	TCPCC_SET(ssthresh),
	TCPCC_SET(set_state),
	TCPCC_SET(undo_cwnd),
	TCPCC_SET_TX_START,
	TCPCC_SET(sndbuf_expand),
};
