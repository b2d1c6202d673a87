# SPDX-License-Identifier: GPL-2.0
"""Samples are never further apart than a quarter of the shortest round trip where a claim depends
on them."""

import ast
import re
from dataclasses import replace
from functools import cache
from math import inf
from pathlib import Path

import numpy as np
import pytest

from labkit.errors import LabError
from labkit.measure.job import Job
from labkit.measure.metrics import METRICS, split
from labkit.measure.runner import run_all
from labkit.measure.series import series
from labkit.model import scenario
from labkit.model.scenario import Scenario
from labkit.model.settings import Settings
from labkit.tell import findings
from labkit.world.plan import compile_plan

# Metrics for which the interval between samples does not matter, by the reason.
EXACT = {
    "counted by the agent or the kernel over the whole run": """
        completion_s goodput_bps retransmits jain share_of_fair goodput_ratio utilization drops
        overflows lost_in_blackout short_unfinished voice_loss ask_unanswered requests_unanswered
        video_chunks video_switches program_unfinished""",
    # at two samples; the rate is exact for the time between the two
    "a difference of two counters, divided by the time between them": """
        jain_equilibrium utilization_equilibrium fair_error""",
    # sch_link adds up queue times time, and its longest queue, at each packet
    "measured by the lab's link at each packet": "queue_mean queue_equilibrium queue_max",
    "the time of each message, which the programs write down": """
        request_mean_s request_p95_s request_max_s short_completion_s short_completion_median_s
        short_completion_p95_s short_completion_p99_s voice_mean_s voice_median_s voice_p95_s
        voice_p99_s voice_max_s ask_mean_s ask_median_s ask_p95_s ask_p99_s ask_max_s
        video_bitrate_bps video_rebuffer_s video_startup_s program_s""",
    "computed from the network alone": "fair_bps",
}  # fmt: skip

# Metrics that the samples of links determine; those of flows determine all others.
OF_LINKS = """queue_least queue_begin full_s flows_estimated flows_error flows_settle_s flows_most
    phase_s phase_least_s phase_most_s""".split()
OF_FLOWS = """rtt_mean_s cwnd_mean cwnd_kept ssthresh_equilibrium in_flight_equilibrium
    estimated_capacity_bps estimated_min_rtt_s estimated_buffer estimated_level estimated_share_bps
    capacity_error buffer_error level_error share_error answer_rtts settle_s converge_s
    cwnd_equilibrium cwnd_reduced cwnd_least cwnd_most window_mean window_jain cycle_s
    granted_least_bps""".split()

# Runs end when all bytes have arrived, long before their timeout: seconds that none exceeds.
ENDS = {"ccpd-capacity": 25, "ccpd-fig6": 60, "ccpd-fig7": 190}


def _metrics(of: Scenario, name: str) -> set[str]:
    """The general metrics that a metric of a scenario is computed from."""
    base = split(name).base
    if base not in of.metrics:
        return {base}
    words = {node.id for node in ast.walk(ast.parse(" ".join(of.metrics[base].split())))
             if isinstance(node, ast.Name)}  # fmt: skip
    return {found for word in words if word in of.metrics or word in METRICS
            for found in _metrics(of, word)}  # fmt: skip


def _coarsest(s: Settings, end: float) -> dict[str, float]:
    """The longest interval between samples of flows and of links until end, s.

    The agent doubles it by the numbers in the plan, see guest/agent.c: sample().
    """
    if s.sample == 0:
        return {"flows": inf, "links": inf}
    plan = compile_plan(s, "reno", 1).traffic
    of = {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", plan.partition("\n")[0])}
    flows, links, rows, at = of["sample"], of["link_sample"], 0, 0
    while True:
        most = of["rows"] if 2 * links > of["wide"] else of["few"]
        at += (most - rows) * links
        if at >= end * 1e9:
            return {"flows": flows / 1e9, "links": links / 1e9}
        rows, links = most // 2, 2 * links
        flows = max(flows, links)
        flows += -flows % links


def _shortest(s: Settings) -> float:
    """The shortest round trip of any flow at any time, s."""
    rtts = [group.rtt for group in s.net.groups] if s.network else s.rtt
    return min(*rtts, *(change.rtt for change in s.change if change.rtt),
               *(rtt for _, rtt, _ in s.steps), inf)  # fmt: skip


@cache
def _cell(name: str, column: str, case: str) -> tuple[dict[str, float], float]:
    """The coarsest samples of a cell's runs, and their shortest round trip, s."""
    of = scenario.load(name)
    s = scenario.override(of, [], of.column_of(column), of.case_of(case) if case else None)
    return _coarsest(s, ENDS.get(name, s.end) if s.bytes else s.end), _shortest(s)


def _too_coarse(of: Scenario) -> set[str]:
    """The findings and qualities of a scenario that depend on samples that are too far apart."""
    exact = " ".join(EXACT.values()).split()
    found = set()
    good = [one for q in of.quality for one in findings.of_senders(of, q).values()]
    claims = [*of.finding, *good]
    for finding in claims:
        for reference in findings.references(of, finding):
            other = scenario.load(reference.scenario) if reference.scenario else of
            for base in _metrics(other, reference.metric) - {*exact}:
                kind = "links" if base in OF_LINKS else "flows"
                for column, case in reference.cells(other):
                    coarsest, rtt = _cell(other.name, column, case)
                    if coarsest[kind] > rtt / 4 * 1.000001:
                        found.add(f"{finding.claim}: {base} of {other.name}, {column}, {case}:"
                                  f" {coarsest[kind]:g} s")  # fmt: skip
    return found


def test_all_metrics_are_known_here() -> None:
    known = [*" ".join(EXACT.values()).split(), *OF_LINKS, *OF_FLOWS]
    assert sorted(known) == sorted(METRICS)


@pytest.mark.parametrize("name", scenario.names())
def test_no_claim_depends_on_coarse_samples(name) -> None:
    """Set sample, sample_fixed or sample_links in the scenario that is named."""
    assert not _too_coarse(scenario.load(name))


def test_coarse_samples_are_found() -> None:
    """By default the interval doubles: after 112 s it is 40 ms, and a quarter of 100 ms is 25."""
    of = scenario.load("mccp-window")
    fine = scenario.override(of, [], of.column[0], of.case_of("UDP leaves"))
    assert fine.end == 112 and _shortest(fine) == 0.1
    for changed, longest in (({}, 0.025), ({"sample": None}, 0.04), ({"sample": 0.005}, 0.04),
                             ({"sample": None, "sample_fixed": 0.005}, 0.005)):  # fmt: skip
        assert _coarsest(replace(fine, **changed), 112)["flows"] == longest


def _gaps(run: dict, name: str) -> list[float]:
    """The intervals between samples in a series of a run, s."""
    times = np.unique(series(Path(run["series"]) / name, (0,))[:, 0])
    return sorted({round(gap, 6) for gap in np.diff(times)})


@pytest.mark.parametrize(
    ("sets", "flows", "links"),
    [
        (["duration=6", "sample_fixed=1ms"], [0.001], [0.001]),
        (["duration=6", "sample=1ms"], [0.001, 0.002], [0.001, 0.002]),
        (["duration=60", "flows=20", "sample_links=8ms"], [0.032], [0.008]),
        (["duration=30", "rtt=4ms"], [0.005, 0.01], [0.005, 0.01]),  # 5000 rows are 25 s
    ],
)
def test_intervals_that_are_set_stay(laboratory, sets, flows, links) -> None:
    """As a run's series show; and the default one doubles as the model of these tests says."""
    of = scenario.load("dumbbell")
    settings = scenario.override(of, ["rate=1mbit", "buffer=20", *sets])
    (run,) = run_all(laboratory, [Job(of, settings, "reno", 1)])
    assert (_gaps(run, "flows.csv"), _gaps(run, "links.csv")) == (flows, links)
    assert _coarsest(settings, settings.end) == {"flows": flows[-1], "links": links[-1]}


def test_two_intervals_are_refused() -> None:
    with pytest.raises(LabError, match="sample and sample_links exclude each other"):
        scenario.override(scenario.load("dumbbell"), ["sample=1ms", "sample_links=1ms"])


@pytest.mark.parametrize("given", ["sample", "sample_fixed", "sample_links"])
@pytest.mark.parametrize("name", ["mccp-window", "mccp-share", "estcp-gain"])
def test_an_interval_replaces_that_of_the_scenario(name, given) -> None:
    """Whichever of the three keys the scenario has."""
    s = scenario.override(scenario.load(name), [f"{given}=3ms"])
    said = {key: getattr(s, key) for key in ("sample", "sample_fixed", "sample_links")}
    assert said == dict.fromkeys(said) | {given: 0.003}
