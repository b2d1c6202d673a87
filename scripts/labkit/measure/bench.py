# SPDX-License-Identifier: GPL-2.0
"""The cost of the modules, compared with bounds and with the cost of other modules.

run() boots guests one after the other.  Each measures the cost of an ACK in a congestion control
(tests/kunit/cc_bench.c), of a segment in a host (feedback_bench.c), of a packet in a router
(sch_bench.c), and the throughput of transfers.  The measurements are short and repeated, and their
median counts, so that other load on the machine has little influence.  A result is the median over
the independent guests, with their range.

count() runs the same programs on a kernel of Debian, emulated with a clock that counts
instructions.  So the results do not depend on the machine or its load.
"""

import json
import math
import os
import re
import shlex
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import LabError
from ..host import Progress
from ..paths import GUEST
from ..world import machine, stock
from ..world.guests import Guest
from ..world.laboratory import Laboratory
from ..world.stock import StockKernel

WHOLE = "from socket to socket"

# The measurements at hosts, by the name in feedback_bench.c: the bound, ns
HOSTS = {
    WHOLE: None,
    "empty hook": None,
    "no flow, out": 5,
    "no flow, in": 5,
    "others, out": 20,
    "others, in": 20,
    "others, in for nobody": 20,
    "others with cookies, out": 20,
    "sender, out": 100,
    "sender, TSO out": 100,
    "sender, in": 100,
    "receiver, in": 100,
    "receiver, out": 100,
}
FAMILIES = ("v4", "v6")

# Routers, and qdiscs for comparison: the arguments of tc, and the packets as parameters of
# sch_bench.c
ROUTERS = {
    "acp": ("acp bandwidth 1tbit", ""),
    "acp(newcomers=0)": ("acp bandwidth 1tbit newcomers 0", ""),
    "acp(police=0.1)": ("acp bandwidth 1tbit newcomers 1 police 0.1", ""),
    "estcp": ("estcp bandwidth 1tbit", "dsfield=12"),
    "xcp": ("xcp bandwidth 1tbit", "protocol=2"),
    "rcp": ("rcp bandwidth 1tbit", "protocol=3"),
    "fq_codel": ("fq_codel", ""),
    "pie": ("pie", ""),
    "cake": ("cake bandwidth 1tbit", ""),
    "cake(flows)": ("cake bandwidth 1tbit flows", ""),
    "pfifo": ("pfifo", ""),
}
OURS = ("acp", "estcp", "xcp", "rcp")  # bounds: the cost of fq_codel, and a tenth of that of cake
# Not this project's code
THEIRS = {"reno", "cubic", "bbr", "vegas", "dctcp", "fq_codel", "pie", "cake", "cake(flows)",
          "pfifo", WHOLE}  # fmt: skip
OF_CAKE = 0.1
GSO = 44  # segments of a packet
TRAFFIC = {"50 flows": "", "1 flow": "flows=1", "10000 flows": "flows=10000", "IPv6": "v6=1",
           "GSO": f"gso={GSO}"}  # fmt: skip
WITH_GSO = ("acp", "estcp", "fq_codel", "cake", "pfifo")  # of ROUTERS

GRANTED = ", granted"  # each ACK brings a router's word; without, explicit senders act as Reno

# Congestion controls: the module, and the congestion control whose cost of an ACK is the bound.
SENDERS = {
    "reno": ("", ""),
    "cubic": ("", ""),
    "bbr": ("tcp_bbr", ""),
    "vegas": ("tcp_vegas", ""),
    "dctcp": ("tcp_dctcp", ""),
    "ccpd": ("tcp_ccpd", "cubic"),
    "ccp": ("tcp_ccpd", "cubic"),
    "mccp": ("tcp_mccp", "cubic"),
    "mccp_path": ("tcp_mccp_path", "cubic"),
    "nist_reno": ("tcp_nist_reno", "cubic"),
    "nist_bic": ("tcp_nist_bic", "cubic"),
    "nist_ctcp": ("tcp_nist_ctcp", "cubic"),
    "nist_fast": ("tcp_nist_fast", "cubic"),
    "nist_hstcp": ("tcp_nist_hstcp", "cubic"),
    "nist_htcp": ("tcp_nist_htcp", "cubic"),
    "nist_scalable": ("tcp_nist_scalable", "cubic"),
    "ccpd_path": ("tcp_ccpd_path", "bbr"),
    "acp": ("tcp_acp_host", "bbr"),
    f"acp{GRANTED}": ("tcp_acp_host", "bbr"),
    "estcp": ("tcp_estcp", "bbr"),
    f"estcp{GRANTED}": ("tcp_estcp", "bbr"),
    "xcp": ("tcp_xcp", ""),
    f"xcp{GRANTED}": ("tcp_xcp", ""),
    "rcp": ("tcp_rcp", ""),
    f"rcp{GRANTED}": ("tcp_rcp", ""),
    "jtcp": ("tcp_jtcp", ""),
    "newjersey": ("tcp_newjersey", ""),
}
ACKS = (
    "open", "open, 44 segments", "open, few ACKs", "recovery", "recovery, 44 segments", "limited",
    "limited, 44 segments",
)  # of cc_bench.c
LEAST = 0.5  # ns or instructions: less is not measurable, so it is no divisor and gets no verdict
FEW = 10  # instructions: ratios of smaller costs are not checked for regressions
MANY = 100_000  # sockets: from this number on, the memory of each can be measured
BYTES = "bytes"
NS, INSTRUCTIONS = "ns", "instructions"  # the units of cost
NOISE = "noise"  # instead of a verdict
RATE, BUSY_UNIT = "Gb/s", "s/GB"

# Transfers of a host: the destination, the number of flows, and the qdisc
HOST = {
    "veth": ("192.0.2.2", 1, ""), "veth, 64 flows": ("192.0.2.2", 64, ""),
    "veth, fq": ("192.0.2.2", 1, "fq"), "veth, 64 flows, fq": ("192.0.2.2", 64, "fq"),
    "veth, 0.2 ms": ("192.0.2.2", 1, "netem delay 200us limit 1000000"),
    "loopback": ("127.0.0.1", 1, ""), "loopback, 64 flows": ("127.0.0.1", 64, ""),
}  # fmt: skip
SENT = [cc for cc, (_, of) in SENDERS.items() if of and not cc.endswith(GRANTED)] + ["bbr", "cubic"]
SHARE = 0.9  # of CUBIC's throughput, at least
BEYOND = {"ccpd_path": "bbr"}  # the throughput of the first must be above that of the second

TIMEOUT_S = 600  # of a guest
COUNT_TIMEOUT_S = 900  # of an emulated guest
BUSY = 0.5  # processors: a higher load by other programs is mentioned in notes


@dataclass(frozen=True)
class Effort:
    """The extent of the measurements."""

    runs: int = 5
    batches: int = 4000
    packets: int = 100_000
    times: int = 4  # repetitions of so many packets
    ms: int = 200  # duration of a transfer
    sockets: tuple[int, ...] = (1, 1000, 100_000)  # numbers of sockets that get ACKs in turn
    chunks: int = 100  # of 200 ACKs, in each round; as many as sockets need
    rounds: int = 3  # for MANY sockets, which need many chunks, one

    @property
    def seconds(self) -> float:
        """About how long a guest takes, by the lines that it prints; for progress."""
        acks = sum(_seconds(f"acks {number}") for number in self.sockets)
        sent = len(HOST) * 2 * (len(SENT) + 1)
        return acks + len(FAMILIES) * _seconds("host") + len(ROUTERS) * _seconds("router") + (
            sent * _seconds("transfer:"))  # fmt: skip


def _seconds(line: str) -> float:
    """About how long a measurement takes that ends with this line, on a slow core."""
    what, _, number = line.partition(" ")
    if what == "acks":
        return 4 + int(number) / 2500
    return {"host": 1.0, "router": 0.7, "transfer:": 0.1}.get(what, 0.0)


QUICK = Effort(1, 20, 10_000, 1, 10, (1,), 20, 1)
COUNT_GUESTS = 3  # with different random numbers
COUNTED = Effort(3, 20, 10_000, 1, 0, (1,), 5, 1)


@dataclass(frozen=True)
class Row:
    """A result."""

    name: str  # of a congestion control, a measurement at a host, or a router
    unit: str
    samples: tuple[float, ...]
    kind: str = ""  # of ACKs or packets, or the path of a transfer
    family: str = ""
    sockets: int = 0  # for ACKs: number of sockets that get ACKs in turn
    bound: float | None = None
    least: bool = False  # the bound is a minimum, not a maximum
    noise: bool = False  # a cost, or the divisor of its ratio, is below LEAST: there is no verdict
    ratios: tuple[float, ...] = ()  # of each guest
    of: str = ""  # name of the divisor of ratios
    most: float | None = None  # bound of the ratio
    # Of a router: the ratios to pfifo, because fq_codel varies: with 10 000 flows it takes 439
    # instructions in some runs, and 502 in others.
    to_pfifo: tuple[float, ...] = ()

    @property
    def what(self) -> str:
        return f"{self.name}, {self.kind}" if self.kind else self.name

    @property
    def steady(self) -> tuple[float, ...]:
        """The ratios with a stable divisor, of each guest."""
        return self.to_pfifo or self.ratios

    @property
    def steady_of(self) -> str:
        """The divisor of steady."""
        return "pfifo" if self.to_pfifo else self.of

    @property
    def key(self) -> str:
        """A text that is unique among the rows of a measurement."""
        return ", ".join(filter(None, (self.what, self.family, f"of {self.steady_of}")))

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def met(self) -> bool | None:
        if self.noise:
            return None
        if self.most is not None:
            return self.ratio <= self.most
        if self.bound is None:
            return None
        return self.median >= self.bound if self.least else self.median <= self.bound

    def json(self) -> Any:
        shown: dict[str, Any] = {"what": self.what}
        if self.family:
            shown["family"] = self.family
        if self.sockets:
            shown["sockets"] = self.sockets
        shown |= {"unit": self.unit, "median": self.median, "low": min(self.samples),
                  "high": max(self.samples), "samples": len(self.samples)}  # fmt: skip
        if self.ratios:
            shown |= {"ratio": self.ratio, "ratio_low": min(self.ratios),
                      "ratio_high": max(self.ratios), "of": self.of}  # fmt: skip
        if self.most is not None:
            shown |= {"most": self.most, "met": self.met}
        if self.bound is not None:
            shown |= {"bound": self.bound, "met": self.met}
        if self.least:
            shown["least"] = True
        if self.noise:
            shown["noise"] = True
        return shown


# What all rows of a table in a file have in common; see tables()
_SHARED = ("unit", "sockets", "family", "of", "most", "bound", "least")


def _fields(row: Row) -> dict[str, float]:
    """The numbers of a row in a file: those that table() shows, and the median of a ratio.

    A cost has no range where table() shows the range of its ratio.
    """
    found = {"median": row.median}
    if row.family or not row.ratios:
        found |= {"low": min(row.samples), "high": max(row.samples)}
    if row.ratios:
        found |= {"ratio": row.ratio, "ratio_low": min(row.ratios), "ratio_high": max(row.ratios)}
    return found


def tables(made: list[Row]) -> Any:
    """Rows as short JSON, from which rows_in() makes them again.

    Rows that have everything but their names and numbers in common are in one table.  It has the
    names of the numbers (fields), the kinds of the columns (kinds), and for each name (rows) a list
    of numbers, or null, for each kind.  A list of a row with noise has one more element, true.
    Numbers have four digits.
    """
    found: dict[str, tuple[Any, list[Row]]] = {}
    for row in made:
        shared = {key: value for key in _SHARED if (value := getattr(row, key))}
        found.setdefault(json.dumps(shared), (shared, []))[1].append(row)
    told = []
    for shared, of in found.values():
        kinds = list(dict.fromkeys(row.kind for row in of))
        cells: dict[str, list[Any]] = {}
        for row in of:
            numbers = [_short(number) for number in _fields(row).values()] + [True] * row.noise
            cells.setdefault(row.name, [None] * len(kinds))[kinds.index(row.kind)] = numbers
        told.append(shared | {"fields": list(_fields(of[0])), "kinds": kinds, "rows": cells})
    return told


def rows_in(told: Any) -> list[Row]:
    """The rows of tables().  Their samples and ratios are the least, the median and the largest.

    KeyError, TypeError, ValueError, AttributeError or OverflowError if it is not from tables().
    """
    made = []
    for table in told:
        shared = {key: table[key] for key in _SHARED if key in table}
        fields = [*table["fields"], "noise"]
        for name, cells in table["rows"].items():
            for kind, numbers in zip(table["kinds"], cells, strict=True):
                if numbers is None:
                    continue
                of = dict(zip(fields, numbers, strict=False))
                median = float(of["median"])
                ends = (of["low"], median, of["high"]) if "low" in of else (median,)
                ratios = [of[key] for key in ("ratio_low", "ratio", "ratio_high") if key in of]
                made.append(Row(name, samples=tuple(map(float, ends)), kind=kind,
                                ratios=tuple(map(float, ratios)), noise="noise" in of,
                                **shared))  # fmt: skip
    return made


def _short(number: float) -> float:
    """The number with four digits; as an integer if it is one, which is shorter in JSON."""
    found = float(f"{number:.4g}")
    return int(found) if found.is_integer() else found


def run(laboratory: Laboratory, effort: Effort) -> list[Row]:
    """Makes all measurements in guests of the lab; shows the progress on standard error."""
    found = []
    with Progress("bench", True) as shown:
        for number in range(effort.runs):

            def tell(part: float, number: int = number) -> None:
                shown.show("measuring", (number + part) / effort.runs)

            tell(0)
            found.append(parse(_measure(laboratory, effort, number, tell)))
            rows(found[-1:], effort.sockets)  # what is missing is told now, not at the end
    return rows(found, effort.sockets)


def _measure(
    laboratory: Laboratory, effort: Effort, number: int, progress: Callable[[float], None]
) -> str:
    """Runs the measurements in one guest; returns its log."""
    with Guest(laboratory.kernel, seed=number + 1) as guest:
        guest.put("transfer.py", (GUEST / "transfer.py").read_text())
        guest.boot(_job(effort, number), laboratory.modules, real_time=True)
        deadline = time.monotonic() + TIMEOUT_S

        def poll() -> None:
            whole = guest.text("stdout").rpartition("\n")[0]
            done = sum(map(_seconds, whole.splitlines()))
            progress(min(done / effort.seconds, 1))
            if time.monotonic() > deadline:
                raise LabError(f"the benchmark exceeds {TIMEOUT_S} s", log=guest.console())

        guest.wait(poll, every=0.2)
        if guest.status():
            said = guest.text("stderr").strip().splitlines() or ["no message"]
            raise LabError(f"the benchmark failed in its guest: {said[-1]}",
                           log=guest.text("log") or guest.console())  # fmt: skip
        return guest.text("log") + guest.text("stdout")


def count(kernel: StockKernel, guests: int = COUNT_GUESTS, effort: Effort = COUNTED) -> list[Row]:
    """Counts instructions instead of time, on a stock kernel with an emulated processor.

    Each guest repeats all measurements effort.runs times.  The results differ only because of
    interrupts (see undisturbed()), and because of a guest's random numbers, which decide which
    flows share a bucket of a hash.
    """
    made = stock.build(kernel, ("W=1", "TCPCC_BENCH=y"))
    job = f"set -e\n{_MEASURES}"
    job += f"{_measures(effort)}\ndmesg -c\necho {_AGAIN}\n" * effort.runs
    found = []
    for _ in range(guests):
        ended = machine.boot(kernel, ["sh", "-c", job], modules=made, timeout_s=COUNT_TIMEOUT_S,
                             emulate=True)  # fmt: skip
        if ended.returncode:
            said = ended.stderr.strip().splitlines() or ["no message"]
            raise LabError(f"the benchmark failed in its guest: {said[-1]}", log=ended.stdout)
        found += undisturbed([
            {key: [ns / machine.INSTRUCTION_NS for ns in all_] for key, all_ in parse(log).items()}
            for log in ended.stdout.split(_AGAIN)[:-1]
        ])  # fmt: skip
    return rows(found, effort.sockets, INSTRUCTIONS)


def undisturbed(runs: list[dict[tuple[str, ...], list[float]]]
                ) -> list[dict[tuple[str, ...], list[float]]]:  # fmt: skip
    """For each name, the numbers of the two runs with the fewest instructions.

    An interrupt only adds instructions, and can occur anywhere in any run.  So the two smallest of
    three counts are those without an interrupt, and their difference is the noise.
    """
    names = [name for name in runs[0] if all(name in run for run in runs)]
    least = {name: sorted((run[name] for run in runs), key=statistics.median) for name in names}
    return [{name: least[name][which] for name in names} for which in (0, 1)]


def kinds(router: str) -> list[str]:
    """The traffic with which a router is measured, of TRAFFIC."""
    return [kind for kind in TRAFFIC if kind != "GSO" or router in WITH_GSO]


_AGAIN = "bench: again"

# Shell functions; values of Effort are their arguments
_MEASURES = """
acks()
{
	modprobe cc_bench sockets="$1" chunks="$2" rounds="$3" ccs="$4"
	modprobe -r cc_bench
	echo "acks $1"
}

host()
{
	unshare -n sh -c "ip link set lo up && modprobe feedback_bench v6=$1 batches=$2"
	modprobe -r feedback_bench
	echo "host $1"
}

router()
{
	echo "router $1"
	shift
	tc qdisc replace dev v0 root "$@"
}

packets()
{
	local name=$1 times=$2

	shift 2
	for _ in $(seq "$times"); do
		modprobe sch_bench dev=v0 name="$name" "$@"
		modprobe -r sch_bench
	done
}
"""


def _measures(effort: Effort) -> str:
    """The part of a guest's script that measures the cost of ACKs, segments and packets."""
    hosts = "\n".join(f"host {int(family == 'v6')} {effort.batches}" for family in FAMILIES)
    routers = "\n".join(
        f"router {shlex.quote(name)} {qdisc}\n" + "\n".join(
            f"packets {shlex.quote(f'{name}, {kind}')} {effort.times}"
            f" packets={effort.packets // (GSO if kind == 'GSO' else 1)}"
            f" {sent} {TRAFFIC[kind]}" for kind in kinds(name)
        ) for name, (qdisc, sent) in ROUTERS.items()
    )  # fmt: skip
    modules = " ".join(dict.fromkeys(module for module, _ in SENDERS.values() if module))
    ccs = ",".join(cc.replace(GRANTED, "+") for cc in SENDERS)
    acks = "\n".join(
        f"acks {n} {effort.chunks} {effort.rounds if n < MANY else 1} {ccs}" for n in effort.sockets
    )
    return f"""
modprobe -a {modules}
{acks}

modprobe tcp_feedback
{hosts}

ip link add v0 type dummy
ip link set v0 up
{routers}
ip link del v0
"""


def _job(effort: Effort, number: int) -> str:
    """The script of guest number of the lab; the order of the congestion controls rotates."""
    ccs = SENT[number % len(SENT) :] + SENT[: number % len(SENT)]
    sends = "\n".join(
        f"sends {shlex.quote(name)} {address} {flows} {qdisc or 'noqueue'}"
        for name, (address, flows, qdisc) in HOST.items()
    )
    return f"""exec >/run/lab/stdout 2>/run/lab/stderr
set -e
trap 'dmesg >/run/lab/log' EXIT
{_MEASURES}{_measures(effort)}
ip netns add other
ip link add v0 type veth peer name v1 netns other
ip address add 192.0.2.1/24 dev v0
ip link set v0 up
ip -n other address add 192.0.2.2/24 dev v1
ip -n other link set v1 up
ip link set lo up
mkfifo /run/ready

sends()
{{
	local name=$1 to=$2 flows=$3 where="ip netns exec other"

	shift 3
	test "$to" != 127.0.0.1 || where=
	tc qdisc replace dev v0 root "$@"
	$where /run/lab/transfer.py serve "$to" "$flows" {len(ccs) + 1} >/run/ready &
	read -r _ </run/ready
	/run/lab/transfer.py send "$to" "$flows" {effort.ms} warm {ccs[0]}
	/run/lab/transfer.py send "$to" "$flows" {effort.ms} "$name" {" ".join(ccs)}
	wait
}}

{sends}
"""


_LINE = re.compile(
    r"(?:\[ *\d+\.\d+\] )?(?:"
    r"cc_bench: (?P<sender>[^:]+): (?P<ack>[^:]+): (?P<sockets>\d+) sockets:"
    r" (?P<each>-?\d+) ps per ACK|"
    r"cc_bench: (?P<holder>[^:]+): (?P<many>\d+) sockets: (?P<bytes>-?\d+) bytes per socket"
    r", (?P<left>-?\d+) left|"
    r"feedback_bench: (?P<family>v[46]) (?P<host>[^:]+): (?P<segment>-?\d+) ps per segment|"
    r"sch_bench: (?P<router>[^:]+): (?P<packet>\d+) ps per packet|"
    r"transfer: (?P<path>[^:]+): (?P<cc>\w+):"
    r" (?:(?P<rate>\d+) bytes/s|(?P<busy>-?\d+) us busy per GB))"
)


def parse(log: str) -> dict[tuple[str, ...], list[float]]:
    """The numbers in the log of one run, by their names: times in ns, memory in bytes, transfers in
    bytes/s, and in seconds of a processor per GB."""
    found: dict[tuple[str, ...], list[float]] = {}
    for line in log.splitlines():
        if not (m := _LINE.fullmatch(line)):
            continue
        if m["sender"]:
            key, ns = ("ack", m["sender"], m["ack"], m["sockets"]), int(m["each"]) / 1000
        elif m["holder"]:
            key, ns = ("memory", m["holder"], m["many"]), float(m["bytes"])
            found.setdefault(("left", *key[1:]), []).append(float(m["left"]))
        elif m["host"]:
            key, ns = ("host", m["host"], m["family"]), int(m["segment"]) / 1000
        elif m["router"]:
            key, ns = ("router", m["router"]), int(m["packet"]) / 1000
        elif m["busy"]:
            key, ns = ("busy", m["path"], m["cc"]), int(m["busy"]) / 1e6
        else:
            key, ns = ("transfer", m["path"], m["cc"]), float(m["rate"])
        found.setdefault(key, []).append(ns)
    return found


def rows(
    runs: list[dict[tuple[str, ...], list[float]]], sockets: Iterable[int], unit: str = NS
) -> list[Row]:
    """The results of runs; LabError if a number is missing in one of them.

    With instructions as unit there are no bounds in ns, and no transfers.
    """

    def medians(*key: str) -> tuple[float, ...]:
        return tuple(statistics.median(of) for of in _all_of(runs, *key))

    def to(samples: Iterable[float], of: Iterable[float]) -> tuple[float, ...]:
        return tuple(a / max(b, LEAST) for a, b in zip(samples, of, strict=True))

    def noise(*costs: tuple[float, ...]) -> bool:
        return min(map(min, costs)) < LEAST

    made = []
    for number in sockets:
        for cc, (_, of) in SENDERS.items():
            for ack in ACKS:
                samples = medians("ack", cc, ack, str(number))
                other = medians("ack", of or "cubic", ack, str(number))
                made.append(Row(cc, unit, samples, ack, sockets=number,
                                ratios=to(samples, other), of=of or "cubic",
                                most=1 if of else None, noise=noise(samples, other)))  # fmt: skip
            if number >= MANY:
                made.append(Row(cc, BYTES, medians("memory", cc, str(number)), "memory",
                                sockets=number))  # fmt: skip
    for what, bound in HOSTS.items():
        for family in FAMILIES:
            samples = medians("host", what, family)
            ratios = to(samples, medians("host", WHOLE, family))
            made.append(Row(what, unit, samples, family=family,
                            bound=bound if unit == NS else None,
                            ratios=ratios, of=WHOLE, noise=noise(samples)))  # fmt: skip
    for kind in TRAFFIC:
        others = {of: medians("router", f"{of}, {kind}") for of in ("fq_codel", "cake", "pfifo")}
        for name in (name for name in ROUTERS if kind in kinds(name)):
            samples = medians("router", f"{name}, {kind}")
            made.append(Row(name, unit, samples, kind, ratios=to(samples, others["fq_codel"]),
                            of="fq_codel", most=1 if name in OURS else None,
                            to_pfifo=to(samples, others["pfifo"]),
                            noise=noise(samples, others["fq_codel"])))  # fmt: skip
            if name in OURS:
                made.append(Row(name, "of cake's", to(samples, others["cake"]), kind, bound=OF_CAKE,
                                noise=noise(samples, others["cake"])))  # fmt: skip
    for path in HOST if unit == NS else ():
        for cc in SENT:
            rates = medians("transfer", path, cc)
            for of in dict.fromkeys(("cubic", BEYOND.get(cc, "cubic"))):
                others = medians("transfer", path, of)
                # on a busy machine a sender, or the one it is compared with, may not get to send
                shares = tuple(a / max(b, 1) for a, b in zip(rates, others, strict=True))
                bound = None if cc in ("bbr", "cubic") else SHARE if of == "cubic" else 1
                made.append(Row(cc, f"of {of}'s", shares, path, bound=bound, least=True,
                                noise=min(others) < 1))  # fmt: skip
            made.append(Row(cc, RATE, tuple(rate * 8 / 1e9 for rate in rates), path))
            made.append(Row(cc, BUSY_UNIT, medians("busy", path, cc), path))
    return made


def _all_of(runs: list[dict[tuple[str, ...], list[float]]], *key: str) -> list[list[float]]:
    """The numbers with this name, a list for each run."""
    if any(key not in found for found in runs):
        raise LabError(f"a run of the benchmark has no value for {' '.join(key)}")
    return [found[key] for found in runs]


@dataclass(frozen=True)
class Change:
    """A ratio in two benches, a and b: its minimum and maximum over the guests of each."""

    what: str
    of: str  # divisor of the ratio
    a: tuple[float, float]
    b: tuple[float, float]
    more_is_better: bool

    @property
    def verdict(self) -> str:
        """worse or better if the two ranges do not overlap; else empty."""
        if self.a[0] <= self.b[1] and self.b[0] <= self.a[1]:
            return ""
        return "better" if (self.b[0] > self.a[1]) == self.more_is_better else "worse"

    def json(self) -> Any:
        return {"what": self.what, "of": self.of, "a": self.a, "b": self.b,
                **({"verdict": self.verdict} if self.verdict else {})}  # fmt: skip


def is_bench(path: Path) -> bool:
    """Whether path is a file that lab bench wrote: that of --output, or what --json prints."""
    try:
        of = json.loads(path.read_text())
        if isinstance(of, dict):
            return bool(of["tables"]) and all(table["fields"] for table in of["tables"])
        return isinstance(of, list) and bool(of) and all(row["what"] for row in of)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return False


def changes(before: Path, after: Path) -> list[Change]:
    """Compares the ratios that two benches have in common.

    LabError of status 2 if a file is not a bench, or if they have no ratio in common.  Times are
    not compared, because they depend on the machine and its load.
    """
    a, b = (_ratios(path) for path in (before, after))
    found = [Change(*key, a[key], b[key], key[1].endswith("'s")) for key in a if key in b]
    if not found:
        raise LabError(f"{before} and {after} have no ratio in common", status=2)
    return found


def _ratios(path: Path) -> dict[tuple[str, str], tuple[float, float]]:
    """The minimum and maximum of each ratio in a file that lab bench wrote."""
    if not is_bench(path):
        raise LabError(f"{path} is not a file of lab bench, but the other is", status=2)
    found: dict[tuple[str, str], tuple[float, float]] = {}
    try:
        of_file = json.loads(path.read_text())
        if isinstance(of_file, dict):
            of_file = [row.json() for row in rows_in(of_file["tables"])]
        for row in of_file:
            sockets = f"{row['sockets']} sockets" if "sockets" in row else ""
            what = ", ".join(filter(None, (row["what"], row.get("family"), sockets)))
            if "ratio" in row:
                of, low, high = f"{row['of']}, {row['unit']}", row["ratio_low"], row["ratio_high"]
            elif row.get("least"):
                of, low, high = row["unit"], row["low"], row["high"]
            else:
                continue
            found[what, of] = float(low), float(high)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise LabError(f"{path} is not a whole file of lab bench: a row lacks a name or a number",
                       status=2) from None  # fmt: skip
    return found


def told(made: list[Change]) -> str:
    """Changes as text for a terminal."""
    lines = [
        f"  {c.what:<36}{c.a[0]:8.3f} to {c.a[1]:.3f}{c.b[0]:12.3f} to {c.b[1]:.3f}"
        f"  {c.verdict:<8}{'of ' * bool(c.of)}{c.of}" for c in made if c.verdict
    ]  # fmt: skip
    heads = [f"  {'':<36}{'A':>8}{'':9}{'B':>12}"] if lines else []
    verdicts = [c.verdict for c in made]
    lines.append(f"of {len(made)} ratios {verdicts.count('worse')} are worse,"
                 f" {verdicts.count('better')} better; the others overlap")  # fmt: skip
    return "\n".join(heads + lines)


def noise(made: list[Row]) -> float:
    """The largest relative spread of a ratio of this project's code over the samples."""
    return max(max(row.steady) / min(row.steady) - 1 for row in made if _told(row))


def regressions(made: list[Row], known: dict[str, float], noise_before: float) -> list[str]:
    """Messages for ratios of this project's code that have grown by more than the noise.

    known: the earlier steady ratios by Row.key.  noise_before: the earlier result of noise(), from
    several guests, because made may be from only one.
    """
    most = 1 + max(noise(made), noise_before)
    return [
        f"{row.what}: {min(row.steady):.3f} of {row.steady_of}, before {known[row.key]:.3f}"
        for row in made if _told(row) and min(row.steady) > known.get(row.key, math.inf) * most
    ]  # fmt: skip


def _told(row: Row) -> bool:
    """Whether the row has a ratio of this project's code, and its cost is above FEW."""
    return bool(row.ratios) and min(row.samples) > FEW and row.name not in THEIRS


def table(made: list[Row]) -> str:
    """Results as text for a terminal."""
    unit = made[0].unit
    hosts = {what: [r for r in made if r.what == what and r.family] for what in HOSTS}
    lines = []
    for number in dict.fromkeys(r.sockets for r in made if r.sockets):
        found = {r.what: r for r in made if r.sockets == number}
        lines.append(f"an ACK, {unit} (as a multiple): {number} socket{'s' * (number > 1)}\n"
                     f"  {'':<14}{''.join(f'{ack:>23}' for ack in ACKS)}"
                     f"{'   bytes' * (number >= MANY)}  of")  # fmt: skip
        for cc, (_, of) in SENDERS.items():
            each = [found[f"{cc}, {ack}"] for ack in ACKS]
            cells = "".join(f"{f'{r.median:.1f} ({_range(r.ratios)})':>23}" for r in each)
            verdict = f"{of}: {_together(each)}" if of else "(cubic)"
            held = f"{found[f'{cc}, memory'].median:8.1f}" if number >= MANY else ""
            lines.append(f"  {cc:<14}{cells}{held}  {verdict}")
        lines.append("")
    lines.append(f"{f'a segment at a host, {unit}':<28}{'IPv4':>21}{'IPv6':>23}{'bound':>10}")
    for what, of in hosts.items():
        cells = "".join(f"{_cell(r, '.0f' if what == WHOLE else '.1f'):>23}" for r in of)
        lines.append(f"  {what:<24}{cells}{_verdict(of)}")
    heads = "".join(f"{kind:>24}" for kind in TRAFFIC)
    lines.append(f"\na packet at a router, {unit} (as a multiple of fq_codel's)\n  {'':<18}{heads}"
                 f"{'of cake':>18}")  # fmt: skip
    packets = {(r.what, r.unit): r for r in made if not r.family and not r.sockets}
    for name in ROUTERS:
        each = [packets[f"{name}, {kind}", unit] for kind in kinds(name)]
        cells = "".join(f"{f'{r.median:.1f} ({_range(r.ratios)})':>24}" for r in each)
        cells = f"{cells:<{24 * len(TRAFFIC)}}"
        of_cake = [r for kind in TRAFFIC if (r := packets.get((f"{name}, {kind}", "of cake's")))]
        verdict = ""
        if of_cake:
            medians = [r.median for r in of_cake]
            verdict = (f"{f'{min(medians):.2f}-{max(medians):.2f}':>18}"
                       f"  {_together([*each, *of_cake])}")  # fmt: skip
        lines.append(f"  {name:<18}{cells}{verdict}".rstrip())
    if any(r.least for r in made):
        lines += ["", *_throughput(made)]
    return "\n".join(lines)


def _throughput(made: list[Row]) -> list[str]:
    """Lines with a core's throughput and its busy time for each congestion control."""
    found = {(r.what, r.unit): r for r in made}
    heads = "".join(f"{path:>24}" for path in HOST)

    def line(cc: str, of: str) -> str:
        each = [found[f"{cc}, {path}", f"of {of}'s"] for path in HOST]
        rates = [found[f"{cc}, {path}", RATE].median for path in HOST]
        cells = "".join(f"{f'{rate:.1f} ({_range(row.samples)})':>24}"
                        for rate, row in zip(rates, each, strict=True))  # fmt: skip
        judged = [row for row in each if row.bound is not None]
        name = cc if of == "cubic" else f"{cc} of {of}'s"
        return f"  {name:<18}{cells}  {_together(judged) if judged else ''}".rstrip()

    lines = [f"a core's throughput, Gb/s (of CUBIC's)\n  {'':<18}{heads}"]
    for cc in SENT:
        lines += [line(cc, of) for of in dict.fromkeys(("cubic", BEYOND.get(cc, "cubic")))]
    lines.append(f"\na gigabyte, s of the core at both ends\n  {'':<18}{heads}")
    for cc in SENT:
        each = (_cell(found[f"{cc}, {path}", BUSY_UNIT], ".3f") for path in HOST)
        cells = "".join(f"{cell:>24}" for cell in each)
        lines.append(f"  {cc:<18}{cells}")
    return lines


def _range(ratios: tuple[float, ...]) -> str:
    low, high = (f"{of(ratios):.2f}" for of in (min, max))
    return low if low == high else f"{low}-{high}"


def _cell(row: Row, form: str) -> str:
    return f"{row.median:{form}} ({min(row.samples):{form}}-{max(row.samples):{form}})"


def _verdict(of: list[Row]) -> str:
    if of[0].bound is None:
        return ""
    return f"{of[0].bound:>9g}  {_together(of)}"


def _together(judged: list[Row]) -> str:
    """The verdict on several rows with bounds."""
    if any(r.met is False for r in judged):
        return "NOT MET"
    return NOISE if any(r.noise for r in judged) else "met"


def notes(made: list[Row], load: float) -> list[str]:
    """Remarks on the results; load: processors that other programs used before the start."""
    said = []
    if missed := sum(r.met is False for r in made):
        said.append(f"{missed} of {sum(r.met is not None for r in made)} bounds not met")
    if made[0].unit == NS and (missed or load > BUSY):
        said.append("other programs make the numbers larger, by half and more: before the start the"
                    f" load was {load:.1f} on {os.cpu_count()} processors")  # fmt: skip
    return said
