# SPDX-License-Identifier: GPL-2.0
"""ESTCP's sender and the carriage of codepoints, without a router: in the lab kernel."""

import pytest

from conftest import REPO, assert_ktap, assert_kunit, wanted_kernels

SELFTEST = REPO / "tests/selftests/estcp.sh"
# Without unloading, for the reason that tests/test_ccpd.py gives.
UNDER_SANITIZERS = """registers marks_its_class echoes_codepoints_v6 leaves_ecn_alone
    follows_phases router_goes_away notices_rfc3168 sends_both_ways changes_under_traffic
    kernel_is_quiet""".split()


def test_kunit(lab):
    """The law, the estimate and the phases, in the kernel."""
    assert_kunit(lab, "tcp_estcp")


def test_life_of_the_modules(lab):
    assert_ktap(lab("exec", "--", SELFTEST, status=None, timeout=600).stdout)


@pytest.mark.parametrize("seed", [1, 2])
def test_reno_without_a_router(lab, seed):
    """A path without routers of its kind: within a tenth of Reno's time."""
    path = ["--set", "rate=100mbit", "--set", "rtt=40ms", "--set", "bytes=50M", "--seed", seed]
    reno, estcp = lab("run", "dumbbell", "--json", "--cc", "reno", "--cc", "estcp", *path).json
    took = [result["flows"][0]["completion_s"] for result in (reno, estcp)]
    assert took[1] == pytest.approx(took[0], rel=0.1)


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
