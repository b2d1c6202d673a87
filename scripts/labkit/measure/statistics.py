# SPDX-License-Identifier: GPL-2.0
"""Arithmetic on what was measured."""

from typing import Any

import numpy as np


def jain(rates: list[float]) -> float:
    """Jain's fairness index."""
    squares = sum(r * r for r in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 1.0


def rounded(value: Any) -> Any:
    """Nine digits: all that was measured, and nothing of how a library adds."""
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(v) for v in value]
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.9g}")
    return value
