// SPDX-License-Identifier: GPL-2.0
/*
 * A second copy of ccpd and ccp, named ccpd_b and ccp_b: a separate module with its own parameters,
 * from the same source.  With it two flows of one run can have different gains, as in the pairs of
 * the paper's Figs. 8 and 9.  The module for real hosts needs no extra names or state for this.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <net/tcp.h>

/* the alias tcp_ccp belongs to the first copy */
#undef MODULE_ALIAS
#define MODULE_ALIAS(name)	MODULE_INFO(alias, name "_b")

static int ccpd_register_b(struct tcp_congestion_ops *ops)
{
	size_t len = strlen(ops->name);

	strscpy(ops->name + len, "_b", sizeof(ops->name) - len);
	return tcp_register_congestion_control(ops);
}

#define tcp_register_congestion_control ccpd_register_b

#include "../../../../tcp_ccpd.c"
