/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FUZZ_NET_INET_ECN_H
#define _FUZZ_NET_INET_ECN_H

#define INET_ECN_MASK	3

#endif /* _FUZZ_NET_INET_ECN_H */
