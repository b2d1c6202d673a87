# SPDX-License-Identifier: GPL-2.0
"""Scenarios with many cases, whose findings are written once; and the range of field-* paths."""

import math
import re
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from msgspec.structs import replace

from conftest import a_run
from labkit.errors import LabError
from labkit.model import scenario
from labkit.tell import claims, findings, page, plot, records, report
from labkit.tell.outcome import Cell, Report
from labkit.world.plan import compile_plan

PATHS = """
title = "Paths"
seeds = 2
goals = "two"
cc = ["{sender}", "cubic", "bbr"]
case = [{ name = "slow", set = { rate = "10mbit" } }, { name = "fast" }, { name = "far" }]
[notes]
far = "It is too far."
[[finding]]
claim = "{sender} wherever it is"
each = "cell"
cases = ["f*"]
columns = ["{sender}", "bbr"]
measure = "most('drops', '{column}', '{case}')"
high = 10
[[finding]]
claim = "{sender} has as much as CUBIC"
each = "case"
share = 0.6
measure = "mean('goodput_bps', '{sender}', '{case}') / mean('goodput_bps', 'cubic', '{case}')"
low = 0.9
"""

GOALS = """
[[finding]]
claim = "{sender} has half of the drops of the one with more goodput"
each = "case"
measure = '''mean('drops', '{sender}', '{case}') /
better(mean('goodput_bps', 'cubic', '{case}'), mean('goodput_bps', 'bbr', '{case}'),
       mean('drops', 'cubic', '{case}'), mean('drops', 'bbr', '{case}'))'''
high = 0.5
"""


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """paths(text): makes that the scenario "paths"."""
    monkeypatch.setattr(scenario, "SCENARIOS", tmp_path)
    monkeypatch.setattr(scenario, "GOALS", tmp_path / "goals")
    monkeypatch.setattr(claims, "LIST", tmp_path / "claims.txt")
    (tmp_path / "goals").mkdir()
    (tmp_path / "goals/two.toml").write_text(GOALS)

    def write(text: str = PATHS):
        (tmp_path / "paths.toml").write_text(text)
        return tmp_path / "paths.toml"

    write()
    return write


def _report(of: scenario.Scenario, values: dict[str, tuple[float, float]]) -> Report:
    """Made-up runs: goodput and drops by column.  In case "far" the first column has half."""
    made = Report("0")
    for case in of.case:
        for column in of.column:
            goodput, drops = values[column.name]
            share = 0.5 if case.name == "far" and column.name == of.column[0].name else 1.0
            runs = [a_run(seed, goodput * share, drops) for seed in (1, 2)]
            made.cells[of.name, column.name, case.name] = Cell(of, column, case, runs)
    return made


def test_a_finding_of_each_case_and_cell(paths) -> None:
    of = scenario.load("paths")
    claims_ = [f.claim for f in of.finding]
    assert claims_[:4] == [
        "ccpd_path, fast: ccpd_path wherever it is", "bbr, fast: ccpd_path wherever it is",
        "ccpd_path, far: ccpd_path wherever it is", "bbr, far: ccpd_path wherever it is",
    ]  # fmt: skip
    assert [c.partition(":")[0] for c in claims_[5:]] == ["slow", "fast", "far"]
    assert [f.note for f in of.finding if f.claim.startswith("far: ")] == ["It is too far."]
    assert of.finding[1].measure == "most('drops', 'bbr', 'fast')"
    findings.check(of)


def test_shares_of_cases_and_the_better_one(paths, monkeypatch) -> None:
    of = scenario.load("paths")
    share, *goals = of.finding[4:]
    made = _report(of, {"ccpd_path": (95, 4), "cubic": (100, 8), "bbr": (90, 2)})
    measured = made.measure(of, share)
    assert measured.value == pytest.approx(2 / 3) and measured.holds
    assert measured.worst == "0.475 in far" and measured.interval.low is None
    assert page.bound(share) == "at least 0.9 in 60 % of the cases"
    # compared with CUBIC's drops if CUBIC has more goodput, and with BBR's otherwise
    for cubic, wanted in ((100, 0.5), (80, 2)):
        made = _report(of, {"ccpd_path": (95, 4), "cubic": (cubic, 8), "bbr": (90, 2)})
        found = [made.measure(of, goal) for goal in goals]
        assert [m.value for m in found] == [wanted] * 3
        assert [m.holds for m in found] == [wanted <= 0.5] * 3
        assert [m.interval.high for m in found] == [wanted] * 3
    strict = scenario.Finding(share.claim, share.measure, 0.9, each="case", cases=share.cases,
                              share=1.0)  # fmt: skip
    assert made.measure(of, strict).holds is False
    # a run failed: one missing case of three is too many, one of fifty is reported
    made.failed_cells.add(("paths", "bbr", "slow"))
    assert made.measure(of, share).value == pytest.approx(2 / 3)
    made.failed_cells.add(("paths", "cubic", "slow"))
    assert made.measure(of, share).why_not == "a run of paths cubic slow failed"
    monkeypatch.setattr(findings, "MISSING", 0.5)
    few = made.measure(of, share)
    assert few.value == 0.5 and few.worst == "0.594 in far; 1 cases not measured"


def test_a_refused_run_of_many_paths_is_no_reason_to_keep_nothing(paths, monkeypatch) -> None:
    of = scenario.load("paths")
    made = _report(of, {"ccpd_path": (95, 4), "cubic": (100, 8), "bbr": (90, 2)})
    shares = replace(of, finding=tuple(f for f in of.finding if f.share))
    assert records.whole(made, of) and records.whole(made, shares)
    del made.cells["paths", "bbr", "slow"]
    assert not records.whole(made, shares)
    monkeypatch.setattr(findings, "MISSING", 0.2)
    assert records.whole(made, shares) and not records.whole(made, of)


def test_the_picture_of_ratios(paths) -> None:
    of = scenario.load("paths")
    made = _report(of, {"ccpd_path": (95, 4), "cubic": (100, 8), "bbr": (90, 2)})
    text, words = plot.svg("ratios:goodput_bps", made.of(of), "x")
    assert "<title>far: 0.475</title>" in text and "<title>fast: 0.95</title>" in text
    assert words == "Goodput, bit/s in each case, divided by the best of the others"


def test_a_picture_of_many_bars_has_no_seeds(paths, monkeypatch) -> None:
    of = scenario.load("paths")
    made = _report(of, {"ccpd_path": (95, 4), "cubic": (100, 8), "bbr": (90, 2)})
    made.cells[of.name, "ccpd_path", "fast"].runs[1] = a_run(2, 97, 4)
    tall, narrow = (
        plot.svg("times:goodput_bps", made.of(of), "x")[0]
        for most in (9, 8) if not monkeypatch.setattr(plot, "NAMED", most)
    )  # fmt: skip
    assert "<title>seeds: 95, 97</title>" in tall and "<title>seeds: " not in narrow
    assert all("<title>bbr, far: 90" in text for text in (tall, narrow))

    def height(text: str) -> float:
        return float(re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)"', text)[1])

    assert height(narrow) == pytest.approx(height(tall) - 9 * 0.18 * 72)


def test_a_picture_of_infinite_values_is_made(paths) -> None:
    of = scenario.load("paths")
    made = _report(of, {"ccpd_path": (math.inf, 4), "cubic": (math.inf, 8), "bbr": (math.inf, 2)})
    assert "<svg" in plot.svg("times:goodput_bps", made.of(of), "x")[0]


def test_the_picture_of_claims(paths, monkeypatch) -> None:
    """A claim of 14.48 Mb/s over 100 ms is 125 segments.  What is before the last stage is left
    out, and a sender without a claim has none."""
    of = scenario.load("paths")
    made = _report(of, {"ccpd_path": (95, 4), "cubic": (100, 8), "bbr": (90, 2)})
    cells = made.of(of)[:2]
    for cell, cc in zip(cells, ("ccpd_path", "cubic"), strict=True):
        cell.runs[0] |= {"series": "/x", "stages": [{"from": 0}, {"from": 5}]}
        cell.runs[0]["settings"] |= {"mtu": 1500, "ip": 4}
        cell.runs[0]["flows"] = [{"cc": cc}]
    times = np.arange(0, 10, 0.1)
    own = np.transpose([times, 0 * times, 0 * times + 80, 0 * times + 0.1, 0 * times + 14.48e6])

    def series(path, columns):
        rows = own.copy()
        if "links" in path.name:
            return np.transpose([times, *[times] * 7])
        drawn.append(path)
        if len(drawn) > 1:
            rows[:, 4] = np.nan
        return rows

    drawn: list[Path] = []
    monkeypatch.setattr(plot, "series", series)
    monkeypatch.setattr(Cell, "first", property(lambda cell: Path("/x")))
    figure, words = plot.draw("claims", cells)
    first, second = figure.axes[:2]
    assert words == "Congestion window, claim and queue over time"
    assert [line.get_label() for line in first.lines] == ["window, ccpd_path", "claim"]
    assert [line.get_label() for line in second.lines] == ["window, cubic"]
    assert first.lines[1].get_ydata() == pytest.approx(125)
    assert first.lines[0].get_xdata()[0] == pytest.approx(5)
    plot.plt.close(figure)


def test_any_sender_may_be_judged(paths) -> None:
    of = scenario.load("paths", ("acp",))
    assert [c.cc for c in of.column] == ["acp", "cubic", "bbr"] and of.judged == ("acp",)
    assert all("ccpd_path" not in f.measure for f in of.finding)
    one = scenario.load("paths", ("cubic",))
    assert [c.name for c in one.column] == ["cubic", "bbr"]
    both = scenario.load("paths", ("acp", "cubic"))
    assert [c.name for c in both.column] == ["acp", "cubic", "bbr"]
    assert len(both.finding) == len(of.finding) + len(one.finding)
    assert report.narrowed(of, ("acp",)) is of


def test_columns_of_some_senders(paths, capsys) -> None:
    paths(PATHS.replace("{sender}", "acp").replace('goals = "two"\n', ""))
    of = report.narrowed(scenario.load("paths"), ("cubic", "vegas"))
    assert [c.name for c in of.column] == ["cubic", "vegas"] and not of.finding
    kept = report.narrowed(scenario.load("paths"), ("acp", "cubic"))
    assert [f.claim[:4] for f in kept.finding] == ["acp,", "acp,", "acp "]
    for text in ('column = [{ name = "pair" }]\n[settings]\nmix = "reno:1,bbr:1"\n',
                 'column = [{ name = "pair", set = { mix = "reno:1,bbr:1" } }]\n'):  # fmt: skip
        paths(f'title = "P"\n{text}')
        with pytest.raises(LabError, match="no column vegas; there are: pair"):
            report.narrowed(scenario.load("paths"), ("vegas",))
    two = [scenario.load("paths"), of]
    assert [o.title for o in report._all_narrowed(two, ("vegas",), 1)] == ["Paths"]
    assert "skipped: paths has no column vegas" in capsys.readouterr().err
    with pytest.raises(LabError, match="no congestion control nonesuch is built"):
        report.main(["paths"], 1, senders=("pair", "nonesuch"))


def test_qualities_of_some_senders(paths) -> None:
    paths("""title = "P"
cc = ["reno", "bbr"]
[[quality]]
what = "Goodput"
measure = "mean('goodput_bps', '{cc}')"
good = 2
bad = 1
[[quality]]
what = "Goodput beside BBR"
measure = "mean('goodput_bps', '{cc}') / mean('goodput_bps', 'bbr')"
good = 2
bad = 1
""")
    of = report.narrowed(scenario.load("paths"), ("vegas",))
    assert [q.what for q in of.quality] == ["Goodput"]


def test_a_scenario_anywhere(paths, tmp_path) -> None:
    there = tmp_path / "far away.toml"
    there.write_text('title = "Elsewhere"\n[settings]\nrate = "1mbit"\n')
    of = scenario.load(str(there))
    assert of.name == "far away" and of.path == there
    with pytest.raises(LabError, match=r"none\.toml: no such file"):
        scenario.load(str(tmp_path / "none.toml"))
    assert scenario.matching("pat*") == ["paths"] == scenario.matching("paths")
    with pytest.raises(LabError, match=r"no scenario matches 'pat\?'; similar: paths; 'lab"):
        scenario.matching("pat?")
    with pytest.raises(LabError, match=r"no scenario matches 'x\*'; 'lab list' shows all"):
        scenario.matching("x*")


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ('each = "cell"', 'each = "run"', "each is 'case' or 'cell', not 'run'"),
        ('each = "cell"', 'each = "case"', "{column} goes with each"),
        ('each = "cell"\n', "", "{column} goes with each"),
        ("'{column}', '{case}'", "'bbr', 'fast'", "{column} goes with each"),
        ('["f*"]', '["g*"]', "no name matches 'g*'; there are: slow, fast, far"),
        ('"bbr"]\nmeasure', '"reno"]\nmeasure', "matches 'reno'; there are: ccpd_path, cubic"),
        ("share = 0.6", "share = 1.6", "share is at most 1"),
        ('each = "cell"', 'each = "cell"\nshare = 0.5', "needs each = 'case'"),
        ('goals = "two"', 'goals = "three"', "no goals 'three'; there are: two"),
        ("far = ", "near = ", "no case 'near'"),
        ('name = "slow"', 'name = "sl\'ow"', "drop the '"),
    ],
)
def test_what_is_wrong_is_named(paths, old, new, names) -> None:
    assert old in PATHS
    path = paths(PATHS.replace(old, new, 1))
    with pytest.raises(LabError) as error:
        scenario.load("paths")
    assert str(path) in str(error.value) and names in str(error.value)


def test_shares_of_what_is_fair() -> None:
    run = a_run(1, 4e6)
    run["settings"] |= {"rate": 10_000_000, "mtu": 1500, "ip": 4, "flows": 2}
    run["flows"].append(run["flows"][0] | {"cc": "bbr", "goodput_bps": 1e6})
    own, other, both = (
        findings.value(scenario.load("dumbbell"), run, f"share_of_fair{of}")
        for of in (":cubic", ":bbr", "")
    )
    assert own == pytest.approx(4 / (10 * 1448 / 1514 / 2)) and other == pytest.approx(own / 4)
    assert both == pytest.approx(fmean((own, other)))
    assert findings.value(scenario.load("dumbbell"), run, "goodput_ratio") == 4


def test_overflows_are_of_policers_too() -> None:
    run = a_run(1, drops=3)
    run["links"][0]["policed"] = 4
    assert findings.value(scenario.load("dumbbell"), run, "overflows") == 7


def test_a_flow_stops_and_short_ones_have_a_congestion_control_of_their_own(lab) -> None:
    sets = ("rate=20mbit", "mix=reno:1,cubic:1", "stop=1:1", "short=20:5:1.5:bbr", "duration=3")
    settings = scenario.override(scenario.load("dumbbell"), sets)
    lines = compile_plan(settings, "mix", 1).traffic.splitlines()
    short = [line for line in lines if line.startswith("short ")]
    assert short and all(" cc=bbr " in line for line in short)
    flags = [f"--set={one}" for one in sets]
    (run,) = lab("run", "dumbbell", "--json", *flags).json
    stays, stops = run["flows"]
    assert stays["end_s"] == 3 and stops["end_s"] == pytest.approx(1, abs=0.1)
    assert run["short"]["completed"] > 20 and run["settings"]["stop"] == [{"flow": 1, "at": 1}]
    assert run["settings"]["short"]["cc"] == "bbr"


@pytest.mark.parametrize(
    ("sets", "names"),
    [
        (["stop=1:2"], "stop takes flows from 0 to 0"),
        (["flows=2", "stop=1:2,1:3"], "each once"),
        (["stop=soon"], "stop takes FLOW:SECONDS"),
        (["flows=2", "start=3", "stop=1:2"], "stop before it starts"),
        (["bytes=1M", "stop=0:2"], "drop bytes, or stop"),
        (["mix=reno:1", "short=10:5:1.5"], "short=100:30:1.35:cubic"),
        (["short=10:5"], "short takes ARRIVALS"),
    ],
)
def test_what_is_wrong_with_stops_and_short_flows(sets, names) -> None:
    with pytest.raises(LabError) as error:
        scenario.override(scenario.load("dumbbell"), sets)
    assert names in str(error.value)


FIELD = [scenario.load(name) for name in scenario.matching("field-*")]


def test_the_field_is_wide() -> None:
    """The paths of the suite reach both ends of the ranges that the suite claims."""
    every = [scenario.override(of, [], c, case) for of in FIELD if of.case
             for case in of.case for c in of.column[:1]]  # fmt: skip

    def span(of, *keep):
        values = [v for s in every if (v := of(s))]
        return min(values), max(values)

    assert span(lambda s: s.rate)[0] == 1e6 and span(lambda s: s.rate)[1] == 1e10
    assert span(lambda s: s.min_rtt)[0] <= 1e-3 and span(lambda s: s.min_rtt)[1] == 0.6
    buffers = [float(s.buffer[:-3]) for s in every if s.buffer.endswith("bdp")]
    assert (min(buffers), max(buffers)) == (0.1, 8)
    assert span(lambda s: s.loss)[1] == 0.05 and any(not s.loss for s in every)
    for key in ("aggregate", "batch"):
        assert span(lambda s, key=key: getattr(s, key)) == (50e-6, 8e-3)
    assert span(lambda s: s.jitter) == (50e-6, 20e-3)
    assert span(lambda s: s.flows) == (1, 64)
    assert all(any(getattr(s, key) for s in every) for key in (
        "trace", "rtt_trace", "police", "reverse", "back", "ecn", "burstloss", "blackout",
        "start", "scatter", "mix",
    ))  # fmt: skip


@pytest.mark.parametrize("of", FIELD, ids=lambda of: of.name)
def test_field_scenarios_have_ten_seeds_and_bounds(of) -> None:
    assert of.seeds == 10 or of.name == "field-random"
    assert of.judged == ("ccpd_path",) and of.finding and plot.check(of) is None
    assert all(f.kind == "ours" and not math.isinf(max(f.low, -f.high)) for f in of.finding)


def test_a_case_is_named_by_how_it_begins() -> None:
    """A prefix is enough.  If several names have it, the error lists some of them."""
    of = scenario.load("field-random")
    assert of.case_like("006") is of.case_like(of.case[5].name) is of.case[5]
    nines = r"field-random has 10 cases that begin with '09': 090 .*; 091 .*; 099 "
    with pytest.raises(LabError, match=nines):
        of.case_like("09")
    with pytest.raises(LabError, match=r"has no case 'x'; there are: 001 .*; 010 .*; and 190 more"):
        of.case_like("x")
    own = scenario.load("field-beside")
    names = [case.name for case in own.case]
    names[1] = f"{names[0]}, again"
    own = replace(own, case=[
        replace(case, name=name) for case, name in zip(own.case, names, strict=True)
    ])  # fmt: skip
    assert own.case_like(names[0]).name == names[0]
