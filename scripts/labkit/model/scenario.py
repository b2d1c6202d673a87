# SPDX-License-Identifier: GPL-2.0
"""Scenario files, and the settings of their runs.

A scenario is a TOML file: a title, what it reproduces, its settings, the columns and cases that it
compares, the numbers of its paper, and findings.  The command line can override every setting with
--set.  scripts/scenarios has the scenarios that commands know by name.  A scenario file may be
anywhere else: a name that contains a / or ends in .toml is a path.  If a setting in a file names
./FILE or ../FILE, the path is relative to that file; on the command line it is relative to the
working directory.

Some keys avoid repetition in a scenario with many cases.  A finding with each = "case" stands for
one finding for each case, and {case} in its measure is the case's name.  each = "cell" stands for
one finding for each column in each case, and {column} is the column's name.  goals = "field" adds
the findings of goals/field.toml.  {sender}, anywhere in either file, is the congestion control that
is judged: ccpd_path, or that of --cc.  [draw] draws cases at random.
"""

import math
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from itertools import permutations, product
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, field
from msgspec.structs import asdict, replace

from ..errors import LabError
from ..paths import REPO, absolute
from . import draw
from .settings import KEYS, Settings, check_keys, compile_settings, usage
from .toml import Number, Part, decode, says

SCENARIOS = REPO / "scripts" / "scenarios"
GOALS = SCENARIOS / "goals"  # findings that several scenarios have

SENDER = "{sender}"  # in a scenario's file: placeholder of the sender that is judged
DEFAULT_SENDER = "ccpd_path"
CASES_SHOWN = 10  # in an error message
SIMILAR_SHOWN = 5

# The kind of a finding: a claim of the paper; our own claim; a claim by which a free setting was
# chosen, so that it is no evidence by itself; or an earlier measurement that must not become worse.
KINDS = ("paper", "ours", "calibrated", "regression")


class Texts(dict[str, str]):
    """Settings in the form of --set; a list in a file is joined with commas."""


def _texts(folder: Path, kind: type, table: Any) -> Texts:
    """Decodes a table of settings; paths in it are relative to folder.

    Each value is parsed here, so that an error is reported with the name of this table.
    """
    if kind is not Texts or not isinstance(table, dict):
        raise ValueError(f"a table of settings is needed, not {table!r}")
    try:
        check_keys(table)
    except LabError as error:
        raise ValueError(str(error)) from None
    for name, value in table.items():
        if isinstance(value, dict):
            raise ValueError(f"{name} is a value, not a table")
    texts = Texts(
        (k, _beside(folder, ",".join(map(str, v)) if isinstance(v, list) else str(v)))
        for k, v in table.items()
    )
    for name, text in texts.items():
        try:
            KEYS[name].parse(text.strip())
        except ValueError as error:
            raise ValueError(f"{name}={text}: {name} takes {error}") from None
    return texts


def _beside(folder: Path, text: str) -> str:
    """The text of a setting with each ./FILE and ../FILE made relative to folder."""
    return re.sub(r"(?:^|(?<=,))((?:\w+(?:@[\w.]+)?:)?)(\.\.?/[^,]*)",
                  lambda found: found[1] + str(folder / found[2]), text)  # fmt: skip


Entry = Number | list[Number]  # of a table: a number, or the numbers of a paper's trials


class Column(Part):
    """One of the things that a scenario compares: a congestion control, with its own settings."""

    name: Annotated[str, says("its name in tables, plots and measures")]
    cc: Annotated[str, says("the flows' congestion control; not needed with mix")] = ""
    set: Annotated[Texts, says("settings of this column")] = field(default_factory=Texts)


class Case(Part):
    """One point of a sweep."""

    name: Annotated[str, says("its name in tables, plots and measures")]
    x: Annotated[Number | None, says("its place on the x axis of plots; metrics can use it")] = None
    set: Annotated[Texts, says("settings of this case")] = field(default_factory=Texts)


class Expected(Part):
    """A number of a paper: the metric, the column and case, and the tolerance."""

    source: str  # the paper's table
    metric: str
    column: str
    case: str
    trials: tuple[Number, ...]  # all trials of the paper, or only their mean
    tolerance: Number = 0.0  # as a share of the mean
    within: Number = 0.0  # the tolerance in the metric's unit

    @property
    def mean(self) -> float:
        return sum(self.trials) / len(self.trials)

    @property
    def slack(self) -> float:
        return self.within or self.tolerance * abs(self.mean)

    def near(self, measured: float) -> bool:
        return bool(self.mean - self.slack <= measured <= self.mean + self.slack)


class Finding(Part):
    """A claim of a paper, or our own: a sentence, and the measure that decides whether it holds."""

    claim: Annotated[str, says("the sentence")]
    measure: Annotated[str, says("the expression that decides: see Measures")]
    low: Annotated[Number, says("the least value of the measure with which it holds")] = -math.inf
    high: Annotated[Number, says("the largest value with which it holds")] = math.inf
    paper: Annotated[Number | None, says("the paper's value, shown beside the measured one")] = None
    note: Annotated[str, says("the reason, above all if it does not hold")] = ""
    test: Annotated[bool, says("make check fails if it does not hold")] = False
    kind: Annotated[str, says(f"one of {', '.join(KINDS)}; default: paper if the scenario has one,"
                              " else ours")] = ""  # fmt: skip
    each: Annotated[str, says("case or cell (a column in a case): this stands for one finding for"
                              " each of them")] = ""  # fmt: skip
    cases: Annotated[tuple[str, ...], says("with each, the cases: names, or patterns such as data*;"
                                           " default: all")] = ()  # fmt: skip
    columns: Annotated[tuple[str, ...], says("with each, the columns: names, or patterns; default:"
                                             " all")] = ()
    share: Annotated[Number, says('with each = "case": one finding, that low and high hold in at'
                                  " least this share of the cases; 0: one finding for each"
                                  " case")] = 0.0  # fmt: skip

    def of(self, case: str, column: str = "", note: str = "") -> "Finding":
        """The finding for one case or cell, with the name of the cell in front of its claim."""
        name = ", ".join(filter(None, (column, case)))
        measure = self.measure.replace("{case}", case).replace("{column}", column)
        return replace(
            self, claim=f"{name}: {self.claim}", measure=measure, note=note or self.note,
            each="", cases=(), columns=(), share=0.0,
        )  # fmt: skip


class Quality(Part):
    """A property of senders: a number for each sender, and the values that are good or bad."""

    what: Annotated[str, says("its name")]
    measure: Annotated[str, says("as in a finding; {cc} stands for the sender, and for its column's"
                                 " name")]  # fmt: skip
    good: Annotated[Number, says("values from here on are good")]
    bad: Annotated[Number, says("values from here on, in the other direction, are bad")]


class Table(Part):
    """A table of a paper, whose rows are the scenario's columns.  Each number is a finding."""

    claim: Annotated[str, says("which table of the paper it is, and what it shows")]
    metric: Annotated[str, says("the metric that its numbers are: see Metrics")]
    rows: Annotated[dict[str, list[Entry] | dict[str, Entry]], says(
        "for each column: a list with a number for each case in order, or a table of cases and"
        " their numbers; a list of the paper's trials may replace a number")]  # fmt: skip
    tolerance: Annotated[Number, says("the largest difference that agrees, as a share of the"
                                      " paper's number; or set within")] = 0.0  # fmt: skip
    within: Annotated[Number, says("the largest difference that agrees, in the metric's"
                                   " unit")] = 0.0
    notes: Annotated[dict[str, str], says('notes to a row, "reno", or to one of its cells, "reno,'
                                          ' 10 ms"')] = field(default_factory=dict)  # fmt: skip
    test: Annotated[bool | tuple[str, ...], says("make check fails if it (true), or one of these"
                                                 " rows or cells, differs")] = False  # fmt: skip
    kind: Annotated[str, says("the kind of all its findings: see [[finding]]")] = ""

    def numbers(self, cases: list[str]) -> Iterator[Expected]:
        """The paper's number of each cell; ValueError if a case does not exist."""
        if bool(self.tolerance) == bool(self.within):
            raise ValueError(f"[[table]] {self.claim!r} needs one of tolerance and within")
        for column, numbers in self.rows.items():
            if isinstance(numbers, list):
                if len(numbers) != len(cases):
                    raise ValueError(f"[[table]] {self.claim!r}: {column!r} has {len(numbers)}"
                                     f" numbers for {len(cases)} cases")  # fmt: skip
                numbers = dict(zip(cases, numbers, strict=True))
            for case, number in numbers.items():
                if case not in cases:
                    there = ", ".join(cases)
                    raise ValueError(f"[[table]] {self.claim!r}: no case {case!r};"
                                     f" there are: {there}")  # fmt: skip
                trials = tuple(number) if isinstance(number, list) else (number,)
                if not trials:
                    raise ValueError(f"[[table]] {self.claim!r}: {column!r} has a cell without"
                                     " a number")  # fmt: skip
                yield Expected(self.claim, self.metric, column, case, trials, self.tolerance,
                               self.within)  # fmt: skip

    def findings(self, cases: list[str]) -> Iterator[Finding]:
        """A finding for each number: the measured value is near that of the paper."""
        numbers = {", ".join(filter(None, (n.column, n.case))): n for n in self.numbers(cases)}
        tests = () if isinstance(self.test, bool) else self.test
        for what, names in (("note", self.notes), ("test", tests)):
            if wrong := {*names} - {*self.rows} - {*numbers}:
                raise ValueError(f"[[table]] {self.claim!r}: a {what} for {min(wrong)!r}, which"
                                 " has no number")  # fmt: skip
        for cell, number in numbers.items():
            names = ", ".join(map(repr, filter(None, (self.metric, number.column, number.case))))
            yield Finding(
                f"{self.claim}: {cell}", f"mean({names})", number.mean - number.slack,
                number.mean + number.slack, number.mean,
                self.notes.get(cell, self.notes.get(number.column, "")),
                self.test is True or not {number.column, cell}.isdisjoint(tests), self.kind,
            )  # fmt: skip


class Scenario(Part):
    """A scenario's file."""

    name: str
    title: Annotated[str, says("one line: what it shows")]
    paper: Annotated[str, says("the paper that it reproduces")] = ""
    figure: Annotated[str, says("the table or figure of the paper")] = ""
    about: Annotated[str, says("a longer description")] = ""
    seeds: Annotated[int, Meta(ge=1), says("the report makes runs with seeds 1 to this")] = 1
    plot: tuple[str, ...] = ()
    x: Annotated[str, says("the name of the cases' x")] = ""
    column: Annotated[tuple[Column, ...], says("the things that it compares")] = ()
    case: Annotated[tuple[Case, ...], says("the points of a sweep, for each of which it has"
                                           " runs")] = ()
    group: Annotated[dict[str, list[str]], says("names for several columns together: a list of"
                                                " their names, with * for any text")] = field(
        default_factory=dict)  # fmt: skip
    settings: Annotated[Texts, says("settings of all runs: see Settings")] = field(
        default_factory=Texts)  # fmt: skip
    metrics: Annotated[dict[str, str], says("its own metrics: see Measures")] = field(
        default_factory=dict)  # fmt: skip
    table: Annotated[tuple[Table, ...], says("the paper's numbers")] = ()
    finding: Annotated[tuple[Finding, ...], says("claims, and how to decide whether they"
                                                 " hold")] = ()
    quality: Annotated[tuple[Quality, ...], says("properties in which senders are good or"
                                                 " bad")] = ()
    goals: Annotated[str, says("findings that it shares with other scenarios: the name of a file in"
                               " scripts/scenarios/goals")] = ""  # fmt: skip
    notes: Annotated[dict[str, str], says("by case, the note of findings with each")] = field(
        default_factory=dict)  # fmt: skip
    path: Path = SCENARIOS
    judged: tuple[str, ...] = ()  # the senders that replace {sender}
    drawn: draw.Draw | None = None  # the source of its cases, if they are drawn at random

    @property
    def expected(self) -> list[Expected]:
        """The paper's numbers for the columns of this scenario."""
        names = [c.name for c in self.column]
        return [number for table in self.table for number in table.numbers(self.case_names)
                if number.column in names]  # fmt: skip

    @property
    def words(self) -> str:
        """The name by which commands know it: its path if it is not one of SCENARIOS."""
        known = self.path.suffix != ".toml" or self.path.parent == SCENARIOS
        return self.name if known else str(self.path)

    @property
    def case_names(self) -> list[str]:
        """The names of the cases; [""] if there are none."""
        return [c.name for c in self.case] or [""]

    @property
    def cc(self) -> tuple[str, ...]:
        """The congestion controls of the columns, without duplicates."""
        return tuple(dict.fromkeys(c.cc for c in self.column))

    def column_of(self, name: str) -> Column:
        """The column of this name; if there is none, a new one for the congestion control name."""
        return next((c for c in self.column if c.name == name), Column(name, name))

    def columns_of(self, name: str) -> list[str]:
        """The names of the columns that match a name in a measure.

        name: that of a column or of a group; empty: all columns.
        """
        names = [c.name for c in self.column]
        if name in self.group:
            return [n for n in names if any(fnmatchcase(n, like) for like in self.group[name])]
        return [n for n in names if name in ("", n)]

    def senders(self, column: Column, case: Case | None = None) -> tuple[str, ...]:
        """The congestion control of a column, or those of its mix."""
        mix = (self.settings | (case.set if case else {}) | column.set).get("mix", "")
        return (column.cc,) if column.cc else tuple(
            dict.fromkeys(part.partition(":")[0] for part in mix.split(","))
        )  # fmt: skip

    def case_of(self, name: str) -> Case:
        """The case of this name; LabError if there is none."""
        for case in self.case:
            if case.name == name:
                return case
        there = "; ".join(case.name for case in self.case[:CASES_SHOWN]) or "none"
        more = len(self.case) - CASES_SHOWN
        raise usage(f"{self.name} has no case {name!r}; there are: {there}"
                    + f"; and {more} more" * (more > 0))  # fmt: skip

    def case_like(self, name: str) -> Case:
        """The case of this name, or the only case whose name begins with it; LabError if none."""
        likely = [case.name for case in self.case if case.name.startswith(name)]
        if len(likely) > 1 and name not in likely:
            raise usage(f"{self.name} has {len(likely)} cases that begin with {name!r}:"
                        f" {'; '.join(likely[:CASES_SHOWN])}")  # fmt: skip
        return self.case_of(likely[0] if len(likely) == 1 else name)


class Written(Scenario, kw_only=True):
    """A scenario's file as it is written: keys that _compiled() converts, and optional keys."""

    name: str = ""
    cc: Annotated[tuple[str, ...] | None, says("columns without their own settings; default:"
                                               " cubic, if there is no [[column]]")] = None
    plot: Annotated[str | tuple[str, ...], says("plots of the report: see Plots")] = ()
    draw: Annotated[dict[str, Any] | None, says("random cases: see [draw]")] = None


class _Goals(Part):
    finding: tuple[Finding, ...]


def names() -> list[str]:
    return sorted(path.stem for path in SCENARIOS.glob("*.toml"))


def _no_scenario(wrong: str, name: str) -> LabError:
    """The error for a name that no scenario has.  There are too many to list them."""
    similar = get_close_matches(name, names(), SIMILAR_SHOWN)
    known = f"similar: {', '.join(similar)}; " if similar else ""
    return usage(f"no scenario {wrong}; {known}'lab list' shows all, or give a path, such as"
                 " ./my.toml")  # fmt: skip


def matching(pattern: str) -> list[str]:
    """The sorted names of the scenarios that match a pattern such as field-*.

    If there are none, [pattern], which may be a path; usage error if it has wildcards.
    """
    found = [name for name in names() if fnmatchcase(name, pattern)]
    if not found and any(c in pattern for c in "*?["):
        raise _no_scenario(f"matches {pattern!r}", pattern.strip("*?[]"))
    return found or [pattern]


def load(name: str, senders: Iterable[str] = (), seed: int | None = None) -> Scenario:
    """Loads a scenario by its name, or by the path of a TOML file.

    senders: the congestion controls that replace {sender}; with several, the scenario has the
    columns and findings of each.  seed: for random cases; None: the seed in the file.
    """
    path = SCENARIOS / f"{name}.toml"
    if "/" in name or name.endswith(".toml"):
        path = absolute(name)
        if path.suffix != ".toml" or not path.is_file():
            raise usage(f"{name}: no such file; a scenario file ends in .toml")
    elif name not in names():
        raise _no_scenario(repr(name), name)
    first, *others = (_read(path, sender, seed) for sender in senders or (DEFAULT_SENDER,))
    for other in others if first.judged else ():
        first = replace(
            first, judged=first.judged + other.judged,
            **{kind: _once(getattr(first, kind) + getattr(other, kind))
               for kind in ("column", "table", "finding", "quality")},
        )  # fmt: skip
    return first


def _once(them: Iterable[Any]) -> tuple[Any, ...]:
    """The objects without duplicates, in their order."""
    found: list[Any] = []
    for one in them:
        if one not in found:
            found.append(one)
    return tuple(found)


def _read(path: Path, sender: str, seed: int | None) -> Scenario:
    try:
        text = path.read_text()
        written = decode(text.replace(SENDER, sender), Written, partial(_texts, path.parent))
        if ours := [name for name in ("name", "judged", "drawn") if getattr(written, name)]:
            raise ValueError(f"no key {ours[0]!r}")
        scenario = _compiled(written, sender, seed)
        judged = (sender,) if SENDER in text else ()
        scenario = replace(scenario, name=path.stem, path=path, judged=judged)
        scenario = replace(scenario, finding=tuple(_of_cases(scenario)))
        kinds = (replace(f, kind=f.kind or _kind(scenario, f)) for f in scenario.finding)
        scenario = replace(scenario, finding=tuple(kinds))
        _check(scenario)
        for case, column in product(scenario.case or [None], scenario.column):
            try:
                override(scenario, [], column, case)
            except LabError as error:
                where = f"[[case]] {case.name!r}, " if case else ""
                raise ValueError(f"{where}[[column]] {column.name!r}: {error}") from None
    except (ValueError, LabError, OSError) as error:
        raise LabError(f"{path}: {error}") from None
    return scenario


def _compiled(written: Written, sender: str, seed: int | None) -> Scenario:
    """The scenario of a file: adds findings for the numbers in tables, the shared findings, the
    random cases, and a column for each cc."""
    drawn = None if written.draw is None else draw.read(written.draw, seed)
    numbers = [f for table in written.table for f in table.findings(written.case_names)]
    ccs = (() if written.column else ("cubic",)) if written.cc is None else written.cc
    made = asdict(written) | {
        "column": _once(written.column + tuple(Column(cc, cc) for cc in ccs)),
        "case": written.case + tuple(Case(name, None, Texts(of)) for name, of in drawn.cases())
        if drawn else written.case,
        "drawn": drawn,
        "plot": (written.plot,) if isinstance(written.plot, str) else written.plot,
        "finding": (*written.finding, *_goals(written.goals, sender), *numbers),
    }
    return Scenario(**{name: made[name] for name in Scenario.__struct_fields__})


def _goals(name: str, sender: str) -> tuple[Finding, ...]:
    """The findings of goals/NAME.toml, which several scenarios share; none if name is empty."""
    if not name:
        return ()
    path = GOALS / f"{name}.toml"
    if not path.exists():
        there = ", ".join(sorted(p.stem for p in GOALS.glob("*.toml")))
        raise ValueError(f"no goals {name!r}; there are: {there}")
    try:
        return decode(path.read_text().replace(SENDER, sender), _Goals).finding
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _of_cases(scenario: Scenario) -> Iterator[Finding]:
    """The findings; one with each = "case" or "cell" is replaced by one for each case or cell."""
    if wrong := scenario.notes.keys() - {case.name for case in scenario.case}:
        raise ValueError(f"[notes] no case {min(wrong)!r}")
    for finding in scenario.finding:
        where = f"[[finding]] {finding.claim!r}"
        names = {"": (), "case": ("case",), "cell": ("column", "case")}.get(finding.each)
        if names is None:
            raise ValueError(f"{where}: each is 'case' or 'cell', not {finding.each!r}")
        for name in ("column", "case"):
            if (name in names) != (f"{{{name}}}" in finding.measure):
                raise ValueError(f"{where}: {{{name}}} goes with each = 'case' or 'cell'")
        cases = _like(finding.cases, scenario.case_names, where)
        columns = _like(finding.columns, [c.name for c in scenario.column], where)
        if finding.share and not (finding.each == "case" and 0 < finding.share <= 1):
            raise ValueError(f"{where}: share is at most 1, and needs each = 'case'")
        if finding.share:
            yield replace(finding, cases=tuple(cases))
        elif finding.each:
            for case in cases:
                note = scenario.notes.get(case, "")
                for column in columns if finding.each == "cell" else [""]:
                    yield finding.of(case, column, note)
        else:
            yield finding


def _like(patterns: tuple[str, ...], names: list[str], where: str) -> list[str]:
    """The names that match one of the patterns; all names if there are no patterns.

    ValueError if a pattern matches nothing.
    """
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ValueError(f"{where}: no name matches {pattern!r};"
                             f" there are: {', '.join(names)}")  # fmt: skip
    return [n for n in names if not patterns or any(fnmatchcase(n, p) for p in patterns)]


def _kind(scenario: Scenario, finding: Finding) -> str:
    """The kind of a finding without one: "ours" if the scenario has no paper or is a path-*, and
    for senders *_path, which no paper has."""
    own = not scenario.paper or scenario.name.startswith("path-") or "_path" in finding.measure
    return "ours" if own else "paper"


def _check(scenario: Scenario) -> None:
    """ValueError if names are not unique, or if the file uses a name that it does not define."""
    for what, them in (("column", scenario.column), ("case", scenario.case)):
        called = [one.name for one in them]
        for name in called:
            if called.count(name) > 1:
                raise ValueError(f"two {what}s have the name {name!r}")
            if "'" in name:
                raise ValueError(f"{what} {name!r}: measures quote the name: drop the ' in it")
    columns = [c.name for c in scenario.column]
    for name, of in scenario.group.items():
        if name in columns:
            raise ValueError(f"[group] {name!r} is a column's name: choose another")
        for like in of:
            if not any(fnmatchcase(c, like) for c in columns):
                raise ValueError(f"[group] {name!r}: no column {like!r};"
                                 f" there are: {', '.join(columns)}")  # fmt: skip
    for table in scenario.table:
        for name in table.rows:
            if name not in columns:
                raise ValueError(f"[[table]] {table.claim!r}: no column {name!r};"
                                 f" there are: {', '.join(columns)}")  # fmt: skip
    for column in scenario.column:
        if not column.cc and "mix" not in column.set | scenario.settings:
            raise ValueError(f"[[column]] {column.name!r} needs cc, or a mix")
    for finding in scenario.finding:
        if not (math.isfinite(finding.low) or math.isfinite(finding.high)):
            raise ValueError(f"[[finding]] {finding.claim!r} needs low or high: else it holds"
                             " always")  # fmt: skip
        if finding.kind not in KINDS:
            raise ValueError(f"[[finding]] {finding.claim!r}: no kind {finding.kind!r};"
                             f" there are: {', '.join(KINDS)}")  # fmt: skip
    for quality in scenario.quality:
        if quality.good == quality.bad:
            raise ValueError(f"[[quality]] {quality.what!r}: good and bad must differ")


# Pairs (A, B) of settings that exclude each other: if a layer sets A and not B, it removes B.
_REPLACES = (("bytes", "duration"), ("duration", "bytes"), ("duration", "timeout"),
             ("mix", "flows"), ("flows", "mix"),
             *permutations(("sample", "sample_fixed", "sample_links"), 2),
             *(pair for name, other in (("trace", "rate"), ("rtt_trace", "rtt"),
                                        ("loss_trace", "loss"))
               for pair in ((name, other), (other, name), ("network", name))),
             *(("network", name) for name in ("rate", "rtt", "flows", "start", "mix")))  # fmt: skip


def override(
    scenario: Scenario, assignments: Iterable[str], column: Column | None = None,
    case: Case | None = None,
) -> Settings:  # fmt: skip
    """The settings of a run.

    The scenario's settings are overridden by those of the case, then those of the column, then the
    --set KEY=VALUE of the command line (assignments).
    """
    return compile_settings(overridden(scenario, assignments, column, case))


def overridden(
    scenario: Scenario, assignments: Iterable[str], column: Column | None = None,
    case: Case | None = None,
) -> dict[str, str]:  # fmt: skip
    """As override(), but returns the settings as texts, in the form of a scenario's file."""
    given: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise usage(f"--set {assignment}: write KEY=VALUE, with KEY of: {', '.join(KEYS)}")
        check_keys([name])
        value = _beside(Path.cwd(), value)
        given[name] = f"{given[name]},{value}" if name == "param" and name in given else value
    texts = dict(scenario.settings)
    for layer in (case.set if case else {}, column.set if column else {}, given):
        for name, other in _REPLACES:
            if name in layer and other not in layer:
                texts.pop(other, None)
        params = [t["param"] for t in (texts, layer) if "param" in t]
        texts |= layer
        if params:
            texts["param"] = ",".join(params)
    return texts
