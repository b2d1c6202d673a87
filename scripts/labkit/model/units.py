# SPDX-License-Identifier: GPL-2.0
"""Parsers of single values: numbers, rates, sizes, times, shares.

Each function parses a text, or makes a function that does.  The text of a ValueError says which
values are accepted.
"""

import math
import re
from collections.abc import Callable

_DECIMAL = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
LEAST_RATE, MOST_RATE = 1000, 400_000_000_000  # bit/s
_SECONDS = {"": 1, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def number(text: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise ValueError(f"a number from {low:g} to {high:g}")
    return value


def count(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"\d{1,12}", text) or not low <= int(text) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return parse


def rate(text: str) -> int:
    """Parses a rate as tc writes it, such as 100mbit; returns bit/s."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)(?:bit|bps)?", text.lower())
    value = round(float(found[1]) * _DECIMAL[found[2]]) if found else 0
    if text.lower().endswith("bps") or not LEAST_RATE <= value <= MOST_RATE:
        raise ValueError("a rate from 1kbit to 400gbit, such as 100mbit")
    return value


def size(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)b?", text.lower())
    value = round(float(found[1]) * _DECIMAL[found[2]]) if found else 0
    if not 1 <= value <= 10**13:
        raise ValueError("a number of bytes from 1 to 10T, such as 100M")
    return value


def time(low: float, high: float) -> Callable[[str], float]:
    """Makes a parser of times as tc writes them, such as 40ms; a number without unit is seconds."""

    def parse(text: str) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?(?:e-?\d+)?)(s|ms|us|ns|)", text.lower())
        # Round to nanoseconds, the kernel's resolution.
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


def share(most: float) -> Callable[[str], float]:
    """Makes a parser of a share from 0 to most: a number, or a percentage such as 5%."""

    def parse(text: str) -> float:
        scale, digits = (100, text[:-1]) if text.endswith("%") else (1, text)
        return number(digits, 0, most * scale) / scale

    return parse


def choice(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(" or ".join(allowed))
        return text

    return parse


def on_off(text: str) -> bool:
    return choice("on", "off")(text) == "on"


seconds = time(0, 1e6)
loss = share(0.5)
