# SPDX-License-Identifier: GPL-2.0
"""The lab kernel: the distribution's kernel source, built as user-mode Linux.

ensure() downloads, unpacks, configures and builds it once, as an ordinary user, into the cache.
Variants use another compiler, another processor, or sanitizers.  build_modules() builds this
project's modules for it.  shim(), agent() and tc_plugins() build the other parts of a run.  All of
them return at once if the result is in the cache.
"""

import functools
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..errors import LabError, show
from ..host import (
    Progress,
    digest_of,
    file_digest,
    first_error,
    forget_old,
    locked,
    missing_packages,
    output_of,
    run_logged,
    sync_sources,
    tail_of,
    temporary,
    write_marker,
)
from ..paths import GUEST, MODULE, REPO, WORLD, cache
from . import tree as trees
from .debian import Apt

DEFAULT_VERSION = "6.12"

# Kernels whose source is in another suite of Debian; used if the host's suite does not have it.
SUITES = {"7.2": "sid"}

TOOLS = {
    "apt-get": "apt", "dpkg-deb": "dpkg", "tar": "tar", "xz": "xz-utils", "make": "make",
    "gcc": "gcc", "ld": "binutils", "flex": "flex", "bison": "bison", "bc": "bc",
    "depmod": "kmod",
}

# Versions with options that older kernels do not have.  A kernel of such a version or a later one
# adds lab-since-VERSION.config to lab.config.
SINCE = ("6.17",)

# Source that user-mode Linux never compiles: three quarters of the tree and of the unpacking
# time.  Kconfig files and makefiles stay, because the configuration and the build read all of them.
_DRIVERS = """accel acpi ata atm bluetooth bus clk clocksource comedi cpufreq crypto cxl dma edac
    firewire firmware fpga gpio gpu greybus hid hv hwmon hwtracing i2c i3c iio infiniband input
    interconnect iommu irqchip isdn leds mailbox md media memory message mfd misc mmc mtd mux
    net/can net/dsa net/ethernet net/hamradio net/ieee802154 net/ipa net/phy net/usb net/wan
    net/wireless net/wwan nfc ntb nvdimm nvme nvmem parport pci pcmcia perf phy pinctrl platform
    pmdomain power powercap rapidio ras regulator remoteproc rtc s390 scsi slimbus soc soundwire
    spi ssb staging target tee thermal thunderbolt ufs usb vdpa vfio vhost video w1 watchdog
    xen""".split()
_FILESYSTEMS = """9p afs bcachefs btrfs ceph cramfs dlm erofs exfat ext2 ext4 f2fs fuse gfs2 hfs
    hfsplus jffs2 jfs nfs nfsd nilfs2 nls ntfs3 ocfs2 orangefs reiserfs smb squashfs ubifs udf ufs
    xfs""".split()
_ARCHITECTURES = """alpha arc arm arm64 csky hexagon ia64 loongarch m68k microblaze mips nios2
    openrisc parisc powerpc riscv s390 sh sparc xtensa""".split()
UNPACK_EXCLUDES = [
    "*/Documentation/*.*",
    "*/samples/*.[ch]",
    "*/sound/*.[ch]",
    "*/tools/perf/*",
    "*/tools/testing/selftests/*",
    *(f"*/drivers/{name}/*.[chS]" for name in _DRIVERS),
    *(f"*/fs/{name}/*.[ch]" for name in _FILESYSTEMS),
    *(f"*/arch/{name}/*.*" for name in _ARCHITECTURES),
]

# Excluded patterns that a version needs: here a file of tracepoints.
_COMPILED = {"7.2": ["*/drivers/pci/*.[chS]"]}

# The excludes for machines that QEMU emulates.
_HARDWARE = "gpu infiniband media net/ethernet net/wireless scsi staging usb".split()
MACHINE_EXCLUDES = [
    *UNPACK_EXCLUDES[:5],
    *(f"*/drivers/{name}/*.[ch]" for name in _HARDWARE),
    *(f"*/fs/{name}/*.[ch]" for name in _FILESYSTEMS if name not in ("9p", "nls")),
    *(f"*/arch/{name}/*.*" for name in _ARCHITECTURES if name != "s390"),
]

# Changes of the source, as (file, text, replacement).  They change the machine that user-mode Linux
# emulates, not the network.
EDITS = [
    # The clock of user-mode Linux has a resolution of 256 ns, and its shortest timer is 500 ns.
    # But packets at 10 Gb/s are 1.2 us apart, and a real machine has a resolution of 1 ns.
    (
        "arch/um/include/linux/time-internal.h",
        "#define TIMER_MULTIPLIER 256",
        "#define TIMER_MULTIPLIER 1",
    ),
    (
        "arch/um/include/linux/time-internal.h",
        "#define TIMER_MIN_DELTA  500",
        "#define TIMER_MIN_DELTA  1",
    ),
    # Each interrupt and each exit of a process mixes the time into the random pool.  That time
    # depends on the setup of the guest, which differs between users and machines.  With this
    # change the pool is seeded only once, by the run's seed, and gives the same numbers everywhere.
    (
        "drivers/char/random.c",
        "static void _mix_pool_bytes(const void *buf, size_t len)\n{\n",
        "static void _mix_pool_bytes(const void *buf, size_t len)\n{\n"
        "\tif (crng_ready())\n\t\treturn;\n",
    ),
]


# User-mode Linux has a fixed HZ of 100; this makes it an option.
_HZ = (("arch/um/Kconfig", "config HZ\n\tint\n", 'config HZ\n\tint "ticks a second"\n'),)


@dataclass(frozen=True)
class Variant:
    """How a variant of the kernel is built.  lab-NAME.config is added to lab.config."""

    make: tuple[str, ...] = ()  # options of each make
    tools: tuple[tuple[str, str], ...] = ()  # programs in addition to TOOLS, and their packages
    image: str = "linux"  # the bootable file in the build directory
    cflags: str = ""  # for modules, in addition to -Werror
    objects: int = 750  # number of objects in a full build; only for the progress line
    edits: tuple[tuple[str, str, str], ...] = ()  # of the source, in addition to EDITS

    @property
    def arch(self) -> str:
        """The kernel's name of the architecture."""
        found = (option[5:] for option in self.make if option.startswith("ARCH="))
        return next(found, "um")


CLANG = "clang-19"

VARIANTS = {
    "": Variant(objects=743),
    "debug": Variant(objects=761),
    # asm-generic/io.h causes this warning in user-mode Linux
    "clang": Variant(
        (f"CC={CLANG}",), ((CLANG, CLANG),), cflags="-Wno-null-pointer-arithmetic",
    ),
    "i386": Variant(
        ("ARCH=i386", "CROSS_COMPILE=i686-linux-gnu-"),
        (("i686-linux-gnu-gcc", "gcc-i686-linux-gnu"),
         ("qemu-system-i386", "qemu-system-x86")),
        "arch/x86/boot/bzImage", objects=1100,
    ),
    "s390x": Variant(
        ("ARCH=s390", "CROSS_COMPILE=s390x-linux-gnu-"),
        (("s390x-linux-gnu-gcc", "gcc-s390x-linux-gnu"),
         ("qemu-system-s390x", "qemu-system-misc (Debian 12) or qemu-system-s390x")),
        "arch/s390/boot/bzImage", objects=1100,
    ),
    "hz250": Variant(objects=743, edits=_HZ),
    "hz1000": Variant(objects=743, edits=_HZ),
    "kcsan": Variant(
        ("ARCH=x86_64",), (("qemu-system-x86_64", "qemu-system-x86"),),
        "arch/x86/boot/bzImage", objects=1250,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class LabKernel:
    """A built lab kernel."""

    version: str  # as requested: 6.12
    variant: str  # one of VARIANTS
    release: str  # of uname -r: 6.12.117-tcpcc
    vmlinux: Path  # the user-mode Linux binary, or the image for QEMU
    build_dir: Path
    source_dir: Path

    @property
    def key(self) -> str:
        """The name of this build: identifies source version, configuration and compiler."""
        return self.build_dir.name


def ensure(
    version: str = DEFAULT_VERSION, variant: str = "", progress: bool = True,
    tree: Path | None = None,
) -> LabKernel:  # fmt: skip
    """Returns the lab kernel of a version; downloads and builds it if it is not in the cache.

    tree: a kernel tree of the user, in place of version.  A copy of it is built, again for each
    change of its content.
    """
    if tree:
        version = trees.version_of(tree)
    if not re.fullmatch(r"\d+\.\d+", version):
        raise LabError(f"kernel version {version!r} does not have the form 6.12", status=2)
    if variant not in VARIANTS:
        known = ", ".join(filter(None, VARIANTS))
        raise LabError(f"no kernel variant {variant!r}; there are: {known}", status=2)
    how = VARIANTS[variant]
    _require_tools(dict(how.tools))
    machine = how.arch != "um"
    newer = [f"since-{since}" for since in SINCE if is_since(version, since)]
    names = ["", *newer, version, *(["machine"] if machine else []), *filter(None, [variant])]
    config = "".join(path.read_text() for path in map(_fragment, names) if path.exists())
    what = f"{tree.name} ({version})" if tree else version
    with Progress(f"lab kernel {what}{variant and ' ' + variant}", progress) as shown:
        edits = [] if machine else [*EDITS, *how.edits]
        excludes = MACHINE_EXCLUDES if machine else UNPACK_EXCLUDES
        source = (_copy(tree, shown, edits) if tree else
                  _source(version, shown, excludes, edits))  # fmt: skip
        compiler = output_of([CLANG, "--version"]) if variant == "clang" else _compiler()
        identity = "\n".join((source.name, config, compiler, *how.make))
        name = "-".join(filter(None, ("tree" * bool(tree), version, variant, digest_of(identity))))
        build = cache("kernel", name)
        done = build / ".done"
        with locked(build, shown) as lock:
            if not done.exists():
                _configure(source, build, config, how)
                _compile(source, build, how, shown, lock)
                release = (build / "include/config/kernel.release").read_text().strip()
                write_marker(done, json.dumps({"release": release}))
        release = json.loads(done.read_text())["release"]
    return LabKernel(version, variant, release, build / how.image, build, source)


def is_since(version: str, since: str) -> bool:
    """Whether a version of the form 6.12 is since or later."""
    return [*map(int, version.split("."))] >= [*map(int, since.split("."))]


def available(version: str) -> bool:
    """Whether the source of this version is in the cache or can be downloaded."""
    stem = f"linux-source-{version}"
    return (
        version in SUITES
        or any(cache("src").glob(f"{stem}_*[0-9a-f]"))
        or bool(output_of(["apt-cache", "show", "--no-all-versions", stem]))
    )


def build_modules(kernel: LabKernel, strict: bool = True) -> Path:
    """Builds this project's modules and KUnit tests for kernel, if they are not in the cache.

    Returns a directory whose lib/modules/<release> is ready for modprobe.  strict: each compiler
    and modpost warning (W=1) is an error.
    """
    files = module_sources()
    if not any(name.endswith(".c") for name in files):
        raise LabError(f"no module sources in {REPO}")
    # Each checkout has its own directory, so that checkouts do not wait for each other.
    home = cache("mod", f"{kernel.key}-{digest_of(str(REPO))}")
    with locked(home) as lock:
        # not before the lock: somebody may edit the sources while this process waits
        content = (f"{name}\0{file_digest(path)}" for name, path in files.items())
        result = home / digest_of(kernel.key, str(strict), *content)
        if not (result / ".done").exists():
            stage = home / "stage"
            sync_sources(files, stage)
            _make_modules(kernel, stage, strict, lock)
            _install_modules(kernel, stage, result)
            write_marker(result / ".done", "")
        os.utime(result)
        forget_old(home, keep=8)
    return result


def sparse(kernel: LabKernel) -> list[str]:
    """The warnings of sparse for the modules."""
    stage = cache("lint", kernel.key)
    with locked(stage) as lock:
        sync_sources(module_sources(), stage)
        log = stage / "sparse.log"
        command = _kbuild(kernel, stage, "C=2", "CF=-D__CHECK_ENDIAN__")
        failed = run_logged(command, log, keep=(lock,))
        if failed:
            raise LabError(f"the modules do not build with sparse: {first_error(log)}")
        found = re.findall(r"^.*: (?:warning|error): .*$", log.read_text(), re.M)
    return [line.replace(f"{stage}/", "") for line in found if str(stage) in line]


def shim() -> Path:
    """The LD_PRELOAD library: the lab kernel's random numbers of the host come from TCPCC_SEED."""
    return _program(GUEST / "norandom.c", "norandom.so", ["-shared", "-fPIC"])


def agent() -> Path:
    """The program that generates and samples traffic in the guest."""
    headers = [REPO / "include/tcpcc_pkt_sched.h", MODULE / "link.h"]
    return _program(GUEST / "agent.c", "agent", [f"-I{h.parent}" for h in headers], headers)


def play() -> Path:
    """The program that prints the lines of a run's schedule, each at its time."""
    return _program(GUEST / "play.c", "play", [])


def talk() -> Path:
    """The program for calls, and for clients that send requests."""
    return _program(GUEST / "talk.c", "talk", [], [GUEST / "ends.h"])


def video() -> Path:
    """The program for the viewers of a video."""
    return _program(GUEST / "video.c", "video", [], [GUEST / "ends.h"])


def program() -> Path:
    """The program that starts the user's program."""
    return _program(GUEST / "program.c", "program", [])


def patient() -> Path:
    """The LD_PRELOAD library that allows the user's programs to poll."""
    return _program(GUEST / "patient.c", "patient.so", ["-shared", "-fPIC"])


def capture() -> Path:
    """The program that captures packets."""
    return _program(GUEST / "capture.c", "capture", [])


def tc_plugins() -> list[Path]:
    """This project's plug-ins for tc, which needs one to set options of a qdisc."""
    headers = [*(REPO / "tc").glob("*.h"), REPO / "include/tcpcc_pkt_sched.h", MODULE / "link.h"]
    flags = ["-shared", "-fPIC", *sorted({f"-I{h.parent}" for h in headers})]
    sources = [*sorted((REPO / "tc").glob("q_*.c")), GUEST / "q_link.c"]
    return [_program(source, f"{source.stem}.so", flags, headers) for source in sources]


@functools.cache
def _compiler() -> str:
    return output_of(["gcc", "--version"]).partition("\n")[0]


def _require_tools(more: dict[str, str]) -> None:
    if missing := missing_packages(TOOLS):
        raise LabError(f"building the lab kernel needs {' '.join(missing)}: run scripts/setup demo")
    if missing := missing_packages(more):
        raise LabError(f"this kernel needs {' '.join(missing)}: run scripts/setup kernels")


# Source -----------------------------------------------------------------------------------------


def _source(
    version: str, shown: Progress, excludes: list[str] = UNPACK_EXCLUDES,
    edits: list[tuple[str, str, str]] = EDITS,
) -> Path:  # fmt: skip
    """The unpacked kernel source: the newest one in the cache, else the newest one of apt."""
    sources = cache("src")
    stem = f"linux-source-{version}"
    excludes = [pattern for pattern in excludes if pattern not in _COMPILED.get(version, ())]
    pattern = f"{stem}_*_{digest_of(*excludes, *(text for edit in edits for text in edit))}"
    with locked(sources / stem, shown) as lock:
        if ready := sorted(sources.glob(pattern), key=lambda p: p.stat().st_mtime):
            return ready[-1]
        packages = sorted(cache("dl").glob(f"{stem}_*.deb"), key=lambda p: p.stat().st_mtime)
        package = packages[-1] if packages else _download(stem, shown, lock)
        debian_version = package.name.split("_")[1]
        target = sources / pattern.replace("*", debian_version, 1)
        _unpack(package, stem, target, excludes, edits, shown, lock)
        return target


def _download(name: str, shown: Progress, lock: int) -> Path:
    """Downloads a .deb with apt, which checks its signature, and does not need root."""
    home = cache("dl")
    with temporary(home) as part:
        record = output_of(["apt-cache", "show", "--no-all-versions", name])
        if not record and (suite := SUITES.get(name.rpartition("-")[2])):
            apt = Apt(suite, cache("apt", suite), shown, lock)
            apt.update()
            (package, *_) = apt.download([name], part, re.compile(f"{re.escape(name)}_"))
        else:
            package = _of_the_host(name, record, part, shown, lock)
        return package.rename(home / package.name)


def _of_the_host(name: str, record: str, part: Path, shown: Progress, lock: int) -> Path:
    """Downloads a package of the host's suite to part; record: what apt-cache shows of it."""
    fields = dict(re.findall(r"^(Version|Size): (.*)$", record, re.M))
    if not {"Version", "Size"} <= fields.keys():
        raise LabError(
            f"apt has no package {name}: run 'sudo apt-get update', or choose another kernel"
        )
    size = int(fields["Size"])
    command = [
        "apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", f"{name}={fields['Version']}",
    ]
    log = part / "log"

    def poll() -> None:
        fetched = sum(p.stat().st_size for p in part.glob("*.deb*"))
        shown.show("downloading", fetched / size)

    status = run_logged(command, log, cwd=part, poll=poll, keep=(lock,))
    packages = list(part.glob("*.deb"))
    if status or not packages:
        raise LabError(
            f"apt-get cannot download {name}: check the network, run 'sudo apt-get update'",
            log=tail_of(log),
        )
    return packages[0]


def _unpack(
    package: Path, stem: str, target: Path, excludes: list[str],
    edits: list[tuple[str, str, str]], shown: Progress, lock: int,
) -> None:  # fmt: skip
    """Unpacks the source tar in the package, without the files that are never compiled."""
    shown.show("unpacking the source")
    without = " ".join(f"--exclude='{pattern}'" for pattern in excludes)
    with temporary(target.parent) as part:
        log = part / "log"
        script = f"""set -o pipefail
            dpkg-deb --fsys-tarfile "$0" | tar -xO ./usr/src/{stem}.tar.xz | xz -dc -T0 |
            tar -x -C "$1" --strip-components=1 --no-same-owner --wildcards {without}"""
        tree = part / "tree"
        tree.mkdir()
        command = ["bash", "-c", script, str(package), str(tree)]
        if run_logged(command, log, poll=lambda: shown.show("unpacking the source"), keep=(lock,)):
            package.unlink()  # it may be damaged: the next attempt downloads it again
            raise LabError(f"cannot unpack {package.name} (is the disk full?)", log=tail_of(log))
        _edit(tree, edits, stem)
        tree.rename(target)


def _copy(tree: Path, shown: Progress, edits: list[tuple[str, str, str]]) -> Path:
    """Copies the user's tree to the cache, and applies the lab's edits; returns the copy."""
    shown.show("reading the tree")
    content = trees.content_of(tree)
    patterns = digest_of(*MACHINE_EXCLUDES, *(text for edit in edits for text in edit))
    target = cache("src") / f"tree_{content}_{patterns}"
    with locked(target, shown):
        if not target.exists():
            shown.show("copying the source")
            with temporary(target.parent) as part:
                copied = part / "tree"
                copied.mkdir()
                trees.copy(tree, copied, MACHINE_EXCLUDES)
                _edit(copied, edits, str(tree))
                copied.rename(target)
    return target


def _edit(tree: Path, edits: list[tuple[str, str, str]], what: str) -> None:
    for name, old, new in edits:
        file = tree / name
        text = file.read_text()
        if text.count(old) != 1:
            raise LabError(f"{what}: {name}: the lab's change does not apply: no {old!r} in it")
        file.write_text(text.replace(old, new))


# Configuration and build ------------------------------------------------------------------------


def _fragment(name: str) -> Path:
    """The configuration file for all lab kernels (name is empty), a version, or a variant."""
    return WORLD / f"lab{name and '-' + name}.config"


def _make(how: Variant, *arguments: str | Path) -> list[str | Path]:
    """The make command for a variant; a later ARCH= replaces an earlier one."""
    return ["make", "ARCH=um", *how.make, *arguments]


def _configure(source: Path, build: Path, config: str, how: Variant) -> None:
    """Writes .config: only the options in config, and options that those need, are enabled.

    If config has two lines for an option, the later one counts.
    """
    fragment = build / "fragment.config"
    if (build / ".config").exists() and fragment.exists() and fragment.read_text() == config:
        return  # the build was interrupted, and continues
    wanted = build / "wanted.config"
    wanted.write_text(config)
    log = build / "config.log"
    make = _make(how, "-C", source, f"O={build}", "allnoconfig")
    if run_logged(make, log, KCONFIG_ALLCONFIG=str(wanted)):
        raise LabError(f"cannot configure the kernel; see {log}", log=tail_of(log))
    have = set((build / ".config").read_text().splitlines())
    option = re.compile(r"(CONFIG_\w+=.+|# CONFIG_\w+ is not set)")
    lost = []
    lines = filter(option.fullmatch, config.splitlines())
    last = {re.search(r"CONFIG_\w+", line)[0]: line for line in lines}
    for name, line in last.items():
        absent = line.startswith("#") and not any(h.startswith(name + "=") for h in have)
        if line not in have and not absent:
            lost.append(line)
    if lost:
        raise LabError(f"{source.name} rejects these options of the lab: {', '.join(lost)}")
    wanted.rename(fragment)


def _compile(source: Path, build: Path, how: Variant, shown: Progress, lock: int) -> None:
    log = build / "build.log"
    jobs = f"-j{os.cpu_count()}"
    targets = [Path(how.image).name, "modules"]
    command = _make(how, "-C", source, f"O={build}", jobs, *targets)
    before = sum(1 for _ in build.rglob("*.o"))
    expected = max(how.objects, before + 1)

    def poll() -> None:
        text = log.read_bytes() if log.exists() else b""
        if re.search(rb"^  (?:AR +vmlinux.a|LINK +linux)", text, re.M):
            shown.show("linking")
        else:
            compiled = before + len(re.findall(rb"^  (?:CC|AS) ", text, re.M))
            shown.show("compiling", min(compiled / expected, 0.99), "objects", expected)

    # Fixed names make /proc/version, and so the guest's random pool, the same everywhere.
    stamp = {
        "KBUILD_BUILD_TIMESTAMP": "2025-01-01", "KBUILD_BUILD_USER": "tcpcc",
        "KBUILD_BUILD_HOST": "lab", "KBUILD_BUILD_VERSION": "1",
    }
    if run_logged(command, log, poll=poll, keep=(lock,), **stamp):
        raise LabError(f"the lab kernel does not build; the whole log is {log}", log=tail_of(log))


# Modules ----------------------------------------------------------------------------------------


def module_sources() -> dict[str, Path]:
    """The files of the module build, by their paths in the source tree."""
    found = [REPO / "Kbuild", *REPO.glob("*.c"), *REPO.glob("*.h")]
    for folder in ("include", "feedback", "nist", "rivals", "sched", "tests/kunit",
                   "tests/starts", str(MODULE.relative_to(REPO))):  # fmt: skip
        found += [p for p in (REPO / folder).rglob("*") if p.suffix in (".c", ".h")]
        found += (REPO / folder).rglob("Kbuild")
    made = ".mod.c"  # generated by a build in the source tree
    return {str(p.relative_to(REPO)): p for p in sorted(found) if not p.name.endswith(made)}


def module_make(kernel: LabKernel, stage: Path, *options: str) -> list[str | Path]:
    """The make command that builds the modules in stage for kernel."""
    where = ["-C", str(kernel.build_dir), f"M={stage}", f"-j{os.cpu_count()}"]
    return _make(VARIANTS[kernel.variant], *where, *options)


def _kbuild(kernel: LabKernel, stage: Path, *options: str) -> list[str | Path]:
    """The make command that builds this project's modules in stage."""
    tests = ["TCPCC_KUNIT=y"] if (stage / "tests/kunit/Kbuild").exists() else []
    return module_make(kernel, stage, *tests, *options)


def _make_modules(kernel: LabKernel, stage: Path, strict: bool, lock: int) -> None:
    for stale in stage.rglob("*.ko"):
        stale.unlink()
    log = stage / "build.log"
    flags = f"-Werror {VARIANTS[kernel.variant].cflags}".strip()
    options = ["W=1", f"KCFLAGS={flags}"] if strict else []
    failed = run_logged(_kbuild(kernel, stage, *options), log, keep=(lock,))
    warned = strict and re.search(r"^WARNING: modpost:.*", log.read_text(), re.M)
    if failed or warned:
        what = warned[0] if warned and not failed else first_error(log)
        raise LabError(f"the modules do not build for {kernel.release}: {what}", log=tail_of(log))


def _install_modules(kernel: LabKernel, stage: Path, result: Path) -> None:
    """Copies the modules into the directories that modprobe expects."""
    shutil.rmtree(result, ignore_errors=True)
    tree = result / "lib/modules" / kernel.release
    (tree / "updates").mkdir(parents=True)
    for module in stage.rglob("*.ko"):
        shutil.copyfile(module, tree / "updates" / module.name)
    for index in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        shutil.copyfile(kernel.build_dir / index, tree / index)
    index_modules(kernel, result)


def index_modules(kernel: LabKernel, result: Path) -> None:
    """Runs depmod for the modules in result; LabError if it prints anything or fails."""
    log = result / "depmod.log"
    depmod = ["depmod", "-b", result, "-F", kernel.build_dir / "System.map", "-e", kernel.release]
    if run_logged(depmod, log) or log.read_text().strip():
        raise LabError(f"depmod reports errors for modules of {kernel.release}", log=tail_of(log))


def _program(source: Path, target: str, flags: list[str], headers: Iterable[Path] = ()) -> Path:
    """Compiles a program or library for the guest, once for each content of source and headers."""
    command = ["gcc", "-O2", "-Wall", "-Wextra", *flags]
    content = [file_digest(path) for path in (source, *headers)]
    home = cache("guest", digest_of(*content, _compiler(), *command))
    result = home / target
    if not result.exists():
        # Threads and processes may compile it at once, each in a directory of its own.
        with temporary(home.parent) as part:
            made, log = part / target, part / "log"
            if run_logged([*command, "-o", made, source], log):
                raise LabError(f"{source.name} does not compile: {first_error(log)}",
                               log=tail_of(log))  # fmt: skip
            made.rename(result)
    return result


def main(names: list[str]) -> int:
    """Builds the lab kernels of these names (6.12, 6.12-debug), and the modules for each."""
    try:
        for name in names or [DEFAULT_VERSION]:
            version, _, variant = name.partition("-")
            if version != DEFAULT_VERSION and not available(version):
                print(f"lab: skipped kernel {version}: no package linux-source-{version}",
                      file=sys.stderr)
                continue
            build_modules(ensure(version, variant))
    except LabError as error:
        return show("lab", error)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
