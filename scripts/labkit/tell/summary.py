# SPDX-License-Identifier: GPL-2.0
"""Writes docs/results: a summary of the report for readers of the repository.

It has a page for each paper, with a table and the first picture of each scenario; a page of all
items and claims of the papers; and a first page with the qualities of each sender and the findings
that do not hold.  All pages are made from the records of scenarios.  Records are updated for the
scenarios whose runs are in the report.
"""

import json
import os
import platform
import re
import shutil
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..errors import LabError
from ..host import temporary
from ..measure import bench, provenance, scale
from ..model.scenario import Scenario
from . import claims, docs, page, plot, records
from .outcome import Report
from .records import Record

LIMIT = 3 << 20  # bytes of docs/results
COST = records.RESULTS / "cost.json"
COUNTED = records.RESULTS / "counted.json"
SCALE = records.RESULTS / "scale.json"
# Pages that other commands write into the same folder, with other files of the same stem
OTHERS = {
    "rfc9743.md": "RFC 9743's evaluation of several senders",
    "cost.md": "What it costs",
    "counted.md": "What it costs in instructions",
    "scale.md": "What larger loads cost",
}


def write(report: Report, wanted: list[Scenario]) -> int:
    """Replaces the summary; returns its size in bytes.

    The record of a scenario is updated if the report has all of its runs, else it stays.  Scenarios
    without a record are only named.  LabError if the summary is too large, or if runs were made
    with uncommitted changes.
    """
    docs.require_committed(report)
    before = records.load()
    results = records.RESULTS
    with temporary(results.parent) as part:
        made = part / "results"
        made.mkdir()
        known = {}
        for of in wanted:
            if records.whole(report, of):
                known[of.name] = records.record(report, of, _picture(report, of, made))
            elif of.name in before:
                known[of.name] = before[of.name]
                if before[of.name].picture:
                    shutil.copy(results / f"{of.name}.png", made)
        for of, record in known.items():
            records.save(made, of, record)
        _write_pages(made, wanted, known)
        for page_of_other in OTHERS:
            for other in results.glob(f"{Path(page_of_other).stem}*"):
                shutil.copy(other, made)
        size = sum(path.stat().st_size for path in made.rglob("*") if path.is_file())
        if size > LIMIT:
            raise LabError(f"docs/results would have {size} bytes, but the limit is {LIMIT}")
        shutil.rmtree(results, ignore_errors=True)
        made.rename(results)
    return size


def _picture(report: Report, of: Scenario, target: Path) -> str:
    """Writes a scenario's first picture; returns its caption, empty if there is none."""
    shown = [cell for cell in report.of(of) if cell.runs]
    if of.plot and (shown or not plot.of_runs(of.plot[0])):
        return plot.png(of.plot[0], shown, target / f"{of.name}.png")
    return ""


def _write_pages(target: Path, wanted: list[Scenario], known: dict[str, Record]) -> None:
    """Writes the Markdown pages."""
    there = [of for of in wanted if of.name in known]
    papers = dict.fromkeys(of.paper for of in there)
    files = {paper: f"{paper.split()[-1].strip('()').lower()}.md" for paper in papers}
    grades = {what: by for of in there for what, by in known[of.name].grades.items()}
    of_paper = {p: [known[of.name] for of in there if of.paper == p] for p in files}
    content: dict[str, Any] = {
        "wanted": wanted, "there": there, "known": known, "files": files, "of_paper": of_paper,
    }  # fmt: skip
    for paper, file in files.items():
        mine = [of for of in there if of.paper == paper]
        (target / file).write_text(render("paper.md", paper=paper, mine=mine, **content))
    others = {file: what for file, what in OTHERS.items() if (records.RESULTS / file).exists()}
    (target / "README.md").write_text(
        render("results.md", grades=grades, others=others, **content)
    )
    listed, judge = claims.load(), records.judge(known)
    (target / "claims.md").write_text(render(
        "claims.md", papers=listed, judge=judge, states=claims.STATES,
        counts={p.name: claims.counts(p.claims, judge) for p in listed}, **content,
    ))  # fmt: skip


def require_committed() -> None:
    """LabError if there are uncommitted changes other than in documents and tests."""
    if provenance.changed():
        raise LabError("numbers in documents must be from a commit: commit, and measure again")


def cost(made: list[bench.Row], guests: int, load: float) -> Any:
    """The numbers of lab bench as JSON, with the machine and its load before the measurement.

    clean: whether they are of the commit made_of as it is, without uncommitted changes.
    """
    return {"made_of": provenance.source()[:12], "clean": not provenance.changed(),
            "processor": _processor(), "cpus": os.cpu_count(), "load": round(load, 2),
            "guests": guests, "tables": bench.tables(made)}  # fmt: skip


def make_writable(path: Path) -> None:
    """Makes the folder of a file.  LabError if the file cannot be written: better before a
    measurement of minutes than after it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("a").close()
    except OSError as error:
        raise LabError(f"cannot write {path}: {error.strerror}", status=2) from None


def write_numbers(of: Any, path: Path) -> None:
    """Writes what cost() returned: a line for each table, so that differences can be read."""
    short = {"separators": (",", ":")}
    head = json.dumps({key: value for key, value in of.items() if key != "tables"}, **short)
    lines = ",\n".join(json.dumps(table, **short) for table in of["tables"])
    path.write_text(f'{head[:-1]},"tables":[\n{lines}\n]}}\n')


def write_cost(of: Any) -> None:
    """Writes what cost() returned into docs/results: the numbers, two pictures, and the page.

    The page and the pictures have the rounded numbers, so they can be made from the file again.
    """
    records.RESULTS.mkdir(exist_ok=True)
    write_numbers(of, COST)
    made = bench.rows_in(of["tables"])
    plot.costs(made, COST)
    COST.with_suffix(".md").write_text(render("cost.md", of=of, table=bench.table(made)))


def _processor() -> str:
    found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    return found[1] if found else platform.machine()


def write_scale(made: scale.Json) -> None:
    """Writes the results of lab scale: tables, a picture, and the numbers.

    The cost of the first run stays unchanged if it was not measured again.
    """
    records.RESULTS.mkdir(exist_ok=True)
    if SCALE.exists():
        made = made | {"start": json.loads(SCALE.read_text())["start"] | made["start"]}
    commit = provenance.source()[:12]
    made = {"made_of": commit, "processor": _processor()} | made
    SCALE.write_text(json.dumps(made, separators=(",", ":")) + "\n")
    plot.growth(made["growth"], SCALE.with_suffix(".png"))
    SCALE.with_suffix(".md").write_text(render(
        "scale.md", made=made, tables=scale.tables(made), netem=scale.HOST_NETEM,
        noise=scale.NOISE, devices=scale.DEVICES, ns3_most=scale.NS3_MOST,
        turns=max((len(row["lab"]) for row in made["lab"]["rows"]), default=1),
        spared=scale.spared(made["processors"]),
        most=max(made["growth"]["flows"], key=lambda row: row["flows"]),
    ))  # fmt: skip


def write_counted(made: list[bench.Row], package: str, guests: int) -> None:
    """Writes the cost of the modules in instructions, with this package of a kernel.

    counted.md is for readers, counted.json for the test that the cost does not grow.
    """
    records.RESULTS.mkdir(exist_ok=True)
    commit = provenance.source()[:12]
    (records.RESULTS / "counted.md").write_text(render(
        "counted.md", table=bench.table(made), package=package, commit=commit,
        guests=guests, noise=bench.noise(made),
    ))  # fmt: skip
    ratios = {row.key: round(max(row.steady), 4) for row in made if row.ratios}
    known = {"kernel": package, "made_of": commit, "noise": round(bench.noise(made), 4),
             "ratios": ratios}  # fmt: skip
    COUNTED.write_text(json.dumps(known, indent=1) + "\n")


def _text(value: str) -> str:
    """Text escaped for a cell of a Markdown table."""
    return value.replace("|", "\\|").replace("\n", " ")


def render(template: str, **content: Any) -> str:
    """A Markdown page from one of the report's templates."""
    made = Environment(
        loader=FileSystemLoader(page.TEMPLATES), trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined, keep_trailing_newline=True,
    )  # fmt: skip
    made.filters |= page.FILTERS | {"cell": _text}
    return made.get_template(template).render(**content)
