# SPDX-License-Identifier: GPL-2.0
"""The stages of a run: the means of each flow and link in each stage, and the settling times."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..model.network import Network
from ..model.settings import HEADERS, Settings
from ..world.traffic import intervals
from .series import LINK_COLUMNS, queue_of, series
from .statistics import jain, over_time

Json = dict[str, Any]

# The largest deviation of a settled window from its mean: this share of the mean, or one packet.
SETTLED = 0.1
# Windows have converged when Jain's index of their means over so many seconds reaches this value;
# for two windows, when they differ by a sixteenth.
ALIKE, ALIKE_OVER_S = 0.999, 5


def of_stages(flows: list[Json], links: list[Json], settings: Settings, run: Path) -> list[Json]:
    """For each stage, the means over its second half, and the time until they were reached.

    For windows there is also the mean over the whole stage, including the time before that.  With
    less than two samples in its second half, a flow or link has no values for the stage.
    """
    table = series(run / "flows.csv", (0, 1, 2, 7, 6, 10, "cc_bw_bps", "cc_cwnd_gain"))
    of_flow = {flow["id"]: table[table[:, 1] == flow["id"]] for flow in flows}
    of_links = series(run / "links.csv", LINK_COLUMNS)
    of_flows, of_link = intervals(settings)
    enough = 2 * round(of_flows / of_link)  # samples of a link: each flow has two meanwhile
    stages = []
    for since, until in settings.bounds:
        half = ((since + until) / 2, until)
        net = _network(settings, *half)
        fair = net.fair(*half)
        seen = np.count_nonzero(_within(of_links[:: len(links)], *half)) >= enough
        stage = {"from": since, "to": until}
        errors, settled, there = [], [], []
        for flow in flows:
            rows, share = of_flow[flow["id"]], fair[flow["id"]]
            begun = max(half[0], flow["start_s"])
            own = _flow_stage(rows[_within(rows, *half)], begun) if share else {}
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
            elif seen and share and flow["start_s"] <= half[0] and flow["end_s"] >= until:
                # no connection during the stage: its share is 0
                errors.append(1.0)
                settled.append(until)
        if errors:
            stage |= {"fair_error": max(errors), "settle_s": max(0, max(settled) - since)}
            alike = _converged(there, since, until) if len(there) == len(errors) else until
            stage["converge_s"] = alike - since
        stages.append(stage)
        for k, link in enumerate(links):
            rows = of_links[k :: len(links)]
            rate = net.links[k].rate
            own = _link_stage(rows[_within(rows, *half)], half[0], rate)
            if own:
                whole = rows[_within(rows, since, until)]
                own |= _link_changes(whole, own, rate, since)
                if len(before := rows[rows[:, 0] <= since]):
                    own["queue_begin"] = int(before[-1, 1])
            own["users"] = net.present(k, *half)
            link.setdefault("stages", []).append(own)
    return stages


def _network(settings: Settings, since: float, until: float) -> Network:
    """The network with the mean rate from since to until, s: it may change, or have a policer."""
    net = settings.net
    if not (settings.change or settings.police or settings.trace):
        return net
    bits = settings.capacity_bits(until) - settings.capacity_bits(since)
    return replace(net, links=(replace(net.links[0], rate=bits / (until - since)),))


def _within(rows: np.ndarray, since: float, until: float) -> np.ndarray:
    return (rows[:, 0] > since) & (rows[:, 0] <= until)


def _flow_stage(rows: np.ndarray, since: float) -> Json:
    if len(rows) < 2:
        return {}
    rate = (rows[-1, 3] - rows[0, 3]) * 8 / (rows[-1, 0] - rows[0, 0])
    return {"goodput_bps": rate, "cwnd_equilibrium": over_time(rows[:, 0], rows[:, 2], since)}


# The states in which TCP reduces its window: CWR and recovery.
REDUCING = (2, 3)


def kept_share(windows: np.ndarray, states: np.ndarray, gains: np.ndarray) -> Json:
    """The mean ratio of a flow's window after to before a reduction because of a loss or mark.

    BBR reduces its window when its gain changes (from 2.89 to 2 after its start), independently of
    losses.  So a recovery in which the gain changes does not count.
    """
    reducing = np.isin(states, REDUCING).astype(int)
    begun, ended = (np.flatnonzero(np.diff(reducing) == way) for way in (1, -1))
    ended = ended[ended > begun[0]] if len(begun) else ended[:0]
    begun = begun[: len(ended)]
    same = np.isclose(gains[begun], gains[ended + 1], equal_nan=True)
    if not same.any():
        return {}
    return {"cwnd_kept": (windows[ended + 1] / windows[begun])[same].mean()}


def _windows(rows: np.ndarray, since: float) -> Json:
    """The windows of a flow in a stage, and the smallest rate that a router granted.

    cwnd_mean is the mean window.  window_mean is the mean of the congestion control's decisions: a
    window that TCP is reducing counts as its target.  cwnd_reduced is the window before the first
    reduction, and cycle_s the time between reductions.  For cwnd_kept see kept_share().
    """
    decided = np.where(np.isin(rows[:, 5], REDUCING), np.fmin(rows[:, 2], rows[:, 4]), rows[:, 2])
    found = {
        "cwnd_mean": over_time(rows[:, 0], rows[:, 2], since),
        "window_mean": over_time(rows[:, 0], decided, since),
        "cwnd_least": rows[:, 2].min(), "cwnd_most": rows[:, 2].max(),
    }
    found |= kept_share(rows[:, 2], rows[:, 5], rows[:, 7])
    if len(granted := rows[rows[:, 6] > 0, 6]):
        found["granted_least_bps"] = granted.min()
    # Each reduction sets ssthresh, which is nan before the first one.
    reduced = np.flatnonzero(np.diff(np.nan_to_num(rows[:, 4]))) + 1
    if len(reduced):
        found["cwnd_reduced"] = rows[: reduced[0] + 1, 2].max()
    if len(reduced) > 1:
        found["cycle_s"] = np.diff(rows[reduced[[0, -1]], 0])[0] / (len(reduced) - 1)
    return found


def _converged(flows: list[np.ndarray], since: float, until: float) -> float:
    """The time when all windows first converged, s; until if they never did."""
    at = np.arange(since + ALIKE_OVER_S, until, ALIKE_OVER_S / 10)
    means = []
    for rows in flows:
        area = np.cumsum(rows[:, 2] * np.diff(rows[:, 0], prepend=rows[0, 0]))
        now, before = (np.interp(t, rows[:, 0], area) for t in (at, at - ALIKE_OVER_S))
        means.append((now - before) / ALIKE_OVER_S)
    alike = [(jain(windows) or 0) >= ALIKE for windows in np.transpose(means)]
    return at[alike.index(True)] if any(alike) else until


def _settled(times: np.ndarray, values: np.ndarray, mean: float) -> float:
    """The last time when a window, or a number of flows, was not near its mean, s."""
    away = times[np.abs(values - mean) > max(1, SETTLED * mean)]
    return away[-1] if len(away) else times[0]


def _link_stage(rows: np.ndarray, since: float, rate: float) -> Json:
    if len(rows) < 2:
        return {}
    sent = (rows[-1, 2] - rows[0, 2]) * 8
    found = {
        "utilization_equilibrium": sent / (rows[-1, 0] - rows[0, 0]) / rate,
        "queue_equilibrium": over_time(rows[:, 0], queue_of(rows), since),
    }
    if not np.isnan(rows[:, 4]).any():
        found["flows_estimated"] = over_time(rows[:, 0], rows[:, 4], since)
    return found


# A link is full if it carries this share of its rate, over so many seconds.
FULL, FULL_OVER_S = 0.97, 0.5


def _link_changes(rows: np.ndarray, then: Json, rate: float, since: float) -> Json:
    """The transient of a link in a stage: the largest queue, the time until the link is full (the
    whole stage if never), and how the estimated number of flows settles."""
    times, sent = rows[:, 0], rows[:, 2]
    at = times[times >= times[0] + FULL_OVER_S]
    carried = (np.interp(at, times, sent) - np.interp(at - FULL_OVER_S, times, sent)) * 8
    full = at[carried >= FULL * FULL_OVER_S * rate]
    found = {
        "queue_max": int(rows[:, 6].max()),
        "full_s": (full[0] if len(full) else times[-1]) - since,
    }
    if "flows_estimated" in then:
        known = rows[~np.isnan(rows[:, 4])]
        found["flows_settle_s"] = (
            _settled(known[:, 0], known[:, 4], then["flows_estimated"]) - since
        )
        found["flows_most"] = known[:, 4].max()
    return found


# Bytes that a sender with a congestion header reserves in each segment, and bytes that it uses.
HEADER_SPACE, HEADER_LENGTH = 16, 12
WITH_HEADER = ("acp", "rcp", "xcp")


def _on_link(flow: Json, settings: Settings) -> float:
    """Bytes on the link for each byte of a flow's data."""
    space, used = (HEADER_SPACE, HEADER_LENGTH) if flow["cc"] in WITH_HEADER else (0, 0)
    return (settings.frame - space + used) / (settings.mtu - HEADERS[settings.ip] - space)
