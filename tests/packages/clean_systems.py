# SPDX-License-Identifier: GPL-2.0
"""The Debian packages on clean systems (make check-packages).  The senders as BPF, where no module
can be built.  The modules: installed, upgraded, built for a kernel that came later, booted, used,
rebooted, and removed.

mmdebstrap makes a directory for each suite, and QEMU boots a disk image of it with the
distribution's own kernel.  Nothing on the host is changed.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import REPO, assert_ktap

HERE = Path(__file__).parent
SUITES = os.environ.get("TCPCC_SUITES", "bookworm,trixie").split(",")
VERSION = re.search(r'^PACKAGE_VERSION="(.*)"', (REPO / "dkms.conf").read_text(), re.M)[1]
# As in world/machine.py: the guest's clock does not depend on the load of the host.
CLOCK = ["-icount", "shift=1,sleep=off"]
BOOT_S = 3600  # limit in real seconds for boot, tests and shutdown, on emulated processors

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mmdebstrap and chroot want root")


def call(*command: str | Path, **more: object) -> str:
    """The output of a command; the test fails if the command fails."""
    done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **more)  # fmt: skip
    if done.returncode:
        pytest.fail(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-6000:]}",
                    pytrace=False)  # fmt: skip
    return done.stdout


def source(suite: str, archive: str = "debian") -> str:
    """A line of sources.list that is valid on the host and in the system."""
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    return f"deb [signed-by={keys}] http://deb.debian.org/{archive} {suite} main"


class System:
    """A clean system of a suite, in a directory."""

    def __init__(self, suite: str, home: Path) -> None:
        self.suite, self.home = suite, home
        self.root = home / "root"
        self.image = home / "disk"
        # The suite as it was released.  Headers, a compiler and the suite's updates come later.
        include = "linux-image-amd64,systemd-sysv,udev,iperf3,iproute2,kmod"
        # mmdebstrap mounts file systems.  Its mounts end with it, also if it is killed.
        call("unshare", "--mount", "mmdebstrap", "--variant=minbase", "--dpkgopt=force-unsafe-io",
             f"--include={include},procps,debian-archive-keyring", suite, self.root,
             source(suite))
        self.run("apt-get", "update")

    def run(self, *command: str) -> str:
        """Runs a command as root in the directory, with the host's network.

        The mounts exist for this command alone, and never below a directory that the host can
        remove.
        """
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        script = (
            'for name in proc sys dev; do mount --rbind "/$name" "$0/$name" || exit; done;'
            ' exec chroot "$0" env -i DEBIAN_FRONTEND=noninteractive HOME=/root LC_ALL=C.UTF-8'
            ' PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"'
        )
        return call("unshare", "--mount", "sh", "-c", script, self.root, *command)

    def install(self, folder: Path, *names: str) -> None:
        """Installs our packages from folder, and others by name."""
        there = self.root / "root"
        for name in names:
            for package in folder.glob(f"{name}_*.deb"):
                shutil.copy(package, there)
        files = [f"/root/{path.name}" for path in there.glob("*.deb")]
        others = [name for name in names if not name.startswith("tcpcc")]
        self.run("apt-get", "install", "-y", "--no-install-recommends", *files, *others)
        for path in there.glob("*.deb"):
            path.unlink()
        self.run("apt-get", "clean")

    def ours(self) -> list[Path]:
        """The files and directories with a name of this project."""
        return [path for top in ("etc", "usr", "lib/modules", "var/lib/dkms")
                for path in (self.root / top).rglob("*")
                if re.search(r"tcpcc|tcp_ccpd", path.name)]  # fmt: skip

    def kernels(self) -> list[str]:
        """The releases of its kernels, the oldest first."""
        found = [path.name.partition("-")[2] for path in (self.root / "boot").glob("vmlinuz-*")]
        return sorted(found, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])

    def built(self, release: str) -> set[str]:
        """The modules that DKMS has installed for a kernel."""
        found = (self.root / "lib/modules" / release / "updates").rglob("*.ko*")
        return {path.name.partition(".ko")[0] for path in found}

    def disk(self) -> None:
        """Makes the image from the directory, with guest.sh in it."""
        shutil.copy(HERE / "guest.sh", self.root / "root/guest.sh")
        for name in ("etc", "var"):  # or systemd would treat the first boot as one after an upgrade
            (self.root / name / ".updated").touch()
        self.image.unlink(missing_ok=True)
        with self.image.open("wb") as file:
            file.truncate(4 << 30)
        call("mke2fs", "-q", "-t", "ext4", "-d", self.root, self.image)

    def boot(self, release: str, part: str) -> str:
        """The console of a kernel that boots the image and runs that part of guest.sh."""
        done = f"systemd.run='/bin/bash /root/guest.sh {part}'"
        line = ["console=ttyS0", "root=/dev/vda", "rw", "quiet", "loglevel=3", "nohz=off", done,
                "systemd.run_success_action=poweroff", "systemd.run_failure_action=poweroff",
                "systemd.show_status=no"]  # fmt: skip
        return call(
            "timeout", "--kill-after=5", str(BOOT_S), "qemu-system-x86_64", "-accel", "tcg",
            *CLOCK, "-cpu", "max", "-m", "1024", "-nodefaults", "-display", "none", "-no-reboot",
            "-serial", "stdio", "-kernel", self.root / "boot" / f"vmlinuz-{release}",
            "-initrd", self.root / "boot" / f"initrd.img-{release}",
            "-drive", f"file={self.image},format=raw,if=virtio", "-append", " ".join(line),
        ).replace("\r", "")  # fmt: skip


def ktap_of(console: str) -> str:
    """The KTAP of a serial line, on which other programs write too."""
    start = console.find("KTAP version 1")
    assert start >= 0, console[-4000:]
    return "\n".join(line for line in console[start:].splitlines()
                     if re.match(r"KTAP|1\.\.|ok |not ok |#", line))  # fmt: skip


def build(home: Path, version: str = "") -> Path:
    """Builds the packages; lintian must report nothing."""
    call(REPO / "packaging/deb", home, env={**os.environ, "TCPCC_VERSION": version})
    return home


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="session")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("older"), "0.0.9")


@pytest.fixture(scope="session", params=SUITES)
def system(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[System]:
    home = tmp_path_factory.mktemp(request.param)
    yield System(request.param, home)
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def modules() -> set[str]:
    """All modules that Kbuild lists."""
    text = (REPO / "Kbuild").read_text()
    listed = " ".join(re.findall(r"^obj-m [:+]= ([^$\n]*)$", text, re.M)).split()
    return {name.rpartition("/")[2].removesuffix(".o") for name in listed}


def test_bpf_needs_no_compiler(system: System, packages: Path) -> None:
    """The senders as BPF, where no module can be built; purging them leaves no file."""
    system.install(packages, "tcpcc-bpf", "tcpcc")
    assert not [path for path in system.ours() if path.is_relative_to(system.root / "etc")]
    system.run("systemctl", "enable", "tcpcc-bpf@ccpd_path")
    default = system.root / "etc/sysctl.d/50-own.conf"
    default.write_text("net.ipv4.tcp_congestion_control = bpf_ccpd_path\n")
    change = system.root / "etc/systemd/system/tcpcc-bpf@ccpd_path.service.d"
    change.mkdir()
    (change / "own.conf").write_text("[Service]\nExecStartPost=/usr/bin/tcpcc set ccpd_path kp=6\n")
    system.disk()
    default.unlink()
    shutil.rmtree(change)
    release, = system.kernels()
    assert_ktap(ktap_of(system.boot(release, "bpf")))
    system.run("apt-get", "purge", "-y", "tcpcc-bpf", "tcpcc")
    assert not system.ours()


def test_installs(system: System, older: Path, modules: set[str]) -> None:
    """All modules are built for the installed kernel, and nothing is enabled."""
    system.install(older, "tcpcc-dkms", "tcpcc", "linux-headers-amd64")
    release, = system.kernels()
    assert system.built(release) == modules
    assert not list((system.root / "etc").rglob("*tcpcc*"))
    assert "tcpcc" in system.run("tcpcc", "--help")


def test_upgrades(system: System, packages: Path, modules: set[str]) -> None:
    """From an older version, of which nothing is left."""
    system.install(packages, "tcpcc-dkms", "tcpcc")
    release, = system.kernels()
    assert system.built(release) == modules
    assert [p.name for p in (system.root / "usr/src").glob("tcpcc-*")] == [f"tcpcc-{VERSION}"]
    assert "0.0.9" not in system.run("dkms", "status")


def test_builds_for_a_new_kernel(system: System, modules: set[str]) -> None:
    """An upgrade installs the suite's updates, and the kernel of its backports."""
    suite = system.suite
    lists = [source(f"{suite}-updates"), source(f"{suite}-backports"),
             source(f"{suite}-security", "debian-security")]  # fmt: skip
    apt = system.root / "etc/apt"
    (apt / "sources.list.d/later.list").write_text("\n".join([*lists, ""]))
    (apt / "preferences.d/kernel").write_text(
        f"Package: linux-*\nPin: release n={suite}-backports\nPin-Priority: 600\n"
    )
    system.run("apt-get", "update")
    system.run("apt-get", "-y", "--no-install-recommends", "dist-upgrade")
    system.run("apt-get", "clean")
    assert len(system.kernels()) > 1
    for release in system.kernels():
        assert system.built(release) == modules, release
    system.disk()


def test_is_used(system: System) -> None:
    """On the suite's own kernel: status, try, doctor, watch, tc, set."""
    assert_ktap(ktap_of(system.boot(system.kernels()[0], "first")))


def test_reboots_and_goes(system: System) -> None:
    """The setting holds after a boot of the new kernel; the packages go while a flow runs."""
    assert_ktap(ktap_of(system.boot(system.kernels()[-1], "second")))


def test_purges(system: System) -> None:
    """All our files go, also those that tcpcc set has written; other files stay."""
    for name in ("sysctl.d/90-tcpcc.conf", "modules-load.d/tcpcc.conf", "sysctl.d/91-own.conf"):
        (system.root / "etc" / name).write_text("# written by a test\n")
    system.run("apt-get", "purge", "-y", "tcpcc", "tcpcc-dkms")
    assert not system.ours()
    assert (system.root / "etc/sysctl.d/91-own.conf").exists()


def test_is_reproducible(packages: Path, tmp_path: Path) -> None:
    """Two builds in two directories have the same bytes, the source package too."""
    again = build(tmp_path)
    names = {p.name for p in packages.iterdir() if p.suffix in (".deb", ".xz", ".dsc")}
    assert len(names) >= 5
    differing = [name for name in sorted(names)
                 if (packages / name).read_bytes() != (again / name).read_bytes()]  # fmt: skip
    assert not differing
