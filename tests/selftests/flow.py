#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""One TCP transfer between two namespaces, for the selftests; see --help."""

import argparse
import socket
import sys

CHUNK = bytes(1 << 16)


def serve(family: int, port: int) -> None:
    """Takes one connection and reads it to its end."""
    with socket.create_server(("", port), family=family) as server:
        connection, _ = server.accept()
        with connection:
            while connection.recv(1 << 20):
                pass


def send(address: str, port: int, size: int, ccs: list[str]) -> None:
    """Sends size bytes, changing to the next congestion control after each equal part."""
    with socket.create_connection((address, port), timeout=600) as connection:
        for cc in ccs or [""]:
            if cc:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
            left = size // max(1, len(ccs))
            while left > 0:
                left -= connection.send(CHUNK[:left])
        used = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        print(used.split(b"\0")[0].decode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", nargs="?", help="where to send; none: receive")
    parser.add_argument("--port", type=int, default=5001)
    parser.add_argument("--bytes", type=int, default=1_000_000)
    parser.add_argument("--cc", action="append", default=[], help="in this order, equal parts each")
    parser.add_argument("-6", dest="family", action="store_const", const=socket.AF_INET6,
                        default=socket.AF_INET)
    args = parser.parse_args()
    try:
        if args.address:
            send(args.address, args.port, args.bytes, args.cc)
        else:
            serve(args.family, args.port)
    except OSError as error:
        sys.exit(f"flow.py: {error}")


if __name__ == "__main__":
    main()
