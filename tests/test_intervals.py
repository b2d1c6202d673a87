# SPDX-License-Identifier: GPL-2.0
"""Intervals over seeds: of means, of differences of pairs, of findings, and of cells."""

import math
import re

import numpy as np
import pytest

from conftest import a_run
from labkit.measure import cells, intervals, metrics
from labkit.model import scenario
from labkit.model.scenario import Case, Column, Finding, Scenario
from labkit.tell import findings, page, plot, terminal
from labkit.tell.outcome import Cell, Report

# Intervals --------------------------------------------------------------------------------------


def test_an_interval_of_a_mean_is_as_long_as_theory_has_it() -> None:
    """For 400 numbers: 1.96 standard errors to each side."""
    values = np.random.default_rng(3).normal(7, 2, 400)
    found = intervals.mean(values)
    error = values.std() / 20
    assert found.n == 400 and found.value == pytest.approx(values.mean())
    assert found.low == pytest.approx(values.mean() - 1.96 * error, abs=0.1 * error)
    assert found.high == pytest.approx(values.mean() + 1.96 * error, abs=0.1 * error)


@pytest.mark.parametrize(("n", "share"), [(2, 0.5), (3, 0.75), (5, 0.84), (10, 0.9), (30, 0.94)])
def test_it_has_the_true_mean_as_often_as_is_said(n: int, share: float) -> None:
    rng = np.random.default_rng(n)
    found = [intervals.mean(rng.normal(5, 1, n)) for _ in range(400)]
    assert np.mean([i.low <= 5 <= i.high for i in found]) == pytest.approx(share, abs=0.05)


def test_of_lopsided_numbers_it_is_lopsided() -> None:
    found = intervals.mean([1, 1, 1, 1, 1, 1, 1, 1, 1, 101])
    assert found.value == 11
    assert found.low == 1 and found.high - found.value > 1.5 * (found.value - found.low)


def test_few_seeds_have_their_range_and_one_has_none() -> None:
    assert intervals.mean([4, 2]) == intervals.Interval(2, 3, 2, 4)
    assert intervals.mean([6, 2, 4]) == intervals.Interval(3, 4, 2, 6)
    assert intervals.mean([5]) == intervals.Interval(1, 5)
    assert intervals.mean([5]).json() == {"n": 1, "mean": 5}
    with pytest.raises(ValueError):
        intervals.mean([])


def test_seeds_with_the_same_value_have_no_interval() -> None:
    """Values that are only rounded to the same text have one."""
    same = intervals.mean([0.1, 0.1, 0.1])
    assert same == intervals.Interval(3, 0.1, 0.1, 0.1, same=True)
    assert same.json() == {"n": 3, "mean": 0.1, "low": 0.1, "high": 0.1}
    close = intervals.mean([0.9440001, 0.9440002, 0.9440003])
    assert not close.same and not intervals.mean([1.0]).same
    assert page._spread(same) == " (the same in all 3 seeds)"
    assert page._between(same, str) == "the same in all 3 seeds"
    assert page._spread(close) == " (95 %: 0.944 to 0.944; 3 seeds)"
    assert plot._told("reno", "jain", same) == "told:reno: 0.1; the same in all 3 seeds"
    assert plot._whiskers([same]) is None
    of = {"a": [5.0, 5.0], "b": [2.0, 2.0], "c": [1.0, 3.0]}
    assert measured("mean('drops', 'a') / mean('drops', 'b')", of).same
    assert not measured("mean('drops', 'a') / mean('drops', 'c')", of).same


def test_the_table_says_that_seeds_gave_the_same_run() -> None:
    """And how to make them differ."""
    same = [a_run(s) for s in (1, 2, 3)]
    said = terminal.table(same)
    assert "same: all seeds have the same value" in said and "100 Mb/s" in said
    assert "all seeds of cubic gave the same run, so they count as one" in said
    assert "set for example scatter=10ms" in said and "so few" not in said
    assert re.search("^  95 % from +same ", said, re.M)
    one = [a_run(s, 1e8 + s, drops=s, cc="reno") for s in (1, 2, 3)]
    said = terminal.table(same + one)
    assert "all seeds of cubic gave" in said and "so few" in said
    said = terminal.table(one)
    assert "same: all seeds" in said and "gave the same run" not in said


def test_the_same_numbers_have_the_same_interval() -> None:
    values = np.random.default_rng(9).normal(0, 1, 12)
    first = intervals.mean(values)
    assert intervals.mean(values) == first


def test_pairs_take_away_what_seeds_do_to_both() -> None:
    a = np.random.default_rng(5).normal(100, 30, 10)
    b = a + 1
    found = intervals.difference(a, b)
    assert (found.low, found.high) == (pytest.approx(1), pytest.approx(1))
    # without the right pairs the difference is uncertain
    apart = intervals.difference(a, b[::-1])
    assert apart.low < 1 < apart.high and apart.high - apart.low > 10


def test_pairs_are_as_many() -> None:
    with pytest.raises(ValueError):
        intervals.difference([1, 2], [1])


def measured(
    text: str, of: dict[str, list[float]], **group: list[str]
) -> intervals.Interval | None:
    """The interval of a finding's measure; of: the drops of each column, by seed."""
    one = Scenario("x", "X", column=tuple(Column(name, name) for name in of), group=group)
    runs = {name: [a_run(s, drops=v) for s, v in enumerate(values)] for name, values in of.items()}
    return findings.interval(one, Finding("C", text), lambda scenario, column, case: runs[column])


def test_findings_have_intervals() -> None:
    a = [100.0, 140, 60, 180, 90, 20, 70, 130, 40, 170]
    of = {"a": a, "b": [2 * v for v in a], "c": [1.0]}
    # Both columns are resampled with the same seeds.
    twice = measured("mean('drops', 'b') / mean('drops', 'a')", of)
    assert twice == intervals.Interval(10, 2, pytest.approx(2), pytest.approx(2))
    plain = measured("mean('drops', 'a')", of)
    assert plain == intervals.mean(a)
    middle = measured("max(0, median('drops', 'a') - 1)", of)
    assert middle.value == 94 and 40 < middle.low < 94 < middle.high < 160
    # One seed, an extreme and a model have no interval.
    assert measured("mean('drops', 'a') + mean('drops', 'c')", of) == intervals.Interval(1, 101)
    assert measured("most('drops', 'a')", of) == intervals.Interval(10, 180)
    assert measured("fluid('queues')", of) is None


def test_a_group_is_all_its_columns() -> None:
    of = {"a / b": [1.0, 3.0], "b / a": [5.0, 7.0], "a / c": [100.0, 200.0]}
    mean = measured("mean('retransmits:cubic,reno', 'both')", of, both=["a / b", "b / *"])
    assert mean == intervals.Interval(2, 4, 3, 5)
    assert measured("most('drops', 'both')", of, both=["a / b", "b / *"]).value == 7
    assert measured("mean('drops', 'a / b')", of, both=["*"]).value == 2


# Cells ------------------------------------------------------------------------------------------


def test_infinite_values_do_not_differ() -> None:
    assert intervals.difference([math.inf, 1], [math.inf, 3]).value == 1


def test_cells_and_their_differences() -> None:
    runs = [a_run(s, 1e8 + s, cc="reno") for s in (1, 2, 3)]
    runs += [a_run(s, 2e8 + s) for s in (2, 3, 4)]
    told = cells.with_cells(runs)
    assert told[0]["cell"]["metrics"]["goodput_bps"] == {
        "n": 3, "mean": 1e8 + 2, "low": 1e8 + 1, "high": 1e8 + 3,
    }  # fmt: skip
    less = told[5]["cell"]["differences"]
    assert less["to"] == "reno"
    assert less["metrics"]["goodput_bps"] == {"n": 2, "mean": 1e8, "low": 1e8, "high": 1e8}
    assert "cell" not in runs[0]


def test_what_did_not_end_took_the_time_that_it_was_given() -> None:
    runs = [a_run(1, settings={"bytes": 1, "timeout": 300.0}), a_run(2)]
    runs[1]["flows"][0]["completion_s"] = 100.0
    assert cells.means(runs)["completion_s"] == intervals.Interval(2, 200, 100, 300)


def test_tables_count_what_did_not_end_as_findings_do() -> None:
    """The mean of the transfers that ended would be better than that of all."""
    of = Scenario("x", "X", column=(Column("reno", "reno"),), seeds=4, settings={"bytes": "1"})
    settings = {"bytes": 1, "timeout": 300.0}
    runs = [a_run(s, cc="reno", settings=settings) for s in range(4)]
    for run, took in zip(runs, (10.0, 20.0, 30.0), strict=False):
        run["flows"][0]["completion_s"] = took
    cell = Cell(of, of.column[0], None, runs)
    mean, interval, middle, ends = page._measured(cell, "completion_s", False)
    finding = Finding("C", "mean('completion_s')", low=1)
    assert mean.value == findings.measure(of, finding, lambda *_: runs) == 90
    assert (middle.value, ends.value) == (25, 10) and interval.text == "15.00 to 230.0"
    assert ends.missing == "1 of 4 not done, counted until the timeout"
    heads, (row,) = page.short_table(Report("6.12"), of, [cell])
    assert heads[1] == "time, s" and row[1].startswith("90.00 (15.00 to ")
    assert row[1].endswith("; 1 of 4 not done)")


def test_a_table_names_each_case_once() -> None:
    """A name of a drawn path has a hundred characters: six of them in three rows hide the rest."""
    of = Scenario("x", "X", column=(Column("reno", "reno"), Column("cubic", "cubic")), seeds=1,
                  case=(Case("near", {}), Case("far", {})))  # fmt: skip
    cells = [Cell(of, column, case, [a_run(1)]) for case in of.case for column in of.column]
    cells[3].runs = []
    heads, rows = page.short_table(Report("6.12"), of, cells)
    assert heads[:2] == ["", ""] and {len(row) for row in rows} == {len(heads)}
    assert [row[:2] for row in rows] == [["near", "reno"], ["", "cubic"], ["far", "reno"],
                                         ["", "cubic"]]  # fmt: skip
    assert rows[3][2:] == ["failed", *[""] * (len(heads) - 3)]


def test_a_long_table_has_a_row_for_each_case() -> None:
    """Seven senders in 108 cases would be 756 rows, and nobody could compare the senders."""
    of = Scenario("x", "X", column=(Column("reno", "reno"), Column("cubic", "cubic")), seeds=1,
                  case=tuple(Case(str(n), {}) for n in range(page.LONG // 2 + 1)))  # fmt: skip
    cells = [Cell(of, column, case, [a_run(1)]) for case in of.case for column in of.column]
    cells[3].runs = []
    heads, rows = page.short_table(Report("6.12"), of, cells[:-1])
    assert heads == ["", *(f"{what}: {cc}" for what in ("goodput", "drops")
                           for cc in ("reno", "cubic"))]  # fmt: skip
    assert [row[0] for row in rows] == [case.name for case in of.case]
    assert {len(row) for row in rows} == {len(heads)}
    assert rows[0][1] == rows[0][2] and rows[1][2::2] == ["failed", ""] and rows[-1][2] == ""


def test_a_flow_that_starts_late_has_less_time_until_the_timeout() -> None:
    """One flow took 10 s, one did not end in the last 100 s of 300: each counts with its own."""
    run = a_run(1, settings={"bytes": 1, "timeout": 300.0})
    flow = run["flows"][0]
    run["flows"] = [flow | {"completion_s": 10.0}, flow | {"cc": "reno", "start_s": 200.0}]
    assert metrics.at_least(run, "completion_s:cubic") == 10
    assert metrics.at_least(run, "completion_s:reno") == 100
    assert metrics.metric(run, "completion_s") is None
    assert metrics.at_least(run, "completion_s") == 55


def test_links_and_flows_that_a_run_does_not_have_are_not_measured() -> None:
    """A sum of nothing is not 0: a bound of a wrong name would hold."""
    run = a_run(1)
    run["flows"][0] |= {"requests": 3, "answered": 1}
    run["links"][0] |= {"blackout_drops": 4}
    for metric in ("drops", "overflows", "lost_in_blackout"):
        assert metrics.metric(run, f"{metric}:linkr") is None
    run["links"][0]["name"] = "linkr"
    assert metrics.metric(run, "overflows:linkr") == metrics.metric(run, "drops:linkr") == 10
    assert metrics.metric(run, "lost_in_blackout:linkr") == 4
    assert metrics.metric(run, "requests_unanswered:cubic") == 2
    assert metrics.metric(run, "requests_unanswered:reno") is None


@pytest.mark.parametrize(
    ("which", "found"), [("cubic", 300), ("reno", None), ("0", 300), ("1", None), ("0-3", 300)]
)
def test_a_flow_that_a_run_does_not_have_took_no_time(which, found) -> None:
    """A measure with the name of another sender is not measured; it is not the timeout."""
    run = a_run(1, settings={"bytes": 1, "timeout": 300.0})
    assert metrics.at_least(run, f"completion_s:{which}") == found


def test_who_has_nothing_is_no_trouble() -> None:
    """If no flow has any goodput, there is no index of fairness."""
    found = cells.means([a_run(1, 0), a_run(2, 0)])
    assert found["goodput_bps"].value == 0 and "jain" not in found


def test_the_table_says_how_many_seeds() -> None:
    shown = terminal.table([a_run(s, 1e8 + 1e7 * s) for s in range(10)])
    assert "cubic (10 seeds)" in shown and "145 Mb/s" in shown and "so few" not in shown
    assert "so few seeds" in terminal.table([a_run(s, 1e8 + s) for s in range(3)])
    links = [{"utilization": 1, "drops": 0}]
    assert "no interval, because there is one seed" in terminal.table([a_run(1, links=links)])


def test_a_table_of_one_seed_has_the_numbers_of_a_table_of_several() -> None:
    runs = [a_run(seed, settings={"bytes": 1, "timeout": 300.0}) for seed in (1, 2)]
    for run in runs:
        (flow,) = run["flows"]
        run["flows"] = [flow | {"completion_s": 1.0}, flow | {"completion_s": 4.0}]
    assert " 2.5 s " in terminal.table(runs) and " 2.500 s " in terminal.table(runs[:1])


def test_a_table_of_a_network_says_what_it_has_of_its_links() -> None:
    """With one seed it has the numbers of a table of several, and not those of the first link."""
    links = [{"name": f"link{k}", "utilization": 0.5 + k / 10, "queue_mean": 7.0 + k,
              "queue_max": 20 + k, "drops": 3} for k in range(2)]  # fmt: skip
    runs = [a_run(seed, links=links) for seed in (1, 2)]
    said = "of 2 links: use is the least of them, queue and max are the largest, drops are the sum"
    for shown in (terminal.table(runs), terminal.table(runs[:1])):
        assert said in shown
        assert re.search(r" 0\.5(00)? +8 +21 +6 +(-|1)$", shown, re.M), shown
    assert "links: use" not in terminal.table([a_run(1, links=links[:1])])


def test_a_table_says_that_rates_of_staggered_flows_are_no_rate_of_the_link() -> None:
    (flow,) = a_run(1)["flows"]
    half = flow | {"bytes": 1_250_000, "start_s": 0, "end_s": 1, "goodput_bps": 1e7}
    links = [{"name": "r", "utilization": 0.9, "drops": 0}]
    runs = [a_run(s, flows=[half, half | {"start_s": 1, "end_s": 2}], virtual_s=2, links=links)
            for s in (1, 2)]  # fmt: skip
    said = "each over its own time: it may exceed the link's rate"
    assert said in terminal.table(runs) and said in terminal.table(runs[:1])
    together = runs[0] | {"flows": [half, half], "virtual_s": 1}
    assert said not in terminal.table([together])


def test_a_flow_that_got_nothing_beside_others_is_infinitely_behind() -> None:
    of = Scenario("x", "X", column=(Column("reno", "reno"),))
    (flow,) = a_run(1)["flows"]
    starved = a_run(1, flows=[flow, flow | {"goodput_bps": 0.0}])
    finding = Finding("C", "mean('goodput_ratio')", high=2)
    runs = [starved, starved | {"seed": 2}]
    value = findings.measure(of, finding, lambda *_: runs)
    assert value == np.inf and not findings.holds(finding, value)
    assert page._spread(findings.interval(of, finding, lambda *_: runs)) != ""
    runs[1] = a_run(2, flows=[flow, flow])
    assert findings.measure(of, finding, lambda *_: runs) == np.inf
    assert intervals.mean([1.0, np.inf]) == intervals.Interval(2, np.inf)
    assert metrics.metric(starved, "goodput_ratio:1") is None
    made = plot.draw("times:goodput_ratio", [Cell(of, of.column[0], None, runs)])[0]
    made.canvas.draw()


@pytest.mark.parametrize(("drops", "value"), [((0, 0), 0), ((5, 0), 5), ((6, 3), 2)])
def test_no_drops_at_all_are_not_more_than_with_others(drops, value) -> None:
    of = scenario.load("rfc9743-crowd")
    (finding,) = (f for f in of.finding if f.claim.startswith("drops at the bottleneck"))
    runs = {cc: [a_run(1, drops=n)] for cc, n in (("ccpd_path", drops[0]), ("cubic", drops[1]),
                                                  ("reno", 0))}  # fmt: skip
    assert findings.measure(of, finding, lambda _, column, __: runs[column]) == value


def test_a_fair_share_is_of_the_rate_in_the_time_of_the_flow() -> None:
    """And not of the rate at the end of the run."""
    (flow,) = a_run(1)["flows"]
    flow |= {"start_s": 0.0, "end_s": 10.0, "goodput_bps": 10e6 * 1448 / 1514}
    settings = {"rate": 10_000_000, "flows": 1, "mtu": 1500, "ip": 4}
    run = a_run(1, flows=[flow], virtual_s=10.0, settings=settings)
    assert metrics.metric(run, "share_of_fair") == pytest.approx(1)
    run["settings"] = settings | {"change": [{"at": 4.0, "rtt": 0.1},
                                             {"at": 5.0, "rate": 30_000_000}]}  # fmt: skip
    assert metrics.metric(run, "share_of_fair") == pytest.approx(0.5)
    stages = [{"from": 0, "to": 6.0}, {"from": 6.0, "to": 10.0}]
    run |= {"stages": stages, "links": [run["links"][0] | {"stages": [{}, {}]}]}
    run["flows"] = [flow | {"stages": [{"goodput_bps": flow["goodput_bps"]}] * 2}]
    # from 3 to 6 s: 2 s of 10 Mb/s and 1 s of 30; then only 30
    assert metrics.metric(run, "share_of_fair@0") == pytest.approx(10 / (50 / 3))
    assert metrics.metric(run, "share_of_fair@1") == pytest.approx(1 / 3)


def test_short_flows_have_percentiles() -> None:
    short = {"flows": 20, "completed": 19, "unfinished": 1, "completion_mean_s": 0.5}
    took = {"median": 0.25, "p95": 1.5, "p99": 2.0}
    run = a_run(1, short=short | {f"completion_{share}_s": s for share, s in took.items()},
                links=[{"name": "r", "utilization": 0.9, "drops": 0}])  # fmt: skip
    for share, seconds in took.items():
        assert metrics.metric(run, f"short_completion_{share}_s") == seconds
        assert metrics.metric(a_run(1, short=short), f"short_completion_{share}_s") is None
    said = "cubic short: completion median 0.250 s, p95 1.500 s, p99 2.000 s; 1 of 20 unfinished"
    assert said in terminal.table([run]).splitlines()


def test_tables_are_text(monkeypatch) -> None:
    """One line per run, as wide as it must be, and without colours, on any output."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    runs = [a_run(1, 1e8), a_run(1, 2e8, column="of a long name [bold]", jain=0.5)]
    head, one, other, *_ = terminal.table(runs).splitlines()
    assert head.split() == ["cc", "flows", "goodput", "completion", "retrans", "rtt", "use",
                            "queue", "max", "drops", "Jain"]  # fmt: skip
    assert one.split()[:6] == ["cubic", "1", "100", "Mb/s", "-", "10"]
    assert other.startswith("of a long name [bold]      1  200 Mb/s") and other.endswith("0.500")
    assert head.index("flows") + 5 == one.index("1  100 Mb/s") + 1


def test_progress_is_for_terminals(capsys) -> None:
    with terminal.Progress(["reno", "cubic"]) as shown:
        shown.update(0, 0.5)
    assert capsys.readouterr() == ("", "")


def test_bars_of_pictures() -> None:
    two, one = intervals.mean([2, 4]), intervals.mean([5])
    assert plot._whiskers([two]) == [[1], [1]]
    assert plot._whiskers([two, intervals.Interval(2, 2, 2, 3)]) == [[1, 0], [1, 1]]
    assert plot._whiskers([two, one]) == [pytest.approx([1, np.nan], nan_ok=True)] * 2
    assert plot._whiskers([one]) is None
    told = [plot._told("reno", "completion_s", of) for of in (two, one)]
    assert told == ["told:reno: 3 s, 95 %: 2 s to 4 s; 2 seeds", "told:reno: 5 s; 1 seed"]


def test_lines_of_pictures_keep_what_is_seen() -> None:
    """The line reaches both ends of the range, and keeps each peak at its time."""
    x = np.arange(10_000)
    y = np.zeros(10_000)
    y[[1234, 5678]] = 7, -3
    shown, values = plot._seen(x, y, (1000, 8000), 100)
    assert len(shown) <= 200 and (np.diff(shown) > 0).all()
    assert (values.max(), values.min()) == (7, -3)
    assert (shown[values.argmax()], shown[values.argmin()]) == (1234, 5678)
    assert (shown[0], shown[-1]) == pytest.approx((1000, 8000), abs=80)
    few = plot._seen(x[:300], y[:300], (0, 9), 100)
    assert len(few[0]) == 300
