/* SPDX-License-Identifier: GPL-2.0 */
/* What tcp_feedback.c keeps of a flow.  Besides it only tests and benches include this file. */
#ifndef _TCP_FEEDBACK_H
#define _TCP_FEEDBACK_H

#include <linux/atomic.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>

struct feedback_net;

/**
 * struct tcpcc_feedback - one end of a flow
 * @node: in the table
 * @cookie: of the socket
 * @fn: of its network namespace
 * @taken: echoes to hand over: their number << 32 | their combined word
 * @pending: word to echo: 1 << 32 | the word; 0: none
 * @info: info to send
 * @request: word to send
 * @protocol: enum tcpcc_fb_protocol of this end, if it is a sender
 * @heard: enum tcpcc_fb_protocol of the last word to echo
 * @sender: made by tcpcc_feedback_attach()
 * @found: is in the table
 * @reserve: part of icsk_ext_hdr_len that is for our option, bytes
 * @codepoint: codepoint to return: FEEDBACK_CODEPOINT | the ECN bits; 0: none
 * @seen: time of the last header, jiffies
 * @rcu: for freeing
 */
struct tcpcc_feedback {
	struct rhash_head node;
	u64 cookie;
	struct feedback_net *fn;
	atomic64_t taken;
	atomic64_t pending;
	u32 info;
	u32 request;
	u8 protocol;
	u8 heard;
	bool sender;
	bool found;
	u8 reserve;
	u32 codepoint;
	unsigned long seen;
	struct rcu_head rcu;
};

#endif /* _TCP_FEEDBACK_H */
