/* SPDX-License-Identifier: GPL-2.0 */
/* The headers of the packets that a router forwards, and what it writes there. */
#ifndef _TCPCC_SCH_HEADER_H
#define _TCPCC_SCH_HEADER_H

#include <linux/skbuff.h>
#include <net/sch_generic.h>

#include "tcpcc_feedback.h"

/**
 * struct tcpcc_place - where a queued packet has its word
 * @tcp: the TCP header, bytes from the network header
 * @word: the word, bytes from the network header; 0: there is none to change
 * @note: what else a law has to know of the packet when it leaves
 *
 * Kept with the packet while it is queued, so that it is read only once.
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
 * struct tcpcc_arrivals - what packets have come, each counted once
 * @headers: with a word of the protocol
 * @echoes: with an echo only
 * @plain: without a header, or with another protocol's word
 * @malformed: with a header that is not well formed
 */
struct tcpcc_arrivals {
	u64 headers;
	u64 echoes;
	u64 plain;
	u64 malformed;
};

int tcpcc_header_find(struct sk_buff *skb, struct tcpcc_fb_header *h);
bool tcpcc_header_arrive(struct sk_buff *skb, u8 protocol,
			 struct tcpcc_arrivals *count, u32 *info);
u32 tcpcc_header_info(const struct sk_buff *skb,
		      const struct tcpcc_place *place);
u32 tcpcc_header_word(const struct sk_buff *skb,
		      const struct tcpcc_place *place);
int tcpcc_header_change(struct sk_buff *skb, const struct tcpcc_place *place,
			u32 old, u32 new);
int tcpcc_header_dsfield(const struct sk_buff *skb);
int tcpcc_header_set_ecn(struct sk_buff *skb, u8 ecn);

#endif /* _TCPCC_SCH_HEADER_H */
