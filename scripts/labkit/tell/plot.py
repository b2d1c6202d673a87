# SPDX-License-Identifier: GPL-2.0
"""Pictures of runs: the kinds (KINDS) for plot = [...] in a scenario's file, and those of the
demo."""

import colorsys
import io
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean, median
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb

from ..errors import LabError
from ..measure import bench, intervals
from ..measure.intervals import Interval
from ..measure.metrics import payload_bps, split
from ..measure.series import LINK_COLUMNS, series
from ..model import fluid, units
from ..model.scenario import Scenario, override
from ..model.settings import HEADERS
from ..paths import REPO
from . import findings, terminal
from . import png as small
from .outcome import Cell

REPORT = REPO / "report"

# The colour of each congestion control in all pictures; its variants differ in lightness.
COLOURS = {
    "reno": "#6b6b6b", "cubic": "#1f77b4", "bbr": "#2ca02c", "vegas": "#9a8f00",
    "westwood": "#8c564b", "ccp": "#d05ab0", "ccpd": "#ff7f0e", "ccpd_path": "#c81e1e",
    "ccp_b": "#d05ab0", "ccpd_b": "#ff7f0e",
    "veno": "#b08030", "jtcp": "#d9a400", "newjersey": "#3f7f4f",
    "acp": "#7b52ab", "estcp": "#009e9e", "mccp": "#5a3ee0", "mccp_path": "#a6368f",
    "mix": "#444444",
}  # fmt: skip
LINES = ("-", "--", ":", "-.")


def _colour(cell: Cell) -> str:
    """The colour of a cell's congestion control; further columns with the same one are lighter."""
    cc = cell.column.cc or "mix"
    same = [c.name for c in cell.scenario.column if (c.cc or "mix") == cc]
    share = 0.45 * same.index(cell.column.name) / max(1, len(same) - 1)
    return _lighter(_base(cc), share if len(same) > 1 else 0)


def _base(cc: str) -> str:
    known = plt.get_cmap("tab20b").colors
    return COLOURS.get(cc) or matplotlib.colors.to_hex(known[sum(cc.encode()) % len(known)])


def _lighter(colour: str, share: float) -> str:
    hue, light, saturation = colorsys.rgb_to_hls(*to_rgb(colour))
    return matplotlib.colors.to_hex(
        colorsys.hls_to_rgb(hue, light + (1 - light) * share, saturation)
    )


def _line(cell: Cell) -> str:
    same = [c.name for c in cell.scenario.column if c.cc == cell.column.cc]
    return LINES[same.index(cell.column.name) % len(LINES)]


def _grid(count: int, wide: int = 3, height: float = 1.9, **more: Any) -> tuple[Any, list[Any]]:
    """A figure with count panels, at most wide in a row; height: of a row, inches."""
    columns = min(wide, count)
    rows = -(-count // columns)
    figure, axes = plt.subplots(rows, columns, squeeze=False, layout="constrained",
                                figsize=(9, height * rows + 0.5), **more)  # fmt: skip
    flat = list(axes.flat)
    for axis in flat[count:]:
        axis.set_visible(False)
    return figure, flat[:count]


def _by_case(cells: list[Cell]) -> tuple[Any, list[Any]]:
    """A figure with a panel for each cell; with several cases, a row for each column."""
    cases = list(dict.fromkeys(cell.case.name for cell in cells if cell.case))
    if len(cases) < 2:
        return _grid(len(cells), wide=2, height=3.2, sharex=True, sharey=True)
    columns = list(dict.fromkeys(cell.column.name for cell in cells))
    figure, axes = _grid(len(cases) * len(columns), wide=len(cases), sharex=True, sharey="col")
    places = [columns.index(c.column.name) * len(cases) + cases.index(c.case.name) for c in cells]
    for place, axis in enumerate(axes):
        axis.set_visible(place in places)
    return figure, [axes[place] for place in places]


WHISKERS = {"linewidth": 1, "capsize": 3, "ecolor": "black"}  # of intervals
SEEDS = {"marker": "o", "linestyle": "", "color": "black", "alpha": 0.4, "markersize": 3}


def _whiskers(found: list[Interval]) -> list[list[float]] | None:
    """The distances from means down and up to the ends of their intervals, for matplotlib's error
    bars; None if there is no interval."""
    if all(i.low is None or i.same for i in found):
        return None
    # A different order of additions may change the last digit: so at least 0.
    below = [np.nan if i.low is None or i.same else max(0.0, i.value - i.low) for i in found]
    above = [np.nan if i.high is None or i.same else max(0.0, i.high - i.value) for i in found]
    return [below, above]


def _told(name: str, metric: str, found: Interval) -> str:
    """The gid for a mean, with its text under the pointer; see svg()."""
    base = split(metric).base
    text = f"{TOLD}{name}: {terminal.amount(base, found.value)}"
    if found.same:
        return f"{text}; the same in all {found.n} seeds"
    if found.low is not None:
        ends = (terminal.amount(base, end) for end in (found.low, found.high))
        text += f", 95 %: {' to '.join(ends)}"
    return f"{text}; {found.n} seed{'s' * (found.n > 1)}"


def _title(metric: str) -> str:
    """The name of a metric in words."""
    words, _, unit = split(metric).base.rpartition("_")
    units = {"s": ", s", "bps": ", bit/s"}
    shown = f"{words}{units[unit]}" if unit in units else metric
    return shown.replace("_", " ")


# Kinds ------------------------------------------------------------------------------------------


# The most cases or bars for a picture with all details: with more cases ratios have no names, and
# with more bars these are narrow, have no points for the seeds, and share the name of their case.
NAMED = 40


def _times(cells: list[Cell], metric: str) -> Any:
    metric = metric or "completion_s"
    many = len(cells) > NAMED and all(cell.case for cell in cells)
    height = (0.15 if many else 0.33) * len(cells) + 1
    first = cells[0].case
    columns = list(dict.fromkeys(cell.column.name for cell in cells))
    colours = plt.get_cmap("tab20").colors
    figure, axis = plt.subplots(figsize=(9, height), layout="constrained")
    highest = 0.0
    for place, cell in enumerate(cells):
        values = cell.values(metric)
        if values:
            mean = intervals.mean(values)
            colour = colours[columns.index(cell.column.name) % len(colours)]
            length = mean.value if math.isfinite(mean.value) else 0
            axis.barh(place, length, 0.7, color=colour if many else _colour(cell),
                      xerr=_whiskers([mean]), error_kw=WHISKERS,
                      label=cell.column.name if many and cell.case is first else None,
                      gid=_told(cell.name, metric, mean))  # fmt: skip
            if len(set(values)) > 1 and not many:
                each = ", ".join(f"{v:.4g}" for v in values)
                axis.plot(values, [place] * len(values), gid=f"{TOLD}seeds: {each}", **SEEDS)
            highest = max([highest, *filter(math.isfinite, values)])
        for number in expected(cell, metric):
            trials = number.trials
            axis.plot([min(trials), max(trials)], [place + 0.42] * 2, color="black", linewidth=0.8)
            axis.plot(number.mean, place + 0.42, "D", color="white", markeredgecolor="black",
                      markersize=5, gid=f"{TOLD}the paper's: {number.mean:.4g}")  # fmt: skip
            highest = max(highest, *trials)
    # Only elements that exist in the picture are in the legend.
    if any(expected(cell, metric) for cell in cells):
        axis.plot([], [], "D", color="white", markeredgecolor="black",
                  label="the paper's mean, trials")  # fmt: skip
    if any(len(set(cell.values(metric))) > 1 for cell in cells):
        axis.plot([], [], color="black", marker="|", label="95 % interval of the mean")
        if not many:
            axis.plot([], [], label="seeds", **SEEDS)
    axis.set(yticks=range(len(cells)), yticklabels=[c.name for c in cells], xlabel=_title(metric),
             xlim=(0, highest * 1.05 or 1))  # fmt: skip
    if many:
        # a name for the bars of each case; the legend has those of the columns, in this order
        of_case = {cell.case.name: place for place, cell in reversed([*enumerate(cells)])}
        axis.set_yticks([*of_case.values()], [*of_case])
        axis.margins(y=0.01)
    axis.invert_yaxis()
    axis.grid(axis="x", alpha=0.3)
    if axis.get_legend_handles_labels()[0]:
        aside = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if many else {"loc": "lower right"}
        axis.legend(fontsize="small", **aside)
    return figure


def _ratios(cells: list[Cell], metric: str) -> Any:
    """The ratios of many cases in rising order, without names of cases."""
    by_case: dict[str, dict[str, float]] = {}
    for cell in cells:
        if values := cell.values(metric):
            case = cell.case.name if cell.case else ""
            by_case.setdefault(case, {})[cell.column.name] = fmean(values)
    of = cells[0].column.name
    found = []
    for case, means in by_case.items():
        best = max((v for name, v in means.items() if name != of), default=0.0)
        if of in means and best:
            found.append((case, means[of] / best))
    many = len(found) > NAMED
    if many:
        found.sort(key=lambda one: one[1])
    height = 4 if many else 0.27 * len(found) + 1
    figure, axis = plt.subplots(figsize=(9, height), layout="constrained")
    axis.axvline(1, color="black", linewidth=1)
    for place, (case, ratio) in enumerate(found):
        axis.plot(max(ratio, 0.01), place, "o", color=_colour(cells[0]), markersize=4,
                  gid=f"{TOLD}{case}: {ratio:.3g}")  # fmt: skip
    axis.set(xlabel=f"{_title(metric)}: {of} to the best of the others", xscale="log")
    low, high = axis.get_xlim()
    axis.set_xlim(min(low, 0.7), max(high, 1.4))
    ticks = [t for t in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.7, 1, 1.4, 2, 5, 10, 20, 50, 100)
             if axis.get_xlim()[0] <= t <= axis.get_xlim()[1]]  # fmt: skip
    axis.set_xticks(ticks, [f"{t:g}" for t in ticks], minor=False)
    axis.minorticks_off()
    if many:
        axis.set_ylabel(f"{len(found)} cases, in order")
    else:
        axis.set_yticks(range(len(found)), [_short(case) for case, _ in found], fontsize="small")
        axis.invert_yaxis()
    axis.grid(alpha=0.3)
    return figure


def _short(name: str) -> str:
    return name if len(name) <= 60 else f"{name[:59]}…"


def expected(cell: Cell, metric: str) -> list[Any]:
    """The paper's numbers for a metric in this cell."""
    case = cell.case.name if cell.case else ""
    return [
        e for e in cell.scenario.expected
        if (e.metric, e.column, e.case) == (metric, cell.column.name, case)
    ]  # fmt: skip


def _windows(cells: list[Cell], until: str) -> Any:
    figure, axes = _grid(len(cells), sharex=True, sharey=True)
    for axis, cell in zip(axes, cells, strict=True):
        queue = _links(cell)[0]
        queue = _peaks(queue[queue[:, 0] <= float(until or "inf")])
        axis.fill_between(queue[:, 0], queue[:, 1], 0.5, where=queue[:, 1] > 0.5, color="#999999",
                          alpha=0.5, linewidth=0)  # fmt: skip
        table = series(cell.first / "flows.csv", (0, 1, 2))
        for flow in range(min(8, len(cell.runs[0]["flows"]))):
            rows = table[table[:, 1] == flow]
            axis.plot(rows[:, 0], rows[:, 2], color=_colour(cell), linewidth=1)
        axis.set_title(cell.name, fontsize="small")
        axis.set_yscale("log")
        axis.grid(alpha=0.3)
    axes[0].set_ylim(bottom=1)  # the axes are shared, so set it after everything is drawn
    if until:
        axes[0].set_xlim(0, float(until))
    figure.supxlabel("time, s", fontsize="small")
    figure.supylabel("window (line), queue (grey), packets", fontsize="small")
    return figure


def _claims(cells: list[Cell], _: str) -> Any:
    figure, axes = _grid(len(cells), wide=2, height=2.1)
    for axis, cell in zip(axes, cells, strict=True):
        run = cell.runs[0]
        since = run["stages"][-1]["from"] if run.get("stages") else 0
        queue = _links(cell)[0]
        queue = _peaks(queue[queue[:, 0] >= since])
        axis.fill_between(queue[:, 0], queue[:, 1], color="#999999", alpha=0.5, linewidth=0,
                          label="queue")  # fmt: skip
        table = series(cell.first / "flows.csv", (0, 1, 2, 5, "cc_claim_bps"))
        segment = 8 * (run["settings"]["mtu"] - HEADERS[run["settings"]["ip"]])
        for flow, of_flow in enumerate(run["flows"]):
            rows = table[(table[:, 1] == flow) & (table[:, 0] >= since)]
            before = [f["cc"] for f in run["flows"][:flow]].count(of_flow["cc"])
            colour = _lighter(_base(of_flow["cc"]), min(0.6, 0.3 * before))
            axis.plot(rows[:, 0], rows[:, 2], color=colour, linewidth=1,
                      label=f"window, {of_flow['cc']}")  # fmt: skip
            if not np.isnan(rows[:, 4]).all():
                axis.plot(rows[:, 0], rows[:, 4] * rows[:, 3] / segment, ":", color="black",
                          linewidth=1, label="claim")  # fmt: skip
        axis.set_title(cell.case.name if cell.case else cell.name, fontsize="small")
        if len(queue):
            axis.set_xlim(since, queue[-1, 0])
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        if axis is axes[0] or len({of_flow["cc"] for of_flow in run["flows"]}) > 1:
            axis.legend(fontsize="x-small", loc="upper right")
    figure.supxlabel("time, s", fontsize="small")
    figure.supylabel("packets", fontsize="small")
    return figure


def _thresholds(cells: list[Cell], until: str) -> Any:
    figure, axes = _grid(len(cells), wide=2, sharex=True, sharey=True)
    for axis, cell in zip(axes, cells, strict=True):
        rows = series(cell.first / "flows.csv", (0, 2, 6))
        axis.plot(rows[:, 0], rows[:, 1], color=_colour(cell), linewidth=1, label="window")
        axis.plot(rows[:, 0], rows[:, 2], "k:", linewidth=1, label="ssthresh")
        axis.set_title(cell.name, fontsize="small")
        axis.grid(alpha=0.3)
    highest = 1.2 * max(cell.runs[0]["flows"][0]["cwnd_mean"] for cell in cells)
    axes[0].set(xlim=(0, float(until) if until else None), ylim=(0, highest))
    axes[0].legend(fontsize="small", loc="lower right")
    figure.supxlabel("time, s", fontsize="small")
    figure.supylabel("packets", fontsize="small")
    return figure


def _estimates(cells: list[Cell], what: str) -> Any:
    figure, axes = _grid(len(cells), wide=2, height=2.2)
    for axis, cell in zip(axes, cells, strict=True):
        run = cell.runs[0]
        table = series(cell.first / "flows.csv", (0, 13, "cc_buffer_segs", "cc_level_segs"))
        column, unit = {"capacity": (1, "Mb/s of data"), "buffer": (2, "segments"),
                        "level": (3, "segments")}[what]  # fmt: skip
        scale = 1e-6 if what == "capacity" else 1
        if what == "level":
            queue = _links(cell)[0]
            axis.plot(queue[:, 0], queue[:, 1], color="black", linewidth=1, label="sampled queue")
        else:
            truth = payload_bps(run) * scale
            truth = truth if what == "capacity" else run["settings"]["buffer"]
            axis.axhline(truth, color="black", linestyle="--", linewidth=1, label="truth")
        axis.plot(table[:, 0], table[:, column] * scale, color=_colour(cell), linewidth=1,
                  label="estimate")  # fmt: skip
        axis.set_title(cell.name, fontsize="small")
        axis.set(ylabel=unit, ylim=(0, None))
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize="small")
    figure.supxlabel("time, s", fontsize="small")
    return figure


def _pairs(cells: list[Cell], metric: str) -> Any:
    metric = metric or "completion_s"
    cases = list(dict.fromkeys(cell.case.name if cell.case else "" for cell in cells))
    figure, axes = plt.subplots(len(cases), 1, squeeze=False, layout="constrained",
                                figsize=(9, 3 * len(cases) + 0.5))  # fmt: skip
    for axis, case in zip(axes.flat, cases, strict=True):
        shown = [cell for cell in cells if (cell.case.name if cell.case else "") == case]
        for place, cell in enumerate(shown):
            for flow in (0, 1):
                _pair_bar(axis, place + 0.4 * flow - 0.2, cell, flow, metric)
        axis.set(title=case, ylabel=_title(metric), xticks=range(len(shown)))
        axis.set_xticklabels([c.column.name for c in shown], rotation=35, ha="right",
                             fontsize="small")  # fmt: skip
        axis.grid(axis="y", alpha=0.3)
    return figure


def _pair_bar(axis: Any, place: float, cell: Cell, flow: int, metric: str) -> None:
    values = cell.values(f"{metric}:{flow}")
    if not values:
        return
    cc = cell.runs[0]["flows"][flow]["cc"]
    mean = intervals.mean(values)
    trials = replace(mean, low=min(values), high=max(values)) if len(values) > 1 else mean
    axis.bar(place, mean.value, 0.38, color=_lighter(_base(cc), 0.15 * flow),
             yerr=_whiskers([trials]), error_kw=WHISKERS,
             gid=_told(f"{cc} in {cell.name}", metric, mean))  # fmt: skip


def _sweep(cells: list[Cell], metric: str) -> Any:
    figure, axis = plt.subplots(figsize=(9, 3.6), layout="constrained")
    for column in dict.fromkeys(cell.column.name for cell in cells):
        points = [
            (cell.case.x, cell.values(metric), cell)
            for cell in cells
            if cell.column.name == column and cell.case and cell.case.x is not None
        ]
        points = [(x, values, cell) for x, values, cell in points if values]
        if not points:
            continue
        x = [p[0] for p in points]
        means = [intervals.mean(values) for _, values, _ in points]
        axis.errorbar(x, [m.value for m in means], _whiskers(means), label=column,
                      color=_colour(points[0][2]), marker="o", markersize=4,
                      linestyle=_line(points[0][2]), capsize=2)  # fmt: skip
        for at, mean, (_, _, cell) in zip(x, means, points, strict=True):
            axis.plot(at, mean.value, "o", markersize=12, alpha=0,  # a larger area for the pointer
                      gid=_told(cell.name, metric, mean))  # fmt: skip
    xs = [cell.case.x for cell in cells if cell.case and cell.case.x]
    if xs and min(xs) > 0 and max(xs) / min(xs) > 20:
        axis.set_xscale("log")
    axis.set(xlabel=cells[0].scenario.x, ylabel=_title(metric), ylim=(0, None))
    axis.grid(alpha=0.3)
    axis.legend(fontsize="small")
    return figure


def _rates(cells: list[Cell], until: str) -> Any:
    figure, axes = plt.subplots(3, len(cells), squeeze=False, sharex=True, sharey="row",
                                layout="constrained", figsize=(9, 6))  # fmt: skip
    for (rate, rtt, queue), cell in zip(axes.T, cells, strict=True):
        table = series(cell.first / "flows.csv", (0, 1, 4, 7))
        for flow in range(min(10, len(cell.runs[0]["flows"]))):
            rows = table[table[:, 1] == flow]
            step = max(1, len(rows) // 200)
            rows_ = rows[::step]
            speed = np.diff(rows_[:, 3]) * 8 / np.diff(rows_[:, 0]) / 1e6
            rate.plot(rows_[1:, 0], speed, linewidth=1)
            rtt.plot(rows[:, 0], rows[:, 2] * 1e3, linewidth=1)
        table = _links(cell)[0]
        queue.plot(table[:, 0], table[:, 1], color="black", linewidth=1)
        rate.set_title(cell.name, fontsize="small")
        for axis in (rate, rtt, queue):
            axis.grid(alpha=0.3)
    for axis, label in zip(axes[:, 0], ("Mb/s", "rtt, ms", "queue, packets"), strict=True):
        axis.set_ylabel(label)
    if until:
        axes[0][0].set_xlim(0, float(until))
    figure.supxlabel("time, s", fontsize="small")
    return figure


def _peaks(table: np.ndarray, most: int = 400) -> np.ndarray:
    """Reduces a series to at most most rows: a time, and the maximum from there to the next row.

    For areas, because matplotlib draws all points of an area, but for a line only visible ones.
    """
    if not len(table):
        return table[:, :2]
    starts = np.arange(0, len(table), -(-len(table) // most))
    return np.column_stack([table[starts, 0], np.maximum.reduceat(table[:, 1], starts)])


def _links(cell: Cell) -> list[np.ndarray]:
    """The series of each link of a cell's first run; see LINK_COLUMNS."""
    table = series(cell.first / "links.csv", LINK_COLUMNS)
    count = len(cell.runs[0]["links"])
    return [table[k::count] for k in range(count)]


def _shares(cells: list[Cell], which: str) -> Any:
    """Draws windows of flows, and their fair shares.

    Fair shares are rates.  A flow's fair window is its mean window times fair rate / its rate.
    """
    chosen = [int(number) for number in which.split(".")]
    figure, axes = _by_case(cells)
    colours = plt.get_cmap("tab10").colors
    for axis, cell in zip(axes, cells, strict=True):
        run = cell.runs[0]
        table = series(cell.first / "flows.csv", (0, 1, 2))
        for flow, colour in zip(chosen, colours, strict=False):
            rows = table[table[:, 1] == flow]
            axis.plot(rows[:, 0], rows[:, 2], color=colour, linewidth=1, label=f"user {flow + 1}")
            for own, stage in zip(run["flows"][flow]["stages"], run["stages"], strict=True):
                if "fair_cwnd" in own:
                    axis.plot([stage["from"], stage["to"]], [own["fair_cwnd"]] * 2, color=colour,
                              linewidth=1, linestyle=":")  # fmt: skip
        axis.set_title(cell.name, fontsize="small")
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize="small")
    figure.supxlabel("time, s", fontsize="small")
    figure.supylabel("window, packets; dotted: max-min fair", fontsize="small")
    return figure


def _users(cells: list[Cell], _: str) -> Any:
    figure, axes = _grid(len(cells), wide=2, height=3.2)
    for axis, cell in zip(axes, cells, strict=True):
        flows = cell.runs[0]["flows"]
        times = sorted({x for f in flows for x in (f["start_s"], f["end_s"])})
        there = [sum(f["start_s"] <= t < f["end_s"] for f in flows) for t in times]
        axis.step(times, there, where="post", color="black", linestyle=":", label="users")
        for k, table in enumerate(tables := _links(cell)):
            label = "estimated" if len(tables) == 1 else f"estimated at link {k + 1}"
            axis.plot(table[:, 0], table[:, 4], color=_lighter(_colour(cell), k / len(tables)),
                      linewidth=1, label=label)  # fmt: skip
        axis.set_title(cell.name, fontsize="small")
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize="small")
    figure.supxlabel("time, s", fontsize="small")
    return figure


def _use(cells: list[Cell], _: str) -> Any:
    figure, axes = plt.subplots(2, len(cells), squeeze=False, sharex=True, sharey="row",
                                layout="constrained", figsize=(9, 5))  # fmt: skip
    for (use, queue), cell in zip(axes.T, cells, strict=True):
        for link, table in zip(cell.runs[0]["links"], _links(cell), strict=True):
            step = max(1, len(table) // 300)
            rows = table[::step]
            share = np.diff(rows[:, 2]) * 8 / np.diff(rows[:, 0]) / link["rate_bps"]
            use.plot(rows[1:, 0], share, linewidth=1, label=link["name"])
            queue.plot(table[:, 0], table[:, 1], linewidth=1)
        use.set_title(cell.name, fontsize="small")
        use.grid(alpha=0.3)
        queue.grid(alpha=0.3)
    axes[0][0].set(ylabel="utilization", ylim=(0, 1.05))
    axes[1][0].set(ylabel="queue, packets")
    if len(cells[0].runs[0]["links"]) > 1:
        axes[0][0].legend(fontsize="small")
    figure.supxlabel("time, s", fontsize="small")
    return figure


def _bars(cells: list[Cell], metric: str) -> Any:
    figure, axis = plt.subplots(figsize=(9, 2.8), layout="constrained")
    names = [link["name"] for link in cells[0].runs[0]["links"]]
    width = 0.8 / len(cells)
    for n, cell in enumerate(cells):
        means = [intervals.mean(cell.values(f"{metric}:{name}") or [np.nan]) for name in names]
        places = np.arange(len(names)) + (n + 0.5) * width - 0.4
        bars = axis.bar(places, [m.value for m in means], width * 0.95, color=_colour(cell),
                        label=cell.name, yerr=_whiskers(means), error_kw=WHISKERS)  # fmt: skip
        for bar, name, mean in zip(bars, names, means, strict=True):
            bar.set_gid(_told(f"{cell.name}, {name}", metric, mean))
    axis.set(xticks=range(len(names)), xticklabels=names, ylabel=_title(metric))
    axis.grid(axis="y", alpha=0.3)
    axis.legend(fontsize="small", loc="lower right")
    return figure


def _portrait(cells: list[Cell], name: str) -> Any:
    figure, axis = plt.subplots(figsize=(9, 4.5), layout="constrained")
    x, q = fluid.portrait(name)
    for column, (x0, q0, tau) in enumerate(fluid.PORTRAITS[name]):
        colour = plt.get_cmap("viridis")(column / len(fluid.PORTRAITS[name]))
        label = f"{tau * 1e3:.0f} ms" if name == "delay" else None
        axis.plot(x[:, column], q[:, column], color=colour, linewidth=1, label=label)
        axis.plot(x0, q0, "o", color=colour, markersize=4)
    axis.plot(0, 0, "k+", markersize=10)
    axis.set(xlabel="input above capacity, packets/s", ylabel="queue, packets")
    axis.grid(alpha=0.3)
    if name == "delay":
        axis.legend(title="delay", fontsize="small")
    return figure


@dataclass(frozen=True)
class Kind:
    """A kind of picture."""

    draw: Callable[[list[Cell], str], Any]
    sampled: bool  # whether it needs sampled series
    words: str  # its caption
    usage: str  # the syntax after its name
    says: str  # description on the schema page
    of_runs: bool = True  # whether it shows runs

    @property
    def axes(self) -> bool:
        """Whether both of its axes have numbers; bars have names on one of them."""
        return self.draw not in (_times, _pairs, _bars, _ratios)


KINDS = {
    "times": Kind(_times, False, "{} of each column, and the paper's value if it has one",
                  "[:METRIC]",
                  "bars: completion time, or METRIC, of each column, with the paper's value beside"
                  " it"),
    "windows": Kind(_windows, True, "Congestion window and queue over time", "[:SECONDS]",
                    "congestion window and queue over time, with a panel for each column"),
    "claims": Kind(_claims, True, "Congestion window, claim and queue over time", "",
                   "congestion window, claim (times the least rtt) and queue over time, from the"
                   " beginning of the last stage on, with a panel for each case"),
    "thresholds": Kind(_thresholds, True, "Congestion window and ssthresh over time", "[:SECONDS]",
                       "congestion window and ssthresh of a single flow over time"),
    "estimates": Kind(_estimates, True, "Estimated {} over time, and the true value",
                      ":capacity, :buffer or :level", "the sender's estimate over time, and the"
                                                      " true value"),
    "pairs": Kind(_pairs, False, "{} of two flows: means, and the range of the seeds", "[:METRIC]",
                  "bars: completion time, or METRIC, of each of two flows, and the range over the"
                  " seeds"),
    "sweep": Kind(_sweep, False, "{} against the cases", ":METRIC",
                  "METRIC against the cases' x, with a line for each column"),
    "ratios": Kind(_ratios, False, "{} in each case, divided by the best of the others", ":METRIC",
                   "METRIC of the first column in each case, divided by the largest of the other"
                   " columns"),
    "shares": Kind(_shares, True, "Windows of some users, and their max-min fair shares",
                   ":FLOWS", "windows of these flows (such as 0.1.4), and their max-min fair"
                             " shares"),
    "users": Kind(_users, True, "Estimated and true number of users over time", "",
                  "number of users that a router estimates, and the true number, over time"),
    "use": Kind(_use, True, "Utilization and queue of each link over time", "",
                "utilization and queue of each link over time"),
    "links": Kind(_bars, False, "{} of each link", ":METRIC",
                  "bars: METRIC of each link of a network"),
    "rates": Kind(_rates, True, "Throughput, round-trip time and queue over time", "[:SECONDS]",
                  "throughput of each flow, rtt and queue over time"),
    "portrait": Kind(_portrait, False, "Trajectories of the fluid model by {}",
                     ":start or :delay", "trajectories of ACP's fluid model, without"
                                         " runs", of_runs=False),
}  # fmt: skip


def check(of: Scenario) -> None:
    """LabError if a scenario's plot is not valid."""
    for asked in of.plot:
        kind, _, detail = asked.partition(":")
        if kind not in KINDS:
            raise LabError(f"{of.path}: no plot {kind!r}; there are: {', '.join(KINDS)}")
        if kind == "estimates" and detail not in ("capacity", "buffer", "level"):
            raise LabError(f"{of.path}: plot estimates needs :capacity, :buffer or :level")
        if kind == "portrait" and detail not in fluid.PORTRAITS:
            raise LabError(f"{of.path}: plot portrait needs :{' or :'.join(fluid.PORTRAITS)}")
        metric = detail if kind in ("sweep", "links", "times", "pairs", "ratios") else ""
        if (kind in ("sweep", "links", "ratios") and not metric) or (
            metric and split(metric).base not in findings.metric_names(of)
        ):
            there = ", ".join(findings.metric_names(of))
            raise LabError(f"{of.path}: plot {asked!r} needs a metric; there are: {there}")
        if kind in ("windows", "thresholds", "rates") and detail:
            try:
                units.time(0.001, 1e6)(detail)
                float(detail)
            except ValueError:
                raise LabError(f"{of.path}: plot {asked!r}: after the colon is the end of the time"
                               f" axis, in seconds: {kind}:20") from None  # fmt: skip
        if kind == "shares" and not re.fullmatch(r"\d+(\.\d+)*", detail):
            raise LabError(f"{of.path}: plot {asked!r} needs the numbers of flows, from 0 on:"
                           " shares:0.1.4")  # fmt: skip
        if KINDS[kind].sampled:
            _check_runs(of, asked)


def _check_runs(of: Scenario, asked: str) -> None:
    """LabError if a run of a scenario does not have what a plot of samples shows."""
    kind, _, detail = asked.partition(":")
    for case, column in product(of.case or [None], of.column):
        settings = override(of, [], column, case)
        where = ", ".join(filter(None, (column.name, case and case.name)))
        if settings.sample == 0:
            raise LabError(f"{of.path}: plot {asked!r} needs samples, and {where} has none: drop"
                           " sample=0, or the plot")  # fmt: skip
        if kind == "shares" and not (settings.stages or settings.network):
            raise LabError(f"{of.path}: plot {asked!r} shows the fair shares of stages, and {where}"
                           " has none: set stages, or a network")  # fmt: skip
        most = {"shares": max(map(int, detail.split("."))) if kind == "shares" else 0,
                "thresholds": 0}.get(kind, -1)  # fmt: skip
        if most >= settings.flows:
            raise LabError(f"{of.path}: plot {asked!r} needs flow {most}, and {where} has"
                           f" {settings.flows}, counted from 0")  # fmt: skip


def of_runs(asked: str) -> bool:
    """Whether a plot of a scenario shows runs."""
    return KINDS[asked.partition(":")[0]].of_runs


def draw(asked: str, cells: list[Cell]) -> tuple[Any, str]:
    """Draws a plot of a scenario; returns the figure and its caption."""
    kind, _, detail = asked.partition(":")
    words = KINDS[kind].words.format(_title(detail or "completion_s"))
    if KINDS[kind].sampled:
        cells = [cell for cell in cells if cell.runs and "series" in cell.runs[0]]
    return KINDS[kind].draw(cells, detail), words[0].upper() + words[1:]


# In a page --------------------------------------------------------------------------------------

TOLD = "told:"  # prefix of the gid of an element with a text under the pointer
_AXES = "axes:"  # prefix of the gid of axes whose coordinates the page shows under the pointer

# Replacements in matplotlib's SVG: the page has its own colours and fonts, and ids of different
# pictures must not be equal.
_IN_PAGE = (
    (r"^.*?(?=<svg)|<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>", ""),
    (rf'<g id="{TOLD}([^"]*)">', r"<g><title>\1</title>"),
    (rf'<g id="{_AXES}([^"]*)">', r'<g data-axes="\1">'),
    (r'<g id="[^"]*"', "<g"),
    (r'(<svg) .*?(viewBox="[^"]*").*?>', r"\1 \2>"),
    ("xlink:href", "href"),
    ("#000000", "currentColor"),
    ("#ffffff", "var(--back)"),
    (r"(font:[^;\"]*px) [^;\"]*", r"\1 sans-serif"),
    (r"\s*\n\s*", " "),
)


def _seen(x: Any, y: Any, shown: tuple[float, float], places: int) -> tuple[Any, Any]:
    """Reduces the visible part of a line with many points to the minimum and maximum in each of
    places intervals."""
    if len(x) < 4 * places:
        return x, y
    x, y = np.asarray(x, float), np.asarray(y, float)
    inside = (x >= shown[0]) & (x <= shown[1])
    x, y = x[inside], y[inside]
    if len(x) < 4 * places:
        return x, y
    parts = np.array_split(np.arange(len(y)), places)
    ends = (sorted((i[np.argmin(y[i])], i[np.argmax(y[i])])) for i in parts)
    kept = [i for pair in ends for i in dict.fromkeys(pair)]
    return x[kept], y[kept]


def png(asked: str, cells: list[Cell], target: Path) -> str:
    """Writes a plot as a small PNG file; returns its caption."""
    figure, words = draw(asked, cells)
    _save(figure, target)
    return words


def _save(figure: Any, target: Path) -> None:
    figure.canvas.draw()
    small.write(np.asarray(figure.canvas.buffer_rgba())[..., :3], target)
    plt.close(figure)


def growth(of: Any, target: Path) -> None:
    """Writes a picture of a result of scale.growth() as a small PNG file."""
    figure, axes = _grid(3)
    shown = (("cpu_s", 1, "processor time, s", "-"), ("memory", 1e9, "memory, GB", "--"),
             ("kept", 1e6, "kept, MB", ":"))  # fmt: skip
    for axis, (x, what) in zip(axes, (("flows", "flows"), ("packets", "packets"),
                                      ("runs", "runs of 0.3 s")), strict=True):  # fmt: skip
        rows = sorted(of[x], key=lambda row: row[x])
        for key, unit, name, line in shown:
            axis.loglog([row[x] for row in rows], [row[key] / unit for row in rows], line,
                        marker="o", color="black", markersize=3, label=name)  # fmt: skip
        axis.set_xlabel(what)
    axes[0].legend(fontsize="small")
    _save(figure, target)


# The ranges of ratios that the pictures of the bench show; what is beyond is drawn at the edge.
ACK_RATIOS = (0.05, 20.0)
ROUTER_RATIOS = (0.01, 50.0)
SOCKETS = {1: "#000000", 1000: "#1f77b4", 100_000: "#c81e1e"}  # colours


def costs(made: list[bench.Row], target: Path) -> None:
    """Writes two pictures of the rows of lab bench; their names are target's stem with -acks and
    -routers, and .png."""
    for part, figure in (("acks", ack_costs(made)), ("routers", router_costs(made))):
        _save(figure, target.with_name(f"{target.stem}-{part}.png"))


def ack_costs(made: list[bench.Row]) -> Any:
    """A figure with the cost of an ACK as a multiple of CUBIC's or BBR's: a panel for each kind of
    ACKs, a line for each congestion control, and a colour for each number of sockets."""
    rows = [row for row in made if row.kind in bench.ACKS and row.name != row.of]
    # those with a bound first
    names = sorted(dict.fromkeys((row.most is None, row.of, row.name) for row in rows),
                   key=lambda of: (of[0], of[1] != "cubic"))  # fmt: skip
    places = {name: place for place, (_, _, name) in enumerate(names)}
    numbers = sorted({row.sockets for row in rows})
    figure, axes = plt.subplots(2, 4, figsize=(9, 0.31 * len(names) + 1.2), layout="constrained",
                                sharex=True, sharey=True)  # fmt: skip
    *axes, last = axes.flat
    for axis, kind in zip(axes, bench.ACKS, strict=True):
        for of, number in enumerate(numbers):
            shift = 0.5 * (of / max(1, len(numbers) - 1) - 0.5) if len(numbers) > 1 else 0
            found = [row for row in rows if (row.kind, row.sockets) == (kind, number)]
            _ratio_points(axis, found, [places[row.name] + shift for row in found], ACK_RATIOS,
                          SOCKETS.get(number, "#000000"))  # fmt: skip
        _ratio_axis(axis, kind, ACK_RATIOS, 1)
        for before, place in zip(names, range(1, len(names)), strict=False):
            if before[:2] != names[place][:2]:
                axis.axhline(place - 0.5, color="#999999", linewidth=0.8)
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    axes[0].set_yticks(range(len(names)), [f"{name} / {of}" for _, of, name in names],
                       fontsize="x-small")  # fmt: skip
    axes[4].tick_params(axis="y", labelsize="x-small")
    axes[3].tick_params(axis="x", labelbottom=True)  # no panel is below it
    last.set_axis_off()
    for number in numbers:
        last.plot([], [], ".", color=SOCKETS.get(number, "#000000"),
                  label=f"{number} socket{'s' * (number > 1)}")  # fmt: skip
    last.plot([], [], ".", color="black", markerfacecolor="white", label="noise")
    last.legend(loc="center", fontsize="small", frameon=False)
    figure.supxlabel("time of an ACK / time of the same with the second name", fontsize="small")
    return figure


def router_costs(made: list[bench.Row]) -> Any:
    """A figure with the cost of a packet in each qdisc as a multiple of fq_codel's, and below of
    cake's: a panel for each kind of traffic, with a dashed line at what is wanted."""
    first = [row for row in made if row.of == "fq_codel" and row.name != "fq_codel"]
    below = [row for row in made if row.unit == "of cake's"]
    counts = [len(dict.fromkeys(row.name for row in rows)) for rows in (first, below)]
    figure, axes = plt.subplots(
        2, len(bench.TRAFFIC), figsize=(9, 0.2 * sum(counts) + 1.6), layout="constrained",
        sharex=True, sharey="row", gridspec_kw={"height_ratios": counts},
    )  # fmt: skip
    for of_row, rows, bound, of in ((axes[0], first, 1, "fq_codel"),
                                    (axes[1], below, bench.OF_CAKE, "cake")):  # fmt: skip
        names = list(dict.fromkeys(row.name for row in rows))
        for axis, kind in zip(of_row, bench.TRAFFIC, strict=True):
            for ours, colour in ((True, "#000000"), (False, "#999999")):
                found = [row for row in rows
                         if row.kind == kind and (row.name.split("(")[0] in bench.OURS) == ours]
                _ratio_points(axis, found, [names.index(row.name) for row in found],
                              ROUTER_RATIOS, colour)  # fmt: skip
            _ratio_axis(axis, kind if rows is first else "", ROUTER_RATIOS, bound)
        of_row[0].set_ylim(len(names) - 0.5, -0.5)
        of_row[0].set_yticks(range(len(names)), names, fontsize="small")
        of_row[0].set_ylabel(f"/ {of}", fontsize="small")
    figure.supxlabel("time of a packet / time of the same with fq_codel, cake", fontsize="small")
    return figure


def _ratio_points(axis: Any, rows: list[bench.Row], places: list[float],
                  ends: tuple[float, float], colour: str) -> None:  # fmt: skip
    """Draws the median and the range over the guests of each row's ratio, or of its samples if
    these are ratios; hollow if the row is noise."""
    for noise in (False, True):
        found = [(row.ratios or row.samples, place) for row, place in zip(rows, places, strict=True)
                 if row.noise == noise]  # fmt: skip
        low, middle, high = (
            np.clip([of(ratios) for ratios, _ in found], *ends) for of in (min, median, max)
        )
        axis.errorbar(middle, [place for _, place in found], xerr=[middle - low, high - middle],
                      fmt=".", color=colour, markersize=4, elinewidth=1, markeredgewidth=0.7,
                      antialiased=False,  # a smaller file
                      markerfacecolor="white" if noise else colour)  # fmt: skip


def _ratio_axis(axis: Any, title: str, ends: tuple[float, float], bound: float) -> None:
    axis.axvline(bound, color="black", linestyle="--", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_xlim(ends[0] / 1.15, ends[1] * 1.15)
    ticks = [tick for tick in (0.01, 0.1, 1, 10) if ends[0] <= tick <= ends[1]]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize="small")
    axis.minorticks_off()
    axis.grid(axis="x", alpha=0.3)
    axis.set_title(title, fontsize="small")


def svg(asked: str, cells: list[Cell], name: str) -> tuple[str, str]:
    """A plot as SVG for a page, and its caption; name: unique among the pictures of the page.

    If an element's gid begins with TOLD, the rest of the gid is its <title>.  Axes have their
    range in data-axes: from and to of x, its scale, and the same for y.
    """
    figure, words = draw(asked, cells)
    for axes in figure.axes:
        for line in axes.lines:
            places = round(axes.bbox.width / figure.dpi * 72)
            line.set_data(*_seen(*line.get_data(), axes.get_xlim(), places))
    if KINDS[asked.partition(":")[0]].axes:
        for axes in figure.axes:
            ends = (*axes.get_xlim(), axes.get_xscale(), *axes.get_ylim(), axes.get_yscale())
            axes.set_gid(_AXES + " ".join(e if isinstance(e, str) else f"{e:.6g}" for e in ends))
    written = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(written, format="svg")
    plt.close(figure)
    text = written.getvalue()
    for pattern, instead in _IN_PAGE:
        text = re.sub(pattern, instead, text, flags=re.DOTALL)
    short = re.compile(r"(\.\d)\d+")
    return re.sub(r'\b(?:d|x|y)="[^"]*"', lambda m: short.sub(r"\1", m[0]), text), words


# The demo ---------------------------------------------------------------------------------------


def windows_and_queue(results: list[Any], title: str, until: float | None = None) -> Any:
    """A figure of cwnd and queue over time, a line for each run; until: end of the time axis, s."""
    figure, (windows, queue) = plt.subplots(2, 1, sharex=True, figsize=(9, 6.5))
    for r in results:
        where = Path(r["series"])
        table = series(where / "flows.csv", (0, 1, 2))
        first = table[table[:, 1] == 0]
        colour = _base(r["cc"])
        windows.plot(first[:, 0], first[:, 2], label=r["cc"], linewidth=1, color=colour)
        table = series(where / "links.csv", (0, 2))
        queue.plot(table[:, 0], table[:, 1], color=colour, linewidth=1)
    windows.set(ylabel="window of one flow, packets", title=title, yscale="log")
    queue.set(ylabel="queue, packets", xlabel="time, s", ylim=(0, None), xlim=(0, until))
    windows.legend(loc="upper right", fontsize="small")
    for axes in (windows, queue):
        axes.grid(alpha=0.3)
    figure.tight_layout()
    return figure


def save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
