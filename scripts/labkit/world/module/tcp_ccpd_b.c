// SPDX-License-Identifier: GPL-2.0
/*
 * ccpd and ccp a second time, as ccpd_b and ccp_b: the same source as a module of its own, with
 * parameters of its own.  So two flows of one run may have different gains, as in the pairs of the
 * paper's Figs. 8 and 9, and the module that hosts load needs neither names nor state for that.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <net/tcp.h>

/* tcp_ccp is the first one's */
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
