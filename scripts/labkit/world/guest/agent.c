// SPDX-License-Identifier: GPL-2.0
/*
 * The lab's program inside the guest: makes the traffic, takes the samples.
 *
 *   agent traffic PLAN DIR   runs the plan; writes flows.csv, links.csv, summary.json to DIR
 *   agent meet NS A NS B     makes one connection from address A in NS to B in NS, and closes it
 *   agent exec DIR CMD...    runs a command; its output and status go to DIR as they come
 *   agent poweroff           ends the guest
 *
 * One process, one epoll loop.  In the lab's virtual time a program that computes takes no time,
 * and a program that polls stops the clock.  So everything here waits for descriptors, and every
 * moment is an absolute time on CLOCK_MONOTONIC.  Two things move the clock: reading it, and a
 * system call that fails (a microsecond).  The sampler does neither, so it cannot change what it
 * samples; the other parts do so seldom.
 *
 * A plan has one line per item, "kind key=value ...", all times in ns from the start of traffic:
 *
 *   run start=NS end=NS sample=NS link_sample=NS rows=N few=N wide=NS
 *       start on CLOCK_MONOTONIC; end of measurement; intervals of sampling (0: none).  They double
 *       after "few" rows; after "rows" rows, if twice link_sample would be more than wide.  With
 *       eager=1 receivers read all data at once, which autotuning of the receive buffer needs
 *   seed ns=NAME dev=NAME seed=U64              the seed of netem's random numbers
 *   link name=NAME ns=NAME dev=NAME sampled=0|1 [law=1]
 *       a device whose root qdisc is reported at the end, and in the series if sampled; with law=1
 *       a qdisc of this project is below it
 *   ingress name=NAME ns=NAME dev=NAME sampled=0
 *       the same for its ingress qdisc
 *   count ns=NAME                               a namespace whose protocol counters are reported
 *   flow id=N ns=NAME peer=NAME src=A sport=P dst=A dport=P cc=NAME start=NS bytes=N [stop=NS]
 *       bytes=0: until it stops, or the end; each source port only once
 *   short ...                                   like flow, but not in the series, and the run does
 *                                               not wait for it
 *   reverse ...                                 like short, but app does not apply to it
 *   app size=BYTES[,BYTES...] interval=NS       flows write this much at each interval, not all
 *                                               they can; several sizes take turns.  requests.csv
 *                                               has each write, and how long it took to arrive
 *   switch at=NS cc=NAME                        the congestion control of all flows that run then
 *                                               (not for short and reverse ones)
 *   udp ns=NAME peer=NAME src=A sport=P dst=A dport=P size=BYTES frame=BYTES rate=BPS from=NS to=NS
 *       constant bit rate; size is the datagram's payload, frame what it occupies on the link
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/gen_stats.h>
#include <linux/if.h>
#include <linux/inet_diag.h>
#include <linux/pkt_sched.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "link.h"
#include "tcpcc_pkt_sched.h"

/* Not in the headers of older distributions. */
#define NETEM_PRNG_SEED 14 /* TCA_NETEM_PRNG_SEED */

#define NSEC 1000000000LL
#define WRITE_SIZE (256 << 10)
#define READ_SIZE (1 << 30) /* nothing is copied, see drain() */
#define READ_CHUNK (64 << 10)
#define VIEW_COLUMNS 32 /* names of fields in /proc/net/tcpcc, of all senders of a run */
#define VIEW_LINE 1024 /* bytes of a line there at most */
#define VIEW_PART 4096 /* bytes of the kernel's buffer for a read, at first */

typedef int64_t ns_t;

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* Plan ----------------------------------------------------------------------------------------- */

/* What an epoll event is for: the first member of struct waiter. */
enum role { LISTENER, SENDER, RECEIVER, APP, STOP, UDP, SWITCH, SCHEDULE, SAMPLER };

struct waiter {
	enum role role;
	int fd;
};

struct end {
	char ns[16];
	struct sockaddr_storage address;
};

enum kind { LONG, SHORT, REVERSE };

/* One write of an application. */
struct request {
	ns_t at;
	uint64_t size, end; /* end: the flow's bytes up to the end of this write */
};

struct flow {
	struct waiter sender, receiver, app, stopper;
	struct flow *next;
	int id;
	struct end from, to;
	char cc[16];
	enum kind kind;
	ns_t start, stop, end; /* end: the last byte's arrival */
	uint64_t bytes, written, received;
	uint64_t allowed; /* limit of written: what the application has produced so far */
	struct request *requests;
	size_t asked, answered; /* number of requests, and of those that have arrived */
	int low_water;
	unsigned int refills, starved; /* writes, and those before which TCP had no data left */
	bool started, finished, stopped, has_bbr_info, asked_cc_info;
	struct tcp_info info;
	uint32_t viewed; /* bit k: the last read of /proc/net/tcpcc had view[k] */
	uint64_t view[VIEW_COLUMNS];
};

/* A namespace with senders of flows; view is its /proc/net/tcpcc, or -1 without the module */
struct space {
	struct space *next;
	char ns[16];
	int view;
};

struct udp {
	struct waiter timer;
	struct udp *next;
	struct end from, to;
	int fd;
	uint64_t size, frame, rate, sent;
	ns_t start, end;
};

struct cc_switch {
	struct waiter timer;
	struct cc_switch *next;
	char cc[16];
	ns_t at;
};

struct qdisc_stats {
	uint64_t sent_bytes, sent_packets, queue_packets, queue_bytes, drops, requeues, overlimits;
	bool is_link, is_acp, is_estcp;
	struct tc_link_xstats link;
	struct tc_acp_xstats acp;
	struct tc_estcp_xstats estcp;
};

struct link {
	struct link *next;
	char name[16], ns[16], dev[IFNAMSIZ];
	int fd, ifindex; /* fd: a netlink socket in ns */
	uint32_t parent; /* TC_H_ROOT or TC_H_INGRESS */
	bool sampled, law; /* law: below the lab's link there is a qdisc of this project */
	uint32_t queue_max; /* packets, in all reads so far */
	ns_t read; /* when the latest sample was taken */
	struct qdisc_stats first;
};

struct counter {
	struct counter *next;
	char ns[16], name[64];
	uint64_t before;
};

struct listener {
	struct waiter waiter;
	struct listener *next;
	struct end at;
};

static struct flow *flows, *at_port[65536];
static struct flow **due; /* sorted by start, from the next one on; NULL ends it */
static struct udp *udps;
static struct cc_switch *switches;
static struct link *links;
static struct counter *counters;
static struct listener *listeners;
static struct space *spaces;
static char *view_names[VIEW_COLUMNS]; /* in the order in which they appeared */
static int view_count;
static struct {
	ns_t start, end, sample, link_sample, wide, app_interval;
	uint64_t app_sizes[8];
	size_t app_count; /* number of app_sizes; 0: flows always have something to send */
	uint64_t rows, few;
	bool eager;
} run;

static int epoll_fd, home_ns;
static int unfinished; /* long flows with a byte count that have not delivered it */
static struct waiter schedule = { SCHEDULE, -1 }, sampler = { SAMPLER, -1 };
static FILE *flows_csv, *links_csv, *requests_csv;
static int progress_fd = -1;

static void *new(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		die("agent: out of memory");
	return p;
}

/* The value of key in a line of the plan. */
static char *field(const char *line, const char *key, char *value, size_t size)
{
	char pattern[32];
	const char *p;

	snprintf(pattern, sizeof(pattern), " %s=", key);
	p = strstr(line, pattern);
	if (!p)
		die("agent: the plan lacks %s in: %s", key, line);
	snprintf(value, size, "%.*s", (int)strcspn(p + strlen(pattern), " \n"), p + strlen(pattern));
	return value;
}

static int64_t number(const char *line, const char *key)
{
	char value[32];

	return strtoll(field(line, key, value, sizeof(value)), NULL, 10);
}

static void parse_end(const char *line, const char *ns, const char *ip, const char *port,
		      struct end *end)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&end->address;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&end->address;
	char address[INET6_ADDRSTRLEN];

	field(line, ns, end->ns, sizeof(end->ns));
	field(line, ip, address, sizeof(address));
	if (inet_pton(AF_INET, address, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(number(line, port));
	} else if (inet_pton(AF_INET6, address, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(number(line, port));
	} else {
		die("agent: %s is no address", address);
	}
}

/* Namespaces and netlink ----------------------------------------------------------------------- */

static void enter(const char *ns)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die("agent: cannot enter namespace %s: %m", ns);
	close(fd);
}

static void leave(void)
{
	if (setns(home_ns, CLONE_NEWNET))
		die("agent: cannot return to the first namespace: %m");
}

static int netlink_in(const char *ns, const char *dev, int *ifindex)
{
	struct ifreq request = {};
	int fd;

	enter(ns);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	leave();
	snprintf(request.ifr_name, IFNAMSIZ, "%s", dev);
	if (fd < 0 || ioctl(fd, SIOCGIFINDEX, &request))
		die("agent: no device %s in namespace %s: %m", dev, ns);
	*ifindex = request.ifr_ifindex;
	return fd;
}

/* The parent of the qdisc below a qdisc link of the lab */
#define BELOW_LINK TC_H_MAKE(1 << 16, 1)

/* Reads a qdisc of a device, by its parent; returns the answer, a message in @buffer. */
static struct nlmsghdr *get_qdisc(int fd, int ifindex, uint32_t parent, void *buffer, size_t size)
{
	struct {
		struct nlmsghdr header;
		struct tcmsg tc;
	} request = {
		.header = { sizeof(request), RTM_GETQDISC, NLM_F_REQUEST | NLM_F_ECHO, 0, 0 },
		.tc = { .tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex, .tcm_parent = parent },
	};
	struct nlmsghdr *answer = buffer;
	ssize_t length;

	if (send(fd, &request, sizeof(request), 0) < 0)
		die("agent: netlink: %m");
	length = recv(fd, buffer, size, 0);
	if (length < 0 || !NLMSG_OK(answer, (size_t)length))
		die("agent: netlink: %m");
	if (answer->nlmsg_type == NLMSG_ERROR)
		die("agent: cannot read a qdisc: %s",
		    strerror(-((struct nlmsgerr *)NLMSG_DATA(answer))->error));
	return answer;
}

static struct rtattr *attribute(struct nlmsghdr *message, int type)
{
	struct rtattr *a = (void *)((char *)NLMSG_DATA(message) + NLMSG_ALIGN(sizeof(struct tcmsg)));
	int left = message->nlmsg_len - NLMSG_LENGTH(sizeof(struct tcmsg));

	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == type)
			return a;
	return NULL;
}

/* Copies as much of a qdisc's own statistics as both sides know. */
static void take_xstats(const struct rtattr *a, void *xstats, size_t size)
{
	memcpy(xstats, RTA_DATA(a), RTA_PAYLOAD(a) < size ? RTA_PAYLOAD(a) : size);
}

static void read_qdisc(struct link *l, uint32_t parent, struct qdisc_stats *s)
{
	static char buffer[16384];
	struct nlmsghdr *answer = get_qdisc(l->fd, l->ifindex, parent, buffer, sizeof(buffer));
	struct rtattr *nest = attribute(answer, TCA_STATS2), *a;
	int left;

	memset(s, 0, sizeof(*s));
	a = attribute(answer, TCA_KIND);
	s->is_link = a && !strcmp(RTA_DATA(a), "link");
	s->is_acp = a && !strcmp(RTA_DATA(a), "acp");
	s->is_estcp = a && !strcmp(RTA_DATA(a), "estcp");
	if (!nest)
		die("agent: the qdisc of %s has no statistics", l->name);
	left = RTA_PAYLOAD(nest);
	for (a = RTA_DATA(nest); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == TCA_STATS_BASIC) {
			struct gnet_stats_basic *basic = RTA_DATA(a);

			s->sent_bytes = basic->bytes;
			if (!s->sent_packets)
				s->sent_packets = basic->packets;
		} else if (a->rta_type == TCA_STATS_PKT64) {
			s->sent_packets = *(uint64_t *)RTA_DATA(a);
		} else if (a->rta_type == TCA_STATS_QUEUE) {
			struct gnet_stats_queue *queue = RTA_DATA(a);

			s->queue_packets = queue->qlen;
			s->queue_bytes = queue->backlog;
			s->drops = queue->drops;
			s->requeues = queue->requeues;
			s->overlimits = queue->overlimits;
		} else if (a->rta_type == TCA_STATS_APP && s->is_link) {
			take_xstats(a, &s->link, sizeof(s->link));
		} else if (a->rta_type == TCA_STATS_APP && s->is_acp) {
			take_xstats(a, &s->acp, sizeof(s->acp));
		} else if (a->rta_type == TCA_STATS_APP && s->is_estcp) {
			take_xstats(a, &s->estcp, sizeof(s->estcp));
		}
	}
}

/* The statistics of a link and, if it is the lab's, of the law's qdisc below it. */
static void read_stats(struct link *l, struct qdisc_stats *s)
{
	struct qdisc_stats below;

	read_qdisc(l, l->parent, s);
	if (!s->is_link)
		return;
	if (s->link.queue_max > l->queue_max)
		l->queue_max = s->link.queue_max;
	if (!l->law)
		return;
	read_qdisc(l, BELOW_LINK, &below);
	s->drops = below.drops; /* counts also parts of a large packet */
	s->is_acp = below.is_acp;
	s->is_estcp = below.is_estcp;
	s->acp = below.acp;
	s->estcp = below.estcp;
}

/*
 * Without a seed netem's random numbers come from the kernel's random pool, and the pool depends on
 * everything that ran before.  Older versions of tc cannot set the seed.  So this sets netem's own
 * options again, together with the seed.
 */
static void seed_netem(const char *ns, const char *dev, uint64_t seed)
{
	static char buffer[16384], request[16384];
	struct nlmsghdr *answer, *header = (void *)request, *result = (void *)buffer;
	struct rtattr *options, *nest, *a;
	int fd, ifindex;

	fd = netlink_in(ns, dev, &ifindex);
	answer = get_qdisc(fd, ifindex, TC_H_ROOT, buffer, sizeof(buffer));
	options = attribute(answer, TCA_OPTIONS);
	memcpy(request, answer, NLMSG_LENGTH(sizeof(struct tcmsg)));
	header->nlmsg_type = RTM_NEWQDISC;
	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	((struct tcmsg *)NLMSG_DATA(header))->tcm_info = 0;
	nest = (void *)(request + NLMSG_LENGTH(sizeof(struct tcmsg)));
	a = nest;
	a->rta_type = TCA_KIND;
	a->rta_len = RTA_LENGTH(sizeof("netem"));
	memcpy(RTA_DATA(a), "netem", sizeof("netem"));
	nest = (void *)((char *)a + RTA_ALIGN(a->rta_len));
	memcpy(nest, options, options->rta_len);
	a = (void *)((char *)nest + RTA_ALIGN(nest->rta_len));
	a->rta_type = NETEM_PRNG_SEED;
	a->rta_len = RTA_LENGTH(sizeof(seed));
	memcpy(RTA_DATA(a), &seed, sizeof(seed));
	nest->rta_len = (char *)a + RTA_ALIGN(a->rta_len) - (char *)nest;
	header->nlmsg_len = (char *)nest + nest->rta_len - request;
	if (send(fd, request, header->nlmsg_len, 0) < 0 || recv(fd, buffer, sizeof(buffer), 0) < 0)
		die("agent: netlink: %m");
	if (result->nlmsg_type == NLMSG_ERROR && ((struct nlmsgerr *)NLMSG_DATA(result))->error)
		die("agent: cannot seed netem on %s: %s", dev,
		    strerror(-((struct nlmsgerr *)NLMSG_DATA(result))->error));
	close(fd);
}

/* From here on the kernel's random numbers do not depend on how long the set-up was. */
static void restart_random(void)
{
	int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);

	/* Before 6.2 the kernel does not reseed until its pool is full; here it never is. */
	if (fd < 0 || (ioctl(fd, RNDRESEEDCRNG) && errno != ENODATA))
		die("agent: cannot restart the random numbers: %m");
	close(fd);
}

/* Protocol counters ---------------------------------------------------------------------------- */

typedef void (*count_fn)(const char *ns, const char *name, uint64_t value, void *context);

/*
 * /proc/net/netstat and snmp: pairs of lines, "Group: names" and "Group: values".  snmp6, which
 * does not exist without IPv6: a name and its value in each line.
 */
static void read_counters(const char *ns, count_fn use, void *context)
{
	static const char *const files[] = { "/proc/self/net/netstat", "/proc/self/net/snmp" };
	static char names[8192], values[8192];

	enter(ns);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		FILE *f = fopen(files[i], "r");

		if (!f)
			die("agent: %s: %m", files[i]);
		while (fgets(names, sizeof(names), f) && fgets(values, sizeof(values), f)) {
			char *name_save, *value_save, *name, *value, *group;

			group = strtok_r(names, ": \n", &name_save);
			strtok_r(values, ": \n", &value_save);
			while ((name = strtok_r(NULL, " \n", &name_save)) &&
			       (value = strtok_r(NULL, " \n", &value_save))) {
				char full[64];

				snprintf(full, sizeof(full), "%s%s", group, name);
				use(ns, full, strtoull(value, NULL, 10), context);
			}
		}
		fclose(f);
	}

	FILE *f = fopen("/proc/self/net/snmp6", "r");

	while (f && fgets(values, sizeof(values), f)) {
		char *value_save, *name = strtok_r(values, " \t\n", &value_save);
		char *value = strtok_r(NULL, " \t\n", &value_save);

		if (value)
			use(ns, name, strtoull(value, NULL, 10), context);
	}
	if (f)
		fclose(f);
	leave();
}

/* Packets that a namespace's receive path dropped before any protocol saw them (all CPUs). */
static uint64_t backlog_drops(void)
{
	unsigned int processed, dropped;
	uint64_t sum = 0;
	char line[256];
	FILE *f = fopen("/proc/net/softnet_stat", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%x %x", &processed, &dropped) == 2)
			sum += dropped;
	if (f)
		fclose(f);
	return sum;
}

static void remember_counter(const char *ns, const char *name, uint64_t value, void *context)
{
	struct counter *c = new(sizeof(*c));

	(void)context;
	snprintf(c->ns, sizeof(c->ns), "%s", ns);
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->before = value;
	c->next = counters;
	counters = c;
}

static void print_counter(const char *ns, const char *name, uint64_t value, void *context)
{
	FILE *out = context;
	struct counter *c;

	for (c = counters; c; c = c->next)
		if (!strcmp(c->ns, ns) && !strcmp(c->name, name))
			break;
	if (c && value > c->before)
		fprintf(out, ",\n  [\"%s\", \"%s\", %llu]", ns, name,
			(unsigned long long)(value - c->before));
}

/* Waiting -------------------------------------------------------------------------------------- */

static ns_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC + t.tv_nsec - run.start;
}

static void watch(struct waiter *w, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = w };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, w->fd, &event))
		die("agent: epoll: %m");
}

static void arm(struct waiter *timer, ns_t at, ns_t interval)
{
	struct itimerspec when = {
		.it_value = { (run.start + at) / NSEC, (run.start + at) % NSEC },
		.it_interval = { interval / NSEC, interval % NSEC },
	};

	if (timer->fd < 0) {
		timer->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
		watch(timer, EPOLLIN);
	}
	if (timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &when, NULL))
		die("agent: timer: %m");
}

/* Flows ---------------------------------------------------------------------------------------- */

static socklen_t address_size(const struct end *e)
{
	return e->address.ss_family == AF_INET ? sizeof(struct sockaddr_in) :
						 sizeof(struct sockaddr_in6);
}

static int socket_in(const struct end *e, int type)
{
	int one = 1, fd;

	enter(e->ns);
	fd = socket(e->address.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	leave();
	if (fd < 0)
		die("agent: socket: %m");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&e->address, address_size(e)))
		die("agent: bind in namespace %s: %m", e->ns);
	return fd;
}

static uint16_t port_of(const struct sockaddr_storage *a)
{
	return ntohs(a->ss_family == AF_INET ? ((struct sockaddr_in *)a)->sin_port :
					       ((struct sockaddr_in6 *)a)->sin6_port);
}

/* One listener per receiving address, made before traffic starts. */
static void listen_at(const struct end *e)
{
	struct listener *l;

	for (l = listeners; l; l = l->next)
		if (!strcmp(l->at.ns, e->ns) &&
		    !memcmp(&l->at.address, &e->address, address_size(e)))
			return;
	l = new(sizeof(*l));
	l->at = *e;
	l->waiter = (struct waiter){ LISTENER, socket_in(e, SOCK_STREAM) };
	if (listen(l->waiter.fd, 4096))
		die("agent: listen: %m");
	watch(&l->waiter, EPOLLIN);
	l->next = listeners;
	listeners = l;
}

/*
 * Wakes the receiver once for READ_CHUNK bytes, or for the last byte of the flow or of a write of
 * its application, instead of for each packet: that would be most of the guest's work.  ACKs are as
 * with a reader that always reads at once: SO_RCVLOWAT does not resize a receive buffer that has
 * its largest size from the start (the plan sets tcp_rmem so).
 */
static void want_bytes(struct flow *f)
{
	uint64_t left = f->bytes ? f->bytes - f->received : READ_CHUNK;
	int low;

	if (run.eager)
		return;
	if (f->answered < f->asked && f->requests[f->answered].end - f->received < left)
		left = f->requests[f->answered].end - f->received;
	low = left < READ_CHUNK ? left : READ_CHUNK;
	if (low != f->low_water)
		setsockopt(f->receiver.fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low));
	f->low_water = low;
}

static void accept_all(struct listener *l)
{
	struct sockaddr_storage peer;
	socklen_t size = sizeof(peer);
	struct flow *f;
	int fd;

	while ((fd = accept4(l->waiter.fd, (struct sockaddr *)&peer, &size,
			     SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		f = at_port[port_of(&peer)];
		if (!f || memcmp(&f->from.address, &peer, size))
			die("agent: a connection that is not of the plan");
		f->receiver = (struct waiter){ RECEIVER, fd };
		want_bytes(f);
		watch(&f->receiver, EPOLLIN);
		size = sizeof(peer);
	}
}

/* The application writes the next of its sizes. */
static void ask(struct flow *f, ns_t at)
{
	uint64_t size = run.app_sizes[f->asked % run.app_count];

	if (f->bytes && size > f->bytes - f->allowed)
		size = f->bytes - f->allowed;
	if (!size)
		return;
	if (!(f->asked & (f->asked - 1))) {
		size_t room = f->asked ? 2 * f->asked : 1;

		f->requests = realloc(f->requests, room * sizeof(*f->requests));
		if (!f->requests)
			die("agent: out of memory");
	}
	f->allowed += size;
	f->requests[f->asked++] = (struct request){ at, size, f->allowed };
}

/* Writes a line for each request that has arrived as a whole. */
static void answer(struct flow *f)
{
	ns_t at;

	if (f->answered == f->asked || f->received < f->requests[f->answered].end)
		return;
	at = now();
	for (; f->answered < f->asked && f->received >= f->requests[f->answered].end; f->answered++) {
		const struct request *r = &f->requests[f->answered];

		fprintf(requests_csv, "%.9g,%d,%llu,%.9g\n", r->at / 1e9, f->id,
			(unsigned long long)r->size, (at - r->at) / 1e9);
	}
}

static void start_flow(struct flow *f)
{
	int fd = socket_in(&f->from, SOCK_STREAM);

	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, f->cc, strlen(f->cc)))
		die("congestion control %s: %m", f->cc);
	f->started = true;
	f->start = now();
	f->sender = (struct waiter){ SENDER, fd };
	if (connect(fd, (struct sockaddr *)&f->to.address, address_size(&f->to)) &&
	    errno != EINPROGRESS)
		die("agent: connect: %m");
	watch(&f->sender, EPOLLOUT);
	f->allowed = f->bytes ? f->bytes : UINT64_MAX;
	if (f->stop) {
		f->stopper = (struct waiter){ STOP, -1 };
		arm(&f->stopper, f->stop, 0);
	}
	if (run.app_count && run.app_sizes[0] < f->allowed && f->kind != REVERSE) {
		f->allowed = 0;
		ask(f, f->start);
		f->app = (struct waiter){ APP, -1 };
		arm(&f->app, f->start + run.app_interval, run.app_interval);
	}
}

static void read_info(struct flow *f)
{
	socklen_t size = sizeof(f->info);

	if (f->sender.fd >= 0)
		getsockopt(f->sender.fd, IPPROTO_TCP, TCP_INFO, &f->info, &size);
}

static uint32_t in_flight(const struct tcp_info *i)
{
	return i->tcpi_unacked - i->tcpi_sacked - i->tcpi_lost + i->tcpi_retrans;
}

static void finish_flow(struct flow *f)
{
	f->end = now();
	f->finished = true;
	read_info(f);
	close(f->sender.fd);
	close(f->receiver.fd);
	f->sender.fd = f->receiver.fd = -1;
	unfinished -= f->kind == LONG;
}

static void want_room(struct flow *f, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = &f->sender };

	epoll_ctl(epoll_fd, EPOLL_CTL_MOD, f->sender.fd, &event);
}

/* Data that a slow path has not taken yet is kept, as in a real program. */
static void produce(struct flow *f)
{
	uint64_t expired;

	if (read(f->app.fd, &expired, sizeof(expired)) != sizeof(expired))
		return;
	while (expired--)
		ask(f, now());
	if (f->receiver.fd >= 0)
		want_bytes(f);
	if (f->bytes && f->allowed >= f->bytes) {
		f->allowed = f->bytes;
		close(f->app.fd);
		f->app.fd = -1;
	}
	want_room(f, EPOLLOUT);
}

static void fill(struct flow *f)
{
	static char zeros[WRITE_SIZE];
	socklen_t size = sizeof(int);
	int error = 0;

	if (!f->written) {
		getsockopt(f->sender.fd, SOL_SOCKET, SO_ERROR, &error, &size);
		if (error == ETIMEDOUT) {
			/* each SYN was dropped: the flow delivers nothing */
			close(f->sender.fd);
			f->sender.fd = -1;
			return;
		}
		if (error)
			die("flow %d could not connect: %s", f->id, strerror(error));
	} else {
		read_info(f);
		f->refills++;
		f->starved += !f->info.tcpi_notsent_bytes && in_flight(&f->info) < f->info.tcpi_snd_cwnd;
	}
	for (;;) {
		uint64_t want = sizeof(zeros);
		ssize_t n;

		if (f->allowed - f->written < want)
			want = f->allowed - f->written;
		n = want ? send(f->sender.fd, zeros, want, MSG_NOSIGNAL) : 0;
		if (n < 0 && errno != EAGAIN)
			die("flow %d was broken off: %m", f->id);
		if (n > 0)
			f->written += n;
		if (f->written == f->allowed)
			break;
		if (n < (ssize_t)want)
			return; /* full; another send() would fail */
	}
	want_room(f, 0);
}

/* MSG_TRUNC: TCP drops the bytes instead of copying them, so a read may have any size. */
static void drain(struct flow *f)
{
	ssize_t n = recv(f->receiver.fd, NULL, READ_SIZE, MSG_TRUNC);

	if (f->stopped) {
		if (!n || (n < 0 && errno != EAGAIN)) {
			close(f->receiver.fd);
			f->receiver.fd = -1;
		}
		return;
	}
	if (n < 0 && errno != EAGAIN)
		die("flow %d was broken off: %m", f->id);
	if (n > 0)
		f->received += n;
	answer(f);
	if (f->bytes && f->received >= f->bytes)
		finish_flow(f);
	else
		want_bytes(f);
}

/* The user leaves: data on the way may arrive, but nothing more is sent. */
static void stop_flow(struct flow *f)
{
	struct linger now_or_never = { 1, 0 };

	close(f->stopper.fd);
	f->stopper.fd = -1;
	if (f->receiver.fd >= 0)
		drain(f);
	if (f->sender.fd < 0)
		return; /* it has finished */
	f->end = now();
	f->stopped = true;
	read_info(f);
	setsockopt(f->sender.fd, SOL_SOCKET, SO_LINGER, &now_or_never, sizeof(now_or_never));
	close(f->sender.fd);
	f->sender.fd = -1;
	if (f->app.fd > 0)
		close(f->app.fd);
	f->app.fd = -1;
}

/* Cross traffic -------------------------------------------------------------------------------- */

/* The receiver needs no data: a filter that passes no packet saves the guest that work. */
static void start_udp(struct udp *u)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog filter = { 1, &nothing };
	int sink = socket_in(&u->to, SOCK_DGRAM);

	setsockopt(sink, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
	u->fd = socket_in(&u->from, SOCK_DGRAM);
	if (connect(u->fd, (struct sockaddr *)&u->to.address, address_size(&u->to)))
		die("agent: connect: %m");
	u->timer = (struct waiter){ UDP, -1 };
	arm(&u->timer, u->start, 0);
}

static void send_udp(struct udp *u)
{
	static char zeros[65536];
	ns_t next;

	if (send(u->fd, zeros, u->size, 0) < 0 && errno != EAGAIN && errno != ENOBUFS)
		die("agent: cross traffic: %m");
	u->sent++;
	next = u->start + (ns_t)((__int128)u->sent * u->frame * 8 * NSEC / u->rate);
	if (next < u->end) {
		arm(&u->timer, next, 0);
	} else {
		close(u->timer.fd);
		u->timer.fd = -1;
	}
}

/* Switches ------------------------------------------------------------------------------------- */

static void switch_all(struct cc_switch *s)
{
	close(s->timer.fd);
	s->timer.fd = -1;
	for (struct flow *f = flows; f; f = f->next) {
		if (f->sender.fd < 0 || f->kind != LONG)
			continue;
		if (setsockopt(f->sender.fd, IPPROTO_TCP, TCP_CONGESTION, s->cc, strlen(s->cc)))
			die("congestion control %s: %m", s->cc);
		f->asked_cc_info = false;
	}
}

/* Samples -------------------------------------------------------------------------------------- */

/* A value that is not known is an empty field. */
static void print_optional(FILE *out, bool known, double value)
{
	if (known)
		fprintf(out, ",%.9g", value);
	else
		fputc(',', out);
}

/* Opens /proc/net/tcpcc of a namespace, once; before traffic, because a failure moves the clock. */
static void open_view(const char *ns)
{
	struct space *s;

	for (s = spaces; s; s = s->next)
		if (!strcmp(s->ns, ns))
			return;
	s = new(sizeof(*s));
	snprintf(s->ns, sizeof(s->ns), "%s", ns);
	enter(ns);
	s->view = open("/proc/self/net/tcpcc", O_RDONLY | O_CLOEXEC);
	leave();
	s->next = spaces;
	spaces = s;
}

static int view_column(const char *name)
{
	for (int i = 0; i < view_count; i++)
		if (!strcmp(view_names[i], name))
			return i;
	if (view_count == VIEW_COLUMNS)
		die("agent: more than %d names of fields in /proc/net/tcpcc", VIEW_COLUMNS);
	view_names[view_count] = strdup(name);
	if (!view_names[view_count])
		die("agent: out of memory");
	return view_count++;
}

/* "ADDRESS:PORT ADDRESS:PORT cc=NAME mode=NAME FIELD=NUMBER ..."; the first port finds the flow */
static void read_view_line(char *line)
{
	char *save, *value, *word = strtok_r(line, " \n", &save);
	char *port = word ? strrchr(word, ':') : NULL;
	struct flow *f = port ? at_port[strtoul(port + 1, NULL, 10) & 0xffff] : NULL;

	while (f && (word = strtok_r(NULL, " \n", &save))) {
		value = strchr(word, '=');
		if (value && strncmp(word, "cc=", 3) && strncmp(word, "mode=", 5)) {
			int i;

			*value++ = '\0';
			i = view_column(word);
			f->view[i] = strtoull(value, NULL, 10);
			f->viewed |= 1u << i;
		}
	}
}

/*
 * Reads all flows of a namespace at once, so their values are of the same moment.  A read gives
 * whole lines, as many as the kernel has room for.  If another line would have fit, it was the last
 * read.
 */
static void read_view(int view)
{
	static char text[16 * VIEW_PART + 1];
	char *save, *line;
	off_t at = 0;
	ssize_t n;

	if (view < 0)
		return;
	do {
		n = pread(view, text, sizeof(text) - 1, at);
		if (n < 0)
			die("agent: /proc/net/tcpcc: %m");
		text[n] = '\0';
		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			read_view_line(line);
		at += n;
	} while (n > VIEW_PART - VIEW_LINE);
}

static void sample_flow(struct flow *f, ns_t at)
{
	const struct tcp_info *i = &f->info;
	union tcp_cc_info cc;
	socklen_t size = sizeof(cc);

	read_info(f);
	if (i->tcpi_state != 1) /* established */
		return;
	if (!f->asked_cc_info || f->has_bbr_info) {
		int err = getsockopt(f->sender.fd, IPPROTO_TCP, TCP_CC_INFO, &cc, &size);

		f->has_bbr_info = !err && size == sizeof(struct tcp_bbr_info);
		f->asked_cc_info = true;
	}
	fprintf(flows_csv, "%.9g,%d,%u,%d,%.9g", at / 1e9, f->id, i->tcpi_snd_cwnd,
		in_flight(i), i->tcpi_rtt / 1e6);
	print_optional(flows_csv, i->tcpi_min_rtt != UINT32_MAX, i->tcpi_min_rtt / 1e6);
	print_optional(flows_csv, i->tcpi_snd_ssthresh < 0x7fffffff, i->tcpi_snd_ssthresh);
	fprintf(flows_csv, ",%llu,%u,%u,%u,%.9g", (unsigned long long)i->tcpi_bytes_acked,
		i->tcpi_total_retrans, i->tcpi_lost, i->tcpi_ca_state,
		i->tcpi_delivery_rate * 8.0);
	print_optional(flows_csv, i->tcpi_pacing_rate != UINT64_MAX, i->tcpi_pacing_rate * 8.0);
	print_optional(flows_csv, f->has_bbr_info,
		       (((uint64_t)cc.bbr.bbr_bw_hi << 32) | cc.bbr.bbr_bw_lo) * 8.0);
	print_optional(flows_csv, f->has_bbr_info, cc.bbr.bbr_min_rtt / 1e6);
	print_optional(flows_csv, f->has_bbr_info, cc.bbr.bbr_pacing_gain / 256.0);
	print_optional(flows_csv, f->has_bbr_info, cc.bbr.bbr_cwnd_gain / 256.0);
	for (int k = 0; k < view_count; k++)
		print_optional(flows_csv, f->viewed & 1u << k, f->view[k]);
	f->viewed = 0;
	fputc('\n', flows_csv);
}

static const char flows_header[] =
	"time_s,flow,cwnd,in_flight,rtt_s,min_rtt_s,ssthresh,acked_bytes,retransmits,lost,"
	"ca_state,delivery_bps,pacing_bps,cc_bw_bps,cc_min_rtt_s,cc_pacing_gain,cc_cwnd_gain";
static const char links_header[] =
	"time_s,link,queue_packets,queue_bytes,sent_packets,sent_bytes,drops,desired_bps,flows,"
	"g_s,phase,queue_max,queue_mean\n";

static void sample_link(struct link *l, ns_t at)
{
	struct qdisc_stats s;

	read_stats(l, &s);
	fprintf(links_csv, "%.9g,%s,%llu,%llu,%llu,%llu,%llu", at / 1e9, l->name,
		(unsigned long long)s.queue_packets, (unsigned long long)s.queue_bytes,
		(unsigned long long)(s.sent_packets - l->first.sent_packets),
		(unsigned long long)(s.sent_bytes - l->first.sent_bytes),
		(unsigned long long)(s.drops - l->first.drops));
	print_optional(links_csv, s.is_acp, s.acp.desired * 8.0);
	print_optional(links_csv, s.is_acp, s.acp.flows / 1000.0);
	print_optional(links_csv, s.is_estcp, s.estcp.g / 1e6);
	print_optional(links_csv, s.is_estcp, s.estcp.phase);
	print_optional(links_csv, s.is_link, s.link.queue_max);
	print_optional(links_csv, s.is_link, (double)s.link.queue_sum / (at - l->read));
	fputc('\n', links_csv);
	l->read = at;
}

/* Writes the virtual time to a file.  The host ends a run whose virtual time stands still. */
static void report_progress(ns_t at)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%-20.3f\n", at / 1e9);

	if (progress_fd >= 0 && pwrite(progress_fd, text, n, 0) < 0)
		die("agent: cannot write to the run's directory: %m");
}

/* One timer for both series: links are sampled at each expiry, flows at every nth. */
static void sample(void)
{
	static uint64_t tick, rows;
	static ns_t reported;
	uint64_t expired;
	ns_t at;

	if (read(sampler.fd, &expired, sizeof(expired)) != sizeof(expired))
		return;
	tick += expired;
	at = tick * run.link_sample;
	if (at > run.end)
		return;
	for (struct link *l = links; l; l = l->next)
		if (l->sampled)
			sample_link(l, at);
	if (at % run.sample == 0) {
		for (struct space *s = spaces; s; s = s->next)
			read_view(s->view);
		for (struct flow *f = flows; f; f = f->next)
			if (f->sender.fd >= 0 && f->kind == LONG)
				sample_flow(f, at);
	}
	if (at - reported >= NSEC / 4) {
		reported = at;
		report_progress(at);
	}
	if (++rows >= (2 * run.link_sample > run.wide ? run.rows : run.few) && tick % 2 == 0) {
		rows /= 2;
		tick /= 2;
		run.link_sample *= 2;
		if (run.sample < run.link_sample)
			run.sample = run.link_sample;
		else if (run.sample % run.link_sample)
			run.sample += run.link_sample - run.sample % run.link_sample;
		arm(&sampler, at + run.link_sample, run.link_sample);
	}
}

/* The run -------------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct flow *const *x = a, *const *y = b;

	if ((*x)->start != (*y)->start)
		return (*x)->start < (*y)->start ? -1 : 1;
	return (*x)->id - (*y)->id;
}

static void read_sizes(char *text)
{
	const size_t most = sizeof(run.app_sizes) / sizeof(*run.app_sizes);

	for (char *size = strtok(text, ","); size; size = strtok(NULL, ",")) {
		if (run.app_count == most)
			die("agent: more than %zu sizes", most);
		run.app_sizes[run.app_count++] = strtoull(size, NULL, 10);
	}
}

static void read_plan(const char *path)
{
	struct flow **last_flow = &flows;
	size_t count = 0, n = 0;
	struct link **last_link = &links;
	char line[1024], a[64], b[64], sizes[256];
	FILE *plan = fopen(path, "r");

	if (!plan)
		die("agent: %s: %m", path);
	while (fgets(line, sizeof(line), plan)) {
		if (!strncmp(line, "run ", 4)) {
			run.start = number(line, "start");
			run.end = number(line, "end");
			run.sample = number(line, "sample");
			run.link_sample = number(line, "link_sample");
			run.rows = number(line, "rows");
			run.few = number(line, "few");
			run.wide = number(line, "wide");
			run.eager = strstr(line, " eager=1");
		} else if (!strncmp(line, "seed ", 5)) {
			seed_netem(field(line, "ns", a, sizeof(a)), field(line, "dev", b, sizeof(b)),
				   number(line, "seed"));
		} else if (!strncmp(line, "link ", 5) || !strncmp(line, "ingress ", 8)) {
			struct link *l = new(sizeof(*l));

			field(line, "name", l->name, sizeof(l->name));
			field(line, "ns", l->ns, sizeof(l->ns));
			field(line, "dev", l->dev, sizeof(l->dev));
			l->sampled = number(line, "sampled");
			l->law = strstr(line, " law=1");
			l->parent = *line == 'i' ? TC_H_INGRESS : TC_H_ROOT;
			l->fd = netlink_in(l->ns, l->dev, &l->ifindex);
			*last_link = l;
			last_link = &l->next;
		} else if (!strncmp(line, "count ", 6)) {
			read_counters(field(line, "ns", a, sizeof(a)), remember_counter, NULL);
		} else if (!strncmp(line, "app ", 4)) {
			read_sizes(field(line, "size", sizes, sizeof(sizes)));
			run.app_interval = number(line, "interval");
		} else if (!strncmp(line, "switch ", 7)) {
			struct cc_switch *s = new(sizeof(*s));

			s->timer = (struct waiter){ SWITCH, -1 };
			s->at = number(line, "at");
			field(line, "cc", s->cc, sizeof(s->cc));
			s->next = switches;
			switches = s;
		} else if (!strncmp(line, "flow ", 5) || !strncmp(line, "short ", 6) ||
			   !strncmp(line, "reverse ", 8)) {
			struct flow *f = new(sizeof(*f));

			f->id = number(line, "id");
			f->kind = *line == 'f' ? LONG : *line == 's' ? SHORT : REVERSE;
			field(line, "cc", f->cc, sizeof(f->cc));
			f->start = number(line, "start");
			f->bytes = number(line, "bytes");
			f->stop = strstr(line, " stop=") ? number(line, "stop") : 0;
			f->sender.fd = f->receiver.fd = f->app.fd = -1;
			parse_end(line, "ns", "src", "sport", &f->from);
			parse_end(line, "peer", "dst", "dport", &f->to);
			at_port[port_of(&f->from.address)] = f;
			listen_at(&f->to);
			if (f->kind == LONG)
				open_view(f->from.ns);
			unfinished += f->bytes > 0 && f->kind == LONG;
			count++;
			*last_flow = f;
			last_flow = &f->next;
		} else if (!strncmp(line, "udp ", 4)) {
			struct udp *u = new(sizeof(*u));

			parse_end(line, "ns", "src", "sport", &u->from);
			parse_end(line, "peer", "dst", "dport", &u->to);
			u->size = number(line, "size");
			u->frame = number(line, "frame");
			u->rate = number(line, "rate");
			u->start = number(line, "from");
			u->end = number(line, "to");
			u->next = udps;
			udps = u;
		} else {
			die("agent: the plan has an unknown line: %s", line);
		}
	}
	fclose(plan);
	due = new((count + 1) * sizeof(*due));
	for (struct flow *f = flows; f; f = f->next)
		due[n++] = f;
	qsort(due, count, sizeof(*due), by_start);
}

/* Starts the flows that are due; sets the timer for the next one, or for an earlier end. */
static void start_due(ns_t at)
{
	for (; *due && (*due)->start <= at; due++)
		start_flow(*due);
	arm(&schedule, *due && (*due)->start < run.end ? (*due)->start : run.end, 0);
}

static void loop(void)
{
	struct epoll_event events[64];
	bool may_finish = unfinished > 0;

	arm(&schedule, 0, 0);
	for (struct udp *u = udps; u; u = u->next)
		start_udp(u);
	for (struct cc_switch *s = switches; s; s = s->next)
		arm(&s->timer, s->at, 0);
	if (run.sample)
		arm(&sampler, run.link_sample, run.link_sample);
	while (!may_finish || unfinished > 0) {
		int n = epoll_wait(epoll_fd, events, 64, -1);

		for (int i = 0; i < n; i++) {
			struct waiter *w = events[i].data.ptr;

			if (w->fd < 0)
				continue; /* finished earlier in this round */
			switch (w->role) {
			case LISTENER:
				accept_all((struct listener *)w);
				break;
			case SENDER:
				fill((struct flow *)w);
				break;
			case RECEIVER:
				drain((struct flow *)((char *)w - offsetof(struct flow, receiver)));
				break;
			case APP:
				produce((struct flow *)((char *)w - offsetof(struct flow, app)));
				break;
			case STOP:
				stop_flow((struct flow *)((char *)w - offsetof(struct flow, stopper)));
				break;
			case UDP:
				send_udp((struct udp *)w);
				break;
			case SWITCH:
				switch_all((struct cc_switch *)w);
				break;
			case SCHEDULE:
				if (now() >= run.end)
					return;
				start_due(now());
				break;
			case SAMPLER:
				sample();
				break;
			}
		}
	}
}

static FILE *create(const char *name, const char *header)
{
	FILE *f = fopen(name, "w+");

	if (!f)
		die("agent: %s: %m", name);
	setvbuf(f, NULL, _IOFBF, 1 << 18);
	fputs(header, f);
	return f;
}

static void finish(FILE *f, const char *name)
{
	if (ferror(f) || fflush(f) || fsync(fileno(f)) || fclose(f))
		die("agent: cannot write %s: %m", name);
}

/*
 * The columns of the flows' series are known only after the last sample.  The header names them.  A
 * row from before a column appeared gets an empty field for it.
 */
static void finish_flows(void)
{
	FILE *out = create("flows.csv", flows_header);
	char row[4096], *c;
	int columns = 0, left;

	for (const char *h = flows_header; *h; h++)
		columns += *h == ',';
	columns += view_count;
	for (int i = 0; i < view_count; i++)
		fprintf(out, ",cc_%s", view_names[i]);
	fputc('\n', out);
	rewind(flows_csv);
	while (fgets(row, sizeof(row), flows_csv)) {
		for (left = columns, c = row; *c && *c != '\n'; c++)
			left -= *c == ',';
		*c = '\0';
		fputs(row, out);
		while (left-- > 0)
			fputc(',', out);
		fputc('\n', out);
	}
	finish(out, "flows.csv");
	finish(flows_csv, "flows.part");
	unlink("flows.part");
}

static void print_summary(ns_t end)
{
	FILE *out = create("summary.json", "{\n");
	struct qdisc_stats s;

	fprintf(out, "\"end_s\": %.9f,\n\"flows\": [", end / 1e9);
	for (struct flow *f = flows; f; f = f->next) {
		const struct tcp_info *i = &f->info;

		if (f->receiver.fd >= 0)
			drain(f);
		read_info(f);
		fprintf(out,
			"%s\n {\"id\": %d, \"cc\": \"%s\", \"started\": %s, \"finished\": %s, "
			"\"start_s\": %.9f, \"end_s\": %.9f, \"bytes\": %llu, "
			"\"retransmits\": %u, \"busy_s\": %.6f, \"rwnd_limited_s\": %.6f, "
			"\"sndbuf_limited_s\": %.6f, \"refills\": %u, \"starved\": %u, "
			"\"requests\": %zu}",
			f == flows ? "" : ",", f->id, f->cc, f->started ? "true" : "false",
			f->finished ? "true" : "false", f->start / 1e9,
			(f->finished || f->stopped ? f->end : end) / 1e9, (unsigned long long)f->received,
			i->tcpi_total_retrans, i->tcpi_busy_time / 1e6,
			i->tcpi_rwnd_limited / 1e6, i->tcpi_sndbuf_limited / 1e6, f->refills,
			f->starved, f->asked);
	}
	fprintf(out, "],\n\"links\": [");
	for (struct link *l = links; l; l = l->next) {
		read_stats(l, &s);
		fprintf(out,
			"%s\n {\"name\": \"%s\", \"sent_bytes\": %llu, \"sent_packets\": %llu, "
			"\"queue_packets\": %llu, \"queue_max\": %u, \"drops\": %llu}",
			l == links ? "" : ",", l->name,
			(unsigned long long)(s.sent_bytes - l->first.sent_bytes),
			(unsigned long long)(s.sent_packets - l->first.sent_packets),
			(unsigned long long)s.queue_packets, l->queue_max,
			(unsigned long long)(s.drops - l->first.drops));
	}
	fprintf(out, "],\n\"backlog_drops\": %llu,\n\"counters\": [\n  [\"\", \"\", 0]",
		(unsigned long long)backlog_drops());
	for (struct counter *c = counters, *last = NULL; c; last = c, c = c->next)
		if (!last || strcmp(last->ns, c->ns))
			read_counters(c->ns, print_counter, out);
	fprintf(out, "]\n}\n");
	finish(out, "summary.json");
}

static int traffic(const char *plan, const char *directory)
{
	struct rlimit files = { 65536, 65536 };
	struct link *l;

	setrlimit(RLIMIT_NOFILE, &files);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	home_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (epoll_fd < 0 || home_ns < 0)
		die("agent: %m");
	read_plan(plan);
	if (chdir(directory))
		die("agent: %s: %m", directory);
	flows_csv = create("flows.part", "");
	links_csv = create("links.csv", links_header);
	if (run.app_count)
		requests_csv = create("requests.csv", "time_s,flow,bytes,took_s\n");
	progress_fd = open("progress", O_WRONLY | O_CREAT | O_DSYNC | O_CLOEXEC, 0644);
	for (l = links; l; l = l->next)
		read_stats(l, &l->first);
	if (now() > 0)
		die("agent: the set-up took longer than it may: raise START_S");
	restart_random();
	loop();
	print_summary(unfinished == 0 && now() < run.end ? now() : run.end);
	finish_flows();
	finish(links_csv, "links.csv");
	if (requests_csv)
		finish(requests_csv, "requests.csv");
	return 0;
}

/* agent meet ----------------------------------------------------------------------------------- */

static void await(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	poll(&one, 1, -1);
}

/* The receiver closes first, so nothing of the connection is left at the sender. */
static int meet(char **arguments)
{
	struct end from, to;
	struct tcp_info info;
	socklen_t size = sizeof(info);
	char line[256];
	int listener, sender, receiver;

	home_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	snprintf(line, sizeof(line), "meet ns=%s src=%s sport=4999 peer=%s dst=%s dport=5000",
		 arguments[0], arguments[1], arguments[2], arguments[3]);
	parse_end(line, "ns", "src", "sport", &from);
	parse_end(line, "peer", "dst", "dport", &to);
	listener = socket_in(&to, SOCK_STREAM);
	sender = socket_in(&from, SOCK_STREAM);
	if (listen(listener, 1) ||
	    (connect(sender, (struct sockaddr *)&to.address, address_size(&to)) &&
	     errno != EINPROGRESS))
		die("agent: meet: %m");
	await(listener);
	receiver = accept(listener, NULL, NULL);
	close(receiver);
	await(sender);
	shutdown(sender, SHUT_WR);
	do {
		usleep(1000);
		if (getsockopt(sender, IPPROTO_TCP, TCP_INFO, &info, &size))
			die("agent: meet: %m");
	} while (info.tcpi_state != 7); /* closed */
	return 0;
}

/* agent exec ----------------------------------------------------------------------------------- */

static void copy_some(struct pollfd *from, int to)
{
	static char buffer[65536];
	ssize_t n = read(from->fd, buffer, sizeof(buffer));

	for (ssize_t done = 0, m; done < n; done += m) {
		m = write(to, buffer + done, n - done);
		if (m <= 0)
			die("agent: cannot write to the run's directory: %m");
	}
	if (n <= 0)
		from->fd = -1;
}

/* The two streams stay apart.  The host gets output when it is written, not when a page is full. */
static int exec_command(const char *directory, char **command)
{
	static const char *const names[] = { "stdout", "stderr" };
	struct pollfd from[2];
	int to[2], pipes[2][2], status;
	pid_t child;
	char path[256];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		to[i] = open(path, O_WRONLY | O_CREAT | O_DSYNC | O_CLOEXEC, 0644);
		if (to[i] < 0 || pipe2(pipes[i], O_CLOEXEC))
			die("agent: %s: %m", path);
		from[i] = (struct pollfd){ .fd = pipes[i][0], .events = POLLIN };
	}
	child = fork();
	if (child == 0) {
		dup2(pipes[0][1], 1);
		dup2(pipes[1][1], 2);
		execvp(*command, command);
		fprintf(stderr, "%s: %m\n", *command);
		_exit(errno == ENOENT ? 127 : 126);
	}
	close(pipes[0][1]);
	close(pipes[1][1]);
	while (from[0].fd >= 0 || from[1].fd >= 0) {
		poll(from, 2, -1);
		for (int i = 0; i < 2; i++)
			if (from[i].fd >= 0 && from[i].revents)
				copy_some(&from[i], to[i]);
	}
	if (waitpid(child, &status, 0) != child)
		die("agent: wait: %m");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "traffic"))
		return traffic(argv[2], argv[3]);
	if (argc == 6 && !strcmp(argv[1], "meet"))
		return meet(argv + 2);
	if (argc >= 4 && !strcmp(argv[1], "exec"))
		return exec_command(argv[2], argv + 3);
	if (argc == 2 && !strcmp(argv[1], "poweroff")) {
		sync();
		return reboot(RB_POWER_OFF);
	}
	die("usage: agent traffic PLAN DIR | agent meet NS A NS B | agent exec DIR COMMAND... | "
	    "agent poweroff");
}
