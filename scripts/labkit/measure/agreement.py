# SPDX-License-Identifier: GPL-2.0
"""Does the lab tell the truth?  Each sender on one path, in the lab and elsewhere, side by side.

Elsewhere is a distribution's kernel as it comes, in QEMU and in real time, where the lab's own
program carries out the same plan and takes the same samples; the lab's kernel with another HZ,
where the clock of jiffies ticks more often; and the lab with segmentation offload.

And scenarios of the lab beside scripts/testbed: iperf3 in real time on that stock kernel, with
nothing of the lab's but the commands that set the path up.
"""

import base64
import gzip
import json
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from ..errors import LabError
from ..host import Progress
from ..model import scenario
from ..paths import REPO
from ..world import kernel as kernels
from ..world import stock
from ..world.laboratory import Laboratory
from ..world.machine import boot
from ..world.plan import compile_plan
from ..world.queues import for_stock_kernels
from . import result
from .job import Job
from .runner import run_all

Json = dict[str, Any]

PATH = ("rate=40mbit", "rtt=40ms", "buffer=1bdp", "duration=12", "sample=20ms")
BUFFER = 132  # packets, that 1bdp is
BESIDE = ("scatter=200ms",)  # in the runs beside CUBIC
SEEDS = 10  # of them

# Each sender, and the router that it is for
SENDERS = {
    "cubic": (), "bbr": (), "ccpd_path": (), "mccp": (),
    "acp": ("qdisc=acp",), "estcp": ("qdisc=estcp",),
}  # fmt: skip

# For the test bed: scenarios and their cases, slow enough for an emulated processor
SCENARIOS = (
    ("field-buffers", "1 BDP, 20 Mb/s, 200 ms"),
    ("field-aqm", "codel, ECN off, 10 Mb/s, 150 ms"),
    ("field-crowd", "16 flows at once, 10 Mb/s, 100 ms"),
    ("field-loss", "1 %, 10 Mb/s, 20 ms"),
    ("field-batches", "20 s of 20 Mb/s, 30 ms, data every 8 ms"),
    ("field-jitter", "20 s of 20 Mb/s, 20 ms, jitter 20 ms, 4 BDP"),
)
ON_TESTBED = ("cubic", "bbr", "ccpd_path")
TESTBED = "test bed"

STOCK = "stock 6.12"
PLACES = (STOCK, "HZ 250", "HZ 1000", "offload")
FILES = ("summary.json", "flows.csv", "links.csv")  # that a run leaves
BEFORE_NS = 10 * 10**9  # from the end of set-up to the beginning of traffic, on a stock kernel


@dataclass(frozen=True)
class Measure:
    """One number of a sender's runs, alone and beside CUBIC.

    of() takes the run alone and those beside CUBIC.  slack says by how much it may be another
    elsewhere, from what it is in the lab.
    """

    name: str
    unit: str
    of: Callable[[Json, list[Json]], float | None]
    slack: Callable[[float], float]
    scale: float = 1


def _alone(name: str) -> Callable[[Json, list[Json]], float | None]:
    return lambda alone, pairs: alone["flows"][0].get(name)


def _share(alone: Json, pairs: list[Json]) -> float | None:
    rates = [[flow["goodput_bps"] for flow in pair["flows"]] for pair in pairs]
    return fmean(of[0] / sum(of) for of in rates) if rates else None


# A tenth of what can be: of the rate, of the round trip, of the buffer, of a window, of all that
# two have.  How often a packet is lost varies by more: half as many again, or ten.  Who of two has
# more is chance's in one run (0.49 and 0.71 in two places): it is the mean of several, in which
# each flow starts at another moment.
MEASURES = (
    Measure("goodput", "Mb/s", _alone("goodput_bps"), lambda lab: 0.1 * lab, 1e-6),
    Measure("rtt", "ms", _alone("rtt_mean_s"), lambda lab: 0.1 * lab, 1e3),
    Measure("queue", "packets", lambda alone, pairs: alone["links"][0]["queue_equilibrium"],
            lambda lab: 0.1 * BUFFER),
    Measure("retransmits", "", _alone("retransmits"), lambda lab: max(10, lab / 2)),
    Measure("window after a loss", "of that before", _alone("cwnd_kept"), lambda lab: 0.1),
    Measure("share beside CUBIC", "of both", _share, lambda lab: 0.1),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A measure of a sender: in the lab, and in each place where it was measured.

    path is the scenario's case, where there are several.
    """

    cc: str
    measure: Measure
    lab: float | None
    elsewhere: dict[str, float | None]
    path: str = ""

    def agrees(self, place: str) -> bool:
        """Whether it is the same there, but for what the measure allows; or is nowhere at all."""
        there = self.elsewhere[place]
        if self.lab is None or there is None:
            return self.lab is there
        return abs(there - self.lab) <= self.measure.slack(self.lab)

    def json(self) -> Json:
        return {
            **({"path": self.path} if self.path else {}),
            "cc": self.cc, "measure": self.measure.name, "lab": self.lab,
            "elsewhere": {place: {"value": value, "agrees": self.agrees(place)}
                          for place, value in self.elsewhere.items()},
        }  # fmt: skip


def jobs(ccs: Iterable[str], seeds: int, *more: str) -> list[Job]:
    """The runs of each: one alone, and so many beside CUBIC."""
    dumbbell, made = scenario.load("dumbbell"), []
    for cc in ccs:
        sets = [*PATH, *SENDERS[cc], *more]
        mix = "mix=cubic:2" if cc == "cubic" else f"mix={cc}:1,cubic:1"
        pair = scenario.override(dumbbell, [*sets, *BESIDE, mix])
        made.append(Job(dumbbell, scenario.override(dumbbell, sets), cc, 1))
        made += [Job(dumbbell, pair, "mix", seed) for seed in range(1, 1 + seeds)]
    return made


def on_stock(wanted: list[Job], *, version: str = "6.12", timeout_s: float = 3600) -> list[Json]:
    """The results of runs on that stock kernel, one after the other in one guest."""
    kernel = stock.ensure(version)
    # Packed, since an argument has at most 128 KiB
    script = base64.b64encode(gzip.compress("\n".join(map(_script, wanted)).encode())).decode()
    done = boot(kernel, ["sh", "-euc", f'eval "$(echo {script} | base64 -d | gunzip)"'],
                modules=stock.build(kernel), timeout_s=timeout_s)  # fmt: skip
    packed = done.stdout.split("\n\n")[:-1]
    if done.returncode or len(packed) != len(wanted):
        raise LabError(
            f"run {len(packed) + 1} of {len(wanted)} failed on kernel {kernel.release}",
            log="\n".join(done.stderr.splitlines()[-25:]),
        )
    found = []
    for job, text in zip(wanted, packed, strict=True):
        with tempfile.TemporaryDirectory() as name:
            for file, line in zip(FILES, text.split(), strict=True):
                Path(name, file).write_bytes(base64.b64decode(line))
            made = {"wall_s": done.wall_s / len(wanted), "provenance": {"kernel": kernel.release}}
            found.append(result.build(Path(name), job, kernel.release, made))
    return found


def _script(job: Job) -> str:
    """Sets the path up, has the plan begin when it is there, and packs what was measured."""
    plan = compile_plan(job.settings, job.cc, job.seed)
    return f"""
cd "$(mktemp -d)"
# An emulated clock runs fast while the guest waits for the host's files.
cp {kernels.agent()} agent
cat >setup.sh <<'SETUP'
{for_stock_kernels(plan.setup, job.settings)}
SETUP
cat >plan <<'PLAN'
{plan.traffic.rstrip()}
PLAN
sh ./setup.sh >&2
start=$(awk '{{ printf "%.0f", $1 * 1e9 + {BEFORE_NS} }}' /proc/uptime)
sed -i "s/^run start=[0-9]*/run start=$start/" plan
./agent traffic plan . >&2
for file in {" ".join(FILES)}; do base64 -w 0 $file; echo; done
echo
for space in s0 d b r; do ip netns del $space; done
"""


def measure(
    ccs: Iterable[str] = SENDERS, places: Iterable[str] = PLACES, seeds: int = SEEDS
) -> list[Row]:
    """Each measure of these senders in the lab and in these places."""
    ccs, places = list(ccs), list(places)

    def in_lab(variant: str = "", *more: str) -> list[Json]:
        return run_all(Laboratory(variant=variant), jobs(ccs, seeds, *more))

    ways: dict[str, Callable[[], list[Json]]] = {
        "lab": in_lab,
        STOCK: lambda: on_stock(jobs(ccs, seeds)),
        "HZ 250": lambda: in_lab("hz250"), "HZ 1000": lambda: in_lab("hz1000"),
        "offload": lambda: in_lab("", "offload=on"),
    }  # fmt: skip
    found = {}
    with Progress("lab agree", wanted=True) as shown:
        for k, place in enumerate(("lab", *places)):
            shown.show(f"in {place}", k / (1 + len(places)))
            found[place] = ways[place]()
    rows = []
    for k, cc in enumerate(ccs):
        first = k * (1 + seeds)
        for one in MEASURES:
            values = {
                place: one.of(runs[first], runs[first + 1 : first + 1 + seeds])
                for place, runs in found.items()
            }
            rows.append(Row(cc, one, values.pop("lab"), values))
    return rows


def _total(name: str) -> Callable[[Json, list[Json]], float]:
    return lambda run, pairs: sum(flow[name] for flow in run["flows"])


def _mean_rtt(run: Json, pairs: list[Json]) -> float:
    return fmean(flow["rtt_mean_s"] for flow in run["flows"])


# What iperf3 tells too, here of all flows of a run
_OF_IPERF3 = {
    "goodput": _total("goodput_bps"), "rtt": _mean_rtt, "retransmits": _total("retransmits"),
}  # fmt: skip
BY_IPERF3 = tuple(replace(one, of=_OF_IPERF3[one.name]) for one in MEASURES
                  if one.name in _OF_IPERF3)  # fmt: skip


def on_testbed(
    wanted: Iterable[tuple[str, str]], ccs: Iterable[str], *, version: str = "6.12",
    timeout_s: float = 3600,
) -> list[list[Json]]:  # fmt: skip
    """What scripts/testbed measures on that stock kernel: of each scenario's case these columns."""
    wanted = list(wanted)
    kernel = stock.ensure(version)
    options = " ".join(["--json --out /tmp/said", *(f"--cc {cc}" for cc in ccs)])
    calls = [f"scripts/testbed run {name} --case '{case}' {options}; echo ===="
             for name, case in wanted]  # fmt: skip
    script = "\n".join([f"cd {REPO}", *calls])
    done = boot(kernel, ["sh", "-euc", script], modules=stock.build(kernel), timeout_s=timeout_s)
    shown = done.stdout.split("====")[:-1]
    if done.returncode or len(shown) != len(wanted):
        raise LabError(f"the test bed failed on kernel {kernel.release}",
                       log="\n".join(done.stderr.splitlines()[-25:]))  # fmt: skip
    return [json.loads(text) for text in shown]


def beside_testbed(
    wanted: Iterable[tuple[str, str]] = SCENARIOS, ccs: Iterable[str] = ON_TESTBED,
    seeds: int = SEEDS,
) -> list[Row]:  # fmt: skip
    """Each measure that iperf3 has, in the lab and in the test bed on a stock kernel.

    The lab's is the mean of so many seeds.  The test bed's is one run, whose losses and jitter are
    drawn anew each time.
    """
    rows, wanted, ccs = [], list(wanted), list(ccs)
    with Progress("lab agree", wanted=True) as shown:
        shown.show(f"{TESTBED}, {STOCK}", 0)
        everywhere = on_testbed(wanted, ccs)
        for k, ((name, case), there) in enumerate(zip(wanted, everywhere, strict=True)):
            shown.show(f"in lab, {name}", (1 + k) / (1 + len(wanted)))
            one = scenario.load(name)
            here = run_all(Laboratory(), [
                Job(one, scenario.override(one, (), column, one.case_of(case)), column.cc, seed,
                    column.name, case)
                for column in map(one.column_of, ccs) for seed in range(1, 1 + seeds)
            ])  # fmt: skip
            for n, real in enumerate(there):
                labs = here[n * seeds : (n + 1) * seeds]
                rows += [
                    Row(real["cc"], of, fmean(of.of(lab, []) for lab in labs),
                        {TESTBED: of.of(real, [])}, case)
                    for of in BY_IPERF3
                ]  # fmt: skip
    return rows


def table(rows: list[Row]) -> str:
    """In Markdown: a line for each sender and measure; bold what does not agree."""
    places = list(rows[0].elsewhere)
    lines = [f"| | | lab | {' | '.join(places)} |", "|---|---" + "|--:" * (1 + len(places)) + "|"]
    for row in rows:
        def shown(value: float | None, scale: float = row.measure.scale) -> str:
            return "-" if value is None else f"{value * scale:.3g}"

        cells = [shown(value) if row.agrees(place) else f"**{shown(value)}**"
                 for place, value in row.elsewhere.items()]  # fmt: skip
        name = f"{row.measure.name}{row.measure.unit and ', '}{row.measure.unit}"
        what = f"{row.path}{row.path and ': '}`{row.cc}`"
        lines.append(f"| {what} | {name} | {shown(row.lab)} | {' | '.join(cells)} |")
    return "\n".join(lines)
