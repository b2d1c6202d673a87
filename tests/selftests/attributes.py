#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Requests to a router qdisc with attributes of any types, lengths, nesting and values.

attributes.py DEVICE KIND COUNT SEED    sends COUNT requests that add, change, replace and delete
                                        the root qdisc of DEVICE; prints the number of each result

After each request the qdisc's options are read.  A refused request must not change them, accepted
values must be shown, and all shown values must be in their ranges.  A well formed request with
allowed values must be accepted.  Sometimes a datagram is sent, so that there is a queue.
"""

import collections
import contextlib
import ctypes
import errno
import random
import socket
import struct
import sys
from collections.abc import Callable, Iterator

RTM_NEWQDISC, RTM_DELQDISC, RTM_GETQDISC = 36, 37, 38
NLMSG_ERROR = 2
NLM_F_REQUEST, NLM_F_ACK, NLM_F_ECHO = 1, 4, 8
NLM_F_REPLACE, NLM_F_EXCL, NLM_F_CREATE = 0x100, 0x200, 0x400
TCA_KIND, TCA_OPTIONS, TCA_XSTATS, TCA_RATE, TCA_STAB = 1, 2, 4, 5, 8
NLA_F_NESTED, NLA_F_NET_BYTEORDER = 0x8000, 0x4000
TC_H_ROOT = 0xFFFFFFFF
SOL_NETLINK, NETLINK_CAP_ACK, NETLINK_EXT_ACK = 270, 10, 11
SO_RCVBUFFORCE = 33
MSG_WAITFORONE = 0x10000

BATCH = 32

BANDWIDTH, HOLDOFF, ESTCP_TARGET = 2, 12, 8
# Attributes, and the ranges of their values
RANGES = {
    "acp": {
        2: (125, 125 * 10**9), 3: (1, 2**32 - 1), 8: (1, 4 * 10**6), 9: (0, 4 * 10**6),
        10: (1, 10**6), 11: (1, 10**6), 12: (1, 10**6), 13: (1, 1 << 24), 14: (1000, 10**7),
        15: (0, 10**6), 16: (0, 1),
    },
    "estcp": {
        2: (125, 125 * 10**9), 3: (1, 2**32 - 1), 8: (200_000, 10**9), 9: (0, 4 * 10**9),
        10: (1000, 4 * 10**6), 11: (1024, 1 << 24), 12: (0, 10**9 - 1), 13: (0, 10**6),
        14: (1, 63),
    },
    "xcp": {2: (125, 125 * 10**9), 3: (1, 2**32 - 1), 8: (1, 4 * 10**6), 9: (0, 4 * 10**6),
            10: (0, 10**6)},
    "rcp": {
        2: (125, 125 * 10**9), 3: (1, 2**32 - 1), 8: (1, 4 * 10**6), 9: (0, 4 * 10**6),
        10: (1, 10**6), 11: (1000, 10**7), 12: (0, 10**9), 13: (1, 10**6),
    },
}  # fmt: skip
OR_0 = {("rcp", 11)}  # values of these may also be 0
# Allowed errors of a refusal
REFUSALS = {errno.EINVAL, errno.ERANGE, errno.EOPNOTSUPP, errno.ENOENT, errno.EEXIST}


def attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


class Requests:
    """Generates random requests."""

    def __init__(self, kind: str, index: int, seed: int) -> None:
        self.kind, self.index = kind, index
        self.ranges = RANGES[kind]
        self.draw = random.Random(seed)

    def value(self, number: int, allowed: bool) -> int:
        """A value of this attribute: allowed, or any."""
        low, high = self.ranges[number]
        size = 64 if number == BANDWIDTH else 32
        if allowed:
            return self.draw.choice((low, self.draw.randint(low, high), high))
        edges = (low - 1, low, low + 1, high - 1, high, high + 1, 0, 1, 2**31, 2**32 - 1, 2**63)
        return self.draw.choice(edges) % 2**size

    def allows(self, number: int, value: int) -> bool:
        low, high = self.ranges[number]
        return low <= value <= high or (not value and (self.kind, number) in OR_0)

    def right(self, allowed: bool = False) -> bytes:
        """A well formed attribute, with an allowed or with any value."""
        number = self.draw.choice(list(self.ranges))
        size = 8 if number == BANDWIDTH else 4
        return attribute(number, self.value(number, allowed).to_bytes(size, sys.byteorder))

    def wrong(self) -> bytes:
        """An attribute of any type, length and nesting."""
        draw = self.draw
        number = draw.choice((*self.ranges, 0, 1, 4, 7, 15, 16, 31, 32, 255, 0x3FFF))
        number |= draw.choice((0, 0, NLA_F_NESTED, NLA_F_NET_BYTEORDER, 0xC000))
        pick = draw.random()
        if pick < 0.2:
            data = b"".join(self.right() for _ in range(draw.randrange(3)))
        elif pick < 0.3:
            data = self.wrong()
        else:
            data = draw.randbytes(draw.randrange(71))
        made = attribute(number, data)
        if draw.random() < 0.1:  # with a wrong length
            length = draw.choice((0, 1, 3, 4, len(data), len(data) + 5, 2000, 65535))
            made = struct.pack("=H", length) + made[2:]
        return made

    def options(self) -> tuple[bytes, dict[int, int] | None]:
        """Return: TCA_OPTIONS, and its values, or None if it is not well formed."""
        draw = self.draw
        if draw.random() < 0.5:
            allowed = draw.random() < 0.7
            data = b"".join(self.right(allowed) for _ in range(draw.randrange(10)))
            if draw.random() < 0.5:
                rate = self.value(BANDWIDTH, allowed)
                data += attribute(BANDWIDTH, rate.to_bytes(8, sys.byteorder))
            return attribute(TCA_OPTIONS | NLA_F_NESTED, data), values(data)
        data = b"".join(draw.choice((self.right, self.wrong))() for _ in range(draw.randrange(6)))
        flags = draw.choice((NLA_F_NESTED, NLA_F_NESTED, NLA_F_NESTED, 0, 0xC000))
        made = attribute(TCA_OPTIONS | flags, data)
        if draw.random() < 0.05:
            made = struct.pack("=H", draw.choice((0, 3, 4, len(data)))) + made[2:]
        return made, None

    def message(
        self, kind: int, flags: int, attributes: bytes = b"", handle: int = 0, number: int = 0,
    ) -> bytes:  # fmt: skip
        body = struct.pack("=BxxxiIII", 0, self.index, handle, TC_H_ROOT, 0) + attributes
        head = struct.pack("=IHHII", 16 + len(body), kind, flags | NLM_F_REQUEST, number, 0)
        return head + body

    def request(self, there: bool) -> tuple[bytes, dict[int, int] | None, bool]:
        """Return: a message, the values that it sets if it is well formed, and whether it only
        changes a qdisc."""
        draw = self.draw
        if draw.random() < 0.05:
            return self.message(RTM_DELQDISC, NLM_F_ACK), None, False
        options, wanted = self.options() if draw.random() < 0.98 else (b"", None)
        name = self.kind.encode() + b"\0"
        if draw.random() < 0.02:
            name = draw.choice((b"", b"\0", b"x" * 30, name[:-1], b"acpx\0", draw.randbytes(5)))
            wanted = None
        attributes = attribute(TCA_KIND, name) + options
        create = (NLM_F_CREATE | NLM_F_EXCL, NLM_F_CREATE | NLM_F_REPLACE)
        flags = NLM_F_ACK | (0 if draw.random() < (0.8 if there else 0.1) else draw.choice(create))
        handle = draw.choice((*[0] * 6, 1 << 16, 2 << 16, 0x10001, TC_H_ROOT))
        plain = flags == NLM_F_ACK and not handle
        return self.message(RTM_NEWQDISC, flags, attributes, handle), wanted, plain


def attributes_in(data: bytes) -> dict[int, bytes]:
    """The data of each type of attribute; of several, the last one."""
    found = {}
    at = 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        if not 4 <= length <= len(data) - at:
            break
        found[kind & 0x3FFF] = data[at + 4 : at + length]
        at += (length + 3) & ~3
    return found


def values(data: bytes) -> dict[int, int]:
    """The value of each attribute, except padding attributes, which are empty."""
    found = attributes_in(data).items()
    return {kind: int.from_bytes(v, sys.byteorder) for kind, v in found if v}


class _Vector(ctypes.Structure):
    """struct iovec"""
    _fields_ = (("base", ctypes.c_void_p), ("len", ctypes.c_size_t))


class _Message(ctypes.Structure):
    """struct mmsghdr"""
    _fields_ = (
        ("name", ctypes.c_void_p), ("name_len", ctypes.c_uint32),
        ("vector", ctypes.POINTER(_Vector)), ("vectors", ctypes.c_size_t),
        ("control", ctypes.c_void_p), ("control_len", ctypes.c_size_t),
        ("flags", ctypes.c_size_t), ("len", ctypes.c_uint32),
    )  # fmt: skip


class Kernel:
    """Sends many requests with each system call, because system calls are slow in the lab."""

    ROOM, MOST = 4096, 3 * BATCH

    def __init__(self, question: Callable[[int], bytes]) -> None:
        self.question = question
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        for option in (NETLINK_CAP_ACK, NETLINK_EXT_ACK):
            self.socket.setsockopt(SOL_NETLINK, option, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 10, 0))
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.buffer = ctypes.create_string_buffer(self.ROOM * self.MOST)
        base = ctypes.addressof(self.buffer)
        self.vectors = (_Vector * self.MOST)(
            *((base + self.ROOM * n, self.ROOM) for n in range(self.MOST))
        )
        self.messages = (_Message * self.MOST)()
        for message, vector in zip(self.messages, self.vectors, strict=True):
            message.vector, message.vectors = ctypes.pointer(vector), 1

    def replies(self) -> Iterator[bytes]:
        while True:
            count = self.libc.recvmmsg(
                self.socket.fileno(), self.messages, self.MOST, MSG_WAITFORONE, None
            )
            if count < 0:
                raise OSError(ctypes.get_errno(), "no reply")
            for n in range(count):
                at = self.ROOM * n
                yield self.buffer[at : at + self.messages[n].len]

    def ask(self, requests: list[bytes]) -> list[tuple[int, dict[int, bytes]]]:
        """Return: for each request its error, and the qdisc's attributes after it; none if there is
        no qdisc."""
        sent = b""
        for n, request in enumerate(requests):
            sent += request[:8] + struct.pack("=I", 2 * n) + request[12:]
            sent += bytes(-len(sent) % 4) + self.question(2 * n + 1)
        self.socket.send(sent)
        status: dict[int, int] = {}
        shown: dict[int, dict[int, bytes]] = {}
        for reply in self.replies():
            kind, _, number = struct.unpack_from("=HHI", reply, 4)
            if kind != NLMSG_ERROR:
                shown[number // 2] = attributes_in(reply[36:])
                continue
            assert number == len(status), "an acknowledgment is missing"
            status[number] = -struct.unpack_from("=i", reply, 16)[0]
            if len(status) == 2 * len(requests):
                break
        return [(status[2 * n], shown.get(n, {})) for n in range(len(requests))]


def check(
    request: Requests, message: bytes, wanted: dict[int, int] | None, plain: bool, status: int,
    before: dict[int, int], after: dict[int, int],
) -> None:  # fmt: skip
    """Checks the result of a request.  plain: the request only changes a qdisc."""
    for number, value in after.items():
        if number in request.ranges:
            assert request.allows(number, value), f"attribute {number} is {value}"
    if request.kind == "estcp" and after:
        assert after[HOLDOFF] < after[ESTCP_TARGET]
    if status:
        assert status in REFUSALS, errno.errorcode.get(status, status)
        # the kernel checks these attributes after it has changed the options
        late = {TCA_RATE, TCA_STAB} & set(attributes_in(message[36:]))
        assert after == before or late, "refused, and something changed"
    if wanted is None:
        return
    allowed = all(request.allows(n, value) for n, value in wanted.items())
    assert status or allowed, "accepted"
    if not status:
        for n, value in wanted.items():
            # hold-off 0 means a tenth of the target
            assert after.get(n) == value or (request.kind, n, value) == ("estcp", HOLDOFF, 0), n
    free = request.kind != "estcp" or not {HOLDOFF, ESTCP_TARGET} & set(wanted)
    assert not (status and plain and before and allowed and free), "refused"


def main(device: str, kind: str, count: int, seed: int) -> None:
    requests = Requests(kind, socket.if_nametoindex(device), seed)
    kernel = Kernel(lambda n: requests.message(RTM_GETQDISC, NLM_F_ACK | NLM_F_ECHO, number=n))
    results: collections.Counter[str] = collections.Counter()
    before: dict[int, int] = {}
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.setblocking(False)
    for first in range(0, count, BATCH):
        batch = [requests.request(bool(before)) for _ in range(min(BATCH, count - first))]
        replies = kernel.ask([message for message, _, _ in batch])
        for n, ((message, wanted, plain), (status, shown)) in enumerate(
            zip(batch, replies, strict=True), first
        ):
            ours = shown.get(TCA_KIND, b"").rstrip(b"\0") == kind.encode()
            after = values(shown[TCA_OPTIONS]) if ours else {}
            try:
                assert not ours or len(shown[TCA_XSTATS]) > 50, "no statistics"
                check(requests, message, wanted, plain, status, before, after)
            except AssertionError as error:
                sys.exit(f"request {n} of seed {seed}: {error}: {message.hex()}: {after}")
            results[errno.errorcode.get(status, "accepted")] += 1
            before = after
        with contextlib.suppress(BlockingIOError):
            datagrams.sendto(bytes(100), ("192.0.2.2", 9))
    for name, number in sorted(results.items()):
        print(f"# {kind} {name}: {number}")
    # there were many acceptances and many refusals
    assert min(results["accepted"], results["EINVAL"]) > count / 10, results


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
