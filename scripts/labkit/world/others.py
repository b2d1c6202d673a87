# SPDX-License-Identifier: GPL-2.0
"""The user's modules: built for a lab kernel in the cache, and loaded once as a test.

A module is a folder with a Kbuild (or a Makefile with obj-m), a folder with one .c file, or a .c
file.  The folder's files are copied to the cache, and built there once for each content.  Messages
of the compiler are shown with the paths of the user's files.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import LabError
from ..host import Progress, digest_of, file_digest, forget_old, locked, run_logged, write_marker
from ..paths import cache
from . import kernel as kernels
from .guests import Guest

MOST_FILES, MOST_BYTES = 2000, 64 << 20  # of a module's folder

# Files that a build generates
_MADE = re.compile(r".*\.(o|ko|mod|mod\.c|cmd|d|a|symvers|order)|\..*")

# Messages of make itself
_CHATTER = re.compile(r"^(make(\[\d+\])?: |warning: the compiler differs |  The kernel was built by"
                      r"|  You are using:)")  # fmt: skip


@dataclass(frozen=True)
class Others:
    """The user's modules in a module tree; without any, it has only this project's modules."""

    ccs: dict[str, str] = field(default_factory=dict)  # the module of each congestion control
    rest: tuple[str, ...] = ()  # modules without a congestion control, which each run loads

    @property
    def all(self) -> list[str]:
        """All modules, in the order of loading."""
        return self.of(self.ccs)

    def of(self, ccs: Iterable[str]) -> list[str]:
        """The modules that a run with these congestion controls loads, in that order."""
        return [*self.rest, *dict.fromkeys(self.ccs[cc] for cc in ccs if cc in self.ccs)]


def with_modules(
    kernel: kernels.LabKernel, ours: Path, paths: tuple[Path, ...]
) -> tuple[Path, Others]:
    """Builds the modules of paths, and adds them to this project's modules (ours).

    Returns a directory with lib/modules/<release>, and a description of the user's modules.
    LabError with the compiler's or the kernel's message if a module cannot be built or loaded.
    """
    built: list[Path] = []
    for path in paths:
        built.append(_build(kernel, path, built))
    home = cache("with", kernel.key)
    result = home / digest_of(ours.name, _TRY, *(directory.name for directory in built))
    with locked(result):
        if not (result / ".done").exists():
            _lay_out(kernel, ours, built, result)
            names = [_name(module) for directory in built for module in _modules(directory)]
            others = _try(kernel, result, names)
            write_marker(result / ".done", json.dumps({"ccs": others.ccs, "rest": others.rest}))
        os.utime(result)
        forget_old(home, keep=20)
    found = json.loads((result / ".done").read_text())
    return result, Others(found["ccs"], tuple(found["rest"]))


# Building ---------------------------------------------------------------------------------------


def _build(kernel: kernels.LabKernel, path: Path, before: list[Path]) -> Path:
    """Builds the modules of path; returns their directory in the cache.

    before: directories of modules that were built first, and may export symbols for these.
    """
    files, kbuild = _sources(path)
    content = (f"{name}\0{file_digest(file)}" for name, file in files.items())
    digest = digest_of(kernel.key, kbuild, *(one.name for one in before), *content)
    stage = cache("others", kernel.key) / digest
    with locked(stage) as lock:
        if (stage / ".done").exists():
            return stage
        shutil.rmtree(stage, ignore_errors=True)
        for name, file in files.items():
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, stage / name)
        if kbuild:
            (stage / "Kbuild").write_text(kbuild)
        log = stage / ".log"
        symbols = " ".join(str(one / "Module.symvers") for one in before)
        command = kernels.module_make(kernel, stage, "-s", f"KBUILD_EXTRA_SYMBOLS={symbols}")
        with Progress(f"module {path.name}", True) as shown:
            failed = run_logged(command, log, poll=lambda: shown.show("compiling"), keep=(lock,))
            said = _said(log, stage, path.parent if path.is_file() else path)
            if failed:
                raise LabError(f"{path} does not build for {kernel.release}", log=said)
        if not _modules(stage):
            raise LabError(f"{path}: its Kbuild builds no module: add obj-m := NAME.o", 2, said)
        if said:
            print(said, file=sys.stderr)
        write_marker(stage / ".done", "")
    return stage


def _said(log: Path, stage: Path, folder: Path) -> str:
    """The messages of compiler and linker, with the paths of the user's folder."""
    lines = log.read_text(errors="replace").splitlines()
    said = "\n".join(line for line in lines if not _CHATTER.match(line))
    return said.replace(f"{stage}/", f"{folder}/")


def _sources(path: Path) -> tuple[dict[str, Path], str]:
    """The files of a build by their names in the folder; and the text of a missing Kbuild."""
    if not path.exists():
        raise LabError(f"--module {path}: no such file or directory", status=2)
    folder = path if path.is_dir() else path.parent
    if path.is_file():
        if path.suffix != ".c":
            raise LabError(f"--module {path}: give a .c file or a folder", status=2)
        there = [path, *folder.glob("*.h")]
    else:
        there = _walk(path)
        if _has_kbuild(folder):
            return {str(p.relative_to(folder)): p for p in there}, ""
    code = [p for p in there if p.suffix == ".c" and p.parent == folder]
    if len(code) != 1:
        raise LabError(f"--module {path}: {len(code)} .c files and no Kbuild: write a Kbuild"
                       " with obj-m := NAME.o", status=2)  # fmt: skip
    return {str(p.relative_to(folder)): p for p in there}, f"obj-m := {code[0].stem}.o\n"


def _walk(folder: Path) -> list[Path]:
    found: list[Path] = []
    size = 0
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for path in (Path(here, name) for name in sorted(files) if not _MADE.fullmatch(name)):
            if path.is_file():
                found.append(path)
                size += path.stat().st_size
        if len(found) > MOST_FILES or size > MOST_BYTES:
            raise LabError(f"--module {folder}: more than {MOST_FILES} files or"
                           f" {MOST_BYTES >> 20} MiB: give only the module's folder", status=2)
    return found


def _has_kbuild(folder: Path) -> bool:
    """Whether the folder has a Kbuild, or a Makefile with obj-m."""
    makefile = folder / "Makefile"
    return (folder / "Kbuild").is_file() or (
        makefile.is_file() and "obj-m" in makefile.read_text(errors="replace")
    )


def _modules(directory: Path) -> list[Path]:
    """The built modules, in the order of the Kbuild."""
    order = directory / "modules.order"
    names = order.read_text().split() if order.exists() else []
    return [directory / Path(name).with_suffix(".ko").relative_to(
        directory if Path(name).is_absolute() else ".") for name in names]  # fmt: skip


def _name(module: Path) -> str:
    """The name of a module in the kernel."""
    return module.stem.replace("-", "_")


# Loading ----------------------------------------------------------------------------------------


def _lay_out(kernel: kernels.LabKernel, ours: Path, built: list[Path], result: Path) -> None:
    """Copies ours to result, and adds the user's modules; one with a name of ours replaces ours."""
    shutil.rmtree(result, ignore_errors=True)
    shutil.copytree(ours, result)
    (result / ".done").unlink(missing_ok=True)
    tree = result / "lib/modules" / kernel.release
    builtin = {_name(Path(line)) for line in (tree / "modules.builtin").read_text().split()}
    taken = set()
    for module in (module for directory in built for module in _modules(directory)):
        name = _name(module)
        if name in builtin:
            raise LabError(f"{name} is built into the lab kernel: give the module (and its"
                           " congestion control) another name", status=2)  # fmt: skip
        if name in taken:
            raise LabError(f"two modules have the name {name}: rename one", status=2)
        taken.add(name)
        shutil.copyfile(module, tree / "updates" / f"{name}.ko")
    kernels.index_modules(kernel, result)


# modprobe interprets EEXIST as "already loaded", but a name that is in use causes EEXIST, too.
_TRY = """cd /run/lab
known=/proc/sys/net/ipv4/tcp_available_congestion_control
for module in {names}; do
	dmesg -C 2>/dev/null
	tr ' ' '\\n' <$known >before
	if ! modprobe $module >said 2>&1 || [ ! -d /sys/module/$module ]; then
		echo $module >failed
		dmesg -t >>said
		exit 3
	fi
	echo $module $(tr ' ' '\\n' <$known | grep -vxFf before) >>loaded
done
"""


def _try(kernel: kernels.LabKernel, tree: Path, names: list[str]) -> Others:
    """Loads the modules once in a guest, to find the congestion controls of each."""
    with Guest(kernel) as guest:
        guest.boot(_TRY.format(names=" ".join(names)), tree)
        guest.wait()
        guest.status()
        if failed := guest.text("failed").strip():
            raise LabError(f"{failed} cannot be loaded", log=guest.text("said").strip())
        ccs: dict[str, str] = {}
        rest = []
        for line in guest.text("loaded").splitlines():
            module, *registered = line.split()
            ccs |= dict.fromkeys(registered, module)
            if not registered:
                rest.append(module)
        return Others(ccs, tuple(rest))
