# SPDX-License-Identifier: GPL-2.0
"""Shared by the tests: the lab, its kernel, a KTAP parser, and the last line of the output."""

import functools
import importlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO / "scripts"))

from labkit import libraries  # noqa: E402

if not libraries.inside():
    pytest.exit("run scripts/setup check, and tests as: scripts/python -m pytest tests/...", 2)

from labkit.errors import LabError  # noqa: E402
from labkit.measure.job import Job  # noqa: E402
from labkit.measure.runner import run_all  # noqa: E402
from labkit.model import scenario  # noqa: E402
from labkit.world import kernel  # noqa: E402
from labkit.world.laboratory import Laboratory  # noqa: E402
from labkit.world.plan import compile_plan  # noqa: E402


class KtapResult(NamedTuple):
    """One test point of a KTAP stream."""

    name: str
    ok: bool
    skip: bool
    diag: str  # the comment lines before the test point


@functools.cache
def _kunit_parser() -> ModuleType:
    """The kernel's own KTAP parser, from the lab kernel's source."""
    sys.path.append(str(kernel.ensure(progress=False).source_dir / "tools/testing/kunit"))
    return importlib.import_module("kunit_parser")


def run_ktap(output: str) -> list[KtapResult]:
    """The test points of a KTAP stream that have no points below them.

    If the parser reports any other error, such as a plan with more points than the stream has, a
    failed point is added: a test that died half way must not pass.
    """
    after = output.partition("KTAP version 1")[2]
    if not re.match(r"\s*(\[[ \d.]+\] )?1\.\.\d", after):  # the plan, where the parser looks for it
        return [KtapResult("no plan", False, False, output)]
    parser, said = _kunit_parser(), io.StringIO()
    parser.stdout = type(parser.stdout)(said)
    top = parser.parse_run_tests(output.splitlines())
    points = [
        KtapResult(test.name.strip(), test.ok_status(), test.status is parser.TestStatus.SKIPPED,
                   "\n".join(line.strip("# ") for line in test.log))
        for test in _leaves(top)
    ]  # fmt: skip
    if top.counts.errors:
        points.append(KtapResult("what the parser says", False, False, said.getvalue()))
    return points


def _leaves(test: Any) -> list[Any]:
    return [leaf for part in test.subtests for leaf in _leaves(part)] or [test]


def assert_ktap(output: str) -> None:
    """Every point of a KTAP stream is ok, and not all of them were skipped."""
    points = run_ktap(output)
    failed = [f"{r.name}\n{r.diag}" for r in points if not r.ok]
    assert not failed, "\n".join(failed)
    assert not all(r.skip for r in points), f"nothing but skips:\n{output}"


def assert_kunit(lab: Callable[..., "LabCall"], suite: str, **options: str) -> None:
    """The KUnit suite passes in the lab kernel of these options.  Its module is SUITE_test."""
    flags = [f"--{key}={value}" for key, value in options.items()]
    script = f"modprobe {suite}_test && dmesg"
    log = lab("exec", *flags, "--", "sh", "-c", script, timeout=1200).stdout
    assert not re.search("KASAN:|UBSAN:|WARNING:|BUG:", log), log
    assert_kunit_log(log, suite)


def assert_kunit_log(log: str, suite: str) -> None:
    """The log of a kernel has the KUnit suite of that name, and the suite passed."""
    suites = re.split(r"^(?=.*\] KTAP version)", log, flags=re.M)
    own = [lines for lines in suites if re.search(rf"# Subtest: {suite}$", lines, re.M)]
    assert len(own) == 1, log
    assert_ktap(own[0])


_STATUS = pytest.StashKey[int]()


@dataclass(frozen=True)
class LabCall:
    """The result of one call of scripts/lab."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> list:
        """The standard output, parsed as JSON."""
        return json.loads(self.stdout)


@pytest.fixture(scope="session")
def lab() -> Callable[..., LabCall]:
    """lab("run", "dumbbell", "--json") calls scripts/lab.  The test fails if the exit status is
    not status.

    status=None accepts every status; timeout is in seconds of wall-clock time.
    """

    def call(*arguments: str, status: int | None = 0, timeout: float = 600) -> LabCall:
        done = subprocess.run(
            [REPO / "scripts/lab", *map(str, arguments)], cwd=REPO, timeout=timeout, text=True,
            stdin=subprocess.DEVNULL, capture_output=True,
        )
        if status is not None and done.returncode != status:
            command = " ".join(map(str, arguments))
            pytest.fail(
                f"scripts/lab {command}: exit {done.returncode}, not {status}\n"
                f"{done.stdout}\n{done.stderr}",
                pytrace=False,
            )
        return LabCall(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture(scope="session")
def lab_kernel() -> kernel.LabKernel:
    """The lab kernel.  Workers that need it at the same time wait for the one that builds it."""
    return kernel.ensure(progress=False)


def a_run(seed: int, goodput: float = 1e8, drops: float = 10, cc: str = "cubic", **more) -> dict:
    """A made-up result, without a run, with the fields that comparisons need."""
    flow = {"cc": cc, "bytes": 1, "start_s": 0, "end_s": 1, "goodput_bps": goodput,
            "retransmits": drops}  # fmt: skip
    link = {"name": "r", "utilization": 0.9, "drops": drops}
    return {"scenario": "dumbbell", "cc": cc, "seed": seed, "settings": {"rate": 100_000_000},
            "flows": [flow], "links": [link], "series": "/x/y"} | more  # fmt: skip


# Sends datagrams from one namespace to another.  Arguments: both namespaces and addresses, the
# pause between datagrams (s), their size (bytes) and their number.  Prints for each datagram that
# arrives its number, and the times of departure and arrival (ns).
STREAM = """
import ctypes, os, socket, struct, sys, time
pause, size, count = float(sys.argv[5]), int(sys.argv[6]), int(sys.argv[7])
libc = ctypes.CDLL(None)
libc.prctl(29, 1)  # PR_SET_TIMERSLACK: not 50 us more
def bound(space, address):
    libc.setns(os.open(f"/run/netns/{space}", os.O_RDONLY), 0)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, 5000))
    return s
one, other = bound(*sys.argv[1:3]), bound(*sys.argv[3:5])
SO_TIMESTAMPNS = 35
other.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
SO_RCVBUFFORCE = 33
other.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 28)
for i in range(count):
    data = struct.pack("QQ", i, time.clock_gettime_ns(time.CLOCK_REALTIME))
    one.sendto(data.ljust(size), (sys.argv[4], 5000))
    if pause:
        time.sleep(pause)
other.settimeout(10)
while True:
    try:
        data, more, _, _ = other.recvmsg(2000, 100)
    except TimeoutError:
        break
    seconds, ns = struct.unpack("QQ", more[0][2])
    print(*struct.unpack_from("QQ", data), seconds * 10**9 + ns)
"""


@pytest.fixture(scope="module")
def laboratory() -> Laboratory:
    return Laboratory()


def runs_made_once(
    settings_of: Callable[..., tuple[list[str], str]],
) -> Callable[..., dict]:
    """call(case, cc): the result of a run of dumbbell with the settings of settings_of(case, cc),
    made once.  Both functions may have more arguments.

    settings_of returns the settings that differ from dumbbell's, and the first congestion control.
    """
    laboratory, name = Laboratory(), scenario.load("dumbbell")

    @functools.cache
    def call(*arguments: Any) -> dict:
        sets, first = settings_of(*arguments)
        return run_all(laboratory, [Job(name, scenario.override(name, sets), first, 1)])[0]

    return call


@pytest.fixture
def stream(lab, tmp_path):
    """stream(direction, *sets): number, departure and arrival (ns) of each datagram of STREAM."""

    def call(
        direction: str, *sets: str, pause: float = 1e-4, size: int = 16, count: int = 150
    ) -> list[list[int]]:
        settings = scenario.override(scenario.load("dumbbell"), sets)
        plan = compile_plan(settings, "reno", 1)
        (tmp_path / "setup.sh").write_text(plan.setup)
        for name, content in plan.files.items():
            (tmp_path / name).write_bytes(content)
            (tmp_path / name).chmod(0o755)
        (tmp_path / "stream.py").write_text(STREAM)
        ends = {"data": "s0 10.77.10.1 r 10.77.2.2", "acks": "r 10.77.2.2 s0 10.77.10.1"}
        script = ("sh setup.sh; sleep 1; exec /usr/bin/python3 stream.py"
                  f" {ends[direction]} {pause} {size} {count}")  # fmt: skip
        done = subprocess.run([REPO / "scripts/lab", "exec", "--", "sh", "-ec", script],
                              cwd=tmp_path, capture_output=True, text=True, check=True)  # fmt: skip
        return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]

    return call


def wanted_kernels() -> list[str]:
    """The kernels that make check-kernels tests too; empty in make check."""
    return [v for v in os.environ.get("TCPCC_KERNELS", "").split(",") if v]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of stock kernels come first: a worker that boots one is busy for minutes."""
    items.sort(key=lambda item: item.path.name != "test_stock.py")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo) -> Iterator[None]:
    """Shows the log of a failed run: it is the only place with the trace of a panic."""
    outcome = yield
    error = call.excinfo and call.excinfo.value
    if isinstance(error, LabError) and error.log:
        outcome.get_result().sections.append(("what it left behind", error.log))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Keeps the exit status for the last line."""
    session.config.stash[_STATUS] = exitstatus


def pytest_unconfigure(config: pytest.Config) -> None:
    """Prints the last line: how many tests passed, failed and were skipped.

    Tests that could not be collected, or were interrupted, count as one failed test.
    """
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return
    count = {kind: len(reporter.stats.get(kind, [])) for kind in ("passed", "failed", "error")}
    failed = count["failed"] + count["error"]
    if config.stash.get(_STATUS, pytest.ExitCode.INTERNAL_ERROR) > pytest.ExitCode.TESTS_FAILED:
        failed = max(failed, 1)
    skipped = len(reporter.stats.get("skipped", []))
    print(
        f"{count['passed']} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""),
        flush=True,
    )
