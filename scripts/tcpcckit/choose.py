# SPDX-License-Identifier: GPL-2.0
"""Selects a congestion control: temporarily for one destination (try), or permanently (set).

A try is a host route, copied from the existing route to the host, with congctl.  Its routes are
first written to a file below /run.  The file is locked while the try runs.  If another process can
lock the file, the try was killed: the next call removes its routes.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, NoReturn

from . import bpf, system
from .system import Kernel, TcpccError

RUN = Path("/run/tcpcc")
SYSCTL_FILE = Path("/etc/sysctl.d/90-tcpcc.conf")
LOAD_FILE = Path("/etc/modules-load.d/tcpcc.conf")
# The directory in which systemctl enable registers BPF senders for the next boot
UNITS = Path("/etc/systemd/system/sysinit.target.wants")
KEY = "net.ipv4.tcp_congestion_control"

GRACE_S = 5  # between SIGTERM and SIGKILL for the command of a try

# The protocol of our routes; no routing daemon in /etc/iproute2/rt_protos has this number.
PROTOCOL = "242"

# Words in a route as ip prints it that describe the entry and not the path, each with a value,
_NOT_COPIED = {"proto", "metric", "scope", "table", "pref", "error", "expires", "nhid", "congctl",
               "tos"}  # fmt: skip
# and words that describe the device's state.
_STATES = {"linkdown", "dead", "offload", "trap", "rt_trap", "pervasive", "offload_failed"}
_TYPES = {"local", "broadcast", "multicast", "anycast", "blackhole", "unreachable", "prohibit",
          "throw"}  # fmt: skip


# Congestion controls of a kernel ----------------------------------------------------------------


def how_to_get(kernel: Kernel, cc: str) -> str:
    """A message that says why a congestion control is not available, and what to do."""
    if f"tcp_{cc}" not in {*system.MODULES, "tcp_ccp", "tcp_acp"}:
        names = {*kernel.available, *(n[4:] for n in kernel.installed if n.startswith("tcp_"))}
        there = ", ".join(sorted(names - {"diag", "feedback", "acp_host"}))
        return f"kernel {kernel.release} has no congestion control {cc!r}; there are: {there}"
    if not kernel.loads_modules:
        return (f"kernel {kernel.release} cannot load modules, such as {cc}: boot the"
                " distribution's kernel")  # fmt: skip
    build = "sudo dkms autoinstall"
    if not kernel.headers:
        build = f"sudo apt-get install linux-headers-{kernel.release} && {build}"
    return f"{cc} is not built for kernel {kernel.release}: {build} (or make && make install)"


def load(kernel: Kernel, cc: str) -> None:
    """Loads a congestion control into the kernel.  TcpccError says what to do if that fails."""
    if cc in kernel.available:
        return
    if not kernel.provides(cc):
        raise TcpccError(how_to_get(kernel, cc))
    try:
        system.ask("modprobe", f"tcp_{cc}")
    except TcpccError as error:
        if "Key was rejected" in str(error) or kernel.secure_boot or kernel.lockdown != "none":
            raise TcpccError(
                f"the kernel loads only modules signed with an enrolled key: {SIGNING}"
            ) from None
        raise


SIGNING = "sudo mokutil --import /var/lib/dkms/mok.pub, reboot, and confirm the key at boot"


def need_root(verb: str) -> None:
    if not system.is_root():
        raise TcpccError(f"this needs root: sudo tcpcc {verb}")


# Temporary --------------------------------------------------------------------------------------


@dataclass
class Try:
    """Temporary routes to a host."""

    cc: str
    host: str
    until: float  # seconds since the epoch
    netns: int  # the inode of the namespace
    routes: list[list[str]] = field(default_factory=list)  # arguments of ip route add
    path: str = ""

    def remove(self) -> None:
        """Removes the routes; ignores routes that were removed already."""
        for route in self.routes:
            with contextlib.suppress(TcpccError):
                system.ask("ip", route[0], "route", "del", *route[1:])


def addresses(host: str) -> list[str]:
    """All addresses of a name; for an address, the address."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        raise TcpccError(f"cannot resolve {host!r}: give a host name or an address") from None
    return list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))


def host_route(address: str, shown: str, cc: str) -> list[str]:
    """The arguments of ip route add for an address; shown: output of ip -o route get fibmatch."""
    words = shown.replace("\\", " ").split()
    if not words or words[0] in _TYPES:
        raise TcpccError(f"{address} is this machine, or has no route")
    kept: list[str] = []
    paths: list[str] = []  # nexthops come last
    rest = iter(words[1:])
    into = kept
    for word in rest:
        if word in _NOT_COPIED:
            if next(rest, "") == "lock":
                next(rest, "")
        elif word == "nexthop":
            into = paths
            into.append(word)
        elif word not in _STATES:
            into.append(word)
    family, bits = ("-6", 128) if ":" in address else ("-4", 32)
    own = ["metric", "1"] if family == "-6" else []  # without it the kernel uses 1024
    return [family, f"{address}/{bits}", *kept, *own, "proto", PROTOCOL, "congctl", cc, *paths]


def _planned(host: str, cc: str) -> list[list[str]]:
    """The routes of a try; skips an address without a route if another address has one."""
    planned, wrong = [], ""
    for address in addresses(host):
        family = "-6" if ":" in address else "-4"
        try:
            shown = system.ask("ip", "-o", family, "route", "get", "fibmatch", address)
            planned.append(host_route(address, shown, cc))
        except TcpccError as error:
            wrong = wrong or str(error)
    if not planned:
        raise TcpccError(f"no route to {host}: {wrong}")
    return planned


def _netns() -> int:
    return Path("/proc/self/ns/net").stat().st_ino


@contextlib.contextmanager
def trying(host: str, cc: str, seconds: float) -> Iterator[Try]:
    """Context of a try: adds its routes, and removes them at the end.  TcpccError if that fails."""
    made = Try(cc, host, time.time() + seconds, _netns(), _planned(host, cc))
    RUN.mkdir(mode=0o755, exist_ok=True)
    descriptor, name = tempfile.mkstemp(".json", "try-", RUN)
    made.path = name
    with os.fdopen(descriptor, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        planned, made.routes = made.routes, []
        try:
            for route in planned:
                made.routes.append(route)
                _write(file, made)
                try:
                    system.ask("ip", route[0], "route", "add", *route[1:])
                except TcpccError as error:
                    made.routes.pop()
                    why = "another try, or your own route, already has this address" \
                        if "File exists" in str(error) else str(error)  # fmt: skip
                    raise TcpccError(f"cannot choose {cc} for {host}: {why}") from None
                _check(route, cc)
            yield made
        finally:
            made.remove()
            Path(name).unlink(missing_ok=True)


def _write(file: IO[str], made: Try) -> None:
    file.seek(0)
    file.truncate()
    json.dump(asdict(made), file)
    file.flush()
    os.fchmod(file.fileno(), 0o644)


def _check(route: list[str], cc: str) -> None:
    """TcpccError if packets do not use our route, because a rule or another table has priority."""
    address = route[1].partition("/")[0]
    if system.metrics(system.route_to(address)).get("congestion") != cc:
        raise TcpccError(f"packets to {address} do not use the main table's route: see ip rule,"
                         " and use the socket option TCP_CONGESTION instead")  # fmt: skip


def tries() -> list[tuple[Try, bool]]:
    """The tries on this machine, and whether each still runs.

    This needs no root, because every user can read and lock their files.  If a file can be locked,
    its try was killed.
    """
    found = []
    for path in sorted(RUN.glob("try-*.json")):
        try:
            with path.open() as file:
                made = Try(**json.load(file))
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    alive = False
                except BlockingIOError:
                    alive = True
        except (OSError, ValueError, TypeError):
            continue
        made.path = str(path)
        found.append((made, alive))
    return found


def sweep() -> list[Try]:
    """As root, removes the routes of killed tries of this namespace; returns these tries."""
    if not system.is_root():
        return []
    gone = [made for made, alive in tries() if not alive and made.netns == _netns()]
    for made in gone:
        made.remove()
        Path(made.path).unlink(missing_ok=True)
    return gone


class _Ended(Exception):
    """A signal ends the try."""


def _end(*_: object) -> NoReturn:
    raise _Ended


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Ends a command, also one that ignores SIGTERM: the routes stay until it has ended."""
    child.terminate()
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def try_(host: str, cc: str, seconds: float, command: list[str], say: Any) -> int:
    """tcpcc try: runs until the time is over, the command ends, or a signal arrives.

    say(text, data) shows a message to the user.  Returns the exit status of the command.
    """
    need_root(f"try {host}")
    if command and not shutil.which(command[0]):
        raise TcpccError(f"no program {command[0]!r}", status=2)
    load(system.kernel(), cc)
    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for one in ends:
        signal.signal(one, _end)
    status, child = 0, None
    try:
        with trying(host, cc, seconds) as made:
            try:
                shown = ", ".join(route[1].partition("/")[0] for route in made.routes)
                until = "the command ends" if command else "Ctrl-C"
                say(f"new connections to {shown} use {cc} until {until}, or for {seconds:g} s",
                    {"event": "begins", "cc": cc, "host": host, "seconds": seconds,
                     "routes": [" ".join(["ip", r[0], "route", "add", *r[1:]])
                                for r in made.routes]})  # fmt: skip
                if command:
                    child = subprocess.Popen(command)
                    status = child.wait(timeout=seconds)
                else:
                    time.sleep(seconds)
            except _Ended:
                status = 0 if not command else 130
            except subprocess.TimeoutExpired:
                status = 124
            finally:
                for one in ends:
                    signal.signal(one, signal.SIG_IGN)
                if child and child.poll() is None:
                    _stop(child)
    except _Ended:  # a signal while the routes were added
        status = 130
    say("undone: new connections use the previous congestion control", {"event": "undone"})
    return status


# Permanent --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """The effects of set or unset."""

    files: list[str]
    before: str
    now: str
    notes: list[str]


def overriding(directories: tuple[str, ...] = ("/etc/sysctl.d", "/run/sysctl.d",
                                               "/usr/local/lib/sysctl.d",
                                               "/usr/lib/sysctl.d")) -> list[str]:  # fmt: skip
    """The files that set the default, too, and that sysctl reads after ours."""
    first: dict[str, Path] = {}
    for directory in directories:
        for path in Path(directory).glob("*.conf"):
            first.setdefault(path.name, path)
    later = [path for name, path in sorted(first.items()) if name > SYSCTL_FILE.name]
    return [str(path) for path in [*later, Path("/etc/sysctl.conf")]
            if re.search(rf"^\s*-?{KEY.replace('.', '[./]')}\s*=", system.read(path), re.M)]


def persistent() -> str:
    """The congestion control in our file; empty without a file."""
    found = re.search(rf"^{re.escape(KEY)} = (\w+)", system.read(SYSCTL_FILE), re.M)
    return found[1] if found else ""


def set_(cc: str) -> Change:
    """tcpcc set: sets the system's default, now and after each boot."""
    need_root(f"set {cc}")
    kernel = system.kernel()
    load(kernel, cc)
    before = kernel.default
    _apply(cc)
    # if set is called twice, keep the default from before the first call
    kept = re.search(r"^# before: (\w+)", system.read(SYSCTL_FILE), re.M)
    first = kept[1] if kept else before
    _replace(SYSCTL_FILE, "# Written by tcpcc set; tcpcc unset removes it.\n"
             f"# before: {first}\n{KEY} = {cc}\n")  # fmt: skip
    files = [str(SYSCTL_FILE)]
    if f"tcp_{cc}" in kernel.installed:
        _replace(LOAD_FILE, "# Written by tcpcc set; tcpcc unset removes it.\n"
                 f"tcp_{cc}\n")  # fmt: skip
        files.append(str(LOAD_FILE))
    else:
        LOAD_FILE.unlink(missing_ok=True)
    notes = [f"{path} is read later and also sets {KEY}: remove that line"
             for path in overriding()]
    unit = f"tcpcc-bpf@{bpf.sender_of(cc)}.service"
    if bpf.sender_of(cc) and not (UNITS / unit).is_symlink():
        notes.append(f"at boot {cc} is not loaded: sudo systemctl enable {unit}")
    return Change(files, before, cc, notes)


def unset() -> Change:
    """tcpcc unset: removes both files, and restores the default from before set."""
    need_root("unset")
    kept = re.search(r"^# before: (\w+)", system.read(SYSCTL_FILE), re.M)
    kernel = system.kernel()
    files = [path for path in (SYSCTL_FILE, LOAD_FILE) if path.exists()]
    if not files:
        raise TcpccError("nothing to undo: the files of tcpcc set do not exist")
    for path in files:
        path.unlink()
    now = kept[1] if kept and kernel.provides(kept[1]) else kernel.default
    _apply(now)
    return Change([str(path) for path in files], kernel.default, now, [])


def _apply(cc: str) -> None:
    """Writes the sysctl of this namespace."""
    try:
        (system.IPV4 / "tcp_congestion_control").write_text(cc)
    except OSError as error:
        raise TcpccError(f"cannot set {KEY} to {cc}: {error.strerror} (a network namespace"
                         " accepts only what every process may choose)") from None  # fmt: skip


def _replace(path: Path, text: str) -> None:
    """Writes a file atomically."""
    path.parent.mkdir(exist_ok=True)
    part = path.with_name(f"{path.name}.new")
    part.write_text(text)
    part.replace(path)
