/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Makes programs and struct_ops maps from a module's struct tcp_congestion_ops.
 *
 * The compiler follows the function pointers in the module's table.  So only the law's file defines
 * which function implements which hook:
 *
 *	TCPCC_HOOK(ops, init)		a program that calls ops.init
 *	TCPCC_HOOK_U32(ops, ssthresh)	the same for a hook that returns a value
 *	TCPCC_SENDER(bpf_x) = { .name = "bpf_x", TCPCC_SET(init), TCPCC_SET(ssthresh) };
 */
#ifndef _TCPCC_BPF_HOOKS_H
#define _TCPCC_BPF_HOOKS_H

/* mccp_state.h has its own two, because its state is on the stack while a hook runs. */
#ifndef TCPCC_ENTER
#define TCPCC_ENTER(ctx)	struct sock *sk = (struct sock *)(ctx)[0]
#define TCPCC_LEAVE(sk)
#endif

static inline const struct rate_sample *tcpcc_rate_sample(u64 *ctx)
{
	const struct rate_sample *rs;

	/* Each branch has its own load, because the verifier rejects a computed offset. */
	if (tcpcc_is_6_10())
		asm volatile("%0 = *(u64 *)(%1 + 24)" : "=r"(rs) : "r"(ctx));
	else
		asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(rs) : "r"(ctx));
	return rs;
}

#define TCPCC_ARGS_init			(sk)
#define TCPCC_ARGS_release		(sk)
#define TCPCC_ARGS_ssthresh		(sk)
#define TCPCC_ARGS_undo_cwnd		(sk)
#define TCPCC_ARGS_sndbuf_expand	(sk)
#define TCPCC_ARGS_cwnd_event_tx_start	(sk)
#define TCPCC_ARGS_set_state		(sk, ctx[1])
#define TCPCC_ARGS_cwnd_event		(sk, ctx[1])
#define TCPCC_ARGS_in_ack_event		(sk, ctx[1])
#define TCPCC_ARGS_cong_avoid		(sk, ctx[1], ctx[2])
#define TCPCC_ARGS_pkts_acked		(sk, (const struct ack_sample *)ctx[1])
#define TCPCC_ARGS_cong_control		(sk, tcpcc_rate_sample(ctx))

#define TCPCC_HOOK(ops, hook)							\
	SEC("struct_ops/" #hook)						\
	int on_##hook(u64 *ctx)						\
	{									\
		TCPCC_ENTER(ctx);						\
		ops.hook TCPCC_ARGS_##hook;					\
		TCPCC_LEAVE(sk);						\
		return 0;							\
	}									\
	struct sock

#define TCPCC_HOOK_U32(ops, hook)						\
	SEC("struct_ops/" #hook)						\
	int on_##hook(u64 *ctx)						\
	{									\
		u32 value;							\
		TCPCC_ENTER(ctx);						\
		value = ops.hook TCPCC_ARGS_##hook;				\
		TCPCC_LEAVE(sk);						\
		return value;							\
	}									\
	struct sock

#define TCPCC_SENDER(name)	SEC(".struct_ops") struct tcp_congestion_ops name
#define TCPCC_SET(hook)		.hook = (void *)on_##hook

/* TCPCC_HOOK() and TCPCC_SET() for the hook that tcpcc_cwnd_events() defines in a sender's file */
#ifdef TCPCC_HAVE_CWND_EVENT_TX_START
#define TCPCC_HOOK_TX_START(ops)	TCPCC_HOOK(ops, cwnd_event_tx_start)
#define TCPCC_SET_TX_START		TCPCC_SET(cwnd_event_tx_start)
#else
#define TCPCC_HOOK_TX_START(ops)	TCPCC_HOOK(ops, cwnd_event)
#define TCPCC_SET_TX_START		TCPCC_SET(cwnd_event)
#endif

char _license[] SEC("license") = "GPL";

#endif /* _TCPCC_BPF_HOOKS_H */
