# SPDX-License-Identifier: GPL-2.0
"""The router qdiscs on the lab's paths, and their plug-ins for tc."""

import json
import re
import shutil
import subprocess

import pytest

from conftest import REPO, assert_ktap
from labkit.errors import LabError
from labkit.world import iproute, kernel

KINDS = ("acp", "estcp", "rcp", "xcp")
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="session")
def current_tc():
    """tc of the newest iproute2, if it is available."""
    try:
        return iproute.current_tc(progress=False)
    except LabError as error:
        pytest.skip(f"no current iproute2: {error}")


@each_kind
def test_options_with_current_tc(lab, current_tc, kind):
    """The plug-ins are compiled without tc's headers; they parse and print right with this tc."""
    tests = """needs_bandwidth default_bandwidth shows_options shows_json changes_options
        refuses_bad_options refuses_atomically kernel_is_quiet"""
    path = f"PATH={current_tc.parent}:/usr/sbin:/usr/bin:/sbin:/bin"
    script = f"tc -V && exec {REPO}/tests/selftests/sch_{kind}.sh {' '.join(tests.split())}"
    output = lab("exec", "--", "env", path, "sh", "-c", script, status=None).stdout
    version, _, ktap = output.partition("\n")
    # a newer version than the host's, Debian 12's or 13's
    assert int(re.search(r"iproute2-(\d+)", version)[1]) >= 7
    assert_ktap(ktap)


def test_cases_of_tdc():
    """Each kind has cases in the format of the kernel's tdc; tdc/run runs them."""
    cases = [case for kind in KINDS
             for case in json.loads((REPO / f"tests/selftests/tdc/{kind}.json").read_text())]
    ids = [case["id"] for case in cases]
    assert len(cases) >= 40
    assert len({*ids}) == len(ids)
    for case in cases:
        assert re.fullmatch("[0-9a-f]{4}", case["id"])
        assert case["plugins"] == {"requires": "nsPlugin"}
        assert case["category"][0] == "qdisc" and case["category"][1] in KINDS
        assert case["expExitCode"].isdecimal() and case["matchCount"].isdecimal()
        assert re.compile(case["matchPattern"])
        for command in (*case["setup"], case["cmdUnderTest"], case["verifyCmd"], *case["teardown"]):
            assert command.startswith("$TC ") and "$DUMMY" in command


def test_man_page_says_what_acp_keeps_of_flows():
    """With the numbers of the code: the tables are what one flow may take from another."""
    def number(header: str, name: str) -> int:
        source = (REPO / "sched" / header).read_text()
        return int(re.search(rf"^#define {name}\s+(\d+)$", source, re.M)[1])

    marks = number("acp_newcomers.h", "ACP_PLACES")
    flows = number("acp_police.h", "ACP_POLICE_SETS") * number("acp_police.h", "ACP_POLICE_WAYS")
    page = (REPO / "tc/tc-acp.8").read_text()
    text = " ".join(re.sub(r"^\.[BI]R? ", "", page, flags=re.M).split())
    assert f"newcomers , which is on by default, keeps {marks} marks of a byte" in text
    assert f"police keeps up to {flows} flows" in text
    assert "one FIFO queue, and keeps no state" not in text


def symbols_of(program):
    """The symbols that an ELF file exports, and those that it imports."""
    nm = shutil.which("nm")
    assert nm

    def symbols(option):
        command = [nm, "-D", "--format=posix", option, str(program)]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return {line.split()[0] for line in lines.splitlines()}

    return symbols("--defined-only"), symbols("--undefined-only")


@pytest.mark.parametrize("which", ["host", "current"])
def test_tc_exports_what_the_plugin_needs(which, request):
    """If tc did not export such a function, tc would end in the middle of its output."""
    plugins = kernel.tc_plugins()
    assert [plugin.name for plugin in plugins] == [f"q_{kind}.so" for kind in (*KINDS, "link")]
    if which == "host":
        tc = shutil.which("tc", path="/usr/sbin:/sbin:/usr/bin:/bin")
    else:
        tc = iproute.program(request.getfixturevalue("current_tc"))
    declared = set(re.findall(r"(\w+)\(", (REPO / "tc/iproute2.h").read_text()))
    exported, _ = symbols_of(tc)
    for plugin in plugins:
        needed = symbols_of(plugin)[1] & declared
        assert needed and needed <= exported


@each_kind
def test_large_packets_are_cut_by_the_router(lab, kind):
    """With TSO on the hosts, goodput and queue are as without."""
    alone, large = (
        lab("run", "dumbbell", "--cc", kind, "--json", f"--set=qdisc={kind}", "--set=flows=2",
            f"--set=offload={offload}").json[0] for offload in ("off", "on")
    )  # fmt: skip
    for one, other in zip(alone["flows"], large["flows"], strict=True):
        assert other["goodput_bps"] == pytest.approx(one["goodput_bps"], rel=0.05)
    assert large["links"][0]["queue_max"] <= large["settings"]["buffer"]
    assert large["links"][0]["queue_mean"] == pytest.approx(alone["links"][0]["queue_mean"], abs=3)


@each_kind
def test_shaper_fills_the_link(lab, kind):
    """For CUBIC, which uses no feedback, it is an ordinary link of that rate and that queue."""
    (result,) = lab(
        "run", "dumbbell", "--cc", "cubic", "--json", "--set", f"qdisc={kind}", "--set",
        "rate=155mbit", "--set", "rtt=40ms", "--set", "flows=4", "--set", "duration=10",
    ).json  # fmt: skip
    (link,) = result["links"]
    assert link["utilization_equilibrium"] == pytest.approx(1, abs=1e-4)
    assert link["queue_max"] <= result["settings"]["buffer"]
