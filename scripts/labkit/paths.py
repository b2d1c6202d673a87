# SPDX-License-Identifier: GPL-2.0
"""Paths: the source tree, and the cache of all downloads and builds."""

import os
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
WORLD = REPO / "scripts" / "labkit" / "world"
GUEST = WORLD / "guest"
MODULE = WORLD / "module"


def cache_root() -> Path:
    """$TCPCC_CACHE, or tcpcc in the user's cache directory."""
    if own := os.environ.get("TCPCC_CACHE"):
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).absolute() / "tcpcc"


def cache(*parts: str) -> Path:
    """The directory of this name in the cache; creates it if it is missing."""
    path = cache_root().joinpath(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path
