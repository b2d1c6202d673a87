# SPDX-License-Identifier: GPL-2.0
"""Compiles settings to what a guest executes: a shell script of ip and tc, and the agent's plan.

    s0 --+
    s1 --+-- d ------ b ====== r        s0...  senders, one namespace per round-trip time
    ...  |            |                 d      delays and loses: netem, never on a sender
                      x                 b      the bottleneck: the shaper and its queue, alone
                                        r      the receiver          x  cross traffic

d delays data by half of the shortest rtt, and the acknowledgments of each group of senders by the
rest of its own rtt, so that all groups see the same losses and meet in the same queue.  Where data
or acknowledgments go in batches, overtake each other, are lost behind the bottleneck, or pass not
at all, it is in a, between b and r.

What a host's network card does is in the last device before it, d-s0 or a-r: netem holds packets
until the interrupt (slot), and a second one below it hands acknowledgments over one after the other
(rate).  TCP's large packets are cut as they leave the sender, as a card with TSO does it, so that
all that is lost, policed or late on the path is a single packet.

Networks of several links have d1, b1, d2, b2, ... in a row; see network.py.  Senders are at the d
where their path begins, receivers (r1, r2, ...) behind the b where it ends: at the next d, since
all that leaves a b goes through one queue.  Each b then delays the acknowledgments by its link's
delay.

The script runs on any Linux kernel; the lab's own gives it virtual time.
"""

import hashlib
import re
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, inf
from random import Random

from ..model.network import Network
from ..model.parse import REORDER_TABLE
from ..model.settings import ETHERNET_HEADER, RED_MAX, SHAPING, WARN, Settings
from ..paths import REPO

START_NS = 5_000_000_000  # of traffic on CLOCK_MONOTONIC: set-up is over, and it is always the same
SAMPLE_S = 0.005
ROWS = 5_000  # per series, more than a plot can show; then the interval doubles
FLOW_ROWS = 40_000  # all flows together, since each costs time
BOTTLENECK = "bottleneck"
POLICER = "policer"
BLACKOUT = "blackout"
LAST_HOP = "last_hop"
NO_LIMIT = "limit 100000000"

FIRST_PORT = 20000  # of flow 0, at its sender
ECHO = 0xFD08AC50  # how an ACP echo begins; see tcpcc_feedback.h

# host=nic: from a first packet to the interrupt, of the size that drivers of fast cards have by
# default (rx-usecs); and what a CPU needs for an acknowledgment.
MODERATION_S = 50e-6
POLL_GAP_S = 0.3e-6
# host=slow: what a processor needs that QEMU emulates.
SLOW_GAP_S = 4e-6
# host=vm: how long a virtual machine that is not running keeps acknowledgments waiting.
ASLEEP_S = (1e-3, 20e-3)
# host=default: Debian's, on a machine with 4 GB or more.
DEFAULT_RMEM, DEFAULT_WMEM = "4096 131072 6291456", "4096 16384 4194304"

# netem adds its jitter once for so much in the table that it draws from (NETEM_DIST_SCALE).
NETEM_TABLE_ONE = 8192

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
    row = Row(settings)
    slowest = max(settings.rtt) + sum(
        filter(None, (settings.jitter, settings.batch, settings.aggregate))
    )
    slowest += settings.late + (ASLEEP_S[1] if "vm" in settings.host else 0)
    links = range(len(row.net.links))
    queues = sum(map(settings.buffer_of, links)) * (2 if settings.reverse else 1)
    window = settings.rate * slowest / 8 + queues * settings.frame
    return Plan(
        _setup(settings, row, settings.every_cc(cc), window),
        _traffic(settings, row, cc, seed),
        memory=max(4 << 30, ceil(16 * window) * (2 if settings.reverse else 1)),
    )


class Row:
    """The namespaces of a network by their names, and the cables between them."""

    def __init__(self, settings: Settings) -> None:
        self.net: Network = settings.net
        links = range(len(self.net.links))
        several = len(links) > 1
        self.d = [f"d{k + 1}" if several else "d" for k in links]
        self.b = [f"b{k + 1}" if several else "b" for k in links]
        self.senders = [f"s{g}" for g in range(len(self.net.groups))]
        ends = sorted({group.last for group in self.net.groups})
        self.receivers = {k: f"r{k + 1}" if several else "r" for k in ends}
        self.hops = [
            _Hop(f"s{g}", self.d[group.first], 10 + g) for g, group in enumerate(self.net.groups)
        ]
        # one link: 1, 2; of several, the first 200 are for groups of senders
        self.hops += [
            _Hop(d, b, 200 + k if several else 1)
            for k, (d, b) in enumerate(zip(self.d, self.b, strict=True))
        ]
        self.hops += [
            _Hop(b, d, 220 + k) for k, (b, d) in enumerate(zip(self.b, self.d[1:], strict=False))
        ]
        for k, r in self.receivers.items():
            if _has_a(settings):
                self.hops += [_Hop("b", "a", 4), _Hop("a", "r", 2)]
            else:
                self.hops.append(_Hop(self.door(k), r, 240 + k if several else 2))
        if settings.cross:
            self.hops.append(_Hop("x", "b", 3))
        self.spaces = [*self.senders]
        for k in links:
            self.spaces += filter(None, (self.d[k], self.b[k], self.receivers.get(k)))
        self.spaces += ["x"] * bool(settings.cross) + ["a"] * _has_a(settings)
        self.exits = [
            self.between(b, d).device(b) for b, d in zip(self.b, self.d[1:], strict=False)
        ] + [f"{self.b[-1]}-{'a' if _has_a(settings) else self.receivers[links[-1]]}"]

    def door(self, k: int) -> str:
        """What receivers behind a link are at."""
        return self.d[k + 1] if k + 1 < len(self.d) else self.b[k]

    def between(self, a: str, b: str) -> _Hop:
        return next(hop for hop in self.hops if {hop.a, hop.b} == {a, b})

    def address(self, host: str, ip: int) -> str:
        """Of a sender, a receiver or the cross traffic: they have one cable."""
        return next(hop for hop in self.hops if host in (hop.a, hop.b)).address(host, ip)

    def link_names(self) -> list[str]:
        """As results call the bottlenecks."""
        count = len(self.net.links)
        return [BOTTLENECK] if count == 1 else [f"link{k + 1}" for k in range(count)]


def _has_a(s: Settings) -> bool:
    return bool(
        s.last_hop or s.batch or s.aggregate or s.reorder or s.blackout or "nic" in s.host
    )


# The script -------------------------------------------------------------------------------------


def _setup(s: Settings, row: Row, ccs: list[str], window: float) -> str:
    """The shell script; window is what path and buffer hold, in bytes."""
    # Eight windows: an skb occupies up to four times its data, and only half may be window.  More
    # where hosts may mislead a sender about its path.
    memory = min(2**31 - 1, max((128 if s.host else 16) << 20, int(8 * window)))
    rmem, wmem = f"4096 {memory} {memory}", f"4096 {1 << 20} {memory}"
    limits = "# No limit but the path's own: buffers for whole windows, and no drops in between."
    if "default" in s.host:
        rmem, wmem = DEFAULT_RMEM, DEFAULT_WMEM
        limits = "# The distribution's buffers, which grow with the window; no drops in between."
    version = "" if s.ip == 4 else "-6 "
    lines = [
        "#!/bin/sh",
        "# Made by scripts/lab: a bottleneck between senders and a receiver.",
        "set -e",
        "",
        "# Modules and their parameters.",
        *_modules(s, ccs),
        "",
        limits,
        'sysctl -qw net.ipv4.tcp_mem="100000000 100000000 100000000" \\',
        f'  net.ipv4.tcp_rmem="{rmem}" \\',
        f'  net.ipv4.tcp_wmem="{wmem}" \\',
        "  net.core.netdev_max_backlog=10000000",
        "",
        "# Namespaces and the cables between them.",
        "ip -batch - <<END",
        *(f"netns add {n}" for n in row.spaces),
        *(f"link add {h.device(h.a)} netns {h.a} mtu {s.mtu} address {h.mac(h.a)} type veth"
          f" peer name {h.device(h.b)} netns {h.b} mtu {s.mtu} address {h.mac(h.b)}"
          for h in row.hops),
        "END",
    ]  # fmt: skip
    for name in row.spaces:
        lines += ["", f"# {name}", f"ip netns exec {name} sysctl -qw {sysctls(s, name)}"]
        if name[0] == "r" and s.ack == "every":
            lines.append("# Linux 6.7 and later")
            lines.append(f"ip netns exec {name} sysctl -eqw net.ipv4.tcp_backlog_ack_defer=0")
        lines += [f"ip {version}-n {name} -batch - <<END", *addresses(s, row, name), "END"]
        lines += [f"ip netns exec {name} {command}" for command in offloads(s, row, name)]
    if s.ssthresh:
        lines += _acquaintance(s, row)
    for d, b in zip(row.d, row.b, strict=True):
        lines += [
            "",
            f"# {d}: the path's delay, and its loss, which only data meets.",
            f"tc -n {d} -batch - <<END",
            *queues(s, row, d),
            "END",
            "",
            f"# {b}: the bottleneck.",
            f"tc -n {b} -batch - <<END",
            *queues(s, row, b),
            "END",
        ]
    for name in row.senders if s.access or "fq" in s.host or s.lie else ():
        lines += [
            "",
            f"# {name}: {_sender_queue(s)}.",
            f"tc -n {name} -batch - <<END",
            *queues(s, row, name),
            "END",
        ]
    if s.reorder:
        late = round(s.reorder.share * REORDER_TABLE)
        table = f"while (i++ < {REORDER_TABLE}) print (i > {late} ? 0 : {NETEM_TABLE_ONE})"
        lines += [
            "",
            f"# netem's table for packets that come late: {late} of {REORDER_TABLE}.",
            f"awk 'BEGIN {{ {table} }}' >\"$TC_LIB_DIR/late.dist\"",
        ]
    if _has_a(s):
        lines += [
            "",
            f"# a: {_purpose_of_a(s)}.",
            "tc -n a -batch - <<END",
            *queues(s, row, "a"),
            "END",
        ]
    now = s
    for change in s.change:
        if change.rate:
            name, what = "b", _bottleneck("change", s, row, 0, change.rate)
        else:
            now = replace(now, rtt=(change.rtt,)) if change.rtt else replace(
                now, loss=change.loss)  # fmt: skip
            name, what = "d", _delays("change", now, Row(now), 0)
        lines += _later(change.at, *_tc(name, what, f"the change at {change.at:g} s"))
    for blackout in s.blackout:
        doors, what = ("a-b", "a-r"), f"the blackout at {blackout.at:g} s"
        on = [f"filter add dev {door} ingress matchall action drop" for door in doors]
        off = [f"filter del dev {door} ingress" for door in doors]
        lines += _later(blackout.at, *_tc("a", on, what), f"  sleep {blackout.length:g}",
                        *_tc("a", off, what))  # fmt: skip
    return "\n".join(lines) + "\n"


def _later(at: float, *commands: str) -> list[str]:
    """Commands that are executed so many seconds after traffic begins."""
    return [
        "",
        f"# {at:g} s after traffic begins; /proc/uptime says when that is.",
        "{",
        "  read -r now _ </proc/uptime",
        f'  sleep "$(echo "$now" | awk \'{{ print {START_NS / 1e9 + at:g} - $1 }}\')"',
        *commands,
        "} &",
    ]


def _tc(name: str, commands: list[str], what: str) -> list[str]:
    """A batch of tc in a namespace, in the background: a failure goes to a file."""
    return [f"  tc -n {name} -batch - <<END || echo '{what} failed' >failed", *commands, "END"]


def addresses(s: Settings, row: Row, name: str) -> list[str]:
    """What ip is told in one namespace, line by line."""
    lines = ["link set lo up"]
    for hop in row.hops:
        if name not in (hop.a, hop.b):
            continue
        device, peer = hop.device(name), hop.b if name == hop.a else hop.a
        size, flags = (24, "") if s.ip == 4 else (64, " nodad")
        lines += [
            f"link set {device} {'' if s.ip == 4 else 'addrgenmode none '}up",
            f"addr add {hop.address(name, s.ip)}/{size} dev {device}{flags}",
            f"neigh add {hop.address(peer, s.ip)} lladdr {hop.mac(peer)} dev {device}",
        ]
    return lines + _routes(s, name, row)


def offloads(s: Settings, row: Row, name: str) -> list[str]:
    """Commands that make a host send and receive packets as they are on the wire.

    TCP makes large packets in any case (since 4.17); without offload they are cut as they leave it.
    """
    if name == "a" and "nic" in s.host:
        return ["ethtool -K a-r tso off"]  # or veth would have r do without GRO
    if s.offload or name[0] not in "sr":
        return []
    gro = "on" if "nic" in s.host and name[0] == "r" else "off"
    return [
        f"ethtool -K {hop.device(name)} tso off gso off gro {gro}"
        for hop in row.hops if name in (hop.a, hop.b)
    ]  # fmt: skip


def queues(s: Settings, row: Row, name: str) -> list[str]:
    """What tc is told in one namespace, line by line."""
    if name in row.senders:
        device = row.hops[row.senders.index(name)].device(name)
        lines = _tbf("add", s, s.access, device) if s.access else []
        where = "parent 1: handle 10:" if s.access else "root"
        lines += [f"qdisc add dev {device} {where} fq"] * ("fq" in s.host)
        return lines + _lies(s, row, name, device)
    if name in row.d:
        k = row.d.index(name)
        cards = [line for device, _ in _ways_back(row, k) for line in _chain(device, _card(s), 1)]
        return [*_delays("add", s, row, k), *cards, *_single_loss(s)]
    if name in row.b:
        k = row.b.index(name)
        rate = row.net.links[k].rate
        return [*_bottleneck("add", s, row, k, rate), *_delay_back(row, k), *_policer(s)]
    if name == "a":
        # tc takes a table only beside a delay of its own, which is a microsecond at least.
        late = f"delay {_tc_time(1e-6)} {_tc_time(s.late)} distribution late" * bool(s.reorder)
        # One netem for both, since a run's seed is given to the first.
        first = f"{late}{_lost(s.last_hop)}".strip()
        interrupt = [_slot(MODERATION_S)] * ("nic" in s.host)
        acks, data = ([_slot(gap)] if gap else [] for gap in (s.batch, s.aggregate))
        return [
            *_chain("a-b", acks),
            *_chain("a-r", [*[first] * bool(first), *data, *interrupt]),
            *(f"qdisc add dev {door} ingress" for door in ("a-b", "a-r") if s.blackout),
        ]
    return []


def _slot(least: float, most: float | None = None) -> str:
    """netem's option for a batch: its first packet waits so long, and all leave together."""
    return f"slot {_tc_time(least)} {_tc_time(least if most is None else most)}"


def _card(s: Settings) -> list[str]:
    """What netem does to acknowledgments in the sender's card and driver, from first to last."""
    held = [_slot(MODERATION_S)] * ("nic" in s.host) + [_slot(*ASLEEP_S)] * ("vm" in s.host)
    # A cell larger than any packet: each takes the same time, as in a CPU.
    cell = 30_000
    slow = "slow" in s.host
    poll = f"rate {round(cell * 8 / (SLOW_GAP_S if slow else POLL_GAP_S))}bit 0 {cell}"
    return [*held, poll] if held or slow else []


def _chain(device: str, options: list[str], above: int = 0) -> list[str]:
    """One netem below the other, below so many that the device has already."""
    lines = []
    for k, option in enumerate(options, above + 1):
        place = f"parent {k - 1}: handle {k}:" if k > 1 else "root"
        place += " handle 1:" if k == 1 and len(options) > 1 else ""
        lines.append(f"qdisc add dev {device} {place} netem {option} {NO_LIMIT}")
    return lines


def _lies(s: Settings, row: Row, name: str, device: str) -> list[str]:
    """What receivers say is changed where it arrives: the word of an echo, the first TCP option."""
    filters = [
        f"filter add dev {device} ingress protocol ip u32 match u32 {ECHO:#x} 0xffffffff at 40"
        f" match u16 {FIRST_PORT + lie.flow} 0xffff at 22 action pedit munge offset 44 u32 set"
        f" {lie.word} pipe action csum tcp"
        for lie in s.lie if row.senders[row.net.users[lie.flow].group] == name
    ]  # fmt: skip
    return [f"qdisc add dev {device} ingress", *filters] if filters else []


def _sender_queue(s: Settings) -> str:
    access, paced, lies = "as fast as its own link", "fq, which paces", "what receivers make up"
    return ", and ".join([access] * bool(s.access) + [paced] * ("fq" in s.host)
                         + [lies] * bool(s.lie))  # fmt: skip


def _purpose_of_a(s: Settings) -> str:
    """What the comment in the script says."""
    if not (s.last_hop or s.reorder or s.blackout or "nic" in s.host):
        return "the first packet of a batch waits for others, and all leave together"
    what = {
        "losses of the last hop": s.last_hop, "late packets": s.reorder,
        "batches": s.batch or s.aggregate,
        "the receiver's interrupts": "nic" in s.host, "blackouts": s.blackout,
    }  # fmt: skip
    return ", ".join(name for name, there in what.items() if there)


# By which a real kernel's timers may be late.  The shaper may hold back one frame, which only
# virtual time can do without losing rate.
REAL_SLACK_S = 1e-4


def for_real_timers(text: str, rate: int) -> str:
    """Commands of this module for a kernel whose timers fire late: shapers may make up for it."""
    more = round(rate / 8 * REAL_SLACK_S)
    return re.sub(r" burst (\d+)", lambda found: f" burst {int(found[1]) + more}", text)


def _lost(share: float) -> str:
    """netem's option for random loss, behind others."""
    return f" loss random {share * 100:.9g}%" if share else ""


def _delays(verb: str, s: Settings, row: Row, k: int) -> list[str]:
    """Of a link: its delay on the way to the receivers, and of each host's rtt what is left."""
    d, forward = row.d[k], row.net.links[k].delay
    delay = _tc_time(forward)
    loss = _lost(s.loss)
    if s.jitter:
        # netem draws from the mean, less or more; a rate, here one that takes no time, keeps order.
        delay = f"{_tc_time(forward + s.jitter / 2)} {_tc_time(s.jitter / 2)} rate 100tbit"
    handle = " handle 1:" if _card(s) else ""
    return [
        f"qdisc {verb} dev {d}-{row.b[k]} root netem delay {delay}{loss} {NO_LIMIT}",
        *(f"qdisc {verb} dev {device} root{handle} netem delay {_tc_time(rest)} {NO_LIMIT}"
          for device, rest in _ways_back(row, k)),
    ]  # fmt: skip


def _ways_back(row: Row, k: int) -> list[tuple[str, float]]:
    """The devices to the hosts at a link, and what acknowledgments wait there, s."""
    links, found = row.net.links, []
    for sender, group in zip(row.senders, row.net.groups, strict=True):
        if group.first == k:
            ways = 1 if len(links) == 1 else 2
            elsewhere = ways * sum(links[i].delay for i in group.path)
            found.append((f"{row.d[k]}-{sender}", group.rtt - elsewhere))
    return found


def _delay_back(row: Row, k: int) -> list[str]:
    if len(row.b) == 1:
        return []
    device = row.between(row.b[k], row.d[k]).device(row.b[k])
    delay = _tc_time(row.net.links[k].delay)
    return [f"qdisc add dev {device} root netem delay {delay} {NO_LIMIT}"]


def _modules(s: Settings, ccs: list[str]) -> list[str]:
    """modprobe says nothing about what is built in, and fails for what does not exist."""
    options: dict[str, list[str]] = {}
    for module, name, value in s.param:
        options.setdefault(module, []).append(f"{name}={value}")
    wanted = dict.fromkeys([*options, *(f"tcp_{cc}" for cc in ccs if cc != "reno")])
    if s.qdisc in SHAPING:
        wanted[f"sch_{s.qdisc}"] = None
    if not _viewed().isdisjoint(ccs):
        wanted["tcpcc_view"] = None
    lines = []
    for module in wanted:
        lines.append(f"modprobe {module}")
        for option in options.get(module, []):
            name, _, value = option.partition("=")
            lines.append(f"echo {value} >/sys/module/{module}/parameters/{name}")
    return lines


@cache
def _viewed() -> frozenset[str]:
    """This project's own congestion controls, whose fields /proc/net/tcpcc shows.

    Each has a module tcp_NAME of its own, or is another name of one.
    """
    found = set()
    for path in REPO.glob("tcp_*.c"):
        found.add(path.stem.removeprefix("tcp_"))
        found |= set(re.findall(r'^MODULE_ALIAS\("tcp_(\w+)"\)', path.read_text(), re.M))
    return frozenset(found)


def sysctls(s: Settings, name: str) -> str:
    """What sysctl is told in one namespace.

    Without IPv6, or at least its link-local addresses, its own chatter is not on the links.
    """
    quiet = ["net.ipv6.conf.all.disable_ipv6=1"] if s.ip == 4 else []
    if name[0] in "dba":
        forward = "net.ipv4.ip_forward=1" if s.ip == 4 else "net.ipv6.conf.all.forwarding=1"
        return " ".join([*quiet, forward])
    values = [*quiet, "net.ipv4.tcp_no_metrics_save=1", f"net.ipv4.tcp_ecn={int(s.ecn)}"]
    if s.ssthresh and name[0] == "s":
        values.append("net.ipv4.tcp_no_ssthresh_metrics_save=0")
    if s.ack == "every":
        values.append("net.ipv4.tcp_comp_sack_nr=0")
    return " ".join(values)


def _routes(s: Settings, name: str, row: Row) -> list[str]:
    def via(other: str) -> str:
        hop = row.between(name, other)
        return f"via {hop.address(other, s.ip)} dev {hop.device(name)}"

    def net(hop: _Hop) -> str:
        return f"10.77.{hop.net}.0/24" if s.ip == 4 else f"fd77:0:0:{hop.net}::/64"

    if name in row.senders:
        ssthresh = f" ssthresh lock {s.ssthresh_packets}" if s.ssthresh else ""
        first = row.net.groups[row.senders.index(name)].first
        return [f"route add default {via(row.d[first])}{ssthresh}"]
    if name in row.d:
        k = row.d.index(name)
        earlier = [h for g, h in zip(row.net.groups, row.hops, strict=False) if g.first < k]
        return [f"route add default {via(row.b[k])}"] + [
            f"route add {net(hop)} {via(row.b[k - 1])}" for hop in earlier
        ]
    if name in row.b:
        k = row.b.index(name)
        lines = [f"route add default {via(row.d[k])}"]
        if _has_a(s):
            lines.append(f"route add {net(row.between('a', 'r'))} {via('a')}")
        return lines + [
            f"route add {net(row.between(row.door(j), r))} {via(row.d[k + 1])}"
            for j, r in row.receivers.items() if k <= j and k + 1 < len(row.d)
        ]  # fmt: skip
    if name in ("a", "x"):
        return [f"route add default {via('b')}"]
    last = next(k for k, r in row.receivers.items() if r == name)
    quick = " quickack 1" if s.ack == "every" else ""
    return [f"route add default {via('a' if _has_a(s) else row.door(last))}{quick}"]


def _acquaintance(s: Settings, row: Row) -> list[str]:
    """TCP takes ssthresh from an entry in tcp_metrics, not from the route that the entry copies.

    An entry is there from the end of a first connection on.  This one meets no delay and no loss
    yet, so that nothing else of the entry, such as its rtt, makes a difference to the next.
    """
    receiver = row.address("r", s.ip)
    lines = ["", "# A first connection of each sender, from which later ones know their ssthresh."]
    for sender in row.senders:
        save = f"ip netns exec {sender} sysctl -qw net.ipv4.tcp_no_metrics_save"
        meet = f"./agent meet {sender} {row.address(sender, s.ip)} r {receiver}"
        lines += [f"{save}=0", meet, f"{save}=1"]
    return lines


def _single_loss(s: Settings) -> list[str]:
    """Drops one data packet at d: gact chooses every so-manyth, a policer lets only one be lost.

    The policer has the tokens for one packet, and for the next after 200 s; it conforms to drop.
    The first two packets make the connection.
    """
    if not s.drop:
        return []
    once = f"police rate {s.frame * 8 // 200}bit burst {s.frame + s.frame // 20} mtu {s.frame}"
    actions = f"pass random determ continue {s.drop + 2}", f"{once} conform-exceed pass/drop"
    protocol = "ip" if s.ip == 4 else "ipv6"
    return [
        "qdisc add dev d-s0 ingress",
        *(f"filter add dev d-s0 ingress prio {k} protocol {protocol} flower ip_proto tcp"
          f" action {action}" for k, action in enumerate(actions, 1)),
    ]  # fmt: skip


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


def _bottleneck(verb: str, s: Settings, row: Row, k: int, rate: int) -> list[str]:
    devices = [row.exits[k]] + ["b-d"] * bool(s.reverse)
    return [line for device in devices for line in _shaper(verb, s, rate, s.buffer_of(k), device)]


def _shaper(verb: str, s: Settings, rate: int, limit: int, device: str) -> list[str]:
    if s.qdisc in SHAPING:
        shaping = f"{s.qdisc} bandwidth {rate}bit limit {limit}"
        shaping += f" {s.router}" if s.router else ""
        return [f"qdisc {verb} dev {device} root handle 1: {shaping}"]
    # In this order: a change of tbf passes its limit on to the queue below it.
    return [
        *_tbf(verb, s, rate, device),
        f"qdisc {verb} dev {device} parent 1: handle 10: {_queue(s, rate, limit)}",
    ]


def _queue(s: Settings, rate: int, limit: int) -> str:
    """What holds up to so many packets below the shaper.  cake marks where hosts have ECN."""
    if s.qdisc == "cake":
        return f"cake unlimited memlimit {limit * _memory_of(s.frame)}"
    ecn = " ecn" if s.ecn and s.qdisc in ("codel", "pie", "fq_pie", "red") else ""
    ecn += " noecn" if not s.ecn and s.qdisc == "fq_codel" else ""
    if s.qdisc == "red":
        return f"red {_red(s.frame, rate, limit)}{ecn}"
    if s.qdisc == "warn":
        return f"red {_warn(s.frame, rate, limit)} ecn nodrop"
    return f"{'pfifo' if s.qdisc == 'fifo' else s.qdisc} limit {limit}{ecn}"


def _memory_of(frame: int) -> int:
    """What the kernel takes for a packet: its head, and a power of two for data and their end."""
    return 256 + (1 << (frame + 320).bit_length())


def _red(frame: int, rate: int, limit: int) -> str:
    """The defaults of tc for red, but from the buffer: its man page says which and why."""
    size = limit * frame
    most = size // RED_MAX
    least = most // 3
    burst = (2 * least + most) // (3 * frame)
    return (
        f"limit {size} min {least} max {most} probability 0.02 avpkt {frame} burst {burst}"
        f" bandwidth {rate}bit"
    )


def _warn(frame: int, rate: int, limit: int) -> str:
    """red as a threshold: max is next to min, and the average all but the queue itself.

    That is tc's least weight, 1/2, for a burst as long as min.
    """
    start = limit // WARN
    return (
        f"limit {limit * frame} min {start * frame} max {start * frame + 1} probability 1"
        f" avpkt {frame} burst {start} bandwidth {rate}bit"
    )


def _tbf(verb: str, s: Settings, rate: int, device: str) -> list[str]:
    burst = s.frame + ceil(rate / 8 * SHAPER_SLACK_S)
    return [f"qdisc {verb} dev {device} root handle 1: tbf rate {rate}bit burst {burst} limit 1gb"]


def _tc_time(seconds: float) -> str:
    """tc 6.1 knows no ns, but takes fractions; netem keeps the nanosecond."""
    return f"{round(seconds * 1e9) / 1000:.10g}us"


# The plan ---------------------------------------------------------------------------------------


def _traffic(s: Settings, row: Row, cc: str, seed: int) -> str:
    sample, link_sample = intervals(s)
    receivers = list(row.receivers.values())
    lines = [
        f"run start={START_NS} end={_ns(s.end)} sample={_ns(sample)}"
        f" link_sample={_ns(link_sample)} rows={ROWS}{' eager=1' if 'default' in s.host else ''}",
        *(f"link name={name} ns={b} dev={device} sampled=1"
          for name, b, device in zip(row.link_names(), row.b, row.exits, strict=True)),
    ]  # fmt: skip
    for k, (d, b) in enumerate(zip(row.d, row.b, strict=True)):
        lines.append(f"link name=forward{d[1:]} ns={d} dev={d}-{b} sampled=0")
        lines += [f"link name=back{device.partition('-s')[2]} ns={d} dev={device} sampled=0"
                  for device, _ in _ways_back(row, k)]  # fmt: skip
    lines += [
        *(f"ingress name={POLICER} ns=b dev={door} sampled=0"
          for door in ["b-d"] * bool(s.police) + ["b-x"] * bool(s.police and s.cross)),
        *[f"link name={LAST_HOP} ns=a dev=a-r sampled=0"] * bool(s.last_hop),
        *(f"ingress name={BLACKOUT} ns=a dev={door} sampled=0"
          for door in ("a-b", "a-r") if s.blackout),
        *(f"seed ns={d} dev={d}-{b} seed={_netem_seed(seed, f'{d}-{b}')}"
          for d, b in zip(row.d, row.b, strict=True)),
        *[f"seed ns=a dev=a-r seed={_netem_seed(seed, 'a-r')}"] * bool(s.reorder or s.last_hop),
        *(f"count ns={n}" for n in [*row.senders, *receivers]),
    ]  # fmt: skip
    dice = Random(f"{seed} scatter")
    flows = [
        _Flow(row, user.group, user.start + dice.uniform(0, s.scatter or 0), cc, s.bytes or 0,
              user.stop)
        for user, cc in zip(row.net.users, s.ccs(cc), strict=True)
    ]  # fmt: skip
    count = len(flows)
    if s.short:
        flows += [_Flow(row, 0, start, cc, size) for start, size in _arrivals(s, seed)]
    lines += [f.line(i, s.ip, "flow" if i < count else "short") for i, f in enumerate(flows)]
    if s.reverse:
        name, count = s.reverse
        lines += [
            f"reverse id={len(flows) + i} ns=r peer=s0 src={row.address('r', s.ip)}"
            f" sport={30000 + i} dst={row.address('s0', s.ip)} dport=5001 cc={name} start=0 bytes=0"
            for i in range(count)
        ]
    if s.app:
        sizes = ",".join(map(str, s.app.sizes))
        lines.append(f"app size={sizes} interval={_ns(s.app.interval)}")
    lines += [f"switch at={_ns(switch.at)} cc={switch.cc}" for switch in s.switch]
    headers = 28 if s.ip == 4 else 48
    for i, cross in enumerate(s.cross):
        lines.append(
            f"udp ns=x peer=r src={row.address('x', s.ip)} sport={6000 + i}"
            f" dst={row.address('r', s.ip)} dport={6000 + i} size={s.mtu - headers}"
            f" frame={s.frame} rate={cross.rate} from={_ns(cross.start)} to={_ns(cross.end)}"
        )
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Flow:
    row: Row
    group: int
    start: float
    cc: str
    bytes: int  # 0: without end
    stop: float = inf

    def line(self, number: int, ip: int, kind: str) -> str:
        sender = self.row.senders[self.group]
        receiver = self.row.receivers[self.row.net.groups[self.group].last]
        stop = "" if self.stop == inf else f" stop={_ns(self.stop)}"
        return (
            f"{kind} id={number} ns={sender} peer={receiver} src={self.row.address(sender, ip)}"
            f" sport={FIRST_PORT + number} dst={self.row.address(receiver, ip)} dport=5001"
            f" cc={self.cc} start={_ns(self.start)} bytes={self.bytes}{stop}"
        )


def _arrivals(s: Settings, seed: int) -> list[tuple[float, int]]:
    """When short flows come, and with how many bytes."""
    dice = Random(f"{seed} short")
    least = s.short.mean * (s.short.shape - 1) / s.short.shape
    payload = s.mtu - (52 if s.ip == 4 else 72)
    found, now = [], dice.expovariate(s.short.rate)
    while now < s.end:
        packets = max(1, round(least * dice.paretovariate(s.short.shape)))
        found.append((now, min(packets, 10**9) * payload))
        now += dice.expovariate(s.short.rate)
    return found


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
