// SPDX-License-Identifier: GPL-2.0
/*
 * Two congestion controls on one flow: a test that they do the same.
 *
 * At each hook, "twin" calls the first and the second congestion control with the same socket, each
 * with its own state.  It compares the results: the window, ssthresh, the pacing rate, the return
 * value of the hook, and the state itself.  TCP continues with the results of the first one.
 * Interrupts are off during both calls, so that both read the same time.
 *
 *	insmod tcp_twin.ko first=ccpd second=bpf_ccpd
 *	cat /sys/module/tcp_twin/parameters/{calls,acks,differences,first_ns,second_ns}
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/in.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/version.h>
#include <net/tcp.h>

#define TWIN_FLOWS	64

static char *first = "ccpd";
module_param(first, charp, 0444);
MODULE_PARM_DESC(first, "name of the first congestion control, whose results TCP uses");

static char *second = "bpf_ccpd";
module_param(second, charp, 0444);
MODULE_PARM_DESC(second, "name of the second congestion control");

static bool pointer;
module_param(pointer, bool, 0444);
MODULE_PARM_DESC(pointer, "the first 8 bytes of the state are a pointer: compare only whether it is NULL");

static unsigned long calls;
module_param(calls, ulong, 0444);
MODULE_PARM_DESC(calls, "number of hooks called and compared");

static unsigned long acks;
module_param(acks, ulong, 0444);
MODULE_PARM_DESC(acks, "number of these hooks that were for ACKs");

static unsigned long differences;
module_param(differences, ulong, 0444);
MODULE_PARM_DESC(differences, "number of hooks with different results");

static unsigned long first_ns;
module_param(first_ns, ulong, 0444);
MODULE_PARM_DESC(first_ns, "time of the first congestion control in all calls, ns");

static unsigned long second_ns;
module_param(second_ns, ulong, 0444);
MODULE_PARM_DESC(second_ns, "time of the second congestion control in all calls, ns");

/**
 * struct twin_result - what a congestion control can change
 * @value: return value of the hook
 * @cwnd: tp->snd_cwnd
 * @cwnd_cnt: tp->snd_cwnd_cnt
 * @ssthresh: tp->snd_ssthresh
 * @app_limited: tp->app_limited
 * @pacing_rate: sk->sk_pacing_rate, bytes/s
 * @pacing_status: sk->sk_pacing_status
 * @priv: state of the congestion control
 */
struct twin_result {
	u64	value;
	u32	cwnd;
	u32	cwnd_cnt;
	u32	ssthresh;
	u32	app_limited;
	unsigned long pacing_rate;
	u32	pacing_status;
	u64	priv[ICSK_CA_PRIV_SIZE / sizeof(u64)];
};

/**
 * struct twin - a flow
 * @sk: its socket; NULL: this entry is free
 * @priv: state of the second congestion control; that of the first is in the socket
 */
struct twin {
	struct sock *sk;
	u64	priv[ICSK_CA_PRIV_SIZE / sizeof(u64)];
};

static struct twin twins[TWIN_FLOWS];
static DEFINE_SPINLOCK(twins_lock);
static struct socket *holders[2];
static const struct tcp_congestion_ops *one, *other;

static struct twin *twin_of(struct sock *sk)
{
	int i;

	for (i = 0; i < TWIN_FLOWS; i++)
		if (twins[i].sk == sk)
			return &twins[i];
	return NULL;
}

static void twin_take(struct sock *sk, struct twin_result *r)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	r->cwnd = tp->snd_cwnd;
	r->cwnd_cnt = tp->snd_cwnd_cnt;
	r->ssthresh = tp->snd_ssthresh;
	r->app_limited = tp->app_limited;
	r->pacing_rate = sk->sk_pacing_rate;
	r->pacing_status = sk->sk_pacing_status;
	memcpy(r->priv, inet_csk(sk)->icsk_ca_priv, sizeof(r->priv));
}

static void twin_put(struct sock *sk, const struct twin_result *r)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_cwnd = r->cwnd;
	tp->snd_cwnd_cnt = r->cwnd_cnt;
	tp->snd_ssthresh = r->ssthresh;
	tp->app_limited = r->app_limited;
	sk->sk_pacing_rate = r->pacing_rate;
	sk->sk_pacing_status = r->pacing_status;
	memcpy(inet_csk(sk)->icsk_ca_priv, r->priv, sizeof(r->priv));
}

static void twin_compare(const char *hook, struct twin_result *a, struct twin_result *b)
{
	u64 mine = b->priv[0];
	int i;

	calls++;
	if (pointer)
		b->priv[0] = !mine == !a->priv[0] ? a->priv[0] : ~a->priv[0];
	if (memcmp(a, b, sizeof(*a)) && differences++ < 10) {
		pr_err("%s, call %lu: cwnd %u %u, cnt %u %u, ssthresh %u %u, pacing %lu %lu, value %llu %llu\n",
		       hook, calls, a->cwnd, b->cwnd, a->cwnd_cnt, b->cwnd_cnt, a->ssthresh,
		       b->ssthresh, a->pacing_rate, b->pacing_rate, a->value, b->value);
		for (i = 0; i < ARRAY_SIZE(a->priv); i++)
			if (a->priv[i] != b->priv[i])
				pr_err("  state[%d]: %016llx %016llx\n", i, a->priv[i], b->priv[i]);
	}
	b->priv[0] = mine;
}

/* Calls a hook of both; @store is an expression that calls "ops" and may set "value". */
#define TWIN_BOTH(sk, hook, store) ({						\
	struct twin_result _before = {}, _a = {}, _b = {};			\
	struct twin *_twin = twin_of(sk);					\
	const struct tcp_congestion_ops *ops = one;				\
	unsigned long _flags;							\
	u64 value = 0, _start;							\
										\
	local_irq_save(_flags);							\
	twin_take(sk, &_before);						\
	_start = ktime_get_ns();						\
	store;									\
	first_ns += ktime_get_ns() - _start;					\
	twin_take(sk, &_a);							\
	_a.value = value;							\
	if (_twin) {								\
		memcpy(_before.priv, _twin->priv, sizeof(_before.priv));	\
		twin_put(sk, &_before);						\
		ops = other;							\
		_start = ktime_get_ns();					\
		store;								\
		second_ns += ktime_get_ns() - _start;				\
		twin_take(sk, &_b);						\
		_b.value = value;						\
		twin_compare(#hook, &_a, &_b);					\
		memcpy(_twin->priv, _b.priv, sizeof(_b.priv));			\
		twin_put(sk, &_a);						\
	}									\
	local_irq_restore(_flags);						\
	_a.value;								\
})

static void twin_init(struct sock *sk)
{
	struct twin *twin;

	spin_lock_bh(&twins_lock);
	twin = twin_of(sk) ?: twin_of(NULL);
	if (twin) {
		memset(twin, 0, sizeof(*twin));
		twin->sk = sk;
	}
	spin_unlock_bh(&twins_lock);
	TWIN_BOTH(sk, init, ops->init(sk));
}

/* release() may be missing in one of them: ccpd_path remembers visits only as a module. */
static void twin_release_one(const struct tcp_congestion_ops *ops, struct sock *sk)
{
	if (ops->release)
		ops->release(sk);
}

static void twin_release(struct sock *sk)
{
	struct twin *twin = twin_of(sk);

	TWIN_BOTH(sk, release, twin_release_one(ops, sk));
	if (twin)
		twin->sk = NULL;
}

static u32 twin_ssthresh(struct sock *sk)
{
	return TWIN_BOTH(sk, ssthresh, value = ops->ssthresh(sk));
}

static u32 twin_undo_cwnd(struct sock *sk)
{
	return TWIN_BOTH(sk, undo_cwnd, value = ops->undo_cwnd(sk));
}

static u32 twin_sndbuf_expand(struct sock *sk)
{
	return TWIN_BOTH(sk, sndbuf_expand, value = ops->sndbuf_expand(sk));
}

static void twin_set_state(struct sock *sk, u8 state)
{
	TWIN_BOTH(sk, set_state, ops->set_state(sk, state));
}

static void twin_in_ack_event(struct sock *sk, u32 flags)
{
	TWIN_BOTH(sk, in_ack_event, ops->in_ack_event(sk, flags));
}

static void twin_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	acks++;
	TWIN_BOTH(sk, pkts_acked, ops->pkts_acked(sk, sample));
}

static void twin_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	TWIN_BOTH(sk, cong_avoid, ops->cong_avoid(sk, ack, acked));
}

static void twin_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	TWIN_BOTH(sk, cwnd_event, ops->cwnd_event(sk, event));
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
static void twin_tx_start(struct sock *sk)
{
	TWIN_BOTH(sk, cwnd_event_tx_start, ops->cwnd_event_tx_start(sk));
}
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
static void twin_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	acks++;
	TWIN_BOTH(sk, cong_control, ops->cong_control(sk, ack, flag, rs));
}
#else
static void twin_cong_control(struct sock *sk, const struct rate_sample *rs)
{
	acks++;
	TWIN_BOTH(sk, cong_control, ops->cong_control(sk, rs));
}
#endif

static struct tcp_congestion_ops twin_ops __read_mostly = {
	.name		= "twin",
	.owner		= THIS_MODULE,
	.init		= twin_init,
	.release	= twin_release,
	.ssthresh	= twin_ssthresh,
	.undo_cwnd	= twin_undo_cwnd,
};

/* Holds a congestion control with an unconnected socket, and returns its ops; NULL on error. */
static const struct tcp_congestion_ops *twin_hold(struct socket **sock, char *name)
{
	int err = sock_create_kern(&init_net, PF_INET, SOCK_STREAM, IPPROTO_TCP, sock);

	if (!err)
		err = (*sock)->ops->setsockopt(*sock, SOL_TCP, TCP_CONGESTION,
					       KERNEL_SOCKPTR(name), strlen(name));
	if (err) {
		pr_err("no congestion control %s: %d\n", name, err);
		return NULL;
	}
	return inet_csk((*sock)->sk)->icsk_ca_ops;
}

static void twin_drop(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(holders); i++)
		if (holders[i])
			sock_release(holders[i]);
}

/*
 * Gives "twin" the hooks of the first one.  Return: true if the second one has the same hooks,
 * except release(), and the same flags.
 */
static bool twin_hooks(void)
{
	twin_ops.flags = one->flags;
	twin_ops.sndbuf_expand = one->sndbuf_expand ? twin_sndbuf_expand : NULL;
	twin_ops.set_state = one->set_state ? twin_set_state : NULL;
	twin_ops.in_ack_event = one->in_ack_event ? twin_in_ack_event : NULL;
	twin_ops.pkts_acked = one->pkts_acked ? twin_pkts_acked : NULL;
	twin_ops.cong_avoid = one->cong_avoid ? twin_cong_avoid : NULL;
	twin_ops.cwnd_event = one->cwnd_event ? twin_cwnd_event : NULL;
	twin_ops.cong_control = one->cong_control ? twin_cong_control : NULL;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
	twin_ops.cwnd_event_tx_start = one->cwnd_event_tx_start ? twin_tx_start : NULL;
	if (!one->cwnd_event_tx_start != !other->cwnd_event_tx_start)
		return false;
#endif
	return one->flags == other->flags &&
	       !one->sndbuf_expand == !other->sndbuf_expand &&
	       !one->set_state == !other->set_state &&
	       !one->in_ack_event == !other->in_ack_event &&
	       !one->pkts_acked == !other->pkts_acked &&
	       !one->cong_avoid == !other->cong_avoid &&
	       !one->cwnd_event == !other->cwnd_event &&
	       !one->cong_control == !other->cong_control;
}

static int __init twin_begin(void)
{
	bool same;
	int err;

	one = twin_hold(&holders[0], first);
	other = one ? twin_hold(&holders[1], second) : NULL;
	if (!other) {
		twin_drop();
		return -ENOENT;
	}
	same = twin_hooks();
	if (!same)
		pr_err("%s and %s have not the same hooks and flags\n", first, second);
	err = same ? tcp_register_congestion_control(&twin_ops) : -EINVAL;
	if (err)
		twin_drop();
	return err;
}

static void __exit twin_end(void)
{
	tcp_unregister_congestion_control(&twin_ops);
	twin_drop();
}

module_init(twin_begin);
module_exit(twin_end);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Two congestion controls on one flow, compared");
