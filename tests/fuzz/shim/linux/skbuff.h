/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fuzzing: packets.  Each part of a packet is a separate allocation of exactly its length, so that
 * any access beyond a part is detected.  Functions that may move the packet in the kernel always
 * move it here, and free the old memory.
 */
#ifndef _FUZZ_LINUX_SKBUFF_H
#define _FUZZ_LINUX_SKBUFF_H

#include <asm/byteorder.h>
#include <linux/errno.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <stdlib.h>

#define CHECKSUM_NONE		0
#define CHECKSUM_UNNECESSARY	1
#define CHECKSUM_COMPLETE	2
#define CHECKSUM_PARTIAL	3

#define FUZZ_FRAGS		2
#define VLAN_HLEN		4
#define VLAN_MAX_DEPTH		8

/* A part of a packet that is not in its linear part */
struct fuzz_frag {
	u8 *at;
	unsigned int len;
};

/**
 * struct sk_buff - a packet
 * @cb: control block of the present owner
 * @len: length, bytes
 * @data_len: part of @len that is in @frags, bytes
 * @head: start of the linear part, with bytes before the packet
 * @data: start of the packet
 * @network_header: bytes from @head, may be before @data
 * @mac_len: bytes of the link header; 0: not known
 * @protocol: the outermost protocol after the Ethernet addresses
 * @ip_summed: state of the checksum, CHECKSUM_*
 * @csum: CHECKSUM_COMPLETE: the sum over the whole packet
 * @frags: parts that are not linear
 * @cloned: the linear part has a second user, which will free it
 * @memory: number of allocations that will succeed
 */
struct sk_buff {
	_Alignas(8) u8 cb[48];
	unsigned int len;
	unsigned int data_len;
	u8 *head;
	u8 *data;
	int network_header;
	unsigned int mac_len;
	__be16 protocol;
	u8 ip_summed;
	__wsum csum;
	struct fuzz_frag frags[FUZZ_FRAGS];
	bool cloned;
	unsigned int memory;
};

static inline unsigned int skb_headlen(const struct sk_buff *skb)
{
	return skb->len - skb->data_len;
}

static inline u8 *skb_network_header(const struct sk_buff *skb)
{
	return skb->head + skb->network_header;
}

static inline int skb_network_offset(const struct sk_buff *skb)
{
	return skb_network_header(skb) - skb->data;
}

static inline int skb_copy_bits(const struct sk_buff *skb, int offset, void *to,
				int len)
{
	unsigned int at = offset, n;
	u8 *out = to;
	int i;

	if (offset < 0 || offset > (int)skb->len - len)
		return -EFAULT;
	if (at < skb_headlen(skb)) {
		n = min_t(unsigned int, skb_headlen(skb) - at, len);
		memcpy(out, skb->data + at, n);
		out += n;
		len -= n;
		at = 0;
	} else {
		at -= skb_headlen(skb);
	}
	for (i = 0; i < FUZZ_FRAGS && len; i++) {
		const struct fuzz_frag *frag = &skb->frags[i];

		if (at >= frag->len) {
			at -= frag->len;
			continue;
		}
		n = min_t(unsigned int, frag->len - at, len);
		memcpy(out, frag->at + at, n);
		out += n;
		len -= n;
		at = 0;
	}
	return len ? -EFAULT : 0;
}

static inline void *skb_header_pointer(const struct sk_buff *skb, int offset,
				       int len, void *buffer)
{
	if ((int)skb_headlen(skb) - offset >= len)
		return skb->data + offset;
	return skb_copy_bits(skb, offset, buffer, len) ? NULL : buffer;
}

/* Copies the linear part to new memory, and appends @more bytes from the fragments. */
static inline int fuzz_move(struct sk_buff *skb, unsigned int more)
{
	unsigned int room = skb->data - skb->head, old = skb_headlen(skb);
	u8 *head;
	int i;

	if (!skb->memory)
		return -ENOMEM;
	skb->memory--;
	head = malloc(room + old + more);
	memcpy(head, skb->head, room);
	if (skb_copy_bits(skb, 0, head + room, old + more))
		abort();
	skb->data_len -= more;
	for (i = 0; i < FUZZ_FRAGS && more; i++) {
		struct fuzz_frag *frag = &skb->frags[i];
		unsigned int n = min(frag->len, more);
		u8 *rest = malloc(frag->len - n);

		memcpy(rest, frag->at + n, frag->len - n);
		free(frag->at);
		frag->at = rest;
		frag->len -= n;
		more -= n;
	}
	if (!skb->cloned)
		free(skb->head);
	skb->cloned = false;
	skb->head = head;
	skb->data = head + room;
	return 0;
}

static inline int skb_ensure_writable(struct sk_buff *skb, unsigned int len)
{
	if (len > skb->len)
		return -ENOMEM;
	if (len > skb_headlen(skb))
		return fuzz_move(skb, len - skb_headlen(skb));
	return skb->cloned ? fuzz_move(skb, 0) : 0;
}

static inline bool skb_cloned(const struct sk_buff *skb)
{
	return skb->cloned;
}

static inline bool eth_type_vlan(__be16 type)
{
	return type == htons(ETH_P_8021Q) || type == htons(ETH_P_8021AD);
}

/* The protocol after the VLAN tags in the packet, and its offset; 0 if the packet ends before */
static inline __be16 fuzz_behind_tags(const struct sk_buff *skb, unsigned int *at)
{
	__be16 type = skb->protocol, tag[2];
	int i;

	*at = skb->mac_len ? skb->mac_len - VLAN_HLEN : ETH_HLEN;
	for (i = 0; eth_type_vlan(type); i++) {
		if (i == VLAN_MAX_DEPTH ||
		    skb_copy_bits(skb, *at, tag, sizeof(tag)))
			return 0;
		type = tag[1];
		*at += VLAN_HLEN;
	}
	return type;
}

static inline __be16 skb_protocol(const struct sk_buff *skb, bool skip_vlan)
{
	unsigned int at;

	if (!skip_vlan)
		abort();
	return fuzz_behind_tags(skb, &at);
}

#endif /* _FUZZ_LINUX_SKBUFF_H */
