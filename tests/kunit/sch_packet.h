/* SPDX-License-Identifier: GPL-2.0 */
/* Packets of all shapes for the KUnit tests of the router qdiscs. */
#ifndef _TCPCC_SCH_PACKET_H
#define _TCPCC_SCH_PACKET_H

#include <kunit/test.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/dsfield.h>
#include <net/ip6_checksum.h>

#include "near.h"

#define ETH		14
#define PAYLOAD		100

struct shape {
	bool v6;
	bool vlan;		/* with a VLAN tag in the packet data */
	u8 pad;			/* NOPs before our option */
	u8 extension;		/* bytes of IPv6 extension header, or IP options */
	u8 summed;		/* skb->ip_summed */
	u8 dsfield;
	bool empty;		/* without payload */
};

/* A packet of shape @s with @len bytes of @option as TCP option, after NOPs */
static struct sk_buff *packet(struct kunit *test, const struct shape *s,
			      const u8 *option, unsigned int len)
{
	unsigned int l2 = ETH + (s->vlan ? 4 : 0);
	unsigned int ip = (s->v6 ? 40 : 20) + s->extension;
	unsigned int tcp = 20 + ALIGN(s->pad + len, 4);
	unsigned int payload = s->empty ? 0 : PAYLOAD;
	unsigned int total = l2 + ip + tcp + payload;
	struct sk_buff *skb = alloc_skb(total, GFP_KERNEL);
	__be16 proto = s->v6 ? htons(ETH_P_IPV6) : htons(ETH_P_IP);
	struct tcphdr *th;
	u8 *at;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	at = skb_put_zero(skb, total);
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, l2);
	skb->protocol = proto;
	if (s->vlan) {
		struct vlan_hdr *vlan = (struct vlan_hdr *)(at + ETH);

		skb->protocol = htons(ETH_P_8021Q);
		vlan->h_vlan_encapsulated_proto = proto;
	}
	at += l2;
	if (s->v6) {
		struct ipv6hdr *ip6h = (struct ipv6hdr *)at;

		ip6h->version = 6;
		ipv6_change_dsfield(ip6h, 0, s->dsfield);
		ip6h->payload_len = htons(total - l2 - 40);
		ip6h->nexthdr = s->extension ? IPPROTO_DSTOPTS : IPPROTO_TCP;
		ip6h->saddr.s6_addr32[0] = htonl(0x20010db8);
		ip6h->daddr = ip6h->saddr;
		if (s->extension) {
			at[40] = IPPROTO_TCP;
			at[41] = s->extension / 8 - 1;
		}
	} else {
		struct iphdr *iph = (struct iphdr *)at;

		iph->version = 4;
		iph->ihl = ip / 4;
		iph->tos = s->dsfield;
		iph->tot_len = htons(total - l2);
		iph->protocol = IPPROTO_TCP;
		iph->saddr = htonl(0xc0000201);
		iph->daddr = htonl(0xc0000202);
		iph->check = ip_fast_csum(iph, iph->ihl);
	}
	th = (struct tcphdr *)(at + ip);
	th->doff = tcp / 4;
	memset(th + 1, 1, tcp - 20);
	memcpy((u8 *)(th + 1) + s->pad, option, len);
	memset((u8 *)th + tcp, 0x5a, payload);
	skb->ip_summed = s->summed;
	skb->csum_start = (u8 *)th - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
	return skb;
}

static struct tcphdr *tcp_of(struct sk_buff *skb, const struct shape *s)
{
	return (struct tcphdr *)(skb_network_header(skb) + (s->v6 ? 40 : 20) +
				 s->extension);
}

/* The checksum of the segment: the correct value if its field is 0; 0 if the field is correct */
static u16 tcp_sum(struct sk_buff *skb, const struct shape *s)
{
	struct tcphdr *th = tcp_of(skb, s);
	unsigned int len = skb_tail_pointer(skb) - (u8 *)th;
	__wsum sum = csum_partial(th, len, 0);
	struct ipv6hdr *ip6h = ipv6_hdr(skb);
	struct iphdr *iph = ip_hdr(skb);

	if (s->v6)
		return (__force u16)csum_ipv6_magic(&ip6h->saddr, &ip6h->daddr,
						    len, IPPROTO_TCP, sum);
	return (__force u16)csum_tcpudp_magic(iph->saddr, iph->daddr, len,
					      IPPROTO_TCP, sum);
}

#endif /* _TCPCC_SCH_PACKET_H */
