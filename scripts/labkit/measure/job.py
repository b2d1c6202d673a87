# SPDX-License-Identifier: GPL-2.0
"""A run to be made, and its identity."""

import json
import math
from dataclasses import dataclass
from hashlib import sha256

from ..host import digest_of
from ..model.scenario import Scenario
from ..model.settings import Settings
from ..world.laboratory import Laboratory
from ..world.plan import compile_plan

BOOT_PACKETS = 200_000  # a boot takes as long as forwarding so many packets


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
        """The estimated duration of the run, boot included, in packets that are forwarded."""
        return BOOT_PACKETS + self.data_packets

    @property
    def data_packets(self) -> float:
        """The estimated number of full data packets."""
        s = self.settings
        most = math.inf if s.bytes is None else s.bytes * s.flows * 8
        return min(most, sum(x.rate for x in s.net.links) * s.end) / s.frame / 8


def identity(laboratory: Laboratory, job: Job) -> str:
    """The digest of everything except the seed that determines a run's result.

    It covers the kernel, the modules, the programs, the plan, the guest's memory, and the settings.
    Some settings, such as stages, change only how the result is computed.
    """
    plan = compile_plan(job.settings, job.cc, job.seed, laboratory.others)
    modules = (laboratory.digest(name) for name in plan.modules)
    wanted = (repr(job.settings), repr(job.settings.net))
    programs = json.dumps(laboratory.programs(plan.newer_tc), sort_keys=True)
    files = (f"{name} {sha256(plan.files[name]).hexdigest()}" for name in sorted(plan.files))
    # The kernel computes limits from the memory.  Most kept runs have 4 GiB, which is not named.
    memory = [f"memory {plan.memory}"] if plan.memory != 4 << 30 else []
    parts = (laboratory.kernel.key, *modules, programs, plan.setup, plan.traffic, *wanted, *files,
             *memory)  # fmt: skip
    return digest_of(*parts)
