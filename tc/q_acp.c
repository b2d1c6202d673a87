// SPDX-License-Identifier: GPL-2.0
/* Plug-in of tc for the router qdisc acp; see tc-acp(8). */

#include <stdlib.h>
#include <string.h>

#include "iproute2.h"
#include "tcpcc_pkt_sched.h"

#define NS_PER_US	1000

static void explain(void)
{
	fprintf(stderr,
		"Usage: ... acp bandwidth RATE [ limit PACKETS ]\n"
		"	[ ki NUMBER ] [ kq NUMBER ] [ gamma NUMBER ]\n"
		"	[ target NUMBER ] [ congestion NUMBER ]\n"
		"	[ flows NUMBER ] [ interval TIME ]\n");
}

static int complain(const char *name, const char *value, const char *wanted)
{
	if (value)
		fprintf(stderr, "acp: \"%s\" is not %s: %s\n", value, wanted,
			name);
	else
		fprintf(stderr, "acp: %s needs %s\n", name, wanted);
	return -1;
}

/* A number from 0 to 4000, in 1 / TC_ACP_UNIT */
static int get_number(__u32 *value, const char *str)
{
	char *end;
	double number = strtod(str, &end);

	if (end == str || *end || !(number >= 0 && number <= 4000))
		return -1;
	*value = number * TC_ACP_UNIT + 0.5;
	return 0;
}

static const struct number {
	const char *name;
	int type;
} numbers[] = {
	{ "ki", TCA_ACP_KI },
	{ "kq", TCA_ACP_KQ },
	{ "gamma", TCA_ACP_GAMMA },
	{ "target", TCA_ACP_TARGET },
	{ "congestion", TCA_ACP_CONGESTION },
};

static int parse_one(struct nlmsghdr *n, const char *name, const char *value,
		     const char *dev)
{
	unsigned int count;
	__s64 time_ns;
	__u64 rate;
	__u32 part;
	size_t i;

	if (!strcmp(name, "bandwidth")) {
		if (!value || (strchr(value, '%') ?
			       get_percent_rate64(&rate, value, dev) :
			       get_rate64(&rate, value)))
			return complain(name, value, "a rate, as 155mbit");
		return addattr64(n, TC_MESSAGE, TCA_TCPCC_BANDWIDTH, rate);
	}
	if (!strcmp(name, "limit") || !strcmp(name, "flows")) {
		if (!value || get_unsigned(&count, value, 0))
			return complain(name, value, "a whole number");
		return addattr32(n, TC_MESSAGE, *name == 'l' ?
				 TCA_TCPCC_LIMIT : TCA_ACP_FLOWS, count);
	}
	if (!strcmp(name, "interval")) {
		if (!value || get_time64(&time_ns, value) || time_ns < 0 ||
		    time_ns / NS_PER_US > UINT32_MAX)
			return complain(name, value, "a time, as 50ms");
		return addattr32(n, TC_MESSAGE, TCA_ACP_INTERVAL,
				 time_ns / NS_PER_US);
	}
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (strcmp(name, numbers[i].name))
			continue;
		if (!value || get_number(&part, value))
			return complain(name, value, "a number, as 0.5");
		return addattr32(n, TC_MESSAGE, numbers[i].type, part);
	}
	if (strcmp(name, "help"))
		fprintf(stderr, "acp: there is no option \"%s\"\n", name);
	explain();
	return -1;
}

static int acp_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			 struct nlmsghdr *n, const char *dev)
{
	struct rtattr *nest = addattr_nest(n, TC_MESSAGE,
					   TCA_OPTIONS | NLA_F_NESTED);

	(void)qu;
	for (; argc > 0; argc -= 2, argv += 2)
		if (parse_one(n, argv[0], argc > 1 ? argv[1] : NULL, dev))
			return -1;
	addattr_nest_end(n, nest);
	return 0;
}

static int get32(struct rtattr *tb[], int type, __u32 *value)
{
	if (!tb[type] || RTA_PAYLOAD(tb[type]) < sizeof(*value))
		return 0;
	memcpy(value, RTA_DATA(tb[type]), sizeof(*value));
	return 1;
}

static int acp_print_opt(const struct qdisc_util *qu, FILE *f,
			 struct rtattr *opt)
{
	struct rtattr *tb[TCA_ACP_MAX + 1];
	__u64 rate;
	__u32 value;
	char fmt[32];
	size_t i;

	(void)qu;
	(void)f;
	if (!opt)
		return 0;
	parse_rtattr(tb, TCA_ACP_MAX, RTA_DATA(opt), RTA_PAYLOAD(opt));

	if (tb[TCA_TCPCC_BANDWIDTH] &&
	    RTA_PAYLOAD(tb[TCA_TCPCC_BANDWIDTH]) >= sizeof(rate)) {
		memcpy(&rate, RTA_DATA(tb[TCA_TCPCC_BANDWIDTH]), sizeof(rate));
		tc_print_rate(PRINT_ANY, "bandwidth", "bandwidth %s ", rate);
	}
	if (get32(tb, TCA_TCPCC_LIMIT, &value))
		print_color_uint(PRINT_ANY, COLOR_NONE, "limit", "limit %up ",
				 value);
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (!get32(tb, numbers[i].type, &value))
			continue;
		snprintf(fmt, sizeof(fmt), "%s %%g ", numbers[i].name);
		print_color_float(PRINT_ANY, COLOR_NONE, numbers[i].name, fmt,
				  (double)value / TC_ACP_UNIT);
	}
	if (get32(tb, TCA_ACP_FLOWS, &value))
		print_color_uint(PRINT_ANY, COLOR_NONE, "flows", "flows %u ",
				 value);
	if (get32(tb, TCA_ACP_INTERVAL, &value)) {
		print_color_float(PRINT_FP, COLOR_NONE, NULL, "interval %gms ",
				  value / 1e3);
		/* s */
		print_color_float(PRINT_JSON, COLOR_NONE, "interval", NULL,
				  value / 1e6);
	}
	return 0;
}

static int acp_print_xstats(const struct qdisc_util *qu, FILE *f,
			    struct rtattr *xstats)
{
	struct tc_acp_xstats st = {};

	(void)qu;
	(void)f;
	if (!xstats)
		return 0;
	/* an older or a newer kernel has less or more of it */
	memcpy(&st, RTA_DATA(xstats), RTA_PAYLOAD(xstats) < sizeof(st) ?
	       RTA_PAYLOAD(xstats) : sizeof(st));

	tc_print_rate(PRINT_ANY, "desired", "  desired %s", st.desired);
	tc_print_rate(PRINT_ANY, "input", " input %s", st.input);
	print_color_float(PRINT_ANY, COLOR_NONE, "estimated_flows",
			  " estimated_flows %.2f", st.flows / 1e3);
	print_color_float(PRINT_FP, COLOR_NONE, NULL, " control_interval %gms",
			  st.interval / 1e3);
	print_color_float(PRINT_JSON, COLOR_NONE, "control_interval", NULL,
			  st.interval / 1e6);
	print_color_uint(PRINT_ANY, COLOR_NONE, "persistent_queue",
			 " persistent_queue %ub", st.queue);
	print_color_string(PRINT_ANY, COLOR_NONE, "state", " state %s",
			   !st.running ? "waiting" :
			   st.congested ? "congested" : "free");
	print_nl();
	print_color_u64(PRINT_ANY, COLOR_NONE, "periods", "  periods %llu",
			st.periods);
	print_color_u64(PRINT_ANY, COLOR_NONE, "headers", " headers %llu",
			st.headers);
	print_color_u64(PRINT_ANY, COLOR_NONE, "lowered", " lowered %llu",
			st.lowered);
	print_color_u64(PRINT_ANY, COLOR_NONE, "echoes", " echoes %llu",
			st.echoes);
	print_color_u64(PRINT_ANY, COLOR_NONE, "no_header", " no_header %llu",
			st.plain);
	print_color_u64(PRINT_ANY, COLOR_NONE, "malformed", " malformed %llu",
			st.malformed);
	print_color_u64(PRINT_ANY, COLOR_NONE, "unwritable",
			" unwritable %llu", st.unwritable);
	return 0;
}

/* what tc looks for, by this name */
extern struct qdisc_util acp_qdisc_util;

struct qdisc_util acp_qdisc_util = {
	.id		= "acp",
	.parse_qopt	= acp_parse_opt,
	.print_qopt	= acp_print_opt,
	.print_xstats	= acp_print_xstats,
};
