/* SPDX-License-Identifier: GPL-2.0 */
/* What the fuzz targets share. */
#ifndef _FUZZ_H
#define _FUZZ_H

#include <linux/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer calls it with each input */
int LLVMFuzzerTestOneInput(const __u8 *data, size_t size);

/*
 * For speed: it is the input that tells where memory came from, and what was freed
 * need not be kept longer than an input takes.
 */
#define FUZZ_ASAN "malloc_context_size=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=32"

/* AddressSanitizer asks for it */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return FUZZ_ASAN;
}

/* What must be so */
#define CHECK(x) do {							\
	if (!(x)) {							\
		fprintf(stderr, "%s:%d: not so: %s\n", __FILE__,	\
			__LINE__, #x);					\
		abort();						\
	}								\
} while (0)

/* Bytes in memory of their own: who reads before or behind them is found */
static inline __u8 *alone(const __u8 *data, size_t size)
{
	__u8 *copy = malloc(size);

	if (size)
		memcpy(copy, data, size);
	return copy;
}

#endif /* _FUZZ_H */
