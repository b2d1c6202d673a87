// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of /proc/net/tcpcc, with real connections over the loopback device, and reads
 * through seq_file.  tests/selftests/view.sh has the tests that need several namespaces, an
 * unload or real time.
 */
#include "../../tcpcc_view.c"

#include <linux/net.h>
#include <linux/uio.h>
#include <net/ipv6.h>

#include <kunit/test.h>

MODULE_SOFTDEP("pre: tcpcc_view_cc");

#define MANY		1000
#define LINE_MAX	256
#define LISTENER	4000

/* A connection; the connecting end has the congestion control under test. */
struct pair {
	struct socket *from, *to;
	u16	port;	/* local port of from */
};

/* A reader of the file.  kernel_read() refuses a file that has only .proc_read. */
struct reader {
	struct file file;
	loff_t pos;
};

static void use(struct kunit *test, struct socket *sock, char *cc)
{
	KUNIT_ASSERT_EQ(test, 0,
			sock->ops->setsockopt(sock, SOL_TCP, TCP_CONGESTION,
					      KERNEL_SOCKPTR(cc), strlen(cc)));
}

/* Kernels differ in the type of an address for bind and connect; void * fits all of them. */
static int address(void *at, int family, bool mapped)
{
	struct sockaddr_in6 *in6 = at;
	struct sockaddr_in *in = at;

	if (family == AF_INET) {
		*in = (struct sockaddr_in) {
			.sin_family = AF_INET,
			.sin_port = htons(LISTENER),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		};
		return sizeof(*in);
	}
	*in6 = (struct sockaddr_in6) {
		.sin6_family = AF_INET6,
		.sin6_port = htons(LISTENER),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	if (mapped)
		ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK),
				       &in6->sin6_addr);
	return sizeof(*in6);
}

static struct socket *open_socket(struct kunit *test, int family)
{
	struct socket *sock;

	KUNIT_ASSERT_EQ(test, 0, sock_create_kern(&init_net, family, SOCK_STREAM,
						  IPPROTO_TCP, &sock));
	sock->sk->sk_reuse = SK_CAN_REUSE;
	/* close sends a reset, so that no TIME_WAIT remains */
	sock_no_linger(sock->sk);
	return sock;
}

/* Opens @count connections. */
static void connect_pairs(struct kunit *test, struct pair *p, int count, int family,
			  bool mapped, char *cc)
{
	struct socket *listener = open_socket(test, family);
	struct sockaddr_storage at;
	void *to = &at;
	int len = address(to, family, mapped);

	use(test, listener, "reno");
	KUNIT_ASSERT_EQ(test, 0, kernel_bind(listener, to, len));
	KUNIT_ASSERT_EQ(test, 0, kernel_listen(listener, 1));
	for (; count--; p++) {
		p->from = open_socket(test, family);
		use(test, p->from, cc);
		KUNIT_ASSERT_EQ(test, 0, kernel_connect(p->from, to, len, 0));
		KUNIT_ASSERT_EQ(test, 0, kernel_accept(listener, &p->to, 0));
		p->port = ntohs(inet_sk(p->from->sk)->inet_sport);
	}
	sock_release(listener);
}

static void close_pair(struct pair *p)
{
	sock_release(p->from);
	sock_release(p->to);
}

static void begin(struct kunit *test, struct reader *r)
{
	struct view_iter *it;

	memset(r, 0, sizeof(*r));
	it = __seq_open_private(&r->file, &view_seq_ops, sizeof(*it));
	KUNIT_ASSERT_NOT_NULL(test, it);
	it->p.net = &init_net;
}

static void end(struct reader *r)
{
	seq_release_private(NULL, &r->file);
}

/* Like read(2) */
static ssize_t read_some(struct reader *r, char *to, size_t size)
{
	struct kvec vec = { .iov_base = to, .iov_len = size };
	struct kiocb kiocb = { .ki_filp = &r->file, .ki_pos = r->pos };
	struct iov_iter iter;
	ssize_t n;

	iov_iter_kvec(&iter, ITER_DEST, &vec, 1, size);
	n = seq_read_iter(&kiocb, &iter);
	r->pos = kiocb.ki_pos;
	return n;
}

/* Reads the rest of the file, in reads of @chunk bytes.  Return: its length */
static size_t read_on(struct kunit *test, struct reader *r, char *to, size_t room,
		      size_t chunk)
{
	size_t len = 0;
	ssize_t n;

	do {
		KUNIT_ASSERT_LT(test, len + chunk, room);
		n = read_some(r, to + len, chunk);
		KUNIT_ASSERT_GE(test, n, 0);
		len += n;
	} while (n);
	to[len] = '\0';
	return len;
}

static char *whole_file(struct kunit *test)
{
	size_t room = MANY * LINE_MAX;
	char *text = kunit_kzalloc(test, room, GFP_KERNEL);
	struct reader *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, text);
	KUNIT_ASSERT_NOT_NULL(test, r);
	begin(test, r);
	read_on(test, r, text, room, PAGE_SIZE);
	end(r);
	return text;
}

/* Number of lines with this local port, in the text of the last count_lines() */
static u8 lines_of[U16_MAX + 1];

/* Counts lines in lines_of[].  Fails if a line is incomplete. */
static void count_lines(struct kunit *test, const char *text)
{
	static const char tail[] = " mss_bytes=";
	unsigned int local, peer;

	memset(lines_of, 0, sizeof(lines_of));
	while (*text) {
		const char *end = strchr(text, '\n');
		int found;

		KUNIT_ASSERT_NOT_NULL(test, end);
		found = sscanf(text, "127.0.0.1:%u 127.0.0.1:%u ", &local, &peer);
		KUNIT_ASSERT_EQ(test, 2, found);
		KUNIT_ASSERT_NOT_NULL(test, strnstr(text, tail, end - text));
		lines_of[local]++;
		text = end + 1;
	}
}

static void expect_line(struct kunit *test, int family, bool mapped, const char *host)
{
	char want[LINE_MAX];
	struct pair p;

	connect_pairs(test, &p, 1, family, mapped, "view_answers");
	snprintf(want, sizeof(want),
		 "%s:%u %s:%u cc=view_answers mode=testing rate_bps=18446744073709551615 mss_bytes=%u\n",
		 host, p.port, host, LISTENER,
		 tcp_sk(p.from->sk)->mss_cache);
	KUNIT_EXPECT_STREQ(test, want, whole_file(test));
	close_pair(&p);
	KUNIT_EXPECT_STREQ(test, "", whole_file(test));
}

static void line(struct kunit *test)
{
	expect_line(test, AF_INET, false, "127.0.0.1");
}

static void line_v6(struct kunit *test)
{
	expect_line(test, AF_INET6, false, "[::1]");
}

static void line_v4_over_v6(struct kunit *test)
{
	expect_line(test, AF_INET6, true, "[::ffff:127.0.0.1]");
}

/* Not shown: a congestion control that fills in another form, and one without a form. */
static void others(struct kunit *test)
{
	static char *const silent[] = { "view_rude", "reno" };
	struct pair p;
	int i;

	connect_pairs(test, &p, 1, AF_INET, false, silent[0]);
	for (i = 0; i < ARRAY_SIZE(silent); i++) {
		use(test, p.from, silent[i]);
		KUNIT_EXPECT_STREQ(test, "", whole_file(test));
		use(test, p.from, "view_answers");
		count_lines(test, whole_file(test));
		KUNIT_EXPECT_EQ(test, 1, lines_of[p.port]);
	}
	close_pair(&p);
}

/* A half-closed connection is shown, because it may still send; a listener or closed one is not. */
static void states(struct kunit *test)
{
	struct socket *listener = open_socket(test, AF_INET);
	struct pair p;

	use(test, listener, "view_answers");
	KUNIT_ASSERT_EQ(test, 0, kernel_listen(listener, 1));
	KUNIT_EXPECT_STREQ(test, "", whole_file(test));
	sock_release(listener);

	connect_pairs(test, &p, 1, AF_INET, false, "view_answers");
	kernel_sock_shutdown(p.to, SHUT_WR);
	KUNIT_EXPECT_EQ(test, p.from->sk->sk_state, TCP_CLOSE_WAIT);
	count_lines(test, whole_file(test));
	KUNIT_EXPECT_EQ(test, 1, lines_of[p.port]);
	kernel_sock_shutdown(p.from, SHUT_WR);
	KUNIT_EXPECT_EQ(test, p.from->sk->sk_state, TCP_CLOSE);
	KUNIT_EXPECT_STREQ(test, "", whole_file(test));
	close_pair(&p);
}

/* Each of many connections is shown once, with reads of any size */
static void many(struct kunit *test)
{
	static const size_t chunks[] = { 1, 100, PAGE_SIZE, 16 * PAGE_SIZE };
	struct pair *p = kunit_kcalloc(test, MANY, sizeof(*p), GFP_KERNEL);
	struct reader *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	char *want, *text = kunit_kzalloc(test, MANY * LINE_MAX, GFP_KERNEL);
	int i;

	KUNIT_ASSERT_TRUE(test, p && r && text);
	connect_pairs(test, p, MANY, AF_INET, false, "view_answers");
	want = whole_file(test);
	count_lines(test, want);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ(test, 1, lines_of[p[i].port]);
	for (i = 0; i < ARRAY_SIZE(chunks); i++) {
		begin(test, r);
		read_on(test, r, text, MANY * LINE_MAX, chunks[i]);
		end(r);
		KUNIT_EXPECT_TRUE(test, !strcmp(want, text));
	}
	for (i = 0; i < MANY; i++)
		close_pair(&p[i]);
}

/* If every other connection closes between two reads, each remaining one still has one line. */
static void close_meanwhile(struct kunit *test)
{
	struct pair *p = kunit_kcalloc(test, MANY, sizeof(*p), GFP_KERNEL);
	struct reader *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	char *text = kunit_kzalloc(test, MANY * LINE_MAX, GFP_KERNEL);
	ssize_t n;
	int i;

	KUNIT_ASSERT_TRUE(test, p && r && text);
	connect_pairs(test, p, MANY, AF_INET, false, "view_answers");
	begin(test, r);
	n = read_some(r, text, 3 * PAGE_SIZE);
	KUNIT_ASSERT_GT(test, n, 0);
	for (i = 0; i < MANY; i += 2)
		close_pair(&p[i]);
	n += read_on(test, r, text + n, MANY * LINE_MAX - n, PAGE_SIZE);
	end(r);
	count_lines(test, text);
	for (i = 0; i < MANY; i++) {
		if (i % 2)
			KUNIT_EXPECT_EQ(test, 1, lines_of[p[i].port]);
		else
			KUNIT_EXPECT_LE(test, lines_of[p[i].port], 1);
	}
	for (i = 1; i < MANY; i += 2)
		close_pair(&p[i]);
	KUNIT_EXPECT_STREQ(test, "", whole_file(test));
}

/* More connections in one bucket than fit into the first buffer, and into a page */
static void crowded_bucket(struct kunit *test)
{
	struct inet_hashinfo *table = init_net.ipv4.tcp_death_row.hashinfo;
	unsigned int mask = table->ehash_mask;
	struct pair *p = kunit_kcalloc(test, MANY, sizeof(*p), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	/* There are no other connections here. */
	table->ehash_mask = 0;
	connect_pairs(test, p, MANY, AF_INET, false, "view_answers");
	count_lines(test, whole_file(test));
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ(test, 1, lines_of[p[i].port]);
	for (i = 0; i < MANY; i++)
		close_pair(&p[i]);
	KUNIT_EXPECT_STREQ(test, "", whole_file(test));
	table->ehash_mask = mask;
}

static struct kunit_case view_cases[] = {
	KUNIT_CASE(line),
	KUNIT_CASE(line_v6),
	KUNIT_CASE(line_v4_over_v6),
	KUNIT_CASE(others),
	KUNIT_CASE(states),
	KUNIT_CASE(many),
	KUNIT_CASE(close_meanwhile),
	KUNIT_CASE(crowded_bucket),
	{}
};

static struct kunit_suite view_suite = {
	.name = "tcpcc_view",
	.test_cases = view_cases,
};

kunit_test_suite(view_suite);
