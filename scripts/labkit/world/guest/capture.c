// SPDX-License-Identifier: GPL-2.0
/*
 * Captures the packets of some devices while a command runs, for scripts/lab run --pcap.
 *
 *   capture START PACKETS NS:DEV:FILE... -- CMD...
 *
 * Each FILE becomes a pcap file with the first 126 bytes of the first PACKETS packets that enter or
 * leave device DEV of namespace NS.  Times count from START, in ns of CLOCK_MONOTONIC.  The exit
 * status is the command's.  Standard output has a line per file: its name, and the number of
 * packets that are missing.
 *
 * The capture must not change the run.  The kernel copies the packets into a ring that is as long
 * as needed (packet(7), TPACKET_V2).  No process wakes up for that, and no virtual time passes.
 * The files are written after the command has ended.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NSEC		1000000000LL
#define FRAME		192		/* of the ring: a header of 66 bytes, and a packet's beginning */
#define BLOCK		(1 << 16)	/* of the ring; the frames do not fill it */
#define PER_BLOCK	(BLOCK / FRAME)

struct tap {
	const char *file;
	int fd;
	uint8_t *ring;
	unsigned int blocks;
};

static void open_tap(struct tap *t, char *name, unsigned int packets)
{
	char path[64], *ns = strtok(name, ":"), *dev = strtok(NULL, ":");
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int version = TPACKET_V2, home = open("/proc/self/ns/net", O_RDONLY), there;
	struct tpacket_req ask = { .tp_block_size = BLOCK, .tp_frame_size = FRAME };

	t->file = strtok(NULL, ":");
	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	there = open(path, O_RDONLY);
	if (!t->file || there < 0 || setns(there, CLONE_NEWNET))
		err(1, "namespace %s", ns);
	t->fd = socket(AF_PACKET, SOCK_RAW, 0);
	at.sll_ifindex = if_nametoindex(dev);
	t->blocks = packets / PER_BLOCK + 1;
	ask.tp_block_nr = t->blocks;
	ask.tp_frame_nr = t->blocks * PER_BLOCK;
	if (t->fd < 0 || !at.sll_ifindex ||
	    setsockopt(t->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
	    setsockopt(t->fd, SOL_PACKET, PACKET_RX_RING, &ask, sizeof(ask)))
		err(1, "device %s, %u packets", dev, packets);
	if (bind(t->fd, (struct sockaddr *)&at, sizeof(at)) || setns(home, CLONE_NEWNET))
		err(1, "device %s", dev);
	close(there);
	close(home);
}

/* The frame of the ring with that number, or NULL if no packet has come there. */
static const struct tpacket2_hdr *frame_of(const struct tap *t, unsigned int number)
{
	const struct tpacket2_hdr *h;

	if (number >= t->blocks * PER_BLOCK)
		return NULL;
	h = (const void *)(t->ring + (size_t)(number / PER_BLOCK) * BLOCK +
			   number % PER_BLOCK * FRAME);
	return h->tp_status & TP_STATUS_USER ? h : NULL;
}

static void write_file(struct tap *t, int64_t zero)
{
	/* nanoseconds, version 2.4, no time zone, accuracy, longest packet, Ethernet */
	const uint32_t head[] = { 0xa1b23c4d, 2 | 4 << 16, 0, 0, FRAME, 1 };
	struct tpacket_stats stats;
	socklen_t size = sizeof(stats);
	FILE *out = fopen(t->file, "w");
	const struct tpacket2_hdr *h;

	/* Not earlier: in user-mode Linux a process with this mapping could not start another. */
	t->ring = mmap(NULL, (size_t)t->blocks * BLOCK, PROT_READ, MAP_SHARED, t->fd, 0);
	if (!out || t->ring == MAP_FAILED)
		err(1, "%s", t->file);
	fwrite(head, sizeof(head), 1, out);
	for (unsigned int k = 0; (h = frame_of(t, k)); k++) {
		int64_t at = h->tp_sec * NSEC + h->tp_nsec - zero;
		const uint32_t packet[] = { at / NSEC, at % NSEC, h->tp_snaplen, h->tp_len };

		fwrite(packet, sizeof(packet), 1, out);
		fwrite((const uint8_t *)h + h->tp_mac, h->tp_snaplen, 1, out);
	}
	if (ferror(out) || fclose(out))
		err(1, "%s", t->file);
	if (getsockopt(t->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size))
		err(1, "%s", t->file);
	printf("%s %u\n", t->file, stats.tp_drops);
}

int main(int argc, char **argv)
{
	struct timespec real, monotonic;
	int status, count = 0;
	struct tap *taps;
	char **command;
	int64_t zero;
	pid_t child;

	while (count < argc - 4 && strcmp(argv[3 + count], "--"))
		count++;
	/* a "--", and something after it */
	if (count >= argc - 4) {
		fprintf(stderr, "usage: capture START PACKETS NS:DEV:FILE... -- CMD...\n");
		return 2;
	}
	command = argv + 3 + count + 1;
	taps = calloc(count, sizeof(*taps));
	if (!taps && count)
		err(1, "%d devices", count);
	for (int k = 0; k < count; k++)
		open_tap(&taps[k], argv[3 + k], atoi(argv[2]));
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	zero = (real.tv_sec - monotonic.tv_sec) * NSEC + real.tv_nsec - monotonic.tv_nsec +
	       atoll(argv[1]);
	child = fork();
	if (!child) {
		execvp(*command, command);
		err(1, "%s", *command);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		err(1, "%s", *command);
	if (!status)
		for (int k = 0; k < count; k++)
			write_file(&taps[k], zero);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
