# SPDX-License-Identifier: GPL-2.0
"""RFC 9743's page: all items, for any congestion control, and a reason for each item not run."""

import re
from dataclasses import replace

import pytest

from labkit.errors import LabError
from labkit.measure.job import Job
from labkit.model import scenario
from labkit.model.scenario import Finding
from labkit.tell import docs, findings, plot, records, report, rfc9743, summary
from labkit.tell.outcome import Cell, Measured, Report


def _result(job: Job) -> dict:
    """A made-up result: flows of Vegas have half of the goodput, and a longer queue."""
    s = job.settings
    ccs = s.ccs(job.cc)
    flows = [{"cc": cc, "goodput_bps": (1e6 if cc == "vegas" else 2e6) / len(ccs), "retransmits": 0,
              "completion_s": 1.0} for cc in ccs]  # fmt: skip
    slow = "vegas" in ccs
    link = {"name": "r", "utilization": 0.01, "utilization_equilibrium": 0.9, "drops": 1,
            "queue_mean": 30 if slow else 10, "queue_equilibrium": 10,
            "blackout_drops": 1}  # fmt: skip
    said = {"p99_s": 0.1, "p95_s": 0.1}
    return {
        "scenario": job.scenario.name, "cc": job.cc, "seed": job.seed, "settings": s.as_json(),
        "flows": [f | {"stages": [f] * 4} for f in flows], "links": [link | {"stages": [link] * 4}],
        "stages": [{}] * 4, "jain_equilibrium": 0.96, "short": {"completion_mean_s": 1.0},
        "voice": {"lost": 1, "sent": 100} | {f"delay_{k}": v for k, v in said.items()},
        "ask": {f"took_{k}": v for k, v in said.items()},
        "provenance": {"commit": "0123456789abcdef", "clean": True}, "series": "/x/y",
    }  # fmt: skip


def _make(wanted, parallel, laboratory=None):
    made = Report("0")
    for of in wanted:
        findings.check(of)
        plot.check(of)
        for case in of.case or [None]:
            for column in of.column:
                settings = scenario.override(of, [], column, case)
                job = Job(of, settings, column.cc or "mix", 1, column.name)
                cell = Cell(of, column, case, [_result(job)])
                made.cells[cell.key] = cell
                if settings.qdisc == "dualpi2":
                    made.skipped[cell.key] = "no dualpi2 in this kernel"
    return made


@pytest.fixture
def pages(monkeypatch, tmp_path):
    """The directory of the pages.  Their runs are made up."""
    monkeypatch.setattr(report, "make", _make)
    monkeypatch.setattr(plot, "REPORT", tmp_path)
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(docs, "DOCUMENTS", [])
    monkeypatch.setattr(docs, "NUMBERS", tmp_path / "numbers.json")
    monkeypatch.setattr(plot, "svg", lambda asked, cells, name: ("<svg></svg>", f"{asked} {name}"))
    return tmp_path


def test_every_scenario_is_of_an_item() -> None:
    used = [name for _, names, _ in rfc9743.ITEMS for name in names]
    assert sorted(f"rfc9743-{name}" for name in used) == scenario.matching("rfc9743-*")
    assert all(bool(names) != bool(why) for _, names, why in rfc9743.ITEMS)
    for name in used:
        of = scenario.load(f"rfc9743-{name}")
        assert of.judged and not of.paper and of.finding and len(of.plot[0]) and of.seeds >= 3


@pytest.mark.parametrize("sender", ["cubic", "reno", "nist_scalable"])
def test_any_congestion_control_can_be_evaluated(sender) -> None:
    for name in scenario.matching("rfc9743-*"):
        of = scenario.load(name, (sender,))
        findings.check(of)
        assert any(sender in of.senders(column) for column in of.column)
        assert not any("ccpd_path" in f.measure for f in of.finding)


def test_pages(pages, capsys) -> None:
    assert rfc9743.main(("vegas", "cubic"), 1, with_docs=True) == 0
    for name in ("rfc9743-vegas.html", "rfc9743-cubic.html", "results/rfc9743-vegas.md"):
        text = (pages / name).read_text()
        assert all(re.search(rf"[|>] ?(<.*>)?{re.escape(what)}", text)
                   for what, *_ in rfc9743.ITEMS), name  # fmt: skip
        assert text.count("not run: ") == sum(not names for _, names, _ in rfc9743.ITEMS)
        assert "no dualpi2 in this kernel" in text
    lines = (pages / "results/rfc9743-vegas.md").read_text().splitlines()
    rows = {row[1]: row[2:] for line in lines
            if len(row := [cell.strip() for cell in line.split("|")]) == 8}  # fmt: skip
    assert rows["Bufferbloat"][1:4] == ["at most 1", "3 (one seed)", "0 of 2"]
    assert rows["Bufferbloat"][4] == "`··●·····│········`"
    assert rows["Wired paths, tail drop"][1:4] == ["at least 0.9", "0.5 (one seed)", "0 of 3"]
    assert rows["Beside real-time traffic"][3] == "held"
    assert "19 of 20 items held" in (pages / "rfc9743-cubic.html").read_text()
    beside = (pages / "results/rfc9743.md").read_text()
    aqm = "Active queue management and ECN"
    assert f"| {aqm} | {rows[aqm][3]} | 15 of 15, 3 not measured |" in beside
    assert rows[aqm][3].endswith(", 3 not measured")
    assert "| Bufferbloat | 0 of 2 | held |" in beside
    assert "[vegas](rfc9743-vegas.md)" in beside and (pages / "rfc9743.html").exists()
    told = capsys.readouterr().out
    assert re.search(r"Bufferbloat +0 of 2 +··●", told)


def test_what_could_not_be_measured_is_not_held(pages, monkeypatch) -> None:
    """A run fails, and in another one a flow has nothing, so that the ratio of goodputs is not
    defined.  A column without its qdisc in this kernel is no fault of the sender."""

    def make(wanted, parallel, laboratory=None):
        made = _make(wanted, parallel)
        for key, cell in made.cells.items():
            if key[0] == "rfc9743-loss":
                made.failed_cells.add(key)
            elif key[2].startswith("jitter"):
                cell.runs[0]["flows"][0]["goodput_bps"] = 0.0
        return made

    monkeypatch.setattr(report, "make", make)
    _, items = rfc9743.evaluate("cubic", 1, None)
    verdicts = {item.what: item.verdict for item in items}
    assert verdicts["Fairness between its own flows"] == "4 of 5"
    assert verdicts["High packet loss"].startswith("0 of ")
    assert verdicts["Active queue management and ECN"] == "15 of 15, 3 not measured"
    rfc9743.main(("cubic",), 1)
    assert "<em>0 of " in (pages / "rfc9743-cubic.html").read_text()


def test_pages_of_documents_stay_and_are_of_what_is_committed(pages, monkeypatch) -> None:
    monkeypatch.setattr(Report, "origins", lambda self, one=None: ["0123456789ab, with changes"])
    with pytest.raises(LabError, match="must be from a commit"):
        rfc9743.main(("vegas",), 1, with_docs=True)
    monkeypatch.setattr(docs, "require_committed", lambda made: None)
    assert rfc9743.main(("vegas",), 1, with_docs=True) == 0
    summary.write(Report("0"), [])
    assert (pages / "results/rfc9743-vegas.md").exists()


def test_a_sender_that_is_not_built_is_named_before_any_run(pages, monkeypatch) -> None:
    monkeypatch.setattr(report, "make", lambda *_, **__: pytest.fail("something was run"))
    with pytest.raises(LabError, match="no congestion control nonesuch is built"):
        rfc9743.main(("cubic", "nonesuch"), 1)


def test_bars_show_how_far_from_its_bound_a_measure_is() -> None:
    def shown(value: float, **bounds: float) -> str:
        finding = Finding("x", "y", **bounds)
        return rfc9743.bar(Measured(scenario.load("dumbbell"), finding, value))

    assert shown(1, high=1) == shown(1, low=1) == "········│●·······"
    assert shown(4, high=1) == shown(0.25, low=1) == shown(99, high=1) == "●·······│········"
    assert shown(1.01, high=1) == "·······●│········" and shown(2, high=1) == "····●···│········"
    assert shown(0, high=1) == shown(8, low=2) == "········│·······●"
    assert shown(-1, high=0) == "········│·······●"
    both = Measured(scenario.load("dumbbell"), Finding("x", "y", high=0), 3)
    assert rfc9743.margin(both) == 0
    assert rfc9743.margin(replace(both, value=None)) != rfc9743.margin(both)


def test_a_line_has_the_worst_finding_of_its_item() -> None:
    of = scenario.load("dumbbell")
    values = {"queue": (0.5, {"high": 1}), "share": (0.4, {"low": 0.9}), "time": (1.1, {"high": 1})}
    measured = [Measured(of, Finding(claim, "y", **bounds), value)
                for claim, (value, bounds) in values.items()]  # fmt: skip
    unknown = Measured(of, Finding("unknown", "y", high=1), None)
    item = rfc9743.Item("It", measured=[*measured, unknown])
    assert item.worst.finding.claim == "share" and item.verdict == "1 of 3, 1 not measured"
    assert rfc9743.Item("It", measured=measured[:1]).verdict == "held"
    assert rfc9743.Item("It", measured=[unknown]).verdict == "not run"
    for rest, failed, verdict, state in (
        ([], 0, "held", "yes"),
        ([unknown], 0, "1 of 1, 1 not measured", "part"),
        ([unknown], 1, "1 of 2", "no"),
        (measured[1:], 0, "1 of 3", "no"),
    ):
        item = rfc9743.Item("It", measured=[measured[0], *rest], failed=failed)
        assert (item.verdict, item.state) == (verdict, state)
