# SPDX-License-Identifier: GPL-2.0
"""The lab does not flatter: a stock kernel in QEMU gets what the lab says."""

import pytest

from labkit.measure import iperf
from labkit.measure.job import Job
from labkit.measure.runner import run_all
from labkit.model import scenario
from labkit.world import kernel, stock
from labkit.world.laboratory import Laboratory

SETTINGS = ["rate=40mbit", "rtt=40ms", "buffer=1bdp", "duration=12"]
CCS = ["reno", "cubic", "ccpd_path"]


def test_stock_kernel_agrees_with_the_lab() -> None:
    """Goodput over the same topology, Debian's 6.12 against the lab's.

    Without KVM the guest's clock counts instructions, so its timers cost a few per cent.
    """
    dumbbell = scenario.load("dumbbell")
    settings = scenario.override(dumbbell, SETTINGS)
    laboratory = Laboratory(kernel.DEFAULT_VERSION)
    jobs = [Job(dumbbell, settings, cc, 1) for cc in CCS]
    lab = {r["cc"]: r["flows"][0]["goodput_bps"] for r in run_all(laboratory, jobs)}
    debian = stock.ensure("6.12")
    real = iperf.goodputs(debian, settings, CCS, modules=stock.build(debian))
    for cc in CCS:
        assert real[cc] == pytest.approx(lab[cc], rel=0.1), cc
