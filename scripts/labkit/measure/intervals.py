# SPDX-License-Identifier: GPL-2.0
"""95 % intervals over seeds, by the percentile bootstrap.

The seeds of a cell are drawn DRAWS times with replacement.  The interval contains the middle 95 %
of the statistic's values over these draws.  The draws are always the same, so that the same numbers
have the same interval.

With few seeds such an interval is too short: it cannot be wider than the range of the measurements,
and with two or three seeds it is that range.  For normally distributed numbers it contains the true
mean in about 50 % of cases with 2 seeds, 75 % with 3, 84 % with 5, 90 % with 10, 93 % with 20.
Every display of an interval from 2 or 3 seeds must mention that.  If all seeds have the same value,
a display says so in place of the interval.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

LEVEL = 0.95
DRAWS = 5_000
FEW = 3  # seeds: for so many or fewer, their number is shown with the interval
_SEED = 17  # of the draws

# By the number of seeds of a cell: the indices of the drawn seeds, a row for each draw.
Draws = Mapping[int, np.ndarray]


@dataclass(frozen=True)
class Interval:
    """A statistic over n seeds, and its interval from low to high, in the statistic's unit.

    low and high are None if n is 1, or if the statistic is not defined for some of the draws.
    same: whether all of several seeds have the same values.  Then low and high are no interval: the
    seeds are perhaps the same run, and count as one.
    """

    n: int
    value: float
    low: float | None = None
    high: float | None = None
    same: bool = False

    def json(self) -> dict[str, Any]:
        """An object with n and mean, and with low and high if they are not None."""
        shown = {"n": self.n, "mean": self.value}
        return shown if self.low is None else shown | {"low": self.low, "high": self.high}


def bounds(
    statistic: Callable[[Draws], np.ndarray], counts: Iterable[int]
) -> tuple[float, float] | tuple[None, None]:
    """The interval of a statistic over cells; counts: their numbers of seeds, each 2 or more.

    Cells with the same number of seeds share the drawn indices, so that a draw compares the same
    seeds.  Returns (None, None) if the statistic is not finite in one of the draws.
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
    """The mean of values, one for each seed, with its interval.

    ValueError if there are no values.
    """
    if not len(values):
        raise ValueError("a mean of no seeds")
    return _mean(tuple(values))


@functools.cache
def _mean(values: tuple[float, ...]) -> Interval:
    """Cached, because a report's page, its short form and its records need the same means."""
    own = np.asarray(values, dtype=float)
    n = len(own)
    if n == 1:
        return Interval(n, float(own[0]))
    if (own == own[0]).all():
        return Interval(n, *[float(own[0])] * 3, same=True)
    with np.errstate(all="ignore"):  # an infinite ratio
        ends = bounds(lambda draws: own[draws[n]].mean(axis=-1), [n])
    return Interval(n, float(own.mean()), *ends)


def difference(a: Sequence[float], b: Sequence[float]) -> Interval:
    """The mean of b - a; a[i] and b[i] have the same seed, so that its common effect cancels.

    ValueError if the lengths differ or are 0.
    """
    # two infinite values, as of a flow that got nothing, do not differ
    return mean([to - of if to != of else 0.0 for of, to in zip(a, b, strict=True)])
