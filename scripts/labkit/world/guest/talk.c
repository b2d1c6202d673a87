// SPDX-License-Identifier: GPL-2.0
/*
 * Conversations beside the agent's flows: UDP calls, and clients that ask, wait and think.
 *
 *   talk START PLAN
 *
 * START is when traffic begins.  A plan has one line per item, times in ns of CLOCK_MONOTONIC:
 *
 *   voice ID NS ADDRESS NS ADDRESS PORT SIZE INTERVAL START
 *       datagrams of SIZE bytes from the first to the second
 *   ask ID NS NS ADDRESS PORT CC REQUEST RESPONSE START THINK...
 *       a client in the first namespace asks a server in the second, at ADDRESS, whose congestion
 *       control is CC; before each request it thinks for the next of these times
 *
 * voice.csv and ask.csv get a line when something is sent, without a duration, and one with a
 * duration when it has arrived: the datagram at the other end of a call, or the whole response to a
 * request.  Each end is a process of its own that blocks, which takes no virtual time.
 */
#define PROGRAM "talk"
#include "ends.h"

static ns_t zero; /* when traffic begins */
static int voices = -1, asks = -1; /* voice.csv, ask.csv */

/* A line is one write, so lines of several processes stay whole. */
static void tell(int to, int id, ns_t at, ns_t took)
{
	int n;

	if (took < 0)
		n = dprintf(to, "%.9f,%d,\n", (at - zero) / 1e9, id);
	else
		n = dprintf(to, "%.9f,%d,%.9f\n", (at - zero) / 1e9, id, took / 1e9);
	if (n < 0)
		die("talk: cannot write what it found");
}

static int create(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0644);

	if (fd < 0 || dprintf(fd, "time_s,id,took_s\n") < 0)
		die("talk: %s", name);
	return fd;
}

/* The two ends of a call -- */

static void hear(int fd, int id)
{
	ns_t sent;

	while (recv(fd, &sent, sizeof(sent), MSG_TRUNC) > 0)
		tell(voices, id, sent, now() - sent);
	die("talk: a call was broken off");
}

static void speak(int fd, int id, size_t size, ns_t interval, ns_t at)
{
	static char data[65536];

	for (;; at += interval) {
		sleep_until(at);
		memcpy(data, &at, sizeof(at));
		tell(voices, id, at, -1);
		if (send(fd, data, size, 0) < 0 && errno != ENOBUFS && errno != ECONNREFUSED)
			die("talk: a call was broken off");
	}
}

static void start_voice(char **words)
{
	struct sockaddr_storage from, to;
	int port = atoi(words[6]), id = atoi(words[1]), out, in;
	socklen_t size = parse_address(words[3], port, &from);

	if (voices < 0)
		voices = create("voice.csv");
	parse_address(words[5], port, &to);
	in = socket_in(words[4], to.ss_family, SOCK_DGRAM);
	if (bind(in, (void *)&to, size))
		die("talk: bind %s", words[5]);
	if (!fork())
		hear(in, id);
	out = socket_in(words[2], to.ss_family, SOCK_DGRAM);
	if (bind(out, (void *)&from, size) || connect(out, (void *)&to, size))
		die("talk: bind %s", words[3]);
	if (!fork())
		speak(out, id, atoll(words[7]), atoll(words[8]), atoll(words[9]));
}

/* A client and its server -- */

static void serve(int listener, size_t request, size_t response)
{
	int fd = accept(listener, NULL, NULL);

	for (;;) {
		receive_all(fd, request);
		send_all(fd, response);
	}
}

static void ask(int fd, int id, size_t request, size_t response, char **thinks)
{
	for (char **think = thinks;; think = think[1] ? think + 1 : thinks) {
		ns_t at = now() + atoll(*think);

		sleep_until(at);
		tell(asks, id, at, -1);
		send_all(fd, request);
		receive_all(fd, response);
		tell(asks, id, at, now() - at);
	}
}

static void start_asking(char **words)
{
	struct sockaddr_storage to;
	socklen_t size = parse_address(words[4], atoi(words[5]), &to);
	size_t request = atoll(words[7]), response = atoll(words[8]);
	int listener = socket_in(words[3], to.ss_family, SOCK_STREAM), fd;

	if (asks < 0)
		asks = create("ask.csv");
	if (setsockopt(listener, IPPROTO_TCP, 13 /* TCP_CONGESTION */, words[6], strlen(words[6])))
		die("talk: congestion control %s", words[6]);
	if (bind(listener, (void *)&to, size) || listen(listener, 1))
		die("talk: bind %s", words[4]);
	if (!fork())
		serve(listener, request, response);
	fd = socket_in(words[2], to.ss_family, SOCK_STREAM);
	if (!fork()) {
		sleep_until(atoll(words[9]));
		if (connect(fd, (void *)&to, size))
			die("talk: client %s could not connect", words[1]);
		ask(fd, atoi(words[1]), request, response, words + 10);
	}
}

int main(int argc, char **argv)
{
	char *words[4096], *line = NULL;
	size_t room = 0;
	int status;
	FILE *plan;

	if (argc != 3 || !(plan = fopen(argv[2], "r"))) {
		fprintf(stderr, "usage: talk START PLAN\n");
		return 2;
	}
	zero = atoll(argv[1]);
	prctl(PR_SET_TIMERSLACK, 1);
	while (getline(&line, &room, plan) > 0) {
		size_t n = 0;

		for (char *word = strtok(line, " \n"); word && n < 4095; word = strtok(NULL, " \n"))
			words[n++] = word;
		words[n] = NULL;
		if (!strcmp(words[0], "voice") && n == 10)
			start_voice(words);
		else if (!strcmp(words[0], "ask") && n > 10)
			start_asking(words);
		else
			die("talk: the plan has an unknown line");
	}
	/* A child ends only by an error, which it has reported. */
	while (wait(&status) > 0)
		if (status)
			return 1;
	return 0;
}
