# SPDX-License-Identifier: GPL-2.0
"""The environment of scripts/setup is complete, or an error of one line says what to do."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import REPO
from labkit import libraries
from labkit.host import LOOK_S, Progress, locked, run_logged
from labkit.paths import absolute
from labkit.world import kernel, others, stock

REQUIREMENTS_IN = REPO / "scripts" / "requirements.in"
LAB, SETUP = REPO / "scripts" / "lab", [sys.executable, "-m", "labkit.libraries"]


@pytest.fixture
def empty(tmp_path) -> dict[str, str]:
    """Environment variables for a machine with an empty cache and without a package registry."""
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_FIND_LINKS": "",
               "PIP_NO_CACHE_DIR": "1", "no_proxy": "127.0.0.1"}  # fmt: skip
    ours = {"TCPCC_CACHE": str(tmp_path), "PYTHONPATH": str(REPO / "scripts")}
    return os.environ | nowhere | ours


def there(env: dict[str, str]) -> list[str]:
    """The directories of environments in that cache, by name."""
    return [path.name for path in Path(env["TCPCC_CACHE"], "python").glob("*") if path.is_dir()]


@pytest.mark.parametrize(
    ("name", "where", "setup"),
    [("lab", REPO, "scripts/setup"), ("python", "/", REPO / "scripts" / "setup")],
)
def test_commands_that_cannot_install_say_what_to_do(empty, name, where, setup) -> None:
    done = subprocess.run([REPO / "scripts" / name, "list"], env=empty, capture_output=True,
                          text=True, cwd=where, timeout=300)  # fmt: skip
    assert done.returncode == 1 and not done.stdout
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"{name}: PyPI cannot be reached")
    assert said.endswith(f"; to set up, run {setup} demo")
    assert there(empty) == []


def test_a_cache_that_cannot_be_is_one_line(empty) -> None:
    done = subprocess.run([LAB, "list"], env=empty | {"TCPCC_CACHE": "/dev/null/cache"},
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == "lab: Not a directory: /dev/null/cache/python\n"


def test_a_user_without_a_home_is_told(monkeypatch, capsys) -> None:
    def none() -> None:
        raise RuntimeError("Could not determine home directory.")

    for name in ("TCPCC_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", none)
    with pytest.raises(SystemExit):
        libraries._installed()
    assert capsys.readouterr().err.endswith(
        ": this user has no home directory for the cache: set HOME or TCPCC_CACHE\n")


def test_a_user_that_is_not_there_has_no_home(monkeypatch) -> None:
    assert absolute("~nonesuch/x") == Path.cwd() / "~nonesuch/x"
    monkeypatch.setenv("HOME", "/home/own")
    assert absolute("~/x") == Path("/home/own/x")


def test_a_registry_that_is_not_there_is_one_line(empty) -> None:
    done = subprocess.run(SETUP, env=empty, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    progress, said = done.stderr.splitlines()[:-1], done.stderr.splitlines()[-1]
    assert said.startswith("setup: PyPI cannot be reached")
    assert all(line.startswith("libraries: installing from PyPI") for line in progress)
    assert there(empty) == []


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_installation_does_not_count(empty, how) -> None:
    with subprocess.Popen(SETUP, env=empty, stderr=subprocess.DEVNULL) as setup:
        deadline = time.monotonic() + 60
        while not there(empty) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert there(empty), "it did not begin"
        setup.send_signal(how)
    assert setup.returncode
    assert there(empty) == [] or how == signal.SIGKILL
    assert not libraries.ready(libraries.home(Path(empty["TCPCC_CACHE"])))


def test_who_has_begun_in_an_environment_stays_there(empty) -> None:
    """Even if the cache is another, because a guest may have its own cache."""
    done = subprocess.run([sys.executable, LAB, "list"], env=empty, capture_output=True, text=True)
    assert done.returncode == 0 and "dumbbell" in done.stdout


@pytest.mark.parametrize(("held_s", "told"), [(0.3, False), (LOOK_S + 0.5, True)])
def test_only_who_waits_for_a_build_says_so(tmp_path, capfd, held_s, told) -> None:
    """Each command takes the same lock to see whether a thing is built; that wait is short."""
    other = contextlib.ExitStack()
    other.enter_context(locked(tmp_path / "built"))
    threading.Timer(held_s, other.close).start()
    with Progress("kernel", True) as shown, locked(tmp_path / "built", shown):
        pass
    assert ("waiting for another process" in capfd.readouterr().err) == told


@pytest.mark.parametrize(
    ("module", "build"),
    [
        (kernel, lambda one, _: kernel.build_modules(one)),
        (kernel, lambda one, _: kernel.sparse(one)),
        (others, lambda one, path: others._build(one, path, [])),
        (stock, lambda one, _: stock.build(one)),
    ],
)
def test_a_build_has_its_lock_also_if_its_lab_is_killed(
    module, build, tmp_path, monkeypatch
) -> None:
    """Make goes on then, and a second one in the same directory would disturb it."""
    held = []

    def run(command, log, keep=(), **_) -> int:
        held.extend(Path("/proc/self/fd", str(fd)).resolve() for fd in keep)
        raise KeyboardInterrupt

    (tmp_path / "my_cc.c").touch()
    one = SimpleNamespace(key="one", variant="", version="6.12", package="one", root=tmp_path,
                          build_dir=tmp_path)  # fmt: skip
    monkeypatch.setenv("TCPCC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "run_logged", run)
    with pytest.raises(KeyboardInterrupt):
        build(one, tmp_path / "my_cc.c")
    assert held == [*tmp_path.glob("cache/**/*.lock")]


@pytest.mark.parametrize(
    ("module", "build"),
    [(kernel, kernel.build_modules), (stock, stock.build)],
)
def test_a_build_has_the_digest_of_what_is_built(module, build, tmp_path, monkeypatch) -> None:
    """Somebody edits the source while the build waits for another one, and then takes it back."""
    source = tmp_path / "my_cc.c"
    one = SimpleNamespace(key="one", variant="", version="6.12", package="one", root=tmp_path,
                          release="6.12", build_dir=tmp_path)  # fmt: skip

    @contextlib.contextmanager
    def waits(path, *_):
        source.write_text("later")
        with locked(path) as lock:
            yield lock

    def install(_, stage, result) -> None:
        result.mkdir()
        (result / "built").write_text((stage / "my_cc.c").read_text())

    monkeypatch.setenv("TCPCC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "module_sources", lambda: {"my_cc.c": source})
    monkeypatch.setattr(module, "_install_modules" if module is kernel else "_install", install)
    monkeypatch.setattr(module, "_make_modules" if module is kernel else "_make", lambda *_: None)
    source.write_text("first")
    with monkeypatch.context() as waiting:
        waiting.setattr(module, "locked", waits)
        assert (build(one) / "built").read_text() == "later"
    source.write_text("first")
    assert (build(one) / "built").read_text() == "first"


def test_two_threads_may_compile_the_same_program(tmp_path, monkeypatch) -> None:
    """Runs with --pcap, which start at once, need the program that captures."""
    both = threading.Barrier(2)

    def run(command, log, **more) -> int:
        status = run_logged(command, log, **more)
        both.wait(60)
        return status

    monkeypatch.setenv("TCPCC_CACHE", str(tmp_path))
    monkeypatch.setattr(kernel, "run_logged", run)
    with ThreadPoolExecutor() as pool:
        one, other = (pool.submit(kernel.capture) for _ in range(2))
    assert one.result() == other.result()
    assert [path.name for path in one.result().parent.iterdir()] == ["capture"]


def test_root_uses_those_of_who_called_sudo(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("TCPCC_CACHE", str(tmp_path / "root"))
    monkeypatch.setenv("SUDO_USER", "somebody")
    monkeypatch.setattr(Path, "expanduser", lambda path: tmp_path / path.parts[0])
    there = libraries.home(tmp_path / "~somebody")
    there.mkdir(parents=True)
    assert libraries._installed() is None
    (there / ".ready").touch()
    assert libraries._installed() == there


@pytest.mark.parametrize(
    ("have", "says"),
    [
        (None, "its libraries are not installed; to set up, run "),
        ([], "its libraries are not complete: remove {where}; to set up, run "),
        (["python2.7"], "its libraries are for python2.7, not for {python}: start it with"
                        " /usr/bin/python3"),
        (["python2.7", "python2.8"], "its libraries are for python2.7, python2.8, not for"
                                     " {python}: start it with /usr/bin/python3"),
    ],
)  # fmt: skip
def test_who_cannot_borrow_says_what_to_do(empty, have, says) -> None:
    where = libraries.home(Path(empty["TCPCC_CACHE"]))
    if have is not None:
        where.mkdir(parents=True)
        (where / ".ready").touch()
    for version in have or ():
        (where / "lib" / version / "site-packages").mkdir(parents=True)
    done = _borrowed(empty)
    python = "python{}.{}".format(*sys.version_info)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith(f"-c: {says.format(where=where, python=python)}")


def test_who_borrows_has_those_of_its_own_python(empty) -> None:
    """Even if there are others."""
    where = libraries.home(Path(empty["TCPCC_CACHE"]))
    for version in ("python2.7", "python{}.{}".format(*sys.version_info)):
        (where / "lib" / version / "site-packages").mkdir(parents=True)
    (where / ".ready").touch()
    done = _borrowed(empty)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{where}/lib/{version}/site-packages\n"


def _borrowed(env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    code = "import sys; from labkit import libraries; libraries.borrow(); print(sys.path[-1])"
    return subprocess.run([libraries.PYTHON, "-c", code], env=env, capture_output=True, text=True)


def test_the_versions_are_those_of_requirements() -> None:
    wanted = {line.split()[0] for line in libraries.REQUIREMENTS.read_text().splitlines()
              if "==" in line}  # fmt: skip
    done = subprocess.run([sys.executable, "-m", "pip", "freeze", "--all"], capture_output=True,
                          text=True, check=True)  # fmt: skip
    have = {line.lower().replace("_", "-") for line in done.stdout.splitlines()
            if not line.startswith(("pip==", "setuptools=="))}  # fmt: skip
    assert wanted == have


def test_each_library_has_a_reason() -> None:
    """docs/dependencies.md has one for each library in requirements.in; and all are pinned."""
    asked = re.findall(r"^[\w-]+", REQUIREMENTS_IN.read_text(), re.M)
    told = (REPO / "docs" / "dependencies.md").read_text()
    pinned = libraries.REQUIREMENTS.read_text()
    assert asked and not [name for name in asked if f"`{name}`" not in told]
    assert not [name for name in asked if f"\n{name}==" not in f"\n{pinned}"]
    assert f"these and what they need, {pinned.count('==')} in all" in told


GROUPED = """
import os
import pytest

@pytest.fixture(scope="session", params=[pytest.param(n, marks=pytest.mark.xdist_group(n))
                                         for n in ("a", "b")])
def worker(request):
    return request.param, os.getpid()

@pytest.mark.parametrize("number", range(4))
def test_one(worker, number):
    with open("seen", "a") as seen:
        print(*worker, file=seen)
"""


def test_a_group_of_tests_has_one_worker(tmp_path) -> None:
    """Tests that share a guest, which takes minutes to boot, share a worker of xdist."""
    (tmp_path / "test_grouped.py").write_text(GROUPED)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    seen = (tmp_path / "seen").read_text().splitlines()
    assert len(seen) == 8 and len(set(seen)) == 2
