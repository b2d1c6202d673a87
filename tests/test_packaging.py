# SPDX-License-Identifier: GPL-2.0
"""The contents of packages.  No package is built here; make check-packages builds them."""

import json
import os
import re
import subprocess
import tarfile

import pytest

from conftest import REPO


def test_versions_agree():
    """dkms.conf has the version, and each recipe has the same one."""
    wanted = re.search(r'^PACKAGE_VERSION="(.*)"', (REPO / "dkms.conf").read_text(), re.M)[1]
    places = {
        "debian/changelog": r"^tcpcc \((.*?)\)", "packaging/rpm/tcpcc.spec": r"^Version:\s+(.*)",
        "packaging/arch/PKGBUILD": r"^pkgver=(.*)",
    }  # fmt: skip
    found = {path: re.search(pattern, (REPO / path).read_text(), re.M)[1]
             for path, pattern in places.items()}  # fmt: skip
    assert found == dict.fromkeys(places, wanted)


@pytest.fixture
def clone(tmp_path):
    """A clone of the repository, and beside it a kernel tree in name only."""
    tree = tmp_path / "clone"
    subprocess.run(["git", "-c", f"safe.directory={REPO / '.git'}", "clone", "-q", REPO, tree],
                   check=True)  # fmt: skip
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel/Makefile").touch()
    return tree


def release(tree, *arguments, **more):
    """Runs packaging/release, which calls no compiler here."""
    env = {**os.environ, "MAKE": "true", "KDIR": str(tree.parent / "kernel"), **more}
    return subprocess.run([tree / "packaging/release", *arguments], capture_output=True, text=True,
                          env=env)  # fmt: skip


def test_release_has_every_file(clone):
    """Two archives are the same.  Files that are not committed, or missing, are reported."""
    done = release(clone)
    assert done.returncode == 0, done.stderr
    archive = clone / done.stdout.strip()
    with tarfile.open(archive) as tar:
        there = {name.partition("/")[2] for name in tar.getnames()}
    listed = subprocess.run(["git", "-C", clone, "ls-files"], capture_output=True, text=True)
    assert set(listed.stdout.split()) <= there
    first = archive.read_bytes()
    assert release(clone, "HEAD").returncode == 0
    assert archive.read_bytes() == first
    for arguments, more, says in (
        (["v9"], {}, "there is no commit v9: git tag lists the versions"),
        ([], {"MAKE": "false"}, "make modules fails in the archive"),
        ([], {"KDIR": "/nonexistent"}, "install linux-headers-"),
    ):
        done = release(clone, *arguments, **more)
        assert done.returncode == 1
        assert says in done.stderr
    (clone / "new").touch()
    assert "git commit them, or put them aside by git stash -u" in release(clone).stderr


@pytest.mark.parametrize(("path", "old", "new", "says"), [
    ("debian/changelog", "tcpcc (", "tcpcc (9.", "debian/changelog has version '9."),
    ("CHANGELOG.md", "## ", "## 9.", "CHANGELOG.md has version '9."),
    (".gitattributes", "", "README.md export-ignore", "the archive has not the commit's files"),
])  # fmt: skip
def test_release_refuses(clone, path, old, new, says):
    """Versions that do not agree, and an archive with fewer files than the commit."""
    text = (clone / path).read_text() if old else ""
    (clone / path).write_text(text.replace(old, new, 1))
    subprocess.run(["git", "-C", clone, "add", "-A"], check=True)
    subprocess.run(["git", "-C", clone, "-c", "user.name=a", "-c", "user.email=a@b", "commit",
                    "-qm", "x"], check=True)  # fmt: skip
    assert says in release(clone).stderr


def test_examples_are_off():
    """Every line is a comment or empty."""
    for path in (REPO / "packaging/examples").iterdir():
        assert all(line.startswith("#") or not line for line in path.read_text().splitlines())


def make(target, where):
    done = subprocess.run(
        ["make", "-s", target, f"INSTALL_MOD_PATH={where}", "PREFIX=/usr"], cwd=REPO,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_installed_command_runs(tmp_path):
    """By the name that users call, from a tree without other files.  Uninstalling removes all."""
    make("command-install", tmp_path)
    done = subprocess.run([tmp_path / "usr/bin/tcpcc", "status", "--json"], capture_output=True,
                          text=True, cwd="/")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kernel"]
    assert (tmp_path / "usr/share/man/man8/tcpcc.8").exists()
    make("command-uninstall", tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() or path.is_symlink()]


def test_installed_lab_runs(tmp_path):
    """With its scenarios, networks and traces."""
    make("lab-install", tmp_path)
    done = subprocess.run([tmp_path / "usr/bin/tcpcc-lab", "list", "--json"], capture_output=True,
                          text=True, cwd="/")  # fmt: skip
    assert done.returncode == 0, done.stderr
    there = {one["name"] for one in json.loads(done.stdout)}
    assert there == {path.stem for path in (REPO / "scripts/scenarios").glob("*.toml")}
    assert not list(tmp_path.rglob("*.so"))
    for name in ("labkit", "networks", "scenarios", "traces"):
        assert any((tmp_path / "usr/share/tcpcc-lab/scripts" / name).iterdir())
