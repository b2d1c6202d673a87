# SPDX-License-Identifier: GPL-2.0
"""A lab kernel with this project's modules: what it supports, and how to run a plan, a command or a
shell on it."""

import contextlib
import functools
import os
import re
import shlex
import shutil
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import LabError
from ..host import digest_of, file_digest, output_of
from ..model.settings import SHAPING, Settings
from . import iproute
from . import kernel as kernels
from .guests import Guest, sweep
from .others import Others, with_modules
from .plan import Plan
from .queues import NEWER
from .script import NEWER_TC

STALL_S = 120  # wall seconds without progress in virtual time after which a run counts as hung

# Programs of the host that the setup script of a plan uses
TOOLS = ("ip", "tc", "sysctl", "modprobe", "ethtool")


def _again(modules: Path) -> str:
    return f"remove {modules}, so that the next call builds it again"


# Each build has its own directory, whose files never change.  So the following results are cached.


@functools.cache
def _modinfo(tree: Path) -> dict[str, list[tuple[str, str]]]:
    """The fields that modinfo shows for each module, built-in ones included."""
    builtin = [Path(line).stem for line in (tree / "modules.builtin").read_text().split()]
    there = ["-b", str(tree.parents[2]), "-k", tree.name]
    found = {}
    for first, asked in (("name", [*there, *builtin]), ("filename", [*tree.rglob("*.ko")])):
        command = ["modinfo", *map(str, asked)]
        said = output_of(command, _again(tree.parents[2])) if asked else ""
        for record in re.split(rf"^(?={first}:)", said, flags=re.M)[1:]:
            fields = re.findall(r"^(\w+): +(.*)$", record, re.M)
            found[dict(fields)["name"]] = fields
    return found


@functools.cache
def _names(tree: Path) -> frozenset[str]:
    return frozenset(value for fields in _modinfo(tree).values()
                     for name, value in fields if name in ("name", "alias"))  # fmt: skip


@functools.cache
def _parameters(tree: Path) -> dict[str, set[str]]:
    return {module: {text.partition(":")[0] for name, text in fields if name.startswith("par")}
            for module, fields in _modinfo(tree).items()}  # fmt: skip


@functools.cache
def _congestion_controls(tree: Path) -> frozenset[str]:
    """By the names with which the kernel asks for their modules, tcp_ and that of the sender."""
    others = {"tcp_diag", "tcp_feedback", "tcp_acp_host"}  # acp is an alias of the last one
    return frozenset(m[4:] for m in _names(tree) - others
                     if m.startswith("tcp_") and not m.endswith("_test"))  # fmt: skip


@functools.cache
def _digest(modules: Path, release: str, module: str) -> str:
    where = ["-d", str(modules), "-S", release]
    paths = output_of(["modprobe", "--show-depends", *where, module], _again(modules))
    needed = re.findall(r"^insmod (.+\.ko)", paths, re.MULTILINE)
    return digest_of(*(file_digest(Path(path)) for path in needed))


@functools.cache
def _programs() -> dict[str, str]:
    own = [kernels.shim(), kernels.agent(), kernels.GUEST / "init", *kernels.tc_plugins()]
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    there = {name: shutil.which(name, path=path) for name in TOOLS}
    files = {p.name: p for p in own} | {name: Path(p) for name, p in there.items() if p}
    return {name: digest_of(file_digest(p)) for name, p in sorted(files.items())}


@functools.cache
def _newer_tc() -> dict[str, str]:
    return {"tc": file_digest(iproute.program(iproute.current_tc()))}


class Laboratory:
    """A lab kernel with this project's modules and those of the user."""

    def __init__(
        self, version: str = kernels.DEFAULT_VERSION, variant: str = "",
        modules: tuple[Path, ...] = (), tree: Path | None = None,
    ) -> None:  # fmt: skip
        """modules: folders or files of the user's modules, see others.py; tree: the user's kernel
        source, in place of version."""
        which = ["--kernel-tree", str(tree)] if tree else (
            ["--kernel", version] * (version != kernels.DEFAULT_VERSION))  # fmt: skip
        which += ["--variant", variant] * bool(variant)
        which += [word for path in modules for word in ("--module", str(path))]
        self.options = tuple(which)  # by which a command of the lab uses the same kernel
        self.kernel = kernels.ensure(version, variant, tree=tree)
        self.modules = kernels.build_modules(self.kernel, strict=not tree)
        self.others = Others()
        sweep()
        # build them before guests start in parallel
        kernels.shim(), kernels.agent(), kernels.tc_plugins()
        if modules:
            self.modules, self.others = with_modules(self.kernel, self.modules, modules)
        self._tree = self.modules / "lib" / "modules" / self.kernel.release

    def parameters(self) -> dict[str, set[str]]:
        """The parameters of each module, built-in ones included."""
        return _parameters(self._tree)

    def modules_known(self) -> frozenset[str]:
        """All names that modprobe accepts here."""
        return _names(self._tree)

    def digest(self, module: str) -> str:
        """The digest of a module and of the modules that it needs, without built-in ones."""
        return _digest(self.modules, self.kernel.release, module)

    def programs(self, newer_tc: bool = False) -> dict[str, str]:
        """The digest of each program that a guest runs: those of this project and of the host.

        newer_tc: tc is Debian's newest, in place of the host's.
        """
        return _programs() | (_newer_tc() if newer_tc else {})

    def ccs(self) -> list[str]:
        """The congestion controls that a flow can use here."""
        own = {m.removeprefix("tcp_") for m in (*self.others.ccs.values(), *self.others.rest)}
        return sorted(_congestion_controls(self._tree) - own | {"reno", *self.others.ccs})

    def check(self, settings: Settings, cc: str) -> None:
        """Raises LabError if the settings need something that this kernel or its modules lack."""
        for name in dict.fromkeys(settings.every_cc(cc)):
            if name not in self.ccs():
                raise LabError(
                    f"no congestion control {name!r}; there are: {', '.join(self.ccs())}", status=2
                )
        known = self.parameters()
        for module, name, _ in settings.param:
            if module not in known:
                mine = sorted(m for m in known if m.startswith(("tcp_", "sch_")))
                raise LabError(f"no module {module!r}; there are: {', '.join(mine)}", status=2)
            if name not in known[module]:
                there = ", ".join(sorted(known[module])) or "none"
                raise LabError(f"{module} has no parameter {name!r}; it has: {there}", status=2)
        if missing := self.missing_qdisc(settings):
            raise LabError(missing, status=2)
        if settings.qdisc in NEWER:
            iproute.current_tc()  # LabError if it cannot be downloaded

    def missing_qdisc(self, settings: Settings) -> str:
        """The error message if the qdisc is not available; else empty."""
        name = "sch_red" if settings.qdisc == "warn" else f"sch_{settings.qdisc}"
        if settings.qdisc == "fifo" or name in self.modules_known():
            return ""
        if settings.qdisc in SHAPING:
            return f"qdisc={settings.qdisc} needs {name}, which is not built"
        if since := NEWER.get(settings.qdisc):
            return (
                f"{settings.qdisc} needs Linux {since} or later; the lab kernel is"
                f" {self.kernel.release}: use --kernel 7.2, or another qdisc"
            )
        return (
            f"qdisc={settings.qdisc} needs {name}, which the lab kernel {self.kernel.release} does"
            " not have: use another qdisc, or a kernel (--kernel) that has it, with"
            f" CONFIG_NET_{name.upper()} in world/lab.config"
        )


_TRAFFIC_JOB = """cd /run/lab
sh ./setup.sh >setup.log 2>&1 || exit 3
{around} ./agent traffic plan . >captured 2>agent.log || exit 4
"""


@contextlib.contextmanager
def traffic(
    kernel: kernels.LabKernel,
    modules: Path | None,
    plan: Plan,
    seed: int,
    progress: Callable[[float, Path], None] = lambda virtual_s, run: None,
) -> Iterator[Path]:
    """Executes a plan; yields the directory with summary.json, flows.csv and links.csv.

    progress is called with the virtual seconds so far, and the directory with the partial
    links.csv.
    """
    with Guest(kernel, seed, plan.memory) as guest:
        guest.put("setup.sh", plan.setup)
        guest.put("plan", plan.traffic)
        if plan.newer_tc:
            (guest.dir / NEWER_TC).mkdir()
            (guest.dir / NEWER_TC / "tc").symlink_to(iproute.current_tc())
        for name, content in plan.files.items():
            guest.put(name, content)
        guest.boot(_TRAFFIC_JOB.format(around=plan.around), modules)
        last, since = "", time.monotonic()

        def poll() -> None:
            nonlocal last, since
            text = guest.text("progress").strip()
            if text != last:
                last, since = text, time.monotonic()
                with contextlib.suppress(ValueError):
                    progress(float(text), guest.dir)
            elif time.monotonic() - since > STALL_S:
                raise LabError(
                    f"the run hangs: virtual time stopped at {last or 0} s, {STALL_S} s ago",
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
            # A failed batch of ip or tc prints an error, and at the end the line that failed.
            said = guest.text(name).strip().splitlines() or ["no message"]
            # Between the two, tc may print the usage of a qdisc.
            usage = next((k for k, line in enumerate(said) if line.startswith("Usage:")), -1)
            said = [*said[:usage][-1:], said[-1]]
            raise LabError(f"{what} failed: {'; '.join(said)}", log=guest.console())
        yield guest.dir


def execute(
    laboratory: Laboratory, command: list[str], seed: int = 1, timeout: float | None = None
) -> int:
    """Runs a command as root in a guest, and copies its output; returns its exit status.

    timeout: wall seconds; None: no limit.
    """
    with Guest(laboratory.kernel, seed) as guest:
        load = "".join(f"modprobe {name} || exit 1\n" for name in laboratory.others.all)
        guest.boot(_here(guest) + load
                   + f"exec /run/lab/agent exec /run/lab {shlex.join(command)}\n",
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
                raise LabError(f"stopped at the timeout of {timeout:g} s", log=guest.console())

        guest.wait(poll)
        status = guest.status()
        if not (guest.dir / "ready").exists():
            raise LabError("the guest could not be set up", log=guest.console())
        return status


def shell(laboratory: Laboratory) -> int:
    """Runs a shell as root in a guest, on the caller's terminal, in real time."""
    terminal = termios.tcgetattr(0)
    columns, lines = os.get_terminal_size(0)
    print(
        f"Linux {laboratory.kernel.release}, in real time (lab exec has virtual time). You are root"
        f" in this guest only, and of the host's files you can write only {Path.cwd()}.\n"
        "modprobe loads this project's modules. Leave with Ctrl-D.",
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
    """The first lines of a job: mounts the caller's directory writable, and changes to it."""
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
    """Copies a file while it grows."""

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
