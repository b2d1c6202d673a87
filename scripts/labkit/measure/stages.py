# SPDX-License-Identifier: GPL-2.0
"""A run by its stages: what each flow and each link came to in each, and how soon."""

from pathlib import Path
from typing import Any

import numpy as np

from ..model.settings import HEADERS, Settings
from .series import LINK_COLUMNS, queue_of, series
from .statistics import jain, over_time

Json = dict[str, Any]

# How far from its mean a window may be that has settled: this share of it, or one packet.
SETTLED = 0.1
# Windows have converged when Jain's index of their means over so many seconds is so high: of two
# windows, when they differ by a sixteenth.
ALIKE, ALIKE_OVER_S = 0.999, 5


def of_stages(flows: list[Json], links: list[Json], settings: Settings, run: Path) -> list[Json]:
    """Each stage: its second half's means, and how long it took to settle to them.

    Of windows there is also the mean of the whole stage, with what went before that.
    """
    table = series(run / "flows.csv", (0, 1, 2, 7, 6, 10, "cc_bw_bps", "cc_cwnd_gain"))
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
            elif share and flow["start_s"] <= half[0] and flow["end_s"] >= until:
                # no connection all that time: it has nothing of its share
                errors.append(1.0)
                settled.append(until)
        if errors:
            stage |= {"fair_error": max(errors), "settle_s": max(0, max(settled) - since)}
            alike = _converged(there, since, until) if len(there) == len(errors) else until
            stage["converge_s"] = alike - since
        stages.append(stage)
        for k, link in enumerate(links):
            rows = of_links[k :: len(links)]
            own = _link_stage(rows[_within(rows, *half)], half[0], link["rate_bps"])
            own |= _link_changes(rows[_within(rows, since, until)], own, link["rate_bps"], since)
            own["users"] = settings.net.present(k, *half)
            link.setdefault("stages", []).append(own)
    return stages


def _within(rows: np.ndarray, since: float, until: float) -> np.ndarray:
    return (rows[:, 0] > since) & (rows[:, 0] <= until)


def _flow_stage(rows: np.ndarray, since: float) -> Json:
    if len(rows) < 2:
        return {}
    rate = (rows[-1, 3] - rows[0, 3]) * 8 / (rows[-1, 0] - rows[0, 0])
    return {"goodput_bps": rate, "cwnd_equilibrium": over_time(rows[:, 0], rows[:, 2], since)}


# States in which TCP is on its way to a smaller window: CWR and recovery.
REDUCING = (2, 3)


def kept_share(windows: np.ndarray, states: np.ndarray, gains: np.ndarray) -> Json:
    """What share of its window a flow has left when TCP has dealt with a loss or a mark: a mean.

    BBR takes its window back where it goes on with another gain (from 2.89 to 2 after its start),
    whether or not there was a loss: a recovery in which the gain has changed does not count.
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
    """Of a flow in a stage: its mean window; the same where one that is being reduced counts as
    what it will be, which is what the congestion control has decided on; the window that the first
    reduction met; how long it is from one reduction to the next; what is left of it then; its least
    and largest one; and the least rate that a router has granted."""
    decided = np.where(np.isin(rows[:, 5], REDUCING), np.fmin(rows[:, 2], rows[:, 4]), rows[:, 2])
    found = {
        "cwnd_mean": over_time(rows[:, 0], rows[:, 2], since),
        "window_mean": over_time(rows[:, 0], decided, since),
        "cwnd_least": rows[:, 2].min(), "cwnd_most": rows[:, 2].max(),
    }
    found |= kept_share(rows[:, 2], rows[:, 5], rows[:, 7])
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
    alike = [(jain(windows) or 0) >= ALIKE for windows in np.transpose(means)]
    return at[alike.index(True)] if any(alike) else until


def _settled(times: np.ndarray, values: np.ndarray, mean: float) -> float:
    """When a window, or a number of flows, was last away from its mean."""
    away = times[np.abs(values - mean) > max(1, SETTLED * mean)]
    return away[-1] if len(away) else times[0]


def _link_stage(rows: np.ndarray, since: float, rate: float) -> Json:
    sent = (rows[-1, 2] - rows[0, 2]) * 8
    found = {
        "utilization_equilibrium": sent / (rows[-1, 0] - rows[0, 0]) / rate,
        "queue_equilibrium": over_time(rows[:, 0], queue_of(rows), since),
    }
    if not np.isnan(rows[:, 4]).any():
        found["flows_estimated"] = over_time(rows[:, 0], rows[:, 4], since)
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


# Bytes that a sender with a congestion header keeps free in each segment, and those it uses.
HEADER_SPACE, HEADER_LENGTH = 16, 12
WITH_HEADER = ("acp", "rcp", "xcp")


def _on_link(flow: Json, settings: Settings) -> float:
    """Bytes on the link for each of a flow's data."""
    space, used = (HEADER_SPACE, HEADER_LENGTH) if flow["cc"] in WITH_HEADER else (0, 0)
    return (settings.frame - space + used) / (settings.mtu - HEADERS[settings.ip] - space)
