#!/usr/bin/python3 -SI
# SPDX-License-Identifier: GPL-2.0
"""Raw packets from the namespace in which this runs to another one, for sch_*.sh.

raw.py burst ADDRESS COUNT SIZE       sends COUNT datagrams of SIZE bytes at once
raw.py pace ADDRESS PEER COUNT SIZE   the same; prints the rate at which they arrived, bit/s of
                                      frames
raw.py header KIND ADDRESS PEER RATE  sends congestion headers of acp, xcp or rcp over a new link of
                                      this kind and RATE bytes/s, and checks the words against the
                                      law; prints the numbers of all and of changed headers
raw.py word KIND ADDRESS PEER WORD INFO   sends one such header; prints the word that arrived
raw.py words SECONDS                  prints for each protocol how many words arrive here in this
                                      time, and how many of them a router has limited
raw.py strange KIND ADDRESS PEER      sends headers that a router of this kind must not change;
                                      prints their number
raw.py codepoints ADDRESS PEER DSFIELD COUNT BATCH [PROTOCOL]   sends segments, BATCH at once;
                                      prints how many arrived with ECN bits 00, 01, 10 and 11.  With
                                      another PROTOCOL a router cannot see that they are TCP
raw.py others ADDRESS PEER DSFIELD ECHO   sends packets that are not data of this class, including
                                      echoes with dsfield ECHO, which must not change; prints their
                                      number
raw.py blind ADDRESS SPORT DPORT COUNT   sends forged segments for a flow of which only addresses
                                      and ports are known, with a word and an echo of 100 GB/s
"""

import contextlib
import ctypes
import socket
import struct
import sys
import time

PORT = 9
SPORT = 1000
ETHERNET = 14
ETH_P_IP = 0x800
SO_TIMESTAMPNS = 35
IPPROTO_TUNNEL = 4  # IPv4 in IP
SO_SNDBUFFORCE = 32
SO_RCVBUFFORCE = 33
CLONE_NEWNET = 0x40000000
NO_LIMIT = 0x1FFFFFFF
DATA, BOTH = b"\xfd\x0c\xac\x50", b"\xfd\x10\xac\x50"  # the first bytes of headers with a word
PROTOCOLS = {"acp": 1, "xcp": 2, "rcp": 3}


def family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def socket_in(namespace: str, *kind: int) -> socket.socket:
    """Return: a socket of another namespace."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(path: str) -> None:
        with open(path) as file:  # noqa: PTH123
            if libc.setns(file.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), f"setns {path}")

    with open("/proc/self/ns/net") as home:  # noqa: PTH123
        enter(f"/run/netns/{namespace}")
        made = socket.socket(*kind)
        if libc.setns(home.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    made.settimeout(5)
    return made


def burst(address: str, count: int, size: int) -> None:
    with socket.socket(family(address), socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 29)
        for _ in range(count):
            sender.sendto(bytes(size), (address, PORT))


def pace(address: str, peer: str, count: int, size: int) -> None:
    headers = ETHERNET + (48 if ":" in address else 28)
    with socket_in(peer, family(address), socket.SOCK_DGRAM) as receiver:
        receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 29)
        receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        receiver.bind((address, PORT))
        burst(address, count, size)
        stamps = []
        for _ in range(count):
            _, ancillary, *_ = receiver.recvmsg(1 << 16, 64)
            seconds, ns = struct.unpack("qq", ancillary[0][2])
            stamps.append(seconds * 10**9 + ns)
        print((count - 1) * (size + headers) * 8 * 10**9 / (stamps[-1] - stamps[0]))


# TCP segments ------------------------------------------------------------------------------------


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def pseudo(source: str, target: str, length: int) -> bytes:
    ends = b"".join(socket.inet_pton(family(end), end) for end in (source, target))
    return ends + struct.pack("!II", length, socket.IPPROTO_TCP)


def segment(
    source: str, target: str, options: bytes, payload: bytes = bytes(100),
    ports: tuple[int, int] = (SPORT, PORT), seq: int = 1, ack: int = 1,
) -> bytes:  # fmt: skip
    options += b"\1" * (-len(options) % 4)
    offset = (20 + len(options)) // 4 << 4

    def header(check: int) -> bytes:
        numbers = (*ports, seq, ack, offset, 0x10, 1000, check, 0)
        return struct.pack("!HHIIBBHHH", *numbers) + options

    check = checksum(pseudo(source, target, len(header(0)) + len(payload)) + header(0) + payload)
    return header(check) + payload


def option(word: int, pad: int = 0, protocol: int = 1, info: int = 50_000) -> bytes:
    head = struct.pack("!BBHII", 253, 12, 0xAC50, protocol << 28 | info, word)
    return b"\1" * pad + head


def decode(word: int) -> float:
    rate = word & NO_LIMIT
    return float("inf") if rate == NO_LIMIT else (rate & 0xFFFFFF) << (rate >> 24)


def xcp_info(rtt_us: int, gap_ns: int) -> int:
    """Both numbers, each as a mantissa and the smallest exponent that fits."""

    def pack(value: int, bits: int) -> int:
        e = max(value.bit_length() - bits, 0)
        return e << bits | value >> e

    return pack(rtt_us, 10) << 14 | pack(gap_ns, 9)


def signed(word: int) -> int:
    """The value of a word of XCP, which is 30 bits in two's complement."""
    return word - (1 << 30) * (word >> 29)


class Path:
    """Sends segments, and receives them at the other end."""

    def __init__(self, address: str, peer: str, protocol: int = socket.IPPROTO_TCP) -> None:
        self.address = address
        self.source = address[:-1] + "1"
        kind = (family(address), socket.SOCK_RAW, protocol)
        self.sender = socket.socket(*kind)
        self.sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 29)
        self.receiver = socket_in(peer, *kind)
        self.receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 29)

    def carry(self, options: bytes) -> bytes:
        """Sends a segment with these options.  Return: the options that arrive; the checksum of
        the segment must be correct."""
        self.sender.sendto(segment(self.source, self.address, options), (self.address, 0))
        came = b""
        while came[:2] != struct.pack("!H", SPORT):
            came = self.receiver.recv(1 << 16)
            if ":" not in self.address:
                came = came[20:]
        assert not checksum(pseudo(self.source, self.address, len(came)) + came), "checksum"
        return came[20 : 20 + len(options)]


# DSCP and ECN bits -----------------------------------------------------------------------------


def set_dsfield(sender: socket.socket, dsfield: int) -> None:
    if sender.family == socket.AF_INET6:
        sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, dsfield)
    else:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dsfield)


def want_dsfield(receiver: socket.socket) -> None:
    if receiver.family == socket.AF_INET6:
        receiver.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
    else:
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)


def dsfield_of(receiver: socket.socket) -> int:
    """The dsfield of the next packet; on a raw socket, of the next one from SPORT."""
    while True:
        data, ancillary, *_ = receiver.recvmsg(1 << 16, 64)
        if receiver.type == socket.SOCK_RAW:
            if receiver.family == socket.AF_INET:
                data = data[20:]
            if data[:2] != struct.pack("!H", SPORT):
                continue
        return ancillary[0][2][0]


def codepoints(
    address: str, peer: str, dsfield: int, count: int, batch: int,
    protocol: int = socket.IPPROTO_TCP,
) -> None:  # fmt: skip
    path = Path(address, peer, protocol)
    want_dsfield(path.receiver)
    set_dsfield(path.sender, dsfield)
    came = [0, 0, 0, 0]
    for _ in range(count // batch):
        for _ in range(batch):
            with contextlib.suppress(OSError):
                # with IPv6 there is an error if the qdisc drops the packet
                path.sender.sendto(segment(path.source, address, b""), (address, 0))
        if batch > 1:
            path.receiver.settimeout(0.05)
        try:
            for _ in range(batch):
                value = dsfield_of(path.receiver)
                assert value & ~3 == dsfield & ~3, value
                came[value & 3] += 1
        except TimeoutError:
            assert batch > 1, "lost"
    print(*came)


def others(address: str, peer: str, dsfield: int, echo: int) -> None:
    path = Path(address, peer)
    tunnels = [Path(address, peer, protocol) for protocol in (socket.IPPROTO_GRE, IPPROTO_TUNNEL)]
    for each in (path, *tunnels):
        want_dsfield(each.receiver)
    datagram = (family(address), socket.SOCK_DGRAM)
    udp, far = socket.socket(*datagram), socket_in(peer, *datagram)
    far.bind((address, PORT))
    want_dsfield(far)
    count = 0

    def stays(sender: socket.socket, receiver: socket.socket, data: bytes, value: int) -> None:
        nonlocal count
        set_dsfield(sender, value)
        sender.sendto(data, (address, PORT if sender is udp else 0))
        came = dsfield_of(receiver)
        assert came == value, (data, value, came)
        count += 1

    data, ack, large = (segment(path.source, address, b"", bytes(n)) for n in (100, 0, 2000))
    for ecn in range(4):
        # another class, echoes, fragments (which are reassembled at arrival), and tunnels
        for other in (0, 46 << 2, dsfield ^ 4, dsfield ^ 0x80):
            stays(path.sender, path.receiver, data, other | ecn)
        stays(path.sender, path.receiver, ack, echo | ecn)
        stays(path.sender, path.receiver, large, dsfield | ecn)
        stays(udp, far, bytes(100), dsfield | ecn)
        for tunnel in tunnels:
            stays(tunnel.sender, tunnel.receiver, data, dsfield | ecn)
    print(count)


# The congestion header ----------------------------------------------------------------------------


class Link:
    """A new link of this many bytes/s; counts words that are sent, and that it changes."""

    def __init__(self, kind: str, address: str, peer: str, capacity: int) -> None:
        self.path, self.protocol = Path(address, peer), PROTOCOLS[kind]
        self.capacity = capacity
        self.frame = ETHERNET + (40 if ":" in address else 20) + 20 + 12 + 100
        self.sent = self.changed = 0

    def word(self, sent: int, info: int = 50_000, pad: int = 0) -> int:
        options = option(sent, pad, self.protocol, info)
        came = self.path.carry(options)
        assert came[:-4] == options[:-4], (options, came)
        self.sent += 1
        self.changed += came != options
        return int.from_bytes(came[-4:], "big")


def acp(link: Link) -> None:
    # the rate of Eq. 6 after a period of 50 ms with our first frame
    first = 0.1587 * (0.99 * link.capacity - link.frame / 0.05) / 10
    assert decode(link.word(NO_LIMIT)) == 0  # p(0)
    time.sleep(0.055)
    for pad in range(4):
        came = decode(link.word(NO_LIMIT, pad=pad))
        # less if other packets were on the link
        assert first / 2 < came <= first + 1, (pad, came, first)
    assert link.word(5) == 5
    assert decode(link.word(24 << 24 | 0xFFFFFF)) <= first


def xcp(link: Link) -> None:
    def change(sent: int, gap: int, rtt_us: int = 49_984) -> int:
        return signed(link.word(sent, xcp_info(rtt_us, gap << 20)))

    assert change(NO_LIMIT, 8) == 0  # no period has ended yet
    time.sleep(0.055)
    # phi after 50 ms with that frame is more than a tenth of the input, so all of it is positive
    # feedback, for the gap of one packet in that period
    spare = 0.4 * (link.capacity - link.frame / 0.05)
    whole = change(NO_LIMIT, 2) * 4
    # less if other packets were on the link
    assert 0.9 * spare < whole <= spare + 2, (whole, spare)
    # a packet without an rtt gets nothing; one that requests less, or that an earlier link has
    # limited, keeps its word
    assert change(NO_LIMIT, 8, rtt_us=0) == 0
    assert change(-1000 % 2**30, 8, rtt_us=0) == -1000
    assert change(5, 4) == 5
    assert change(-1000 % 2**30, 4) == -1000
    came = change(NO_LIMIT, 4)
    assert abs(came - whole / 2) <= 2, (came, whole)
    # the rest, and then nothing
    came = change(NO_LIMIT, 8)
    assert abs(came - (whole / 4 - 5)) <= 4, (came, whole)
    assert change(NO_LIMIT, 8) == 0


def rcp(link: Link) -> None:
    begun = time.monotonic()
    first = decode(link.word(NO_LIMIT))
    assert 0.04999 * link.capacity < first <= 0.05 * link.capacity, first
    time.sleep(0.205)
    for pad in range(4):
        came = decode(link.word(NO_LIMIT, pad=pad))
        # R grows by alpha * T / d in each period of 10 ms; less because of packets on the link
        most = first * (1 + 0.4 * 10 / 199.9) ** ((time.monotonic() - begun) // 0.01)
        assert 0.97 * most < came <= most, (pad, came, most)
    assert link.word(5) == 5
    assert link.word(1 << 29 | 5) == 1 << 29 | 5
    assert decode(link.word(24 << 24 | 0xFFFFFF)) < 2 * most


def one_word(kind: str, address: str, peer: str, word: int, info: int) -> None:
    print(Link(kind, address, peer, 0).word(word, info))


def words(seconds: int) -> None:
    came = {number: [0, 0] for number in PROTOCOLS.values()}
    end = time.monotonic() + seconds
    # this socket sees packets before anything at this end could change them
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP)) as tap:
        tap.settimeout(0.1)
        while time.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                packet, (_, _, direction, *_) = tap.recvfrom(1 << 16)
                head = packet[40:52]  # the place that our hosts use
                if direction != socket.PACKET_HOST or head[:4] not in (DATA, BOTH):
                    continue
                count = came[head[4] >> 4]
                count[0] += 1
                count[1] += int.from_bytes(head[8:], "big") != NO_LIMIT
    for name, number in PROTOCOLS.items():
        print(name, *came[number])


def header(kind: str, address: str, peer: str, capacity: int) -> None:
    link = Link(kind, address, peer, capacity)
    {"acp": acp, "xcp": xcp, "rcp": rcp}[kind](link)
    print(link.sent, link.changed)


def strange(kind: str, address: str, peer: str) -> None:
    path = Path(address, peer)
    own = PROTOCOLS[kind]
    all_options = (
        b"",
        b"\1\1\1\0",
        b"\xfd\x0b" + DATA[2:] + bytes(7),  # an invalid length
        b"\xfd\x28" + DATA[2:] + bytes(4),  # a length beyond the header
        option(1 << 30 | NO_LIMIT, protocol=own),  # another version
        *(option(NO_LIMIT, protocol=other) for other in range(16) if other != own),
        DATA[:2] + b"\xac\x51" + b"\xff" * 8,  # another experiment
        b"\xfd\x08" + DATA[2:] + b"\x1f\xff\xff\xff",  # an echo
    )
    for options in all_options:
        came = path.carry(options)
        assert came == options, (options, came)
    print(len(all_options))


def blind(address: str, sport: int, dport: int, count: int) -> None:
    """Sends sequence and ACK numbers of the whole range, with and without a timestamp."""
    source = address[:-1] + ("1" if address[-1] == "2" else "2")
    sender = socket.socket(family(address), socket.SOCK_RAW, socket.IPPROTO_TCP)
    sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 29)
    most = 31 << 24 | 0xBA43B7  # 100 GB/s
    head = struct.pack("!BBHIII", 253, 16, 0xAC50, 1 << 28 | 50_000, most, most)
    stamp = struct.pack("!BBBBII", 1, 1, 8, 10, 1, 1)
    for n in range(count):
        seq, ack = (n * 2654435761) % 2**32, (n * 40503 * 65537) % 2**32
        options, payload = (head, head + stamp)[n % 2], bytes(100 * (n // 2 % 2))
        made = segment(source, address, options, payload, (sport, dport), seq, ack)
        sender.sendto(made, (address, 0))
        if n % 50 == 49:
            time.sleep(0.001)


def main() -> None:
    verb, *arguments = sys.argv[1:]
    verbs = {"burst": burst, "pace": pace, "header": header, "word": one_word,
             "words": words, "strange": strange,
             "codepoints": codepoints, "others": others, "blind": blind}  # fmt: skip
    numbers = [int(a) if a.isdigit() else a for a in arguments]
    verbs[verb](*numbers)


if __name__ == "__main__":
    main()
