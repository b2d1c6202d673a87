# SPDX-License-Identifier: GPL-2.0
"""The kernel's data race detector (KCSAN), with lockdep, on two processors in QEMU."""

import os
import re
import shutil
from pathlib import Path

from ..host import locked, write_marker
from ..paths import cache
from . import kernel, stock


def ensure(progress: bool = True) -> stock.StockKernel:
    """A kernel with KCSAN, with its files in the directories of a distribution's package."""
    built = kernel.ensure(variant="kcsan", progress=progress)
    root = cache("kernel", f"{built.key}-root")
    with locked(root):
        if not (root / ".done").exists():
            shutil.rmtree(root)
            modules = root / "lib/modules" / built.release
            (modules / "kernel").mkdir(parents=True)
            for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
                os.link(built.build_dir / name, modules / name)
            (root / "boot").mkdir()
            os.link(built.vmlinux, root / "boot" / f"vmlinuz-{built.release}")
            (root / "usr/src").mkdir(parents=True)
            (root / "usr/src" / f"linux-headers-{built.release}").symlink_to(built.build_dir)
            write_marker(root / ".done", "")
    return stock.StockKernel("kcsan", built.release, built.key, root)


def watched(command: list[str]) -> list[str]:
    """A command line for the guest that enables the detector, then runs the command."""
    return ["sh", "-c", 'echo on > /sys/kernel/debug/kcsan && exec "$@"', "watched", *command]


def reports(log: str, modules: set[str]) -> list[str]:
    """The KCSAN reports in a kernel's log with one or both accesses in these modules."""
    found = re.split(r"^.*={60,}$", log, flags=re.M)
    title = re.compile(r"BUG: KCSAN: (.*)")
    return [part for part in found if (named := title.search(part))
            and modules & set(re.findall(r"\[(\w+)\]", named[1]))]  # fmt: skip


def complaints(log: str) -> list[str]:
    """The messages of lockdep, RCU's checks and the sleep checker in a kernel's log."""
    return [line for line in log.splitlines()
            if re.search(r"WARNING: |BUG: (?!KCSAN)|INFO: .*lock", line)]  # fmt: skip


def own_modules(tree: Path) -> set[str]:
    """The names of this project's modules in a module tree."""
    return {path.stem for path in tree.glob("lib/modules/*/updates/*.ko")}
