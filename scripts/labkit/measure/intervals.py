# SPDX-License-Identifier: GPL-2.0
"""95 % intervals over seeds, by the percentile bootstrap.

The seeds of a cell are drawn again, with replacement, DRAWS times; the interval has the middle
95 % of what the statistic is of these draws.  The draws are always the same ones, so that the same
numbers have the same interval.

With few seeds such an interval is too short: it can't leave what was measured, and with two or
three seeds it is from the least to the most of them.  Of normal numbers it has the true mean in
about 50 % of cases with 2 seeds, 75 % with 3, 84 % with 5, 90 % with 10, 93 % with 20.  Whoever
shows one of 2 or 3 seeds says so.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

LEVEL = 0.95
DRAWS = 5_000
FEW = 3  # seeds: so many, or less, are said beside the interval
_SEED = 17  # of the draws

# By how many seeds something has: which of them each draw has, a row a draw.
Draws = Mapping[int, np.ndarray]


@dataclass(frozen=True)
class Interval:
    """A statistic of n seeds, in the unit of what it is of, and its interval, low to high.

    low and high are None if n is 1, or if the statistic has no value in some of the draws.
    """

    n: int
    value: float
    low: float | None = None
    high: float | None = None

    def json(self) -> dict[str, Any]:
        """n and mean, and low and high if there are any."""
        shown = {"n": self.n, "mean": self.value}
        return shown if self.low is None else shown | {"low": self.low, "high": self.high}


def bounds(
    statistic: Callable[[Draws], np.ndarray], counts: Iterable[int]
) -> tuple[float, float] | tuple[None, None]:
    """The interval of what a statistic is of each draw, of cells with so many seeds, 2 or more.

    All cells that have as many seeds are drawn alike: what is compared in one draw is of the same
    seeds.  There is none if the statistic is not finite in one of the draws.
    """
    from scipy import stats  # takes half a second

    sizes = sorted(set(counts))
    found = stats.bootstrap(
        [np.arange(n) for n in sizes],
        lambda *drawn, axis: statistic(dict(zip(sizes, drawn, strict=True))),
        n_resamples=DRAWS, confidence_level=LEVEL, method="percentile", vectorized=True,
        rng=np.random.default_rng((_SEED, *sizes)),
    )  # fmt: skip
    if not np.isfinite(found.bootstrap_distribution).all():
        return None, None
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def mean(values: Sequence[float]) -> Interval:
    """The mean of a number for each seed, with its interval.

    ValueError if there is none.
    """
    if not len(values):
        raise ValueError("a mean of no seeds")
    return _mean(tuple(values))


@functools.cache
def _mean(values: tuple[float, ...]) -> Interval:
    """A report's page, its short form and its records ask for the same."""
    own = np.asarray(values, dtype=float)
    n = len(own)
    if n == 1:
        return Interval(n, float(own[0]))
    return Interval(n, float(own.mean()), *bounds(lambda draws: own[draws[n]].mean(axis=-1), [n]))


def difference(a: Sequence[float], b: Sequence[float]) -> Interval:
    """The mean of b - a, where a[i] and b[i] are of the same seed: what seeds do to both goes.

    ValueError if they are not as many, or none.
    """
    return mean([to - of for of, to in zip(a, b, strict=True)])
