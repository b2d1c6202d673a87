# SPDX-License-Identifier: GPL-2.0
"""The agent's plan: the flows, their times, and the intervals of samples."""

import hashlib
from dataclasses import dataclass
from math import ceil, inf
from random import Random

from ..model.settings import SHAPING, Settings
from .topology import BLACKOUT, LAST_HOP, POLICER, Row, ways_back

START_NS = 5_000_000_000  # start of traffic on CLOCK_MONOTONIC: fixed, and after the setup
SAMPLE_S = 0.005
ROWS = 5_000  # of a series, more than a plot can show; after them the interval doubles
FIXED_ROWS = 200_000  # the same for sample_fixed and sample_links
FEW = 1_000  # after so many the interval doubles if it is then <= a quarter of a round trip
FLOW_ROWS = 40_000  # of all flows together, because each row costs time

FIRST_PORT = 20000  # of flow 0, at its sender


def traffic(s: Settings, row: Row, cc: str, seed: int) -> str:
    sample, link_sample = intervals(s)
    receivers = list(row.receivers.values())
    lines = [
        f"run start={START_NS} end={_ns(s.end)} sample={_ns(sample)}"
        f" link_sample={_ns(link_sample)} rows={_rows(s)} few={FEW} wide={_ns(_wide(s))}"
        f"{' eager=1' if 'default' in s.host else ''}",
        *(f"link name={name} ns={b} dev={device} sampled=1{' law=1' * (s.qdisc in SHAPING)}"
          for name, b, device in zip(row.link_names(), row.b, row.exits, strict=True)),
    ]  # fmt: skip
    for k, (d, b) in enumerate(zip(row.d, row.b, strict=True)):
        lines.append(f"link name=forward{d[1:]} ns={d} dev={d}-{b} sampled=0")
        lines += [f"link name=back{device.partition('-s')[2]} ns={d} dev={device} sampled=0"
                  for device, *_ in ways_back(row, k)]  # fmt: skip
    lines += [
        *(f"ingress name={POLICER} ns=b dev={door} sampled=0"
          for door in ["b-d"] * bool(s.police) + ["b-x"] * bool(s.police and s.cross)),
        *[f"link name={LAST_HOP} ns=a dev=a-r sampled=0"] * bool(s.last_hop or s.burstloss),
        *(f"ingress name={BLACKOUT} ns=a dev={door} sampled=0"
          for door in ("a-b", "a-r") if s.blackout),
        *(f"seed ns={d} dev={d}-{b} seed={_netem_seed(seed, f'{d}-{b}')}"
          for d, b in zip(row.d, row.b, strict=True)),
        *[f"seed ns=a dev=a-r seed={_netem_seed(seed, 'a-r')}"]
        * bool(s.reorder or s.last_hop or s.burstloss),
        *(f"count ns={n}" for n in [*row.senders, *receivers]),
    ]  # fmt: skip
    dice = Random(f"{seed} scatter")
    flows = [
        _Flow(row, user.group, user.start + dice.uniform(0, s.scatter or 0), cc, s.bytes or 0,
              user.stop)
        for user, cc in zip(row.net.users, s.ccs(cc), strict=True)
    ]  # fmt: skip
    count = len(flows)
    if s.short:
        flows += [_Flow(row, 0, start, s.short.cc or cc, size)
                  for start, size in _arrivals(s, seed)]  # fmt: skip
    lines += [f.line(i, s.ip, "flow" if i < count else "short") for i, f in enumerate(flows)]
    if s.reverse:
        name, count = s.reverse
        lines += [
            f"reverse id={len(flows) + i} ns=r peer=s0 src={row.address('r', s.ip)}"
            f" sport={30000 + i} dst={row.address('s0', s.ip)} dport=5001 cc={name} start=0 bytes=0"
            for i in range(count)
        ]
    if s.app:
        sizes = ",".join(map(str, s.app.sizes))
        lines.append(f"app size={sizes} interval={_ns(s.app.interval)}")
    lines += [f"switch at={_ns(switch.at)} cc={switch.cc}" for switch in s.switch]
    headers = 28 if s.ip == 4 else 48
    for i, cross in enumerate(s.cross):
        lines.append(
            f"udp ns=x peer=r src={row.address('x', s.ip)} sport={6000 + i}"
            f" dst={row.address('r', s.ip)} dport={6000 + i} size={s.mtu - headers}"
            f" frame={s.frame} rate={cross.rate} from={_ns(cross.start)} to={_ns(cross.end)}"
        )
    return "\n".join(lines) + "\n"


THINKS = 500  # number of random pauses of a client, which then repeat


def talk(s: Settings, row: Row, cc: str, seed: int) -> str:
    """The plan of calls and of clients that send requests; see guest/talk.c."""
    lines: list[str] = []
    if not (s.voice or s.ask):
        return ""
    ends = row.address("s0", s.ip), row.address("r", s.ip)
    for i in range(s.voice.calls if s.voice else 0):
        start = START_NS + _ns(Random(f"{seed} voice {i}").uniform(0, s.voice.interval))
        lines.append(f"voice {i} s0 {ends[0]} r {ends[1]} {8000 + i} {s.voice.bytes}"
                     f" {_ns(s.voice.interval)} {start}")  # fmt: skip
    for i in range(s.ask.clients if s.ask else 0):
        dice = Random(f"{seed} ask {i}")
        thinks = (_ns(s.ask.think * dice.expovariate(1)) for _ in range(THINKS))
        lines.append(f"ask {i} r s0 {ends[0]} {7000 + i} {s.every_cc(cc)[0]} {s.ask.request}"
                     f" {s.ask.response} {START_NS} {' '.join(map(str, thinks))}")  # fmt: skip
    return "".join(f"{line}\n" for line in lines)


def video(s: Settings, row: Row, cc: str, seed: int) -> str:
    """The plan of video viewers; each starts at random within a chunk's time; see guest/video.c."""
    v, lines = s.video, []
    for i in range(v.viewers if v else 0):
        start = START_NS + _ns(Random(f"{seed} video {i}").uniform(0, v.chunk))
        lines.append(f"video {i} r s0 {row.address('s0', s.ip)} {9000 + i} {s.every_cc(cc)[0]}"
                     f" {v.choice} {_ns(v.chunk)} {_ns(v.most)} {start}"
                     f" {' '.join(map(str, v.rates))}\n")  # fmt: skip
    return "".join(lines)


@dataclass(frozen=True)
class _Flow:
    row: Row
    group: int
    start: float
    cc: str
    bytes: int  # 0: no limit
    stop: float = inf

    def line(self, number: int, ip: int, kind: str) -> str:
        sender = self.row.senders[self.group]
        receiver = self.row.receiver(self.group)
        stop = "" if self.stop == inf else f" stop={_ns(self.stop)}"
        return (
            f"{kind} id={number} ns={sender} peer={receiver} src={self.row.address(sender, ip)}"
            f" sport={FIRST_PORT + number} dst={self.row.address(receiver, ip)} dport=5001"
            f" cc={self.cc} start={_ns(self.start)} bytes={self.bytes}{stop}"
        )


def _arrivals(s: Settings, seed: int) -> list[tuple[float, int]]:
    """The start, s, and the size, bytes, of each short flow."""
    dice = Random(f"{seed} short")
    payload = s.mtu - (52 if s.ip == 4 else 72)
    found, now = [], dice.expovariate(s.short.rate)
    while now < s.end:
        if s.sizes:
            found.append((now, dice.choice(s.sizes.bytes)))
        else:
            least = s.short.mean * (s.short.shape - 1) / s.short.shape
            packets = max(1, round(least * dice.paretovariate(s.short.shape)))
            found.append((now, min(packets, 10**9) * payload))
        now += dice.expovariate(s.short.rate)
    return found


def intervals(s: Settings) -> tuple[float, float]:
    """The intervals between samples of flows and of links, s; limits the cost of sampling.

    That of flows is a multiple of that of links.
    """
    if (both := s.sample_fixed or s.sample) is not None:
        return both, both
    if s.bytes is not None or s.flows == 1:
        share = s.flows / 4
    else:
        share = max(s.flows / 4, s.flows * s.duration / FLOW_ROWS / SAMPLE_S)
    flow, link = SAMPLE_S * max(1, ceil(share)), s.sample_links or SAMPLE_S
    return link * ceil(round(flow / link, 6)), link


def _rows(s: Settings) -> int:
    """The number of rows of a series after which the interval doubles."""
    fixed = s.sample_fixed or s.sample_links
    return max(ROWS, min(FIXED_ROWS, ceil(s.end / fixed))) if fixed else ROWS


def _wide(s: Settings) -> float:
    """A quarter of the shortest round trip, s.

    0 if the settings have a sampling interval; also for SHAPING qdiscs, because only the samples
    show the law of the queue; and for networks.
    """
    asked = s.sample is not None or s.sample_fixed or s.sample_links
    if asked or s.qdisc in SHAPING or s.network:
        return 0
    later = [change.rtt for change in s.change if change.rtt]
    return min((*s.rtt, *later, *(rtt for _, rtt, _ in s.steps))) / 4


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def _netem_seed(seed: int, device: str) -> int:
    """The seed of a device's netem, independent of other random numbers; fits a signed 64 bit."""
    return int.from_bytes(hashlib.sha256(f"{seed} {device}".encode()).digest()[:7])
