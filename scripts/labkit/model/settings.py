# SPDX-License-Identifier: GPL-2.0
"""The settings of a run: their keys, their meaning, and the checks of their combinations."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from ..errors import LabError
from . import network, parse, traces, units
from .network import Network
from .parse import (
    App,
    Ask,
    Back,
    Blackout,
    BurstLoss,
    Change,
    Cross,
    JitterBack,
    Lie,
    Police,
    Program,
    Reorder,
    Short,
    Spread,
    Stop,
    Switch,
    Video,
    Voice,
)
from .traces import Sizes, Steps, Trace

MOST_SHORT = 20_000  # short flows in a run; limited by the number of ports
MOST_STEPS = 100_000  # of a path in a run
# Bytes that path and buffers hold.  A guest has 16 times as much memory (world/plan.py), and its
# kernel does not boot with more than about 500 GB.
MOST_HELD = 25 * 10**9

ETHERNET_HEADER = 14  # bytes; Linux does not count the frame check sequence

# Bytes of the TCP and IP headers, with timestamps, by IP version: mtu - mss.
HEADERS = {4: 52, 6: 72}


def usage(message: str) -> LabError:
    """An error in the user's input."""
    return LabError(message, status=2)


_NETWORKS = ", ".join(network.names())

# The qdiscs for the bottleneck.  QUEUES have the buffer's length, and are children of the qdisc
# that models the wire.  SHAPING qdiscs limit the rate themselves.
QUEUES = ("fifo", "fq_codel", "codel", "pie", "fq_pie", "red", "warn", "cake", "dualpi2", "sfq",
          "fq")  # fmt: skip
SHAPING = ("acp", "estcp", "rcp", "xcp")

# Options of tc that have a key of their own, and that key.
SAID_BY = {
    "limit": "buffer", "memlimit": "buffer", "memory_limit": "buffer", "flow_limit": "buffer",
    "depth": "buffer", "bandwidth": "rate", "unlimited": "rate", "ecn": "ecn", "noecn": "ecn",
}  # fmt: skip

# red's upper threshold is buffer / RED_MAX, tc's default.  There red has its full probability.
RED_MAX = 4
# warn marks from buffer / WARN on.  The threshold of TCP New Jersey is not known.
WARN = 3
# The most packets that sfq queues for one flow (SFQ_MAX_DEPTH).
SFQ_DEPTH = 127
# The smallest buffer for red, in packets: tc finds no weight for an average over fewer packets.
RED_BUFFER = 24
# The kernel stores red's average and its weight in 32 bits, and refuses limits that can overflow
# them.  So packets**2 * (bytes per packet) must not be larger than this.
RED_PRODUCT = 10**11


@dataclass(frozen=True)
class Key:
    """One setting: the parser of its text, its default (None: not set), and its description."""

    parse: Callable[[str], Any]
    default: str | None
    help: str


KEYS: dict[str, Key] = {
    "rate": Key(units.rate, "100mbit", "rate of the bottleneck; it counts Ethernet headers (14"
                " bytes per packet)"),
    "rtt": Key(parse.times, "40ms", "round-trip time without queueing; for each flow: 20ms,80ms or"
               " evenly spread: 40ms-200ms"),
    "buffer": Key(parse.buffer, "1bdp", "buffer of the bottleneck: packets, or BDPs of the shortest"
                  " rtt: 0.5bdp"),
    "loss": Key(units.loss, "0", "random loss of data packets (not of acknowledgments) before the"
                " bottleneck: 1e-4"),
    "last_hop": Key(units.loss, "0", "random loss of data packets (not of acknowledgments) behind"
                    " the bottleneck, as on a wireless last hop: 1e-4"),
    "trace": Key(traces.trace, None, "in place of rate: a file in Mahimahi's format. Each line is a"
                 " time in ms when one packet of 1500 bytes may leave the bottleneck; after the"
                 " last line the trace repeats. Paths are relative to the repository's root. A"
                 " second file is for the way back:"
                 " scripts/traces/cellular-down.gz,scripts/traces/cellular-up.gz"),
    "rtt_trace": Key(traces.steps(units.time(1e-6, 10), "45ms"), None, "in place of rtt: a file"
                     " with a time in seconds and a round-trip time in each line, which holds until"
                     " the next line; packets stay in order. If the last line is only a time, the"
                     " trace repeats after it: scripts/traces/orbit.rtt"),
    "loss_trace": Key(traces.steps(units.loss, "0.1%"), None, "in place of loss: a file with a time"
                      " in seconds and a loss in each line, as in rtt_trace:"
                      " scripts/traces/orbit.loss"),
    "burstloss": Key(parse.burst_loss, None, "in place of last_hop: losses in bursts"
                     " (Gilbert-Elliott model). The probabilities, for each packet, that a burst"
                     " begins and that it ends; then the loss in a burst (default 1) and outside"
                     " (default 0): 0.01:0.3 or 1%:30%:80%:0.1%"),
    "duplicate": Key(units.loss, None, "share of the data packets that are duplicated before the"
                     " bottleneck: 0.01"),
    # gact counts to 10 000, and the first two packets open the connection.
    "drop": Key(units.count(1, 9998), None, "drops one data packet of a single flow, by its number:"
                " 330"),
    "jitter": Key(units.time(1e-6, 1), None, "random delay of data packets, from 0 to this; they"
                  " stay in order: 5ms"),
    "jitter_back": Key(parse.jitters, None, "random delay of some flows' acknowledgments: flow"
                       " number (from 0) and largest delay; they stay in order: 1:5ms,2:1ms"),
    "qdisc": Key(units.choice(*QUEUES, *SHAPING), "fifo", "qdisc of the bottleneck:"
                 f" {', '.join((*QUEUES, *SHAPING))}. All options but those that buffer and ecn set"
                 " are tc's defaults. red: max is a quarter of the buffer, min a third of max;"
                 " warn: red that marks every packet while the queue is longer than a third of the"
                 " buffer, and drops none before the buffer is full; cake: without its shaper, with"
                 " the buffer as its memory limit for full packets; dualpi2: needs Linux 6.17"
                 " or newer, such as --kernel 7.2, and the lab then takes tc from Debian sid"),
    "router": Key(parse.router, None, "more options of the qdisc, in tc's syntax: target 5ms"),
    "flows": Key(units.count(0, 5000), "1", "number of flows; 0 is for runs in which only video,"
                 " program, voice or ask send"),
    "mix": Key(parse.mix, None, "number of flows of each congestion control, in place of flows:"
               " ccpd:2,cubic:2"),
    "start": Key(units.time(0, 1e6), "0", "seconds between the start of one flow and that of the"
                 " next"),
    "stop": Key(parse.stops, None, "ends some flows before the run ends: flow number (from 0) and"
                " seconds: 1:20,2:30"),
    "scatter": Key(units.time(1e-9, 1e6), None, "each flow starts later by a random time from 0 to"
                   " this, which depends on the seed: 10ms"),
    "bytes": Key(units.size, None, "bytes that each flow sends; the run ends when all have arrived:"
                 " 100M"),
    "duration": Key(units.time(0.01, 1e6), None, "seconds of the run, if bytes is not set (default"
                    " 10)"),
    "network": Key(parse.network, None, "in place of rate, rtt, flows, start and mix: the path of a"
                   f" network file (./net.toml), or one of {_NETWORKS}"),
    "scale": Key(lambda t: units.number(t, 1e-6, 1e3), None, "factor for all rates of a network:"
                 " 0.1"),
    "short": Key(parse.short, None, "additional short flows: arrivals per second, mean packets,"
                 " shape of the Pareto distribution, and congestion control (default: that of the"
                 " other flows): 100:30:1.35 or 100:30:1.35:cubic"),
    "sizes": Key(traces.sizes, None, "in place of short's mean and shape: a file with a number of"
                 " bytes in each line, of which each short flow takes a random one; set short=100,"
                 " without mean and shape"),
    "voice": Key(parse.voice, None, "calls in the data's direction, whose delays and losses are"
                 " measured: how many, and optionally bytes and interval of their UDP datagrams"
                 " (default 172 bytes every 20 ms): 2 or 2:172/20ms"),
    "ask": Key(parse.ask, None, "clients beside the receivers. Each one sends a request on its own"
               " connection to a server beside the senders, waits for the full response, pauses,"
               " and starts again. How many, bytes of request and response, and the mean of the"
               " exponential pause; the server uses the senders' congestion control: 5:400:50k:1s"),
    "video": Key(parse.video, None, "viewers beside the receivers, of a video on a server beside"
                 " the senders, which uses the senders' congestion control. How many; the bit"
                 " rates, and the length of a chunk; what selects the next bit rate: buffer (how"
                 " much video the viewer has stored) or rate (throughput of the chunks before); and"
                 " how much video a viewer can store. 1 is short for"
                 " 1:300k+750k+1200k+1850k+2850k+4300k/4s:buffer:30s"),
    "program": Key(parse.programs, None, "your own programs on the path's hosts, and when they"
                   " start (default 0). Their environment has SENDER and RECEIVER (addresses), CC,"
                   " DURATION and HERE (the program's folder): s0:./serve,r@0.1:./fetch"),
    "stages": Key(parse.stages, None, "seconds at which new stages begin; each stage is measured by"
                  " itself: 20,40"),
    "access": Key(units.rate, None, "rate of each sending host's link, which all flows with the"
                  " same rtt share: 1gbit"),
    "mtu": Key(units.count(576, 9000), "1500", "MTU of every link, in bytes"),
    "app": Key(parse.app, None, "each flow's program does not send all the time, but writes this"
               " many bytes once in each interval: 250k/100ms; several sizes take turns:"
               " 12k+290k/5s; results have the time of each write until its last byte's arrival"),
    "ssthresh": Key(parse.ssthresh, None, "initial slow start threshold: packets, or 1bdp; bbr"
                    " ignores it: 100"),
    "reverse": Key(parse.reverse, None, "bulk flows in the other direction, through a second"
                   " bottleneck like the first: cubic:2"),
    "back": Key(parse.back, None, "bottleneck on the way back: its rate, and the size of its queue"
                " in packets (default 1000): 1mbit or 1mbit:50"),
    "police": Key(parse.police, None, "policer that drops packets beyond a rate and a burst in"
                  " bytes (default: 50 ms at the rate): 50mbit:250k"),
    "batch": Key(units.time(1e-6, 1), None, "acknowledgments arrive in batches, one batch in each"
                 " interval of this length: 1ms"),
    "thin": Key(units.on_off, "off", "with batch: of each flow's acknowledgments in one batch at"
                " most two are forwarded, the first and one that replaces all others (by cake): on"
                " or off"),
    "aggregate": Key(units.time(1e-6, 1), None, "data packets arrive in batches, one batch in each"
                     " interval of this length, as over Wi-Fi: 4ms"),
    "reorder": Key(parse.reorder, None, "share of the data packets that are delayed behind the"
                   " bottleneck, so that others overtake them, and their delay: a time, or the time"
                   " to send so many full packets; nothing is lost: 0.01:20 or 1%:5ms"),
    "blackout": Key(parse.blackouts, None, "times without any packet behind the bottleneck, in both"
                    " directions: start and length in seconds; packets are dropped, not held:"
                    " 5:1.5,9:0.3"),
    "switch": Key(parse.switches, None, "changes the congestion control of all running flows:"
                  " seconds and the new one: 5:cubic,8:ccpd_path"),
    "lie": Key(parse.lies, None, "receivers that echo a false rate in place of the rate from ACP's"
               " routers: flow number (from 0) and rate: 0:400gbit,3:18mbit"),
    "cross": Key(parse.cross, None, "UDP traffic at a constant rate through the bottleneck: rate,"
                 " and start and end in seconds: udp:50mbit:0-50"),
    "change": Key(parse.changes, None, "changes of the path during the run, with their times in"
                  " seconds: 10:rtt=80ms,20:rate=50mbit,30:loss=0"),
    "param": Key(parse.params, None, "parameter of a module; may be repeated: tcp_ccpd.kp=4"),
    "ip": Key(lambda text: int(units.choice("4", "6")(text)), "4", "IP version: 4 or 6"),
    "offload": Key(units.on_off, "off", "segmentation offload on hosts: on or off"),
    "ack": Key(units.choice("delayed", "every"), "delayed", "acknowledgments that receivers send:"
               " delayed (TCP's usual ones), or every (one for each segment)"),
    "host": Key(parse.host, "exact", "what hosts do in addition to TCP. exact: nothing that TCP"
                " does not need. nic: interrupts 50 us after the first packet at both ends,"
                " acknowledgments processed 0.3 us apart, TSO at the sender, GRO of up to 64 kB at"
                " the receiver. fq: fq as the sender's root qdisc, for pacing. default: Debian's"
                " tcp_rmem and tcp_wmem with autotuning. vm: too little CPU, so that"
                " acknowledgments wait for 1 to 20 ms. slow: acknowledgments processed 4 us apart."
                " Several: nic,fq"),
    "ecn": Key(units.on_off, "off", "explicit congestion notification, on hosts and in a qdisc that"
               " can mark (fq_codel, codel, pie, fq_pie, red, warn, cake, dualpi2): on or off"),
    "sample": Key(units.time(0, 10), None, "interval between samples of the time series; 0: no"
                  " samples (default 5ms; after 1000 samples, up to a quarter of the shortest rtt);"
                  " after 5000 samples it doubles"),
    "sample_fixed": Key(units.time(1e-6, 10), None, "in place of sample: an interval that does not"
                        " double before 200000 samples"),
    "sample_links": Key(units.time(1e-6, 10), None, "in place of sample: such an interval for the"
                        " samples of the links alone; that of the flows is the default, rounded up"
                        " to a multiple of this"),
    "timeout": Key(units.time(0.1, 1e6), None, "virtual seconds until all bytes must have arrived"
                   " (default 300)"),
}


@dataclass(frozen=True, repr=False)
class Settings:
    """The parsed settings of a run, in seconds, bits per second, bytes and packets."""

    rate: int
    rtt: tuple[float, ...]
    buffer: str
    loss: float
    last_hop: float
    qdisc: str
    flows: int
    start: float
    mtu: int
    ip: int
    offload: bool
    ack: str
    ecn: bool
    mix: tuple[tuple[str, int], ...] | None = None
    jitter: float | None = None
    app: App | None = None
    ssthresh: str | None = None
    drop: int | None = None
    reverse: tuple[str, int] | None = None
    police: Police | None = None
    batch: float | None = None
    aggregate: float | None = None
    access: int | None = None
    bytes: int | None = None
    duration: float | None = None
    host: tuple[str, ...] = ()
    reorder: Reorder | None = None
    blackout: tuple[Blackout, ...] = ()
    switch: tuple[Switch, ...] = ()
    lie: tuple[Lie, ...] = ()
    cross: tuple[Cross, ...] = ()
    change: tuple[Change, ...] = ()
    param: tuple[tuple[str, str, str], ...] = ()
    sample: float | None = None
    timeout: float | None = None
    network: str | None = None
    scale: float | None = None
    short: Short | None = None
    router: str | None = None
    stages: tuple[float, ...] = ()
    scatter: float | None = None
    # These settings are newer than the kept runs.  repr() omits an unset one, so that the key of a
    # run without it stays the same.
    trace: tuple[Trace, ...] = field(default=(), repr=False)
    rtt_trace: Steps | None = field(default=None, repr=False)
    loss_trace: Steps | None = field(default=None, repr=False)
    burstloss: BurstLoss | None = field(default=None, repr=False)
    duplicate: float | None = field(default=None, repr=False)
    thin: bool = field(default=False, repr=False)
    sizes: Sizes | None = field(default=None, repr=False)
    voice: Voice | None = field(default=None, repr=False)
    ask: Ask | None = field(default=None, repr=False)
    video: Video | None = field(default=None, repr=False)
    program: tuple[Program, ...] = field(default=(), repr=False)
    back: Back | None = field(default=None, repr=False)
    jitter_back: tuple[JitterBack, ...] = field(default=(), repr=False)
    stop: tuple[Stop, ...] = field(default=(), repr=False)
    sample_fixed: float | None = field(default=None, repr=False)
    sample_links: float | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """The text of the settings in a run's key: omits fields with repr=False that are unset."""
        shown = ((f, getattr(self, f.name)) for f in fields(self))
        said = (f"{f.name}={value!r}" for f, value in shown if f.repr or value != f.default)
        return f"{type(self).__qualname__}({', '.join(said)})"

    @cached_property
    def net(self) -> Network:
        """The links, hosts and users of the run."""
        if self.network is None:
            # There is at least one host, even without flows.
            rtts = self.rtt if len(self.rtt) > 1 else self.rtt * max(1, self.flows)
            jitter = {of.flow: of.most for of in self.jitter_back}
            hosts = [(rtt, jitter.get(flow, 0.0)) for flow, rtt in enumerate(rtts)]
            made = network.dumbbell(self.rate, hosts, self.start)
            stop = {of.flow: of.at for of in self.stop}
            users = (replace(u, stop=stop.get(n, u.stop)) for n, u in enumerate(made.users))
            return replace(made, users=tuple(users)[: self.flows])
        return network.scaled(_load(self.network), self.scale or 1)

    def buffer_of(self, link: int) -> int:
        """The buffer of a link, packets.  In a network the BDP is that of the longest rtt."""
        if self.network is None:
            return self.buffer_packets
        if not self.buffer.endswith("bdp"):
            return int(self.buffer)
        bits = self.net.links[link].rate * self.net.longest_rtt(link)
        return max(1, round(float(self.buffer[:-3]) * bits / 8 / self.frame))

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The start and the end of each stage, s."""
        at = (0.0, *self.stages, self.end)
        return list(pairwise(at))

    @property
    def frame(self) -> int:
        """Bytes of a full packet on the link."""
        return self.mtu + ETHERNET_HEADER

    @property
    def min_rtt(self) -> float:
        return min(self.rtt)

    @property
    def bdp(self) -> float:
        """The bandwidth-delay product of the path with the shortest rtt, in full packets."""
        return self.rate * self.min_rtt / 8 / self.frame

    @property
    def buffer_packets(self) -> int:
        if self.buffer.endswith("bdp"):
            return max(1, round(float(self.buffer[:-3]) * self.bdp))
        return int(self.buffer)

    @property
    def ssthresh_packets(self) -> int | None:
        if self.ssthresh and self.ssthresh.endswith("bdp"):
            return max(2, round(float(self.ssthresh[:-3]) * self.bdp))
        return self.ssthresh and int(self.ssthresh)

    @property
    def end(self) -> float:
        """Virtual seconds after which the run ends, even if flows are not complete."""
        return self.duration if self.bytes is None else self.timeout

    def capacity_bits(self, end: float) -> float:
        """The bits that the bottleneck can carry until end, s; a policer limits its rate."""
        if self.trace:
            return self.trace[0].bits(end) + end  # adds 1 bit/s, because callers divide by it
        most = self.police.rate if self.police else math.inf
        total, since, rate = 0.0, 0.0, min(self.rate, most)
        for change in self.change:
            if change.rate and change.at < end:
                total, since = total + rate * (change.at - since), change.at
                rate = min(change.rate, most)
        return total + rate * (end - since)

    def ccs(self, cc: str) -> list[str]:
        """The congestion control of each flow; cc: the --cc of the run, unused with a mix."""
        if self.mix:
            return [name for name, count in self.mix for _ in range(count)]
        return [cc] * self.flows

    def every_cc(self, cc: str) -> list[str]:
        """All congestion controls of a run: also those of reverse flows, short flows and switches.

        The first ones are those of ccs().
        """
        later = [switch.cc for switch in self.switch]
        if self.short and self.short.cc:
            later.append(self.short.cc)
        first = self.ccs(cc) or [cc]
        return first + ([self.reverse[0]] if self.reverse else []) + later

    @cached_property
    def steps(self) -> list[tuple[float, float, float]]:
        """The steps of rtt_trace and loss_trace; empty if neither is set.

        A step is its time, s, from 0 on, and the rtt and the loss from that time on.
        """
        found = {0.0: (self.rtt[0], self.loss)}
        of = [(at, k, value) for k, trace in enumerate((self.rtt_trace, self.loss_trace)) if trace
              for at, value in trace.until(self.end)]  # fmt: skip
        now = list(found[0.0])
        for at, k, value in sorted(of):
            now[k] = value
            found[at] = tuple(now)
        return [(at, *now) for at, now in found.items()] if of else []

    @property
    def late(self) -> float:
        """The extra delay of a reordered packet, s."""
        if not self.reorder or self.reorder.time:
            return self.reorder.time if self.reorder else 0.0
        return self.reorder.packets * self.frame * 8 / self.rate

    def as_json(self) -> dict[str, Any]:
        """The settings for the result, in SI units, without those that are not set."""
        shown = {f.name: getattr(self, f.name) for f in fields(self)}
        shown["buffer"] = self.buffer_packets
        shown["ssthresh"] = self.ssthresh_packets
        if len(self.net.links) > 1:
            shown["buffer"] = [self.buffer_of(k) for k in range(len(self.net.links))]
        shown["mix"] = self.mix and ",".join(f"{name}:{count}" for name, count in self.mix)
        shown["reverse"] = self.reverse and "{}:{}".format(*self.reverse)
        shown["police"] = self.police and vars(self.police)
        shown["app"] = self.app and {k: v for k, v in vars(self.app).items() if v != ()}
        shown["host"] = ",".join(self.host) or None
        shown["reorder"] = self.reorder and {"share": self.reorder.share, "late": self.late}
        shown["blackout"] = [vars(b) for b in self.blackout]
        shown["switch"] = [vars(s) for s in self.switch]
        shown["lie"] = [vars(lie) for lie in self.lie]
        shown["short"] = self.short and {k: v for k, v in vars(self.short).items() if v is not None}
        shown["voice"] = self.voice and vars(self.voice)
        shown["ask"] = self.ask and vars(self.ask)
        shown["video"] = self.video and vars(self.video)
        shown["program"] = [{k: v for k, v in vars(p).items() if k != "content"}
                            for p in self.program]  # fmt: skip
        shown["burstloss"] = self.burstloss and vars(self.burstloss) | {"mean": self.burstloss.mean}
        shown["thin"] = self.thin or None
        shown["back"] = self.back and vars(self.back)
        shown["jitter_back"] = [vars(j) for j in self.jitter_back]
        shown["stop"] = [vars(s) for s in self.stop]
        shown["trace"] = [{"path": t.path, "digest": t.digest} for t in self.trace]
        for name in ("rtt_trace", "loss_trace", "sizes"):
            if of := getattr(self, name):
                shown[name] = {"path": of.path, "digest": of.digest}
        shown["param"] = [f"{m}.{p}={v}" for m, p, v in self.param]
        shown["cross"] = [{"rate": c.rate, "start": c.start, "end": c.end} for c in self.cross]
        shown["change"] = [{k: v for k, v in vars(c).items() if v is not None} for c in self.change]
        return {k: v for k, v in shown.items() if v is not None and v not in ([], ())}


def _load(name: str) -> Network:
    try:
        return network.load(name, units.rate, units.seconds)
    except ValueError as error:
        raise LabError(str(error)) from None


# Keys that a network's file replaces, and keys that are only possible with a single link.
_OF_NETWORK = ("rate", "rtt", "flows", "start", "mix")
_SINGLE = ("trace", "rtt_trace", "loss_trace", "loss", "last_hop", "jitter", "reverse", "police",
           "batch", "aggregate", "cross", "change", "ssthresh", "drop", "bytes", "reorder",
           "blackout", "switch", "lie", "burstloss", "duplicate", "thin", "voice",
           "ask", "video", "program", "back", "jitter_back", "stop")  # fmt: skip


def _with_network(texts: dict[str, str], values: dict[str, Any]) -> None:
    """Adds the values that follow from the network; LabError if a key excludes a network."""
    for name in _OF_NETWORK:
        if name in texts:
            raise usage(f"a network has its own {name}: drop {name}, or network")
    for name in _SINGLE:
        if name in texts:
            raise usage(f"{name} needs a single link: drop {name}, or network")
    net = network.scaled(_load(values["network"]), values.get("scale", 1))
    values["rate"] = max(link.rate for link in net.links)
    values["rtt"] = tuple(net.groups[user.group].rtt for user in net.users)
    values["flows"] = len(net.users)


def compile_settings(texts: dict[str, str]) -> Settings:
    """Parses all settings and checks their combination; LabError describes an error."""
    values: dict[str, Any] = {}
    for name, key in KEYS.items():
        text = texts.get(name, key.default)
        if text is None:
            continue
        try:
            values[name] = key.parse(text.strip())
        except ValueError as error:
            raise usage(f"{name}={text}: {name} takes {error}") from None
    if len(given := [name for name in values if name.startswith("sample")]) > 1:
        raise usage(f"{' and '.join(given)} exclude each other: set one of them")
    if "bytes" in values and "duration" in values:
        raise usage("bytes and duration exclude each other: set one of them")
    if "bytes" in values:
        values.setdefault("timeout", 300.0)
    else:
        values.setdefault("duration", 10.0)
        if values.pop("timeout", None) is not None:
            raise usage("timeout limits a run of bytes: set bytes, or drop timeout")
    if "network" in values:
        _with_network(texts, values)
        if one := [host for host in values["host"] if host in ("nic", "vm", "slow")]:
            raise usage(f"host={one[0]} needs a single link: drop host, or network")
    elif "scale" in values:
        raise usage("scale needs a network: set network, or drop scale")
    if "trace" in values:
        if "rate" in texts:
            raise usage("a trace has its own rate: drop rate, or trace")
        values["rate"] = values["trace"][0].rate
    for name in ("rtt", "loss"):
        if f"{name}_trace" in values and name in texts:
            raise usage(f"{name}_trace replaces {name}: drop {name}, or {name}_trace")
    if "rtt_trace" in values:
        values["rtt"] = (min(values["rtt_trace"].values),)
    if "mix" in values:
        total = sum(count for _, count in values["mix"])
        if "flows" in texts and values["flows"] != total:
            raise usage(f"mix has {total} flows: drop flows={values['flows']}")
        values["flows"] = total
    if isinstance(values["rtt"], Spread):
        values["rtt"] = values["rtt"].over(max(1, values["flows"]))
    if len(values["rtt"]) not in (1, values["flows"]):
        count = len(values["rtt"])
        if "flows" in texts or "mix" in texts:
            raise usage(f"rtt has {count} values for {values['flows']} flows: give 1, or one for"
                        " each flow")
        values["flows"] = count
    settings = Settings(**values)
    for steps in filter(None, (settings.rtt_trace, settings.loss_trace)):
        _few_enough(steps.in_whole_periods(settings.end))
    if settings.loss_trace:
        settings = replace(settings, loss=settings.loss_trace.mean(settings.end))
    if settings.ip == 6 and settings.mtu < 1280:
        raise usage(f"ip=6 needs an mtu of at least 1280, not {settings.mtu}")
    links = range(len(settings.net.links))
    if settings.qdisc == "red" and min(map(settings.buffer_of, links)) < RED_BUFFER:
        raise usage(f"qdisc=red needs a buffer of at least {RED_BUFFER} packets")
    slowest = max(settings.rtt) + settings.late + sum(
        filter(None, (settings.jitter, settings.batch, settings.aggregate))
    )
    ways = 2 if settings.reverse else 1
    queues = ways * sum(map(settings.buffer_of, links))
    held = settings.rate * slowest / 8 + queues * settings.frame
    if held > MOST_HELD / ways:
        raise usage(f"path and buffers would hold {held / 1e9:.3g} GB, and"
                    f" {MOST_HELD / ways / 1e9:g} is the most: lower rate, rtt or buffer")
    red_most = math.isqrt(RED_PRODUCT // settings.frame)
    if settings.qdisc == "red" and max(map(settings.buffer_of, links)) > red_most:
        raise usage(f"qdisc=red holds at most {red_most} packets of this size: make the buffer"
                    " smaller")
    if settings.qdisc == "sfq" and max(map(settings.buffer_of, links)) > SFQ_DEPTH:
        raise usage(f"qdisc=sfq holds at most {SFQ_DEPTH} packets of a flow: make the buffer"
                    " smaller")
    if settings.router and settings.qdisc in ("fifo", "warn"):
        raise usage(f"qdisc={settings.qdisc} has no options: drop router, or take another qdisc")
    if settings.router and settings.qdisc in QUEUES:
        for word in settings.router.split():
            if word in SAID_BY:
                raise usage(f"router={settings.router}: {SAID_BY[word]} sets {word}: drop {word}")
    if settings.qdisc == "warn" and not settings.ecn:
        raise usage("qdisc=warn needs ecn=on: it marks, and drops nothing before it is full")
    if settings.qdisc == "warn" and min(map(settings.buffer_of, links)) < WARN:
        raise usage(f"qdisc=warn needs a buffer of at least {WARN} packets")
    if not settings.flows:
        if not (settings.video or settings.program or settings.voice or settings.ask):
            raise usage("with flows=0 nothing sends: set video, program, voice or ask")
        if settings.bytes is not None:
            raise usage("bytes needs flows: set duration in place of bytes, or set flows")
    for program in settings.program:
        hosts = [*(f"s{k}" for k in range(len(settings.net.groups))), "r"]
        if program.host not in hosts:
            raise usage(f"program: no host {program.host}; there are: {', '.join(hosts)}")
        if program.at >= settings.end:
            raise usage(f"program: {program.path} would begin after the end of the run")
    if settings.police and settings.offload:
        raise usage("police needs offload=off")
    if settings.offload and "nic" in settings.host:
        raise usage("host=nic sets the offload of hosts: drop offload=on, or nic")
    if settings.offload and settings.reorder:
        raise usage("reorder delays single packets: it needs offload=off (host=nic may stay)")
    lossy = (settings.loss, settings.last_hop, *(c.loss for c in settings.change))
    if settings.offload and any(lossy):
        raise usage("loss drops single packets: it needs offload=off (host=nic may stay)")
    if settings.offload and (settings.burstloss or settings.duplicate):
        raise usage("burstloss and duplicate apply to single packets: they need offload=off"
                    " (host=nic may stay)")  # fmt: skip
    if settings.burstloss and settings.last_hop:
        raise usage("burstloss sets the losses of the last hop: drop last_hop, or burstloss")
    if settings.thin and not settings.batch:
        raise usage("thin needs acknowledgments in batches: set batch, or drop thin")
    if settings.thin and (settings.reverse or len(settings.trace) > 1):
        raise usage("thin needs a way back without a bottleneck: drop it, or reverse, or the second"
                    " trace")  # fmt: skip
    if settings.back and (settings.reverse or settings.thin or len(settings.trace) > 1):
        raise usage("back does not go with reverse, thin or a second trace, because they have their"
                    " own bottleneck on the way back: drop it, or them")
    of_jitter = [of.flow for of in settings.jitter_back]
    if of_jitter and (max(of_jitter) >= settings.flows or len({*of_jitter}) < len(of_jitter)):
        raise usage(f"jitter_back takes flows from 0 to {settings.flows - 1}, each once")
    if of_jitter and any(change.rtt for change in settings.change):
        raise usage("jitter_back does not go with a change of rtt: drop one of them")
    if of_jitter and settings.rtt_trace:
        raise usage("jitter_back does not go with rtt_trace: drop one of them")
    if settings.drop and (settings.flows != 1 or settings.offload or settings.short):
        raise usage("drop needs a single flow without offload and short: set flows=1 and"
                    " offload=off, and drop short")
    if settings.police:
        least, most = settings.frame, min(2**30, settings.police.rate * 100 // 8)
        if not least <= settings.police.burst <= most:
            raise usage(f"police takes a burst from {least} to {most} bytes,"
                         f" not {settings.police.burst}")  # fmt: skip
    if settings.lie and (settings.ip == 6 or settings.offload):
        raise usage("lie needs ip=4 and offload=off")
    if settings.lie and max(lie.flow for lie in settings.lie) >= settings.flows:
        raise usage(f"lie takes flows from 0 to {settings.flows - 1}")
    of_stop = [of.flow for of in settings.stop]
    if of_stop and (max(of_stop) >= settings.flows or len({*of_stop}) < len(of_stop)):
        raise usage(f"stop takes flows from 0 to {settings.flows - 1}, each once")
    if settings.bytes is not None and settings.stop:
        raise usage("stop is for flows without a number of bytes: drop bytes, or stop")
    if any(settings.net.users[of.flow].start >= of.at for of in settings.stop):
        raise usage("a flow would stop before it starts: change stop, or start")
    if any(of.at >= settings.end for of in settings.stop):
        raise usage("a flow would stop after the end of the run: change stop, or duration")
    last = max((user.start for user in settings.net.users), default=0) + (settings.scatter or 0)
    if last >= settings.end:
        raise usage(f"the last flow would start after the end of the run ({settings.end:g} s)")
    if settings.stages and settings.stages[-1] >= settings.end:
        raise usage(f"the last stage would begin after the end of the run ({settings.end:g} s)")
    for name, at in (("blackout", settings.blackout), ("switch", settings.switch),
                     ("change", settings.change)):  # fmt: skip
        if at and at[-1].at >= settings.end:
            raise usage(f"the last {name} would begin after the end of the run"
                         f" ({settings.end:g} s)")  # fmt: skip
    if bool(settings.sizes) != bool(settings.short and settings.short.mean is None):
        raise usage("sizes and a short with only arrivals need each other: set short=100 and"
                    " sizes=PATH")
    if settings.short and settings.mix and not settings.short.cc:
        raise usage("short flows beside a mix need a congestion control: short=100:30:1.35:cubic")
    if settings.short and settings.bytes is not None:
        raise usage("short flows need a duration: drop bytes, or short")
    if settings.short and settings.short.rate * settings.end > MOST_SHORT:
        raise usage(f"short makes at most {MOST_SHORT} flows in a run: shorten the run")
    if settings.trace:
        _with_trace(settings)
    _few_enough(len(settings.steps))
    if settings.steps and any(change.rtt or change.loss is not None for change in settings.change):
        raise usage("rtt_trace and loss_trace do not go with a change of rtt or loss: drop them, or"
                    " the change")
    if settings.change and (len(settings.rtt) > 1 or settings.qdisc in SHAPING):
        raise usage("change needs a single rtt, and a qdisc that does not shape")
    if settings.cross and any(c.end > settings.end for c in settings.cross):
        raise usage(f"cross traffic outlasts the run ({settings.end:g} s)")
    return settings


def _few_enough(steps: int) -> None:
    if steps > MOST_STEPS:
        raise usage(f"rtt_trace and loss_trace make {steps} changes, and {MOST_STEPS} is the most:"
                    " shorten the run, or take longer steps")


def _with_trace(settings: Settings) -> None:
    if settings.qdisc in SHAPING:
        raise usage(f"qdisc={settings.qdisc} has its own shaper: drop it, or trace")
    if settings.offload:
        raise usage("trace works on single packets: it needs offload=off (host=nic may stay)")
    if settings.police:
        raise usage("police has a constant rate, which does not follow a trace: drop police, or"
                    " trace")
    if any(change.rate for change in settings.change):
        raise usage("a trace has its own rate: drop it, or the change of rate")


def check_keys(given: Iterable[str]) -> None:
    for name in given:
        if name not in KEYS:
            raise usage(f"no setting {name!r}; there are: {', '.join(KEYS)}")
