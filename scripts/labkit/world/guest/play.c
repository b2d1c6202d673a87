// SPDX-License-Identifier: GPL-2.0
/*
 * Prints each line of a file at its time:
 *
 *   play START FILE | tc -batch -
 *
 * A line has a time in ns from START (ns of CLOCK_MONOTONIC), a blank, and the text to print; lines
 * are in the order of their times.  Waiting takes no virtual time, and does not read the clock.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

int main(int argc, char **argv)
{
	char line[1024], *text;
	long long start, at;
	FILE *file;

	if (argc != 3 || !(file = fopen(argv[2], "r"))) {
		fprintf(stderr, "usage: play START FILE\n");
		return 2;
	}
	start = atoll(argv[1]);
	prctl(PR_SET_TIMERSLACK, 1);
	while (fgets(line, sizeof(line), file)) {
		struct timespec when;

		at = start + strtoll(line, &text, 10);
		when.tv_sec = at / 1000000000;
		when.tv_nsec = at % 1000000000;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
			;
		fputs(text + 1, stdout);
		fflush(stdout);
	}
	return 0;
}
