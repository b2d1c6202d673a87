// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes the plug-ins of tc: words of a command line, and options and statistics as from a kernel,
 * of any lengths and values.
 *
 * This file implements the interface of tc 6.1 and later for plug-ins; the output is discarded.  A
 * message that was made from words must contain only complete attributes of the kind's own types,
 * and it must be possible to print the message.
 */

#include <linux/pkt_sched.h>

#include "fuzz.h"

/* The error messages of the plug-ins are discarded. */
static FILE *nowhere;

#undef stderr
#define stderr nowhere
#include "q_acp.c"
#include "q_estcp.c"
#include "q_rcp.c"
#include "q_xcp.c"
#undef stderr

#define WORDS_MAX	64

/* The first byte of an input */
#define KIND(x)		(((x) & 1) | ((x) >> 2 & 2))
#define MODE(x)		((x) >> 1 & 3)

enum mode { OPTIONS, STATISTICS, WORDS };

static const struct fuzz_kind {
	const struct qdisc_util *util;
	int attr_max;
} fuzz_kinds[] = {
	{ &acp_qdisc_util, TCA_ACP_MAX },
	{ &estcp_qdisc_util, TCA_ESTCP_MAX },
	{ &xcp_qdisc_util, TCA_XCP_MAX },
	{ &rcp_qdisc_util, TCA_RCP_MAX },
};

static void value_written(enum output_type type, const char *key, const char *text,
			  int len)
{
	CHECK(!(type & (PRINT_JSON | PRINT_ANY)) || (key && *key));
	CHECK(len >= 0 && strlen(text) <= (size_t)len);
}

/* Formats @value with the format of the plug-in, and checks the text */
#define WRITTEN(type, key, fmt, value) do {					\
	char text[128] = "";							\
										\
	CHECK((fmt) || (type) == PRINT_JSON);					\
	value_written(type, key, text, (fmt) ?					\
		      snprintf(text, sizeof(text), fmt, value) : 0);		\
} while (0)

int print_color_string(enum output_type type, enum color_attr color, const char *key,
		       const char *fmt, const char *value)
{
	(void)color;
	WRITTEN(type, key, fmt, value);
	return 0;
}

int print_color_uint(enum output_type type, enum color_attr color, const char *key,
		     const char *fmt, unsigned int value)
{
	(void)color;
	WRITTEN(type, key, fmt, value);
	return 0;
}

int print_color_u64(enum output_type type, enum color_attr color, const char *key,
		    const char *fmt, uint64_t value)
{
	(void)color;
	WRITTEN(type, key, fmt, value);
	return 0;
}

int print_color_float(enum output_type type, enum color_attr color, const char *key,
		      const char *fmt, double value)
{
	(void)color;
	WRITTEN(type, key, fmt, value);
	return 0;
}

int print_color_bool(enum output_type type, enum color_attr color, const char *key,
		     const char *fmt, bool value)
{
	(void)color;
	(void)fmt;
	(void)value;
	value_written(type, key, "", 0);
	return 0;
}

void tc_print_rate(enum output_type type, const char *key, const char *fmt,
		   unsigned long long rate)
{
	char text[64];

	snprintf(text, sizeof(text), "%llubit", rate * 8);
	print_color_string(type, COLOR_NONE, key, fmt, text);
}

void print_nl(void)
{
}

/* Reads a number with one of @units; one unit is as much as its entry in @per */
static int scaled(double *value, const char *str, const char * const units[],
		  const double per[])
{
	char *end;
	int i;

	*value = strtod(str, &end);
	if (end == str)
		return -1;
	for (i = 0; units[i]; i++) {
		if (strcmp(end, units[i]))
			continue;
		*value *= per[i];
		return 0;
	}
	return -1;
}

int get_rate64(__u64 *rate, const char *str)
{
	static const char * const units[] = { "", "bit", "kbit", "mbit", "gbit", "bps", NULL };
	static const double per[] = { 1. / 8, 1. / 8, 1e3 / 8, 1e6 / 8, 1e9 / 8, 1 };
	double value;

	if (scaled(&value, str, units, per) || !(value >= 0 && value < 1e19))
		return -1;
	*rate = value;
	return 0;
}

int get_percent_rate64(__u64 *rate, const char *str, const char *dev)
{
	CHECK(strchr(str, '%') && dev);
	*rate = 1;
	return -(strlen(str) > 5);
}

int get_time64(__s64 *time, const char *str)
{
	static const char * const units[] = { "", "ns", "us", "ms", "s", NULL };
	static const double per[] = { 1, 1, 1e3, 1e6, 1e9 };
	double value;

	if (scaled(&value, str, units, per) || !(value > -9e18 && value < 9e18))
		return -1;
	*time = value;
	return 0;
}

int get_unsigned(unsigned int *value, const char *str, int base)
{
	unsigned long number;
	char *end;

	if (!*str)
		return -1;
	number = strtoul(str, &end, base);
	if (end == str || *end || number > UINT32_MAX)
		return -1;
	*value = number;
	return 0;
}

/* Messages ------------------------------------------------------------------ */

static struct rtattr *tail(struct nlmsghdr *n)
{
	return (struct rtattr *)((char *)n + NLMSG_ALIGN(n->nlmsg_len));
}

static int add(struct nlmsghdr *n, int size, int type, const void *data, int len)
{
	int whole = RTA_LENGTH(len);
	struct rtattr *attr = tail(n);

	if (NLMSG_ALIGN(n->nlmsg_len) + RTA_ALIGN(whole) > (unsigned int)size)
		return -1;
	attr->rta_type = type;
	attr->rta_len = whole;
	if (len)
		memcpy(RTA_DATA(attr), data, len);
	n->nlmsg_len = NLMSG_ALIGN(n->nlmsg_len) + RTA_ALIGN(whole);
	return 0;
}

int addattr32(struct nlmsghdr *n, int size, int type, __u32 value)
{
	return add(n, size, type, &value, sizeof(value));
}

int addattr64(struct nlmsghdr *n, int size, int type, __u64 value)
{
	return add(n, size, type, &value, sizeof(value));
}

struct rtattr *addattr_nest(struct nlmsghdr *n, int size, int type)
{
	struct rtattr *nest = tail(n);

	add(n, size, type, NULL, 0);
	return nest;
}

int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest)
{
	nest->rta_len = (char *)tail(n) - (char *)nest;
	return n->nlmsg_len;
}

int parse_rtattr(struct rtattr *tb[], int max, struct rtattr *rta, int len)
{
	memset(tb, 0, sizeof(tb[0]) * (max + 1));
	while (RTA_OK(rta, len)) {
		if (rta->rta_type <= max && !tb[rta->rta_type])
			tb[rta->rta_type] = rta;
		rta = RTA_NEXT(rta, len);
	}
	return 0;
}

/* Targets ------------------------------------------------------------------- */

/* Prints the bytes as the payload of an attribute with exactly this length */
static void show(const struct qdisc_util *util, enum mode mode, const __u8 *data,
		 size_t size)
{
	struct rtattr *attr;

	if (size > UINT16_MAX - RTA_LENGTH(0))
		return;
	attr = malloc(RTA_LENGTH(size));
	attr->rta_type = mode == OPTIONS ? TCA_OPTIONS : TCA_XSTATS;
	attr->rta_len = RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(attr), data, size);
	if (mode == OPTIONS)
		CHECK(!util->print_qopt(util, stdout, attr));
	else
		CHECK(!util->print_xstats(util, stdout, attr));
	free(attr);
}

static void check_message(const struct fuzz_kind *kind, struct nlmsghdr *n,
			  unsigned int head)
{
	struct rtattr *nest = (void *)((char *)n + head), *attr;
	int left = n->nlmsg_len - head;

	CHECK(n->nlmsg_len <= TC_MESSAGE);
	CHECK(RTA_OK(nest, left) && nest->rta_len == left);
	CHECK(nest->rta_type == (TCA_OPTIONS | NLA_F_NESTED));
	left = RTA_PAYLOAD(nest);
	for (attr = RTA_DATA(nest); RTA_OK(attr, left); attr = RTA_NEXT(attr, left)) {
		CHECK(attr->rta_type >= TCA_TCPCC_BANDWIDTH && attr->rta_type <= kind->attr_max);
		CHECK(RTA_PAYLOAD(attr) == (attr->rta_type == TCA_TCPCC_BANDWIDTH ? 8 : 4));
	}
	CHECK(!left);
	show(kind->util, OPTIONS, RTA_DATA(nest), RTA_PAYLOAD(nest));
}

/* Parses a command line.  Each word ends with a newline or a zero byte. */
static void parse(const struct fuzz_kind *kind, const __u8 *data, size_t size)
{
	unsigned int head = NLMSG_LENGTH(sizeof(struct tcmsg));
	struct nlmsghdr *n = calloc(1, TC_MESSAGE);
	char *words[WORDS_MAX];
	size_t i, begin = 0;
	int argc = 0;

	for (i = 0; i <= size && argc < WORDS_MAX; i++) {
		if (i < size && data[i] != '\n' && data[i])
			continue;
		words[argc] = malloc(i - begin + 1);
		memcpy(words[argc], data + begin, i - begin);
		words[argc++][i - begin] = 0;
		begin = i + 1;
	}
	n->nlmsg_len = head;
	if (!kind->util->parse_qopt(kind->util, argc, words, n, "dummy0"))
		check_message(kind, n, head);
	while (argc)
		free(words[--argc]);
	free(n);
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	const struct fuzz_kind *kind;

	if (!size)
		return 0;
	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	kind = &fuzz_kinds[KIND(data[0])];
	if (MODE(data[0]) == WORDS)
		parse(kind, data + 1, size - 1);
	else
		show(kind->util, MODE(data[0]) == OPTIONS ? OPTIONS : STATISTICS, data + 1,
		     size - 1);
	return 0;
}
