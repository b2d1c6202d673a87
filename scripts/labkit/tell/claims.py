# SPDX-License-Identifier: GPL-2.0
"""The claims of the papers, and the scenarios and tests that show them.

scripts/claims.toml lists all tables, figures, equations and theorems of each paper, and the claims
of its text.  A scenario shows the tables and figures in its `figure`.  The key `by` of an entry
adds other evidence, or selects findings of such a scenario:

    "acp-fig5"                                a scenario: all of its findings,
    "acp-fig5: As printed"                    its findings whose claim begins with this text,
    "kunit/tcp_acp_test.c: desired_window"    or a test, in C, Python or shell.

`todo` says what is not shown yet; `why_not` says what cannot be shown, and why.  An entry without
evidence has one of the two.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import LabError
from ..model import scenario as scenarios
from ..model.scenario import Finding, Scenario
from ..paths import REPO
from .outcome import Report

LIST = REPO / "scripts" / "claims.toml"
TESTS = REPO / "tests"

STATES = (
    "holds", "holds in part", "does not hold", "not run yet", "tested", "to do", "not shown",
)  # fmt: skip

_KIND = re.compile(r"(Table|Fig|Eq)s?\.? ")
_NUMBER = re.compile(r"([IVX]+|\d+)(-\d+)?[a-z]?")
_CASES = {".c": r"KUNIT_CASE(_PARAM)?\({}\b", ".py": r"^def {}\(", ".sh": r"^{}\(\)"}

Judge = Callable[[Scenario, Finding], bool | None]  # whether it holds; None: it was not run


@dataclass(frozen=True)
class Entry:
    """An item of a paper: a table, figure, equation or theorem, or a claim of its text."""

    at: str  # "Fig. 3", or the section of the claim
    says: str  # in a few words
    by: tuple[str, ...] = ()
    todo: str = ""
    why_not: str = ""

    @property
    def number(self) -> str:
        """The number of a table, figure, equation or theorem, unique in the paper; else empty."""
        kind, _, number = self.at.partition(" ")
        return self.at if kind in ("Table", "Fig.", "Eq.", "Theorem") and number else ""


@dataclass(frozen=True)
class Shown:
    """Evidence for an entry: findings of a scenario, or a test."""

    where: str
    scenario: Scenario | None = None
    findings: tuple[Finding, ...] = ()

    def words(self, judge: Judge) -> str:
        """The state of the findings in words; empty if a single finding holds."""
        states = Counter(judge(self.scenario, f) for f in self.findings if self.scenario)
        if len(self.findings) < 2:
            return {True: "", False: "does not hold", None: "not run yet"}[next(iter(states), True)]
        known = states[True] + states[False]
        parts = [f"{states[True]} of {len(self.findings)} hold"] * bool(known)
        return ", ".join(parts + [f"{states[None]} not run yet"] * bool(states[None]))


@dataclass(frozen=True)
class Claim:
    """An entry, and its evidence."""

    entry: Entry
    shown: tuple[Shown, ...]

    def state(self, judge: Judge) -> str:
        states = {judge(s.scenario, f) for s in self.shown if s.scenario for f in s.findings}
        if None in states:
            return "not run yet"
        if len(states) == 2:
            return "holds in part"
        if states:
            return "holds" if True in states else "does not hold"
        if self.shown:
            return "tested"
        return "to do" if self.entry.todo else "not shown"


@dataclass(frozen=True)
class Paper:
    name: str  # as in scenarios
    title: str
    claims: tuple[Claim, ...]


# Reading ----------------------------------------------------------------------------------------


def load() -> list[Paper]:
    """Reads the list; LabError if it does not fit the existing scenarios and tests."""
    try:
        content = tomllib.loads(LIST.read_text())
    except ValueError as error:
        raise LabError(f"{LIST}: {error}") from None
    papers = {p.get("name", ""): p for p in content.get("paper", [])}
    every = [s for s in map(scenarios.load, scenarios.names()) if s.paper]
    for one in every:
        if one.paper not in papers:
            raise LabError(f"{one.path}: {LIST.name} has no paper {one.paper!r};"
                           f" there are: {', '.join(papers)}")  # fmt: skip
    return [
        Paper(name, paper.get("title", ""),
              tuple(_claims(name, paper, [s for s in every if s.paper == name])))
        for name, paper in papers.items()
    ]  # fmt: skip


def _claims(name: str, paper: dict, mine: list[Scenario]) -> Iterator[Claim]:
    entries = [_entry(name, content) for content in paper.get("entry", [])]
    numbers = [e.number for e in entries if e.number]
    if twice := [n for n, count in Counter(numbers).items() if count > 1]:
        raise LabError(f"{LIST}: {name} has {twice[0]} more than once")
    named = {s.name: names_of(s, numbers) for s in mine}
    for entry in entries:
        where = f"{LIST}: {name} {entry.at}"
        shown = [_shown(where, text, mine) for text in entry.by]
        told = {s.scenario.name for s in shown if s.scenario}
        shown += [
            Shown(s.name, s, s.finding)
            for s in mine
            if entry.number in named[s.name] and s.name not in told
        ]
        if not shown and not entry.todo and not entry.why_not:
            raise LabError(f"{where}: it has no evidence: add by, todo or why_not")
        yield Claim(entry, tuple(shown))


def _entry(of: str, content: dict) -> Entry:
    where = f"{LIST}: {of} {content.get('at', '')}".rstrip()
    for name, value in content.items():
        if name not in Entry.__dataclass_fields__:
            raise LabError(f"{where}: no {name}; keys are {', '.join(Entry.__dataclass_fields__)}")
        texts = value if name == "by" and isinstance(value, list) else [value]
        if not all(isinstance(x, str) for x in texts) or (name == "by") != isinstance(value, list):
            kind = "a list of texts" if name == "by" else "text"
            raise LabError(f"{where}: {name} must be {kind}")
    if not content.get("at") or not content.get("says"):
        raise LabError(f"{where}: an entry needs at and says")
    return Entry(**content | {"by": tuple(content.get("by", ()))})


def names_of(of: Scenario, numbers: list[str]) -> set[str]:
    """The items in a scenario's `figure`: three for "Figs. 9-11", none for "ccpd_path"."""
    found, kind = set(), ""
    for part in re.split(r", | and ", of.figure):
        if begins := _KIND.match(part):
            kind = begins[1] + ("" if begins[1] == "Table" else ".")
            part = part[begins.end() :]
        names = [f"{kind} {x}" for x in part.split(" to ")]
        if not kind or not all(_NUMBER.fullmatch(x) for x in part.split(" to ")):
            break  # the rest is words
        if names[0] not in numbers and "-" in part:
            names = [f"{kind} {x}" for x in part.split("-")]
        for name in names:
            if name not in numbers:
                raise LabError(f"{of.path}: figure: {LIST.name} has no {name} of {of.paper}")
        between = numbers[numbers.index(names[0]) : numbers.index(names[-1]) + 1]
        found |= {n for n in between if n.startswith(kind)}
    return found


def _shown(where: str, text: str, mine: list[Scenario]) -> Shown:
    """Parses one text of an entry's `by`; LabError if the scenario or test does not exist."""
    place, _, what = text.partition(": ")
    suffix = Path(place).suffix
    if suffix:
        path = TESTS / place
        if suffix not in _CASES or not path.is_file():
            raise LabError(f"{where}: no test file tests/{place}")
        if not re.search(_CASES[suffix].format(re.escape(what)), path.read_text(), re.MULTILINE):
            raise LabError(f"{where}: tests/{place} has no test {what!r}")
        return Shown(text)
    of = next((s for s in mine if s.name == place), None)
    if not of:
        raise LabError(f"{where}: its paper has no scenario {place!r}")
    found = tuple(f for f in of.finding if f.claim.startswith(what))
    if not found:
        raise LabError(f"{where}: {place} has no finding {what!r}")
    return Shown(text, of, found)


def scenarios_of(papers: list[Paper]) -> list[Scenario]:
    """The scenarios that are evidence for a claim, without duplicates."""
    shown = (s.scenario for paper in papers for claim in paper.claims for s in claim.shown)
    return list({of.name: of for of in shown if of}.values())


# Showing ----------------------------------------------------------------------------------------


def judge(report: Report, recorded: Judge = lambda of, finding: None) -> Judge:
    """A Judge from the report; for findings that the report did not measure, from recorded."""
    known: dict[tuple[str, Finding], bool | None] = {}

    def holds(of: Scenario, finding: Finding) -> bool | None:
        key = (of.name, finding)
        if key not in known:
            measured = report.measure(of, finding).holds
            known[key] = recorded(of, finding) if measured is None else measured
        return known[key]

    return holds


def counts(claims: tuple[Claim, ...], judge: Judge) -> Counter[str]:
    return Counter(claim.state(judge) for claim in claims)


def table(papers: list[Paper], judge: Judge) -> str:
    """Text for a terminal: a line for each entry, and the number of entries in each state."""
    lines = []
    for paper in papers:
        lines.append(f"{paper.name}: {paper.title}")
        width = max(len(c.entry.at) for c in paper.claims)
        for claim in paper.claims:
            entry, parts = claim.entry, [claim.entry.says]
            for s in claim.shown:
                words = s.words(judge)
                parts.append(f"{s.where} ({words})" if words else s.where)
            parts += [f"to do: {entry.todo}"] * bool(entry.todo)
            parts += [f"not shown: {entry.why_not}"] * bool(entry.why_not)
            lines.append(f"  {entry.at:<{width}}  {claim.state(judge):<13}  {'; '.join(parts)}")
        lines.append("")
    lines.append("".join(f"{s:>15}" for s in ("", *STATES, "all")))
    for paper in papers:
        found = counts(paper.claims, judge)
        numbers = (*(found[s] for s in STATES), len(paper.claims))
        lines.append(f"{paper.name:>15}" + "".join(f"{n:>15}" for n in numbers))
    return "\n".join(lines)
