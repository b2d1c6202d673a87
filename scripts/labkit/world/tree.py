# SPDX-License-Identifier: GPL-2.0
"""A kernel tree of the user: its version, a digest of its content, and a copy of the files that the
lab builds.  The tree is never written to."""

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from ..errors import LabError
from ..host import digest_of, environment, file_digest, write_marker
from ..paths import cache

# Files that a build generates in a tree
_MADE = ("*.o", "*.a", "*.ko", "*.cmd", "*.mod", "*.order", "*.symvers", "./.config*", "./vmlinux*",
         "./include/config", "./include/generated", "./arch/*/include/generated", "./.git",
         "./linux", "./System.map", "./.tmp_*", "./scripts/kconfig/conf")  # fmt: skip


def version_of(tree: Path) -> str:
    """The version in the tree's Makefile, such as 6.12; LabError if it is not a kernel tree."""
    makefile = tree / "Makefile"
    text = makefile.read_text(errors="replace") if makefile.is_file() else ""
    found = [re.search(rf"^{name} = (\d+)$", text, re.M) for name in ("VERSION", "PATCHLEVEL")]
    if not all(found) or not (tree / "arch/um/Kconfig").is_file():
        raise LabError(f"--kernel-tree {tree}: no kernel source with arch/um found there",
                       status=2)  # fmt: skip
    return ".".join(part[1] for part in found)


def content_of(tree: Path) -> str:
    """A digest of the tree's content.

    In a git tree it covers the tree of HEAD, the differences from HEAD, and untracked files that
    are not ignored; else all files.
    """
    top = os.fsdecode(_git(tree, "rev-parse", "--show-toplevel")).strip()
    if top and Path(top).resolve() == tree.resolve():
        more = _git(tree, "ls-files", "-z", "-o", "--exclude-standard").split(b"\0")
        extra = [f"{os.fsdecode(name)} {file_digest(tree / os.fsdecode(name))}"
                 for name in more if name]  # fmt: skip
        changed = hashlib.sha256(_git(tree, "diff", "--binary", "HEAD")).hexdigest()
        return digest_of(_git(tree, "rev-parse", "HEAD^{tree}").decode(), changed, *extra)
    files = sorted(_files(tree))
    # Reading a kernel takes half a minute.  The cache has the digest by names, sizes and times.
    stats = ((path, os.lstat(path)) for path in files)
    seen = digest_of(*(f"{path} {s.st_size} {s.st_mtime_ns}" for path, s in stats))
    known = cache("trees") / seen
    if not known.exists():
        whole = hashlib.sha256()
        for path in files:
            whole.update(f"{os.path.relpath(path, tree)}\0".encode(errors="surrogateescape"))
            whole.update(Path(path).read_bytes() if Path(path).is_file() else b"")
        write_marker(known, whole.hexdigest()[:12])
    return known.read_text()


def copy(tree: Path, target: Path, excludes: Iterable[str]) -> None:
    """Copies the tree's source to target, an existing directory, without these patterns."""
    without = [f"--exclude={pattern}" for pattern in (*_MADE, *excludes)]
    with subprocess.Popen(
        ["tar", "-C", tree, "--wildcards", *without, "-c", "."], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=environment(),
    ) as packing:  # fmt: skip
        unpack = subprocess.run(["tar", "-C", target, "-x", "--no-same-owner"],
                                stdin=packing.stdout, env=environment())  # fmt: skip
    if packing.returncode or unpack.returncode:
        raise LabError(f"cannot copy {tree} to {target} (is the disk full?)")


def _files(tree: Path) -> list[str]:
    """All files, except those whose names look like results of a build."""
    found = []
    for here, folders, files in os.walk(tree):
        folders[:] = [name for name in folders if name not in (".git", "generated")]
        found += [f"{here}/{name}" for name in files
                  if not name.endswith((".o", ".cmd", ".a", ".ko"))]  # fmt: skip
    return found


def _git(tree: Path, *arguments: str) -> bytes:
    """The output of git for the tree; empty if git fails or does not exist."""
    command = ["git", "-c", f"safe.directory={tree}", "-C", tree, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        return b""
    return done.stdout if done.returncode == 0 else b""
