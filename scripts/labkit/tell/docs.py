# SPDX-License-Identifier: GPL-2.0
"""The numbers in documents, which the report writes.

A number is between two marks, which are comments:

    <!--= path-loss; mean('goodput_bps', 'bbr', case='1 %') / 1e6; {:.0f} Mb/s -->91 Mb/s<!--/-->

The first mark has the scenario, a measure in the syntax of findings, and the format of the number.
docs/numbers.json has the value of each number, its interval, and its commit.

held() in place of a measure counts the findings that hold, and all, in the records of the pages of
results.  held('TEXT') counts those whose claim has the text.  The scenario may then be a pattern:

    <!--= field-*; held('of the goodput'); {} of {} -->93 of 110<!--/-->
"""

import functools
import json
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..errors import LabError
from ..model import scenario
from ..model.scenario import Finding, Scenario
from ..paths import REPO
from . import findings, records
from .outcome import Key, Report, keys_of

DOCUMENTS = [REPO / "README.md", *sorted((REPO / "docs").glob("*.md"))]
NUMBERS = REPO / "docs/numbers.json"

_MARKED = re.compile(r"(<!--= (?P<scenario>[\w*-]+); (?P<measure>.+?); (?P<form>.+?) -->)"
                     r"(?P<text>[^<]*)(<!--/-->)")  # fmt: skip
_COUNTED = re.compile(r"held\((?:'([^']*)')?\)")


@dataclass(frozen=True)
class Mark:
    """A number in a document."""

    path: Path
    scenario: str
    measure: str
    form: str
    text: str

    @property
    def key(self) -> str:
        return f"{self.scenario}; {self.measure}"

    @property
    def counts(self) -> str | None:
        """The text in the claims of the findings that it counts; None if it counts none."""
        found = _COUNTED.fullmatch(self.measure)
        return found and (found[1] or "")

    @property
    def finding(self) -> Finding:
        return Finding(f"{self.path.name}: {self.text}", self.measure)

    @property
    def cells(self) -> set[Key]:
        return set(keys_of(self.of, self.finding))

    @property
    def of(self) -> Scenario:
        return _scenario(scenario.SCENARIOS, self.scenario)

    def write(self, *values: float) -> str:
        try:
            return self.form.format(*values)
        except (ValueError, IndexError, KeyError) as error:
            raise LabError(
                f"{self.path}: {self.form!r} is not the format of one number, such as"
                f" '{{:.1f}} s', or of two that are counted: {error}"
            ) from None

    def counted(self, known: dict[str, records.Record]) -> str:
        """Its text from the records of all scenarios; for a mark that counts."""
        found = [f for name, record in known.items() if fnmatchcase(name, self.scenario)
                 for f in record.found if (self.counts or "") in f.claim]  # fmt: skip
        return self.write(sum(f.holds is True for f in found), len(found))


@functools.cache
def _scenario(where: Path, name: str) -> Scenario:
    """Loads a scenario; cached, because documents have many numbers from each.

    where: the current scenario.SCENARIOS, part of the cache's key.
    """
    return scenario.load(name)


def marks(path: Path) -> list[Mark]:
    """The marks of a document; LabError if one names something that does not exist."""
    text = path.read_text()
    found = [_mark(path, match) for match in _MARKED.finditer(text)]
    if (begun := text.count("<!--=")) != len(found):
        raise LabError(f"{path}: {begun} times <!--=, but {len(found)} marks of the form"
                       " <!--= SCENARIO; MEASURE; FORM -->text<!--/-->")  # fmt: skip
    for mark in found:
        if not any(fnmatchcase(name, mark.scenario) for name in scenario.names()):
            raise LabError(f"{path}: no scenario {mark.scenario!r}")
        if mark.counts is None:
            findings.references(mark.of, mark.finding, "")
            mark.write(1.0)
        else:
            mark.write(1, 2)
    return found


def _mark(path: Path, match: re.Match[str]) -> Mark:
    return Mark(path, *(match[name] for name in ("scenario", "measure", "form", "text")))


def numbers() -> dict[str, Any]:
    """The numbers as the last report wrote them."""
    return json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}


def stale() -> list[str]:
    """The numbers in documents that differ from those that a report wrote."""
    known, counted = numbers(), records.load()

    def current(mark: Mark) -> bool:
        if mark.counts is not None:
            return mark.counted(counted) == mark.text
        return mark.key in known and mark.write(known[mark.key]["value"]) == mark.text

    return [
        f"{mark.path.name}: {mark.text!r}, {mark.key}"
        for path in DOCUMENTS
        for mark in marks(path)
        if not current(mark)
    ]


README = REPO / "README.md"
# The table of the demo, in a fenced block between two comments
_DEMO = re.compile(r"(<!--demo-->\n```\n).*?(\n```\n<!--/demo-->)", re.DOTALL)


def write_demo(text: str) -> bool:
    """Writes the table of the demo into README; returns whether it changed."""
    before = README.read_text()
    after, count = _DEMO.subn(lambda m: f"{m[1]}{text}{m[2]}", before)
    if count != 1:
        raise LabError(f"{README}: {count} fenced blocks between <!--demo--> and <!--/demo-->, and"
                       " one is needed")  # fmt: skip
    README.write_text(after)
    return after != before


def require_committed(report: Report) -> None:
    """LabError if the report has runs that were made with uncommitted changes."""
    if changed := [origin for origin in report.origins() if origin.endswith("changes")]:
        raise LabError(f"numbers in documents must be from a commit, not from {changed[0]}:"
                       " commit, and make the report again")  # fmt: skip


def write(report: Report) -> tuple[int, int]:
    """Writes the numbers for which a report has all runs; returns how many, and how many changed.

    A measure may also need cells of other scenarios.  LabError if there are runs that were made
    with uncommitted changes.
    """
    require_committed(report)
    known, written = numbers(), []
    for path in DOCUMENTS:
        wanted = [mark for mark in marks(path)
                  if mark.counts is None and mark.cells <= report.cells.keys()]  # fmt: skip
        there = {mark.key for mark in wanted}
        for mark in wanted:
            known[mark.key] = _measured(report, mark)
        written += [mark.write(known[mark.key]["value"]) != mark.text for mark in wanted]
        path.write_text(_MARKED.sub(
            lambda m, path=path, there=there: _filled(_mark(path, m), m, known, there),
            path.read_text(),
        ))  # fmt: skip
    used = {mark.key for path in DOCUMENTS for mark in marks(path) if mark.counts is None}
    NUMBERS.parent.mkdir(exist_ok=True)
    kept = {key: known[key] for key in sorted(known) if key in used}
    NUMBERS.write_text(json.dumps(kept, indent=1) + "\n")
    return len(written), sum(written)


def count() -> None:
    """Writes the numbers that count findings, from the records of the pages of results."""
    known = records.load()
    for path in DOCUMENTS:
        def filled(match: re.Match[str], path: Path = path) -> str:
            mark = _mark(path, match)
            return match[0] if mark.counts is None else (
                f"{match[1]}{mark.counted(known)}{match[6]}")  # fmt: skip

        path.write_text(_MARKED.sub(filled, path.read_text()))


def _measured(report: Report, mark: Mark) -> dict[str, Any]:
    found = report.measure(mark.of, mark.finding)
    if found.value is None:
        raise LabError(f"{mark.path}: {mark.key}: {found.why_not}")
    shown: dict[str, Any] = {"value": float(f"{found.value:.9g}")}
    if found.interval:
        shown["seeds"] = found.interval.n
        if found.interval.low is not None and found.interval.high is not None:
            shown["low"] = float(f"{found.interval.low:.9g}")
            shown["high"] = float(f"{found.interval.high:.9g}")
    return shown | {"made_of": report.origins()}


def _filled(mark: Mark, match: re.Match[str], known: dict[str, Any], there: set[str]) -> str:
    if mark.key not in there:
        return match[0]
    return f"{match[1]}{mark.write(known[mark.key]['value'])}{match[6]}"
