# SPDX-License-Identifier: GPL-2.0
"""A live display of runs on a terminal: their progress, and plots of running and ended runs."""

import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
from rich.bar import Bar
from rich.console import Console, Group
from rich.live import Live as Screen
from rich.progress_bar import ProgressBar
from rich.table import Table

from ..errors import LabError
from ..measure.metrics import metric
from ..measure.series import LINK_COLUMNS, series
from .terminal import rate

WIDTH = 40  # characters of a plot
SPARKS = " ▁▂▃▄▅▆▇█"


class Live:
    """The interface of Progress; shows also the rate and the queue of each run over time, and for
    each cell the goodput so far as a bar, and the plots of its last run."""

    def __init__(self, titles: list[str]) -> None:
        """LabError of status 2 if standard error is not a terminal."""
        if not sys.stderr.isatty():
            raise LabError("--live needs a terminal: remove it", status=2)
        self.titles = titles
        self.shares = [0.0] * len(titles)
        self.sparks: dict[int, tuple[str, str]] = {}
        self.cells: dict[str, list[Any]] = {}
        self.lock = threading.Lock()
        self.screen = Screen(get_renderable=self._shown, console=Console(stderr=True),
                             refresh_per_second=8)  # fmt: skip

    def update(self, index: int, share: float, run: Path) -> None:
        """Sets the share of a run that is done, 0 to 1; run: directory of its partial series."""
        self.shares[index] = min(share, 1.0)
        self.sparks[index] = sparks(run, max(1, round(self.shares[index] * WIDTH)))

    def ended(self, index: int, result: Any) -> None:
        """Adds the result of a run."""
        self.shares[index] = 1.0
        with self.lock:
            self.cells.setdefault(self.titles[index], []).append(result)

    def __enter__(self) -> "Live":
        self.screen.__enter__()
        return self

    def __exit__(self, *why: Any) -> None:
        self.screen.__exit__(*why)

    def _shown(self) -> Group:
        with self.lock:
            cells = {title: list(results) for title, results in self.cells.items()}
        done = sum(map(len, cells.values()))
        runs = Table.grid(padding=(0, 2))
        runs.add_row(f"{done} of {len(self.titles)} runs",
                     ProgressBar(len(self.titles), sum(self.shares), WIDTH))  # fmt: skip
        for index, (title, share) in enumerate(zip(self.titles, self.shares, strict=True)):
            if 0 < share < 1:
                runs.add_row(title, ProgressBar(1, share, WIDTH), *self.sparks.get(index, ()))
        plot = Table(box=None, padding=(0, 2, 0, 0))
        for head in ("", "runs", "goodput", "", "rate over time", "queue over time"):
            plot.add_column(head)
        found = {title: np.mean([metric(r, "goodput_bps") for r in results])
                 for title, results in cells.items()}  # fmt: skip
        most = max(found.values(), default=0) or 1.0
        for title, results in cells.items():
            plot.add_row(title, str(len(results)), rate(found[title]),
                         Bar(most, 0, found[title], width=WIDTH // 2),
                         *sparks(Path(results[-1]["series"])))  # fmt: skip
        return Group(runs, plot) if cells else Group(runs)


def sparks(run: Path, width: int = WIDTH) -> tuple[str, str]:
    """The rate and the queue of a run's first link over time, each as a row of width bars, scaled
    from 0 to the maximum; empty if the run has no series."""
    path = run / "links.csv"
    if not path.exists() and not path.with_name("links.csv.gz").exists():
        return "", ""
    table = series(path, LINK_COLUMNS)
    if len(table) < 2:
        return "", ""
    edges = np.linspace(0, table[-1, 0], width + 1)
    sent = np.interp(edges, table[:, 0], table[:, 2])
    at = np.searchsorted(edges, table[:, 0], "left") - 1
    queue = [table[at == k, 1].max(initial=0) for k in range(width)]
    return _spark(np.diff(sent)), _spark(np.array(queue))


def _spark(values: np.ndarray) -> str:
    most = values.max() or 1
    return "".join(SPARKS[int(np.ceil(v / most * (len(SPARKS) - 1)))] for v in values)
