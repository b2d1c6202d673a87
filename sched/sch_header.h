/* SPDX-License-Identifier: GPL-2.0 */
/* Headers of the packets that a router forwards, and what the router changes in them. */
#ifndef _TCPCC_SCH_HEADER_H
#define _TCPCC_SCH_HEADER_H

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/sch_generic.h>

#include "tcpcc_feedback.h"

/**
 * struct tcpcc_place - the place of the word in a queued packet
 * @tcp: the TCP header, bytes from the network header
 * @word: the word, bytes from the network header; 0: there is no word to change
 * @note: a number that the law needs when the packet leaves
 *
 * It is kept with the packet while the packet is queued, so that the headers are parsed only once.
 */
struct tcpcc_place {
	u16 tcp;
	u16 word;
	u32 note;
};

static inline struct tcpcc_place *tcpcc_place(struct sk_buff *skb)
{
	struct qdisc_skb_cb *cb = qdisc_skb_cb(skb);

	BUILD_BUG_ON(sizeof(struct tcpcc_place) > sizeof(cb->data));
	return (struct tcpcc_place *)cb->data;
}

/**
 * struct tcpcc_arrivals - packets that have arrived, each in one of these counters
 * @headers: with a word of the protocol
 * @echoes: with an echo only
 * @plain: without a header, or with a word of another protocol
 * @malformed: with a header that is not well formed
 */
struct tcpcc_arrivals {
	u64 headers;
	u64 echoes;
	u64 plain;
	u64 malformed;
};

/* Bytes of a TCP header up to the end of our option, if it is the first and has a word */
#define TCPCC_USUAL	(TCPCC_TCP_HEADER + TCPCC_FB_LEN_DATA)

/* The first four bytes of a header with a word and no echo */
#define TCPCC_FIRST	((u32)TCPCC_FB_KIND << 24 | TCPCC_FB_LEN_DATA << 16 | \
			 TCPCC_FB_EXID)

int tcpcc_header_find(struct sk_buff *skb, struct tcpcc_fb_header *h);
int tcpcc_header_walk(struct sk_buff *skb, u8 protocol, struct tcpcc_arrivals *count);
u32 __pure tcpcc_header_far(const struct sk_buff *skb, unsigned int word);
u8 *tcpcc_header_unshare(struct sk_buff *skb, unsigned int word);
int tcpcc_header_dsfield(const struct sk_buff *skb);
int tcpcc_header_set_ecn(struct sk_buff *skb, u8 ecn);

/*
 * tcpcc_header_usual() for a TCP packet whose IP header @ip has @at bytes.  @total is the length
 * of the packet according to the IP header.
 */
static __always_inline int tcpcc_usual_tcp(struct sk_buff *skb, const u8 *ip, unsigned int at,
					   unsigned int total, u8 protocol)
{
	const u8 *th = ip + at, *option = th + TCPCC_TCP_HEADER;
	u32 info;

	/* with room for the longest TCP header the length of this one need not be checked */
	if (total < at + TCPCC_TCP_HEADER_MAX || total > skb->len - skb_network_offset(skb) ||
	    th[12] >> 4 < TCPCC_USUAL / 4 || get_unaligned_be32(option) != TCPCC_FIRST ||
	    option[TCPCC_FB_WORD] >= 1 << (TCPCC_FB_VERSION_SHIFT - 24))
		return -ENOENT;
	info = get_unaligned_be32(option + TCPCC_FB_INFO);
	if (info >> TCPCC_FB_PROTOCOL_SHIFT != protocol)
		return -ENOENT;
	tcpcc_place(skb)->tcp = at;
	tcpcc_place(skb)->word = at + TCPCC_TCP_HEADER + TCPCC_FB_WORD;
	return info & TCPCC_FB_INFO_MASK;
}

/*
 * A fast path for the form of most packets with a word: IP without options, TCP with our option as
 * the first one, all of these in the linear part of the skb, and data.  tcpcc_header_walk() would
 * find the same in such a packet.
 *
 * Return: the info, 28 bits, if the packet has this form and a word of @protocol; a negative
 * number otherwise: call tcpcc_header_walk()
 */
static __always_inline int tcpcc_header_usual(struct sk_buff *skb, u8 protocol)
{
	const u8 *ip = skb_network_header(skb);
	/* a negative offset, of a header before skb->data, becomes too large for the next test */
	const u64 network = (u32)skb_network_offset(skb);

	if (skb_headlen(skb) < network + sizeof(struct iphdr) + TCPCC_USUAL)
		return -ENOENT;
	if (skb->protocol == htons(ETH_P_IP) && ip[0] == 0x45 && ip[9] == IPPROTO_TCP &&
	    !ip_is_fragment((const struct iphdr *)ip))
		return tcpcc_usual_tcp(skb, ip, sizeof(struct iphdr),
				       get_unaligned_be16(ip + 2), protocol);
	if (skb->protocol == htons(ETH_P_IPV6) && ip[0] >> 4 == 6 && ip[6] == IPPROTO_TCP &&
	    skb_headlen(skb) >= network + sizeof(struct ipv6hdr) + TCPCC_USUAL)
		return tcpcc_usual_tcp(skb, ip, sizeof(struct ipv6hdr), sizeof(struct ipv6hdr) +
				       get_unaligned_be16(ip + 4), protocol);
	return -ENOENT;
}

/**
 * tcpcc_header_arrive() - find the word of a packet that has arrived, and count the packet
 * @skb: a packet, not yet queued, of one segment
 * @protocol: enum tcpcc_fb_protocol: this router changes words of this protocol only
 * @count: one of its four counters is incremented
 * @info: set to the info of the header, 28 bits, if the packet has a word of @protocol
 *
 * The router must not change a word of another protocol: tcpcc_place() has no word then.
 *
 * Return: true if the packet has a word of @protocol
 */
static __always_inline bool tcpcc_header_arrive(struct sk_buff *skb, u8 protocol,
						struct tcpcc_arrivals *count, u32 *info)
{
	int found = tcpcc_header_usual(skb, protocol);

	if (likely(found >= 0))
		count->headers++;
	else
		found = tcpcc_header_walk(skb, protocol, count);
	if (found < 0)
		return false;
	*info = found;
	return true;
}

/**
 * tcpcc_header_at() - address of the word of a packet
 * @skb: packet in which tcpcc_header_find() has found a word
 * @place: place of the word
 *
 * Return: the address; NULL if the word is not in the linear part of the packet
 */
static inline u8 *tcpcc_header_at(const struct sk_buff *skb, const struct tcpcc_place *place)
{
	if (skb_network_offset(skb) + place->word + sizeof(u32) > skb_headlen(skb))
		return NULL;
	return skb_network_header(skb) + place->word;
}

/**
 * tcpcc_header_word() - read the word of a packet
 * @skb: packet in which tcpcc_header_find() has found a word
 * @place: place of the word
 *
 * Return: the word; TCPCC_FB_NO_LIMIT if the packet has become too short for it
 */
static inline u32 tcpcc_header_word(const struct sk_buff *skb, const struct tcpcc_place *place)
{
	const u8 *at = tcpcc_header_at(skb, place);

	return likely(at) ? get_unaligned_be32(at) : tcpcc_header_far(skb, place->word);
}

/**
 * tcpcc_header_change() - write another word into a packet
 * @skb: packet in which tcpcc_header_find() has found a word
 * @place: place of the word
 * @at: tcpcc_header_at() of the packet
 * @old: the present word
 * @new: the word to write
 *
 * If the device will compute the TCP checksum, the checksum stays as it is.  Otherwise it is
 * corrected by the difference of the words: a wrong checksum stays wrong.  At an odd offset each
 * byte of the word is in the other half of a 16-bit unit of the sum.  A sum over the whole packet
 * (CHECKSUM_COMPLETE) stays right, because the new checksum compensates the new word.
 *
 * Return: 0, or -ENOMEM if there is no memory to unshare the packet
 */
static inline int tcpcc_header_change(struct sk_buff *skb, const struct tcpcc_place *place,
				      u8 *at, u32 old, u32 new)
{
	unsigned int behind = place->word - place->tcp;
	__be32 from = cpu_to_be32(old);
	__be32 to = cpu_to_be32(new);

	if (unlikely(!at || skb_cloned(skb))) {
		at = tcpcc_header_unshare(skb, place->word);
		if (!at)
			return -ENOMEM;
	}
	put_unaligned(to, (__be32 *)at);
	if (skb->ip_summed == CHECKSUM_PARTIAL)
		return 0;
	if (behind & 1) {
		from = (__force __be32)ror32((__force u32)from, 8);
		to = (__force __be32)ror32((__force u32)to, 8);
	}
	csum_replace4(&((struct tcphdr *)(at - behind))->check, from, to);
	return 0;
}

#endif /* _TCPCC_SCH_HEADER_H */
