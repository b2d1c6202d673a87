# SPDX-License-Identifier: GPL-2.0
"""Each module's KUnit suite and its selftests, in the lab's kernels."""

import re
from collections.abc import Callable

import pytest

from conftest import REPO, LabCall, assert_ktap, assert_kunit, wanted_kernels
from labkit.world import kernel

SENDERS = ["ccpd", "ccpd_path", "acp", "estcp", "mccp", "mccp_path", "jtcp", "newjersey",
           "rcp", "xcp"]
NIST = ["reno", "bic", "ctcp", "fast", "hstcp", "htcp", "scalable"]
QDISCS = ["acp", "estcp", "rcp", "xcp"]
SUITES = [
    "tcp_feedback",
    "cc_scripts",
    "tcpcc_view",
    *(f"tcp_{name}" for name in SENDERS),
    *(f"tcp_nist_{name}" for name in NIST),
    *(f"sch_{name}" for name in QDISCS),
]

_SCH = """loads_once needs_bandwidth changes_options refuses_bad_options shapes_segments marks_v6
    leaves_others_alone changes_under_traffic shrinks_without_loss replaces_under_traffic
    deletes_under_traffic below_htb forgets_on_down device_goes survives_attributes"""

# The selftests, and which of their tests run under the sanitizers.  test_life.py tests unloading.
LIVES = {
    "ccpd": "registers by_sysctl by_socket shows_in_ss traces changes_under_traffic",
    "ccpd_path": "registers by_sysctl by_socket shows_in_ss traces changes_under_traffic",
    "acp": """registers carries carries_v6 follows_a_router sack_gives_way sends_both_ways
        malformed blind_echoes words_for_nobody has_room_for_so_many changes_under_traffic""",
    "estcp": """registers marks_its_class echoes_codepoints_v6 leaves_ecn_alone follows_phases
        router_goes_away notices_rfc3168 sends_both_ways changes_under_traffic""",
    "view": "loads shows_its_namespace shows_v6 changes_under_reading outlives_namespace",
    "mccp": "registers by_sysctl by_socket shows_in_ss traces changes_under_traffic",
    "mccp_path": "registers by_sysctl by_socket shows_in_ss traces changes_under_traffic",
    "jtcp": "registers by_socket shows_in_ss traces changes_under_traffic",
    "newjersey": "registers by_socket shows_in_ss traces changes_under_traffic",
    "rcp": """registers by_socket carries carries_v6 follows_a_router keeps_its_rate
        router_goes_away sends_both_ways believes_so_much traces changes_under_traffic""",
    "xcp": """registers by_socket carries carries_v6 follows_a_router loses_acks delays_acks
        router_goes_away sends_both_ways in_acps_router believes_so_much traces
        changes_under_traffic""",
    "nist": """registers only_reno_is_free refuses_bad_values transfers times_out coexist
        changes_under_traffic""",
    "sch_acp": f"{_SCH} marks_packets statistics_move",
    "sch_estcp": f"""{_SCH} marks_data overwrites_foreign changes_phase phase_v6 is_patient
        beside_others""",
    "sch_rcp": f"{_SCH} marks_packets falls_to_the_floor statistics_move",
    "sch_xcp": f"{_SCH} marks_packets takes_back statistics_move",
}
# make check leaves these to make check-kernels: they differ from the others only in their law, and
# findings and test_life.py run them.
RIVALS = ("jtcp", "newjersey", "rcp", "xcp", "sch_rcp", "sch_xcp")
each_life = pytest.mark.parametrize("name", LIVES)
wide = pytest.mark.skipif(not wanted_kernels(), reason="make check-kernels runs it")


def live(lab, name, *tests, **options):
    """A selftest, or some of its tests, in the kernel that the options select."""
    flags = [f"--{key}={value}" for key, value in options.items()]
    script = REPO / f"tests/selftests/{name}.sh"
    assert_ktap(lab("exec", *flags, "--", script, *tests, status=None, timeout=3000).stdout)


@pytest.mark.parametrize("suite", SUITES)
def test_kunit(lab, suite):
    """The laws with the papers' numbers, and the parsers with hostile headers."""
    assert_kunit(lab, suite)


_KUNIT_LOG = """\
[    0.000000] KTAP version 1
[    0.000000] 1..1
[    0.000000]     KTAP version 1
[    0.000000]     # Subtest: tcp_x
[    0.000000]     # module: tcp_x_test
[    0.000000]     1..3
[    0.000000]     ok 1 first
[    0.000000]     ok 2 second
[    0.000000]     ok 3 third
[    0.000000] # Totals: pass:3 fail:0 skip:0 total:3
[    0.000000] ok 1 tcp_x
"""


def logged(log: str) -> Callable[..., LabCall]:
    """A lab whose kernel has this log."""
    return lambda *_arguments, **_options: LabCall(0, log, "")


def test_kunit_that_passes():
    assert_kunit(logged(f"[    0.000000] something else\n{_KUNIT_LOG}"), "tcp_x")


@pytest.mark.parametrize("lines", range(11))
def test_kunit_that_dies_fails(lines):
    """A suite does not pass if its log ends early, at any line."""
    log = "".join(_KUNIT_LOG.splitlines(keepends=True)[:lines])
    with pytest.raises(AssertionError):
        assert_kunit(logged(log), "tcp_x")


@pytest.mark.parametrize("line", _KUNIT_LOG.splitlines()[6:9] + _KUNIT_LOG.splitlines()[10:])
def test_kunit_without_a_line_fails(line):
    """One of the lines with the results of the cases and of the suite."""
    with pytest.raises(AssertionError):
        assert_kunit(logged(_KUNIT_LOG.replace(f"{line}\n", "")), "tcp_x")


@pytest.mark.parametrize("case", ["first", "second", "third"])
def test_kunit_with_a_failed_case_fails(case):
    """Even if the suite's own line says ok."""
    log = re.sub(rf"(.*)ok (\d) {case}", rf"\1# it is 2\n\1not ok \2 {case}", _KUNIT_LOG)
    with pytest.raises(AssertionError, match=rf"{case}\s+it is 2"):
        assert_kunit(logged(log), "tcp_x")


def test_kunit_with_nothing_but_skips_is_no_pass():
    log = re.sub(r"(ok \d (first|second|third))", r"\1 # SKIP no memory", _KUNIT_LOG)
    with pytest.raises(AssertionError, match="nothing but skips"):
        assert_kunit(logged(log), "tcp_x")


@pytest.mark.parametrize("skipped", [
    "1..0 # SKIP no module", "KTAP version 1\n1..0 # SKIP no module",
    "KTAP version 1\n1..1\nok 1 one # SKIP no module",
])  # fmt: skip
def test_nothing_but_skips_is_no_pass(skipped):
    with pytest.raises(AssertionError, match=r"SKIP no module|0 tests run"):
        assert_ktap(skipped)


def test_a_skip_among_others_is_a_pass():
    assert_ktap("KTAP version 1\n1..2\nok 1 one # SKIP no module\nok 2 two\n")


@pytest.mark.parametrize("output", [
    "", "KTAP version 1\n", "KTAP version 1\n1..2\nok 1 one\n",
    "KTAP version 1\nok 1 one\n1..1\n",  # the parser would search without end
    "KTAP version 1\n1..2\nok 1 one\nok 3 three\n",
])  # fmt: skip
def test_what_is_not_whole_is_no_pass(output):
    with pytest.raises(AssertionError):
        assert_ktap(output)


@pytest.mark.parametrize("name", [n for n in LIVES if wanted_kernels() or n not in RIVALS])
def test_life(lab, name):
    live(lab, name)


@each_life
@pytest.mark.parametrize("version", [v for v in wanted_kernels() if v != kernel.DEFAULT_VERSION])
def test_life_on_kernel(lab, version, name):
    if not kernel.available(version):
        pytest.skip(f"no linux-source-{version}")
    live(lab, name, kernel=version)


@wide
@pytest.mark.parametrize("suite", SUITES)
def test_kunit_under_sanitizers(lab, suite):
    """KASAN, UBSAN, lockdep and the sleep checker report nothing."""
    assert_kunit(lab, suite, variant="debug")


@wide
@each_life
def test_life_under_sanitizers(lab, name):
    live(lab, name, *LIVES[name].split(), "kernel_is_quiet", variant="debug")


def test_modules_do_not_say_where_they_were_built():
    """One source gives one module, in any directory: its digest identifies the source."""
    built = kernel.build_modules(kernel.ensure(progress=False))
    where = str(built.parent).encode()
    assert [p.name for p in built.rglob("*.ko") if where in p.read_bytes()] == []
