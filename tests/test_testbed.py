# SPDX-License-Identifier: GPL-2.0
"""scripts/testbed: the lab's scenarios in real time, on a kernel that the lab did not build."""

import json
import os
import re
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import REPO, wanted_kernels
from labkit import testbed_cli
from labkit.errors import LabError
from labkit.measure import testbed
from labkit.measure.job import Job
from labkit.model import scenario
from labkit.paths import cache_root
from labkit.world import machine, stock

wide = pytest.mark.skipif(not wanted_kernels(), reason="make check-kernels runs it")


def job_of(*sets: str, cc: str = "cubic") -> Job:
    dumbbell = scenario.load("dumbbell")
    return Job(dumbbell, scenario.override(dumbbell, sets), cc, 1)


def test_leaves_the_machine_alone():
    """It loads no module by name, sets no parameter, and sysctls only in its own namespaces."""
    s = job_of("rate=1gbit", "rtt=100ms").settings
    text = testbed.setup_of(s, "ccpd_path", 1)
    assert "modprobe" not in text and "/sys/module" not in text
    lines = [line for line in text.splitlines() if "sysctl" in line]
    assert all(line.startswith("netns exec ") for line in lines), lines
    assert "tcp_mem" not in text and "netdev_max_backlog" not in text
    for name in ("s0", "r"):
        line, = [line for line in lines if line.startswith(f"netns exec {name} ")]
        memory = re.search(r'"net.ipv4.tcp_rmem=4096 (\d+) \1"', line)
        # eight windows of path and buffer
        assert memory and int(memory[1]) == 8 * (12_500_000 + s.buffer_packets * s.frame)
        assert "tcp_wmem" in line
    # the shaper is one of a stock kernel
    assert "tbf rate 1000000000bit" in text and " link " not in text


def test_plans_what_the_scenario_says():
    plan = testbed.plan_of(job_of("mix=bbr:1,cubic:2", "rtt=10ms,20ms,20ms", "start=2",
                                  "duration=9"))  # fmt: skip
    flows = [(f["ns"], f["cc"], f["start_s"], f["length"], f["port"]) for f in plan["flows"]]
    assert flows == [("s0", "bbr", 0, 9, 5201), ("s1", "cubic", 2, 7, 5202),
                     ("s1", "cubic", 4, 5, 5203)]  # fmt: skip
    assert [link["dev"] for link in plan["links"]] == ["b-r"]


def test_a_case_may_be_cut_short(monkeypatch):
    """A result has the case's whole name, as those of the report."""
    made = []

    def run(job: Job, *_) -> dict:
        made.append(job)
        raise LabError("enough")

    monkeypatch.setattr(testbed, "run", run)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert testbed_cli.main(["run", "ccpd-fig2", "--cc", "ccpd(4,100)", "--case", "190"]) == 1
    assert [job.case for job in made] == ["190 ms"]


def report(cc: str, size: int, seconds: float) -> dict:
    """The parts of iperf3 -J that are read."""
    return {
        "start": {"version": "iperf 3.12", "tcp_mss_default": 1448},
        "intervals": [{"streams": [{"snd_cwnd": 144800, "rtt": 40000}]},
                      {"streams": [{"snd_cwnd": 289600, "rtt": 60000}]}],
        "end": {"sender_tcp_congestion": cc, "streams": [{"sender": {"retransmits": 7}}],
                "sum_received": {"bytes": size, "seconds": seconds}},
    }  # fmt: skip


def test_result_is_the_labs(tmp_path):
    """Names, units and meanings are those of the lab's results."""
    job = replace(job_of("rate=10mbit", "flows=2", "duration=4"), case="10 Mb/s, 2 flows")
    measured = {
        "reports": [report("cubic", 2_000_000, 4), report("cubic", 1_000_000, 4)],
        "links": [{"name": "bottleneck", "sent_bytes": 4_500_000, "drops": 3}],
        "samples": [[0.1, 0], [2.0, 30], [3.0, 60], [9.0, 1000]], "busiest_cpu": 0.4, "end_s": 4.2,
    }  # fmt: skip
    made = testbed.result(job, measured, 6.0, tmp_path)
    first, link = made["flows"][0], made["links"][0]
    assert (first["goodput_bps"], first["retransmits"]) == (4e6, 7)
    assert (first["cwnd_mean"], first["rtt_mean_s"]) == (150, 0.05)
    assert "completion_s" not in first
    assert link["utilization"] == pytest.approx(0.9)
    assert (link["queue_mean"], link["queue_max"], link["drops"]) == (30, 60, 3)
    assert made["jain"] == pytest.approx(0.9)
    assert made["provenance"]["place"] == "testbed"
    assert Path(made["series"]).parent == tmp_path


def test_another_congestion_control_is_no_result():
    with pytest.raises(LabError, match="iperf3 ran reno instead of bbr"):
        testbed._flow(report("reno", 1, 1), 0, "bbr", job_of().settings)


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces want root")
@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["dumbbell", "--cc", "no_such_cc"], 2, "has no congestion control 'no_such_cc'; there"),
        (["dumbbell", "--cc", "reno", "--set", "cross=udp:1mbit:0-1"], 2, "cross is for the lab"),
        (["dumbbell", "--cc", "reno", "--set", "param=tcp_cubic.hystart=0"], 2, "param is for"),
        (["dumbbell", "--cc", "reno", "--set", "mix=reno:2"], 2, "drop --cc, or mix"),
        (["nosuch"], 2, "no scenario 'nosuch'"),
        (["dumbbell", "--repeat", "0"], 2, "'0' is not a whole number"),
    ],
)
def test_refuses_in_one_line(arguments, status, says):
    done = subprocess.run([REPO / "scripts/testbed", "run", *arguments], capture_output=True,
                          text=True)  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (status, 1), done.stderr
    assert done.stderr.startswith("testbed: ") and says in done.stderr


def test_says_which_qdisc_is_missing():
    assert "lacks a qdisc" in testbed.missing_qdisc("Error: Specified qdisc kind is unknown.\n")
    assert not testbed.missing_qdisc("RTNETLINK answers: File exists")


_ON_STOCK = """
export TCPCC_CACHE={cache}
cd {repo}
scripts/testbed run dumbbell --cc cubic --cc ccpd_path --set rate=20mbit --set rtt=40ms \
    --set duration=8 --out /tmp/out --json
echo ====
scripts/testbed run dumbbell --cc cubic --set duration=60 --out /tmp/out &
victim=$!
for _ in $(seq 300); do pgrep -f 'iperf3 -s' >/dev/null && break; sleep 0.2; done
pgrep -f 'iperf3 -s' >/dev/null && echo began
kill -9 $victim
wait $victim
for _ in $(seq 50); do pgrep iperf3 >/dev/null || break; sleep 0.2; done
echo "left: $(pgrep iperf3)$(ip netns list)$(ip -br link | grep -v '^lo ')$(ls /run/netns 2>&1 |
    grep -v 'No such')"
"""


@wide
def test_on_a_stock_kernel():
    """Debian's 6.12: the link is full, ccpd_path's queue is shorter, and a kill leaves nothing."""
    kernel = stock.ensure("6.12")
    done = machine.boot(kernel, ["sh", "-c", _ON_STOCK.format(repo=REPO, cache=cache_root())],
                        modules=stock.build(kernel), timeout_s=1800)  # fmt: skip
    shown, _, rest = done.stdout.partition("====")
    cubic, ours = json.loads(shown)
    # 1448 of 1514 bytes are data; iperf3's first second includes the start
    for result in (cubic, ours):
        assert 0.85 * 20e6 < result["flows"][0]["goodput_bps"] < 20e6, result
        assert result["kernel"] == kernel.release
    assert ours["flows"][0]["rtt_mean_s"] < cubic["flows"][0]["rtt_mean_s"]
    assert "began" in rest, rest + done.stderr
    assert rest.rstrip().endswith("left:"), rest
