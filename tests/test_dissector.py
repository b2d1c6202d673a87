# SPDX-License-Identifier: GPL-2.0
"""Wireshark's dissector of the congestion header, by tshark.  For real flows, and for headers that
no host sends, its fields are those that the test's own parser finds."""

import base64
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import REPO

sys.path.append(str(REPO / "tests/selftests"))

from capture import pcap
from raw import NO_LIMIT, checksum, decode, option, segment, signed

DISSECTOR = REPO / "feedback/tcpcc_feedback.lua"
LINKTYPE_RAW = 101
OURS = b"\xfd\x0c\xac\x50"
BAD, CUT, PLACE, SECOND = "bad_length", "cut", "misplaced", "second"


class Tshark:
    """tshark with the dissector, in its own home; not as root: tshark 4.4 loads no Lua as root."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.script = shutil.copy(DISSECTOR, home)
        home.chmod(0o755)

    def __call__(self, capture: bytes, *arguments: str) -> str:
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        done = subprocess.run(
            ["tshark", "-n", "-r", "-", "-X", f"lua_script:{self.script}", *arguments],
            input=capture, capture_output=True, timeout=120, cwd=self.home, **nobody,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "LC_ALL": "C.UTF-8"},
        )
        assert not done.returncode, done.stderr.decode()
        return done.stdout.decode()

    def headers(self, capture: bytes) -> list[list[dict[str, str]]]:
        """For each frame its congestion headers, each with its fields and expert infos."""
        frames = json.loads(self(capture, "-T", "json", "-J", "tcpcc", "--no-duplicate-keys"))
        found = [frame["_source"]["layers"].get("tcpcc", []) for frame in frames]
        return [
            [dict(_leaves(h)) for h in (layer if isinstance(layer, list) else [layer])]
            for layer in found
        ]


def _leaves(tree: Any) -> Iterator[tuple[str, str]]:
    for key, value in tree.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                yield from _leaves(one)
            elif key.startswith("tcpcc."):
                yield key.removeprefix("tcpcc."), one


@pytest.fixture(scope="module")
def tshark() -> Iterator[Tshark]:
    with tempfile.TemporaryDirectory() as home:
        yield Tshark(Path(home))


# The test's own parser ---------------------------------------------------------------------------


def word(value: int, name: str, prefix: str, protocol: int) -> dict[str, str]:
    found = {name: f"0x{value:08x}", f"{prefix}version": str(value >> 30)}
    if value >> 30:
        return found | {"unknown_version": ""}
    if protocol == 2:
        return found | {f"{prefix}delta": str(signed(value))}
    found[f"{prefix}congestion"] = str(value >> 29 & 1)
    if value & NO_LIMIT == NO_LIMIT:
        return found | {f"{prefix}no_limit": "1"}
    return found | {
        f"{prefix}exponent": str(value >> 24 & 31),
        f"{prefix}mantissa": str(value & 0xFFFFFF),
        f"{prefix}rate": str(min(decode(value), 10**11)),
    }


def header(data: bytes, length: int, flow: tuple, protocols: dict[tuple, int]) -> dict[str, str]:
    """The fields of one option, whose bytes may be cut off."""
    found: dict[str, str] = {}
    if length in (12, 16):
        protocol, info, value = data[4] >> 4, int.from_bytes(data[4:8]), int.from_bytes(data[8:12])
        found |= {"protocol": str(protocol)}
        if protocol == 2:
            rtt, gap = (info >> 14 & 1023) << (info >> 24 & 15), (info & 511) << (info >> 9 & 31)
            found |= {"rtt": str(rtt), "gap": str(gap)}
        else:
            found |= {"reserved": f"0x{data[4] & 15:02x}", "rtt": str(info & 0xFFFFFF)}
            found |= {"reserved_bits": ""} if data[4] & 15 else {}
        found |= word(value, "word", "", protocol)
        found |= {} if protocol in (1, 2, 3) else {"unknown_protocol": ""}
        protocols[flow] = protocol
    if length in (8, 16):
        answered = protocols.get(flow[::-1], 0)
        found |= word(int.from_bytes(data[-4:]), "echo", "echo.", answered)
    return found


def headers_of(frame: bytes, whole: int, protocols: dict[tuple, int]) -> list[dict[str, str]]:
    """The congestion headers of an IP packet; whole: its length on the wire, bytes."""
    if frame[0] >> 4 == 4:
        tcp, ends, is_tcp = frame[20:], (frame[12:16], frame[16:20]), frame[9] == 6
    else:
        tcp, ends, is_tcp = frame[40:], (frame[8:24], frame[24:40]), frame[6] == 6
    if not is_tcp or len(tcp) < 20:
        return []
    flow = ((ends[0], tcp[:2]), (ends[1], tcp[2:4]))
    options = tcp[20 : (tcp[12] >> 4) * 4]
    found: list[dict[str, str]] = []
    at = 0
    while at + 1 < len(options) and options[at]:
        length = 1 if options[at] == 1 else options[at + 1]
        data = options[at : at + length]
        if data[:1] + data[2:4] == OURS[:1] + OURS[2:]:
            if len(data) < length and len(frame) < whole:
                fields = {CUT: ""}
            elif len(data) < length or length not in (8, 12, 16):
                fields = {BAD: ""}
            else:
                fields = header(data, length, flow, protocols)
            fields |= {PLACE: ""} if options[0] != 253 else {}
            found.append(fields | ({SECOND: ""} if found else {}))
        if options[at] != 1 and length < 2:
            break
        at += length
    return found


def frames_of(capture: bytes, link_header: int) -> Iterator[tuple[bytes, int]]:
    """IP packets, and their original lengths in bytes."""
    at = 24
    while at < len(capture):
        kept, whole = struct.unpack_from("<II", capture, at + 8)
        yield capture[at + 16 + link_header : at + 16 + kept], whole - link_header
        at += 16 + kept


def expected(capture: bytes, link_header: int = 0) -> list[list[dict[str, str]]]:
    protocols: dict[tuple, int] = {}
    return [headers_of(*frame, protocols) for frame in frames_of(capture, link_header)]


# Real flows --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def captured(lab) -> dict[str, Any]:
    got = lab("exec", "--", REPO / "tests/selftests/capture.py").json
    return got | {end: base64.b64decode(got[end]) for end in ("snd", "rcv")}


@pytest.mark.parametrize("end", ["snd", "rcv"])
def test_real_flows(tshark, captured, end) -> None:
    """Every field of every header, IPv4 and IPv6, beside timestamps and SACK blocks."""
    found = tshark.headers(captured[end])
    assert found == expected(captured[end], link_header=14)
    every = [h for frame in found for h in frame]
    kinds = [("word" in h, "echo" in h) for h in every]
    assert min(kinds.count(k) for k in [(True, False), (False, True), (True, True)]) > 5
    assert all(h.get("protocol", "1") == "1" for h in every)
    assert {BAD, CUT, PLACE, SECOND}.isdisjoint({name for h in every for name in h})
    # display filters match the right frames
    slow = tshark(captured[end], "-Y", "tcpcc.echo.rate < 1000000").count("\n")
    assert slow == sum(int(h.get("echo.rate", 10**11)) < 10**6 for h in every) > 10
    for family in ("ip", "ipv6"):
        assert tshark(captured[end], "-Y", f"{family} and tcpcc.echo").count("\n") > 100
    # data that the sender sends without a limit has one after the router
    data = "tcp.dstport == 5004 and tcp.len and tcpcc."
    limits = [tshark(captured[end], "-Y", data + name).count("\n") for name in ("no_limit", "rate")]
    assert max(limits) > 200 and limits[end == "snd"] == 0


def test_says_what_the_sender_was_told(tshark, captured) -> None:
    """Each update of the sender's law uses the last echo that had arrived."""
    echoes: dict[int, list[tuple[int, bool]]] = {5004: [], 5006: []}
    lines = tshark(captured["snd"], "-Y", "tcpcc.echo and tcp.srcport in {5004, 5006}", "-T",
                   "fields", "-e", "tcp.srcport", "-e", "tcpcc.echo.rate", "-e", "tcpcc.echo")
    for port, rate, echo in (line.split("\t") for line in lines.splitlines()):
        echoes[int(port)].append((int(rate), bool(int(echo, 16) >> 29 & 1)))
    count = dict.fromkeys(echoes, 0)
    for line in captured["told"]:
        told = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", line)}
        port = told["dport"]
        if port in echoes and told["echoes"]:
            count[port] += told["echoes"]
            last = echoes[port][count[port] - 1]
            assert (told["feedback_bps"], bool(told["congested"])) == last, line
    assert min(count.values()) > 100


# Made by hand ------------------------------------------------------------------------------------


def packet(options: bytes, back: bool = False, v6: bool = False) -> bytes:
    ends = ("2001:db8::1", "2001:db8::2") if v6 else ("192.0.2.1", "192.0.2.2")
    tcp = segment(*ends, options)
    tcp = tcp[2:4] + tcp[:2] + tcp[4:] if back else tcp
    one, two = b"\xc0\0\2\1", b"\xc0\0\2\2"
    if v6:
        one, two = (b"\x20\1\x0d\xb8" + bytes(11) + last for last in (b"\1", b"\2"))
    route = two + one if back else one + two
    if v6:
        return struct.pack("!IHBB", 6 << 28, len(tcp), 6, 64) + route + tcp
    ip = struct.pack("!BBHIBBH", 0x45, 0, 20 + len(tcp), 0, 64, 6, 0) + route
    return ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + tcp


def handmade(options: list[bytes], **more: bool) -> bytes:
    return pcap([(n, packet(o, **more)) for n, o in enumerate(options)], LINKTYPE_RAW)


SACK = b"\1\1\x05\x0a" + bytes(8)
ECHO = b"\xfd\x08\xac\x50\x25\0\0\1"
HOSTILE = {
    "too short": (b"\xfd\x04\xac\x50", {BAD}),
    "no length that there is": (b"\xfd\x0b\xac\x50" + bytes(7), {BAD}),
    "longer than any": (b"\xfd\x14\xac\x50" + bytes(16), {BAD}),
    "longer than the header": (b"\xfd\x28\xac\x50" + bytes(4), {BAD}),
    "behind another": (SACK + option(5), {PLACE}),
    "at the end": (SACK + b"\1\1\1\1" + bytes(0) + option(5), {PLACE}),
    "twice": (option(5) + option(6), {SECOND}),
    "version 1": (option(1 << 30 | 5), {"unknown_version"}),
    "version 3, echoed": (b"\xfd\x08\xac\x50\xff\xff\xff\xff", {"unknown_version"}),
    "protocol 0": (option(5, protocol=0), {"unknown_protocol"}),
    "protocol 9": (option(5, protocol=9), {"unknown_protocol"}),
    "reserved bits": (option(5, info=3 << 24), {"reserved_bits"}),
}
NOT_OURS = [
    b"", b"\xfd\x0c\xac\x51" + bytes(8), b"\xfe\x0c\xac\x50" + bytes(8), b"\xfd\2\xac\x50",
    b"\xfd\3\xac\x50", b"\xfd\0\xac\x50", b"\xfd\1\xac\x50", b"\1\1\1\xfd", b"\0\0\0\0" + option(5),
    b"\5\0\0\0" + option(5), b"\xfd\x0c\xf9\x89" + bytes(8),  # Fast Open's experiment
]  # fmt: skip


@pytest.mark.parametrize("v6", [False, True])
def test_hostile_headers(tshark, v6) -> None:
    capture = handmade([options for options, _ in HOSTILE.values()], v6=v6)
    found = tshark.headers(capture)
    assert found == expected(capture)
    for (name, (_, wanted)), frame in zip(HOSTILE.items(), found, strict=True):
        assert wanted <= {key for h in frame for key in h}, name
    text = tshark(capture, "-V")
    assert "Lua Error" not in text
    assert text.count("[Expert Info (Error/Malformed): No congestion header") == 4
    capture = handmade(NOT_OURS, v6=v6)
    assert tshark.headers(capture) == [[]] * len(NOT_OURS) == expected(capture)
    assert "Lua Error" not in tshark(capture, "-V")


def test_what_is_well_formed_draws_no_remark(tshark) -> None:
    words = [0, 5, NO_LIMIT, 0x3FFFFFFF, 24 << 24 | 0xFFFFFF, 31 << 24 | 0xFFFFFF, 0x1FFFFFFE]
    capture = handmade([option(w, protocol=p, info=r) for w in words for p in (1, 3)
                        for r in (0, 50_000, 0xFFFFFF)])  # fmt: skip
    found = tshark.headers(capture)
    assert found == expected(capture)
    assert tshark(capture, "-Y", "tcpcc and _ws.expert.group == Undecoded") == ""
    text = tshark(capture, "-V")
    for words in ("Round-trip time: 50000 us", "Round-trip time: 0 us (none yet)",
                  "Round-trip time: 16777215 us (or more)", "Rate: 5 bytes/s (40bit)",
                  "Rate: 100000000000 bytes/s (800Gbit)", "Protocol: ACP (1)", "Protocol: RCP (3)",
                  "Congestion: above 95 % of some link", "No limit: True"):
        assert words in text, words


def test_snap_length(tshark) -> None:
    """A header behind another option, cut at every byte, causes no error."""
    both = b"\xfd\x10" + option(5)[2:] + ECHO[4:]
    whole = packet(SACK + both)
    capture = pcap([(0, whole)], LINKTYPE_RAW)
    cuts = b"".join(
        capture[24:32] + struct.pack("<II", n, len(whole)) + whole[:n] for n in range(41, 80)
    )
    capture = capture[:24] + cuts
    found = tshark.headers(capture)
    assert found == expected(capture)
    assert sum(CUT in h for frame in found for h in frame) == 12
    assert sum("rate" in h for frame in found for h in frame) == 12
    assert "Lua Error" not in tshark(capture, "-V")


def test_echo_of_a_difference(tshark) -> None:
    """The format of an echo is that of the protocol of the flow that the echo answers."""
    minus = (1 << 30) - 5
    echo = b"\xfd\x08\xac\x50" + minus.to_bytes(4)
    frames = [packet(echo, back=True), packet(option(minus, protocol=2)), packet(echo, back=True)]
    found = tshark.headers(pcap(list(enumerate(frames)), LINKTYPE_RAW))
    assert ["echo.delta" in h for ((h,)) in found] == [False, False, True]
    assert found[1][0]["delta"] == found[2][0]["echo.delta"] == "-5"


def test_numbers_of_xcp(tshark) -> None:
    """Every exponent of both fields, smallest and largest mantissas, and signed words."""
    rtts = [e << 10 | m for e in range(16) for m in (0, 1, 625, 1023)]
    gaps = [e << 9 | m for e in range(32) for m in (0, 1, 403, 511)]
    infos = [r << 14 | gaps[i % len(gaps)] for i, r in enumerate(rtts)]
    infos += [(7 << 10 | 625) << 14 | g for g in gaps]
    words = [0, 1, NO_LIMIT, 0x20000000, 0x3FFFFFFF]
    capture = handmade([option(words[i % 5], protocol=2, info=n) for i, n in enumerate(infos)])
    found = tshark.headers(capture)
    assert found == expected(capture)
    assert {h["delta"] for (h,) in found} == {"0", "1", "536870911", "-536870912", "-1"}
    assert all("reserved" not in h for (h,) in found)
    paper = handmade([option(0x3FFFFB2E, protocol=2, info=(7 << 10 | 625) << 14 | 7 << 9 | 403),
                      option(5, protocol=2, info=0), option(5, protocol=2, info=0xFFFFFFF),
                      option(5, protocol=2, info=1023 << 14 | 3 << 9)])
    text = tshark(paper, "-V")
    for words in ("Round-trip time: 80000 us", "Time between packets: 51584 ns",
                  "Difference: -1234 bytes/s", "Round-trip time: 0 us (none yet)",
                  "Time between packets: 0 ns (none yet)", "Difference: 5 bytes/s",
                  "Round-trip time: 33521664 us (or more)",
                  "Time between packets: 1097364144128 ns (or more)",
                  "Round-trip time: 1023 us\n"):
        assert words in text, words
    assert (text.count("(none yet)"), text.count("(or more)")) == (3, 2)
    columns = tshark(handmade([option(w, protocol=p) for w, p in
                               ((0x3FFFFB2E, 2), (7, 2), (NO_LIMIT, 2), (7, 3), (NO_LIMIT, 3))]))
    said = ["Change=-1234", "Change=+7", "Change=largest", "Rate=56bit", "Rate=none"]
    assert [line.split()[-1] for line in columns.splitlines()] == said
    assert tshark(paper, "-Y", "tcpcc.gap == 51584 && tcpcc.delta < 0").count("\n") == 1


def test_any_bytes(tshark) -> None:
    """A thousand lists of options that begin like ours and continue with random bytes."""
    draw = random.Random(1)

    def piece() -> bytes:
        kind = draw.choice([b"\1", b"\1\1", SACK, ECHO, option(draw.getrandbits(32)), OURS])
        return kind if draw.random() < 0.5 else kind[:1] + draw.randbytes(draw.randrange(12))

    lists = [b"".join(piece() for _ in range(4))[:40] for _ in range(500)]
    lists += [b"\xfd" + bytes([draw.choice([8, 12, 16])]) + OURS[2:] + draw.randbytes(34)
              for _ in range(500)]  # fmt: skip
    capture = handmade(lists)
    wanted = expected(capture)
    assert sum(map(bool, wanted)) > 600
    assert tshark.headers(capture) == wanted
    assert "Lua Error" not in tshark(capture, "-V")


def corpus(target: str, head: int) -> list[bytes]:
    """The files of tests/fuzz, without their first head bytes, which belong to no packet."""
    files = sorted((REPO / "tests/fuzz/corpus" / target).iterdir())
    return [path.read_bytes()[head:] for path in files]


def test_fuzzer_s_headers(tshark) -> None:
    """The fuzzers' TCP headers, each in a packet that is complete except for the options."""
    options = [tcp[20 : (tcp[12] >> 4) * 4] for tcp in corpus("header", 24) if len(tcp) >= 20]
    options = [o + bytes(-len(o) % 4) for o in options]
    for v6 in (False, True):
        capture = handmade(options, v6=v6)
        found = tshark.headers(capture)
        assert found == expected(capture)
        assert sum(map(bool, found)) > 10
        assert "Lua Error" not in tshark(capture, "-V")


def test_fuzzer_s_packets(tshark) -> None:
    """Valid and invalid IP packets.  The fuzz targets test what a router does with them."""
    packets = [packet for packet in corpus("walk", 16) + corpus("tc", 0) if packet]
    capture = pcap(list(enumerate(packets)), LINKTYPE_RAW)
    assert "Lua Error" not in tshark(capture, "-V")
    assert tshark(capture, "-Y", "tcpcc").count("\n") > 10


def test_constants_are_the_header_s() -> None:
    source = (REPO / "include/tcpcc_feedback.h").read_text()
    of_c = dict(re.findall(r"(?:#define\s+|^\t)(TCPCC_FB_\w+)(?:\s+|\s*=\s*)(\w+)", source, re.M))
    of_lua = re.findall(r"^local (TCPCC_FB_\w+) = (\w+)$", DISSECTOR.read_text(), re.M)
    assert len(of_lua) > 10
    for name, number in of_lua:
        while of_c[name] in of_c:
            name = of_c[name]
        assert int(of_c[name].rstrip("UL"), 0) == int(number, 0), name
