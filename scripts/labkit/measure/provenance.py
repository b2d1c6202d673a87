# SPDX-License-Identifier: GPL-2.0
"""The provenance of a run: shows whether a number was made from the current source."""

import functools
import subprocess
from pathlib import Path
from typing import Any

from ..host import digest_of, file_digest
from ..paths import REPO
from ..world.laboratory import Laboratory
from ..world.plan import Plan

# The modules that compute a result from samples.  metrics.py uses only results.
_MEASURING = (
    "measure/limits.py", "measure/result.py", "measure/series.py", "measure/stages.py",
    "measure/statistics.py", "model/network.py", "model/settings.py", "model/traces.py",
    "world/topology.py", "world/traffic.py",
)  # fmt: skip

# Patterns of git for everything except documents and tests.  The modules in tests stay included,
# because runs use them.
_TESTS = ("*.py", "selftests", "bpf", "fuzz", "packages", "stolen", "digests.json")
_SOURCE = (".", ":!docs", ":!*.md", *(f":!tests/{name}" for name in _TESTS))


def of(laboratory: Laboratory, plan: Plan) -> dict[str, Any]:
    """The commit, and the kernel, modules and programs of the guest with their digests."""
    return {
        **_commit(),
        "kernel": laboratory.kernel.key,
        "modules": {name: laboratory.digest(name) for name in plan.modules},
        "programs": laboratory.programs(plan.newer_tc),
    }


@functools.cache
def measuring() -> str:
    """The digest of the code that reads samples; a result is valid while it does not change."""
    return digest_of(*(file_digest(Path(__file__).parents[1] / name) for name in _MEASURING))


@functools.cache
def _commit() -> dict[str, Any]:
    """The commit of this source, and whether it has no uncommitted changes; empty without git."""
    commit = source()
    return {"commit": commit, "clean": not changed()} if commit else {}


def commit() -> str:
    """The commit of this source; empty without git, or if there are uncommitted changes."""
    made = _commit()
    return made["commit"] if made.get("clean") else ""


def outdated(made: dict[str, Any]) -> bool:
    """Whether a run was made with uncommitted changes, and the source has none now.

    Then the run is repeated, because the numbers in documents must be from a commit.
    """
    return made.get("clean") is False and _commit().get("clean") is True


def source(revision: str = "HEAD") -> str:
    """The last commit up to revision that changed more than documents and tests.

    Runs do not depend on these, and documents change with each page of results.  Returns the full
    hash, or an empty text outside of git.
    """
    return git("log", "-1", "--format=%H", revision, "--", *_SOURCE)


def changed() -> bool:
    """Whether there are uncommitted changes other than in documents and tests."""
    return bool(git("status", "--porcelain", "--", *_SOURCE))


def git(*arguments: str) -> str:
    """The output of git for this source; empty if git fails or is not installed."""
    try:
        done = subprocess.run(["git", "-C", str(REPO), *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
