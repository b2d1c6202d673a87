# SPDX-License-Identifier: GPL-2.0
"""The modules on distributions' unmodified kernels: each is built for and booted once."""

import subprocess
from pathlib import Path

import pytest

from conftest import REPO, run_ktap, wanted_kernels
from labkit import stock

KERNELS = [version for version in stock.SUITES if version in ["6.1", "6.12", *wanted_kernels()]]
SCRIPT = REPO / "tests/selftests/stock_ccpd.sh"


@pytest.mark.parametrize("version", KERNELS)
def test_modules_on_stock_kernel(version: str) -> None:
    """Builds without a warning, loads, is chosen in every way, fills the link, unloads."""
    kernel = stock.ensure(version)
    result = stock.boot(kernel, [str(SCRIPT)], modules=stock.build(kernel), timeout_s=900)
    points = run_ktap(result.stdout)
    bad = [f"{point.name}\n{point.diag}" for point in points if not point.ok or point.skip]
    if bad or result.returncode:
        tail = "\n".join(result.log.splitlines()[-15:])
        pytest.fail(
            f"{kernel.release}: exit {result.returncode}\n\n" + "\n\n".join(bad)
            + f"\n\n{result.stderr}\nend of the kernel's log:\n{tail}",
            pytrace=False,
        )


def test_guest_keeps_the_host_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status and output come through unchanged; what the guest writes stays there."""
    monkeypatch.chdir(tmp_path)
    mark = tmp_path / "mark"
    mark.write_text("host\n")
    command = f"cat {mark}; echo guest >mark; printf 'a\\001b' >&2; id -u; uname -r; exit 37"
    kernel = stock.ensure("6.1")
    result = stock.boot(kernel, ["sh", "-c", command], timeout_s=300)
    assert result.returncode == 37
    assert result.stdout == f"host\n0\n{kernel.release}\n"
    assert result.stderr.endswith("a\001b")
    assert mark.read_text() == "host\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "--kernel", "5.15", "--", "true"], "there are: 6.1, 6.12, 7.2"),
        (["build", "--kernel", ""], "no stock kernel ''"),
        (["run", "--timeout", "soon", "--", "true"], "'soon' is no number of seconds"),
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
