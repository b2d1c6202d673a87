# SPDX-License-Identifier: GPL-2.0
"""Debian's unmodified kernels, and our modules for them.

ensure() downloads a kernel, its headers and its compiler into the cache.  The packages are only
unpacked, with a separate APT state, so that the host stays unchanged.  build() builds the modules
for the kernel.  machine.py boots it.
"""

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

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
    run_logged,
    sync_sources,
    tail_of,
    write_marker,
)
from ..paths import REPO, cache
from .debian import Apt, files_in, unpack, wrap_programs
from .kernel import module_sources

# The suite of Debian that has each kernel.
SUITES = {"6.1": "bookworm", "6.12": "bookworm", "7.2": "sid"}

# The version of the files that _fetch() writes to the cache; increase it if they change.  It is
# part of the directory's name, so that old and new working trees can share a cache.
LAYOUT = 4

TOOLS = {
    "apt-get": "apt", "dpkg-deb": "dpkg", "make": "make", "depmod": "kmod", "file": "file",
    "qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "iperf3": "iperf3",
    "ip": "iproute2", "ethtool": "ethtool", "nft": "nftables",
}

# The dependencies of headers that a module build needs.
_BUILD_PACKAGES = re.compile(r"(linux-|gcc-|cpp-|binutils|pahole|lib|zlib1g)")

# The modules of an image that a guest can use: a tenth of them, because its only hardware is
# network cards.
_GUEST_MODULES = re.compile(
    r"kernel/(arch|crypto|lib|net|fs/(9p|fscache|fuse|netfs|overlayfs)"
    r"|drivers/(block|char|input|net/[^/]+\.ko|net/(bonding|wireguard|ethernet/intel/e1000)"
    r"|virtio))\b"
)


@dataclass(frozen=True)
class StockKernel:
    """A distribution's kernel, unpacked."""

    version: str  # as requested: 6.12
    release: str  # of uname -r: 6.12.117+deb12-amd64
    package: str  # version of its package: 6.12.117-1~deb12u1
    root: Path  # where the packages are unpacked

    @property
    def image(self) -> Path:
        """The bzImage."""
        paths = (f"boot/vmlinuz-{self.release}", f"usr/lib/modules/{self.release}/vmlinuz")
        return next(p for p in map(self.root.joinpath, paths) if p.exists())

    @property
    def modules(self) -> Path:
        """The directory of the kernel's own modules, lib/modules/<release>."""
        found = (self.root / top / "modules" / self.release for top in ("lib", "usr/lib"))
        return next(p for p in found if (p / "kernel").exists())

    @property
    def build_dir(self) -> Path:
        """The kernel's headers, for module builds."""
        return self.root / "usr/src" / f"linux-headers-{self.release}"


def home_of(release: str) -> Path:
    """The directory of a kernel in the cache."""
    return cache("stock", f"{release}-{LAYOUT}")


def ensure(release: str, progress: bool = True) -> StockKernel:
    """Returns a kernel; downloads and unpacks it if it is not in the cache."""
    if release not in SUITES:
        raise LabError(f"no stock kernel {release!r}; there are: {', '.join(SUITES)}", status=2)
    require_tools()
    home = home_of(release)
    done = home / ".done"
    with Progress(f"stock kernel {release}", progress) as shown, locked(home, shown) as lock:
        if not done.exists():
            found = _fetch(release, SUITES[release], home, shown, lock)
            write_marker(done, json.dumps(asdict(found), default=str))
        found = json.loads(done.read_text())
    return StockKernel(found["version"], found["release"], found["package"], Path(found["root"]))


def build(
    kernel: StockKernel, extra: Iterable[str] = ("W=1",), strict: bool = True,
    srcdir: Path = REPO,
) -> Path:  # fmt: skip
    """Builds this project's modules for kernel, and adds them to the kernel's modules.

    Returns a directory with the kernel's image and a lib/modules/<release> ready for modprobe.
    extra: options of make.  strict: each warning is an error.  srcdir: the sources.
    """
    files = module_sources() if srcdir == REPO else _sources_in(srcdir)
    options = [*extra, *(["KCFLAGS=-Werror"] if strict else [])]
    unpacked = digest_of(kernel.package, str(kernel.root))
    home = cache("mod", f"stock-{kernel.version}-{unpacked}")
    with locked(home) as lock:
        # not before the lock: somebody may edit the sources while this process waits
        content = (f"{name}\0{file_digest(path)}" for name, path in files.items())
        result = home / digest_of(*options, *content)
        if not (result / ".done").exists():
            stage = home / "stage"
            sync_sources(files, stage)
            _make(kernel, stage, options, strict, lock)
            _install(kernel, stage, result)
            write_marker(result / ".done", "")
        os.utime(result)
        forget_old(home, keep=4)
    return result


# Packages ---------------------------------------------------------------------------------------


def _fetch(version: str, suite: str, home: Path, shown: Progress, lock: int) -> StockKernel:
    """Downloads and unpacks the packages of a kernel and of module builds for it."""
    root = home / "root"
    if root.exists():
        shutil.rmtree(root)
    packages = home / "packages"
    packages.mkdir(exist_ok=True)
    apt = Apt(suite, home / "apt", shown, lock)
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
            unpack(package, root, lock)
    _relocate(root)
    package = next(p.name.split("_")[1] for p in size if p.name.startswith(f"{image[0]}_"))
    kernel = StockKernel(version, release, package, root)
    if not (kernel.build_dir / "Makefile").exists() or not kernel.image.exists():
        raise LabError(f"the packages of Debian's {release} lack the expected files")
    shutil.rmtree(packages)
    return kernel


def _newest(apt: Apt, version: str) -> tuple[str, list[str]]:
    """The newest release of a version with headers and image; and the packages of its image."""
    names = apt.names("linux-")
    pattern = rf"linux-headers-({re.escape(version)}\.\d+(?:-\d+|\+deb\d+)-amd64)"
    releases = [found[1] for name in names if (found := re.fullmatch(pattern, name))]
    for release in sorted(releases, key=_numbers, reverse=True):
        split = [f"linux-binary-{release}", f"linux-modules-{release}"]
        for image in (split, [f"linux-image-{release}"]):
            wanted = [f"linux-headers-{release}", *image]
            # apt may know a name only because other packages mention it.
            if names.issuperset(wanted) and all(map(apt.exists, wanted)):
                return release, image
    raise LabError(f"Debian {apt.suite} has no kernel {version} any more")


def _numbers(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", text)]


def _unpack_image(package: Path, root: Path) -> None:
    """Unpacks the image, its index files, and the modules that a guest can use."""
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
    """Adapts the headers and tools of a module build to their directory."""
    for makefile in root.glob("usr/src/linux-headers-*/Makefile"):
        text = makefile.read_text()
        if text.count("\n") < 9:  # Debian's own, which includes the common one
            makefile.write_text(text.replace("/usr/src/", f"{root}/usr/src/"))
    # Without vmlinux the build makes no type information.  It would need pahole, and as much time
    # as the build; our modules do not use it.
    for vmlinux in root.glob("usr/src/linux-headers-*/vmlinux"):
        vmlinux.unlink()
    wrap_programs(root, "usr/bin", "usr/lib/gcc", "usr/libexec/gcc", "usr/lib/linux-kbuild-*")


# Modules ----------------------------------------------------------------------------------------


def _sources_in(folder: Path) -> dict[str, Path]:
    return {
        str(path.relative_to(folder)): path
        for path in sorted(files_in(folder)) if path.suffix in (".c", ".h") or path.name == "Kbuild"
    }  # fmt: skip


def _make(
    kernel: StockKernel, stage: Path, options: list[str], strict: bool, lock: int
) -> None:  # fmt: skip
    for stale in stage.rglob("*.ko"):
        stale.unlink()
    log = stage / "build.log"
    jobs = f"-j{os.cpu_count()}"
    command = ["make", "-C", kernel.build_dir, f"M={stage}", jobs, *options, "modules"]
    failed = run_logged(command, log, keep=(lock,),
                        PATH=f"{kernel.root}/usr/bin:{environment()['PATH']}")  # fmt: skip
    warned = strict and re.search(r"^.*\bwarning\b.*$", log.read_text(), re.M | re.I)
    if failed or warned:
        what = warned[0].strip() if warned and not failed else first_error(log)
        raise LabError(f"the modules do not build for {kernel.release}: {what}", log=tail_of(log))


def _install(kernel: StockKernel, stage: Path, result: Path) -> None:
    """Lays out the kernel's image, its modules and ours, as hard links, with modprobe's indices."""
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
        raise LabError(f"depmod failed for the modules of {kernel.release}", log=tail_of(log))


def require_tools() -> None:
    if missing := missing_packages(TOOLS):
        raise LabError(f"stock kernels need {' '.join(missing)}: run scripts/setup check")
    if os.uname().machine != "x86_64":
        raise LabError("stock kernels run only on x86-64 machines")
