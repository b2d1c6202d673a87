# SPDX-License-Identifier: GPL-2.0
"""Random paths: [draw] in a scenario's file gives their number, a seed, and ranges of values.

[draw] has four keys: paths, the number of paths; seed; packets, the most that a run may have; and
ranges, the table [draw.ranges], with a range for each property of a path.  A range is

    loss = { from = "1e-5", to = "5%", chance = 0.4 }

or, for names, { of = ["fifo", "codel"] }.  chance is the probability that a path has the property
at all (default: 1).  Numbers are spread evenly on a logarithmic scale.

A path is a point of the unit cube, with a coordinate for each property in the order of the table
below.  The coordinates are random; 'lab search' chooses them to find a bad path.  The same point is
always the same path.  A value is reduced if it makes no sense on a path: path and buffer hold at
least a few packets for each flow, no run has more packets than the limit, and some impairments
exclude others.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

from . import traces, units
from .settings import ETHERNET_HEADER, RED_BUFFER

FRAME_BITS = (1500 + ETHERNET_HEADER) * 8
ROUNDS = 8  # a run lasts at least so many round-trip times,
LONGEST_S = 30  # and at most so many seconds, unless ROUNDS takes longer
LEAST_PACKETS = 4  # that path and buffer together hold for each flow
TRACES = {
    "cellular": {"trace": "scripts/traces/cellular-down.gz"},
    "wifi": {"trace": "scripts/traces/wifi.gz"},
    "orbit": {"trace": "scripts/traces/orbit.gz", "rtt_trace": "scripts/traces/orbit.rtt",
              "loss_trace": "scripts/traces/orbit.loss"},
}  # fmt: skip
RED_MOST = 4000  # packets of red's buffer; the kernel's average overflows with a larger one
GOLDEN = (math.sqrt(5) - 1) / 2


def _plain(text: str) -> float:
    return units.number(text, 1e-6, 1e6)


def _time(text: str) -> float:
    return units.time(1e-6, 1e3)(text)


@dataclass(frozen=True)
class Axis:
    """One property of a path that can be drawn."""

    parse: Callable[[str], float] | None  # reads a number; None: the values are names
    says: str  # description on the schema page


# The properties of a path, in the order of a point's coordinates.
AXES: dict[str, Axis] = {
    "rate": Axis(units.rate, "rate of the bottleneck"),
    "rtt": Axis(_time, "shortest round-trip time"),
    "buffer": Axis(_plain, "buffer in bandwidth-delay products"),
    "loss": Axis(units.loss, "the setting loss"),
    "aggregate": Axis(_time, "the setting aggregate"),
    "batch": Axis(_time, "the setting batch"),
    "jitter": Axis(_time, "the setting jitter"),
    "flows": Axis(_plain, "number of flows"),
    "start": Axis(_time, "time between the starts of one flow and the next"),
    "spread": Axis(_plain, "longest round-trip time, as a multiple of the shortest"),
    "qdisc": Axis(None, "qdisc of the bottleneck; 'codel ecn' is codel with ECN"),
    "moves": Axis(None, f"how the rate changes: {', '.join(('police', 'steps', *TRACES))}"),
    "depth": Axis(_plain, "the rate, as a multiple of the policer's rate, or of the lowest step"),
    "span": Axis(_time, "length of the policer's burst at its rate, or of a step"),
    "reverse": Axis(None, "the setting reverse: cubic:2"),
}


@dataclass(frozen=True)
class Range:
    """The values of one property: numbers from low to high, or one of several names."""

    low: float = 0.0
    high: float = 0.0
    names: tuple[str, ...] = ()
    chance: float = 1.0  # 0 to 1: share of the paths that have the property

    def at(self, place: float) -> Any:
        """The value at a coordinate from 0 to 1; None if the path does not have the property."""
        inner = (place - (1 - self.chance)) / self.chance if self.chance else -1.0
        if inner < 0:
            return None
        if self.names:
            return self.names[min(len(self.names) - 1, int(inner * len(self.names)))]
        return self.low * (self.high / self.low) ** min(1.0, inner)


@dataclass(frozen=True)
class Draw:
    """The [draw] table of a scenario."""

    paths: int  # how many
    seed: int
    packets: int  # of a run, at most
    ranges: dict[str, Range]

    def points(self) -> Iterable[list[float]]:
        dice = Random(f"paths {self.seed}")
        return ([dice.random() for _ in AXES] for _ in range(self.paths))

    def cases(self) -> list[tuple[str, dict[str, str]]]:
        """For each path: a name that lists its settings, and the settings."""
        width = len(str(self.paths))
        of = (path(self.ranges, point, self.packets) for point in self.points())
        return [(f"{n:0{width}} {name(one)}", one) for n, one in enumerate(of, 1)]


def read(table: dict[str, Any], seed: int | None = None) -> Draw:
    """Reads the [draw] table of a file; seed, if given, replaces its seed.

    ValueError describes the error in the table.
    """
    known = ("paths", "seed", "packets", "ranges")
    if set(table) != {*known} or not isinstance(table["ranges"], dict):
        raise ValueError(f"[draw] has {', '.join(known[:3])}, and [draw.ranges]; all are needed,"
                         " and no other key is possible")
    for key, most in (("paths", 10_000), ("seed", 2**63), ("packets", 10**8)):
        if type(table[key]) is not int or not 0 < table[key] < most:
            raise ValueError(f"[draw] {key} is a whole number from 1 to {most}")
    for key in {*table["ranges"]} ^ {*AXES}:
        wrong = "is no property" if key in table["ranges"] else "is missing"
        raise ValueError(f"[draw.ranges] {key} {wrong}; there are: {', '.join(AXES)}")
    ranges = {key: _range(key, table["ranges"][key]) for key in AXES}
    return Draw(table["paths"], table["seed"] if seed is None else seed, table["packets"], ranges)


def _range(key: str, table: Any) -> Range:
    parse, chance = AXES[key].parse, table.get("chance", 1.0) if isinstance(table, dict) else -1.0
    try:
        if not 0 <= chance <= 1:
            raise ValueError
        if parse is None:
            if {*table} - {"chance"} != {"of"} or not table["of"]:
                raise ValueError
            known = ("police", "steps", *TRACES)
            if key == "moves" and {*table["of"]} - {*known}:
                raise ValueError(f"possible values are {', '.join(known)}")
            return Range(names=tuple(map(str, table["of"])), chance=chance)
        if {*table} - {"chance"} != {"from", "to"}:
            raise ValueError
        low, high = parse(str(table["from"])), parse(str(table["to"]))
        if not 0 < low <= high:
            raise ValueError
        return Range(low, high, chance=chance)
    except (TypeError, ValueError) as error:
        wanted = '{ of = ["a", "b"] }' if parse is None else "{ from = LEAST, to = MOST }"
        why = f": {error}" if str(error) else ""
        raise ValueError(
            f"[draw.ranges] {key} is {wanted}, and may have a chance from 0 to 1{why}"
        ) from None


def path(ranges: dict[str, Range], point: list[float], packets: int) -> dict[str, str]:
    """The settings of the path at a point."""
    has = {key: ranges[key].at(place) for key, place in zip(AXES, point, strict=True)}
    trace = TRACES.get(has["moves"], {})
    rtt, buffer = has["rtt"], has["buffer"]
    if "rtt_trace" in trace:
        rtt = min(traces.steps(_time, "45ms")(trace["rtt_trace"]).values)
    one = not has["flows"] or has["moves"] == "steps" or "rtt_trace" in trace
    spread = None if one else has["spread"]  # longest round-trip time / shortest
    longest = min(ranges["rtt"].high, rtt * (spread or 1))
    # Limit the rate, so that a run of so many packets lasts at least ROUNDS round trips.
    rate = min(has["rate"], packets * FRAME_BITS / ROUNDS / longest)
    if trace:
        rate = traces.trace(trace["trace"])[0].rate
    fit = rate * rtt / FRAME_BITS * (1 + buffer) / LEAST_PACKETS
    flows = max(1, min(round(has["flows"] or 1), int(fit)))
    found = dict(trace)
    if not trace:
        found["rate"] = _rate(rate)
    if "rtt_trace" not in trace:
        found["rtt"] = f"{_ms(rtt)}-{_ms(longest)}" if spread and flows > 1 else _ms(rtt)
    span = min(LONGEST_S, packets * FRAME_BITS / rate)
    duration = round(max(span, ROUNDS * longest), 2 if span < 10 else 0)
    held = buffer * rate * rtt / FRAME_BITS
    found["buffer"] = f"{buffer:.3g}bdp" if held >= LEAST_PACKETS else str(LEAST_PACKETS)
    found["duration"] = f"{duration:g}"
    if has["loss"] and "loss_trace" not in trace:
        found["loss"] = f"{has['loss']:.2g}"
    found |= {key: _ms(has[key]) for key in ("aggregate", "batch", "jitter") if has[key]}
    if flows > 1:
        found["flows"] = str(flows)
        apart = min(has["start"] or 0.0, duration / 2 / flows)
        found |= {"start": f"{apart:.3g}"} if apart >= 1e-3 else {"scatter": _ms(longest)}
    if has["qdisc"]:
        kind, _, ecn = has["qdisc"].partition(" ")
        if kind != "red" or RED_BUFFER + 1 < held < RED_MOST:
            found |= {"qdisc": kind} | ({"ecn": "on"} if ecn else {})
    if has["moves"] == "police":
        passed = rate / has["depth"]
        burst = min(passed * has["span"], packets * FRAME_BITS / ROUNDS) / 8
        found["police"] = f"{_rate(passed)}:{max(LEAST_PACKETS * FRAME_BITS // 8, round(burst))}"
    if has["moves"] == "steps":
        found["change"] = steps(rate, has["depth"], has["span"], duration)
    if has["reverse"] and not trace:
        found["reverse"] = has["reverse"]
    return found


def steps(rate: float, depth: float, span: float, duration: float) -> str:
    """A change setting: a new rate after each span s, from rate/depth to rate, not periodic.

    rate: bit/s; span, duration: s.
    """
    count = min(200, math.ceil(duration / span) - 1)
    rates = (rate / depth ** (k * GOLDEN % 1) for k in range(1, count + 1))
    changes = [f"{at}:rate={_rate(r)}" for k, r in enumerate(rates, 1)
               if float(at := f"{k * span:.4g}") < duration]  # fmt: skip
    return ",".join(changes) or f"{duration / 2:.4g}:rate={_rate(rate / depth)}"


def name(of: dict[str, str]) -> str:
    """A path's settings in short form: the number of steps, and file names without directories."""
    said = {"trace": "", **of, "change": f"{of.get('change', '').count(',') + 1} steps"}
    return " ".join(
        f"{key}={value.rpartition('/')[2]}" for key, value in said.items()
        if key in of and key not in ("duration", "scatter")
    )  # fmt: skip


def _rate(bps: float) -> str:
    """A rate in bit/s as text, rounded to three digits like all drawn values."""
    shown = float(f"{bps:.3g}")
    for size, unit in ((1e9, "gbit"), (1e6, "mbit")):
        if shown >= size:
            return f"{shown / size:g}{unit}"
    return f"{shown / 1e3:g}kbit"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}ms"
