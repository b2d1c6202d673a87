// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/net/tcpcc: the state of this project's congestion controls for which inet_diag, and so
 * ss, has no structure (include/tcpcc_view.h).
 *
 * The file has one line for each TCP socket of the reader's network namespace whose congestion
 * control supports TCPCC_VIEW:
 *
 *   192.0.2.1:40000 192.0.2.2:5001 cc=ccpd mode=avoidance capacity_bps=95639784 ...
 *
 * A line has the local address and port, the peer's address and port, the congestion control's
 * name, the name of its state, and its fields; each field name ends with its unit.  IPv6 addresses
 * are in brackets.  Each congestion control has its own fields, so a reader must select them by
 * name.
 *
 * All users may read the file, like /proc/net/tcp and "ss -i".  /proc/net/tcp shows the same
 * addresses of all sockets to all users, and "ss -i" the same kind of numbers (rates, round-trip
 * times, windows, and the congestion control's own).  A field is an estimate of the path or a
 * state of the law.  No field is a secret of the application or an address in the kernel.
 *
 * Implementation.  A position in the file is the number of a bucket in the hash table of
 * connections.  So a read continues where the last one ended, without a search, and a socket that
 * appears or goes away does not move the position of other sockets.  References to the sockets of
 * a bucket are taken under the bucket's lock.  After this lock is released, .get_info of each
 * socket is called under the lock of that socket.  This order is necessary, because TCP takes the
 * bucket's lock while it holds the socket's lock.  The socket's lock prevents that its congestion
 * control is changed or released during the call.  The socket also holds a reference to the module
 * of its congestion control, so the strings in that module stay valid.  seq_file copies to user
 * space between buckets, when no lock is held.
 *
 * tcp_get_info(), which serves ss -i, also takes the socket's lock once.  So reading this file
 * costs a connection no more than ss -i.  Sockets whose congestion control has no .get_info are
 * skipped without taking their lock.
 */
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <net/inet_hashtables.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "tcpcc_view.h"

#define VIEW_FILE	"tcpcc"

/* Initial room for so many sockets; a bucket of the table seldom has more than one. */
#define VIEW_ROOM	16U

/* Other tasks may run after so many buckets.  Most are empty, and checking one is fast. */
#define VIEW_TURN	1024U

/**
 * struct view_iter - a reader of the file
 * @p: seq_file's own data: the network namespace
 * @sk: sockets of the current bucket, each with a reference
 * @room: number of sockets for which @sk has room; 0: not allocated
 */
struct view_iter {
	struct seq_net_private p;
	struct sock **sk;
	unsigned int room;
};

/**
 * view_wanted() - whether a socket may have something to show
 * @sk: a member of the hash table of connections, whose bucket is locked
 * @net: the reader's network namespace; several namespaces may share the table
 *
 * Return: false for sockets in TIME_WAIT and requests, which are not full sockets, for sockets of
 * other namespaces, and if the congestion control has no .get_info
 */
static bool view_wanted(const struct sock *sk, const struct net *net)
{
	const struct tcp_congestion_ops *ops;

	if (!net_eq(sock_net(sk), net) || !sk_fullsock(sk))
		return false;
	ops = READ_ONCE(inet_csk(sk)->icsk_ca_ops);
	return ops && ops->get_info;
}

/**
 * view_hold() - take references to the sockets of a bucket that may have something to show
 * @it: the reader
 * @net: its network namespace
 * @bucket: number of the bucket
 *
 * If there are more sockets than room, it makes room and looks again.
 *
 * Return: number of sockets in @it->sk; -ENOMEM
 */
static int view_hold(struct view_iter *it, struct net *net, unsigned int bucket)
{
	struct inet_hashinfo *table = net->ipv4.tcp_death_row.hashinfo;
	spinlock_t *lock = inet_ehash_lockp(table, bucket);
	struct hlist_nulls_node *node;
	unsigned int found, held;
	struct sock *sk;

	for (;;) {
		found = 0;
		held = 0;
		spin_lock_bh(lock);
		sk_nulls_for_each(sk, node, &table->ehash[bucket].chain) {
			if (!view_wanted(sk, net))
				continue;
			if (found++ < it->room &&
			    refcount_inc_not_zero(&sk->sk_refcnt))
				it->sk[held++] = sk;
		}
		spin_unlock_bh(lock);
		if (found <= it->room)
			return held;

		while (held)
			sock_put(it->sk[--held]);
		kvfree(it->sk);
		/* twice as many: more sockets may appear until the next look */
		it->room = max(2 * found, VIEW_ROOM);
		it->sk = kvmalloc_array(it->room, sizeof(*it->sk), GFP_KERNEL);
		if (!it->sk) {
			it->room = 0;
			return -ENOMEM;
		}
	}
}

static void view_addresses(struct seq_file *seq, const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		seq_printf(seq, "[%pI6c]:%u [%pI6c]:%u",
			   &sk->sk_v6_rcv_saddr, ntohs(inet->inet_sport),
			   &sk->sk_v6_daddr, ntohs(inet->inet_dport));
		return;
	}
#endif
	seq_printf(seq, "%pI4:%u %pI4:%u",
		   &inet->inet_rcv_saddr, ntohs(inet->inet_sport),
		   &inet->inet_daddr, ntohs(inet->inet_dport));
}

/**
 * view_line() - print a socket's line, if its congestion control supports TCPCC_VIEW
 * @seq: the file
 * @sk: the socket, which is locked
 *
 * The private data of a congestion control are valid from its .init until the socket is closed.
 */
static void view_line(struct seq_file *seq, struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_congestion_ops *ops = icsk->icsk_ca_ops;
	struct tcpcc_view view = {};
	unsigned int i;
	int attr;

	if (sk->sk_state == TCP_CLOSE || !icsk->icsk_ca_initialized ||
	    !ops || !ops->get_info)
		return;
	ops->get_info(sk, TCPCC_VIEW, &attr, &view.form);
	if (!view.mode)
		return;

	view_addresses(seq, sk);
	seq_printf(seq, " cc=%s mode=%s", ops->name, view.mode);
	for (i = 0; i < view.count; i++)
		seq_printf(seq, " %s=%llu", view.field[i].name,
			   view.field[i].value);
	seq_putc(seq, '\n');
}

/**
 * view_show() - print the lines of a bucket
 * @seq: the file
 * @v: the position, which is the number of the bucket
 *
 * If the lines of a bucket do not fit into the buffer, seq_file calls this again for the whole
 * bucket, with a larger buffer.  So after the first line that does not fit the other sockets are
 * skipped.
 *
 * Return: 0, or -ENOMEM
 */
static int view_show(struct seq_file *seq, void *v)
{
	struct view_iter *it = seq->private;
	int i, count;

	count = view_hold(it, seq_file_net(seq), *(loff_t *)v);
	for (i = 0; i < count; i++) {
		struct sock *sk = it->sk[i];

		if (!seq_has_overflowed(seq)) {
			bool slow = lock_sock_fast(sk);

			view_line(seq, sk);
			unlock_sock_fast(sk, slow);
		}
		sock_put(sk);
	}
	return min(count, 0);
}

/* The first bucket from *pos on that is not empty; NULL: there is none */
static void *view_find(struct seq_file *seq, loff_t *pos)
{
	struct inet_hashinfo *table = seq_file_net(seq)->ipv4.tcp_death_row.hashinfo;

	for (; *pos <= table->ehash_mask; ++*pos) {
		if (!hlist_nulls_empty(&table->ehash[*pos].chain))
			return pos;
		if (!(*pos % VIEW_TURN))
			cond_resched();
	}
	return NULL;
}

static void *view_start(struct seq_file *seq, loff_t *pos)
{
	return view_find(seq, pos);
}

static void *view_next(struct seq_file *seq, void *v, loff_t *pos)
{
	++*pos;
	return view_find(seq, pos);
}

static void view_stop(struct seq_file *seq, void *v)
{
	struct view_iter *it = seq->private;

	kvfree(it->sk);
	it->sk = NULL;
	it->room = 0;
}

static const struct seq_operations view_seq_ops = {
	.start	= view_start,
	.next	= view_next,
	.stop	= view_stop,
	.show	= view_show,
};

static int __net_init view_net_init(struct net *net)
{
	if (!proc_create_net(VIEW_FILE, 0444, net->proc_net, &view_seq_ops,
			     sizeof(struct view_iter)))
		return -ENOMEM;
	return 0;
}

/* Waits for reads in progress; a later read of an open file gets EIO. */
static void __net_exit view_net_exit(struct net *net)
{
	remove_proc_entry(VIEW_FILE, net->proc_net);
}

static struct pernet_operations view_net_ops = {
	.init	= view_net_init,
	.exit	= view_net_exit,
};

static int __init view_register(void)
{
	return register_pernet_subsys(&view_net_ops);
}

static void __exit view_unregister(void)
{
	unregister_pernet_subsys(&view_net_ops);
}

module_init(view_register);
module_exit(view_unregister);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("/proc/net/tcpcc: the state and path estimates of congestion controls");
