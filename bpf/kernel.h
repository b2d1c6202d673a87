/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of the kernel that a sender's file uses, for BPF.
 *
 * The same file is compiled as a module and as a BPF program.  For the program the Makefile makes
 * empty files in place of the kernel's headers, and this header defines what is needed of them:
 * members of structures, which CO-RE finds in the running kernel's structures; the kernel's inline
 * functions; and functions that the kernel allows BPF to call.  Nothing here belongs to a law.
 */
#ifndef _TCPCC_BPF_KERNEL_H
#define _TCPCC_BPF_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;

/* Defined here, because <linux/bpf.h> includes other headers of the kernel */
enum { BPF_MAP_TYPE_SK_STORAGE = 24, BPF_MAP_TYPE_RINGBUF = 27 };
enum { BPF_F_NO_PREALLOC = 1, BPF_SK_STORAGE_GET_F_CREATE = 1 };

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

/* Leave out our own headers that only a module can use; below are their replacements for BPF. */
#define _TCPCC_COMPAT_H
#define _TCPCC_PARAM_H
#define _PATH_SINGLE_H
#define _PATH_VISITS_H

/* ------------------------------------------------------------------------- */
/* The language                                                              */

#undef __always_inline
#define __always_inline		__attribute__((always_inline))
#define __used			__attribute__((used))
#define noinline		__attribute__((noinline))
#define inline			__always_inline
#define fallthrough		__attribute__((__fallthrough__))
#define static_assert		_Static_assert
#define likely(x)		(x)
#define unlikely(x)		(x)
#define __init
#define __exit
#define __read_mostly

#define U8_MAX			((u8)~0U)
#define U16_MAX			((u16)~0U)
#define U32_MAX			(~0U)
#define S32_MAX			((s32)(U32_MAX >> 1))
#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define BITS_PER_TYPE(type)	(sizeof(type) * 8)

#define USEC_PER_MSEC		1000L
#define NSEC_PER_USEC		1000L
#define USEC_PER_SEC		1000000L

#define READ_ONCE(x)		(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value)	(*(volatile typeof(x) *)&(x) = (value))
#define BUILD_BUG_ON(cond)	((void)sizeof(char[1 - 2 * !!(cond)]))
#define WARN_ON_ONCE(cond)	(cond)
#define memset			__builtin_memset

#undef container_of
#define container_of(ptr, type, member) \
	((type *)((void *)(ptr) - offsetof(type, member)))

/*
 * The verifier follows each path through a program.  A comparison in min() would double the number
 * of paths each time.  So min() has no comparison, or calls a function that is checked only once.
 */
noinline u64 tcpcc_min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

noinline s64 tcpcc_min_s64(s64 a, s64 b)
{
	return a < b ? a : b;
}

static inline s64 tcpcc_min_32(s64 a, s64 b)
{
	s64 less = a - b;

	/* without this the compiler would turn the result into a comparison */
	asm volatile("" : "+r"(less));
	return b + (less & (less >> 63));
}

#define tcpcc_is_signed(x)	((typeof(x))-1 < 1)

#define min(a, b) ({								\
	typeof(1 ? (a) : (b)) _a = (a), _b = (b);				\
	(typeof(_a))(sizeof(_a) <= 4 ? tcpcc_min_32(_a, _b) :			\
		     tcpcc_is_signed(_a) ? tcpcc_min_s64(_a, _b) :		\
		     (s64)tcpcc_min_u64(_a, _b));				\
})

#define max(a, b) ({								\
	typeof(1 ? (a) : (b)) _c = (a), _d = (b), _most;			\
										\
	_most = _c + _d - min(_c, _d);						\
	/* with @b >= 0 the result is not negative: unsigned division */	\
	__builtin_assume(_most >= _d);						\
	_most;									\
})

#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define min3(a, b, c)		min(min(a, b), c)
#define max3(a, b, c)		max(max(a, b), c)
#define clamp(value, lo, hi)	min(max(value, lo), hi)
#define clamp_t(type, value, lo, hi)	clamp((type)(value), (type)(lo), (type)(hi))

/* A BPF program may not set sk_pacing_shift. */
#define sk_pacing_shift_update(sk, shift) ((void)(shift))

/* Not atomic: only the owner of the socket writes such a field while a hook runs. */
#define cmpxchg(ptr, old, new)	({ if (*(ptr) == (old)) *(ptr) = (new); })

/* Registration and description of a module, not used here */
struct module;
#define THIS_MODULE		((struct module *)0)
#define KBUILD_MODNAME		"tcpcc"
#define module_init(function)	struct sock
#define module_exit(function)	struct sock
#define MODULE_AUTHOR(text)	struct sock
#define MODULE_DESCRIPTION(text) struct sock
#define MODULE_LICENSE(text)	struct sock
#define MODULE_ALIAS(text)	struct sock
#define EXPORT_SYMBOL_GPL(name)	struct sock

/* ------------------------------------------------------------------------- */
/* Arithmetic                                                                */

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

/* Before 6.6 BPF has only unsigned division. */
static inline s64 div_s64(s64 a, s32 b)
{
	u64 q = (a < 0 ? -(u64)a : (u64)a) / (b < 0 ? -(u32)b : (u32)b);

	return (a < 0) != (b < 0) ? -q : q;
}

/* @shift is at most 32 */
static inline u64 mul_u64_u32_shr(u64 a, u32 mul, u32 shift)
{
	return ((a >> 32) * mul << (32 - shift)) + ((u64)(u32)a * mul >> shift);
}

/* @shift is 1 to 63; the result must fit into 64 bits */
static inline u64 mul_u64_u64_shr(u64 a, u64 b, u32 shift)
{
	u64 low = (u64)(u32)a * (u32)b, high = (a >> 32) * (b >> 32);
	u64 mid = (a >> 32) * (u32)b + (low >> 32);
	u64 more = (u64)(u32)a * (b >> 32) + (u32)mid;

	high += (mid >> 32) + (more >> 32);
	low = more << 32 | (u32)low;
	return high << (64 - shift) | low >> shift;
}

static inline u64 mul_u64_u32_div(u64 a, u32 mul, u32 divisor)
{
	u64 low = (u64)(u32)a * mul;
	u64 high = (a >> 32) * mul + (low >> 32);

	low = (high % divisor) << 32 | (u32)low;
	return (high / divisor) << 32 | (u32)(low / divisor);
}

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline int fls(u32 x)
{
	return fls64(x);
}

static inline s32 sign_extend32(u32 value, int index)
{
	return (s32)(value << (31 - index)) >> (31 - index);
}

static inline unsigned long __fls(u64 x)
{
	return fls64(x) - 1;
}

static inline bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

#define after(a, b)	before(b, a)

/* ------------------------------------------------------------------------- */
/* Structures: CO-RE finds the offsets of the members in the running kernel  */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct netns_ipv4 {
	u8	sysctl_tcp_slow_start_after_idle;
};

struct net {
	struct netns_ipv4 ipv4;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	__be16	skc_dport;
	possible_net_t skc_net;
};

typedef struct {
	int	counter;
} atomic_t;

typedef struct refcount_struct {
	atomic_t refs;
} refcount_t;

struct sock {
	struct sock_common __sk_common;
	refcount_t sk_wmem_alloc;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32	sk_pacing_status;
	u8	sk_pacing_shift;
};

struct inet_sock {
	struct sock sk;
	__be16	inet_sport;
};

#define inet_dport	sk.__sk_common.skc_dport

#define ICSK_CA_PRIV_SIZE	(13 * sizeof(u64))

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u32	icsk_rto;
	u8	icsk_ca_state:5,
		icsk_ca_initialized:1,
		icsk_ca_setsockopt:1,
		icsk_ca_dst_locked:1;
	u64	icsk_ca_priv[13];
};

struct minmax_sample {
	u32	t;
	u32	v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_options_received {
	u32	rcv_tsval;
	u32	rcv_tsecr;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64	tcp_clock_cache;
	u64	tcp_mstamp;
	u64	tcp_wstamp_ns;
	u64	delivered_mstamp;
	struct minmax rtt_min;
	u32	snd_una;
	u32	snd_nxt;
	u32	snd_wnd;
	u32	write_seq;
	u32	snd_cwnd;
	u32	snd_cwnd_cnt;
	u32	snd_cwnd_clamp;
	u32	snd_ssthresh;
	u32	prior_cwnd;
	u32	prior_ssthresh;
	u32	srtt_us;
	u32	mdev_us;
	u32	mss_cache;
	u32	packets_out;
	u32	retrans_out;
	u32	lost_out;
	u32	sacked_out;
	u32	max_packets_out;
	u32	delivered;
	u32	delivered_ce;
	u32	lost;
	u32	app_limited;
	u32	lsndtime;
	u32	data_segs_out;
	u32	total_retrans;
	struct tcp_options_received rx_opt;
	u8	is_cwnd_limited:1;
	bool	is_mptcp;
};

struct rate_sample {
	u64	prior_mstamp;
	u32	prior_delivered;
	s32	delivered;
	long	interval_us;
	long	rtt_us;
	int	losses;
	u32	acked_sacked;
	bool	is_app_limited;
	bool	is_retrans;
	bool	is_ack_delayed;
};

struct ack_sample {
	u32	pkts_acked;
	s32	rtt_us;
	u32	in_flight;
};

struct sk_buff {
};

struct skb_shared_info {
};

#pragma clang attribute pop

enum { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };
enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

enum { CA_ACK_SLOWPATH = 1, CA_ACK_WIN_UPDATE = 2, CA_ACK_ECE = 4 };

#define TCP_INIT_CWND		10
#define TCP_INFINITE_SSTHRESH	0x7fffffff
#define TCP_CA_NAME_MAX		16
#define TCP_CONG_NON_RESTRICTED	1

/* For .get_info.  The kernel does not accept it from BPF, so the compiler leaves it out. */
enum { INET_DIAG_VEGASINFO = 3, INET_DIAG_BBRINFO = 16 };

union tcp_cc_info {
	struct {
		u32 bbr_bw_lo, bbr_bw_hi, bbr_min_rtt, bbr_pacing_gain, bbr_cwnd_gain;
	} bbr;
};

/* A part of the kernel's structure; libbpf finds each member there by its name. */
struct tcp_congestion_ops {
	u32	(*ssthresh)(struct sock *sk);
	void	(*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void	(*set_state)(struct sock *sk, u8 new_state);
	void	(*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
#ifdef TCPCC_HAVE_CWND_EVENT_TX_START
	void	(*cwnd_event_tx_start)(struct sock *sk);
#endif
	void	(*in_ack_event)(struct sock *sk, u32 flags);
	void	(*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	void	(*cong_control)(struct sock *sk, const struct rate_sample *rs);
	u32	(*undo_cwnd)(struct sock *sk);
	u32	(*sndbuf_expand)(struct sock *sk);
	size_t	(*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
	char	name[TCP_CA_NAME_MAX];
	struct module *owner;
	u32	flags;
	void	(*init)(struct sock *sk);
	void	(*release)(struct sock *sk);
};

/* ------------------------------------------------------------------------- */
/* The socket                                                                */

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline struct inet_sock *inet_sk(const struct sock *sk)
{
	return (struct inet_sock *)sk;
}

static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static inline void *inet_csk_ca(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_priv;
}

static inline struct net *sock_net(const struct sock *sk)
{
	return sk->__sk_common.skc_net.net;
}

static inline bool sk_is_mptcp(const struct sock *sk)
{
	return bpf_core_field_exists(tcp_sk(sk)->is_mptcp) && tcp_sk(sk)->is_mptcp;
}

static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}

static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 cwnd)
{
	tp->snd_cwnd = cwnd;
}

static inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

static inline u32 tcp_wnd_end(const struct tcp_sock *tp)
{
	return tp->snd_una + tp->snd_wnd;
}

static inline u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return tp->rtt_min.s[0].v;
}

static inline u32 tcp_stamp_us_delta(u64 t1, u64 t0)
{
	return max_t(s64, t1 - t0, 0);
}

static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/*
 * From 6.10 on .cong_control has four arguments.  CO-RE tests that when the program is loaded.
 */
struct tcp_congestion_ops___ack {
	void	(*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
} __attribute__((preserve_access_index));

#define tcpcc_is_6_10()	bpf_core_type_matches(struct tcp_congestion_ops___ack)

/*
 * Sets tp->app_limited if the application has left room in the window.  TCP does this when the
 * application writes, except for a subflow of MPTCP.  BPF may not write tp->app_limited in 6.1, but
 * may in 6.12.
 */
static inline void tcp_rate_check_app_limited(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 in_flight = tcp_packets_in_flight(tp);
	u32 segment = 1 + bpf_core_type_size(struct sk_buff) +
		      bpf_core_type_size(struct skb_shared_info);

	if (!tcpcc_is_6_10())
		return;
	if (tp->write_seq - tp->snd_nxt < tp->mss_cache && in_flight < tp->snd_cwnd &&
	    tp->lost_out <= tp->retrans_out && sk->sk_wmem_alloc.refs.counter - 1 < segment)
		tp->app_limited = tp->delivered + in_flight ?: 1;
}

/* The kernel's ticks per second; the command that loads the program sets it. */
const volatile u32 tcpcc_hz SEC(".rodata.hz") = 250;

#define HZ		tcpcc_hz
#define tcp_jiffies32	((u32)bpf_jiffies64())

#define ntohs(x)	bpf_ntohs(x)

extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) __ksym;
extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/* Only for the code of a module; never called here */
int tcp_register_congestion_control(struct tcp_congestion_ops *ops);
void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops);

/* ------------------------------------------------------------------------- */
/* In place of include/tcpcc_compat.h                                        */

#define tcpcc_cong_control(name) \
	static void name(struct sock *sk, const struct rate_sample *rs)

#include "tcpcc_cwnd_events.h"

/* ------------------------------------------------------------------------- */
/* In place of include/path_single.h: BPF may not write sk_gso_max_segs      */

static inline bool path_is_single(const struct sock *sk)
{
	return false;
}

static inline void path_limit_burst(struct sock *sk, u32 segs)
{
}

/* ------------------------------------------------------------------------- */
/* In place of include/path_visits.h: BPF remembers nothing                  */

struct path_visit {
	u64	bytes_ps;
	u32	rtt_min_us;
};

static inline bool path_visits_find(const struct sock *sk, u32 minutes, struct path_visit *visit)
{
	return false;
}

static inline void path_visits_store(const struct sock *sk, u64 bytes_ps, u32 rtt_min_us)
{
}

static inline int path_visits_register(void)
{
	return 0;
}

static inline void path_visits_unregister(void)
{
}

/* ------------------------------------------------------------------------- */
/* Parameters: variables of the program.  Section .modinfo has their ranges  */
/* as text, in a module's format, for the command that sets them.            */

#define TCPCC_PARAM(name, init, lo, hi, desc)					\
	unsigned int name SEC(".data.params") = (init);				\
	const char tcpcc_parameter_##name[] SEC(".modinfo") __used =	\
		"parameter=" #name ":" desc " (" #lo " to " #hi ", default " #init ")"

/* ------------------------------------------------------------------------- */
/* Tracepoints: records in a ring buffer, if tcpcc_watched is set.  Section  */
/* .modinfo has the members of the records, as C declarations.               */

bool tcpcc_watched SEC(".data.watched");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} tcpcc_events SEC(".maps");

#define TP_PROTO(args...)		args
#define TP_ARGS(args...)
#define TP_STRUCT__entry(fields...)	fields
#define TP_fast_assign(code...)		code
#define TP_printk(args...)
#define __field(type, name)		type name;

#define TCPCC_TEXT(x...)		#x
#define TCPCC_TEXT_OF(x...)		TCPCC_TEXT(x)

#define TRACE_EVENT(name, proto, args, fields, assign, print)			\
	struct event_##name {							\
		fields								\
	};									\
										\
	const char tcpcc_event_##name[] SEC(".modinfo") __used =	\
		"event=" #name ":" TCPCC_TEXT_OF(fields);			\
										\
	static inline bool trace_##name##_enabled(void)				\
	{									\
		return READ_ONCE(tcpcc_watched);				\
	}									\
										\
	static inline void trace_##name(proto)					\
	{									\
		struct event_##name *__entry =					\
			bpf_ringbuf_reserve(&tcpcc_events, sizeof(*__entry), 0);\
										\
		if (!__entry)							\
			return;							\
		assign								\
		bpf_ringbuf_submit(__entry, 0);					\
	}									\
	struct sock

#endif /* _TCPCC_BPF_KERNEL_H */
