# SPDX-License-Identifier: GPL-2.0
"""ACP's hosts and the carriage of feedback, without a router: in the lab kernel."""

import pytest

from conftest import REPO, assert_ktap, assert_kunit, wanted_kernels

SELFTEST = REPO / "tests/selftests/acp.sh"
# Without unloading, for the reason that tests/test_ccpd.py gives.
UNDER_SANITIZERS = """registers carries carries_v6 follows_a_router sack_gives_way sends_both_ways
    malformed has_room_for_so_many changes_under_traffic kernel_is_quiet""".split()


@pytest.mark.parametrize("suite", ["tcp_feedback", "tcp_acp"])
def test_kunit(lab, suite):
    """The header and the law, in the kernel."""
    assert_kunit(lab, suite)


def test_life_of_the_modules(lab):
    assert_ktap(lab("exec", "--", SELFTEST, status=None, timeout=600).stdout)


def test_reno_without_feedback(lab):
    """A path without routers of its kind: within a fifth of Reno's time."""
    path = ["--set", "rate=100mbit", "--set", "rtt=40ms", "--set", "bytes=50M"]
    reno, acp = lab("run", "dumbbell", "--json", "--cc", "reno", "--cc", "acp", *path).json
    took = [result["flows"][0]["completion_s"] for result in (reno, acp)]
    assert took[1] == pytest.approx(took[0], rel=0.2)


@pytest.mark.skipif(not wanted_kernels(), reason="make check-kernels runs it")
def test_life_under_sanitizers(lab):
    """KASAN, UBSAN, lockdep and the sleep checker have nothing to say."""
    assert_ktap(
        lab("exec", "--variant", "debug", "--", SELFTEST, *UNDER_SANITIZERS,
            status=None, timeout=3000).stdout
    )  # fmt: skip


@pytest.mark.parametrize("version", [v for v in wanted_kernels() if v == "6.1"])
def test_other_lab_kernel(lab, version):
    assert_ktap(
        lab("exec", "--kernel", version, "--", SELFTEST, status=None, timeout=900).stdout
    )
