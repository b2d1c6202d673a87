# SPDX-License-Identifier: GPL-2.0
"""Paths: the source tree, and the cache of all downloads and builds."""

import contextlib
import os
from pathlib import Path

from .errors import LabError

REPO = Path(__file__).resolve().parents[2]
WORLD = REPO / "scripts" / "labkit" / "world"
GUEST = WORLD / "guest"
MODULE = WORLD / "module"


def cache_root() -> Path:
    """$TCPCC_CACHE, or tcpcc in the user's cache directory."""
    if own := os.environ.get("TCPCC_CACHE"):
        return Path(own).absolute()
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        raise LabError("this user has no home directory for the cache: set HOME or"
                       " TCPCC_CACHE") from None
    return Path(base).absolute() / "tcpcc"


def cache(*parts: str) -> Path:
    """The directory of this name in the cache; creates it if it is missing."""
    path = cache_root().joinpath(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


def absolute(path: Path | str) -> Path:
    """The absolute path; ~ and ~USER at its beginning stand for a home, if there is one."""
    with contextlib.suppress(RuntimeError):
        path = Path(path).expanduser()
    return Path(path).absolute()
