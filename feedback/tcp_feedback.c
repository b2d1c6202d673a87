// SPDX-License-Identifier: GPL-2.0
/*
 * Carriage of explicit feedback: puts a congestion header on the segments of a
 * flow, returns what routers made of it with the receiver's ACKs, and hands that
 * to the sender's congestion control.  No kernel is patched, and what the numbers
 * mean is not known here: ACP, XCP and RCP use it alike, and ESTCP with two bits of
 * the IP header instead of a header of its own.
 *
 *      sender                      routers                     receiver
 *   TCP                                                                TCP
 *    | LOCAL_OUT: insert H_rtt, word   change the     LOCAL_IN: keep the |
 *    | ------------------------------>   word   ----> word              |
 *    | LOCAL_IN: hand over the echo                   LOCAL_OUT: insert  |
 *    | <---------------------------------------------- the word as echo |
 *
 * include/tcpcc_feedback.h documents the header byte by byte.
 *
 * Where it sits.  Netfilter hooks next to TCP: the first at LOCAL_OUT, the last at
 * LOCAL_IN, so that addresses and ports are those of the socket whatever NAT does.
 * They are in every network namespace from load on, since a receiver has nobody to
 * ask for them: the first thing that it sees of a flow is a header.
 *
 * What it costs others.  A segment that arrives is none of ours if the byte after
 * its TCP header is not 253.  One that leaves is not looked at while its namespace
 * has no flow.  That is a load and a compare: a static branch could not be flipped
 * from the softirq in which a receiver's first flow appears.  While there are
 * flows, one that leaves is looked up in their table.
 *
 * Flows.  One entry for each local end, in a table of our own, found by namespace,
 * addresses and ports.  A sender's is made by tcpcc_feedback_attach() and lives
 * until tcpcc_feedback_detach().  A receiver's is made by the first header that
 * arrives, is one of at most "receivers" in a namespace, and is forgotten after
 * ten seconds without a header; the next header makes it again, and nothing is
 * lost.  Segments that belong to no established socket may not fill more than half
 * of the room, and only those with a right checksum count at all.
 *
 * Echoes.  Each word is echoed once, with the next segment that the receiver sends;
 * words that arrive between two of these become one by the protocol's rule.  So
 * where headers cease, echoes cease, and the sender knows.  A sender takes an echo
 * from an ACK that it could expect, and never one that is older than what it has.
 *
 * ACKs.  A receiver acknowledges segments with headers at once, in the way of
 * TCP_QUICKACK: the papers' receivers answer each packet.  A sender with a window
 * of one or two would have to wait for every delayed ACK, and take it for a longer
 * path; what it learns of the network would be as old.  A receiver that sends data
 * of its own is left to delay ACKs to it, and so is one whose socket early
 * demultiplexing does not find (net.ipv4.ip_early_demux).
 *
 * Room.  A sender's segments are made smaller by what the option needs, in the way
 * of IP options (icsk_ext_hdr_len).  Where the option would make a packet larger
 * than the path's MTU all the same, or the options longer than 40 bytes, see
 * tcpcc_fb_insert(), it is left out and counted.  The segments of a receiver that
 * is no such sender have no reserve: full ones go without an echo.
 *
 * Codepoints.  ESTCP's segments with data are of a class, a DSCP, in which the ECN
 * bits are its routers' (include/tcpcc_estcp.h).  A sender's go out with 00 in them.
 * The codepoint of the last one that came is returned once, with the receiver's next
 * ACK without data, which then is of the class too; so what GRO has merged, of one
 * codepoint, has one ACK for it.  An echo says nothing of how much it stands for:
 * whoever takes it knows what the ACK has acknowledged.  All that is said above of
 * headers holds for the class: flows, limits, checksums, ACKs at once, counters.
 * There is no option, so segments are not made smaller.  For everybody else it is
 * one comparison of a byte of the IP header.
 *   o Where both ends send data, each segment with data carries its own direction's
 *     codepoint, and only ACKs without data return one.  There are fewer of these,
 *     and there may be none: the sender is without feedback then.
 *   o A segment of the class belongs to TCP's ECN if the connection has negotiated
 *     that (RFC 3168): it is left alone, in and out.  So are SYN and RST.
 *   o A DSCP that the application has chosen gives way on segments with data, since
 *     routers know the class by it; it stays on all others.
 *
 * /proc/net/tcpcc_feedback has the counters of the namespace.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/proc_fs.h>
#include <linux/rhashtable.h>
#include <linux/seq_file.h>
#include <linux/workqueue.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

#include "tcpcc_estcp.h"
#include "tcpcc_feedback.h"
#include "tcpcc_param.h"

/* After this without a header a receiver's entry is forgotten */
#define FEEDBACK_EXPIRY		(10 * HZ)

/* What a sender's segments are smaller: the longest option */
#define FEEDBACK_RESERVE	TCPCC_FB_LEN_BOTH

/* Segments that are acknowledged at once after one that has a header */
#define FEEDBACK_QUICK		16

/* In tcpcc_feedback.codepoint: one waits to be returned */
#define FEEDBACK_CODEPOINT	0x80

TCPCC_PARAM(receivers, 16384, 1, 1048576,
	    "Flows of other hosts that a network namespace may remember");

/* Counters, in the order of feedback_names[] */
enum feedback_counter {
	FB_OUT_DATA,
	FB_OUT_ECHOES,
	FB_IN_DATA,
	FB_IN_ECHOES,
	FB_OUT_NO_ROOM,
	FB_OUT_SACK_DROPPED,
	FB_OUT_ECHO_DELAYED,
	FB_OUT_TOO_BIG,
	FB_OUT_SIGNED,
	FB_OUT_NO_MEMORY,
	FB_IN_MALFORMED,
	FB_IN_UNKNOWN,
	FB_IN_BAD_CHECKSUM,
	FB_IN_UNEXPECTED,
	FB_IN_TABLE_FULL,
	FB_ATTACH_FAILED,
	FB_COUNTERS
};

static const char * const feedback_names[FB_COUNTERS] = {
	[FB_OUT_DATA]		= "OutData",	/* segments, GSO counts as one */
	[FB_OUT_ECHOES]		= "OutEchoes",
	[FB_IN_DATA]		= "InData",
	[FB_IN_ECHOES]		= "InEchoes",
	[FB_OUT_NO_ROOM]	= "OutNoRoom",	/* 40 bytes are not enough */
	[FB_OUT_SACK_DROPPED]	= "OutSackDropped",	/* blocks */
	[FB_OUT_ECHO_DELAYED]	= "OutEchoDelayed",
	[FB_OUT_TOO_BIG]	= "OutTooBig",	/* for the MTU */
	[FB_OUT_SIGNED]		= "OutSigned",
	[FB_OUT_NO_MEMORY]	= "OutNoMemory",
	[FB_IN_MALFORMED]	= "InMalformed",
	[FB_IN_UNKNOWN]		= "InUnknown",	/* protocol or version */
	[FB_IN_BAD_CHECKSUM]	= "InBadChecksum",
	[FB_IN_UNEXPECTED]	= "InUnexpected",	/* echoes nobody waits for */
	[FB_IN_TABLE_FULL]	= "InTableFull",
	[FB_ATTACH_FAILED]	= "AttachFailed",
};

struct feedback_counters {
	u64 value[FB_COUNTERS];
};

/**
 * struct feedback_net - a network namespace
 * @counters: per CPU
 * @flows: entries of the table that are its own
 * @receivers: those that headers from outside have made
 */
struct feedback_net {
	struct feedback_counters __percpu *counters;
	atomic_t flows;
	atomic_t receivers;
};

/* IPv4 addresses are mapped into IPv6 ones; nothing between is left unset */
struct feedback_key {
	const struct net *net;
	struct in6_addr local;
	struct in6_addr remote;
	__be16 local_port;
	__be16 remote_port;
	u32 zero;
};

/**
 * struct tcpcc_feedback - one end of a flow
 * @node: in feedback_table
 * @key: how it is found
 * @taken: echoes to hand over: their number << 32 | the word
 * @pending: word to echo: 1 << 32 | the word; 0: none
 * @rtt_us: H_rtt to send, us
 * @request: word to send
 * @acked: what the segment acknowledged that brought the newest echo
 * @sent: up to where this end has sent
 * @protocol: enum tcpcc_fb_protocol of this end, if it is a sender
 * @sender: made by tcpcc_feedback_attach()
 * @found: is in the table
 * @reserved: what icsk_ext_hdr_len has grown by, bytes
 * @codepoint: to return: FEEDBACK_CODEPOINT | the ECN bits; 0: none
 * @seen: when the last header came, jiffies
 * @rcu: for freeing
 */
struct tcpcc_feedback {
	struct rhash_head node;
	struct feedback_key key;
	atomic64_t taken;
	atomic64_t pending;
	u32 rtt_us;
	u32 request;
	u32 acked;
	u32 sent;
	u8 protocol;
	bool sender;
	bool found;
	u8 reserved;
	u32 codepoint;
	unsigned long seen;
	struct rcu_head rcu;
};

static const struct rhashtable_params feedback_params = {
	.head_offset = offsetof(struct tcpcc_feedback, node),
	.key_offset = offsetof(struct tcpcc_feedback, key),
	.key_len = sizeof(struct feedback_key),
	.automatic_shrinking = true,
};

static struct rhashtable feedback_table;
static DEFINE_SPINLOCK(feedback_lock);	/* who is in the table; not to look */
static unsigned int feedback_net_id;

static void feedback_forget(struct work_struct *work);
static DECLARE_DELAYED_WORK(feedback_work, feedback_forget);

static struct feedback_net *feedback_of(const struct net *net)
{
	return net_generic(net, feedback_net_id);
}

static void feedback_count(const struct feedback_net *fn,
			   enum feedback_counter what, u32 n)
{
	this_cpu_add(fn->counters->value[what], n);
}

/* ------------------------------------------------------------------------- */
/* The table                                                                 */

/* Call with feedback_lock held. */
static int feedback_link(struct feedback_net *fn, struct tcpcc_feedback *fb)
{
	int err = rhashtable_insert_fast(&feedback_table, &fb->node,
					 feedback_params);

	if (err)
		return err;
	fb->found = true;
	atomic_inc(&fn->flows);
	if (!fb->sender)
		atomic_inc(&fn->receivers);
	return 0;
}

/* Call with feedback_lock held. */
static void feedback_unlink(struct tcpcc_feedback *fb)
{
	struct feedback_net *fn = feedback_of(fb->key.net);

	rhashtable_remove_fast(&feedback_table, &fb->node, feedback_params);
	fb->found = false;
	atomic_dec(&fn->flows);
	if (fb->sender)
		return;
	atomic_dec(&fn->receivers);
	kfree_rcu(fb, rcu);
}

/*
 * Walk over all entries: receivers' that have expired go, and with @net all that
 * are in it.  The table may be changed and resized meanwhile; what is missed then
 * is for the next walk.
 *
 * Return: whether a receiver's is left
 */
static bool feedback_sweep(const struct net *net)
{
	struct rhashtable_iter iter;
	struct tcpcc_feedback *fb;
	bool left = false;

	rhashtable_walk_enter(&feedback_table, &iter);
	rhashtable_walk_start(&iter);
	while ((fb = rhashtable_walk_next(&iter))) {
		if (IS_ERR(fb)) {
			left = true;
			continue;
		}
		if (net ? fb->key.net != net :
			  fb->sender || time_before(jiffies, READ_ONCE(fb->seen) +
						    FEEDBACK_EXPIRY)) {
			left |= !fb->sender;
			continue;
		}
		spin_lock_bh(&feedback_lock);
		if (fb->found)
			feedback_unlink(fb);
		spin_unlock_bh(&feedback_lock);
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
	return left;
}

static void feedback_forget(struct work_struct *work)
{
	if (feedback_sweep(NULL))
		schedule_delayed_work(&feedback_work, FEEDBACK_EXPIRY / 2);
}

/*
 * The first header of a flow that we receive.  @known: a socket waits for it, as
 * early demultiplexing has found.
 */
static struct tcpcc_feedback *feedback_receiver(struct feedback_net *fn,
						const struct feedback_key *key,
						bool known)
{
	unsigned int most = READ_ONCE(receivers);
	struct tcpcc_feedback *fb;
	int err;

	if (atomic_read(&fn->receivers) >= (known ? most : (most + 1) / 2)) {
		feedback_count(fn, FB_IN_TABLE_FULL, 1);
		return NULL;
	}
	fb = kzalloc(sizeof(*fb), GFP_ATOMIC | __GFP_NOWARN);
	if (!fb) {
		feedback_count(fn, FB_IN_TABLE_FULL, 1);
		return NULL;
	}
	fb->key = *key;
	fb->seen = jiffies;
	spin_lock_bh(&feedback_lock);
	err = feedback_link(fn, fb);
	spin_unlock_bh(&feedback_lock);
	if (err) {
		/* another CPU was faster; its entry will do next time */
		kfree(fb);
		return NULL;
	}
	schedule_delayed_work(&feedback_work, FEEDBACK_EXPIRY);
	return fb;
}

/* ------------------------------------------------------------------------- */
/* Segments                                                                  */

/**
 * struct feedback_segment - what a hook knows of a segment
 * @net: the network namespace
 * @fn: ours of it
 * @family: NFPROTO_IPV4 or NFPROTO_IPV6
 * @offset: of the TCP header from the start of the IP header, bytes
 * @dsfield: DSCP and ECN bits as they came
 */
struct feedback_segment {
	const struct net *net;
	struct feedback_net *fn;
	u8 family;
	u8 offset;
	u8 dsfield;
};

static void feedback_set_key(struct feedback_key *key,
			     const struct feedback_segment *s,
			     const struct sk_buff *skb,
			     const struct tcphdr *th, bool out)
{
	struct in6_addr *from = out ? &key->local : &key->remote;
	struct in6_addr *to = out ? &key->remote : &key->local;

	key->net = s->net;
	key->zero = 0;
	if (s->family == NFPROTO_IPV4) {
		ipv6_addr_set_v4mapped(ip_hdr(skb)->saddr, from);
		ipv6_addr_set_v4mapped(ip_hdr(skb)->daddr, to);
	} else {
		*from = ipv6_hdr(skb)->saddr;
		*to = ipv6_hdr(skb)->daddr;
	}
	key->local_port = out ? th->source : th->dest;
	key->remote_port = out ? th->dest : th->source;
}

/* Of a TCP socket, not of what carries its segments through a tunnel */
static bool feedback_is_socket(const struct sock *sk)
{
	return sk && sk_fullsock(sk) && sk_is_tcp(sk);
}

/* Of ESTCP's class, unless the bits are those of TCP's own ECN. */
static bool feedback_is_class(const struct feedback_segment *s,
			      const struct sock *sk)
{
	return s->dsfield >> 2 == TCPCC_ESTCP_DSCP &&
	       !(feedback_is_socket(sk) && tcpcc_ecn_negotiated(tcp_sk(sk)));
}

/* Its feedback is codepoints, not words. */
static bool feedback_is_estcp(const struct tcpcc_feedback *fb)
{
	return fb->protocol == TCPCC_FB_ESTCP;
}

/* Adds @word to what waits in @box, where the upper half counts. */
static void feedback_put(atomic64_t *box, u8 protocol, u32 word, u32 segs,
			 u64 most)
{
	u64 old = atomic64_read(box), sum;

	do {
		sum = min((old >> 32) + 1, most) << 32 |
		      tcpcc_fb_combine(protocol, (u32)old, word, segs);
	} while (!atomic64_try_cmpxchg(box, (s64 *)&old, sum));
}

/*
 * Has a receiving socket acknowledge the next segments at once.  TCP would lock it
 * next, and so may we.  What is granted lasts for some segments: so the lock is
 * taken for few of them, and it does not matter if the owner has it.
 */
static void feedback_quick(struct sock *sk)
{
	u8 *quick = &inet_csk(sk)->icsk_ack.quick;

	if (READ_ONCE(*quick) > FEEDBACK_QUICK / 2)
		return;
	bh_lock_sock_nested(sk);
	if (!sock_owned_by_user(sk))
		WRITE_ONCE(*quick, FEEDBACK_QUICK);
	bh_unlock_sock(sk);
}

/*
 * A segment has come with something to return.  @fb: the flow's entry, NULL: none.
 *
 * Return: the entry, made if need be; NULL: there is no room for it
 */
static struct tcpcc_feedback *feedback_heard(const struct feedback_segment *s,
					     const struct sk_buff *skb,
					     const struct feedback_key *key,
					     struct tcpcc_feedback *fb)
{
	struct sock *sk = skb->sk;

	if (!fb) {
		fb = feedback_receiver(s->fn, key, sk && sk_fullsock(sk) &&
				       sk->sk_state != TCP_LISTEN);
		if (!fb)
			return NULL;
	}
	feedback_count(s->fn, FB_IN_DATA, 1);
	WRITE_ONCE(fb->seen, jiffies);
	if (feedback_is_socket(sk))
		feedback_quick(sk);
	return fb;
}

static struct tcpcc_feedback *
feedback_take_word(const struct feedback_segment *s, const struct sk_buff *skb,
		   const struct feedback_key *key, struct tcpcc_feedback *fb,
		   const struct tcpcc_fb_header *h)
{
	if (h->protocol < TCPCC_FB_ACP || h->protocol > TCPCC_FB_RCP ||
	    h->word >> TCPCC_FB_VERSION_SHIFT) {
		feedback_count(s->fn, FB_IN_UNKNOWN, 1);
		return fb;
	}
	fb = feedback_heard(s, skb, key, fb);
	if (fb)
		feedback_put(&fb->pending, h->protocol, h->word,
			     max_t(u32, skb_shinfo(skb)->gso_segs, 1), 1);
	return fb;
}

/* @class: it is a codepoint and not the echo of a word */
static void feedback_take_echo(const struct feedback_segment *s,
			       struct tcpcc_feedback *fb, u32 ack, u32 echo,
			       bool class)
{
	if (echo >> TCPCC_FB_VERSION_SHIFT) {
		feedback_count(s->fn, FB_IN_UNKNOWN, 1);
		return;
	}
	if (!fb || !fb->sender || class != feedback_is_estcp(fb) ||
	    before(ack, READ_ONCE(fb->acked)) ||
	    after(ack, READ_ONCE(fb->sent))) {
		feedback_count(s->fn, FB_IN_UNEXPECTED, 1);
		return;
	}
	feedback_count(s->fn, FB_IN_ECHOES, 1);
	WRITE_ONCE(fb->acked, ack);
	feedback_put(&fb->taken, fb->protocol, echo, 1, U32_MAX);
}

/* A segment for this host that is of the class, or whose first option may be ours. */
static void feedback_in(const struct feedback_segment *s, struct sk_buff *skb)
{
	bool class = feedback_is_class(s, skb->sk);
	u8 buffer[TCPCC_TCP_HEADER_MAX] __aligned(4);
	struct tcpcc_fb_header h = {};
	struct tcpcc_feedback *fb;
	struct feedback_key key;
	const struct tcphdr *th;
	unsigned int len;
	int found = 0;
	const u8 *p;

	p = skb_header_pointer(skb, s->offset, TCPCC_TCP_HEADER, buffer);
	if (!p)
		return;
	len = (p[12] >> 4) * 4;
	if (len < TCPCC_TCP_HEADER || (len == TCPCC_TCP_HEADER && !class))
		return;
	p = skb_header_pointer(skb, s->offset, len, buffer);
	if (!p)
		return;
	if (len > TCPCC_TCP_HEADER && p[TCPCC_TCP_HEADER] == TCPCC_FB_KIND)
		found = 1;
	else if (!class)
		return;

	th = (const struct tcphdr *)p;
	if (th->syn || th->rst || !th->ack)
		return;
	if (found)
		found = tcpcc_fb_parse(p, len, &h);
	if (found < 0)
		feedback_count(s->fn, FB_IN_MALFORMED, 1);
	if (found <= 0 && !class)
		return;
	/* TCP would do it next, and will not do it again */
	if (nf_checksum(skb, NF_INET_LOCAL_IN, s->offset, IPPROTO_TCP,
			s->family)) {
		feedback_count(s->fn, FB_IN_BAD_CHECKSUM, 1);
		return;
	}

	feedback_set_key(&key, s, skb, th, false);
	fb = rhashtable_lookup(&feedback_table, &key, feedback_params);
	if (h.has_echo)
		feedback_take_echo(s, fb, ntohl(th->ack_seq), h.echo, false);
	if (h.has_word)
		fb = feedback_take_word(s, skb, &key, fb, &h);
	if (!class)
		return;
	if (skb->len == s->offset + len) {
		feedback_take_echo(s, fb, ntohl(th->ack_seq),
				   s->dsfield & INET_ECN_MASK, true);
		return;
	}
	fb = feedback_heard(s, skb, &key, fb);
	if (fb)
		WRITE_ONCE(fb->codepoint, FEEDBACK_CODEPOINT |
			   (s->dsfield & INET_ECN_MASK));
}

/* Whether @more bytes make this packet, or one that it will become, too big. */
static bool feedback_too_big(const struct sk_buff *skb, int more)
{
	unsigned int mtu = dst_mtu(skb_dst(skb));

	if (more <= 0)
		return false;
	/* the length field of IP, unless it is beyond that already */
	if (skb->len <= IP_MAX_MTU && skb->len + more > IP_MAX_MTU)
		return true;
	if (skb_is_gso(skb))
		return !skb_gso_validate_network_len(skb, mtu - more);
	return skb->len + more > mtu;
}

/* Lengths and checksum as TCP and IP would have written them. */
static void feedback_finish(const struct feedback_segment *s,
			    struct sk_buff *skb)
{
	struct tcphdr *th = tcp_hdr(skb);
	unsigned int len = skb->len - s->offset;

	if (s->family == NFPROTO_IPV4) {
		struct iphdr *iph = ip_hdr(skb);

		iph_set_totlen(iph, skb->len);
		ip_send_check(iph);
		th->check = ~tcp_v4_check(len, iph->saddr, iph->daddr, 0);
	} else {
		struct ipv6hdr *iph = ipv6_hdr(skb);

		iph->payload_len = htons(skb->len - sizeof(*iph));
		th->check = ~tcp_v6_check(len, &iph->saddr, &iph->daddr, 0);
	}
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
}

/* Puts the header @h on a segment of our own. */
static bool feedback_insert(const struct feedback_segment *s,
			    struct sk_buff *skb, struct tcpcc_fb_header *h)
{
	u8 fresh[TCPCC_TCP_HEADER_MAX];
	unsigned int dropped;
	int len, more;

	len = tcpcc_fb_insert(fresh, skb->data + s->offset,
			      skb_headlen(skb) - s->offset, h, &dropped);
	if (len < 0) {
		feedback_count(s->fn, len == -EPERM ? FB_OUT_SIGNED :
			       FB_OUT_NO_ROOM, 1);
		return false;
	}
	more = len - tcp_hdrlen(skb);
	if (feedback_too_big(skb, more)) {
		feedback_count(s->fn, FB_OUT_TOO_BIG, 1);
		return false;
	}
	/* TCP leaves headroom enough for this to be a comparison */
	if (skb_cow_head(skb, max(more, 0))) {
		feedback_count(s->fn, FB_OUT_NO_MEMORY, 1);
		return false;
	}
	if (more > 0) {
		skb_push(skb, more);
		memmove(skb->data, skb->data + more, s->offset);
	} else if (more < 0) {
		memmove(skb->data - more, skb->data, s->offset);
		__skb_pull(skb, -more);
	}
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, s->offset);
	memcpy(skb_transport_header(skb), fresh, len);
	feedback_finish(s, skb);
	if (dropped)
		feedback_count(s->fn, FB_OUT_SACK_DROPPED, dropped);
	return true;
}

/* Makes a segment of our own one of ESTCP's class. */
static bool feedback_classify(const struct feedback_segment *s,
			      struct sk_buff *skb, u8 codepoint)
{
	u8 dsfield = TCPCC_ESTCP_DSCP << 2 | codepoint;

	if (skb_cow_head(skb, 0)) {
		feedback_count(s->fn, FB_OUT_NO_MEMORY, 1);
		return false;
	}
	if (s->family == NFPROTO_IPV4)
		ipv4_change_dsfield(ip_hdr(skb), 0, dsfield);
	else
		ipv6_change_dsfield(ipv6_hdr(skb), 0, dsfield);
	return true;
}

/*
 * Codepoints: ours with data, the other's with an ACK without.  @sk: whose segment
 */
static void feedback_out_class(const struct feedback_segment *s,
			       const struct sock *sk, struct sk_buff *skb,
			       struct tcpcc_feedback *fb, bool data)
{
	u32 codepoint;

	if (tcpcc_ecn_negotiated(tcp_sk(sk)))
		return;
	if (data) {
		if (fb->sender && feedback_is_estcp(fb) &&
		    feedback_classify(s, skb, 0))
			feedback_count(s->fn, FB_OUT_DATA, 1);
		return;
	}
	if (!READ_ONCE(fb->codepoint))
		return;
	codepoint = xchg(&fb->codepoint, 0);
	if (codepoint && feedback_classify(s, skb, codepoint & INET_ECN_MASK))
		feedback_count(s->fn, FB_OUT_ECHOES, 1);
}

/* A segment of an established socket of this host. */
static void feedback_out(const struct feedback_segment *s,
			 const struct sock *sk, struct sk_buff *skb)
{
	struct tcpcc_fb_header h = {};
	struct tcpcc_feedback *fb;
	struct feedback_key key;
	const struct tcphdr *th;
	unsigned int size;
	u64 pending;
	u32 end;

	if (skb_headlen(skb) < s->offset + sizeof(*th) ||
	    skb_transport_offset(skb) != s->offset ||
	    skb->ip_summed != CHECKSUM_PARTIAL)
		return;
	th = tcp_hdr(skb);
	if (th->syn || th->rst ||
	    skb_headlen(skb) < s->offset + __tcp_hdrlen(th))
		return;
	feedback_set_key(&key, s, skb, th, true);
	fb = rhashtable_lookup(&feedback_table, &key, feedback_params);
	if (!fb)
		return;

	size = skb->len - s->offset - __tcp_hdrlen(th);
	end = ntohl(th->seq) + size + th->fin;
	if (fb->sender && after(end, fb->sent))
		WRITE_ONCE(fb->sent, end);

	feedback_out_class(s, sk, skb, fb, size);

	if (fb->sender && !feedback_is_estcp(fb) && size) {
		h.has_word = true;
		h.protocol = fb->protocol;
		h.rtt_us = READ_ONCE(fb->rtt_us);
		h.word = READ_ONCE(fb->request);
	}
	pending = atomic64_read(&fb->pending);
	if (pending)
		pending = atomic64_xchg(&fb->pending, 0);
	h.has_echo = pending;
	h.echo = pending;
	if (!h.has_word && !h.has_echo)
		return;

	if (feedback_insert(s, skb, &h)) {
		if (h.has_word)
			feedback_count(s->fn, FB_OUT_DATA, 1);
		if (h.has_echo) {
			feedback_count(s->fn, FB_OUT_ECHOES, 1);
			return;
		}
	}
	if (pending) {
		/* with the next segment, unless there is something newer */
		feedback_count(s->fn, FB_OUT_ECHO_DELAYED, 1);
		atomic64_cmpxchg(&fb->pending, 0, pending);
	}
}

static unsigned int feedback_in_v4(void *priv, struct sk_buff *skb,
				   const struct nf_hook_state *state)
{
	if (ip_hdr(skb)->protocol == IPPROTO_TCP) {
		const struct feedback_segment s = {
			.net = state->net,
			.fn = feedback_of(state->net),
			.family = NFPROTO_IPV4,
			.offset = ip_hdrlen(skb),
			.dsfield = ipv4_get_dsfield(ip_hdr(skb)),
		};

		feedback_in(&s, skb);
	}
	return NF_ACCEPT;
}

static unsigned int feedback_in_v6(void *priv, struct sk_buff *skb,
				   const struct nf_hook_state *state)
{
	if (ipv6_hdr(skb)->nexthdr == IPPROTO_TCP) {
		const struct feedback_segment s = {
			.net = state->net,
			.fn = feedback_of(state->net),
			.family = NFPROTO_IPV6,
			.offset = sizeof(struct ipv6hdr),
			.dsfield = ipv6_get_dsfield(ipv6_hdr(skb)),
		};

		feedback_in(&s, skb);
	}
	return NF_ACCEPT;
}

static unsigned int feedback_out_v4(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	const struct feedback_segment s = {
		.net = state->net,
		.fn = feedback_of(state->net),
		.family = NFPROTO_IPV4,
		.offset = ip_hdrlen(skb),
	};

	if (atomic_read(&s.fn->flows) &&
	    ip_hdr(skb)->protocol == IPPROTO_TCP &&
	    feedback_is_socket(state->sk))
		feedback_out(&s, state->sk, skb);
	return NF_ACCEPT;
}

static unsigned int feedback_out_v6(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	const struct feedback_segment s = {
		.net = state->net,
		.fn = feedback_of(state->net),
		.family = NFPROTO_IPV6,
		.offset = sizeof(struct ipv6hdr),
	};

	if (atomic_read(&s.fn->flows) &&
	    ipv6_hdr(skb)->nexthdr == IPPROTO_TCP &&
	    feedback_is_socket(state->sk))
		feedback_out(&s, state->sk, skb);
	return NF_ACCEPT;
}

static const struct nf_hook_ops feedback_hooks[] = {
	{
		.hook		= feedback_out_v4,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP_PRI_FIRST,
	}, {
		.hook		= feedback_in_v4,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= NF_IP_PRI_LAST,
	},
#if IS_ENABLED(CONFIG_IPV6)
	{
		.hook		= feedback_out_v6,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP6_PRI_FIRST,
	}, {
		.hook		= feedback_in_v6,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= NF_IP6_PRI_LAST,
	},
#endif
};

/* ------------------------------------------------------------------------- */
/* For congestion controls                                                   */

/**
 * tcpcc_feedback_attach() - carry a congestion header on a socket's segments
 * @sk: connected, or about to be; locked
 * @protocol: whose header
 *
 * To be called from .init.  Its segments get smaller by the room of the option, if
 * the protocol has one.  A connection that uses ECN cannot have TCPCC_FB_ESTCP.
 * If an older socket has the same addresses and ports, this one takes its place.
 *
 * Return: for the other calls; NULL if there is no memory, or ECN in the way: then
 * there will be no feedback
 */
struct tcpcc_feedback *tcpcc_feedback_attach(struct sock *sk,
					     enum tcpcc_fb_protocol protocol)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct feedback_net *fn = feedback_of(sock_net(sk));
	const struct inet_sock *inet = inet_sk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct tcpcc_feedback *fb, *old;
	int err;

	if (protocol == TCPCC_FB_ESTCP && tcpcc_ecn_negotiated(tp))
		return NULL;
	fb = kzalloc(sizeof(*fb), GFP_ATOMIC | __GFP_NOWARN);
	if (!fb)
		goto failed;
	fb->sender = true;
	fb->protocol = protocol;
	fb->request = TCPCC_FB_NO_LIMIT;
	fb->acked = tp->snd_una;
	fb->sent = tp->snd_nxt;
	fb->key.net = sock_net(sk);
	fb->key.local_port = inet->inet_sport;
	fb->key.remote_port = inet->inet_dport;
	ipv6_addr_set_v4mapped(inet->inet_saddr, &fb->key.local);
	ipv6_addr_set_v4mapped(inet->inet_daddr, &fb->key.remote);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 &&
	    !ipv6_addr_v4mapped(&sk->sk_v6_daddr)) {
		fb->key.local = inet6_sk(sk)->saddr;
		fb->key.remote = sk->sk_v6_daddr;
	}
#endif
	spin_lock_bh(&feedback_lock);
	rcu_read_lock();
	old = rhashtable_lookup(&feedback_table, &fb->key, feedback_params);
	if (old)
		feedback_unlink(old);
	rcu_read_unlock();
	err = feedback_link(fn, fb);
	spin_unlock_bh(&feedback_lock);
	if (err) {
		kfree(fb);
		goto failed;
	}

	if (protocol == TCPCC_FB_ESTCP)
		return fb;
	fb->reserved = FEEDBACK_RESERVE;
	icsk->icsk_ext_hdr_len += FEEDBACK_RESERVE;
	if (icsk->icsk_pmtu_cookie)
		icsk->icsk_sync_mss(sk, icsk->icsk_pmtu_cookie);
	return fb;
failed:
	feedback_count(fn, FB_ATTACH_FAILED, 1);
	return NULL;
}
EXPORT_SYMBOL_GPL(tcpcc_feedback_attach);

/**
 * tcpcc_feedback_detach() - carry nothing any more
 * @sk: the socket, locked or about to be freed
 * @fb: what attach returned; may be NULL
 *
 * To be called from .release.
 */
void tcpcc_feedback_detach(struct sock *sk, struct tcpcc_feedback *fb)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (!fb)
		return;
	/* setting IPv6 options, or connecting again, starts it from nothing */
	if (fb->reserved && icsk->icsk_ext_hdr_len >= fb->reserved) {
		icsk->icsk_ext_hdr_len -= fb->reserved;
		/* TCP looks for itself before it sends the next time */
		icsk->icsk_pmtu_cookie = 0;
	}
	spin_lock_bh(&feedback_lock);
	if (fb->found)
		feedback_unlink(fb);
	spin_unlock_bh(&feedback_lock);
	kfree_rcu(fb, rcu);
}
EXPORT_SYMBOL_GPL(tcpcc_feedback_detach);

/**
 * tcpcc_feedback_request() - what the next segments carry
 * @fb: what attach returned, not NULL
 * @rtt_us: H_rtt, us; 0: none
 * @word: what to ask for, see tcpcc_fb_encode()
 */
void tcpcc_feedback_request(struct tcpcc_feedback *fb, u32 rtt_us, u32 word)
{
	WRITE_ONCE(fb->rtt_us, rtt_us);
	WRITE_ONCE(fb->request, word);
}
EXPORT_SYMBOL_GPL(tcpcc_feedback_request);

/**
 * tcpcc_feedback_take() - what has come back since this was last asked
 * @fb: what attach returned, not NULL
 * @word: where to put it; all echoes as one, by tcpcc_fb_combine()
 *
 * To be called for each ACK: the echo that it brought is there by then.
 *
 * Return: the number of echoes; 0: none, and @word is as it was
 */
u32 tcpcc_feedback_take(struct tcpcc_feedback *fb, u32 *word)
{
	u64 taken = atomic64_read(&fb->taken);

	if (!taken)
		return 0;
	taken = atomic64_xchg(&fb->taken, 0);
	*word = taken;
	return taken >> 32;
}
EXPORT_SYMBOL_GPL(tcpcc_feedback_take);

/* ------------------------------------------------------------------------- */
/* Network namespaces                                                        */

static int feedback_show(struct seq_file *seq, void *v)
{
	struct net *net = seq_file_single_net(seq);
	struct feedback_net *fn = feedback_of(net);
	int i, cpu;

	for (i = 0; i < FB_COUNTERS; i++) {
		u64 sum = 0;

		for_each_possible_cpu(cpu)
			sum += per_cpu_ptr(fn->counters, cpu)->value[i];
		seq_printf(seq, "%s %llu\n", feedback_names[i], sum);
	}
	seq_printf(seq, "Senders %d\n", atomic_read(&fn->flows) -
		   atomic_read(&fn->receivers));
	seq_printf(seq, "Receivers %d\n", atomic_read(&fn->receivers));
	return 0;
}

static int __net_init feedback_net_init(struct net *net)
{
	struct feedback_net *fn = feedback_of(net);
	int err = -ENOMEM;

	fn->counters = alloc_percpu(struct feedback_counters);
	if (!fn->counters)
		return -ENOMEM;
	if (!proc_create_net_single("tcpcc_feedback", 0444, net->proc_net,
				    feedback_show, NULL))
		goto free;
	err = nf_register_net_hooks(net, feedback_hooks,
				    ARRAY_SIZE(feedback_hooks));
	if (err)
		goto remove;
	return 0;
remove:
	remove_proc_entry("tcpcc_feedback", net->proc_net);
free:
	free_percpu(fn->counters);
	return err;
}

static void __net_exit feedback_net_pre_exit(struct net *net)
{
	nf_unregister_net_hooks(net, feedback_hooks,
				ARRAY_SIZE(feedback_hooks));
}

/*
 * No segment gets here any more.  The sockets of the namespace are gone, or will
 * only free what they have attached; while the module goes, there are none.
 */
static void __net_exit feedback_net_exit(struct net *net)
{
	struct feedback_net *fn = feedback_of(net);

	remove_proc_entry("tcpcc_feedback", net->proc_net);
	while (atomic_read(&fn->flows)) {
		feedback_sweep(net);
		cond_resched();
	}
	free_percpu(fn->counters);
}

static struct pernet_operations feedback_net_ops = {
	.init		= feedback_net_init,
	.pre_exit	= feedback_net_pre_exit,
	.exit		= feedback_net_exit,
	.id		= &feedback_net_id,
	.size		= sizeof(struct feedback_net),
};

static int __init feedback_register(void)
{
	int err;

	BUILD_BUG_ON(offsetofend(struct feedback_key, zero) !=
		     sizeof(struct feedback_key));

	err = rhashtable_init(&feedback_table, &feedback_params);
	if (err)
		return err;
	err = register_pernet_subsys(&feedback_net_ops);
	if (err)
		rhashtable_destroy(&feedback_table);
	return err;
}

/* Whoever attaches needs our symbols, so there are only receivers' entries. */
static void __exit feedback_unregister(void)
{
	unregister_pernet_subsys(&feedback_net_ops);
	cancel_delayed_work_sync(&feedback_work);
	rhashtable_destroy(&feedback_table);
	rcu_barrier();
}

module_init(feedback_register);
module_exit(feedback_unregister);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Carriage of explicit congestion feedback in TCP options");
