# SPDX-License-Identifier: GPL-2.0
"""Sweeps: settings that have several values, with a run for each combination."""

from collections.abc import Iterable
from itertools import product
from math import prod

from .settings import KEYS, check_keys, usage

MOST = 10_000  # points

# Keys whose value may be a list: a list that one of them refuses is an error, and no sweep.
LISTS = ("rtt", "trace", "jitter_back", "mix", "stop", "program", "stages", "blackout", "switch",
         "lie", "cross", "change", "param", "host")  # fmt: skip


def points(
    sets: Iterable[str], sweeps: Iterable[str]
) -> tuple[list[str], list[tuple[str, ...]]]:  # fmt: skip
    """The KEY=VALUE that all runs have, and those of each point of the sweep (at least one point).

    A --set is a sweep, too, if its key takes no list, and accepts each part between commas.
    """
    fixed, swept = [], []
    for text in sets:
        values = _parts(text)
        single = text.partition("=")[0] not in LISTS
        if values and single and not _takes(text) and all(map(_takes, values)):
            swept.append(values)
        else:
            fixed.append(text)
    for text in sweeps:
        values = _parts(text)
        if not values:
            raise usage(f"--sweep {text}: write KEY=A,B,C, with KEY of: {', '.join(KEYS)}")
        check_keys([text.partition("=")[0]])
        swept.append(values)
    keys = [values[0].partition("=")[0] for values in swept]
    if twice := [key for key in keys if keys.count(key) > 1]:
        raise usage(f"two sweeps of {twice[0]}: give all its values in one")
    if prod(map(len, swept)) > MOST:
        raise usage(f"a sweep of more than {MOST} points: divide it into several")
    return fixed, list(product(*swept))


def _parts(text: str) -> list[str]:
    """KEY=VALUE for each value of KEY=LIST; empty if the values are empty or not distinct."""
    key, equals, values = text.partition("=")
    parts = values.split(";" if ";" in values else ",")
    if not equals or not all(parts) or len({*parts}) < len(parts):
        return []
    return [f"{key}={part.strip()}" for part in parts]


def _takes(text: str) -> bool:
    key, _, value = text.partition("=")
    try:
        return key in KEYS and KEYS[key].parse(value.strip()) is not None
    except ValueError:
        return False
