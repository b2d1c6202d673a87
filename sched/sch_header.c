// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the congestion header of a packet and changes its word; reads the DSCP of a packet and
 * changes its ECN bits.
 *
 * A router has no state of the connection.  It reads the headers one after the other, and checks
 * each length against the data that is there.  Packets with a word are whole packets of TCP over
 * IPv4 or IPv6; the checksum of a fragment could not be corrected.  For the class only the IP
 * header is read.
 */

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/checksum.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "sch_header.h"

/* The largest number of IPv6 extension headers to skip: no packet needs more. */
#define TCPCC_EXTENSIONS	8

/*
 * Finds the TCP header of an IPv6 packet.  @at: end of the IPv6 header, bytes from skb->data;
 * @next: the type of the next header.  The number of headers is limited because this runs under the
 * lock of the qdisc, and a packet has room for 8000 headers.
 *
 * Return: bytes from skb->data; 0 if the packet is not TCP, or must not be changed because it is a
 * fragment or has an authentication header
 */
static unsigned int tcpcc_skip_extensions(const struct sk_buff *skb,
					  unsigned int at, u8 next)
{
	unsigned int i;

	for (i = 0; next != IPPROTO_TCP; i++) {
		const u8 *extension;
		u8 buffer[2];

		if (i == TCPCC_EXTENSIONS ||
		    (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING &&
		     next != IPPROTO_DSTOPTS))
			return 0;
		extension = skb_header_pointer(skb, at, sizeof(buffer), buffer);
		if (!extension)
			return 0;
		next = extension[0];
		at += (extension[1] + 1) * 8;
	}
	return at;
}

/*
 * Finds the TCP header of a packet, and the end of the packet (@end).  Both are bytes from
 * skb->data.  Returns 0 if the packet is not TCP, or not complete.
 */
static __always_inline unsigned int tcpcc_find_tcp(const struct sk_buff *skb, unsigned int *end)
{
	unsigned int at = skb_network_offset(skb);
	unsigned int total;
	union {
		struct iphdr v4;
		struct ipv6hdr v6;
	} buffer __uninitialized;

	if (skb_network_offset(skb) < 0)
		return 0;

	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_IP): {
		const struct iphdr *iph;

		iph = skb_header_pointer(skb, at, sizeof(*iph), &buffer.v4);
		if (!iph || iph->version != 4 || iph->ihl < 5 ||
		    iph->protocol != IPPROTO_TCP || ip_is_fragment(iph))
			return 0;
		total = ntohs(iph->tot_len);
		if (total < iph->ihl * 4 || total > skb->len - at)
			return 0;
		*end = at + total;
		return at + iph->ihl * 4;
	}
	case htons(ETH_P_IPV6): {
		const struct ipv6hdr *ip6h;

		ip6h = skb_header_pointer(skb, at, sizeof(*ip6h), &buffer.v6);
		if (!ip6h || ip6h->version != 6)
			return 0;
		total = sizeof(*ip6h) + ntohs(ip6h->payload_len);
		if (total > skb->len - at)
			return 0;
		*end = at + total;
		at = tcpcc_skip_extensions(skb, at + sizeof(*ip6h),
					   ip6h->nexthdr);
		return at <= *end ? at : 0;
	}
	}
	return 0;
}

/**
 * tcpcc_header_find() - read the congestion header of a packet
 * @skb: a packet, not yet queued, of one segment
 * @h: filled with the header
 *
 * Stores the place of the word with the packet, for tcpcc_header_word() and tcpcc_header_change()
 * when the packet leaves.
 *
 * Return: 1 if @h is filled; 0 if there is no header; -EBADMSG if it is not well formed
 */
int tcpcc_header_find(struct sk_buff *skb, struct tcpcc_fb_header *h)
{
	struct tcpcc_place *place = tcpcc_place(skb);
	unsigned int at, end, network, len;
	u8 buffer[TCPCC_TCP_HEADER_MAX] __uninitialized;
	const u8 *th;
	int found;

	place->tcp = 0;
	place->word = 0;

	at = tcpcc_find_tcp(skb, &end);
	if (!at || end < at + TCPCC_TCP_HEADER)
		return 0;
	th = skb_header_pointer(skb, at, TCPCC_TCP_HEADER, buffer);
	if (!th)
		return 0;
	len = (th[12] >> 4) * 4;
	if (len == TCPCC_TCP_HEADER)
		return 0;
	if (len < TCPCC_TCP_HEADER || len > end - at)
		return -EBADMSG;
	th = skb_header_pointer(skb, at, len, buffer);
	if (!th)
		return -EBADMSG;

	found = tcpcc_fb_parse(th, len, h);
	if (found <= 0 || !h->has_word)
		return found;
	if (h->word >> TCPCC_FB_VERSION_SHIFT)
		return -EBADMSG;
	network = skb_network_offset(skb);
	if (at - network + len > U16_MAX)
		return -EBADMSG;
	place->tcp = at - network;
	place->word = place->tcp + h->offset + TCPCC_FB_WORD;
	return 1;
}

/**
 * tcpcc_header_walk() - tcpcc_header_arrive() for packets of any form
 * @skb: a packet, not yet queued, of one segment
 * @protocol: enum tcpcc_fb_protocol: this router changes words of this protocol only
 * @count: one of its four counters is incremented
 *
 * Return: the info of the header, 28 bits; a negative number if there is no word of @protocol
 */
int tcpcc_header_walk(struct sk_buff *skb, u8 protocol, struct tcpcc_arrivals *count)
{
	struct tcpcc_fb_header h __uninitialized;

	switch (tcpcc_header_find(skb, &h)) {
	case 0:
		count->plain++;
		return -ENOENT;
	case 1:
		if (h.has_word && h.protocol == protocol) {
			count->headers++;
			return h.info;
		}
		tcpcc_place(skb)->word = 0;
		if (h.has_word)
			count->plain++;
		else
			count->echoes++;
		return -ENOENT;
	default:
		count->malformed++;
		return -EBADMSG;
	}
}

/**
 * tcpcc_header_far() - read the word of a packet, also if it is not in the linear part
 * @skb: packet
 * @word: place of the word, bytes from the network header
 *
 * Return: see tcpcc_header_word()
 */
u32 tcpcc_header_far(const struct sk_buff *skb, unsigned int word)
{
	__be32 buffer;
	const void *p;

	p = skb_header_pointer(skb, skb_network_offset(skb) + word, sizeof(buffer),
			       &buffer);
	/* a queued packet should not become shorter; if it does, there is no word */
	return p ? get_unaligned_be32(p) : TCPCC_FB_NO_LIMIT;
}

/**
 * tcpcc_header_unshare() - make the word of a packet writable
 * @skb: packet
 * @word: place of the word, bytes from the network header
 *
 * Return: address of the word; NULL if there is no memory to unshare the packet
 */
u8 *tcpcc_header_unshare(struct sk_buff *skb, unsigned int word)
{
	if (skb_ensure_writable(skb, skb_network_offset(skb) + word + sizeof(u32)))
		return NULL;
	return skb_network_header(skb) + word;
}

/* Makes the first @len bytes of a packet writable.  Returns 0 or -ENOMEM. */
static inline int tcpcc_header_writable(struct sk_buff *skb, unsigned int len)
{
	if (likely(len <= skb_headlen(skb) && !skb_cloned(skb)))
		return 0;
	return skb_ensure_writable(skb, len);
}

/* Bytes of an IP header, of either version, that tcpcc_header_dsfield() reads */
#define TCPCC_IP_BEGIN	10

/* Whether the ECN bits of this IP header reach TCP, also if TCP is encrypted */
static bool tcpcc_is_transport(u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_ESP ||
	       protocol == IPPROTO_AH;
}

/**
 * tcpcc_header_dsfield() - DSCP and ECN bits of a packet if the ECN bits may be changed
 * @skb: a packet of one segment
 *
 * Only the first bytes of the outermost IP header are read, so this works for encrypted packets
 * too.  Two kinds of packets must not be changed, because they could then be dropped:
 *   o tunnels (IPIP, GRE, tunnels in UDP): the end of the tunnel treats an outer 11 around an inner
 *     00 as an error (RFC 6040), and does not copy any other change to an inner 00;
 *   o fragments: if some fragments of a packet have 00 and others do not, the packet is not
 *     reassembled (RFC 3168, section 5.3).
 * An IPv6 packet with extension headers may be either.
 *
 * Return: the eight bits; a negative number if the packet is not IP, or must not be changed
 */
int tcpcc_header_dsfield(const struct sk_buff *skb)
{
	unsigned int at = skb_network_offset(skb);
	u8 buffer[TCPCC_IP_BEGIN] __uninitialized;
	const u8 *ip;

	if (skb_network_offset(skb) < 0)
		return -EINVAL;
	ip = skb_header_pointer(skb, at, sizeof(buffer), buffer);
	if (!ip)
		return -EINVAL;

	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_IP):
		if (ip[0] >> 4 != 4 || !tcpcc_is_transport(ip[9]) ||
		    get_unaligned_be16(ip + 6) & (IP_MF | IP_OFFSET))
			return -EINVAL;
		return ip[1];
	case htons(ETH_P_IPV6):
		if (ip[0] >> 4 != 6 || !tcpcc_is_transport(ip[6]))
			return -EINVAL;
		return get_unaligned_be16(ip) >> 4 & 0xff;
	}
	return -EINVAL;
}

/**
 * tcpcc_header_set_ecn() - write ECN bits into a packet
 * @skb: packet for which tcpcc_header_dsfield() has returned the bits
 * @ecn: the two bits
 *
 * The checksum of an IPv4 header is corrected by the difference.  This compensates the change also
 * in a sum over the whole packet.  IPv6 has no header checksum, so there skb->csum is corrected.
 *
 * Return: 0, or -ENOMEM if there is no memory to unshare the packet
 */
int tcpcc_header_set_ecn(struct sk_buff *skb, u8 ecn)
{
	unsigned int network = skb_network_offset(skb);
	struct ipv6hdr *ip6h;
	__be32 old;
	int err;

	if (skb_protocol(skb, true) == htons(ETH_P_IP)) {
		err = tcpcc_header_writable(skb, network + sizeof(struct iphdr));
		if (!err)
			ipv4_change_dsfield(ip_hdr(skb), (u8)~INET_ECN_MASK,
					    ecn);
		return err;
	}

	err = tcpcc_header_writable(skb, network + sizeof(struct ipv6hdr));
	if (err)
		return err;
	ip6h = ipv6_hdr(skb);
	old = *(__be32 *)ip6h;
	ipv6_change_dsfield(ip6h, (u8)~INET_ECN_MASK, ecn);
	if (skb->ip_summed == CHECKSUM_COMPLETE)
		skb->csum = csum_add(csum_sub(skb->csum, (__force __wsum)old),
				     *(__force __wsum *)ip6h);
	return 0;
}
