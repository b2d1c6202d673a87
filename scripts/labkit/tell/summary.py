# SPDX-License-Identifier: GPL-2.0
"""docs/results: the report in short, for who reads the repository and runs nothing.

A page for each paper, with a table and the first picture of each scenario, and a first page with
what each sender is good and bad at and the findings that do not hold.
"""

import platform
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..errors import LabError
from ..measure.provenance import git
from ..model.scenario import Scenario
from ..paths import REPO
from . import docs, page, plot
from .outcome import Measured, Report

RESULTS = REPO / "docs/results"
LIMIT = 3 << 20  # bytes, of all


def write(report: Report, wanted: list[Scenario], measured: list[Measured]) -> int:
    """Writes the summary in place of that before: how many bytes.  A scenario of which nothing was
    run is named, and no more.

    LabError if they are too many, or what was run was not as committed.
    """
    docs.require_committed(report)
    with tempfile.TemporaryDirectory(dir=RESULTS.parent) as name:
        made = Path(name, "results")
        made.mkdir()
        absent = [of for of in wanted if of.column and not any(c.runs for c in report.of(of))]
        sections = [_Section(report, of, made) for of in wanted if of not in absent]
        measured = [m for m in measured if m.scenario not in absent]
        papers = dict.fromkeys(section.of.paper for section in sections)
        files = {paper: f"{paper.split()[-1].strip('()').lower()}.md" for paper in papers}
        content: dict[str, Any] = {
            "runs": sum(len(cell.runs) for cell in report.cells.values()),
            "report": report, "measured": measured, "files": files, "absent": absent,
            "grades": page.grades(report, wanted), "bound": page.bound,
        }  # fmt: skip
        for paper, file in files.items():
            mine = [s for s in sections if s.of.paper == paper]
            (made / file).write_text(render("paper.md", paper=paper, sections=mine, **content))
        (made / "README.md").write_text(render("results.md", **content))
        size = sum(path.stat().st_size for path in made.iterdir())
        if size > LIMIT:
            raise LabError(f"docs/results would have {size} bytes, and may have {LIMIT}")
        for like in ("rfc9743*.md", "cost.md"):  # which lab report rfc9743 and lab bench make
            for other in RESULTS.glob(like):
                shutil.copy(other, made)
        shutil.rmtree(RESULTS, ignore_errors=True)
        made.rename(RESULTS)
    return size


def require_committed() -> None:
    """LabError if what would be measured is not as committed."""
    if git("status", "--porcelain"):
        raise LabError("numbers in documents are of what is committed: commit, and measure again")


def write_cost(table: str, guests: int) -> None:
    """Writes what the modules cost: the tables of lab bench, and what they were measured on."""
    processor = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "cost.md").write_text(render(
        "cost.md", table=table, guests=guests, commit=git("rev-parse", "--short=12", "HEAD"),
        processor=processor[1] if processor else platform.machine(),
    ))  # fmt: skip


class _Section:
    """What the page of a paper has of a scenario."""

    def __init__(self, report: Report, of: Scenario, target: Path) -> None:
        cells = report.of(of)
        self.of = of
        self.heads, self.rows = page.short_table(report, of, cells)
        self.picture, self.words = "", ""
        shown = [cell for cell in cells if cell.runs]
        if of.plot and (shown or not plot.of_runs(of.plot[0])):
            self.picture = f"{of.name}.png"
            self.words = plot.png(of.plot[0], shown, target / self.picture)


def _text(value: str) -> str:
    """As a cell of a table in Markdown may have it."""
    return value.replace("|", "\\|").replace("\n", " ")


def render(template: str, **content: Any) -> str:
    """A page in Markdown from one of the report's templates."""
    made = Environment(
        loader=FileSystemLoader(page.TEMPLATES), trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined, keep_trailing_newline=True,
    )  # fmt: skip
    made.filters |= page.FILTERS | {"cell": _text}
    return made.get_template(template).render(**content)
