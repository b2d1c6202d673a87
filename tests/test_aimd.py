# SPDX-License-Identifier: GPL-2.0
"""AIMD as in the ESTCP paper: which flows reduce their windows together at an overflow."""

from pathlib import Path

import numpy as np
import pytest

from labkit.measure.series import series

# With rtts of 40 to 200 ms and a queue of up to 120 ms, flows detect a loss within this time.
TOGETHER_S = 0.25
BEGIN_S, END_S = 30, 90
REDUCING = (2, 3, 4)  # CWR, recovery, loss


def shrinks(result: dict) -> list[np.ndarray]:
    """The times at which each flow began to reduce its window, without those of slow start."""
    table = series(Path(result["series"]) / "flows.csv", (0, 1, 10))
    found = []
    for flow in range(len(result["flows"])):
        time, _, state = table[table[:, 1] == flow].T
        begins = time[1:][np.diff(np.isin(state, REDUCING).astype(int)) == 1]
        found.append(begins[begins > BEGIN_S])
    return found


def synchrony(times: list[np.ndarray]) -> float:
    """If one flow reduces its window: the share of the other flows that do so too, beyond chance.

    1 means all of them.  0 is the value of flows that reduce as often, but independently.
    """
    others = []
    for flow, own in enumerate(times):
        rest = times[:flow] + times[flow + 1 :]
        others += [
            sum((abs(other - at) < TOGETHER_S / 2).any() for other in rest) / len(rest)
            for at in own
        ]
    window = TOGETHER_S / (END_S - BEGIN_S)
    chance = np.mean([1 - (1 - window) ** len(own) for own in times])
    return (np.mean(others) - chance) / (1 - chance)


def test_synchrony() -> None:
    """All flows together, half of them at each overflow, and each flow independently."""
    random = np.random.default_rng(1)
    overflows = np.arange(BEGIN_S + 1, END_S, 4)
    assert synchrony([overflows + i / 1000 for i in range(20)]) == pytest.approx(1)
    halves = [overflows[random.random(len(overflows)) < 0.5] for _ in range(40)]
    assert synchrony(halves) == pytest.approx(0.5, abs=0.05)
    alone = [random.uniform(BEGIN_S, END_S, 30) for _ in range(40)]
    assert abs(synchrony(alone)) < 0.02


def test_drop_tail_synchronises_some_and_red_almost_none(lab) -> None:
    """red: within 0.05 of chance.  fifo: more than that, but not all flows together."""
    path = ["rate=100mbit", "rtt=40ms-200ms", "flows=60", "start=50ms", "buffer=1000"]
    found = {}
    for qdisc in ("fifo", "red"):
        sets = [f"--set={one}" for one in (*path, f"duration={END_S}", f"qdisc={qdisc}")]
        (result,) = lab("run", "dumbbell", "--json", "--cc", "reno", *sets).json
        found[qdisc] = synchrony(shrinks(result))
    assert abs(found["red"]) < 0.05 < found["fifo"] < 0.9
