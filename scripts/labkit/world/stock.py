# SPDX-License-Identifier: GPL-2.0
"""Debian's own kernels, unmodified, under QEMU: our modules where people will run them.

ensure() brings a kernel, its headers and the compiler it was built with into the cache, from
packages that are only unpacked and an APT state of our own: nothing of another suite ever reaches
the host.  build() builds the modules for it; boot() runs a command on it; measure() runs a scenario
of the lab there.
"""

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

from ..errors import LabError
from ..host import (
    Progress,
    digest_of,
    environment,
    file_digest,
    first_error,
    forget_old,
    locked,
    missing_packages,
    output_of,
    run_logged,
    sync_sources,
    tail_of,
    write_marker,
)
from ..model.settings import Settings
from ..paths import REPO, cache
from .debian import Apt, files_in, unpack, wrap_programs
from .kernel import module_sources, tc_plugins
from .topology import compile_plan

# Which suite of Debian carries which kernel.
SUITES = {"6.1": "bookworm", "6.12": "bookworm", "7.2": "sid"}

# Raised when what _fetch() leaves in the cache changes: it is in the name of what was fetched, so
# that working trees of either side can share a cache.
LAYOUT = 3

VIRTME = "virtme-ng==1.42"

TOOLS = {
    "apt-get": "apt", "dpkg-deb": "dpkg", "make": "make", "depmod": "kmod", "file": "file",
    "qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "iperf3": "iperf3",
    "ip": "iproute2", "ethtool": "ethtool", "nft": "nftables",
}

# Of the packages that headers depend on, those that a module build uses.
_BUILD_PACKAGES = re.compile(r"(linux-|gcc-|cpp-|binutils|pahole|lib|zlib1g)")

# Of an image's modules, those that a guest can use, which has no hardware but network cards: a
# tenth.
_GUEST_MODULES = re.compile(
    r"kernel/(arch|crypto|lib|net|fs/(9p|fscache|fuse|netfs|overlayfs)"
    r"|drivers/(block|char|input|net/[^/]+\.ko|net/(bonding|ethernet/intel/e1000)|virtio))\b"
)

# The card of boot(nics=True): QEMU's cuts a packet into segments as a real one does.  virtio-net
# leaves that to the other end of its wire, and e1000e makes IP fragments of it until QEMU 8.
_NIC = "e1000"

# Where virtme-ng mounts empty file systems over the host's directories.
_HIDDEN = [Path(p) for p in ("/tmp", "/run", "/var/tmp", "/var/log", "/var/cache")]

_GUEST_RUN = "/run/tcpcc"  # where a guest sees the directory of its run
_GUEST_HOT = "/run/hot"  # copies in its memory

_HOT_PROGRAMS = """awk cat dmesg ethtool grep ip iperf3 kill lsmod mktemp modprobe nft nstat
    ping rm rmmod sed sh sleep ss sysctl tc""".split()

# An emulated processor takes 2 ns for each instruction and no time to be idle: however busy the
# host is, and however slow, the guest's clock does not show it.  QEMU runs several such processors
# in turns, so that they interrupt each other anywhere, but are no faster than one.  With a regular
# tick, the clock of an idle guest does not leap to a timer minutes ahead while it waits for a file
# of the host.
_EMULATION = ["--disable-kvm", "--qemu-opts=-icount shift=1,sleep=off", "--append=nohz=off"]

# 6.1 does not get past starting its second emulated processor.
_ONE_EMULATED = {"6.1"}

# Two network cards, and a wire between them that goes nowhere else.
_WIRE = [
    f"--qemu-opts=-netdev hubport,hubid=0,id=end{n} "
    f"-device {_NIC},netdev=end{n},mac=52:54:00:00:00:0{n}"
    for n in (1, 2)
]

# The lab's shaper may hold back one frame, which only virtual time can do without losing rate: a
# real timer is late by up to this much.
_TIMER_SLACK_S = 1e-4


@dataclass(frozen=True)
class StockKernel:
    """A distribution's kernel, unpacked."""

    version: str  # as asked for: 6.12
    release: str  # what uname -r says: 6.12.117+deb12-amd64
    package: str  # what its package calls its version: 6.12.117-1~deb12u1
    root: Path  # where the packages are unpacked

    @property
    def image(self) -> Path:
        """The bzImage."""
        paths = (f"boot/vmlinuz-{self.release}", f"usr/lib/modules/{self.release}/vmlinuz")
        return next(p for p in map(self.root.joinpath, paths) if p.exists())

    @property
    def modules(self) -> Path:
        """The kernel's own modules: the directory named like the release."""
        found = (self.root / top / "modules" / self.release for top in ("lib", "usr/lib"))
        return next(p for p in found if (p / "kernel").exists())

    @property
    def build_dir(self) -> Path:
        """What a module build takes as its kernel tree."""
        return self.root / "usr/src" / f"linux-headers-{self.release}"


@dataclass(frozen=True)
class Result:
    """What a command in a guest came to."""

    returncode: int
    stdout: str
    stderr: str
    log: str  # the kernel's
    wall_s: float  # with boot and power off


def _home(release: str) -> Path:
    """Where the cache has that kernel."""
    return cache("stock", f"{release}-{LAYOUT}")


def ensure(release: str, progress: bool = True) -> StockKernel:
    """That kernel, fetched and unpacked first if the cache has none."""
    if release not in SUITES:
        raise LabError(f"no stock kernel {release!r}; there are: {', '.join(SUITES)}", status=2)
    _require_tools()
    home = _home(release)
    done = home / ".done"
    with Progress(f"stock kernel {release}", progress) as shown, locked(home, shown):
        if not done.exists():
            found = _fetch(release, SUITES[release], home, shown)
            write_marker(done, json.dumps(asdict(found), default=str))
        found = json.loads(done.read_text())
    return StockKernel(found["version"], found["release"], found["package"], Path(found["root"]))


def build(
    kernel: StockKernel, extra: Iterable[str] = ("W=1",), strict: bool = True,
    srcdir: Path = REPO,
) -> Path:  # fmt: skip
    """This project's modules for kernel, beside its own.

    Returns a directory with the kernel's image and a lib/modules/<release> ready for modprobe.
    strict turns each warning into a failure.
    """
    files = module_sources() if srcdir == REPO else _sources_in(srcdir)
    options = [*extra, *(["KCFLAGS=-Werror"] if strict else [])]
    digest = digest_of(*options, *(f"{name}\0{file_digest(path)}" for name, path in files.items()))
    unpacked = digest_of(kernel.package, str(kernel.root))
    home = cache("mod", f"stock-{kernel.version}-{unpacked}")
    result = home / digest
    with locked(home):
        if not (result / ".done").exists():
            stage = home / "stage"
            sync_sources(files, stage)
            _make(kernel, stage, options, strict)
            _install(kernel, stage, result)
            write_marker(result / ".done", "")
        os.utime(result)
        forget_old(home, keep=4)
    return result


def boot(
    kernel: StockKernel, command: list[str], *, modules: Path | None = None,
    timeout_s: float = 600, cpus: int | None = None, memory_mb: int = 1024,
    nics: bool = False, echo: bool = False,
) -> Result:  # fmt: skip
    """Runs a command as root on kernel, which sees the host's files but can change none of them.

    modules is what build() returned.  nics gives the guest two network cards that are connected
    with each other and with nothing else.  echo passes the command's output on as it comes.
    timeout_s is real time; the guest's own is so only under KVM: see _EMULATION.  cpus is how many
    processors the guest has, by default two under KVM and otherwise one.  LabError if the kernel
    cannot have so many.
    """
    _require_tools()
    tree = modules or build(kernel)
    vng = _virtme()
    emulating = emulated(kernel)
    cpus = cpus or (1 if emulating else 2)
    if cpus > 1 and emulating and kernel.version in _ONE_EMULATED:
        raise LabError(f"kernel {kernel.version} cannot start a second emulated processor")
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="stock-", dir=cache("run")) as name:
        run = Path(name)
        (run / "init").write_text(_guest_init(command))
        for stream in ("stdout", "stderr", "console"):
            (run / stream).touch()
        visible = {Path.cwd(), REPO, tree, kernel.root, *(p.parent for p in tc_plugins())}
        line = [
            # Ends the guest even if we are killed and can not.
            "timeout", "--kill-after=5", str(timeout_s + 10),
            vng, "--verbose", "--force-9p", "--disable-monitor", "--user", "root",
            "--cpus", str(cpus), "--memory", f"{memory_mb}M",
            "--run", tree / "vmlinuz",
            *(_EMULATION if emulating else []),
            *(_WIRE if nics else []),
            f"--rwdir={_GUEST_RUN}={run}",
            *(f"--rodir={path}={path}" for path in sorted(visible)
              if any(path.is_relative_to(hidden) for hidden in _HIDDEN)),
            "--exec", f"sh {_GUEST_RUN}/init",
        ]  # fmt: skip
        home = cache("stock", "home")  # not the user's, whose settings for virtme-ng are her own
        env = {"HOME": str(home), "PATH": f"{vng.parent}:{environment()['PATH']}"}
        with _Follower(run, echo) as follower:
            deadline = time.monotonic() + timeout_s

            def poll() -> None:
                follower.copy()
                if time.monotonic() > deadline:
                    raise TimeoutError

            try:
                run_logged(line, run / "console", poll=poll, cwd=run, **env)
            except TimeoutError:
                why = f"did not finish within {timeout_s:g} s"
            else:
                why = "ended before the command did"
        wall = time.monotonic() - start
        log = (run / "console").read_text(errors="replace").replace("\r", "")
        out = [(run / stream).read_text(errors="replace") for stream in ("stdout", "stderr")]
        if not (run / "status").exists():
            if "Kernel panic" in log:
                why = "panicked"
            tail = [*"".join(out).splitlines()[-15:], *_end_of(log.splitlines())]
            raise LabError(
                f"the guest with kernel {kernel.release} {why}", log="\n".join(tail)
            )
        return Result(int((run / "status").read_text()), *out, log, wall)


def _end_of(log: list[str], least: int = 25, most: int = 150) -> list[str]:
    """The last lines of a kernel's log: from the first sign of trouble on, if there is one.

    The line that names the cause is the first of a trace, far above the panic that ends it.
    """
    trouble = re.compile(r"BUG:|Oops|WARNING:|general protection|rcu: INFO|Kernel panic")
    first = next((i for i, line in enumerate(log) if trouble.search(line)), len(log))
    return log[max(0, min(first, len(log) - least)) :][:most]


def emulated(kernel: StockKernel) -> bool:
    """Whether boot() emulates processors, for want of KVM."""
    return not _kvm_works(kernel)


def measure(
    kernel: StockKernel, settings: Settings, ccs: list[str], *, modules: Path | None = None,
    timeout_s: float = 600,
) -> dict[str, float]:  # fmt: skip
    """Goodput in bits per second of one iperf3 flow per congestion control, in the lab's topology.

    All flows run in one boot, one after the other, each for settings.duration seconds.
    """
    script = ["set -eu"]
    for cc in ccs:
        setup = compile_plan(settings, cc, seed=1).setup
        slack = round(settings.rate / 8 * _TIMER_SLACK_S)
        setup = re.sub(r" burst (\d+)", lambda m, more=slack: f" burst {int(m[1]) + more}", setup)
        address = "10.77.2.2" if settings.ip == 4 else "fd77:0:0:2::2"
        script += [
            "{", setup, "} >&2",
            f"""
            ip netns exec r iperf3 -s -1 >&2 &
            until ip netns exec r ss -Hltn 'sport = :5201' | grep -q .; do sleep 0.1; done
            ip netns exec s0 iperf3 -J -c {address} -C {cc} -t {settings.duration:g}
            wait
            for space in s0 d b r; do ip netns del $space; done
            echo
            """,
        ]  # fmt: skip
    result = boot(kernel, ["sh", "-c", "\n".join(script)], modules=modules, timeout_s=timeout_s)
    if result.returncode:
        raise LabError(
            f"iperf3 failed on kernel {kernel.release}",
            log="\n".join((result.stdout + result.stderr).splitlines()[-25:]),
        )
    decoder, rest, goodput = json.JSONDecoder(), result.stdout, {}
    for cc in ccs:
        report, end = decoder.raw_decode(rest := rest.lstrip())
        rest = rest[end:]
        if (used := report["end"]["sender_tcp_congestion"]) != cc:
            raise LabError(f"iperf3 ran {used} instead of {cc} on kernel {kernel.release}")
        goodput[cc] = report["end"]["sum_received"]["bits_per_second"]
    return goodput


# Packages ---------------------------------------------------------------------------------------


def _fetch(version: str, suite: str, home: Path, shown: Progress) -> StockKernel:
    """Downloads and unpacks all that a kernel, and a module build for it, consist of."""
    root = home / "root"
    if root.exists():
        shutil.rmtree(root)
    packages = home / "packages"
    packages.mkdir(exist_ok=True)
    apt = Apt(suite, home / "apt", shown)
    apt.update()
    release, image = _newest(apt, version)
    shown.show("downloading")
    names = [f"linux-headers-{release}", *image]
    size = apt.download(names, packages, _BUILD_PACKAGES)
    for package, part in size.items():
        shown.show("unpacking", part)
        if any(package.name.startswith(f"{name}_") for name in image):
            _unpack_image(package, root)
        elif _BUILD_PACKAGES.match(package.name):
            unpack(package, root)
    _relocate(root)
    package = next(p.name.split("_")[1] for p in size if p.name.startswith(f"{image[0]}_"))
    kernel = StockKernel(version, release, package, root)
    if not (kernel.build_dir / "Makefile").exists() or not kernel.image.exists():
        raise LabError(f"the packages of Debian's {release} are laid out in a way unknown here")
    shutil.rmtree(packages)
    return kernel


def _newest(apt: Apt, version: str) -> tuple[str, list[str]]:
    """The newest release of that version that has headers and the packages of its image."""
    names = apt.names("linux-")
    pattern = rf"linux-headers-({re.escape(version)}\.\d+(?:-\d+|\+deb\d+)-amd64)"
    releases = [found[1] for name in names if (found := re.fullmatch(pattern, name))]
    for release in sorted(releases, key=_numbers, reverse=True):
        split = [f"linux-binary-{release}", f"linux-modules-{release}"]
        for image in (split, [f"linux-image-{release}"]):
            wanted = [f"linux-headers-{release}", *image]
            # A name may be known only because others mention it.
            if names.issuperset(wanted) and all(map(apt.exists, wanted)):
                return release, image
    raise LabError(f"Debian {apt.suite} has no kernel {version} any more")


def _numbers(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", text)]


def _unpack_image(package: Path, root: Path) -> None:
    """The image, its index files, and the modules that a guest can use."""
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        try:
            with tarfile.open(fileobj=child.stdout, mode="r|") as archive:
                for member in filter(tarfile.TarInfo.isreg, archive):
                    if "/kernel/" in member.name and not _GUEST_MODULES.search(member.name):
                        continue
                    target = root / member.name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with target.open("wb") as out:
                        shutil.copyfileobj(archive.extractfile(member), out)
        except (tarfile.TarError, OSError) as error:
            child.kill()
            package.unlink()
            raise LabError(f"cannot unpack {package.name}: {error}") from error


def _relocate(root: Path) -> None:
    """Makes headers and the tools of a module build work from where they are."""
    for makefile in root.glob("usr/src/linux-headers-*/Makefile"):
        text = makefile.read_text()
        if text.count("\n") < 9:  # Debian's own, which includes the common one
            makefile.write_text(text.replace("/usr/src/", f"{root}/usr/src/"))
    # Type information would need pahole and as much time as the build; no module of ours uses it.
    for vmlinux in root.glob("usr/src/linux-headers-*/vmlinux"):
        vmlinux.unlink()
    wrap_programs(root, "usr/bin", "usr/lib/gcc", "usr/libexec/gcc", "usr/lib/linux-kbuild-*")


# Modules ----------------------------------------------------------------------------------------


def _sources_in(folder: Path) -> dict[str, Path]:
    return {
        str(path.relative_to(folder)): path
        for path in sorted(files_in(folder)) if path.suffix in (".c", ".h") or path.name == "Kbuild"
    }  # fmt: skip


def _make(kernel: StockKernel, stage: Path, options: list[str], strict: bool) -> None:
    for stale in stage.rglob("*.ko"):
        stale.unlink()
    log = stage / "build.log"
    jobs = f"-j{os.cpu_count()}"
    command = ["make", "-C", kernel.build_dir, f"M={stage}", jobs, *options, "modules"]
    failed = run_logged(command, log, PATH=f"{kernel.root}/usr/bin:{environment()['PATH']}")
    warned = strict and re.search(r"^.*\bwarning\b.*$", log.read_text(), re.M | re.I)
    if failed or warned:
        what = warned[0].strip() if warned and not failed else first_error(log)
        raise LabError(f"the modules do not build for {kernel.release}: {what}", log=tail_of(log))


def _install(kernel: StockKernel, stage: Path, result: Path) -> None:
    """The kernel's image and modules and ours, as hard links, with indices for modprobe."""
    shutil.rmtree(result, ignore_errors=True)
    tree = result / "lib/modules" / kernel.release
    shutil.copytree(
        kernel.modules, tree, copy_function=os.link,
        ignore=lambda folder, names: [n for n in names if Path(folder, n).is_symlink()],
    )  # fmt: skip
    (tree / "updates").mkdir()
    for module in stage.rglob("*.ko"):
        shutil.copyfile(module, tree / "updates" / module.name)
    os.link(kernel.image, result / "vmlinuz")
    log = result / "depmod.log"
    if run_logged(["depmod", "-b", result, kernel.release], log):
        raise LabError(f"depmod fails for the modules of {kernel.release}", log=tail_of(log))


# Guests -----------------------------------------------------------------------------------------


class _Follower:
    """Passes a guest's output on while it is written."""

    def __init__(self, run: Path, wanted: bool) -> None:
        pairs = (("stdout", sys.stdout), ("stderr", sys.stderr)) if wanted else ()
        self.files = [((run / name).open("rb"), stream) for name, stream in pairs]

    def __enter__(self) -> "_Follower":
        return self

    def __exit__(self, *_: object) -> None:
        self.copy()
        for file, _stream in self.files:
            file.close()

    def copy(self) -> None:
        for file, stream in self.files:
            if new := file.read():
                stream.buffer.write(new)
                stream.flush()


def _guest_init(command: list[str]) -> str:
    """What the guest executes: the command, its output and status left in files of the host."""
    return f"""#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/tmp TMPDIR=/tmp LC_ALL=C.UTF-8
mkdir {_GUEST_HOT} &&
cp -L {shlex.join(_hot_files())} {_GUEST_HOT} &&
export PATH={_GUEST_HOT}:$PATH LD_LIBRARY_PATH={_GUEST_HOT} TC_LIB_DIR={_GUEST_HOT}
(
    cd {shlex.quote(str(Path.cwd()))} &&
    exec {shlex.join(command)}
) </dev/null >{_GUEST_RUN}/stdout 2>{_GUEST_RUN}/stderr
echo $? >{_GUEST_RUN}/status.part
mv {_GUEST_RUN}/status.part {_GUEST_RUN}/status
"""


def _hot_files() -> list[str]:
    """The programs that tests run all the time, with their libraries and what tc loads and reads.

    An emulated clock runs fast while the guest waits for the host's files: these it reads once.
    """
    found = [shutil.which(name, path=environment()["PATH"]) for name in _HOT_PROGRAMS]
    programs = [path for path in found if path]
    libraries = re.findall(r"=> (/\S+) \(0x", output_of(["ldd", *programs]))
    for_tc = [*Path("/usr/lib").glob("tc/*"), *Path("/usr/lib").glob("*/tc/*"), *tc_plugins()]
    return sorted({*programs, *libraries, *map(str, for_tc)})


def _virtme() -> Path:
    """virtme-ng, in an environment of its own."""
    home = cache("venv", VIRTME.replace("==", "-"))
    done = home / ".done"
    with locked(home):
        if not done.exists():
            log = home / "install.log"
            if run_logged(["/usr/bin/python3", "-m", "venv", "--clear", home], log) or run_logged(
                [home / "bin/pip", "install", "-q", "--disable-pip-version-check", VIRTME],
                log := home / "install.log",
            ):
                raise LabError(
                    f"cannot install {VIRTME} from PyPI: check the network", log=tail_of(log)
                )
            write_marker(done, "")
    return home / "bin/vng"


def _kvm_works(kernel: StockKernel) -> bool:
    """Whether a guest really runs under KVM; some hosts offer a device on which it only hangs.

    A kernel without a root file system panics within a second or two.
    """
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    verdict = cache("stock") / f"kvm-{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}"
    with locked(cache("stock") / "kvm"):
        if not verdict.exists():
            command = [
                "qemu-system-x86_64", "-accel", "kvm", "-cpu", "host", "-m", "512M",
                "-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot",
                "-kernel", str(kernel.image), "-append", "console=ttyS0 panic=-1",
            ]  # fmt: skip
            try:
                done = subprocess.run(
                    command, env=environment(), timeout=10, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                )  # fmt: skip
                works = b"Kernel panic" in done.stdout
            except subprocess.TimeoutExpired:
                works = False
            for old in cache("stock").glob("kvm-*"):
                old.unlink()
            write_marker(verdict, "yes" if works else "no")
        return verdict.read_text() == "yes"


def _require_tools() -> None:
    if missing := missing_packages(TOOLS):
        raise LabError(f"stock kernels need {' '.join(missing)}: run scripts/setup check")
    if os.uname().machine != "x86_64":
        raise LabError("stock kernels are tried on x86-64 machines only")


# Command line -----------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Errors are one line, as everywhere."""

    def error(self, message: str) -> NoReturn:
        raise LabError(f"{message} (see {self.prog} --help)", status=2)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="stock",
        description="Our modules on distributions' unmodified kernels, in QEMU.",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    text = "The kernels, and which of them are in the cache."
    verbs.add_parser("list", help=text, description=text).set_defaults(does=_list_verb)
    text = "Builds the modules for a kernel; prints the directory that has them."
    building = verbs.add_parser("build", help=text, description=text)
    building.set_defaults(does=_build_verb)
    text = "Runs a command as root on a kernel; its output and its exit status are yours."
    running = verbs.add_parser(
        "run", help=text, description=f"{text} It sees this machine's files, but changes none."
    )
    running.set_defaults(does=_run_verb)
    for verb in (building, running):
        verb.add_argument("--kernel", metavar="VERSION", default="6.12",
                          help=f"one of {', '.join(SUITES)} (default 6.12)")  # fmt: skip
    running.add_argument("--timeout", type=_seconds, default=600, metavar="SECONDS",
                         help="of real time, boot included (default 600)")  # fmt: skip
    running.add_argument("--cpus", type=int, choices=range(1, 9), metavar="N",
                         help="processors, 1 to 8 (default 2 with KVM, else 1)")  # fmt: skip
    running.add_argument("--nics", action="store_true",
                         help="with two network cards, connected with each other")  # fmt: skip
    running.add_argument("command", nargs="+", metavar="COMMAND",
                         help="and its arguments, after --")  # fmt: skip
    return parser


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < float(text) < 1e6:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")


def _list_verb(_: argparse.Namespace) -> int:
    for version, suite in SUITES.items():
        done = _home(version) / ".done"
        have = json.loads(done.read_text())["release"] if done.exists() else "not fetched yet"
        print(f"{version:6}{suite:10}{have}")
    return 0


def _build_verb(args: argparse.Namespace) -> int:
    print(build(ensure(args.kernel)))
    return 0


def _run_verb(args: argparse.Namespace) -> int:
    kernel = ensure(args.kernel)
    return boot(
        kernel, args.command, timeout_s=args.timeout, cpus=args.cpus, nics=args.nics, echo=True
    ).returncode


def main(argv: list[str] | None = None) -> int:
    """The exit status; everything that goes wrong is one line on standard error."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        args = _parser().parse_args(argv)
        return args.does(args)
    except LabError as error:
        print(f"{error.log}\nstock: {error}".lstrip(), file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print(f"stock: {error.strerror}: {error.filename or 'no file'}", file=sys.stderr)
        return 1
