/* SPDX-License-Identifier: GPL-2.0 */
/*
 * MCCP's state for BPF.  Comes after kernel.h and before the law.
 *
 * In a module a socket's state has a pointer to the history of its estimate.  The verifier knows
 * of no pointer that was kept in a socket.  So the history is in the socket's BPF storage, and the
 * state is on the stack while a hook runs, where a pointer may be.  "sk" in the law is then a
 * struct mccp_hook, from which tcp_sk() and its like take what is asked for.  In the socket stays
 * whether there is a history.
 */
#ifndef _TCPCC_BPF_MCCP_STATE_H
#define _TCPCC_BPF_MCCP_STATE_H

/**
 * struct mccp_hook - a socket while a hook runs
 * @tp: it
 * @priv: its state
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
 * know that it is at most ABE_POINTS, and wants each loop's bound at the loop.
 */
#define for(...)								\
	for (u32 _turn = 0, _once = 1; _once; _once = 0)			\
		for (__VA_ARGS__)						\
			if (_turn++ == ABE_POINTS) break; else

/*
 * What abe_point() returns is behind such a number too: calls, which begin with "history", get an
 * index of 8 bits; the definition begins with "const".
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

/* That there is a history where there is an estimate it does not know either. */
#define abe_sample(history, ...) \
	({ (history) ? abe_sample(history, __VA_ARGS__) : 0; })

/* Indices of 8 bits may go so far. */
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

/* The socket's history; NULL: there is none, or no memory for it */
static inline struct abe_history *mccp_history(struct sock *sk, u64 flags)
{
	struct mccp_storage *storage = bpf_sk_storage_get(&mccp_histories, sk, NULL, flags);

	return storage ? &storage->history : NULL;
}

/* The first member of the state is the history: in the socket, whether there is one. */
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
