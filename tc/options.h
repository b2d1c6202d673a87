/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options of our router qdiscs in tc.  Each kind has a table of options, from which the command
 * line is parsed and the output is printed.
 */
#ifndef _TCPCC_TC_OPTIONS_H
#define _TCPCC_TC_OPTIONS_H

#include <stdlib.h>
#include <string.h>

#include "iproute2.h"
#include "tcpcc_pkt_sched.h"

#define NS_PER_US	1000

/* Attributes of any kind are below this */
#define OPTIONS_MAX	32

enum form {
	RATE,		/* u64, bytes/s */
	PACKETS,	/* u32 */
	COUNT,		/* u32 */
	NUMBER,		/* u32, in 1 / unit */
	TIME,		/* u32, us */
};

static const char * const wanted[] = {
	[RATE]		= "a rate (for example 155mbit)",
	[PACKETS]	= "a whole number",
	[COUNT]		= "a whole number",
	[NUMBER]	= "a number (for example 0.5)",
	[TIME]		= "a time (for example 50ms)",
};

struct option {
	const char *name;
	int attr;
	enum form form;
	unsigned int unit;
};

/**
 * struct kind - a router qdisc
 * @name: name of the kind
 * @usage: text that describes its options
 * @options: table of its options; an option without a name ends it
 */
struct kind {
	const char *name;
	const char *usage;
	const struct option *options;
};

/* Reads a number as a u32 in units of 1 / @unit; returns -1 if it does not fit */
static int get_number(__u32 *value, const char *str, unsigned int unit)
{
	char *end;
	double number = strtod(str, &end);

	if (end == str || *end ||
	    !(number >= 0 && number * unit <= UINT32_MAX - 1))
		return -1;
	*value = number * unit + 0.5;
	return 0;
}

static int get_us(__u32 *value, const char *str)
{
	__s64 ns;

	if (get_time64(&ns, str) || ns < 0 || ns / NS_PER_US > UINT32_MAX)
		return -1;
	*value = ns / NS_PER_US;
	return 0;
}

static int put_option(struct nlmsghdr *n, const struct option *o,
		      const char *value, const char *dev)
{
	__u64 rate;
	__u32 v = 0;
	int err;

	if (!value)
		return -1;
	switch (o->form) {
	case RATE:
		err = strchr(value, '%') ? get_percent_rate64(&rate, value, dev) :
					   get_rate64(&rate, value);
		return err ? -1 : addattr64(n, TC_MESSAGE, o->attr, rate);
	case NUMBER:
		err = get_number(&v, value, o->unit);
		break;
	case TIME:
		err = get_us(&v, value);
		break;
	default:
		err = get_unsigned(&v, value, 0);
		break;
	}
	return err ? -1 : addattr32(n, TC_MESSAGE, o->attr, v);
}

static int parse_options(const struct kind *k, int argc, char **argv,
			 struct nlmsghdr *n, const char *dev)
{
	struct rtattr *nest = addattr_nest(n, TC_MESSAGE,
					   TCA_OPTIONS | NLA_F_NESTED);
	const struct option *o;

	for (; argc > 0; argc -= 2, argv += 2) {
		const char *value = argc > 1 ? argv[1] : NULL;

		for (o = k->options; o->name && strcmp(o->name, *argv); o++)
			;
		if (!o->name) {
			if (strcmp(*argv, "help"))
				fprintf(stderr, "%s: there is no option \"%s\"\n",
					k->name, *argv);
			fprintf(stderr, "Usage: ... %s %s", k->name, k->usage);
			return -1;
		}
		if (!put_option(n, o, value, dev))
			continue;
		if (value)
			fprintf(stderr, "%s: %s: \"%s\" is not %s\n", k->name,
				o->name, value, wanted[o->form]);
		else
			fprintf(stderr, "%s: %s needs %s\n", k->name, o->name,
				wanted[o->form]);
		return -1;
	}
	addattr_nest_end(n, nest);
	return 0;
}

/* Prints a time: as text with a unit, in JSON in s */
static void print_us(const char *lead, const char *name, uint64_t us)
{
	const char *unit = us >= 1000000 ? "s" : us >= 1000 ? "ms" : "us";
	double scale = us >= 1000000 ? 1e6 : us >= 1000 ? 1e3 : 1;
	char fmt[64];

	snprintf(fmt, sizeof(fmt), "%s%s %%g%s", lead, name, unit);
	print_color_float(PRINT_FP, COLOR_NONE, NULL, fmt, us / scale);
	print_color_float(PRINT_JSON, COLOR_NONE, name, NULL, us / 1e6);
}

static void print_count(const char *lead, const char *name, uint64_t count)
{
	char fmt[64];

	snprintf(fmt, sizeof(fmt), "%s%s %%llu", lead, name);
	print_color_u64(PRINT_ANY, COLOR_NONE, name, fmt, count);
}

static void print_number(const char *lead, const char *name, double number)
{
	char fmt[64];

	snprintf(fmt, sizeof(fmt), "%s%s %%g", lead, name);
	print_color_float(PRINT_ANY, COLOR_NONE, name, fmt, number);
}

static void space(void)
{
	print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s", " ");
}

static void print_option(const struct option *o, const struct rtattr *attr)
{
	__u64 rate;
	__u32 v;

	if (!attr || RTA_PAYLOAD(attr) < (o->form == RATE ? sizeof(rate) :
							    sizeof(v)))
		return;
	if (o->form == RATE) {
		memcpy(&rate, RTA_DATA(attr), sizeof(rate));
		tc_print_rate(PRINT_ANY, o->name, "bandwidth %s ", rate);
		return;
	}
	memcpy(&v, RTA_DATA(attr), sizeof(v));
	switch (o->form) {
	case NUMBER:
		print_number("", o->name, (double)v / o->unit);
		space();
		break;
	case TIME:
		print_us("", o->name, v);
		space();
		break;
	default:
		print_count("", o->name, v);
		print_color_string(PRINT_FP, COLOR_NONE, NULL, "%s",
				   o->form == PACKETS ? "p " : " ");
		break;
	}
}

static int print_options(const struct kind *k, struct rtattr *opt)
{
	struct rtattr *tb[OPTIONS_MAX];
	const struct option *o;

	if (!opt)
		return 0;
	parse_rtattr(tb, OPTIONS_MAX - 1, RTA_DATA(opt), RTA_PAYLOAD(opt));
	for (o = k->options; o->name; o++)
		print_option(o, tb[o->attr]);
	return 0;
}

/* Copies statistics.  The struct of an older or newer kernel may be shorter or longer. */
static void take_xstats(void *st, size_t size, struct rtattr *xstats)
{
	size_t there = RTA_PAYLOAD(xstats);

	memcpy(st, RTA_DATA(xstats), there < size ? there : size);
}

#endif /* _TCPCC_TC_OPTIONS_H */
