/* SPDX-License-Identifier: GPL-2.0 */
/* Fuzzing: the kernel's names of types, and macros that every kernel file may use. */
#ifndef _FUZZ_LINUX_TYPES_H
#define _FUZZ_LINUX_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define U16_MAX			((u16)~0U)
#define __force
#define __pure
#define __uninitialized
#define likely(x)		(x)
#define unlikely(x)		(x)
#define BUILD_BUG_ON(x)		_Static_assert(!(x), #x)

#endif /* _FUZZ_LINUX_TYPES_H */
