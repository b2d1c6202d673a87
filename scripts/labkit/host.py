# SPDX-License-Identifier: GPL-2.0
"""Host functions for builds: processes, locks, files, and a progress line."""

import contextlib
import fcntl
import functools
import hashlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from .errors import LabError

DAY_S = 86400  # what was not changed for so long is removed, if it is not in use
LOOK_S = 1.0  # the longest time that a process holds the lock only to check if a build exists


def environment(**extra: str) -> dict[str, str]:
    """The environment variables of a build, without those of a calling make and without the user's
    language and compiler flags."""
    keep = ("HOME", "TMPDIR", "http_proxy", "https_proxy", "no_proxy")
    kept = {name: os.environ[name] for name in keep if name in os.environ}
    path = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    return {**kept, "PATH": path, "LC_ALL": "C.UTF-8", **extra}


def run_logged(command, log: Path, *, cwd=None, poll=None, keep=(), **env: str) -> int:
    """Runs a command with its output in log; returns its exit status.

    The command gets its own session; an exception here terminates its process group.  keep: file
    descriptors that the command inherits, so that it still holds the lock if this process is
    killed.  poll is called at once, and then about once a second.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        child = subprocess.Popen(
            [str(part) for part in command], cwd=cwd, env=environment(**env), pass_fds=keep,
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
        )
        try:
            while True:
                if poll:
                    poll()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return child.wait(timeout=1 if poll else None)
        except BaseException:
            os.killpg(child.pid, signal.SIGTERM)
            child.wait()
            raise


def output_of(command: list[str], otherwise: str = "") -> str:
    """The standard output of a command; empty if the command fails.

    otherwise: what to do then; if it is given, a failure is a LabError with it and the command's
    last message.
    """
    done = subprocess.run(
        command, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode and otherwise:
        said = (done.stderr.strip() or "no message").splitlines()[-1]
        raise LabError(f"{command[0]} failed: {said}; {otherwise}")
    return done.stdout if done.returncode == 0 else ""


def missing_packages(tools: dict[str, str]) -> list[str]:
    """The packages that are missing on this machine; tools maps each program to its package."""
    path = environment()["PATH"]
    return [package for tool, package in tools.items() if not shutil.which(tool, path=path)]


@contextlib.contextmanager
def locked(path: Path, shown: "Progress | None" = None) -> Iterator[int]:
    """Locks path, so that two processes never build the same thing at once; yields the lock's fd.

    A process that only checks whether the thing is built holds the lock for less than LOOK_S.
    So shown displays the wait only after LOOK_S.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(path.name + ".lock").open("w") as lock:
        if not _taken(lock, LOOK_S):
            if shown:
                shown.show("waiting for another process that builds it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def _taken(lock: IO[str], within_s: float) -> bool:
    """Whether this process could take the lock within within_s seconds."""
    end = time.monotonic() + within_s
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(0.01)


@contextlib.contextmanager
def temporary(where: Path) -> Iterator[Path]:
    """A new directory in where, an existing directory; it is removed at the end.

    A process that is killed leaves its directory.  Later processes remove it, as sweep() says.
    """
    _sweep_once(where)
    with tempfile.TemporaryDirectory(prefix=_PART, dir=where) as name:
        folder = os.open(name, os.O_RDONLY)
        try:
            lock_at_once(folder)
            yield Path(name)
        finally:
            os.close(folder)


_PART = ".tcpcc-"  # prefix of the directories of temporary()


@functools.cache
def _sweep_once(where: Path) -> None:
    sweep(where.glob(f"{_PART}*"))


def sweep(left: Iterable[Path], dead: Callable[[Path], bool] = lambda folder: False) -> None:
    """Removes those directories that killed processes left: not changed for a day, or dead().

    A directory stays if a process has locked it, or if locks do not work there.
    """
    for folder in left:
        with contextlib.suppress(OSError):
            if not dead(folder) and time.time() - folder.stat().st_mtime < DAY_S:
                continue
            lock = os.open(folder, os.O_RDONLY)
            try:
                if lock_at_once(lock):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def lock_at_once(folder: int) -> bool:
    """Locks an open directory; False if another process has it, or if locks do not work there."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def write_marker(path: Path, text: str) -> None:
    """Writes a file atomically; several processes may write the same one at once."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        part.write_text(text)
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)


def digest_of(*parts: str) -> str:
    """A digest of these texts: twelve hexadecimal digits."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def file_digest(path: Path) -> str:
    """The SHA-256 digest of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tail_of(log: Path, lines: int = 25) -> str:
    """The last lines of a log; empty if there is no log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else ""


def first_error(log: Path) -> str:
    """The first line with an error in a build's log."""
    text = log.read_text(errors="replace")
    found = re.search(r"^.*\b(?:error|ERROR)\b:? .*$", text, re.M)
    return found[0].strip() if found else f"see {log}"


class Progress:
    """A progress line on standard error: rewritten in place on a terminal; elsewhere a new line at
    most every SPARSE_S seconds for each phase."""

    SPARSE_S = 20

    def __init__(self, title: str, wanted: bool) -> None:
        self.title = title
        self.wanted = wanted
        self.live = sys.stderr.isatty()
        self.start = time.monotonic()
        self.phase = ""
        self.phase_start = self.last = 0.0
        self.first = 0.0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if not self.phase or not self.wanted:
            return
        if self.live:
            sys.stderr.write("\r\x1b[K")
        if kind is None:
            self._line(f"{self.title}: ready after {_clock(time.monotonic() - self.start)}\n")

    def show(self, phase: str, part: float = 0.0, unit: str = "", total: int = 0) -> None:
        """Shows the progress of a phase; part is 0 to 1, and 0 if it is unknown."""
        now = time.monotonic()
        if phase != self.phase:
            self.phase, self.phase_start, self.last, self.first = phase, now, 0.0, part
        if not self.wanted or (self.last and not self.live and now - self.last < self.SPARSE_S):
            return
        self.last = now
        spent = now - self.phase_start
        text = f"{self.title}: {phase}"
        if unit:
            text += f" {round(part * total)} of about {total} {unit}"
        elif part:
            text += f" {part:.0%}"
        if spent >= 1:
            text += f", {_clock(spent)}"
        if self.first < part < 1 and spent > 5:
            left = spent * (1 - part) / (part - self.first)
            text += f", about {_clock(left)} left"
        if self.live:
            width = shutil.get_terminal_size().columns - 1
            self._line("\r" + text[:width] + "\x1b[K")
        else:
            self._line(text + "\n")

    @staticmethod
    def _line(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def sync_sources(files: dict[str, Path], stage: Path) -> None:
    """Copies these sources to stage, and removes other sources there.

    An unchanged file is not copied, so that make does not compile it again.
    """
    for name, path in files.items():
        copy = stage / name
        if not copy.exists() or copy.read_bytes() != path.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    for old in [p for p in stage.rglob("*") if p.suffix in (".c", ".h") or p.name == "Kbuild"]:
        if not old.name.endswith(".mod.c") and str(old.relative_to(stage)) not in files:
            old.unlink()


def forget_old(home: Path, keep: int) -> None:
    """Removes old builds: all but the newest keep, except those used within the last day.

    A run may still use a recent build.
    """
    builds = sorted((p for p in home.iterdir() if p.is_dir() and p.name != "stage"),
                    key=lambda p: p.stat().st_mtime, reverse=True)
    for old in builds[keep:]:
        if time.time() - old.stat().st_mtime > DAY_S:
            shutil.rmtree(old, ignore_errors=True)
