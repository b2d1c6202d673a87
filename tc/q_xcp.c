// SPDX-License-Identifier: GPL-2.0
/* Plug-in of tc for the router qdisc xcp; see tc-xcp(8). */

#include "options.h"

static const struct option xcp_options[] = {
	{ "bandwidth", TCA_TCPCC_BANDWIDTH, RATE, 0 },
	{ "limit", TCA_TCPCC_LIMIT, PACKETS, 0 },
	{ "alpha", TCA_XCP_ALPHA, NUMBER, TC_XCP_UNIT },
	{ "beta", TCA_XCP_BETA, NUMBER, TC_XCP_UNIT },
	{ "gamma", TCA_XCP_GAMMA, NUMBER, TC_XCP_UNIT },
	{}
};

static const struct kind xcp = {
	.name		= "xcp",
	.usage		= "bandwidth RATE [ limit PACKETS ]\n"
			  "	[ alpha NUMBER ] [ beta NUMBER ] [ gamma NUMBER ]\n",
	.options	= xcp_options,
};

static int xcp_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			 struct nlmsghdr *n, const char *dev)
{
	(void)qu;
	return parse_options(&xcp, argc, argv, n, dev);
}

static int xcp_print_opt(const struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	(void)qu;
	(void)f;
	return print_options(&xcp, opt);
}

static int xcp_print_xstats(const struct qdisc_util *qu, FILE *f, struct rtattr *xstats)
{
	struct tc_xcp_xstats st = {};

	(void)qu;
	(void)f;
	if (!xstats)
		return 0;
	take_xstats(&st, sizeof(st), xstats);

	tc_print_rate(PRINT_ANY, "input", "  input %s", st.input);
	/* tc cannot print rates below 0 */
	tc_print_rate(PRINT_ANY, "to_raise", " to_raise %s", st.spare > 0 ? st.spare : 0);
	tc_print_rate(PRINT_ANY, "to_cut", " to_cut %s", st.spare < 0 ? -(__u64)st.spare : 0);
	print_us(" ", "control_interval", st.interval);
	print_color_uint(PRINT_ANY, COLOR_NONE, "persistent_queue",
			 " persistent_queue %ub", st.queue);
	print_color_string(PRINT_ANY, COLOR_NONE, "state", " state %s",
			   st.running ? "running" : "waiting");
	print_nl();
	print_count("  ", "periods", st.periods);
	print_count(" ", "headers", st.headers);
	print_count(" ", "changed", st.changed);
	print_count(" ", "echoes", st.echoes);
	print_count(" ", "no_header", st.plain);
	print_count(" ", "malformed", st.malformed);
	print_count(" ", "unwritable", st.unwritable);
	return 0;
}

/* tc looks for a symbol of this name */
extern struct qdisc_util xcp_qdisc_util;

struct qdisc_util xcp_qdisc_util = {
	.id		= "xcp",
	.parse_qopt	= xcp_parse_opt,
	.print_qopt	= xcp_print_opt,
	.print_xstats	= xcp_print_xstats,
};
