# SPDX-License-Identifier: GPL-2.0
"""A run that is wanted, and what stands for it."""

import json
import math
from dataclasses import dataclass
from hashlib import sha256

from ..host import digest_of
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
        return BOOT_PACKETS + self.data_packets

    @property
    def data_packets(self) -> float:
        """About how many full ones there will be."""
        s = self.settings
        most = math.inf if s.bytes is None else s.bytes * s.flows * 8
        return min(most, sum(x.rate for x in s.net.links) * s.end) / s.frame / 8


def identity(laboratory: Laboratory, job: Job) -> str:
    """Of all that a run's result depends on but its seed: kernel, its own modules, programs, what
    they execute, and the settings, by some of which only the result is made, as by its stages."""
    plan = compile_plan(job.settings, job.cc, job.seed, laboratory.others)
    modules = (laboratory.digest(name) for name in plan.modules)
    wanted = (repr(job.settings), repr(job.settings.net))
    programs = json.dumps(laboratory.programs(), sort_keys=True)
    files = (f"{name} {sha256(plan.files[name]).hexdigest()}" for name in sorted(plan.files))
    parts = (laboratory.kernel.key, *modules, programs, plan.setup, plan.traffic, *wanted, *files)
    return digest_of(*parts)
