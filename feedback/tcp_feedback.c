// SPDX-License-Identifier: GPL-2.0
/*
 * Carriage of explicit feedback.  This module adds a congestion header to the segments of
 * a flow.  The receiver's ACKs return the header as routers changed it, and the module gives
 * it to the sender's congestion control.  The kernel needs no patch.  The module does not
 * interpret the numbers: ACP, XCP and RCP use it in the same way.  ESTCP uses two bits of the
 * IP header instead of a congestion header.
 *
 *      sender                      routers                     receiver
 *   TCP                                                                TCP
 *    | LOCAL_OUT: insert info, word    change the     LOCAL_IN: store the |
 *    | ------------------------------>   word   ----> word                |
 *    | LOCAL_IN: hand over the echo                   LOCAL_OUT: insert   |
 *    | <---------------------------------------------- the word as echo   |
 *
 * include/tcpcc_feedback.h documents the header byte by byte.
 *
 * Hooks.  The module uses Netfilter hooks next to TCP: the first at LOCAL_OUT, and the last at
 * LOCAL_IN.  So addresses and ports are those of the socket, even with NAT.  The hooks are
 * registered in every network namespace when the module is loaded, because a receiver cannot
 * request them: a header is the first thing that it sees of a flow.
 *
 * Cost for other traffic.  An arriving segment is skipped if the byte after its TCP header is
 * not 253.  A leaving segment is skipped while its namespace has no flow.  This check is a load
 * and a comparison.  A static branch is not possible, because a receiver's first flow appears
 * in a softirq.  While there are flows, a leaving segment is looked up in their table if its
 * socket has a cookie.
 *
 * Flows.  Each local end has one entry in a table of its network namespace.  The key is the
 * cookie of its socket, which is unique for ever.  tcpcc_feedback_attach() makes a sender's
 * entry, and tcpcc_feedback_detach() removes it.  The first header that arrives makes a
 * receiver's entry, and the parameter "receivers" limits their number in a namespace.  After
 * ten seconds without a header a receiver's entry is removed.  The next header makes a new one,
 * and nothing is lost.
 *
 * Forged segments.  A header counts only if TCP will accept its segment: there is a connection,
 * the checksum is right, and sequence number, ACK and timestamp are valid for this connection.
 * So an attacker who knows addresses and ports, but does not see the packets, can no more inject a
 * header than data.  A segment without a connection makes no entry.
 * The socket is not locked for this check: TCP locks it next, and after an NFQUEUE verdict the
 * hook runs in a process, where a socket's lock must not be taken as in a softirq.
 *
 * Echoes.  Each word is echoed once, in the next segment that the receiver sends.  Words that
 * arrive between two such segments are combined by the protocol's rule.  So if no more headers
 * arrive, no more echoes are sent, and the sender notices.  A sender takes an echo only from a
 * valid ACK.  It ignores a rate in an ACK that is older than the newest one.  It takes a
 * difference (XCP) also from an older ACK, because no other echo contains the same difference.
 * Such a difference counts with the next ACK for which TCP calls the congestion control.
 *
 * Repeated ACKs.  They do not matter for rates: the rate is the same, or is ignored.  A
 * difference counts each time its ACK arrives, be it an older ACK or the newest.  The effect is
 * bounded:
 *   o The segment must be valid for TCP: its ACK is at most the largest window before the first
 *     byte not acknowledged (RFC 5961), its sequence number is not before what was acknowledged
 *     last, and its timestamp is at most a tick before the newest.  So with timestamps nearly
 *     all older ACKs are refused, late ones as well as repeated ones.
 *   o All differences between two ACKs for which TCP calls the congestion control are one sum,
 *     whose absolute value is limited to below 2^29 bytes/s.
 *   o If a network repeats an ACK by mistake, the error is that of a lost ACK with the opposite
 *     sign.  Routers see the effect on their load, and correct it.
 *   o An attacker who repeats ACKs must see them, so he could also write an ACK with any echo.
 *     The receiver can do the same.  Repeating ACKs gives them no additional power.
 * There is no limit on how often an ACK counts until a newer one arrives.  ACKs are not
 * remembered, because two identical ACKs may each have an echo of their own.
 *
 * ACKs.  A receiver acknowledges segments with headers at once, as with TCP_QUICKACK, because
 * the papers' receivers answer each packet.  Otherwise a sender with a window of one or two
 * would wait for every delayed ACK, would take the delay for a longer path, and would get late
 * feedback.  A receiver that also sends data may still delay its ACKs, to send them with data.
 *
 * Room.  A sender's segments are made smaller by the length of the option, with the means for IP
 * options (icsk_ext_hdr_len).  The option is left out, and counted, if the packet would still be
 * larger than the path's MTU or than what TCP's probing has found to pass, or if the options
 * would be longer than 40 bytes (see tcpcc_fb_insert()).  The segments of a receiver that is not
 * also a sender have no such reserve: full ones carry no echo.
 *
 * Codepoints.  ESTCP's segments with data belong to a class, a DSCP, in which the ECN bits are
 * for ESTCP routers (include/tcpcc_estcp.h).  A sender sets the bits to 00.  The receiver returns
 * the codepoint of the last segment once, in its next ACK without data, which then has the DSCP
 * of echoes.  GRO merges only segments with the same codepoint, so one ACK is enough for them.
 * An echo does not contain the number of segments that it is for: the sender uses what its ACK
 * has acknowledged.  For the class everything above about headers is the same: flows, limits,
 * checksums, immediate ACKs, counters.  There is no option, so segments are not made smaller.
 * For other traffic the cost is two comparisons of a byte of the IP header.
 *   o If both ends send data, each segment with data carries the codepoint of its own direction,
 *     and only ACKs without data return one.  There are fewer of these; with none the sender gets
 *     no feedback.
 *   o If the connection has negotiated ECN (RFC 3168), the ECN bits belong to TCP: its segments
 *     are neither changed nor read.  The same is true for SYN and RST.
 *   o On segments with data and on echoes the class replaces a DSCP that the application has set,
 *     because routers and hosts recognize the class by the DSCP.  On all other segments the
 *     application's DSCP stays.
 *   o The parameter estcp_dscp contains both DSCPs, so that they change together and always
 *     differ.  If they were equal, routers would mark echoes.
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
#include <linux/sock_diag.h>
#include <linux/workqueue.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

#include "tcp_feedback.h"
#include "tcpcc_estcp.h"
#include "tcpcc_feedback.h"
#include "tcpcc_param.h"

/* After this time without a header a receiver's entry is removed */
#define FEEDBACK_EXPIRY		(10 * HZ)

/* By so many bytes a sender's segments are smaller: the longest option */
#define FEEDBACK_RESERVE	TCPCC_FB_LEN_BOTH

/* After a segment with a header so many segments are acknowledged at once */
#define FEEDBACK_QUICK		16

/* Entries that are visited in one RCU section */
#define FEEDBACK_SWEEP		256

/* In tcpcc_feedback.codepoint: a codepoint waits to be returned */
#define FEEDBACK_CODEPOINT	0x80

TCPCC_PARAM(receivers, 16384, 1, 1048576,
	    "Most flows of other hosts that are remembered in a network namespace");

/* The DSCPs of ESTCP's class: of data, and shifted by FEEDBACK_ECHO_SHIFT of echoes */
#define FEEDBACK_ECHO_SHIFT	8
static u32 estcp_dscp __read_mostly = TCPCC_ESTCP_DSCP |
	TCPCC_ESTCP_DSCP_ECHO << FEEDBACK_ECHO_SHIFT;

static u8 feedback_dscp_data(void)
{
	return READ_ONCE(estcp_dscp);
}

static u8 feedback_dscp_echo(void)
{
	return READ_ONCE(estcp_dscp) >> FEEDBACK_ECHO_SHIFT;
}

static int feedback_dscp_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%u,%u\n", feedback_dscp_data(),
			  feedback_dscp_echo());
}

static bool feedback_is_dscp(unsigned int dscp)
{
	return dscp >= TCPCC_ESTCP_DSCP_MIN && dscp <= TCPCC_ESTCP_DSCP_MAX;
}

static int feedback_dscp_set(const char *val, const struct kernel_param *kp)
{
	unsigned int data, echo;
	int end = 0;

	/* at most two digits, because sscanf() does not notice an overflow */
	if (!val || sscanf(val, "%2u,%2u%n", &data, &echo, &end) != 2 ||
	    strcspn(val, "\n") != end || !feedback_is_dscp(data) ||
	    !feedback_is_dscp(echo) || data == echo) {
		if (!val)
			val = "nothing";
		pr_err("%s: '%.*s' is not two different whole numbers from %u to %u separated by a comma, data first; staying at %u,%u\n",
		       kp->name, (int)min_t(size_t, strcspn(val, "\n"), 32),
		       val, TCPCC_ESTCP_DSCP_MIN, TCPCC_ESTCP_DSCP_MAX,
		       feedback_dscp_data(), feedback_dscp_echo());
		return -EINVAL;
	}
	WRITE_ONCE(estcp_dscp, data | echo << FEEDBACK_ECHO_SHIFT);
	return 0;
}

static const struct kernel_param_ops feedback_dscp_ops = {
	.set	= feedback_dscp_set,
	.get	= feedback_dscp_get,
};

module_param_cb(estcp_dscp, &feedback_dscp_ops, NULL, 0644);
MODULE_PARM_DESC(estcp_dscp,
		 "DSCPs of ESTCP's data and of its echoes (two different of 1 to 63, default 3,7)");

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
	FB_IN_NOT_ACCEPTED,
	FB_IN_UNEXPECTED,
	FB_IN_TABLE_FULL,
	FB_ATTACH_FAILED,
	FB_COUNTERS
};

static const char * const feedback_names[FB_COUNTERS] = {
	[FB_OUT_DATA]		= "OutData",	/* segments; a GSO packet counts as one */
	[FB_OUT_ECHOES]		= "OutEchoes",
	[FB_IN_DATA]		= "InData",
	[FB_IN_ECHOES]		= "InEchoes",
	[FB_OUT_NO_ROOM]	= "OutNoRoom",	/* 40 bytes are not enough */
	[FB_OUT_SACK_DROPPED]	= "OutSackDropped",	/* blocks */
	[FB_OUT_ECHO_DELAYED]	= "OutEchoDelayed",
	[FB_OUT_TOO_BIG]	= "OutTooBig",	/* larger than the MTU */
	[FB_OUT_SIGNED]		= "OutSigned",
	[FB_OUT_NO_MEMORY]	= "OutNoMemory",
	[FB_IN_MALFORMED]	= "InMalformed",
	[FB_IN_UNKNOWN]		= "InUnknown",	/* protocol or version */
	[FB_IN_BAD_CHECKSUM]	= "InBadChecksum",
	[FB_IN_NOT_ACCEPTED]	= "InNotAccepted",	/* by TCP */
	[FB_IN_UNEXPECTED]	= "InUnexpected",	/* echo for no sender, or too old */
	[FB_IN_TABLE_FULL]	= "InTableFull",
	[FB_ATTACH_FAILED]	= "AttachFailed",
};

struct feedback_counters {
	u64 value[FB_COUNTERS];
};

/**
 * struct feedback_net - state of a network namespace
 * @table: entries; the keys are the cookies of their sockets
 * @lock: for changes of the table; a lookup does not need it
 * @counters: per CPU
 * @flows: number of entries in the table
 * @receivers: number of those that arriving headers have made
 * @forget: removes receivers' entries that have expired
 * @users: references: the namespace, and each entry, as a kernel socket may outlive the namespace
 * @free: frees this after the last reference is gone
 */
struct feedback_net {
	struct rhashtable table;
	spinlock_t lock;	/* changes of the table */
	struct feedback_counters __percpu *counters;
	atomic_t flows;
	atomic_t receivers;
	struct delayed_work forget;
	refcount_t users;
	struct rcu_work free;
};

static const struct rhashtable_params feedback_params = {
	.head_offset = offsetof(struct tcpcc_feedback, node),
	.key_offset = offsetof(struct tcpcc_feedback, cookie),
	.key_len = sizeof_field(struct tcpcc_feedback, cookie),
	.automatic_shrinking = true,
};

static struct workqueue_struct *feedback_wq;
static unsigned int feedback_net_id;

static struct feedback_net *feedback_of(const struct net *net)
{
	return *(struct feedback_net **)net_generic(net, feedback_net_id);
}

static void feedback_count(const struct feedback_net *fn,
			   enum feedback_counter what, u32 n)
{
	this_cpu_add(fn->counters->value[what], n);
}

/* ------------------------------------------------------------------------- */
/* The table                                                                 */

static void feedback_net_free(struct work_struct *work)
{
	struct feedback_net *fn = container_of(to_rcu_work(work),
					       struct feedback_net, free);

	rhashtable_destroy(&fn->table);
	free_percpu(fn->counters);
	kfree(fn);
}

static void feedback_net_put(struct feedback_net *fn)
{
	if (refcount_dec_and_test(&fn->users))
		queue_rcu_work(feedback_wq, &fn->free);
}

/* Return: an empty entry, not in the table yet; NULL: no memory */
static struct tcpcc_feedback *feedback_new(struct feedback_net *fn, u64 cookie)
{
	struct tcpcc_feedback *fb = kzalloc(sizeof(*fb),
					    GFP_ATOMIC | __GFP_NOWARN);

	if (!fb)
		return NULL;
	fb->fn = fn;
	fb->cookie = cookie;
	fb->seen = jiffies;
	refcount_inc(&fn->users);
	return fb;
}

/* Frees an entry after a grace period, because readers of the table may still use it. */
static void feedback_free(struct tcpcc_feedback *fb)
{
	struct feedback_net *fn = fb->fn;

	kfree_rcu(fb, rcu);
	feedback_net_put(fn);
}

/* Adds an entry to the table.  Call with the lock held.  Return: 0, -EEXIST, or another error */
static int feedback_link(struct tcpcc_feedback *fb)
{
	struct feedback_net *fn = fb->fn;
	int err = rhashtable_lookup_insert_fast(&fn->table, &fb->node,
						feedback_params);

	if (err)
		return err;
	fb->found = true;
	atomic_inc(&fn->flows);
	if (!fb->sender)
		atomic_inc(&fn->receivers);
	return 0;
}

/*
 * Removes an entry from the table.  Call with the lock held.  A receiver's entry is freed; a
 * sender's is freed by tcpcc_feedback_detach().
 */
static void feedback_unlink(struct tcpcc_feedback *fb)
{
	struct feedback_net *fn = fb->fn;

	rhashtable_remove_fast(&fn->table, &fb->node, feedback_params);
	fb->found = false;
	atomic_dec(&fn->flows);
	if (fb->sender)
		return;
	atomic_dec(&fn->receivers);
	feedback_free(fb);
}

/* Call in an RCU section, or with the lock held. */
static struct tcpcc_feedback *feedback_find(struct feedback_net *fn, u64 cookie)
{
	return cookie ? rhashtable_lookup(&fn->table, &cookie, feedback_params) :
			NULL;
}

/* The cookie of a socket; 0: it has none yet, so it has no entry */
static u64 feedback_cookie(const struct sock *sk)
{
	return atomic64_read(&sk->sk_cookie);
}

static u64 feedback_make_cookie(struct sock *sk)
{
	u32 parts[2];

	if (!feedback_cookie(sk))
		sock_diag_save_cookie(sk, parts);
	return feedback_cookie(sk);
}

static bool feedback_expired(const struct tcpcc_feedback *fb)
{
	return !time_before(jiffies, READ_ONCE(fb->seen) + FEEDBACK_EXPIRY);
}

/*
 * Removes the entries of receivers that have expired, or @all of receivers.  The table may be
 * changed and resized meanwhile; the next walk finds entries that this one has missed.
 *
 * Return: whether a receiver's entry is left, or may be
 */
static bool feedback_sweep(struct feedback_net *fn, bool all)
{
	struct rhashtable_iter iter;
	struct tcpcc_feedback *fb;
	unsigned int count = 0;
	bool left = false;

	rhashtable_walk_enter(&fn->table, &iter);
	rhashtable_walk_start(&iter);
	while ((fb = rhashtable_walk_next(&iter))) {
		if (IS_ERR(fb)) {
			left = true;
			continue;
		}
		if (!fb->sender && (all || feedback_expired(fb))) {
			spin_lock_bh(&fn->lock);
			if (fb->found)
				feedback_unlink(fb);
			spin_unlock_bh(&fn->lock);
		} else {
			left |= !fb->sender;
		}
		/* there may be a million */
		if (++count % FEEDBACK_SWEEP == 0) {
			rhashtable_walk_stop(&iter);
			cond_resched();
			rhashtable_walk_start(&iter);
		}
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
	return left;
}

static void feedback_forget(struct work_struct *work)
{
	struct feedback_net *fn = container_of(to_delayed_work(work),
					       struct feedback_net, forget);

	if (feedback_sweep(fn, false))
		queue_delayed_work(feedback_wq, &fn->forget, FEEDBACK_EXPIRY / 2);
}

/* The entry for a socket that receives its first header; NULL: there is no room */
static struct tcpcc_feedback *feedback_receiver(struct feedback_net *fn,
						u64 cookie)
{
	struct tcpcc_feedback *fb;
	int err;

	if (atomic_read(&fn->receivers) >= READ_ONCE(receivers))
		goto full;
	fb = feedback_new(fn, cookie);
	if (!fb)
		goto full;
	spin_lock_bh(&fn->lock);
	err = feedback_link(fb);
	spin_unlock_bh(&fn->lock);
	if (err) {
		feedback_free(fb);
		/* another CPU was faster */
		fb = feedback_find(fn, cookie);
		if (!fb)
			goto full;
		return fb;
	}
	queue_delayed_work(feedback_wq, &fn->forget, FEEDBACK_EXPIRY);
	return fb;
full:
	feedback_count(fn, FB_IN_TABLE_FULL, 1);
	return NULL;
}

/* ------------------------------------------------------------------------- */
/* Segments                                                                  */

/**
 * struct feedback_segment - properties of a segment, from a hook
 * @fn: of its network namespace
 * @family: NFPROTO_IPV4 or NFPROTO_IPV6
 * @offset: of the TCP header from the start of the IP header, bytes
 * @dsfield: DSCP and ECN bits of its IP header
 */
struct feedback_segment {
	struct feedback_net *fn;
	u8 family;
	u8 offset;
	u8 dsfield;
};

/* Whether @sk is a TCP socket, and not one of a tunnel that carries TCP segments */
static bool feedback_is_socket(const struct sock *sk)
{
	return sk && sk_fullsock(sk) && sk_is_tcp(sk);
}

/* The class of a segment, by its DSCP */
enum feedback_class {
	FEEDBACK_OTHER,		/* the ECN bits are not ESTCP's */
	FEEDBACK_DATA,
	FEEDBACK_ECHO,
};

static enum feedback_class feedback_class(u8 dsfield)
{
	u32 dscp = dsfield >> TCPCC_DSCP_SHIFT;
	u32 both = READ_ONCE(estcp_dscp);

	if (dscp == (u8)both)
		return FEEDBACK_DATA;
	return dscp == both >> FEEDBACK_ECHO_SHIFT ? FEEDBACK_ECHO :
						     FEEDBACK_OTHER;
}

/* Whether this end gets codepoints as feedback, not words */
static bool feedback_is_estcp(const struct tcpcc_feedback *fb)
{
	return fb->protocol == TCPCC_FB_ESTCP;
}

/*
 * Combines @word, of @segs segments, with the word in the lower half of @box.  The upper half
 * counts words, up to @most.
 */
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
 * The connection that a segment is for.  @held: set to true if the caller must put the socket,
 * because it was looked up here; otherwise the packet holds it, from early demultiplexing.
 *
 * Return: the socket; NULL: there is none, or it is not established
 */
static struct sock *feedback_socket(const struct feedback_segment *s,
				    struct sk_buff *skb,
				    const struct nf_hook_state *state,
				    const struct tcphdr *th, bool *held)
{
	struct sock *sk = skb->sk;

	*held = false;
	if (!sk) {
		sk = s->family == NFPROTO_IPV4 ?
		     tcpcc_lookup_v4(state->net, skb, th->source, th->dest) :
		     tcpcc_lookup_v6(state->net, skb, th->source, th->dest);
		*held = sk;
	}
	if (feedback_is_socket(sk) &&
	    !(1 << READ_ONCE(sk->sk_state) &
	      (TCPF_LISTEN | TCPF_CLOSE | TCPF_SYN_SENT)))
		return sk;
	if (*held)
		sock_gen_put(sk);
	*held = false;
	return NULL;
}

/*
 * An upper limit of the snd_nxt that TCP will use when it checks this segment.  TCP advances
 * snd_nxt only after the device has taken a packet.  Over a veth the ACK of this packet arrives
 * earlier, and TCP processes it when the socket is free.  While TCP sends, a process owns the
 * socket, or a softirq on another processor holds its lock: then the limit is write_seq.  If the
 * socket is free, snd_nxt is up to date.
 */
static u32 feedback_snd_nxt(const struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;	/* spin_is_locked() takes no const pointer */

	if (READ_ONCE(sk->sk_lock.owned) || spin_is_locked(&sk->sk_lock.slock))
		return READ_ONCE(tp->write_seq);
	/* pairs with the release of the lock */
	smp_rmb();
	return READ_ONCE(tp->snd_nxt);
}

/*
 * Whether TCP would accept a segment, by RFC 9293 section 3.10.7.4 for the sequence
 * number, RFC 5961 section 5.2 for the ACK, and RFC 7323 section 5 for the timestamp.
 * The socket is not locked, so its state may be some segments old; TCP checks again.
 * @end: the sequence number after the segment
 */
static bool feedback_acceptable(const struct tcp_sock *tp, const u8 *header,
				unsigned int len, u32 end)
{
	const struct tcphdr *th = (const struct tcphdr *)header;
	const struct tcpcc_fb_expected expected = {
		.rcv_wup = READ_ONCE(tp->rcv_wup),
		.rcv_nxt = READ_ONCE(tp->rcv_nxt),
		.rcv_wnd = READ_ONCE(tp->rcv_wnd),
		.snd_una = READ_ONCE(tp->snd_una),
		.snd_nxt = feedback_snd_nxt(tp),
		.snd_wnd = READ_ONCE(tp->max_window),
	};
	u32 stamp;

	if (!tcpcc_fb_is_expected(&expected, ntohl(th->seq), end,
				  ntohl(th->ack_seq)))
		return false;
	/* this bit does not change while there is a connection */
	if (!data_race((bool)tp->rx_opt.tstamp_ok))
		return true;
	return tcpcc_fb_timestamp(header, len, &stamp) &&
	       (s32)(READ_ONCE(tp->rx_opt.ts_recent) - stamp) <= TCP_PAWS_WINDOW;
}

/*
 * Makes a receiving socket acknowledge the next segments at once.  The socket is not locked (see
 * above).  If TCP decrements this byte at the same time, one of the two changes is lost; the next
 * header sets the byte again.
 */
static void feedback_quick(struct sock *sk)
{
	u8 *quick = &inet_csk(sk)->icsk_ack.quick;

	/* accesses to a byte are atomic */
	if (data_race(*quick) <= FEEDBACK_QUICK / 2)
		data_race(*quick = FEEDBACK_QUICK);	/* may be lost: see above */
}

/*
 * A segment has brought a word or a codepoint to return.  @fb: the flow's entry; NULL: none yet
 *
 * Return: the entry, a new one if @fb is NULL; NULL: there is no room for it
 */
static struct tcpcc_feedback *feedback_heard(const struct feedback_segment *s,
					     struct sock *sk,
					     struct tcpcc_feedback *fb)
{
	if (!fb) {
		fb = feedback_receiver(s->fn, feedback_make_cookie(sk));
		if (!fb)
			return NULL;
	}
	feedback_count(s->fn, FB_IN_DATA, 1);
	WRITE_ONCE(fb->seen, jiffies);
	feedback_quick(sk);
	return fb;
}

static struct tcpcc_feedback *
feedback_take_word(const struct feedback_segment *s, struct sock *sk, u32 segs,
		   struct tcpcc_feedback *fb, const struct tcpcc_fb_header *h)
{
	if (h->protocol < TCPCC_FB_ACP || h->protocol > TCPCC_FB_RCP ||
	    h->word >> TCPCC_FB_VERSION_SHIFT) {
		feedback_count(s->fn, FB_IN_UNKNOWN, 1);
		return fb;
	}
	fb = feedback_heard(s, sk, fb);
	if (fb) {
		WRITE_ONCE(fb->heard, h->protocol);
		feedback_put(&fb->pending, h->protocol, h->word, segs, 1);
	}
	return fb;
}

/* @class: @echo is a codepoint, not the echo of a word */
static void feedback_take_echo(const struct feedback_segment *s,
			       const struct tcp_sock *tp,
			       struct tcpcc_feedback *fb, u32 ack, u32 echo,
			       bool class)
{
	if (echo >> TCPCC_FB_VERSION_SHIFT) {
		feedback_count(s->fn, FB_IN_UNKNOWN, 1);
		return;
	}
	/* TCP does not call the congestion control for an ACK before snd_una: see above */
	if (!fb || !fb->sender || class != feedback_is_estcp(fb) ||
	    (before(ack, READ_ONCE(tp->snd_una)) &&
	     !tcpcc_fb_adds_up(fb->protocol))) {
		feedback_count(s->fn, FB_IN_UNEXPECTED, 1);
		return;
	}
	feedback_count(s->fn, FB_IN_ECHOES, 1);
	feedback_put(&fb->taken, fb->protocol, echo, 1, U32_MAX);
}

/*
 * Evaluates a segment that TCP will accept.  @h: its header; has_word and has_echo are not set
 * if it has none; @size: bytes of data; @fresh: TCP does not have all of the segment yet
 */
static void feedback_accepted(const struct feedback_segment *s, struct sock *sk,
			      const struct sk_buff *skb, u32 ack,
			      const struct tcpcc_fb_header *h, u32 size,
			      bool fresh, enum feedback_class class)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct tcpcc_feedback *fb = feedback_find(s->fn, feedback_cookie(sk));
	u8 codepoint = s->dsfield & INET_ECN_MASK;

	if (h->has_echo)
		feedback_take_echo(s, tp, fb, ack, h->echo, false);
	if (h->has_word && fresh)
		fb = feedback_take_word(s, sk,
					max_t(u32, skb_shinfo(skb)->gso_segs, 1),
					fb, h);
	/* with ECN the bits belong to TCP */
	if (class == FEEDBACK_OTHER || tcpcc_ecn_negotiated(tp))
		return;
	if (class == FEEDBACK_ECHO) {
		if (!size)
			feedback_take_echo(s, tp, fb, ack, codepoint, true);
	} else if (size && fresh) {
		fb = feedback_heard(s, sk, fb);
		if (fb)
			WRITE_ONCE(fb->codepoint, FEEDBACK_CODEPOINT | codepoint);
	}
}

/* Checks an arriving segment that is of the class, or whose first option may be ours. */
static void feedback_in(const struct feedback_segment *s, struct sk_buff *skb,
			const struct nf_hook_state *state)
{
	enum feedback_class class = feedback_class(s->dsfield);
	u8 buffer[TCPCC_TCP_HEADER_MAX] __aligned(4);
	struct tcpcc_fb_header h = {};
	const struct tcphdr *th;
	unsigned int len, size;
	struct sock *sk;
	int found = 0;
	const u8 *p;
	bool held;
	u32 end;

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

	size = skb->len - s->offset - len;
	end = ntohl(th->seq) + size + th->fin;
	sk = feedback_socket(s, skb, state, th, &held);
	if (!sk || !feedback_acceptable(tcp_sk(sk), p, len, end))
		feedback_count(s->fn, FB_IN_NOT_ACCEPTED, 1);
	/* TCP would verify it next; now it need not do so again */
	else if (nf_checksum(skb, NF_INET_LOCAL_IN, s->offset, IPPROTO_TCP,
			     s->family))
		feedback_count(s->fn, FB_IN_BAD_CHECKSUM, 1);
	else
		feedback_accepted(s, sk, skb, ntohl(th->ack_seq), &h, size,
				  after(end, READ_ONCE(tcp_sk(sk)->rcv_nxt)),
				  class);
	if (held)
		sock_gen_put(sk);
}

/*
 * The largest packet that a socket may send, bytes: the path's MTU, or less if TCP's probing has
 * found that such a packet does not get through.  @size: its data, bytes.  A packet with more
 * data than a segment is a probe, so only the path's MTU applies to it.
 */
static unsigned int feedback_mtu(const struct sock *sk,
				 const struct sk_buff *skb, unsigned int size)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	unsigned int mtu = dst_mtu(skb_dst(skb));
	u32 mss = tcp_sk(sk)->mss_cache;

	if (!icsk->icsk_mtup.enabled || (!skb_is_gso(skb) && size > mss))
		return mtu;
	return min(mtu, mss + tcp_sk(sk)->tcp_header_len +
		   icsk->icsk_af_ops->net_header_len + icsk->icsk_ext_hdr_len);
}

/*
 * Whether this packet, with @size bytes of data, is too big if it gets @more bytes.  If it is a
 * GSO packet this also applies to the packets into which GSO cuts it.
 */
static bool feedback_too_big(const struct feedback_segment *s,
			     const struct sock *sk, const struct sk_buff *skb,
			     unsigned int size, int more)
{
	unsigned int most = s->family == NFPROTO_IPV4 ? IP_MAX_MTU :
			    sizeof(struct ipv6hdr) + IPV6_MAXPLEN;
	unsigned int mtu;

	if (more <= 0)
		return false;
	/* with @more it exceeds the length field of IP, and without it does not */
	if (skb->len <= most && skb->len + more > most)
		return true;
	mtu = feedback_mtu(sk, skb, size);
	if (skb_is_gso(skb))
		return !skb_gso_validate_network_len(skb, mtu - more);
	return skb->len + more > mtu;
}

/* Writes lengths and checksum as TCP and IP do. */
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
		unsigned int payload = skb->len - sizeof(*iph);

		/* if the packet is too long for the field: 0, until GSO cuts it */
		iph->payload_len = payload > IPV6_MAXPLEN ? 0 : htons(payload);
		th->check = ~tcp_v6_check(len, &iph->saddr, &iph->daddr, 0);
	}
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
}

/* Adds the header @h to our own segment of @size bytes of data.  Return: whether it was added */
static bool feedback_insert(const struct feedback_segment *s,
			    const struct sock *sk, struct sk_buff *skb,
			    unsigned int size, struct tcpcc_fb_header *h)
{
	u8 fresh[TCPCC_TCP_HEADER_MAX];
	unsigned int dropped;
	int len, more;

	len = tcpcc_fb_insert(fresh, skb->data + s->offset,
			      skb_headlen(skb) - s->offset, h, &dropped);
	/* with a VRF the hook at LOCAL_OUT is called twice */
	if (len == -EEXIST)
		return false;
	if (len < 0) {
		feedback_count(s->fn, len == -EPERM ? FB_OUT_SIGNED :
			       FB_OUT_NO_ROOM, 1);
		return false;
	}
	more = len - tcp_hdrlen(skb);
	if (feedback_too_big(s, sk, skb, size, more)) {
		feedback_count(s->fn, FB_OUT_TOO_BIG, 1);
		return false;
	}
	/* TCP leaves enough headroom, so this is normally only a comparison */
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

/* Puts our own segment into ESTCP's class.  Return: whether that has changed it */
static bool feedback_classify(const struct feedback_segment *s,
			      struct sk_buff *skb, u8 dscp, u8 codepoint)
{
	u8 dsfield = dscp << TCPCC_DSCP_SHIFT | codepoint;

	/* with a VRF the hook at LOCAL_OUT is called twice */
	if (s->dsfield == dsfield)
		return false;
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
 * ESTCP: a sender's segment with data is put into the class, and an ACK without data returns the
 * codepoint that waits.  @sk: the socket that sends; @data: the segment has data
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
		    feedback_classify(s, skb, feedback_dscp_data(), 0))
			feedback_count(s->fn, FB_OUT_DATA, 1);
		return;
	}
	if (!READ_ONCE(fb->codepoint))
		return;
	codepoint = xchg(&fb->codepoint, 0);
	if (codepoint && feedback_classify(s, skb, feedback_dscp_echo(),
					   codepoint & INET_ECN_MASK))
		feedback_count(s->fn, FB_OUT_ECHOES, 1);
}

/*
 * Keeps an echo that could not be sent, for the next segment.  If a newer word has arrived
 * meanwhile, the old rate is dropped, or the old difference is added to the newer one.
 */
static void feedback_put_back(const struct feedback_segment *s,
			      struct tcpcc_feedback *fb, u64 pending)
{
	u8 heard = READ_ONCE(fb->heard);

	feedback_count(s->fn, FB_OUT_ECHO_DELAYED, 1);
	if (tcpcc_fb_adds_up(heard))
		feedback_put(&fb->pending, heard, pending, 1, 1);
	else
		atomic64_cmpxchg(&fb->pending, 0, pending);
}

/* Handles a leaving segment of an established socket.  @fb: its entry */
static void feedback_out(const struct feedback_segment *s,
			 const struct sock *sk, struct sk_buff *skb,
			 struct tcpcc_feedback *fb)
{
	struct tcpcc_fb_header h = {};
	const struct tcphdr *th;
	unsigned int size;
	u64 pending;

	if (skb_headlen(skb) < s->offset + sizeof(*th) ||
	    skb_transport_offset(skb) != s->offset ||
	    skb->ip_summed != CHECKSUM_PARTIAL)
		return;
	th = tcp_hdr(skb);
	if (th->syn || th->rst ||
	    skb_headlen(skb) < s->offset + __tcp_hdrlen(th))
		return;

	size = skb->len - s->offset - __tcp_hdrlen(th);
	feedback_out_class(s, sk, skb, fb, size);

	if (fb->sender && !feedback_is_estcp(fb) && size) {
		h.has_word = true;
		h.protocol = fb->protocol;
		h.info = READ_ONCE(fb->info);
		h.word = READ_ONCE(fb->request);
	}
	pending = atomic64_read(&fb->pending);
	if (pending)
		pending = atomic64_xchg(&fb->pending, 0);
	h.has_echo = pending;
	h.echo = pending;
	if (!h.has_word && !h.has_echo)
		return;

	if (feedback_insert(s, sk, skb, size, &h)) {
		if (h.has_word)
			feedback_count(s->fn, FB_OUT_DATA, 1);
		if (h.has_echo) {
			feedback_count(s->fn, FB_OUT_ECHOES, 1);
			return;
		}
	}
	if (pending)
		feedback_put_back(s, fb, pending);
}

/*
 * The hooks are called for each segment of the host.  So they check as little as possible, and use
 * little stack.  A function that needs more stack is not inlined, and only called for our segments.
 */

/*
 * Whether an arriving segment is certainly not ours.  It is a quick check: feedback_in() would skip
 * the same segments.  @offset: of the TCP header, bytes
 */
static __always_inline bool feedback_is_others(const struct sk_buff *skb,
					       unsigned int offset, u8 dsfield)
{
	unsigned int options = offset + TCPCC_TCP_HEADER;
	unsigned int len = skb_headlen(skb);

	if (len < options || feedback_class(dsfield))
		return false;
	/* no options, or the first is not ours */
	return skb->data[offset + 12] >> 4 <= TCPCC_TCP_HEADER / 4 ||
	       (len > options && skb->data[options] != TCPCC_FB_KIND);
}

/* Whether the sending socket has no entry, because there are none or it has no cookie */
static __always_inline bool feedback_has_none(const struct nf_hook_state *state)
{
	return !atomic_read(&feedback_of(state->net)->flows) ||
	       !feedback_is_socket(state->sk) || !feedback_cookie(state->sk);
}

static noinline unsigned int feedback_arrives(struct sk_buff *skb,
					      const struct nf_hook_state *state,
					      u8 offset, u8 dsfield)
{
	const struct feedback_segment s = {
		.fn = feedback_of(state->net),
		.family = state->pf,
		.offset = offset,
		.dsfield = dsfield,
	};

	feedback_in(&s, skb, state);
	return NF_ACCEPT;
}

static noinline unsigned int feedback_leaves(struct sk_buff *skb,
					     const struct nf_hook_state *state,
					     u8 offset, u8 dsfield)
{
	struct feedback_net *fn = feedback_of(state->net);
	struct tcpcc_feedback *fb = feedback_find(fn, feedback_cookie(state->sk));

	if (fb) {
		const struct feedback_segment s = {
			.fn = fn,
			.family = state->pf,
			.offset = offset,
			.dsfield = dsfield,
		};

		feedback_out(&s, state->sk, skb, fb);
	}
	return NF_ACCEPT;
}

static unsigned int feedback_in_v4(void *priv, struct sk_buff *skb,
				   const struct nf_hook_state *state)
{
	const struct iphdr *iph = ip_hdr(skb);
	u8 dsfield = ipv4_get_dsfield(iph);

	if (iph->protocol != IPPROTO_TCP ||
	    feedback_is_others(skb, iph->ihl * 4, dsfield))
		return NF_ACCEPT;
	return feedback_arrives(skb, state, iph->ihl * 4, dsfield);
}

static unsigned int feedback_in_v6(void *priv, struct sk_buff *skb,
				   const struct nf_hook_state *state)
{
	const struct ipv6hdr *iph = ipv6_hdr(skb);
	u8 dsfield = ipv6_get_dsfield(iph);

	if (iph->nexthdr != IPPROTO_TCP ||
	    feedback_is_others(skb, sizeof(*iph), dsfield))
		return NF_ACCEPT;
	return feedback_arrives(skb, state, sizeof(*iph), dsfield);
}

static unsigned int feedback_out_v4(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	const struct iphdr *iph = ip_hdr(skb);

	if (feedback_has_none(state) || iph->protocol != IPPROTO_TCP)
		return NF_ACCEPT;
	return feedback_leaves(skb, state, iph->ihl * 4, ipv4_get_dsfield(iph));
}

static unsigned int feedback_out_v6(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	const struct ipv6hdr *iph = ipv6_hdr(skb);

	if (feedback_has_none(state) || iph->nexthdr != IPPROTO_TCP)
		return NF_ACCEPT;
	return feedback_leaves(skb, state, sizeof(*iph), ipv6_get_dsfield(iph));
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

/* The length of the IP options in each packet of a socket, bytes */
static u16 feedback_ip_options(const struct sock *sk)
{
	bool v6 = inet_csk(sk)->icsk_af_ops->net_header_len ==
		  sizeof(struct ipv6hdr);
	const struct ipv6_txoptions *opt6;
	const struct ip_options_rcu *opt4;
	u16 len = 0;

	rcu_read_lock();
	opt6 = v6 ? rcu_dereference(inet6_sk(sk)->opt) : NULL;
	opt4 = v6 ? NULL : rcu_dereference(inet_sk(sk)->inet_opt);
	if (opt6)
		len = opt6->opt_flen + opt6->opt_nflen;
	if (opt4)
		len = opt4->opt.optlen;
	rcu_read_unlock();
	return len;
}

/*
 * Makes segments smaller by the length of the option.  This must be repeated, because setting IP
 * options and connecting reset icsk_ext_hdr_len.
 */
static void feedback_reserve(struct sock *sk, const struct tcpcc_feedback *fb)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	u16 len = feedback_ip_options(sk) + fb->reserve;

	if (icsk->icsk_ext_hdr_len == len)
		return;
	icsk->icsk_ext_hdr_len = len;
	if (icsk->icsk_pmtu_cookie)
		icsk->icsk_sync_mss(sk, icsk->icsk_pmtu_cookie);
}

/**
 * tcpcc_feedback_attach() - carry a congestion header on a socket's segments
 * @sk: connected, or about to be; locked
 * @protocol: enum tcpcc_fb_protocol of the header
 *
 * To be called from .init.  If the protocol has an option, segments get smaller by its length.
 * A connection that uses ECN cannot use TCPCC_FB_ESTCP.
 *
 * Return: the argument for the other calls; NULL: no memory, or ECN prevents it, and there will
 * be no feedback
 */
struct tcpcc_feedback *tcpcc_feedback_attach(struct sock *sk,
					     enum tcpcc_fb_protocol protocol)
{
	struct feedback_net *fn = feedback_of(sock_net(sk));
	struct tcpcc_feedback *fb, *old;
	int err;

	if (protocol == TCPCC_FB_ESTCP && tcpcc_ecn_negotiated(tcp_sk(sk)))
		return NULL;
	fb = feedback_new(fn, feedback_make_cookie(sk));
	if (!fb)
		goto failed;
	fb->sender = true;
	fb->protocol = protocol;
	fb->request = TCPCC_FB_NO_LIMIT;
	spin_lock_bh(&fn->lock);
	rcu_read_lock();
	/* the entry that it had as a receiver */
	old = feedback_find(fn, fb->cookie);
	if (old)
		feedback_unlink(old);
	rcu_read_unlock();
	err = feedback_link(fb);
	spin_unlock_bh(&fn->lock);
	if (err) {
		feedback_free(fb);
		goto failed;
	}
	if (protocol != TCPCC_FB_ESTCP) {
		fb->reserve = FEEDBACK_RESERVE;
		feedback_reserve(sk, fb);
	}
	return fb;
failed:
	feedback_count(fn, FB_ATTACH_FAILED, 1);
	return NULL;
}
EXPORT_SYMBOL_GPL(tcpcc_feedback_attach);

/**
 * tcpcc_feedback_detach() - end what tcpcc_feedback_attach() began
 * @sk: the socket, locked or about to be freed
 * @fb: what attach returned; may be NULL
 *
 * To be called from .release.
 */
void tcpcc_feedback_detach(struct sock *sk, struct tcpcc_feedback *fb)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct feedback_net *fn;

	if (!fb)
		return;
	if (fb->reserve) {
		icsk->icsk_ext_hdr_len = feedback_ip_options(sk);
		/* makes TCP compute the segment size again before it sends */
		icsk->icsk_pmtu_cookie = 0;
	}
	fn = fb->fn;
	spin_lock_bh(&fn->lock);
	if (fb->found)
		feedback_unlink(fb);
	spin_unlock_bh(&fn->lock);
	feedback_free(fb);
}
EXPORT_SYMBOL_GPL(tcpcc_feedback_detach);

/**
 * tcpcc_feedback_request() - set what the next segments carry
 * @sk: the socket, locked
 * @fb: what attach returned, not NULL
 * @info: 28 bits that the protocol defines, see tcpcc_fb_rtt_info() for ACP and RCP,
 *	tcpcc_fb_xcp_info() for XCP
 * @word: word to send, 30 bits: for ACP and RCP see tcpcc_fb_encode(), for XCP bytes/s
 *
 * All segments until the next call carry these values.
 */
void tcpcc_feedback_request(struct sock *sk, struct tcpcc_feedback *fb,
			    u32 info, u32 word)
{
	WRITE_ONCE(fb->info, info);
	WRITE_ONCE(fb->request, word);
	feedback_reserve(sk, fb);
}
EXPORT_SYMBOL_GPL(tcpcc_feedback_request);

/**
 * tcpcc_feedback_take() - take the echoes that have arrived since the last call
 * @fb: what attach returned, not NULL
 * @word: set to all echoes, combined by tcpcc_fb_combine()
 *
 * To be called for each ACK; the ACK's own echo is included.
 *
 * Return: the number of echoes; 0: none, and @word is unchanged
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
	struct feedback_net **place = net_generic(net, feedback_net_id);
	struct feedback_net *fn = kzalloc(sizeof(*fn), GFP_KERNEL);
	int err = -ENOMEM;

	if (!fn)
		return -ENOMEM;
	spin_lock_init(&fn->lock);
	refcount_set(&fn->users, 1);
	INIT_DELAYED_WORK(&fn->forget, feedback_forget);
	INIT_RCU_WORK(&fn->free, feedback_net_free);
	fn->counters = alloc_percpu(struct feedback_counters);
	if (!fn->counters)
		goto free;
	err = rhashtable_init(&fn->table, &feedback_params);
	if (err)
		goto free;
	*place = fn;
	err = -ENOMEM;
	if (!proc_create_net_single("tcpcc_feedback", 0444, net->proc_net,
				    feedback_show, NULL))
		goto destroy;
	err = nf_register_net_hooks(net, feedback_hooks,
				    ARRAY_SIZE(feedback_hooks));
	if (err)
		goto remove;
	return 0;
remove:
	remove_proc_entry("tcpcc_feedback", net->proc_net);
destroy:
	rhashtable_destroy(&fn->table);
free:
	free_percpu(fn->counters);
	kfree(fn);
	return err;
}

static void __net_exit feedback_net_pre_exit(struct net *net)
{
	nf_unregister_net_hooks(net, feedback_hooks,
				ARRAY_SIZE(feedback_hooks));
}

/*
 * No hook is called any more.  Receivers' entries are removed here.  Other entries belong to
 * sockets that the kernel has made without a reference to the namespace, and are freed with them.
 */
static void __net_exit feedback_net_exit(struct net *net)
{
	struct feedback_net *fn = feedback_of(net);

	remove_proc_entry("tcpcc_feedback", net->proc_net);
	cancel_delayed_work_sync(&fn->forget);
	while (atomic_read(&fn->receivers)) {
		feedback_sweep(fn, true);
		cond_resched();
	}
	feedback_net_put(fn);
}

static struct pernet_operations feedback_net_ops = {
	.init		= feedback_net_init,
	.pre_exit	= feedback_net_pre_exit,
	.exit		= feedback_net_exit,
	.id		= &feedback_net_id,
	.size		= sizeof(struct feedback_net *),
};

static int __init feedback_register(void)
{
	int err;

	feedback_wq = alloc_workqueue("tcpcc_feedback", WQ_UNBOUND, 0);
	if (!feedback_wq)
		return -ENOMEM;
	err = register_pernet_subsys(&feedback_net_ops);
	if (err)
		destroy_workqueue(feedback_wq);
	return err;
}

/*
 * A module with senders uses our symbols, so there are only receivers' entries now.  After
 * rcu_barrier() all work that waited for a grace period is in the workqueue, and
 * destroy_workqueue() finishes it.
 */
static void __exit feedback_unregister(void)
{
	unregister_pernet_subsys(&feedback_net_ops);
	rcu_barrier();
	destroy_workqueue(feedback_wq);
}

module_init(feedback_register);
module_exit(feedback_unregister);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Carries explicit congestion feedback in TCP options");
