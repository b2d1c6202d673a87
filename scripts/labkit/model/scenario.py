# SPDX-License-Identifier: GPL-2.0
"""What a run is: the keys of a scenario, their meaning, their limits.

A scenario is a TOML file in scripts/scenarios: a title, what it reproduces, its settings, what is
compared in it, what its paper measured, and what follows.  Every setting may be overridden on the
command line with --set.
"""

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..errors import LabError
from ..paths import REPO
from . import network
from .network import Network

SCENARIOS = REPO / "scripts" / "scenarios"

MOST_SHORT = 20_000  # flows of a run, for which there are ports

MOST_SIZES = 8  # of what a program writes in turn
REORDER_TABLE = 10_000  # entries that netem draws a packet's delay from; it takes 16384 at most

# What hosts do that a laboratory's do not; topology.py says how.
HOSTS = ("nic", "fq", "default", "vm", "slow")

ETHERNET_HEADER = 14  # bytes; the frame check sequence is not counted, as nowhere in Linux

_DECIMAL = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_SECONDS = {"": 1, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def _usage(message: str) -> LabError:
    return LabError(message, status=2)


# Values -----------------------------------------------------------------------------------------


def _number(text: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise ValueError(f"a number from {low:g} to {high:g}")
    return value


def _count(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"\d{1,12}", text) or not low <= int(text) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return parse


def _rate(text: str) -> int:
    """Bits per second, as tc writes them."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)(?:bit|bps)?", text.lower())
    value = round(float(found[1]) * _DECIMAL[found[2]]) if found else 0
    if text.lower().endswith("bps") or not 1000 <= value <= 400_000_000_000:
        raise ValueError("a rate from 1kbit to 400gbit, such as 100mbit")
    return value


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)b?", text.lower())
    value = round(float(found[1]) * _DECIMAL[found[2]]) if found else 0
    if not 1 <= value <= 10**13:
        raise ValueError("a number of bytes from 1 to 10T, such as 100M")
    return value


def _time(low: float, high: float) -> Callable[[str], float]:
    """Seconds, as tc writes times; a bare number is seconds."""

    def parse(text: str) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?(?:e-?\d+)?)(s|ms|us|ns|)", text.lower())
        # To the nanosecond, which is what the kernel keeps.
        value = round(float(found[1]) * _SECONDS[found[2]], 9) if found else math.nan
        if not low <= value <= high:
            raise ValueError(f"a time from {_show_time(low)} to {_show_time(high)}, such as 40ms")
        return value

    return parse


def _show_time(seconds: float) -> str:
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size or not seconds:
            return f"{seconds / size:g}{unit}"
    return f"{seconds * 1e9:g}ns"


@dataclass(frozen=True)
class Spread:
    """Times that are evenly spread, one for each flow."""

    low: float
    high: float

    def over(self, count: int) -> tuple[float, ...]:
        step = (self.high - self.low) / max(1, count - 1)
        return tuple(round(self.low + step * i, 9) for i in range(count))


def _times(text: str) -> tuple[float, ...] | Spread:
    low, dash, high = text.partition("-")
    if dash and not low.endswith("e"):
        return Spread(_time(1e-6, 10)(low), _time(1e-6, 10)(high))
    return tuple(_time(1e-6, 10)(part) for part in text.split(","))


def _buffer(text: str) -> str:
    """Packets, or a multiple of the bandwidth-delay product; see Settings.buffer_packets."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(bdp|)", text.lower())
    if not found or (not found[2] and not re.fullmatch(r"[1-9]\d{0,8}", text)):
        raise ValueError("a number of packets such as 700, or of bandwidth-delay products: 0.5bdp")
    return text.lower()


def _ssthresh(text: str) -> str:
    try:
        return _buffer(text) if text.endswith("bdp") else str(_count(2, 10**9)(text))
    except ValueError:
        raise ValueError("packets, from 2 to 1000000000, or 1bdp") from None


def _loss(text: str) -> float:
    scale, digits = (100, text[:-1]) if text.endswith("%") else (1, text)
    return _number(digits, 0, 0.5 * scale) / scale


def _choice(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(" or ".join(allowed))
        return text

    return parse


def _on_off(text: str) -> bool:
    return _choice("on", "off")(text) == "on"


def _name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9_-]{1,15}", text):
        raise ValueError("a congestion control's name")
    return text


def _mix(text: str) -> tuple[tuple[str, int], ...]:
    parts = []
    for part in text.split(","):
        name, _, count = part.partition(":")
        try:
            parts.append((_name(name), _count(1, 10000)(count or "1")))
        except ValueError:
            raise ValueError("names and counts, such as ccpd:2,cubic:2") from None
    return tuple(parts)


@dataclass(frozen=True)
class Cross:
    """Traffic at a constant bit rate that shares the bottleneck."""

    rate: int  # bit/s, on the link
    start: float  # s
    end: float  # s


def _cross(text: str) -> tuple[Cross, ...]:
    parts = []
    for part in text.split(","):
        found = re.fullmatch(r"udp:([^:]+):([\d.]+)-([\d.]+)", part)
        try:
            cross = found and Cross(
                _rate(found[1]), _time(0, 1e6)(found[2]), _time(0, 1e6)(found[3])
            )
        except ValueError:
            cross = None
        if not cross or cross.end <= cross.start:
            raise ValueError("udp:RATE:FROM-TO in seconds, such as udp:50mbit:0-50")
        parts.append(cross)
    return tuple(parts)


@dataclass(frozen=True)
class Change:
    """What becomes of the path in the course of a run."""

    at: float  # s
    rate: int | None = None  # bit/s
    rtt: float | None = None  # s
    loss: float | None = None


def _changes(text: str) -> tuple[Change, ...]:
    parts = []
    for part in text.split(","):
        found = re.fullmatch(r"([\d.]+):(rate|rtt|loss)=(.+)", part)
        parse = {"rate": _rate, "rtt": _time(1e-6, 100), "loss": _loss}
        try:
            change = found and Change(
                _time(0, 1e6)(found[1]), **{found[2]: parse[found[2]](found[3])}
            )
        except ValueError:
            change = None
        if not change:
            raise ValueError("SECONDS:rate=RATE, :rtt=TIME or :loss=SHARE, such as 10:rtt=80ms")
        parts.append(change)
    return tuple(sorted(parts, key=lambda c: c.at))


@dataclass(frozen=True)
class Police:
    """A token bucket that drops what finds it empty."""

    rate: int  # bit/s, on the link
    burst: int  # bytes that a full bucket lets pass


def _police(text: str) -> Police:
    rate, colon, burst = text.partition(":")
    try:
        bits = _rate(rate)
        return Police(bits, _bytes(burst) if colon else round(bits / 8 * 0.05))
    except ValueError:
        raise ValueError("RATE or RATE:BYTES of burst, such as 50mbit:250k") from None


@dataclass(frozen=True)
class App:
    """What each flow's program writes, and how often."""

    bytes: int
    interval: float  # s
    more: tuple[int, ...] = ()  # bytes of the writes that follow in turn

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.bytes, *self.more)


def _app(text: str) -> App:
    sizes, _, interval = text.partition("/")
    try:
        first, *more = (_bytes(size) for size in sizes.split("+"))
        if len(more) >= MOST_SIZES:
            raise ValueError
        return App(first, _time(1e-4, 1e6)(interval), tuple(more))
    except ValueError:
        raise ValueError(
            "BYTES/INTERVAL of at least 100us, such as 250k/100ms, or several sizes in turn,"
            f" {MOST_SIZES} at most: 12k+290k/5s"
        ) from None


@dataclass(frozen=True)
class Reorder:
    """Packets that come late, so that others overtake them."""

    share: float  # of the data packets
    packets: int = 0  # that overtake each at the bottleneck's rate; or
    time: float = 0.0  # s, that each is late


def _reorder(text: str) -> Reorder:
    share, colon, late = text.partition(":")
    try:
        # One entry of netem's table is the least, half of them the most.
        kept = _loss(share)
        if not colon or kept < 1 / REORDER_TABLE:
            raise ValueError
        if late.isdigit():
            return Reorder(kept, packets=_count(1, 100_000)(late))
        return Reorder(kept, time=_time(1e-6, 2)(late))
    except ValueError:
        raise ValueError(
            "SHARE:PACKETS or SHARE:TIME with a share from 0.0001 to 0.5, such as 0.01:20 or"
            " 1%:5ms"
        ) from None


@dataclass(frozen=True)
class Blackout:
    """A time in which the path passes nothing."""

    at: float  # s
    length: float  # s


def _blackouts(text: str) -> tuple[Blackout, ...]:
    parts = []
    for part in text.split(","):
        at, _, length = part.partition(":")
        try:
            parts.append(Blackout(_seconds(at), _time(1e-3, 1e6)(length)))
        except ValueError:
            parts.append(None)
    if None in parts:
        raise ValueError("SECONDS:LENGTH of at least 1ms, such as 5:1.5, or several: 5:0.3,9:1.5")
    parts.sort(key=lambda b: b.at)
    if any(a.at + a.length > b.at for a, b in pairwise(parts)):
        raise ValueError("blackouts that do not overlap, such as 5:1.5,9:0.3")
    return tuple(parts)


@dataclass(frozen=True)
class Switch:
    """Another congestion control for the flows that are under way."""

    at: float  # s
    cc: str


def _switches(text: str) -> tuple[Switch, ...]:
    parts = []
    for part in text.split(","):
        at, _, name = part.partition(":")
        try:
            parts.append(Switch(_seconds(at), _name(name)))
        except ValueError:
            raise ValueError("SECONDS:NAME, such as 5:cubic,8:ccpd_path") from None
    return tuple(sorted(parts, key=lambda s: s.at))


@dataclass(frozen=True)
class Lie:
    """What a flow's receiver says that ACP's routers want, whatever they do."""

    flow: int
    rate: int  # bit/s, on the link

    @property
    def word(self) -> int:
        """As it is in an echo: bytes/s, with a mantissa of 24 bits."""
        rate = self.rate // 8
        exponent = max(rate.bit_length(), 24) - 24
        return exponent << 24 | rate >> exponent


def _lies(text: str) -> tuple[Lie, ...]:
    parts = []
    for part in text.split(","):
        flow, _, rate = part.partition(":")
        try:
            parts.append(Lie(_count(0, 9999)(flow), _rate(rate)))
        except ValueError:
            raise ValueError("FLOW:RATE with flows from 0, such as 0:400gbit,3:18mbit") from None
    return tuple(parts)


def _host(text: str) -> tuple[str, ...]:
    """What a host does beside TCP; nothing of it is "exact"."""
    parts = text.split(",")
    known = parts == ["exact"] or not {*parts} - {*HOSTS}
    if not known or len({*parts}) < len(parts):
        raise ValueError(f"exact, or one or more of {', '.join(HOSTS)}: nic,fq")
    return tuple(part for part in HOSTS if part in parts)


@dataclass(frozen=True)
class Short:
    """Short flows: Poisson arrivals, sizes of a Pareto distribution."""

    rate: float  # arrivals/s
    mean: float  # packets
    shape: float


def _short(text: str) -> Short:
    try:
        rate, mean, shape = text.split(":")
        return Short(_number(rate, 1e-3, 1e4), _number(mean, 1, 1e6), _number(shape, 1.01, 100))
    except ValueError:
        raise ValueError(
            "ARRIVALS:PACKETS:SHAPE, a second, the mean and Pareto's exponent: 100:30:1.35"
        ) from None


def _stages(text: str) -> tuple[float, ...]:
    bounds = tuple(_time(0, 1e6)(part) for part in text.split(","))
    if list(bounds) != sorted({*bounds, 0.0})[-len(bounds):] or not bounds[0]:
        raise ValueError("rising times between stages, such as 20,40")
    return bounds


def _reverse(text: str) -> tuple[str, int]:
    try:
        ((name, count),) = _mix(text)
    except ValueError:
        raise ValueError("a congestion control and a count, such as cubic:2") from None
    return name, count


def _router(text: str) -> str:
    """Goes to tc as it is, which says what is wrong with it."""
    if not re.fullmatch(r"[\w.% ]{1,200}", text):
        raise ValueError("options as tc has them after the limit, such as 'target 5s'")
    return text


def _params(text: str) -> tuple[tuple[str, str, str], ...]:
    parts = []
    for part in text.split(","):
        found = re.fullmatch(r"(\w+)\.(\w+)=([\w.+-]+)", part)
        if not found:
            raise ValueError("MODULE.PARAMETER=VALUE, such as tcp_ccpd.kp=4")
        parts.append((found[1], found[2], found[3]))
    return tuple(parts)


def _network(text: str) -> str:
    network.check(text)
    return text


_NETWORKS = ", ".join(network.names())

# qdisc kinds for the bottleneck.  These are a queue as long as the buffer, below our shaper;
# SHAPING ones limit the rate themselves.
QUEUES = ("fifo", "fq_codel", "codel", "pie", "fq_pie", "red", "warn", "cake", "sfq", "fq")
SHAPING = ("acp", "estcp", "rcp", "xcp")

# Of the buffer, where red marks or drops no more than with its full probability; tc's default.
RED_MAX = 4
# Of the buffer, where warn begins: TCP New Jersey's threshold is not known.
WARN = 3
# tc finds no time constant for averages over less than a few packets.
RED_BUFFER = 24


@dataclass(frozen=True)
class Key:
    """One setting: how its text is read, and what it says of itself."""

    parse: Callable[[str], Any]
    default: str | None
    help: str


KEYS: dict[str, Key] = {
    "rate": Key(_rate, "100mbit", "of the bottleneck; Ethernet headers (14 bytes) count"),
    "rtt": Key(_times, "40ms", "without queueing; for each flow: 20ms,80ms or spread: 40ms-200ms"),
    "buffer": Key(_buffer, "1bdp", "of the bottleneck: packets, or 0.5bdp (shortest rtt)"),
    "loss": Key(_loss, "0", "random, of data packets only, before the bottleneck: 1e-4"),
    "last_hop": Key(_loss, "0", "random, of data packets only, behind the bottleneck, as a wireless"
                    " last hop loses them: 1e-4"),
    # gact counts packets to 10 000, and two make the connection.
    "drop": Key(_count(1, 9998), None, "one data packet of a single flow, by its number: 330"),
    "jitter": Key(_time(1e-6, 1), None, "random delay of data, 0 to this; in order: 5ms"),
    "qdisc": Key(_choice(*QUEUES, *SHAPING), "fifo", "of the bottleneck:"
                 f" {', '.join((*QUEUES, *SHAPING))}. As tc has them by default, but for what"
                 " buffer and ecn say. red: max is a quarter of the buffer, min a third of that;"
                 " warn: red that marks each packet behind a third of the buffer, and drops none;"
                 " cake: without its own shaper, the buffer as memory for full packets"),
    "router": Key(_router, None, "options of such a qdisc as shapes, see its man page: target 5s"),
    "flows": Key(_count(1, 5000), "1", "how many"),
    "mix": Key(_mix, None, "flows by congestion control, in place of flows: ccpd:2,cubic:2"),
    "start": Key(_time(0, 1e6), "0", "seconds from one flow's start to the next's"),
    "scatter": Key(_time(1e-9, 1e6), None, "each flow starts later by a random part of this,"
                   " another one with each seed: 10ms"),
    "bytes": Key(_bytes, None, "per flow; the run ends when all have arrived: 100M"),
    "duration": Key(_time(0.01, 1e6), None, "seconds of the run, when not bytes (default 10)"),
    "network": Key(_network, None, f"in place of rate, rtt, flows, start: {_NETWORKS}"),
    "scale": Key(lambda t: _number(t, 1e-6, 1e3), None, "of a network's rates: 0.1"),
    "short": Key(_short, None, "more flows: arrivals a second, mean packets, shape: 100:30:1.35"),
    "stages": Key(_stages, None, "seconds at which others begin, each measured for itself: 20,40"),
    "access": Key(_rate, None, "of each sending host's link, shared by flows of one rtt: 1gbit"),
    "mtu": Key(_count(576, 9000), "1500", "bytes, of every link"),
    "app": Key(_app, None, "each flow has so much to send so often, not always: 250k/100ms; several"
               " sizes take turns: 12k+290k/5s; results have the time of each, from its write to"
               " its last byte's arrival"),
    "ssthresh": Key(_ssthresh, None, "initial: packets, or 1bdp; bbr takes no notice: 100"),
    "reverse": Key(_reverse, None, "bulk flows back, through a bottleneck like the other: cubic:2"),
    "police": Key(_police, None, "drops what is beyond rate and burst: 50mbit:250k (burst 50 ms)"),
    "batch": Key(_time(1e-6, 1), None, "acknowledgments come in batches so far apart: 1ms"),
    "aggregate": Key(_time(1e-6, 1), None, "data come in batches so far apart, as over Wi-Fi: 4ms"),
    "reorder": Key(_reorder, None, "data packets that others overtake, behind the bottleneck: this"
                   " share of them is held for the time that it takes to send so many full packets,"
                   " or for a time; nothing is lost: 0.01:20 or 1%:5ms"),
    "blackout": Key(_blackouts, None, "nothing passes behind the bottleneck from then on for so"
                    " long, in neither direction: packets are dropped, not held: 5:1.5,9:0.3"),
    "switch": Key(_switches, None, "another congestion control for the flows under way at that"
                  " time: 5:cubic,8:ccpd_path"),
    "lie": Key(_lies, None, "receivers that return a rate of their own in place of what ACP's"
               " routers want, for flows by their numbers: 0:400gbit,3:18mbit"),
    "cross": Key(_cross, None, "traffic through the bottleneck: udp:50mbit:0-50, seconds"),
    "change": Key(_changes, None, "of the path on the way: 10:rtt=80ms,20:rate=50mbit,30:loss=0"),
    "param": Key(_params, None, "module parameter: tcp_ccpd.kp=4; may be repeated"),
    "ip": Key(lambda text: int(_choice("4", "6")(text)), "4", "4 or 6"),
    "offload": Key(_on_off, "off", "segmentation offload on hosts: on or off"),
    "ack": Key(_choice("delayed", "every"), "delayed", "acknowledgments: delayed or every"),
    "host": Key(_host, "exact", "what hosts do beside TCP. exact: no more than it needs. nic:"
                " interrupts 50 us after a first packet at both ends, acknowledgments processed"
                " 0.3 us apart, at the sender TSO, at the receiver GRO of up to 64 kB. fq: the"
                " sender's root qdisc, which paces. default: Debian's tcp_rmem and tcp_wmem with"
                " autotuning. vm: short of CPU, so that acknowledgments wait for 1 to 20 ms."
                " slow: acknowledgments processed 4 us apart. Several: nic,fq"),
    "ecn": Key(_on_off, "off", "explicit congestion notification, by hosts and by a qdisc that can"
               " mark (fq_codel, codel, pie, fq_pie, red, warn, cake): on or off"),
    "sample": Key(_time(0, 10), None, "interval of the time series; 0 is none (default 5ms)"),
    "timeout": Key(_time(0.1, 1e6), None, "virtual seconds for bytes to arrive (default 300)"),
}


@dataclass(frozen=True)
class Settings:
    """A scenario's settings, ready to use: seconds, bits per second, bytes, packets."""

    rate: int
    rtt: tuple[float, ...]
    buffer: str
    loss: float
    last_hop: float
    qdisc: str
    flows: int
    start: float
    mtu: int
    ip: int
    offload: bool
    ack: str
    ecn: bool
    mix: tuple[tuple[str, int], ...] | None = None
    jitter: float | None = None
    app: App | None = None
    ssthresh: str | None = None
    drop: int | None = None
    reverse: tuple[str, int] | None = None
    police: Police | None = None
    batch: float | None = None
    aggregate: float | None = None
    access: int | None = None
    bytes: int | None = None
    duration: float | None = None
    host: tuple[str, ...] = ()
    reorder: Reorder | None = None
    blackout: tuple[Blackout, ...] = ()
    switch: tuple[Switch, ...] = ()
    lie: tuple[Lie, ...] = ()
    cross: tuple[Cross, ...] = ()
    change: tuple[Change, ...] = ()
    param: tuple[tuple[str, str, str], ...] = ()
    sample: float | None = None
    timeout: float | None = None
    network: str | None = None
    scale: float | None = None
    short: Short | None = None
    router: str | None = None
    stages: tuple[float, ...] = ()
    scatter: float | None = None

    @cached_property
    def net(self) -> Network:
        """Links, hosts and users."""
        if self.network is None:
            rtts = self.rtt if len(self.rtt) > 1 else self.rtt * self.flows
            return network.dumbbell(self.rate, rtts, self.start)
        return network.scaled(_load(self.network), self.scale or 1)

    def buffer_of(self, link: int) -> int:
        """Of a network's link, packets; its bandwidth-delay product is of the longest rtt."""
        if self.network is None:
            return self.buffer_packets
        if not self.buffer.endswith("bdp"):
            return int(self.buffer)
        bits = self.net.links[link].rate * self.net.longest_rtt(link)
        return max(1, round(float(self.buffer[:-3]) * bits / 8 / self.frame))

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """From when to when each stage lasts, s."""
        at = (0.0, *self.stages, self.end)
        return list(pairwise(at))

    @property
    def frame(self) -> int:
        """Bytes of a full packet on the link."""
        return self.mtu + ETHERNET_HEADER

    @property
    def min_rtt(self) -> float:
        return min(self.rtt)

    @property
    def bdp(self) -> float:
        """Full packets in flight that fill the path with the shortest rtt."""
        return self.rate * self.min_rtt / 8 / self.frame

    @property
    def buffer_packets(self) -> int:
        if self.buffer.endswith("bdp"):
            return max(1, round(float(self.buffer[:-3]) * self.bdp))
        return int(self.buffer)

    @property
    def ssthresh_packets(self) -> int | None:
        if self.ssthresh and self.ssthresh.endswith("bdp"):
            return max(2, round(float(self.ssthresh[:-3]) * self.bdp))
        return self.ssthresh and int(self.ssthresh)

    @property
    def end(self) -> float:
        """Virtual seconds after which the run ends, whatever has happened by then."""
        return self.duration if self.bytes is None else self.timeout

    def capacity_bits(self, end: float) -> float:
        """What the bottleneck could have carried until then, of what the policer lets pass."""
        most = self.police.rate if self.police else math.inf
        total, since, rate = 0.0, 0.0, min(self.rate, most)
        for change in self.change:
            if change.rate and change.at < end:
                total, since = total + rate * (change.at - since), change.at
                rate = min(change.rate, most)
        return total + rate * (end - since)

    def ccs(self, cc: str) -> list[str]:
        """The congestion control of each flow in a run whose --cc is cc."""
        if self.mix:
            return [name for name, count in self.mix for _ in range(count)]
        return [cc] * self.flows

    def every_cc(self, cc: str) -> list[str]:
        """The same, that of the flows in the other direction, and what flows switch to."""
        later = [switch.cc for switch in self.switch]
        return self.ccs(cc) + ([self.reverse[0]] if self.reverse else []) + later

    @property
    def late(self) -> float:
        """How much later a reordered packet is, s."""
        if not self.reorder or self.reorder.time:
            return self.reorder.time if self.reorder else 0.0
        return self.reorder.packets * self.frame * 8 / self.rate

    def as_json(self) -> dict[str, Any]:
        """For the result: SI units; what is not set is absent."""
        shown = {f.name: getattr(self, f.name) for f in fields(self)}
        shown["buffer"] = self.buffer_packets
        shown["ssthresh"] = self.ssthresh_packets
        if len(self.net.links) > 1:
            shown["buffer"] = [self.buffer_of(k) for k in range(len(self.net.links))]
        shown["mix"] = self.mix and ",".join(f"{name}:{count}" for name, count in self.mix)
        shown["reverse"] = self.reverse and "{}:{}".format(*self.reverse)
        shown["police"] = self.police and vars(self.police)
        shown["app"] = self.app and {k: v for k, v in vars(self.app).items() if v != ()}
        shown["host"] = ",".join(self.host) or None
        shown["reorder"] = self.reorder and {"share": self.reorder.share, "late": self.late}
        shown["blackout"] = [vars(b) for b in self.blackout]
        shown["switch"] = [vars(s) for s in self.switch]
        shown["lie"] = [vars(lie) for lie in self.lie]
        shown["short"] = self.short and vars(self.short)
        shown["param"] = [f"{m}.{p}={v}" for m, p, v in self.param]
        shown["cross"] = [{"rate": c.rate, "start": c.start, "end": c.end} for c in self.cross]
        shown["change"] = [{k: v for k, v in vars(c).items() if v is not None} for c in self.change]
        return {k: v for k, v in shown.items() if v is not None and v not in ([], ())}


_seconds = _time(0, 1e6)


def _load(name: str) -> Network:
    try:
        return network.load(name, _rate, _seconds)
    except ValueError as error:
        raise LabError(str(error)) from None


# What a network's file says itself, and what only goes with a single link.
_OF_NETWORK = ("rate", "rtt", "flows", "start", "mix")
_SINGLE = ("loss", "last_hop", "jitter", "reverse", "police", "batch", "aggregate", "cross",
           "change", "ssthresh", "drop", "bytes", "reorder", "blackout", "switch",
           "lie")  # fmt: skip


def _with_network(texts: dict[str, str], values: dict[str, Any]) -> None:
    """Sets what else there is to know of a run on that network."""
    for name in _OF_NETWORK:
        if name in texts:
            raise _usage(f"a network has its own {name}: drop {name}, or network")
    for name in _SINGLE:
        if name in texts:
            raise _usage(f"{name} goes with one link of its own: drop {name}, or network")
    net = network.scaled(_load(values["network"]), values.get("scale", 1))
    values["rate"] = max(link.rate for link in net.links)
    values["rtt"] = tuple(net.groups[user.group].rtt for user in net.users)
    values["flows"] = len(net.users)


def compile_settings(texts: dict[str, str]) -> Settings:
    """Reads every value, and checks that they go together."""
    values: dict[str, Any] = {}
    for name, key in KEYS.items():
        text = texts.get(name, key.default)
        if text is None:
            continue
        try:
            values[name] = key.parse(text.strip())
        except ValueError as error:
            raise _usage(f"{name}={text}: {name} takes {error}") from None
    if "bytes" in values and "duration" in values:
        raise _usage("bytes and duration exclude each other: set one of them")
    if "bytes" in values:
        values.setdefault("timeout", 300.0)
    else:
        values.setdefault("duration", 10.0)
        if values.pop("timeout", None) is not None:
            raise _usage("timeout limits a run of bytes: set bytes, or drop timeout")
    if "network" in values:
        _with_network(texts, values)
        if one := [host for host in values["host"] if host in ("nic", "vm", "slow")]:
            raise _usage(f"host={one[0]} goes with one link of its own: drop host, or network")
    elif "scale" in values:
        raise _usage("scale is of a network's rates: set network, or drop scale")
    if "mix" in values:
        total = sum(count for _, count in values["mix"])
        if "flows" in texts and values["flows"] != total:
            raise _usage(f"mix has {total} flows: drop flows={values['flows']}")
        values["flows"] = total
    if isinstance(values["rtt"], Spread):
        values["rtt"] = values["rtt"].over(values["flows"])
    if len(values["rtt"]) not in (1, values["flows"]):
        count = len(values["rtt"])
        if "flows" in texts or "mix" in texts:
            raise _usage(f"rtt has {count} values for {values['flows']} flows: give 1, or one each")
        values["flows"] = count
    settings = Settings(**values)
    if settings.ip == 6 and settings.mtu < 1280:
        raise _usage(f"ip=6 needs an mtu of at least 1280, not {settings.mtu}")
    if settings.qdisc in SHAPING and settings.offload:
        raise _usage(f"qdisc={settings.qdisc} needs offload=off")
    links = range(len(settings.net.links))
    if settings.qdisc == "red" and min(map(settings.buffer_of, links)) < RED_BUFFER:
        raise _usage(f"qdisc=red needs a buffer of at least {RED_BUFFER} packets")
    if settings.qdisc == "warn" and not settings.ecn:
        raise _usage("qdisc=warn needs ecn=on: it marks, and drops nothing before it is full")
    if settings.qdisc == "warn" and min(map(settings.buffer_of, links)) < WARN:
        raise _usage(f"qdisc=warn needs a buffer of at least {WARN} packets")
    if settings.police and settings.offload:
        raise _usage("police needs offload=off")
    if settings.offload and "nic" in settings.host:
        raise _usage("host=nic says itself what hosts offload: drop offload=on, or nic")
    if settings.offload and settings.reorder:
        raise _usage("reorder is of single packets: it needs offload=off (host=nic may stay)")
    if settings.drop and (settings.flows != 1 or settings.offload or settings.short):
        raise _usage("drop is of a single flow's packets: it needs flows=1 and offload=off")
    if settings.police:
        least, most = settings.frame, min(2**30, settings.police.rate * 100 // 8)
        if not least <= settings.police.burst <= most:
            raise _usage(f"police takes a burst from {least} to {most} bytes,"
                         f" not {settings.police.burst}")  # fmt: skip
    if settings.lie and (settings.ip == 6 or settings.offload):
        raise _usage("lie needs ip=4 and offload=off")
    if settings.lie and max(lie.flow for lie in settings.lie) >= settings.flows:
        raise _usage(f"lie is of flows from 0 to {settings.flows - 1}")
    last = max(user.start for user in settings.net.users) + (settings.scatter or 0)
    if last >= settings.end:
        raise _usage(f"the last flow would start after the end of the run ({settings.end:g} s)")
    if settings.stages and settings.stages[-1] >= settings.end:
        raise _usage(f"the last stage would begin after the end of the run ({settings.end:g} s)")
    for name, at in (("blackout", settings.blackout), ("switch", settings.switch)):
        if at and at[-1].at >= settings.end:
            raise _usage(f"the last {name} would begin after the end of the run"
                         f" ({settings.end:g} s)")  # fmt: skip
    if settings.short and settings.bytes is not None:
        raise _usage("short flows go with a duration: drop bytes, or short")
    if settings.short and settings.short.rate * settings.end > MOST_SHORT:
        raise _usage(f"short makes at most {MOST_SHORT} flows in a run: shorten it")
    if settings.change and (len(settings.rtt) > 1 or settings.qdisc in SHAPING):
        raise _usage("change goes with one rtt, and not with a qdisc that shapes")
    if settings.cross and any(c.end > settings.end for c in settings.cross):
        raise _usage(f"cross traffic outlasts the run ({settings.end:g} s)")
    return settings


# Scenarios --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """One of what a scenario compares: a congestion control, with settings of its own."""

    name: str
    cc: str = ""  # may be left out with mix
    set: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One point of a sweep."""

    name: str
    x: float | None = None  # where pictures put it
    set: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Expected:
    """A number of a paper: where it is, what it measures, and how near is near enough."""

    metric: str
    tolerance: float  # as a share of paper, or if that is none: see within
    source: str = ""  # default: the scenario's seed and figure
    column: str = ""  # of the run it belongs to; empty: of any
    case: str = ""
    paper: float = math.nan  # default: the mean of trials
    trials: tuple[float, ...] = ()
    within: float = 0.0  # of paper, in its own unit

    @property
    def mean(self) -> float:
        return sum(self.trials) / len(self.trials) if math.isnan(self.paper) else self.paper

    def near(self, measured: float) -> bool:
        slack = self.within or self.tolerance * abs(self.mean)
        return bool(self.mean - slack <= measured <= self.mean + slack)


@dataclass(frozen=True)
class Finding:
    """What a paper claims, or we do: a sentence, and the measure that decides whether it holds."""

    claim: str
    measure: str  # see findings.py
    low: float = -math.inf
    high: float = math.inf
    paper: float | None = None
    note: str = ""  # why, above all where it does not hold
    test: bool = False  # make check holds it


@dataclass(frozen=True)
class Table:
    """A table of a paper with a row for each column here: a finding for each of its numbers."""

    claim: str  # which table it is, and of what
    metric: str
    within: float  # how far from the paper's number is near enough, in its own unit
    rows: dict[str, list[float]]  # by column, in the order of the cases
    notes: dict[str, str] = field(default_factory=dict)  # of a row, "reno", or of one of its cells,
    test: bool = False  # of all its findings               "reno, 10 ms"

    def cells(self, cases: list[str]) -> Iterator[tuple[Expected, Finding]]:
        notes = dict(self.notes)
        for column, numbers in self.rows.items():
            if len(numbers) != len(cases):
                raise ValueError(f"[[table]] {self.claim!r}: {column!r} has {len(numbers)} numbers"
                                 f" for {len(cases)} cases")  # fmt: skip
            of_row = notes.pop(column, "")
            for case, paper in zip(cases, numbers, strict=True):
                cell = f"{column}, {case}" if case else column
                yield (
                    Expected(self.metric, 0.0, self.claim, column, case, paper, within=self.within),
                    Finding(
                        f"{self.claim}: {cell}", f"mean({self.metric!r}, {column!r}, {case!r})",
                        paper - self.within, paper + self.within, paper,
                        notes.pop(cell, of_row), self.test,
                    ),
                )  # fmt: skip
        if notes:
            raise ValueError(f"[[table]] {self.claim!r}: a note, but no number, of {min(notes)!r}")


@dataclass(frozen=True)
class Scenario:
    """A scenario's file."""

    name: str
    title: str
    seed: str = ""  # the paper it comes from
    figure: str = ""  # which table or figure of it
    about: str = ""
    seeds: int = 1  # the report runs 1 to this
    plot: tuple[str, ...] = ()  # see plot.py
    x: str = ""  # what the cases' x is
    column: tuple[Column, ...] = ()
    case: tuple[Case, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)  # of its own, see findings.py
    expected: tuple[Expected, ...] = ()
    finding: tuple[Finding, ...] = ()

    @property
    def path(self) -> Path:
        return SCENARIOS / f"{self.name}.toml"

    @property
    def cc(self) -> tuple[str, ...]:
        """The congestion controls that are compared, each once."""
        return tuple(dict.fromkeys(c.cc for c in self.column))

    def column_of(self, name: str) -> Column:
        """The column of this name, or one for a congestion control that has none."""
        return next((c for c in self.column if c.name == name), Column(name, name))

    def case_of(self, name: str) -> Case:
        for case in self.case:
            if case.name == name:
                return case
        there = ", ".join(c.name for c in self.case) or "none"
        raise _usage(f"{self.name} has no case {name!r}; there are: {there}")


def names() -> list[str]:
    return sorted(path.stem for path in SCENARIOS.glob("*.toml"))


def load(name: str) -> Scenario:
    path = SCENARIOS / f"{name}.toml"
    if name not in names():
        raise _usage(f"no scenario {name!r}; there are: {', '.join(names())}")
    return _read(path)


def _read(path: Path) -> Scenario:
    try:
        content = tomllib.loads(path.read_text())
        for kind, entry in (("column", Column), ("case", Case), ("expected", Expected),
                            ("finding", Finding), ("table", Table)):  # fmt: skip
            content[kind] = tuple(_fill(entry, f"[[{kind}]]", e) for e in content.get(kind, ()))
        for table in content.pop("table"):
            for expected, finding in table.cells([c.name for c in content["case"]] or [""]):
                content["expected"] += (expected,)
                content["finding"] += (finding,)
        ccs = content.pop("cc", [] if content["column"] else ["cubic"])
        content["column"] += tuple(Column(cc, cc) for cc in ccs)
        if isinstance(content.get("plot"), str):
            content["plot"] = [content["plot"]]
        content["settings"] = _texts(content.get("settings", {}))
        content["name"] = path.stem
        scenario = _fill(Scenario, "it", content)
        check_keys(scenario.settings)
        _check(scenario)
        for case in scenario.case or [None]:
            for column in scenario.column:
                override(scenario, [], column, case)
    except (tomllib.TOMLDecodeError, TypeError, ValueError, LabError, OSError) as error:
        raise LabError(f"{path}: {error}") from None
    return scenario


def _fill(kind: type, where: str, content: dict[str, Any]) -> Any:
    """A dataclass from a table of the file, or what is wrong with that."""
    known = {f.name: f for f in fields(kind)}
    for name, value in content.items():
        if name not in known:
            raise ValueError(f"{where} has no key {name!r}; there are: {', '.join(known)}")
        wanted = known[name].type
        if wanted is float and isinstance(value, int):
            continue
        if wanted in (str, float, int, bool) and type(value) is not wanted:
            raise ValueError(f"{where}: {name} is a {wanted.__name__}, not {value!r}")
        if getattr(wanted, "__origin__", wanted) is dict and not isinstance(value, dict):
            raise ValueError(f"{where}: {name} is a table, not {value!r}")
    for name, f in known.items():
        if name not in content and f.default is MISSING and f.default_factory is MISSING:
            raise ValueError(f"{where} needs {name}")
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
    if "set" in values:
        values["set"] = _texts(values["set"])
        check_keys(values["set"])
    return kind(**values)


def _texts(table: dict[str, Any]) -> dict[str, str]:
    """Settings as --set takes them; a list is what may be repeated there."""
    return {
        k: ",".join(map(str, v)) if isinstance(v, list) else str(v) for k, v in table.items()
    }


def _check(scenario: Scenario) -> None:
    """Every name that the file uses must be one that it defines."""
    for what, them in (("column", scenario.column), ("case", scenario.case)):
        called = [one.name for one in them]
        for name in called:
            if called.count(name) > 1:
                raise ValueError(f"two {what}s are called {name!r}")
        for expected in scenario.expected:
            name = getattr(expected, what)
            if name and name not in called:
                there = ", ".join(called) or "none"
                raise ValueError(f"[[expected]]: no {what} {name!r}; there are: {there}")
    for column in scenario.column:
        if not column.cc and "mix" not in column.set | scenario.settings:
            raise ValueError(f"[[column]] {column.name!r} needs cc, or a mix")
    for expected in scenario.expected:
        if math.isnan(expected.paper) and not expected.trials:
            raise ValueError("[[expected]] needs paper, or trials")


def check_keys(given: Iterable[str]) -> None:
    for name in given:
        if name not in KEYS:
            raise _usage(f"no setting {name!r}; there are: {', '.join(KEYS)}")


# One of a pair that excludes the other replaces it.
_REPLACES = (("bytes", "duration"), ("duration", "bytes"), ("duration", "timeout"),
             ("mix", "flows"), ("flows", "mix"),
             *(("network", name) for name in ("rate", "rtt", "flows", "start", "mix")))  # fmt: skip


def override(
    scenario: Scenario, assignments: Iterable[str], column: Column | None = None,
    case: Case | None = None,
) -> Settings:  # fmt: skip
    """The scenario's settings, with on top of each other the case's, the column's, and the --set
    KEY=VALUE of the command line."""
    given: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise _usage(f"--set {assignment}: write KEY=VALUE, with KEY of: {', '.join(KEYS)}")
        check_keys([name])
        given[name] = f"{given[name]},{value}" if name == "param" and name in given else value
    texts = dict(scenario.settings)
    for layer in (case.set if case else {}, column.set if column else {}, given):
        for name, other in _REPLACES:
            if name in layer and other not in layer:
                texts.pop(other, None)
        params = [t["param"] for t in (texts, layer) if "param" in t]
        texts |= layer
        if params:
            texts["param"] = ",".join(params)
    return compile_settings(texts)
