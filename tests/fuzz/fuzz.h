/* SPDX-License-Identifier: GPL-2.0 */
/* Common code of the fuzz targets. */
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
 * For speed: stacks of allocations are not recorded, because the input is enough to reproduce an
 * error, and freed memory is kept no longer than the processing of one input takes.
 */
#define FUZZ_ASAN "malloc_context_size=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=32"

/* AddressSanitizer calls it to get its options */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return FUZZ_ASAN;
}

/* Aborts if @x is false */
#define CHECK(x) do {							\
	if (!(x)) {							\
		fprintf(stderr, "%s:%d: not so: %s\n", __FILE__,	\
			__LINE__, #x);					\
		abort();						\
	}								\
} while (0)

/* Copies the bytes into memory of their own, so that reads before or after them are detected */
static inline __u8 *alone(const __u8 *data, size_t size)
{
	__u8 *copy = malloc(size);

	if (size)
		memcpy(copy, data, size);
	return copy;
}

#endif /* _FUZZ_H */
