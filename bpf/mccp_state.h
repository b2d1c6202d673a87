/* SPDX-License-Identifier: GPL-2.0 */
/*
 * MCCP's state for BPF.  Include it after kernel.h and before the law.
 *
 * In a module a socket's state has a pointer to the history of its estimate.  The verifier does not
 * accept a pointer that is loaded from a socket.  So the history is in the socket's BPF storage.
 * While a hook runs, the state is on the stack, which may hold a pointer.  "sk" in the law is then
 * a struct mccp_hook, and tcp_sk() and similar functions take the socket or the state from it.
 * Instead of the pointer the socket stores whether there is a history.
 */
#ifndef _TCPCC_BPF_MCCP_STATE_H
#define _TCPCC_BPF_MCCP_STATE_H

/**
 * struct mccp_hook - a socket while a hook runs
 * @tp: the socket
 * @priv: its state; first word: pointer to the history, or NULL
 */
struct mccp_hook {
	struct tcp_sock *tp;
	u64	priv[ICSK_CA_PRIV_SIZE / sizeof(u64)];
};

static inline struct tcp_sock *mccp_tp(const struct sock *sk)
{
	return ((const struct mccp_hook *)sk)->tp;
}

static inline struct sock *mccp_sk(const struct sock *sk)
{
	return (struct sock *)mccp_tp(sk);
}

#define tcp_sk(sk)			mccp_tp(sk)
#define inet_sk(sk)			inet_sk(mccp_sk(sk))
#define inet_csk(sk)			inet_csk(mccp_sk(sk))
#define inet_csk_ca(sk)			((void *)((struct mccp_hook *)(sk))->priv)
#define tcp_is_cwnd_limited(sk)		tcp_is_cwnd_limited(mccp_sk(sk))
#define tcp_reno_ssthresh(sk)		tcp_reno_ssthresh(mccp_sk(sk))
#define tcp_reno_cong_avoid(sk, ...)	tcp_reno_cong_avoid(mccp_sk(sk), __VA_ARGS__)
#define tcp_reno_undo_cwnd(sk)		tcp_reno_undo_cwnd(mccp_sk(sk))

#define kzalloc(size, flags)		mccp_history(mccp_sk(sk), BPF_SK_STORAGE_GET_F_CREATE)
#define kfree(history)			bpf_sk_storage_delete(&mccp_histories, mccp_tp(sk))

/*
 * The loops of the estimate end at a number that is read from the history.  The verifier does not
 * know that this number is at most ABE_POINTS.  So each loop also gets a constant bound.
 */
#define for(...)								\
	for (u32 _turn = 0, _once = 1; _once; _once = 0)			\
		for (__VA_ARGS__)						\
			if (_turn++ == ABE_POINTS) break; else

/*
 * The index in abe_point() also comes from the history, and needs a bound that the verifier knows.
 * A call, whose first argument is "history", becomes mccp_point(), which limits the index to 8
 * bits.  The definition, which begins with "const", becomes abe_point_unbounded().
 */
struct abe_history;
static inline const struct abe_point *mccp_point(const struct abe_history *history, u32 back);

#define abe_point(first, back)	MCCP_POINT_##first, back)
#define MCCP_POINT_history	mccp_point(history
#define MCCP_POINT_const	abe_point_unbounded(const
#include "tcpcc_abe.h"
#undef abe_point
#undef for

static inline const struct abe_point *mccp_point(const struct abe_history *history, u32 back)
{
	u64 at = abe_point_unbounded(history, back) - history->point;

	asm volatile("" : "+r"(at));
	return &history->point[at & 0xff];
}

/* The verifier also does not know that there is a history if there is an estimate. */
#define abe_sample(history, ...) \
	({ (history) ? abe_sample(history, __VA_ARGS__) : 0; })

/* The points of an 8-bit index must all lie in the storage. */
struct mccp_storage {
	struct abe_history history;
	struct abe_point beyond[256];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct mccp_storage);
} mccp_histories SEC(".maps");

/* The socket's history; NULL: there is none, or there is no memory for it */
static inline struct abe_history *mccp_history(struct sock *sk, u64 flags)
{
	struct mccp_storage *storage = bpf_sk_storage_get(&mccp_histories, sk, NULL, flags);

	return storage ? &storage->history : NULL;
}

/* The first member of the state is the pointer to the history; in the socket it is 0 or 1. */
#define TCPCC_ENTER(ctx)							\
	struct mccp_hook _hook;							\
	struct sock *sk = (struct sock *)&_hook;				\
										\
	mccp_enter_hook(&_hook, (struct tcp_sock *)(ctx)[0])
#define TCPCC_LEAVE(sk)		mccp_leave_hook(&_hook)

static inline void mccp_enter_hook(struct mccp_hook *hook, struct tcp_sock *tp)
{
	u32 i;

	hook->tp = tp;
#pragma unroll
	for (i = 1; i < ARRAY_SIZE(hook->priv); i++)
		hook->priv[i] = tp->inet_conn.icsk_ca_priv[i];
	*(struct abe_history **)hook->priv =
		tp->inet_conn.icsk_ca_priv[0] ? mccp_history((struct sock *)tp, 0) : NULL;
}

static inline void mccp_leave_hook(struct mccp_hook *hook)
{
	struct tcp_sock *tp = hook->tp;
	u32 i;

	tp->inet_conn.icsk_ca_priv[0] = !!*(struct abe_history **)hook->priv;
#pragma unroll
	for (i = 1; i < ARRAY_SIZE(hook->priv); i++)
		tp->inet_conn.icsk_ca_priv[i] = hook->priv[i];
}

#endif /* _TCPCC_BPF_MCCP_STATE_H */
