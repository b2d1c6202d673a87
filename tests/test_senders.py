# SPDX-License-Identifier: GPL-2.0
"""Promises of single senders; test_report.py tests more of them, as findings."""

import pytest


@pytest.mark.parametrize(
    ("cc", "seed", "rel"),
    [("acp", 1, 0.2), ("estcp", 1, 0.1), ("estcp", 2, 0.1), ("rcp", 1, 0.2), ("xcp", 1, 0.2)],
)
def test_reno_without_routers(lab, cc, seed, rel):
    """On a path without its routers a sender takes about Reno's time."""
    path = ["--set", "rate=100mbit", "--set", "rtt=40ms", "--set", "bytes=50M", "--seed", seed]
    reno, own = lab("run", "dumbbell", "--json", "--cc", "reno", "--cc", cc, *path).json
    took = [result["flows"][0]["completion_s"] for result in (reno, own)]
    assert took[1] == pytest.approx(took[0], rel=rel)


@pytest.mark.parametrize("cc", ["mccp", "mccp_path"])
@pytest.mark.parametrize(
    ("rate", "bps", "rtt"),
    [("1mbit", 1e6, "100ms"), ("100mbit", 1e8, "10ms"), ("10gbit", 1e10, "5ms")],
)
def test_mccp_estimates_what_it_gets(lab, rate, bps, rtt, cc):
    settings = [f"rate={rate}", f"rtt={rtt}", "duration=4"]
    sets = [f"--set={one}" for one in settings]
    (r,) = lab("run", "dumbbell", "--json", "--cc", cc, *sets).json
    assert r["flows"][0]["estimated_share_bps"] == pytest.approx(bps * 1448 / 1514, rel=0.02)
