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
 * With a + after its name (ccs=acp+) an explicit sender gets a word of a router with each ACK, and
 * so follows its law; without a word it is Reno.  The bench puts the echo into the entry that
 * tcp_feedback has of the flow, and the sender takes it from there.  See bench_word().
 * The result is the difference to the same ACKs with a congestion control that does nothing, with
 * the same echoes.  So what tcp_feedback does to bring an echo is not included.  All
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

#include "../../feedback/tcp_feedback.h"
#include "bench_memory.h"
#include "tcpcc_compat.h"
#include "tcpcc_estcp.h"
#include "tcpcc_feedback.h"
#include "tcpcc_view.h"

#define MSS		1448U
#define RTT_US		40000U
#define ACKS		100U	/* in a round trip */
#define GRO		44U	/* segments that one ACK acknowledges, as with GRO */
#define MOST		(4 * GRO * ACKS)	/* the largest window, segments */
#define CHUNK		200U	/* ACKs that are timed together, with softirqs off */
#define STRIDE		7919U	/* from one socket to the next: a prime */
#define CCS		40
#define BASES		2	/* of these, the first to which the others are compared */
#define WARM		64	/* ACKs that a sender needs to believe a router */
#define WORDS		16U	/* a power of two */
#define TIMES		4096	/* the most chunks that are timed for one congestion control */

static char *ccs = "reno,cubic,bbr";
module_param(ccs, charp, 0);
MODULE_PARM_DESC(ccs, "congestion controls, separated by commas; name+: with a word for each ACK");

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
 * @cwnd: window, about, segments
 * @state: state of the socket, TCP_CA_*
 * @limited: the application has too little to send
 */
struct bench_script {
	const char *name;
	u32 segs;
	u32 cwnd;
	u8 state;
	bool limited;
};

/*
 * There are 100 ACKs in a round trip, so the work that a congestion control does once in a round
 * trip counts as a hundredth.  With few ACKs there are 2.3.
 */
static const struct bench_script scripts[] = {
	{ "open", 1, ACKS, TCP_CA_Open },
	{ "open, 44 segments", GRO, GRO * ACKS, TCP_CA_Open },
	{ "open, few ACKs", GRO, ACKS, TCP_CA_Open },
	{ "recovery", 1, ACKS, TCP_CA_Recovery },
	{ "recovery, 44 segments", GRO, GRO * ACKS, TCP_CA_Recovery },
	{ "limited", 1, ACKS, TCP_CA_Open, true },
	{ "limited, 44 segments", GRO, GRO * ACKS, TCP_CA_Open, true },
};

/**
 * struct bench_cc - a congestion control
 * @name: its name
 * @granted: each ACK brings a word of a router
 */
struct bench_cc {
	const char *name;
	bool granted;
};

/**
 * struct bench_flow - a socket that gets ACKs
 * @sock: the socket
 * @fb: its entry in tcp_feedback, if it gets words
 * @acks: ACKs since it has its congestion control
 */
struct bench_flow {
	struct socket *sock;
	struct tcpcc_feedback *fb;
	u32 acks;
};

static struct bench_flow *flows;
static u32 times[CCS][TIMES];	/* time of each chunk, ns */
static u32 words[WORDS];	/* that routers send to the present congestion control */
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

/* Does nothing either, but has an entry in tcp_feedback, as the first thing of its state */
static void echoes_init(struct sock *sk)
{
	struct tcpcc_feedback **fb = inet_csk_ca(sk);

	*fb = tcpcc_feedback_attach(sk, TCPCC_FB_ACP);
}

static void echoes_release(struct sock *sk)
{
	struct tcpcc_feedback **fb = inet_csk_ca(sk);

	tcpcc_feedback_detach(sk, *fb);
}

static struct tcp_congestion_ops echoes __read_mostly = {
	.name		= "bench_echoes",
	.owner		= THIS_MODULE,
	.init		= echoes_init,
	.release	= echoes_release,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.cong_avoid	= nothing_cong_avoid,
};

/* The results are the differences to the first of these, or to the second if there are words. */
static struct bench_cc list[CCS] = { { "bench_nothing" }, { "bench_echoes", true } };
static u32 listed = BASES;

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
	u32 ack_us = RTT_US * script->segs / script->cwnd;
	u32 cwnd = tcp_snd_cwnd(tp);
	struct ack_sample sample;
	struct rate_sample rs;

	/* keeps cwnd near its first value: not above the room of the path, nor low for long */
	if (unlikely(cwnd < script->cwnd / 2 || cwnd > 2 * script->cwnd)) {
		cwnd = script->cwnd;
		tcp_snd_cwnd_set(tp, cwnd);
	}
	noise = noise * 1664525 + 1013904223;
	tp->tcp_mstamp += ack_us;
	tp->tcp_clock_cache += (u64)ack_us * NSEC_PER_USEC;
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

/**
 * bench_word() - one of the words that routers send in turn
 * @protocol: enum tcpcc_fb_protocol
 * @cwnd: window to grant, segments
 * @i: 0 to WORDS - 1
 *
 * The words differ, as if routers computed anew for each ACK: rates by up to a sixteenth, a quarter
 * of them with H_congestion; changes to both sides, which add up to none; and codepoints of one
 * phase, three in eight of them marked.  A phase lasts for a second and more, so its end is not
 * measured.
 *
 * Return: the word
 */
static u32 bench_word(u8 protocol, u32 cwnd, u32 i)
{
	u64 rate = div_u64((u64)cwnd * MSS * USEC_PER_SEC, RTT_US);
	s32 way = 2 * i + 1 - WORDS;

	if (protocol == TCPCC_FB_ESTCP)
		return tcpcc_fb_tally(0, i % 8 < 3 ? TCPCC_ESTCP_MARK : 0, 1);
	if (protocol == TCPCC_FB_XCP)
		return tcpcc_fb_change_word(way * (s32)(rate >> 12));
	return tcpcc_fb_encode(rate + way * (s64)(rate >> 8), !(i % 4));
}

/* An ACK has brought the echo of a word. */
static void bench_echo(struct bench_flow *flow)
{
	atomic64_set(&flow->fb->taken, 1ULL << 32 | words[noise / (U32_MAX / WORDS + 1)]);
}

static void bench_ack_of(struct bench_flow *flow, const struct bench_cc *cc,
			 const struct bench_script *script)
{
	if (cc->granted)
		bench_echo(flow);
	bench_ack(flow->sock->sk, script);
	flow->acks++;
}

/* Measures the time of @chunks chunks, and writes it to @ns */
static void bench_round(const struct bench_cc *cc, const struct bench_script *script, u32 *ns)
{
	u32 at = next_flow, left, i;
	u64 start;

	for (left = chunks; left; left--) {
		local_bh_disable();
		start = ktime_get_ns();
		for (i = 0; i < CHUNK; i++) {
			bench_ack_of(&flows[at], cc, script);
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

static int bench_choose(const struct bench_cc *cc, const struct bench_script *script)
{
	sockptr_t name = KERNEL_SOCKPTR((void *)cc->name);
	u32 i, j;
	int err;

	for (i = 0; i < sockets; i++) {
		struct sock *sk = flows[i].sock->sk;
		struct tcp_sock *tp = tcp_sk(sk);

		err = flows[i].sock->ops->setsockopt(flows[i].sock, SOL_TCP, TCP_CONGESTION,
						     name, strlen(cc->name));
		if (err) {
			pr_err("cc_bench: no congestion control %s\n", cc->name);
			return err;
		}
		flows[i].acks = 0;
		flows[i].fb = cc->granted ? *(struct tcpcc_feedback **)inet_csk_ca(sk) : NULL;
		if (cc->granted && !flows[i].fb)
			return -ENOMEM;
		tp->snd_cwnd_clamp = 4 * script->cwnd;
		tcp_snd_cwnd_set(tp, script->cwnd);
		tp->snd_ssthresh = script->cwnd / 2;
		bench_state(sk, TCP_CA_Open);
	}
	for (j = 0; cc->granted && j < WORDS; j++)
		words[j] = bench_word(flows[0].fb->protocol, script->cwnd, j);
	return 0;
}

/* So many ACKs in a row for each socket that it follows the words */
static void bench_warm(const struct bench_cc *cc, const struct bench_script *script)
{
	u32 i, j;

	for (i = 0; i < sockets; i++) {
		local_bh_disable();
		for (j = 0; j < WARM; j++)
			bench_ack_of(&flows[i], cc, script);
		local_bh_enable();
		if (!(i % CHUNK))
			cond_resched();
	}
}

/* Whether all senders follow the words, and have taken all of them */
static bool bench_follow(void)
{
	u32 i;

	for (i = 0; i < sockets; i++) {
		struct sock *sk = flows[i].sock->sk;
		const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
		struct tcpcc_view view = {};
		int attr;

		if (ops == &echoes)
			continue;
		ops->get_info(sk, TCPCC_VIEW, &attr, &view.form);
		if (!view.mode || !strcmp(view.mode, "start") || !strcmp(view.mode, "fallback") ||
		    atomic64_read(&flows[i].fb->taken)) {
			pr_err("cc_bench: %s does not follow the words: %s\n", ops->name,
			       view.mode ?: "no mode");
			return false;
		}
	}
	return true;
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
	tp->rx_opt.sack_ok = TCP_SACK_SEEN;
	tp->delivered = MOST;
	tp->data_segs_out = MOST;
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

/* Measures congestion control @i once */
static int bench_turn(u32 i, const struct bench_script *script, u32 *ns)
{
	const struct bench_cc *cc = &list[i];
	struct bench_script open = *script;
	int err = bench_choose(cc, script);

	if (err)
		return err;
	open.state = TCP_CA_Open;
	if (cc->granted)
		bench_warm(cc, &open);
	/* a loss comes after the start */
	if (script->state == TCP_CA_Recovery) {
		bench_round(cc, &open, ns);
		bench_lose();
	}
	/* the first run only fills caches and estimators */
	bench_round(cc, script, ns);
	bench_round(cc, script, ns);
	return cc->granted && !bench_follow() ? -EIO : 0;
}

static const char *bench_name(const struct bench_cc *cc, char *name, size_t size)
{
	snprintf(name, size, "%s%s", cc->name, cc->granted ? ", granted" : "");
	return name;
}

static int bench_script(const struct bench_script *script)
{
	u32 few = U32_MAX, most = 0, least[BASES], i, r;
	char name[64];
	int err;

	for (r = 0; r < rounds; r++) {
		for (i = 0; i < listed; i++) {
			err = bench_turn(i, script, &times[i][r * chunks]);
			if (err)
				return err;
			bench_acks(&few, &most);
		}
	}
	pr_warn("cc_bench: %s: %u sockets had %u to %u ACKs each\n", script->name, sockets, few,
		most);
	if (few < 2)
		return -EIO;
	for (i = 0; i < listed; i++) {
		u32 each = bench_median(times[i]);

		if (i < BASES)
			least[i] = each;
		else
			pr_warn("cc_bench: %s: %s: %u sockets: %d ps per ACK\n",
				bench_name(&list[i], name, sizeof(name)), script->name, sockets,
				(s32)(each - least[list[i].granted]) * 1000 / (s32)CHUNK);
	}
	return 0;
}

/* Sets the congestion control of each socket, and processes one ACK on each */
static int bench_hold(const struct bench_cc *cc)
{
	int err = bench_choose(cc, scripts);
	u32 at;

	for (at = 0; at < sockets && !err; at++) {
		local_bh_disable();
		bench_ack_of(&flows[at], cc, scripts);
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
static int bench_held(void)
{
	s64 least = bench_memory(), held;
	char name[64];
	u32 i, r;
	int err;

	for (i = BASES; i < listed; i++) {
		for (r = 0; r < (chunks ? 1 : rounds); r++) {
			s64 before = bench_memory();

			err = bench_hold(&list[i]);
			if (err)
				return err;
			held = bench_memory() - before;
			err = bench_choose(&list[0], scripts);
			if (err)
				return err;
			pr_warn("cc_bench: %s: %u sockets: %lld bytes per socket, %lld left\n",
				bench_name(&list[i], name, sizeof(name)), sockets,
				div_s64(held, sockets), bench_memory() - least);
		}
	}
	return 0;
}

/* Adds the congestion controls of @names to the list; writes into @names */
static void bench_list(char *names)
{
	while (names && listed < CCS) {
		char *name = strsep(&names, ","), *end = name + strlen(name);

		list[listed].granted = end > name && end[-1] == '+';
		if (list[listed].granted)
			end[-1] = 0;
		list[listed++].name = name;
	}
}

static int __init bench_init(void)
{
	char *names;
	s64 before, held;
	u32 i;
	int err;

	if (chunks)
		chunks = max(chunks, DIV_ROUND_UP(sockets, CHUNK));
	if (!sockets || !rounds || rounds > TIMES / max(chunks, 1U))
		return -EINVAL;
	/* a copy, because strsep() writes into it */
	names = kstrdup(ccs, GFP_KERNEL);
	flows = vcalloc(sockets, sizeof(flows[0]));
	err = names && flows ? tcp_register_congestion_control(&nothing) : -ENOMEM;
	if (err)
		goto free;
	err = tcp_register_congestion_control(&echoes);
	if (err)
		goto unregister;
	bench_list(names);
	before = bench_memory();
	for (i = 0; i < sockets && !err; i++)
		err = bench_open(i);
	held = bench_memory() - before;
	if (!err)
		err = bench_choose(&list[0], scripts);
	if (!err)
		err = bench_held();
	for (i = 0; chunks && i < ARRAY_SIZE(scripts) && !err; i++)
		err = bench_script(&scripts[i]);
	bench_close();
	pr_warn("cc_bench: socket: %u sockets: %lld bytes per socket, %lld left\n", sockets,
		div_s64(held, sockets), bench_memory() - before);
	tcp_unregister_congestion_control(&echoes);
unregister:
	tcp_unregister_congestion_control(&nothing);
free:
	vfree(flows);
	kfree(names);
	return err;
}

static void __exit bench_exit(void)
{
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Cost of an ACK in a congestion control");
