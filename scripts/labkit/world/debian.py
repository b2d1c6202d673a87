# SPDX-License-Identifier: GPL-2.0
"""Downloads and unpacks packages of any suite of Debian, with a separate APT state.

The packages are not installed, so the host stays unchanged.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from ..errors import LabError
from ..host import Progress, output_of, run_logged, tail_of


class Apt:
    """APT with its own sources, lists and package database; an ordinary user can run it."""

    def __init__(self, suite: str, home: Path, shown: Progress, lock: int) -> None:
        """lock: that of the files to be made, see run_logged()."""
        self.suite, self.home, self.shown, self.keep = suite, home, shown, (lock,)
        for name in ("lists/partial", "archives/partial", "none"):
            (home / name).mkdir(parents=True, exist_ok=True)
        (home / "status").write_text("")
        (home / "sources.list").write_text(self._sources())
        config = {
            "APT::Architecture": "amd64", "APT::Architectures": "amd64",
            "APT::Sandbox::User": "root", "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "Debug::NoLocking": "true",
            "Dir::State": home, "Dir::State::status": home / "status",
            "Dir::State::lists": home / "lists", "Dir::Cache": home,
            "Dir::Etc::sourcelist": home / "sources.list", "Dir::Etc::sourceparts": home / "none",
            "Dir::Etc::preferences": "/dev/null", "Dir::Etc::preferencesparts": home / "none",
        }  # fmt: skip
        self.options = [part for key, value in config.items() for part in ("-o", f"{key}={value}")]

    def _sources(self) -> str:
        """The text of sources.list: the suite, from the mirrors that the host uses."""
        form = "$(LABEL)|$(RELEASE)|$(REPO_URI)"
        main = security = ""
        listed = output_of(["apt-get", "indextargets", "--format", form, "Created-By: Packages"])
        for line in listed.splitlines():
            label, release, uri = line.split("|")
            # Without downloaded lists there is no label, so the suite's name decides.
            if label == "Debian" or (label.startswith("$") and "-" not in release):
                main = main or uri
            elif label == "Debian-Security" or (label[0] == "$" and release.endswith("-security")):
                security = security or uri
        if not main or not (security or self.suite == "sid"):
            raise LabError("apt's sources have no mirror of Debian: add one")
        keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
        lines = [f"deb [signed-by={keys}] {main} {self.suite} main"]
        if self.suite != "sid":
            lines.append(f"deb [signed-by={keys}] {security} {self.suite}-security main")
        return "\n".join(lines) + "\n"

    def update(self) -> None:
        """Downloads the package lists of the suite."""
        log = self.home / "update.log"
        command = ["apt-get", *self.options, "-q", "update"]
        reading = f"reading {self.suite}'s packages"
        if run_logged(command, log, poll=lambda: self.shown.show(reading), keep=self.keep):
            raise LabError(
                f"cannot read the package lists of Debian {self.suite}: check the network",
                log=tail_of(log),
            )

    def names(self, prefix: str) -> set[str]:
        """The names with this prefix of packages, and of packages that others only mention."""
        return set(output_of(["apt-cache", *self.options, "pkgnames", prefix]).split())

    def exists(self, name: str) -> bool:
        """Whether the package exists, and is not only mentioned by others."""
        return bool(output_of(["apt-cache", *self.options, "madison", name]).strip())

    def download(
        self, names: list[str], target: Path, wanted: re.Pattern[str]
    ) -> dict[Path, float]:
        """Downloads packages and their dependencies, as far as file names match wanted.

        Returns for each file the share of all bytes that precede it, 0 to 1, for progress.
        """
        simulate = ["install", "--print-uris", "--yes", "--no-install-recommends"]
        listed = output_of(["apt-get", *self.options, "-qq", *simulate, *names])
        # Each line is 'URI' FILE SIZE, and for some also SUM.
        found = re.findall(r"^'\S+' (\S+) (\d+)\b", listed, re.M)
        sizes = {name: int(size) for name, size in found if wanted.match(name)}
        if not sizes:
            raise LabError(f"apt cannot resolve what {names[0]} of Debian {self.suite} requires")
        total = sum(sizes.values())

        def poll() -> None:
            have = sum(p.stat().st_size for p in files_in(target))
            self.shown.show("downloading", min(have / total, 0.99))

        asked = [f"{n.split('_')[0]}={n.split('_')[1].replace('%3a', ':')}" for n in sizes]
        log = self.home / "download.log"
        command = ["apt-get", *self.options, "-q", "download", *asked]
        if run_logged(command, log, cwd=target, poll=poll, keep=self.keep):
            raise LabError(f"cannot download {names[0]} of Debian {self.suite}: check the network",
                           log=tail_of(log))  # fmt: skip
        before, parts = 0, {}
        for name, size in sizes.items():
            parts[target / name] = before / total
            before += size
        return parts


def files_in(folder: Path) -> Iterator[Path]:
    """All files below folder; ignores files that vanish meanwhile."""
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            if path.is_file():
                yield path


def unpack(package: Path, root: Path, lock: int) -> None:
    """Unpacks the files of a package below root, which is locked; does not run its scripts."""
    log = root.with_name("unpack.log")
    if run_logged(["dpkg-deb", "-x", package, root], log, keep=(lock,)):
        package.unlink()  # it may be damaged: the next attempt downloads it again
        raise LabError(f"cannot unpack {package.name} (is the disk full?)", log=tail_of(log))


def wrap_programs(root: Path, *places: str) -> None:
    """Makes unpacked programs run in root, on a host with an older C library.

    The programs need the C library of their suite, which is in root, too.  A script replaces each
    program, and runs it with that library.
    """
    loader = next(root.glob("**/x86_64-linux-gnu/ld-linux-x86-64.so.2"))
    libraries = ":".join(str(root / top / "x86_64-linux-gnu") for top in ("lib", "usr/lib"))
    programs = [path for place in places for top in root.glob(place) for path in files_in(top)]
    for path in programs:
        if path.is_symlink() or not os.access(path, os.X_OK) or ".so" in path.name:
            continue
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        real = path.with_name(path.name + ".elf")
        path.rename(real)
        path.write_text(
            f'#!/bin/sh\nexec {loader} --argv0 "$0" --library-path {libraries} {real} "$@"\n'
        )
        path.chmod(0o755)
