# SPDX-License-Identifier: GPL-2.0
"""Looks for the path on which one congestion control does worst against others.

A path is a point of the unit cube (model/draw.py).  A quarter of the budget goes to points drawn at
random; from the worst of these on, CMA-ES (Hansen and Ostermeier 2001; the library cma) moves a
cloud of points to where the ratio of goodputs is less.  What the worst path has and does not need
to be so is dropped at last.  The same seed makes the same runs; those that are kept are not made
again, so that a search that was interrupted goes on.
"""

import contextlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from ..errors import LabError
from ..model import draw, scenario
from ..model.scenario import Scenario
from ..world.laboratory import Laboratory
from . import runner, store
from .job import Job
from .metrics import metric
from .runner import Task

Point = list[float]
Settings = dict[str, str]  # of a path, as a scenario has them
CLOUD = 10  # points of a generation
WIDTH = 0.2  # of the first one, of the cube's side
AS_BAD = 1.1  # times the least ratio: what is dropped makes it no better than that

# What a path may have and need not: dropped one after the other.
OPTIONAL = ("reverse", "aggregate", "batch", "jitter", "loss", "police", "change", "ecn", "qdisc",
            "start", "scatter", "flows")  # fmt: skip


def lowest(
    values: Callable[[list[Point]], list[float]], size: int, seed: int, budget: int
) -> tuple[Point, float]:
    """The point of the unit cube where values was least, of budget points, and what it was.

    values is asked for many points at once; what cannot be is math.inf.
    """
    import cma

    dice = Random(f"search {seed}")
    drawn = budget // 4 if budget - budget // 4 >= CLOUD else budget
    points = [[dice.random() for _ in range(size)] for _ in range(drawn)]
    found = sorted(zip(values(points), points, strict=True))
    left = budget - len(points)
    if math.isinf(found[0][0]) or left < CLOUD:
        return found[0][1], found[0][0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about plots, which nobody wants
        cloud = cma.CMAEvolutionStrategy(found[0][1], WIDTH, {
            "bounds": [0, 1], "popsize": CLOUD, "seed": seed % 2**31 + 1, "verbose": -9,
        })  # fmt: skip
    while left >= CLOUD and not cloud.stop():
        points = [[float(x) for x in point] for point in cloud.ask()]
        of = values(points)
        worst = max((v for v in of if math.isfinite(v)), default=0.0)
        cloud.tell(points, [v if math.isfinite(v) else worst + 1 for v in of])
        found = sorted([*found, *zip(of, points, strict=True)])[:1]
        left -= CLOUD
    return found[0][1], found[0][0]


@dataclass
class Search:
    """A search for the path on which cc does worst against others, by the mean over seeds."""

    laboratory: Laboratory
    cc: str
    against: tuple[str, ...]
    ranges: draw.Draw
    sets: tuple[str, ...] = ()  # KEY=VALUE that every path has
    seeds: int = 2
    parallel: int = 0
    told: Callable[[str], None] = lambda text: None
    made: int = 0  # runs, now
    least: float = field(default=math.inf)

    def run(self, seed: int, budget: int) -> tuple[Settings, float]:
        """The path, and the ratio of goodputs there; LabError if none could be compared."""
        point, ratio = lowest(
            lambda points: self.ratios([self._path(point) for point in points]),
            len(draw.AXES), seed, budget,
        )  # fmt: skip
        if math.isinf(ratio):
            raise LabError("no path could be compared: take a larger --budget, or other ranges")
        return self.simplest(self._path(point), ratio)

    def simplest(self, path: Settings, ratio: float) -> tuple[Settings, float]:
        """The path without what it does not need to be as bad."""
        for key in OPTIONAL:
            without = {k: v for k, v in path.items() if k != key}
            if len(without) < len(path) and (now := self.ratios([without])[0]) <= ratio * AS_BAD:
                path, ratio = without, min(ratio, now)
        return path, self.ratios([path])[0]

    def ratios(self, paths: list[Settings]) -> list[float]:
        """Of each path the goodput of cc, as a share of the largest of the others'.

        math.inf where a run is refused, or where nobody has any.
        """
        tasks = {
            (n, cc, seed): task
            for n, path in enumerate(paths)
            for cc in (self.cc, *self.against)
            for seed in range(1, self.seeds + 1)
            if (task := self._task(path, cc, seed))
        }
        goodputs = self._results(tasks)
        found = []
        for n in range(len(paths)):
            of = {
                cc: [goodputs.get((n, cc, seed)) for seed in range(1, self.seeds + 1)]
                for cc in (self.cc, *self.against)
            }
            whole = all(None not in values for values in of.values())
            best = max((fmean(of[cc]) for cc in self.against), default=0.0) if whole else 0.0
            found.append(fmean(of[self.cc]) / best if best else math.inf)
            if found[-1] < self.least:
                self.least = found[-1]
                self.told(f"{self.least:.3g}  {draw.name(paths[n])}")
        return found

    def _path(self, point: Point) -> Settings:
        return draw.path(self.ranges.ranges, point, self.ranges.packets)

    def _task(self, path: Settings, cc: str, seed: int) -> Task | None:
        """None where the path is none with what it has been set to."""
        of = Scenario("search", "A path that was searched for", settings=path)
        try:
            settings = scenario.override(of, self.sets)
            self.laboratory.check(settings, cc)
        except LabError:
            return None
        job = Job(of, settings, cc, seed, cc)
        return Task(job, store.home(self.laboratory, job), packed=True)

    def _results(self, tasks: dict[Any, Task]) -> dict[Any, float]:
        """The goodput of each run, kept or made now; not those that are refused."""
        found, missing = {}, {}
        for key, task in tasks.items():
            if run := store.find(task.home, task.job):
                found[key] = metric(run, "goodput_bps")
            else:
                missing[key] = task
        keys = list(missing)
        each = runner.run_each(self.laboratory, list(missing.values()), self.parallel)
        with contextlib.closing(each):
            for index, run in each:
                if not isinstance(run, LabError):
                    found[keys[index]] = metric(run, "goodput_bps")
                    self.made += 1
        return found


def write(target: Path, of: Search, path: Settings, ratio: float, command: str) -> None:
    """The path as a scenario's file, with the settings that every path had."""
    settings = scenario.overridden(Scenario("", "", settings=path), of.sets)
    names = ", ".join(f'"{cc}"' for cc in dict.fromkeys((of.cc, *of.against)))
    lines = [
        "# SPDX-License-Identifier: GPL-2.0",
        f'title = "A path on which {of.cc} does badly against {" and ".join(of.against)}"',
        'about = """',
        f"{of.cc} has {ratio:.3g} of the goodput (seeds: {of.seeds}). Found by:", "", command,
        '"""',
        f"seeds = {of.seeds}",
        'plot = ["times:goodput_bps", "windows"]',
        f"cc = [{names}]", "", "[settings]",
        *(f'{key} = "{value}"' for key, value in settings.items()),
    ]  # fmt: skip
    try:
        target.write_text("\n".join(lines) + "\n")
    except OSError as error:
        raise LabError(f"cannot write {target}: {error.strerror}") from None


def ranges_of(path: Path | None, seed: int) -> draw.Draw:
    """[draw] of a file; by default that of field-random."""
    of = scenario.load(str(path) if path else "field-random", seed=seed)
    if not of.drawn:
        raise LabError(f"{path} has no [draw]: see scripts/scenarios/field-random.toml", status=2)
    return replace(of.drawn, seed=seed)
