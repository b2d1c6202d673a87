// SPDX-License-Identifier: GPL-2.0
/*
 * The time that a congestion control needs for an ACK.  modprobe cc_bench ccs=reno,cubic processes
 * many ACKs on unconnected sockets, and writes the time per ACK to the log.
 *
 * For each ACK the bench changes the socket as net/ipv4/tcp_input.c (6.12) does before it calls the
 * congestion control, as far as a congestion control can see the change.  Then it makes the calls:
 * pkts_acked, in_ack_event, and cong_avoid or cong_control.  Without cong_control TCP sets the
 * pacing rate, and the window in recovery; a cong_control does both itself.  Therefore this work of
 * TCP is included in the time of a congestion control that has no cong_control.
 * The result is the difference to the same ACKs with a congestion control that does nothing.  All
 * congestion controls take turns, many times.  The result is the median of the times for a chunk of
 * 200 ACKs, so that a timer, or other work on this processor, does not change it.
 *
 * If there are many sockets they get an ACK one after the other, in an order that a cache cannot
 * predict.  Then their state is not in the cache, as in a server, and reading it costs more.  There
 * are at least as many ACKs as sockets, so that each socket gets one before the measurement and one
 * in it.  The log has the least and the largest number of ACKs of a socket.
 *
 * The log also has the memory of a socket, the additional memory of each congestion control, and
 * how much of these is not freed afterwards.  With chunks=0 only memory is measured, rounds= times.
 *
 * Time must be real, as in scripts/lab bench.
 */
#include <linux/in.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>
#include <net/tcp.h>

#include "bench_memory.h"
#include "tcpcc_compat.h"

#define MSS		1448U
#define RTT_US		40000U
#define CWND		100U	/* segments */
#define SEG_US		(RTT_US / CWND)
#define CHUNK		200U	/* ACKs that are timed together, with softirqs off */
#define STRIDE		7919U	/* from one socket to the next: a prime */
#define CCS		32
#define TIMES		4096	/* the most chunks that are timed for one congestion control */

static char *ccs = "reno,cubic,bbr";
module_param(ccs, charp, 0);
MODULE_PARM_DESC(ccs, "congestion controls, separated by commas");

static unsigned int sockets = 1000;
module_param(sockets, uint, 0);
MODULE_PARM_DESC(sockets, "number of sockets; each gets an ACK in turn");

static unsigned int chunks = 100;
module_param(chunks, uint, 0);
MODULE_PARM_DESC(chunks,
		 "chunks of 200 ACKs for each congestion control per round, at least an ACK for each socket; 0: only memory");

static unsigned int rounds = 9;
module_param(rounds, uint, 0);
MODULE_PARM_DESC(rounds, "number of rounds; in each, all congestion controls take turns");

/**
 * struct bench_script - a kind of ACKs
 * @name: name in the log
 * @segs: segments that an ACK acknowledges
 * @state: state of the socket, TCP_CA_*
 * @limited: the application has too little to send
 */
struct bench_script {
	const char *name;
	u32 segs;
	u8 state;
	bool limited;
};

static const struct bench_script scripts[] = {
	{ "open", 1, TCP_CA_Open },
	{ "open, 44 segments", 44, TCP_CA_Open },
	{ "recovery", 1, TCP_CA_Recovery },
	{ "limited", 1, TCP_CA_Open, true },
};

/**
 * struct bench_flow - a socket that gets ACKs
 * @sock: the socket
 * @acks: ACKs since it has its congestion control
 */
struct bench_flow {
	struct socket *sock;
	u32 acks;
};

static struct bench_flow *flows;
static u32 times[CCS][TIMES];	/* time of each chunk, ns */
static u32 noise;
static u32 next_flow;	/* index of the flow that gets the next ACK */

static void nothing_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
}

static struct tcp_congestion_ops nothing __read_mostly = {
	.name		= "bench_nothing",
	.owner		= THIS_MODULE,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.cong_avoid	= nothing_cong_avoid,
};

/* Since 6.10 the callback also has the ACK and its flags as arguments. */
static void bench_cong_control(struct sock *sk, const struct rate_sample *rs)
{
#ifdef TCPCC_HAVE_CONG_CONTROL_ACK
	inet_csk(sk)->icsk_ca_ops->cong_control(sk, tcp_sk(sk)->snd_una, 0, rs);
#else
	inet_csk(sk)->icsk_ca_ops->cong_control(sk, rs);
#endif
}

/* Paces at one cwnd in each rtt, times the factor of the sysctl: tcp_update_pacing_rate() */
static void bench_pace(struct sock *sk)
{
	const struct net *net = sock_net(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool starting = tcp_snd_cwnd(tp) < tp->snd_ssthresh / 2;
	u64 rate = (u64)max(tcp_snd_cwnd(tp), tp->packets_out) * tp->mss_cache;

	rate *= starting ? READ_ONCE(net->ipv4.sysctl_tcp_pacing_ss_ratio) :
			   READ_ONCE(net->ipv4.sysctl_tcp_pacing_ca_ratio);
	rate *= (USEC_PER_SEC / 100) << 3;
	if (likely(tp->srtt_us))
		rate = div_u64(rate, tp->srtt_us);
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/* Proportional rate reduction, RFC 6937, for an ACK without a new loss: tcp_cwnd_reduction() */
static void bench_reduce(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 in_flight = tcp_packets_in_flight(tp);
	s32 room = tp->snd_ssthresh - in_flight, send;

	tp->prr_delivered += rs->acked_sacked;
	if (room < 0)
		send = div_u64((u64)tp->snd_ssthresh * tp->prr_delivered + tp->prior_cwnd - 1,
			       tp->prior_cwnd) - tp->prr_out;
	else
		send = min_t(s32, room, max_t(s32, tp->prr_delivered - tp->prr_out,
					      rs->acked_sacked) + 1);
	send = max(send, tp->prr_out ? 0 : 1);
	tcp_snd_cwnd_set(tp, in_flight + send);
	tp->prr_out += rs->acked_sacked; /* as many segments are sent as were acknowledged */
}

static void bench_ack(struct sock *sk, const struct bench_script *script)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	struct ack_sample sample;
	struct rate_sample rs;

	/* keeps cwnd near CWND: neither above the room of the path nor at a low value for long */
	if (unlikely(cwnd < CWND / 2 || cwnd > 2 * CWND)) {
		cwnd = CWND;
		tcp_snd_cwnd_set(tp, cwnd);
	}
	noise = noise * 1664525 + 1013904223;
	tp->tcp_mstamp += SEG_US * script->segs;
	tp->tcp_clock_cache += (u64)SEG_US * script->segs * NSEC_PER_USEC;
	tp->snd_una += script->segs * MSS;
	tp->snd_nxt = tp->snd_una + cwnd * MSS;
	tp->write_seq = tp->snd_nxt;
	tp->delivered += script->segs;
	tp->delivered_mstamp = tp->tcp_mstamp;
	tp->packets_out = cwnd;
	tp->max_packets_out = script->limited ? cwnd / 4 : cwnd;
	tp->is_cwnd_limited = !script->limited;
	tp->app_limited = script->limited ? tp->delivered + cwnd : 0;
	rs = (struct rate_sample) {
		.prior_mstamp = tp->tcp_mstamp - RTT_US,
		.prior_delivered = tp->delivered - cwnd,
		.delivered = cwnd,
		.interval_us = RTT_US,
		.snd_interval_us = RTT_US,
		.rcv_interval_us = RTT_US,
		.rtt_us = RTT_US + (noise >> 22),
		.acked_sacked = script->segs,
		.prior_in_flight = cwnd,
		.is_app_limited = script->limited,
	};
	if (ops->pkts_acked) {
		sample = (struct ack_sample) {
			.pkts_acked = script->segs,
			.rtt_us = rs.rtt_us,
			.in_flight = cwnd,
		};
		ops->pkts_acked(sk, &sample);
	}
	if (ops->in_ack_event)
		ops->in_ack_event(sk, 0);
	if (ops->cong_control) {
		bench_cong_control(sk, &rs);
	} else if (ops->cong_avoid != nothing_cong_avoid) {
		if (script->state == TCP_CA_Open)
			ops->cong_avoid(sk, tp->snd_una, script->segs);
		else
			bench_reduce(sk, &rs);
		bench_pace(sk);
	}
}

/* Measures the time of @many chunks, and writes it to @ns */
static void bench_round(const struct bench_script *script, u32 *ns, u32 many)
{
	u32 at = next_flow, i;
	u64 start;

	while (many--) {
		local_bh_disable();
		start = ktime_get_ns();
		for (i = 0; i < CHUNK; i++) {
			bench_ack(flows[at].sock->sk, script);
			flows[at].acks++;
			at = (at + STRIDE) % sockets;
		}
		*ns++ = ktime_get_ns() - start;
		local_bh_enable();
		cond_resched();
	}
	next_flow = at;
}

/* tcp_set_ca_state() */
static void bench_state(struct sock *sk, u8 state)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (icsk->icsk_ca_ops->set_state)
		icsk->icsk_ca_ops->set_state(sk, state);
	icsk->icsk_ca_state = state;
}

static int bench_choose(const char *cc)
{
	u32 i;
	int err;

	for (i = 0; i < sockets; i++) {
		struct sock *sk = flows[i].sock->sk;
		struct tcp_sock *tp = tcp_sk(sk);

		err = flows[i].sock->ops->setsockopt(flows[i].sock, SOL_TCP, TCP_CONGESTION,
						     KERNEL_SOCKPTR((void *)cc), strlen(cc));
		if (err)
			return err;
		flows[i].acks = 0;
		tcp_snd_cwnd_set(tp, CWND);
		tp->snd_ssthresh = CWND / 2;
		bench_state(sk, TCP_CA_Open);
	}
	return 0;
}

/* Each socket has lost a segment: tcp_enter_recovery() */
static void bench_lose(void)
{
	u32 i;

	for (i = 0; i < sockets; i++) {
		struct sock *sk = flows[i].sock->sk;
		struct tcp_sock *tp = tcp_sk(sk);

		tp->prior_cwnd = tcp_snd_cwnd(tp);
		tp->prr_delivered = 0;
		tp->prr_out = 0;
		tp->snd_ssthresh = inet_csk(sk)->icsk_ca_ops->ssthresh(sk);
		tp->high_seq = tp->snd_nxt;
		bench_state(sk, TCP_CA_Recovery);
	}
}

/* Opens a socket in the state after tcp_finish_connect(): its SYN has been answered */
static int bench_open(u32 i)
{
	struct tcp_sock *tp;
	int err;

	err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &flows[i].sock);
	if (err)
		return err;
	tp = tcp_sk(flows[i].sock->sk);
	tp->tcp_clock_cache = tcp_clock_ns();
	tp->tcp_mstamp = div_u64(tp->tcp_clock_cache, NSEC_PER_USEC);
	tp->mss_cache = MSS;
	tp->snd_wnd = U32_MAX / 2;
	tp->snd_cwnd_clamp = 4 * CWND;
	tp->rx_opt.sack_ok = TCP_SACK_SEEN;
	tp->delivered = 2 * CWND;
	tp->data_segs_out = 2 * CWND;
	tp->srtt_us = RTT_US << 3;
	tp->lsndtime = tcp_jiffies32;
	minmax_reset(&tp->rtt_min, tcp_jiffies32, RTT_US);
	inet_csk(flows[i].sock->sk)->icsk_rto = HZ;
	flows[i].sock->sk->sk_state = TCP_ESTABLISHED;
	return 0;
}

static void bench_close(void)
{
	u32 i;

	for (i = 0; i < sockets && flows[i].sock; i++) {
		flows[i].sock->sk->sk_state = TCP_CLOSE;
		tcp_sk(flows[i].sock->sk)->packets_out = 0;
		sock_release(flows[i].sock);
		if (!(i % CHUNK))
			cond_resched();
	}
	vfree(flows);
}

static int bench_order(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

static u32 bench_median(u32 *ns)
{
	sort(ns, rounds * chunks, sizeof(ns[0]), bench_order, NULL);
	return ns[rounds * chunks / 2];
}

/* Extends the range from @few to @most by the numbers of ACKs that the sockets have had */
static void bench_acks(u32 *few, u32 *most)
{
	u32 i;

	for (i = 0; i < sockets; i++) {
		*few = min(*few, flows[i].acks);
		*most = max(*most, flows[i].acks);
	}
}

static int bench_script(char **names, u32 many, const struct bench_script *script)
{
	u32 few = U32_MAX, most = 0, least, i, r;
	int err;

	for (r = 0; r < rounds; r++) {
		for (i = 0; i < many; i++) {
			u32 *ns = &times[i][r * chunks];

			err = bench_choose(names[i]);
			if (err) {
				pr_err("cc_bench: no congestion control %s\n", names[i]);
				return err;
			}
			/* a loss comes after the start */
			if (script->state == TCP_CA_Recovery) {
				bench_round(&scripts[0], ns, chunks);
				bench_lose();
			}
			/* the first run only fills caches and estimators */
			bench_round(script, ns, chunks);
			bench_round(script, ns, chunks);
			bench_acks(&few, &most);
		}
	}
	pr_warn("cc_bench: %s: %u sockets had %u to %u ACKs each\n", script->name, sockets, few,
		most);
	if (few < 2)
		return -EIO;
	least = bench_median(times[0]);
	for (i = 1; i < many; i++) {
		s32 more = bench_median(times[i]) - least;

		pr_warn("cc_bench: %s: %s: %u sockets: %d ps per ACK\n", names[i], script->name,
			sockets, more * 1000 / (s32)CHUNK);
	}
	return 0;
}

/* Sets the congestion control of each socket, and processes one ACK on each */
static int bench_hold(const char *cc)
{
	int err = bench_choose(cc);
	u32 at;

	for (at = 0; at < sockets && !err; at++) {
		local_bh_disable();
		bench_ack(flows[at].sock->sk, scripts);
		local_bh_enable();
		if (!(at % CHUNK))
			cond_resched();
	}
	return err;
}

/*
 * Logs the additional memory per socket of each congestion control, and how much memory is still
 * in use after the sockets have another one
 */
static int bench_held(char **names, u32 many)
{
	s64 least = bench_memory(), held;
	u32 i, r;
	int err;

	for (i = 1; i < many; i++) {
		for (r = 0; r < (chunks ? 1 : rounds); r++) {
			s64 before = bench_memory();

			err = bench_hold(names[i]);
			if (err)
				return err;
			held = bench_memory() - before;
			err = bench_choose(nothing.name);
			if (err)
				return err;
			pr_warn("cc_bench: %s: %u sockets: %lld bytes per socket, %lld left\n",
				names[i], sockets, div_s64(held, sockets), bench_memory() - least);
		}
	}
	return 0;
}

static int __init bench_init(void)
{
	char *names[CCS] = { nothing.name }, *list, *at;
	s64 before, held;
	u32 many = 1, i;
	int err;

	if (chunks)
		chunks = max(chunks, DIV_ROUND_UP(sockets, CHUNK));
	if (!sockets || !rounds || rounds > TIMES / max(chunks, 1U))
		return -EINVAL;
	/* a copy, because strsep() writes into it */
	list = kstrdup(ccs, GFP_KERNEL);
	flows = vcalloc(sockets, sizeof(flows[0]));
	err = list && flows ? tcp_register_congestion_control(&nothing) : -ENOMEM;
	if (err) {
		vfree(flows);
		goto free;
	}
	at = list;
	while (at && many < CCS)
		names[many++] = strsep(&at, ",");
	before = bench_memory();
	for (i = 0; i < sockets && !err; i++)
		err = bench_open(i);
	held = bench_memory() - before;
	if (!err)
		err = bench_choose(nothing.name);
	if (!err)
		err = bench_held(names, many);
	for (i = 0; chunks && i < ARRAY_SIZE(scripts) && !err; i++)
		err = bench_script(names, many, &scripts[i]);
	bench_close();
	pr_warn("cc_bench: socket: %u sockets: %lld bytes per socket, %lld left\n", sockets,
		div_s64(held, sockets), bench_memory() - before);
	tcp_unregister_congestion_control(&nothing);
free:
	kfree(list);
	return err;
}

static void __exit bench_exit(void)
{
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Cost of an ACK in a congestion control");
