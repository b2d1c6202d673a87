# SPDX-License-Identifier: GPL-2.0
"""The shell script for the setup of a run: modules, namespaces, cables, addresses, routes, queues.

It runs on any Linux kernel; on the lab kernel it runs in virtual time.
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
from .queues import NETEM_TABLE_ONE, NEWER, bottleneck, delays, queues
from .topology import Hop, Row, has_a
from .traffic import START_NS

TALK, VIDEO = "talk.plan", "video.plan"  # file names
SCHEDULE = "schedule"  # prefix of the file SCHEDULE.NAMESPACE: the changes in that namespace
NEWER_TC = "newer"  # directory with a newer tc, for the qdiscs of NEWER
PROGRAM = "user"  # prefix of the file PROGRAMn: the user's program number n

# host=default: the values of Debian on a machine with 4 GB or more.
DEFAULT_RMEM, DEFAULT_WMEM = "4096 131072 6291456", "4096 16384 4194304"


def setup(s: Settings, row: Row, ccs: list[str], window: float, others: Others) -> str:
    """The text of the shell script.

    window: the bytes that path and buffer hold.  others: the user's modules.
    """
    # Eight windows: an skb uses up to four times the memory of its data, and only half of the
    # memory may be window.  More if host is set, because a sender may then overestimate its path.
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
        *_newer_tc(s),
        "",
        "# Modules and their parameters.",
        *_modules(s, ccs, others),
        "",
        limits,
        'sysctl -qw net.ipv4.tcp_mem="100000000 100000000 100000000" \\',
        f'  net.ipv4.tcp_rmem="{rmem}" \\',
        f'  net.ipv4.tcp_wmem="{wmem}" \\',
        # size of each namespace's table of sockets: /proc/net/tcpcc reads all entries
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


def _newer_tc(s: Settings) -> list[str]:
    """Where the directory does not exist, the distribution's tc is used."""
    if s.qdisc not in NEWER:
        return []
    return ["", f"# {s.qdisc} is newer than the tc of most distributions.",
            f'PATH="$PWD/{NEWER_TC}:$PATH"']  # fmt: skip


def _programs(s: Settings, row: Row, cc: str) -> list[str]:
    """Starts the user's programs; the routes set the congestion control of their connections."""
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
    """The changes during a run, for each namespace: lines with a time and a tc command.

    The time is in ns from the beginning of traffic.
    """
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
    """The settings with the rtt and the loss at the beginning of the run."""
    return replace(s, rtt=(s.steps[0][1],), loss=s.steps[0][2]) if s.steps else s


def addresses(s: Settings, row: Row, name: str) -> list[str]:
    """The ip commands for one namespace."""
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
    """Commands that make a host send and receive packets of the size on the wire.

    TCP always makes large packets (since 4.17).  Without offload they are cut when they leave TCP.
    """
    if name == "a" and "nic" in s.host:
        return ["ethtool -K a-r tso off"]  # with tso on, veth would bypass GRO at r
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
    """The comment in the script about namespace a."""
    if not (s.last_hop or s.burstloss or s.reorder or s.blackout or "nic" in s.host):
        return "the first packet of a batch waits for others, and all leave together"
    what = {
        "losses of the last hop": s.last_hop or s.burstloss, "late packets": s.reorder,
        "batches": s.batch or s.aggregate,
        "the receiver's interrupts": "nic" in s.host, "blackouts": s.blackout,
    }  # fmt: skip
    return ", ".join(name for name, there in what.items() if there)


def _modules(s: Settings, ccs: list[str], others: Others) -> list[str]:
    """The commands that load modules and set their parameters.

    modprobe does nothing for a built-in module, and fails if a module does not exist.
    """
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
    """This project's congestion controls, whose fields /proc/net/tcpcc shows.

    Each is a module tcp_NAME, or an alias of one.
    """
    found = set()
    for path in REPO.glob("tcp_*.c"):
        found.add(path.stem.removeprefix("tcp_"))
        found |= set(re.findall(r'^MODULE_ALIAS\("tcp_(\w+)"\)', path.read_text(), re.M))
    return frozenset(found)


def sysctls(s: Settings, name: str) -> list[str]:
    """The sysctl commands for one namespace.

    IPv6, or at least its link-local addresses, is off, so that its own packets are not on the
    links.  Because of the smaller table of connections the kernel would also lower two limits: of
    connections that are being opened, and of those in TIME_WAIT.  They are set to the values for a
    table of 32768 buckets.
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
    # exists in Linux 6.7 and later
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
    """The routes of a node in a tree or mesh: along the path of the data or ACKs to each host."""
    lines: dict[str, None] = {}
    for group in range(len(row.net.groups)):
        for way in row.ways(group):
            # the last node before the host is directly connected with it
            if name in way[:-2]:
                target = net(row.between(*way[-2:]))
                quick = " quickack 1" if s.ack == "every" and name in row.receivers.values() else ""
                lines[f"route add {target} {via(way[way.index(name) + 1])}{quick}"] = None
    return [*lines]


def _acquaintance(s: Settings, row: Row) -> list[str]:
    """Commands that open a first connection from each sender, for the setting ssthresh.

    TCP reads ssthresh from an entry in tcp_metrics, which copies it from the route.  The entry
    exists only after the end of a first connection.  That connection has no delay and no loss, so
    that other values of the entry, such as the rtt, have no effect on the next connection.
    """
    receiver = row.address("r", s.ip)
    lines = ["", "# A first connection of each sender, from which later ones know their ssthresh."]
    for sender in row.senders:
        save = f"ip netns exec {sender} sysctl -qw net.ipv4.tcp_no_metrics_save"
        meet = f"./agent meet {sender} {row.address(sender, s.ip)} r {receiver}"
        lines += [f"{save}=0", meet, f"{save}=1"]
    return lines
