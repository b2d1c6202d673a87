# SPDX-License-Identifier: GPL-2.0
"""make check-grid: the same report from one process, from the workflow on local cores, and from the
workflow on a Slurm of one node, where the workflow is killed half way.

Snakemake is in its own environment, which make check-grid makes; Slurm and munge are Debian's.  The
daemons run as root, with their own files and ports, and end with the test.
"""

import base64
import gzip
import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import REPO
from labkit.paths import cache_root

SNAKEMAKE = os.environ.get("TCPCC_SNAKEMAKE", "")
WORKFLOW = REPO / "scripts/workflow"

pytestmark = pytest.mark.skipif(not SNAKEMAKE, reason="make check-grid has Snakemake and Slurm")

# Two senders, two paths, three seeds
GRID = """title = "A small grid"
seeds = 3
cc = ["reno", "cubic"]
[settings]
rate = "20mbit"
loss = 1e-3
duration = 3
[[case]]
name = "near"
set = { rtt = "10ms" }
[[case]]
name = "far"
set = { rtt = "40ms" }
[[finding]]
claim = "More where it is near"
measure = "mean('goodput_bps', 'reno', 'near') / mean('goodput_bps', 'reno', 'far')"
low = 1
"""
RUNS = 12

UNLIKE = ("wall_s", "packets_per_s", "series")  # differ each time that a run is made


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    path = tmp_path / "grid.toml"
    path.write_text(GRID)
    return path


def _environment(home: Path) -> dict[str, str]:
    """An environment whose cache has the lab kernel, but no runs."""
    own = home / "cache"
    own.mkdir(parents=True)
    for path in cache_root().iterdir():
        if path.name not in ("report", "run"):
            (own / path.name).symlink_to(path)
    return os.environ | {"TCPCC_CACHE": str(own)}


def _results(environment: dict[str, str]) -> dict[str, dict]:
    """The runs that a report used, by name, with their samples."""
    found = {}
    for path in Path(environment["TCPCC_CACHE"], "report").glob("*/result.json"):
        run = json.loads(path.read_text())
        series = {p.name: p.read_bytes() for p in path.parent.glob("*.gz")}
        found[path.parent.name] = {k: v for k, v in run.items() if k not in UNLIKE}
        found[path.parent.name] |= {"samples": series}
    return found


def _page(path: Path) -> str:
    """A page, without the fields of its runs that are in UNLIKE."""

    def readable(found: re.Match[str]) -> str:
        runs = json.loads(gzip.decompress(base64.b64decode(found[1])))
        return json.dumps([{k: v for k, v in r.items() if k not in UNLIKE} for r in runs])

    text, count = re.subn(r"data:application/gzip;base64,([\w+/=]+)", readable, path.read_text())
    assert count
    return text


def _snakemake(grid: Path, home: Path, profile: str, *more: str) -> list[str]:
    return [SNAKEMAKE, "--snakefile", str(WORKFLOW / "Snakefile"), "--directory", str(home),
            "--profile", str(WORKFLOW / "profiles" / profile), "--config", f"report={grid}",
            "batch=3", *more]  # fmt: skip


def test_the_workflow_on_local_cores_has_the_same_report(grid, tmp_path) -> None:
    one, other = tmp_path / "one", tmp_path / "local"
    alone, local = _environment(one), _environment(other)
    subprocess.run([REPO / "scripts/lab", "report", grid, "--jobs", "1", "--out", one / "report"],
                   check=True, env=alone)  # fmt: skip
    subprocess.run(_snakemake(grid, other, "local"), check=True, env=local)
    first = _results(alone)
    assert len(first) == RUNS and _results(local) == first
    assert _page(other / "report/index.html") == _page(one / "report/index.html")


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Environment variables for the commands of a Slurm with one node, this machine."""
    home = tmp_path.resolve() / "slurm"
    for part in ("state", "spool"):
        (home / part).mkdir(parents=True)
    home.chmod(0o700)
    (home / "munge.key").write_bytes(os.urandom(1024))
    (home / "munge.key").chmod(0o400)
    ports = []
    for _ in range(2):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(free.getsockname()[1])
    node = socket.gethostname().partition(".")[0]
    (home / "slurm.conf").write_text(f"""ClusterName=grid
SlurmctldHost={node}(127.0.0.1)
SlurmUser=root
AuthInfo=socket={home}/munge.socket
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
AccountingStorageType=accounting_storage/none
MinJobAge=3600
NodeName={node} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} RealMemory=2000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE
""")
    conf = str(home / "slurm.conf")
    munge = ["munged", "--force", "--foreground", f"--key-file={home}/munge.key",
             f"--socket={home}/munge.socket", f"--pid-file={home}/munge.pid",
             f"--log-file={home}/munge.log", f"--seed-file={home}/munge.seed"]  # fmt: skip
    # The executor removes SLURM_CONF from the environment of its jobs, but they call srun.
    (home / "bin").mkdir()
    srun = shutil.which("srun")
    (home / "bin/srun").write_text(f'#!/bin/sh\nSLURM_CONF={conf} exec {srun} "$@"\n')
    (home / "bin/srun").chmod(0o755)
    path = f"{home / 'bin'}:{os.environ['PATH']}:/usr/sbin:/sbin"
    environment = {"SLURM_CONF": conf, "PATH": path}
    daemons = []
    try:
        for command in (munge, ["slurmctld", "-D", "-f", conf], ["slurmd", "-D", "-f", conf]):
            program = shutil.which(command[0], path=path)
            assert program, f"{command[0]} is missing: apt-get install slurm-wlm munge"
            with (home / f"{command[0]}.out").open("wb") as out:
                daemons.append(subprocess.Popen([program, *command[1:]], stdout=out, stderr=out,
                                                env=os.environ | environment))  # fmt: skip
            time.sleep(1)
        for _ in range(60):
            said = subprocess.run(["sinfo", "-h", "-o", "%t"], env=os.environ | environment,
                                  capture_output=True, text=True).stdout  # fmt: skip
            if said.strip() == "idle":
                break
            time.sleep(1)
        else:
            pytest.fail(f"no node is idle after a minute: {said}")
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(30)


def test_slurm_has_the_same_report_after_it_was_killed(grid, tmp_path, slurm) -> None:
    one, other = tmp_path / "one", tmp_path / "slurm-runs"
    alone, there = _environment(one), _environment(other) | slurm
    subprocess.run([REPO / "scripts/lab", "report", grid, "--jobs", "1", "--out", one / "report"],
                   check=True, env=alone)  # fmt: skip
    command = _snakemake(grid, other, "slurm", "--slurm-status-command", "squeue",
                         "--slurm-init-seconds-before-status-checks", "5")  # fmt: skip
    with subprocess.Popen(command, env=there) as first:
        made: dict[Path, int] = {}
        for _ in range(600):
            results = other.glob("runs/*/result.json")
            made = {path: path.stat().st_mtime_ns for path in results}
            if len(made) >= 2 or first.poll() is not None:
                break
            time.sleep(0.5)
        first.kill()
    subprocess.run(["scancel", "--user", "root"], env=there, check=True)
    time.sleep(2)
    made = {path: path.stat().st_mtime_ns for path in other.glob("runs/*/result.json")}
    assert 2 <= len(made) < RUNS, "it was not in the middle"
    subprocess.run([*command, "--unlock"], env=there, check=True)
    subprocess.run(command, env=there, check=True)
    assert {path: path.stat().st_mtime_ns for path in made} == made
    first = _results(alone)
    assert len(first) == RUNS and _results(there) == first
    assert _page(other / "report/index.html") == _page(one / "report/index.html")
