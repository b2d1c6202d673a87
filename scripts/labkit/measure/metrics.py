# SPDX-License-Identifier: GPL-2.0
"""Metrics: numbers of a result, by name; and the comparison of a result with a paper's numbers."""

import math
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


def payload_bps(result: Json) -> float:
    """The bottleneck's rate for payload at the end of a run, bit/s, as senders estimate it."""
    settings = result["settings"]
    rates = [c["rate"] for c in settings.get("change", ())
             if "rate" in c and c["at"] < result["virtual_s"]]  # fmt: skip
    mtu = settings["mtu"]
    share = (mtu - HEADERS[settings["ip"]]) / (mtu + ETHERNET_HEADER)
    return (rates or [settings["rate"]])[-1] * share


def _mean_payload_bps(r: Json, since: float, until: float) -> float:
    """As payload_bps(), but the mean from since to until, s, if the rate changes during the run."""
    changes = [c for c in r["settings"].get("change", ()) if "rate" in c]
    if not changes or until <= since:
        return payload_bps(r)
    ends = [*(c["at"] for c in changes), math.inf]
    rates = [r["settings"]["rate"], *(c["rate"] for c in changes)]
    bits = sum(rate * max(0.0, min(end, until) - max(begin, since))
               for rate, begin, end in zip(rates, [0.0, *ends], ends, strict=False))  # fmt: skip
    return payload_bps(r | {"settings": r["settings"] | {"rate": bits / (until - since),
                                                         "change": []}})  # fmt: skip


def _capacity_error(r: Json) -> float:
    truth = payload_bps(r)
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
    return abs(sum(shares) / payload_bps(r) - 1)


def _of_fair(r: Json) -> list[float]:
    """Each flow's goodput divided by an equal share of the link's rate, without headers.

    If the rate changes, it is the mean over the time in which the goodput was measured: that of
    the flow, or the second half of a stage.
    """
    found = []
    for f in r["flows"]:
        if "start_s" in f:
            since, until = f["start_s"], f["end_s"]
        else:
            (stage,) = r["stages"]
            since, until = (stage["from"] + stage["to"]) / 2, stage["to"]
        found.append(f["goodput_bps"] / _mean_payload_bps(r, since, until) * r["settings"]["flows"])
    return found


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


_PERCENTILES = (("median", "the median"), ("p95", "the 95th percentile"),
                ("p99", "the 99th percentile"))  # fmt: skip


def _spread(of: str, what: str, says: str) -> dict[str, Metric]:
    """Metrics for the times of calls, requests and so on: the mean, percentiles and maximum."""
    return {
        f"{of}_{share}_s": Metric(lambda r, name=f"{what}_{share}_s": r[of][name],
                                  f"{says}: {words}")
        for share, words in (("mean", "the mean"), *_PERCENTILES, ("max", "the largest"))
    }  # fmt: skip


# All metrics by name, with their descriptions for the schema page.
METRICS: dict[str, Metric] = {
    **_flows(_mean, "completion_s", "with bytes: seconds from a flow's start to the arrival of its"
             " last byte: mean over flows"),
    **_flows(_sum, "goodput_bps", "rate of the data that arrived, over the time of each flow,"
             " bit/s: sum over flows"),
    **_flows(_sum, "retransmits", "retransmitted segments: sum over flows"),
    **_flows(_mean, "rtt_mean_s", "round-trip time that TCP measures (srtt), s: mean over time and"
             " flows"),
    "jain": Metric(lambda r: jain([f["goodput_bps"] for f in r["flows"]]),
                   "Jain's index of the flows' goodput: 1 means equal goodput"),
    "jain_equilibrium": Metric(lambda r: r["jain_equilibrium"], "jain in the second half"
                               " of the run"),
    "share_of_fair": Metric(lambda r: _mean(_of_fair(r)), "goodput of a flow divided by an equal"
                            " share of the link's rate: mean over flows"),
    "goodput_ratio": Metric(lambda r: _ratio([f["goodput_bps"] for f in r["flows"]]),
                            "largest goodput of a flow divided by the smallest; infinite if a flow"
                            " got nothing"),
    **_flows(_mean, "cwnd_mean", "congestion window, segments: mean over time and"
             " flows"),
    **_flows(_mean, "cwnd_kept", "window of a flow after a reduction divided by the window before"
             " it: the mean"),
    **_flows(_mean, "ssthresh_equilibrium", "ssthresh in the second half of the run, segments"),
    **_flows(_mean, "in_flight_equilibrium", "segments in flight in a flow's second half; for ccp,"
             " ccpd and ccpd_path, as they estimate it"),
    **_flows(_mean, "estimated_capacity_bps", "the sender's estimate of the capacity at the end,"
             " bit/s"),
    **_flows(_mean, "estimated_min_rtt_s", "the sender's estimate of the shortest round-trip time,"
             " s"),
    **_flows(_mean, "estimated_buffer", "the sender's estimate of the buffer's size, segments"),
    **_flows(_mean, "estimated_level", "the sender's estimate of the buffer's level in a flow's"
             " second half, segments"),
    **_flows(_mean, "estimated_share_bps", "the bandwidth that mccp and mccp_path estimate, in the"
             " second half, bit/s"),
    "capacity_error": Metric(_capacity_error, "error of the estimated capacity, as a share of the"
                             " true one: the largest of all flows"),
    "buffer_error": Metric(_buffer_error, "error of the estimated buffer size, as a share of the"
                           " true one, for a single flow"),
    "level_error": Metric(_level_error, "error of the estimated buffer level, as a share of the"
                          " true one, for a single flow"),
    "share_error": Metric(_share_error, "error of the sum of the estimated shares, as a share of"
                          " the link's rate"),
    "flows_error": Metric(_flows_error, "error of the routers' estimated number of flows, as a"
                          " share of the true one: the largest of all links"),
    **_links(min, "utilization", "bytes that left the bottleneck, divided by rate times time; the"
             " least of several links"),
    **_links(min, "utilization_equilibrium", "utilization in the second half of the run"),
    **_links(max, "queue_mean", "queue at the bottleneck, packets: mean over time; the longest of"
             " several links"),
    **_links(max, "queue_equilibrium", "queue_mean in the second half of the run"),
    **_links(max, "queue_max", "longest queue at any time, packets"),
    **_links(min, "queue_least", "shortest queue in the second half, packets"),
    **_links(_sum, "drops", "packets that bottlenecks dropped"),
    "overflows": Metric(lambda r: _sum(x["drops"] + x.get("policed", 0) for x in r["links"]),
                        "drops, plus the packets that a policer dropped"),
    "lost_in_blackout": Metric(lambda r: _sum(x["blackout_drops"] for x in r["links"]),
                               "packets that were dropped in blackouts"),
    **_links(max, "flows_estimated", "number of flows that a router (acp) estimates, in the second"
             " half"),
    **_links(max, "phase_s", "length of a phase (estcp), s: the mean"),
    **_links(min, "phase_least_s", "the shortest phase, s"),
    **_links(max, "phase_most_s", "the longest phase, s"),
    "answer_rtts": Metric(lambda r: r["answer_rtts"], "round trips from the beginning of a phase"
                          " until the window of the last flow shrinks (estcp): the largest"),
    **_stages("fair_error", "with stages or a network: difference of a flow's rate from its max-min"
              " fair share in the second half of a stage, as a share of the latter: the largest"),
    **_stages("settle_s", "seconds from the beginning of a stage until all windows stay within 10 %"
              " of their means: the largest"),
    **_stages("converge_s", "seconds from the beginning of a stage until all windows are equal"
              " (Jain's index of 0.999 over 5 s): the largest"),
    **_flows(_mean, "cwnd_equilibrium", "of a stage: window in its second half, segments"),
    **_flows(_mean, "cwnd_reduced", "of a stage: window before the first reduction, segments"),
    **_flows(_mean, "cwnd_least", "of a stage: smallest window, segments"),
    **_flows(_mean, "cwnd_most", "of a stage: largest window, segments"),
    **_flows(_mean, "window_mean", "of a stage: mean window, segments; a window that TCP is"
             " reducing counts as its target"),
    "window_jain": Metric(lambda r: jain([f["window_mean"] for f in r["flows"]]),
                          "of a stage: Jain's index of window_mean"),
    **_flows(_mean, "cycle_s", "of a stage: seconds from one reduction to the next"),
    **_flows(_mean, "fair_bps", "of a stage: max-min fair share of a flow, bit/s"),
    **_flows(_mean, "granted_least_bps", "of a stage: lowest rate that a router granted, bit/s"),
    **_links(max, "full_s", "of a stage: seconds until a link carries 97 % of its rate"),
    **_links(max, "queue_begin", "of a stage: queue at its beginning, packets (the last sample"
             " until then)"),
    **_links(max, "flows_settle_s", "of a stage: seconds until the estimated number of flows stays"
             " within 10 % of its mean"),
    **_links(max, "flows_most", "of a stage: largest estimated number of flows"),
    **_flows(_mean, "request_mean_s", "with app: seconds from a write to the arrival of its last"
             " byte: the mean"),
    **_flows(max, "request_p95_s", "with app: the 95th percentile of these times, of the slowest"
             " flow"),
    **_flows(max, "request_max_s", "with app: the longest of these times"),
    "requests_unanswered": Metric(
        lambda r: _sum(f["requests"] - f["answered"] for f in r["flows"]),
        "with app: writes that had not arrived at the end of the run",
    ),
    "short_completion_s": Metric(lambda r: r["short"]["completion_mean_s"],
                                 "with short: mean completion time of the short flows, s"),
    **{
        f"short_completion_{share}_s": Metric(
            lambda r, name=f"completion_{share}_s": r["short"][name],
            f"with short: completion time of the short flows, s: {words}",
        )
        for share, words in _PERCENTILES
    },
    "short_unfinished": Metric(lambda r: r["short"]["unfinished"],
                               "with short: short flows that had not ended at the end of the run"),
    **_spread("voice", "delay", "with voice: delay of datagrams, s"),
    "voice_loss": Metric(lambda r: r["voice"]["lost"] / r["voice"]["sent"],
                         "with voice: share of the datagrams that were lost"),
    **_spread("ask", "took", "with ask: seconds from a request to the end of its response"),
    **{
        f"video_{name}": Metric(lambda r, name=name: r["video"][name], f"with video: {says}")
        for name, says in (
            ("bitrate_bps", "bit rate of the chunks that arrived, bit/s: mean over chunks and"
                            " viewers"),
            ("rebuffer_s", "seconds in which playback, after its start, waited for a chunk: mean"
             " over viewers"),
            ("startup_s", "seconds until a viewer had the first chunk: mean over viewers"),
            ("switches", "changes of the bit rate: mean over viewers"),
            ("chunks", "chunks that arrived: mean over viewers"),
        )
    },
    "program_s": Metric(lambda r: _mean(p["took_s"] for p in r["program"] if "took_s" in p),
                        "with program: seconds that a program ran: mean over the programs that"
                        " ended"),
    "program_unfinished": Metric(lambda r: _sum("took_s" not in p for p in r["program"]),
                                 "with program: programs that had not ended at the end of the run"),
    "ask_unanswered": Metric(lambda r: r["ask"]["unanswered"],
                             "with ask: requests without a full response at the end of the run"),
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
    """The substitute for a metric that was not measured, or None.

    Only completion_s has one: a flow that did not finish counts with the time from its start to the
    timeout.  None if the run has no such flow.
    """
    asked = split(name)
    flows = part(result, asked.which, None)["flows"]
    timeout = result["settings"].get("timeout")
    if asked.base != "completion_s" or not flows or timeout is None:
        return None
    return _mean(flow.get("completion_s", timeout - flow["start_s"]) for flow in flows)


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
        "virtual_s": result["stages"][stage].get("to"),
        "stages": [result["stages"][stage]],
        "flows": [own for flow in flows if (own := flow["stages"][stage])],
        "links": [link["stages"][stage] for link in links],
    }


def _ratio(values: list[float]) -> float:
    """The largest value divided by the smallest: infinite if a flow got nothing beside others."""
    return math.inf if max(values) > min(values) == 0 else max(values) / min(values)


def _compare(expected: Expected, result: Json) -> Json:
    shown: Json = {
        "source": expected.source, "metric": expected.metric, "paper": expected.mean,
    }  # fmt: skip
    measured = metric(result, expected.metric)
    if measured is not None:
        shown["measured"] = measured
        shown["within"] = expected.near(measured)
    return shown
