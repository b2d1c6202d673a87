// SPDX-License-Identifier: GPL-2.0
/* Plug-in of tc for the router qdisc rcp; see tc-rcp(8). */

#include "options.h"

static const struct option rcp_options[] = {
	{ "bandwidth", TCA_TCPCC_BANDWIDTH, RATE, 0 },
	{ "limit", TCA_TCPCC_LIMIT, PACKETS, 0 },
	{ "alpha", TCA_RCP_ALPHA, NUMBER, TC_RCP_UNIT },
	{ "beta", TCA_RCP_BETA, NUMBER, TC_RCP_UNIT },
	{ "gamma", TCA_RCP_GAMMA, NUMBER, TC_RCP_UNIT },
	{ "interval", TCA_RCP_INTERVAL, TIME, 0 },
	{ "floor", TCA_RCP_FLOOR, NUMBER, TC_RCP_UNIT },
	{ "start", TCA_RCP_START, NUMBER, TC_RCP_UNIT },
	{}
};

static const struct kind rcp = {
	.name		= "rcp",
	.usage		= "bandwidth RATE [ limit PACKETS ]\n"
			  "	[ alpha NUMBER ] [ beta NUMBER ] [ gamma NUMBER ]\n"
			  "	[ interval TIME ] [ floor NUMBER ] [ start NUMBER ]\n",
	.options	= rcp_options,
};

static int rcp_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			 struct nlmsghdr *n, const char *dev)
{
	(void)qu;
	return parse_options(&rcp, argc, argv, n, dev);
}

static int rcp_print_opt(const struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	(void)qu;
	(void)f;
	return print_options(&rcp, opt);
}

static int rcp_print_xstats(const struct qdisc_util *qu, FILE *f, struct rtattr *xstats)
{
	struct tc_rcp_xstats st = {};

	(void)qu;
	(void)f;
	if (!xstats)
		return 0;
	take_xstats(&st, sizeof(st), xstats);

	tc_print_rate(PRINT_ANY, "desired", "  desired %s", st.rate);
	tc_print_rate(PRINT_ANY, "input", " input %s", st.input);
	print_us(" ", "control_interval", st.interval);
	print_us(" ", "mean_rtt", st.rtt);
	print_color_uint(PRINT_ANY, COLOR_NONE, "queue", " queue %ub", st.queue);
	print_color_string(PRINT_ANY, COLOR_NONE, "state", " state %s",
			   st.running ? "running" : "waiting");
	print_nl();
	print_count("  ", "periods", st.periods);
	print_count(" ", "headers", st.headers);
	print_count(" ", "lowered", st.lowered);
	print_count(" ", "echoes", st.echoes);
	print_count(" ", "no_header", st.plain);
	print_count(" ", "malformed", st.malformed);
	print_count(" ", "unwritable", st.unwritable);
	return 0;
}

/* tc looks for a symbol of this name */
extern struct qdisc_util rcp_qdisc_util;

struct qdisc_util rcp_qdisc_util = {
	.id		= "rcp",
	.parse_qopt	= rcp_parse_opt,
	.print_qopt	= rcp_print_opt,
	.print_xstats	= rcp_print_xstats,
};
