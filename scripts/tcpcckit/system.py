# SPDX-License-Identifier: GPL-2.0
"""Data from this machine: from ss, ip, tc, nstat, ethtool, /proc and /sys.

Functions named parse_... take the output of a tool, so that tests can use recorded outputs.
Rates are in bits per second, times in seconds, windows in segments, sizes in bytes.
"""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

# This project's modules (Kbuild has the same list).
MODULES = (
    "tcp_ccpd", "tcp_ccpd_path", "tcp_acp_host", "tcp_estcp", "tcp_mccp", "tcp_mccp_path",
    "tcp_feedback", "sch_tcpcc", "tcpcc_view",
    "tcp_nist_reno", "tcp_nist_bic", "tcp_nist_ctcp", "tcp_nist_fast", "tcp_nist_hstcp",
    "tcp_nist_htcp", "tcp_nist_scalable",
    "tcp_jtcp", "tcp_newjersey", "tcp_rcp", "tcp_xcp",
)  # fmt: skip

_PACKAGES = {"ss": "iproute2", "ip": "iproute2", "tc": "iproute2", "nstat": "iproute2",
             "ethtool": "ethtool", "nsenter": "util-linux"}  # fmt: skip

IPV4 = Path("/proc/sys/net/ipv4")


class TcpccError(Exception):
    """An error for the user; the message is one line that also says what to do.

    status: the exit status, 1 for a failure, 2 for bad usage.
    """

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def ask(*command: str, netns: str | None = None) -> str:
    """The output of a tool, in this network namespace or in that of the path netns (needs root).

    TcpccError with the tool's last line if the tool fails; also if it is not installed.
    """
    line = [*(["nsenter", f"--net={netns}"] if netns else []), *command]
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/bin:/bin"
    for program in (line[0], command[0]):
        if not shutil.which(program, path=path):
            package = _PACKAGES.get(program, program)
            raise TcpccError(f"{program} is missing: install the package {package}")
    env = {**os.environ, "PATH": path, "LC_ALL": "C"}
    done = subprocess.run(line, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise TcpccError(f"{' '.join(command)}: {said[-1]}")
    return done.stdout


def read(path: Path | str) -> str:
    """The text of a file, stripped; empty if it does not exist or is not readable."""
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def sysctl(name: str, netns: str | None = None) -> str:
    """A sysctl below net.ipv4; empty if this kernel does not have it."""
    if netns:
        return ask("cat", str(IPV4 / name), netns=netns).strip()
    return read(IPV4 / name)


# The kernel and its modules ---------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """The running kernel: what it can load, and what may prevent loading."""

    release: str
    loads_modules: bool
    installed: dict[str, str] = field(default_factory=dict)  # module or alias: module
    loaded: dict[str, int] = field(default_factory=dict)  # module: reference count
    secure_boot: bool | None = None  # None: not available
    lockdown: str = "none"
    headers: bool = False  # whether headers for building modules are installed
    available: tuple[str, ...] = ()  # congestion controls, loaded or built in
    allowed: tuple[str, ...] = ()  # those that every process may choose
    default: str = ""

    def provides(self, cc: str) -> bool:
        """Whether a flow can use a congestion control here."""
        return cc in self.available or (self.loads_modules and f"tcp_{cc}" in self.installed)

    @property
    def ours(self) -> list[str]:
        """This project's modules that are installed for this kernel."""
        return [name for name in MODULES if name in self.installed]


def parse_modules(dep: str, alias: str) -> dict[str, str]:
    """Parses modules.dep and modules.alias: each name that modprobe accepts, and its module."""
    paths = [line.partition(":")[0] for line in dep.splitlines()]
    names = [Path(path).name.partition(".ko")[0].replace("-", "_") for path in paths if path]
    found = {name: name for name in names}
    for line in alias.splitlines():
        if match := re.fullmatch(r"alias (\w+) (\w+)", line):
            found.setdefault(match[1], match[2])
    return found


def kernel() -> Kernel:
    """The running kernel."""
    release = os.uname().release
    tree = Path("/lib/modules") / release
    loaded = {}
    for name in MODULES:
        where = Path("/sys/module") / name
        if (where / "initstate").exists():
            loaded[name] = int(read(where / "refcnt") or 0)
    efi = Path("/sys/firmware/efi/efivars")
    secure = None
    if efi.is_dir():
        # the file has four bytes of attributes, then the value
        variables = sorted(efi.glob("SecureBoot-*"))
        try:
            secure = bool(variables) and variables[0].read_bytes()[-1:] == b"\1"
        except OSError:
            secure = None
    lockdown = re.search(r"\[(\w+)\]", read("/sys/kernel/security/lockdown"))
    return Kernel(
        release, Path("/proc/modules").exists(),
        parse_modules(read(tree / "modules.dep"), read(tree / "modules.alias")), loaded, secure,
        lockdown[1] if lockdown else "none", (tree / "build/Makefile").exists(),
        tuple(sysctl("tcp_available_congestion_control").split()),
        tuple(sysctl("tcp_allowed_congestion_control").split()),
        sysctl("tcp_congestion_control"),
    )  # fmt: skip


# Namespaces -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Namespace:
    """A network namespace; path is None for that of the caller."""

    name: str
    path: str | None = None


def is_root() -> bool:
    return os.geteuid() == 0


def namespaces() -> list[Namespace]:
    """The namespace of the caller; for root also those with names, and other ones of processes."""
    found = [Namespace("this")]
    if not is_root():
        return found
    seen = {Path("/proc/self/ns/net").stat().st_ino}
    for path in sorted(Path("/run/netns").glob("*")):
        inode = path.stat().st_ino
        if inode not in seen:
            seen.add(inode)
            found.append(Namespace(path.name, str(path)))
    for path in sorted(Path("/proc").glob("[0-9]*"), key=lambda p: int(p.name)):
        try:
            inode = (path / "ns/net").stat().st_ino
        except OSError:  # it has ended
            continue
        if inode not in seen:
            seen.add(inode)
            found.append(Namespace(f"{read(path / 'comm')} ({path.name})", str(path / "ns/net")))
    return found


# Sockets ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flow:
    """A TCP connection as ss -tinm shows it, with the fields of /proc/net/tcpcc."""

    local: str  # address:port, as ss prints it
    peer: str
    state: str
    cc: str
    cwnd_segs: int = 0
    mss_bytes: int = 0
    pmtu_bytes: int = 0
    rtt_s: float = 0.0
    rtt_min_s: float = 0.0
    delivery_bps: float = 0.0
    pacing_bps: float = 0.0
    capacity_bps: float = 0.0  # the congestion control's estimate; 0: none
    busy_s: float = 0.0
    rwnd_limited_s: float = 0.0
    sndbuf_limited_s: float = 0.0
    app_limited: bool = False
    ecn: bool = False
    window_scaling: bool = True
    sent_bytes: int = 0
    received_bytes: int = 0
    retransmitted_segs: int = 0
    sent_segs: int = 0
    unacked_segs: int = 0
    sndbuf_bytes: int = 0  # limit of the send buffer, including overhead
    queued_bytes: int = 0  # bytes in the send buffer
    view: dict[str, Any] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """The peer's address without port, brackets and scope."""
        return address_of(self.peer)

    @property
    def rate_bps(self) -> float:
        """The best estimate of the path's capacity, bit/s."""
        return self.capacity_bps or self.delivery_bps

    @property
    def bdp_bytes(self) -> float:
        """The bandwidth-delay product, bytes: the content of the path without a queue."""
        return self.rate_bps * self.rtt_min_s / 8

    @property
    def queue_segs(self) -> float:
        """The segments in the path's queue, from the rtt minus its minimum."""
        if not self.mss_bytes:
            return 0.0
        return max(0.0, self.rtt_s - self.rtt_min_s) * self.delivery_bps / 8 / self.mss_bytes

    @property
    def retransmitted_share(self) -> float:
        return self.retransmitted_segs / self.sent_segs if self.sent_segs else 0.0


def address_of(end: str) -> str:
    """The address of address:port: 192.0.2.1 for 192.0.2.1:80 and for [::ffff:192.0.2.1]:80,
    2001:db8::1 for [2001:db8::1]:80."""
    host = end.rpartition(":")[0].strip("[]").partition("%")[0].rstrip("]")
    return host.removeprefix("::ffff:")


# Words of ss -i without a value before the name of the congestion control
_FLAGS = {"ts", "usec_ts", "sack", "ecn", "ecnseen", "fastopen", "fastopen_child"}
_TWO_WORDS = {"send", "pacing_rate", "delivery_rate", "max_pacing_rate"}


def parse_sockets(text: str) -> list[Flow]:
    """Parses the output of ss -tinmHO, which has a connection in each line."""
    return [flow for line in text.splitlines() if (flow := _flow(line.split()))]


def _flow(words: list[str]) -> Flow | None:
    if len(words) < 6 or not words[1].isdecimal():
        return None
    state, local, peer = words[0], words[3], words[4]
    values: dict[str, str] = {}
    flags: list[str] = []
    cc = ""  # ss prints it after the memory and the flags of the connection, before other values
    rest = iter(words[5:])
    for word in rest:
        name, colon, value = word.partition(":")
        if word in _TWO_WORDS:
            values[word] = next(rest, "")
        elif colon:
            cc = cc or (flags[-1] if flags else "")
            values[name] = value
        else:
            flags.append(word)
    if not cc or cc in _FLAGS:
        return None

    def number(name: str, default: float = 0.0) -> float:
        found = re.match(r"[\d.]+", values.get(name, ""))
        return float(found[0]) if found else default

    rtt = number("rtt") / 1e3
    inside = dict(re.findall(r"(\w+):([\d.]+)", values.get("bbr", "")))
    retrans = re.search(r"/(\d+)", values.get("retrans", ""))
    memory = dict(re.findall(r"([a-z]+)(\d+)", values.get("skmem", "")))
    return Flow(
        local, peer, state, cc, int(number("cwnd")), int(number("mss")),
        int(number("pmtu")), rtt, number("minrtt") / 1e3, number("delivery_rate"),
        number("pacing_rate"), float(inside.get("bw", 0)), number("busy") / 1e3,
        number("rwnd_limited") / 1e3, number("sndbuf_limited") / 1e3, "app_limited" in flags,
        "ecn" in flags, "wscale" in values, int(number("bytes_sent")),
        int(number("bytes_received")), int(retrans[1]) if retrans else 0,
        int(number("data_segs_out")), int(number("unacked")), int(memory.get("tb", 0)),
        int(memory.get("w", 0)),
    )  # fmt: skip


def parse_view(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Parses /proc/net/tcpcc: the fields by local and peer address; numbers as int."""
    found = {}
    for line in text.splitlines():
        local, peer, *fields = line.split()
        pairs = (one.partition("=")[::2] for one in fields)
        found[local, peer] = {k: int(v) if v.isdecimal() else v for k, v in pairs}
    return found


def flows(netns: str | None = None) -> list[Flow]:
    """The connections of a namespace, with the fields of this project's congestion controls."""
    try:
        shown = ask("cat", "/proc/net/tcpcc", netns=netns) if netns else read("/proc/net/tcpcc")
    except TcpccError:
        shown = ""
    views = parse_view(shown)
    found = []
    for flow in parse_sockets(ask("ss", "-tinmHO", netns=netns)):
        # the name of a device may have any characters but these, blanks and slashes
        ends = (re.sub(r"%[^\]:]+", "", end) for end in (flow.local, flow.peer))
        view = views.get(tuple(ends), {})
        capacity = view.get("capacity_bps") or flow.capacity_bps
        found.append(replace(flow, view=view, capacity_bps=float(capacity)))
    return found


# Routes and devices -----------------------------------------------------------------------------


def metrics(route: dict[str, Any]) -> dict[str, Any]:
    """The metrics of a route of ip -j, such as mtu and congestion, in one dictionary."""
    found: dict[str, Any] = {}
    for part in route.get("metrics", []):
        found |= part
    return found


def routes(netns: str | None = None) -> list[dict[str, Any]]:
    """All routes of both families, as ip -j prints them."""
    return json.loads(ask("ip", "-j", "route", "show", "table", "all", netns=netns) or "[]")


def route_to(address: str, exact: bool = False) -> dict[str, Any]:
    """The route of packets to an address; exact: the entry in the routing table."""
    how = ["fibmatch"] * exact
    try:
        found = json.loads(ask("ip", "-j", "route", "get", *how, address) or "[]")
    except TcpccError as error:
        raise TcpccError(f"no route to {address}: {str(error).rpartition(': ')[2]}") from None
    if not found:
        raise TcpccError(f"no route to {address}")
    return found[0]


def qdiscs(netns: str | None = None) -> list[dict[str, Any]]:
    """All qdiscs with their counters, as tc -j prints them."""
    return json.loads(ask("tc", "-j", "-s", "qdisc", "show", netns=netns) or "[]")


def parse_features(text: str) -> dict[str, bool]:
    """Parses the output of ethtool -k: whether each feature is on."""
    return {name: value == "on"
            for name, value in re.findall(r"^\s*([\w-]+): (on|off)\b", text, re.M)}  # fmt: skip


def counters() -> dict[str, int]:
    """The kernel's counters since boot, by nstat's names; does not change nstat's history."""
    return json.loads(ask("nstat", "-asz", "-j"))["kernel"]
