# SPDX-License-Identifier: GPL-2.0
"""Compares two sets of results, run by run.

A set is a file that `scripts/lab run --json` wrote, a directory of such files (or one that
`scripts/lab run --out` filled), or a commit: the runs in the store that were made from this commit
without uncommitted changes, or that a report of this commit used.
"""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from ..errors import LabError
from . import provenance, store
from .cells import DIRECTIONS, Key, differences, key
from .intervals import FEW, Interval
from .metrics import Json, at_least


@dataclass(frozen=True)
class Row:
    """A metric of a cell over the seeds in both sets: the means a and b, and their difference."""

    cell: Key
    metric: str
    a: float
    b: float
    difference: Interval

    @property
    def changed(self) -> bool:
        """Whether a run differs from the same run of the other set."""
        return any((self.difference.value, self.difference.low, self.difference.high))

    @property
    def verdict(self) -> str:
        """worse or better if the interval excludes 0; else empty, also for one seed."""
        low, high = self.difference.low, self.difference.high
        if low is None or low <= 0 <= high:
            return ""
        return "better" if (low > 0) == (DIRECTIONS[self.metric] > 0) else "worse"

    def json(self) -> Json:
        """An object in SI units; low, high and verdict are absent if they have no value."""
        scenario, column, case = self.cell
        shown = {"scenario": scenario, "cc": column} | ({"case": case} if case else {})
        shown |= {"metric": self.metric, "n": self.difference.n, "a": self.a, "b": self.b}
        shown["difference"] = self.difference.value
        if self.difference.low is not None:
            shown |= {"low": self.difference.low, "high": self.difference.high}
        return shown | ({"verdict": self.verdict} if self.verdict else {})


@dataclass
class Comparison:
    """All rows, ordered by cell, and notes on the two sets."""

    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def of(self, verdict: str) -> list[Row]:
        return [row for row in self.rows if row.verdict == verdict]


# Reading ----------------------------------------------------------------------------------------


def read(text: str) -> list[Json]:
    """Reads the results of a set; text is a file, a directory or a commit.

    LabError of status 2 if it is none of these, or if its content is not a result.
    """
    path = Path(text)
    try:
        if path.is_dir():
            paths = sorted([*path.glob("*.json"), *path.glob("*/result.json")])
            results = [run for one in paths for run in _of_file(one)]
        elif path.exists():
            results = _of_file(path)
        else:
            results = _of_commit(text)
    except OSError as error:
        _refuse(f"{error.filename or text}: {error.strerror}")
    if not results:
        _refuse(f"{text}: it has no results")
    seen = set()
    for run in results:
        name = (*key(run), run["seed"])
        if name in seen and not _kept(run):
            _refuse(f"{text}: more than one run of {_words(key(run))}, seed {run['seed']}")
        seen.add(name)
    return results


def _kept(run: Json) -> bool:
    """Whether a run is in the report's store, so that its directory's name is its identity."""
    return Path(run.get("series", "")).parent == store.root()


def _refuse(message: str) -> NoReturn:
    raise LabError(message, status=2)


def _of_file(path: Path) -> list[Json]:
    try:
        content = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        _refuse(f"{path} is not JSON: {error}")
    found = content if isinstance(content, list) else [content]
    for place, run in enumerate(found):
        if wrong := _fault(run):
            _refuse(f"{path}: entry {place + 1} is not a result of scripts/lab run: {wrong}")
    return found


_KINDS = {"scenario": str, "cc": str, "seed": int, "settings": dict, "flows": list, "links": list}


def _fault(run: Any) -> str:
    """The error in a result; empty if there is none."""
    if not isinstance(run, dict):
        return "not an object"
    for name, kind in _KINDS.items():
        if not isinstance(run.get(name), kind):
            return f"its {name} is missing or has a wrong type"
    if not all(isinstance(run.get(name, ""), str) for name in ("column", "case")):
        return "its column or case is not text"
    if not all(isinstance(part, dict) for part in (*run["flows"], *run["links"])):
        return "one of its flows or links is not an object"
    for name in DIRECTIONS:
        try:
            found = at_least(run, name)
            if found is not None and not math.isfinite(found):
                return f"its {name} is not a number"
        except (TypeError, AttributeError, ArithmeticError, KeyError):
            return f"its {name} is not a number"
    return ""


def _of_commit(text: str) -> list[Json]:
    commit = provenance.git("rev-parse", "--verify", "--quiet", "--end-of-options",
                            f"{text}^{{commit}}")  # fmt: skip
    if not commit:
        _refuse(f"{text}: not a file, a directory or a commit")
    made_of = provenance.source(commit)
    found = sorted((run for run in store.of_commit(made_of) if not _fault(run)),
                   key=lambda run: (key(run), run["seed"]))  # fmt: skip
    if not found:
        _refuse(f"{text}: the store has no run made of that commit without changes; to make the"
                " runs, check out the commit and run scripts/lab report")  # fmt: skip
    return found


# Comparing --------------------------------------------------------------------------------------


def compare(a: list[Json], b: list[Json]) -> Comparison:
    """Compares the runs of two sets with the same scenario, column, case and seed.

    a, b: results of read().  LabError of status 2 if they have no run or metric in common.
    """
    made = Comparison()
    first, second = (_by_name(runs) for runs in _single(a, b, made.notes))
    shared = [name for name in first if name in second]
    if not shared:
        _refuse("the two sets have no run with the same scenario, column, case and seed in common")
    shared = _read_alike(first, second, shared, made.notes)
    for cell in dict.fromkeys(own for own, _ in shared):
        seeds = [seed for own, seed in shared if own == cell]
        runs = [[of[cell, seed] for seed in seeds] for of in (first, second)]
        for metric, less in differences(*runs).items():
            both = [[at_least(run, metric) for run in of] for of in runs]
            pairs = [pair for pair in zip(*both, strict=True) if None not in pair]
            of_a, of_b = (sum(of) / len(pairs) for of in zip(*pairs, strict=True))
            made.rows.append(Row(cell, metric, of_a, of_b, less))
        if any(one["settings"] != other["settings"] for one, other in zip(*runs, strict=True)):
            made.notes.append(f"{_words(cell)}: settings differ")
    if not made.rows:
        _refuse("the runs that the two sets have in common share no metric")
    if single := len({row.cell for row in made.rows if row.difference.n == 1}):
        made.notes.append(f"{single} cells have one seed in common: their metrics have no interval;"
                          " only the values are compared")  # fmt: skip
    if few := len({row.cell for row in made.rows if 1 < row.difference.n <= FEW}):
        made.notes.append(f"{few} cells have 2 or {FEW} seeds in common: if only chance changes a"
                          " metric, it is worse beyond its interval in a quarter or an eighth"
                          " of the cases")  # fmt: skip
    for name, of, other in (("A", first, second), ("B", second, first)):
        if alone := sum(run not in other for run in of):
            made.notes.append(f"{alone} of {len(of)} runs of {name} are not in the other set")
    return made


def _by_name(runs: list[Json]) -> dict[tuple[Key, int], Json]:
    return {(key(run), run["seed"]): run for run in runs}


def _single(a: list[Json], b: list[Json], notes: list[str]) -> list[list[Json]]:
    """Both sets with at most one run of a name and seed.

    A commit may have several, with different kernels.  Then the run is the one whose identity is
    in both sets; if there is none, or more than one, it is left out, and a note says so.
    """
    names = [{Path(run.get("series", "")).name for run in runs} for runs in (a, b)]
    found = []
    for name, runs, others in (("A", a, names[1]), ("B", b, names[0])):
        of: dict[tuple[Key, int], list[Json]] = {}
        for run in runs:
            of.setdefault((key(run), run["seed"]), []).append(run)
        kept = []
        for same in of.values():
            both = [run for run in same if Path(run.get("series", "")).name in others]
            kept += same if len(same) == 1 else both if len(both) == 1 else []
        if left := len(of) - len(kept):
            notes.append(f"{left} runs of {name} are left out: the store has several of the same"
                         " name and seed, of other kernels or settings")  # fmt: skip
        found.append(kept)
    return found


def _read_alike(
    first: dict[tuple[Key, int], Json], second: dict[tuple[Key, int], Json],
    shared: list[tuple[Key, int]], notes: list[str],
) -> list[tuple[Key, int]]:  # fmt: skip
    """The names in shared of which both runs were computed from their samples by the same code.

    If the code differs, kept runs are computed again.
    """
    def code(run: Json) -> str:
        return run.get("provenance", {}).get("measuring", "")

    found, apart = [], 0
    for name in shared:
        for of in (first, second):
            run = of[name]
            if code(first[name]) != code(second[name]) and _kept(run):
                of[name] = store.read_again(Path(run["series"]), run) or run
        differ = code(first[name]) != code(second[name])
        if not differ or not (_kept(first[name]) or _kept(second[name])):
            found.append(name)
        apart += differ
    if apart and len(found) == len(shared):
        notes.append(f"{apart} runs were computed from their samples by other code in A than in B")
    elif apart:
        notes.append(f"{len(shared) - len(found)} runs are left out: other code computed them from"
                     " their samples in A than in B, and they cannot be read again, for example"
                     " because their scenario has changed since")  # fmt: skip
    if not found:
        _refuse("all runs in common were computed from their samples by other code in A than in B,"
                " and cannot be read again")
    return found


def _words(cell: Key) -> str:
    return " ".join(filter(None, cell))
