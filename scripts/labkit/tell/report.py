# SPDX-License-Identifier: GPL-2.0
"""The report: the runs of all scenarios compared with the papers' numbers, and their findings.

All cells (a column in a case) are run in parallel, with seeds from 1 to the scenario's count.  A
run is stored under its identity, so that the next report makes only missing runs.
"""

import math
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ..errors import LabError
from ..host import write_marker
from ..measure import metrics, runner, store
from ..measure.job import Job
from ..measure.runner import Task
from ..model import scenario
from ..model.scenario import Column, Quality, Scenario
from ..model.settings import Settings
from ..world.laboratory import Laboratory
from . import claims, demo, docs, findings, page, plot, records, summary
from .outcome import Cell, Key, Report, every_key, keys_of

LOG_S = 180  # between progress lines, if they go to a file


def main(
    names: list[str], parallel: int, with_docs: bool = False, senders: tuple[str, ...] = (),
    seeds: int | None = None, draw: int | None = None, out: Path | None = None,
    laboratory: Laboratory | None = None,
) -> int:  # fmt: skip
    """Runs scenarios, and writes index.html and claims.html to report, or index.html to out.

    names: of scenarios, or patterns such as field-*; default: all scenarios of papers.  parallel:
    number of runs at the same time.  with_docs: also write the numbers of documents from these
    scenarios, and docs/results.  senders: restricts scenarios to the columns with these names or
    congestion controls, and adds missing ones; in a scenario with {sender} they replace it.
    seeds: the maximum number of seeds.  draw: the seed of random paths.
    """
    for path in docs.DOCUMENTS if with_docs else ():
        docs.marks(path)
    asked = dict.fromkeys(name for pattern in names for name in scenario.matching(pattern))
    wanted = [scenario.load(name, senders, draw) for name in asked] or of_papers()
    require_built(wanted, senders, laboratory)
    wanted = _all_narrowed(wanted, senders, seeds)
    papers = None if out else claims.load()
    shown = claims.scenarios_of(papers or [])
    report = make(wanted, parallel, laboratory=laboratory)
    report.asked = _asked(senders, seeds, draw)
    target = (out or plot.REPORT) / "index.html"
    measured = [report.measure(s, f) for s in wanted for f in s.finding]
    write(target, page.compose(report, wanted, measured, alone=not papers))
    if papers:
        judge = claims.judge(kept(shown), records.judge(records.load()))
        listed = page.compose_claims(papers, judge, wanted)
        write(target.with_name("claims.html"), listed)
    if not names:
        store.sweep()
    good = sum(m.holds is True for m in measured)
    print(
        f"{target}: {report.made + report.reused} runs, {report.made} of them new, made in"
        f" {report.wall_s:.0f} s; {good} of {len(measured)} findings hold"
    )
    if with_docs:
        print("documents: {} numbers written, {} of them changed".format(*docs.write(report)))
        print(f"docs/results: {summary.write(kept(), of_papers()) >> 10} KiB")
        docs.count()
        if any(of.name == "demo" for of in wanted):
            demo.to_readme(laboratory or Laboratory())
    for reason, columns in report.left_out().items():
        print(f"lab: skipped {', '.join(columns)}: {reason}", file=sys.stderr)
    for what, why in report.failed:
        print(f"lab: {what}: {why}", file=sys.stderr)
    return 1 if report.failed else 0


def _asked(
    senders: tuple[str, ...], seeds: int | None, draw: int | None
) -> tuple[str, ...]:  # fmt: skip
    """The options of the command lab report for these arguments of main()."""
    given = [("--cc", sender) for sender in senders]
    given += [(name, str(n)) for name, n in (("--seeds", seeds), ("--draw", draw)) if n is not None]
    return tuple(word for pair in given for word in pair)


def _all_narrowed(
    wanted: list[Scenario], senders: tuple[str, ...], seeds: int | None
) -> list[Scenario]:
    """The scenarios restricted to these senders and number of seeds.

    If there are several, those without a matching column are left out, and a message names them.
    """
    found = []
    for of in wanted:
        try:
            found.append(narrowed(replace(of, seeds=min(of.seeds, seeds or of.seeds)), senders))
        except LabError as error:
            if len(wanted) == 1:
                raise
            print(f"lab: skipped: {error}", file=sys.stderr)
    return found


def narrowed(of: Scenario, senders: tuple[str, ...]) -> Scenario:
    """A scenario restricted to columns with these names or congestion controls.

    Adds a column for each sender without one, and drops findings that need other columns.  The
    scenario stays unchanged if it has {sender}, or if there are no senders.
    """
    if not senders or of.judged:
        return of
    columns = [c for c in of.column if {c.name, c.cc} & {*senders}]
    there = {name for c in columns for name in (c.name, c.cc)}
    if "mix" not in of.settings and any(of.cc):
        columns += [Column(cc, cc) for cc in senders if cc not in there]
    if not columns:
        known = ", ".join(c.name for c in of.column) or "none"
        raise LabError(f"{of.name} has no column {' or '.join(senders)}; there are: {known}",
                       status=2)  # fmt: skip
    kept = {c.name for c in columns}
    found = [f for f in of.finding
             if all(k[1] in kept for k in keys_of(of, f) if k[0] == of.name)]  # fmt: skip
    of = replace(of, column=tuple(columns), finding=tuple(found))
    return replace(of, quality=tuple(q for q in of.quality if _graded(of, q)))


def _graded(of: Scenario, quality: Quality) -> bool:
    """Whether the scenario has the columns to grade a sender for this quality."""
    try:
        return bool(findings.of_senders(of, quality))
    except LabError:
        return False


def require_built(
    wanted: list[Scenario], senders: tuple[str, ...], laboratory: Laboratory | None
) -> None:  # fmt: skip
    """LabError if a sender is neither the name of a column nor an existing congestion control."""
    named = {column.name for of in wanted if not of.judged for column in of.column}
    for sender in senders:
        if sender not in named and sender not in (laboratory or Laboratory()).ccs():
            raise LabError(f"no congestion control {sender} is built", status=2)


def of_papers() -> list[Scenario]:
    return [s for s in map(scenario.load, scenario.names()) if s.paper]


def kept(wanted: list[Scenario] | None = None) -> Report:
    """A report from stored runs only; default: of all scenarios of papers."""
    if not any(store.root().iterdir()):
        return Report("")
    return make(wanted or of_papers(), only_kept=True)


def make(
    wanted: list[Scenario], parallel: int = 0, keys: Iterable[Key] | None = None,
    laboratory: Laboratory | None = None, only_kept: bool = False,
) -> Report:  # fmt: skip
    """Runs the cells of scenarios and their findings, or only the cells in keys.

    only_kept: use only stored runs, and leave out cells that lack one.
    """
    for one in wanted:
        findings.check(one)
        plot.check(one)
    laboratory = laboratory or Laboratory()
    started = time.monotonic()
    report, tasks = _planned(wanted, keys, laboratory)
    if only_kept:
        _take_kept(report, tasks)
    else:
        _execute(laboratory, report, tasks, parallel)
    report.wall_s = time.monotonic() - started
    return report


def plan(wanted: list[Scenario], laboratory: Laboratory) -> list[tuple[Key, Task]]:
    """The runs of a report without duplicates, each with the first cell that needs it."""
    _, tasks = _planned(wanted, None, laboratory)
    found: dict[Path, tuple[Key, Task]] = {}
    for (key, _), task in tasks.items():
        found.setdefault(task.home, (key, task))
    return [*found.values()]


def _planned(
    wanted: list[Scenario], keys: Iterable[Key] | None, laboratory: Laboratory
) -> tuple[Report, dict[tuple[Key, int], Task]]:
    """A report without runs, and the tasks for its runs."""
    report = Report(laboratory.kernel.release, options=laboratory.options)
    tasks: dict[tuple[Key, int], Task] = {}
    by_name = {of.name: of for of in wanted}
    for key in dict.fromkeys(keys or [key for of in wanted for key in every_key(of)]):
        if key[0] not in by_name:
            by_name[key[0]] = scenario.load(key[0])
        _plan(laboratory, report, by_name[key[0]], key, tasks)
    return report, tasks


def _plan(
    laboratory: Laboratory, report: Report, of: Scenario, key: Key,
    tasks: dict[tuple[Key, int], Task],
) -> None:  # fmt: skip
    """Adds the tasks of a cell, or the reason why there are none."""
    _, column_name, case_name = key
    column = of.column_of(column_name)
    case = of.case_of(case_name) if case_name else None
    settings = scenario.override(of, [], column, case)
    report.cells[key] = Cell(of, column, case, options=laboratory.options)
    if missing := _missing(laboratory, settings, column.cc):
        report.skipped[key] = missing
        return
    try:
        laboratory.check(settings, column.cc)
    except LabError as error:
        report.failed.append((" ".join(filter(None, key)), str(error)))
        report.failed_cells.add(key)
        return
    for seed in range(1, of.seeds + 1):
        job = Job(of, settings, column.cc or "mix", seed, column.name, case_name)
        tasks[key, seed] = Task(job, store.home(laboratory, job), packed=True)


def _missing(laboratory: Laboratory, settings: Settings, cc: str) -> str:
    """A message about a congestion control or qdisc of a cell that is not built; else empty."""
    for name in settings.every_cc(cc):
        if name not in laboratory.ccs():
            return f"no congestion control {name} is built"
    return laboratory.missing_qdisc(settings)


# Running ----------------------------------------------------------------------------------------


def _execute(
    laboratory: Laboratory, report: Report, tasks: dict[tuple[Key, int], Task], parallel: int
) -> None:
    """Fills the report's cells with stored runs, and makes the missing ones."""
    results: dict[Path, Any] = {}
    missing: dict[Path, Task] = {}
    for task in tasks.values():
        home = task.home
        if home not in results and home not in missing:
            if found := store.find(home, task.job):
                results[home] = found
            else:
                missing[home] = task
    report.reused = len(results)
    report.made = len(missing)
    errors: dict[Path, str] = {}
    wanted = list(missing.values())
    with _Progress(len(results), wanted) as progress:
        for index, made in runner.run_each(laboratory, wanted, parallel, progress.update):
            if isinstance(made, LabError):
                errors[wanted[index].home] = str(made)
            else:
                results[wanted[index].home] = made
            progress.done(index)
    for (key, _), task in tasks.items():
        if task.home in errors:
            report.failed.append((f"{task.job.name}, seed {task.job.seed}", errors[task.home]))
            report.failed_cells.add(key)
        else:
            job = task.job
            placed = metrics.place(results[task.home], job.scenario, job.column, job.case)
            report.cells[key].runs.append(placed)


def _take_kept(report: Report, tasks: dict[tuple[Key, int], Task]) -> None:
    """Fills the report's cells with stored runs; removes cells that lack one."""
    for (key, _), task in tasks.items():
        found = store.find(task.home, task.job)
        if not found:
            report.cells.pop(key, None)
        elif key in report.cells:
            job = task.job
            report.cells[key].runs.append(metrics.place(found, job.scenario, job.column, job.case))


class _Progress:
    """Shows the number of finished runs and the remaining time: one line on a terminal, elsewhere a
    line from time to time."""

    def __init__(self, had: int, missing: list[Task]) -> None:
        self.had = had
        self.wanted = len(missing)
        self.ended = 0
        self.of_each = [task.job.packets for task in missing]
        self.left = list(self.of_each)
        self.packets = sum(self.of_each)
        self.started = time.monotonic()
        self.live = sys.stderr.isatty()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._show, daemon=True)

    def update(self, index: int, share: float, run: Path | None = None) -> None:
        """Sets the share of a run that is done, 0 to 1."""
        self.left[index] = self.of_each[index] * (1 - min(1.0, share))

    def done(self, index: int) -> None:
        self.update(index, 1)
        self.ended += 1

    def text(self) -> str:
        spent = time.monotonic() - self.started
        left = sum(self.left)
        done = self.packets - left
        text = f"{self.had + self.ended} of {self.had + self.wanted} runs"
        return f"{text}, about {_span(spent * left / done)} left" if done else text

    def _show(self) -> None:
        start, end = ("\r", "\x1b[K") if self.live else ("lab: ", "\n")
        while not self.stop.wait(0.5 if self.live else LOG_S) and self.ended < self.wanted:
            sys.stderr.write(f"{start}{self.text()}{end}")
            sys.stderr.flush()

    def __enter__(self) -> "_Progress":
        if self.wanted:
            self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.wanted:
            self.stop.set()
            self.thread.join()
            if self.live:
                sys.stderr.write("\r\x1b[K")


def _span(seconds: float) -> str:
    return f"{math.ceil(seconds / 60)} min" if seconds > 90 else f"{math.ceil(seconds)} s"


def write(target: Path, text: str) -> None:
    """Writes a page atomically."""
    target.parent.mkdir(parents=True, exist_ok=True)
    write_marker(target, text)
