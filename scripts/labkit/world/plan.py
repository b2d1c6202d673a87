# SPDX-License-Identifier: GPL-2.0
"""Compiles settings to the input of a guest: a shell script (ip, tc) and the agent's plan."""

import re
from dataclasses import dataclass, field, replace
from math import ceil
from struct import pack

from ..errors import LabError
from ..model.settings import Settings
from . import kernel
from .others import Others
from .queues import ASLEEP_S, NEWER
from .script import PROGRAM, SCHEDULE, TALK, VIDEO, schedules, setup
from .topology import Row
from .traffic import START_NS, talk, traffic, video


@dataclass(frozen=True)
class Plan:
    """The input of a guest for one run."""

    setup: str  # shell script
    traffic: str  # the agent's plan
    memory: int  # bytes the guest needs
    files: dict[str, bytes] = field(default_factory=dict)  # files of the setup script, by name
    around: str = ""  # a command line before that of the agent; does not change the results
    newer_tc: bool = False  # whether the setup needs a newer tc than the host's

    @property
    def modules(self) -> list[str]:
        """The modules that the run loads, in order."""
        return re.findall(r"^modprobe (\S+)", self.setup, re.MULTILINE)


def compile_plan(settings: Settings, cc: str, seed: int, others: Others | None = None) -> Plan:
    """Compiles the plan of a run; others: the user's modules, if there are any."""
    row = Row(settings)
    slowest = max(settings.rtt) + sum(
        filter(None, (settings.jitter, settings.batch, settings.aggregate))
    )
    slowest += settings.late + (ASLEEP_S[1] if "vm" in settings.host else 0)
    links = range(len(row.net.links))
    queues = sum(map(settings.buffer_of, links)) * (2 if settings.reverse else 1)
    window = settings.rate * slowest / 8 + queues * settings.frame
    return Plan(
        setup(settings, row, settings.every_cc(cc), window, others or Others()),
        traffic(settings, row, cc, seed),
        memory=max(4 << 30, ceil(16 * window) * (2 if settings.reverse else 1)),
        files=_files(settings, row, cc, seed),
        newer_tc=settings.qdisc in NEWER,
    )


CAPTURE_MOST = 8_000_000  # captured packets of a run, each 192 bytes in the guest's memory


def captured(plan: Plan, settings: Settings, packets: float) -> Plan:
    """The plan with captures of packets at the bottlenecks and senders, as pcap files.

    packets: estimated number of data packets.  LabError if there are too many to capture.
    """
    row = Row(settings)
    taps = [(device.partition("-")[0], device, name)
            for device, name in zip(row.exits, row.link_names(), strict=True)]  # fmt: skip
    for sender in row.senders:
        hop = next(hop for hop in row.hops if sender in (hop.a, hop.b))
        taps.append((sender, hop.device(sender), f"sender-{sender}"))
    each = int(packets * 2.5) + 10_000  # with ACKs and retransmissions
    if len(taps) > 64 or each * len(taps) > CAPTURE_MOST:
        raise LabError(f"--pcap would keep up to {each * len(taps)} packets at {len(taps)} places;"
                       f" {CAPTURE_MOST} at 64 at most: shorten the run, or take fewer round-trip"
                       " times", status=2)  # fmt: skip
    at = " ".join(f"{space}:{device}:{name}.pcap" for space, device, name in taps)
    return replace(
        plan, around=f"./capture {START_NS} {each} {at} --",
        files=plan.files | {"capture": kernel.capture().read_bytes()},
    )  # fmt: skip


def _files(settings: Settings, row: Row, cc: str, seed: int) -> dict[str, bytes]:
    files = {
        f"trace.{device}": pack(f"<{len(trace.moments)}I", *trace.moments)
        for device, trace in row.traced(settings).items()
    }
    if moments := schedules(settings):
        files |= {f"{SCHEDULE}.{name}": lines.encode() for name, lines in moments.items()}
        files["play"] = kernel.play().read_bytes()
    if said := talk(settings, row, cc, seed):
        files |= {TALK: said.encode(), "talk": kernel.talk().read_bytes()}
    if viewers := video(settings, row, cc, seed):
        files |= {VIDEO: viewers.encode(), "video": kernel.video().read_bytes()}
    if settings.program:
        files |= {f"{PROGRAM}{n}": of.content for n, of in enumerate(settings.program)}
        files |= {p.name: p.read_bytes() for p in (kernel.program(), kernel.patient())}
    return files
