# SPDX-License-Identifier: GPL-2.0
"""tcpcc doctor: finds what limits TCP now, here or to one host, and the command that mends it.

look() collects data from the machine.  findings() evaluates the data, without access to the
machine.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import choose, system
from .system import Flow, Kernel, TcpccError
from .units import rate, size

# Something is a limit if it limits a flow for this share of the time with data to send.
LIMITED = 0.1
FULL = 0.9  # share of a buffer from which on it counts as full
# If at least LOST of the segments are lost, and the rtt is less than NEAR times the minimum, the
# losses are not caused by a queue.
LOST, NEAR = 0.01, 1.25
# A flow with fewer segments is not evaluated.
ENOUGH_SEGS = 1000

SHAPERS = {"tbf", "htb", "hfsc", "cake", "netem", "acp", "estcp", "rcp", "xcp"}
_SYSCTLS = ("tcp_rmem", "tcp_wmem", "tcp_mem", "tcp_window_scaling", "tcp_sack", "tcp_timestamps",
            "tcp_ecn", "tcp_moderate_rcvbuf", "tcp_mtu_probing",
            "tcp_slow_start_after_idle")  # fmt: skip

# Without a flow to measure, the rate that buffers allow is shown for this round trip.
USUAL_RTT_S = 0.1


@dataclass(frozen=True)
class Finding:
    """The result of a check: state is ok, note or limits; mend is a command, or empty."""

    check: str
    state: str
    says: str
    mend: str = ""


@dataclass(frozen=True)
class Evidence:
    """The data from the machine."""

    kernel: Kernel
    sysctls: dict[str, str]
    counters: dict[str, int]
    host: str = ""
    flows: tuple[Flow, ...] = ()  # to the host; all flows if host is empty
    route: dict[str, Any] = field(default_factory=dict)
    device: str = ""
    mtu: int = 0
    features: dict[str, bool] | None = None  # None: ethtool is not installed
    qdiscs: tuple[dict[str, Any], ...] = ()  # of the device
    policers: tuple[str, ...] = ()  # of the device: ingress, egress
    overriding: tuple[str, ...] = ()  # files that sysctl reads after the file of tcpcc set
    view: bool = True  # /proc/net/tcpcc exists

    @property
    def senders(self) -> list[Flow]:
        """The flows that have sent enough for an evaluation, the largest first."""
        found = [flow for flow in self.flows if flow.sent_bytes > flow.received_bytes]
        found = [f for f in found if f.sent_segs >= ENOUGH_SEGS and f.rtt_min_s]
        return sorted(found, key=lambda flow: -flow.sent_bytes)


def look(host: str = "") -> Evidence:
    """Collects data from this machine; sends nothing, and changes nothing."""
    kernel = system.kernel()
    sysctls = {name: system.sysctl(name) for name in _SYSCTLS}
    flows = system.flows()
    here = Evidence(
        kernel, sysctls, system.counters(), flows=tuple(flows),
        overriding=tuple(choose.overriding()) if choose.persistent() else (),
        view=Path("/proc/net/tcpcc").exists(),
    )  # fmt: skip
    if not host:
        return here
    addresses = choose.addresses(host)
    route, wrong = {}, None
    for address in addresses:
        try:
            route = system.route_to(address)
            break
        except TcpccError as error:
            wrong = wrong or error
    if not route:
        raise wrong or TcpccError(f"no route to {host}")
    device = route.get("dev", "")
    link = json.loads(system.ask("ip", "-j", "link", "show", "dev", device))[0]
    try:
        features = system.parse_features(system.ask("ethtool", "-k", device))
    except TcpccError:
        features = None
    policers = []
    for where in ("ingress", "egress"):
        try:
            shown = system.ask("tc", "-j", "filter", "show", "dev", device, where)
        except TcpccError:
            continue
        if '"police"' in shown:
            policers.append(where)
    return replace(
        here, host=host, flows=tuple(flow for flow in flows if flow.host in addresses),
        route=route, device=device, mtu=link["mtu"], features=features,
        qdiscs=tuple(one for one in system.qdiscs() if one["dev"] == device),
        policers=tuple(policers),
    )  # fmt: skip


def findings(e: Evidence) -> list[Finding]:
    """The results of all checks, in a packet's order: kernel, buffers, TCP, device, path."""
    made = [*_choice(e), *_modules(e), *_buffers(e), *_protocol(e), *_memory(e)]
    if e.host:
        made += [*_route(e), *_device(e)]
    made += [*_flows(e)]
    return made


# The kernel -------------------------------------------------------------------------------------


def _choice(e: Evidence) -> Iterator[Finding]:
    if e.overriding:
        yield Finding("choice", "note", f"{e.overriding[0]} overrides the default of tcpcc set",
                      f"sudoedit {e.overriding[0]}")  # fmt: skip
    else:
        yield Finding("choice", "ok", f"{e.kernel.default} is the default")
    if e.kernel.ours and not e.view:
        yield Finding("view", "note", "tcpcc's own estimates are not available",
                      "sudo modprobe tcpcc_view")  # fmt: skip


def _modules(e: Evidence) -> Iterator[Finding]:
    k = e.kernel
    if k.ours or k.loaded:
        yield Finding("modules", "ok", f"tcpcc's modules are installed for kernel {k.release}")
    else:
        why = choose.how_to_get(k, "ccpd_path")
        mend = why.partition(": ")[2].removesuffix(" (or make && make install)")
        yield Finding("modules", "limits", why.partition(": ")[0],
                      mend if mend.startswith("sudo") else "")  # fmt: skip
    if not k.loads_modules:
        return
    strict = "Secure Boot is on" if k.secure_boot else f"the kernel is locked down ({k.lockdown})"
    if not (k.secure_boot or k.lockdown != "none"):
        yield Finding("signatures", "ok", "the kernel loads modules without a signature")
    elif k.loaded:
        yield Finding("signatures", "ok", f"{strict}, and the kernel has loaded tcpcc's modules")
    else:
        yield Finding("signatures", "note",
                      f"{strict}: modules must be signed with an enrolled key",
                      choose.SIGNING.partition(",")[0])  # fmt: skip


# Buffers ----------------------------------------------------------------------------------------


def _largest(text: str) -> int:
    words = text.split()
    return int(words[2]) if len(words) == 3 else 0


def _buffers(e: Evidence) -> Iterator[Finding]:
    """Checks the buffers; half of a buffer counts as window, because it also holds overhead."""
    flow = max(e.senders, key=lambda f: f.bdp_bytes, default=None)
    for name, what in (("tcp_wmem", "sending"), ("tcp_rmem", "receiving")):
        most = _largest(e.sysctls.get(name, ""))
        if not most:
            continue
        if flow is None:
            carries = rate(most / 2 * 8 / USUAL_RTT_S)
            yield Finding(name, "ok",
                          f"{size(most)} are enough for {carries} with an rtt of 100 ms")
            continue
        needed = 2 * flow.bdp_bytes
        path = f"{rate(flow.rate_bps)} with an rtt of {flow.rtt_min_s * 1e3:.3g} ms"
        if most >= needed:
            yield Finding(name, "ok", f"{size(most)} are enough for {path}")
            continue
        low, middle, _ = e.sysctls[name].split()
        yield Finding(
            name, "limits" if name == "tcp_wmem" else "note",
            f"{what} {path} needs {size(needed)}, but the largest buffer is {size(most)}",
            f'sudo sysctl -w net.ipv4.{name}="{low} {middle} {_round_up(needed)}"',
        )
    if e.sysctls.get("tcp_moderate_rcvbuf") == "0":
        yield Finding("tcp_moderate_rcvbuf", "limits", "receive buffers do not grow",
                      "sudo sysctl -w net.ipv4.tcp_moderate_rcvbuf=1")  # fmt: skip


def _round_up(number: float) -> int:
    """Rounds up to a power of two, from 4 MiB to 1 GiB, the kernel's limit."""
    return min(1 << 30, max(1 << 22, 1 << (int(number) - 1).bit_length()))


def _memory(e: Evidence) -> Iterator[Finding]:
    pressures = e.counters.get("TcpExtTCPMemoryPressures", 0)
    if pressures:
        doubled = " ".join(str(2 * int(word)) for word in e.sysctls.get("tcp_mem", "").split())
        yield Finding("tcp_mem", "limits",
                      f"TCP was short of memory {pressures} times since boot: this shrinks windows",
                      f'sudo sysctl -w net.ipv4.tcp_mem="{doubled}"')  # fmt: skip
    else:
        yield Finding("tcp_mem", "ok", "TCP was never short of memory since boot")
    dropped = {name.removeprefix("TcpExt"): e.counters[name] for name in (
        "TcpExtTCPRcvQDrop", "TcpExtPruneCalled", "TcpExtTCPRcvCollapsed",
        "TcpExtTCPBacklogDrop") if e.counters.get(name)}  # fmt: skip
    if dropped:
        said = ", ".join(f"{name} {count}" for name, count in dropped.items())
        yield Finding("receive queues", "note",
                      f"there was no room for received data since boot ({said}): the application"
                      " reads too slowly, or tcp_rmem is too small",
                      "nstat -az TcpExtTCPRcvQDrop TcpExtPruneCalled")


# TCP --------------------------------------------------------------------------------------------


def _protocol(e: Evidence) -> Iterator[Finding]:
    why = {"tcp_window_scaling": "windows are at most 64 KiB",
           "tcp_sack": "recovery from several losses takes as many round trips",
           "tcp_timestamps": "round-trip times are not measured in recovery"}  # fmt: skip
    for name, says in why.items():
        if e.sysctls.get(name) == "0":
            yield Finding(name, "limits", f"{name} is off: {says}",
                          f"sudo sysctl -w net.ipv4.{name}=1")  # fmt: skip
    ecn = e.sysctls.get("tcp_ecn", "")
    if ecn == "1":
        yield Finding("ecn", "ok", "requested on every connection")
    elif ecn:
        when = "only if the peer requests it" if ecn == "2" else "never"
        yield Finding("ecn", "note", f"used {when}: routers drop packets that they could mark",
                      "sudo sysctl -w net.ipv4.tcp_ecn=1")  # fmt: skip


# The route and its device -----------------------------------------------------------------------


def _route(e: Evidence) -> Iterator[Finding]:
    own = system.metrics(e.route)
    via = f" via {e.route['gateway']}" if "gateway" in e.route else ""
    cc = own.get("congestion")
    chosen = f", new connections use {cc}" if cc else ""
    yield Finding("route", "ok", f"to {e.host}{via} through {e.device}{chosen}")
    for name in ("window", "cwnd"):
        if name in own:
            yield Finding("route window", "limits", f"the route limits the {name} to {own[name]}",
                          f"ip route show {e.route['dst']}")  # fmt: skip
    mtu = int(own.get("mtu", 0) or e.mtu)
    smallest = min((flow.pmtu_bytes for flow in e.flows if flow.pmtu_bytes), default=mtu)
    if smallest < 1280:
        yield Finding("mtu", "limits", f"packets can have at most {smallest} bytes: headers"
                      " are a large part of that", f"ip route get {e.host}")  # fmt: skip
    elif smallest < e.mtu:
        yield Finding("mtu", "note", f"packets can have at most {smallest} bytes; the device's"
                      f" MTU is {e.mtu} (is there a tunnel?)")  # fmt: skip
    else:
        yield Finding("mtu", "ok", f"{smallest} bytes")


def _device(e: Evidence) -> Iterator[Finding]:
    root = [one for one in e.qdiscs if one.get("root")]
    leaves = [one for one in e.qdiscs if one["kind"] not in ("mq", "clsact", "ingress")]
    kinds = {one["kind"] for one in leaves}
    if "fq" in kinds:
        yield Finding("pacing", "ok", f"fq on {e.device} paces packets")
    elif kinds & SHAPERS or kinds <= {"noqueue"}:
        yield Finding("pacing", "ok", "TCP paces packets with its own timer")
    else:
        kind = root[0]["kind"] if root else "no qdisc"
        yield Finding("pacing", "note", f"{kind} on {e.device}: TCP paces with a timer for each"
                      " socket, which costs more CPU time than fq",
                      f"sudo tc qdisc replace dev {e.device} root fq")  # fmt: skip
    for one in leaves:
        if one["kind"] in SHAPERS and (one.get("overlimits") or one.get("drops")):
            yield Finding("shaper", "limits", f"{one['kind']} on {e.device} of this machine has"
                          f" delayed packets ({one.get('overlimits', 0)} times) and dropped"
                          f" {one.get('drops', 0)}", f"tc -s qdisc show dev {e.device}")
        elif one.get("drops"):
            yield Finding("device queue", "note", f"{one['kind']} on {e.device} has dropped"
                          f" {one['drops']} packets", f"tc -s qdisc show dev {e.device}")
    for where in e.policers:
        yield Finding("policer", "limits", f"{where} of {e.device} has a policer, which drops"
                      " packets above its rate", f"tc -s filter show dev {e.device} {where}")
    if e.features is None:
        yield Finding("offloads", "note", "unknown, because ethtool is not installed",
                      "sudo apt-get install ethtool")  # fmt: skip
        return
    names = {"tcp-segmentation-offload": "tso", "generic-segmentation-offload": "gso",
             "generic-receive-offload": "gro"}  # fmt: skip
    off = [short for name, short in names.items() if not e.features.get(name, True)]
    if off:
        yield Finding("offloads", "note", f"{', '.join(off)} off on {e.device}: packets cost"
                      " more CPU time, which matters from a few Gb/s on",
                      f"sudo ethtool -K {e.device} {' '.join(f'{one} on' for one in off)}")
    else:
        yield Finding("offloads", "ok", f"tso, gso and gro are on for {e.device}")


# The flows --------------------------------------------------------------------------------------


def _flows(e: Evidence) -> Iterator[Finding]:
    if not e.senders:
        if e.host:
            yield Finding("flow", "note", f"too little is sent to {e.host} to evaluate: run"
                          " tcpcc doctor again during a transfer")  # fmt: skip
        return
    for flow in e.senders[:3]:
        made = [*_flow(e, flow)]
        yield from made
        if not made:
            yield Finding("flow", "ok", f"{_name(flow)}: only the path is the limit:"
                          f" {rate(flow.rate_bps)} with {flow.cc}")  # fmt: skip


def _name(flow: Flow) -> str:
    return f"to {flow.peer}"


def _flow(e: Evidence, flow: Flow) -> Iterator[Finding]:
    busy = flow.busy_s or 1e9
    window, buffer = flow.rwnd_limited_s / busy, flow.sndbuf_limited_s / busy
    if not flow.window_scaling:
        yield Finding("receive window", "limits", f"{_name(flow)}: at most 64 KiB a round trip,"
                      " because the peer or a middlebox lacks window scaling")  # fmt: skip
    elif window >= LIMITED:
        needed = _round_up(2 * flow.bdp_bytes)
        yield Finding("receive window", "limits", f"{_name(flow)}: the peer's window was the limit"
                      f" for {window:.0%} of the time; run this command on the peer",
                      f'sudo sysctl -w net.ipv4.tcp_rmem="4096 131072 {needed}"')  # fmt: skip
    # If segments leave as soon as they are written, TCP treats a full buffer as a slow application.
    # A buffer for less than two BDPs is full only from time to time.
    full = flow.app_limited and flow.queued_bytes >= FULL * flow.sndbuf_bytes
    small = flow.app_limited and flow.sndbuf_bytes < 2 * flow.bdp_bytes
    if buffer >= LIMITED or full or small:
        share = f"is full, and was the limit for {buffer:.0%} of the time"
        if buffer < LIMITED and not full:
            share = "holds less than two bandwidth-delay products"
        most = _largest(e.sysctls.get("tcp_wmem", ""))
        if flow.sndbuf_bytes < FULL * most:
            yield Finding("send buffer", "limits", f"{_name(flow)}: the send buffer"
                          f" ({size(flow.sndbuf_bytes)}) {share}; it is below the system's maximum,"
                          " because the application has set SO_SNDBUF")  # fmt: skip
        else:
            yield Finding("send buffer", "limits", f"{_name(flow)}: the send buffer {share}",
                          "sudo sysctl -w net.ipv4.tcp_wmem="
                          f'"4096 16384 {_round_up(max(2 * most, 2 * flow.bdp_bytes))}"')
    elif flow.app_limited:
        yield Finding("application", "limits", f"{_name(flow)}: the application writes less"
                      " data than the window allows")  # fmt: skip
    lost = flow.retransmitted_share
    if lost >= LOST and flow.rtt_s <= NEAR * flow.rtt_min_s:
        below = max(1, int(0.95 * flow.delivery_bps / 1e6))
        yield Finding("losses", "limits", f"{_name(flow)}: {lost:.1%} retransmitted while the round"
                      " trip is near its minimum: a policer, or a link that loses packets",
                      f"sudo tc qdisc replace dev {e.device or 'DEVICE'} root fq"
                      f" maxrate {below}mbit")  # fmt: skip
    if flow.rtt_s > 2 * flow.rtt_min_s and flow.queue_segs > 10:
        yield Finding("queue", "note", f"{_name(flow)}: {flow.queue_segs:.0f} packets are queued in"
                      f" the path; the rtt is {flow.rtt_s * 1e3:.3g} ms instead of"
                      f" {flow.rtt_min_s * 1e3:.3g}",
                      "" if flow.cc == "ccpd_path" else
                      f"sudo tcpcc try {e.host or flow.host}")  # fmt: skip


def text(made: list[Finding]) -> str:
    """The findings as text: limits come first, each with the command that mends it."""
    width = max(len(one.check) for one in made)
    lines = []
    for state in ("limits", "note", "ok"):
        for one in made:
            if one.state == state:
                lines.append(f"{state:<7} {one.check:<{width}}  {one.says}")
                if one.mend:
                    lines.append(f"{'':<7} {'':<{width}}  -> {one.mend}")
    return "\n".join(lines)
