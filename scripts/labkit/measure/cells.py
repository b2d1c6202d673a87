# SPDX-License-Identifier: GPL-2.0
"""Runs grouped by cell, a column of a scenario in a case: means over the seeds, and differences
between cells over the same seeds."""

from . import intervals
from .intervals import Interval
from .metrics import Json, at_least
from .statistics import rounded

Key = tuple[str, str, str]  # scenario, column or congestion control, case

# The metrics for comparing cells, and whether more is better (1) or worse (-1).  A transfer that
# did not end counts with the time until the timeout; requests, short flows and programs that did
# not end are counted in separate metrics.
DIRECTIONS = {
    "goodput_bps": 1, "utilization": 1, "jain": 1, "completion_s": -1, "rtt_mean_s": -1,
    "queue_mean": -1, "queue_max": -1, "drops": -1, "retransmits": -1, "request_p95_s": -1,
    "requests_unanswered": -1, "short_completion_s": -1, "short_unfinished": -1,
    "voice_p99_s": -1, "voice_loss": -1, "ask_p95_s": -1, "ask_unanswered": -1,
    "video_bitrate_bps": 1, "video_rebuffer_s": -1, "video_startup_s": -1, "video_switches": -1,
    "program_s": -1, "program_unfinished": -1,
}  # fmt: skip


def key(run: Json) -> Key:
    """The key of a run's cell."""
    return run["scenario"], run.get("column", run["cc"]), run.get("case", "")


def by_cell(results: list[Json]) -> dict[Key, list[Json]]:
    """The runs of each cell, in the order of results."""
    found: dict[Key, list[Json]] = {}
    for run in results:
        found.setdefault(key(run), []).append(run)
    return found


def means(runs: list[Json]) -> dict[str, Interval]:
    """The mean of each metric over a cell's runs in which it was measured, in the metric's unit."""
    found = {}
    for name in DIRECTIONS:
        values = [v for run in runs if (v := at_least(run, name)) is not None]
        if values:
            found[name] = intervals.mean(values)
    return found


def differences(a: list[Json], b: list[Json]) -> dict[str, Interval]:
    """The mean of b - a of each metric, in its unit, over the seeds for which both measured it.

    If there are several runs with a seed, the last one counts.
    """
    first, second = ({run["seed"]: run for run in runs} for runs in (a, b))
    shared = [seed for seed in first if seed in second]
    found = {}
    for name in DIRECTIONS:
        both = [(at_least(first[seed], name), at_least(second[seed], name)) for seed in shared]
        pairs = [pair for pair in both if None not in pair]
        if pairs:
            found[name] = intervals.difference(*zip(*pairs, strict=True))
    return found


def reference(cells: dict[Key, list[Json]], of: Key) -> Key | None:
    """The cell to compare with: that of the first column in the same case; None if it is of."""
    first = next(k for k in cells if (k[0], k[2]) == (of[0], of[2]))
    return None if first == of else first


def with_cells(results: list[Json]) -> list[Json]:
    """The results, each with an additional `cell`: a summary of all runs of its cell.

    It has `seeds`, their number; and `metrics`: by name n, mean, low and high (the last two only if
    n is at least 2).  If it is not that of the first column it also has `differences`: `to`, the
    first column, and `metrics`, this column minus the first one over the same seeds.
    """
    cells = by_cell(results)
    told: dict[Key, Json] = {}
    for own, runs in cells.items():
        found = means(runs)
        told[own] = {"seeds": len(runs), "metrics": {k: v.json() for k, v in found.items()}}
        other = reference(cells, own)
        if other and (less := differences(cells[other], runs)):
            of = {k: v.json() for k, v in less.items()}
            told[own]["differences"] = {"to": other[1], "metrics": of}
    return [run | {"cell": rounded(told[key(run)])} for run in results]
