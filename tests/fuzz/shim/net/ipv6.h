/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FUZZ_NET_IPV6_H
#define _FUZZ_NET_IPV6_H

#include <linux/ipv6.h>

#endif /* _FUZZ_NET_IPV6_H */
