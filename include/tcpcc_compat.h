/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The differences between the supported kernels (6.1 to 7.2), in one place.
 * Algorithms contain no version test; they use the names defined here.
 */
#ifndef _TCPCC_COMPAT_H
#define _TCPCC_COMPAT_H

/*
 * TCPCC_HAVE_... is defined if the kernel has a certain header, structure member or
 * function argument.  The preprocessor cannot test that, so Kbuild searches the
 * kernel's headers.
 */
#include <linux/version.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/pkt_sched.h>
#include <net/tcp.h>

#ifdef TCPCC_HAVE_LINUX_UNALIGNED
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#ifdef TCPCC_HAVE_NET_GSO
#include <net/gso.h>
#else
#include <linux/skbuff.h>
#endif

#include "tcpcc_cwnd_events.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "tcpcc needs Linux 6.1 or later"
#endif

/*
 * tcpcc_cong_control(name) - head of a .cong_control callback
 *
 * From 6.10 on the callback has two more arguments, the ACK number and the ACK's
 * flags.  Our algorithms do not use them; @sk and @rs exist on every kernel.
 */
#ifdef TCPCC_HAVE_CONG_CONTROL_ACK
#define tcpcc_cong_control(name) \
	static void name(struct sock *sk, u32 ack, int flag, \
			 const struct rate_sample *rs)
#else
#define tcpcc_cong_control(name) \
	static void name(struct sock *sk, const struct rate_sample *rs)
#endif

/**
 * tcpcc_tso_segs() - size of a TSO packet
 * @sk: the socket
 * @mss_now: bytes in a segment
 * @min_segs: least size, segments
 *
 * The kernel's own rule: what the pacing rate sends in 2^-sk_pacing_shift seconds,
 * and more if the rtt is short, up to what the device takes.  It is for kernels in
 * which the congestion control must compute the whole size.  TCP limits the result
 * to sk_gso_max_segs.
 *
 * Return: segments in a packet.
 */
static inline u32 tcpcc_tso_segs(const struct sock *sk, unsigned int mss_now,
				 u32 min_segs)
{
	u32 log = READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_tso_rtt_log);
	u32 shift = tcp_min_rtt(tcp_sk(sk)) >> log;
	u64 bytes = READ_ONCE(sk->sk_pacing_rate) >> READ_ONCE(sk->sk_pacing_shift);

	if (shift < BITS_PER_TYPE(u32))
		bytes += sk->sk_gso_max_size >> shift;
	bytes = min_t(u64, bytes, sk->sk_gso_max_size);
	return max((u32)bytes / mss_now, min_segs);
}

/*
 * tcpcc_min_tso_segs(name) - head of a function of @sk that returns the least
 * size of a TSO packet, segments
 * TCPCC_MIN_TSO_SEGS(name) - initializer of its member in struct tcp_congestion_ops
 *
 * BBRv3's branch has the hook .tso_segs instead of .min_tso_segs.  .tso_segs
 * returns the size itself.  TCP calls both hooks at the same places.
 */
#ifdef TCPCC_HAVE_MIN_TSO_SEGS
#define tcpcc_min_tso_segs(name)	static u32 name(struct sock *sk)
#define TCPCC_MIN_TSO_SEGS(name)	.min_tso_segs = name
#else
#define tcpcc_min_tso_segs(name)						\
	static u32 name(struct sock *sk);					\
	static u32 name##_of(struct sock *sk, unsigned int mss_now)		\
	{									\
		return tcpcc_tso_segs(sk, mss_now, name(sk));			\
	}									\
	static u32 name(struct sock *sk)
#define TCPCC_MIN_TSO_SEGS(name)	.tso_segs = name##_of
#endif

/* From 6.8 on the kernel requests the module of a qdisc by this alias */
#ifndef MODULE_ALIAS_NET_SCH
#define MODULE_ALIAS_NET_SCH(id)	MODULE_ALIAS("net-sch-" id)
#endif

/**
 * tcpcc_ecn_negotiated() - whether a connection uses ECN
 * @tp: the socket
 *
 * ECN is that of RFC 3168, or accurate ECN if the kernel has it.
 */
static inline bool tcpcc_ecn_negotiated(const struct tcp_sock *tp)
{
#ifdef TCP_ECN_OK
	return tp->ecn_flags & TCP_ECN_OK;
#else
	return tcp_ecn_mode_any(tp);
#endif
}

/* Whether the unit of a connection's time stamps is the microsecond; possible from 6.7 on */
static inline bool tcpcc_usec_ts(const struct tcp_sock *tp)
{
#ifdef TCPCC_HAVE_USEC_TS
	return tp->tcp_usec_ts;
#else
	return false;
#endif
}

/* In older kernels the hash table of TCP's connections is an argument of the lookup. */
#ifdef TCPCC_HAVE_LOOKUP_HASHINFO
#define tcpcc_established(lookup, net, ...) \
	lookup(net, (net)->ipv4.tcp_death_row.hashinfo, __VA_ARGS__)
#else
#define tcpcc_established(lookup, net, ...)	lookup(net, __VA_ARGS__)
#endif

/**
 * tcpcc_lookup_v4() - find the connection of a received segment
 * @net: the network namespace
 * @skb: the segment, at the netfilter hook LOCAL_IN
 * @sport: its source port
 * @dport: its destination port
 *
 * Return: the socket, which may be in TIME_WAIT; the caller releases it with sock_gen_put();
 * NULL: there is none
 */
static inline struct sock *tcpcc_lookup_v4(struct net *net, struct sk_buff *skb,
					   __be16 sport, __be16 dport)
{
	const struct iphdr *iph = ip_hdr(skb);

	return tcpcc_established(__inet_lookup_established, net, iph->saddr,
				 sport, iph->daddr, ntohs(dport), inet_iif(skb),
				 inet_sdif(skb));
}

/* The same for IPv6 */
static inline struct sock *tcpcc_lookup_v6(struct net *net, struct sk_buff *skb,
					   __be16 sport, __be16 dport)
{
#if IS_ENABLED(CONFIG_IPV6)
	const struct in6_addr *saddr = &ipv6_hdr(skb)->saddr;
	const struct in6_addr *daddr = &ipv6_hdr(skb)->daddr;

	return tcpcc_established(__inet6_lookup_established, net, saddr, sport,
				 daddr, ntohs(dport), inet6_iif(skb),
				 inet6_sdif(skb));
#else
	return NULL;
#endif
}

/* Newer kernels pass the table to a sysctl handler as const. */
#ifdef TCPCC_HAVE_SYSCTL_CONST
#define tcpcc_sysctl_table	const struct ctl_table
#else
#define tcpcc_sysctl_table	struct ctl_table
#endif

/*
 * Length of a table of @n sysctls.  Kernels that do not know the length of the table need an empty
 * entry at its end.
 */
#ifdef TCPCC_HAVE_SYSCTL_SIZE
#define TCPCC_SYSCTL_ENTRIES(n)	(n)
#else
#define TCPCC_SYSCTL_ENTRIES(n)	((n) + 1)
#endif

/**
 * tcpcc_segment_len() - set the length that qdiscs use, of a segment made from a
 * larger packet
 * @seg: the segment
 *
 * From 6.19 on the qdiscs also use the number of segments.
 */
static inline void tcpcc_segment_len(struct sk_buff *seg)
{
	qdisc_skb_cb(seg)->pkt_len = seg->len;
#ifdef TCPCC_HAVE_PKT_SEGS
	qdisc_skb_cb(seg)->pkt_segs = 1;
#endif
}

#endif /* _TCPCC_COMPAT_H */
