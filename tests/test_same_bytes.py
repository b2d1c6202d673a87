# SPDX-License-Identifier: GPL-2.0
"""The same seed gives the same bytes on any machine, with any compiler of the kernel.

The bytes depend only on the kernel's release and the lab.  digests.json has the digest of all
samples for each release.  If the lab was changed on purpose, or Debian has a newer kernel,
SAME_BYTES=write makes the digest again; then check that a second machine gives the same.
"""

import hashlib
import json
import os
from pathlib import Path

import pytest

from conftest import wanted_kernels
from labkit.measure.job import Job
from labkit.measure.runner import run_all
from labkit.model import scenario
from labkit.world.laboratory import Laboratory

DIGESTS = Path(__file__).with_name("digests.json")

# Random losses, a queue, two kinds of senders, and calls: everything in a run that is random
SETTINGS = ["rate=50mbit", "rtt=30ms", "buffer=1bdp", "loss=0.0005", "duration=5",
            "mix=cubic:2,bbr:1", "scatter=50ms", "voice=2"]  # fmt: skip

VARIANTS = ["", "clang"] if wanted_kernels() else [""]


@pytest.mark.parametrize("variant", VARIANTS)
def test_same_bytes(variant, tmp_path) -> None:
    laboratory = Laboratory(variant=variant)
    release = laboratory.kernel.release
    dumbbell = scenario.load("dumbbell")
    job = Job(dumbbell, scenario.override(dumbbell, SETTINGS), "mix", 1)
    made = run_all(laboratory, [job], out=tmp_path)[0]
    series = sorted(Path(made["series"]).glob("*.csv"))
    assert len(series) == 3  # flows, links, calls
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in series)).hexdigest()
    known = json.loads(DIGESTS.read_text())
    if os.environ.get("SAME_BYTES") == "write":
        DIGESTS.write_text(json.dumps(known | {release: digest}, indent=1) + "\n")
    elif release not in known:
        pytest.skip(f"no digest of {release} in {DIGESTS.name}; SAME_BYTES=write adds it")
    else:
        assert digest == known[release], f"not the bytes that {DIGESTS.name} has for {release}"
