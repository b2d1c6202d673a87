// SPDX-License-Identifier: GPL-2.0
/*
 * The only program of a guest without a root file system.  It inserts the modules in
 * /order, one path per line.  If the last one is a KUnit suite, the suite ran when it was
 * inserted.  Otherwise the program sends data over the loopback device with each
 * available congestion control.  Then it removes the modules and powers off.  The results
 * are KTAP in the kernel's log, beside those of the suite.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES		(4 << 20)
#define CHUNK		(32 << 10)
#define MODULES_MAX	128

static int kmsg = -1;
static int points;

static void say(const char *format, ...)
{
	char line[400];
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (write(kmsg, line, length) < 0)
		_exit(1);
}

static void point(bool ok, const char *what, const char *name)
{
	say("%sok %d - %s %s\n", ok ? "" : "not ", ++points, what, name);
}

static bool insert(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	bool ok = file >= 0 && !syscall(SYS_finit_module, file, "", 0);

	if (!ok)
		say("# %s: %s\n", path, strerror(errno));
	if (file >= 0)
		close(file);
	return ok;
}

/* Removes the module with this path, and cuts off the path's ".ko" */
static void take_out(char *path)
{
	char *name = strrchr(path, '/') + 1;
	bool ok;

	name[strlen(name) - strlen(".ko")] = '\0';
	ok = !syscall(SYS_delete_module, name, O_NONBLOCK);
	if (!ok)
		say("# %s: %s\n", name, strerror(errno));
	point(ok, "remove", name);
}

static void loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int sock = socket(AF_INET, SOCK_DGRAM, 0);

	ioctl(sock, SIOCSIFFLAGS, &request);
	close(sock);
}

static unsigned char byte_at(unsigned int n)
{
	return (n * 2654435761u) >> 24;
}

static int receive(int listener)
{
	static unsigned char data[CHUNK];
	unsigned int total = 0;
	int sock = accept(listener, NULL, NULL);

	for (;;) {
		ssize_t got = read(sock, data, sizeof(data));

		if (got <= 0)
			return !(got == 0 && total == BYTES);
		for (ssize_t i = 0; i < got; i++)
			if (data[i] != byte_at(total++))
				return 1;
	}
}

/* Sends BYTES to a child, which checks each of them */
static bool transfer(const char *cc)
{
	static unsigned char data[CHUNK];
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int sock = socket(AF_INET, SOCK_STREAM, 0);
	unsigned int sent = 0;
	int status = -1;
	pid_t child;
	bool ok;

	ok = !setsockopt(sock, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)) &&
	     !bind(listener, (struct sockaddr *)&address, length) && !listen(listener, 1) &&
	     !getsockname(listener, (struct sockaddr *)&address, &length);
	child = ok ? fork() : -1;
	if (child == 0) {
		close(sock);	/* or close() in the parent would not end the connection */
		_exit(receive(listener));
	}
	close(listener);
	ok = child > 0 && !connect(sock, (struct sockaddr *)&address, length);
	while (ok && sent < BYTES) {
		for (unsigned int i = 0; i < CHUNK; i++)
			data[i] = byte_at(sent + i);
		ok = send(sock, data, CHUNK, MSG_NOSIGNAL) == CHUNK;
		sent += CHUNK;
	}
	if (!ok)
		say("# %s: %s after %u bytes\n", cc, strerror(errno), sent);
	close(sock);
	if (child > 0)
		waitpid(child, &status, 0);
	return ok && status == 0;
}

int main(void)
{
	static char names[4096], order[65536];
	char *modules[MODULES_MAX], *name, *save;
	int file, count = 0;

	mkdir("/proc", 0755);
	mkdir("/dev", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	/* all lines; the default is ten in five seconds */
	file = open("/proc/sys/kernel/printk_devkmsg", O_WRONLY);
	if (write(file, "on\n", 3) != 3)
		return 1;
	close(file);
	kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	loopback_up();

	file = open("/order", O_RDONLY);
	if (read(file, order, sizeof(order) - 1) <= 0)
		point(false, "read", "/order");
	close(file);
	for (name = strtok_r(order, "\n", &save); name && count < MODULES_MAX;
	     name = strtok_r(NULL, "\n", &save)) {
		point(insert(name), "insert", name);
		modules[count++] = name;
	}
	if (count && strstr(modules[count - 1], "_test.ko"))
		goto out;

	file = open("/proc/sys/net/ipv4/tcp_available_congestion_control", O_RDONLY);
	if (read(file, names, sizeof(names) - 1) <= 0)
		point(false, "read", "the congestion controls");
	close(file);
	for (name = strtok_r(names, " \n", &save); name; name = strtok_r(NULL, " \n", &save))
		point(transfer(name), "transfer", name);

out:
	while (count--)
		take_out(modules[count]);
	say("1..%d\n", points);
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
