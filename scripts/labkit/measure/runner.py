# SPDX-License-Identifier: GPL-2.0
"""Makes runs, side by side, and keeps them."""

import contextlib
import importlib
import os
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import LabError
from ..world.guests import end_all
from ..world.laboratory import Laboratory, traffic
from ..world.plan import captured, compile_plan
from . import provenance, store
from .job import Job


@dataclass(frozen=True)
class Task:
    """A run that is to be made, and where it is kept: to be looked at, or packed."""

    job: Job
    home: Path
    packed: bool = False
    pcap: Path | None = None  # directory for what packets it had


def run_all(
    laboratory: Laboratory, jobs: list[Job], parallel: int = 0, out: Path | None = None,
    progress: Callable[[int, float, Path], None] = lambda index, share, run: None,
    pcap: Path | None = None,
    ended: Callable[[int, Any], None] = lambda index, result: None, keep: Path | None = None,
) -> list[Any]:  # fmt: skip
    """Makes the runs side by side; results in order, or the error of the first that failed.

    Each is kept with its series, in a directory of out or of the cache that its result names.
    progress is told the index of a run, the share of its virtual time that is done, and where it
    has links.csv so far; ended that index and the result.  pcap is a directory in which each run
    leaves its packets in one of its own; keep one in which runs are kept as the report's are, and
    not made if they are there.
    """
    for job in jobs:
        laboratory.check(job.settings, job.cc)
    if keep:
        homes = [keep / store.home(laboratory, job).name for job in jobs]
    else:
        homes = [store.shown_home(laboratory, job, out) for job in jobs]
    tasks = [Task(job, home, packed=bool(keep), pcap=pcap and pcap / home.name)
             for job, home in zip(jobs, homes, strict=True)]  # fmt: skip
    results = [store.find(home, job) if keep else None
               for home, job in zip(homes, jobs, strict=True)]  # fmt: skip
    missing = [index for index, result in enumerate(results) if not result]
    with contextlib.closing(
        run_each(laboratory, [tasks[index] for index in missing], parallel,
                 lambda of, *more: progress(missing[of], *more))
    ) as made:  # fmt: skip
        for of, one in made:
            if isinstance(one, LabError):
                raise one
            results[missing[of]] = one
            ended(missing[of], one)
    return results


def run_each(
    laboratory: Laboratory, tasks: list[Task], parallel: int = 0,
    progress: Callable[[int, float, Path], None] = lambda index, share, run: None,
) -> Generator[tuple[int, Any], None, None]:  # fmt: skip
    """Runs side by side, as many as parallel or processors: the index of each, as they end, and its
    result, or the LabError that says what was wrong.

    Any other exception ends all guests, and so does a caller who does not want the rest.
    """
    # numpy takes its time to load, in which the first guest can boot.
    threading.Thread(target=importlib.import_module, args=(f"{__package__}.result",)).start()
    with ThreadPoolExecutor(parallel or os.cpu_count()) as pool:
        pending = {
            pool.submit(make, laboratory, task.job, task.home, packed=task.packed, pcap=task.pcap,
                        progress=partial(progress, i)): i
            for i, task in enumerate(tasks)
        }
        try:
            for future in as_completed(pending):
                error = future.exception()
                if error and not isinstance(error, LabError):
                    raise error
                yield pending[future], error or future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            end_all()
            raise


def make(
    laboratory: Laboratory, job: Job, home: Path,
    progress: Callable[[float, Path], None] = lambda share, run: None, packed: bool = False,
    pcap: Path | None = None,
) -> Any:  # fmt: skip
    """One run's result, which is kept in home with all that was sampled, and in pcap its packets,
    if they are wanted."""
    started = time.monotonic()
    plan = compile_plan(job.settings, job.cc, job.seed, laboratory.others)
    if pcap:
        plan = captured(plan, job.settings, job.data_packets)
    with traffic(
        laboratory.kernel, laboratory.modules, plan, job.seed,
        lambda virtual_s, run: progress(virtual_s / job.settings.end, run),
    ) as measured:  # fmt: skip
        from . import metrics, result

        made = {
            "wall_s": round(time.monotonic() - started, 3),
            "provenance": provenance.of(laboratory, plan),
        }
        built = result.build(measured, job, laboratory.kernel.release, made)
        built["series"] = str(home)
        built = metrics.place(built, job.scenario, job.column, job.case)
        store.keep(measured, home, built, packed)
        if pcap:
            store.keep_packets(measured, pcap)
    return built
