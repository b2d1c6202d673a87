# SPDX-License-Identifier: GPL-2.0
"""Scaling: processors at a router, a million sockets; in the lab flows, packets and runs.

measure() makes all measurements, each part separately, as tables for JSON.  tell/summary.py writes
the document about them.
"""

import json
import math
import os
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import LabError
from ..host import Progress, run_logged, temporary
from ..model import scenario
from ..paths import REPO
from ..world import guests, machine, stock
from ..world.guests import Guest
from ..world.laboratory import Laboratory
from . import bench, runner
from .job import BOOT_PACKETS, Job

Json = dict[str, Any]

MOST_CPUS = 16  # of an emulated machine
QDISCS = {name: bench.ROUTERS[name] for name in ("pfifo", *bench.OURS, "fq_codel", "pie", "cake")}
OURS = [cc for cc in bench.SENDERS if cc not in bench.THEIRS and not cc.endswith(bench.GRANTED)]
SENDERS = [*OURS, "cubic", "bbr"]
DEVICES = 64  # with a qdisc, to measure the memory of each
TIMES = 100  # qdiscs are made and removed so often between two readings of memory
NOISE = 1 << 18  # bytes of variation in the total of the kernel's objects; less than TIMES qdiscs
MEMORY = 8 << 30  # bytes of a guest with a million sockets

# The same network in the lab, in ns-3 and in Mininet, as in tests/speed
NETWORK = {"rate": "100mbit", "rtt": "40ms", "buffer": "334", "start": "1ms"}
WITHIN_S = {"kernel": 120, "demo": 180}  # the first run, with an empty cache: wanted
NS3_MOST = 200  # flows; tests/speed/speed.py does not start ns-3 with more
GOAL_TIMES, GOAL_PACKETS, GOAL_FLOWS = 10, 50_000, 50  # times ns-3; packets/s; flows for these
HOST_NETEM = "tc qdisc add dev lo root netem delay 1ms"  # checks if this machine's kernel has netem
RUNS_S = "0.3"  # virtual seconds of a run, for measurements with many runs
CORES = (1, 2, 16, 64)  # for which the time of a whole report is computed

BOOT = "boot"  # key in "start"
TIMEOUT_S = 1800
FRESH_TIMEOUT_S = 7200


@dataclass(frozen=True)
class Effort:
    """The extent of the measurements."""

    rounds: int = 3  # for each number of processors
    sockets: int = 1_000_000
    flows: tuple[int, ...] = (1, 50, 1000, 5000)  # compared with ns-3 and Mininet
    turns: int = 3
    mininet_s: int = 5
    more_flows: tuple[int, ...] = (1, 10, 100, 1000, 5000)
    packets: tuple[tuple[int, int], ...] = (
        (12, 10), (120, 10), (120, 100), (1200, 10), (1200, 100),
    )  # fmt: skip
    runs: tuple[int, ...] = (1, 10, 50)
    report: bool = True


QUICK = Effort(1, 10_000, (1,), 1, 1, (1, 10), ((12, 1), (12, 2)), (1, 2), False)


def measure(
    laboratory: Laboratory, effort: Effort, jobs: Callable[[], list[Job]], fresh: bool = False
) -> Json:
    """Makes all measurements.

    jobs: plans the runs of the report, to estimate their cost.  fresh: also measures the first run
    with an empty cache.
    """
    parts: dict[str, Callable[[], Any]] = {
        "processors": lambda: processors(effort),
        "memory": lambda: memory(laboratory, effort),
        "lab": lambda: lab(laboratory, effort),
        "growth": lambda: growth(laboratory, effort),
        "start": lambda: start(laboratory, fresh),
    }
    made: Json = {"cpus": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
    began = time.monotonic()
    with Progress("bench", True) as shown:
        for number, (name, part) in enumerate(parts.items()):
            shown.show(name, number / len(parts))
            made[name] = part()
        if effort.report:
            shown.show("report", 0.99)
            made["report"] = report(jobs(), made["growth"])
    return made | {"took_s": round(time.monotonic() - began)}


# A router with several processors ---------------------------------------------------------------

_PROCESSORS = re.compile(
    r"sch_bench: (?P<name>\w+): (?P<n>\d+) processors: (?P<rate>\d+) packets per second,"
    r" (?P<lost>-?\d+) lost"
)


def processors(effort: Effort) -> Json:
    """Packets/s of each qdisc in each round, by the number of processors that transmit."""
    most = min(os.cpu_count() or 1, MOST_CPUS)
    numbers = [1 << n for n in range(most.bit_length())]
    kernel = stock.ensure("6.12")
    made = stock.build(kernel, ("W=1", "TCPCC_BENCH=y"))
    turns = "\n".join(
        f"tc qdisc replace dev v0 root {qdisc}\nfor n in {' '.join(map(str, numbers))}; do"
        f" modprobe sch_bench dev=v0 name={name} threads=$n {sent}; modprobe -r sch_bench; done"
        for name, (qdisc, sent) in {"noqueue": ("noqueue", ""), **QDISCS}.items()
    )
    job = f"""set -e
modprobe -a tcp_feedback sch_tcpcc
ip link add v0 type dummy
ip link set v0 up
for _ in $(seq {effort.rounds}); do
{turns}
dmesg -c
done
"""
    ended = machine.boot(kernel, ["sh", "-c", job], modules=made, timeout_s=TIMEOUT_S, cpus=most,
                         parallel=True)  # fmt: skip
    if ended.returncode:
        raise LabError("the benchmark failed in its guest", log=ended.stdout + ended.stderr)
    return {"kernel": kernel.package, "processors": numbers, **parse_processors(ended.stdout)}


def parse_processors(log: str) -> Json:
    """Parses the packets/s of each round by qdisc and number of processors, and the largest share
    of lost packets."""
    rates: dict[str, dict[str, list[int]]] = {}
    lost = 0.0
    for m in _PROCESSORS.finditer(log):
        rates.setdefault(m["name"], {}).setdefault(m["n"], []).append(int(m["rate"]))
        lost = max(lost, int(m["lost"]) / max(1, int(m["rate"])))
    if missing := {"noqueue", *QDISCS} - rates.keys():
        raise LabError(f"the benchmark has no value for {' '.join(sorted(missing))}")
    return {"rates": rates, "lost": round(lost, 4)}


def spared(of: Json) -> float:
    """The speedup without a shared lock (noqueue) from one processor to the most processors.

    On idle real processors it would be their number.
    """
    one, most = (of["rates"]["noqueue"][str(of["processors"][end])] for end in (0, -1))
    return statistics.median(b / max(a, 1) for a, b in zip(one, most, strict=True))


# Memory -----------------------------------------------------------------------------------------

_ENTRY = re.compile(r"feedback_bench: v4 entry: (-?\d+) bytes")
_QDISC = re.compile(r"qdisc (\w+) (\d+) (\d+) (\d+)")


def memory(laboratory: Laboratory, effort: Effort) -> Json:
    """The bytes of a socket, of each sender in addition to it, of a receiver's entry, and of each
    qdisc; and the growth of memory when all of them are created and removed a second time."""
    modules = " ".join(dict.fromkeys(bench.SENDERS[cc][0] for cc in SENDERS if cc != "cubic"))
    qdiscs = "\n".join(f"qdisc {name} {qdisc}" for name, (qdisc, _) in QDISCS.items())
    said = in_guest(laboratory, f"""modprobe -a {modules} tcp_feedback sch_tcpcc
for ccs in {",".join(SENDERS)} cubic; do
	modprobe cc_bench sockets={effort.sockets} chunks=0 rounds=2 ccs=$ccs
	modprobe -r cc_bench
done
unshare -n sh -c "ip link set lo up && modprobe feedback_bench batches=1"
modprobe -r feedback_bench
for i in $(seq {DEVICES}); do
	ip link add d$i type dummy
	ip link set d$i up
done

taken()
{{
	awk '/^(Slab|VmallocUsed|Percpu):/ {{ n += $2 }} END {{ print n }}' /proc/meminfo
}}

qdisc()
{{
	local name=$1 before with

	shift
	for i in $(seq {DEVICES}); do echo "qdisc replace dev d$i root $*"; done >/run/make
	for i in $(seq {DEVICES}); do echo "qdisc del dev d$i root"; done >/run/remove
	for times in 1 {TIMES}; do
		before=$(taken)
		for _ in $(seq $times); do
			tc -batch /run/make
			with=$(taken)
			tc -batch /run/remove
		done
		echo "qdisc $name $before $with $(taken)"
	done
}}

{qdiscs}
""", memory=MEMORY)  # fmt: skip
    return parse_memory(said, effort.sockets)


def parse_memory(log: str, sockets: int) -> Json:
    """Parses the log of a guest; grown is the memory that remains after the last removal, minus the
    memory before it."""
    found = bench.parse(log)
    wanted = [("memory", name, str(sockets)) for name in (*SENDERS, "socket")]
    entry = _ENTRY.search(log)
    qdiscs: dict[str, list[list[int]]] = {}
    for name, *kb in _QDISC.findall(log):
        qdiscs.setdefault(name, []).append([int(n) << 10 for n in kb])
    if not entry or any(key not in found for key in wanted) or qdiscs.keys() != QDISCS.keys():
        raise LabError("the benchmark has no value for some of the memory", log=log)

    def row(name: str) -> Json:
        # For a sender, left counts from before the first round; for sockets, from before each.
        *_, before, left = 0, *found["left", name, str(sockets)]
        held = found["memory", name, str(sockets)]
        return {"bytes": round(held[-1]), "grown": round(left - before * (name != "socket"))}

    return {
        "sockets": sockets, "socket": row("socket"), "senders": {cc: row(cc) for cc in SENDERS},
        "entry": int(entry[1]), "times": TIMES,
        "qdiscs": {name: {"bytes": round((kb[-1][1] - kb[-1][0]) / DEVICES),
                          "grown": kb[-1][2] - kb[-2][2]} for name, kb in qdiscs.items()},
    }  # fmt: skip


def grown(of: Json) -> list[str]:
    """The names in a result of memory() that have grown by more than NOISE."""
    rows = [("socket", of["socket"]), *of["senders"].items(), *of["qdiscs"].items()]
    return [name for name, row in rows if row["grown"] > NOISE]


def in_guest(laboratory: Laboratory, job: str, memory: int = 4 << 30) -> str:
    """Runs a shell script in a guest in real time; returns the kernel's log and its output."""
    with Guest(laboratory.kernel, memory=memory) as guest:
        before = "exec >/run/lab/stdout 2>/run/lab/stderr; trap 'dmesg >/run/lab/log' EXIT; set -e"
        guest.boot(f"{before}\n{job}", laboratory.modules, real_time=True)
        deadline = time.monotonic() + TIMEOUT_S

        def poll() -> None:
            if time.monotonic() > deadline:
                raise LabError(f"the benchmark exceeds {TIMEOUT_S} s", log=guest.console())

        guest.wait(poll, every=0.2)
        if guest.status():
            said = guest.text("stderr").strip().splitlines() or ["no message"]
            raise LabError(f"the benchmark failed in its guest: {said[-1]}", log=guest.text("log"))
        return guest.text("log") + guest.text("stdout")


# The lab compared with others -------------------------------------------------------------------


def lab(laboratory: Laboratory, effort: Effort) -> Json:
    """Packets/s by the number of flows, compared with ns-3 and Mininet on the same network."""
    command = [REPO / "tests/speed/speed.py", "--rounds", str(effort.turns), "--json", "--flows",
               *map(str, effort.flows)]  # fmt: skip
    rows = []
    if effort.flows:
        called = subprocess.run(command, capture_output=True, text=True)
        if called.returncode:
            raise LabError("tests/speed/speed.py failed", log=called.stderr)
        rows = json.loads(called.stdout)
    asked = subprocess.run(["unshare", "-rn", *HOST_NETEM.split()], capture_output=True, text=True)
    return {"rows": rows, "mininet": mininet(laboratory, effort),
            "host": asked.stderr.strip().splitlines()[-1] if asked.returncode else ""}  # fmt: skip


def mininet(laboratory: Laboratory, effort: Effort) -> dict[str, int] | str:
    """Packets/s of Mininet by the number of flows, or a text that says why there are none.

    Mininet runs in a guest of the lab in real time, so on one core with the lab kernel.  On the
    machine's kernel it would change global settings, and need netem.
    """
    if not shutil.which("mn"):
        return "mn is not installed"
    sets = ",".join(f"{k}={v}" for k, v in NETWORK.items())
    sets += f",cc=cubic,duration={effort.mininet_s}"
    custom = REPO / "scripts/mn_tcpcc.py"
    runs = "\n".join(
        f"echo flows {flows}; mn --custom {custom} --controller none"
        f" --topo tcpcc,dumbbell,{sets},flows={flows} --test bulk 2>&1"
        for flows in effort.flows
    )
    return parse_mininet(in_guest(laboratory, runs)) if runs else {}


def parse_mininet(log: str) -> dict[str, int]:
    """Parses packets/s by the number of flows."""
    found = re.findall(r"^flows (\d+)$.*?^transfer: mininet: \w+: (\d+) bytes/s$", log, re.M | re.S)
    if len(found) != len(re.findall(r"^flows \d+$", log, re.M)):
        raise LabError("Mininet has no value for some of the flows", log=log)
    return {flows: round(int(rate) / 1448) for flows, rate in found}


# Scale ------------------------------------------------------------------------------------------


def cpu_s() -> float:
    """The processor time of this process and of its children that have ended, s."""
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(of.ru_utime + of.ru_stime for of in used)


def run_one(laboratory: Laboratory, where: Path, sets: dict[str, Any], seeds: int = 1) -> Json:
    """Runs CUBIC on the dumbbell for each seed, one after the other, stored like the report's runs.

    Returns their time, the largest memory of a guest, and the bytes that were stored.
    """
    of = scenario.load("dumbbell")
    settings = scenario.override(of, [f"{k}={v}" for k, v in sets.items()], of.column_of("cubic"))
    jobs = [Job(of, settings, "cubic", seed) for seed in range(1, seeds + 1)]
    most = 0

    def progress(*_: Any) -> None:
        nonlocal most
        most = max(most, guests.peak())

    with tempfile.TemporaryDirectory(dir=where) as kept:
        wall, cpu = time.monotonic(), cpu_s()
        made = runner.run_all(laboratory, jobs, 1, progress=progress, keep=Path(kept))
        wall, cpu = time.monotonic() - wall, cpu_s() - cpu
        size = sum(path.stat().st_size for path in Path(kept).rglob("*") if path.is_file())
    carried = sum(flow["bytes"] for one in made for flow in one["flows"])
    return {"packets": round(carried / 1448), "wall_s": round(wall, 2), "cpu_s": round(cpu, 2),
            "memory": most, "kept": size}  # fmt: skip


def growth(laboratory: Laboratory, effort: Effort) -> Json:
    """Measures how time, memory and storage grow with flows, rate times duration, and runs."""
    with temporary(Path(tempfile.gettempdir())) as where:
        run_one(laboratory, where, {"duration": "0.1"})  # loads the libraries before measuring
        flows = [{"flows": n} | run_one(laboratory, where, NETWORK | {"flows": n, "duration": 10})
                 for n in effort.more_flows]  # fmt: skip
        packets = [
            {"mbps": mbps, "seconds": seconds} | run_one(laboratory, where, {
                "rate": f"{mbps}mbit", "rtt": "40ms", "flows": 10, "duration": seconds,
                "buffer": max(10, round(mbps * 1e6 * 0.04 / 8 / 1514))})
            for mbps, seconds in effort.packets
        ]  # fmt: skip
        runs = [{"runs": n} | run_one(laboratory, where, {"duration": RUNS_S}, n)
                for n in effort.runs]  # fmt: skip
    return {"flows": flows, "packets": packets, "runs": runs}


def exponent(rows: list[Json], x: str, y: str) -> float:
    """The exponent of y as a power of x, by least squares over the second half of the rows.

    1 means that y is proportional to x.
    """
    far = sorted(rows, key=lambda row: row[x])[(len(rows) - 1) // 2 :]
    logs = [[math.log(max(row[of], 1e-3)) for row in far] for of in (x, y)]
    return statistics.linear_regression(*logs).slope


def packets_per_core_s(of: Json) -> float:
    """Packets per second of processor time in a result of growth(); a boot counts BOOT_PACKETS."""
    rows = [*of["flows"], *of["packets"]]
    return (sum(row["packets"] + BOOT_PACKETS for row in rows) / sum(row["cpu_s"] for row in rows))


def report(jobs: list[Job], of: Json) -> Json:
    """The cost of all runs of the report: packets, and hours on several numbers of cores."""
    rate = packets_per_core_s(of)
    total, longest = (how(job.packets for job in jobs) for how in (sum, max))
    hours = {str(n): round(max(total / n, longest) / rate / 3600, 2) for n in CORES}
    return {"runs": len(jobs), "packets": round(total), "longest": round(longest),
            "packets_per_s": round(rate), "hours": hours}  # fmt: skip


def start(laboratory: Laboratory, fresh: bool) -> Json:
    """The seconds of a boot; if fresh, also of the kernel's build with an empty cache, of its part
    until the sources are there, and of the demo after it."""
    began = time.monotonic()
    with Guest(laboratory.kernel) as guest:
        guest.boot("true", laboratory.modules)
        guest.wait()
    made = {BOOT: round(time.monotonic() - began, 2)}
    if fresh:
        with temporary(Path(tempfile.gettempdir())) as cache:
            for name, command in (("kernel", "exec -- true"), ("demo", "demo")):
                began = time.monotonic()
                argv = ["timeout", str(FRESH_TIMEOUT_S), REPO / "scripts/lab", *command.split()]
                log = cache / f"{name}.log"
                if run_logged(argv, log, TCPCC_CACHE=str(cache)):
                    raise LabError(f"lab {command} failed with an empty cache", log=log.read_text())
                made[name] = round(time.monotonic() - began)
                if name == "kernel":
                    made["fetch"] = round(made[name] - _since_fetched(cache, time.time()))
    return made


def _since_fetched(cache: Path, now: float) -> float:
    """The seconds since the archives of the kernel's sources were complete."""
    return now - max(path.stat().st_ctime for path in (cache / "dl").glob("*"))


# Text for the terminal --------------------------------------------------------------------------


def tables(made: Json) -> dict[str, str]:
    """The results of each part as text."""
    told = {
        "processors": _told_processors(made["processors"]),
        "memory": _told_memory(made["memory"]),
        "lab": _told_lab(made["lab"], made["start"]),
        "growth": _told_growth(made["growth"]),
    }
    if "report" in made:
        told["report"] = _told_report(made["report"])
    return {name: "\n".join(lines) for name, lines in told.items()}


def _spread(values: list[float], form: str) -> str:
    middle = f"{statistics.median(values):{form}}"
    return f"{middle} ({min(values):{form}}-{max(values):{form}})" if len(values) > 1 else middle


def _told_processors(of: Json) -> list[str]:
    numbers = of["processors"]
    heads = [f"{n:>22}" for n in numbers] + [f"{f'{numbers[-1]} of 1':>20}"]
    heads += [f"{f'{n}: ns a packet':>18}" for n in numbers]
    lines = [f"{'thousand packets a second':<26}{''.join(heads)}"]
    for name, rates in of["rates"].items():
        each = [[rate / 1e3 for rate in rates[str(n)]] for n in numbers]
        ratios = [b / max(a, 1e-3) for a, b in zip(each[0], each[-1], strict=True)]
        cells = [f"{_spread(kpps, '.0f'):>22}" for kpps in each] + [f"{_spread(ratios, '.2f'):>20}"]
        cells += [f"{1e6 * n / max(statistics.median(kpps), 1e-3):>18.0f}"
                  for n, kpps in zip(numbers, each, strict=True)]  # fmt: skip
        lines.append(f"  {name:<24}{''.join(cells)}")
    return lines


def _told_memory(of: Json) -> list[str]:
    def line(name: str, row: Json) -> str:
        return f"  {name:<24}{row['bytes']:>10}{row['grown'] / 1024:>16.0f} kB"

    head = f"{'bytes':>12}{'second time':>19}"
    sockets = f"{of['sockets']} sockets, each"
    return [
        f"{sockets:<24}{head}", line("the socket", of["socket"]),
        *(line(f"more with {cc}", row) for cc, row in of["senders"].items()), "",
        f"{'a receiver':<24}{head}", f"  {'entry':<24}{of['entry']:>10}", "",
        f"{'a qdisc, more than none':<24}{head}",
        *(line(name, row) for name, row in of["qdiscs"].items()), "",
        " ".join(["nothing that grows:", _met(not grown(of)), *grown(of)]),
    ]  # fmt: skip


def _told_lab(of: Json, start: Json) -> list[str]:
    lines = []
    beside = of["mininet"] if isinstance(of["mininet"], dict) else {}
    for core, what in (("", "packets a second"), ("_core", "packets a second of a core")):
        lines.append(f"{what:<28}{'lab':>20}{'ns-3':>20}{'times ns-3':>14}"
                     f"{'' if core else '     Mininet'}")  # fmt: skip
        for row in of["rows"]:
            lab, ns3, ratios = (
                _spread(row[f"{key}{core}"], form) if f"{key}{core}" in row else "-"
                for key, form in (("lab", ".0f"), ("ns3", ".0f"), ("ratios", ".1f"))
            )
            mininet = "" if core else beside.get(str(row["flows"]), "-")
            lines.append(f"  {row['flows']:>5} flows{'':<15}{lab:>20}{ns3:>20}{ratios:>14}"
                         f"{mininet:>12}".rstrip())  # fmt: skip
            if row["flows"] == GOAL_FLOWS:
                enough = statistics.median(row[f"lab{core}"]) >= GOAL_PACKETS
                times = statistics.median(row.get(f"ratios{core}", [0])) >= GOAL_TIMES
                lines.append(f"{'':8}{GOAL_PACKETS} wanted: {_met(enough)};"
                             f" {GOAL_TIMES} times ns-3: {_met(times)}")  # fmt: skip
        lines.append("")
    if not beside and of["mininet"]:
        lines.append(f"Mininet: {of['mininet']}")
    lines.append(f"boot of a guest: {start[BOOT]} s")
    if "kernel" in start:
        kernel, demo = start["kernel"], start["demo"]
        parts = f" ({start['fetch']} s of it to fetch the sources)" if "fetch" in start else ""
        lines.append(f"with an empty cache: {kernel} s to fetch and build the kernel and"
                     f" run it once{parts}, then {demo} s for the first demo")  # fmt: skip
        wanted = (f"{what} in {most // 60}:{most % 60:02} wanted: {_met(start[what] <= most)}"
                  for what, most in WITHIN_S.items())  # fmt: skip
        lines.append(f"{'':8}{'; '.join(wanted)}")
    return lines


def _met(is_met: bool) -> str:
    return "met" if is_met else "NOT MET"


def _told_growth(of: Json) -> list[str]:
    lines = []
    for key, what in (("flows", "flows"), ("packets", "Mb/s x s"), ("runs", "runs of 0.3 s")):
        heads = ("packets", "wall", "processor", "memory", "kept")
        lines.append(f"{what:<16}{''.join(f'{head:>12}' for head in heads)}")
        for row in of[key]:
            name = f"{row['mbps']} x {row['seconds']}" if key == "packets" else row[key]
            times = "".join(f"{row[name]:>10.1f} s" for name in ("wall_s", "cpu_s"))
            lines.append(f"  {name:<14}{row['packets']:>12}{times}{row['memory'] / 1e6:>9.0f} MB"
                         f"{row['kept'] / 1e3:>9.0f} kB")  # fmt: skip
        each = (f"{exponent(of[key], key, y):.2f}" for y in ("wall_s", "cpu_s", "memory", "kept"))
        lines += [f"  {'exponent':<14}{'':>12}{''.join(f'{cell:>12}' for cell in each)}", ""]
    few, many = of["flows"][0], of["flows"][-1]
    each_flow = max(0, many["memory"] - few["memory"]) / max(1, many["flows"] - few["flows"])
    lines.append(f"a flow more takes {each_flow / 1e3:.0f} kB of memory")
    return lines


def _told_report(of: Json) -> list[str]:
    boots = of["runs"] * BOOT_PACKETS
    hours = ", ".join(f"{h:g} h on {n} core{'s' * (n != '1')}" for n, h in of["hours"].items())
    packets, longest = of["packets"] - boots, of["longest"] - BOOT_PACKETS
    return [f"{of['runs']} runs of {packets / 1e9:.2f} billion packets (the longest has"
            f" {longest / 1e6:.1f} million),\nand boots, each of which takes as long as"
            f" {BOOT_PACKETS} packets,\nat {of['packets_per_s']} packets a second of a core:"
            f" {hours}"]  # fmt: skip
