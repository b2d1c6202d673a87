# SPDX-License-Identifier: GPL-2.0
"""RFC 9743's evaluation of a congestion control: a page with a line for each item.

RFC 9743 lists what an evaluation of a new congestion control must cover, but not how to measure it.
ITEMS is this list with our scenarios, rfc9743-*, whose {sender} is the sender under test.  Most
bounds are the results of standard senders on the same path: of CUBIC for throughput, of the worse
of CUBIC and Reno for harm to others.  A line shows the worst finding of its item, compared with the
finding's bound.
"""

import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ..model import scenario
from ..model.scenario import Scenario
from ..world.laboratory import Laboratory
from . import docs, page, plot, records, report, summary
from .outcome import Measured, Report

NAME = "rfc9743"
FAR = 4  # the ratio to the bound at the end of a line's bar
HALF = 8  # characters of the bar on each side of the bound

# The items, and for each its scenarios, or why there are none.
ITEMS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("Congestion collapse", ("collapse", "crowd", "blackout"), ""),
    ("Bufferbloat", ("bloat",), ""),
    ("High packet loss", ("loss",), ""),
    ("Fairness between its own flows", ("fairness",), ""),
    ("Short flows", ("short",), ""),
    ("Beside standard congestion control", ("standard",), ""),
    ("Beside real-time traffic", ("voice",), ""),
    ("Long and short flows together", ("long",), ""),
    ("Incremental deployment", ("deployment",), ""),
    ("Performance-enhancing proxies", (), "the lab has no proxy that splits connections"),
    ("Wired paths, tail drop", ("wired",), ""),
    ("Tunnels", (), "WireGuard and GRE are not in the lab's kernel; stock_tunnels.sh"
     " sends through them on stock kernels, without bounds for the results"),
    ("Wireless paths", ("wireless",), ""),
    ("Active queue management and ECN", ("aqm",), ""),
    ("Circuit breakers", ("breakers",), ""),
    ("Paths whose delay varies", ("delay",), ""),
    ("Constrained paths", ("constrained",), ""),
    ("Paths of high delay", ("far",), ""),
    ("Receivers that stretch acknowledgments", ("receivers",), ""),
    ("Receivers that acknowledge too early, or split acknowledgments", (), "the lab's receivers are"
     " Linux's own, which do neither"),
    ("Extreme reordering", ("reordering",), ""),
    ("Transient events", ("transients", "rival"), ""),
    ("Several paths", (), "MPTCP is not in the lab's kernel, and its subflows have no"
     " congestion control of their own"),
    ("Data centres", ("datacentre",), ""),
)  # fmt: skip


@dataclass
class Item:
    """A line of the page, and its data."""

    what: str
    why_not: str = ""
    scenarios: list[Scenario] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)
    failed: int = 0  # findings without a value, though their columns were run
    pictures: list[tuple[str, str]] = field(default_factory=list)

    @property
    def known(self) -> list[Measured]:
        return [m for m in self.measured if m.value is not None]

    @property
    def worst(self) -> Measured | None:
        """The finding with the smallest margin; None if none was measured."""
        return min(self.known, key=margin) if self.known else None

    @property
    def held(self) -> int:
        return sum(m.holds is True for m in self.measured)

    @property
    def why(self) -> str | None:
        """Why nothing is measured: the item has no scenario, or the reason of its first finding."""
        return self.why_not or next((m.why_not for m in self.measured), None)

    @property
    def verdict(self) -> str:
        """held if all findings hold; else how many of those do whose columns were run, and how many
        were not measured, because they were not run; or not run.

        A finding without a value does not hold: its run failed, or a flow got nothing.
        """
        of = len(self.known) + self.failed
        if not of:
            return "not run"
        if left_out := len(self.measured) - of:
            return f"{self.held} of {of}, {left_out} not measured"
        return "held" if self.held == of else f"{self.held} of {of}"

    @property
    def state(self) -> str:
        """yes if all findings hold; part if those do that were measured, or none was; no."""
        if self.held < len(self.known) + self.failed:
            return "no"
        return "yes" if self.verdict == "held" else "part"


def margin(m: Measured) -> float:
    """The measured value relative to its bound: 1 at the bound, 2 if it is twice as good."""
    low, high, value = m.finding.low, m.finding.high, m.value
    if value is None:
        return math.nan
    if math.isinf(high):
        return max(0.0, value / low) if low > 0 else 1.0 + value - low
    return high / value if value > 0 else math.inf


def bar(m: Measured) -> str:
    """A bar with the position of the measured value: the line is the bound, left of it is worse."""
    far = margin(m)
    place = HALF * math.log(min(max(far, 1 / FAR), FAR)) / math.log(FAR)
    place = math.floor(place) if m.holds else min(-1, math.ceil(place))
    cells = ["·"] * HALF + ["│"] + ["·"] * HALF
    cells[HALF + (place + (place == 0) if m.holds else place)] = "●"
    return "".join(cells)


def main(
    senders: tuple[str, ...], parallel: int, with_docs: bool = False, seeds: int | None = None,
    laboratory: Laboratory | None = None,
) -> int:  # fmt: skip
    """Runs the scenarios for each sender, and writes report/rfc9743-NAME.html.

    with_docs: also write docs/results/rfc9743-NAME.md, and the numbers of documents from its runs.
    For several senders there is also a comparison, rfc9743.html and rfc9743.md.
    """
    status, tables = 0, {}
    report.require_built([], senders, laboratory)
    for sender in senders or (scenario.DEFAULT_SENDER,):
        made, items = evaluate(sender, parallel, seeds, laboratory)
        tables[sender] = items
        target = plot.REPORT / f"{NAME}-{sender}.html"
        report.write(target, page.render(f"{NAME}.html", **_content(sender, made, items)))
        _tell(target, made, items)
        if with_docs:
            docs.write(made)
            text = summary.render(f"{NAME}.md", **_content(sender, made, items))
            report.write(records.RESULTS / f"{NAME}-{sender}.md", text)
        status |= bool(made.failed)
    if len(tables) > 1:
        beside = {"tables": tables, "entries": [what for what, *_ in ITEMS]}
        report.write(plot.REPORT / f"{NAME}.html", page.render(f"{NAME}-beside.html", **beside))
        if with_docs:
            text = summary.render(f"{NAME}-beside.md", **beside)
            report.write(records.RESULTS / f"{NAME}.md", text)
    return status


def evaluate(
    sender: str, parallel: int, seeds: int | None, laboratory: Laboratory | None = None
) -> tuple[Report, list[Item]]:
    """Makes the runs for a sender; returns the report, and the items with their results."""
    by_name: dict[str, Scenario] = {}
    for name in (name for _, names, _ in ITEMS for name in names):
        of = scenario.load(f"{NAME}-{name}", (sender,))
        by_name[name] = replace(of, seeds=min(of.seeds, seeds or of.seeds))
    made = report.make([*by_name.values()], parallel, laboratory=laboratory)
    return made, [_item(made, by_name, *entry) for entry in ITEMS]


def _item(
    made: Report, by_name: dict[str, Scenario], what: str, names: tuple[str, ...], why_not: str
) -> Item:
    of = [by_name[name] for name in names]
    item = Item(what, why_not, of, [made.measure(s, f) for s in of for f in s.finding])
    item.failed = sum(m.value is None and not made.skipped.keys() & m.keys for m in item.measured)
    for s in of:
        cells = [cell for cell in made.of(s) if cell.runs]
        if cells:
            text, words = plot.svg(s.plot[0], cells, s.name)
            item.pictures.append((words, text))
    return item


def _content(sender: str, made: Report, items: list[Item]) -> dict[str, Any]:
    run = [item for item in items if item.scenarios]
    return {"sender": sender, "report": made, "items": items, "run": run, "bound": page.bound,
            "bar": bar, "held": sum(item.verdict == "held" for item in run)}  # fmt: skip


def _tell(target: Path, made: Report, items: list[Item]) -> None:
    run = [item for item in items if item.scenarios]
    held = sum(item.verdict == "held" for item in run)
    print(f"{target}: {made.made + made.reused} runs, {made.made} of them new, made in"
          f" {made.wall_s:.0f} s; {held} of {len(run)} items held")  # fmt: skip
    for item in items:
        text = f"  {item.what:64} {item.verdict:12}"
        print(text + (f" {bar(item.worst)}" if item.worst else f" {item.why}"))
    for what, why in made.failed:
        print(f"lab: {what}: {why}", file=sys.stderr)

