# SPDX-License-Identifier: GPL-2.0
"""Records of the results of scenarios, independent of their runs: files in docs/results/data.

Runs take hours, and are stored only on the machine that made them.  A record contains what the
pages of docs/results show of a scenario.  So another machine, with other runs or none, writes the
same pages, and knows the state of each claim.
"""

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from ..errors import LabError
from ..model.scenario import Finding, Scenario
from ..paths import REPO
from . import findings, page
from .claims import Judge
from .outcome import Measured, Report, every_key

RESULTS = REPO / "docs/results"
DATA = "data"


class Found(msgspec.Struct, frozen=True, array_like=True):
    """A finding, and its result: `holds` is None if it could not be measured."""

    claim: str
    measure: str  # result of short(); the scenario's file has the text
    kind: str
    wanted: str  # the bounds, in words
    measured: str = ""
    holds: bool | None = None


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """The results of a scenario's runs."""

    settings: str  # digest of the settings of its runs: see digest()
    kernel: str
    made_of: list[str]  # commits
    runs: int
    heads: list[str]  # of its table
    rows: list[list[str]]
    picture: str = ""  # caption of its picture; empty: no picture
    found: list[Found] = []
    grades: dict[str, dict[str, str]] = {}  # by quality and sender

    @property
    def held(self) -> int:
        return sum(f.holds is True for f in self.found)

    @property
    def failed(self) -> list[Found]:
        return [f for f in self.found if f.holds is False]

    def fits(self, of: Scenario) -> bool:
        """Whether the scenario has not changed since the runs."""
        return self.settings == digest(of)

    def holds(self, finding: Finding) -> bool | None:
        """Whether a finding holds; None if it was not measured, or had other bounds."""
        asked = finding.claim, short(finding.measure), page.bound(finding)
        same = (f.holds for f in self.found if (f.claim, f.measure, f.wanted) == asked)
        return next(same, None)


def digest(of: Scenario) -> str:
    """The digest of the parts of a scenario that determine its runs and their metrics."""
    return short([of.seeds, of.column, of.case, of.settings, of.metrics])


def short(what: Any) -> str:
    """A short digest, to check for changes."""
    return hashlib.sha256(msgspec.json.encode(what)).hexdigest()[:12]


def whole(report: Report, of: Scenario) -> bool:
    """Whether a report has all runs that a scenario and its findings need.

    If all findings have a share of the cases, a few runs may be missing because of the lab's
    limits: such a finding reports how many are not measured.
    """
    keys = every_key(of)
    cells = (report.cells.get(key) for key in keys)
    there = sum(bool(cell and (cell.runs or cell.key in report.skipped)) for cell in cells)
    few = findings.MISSING if of.finding and all(f.share for f in of.finding) else 0
    return len(keys) - there <= few * len(keys)


def record(report: Report, of: Scenario, picture: str) -> Record:
    """Makes the record of a scenario from a report; picture: its caption."""
    cells = report.of(of)
    heads, rows = page.short_table(report, of, cells)
    return Record(
        digest(of), report.release, report.origins(of), sum(len(cell.runs) for cell in cells),
        heads, rows, picture,
        [_found(report.measure(of, f), f) for f in of.finding],
        {quality.what: {cc: grade.text for cc, grade in by.items()}
         for quality, by in page.grades(report, [of]).items()},
    )  # fmt: skip


def _found(measured: Measured, finding: Finding) -> Found:
    return Found(finding.claim, short(finding.measure), finding.kind, page.bound(finding),
                 page.measured_text(measured), measured.holds)  # fmt: skip


def load() -> dict[str, Record]:
    """Reads all records, by the scenario's name."""
    found = {}
    for path in sorted((RESULTS / DATA).glob("*.json")):
        try:
            found[path.stem] = msgspec.json.decode(path.read_bytes(), type=Record)
        except msgspec.MsgspecError as error:
            raise LabError(f"{path}: {error}; `git checkout` it, or delete it and make the report"
                           f" of {path.stem} again") from None  # fmt: skip
    return found


def save(results: Path, name: str, of: Record) -> None:
    """Writes a record into the directory results."""
    (results / DATA).mkdir(exist_ok=True)
    (results / DATA / f"{name}.json").write_bytes(msgspec.json.encode(of) + b"\n")


def judge(known: dict[str, Record]) -> Judge:
    """A Judge that uses records."""

    def holds(of: Scenario, finding: Finding) -> bool | None:
        found = known.get(of.name)
        return found.holds(finding) if found and found.fits(of) else None

    return holds
