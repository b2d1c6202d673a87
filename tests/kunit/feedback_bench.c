// SPDX-License-Identifier: GPL-2.0
/*
 * The time that tcp_feedback costs a host.  modprobe feedback_bench passes segments of
 * real sockets through the hooks of its network namespace, many times, and writes the time
 * per segment to the log, for several kinds of hosts (see bench_cases[]).
 *
 * The hooks are those of the loaded module.  They are called by nf_hook(), as IP does.  The
 * result is a difference: the time at a place with our hook, minus the time of the same
 * segments at a place without any hook, as without the module.  A batch has one segment of
 * each connection.  Segments are restored before each batch, and that is not timed.  The
 * result is the median of many batches, so that a timer, or other work on this processor,
 * does not change it.
 *
 * Time must be real, and the namespace new (flows are remembered for ten seconds):
 *
 *   unshare -n sh -c 'ip link set lo up; modprobe feedback_bench; dmesg'
 *
 * scripts/lab bench runs this, and compares the results with limits.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/nsproxy.h>
#include <linux/sock_diag.h>
#include <linux/sort.h>
#include <net/inet_sock.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "bench_memory.h"
#include "tcpcc_feedback.h"

#define FLOWS	64	/* connections, and segments in a batch */
#define OTHERS	1000	/* tcp_feedback flows of other sockets */
#define MSS	1448
#define TSO	(44 * MSS)
#define ORDER	4	/* order of the pages that hold TSO bytes */
#define STAMPS	12	/* bytes of the timestamp option, with its padding */
#define ROOM	256	/* headroom of a segment */
#define HEADERS	(sizeof(struct ipv6hdr) + TCPCC_TCP_HEADER_MAX)

static unsigned int batches = 2000;
module_param(batches, uint, 0);
MODULE_PARM_DESC(batches, "number of batches of 64 segments for each case (1 to 100000)");

/* Sockets of the namespace that have a tcp_feedback flow; each kind includes those before it */
enum bench_host {
	NOBODY,
	SOMEBODY,	/* other sockets */
	COOKIES,	/* no more flows, but ss or BPF has given our sockets a cookie */
	OURSELVES,
};

/* The congestion header of a segment */
enum bench_header { NOTHING, WORD, ECHO };

/**
 * struct bench_case - a measurement
 * @name: name in the log
 * @host: sockets that have a flow
 * @hook: the hook; OUT if the segment leaves
 * @header: congestion header before the hook
 * @after: congestion header after the hook
 * @size: bytes of data
 * @sender: the segment leaves, or arrives at, the end that sends data
 * @known: early demultiplexing has found its socket
 * @heard: each time, a segment with a word has arrived before it
 */
struct bench_case {
	const char *name;
	enum bench_host host;
	unsigned int hook;
	enum bench_header header;
	enum bench_header after;
	unsigned int size;
	bool sender;
	bool known;
	bool heard;
};

#define EMPTY	NF_INET_PRE_ROUTING	/* has a hook that does nothing */
#define NO_HOOK	NF_INET_FORWARD
#define IN	NF_INET_LOCAL_IN
#define OUT	NF_INET_LOCAL_OUT

static const struct bench_case bench_cases[] = {
	{ "empty hook", NOBODY, EMPTY, .size = MSS, .known = true },
	{ "no flow, out", NOBODY, OUT, .size = MSS, .sender = true },
	{ "no flow, in", NOBODY, IN, .size = MSS, .known = true },
	{ "others, out", SOMEBODY, OUT, .size = MSS, .sender = true },
	{ "others, in", SOMEBODY, IN, .size = MSS, .known = true },
	{ "others, in for nobody", SOMEBODY, IN, .size = MSS },
	{ "others with cookies, out", COOKIES, OUT, .size = MSS, .sender = true },
	{ "sender, out", OURSELVES, OUT, .after = WORD, .size = MSS,
	  .sender = true },
	{ "sender, TSO out", OURSELVES, OUT, .after = WORD, .size = TSO,
	  .sender = true },
	{ "sender, in", OURSELVES, IN, ECHO, ECHO, .sender = true,
	  .known = true },
	{ "receiver, in", OURSELVES, IN, WORD, WORD, .size = MSS,
	  .known = true },
	{ "receiver, out", OURSELVES, OUT, .after = ECHO, .heard = true },
};

/* A segment, and what is needed to restore it for the next batch */
struct bench_segment {
	struct sk_buff *skb;
	struct sock *sk;	/* NULL: the segment arrives */
	struct tcpcc_feedback *fb;
	unsigned int ip, len, size;	/* bytes: IP header, both headers, data */
	u8 header[HEADERS];
};

struct bench_flow {
	struct socket *from;
	struct socket *to;
	struct tcpcc_feedback *fb;	/* the flow of from */
};

/**
 * struct bench - state of the bench
 * @net: namespace
 * @v6: IPv6
 * @flows: connections
 * @others: sockets that have a tcp_feedback flow, but no connection
 * @theirs: the tcp_feedback flows of @others
 * @segments: segments of the case
 * @words: segments with a word, which arrive before @segments if bench_case.heard
 * @ps: time of each batch, ps per segment
 */
struct bench {
	struct net *net;
	bool v6;
	struct bench_flow flows[FLOWS];
	struct socket *others[OTHERS];
	struct tcpcc_feedback *theirs[OTHERS];
	struct bench_segment segments[FLOWS];
	struct bench_segment words[FLOWS];
	s32 ps[];
};

static unsigned int bench_nothing(void *priv, struct sk_buff *skb,
				  const struct nf_hook_state *state)
{
	return NF_ACCEPT;
}

/* ------------------------------------------------------------------------- */
/* Segments                                                                  */

/* The options: ours first, then the timestamps of Linux */
static unsigned int bench_options(u8 *options, const struct tcp_sock *tp,
				  enum bench_header which)
{
	const struct tcpcc_fb_header h = {
		.has_word = which == WORD, .protocol = TCPCC_FB_ACP,
		.word = TCPCC_FB_NO_LIMIT,
		.has_echo = which == ECHO, .echo = TCPCC_FB_NO_LIMIT,
	};
	unsigned int len = tcpcc_fb_build(options, &h);

	options[len] = TCPOPT_NOP;
	options[len + 1] = TCPOPT_NOP;
	options[len + 2] = TCPOPT_TIMESTAMP;
	options[len + 3] = TCPOLEN_TIMESTAMP;
	put_unaligned_be32(tp->rx_opt.ts_recent, options + len + 4);
	put_unaligned_be32(tp->rx_opt.rcv_tsecr, options + len + 8);
	return len + STAMPS;
}

/* Fills in the headers of a segment that @sk sends (@out), or that arrives for @sk */
static void bench_headers(const struct bench *b, struct bench_segment *s,
			  const struct sock *sk, enum bench_header which,
			  bool out)
{
	const struct inet_sock *inet = inet_sk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct tcphdr *th;

	memset(s->header, 0, sizeof(s->header));
	s->ip = b->v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	th = (struct tcphdr *)(s->header + s->ip);
	s->len = s->ip + sizeof(*th) +
		 bench_options((u8 *)(th + 1), tp, which);
	th->doff = (s->len - s->ip) / 4;
	th->ack = 1;
	th->source = out ? inet->inet_sport : inet->inet_dport;
	th->dest = out ? inet->inet_dport : inet->inet_sport;
	th->seq = htonl(out ? tp->snd_nxt : tp->rcv_nxt);
	th->ack_seq = htonl(out ? tp->rcv_nxt : tp->snd_una);
	if (b->v6) {
		struct ipv6hdr *iph = (struct ipv6hdr *)s->header;

		iph->version = 6;
		iph->nexthdr = IPPROTO_TCP;
		iph->hop_limit = 64;
		iph->payload_len = htons(s->len - s->ip + s->size);
		iph->saddr = in6addr_loopback;
		iph->daddr = in6addr_loopback;
	} else {
		struct iphdr *iph = (struct iphdr *)s->header;

		iph->version = 4;
		iph->ihl = 5;
		iph->protocol = IPPROTO_TCP;
		iph->ttl = 64;
		iph->tot_len = htons(s->len + s->size);
		iph->saddr = htonl(INADDR_LOOPBACK);
		iph->daddr = htonl(INADDR_LOOPBACK);
		iph->check = ip_fast_csum(iph, iph->ihl);
	}
}

/* Headers are in the skb and data is in pages, as in segments of TCP and of many devices */
static int bench_segment(const struct bench *b, struct bench_segment *s,
			 const struct bench_flow *flow,
			 const struct bench_case *c)
{
	struct sock *sk = c->sender ? flow->from->sk : flow->to->sk;
	bool out = c->hook == OUT;
	struct sk_buff *skb;
	struct page *page;

	s->size = c->size;
	bench_headers(b, s, sk, c->header, out);
	s->fb = !out && c->header == ECHO ? flow->fb : NULL;
	s->sk = out ? sk : NULL;
	skb = alloc_skb(ROOM + HEADERS, GFP_KERNEL);
	s->skb = skb;
	if (!skb)
		return -ENOMEM;
	if (c->size) {
		page = alloc_pages(GFP_KERNEL | __GFP_COMP, ORDER);
		if (!page)
			return -ENOMEM;
		skb_fill_page_desc(skb, 0, page, 0, c->size);
		skb->data_len = c->size;
	}
	if (c->size > MSS) {
		skb_shinfo(skb)->gso_size = MSS;
		skb_shinfo(skb)->gso_segs = c->size / MSS;
		skb_shinfo(skb)->gso_type = b->v6 ? SKB_GSO_TCPV6 :
						    SKB_GSO_TCPV4;
	}
	skb->protocol = htons(b->v6 ? ETH_P_IPV6 : ETH_P_IP);
	if (out) {
		skb_dst_set(skb, sk_dst_get(sk));
		if (!skb_dst(skb))
			return -ENETUNREACH;
	} else if (c->known) {
		sock_hold(sk);
		skb->sk = sk;
		skb->destructor = sock_edemux;
	} else {
		/* a port that has no connection */
		((struct tcphdr *)(s->header + s->ip))->dest = htons(9);
	}
	return 0;
}

/* Restores the segment to its state before the hook */
static void bench_restore(struct bench_segment *s)
{
	struct sk_buff *skb = s->skb;

	skb->data = skb->head + ROOM;
	skb_set_tail_pointer(skb, s->len);
	skb->len = s->len + s->size;
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, s->ip);
	memcpy(skb->data, s->header, s->len);
	skb->ip_summed = s->sk ? CHECKSUM_PARTIAL : CHECKSUM_UNNECESSARY;
}

/* Whether the congestion header and the lengths are as they should be */
static bool bench_is(const struct bench_segment *s, enum bench_header which)
{
	struct tcpcc_fb_header h = {};
	const struct sk_buff *skb = s->skb;
	int found = tcpcc_fb_parse((u8 *)tcp_hdr(skb), tcp_hdrlen(skb), &h);

	if (skb->len != skb_headlen(skb) + s->size ||
	    skb_headlen(skb) != s->ip + tcp_hdrlen(skb))
		return false;
	return found == (which != NOTHING) && h.has_word == (which == WORD) &&
	       h.has_echo == (which == ECHO);
}

static void bench_free(struct bench_segment *segments)
{
	int i;

	for (i = 0; i < FLOWS; i++) {
		kfree_skb(segments[i].skb);
		segments[i].skb = NULL;
	}
}

static int bench_make(const struct bench *b, struct bench_segment *segments,
		      const struct bench_case *c)
{
	int err = 0, i;

	for (i = 0; i < FLOWS && !err; i++)
		err = bench_segment(b, &segments[i], &b->flows[i], c);
	return err;
}

/* ------------------------------------------------------------------------- */
/* Time                                                                      */

/*
 * Passes a batch through a hook.  If the segments carry echoes, the time includes the
 * sender's tcpcc_feedback_take() for each ACK.
 *
 * Return: ns; 0: a segment did not pass the hook, or an echo was missing
 */
static u64 bench_batch(const struct bench *b, struct bench_segment *segments,
		       unsigned int hook, u8 pf)
{
	bool echo = hook == IN && segments[0].fb;
	int passed = 0, i;
	u32 word, n = 0;
	u64 ns;

	for (i = 0; i < FLOWS; i++)
		bench_restore(&segments[i]);
	local_bh_disable();
	ns = ktime_get_ns();
	for (i = 0; i < FLOWS; i++) {
		passed += nf_hook(pf, hook, b->net, segments[i].sk,
				  segments[i].skb, NULL, NULL, NULL);
		if (echo)
			n += tcpcc_feedback_take(segments[i].fb, &word);
	}
	ns = ktime_get_ns() - ns;
	local_bh_enable();
	return passed == FLOWS && n == (echo ? FLOWS : 0) ? ns : 0;
}

static int bench_less(const void *one, const void *other)
{
	return *(const s32 *)one - *(const s32 *)other;
}

static int bench_run(struct bench *b, const struct bench_case *c)
{
	u8 pf = b->v6 ? NFPROTO_IPV6 : NFPROTO_IPV4;
	unsigned int round;
	u64 with, without;
	int i;

	/* the first round warms up the caches */
	for (round = 0; round <= batches; round++) {
		if (c->heard && !bench_batch(b, b->words, IN, pf))
			return -EIO;
		without = bench_batch(b, b->segments, NO_HOOK, pf);
		with = bench_batch(b, b->segments, c->hook, pf);
		if (!with || !without)
			return -EIO;
		for (i = 0; i < FLOWS && !round; i++)
			if (!bench_is(&b->segments[i], c->after))
				return -EIO;
		if (round)
			b->ps[round - 1] =
				div_s64((s64)(with - without) * 1000, FLOWS);
		cond_resched();
	}
	sort(b->ps, batches, sizeof(b->ps[0]), bench_less, NULL);
	pr_warn("feedback_bench: v%d %s: %d ps per segment\n", b->v6 ? 6 : 4,
		c->name, b->ps[batches / 2]);
	return 0;
}

static int bench_case(struct bench *b, const struct bench_case *c)
{
	static const struct bench_case word = {
		.hook = IN, .header = WORD, .size = MSS, .known = true,
	};
	int err = bench_make(b, b->segments, c);

	if (!err && c->heard)
		err = bench_make(b, b->words, &word);
	if (!err)
		err = bench_run(b, c);
	if (err)
		pr_err("feedback_bench: %s: not as it should be, or time stands still (%d)\n",
		       c->name, err);
	bench_free(b->segments);
	bench_free(b->words);
	return err;
}

/* For comparison: the whole way of a segment between sockets, except the copy to user space */
static int bench_stack(struct bench *b)
{
	static u8 data[MSS];
	unsigned int round;
	u64 ns;
	int i;

	for (round = 0; round < batches; round++) {
		ns = ktime_get_ns();
		for (i = 0; i < FLOWS; i++) {
			struct msghdr message = { .msg_flags = MSG_DONTWAIT };
			struct kvec v = { data, MSS };

			if (kernel_sendmsg(b->flows[i].from, &message, &v, 1,
					   MSS) != MSS ||
			    kernel_recvmsg(b->flows[i].to, &message, &v, 1, MSS,
					   MSG_DONTWAIT) != MSS)
				return -EIO;
		}
		b->ps[round] = div_s64((ktime_get_ns() - ns) * 1000, FLOWS);
		cond_resched();
	}
	sort(b->ps, batches, sizeof(b->ps[0]), bench_less, NULL);
	pr_warn("feedback_bench: v%d from socket to socket: %d ps per segment\n",
		b->v6 ? 6 : 4, b->ps[batches / 2]);
	return 0;
}

/* ------------------------------------------------------------------------- */
/* Hosts                                                                     */

static int bench_socket(const struct bench *b, struct socket **sock)
{
	int err = sock_create(b->v6 ? PF_INET6 : PF_INET, SOCK_STREAM,
			      IPPROTO_TCP, sock);

	if (err) {
		*sock = NULL;
		return err;
	}
	/* close() does not wait */
	sock_no_linger((*sock)->sk);
	tcp_sock_set_nodelay((*sock)->sk);
	return 0;
}

static int bench_connect(struct bench *b)
{
	struct sockaddr_storage address = {};
	struct socket *listener;
	int err, i, len;

	if (b->v6) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address;

		in6->sin6_family = AF_INET6;
		in6->sin6_addr = in6addr_loopback;
		len = sizeof(*in6);
	} else {
		struct sockaddr_in *in = (struct sockaddr_in *)&address;

		in->sin_family = AF_INET;
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		len = sizeof(*in);
	}
	err = bench_socket(b, &listener);
	if (err)
		return err;
	/* kernels differ in the type of an address */
	err = kernel_bind(listener, (void *)&address, len);
	if (!err)
		err = kernel_listen(listener, FLOWS);
	if (b->v6)
		((struct sockaddr_in6 *)&address)->sin6_port =
			inet_sk(listener->sk)->inet_sport;
	else
		((struct sockaddr_in *)&address)->sin_port =
			inet_sk(listener->sk)->inet_sport;
	for (i = 0; i < FLOWS && !err; i++) {
		struct bench_flow *flow = &b->flows[i];

		err = bench_socket(b, &flow->from);
		if (!err)
			err = kernel_connect(flow->from, (void *)&address, len,
					     0);
		if (!err)
			err = kernel_accept(listener, &flow->to, 0);
		if (!err)
			sock_no_linger(flow->to->sk);
	}
	sock_release(listener);
	return err;
}

static struct tcpcc_feedback *bench_attach(struct socket *sock)
{
	struct tcpcc_feedback *fb;

	lock_sock(sock->sk);
	fb = tcpcc_feedback_attach(sock->sk, TCPCC_FB_ACP);
	if (fb)
		tcpcc_feedback_request(sock->sk, fb, 80000, TCPCC_FB_NO_LIMIT);
	release_sock(sock->sk);
	return fb;
}

static void bench_close(struct socket *sock, struct tcpcc_feedback *fb)
{
	if (!sock)
		return;
	lock_sock(sock->sk);
	tcpcc_feedback_detach(sock->sk, fb);
	release_sock(sock->sk);
	sock_release(sock);
}

/* Attaches tcp_feedback flows, or sets cookies, as the kind of host requires. */
static int bench_become(struct bench *b, enum bench_host host)
{
	int i, err = 0;
	s64 before;

	for (i = 0; host == SOMEBODY && i < OTHERS && !err; i++)
		err = bench_socket(b, &b->others[i]);
	before = bench_memory();
	for (i = 0; host == SOMEBODY && i < OTHERS && !err; i++) {
		b->theirs[i] = bench_attach(b->others[i]);
		if (!b->theirs[i])
			err = -ENOMEM;
	}
	if (host == SOMEBODY && !err)
		pr_warn("feedback_bench: v%d entry: %lld bytes\n", b->v6 ? 6 : 4,
			div_s64(bench_memory() - before, OTHERS));
	for (i = 0; host == COOKIES && i < FLOWS; i++) {
		u32 cookie[2];

		sock_diag_save_cookie(b->flows[i].from->sk, cookie);
		sock_diag_save_cookie(b->flows[i].to->sk, cookie);
	}
	for (i = 0; host == OURSELVES && i < FLOWS && !err; i++) {
		b->flows[i].fb = bench_attach(b->flows[i].from);
		if (!b->flows[i].fb)
			err = -ENOMEM;
	}
	return err;
}

static int bench_family(struct bench *b)
{
	const struct nf_hook_ops empty = {
		.hook = bench_nothing, .hooknum = EMPTY,
		.pf = b->v6 ? NFPROTO_IPV6 : NFPROTO_IPV4,
	};
	enum bench_host host = NOBODY;
	int err, i;

	err = bench_connect(b);
	if (!err)
		err = bench_stack(b);
	if (!err)
		err = nf_register_net_hook(b->net, &empty);
	if (err)
		goto close;
	for (i = 0; i < ARRAY_SIZE(bench_cases) && !err; i++) {
		if (bench_cases[i].host != host) {
			host = bench_cases[i].host;
			err = bench_become(b, host);
		}
		if (!err)
			err = bench_case(b, &bench_cases[i]);
	}
	nf_unregister_net_hook(b->net, &empty);
close:
	for (i = 0; i < FLOWS; i++) {
		bench_close(b->flows[i].from, b->flows[i].fb);
		bench_close(b->flows[i].to, NULL);
	}
	for (i = 0; i < OTHERS; i++)
		bench_close(b->others[i], b->theirs[i]);
	return err;
}

static bool v6;
module_param(v6, bool, 0);
MODULE_PARM_DESC(v6, "IPv6 instead of IPv4");

static int __init bench_init(void)
{
	struct bench *b;
	int err;

	if (batches < 1 || batches > 100000)
		return -EINVAL;
	b = kvzalloc(struct_size(b, ps, batches), GFP_KERNEL);
	if (!b)
		return -ENOMEM;
	b->net = current->nsproxy->net_ns;
	b->v6 = v6;
	err = bench_family(b);
	if (err)
		pr_err("feedback_bench: failed (%d)\n", err);
	kvfree(b);
	return err;
}

static void __exit bench_exit(void)
{
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Cost of carrying feedback for a host");
