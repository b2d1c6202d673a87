/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ccpd_path: segments that leave one by one.
 *
 * TCP makes a packet for TSO as long as pacing and the round trip say (tcp_tso_autosize()), and
 * of sk_gso_max_segs at most.  With one nothing is left of that: each segment is paced.
 */
#ifndef _PATH_SINGLE_H
#define _PATH_SINGLE_H

#include <net/sock.h>

/* Segments leave one by one. */
static inline bool path_is_single(const struct sock *sk)
{
	return sk->sk_gso_max_segs == 1;
}

/**
 * path_set_single() - whether segments leave one by one
 * @sk: the socket, which is locked
 * @single: so it is; otherwise as many at once as the device takes, as sk_setup_caps() has it
 */
static inline void path_set_single(struct sock *sk, bool single)
{
	const struct dst_entry *dst = __sk_dst_get(sk);

	if (single)
		sk->sk_gso_max_segs = 1;
	else if (path_is_single(sk) && dst)
		sk->sk_gso_max_segs = max_t(u32, READ_ONCE(dst->dev->gso_max_segs), 1);
}

#endif /* _PATH_SINGLE_H */
