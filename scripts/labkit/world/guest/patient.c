// SPDX-License-Identifier: GPL-2.0
/*
 * Lets programs poll without blocking (LD_PRELOAD, for the user's programs).
 *
 * In virtual time a processor needs no time.  A program that polls for an event again and again, as
 * iperf3 does at the end of a test, would never see the event, because the event needs time.  So
 * from the POLLS-th successive call on, each such call sleeps for PAUSE.  Calls are successive if
 * no time has passed between them.  A program that blocks, or has work to do, never gets that far.
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
#define MOMENT	1000	/* ns: less is no time; reading the clock takes some */

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* After each call that polls; returns @found, the result of the call. */
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
