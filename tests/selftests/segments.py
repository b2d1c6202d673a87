#!/usr/bin/python3 -SI
# SPDX-License-Identifier: GPL-2.0
"""The size of TCP's segments, with flow.py as the receiver.

segments.py reserve ADDRESS PORT CC	on one connection, sets and removes IP options and CC;
					prints by how many bytes its segments are smaller
					after each step
segments.py lengths ADDRESS PORT CC FIRST LAST	sends data of every fourth length from FIRST to
					LAST, as one packet if possible, each after the ACK for
					the one before
"""

import fcntl
import socket
import struct
import sys
import time

SIOCOUTQ = 0x5411
PADDING = b"\0\0\1\4" + bytes(4)  # an extension header of IPv6 with nothing else


def push(sock: socket.socket, size: int) -> None:
    """Sends size bytes, and returns when all are acknowledged."""
    sock.sendall(bytes(size))
    while struct.unpack("i", fcntl.ioctl(sock, SIOCOUTQ, bytes(4)))[0]:
        time.sleep(0.001)


def choose(sock: socket.socket, cc: str) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())


def ip_options(sock: socket.socket, count: int) -> None:
    """Sets 0 to 2 extension headers (IPv6), or IP options of the same length (IPv4)."""
    if sock.family == socket.AF_INET6:
        for n, name in enumerate((socket.IPV6_DSTOPTS, socket.IPV6_HOPOPTS)):
            sock.setsockopt(socket.IPPROTO_IPV6, name, PADDING if n < count else b"")
    else:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, b"\1" * (8 * count))


def reserve(sock: socket.socket, cc: str) -> None:
    def mss() -> int:
        push(sock, 100_000)
        return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)

    choose(sock, "reno")
    most, less = mss(), []
    for step in (cc, 1, 2, 1, 0, "reno", cc, 2, "reno", 1, cc, 0, "reno"):
        if isinstance(step, str):
            choose(sock, step)
        else:
            ip_options(sock, step)
        less.append(most - mss())
    print(*less)


def lengths(sock: socket.socket, cc: str, first: str, last: str) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    choose(sock, cc)
    push(sock, 1_000_000)
    for size in range(int(first), int(last) + 1, 4):
        push(sock, size)


def main() -> None:
    verb, address, port, *arguments = sys.argv[1:]
    with socket.create_connection((address, int(port)), timeout=600) as sock:
        {"reserve": reserve, "lengths": lengths}[verb](sock, *arguments)


if __name__ == "__main__":
    main()
