/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of paths that ccpd_path remembers for the next connection to the same peer.  Each
 * network namespace has its own table.
 *
 * The table has a fixed size: PATH_VISITS_SETS sets of PATH_VISITS_WAYS entries.  A keyed hash of
 * the peer's address and of the socket's device selects the set, so that an attacker cannot choose
 * which peers share a set.  In a full set a new peer replaces the oldest entry.  An entry is used
 * for the time in the parameter "visits".  A namespace sees only its own table.
 * net.ipv4.tcp_ccpd_path_visits shows the number of entries, and empties the table.
 *
 * A connection reads the table once, when it begins, without a lock, and writes it once, when it
 * ends.  The BPF object remembers nothing: bpf/kernel.h has empty functions instead of these.
 */
#ifndef _PATH_VISITS_H
#define _PATH_VISITS_H

#include <linux/jhash.h>
#include <linux/ktime.h>
#include <linux/net.h>
#include <linux/once.h>
#include <linux/seqlock.h>
#include <linux/sysctl.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "tcpcc_compat.h"

#define PATH_VISITS_SETS	64U
#define PATH_VISITS_WAYS	4U

/**
 * struct path_visit - what a connection has measured
 * @bytes_ps: rate that the path delivered to the connection, bytes/s
 * @rtt_min_us: rtt of the empty path, us
 */
struct path_visit {
	u64	bytes_ps;
	u32	rtt_min_us;
};

/**
 * struct path_visits_peer - who is at the other end
 * @address: its address; an IPv4 address as IPv4-mapped IPv6 address
 * @device: the device to which the socket is bound; 0: none.  Link-local addresses, and those of a
 *	VRF, may belong to another host behind another device
 */
struct path_visits_peer {
	struct in6_addr	address;
	int		device;
};

/**
 * struct path_visits_entry - a peer
 * @peer: who it is
 * @visit: measurements of the last connection to it
 * @stamp_s: when that connection ended, path_visits_now_s(); 0: the entry is free
 */
struct path_visits_entry {
	struct path_visits_peer	peer;
	struct path_visit	visit;
	u32			stamp_s;
};

/**
 * struct path_visits - the table of a namespace
 * @lock: writers take it; a reader tries again if a writer interfered
 * @sets: the entries
 * @header: the registered sysctl
 * @ctl: its table
 */
struct path_visits {
	seqlock_t			lock;
	struct path_visits_entry	sets[PATH_VISITS_SETS][PATH_VISITS_WAYS];
	struct ctl_table_header		*header;
	struct ctl_table		ctl[TCPCC_SYSCTL_ENTRIES(1)];
};

static unsigned int path_visits_id __read_mostly;

/* Time since the boot of the machine, s, plus 1, so that it is never 0 */
static inline u32 path_visits_now_s(void)
{
	return ktime_get_boottime_seconds() + 1;
}

static bool path_visits_equal(const struct path_visits_peer *a, const struct path_visits_peer *b)
{
	return ipv6_addr_equal(&a->address, &b->address) && a->device == b->device;
}

static struct path_visits_entry *path_visits_set(struct path_visits *t,
						 const struct path_visits_peer *peer)
{
	static u32 key __read_mostly;

	/* it is hashed as a whole */
	BUILD_BUG_ON(sizeof(*peer) != sizeof(peer->address) + sizeof(peer->device));
	net_get_random_once(&key, sizeof(key));
	return t->sets[jhash2((const u32 *)peer, sizeof(*peer) / sizeof(u32), key) %
		       PATH_VISITS_SETS];
}

/**
 * path_visits_get() - read the entry of a peer
 * @t: the table
 * @peer: who it is
 * @now_s: path_visits_now_s()
 * @life_s: an entry is used if it is younger than this, s
 * @visit: set to the measurements of the entry, if there is one
 *
 * Return: whether @visit was set
 */
static bool path_visits_get(struct path_visits *t, const struct path_visits_peer *peer,
			    u32 now_s, u32 life_s, struct path_visit *visit)
{
	const struct path_visits_entry *set = path_visits_set(t, peer);
	unsigned int seq, i;
	bool found;

	do {
		seq = read_seqbegin(&t->lock);
		found = false;
		for (i = 0; i < PATH_VISITS_WAYS && !found; i++) {
			found = set[i].stamp_s && path_visits_equal(&set[i].peer, peer) &&
				now_s - set[i].stamp_s < life_s;
			if (found)
				*visit = set[i].visit;
		}
	} while (read_seqretry(&t->lock, seq));
	return found;
}

/**
 * path_visits_put() - write the entry of a peer
 * @t: the table
 * @peer: who it is
 * @now_s: path_visits_now_s()
 * @visit: the measurements
 */
static void path_visits_put(struct path_visits *t, const struct path_visits_peer *peer,
			    u32 now_s, const struct path_visit *visit)
{
	struct path_visits_entry *set = path_visits_set(t, peer), *to = set;
	unsigned int i;

	write_seqlock_bh(&t->lock);
	/* the entry of this peer; else a free one; else the oldest one */
	for (i = 0; i < PATH_VISITS_WAYS; i++) {
		if (set[i].stamp_s && path_visits_equal(&set[i].peer, peer)) {
			to = &set[i];
			break;
		}
		if (to->stamp_s && (!set[i].stamp_s || now_s - set[i].stamp_s >
							now_s - to->stamp_s))
			to = &set[i];
	}
	*to = (struct path_visits_entry){ .peer = *peer, .visit = *visit, .stamp_s = now_s };
	write_sequnlock_bh(&t->lock);
}

static void path_visits_clear(struct path_visits *t)
{
	write_seqlock_bh(&t->lock);
	memset(t->sets, 0, sizeof(t->sets));
	write_sequnlock_bh(&t->lock);
}

/* Number of entries, including those that are too old to be used */
static unsigned int path_visits_count(struct path_visits *t)
{
	unsigned int n = 0, i;

	for (i = 0; i < PATH_VISITS_SETS * PATH_VISITS_WAYS; i++)
		n += !!READ_ONCE(t->sets[i / PATH_VISITS_WAYS][i % PATH_VISITS_WAYS].stamp_s);
	return n;
}

static void path_visits_peer(const struct sock *sk, struct path_visits_peer *peer)
{
	peer->device = READ_ONCE(sk->sk_bound_dev_if);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		peer->address = sk->sk_v6_daddr;
		return;
	}
#endif
	ipv6_addr_set_v4mapped(sk->sk_daddr, &peer->address);
}

/**
 * path_visits_find() - read the entry of a socket's peer
 * @sk: the socket
 * @minutes: an entry is used if it is younger than this, min; 0: no entry is used
 * @visit: set to the measurements of the entry, if there is one
 *
 * Return: whether @visit was set
 */
static bool path_visits_find(const struct sock *sk, u32 minutes, struct path_visit *visit)
{
	struct path_visits_peer peer;

	if (!minutes)
		return false;
	path_visits_peer(sk, &peer);
	return path_visits_get(net_generic(sock_net(sk), path_visits_id), &peer,
			       path_visits_now_s(), minutes * 60, visit);
}

/**
 * path_visits_store() - write the entry of a socket's peer
 * @sk: the socket
 * @bytes_ps: rate that the path delivered to the connection, bytes/s
 * @rtt_min_us: rtt of the empty path, us
 */
static void path_visits_store(const struct sock *sk, u64 bytes_ps, u32 rtt_min_us)
{
	const struct path_visit visit = { .bytes_ps = bytes_ps, .rtt_min_us = rtt_min_us };
	struct path_visits_peer peer;

	path_visits_peer(sk, &peer);
	path_visits_put(net_generic(sock_net(sk), path_visits_id), &peer, path_visits_now_s(),
			&visit);
}

/* Reading shows the number of entries.  Writing 0 empties the table; other values are refused. */
static int path_visits_sysctl(tcpcc_sysctl_table *ctl, int write, void *buffer, size_t *lenp,
			      loff_t *ppos)
{
	struct path_visits *t = ctl->data;
	unsigned int n = path_visits_count(t), most = write ? 0 : n;
	const struct ctl_table one = {
		.data = &n, .maxlen = sizeof(n), .mode = ctl->mode,
		.extra1 = SYSCTL_ZERO, .extra2 = &most,
	};
	struct ctl_table copy = one;
	int err = proc_douintvec_minmax(&copy, write, buffer, lenp, ppos);

	if (write && !err)
		path_visits_clear(t);
	return err;
}

static int __net_init path_visits_net_init(struct net *net)
{
	struct path_visits *t = net_generic(net, path_visits_id);

	seqlock_init(&t->lock);
	t->ctl[0] = (struct ctl_table){
		.procname = "tcp_ccpd_path_visits", .data = t, .maxlen = sizeof(unsigned int),
		.mode = 0644, .proc_handler = path_visits_sysctl,
	};
	t->header = register_net_sysctl(net, "net/ipv4", t->ctl);
	return t->header ? 0 : -ENOMEM;
}

static void __net_exit path_visits_net_exit(struct net *net)
{
	struct path_visits *t = net_generic(net, path_visits_id);

	unregister_net_sysctl_table(t->header);
}

static struct pernet_operations path_visits_net_ops = {
	.init	= path_visits_net_init,
	.exit	= path_visits_net_exit,
	.id	= &path_visits_id,
	.size	= sizeof(struct path_visits),
};

static int path_visits_register(void)
{
	return register_pernet_subsys(&path_visits_net_ops);
}

static void path_visits_unregister(void)
{
	unregister_pernet_subsys(&path_visits_net_ops);
}

#endif /* _PATH_VISITS_H */
