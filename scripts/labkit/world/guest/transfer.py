#!/usr/bin/python3 -SI
# SPDX-License-Identifier: GPL-2.0
"""Transfers one after the other, for the bench: no byte is copied at either end.

transfer.py serve ADDRESS COUNT
transfer.py send ADDRESS BYTES CC...: says of each how many ns it took, until all has been read;
    there is one before them, of which nothing is said
"""

import os
import socket
import sys
import time

PORT = 5001
CHUNK = 16 << 20


def serve(address: str, count: int) -> None:
    place = bytearray(1 << 20)
    with socket.create_server((address, PORT)) as server:
        print("listening", flush=True)
        for _ in range(count + 1):
            connection, _ = server.accept()
            with connection:
                while connection.recv_into(place, 0, socket.MSG_TRUNC):
                    pass


def send(address: str, size: int, ccs: list[str]) -> None:
    data = os.memfd_create("data")
    os.truncate(data, CHUNK)
    for number, cc in enumerate([ccs[0], *ccs]):
        with socket.socket() as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
            connection.connect((address, PORT))
            start = time.monotonic_ns()
            left = size
            while left:
                left -= os.sendfile(connection.fileno(), data, 0, min(left, CHUNK))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
            if number:
                print(f"transfer: {cc}: {time.monotonic_ns() - start} ns", flush=True)


if sys.argv[1] == "serve":
    serve(sys.argv[2], int(sys.argv[3]))
else:
    send(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
