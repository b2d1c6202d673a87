# SPDX-License-Identifier: GPL-2.0
"""Parsers of settings with several parts, and the types of their values.

As in units.py, the text of a ValueError says which values are accepted.
"""

import hashlib
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ..paths import REPO
from . import network as networks
from . import units

MOST_SIZES = 8  # of the writes of a program
MOST_RATES = 32  # of a video
REORDER_TABLE = 10_000  # entries of netem's table of delays; netem accepts at most 16384

# Behaviour of real hosts that the laboratory's hosts do not have by default; see world/queues.py.
HOSTS = ("nic", "fq", "default", "vm", "slow")


@dataclass(frozen=True)
class Spread:
    """Times from low to high, s, with equal intervals, one for each flow."""

    low: float
    high: float

    def over(self, count: int) -> tuple[float, ...]:
        step = (self.high - self.low) / max(1, count - 1)
        return tuple(round(self.low + step * i, 9) for i in range(count))


def times(text: str) -> tuple[float, ...] | Spread:
    low, dash, high = text.partition("-")
    if dash and not low.endswith("e"):
        return Spread(units.time(1e-6, 10)(low), units.time(1e-6, 10)(high))
    return tuple(units.time(1e-6, 10)(part) for part in text.split(","))


def buffer(text: str) -> str:
    """Checks a buffer: packets, or a multiple of the BDP; see Settings.buffer_packets."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(bdp|)", text.lower())
    if not found or (not found[2] and not re.fullmatch(r"[1-9]\d{0,8}", text)):
        raise ValueError("a number of packets such as 700, or of bandwidth-delay products: 0.5bdp")
    return text.lower()


def ssthresh(text: str) -> str:
    try:
        return buffer(text) if text.endswith("bdp") else str(units.count(2, 10**9)(text))
    except ValueError:
        raise ValueError("packets, from 2 to 1000000000, or 1bdp") from None


def cc_name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9_-]{1,15}", text):
        raise ValueError("a congestion control's name")
    return text


def mix(text: str) -> tuple[tuple[str, int], ...]:
    parts = []
    for part in text.split(","):
        name, _, count = part.partition(":")
        try:
            parts.append((cc_name(name), units.count(1, 10000)(count or "1")))
        except ValueError:
            raise ValueError("names and counts of flows, such as ccpd:2,cubic:2") from None
    return tuple(parts)


@dataclass(frozen=True)
class Cross:
    """Traffic at a constant bit rate that shares the bottleneck."""

    rate: int  # bit/s, on the link
    start: float  # s
    end: float  # s


def cross(text: str) -> tuple[Cross, ...]:
    parts = []
    for part in text.split(","):
        found = re.fullmatch(r"udp:([^:]+):([\d.]+)-([\d.]+)", part)
        try:
            cross = found and Cross(
                units.rate(found[1]), units.time(0, 1e6)(found[2]), units.time(0, 1e6)(found[3])
            )
        except ValueError:
            cross = None
        if not cross or cross.end <= cross.start:
            raise ValueError("udp:RATE:FROM-TO in seconds, such as udp:50mbit:0-50")
        parts.append(cross)
    return tuple(parts)


@dataclass(frozen=True)
class Change:
    """A change of the path during a run; None: this property does not change."""

    at: float  # s
    rate: int | None = None  # bit/s
    rtt: float | None = None  # s
    loss: float | None = None


def changes(text: str) -> tuple[Change, ...]:
    parts = []
    for part in text.split(","):
        found = re.fullmatch(r"([\d.]+):(rate|rtt|loss)=(.+)", part)
        parse = {"rate": units.rate, "rtt": units.time(1e-6, 100), "loss": units.loss}
        try:
            change = found and Change(
                units.time(0, 1e6)(found[1]), **{found[2]: parse[found[2]](found[3])}
            )
        except ValueError:
            change = None
        if not change:
            raise ValueError("SECONDS:rate=RATE, :rtt=TIME or :loss=SHARE, such as 10:rtt=80ms")
        parts.append(change)
    return tuple(sorted(parts, key=lambda c: c.at))


@dataclass(frozen=True)
class Police:
    """A token bucket that drops packets if it has too few tokens."""

    rate: int  # bit/s, on the link
    burst: int  # bytes that a full bucket lets pass


def police(text: str) -> Police:
    rate, colon, burst = text.partition(":")
    try:
        bits = units.rate(rate)
        return Police(bits, units.size(burst) if colon else round(bits / 8 * 0.05))
    except ValueError:
        raise ValueError("RATE or RATE:BYTES of burst, such as 50mbit:250k") from None


@dataclass(frozen=True)
class App:
    """The writes of each flow's program."""

    bytes: int
    interval: float  # s
    more: tuple[int, ...] = ()  # bytes of the next writes, before the sizes repeat

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.bytes, *self.more)


def app(text: str) -> App:
    sizes, _, interval = text.partition("/")
    try:
        first, *more = (units.size(size) for size in sizes.split("+"))
        if len(more) >= MOST_SIZES:
            raise ValueError
        return App(first, units.time(1e-4, 1e6)(interval), tuple(more))
    except ValueError:
        raise ValueError(
            "BYTES/INTERVAL of at least 100us, such as 250k/100ms, or several sizes in turn,"
            f" {MOST_SIZES} at most: 12k+290k/5s"
        ) from None


@dataclass(frozen=True)
class Reorder:
    """Reordering: some packets are delayed, so that others overtake them."""

    share: float  # of the data packets that are delayed
    packets: int = 0  # that overtake a delayed packet at the bottleneck's rate; 0: see time
    time: float = 0.0  # s, the extra delay, if packets is 0


def reorder(text: str) -> Reorder:
    share, colon, late = text.partition(":")
    try:
        # The share is at least one entry of netem's table, and at most half of them.
        kept = units.loss(share)
        if not colon or kept < 1 / REORDER_TABLE:
            raise ValueError
        if late.isdigit():
            return Reorder(kept, packets=units.count(1, 100_000)(late))
        return Reorder(kept, time=units.time(1e-6, 2)(late))
    except ValueError:
        raise ValueError(
            "SHARE:PACKETS or SHARE:TIME with a share from 0.0001 to 0.5, such as 0.01:20 or"
            " 1%:5ms"
        ) from None


@dataclass(frozen=True)
class BurstLoss:
    """Loss with a good and a bad state (Gilbert-Elliott): probabilities for each packet."""

    bad: float  # change from the good to the bad state
    good: float  # change from the bad to the good state
    lost: float = 1.0  # loss in the bad state
    else_lost: float = 0.0  # loss in the good state

    @property
    def mean(self) -> float:
        """The mean loss: the loss of each state, weighted by the share of packets in that state."""
        return (self.bad * self.lost + self.good * self.else_lost) / (self.bad + self.good)


def burst_loss(text: str) -> BurstLoss:
    try:
        shares = [units.share(1)(part) for part in text.split(":")]
        if not 2 <= len(shares) <= 4 or 0 in shares[:2]:
            raise ValueError
        return BurstLoss(*shares)
    except ValueError:
        raise ValueError(
            "BAD:GOOD[:LOST[:ELSE]], the probabilities that a packet ends the good state, that it"
            " ends the bad state, that it is lost in the bad state (default 1) and in the good"
            " state (default 0): 0.01:0.3 or 1%:30%:80%:0.1%"
        ) from None


@dataclass(frozen=True)
class Blackout:
    """A period in which the path passes no packet."""

    at: float  # s
    length: float  # s


def blackouts(text: str) -> tuple[Blackout, ...]:
    parts = []
    for part in text.split(","):
        at, _, length = part.partition(":")
        try:
            parts.append(Blackout(units.seconds(at), units.time(1e-3, 1e6)(length)))
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
    """A change of the congestion control of running flows."""

    at: float  # s
    cc: str


def switches(text: str) -> tuple[Switch, ...]:
    parts = []
    for part in text.split(","):
        at, _, name = part.partition(":")
        try:
            parts.append(Switch(units.seconds(at), cc_name(name)))
        except ValueError:
            raise ValueError("SECONDS:NAME, such as 5:cubic,8:ccpd_path") from None
    return tuple(sorted(parts, key=lambda s: s.at))


@dataclass(frozen=True)
class Lie:
    """A false rate that a flow's receiver echoes, in place of the rate from ACP's routers."""

    flow: int
    rate: int  # bit/s, on the link

    @property
    def word(self) -> int:
        """The rate as encoded in an echo: bytes/s, 8 bits of exponent, 24 bits of mantissa."""
        rate = self.rate // 8
        exponent = max(rate.bit_length(), 24) - 24
        return exponent << 24 | rate >> exponent


def lies(text: str) -> tuple[Lie, ...]:
    parts = []
    for part in text.split(","):
        flow, _, rate = part.partition(":")
        try:
            parts.append(Lie(units.count(0, 9999)(flow), units.rate(rate)))
        except ValueError:
            raise ValueError("FLOW:RATE with flows from 0, such as 0:400gbit,3:18mbit") from None
    return tuple(parts)


@dataclass(frozen=True)
class JitterBack:
    """A random delay of a flow's acknowledgments."""

    flow: int
    most: float  # s, the maximum


def jitters(text: str) -> tuple[JitterBack, ...]:
    parts = []
    for part in text.split(","):
        flow, _, most = part.partition(":")
        try:
            parts.append(JitterBack(units.count(0, 9999)(flow), units.time(1e-6, 1)(most)))
        except ValueError:
            raise ValueError("FLOW:TIME with flows from 0, such as 1:5ms") from None
    return tuple(parts)


@dataclass(frozen=True)
class Back:
    """A bottleneck on the path of the ACKs."""

    rate: int  # bit/s
    packets: int  # size of its queue


def back(text: str) -> Back:
    rate, colon, packets = text.partition(":")
    try:
        return Back(units.rate(rate), units.count(1, 1_000_000)(packets) if colon else 1000)
    except ValueError:
        raise ValueError("RATE or RATE:PACKETS, such as 1mbit:50") from None


def host(text: str) -> tuple[str, ...]:
    """Parses the behaviours of hosts; "exact" is none of them.  Returns them in HOSTS' order."""
    parts = text.split(",")
    known = parts == ["exact"] or not {*parts} - {*HOSTS}
    if not known or len({*parts}) < len(parts):
        raise ValueError(f"exact, or one or more of {', '.join(HOSTS)}, such as nic,fq")
    return tuple(part for part in HOSTS if part in parts)


@dataclass(frozen=True)
class Voice:
    """Calls: datagrams at a constant rate, each with this payload."""

    calls: int
    bytes: int = 172  # 20 ms of G.711 plus the RTP header
    interval: float = 0.02  # s, between datagrams


def voice(text: str) -> Voice:
    calls, colon, each = text.partition(":")
    size, _, interval = each.partition("/")
    try:
        if not colon:
            return Voice(units.count(1, 1000)(calls))
        return Voice(units.count(1, 1000)(calls), units.count(8, 1400)(size),
                     units.time(1e-3, 10)(interval))  # fmt: skip
    except ValueError:
        raise ValueError(
            "CALLS, or CALLS:BYTES/INTERVAL with 8 to 1400 bytes and 1ms to 10s, such as 2:172/20ms"
            " (G.711)"
        ) from None


@dataclass(frozen=True)
class Ask:
    """Clients that send a request, wait for the full response, pause, and start again."""

    clients: int
    request: int  # bytes
    response: int  # bytes
    think: float  # s, mean of the pause, which has an exponential distribution


def ask(text: str) -> Ask:
    try:
        clients, request, response, think = text.split(":")
        return Ask(units.count(1, 500)(clients), units.size(request), units.size(response),
                   units.time(0, 1e4)(think))  # fmt: skip
    except ValueError:
        raise ValueError(
            "CLIENTS:REQUEST:RESPONSE:THINK (THINK is the mean pause, the sizes are bytes), such as"
            " 5:400:50k:1s"
        ) from None


# bit/s; the rates of a video in Mao et al., Pensieve, SIGCOMM 2017
LADDER = (300_000, 750_000, 1_200_000, 1_850_000, 2_850_000, 4_300_000)
CHOICES = ("buffer", "rate")


@dataclass(frozen=True)
class Video:
    """Viewers of a video in chunks at several rates; guest/video.c chooses the rates."""

    viewers: int
    rates: tuple[int, ...] = LADDER  # bit/s, ascending
    chunk: float = 4.0  # s of playback
    choice: str = "buffer"  # one of CHOICES
    most: float = 30.0  # s of playback that fit in a viewer's buffer


def video(text: str) -> Video:
    viewers, *parts = text.split(":")
    try:
        said: dict[str, Any] = {"viewers": units.count(1, 100)(viewers)}
        for part in parts:
            if part in CHOICES:
                said |= {"choice": part}
            elif "/" in part:
                ladder, _, chunk = part.partition("/")
                said |= {"rates": tuple(units.rate(rate) for rate in ladder.split("+")),
                         "chunk": units.time(0.1, 60)(chunk)}  # fmt: skip
            else:
                said |= {"most": units.time(0.1, 1e4)(part)}
        made = Video(**said)
        rising = all(a < b for a, b in pairwise(made.rates))
        if not rising or len(made.rates) > MOST_RATES or made.most < made.chunk:
            raise ValueError
        return made
    except ValueError:
        raise ValueError(
            f"VIEWERS, and optionally rising RATES/CHUNK ({MOST_RATES} rates at most), buffer or"
            " rate, and a TIME to store that is not shorter than a chunk:"
            " 1:300k+750k+1200k+1850k+2850k+4300k/4s:buffer:30s"
        ) from None


MOST_PROGRAMS = 32


@dataclass(frozen=True)
class Program:
    """A user's program that runs on one of the hosts."""

    host: str
    at: float  # s
    path: str
    digest: str
    content: bytes = field(repr=False, compare=False)


def programs(text: str) -> tuple[Program, ...]:
    parts = text.split(",")
    if len(parts) > MOST_PROGRAMS:
        raise ValueError(f"{MOST_PROGRAMS} programs at most")
    return tuple(map(_program, parts))


def _program(text: str) -> Program:
    found = re.fullmatch(r"(s\d{0,4}|r)(?:@([^:]+))?:(.+)", text)
    try:
        at = units.seconds(found[2] or "0") if found else -1
    except ValueError:
        at = -1
    if not found or at < 0:
        raise ValueError("HOST[@SECONDS]:PATH with HOST s0, s1, ... (senders) or r (the receiver):"
                         " s0:./serve,r@0.1:./fetch")  # fmt: skip
    path = REPO / found[3]
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"the path of a program: {path}: {error.strerror}") from None
    if not content.startswith((b"#!/", b"\x7fELF")):
        raise ValueError(f"a program: {path} is neither an ELF file nor a script that begins with"
                         " #!/")
    digest = hashlib.sha256(content).hexdigest()[:16]
    return Program(found[1] if found[1] != "s" else "s0", at, found[3], digest, content)


@dataclass(frozen=True)
class Short:
    """Short flows: Poisson arrivals, sizes from a Pareto distribution or from a file."""

    rate: float  # arrivals/s
    mean: float | None = None  # packets
    shape: float | None = None  # of the Pareto distribution
    # Congestion control; None: that of the run.  Not in repr: a run's key has it with the flows.
    cc: str | None = field(default=None, repr=False)


def short(text: str) -> Short:
    try:
        rate, *more = text.split(":")
        cc = None
        if more and not more[-1][:1].isdigit():
            cc = cc_name(more.pop())
        if not more:
            return Short(units.number(rate, 1e-3, 1e4), cc=cc)
        mean, shape = more
        return Short(
            units.number(rate, 1e-3, 1e4), units.number(mean, 1, 1e6),
            units.number(shape, 1.01, 100), cc,
        )  # fmt: skip
    except ValueError:
        raise ValueError(
            "ARRIVALS:PACKETS:SHAPE (per second, mean, Pareto's exponent): 100:30:1.35; with sizes,"
            " only ARRIVALS; optionally a congestion control: 100:30:1.35:cubic"
        ) from None


@dataclass(frozen=True)
class Stop:
    """The end of a flow before the end of the run."""

    flow: int
    at: float  # s


def stops(text: str) -> tuple[Stop, ...]:
    parts = []
    for part in text.split(","):
        flow, _, at = part.partition(":")
        try:
            parts.append(Stop(units.count(0, 9999)(flow), units.seconds(at)))
        except ValueError:
            raise ValueError("FLOW:SECONDS with flows from 0, such as 1:20,2:30") from None
    return tuple(parts)


def stages(text: str) -> tuple[float, ...]:
    bounds = tuple(units.time(0, 1e6)(part) for part in text.split(","))
    if list(bounds) != sorted({*bounds, 0.0})[-len(bounds):] or not bounds[0]:
        raise ValueError("rising times between stages, in seconds, such as 20,40")
    return bounds


def reverse(text: str) -> tuple[str, int]:
    try:
        ((name, count),) = mix(text)
    except ValueError:
        raise ValueError("a congestion control and a count, such as cubic:2") from None
    return name, count


def router(text: str) -> str:
    """Checks only the characters: tc gets the options unchanged, and reports their errors."""
    if not re.fullmatch(r"[\w.% -]{1,200}", text):
        raise ValueError("options in tc's syntax, those after the limit, such as 'target 5ms'")
    return text


def params(text: str) -> tuple[tuple[str, str, str], ...]:
    parts = []
    for part in text.split(","):
        found = re.fullmatch(r"(\w+)\.(\w+)=([\w.+-]+)", part)
        if not found:
            raise ValueError("MODULE.PARAMETER=VALUE, such as tcp_ccpd.kp=4")
        parts.append((found[1], found[2], found[3]))
    return tuple(parts)


def network(text: str) -> str:
    networks.check(text)
    return text
