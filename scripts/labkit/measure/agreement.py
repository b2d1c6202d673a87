# SPDX-License-Identifier: GPL-2.0
"""Validates the lab: measures each sender on one path, in the lab and in other places.

The other places are: an unmodified kernel of a distribution in QEMU, in real time, where the lab's
agent executes the same plan and takes the same samples; the lab kernel with a larger HZ; and the
lab with segmentation offload.

It also compares scenarios of the lab with scripts/testbed: iperf3 in real time on that stock
kernel, which uses only the lab's commands for the setup of the path.
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
BUFFER = 132  # packets, equal to 1bdp
BESIDE = ("scatter=200ms",)  # additional settings of the runs with CUBIC
SEEDS = 10  # of the runs with CUBIC

# Each sender, and the settings of its router
SENDERS = {
    "cubic": (), "bbr": (), "ccpd_path": (), "mccp": (),
    "acp": ("qdisc=acp",), "estcp": ("qdisc=estcp",),
}  # fmt: skip

# Scenarios and cases for the test bed, slow enough for an emulated processor
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
FILES = ("summary.json", "flows.csv", "links.csv")  # output of a run
BEFORE_NS = 10 * 10**9  # from the end of the setup to the start of traffic, on a stock kernel


@dataclass(frozen=True)
class Measure:
    """A number that is computed from a sender's runs.

    of: takes the run of the sender alone, and the runs with CUBIC.  slack: takes the value in the
    lab, and returns the largest allowed difference in another place.  scale: factor for display.
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


# The allowed difference is a tenth of the rate, round trip, buffer, window, or the sum of two
# flows.  The number of losses varies more: by a half, or 10.  The share of one of two flows is
# random in a single run (0.49 and 0.71 in two places).  So it is the mean of several runs, in which
# the flows start at different times.
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
    """A measure of a sender, in the lab and in other places.

    path: the scenario's case, if there are several.
    """

    cc: str
    measure: Measure
    lab: float | None
    elsewhere: dict[str, float | None]
    path: str = ""

    def agrees(self, place: str) -> bool | None:
        """Whether the difference is within the slack; None if both places have no value, which is
        neither agreement nor a difference."""
        there = self.elsewhere[place]
        if self.lab is None or there is None:
            return None if self.lab is there else False
        return abs(there - self.lab) <= self.measure.slack(self.lab)

    def json(self) -> Json:
        return {
            **({"path": self.path} if self.path else {}),
            "cc": self.cc, "measure": self.measure.name, "lab": self.lab,
            "elsewhere": {place: {"value": value, "agrees": self.agrees(place)}
                          for place, value in self.elsewhere.items()},
        }  # fmt: skip


def jobs(ccs: Iterable[str], seeds: int, *more: str) -> list[Job]:
    """The runs of each sender: one alone, and one with CUBIC for each seed."""
    dumbbell, made = scenario.load("dumbbell"), []
    for cc in ccs:
        sets = [*PATH, *SENDERS[cc], *more]
        mix = "mix=cubic:2" if cc == "cubic" else f"mix={cc}:1,cubic:1"
        pair = scenario.override(dumbbell, [*sets, *BESIDE, mix])
        made.append(Job(dumbbell, scenario.override(dumbbell, sets), cc, 1))
        made += [Job(dumbbell, pair, "mix", seed) for seed in range(1, 1 + seeds)]
    return made


def on_stock(wanted: list[Job], *, version: str = "6.12", timeout_s: float = 3600) -> list[Json]:
    """Makes the runs on a stock kernel, one after the other in one guest; returns their results."""
    kernel = stock.ensure(version)
    # Compressed, because an argument has at most 128 KiB
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
    """The shell script of a run: sets up the path, executes the plan, and packs the output."""
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
    """Measures these senders in the lab and in these places."""
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


# The measures that iperf3 also reports, here over all flows of a run
_OF_IPERF3 = {
    "goodput": _total("goodput_bps"), "rtt": _mean_rtt, "retransmits": _total("retransmits"),
}  # fmt: skip
BY_IPERF3 = tuple(replace(one, of=_OF_IPERF3[one.name]) for one in MEASURES
                  if one.name in _OF_IPERF3)  # fmt: skip


def on_testbed(
    wanted: Iterable[tuple[str, str]], ccs: Iterable[str], *, version: str = "6.12",
    timeout_s: float = 3600,
) -> list[list[Json]]:  # fmt: skip
    """Runs scripts/testbed on a stock kernel: the columns ccs of each scenario and case in wanted.

    Returns the results, a list for each scenario.
    """
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
    """The measures of iperf3, in the lab and in the test bed on a stock kernel.

    The lab's value is the mean over the seeds.  That of the test bed is from one run, whose losses
    and jitter are random each time.
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
    """A Markdown table, a line for each sender and measure; values that do not agree are bold."""
    places = list(rows[0].elsewhere)
    lines = [f"| | | lab | {' | '.join(places)} |", "|---|---" + "|--:" * (1 + len(places)) + "|"]
    for row in rows:
        def shown(value: float | None, scale: float = row.measure.scale) -> str:
            return "-" if value is None else f"{value * scale:.3g}"

        cells = [f"**{shown(value)}**" if row.agrees(place) is False else shown(value)
                 for place, value in row.elsewhere.items()]  # fmt: skip
        name = f"{row.measure.name}{row.measure.unit and ', '}{row.measure.unit}"
        what = f"{row.path}{row.path and ': '}`{row.cc}`"
        lines.append(f"| {what} | {name} | {shown(row.lab)} | {' | '.join(cells)} |")
    return "\n".join(lines)
