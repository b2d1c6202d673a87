# SPDX-License-Identifier: GPL-2.0
"""Where runs are kept: a directory each, whole or not there.

Its name says all that the run depends on.  What is asked for again, as by the report, is found by
that name alone; what scripts/lab run makes is named for people, too.
"""

import contextlib
import functools
import hashlib
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from ..errors import LabError
from ..paths import cache
from ..world import kernel as kernels
from ..world.laboratory import Laboratory
from .job import Job, identity

KEPT_DAYS = 60  # a run that nobody has asked for again for so long is removed

# What is left of a run beside its result, if it is kept with its series.
SERIES = ("setup.sh", "plan", "summary.json", "flows.csv", "links.csv", "requests.csv", "console")

# What turns a run into its result.  metrics.py is not among it: metrics are of results.
_MEASURING = ("limits.py", "result.py", "series.py", "stages.py", "statistics.py")


def root() -> Path:
    """Where runs are that may be asked for again."""
    return cache("report")


def home(laboratory: Laboratory, job: Job) -> Path:
    """The directory of a run that may be asked for again."""
    return root() / f"{identity(laboratory, job)}-{_measuring()}-{job.seed}"


def shown_home(laboratory: Laboratory, job: Job, out: Path | None) -> Path:
    """The directory, in out or the cache, of a run that somebody wants to look at."""
    name = f"{job.scenario.name}-{job.cc}-{job.seed}-{identity(laboratory, job)}"
    return (out or cache("run")) / name


@functools.cache
def _measuring() -> str:
    """What stands for that: a kept run is as good as this is unchanged."""
    code = [Path(__file__).with_name(name) for name in _MEASURING]
    parts = [path.read_bytes() for path in (*code, kernels.agent())]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:6]


def keep(measured: Path, target: Path, built: Any, with_series: bool) -> None:
    """Keeps a run's result, and what it left in measured, all of it or nothing.

    LabError if there is no room.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".part-", dir=target.parent) as part:
            whole = Path(part, "new")
            whole.mkdir()
            for name in SERIES if with_series else ():
                if name != "requests.csv" or (measured / name).exists():  # only with app
                    shutil.copyfile(measured / name, whole / name)
            (whole / "result.json").write_text(json.dumps(built, indent=1) + "\n")
            with contextlib.suppress(FileNotFoundError):
                target.rename(Path(part, "old"))
            # Should another process have put the same run there meanwhile, it is the same.
            with contextlib.suppress(FileExistsError):
                whole.rename(target)
    except OSError as error:
        raise LabError(f"cannot keep the series in {target}: {error.strerror}") from None


def find(home: Path, with_series: bool = False) -> Any:
    """The result of a run made before, if it is there with all that is needed of it, or None."""
    with contextlib.suppress(OSError, ValueError):
        if with_series and not (home / "flows.csv").exists():
            return None
        found = json.loads((home / "result.json").read_text())
        os.utime(home)
        if "series" in found:
            found["series"] = str(home)
        return found
    return None


def of_commit(commit: str) -> list[Any]:
    """The results of all runs that may be asked for again and were made of that commit (its whole
    hash), without changes."""
    found = []
    for path in sorted(root().glob("*/result.json")):
        with contextlib.suppress(OSError, ValueError):
            run = json.loads(path.read_text())
            made = run.get("provenance", {})
            if made.get("commit") == commit and made.get("clean"):
                found.append(run)
    return found


def sweep() -> None:
    """Removes runs that nobody has asked for again for long."""
    oldest = time.time() - KEPT_DAYS * 86400
    for old in root().iterdir():
        with contextlib.suppress(OSError):
            if old.stat().st_mtime < oldest:
                shutil.rmtree(old, ignore_errors=True)
