# SPDX-License-Identifier: GPL-2.0
"""Numbers by their names, from results; and a result beside what a paper has measured."""

import re
from dataclasses import dataclass
from typing import Any

from ..model.scenario import Expected, Scenario
from ..model.settings import ETHERNET_HEADER, HEADERS
from .statistics import jain, rounded

Json = dict[str, Any]


def place(result: Json, scenario: Scenario, column: str = "", case: str = "") -> Json:
    """The result as one of that scenario's, beside what its paper measured."""
    named = {"scenario": scenario.name, "cc": result["cc"]}
    if column and column != result["cc"]:
        named["column"] = column
    if case:
        named["case"] = case
    own = ("scenario", "cc", "column", "case", "packets_per_s", "expected")
    placed = named | {k: v for k, v in result.items() if k not in own}
    placed["packets_per_s"] = packets_per_s(result)
    of_cell = [e for e in scenario.expected if (e.column, e.case) == (column, case)]
    if of_cell:
        placed["expected"] = [_compare(e, result) for e in of_cell]
    return rounded(placed)


def packets_per_s(result: Json) -> int:
    """How fast the run was: full packets of its flows' data in a second of wall time."""
    settings = result["settings"]
    carried = sum(flow["bytes"] for flow in result["flows"])
    return round(carried / (settings["mtu"] - HEADERS[settings["ip"]]) / result["wall_s"])


def payload_bps(settings: Json) -> float:
    """The bottleneck's rate for a flow's data at the end of a run, as capacity is estimated."""
    rates = [c["rate"] for c in settings.get("change", ()) if "rate" in c]
    mtu = settings["mtu"]
    share = (mtu - HEADERS[settings["ip"]]) / (mtu + ETHERNET_HEADER)
    return (rates or [settings["rate"]])[-1] * share


def _capacity_error(r: Json) -> float:
    truth = payload_bps(r["settings"])
    return max(abs(f["estimated_capacity_bps"] / truth - 1) for f in r["flows"])


def _buffer_error(r: Json) -> float:
    """Of a flow alone: others' packets are in the buffer too."""
    (flow,) = r["flows"]
    return abs(flow["estimated_buffer"] / r["settings"]["buffer"] - 1)


def _level_error(r: Json) -> float:
    """Of a flow alone, against the sampled queue; one packet is as near as a level can be."""
    (flow,) = r["flows"]
    queue = r["links"][0]["queue_equilibrium"]
    return abs(flow["estimated_level"] - queue) / max(queue, 1.0)


def _share_error(r: Json) -> float:
    """Of the mean of all flows: how fair their shares are is another measure."""
    shares = [f["estimated_share_bps"] for f in r["flows"]]
    return abs(sum(shares) / payload_bps(r["settings"]) - 1)


def _of_fair(r: Json) -> list[float]:
    """Each flow's goodput, as a share of what the link would carry of each if all had the same."""
    fair = payload_bps(r["settings"]) / r["settings"]["flows"]
    return [f["goodput_bps"] / fair for f in r["flows"]]


def _flows_error(r: Json) -> float:
    """Of the routers that take their flows to be so many."""
    links = r["links"]
    users = [link.get("users", len(r["flows"])) for link in links]
    return max(abs(x["flows_estimated"] / n - 1) for x, n in zip(links, users, strict=True) if n)


# What a paper's number may be compared with, from a result.  Of several links: the least use, the
# longest queue, all drops.
METRICS = {
    "capacity_error": _capacity_error,
    "buffer_error": _buffer_error,
    "level_error": _level_error,
    "share_error": _share_error,
    "flows_error": _flows_error,
    **{
        name: (lambda r, name=name: _mean(f[name] for f in r["flows"]))
        for name in ("in_flight_equilibrium", "estimated_capacity_bps", "estimated_min_rtt_s",
                     "estimated_buffer", "estimated_level", "estimated_share_bps",
                     "ssthresh_equilibrium")
    },
    "completion_s": lambda r: _mean(f["completion_s"] for f in r["flows"]),
    "request_mean_s": lambda r: _mean(f["request_mean_s"] for f in r["flows"]),
    "request_p95_s": lambda r: max(f["request_p95_s"] for f in r["flows"]),
    "request_max_s": lambda r: max(f["request_max_s"] for f in r["flows"]),
    "goodput_bps": lambda r: sum(f["goodput_bps"] for f in r["flows"]),
    "retransmits": lambda r: sum(f["retransmits"] for f in r["flows"]),
    **{
        name: (lambda r, name=name: _mean(f[name] for f in r["flows"]))
        for name in ("cwnd_mean", "cwnd_equilibrium", "cwnd_reduced", "cwnd_least",
                     "cwnd_most", "cwnd_kept", "fair_bps", "granted_least_bps",
                     "window_mean", "cycle_s")
    },
    "window_jain": lambda r: jain([f["window_mean"] for f in r["flows"]]),
    "rtt_mean_s": lambda r: _mean(f["rtt_mean_s"] for f in r["flows"]),
    "jain": lambda r: jain([f["goodput_bps"] for f in r["flows"]]),
    "share_of_fair": lambda r: _mean(_of_fair(r)),
    "goodput_ratio": lambda r: _ratio([f["goodput_bps"] for f in r["flows"]]),
    "jain_equilibrium": lambda r: r["jain_equilibrium"],
    "fair_error": lambda r: max(stage["fair_error"] for stage in r["stages"]),
    "settle_s": lambda r: max(stage["settle_s"] for stage in r["stages"]),
    "converge_s": lambda r: max(stage["converge_s"] for stage in r["stages"]),
    "answer_rtts": lambda r: r["answer_rtts"],
    "requests_unanswered": lambda r: sum(f["requests"] - f["answered"] for f in r["flows"]),
    "short_completion_s": lambda r: r["short"]["completion_mean_s"],
    "voice_loss": lambda r: r["voice"]["lost"] / r["voice"]["sent"],
    "ask_unanswered": lambda r: r["ask"]["unanswered"],
    **{
        f"{of}_{share}_s": (lambda r, of=of, name=f"{what}_{share}_s": r[of][name])
        for of, what in (("voice", "delay"), ("ask", "took"))
        for share in ("mean", "median", "p95", "p99", "max")
    },
    "short_unfinished": lambda r: r["short"]["unfinished"],
    "lost_in_blackout": lambda r: sum(link["blackout_drops"] for link in r["links"]),
    "overflows": lambda r: sum(link["drops"] + link.get("policed", 0) for link in r["links"]),
    **{
        name: (lambda r, name=name, of=of: of(link[name] for link in r["links"]))
        for name, of in (
            ("utilization", min), ("utilization_equilibrium", min), ("queue_mean", max),
            ("queue_equilibrium", max), ("queue_max", max), ("queue_least", min), ("drops", sum),
            ("full_s", max), ("flows_settle_s", max), ("flows_most", max),
            ("flows_estimated", max), ("phase_s", max), ("phase_least_s", min),
            ("phase_most_s", max),
        )
    },
}


@dataclass(frozen=True)
class Name:
    """A metric's name, and what it is restricted to."""

    base: str
    which: str = ""  # of these flows, or of this link
    stage: int | None = None


def split(name: str) -> Name:
    """The parts of a name such as cwnd_mean:0-9@2."""
    found = re.fullmatch(r"(\w+)(?::([\w.,-]+))?(?:@(\d+))?", name)
    if not found:
        return Name(name)
    return Name(found[1], found[2] or "", int(found[3]) if found[3] else None)


def metric(result: Json, name: str) -> float | None:
    """A metric of a run; with completion_s:cubic, :reno,cubic, :0 or :0-9 of those of its flows;
    with :link3 of that link; with @1 of the second stage.

    None if it was not measured: a flow that never finished has no completion time.
    """
    asked = split(name)
    try:
        found = METRICS[asked.base](part(result, asked.which, asked.stage))
        return None if found is None else float(found)
    except (KeyError, ValueError, ZeroDivisionError, IndexError):
        return None


def given(result: Json, name: str) -> float | None:
    """What counts for a metric that was not measured: a flow that did not finish took as long as it
    was given.  None if nothing does."""
    return result["settings"].get("timeout") if split(name).base == "completion_s" else None


def at_least(result: Json, name: str) -> float | None:
    """A metric of a run, or what counts for it."""
    found = metric(result, name)
    return given(result, name) if found is None else found


def part(result: Json, which: str, stage: int | None) -> Json:
    """The result as if nothing else had been measured."""
    flows, links = result["flows"], result["links"]
    if numbers := re.fullmatch(r"(\d+)(?:-(\d+))?", which):
        first = int(numbers[1])
        flows = flows[first : int(numbers[2] or first) + 1]
    elif which.startswith("link"):
        links = [link for link in links if link["name"] == which]
    elif which:
        flows = [flow for flow in flows if flow["cc"] in which.split(",")]
    whole = result | {"flows": flows, "links": links}
    if stage is None:
        return whole
    return whole | {
        "stages": [result["stages"][stage]],
        "flows": [own for flow in flows if (own := flow["stages"][stage])],
        "links": [link["stages"][stage] for link in links],
    }


def _ratio(values: list[float]) -> float:
    """Of the largest to the least."""
    return max(values) / min(values)


def _mean(values: Any) -> float:
    values = list(values)
    return sum(values) / len(values)


def _compare(expected: Expected, result: Json) -> Json:
    shown: Json = {
        "source": expected.source, "metric": expected.metric, "paper": expected.mean,
    }  # fmt: skip
    measured = metric(result, expected.metric)
    if measured is not None:
        shown["measured"] = measured
        shown["within"] = expected.near(measured)
    return shown
