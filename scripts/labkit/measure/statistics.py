# SPDX-License-Identifier: GPL-2.0
"""Arithmetic on measurements."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def jain(rates: Sequence[float]) -> float | None:
    """Jain's fairness index; None if all rates are 0, because it is not defined then."""
    squares = sum(r * r for r in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else None


def weighted(values: np.ndarray, weights: np.ndarray) -> float:
    """The mean of one or more samples, each weighted by the time since the sample before it.

    If all weights are 0, the samples count equally: a flow may have only one sample, at its start.
    """
    return np.average(values, weights=weights if weights.any() else None)


def over_time(times: np.ndarray, values: np.ndarray, since: float) -> float:
    """The mean of samples from since on, weighted by time, because intervals may become longer."""
    return weighted(values, np.diff(times, prepend=since))


def rounded(value: Any) -> Any:
    """A value with all floats rounded to nine digits, so that it does not depend on the order in
    which a library adds."""
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(v) for v in value]
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.9g}")
    return value
