/* SPDX-License-Identifier: GPL-2.0 */
/*
 * include/tcpcc_log2.h for BPF, as functions of their own, which the verifier checks only once.
 * Inline, each of their 16 steps would be a branch on every path that the verifier follows.
 */
#ifndef _TCPCC_BPF_LOG2_H
#define _TCPCC_BPF_LOG2_H

#include "tcpcc_log2.h"

noinline u32 tcpcc_log2_once(u32 x)
{
	return tcpcc_log2(x);
}

noinline u32 tcpcc_exp2_once(u32 log)
{
	return tcpcc_exp2(log);
}

#define tcpcc_log2(x)	tcpcc_log2_once(x)
#define tcpcc_exp2(log)	tcpcc_exp2_once(log)

#endif /* _TCPCC_BPF_LOG2_H */
