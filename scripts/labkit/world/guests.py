# SPDX-License-Identifier: GPL-2.0
"""Boots guests: one user-mode Linux process for each run.

The environment, clock, command line, addresses and random numbers of a guest are fixed.  So the
result of a run depends only on its settings and seed.  The directory of the run is not on the
command line, because the kernel mixes the command line into its random pool.  The guest finds it as
the working directory of the process, /proc/self/cwd.
"""

import contextlib
import ctypes
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from .. import host
from ..errors import LabError
from ..paths import GUEST
from . import kernel as kernels

EPOCH_NS = 1_700_000_000_000_000_000  # the guest's wall clock at boot

_HOLDER = "tcpcc-guest-on-processor"  # an abstract socket's name

_ADDR_NO_RANDOMIZE = 0x0040000
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)

_guests: set["Guest"] = set()
_guests_lock = threading.Lock()
_ending = threading.Event()


class Guest:
    """A lab kernel, and the directory that it shares with the host."""

    def __init__(self, kernel: kernels.LabKernel, seed: int = 1, memory: int = 4 << 30) -> None:
        """memory: bytes; the host allocates only the pages that the guest uses."""
        self.kernel = kernel
        self.seed = seed
        self.memory = memory
        self.process: subprocess.Popen[bytes] | None = None
        self.processor: socket.socket | None = None  # while it is open, the processor is reserved
        self.dir = Path(tempfile.mkdtemp(prefix=f"tcpcc-{os.getpid()}-", dir=_fast_directory()))
        # locked while this process uses dir
        self.lock: int | None = os.open(self.dir, os.O_RDONLY)
        host.lock_at_once(self.lock)
        with _guests_lock:
            _guests.add(self)

    def boot(
        self, job: str, modules: Path | None, interactive: bool = False, real_time: bool = False
    ) -> None:
        """Starts the guest; its init runs job, a shell script.

        If interactive or real_time is set, the guest runs in real time.  Otherwise its clock is
        virtual, and computation takes no time (inf-cpu).
        """
        self.put("job", job)
        self.put("init", (GUEST / "init").read_text())
        self.put("agent", kernels.agent().read_bytes())
        for plugin in kernels.tc_plugins():
            self.put(plugin.name, plugin.read_bytes())
        if modules:
            (self.dir / "modules").symlink_to(modules / "lib" / "modules")
        command = [
            str(self.kernel.vmlinux), f"mem={self.memory >> 20}M", "norandmaps", "umid=lab",
            "uml_dir=./", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", "ssl=null",
            "con=null", "panic=-1", "oops=panic", "loglevel=5", "init=/proc/self/cwd/init",
        ]  # fmt: skip
        if interactive:
            command += ["con0=fd:0,fd:1"]
        else:
            command += ["con0=null,fd:1"]
        if not (interactive or real_time):
            command += ["time-travel=inf-cpu", f"time-travel-start={EPOCH_NS}"]
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/", "TERM": os.environ["TERM"]
            if interactive and "TERM" in os.environ else "dumb", "TMPDIR": _memory_directory(),
            "LD_PRELOAD": str(kernels.shim()), "TCPCC_SEED": str(self.seed),
        }  # fmt: skip
        with _guests_lock:
            if _ending.is_set():
                raise KeyboardInterrupt
            processors, self.processor = _free_processor()
            with (self.dir / "console").open("wb") as console:
                self.process = subprocess.Popen(
                    command, cwd=self.dir, env=environment, start_new_session=not interactive,
                    stdin=None if interactive else subprocess.DEVNULL,
                    stdout=None if interactive else console,
                    stderr=console if interactive else subprocess.STDOUT,
                    preexec_fn=lambda: _in_child(processors),
                )  # fmt: skip

    def wait(self, poll: Callable[[], None] | None = None, every: float = 0.02) -> None:
        """Waits until the guest powers off.

        poll is called each every seconds; an exception in it ends the wait.
        """
        assert self.process
        while True:
            try:
                self.process.wait(timeout=every if poll else None)
                break
            except subprocess.TimeoutExpired:
                poll()
        if poll:
            poll()

    def status(self) -> int:
        """The job's exit status; LabError if the guest failed before it could write it."""
        try:
            return int((self.dir / "status").read_text())
        except (OSError, ValueError):
            pass
        log = self.console()
        self.check_space(log)
        for mark in ("Kernel panic - not syncing: ", "BUG: ", "Oops"):
            for line in log.splitlines():
                if mark in line:
                    why = line[line.index(mark):]
                    raise LabError(f"the guest's kernel crashed: {why}", log=log)
        raise LabError("the guest ended before its job was finished", log=log)

    def check_space(self, log: str = "") -> None:
        """Raises LabError if the guest's memory or files have filled the host's disk."""
        if "ran out of space" in log or shutil.disk_usage(self.dir).free < 1 << 16:
            where = sorted({str(self.dir.parent), _memory_directory()})
            raise LabError(
                f"no space left on {' or '.join(where)}: free space, or set TMPDIR", log=log
            )

    def console(self, lines: int = 25) -> str:
        """The last lines of the kernel's log; empty if there is none."""
        with contextlib.suppress(OSError):
            text = (self.dir / "console").read_text(errors="replace")
            return "\n".join(text.splitlines()[-lines:])
        return ""

    def text(self, name: str) -> str:
        """The content of a file in the guest's directory; empty if there is none."""
        with contextlib.suppress(OSError):
            return (self.dir / name).read_text(errors="replace")
        return ""

    def close(self) -> None:
        """Kills the guest if it still runs, and removes its directory."""
        with _guests_lock:
            _guests.discard(self)
            if self.process and self.process.poll() is None:
                _kill(self.process)
        if self.process:
            self.process.wait()
        if self.processor:
            self.processor.close()
        shutil.rmtree(self.dir, ignore_errors=True)
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    def __enter__(self) -> "Guest":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def put(self, name: str, content: str | bytes) -> None:
        """Writes a file into the guest's directory."""
        data = content.encode() if isinstance(content, str) else content
        try:
            (self.dir / name).write_bytes(data)
            (self.dir / name).chmod(0o755)
        except OSError as error:
            raise LabError(f"cannot write to {self.dir.parent}: {error.strerror}") from None


def end_all() -> None:
    """Kills all guests of this process, and prevents new ones until allow(); for Ctrl-C."""
    _ending.set()
    with _guests_lock:
        for guest in _guests:
            if guest.process and guest.process.poll() is None:
                _kill(guest.process)


def allow() -> None:
    """Lets this process start guests again after end_all()."""
    _ending.clear()


def peak() -> int:
    """The largest peak memory of the guests that run now, bytes."""
    with _guests_lock:
        alive = [guest.process.pid for guest in _guests if guest.process]
    found = [0]
    for pid in alive:
        with contextlib.suppress(OSError):
            status = Path("/proc", str(pid), "status").read_text()
            found += (int(size) << 10 for size in re.findall(r"VmHWM:\s+(\d+) kB", status))
    return max(found)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kills the guest's process group: the guest's processes are host processes in it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _free_processor() -> tuple[set[int], socket.socket | None]:
    """Reserves a processor that no other guest of this machine uses.

    Returns the processors on which a guest may run, and the socket that reserves the processor: all
    processors and None if none is free.

    The kernel and the programs of a guest are processes that run alternately: they switch at each
    system call of a program.  If they may use two processors, a switch often wakes an idle
    processor, which takes longer than the work until the next switch.  The name of an abstract
    socket can be bound only once on a machine, by any user, and is free when its owner ends.
    """
    allowed = os.sched_getaffinity(0)
    for processor in sorted(allowed):
        holder = socket.socket(socket.AF_UNIX)
        try:
            holder.bind(f"\0{_HOLDER}-{processor}")
            return {processor}, holder
        except OSError:
            holder.close()
    return allowed, None


def _in_child(processors: set[int]) -> None:
    """Runs between fork and exec: sets processors, fixed addresses, no core dumps, and that the
    guest is killed when this process ends."""
    os.sched_setaffinity(0, processors)
    _libc.personality(_ADDR_NO_RANDOMIZE)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def sweep() -> None:
    """Removes the directories of lab processes that were killed before they could remove them.

    An owner that /proc does not show may be in another container, or on another machine that
    shares the file system: then the directory is locked, or cannot be locked at all.  The number of
    a killed owner may belong to a new process: then its directory is removed after a day.
    """

    def ended(folder: Path) -> bool:
        owner = folder.name.split("-")[1]
        return owner.isdecimal() and not Path("/proc", owner).exists()

    host.sweep(Path(_fast_directory() or tempfile.gettempdir()).glob("tcpcc-*-*"), ended)


def _fast_directory() -> str | None:
    """The parent of runs' directories: in memory if it has enough space; None: the default."""
    memory = _memory_directory()
    return memory if shutil.disk_usage(memory).free > 256 << 20 else None


def _memory_directory() -> str:
    """The directory for a guest's memory, which is a sparse file of the host."""
    own = os.environ.get("TMPDIR")
    shm = "/dev/shm"
    if not own and os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > 1 << 30:
        return shm
    return tempfile.gettempdir()
