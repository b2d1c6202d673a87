/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ccpd_path: segments that leave one by one.
 *
 * TCP chooses the size of a TSO packet by the pacing rate and the rtt (tcp_tso_autosize()), and
 * limits it to sk_gso_max_segs segments.  If sk_gso_max_segs is 1, each segment is paced by itself.
 */
#ifndef _PATH_SINGLE_H
#define _PATH_SINGLE_H

#include <net/sock.h>

/* Whether segments leave one by one */
static inline bool path_is_single(const struct sock *sk)
{
	return sk->sk_gso_max_segs == 1;
}

/**
 * path_set_single() - choose whether segments leave one by one
 * @sk: the socket, which is locked
 * @single: true: one by one; false: as many at once as the device takes, like sk_setup_caps()
 */
static inline void path_set_single(struct sock *sk, bool single)
{
	const struct dst_entry *dst;

	if (single) {
		sk->sk_gso_max_segs = 1;
	} else if (path_is_single(sk)) {
		dst = __sk_dst_get(sk);
		if (dst)
			sk->sk_gso_max_segs = max_t(u32, READ_ONCE(dst->dev->gso_max_segs), 1);
	}
}

#endif /* _PATH_SINGLE_H */
