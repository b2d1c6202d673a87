#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Packets per second of the lab, compared with ns-3 on the same network.

CUBIC flows through one bottleneck of 100 Mb/s and 40 ms, for ten seconds: in the lab, and in
dumbbell.cc, which is built with the system's ns-3 (Debian: libns3-dev libgsl-dev).  The two run
alternately, so that other load on the machine disturbs both.  Each ratio is from one such turn.
The time of the lab includes the boot of its guest and the reading of its samples; the time of ns-3
is only the simulation.  "A second of a core" is a second of processor time of the whole program
from its start; it hardly depends on other load.

speed.py [--rounds N] [--flows N...] [--json]	Without ns-3 it measures the lab alone.
"""

import argparse
import json
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LAB = HERE.parents[1] / "scripts/lab"
FLOWS = (1, 50, 200, 1000, 5000)
NS3_MOST = 200  # more flows take ns-3 minutes
SECONDS = 10
SETTINGS = ("rate=100mbit", "rtt=40ms", "buffer=334", f"duration={SECONDS}", "start=1ms")
MODULES = [f"ns3-{name}" for name in
           ("applications", "internet", "network", "point-to-point", "traffic-control", "core")]
TIMEOUT_S = 900


def run(*command: str | Path) -> str:
    """The standard output of a command; its error messages go to standard error."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          timeout=TIMEOUT_S).stdout  # fmt: skip


def build(where: Path) -> Path | None:
    """Build the program for ns-3; None if ns-3 is not installed."""
    asked = subprocess.run(["pkg-config", "--cflags", "--libs", *MODULES],
                           capture_output=True, text=True)  # fmt: skip
    if asked.returncode:
        return None
    target = where / "dumbbell"
    run("g++", "-O2", "-std=c++17", HERE / "dumbbell.cc", "-o", target, *shlex.split(asked.stdout))
    return target


def cpu_s() -> float:
    """Processor time of all child programs that have ended, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def of_lab(flows: int) -> tuple[float, float]:
    """Packets per second of the lab, and packets per second of a core."""
    sets = [part for of in (*SETTINGS, f"flows={flows}") for part in ("--set", of)]
    before = cpu_s()
    (made,) = json.loads(run(LAB, "run", "dumbbell", "--cc", "cubic", "--json", *sets))
    return made["packets_per_s"], made["packets_per_s"] * made["wall_s"] / (cpu_s() - before)


def of_ns3(program: Path, flows: int) -> tuple[float, float]:
    """The same for ns-3."""
    before = cpu_s()
    made = json.loads(run(program, f"--flows={flows}", f"--seconds={SECONDS}"))
    return made["packets"] / made["wall_s"], made["packets"] / (cpu_s() - before)


def measure(program: Path | None, rounds: int, numbers: Iterable[int]) -> list[dict[str, Any]]:
    """For each number of flows the results of both, and the ratios of each round."""
    rows = []
    for flows in numbers:
        beside = program if program and flows <= NS3_MOST else None
        found: dict[str, list[float]] = {}
        for number in range(rounds):
            print(f"{flows} flows, {number + 1} of {rounds}", file=sys.stderr)
            lab = of_lab(flows)
            made = dict(zip(("lab", "lab_core"), lab, strict=True))
            if beside:
                ns3 = of_ns3(beside, flows)
                made |= dict(zip(("ns3", "ns3_core"), ns3, strict=True))
                made |= {"ratios": lab[0] / ns3[0], "ratios_core": lab[1] / ns3[1]}
            for name, value in made.items():
                found.setdefault(name, []).append(round(value, 2))
        rows.append({"flows": flows, **found})
    return rows


def shown(values: list[float], form: str) -> str:
    return f"{statistics.median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


def main() -> int:
    parser = argparse.ArgumentParser(description="Packets a second of the lab, beside ns-3")
    parser.add_argument("--rounds", type=int, choices=range(1, 100), metavar="N", default=3)
    parser.add_argument("--flows", type=int, nargs="+", metavar="N", default=FLOWS,
                        help="how many; by default 1 to 5000")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="a JSON array, and nothing else")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as where:
        program = build(Path(where))
        if not program:
            print("no ns-3: apt-get install libns3-dev libgsl-dev", file=sys.stderr)
        rows = measure(program, arguments.rounds, arguments.flows)
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return 0
    for of, what in (("", "a second"), ("_core", "a second of a core")):
        print(f"{f'packets {what}':<30}{'lab':>24}{'ns-3':>24}{'times':>18}")
        for row in rows:
            cells = [shown(row[name + of], form) if name + of in row else "-"
                     for name, form in (("lab", ".0f"), ("ns3", ".0f"), ("ratios", ".1f"))]
            print(f"{row['flows']:>6} flows{'':<18}{cells[0]:>24}{cells[1]:>24}{cells[2]:>18}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
