# SPDX-License-Identifier: GPL-2.0
"""Results and progress for the eye, on a terminal."""

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # numpy takes its time to load
    from ..measure.compare import Comparison


def table(results: list[Any]) -> str:
    """Results for the eye: a line per run; with several seeds their means, the 95 % interval of
    these, and the differences between columns."""
    where = f"series: {os.path.commonpath([r['series'] for r in results])}"
    if len({r["seed"] for r in results}) > 1:
        return f"{_cells(results)}\n{where}"
    names = [r.get("column", r["cc"]) for r in results]
    width = max(12, *map(len, names)) + 2
    lines = [
        f"{'cc':<{width}}{'flows':>6}{'goodput':>12}{'completion':>12}{'retrans':>9}"
        f"{'rtt':>10}{'use':>8}{'queue':>9}{'max':>8}{'drops':>8}{'Jain':>7}"
    ]
    for name, r in zip(names, results, strict=True):
        flows, link = r["flows"], r["links"][0]
        done = [f["completion_s"] for f in flows if "completion_s" in f]
        asked = "bytes" in r["settings"]
        completion = f"{max(done):.3f} s" if asked and len(done) == len(flows) else "-"
        rtts = [f["rtt_mean_s"] for f in flows if "rtt_mean_s" in f]
        rtt = f"{sum(rtts) / len(rtts) * 1e3:.1f} ms" if rtts else "-"
        queue = f"{link['queue_mean']:.0f}" if "queue_mean" in link else "-"
        highest = f"{link['queue_max']}" if "queue_max" in link else "-"
        lines.append(
            f"{name:<{width}}{len(flows):>6}{rate(sum(f['goodput_bps'] for f in flows)):>12}"
            f"{completion:>12}{sum(f['retransmits'] for f in flows):>9}{rtt:>10}"
            f"{link['utilization']:>8.3f}{queue:>9}{highest:>8}{link['drops']:>8}"
            + (f"{r['jain']:>7.3f}" if "jain" in r else f"{'-':>7}")
        )
        lines += _said(r)
    lines.append("one seed, and so no interval: --seeds 1-10 has one")
    lines.append(where)
    return "\n".join(lines)


def _said(r: Any) -> list[str]:
    """What was said beside the flows."""
    lines = []
    for name, of, lost, sent in (("voice", "delay", "lost", "sent"),
                                 ("ask", "took", "unanswered", "asked")):  # fmt: skip
        if (found := r.get(name)) and f"{of}_mean_s" in found:
            shares = ", ".join(f"{share} {found[f'{of}_{share}_s'] * 1e3:.1f} ms"
                               for share in ("median", "p95", "p99", "max"))  # fmt: skip
            lines.append(f"  {name}: {of} {shares}; {found[lost]} of {found[sent]} {lost}")
    return lines


# What a line of means has, and how wide.
_COLUMNS = {
    "goodput_bps": ("goodput", 12), "completion_s": ("completion", 12),
    "retransmits": ("retrans", 9), "rtt_mean_s": ("rtt", 11), "utilization": ("use", 9),
    "queue_mean": ("queue", 9), "queue_max": ("max", 9), "drops": ("drops", 9), "jain": ("Jain", 9),
}  # fmt: skip


def _cells(results: list[Any]) -> str:
    from ..measure import cells, intervals

    by_cell = cells.by_cell(results)
    lines: list[tuple[str, Any, Callable[[Any], float | None], bool]] = []

    def add(name: str, found: Any, signed: bool = False) -> None:
        lines.append((name, found, lambda i: i.value, signed))
        if any(i.low is not None for i in found.values()):
            lines.append(("  95 % from", found, lambda i: i.low, signed))
            lines.append(("       to", found, lambda i: i.high, signed))

    for key, runs in by_cell.items():
        add(f"{key[1]} ({len(runs)} seeds)", cells.means(runs))
    for key, runs in by_cell.items():
        if other := cells.reference(by_cell, key):
            add(f"{key[1]} - {other[1]}", cells.differences(by_cell[other], runs), True)
    width = max(12, *(len(name) for name, *_ in lines)) + 2
    shown = [f"{'cc':<{width}}" + "".join(f"{head:>{w}}" for head, w in _COLUMNS.values())]
    for name, found, part, signed in lines:
        values = [part(found[m]) if m in found else None for m in _COLUMNS]
        shown.append(f"{name:<{width}}" + "".join(
            f"{'-' if v is None else amount(m, v, signed):>{w}}"
            for v, (m, (_, w)) in zip(values, _COLUMNS.items(), strict=True)
        ))  # fmt: skip
    late = sum("completion_s" not in f for r in results for f in r["flows"])
    if late and any("bytes" in r["settings"] for r in results):
        shown.append(f"{late} transfers did not end: they count as the time that they were given")
    if len(by_cell) > 1:
        shown.append("differences are means over the same seeds")
    if max(map(len, by_cell.values())) <= intervals.FEW:
        shown.append("of so few seeds an interval is from the least to the most: take ten")
    return "\n".join(shown)


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
    """Two sets of results for the eye: a line per cell and metric that is not the same in all runs,
    and what it all comes to."""
    lines = []
    changed = [row for row in made.rows if row.changed]
    for cell in dict.fromkeys(row.cell for row in changed):
        rows = [row for row in changed if row.cell == cell]
        name, n = " ".join(filter(None, cell)), max(row.difference.n for row in rows)
        seeds = f"{n} seeds" if n > 1 else "one seed: no intervals"
        lines.append(f"{name} ({seeds})")
        lines.append(f"{'':<22}{'A':>12}{'B':>12}{'B - A':>12}  95 %")
        for row in rows:
            of = row.difference
            texts = [amount(row.metric, row.a), amount(row.metric, row.b),
                     amount(row.metric, of.value, True)]  # fmt: skip
            line = f"  {row.metric:<20}" + "".join(f"{text:>12}" for text in texts)
            if of.low is not None and of.high is not None:
                ends = (amount(row.metric, end, True) for end in (of.low, of.high))
                line += f"  {' to '.join(ends)}{f'  {row.verdict}' * bool(row.verdict)}"
            if of.n < n:
                line += f"  (n={of.n})"
            lines.append(line)
    worse, better = made.of("worse"), made.of("better")
    judged = sum(row.difference.low is not None for row in made.rows)
    lines.append(f"{len(changed)} of {len(made.rows)} metrics of {len({r.cell for r in made.rows})}"
                 f" cells differ; of {judged} with an interval {len(worse)} are worse beyond it,"
                 f" {len(better)} better")  # fmt: skip
    lines += [f"worse: {' '.join(filter(None, (*row.cell, row.metric)))}" for row in worse]
    return "\n".join(lines)


def rate(bps: float) -> str:
    for size, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if bps >= size:
            return f"{bps / size:.4g} {unit}"
    return f"{bps:.3g} b/s"


class Progress:
    """One line on standard error about runs side by side; none unless it is a terminal."""

    def __init__(self, titles: list[str]) -> None:
        self.titles = titles
        self.shares = [0.0] * len(titles)
        self.live = sys.stderr.isatty()
        self.shown = 0.0

    def update(self, index: int, share: float) -> None:
        self.shares[index] = share
        if self.live and time.monotonic() - self.shown > 0.1:
            self.shown = time.monotonic()
            parts = [
                f"{title} {share:.0%}"
                for title, share in zip(self.titles, self.shares, strict=True)
                if 0 < share < 1
            ]
            width = os.get_terminal_size(2).columns - 1
            sys.stderr.write("\r" + "  ".join(parts)[:width] + "\x1b[K")
            sys.stderr.flush()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            sys.stderr.write("\r\x1b[K")
