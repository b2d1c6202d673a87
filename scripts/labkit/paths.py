# SPDX-License-Identifier: GPL-2.0
"""Where things live: the source tree, and the cache of everything fetched or built."""

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
    """The directory of that name in the cache, created if need be."""
    path = cache_root().joinpath(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path
