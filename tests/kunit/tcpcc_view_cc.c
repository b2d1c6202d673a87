// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion controls for the tests of /proc/net/tcpcc: one answers TCPCC_VIEW, and one fills in
 * its own form for any request.  Both grow as Reno.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "tcpcc_view.h"

static size_t answering_get_info(struct sock *sk, u32 ext, int *attr,
				 union tcp_cc_info *info)
{
	struct tcpcc_view *view = tcpcc_view_of(ext, info, "testing");

	if (!view)
		return tcpcc_info_rate(ext, attr, info, 1000, 20);
	tcpcc_view_add(view, "rate_bps", U64_MAX);
	tcpcc_view_add(view, "mss_bytes", tcp_sk(sk)->mss_cache);
	return 0;
}

static size_t rude_get_info(struct sock *sk, u32 ext, int *attr,
			    union tcp_cc_info *info)
{
	memset(info, 0xff, sizeof(*info));
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

#define VIEW_CC(_name, _get_info)					\
	{								\
		.name		= _name,				\
		.owner		= THIS_MODULE,				\
		.ssthresh	= tcp_reno_ssthresh,			\
		.undo_cwnd	= tcp_reno_undo_cwnd,			\
		.cong_avoid	= tcp_reno_cong_avoid,			\
		.get_info	= _get_info,				\
	}

static struct tcp_congestion_ops ops[] __read_mostly = {
	VIEW_CC("view_answers", answering_get_info),
	VIEW_CC("view_rude", rude_get_info),
};

static int __init view_cc_register(void)
{
	int i, err;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		err = tcp_register_congestion_control(&ops[i]);
		if (err)
			goto undo;
	}
	return 0;
undo:
	while (i--)
		tcp_unregister_congestion_control(&ops[i]);
	return err;
}

static void __exit view_cc_unregister(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		tcp_unregister_congestion_control(&ops[i]);
}

module_init(view_cc_register);
module_exit(view_cc_unregister);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Congestion controls for the tests of /proc/net/tcpcc");
