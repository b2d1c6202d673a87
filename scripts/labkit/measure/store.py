# SPDX-License-Identifier: GPL-2.0
"""Where runs are kept: a directory each, with all that was sampled, whole or not there.

Its name says all that the run depends on.  What is asked for again, as by the report, is found by
that name alone; what scripts/lab run makes is named for people, too.  A result is a reading of the
samples: when the code that reads them has changed, they are read again, and nothing is run.
"""

import contextlib
import gzip
import json
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ..errors import LabError
from ..paths import cache
from ..world.laboratory import Laboratory
from . import provenance
from .job import Job, identity

KEPT_DAYS = 60  # a run that nobody has asked for again for so long is removed

# What is left of a run beside its result; the last are there with app=, voice=, ... only.
LEFT = ("setup.sh", "plan", "summary.json", "console")
SERIES = ("flows.csv", "links.csv", "requests.csv", "voice.csv", "ask.csv", "video.csv",
          "programs.csv")  # fmt: skip
WRITTEN = ("program*.out", "program*.err")  # by the user's programs


def root() -> Path:
    """Where runs are that may be asked for again."""
    return cache("report")


def home(laboratory: Laboratory, job: Job) -> Path:
    """The directory of a run that may be asked for again."""
    return root() / f"{identity(laboratory, job)}-{job.seed}"


def shown_home(laboratory: Laboratory, job: Job, out: Path | None) -> Path:
    """The directory, in out or the cache, of a run that somebody wants to look at."""
    name = f"{job.scenario.name}-{job.cc}-{job.seed}-{identity(laboratory, job)}"
    return (out or cache("run")) / name


def keep(measured: Path, target: Path, built: Any, packed: bool) -> None:
    """Keeps a run's result, and what it left in measured, all of it or nothing.

    Series are packed in a fifth of their room, or as they are, for people.  LabError if there is
    no room.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".part-", dir=target.parent) as part:
            whole = Path(part, "new")
            whole.mkdir()
            for name in LEFT:
                shutil.copyfile(measured / name, whole / name)
            written = [path.name for like in WRITTEN for path in sorted(measured.glob(like))]
            for name in (*filter(lambda name: (measured / name).exists(), SERIES), *written):
                if packed:
                    samples = gzip.compress((measured / name).read_bytes(), 6, mtime=0)
                    (whole / f"{name}.gz").write_bytes(samples)
                else:
                    shutil.copyfile(measured / name, whole / name)
            _write(whole / "result.json", built)
            with contextlib.suppress(FileNotFoundError):
                target.rename(Path(part, "old"))
            # Should another process have put the same run there meanwhile, it is the same.
            with contextlib.suppress(FileExistsError):
                whole.rename(target)
    except OSError as error:
        raise LabError(f"cannot keep the series in {target}: {error.strerror}") from None


def keep_packets(measured: Path, target: Path) -> None:
    """Moves what was captured to target; says how many packets are not in a file, if any."""
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path in sorted(measured.glob("*.pcap")):
            shutil.move(path, target / path.name)
    except OSError as error:
        raise LabError(f"cannot keep the packets in {target}: {error.strerror}") from None
    for line in (measured / "captured").read_text().splitlines():
        name, missing = line.split()
        if int(missing):
            print(f"lab: {target / name} has the first packets, and {missing} more are not in it",
                  file=sys.stderr)  # fmt: skip


def merge(folder: Path) -> tuple[int, int]:
    """Copies the runs in folder, which another machine may have made, to where the report finds
    them: how many, and how many were there.  A run that is not whole is left out."""
    new = there = 0
    for path in sorted(folder.glob("*/result.json")):
        name = path.parent.name
        if not re.fullmatch(r"[0-9a-f]{12}-\d+", name):
            continue
        if (root() / name).exists():
            there += 1
            continue
        with tempfile.TemporaryDirectory(prefix=".part-", dir=root()) as part:
            shutil.copytree(path.parent, Path(part, name))
            with contextlib.suppress(FileExistsError):
                Path(part, name).rename(root() / name)
        new += 1
    return new, there


def find(home: Path, job: Job) -> Any:
    """The result of a run made before, if it is there, or None.

    Nor is it there if limits.py refuses what was sampled, or if it was made before what it is of
    was committed.
    """
    with contextlib.suppress(OSError, ValueError, KeyError, LabError):
        found = json.loads((home / "result.json").read_text())
        if provenance.outdated(found["provenance"]):
            return None
        if found["provenance"]["measuring"] != provenance.measuring():
            from . import result

            found = result.build(home, job, found["kernel"], found)
            _write(home / "result.json", found)
        os.utime(home)
        found["series"] = str(home)
        return found
    return None


def _write(path: Path, built: Any) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(built, indent=1) + "\n")
    part.rename(path)


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
