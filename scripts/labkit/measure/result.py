# SPDX-License-Identifier: GPL-2.0
"""Turns what a guest measured into the result object, or refuses it.

SI units throughout: seconds, bits per second, packets.  What was not measured is absent.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import LabError
from ..model.scenario import Expected, Scenario
from ..model.settings import ETHERNET_HEADER, Settings
from ..world.topology import BLACKOUT, LAST_HOP, POLICER, Row

Json = dict[str, Any]

# Counters that say the hosts, not the path, held a flow back.  A run that moves one is no
# measurement of congestion control.
LIMITS = {
    "TcpExtTCPMemoryPressures": "TCP ran out of memory",
    "TcpExtTCPAbortOnMemory": "TCP ran out of memory",
    "TcpExtTCPBacklogDrop": "the receiver's backlog overflowed",
    "TcpExtListenDrops": "the receiver refused connections",
}
# The same, unless host=default asked for buffers that may hold a flow back.
BUFFER_LIMITS = {
    "TcpExtPruneCalled": "the receive buffer overflowed",
    "TcpExtRcvPruned": "the receive buffer overflowed",
    "TcpExtOfoPruned": "the receive buffer overflowed",
    "TcpExtTCPRcvCollapsed": "the receive buffer overflowed",
    "TcpExtTCPRcvQDrop": "the receive buffer overflowed",
    "TcpExtTCPOFODrop": "the receive buffer overflowed",
    "TcpExtTCPZeroWindowDrop": "the receive window closed",
    "TcpExtTCPToZeroWindowAdv": "the receive window closed",
    "TcpExtTCPWqueueTooBig": "the send queue overflowed",
}
# A flow may be limited by a window for this share of its time, or for two of the clock ticks
# (10 ms) that the kernel counts such time in.
LIMITED_SHARE = 0.01
LIMITED_S = 0.02
# The kernel's own count of time limited by the send buffer misses a sender that sleeps until there
# is room: how often it found its queue empty and the window open tells.
STARVED = 3
STARVED_SHARE = 0.05


def check(summary: Json, settings: Settings) -> None:
    """Refuses a run that something else than the path and its congestion control has shaped."""
    small = "default" in settings.host
    limits = LIMITS if small else LIMITS | BUFFER_LIMITS
    for space, name, value in summary["counters"]:
        if name in limits:
            raise LabError(
                f"run refused: {limits[name]} ({name} = {value} in {space}); raise the memory"
                " limits in topology.py, or shrink rate, rtt, buffer or flows"
            )
    for flow in () if small else summary["flows"]:
        for limit, what in (("rwnd_limited_s", "receive"), ("sndbuf_limited_s", "send")):
            if flow[limit] > max(LIMITED_S, LIMITED_SHARE * flow["busy_s"]):
                raise LabError(
                    f"run refused: flow {flow['id']} waited {flow[limit]:g} s for {what} buffer"
                    f" ({limit} of {flow['busy_s']:g} s busy); raise the memory limits in"
                    " topology.py, or shrink rate, rtt or buffer"
                )
        if not settings.app and flow["starved"] > STARVED + STARVED_SHARE * flow["refills"]:
            raise LabError(
                f"run refused: flow {flow['id']} ran out of data {flow['starved']} times: its send"
                " buffer is too small; raise the memory limits in topology.py"
            )
    if summary["backlog_drops"]:
        raise LabError(
            f"run refused: {summary['backlog_drops']} packets fell out of a device's input queue"
            " (softnet_stat); raise netdev_max_backlog in topology.py"
        )
    bottlenecks = Row(settings).link_names()
    for link in summary["links"]:
        losses = settings.loss or any(change.loss for change in settings.change)
        lossy = [*bottlenecks, POLICER, BLACKOUT, LAST_HOP] + ["forward"] * bool(losses)
        if link["drops"] and link["name"] not in lossy:
            raise LabError(
                f"run refused: netem dropped {link['drops']} packets of its own on link"
                f" {link['name']}; raise its limit in topology.py"
            )


def build(
    run: Path, scenario: str, settings: Settings, cc: str, seed: int, kernel: str
) -> Json:
    """The result of the run in that directory, without what only its scenario knows."""
    summary = json.loads((run / "summary.json").read_text())
    check(summary, settings)
    sampled = settings.sample != 0
    end = summary["end_s"]
    started = [_flow(flow, settings) for flow in summary["flows"] if flow["started"]]
    # The numbers after those of the flows are of short ones, and of ones in the other direction.
    flows = [flow for flow in started if flow["id"] < settings.flows]
    others = [flow for flow in started if flow["id"] >= settings.flows]
    if settings.app:
        _requests(flows, summary, run / "requests.csv")
    links = _links(summary, settings, run / "links.csv" if sampled else None)
    later = _flow_means(flows, run / "flows.csv", end) if sampled else []
    result = {
        "scenario": scenario,
        "cc": ",".join(f"{n}:{c}" for n, c in settings.mix) if settings.mix else cc,
        "seed": seed,
        "kernel": kernel,
        "settings": settings.as_json(),
        "virtual_s": end,
        "flows": flows,
        "links": links,
        "jain": jain([flow["goodput_bps"] for flow in flows]),
    }
    if later:
        result["jain_equilibrium"] = jain(later)
    if sampled and (settings.stages or settings.network):
        result["stages"] = _stages(flows, links, settings, run)
    if sampled and settings.qdisc == "estcp" and (worst := _slowest_answer(flows, run)) is not None:
        result["answer_rtts"] = worst
    result["flows"] = [{k: v for k, v in flow.items() if k != "id"} for flow in flows]
    if settings.short:
        done = sorted(flow["completion_s"] for flow in others if "completion_s" in flow)
        result["short"] = {
            "flows": len(others),
            "completed": len(done),
            "bytes": sum(flow["bytes"] for flow in others),
            "retransmits": sum(flow["retransmits"] for flow in others),
        }
        if done:
            result["short"]["completion_mean_s"] = sum(done) / len(done)
            result["short"]["completion_median_s"] = done[len(done) // 2]
            result["short"]["completion_p99_s"] = done[min(len(done) - 1, len(done) * 99 // 100)]
    if settings.reverse:
        name, count = settings.reverse
        rate = sum(flow["goodput_bps"] for flow in others)
        result["reverse"] = {"cc": name, "flows": count, "goodput_bps": rate}
    return _rounded(result)


def place(result: Json, scenario: Scenario, column: str = "", case: str = "") -> Json:
    """The result as one of that scenario's, beside what its paper measured."""
    named = {"scenario": scenario.name, "cc": result["cc"]}
    if column and column != result["cc"]:
        named["column"] = column
    if case:
        named["case"] = case
    own = ("scenario", "cc", "column", "case", "expected")
    placed = named | {k: v for k, v in result.items() if k not in own}
    if relevant := [
        e for e in scenario.expected if e.column in ("", column) and e.case in ("", case)
    ]:
        source = " ".join(filter(None, (scenario.seed, scenario.figure)))
        placed["expected"] = [_compare(e, source, result) for e in relevant]
    return _rounded(placed)


def jain(rates: list[float]) -> float:
    """Jain's fairness index."""
    squares = sum(r * r for r in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 1.0


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
    """Adds to each flow how many times its application wrote, how many of these writes have
    arrived, and how long that took, from the write to the arrival of its last byte."""
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


# Who estimates the path's capacity, the size of its buffer and its level.
ESTIMATORS = ("ccp", "ccpd", "ccpd_path")


def _flow_means(flows: list[Json], path: Path, end: float) -> list[float]:
    """Adds each flow's; returns the rates of those that live in the second half of the run.

    The columns are time, flow, window, in flight, rtt, four estimates or nothing, bytes, ssthresh
    or nothing, and state.
    """
    table = series(path, (0, 1, 2, 3, 4, 13, 14, "cc_buffer_segs", "cc_level_segs", 7, 6, 10))
    later: list[float] = []
    if not len(table):
        return later
    order = np.argsort(table[:, 1], kind="stable")
    table = table[order]
    ids = [flow["id"] for flow in flows]
    low = np.searchsorted(table[:, 1], ids, "left")
    high = np.searchsorted(table[:, 1], ids, "right")
    for flow, first, last in zip(flows, low, high, strict=True):
        rows = table[first:last]
        if len(rows):
            weight = np.diff(rows[:, 0], prepend=flow["start_s"])
            flow["cwnd_mean"] = np.average(rows[:, 2], weights=weight)
            flow["rtt_mean_s"] = np.average(rows[:, 4], weights=weight)
            flow |= _kept(rows[:, 2], rows[:, 11])
            if flow["cc"] in ESTIMATORS:
                _estimates(flow, rows, weight)
            half = rows[rows[:, 0] > end / 2]
            if len(half) and not np.isnan(half[:, 10]).any():
                flow["ssthresh_equilibrium"] = half[:, 10].mean()
            if flow["cc"] in ("mccp", "mccp_path") and len(half):
                flow["estimated_share_bps"] = half[:, 5].mean()
            if len(half) > 1:
                time, done = half[-1, [0, 9]] - half[0, [0, 9]]
                later.append(done * 8 / time)
    return later


def _estimates(flow: Json, rows: np.ndarray, weight: np.ndarray) -> None:
    """What the sender makes of its path: at the end, and the last half's mean of what varies."""
    half = rows[:, 0] > (flow["start_s"] + flow["end_s"]) / 2
    flow["in_flight_equilibrium"] = np.average(rows[half, 3], weights=weight[half])
    for name, column in (("capacity_bps", 5), ("min_rtt_s", 6), ("buffer", 7)):
        if not np.isnan(rows[-1, column]):
            flow[f"estimated_{name}"] = rows[-1, column]
    levels = rows[half, 8]
    if len(levels) and not np.isnan(levels).any():
        flow["estimated_level"] = np.average(levels, weights=weight[half])


def _links(summary: Json, settings: Settings, path: Path | None) -> list[Json]:
    names = Row(settings).link_names()
    # A sample of each link at each moment, in this order.
    rows = series(path, LINK_COLUMNS) if path else np.empty((0, len(LINK_COLUMNS)))
    return [
        _link(summary, settings, k, name, rows[k :: len(names)]) for k, name in enumerate(names)
    ]


# Of a link's series: time, queue, bytes sent; of kind acp the rate that it wants of each flow, and
# how many flows it takes to be there; of kind estcp the number of the phase.
LINK_COLUMNS = (0, 2, 5, 7, 8, 10)


def _link(summary: Json, settings: Settings, k: int, name: str, table: np.ndarray) -> Json:
    """Means over time: intervals between samples may double in the course of a run."""
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
        first, last = np.vstack((np.zeros(table.shape[1]), table[~half]))[-1], table[-1]
        could = capacity(last[0]) - capacity(first[0])
        link["utilization_equilibrium"] = (last[2] - first[2]) * 8 / could
        link["queue_mean"] = np.average(table[:, 1], weights=weight)
        link["queue_equilibrium"] = np.average(table[half, 1], weights=weight[half])
        link["queue_max"] = int(table[:, 1].max())
        link["queue_least"] = int(table[half, 1].min())
        if not np.isnan(table[half, 4]).any():
            link["flows_estimated"] = np.average(table[half, 4], weights=weight[half])
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


# Phases of ESTCP after which their length should be what it is to be.
SETTLED_PHASES = 10


def _shifts(table: np.ndarray) -> np.ndarray:
    """When the phases of a link's series began, but the first."""
    return table[1:, 0][np.diff(table[:, 5]) > 0]


# What a decrease of a window is at least, as a share of it.
DECREASE = 0.03


def _slowest_answer(flows: list[Json], run: Path) -> float | None:
    """How long after a phase's beginning the last flow shrinks, in its own round-trip times.

    None if there are no phases.
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


# How far from its mean a window may be that has settled: this share of it, or one packet.
SETTLED = 0.1
# Windows have converged when Jain's index of their means over so many seconds is so high: of two
# windows, when they differ by a sixteenth.
ALIKE, ALIKE_OVER_S = 0.999, 5


def _stages(flows: list[Json], links: list[Json], settings: Settings, run: Path) -> list[Json]:
    """Each stage: its second half's means, and how long it took to settle to them.

    Of windows there is also the mean of the whole stage, with what went before that.
    """
    table = series(run / "flows.csv", (0, 1, 2, 7, 6, 10, "cc_bw_bps"))
    of_flow = {flow["id"]: table[table[:, 1] == flow["id"]] for flow in flows}
    of_links = series(run / "links.csv", LINK_COLUMNS)
    stages = []
    for since, until in settings.bounds:
        half = ((since + until) / 2, until)
        fair = settings.net.fair(*half)
        stage = {"from": since, "to": until}
        errors, settled, there = [], [], []
        for flow in flows:
            rows, share = of_flow[flow["id"]], fair[flow["id"]]
            own = _flow_stage(rows[_within(rows, *half)]) if share else {}
            whole = rows[_within(rows, since, until)]
            flow.setdefault("stages", []).append(own)
            if own:
                had = own["goodput_bps"] * _on_link(flow, settings) / share
                mean = own["cwnd_equilibrium"]
                own |= {"fair_bps": share, "fair_cwnd": mean / had if had else 0.0}
                own |= _windows(whole, max(since, flow["start_s"]))
                errors.append(abs(had - 1))
                settled.append(_settled(whole[:, 0], whole[:, 2], mean))
                there.append(rows)
        if errors:
            stage |= {"fair_error": max(errors), "settle_s": max(0, max(settled) - since)}
            stage["converge_s"] = _converged(there, since, until) - since
        stages.append(stage)
        for k, link in enumerate(links):
            rows = of_links[k :: len(links)]
            own = _link_stage(rows[_within(rows, *half)], link["rate_bps"])
            own |= _link_changes(rows[_within(rows, since, until)], own, link["rate_bps"], since)
            own["users"] = settings.net.present(k, *half)
            link.setdefault("stages", []).append(own)
    return stages


def _within(rows: np.ndarray, since: float, until: float) -> np.ndarray:
    return (rows[:, 0] > since) & (rows[:, 0] <= until)


def _flow_stage(rows: np.ndarray) -> Json:
    if len(rows) < 2:
        return {}
    rate = (rows[-1, 3] - rows[0, 3]) * 8 / (rows[-1, 0] - rows[0, 0])
    return {"goodput_bps": rate, "cwnd_equilibrium": rows[:, 2].mean()}


# States in which TCP is on its way to a smaller window: CWR and recovery.
REDUCING = (2, 3)


def _kept(windows: np.ndarray, states: np.ndarray) -> Json:
    """What share of its window a flow has left when TCP has dealt with a loss or a mark: a mean."""
    reducing = np.isin(states, REDUCING).astype(int)
    begun, ended = (np.flatnonzero(np.diff(reducing) == way) for way in (1, -1))
    ended = ended[ended > begun[0]] if len(begun) else ended[:0]
    if not len(ended):
        return {}
    return {"cwnd_kept": (windows[ended + 1] / windows[begun[: len(ended)]]).mean()}


def _windows(rows: np.ndarray, since: float) -> Json:
    """Of a flow in a stage: its mean window; the same where one that is being reduced counts as
    what it will be, which is what the congestion control has decided on; the window that the first
    reduction met; how long it is from one reduction to the next; what is left of it then; its least
    and largest one; and the least rate that a router has granted."""
    weight = np.diff(rows[:, 0], prepend=since)
    decided = np.where(np.isin(rows[:, 5], REDUCING), np.fmin(rows[:, 2], rows[:, 4]), rows[:, 2])
    found = {
        "cwnd_mean": np.average(rows[:, 2], weights=weight),
        "window_mean": np.average(decided, weights=weight),
        "cwnd_least": rows[:, 2].min(), "cwnd_most": rows[:, 2].max(),
    }
    found |= _kept(rows[:, 2], rows[:, 5])
    if len(granted := rows[rows[:, 6] > 0, 6]):
        found["granted_least_bps"] = granted.min()
    # Each reduction sets ssthresh, which is not a number before the first of all.
    reduced = np.flatnonzero(np.diff(np.nan_to_num(rows[:, 4]))) + 1
    if len(reduced):
        found["cwnd_reduced"] = rows[: reduced[0] + 1, 2].max()
    if len(reduced) > 1:
        found["cycle_s"] = np.diff(rows[reduced[[0, -1]], 0])[0] / (len(reduced) - 1)
    return found


def _converged(flows: list[np.ndarray], since: float, until: float) -> float:
    """When all windows were first alike; if they never were, the end."""
    at = np.arange(since + ALIKE_OVER_S, until, ALIKE_OVER_S / 10)
    means = []
    for rows in flows:
        area = np.cumsum(rows[:, 2] * np.diff(rows[:, 0], prepend=rows[0, 0]))
        now, before = (np.interp(t, rows[:, 0], area) for t in (at, at - ALIKE_OVER_S))
        means.append((now - before) / ALIKE_OVER_S)
    alike = [jain(windows) >= ALIKE for windows in np.transpose(means)]
    return at[alike.index(True)] if any(alike) else until


def _settled(times: np.ndarray, values: np.ndarray, mean: float) -> float:
    """When a window, or a number of flows, was last away from its mean."""
    away = times[np.abs(values - mean) > max(1, SETTLED * mean)]
    return away[-1] if len(away) else times[0]


def _link_stage(rows: np.ndarray, rate: float) -> Json:
    sent = (rows[-1, 2] - rows[0, 2]) * 8
    found = {
        "utilization_equilibrium": sent / (rows[-1, 0] - rows[0, 0]) / rate,
        "queue_equilibrium": rows[:, 1].mean(),
    }
    if not np.isnan(rows[:, 4]).any():
        found["flows_estimated"] = rows[:, 4].mean()
    return found


# A link is full when it has carried this share of its rate for so many seconds.
FULL, FULL_OVER_S = 0.97, 0.5


def _link_changes(rows: np.ndarray, then: Json, rate: float, since: float) -> Json:
    """What a stage's beginning does to a link: its largest queue, when it was full, which never is
    the stage's end, and how the estimated number of flows comes to what it is then."""
    times, sent = rows[:, 0], rows[:, 2]
    at = times[times >= times[0] + FULL_OVER_S]
    carried = (np.interp(at, times, sent) - np.interp(at - FULL_OVER_S, times, sent)) * 8
    full = at[carried >= FULL * FULL_OVER_S * rate]
    found = {
        "queue_max": int(rows[:, 1].max()),
        "full_s": (full[0] if len(full) else times[-1]) - since,
    }
    if "flows_estimated" in then:
        known = rows[~np.isnan(rows[:, 4])]
        found["flows_settle_s"] = (
            _settled(known[:, 0], known[:, 4], then["flows_estimated"]) - since
        )
        found["flows_most"] = known[:, 4].max()
    return found


# Bytes that a sender with a congestion header keeps free in each segment, and those it uses.
HEADER_SPACE, HEADER_LENGTH = 16, 12
WITH_HEADER = ("acp", "rcp", "xcp")


def _on_link(flow: Json, settings: Settings) -> float:
    """Bytes on the link for each of a flow's data."""
    space, used = (HEADER_SPACE, HEADER_LENGTH) if flow["cc"] in WITH_HEADER else (0, 0)
    return (settings.frame - space + used) / (settings.mtu - _HEADERS[settings.ip] - space)


def series(path: Path, columns: tuple[int | str, ...]) -> np.ndarray:
    """Columns of a series, by number or name; what a row leaves empty is not a number.

    Nor is a column that the series lacks: a sender's fields are there if it has told any.
    """
    header, _, rows = path.read_text().partition("\n")
    if not rows:
        return np.empty((0, len(columns)))
    whole = re.sub(r",(?=[,\n])", ",nan", rows)
    names = header.split(",")
    at = [names.index(c) if c in names else c for c in columns]
    there = [k for k, c in enumerate(at) if not isinstance(c, str)]
    table = np.loadtxt(whole.splitlines(), delimiter=",", usecols=[at[k] for k in there], ndmin=2)
    found = np.full((len(table), len(columns)), np.nan)
    found[:, there] = table
    return found


# TCP and IP headers, with timestamps: what a segment leaves of the mtu.
_HEADERS = {4: 52, 6: 72}


def payload_bps(settings: Json) -> float:
    """The bottleneck's rate for a flow's data at the end of a run, as capacity is estimated."""
    rates = [c["rate"] for c in settings.get("change", ()) if "rate" in c]
    mtu = settings["mtu"]
    share = (mtu - _HEADERS[settings["ip"]]) / (mtu + ETHERNET_HEADER)
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
    "jain_equilibrium": lambda r: r["jain_equilibrium"],
    "fair_error": lambda r: max(stage["fair_error"] for stage in r["stages"]),
    "settle_s": lambda r: max(stage["settle_s"] for stage in r["stages"]),
    "converge_s": lambda r: max(stage["converge_s"] for stage in r["stages"]),
    "answer_rtts": lambda r: r["answer_rtts"],
    "short_completion_s": lambda r: r["short"]["completion_mean_s"],
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
    found = re.fullmatch(r"(\w+)(?::([\w.-]+))?(?:@(\d+))?", name)
    if not found:
        return Name(name)
    return Name(found[1], found[2] or "", int(found[3]) if found[3] else None)


def metric(result: Json, name: str) -> float | None:
    """A metric of a run; with completion_s:cubic, :0 or :0-9 of those of its flows; with :link3 of
    that link; with @1 of the second stage.

    None if it was not measured: a flow that never finished has no completion time.
    """
    asked = split(name)
    try:
        return float(METRICS[asked.base](part(result, asked.which, asked.stage)))
    except (KeyError, ValueError, ZeroDivisionError, IndexError):
        return None


def part(result: Json, which: str, stage: int | None) -> Json:
    """The result as if nothing else had been measured."""
    flows, links = result["flows"], result["links"]
    if numbers := re.fullmatch(r"(\d+)(?:-(\d+))?", which):
        first = int(numbers[1])
        flows = flows[first : int(numbers[2] or first) + 1]
    elif which.startswith("link"):
        links = [link for link in links if link["name"] == which]
    elif which:
        flows = [flow for flow in flows if flow["cc"] == which]
    whole = result | {"flows": flows, "links": links}
    if stage is None:
        return whole
    return whole | {
        "stages": [result["stages"][stage]],
        "flows": [own for flow in flows if (own := flow["stages"][stage])],
        "links": [link["stages"][stage] for link in links],
    }


def _mean(values: Any) -> float:
    values = list(values)
    return sum(values) / len(values)


def _compare(expected: Expected, source: str, result: Json) -> Json:
    paper = expected.mean
    shown: Json = {
        "source": expected.source or source, "metric": expected.metric, "paper": paper,
    }  # fmt: skip
    measured = metric(result, expected.metric)
    if measured is not None:
        shown["measured"] = measured
        shown["within"] = expected.near(measured)
    return shown


def _rounded(value: Any) -> Any:
    """Nine digits: all that was measured, and nothing of how a library adds."""
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(v) for v in value]
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.9g}")
    return value
