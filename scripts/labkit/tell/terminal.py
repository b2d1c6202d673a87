# SPDX-License-Identifier: GPL-2.0
"""Results and progress for the eye, on a terminal."""

import os
import sys
import time
from typing import Any


def table(results: list[Any]) -> str:
    """Results for the eye: a line per flow, or per run when there are many."""
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
    lines.append(f"series: {os.path.commonpath([r['series'] for r in results])}")
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
