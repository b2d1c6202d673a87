# SPDX-License-Identifier: GPL-2.0
"""Kernels that differ from the lab's: in names, missing parts, compiler and processor."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import REPO, assert_ktap, assert_kunit, assert_kunit_log, wanted_kernels
from labkit.host import environment
from labkit.world import alone, kernel, races, stock
from labkit.world.machine import boot
from test_modules import LIVES, SUITES, live

Edit = Callable[[str], str]


def altered(lab_kernel: kernel.LabKernel, home: Path, edits: dict[str, Edit]) -> Path:
    """A kernel tree like the lab kernel's, with some of its files altered, for module builds.

    All other files are links.  Names that begin with build/ are in the build directory.
    """
    source, build = home / "source", home / "build"
    for original, copy in ((lab_kernel.source_dir, source), (lab_kernel.build_dir, build)):
        copy.mkdir(parents=True)
        for entry in original.iterdir():
            (copy / entry.name).symlink_to(entry)
    (build / "Makefile").unlink()
    (build / "Makefile").write_text(f"include {source}/Makefile\n")
    for name, edit in edits.items():
        target = home / (name if name.startswith("build/") else f"source/{name}")
        for folder in reversed(target.relative_to(home).parents[:-2]):
            link = home / folder
            if link.is_symlink():
                original = link.resolve()
                link.unlink()
                link.mkdir()
                for entry in original.iterdir():
                    (link / entry.name).symlink_to(entry)
        text = target.read_text()
        target.unlink()
        target.write_text(edit(text))
        assert target.read_text() != text
    return build


@pytest.mark.parametrize(
    ("version", "later"), [("6.9", False), ("6.12", False), ("6.17", True), ("7.2", True)]
)
def test_a_kernel_has_the_options_of_its_version(version: str, later: bool) -> None:
    """Not those of a later one, which its Kconfig refuses; and 6.9 is before 6.17."""
    assert kernel.is_since(version, "6.17") == later


def tso_segs(text: str) -> str:
    """BBRv3's branch has a hook for the number of TSO segments, not for their minimum."""
    return text.replace(
        "u32 (*min_tso_segs)(struct sock *sk);",
        "u32 (*tso_segs)(struct sock *sk, unsigned int mss_now);",
    )


def tx_start(text: str) -> str:
    """7.1's hook for the first transmission after an idle time."""
    member = "void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);"
    return text.replace(member, f"{member}\n\tvoid (*cwnd_event_tx_start)(struct sock *sk);")


def two_arguments(text: str) -> str:
    """.cong_control as before 6.10."""
    return text.replace(
        "(*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)",
        "(*cong_control)(struct sock *sk, const struct rate_sample *rs)",
    )


# A sender's use of the hooks of include/tcpcc_compat.h, in each of their forms.
USER = """
#include <linux/module.h>
#include "tcpcc_compat.h"

static void hooks_start(struct sock *sk)
{
	tcp_sk(sk)->snd_cwnd_cnt = 0;
}

static void hooks_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_LOSS)
		tcp_sk(sk)->snd_cwnd_cnt = 1;
}

tcpcc_cwnd_events(hooks_both, hooks_start, hooks_event);
tcpcc_cwnd_events(hooks_one, hooks_start, NULL);

tcpcc_min_tso_segs(hooks_segs)
{
	return 1;
}

tcpcc_cong_control(hooks_control)
{
	tcp_sk(sk)->snd_cwnd_cnt = rs->acked_sacked;
}

const struct tcp_congestion_ops hooks_ops = {
	.cong_control = hooks_control,
	TCPCC_MIN_TSO_SEGS(hooks_segs),
	TCPCC_CWND_EVENTS(hooks_both, hooks_start, hooks_event),
};

const struct tcp_congestion_ops hooks_one_ops = {
	TCPCC_CWND_EVENTS(hooks_one, hooks_start, NULL),
};
MODULE_LICENSE("GPL");
"""


wide = pytest.mark.skipif(not wanted_kernels(), reason="make check-kernels runs it")


@pytest.mark.parametrize(
    "edits",
    [
        [tso_segs, tx_start, two_arguments],
        *(pytest.param(one, marks=wide) for one in ([], [tso_segs], [tx_start], [two_arguments])),
    ],
    ids=lambda edits: "-".join(edit.__name__ for edit in edits) or "as-is",
)
def test_hooks_are_probed(
    lab_kernel: kernel.LabKernel, tmp_path: Path, edits: list[Edit]
) -> None:
    """Each hook is used with the name and the arguments in the kernel's header.

    The version does not show the difference: it is 6.12's in all cases.
    """

    def edit(text: str) -> str:
        for change in edits:
            before, text = text, change(text)
            assert text != before
        return text

    home = altered(lab_kernel, tmp_path / "kernel", {"include/net/tcp.h": edit} if edits else {})
    stage = tmp_path / "stage"
    shutil.copytree(REPO / "include", stage / "include")
    kbuild = (REPO / "Kbuild").read_text()
    (stage / "Kbuild").write_text(kbuild + "\nobj-m := hooks.o tcp_acp_host.o\n")
    (stage / "hooks.c").write_text(USER)
    shutil.copyfile(REPO / "tcp_acp_host.c", stage / "tcp_acp_host.c")
    command = ["make", "-C", home, "ARCH=um", f"M={stage}", "KCFLAGS=-Werror", "W=1",
               "hooks.o", "tcp_acp_host.o"]  # fmt: skip
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def no_netfilter(
    lab_kernel: kernel.LabKernel, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A kernel without CONFIG_NETFILTER: neither its headers nor its symbols have it."""
    lacks = {
        "build/include/generated/autoconf.h": r"^#define CONFIG_NETFILTER\w* 1\n",
        "build/include/config/auto.conf": r"^CONFIG_NETFILTER\w*=y\n",
        "build/.config": r"^CONFIG_NETFILTER\w*=y\n",
        "build/Module.symvers": r"^0x\w+\tnf_.*\n",
    }
    edits: dict[str, Edit] = {
        name: lambda text, lack=lack: re.sub(lack, "", text, flags=re.M)
        for name, lack in lacks.items()
    }
    return altered(lab_kernel, tmp_path_factory.mktemp("kernel"), edits)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """The files of this project that DKMS gets, with one sender that does not compile."""
    home = tmp_path / "tcpcc-0.1"
    line = subprocess.run(
        ["make", "-s", "--eval=show:;@echo $(SOURCES)", "show"],
        cwd=REPO, env=environment(), capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    home.mkdir()
    subprocess.run(["cp", "-r", "--parents", *line.split(), home], cwd=REPO, check=True)
    broken = home / "tcp_estcp.c"
    broken.write_text(broken.read_text() + "\nint gone_in_this_kernel(void) { return gone; }\n")
    return home


# Without NETFILTER there is no tcp_feedback, and without tcp_feedback no acp, rcp and xcp.
LEFT_OUT = {"tcp_estcp", "tcp_feedback", "tcp_acp_host", "tcp_rcp", "tcp_xcp"}


def listed(sources: Path) -> set[str]:
    """The modules that Kbuild lists."""
    lines = re.findall(r"^obj-m [:+]= *([^$\n]*)$", (sources / "Kbuild").read_text(), re.M)
    return {Path(name).stem for line in lines for name in line.split()}


@wide
def test_what_does_not_build_is_left_out(no_netfilter: Path, sources: Path) -> None:
    """dkms.conf names the modules that build, and gives the reason for each other one."""
    script = """
        kernelver=$1 kernel_source_dir=$2
        . "$3/dkms.conf"
        echo "${BUILT_MODULE_NAME[@]}"
        eval "${MAKE[0]} -C $3"
        """
    command = ["bash", "-c", script, "bash", "6.12-none", no_netfilter, sources]
    for again in (False, True):  # the second time from its stored results
        done = subprocess.run(
            command, env=environment(ARCH="um"), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert set(done.stdout.split("\n")[0].split()) == listed(sources) - LEFT_OUT
        built = {path.stem for path in sources.rglob("*.ko")}
        assert built == listed(sources) - LEFT_OUT
        says = r"^tcpcc: (?:\S*/)?(\w+)\.o does not build for \S* and is left out: (.*)$"
        said = dict(re.findall(says, done.stderr, re.M))
        if not again:
            assert said.keys() == LEFT_OUT
            assert "gone" in said["tcp_estcp"]
            assert "nf_checksum" in said["tcp_feedback"]
            assert "tcpcc_feedback_" in said["tcp_acp_host"]


@wide
@pytest.mark.skipif(os.geteuid() != 0, reason="DKMS wants root")
def test_dkms_leaves_out(no_netfilter: Path, sources: Path, tmp_path: Path) -> None:
    """DKMS, with its own trees, builds the other modules and does not fail."""
    (tmp_path / "dkms").mkdir()
    where = ["--dkmstree", tmp_path / "dkms", "--sourcetree", tmp_path,
             "--kernelsourcedir", no_netfilter, "-k", "6.12-none", "-a", "x86_64"]  # fmt: skip
    for verb in ("add", "build"):
        done = subprocess.run(
            ["dkms", verb, "tcpcc/0.1", *where],
            env=environment(ARCH="um"), capture_output=True, text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    built = {path.stem for path in tmp_path.glob("dkms/tcpcc/0.1/6.12-none/x86_64/module/*.ko")}
    assert built == listed(sources) - LEFT_OUT


@wide
@pytest.mark.parametrize("suite", SUITES)
def test_kunit_by_clang(lab, suite):
    """Clang builds the kernel and the modules; a warning in a module ends the build."""
    assert_kunit(lab, suite, variant="clang")


@wide
@pytest.mark.parametrize("name", LIVES)
def test_life_by_clang(lab, name):
    live(lab, name, variant="clang")


elsewhere = pytest.mark.parametrize("processor", ["i386", "s390x"])


def _log_of(processor: str, suite: str = "") -> str:
    """The log of a kernel for another processor that ran guest/alone.c."""
    return alone.boot(kernel.ensure(variant=processor, progress=False), suite)


@wide
@elsewhere
@pytest.mark.parametrize("suite", [name for name in SUITES if name not in alone.TIMED])
def test_kunit_elsewhere(processor: str, suite: str) -> None:
    """The laws hold with 32 bits, and with the other byte order."""
    assert_kunit_log(_log_of(processor, suite), suite)


@wide
@elsewhere
def test_life_elsewhere(processor: str) -> None:
    """Modules load and unload, each congestion control carries data, the kernel has no warning."""
    log = _log_of(processor)
    assert not re.search("WARNING:|BUG:|Oops|alignment|Unaligned", log), log
    *points, plan = [line.partition("] ")[2] for line in log.splitlines()
                     if re.search(r"\] ((not )?ok \d+ - (insert|transfer|remove|read) |1\.\.[1-9])",
                                  line)]  # fmt: skip
    assert_ktap("\n".join(["KTAP version 1", plan, *points]))
    for name in ("ccpd", "ccpd_path", "acp", "estcp", "mccp", "nist_htcp", "rcp", "xcp"):
        assert re.search(rf"\] ok \d+ - transfer {name}$", log, re.M), name


# For each sender, the tests of its life that send data while something is changed.
RACES = {
    "ccpd": "registers by_socket changes_under_traffic",
    "acp": "registers carries changes_under_traffic",
    "estcp": "registers changes_under_traffic",
    "mccp": "registers by_socket changes_under_traffic",
    "nist": "registers coexist changes_under_traffic",
    "rcp": "registers carries changes_under_traffic",
    "xcp": "registers carries changes_under_traffic",
}


def test_complaints_are_seen() -> None:
    """Those of the kernel's checks.  KCSAN's reports are not among them: they are judged by module,
    in races.reports()."""
    log = """\
[    0.1] Lock dependency validator: Copyright
[   10.1] BUG: KCSAN: data-race in fold_diff / refresh_cpu_vm_stats
[   11.2] WARNING: possible circular locking dependency detected
[   12.3] WARNING: suspicious RCU usage
[   13.4] BUG: sleeping function called from invalid context
"""
    assert len(races.complaints(log)) == 3


@wide
@pytest.mark.parametrize("name", RACES)
@pytest.mark.xdist_group("kcsan")
def test_no_data_races(name: str) -> None:
    """On two processors KCSAN finds no race in our modules, and lockdep no wrong lock."""
    machine = races.ensure(progress=False)
    modules = stock.build(machine, strict=False)
    script = REPO / f"tests/selftests/{name}.sh"
    done = boot(machine, races.watched([str(script), *RACES[name].split()]),
                      modules=modules, cpus=2, timeout_s=1800)  # fmt: skip
    assert re.search(r"kcsan: selftest: (\d+)/\1 tests passed", done.log), done.log[-3000:]
    assert not (found := races.reports(done.log, races.own_modules(modules))), "\n".join(found)
    assert "Lock dependency validator" in done.log, done.log[-3000:]
    assert not (said := races.complaints(done.log)), "\n".join(said)
    assert_ktap(done.stdout)
