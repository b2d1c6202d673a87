# SPDX-License-Identifier: GPL-2.0
"""tcpcc watch: shows the window, rate, capacity and queue of flows while they send."""

import json
import os
import sys
import time
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field, replace
from typing import Any

from . import bpf, choose, system
from .system import Flow
from .units import number, rate

BARS = " ▁▂▃▄▅▆▇█"
# The columns and their widths, which with a space between two fit into 80 columns of a terminal
_COLUMNS = (("flow", 21), ("cc", 9), ("window", 6), ("rate", 9), ("capacity", 9), ("rtt", 7),
            ("least", 7), ("queue", 5))  # fmt: skip


def row(flow: Flow) -> dict[str, Any]:
    """The fields of a flow that are shown, with units in their names."""
    return {
        "local": flow.local, "peer": flow.peer, "cc": flow.cc, "window_segs": flow.cwnd_segs,
        "rate_bps": flow.delivery_bps, "pacing_bps": flow.pacing_bps,
        "capacity_bps": flow.capacity_bps or None, "rtt_s": flow.rtt_s,
        "rtt_min_s": flow.rtt_min_s, "queue_segs": round(flow.queue_segs, 1),
        "retransmitted_segs": flow.retransmitted_segs, "app_limited": flow.app_limited,
        "view": flow.view,
    }  # fmt: skip


@dataclass
class Watch:
    """The selection of flows, and the history of their windows."""

    addresses: list[str] = field(default_factory=list)  # empty: all
    port: int = 0
    most: int = 10
    history: dict[tuple[str, str], deque[int]] = field(
        default_factory=lambda: defaultdict(lambda: deque(maxlen=60))
    )

    def chosen(self, flows: list[Flow]) -> list[Flow]:
        """The established flows to the addresses and port; those that sent most come first."""
        found = [
            flow for flow in flows
            if flow.state == "ESTAB"
            and (not self.addresses or flow.host in self.addresses)
            and (not self.port or flow.peer.endswith(f":{self.port}"))
        ]
        return sorted(found, key=lambda flow: -flow.sent_bytes)[: self.most]

    def frame(self, flows: list[Flow], width: int) -> str:
        """A table of flows, with the history of the window below each flow."""
        lines = [_line([name for name, _ in _COLUMNS])]
        for flow in flows:
            past = self.history[flow.local, flow.peer]
            past.append(flow.cwnd_segs)
            lines.append(_line([
                flow.peer, flow.cc, str(flow.cwnd_segs), rate(flow.delivery_bps),
                rate(flow.capacity_bps) if flow.capacity_bps else "-",
                _time(flow.rtt_s), _time(flow.rtt_min_s), _packets(flow.queue_segs),
            ]))  # fmt: skip
            mode = f"{flow.view['mode']}  " if "mode" in flow.view else ""
            again = f"{flow.retransmitted_segs} retransmitted  " if flow.retransmitted_segs else ""
            lines.append(f"  {mode}{again}window up to {max(past)}: {bars(past)}")
        if not flows:
            lines.append("no open connection matches")
        return "\n".join(line[:width] for line in lines)


def _line(cells: list[str]) -> str:
    """A line of the table: numbers are to the right.  If a peer or the name of its sender is long,
    only the end of the peer is shown."""
    (_, flow), (_, cc), *widths = _COLUMNS
    peer, name, *numbers = cells
    left = flow + min(0, cc - len(name))
    shown = [f"{peer[-left:]:<{left}}", f"{name:<{cc}}"]
    return " ".join([*shown, *(f"{text:>{w}}" for text, (_, w) in zip(numbers, widths,
                                                                     strict=True))])  # fmt: skip


def _time(seconds: float) -> str:
    for scale, unit, least in ((1, "s", 9.9995), (1e3, "ms", 0.9995e-3)):
        if seconds >= least:
            return f"{number(seconds * scale)} {unit}"
    return f"{number(seconds * 1e6)} us"


def _packets(count: float) -> str:
    return f"{count:.0f}" if count < 99_999.5 else f"{count / 1e3:.0f}k"


def bars(values: "deque[int]") -> str:
    """A bar for each value; that of the largest value is full."""
    top = max(values) or 1
    return "".join(BARS[round(value / top * (len(BARS) - 1))] for value in values)


def _with_views(flows: list[Flow], every: list[Flow], views: bpf.Views) -> list[Flow]:
    """The flows with the fields that their BPF senders record, in addition to those of ss.

    A record has only the ports of its flow.  So a flow gets none if another one of every, the
    flows of this network namespace, has the same ports.
    """
    last = views.read()
    ours = Counter(_ports(flow) for flow in every if flow.cc.startswith("bpf_"))
    found = []
    for flow in flows:
        single = flow.cc.startswith("bpf_") and ours[_ports(flow)] == 1
        told = last.get(_ports(flow), {}) if single else {}
        capacity = float(told.get("capacity_bps", flow.capacity_bps))
        found.append(replace(flow, view={**flow.view, **told}, capacity_bps=capacity))
    return found


def _ports(flow: Flow) -> tuple[int, ...]:
    return tuple(int(end.rpartition(":")[2]) for end in (flow.local, flow.peer))


def watch(host: str, port: int, interval_s: float, count: int, as_json: bool) -> int:
    """Shows flows every interval_s until Ctrl-C, or count times; as JSON, one object per line."""
    seen = Watch(choose.addresses(host) if host else [], port)
    live = sys.stdout.isatty() and not as_json
    shown = 0
    views = bpf.Views() if system.is_root() and bpf.loaded() else None
    try:
        while True:
            every = system.flows()
            flows = seen.chosen(every)
            flows = _with_views(flows, every, views) if views else flows
            if as_json:
                print(json.dumps({"time_s": time.time(), "flows": [row(f) for f in flows]}))
            else:
                width = os.get_terminal_size().columns if live else 200
                home = "\x1b[H\x1b[J" if live else ""
                print(f"{home}{seen.frame(flows, width)}")
            sys.stdout.flush()
            shown += 1
            if shown == count:
                return 0
            time.sleep(interval_s)
    except KeyboardInterrupt:
        return 0
    finally:
        if views:
            views.close()
