# SPDX-License-Identifier: GPL-2.0
"""Documents: their numbers are those that a report wrote, and their links have targets."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import REPO
from labkit.errors import LabError
from labkit.measure.intervals import Interval
from labkit.model import scenario
from labkit.tell import docs, records
from labkit.tell.outcome import Measured, Report

RATE = "path-loss; mean('goodput_bps', 'bbr', case='1 %') / 1e6"
QUEUE = "path-route; mean('queue_mean', 'cubic')"
TEXT = f"""| a | <!--= {RATE}; {{:.0f}} Mb/s -->91 Mb/s<!--/--> |
of <!--= {QUEUE}; {{:.1f}} -->225.0<!--/--> packets, and <!-- a comment -->
"""


class Made(Report):
    """A report of path-loss alone, in which each measure has the same value."""

    origin, value = "0123456789ab", 90.51234567891

    def origins(self) -> list[str]:
        return [self.origin]

    def measure(self, of, finding) -> Measured:
        return Measured(of, finding, self.value, interval=Interval(3, self.value, 89.0, 92.5))


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "README.md"
    path.write_text(TEXT)
    monkeypatch.setattr(docs, "DOCUMENTS", [path])
    monkeypatch.setattr(docs, "NUMBERS", tmp_path / "docs/numbers.json")
    return path


def made(**more) -> Report:
    report = Made("6.12", cells={("path-loss", "bbr", "1 %"): None})  # type: ignore[dict-item]
    vars(report).update(more)
    return report


def test_numbers_of_documents_are_current() -> None:
    """The numbers in documents are those that the last report of the scenarios wrote."""
    assert docs.stale() == []
    assert sum(len(docs.marks(path)) for path in docs.DOCUMENTS) > 60


def test_a_report_writes_its_numbers_and_no_other(document: Path) -> None:
    assert len(docs.stale()) == 2
    assert docs.write(made()) == (1, 0)
    assert document.read_text() == TEXT
    assert docs.numbers() == {RATE: {"value": 90.5123457, "seeds": 3, "low": 89.0, "high": 92.5,
                                     "made_of": ["0123456789ab"]}}  # fmt: skip
    assert docs.stale() == [f"README.md: '225.0', {QUEUE}"]
    assert docs.write(made(value=88.4)) == (1, 1)
    assert document.read_text() == TEXT.replace("91 Mb/s", "88 Mb/s")


def test_a_report_with_a_part_of_a_scenario_writes_none_of_it(document: Path) -> None:
    """For example a report of field-jitter has only those cells of path-start that its findings
    use."""
    assert docs.write(made(cells={("path-loss", "cubic", "1 %"): None})) == (0, 0)
    assert document.read_text() == TEXT
    assert docs.numbers() == {}


def test_a_number_changed_by_hand_is_found(document: Path) -> None:
    docs.write(made())
    document.write_text(TEXT.replace("91 Mb/s", "97 Mb/s"))
    assert f"README.md: '97 Mb/s', {RATE}" in docs.stale()


def test_what_is_not_committed_is_not_written(document: Path) -> None:
    with pytest.raises(LabError, match="commit, and make the report again"):
        docs.write(made(origin="0123456789ab, with changes"))
    assert document.read_text() == TEXT


def test_the_table_of_the_demo_is_written(document: Path, monkeypatch) -> None:
    """And nothing beside it; README has its marks."""
    assert len(docs._DEMO.findall(docs.README.read_text())) == 1
    monkeypatch.setattr(docs, "README", document)
    with pytest.raises(LabError, match="0 fenced blocks between <!--demo--> and"):
        docs.write_demo("new")
    text = "a\n\n<!--demo-->\n```\n{}\n```\n<!--/demo-->\n\n```\nb\n```\n"
    document.write_text(text.format("old 1\nold 2"))
    assert docs.write_demo("new \\1\n") and not docs.write_demo("new \\1\n")
    assert document.read_text() == text.format("new \\1\n")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("path-loss", "path-lost", "no scenario 'path-lost'"),
        ("'bbr'", "'bbbr'", "no column 'bbbr'"),
        ("mean(", "open(", "no .open.; there are"),
        ("{:.0f}", "{:.0q}", "not the format of one number"),
        ("<!--/-->", "<!-- / -->", "2 times <!--="),
    ],
)
def test_a_wrong_mark_is_refused(document: Path, old: str, new: str, why: str) -> None:
    document.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(LabError, match=why):
        docs.marks(document)


COUNTS = """<!--= field-*; held(); {} of {} -->3 of 5<!--/-->, and
<!--= field-b; held('two'); {} -->1<!--/--> of them
"""


def test_findings_are_counted(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def record(*found: tuple[str, bool | None]) -> records.Record:
        return records.Record("", "6.12", [], 1, [], [], "",
                              [records.Found(claim, "", "ours", "", "", holds)
                               for claim, holds in found])  # fmt: skip

    known = {
        "field-a": record(("one", True), ("two", True)),
        "field-b": record(("one", False), ("two", True), ("and two", None)),
        "path-a": record(("one", True)),
    }
    monkeypatch.setattr(records, "load", lambda: known)
    monkeypatch.setattr(scenario, "names", lambda: [*known])
    document.write_text(COUNTS)
    assert docs.stale() == []
    assert docs.write(made()) == (0, 0) and docs.numbers() == {}
    known["field-b"] = record(("one", True), ("and two", False))
    assert len(docs.stale()) == 2
    docs.count()
    assert document.read_text() == COUNTS.replace("3 of 5", "3 of 4").replace("->1<", "->0<")
    document.write_text(COUNTS.replace("{} of {}", "{} of {} of {}"))
    with pytest.raises(LabError, match="not the format"):
        docs.marks(document)
    document.write_text(COUNTS.replace("field-*", "feld-*"))
    with pytest.raises(LabError, match="no scenario 'feld-\\*'"):
        docs.marks(document)


README_LINES = 150


def test_the_front_page_is_short() -> None:
    assert len((REPO / "README.md").read_text().splitlines()) <= README_LINES


def headings(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(path: Path) -> list[str]:
    """The links of a page to files that are not in the repository, or to missing headings."""
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if re.match(r"https?:|mailto:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists() or (anchor and anchor not in headings(target)):
            found.append(f"{path.relative_to(path.parents[1])}: {link}")
    return found


@pytest.mark.parametrize("path", docs.DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    assert broken(path) == []


def test_every_page_is_linked() -> None:
    """From a page other than index.md, which lists all pages for Sphinx."""
    text = "".join(path.read_text() for path in docs.DOCUMENTS)
    names = {path.name for path in docs.DOCUMENTS} - {"README.md", "index.md"}
    assert names - set(re.findall(r"[\w-]+\.md", text)) == set()


def test_every_page_of_results_is_linked() -> None:
    """From the page of all results, or from a page that it links."""
    results, seen = REPO / "docs/results", set()
    queue = ["README.md"]
    while queue:
        name = queue.pop()
        if name not in seen and (results / name).exists():
            seen.add(name)
            queue += re.findall(r"\]\(([\w-]+\.md)", (results / name).read_text())
    assert {path.name for path in results.glob("*.md")} - seen == set()


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One two\n[a](#one-two) [b](page.md#three) [c](none.md) [d](page.md)")
    assert [x.rpartition(" ")[2] for x in broken(page)] == ["page.md#three", "none.md"]


def test_pages_are_rendered(tmp_path: Path) -> None:
    """Without a warning, and with the front page first."""
    line = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run([*line, REPO / "docs", tmp_path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "physical      1.08 s" in (tmp_path / "index.html").read_text()
