# SPDX-License-Identifier: GPL-2.0
"""Guests for processors whose programs cannot run on this machine.

boot() boots a lab kernel of variant i386 or s390x with an initramfs.  It contains one program,
guest/alone.c, and either a KUnit suite or all modules of this project, which the program inserts,
uses and removes.  Each suite has its own guest, because of an error of QEMU 7.2, seen on s390x: if
a module is loaded at the address of a removed one, QEMU sometimes executes the old instructions.
"""

import re
import subprocess
import time
from pathlib import Path

from ..errors import LabError
from ..host import (
    digest_of,
    environment,
    file_digest,
    locked,
    missing_packages,
    run_logged,
    tail_of,
    temporary,
)
from ..paths import GUEST, cache
from .kernel import VARIANTS, LabKernel, build_modules

# Suites with timed events: only the virtual clock of the lab makes them exact and fast.
TIMED = {"cc_scripts"}
# measurements, and modules that only a suite uses
_LEFT_OUT = {"feedback_bench", "sch_bench", "tcpcc_view_cc"}


def boot(kernel: LabKernel, suite: str = "", timeout_s: float = 300) -> str:
    """Runs guest/alone.c with a KUnit suite, or with all modules; returns the kernel's log.

    timeout_s: real time.
    """
    with temporary(cache("run")) as run:
        log = run / "console"
        command = _command(kernel, initramfs(kernel, suite, run))
        deadline = time.monotonic() + timeout_s

        def poll() -> None:
            if time.monotonic() > deadline:
                raise LabError(f"the {kernel.variant} guest did not finish in {timeout_s:g} s",
                               log=tail_of(log))  # fmt: skip

        run_logged(command, log, poll=poll, cwd=run)
        return log.read_text(errors="replace").replace("\r", "")


def initramfs(kernel: LabKernel, suite: str, home: Path) -> Path:
    """Makes an initramfs in home: the program, the modules and their order; returns its path."""
    if missing := missing_packages({"busybox": "busybox-static"}):
        raise LabError(f"this guest needs {' '.join(missing)}: run scripts/setup kernels")
    tree = home / "root"
    tree.mkdir()
    (tree / "init").symlink_to(_program(kernel))
    order = _in_order(build_modules(kernel) / "lib/modules" / kernel.release, suite)
    for path in order:
        (tree / path.name).symlink_to(path)
    (tree / "order").write_text("".join(f"/{path.name}\n" for path in order))
    names = "\n".join(entry.name for entry in tree.iterdir())
    packed = home / "initramfs"
    with packed.open("wb") as out:
        subprocess.run(["busybox", "cpio", "-L", "-o", "-H", "newc"], cwd=tree, env=environment(),
                       input=names.encode(), stdout=out, stderr=subprocess.DEVNULL,
                       check=True)  # fmt: skip
    return packed


# The machine that QEMU emulates, by the kernel's name of the architecture.  vx=off: the kernel uses
# vector registers for checksums, and QEMU 7.2 sometimes computes wrong ones.
_MACHINES = {
    "i386": ("qemu-system-i386", ["-machine", "pc", "-cpu", "max"], "console=ttyS0"),
    "s390": ("qemu-system-s390x", ["-machine", "s390-ccw-virtio", "-cpu", "qemu,vx=off"], ""),
}


def _command(kernel: LabKernel, packed: Path) -> list[str]:
    program, machine, console = _MACHINES[VARIANTS[kernel.variant].arch]
    return [program, *machine, "-m", "512M",
            "-nodefaults", "-nographic", "-serial", "stdio", "-no-reboot",
            "-kernel", str(kernel.vmlinux), "-initrd", str(packed),
            "-append", f"rdinit=/init panic=-1 oops=panic loglevel=8 {console}"]  # fmt: skip


def _in_order(tree: Path, suite: str) -> list[Path]:
    """The module of a suite, or all modules except suites, each after the modules that it needs."""
    needs = {}
    for line in (tree / "modules.dep").read_text().splitlines():
        name, _, others = line.partition(":")
        needs[name] = others.split()
    paths = {Path(name).stem: name for name in needs}
    for line in (tree / "modules.softdep").read_text().splitlines():
        if soft := re.fullmatch(r"softdep (\w+) pre: (.*)", line):
            needs[paths[soft[1]]] += [paths[name] for name in soft[2].split()]
    order: list[str] = []

    def add(name: str) -> None:
        if name not in order:
            for other in needs[name]:
                add(other)
            order.append(name)

    if suite:
        add(paths[f"{suite}_test"])
    else:
        for stem in sorted(paths):
            if not stem.endswith("_test") and stem not in _LEFT_OUT:
                add(paths[stem])
    return [tree / name for name in order]


def _program(kernel: LabKernel) -> Path:
    """The path of guest/alone.c, compiled for the kernel's architecture as a static program."""
    prefix = next((option.partition("=")[2] for option in VARIANTS[kernel.variant].make
                   if re.match("CROSS_COMPILE=", option)), "")  # fmt: skip
    source = GUEST / "alone.c"
    command = [f"{prefix}gcc", "-O2", "-Wall", "-Wextra", "-static", source]
    home = cache("guest", digest_of(*map(str, command), file_digest(source)))
    with locked(home):
        if not (home / "init").exists():
            home.mkdir(exist_ok=True)
            log = home / "log"
            if run_logged([*command, "-o", home / "part"], log):
                raise LabError("guest/alone.c does not compile", log=tail_of(log))
            (home / "part").rename(home / "init")
    return home / "init"
