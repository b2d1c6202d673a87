# SPDX-License-Identifier: GPL-2.0
"""Arithmetic on what was measured."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def jain(rates: Sequence[float]) -> float | None:
    """Jain's fairness index; None if nobody has anything, which is neither fair nor unfair."""
    squares = sum(r * r for r in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else None


def weighted(values: np.ndarray, weights: np.ndarray) -> float:
    """The mean of at least one sample, each weighted by the time since the sample before it.

    All count alike if that is no time: a flow may have one sample, at the moment it begins.
    """
    return np.average(values, weights=weights if weights.any() else None)


def over_time(times: np.ndarray, values: np.ndarray, since: float) -> float:
    """The mean of samples over time from since on: intervals between them may become longer."""
    return weighted(values, np.diff(times, prepend=since))


def rounded(value: Any) -> Any:
    """Nine digits: all that was measured, and nothing of how a library adds."""
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(v) for v in value]
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.9g}")
    return value
