// SPDX-License-Identifier: GPL-2.0
/* bpf_ccpd and bpf_ccp: the two senders of tcp_ccpd.c, which differ only in .init */
#include "kernel.h"

#include "../tcp_ccpd.c"

#include "hooks.h"

TCPCC_HOOK(ccpd_ops[0], init);
TCPCC_HOOK(ccpd_ops[0], cong_control);
TCPCC_HOOK_U32(ccpd_ops[0], ssthresh);
TCPCC_HOOK(ccpd_ops[0], set_state);
TCPCC_HOOK_U32(ccpd_ops[0], undo_cwnd);
TCPCC_HOOK_TX_START(ccpd_ops[0]);
TCPCC_HOOK_U32(ccpd_ops[0], sndbuf_expand);

SEC("struct_ops/init")
int on_init_ccp(u64 *ctx)
{
	ccpd_ops[1].init((struct sock *)ctx[0]);
	return 0;
}

#define CCPD_SENDER(_name, _init)						\
	TCPCC_SENDER(_name) = {							\
		.name = #_name,							\
		.init = (void *)_init,						\
		TCPCC_SET(cong_control),					\
		TCPCC_SET(ssthresh),						\
		TCPCC_SET(set_state),						\
		TCPCC_SET(undo_cwnd),						\
		TCPCC_SET_TX_START,						\
		TCPCC_SET(sndbuf_expand),					\
	}

CCPD_SENDER(bpf_ccpd, on_init);
CCPD_SENDER(bpf_ccp, on_init_ccp);
