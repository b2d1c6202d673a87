# SPDX-License-Identifier: GPL-2.0
"""Packages of any suite of Debian, only unpacked, with an APT state of our own.

Nothing of another suite ever reaches the host.
"""

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..errors import LabError
from ..host import Progress, output_of, run_logged, tail_of


class Apt:
    """APT with sources, lists and a package database of its own, which an ordinary user can run."""

    def __init__(self, suite: str, home: Path, shown: Progress) -> None:
        self.suite, self.home, self.shown = suite, home, shown
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
        """The suite, from the mirrors that the host itself uses."""
        form = "$(LABEL)|$(RELEASE)|$(REPO_URI)"
        main = security = ""
        listed = output_of(["apt-get", "indextargets", "--format", form, "Created-By: Packages"])
        for line in listed.splitlines():
            label, release, uri = line.split("|")
            # Without downloaded lists there is no label; the suite's name tells then.
            if label == "Debian" or (label.startswith("$") and "-" not in release):
                main = main or uri
            elif label == "Debian-Security" or (label[0] == "$" and release.endswith("-security")):
                security = security or uri
        if not main or not (security or self.suite == "sid"):
            raise LabError("apt's sources name no mirror of Debian to take packages from")
        keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
        lines = [f"deb [signed-by={keys}] {main} {self.suite} main"]
        if self.suite != "sid":
            lines.append(f"deb [signed-by={keys}] {security} {self.suite}-security main")
        return "\n".join(lines) + "\n"

    def update(self) -> None:
        """Reads the lists of the suite."""
        log = self.home / "update.log"
        command = ["apt-get", *self.options, "-q", "update"]
        reading = f"reading {self.suite}'s packages"
        if run_logged(command, log, poll=lambda: self.shown.show(reading)):
            raise LabError(
                f"cannot read the package lists of Debian {self.suite}: check the network",
                log=tail_of(log),
            )

    def names(self, prefix: str) -> set[str]:
        """All that begin so, of packages and of what others mention."""
        return set(output_of(["apt-cache", *self.options, "pkgnames", prefix]).split())

    def exists(self, name: str) -> bool:
        """Whether there is such a package, which others may only mention."""
        return bool(output_of(["apt-cache", *self.options, "madison", name]).strip())

    def download(
        self, names: list[str], target: Path, wanted: re.Pattern[str]
    ) -> dict[Path, float]:
        """Fetches packages, and of what they depend on what is wanted.

        By file, the part of all bytes before it.
        """
        simulate = ["install", "--print-uris", "--yes", "--no-install-recommends"]
        listed = output_of(["apt-get", *self.options, "-qq", *simulate, *names])
        # 'URI' FILE SIZE and, of some, SUM
        found = re.findall(r"^'\S+' (\S+) (\d+)\b", listed, re.M)
        sizes = {name: int(size) for name, size in found if wanted.match(name)}
        if not sizes:
            raise LabError(f"apt cannot resolve what {names[0]} of Debian {self.suite} needs")
        total = sum(sizes.values())

        def poll() -> None:
            have = sum(p.stat().st_size for p in files_in(target))
            self.shown.show("downloading", min(have / total, 0.99))

        asked = [f"{n.split('_')[0]}={n.split('_')[1].replace('%3a', ':')}" for n in sizes]
        log = self.home / "download.log"
        command = ["apt-get", *self.options, "-q", "download", *asked]
        if run_logged(command, log, cwd=target, poll=poll):
            raise LabError(f"cannot download {names[0]} of Debian {self.suite}: check the network",
                           log=tail_of(log))  # fmt: skip
        before, parts = 0, {}
        for name, size in sizes.items():
            parts[target / name] = before / total
            before += size
        return parts


def files_in(folder: Path) -> Iterator[Path]:
    """All files below folder, some of which may vanish meanwhile."""
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            if path.is_file():
                yield path


def unpack(package: Path, root: Path) -> None:
    """Lays the files of a package out below root; runs nothing of it."""
    with tempfile.NamedTemporaryFile(dir=root.parent) as log:
        if run_logged(["dpkg-deb", "-x", package, root], Path(log.name)):
            text = tail_of(Path(log.name))
            package.unlink()  # it may be damaged: the next attempt downloads it again
            raise LabError(f"cannot unpack {package.name} (disk full?)", log=text)


def wrap_programs(root: Path, *places: str) -> None:
    """Makes unpacked programs run from where they are, on a host with an older C library.

    Each was linked for the C library of its own suite.  It lies beside them, and a script in the
    program's place runs it with that one.
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
