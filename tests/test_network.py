# SPDX-License-Identifier: GPL-2.0
"""Networks of several links: their files, fair shares, and that the lab builds what a file says."""

import math
from pathlib import Path

import pytest

from conftest import REPO
from labkit.errors import LabError
from labkit.measure.series import series
from labkit.model import network, scenario
from labkit.world import traffic

MBIT = 1e6
LINK = '[[link]]\nrate = "1mbit"\ndelay = "1ms"\n'
NODES = LINK + 'from = "a"\nto = "b"\n' + LINK + 'from = "b"\nto = "c"\n'


def settings(**given):
    return scenario.override(scenario.load("dumbbell"), [f"{k}={v}" for k, v in given.items()])


def test_three_links_are_shared_max_min():
    """The paper's Fig. 8: 77.5 Mb/s each, then 51.7 for three, then 38.75 for four."""
    net = settings(network="three-links", duration=60).net
    near = pytest.approx
    assert net.fair(10, 20)[:2] == [near(77.5 * MBIT)] * 2
    assert net.fair(10, 20)[2:] == [None] * 5
    second = net.fair(30, 40)
    assert second[:4] == [near(x * MBIT, rel=1e-3) for x in (51.667, 103.333, 51.667, 51.667)]
    third = net.fair(50, 60)
    assert third[0] == third[4] == near(38.75 * MBIT)
    assert third[1] == near(116.25 * MBIT)
    assert third[2] == near(58.125 * MBIT)


def test_table_1_of_acp():
    net = settings(network="two-links", duration=60).net
    fair = net.fair(30, 60)
    assert fair[0] == pytest.approx(7.5 * MBIT)
    assert fair[10] == fair[79] == pytest.approx(80 / 70 * MBIT)
    assert [group.rtt for group in net.groups] == pytest.approx([0.06, 0.09, 0.26, 0.064])


def test_no_link_carries_more_than_its_rate_and_each_user_has_a_full_one():
    """The definition of max-min, on the largest network."""
    net = settings(network="parking-lot", duration=60).net
    fair = net.fair(30, 60)
    load = [0.0] * len(net.links)
    for user, share in zip(net.users, fair, strict=True):
        for k in net.groups[user.group].path:
            load[k] += share
    rates = [link.rate for link in net.links]
    assert all(x <= rate * (1 + 1e-9) for x, rate in zip(load, rates, strict=True))
    for user, share in zip(net.users, fair, strict=True):
        path = net.groups[user.group].path
        full = [k for k in path if load[k] == pytest.approx(rates[k])]
        others = {k: max(fair[u] for u, other in enumerate(net.users)
                         if k in net.groups[other.group].path) for k in full}  # fmt: skip
        assert any(share == pytest.approx(others[k]) for k in full)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[[link]]\nrate = "1mbit"\ndelay = "1ms"\n[[users]]\npath = "2"', "path '2': write links"),
        ('[[link]]\nrate = "1mbit"\ndelay = "1ms"\n[[users]]\npath = "1"\nhow = 3', "no key 'how'"),
        ('[[link]]\nrate = "1mbit"\n[[users]]\npath = "1"', "'delay' is missing"),
        ('[[link]]\nrate = "fast"\ndelay = "1ms"\n[[users]]\npath = "1"', "a rate from 1kbit"),
        ('[[link]]\nrate = "1mbit"\ndelay = "1ms"\n[[users]]\npath = "1"\nstart = "2"\nstop = "1"',
         "stop before it starts"),
        (NODES + '[[users]]\npath = "a-c"', "no link from a to c"),
        (NODES + '[[users]]\npath = "a-b"\nback = "b-a"', "no link from b to a"),
        (NODES + '[[users]]\npath = "a-b-c"\nback = "b-c"', "not go from the end of 'a-b-c'"),
        (NODES.replace('"c"', '"a"') + '[[users]]\npath = "a-b-a"', "each once"),
        (NODES.replace('"b"\nto = "c"', '"a"\nto = "b"') + '[[users]]\npath = "a-b"', "two links"),
        (NODES.replace('to = "c"', "") + '[[users]]\npath = "a-b"', "links have from and to"),
        (LINK + '[[users]]\npath = 1', "[[users]] 1, path: a value is of type str, not int"),
        (LINK + '[[users]]\npath = "1"\ncount = 0', "[[users]] 1, count"),
        (LINK + '[[users]]\npath = "1"\nback = "1"', "back needs links"),
        ("users = []\n" + LINK, "a network needs users: add a [[users]] with a path"),
        ("[[link]", "Expected"),
        ('title = "none"', "'link' is missing"),
    ],
)  # fmt: skip
def test_a_bad_file_is_named(tmp_path: Path, monkeypatch, text: str, says: str) -> None:
    (tmp_path / "bad.toml").write_text(text)
    monkeypatch.setattr(network, "NETWORKS", tmp_path)
    network.load.cache_clear()
    with pytest.raises(LabError) as caught:
        settings(network="bad")
    assert says in str(caught.value)
    assert "bad.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"network": "nowhere"}, "one of: comings-and-goings"),
        ({"network": "two-links", "rate": "1mbit"}, "has its own rate"),
        ({"network": "two-links", "loss": "0.1"}, "loss needs a single link"),
        ({"scale": "0.5"}, "set network"),
        ({"network": "comings-and-goings", "duration": "40"}, "after the end of the run"),
        ({"stages": "20,10"}, "rising times"),
        ({"stages": "20"}, "the last stage would begin after the end"),
        ({"short": "10:30"}, "ARRIVALS:PACKETS:SHAPE"),
        ({"short": "10:30:1"}, "ARRIVALS:PACKETS:SHAPE"),
        ({"short": "5000:30:2"}, "at most 20000 flows"),
        ({"short": "10:30:2", "bytes": "1M"}, "drop bytes, or short"),
    ],
)
def test_settings_that_do_not_go_together(given: dict[str, str], says: str) -> None:
    with pytest.raises(LabError) as caught:
        settings(**given)
    assert says in str(caught.value)


def test_short_flows_are_what_they_are_said_to_be():
    """A Poisson process, and sizes of Pareto's distribution (median: the mean converges slowly)."""
    s = settings(short="200:30:1.35", duration=60, mtu=1000)
    found = traffic._arrivals(s, 1)
    assert len(found) == pytest.approx(12000, rel=0.03)
    packets = sorted(size / 948 for _, size in found)
    assert packets[0] == 8  # 30 * 0.35 / 1.35, the minimum
    assert packets[len(packets) // 2] == pytest.approx(30 * 0.35 / 1.35 * 2 ** (1 / 1.35), abs=1)
    assert found == traffic._arrivals(s, 1) != traffic._arrivals(s, 2)


def test_the_lab_builds_the_network(lab):
    """Round-trip times and rates are those of the file; short flows complete."""
    (r,) = lab("run", "dumbbell", "--cc", "reno", "--json", "--set", "network=three-links",
               "--set", "duration=42", "--set", "stages=20,40").json  # fmt: skip
    table = series(Path(r["series"]) / "flows.csv", (0, 1, 5))
    for flow, rtt in enumerate((0.16, *[0.08] * 6)):
        least = table[table[:, 1] == flow][:, 2].min()
        assert rtt <= least < rtt + 0.001  # plus the time to send a packet
    assert [link["name"] for link in r["links"]] == ["link1", "link2", "link3"]
    sent = [link["stages"][1]["utilization_equilibrium"] for link in r["links"]]
    assert sent[1] == pytest.approx(1, abs=0.001)
    assert [link["stages"][2]["users"] for link in r["links"]] == [2, 3, 4]

    (r,) = lab("run", "dumbbell", "--cc", "reno", "--json", "--set", "short=50:30:1.35", "--set",
               "rate=50mbit", "--set", "duration=10", "--set", "mtu=1000").json  # fmt: skip
    assert r["short"]["completed"] > 0.9 * r["short"]["flows"] > 400
    assert len(r["flows"]) == 1
    assert not math.isnan(r["short"]["completion_mean_s"])


def _least_rtts(r):
    table = series(Path(r["series"]) / "flows.csv", (0, 1, 5))
    return [table[table[:, 1] == flow][:, 2].min() for flow in range(len(r["flows"]))]


def test_a_mesh_has_the_ways_that_its_file_says(lab):
    """Round trips and rates are right, and ACKs go another way, through its queue."""
    (r,) = lab("run", "dumbbell", "--cc", "reno", "--json", "--set", "network=mesh", "--set",
               "duration=20", "--set", "buffer=1bdp").json  # fmt: skip
    for least, rtt in zip(_least_rtts(r), (0.03, 0.08, 0.057), strict=True):
        assert rtt <= least < rtt + 0.003  # plus the time to send a packet
    use = [link["utilization"] for link in r["links"]]
    first, second, third, fourth, back = (u * link["rate_bps"] for u, link in
                                          zip(use, r["links"], strict=True))  # fmt: skip
    assert settings(network="mesh").net.fair(0, 10) == pytest.approx([5e6, 8e6, 5e6])
    assert use[0] > 0.9 and use[2] > 0.9
    # Each link carries its users' data: the second and fourth carry what the links before sent.
    assert second == pytest.approx(first, rel=0.02) and fourth == pytest.approx(third, rel=0.02)
    rates = [flow["goodput_bps"] for flow in r["flows"]]
    assert rates[0] + rates[2] == pytest.approx(first * 1448 / 1514, rel=0.03)
    assert rates[1] == pytest.approx(third * 1448 / 1514, rel=0.03)
    # An ACK has 66 bytes, and acknowledges two packets or one.
    assert rates[2] / 1448 / 2 * 66 <= back <= rates[2] / 1448 * 66


def test_a_tree_shares_its_trunk(lab):
    """With the routers' feedback the shares are the max-min ones of the file."""
    (r,) = lab("run", "dumbbell", "--cc", "acp", "--json", "--set", "network=tree", "--set",
               "qdisc=acp", "--set", "duration=30", "--set", "stages=15").json  # fmt: skip
    fair = settings(network="tree", duration=30).net.fair(15, 30)
    assert fair == pytest.approx([35e6 / 6] * 6 + [2.5e6] * 2 + [20e6 - 35e6 / 3])
    rates = [flow["stages"][1]["goodput_bps"] for flow in r["flows"]]
    for users in (slice(0, 2), slice(2, 4), slice(4, 6), slice(6, 8), slice(8, 9)):
        assert sum(rates[users]) == pytest.approx(sum(fair[users]) * 1448 / 1514, rel=0.1)


def test_users_leave(lab):
    (r,) = lab("run", "acp-fig9", "--cc", "acp", "--json").json
    ends = [round(flow["end_s"], 3) for flow in r["flows"]]
    assert sorted(set(ends)) == [30, 60]
    assert ends.count(30) == 20
    assert all(not flow["stages"][1] for flow in r["flows"][10:30])


def test_readme_shows_what_the_demo_prints(lab, lab_kernel):
    """To the last digit: after a change of a sender or a measure, make README's table again."""
    readme = (REPO / "README.md").read_text()
    if f"Linux {lab_kernel.release} in virtual time" not in readme:
        pytest.skip(f"README's table is not of {lab_kernel.release}: make demo prints one that is")
    assert lab("demo").stdout.partition("\nNext:")[0].strip() in readme


def test_demo_of_acp(lab):
    """A line for each stage, and the picture whose name is shown."""
    shown = lab("demo", "acp").stdout
    assert [line.split()[-7] for line in shown.splitlines() if " s  " in line][:4] == [
        "2", "5", "10", "2"
    ]  # fmt: skip
    (picture,) = [Path(word) for word in shown.split() if word.endswith(".png")]
    assert picture.stat().st_size > 10_000
