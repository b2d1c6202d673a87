#!/usr/bin/python3 -SI
# SPDX-License-Identifier: GPL-2.0
"""One TCP transfer between two namespaces, for the selftests; see --help."""

import argparse
import socket
import sys
import threading
import time

CHUNK = bytes(1 << 16)


def drain(connection: socket.socket, answer: bytes = b"") -> None:
    buffer = bytearray(1 << 20)  # reused, because each new one would be mapped and unmapped
    while connection.recv_into(buffer):
        if answer:
            connection.sendall(answer)


def serve(family: int, port: int, size: int, ccs: list[str], answer: bytes) -> None:
    """Prints a line when it listens, accepts one connection and reads it to its end.  Sends size
    bytes at the same time, if size is not 0."""
    with socket.create_server(("", port), family=family) as server:
        print("listening", flush=True)
        connection, _ = server.accept()
        with connection:
            reader = threading.Thread(target=drain, args=[connection, answer])
            reader.start()
            if size:
                push(connection, size, ccs, 0)
                connection.shutdown(socket.SHUT_WR)
            reader.join()


def push(connection: socket.socket, size: int, ccs: list[str], pause: float) -> None:
    """Sends size bytes, an equal part with each congestion control in turn."""
    for number, cc in enumerate(ccs or [""]):
        if number:
            time.sleep(pause)
        if cc:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        left = size // max(1, len(ccs))
        while left > 0:
            left -= connection.send(CHUNK[:left])


def send(
    address: str, port: int, size: int, ccs: list[str], pause: float, both: bool, dsfield: int
) -> None:
    """Sends to a server; if both, also reads what the server sends.  Prints the congestion control
    of the socket at the end."""
    with socket.create_connection((address, port), timeout=600) as connection:
        if ":" in address:
            connection.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, dsfield)
        else:
            connection.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dsfield)
        reader = threading.Thread(target=drain, args=[connection])
        if both:
            reader.start()
        push(connection, size, ccs, pause)
        if both:
            connection.shutdown(socket.SHUT_WR)
            reader.join()
        used = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        print(used.split(b"\0")[0].decode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", nargs="?", help="where to send; none: receive")
    parser.add_argument("--port", type=int, default=5001)
    parser.add_argument("--bytes", type=int, help="to send; of a receiver: beside receiving")
    parser.add_argument("--pause", type=float, default=0, help="seconds between the parts")
    parser.add_argument("--both", action="store_true", help="the receiver sends too")
    parser.add_argument("--answer", action="store_true",
                        help="the receiver sends a byte when it has read some, and so delays ACKs")
    parser.add_argument("--cc", action="append", default=[], help="in this order, equal parts each")
    parser.add_argument("--dsfield", type=int, default=0, help="DSCP of what is sent, times 4")
    parser.add_argument("-6", dest="family", action="store_const", const=socket.AF_INET6,
                        default=socket.AF_INET)
    args = parser.parse_args()
    try:
        if args.address:
            size = 1_000_000 if args.bytes is None else args.bytes
            send(args.address, args.port, size, args.cc, args.pause, args.both, args.dsfield)
        else:
            serve(args.family, args.port, args.bytes or 0, args.cc, b"." * args.answer)
    except OSError as error:
        sys.exit(f"flow.py: {error}")


if __name__ == "__main__":
    main()
