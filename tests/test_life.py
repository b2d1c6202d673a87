# SPDX-License-Identifier: GPL-2.0
"""All modules are loaded, used, changed, refused and unloaded, many times.

make check runs ten rounds in the lab.  make check-kernels also runs them under the sanitizers and,
on two processors, under the race detector.  make check-life runs LIFE_ROUNDS in each of the three.
"""

import os
import re

import pytest

from conftest import REPO, assert_ktap, wanted_kernels
from labkit.world import races, stock
from labkit.world.machine import boot

ASKED = os.environ.get("LIFE_ROUNDS")
ROUNDS = ASKED or "10"
# Wall-clock limit for all rounds
TIMEOUT_S = 1200 + 60 * int(ROUNDS)
LIFE = [str(REPO / "tests/selftests/life.py"), "--rounds", ROUNDS]
wide = pytest.mark.skipif(not (wanted_kernels() or ASKED),
                          reason="make check-kernels and make check-life run it")  # fmt: skip


def test_lives(lab):
    assert_ktap(lab("exec", "--", *LIFE, status=None, timeout=TIMEOUT_S).stdout)


@wide
def test_lives_under_sanitizers(lab):
    """KASAN, UBSAN, lockdep, kmemleak and the sleep checker report nothing."""
    done = lab("exec", "--variant=debug", "--", *LIFE, status=None, timeout=TIMEOUT_S)
    assert_ktap(done.stdout)


@wide
@pytest.mark.xdist_group("kcsan")
def test_lives_on_two_processors():
    """In one kernel, KCSAN finds no race in our modules, and lockdep no wrong lock."""
    machine = races.ensure(progress=False)
    modules = stock.build(machine, strict=False)
    done = boot(machine, races.watched(LIFE), modules=modules, cpus=2, timeout_s=TIMEOUT_S)
    assert not (found := races.reports(done.log, races.own_modules(modules))), "\n".join(found)
    assert re.search(r"kcsan: selftest: (\d+)/\1 tests passed", done.log), done.log[-3000:]
    assert "Lock dependency validator" in done.log, done.log[-3000:]
    assert not (said := races.complaints(done.log)), "\n".join(said)
    assert_ktap(done.stdout)
