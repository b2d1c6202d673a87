# SPDX-License-Identifier: GPL-2.0
"""Results and progress as text for a terminal."""

import io
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # avoids loading numpy, which takes long
    from ..measure.compare import Comparison


def table(results: list[Any]) -> str:
    """A table of results with a line for each run; with several seeds, the means, their 95 %
    intervals, and the differences between columns."""
    where = f"series: {os.path.commonpath([r['series'] for r in results])}"
    if len({r["seed"] for r in results}) > 1:
        return f"{_cells(results)}\n{where}"
    several = len({r.get("case") for r in results}) > 1
    names = [r.get("column", r["cc"]) + f" {r.get('case', '')}" * several for r in results]
    heads = ("cc", "flows", "goodput", "completion", "retrans", "rtt", "use", "queue", "max",
             "drops", "Jain")  # fmt: skip
    rows = [[name, *_row(r)] for name, r in zip(names, results, strict=True)]
    said = [f"{name} {line}" for name, r in zip(names, results, strict=True) for line in _said(r)]
    return "\n".join([
        columns(heads, rows), *said, *_notes(results),
        "no interval, because there is one seed: use --seeds 1-10", where,
    ])  # fmt: skip


def _notes(results: list[Any]) -> list[str]:
    """Lines that say what the numbers in a table are, if that is not obvious."""
    notes = []
    if (most := max(len(r["links"]) for r in results)) > 1:
        notes.append(f"of {most} links: use is the least of them, queue and max are the largest,"
                     " drops are the sum")  # fmt: skip
    if any(_more_than_arrived(r) for r in results):
        notes.append("goodput is the sum of the rates of flows that did not all run all the time,"
                     " each over its own time: it may exceed the link's rate")  # fmt: skip
    return notes


def _more_than_arrived(r: Any) -> bool:
    """Whether the sum of the flows' rates is by more than 1 % larger than that of all data."""
    flows = r["flows"]
    if len(flows) < 2 or "virtual_s" not in r:
        return False
    rate_of_all = sum(f["bytes"] for f in flows) * 8 / r["virtual_s"]
    return sum(f["goodput_bps"] for f in flows) > 1.01 * rate_of_all


def columns(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Formats a table, the same for a file and a terminal; the first column is left-aligned."""
    from rich.console import Console
    from rich.table import Table

    made = Table(box=None, pad_edge=False)
    for n, head in enumerate(heads):
        made.add_column(head, justify="right" if n else "left", no_wrap=True)
    for row in rows:
        made.add_row(*row)
    page = io.StringIO()
    Console(file=page, width=1000, color_system=None, markup=False, highlight=False).print(made)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())


def _row(r: Any) -> list[str]:
    """The fields of a run's line in the table."""
    flows, links = r["flows"], r["links"]
    done = [f["completion_s"] for f in flows if "completion_s" in f]
    asked = "bytes" in r["settings"]
    rtts = [f["rtt_mean_s"] for f in flows if "rtt_mean_s" in f]
    return [
        str(len(flows)),
        rate(sum(f["goodput_bps"] for f in flows)) if flows else "-",
        f"{sum(done) / len(done):.3f} s" if asked and len(done) == len(flows) else "-",
        str(sum(f["retransmits"] for f in flows)) if flows else "-",
        f"{sum(rtts) / len(rtts) * 1e3:.1f} ms" if rtts else "-",
        f"{min(link['utilization'] for link in links):.3f}",
        f"{max(link['queue_mean'] for link in links):.0f}" if "queue_mean" in links[0] else "-",
        f"{max(link['queue_max'] for link in links)}" if "queue_max" in links[0] else "-",
        str(sum(link["drops"] for link in links)),
        f"{r['jain']:.3f}" if "jain" in r else "-",
    ]


def _said(r: Any) -> list[str]:
    """Lines about calls, requests and so on in a run."""
    lines = []
    for name, of, lost, sent in (("voice", "delay", "lost", "sent"),
                                 ("ask", "took", "unanswered", "asked")):  # fmt: skip
        if (found := r.get(name)) and f"{of}_mean_s" in found:
            shares = ", ".join(f"{share} {found[f'{of}_{share}_s'] * 1e3:.1f} ms"
                               for share in ("median", "p95", "p99", "max"))  # fmt: skip
            lines.append(f"{name}: {of} {shares}; {found[lost]} of {found[sent]} {lost}")
    if (short := r.get("short")) and "completion_median_s" in short:
        shares = ", ".join(f"{share} {short[f'completion_{share}_s']:.3f} s"
                           for share in ("median", "p95", "p99"))  # fmt: skip
        lines.append(f"short: completion {shares}; {short['unfinished']} of {short['flows']}"
                     " unfinished")  # fmt: skip
    if (v := r.get("video")) and "bitrate_bps" in v:
        lines.append(f"video: {rate(v['bitrate_bps'])}, {v['rebuffer_s']:.2f} s rebuffering,"
                     f" {v['switches']:g} switches, start after {v['startup_s']:.2f} s")
    for p in r.get("program", ()):
        ended = f"{p['took_s']:.3f} s" if "took_s" in p else "until the end"
        said = f": {p['said']}" if "said" in p else ""
        lines.append(f"{p['program']} on {p['host']}: {ended}{said}")
    return lines


# The metrics in a line of means, and their names.
_MEANS = {
    "goodput_bps": "goodput", "completion_s": "completion", "retransmits": "retrans",
    "rtt_mean_s": "rtt", "utilization": "use", "queue_mean": "queue", "queue_max": "max",
    "drops": "drops", "jain": "Jain",
}  # fmt: skip


def _cells(results: list[Any]) -> str:
    from ..measure import cells, intervals

    by_cell = cells.by_cell(results)
    rows: list[list[str]] = []

    def add(name: str, found: Any, signed: bool = False) -> None:
        for label, part in ((name, "value"), ("  95 % from", "low"), ("       to", "high")):
            values = [getattr(found[m], part) if m in found else None for m in _MEANS]
            if any(v is not None for v in values):
                rows.append([label, *(
                    "-" if v is None else
                    SAME if part != "value" and found[m].same else amount(m, v, signed)
                    for m, v in zip(_MEANS, values, strict=True)
                )])  # fmt: skip

    several = len({case for _, _, case in by_cell}) > 1
    for key, runs in by_cell.items():
        add(f"{key[1]}{f' {key[2]}' * several} ({len(runs)} seeds)", cells.means(runs))
    for key, runs in by_cell.items():
        if other := cells.reference(by_cell, key):
            add(f"{key[1]} - {other[1]}{f', {key[2]}' * several}",
                cells.differences(by_cell[other], runs), True)  # fmt: skip
    shown = [columns(["cc", *_MEANS.values()], rows)]
    if any(SAME in row for row in rows):
        shown.append(f"{SAME}: all seeds have the same value")
    alike = [" ".join(filter(None, key[1:])) for key, runs in by_cell.items()
             if len(runs) > 1 and _alike(runs)]  # fmt: skip
    if alike:
        shown.append(f"all seeds of {', '.join(alike)} gave the same run, so they count as one: to"
                     " make them differ, set for example scatter=10ms (random starts of flows)")
    late = sum("completion_s" not in f for r in results for f in r["flows"])
    if late and any("bytes" in r["settings"] for r in results):
        shown.append(f"{late} transfers did not end: they count with the time until the timeout")
    shown += _notes(results)
    if len(by_cell) > 1:
        shown.append("differences are means over the same seeds")
    if max(map(len, by_cell.values())) <= intervals.FEW and len(alike) < len(by_cell):
        shown.append("with so few seeds an interval is from the minimum to the maximum: use ten")
    return "\n".join(shown)


SAME = "same"  # in place of an end of an interval


def _alike(runs: list[Any]) -> bool:
    """Whether runs with different seeds have the same results."""
    return all(run[part] == runs[0][part] for run in runs for part in ("flows", "links"))


def amount(metric: str, value: float, signed: bool = False) -> str:
    """A metric's value with its unit; signed: as a difference."""
    sign = "-" if value < 0 else "+" if signed and value > 0 else ""
    if metric.endswith("_bps"):
        return sign + rate(abs(value))
    if metric in ("rtt_mean_s", "request_p95_s", "voice_p99_s", "ask_p95_s"):
        return f"{sign}{abs(value) * 1e3:.4g} ms"
    if metric.endswith("_s"):
        return f"{sign}{abs(value):.4g} s"
    return f"{sign}{abs(value):.4g}"


def compared(made: "Comparison") -> str:
    """A comparison of two sets as text: a line for each metric of a cell that differs in some run,
    and a summary."""
    lines = []
    changed = [row for row in made.rows if row.changed]
    for cell in dict.fromkeys(row.cell for row in changed):
        rows = [row for row in changed if row.cell == cell]
        name, n = " ".join(filter(None, cell)), max(row.difference.n for row in rows)
        seeds = f"{n} seeds" if n > 1 else "one seed: no intervals"
        lines.append(f"{name} ({seeds})")
        heads = ("", "A", "B", "B - A", "95 %", "", "")
        lines.append(columns(heads, [_compared(row, n) for row in rows]))
    worse, better = made.of("worse"), made.of("better")
    judged = sum(row.difference.low is not None for row in made.rows)
    lines.append(f"{len(changed)} of {len(made.rows)} metrics of {len({r.cell for r in made.rows})}"
                 f" cells differ; of {judged} with an interval {len(worse)} are worse beyond it,"
                 f" {len(better)} better")  # fmt: skip
    lines += [f"worse: {' '.join(filter(None, (*row.cell, row.metric)))}" for row in worse]
    return "\n".join(lines)


def _compared(row: Any, most: int) -> list[str]:
    """The fields of a metric's line; with its number of seeds if that is less than most."""
    of = row.difference
    ends = [amount(row.metric, end, True) for end in (of.low, of.high) if end is not None]
    ends = [f"all {of.n} the same"] if of.same else ends
    return [f"  {row.metric}", amount(row.metric, row.a), amount(row.metric, row.b),
            amount(row.metric, of.value, True), " to ".join(ends), row.verdict * bool(ends),
            f"(n={of.n})" * (of.n < most)]  # fmt: skip


def rate(bps: float) -> str:
    for size, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if bps >= size:
            return f"{bps / size:.4g} {unit}"
    return f"{bps:.3g} b/s"


class Progress:
    """Progress of parallel runs on standard error; shows nothing if that is not a terminal."""

    def __init__(self, titles: list[str]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        # no markup, because a title may contain brackets, such as "ccpd [2]"
        named = TextColumn("{task.description}", markup=False)
        self.bars = Progress(
            named, BarColumn(), TaskProgressColumn(), console=Console(stderr=True), transient=True,
            redirect_stdout=False, disable=not sys.stderr.isatty(),
        )  # fmt: skip
        self.tasks = [self.bars.add_task(title, total=1, visible=False) for title in titles]

    def update(self, index: int, share: float, run: Any = None) -> None:
        self.bars.update(self.tasks[index], completed=share, visible=0 < share < 1)

    def ended(self, index: int, result: Any) -> None:
        """Called at the end of a run; does nothing."""

    def __enter__(self) -> "Progress":
        self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bars.stop()
