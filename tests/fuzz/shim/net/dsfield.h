/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FUZZ_NET_DSFIELD_H
#define _FUZZ_NET_DSFIELD_H

#include <linux/ip.h>
#include <linux/ipv6.h>

/* Bits in @mask do not change; the checksum is corrected by the difference. */
static inline void ipv4_change_dsfield(struct iphdr *iph, u8 mask, u8 value)
{
	u8 new = (iph->tos & mask) | value;
	u32 sum = (u16)~ntohs(iph->check);

	sum += (u16)~iph->tos + new;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	iph->check = htons((u16)~sum);
	iph->tos = new;
}

static inline void ipv6_change_dsfield(struct ipv6hdr *ip6h, u8 mask, u8 value)
{
	u8 *at = (u8 *)ip6h;
	u8 new = (((at[0] << 4 | at[1] >> 4) & 0xff) & mask) | value;

	at[0] = (at[0] & 0xf0) | new >> 4;
	at[1] = (at[1] & 0x0f) | new << 4;
}

#endif /* _FUZZ_NET_DSFIELD_H */
