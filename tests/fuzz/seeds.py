#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""seeds.py DIRECTORY: inputs for the fuzz targets to begin with, named by what they are.

They are the named files of corpus/; what the fuzzers found beyond them is named by its hash.
"""

import re
import struct
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "selftests"))

from raw import NO_LIMIT, option, segment

STAMP = b"\1\1\x08\x0a\0\0\0\7\0\0\0\x09"
ECHO = b"\xfd\x08\xac\x50\x25\0\0\1"
BOTH = b"\xfd\x10" + option(NO_LIMIT)[2:] + ECHO[4:]
MD5 = b"\1\1\x13\x12" + bytes(16)
SIGNED = b"\x1d\x10\0\0" + bytes(12)


def sack(blocks: int) -> bytes:
    return b"\1\1\x05" + bytes([2 + 8 * blocks]) + bytes(range(8 * blocks))


OPTIONS = {
    "none": b"",
    "word": option(NO_LIMIT),
    "word-slow": option(5),
    "word-largest": option(31 << 24 | 0xFFFFFF),
    "word-congested": option(1 << 29 | 1000),
    "word-version-1": option(1 << 30 | NO_LIMIT),
    "word-xcp": option(5, protocol=2),
    "word-odd": option(NO_LIMIT, pad=1),
    "word-last": option(NO_LIMIT, pad=28),
    "echo": ECHO,
    "both": BOTH,
    "both-and-stamp": BOTH + STAMP,
    "stamp-and-word": STAMP + option(NO_LIMIT),
    "stamp": STAMP,
    "length-11": b"\xfd\x0b\xac\x50" + bytes(7),
    "length-beyond": b"\xfd\x28\xac\x50" + bytes(4),
    "length-0": b"\xfd\0\xac\x50",
    "other-experiment": b"\xfd\x0c\xac\x51" + bytes(8),
    "behind-the-end": b"\0\0\0\0" + option(5),
    "md5": MD5,
    "tcp-ao": SIGNED,
    **{f"sack-{n}": sack(n) for n in (1, 2, 3, 4)},
    "stamp-sack-3": STAMP + sack(3),
    "sack-2-and-stamp": sack(2) + STAMP,
}


def header_input(options: bytes, flags: int) -> bytes:
    """struct input of fuzz_header.c, and a TCP header."""
    head = struct.pack("<BBBBIIIQ", flags, 1, 1, 3, 50_000, NO_LIMIT, 0x25000001, 125_000)
    return head + segment("192.0.2.1", "192.0.2.2", options, b"")


def ipv4(tcp: bytes, options: bytes = b"", more: bytes = b"") -> bytes:
    length = 20 + len(options) + len(tcp)
    return struct.pack("!BBHIBBH8s", 0x45 + len(options) // 4, 0x18, length, 0, 64, 6, 0,
                       b"\xc0\0\2\1\xc0\0\2\2") + options + tcp + more  # fmt: skip


def ipv6(tcp: bytes, *extensions: tuple[int, bytes]) -> bytes:
    """Each extension is its number, and its bytes but for the first."""
    numbers = [number for number, _ in extensions] + [6]
    body = b"".join(bytes([n]) + e for n, (_, e) in zip(numbers[1:], extensions, strict=True))
    address = b"\x20\1\x0d\xb8" + bytes(11)
    return struct.pack("!IHBB", 0x61800000, len(body + tcp), numbers[0], 64) + (
        address + b"\1" + address + b"\2" + body + tcp
    )


HOP = (0, b"\0" + bytes(6))
ROUTING = (43, b"\1" + bytes(14))
ATOMIC = (44, b"\0" + bytes(6))
FRAGMENT = (44, b"\0\0\1" + bytes(4))
AUTH = (51, b"\4" + bytes(22))
DESTINATION = (60, b"\0" + bytes(6))
ALONE, SUMMED, PARTIAL, CLONED, MAC_LEN, MEND = 0, 2, 3, 4, 16, 32


def walk_input(
    packet: bytes, protocol: int, flags: int = MEND, parts: tuple[int, int] = (255, 0),
    link: bytes = b"", memory: int = 9, network: int | None = None, room: int = 2,
) -> bytes:  # fmt: skip
    """struct input of fuzz_walk.c, and a packet."""
    at = len(link) if network is None else network
    return struct.pack("<8BQ", protocol, at, *parts, flags, memory, 3, room, 1000) + link + packet


ENDS = [("192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8::2")]


def walk_inputs() -> dict[str, bytes]:
    tcp = segment("192.0.2.1", "192.0.2.2", option(NO_LIMIT), b"data")
    tcp6 = segment("2001:db8::1", "2001:db8::2", option(NO_LIMIT), b"data")
    link = bytes(12) + b"\x08\0"
    tag, tag_v6 = b"\0\1\x08\0", b"\0\1\x86\xdd"
    made = {
        f"v4-{name}": walk_input(ipv4(segment("192.0.2.1", "192.0.2.2", o, b"data")), 0)
        for name, o in OPTIONS.items() if not re.search("sack|md5|tcp-ao", name)
    }
    made |= {
        f"v6-{name}": walk_input(ipv6(segment("2001:db8::1", "2001:db8::2", OPTIONS[name])), 1)
        for name in ("none", "word", "word-odd", "echo", "both")
    }
    extensions = {
        "hop": [HOP], "routing": [ROUTING], "atomic": [ATOMIC], "fragment": [FRAGMENT],
        "fragment-twice": [FRAGMENT, ATOMIC], "auth": [AUTH], "destination": [DESTINATION],
        "four": [HOP, DESTINATION, ROUTING, AUTH],
        "nine": [DESTINATION] * 9, "no-next": [(59, b"\0" + bytes(6))],
    }  # fmt: skip
    made |= {f"v6-{name}": walk_input(ipv6(tcp6, *e), 1) for name, e in extensions.items()}
    for name in ("none", "both", "word-version-1", "word-slow", "word-xcp", "word"):
        long, long6 = (segment(*ends, OPTIONS[name], bytes(40)) for ends in ENDS)
        made[f"v4-long-{name}"] = walk_input(ipv4(long), 0)
        made[f"v6-long-{name}"] = walk_input(ipv6(long6), 1, link=link)
    made |= {
        "v4-long-udp": walk_input(ipv4(long).replace(b"\x40\6", b"\x40\x11", 1), 0, flags=0),
        "v4-long-less": walk_input(ipv4(long)[:-4], 0, flags=0),
        "v6-long-less": walk_input(ipv6(long6)[:-4], 1, flags=0),
        "v4-long-in-parts": walk_input(ipv4(long), 0, parts=(47, 33)),
        "v6-long-in-parts": walk_input(ipv6(long6), 1, parts=(67, 33)),
        "v4-ip-options": walk_input(ipv4(tcp, b"\x94\4\0\0"), 0),
        "v4-padding": walk_input(ipv4(tcp, more=bytes(6)), 0, flags=0),
        "v4-link-header-cut": walk_input(ipv4(tcp)[:-4], 0, flags=0, link=link),
        "v6-link-header-cut": walk_input(ipv6(tcp6)[:-4], 1, flags=0, link=link),
        "v4-link-header": walk_input(ipv4(tcp), 0, link=link),
        "v4-vlan": walk_input(ipv4(tcp), 2, link=link + tag),
        "v4-vlan-mac-len": walk_input(ipv4(tcp), 2, flags=MEND | MAC_LEN, link=link + tag),
        "v6-vlan-twice": walk_input(ipv6(tcp6), 3, link=link + b"\0\2\x81\0" + tag_v6),
        "v6-vlan": walk_input(ipv6(tcp6), 2, link=link + tag_v6),
        "v4-vlan-cut": walk_input(b"", 2, link=link),
        "v4-complete": walk_input(ipv4(tcp), 0, flags=MEND | SUMMED),
        "v6-complete": walk_input(ipv6(tcp6), 1, flags=MEND | SUMMED),
        "v4-partial": walk_input(ipv4(tcp), 0, flags=MEND | PARTIAL),
        "v4-cloned": walk_input(ipv4(tcp), 0, flags=MEND | CLONED),
        "v4-cloned-no-memory": walk_input(ipv4(tcp), 0, flags=MEND | CLONED, memory=0),
        "v4-in-parts": walk_input(ipv4(tcp), 0, parts=(20, 33)),
        "v4-in-parts-no-memory": walk_input(ipv4(tcp), 0, parts=(20, 33), memory=0),
        "v6-in-parts": walk_input(ipv6(tcp6, HOP, AUTH), 1, parts=(43, 7), flags=MEND | CLONED),
        "v6-not-linear": walk_input(ipv6(tcp6), 1, parts=(0, 0)),
        "v4-before-the-packet": walk_input(ipv4(tcp), 0, network=80, room=20),
        "arp": walk_input(ipv4(tcp), 4),
    }
    return made


# Attributes and statistics of the kinds, and words
NUMBERS = [2, 3, *range(8, 15)]


def attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("<HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


KINDS = ("acp", "estcp", "xcp", "rcp")


def tc_inputs() -> dict[str, bytes]:
    def first(mode: int, kind: int) -> bytes:
        return bytes([kind & 1 | mode << 1 | (kind & 2) << 2])

    def words(kind: int, line: str) -> bytes:
        return first(2, kind) + "\n".join(line.split(" ")).encode()

    whole = b"".join(attribute(n, bytes([n]) * (8 if n == 2 else 4)) for n in NUMBERS)
    short = b"".join(attribute(n, bytes(n % 4)) for n in NUMBERS)
    made = {
        "acp-words": words(0, "bandwidth 155mbit limit 1000 ki 0.1587 kq 0.3175 gamma 0.1 "
                              "target 0.99 congestion 0.95 flows 10 interval 50ms"),
        "estcp-words": words(1, "bandwidth 50% limit 0x10 target 5s gamma 1e-3 kappa .5 g 2ms "
                                "holdoff 0 patience 5 dscp 63"),
        "xcp-words": words(2, "bandwidth 1gbit limit 9 alpha 0.4 beta 0.226 gamma 0.1"),
        "rcp-words": words(3, "bandwidth 1gbit alpha 0.1 beta 1 gamma 1 interval 0 floor 1 "
                              "start 1"),
        "words-no-value": words(0, "bandwidth 1kbit interval"),
        "words-help": words(1, "help"),
        "words-unknown": words(0, "speed 1"),
        "words-not-numbers": words(0, "ki nan"),
        "words-too-large": words(1, "gamma 1e300"),
        "words-negative": words(1, "target -1us"),
        "words-too-many": words(0, " ".join(["limit 1"] * 28)),
    }
    for kind, name in enumerate(KINDS):
        options, statistics = first(0, kind), first(1, kind)
        made |= {
            f"{name}-options": options + whole,
            f"{name}-options-short": options + short,
            f"{name}-options-cut": options + whole[:-3],
            f"{name}-options-beyond": options + attribute(40, b"") + attribute(0x8009, b"1"),
            f"{name}-statistics": statistics + b"\1\0\0\0" * 26,
            f"{name}-statistics-least": statistics + (bytes(7) + b"\x80") * 13,
            f"{name}-statistics-long": statistics + b"\xff" * 200,
            f"{name}-statistics-short": statistics + b"\xff" * 10,
        }
    return made


def main(directory: Path) -> None:
    inputs = {
        "header": {name: header_input(options, 3) for name, options in OPTIONS.items()},
        "walk": walk_inputs(),
        "tc": tc_inputs(),
    }
    for target, seeds in inputs.items():
        (directory / target).mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            (directory / target / name).write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
