// SPDX-License-Identifier: GPL-2.0
/*
 * What the user-mode Linux process needs of its C library (LD_PRELOAD): deterministic
 * randomness, and a host's processor whatever registers it has.
 *
 * The lab kernel seeds its random number generator from the host's
 * getrandom(), at boot and at each reseed.  Everything that the guest draws
 * from it (port numbers, initial sequence numbers, hash secrets, netem's loss)
 * follows, so the same TCPCC_SEED gives the same run.  The generator is
 * splitmix64, which needs no warming up and takes any seed, zero included.
 *
 * User-mode Linux of 6.1 and 6.12 keeps 2696 bytes of a task's extended registers (HOST_FP_SIZE).
 * The host takes them back only in its own size, and that is 11008 where the processor has
 * AMX: without ptrace() below, init dies with EFAULT.  What is beyond are tiles, which no
 * task has that did not ask for them.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/types.h>
#include <sys/uio.h>

static uint64_t state;

static __attribute__((constructor)) void seed(void)
{
	const char *text = getenv("TCPCC_SEED");

	if (text)
		state = strtoull(text, NULL, 0);
}

static uint64_t next(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

ssize_t getrandom(void *buf, size_t len, unsigned int flags)
{
	size_t done, chunk;

	(void)flags;
	for (done = 0; done < len; done += chunk) {
		uint64_t word = next();

		chunk = len - done < sizeof(word) ? len - done : sizeof(word);
		memcpy((char *)buf + done, &word, chunk);
	}
	return len;
}

int getentropy(void *buf, size_t len)
{
	if (len > 256) {
		errno = EIO;
		return -1;
	}
	getrandom(buf, len, 0);
	return 0;
}

/* Sets a task's extended registers: what is given, and nothing beyond it */
long ptrace(enum __ptrace_request request, ...)
{
	static long (*real)(enum __ptrace_request request, ...);
	static char registers[1 << 16];
	struct iovec whole = { registers, sizeof(registers) };
	void *address, *data;
	va_list more;
	pid_t pid;

	va_start(more, request);
	pid = va_arg(more, pid_t);
	address = va_arg(more, void *);
	data = va_arg(more, void *);
	va_end(more);
	if (!real)
		real = (long (*)(enum __ptrace_request, ...))dlsym(RTLD_NEXT, "ptrace");
	if (request == PTRACE_SETREGSET && (uintptr_t)address == NT_X86_XSTATE) {
		const struct iovec *given = data;

		/* the host takes what it has of them */
		memcpy(registers, given->iov_base, given->iov_len);
		data = &whole;
	}
	return real(request, pid, address, data);
}
