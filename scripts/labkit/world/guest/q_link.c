// SPDX-License-Identifier: GPL-2.0
/* Plug-in of tc for the lab's qdisc link; see sch_link.c. */

#include "link.h"
#include "options.h"

static const struct option link_options[] = {
	{ "rate", TCA_LINK_RATE, RATE, 0 },
	{ "split", TCA_LINK_SPLIT, COUNT, 0 },
	{}
};

static const struct kind link_kind = {
	.name		= "link",
	.usage		= "[ rate RATE [ split 0 | 1 ] ]\n",
	.options	= link_options,
};

static int link_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev)
{
	(void)qu;
	return parse_options(&link_kind, argc, argv, n, dev);
}

static int link_print_xstats(const struct qdisc_util *qu, FILE *f, struct rtattr *xstats)
{
	struct tc_link_xstats st = {};

	(void)qu;
	(void)f;
	if (!xstats)
		return 0;
	take_xstats(&st, sizeof(st), xstats);
	print_count("  ", "queue_sum", st.queue_sum);
	print_count(" ", "queue_max", st.queue_max);
	return 0;
}

/* tc looks for this name */
extern struct qdisc_util link_qdisc_util;

struct qdisc_util link_qdisc_util = {
	.id		= "link",
	.parse_qopt	= link_parse_opt,
	.print_xstats	= link_print_xstats,
};
