# SPDX-License-Identifier: GPL-2.0
"""The search for a bad path: one seed gives one result, within the budget, and it is written."""

import math
from dataclasses import replace

import pytest

from labkit.errors import LabError
from labkit.measure import runner, search, store
from labkit.model import draw, scenario

ACROSS = 6  # coordinates


class Bowl:
    """An objective with its minimum at a point, and without a value in one corner."""

    def __init__(self) -> None:
        self.asked: list[list[float]] = []

    def __call__(self, points):
        self.asked += points
        return [math.inf if max(p) < 0.1 else 0.2 + sum((x - 0.7) ** 2 for x in p) for p in points]


def test_a_search_finds_what_is_least_and_does_it_again() -> None:
    first, again, other = Bowl(), Bowl(), Bowl()
    found = search.lowest(first, ACROSS, 1, 300)
    assert found == search.lowest(again, ACROSS, 1, 300) and first.asked == again.asked
    assert found[1] == pytest.approx(0.2, abs=0.01)
    assert found[0] == pytest.approx([0.7] * ACROSS, abs=0.1)
    search.lowest(other, ACROSS, 2, 300)
    assert other.asked != first.asked
    assert all(0 <= x <= 1 for p in first.asked for x in p)


@pytest.mark.parametrize("budget", [1, 8, 30, 41, 120])
def test_a_search_asks_for_no_more_than_its_budget(budget) -> None:
    bowl = Bowl()
    _, least = search.lowest(bowl, ACROSS, 3, budget)
    assert budget - search.CLOUD < len(bowl.asked) <= budget
    assert least == min(bowl(bowl.asked))


def test_what_can_not_be_compared_is_never_the_worst() -> None:
    point, least = search.lowest(lambda points: [math.inf] * len(points), ACROSS, 1, 60)
    assert math.isinf(least) and len(point) == ACROSS


class Laboratory:
    """A laboratory that has everything."""

    def check(self, settings, cc) -> None:
        pass


@pytest.fixture
def guests(monkeypatch, tmp_path):
    """Made-up runs: losses and deep buffers halve bad's goodput, red is refused, all are kept."""
    kept: dict = {}
    monkeypatch.setattr(store, "home", lambda lab, job: (repr(job.settings), job.cc, job.seed))
    monkeypatch.setattr(store, "find", lambda home, job: kept.get(home))

    def run_each(laboratory, tasks, parallel):
        for n, task in enumerate(tasks):
            s = task.job.settings
            goodput = 1e6 * task.job.seed
            if task.job.cc == "bad":
                goodput *= 0.5 if s.loss else 1
                goodput *= 0.5 if s.buffer_packets > s.bdp else 1
            refused = LabError("run refused") if s.qdisc == "red" else None
            made = {"flows": [{"goodput_bps": goodput}], "links": []}
            if not refused:
                kept[task.home] = made
            yield n, refused or made

    monkeypatch.setattr(runner, "run_each", run_each)
    return kept


def _search(**more) -> search.Search:
    return search.Search(Laboratory(), "bad", ("good", "better"), search.ranges_of(None, 5), **more)


def test_the_worst_path_is_simple_and_can_be_run(guests, tmp_path) -> None:
    told: list[str] = []
    of = _search(sets=("mtu=1400",), told=told.append)
    path, ratio = of.run(5, 60)
    assert ratio == 0.25 and "loss" in path
    # settings without an effect were removed
    assert not {*path} & {"reverse", "aggregate", "batch", "jitter", "ecn", "start", "flows"}
    assert told and told[-1].startswith("0.25  ")
    target = tmp_path / "worst.toml"
    search.write(target, of, path, ratio, "scripts/lab search")
    written = scenario.load(str(target))
    assert [c.cc for c in written.column] == ["bad", "good", "better"]
    assert written.settings == path | {"mtu": "1400"} and written.seeds == 2
    assert scenario.override(written, []).mtu == 1400
    # again: nothing is run
    again = _search(sets=("mtu=1400",))
    assert again.run(5, 60) == (path, ratio) and again.made == 0 < of.made


def test_paths_that_are_refused_are_passed_over(guests) -> None:
    of = _search()
    red = {"rate": "10mbit", "rtt": "40ms", "buffer": "100", "qdisc": "red"}
    assert of.ratios([red, red | {"qdisc": "fifo"}]) == [math.inf, 0.5]
    assert of.ratios([red | {"rate": "none"}]) == [math.inf]
    only = replace(of.ranges, ranges=of.ranges.ranges | {"qdisc": draw.Range(names=("red",))})
    with pytest.raises(LabError, match="no path could be compared"):
        replace(of, ranges=only, sets=("buffer=500", "trace=scripts/traces/wifi.gz",
                                       "police=1mbit:9k")).run(1, 20)  # fmt: skip


def test_mistakes_of_a_search_are_named(lab, tmp_path) -> None:
    plain = tmp_path / "plain.toml"
    plain.write_text('title = "Plain"\n')
    for arguments, wanted in (
        (("--cc", "nonesuch"), "no congestion control nonesuch is built"),
        (("--cc", "reno", "--ranges", plain), "has no [draw]: see scripts/scenarios/field-random"),
        (("--cc", "reno", "--set", "speed=1"), "no setting 'speed'"),
    ):
        done = lab("search", *arguments, "--against", "cubic", status=2)
        assert wanted in done.stderr and done.stderr.count("\n") == 1
