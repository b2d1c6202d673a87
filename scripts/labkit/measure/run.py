# SPDX-License-Identifier: GPL-2.0
"""Boots guests: one user-mode Linux process is one run.

A guest's world is made the same each time: fixed environment, clock, command line, addresses and
random numbers, so that a run is a function of its settings and seed.  Its directory is not named
on the command line (which the kernel stirs into its random pool): the guest finds it as the
working directory of the process, /proc/self/cwd.
"""

import contextlib
import ctypes
import functools
import hashlib
import importlib
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import LabError
from ..host import digest_of, file_digest, output_of
from ..model.scenario import SHAPING, Scenario, Settings
from ..paths import GUEST, cache
from ..world import kernel as kernels
from ..world.topology import Plan, compile_plan

EPOCH_NS = 1_700_000_000_000_000_000  # the guest's wall clock at boot
STALL_S = 120  # wall seconds without progress in virtual time before a run counts as hung

_ADDR_NO_RANDOMIZE = 0x0040000
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)

_guests: set["Guest"] = set()
_guests_lock = threading.Lock()
_ending = threading.Event()


class Guest:
    """One booted lab kernel, and the directory it shares with the host."""

    def __init__(self, kernel: kernels.LabKernel, seed: int = 1, memory: int = 4 << 30) -> None:
        """memory: bytes; only what the guest touches is ever allocated."""
        self.kernel = kernel
        self.seed = seed
        self.memory = memory
        self.process: subprocess.Popen[bytes] | None = None
        self.dir = Path(tempfile.mkdtemp(prefix=f"tcpcc-{os.getpid()}-", dir=_fast_directory()))
        with _guests_lock:
            _guests.add(self)

    def boot(
        self, job: str, modules: Path | None, interactive: bool = False, real_time: bool = False
    ) -> None:
        """Starts the guest, whose init runs job, a shell script.

        Its time is real, as its processor's is, if real_time or interactive say so.
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
            with (self.dir / "console").open("wb") as console:
                self.process = subprocess.Popen(
                    command, cwd=self.dir, env=environment, start_new_session=not interactive,
                    stdin=None if interactive else subprocess.DEVNULL,
                    stdout=None if interactive else console,
                    stderr=console if interactive else subprocess.STDOUT, preexec_fn=_in_child,
                )  # fmt: skip

    def wait(self, poll: Callable[[], None] | None = None, every: float = 0.02) -> None:
        """Waits for the guest to power off; poll may raise to give it up."""
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
        """The job's exit status; an error if the guest did not live to tell."""
        try:
            return int((self.dir / "status").read_text())
        except (OSError, ValueError):
            pass
        log = self.console()
        self.check_space(log)
        for mark in ("Kernel panic - not syncing: ", "BUG: ", "Oops"):
            for line in log.splitlines():
                if mark in line:
                    raise LabError(f"the guest's kernel died: {line[line.index(mark):]}", log=log)
        raise LabError("the guest ended without finishing its job", log=log)

    def check_space(self, log: str = "") -> None:
        """An error if the guest's memory or files have filled the host's disk."""
        if "ran out of space" in log or shutil.disk_usage(self.dir).free < 1 << 16:
            where = sorted({str(self.dir.parent), _memory_directory()})
            raise LabError(
                f"no space left on {' or '.join(where)}: free some, or set TMPDIR", log=log
            )

    def console(self, lines: int = 25) -> str:
        """The end of the kernel's log."""
        with contextlib.suppress(OSError):
            text = (self.dir / "console").read_text(errors="replace")
            return "\n".join(text.splitlines()[-lines:])
        return ""

    def text(self, name: str) -> str:
        """What the guest left in a file of its directory."""
        with contextlib.suppress(OSError):
            return (self.dir / name).read_text(errors="replace")
        return ""

    def close(self) -> None:
        """Ends the guest if it still runs, and forgets its directory."""
        with _guests_lock:
            _guests.discard(self)
            if self.process and self.process.poll() is None:
                _kill(self.process)
        if self.process:
            self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self) -> "Guest":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def put(self, name: str, content: str | bytes) -> None:
        """Gives the guest a file."""
        data = content.encode() if isinstance(content, str) else content
        try:
            (self.dir / name).write_bytes(data)
            (self.dir / name).chmod(0o755)
        except OSError as error:
            raise LabError(f"cannot write to {self.dir.parent}: {error.strerror}") from None


# What is built is in a directory of its own, whose files do not change: they are read once.


@functools.cache
def _parameters(tree: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    builtin = (tree / "modules.builtin.modinfo").read_bytes()
    for module in re.findall(rb"(\w+)\.license=", builtin):
        names = re.findall(rb"\0" + module + rb"\.par[m]=(\w+):", builtin)
        found[module.decode()] = {name.decode() for name in names}
    for path in tree.rglob("*.ko"):
        names = re.findall(rb"\0par[m]=(\w+):", path.read_bytes())
        found[path.stem] = {name.decode() for name in names}
    return found


@functools.cache
def _modules_known(tree: Path) -> frozenset[str]:
    builtin = (tree / "modules.builtin").read_text().split()
    known = {Path(line).stem.replace("-", "_") for line in builtin}
    for path in tree.rglob("*.ko"):
        known.add(path.stem)
        known |= {a.decode() for a in re.findall(rb"\0alias=([\w-]+)", path.read_bytes())}
    return frozenset(known)


@functools.cache
def _digest(modules: Path, release: str, module: str) -> str:
    where = ["-d", str(modules), "-S", release]
    paths = output_of(["modprobe", "--show-depends", *where, module])
    needed = re.findall(r"^insmod (.+\.ko)", paths, re.MULTILINE)
    return digest_of(*(file_digest(Path(path)) for path in needed))


class Laboratory:
    """A lab kernel with this project's modules, and what can be run on it."""

    def __init__(self, version: str = kernels.DEFAULT_VERSION, variant: str = "") -> None:
        self.kernel = kernels.ensure(version, variant)
        self.modules = kernels.build_modules(self.kernel)
        _sweep()
        # once, before guests start side by side
        kernels.shim(), kernels.agent(), kernels.tc_plugins()
        self._tree = self.modules / "lib" / "modules" / self.kernel.release

    def parameters(self) -> dict[str, set[str]]:
        """The parameters of each module, built in or ours."""
        return _parameters(self._tree)

    def modules_known(self) -> frozenset[str]:
        """Every name that modprobe takes here."""
        return _modules_known(self._tree)

    def digest(self, module: str) -> str:
        """Of a module and of those that it needs; none of what is built in."""
        return _digest(self.modules, self.kernel.release, module)

    def ccs(self) -> list[str]:
        """The congestion controls that a flow may have here."""
        diagnosis = {"tcp_diag"}
        names = {m[4:] for m in self.modules_known() - diagnosis if m.startswith("tcp_")}
        return sorted(names | {"reno"})

    def check(self, settings: Settings, cc: str) -> None:
        """Says what settings ask for that this kernel and these modules do not have."""
        for name in dict.fromkeys(settings.every_cc(cc)):
            if name not in self.ccs():
                raise LabError(
                    f"no congestion control {name!r}; there are: {', '.join(self.ccs())}", status=2
                )
        if settings.router and settings.qdisc not in SHAPING:
            raise LabError(f"router has options of qdisc={' or '.join(SHAPING)}: drop it", status=2)
        known = self.parameters()
        for module, name, _ in settings.param:
            if module not in known:
                mine = sorted(m for m in known if m.startswith(("tcp_", "sch_")))
                raise LabError(f"no module {module!r}; there are: {', '.join(mine)}", status=2)
            if name not in known[module]:
                there = ", ".join(sorted(known[module])) or "none"
                raise LabError(f"{module} has no parameter {name!r}; it has: {there}", status=2)
        if settings.qdisc in SHAPING and f"sch_{settings.qdisc}" not in self.modules_known():
            raise LabError(f"qdisc={settings.qdisc} needs sch_{settings.qdisc}, which is not built",
                           status=2)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """One run to be made."""

    scenario: Scenario
    settings: Settings
    cc: str
    seed: int
    column: str = ""  # of the scenario, and its case
    case: str = ""

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.scenario.name, self.column or self.cc, self.case)))


def run_all(
    laboratory: Laboratory, jobs: list[Job], parallel: int = 0, out: Path | None = None,
    progress: Callable[[int, float], None] = lambda index, share: None,
) -> list[Any]:  # fmt: skip
    """Makes the runs side by side; results in order, or the error of the first that failed.

    progress is told the index of a run and the share of its virtual time that is done.
    """
    for job in jobs:
        laboratory.check(job.settings, job.cc)
    # numpy takes its time to load, in which the first guest can boot.
    threading.Thread(target=importlib.import_module, args=(f"{__package__}.result",)).start()
    with ThreadPoolExecutor(parallel or os.cpu_count()) as pool:
        pending = [
            pool.submit(_run_one, laboratory, job, out, lambda share, i=i: progress(i, share))
            for i, job in enumerate(jobs)
        ]
        try:
            return [future.result() for future in pending]
        except BaseException:
            end_all()
            raise


def _run_one(
    laboratory: Laboratory, job: Job, out: Path | None, progress: Callable[[float], None]
) -> Any:
    """One run's result, with its series kept in a directory that its settings name."""
    name = f"{job.scenario.name}-{job.cc}-{job.seed}-{identity(laboratory, job)}"
    return make(laboratory, job, (out or cache("run")) / name, progress)


def identity(laboratory: Laboratory, job: Job) -> str:
    """Of all that a run depends on but its seed: kernel, its own modules, what is executed."""
    plan = compile_plan(job.settings, job.cc, job.seed)
    loaded = re.findall(r"^modprobe (\S+)", plan.setup, re.MULTILINE)
    modules = (laboratory.digest(name) for name in loaded)
    parts = (laboratory.kernel.key, *modules, plan.setup, plan.traffic)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]


def make(
    laboratory: Laboratory, job: Job, home: Path,
    progress: Callable[[float], None] = lambda share: None, with_series: bool = True,
) -> Any:  # fmt: skip
    """One run's result, which is kept in home with, or without, all that was sampled."""
    started = time.monotonic()
    settings, release = job.settings, laboratory.kernel.release
    plan = compile_plan(settings, job.cc, job.seed)
    with traffic(
        laboratory.kernel, laboratory.modules, plan, job.seed,
        lambda virtual_s: progress(virtual_s / settings.end),
    ) as measured:  # fmt: skip
        from . import result

        built = result.build(measured, job.scenario.name, settings, job.cc, job.seed, release)
        wall = round(time.monotonic() - started, 3)
        at = list(built).index("virtual_s") + 1
        entries = list(built.items())
        built = dict([*entries[:at], ("wall_s", wall), *entries[at:]])
        if with_series:
            built["series"] = str(home)
        built = result.place(built, job.scenario, job.column, job.case)
        _keep(measured, home, built, KEPT if with_series else ())
    return built


KEPT = ("setup.sh", "plan", "summary.json", "flows.csv", "links.csv", "requests.csv", "console")


def _keep(measured: Path, target: Path, built: Any, names: tuple[str, ...]) -> None:
    """Keeps a run's files, all of them or none: a directory with this name is whole."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".part-", dir=target.parent) as part:
            whole = Path(part, "new")
            whole.mkdir()
            for name in names:
                if name != "requests.csv" or (measured / name).exists():  # only with app
                    shutil.copyfile(measured / name, whole / name)
            (whole / "result.json").write_text(json.dumps(built, indent=1) + "\n")
            with contextlib.suppress(FileNotFoundError):
                target.rename(Path(part, "old"))
            # Should another process have put the same run there meanwhile, it is the same.
            with contextlib.suppress(FileExistsError):
                whole.rename(target)
    except OSError as error:
        raise LabError(f"cannot keep the series in {target}: {error.strerror}") from None


_TRAFFIC_JOB = """cd /run/lab
sh ./setup.sh >setup.log 2>&1 || exit 3
./agent traffic plan . 2>agent.log || exit 4
"""


@contextlib.contextmanager
def traffic(
    kernel: kernels.LabKernel,
    modules: Path | None,
    plan: Plan,
    seed: int,
    progress: Callable[[float], None] = lambda virtual_s: None,
) -> Iterator[Path]:
    """Executes a plan; yields the directory with summary.json, flows.csv and links.csv.

    progress is told the virtual seconds done.
    """
    with Guest(kernel, seed, plan.memory) as guest:
        guest.put("setup.sh", plan.setup)
        guest.put("plan", plan.traffic)
        guest.boot(_TRAFFIC_JOB, modules)
        last, since = "", time.monotonic()

        def poll() -> None:
            nonlocal last, since
            text = guest.text("progress").strip()
            if text != last:
                last, since = text, time.monotonic()
                with contextlib.suppress(ValueError):
                    progress(float(text))
            elif time.monotonic() - since > STALL_S:
                raise LabError(
                    f"the run hangs: virtual time stands still at {last or 0} s for {STALL_S} s",
                    log=guest.console(),
                )

        guest.wait(poll)
        status = guest.status()
        if failed := guest.text("failed").strip():
            said = guest.text("setup.log").strip().splitlines()[-2:]
            raise LabError(f"{failed}: {'; '.join(said)}", log=guest.console())
        if status:
            guest.check_space(guest.console())
            what, name = {
                3: ("setting up the topology", "setup.log"),
                4: ("the traffic", "agent.log"),
            }.get(status, (f"the guest's job (status {status})", "console"))
            # A batch of ip or tc ends with the line that failed, after what was wrong with it.
            said = guest.text(name).strip().splitlines()[-2:] or ["no message"]
            raise LabError(f"{what} failed: {'; '.join(said)}", log=guest.console())
        yield guest.dir


def execute(
    laboratory: Laboratory, command: list[str], seed: int = 1, timeout: float | None = None
) -> int:
    """Runs a command as the guest's root, and passes its output on; returns its status."""
    with Guest(laboratory.kernel, seed) as guest:
        guest.boot(_here(guest) + f"exec /run/lab/agent exec /run/lab {shlex.join(command)}\n",
                   laboratory.modules)  # fmt: skip
        streams = [
            _Tail(guest.dir / "stdout", sys.stdout.buffer),
            _Tail(guest.dir / "stderr", sys.stderr.buffer),
        ]
        deadline = timeout and time.monotonic() + timeout

        def poll() -> None:
            for stream in streams:
                stream.copy()
            if deadline and time.monotonic() > deadline:
                raise LabError(f"gave up after {timeout:g} s", log=guest.console())

        guest.wait(poll)
        status = guest.status()
        if not (guest.dir / "ready").exists():
            raise LabError("the guest could not be set up", log=guest.console())
        return status


def shell(laboratory: Laboratory) -> int:
    """A shell of the guest's root on the caller's terminal, in normal time."""
    terminal = termios.tcgetattr(0)
    columns, lines = os.get_terminal_size(0)
    print(
        f"Linux {laboratory.kernel.release}, in normal time (lab exec has virtual time). You are"
        f" root, of this guest alone: only {Path.cwd()} is the host's for writing.\nmodprobe knows"
        " this project's modules. Leave with Ctrl-D.",
        flush=True,
    )
    with Guest(laboratory.kernel, seed=int.from_bytes(os.urandom(7))) as guest:
        guest.boot(
            _here(guest) + f"stty rows {lines} cols {columns} </dev/tty0\n"
            "exec setsid -cw bash -i </dev/tty0 >/dev/tty0 2>&1\n",
            laboratory.modules, interactive=True,
        )  # fmt: skip
        try:
            guest.wait()
        finally:
            termios.tcsetattr(0, termios.TCSADRAIN, terminal)
        return guest.status()


def _here(guest: Guest) -> str:
    """The beginning of a job that goes on in the caller's directory, which it may write."""
    here = Path.cwd()
    quoted = shlex.quote(str(here))
    (guest.dir / "here").symlink_to(here)
    mount = f"mount -t hostfs -o /proc/self/cwd/here none {quoted}"
    return f"""ip link set lo up || exit 1
[ {quoted} = / ] || {mount} || exit 1
cd {quoted} || exit 1
: >/run/lab/ready
"""


class _Tail:
    """Copies a file that grows."""

    def __init__(self, path: Path, to: BinaryIO) -> None:
        self.path = path
        self.to = to
        self.file: BinaryIO | None = None

    def copy(self) -> None:
        if not self.file and self.path.exists():
            self.file = self.path.open("rb")
        if self.file and (data := self.file.read()):
            self.to.write(data)
            self.to.flush()


def end_all() -> None:
    """Ends every guest of this process, and lets no new one start: after Ctrl-C."""
    _ending.set()
    with _guests_lock:
        for guest in _guests:
            if guest.process and guest.process.poll() is None:
                _kill(guest.process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The guest's own processes are host processes, of its process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _in_child() -> None:
    """Between fork and exec: fixed addresses, no core dumps, and an end with ours."""
    _libc.personality(_ADDR_NO_RANDOMIZE)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _sweep() -> None:
    """Removes what a lab left behind that was killed before it could."""
    for old in Path(_fast_directory() or tempfile.gettempdir()).glob("tcpcc-*-*"):
        owner = old.name.split("-")[1]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            shutil.rmtree(old, ignore_errors=True)


def _fast_directory() -> str | None:
    """For a run's files: memory if there is some."""
    memory = _memory_directory()
    return memory if shutil.disk_usage(memory).free > 256 << 20 else None


def _memory_directory() -> str:
    """For the guest's memory, which is a sparse file of the host."""
    own = os.environ.get("TMPDIR")
    shm = "/dev/shm"
    if not own and os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > 1 << 30:
        return shm
    return tempfile.gettempdir()
