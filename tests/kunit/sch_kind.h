/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For KUnit tests of a kind of router through the hooks that the core calls: law and packets
 * together.  The kind's source is included after this file.
 */
#ifndef _TCPCC_SCH_KIND_H
#define _TCPCC_SCH_KIND_H

#include <linux/module.h>

#include "../../sched/sch_header.h"
#include "../../sched/tcpcc_sched.h"

/* The test has no core, and does not register a qdisc. */
#undef TCPCC_QDISC_OPS
#define TCPCC_QDISC_OPS(_id)	{ .id = #_id }
#undef TCPCC_QDISC
#define TCPCC_QDISC(_id)
#undef MODULE_ALIAS
#define MODULE_ALIAS(_alias)

#include "sch_packet.h"

/*
 * A packet with header @h passes an empty queue at @now_ns.  Nothing of it may change except
 * its word and its checksum, and the checksum must be correct.
 *
 * Return: its word after the queue
 */
static u32 word_after(struct kunit *test, const struct tcpcc_kind *kind, void *state,
		      const struct shape *s, const struct tcpcc_fb_header *h, u64 now_ns)
{
	u8 option[TCPCC_FB_LEN_BOTH], was[200];
	unsigned int len = tcpcc_fb_build(option, h);
	struct sk_buff *skb = packet(test, s, option, len);
	struct tcphdr *th = tcp_of(skb, s);
	u8 *at = (u8 *)(th + 1) + s->pad + TCPCC_FB_WORD;
	u32 word;

	KUNIT_ASSERT_LE(test, skb->len, sizeof(was));
	th->check = (__force __sum16)tcp_sum(skb, s);
	memcpy(was, skb->data, skb->len);
	qdisc_skb_cb(skb)->pkt_len = skb->len;

	KUNIT_EXPECT_TRUE(test, kind->hooks->arrive(state, skb, now_ns, 0));
	kind->hooks->depart(state, skb, now_ns, 0);
	KUNIT_EXPECT_EQ(test, tcp_sum(skb, s), 0);
	word = get_unaligned_be32(at);
	put_unaligned_be32(h->word, at);
	memcpy(&th->check, was + ((u8 *)&th->check - skb->data), 2);
	KUNIT_EXPECT_EQ(test, memcmp(skb->data, was, skb->len), 0);
	kfree_skb(skb);
	return word;
}

/* Words of protocols other than @own, or with an unknown version, are not changed. */
static void leaves_others(struct kunit *test, const struct tcpcc_kind *kind, void *state,
			  u8 own, u64 now_ns)
{
	int i;

	for (i = 0; i < 2 * 16; i++) {
		struct shape s = { .v6 = i & 1, .pad = i % 6 };
		struct tcpcc_fb_header h = {
			.has_word = true, .protocol = i / 2, .info = 0x9c4f93,
			.word = TCPCC_FB_NO_LIMIT, .has_echo = i & 4, .echo = 77,
		};

		if (h.protocol == own)
			h.word |= BIT(TCPCC_FB_VERSION_SHIFT);
		KUNIT_EXPECT_EQ(test, word_after(test, kind, state, &s, &h, now_ns), h.word);
	}
}

#endif /* _TCPCC_SCH_KIND_H */
