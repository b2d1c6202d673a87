// SPDX-License-Identifier: GPL-2.0
/*
 * Deterministic randomness for the user-mode Linux process (LD_PRELOAD).
 *
 * The lab kernel seeds its random number generator from the host's
 * getrandom(), at boot and at each reseed.  So everything that the guest draws
 * from it (port numbers, initial sequence numbers, hash secrets, netem's loss)
 * depends on TCPCC_SEED only, and the same TCPCC_SEED gives the same run.  The
 * generator is splitmix64, which needs no warm-up and takes any seed, zero
 * included.
 *
 * ptrace() below has another purpose: user-mode Linux saves 2696 bytes of a process'
 * extended registers (HOST_FP_SIZE), and passes those back.  A processor with AMX has
 * 11008 bytes, and its kernel accepts all of them or none (-EFAULT), so the guest's first
 * process would die.  The missing bytes are set to zero, as in unused registers.
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

/* Bytes of extended registers; AMX, with 8 kB, has the most today */
#define XSTATE_MAX	16384

long ptrace(enum __ptrace_request request, ...)
{
	static long (*next_ptrace)(enum __ptrace_request, ...);
	static char xstate[XSTATE_MAX];
	static size_t xstate_len;
	struct iovec whole = { .iov_base = xstate, .iov_len = sizeof(xstate) };
	const struct iovec *given;
	void *addr, *data;
	va_list args;
	pid_t pid;

	va_start(args, request);
	pid = va_arg(args, pid_t);
	addr = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);
	if (!next_ptrace)
		next_ptrace = dlsym(RTLD_NEXT, "ptrace");
	if (request != PTRACE_SETREGSET || (uintptr_t)addr != NT_X86_XSTATE)
		return next_ptrace(request, pid, addr, data);

	given = data;
	if (!xstate_len) {
		if (next_ptrace(PTRACE_GETREGSET, pid, addr, &whole))
			return -1;
		xstate_len = whole.iov_len;
		memset(xstate, 0, sizeof(xstate));
	}
	if (given->iov_len >= xstate_len)
		return next_ptrace(request, pid, addr, data);
	memcpy(xstate, given->iov_base, given->iov_len);
	whole.iov_len = xstate_len;
	return next_ptrace(request, pid, addr, &whole);
}
