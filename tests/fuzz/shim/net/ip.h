/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FUZZ_NET_IP_H
#define _FUZZ_NET_IP_H

#include <linux/ip.h>

#define IP_MF		0x2000
#define IP_OFFSET	0x1fff

/* More fragments to come, or an offset */
static inline bool ip_is_fragment(const struct iphdr *iph)
{
	return ntohs(iph->frag_off) & (IP_MF | IP_OFFSET);
}

#endif /* _FUZZ_NET_IP_H */
