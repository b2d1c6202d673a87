# SPDX-License-Identifier: GPL-2.0
"""Searches for the path on which a congestion control performs worst compared with others.

A path is a point of the unit cube (model/draw.py).  A quarter of the budget is used for random
points.  From the worst of these, CMA-ES (Hansen and Ostermeier 2001; the library cma) moves a cloud
of points towards smaller ratios of goodputs.  At the end, properties that the worst path does not
need are removed.  The same seed makes the same runs.  Stored runs are not repeated, so that an
interrupted search continues.
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
CLOUD = 10  # points in a generation
WIDTH = 0.2  # of the first generation, as a share of the cube's side
AS_BAD = 1.1  # removing a property may increase the ratio by this factor at most

# Optional properties of a path, in the order in which they are removed.
OPTIONAL = ("reverse", "aggregate", "batch", "jitter", "loss", "police", "change", "ecn", "qdisc",
            "start", "scatter", "flows")  # fmt: skip


def lowest(
    values: Callable[[list[Point]], list[float]], size: int, seed: int, budget: int
) -> tuple[Point, float]:
    """Minimizes values over the unit cube; returns the best point and its value.

    values: takes a list of points, and returns a value for each; math.inf for an impossible point.
    size: dimension of the cube.  budget: number of points.
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
        warnings.simplefilter("ignore")  # they are about plots, which are not used
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
    """A search for the path with the smallest ratio of cc's goodput to the best of against.

    The goodputs are means over the seeds.
    """

    laboratory: Laboratory
    cc: str
    against: tuple[str, ...]
    ranges: draw.Draw
    sets: tuple[str, ...] = ()  # KEY=VALUE that every path has
    seeds: int = 2
    parallel: int = 0
    told: Callable[[str], None] = lambda text: None
    made: int = 0  # number of runs so far
    least: float = field(default=math.inf)

    def run(self, seed: int, budget: int) -> tuple[Settings, float]:
        """Searches; returns the path and its ratio.  LabError if no path could be compared."""
        point, ratio = lowest(
            lambda points: self.ratios([self._path(point) for point in points]),
            len(draw.AXES), seed, budget,
        )  # fmt: skip
        if math.isinf(ratio):
            raise LabError("no path could be compared: use a larger --budget, or other ranges")
        return self.simplest(self._path(point), ratio)

    def simplest(self, path: Settings, ratio: float) -> tuple[Settings, float]:
        """Removes optional properties of the path without which the ratio stays as small."""
        for key in OPTIONAL:
            without = {k: v for k, v in path.items() if k != key}
            if len(without) < len(path) and (now := self.ratios([without])[0]) <= ratio * AS_BAD:
                path, ratio = without, min(ratio, now)
        return path, self.ratios([path])[0]

    def ratios(self, paths: list[Settings]) -> list[float]:
        """For each path the goodput of cc, divided by the largest goodput of the others.

        math.inf if a run is refused, or if the others have no goodput.
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
        """The task of a run; None if the path is not valid together with sets."""
        of = Scenario("search", "A path that was searched for", settings=path)
        try:
            settings = scenario.override(of, self.sets)
            self.laboratory.check(settings, cc)
        except LabError:
            return None
        job = Job(of, settings, cc, seed, cc)
        return Task(job, store.home(self.laboratory, job), packed=True)

    def _results(self, tasks: dict[Any, Task]) -> dict[Any, float]:
        """The goodput of each run, stored or made now; without runs that are refused."""
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
    """Writes the path as a scenario's file, including the settings of all paths."""
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
    """The [draw] of a scenario's file with another seed; default: that of field-random."""
    of = scenario.load(str(path) if path else "field-random", seed=seed)
    if not of.drawn:
        raise LabError(f"{path} has no [draw]: see scripts/scenarios/field-random.toml", status=2)
    return replace(of.drawn, seed=seed)
