# SPDX-License-Identifier: GPL-2.0
"""The lab's traces and accidents agree with their files and settings, and with arithmetic."""

import importlib.machinery
import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import REPO
from labkit.errors import LabError
from labkit.measure import result
from labkit.measure.job import Job, identity
from labkit.measure.runner import run_all
from labkit.measure.series import series
from labkit.model import scenario, traces
from labkit.world.guests import EPOCH_NS
from labkit.world.laboratory import traffic
from labkit.world.plan import compile_plan
from test_truth import _runs, _settings

FRAME = 1514
TRACES = REPO / "scripts/traces"


@pytest.fixture
def written(tmp_path):
    """written(name, *lines): the path of a new file with these lines."""

    def call(name: str, *lines) -> str:
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return str(path)

    return call


def _table(r: dict, name: str, *columns):
    return series(Path(r["series"]) / name, columns)


def _summary(r: dict) -> dict:
    return json.loads((Path(r["series"]) / "summary.json").read_text())


# trace= -----------------------------------------------------------------------------------------


def test_committed_traces_are_what_their_program_makes() -> None:
    loader = importlib.machinery.SourceFileLoader("make", str(TRACES / "make"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("make", loader))
    loader.exec_module(module)
    for name, text in module.made().items():
        path = TRACES / (name if "." in name else f"{name}.gz")
        assert traces._read(str(path))[1].decode() == text
        assert path.stat().st_size < 32 << 10


@pytest.mark.parametrize("way", ["data", "acks"])
def test_packets_leave_at_the_moments_of_a_trace(stream, written, way) -> None:
    """150 packets wait when it begins.  Each has its own moment, in more than three rounds."""
    forward, back = (1, 1, 2, 5, 5, 5, 9, 300), (2, 3, 4, 4, 50)
    path = written("a", *forward), written("b", *back)
    seen = stream(way, f"trace={','.join(path)}", "buffer=1000", pause=0, size=1472)
    moments = forward if way == "data" else back
    due = [k // len(moments) * moments[-1] + moments[k % len(moments)] for k in range(150)]
    assert [number for number, _, _ in seen] == list(range(150))
    for (_, _, arrived), ms in zip(seen, due, strict=True):
        assert (arrived - seen[0][2]) / 1e6 == pytest.approx(ms - due[0], abs=0.002)


def test_small_packets_share_a_moment_and_large_ones_take_two(stream, written) -> None:
    """15 packets of 100 bytes are 1500 bytes.  The sixteenth takes the rest of the moment and 86
    bytes of the next: no moment carries more than 1514 bytes."""
    seen = stream("data", "trace=" + written("t", 10), "buffer=1000", pause=0, size=58)
    arrived = [round((at - seen[0][2]) / 1e6, 3) for _, _, at in seen]
    assert arrived == [10 * (((k + 1) * 100 - 1) // FRAME) for k in range(150)]


def test_what_nobody_uses_is_lost(stream, written) -> None:
    """A packet that comes to an empty queue waits for the next moment; earlier ones are unused."""
    seen = stream("data", "trace=" + written("t", 7), "buffer=1000", pause=0.0501, size=1472)
    for _, sent, arrived in seen[-50:]:  # the first packets wait for the trace to begin
        assert 0 < (arrived - sent) / 1e6 - 20 <= 7.002
        assert (arrived - seen[0][2]) / 1e6 % 7 == pytest.approx(0, abs=0.002)


def test_a_full_link_carries_its_trace(laboratory) -> None:
    """UDP at more than its rate, for more than one round: within two frames at each sample."""
    settings = _settings("trace=scripts/traces/cellular-up.gz", "cross=udp:20mbit:0-11",
                         "duration=11")  # fmt: skip
    plan = compile_plan(settings, "reno", 1)
    alone = "\n".join(x for x in plan.traffic.splitlines() if not x.startswith("flow ")) + "\n"
    with traffic(laboratory.kernel, laboratory.modules, replace(plan, traffic=alone), 1) as where:
        rows = series(where / "links.csv", (0, 5))
    assert rows[-1, 0] > 10.9 and rows[-1, 1] > 1e6
    for at, sent in rows:
        assert abs(sent - settings.trace[0].bits(at) / 8) <= 2 * FRAME


def test_a_traces_mean_is_the_rate() -> None:
    settings = _settings("trace=scripts/traces/wifi.gz,scripts/traces/cellular-up.gz")
    (data, back) = settings.trace
    assert settings.rate == data.rate == round(len(data.moments) * FRAME * 8e3 / data.moments[-1])
    # The moments of two rounds and of the first half of the third.
    half = data.moments[-1] / 2
    count = 2 * len(data.moments) + sum(ms <= half for ms in data.moments)
    assert data.bits(2.5 * data.moments[-1] / 1e3) == count * FRAME * 8
    assert settings.as_json()["trace"][1] == {"path": back.path, "digest": back.digest}


def test_a_flow_uses_a_trace(laboratory) -> None:
    (r,) = _runs(laboratory, ["cubic"], [1], "trace=scripts/traces/wifi.gz", "buffer=3bdp",
                 "duration=5", "reverse=reno:1")  # fmt: skip
    assert 0.85 < r["links"][0]["utilization_equilibrium"] <= 1.01
    assert r["reverse"]["goodput_bps"] > 0.6 * r["links"][0]["rate_bps"]


def test_a_run_has_the_content_of_its_trace_in_its_key(laboratory, written) -> None:
    def key(*sets: str) -> str:
        return identity(laboratory, Job(scenario.load("dumbbell"), _settings(*sets), "reno", 1))

    one = key("trace=" + written("t", 1, 5))
    assert key("trace=" + written("t", 2, 5)) != one == key("trace=" + written("t", 1, 5))
    assert "trace" not in repr(_settings()) and "trace" in repr(
        _settings("trace=" + written("t", 1, 5))
    )


# rtt_trace=, loss_trace= ------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["data", "acks"])
def test_a_path_is_as_long_as_its_file_says(stream, written, way) -> None:
    """Each way has half of the file's rtt, from the file's moment on, and the file repeats.  No
    packet overtakes another."""
    steps = ((0, 20), (0.5, 60), (1, 30), (1.5, 90))
    path = written("rtt", *(f"{at} {ms}ms" for at, ms in steps), "1.75")
    # The file begins 5 s after the guest; the first datagrams leave before that.
    seen = stream(way, f"rtt_trace={path}", "rate=1gbit", "buffer=1000", pause=0.05)
    assert [number for number, _, _ in seen] == list(range(150))
    last, checked = 0, 0
    for _, sent, arrived in seen:
        now = (sent - EPOCH_NS) / 1e9 - 5
        ms = max((at, ms) for at, ms in steps if at <= max(now, 0) % 1.75)[1]
        assert arrived == pytest.approx(max(sent + ms * 5e5, last), abs=3e3)
        checked += now > 0
        last = arrived
    assert checked > 60


def test_a_path_loses_when_its_file_says(laboratory, written) -> None:
    """The path loses packets in the second half of each second."""
    path = written("loss", "# seconds, share", "0,0", "0.5,5%", "1")
    (r,) = _runs(laboratory, ["reno"], [1], f"loss_trace={path}", "duration=3", "rate=1gbit",
                 "rtt=10ms", "ssthresh=50")  # fmt: skip
    assert r["settings"]["loss"] == pytest.approx(0.025)
    rows = _table(r, "flows.csv", 0, 8)
    for second in range(3):
        at = rows[:, 0] - second
        seen = [rows[(at > a) & (at < b), 1] for a, b in ((0.1, 0.5), (0.5, 1))]
        assert seen[0][0] == seen[0][-1] and seen[1][0] + 5 < seen[1][-1]


def test_a_path_loses_as_much_as_its_file_says(laboratory, written) -> None:
    """Also if the file repeats a value often: five standard deviations of a binomial."""
    path = written("loss", "0 0.01", "0.005 0.01", "0.01")
    (r,) = _runs(laboratory, ["reno"], [1], f"loss_trace={path}", "rtt=1ms", "duration=8",
                 "sample=0")  # fmt: skip
    forward = next(link for link in _summary(r)["links"] if link["name"] == "forward")
    packets = forward["sent_packets"] + forward["drops"]
    assert packets > 20_000
    assert abs(forward["drops"] - 0.01 * packets) < 5 * (0.01 * packets) ** 0.5


def test_files_of_a_path_and_jitter_go_together(laboratory) -> None:
    sets = ("trace=scripts/traces/orbit.gz", "rtt_trace=scripts/traces/orbit.rtt", "duration=3",
            "loss_trace=scripts/traces/orbit.loss", "jitter=2ms", "buffer=2bdp")  # fmt: skip
    settings = _settings(*sets)
    assert settings.rtt == (min(settings.rtt_trace.values),) and settings.min_rtt > 0.038
    one, other = _runs(laboratory, ["bbr"], [1], *sets) + _runs(laboratory, ["bbr"], [1], *sets)
    assert one["flows"] == other["flows"] and one["flows"][0]["retransmits"] > 0
    assert 0.04 < one["flows"][0]["rtt_mean_s"] < 0.3


# burstloss=, duplicate=, thin= ------------------------------------------------------------------


@pytest.mark.parametrize("sets", [[], ["reorder=1%:1us"]])
def test_bursts_of_loss_are_gilberts(stream, sets) -> None:
    """The share that is lost, and the length of bursts: each within four standard deviations."""
    count, bad, good = 10_000, 0.02, 0.25
    seen = {n for n, _, _ in stream("data", f"burstloss={bad}:{good}", *sets, count=count)}
    lost = [n for n in range(count) if n not in seen]
    bursts = sum(n - 1 in seen for n in lost)
    mean, stay = bad / (bad + good), 1 - bad - good
    # Successive packets are correlated: they are worth fewer independent ones.
    slack = 4 * (mean * (1 - mean) / count * (1 + stay) / (1 - stay)) ** 0.5
    assert len(lost) / count == pytest.approx(mean, abs=slack)
    assert len(lost) / bursts == pytest.approx(
        1 / good, abs=4 * ((1 - good) / good**2 / bursts) ** 0.5
    )


def test_both_states_may_lose(stream) -> None:
    """If the bad state never ends, its share is lost; if the good state never ends, its share."""
    settings = _settings("burstloss=1%:1%:80%:10%")
    assert settings.burstloss.mean == settings.as_json()["burstloss"]["mean"] == pytest.approx(0.45)
    lost = 10_000 - len(stream("data", "burstloss=1:1e-9:80%:10%", count=10_000))
    assert lost / 10_000 == pytest.approx(0.8, abs=4 * (0.16 / 10_000) ** 0.5)
    lost = 10_000 - len(stream("data", "burstloss=1e-9:1:80%:10%", count=10_000))
    assert lost / 10_000 == pytest.approx(0.1, abs=4 * (0.09 / 10_000) ** 0.5)


def test_some_come_twice(stream) -> None:
    """Only data, with the copy directly behind.  Four standard deviations of a binomial."""
    count, share = 4000, 0.1
    numbers = [n for n, _, _ in stream("data", f"duplicate={share}", "rate=1gbit", count=count)]
    assert numbers == sorted(numbers) and {*numbers} == {*range(count)}
    twice = len(numbers) - count
    assert twice == pytest.approx(share * count, abs=4 * (share * (1 - share) * count) ** 0.5)
    assert max(map(numbers.count, range(200))) == 2
    assert len(stream("acks", f"duplicate={share}")) == 150


def test_two_acks_of_a_batch_are_left(laboratory) -> None:
    """The first ACK, of each flow or of all flows, and each flow's last; no information is lost."""
    came = {}
    for flows in (1, 3):
        for thin in ("on", "off"):
            (r,) = _runs(laboratory, ["cubic"], [1], "batch=4ms", f"thin={thin}", "duration=3",
                         "buffer=2bdp", f"flows={flows}", "rtt=20ms", "sample=0")  # fmt: skip
            assert r["links"][0]["utilization"] > 0.9
            counters = {(space, name): n for space, name, n in _summary(r)["counters"]}
            came[flows, thin] = counters["s0", "TcpInSegs"]
    # A batch lasts 4 ms from its first ACK on; ACKs come every 0.24 ms.
    batches = 3 / 4.12e-3
    assert came[1, "off"] > 15 * batches
    assert came[1, "on"] == pytest.approx(2 * batches, rel=0.1)
    assert 2 * batches < came[3, "on"] < 4.2 * batches


# router= ----------------------------------------------------------------------------------------


def _delay(laboratory, *sets: str) -> float:
    """The mean wait of packets of eight flows at the bottleneck in a run's second half, s."""
    settings = ("rate=50mbit", "buffer=4bdp", "flows=8", "start=0.1", "duration=12", *sets)
    (r,) = _runs(laboratory, ["reno"], [1], *settings)
    return r["links"][0]["queue_equilibrium"] * FRAME * 8 / 50e6


@pytest.mark.parametrize("target_ms", [20, 40])
def test_pie_keeps_the_delay_that_it_is_told(laboratory, target_ms) -> None:
    """pie's law keeps the target; tc's default target is 15 ms."""
    found = _delay(laboratory, "qdisc=pie", f"router=target {target_ms}ms tupdate 15ms")
    assert found == pytest.approx(target_ms / 1e3, rel=0.3)


def test_options_have_the_last_word(laboratory) -> None:
    """red with the options of warn gives the same results as warn."""
    sets = ("rate=20mbit", "ecn=on", "duration=5", "buffer=90")
    (warn,) = _runs(laboratory, ["reno"], [1], "qdisc=warn", *sets)
    options = f"min {30 * FRAME} max {30 * FRAME + 1} probability 1 burst 30 nodrop"
    (red,) = _runs(laboratory, ["reno"], [1], "qdisc=red", f"router={options}", *sets)
    assert warn["flows"] == red["flows"] and warn["links"] == red["links"]
    assert warn["links"][0]["marks"] > 0


@pytest.mark.parametrize(
    ("qdisc", "router"),
    [
        ("codel", "target 40ms interval 200ms"),
        ("fq_codel", "target 40ms interval 200ms flows 1"),
        ("cake", "rtt 800ms"),  # the target is a twentieth of it
    ],
)
def test_codels_let_a_queue_grow_as_they_are_told(laboratory, qdisc, router) -> None:
    """Without options the target is 5 ms.  With both targets the queue is about the target."""
    short = _delay(laboratory, f"qdisc={qdisc}")
    long = _delay(laboratory, f"qdisc={qdisc}", f"router={router}")
    assert short < 0.015 and 0.02 < long < 0.06


def test_qdiscs_that_a_kernel_lacks_are_named(laboratory) -> None:
    job = Job(scenario.load("dumbbell"), _settings("qdisc=dualpi2"), "reno", 1)
    says = r"^dualpi2 needs Linux 6\.17 or later; the lab kernel is 6\.12.*--kernel"
    with pytest.raises(LabError, match=says):
        run_all(laboratory, [job])


def test_wrong_options_are_told_by_tc(laboratory) -> None:
    job = Job(scenario.load("dumbbell"), _settings("qdisc=pie", "router=goal 5ms"), "reno", 1)
    for _ in range(2):  # a failed run does not prevent the next one
        with pytest.raises(LabError, match=r'setting up the topology failed: .*"goal"'):
            run_all(laboratory, [job])


# voice=, ask=, sizes= --------------------------------------------------------------------------

QUIET = ("app=100/20s", "rate=20mbit", "rtt=40ms", "buffer=1000")  # one segment in the whole run


def test_a_call_takes_half_a_round_trip(laboratory) -> None:
    """On an idle path; the clock is read at both ends.  A call has 50 datagrams a second."""
    (r,) = _runs(laboratory, ["reno"], [1], "voice=3", "duration=4", *QUIET)
    rows = _table(r, "voice.csv", 0, 1, 2)
    took = rows[~(rows[:, 2] != rows[:, 2]), 2]
    # Three calls may meet at the bottleneck.
    one = (172 + 28 + 14) * 8 / 20e6
    assert took.min() == pytest.approx(0.02 + one, abs=3e-6) and took.max() <= 0.02 + 3 * one + 3e-6
    voice = r["voice"]
    assert voice["lost"] == 0 and abs(voice["sent"] - 3 * 50 * (4 - 0.02)) <= 3
    assert voice["delay_median_s"] == pytest.approx(0.02 + one, abs=3e-6)


@pytest.mark.parametrize(
    ("sets", "lost", "slack"),
    # 800 datagrams; slack: four standard deviations, or one datagram per call
    [(["last_hop=0.1"], 80, 34), (["blackout=2:0.5"], 50, 2)],
)
def test_calls_lose_what_the_path_loses(laboratory, sets, lost, slack) -> None:
    (r,) = _runs(laboratory, ["reno"], [1], "voice=2:100/10ms" if "last" in sets[0] else "voice=2",
                 "duration=4", *QUIET, *sets)  # fmt: skip
    assert abs(r["voice"]["lost"] - lost) <= slack


def test_responses_take_what_arithmetic_says(laboratory) -> None:
    """A request is one segment; nine segments are one window, which a busy link sends in a row."""
    (r,) = _runs(laboratory, ["reno"], [1], "ask=1:400:12k:300ms", "duration=20", *QUIET)
    rows = _table(r, "ask.csv", 0, 2)
    took = rows[rows[:, 1] == rows[:, 1], 1]
    whole = 0.04 + (12000 + 9 * 66) * 8 / 20e6
    assert took == pytest.approx(whole, abs=1e-4)
    assert r["ask"]["took_p99_s"] == pytest.approx(whole, abs=1e-4)
    # The client thinks for 300 ms on average: four standard deviations of exponential times.
    count = 20 / (0.3 + whole)
    assert r["ask"]["asked"] == pytest.approx(count, abs=4 * 0.3 / (0.3 + whole) * count**0.5)
    assert r["ask"]["unanswered"] == 0


def test_many_share_a_link(laboratory) -> None:
    """A client that never thinks always has something on its way.  Runs with one seed are equal."""
    sets = ("ask=6:400:100k:0", "voice=1", "duration=6", *QUIET)
    (r,), (again,) = (_runs(laboratory, ["reno"], [1], *sets) for _ in range(2))
    assert r["ask"] == again["ask"] and r["voice"] == again["voice"]
    rows = _table(r, "ask.csv", 0, 2)
    took = rows[rows[:, 1] == rows[:, 1], 1]
    # Six responses of 70 segments, beside the call.  If they are in step, the link is idle for a
    # round trip between them.
    six = 6 * (100e3 + 70 * 66) * 8 / (20e6 - 50 * 214 * 8)
    assert six <= r["ask"]["took_median_s"] <= six + 0.04
    # Little's law: each client always has one under way, but for the handshake; the last one has
    # not ended.
    assert 6 * (6 - 0.1) - 6 * took.max() <= took.sum() <= 36
    assert len(rows) - len(took) == len(took) + 6


def test_what_is_under_way_at_the_end_is_not_lost(tmp_path) -> None:
    """The slowest took 0.3 s: what was sent in the last 0.3 s may still arrive.  What arrived twice
    was sent once."""
    rows = [(0, 0, ""), (0, 0, 0.1), (0, 0, 0.1), (0.5, 0, ""), (0.6, 1, ""), (0.6, 1, 0.3),
            (0.8, 1, "")]  # fmt: skip
    path = tmp_path / "voice.csv"
    path.write_text("time_s,id,took_s\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    sent, lost, took = result._said(path, 1.0)
    assert (sent, lost, list(took)) == (3, 1, [0.1, 0.1, 0.3])
    assert result._spread("delay", took)["delay_median_s"] == 0.1


def test_short_flows_are_as_large_as_a_file_says(laboratory, written) -> None:
    """Each size equally often, within four standard deviations; and all of it arrives."""
    sizes = 1448, 14_480, 50_000
    sets = ("short=200", f"sizes={written('sizes', *sizes)}", "duration=4", "rate=200mbit",
            "rtt=20ms", "ssthresh=2")  # fmt: skip  # and one flow that grows slowly
    plan = compile_plan(_settings(*sets), "reno", 1).traffic
    drawn = [int(size) for size in re.findall(r"^short .* bytes=(\d+)", plan, re.M)]
    assert {*drawn} == {*sizes}
    for size in sizes:
        assert drawn.count(size) == pytest.approx(
            len(drawn) / 3, abs=4 * (len(drawn) * 2 / 9) ** 0.5
        )
    with pytest.raises(LabError, match="set short=100 and sizes=PATH"):
        _settings("short=100:30:1.35", sets[1])
    (r,) = _runs(laboratory, ["reno"], [1], *sets)
    assert r["short"]["flows"] == len(drawn) and r["short"]["unfinished"] <= 40
    assert sum(drawn) - 40 * max(sizes) <= r["short"]["bytes"] <= sum(drawn)


# What does not go together ----------------------------------------------------------------------

TRACE = "trace=scripts/traces/wifi.gz"
RTT, LOSS = "rtt_trace=scripts/traces/orbit.rtt", "loss_trace=scripts/traces/orbit.loss"


def test_a_file_that_repeats_at_once_is_refused_at_once(written) -> None:
    """And a long file is not, if the run ends before its last steps."""
    for name, first in (("rtt_trace", "0 10ms"), ("loss_trace", "0 1%")):
        for period in ("1e-9", "1e-320"):
            with pytest.raises(LabError, match="changes, and 100000 is the most"):
                _settings(f"{name}=" + written("quick", first, period))
    long = written("long", *(f"{k / 1e4:g} 10ms" for k in range(200_000)), "30")
    assert len(_settings(f"rtt_trace={long}", "duration=2").steps) == 20_000


@pytest.mark.parametrize(
    ("sets", "why"),
    [
        (["trace=nowhere"], "from the repository's root on: .*nowhere: No such file"),
        (["trace=a,b,c"], "one path, for the data, or two"),
        (["trace=README.md"], "a file of numbers|a whole number of ms in each line"),
        ([TRACE, "rate=10mbit"], "drop rate, or trace"),
        ([TRACE, "qdisc=acp"], "drop it, or trace"),
        ([TRACE, "offload=on"], "needs offload=off"),
        ([TRACE, "police=10mbit"], "drop police, or trace"),
        ([TRACE, "change=2:rate=1mbit"], "the change of rate"),
        ([TRACE, "network=two-links"], "drop trace, or network"),
        ([RTT, "rtt=10ms"], "drop rtt, or rtt_trace"),
        ([LOSS, "loss=0.1"], "drop loss, or loss_trace"),
        ([RTT, "change=1:loss=0.1"], "drop them, or the change"),
        ([RTT, "duration=900000"], "changes, and 100000 is the most"),
        (["loss_trace=scripts/traces/orbit.rtt"], "line 1 of .* '0 40.*' .a number from 0 to 0.5"),
        (["rtt_trace=scripts/traces/wifi.gz"], "seconds and a value in each line"),
        ([LOSS, "offload=on"], "loss drops single packets"),
        (["burstloss=0.1"], "BAD:GOOD"),
        (["burstloss=0:1"], "BAD:GOOD"),
        (["burstloss=0.1:0.2", "last_hop=0.1"], "drop last_hop, or burstloss"),
        (["burstloss=0.1:0.2", "offload=on"], "need offload=off"),
        (["burstloss=0.1:0.2", "network=two-links"], "drop burstloss, or network"),
        (["duplicate=0.1", "offload=on"], "need offload=off"),
        (["router=target 5ms"], "qdisc=fifo has no options"),
        (["qdisc=pie", "router=limit 5"], "buffer sets limit: drop limit"),
        (["qdisc=cake", "router=bandwidth 5mbit"], "rate sets bandwidth: drop bandwidth"),
        (["qdisc=fq_codel", "router=noecn"], "ecn sets noecn: drop noecn"),
        (["qdisc=pie", "router=target;5ms"], "options in tc's syntax"),
        (["voice=0"], "CALLS"),
        (["voice=1:4/20ms"], "8 to 1400 bytes"),
        (["ask=1:2:3"], "CLIENTS:REQUEST:RESPONSE:THINK"),
        (["ask=1:1:1:1s", "network=two-links"], "drop ask, or network"),
        (["short=100"], "need each other: set short=100"),
        (["short=9", "sizes=scripts/traces/orbit.rtt"], "a number of bytes in each line"),
        (["thin=on"], "set batch, or drop thin"),
        (["thin=on", "batch=1ms", "reverse=cubic"], "drop it, or reverse"),
    ],
)
def test_refusals_say_what_to_do(sets, why) -> None:
    with pytest.raises(LabError, match=why):
        _settings(*sets)


def test_a_trace_that_falls_is_refused(written) -> None:
    for lines, why in (((1, 3, 2), "rising times"), ((0, 0), "last one above 0"), ((), "rising"),
                       ((1, "x"), "'x' in line 2")):  # fmt: skip
        with pytest.raises(LabError, match=why):
            _settings("trace=" + written("t", *lines))
