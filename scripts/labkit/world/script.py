# SPDX-License-Identifier: GPL-2.0
"""The shell script that sets a run up: modules, namespaces, cables, addresses, routes, queues.

It runs on any Linux kernel; the lab's own gives it virtual time.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from operator import itemgetter
from pathlib import Path
from shlex import quote

from ..model.parse import REORDER_TABLE
from ..model.settings import SHAPING, Settings
from ..paths import REPO
from .others import Others
from .queues import NETEM_TABLE_ONE, bottleneck, delays, queues
from .topology import Hop, Row, has_a
from .traffic import START_NS

TALK, VIDEO = "talk.plan", "video.plan"  # files' names
SCHEDULE = "schedule"  # begins the name of a file: what changes in that namespace
PROGRAM = "user"  # begins the name of a file: the user's program of that number

# host=default: Debian's, on a machine with 4 GB or more.
DEFAULT_RMEM, DEFAULT_WMEM = "4096 131072 6291456", "4096 16384 4194304"


def setup(s: Settings, row: Row, ccs: list[str], window: float, others: Others) -> str:
    """The shell script; window is what path and buffer hold, in bytes; others are the user's own
    modules."""
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
        *_modules(s, ccs, others),
        "",
        limits,
        'sysctl -qw net.ipv4.tcp_mem="100000000 100000000 100000000" \\',
        f'  net.ipv4.tcp_rmem="{rmem}" \\',
        f'  net.ipv4.tcp_wmem="{wmem}" \\',
        # of each namespace: /proc/net/tcpcc looks at all of them
        "  net.ipv4.tcp_child_ehash_entries=4096 \\",
        "  net.core.netdev_max_backlog=10000000",
        "",
        "# Namespaces and the cables between them.",
        "ip -batch - <<END",
        *(f"netns add {n}" for n in row.spaces),
        *(f"link add {h.device(h.a)} netns {h.a} mtu {s.mtu} address {h.mac(h.a)} type veth"
          f" peer name {h.device(h.b)} netns {h.b} mtu {s.mtu} address {h.mac(h.b)}"
          for h in row.hops),
        *(f"netns exec {name} {command}"
          for name in row.spaces
          for command in (*sysctls(s, name), *offloads(s, row, name))),
        "END",
    ]  # fmt: skip
    for name in row.spaces:
        lines += ["", f"# {name}", f"ip {version}-n {name} -batch - <<END"]
        lines += [*addresses(s, row, name), "END"]
    if s.ssthresh:
        lines += _acquaintance(s, row)
    for d, b in zip(row.d, row.b, strict=True):
        lines += [
            "",
            f"# {d}: the path's delay, and its loss, which only data meets.",
            f"tc -n {d} -batch - <<END",
            *queues(_at_first(s), row, d),
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
    if has_a(s):
        lines += [
            "",
            f"# a: {_purpose_of_a(s)}.",
            "tc -n a -batch - <<END",
            *queues(s, row, "a"),
            "END",
        ]
    if moments := schedules(s):
        lines += ["", "# What changes in the course of a run, from the beginning of traffic on."]
        lines += [f"./play {START_NS} {SCHEDULE}.{name} | tc -n {name} -batch - ||"
                  f" echo 'what was to change in {name} failed' >failed &"
                  for name in moments]  # fmt: skip
    if s.voice or s.ask:
        lines += [
            "",
            "# Calls, and clients who ask.",
            f"./talk {START_NS} {TALK} || echo 'what is said beside the flows failed' >failed &",
        ]
    if s.video:
        lines += ["", "# Viewers of a video.",
                  f"./video {START_NS} {VIDEO} || echo 'the video failed' >failed &"]  # fmt: skip
    return "\n".join(lines + _programs(s, row, ccs[0])) + "\n"


def _programs(s: Settings, row: Row, cc: str) -> list[str]:
    """The user's programs, whose connections have the congestion control that their routes say."""
    lines = []
    hosts = [*row.senders, "r"] if s.program else []
    for host in hosts:
        ip = f"ip {'' if s.ip == 4 else '-6 '}-n {host} route"
        lines += ["", f"# {host}: the congestion control of the user's programs.",
                  f"{ip} change $({ip} show default) congctl {cc}"]  # fmt: skip
    for number, program in enumerate(s.program):
        environment = {
            "SENDER": row.address("s0", s.ip), "RECEIVER": row.address("r", s.ip), "CC": cc,
            "DURATION": f"{s.end:g}", "HERE": str((REPO / program.path).parent),
        }  # fmt: skip
        said = " ".join(f"{name}={quote(value)}" for name, value in environment.items())
        name = quote(Path(program.path).name)
        lines += [
            "",
            f"# {name} at {program.at:g} s.",
            f'ip netns exec {program.host} env {said} LD_PRELOAD="$PWD/patient.so"'
            f" ./program {number} {START_NS}"
            f" {START_NS + round(program.at * 1e9)} {PROGRAM}{number} ||"
            " echo 'a program could not be run' >failed &",
        ]
    return lines


def schedules(s: Settings) -> dict[str, str]:
    """What tc is told in the course of a run, by namespace: lines of the ns from the beginning of
    traffic on, and the command."""
    told: dict[str, list[tuple[float, list[str]]]] = {}
    row = Row(s)
    now = s
    for change in s.change:
        if change.rate:
            told.setdefault("b", []).append(
                (change.at, bottleneck("change", s, row, 0, change.rate)))  # fmt: skip
            continue
        now = replace(now, rtt=(change.rtt,)) if change.rtt else replace(now, loss=change.loss)
        told.setdefault("d", []).append((change.at, delays("change", now, Row(now), 0)))
    for at, rtt, loss in s.steps[1:]:
        now = replace(s, rtt=(rtt,), loss=loss)
        told.setdefault("d", []).append((at, delays("change", now, Row(now), 0)))
    for blackout in s.blackout:
        doors = [f"dev {door} ingress" for door in ("a-b", "a-r")]
        told.setdefault("a", []).extend([
            (blackout.at, [f"filter add {door} matchall action drop" for door in doors]),
            (blackout.at + blackout.length, [f"filter del {door}" for door in doors]),
        ])  # fmt: skip
    return {
        name: "".join(f"{round(at * 1e9)} {line}\n"
                      for at, lines in sorted(parts, key=itemgetter(0)) for line in lines)
        for name, parts in told.items()
    }  # fmt: skip


def _at_first(s: Settings) -> Settings:
    """With the rtt and the loss that the path begins with."""
    return replace(s, rtt=(s.steps[0][1],), loss=s.steps[0][2]) if s.steps else s


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


def _sender_queue(s: Settings) -> str:
    access, paced, lies = "as fast as its own link", "fq, which paces", "what receivers make up"
    return ", and ".join([access] * bool(s.access) + [paced] * ("fq" in s.host)
                         + [lies] * bool(s.lie))  # fmt: skip


def _purpose_of_a(s: Settings) -> str:
    """What the comment in the script says."""
    if not (s.last_hop or s.burstloss or s.reorder or s.blackout or "nic" in s.host):
        return "the first packet of a batch waits for others, and all leave together"
    what = {
        "losses of the last hop": s.last_hop or s.burstloss, "late packets": s.reorder,
        "batches": s.batch or s.aggregate,
        "the receiver's interrupts": "nic" in s.host, "blackouts": s.blackout,
    }  # fmt: skip
    return ", ".join(name for name, there in what.items() if there)


def _modules(s: Settings, ccs: list[str], others: Others) -> list[str]:
    """modprobe says nothing about what is built in, and fails for what does not exist."""
    options: dict[str, list[str]] = {}
    for module, name, value in s.param:
        options.setdefault(module, []).append(f"{name}={value}")
    ours = (f"tcp_{cc}" for cc in ccs if cc != "reno" and cc not in others.ccs)
    wanted = dict.fromkeys([*options, *others.of(ccs), *ours])
    if s.qdisc in SHAPING:
        wanted[f"sch_{s.qdisc}"] = None
    if not _viewed().isdisjoint(ccs):
        wanted["tcpcc_view"] = None
    lines = ["modprobe sch_link" + f' dir="$PWD" start={START_NS}' * bool(s.trace)]
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


def sysctls(s: Settings, name: str) -> list[str]:
    """Commands that set what sysctl is told in one namespace.

    Without IPv6, or at least its link-local addresses, its own chatter is not on the links.  With
    a smaller table of connections the kernel would also lower two limits, of connections that are
    not yet there and that have ended: they are set to those of a table of 32768 buckets.
    """
    quiet = ["net.ipv6.conf.all.disable_ipv6=1"] if s.ip == 4 else []
    if name[0] in "dbaj":
        forward = "net.ipv4.ip_forward=1" if s.ip == 4 else "net.ipv6.conf.all.forwarding=1"
        return ["sysctl -qw " + " ".join([*quiet, forward])]
    values = [*quiet, "net.ipv4.tcp_no_metrics_save=1", f"net.ipv4.tcp_ecn={int(s.ecn)}",
              "net.ipv4.tcp_max_syn_backlog=256", "net.ipv4.tcp_max_tw_buckets=16384"]  # fmt: skip
    if s.ssthresh and name[0] == "s":
        values.append("net.ipv4.tcp_no_ssthresh_metrics_save=0")
    if s.ack != "every":
        return ["sysctl -qw " + " ".join(values)]
    values.append("net.ipv4.tcp_comp_sack_nr=0")
    # from Linux 6.7 on
    return ["sysctl -qw " + " ".join(values), "sysctl -eqw net.ipv4.tcp_backlog_ack_defer=0"]


def _routes(s: Settings, name: str, row: Row) -> list[str]:
    def via(other: str) -> str:
        hop = row.between(name, other)
        return f"via {hop.address(other, s.ip)} dev {hop.device(name)}"

    def net(hop: Hop) -> str:
        return f"10.77.{hop.net}.0/24" if s.ip == 4 else f"fd77:0:0:{hop.net}::/64"

    if row.net.nodes:
        return _routes_of_nodes(s, name, row, net, via)
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
        if has_a(s):
            lines.append(f"route add {net(row.between('a', 'r'))} {via('a')}")
        return lines + [
            f"route add {net(row.between(row.door(j), r))} {via(row.d[k + 1])}"
            for j, r in row.receivers.items() if k <= j and k + 1 < len(row.d)
        ]  # fmt: skip
    if name in ("a", "x"):
        return [f"route add default {via('b')}"]
    last = next(k for k, r in row.receivers.items() if r == name)
    quick = " quickack 1" if s.ack == "every" else ""
    return [f"route add default {via('a' if has_a(s) else row.door(last))}{quick}"]


def _routes_of_nodes(
    s: Settings, name: str, row: Row, net: Callable[[Hop], str], via: Callable[[str], str]
) -> list[str]:
    """In a tree or mesh: to each host the way that its users' data, or acknowledgments, have."""
    lines: dict[str, None] = {}
    for group in range(len(row.net.groups)):
        for way in row.ways(group):
            # the last before a host has it on a cable
            if name in way[:-2]:
                target = net(row.between(*way[-2:]))
                quick = " quickack 1" if s.ack == "every" and name in row.receivers.values() else ""
                lines[f"route add {target} {via(way[way.index(name) + 1])}{quick}"] = None
    return [*lines]


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
