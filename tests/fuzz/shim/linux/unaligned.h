/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FUZZ_LINUX_UNALIGNED_H
#define _FUZZ_LINUX_UNALIGNED_H

#include <linux/string.h>
#include <linux/types.h>

/* byte by byte, so that an access to any invalid byte is detected */
static inline u32 get_unaligned_be16(const void *p)
{
	const u8 *at = p;

	return at[0] << 8 | at[1];
}

static inline u32 get_unaligned_be24(const void *p)
{
	const u8 *at = p;

	return (u32)at[0] << 16 | at[1] << 8 | at[2];
}

static inline u32 get_unaligned_be32(const void *p)
{
	const u8 *at = p;

	return (u32)at[0] << 24 | get_unaligned_be24(at + 1);
}

static inline void put_unaligned_be16(u16 value, void *p)
{
	u8 *at = p;

	at[0] = value >> 8;
	at[1] = value;
}

static inline void put_unaligned_be24(u32 value, void *p)
{
	u8 *at = p;

	at[0] = value >> 16;
	put_unaligned_be16(value, at + 1);
}

static inline void put_unaligned_be32(u32 value, void *p)
{
	u8 *at = p;

	at[0] = value >> 24;
	put_unaligned_be24(value, at + 1);
}

#define put_unaligned(value, p) do {					\
	__typeof__(*(p)) put_value = (value);				\
	memcpy(p, &put_value, sizeof(put_value));			\
} while (0)

#endif /* _FUZZ_LINUX_UNALIGNED_H */
