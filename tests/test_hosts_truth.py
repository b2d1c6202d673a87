# SPDX-License-Identifier: GPL-2.0
"""The lab's hosts and accidents do what they claim, compared with arithmetic."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.errors import LabError
from labkit.measure.job import Job
from labkit.measure.runner import run_all
from labkit.measure.series import series
from labkit.model import scenario
from labkit.world.plan import compile_plan
from labkit.world.topology import BLACKOUT, BOTTLENECK, LAST_HOP
from test_truth import _measure, _runs, _settings

MSS, FRAME = 1448, 1514


def _table(r: dict, name: str, *columns: int):
    return series(Path(r["series"]) / name, columns)


def _summary(r: dict) -> dict:
    return json.loads((Path(r["series"]) / "summary.json").read_text())


def _counters(r: dict) -> dict[tuple[str, str], int]:
    return {(space, name): value for space, name, value in _summary(r)["counters"]}


def _batches(seen: list[list[int]]) -> tuple[list[float], list[float]]:
    """Gaps of arrivals, s: inside batches, and between the first packets of successive batches."""
    inside, starts = [], []
    for before, now in itertools.pairwise([None, *(arrived for _, _, arrived in seen)]):
        if before is not None and now - before < 5000:
            inside.append((now - before) / 1e9)
        else:
            starts.append(now)
    return inside, [(b - a) / 1e9 for a, b in itertools.pairwise(starts)]


# host= ------------------------------------------------------------------------------------------


def test_flows_are_scattered_by_the_seed() -> None:
    """Starts are within the scatter.  They depend on the seed, and on nothing else."""

    def starts(seed: int) -> list[int]:
        plan = compile_plan(_settings("flows=4", "start=1", "scatter=10ms"), "cubic", seed)
        return [int(s) for s in re.findall(r"^flow id=\d+ .* start=(\d+)", plan.traffic, re.M)]

    for seed in (1, 2):
        parts = [at - i * 10**9 for i, at in enumerate(starts(seed))]
        assert len({*parts}) == 4 and all(0 <= part <= 10**7 for part in parts)
    assert starts(1) == starts(1) != starts(2)


def test_exact_is_the_default_and_adds_nothing() -> None:
    plans = [compile_plan(_settings(*sets), "cubic", 1) for sets in ([], ["host=exact"])]
    assert plans[0] == plans[1]
    assert "host" not in _settings().as_json()


def test_nic_processes_acks_one_after_the_other(stream) -> None:
    """Packets come every 10 us and wait for an interrupt, 50 us after the first of them.  In one
    interrupt each packet takes 0.3 us."""
    seen = stream("acks", "host=nic", pause=1e-5)
    inside, apart = _batches(seen)
    assert len(inside) > 75
    assert all(gap == pytest.approx(0.3e-6, abs=0.02e-6) for gap in inside)
    assert all(50e-6 <= gap < 75e-6 for gap in apart)


def test_slow_hosts_take_longer_for_each(stream) -> None:
    """In a batch of the path and, with a card, in the batch of an interrupt."""
    for sets, pause in ((["batch=1ms", "host=slow"], 0), (["host=nic,slow"], 1e-5)):
        inside, _ = _batches(stream("acks", *sets, pause=pause))
        assert len(inside) > 75
        assert all(gap == pytest.approx(4e-6, abs=0.02e-6) for gap in inside)


def test_exact_processes_acks_at_one_instant(stream) -> None:
    """In a batch of the path.  The card above would take time for each packet."""
    inside, _ = _batches(stream("acks", "batch=1ms"))
    assert len(inside) > 75 and not any(inside)


def test_nic_receives_data_together(stream) -> None:
    inside, apart = _batches(stream("data", "host=nic", "rate=1gbit", pause=1e-5))
    assert len(inside) > 75 and not any(inside)
    assert all(50e-6 <= gap < 75e-6 for gap in apart)


@pytest.mark.parametrize(
    ("sets", "least", "most"),
    [
        # 50 us and the wait for a first packet at 1 Gb/s: 4 or 5 frames of 12.1 us.
        (["host=nic"], 3.9, 5.2),
        # In 1 ms 82 frames arrive.  GRO joins up to 45 segments, 64 kB, and NAPI passes on what GRO
        # holds after 64 packets.
        (["host=nic", "aggregate=1ms"], 82 / 4, 45),
        # A receiver acknowledges every second segment.
        ([], 1.8, 2.1),
    ],
)
def test_receivers_acknowledge_what_gro_has_joined(laboratory, sets, least, most) -> None:
    (r,) = _runs(laboratory, ["reno"], [1], "rate=1gbit", "rtt=10ms", "buffer=2bdp", "duration=1",
                 "ssthresh=1.2bdp", *sets)  # fmt: skip
    assert not r["flows"][0]["retransmits"]
    packets = _summary(r)["links"][0]["sent_packets"]
    assert least <= packets / _counters(r)["r", "TcpOutSegs"] <= most


@pytest.mark.parametrize("host", ["nic", "exact"])
def test_loss_takes_single_packets_from_a_sender_with_tso(laboratory, host) -> None:
    """netem would drop a large packet as a whole, and each drop would cause many retransmits."""
    (r,) = _runs(laboratory, ["cubic"], [1], f"host={host}", "loss=1e-3", "rate=200mbit",
                 "rtt=20ms", "duration=3", "buffer=4bdp")  # fmt: skip
    counters, links = _counters(r), {link["name"]: link for link in _summary(r)["links"]}
    assert counters["s0", "TcpOutSegs"] > 1.5 * counters["s0", "IpOutRequests"]
    lost = links["forward"]["drops"] + links["bottleneck"]["drops"]
    sent = links["forward"]["sent_packets"] + links["forward"]["drops"]
    assert links["forward"]["drops"] == pytest.approx(1e-3 * sent, abs=5 * (1e-3 * sent) ** 0.5)
    assert lost <= r["flows"][0]["retransmits"] <= 1.05 * lost + 2


def test_fq_paces(laboratory) -> None:
    """A batch of ACKs releases a quarter of a window at once, and the link queues it.  fq sends it
    at 1.2 times window over rtt, which is less than the link's rate."""
    sets = ("batch=10ms", "ssthresh=0.7bdp", "duration=1.2", "rate=100mbit", "rtt=40ms")
    (bursts,) = _runs(laboratory, ["reno"], [1], *sets)
    (paced,) = _runs(laboratory, ["reno"], [1], "host=fq", *sets)
    longest = []
    for r in (bursts, paced):
        rows = _table(r, "links.csv", 0, 2)
        longest.append(rows[rows[:, 0] > 0.6, 1].max())
    quarter = 0.7 * _settings(*sets).bdp / 4
    # Sampled every 5 ms, in which the link sends 41 packets.
    assert longest[0] > quarter - 42 + 10
    assert longest[1] <= 5


def test_default_buffers_limit_and_grow(laboratory) -> None:
    """The first window is 64 kB.  The maximum is wmem's 4 MB, and autotuning comes near it."""
    sets = ("rate=400mbit", "rtt=200ms", "buffer=1bdp", "duration=4")
    (free,) = _runs(laboratory, ["reno"], [1], *sets)
    (held,) = _runs(laboratory, ["reno"], [1], "host=default", *sets)
    most = 4194304 * 8 / 0.2
    rates = []
    for r in (free, held):
        rows = _table(r, "flows.csv", 0, 7)
        rows = rows[rows[:, 0] >= 3]
        rates.append((rows[-1, 1] - rows[0, 1]) * 8 / (rows[-1, 0] - rows[0, 0]))
    assert rates[0] > 1.5 * most
    assert 0.25 * most < rates[1] <= 1.01 * most
    flow = held["flows"][0]
    assert flow["rwnd_limited_s"] + flow["sndbuf_limited_s"] > 1


def test_vm_sleeps(stream) -> None:
    inside, apart = _batches(stream("acks", "host=vm", pause=5e-4))
    assert len(inside) > 75
    assert all(gap == pytest.approx(0.3e-6, abs=0.02e-6) for gap in inside)
    # A sleep is uniform from 1 to 20 ms, and the next packet comes up to 0.6 ms later.
    assert all(1e-3 <= gap <= 20.7e-3 for gap in apart)
    assert max(apart) > 2 * min(apart)


# reorder= ---------------------------------------------------------------------------------------


def test_reordered_packets_are_overtaken_by_so_many(stream) -> None:
    """Behind a busy link, whose frames are 1.2 ms apart."""
    seen = stream("data", "reorder=0.1:20", "rate=10mbit", "buffer=1000", pause=0, size=1472)
    numbers = [number for number, _, _ in seen]
    assert sorted(numbers) == list(range(150))
    overtaken = [
        sum(later > number for later in numbers[:k]) for k, number in enumerate(numbers)
    ]
    late = [n for n in overtaken if n]
    # 15 of 150 are expected; the bounds are four standard deviations away.  A late packet does not
    # overtake others that are late too, and no packet comes after the last one.
    assert 2 <= len(late) <= 30
    assert max(late) <= 20
    assert sum(n >= 14 for n in late) >= len(late) / 2


def test_reordered_packets_are_late_by_a_time(stream) -> None:
    seen = stream("data", "reorder=20%:5ms")
    waits = [(arrived - sent) / 1e6 - 20 for _, sent, arrived in seen]
    late = [wait for wait in waits if wait > 1]
    assert 10 <= len(late) <= 50
    assert all(wait == pytest.approx(5, abs=0.06) for wait in late)
    assert all(wait < 0.06 for wait in waits if wait not in late)


def test_acks_are_not_reordered(stream) -> None:
    seen = stream("acks", "reorder=50%:5ms")
    assert [number for number, _, _ in seen] == list(range(150))
    assert max(arrived - sent for _, sent, arrived in seen) < 20.1e6


@pytest.mark.parametrize(("sets", "late"), [("0.01:20", 20 * FRAME * 8 / 2e7), ("1%:7ms", 7e-3)])
def test_reorder_says_how_late(sets, late) -> None:
    settings = _settings("rate=20mbit", f"reorder={sets}")
    assert settings.late == pytest.approx(late)
    assert settings.as_json()["reorder"] == {"share": 0.01, "late": settings.late}


# last_hop= --------------------------------------------------------------------------------------


def _constant_rate(laboratory, *sets: str) -> dict:
    """The result of 50 Mb/s of UDP in 3 s, without other traffic."""
    settings = _settings("rate=100mbit", "cross=udp:50mbit:0-3", "duration=3", *sets)
    plan = compile_plan(settings, "reno", 1)
    alone = "\n".join(x for x in plan.traffic.splitlines() if not x.startswith("flow ")) + "\n"
    return _measure(laboratory, replace(plan, traffic=alone))


@pytest.mark.parametrize("sets", [["last_hop=0.02"], ["last_hop=0.02", "reorder=0.01:20"]])
def test_last_hop_loses_behind_the_bottleneck(laboratory, sets) -> None:
    """That share of what has passed the bottleneck, within four standard deviations."""
    links = {x["name"]: x for x in _constant_rate(laboratory, *sets)["links"]}
    passed = links[BOTTLENECK]["sent_bytes"] / FRAME
    assert passed == pytest.approx(3 * 50e6 / 8 / FRAME, rel=0.01)
    lost = links[LAST_HOP]["drops"]
    assert lost == pytest.approx(0.02 * passed, abs=4 * (0.02 * 0.98 * passed) ** 0.5)
    assert not sum(x["drops"] for name, x in links.items() if name != LAST_HOP)


def test_last_hop_loses_no_acks(stream) -> None:
    assert [number for number, _, _ in stream("acks", "last_hop=0.5")] == list(range(150))


# blackout= --------------------------------------------------------------------------------------


def test_blackout_drops_what_comes_in_it(laboratory) -> None:
    """At a constant bit rate: all packets that come in the blackouts, and no others."""
    settings = _settings("rate=100mbit", "cross=udp:10mbit:0-3", "blackout=1:0.5,2:0.1",
                         "duration=3")  # fmt: skip
    plan = compile_plan(settings, "reno", 1)
    alone = "\n".join(x for x in plan.traffic.splitlines() if not x.startswith("flow ")) + "\n"
    links = _measure(laboratory, replace(plan, traffic=alone))["links"]
    lost = sum(link["drops"] for link in links if link["name"] == BLACKOUT)
    assert lost == pytest.approx(0.6 * 10e6 / 8 / FRAME, abs=4)


def test_blackout_is_silent_in_both_directions(laboratory) -> None:
    (r,) = _runs(laboratory, ["cubic"], [1], "blackout=1:0.5", "duration=3", "reverse=cubic:1",
                 "rate=20mbit")  # fmt: skip
    doors = [x["drops"] for x in _summary(r)["links"] if x["name"] == BLACKOUT]
    assert len(doors) == 2 and all(doors)
    assert r["links"][0]["blackout_drops"] == sum(doors)
    rows = _table(r, "flows.csv", 0, 7)
    # The last ACK leaves at 1 s, and arrives half an rtt later, after its queue.  The blackout may
    # begin a hundredth of a second late, because /proc/uptime counts hundredths.
    dark = rows[(rows[:, 0] > 1.12) & (rows[:, 0] < 1.5), 1]
    assert dark[0] == dark[-1]
    assert rows[-1, 1] > dark[-1]


# app=, switch= ----------------------------------------------------------------------------------


def test_requests_take_what_arithmetic_says(laboratory) -> None:
    """Nine segments fit into one window: half an rtt, and the time to send them.  Between requests
    the flow is idle, for as long as the setting says."""
    (r,) = _runs(laboratory, ["reno"], [1], "app=12k+100k/2s", "rate=20mbit", "rtt=40ms",
                 "duration=9.5")  # fmt: skip
    seen = _table(r, "requests.csv", 0, 2, 3)
    assert [int(size) for size in seen[:, 1]] == [12000, 100000, 12000, 100000, 12000]
    assert seen[:, 0] == pytest.approx([0, 2, 4, 6, 8], abs=1e-6)
    one = 0.02 + (12000 + 9 * (FRAME - MSS)) * 8 / 20e6
    assert seen[2, 2] == seen[4, 2] == pytest.approx(one, abs=1e-4)
    assert seen[0, 2] == pytest.approx(one + 0.04, abs=5e-4)  # plus the handshake
    # 100 kB are 70 segments, windows of 10, 20 and 40.  The bound allows four windows of 1.25 rtt,
    # after half an rtt.
    assert one < seen[1, 2] < 0.02 + 4 * 0.05
    flow = r["flows"][0]
    assert (flow["requests"], flow["answered"]) == (5, 5)
    assert flow["request_max_s"] == pytest.approx(seen[:, 2].max())
    assert flow["request_mean_s"] == pytest.approx(seen[:, 2].mean())
    rows = _table(r, "flows.csv", 0, 3)
    for idle in (0.5, 2.5, 4.5, 6.5):
        assert not rows[(rows[:, 0] > idle) & (rows[:, 0] < idle + 1.4), 1].any()


def test_flows_switch_congestion_control(laboratory) -> None:
    """BBR shows a bandwidth, and Reno does not."""
    (r,) = _runs(laboratory, ["reno"], [1], "switch=1:bbr,2:reno", "rate=20mbit", "duration=3")
    rows = (Path(r["series"]) / "flows.csv").read_text().splitlines()[1:]
    shown = [float(row.split(",")[0]) for row in rows if row.split(",")[13]]
    assert min(shown) == pytest.approx(1, abs=0.01) and max(shown) == pytest.approx(2, abs=0.01)
    assert len(shown) == pytest.approx(1 / 0.005, abs=3)


# What does not go together ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sets", "why"),
    [
        (["host=fast"], "host takes exact, or one or more of nic"),
        (["host=nic", "offload=on"], "drop offload=on, or nic"),
        (["host=nic", "network=two-links"], "drop host, or network"),
        (["host=slow", "network=two-links"], "host=slow needs a single link"),
        (["qdisc=warn"], "qdisc=warn needs ecn=on"),
        (["qdisc=warn", "ecn=on", "buffer=2"], "a buffer of at least 3 packets"),
        (["scatter=10s", "duration=10"], "the last flow would start after the end"),
        (["stop=0:20", "duration=20"], "a flow would stop after the end of the run"),
        (["reorder=0.1"], "SHARE:PACKETS"),
        (["reorder=0.1:3", "offload=on"], "needs offload=off"),
        (["blackout=1:2,2:1"], "do not overlap"),
        (["blackout=20:1"], "after the end of the run"),
        (["change=5:rtt=80ms,20:rate=5mbit"], "the last change would begin after the end"),
        (["switch=1"], "SECONDS:NAME"),
        (["app=1k+/1s"], "several sizes in turn"),
    ],
)
def test_refusals_say_what_to_do(sets, why) -> None:
    with pytest.raises(LabError, match=why):
        _settings(*sets)


def test_the_laboratory_knows_what_flows_switch_to(laboratory) -> None:
    job = Job(scenario.load("dumbbell"), _settings("switch=1:nothing"), "reno", 1)
    with pytest.raises(LabError, match="no congestion control 'nothing'"):
        run_all(laboratory, [job])
