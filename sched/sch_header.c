// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the congestion header of a packet, and changes its word; tells the class of
 * a packet, and changes its ECN bits.
 *
 * A router has no connection to know a packet by.  It takes the headers as they
 * come, in the order in which they come, and believes none of them before it has
 * checked that what it says is there.  Packets with a word are TCP over IPv4 or IPv6,
 * whole ones: a fragment's checksum could not be corrected.  The class is told by the
 * IP header alone.
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

/* So many IPv6 extension headers are looked behind: no packet needs more. */
#define TCPCC_EXTENSIONS	8

/*
 * Where the TCP header of an IPv6 packet is.  @at: behind the IPv6 header; @next: what it says
 * comes there.  This runs under the qdisc's lock, and a packet has room for 8000 headers.
 *
 * Return: bytes from skb->data; 0: this is no TCP, or nothing to change: a fragment, or what
 * an authentication header vouches for
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
 * Where the TCP header of a packet is, and where the packet ends.  Both are bytes
 * from skb->data.  0: this is no TCP, or not all of it.
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
 * @h: where to put what it says
 *
 * Notes with the packet where its word is, for tcpcc_header_word() and
 * tcpcc_header_change() when it leaves.
 *
 * Return: 1: @h is filled; 0: there is none; -EBADMSG: it is not well formed
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
 * tcpcc_header_walk() - tcpcc_header_arrive() for all packets, whatever they are like
 * @skb: a packet, not yet queued, of one segment
 * @protocol: enum tcpcc_fb_protocol: whose words this router changes
 * @count: where to count it, in one of the four
 *
 * Return: the info of its header, 28 bits, or a negative number: it has no word of @protocol
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
 * tcpcc_header_far() - the word of a packet, in whichever part of it that is
 * @skb: packet
 * @word: where, bytes from its network header
 *
 * Return: see tcpcc_header_word()
 */
u32 tcpcc_header_far(const struct sk_buff *skb, unsigned int word)
{
	__be32 buffer;
	const void *p;

	p = skb_header_pointer(skb, skb_network_offset(skb) + word, sizeof(buffer),
			       &buffer);
	/* nobody shortens a queued packet, but who knows */
	return p ? get_unaligned_be32(p) : TCPCC_FB_NO_LIMIT;
}

/**
 * tcpcc_header_unshare() - see to it that the word of a packet can be changed
 * @skb: packet
 * @word: where, bytes from its network header
 *
 * Return: where it is then; NULL: there is no memory to unshare the packet
 */
u8 *tcpcc_header_unshare(struct sk_buff *skb, unsigned int word)
{
	if (skb_ensure_writable(skb, skb_network_offset(skb) + word + sizeof(u32)))
		return NULL;
	return skb_network_header(skb) + word;
}

/* Whether the first @len bytes of a packet may be written to, made so if need be.  0 or -ENOMEM */
static inline int tcpcc_header_writable(struct sk_buff *skb, unsigned int len)
{
	if (likely(len <= skb_headlen(skb) && !skb_cloned(skb)))
		return 0;
	return skb_ensure_writable(skb, len);
}

/* The part of an IP header of either version that tells whose the ECN bits are */
#define TCPCC_IP_BEGIN	10

/* Whether a packet's own IP header carries the ECN bits to TCP, whatever is encrypted */
static bool tcpcc_is_transport(u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_ESP ||
	       protocol == IPPROTO_AH;
}

/**
 * tcpcc_header_dsfield() - DSCP and ECN bits of a packet that has them for itself
 * @skb: a packet of one segment
 *
 * All is said by the first bytes of the outermost IP header, so it holds for encrypted
 * packets too.  Where the bits stand for more than this packet they are not to be changed,
 * since somebody would drop it:
 *   o a tunnel (IPIP, GRE, what is in UDP): at its end 11 around a packet that has 00 is
 *     taken for an error (RFC 6040), and no other change gets through to a 00;
 *   o a fragment: a packet of which some fragments have 00 and others not is not put
 *     together (RFC 3168, section 5.3).
 * An IPv6 packet with extension headers may be either.
 *
 * Return: the eight bits, or a negative number: this is not IP, or one of these
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
 * tcpcc_header_set_ecn() - put other ECN bits into a packet
 * @skb: packet of which tcpcc_header_dsfield() has told them
 * @ecn: the two bits
 *
 * The checksum of an IPv4 header is corrected by the difference.  It makes up for
 * the bits also in a sum over the whole packet; IPv6 has nothing that would.
 *
 * Return: 0 or, if there is no memory to unshare the packet, -ENOMEM
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
