/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FUZZ_LINUX_IPV6_H
#define _FUZZ_LINUX_IPV6_H

#include <asm/byteorder.h>
#include_next <linux/ipv6.h>
#include <linux/skbuff.h>

static inline struct ipv6hdr *ipv6_hdr(const struct sk_buff *skb)
{
	return (struct ipv6hdr *)skb_network_header(skb);
}

#endif /* _FUZZ_LINUX_IPV6_H */
