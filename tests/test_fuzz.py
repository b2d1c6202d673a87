# SPDX-License-Identifier: GPL-2.0
"""Headers, packets and messages of any bytes: runs tests/fuzz for seconds, from its corpus on."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import REPO
from labkit.world.kernel import CLANG

sys.path.append(str(REPO / "tests/fuzz"))

import seeds

FUZZ = REPO / "tests/fuzz"
SECONDS = {"header": 6, "walk": 12, "tc": 6}
# A break that each target must find: file, correct line, wrong line
BREAKS = {
    "header": ("include/tcpcc_feedback.h", "cut = min(cut, blocks ? blocks - 1 : 0);",
               "cut = min(cut, blocks);"),
    "walk": ("sched/sch_header.h", "if (behind & 1) {", "if (behind & 2) {"),
    "tc": ("tc/options.h", "parse_rtattr(tb, OPTIONS_MAX - 1,", "parse_rtattr(tb, OPTIONS_MAX,"),
}  # fmt: skip
each_target = pytest.mark.parametrize("target", SECONDS)
pytestmark = pytest.mark.skipif(
    not shutil.which(CLANG), reason=f"{CLANG} is missing: run scripts/setup check"
)


def fuzz(target: str, out: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-C", FUZZ, f"TARGETS={target}", f"OUT={out}", "FUZZ_FLAGS=-seed=1", *settings],
        capture_output=True, text=True, errors="replace", timeout=300,
    )  # fmt: skip


@each_target
def test_fuzz(target: str, tmp_path: Path) -> None:
    """No access outside buffers, and the results satisfy the checks of the target."""
    done = fuzz(target, tmp_path, f"FUZZ_SECONDS={SECONDS[target]}")
    if done.returncode:
        found = [
            f"{path.name}: {path.read_bytes().hex()}"
            for name in ("crash", "timeout", "leak", "oom") for path in tmp_path.glob(f"{name}-*")
        ]  # fmt: skip
        pytest.fail("\n".join([done.stdout[-2000:], done.stderr[-4000:], *found]), pytrace=False)
    executed = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    assert executed and int(executed[1]) > 1000 * SECONDS[target], done.stderr[-1000:]


@each_target
def test_a_break_is_found(target: str, tmp_path: Path) -> None:
    """The corpus and some mutations are enough to find a wrong line."""
    for folder in ("include", "sched", "tc"):
        shutil.copytree(REPO / folder, tmp_path / folder)
    name, right, wrong = BREAKS[target]
    text = (tmp_path / name).read_text()
    assert text.count(right) == 1
    (tmp_path / name).write_text(text.replace(right, wrong))
    done = fuzz(target, tmp_path / "out", f"ROOT={tmp_path}", "FUZZ_RUNS=50000")
    assert done.returncode and re.search("not so: |AddressSanitizer|runtime error", done.stderr)


@each_target
def test_seeds_are_in_the_corpus(target: str, tmp_path: Path) -> None:
    seeds.main(tmp_path)
    for seed in (tmp_path / target).iterdir():
        assert (FUZZ / "corpus" / target / seed.name).read_bytes() == seed.read_bytes(), (
            "run tests/fuzz/seeds.py tests/fuzz/corpus"
        )
