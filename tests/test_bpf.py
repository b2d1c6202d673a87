# SPDX-License-Identifier: GPL-2.0
"""The senders as BPF: they build, kernels accept them, and they behave as the modules do."""

import re
import subprocess

import pytest

from conftest import REPO, run_ktap, wanted_kernels
from labkit.world import machine, stock
from tcpcckit import bpf

# The kernel rejects a program after it has verified a million instructions.  This number differs
# between kernels.  A quarter of it leaves room.
MOST_INSTRUCTIONS = 250_000
MOST_STATES = 25_000

SENDERS = ["ccpd", "ccp", "ccpd_path", "mccp", "mccp_path", "nist_reno", "nist_bic", "nist_ctcp",
           "nist_fast", "nist_hstcp", "nist_htcp", "nist_scalable"]  # fmt: skip
VERSIONS = ["6.12", *(v for v in wanted_kernels() if v in stock.SUITES and v != "6.12")]
# make check tests only those that users would choose; make check-kernels tests all
QUICK = ["verifier", "ccpd_path", "another_parameter", "parameters", "watched", "replaced",
         "unloaded", "locked_down"]  # fmt: skip


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """make -C bpf; tests that run in parallel wait for each other."""
    return subprocess.run(
        ["flock", REPO / "bpf/Makefile",
         "make", "--no-print-directory", "-C", REPO / "bpf", *arguments],
        capture_output=True, text=True,
    )  # fmt: skip


def test_every_sender_of_a_law_has_an_object() -> None:
    """make bpf builds all of them without a warning; -Werror makes each warning an error."""
    done = make()
    assert done.returncode == 0, done.stderr
    built = {path.name.partition(".")[0] for path in (REPO / "bpf/build").glob("*.bpf.o")}
    assert built == {*SENDERS} - {"ccp"}  # ccpd's object has ccp too


@pytest.mark.parametrize("path", ["tcp_ccpd.c", "tcp_mccp_path.c", "nist/tcp_nist_fast.c"])
def test_parameters_are_the_modules(path: str) -> None:
    """An object has each parameter with the name, range and default of the module's source."""
    assert make().returncode == 0
    law = (REPO / path).read_text() + (REPO / "nist/nist.h").read_text() * path.startswith("nist")
    written = re.findall(r"^TCPCC_PARAM\((\w+), (\d+), (\d+), (\d+),", law, re.M)
    name = path.rpartition("/")[2].removeprefix("tcp_").removesuffix(".c")
    with bpf.Object(REPO / f"bpf/build/{name}.bpf.o") as found:
        told = found.parameters
    assert {(one.name, one.default, one.least, one.most) for one in told} == {
        (name, int(init), int(lo), int(hi)) for name, init, lo, hi in written
    }
    assert sorted(one.offset for one in told) == [4 * k for k in range(len(told))]


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("CLANG=", "clang is missing: apt-get install clang-19"),
        ("CLANG=false", "false is too old, 16 or later is needed: apt-get install clang-19"),
    ],
)
def test_what_is_missing_is_said(argument: str, says: str) -> None:
    """The error is one line, with the command that mends it."""
    done = make(argument, "ready")
    assert done.returncode
    assert says in done.stderr.splitlines()


def test_missing_rights_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Capabilities count, not root: the message names the missing ones."""
    monkeypatch.setattr(bpf, "read", lambda _: "CapPrm:\t0\nCapEff:\t0000004000001000")
    with pytest.raises(bpf.TcpccError, match=r"sudo tcpcc load .* CAP_BPF and CAP_PERFMON$"):
        bpf.load("ccpd")
    monkeypatch.setattr(bpf, "read", lambda _: "CapPrm:\t0\nCapEff:\t0000008000000000")
    assert bpf._lacking() == ["CAP_PERFMON"]


@pytest.mark.parametrize(
    "version", [pytest.param(v, marks=pytest.mark.xdist_group(f"stock-{v}")) for v in VERSIONS]
)
def test_on_stock_kernel(version: str) -> None:
    """Runs stock_bpf.sh, and checks that the verifier's work is bounded."""
    assert make().returncode == 0
    kernel = stock.ensure(version)
    twin = stock.build(kernel, srcdir=REPO / "tests/bpf")
    module = twin / "lib/modules" / kernel.release / "updates/tcp_twin.ko"
    tests = [] if wanted_kernels() else QUICK
    result = machine.boot(
        kernel, [str(REPO / "tests/selftests/stock_bpf.sh"), str(module), *tests],
        modules=stock.build(kernel), timeout_s=2400,
    )  # fmt: skip
    bad = [f"{point.name}\n{point.diag}" for point in run_ktap(result.stdout) if not point.ok]
    if bad:
        tail = "\n".join(result.log.splitlines()[-15:])
        pytest.fail("\n\n".join([*bad, result.stderr, tail]), pytrace=False)
    counts = re.findall(r"# verifier (\w+) (\w+): (\d+) instructions, (\d+) states", result.stdout)
    assert len(counts) > 60
    for sender, program, instructions, states in counts:
        assert int(instructions) <= MOST_INSTRUCTIONS, (sender, program)
        assert int(states) <= MOST_STATES, (sender, program)
