// SPDX-License-Identifier: GPL-2.0
/*
 * Viewers of a video that exists in several bit rates, in chunks of the same play time.
 *
 *   video START PLAN
 *
 * START is when traffic begins.  A plan has one line per viewer, times in ns of CLOCK_MONOTONIC:
 *
 *   video ID NS NS ADDRESS PORT CC CHOICE CHUNK MOST START RATE...
 *       a client in the first namespace asks a server in the second, at ADDRESS, whose congestion
 *       control is CC, for one chunk after the other, each of a RATE, bit/s; the rates rise
 *
 * The client has a buffer for MOST of play time.  It begins to play when the first chunk has
 * arrived.  If the buffer runs empty, it continues, without filling the buffer first, when the
 * missing chunk has arrived.  CHOICE is how it chooses the next rate:
 *
 *   buffer   by the play time in the buffer: the smallest rate up to RESERVOIR, the largest rate
 *            from RESERVOIR + CUSHION on, and a straight line in between.  It keeps its rate until
 *            the line reaches the next rate above or below.  Huang et al., A Buffer-Based Approach
 *            to Rate Adaptation, SIGCOMM 2014, Algorithm 1 (BBA-0).
 *   rate     the largest rate that is not above the harmonic mean of the rates at which the last
 *            PAST chunks arrived; the mean is from Jiang et al., Improving Fairness, Efficiency,
 *            and Stability in HTTP-based Adaptive Video Streaming with FESTIVE, 2012.
 *
 * video.csv gets a line when a chunk is requested, without a duration, and one with a duration when
 * all of it has arrived: time of the request, viewer, rate, size, play time in the buffer at the
 * request, and duration.
 */
#define PROGRAM "video"
#include "ends.h"

#define REQUEST		400	/* bytes, about as many as a browser's request has */
#define RESERVOIR	(5 * NSEC)
#define CUSHION		(10 * NSEC)
#define PAST		5
#define MOST_RATES	32

struct viewer {
	int id, fd;
	bool by_rate;
	ns_t chunk, most, begin;
	int rates, rung;
	double rate[MOST_RATES];
	double past[PAST];	/* bit/s of the last chunks */
	int chunks;
};

static ns_t zero;	/* when traffic begins */
static int out;		/* video.csv */

/* A line is one write, so lines of several processes stay whole. */
static void tell(const struct viewer *v, ns_t at, double size, ns_t store, ns_t took)
{
	char text[24] = "";

	if (took >= 0)
		snprintf(text, sizeof(text), "%.9f", took / 1e9);
	if (dprintf(out, "%.9f,%d,%.0f,%.0f,%.9f,%s\n", (at - zero) / 1e9, v->id, v->rate[v->rung],
		    size, store / 1e9, text) < 0)
		die("video: cannot write what it found");
}

static int by_buffer(const struct viewer *v, ns_t store)
{
	double least = v->rate[0], most = v->rate[v->rates - 1];
	double line = least + (most - least) * (store - RESERVOIR) / CUSHION;
	int k = v->rung;

	if (store <= RESERVOIR)
		return 0;
	if (store >= RESERVOIR + CUSHION)
		return v->rates - 1;
	if (k + 1 < v->rates && line >= v->rate[k + 1])
		while (k + 1 < v->rates && v->rate[k + 1] < line)
			k++;
	else if (k > 0 && line <= v->rate[k - 1])
		while (k > 0 && v->rate[k - 1] > line)
			k--;
	return k;
}

static int by_rate(const struct viewer *v)
{
	int n = v->chunks < PAST ? v->chunks : PAST, k = 0;
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += 1 / v->past[i];
	while (n && k + 1 < v->rates && v->rate[k + 1] <= n / sum)
		k++;
	return k;
}

static void watch(struct viewer *v)
{
	ns_t store = 0, then = now();	/* store: play time in the buffer at time then */

	for (;; v->chunks++) {
		ns_t at = now(), took;
		uint64_t request[REQUEST / sizeof(uint64_t)] = { 0 };

		store = store > at - then ? store - (at - then) : 0;
		then = at;
		if (store + v->chunk > v->most) {
			sleep_until(at + store + v->chunk - v->most);
			at = now();
			store -= at - then;
			then = at;
		}
		v->rung = v->by_rate ? by_rate(v) : by_buffer(v, store);
		request[0] = v->rate[v->rung] * v->chunk / NSEC / 8;
		tell(v, at, request[0], store, -1);
		if (send(v->fd, request, REQUEST, MSG_NOSIGNAL) != REQUEST)
			die("video: a connection was broken off");
		receive_all(v->fd, request[0]);
		took = now() - at;
		tell(v, at, request[0], store, took);
		v->past[v->chunks % PAST] = request[0] * 8e9 / took;
		store = (store > took ? store - took : 0) + v->chunk;
		then = at + took;
	}
}

static void serve(int listener)
{
	int fd = accept(listener, NULL, NULL);

	for (;;) {
		uint64_t request[REQUEST / sizeof(uint64_t)];

		if (recv(fd, request, REQUEST, MSG_WAITALL) != REQUEST)
			die("video: a connection was broken off");
		send_all(fd, request[0]);
	}
}

static void start(char **words)
{
	struct sockaddr_storage to;
	struct viewer v = {
		.id = atoi(words[1]), .by_rate = !strcmp(words[7], "rate"), .chunk = atoll(words[8]),
		.most = atoll(words[9]), .begin = atoll(words[10]),
	};
	socklen_t size = parse_address(words[4], atoi(words[5]), &to);
	int listener = socket_in(words[3], to.ss_family, SOCK_STREAM);

	for (char **rate = words + 11; *rate && v.rates < MOST_RATES; rate++)
		v.rate[v.rates++] = atof(*rate);
	if (setsockopt(listener, IPPROTO_TCP, 13 /* TCP_CONGESTION */, words[6], strlen(words[6])))
		die("video: congestion control %s", words[6]);
	if (bind(listener, (void *)&to, size) || listen(listener, 1))
		die("video: bind %s", words[4]);
	if (!fork())
		serve(listener);
	v.fd = socket_in(words[2], to.ss_family, SOCK_STREAM);
	if (!fork()) {
		sleep_until(v.begin);
		if (connect(v.fd, (void *)&to, size))
			die("video: viewer %s could not connect", words[1]);
		watch(&v);
	}
}

int main(int argc, char **argv)
{
	char *words[64], *line = NULL;
	size_t room = 0;
	int status;
	FILE *plan;

	if (argc != 3 || !(plan = fopen(argv[2], "r"))) {
		fprintf(stderr, "usage: video START PLAN\n");
		return 2;
	}
	zero = atoll(argv[1]);
	prctl(PR_SET_TIMERSLACK, 1);
	out = open("video.csv", O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (out < 0 || dprintf(out, "time_s,id,rate_bps,bytes,store_s,took_s\n") < 0)
		die("video: video.csv");
	while (getline(&line, &room, plan) > 0) {
		size_t n = 0;

		for (char *word = strtok(line, " \n"); word && n < 63; word = strtok(NULL, " \n"))
			words[n++] = word;
		words[n] = NULL;
		if (n < 12 || strcmp(words[0], "video"))
			die("video: the plan has an unknown line");
		start(words);
	}
	/* A child ends only by an error, which it has reported. */
	while (wait(&status) > 0)
		if (status)
			return 1;
	return 0;
}
