# SPDX-License-Identifier: GPL-2.0
"""The senders as BPF: they build, kernels take them, and they do what the modules do."""

import re
import subprocess

import pytest

from conftest import REPO, run_ktap, wanted_kernels
from labkit.world import machine, stock
from tcpcckit import bpf

# The kernel gives up on a program after a million instructions; how many it looks at is another
# number on each kernel.  A quarter of that leaves room.
MOST_INSTRUCTIONS = 250_000
MOST_STATES = 25_000

SENDERS = ["ccpd", "ccp", "ccpd_path", "mccp", "mccp_path", "nist_reno", "nist_bic", "nist_ctcp",
           "nist_fast", "nist_hstcp", "nist_htcp", "nist_scalable"]  # fmt: skip
VERSIONS = ["6.12", *(v for v in wanted_kernels() if v in stock.SUITES and v != "6.12")]
# make check has time for those that people choose; make check-kernels for all
QUICK = ["verifier", "ccpd_path", "another_parameter", "parameters", "watched", "replaced",
         "unloaded", "locked_down"]  # fmt: skip


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """make -C bpf; of tests side by side one after the other."""
    return subprocess.run(
        ["flock", REPO / "bpf/Makefile",
         "make", "--no-print-directory", "-C", REPO / "bpf", *arguments],
        capture_output=True, text=True,
    )  # fmt: skip


def test_every_sender_of_a_law_has_an_object() -> None:
    """make bpf builds all without a warning; -Werror makes each a failure."""
    done = make()
    assert done.returncode == 0, done.stderr
    built = {path.name.partition(".")[0] for path in (REPO / "bpf/build").glob("*.bpf.o")}
    assert built == {*SENDERS} - {"ccp"}  # which is in ccpd's


@pytest.mark.parametrize("path", ["tcp_ccpd.c", "tcp_mccp_path.c", "nist/tcp_nist_fast.c"])
def test_parameters_are_the_modules(path: str) -> None:
    """An object tells each parameter's name, range and default as the module's file has them."""
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
    """In one line, with what to do."""
    done = make(argument, "ready")
    assert done.returncode
    assert says in done.stderr.splitlines()


def test_missing_rights_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Capabilities, and not root: those that are missing are named."""
    monkeypatch.setattr(bpf, "read", lambda _: "CapPrm:\t0\nCapEff:\t0000004000001000")
    with pytest.raises(bpf.TcpccError, match=r"sudo tcpcc load .* CAP_BPF and CAP_PERFMON$"):
        bpf.load("ccpd")
    monkeypatch.setattr(bpf, "read", lambda _: "CapPrm:\t0\nCapEff:\t0000008000000000")
    assert bpf._lacking() == ["CAP_PERFMON"]


@pytest.mark.parametrize(
    "version", [pytest.param(v, marks=pytest.mark.xdist_group(f"stock-{v}")) for v in VERSIONS]
)
def test_on_stock_kernel(version: str) -> None:
    """See stock_bpf.sh; and the verifier's work is bounded."""
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
