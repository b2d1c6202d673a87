# SPDX-License-Identifier: GPL-2.0
"""The commands for tc: delays, losses, shapers and queues, and the effects of hosts' cards."""

import re

from ..model.parse import BurstLoss
from ..model.settings import ETHERNET_HEADER, RED_MAX, SFQ_DEPTH, SHAPING, WARN, Settings
from .topology import Row, ways_back
from .traffic import FIRST_PORT

NO_LIMIT = "limit 100000000"

# Qdiscs that the tc of Debian 12 and 13 does not know, and the first kernel that has them.
NEWER = {"dualpi2": "6.17"}

ECHO = 0xFD08AC50  # the first bytes of an ACP echo; see tcpcc_feedback.h

# host=nic: the time from the first packet to the interrupt, similar to the default of drivers of
# fast cards (rx-usecs); and the CPU time for an ACK.
MODERATION_S = 50e-6
POLL_GAP_S = 0.3e-6
# host=slow: the time for an ACK on a processor that QEMU emulates.
SLOW_GAP_S = 4e-6
# host=vm: the range of times for which ACKs wait while the virtual machine is not running.
ASLEEP_S = (1e-3, 20e-3)

# An entry of this value in netem's table means a delay of 1 jitter (NETEM_DIST_SCALE).
NETEM_TABLE_ONE = 8192


# With a rate, netem keeps packets in order when the delay becomes shorter.  This rate is so high
# that it adds no delay.
IN_ORDER = " rate 100tbit"


def queues(s: Settings, row: Row, name: str) -> list[str]:
    """The tc commands for one namespace, one per line."""
    if name in row.senders:
        device = row.hops[row.senders.index(name)].device(name)
        lines = [_link("add", s, s.access, device)] if s.access else []
        where = "parent 1: handle 10:" if s.access else "root"
        lines += [f"qdisc add dev {device} {where} fq"] * ("fq" in s.host)
        return lines + _lies(s, row, name, device)
    if name in row.d:
        k = row.d.index(name)
        cards = [line for device, *_ in ways_back(row, k) for line in _chain(device, _card(s), 1)]
        return [*delays("add", s, row, k), *cards, *_single_loss(s)]
    if name in row.b:
        k = row.b.index(name)
        rate = row.net.links[k].rate
        return [*bottleneck("add", s, row, k, rate), *_delay_back(row, k), *_back(s),
                *_thinner(s), *_policer(s)]  # fmt: skip
    if name == "a":
        # tc accepts a table only together with a delay, of at least 1 us.
        late = f"delay {_tc_time(1e-6)} {_tc_time(s.late)} distribution late" * bool(s.reorder)
        # One netem for both reordering and loss, because only the first netem gets the run's seed.
        first = f"{late}{_bursts(s.burstloss) if s.burstloss else _lost(s.last_hop)}".strip()
        interrupt = [_slot(MODERATION_S)] * ("nic" in s.host)
        acks, data = ([_slot(gap)] if gap else [] for gap in (s.batch, s.aggregate))
        return [
            *_chain("a-b", acks),
            *_chain("a-r", [*[first] * bool(first), *data, *interrupt]),
            *(f"qdisc add dev {door} ingress" for door in ("a-b", "a-r") if s.blackout),
        ]
    return []


def _slot(least: float, most: float | None = None) -> str:
    """netem's option for batches: the first packet waits from least to most, s (default: least),
    then all packets leave together."""
    return f"slot {_tc_time(least)} {_tc_time(least if most is None else most)}"


def _card(s: Settings) -> list[str]:
    """netem's options for ACKs in the sender's card and driver, in the order of the path."""
    held = [_slot(MODERATION_S)] * ("nic" in s.host) + [_slot(*ASLEEP_S)] * ("vm" in s.host)
    # A cell is larger than any packet, so that each packet takes the same time, as in a CPU.
    cell = 30_000
    slow = "slow" in s.host
    poll = f"rate {round(cell * 8 / (SLOW_GAP_S if slow else POLL_GAP_S))}bit 0 {cell}"
    return [*held, poll] if held or slow else []


def _chain(device: str, options: list[str], above: int = 0) -> list[str]:
    """Commands for a netem per option, each a child of the one before.

    above: number of netems that the device already has.
    """
    lines = []
    for k, option in enumerate(options, above + 1):
        place = f"parent {k - 1}: handle {k}:" if k > 1 else "root"
        place += " handle 1:" if k == 1 and len(options) > 1 else ""
        lines.append(f"qdisc add dev {device} {place} netem {option} {NO_LIMIT}")
    return lines


def _lies(s: Settings, row: Row, name: str, device: str) -> list[str]:
    """Changes the rates in ACP echoes at the sender's device; the echo is the first TCP option."""
    filters = [
        f"filter add dev {device} ingress protocol ip u32 match u32 {ECHO:#x} 0xffffffff at 40"
        f" match u16 {FIRST_PORT + lie.flow} 0xffff at 22 action pedit munge offset 44 u32 set"
        f" {lie.word} pipe action csum tcp"
        for lie in s.lie if row.senders[row.net.users[lie.flow].group] == name
    ]  # fmt: skip
    return [f"qdisc add dev {device} ingress", *filters] if filters else []


# The lateness of a real kernel's timers that the shaper's burst compensates.
REAL_SLACK_S = 1e-4


def for_stock_kernels(text: str, s: Settings) -> str:
    """Converts commands of this package for a kernel without the lab's link qdisc: tbf replaces it.

    If the queue below is a SHAPING qdisc, it becomes the root without tbf, because two shapers with
    late timers would lose rate.
    """
    link = r"root handle 1: link rate (\d+)bit.*"
    text = re.sub(rf"{link}\n.* parent 1: handle 10: ({'|'.join(SHAPING)}) ",
                  r"root handle 1: \2 ", text)  # fmt: skip

    def tbf(found: re.Match[str]) -> str:
        rate = int(found[1])
        burst = s.frame + round(rate / 8 * REAL_SLACK_S)
        return f"root handle 1: tbf rate {rate}bit burst {burst} limit 1gb"

    return re.sub(link, tbf, re.sub(r"modprobe sch_link.*\n", "", text))


def _lost(share: float) -> str:
    """netem's option for random loss, to be appended to other options."""
    return f" loss random {share * 100:.9g}%" if share else ""


def _bursts(b: BurstLoss) -> str:
    """netem's option for bursts of losses; its parameter 1-k is the loss in the good state."""
    chances = (b.bad, b.good, b.lost, b.else_lost)
    return " loss gemodel " + " ".join(f"{chance * 100:.9g}%" for chance in chances)


def delays(verb: str, s: Settings, row: Row, k: int) -> list[str]:
    """The commands for link k's d: the link's delay for data, and for ACKs the rest of the rtt of
    each sender.  verb: add or change."""
    d, forward = row.d[k], row.net.links[k].delay
    delay = _tc_time(forward)
    loss = _lost(s.loss) + (f" duplicate {s.duplicate * 100:.9g}%" if s.duplicate else "")
    order = IN_ORDER * bool(s.rtt_trace)
    if s.jitter:
        delay, order = _at_random(forward, s.jitter), IN_ORDER
    handle = " handle 1:" if _card(s) else ""
    back = IN_ORDER * bool(s.rtt_trace)
    return [
        f"qdisc {verb} dev {d}-{row.b[k]} root netem delay {delay}{order}{loss} {NO_LIMIT}",
        *(f"qdisc {verb} dev {device} root{handle} netem delay"
          f" {_at_random(rest, most) + IN_ORDER if most else _tc_time(rest) + back} {NO_LIMIT}"
          for device, rest, most in ways_back(row, k)),
    ]  # fmt: skip


def _at_random(least: float, more: float) -> str:
    """netem's delay from least to least + more, s, as its mean and deviation."""
    return f"{_tc_time(least + more / 2)} {_tc_time(more / 2)}"


def _delay_back(row: Row, k: int) -> list[str]:
    if len(row.b) == 1:
        return []
    device = row.between(row.b[k], row.d[k]).device(row.b[k])
    delay = _tc_time(row.net.links[k].delay)
    return [f"qdisc add dev {device} root netem delay {delay} {NO_LIMIT}"]


def _back(s: Settings) -> list[str]:
    """The commands for a bottleneck on the path of the ACKs."""
    if not s.back:
        return []
    below = f"qdisc add dev b-d parent 1: handle 10: pfifo limit {s.back.packets}"
    return [_link("add", s, s.back.rate, "b-d"), below]


def _thinner(s: Settings) -> list[str]:
    """The command for an ACK filter: cake.

    The first ACK of a batch passes at once.  While the others wait for the shaper, the filter keeps
    only one ACK of each flow; the wait is short.
    """
    thinner = "cake bandwidth 1gbit besteffort flows ack-filter-aggressive"
    return [f"qdisc add dev b-d root {thinner}"] * s.thin


def _single_loss(s: Settings) -> list[str]:
    """Drops one data packet at d: gact selects every n-th packet, and a policer only the first.

    A packet that conforms is dropped.  The policer's tokens are enough for one packet, and for the
    next only after 200 s.  The first two packets open the connection, so n is s.drop + 2.
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
    """Polices the packets that arrive at b; there they do not have Ethernet headers (overhead)."""
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


def bottleneck(verb: str, s: Settings, row: Row, k: int, rate: int) -> list[str]:
    devices = row.traced(s) or [row.exits[k]] + ["b-d"] * bool(s.reverse)
    return [line for device in devices for line in _shaper(verb, s, rate, s.buffer_of(k), device)]


def _shaper(verb: str, s: Settings, rate: int, limit: int, device: str) -> list[str]:
    # A link with a trace has no option that can change.  The queue is the second command, because
    # if tbf replaces the link, a change of tbf also sets the limit of the queue below.
    traced = bool(s.trace)
    link = [] if traced and verb == "change" else [_link(verb, s, rate, device, traced)]
    below = f"qdisc {verb} dev {device} parent 1: handle 10: {_queue(s, rate, limit)}"
    return [*link, below + (f" {s.router}" if s.router else "")]


def _queue(s: Settings, rate: int, limit: int) -> str:
    """The queue below the link, for up to limit packets.

    cake and dualpi2 mark if hosts use ECN.
    """
    if s.qdisc in SHAPING:
        return f"{s.qdisc} bandwidth {rate}bit limit {limit}"
    if s.qdisc == "cake":
        return f"cake unlimited memlimit {limit * _memory_of(s.frame)}"
    ecn = " ecn" if s.ecn and s.qdisc in ("codel", "pie", "fq_pie", "red") else ""
    ecn += " noecn" if not s.ecn and s.qdisc == "fq_codel" else ""
    if s.qdisc == "red":
        return f"red {_red(s.frame, rate, limit)}{ecn}"
    if s.qdisc == "warn":
        return f"red {_warn(s.frame, rate, limit)} ecn nodrop"
    # Set the other limits, of a flow and of bytes, so that limit is reached first.
    of_flow = {"fq": f" flow_limit {limit}", "sfq": f" depth {min(limit, SFQ_DEPTH)}"}
    memory = max(32 << 20, limit * _memory_of(s.frame))
    of_memory = {"fq_codel": "memory_limit", "fq_pie": "memory_limit", "dualpi2": "memlimit"}
    more = f" {name} {memory}" if (name := of_memory.get(s.qdisc)) else of_flow.get(s.qdisc, "")
    return f"{'pfifo' if s.qdisc == 'fifo' else s.qdisc} limit {limit}{more}{ecn}"


def _memory_of(frame: int) -> int:
    """The kernel's memory for a packet: the skb, and a power of two for data and shared info."""
    return 256 + (1 << (frame + 320).bit_length())


def _red(frame: int, rate: int, limit: int) -> str:
    """red's parameters: tc's defaults, computed from the buffer as its man page recommends."""
    size = limit * frame
    most = size // RED_MAX
    least = most // 3
    burst = (2 * least + most) // (3 * frame)
    return (
        f"limit {size} min {least} max {most} probability 0.02 avpkt {frame} burst {burst}"
        f" bandwidth {rate}bit"
    )


def _warn(frame: int, rate: int, limit: int) -> str:
    """red as a threshold: max is min + 1, and the average almost equals the queue.

    tc chooses the weight 1/2, the fastest average, for a burst as long as min.
    """
    start = limit // WARN
    return (
        f"limit {limit * frame} min {start * frame} max {start * frame + 1} probability 1"
        f" avpkt {frame} burst {start} bandwidth {rate}bit"
    )


def _link(verb: str, s: Settings, rate: int, device: str, traced: bool = False) -> str:
    """The command for the wire; traced: it follows a trace, in place of the rate.

    It splits large packets (split 1), except above this project's qdiscs, which do that themselves.
    """
    how = "" if traced else f" rate {rate}bit split {int(s.offload and s.qdisc not in SHAPING)}"
    return f"qdisc {verb} dev {device} root handle 1: link{how}"


def _tc_time(seconds: float) -> str:
    """A time for tc, with a resolution of 1 ns: in us, because tc 6.1 does not accept ns."""
    return f"{round(seconds * 1e9) / 1000:.10g}us"
