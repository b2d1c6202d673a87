# SPDX-License-Identifier: GPL-2.0
"""Makes runs in parallel, and stores them."""

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
from ..world.guests import allow, end_all
from ..world.laboratory import Laboratory, traffic
from ..world.plan import captured, compile_plan
from . import provenance, store
from .job import Job


@dataclass(frozen=True)
class Task:
    """A run to be made, and the directory for it; packed: compress its series."""

    job: Job
    home: Path
    packed: bool = False
    pcap: Path | None = None  # directory for its captured packets


def run_all(
    laboratory: Laboratory, jobs: list[Job], parallel: int = 0, out: Path | None = None,
    progress: Callable[[int, float, Path], None] = lambda index, share, run: None,
    pcap: Path | None = None,
    ended: Callable[[int, Any], None] = lambda index, result: None, keep: Path | None = None,
) -> list[Any]:  # fmt: skip
    """Makes the runs in parallel; returns the results in order, or raises the first error.

    parallel: number of runs at the same time; 0: one for each processor.  out: the directory for
    the runs with their series; default: the cache.  The result names its directory.  progress is
    called with the index of a run, the share of its virtual time that is done, and the directory
    with the partial links.csv.  pcap: the directory for captured packets, a subdirectory for each
    run.  ended is called with the index and the result.  keep: a directory for runs in the form of
    the report's; a run that it has is not made again.
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
    """Makes runs in parallel; yields the index of each when it ends, and its result or LabError.

    parallel: number of runs at the same time; 0: one for each processor.  Any other exception
    kills all guests, and so does a caller that closes the generator early.
    """
    # Import numpy, which takes long, while the first guest boots.
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
            pool.shutdown()  # its threads may start a guest until they have ended
            allow()
            raise


def make(
    laboratory: Laboratory, job: Job, home: Path,
    progress: Callable[[float, Path], None] = lambda share, run: None, packed: bool = False,
    pcap: Path | None = None,
) -> Any:  # fmt: skip
    """Makes a run; returns its result, and stores it with the samples in home.

    progress is called with the share of virtual time that is done, and the directory with the
    partial links.csv.  pcap: the directory for captured packets; None: no capture.
    """
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
