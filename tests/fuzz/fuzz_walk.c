// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes sched/sch_header.c: packets of any bytes, in up to three parts, with or without memory for
 * allocations, cloned or not.
 *
 * The header that is found is compared with the results of a second walk in this file, over the
 * packet in one piece, and of tcpcc_fb_parse().  tcpcc_header_arrive() must agree with it for each
 * protocol.  In a changed packet only the word and the checksum may differ, or only the two bits
 * and the checksum.  The checksums are computed again: a right one must stay right, a wrong one
 * wrong.
 */

#include "fuzz.h"
#include "sch_header.h"
#include <net/inet_ecn.h>

#define PACKET_MAX	256

/* Number of extension headers that a router must be able to skip; it may skip more. */
#define EXTENSIONS	4

/* The first bytes of an input; the rest is the packet, from skb->data on */
struct input {
	u8 protocol;	/* enum */
	u8 network;	/* offset of the network header; from 64 on it is before the packet */
	u8 linear;	/* bytes of the linear part */
	u8 second;	/* bytes of the second part */
	u8 flags;	/* SUMMED... */
	u8 memory;	/* allocations that succeed */
	u8 ecn;
	u8 room;	/* bytes before the packet */
	u64 rate;
};

#define SUMMED		3
#define CLONED		BIT(2)
#define CONGESTED	BIT(3)
#define MAC_LEN		BIT(4)
#define MEND		BIT(5)	/* correct lengths and checksums first */

struct packet {
	u8 at[PACKET_MAX];
	unsigned int len;
};

/* Result of the walk in this file */
struct walk {
	unsigned int network;
	unsigned int tcp;	/* 0: the packet is not TCP */
	unsigned int end;
	bool sure;		/* the TCP header must be found */
	__be16 type;
};

static u32 be16_at(const struct packet *p, unsigned int at)
{
	return p->at[at] * 256 + p->at[at + 1];
}

static void walk_v4(const struct packet *p, struct walk *w)
{
	const u8 *ip = p->at + w->network;
	unsigned int left = p->len - w->network;
	unsigned int header, total;

	if (left < 20 || ip[0] < 0x45 || ip[0] > 0x4f)
		return;
	header = (ip[0] - 0x40) * 4;
	total = be16_at(p, w->network + 2);
	if (ip[9] != 6 || be16_at(p, w->network + 6) % 0x4000 ||
	    total < header || total > left)
		return;
	w->tcp = w->network + header;
	w->end = w->network + total;
	w->sure = true;
}

/*
 * Fragments and packets with an authentication header must not be found, because their checksums
 * could not be corrected.  A whole packet with a fragment header (an atomic fragment) may be found
 * or not.
 */
static void walk_v6(const struct packet *p, struct walk *w)
{
	unsigned int at = w->network + 40, extensions = 0, end;
	bool atomic = false;
	u8 next;

	if (p->len - w->network < 40 || p->at[w->network] >> 4 != 6)
		return;
	end = at + be16_at(p, w->network + 4);
	if (end > p->len)
		return;
	for (next = p->at[w->network + 6]; next != 6; extensions++) {
		if (at + 4 > p->len)
			return;
		switch (next) {
		case 0: case 43: case 60:
			next = p->at[at];
			at += p->at[at + 1] * 8 + 8;
			break;
		case 44:
			if (be16_at(p, at + 2))
				return;
			atomic = true;
			next = p->at[at];
			at += 8;
			break;
		default:
			return;
		}
	}
	if (at > end)
		return;
	w->tcp = at;
	w->end = end;
	w->sure = !atomic && extensions <= EXTENSIONS;
}

static void walk(const struct packet *p, int network, __be16 type,
		 struct walk *w)
{
	memset(w, 0, sizeof(*w));
	w->type = type;
	if (network < 0 || network > (int)p->len)
		return;
	w->network = network;
	if (type == htons(ETH_P_IP))
		walk_v4(p, w);
	else if (type == htons(ETH_P_IPV6))
		walk_v6(p, w);
}

/* Checksums, always computed over all bytes ---------------------------------- */

static u64 sum_of(const u8 *at, unsigned int len)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < len; i++)
		sum += i % 2 ? at[i] : at[i] << 8;
	return sum;
}

/* In one's complement arithmetic 0 and 0xffff are equal. */
static u32 tcp_sum(const struct packet *p, const struct walk *w)
{
	const u8 *ip = p->at + w->network;
	unsigned int len = w->end - w->tcp;
	u64 sum = 6 + len + sum_of(p->at + w->tcp, len);

	if (w->type == htons(ETH_P_IP))
		sum += sum_of(ip + 12, 8);
	else
		sum += sum_of(ip + 8, 32);
	return sum % 0xffff;
}

static u32 packet_sum(const struct packet *p)
{
	return sum_of(p->at, p->len) % 0xffff;
}

static u32 csum_of(const struct sk_buff *skb)
{
	/* csum is in memory byte order */
	return ntohs((__be16)(skb->csum % 0xffff)) % 0xffff;
}

static void put_sum(u8 *at, u64 sum)
{
	at[0] = 0;
	at[1] = 0;
	put_unaligned_be16(0xffff - sum % 0xffff, at);
}

static void mend(struct packet *p, int network, __be16 type)
{
	unsigned int left = p->len - network, header;
	struct walk w;
	u8 *ip;

	if (network < 0 || p->len < (unsigned int)network + 40)
		return;
	ip = p->at + network;
	if (type == htons(ETH_P_IP)) {
		header = (ip[0] & 15) * 4;
		if (header < 20 || header > left)
			return;
		ip[0] = 0x40 | (ip[0] & 15);
		ip[6] = 0;
		ip[7] = 0;
		ip[9] = 6;
		put_unaligned_be16(left, ip + 2);
		put_unaligned_be16(0, ip + 10);
		put_sum(ip + 10, sum_of(ip, header));
	} else if (type == htons(ETH_P_IPV6)) {
		ip[0] = 0x60 | (ip[0] & 15);
		put_unaligned_be16(left - 40, ip + 4);
	}
	walk(p, network, type, &w);
	if (!w.tcp || w.end - w.tcp < 20)
		return;
	put_unaligned_be16(0, p->at + w.tcp + 16);
	put_unaligned_be16(0xffff - tcp_sum(p, &w), p->at + w.tcp + 16);
}

/* Packets ------------------------------------------------------------------- */

static void whole(const struct sk_buff *skb, struct packet *p)
{
	p->len = skb->len;
	CHECK(!skb_copy_bits(skb, 0, p->at, skb->len));
}

static void make(struct sk_buff *skb, const struct packet *p,
		 const struct input *in)
{
	static const u16 protocols[] = {
		ETH_P_IP, ETH_P_IPV6, ETH_P_8021Q, ETH_P_8021AD, ETH_P_ARP,
	};
	unsigned int linear = min_t(unsigned int, in->linear, p->len);
	unsigned int second = min_t(unsigned int, in->second, p->len - linear);
	unsigned int third = p->len - linear - second;

	memset(skb, 0, sizeof(*skb));
	skb->len = p->len;
	skb->data_len = second + third;
	skb->head = malloc(in->room + linear);
	memset(skb->head, 0xa5, in->room);
	skb->data = skb->head + in->room;
	memcpy(skb->data, p->at, linear);
	skb->frags[0].at = alone(p->at + linear, second);
	skb->frags[0].len = second;
	skb->frags[1].at = alone(p->at + linear + second, third);
	skb->frags[1].len = third;
	skb->network_header = in->network < 64 ? in->room + in->network :
			      in->room - min(in->network - 63, in->room);
	skb->protocol = htons(protocols[in->protocol % ARRAY_SIZE(protocols)]);
	if (in->flags & MAC_LEN && in->network >= ETH_HLEN + VLAN_HLEN && in->network < 64)
		skb->mac_len = in->network;
	skb->ip_summed = in->flags & SUMMED;
	/* a sum over the packet is one of 16-bit units, so headers must be at even offsets */
	if (skb->ip_summed == CHECKSUM_COMPLETE && skb->network_header % 2 != in->room % 2)
		skb->ip_summed = CHECKSUM_NONE;
	if (skb->ip_summed == CHECKSUM_COMPLETE)
		skb->csum = htons(packet_sum(p));
	skb->memory = in->memory;
}

/* Equal, except @n bytes from @one on, and two bytes from @two on if @two is not 0 */
static bool same_but(const struct packet *a, const struct packet *b,
		     unsigned int one, unsigned int n, unsigned int two)
{
	unsigned int i;

	if (a->len != b->len)
		return false;
	for (i = 0; i < a->len; i++)
		if (a->at[i] != b->at[i] && i - one >= n &&
		    (!two || i - two >= 2))
			return false;
	return true;
}

/* Checks the result of tcpcc_header_find(), and returns it */
static int check_find(struct sk_buff *skb, const struct packet *p,
		      const struct walk *w, struct tcpcc_fb_header *h)
{
	const struct tcpcc_place *place = tcpcc_place(skb);
	struct tcpcc_fb_header want = {};
	int found = tcpcc_header_find(skb, h), parsed;
	unsigned int len;
	struct packet now;
	u8 *th;

	whole(skb, &now);
	CHECK(same_but(p, &now, 0, 0, 0));
	if (found != 1 || !h->has_word)
		CHECK(!place->tcp && !place->word);
	if (!w->sure && !found)
		return 0;
	if (!w->tcp || w->end - w->tcp < TCPCC_TCP_HEADER) {
		CHECK(!found);
		return 0;
	}
	len = (p->at[w->tcp + 12] >> 4) * 4;
	if (len < TCPCC_TCP_HEADER || len > w->end - w->tcp) {
		CHECK(found == -EBADMSG);
		return found;
	}
	th = alone(p->at + w->tcp, len);
	parsed = tcpcc_fb_parse(th, len, &want);
	free(th);
	if (parsed == 1 && want.has_word && want.word >> 30)
		parsed = -EBADMSG;
	CHECK(found == parsed);
	if (found != 1)
		return found;
	CHECK(h->has_word == want.has_word && h->has_echo == want.has_echo);
	CHECK(!h->has_echo || h->echo == want.echo);
	if (!h->has_word)
		return found;
	CHECK(h->offset == want.offset && h->protocol == want.protocol &&
	      h->info == want.info && h->word == want.word);
	CHECK(place->tcp == w->tcp - w->network);
	CHECK(place->word == place->tcp + h->offset + 8);
	return found;
}

/* For each protocol: exactly one counter is incremented, and only a word of it has a place. */
static void check_arrive(struct sk_buff *skb, const struct packet *p, const struct walk *w,
			 int found, const struct tcpcc_fb_header *h)
{
	const struct tcpcc_place was = *tcpcc_place(skb), *place = tcpcc_place(skb);
	bool word = found == 1 && h->has_word;
	unsigned int protocol;
	struct packet now;

	for (protocol = TCPCC_FB_ACP; protocol <= TCPCC_FB_RCP; protocol++) {
		bool ours = word && p->at[w->network + was.word - 4] >> 4 == protocol;
		struct tcpcc_arrivals count = {};
		u32 info = 77;

		CHECK(tcpcc_header_arrive(skb, protocol, &count, &info) == ours);
		CHECK(count.headers == ours);
		CHECK(count.echoes == (found == 1 && !word));
		CHECK(count.malformed == (found < 0));
		CHECK(count.headers + count.echoes + count.plain + count.malformed == 1);
		CHECK(place->word == (ours ? was.word : 0));
		CHECK(info == (ours ? h->info : 77));
		whole(skb, &now);
		CHECK(same_but(p, &now, 0, 0, 0));
	}
	*tcpcc_place(skb) = was;
}

static void check_change(struct sk_buff *skb, const struct packet *p,
			 const struct walk *w, const struct input *in)
{
	const struct tcpcc_place place = *tcpcc_place(skb);
	unsigned int at = w->network + place.word;
	u32 old = tcpcc_header_word(skb, &place);
	u32 new = tcpcc_fb_limit(old, in->rate, in->flags & CONGESTED);
	unsigned int check = w->tcp + 16;
	struct packet now, then;
	int err;

	CHECK(at + 4 <= w->end && get_unaligned_be32(p->at + at) == old);
	err = tcpcc_header_change(skb, &place, tcpcc_header_at(skb, &place), old, new);
	whole(skb, &now);
	if (err) {
		CHECK(err == -ENOMEM && !skb->memory);
		CHECK(same_but(p, &now, 0, 0, 0));
		return;
	}
	CHECK(get_unaligned_be32(now.at + at) == new);
	CHECK(tcpcc_header_word(skb, &place) == new);
	if (skb->ip_summed == CHECKSUM_PARTIAL) {
		CHECK(same_but(p, &now, at, 4, 0));
		return;
	}
	CHECK(same_but(p, &now, at, 4, check));
	CHECK(tcp_sum(&now, w) == tcp_sum(p, w));
	if (skb->ip_summed == CHECKSUM_COMPLETE)
		CHECK(packet_sum(&now) == csum_of(skb));
	/* change it back */
	CHECK(!tcpcc_header_change(skb, &place, tcpcc_header_at(skb, &place), new, old));
	whole(skb, &then);
	CHECK(same_but(p, &then, 0, 0, check));
	CHECK(be16_at(&then, check) % 0xffff == be16_at(p, check) % 0xffff);
}

/* For a whole TCP segment directly after the IP header the bits must be returned, else they may. */
static void check_dsfield(struct sk_buff *skb, const struct walk *w, int network,
			  const struct input *in)
{
	int dsfield = tcpcc_header_dsfield(skb);
	bool v4 = w->type == htons(ETH_P_IP);
	unsigned int header = v4 ? 20 : 40;
	struct packet before, now;
	u8 ecn = in->ecn & 3;
	int err;

	if (dsfield < 0) {
		CHECK(!w->sure || (!v4 && w->tcp != w->network + 40));
		return;
	}
	whole(skb, &before);
	CHECK(network >= 0 && network + 2 <= (int)skb->len);
	CHECK(v4 || w->type == htons(ETH_P_IPV6));
	CHECK(dsfield == (v4 ? before.at[network + 1] :
			  (int)(be16_at(&before, network) >> 4 & 0xff)));
	err = tcpcc_header_set_ecn(skb, ecn);
	whole(skb, &now);
	if (err) {
		CHECK(err == -ENOMEM);
		CHECK(!skb->memory || network + header > skb->len);
		CHECK(same_but(&before, &now, 0, 0, 0));
		return;
	}
	CHECK(tcpcc_header_dsfield(skb) == (dsfield & ~3) + ecn);
	CHECK(same_but(&before, &now, network + 1, 1, v4 ? network + 10 : 0));
	if (v4)
		CHECK(sum_of(now.at + network, header) % 0xffff ==
		      sum_of(before.at + network, header) % 0xffff);
	else
		CHECK(!((before.at[network + 1] ^ now.at[network + 1]) & 0xcf));
	if (skb->ip_summed == CHECKSUM_COMPLETE)
		CHECK(packet_sum(&now) == csum_of(skb));
}

static void drop(struct sk_buff *skb)
{
	free(skb->head);
	free(skb->frags[0].at);
	free(skb->frags[1].at);
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	struct tcpcc_fb_header h;
	u8 *others = NULL, *copy;
	struct packet p;
	unsigned int head, link;
	struct sk_buff skb;
	struct input in;
	struct walk w;
	__be16 type;
	int network, found;

	if (size < sizeof(in) || size - sizeof(in) > PACKET_MAX)
		return 0;
	memcpy(&in, data, sizeof(in));
	p.len = size - sizeof(in);
	memcpy(p.at, data + sizeof(in), p.len);

	make(&skb, &p, &in);
	network = skb_network_offset(&skb);
	type = fuzz_behind_tags(&skb, &link);
	if (eth_type_vlan(skb.protocol) && (int)link > network) {
		/* VLAN tags that overlap the network header */
		drop(&skb);
		return 0;
	}
	if (in.flags & MEND) {
		drop(&skb);
		mend(&p, network, type);
		make(&skb, &p, &in);
	}
	head = in.room + skb_headlen(&skb);
	if (in.flags & CLONED) {
		others = skb.head;
		copy = alone(others, head);
		skb.cloned = true;
	}

	walk(&p, network, type, &w);
	found = check_find(&skb, &p, &w, &h);
	check_arrive(&skb, &p, &w, found, &h);
	if (found == 1 && h.has_word)
		check_change(&skb, &p, &w, &in);
	check_dsfield(&skb, &w, network, &in);

	if (others) {
		CHECK(!memcmp(others, copy, head));
		free(copy);
		if (others != skb.head)
			free(others);
	}
	drop(&skb);
	return 0;
}
