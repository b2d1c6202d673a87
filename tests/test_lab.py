# SPDX-License-Identifier: GPL-2.0
"""scripts/lab as its users see it: what it refuses, what it reports, what it leaves behind."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from conftest import REPO
from labkit import cli, host, stock_cli, testbed_cli
from labkit.errors import LabError
from labkit.model import scenario
from labkit.world import guests, kernel
from labkit.world.laboratory import Laboratory, traffic
from labkit.world.plan import Plan, compile_plan

LAB = REPO / "scripts" / "lab"
SHORT = ("--set", "duration=0.2")


def _guests(directory: Path) -> list[str]:
    """The user-mode Linux processes whose working directory is below directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(directory):
                found.append((process / "cmdline").read_bytes().decode())
        except OSError:
            continue
    return found


def test_a_guest_has_a_processor_of_its_own(lab_kernel, monkeypatch):
    """While there are enough.  A guest without a free one may use all processors of the lab."""
    monkeypatch.setattr(guests, "_HOLDER", f"tcpcc-test-{os.getpid()}")
    allowed = os.sched_getaffinity(0)

    def boot(stack):
        guest = stack.enter_context(guests.Guest(lab_kernel))
        guest.boot("sleep 1000", None, real_time=True)
        return os.sched_getaffinity(guest.process.pid)

    with contextlib.ExitStack() as stack:
        has = [boot(stack) for _ in range(len(allowed) + 1)]
    assert has == [*({one} for one in sorted(allowed)), allowed]
    with contextlib.ExitStack() as stack:
        assert boot(stack) == {min(allowed)}  # which is free again


@pytest.mark.parametrize("verb", [[], ["run"], ["compare"]])
def test_help_is_shown(verb):
    done = subprocess.run([LAB, *verb, "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith(" ".join(["usage: lab", *verb]))


# Bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["run", "dumbel"], "'dumbel'; similar: dumbbell; 'lab list' shows all, or"),
        (["run", "fig3"], "similar: acp-fig3, "),
        (["run", "nonesuch"], "no scenario 'nonesuch'; 'lab list' shows all"),
        (["run", ""], "no scenario ''; 'lab list' shows all"),
        (["report", "feild-*"], "no scenario matches 'feild-*'; similar: field-"),
        (["report", "*-fig33"], "no scenario matches '*-fig33'; similar: "),
        (["run", "dumbbell", "--cc", "nonesuch"], "cubic"),
        (["run", "dumbbell", *["--cc", "reno"] * 2], "--cc reno is given twice"),
        (["run", "dumbbell", "--csv", "/nonesuch/x.csv"], "cannot write /nonesuch/x.csv: No such"),
        (["run", "dumbbell", "--parquet", "/proc/x"], "cannot write /proc/x: "),
        (["run", "dumbbell", "--cc", ""], "--cc is empty: name a congestion control"),
        (["run", "field-loss", "--sender", ""], "--sender is empty: name a congestion control"),
        (["report", "dumbbell", "--cc", ""], "--cc is empty: name a congestion control"),
        (["run", "dumbbell", "--set", "colour=red"], "rate, rtt, buffer"),
        (["run", "dumbbell", "--set", "rate"], "KEY=VALUE"),
        (["run", "dumbbell", "--set", "rate=fast"], "100mbit"),
        (["run", "dumbbell", "--set", "rate=10mbps"], "100mbit"),
        (["run", "dumbbell", "--set", "rtt=-1ms"], "40ms"),
        (["run", "dumbbell", "--set", "loss=2"], "from 0 to 0.5"),
        (["run", "dumbbell", "--set", "buffer=much"], "0.5bdp"),
        (["run", "dumbbell", "--set", "buffer=0"], "0.5bdp"),
        (["run", "dumbbell", "--set", "buffer=100000bdp"], "would hold 50 GB, and 25 is the most"),
        (["run", "dumbbell", "--set", "rate=400gbit", "--set", "rtt=1s"], "would hold 100 GB"),
        (["run", "dumbbell", "--set", "buffer=49000bdp"], None),
        (["run", "dumbbell", "--set", "qdisc=nonesuch"], "fq_codel"),
        (["run", "dumbbell", "--set", "qdisc=red", "--set", "buffer=23"], "24 packets"),
        (["run", "dumbbell", "--set", "qdisc=red", "--set", "buffer=24"], None),
        (["run", "dumbbell", "--set", "qdisc=sfq", "--set", "buffer=128"], "at most 127"),
        (["run", "dumbbell", "--set", "qdisc=red", "--set", "buffer=8128"], "at most 8127"),
        (["run", "dumbbell", "--set", "loss=1e-3", "--set", "offload=on"], "offload=off"),
        (["run", "dumbbell", "--set", "change=2:loss=0.1", "--set", "offload=on"], "offload=off"),
        (["run", "dumbbell", "--set", "flows=-1"], "from 0 to"),
        (["run", "dumbbell", "--set", "flows=0"], "set video, program, voice or ask"),
        (["run", "dumbbell", "--set", "mtu=100"], "from 576 to 9000"),
        (["run", "dumbbell", "--set", "ip=5"], "4 or 6"),
        (["run", "dumbbell", "--set", "ip=6", "--set", "mtu=1000"], "1280"),
        (["run", "dumbbell", "--set", "ack=never"], "delayed or every"),
        (["run", "dumbbell", "--set", "cross=tcp"], "udp:50mbit:0-50"),
        (["run", "dumbbell", "--set", "cross=udp:1mbit:0-50"], "outlasts"),
        (["run", "dumbbell", "--set", "mix=ccpd"], None),
        (["run", "dumbbell", "--set", "mix=cubic:x"], "ccpd:2,cubic:2"),
        (["run", "dumbbell", "--set", "mix=cubic:2", "--set", "flows=3"], "drop flows=3"),
        (["run", "dumbbell", "--set", "mix=cubic:2", "--cc", "reno"], "drop --cc"),
        (["run", "dumbbell", "--set", "rtt=10ms,20ms", "--set", "flows=3"], "2 values"),
        (["run", "dumbbell", "--set", "bytes=1M", "--set", "duration=1"], "exclude"),
        (["run", "dumbbell", "--set", "param=kp=4"], "tcp_ccpd.kp=4"),
        (["run", "dumbbell", "--set", "param=tcp_nonesuch.kp=4"], "tcp_cubic"),
        (["run", "dumbbell", "--set", "param=tcp_cubic.nonesuch=4"], "hystart"),
        (["run", "dumbbell", "--seed", "x"], "whole number"),
        (["run", "dumbbell", "--seeds", "3-1"], "not a range"),
        (["run", "dumbbell", "--seeds", "1-"], "whole number"),
        (["run", "dumbbell", "--seeds", "1-3,2"], "twice"),
        (["run", "dumbbell", "--seeds", "1-3", "--seed", "2"], "not allowed with"),
        (["run", "dumbbell", "--jobs", "-1"], "from 0 to 1000"),
        (["report", "dumbbell", "--jobs", "x"], "from 0 to 1000"),
        (["exec", "--timeout", "0", "--", "true"], "'0' is not a number of seconds"),
        (["exec", "--timeout", "nan", "--", "true"], "'nan' is not a number of seconds"),
        (["run", "dumbbell", "--module", "~nonesuch/x"], "no such file"),
        (["run", "~nonesuch/x.toml"], "no such file"),
        (["run", "dumbbell", "--set", "network=~nonesuch/x.toml"], "existing file"),
        (["run", "dumbbell", "--set", "sample=0", "--qlog", "/nonesuch"], "drop sample=0"),
        (["compare", "HEAD"], "required: B"),
        (["compare", "nonesuch", "HEAD"], "not a file, a directory or a commit"),
        (["run", "dumbbell", "--kernel", "newest"], "6.12"),
        (["run", "dumbbell", "--set", "ssthresh=1"], "from 2 to"),
        (["run", "dumbbell", "--set", "ssthresh=xbdp"], "1bdp"),
        (["run", "dumbbell", "--set", "drop=0"], "from 1 to"),
        (["run", "dumbbell", "--set", "drop=9", "--set", "flows=2"], "flows=1"),
        (["run", "dumbbell", "--set", "batch=2s"], "1us to 1s"),
        (["run", "dumbbell", "--set", "aggregate=0"], "1us to 1s"),
        (["run", "dumbbell", "--set", "jitter=much"], "1us to 1s"),
        (["run", "dumbbell", "--set", "police=50mbit:"], "50mbit:250k"),
        (["run", "dumbbell", "--set", "police=100kbit"], "from 1514"),
        (["run", "dumbbell", "--set", "police=1mbit", "--set", "offload=on"], "offload=off"),
        (["run", "dumbbell", "--set", "app=250k"], "250k/100ms"),
        (["run", "dumbbell", "--set", "app=250k/1us"], "100us"),
        (["run", "dumbbell", "--set", "lie=18mbit"], "0:400gbit"),
        (["run", "dumbbell", "--set", "lie=1:18mbit"], "from 0 to 0"),
        (["run", "dumbbell", "--set", "lie=0:18mbit", "--set", "ip=6"], "ip=4"),
        (["run", "dumbbell", "--set", "reverse=cubic:2:1"], "cubic:2"),
        (["run", "dumbbell", "--set", "back=1mbit:0"], "1mbit:50"),
        (["run", "dumbbell", "--set", "back=1mbit", "--set", "reverse=reno"], "drop it"),
        (["run", "dumbbell", "--set", "jitter_back=5ms"], "1:5ms"),
        (["run", "dumbbell", "--set", "jitter_back=1:5ms"], "from 0 to 0"),
        (["run", "dumbbell", "--set", "reverse=nonesuch:2"], "there are: "),
        (["run", "dumbbell", "--set", "change=1:loss=2"], ":loss=SHARE"),
        (["run"], "SCENARIO"),
        (["nonesuch"], "run"),
    ],
)
def test_bad_input_is_one_line_that_says_what_is_allowed(lab, arguments, names) -> None:
    if names is None:
        lab(*arguments, *SHORT)  # control: valid input of the same kind
        return
    call = lab(*arguments, status=2)
    assert call.stdout == ""
    assert call.stderr.startswith("lab: ") and call.stderr.count("\n") == 1
    assert names in call.stderr


@pytest.mark.parametrize("name", ["nonesuch", "path-los", "fig", "f", "", "path-losses-of-all"])
def test_a_wrong_name_does_not_list_all_scenarios(name) -> None:
    """Those with a similar name, and never all of them."""
    for call in (scenario.load, scenario.matching):
        wrong = name if call is scenario.load else f"{name}?nonesuch*"
        with pytest.raises(LabError) as caught:
            call(wrong)
        said = str(caught.value)
        assert caught.value.status == 2 and len(said) < 250, said
        assert "'lab list' shows all" in said
        assert len([n for n in scenario.names() if re.search(rf"\b{n}(,|;)", said)]) <= 5


def test_every_key_is_accepted(lab) -> None:
    values = {
        "rate": "50mbit", "rtt": "20ms,30ms", "buffer": "0.5bdp", "loss": "0.1%",
        "qdisc": "fq_codel", "start": "0.05", "duration": "0.5", "mtu": "1400",
        "cross": "udp:5mbit:0.1-0.4", "param": "tcp_cubic.hystart=0", "ip": "6",
        "ack": "every", "ecn": "on", "sample": "10ms", "flows": "2",
    }  # fmt: skip
    sets = [f"--set={key}={value}" for key, value in values.items()]
    settings = lab("run", "dumbbell", "--json", *sets).json[0]["settings"]
    assert settings["rate"] == 50_000_000
    assert settings["rtt"] == [0.02, 0.03]
    assert settings["cross"] == [{"rate": 5_000_000, "start": 0.1, "end": 0.4}]
    assert settings["param"] == ["tcp_cubic.hystart=0"]
    assert (settings["loss"], settings["ecn"]) == (0.001, True)
    values = {
        "jitter": "1ms", "app": "100k/50ms", "ssthresh": "40", "reverse": "reno", "batch": "1ms",
        "police": "50mbit:20k", "aggregate": "2ms", "change": "0.2:loss=0.01", "duration": "0.5",
        "access": "1gbit",
    }  # fmt: skip
    sets = [f"--set={key}={value}" for key, value in values.items()]
    for ip in ("4", "6"):
        settings = lab("run", "dumbbell", "--json", f"--set=ip={ip}", *sets).json[0]["settings"]
    assert [settings[key] for key in ("jitter", "ssthresh", "batch", "aggregate", "access")] == [
        0.001, 40, 0.001, 0.002, 1_000_000_000,
    ]  # fmt: skip
    (large,) = lab("run", "dumbbell", "--json", "--set=offload=on", "--set=duration=0.5").json
    assert large["settings"]["offload"] is True
    assert settings["app"] == {"bytes": 100_000, "interval": 0.05}
    assert settings["police"] == {"rate": 50_000_000, "burst": 20_000}
    assert settings["reverse"] == "reno:1"
    assert settings["change"] == [{"at": 0.2, "loss": 0.01}]


def test_every_key_of_the_world_is_accepted(lab) -> None:
    values = {
        "trace": "scripts/traces/wifi.gz", "rtt_trace": "scripts/traces/orbit.rtt",
        "loss_trace": "scripts/traces/orbit.loss", "burstloss": "0.01:0.3", "duplicate": "1%",
        "thin": "on", "batch": "1ms", "qdisc": "fq_codel", "router": "target 10ms", "voice": "1",
        "ask": "1:100:1k:10ms", "duration": "0.5", "ip": "6", "host": "nic",
    }  # fmt: skip
    sets = [f"--set={key}={value}" for key, value in values.items()]
    settings = lab("run", "dumbbell", "--json", *sets).json[0]["settings"]
    assert settings["trace"][0]["path"] == values["trace"]
    assert settings["burstloss"]["mean"] == pytest.approx(0.01 / 0.31)
    assert (settings["thin"], settings["duplicate"]) == (True, 0.01)
    sets = ["--set=back=1mbit:50", "--set=jitter_back=1:2ms", "--set=flows=2", "--set=duration=0.5"]
    settings = lab("run", "dumbbell", "--json", *sets).json[0]["settings"]
    assert settings["back"] == {"rate": 1_000_000, "packets": 50}
    assert settings["jitter_back"] == [{"flow": 1, "most": 0.002}]


@pytest.mark.parametrize("other", ["back=1mbit", "access=30mbit"])
def test_a_trace_is_of_the_bottleneck_alone(lab, other) -> None:
    """Other links of the path keep their own rate."""
    sets = ("--set=trace=scripts/traces/wifi.gz", f"--set={other}", "--set=duration=0.5")
    (r,) = lab("run", "dumbbell", "--json", *sets).json
    setup = (Path(r["series"]) / "setup.sh").read_text()
    links = re.findall(r"qdisc add dev (\S+) root handle 1: link(?: rate (\d+)bit)?", setup)
    rate = {"back=1mbit": "1000000", "access=30mbit": "30000000"}[other]
    assert sorted(rate for _, rate in links) == ["", rate]
    assert 0 < r["flows"][0]["goodput_bps"] < 40e6


# Results ----------------------------------------------------------------------------------------


def test_json_is_the_contract(lab) -> None:
    results = lab("run", "dumbbell", "--cc", "reno", "--cc", "cubic", "--json", *SHORT).json
    assert [r["cc"] for r in results] == ["reno", "cubic"]
    for r in results:
        assert set(r) == {
            "scenario", "cc", "seed", "kernel", "settings", "virtual_s", "wall_s", "packets_per_s",
            "flows", "links", "jain", "jain_equilibrium", "series", "provenance", "cell",
        }  # fmt: skip
        assert set(r["provenance"]) >= {"kernel", "modules", "programs"}
        assert set(r["provenance"]["modules"]) == {"sch_link", f"tcp_{r['cc']}"} - {"tcp_reno"}
        # In a run of fixed duration no flow has a completion time.
        assert set(r["flows"][0]) == {
            "cc", "bytes", "start_s", "end_s", "goodput_bps", "retransmits", "cwnd_mean",
            "rtt_mean_s",
        }  # fmt: skip
        assert set(r["links"][0]) == {
            "name", "rate_bps", "utilization", "utilization_equilibrium", "queue_mean",
            "queue_equilibrium", "queue_max", "queue_least", "drops",
        }  # fmt: skip
        assert (Path(r["series"]) / "flows.csv").stat().st_size
        # One seed has no interval; the cell has the number of seeds.
        assert set(r["cell"]) - {"differences"} == {"seeds", "metrics"} and r["cell"]["seeds"] == 1
        assert r["cell"]["metrics"]["goodput_bps"] == {
            "n": 1, "mean": r["flows"][0]["goodput_bps"],
        }  # fmt: skip
    assert "differences" not in results[0]["cell"]
    assert results[1]["cell"]["differences"]["to"] == "reno"


def test_what_is_said_beside_flows_is_in_the_contract(lab) -> None:
    sets = ("--set=voice=1", "--set=ask=1:400:1k:10ms", "--set=duration=0.5")
    (r,) = lab("run", "dumbbell", "--json", *sets).json
    shares = ("mean", "median", "p95", "p99", "max")
    assert set(r["voice"]) == {"calls", "sent", "lost", *(f"delay_{s}_s" for s in shares)}
    assert set(r["ask"]) == {"clients", "asked", "unanswered", *(f"took_{s}_s" for s in shares)}
    assert r["cell"]["metrics"]["voice_p99_s"]["mean"] == r["voice"]["delay_p99_s"]
    shown = lab("run", "dumbbell", *sets).stdout
    assert "voice: delay median" in shown and "ask: took median" in shown


def test_several_seeds_have_intervals(lab) -> None:
    call = ("run", "dumbbell", "--cc", "reno", "--cc", "cubic", "--set=loss=0.01", "--seeds=1,3")
    results = lab(*call, "--json", "--set=duration=0.5").json
    assert [(r["cc"], r["seed"]) for r in results] == [
        ("reno", 1), ("reno", 3), ("cubic", 1), ("cubic", 3),
    ]  # fmt: skip
    one, other = (r["flows"][0]["goodput_bps"] for r in results[:2])
    assert one != other
    found = results[0]["cell"]["metrics"]["goodput_bps"]
    assert found == {
        "n": 2, "mean": pytest.approx((one + other) / 2), "low": pytest.approx(min(one, other)),
        "high": pytest.approx(max(one, other)),
    }  # fmt: skip
    assert results[1]["cell"] == results[0]["cell"]
    less = results[2]["cell"]["differences"]
    assert less["to"] == "reno" and set(less["metrics"]["drops"]) == {"n", "mean", "low", "high"}
    shown = lab(*call, "--set=duration=0.5").stdout
    assert "reno (2 seeds)" in shown and "cubic - reno" in shown and shown.count("95 % from") == 3


def test_what_is_not_measured_is_absent(lab) -> None:
    (r,) = lab("run", "dumbbell", "--json", "--set", "sample=0", *SHORT).json
    assert "cwnd_mean" not in r["flows"][0]
    assert not {"queue_mean", "utilization_equilibrium"} & set(r["links"][0])
    (r,) = lab("run", "dumbbell", "--json", "--set=bytes=100M", "--set=timeout=0.5").json
    assert "completion_s" not in r["flows"][0]
    assert 0 < r["flows"][0]["bytes"] < 100_000_000


def test_list_names_every_scenario(lab) -> None:
    names = [s["name"] for s in lab("list", "--json").json]
    assert names == sorted(p.stem for p in (REPO / "scripts/scenarios").glob("*.toml"))
    shown = lab("list").stdout
    assert all(name in shown for name in names)


def test_out_holds_whole_series_only(lab, tmp_path) -> None:
    (r,) = lab("run", "dumbbell", "--json", "--out", tmp_path, *SHORT).json
    (kept,) = tmp_path.iterdir()
    assert str(kept) == r["series"]
    assert r.pop("cell")["seeds"] == 1  # the cell is of all runs of the call
    assert json.loads((kept / "result.json").read_text()) == r


def test_a_run_without_a_case_says_that_there_are_cases(lab) -> None:
    case = "incast of 32, 1 Gb/s, 0.2 ms"
    said = f"in common; for one of its 3 cases add --case '{case}'"
    run = ("run", "rfc9743-datacentre", "--cc", "reno", *SHORT)
    assert said in lab(*run).stdout
    assert "in common" not in lab(*run, "--case", case).stdout
    assert len(lab(*run, "--json").json) == 1


def test_a_first_window_that_no_syn_can_offer_is_named(lab) -> None:
    """No memory limit of the lab changes it."""
    call = lab("run", "dumbbell", "--set=mtu=9000", "--set=duration=1", status=1)
    assert "than the 65535 bytes that a SYN can offer; set mtu=6605 or less" in call.stderr
    lab("run", "dumbbell", "--set=mtu=6605", "--set=duration=1")


def test_unwritable_out_is_reported(lab) -> None:
    call = lab("run", "dumbbell", "--out", "/proc/nonesuch", *SHORT, status=1)
    assert call.stderr.splitlines()[-1].startswith("lab: cannot store the series")


# Guests -----------------------------------------------------------------------------------------


def test_exec_passes_output_and_status(lab) -> None:
    call = lab("exec", "--", "sh", "-c", "id -u; echo oops >&2; printf 'a b'; exit 7", status=7)
    assert call.stdout == "0\na b"
    assert call.stderr == "oops\n"
    assert lab("exec", "--", "printf", "%s|", "a b", "$c", "'").stdout == "a b|$c|'|"
    lab("exec", "nonesuch", status=127)


def test_each_congestion_control_that_is_named_can_be_used(lab) -> None:
    use = "for cc; do sysctl -q net.ipv4.tcp_congestion_control=$cc || echo $cc; done"
    assert lab("exec", "--", "sh", "-c", use, "sh", *Laboratory().ccs()).stdout == ""


def test_exec_knows_our_modules_and_leaves_the_host_alone(lab, tmp_path) -> None:
    script = "modprobe tcp_ccpd && lsmod; touch /etc/tcpcc-test; touch here; sleep 1000"
    done = subprocess.run([LAB, "exec", "--", "sh", "-ec", script], cwd=tmp_path, check=True,
                          capture_output=True, text=True)  # fmt: skip
    assert "tcp_ccpd" in done.stdout
    assert not Path("/etc/tcpcc-test").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["here"]


@pytest.mark.parametrize("status", [1, 2])
@pytest.mark.parametrize(
    ("log", "shown"), [("", ""), ("\n  the end\nof a log\n", "  the end\nof a log\n")]
)
@pytest.mark.parametrize(
    ("program", "command", "arguments"),
    [
        (cli, "lab", ["list"]),
        (stock_cli, "stock", ["list"]),
        (testbed_cli, "testbed", ["run", "dumbbell"]),
        (kernel, "lab", ["6.12"]),
    ],
)
def test_every_program_shows_what_failed_before_its_error(
    program, command, arguments, log, shown, status, monkeypatch, capsys
) -> None:
    def fail(*_) -> None:
        raise LabError("it failed: mend it", status, log)

    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(guests, "end_all", lambda: None)  # after it no guest can boot here
    for name in ("_list", "_list_verb", "_run", "ensure"):
        monkeypatch.setattr(program, name, fail, raising=False)
    assert program.main(arguments) == status
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"{shown}{command}: it failed: mend it\n")


def test_panic_is_reported_with_the_kernels_log(lab) -> None:
    # Without its last program and a file for the status, PID 1 ends, and the kernel panics.
    call = lab("exec", "--", "sh", "-c", "rm /run/lab/agent; mkdir /run/lab/status", status=1)
    last = call.stderr.splitlines()[-1]
    assert last.startswith("lab: the guest's kernel crashed: Kernel panic")
    assert "Attempted to kill init" in last
    assert call.stderr.count("\n") > 3


def test_early_end_is_reported(lab) -> None:
    call = lab("exec", "--", "poweroff", "-f", status=1)
    assert call.stderr.splitlines()[-1] == "lab: the guest ended before its job was finished"


def test_hung_command_is_given_up(lab) -> None:
    call = lab("exec", "--timeout", "2", "--", "sh", "-c", "while :; do :; done", status=1)
    assert call.stderr.splitlines()[-1] == "lab: stopped at the timeout of 2 s"


def _plan(**changes: str) -> Plan:
    plan = compile_plan(scenario.override(scenario.load("dumbbell"), []), "cubic", 1)
    return replace(plan, **changes)


def _execute(plan: Plan) -> None:
    laboratory = Laboratory()
    with traffic(laboratory.kernel, laboratory.modules, plan, 1):
        pytest.fail("this run has a result")


def test_hung_run_is_given_up(monkeypatch) -> None:
    monkeypatch.setattr("labkit.world.laboratory.STALL_S", 2)
    with pytest.raises(LabError, match="virtual time stopped at"):
        _execute(_plan(setup="while :; do :; done"))


def test_failing_setup_is_a_failed_run() -> None:
    good = _plan().setup
    assert "qdisc add dev b-r root" in good
    bad = good.replace("qdisc add dev b-r root", "qdisc add dev nonesuch root")
    with pytest.raises(LabError, match=r"setting up the topology failed: .*nonesuch"):
        _execute(_plan(setup=bad))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_leaves_nothing(tmp_path, number) -> None:
    run_call = [LAB, "run", "dumbbell", "--cc", "cubic", "--cc", "reno", "--set", "duration=100000"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    # Shells make their background processes ignore SIGINT; this undoes it.
    listening = partial(signal.signal, number, signal.SIG_DFL)
    process = subprocess.Popen(run_call, env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True,
                               preexec_fn=listening)  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while len(list(tmp_path.glob("*/progress"))) < 2:
            assert time.monotonic() < deadline and process.poll() is None, "no run has started"
            time.sleep(0.1)
        assert _guests(tmp_path)
        process.send_signal(number)
        assert process.wait(timeout=20) == 130
        assert process.stderr.read() == b""
    finally:
        process.kill()
        process.communicate()
    assert not _guests(tmp_path)
    assert not list(tmp_path.iterdir())


def test_only_what_nobody_uses_is_swept(lab_kernel, tmp_path, monkeypatch) -> None:
    """A process in a container does not see those outside, whose guests use the same directory."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(os, "getpid", lambda: 2**22)  # no process has such a number
    old = tmp_path / f"tcpcc-{2**22}-killed"
    old.mkdir()
    with guests.Guest(lab_kernel) as guest:
        guests.sweep()
        assert [*tmp_path.iterdir()] == [guest.dir]
    assert not [*tmp_path.iterdir()]


def _of_yesterday(path: Path) -> Path:
    path.mkdir(exist_ok=True)
    os.utime(path, (time.time() - 2 * 86400,) * 2)
    return path


def test_what_a_process_with_a_used_number_left_is_swept(lab_kernel, tmp_path, monkeypatch) -> None:
    """A process number is used again, after a restart of the machine above all."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    old, new = (tmp_path / f"tcpcc-{os.getppid()}-{name}" for name in ("old", "new"))
    _of_yesterday(old)
    new.mkdir()
    with guests.Guest(lab_kernel) as guest:
        _of_yesterday(guest.dir)
        guests.sweep()
        assert {*tmp_path.iterdir()} == {new, guest.dir}


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path) -> None:
    """After a day, and unless a process has it locked: then it is in use."""
    code = """if True:
        import os, signal, sys; from pathlib import Path; from labkit.host import temporary
        with temporary(Path(sys.argv[1])) as made:
            (made / "whole").mkdir()
            os.kill(os.getpid(), signal.SIGKILL)"""
    command = [sys.executable, "-c", code, tmp_path]
    environment = {**os.environ, "PYTHONPATH": str(REPO / "scripts")}
    for _ in range(2):
        assert subprocess.run(command, env=environment).returncode == -signal.SIGKILL
    killed, young = tmp_path.iterdir()
    other = _of_yesterday(tmp_path / "run-1")
    with host.temporary(tmp_path) as used:
        _of_yesterday(killed)
        _of_yesterday(used)
        subprocess.run(command, env=environment)
        assert {young, used, other} < {*tmp_path.iterdir()}
        assert not killed.exists()
    assert not used.exists()


# It names mirrors and packages at once, and takes long to write.
SLOW_TOOL = """#!/bin/sh
case "$*" in
*indextargets*) echo "Debian|stable|http://x/"; echo "Debian-Security|stable-security|http://x/" ;;
*--print-uris*) echo "'http://x/a_1_all.deb' a_1_all.deb 5" ;;
*) echo $$ >"$HOME/pid.part"; mv "$HOME/pid.part" "$HOME/pid"; exec sleep 1000 ;;
esac
"""


@pytest.mark.parametrize("step", [
    "Apt('trixie', home, shown, lock).update()",
    "Apt('trixie', home, shown, lock).download(['a'], home, re.compile('a'))",
    "unpack(home / 'a.deb', home / 'root', lock)",
    "kernel._unpack(home / 'a.deb', 'linux', home / 'source', [], [], shown, lock)",
])  # fmt: skip
def test_what_a_killed_lab_has_started_keeps_its_lock(step, tmp_path) -> None:
    """Otherwise the next lab would write to the same files as the apt or tar that still runs."""
    for name in ("apt-get", "dpkg-deb"):
        (tmp_path / name).write_text(SLOW_TOOL)
        (tmp_path / name).chmod(0o755)
    code = f"""import re; from pathlib import Path
from labkit.host import Progress, locked
from labkit.world import kernel
from labkit.world.debian import Apt, unpack
home, shown = Path({str(tmp_path)!r}), Progress("", False)
with locked(home / "built") as lock: {step}"""
    path = f"{tmp_path}:{os.environ['PATH']}"
    lab = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PATH": path, "HOME": str(tmp_path),
                                           "PYTHONPATH": str(REPO / "scripts")})  # fmt: skip
    pid = tmp_path / "pid"
    with (tmp_path / "built.lock").open("w") as lock:
        try:
            deadline = time.monotonic() + 60
            while not pid.exists():
                assert time.monotonic() < deadline and lab.poll() is None, "nothing has started"
                time.sleep(0.05)
        finally:
            lab.kill()
            lab.wait()
        try:
            assert not host._taken(lock, 0.2)
        finally:
            os.killpg(os.getpgid(int(pid.read_text())), signal.SIGTERM)
        assert host._taken(lock, 20)
