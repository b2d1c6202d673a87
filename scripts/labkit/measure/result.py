# SPDX-License-Identifier: GPL-2.0
"""Computes the result object from a guest's measurements, unless limits.py refuses them.

All units are SI: seconds, bits per second, packets.  Values that were not measured are absent.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import LabError
from ..model.settings import Settings
from ..world.topology import BLACKOUT, POLICER, Row
from .job import Job
from .limits import check
from .provenance import measuring
from .series import LINK_COLUMNS, queue_of, series, text
from .stages import kept_share, of_stages
from .statistics import jain, over_time, rounded, weighted

Json = dict[str, Any]


def build(run: Path, job: Job, kernel: str, made: Json) -> Json:
    """The result of the run in a directory, without the fields that depend on its scenario.

    made: an object with the duration (wall_s) and the provenance.
    """
    settings = job.settings
    summary = json.loads((run / "summary.json").read_text())
    check(summary, settings)
    sampled = settings.sample != 0
    end = summary["end_s"]
    started = [_flow(flow, settings) for flow in summary["flows"] if flow["started"]]
    # Larger ids are those of short flows, and of flows in the reverse direction.
    flows = [flow for flow in started if flow["id"] < settings.flows]
    others = [flow for flow in started if flow["id"] >= settings.flows]
    if settings.app:
        _requests(flows, summary, run / "requests.csv")
    links = _links(summary, settings, run / "links.csv" if sampled else None)
    later = _flow_means(flows, run / "flows.csv", end) if sampled else []
    result = {
        "scenario": job.scenario.name,
        "cc": ",".join(f"{n}:{c}" for n, c in settings.mix) if settings.mix else job.cc,
        "seed": job.seed,
        "kernel": kernel,
        "settings": settings.as_json(),
        "virtual_s": end,
        "wall_s": made["wall_s"],
        "flows": flows,
        "links": links,
    }
    shares = {"jain": [flow["goodput_bps"] for flow in flows], "jain_equilibrium": later}
    result |= {name: index for name, of in shares.items() if (index := jain(of)) is not None}
    if sampled and (settings.stages or settings.network):
        result["stages"] = of_stages(flows, links, settings, run)
    if sampled and settings.qdisc == "estcp" and (worst := _slowest_answer(flows, run)) is not None:
        result["answer_rtts"] = worst
    result["flows"] = [{k: v for k, v in flow.items() if k != "id"} for flow in flows]
    if settings.short:
        done = sorted(flow["completion_s"] for flow in others if "completion_s" in flow)
        result["short"] = {
            "flows": len(others),
            "completed": len(done),
            "unfinished": len(others) - len(done),
            "bytes": sum(flow["bytes"] for flow in others),
            "retransmits": sum(flow["retransmits"] for flow in others),
        }
        if done:
            result["short"]["completion_mean_s"] = sum(done) / len(done)
            result["short"]["completion_median_s"] = done[len(done) // 2]
            result["short"]["completion_p95_s"] = done[min(len(done) - 1, len(done) * 95 // 100)]
            result["short"]["completion_p99_s"] = done[min(len(done) - 1, len(done) * 99 // 100)]
    if settings.reverse:
        name, count = settings.reverse
        rate = sum(flow["goodput_bps"] for flow in others)
        result["reverse"] = {"cc": name, "flows": count, "goodput_bps": rate}
    if settings.voice:
        sent, lost, took = _said(run / "voice.csv", end)
        result["voice"] = {"calls": settings.voice.calls, "sent": sent, "lost": lost}
        result["voice"] |= _spread("delay", took)
    if settings.ask:
        asked, unanswered, took = _said(run / "ask.csv", end)
        result["ask"] = {"clients": settings.ask.clients, "asked": asked, "unanswered": unanswered}
        result["ask"] |= _spread("took", took)
    if settings.video:
        result["video"] = _video(run / "video.csv", settings, end)
    if settings.program:
        result["program"] = [_program(run, k, settings) for k in range(len(settings.program))]
    result["provenance"] = made["provenance"] | {"measuring": measuring()}
    return rounded(result)


def _flow(flow: Json, settings: Settings) -> Json:
    length = flow["end_s"] - flow["start_s"]
    shown = {
        "id": flow["id"],
        "cc": flow["cc"],
        "bytes": flow["bytes"],
        "start_s": flow["start_s"],
        "end_s": flow["end_s"],
        "goodput_bps": flow["bytes"] * 8 / length if length > 0 else 0.0,
    }
    if flow["finished"]:
        shown["completion_s"] = length
    shown["retransmits"] = flow["retransmits"]
    if "default" in settings.host:
        shown |= {limit: flow[limit] for limit in ("rwnd_limited_s", "sndbuf_limited_s")}
    return shown


def _requests(flows: list[Json], summary: Json, path: Path) -> None:
    """Adds to each flow the number of writes of its application, the number of these that arrived,
    and their delay from the write to the arrival of the last byte."""
    table = series(path, (1, 3))
    written = {flow["id"]: flow["requests"] for flow in summary["flows"]}
    for flow in flows:
        took = np.sort(table[table[:, 0] == flow["id"], 1])
        flow |= {"requests": written[flow["id"]], "answered": len(took)}
        if len(took):
            flow |= {
                "request_mean_s": took.mean(),
                "request_p95_s": took[min(len(took) - 1, len(took) * 95 // 100)],
                "request_max_s": took[-1],
            }


def _said(path: Path, end: float) -> tuple[int, int, np.ndarray]:
    """The number of messages that were sent, the number of these that were lost, and the sorted
    delays of all that arrived, s.

    Messages sent within the largest delay before the end are not counted as sent or lost, because
    they may still be on the way.
    """
    table = series(path, (0, 1, 2))
    arrived = table[~np.isnan(table[:, 2])]
    told = end - (arrived[:, 2].max() if len(arrived) else 0.0)
    sent, there = (
        len(np.unique(rows[rows[:, 0] <= told, :2], axis=0))
        for rows in (table[np.isnan(table[:, 2])], arrived)
    )
    return sent, sent - there, np.sort(arrived[:, 2])


def _video(path: Path, settings: Settings, end: float) -> Json:
    """The results of video viewers, as means over the viewers.

    A viewer waits for the first chunk (startup), and rebuffers if a chunk takes longer than its
    buffer lasts.  The chunk that is on its way at the end of the run also counts.
    """
    table = series(path, (0, 1, 2, 4, 5))
    each = []
    for viewer in range(settings.video.viewers):
        rows = table[table[:, 1] == viewer]
        there = rows[~np.isnan(rows[:, 4])]
        asked = rows[np.isnan(rows[:, 4])]
        took = [*there[:, 4], *(end - asked[len(there) :, 0])]
        waited = np.array(took) - asked[: len(took), 3]
        startup = took[0] if took else end
        rates = there[:, 2]
        each.append({
            "chunks": len(there), "startup_s": startup,
            "rebuffer_s": np.maximum(0, waited[1:]).sum(),
            "switches": int(np.count_nonzero(np.diff(rates))),
        } | ({"bitrate_bps": rates.mean()} if len(rates) else {}))  # fmt: skip
    shown: Json = {"viewers": len(each)}
    for name in ("chunks", "startup_s", "rebuffer_s", "switches", "bitrate_bps"):
        values = [of[name] for of in each if name in of]
        shown |= {name: sum(values) / len(values)} if values else {}
    return shown


LINE = 200  # maximum characters of a program's output in a result


def _program(run: Path, number: int, settings: Settings) -> Json:
    """The duration of a user's program, and the last line of its output.

    LabError if the program failed, because then the run is not valid.
    """
    of = settings.program[number]
    shown: Json = {"host": of.host, "program": Path(of.path).name, "at_s": of.at}
    rows = series(run / "programs.csv", (0, 2, 3))
    ended = rows[(rows[:, 0] == number) & ~np.isnan(rows[:, 1])]
    said = [text(path).strip().splitlines()[-1:] if _there(path) else []
            for path in (run / f"program{number}.out", run / f"program{number}.err")]  # fmt: skip
    if len(ended):
        took, status = ended[0, 1:]
        if status:
            why = "".join(said[1] or said[0])
            raise LabError(f"{of.path} on {of.host} ended with status {status:.0f}: {why[:LINE]}")
        shown["took_s"] = took
    if said[0]:
        shown["said"] = said[0][0][:LINE]
    return shown


def _there(path: Path) -> bool:
    return path.exists() or path.with_name(f"{path.name}.gz").exists()


def _spread(of: str, times: np.ndarray) -> Json:
    """Mean, percentiles and maximum of sorted times, s; empty if there are none."""
    if not len(times):
        return {}
    last = len(times) - 1
    shares = (("median", 50), ("p95", 95), ("p99", 99), ("max", 100))
    return {f"{of}_mean_s": times.mean()} | {
        f"{of}_{name}_s": times[min(last, len(times) * share // 100)] for name, share in shares
    }


# Senders that estimate the path's capacity, the size of its buffer and the queue level.
ESTIMATORS = ("ccp", "ccpd", "ccpd_path")


def _flow_means(flows: list[Json], path: Path, end: float) -> list[float]:
    """Adds means to each flow; returns the rates of the flows in the second half of the run, bit/s.

    A flow that should exist then, but is not in the series, has no connection: its rate is 0.

    The columns are time, flow, window, in flight, rtt, four estimates, bytes, ssthresh, state, and
    BBR's gain.  Estimates, ssthresh and gain may be empty.
    """
    table = series(path, (0, 1, 2, 3, 4, 13, 14, "cc_buffer_segs", "cc_level_segs", 7, 6, 10,
                          "cc_cwnd_gain"))  # fmt: skip
    later: list[float] = []
    order = np.argsort(table[:, 1], kind="stable")
    table = table[order]
    ids = [flow["id"] for flow in flows]
    low = np.searchsorted(table[:, 1], ids, "left")
    high = np.searchsorted(table[:, 1], ids, "right")
    for flow, first, last in zip(flows, low, high, strict=True):
        rows = table[first:last]
        if len(rows):
            weight = np.diff(rows[:, 0], prepend=flow["start_s"])
            flow["cwnd_mean"] = weighted(rows[:, 2], weight)
            flow["rtt_mean_s"] = weighted(rows[:, 4], weight)
            flow |= kept_share(rows[:, 2], rows[:, 11], rows[:, 12])
            if flow["cc"] in ESTIMATORS:
                _estimates(flow, rows, weight)
            half = rows[rows[:, 0] > end / 2]
            since = max(flow["start_s"], end / 2)
            if len(half) and not np.isnan(half[:, 10]).any():
                flow["ssthresh_equilibrium"] = over_time(half[:, 0], half[:, 10], since)
            if flow["cc"] in ("mccp", "mccp_path") and len(half):
                flow["estimated_share_bps"] = over_time(half[:, 0], half[:, 5], since)
            if len(half) > 1:
                time, done = half[-1, [0, 9]] - half[0, [0, 9]]
                later.append(done * 8 / time)
        elif flow["start_s"] <= end / 2 and "completion_s" not in flow:
            later.append(0.0)
    return later


def _estimates(flow: Json, rows: np.ndarray, weight: np.ndarray) -> None:
    """Adds a sender's estimates: its last ones, and means over the last half of those that vary."""
    half = rows[:, 0] > (flow["start_s"] + flow["end_s"]) / 2
    half[-1] = True  # a short flow may have no sample in the last half: then the last one is used
    flow["in_flight_equilibrium"] = weighted(rows[half, 3], weight[half])
    for name, column in (("capacity_bps", 5), ("min_rtt_s", 6), ("buffer", 7)):
        if not np.isnan(rows[-1, column]):
            flow[f"estimated_{name}"] = rows[-1, column]
    levels = rows[half, 8]
    if not np.isnan(levels).any():
        flow["estimated_level"] = weighted(levels, weight[half])


def _links(summary: Json, settings: Settings, path: Path | None) -> list[Json]:
    names = Row(settings).link_names()
    # The series has one row per link for each sample time, in the order of names.
    rows = series(path, LINK_COLUMNS) if path else np.empty((0, len(LINK_COLUMNS)))
    return [
        _link(summary, settings, k, name, rows[k :: len(names)]) for k, name in enumerate(names)
    ]


def _link(summary: Json, settings: Settings, k: int, name: str, table: np.ndarray) -> Json:
    """The result of link k.  Means are weighted by time, because sample intervals may double."""
    counted = next(link for link in summary["links"] if link["name"] == name)
    end = summary["end_s"]

    def capacity(until: float) -> float:
        if settings.network:
            return settings.net.links[k].rate * until
        return settings.capacity_bits(until)

    link = {
        "name": name,
        "rate_bps": settings.net.links[k].rate,
        "utilization": counted["sent_bytes"] * 8 / capacity(end),
    }
    table = table[table[:, 0] <= end]
    if len(table):
        weight = np.diff(table[:, 0], prepend=0)
        half = table[:, 0] > end / 2
        queue = queue_of(table)
        link["queue_mean"] = weighted(queue, weight)
        link["queue_max"] = counted["queue_max"]
        if half.any():
            first, last = np.vstack((np.zeros(table.shape[1]), table[~half]))[-1], table[-1]
            could = capacity(last[0]) - capacity(first[0])
            link["utilization_equilibrium"] = (last[2] - first[2]) * 8 / could
            link["queue_equilibrium"] = weighted(queue[half], weight[half])
            link["queue_least"] = int(table[half, 1].min())
            if not np.isnan(table[half, 4]).any():
                link["flows_estimated"] = weighted(table[half, 4], weight[half])
        if len(lengths := np.diff(_shifts(table))[SETTLED_PHASES:]):
            link |= {"phase_s": lengths.mean(), "phase_least_s": lengths.min(),
                     "phase_most_s": lengths.max()}  # fmt: skip
    link["drops"] = counted["drops"]
    if settings.blackout:
        link["blackout_drops"] = sum(
            x["drops"] for x in summary["links"] if x["name"] == BLACKOUT
        )
    if settings.police:
        link["policed"] = sum(x["drops"] for x in summary["links"] if x["name"] == POLICER)
    if settings.ecn and len(settings.net.links) == 1:
        link["marks"] = sum(
            value for space, name, value in summary["counters"]
            if space == "r" and name in ("IpExtInCEPkts", "Ip6InCEPkts")
        )  # fmt: skip
    return link


# After so many phases of ESTCP their length should be in equilibrium.
SETTLED_PHASES = 10


def _shifts(table: np.ndarray) -> np.ndarray:
    """The start times of the phases in a link's series, without the first phase, s."""
    return table[1:, 0][np.diff(table[:, 5]) > 0]


# The smallest change of a window that counts as a decrease, as a share of the window.
DECREASE = 0.03


def _slowest_answer(flows: list[Json], run: Path) -> float | None:
    """The longest time from a phase's start to the decrease of a flow, in the flow's rtts.

    None if there are no phases or decreases.
    """
    links = series(run / "links.csv", LINK_COLUMNS)
    shifts = _shifts(links)[SETTLED_PHASES:-1]
    table = series(run / "flows.csv", (0, 1, 2, 4))
    worst = None
    for flow in flows:
        rows = table[table[:, 1] == flow["id"]]
        for shift in shifts:
            k = np.searchsorted(rows[:, 0], shift, "right")
            later = rows[k : k + np.searchsorted(rows[k:, 0], shift + 3)]
            if not k or not len(later):
                continue
            shrunk = np.nonzero(later[:, 2] < (1 - DECREASE) * rows[k - 1, 2])[0]
            if len(shrunk):
                answer = (later[shrunk[0], 0] - shift) / rows[k - 1, 3]
                worst = answer if worst is None else max(worst, answer)
    return worst
