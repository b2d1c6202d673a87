/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ccpd_path: small bursts.
 *
 * TCP chooses the size of a TSO packet by the pacing rate and the rtt (tcp_tso_autosize()), and
 * limits it to sk_gso_max_segs segments.  If sk_gso_max_segs is 1, each segment is paced by itself.
 * Segments that do not fill such a packet, and are less than a third of the window, wait for other
 * ACKs (tcp_tso_should_defer()).  So if each ACK shall release a few segments, the limit has to be
 * as low.
 */
#ifndef _PATH_SINGLE_H
#define _PATH_SINGLE_H

#include <net/sock.h>

/* Limits are less than that: TCP's largest packet, 64 kB, has 44 full segments */
#define PATH_BURST_MOST	64

/* Whether segments leave one by one, although the socket has GSO */
static inline bool path_is_single(const struct sock *sk)
{
	return sk->sk_gso_max_segs == 1 && sk_can_gso(sk);
}

/**
 * path_limit_burst() - choose how many segments may leave in one packet
 * @sk: the socket, which is locked
 * @segs: less than PATH_BURST_MOST; 0: as many as sk_setup_caps() allows
 *
 * The limit is never above that of sk_setup_caps(), which is the device's; or 1 if a packet may
 * have only one segment, as with TCP-MD5, whose signature is that of a segment.  Without a route
 * nothing changes: sk_setup_caps() follows before the next packet is sent.
 */
static inline void path_limit_burst(struct sock *sk, u32 segs)
{
	const struct dst_entry *dst;
	u32 most = 1;

	if (!segs && sk->sk_gso_max_segs >= PATH_BURST_MOST)
		return;
	dst = __sk_dst_get(sk);
	if (!dst)
		return;
	if (sk_can_gso(sk))
		most = max_t(u32, READ_ONCE(dst->dev->gso_max_segs), 1);
	sk->sk_gso_max_segs = min(segs ?: most, most);
}

#endif /* _PATH_SINGLE_H */
