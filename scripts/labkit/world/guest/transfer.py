#!/usr/bin/python3 -SI
# SPDX-License-Identifier: GPL-2.0
"""Transfers one after the other, for the bench: no byte is copied at either end.

transfer.py serve ADDRESS FLOWS COUNT
transfer.py send ADDRESS FLOWS MS NAME CC...: sends for MS milliseconds with each CC, and prints how
    many bytes per second were acknowledged, and how long the processors were busy for a gigabyte
"""

import contextlib
import os
import re
import resource
import select
import selectors
import socket
import struct
import sys
import time
from pathlib import Path

PORT = 5001
CHUNK = 1 << 20
BYTES_ACKED = 120  # its offset in struct tcp_info
RESET = struct.pack("ii", 1, 0)  # struct linger: discard what is not sent yet


def serve(address: str, flows: int, count: int) -> None:
    place = bytearray(CHUNK)
    with socket.create_server((address, PORT), backlog=flows) as server:
        print("listening", flush=True)
        for _ in range(count):
            with selectors.DefaultSelector() as ready:
                for _ in range(flows):
                    ready.register(server.accept()[0], selectors.EVENT_READ)
                while ready.get_map():
                    for key, _ in ready.select():
                        with contextlib.suppress(ConnectionResetError):
                            if key.fileobj.recv_into(place, 0, socket.MSG_TRUNC):
                                continue
                        ready.unregister(key.fileobj)
                        key.fileobj.close()


def idle_s() -> float:
    """How long the processors have been idle.  /proc/stat has it only in hundredths of a second."""
    timers = Path("/proc/timer_list").read_text()
    found = re.findall(r"\.(?:idle|iowait)_sleeptime *: (\d+)", timers)
    return sum(map(int, found)) / 1e9


def transfer(address: str, flows: int, ms: int, cc: str, data: int) -> tuple[float, float]:
    """The rate, bytes per second, and the processor time of all programs, seconds per byte."""
    sockets = [socket.socket() for _ in range(flows)]
    for one in sockets:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        one.setblocking(False)
        one.connect_ex((address, PORT))
    for one in sockets:
        connected = select.poll()
        connected.register(one, select.POLLOUT)
        connected.poll()
    idle, start = idle_s(), time.monotonic()
    with selectors.DefaultSelector() as ready:
        for one in sockets:
            ready.register(one, selectors.EVENT_WRITE)
        while time.monotonic() < start + ms / 1000:
            for key, _ in ready.select(0.1):
                os.sendfile(key.fd, data, 0, CHUNK)
    infos = [one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, BYTES_ACKED + 8)
             for one in sockets]  # fmt: skip
    took = time.monotonic() - start
    busy = took * (os.cpu_count() or 1) - (idle_s() - idle)
    for one in sockets:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        one.close()
    acked = sum(int.from_bytes(info[BYTES_ACKED:], sys.byteorder) for info in infos)
    return acked / took, busy / max(acked, 1)


def send(address: str, flows: int, ms: int, name: str, ccs: list[str]) -> None:
    data = os.memfd_create("data")
    os.truncate(data, CHUNK)
    for cc in ccs:
        rate, busy = transfer(address, flows, ms, cc, data)
        print(f"transfer: {name}: {cc}: {rate:.0f} bytes/s", flush=True)
        print(f"transfer: {name}: {cc}: {busy * 1e15:.0f} us busy per GB", flush=True)


most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
if sys.argv[1] == "serve":
    serve(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], sys.argv[6:])
