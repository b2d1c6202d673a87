# SPDX-License-Identifier: GPL-2.0
"""Reads the samples of a run."""

import gzip
import re
from pathlib import Path

import numpy as np

# Columns of a link's series: time, queue, bytes sent; for acp its rate for each flow, and its
# estimated number of flows; for estcp the number of the phase; for all the longest queue since the
# last sample, and the mean queue since then.
LINK_COLUMNS = (0, 2, 5, 7, 8, 10, 11, "queue_mean")


def queue_of(links: np.ndarray) -> np.ndarray:
    """The queue in a series with LINK_COLUMNS, packets, a value for each sample.

    It is the mean of the interval, which the lab's link measures; without it, the queue at the end
    of the interval.
    """
    return np.where(np.isnan(links[:, 7]), links[:, 1], links[:, 7])


def series(path: Path, columns: tuple[int | str, ...]) -> np.ndarray:
    """Reads columns of a series, by number or name; empty fields are nan.

    A column that does not exist is nan, too: the fields of a sender exist only if it reports them.
    """
    header, _, rows = text(path).partition("\n")
    rows = rows[: rows.rfind("\n") + 1]  # complete rows only: the run may still write
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
    """The text of a file, or of its compressed version if that exists."""
    packed = path.with_name(f"{path.name}.gz")
    return gzip.decompress(packed.read_bytes()).decode(errors="replace") if packed.exists() else (
        path.read_text(errors="replace"))
