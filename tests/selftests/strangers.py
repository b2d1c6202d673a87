#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Mechanisms that a host may have between its network and TCP, for stock_strangers.sh.

strangers.py queue NUMBER [gso]	accepts all packets of this NFQUEUE of the namespace; with gso,
				packets of several segments are not split
strangers.py xdp DEVICE		a generic XDP program that passes all packets

Both print "ready", and run until they are killed.
"""

import ctypes
import os
import signal
import socket
import struct
import sys

# linux/netfilter/nfnetlink_queue.h
NFNL_SUBSYS_QUEUE = 3
NFQNL_MSG_PACKET, NFQNL_MSG_VERDICT, NFQNL_MSG_CONFIG = range(3)
NFQA_PACKET_HDR, NFQA_VERDICT_HDR = 1, 2
NFQA_CFG_CMD, NFQA_CFG_PARAMS, NFQA_CFG_MASK, NFQA_CFG_FLAGS = 1, 2, 4, 5
NFQNL_CFG_CMD_BIND = 1
NFQNL_COPY_META = 1
NFQA_CFG_F_GSO = 4
NF_ACCEPT = 1
NLM_F_REQUEST, NLM_F_ACK = 1, 4
NLMSG_ERROR = 2
NETLINK_NETFILTER = 12
SO_RCVBUFFORCE = 33

# linux/bpf.h
SYS_BPF = {"x86_64": 321, "aarch64": 280, "s390x": 351}
BPF_PROG_LOAD, BPF_LINK_CREATE = 5, 28
BPF_PROG_TYPE_XDP, BPF_XDP = 6, 37
XDP_PASS = 2
XDP_FLAGS_SKB_MODE = 2


def attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


class Queue:
    def __init__(self, number: int, gso: bool) -> None:
        self.number = number
        self.netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
        self.netlink.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
        self.netlink.bind((0, 0))
        flags = struct.pack("!I", NFQA_CFG_F_GSO if gso else 0)
        for attributes in (
            attribute(NFQA_CFG_CMD, struct.pack("!BBH", NFQNL_CFG_CMD_BIND, 0, 0)),
            attribute(NFQA_CFG_PARAMS, struct.pack("!IB", 0, NFQNL_COPY_META)),
            attribute(NFQA_CFG_FLAGS, flags)
            + attribute(NFQA_CFG_MASK, struct.pack("!I", NFQA_CFG_F_GSO)),
        ):
            self.say(NFQNL_MSG_CONFIG, attributes, NLM_F_ACK)
            (error,) = struct.unpack_from("=i", self.netlink.recv(1 << 16), 16)
            if error:
                raise OSError(-error, os.strerror(-error))

    def say(self, message: int, attributes: bytes, flags: int = 0) -> None:
        body = struct.pack("!BBH", socket.AF_UNSPEC, 0, self.number) + attributes
        kind = NFNL_SUBSYS_QUEUE << 8 | message
        head = struct.pack("=IHHII", 16 + len(body), kind, NLM_F_REQUEST | flags, 0, 0)
        self.netlink.send(head + body)

    def accept_all(self) -> None:
        while True:
            data = self.netlink.recv(1 << 16)
            while data:
                size, kind = struct.unpack_from("=IH", data)
                if kind == NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_PACKET:
                    self.accept(data[20:size])
                data = data[(size + 3) & ~3 :]

    def accept(self, attributes: bytes) -> None:
        while attributes:
            size, kind = struct.unpack_from("=HH", attributes)
            if kind & 0x3FFF == NFQA_PACKET_HDR:
                verdict = struct.pack("!I", NF_ACCEPT) + attributes[4:8]
                self.say(NFQNL_MSG_VERDICT, attribute(NFQA_VERDICT_HDR, verdict))
                return
            attributes = attributes[(size + 3) & ~3 :]


def bpf(command: int, arguments: bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    room = ctypes.create_string_buffer(arguments.ljust(128, b"\0"))
    result = libc.syscall(SYS_BPF[os.uname().machine], command, room, 128)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def pass_all(device: str) -> int:
    """Attaches the program "r0 = XDP_PASS; exit"."""
    instructions = (0xB7, 0, 0, XDP_PASS, 0x95, 0, 0, 0)
    program = ctypes.create_string_buffer(struct.pack("=BBhiBBhi", *instructions))
    licence = ctypes.create_string_buffer(b"GPL")
    where = ctypes.addressof(program), ctypes.addressof(licence)
    loaded = bpf(BPF_PROG_LOAD, struct.pack("=IIQQ", BPF_PROG_TYPE_XDP, 2, *where))
    index = socket.if_nametoindex(device)
    return bpf(BPF_LINK_CREATE, struct.pack("=IIII", loaded, index, BPF_XDP, XDP_FLAGS_SKB_MODE))


def main() -> None:
    verb, name, *rest = sys.argv[1:]
    if verb == "queue":
        queue = Queue(int(name), rest == ["gso"])
        print("ready", flush=True)
        queue.accept_all()
    else:
        pass_all(name)
        print("ready", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
