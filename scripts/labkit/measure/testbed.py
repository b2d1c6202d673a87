# SPDX-License-Identifier: GPL-2.0
"""Runs a scenario of the lab in real time, on the running kernel, with iperf3.

Everything runs in namespaces of one process: network, mounts (so that the names of ip netns are
private) and processes.  The kernel removes them when that process ends, and it ends when this
program ends, even by SIGKILL.  Only sysctls of these namespaces are changed, never global settings
of the machine (tcp_mem, module parameters).
"""

import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Any

from ..errors import LabError
from ..host import environment
from ..model.settings import Settings
from ..paths import GUEST
from ..world.plan import compile_plan
from ..world.queues import for_stock_kernels
from ..world.topology import Row
from . import provenance
from .job import Job
from .statistics import jain, rounded

Json = dict[str, Any]

FIRST_PORT = 5201

# Settings that need the lab's kernel or its agent, or would change the whole machine
NOT_HERE = ("trace", "rtt_trace", "loss_trace", "drop", "short", "sizes", "voice", "ask", "video",
            "program", "stages", "app", "ssthresh", "reverse", "lie", "cross", "change", "param",
            "switch", "blackout")  # fmt: skip
TOOLS = {"ip": "iproute2", "tc": "iproute2", "ss": "iproute2", "ethtool": "ethtool",
         "iperf3": "iperf3", "unshare": "util-linux", "sysctl": "procps"}  # fmt: skip

BUSY = 0.9  # share of a processor's time from which on the processor may be the limit
LATE_S = 1e-6  # with a coarser clock, timers are not exact enough for a shaper


def check(settings: Settings, ccs: list[str]) -> None:
    """LabError, in one line, if this kernel or machine lacks what the run needs."""
    if os.geteuid():
        raise LabError("the test bed needs root for its namespaces: run sudo scripts/testbed ...")
    path = environment()["PATH"]
    if missing := sorted({p for t, p in TOOLS.items() if not shutil.which(t, path=path)}):
        raise LabError(f"the test bed needs {' '.join(missing)}: install the packages")
    for name in NOT_HERE:
        if getattr(settings, name):
            raise LabError(f"{name} is for the lab only: remove it, or use scripts/lab run",
                           status=2)  # fmt: skip
    for cc in dict.fromkeys(ccs):
        with socket.socket() as probe:
            try:  # loads the module, as for any program of root
                probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
            except OSError:
                there = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text()
                raise LabError(
                    f"kernel {os.uname().release} has no congestion control {cc!r}; there are:"
                    f" {', '.join(there.split())}", status=2,
                ) from None  # fmt: skip


def setup_of(settings: Settings, cc: str, seed: int) -> str:
    """The lab's setup script for the running kernel: without modprobe, and with socket buffers set
    in each namespace."""
    text = for_stock_kernels(compile_plan(settings, cc, seed).setup, settings)
    text = re.sub(r"^(modprobe|echo .*>/sys/module).*\n", "", text, flags=re.M)
    limits = re.search(r'^sysctl -qw net\.ipv4\.tcp_mem=.*?netdev_max_backlog=\d+\n', text,
                       re.M | re.S)  # fmt: skip
    assert limits
    # in a batch of ip, the quotes must be around the whole word
    own = " ".join(f'"{name}={value}"' for name, value
                   in re.findall(r'(net\.ipv4\.tcp_[rw]mem)="([^"]*)"', limits[0]))  # fmt: skip
    text = text.replace(limits[0], "")
    return re.sub(r"^(netns exec [sr]\d* sysctl -qw )", rf"\1{own} ", text, flags=re.M)


def missing_qdisc(said: str) -> str:
    """An error message if the setup failed because the kernel lacks a qdisc; else empty."""
    if "qdisc kind is unknown" not in said:
        return ""
    return (f"kernel {os.uname().release} lacks a qdisc that the path needs (netem and tbf at"
            " least): boot a distribution's kernel, or use scripts/lab run")  # fmt: skip


def plan_of(job: Job) -> Json:
    """The plan for guest/realtime.py."""
    s, row = job.settings, Row(job.settings)
    flows = []
    for k, (user, cc) in enumerate(zip(row.net.users, s.ccs(job.cc), strict=True)):
        receiver = row.receiver(user.group)
        length = min(s.end, user.stop) - user.start
        flows.append({
            "ns": row.senders[user.group], "peer": receiver, "dst": row.address(receiver, s.ip),
            "port": FIRST_PORT + k, "cc": cc, "start_s": user.start, "bytes": s.bytes or 0,
            "length": max(1, ceil(length)),
        })  # fmt: skip
    links = [{"name": name, "ns": b, "dev": device} for name, b, device
             in zip(row.link_names(), row.b, row.exits, strict=True)]  # fmt: skip
    return {"setup": setup_of(s, job.cc, job.seed), "flows": flows, "links": links, "end_s": s.end}


_libc = ctypes.CDLL(None)


def _with_us() -> None:
    """Runs between fork and exec: the child is killed when this process ends (PR_SET_PDEATHSIG)."""
    _libc.prctl(1, signal.SIGKILL)


def run(job: Job, out: Path, warn: Callable[[str], None] = lambda text: None) -> Json:
    """Makes a run, and returns its result in the form of scripts/lab run.

    out: the directory for the output of iperf3 and tc.  warn: called with a message if the machine,
    and not the network, may have been the limit.
    """
    check(job.settings, job.settings.every_cc(job.cc))
    plan, start = plan_of(job), time.monotonic()
    inside = f"mount -t tmpfs tmpfs /run && exec {sys.executable} {GUEST / 'realtime.py'}"
    child = subprocess.Popen(
        ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
         "sh", "-c", inside], env=environment(), preexec_fn=_with_us, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        told, said = child.communicate(json.dumps(plan))
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
    if child.returncode:
        last = (said.strip().splitlines() or ["no message"])[-1]
        if missing := missing_qdisc(said):
            raise LabError(missing)
        raise LabError(f"setting up the test bed failed: {last}", log=said)
    measured = json.loads(told)
    for report in measured["reports"]:
        if "error" in report:
            raise LabError(f"iperf3: {report['error']}")
    if measured["busiest_cpu"] > BUSY:
        warn(f"{job.name}: a processor was busy for {measured['busiest_cpu']:.0%} of the time: the"
             " machine may have been the limit, not the network")  # fmt: skip
    if time.clock_getres(time.CLOCK_MONOTONIC) > LATE_S:
        warn("this kernel has no high-resolution timers, so rates and delays are inaccurate")
    return result(job, measured, time.monotonic() - start, out)


def result(job: Job, measured: Json, wall_s: float, out: Path) -> Json:
    """A result in the form of the lab's, from the measurements of iperf3 and tc."""
    s, row = job.settings, Row(job.settings)
    flows = [
        _flow(report, user.start, cc, s)
        for report, user, cc in zip(measured["reports"], row.net.users, s.ccs(job.cc), strict=True)
    ]
    end = max(flow["end_s"] for flow in flows)
    links = []
    for k, counted in enumerate(measured["links"]):
        queue = [sample[1 + k] for sample in measured["samples"] if sample[0] <= end]
        rate = row.net.links[k].rate
        links.append({
            "name": counted["name"], "rate_bps": rate,
            "utilization": counted["sent_bytes"] * 8 / rate / end,
            "queue_mean": fmean(queue), "queue_max": max(queue), "drops": counted["drops"],
        })  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.-]+", "-", job.name)  # a case may be called "20 Mb/s"
    kept = out / f"{name}-{job.seed}-{time.time_ns()}.json"
    kept.write_text(json.dumps(measured))
    made = {
        "scenario": job.scenario.name,
        "cc": ",".join(f"{n}:{c}" for n, c in s.mix) if s.mix else job.cc,
        **({"column": job.column} if job.column not in ("", job.cc) else {}),
        **({"case": job.case} if job.case else {}),
        "seed": job.seed, "kernel": os.uname().release, "settings": s.as_json(),
        "wall_s": wall_s, "flows": flows, "links": links,
    }  # fmt: skip
    if (index := jain([flow["goodput_bps"] for flow in flows])) is not None:
        made["jain"] = index
    made["provenance"] = {
        "commit": provenance.source(), "place": "testbed", "machine": os.uname().machine,
        "iperf3": measured["reports"][0]["start"]["version"],
        "busiest_cpu": measured["busiest_cpu"],
    }  # fmt: skip
    made["series"] = str(kept)
    return rounded(made)


def _flow(report: Json, start: float, cc: str, s: Settings) -> Json:
    """A flow from iperf3's report: received bytes, retransmits, and means over the intervals."""
    end = report["end"]
    if (used := end["sender_tcp_congestion"]) != cc:
        raise LabError(f"iperf3 ran {used} instead of {cc}")
    received, sender = end["sum_received"], end["streams"][0]["sender"]
    length = received["seconds"] if "seconds" in received else received["end"]
    parts = [part["streams"][0] for part in report["intervals"]]
    made = {
        "cc": cc, "bytes": received["bytes"], "start_s": start, "end_s": start + length,
        "goodput_bps": received["bytes"] * 8 / length,
        **({"completion_s": length} if s.bytes else {}),
        "retransmits": sender["retransmits"],
    }  # fmt: skip
    mss = report["start"].get("tcp_mss_default") or s.mtu - 52
    if windows := [part["snd_cwnd"] for part in parts if part.get("snd_cwnd")]:
        made["cwnd_mean"] = fmean(windows) / mss
    if rtts := [part["rtt"] for part in parts if part.get("rtt")]:
        made["rtt_mean_s"] = fmean(rtts) / 1e6
    return made
