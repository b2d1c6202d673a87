# SPDX-License-Identifier: GPL-2.0
"""What a run was made from: whoever doubts a number can tell whether it is of this source."""

import functools
import subprocess
from pathlib import Path
from typing import Any

from ..host import digest_of, file_digest
from ..paths import REPO
from ..world.laboratory import Laboratory
from ..world.plan import Plan

# What turns samples into a result.  metrics.py is not among it: metrics are of results.
_MEASURING = ("limits.py", "result.py", "series.py", "stages.py", "statistics.py")


# As git names it: all but documents and tests, of which runs only have modules
_TESTS = ("*.py", "selftests", "bpf", "fuzz", "packages", "stolen", "digests.json")
_SOURCE = (".", ":!docs", ":!*.md", *(f":!tests/{name}" for name in _TESTS))


def of(laboratory: Laboratory, plan: Plan) -> dict[str, Any]:
    """The commit, and digests of all that is in the guest: kernel, modules, programs."""
    return {
        **_commit(),
        "kernel": laboratory.kernel.key,
        "modules": {name: laboratory.digest(name) for name in plan.modules},
        "programs": laboratory.programs(),
    }


@functools.cache
def measuring() -> str:
    """What stands for the code that reads samples: a result is as good as this is unchanged."""
    return digest_of(*(file_digest(Path(__file__).with_name(name)) for name in _MEASURING))


@functools.cache
def _commit() -> dict[str, Any]:
    """The commit of this source, and whether it is as it was committed; nothing outside of git."""
    commit = source()
    return {"commit": commit, "clean": not changed()} if commit else {}


def outdated(made: dict[str, Any]) -> bool:
    """Whether a run is of a source with changes, and this one has none: numbers in documents are of
    what is committed, so it is made again."""
    return made.get("clean") is False and _commit().get("clean") is True


def source(revision: str = "HEAD") -> str:
    """The last commit up to revision that changed more than documents and tests: no run depends
    on these, and documents change with each page of results.  The whole hash, or nothing outside
    of git."""
    return git("log", "-1", "--format=%H", revision, "--", *_SOURCE)


def changed() -> bool:
    """Whether more than documents and tests is not as it was committed."""
    return bool(git("status", "--porcelain", "--", *_SOURCE))


def git(*arguments: str) -> str:
    """What git says of this source; nothing if it fails, or is not installed."""
    try:
        done = subprocess.run(["git", "-C", str(REPO), *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
