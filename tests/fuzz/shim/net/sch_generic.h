/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FUZZ_NET_SCH_GENERIC_H
#define _FUZZ_NET_SCH_GENERIC_H

#include <linux/skbuff.h>

/* skb->cb: first the part common to all qdiscs, then @data of the qdisc that has the packet */
struct qdisc_skb_cb {
	unsigned int pkt_len;
	u32 others;
	u8 data[20];
};

static inline struct qdisc_skb_cb *qdisc_skb_cb(const struct sk_buff *skb)
{
	return (struct qdisc_skb_cb *)skb->cb;
}

#endif /* _FUZZ_NET_SCH_GENERIC_H */
