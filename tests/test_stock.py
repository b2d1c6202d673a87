# SPDX-License-Identifier: GPL-2.0
"""The modules on distributions' unmodified kernels: each has a build, and boots once."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import REPO, run_ktap, wanted_kernels
from labkit.errors import LabError
from labkit.world import machine, stock

SELFTESTS = REPO / "tests/selftests"
SCRIPTS = ["stock_ccpd.sh", "stock_acp.sh", "stock_estcp.sh"]
SCRIPTS += ["stock_senders.sh"] if wanted_kernels() else []
MININET = "stock_mininet.sh"
# make check tests a part.  On 6.1 it runs ccpd, ccp and ccpd_path; in Mininet, for which one kernel
# is enough, two cases.  make check-kernels runs the rest.
FEW = {"6.1": ["stock_ccpd.sh"], "6.12": [*SCRIPTS, f"{MININET} four_users bad_setting"]}
ALL = {"6.12": [*SCRIPTS, MININET]}
# Tests on one kernel run in one worker, which boots it once.
KERNELS = [
    pytest.param(version, marks=pytest.mark.xdist_group(f"stock-{version}"))
    for version in stock.SUITES if version in ["6.1", "6.12", *wanted_kernels()]
]  # fmt: skip

# In real time: with two processors, and a boot for each script.
HOSTS = {
    "life": "stock_smp.sh",
}
# make check-kernels also runs each sender in each case.
MORE_HOSTS = {
    "paths": "stock_cases.sh switch tfo mptcp pfifo fq cards",
    "idle": "stock_cases.sh idle long_idle",
    "troubles": "stock_cases.sh reordering_1 reordering_10 reordering_100"
    " blackout_300ms blackout_1500ms blackout_10s",
    "table": "stock_hosts.sh",
    "hooks": "stock_cases.sh switch tfo mptcp blackout_300ms +pfifo +fq +cards",
}
# Other tests run at the same time, so a second processor would not be free for this one.
ONE_PROCESSOR = ["table"]
# The effects of paths on ACKs do not depend on the kernel, so only one kernel has the long cases;
# on the others the hooks are tested.  An emulated 6.1 has no second processor.
TWO_PROCESSORS = [
    (name, version)
    for version in ["6.12", *(v for v in wanted_kernels() if v not in ("6.1", "6.12"))]
    for name in [*HOSTS, *(MORE_HOSTS if wanted_kernels() else {})]
    if name == "life" or (name == "hooks") != (version == "6.12")
]


@pytest.fixture(scope="session", params=KERNELS)
def booted(request: pytest.FixtureRequest) -> tuple[machine.Result, dict[str, str]]:
    """A kernel that ran all the scripts, and the output of each script."""
    kernel = stock.ensure(request.param)
    wanted = (ALL if wanted_kernels() else FEW).get(request.param, SCRIPTS)
    lines = [f"echo '== {one.split()[0]}'; {shlex.quote(str(SELFTESTS))}/{one}" for one in wanted]
    result = machine.boot(
        kernel, ["sh", "-c", "\n".join(lines)], modules=stock.build(kernel), nics=True,
        timeout_s=2400,
    )  # fmt: skip
    parts = re.split(r"^== (.*)\n", result.stdout, flags=re.M)
    printed = dict.fromkeys((one.split()[0] for one in wanted), "")
    return result, printed | dict(zip(parts[1::2], parts[2::2], strict=True))


def assert_all_ran(
    result: machine.Result, printed: str, left_out: frozenset[str] = frozenset()
) -> None:
    """Each point is ok, and only those of left_out were skipped."""
    bad = [
        f"{point.name}\n{point.diag}" for point in run_ktap(printed)
        if not point.ok or (point.skip and point.name not in left_out)
    ]  # fmt: skip
    if bad:
        tail = "\n".join(result.log.splitlines()[-15:])
        pytest.fail(
            "\n\n".join(bad) + f"\n\n{result.stderr}\nend of the kernel's log:\n{tail}",
            pytrace=False,
        )


@pytest.mark.parametrize("script", [*SCRIPTS, MININET])
def test_modules_on_stock_kernel(
    booted: tuple[machine.Result, dict[str, str]], script: str
) -> None:
    """They load, can be chosen in every way, follow their law and unload."""
    result, printed = booted
    if script not in printed:
        pytest.skip("on another kernel, or by make check-kernels")
    assert_all_ran(result, printed[script])


@pytest.mark.parametrize("version", ["6.12", *(v for v in wanted_kernels() if v != "6.12")])
def test_strangers(version: str) -> None:
    """Feedback works with what hosts have between TCP and the network, or is off."""
    kernel = stock.ensure(version)
    command = [str(SELFTESTS / "stock_strangers.sh")]
    result = machine.boot(kernel, command, modules=stock.build(kernel), cpus=1, timeout_s=1800)
    # Debian's 6.1 and 6.12 do not have TCP-AO
    assert_all_ran(result, result.stdout, left_out=frozenset({"tcp_ao"}))


@pytest.mark.parametrize(("name", "version"), TWO_PROCESSORS)
def test_real_hosts(name: str, version: str) -> None:
    """ACKs in bunches, idle times, outages, reordering, two processors: as good as CUBIC."""
    kernel = stock.ensure(version)
    script, *arguments = (HOSTS | MORE_HOSTS)[name].split()
    result = machine.boot(
        kernel, [str(SELFTESTS / script), *arguments], modules=stock.build(kernel),
        cpus=1 if name in ONE_PROCESSOR else 2, nics=True, timeout_s=1800,
    )  # fmt: skip
    assert_all_ran(result, result.stdout)


@pytest.mark.skipif(not shutil.which("packetdrill"), reason="no packetdrill here")
def test_packetdrill() -> None:
    """The window after each ACK, on a distribution's kernel: see tests/selftests/packetdrill."""
    kernel = stock.ensure("6.12")
    script = f"PATH=$PATH:{Path(shutil.which('packetdrill')).parent} {SELFTESTS}/packetdrill.sh"
    result = machine.boot(kernel, ["sh", "-c", script], modules=stock.build(kernel), timeout_s=600)
    assert_all_ran(result, result.stdout)


@pytest.mark.skipif(not wanted_kernels(), reason="make check-kernels runs it")
def test_short_of_processor_time() -> None:
    """The sender has no processor for 1 to 20 ms at a time: see stock_stolen.sh."""
    kernel = stock.ensure("6.12")
    stolen = stock.build(kernel, srcdir=REPO / "tests/stolen")
    module = stolen / "lib/modules" / kernel.release / "updates/stolen.ko"
    result = machine.boot(
        kernel, [str(SELFTESTS / "stock_stolen.sh"), str(module)], modules=stock.build(kernel),
        cpus=2, nics=True, timeout_s=1800,
    )  # fmt: skip
    assert_all_ran(result, result.stdout)


@pytest.mark.parametrize(
    "version",
    [
        pytest.param(version, marks=pytest.mark.xdist_group(f"tunnels-{version}"))
        for version in stock.SUITES if version in wanted_kernels()
    ],
)  # fmt: skip
def test_tunnels(version: str) -> None:
    """ACP and ESTCP through IPIP, GRE, ESP, WireGuard: they work or are Reno; nothing is lost."""
    kernel = stock.ensure(version)
    result = machine.boot(
        kernel, [str(SELFTESTS / "stock_tunnels.sh")], modules=stock.build(kernel),
        timeout_s=1800,
    )  # fmt: skip
    assert_all_ran(result, result.stdout)


def test_guest_has_two_processors() -> None:
    kernel = stock.ensure("6.12")
    assert machine.boot(kernel, ["nproc"], cpus=2, timeout_s=300).stdout == "2\n"


def test_no_second_emulated_processor_is_said() -> None:
    """For 6.1, which would hang when it starts the second one."""
    kernel = stock.ensure("6.1")
    if machine.emulated(kernel):
        with pytest.raises(LabError, match="second emulated processor"):
            machine.boot(kernel, ["true"], cpus=2, timeout_s=300)


def test_guest_keeps_the_host_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status and output arrive unchanged; files that the guest writes are not on the host."""
    monkeypatch.chdir(tmp_path)
    mark = tmp_path / "mark"
    mark.write_text("host\n")
    command = f"cat {mark}; echo guest >mark; printf 'a\\001b' >&2; id -u; uname -r; exit 37"
    kernel = stock.ensure("6.1")
    result = machine.boot(kernel, ["sh", "-c", command], timeout_s=300)
    assert result.returncode == 37
    assert result.stdout == f"host\n0\n{kernel.release}\n"
    assert result.stderr.endswith("a\001b")
    assert mark.read_text() == "host\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "--kernel", "5.15", "--", "true"], "there are: 6.1, 6.12, 7.2"),
        (["build", "--kernel", ""], "no stock kernel ''"),
        (["run", "--timeout", "soon", "--", "true"], "'soon' is not a number of seconds"),
        (["run", "--cpus", "0", "--", "true"], "invalid choice: 0"),
        (["run"], "COMMAND"),
        ([], "VERB"),
        (["boot"], "invalid choice: 'boot'"),
    ],
)
def test_bad_usage_is_one_line(arguments: list[str], says: str) -> None:
    done = subprocess.run([REPO / "scripts/stock", *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.startswith("stock: ")
    assert done.stderr.count("\n") == 1


def test_list_names_the_kernels() -> None:
    done = subprocess.run([REPO / "scripts/stock", "list"], capture_output=True, text=True)
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(stock.SUITES)
