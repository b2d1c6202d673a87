// SPDX-License-Identifier: GPL-2.0
/* Plug-in of tc for the router qdisc estcp; see tc-estcp(8). */

#include "options.h"

static const struct option estcp_options[] = {
	{ "bandwidth", TCA_TCPCC_BANDWIDTH, RATE, 0 },
	{ "limit", TCA_TCPCC_LIMIT, PACKETS, 0 },
	{ "target", TCA_ESTCP_TARGET, TIME, 0 },
	{ "gamma", TCA_ESTCP_GAMMA, NUMBER, TC_ESTCP_GAMMA_UNIT },
	{ "kappa", TCA_ESTCP_KAPPA, NUMBER, TC_ESTCP_UNIT },
	{ "g", TCA_ESTCP_FIRST, TIME, 0 },
	{ "holdoff", TCA_ESTCP_HOLDOFF, TIME, 0 },
	{ "patience", TCA_ESTCP_PATIENCE, COUNT, 0 },
	{ "dscp", TCA_ESTCP_DSCP, COUNT, 0 },
	{}
};

static const struct kind estcp = {
	.name		= "estcp",
	.usage		= "bandwidth RATE [ limit PACKETS ]\n"
			  "	[ target TIME ] [ gamma NUMBER ] [ kappa NUMBER ]\n"
			  "	[ g TIME ] [ holdoff TIME ] [ patience NUMBER ]\n"
			  "	[ dscp NUMBER ]\n",
	.options	= estcp_options,
};

static int estcp_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			   struct nlmsghdr *n, const char *dev)
{
	(void)qu;
	return parse_options(&estcp, argc, argv, n, dev);
}

static int estcp_print_opt(const struct qdisc_util *qu, FILE *f,
			   struct rtattr *opt)
{
	(void)qu;
	(void)f;
	return print_options(&estcp, opt);
}

static int estcp_print_xstats(const struct qdisc_util *qu, FILE *f,
			      struct rtattr *xstats)
{
	struct tc_estcp_xstats st = {};

	(void)qu;
	(void)f;
	if (!xstats)
		return 0;
	take_xstats(&st, sizeof(st), xstats);

	/* the name "g" is taken by the option g */
	print_us("  ", "current_g", st.g);
	print_number(" ", "share", (double)st.share / TC_ESTCP_UNIT);
	print_count(" ", "phase", st.phase);
	print_us(" ", "last_phase", st.last);
	print_us(" ", "this_phase", st.elapsed);
	print_color_string(PRINT_ANY, COLOR_NONE, "state", " state %s",
			   st.running ? "running" : "waiting");
	print_nl();
	print_count("  ", "marked", st.marked);
	print_count(" ", "unmarked", st.unmarked);
	print_count(" ", "other", st.plain);
	print_count(" ", "foreign", st.foreign);
	print_count(" ", "held", st.held);
	print_count(" ", "unwritable", st.unwritable);
	return 0;
}

/* tc looks for a symbol of this name */
extern struct qdisc_util estcp_qdisc_util;

struct qdisc_util estcp_qdisc_util = {
	.id		= "estcp",
	.parse_qopt	= estcp_parse_opt,
	.print_qopt	= estcp_print_opt,
	.print_xstats	= estcp_print_xstats,
};
