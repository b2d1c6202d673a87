# SPDX-License-Identifier: GPL-2.0
"""Reads what was sampled in the course of a run."""

import gzip
import re
from pathlib import Path

import numpy as np

# Of a link's series: time, queue, bytes sent; of kind acp the rate that it wants of each flow, and
# how many flows it takes to be there; of kind estcp the number of the phase; of all the longest
# queue since the sample before, and the mean of the queue since then.
LINK_COLUMNS = (0, 2, 5, 7, 8, 10, 11, "queue_mean")


def queue_of(links: np.ndarray) -> np.ndarray:
    """The queue in a series of these columns: of each interval its mean, where the lab's own link
    tells it of every packet; else what there was at its end."""
    return np.where(np.isnan(links[:, 7]), links[:, 1], links[:, 7])


def series(path: Path, columns: tuple[int | str, ...]) -> np.ndarray:
    """Columns of a series, by number or name; what a row leaves empty is not a number.

    Nor is a column that the series lacks: a sender's fields are there if it has told any.
    """
    header, _, rows = text(path).partition("\n")
    rows = rows[: rows.rfind("\n") + 1]  # whole ones, while a run goes on
    if not rows:
        return np.empty((0, len(columns)))
    whole = re.sub(r",(?=[,\n])", ",nan", rows)
    names = header.split(",")
    at = [names.index(c) if c in names else c for c in columns]
    there = [k for k, c in enumerate(at) if not isinstance(c, str)]
    table = np.loadtxt(whole.splitlines(), delimiter=",", usecols=[at[k] for k in there], ndmin=2)
    found = np.full((len(table), len(columns)), np.nan)
    found[:, there] = table
    return found


def text(path: Path) -> str:
    """Of a file, or of the packed one in its place."""
    packed = path.with_name(f"{path.name}.gz")
    return gzip.decompress(packed.read_bytes()).decode(errors="replace") if packed.exists() else (
        path.read_text(errors="replace"))
