/* SPDX-License-Identifier: GPL-2.0 */
/* Fuzzing: the kernel's names of byte order functions, in addition to those of user space. */
#ifndef _FUZZ_ASM_BYTEORDER_H
#define _FUZZ_ASM_BYTEORDER_H

#include_next <asm/byteorder.h>

#define htons(x)	__cpu_to_be16(x)
#define ntohs(x)	__be16_to_cpu(x)
#define cpu_to_be32(x)	__cpu_to_be32(x)
#define be32_to_cpu(x)	__be32_to_cpu(x)

#endif /* _FUZZ_ASM_BYTEORDER_H */
