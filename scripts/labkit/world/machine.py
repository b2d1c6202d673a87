# SPDX-License-Identifier: GPL-2.0
"""Boots stock kernels in QEMU, and runs a command there as root."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from .. import libraries
from ..errors import LabError
from ..host import environment, locked, output_of, run_logged, temporary, write_marker
from ..paths import REPO, cache, cache_root
from .kernel import agent, tc_plugins
from .stock import StockKernel, build, require_tools

# The network card of boot(nics=True).  QEMU's e1000 cuts a large packet into segments, as a real
# card does.  virtio-net leaves that to the receiver, and e1000e makes IP fragments before QEMU 8.
_NIC = "e1000"

# virtme-ng mounts empty file systems over these directories of the host.
_HIDDEN = [Path(p) for p in ("/tmp", "/run", "/var/tmp", "/var/log", "/var/cache")]

_GUEST_RUN = "/run/tcpcc"  # mount point of the run's directory in a guest
_GUEST_HOT = "/run/hot"  # copies of files in the guest's memory
_LOADER = "/lib64/ld-linux-x86-64.so.2"  # the dynamic loader of all programs

_HOT_PROGRAMS = """awk cat dmesg ethtool grep ip iperf3 kill lsmod mktemp modprobe nft nstat
    ping rm rmmod sed sh sleep ss sysctl tc""".split()

# An emulated processor takes 2 ns of the guest's clock for each instruction, and skips idle time.
# So the load and the speed of the host do not influence the guest's clock.  QEMU runs several such
# processors alternately: they can interrupt each other anywhere, but are not faster than one.
# nohz=off: with a regular tick, the clock of an idle guest that waits for a file of the host cannot
# jump to a timer that is minutes ahead.
_EMULATION = ["--qemu-opts=-icount shift=1,sleep=off", "--append=nohz=off"]
INSTRUCTION_NS = 2

# Each emulated processor is a thread of the host, and the clock is the host's.  So the processors
# run at the same time, and race with each other like real ones.
_PARALLEL = ["--qemu-opts=-accel tcg,thread=multi", "--append=tsc=reliable clocksource=tsc"]

# Options against slow operations in both kinds of emulation (TCG).  QEMU translates a program again
# for each address at which it is mapped: so addresses are not random.  It executes rep movsb byte
# by byte: so the processor does not have erms, and the kernel copies words.  When the clock of an
# idle guest jumps, QEMU checks a file of each virtio queue, and virtme-ng's five consoles would
# have 64 queues each: so they have few queues, without files.
_TCG = [
    "--disable-kvm", "--append=norandmaps", "--qemu-opts=-cpu max,-erms",
    "--qemu-opts=-global virtio-serial-pci.max_ports=2 -global virtio-pci.ioeventfd=off",
]  # fmt: skip

# Kernel 6.1 hangs when it starts a second emulated processor.
_ONE_EMULATED = {"6.1"}

# Two network cards that are connected only with each other.
_WIRE = [
    f"--qemu-opts=-netdev hubport,hubid=0,id=end{n} "
    f"-device {_NIC},netdev=end{n},mac=52:54:00:00:00:0{n}"
    for n in (1, 2)
]


@dataclass(frozen=True)
class Result:
    """The result of a command in a guest."""

    returncode: int
    stdout: str
    stderr: str
    log: str  # of the kernel
    wall_s: float  # real time, including boot and power off


def boot(
    kernel: StockKernel, command: list[str], *, modules: Path | None = None,
    timeout_s: float = 600, cpus: int | None = None, memory_mb: int = 1024,
    nics: bool = False, echo: bool = False, emulate: bool = False,
    parallel: bool = False,
) -> Result:  # fmt: skip
    """Runs a command as root in a guest, which can read the host's files, but not change them.

    modules: the result of build(); default: builds them.  timeout_s: real time.  cpus: number of
    processors; default: two with KVM, else one.  nics: adds two network cards that are connected
    only with each other.  echo: copies the command's output while the command runs.  emulate:
    emulation (see _EMULATION) even if KVM works.  parallel: emulation with _PARALLEL.

    The guest's clock is real time only with KVM or parallel.  LabError if the kernel does not
    support so many processors.
    """
    require_tools()
    tree = modules or build(kernel)
    vng = libraries.home() / "bin" / "vng"
    emulating = emulate or parallel or emulated(kernel)
    cpus = cpus or (1 if emulating else 2)
    if cpus > 1 and emulating and kernel.version in _ONE_EMULATED:
        raise LabError(f"kernel {kernel.version} cannot start a second emulated processor")
    start = time.monotonic()
    with temporary(cache("run")) as run:
        (run / "init").write_text(_guest_init(command))
        for stream in ("stdout", "stderr", "console"):
            (run / stream).touch()
        programs = (agent(), *tc_plugins())
        visible = {Path.cwd(), REPO, tree, kernel.root, libraries.home(),
                   *(p.parent for p in programs)}  # fmt: skip
        line = [
            # Ends the guest even if this process is killed.
            "timeout", "--kill-after=5", str(timeout_s + 10),
            vng, "--verbose", "--force-9p", "--disable-monitor", "--user", "root",
            "--cpus", str(cpus), "--memory", f"{memory_mb}M",
            "--run", tree / "vmlinuz",
            *(_TCG if emulating else []),
            # QEMU needs a comma doubled, and virtme-ng passes options to a shell.
            *(f"--qemu-opts=-virtfs local,path={shlex.quote(str(path).replace(',', ',,'))},"
              f"mount_tag=cached{n},security_model=none,readonly=on,multidevs=remap"
              for n, path in enumerate(_cached() if emulating else [])),
            *(_PARALLEL if parallel else _EMULATION if emulating else []),
            *(_WIRE if nics else []),
            f"--rwdir={_GUEST_RUN}={run}",
            *(f"--rodir={path}={path}" for path in sorted(visible)
              if any(path.is_relative_to(hidden) for hidden in _HIDDEN)),
            "--exec", f"sh {_GUEST_RUN}/init",
        ]  # fmt: skip
        home = cache("stock", "home")  # not the user's home, which may have settings of virtme-ng
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
    """The end of a kernel's log, from its first error on if there is one.

    The first line of a trace names the cause, and is far above the panic at the end.
    least: minimum number of lines, most: maximum.
    """
    trouble = re.compile(r"BUG:|Oops|WARNING:|general protection|rcu: INFO|Kernel panic")
    first = next((i for i, line in enumerate(log) if trouble.search(line)), len(log))
    return log[max(0, min(first, len(log) - least)) :][:most]


def emulated(kernel: StockKernel) -> bool:
    """Whether boot() has to emulate processors, because KVM does not work."""
    return not _kvm_works(kernel)


class _Follower:
    """Copies a guest's output while the guest writes it."""

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
    """The guest's init script: runs the command, and writes its output and status to files."""
    options = "ro,trans=virtio,version=9p2000.L,access=any,msize=512000,cache=loose"
    mounts = "\n".join(f"mount -t 9p -o {options} cached{n} {shlex.quote(str(path))} 2>/dev/null"
                       for n, path in enumerate(_cached()))  # fmt: skip
    return f"""#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/tmp TMPDIR=/tmp LC_ALL=C PYTHONUTF8=1 TCPCC_CACHE={shlex.quote(str(cache_root()))}
{mounts}
mkdir {_GUEST_HOT} &&
cp -L {shlex.join(_hot_files())} {_LOADER} {_GUEST_HOT} &&
mount --bind {_GUEST_HOT}/{Path(_LOADER).name} {_LOADER} &&
export PATH={_GUEST_HOT}:$PATH LD_LIBRARY_PATH={_GUEST_HOT} TC_LIB_DIR={_GUEST_HOT}
(
    cd {shlex.quote(str(Path.cwd()))} &&
    exec {shlex.join(command)}
) </dev/null >{_GUEST_RUN}/stdout 2>{_GUEST_RUN}/stderr
echo $? >{_GUEST_RUN}/status.part
mv {_GUEST_RUN}/status.part {_GUEST_RUN}/status
"""


def _cached() -> list[Path]:
    """Directories that an emulated guest mounts a second time, with a cache.

    A Python program opens some hundred files.  Without a cache the guest reads each from the host
    every time, and the guest's clock runs fast meanwhile.
    """
    return [*Path("/usr/lib").glob("python3.*"), REPO, libraries.home()]


def _hot_files() -> list[str]:
    """Programs that tests run often, their libraries, and the files of tc.

    An emulated clock runs fast while the guest waits for files of the host, so it reads these only
    once.  The guest has no locale for the same reason: most programs would read its files.
    """
    found = [shutil.which(name, path=environment()["PATH"]) for name in _HOT_PROGRAMS]
    programs = [path for path in found if path]
    linked = re.findall(r"=> (/\S+) \(0x", output_of(["ldd", *programs]))
    for_tc = [*Path("/usr/lib").glob("tc/*"), *Path("/usr/lib").glob("*/tc/*"), *tc_plugins()]
    return sorted({*programs, *linked, *map(str, for_tc)})


def _kvm_works(kernel: StockKernel) -> bool:
    """Whether a guest runs with KVM: on some hosts /dev/kvm exists, but a guest hangs.

    The test boots a kernel without a root file system, which should panic after a second or two.
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
