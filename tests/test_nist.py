# SPDX-License-Identifier: GPL-2.0
"""The senders of the NIST study: their laws, and their life as modules, in the lab kernel."""

import pytest

from conftest import REPO, assert_ktap, assert_kunit, wanted_kernels

LAWS = "reno bic ctcp fast hstcp htcp scalable".split()
SELFTEST = REPO / "tests/selftests/nist.sh"


@pytest.mark.parametrize("law", LAWS)
def test_kunit(lab, law):
    """The law, with the study's own numbers."""
    assert_kunit(lab, f"tcp_nist_{law}")


def test_life_of_the_modules(lab):
    assert_ktap(lab("exec", "--", SELFTEST, status=None).stdout)


@pytest.mark.skipif(not wanted_kernels(), reason="make check-kernels runs it")
def test_life_under_sanitizers(lab):
    """Without unloading, for the reason that tests/test_ccpd.py gives."""
    tests = """registers refuses_bad_values transfers times_out coexist changes_under_traffic
        kernel_is_quiet""".split()
    assert_ktap(
        lab("exec", "--variant", "debug", "--", SELFTEST, *tests,
            status=None, timeout=3000).stdout
    )  # fmt: skip


@pytest.mark.parametrize("version", [v for v in wanted_kernels() if v == "6.1"])
def test_other_lab_kernel(lab, version):
    assert_ktap(
        lab("exec", "--kernel", version, "--", SELFTEST, status=None, timeout=900).stdout
    )
