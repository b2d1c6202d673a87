# SPDX-License-Identifier: GPL-2.0
"""What ccpd, ccp and ccpd_path promise, measured in the lab.

test_report.py tests more of it: the findings of scenarios/path-*.toml.
"""

import csv
from pathlib import Path
from statistics import mean

import pytest

SHARED = {"rate": "100mbit", "rtt": "50ms", "buffer": "1bdp"}
PAYLOAD = 1448 / 1514  # share of an Ethernet frame without its checksum, with TCP timestamps


def run(lab, ccs, seed=1, **settings):
    """Results of one run per congestion control."""
    arguments = ["run", "dumbbell", "--json", "--seed", seed]
    for cc in ccs:
        arguments += ["--cc", cc]
    for key, value in settings.items():
        for one in value if isinstance(value, list) else [value]:
            arguments += ["--set", f"{key}={one}"]
    return lab(*arguments).json


def series(result, name):
    """Rows of a sampled time series."""
    with Path(result["series"], f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("cc", ["ccpd", "ccpd_path"])
@pytest.mark.parametrize(
    ("rate", "bps", "rtt"),
    [("10mbit", 1e7, "40ms"), ("1gbit", 1e9, "40ms"), ("10gbit", 1e10, "10ms")],
)
def test_capacity_estimate(lab, cc, rate, bps, rtt):
    (result,) = run(lab, [cc], rate=rate, rtt=rtt, bytes="20M", buffer="2bdp")
    estimates = [float(r["cc_bw_bps"]) for r in series(result, "flows") if r["cc_bw_bps"]]
    assert estimates[-1] == pytest.approx(bps * PAYLOAD, rel=0.02)


@pytest.mark.parametrize(
    "condition",
    [
        {"ack": "every"},
        {"offload": "on"},
        {"loss": "1e-3"},
        {"cross": "udp:30mbit:0-10"},
        {"ip": "6"},
    ],
    ids=lambda condition: "-".join(map("-".join, condition.items())),
)
def test_capacity_estimate_in_spite_of(lab, condition):
    """ACK patterns, bursts, losses and cross traffic do not change the estimate."""
    (result,) = run(lab, ["ccpd_path"], **SHARED, duration=10, **condition)
    estimates = [float(r["cc_bw_bps"]) for r in series(result, "flows") if r["cc_bw_bps"]]
    payload = (1428 if "ip" in condition else 1448) / 1514
    assert estimates[-1] == pytest.approx(1e8 * payload, rel=0.02)


@pytest.mark.parametrize("kp", [2, 4])
def test_ccpd_is_the_printed_law(lab, kp):
    """If Eq. 3 cannot fill the path, the window is Kp B / (1 + Kp)."""
    (result,) = run(
        lab, ["ccpd"], rate="1gbit", rtt="190ms", buffer=700, duration=20,
        param=f"tcp_ccpd.kp={kp}",
    )  # fmt: skip
    rows = [r for r in series(result, "flows") if float(r["time_s"]) > 10]
    buffer = mean(float(r["cc_buffer_segs"]) for r in rows)
    assert buffer == pytest.approx(700, rel=0.1)
    in_flight = mean(float(r["in_flight"]) for r in rows)
    assert in_flight == pytest.approx(kp * buffer / (1 + kp), rel=0.1)


def test_derivative_term_is_what_ccp_lacks(lab):
    """With kd=0 ccpd gives the same bytes as ccp; with kd=100 it does not."""
    path = {"rate": "1gbit", "rtt": "190ms", "buffer": 700, "duration": 8}
    ccp, same = run(lab, ["ccp", "ccpd"], **path, param="tcp_ccpd.kd=0")
    (other,) = run(lab, ["ccpd"], **path)
    assert ccp["flows"][0] | {"cc": "ccpd"} == same["flows"][0]
    assert same["flows"] != other["flows"]


def test_fair_among_its_own(lab):
    """Four flows start one second apart.  They are fair, although three start with a queue."""
    (result,) = run(lab, ["ccpd_path"], **SHARED, flows=4, start=1, duration=60)
    assert result["jain"] >= 0.95


def test_path_that_changes(lab):
    """The route gets longer and shorter, the bottleneck slower and faster."""
    (result,) = run(
        lab, ["ccpd_path"], **SHARED, duration=50,
        change="10:rtt=75ms,20:rtt=50ms,30:rate=50mbit,40:rate=100mbit",
    )  # fmt: skip
    link = result["links"][0]
    assert link["utilization"] >= 0.95
    assert link["queue_mean"] <= 0.1 * 1e8 / 8 / 1514 * 0.05
    # within three seconds of each change, rtt and window are those of the new path
    for at, rtt, rate in ((10, 0.075, 1e8), (20, 0.05, 1e8), (30, 0.05, 5e7), (40, 0.05, 1e8)):
        rows = [r for r in series(result, "flows") if at + 3 <= float(r["time_s"]) <= at + 9]
        assert mean(float(r["rtt_s"]) for r in rows) <= rtt * 1.125, at
        in_flight = mean(float(r["in_flight"]) for r in rows)
        assert in_flight == pytest.approx(rate / 8 / 1514 * rtt, rel=0.125), at


@pytest.mark.parametrize("at", [10, 10.01, 10.02])
def test_path_that_gets_longer_at_any_moment(lab, at):
    """The moment decides which queue of its own the flow sees.  That queue is no rival's."""
    (result,) = run(lab, ["ccpd_path"], **SHARED, duration=20, change=f"{at}:rtt=75ms")
    late = [r for r in series(result, "flows") if float(r["time_s"]) >= 13]
    assert mean(float(r["in_flight"]) for r in late) >= 0.95 * 1e8 / 8 / 1514 * 0.075


def test_path_that_gets_a_little_longer(lab):
    """By less than the flow's own queue: only the next drain finds it, ten seconds later."""
    (result,) = run(lab, ["ccpd_path"], **SHARED, duration=40, change="5:rtt=54ms")
    rows = [r for r in series(result, "flows") if float(r["time_s"]) >= 18]
    in_flight = mean(float(r["in_flight"]) for r in rows)
    assert in_flight == pytest.approx(1e8 / 8 / 1514 * 0.054, rel=0.125)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_batches_of_acks_as_far_apart_as_a_round_trip(lab, seed) -> None:
    """The host has no CPU for 1 to 20 ms at a time.  The goodput is at least CUBIC's, and the
    trains do not overflow the buffer one after the other."""
    cubic, path = run(lab, ["cubic", "ccpd_path"], seed, rate="20mbit", rtt="20ms", host="vm",
                      duration=20)  # fmt: skip
    (theirs,), (ours,) = cubic["flows"], path["flows"]
    assert ours["goodput_bps"] >= theirs["goodput_bps"]
    assert ours["retransmits"] <= ours["bytes"] / 1448 / 10


@pytest.mark.parametrize(
    "path",
    [
        {"trace": "scripts/traces/wifi.gz", "rtt": "13.5ms", "buffer": "1.07bdp", "loss": 0.0003},
        {"rate": "100mbit", "rtt": "10ms", "buffer": "1bdp", "host": "vm"},
    ],
    ids=["wifi", "vm"],
)
def test_acks_in_bunches_tell_of_a_link_that_waits(lab, path) -> None:
    """The amount delivered in one round trip is random there, so it must not lower the claim."""
    cubic, ours = run(lab, ["cubic", "ccpd_path"], **path, duration=10)
    assert ours["flows"][0]["goodput_bps"] >= cubic["flows"][0]["goodput_bps"]


def test_bunches_leave_another_its_part(lab) -> None:
    """CUBIC has half of what it has beside CUBIC: two losses beside a queue are not noise.

    Means of two seeds, because it is random whose packets an overflow drops.
    """

    def cubic(mix):
        path = {"rate": "20mbit", "rtt": "20ms", "buffer": "1bdp", "host": "vm", "duration": 20}
        runs = [run(lab, [], seed, **path, mix=mix, start=2)[0] for seed in (1, 2)]
        return [f["goodput_bps"] for r in runs for f in r["flows"] if f["cc"] == "cubic"]

    ours = cubic("cubic:1,ccpd_path:1") + cubic("ccpd_path:1,cubic:1")
    assert mean(ours) >= mean(cubic("cubic:2")) / 2


def test_flows_of_one_kind_are_no_bunches(lab) -> None:
    """16 flows have their ACKs at the rate of the link, not in bunches; the queue stays small."""
    cubic, path = run(lab, ["cubic", "ccpd_path"], **SHARED, flows=16, start="70ms",
                      scatter="20ms", duration=30)  # fmt: skip
    assert path["links"][0]["queue_mean"] <= cubic["links"][0]["queue_mean"] / 2
    assert path["jain"] >= 0.95


@pytest.mark.parametrize("rtt", ["1ms", "2ms"])
@pytest.mark.parametrize("buffer", ["0.5bdp", "2bdp"])
def test_short_paths_are_full(lab, rtt, buffer) -> None:
    """A burst of TSO queues behind itself.  The flow must not give way to that queue."""
    cubic, path = run(lab, ["cubic", "ccpd_path"], rate="1gbit", rtt=rtt, buffer=buffer,
                      duration=1, sample="1ms")  # fmt: skip
    (theirs,), (ours,) = cubic["flows"], path["flows"]
    assert ours["goodput_bps"] >= 0.97 * theirs["goodput_bps"]


def test_jitter_is_no_slow_link(lab) -> None:
    """Jitter stretches a train as a slow link does.  0.7 of BBR is the bound for any path."""
    path = {"rate": "2.29gbit", "rtt": "7.34ms", "buffer": "6.57bdp", "jitter": "3.33ms"}
    runs = [run(lab, ["bbr", "ccpd_path"], seed, **path, duration=1) for seed in (1, 2, 3)]
    bbr, ours = (mean(r["flows"][0]["goodput_bps"] for r in of) for of in zip(*runs, strict=True))
    assert ours >= 0.7 * bbr


def test_flows_with_jitter_share_alike(lab) -> None:
    """The first flow knows the rtt of the empty path best, and must not gain from that.

    The goal, 0.95, is that of field-crowd: less than 0.75 is as if a quarter of the flows had
    nothing.  The second path has no jitter; its rtts vary because a queue moves.  The flow with the
    longer path must not gain from that: eight runs, because the result of one run is random.
    """
    path = {"rate": "100mbit", "rtt": "20ms", "buffer": "1bdp", "jitter": "5ms"}
    runs = [run(lab, ["ccpd_path"], seed, **path, flows=8, start=0.2, duration=15)[0]
            for seed in (1, 3)]  # fmt: skip
    assert mean(r["jain_equilibrium"] for r in runs) >= 0.75
    two = [run(lab, ["ccpd_path"], seed, rate="50mbit", rtt="20ms,80ms", buffer=200,
               scatter="50ms", duration=40)[0]
           for seed in range(1, 9)]  # fmt: skip
    assert mean(r["jain_equilibrium"] for r in two) >= 0.9


def test_jitter_of_acks_is_no_link_that_waits(lab) -> None:
    """Both make ACKs come in bunches.  Only on a link that waits may a flow keep its window.

    The ACKs of one of two flows have jitter of three times q0.  The larger goodput is at most twice
    the smaller, in the mean of eight runs.
    """
    runs = [run(lab, ["ccpd_path"], seed, rate="50mbit", rtt="40ms", buffer="2bdp", flows=2,
                jitter_back="0:8ms", scatter="100ms", duration=30)[0]
            for seed in range(1, 9)]  # fmt: skip
    shares = [sorted(f["goodput_bps"] for f in r["flows"]) for r in runs]
    assert mean(most / least for least, most in shares) <= 2


def test_flows_share_data_in_batches(lab) -> None:
    """Batches of an eighth of a round trip are no link that waits: the flows give way to each
    other.  No flow is left without goodput: Jain's index would be 3/4.  0.95 is not met
    (field-crowd)."""
    runs = [run(lab, ["ccpd_path"], seed, rate="50mbit", rtt="30ms", buffer="1bdp", flows=4,
                aggregate="4ms", scatter="1s", duration=15)[0]
            for seed in range(1, 9)]  # fmt: skip
    assert mean(r["jain_equilibrium"] for r in runs) > 0.75


def test_a_buffer_of_four_packets_loses_a_few(lab) -> None:
    """An overflow loses fewer than eight packets there, and counts: 0.95 of CUBIC's goodput, as on
    a random path."""
    path = {"rate": "1.92mbit", "rtt": "1.13ms", "buffer": 4}
    cubic, ours = run(lab, ["cubic", "ccpd_path"], **path, duration=10)
    assert ours["flows"][0]["goodput_bps"] >= 0.95 * cubic["flows"][0]["goodput_bps"]


def test_queue_on_the_way_back_is_not_ours(lab) -> None:
    """Two uploads fill the way back.  The flow must neither give way nor compete on the way there.

    The path is not longer either, although a drain after 10 s finds that the delay stays.
    """
    cubic, path = run(lab, ["cubic", "ccpd_path"], rate="100mbit", rtt="50ms", buffer="1bdp",
                      reverse="cubic:2", duration=30)  # fmt: skip
    (theirs,), (ours,) = cubic["flows"], path["flows"]
    assert ours["goodput_bps"] >= theirs["goodput_bps"]
    assert path["links"][0]["queue_mean"] <= cubic["links"][0]["queue_mean"] / 2


def test_uploads_in_a_deep_buffer_do_not_starve_it(lab) -> None:
    """ACKs wait for up to four round trips, in bunches: no pair of them has the link's rate."""
    cubic, path = run(lab, ["cubic", "ccpd_path"], rate="20mbit", rtt="30ms", buffer="4bdp",
                      reverse="cubic:2", duration=20)  # fmt: skip
    (theirs,), (ours,) = cubic["flows"], path["flows"]
    assert ours["goodput_bps"] >= 0.97 * theirs["goodput_bps"]
    assert path["links"][0]["queue_mean"] <= cubic["links"][0]["queue_mean"] / 2


def test_a_longer_queue_on_the_way_back_is_not_ours_either(lab) -> None:
    """Uploads fill 240 ms of buffer there.  With a limit of 120 ms it has 0.82 of the link."""
    (result,) = run(lab, ["ccpd_path"], rate="100mbit", rtt="40ms", buffer="6bdp",
                    reverse="cubic:2", duration=15)  # fmt: skip
    assert result["links"][0]["utilization"] > 0.95
    assert result["links"][0]["drops"] == 0


def test_acks_in_a_bunch_are_no_capacity(lab) -> None:
    """Uploads begin with the flow, so the ACKs of a train come at once.  Their rate is no capacity:
    taken for one, it caused 10276 drops.

    A buffer of 333 packets may overflow by 333 packets once, but not again with the next train.
    """
    (path,) = run(lab, ["ccpd_path"], rate="100mbit", rtt="20ms", buffer="2bdp", scatter="200ms",
                  reverse="cubic:2", duration=3)  # fmt: skip
    assert path["links"][0]["drops"] <= 333


def test_a_lucky_round_trip_of_few_segments_is_no_base(lab) -> None:
    """With jitter of 20 ms, the mean rtt of a drain's few segments is not the empty path's rtt."""
    jitter = {"rate": "100mbit", "rtt": "50ms", "buffer": "1bdp", "jitter": "20ms", "duration": 20}
    pairs = [run(lab, ["cubic", "ccpd_path"], seed=seed, **jitter) for seed in (1, 2, 3)]
    theirs, ours = (mean(pair[i]["flows"][0]["goodput_bps"] for pair in pairs) for i in (0, 1))
    assert ours >= 0.95 * theirs


@pytest.mark.parametrize(
    "path",
    [
        {"rate": "1gbit", "rtt": "200us", "flows": 8, "bytes": "64k", "buffer": "100"},
        {"rate": "1gbit", "rtt": "200us", "flows": 8, "bytes": "1M", "buffer": "100"},
        {
            "rate": "10gbit",
            "rtt": "100us",
            "flows": 32,
            "bytes": "256k",
            "buffer": "400",
            "qdisc": "red",
            "ecn": "on",
        },
    ],
    ids=["short", "longer", "marks"],
)
def test_many_hosts_may_answer_at_once(lab, path) -> None:
    """The first train of each shows the capacity of the whole link, which all of them then fill.

    Nothing that is lost may wait for a timeout of 200 ms.  The bound is that of the scenario
    rfc9743-datacentre.
    """
    ours, cubic = run(lab, ["ccpd_path", "cubic"], timeout=10, **path)
    times = [mean(flow["completion_s"] for flow in result["flows"]) for result in (ours, cubic)]
    assert times[0] <= 1.1 * times[1]
