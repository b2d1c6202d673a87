// SPDX-License-Identifier: GPL-2.0
/*
 * The time that a packet needs in a qdisc.  modprobe sch_bench dev=NAME enqueues packets in
 * the root qdisc of a device and dequeues them again, many times, and writes the time per packet
 * to the log.  The packets are TCP segments of 50 flows (flows=), over IPv4 (v6=1: IPv6).  Each
 * flow has two addresses of its own.  If all flows share their addresses, cake, which is fair to
 * hosts too, takes several times as long, and differs from run to run.  Each packet has a
 * congestion header that asks for no limit, so that an acp router must change each packet.  With
 * protocol=2 it is a header of xcp, with protocol=3 one of rcp.  With dsfield=12 the packets are in
 * ESTCP's class.  They come in batches of 64, as from a busy device.
 *
 * With gso=N each packet is a GSO packet of N segments of 1400 bytes, as a router gets from GRO.
 * Some qdiscs cut it into segments.  The time of a packet is then that of all its segments.
 *
 * With threads=N, N processors, each with its own thread, send packets by dev_queue_xmit() for half
 * a second.  As in a router they compete for the lock of the root qdisc.  A thread has 64 packets,
 * and sends a packet again when its last user after the qdisc has released it.  TCQ_F_CAN_BYPASS is
 * cleared, because packets bypass only an empty qdisc, and a router's is not empty.  The device is
 * a dummy.  It may have no qdisc, and then there is no lock.
 *
 * Time must be real, as in scripts/lab shell, and a shaper must be faster than the bench:
 *
 *   tc qdisc replace dev v0 root acp bandwidth 1tbit
 *   modprobe sch_bench dev=v0; dmesg | tail -n 1; modprobe -r sch_bench
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <net/dsfield.h>
#include <net/sch_generic.h>

#include "tcpcc_feedback.h"

#define BATCH	64
#define SPINS	BIT(20)
#define FRAME	1014
#define ETH	14
#define OPTION	12
#define SEGMENT	1400	/* bytes of data of a segment of a GSO packet */
#define MOST	44	/* segments of a GSO packet */
#define LARGE	8	/* GSO packets in a batch */
#define ORDER	4	/* of the pages that hold their data */
#define MS	500	/* time for which packets of threads are counted */
#define WARM_MS	50	/* time before that, in which packets are not counted */

static char *dev = "lo";
module_param(dev, charp, 0);
MODULE_PARM_DESC(dev, "device whose root qdisc is measured");

static char *name;
module_param(name, charp, 0);
MODULE_PARM_DESC(name, "name in the log; none: the qdisc's name");

static unsigned int packets = 1000000;
module_param(packets, uint, 0);
MODULE_PARM_DESC(packets, "number of packets");

static bool hashed = true;
module_param(hashed, bool, 0);
MODULE_PARM_DESC(hashed, "packets come with the hash of their flow, as from a device");

static unsigned int word = TCPCC_FB_NO_LIMIT;
module_param(word, uint, 0);
MODULE_PARM_DESC(word, "word of the congestion header, written anew for each packet");

static unsigned int protocol = TCPCC_FB_ACP;
module_param(protocol, uint, 0);
MODULE_PARM_DESC(protocol, "protocol of the congestion header");

static unsigned int dsfield;
module_param(dsfield, uint, 0);
MODULE_PARM_DESC(dsfield, "DSCP and ECN bits, written anew for each packet");

static unsigned int flows = 50;
module_param(flows, uint, 0);
MODULE_PARM_DESC(flows, "number of flows, at most 50000; packets belong to them in turn");

static bool v6;
module_param(v6, bool, 0);
MODULE_PARM_DESC(v6, "IPv6 instead of IPv4");

static unsigned int gso = 1;
module_param(gso, uint, 0);
MODULE_PARM_DESC(gso, "segments of each packet, 1 to 44");

static unsigned int threads;
module_param(threads, uint, 0);
MODULE_PARM_DESC(threads, "processors that transmit; 0: measure the time of a packet in the qdisc");

/**
 * struct bench_sender - a processor that transmits
 * @task: its thread
 * @skbs: packets; each is sent again when it is free
 * @flow: flow of the last packet, 0 to flows - 1
 * @sent: packets that qdisc and device accepted
 * @lost: packets that they dropped
 */
struct bench_sender {
	struct task_struct *task;
	struct sk_buff *skbs[BATCH];
	unsigned int flow;
	unsigned long sent;
	unsigned long lost;
} ____cacheline_aligned_in_smp;

/* Sets both addresses of a flow, in 10.0.0.0/8 or fc00::/7 */
static void bench_address(struct sk_buff *skb, unsigned int flow)
{
	if (v6) {
		ipv6_hdr(skb)->saddr.s6_addr32[3] = htonl(flow);
		ipv6_hdr(skb)->daddr.s6_addr32[3] = htonl(flow);
	} else {
		ip_hdr(skb)->saddr = htonl(0x0a000000 + flow);
		ip_hdr(skb)->daddr = htonl(0x0a800000 + flow);
	}
}

/* Makes the packet one of the next flow, in the state in which it would arrive. */
static void bench_renew(struct sk_buff *skb, unsigned int *flow)
{
	struct tcphdr *th = tcp_hdr(skb);

	*flow = (*flow + 1) % flows;
	th->source = htons(1000 + *flow);
	bench_address(skb, *flow);
	put_unaligned_be32(word, (u8 *)(th + 1) + TCPCC_FB_WORD);
	if (v6)
		ipv6_change_dsfield(ipv6_hdr(skb), 0, dsfield);
	else
		ip_hdr(skb)->tos = dsfield;
	if (hashed)
		skb_set_hash(skb, (*flow + 1) * 0x9e3779b9, PKT_HASH_TYPE_L4);
	else
		skb_clear_hash(skb);
	qdisc_skb_cb(skb)->pkt_len = skb->len;
	/* as qdisc_pkt_len_init(): with the headers of each segment */
	if (gso > 1)
		qdisc_skb_cb(skb)->pkt_len += (gso - 1) * skb_headlen(skb);
}

static struct sk_buff *bench_skb(struct net_device *to)
{
	const struct tcpcc_fb_header h = {
		.has_word = true, .protocol = protocol,
		.info = protocol == TCPCC_FB_XCP ?
			tcpcc_fb_xcp_info(80000, 51600) : tcpcc_fb_rtt_info(80000),
		.word = TCPCC_FB_NO_LIMIT,
	};
	unsigned int ip = v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	struct sk_buff *skb = alloc_skb(FRAME + 64, GFP_KERNEL);
	u8 option[TCPCC_FB_LEN_BOTH];
	struct tcphdr *th;

	if (!skb)
		return NULL;
	skb_put_zero(skb, FRAME);
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, ETH);
	skb_set_transport_header(skb, ETH + ip);
	skb->protocol = htons(v6 ? ETH_P_IPV6 : ETH_P_IP);
	skb->dev = to;
	if (v6) {
		struct ipv6hdr *ip6h = ipv6_hdr(skb);

		ip6h->version = 6;
		ip6h->nexthdr = IPPROTO_TCP;
		ip6h->payload_len = htons(FRAME - ETH - ip);
		ip6h->saddr.s6_addr32[0] = htonl(0xfc000001);
		ip6h->daddr.s6_addr32[0] = htonl(0xfc000002);
	} else {
		struct iphdr *iph = ip_hdr(skb);

		iph->version = 4;
		iph->ihl = 5;
		iph->protocol = IPPROTO_TCP;
		iph->tot_len = htons(FRAME - ETH);
	}
	th = tcp_hdr(skb);
	th->doff = (sizeof(*th) + OPTION) / 4;
	tcpcc_fb_build(option, &h);
	memcpy(th + 1, option, OPTION);
	return skb;
}

/* Makes a packet one of @gso segments, whose data is in @page */
static void bench_enlarge(struct sk_buff *skb, struct page *page)
{
	unsigned int header = skb_transport_offset(skb) + sizeof(struct tcphdr) + OPTION;
	unsigned int size = gso * SEGMENT;

	__skb_trim(skb, header);
	get_page(page);
	skb_fill_page_desc(skb, 0, page, 0, size);
	skb->len += size;
	skb->data_len = size;
	skb->truesize += size;
	if (v6)
		ipv6_hdr(skb)->payload_len = htons(skb->len - ETH - sizeof(struct ipv6hdr));
	else
		ip_hdr(skb)->tot_len = htons(skb->len - ETH);
	skb_shinfo(skb)->gso_size = SEGMENT;
	skb_shinfo(skb)->gso_segs = gso;
	skb_shinfo(skb)->gso_type = v6 ? SKB_GSO_TCPV6 : SKB_GSO_TCPV4;
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
}

/* Passes @skbs through the qdisc until it is empty.  Return: ns; 0: it drops, or time is 0 */
static u64 bench_pass(struct Qdisc *q, struct sk_buff **skbs, unsigned int *flow)
{
	struct sk_buff *to_free = NULL, *done = NULL, *skb;
	unsigned int i, spins = 0;
	u64 ns;

	local_bh_disable();
	spin_lock(qdisc_lock(q));
	ns = ktime_get_ns();
	for (i = 0; i < LARGE; i++) {
		bench_renew(skbs[i], flow);
		q->ops->enqueue(skbs[i], q, &to_free);
	}
	while (q->q.qlen && !to_free && ++spins < SPINS) {
		skb = q->ops->dequeue(q);
		if (!skb)
			continue;
		skb->next = done;
		done = skb;
		spins = 0;
	}
	ns = ktime_get_ns() - ns;
	spin_unlock(qdisc_lock(q));
	local_bh_enable();
	if (to_free || q->q.qlen) {
		pr_err("sch_bench: the qdisc drops, or time stands still\n");
		ns = 0;
	}
	kfree_skb_list(done);
	kfree_skb_list(to_free);
	return ns;
}

/* As bench_run(), for GSO packets: the qdisc may cut them, so each batch has new ones. */
static u64 bench_run_large(struct Qdisc *q, struct net_device *to)
{
	struct page *page = alloc_pages(GFP_KERNEL | __GFP_COMP, ORDER);
	unsigned int round, i, flow = 0;
	u64 ns = 0, one = page ? 1 : 0;

	for (round = 0; one && round <= packets / LARGE; round++) {
		struct sk_buff *skbs[LARGE];

		for (i = 0; i < LARGE; i++) {
			skbs[i] = bench_skb(to);
			if (!skbs[i])
				break;
			bench_enlarge(skbs[i], page);
		}
		if (i < LARGE) {
			while (i--)
				kfree_skb(skbs[i]);
			one = 0;
			break;
		}
		one = bench_pass(q, skbs, &flow);
		/* the first round warms up the caches */
		ns += round ? one : 0;
		cond_resched();
	}
	if (page)
		put_page(page);
	return one ? ns : 0;
}

static u64 bench_run(struct Qdisc *q, struct sk_buff **skbs)
{
	struct sk_buff *to_free = NULL, *skb;
	unsigned int round, i, taken, spins, flow = 0;
	u64 start = 0;

	for (round = 0; round <= packets / BATCH; round++) {
		/* the first round warms up the caches */
		if (round == 1)
			start = ktime_get_ns();
		local_bh_disable();
		spin_lock(qdisc_lock(q));
		for (i = 0; i < BATCH; i++) {
			bench_renew(skbs[i], &flow);
			q->ops->enqueue(skbs[i], q, &to_free);
		}
		for (i = 0; i < BATCH && !to_free; i++) {
			spins = 0;
			do {
				skb = q->ops->dequeue(q);
			} while (!skb && ++spins < SPINS);
			if (!skb)
				break;
			skbs[i] = skb;
		}
		taken = i;
		spin_unlock(qdisc_lock(q));
		local_bh_enable();
		if (taken < BATCH) {
			/* packets that are still in the qdisc belong to the qdisc */
			pr_err("sch_bench: the qdisc drops, or time stands still\n");
			kfree_skb_list(to_free);
			memset(skbs + taken, 0,
			       (BATCH - taken) * sizeof(skbs[0]));
			return 0;
		}
		cond_resched();
	}
	return ktime_get_ns() - start;
}

static int bench_fill(struct sk_buff **skbs, struct net_device *to)
{
	int i;

	for (i = 0; i < BATCH; i++) {
		skbs[i] = bench_skb(to);
		if (!skbs[i])
			return -ENOMEM;
	}
	return 0;
}

static void bench_free(struct sk_buff **skbs)
{
	int i;

	for (i = 0; i < BATCH; i++)
		kfree_skb(skbs[i]);
}

static int bench_alone(struct net_device *to)
{
	struct sk_buff *skbs[BATCH] = {};
	int err = bench_fill(skbs, to);
	struct Qdisc *q;
	u64 ns;

	if (err)
		goto free;
	rtnl_lock();
	q = rtnl_dereference(to->qdisc);
	err = -EOPNOTSUPP;
	if (q->enqueue) {
		ns = gso > 1 ? bench_run_large(q, to) : bench_run(q, skbs);
		pr_warn("sch_bench: %s: %llu ps per packet\n", name ?: q->ops->id,
			div_u64(ns * 1000, packets));
		err = ns ? 0 : -ENOBUFS;
	}
	rtnl_unlock();
free:
	bench_free(skbs);
	return err;
}

static int bench_send(void *data)
{
	struct bench_sender *s = data;
	unsigned int i = 0;

	while (!kthread_should_stop()) {
		struct sk_buff *skb = s->skbs[i++ % BATCH];

		while (refcount_read(&skb->users) > 1)
			cond_resched();
		smp_acquire__after_ctrl_dep(); /* its last user wrote to it before the release */
		bench_renew(skb, &s->flow);
		if (dev_queue_xmit(skb_get(skb)))
			WRITE_ONCE(s->lost, s->lost + 1);
		else
			WRITE_ONCE(s->sent, s->sent + 1);
		if (!(i % BATCH))
			cond_resched();
	}
	return 0;
}

/* Adds the numbers of packets that all threads have sent and lost so far */
static void bench_sum(const struct bench_sender *senders, s64 *sent, s64 *lost)
{
	unsigned int i;

	for (i = 0; i < threads; i++) {
		*sent += READ_ONCE(senders[i].sent);
		*lost += READ_ONCE(senders[i].lost);
	}
}

static int bench_together(struct net_device *to)
{
	struct bench_sender *senders = kcalloc(threads, sizeof(*senders), GFP_KERNEL);
	s64 sent = 0, lost = 0;
	int err = 0, i;
	u64 ns;

	if (!senders)
		return -ENOMEM;
	rtnl_lock();
	rtnl_dereference(to->qdisc)->flags &= ~TCQ_F_CAN_BYPASS;
	rtnl_unlock();
	for (i = 0; i < threads && !err; i++) {
		senders[i].flow = i * (flows / threads);
		err = bench_fill(senders[i].skbs, to);
	}
	for (i = 0; i < threads && !err; i++) {
		senders[i].task = kthread_run_on_cpu(bench_send, &senders[i], i, "sch_bench/%u");
		err = PTR_ERR_OR_ZERO(senders[i].task);
	}
	if (!err) {
		msleep(WARM_MS);
		ns = ktime_get_ns();
		bench_sum(senders, &sent, &lost);
		sent = -sent;
		lost = -lost;
		msleep(MS);
		bench_sum(senders, &sent, &lost);
		ns = ktime_get_ns() - ns;
		pr_warn("sch_bench: %s: %u processors: %llu packets per second, %llu lost\n",
			name ?: "packets", threads, div64_u64(sent * NSEC_PER_SEC, ns), lost);
	}
	for (i = 0; i < threads; i++)
		if (!IS_ERR_OR_NULL(senders[i].task))
			kthread_stop(senders[i].task);
	for (i = 0; i < threads; i++)
		bench_free(senders[i].skbs);
	kfree(senders);
	return err;
}

static int __init bench_init(void)
{
	unsigned int batch = gso > 1 ? LARGE : BATCH;
	struct net_device *to;
	int err;

	if (!flows || flows > 50000 || threads > num_online_cpus() || !gso || gso > MOST ||
	    (gso > 1 && threads))
		return -EINVAL;
	packets = max(packets / batch, 1U) * batch;
	to = dev_get_by_name(&init_net, dev);
	if (!to)
		return -ENODEV;
	err = threads ? bench_together(to) : bench_alone(to);
	dev_put(to);
	return err;
}

static void __exit bench_exit(void)
{
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Cost of a packet in a qdisc");
