# SPDX-License-Identifier: GPL-2.0
"""The newest iproute2 of Debian, in addition to the host's.

Our plug-ins must work with both.  Runs with a qdisc that is newer than the host's tc use this one.
"""

import re
import shutil
from pathlib import Path

from ..host import Progress, locked, write_marker
from ..paths import cache
from .debian import Apt, unpack, wrap_programs

SUITE = "sid"

_PACKAGES = re.compile(r"iproute2|lib|zlib1g")


def current_tc(progress: bool = True) -> Path:
    """The path of its tc; the first call unpacks tc and its libraries into the cache."""
    home = cache("iproute2", SUITE)
    root, done = home / "root", home / ".done"
    with Progress(f"iproute2 of Debian {SUITE}", progress) as shown, locked(home, shown) as lock:
        if not done.exists():
            shutil.rmtree(root, ignore_errors=True)
            packages = home / "packages"
            packages.mkdir(exist_ok=True)
            apt = Apt(SUITE, home / "apt", shown, lock)
            apt.update()
            for package, part in apt.download(["iproute2"], packages, _PACKAGES).items():
                shown.show("unpacking", part)
                unpack(package, root, lock)
            wrap_programs(root, "usr/bin", "usr/sbin")
            shutil.rmtree(packages)
            write_marker(done, "")
    return next(root.glob("usr/*bin/tc"))


def program(tc: Path) -> Path:
    """The ELF file of the tc of current_tc(), which itself is a script."""
    return tc.with_name(f"{tc.name}.elf")
