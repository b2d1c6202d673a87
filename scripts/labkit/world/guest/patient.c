// SPDX-License-Identifier: GPL-2.0
/*
 * Lets programs poll that do not block (LD_PRELOAD, for the user's programs).
 *
 * In virtual time a processor needs no time, so that a program that asks again and again whether
 * something has come, as iperf3 does at the end of a test, would do so for ever: what it waits for
 * needs time.  Here a call that asks costs PAUSE from the POLLS-th on that comes without time having
 * passed since the one before.  Who blocks, or has work to do, never gets there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#define POLLS	100
#define PAUSE	10000	/* ns */
#define MOMENT	1000	/* ns: to read the clock takes some, or nobody could wait by doing so */

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Behind each call that asked; what it found stays. */
static int asked(int found)
{
	static __thread int64_t last;
	static __thread int polls;
	struct timespec pause = { 0, PAUSE };
	int64_t at = now();

	polls = at - last < MOMENT ? polls + 1 : 0;
	if (polls >= POLLS) {
		nanosleep(&pause, NULL);
		at = now();
	}
	last = at;
	return found;
}

#define NEXT(call)						\
	static __typeof__(call) *next;				\
	if (!next)						\
		next = (__typeof__(next))dlsym(RTLD_NEXT, #call)

int select(int n, fd_set *in, fd_set *out, fd_set *other, struct timeval *most)
{
	NEXT(select);
	return asked(next(n, in, out, other, most));
}

int poll(struct pollfd *them, nfds_t n, int most)
{
	NEXT(poll);
	return asked(next(them, n, most));
}

int epoll_wait(int of, struct epoll_event *found, int n, int most)
{
	NEXT(epoll_wait);
	return asked(next(of, found, n, most));
}
