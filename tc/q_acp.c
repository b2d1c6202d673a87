// SPDX-License-Identifier: GPL-2.0
/* Plug-in of tc for the router qdisc acp; see tc-acp(8). */

#include "options.h"

static const struct option acp_options[] = {
	{ "bandwidth", TCA_TCPCC_BANDWIDTH, RATE, 0 },
	{ "limit", TCA_TCPCC_LIMIT, PACKETS, 0 },
	{ "ki", TCA_ACP_KI, NUMBER, TC_ACP_UNIT },
	{ "kq", TCA_ACP_KQ, NUMBER, TC_ACP_UNIT },
	{ "gamma", TCA_ACP_GAMMA, NUMBER, TC_ACP_UNIT },
	{ "target", TCA_ACP_TARGET, NUMBER, TC_ACP_UNIT },
	{ "congestion", TCA_ACP_CONGESTION, NUMBER, TC_ACP_UNIT },
	{ "flows", TCA_ACP_FLOWS, COUNT, 0 },
	{ "interval", TCA_ACP_INTERVAL, TIME, 0 },
	{ "police", TCA_ACP_POLICE, NUMBER, TC_ACP_UNIT },
	{ "newcomers", TCA_ACP_NEWCOMERS, COUNT, 0 },
	{}
};

static const struct kind acp = {
	.name		= "acp",
	.usage		= "bandwidth RATE [ limit PACKETS ]\n"
			  "	[ ki NUMBER ] [ kq NUMBER ] [ gamma NUMBER ]\n"
			  "	[ target NUMBER ] [ congestion NUMBER ]\n"
			  "	[ flows NUMBER ] [ interval TIME ] [ police NUMBER ]\n"
			  "	[ newcomers NUMBER ]\n",
	.options	= acp_options,
};

static int acp_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			 struct nlmsghdr *n, const char *dev)
{
	(void)qu;
	return parse_options(&acp, argc, argv, n, dev);
}

static int acp_print_opt(const struct qdisc_util *qu, FILE *f,
			 struct rtattr *opt)
{
	(void)qu;
	(void)f;
	return print_options(&acp, opt);
}

static int acp_print_xstats(const struct qdisc_util *qu, FILE *f,
			    struct rtattr *xstats)
{
	struct tc_acp_xstats st = {};

	(void)qu;
	(void)f;
	if (!xstats)
		return 0;
	take_xstats(&st, sizeof(st), xstats);

	tc_print_rate(PRINT_ANY, "desired", "  desired %s", st.desired);
	tc_print_rate(PRINT_ANY, "input", " input %s", st.input);
	print_color_float(PRINT_ANY, COLOR_NONE, "estimated_flows",
			  " estimated_flows %.2f", st.flows / 1e3);
	print_us(" ", "control_interval", st.interval);
	print_color_uint(PRINT_ANY, COLOR_NONE, "persistent_queue",
			 " persistent_queue %ub", st.queue);
	print_color_string(PRINT_ANY, COLOR_NONE, "state", " state %s",
			   !st.running ? "waiting" :
			   st.congested ? "congested" : "free");
	print_nl();
	print_count("  ", "periods", st.periods);
	print_count(" ", "headers", st.headers);
	print_count(" ", "lowered", st.lowered);
	print_count(" ", "echoes", st.echoes);
	print_count(" ", "no_header", st.plain);
	print_count(" ", "malformed", st.malformed);
	print_count(" ", "unwritable", st.unwritable);
	print_count(" ", "policed", st.policed);
	print_count(" ", "flows_over", st.over);
	print_count(" ", "flows_known", st.known);
	return 0;
}

/* tc looks for a symbol of this name */
extern struct qdisc_util acp_qdisc_util;

struct qdisc_util acp_qdisc_util = {
	.id		= "acp",
	.parse_qopt	= acp_parse_opt,
	.print_qopt	= acp_print_opt,
	.print_xstats	= acp_print_xstats,
};
