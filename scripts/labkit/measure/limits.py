# SPDX-License-Identifier: GPL-2.0
"""Refuses a run that was limited by something else than the path and its congestion control."""

from typing import Any

from ..errors import LabError
from ..model.settings import HEADERS, Settings
from ..world.topology import BLACKOUT, LAST_HOP, POLICER, Row

Json = dict[str, Any]

# Counters that show that the hosts, not the path, limited a flow.  A run in which one of them is
# not 0 is not a measurement of congestion control.
LIMITS = {
    "TcpExtTCPMemoryPressures": "TCP ran out of memory",
    "TcpExtTCPAbortOnMemory": "TCP ran out of memory",
    "TcpExtTCPBacklogDrop": "the receiver's backlog overflowed",
    "TcpExtListenDrops": "the receiver refused connections",
}
# More such counters, unless host=default, whose small buffers may limit a flow.
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
# A flow may be limited by a window for this share of its time, or for two clock ticks (10 ms), the
# resolution of the kernel's measurement.
LIMITED_SHARE = 0.01
LIMITED_S = 0.02
# The segments that a flow may send first, and the largest window of a SYN, which is not scaled.
FIRST_SEGMENTS, FIRST_WINDOW = 10, 65535
# The kernel's time limited by the send buffer does not include a sender that sleeps until there is
# space.  So the number of times that the queue was empty and the window open is limited, too.
STARVED = 3
STARVED_SHARE = 0.05


def check(summary: Json, settings: Settings) -> None:
    """Raises LabError if the hosts, and not the path or the congestion control, limited a flow."""
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
                most = FIRST_WINDOW // FIRST_SEGMENTS + HEADERS[settings.ip]
                if limit == "rwnd_limited_s" and settings.mtu > most:
                    raise LabError(
                        f"run refused: flow {flow['id']} waited {flow[limit]:g} s for the receive"
                        f" window: with mtu={settings.mtu} its first {FIRST_SEGMENTS} segments are"
                        f" more than the {FIRST_WINDOW} bytes that a SYN can offer; set mtu={most}"
                        " or less, or a longer duration or more bytes"
                    )
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
