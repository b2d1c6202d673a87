# SPDX-License-Identifier: GPL-2.0
"""Refuses a run that something else than the path and its congestion control has shaped."""

from typing import Any

from ..errors import LabError
from ..model.settings import Settings
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
                " limits in world/script.py, or shrink rate, rtt, buffer or flows"
            )
    for flow in () if small else summary["flows"]:
        for limit, what in (("rwnd_limited_s", "receive"), ("sndbuf_limited_s", "send")):
            if flow[limit] > max(LIMITED_S, LIMITED_SHARE * flow["busy_s"]):
                raise LabError(
                    f"run refused: flow {flow['id']} waited {flow[limit]:g} s for {what} buffer"
                    f" ({limit} of {flow['busy_s']:g} s busy); raise the memory limits in"
                    " world/script.py, or shrink rate, rtt or buffer"
                )
        if not settings.app and flow["starved"] > STARVED + STARVED_SHARE * flow["refills"]:
            raise LabError(
                f"run refused: flow {flow['id']} ran out of data {flow['starved']} times: its send"
                " buffer is too small; raise the memory limits in world/script.py"
            )
    if summary["backlog_drops"]:
        raise LabError(
            f"run refused: {summary['backlog_drops']} packets fell out of a device's input queue"
            " (softnet_stat); raise netdev_max_backlog in world/script.py"
        )
    bottlenecks = Row(settings).link_names()
    for link in summary["links"]:
        losses = settings.loss or any(change.loss for change in settings.change)
        lossy = [*bottlenecks, POLICER, BLACKOUT, LAST_HOP] + ["forward"] * bool(losses)
        if link["drops"] and link["name"] not in lossy:
            raise LabError(
                f"run refused: netem dropped {link['drops']} packets of its own on link"
                f" {link['name']}; raise its limit in world/queues.py"
            )
