# SPDX-License-Identifier: GPL-2.0
"""Runs a scenario of the lab in real time, with iperf3, on a stock kernel."""

import json
from pathlib import Path

from ..errors import LabError
from ..model.settings import Settings
from ..world.machine import boot
from ..world.plan import compile_plan
from ..world.queues import for_stock_kernels
from ..world.stock import StockKernel


def goodputs(
    kernel: StockKernel, settings: Settings, ccs: list[str], *, modules: Path | None = None,
    timeout_s: float = 600,
) -> dict[str, float]:  # fmt: skip
    """Goodput in bits per second of one iperf3 flow per congestion control, in the lab's topology.

    All flows run in one boot, one after the other, each for settings.duration seconds.
    """
    script = ["set -eu"]
    for cc in ccs:
        setup = for_stock_kernels(compile_plan(settings, cc, seed=1).setup, settings)
        address = "10.77.2.2" if settings.ip == 4 else "fd77:0:0:2::2"
        script += [
            "{", setup, "} >&2",
            f"""
            ip netns exec r iperf3 -s -1 >&2 &
            until ip netns exec r ss -Hltn 'sport = :5201' | grep -q .; do sleep 0.1; done
            ip netns exec s0 iperf3 -J -c {address} -C {cc} -t {settings.duration:g}
            wait
            for space in s0 d b r; do ip netns del $space; done
            echo
            """,
        ]  # fmt: skip
    result = boot(kernel, ["sh", "-c", "\n".join(script)], modules=modules, timeout_s=timeout_s)
    if result.returncode:
        raise LabError(
            f"iperf3 failed on kernel {kernel.release}",
            log="\n".join((result.stdout + result.stderr).splitlines()[-25:]),
        )
    decoder, rest, goodput = json.JSONDecoder(), result.stdout, {}
    for cc in ccs:
        report, end = decoder.raw_decode(rest := rest.lstrip())
        rest = rest[end:]
        if (used := report["end"]["sender_tcp_congestion"]) != cc:
            raise LabError(f"iperf3 ran {used} instead of {cc} on kernel {kernel.release}")
        goodput[cc] = report["end"]["sum_received"]["bits_per_second"]
    return goodput
