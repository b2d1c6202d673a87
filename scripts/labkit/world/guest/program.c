// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a user's program at a given time, and records the result.
 *
 *   program ID START AT FILE
 *
 * FILE starts at AT, in ns of CLOCK_MONOTONIC; traffic begins at START.  The program runs in its
 * own directory, which is lost.  Its output goes to programID.out and programID.err.  programs.csv
 * gets a line when the program begins, and one when it ends: ID, start time and duration in s, and
 * exit status, or 128 plus the signal that ended it, as in a shell.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NSEC 1000000000LL

static void redirect(const char *id, const char *to, int fd)
{
	char name[64];
	int file;

	snprintf(name, sizeof(name), "program%s.%s", id, to);
	file = open(name, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (file < 0 || dup2(file, fd) < 0)
		err(1, "%s", name);
	close(file);
}

int main(int argc, char **argv)
{
	struct timespec when, end;
	char home[] = "/tmp/program-XXXXXX", *path;
	int64_t start, at;
	int out, status;
	pid_t child;

	if (argc != 5) {
		fprintf(stderr, "usage: program ID START AT FILE\n");
		return 2;
	}
	start = atoll(argv[2]);
	at = atoll(argv[3]);
	when = (struct timespec){ at / NSEC, at % NSEC };
	path = realpath(argv[4], NULL);
	out = open("programs.csv", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_DSYNC, 0644);
	if (!path || out < 0)
		err(1, "%s", argv[4]);
	prctl(PR_SET_TIMERSLACK, 1);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
		;
	dprintf(out, "%s,%.9f,,\n", argv[1], (at - start) / 1e9);
	child = fork();
	if (!child) {
		redirect(argv[1], "out", 1);
		redirect(argv[1], "err", 2);
		if (!mkdtemp(home) || chdir(home))
			err(126, "%s", home);
		execl(path, path, NULL);
		err(126, "%s", argv[4]);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		err(1, "%s", argv[4]);
	clock_gettime(CLOCK_MONOTONIC, &end);
	status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	dprintf(out, "%s,%.9f,%.9f,%d\n", argv[1], (at - start) / 1e9,
		(end.tv_sec * NSEC + end.tv_nsec - at) / 1e9, status);
	return 0;
}
