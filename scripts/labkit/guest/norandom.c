// SPDX-License-Identifier: GPL-2.0
/*
 * Deterministic randomness for the user-mode Linux process (LD_PRELOAD).
 *
 * The lab kernel seeds its random number generator from the host's
 * getrandom(), at boot and at each reseed.  Everything that the guest draws
 * from it (port numbers, initial sequence numbers, hash secrets, netem's loss)
 * follows, so the same TCPCC_SEED gives the same run.  The generator is
 * splitmix64, which needs no warming up and takes any seed, zero included.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

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
