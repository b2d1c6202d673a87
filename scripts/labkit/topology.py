# SPDX-License-Identifier: GPL-2.0
"""Compiles settings to what a guest executes: a shell script of ip and tc, and the agent's plan.

    s0 --+
    s1 --+-- d ------ b ====== r        s0...  senders, one namespace per round-trip time
    ...  |            |                 d      delays and loses: netem, never on a sender
                      x                 b      the bottleneck: the shaper and its queue, alone
                                        r      the receiver          x  cross traffic

d delays data by half of the shortest rtt, and the acknowledgments of each group of senders by the
rest of its own rtt, so that all groups see the same losses and meet in the same queue.  Where data
or acknowledgments go in batches, it is in a, between b and r.  The script runs on any Linux kernel;
the lab's own gives it virtual time.
"""

import hashlib
from dataclasses import dataclass, replace
from math import ceil

from .scenario import ETHERNET_HEADER, SHAPING, Settings

START_NS = 5_000_000_000  # of traffic on CLOCK_MONOTONIC: set-up is over, and it is always the same
SAMPLE_S = 0.005
ROWS = 5_000  # per series, more than a plot can show; then the interval doubles
FLOW_ROWS = 40_000  # all flows together, since each costs time
BOTTLENECK = "bottleneck"
POLICER = "policer"

# The shaper of tbf may hold back by one frame exactly, or packet pairs would lose their spacing;
# but a timer that fires late would then cost rate: the lab's timers are late by a nanosecond.
SHAPER_SLACK_S = 2e-9


@dataclass(frozen=True)
class Plan:
    """What one run executes."""

    setup: str  # shell script
    traffic: str  # the agent's plan
    memory: int  # bytes the guest needs


@dataclass(frozen=True)
class _Hop:
    """A cable between two namespaces; its ends are named s0-d and d-s0."""

    a: str
    b: str
    net: int  # the third number of 10.77.N.0/24, or the fourth group of fd77:0:0:N::/64

    def device(self, end: str) -> str:
        return f"{end}-{self.b if end == self.a else self.a}"

    def address(self, end: str, ip: int) -> str:
        host = 1 if end == self.a else 2
        return f"10.77.{self.net}.{host}" if ip == 4 else f"fd77:0:0:{self.net}::{host}"

    def mac(self, end: str) -> str:
        return f"02:77:00:00:{self.net:02x}:{1 if end == self.a else 2:02x}"


def compile_plan(settings: Settings, cc: str, seed: int) -> Plan:
    groups = sorted(set(settings.rtt), key=settings.rtt.index)
    hops = [_Hop(f"s{i}", "d", 10 + i) for i in range(len(groups))]
    hops += [_Hop("d", "b", 1)]
    hops += [_Hop("b", "a", 4), _Hop("a", "r", 2)] if _batches(settings) else [_Hop("b", "r", 2)]
    if settings.cross:
        hops.append(_Hop("x", "b", 3))
    slowest = max(settings.rtt) + sum(
        filter(None, (settings.jitter, settings.batch, settings.aggregate))
    )
    queues = settings.buffer_packets * (2 if settings.reverse else 1)
    window = settings.rate * slowest / 8 + queues * settings.frame
    return Plan(
        _setup(settings, hops, groups, settings.every_cc(cc), window),
        _traffic(settings, hops, groups, settings.ccs(cc), seed),
        memory=max(4 << 30, ceil(16 * window) * (2 if settings.reverse else 1)),
    )


def _batches(s: Settings) -> bool:
    return bool(s.batch or s.aggregate)


# The script -------------------------------------------------------------------------------------


def _setup(s: Settings, hops: list[_Hop], groups: list[float], ccs: list[str],
           window: float) -> str:  # fmt: skip
    """The shell script; window is what path and buffer hold, in bytes."""
    spaces = [h.a for h in hops if h.a.startswith("s")] + ["d", "b", "r"] + ["x"] * bool(s.cross)
    spaces += ["a"] * _batches(s)
    # Eight windows: an skb occupies up to four times its data, and only half may be window.
    memory = min(2**31 - 1, max(16 << 20, int(8 * window)))
    version = "" if s.ip == 4 else "-6 "
    lines = [
        "#!/bin/sh",
        "# Made by scripts/lab: a bottleneck between senders and a receiver.",
        "set -e",
        "",
        "# Modules and their parameters.",
        *_modules(s, ccs),
        "",
        "# No limit but the path's own: buffers for whole windows, and no drops in between.",
        'sysctl -qw net.ipv4.tcp_mem="100000000 100000000 100000000" \\',
        f'  net.ipv4.tcp_rmem="4096 {memory} {memory}" \\',
        f'  net.ipv4.tcp_wmem="4096 {1 << 20} {memory}" \\',
        "  net.core.netdev_max_backlog=10000000",
        "",
        "# Namespaces and the cables between them.",
        "ip -batch - <<END",
        *(f"netns add {n}" for n in spaces),
        *(f"link add {h.device(h.a)} netns {h.a} mtu {s.mtu} address {h.mac(h.a)} type veth"
          f" peer name {h.device(h.b)} netns {h.b} mtu {s.mtu} address {h.mac(h.b)}"
          for h in hops),
        "END",
    ]  # fmt: skip
    for name in spaces:
        ends = [h for h in hops if name in (h.a, h.b)]
        lines += ["", f"# {name}", f"ip netns exec {name} sysctl -qw {_sysctls(s, name)}"]
        if name == "r" and s.ack == "every":
            lines.append("# Linux 6.7 and later")
            lines.append("ip netns exec r sysctl -eqw net.ipv4.tcp_backlog_ack_defer=0")
        lines.append(f"ip {version}-n {name} -batch - <<END")
        lines.append("link set lo up")
        for hop in ends:
            device, peer = hop.device(name), hop.b if name == hop.a else hop.a
            size, flags = (24, "") if s.ip == 4 else (64, " nodad")
            lines += [
                f"link set {device} {'' if s.ip == 4 else 'addrgenmode none '}up",
                f"addr add {hop.address(name, s.ip)}/{size} dev {device}{flags}",
                f"neigh add {hop.address(peer, s.ip)} lladdr {hop.mac(peer)} dev {device}",
            ]
        lines += _routes(s, name, hops)
        lines.append("END")
        if not s.offload and name[0] in "sr":
            for hop in ends:
                lines.append(
                    f"ip netns exec {name} ethtool -K {hop.device(name)} tso off gso off gro off"
                )
    if s.ssthresh:
        lines += _acquaintance(s, hops)
    lines += [
        "",
        "# d: the path's delay, and its loss, which only data meets.",
        "tc -n d -batch - <<END",
        *_delays("add", s, groups),
        "END",
        "",
        "# b: the bottleneck.",
        "tc -n b -batch - <<END",
        *_bottleneck("add", s, s.rate),
        *_policer(s),
        "END",
    ]
    if _batches(s):
        lines += [
            "",
            "# a: the first packet of a batch waits for others, and all leave together.",
            "tc -n a -batch - <<END",
            *(f"qdisc add dev {device} root netem slot {_tc_time(gap)} {_tc_time(gap)}"
              " limit 100000000"
              for device, gap in (("a-b", s.batch), ("a-r", s.aggregate)) if gap),
            "END",
        ]  # fmt: skip
    path = s
    for change in s.change:
        if change.rate:
            name, what = "b", _bottleneck("change", s, change.rate)
        else:
            path = replace(path, rtt=(change.rtt,)) if change.rtt else replace(
                path, loss=change.loss)  # fmt: skip
            name, what = "d", _delays("change", path, list(path.rtt))
        lines += [
            "",
            f"# {change.at:g} s after traffic begins; /proc/uptime says when that is.",
            "{",
            "  read -r now _ </proc/uptime",
            f'  sleep "$(echo "$now" | awk \'{{ print {START_NS / 1e9 + change.at:g} - $1 }}\')"',
            f"  tc -n {name} -batch - <<END || echo 'the change at {change.at:g} s failed' >failed",
            *what,
            "END",
            "} &",
        ]
    return "\n".join(lines) + "\n"


def _delays(verb: str, s: Settings, rtts: list[float]) -> list[str]:
    """Half of the shortest rtt on the way to the receiver, the rest on the way back."""
    forward = min(rtts) / 2
    delay = _tc_time(forward)
    loss = f" loss random {s.loss * 100:.9g}%" if s.loss else ""
    if s.jitter:
        # netem draws from the mean, less or more; a rate, here one that takes no time, keeps order.
        delay = f"{_tc_time(forward + s.jitter / 2)} {_tc_time(s.jitter / 2)} rate 100tbit"
    return [
        f"qdisc {verb} dev d-b root netem delay {delay}{loss} limit 100000000",
        *(f"qdisc {verb} dev d-s{i} root netem delay {_tc_time(rtt - forward)} limit 100000000"
          for i, rtt in enumerate(rtts)),
    ]  # fmt: skip


def _modules(s: Settings, ccs: list[str]) -> list[str]:
    """modprobe says nothing about what is built in, and fails for what does not exist."""
    options: dict[str, list[str]] = {}
    for module, name, value in s.param:
        options.setdefault(module, []).append(f"{name}={value}")
    wanted = dict.fromkeys([*options, *(f"tcp_{cc}" for cc in ccs if cc != "reno")])
    if s.qdisc in SHAPING:
        wanted[f"sch_{s.qdisc}"] = None
    lines = []
    for module in wanted:
        lines.append(f"modprobe {module}")
        for option in options.get(module, []):
            name, _, value = option.partition("=")
            lines.append(f"echo {value} >/sys/module/{module}/parameters/{name}")
    return lines


def _sysctls(s: Settings, name: str) -> str:
    """Without IPv6, or at least its link-local addresses, its own chatter is not on the links."""
    quiet = ["net.ipv6.conf.all.disable_ipv6=1"] if s.ip == 4 else []
    if name in "dba":
        forward = "net.ipv4.ip_forward=1" if s.ip == 4 else "net.ipv6.conf.all.forwarding=1"
        return " ".join([*quiet, forward])
    values = [*quiet, "net.ipv4.tcp_no_metrics_save=1", f"net.ipv4.tcp_ecn={int(s.ecn)}"]
    if s.ssthresh and name[0] == "s":
        values.append("net.ipv4.tcp_no_ssthresh_metrics_save=0")
    if s.ack == "every":
        values.append("net.ipv4.tcp_comp_sack_nr=0")
    return " ".join(values)


def _routes(s: Settings, name: str, hops: list[_Hop]) -> list[str]:
    def via(other: str) -> str:
        hop = next(h for h in hops if {h.a, h.b} == {name, other})
        return f"via {hop.address(other, s.ip)} dev {hop.device(name)}"

    if name == "d":
        return [f"route add default {via('b')}"]
    if name == "b" and _batches(s):
        net = "10.77.2.0/24" if s.ip == 4 else "fd77:0:0:2::/64"
        return [f"route add default {via('d')}", f"route add {net} {via('a')}"]
    if name == "b":
        return [f"route add default {via('d')}"]
    if name == "r":
        return [f"route add default {via('a' if _batches(s) else 'b')}"
                + (" quickack 1" if s.ack == "every" else "")]  # fmt: skip
    if name in "ax":
        return [f"route add default {via('b')}"]
    ssthresh = f" ssthresh lock {s.ssthresh}" if s.ssthresh else ""
    return [f"route add default {via('d')}{ssthresh}"]


def _acquaintance(s: Settings, hops: list[_Hop]) -> list[str]:
    """TCP takes ssthresh from an entry in tcp_metrics, not from the route that the entry copies.

    An entry is there from the end of a first connection on.  This one meets no delay and no loss
    yet, so that nothing else of the entry, such as its rtt, makes a difference to the next.
    """
    receiver = next(h for h in hops if h.b == "r").address("r", s.ip)
    lines = ["", "# A first connection of each sender, from which later ones know their ssthresh."]
    for hop in hops:
        if hop.a.startswith("s"):
            save = f"ip netns exec {hop.a} sysctl -qw net.ipv4.tcp_no_metrics_save"
            meet = f"./agent meet {hop.a} {hop.address(hop.a, s.ip)} r {receiver}"
            lines += [f"{save}=0", meet, f"{save}=1"]
    return lines


def _policer(s: Settings) -> list[str]:
    """Drops what comes too fast to b; at its doors, packets are without Ethernet headers."""
    if not s.police:
        return []
    doors = ["b-d"] + ["b-x"] * bool(s.cross)
    police = (
        f"police rate {s.police.rate}bit burst {s.police.burst} mtu {s.frame}"
        f" overhead {ETHERNET_HEADER} conform-exceed drop index 1"
    )
    return [
        line
        for door, action in zip(doors, (police, "police index 1"), strict=False)
        for line in (
            f"qdisc add dev {door} ingress",
            f"filter add dev {door} ingress matchall action {action}",
        )
    ]


def _exit(s: Settings) -> str:
    """The device that the bottleneck is on."""
    return "b-a" if _batches(s) else "b-r"


def _bottleneck(verb: str, s: Settings, rate: int) -> list[str]:
    devices = [_exit(s)] + ["b-d"] * bool(s.reverse)
    return [line for device in devices for line in _shaper(verb, s, rate, device)]


def _shaper(verb: str, s: Settings, rate: int, device: str) -> list[str]:
    limit = s.buffer_packets
    if s.qdisc in SHAPING:
        shaping = f"{s.qdisc} bandwidth {rate}bit limit {limit}"
        return [f"qdisc {verb} dev {device} root handle 1: {shaping}"]
    kind = "pfifo" if s.qdisc == "fifo" else s.qdisc
    ecn = " ecn" if s.ecn and s.qdisc in ("codel", "pie", "fq_pie") else ""
    ecn += " noecn" if not s.ecn and s.qdisc == "fq_codel" else ""
    burst = s.frame + ceil(rate / 8 * SHAPER_SLACK_S)
    # In this order: a change of tbf passes its limit on to the queue below it.
    return [
        f"qdisc {verb} dev {device} root handle 1: tbf rate {rate}bit burst {burst} limit 1gb",
        f"qdisc {verb} dev {device} parent 1: handle 10: {kind} limit {limit}{ecn}",
    ]


def _tc_time(seconds: float) -> str:
    """tc 6.1 knows no ns, but takes fractions; netem keeps the nanosecond."""
    return f"{round(seconds * 1e9) / 1000:.10g}us"


# The plan ---------------------------------------------------------------------------------------


def _traffic(s: Settings, hops: list[_Hop], groups: list[float], ccs: list[str], seed: int) -> str:
    def address(end: str) -> str:
        return next(h for h in hops if h.a == end or (end == "r" and h.b == end)).address(end, s.ip)

    sample, link_sample = intervals(s)
    lines = [
        f"run start={START_NS} end={_ns(s.end)} sample={_ns(sample)}"
        f" link_sample={_ns(link_sample)} rows={ROWS}",
        f"link name={BOTTLENECK} ns=b dev={_exit(s)} sampled=1",
        "link name=forward ns=d dev=d-b sampled=0",
        *(f"link name=back{i} ns=d dev=d-s{i} sampled=0" for i in range(len(groups))),
        *(f"ingress name={POLICER} ns=b dev={door} sampled=0"
          for door in ["b-d"] * bool(s.police) + ["b-x"] * bool(s.police and s.cross)),
        f"seed ns=d dev=d-b seed={_netem_seed(seed, 'd-b')}",
        *(f"count ns={n}" for n in [*(f"s{i}" for i in range(len(groups))), "r"]),
    ]
    for i, cc in enumerate(ccs):
        sender = f"s{groups.index(s.rtt_of(i))}"
        lines.append(
            f"flow id={i} ns={sender} peer=r src={address(sender)} sport={20000 + i}"
            f" dst={address('r')} dport=5001 cc={cc} start={_ns(s.start * i)} bytes={s.bytes or 0}"
        )
    if s.reverse:
        name, count = s.reverse
        lines += [
            f"reverse id={len(ccs) + i} ns=r peer=s0 src={address('r')} sport={30000 + i}"
            f" dst={address('s0')} dport=5001 cc={name} start=0 bytes=0"
            for i in range(count)
        ]
    if s.app:
        lines.append(f"app size={s.app.bytes} interval={_ns(s.app.interval)}")
    headers = 28 if s.ip == 4 else 48
    for i, cross in enumerate(s.cross):
        lines.append(
            f"udp ns=x peer=r src={address('x')} sport={6000 + i} dst={address('r')}"
            f" dport={6000 + i} size={s.mtu - headers} frame={s.frame} rate={cross.rate}"
            f" from={_ns(cross.start)} to={_ns(cross.end)}"
        )
    return "\n".join(lines) + "\n"


def intervals(s: Settings) -> tuple[float, float]:
    """Seconds between samples of flows and of links: fine, but never so many that they cost."""
    if s.sample is not None:
        return s.sample, s.sample
    if s.bytes is not None or s.flows == 1:
        share = s.flows / 4
    else:
        share = max(s.flows / 4, s.flows * s.duration / FLOW_ROWS / SAMPLE_S)
    return SAMPLE_S * max(1, ceil(share)), SAMPLE_S


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def _netem_seed(seed: int, device: str) -> int:
    """Independent of whatever else draws random numbers; positive, to fit where a sign may be."""
    return int.from_bytes(hashlib.sha256(f"{seed} {device}".encode()).digest()[:7])
