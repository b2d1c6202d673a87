# SPDX-License-Identifier: GPL-2.0
"""The report: its page, how it handles errors, and the findings that must hold."""

import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from conftest import a_run
from labkit.errors import LabError
from labkit.host import write_marker
from labkit.measure import provenance, result, runner, store
from labkit.measure.job import Job, identity
from labkit.model import scenario
from labkit.paths import REPO
from labkit.tell import claims, demo, docs, findings, plot, records, report, summary
from labkit.tell.outcome import Report
from labkit.world.laboratory import Laboratory
from labkit.world.plan import compile_plan

CHEAP = """
title = "A cheap one"
paper = "999 (NONE)"
figure = "Table 0"
about = "Two flows & nothing else."
seeds = 2
plot = ["times:goodput_bps", "windows", "sweep:twice"]
x = "rate, Mb/s"
column = [
  { name = "reno", cc = "reno" },
  { name = "cubic (small)", cc = "cubic", set = { buffer = 5 } },
]
case = [
  { name = "slow", x = 10, set = { rate = "10mbit" } },
  { name = "fast", x = 20, set = { rate = "20mbit" } },
]
[settings]
rtt = "10ms"
duration = "0.3"
stages = "0.1"
scatter = "10ms"
[group]
all = ["re*", "cubic (small)"]
[metrics]
twice = "2 * goodput_bps / rate"
[[table]]
claim = "Table 0"
metric = "goodput_bps"
tolerance = 0.3
rows.reno.slow = [9e6, 10e6]
[[table]]
claim = "Table 1, twice"
metric = "twice@1"
within = 0.5
rows.reno = [2, 3]
rows."cubic (small)" = [1.9, 2]
notes."reno, fast" = "It could not be."
[[finding]]
claim = "Twice the rate is twice as much"
measure = "mean('goodput_bps', 'reno', 'fast') / mean('goodput_bps', 'reno', 'slow')"
paper = 2
low = 1.5
high = 2.5
[[finding]]
claim = "Pigs fly"
kind = "ours"
measure = "most('twice')"
low = 3
note = "They have no wings."
[[quality]]
what = "A slow link: share used"
measure = "mean('twice', '{cc}', case='slow') / 2"
good = 0.1
bad = 0.05
"""


CLAIMS = """
[[paper]]
name = "999 (NONE)"
title = "Nothing"
[[paper.entry]]
at = "Table 0"
says = "Speeds"
todo = "the rest"
"""


@pytest.fixture
def laboratory(tmp_path, monkeypatch):
    """write(text) writes a scenario into a directory with its own store and page."""
    return _apart(tmp_path, monkeypatch)


def _apart(home, monkeypatch):
    for module, name in ((scenario, "SCENARIOS"), (plot, "REPORT")):
        monkeypatch.setattr(module, name, home)
    monkeypatch.setattr(claims, "LIST", home / "claims.txt")
    claims.LIST.write_text(CLAIMS)
    kept = home / "store"
    kept.mkdir()
    monkeypatch.setattr(store, "root", lambda: kept)

    def write(text):
        (home / "cheap.toml").write_text(text)
        return home / "index.html"

    return write


@pytest.fixture(scope="module")
def cheap_page(tmp_path_factory):
    """The page of CHEAP; lists of more than three are folded."""
    with pytest.MonkeyPatch.context() as patch:
        page = _apart(tmp_path_factory.mktemp("page"), patch)(CHEAP)
        patch.setattr("labkit.tell.page.MANY", 3)
        assert report.main([], 2) == 0
    return page


def test_page(cheap_page) -> None:
    text = cheap_page.read_text()
    assert "5 of 7 findings hold, 2 do not" in text
    assert text.count('<li class="holds"') == 5 and text.count('<li class="fails"') == 2
    assert "They have no wings." in text
    head = text.partition("<section")[0]  # what it was made from, before any number
    assert re.search(r"virtual time\): 8 runs, made from [^.]{7,}\.\n", head)
    # a finding for each cell of a table; twice@1 compares with the paper at the second stage
    assert text.count("Table 1, twice: ") == 4 and text.count("It could not be.") == 1
    assert text.count("✓ within 0.5") == 3 and text.count("✗ not within 0.5") == 1
    # the qualities of a sender, if it has a column of its name
    assert re.findall(r'title="(\w+), A slow link: share used: 0\.\d+ \(95 %: ', text) == ["reno"]
    assert '2 seeds); at least 0.1 is good, at most 0.05 bad">' in text
    # each cell's command, in its row and with the findings
    command = "scripts/lab run cheap --cc &#39;cubic (small)&#39; --case fast --seeds 1-2"
    assert text.count(f"<code>{command}</code>") == 3
    assert "twice, stage 2" in text
    assert "Two flows &amp; nothing else." in text
    assert text.count("<table>") == 1 and "cubic (small), fast" in text
    # the page needs no other file
    pictures = re.findall(r'<svg role="img" aria-label="[^"]{10,}".*?</svg>', text)
    assert len(pictures) == 3
    assert not re.search(r"https?://|<link|<img|\bsrc=|@import|url\((?!#)", text)
    # mean, interval and number of seeds of each bar, and of each point of a line
    for picture, unit in ((pictures[0], "[kM]b/s"), (pictures[2], "")):
        number = rf"[\d.]+ ?{unit}"
        told = rf"<title>([^<:]+), (slow|fast): {number}, 95 %: {number} to {number}; 2 seeds<"
        assert len(set(re.findall(told, picture))) == 4
    (raw,) = re.findall(r'href="data:application/gzip;base64,([^"]+)"', text)
    runs = json.loads(gzip.decompress(base64.b64decode(raw)))
    assert len(runs) == 8
    assert {(r["cc"], r.get("column"), r["case"], r["seed"]) for r in runs} >= {
        ("reno", None, "slow", 1), ("cubic", "cubic (small)", "fast", 2)
    }  # fmt: skip
    compared = next(r for r in runs if "expected" in r)["expected"][0]
    assert compared["source"] == "Table 0" and compared["paper"] == 9.5e6
    assert compared["within"] is True
    # means have intervals, with the number of seeds
    assert text.count(">95 %</th>") == text.count(">mean</th>") > 0
    assert len(re.findall(r" to [^<]+\(n=2\)</td>", text)) >= 8
    assert len(re.findall(r"<b>[\d.]+</b> \(95 %: [\d.]+ to [\d.]+; 2 seeds\)", text)) == 4
    assert len(re.findall(r"<b>[\d.]+</b> \(the same in all 2 seeds\)", text)) == 2
    assert len(re.findall(r"<b>[\d.]+</b> \(2 seeds\)", text)) == 1  # most() has no interval
    assert all(r["cell"]["seeds"] == 2 and "low" in r["cell"]["metrics"]["drops"] for r in runs)
    # every link of the page has a target in it
    assert {*re.findall(r'href="#([^"]+)"', text)} <= {*re.findall(r'id="([^"]+)"', text)}


# Acts as a reader does, and writes the results into the page.
READER = """<script>(async () => {
const all = (selector, of = document) => [...of.querySelectorAll(selector)];
const seen = selector => all(selector).filter(one => one.checkVisibility()).length;
const told = {};
told.ids = all("[id]").map(one => one.id);
told.links = all("[href]").map(one => one.getAttribute("href"));
told.pictures = all("figure svg").map(one => one.getBoundingClientRect())
  .map(({width, height}) => [width, height]);
told.wider = document.documentElement.scrollWidth - document.documentElement.clientWidth;
told.grade = document.querySelector(".grades td[title]")?.getBoundingClientRect().left;
told.back = getComputedStyle(document.body).backgroundColor;

told.filters = {};
const choose = (choice, value) => {
  choice.value = value;
  choice.dispatchEvent(new Event("change", {bubbles: true}));
};
for (const choice of all("select")) {
  for (const option of choice.options) if (option.value) {
    choose(choice, option.value);
    told.filters[choice.name + " " + option.value] =
      [seen("#findings li[data-kind]"), choice.form.querySelector("output").textContent];
  }
  choose(choice, "");
}

told.tables = all("table").filter(table => table.tBodies[0].rows.length > 1).map(table =>
  all("th[data-sorts]", table).map(head => [0, 1].map(() => {
    head.click();
    return all("tbody tr", table).map(row => row.cells[head.dataset.sorts])
      .map(td => td.dataset.value ?? td.textContent.trim());
  })));

const folded = document.querySelector("tr[id]");
told.folded = folded?.checkVisibility();
if (folded) {
  location.hash = folded.id;
  await new Promise(done => addEventListener("hashchange", done, {once: true}));
}
told.unfolded = [folded, folded?.querySelector("code")].map(one => one?.checkVisibility());

const point = (at, x, y) => at.dispatchEvent(
  new PointerEvent("pointermove", {bubbles: true, clientX: x, clientY: y}));
const output = figure => figure.querySelector("output").textContent;
told.pointed = all("figure").map(figure => {
  const known = figure.querySelector("g:has(> title) path, td[title]");
  if (known) point(known, 0, 0);
  const text = output(figure), axes = figure.querySelector("[data-axes] path");
  const box = axes?.getBoundingClientRect();
  if (axes) point(axes, box.left, box.bottom);
  return [text, output(figure), axes?.closest("[data-axes]").dataset.axes];
});

const written = document.createElement("script");
written.type = "application/json";
written.id = "told";
written.textContent = JSON.stringify(told);
document.body.append(written);
})();</script>"""


def _read(page, *options):
    """The results of READER for a page in a browser; the browser must report no error."""
    if not shutil.which("chromium"):
        pytest.skip("no chromium: run scripts/setup check")
    read = page.with_name(f"read-{page.name}")
    read.write_text(page.read_text().replace("</body>", READER + "</body>"))
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         f"--user-data-dir={page.with_name('browser')}", "--virtual-time-budget=20000",
         *options, "--dump-dom", read.as_uri()],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not said
    (told,) = re.findall(r'<script type="application/json" id="told">(.*?)</script>', done.stdout)
    return json.loads(told)


LIGHT = ("--window-size=1200,900", "--blink-settings=preferredColorScheme=1")
DARK_PHONE = ("--window-size=500,900", "--blink-settings=preferredColorScheme=0")


@pytest.mark.parametrize("options", [LIGHT, DARK_PHONE])
def test_page_in_a_browser(cheap_page, options) -> None:
    told = _read(cheap_page, *options)
    assert max(Counter(told["ids"]).values()) == 1
    outside = {link for link in told["links"] if not link.startswith("#")}
    assert {link.partition(",")[0] for link in outside} == {
        "claims.html", "data:application/gzip;base64"
    }  # fmt: skip
    assert {link[1:] for link in told["links"]} - {link[1:] for link in outside} <= {*told["ids"]}
    assert len(told["pictures"]) == 3
    # the names of the qualities leave room for the grades
    assert told["grade"] < 250
    assert all(width > 300 and height > 40 for width, height in told["pictures"])
    # only parts that scroll by themselves are wider than the window
    assert told["wider"] <= 0
    assert told["back"] == ("rgb(255, 255, 255)" if options == LIGHT else "rgb(20, 20, 20)")

    assert told["filters"] == {
        f"{name} {value}": [n, f"{n} of 7"]
        for name, value, n in (
            ("paper", "999 (NONE)", 7), ("sender", "cubic", 3), ("sender", "reno", 5),
            ("held", "holds", 5), ("held", "does not hold", 2), ("held", "not measured", 0),
            ("kind", "paper", 6), ("kind", "ours", 1),
        )
    }  # fmt: skip

    (table,) = told["tables"]
    for up, down in table:
        assert len(up) == 4 and Counter(up) == Counter(down)
        first, last = ([float(x) for x in of if re.fullmatch(r"[\de.+-]+", x)] for of in (up, down))
        assert first == sorted(first) and last == sorted(last, reverse=True)
        assert "" not in up[: 4 - up.count("")] + down[: 4 - up.count("")]
    assert sum(up != down for up, down in table) > 10

    assert (told["folded"], told["unfolded"]) == (False, [True, True])

    (grades, bars, windows, sweep) = told["pointed"]
    assert grades[0].startswith("reno, A slow link: share used: ") and not grades[2]
    assert bars[0].startswith("reno, slow: ") and ", 95 %: " in bars[0] and not bars[2]
    assert re.fullmatch(r"(reno|cubic \(small\)), slow: [\d.]+, 95 %: .* seeds", sweep[0])
    for _, text, axes in (windows, sweep):
        x, _, _, y, _, _ = axes.split()
        here = re.fullmatch(r"here: (\S+), (\S+)", text)
        assert float(here[1]) == pytest.approx(float(x), rel=0.02, abs=0.02)
        assert float(here[2]) == pytest.approx(float(y), rel=0.02, abs=0.02)


def test_a_report_of_many_commits_names_a_few_of_them(monkeypatch) -> None:
    made = Report("6.12")
    assert made.made_from == "nothing"
    monkeypatch.setattr(made, "origins", lambda of=None: [f"c{n}" for n in range(6)])
    assert made.made_from == "c0; c1; c2; c3; and 2 more commits"


def test_claims_in_a_browser(cheap_page) -> None:
    told = _read(cheap_page.with_name("claims.html"), *LIGHT)
    inside = {link[1:] for link in told["links"] if link.startswith("#")}
    assert inside <= {*told["ids"]}
    there = re.findall(r'id="([^"]+)"', cheap_page.read_text())
    outside = {link for link in told["links"] if not link.startswith("#")}
    assert outside and outside <= {"index.html", *(f"index.html#{name}" for name in there)}


def test_resuming_makes_only_what_is_missing(laboratory, monkeypatch) -> None:
    laboratory(CHEAP)
    make, made = runner.make, []

    def counted(laboratory, job, home, **more):
        made.append(home)
        return make(laboratory, job, home, **more)

    monkeypatch.setattr(runner, "make", counted)
    assert report.main(["cheap"], 2) == 0
    assert len(made) == 8
    assert report.main(["cheap"], 2) == 0
    assert len(made) == 8
    laboratory(CHEAP.replace("buffer = 5", "buffer = 6"))
    assert report.main(["cheap"], 2) == 0
    assert len(made) == 12
    (made[0] / "result.json").unlink()
    assert report.main(["cheap"], 2) == 0
    assert len(made) == 13
    # a stored run can be read again by its names, unless its scenario has changed
    run = json.loads((made[0] / "result.json").read_text())
    again = store.read_again(made[0], run)
    assert again["links"] == run["links"] and again["case"] == run["case"]
    laboratory(CHEAP.replace('rtt = "10ms"', 'rtt = "12ms"'))
    assert store.read_again(made[0], run) is None


def test_samples_are_read_again_when_their_reading_changes(laboratory, monkeypatch) -> None:
    """The runs are not made again.  A result that differs from its samples is corrected."""
    laboratory(CHEAP)
    assert report.main(["cheap"], 2) == 0
    paths = sorted(store.root().glob("*/result.json"))
    before = [json.loads(path.read_text()) for path in paths]
    monkeypatch.setattr(runner, "make", None)
    assert report.main(["cheap"], 2) == 0
    for path, run in zip(paths, before, strict=True):
        wrong = run | {"links": [run["links"][0] | {"utilization": 0.5, "queue_mean": 7}]}
        path.write_text(json.dumps(wrong))
    monkeypatch.setattr(provenance, "measuring", lambda: "other")
    monkeypatch.setattr(result, "measuring", lambda: "other")
    assert report.main(["cheap"], 2) == 0
    for path, run in zip(paths, before, strict=True):
        after = json.loads(path.read_text())
        assert after["provenance"].pop("measuring") == "other"
        run["provenance"].pop("measuring")
        assert after == run


def test_a_kept_run_has_the_names_of_who_uses_it(laboratory, tmp_path, monkeypatch) -> None:
    """And not those of who made it, also if its samples are read again."""
    laboratory(CHEAP)
    cheap, where = scenario.load("cheap"), Laboratory()
    settings = scenario.override(cheap, [], cheap.column_of("reno"), cheap.case_of("slow"))
    names = (("reno", "slow"), ("the same", "rate=10mbit"), ("reno", "slow"))
    made = []
    for column, case in names:
        job = Job(cheap, settings, "reno", 1, column, case)
        made += runner.run_all(where, [job], keep=tmp_path / "runs")
        monkeypatch.setattr(runner, "make", None)
        if len(made) == 2:
            monkeypatch.setattr(provenance, "measuring", lambda: "other")
    assert [(run.get("column", "reno"), run["case"]) for run in made] == [*names]
    assert ["expected" in run for run in made] == [True, False, True]
    (path,) = tmp_path.glob("runs/*/result.json")
    assert json.loads(path.read_text())["case"] == "slow"


def test_runs_of_another_user_are_used(laboratory, monkeypatch) -> None:
    """Who may read them, but not write, need not make them again."""
    laboratory(CHEAP)
    assert report.main(["cheap"], 2) == 0

    def refused(path, *_) -> None:
        if store.root() in path.parents:
            raise PermissionError(13, "Permission denied")

    for module, name in ((os, "utime"), (store, "_write")):
        monkeypatch.setattr(module, name, refused)
    assert len(report.kept().cells) == 4
    monkeypatch.setattr(provenance, "measuring", lambda: "other")
    assert len(report.kept().cells) == 4


def test_runs_of_changes_are_made_again_once_committed(laboratory, monkeypatch) -> None:
    """Otherwise --docs would always refuse them, although it says to commit and make them again."""
    laboratory(CHEAP)
    assert report.main(["cheap"], 2) == 0
    for path in store.root().glob("*/result.json"):
        run = json.loads(path.read_text())
        run["provenance"] |= {"commit": "dead", "clean": False}
        path.write_text(json.dumps(run))
    monkeypatch.setattr(provenance, "_commit", lambda: {"commit": "dead", "clean": False})
    assert len(report.kept().cells) == 4
    monkeypatch.setattr(provenance, "_commit", lambda: {"commit": "beef", "clean": True})
    assert not report.kept().cells
    assert report.main(["cheap"], 2) == 0
    assert report.kept().origins() == ["beef"]


def test_claims_are_judged_by_what_is_kept(laboratory, monkeypatch) -> None:
    written = laboratory(CHEAP).with_name("claims.html")
    cheap = scenario.load("cheap")
    assert {claims.judge(report.kept())(cheap, f) for f in cheap.finding} == {None}
    assert report.main(["cheap"], 2) == 0
    assert "<td>Table 0</td>" in written.read_text()
    assert ">cheap</a> (5 of 7 hold)" in written.read_text()
    monkeypatch.setattr(runner, "make", None)
    kept = report.kept()
    assert sum(claims.judge(kept)(cheap, f) for f in cheap.finding) == 5
    assert (kept.made, [len(cell.runs) for cell in kept.of(cheap)]) == (0, [2] * 4)
    # a cell that lacks one run is left out; the others are not
    gone = next(h for h in store.root().iterdir() if json.loads(
        (h / "result.json").read_text())["cc"] == "cubic")  # fmt: skip
    shutil.rmtree(gone)
    kept = report.kept()
    assert sorted(len(cell.runs) for cell in kept.of(cheap)) == [2] * 3
    judged = [claims.judge(kept)(cheap, f) for f in cheap.finding]
    assert judged.count(None) == 2 and True in judged


def test_a_list_that_is_wrong_costs_no_run(laboratory, monkeypatch) -> None:
    laboratory(CHEAP)
    claims.LIST.write_text(CLAIMS.replace("Table 0", "Table 1"))
    monkeypatch.setattr(runner, "make", None)
    with pytest.raises(LabError, match=r"claims\.txt has no Table 0"):
        report.main(["cheap"], 1)


def test_interrupted_it_goes_on_where_it_was(laboratory, monkeypatch) -> None:
    laboratory(CHEAP)
    make, made = runner.make, []

    def until_the_fourth(laboratory, job, home, **more):
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append(home)
        return make(laboratory, job, home, **more)

    monkeypatch.setattr(runner, "make", until_the_fourth)
    with pytest.raises(KeyboardInterrupt):
        report.main(["cheap"], 1)
    monkeypatch.setattr(runner, "make", make)
    assert report.make([scenario.load("cheap")], 1).reused == 3


def test_two_processes_may_store_the_same_run_at_once(tmp_path, monkeypatch) -> None:
    measured, target = tmp_path / "measured", tmp_path / "runs/one"
    measured.mkdir()
    for name in store.LEFT:
        (measured / name).touch()
    store.keep(measured, target, {"of": "one"}, packed=True)
    rename = Path.rename

    def as_another_does(self, to):
        rename(self, to)
        if self == target:  # it is away: another process stores its own now
            shutil.copytree(to, target)

    monkeypatch.setattr(Path, "rename", as_another_does)
    store.keep(measured, target, {"of": "other"}, packed=True)
    assert json.loads((target / "result.json").read_text()) == {"of": "one"}
    assert [path.name for path in target.parent.iterdir()] == ["one"]


def test_storing_a_run_removes_what_a_killed_process_left(tmp_path) -> None:
    measured, left = tmp_path / "measured", tmp_path / "runs/.tcpcc-left"
    for path in (measured, left):
        path.mkdir(parents=True)
    for name in store.LEFT:
        (measured / name).touch()
    os.utime(left, (0, 0))
    store.keep(measured, tmp_path / "runs/one", {"of": "one"}, packed=True)
    assert [path.name for path in left.parent.iterdir()] == ["one"]


def test_a_run_that_cannot_be_copied_is_one_line(laboratory, tmp_path) -> None:
    run = tmp_path / "runs/0123456789ab-1"
    run.mkdir(parents=True)
    (run / "result.json").write_text("{}")
    assert store.merge(run.parent) == (1, 0)
    other = run.rename(run.with_name("0123456789ab-2"))
    (other / "flows.csv.gz").symlink_to("nonesuch")
    with pytest.raises(LabError, match=r"^cannot copy .*-2 to .*: .*No such file"):
        store.merge(run.parent)
    assert [path.name for path in store.root().iterdir()] == [run.name]


def test_a_merged_run_replaces_an_outdated_one(laboratory, tmp_path, monkeypatch) -> None:
    """Also one that cannot be read.  Of two outdated runs the store keeps its own."""
    monkeypatch.setattr(provenance, "_commit", lambda: {"commit": "beef", "clean": True})
    run = tmp_path / "runs/0123456789ab-1"
    here = store.root() / run.name

    def stored(clean: bool, of: str) -> str:
        return json.dumps({"of": of, "provenance": {"clean": clean}})

    def merged(own: str, other: str) -> tuple[tuple[int, int], str]:
        for home, text in ((here, own), (run, other)):
            home.mkdir(parents=True, exist_ok=True)
            (home / "result.json").write_text(text)
        return store.merge(run.parent), json.loads((here / "result.json").read_text())["of"]

    assert merged(stored(True, "own"), stored(True, "other")) == ((0, 1), "own")
    assert merged(stored(False, "own"), stored(False, "other")) == ((0, 1), "own")
    assert merged(stored(False, "own"), stored(True, "other")) == ((1, 0), "other")
    assert merged("{", stored(True, "other")) == ((1, 0), "other")
    assert [*store.root().iterdir()] == [here]


def test_two_processes_may_write_the_same_file_at_once(tmp_path, monkeypatch) -> None:
    rename = Path.rename

    def as_another_does(self, to):
        monkeypatch.undo()
        write_marker(to, "of the other")
        rename(self, to)

    monkeypatch.setattr(Path, "rename", as_another_does)
    write_marker(tmp_path / "result.json", "own")
    assert (tmp_path / "result.json").read_text() == "own"
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_failing_run_is_shown_and_loses_no_other(laboratory, monkeypatch, capsys) -> None:
    page = laboratory(CHEAP)
    make = runner.make

    def failing(laboratory, job, home, **more):
        if job.cc == "reno" and job.case == "slow" and job.seed == 2:
            raise LabError("run refused: the dog ate it")
        return make(laboratory, job, home, **more)

    monkeypatch.setattr(runner, "make", failing)
    assert report.main(["cheap"], 2) == 1
    text = page.read_text()
    assert "cheap reno slow, seed 2: run refused: the dog ate it" in text
    assert "the dog ate it" in capsys.readouterr().err
    assert "4 could not be measured" in text
    (raw,) = re.findall(r'href="data:application/gzip;base64,([^"]+)"', text)
    assert len(json.loads(gzip.decompress(base64.b64decode(raw)))) == 7


def test_what_is_not_built_is_left_out_and_named(laboratory, capsys) -> None:
    page = laboratory(CHEAP.replace('cc = "cubic"', 'cc = "nonesuch"'))
    assert report.main(["cheap"], 2) == 0
    assert "no congestion control nonesuch is built" in page.read_text()
    assert "skipped cubic (small)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("title =", "caption =", "no key 'caption'"),
        ("seeds = 2", "seeds = 'two'", "seeds: a value is of type int, not str"),
        ('cc = "reno" }', 'cc = "reno", colour = "red" }', "[[column]] 1: no key 'colour'"),
        ("buffer = 5", "buffers = 5", "no setting 'buffers'"),
        ("buffer = 5", "buffer = 'much'", "buffer=much"),
        ("rows.reno.slow", "rows.renault.slow", "no column 'renault'; there are: reno"),
        ("rows.reno.slow", "rows.reno.idle", "no case 'idle'; there are: slow, fast"),
        ("= [9e6, 10e6]", "= []", "'reno' has a cell without a number"),
        ("= [9e6, 10e6]", "= 'many'", "[[table]] 1, rows"),
        ('metric = "goodput_bps"', 'metric = "speed"', "no metric 'speed'"),
        ("tolerance = 0.3", "", "'Table 0' needs one of tolerance and within"),
        ("tolerance = 0.3", "tolerance = 0.3\ntest = ['slow']", "test for 'slow', which has no"),
        ("'goodput_bps', 'reno', 'fast'", "'speed', 'reno'", "no metric 'speed'"),
        ("'goodput_bps', 'reno', 'fast'", "'twice', 'reno', 'never'", "no case 'never'"),
        ("'goodput_bps', 'reno', 'fast'", "'twice', scenario='x'", "no scenario 'x'"),
        ("most('twice')", "open('/etc/passwd')", "no 'open'; there are: mean"),
        ("most('twice')", "most.__class__", "only arithmetic"),
        ("most('twice')", "1 + 1", "uses no metric of a run"),
        ("most('twice')", "most(", "was never closed"),
        ("most('twice')", "max(mean('jain'))", "max() takes 2 numbers or more, not 1"),
        ("most('twice')", "better(1, mean('jain'))", "better() takes 4 numbers, not 2"),
        ("most('twice')", "abs(mean('jain'), 1)", "abs() takes 1 number, not 2"),
        ("most('twice')", "max(mean('jain'), a=1)", "max() takes 2 numbers or more, not 2"),
        ("most('twice')", "abs('x') + mean('jain')", "'x' is not a number"),
        ("most('twice')", "mean('jain') + None", "None is not a number"),
        ("most('twice')", "mean('jain') @ 2", "may have only arithmetic, not MatMult"),
        ("most('twice')", "mean('twice') ** 5000", "an exponent is a number from -16 to 16"),
        ("most('twice')", "2 ** 'x'", "an exponent is a number from -16 to 16"),
        ("most('twice')", "2 ** None", "an exponent is a number from -16 to 16"),
        ("most('twice')", "2 ** mean('twice')", "an exponent is a number from -16 to 16"),
        ("most('twice')", "mean('twice') + 1e999", "a number is too large"),
        ('twice = "2', 'twice = "abs(1, 2) * 2', "abs() takes 1 number, not 2"),
        ("most('twice')", "fluid('twice')", "fluid() takes one of: remaining:start"),
        ('"windows"', '"doors"', "no plot 'doors'; there are: times"),
        ('"sweep:twice"', '"sweep:thrice"', "sweep:thrice"),
        ('"sweep:twice"', '"portrait:thrice"', "needs :start or :delay"),
        ('"windows"', '"windows:x"', "the end of the time axis, in seconds: windows:20"),
        ('"windows"', '"windows:0"', "the end of the time axis, in seconds: windows:20"),
        ('"windows"', '"rates:1m"', "the end of the time axis, in seconds: rates:20"),
        ('"windows"', '"shares:x"', "needs the numbers of flows, from 0 on: shares:0.1.4"),
        ('"windows"', '"shares:1"', "needs flow 1, and reno, slow has 1, counted from 0"),
        ('stages = "0.1"', 'sample = 0', "'windows' needs samples, and reno, slow has none: drop"),
        ('twice = "2', 'twice = "twice', "uses itself"),
        ('"re*"', '"bb*"', "[group] 'all': no column 'bb*'; there are: reno, cubic (small)"),
        ("all =", "reno =", "[group] 'reno' is a column's name"),
        ("'goodput_bps', 'reno', 'fast'", "'twice', 'some'", "no column 'some'; there are: reno, "
         "cubic (small), all"),
        ("[2, 3]", "[2]", "'reno' has 1 numbers for 2 cases"),
        ('rows."cubic (small)"', "rows.renault", "no column 'renault'"),
        ("reno, fast", "reno, faster", "a note for 'reno, faster', which has no number"),
        ('notes."reno, fast" = "It could not be."', "notes = 2",
         "[[table]] 2, notes: a value is of type table, not int"),
        ("'{cc}', case='slow'", "'{cc}', case='idle'", "no case 'idle'"),
        ("'{cc}', case='slow'", "'reno'", "no column for {cc}"),
        ("good = 0.1", "good = 0.05", "good and bad must differ"),
        ("kind = \"ours\"", "kind = 'guess'", "no kind 'guess'; there are: paper, ours"),
        ("within = 0.5", "within = 0.5\nkind = 'guess'", "no kind 'guess'"),
        ('"twice@1"', '"thrice@1"', "no metric 'thrice'"),
        ("title", "= title", "cheap.toml"),
        ("low = 3\n", "", "[[finding]] 'Pigs fly' needs low or high"),
        ("paper = 2", "paper = '2'", "[[finding]] 1, paper: a value is of type int | float |"),
        ("x = 20", "x = 'ten'", "[[case]] 2, x: a value is of type int | float |"),
        ("[2, 3]", "[2, 'three']",
         "[[table]] 2, rows 2: a value is of type int | float | array, not str"),
        ("low = 3", "low = true", "[[finding]] 2, low: a value is of type int | float, not bool"),
        ('"10ms"', "{ s = 1 }", "settings: rtt is a value, not a table"),
        ("[settings]", "cc = 'reno'\n[settings]", "cc: a value is of type array"),
        ("buffer = 5 } }", "buffer = 5 }, set2 = 1 }", "[[column]] 2: no key 'set2'"),
    ],
)
def test_errors_of_a_scenario_name_file_and_remedy(laboratory, old, new, names) -> None:
    assert old in CHEAP
    laboratory(CHEAP.replace(old, new, 1))
    with pytest.raises(LabError) as error:
        report.main(["cheap"], 1)
    assert "cheap.toml" in str(error.value) and names in str(error.value)


@pytest.mark.parametrize(
    ("measure", "value"), [("(mean('drops') ** 16) ** 16", 1e6), ("(0 - mean('drops')) ** 0.5", 2)]
)
def test_a_measure_without_a_value_is_one_line(measure, value) -> None:
    of = scenario.Scenario(name="x", title="X", column=(scenario.Column("reno", "reno"),))
    with pytest.raises(LabError, match="has no value"):
        findings.measure(of, scenario.Finding("C", measure, low=1),
                         lambda *_: [a_run(1, drops=value)])  # fmt: skip


def test_fair_shares_need_stages(laboratory) -> None:
    """Else the page would fail after all runs were made."""
    text = CHEAP.replace('"windows"', '"shares:0"').replace('"twice@1"', '"twice"')
    laboratory(text)
    plot.check(scenario.load("cheap"))
    laboratory(text.replace('stages = "0.1"', ""))
    with pytest.raises(LabError, match=r"cheap\.toml: plot 'shares:0' .*: set stages, or a netw"):
        plot.check(scenario.load("cheap"))


def test_a_picture_of_the_time_before_the_first_sample_is_empty() -> None:
    assert plot._peaks(np.empty((0, 8))).shape == (0, 2)


def test_legend_explains_what_there_is_to_see(monkeypatch) -> None:
    def legend(values: list[float], numbers: list[SimpleNamespace]) -> list[str]:
        monkeypatch.setattr(plot, "expected", lambda *_: numbers)
        monkeypatch.setattr(plot, "_colour", lambda _: "black")
        column = SimpleNamespace(name="reno")
        cell = SimpleNamespace(name="reno", column=column, case=None, values=lambda _: values)
        (axis,) = plot._times([cell], "").axes
        return [text.get_text() for text in axis.get_legend().texts] if axis.get_legend() else []

    assert legend([2.0], []) == []
    assert legend([2.0, 3.0], []) == ["95 % interval of the mean", "seeds"]
    paper = SimpleNamespace(trials=[1.0, 3.0], mean=2.0)
    assert legend([2.0], [paper]) == ["the paper's mean, trials"]


def test_model_has_no_runs(laboratory, lab) -> None:
    page = laboratory(
        """title = "M"\ncc = []\nplot = "portrait:delay"\n"""
        """[[finding]]\nclaim = "C"\nmeasure = "fluid('queues')"\nhigh = 1"""
    )
    assert report.main(["cheap"], 1) == 0
    text = page.read_text()
    assert "1 of 1 findings hold" in text and "<table" not in text
    assert text.count("<svg role") == 1
    # a scenario without a paper can be chosen
    assert "<option>Other</option>" in text and 'data-paper="Other"' in text
    assert {*re.findall(r'href="#([^"]+)"', text)} <= {*re.findall(r'id="([^"]+)"', text)}
    assert "\nacp-phase " in lab("list").stdout
    for cc in ([], ["--cc", "cubic"]):
        error = lab("run", "acp-phase", *cc, status=2).stderr
        assert error == "lab: acp-phase is a model without runs: use scripts/lab report acp-phase\n"


@pytest.mark.parametrize("case", ["190 ms", "190"])
def test_one_column_of_one_case(lab, case) -> None:
    """scripts/lab run makes the same cell, also if the case's name is cut short."""
    (r,) = lab("run", "ccpd-fig2", "--cc", "ccpd(4,100)", "--case", case, "--set",
               "duration=0.3", "--json").json  # fmt: skip
    assert (r["cc"], r["column"], r["case"]) == ("ccpd", "ccpd(4,100)", "190 ms")
    assert r["settings"]["param"] == ["tcp_ccpd.kp=4"] and r["settings"]["rtt"] == [0.19]
    assert "nonesuch" in lab("run", "ccpd-fig2", "--case", "nonesuch", status=2).stderr


def test_much_that_holds_is_folded(cheap_page) -> None:
    shown, _, folded = cheap_page.read_text().partition("<summary>5 more that hold</summary>")
    assert shown.count('<li class="fails"') == 2 and '<li class="holds"' not in shown
    assert folded.count('<li class="holds"') == 5


def test_progress_is_told_without_a_terminal_too(laboratory, monkeypatch, capsys) -> None:
    laboratory(CHEAP)
    monkeypatch.setattr(report, "LOG_S", 0.2)
    assert report.main(["cheap"], 1) == 0
    lines = [x for x in capsys.readouterr().err.splitlines() if x.startswith("lab: ")]
    assert re.fullmatch(r"lab: [0-7] of 8 runs, about \d+ s left", lines[-1])


def test_progress_ends_with_the_last_run(monkeypatch, capsys) -> None:
    """The time that the pool takes to end is not shown as 8 of 8 runs."""
    monkeypatch.setattr(report, "LOG_S", 0.01)
    of = scenario.load("nist")
    task = runner.Task(Job(of, scenario.override(of, []), "reno", 1), "a", False)
    with report._Progress(0, [task]) as progress:
        progress.done(0)
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_time_left_goes_by_what_runs_carry() -> None:
    of = scenario.load("nist")
    tasks = [
        runner.Task(Job(of, scenario.override(of, [f"duration={s}"]), "reno", 1), home, False)
        for home, s in (("a", 900), ("b", 300))
    ]
    progress = report._Progress(3, tasks)
    assert progress.text() == "3 of 5 runs"
    progress.update(0, 1 / 3)
    progress.started -= 50
    assert progress.text() == "3 of 5 runs, about 3 min left"
    progress.done(0)
    progress.started -= 120
    assert progress.text() == "4 of 5 runs, about 58 s left"


@pytest.mark.parametrize("name", scenario.names())
def test_scenario_is_sound(name) -> None:
    of = scenario.load(name)
    findings.check(of)
    plot.check(of)
    assert not of.paper or (of.figure and of.about)


def test_kinds_of_findings(laboratory) -> None:
    page = laboratory(CHEAP.replace('"ours"', '"calibrated"'))
    kinds = [f.kind for f in scenario.load("cheap").finding]
    assert kinds == ["paper", "calibrated", *["paper"] * 5]
    page.with_name("cheap.toml").rename(page.with_name("path-cheap.toml"))
    assert [f.kind for f in scenario.load("path-cheap").finding][:2] == ["ours", "calibrated"]


_FINDINGS = {
    s.name: s for s in map(scenario.load, scenario.names()) if any(f.test for f in s.finding)
}


@pytest.mark.parametrize("name", _FINDINGS)
def test_findings_hold(name) -> None:
    """Two of three, five or ten seeds are enough to find a defect, in less time.  The report and
    docs/results have all.  Another number of seeds has its own reason, so all of them are run."""
    of = _FINDINGS[name]
    if of.seeds in (3, 5, 10):
        of = msgspec.structs.replace(of, seeds=2)
    wanted = [f for f in of.finding if f.test]
    made = report.make([of], 1, [key for f in wanted for key in report.keys_of(of, f)])
    assert not made.failed
    for finding in wanted:
        measured = made.measure(of, finding)
        assert measured.holds, f"{finding.claim}: {measured.value} {measured.why_not}"


def test_runs_are_made_again_for_the_modules_that_they_load(tmp_path):
    """After a change of another module, an hour of runs need not be made again."""
    own = Laboratory()
    changed = Laboratory()
    changed.modules = shutil.copytree(own.modules, tmp_path / "modules", symlinks=True)
    carriage = next(changed.modules.rglob("tcp_feedback.ko"))
    carriage.write_bytes(carriage.read_bytes() + b"\0")
    dumbbell = scenario.load("dumbbell")
    settings = scenario.override(dumbbell, [])
    same = {
        cc: len({identity(one, Job(dumbbell, settings, cc, 1)) for one in (own, changed)})
        for cc in ("cubic", "ccpd", "acp")
    }
    assert same == {"cubic": 1, "ccpd": 1, "acp": 2}


def test_damaged_modules_have_no_digest(tmp_path):
    """Without one line that says so, all runs would have the digest of no module."""
    own = Laboratory()
    own.modules = shutil.copytree(own.modules, tmp_path / "modules")
    own._tree = own.modules / "lib/modules" / own.kernel.release
    assert own.digest("tcp_ccpd") != own.digest("tcp_feedback")
    for index in own._tree.glob("modules.dep*"):
        index.unlink()
    with pytest.raises(LabError, match=r"^modprobe failed: .*not found.*; remove .*modules"):
        own.digest("tcp_estcp")
    (own._tree / "updates/tcp_ccpd.ko").write_bytes(b"")
    with pytest.raises(LabError, match=r"^modinfo failed: .*tcp_ccpd.*; remove .*modules"):
        own.parameters()


def test_runs_are_made_again_for_each_setting():
    """Also for settings that change only what is computed from the samples."""
    own, dumbbell = Laboratory(), scenario.load("dumbbell")
    plain, changed = (scenario.override(dumbbell, texts) for texts in ([], ["stages=2"]))
    jobs = (Job(dumbbell, settings, "cubic", 1) for settings in (plain, changed))
    assert len({identity(own, job) for job in jobs}) == 2


def test_runs_are_made_again_for_another_tool(monkeypatch):
    own, dumbbell = Laboratory(), scenario.load("dumbbell")
    job = Job(dumbbell, scenario.override(dumbbell, []), "cubic", 1)
    before = identity(own, job)
    programs = own.programs()
    assert {"agent", "init", "norandom.so", "ip", "tc"} <= set(programs)
    monkeypatch.setattr(own, "programs", lambda newer_tc: programs | {"tc": "another"})
    assert identity(own, job) != before


def test_runs_are_made_again_with_another_memory(monkeypatch):
    own, dumbbell = Laboratory(), scenario.load("dumbbell")
    job = Job(dumbbell, scenario.override(dumbbell, []), "cubic", 1)
    before = identity(own, job)
    monkeypatch.setattr("labkit.measure.job.compile_plan",
                        lambda *of: replace(compile_plan(*of), memory=5 << 30))  # fmt: skip
    assert identity(own, job) != before


@pytest.fixture
def results(laboratory, tmp_path, monkeypatch):
    """The directory of docs/results, which are made of CHEAP alone."""
    laboratory(CHEAP)
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(claims, "load", list)
    records.RESULTS.mkdir()
    return records.RESULTS


def test_summary(results, monkeypatch) -> None:
    """docs/results has every row, number and link, and old files are removed."""
    for name in ("old.md", "cost.md", "scale.png"):  # lab bench makes the last two
        (results / name).write_text("not empty")
    cheap = scenario.load("cheap")
    made = report.make([cheap], 2)
    monkeypatch.setattr(made, "origins", lambda of=None: ["0123456789ab, with changes"])
    with pytest.raises(LabError, match="from a commit, not from 0123456789ab, with changes"):
        summary.write(made, [cheap])
    monkeypatch.setattr(made, "origins", lambda of=None: ["0123456789ab"])
    idle = msgspec.structs.replace(cheap, name="idle")  # without runs
    size = summary.write(made, [cheap, idle])
    files = {str(path.relative_to(results)): path for path in results.rglob("*") if path.is_file()}
    assert size == sum(path.stat().st_size for path in files.values())
    assert set(files) == {"README.md", "none.md", "claims.md", "cheap.png", "cost.md",
                          "scale.png", "data/cheap.json"}  # fmt: skip
    first, paper = files["README.md"].read_text(), files["none.md"].read_text()
    assert "5 of 7 findings hold, 2 do not, 0 were" in first
    assert "| [999 (NONE)](none.md) | 5 | 2 | 0 |" in first
    assert "These scenarios have no results yet: idle." in first and "idle" not in paper
    assert "Other measurements: [What it costs](cost.md).\n\n" in first
    assert "| [cheap](none.md#cheap) | Pigs fly | ours |" in first and '<a id="cheap">' in paper
    assert re.search(r"^\| A slow link: share used \| 0\.9\d? \+ \|$", first, re.MULTILINE)
    assert "runs, made from 0123456789ab.\n" in paper
    rows = [line.split(" | ") for line in paper.splitlines() if line.startswith("| ")]
    assert [row[:2] for row in rows[1:]] == [
        ["| slow", "reno"], ["| ", "cubic (small)"], ["| fast", "reno"], ["| ", "cubic (small)"],
    ]  # fmt: skip
    assert len({len(row) for row in rows}) == 1
    assert rows[1][2] == "9.5 Mb/s" and " to " in rows[1][3]
    assert "](cheap.png)" in paper and "5 of 7 findings hold" in paper
    monkeypatch.setattr(summary, "LIMIT", size - 1)
    with pytest.raises(LabError, match="but the limit is"):
        summary.write(made, [cheap, idle])
    assert len(list(results.iterdir())) == 7


def test_report_writes_the_table_of_the_demo(results, tmp_path, monkeypatch) -> None:
    """lab report --docs fills all of README; without the demo its table stays."""
    readme = tmp_path / "README.md"
    readme.write_text("<!--demo-->\n```\nold\n```\n<!--/demo-->\n")
    monkeypatch.setattr(docs, "README", readme)
    monkeypatch.setattr(docs, "DOCUMENTS", [readme])
    monkeypatch.setattr(docs, "NUMBERS", tmp_path / "numbers.json")
    monkeypatch.setattr(demo, "_measured", lambda laboratory: ("new", {}))
    for module in (docs, summary):
        monkeypatch.setattr(module, "require_committed", lambda *of: None)
    assert report.main(["cheap"], 2, with_docs=True) == 0 and "old" in readme.read_text()
    (scenario.SCENARIOS / "cheap.toml").rename(scenario.SCENARIOS / "demo.toml")
    assert report.main(["demo"], 2, with_docs=True) == 0 and "\nnew\n" in readme.read_text()


def test_results_stay_where_the_runs_are_gone(results, monkeypatch) -> None:
    """Another machine has none or some of the runs; the records have their results."""
    cheap = scenario.load("cheap")
    made = report.make([cheap], 2)
    monkeypatch.setattr(made, "origins", lambda of=None: ["0123456789ab"])
    summary.write(made, [cheap])
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    part = replace(made, cells=dict(list(made.cells.items())[:1]))
    monkeypatch.setattr(part, "origins", lambda of=None: ["76543210"])
    for less in (Report(""), part):
        summary.write(less, [cheap])
        assert before == {p: p.read_bytes() for p in results.rglob("*") if p.is_file()}
    states = {f: made.measure(cheap, f).holds for f in cheap.finding}
    recorded = records.judge(records.load())
    assert {f: recorded(cheap, f) for f in cheap.finding} == states
    judge = claims.judge(Report(""), recorded)
    assert {f: judge(cheap, f) for f in cheap.finding} == states
    # A recorded value does not judge another bound, or other runs.
    other = msgspec.structs.replace(cheap.finding[0], low=-7.0)
    assert recorded(cheap, other) is None
    longer = msgspec.structs.replace(cheap, seeds=cheap.seeds + 1)
    assert {recorded(longer, f) for f in cheap.finding} == {None}
    summary.write(Report(""), [longer])
    assert "The scenario has changed since." in (results / "none.md").read_text()
    (results / "data/cheap.json").write_text('{"runs": "many"}')
    with pytest.raises(LabError, match=r"data/cheap.json: .*`git checkout` it"):
        summary.write(Report(""), [cheap])


def test_results_are_what_the_records_say(tmp_path, monkeypatch) -> None:
    """The pages are those that the records give: not edited by hand, and not out of date."""
    results = tmp_path / "results"
    shutil.copytree(records.RESULTS, results)
    monkeypatch.setattr(records, "RESULTS", results)
    papers = [of for of in map(scenario.load, scenario.names()) if of.paper]
    summary.write(Report(""), papers)
    own = REPO / "docs/results"
    stale = [p.name for p in own.glob("*.md") if p.read_text() != (results / p.name).read_text()]
    assert not stale, "scripts/lab report --docs writes them"
    assert {p.name for p in results.rglob("*")} == {p.name for p in own.rglob("*")}
