# SPDX-License-Identifier: GPL-2.0
"""A run that is wanted, and what stands for it."""

import hashlib
import math
import re
from dataclasses import dataclass

from ..model.scenario import Scenario
from ..model.settings import Settings
from ..world.laboratory import Laboratory
from ..world.plan import compile_plan

BOOT_PACKETS = 200_000  # that are forwarded in the time in which a guest boots


@dataclass(frozen=True)
class Job:
    """One run to be made."""

    scenario: Scenario
    settings: Settings
    cc: str
    seed: int
    column: str = ""  # of the scenario, and its case
    case: str = ""

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.scenario.name, self.column or self.cc, self.case)))

    @property
    def packets(self) -> float:
        """About how many there will be, and what booting costs: a run takes as long as that."""
        s = self.settings
        most = math.inf if s.bytes is None else s.bytes * s.flows * 8
        return BOOT_PACKETS + min(most, sum(x.rate for x in s.net.links) * s.end) / s.frame / 8


def identity(laboratory: Laboratory, job: Job) -> str:
    """Of all that a run depends on but its seed: kernel, its own modules, what is executed."""
    plan = compile_plan(job.settings, job.cc, job.seed)
    loaded = re.findall(r"^modprobe (\S+)", plan.setup, re.MULTILINE)
    modules = (laboratory.digest(name) for name in loaded)
    parts = (laboratory.kernel.key, *modules, plan.setup, plan.traffic)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]
