# SPDX-License-Identifier: GPL-2.0
"""The router qdiscs: law and header in the kernel, their life, and their plug-ins for tc."""

import re
import shutil
import subprocess

import pytest

from conftest import REPO, assert_ktap, assert_kunit, wanted_kernels
from labkit import kernel

KINDS = ("acp", "estcp")
each_kind = pytest.mark.parametrize("kind", KINDS)

# What the sanitizers look at: tests that do not unload the module.
SHARED = """loads_once needs_bandwidth changes_options refuses_bad_options shapes_segments marks_v6
    leaves_others_alone changes_under_traffic shrinks_without_loss replaces_under_traffic
    deletes_under_traffic below_htb forgets_on_down device_goes"""
OWN = {
    "acp": "marks_packets statistics_move",
    "estcp": "marks_data overwrites_foreign changes_phase phase_v6 is_patient beside_others",
}


def life(kind):
    return REPO / f"tests/selftests/sch_{kind}.sh"


@each_kind
def test_kunit(lab, kind):
    """The law with the paper's numbers, the header with hostile ones."""
    assert_kunit(lab, f"sch_{kind}")


@each_kind
def test_life_of_the_qdisc(lab, kind):
    assert_ktap(lab("exec", "--", life(kind), status=None).stdout)


@each_kind
@pytest.mark.parametrize("version", wanted_kernels())
def test_life_on_kernel(lab, version, kind):
    if not kernel.available(version):
        pytest.skip(f"no linux-source-{version}")
    assert_ktap(lab("exec", "--kernel", version, "--", life(kind), status=None).stdout)


@each_kind
@pytest.mark.skipif(not wanted_kernels(), reason="make check-kernels runs it")
def test_life_under_sanitizers(lab, kind):
    """KASAN, UBSAN, lockdep and the sleep checker have nothing to say.

    Loaded once and never unloaded: see the test of the same name in test_ccpd.py.
    """
    log = lab("exec", "--variant", "debug", "--", "sh", "-c", f"modprobe sch_{kind}_test && dmesg",
              timeout=1200).stdout  # fmt: skip
    assert f"# sch_{kind}: pass:" in log and "fail:0" in log and "KASAN:" not in log
    tests = f"{SHARED} {OWN[kind]} kernel_is_quiet".split()
    assert_ktap(
        lab("exec", "--variant", "debug", "--", life(kind), *tests, status=None,
            timeout=3000).stdout
    )  # fmt: skip


def test_tc_exports_what_the_plugin_needs():
    """A function that tc did not export would end it in the middle of its output."""
    plugins = kernel.tc_plugins()
    assert [plugin.name for plugin in plugins] == [f"q_{kind}.so" for kind in KINDS]
    path = "/usr/sbin:/sbin:/usr/bin:/bin"
    nm, tc = shutil.which("nm"), shutil.which("tc", path=path)
    assert nm and tc

    def symbols(*arguments):
        command = [nm, "-D", "--format=posix", *arguments]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return {line.split()[0] for line in lines.splitlines()}

    declared = set(re.findall(r"(\w+)\(", (REPO / "tc/iproute2.h").read_text()))
    exported = symbols("--defined-only", tc)
    for plugin in plugins:
        needed = symbols("--undefined-only", str(plugin)) & declared
        assert needed and needed <= exported


@each_kind
def test_shaper_fills_the_link(lab, kind):
    """CUBIC, which knows no router, meets an ordinary link of that rate and that queue."""
    (result,) = lab(
        "run", "dumbbell", "--cc", "cubic", "--json", "--set", f"qdisc={kind}", "--set",
        "rate=155mbit", "--set", "rtt=40ms", "--set", "flows=4", "--set", "duration=10",
    ).json  # fmt: skip
    (link,) = result["links"]
    assert link["utilization_equilibrium"] == pytest.approx(1, abs=1e-4)
    assert link["queue_max"] <= result["settings"]["buffer"]
