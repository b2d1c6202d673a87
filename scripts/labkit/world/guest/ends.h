/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two ends of a connection.  Each end is a process that blocks, in its own namespace.  The
 * programs beside the agent share this file.  PROGRAM is the name of the program that includes it.
 */
#ifndef ENDS_H
#define ENDS_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NSEC 1000000000LL

typedef int64_t ns_t;

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %m\n");
	exit(1);
}

static ns_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC + t.tv_nsec;
}

static void sleep_until(ns_t at)
{
	struct timespec when = { at / NSEC, at % NSEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
		;
}

static int socket_in(const char *ns, int family, int type)
{
	char path[64];
	int fd, one = 1;

	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(PROGRAM ": cannot enter namespace %s", ns);
	close(fd);
	fd = socket(family, type, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		die(PROGRAM ": socket");
	return fd;
}

static socklen_t parse_address(const char *text, int port, struct sockaddr_storage *to)
{
	struct sockaddr_in *in = (void *)to;
	struct sockaddr_in6 *in6 = (void *)to;

	memset(to, 0, sizeof(*to));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		return sizeof(*in);
	}
	if (inet_pton(AF_INET6, text, &in6->sin6_addr) != 1)
		die(PROGRAM ": %s is no address", text);
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	return sizeof(*in6);
}

static void receive_all(int fd, size_t size)
{
	ssize_t n;

	for (; size; size -= n) {
		n = recv(fd, NULL, size, MSG_TRUNC | MSG_WAITALL);
		if (n <= 0)
			die(PROGRAM ": a connection was broken off");
	}
}

static void send_all(int fd, size_t size)
{
	static const char zeros[64 << 10];
	ssize_t n;

	for (; size; size -= n) {
		n = send(fd, zeros, size < sizeof(zeros) ? size : sizeof(zeros), MSG_NOSIGNAL);
		if (n < 0)
			die(PROGRAM ": a connection was broken off");
	}
}

#endif
