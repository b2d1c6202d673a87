# SPDX-License-Identifier: GPL-2.0
"""Changes of a path over time, from files: a trace of its rate, or steps of another value.

As in units.py, the text of a ValueError says which values are accepted.  A file's path that is not
absolute is relative to the repository's root; a file whose name ends in .gz is compressed.
"""

import gzip
import hashlib
import math
import zlib
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

from ..paths import REPO
from . import units

FRAME = 1514  # bytes that leave at one moment of a trace: a packet of 1500, and Ethernet's header


@dataclass(frozen=True)
class Trace:
    """A trace as in Mahimahi: one packet may leave at each moment; the last moment is the period
    with which the trace repeats."""

    path: str
    digest: str  # of the file's content
    moments: tuple[int, ...] = field(repr=False, compare=False)  # ms

    @property
    def rate(self) -> int:
        """The mean rate, bit/s."""
        return round(len(self.moments) * FRAME * 8 * 1000 / self.moments[-1])

    def bits(self, until: float) -> float:
        """The bits that can leave in the first until seconds."""
        rounds, rest = divmod(math.floor(until * 1000 + 1e-6), self.moments[-1])
        return (rounds * len(self.moments) + bisect_right(self.moments, rest)) * FRAME * 8


@dataclass(frozen=True)
class Steps:
    """A value as a step function of time."""

    path: str
    digest: str
    steps: tuple[tuple[float, float], ...] = field(repr=False, compare=False)  # s from 0 on, value
    period: float  # s, after which the steps repeat; math.inf: the last value stays

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(value for _, value in self.steps)

    def mean(self, end: float) -> float:
        """The mean value over the first end seconds."""
        steps = [*self.until(end), (end, math.nan)]
        return sum((b - a) * value for (a, value), (b, _) in pairwise(steps)) / end

    def in_whole_periods(self, end: float) -> int:
        """The number of steps in the periods that end before end, s: quicker than until()."""
        return len(self.steps) * math.floor(min(end / self.period, 1e15))

    def until(self, end: float) -> list[tuple[float, float]]:
        """All steps before end, s: the time of each, from 0 on, and its value."""
        found, base = [], 0.0
        while base < end:
            found += [(round(base + at, 9), value) for at, value in self.steps if base + at < end]
            base += self.period
        return found


def trace(text: str) -> tuple[Trace, ...]:
    paths = text.split(",")
    if len(paths) > 2:
        raise ValueError(
            "one path, for the data, or two, the second for the way back:"
            " scripts/traces/cellular-down.gz,scripts/traces/cellular-up.gz"
        )
    return tuple(_trace(*_read(path)) for path in paths)


@cache
def _trace(path: str, content: bytes) -> Trace:
    lines = content.decode().split()
    for number, line in enumerate(lines, 1):
        if not line.isdecimal() or int(line) >= 2**32:
            raise ValueError(
                f"a file with a whole number of ms in each line: {path} has {line!r} in line"
                f" {number}"
            )
    moments = tuple(map(int, lines))
    if not moments or list(moments) != sorted(moments) or not moments[-1]:
        raise ValueError(f"a file of rising times in ms, the last one above 0: {path} has others")
    made = Trace(path, _digest(content), moments)
    if not units.LEAST_RATE <= made.rate <= units.MOST_RATE:
        raise ValueError(f"a file with a mean rate from 1kbit to 400gbit: {path} has"
                         f" {made.rate} bit/s")  # fmt: skip
    return made


def steps(value: Callable[[str], float], example: str) -> Callable[[str], Steps]:
    """Makes a reader of files with a time in s, from 0 on, and a value in each line.

    A last line with only a time is the period after which the steps repeat.
    """

    def parse(text: str) -> Steps:
        path, content = _read(text)
        found: list[tuple[float, float]] = []
        period, last = math.inf, -1.0
        lines = [line.replace(",", " ").split() for line in content.decode().splitlines()]
        for number, words in enumerate(lines, 1):
            if not words or words[0].startswith("#"):
                continue
            try:
                at = float(words[0])
                if not last < at < 1e6 or period < math.inf or (not found and at):
                    raise ValueError("times must rise from 0 on")
                last = at
                if len(words) == 1 and found:
                    period = at
                else:
                    found.append((at, value(" ".join(words[1:]))))
            except ValueError as error:
                raise ValueError(
                    f"a file with seconds and a value in each line, such as '0.5 {example}', and"
                    " optionally only seconds in the last line, after which it repeats: line"
                    f" {number} of {path} is {' '.join(words)!r} ({error})"
                ) from None
        if not found:
            raise ValueError(f"a file that is not empty: {path} is empty")
        return Steps(path, _digest(content), tuple(found), period)

    return parse


@dataclass(frozen=True)
class Sizes:
    """A list of flow sizes, all equally likely."""

    path: str
    digest: str
    bytes: tuple[int, ...] = field(repr=False, compare=False)


def sizes(text: str) -> Sizes:
    path, content = _read(text)
    found = content.decode().split()
    for size in found:
        if not size.isdecimal() or not 1 <= int(size) <= 10**13:
            raise ValueError(f"a file with a number of bytes in each line: {path} has {size!r}")
    if not found:
        raise ValueError(f"a file that is not empty: {path} is empty")
    return Sizes(path, _digest(content), tuple(map(int, found)))


def _read(text: str) -> tuple[str, bytes]:
    path = text.strip()
    try:
        content = (REPO / Path(path)).read_bytes()
        if path.endswith(".gz"):
            content = gzip.decompress(content)
        content.decode("ascii")
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(
            f"a file's path, from the repository's root on: {REPO / path}: {why}"
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"a file of numbers, and {path} is not one") from None
    return path, content


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
