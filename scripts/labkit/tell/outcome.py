# SPDX-License-Identifier: GPL-2.0
"""The data of a report: the runs of scenarios by cell, and the measured findings."""

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..measure.intervals import Interval
from ..model import scenario
from ..model.scenario import Case, Column, Finding, Scenario
from . import findings

COMMITS_SHOWN = 4  # of the runs of a report, in its head

Key = tuple[str, str, str]  # scenario, column, case


@dataclass
class Cell:
    """The runs of a column in a case."""

    scenario: Scenario
    column: Column
    case: Case | None
    runs: list[Any] = field(default_factory=list)  # one per seed
    options: tuple[str, ...] = ()  # of its command: see Laboratory.options

    @property
    def name(self) -> str:
        return f"{self.column.name}, {self.case.name}" if self.case else self.column.name

    @property
    def key(self) -> Key:
        return self.scenario.name, self.column.name, self.case.name if self.case else ""

    @property
    def command(self) -> str:
        """The command that repeats its runs."""
        of = self.scenario
        parts = ["scripts/lab", "run", of.words, "--cc", self.column.name]
        parts += ["--case", self.case.name] if self.case else []
        parts += ["--seeds", f"1-{of.seeds}"] if of.seeds > 1 else []
        if of.judged != (scenario.DEFAULT_SENDER,):
            parts += [word for sender in of.judged for word in ("--sender", sender)]
        parts += ["--draw", str(of.drawn.seed)] if of.drawn else []
        return shlex.join([*parts, *self.options])

    @property
    def first(self) -> Path:
        """The directory with the series of the first run."""
        return Path(self.runs[0]["series"])

    def values(self, metric: str) -> list[float]:
        """A metric of each run; for a flow that did not finish see given()."""
        found = [findings.at_least(self.scenario, run, metric) for run in self.runs]
        return [v for v in found if v is not None]

    def unfinished(self, metric: str) -> int:
        """The number of runs in which a metric was not measured."""
        return sum(findings.value(self.scenario, run, metric) is None for run in self.runs)


@dataclass
class Measured:
    """A finding, and its result."""

    scenario: Scenario
    finding: Finding
    value: float | None = None
    unfinished: int = 0  # runs that did not finish: see given()
    runs: int = 0
    why_not: str = ""
    interval: Interval | None = None  # of the value; None if the measure uses only models
    keys: tuple[Key, ...] = ()  # of the cells that the measure uses
    worst: str = ""  # the worst case of a finding with a share

    @property
    def senders(self) -> tuple[str, ...]:
        """The congestion controls in the runs of the finding."""
        found = []
        for name, column, case in self.keys:
            of = self.scenario if name == self.scenario.name else scenario.load(name)
            found += of.senders(of.column_of(column), of.case_of(case) if case else None)
        return tuple(dict.fromkeys(found))

    @property
    def holds(self) -> bool | None:
        """Whether the finding holds; None if it could not be measured."""
        return None if self.value is None else findings.holds(self.finding, self.value)


def _worst(finding: Finding, values: list[tuple[str, float]]) -> str:
    """A text with the case that is farthest beyond a bound, or else nearest to one."""
    name, value = min(values, key=lambda v: min(v[1] - finding.low, finding.high - v[1]))
    return f"{value:.3g} in {name}"


def keys_of(of: Scenario, finding: Finding) -> list[Key]:
    """The keys of the cells that a finding needs."""
    found = []
    for reference in findings.references(of, finding):
        other = scenario.load(reference.scenario) if reference.scenario else of
        found += [(other.name, column, case) for column, case in reference.cells(other)]
    return found


def every_key(of: Scenario) -> list[Key]:
    """The keys of all cells that a scenario and its findings need."""
    mine = [(of.name, column.name, case) for case in of.case_names for column in of.column]
    return [*dict.fromkeys(mine + [key for f in of.finding for key in keys_of(of, f)])]


@dataclass
class Report:
    """The runs of a report, and the cells without runs."""

    release: str
    cells: dict[Key, Cell] = field(default_factory=dict)
    skipped: dict[Key, str] = field(default_factory=dict)  # the reason
    failed: list[tuple[str, str]] = field(default_factory=list)  # a run, and its error
    failed_cells: set[Key] = field(default_factory=set)
    options: tuple[str, ...] = ()  # of commands that make its runs: see Laboratory.options
    asked: tuple[str, ...] = ()  # further options of the command that made it, such as --cc
    made: int = 0
    reused: int = 0
    wall_s: float = 0.0

    def of(self, one: Scenario) -> list[Cell]:
        return [cell for key, cell in self.cells.items() if key[0] == one.name]

    def command(self, one: Scenario) -> str:
        """The command that makes all runs of a scenario again."""
        words = ["scripts/lab", "report", one.words, *self.asked, *self.options]
        return shlex.join(words)

    def origins(self, one: Scenario | None = None) -> list[str]:
        """The commits of all runs, or of a scenario's runs, with a remark if there were uncommitted
        changes."""
        cells = self.of(one) if one else self.cells.values()
        made = (run["provenance"] for cell in cells for run in cell.runs)
        found = {(p.get("commit", ""), p.get("clean", False)) for p in made}
        return sorted(
            (commit[:12] or "no commit") + ("" if clean else ", with changes")
            for commit, clean in found
        )

    @property
    def made_from(self) -> str:
        """The commits of all runs in words, a few of them by name."""
        found = self.origins()
        more = len(found) - COMMITS_SHOWN
        said = "; ".join(found[:COMMITS_SHOWN]) or "nothing"
        return f"{said}; and {more} more commits" if more > 0 else said

    def left_out(self) -> dict[str, list[str]]:
        """The columns that were not run, by the reason."""
        found: dict[str, list[str]] = {}
        for (_, column, _), why in self.skipped.items():
            if column not in found.setdefault(why, []):
                found[why].append(column)
        return found

    def lookup(self, name: str, column: str, case: str) -> list[Any]:
        """All runs of a cell; NotMeasuredError if one is missing."""
        key = (name, column, case)
        if key in self.skipped:
            raise findings.NotMeasuredError(f"{column}: {self.skipped[key]}")
        if key not in self.cells:
            raise findings.NotMeasuredError("not run yet")
        if key in self.failed_cells or not self.cells[key].runs:
            raise findings.NotMeasuredError(f"a run of {name} {column} {case} failed")
        return self.cells[key].runs

    def measure(self, of: Scenario, finding: Finding) -> Measured:
        keys = dict.fromkeys(keys_of(of, finding))
        measured = Measured(of, finding, keys=tuple(keys))
        try:
            measured.value = findings.measure(of, finding, self.lookup)
            measured.interval = findings.interval(of, finding, self.lookup)
            if finding.share:
                values = findings.by_case(of, finding, self.lookup)
                measured.worst = _worst(finding, values)
                if missing := len(finding.cases) - len(values):
                    measured.worst += f"; {missing} cases not measured"
                return measured
        except findings.NotMeasuredError as error:
            measured.why_not = str(error) or "one of its runs has no such metric"
            return measured
        for reference in findings.references(of, finding):
            other = scenario.load(reference.scenario) if reference.scenario else of
            for column, case in reference.cells(other):
                runs = self.lookup(other.name, column, case)
                values = [findings.value(other, r, reference.metric) for r in runs]
                measured.runs += len(runs)
                measured.unfinished += values.count(None)
        return measured
