# SPDX-License-Identifier: GPL-2.0
"""Metrics: numbers of a result, by name; and the comparison of a result with a paper's numbers."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..model.scenario import Expected, Scenario
from ..model.settings import ETHERNET_HEADER, HEADERS
from .statistics import jain, rounded

Json = dict[str, Any]


def place(result: Json, scenario: Scenario, column: str = "", case: str = "") -> Json:
    """Adds the scenario, column and case to a result, and the comparison with its paper."""
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
    """The speed of the run: full packets of its flows' data per second of wall time."""
    settings = result["settings"]
    carried = sum(flow["bytes"] for flow in result["flows"])
    return round(carried / (settings["mtu"] - HEADERS[settings["ip"]]) / result["wall_s"])


def payload_bps(settings: Json) -> float:
    """The bottleneck's rate for payload at the end of a run, bit/s, as senders estimate it."""
    rates = [c["rate"] for c in settings.get("change", ()) if "rate" in c]
    mtu = settings["mtu"]
    share = (mtu - HEADERS[settings["ip"]]) / (mtu + ETHERNET_HEADER)
    return (rates or [settings["rate"]])[-1] * share


def _capacity_error(r: Json) -> float:
    truth = payload_bps(r["settings"])
    return max(abs(f["estimated_capacity_bps"] / truth - 1) for f in r["flows"])


def _buffer_error(r: Json) -> float:
    """The error of the estimated buffer, for a single flow, because others share the buffer."""
    (flow,) = r["flows"]
    return abs(flow["estimated_buffer"] / r["settings"]["buffer"] - 1)


def _level_error(r: Json) -> float:
    """The error of the estimated level against the sampled queue, for a single flow.

    The divisor is at least one packet, the resolution of a level.
    """
    (flow,) = r["flows"]
    queue = r["links"][0]["queue_equilibrium"]
    return abs(flow["estimated_level"] - queue) / max(queue, 1.0)


def _share_error(r: Json) -> float:
    """The error of the flows' total estimated share; fairness is another metric."""
    shares = [f["estimated_share_bps"] for f in r["flows"]]
    return abs(sum(shares) / payload_bps(r["settings"]) - 1)


def _of_fair(r: Json) -> list[float]:
    """Each flow's goodput divided by an equal share of the link's rate, without headers."""
    fair = payload_bps(r["settings"]) / r["settings"]["flows"]
    return [f["goodput_bps"] / fair for f in r["flows"]]


def _flows_error(r: Json) -> float:
    """The largest error of the routers' estimates of the number of flows."""
    links = r["links"]
    users = [link.get("users", len(r["flows"])) for link in links]
    return max(abs(x["flows_estimated"] / n - 1) for x, n in zip(links, users, strict=True) if n)


def _mean(values: Any) -> float:
    values = list(values)
    return sum(values) / len(values)


@dataclass(frozen=True)
class Metric:
    """A number of a run.

    of: computes it from a result; if it raises KeyError, ValueError, ZeroDivisionError or
    IndexError, the metric was not measured.  says: its description on the schema page.
    """

    of: Callable[[Json], float | None]
    says: str


def _sum(values: Any) -> float:
    """The sum; ValueError, which means not measured, if there are no values."""
    values = list(values)
    if not values:
        raise ValueError
    return sum(values)


def _flows(over: Callable[[Any], float], name: str, says: str) -> dict[str, Metric]:
    """A metric that combines a field of each flow with over."""
    return {name: Metric(lambda r: over(f[name] for f in r["flows"]), says)}


def _links(over: Callable[[Any], float], name: str, says: str) -> dict[str, Metric]:
    return {name: Metric(lambda r: over(x[name] for x in r["links"]), says)}


def _stages(name: str, says: str) -> dict[str, Metric]:
    return {name: Metric(lambda r: max(stage[name] for stage in r["stages"]), says)}


def _spread(of: str, what: str, says: str) -> dict[str, Metric]:
    """Metrics for the times of calls, requests and so on: the mean, percentiles and maximum."""
    return {
        f"{of}_{share}_s": Metric(lambda r, name=f"{what}_{share}_s": r[of][name],
                                  f"{says}: {words}")
        for share, words in (("mean", "the mean"), ("median", "the median"),
                             ("p95", "the 95th percentile"), ("p99", "the 99th percentile"),
                             ("max", "the most"))
    }  # fmt: skip


# All metrics by name, with their descriptions for the schema page.
METRICS: dict[str, Metric] = {
    **_flows(_mean, "completion_s", "s from a flow's start to its last byte's"
             " arrival, with bytes: the mean over flows"),
    **_flows(_sum, "goodput_bps", "data that have arrived, bit/s: all flows together"),
    **_flows(_sum, "retransmits", "segments that were sent again: all flows together"),
    **_flows(_mean, "rtt_mean_s", "round-trip time as TCP sees it (srtt), s: mean"
             " over time and flows"),
    "jain": Metric(lambda r: jain([f["goodput_bps"] for f in r["flows"]]),
                   "Jain's index of the flows' goodput: 1 is fair"),
    "jain_equilibrium": Metric(lambda r: r["jain_equilibrium"], "the same of the run's second"
                               " half"),
    "share_of_fair": Metric(lambda r: _mean(_of_fair(r)), "a flow's goodput as a share of what each"
                            " would have if all had the same: the mean over flows"),
    "goodput_ratio": Metric(lambda r: _ratio([f["goodput_bps"] for f in r["flows"]]),
                            "the largest goodput of a flow over the least"),
    **_flows(_mean, "cwnd_mean", "congestion window, segments: mean over time and"
             " flows"),
    **_flows(_mean, "cwnd_kept", "share of its window that a flow has left after a"
             " reduction: the mean"),
    **_flows(_mean, "ssthresh_equilibrium", "ssthresh in the second half, segments"),
    **_flows(_mean, "in_flight_equilibrium", "segments in flight in a flow's second"
             " half; of ccp, ccpd and ccpd_path, as the estimates"),
    **_flows(_mean, "estimated_capacity_bps", "capacity as the sender estimates it"
             " at the end"),
    **_flows(_mean, "estimated_min_rtt_s", "least round-trip time as the sender has"
             " it"),
    **_flows(_mean, "estimated_buffer", "size of the buffer as the sender estimates"
             " it, segments"),
    **_flows(_mean, "estimated_level", "level of the buffer as the sender estimates"
             " it, segments, in a flow's second half"),
    **_flows(_mean, "estimated_share_bps", "bandwidth as mccp and mccp_path estimate"
             " it, in the second half"),
    "capacity_error": Metric(_capacity_error, "how far the estimated capacity is from the true one,"
                             " as a share of that: the most of all flows"),
    "buffer_error": Metric(_buffer_error, "the same of the buffer's size, of a flow alone"),
    "level_error": Metric(_level_error, "the same of the buffer's level, of a flow alone"),
    "share_error": Metric(_share_error, "the same of the sum of the estimated shares"),
    "flows_error": Metric(_flows_error, "the same of the number of flows as routers estimate it"),
    **_links(min, "utilization", "bytes that left the bottleneck over rate times time; of several"
             " links the least"),
    **_links(min, "utilization_equilibrium", "the same of the run's second half"),
    **_links(max, "queue_mean", "queue at the bottleneck, packets: mean over time; of several links"
             " the longest"),
    **_links(max, "queue_equilibrium", "the same of the second half"),
    **_links(max, "queue_max", "the longest queue at any moment, packets"),
    **_links(min, "queue_least", "the shortest queue in the second half, packets"),
    **_links(sum, "drops", "packets that bottlenecks dropped"),
    "overflows": Metric(lambda r: sum(x["drops"] + x.get("policed", 0) for x in r["links"]),
                        "the same, and what a policer dropped"),
    "lost_in_blackout": Metric(lambda r: sum(x["blackout_drops"] for x in r["links"]),
                               "packets that were dropped in blackouts"),
    **_links(max, "flows_estimated", "number of flows as a router (acp) estimates it, in the second"
             " half"),
    **_links(max, "phase_s", "length of a phase (estcp), s: the mean"),
    **_links(min, "phase_least_s", "the shortest phase, s"),
    **_links(max, "phase_most_s", "the longest phase, s"),
    "answer_rtts": Metric(lambda r: r["answer_rtts"], "round trips from a phase's beginning until"
                          " the last flow's window shrinks (estcp): the most"),
    **_stages("fair_error", "how far a flow is from its max-min fair share in a stage's second"
              " half, as a share of that: the most; with stages or a network"),
    **_stages("settle_s", "s from a stage's beginning until all windows stay within 10 % of their"
              " means: the most"),
    **_stages("converge_s", "s from a stage's beginning until all windows are alike, with Jain's"
              " index of 0.999 over 5 s: the most"),
    **_flows(_mean, "cwnd_equilibrium", "of a stage: the window in its second half,"
             " segments"),
    **_flows(_mean, "cwnd_reduced", "of a stage: the window that the first reduction"
             " met"),
    **_flows(_mean, "cwnd_least", "of a stage: the least window"),
    **_flows(_mean, "cwnd_most", "of a stage: the largest window"),
    **_flows(_mean, "window_mean", "of a stage: mean window, where one that is being"
             " reduced counts as what it will be"),
    "window_jain": Metric(lambda r: jain([f["window_mean"] for f in r["flows"]]),
                          "of a stage: Jain's index of these"),
    **_flows(_mean, "cycle_s", "of a stage: s from one reduction to the next"),
    **_flows(_mean, "fair_bps", "of a stage: a flow's max-min fair share"),
    **_flows(_mean, "granted_least_bps", "of a stage: the least rate that a router"
             " granted"),
    **_links(max, "full_s", "of a stage: s until a link carries 97 % of its rate"),
    **_links(max, "flows_settle_s", "of a stage: s until the estimated number of flows stays within"
             " 10 % of its mean"),
    **_links(max, "flows_most", "of a stage: the largest estimated number of flows"),
    **_flows(_mean, "request_mean_s", "with app: s from a write to its last byte's"
             " arrival: the mean"),
    **_flows(max, "request_p95_s", "with app: the 95th percentile of the slowest flow"),
    **_flows(max, "request_max_s", "with app: the most"),
    "requests_unanswered": Metric(lambda r: sum(f["requests"] - f["answered"] for f in r["flows"]),
                                  "with app: writes that had not arrived at the end"),
    "short_completion_s": Metric(lambda r: r["short"]["completion_mean_s"],
                                 "with short: mean completion time"),
    "short_unfinished": Metric(lambda r: r["short"]["unfinished"],
                               "with short: flows that had not ended"),
    **_spread("voice", "delay", "with voice: delay of datagrams, s"),
    "voice_loss": Metric(lambda r: r["voice"]["lost"] / r["voice"]["sent"],
                         "with voice: share of the datagrams that were lost"),
    **_spread("ask", "took", "with ask: s from a request to the end of its response"),
    **{
        f"video_{name}": Metric(lambda r, name=name: r["video"][name], f"with video: {says}")
        for name, says in (
            ("bitrate_bps", "bit rate of the chunks that have arrived: mean over chunks and"
             " viewers"),
            ("rebuffer_s", "s in which a viewer waited for a chunk in the middle: the mean"),
            ("startup_s", "s until a viewer had the first chunk: the mean"),
            ("switches", "changes of the bit rate: the mean over viewers"),
            ("chunks", "chunks that have arrived: the mean over viewers"),
        )
    },
    "program_s": Metric(lambda r: _mean(p["took_s"] for p in r["program"] if "took_s" in p),
                        "with program: s that a program took, of those that ended: the mean"),
    "ask_unanswered": Metric(lambda r: r["ask"]["unanswered"],
                             "with ask: requests that had not been answered"),
}


@dataclass(frozen=True)
class Name:
    """A metric's name, and what it is restricted to."""

    base: str
    which: str = ""  # the flows or the link; empty: all
    stage: int | None = None


def split(name: str) -> Name:
    """The parts of a name such as cwnd_mean:0-9@2."""
    found = re.fullmatch(r"(\w+)(?::([\w.,-]+))?(?:@(\d+))?", name)
    if not found:
        return Name(name)
    return Name(found[1], found[2] or "", int(found[3]) if found[3] else None)


def metric(result: Json, name: str) -> float | None:
    """The value of a metric in a run.

    name: completion_s:cubic, :reno,cubic, :0 or :0-9 is of these flows, :link3 of this link, @1 of
    the second stage.

    None if it was not measured, such as the completion time of a flow that never finished.
    """
    asked = split(name)
    try:
        found = METRICS[asked.base].of(part(result, asked.which, asked.stage))
        return None if found is None else float(found)
    except (KeyError, ValueError, ZeroDivisionError, IndexError):
        return None


def given(result: Json, name: str) -> float | None:
    """The substitute for a metric that was not measured: the timeout for the completion time of a
    flow that did not finish, else None."""
    return result["settings"].get("timeout") if split(name).base == "completion_s" else None


def at_least(result: Json, name: str) -> float | None:
    """The value of a metric in a run, or its substitute from given()."""
    found = metric(result, name)
    return given(result, name) if found is None else found


def part(result: Json, which: str, stage: int | None) -> Json:
    """The result reduced to the flows or the link that which selects, and to a stage."""
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
    """The largest value divided by the smallest."""
    return max(values) / min(values)


def _compare(expected: Expected, result: Json) -> Json:
    shown: Json = {
        "source": expected.source, "metric": expected.metric, "paper": expected.mean,
    }  # fmt: skip
    measured = metric(result, expected.metric)
    if measured is not None:
        shown["measured"] = measured
        shown["within"] = expected.near(measured)
    return shown
