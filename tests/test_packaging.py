# SPDX-License-Identifier: GPL-2.0
"""What packages are made of, without building one (make check-packages does)."""

import json
import re
import subprocess

from conftest import REPO


def test_versions_agree():
    """dkms.conf has the version; each recipe has the same."""
    wanted = re.search(r'^PACKAGE_VERSION="(.*)"', (REPO / "dkms.conf").read_text(), re.M)[1]
    places = {
        "debian/changelog": r"^tcpcc \((.*?)\)", "packaging/rpm/tcpcc.spec": r"^Version:\s+(.*)",
        "packaging/arch/PKGBUILD": r"^pkgver=(.*)",
    }  # fmt: skip
    found = {path: re.search(pattern, (REPO / path).read_text(), re.M)[1]
             for path, pattern in places.items()}  # fmt: skip
    assert found == dict.fromkeys(places, wanted)


def test_examples_are_off():
    """No line of them does anything as it is."""
    for path in (REPO / "packaging/examples").iterdir():
        assert all(line.startswith("#") or not line for line in path.read_text().splitlines())


def make(target, where):
    done = subprocess.run(
        ["make", "-s", target, f"INSTALL_MOD_PATH={where}", "PREFIX=/usr"], cwd=REPO,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_installed_command_runs(tmp_path):
    """By the name that users call, from a tree without anything else; and goes as a whole."""
    make("command-install", tmp_path)
    done = subprocess.run([tmp_path / "usr/bin/tcpcc", "status", "--json"], capture_output=True,
                          text=True, cwd="/")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kernel"]
    assert (tmp_path / "usr/share/man/man8/tcpcc.8").exists()
    make("command-uninstall", tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() or path.is_symlink()]


def test_installed_lab_runs(tmp_path):
    """With all that its scenarios, networks and traces are read from."""
    make("lab-install", tmp_path)
    done = subprocess.run([tmp_path / "usr/bin/tcpcc-lab", "list", "--json"], capture_output=True,
                          text=True, cwd="/")  # fmt: skip
    assert done.returncode == 0, done.stderr
    there = {one["name"] for one in json.loads(done.stdout)}
    assert there == {path.stem for path in (REPO / "scripts/scenarios").glob("*.toml")}
    assert not list(tmp_path.rglob("*.so"))
    for name in ("labkit", "networks", "scenarios", "traces"):
        assert any((tmp_path / "usr/share/tcpcc-lab/scripts" / name).iterdir())
