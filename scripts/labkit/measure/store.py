# SPDX-License-Identifier: GPL-2.0
"""The store of runs: a directory for each, with all samples, written atomically.

The name contains a digest of everything on which the run depends.  The report finds its runs by the
digest and the seed alone; the directories of scripts/lab run have names for people, too.  A result
is computed from the samples.  If the code for that changes, the result is computed again, without
another run.
"""

import contextlib
import gzip
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from ..errors import LabError
from ..host import temporary, write_marker
from ..paths import cache
from ..world.laboratory import Laboratory
from . import provenance
from .job import Job, identity

KEPT_DAYS = 60  # a run that was not used for so long is removed

# The files of a run in addition to its result; the last ones exist only with app=, voice=, ...
LEFT = ("setup.sh", "plan", "summary.json", "console")
SERIES = ("flows.csv", "links.csv", "requests.csv", "voice.csv", "ask.csv", "video.csv",
          "programs.csv")  # fmt: skip
WRITTEN = ("program*.out", "program*.err")  # by the user's programs

# The commits that used a kept run, and the names that it had there: a JSON array in each line.  The
# run was made from an earlier commit, with the same kernel, modules and plan.
USED = "used"


def root() -> Path:
    """The directory of the runs that the report can use again."""
    return cache("report")


def home(laboratory: Laboratory, job: Job) -> Path:
    """The directory of a run that the report can use again."""
    return root() / f"{identity(laboratory, job)}-{job.seed}"


def shown_home(laboratory: Laboratory, job: Job, out: Path | None) -> Path:
    """The directory, in out or the cache, of a run for the user, with a readable name."""
    name = f"{job.scenario.name}-{job.cc}-{job.seed}-{identity(laboratory, job)}"
    return (out or cache("run")) / name


def keep(measured: Path, target: Path, built: Any, packed: bool) -> None:
    """Stores a run's result and its files from measured in target, atomically.

    packed: compress the series, to a fifth of their size; else they stay readable.  LabError if
    there is no space.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary(target.parent) as part:
            whole = part / "new"
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
            _place(whole, target)
    except OSError as error:
        raise LabError(f"cannot store the series in {target}: {error.strerror}") from None


def keep_packets(measured: Path, target: Path) -> None:
    """Moves captured packets to target; prints how many packets are missing in a file, if any."""
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path in sorted(measured.glob("*.pcap")):
            shutil.move(path, target / path.name)
    except OSError as error:
        raise LabError(f"cannot store the packets in {target}: {error.strerror}") from None
    for line in (measured / "captured").read_text().splitlines():
        name, missing = line.split()
        if int(missing):
            print(f"lab: {target / name} has only the first packets: {missing} more are missing",
                  file=sys.stderr)  # fmt: skip


def merge(folder: Path) -> tuple[int, int]:
    """Copies the runs in folder, perhaps from another machine, to the report's store.

    Skips incomplete runs.  A run replaces one of the store that find() would not use.  Returns the
    number of runs that were copied, and of those that the store had.
    """
    new = there = 0
    for path in sorted(folder.glob("*/result.json")):
        name = path.parent.name
        if not re.fullmatch(r"[0-9a-f]{12}-\d+", name):
            continue
        here = root() / name
        if usable(here) or (here.exists() and not usable(path.parent)):
            there += 1
            continue
        try:
            with temporary(root()) as part:
                shutil.copytree(path.parent, part / name)
                _place(part / name, here)
        except OSError as error:
            why = error.strerror or error.args[0][0][-1]  # copytree has a list of errors
            raise LabError(f"cannot copy {path.parent} to {root()}: {why}") from None
        new += 1
    return new, there


def find(home: Path, job: Job) -> Any:
    """The result of a stored run with the scenario, column and case of the job, or None.

    Another job with other names may have stored it.  Also None if limits.py refuses the samples, or
    if the run was made with uncommitted changes that are committed now.
    """
    with contextlib.suppress(OSError, ValueError, KeyError, LabError):
        found = json.loads((home / "result.json").read_text())
        if provenance.outdated(found["provenance"]):
            return None
        from . import metrics, result

        old = found["provenance"]["measuring"] != provenance.measuring()
        if old:
            found = result.build(home, job, found["kernel"], found)
        found["series"] = str(home)
        found = metrics.place(found, job.scenario, job.column, job.case)
        with contextlib.suppress(OSError):  # another user's runs can only be read
            if old:
                _write(home / "result.json", found)
            _note_use(home, found)
            os.utime(home)
        return found
    return None


def _note_use(home: Path, run: Any) -> None:
    """Adds the current commit, if it has no changes, to the commits that used a run."""
    names = [run["scenario"], run.get("column", run["cc"]), run.get("case", "")]
    line = json.dumps([provenance.commit(), *names]) + "\n"
    path = home / USED
    known = path.read_text() if path.exists() else ""
    if provenance.commit() and line not in known.splitlines(keepends=True):
        write_marker(path, known + line)


def read_again(home: Path, run: Any) -> Any:
    """A stored result as today's code reads its samples; None if that is not possible.

    That needs the settings of the run, which are those of its scenario if it has not changed.
    """
    from ..model import scenario
    from . import metrics, result

    with contextlib.suppress(OSError, ValueError, KeyError, LabError):
        of = scenario.load(run["scenario"])
        name, case_name = run.get("column", run["cc"]), run.get("case", "")
        column = of.column_of(name)
        case = of.case_of(case_name) if case_name else None
        settings = scenario.override(of, [], column, case)
        rates = [link["rate_bps"] for link in run["links"]]
        same = json.loads(json.dumps(result.rounded(settings.as_json()))) == run["settings"]
        if not same or rates != [link.rate for link in settings.net.links][: len(rates)]:
            return None
        job = Job(of, settings, column.cc or "mix", run["seed"], name, case_name)
        found = result.build(home, job, run["kernel"], run)
        return metrics.place(found | {"series": str(home)}, of, name, case_name)
    return None


def usable(home: Path) -> bool:
    """Whether there is a run with a result that can be read, and that is not outdated."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        made = json.loads((home / "result.json").read_text())
        return not provenance.outdated(made["provenance"])
    return False


def _place(made: Path, target: Path) -> None:
    """Moves a run to target, and a run that is there to a directory old beside made.

    If another process has stored it there meanwhile, it is identical.
    """
    with contextlib.suppress(FileNotFoundError):
        target.rename(made.with_name("old"))
    try:
        made.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def _write(path: Path, built: Any) -> None:
    write_marker(path, json.dumps(built, indent=1) + "\n")


def of_commit(commit: str) -> list[Any]:
    """The results of all runs in the report's store that were made from a commit (its full hash)
    without uncommitted changes, or that a report of this commit used; with the names that they had
    there."""
    found = []
    for path in sorted(root().glob("*/result.json")):
        with contextlib.suppress(OSError, ValueError):
            run = json.loads(path.read_text()) | {"series": str(path.parent)}
            made = run.get("provenance", {})
            cells = []
            if made.get("commit") == commit and made.get("clean"):
                cells.append((run["scenario"], run.get("column", run["cc"]), run.get("case", "")))
            if (used := path.with_name(USED)).exists():
                lines = map(json.loads, used.read_text().splitlines())
                cells += [tuple(names) for of, *names in lines if of == commit]
            for name, column, case in dict.fromkeys(cells):
                found.append(run | {"scenario": name, "column": column, "case": case})
    return found


def sweep() -> None:
    """Removes runs that were not used for KEPT_DAYS."""
    oldest = time.time() - KEPT_DAYS * 86400
    for old in root().iterdir():
        with contextlib.suppress(OSError):
            if old.stat().st_mtime < oldest:
                shutil.rmtree(old, ignore_errors=True)
