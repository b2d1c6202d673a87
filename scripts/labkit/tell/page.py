# SPDX-License-Identifier: GPL-2.0
"""The content of the report's page, and of the page of the claims; templates/ has the layout.

Each page is a single file that includes its style, program, pictures and runs.
"""

import base64
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import escape
from msgspec.structs import replace

from ..measure import cells as of_cells
from ..measure import intervals
from ..measure.intervals import Interval
from ..measure.metrics import split
from ..model.scenario import KINDS, Finding, Quality, Scenario
from . import claims, findings, plot
from .claims import Judge, Paper
from .outcome import Cell, Key, Measured, Report

MANY = 40  # findings of a scenario, or rows of its table: more than so many are folded
LONG = 150  # rows of a short table: more would hide what they compare
FEW_CELLS = 4  # a finding with more cells shows the command for the whole scenario


# Numbers ----------------------------------------------------------------------------------------


def _rate(bps: float) -> str:
    for size, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if bps >= size:
            return f"{bps / size:.3g} {unit}"
    return f"{bps:.3g} b/s"


def _plain(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _share(value: float) -> str:
    return f"{value * 100:.3g} %"


# The names of metrics in a table, and the format of their numbers.
_METRICS: dict[str, tuple[str, Callable[[float], str]]] = {
    "completion_s": ("time, s", lambda v: f"{v:.2f}" if v < 100 else f"{v:.1f}"),
    "goodput_bps": ("goodput", _rate),
    "utilization": ("utilization", lambda v: f"{v:.3f}"),
    "jain": ("Jain's index", lambda v: f"{v:.3f}"),
    "jain_equilibrium": ("Jain's index, second half", lambda v: f"{v:.3f}"),
    "window_jain": ("Jain's index of windows", lambda v: f"{v:.3f}"),
    "queue_mean": ("mean queue", _plain),
    "queue_max": ("max queue", _plain),
    "capacity_error": ("capacity off by", _share),
    "buffer_error": ("buffer off by", _share),
    "level_error": ("level off by", _share),
}
_ALWAYS = ("goodput_bps", "retransmits", "utilization", "queue_mean", "queue_max", "drops")


def _words(metric: str) -> str:
    found = split(metric)
    name = _METRICS.get(found.base, (found.base.replace("_", " "),))[0]
    flows = found.which.replace("link", "link ")
    if found.which.isdecimal():
        flows = f"flow {int(found.which) + 1}"
    elif found.which[:1].isdecimal():
        flows = "flows {} to {}".format(*(int(n) + 1 for n in found.which.split("-")))
    stage = "" if found.stage is None else f"stage {found.stage + 1}"
    return ", ".join(filter(None, (name, flows, stage)))


def _text(metric: str, value: float) -> str:
    return _METRICS.get(split(metric).base, ("", _plain))[1](value)


def bound(finding: Finding) -> str:
    """The bounds of a finding in words."""
    low, high = finding.low, finding.high
    if finding.share:
        return f"{bound(replace(finding, share=0.0))} in {_share(finding.share)} of the cases"
    if low == float("-inf"):
        return f"at most {_plain(high)}"
    return f"at least {_plain(low)}" if high == float("inf") else f"{_plain(low)} to {_plain(high)}"


def measured_text(of: Measured) -> str:
    """The measured value of a finding, its interval, and the worst case if it has a share."""
    if of.value is None:
        return ""
    return _plain(of.value) + _spread(of.interval) + (f"; {of.worst}" if of.worst else "")


def _seeds(n: int) -> str:
    return f"{n} seeds" if n > 1 else "one seed"


def _same(n: int) -> str:
    return f"the same in all {n} seeds"


def _between(found: Interval, text: Callable[[float], str]) -> str:
    """The interval as text, with the number of seeds if they are few."""
    if found.same:
        return _same(found.n)
    if found.low is None:
        return "one seed" if found.n == 1 else ""
    few = f" (n={found.n})" if found.n <= intervals.FEW else ""
    return f"{text(found.low)} to {text(found.high)}{few}"


def _spread(found: Interval | None) -> str:
    if not found:
        return ""
    if found.same:
        return f" ({_same(found.n)})"
    if found.low is None:
        return f" ({_seeds(found.n)})"
    return f" (95 %: {_plain(found.low)} to {_plain(found.high)}; {_seeds(found.n)})"


# Qualities of senders ---------------------------------------------------------------------------


@dataclass
class Grade:
    """A quality of a sender."""

    quality: Quality
    measured: Measured

    @property
    def name(self) -> str:
        good, bad = self.quality.good, self.quality.bad
        place = (self.measured.value - bad) / (good - bad)
        return "good" if place >= 1 else "bad" if place <= 0 else "fair"

    @property
    def short(self) -> str:
        value = self.measured.value
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2g}"

    @property
    def text(self) -> str:
        return self.short + {"good": " +", "fair": "", "bad": " \N{MINUS SIGN}"}[self.name]

    @property
    def words(self) -> str:
        sign = 1 if self.quality.good > self.quality.bad else -1
        good, bad = (f"{'at least' if s > 0 else 'at most'} {_plain(v)}" for s, v in
                     ((sign, self.quality.good), (-sign, self.quality.bad)))  # fmt: skip
        spread = _spread(self.measured.interval)
        return f"{_plain(self.measured.value)}{spread}; {good} is good, {bad} bad"


def grades(report: Report, wanted: list[Scenario]) -> dict[Quality, dict[str, Grade]]:
    """The grades by quality and sender, as far as they could be measured."""
    found = {}
    for of in wanted:
        for quality in of.quality:
            all_ = {cc: Grade(quality, report.measure(of, finding))
                    for cc, finding in findings.of_senders(of, quality).items()}  # fmt: skip
            if known := {cc: g for cc, g in all_.items() if g.measured.value is not None}:
                found[quality] = known
    return found


# Tables -----------------------------------------------------------------------------------------


class Head(NamedTuple):
    """A head cell of a table: the columns and rows that it spans, and the column that it sorts."""

    text: str
    columns: int = 1
    rows: int = 1
    sorts: int | None = None


class Td(NamedTuple):
    """A cell of a table: its text, and the number for sorting."""

    text: str
    value: float | None = None
    small: str = ""
    mark: str = ""  # whether it is near the paper's number: yes or no
    missing: str = ""


@dataclass
class Row:
    cell: Cell
    anchor: str
    tds: list[Td] = field(default_factory=list)
    seeds: list[str] = field(default_factory=list)  # results of each seed
    why_not: str = ""


def _main_metrics(of: Scenario) -> list[str]:
    """The first metrics of the table: those with numbers of the paper."""
    if "pairs" in of.plot:
        return ["completion_s:0", "completion_s:1"]
    wanted = dict.fromkeys(x.metric for x in of.expected)
    wanted |= dict.fromkeys(
        p.partition(":")[2] for p in of.plot if p.startswith(("sweep:", "links:"))
    )
    return list(wanted) or ["completion_s" if "bytes" in of.settings else "goodput_bps"]


def _other_metrics(of: Scenario, cells: list[Cell]) -> list[str]:
    main = _main_metrics(of)
    restricted = {split(m).base for m in main}
    wanted = [*_ALWAYS, *(m for m in of.metrics if m not in restricted)]
    if any(len(run["flows"]) > 1 for cell in cells for run in cell.runs):
        wanted.append("jain")
    wanted += [f"{p.partition(':')[2]}_error" for p in of.plot if p.startswith("estimates:")]
    runs = [run for cell in cells for run in cell.runs]
    return [
        m for m in dict.fromkeys(wanted)
        if m not in main and any(findings.value(of, run, m) is not None for run in runs)
    ]  # fmt: skip


def _measured(cell: Cell, metric: str, compared: bool) -> list[Td]:
    """The cells with mean, interval, median and range of a cell's runs, and the paper's number."""
    done = cell.values(metric)
    paper = next(iter(plot.expected(cell, metric)), None)
    tds = [Td("-")] * (4 if cell.scenario.seeds > 1 else 1)
    if done:
        tds = [Td(_text(metric, fmean(done)), fmean(done), mark="mean")]
        if cell.scenario.seeds > 1:
            found = intervals.mean(done)
            tds += [
                Td(_between(found, lambda v: _text(metric, v)), found.low),
                Td(_text(metric, median(done)), median(done)),
                Td(_range(metric, done), min(done)),
            ]
    if open_ := cell.unfinished(metric):
        counted = ", counted until the timeout" * (len(done) == len(cell.runs))
        tds[-1] = tds[-1]._replace(missing=f"{open_} of {len(cell.runs)} not done{counted}")
    if not compared:
        return tds
    before = Td(_paper(paper, metric), paper.mean) if paper else Td("")
    after = _ratio(paper, fmean(done), not open_) if paper and done else [Td("")] * 2
    return [before, *tds, *after]


def _mean(metric: str, values: list[float]) -> Td:
    """A cell with the mean, and its interval in small text."""
    if not values:
        return Td("")
    found = intervals.mean(values)
    small = "" if found.low is None else _between(found, lambda v: _text(metric, v))
    return Td(_text(metric, found.value), found.value, small)


def _range(metric: str, values: list[float]) -> str:
    return f"{_text(metric, min(values))} to {_text(metric, max(values))}"


def _paper(expected: Any, metric: str) -> str:
    text = _text(metric, expected.mean)
    if len(expected.trials) > 1:
        text += f" ({_range(metric, expected.trials)})"
    return text


def _ratio(expected: Any, mean: float, finished: bool) -> list[Td]:
    if expected.within:
        beside, within = mean - expected.mean, f"within {expected.within:g}"
    else:
        beside = mean / expected.mean if expected.mean else float("nan")
        within = f"within {expected.tolerance:.0%}"
    text = f"{beside:{'+' if expected.within else ''}.2f}"
    good = expected.near(mean) and finished
    mark = Td(f"✓ {within}", mark="yes") if good else Td(f"✗ not {within}", mark="no")
    return [Td(text, beside), mark]


def _table(report: Report, of: Scenario, cells: list[Cell]) -> tuple[list[list[Head]], list[Row]]:
    main, others = _main_metrics(of), _other_metrics(of, cells)
    above, below = [Head("", rows=2, sorts=0)], []
    for metric in main:
        compared = any(x.metric == metric for x in of.expected)
        shown = ["paper (trials)"] * compared
        shown += ["mean", "95 %", "median", "least to most"] if of.seeds > 1 else ["one seed"]
        shown += ["to paper", ""] * compared
        above.append(Head(_words(metric), len(shown)))
        below += [Head(text, sorts=len(below) + n + 1) for n, text in enumerate(shown)]
    above += [Head(_words(m), 1, 2, len(below) + n + 1) for n, m in enumerate(others)]
    rows = []
    for n, cell in enumerate(cells):
        row = Row(cell, _anchor(of, n))
        rows.append(row)
        if not cell.runs:
            row.why_not = report.skipped.get(cell.key, "failed, see above")
            continue
        for metric in main:
            row.tds += _measured(cell, metric, any(x.metric == metric for x in of.expected))
            each = [findings.value(of, run, metric) for run in cell.runs]
            texts = ["not done" if v is None else _text(metric, v) for v in each]
            row.seeds.append(f"{_words(metric)}: {', '.join(texts)}")
        for metric in others:
            row.tds.append(_mean(metric, cell.values(metric)))
    return [above, below], rows


def short_table(
    report: Report, of: Scenario, cells: list[Cell]
) -> tuple[list[str], list[list[str]]]:
    """The heads and rows of a short table as text.

    A row begins with the column's name.  If the scenario has cases, the case's name precedes it, in
    the first row of those of the case.  For metrics with a paper's numbers a row has the number,
    the mean, its interval, and how many runs did not finish; for the standard metrics it has the
    mean.  A table with more than LONG rows has a row for each case, with fewer metrics.
    """
    main, others = _main_metrics(of), _other_metrics(of, cells)
    if of.case:
        cases = [cell.case.name if cell.case else "" for cell in cells]
        heads = ["", ""]
        rows = [["" if case == before else case, cell.column.name]
                for cell, case, before in zip(cells, cases, [None, *cases], strict=False)]
    else:
        heads, rows = [""], [[cell.name] for cell in cells]
    named = len(heads)
    for metric in main:
        paper = {cell.key: next(iter(plot.expected(cell, metric)), None) for cell in cells}
        means = {cell.key: _mean(metric, cell.values(metric)) for cell in cells}
        if any(paper.values()):
            heads.append(f"{_words(metric)}: paper")
            for cell, row in zip(cells, rows, strict=True):
                number = paper[cell.key]
                row.append(_text(metric, number.mean) if number else "")
        heads.append(_words(metric))
        for cell, row in zip(cells, rows, strict=True):
            text, small = means[cell.key].text, means[cell.key].small.partition(" (n=")[0]
            open_ = cell.unfinished(metric)
            more = [small] * (small not in ("", "one seed"))
            more += [f"{open_} of {len(cell.runs)} not done"] * bool(open_)
            row.append(f"{text} ({'; '.join(more)})" if more else text)
    first = heads[named:]
    for metric in others:
        heads.append(_words(metric))
        for cell, row in zip(cells, rows, strict=True):
            row.append(_mean(metric, cell.values(metric)).text)
    for cell, row in zip(cells, rows, strict=True):
        if not cell.runs:
            reason = report.skipped.get(cell.key, "failed")
            row[named:] = [reason, *[""] * (len(heads) - named - 1)]
    if of.case and len(rows) > LONG:
        return _beside(heads, rows, cells, {*first, *map(_words, ("queue_mean", "drops"))})
    return heads, rows


def _beside(
    heads: list[str], rows: list[list[str]], cells: list[Cell], shown: set[str]
) -> tuple[list[str], list[list[str]]]:
    """A table with a row for each case: its columns are beside each other, with these heads."""
    columns = dict.fromkeys(cell.column.name for cell in cells)
    of_case: dict[str, dict[str, list[str]]] = {}
    for cell, row in zip(cells, rows, strict=True):
        of_case.setdefault(cell.case.name if cell.case else "", {})[cell.column.name] = row
    which = [(n, column) for n, head in enumerate(heads) if head in shown for column in columns]
    found = [[case, *(of[column][n] if column in of else "" for n, column in which)]
             for case, of in of_case.items()]  # fmt: skip
    return ["", *(f"{heads[n]}: {column}" for n, column in which)], found


def _anchor(of: Scenario, n: int) -> str:
    """The HTML anchor of the row of a scenario's n-th cell."""
    return f"{of.name}-{n}"


# Scenarios --------------------------------------------------------------------------------------


@dataclass
class Section:
    """The section of a scenario: the data for the template."""

    of: Scenario
    heads: list[list[Head]]
    rows: list[Row]
    pictures: list[tuple[str, str]]  # description, and SVG
    runs: int
    raw: str  # the runs as compressed JSON in base64


def _pictures(of: Scenario, cells: list[Cell]) -> list[tuple[str, str]]:
    shown = [cell for cell in cells if cell.runs]
    columns = ", ".join(dict.fromkeys(cell.column.name for cell in shown))
    found = []
    for asked in of.plot:
        if shown or not plot.of_runs(asked):
            text, words = plot.svg(asked, shown, f"{of.name} {asked}")
            label = f"{words}: {columns}; the numbers are in the table above" if shown else words
            named = f'<svg role="img" aria-label="{escape(label)}"'
            found.append((words, text.replace("<svg", named, 1)))
    return found


def _section(report: Report, of: Scenario) -> Section:
    cells = report.of(of)
    runs = [{k: v for k, v in run.items() if k != "series"} for cell in cells for run in cell.runs]
    text = json.dumps(of_cells.with_cells(runs), separators=(",", ":"))
    return Section(
        of, *_table(report, of, cells), _pictures(of, cells), len(runs),
        base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode(),
    )  # fmt: skip


# Findings ---------------------------------------------------------------------------------------


class Found(NamedTuple):
    """The findings of a scenario; if many hold, those are folded."""

    of: Scenario
    shown: list[Measured]
    folded: list[Measured]


def _findings(measured: list[Measured]) -> list[Found]:
    """The findings by scenario; those that do not hold come first."""
    found = []
    for _, mine in groupby(measured, key=lambda m: m.scenario.name):
        of = sorted(mine, key=lambda m: (m.holds is True, not m.finding.note))
        quiet = sum(m.holds is True and not m.finding.note for m in of)
        folded = quiet if quiet > MANY else 0
        found.append(Found(of[0].scenario, of[: len(of) - folded], of[len(of) - folded :]))
    return found


# Pages ------------------------------------------------------------------------------------------


def _unwrap(text: str) -> str:
    return " ".join(text.split())


def _paragraphs(text: str) -> list[str]:
    return [_unwrap(p) for p in text.strip().split("\n\n") if p]


TEMPLATES = Path(__file__).with_name("templates")
FILTERS: dict[str, Callable[..., Any]] = {
    "plain": _plain, "spread": _spread, "unwrap": _unwrap, "paragraphs": _paragraphs,
}  # fmt: skip


def render(template: str, **content: Any) -> str:
    """An HTML page from a template in TEMPLATES."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined,
    )  # fmt: skip
    made.filters |= FILTERS
    style, program = ((TEMPLATES / f"page.{kind}").read_text() for kind in ("css", "js"))
    return made.get_template(template).render(style=style, program=program, **content)


def compose(
    report: Report, wanted: list[Scenario], measured: list[Measured], alone: bool = False
) -> str:
    """The HTML of the report; alone: without the page of the claims."""
    places: dict[Key, str] = {
        cell.key: _anchor(of, n) for of in wanted for n, cell in enumerate(report.of(of))
    }
    graded_by = grades(report, wanted)
    graded = [cc for of in graded_by.values() for cc in of]
    papers = list(dict.fromkeys(s.paper for s in wanted))
    return render(
        "index.html", alone=alone, report=report, papers=papers, wanted=wanted,
        grades=graded_by,
        senders=sorted(dict.fromkeys(graded), key=lambda cc: -graded.count(cc)),
        measured=measured, found=_findings(measured), places=places, bound=bound, many=MANY,
        few_cells=FEW_CELLS, kinds=[k for k in KINDS if any(m.finding.kind == k for m in measured)],
        sections=[_section(report, s) for paper in papers for s in wanted if s.paper == paper],
    )  # fmt: skip


def compose_claims(papers: list[Paper], judge: Judge, wanted: list[Scenario]) -> str:
    """The HTML page of the papers' claims, with links to scenarios in the report."""
    return render(
        "claims.html", papers=papers, judge=judge, linked={s.name for s in wanted},
        states=claims.STATES, counts={p.name: claims.counts(p.claims, judge) for p in papers},
    )  # fmt: skip
