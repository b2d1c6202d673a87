# SPDX-License-Identifier: GPL-2.0
"""MCCP in the lab kernel; more of it is in the findings of scenarios/mccp-*.toml."""

import pytest

from conftest import REPO, assert_ktap, assert_kunit, wanted_kernels

SELFTEST = REPO / "tests/selftests/mccp.sh"
# Without unloading, for the reason that tests/test_ccpd.py gives.
UNDER_SANITIZERS = """registers by_sysctl by_socket shows_in_ss traces changes_under_traffic
    kernel_is_quiet""".split()


def test_kunit(lab):
    """The estimator, the history and the detection, in the kernel."""
    assert_kunit(lab, "tcp_mccp")


def test_life_of_the_module(lab):
    assert_ktap(lab("exec", "--", SELFTEST, status=None).stdout)


@pytest.mark.parametrize(
    ("rate", "bps", "rtt"),
    [("1mbit", 1e6, "100ms"), ("100mbit", 1e8, "10ms"), ("10gbit", 1e10, "5ms")],
)
def test_estimate_of_a_flow_alone(lab, rate, bps, rtt):
    settings = [f"rate={rate}", f"rtt={rtt}", "duration=4"]
    sets = [f"--set={one}" for one in settings]
    (r,) = lab("run", "dumbbell", "--json", "--cc", "mccp", *sets).json
    assert r["flows"][0]["estimated_share_bps"] == pytest.approx(bps * 1448 / 1514, rel=0.02)


@pytest.mark.skipif(not wanted_kernels(), reason="make check-kernels runs it")
def test_life_under_sanitizers(lab):
    """KASAN, UBSAN, lockdep and the sleep checker have nothing to say."""
    assert_ktap(
        lab("exec", "--variant", "debug", "--", SELFTEST, *UNDER_SANITIZERS,
            status=None, timeout=3000).stdout
    )  # fmt: skip


@pytest.mark.parametrize("version", [v for v in wanted_kernels() if v == "6.1"])
def test_other_lab_kernel(lab, version):
    assert_ktap(lab("exec", "--kernel", version, "--", SELFTEST, status=None).stdout)
