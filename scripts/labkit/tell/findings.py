# SPDX-License-Identifier: GPL-2.0
"""The expressions about runs in a scenario's file: its own metrics, and findings.

A scenario's own metric is arithmetic with the metrics of one run (see Metrics), its numeric
settings, its module parameters (kp for tcp_ccpd.kp=4) and the x of its case:

    [metrics]
    share_of_buffer = "queue_max / buffer"

Where such a metric is used, it can be restricted to some flows, a link or a stage, as any metric:
share_of_buffer@1.

The measure of a finding is arithmetic with many runs.  mean, median, least and most take the name
of a metric, and optionally that of a column, a case and a scenario (default: all columns and cases
of this scenario):

    median('completion_s', 'cubic') / median('completion_s', 'ccpd', scenario='ccpd-table3')

fluid('margin') is the result of a model, which needs no runs.  better(a, b, x, y) is x if a is at
least b, and y otherwise.  For a finding with a share, the measured value is the share of the cases
in which the measure is between low and high.

[group] gives several columns one name, with which a measure uses the runs of all of them:

    [group]
    "ccpd beside reno" = ["ccpd(*) / reno", "reno / ccpd(*)"]

The measure of a quality is evaluated for each sender, which replaces {cc}: mean('jain', '{cc}').
"""

import ast
import functools
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

import numpy as np

from ..errors import LabError
from ..measure import intervals
from ..measure.intervals import Interval
from ..measure.metrics import METRICS, given, metric, part, split
from ..model import fluid, parse
from ..model import scenario as scenarios
from ..model.scenario import Finding, Quality, Scenario
from ..model.settings import KEYS

STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "mean": fmean, "median": median, "least": min, "most": max,
}  # fmt: skip
PLAIN: dict[str, Callable[..., float]] = {
    "min": min, "max": max, "abs": abs, "better": lambda a, b, x, y: x if a >= b else y,
}  # fmt: skip

# The functions for many draws at once.  There are none for the minimum and maximum over seeds,
# because their intervals would mean nothing for other seeds.
_DRAWN = {name: functools.partial(of, axis=1)
          for name, of in (("mean", np.mean), ("median", np.median))}  # fmt: skip
_DRAWN_PLAIN = {
    "min": lambda *of: functools.reduce(np.minimum, of),
    "max": lambda *of: functools.reduce(np.maximum, of),
    "abs": np.abs,
    "better": lambda a, b, x, y: np.where(a >= b, x, y),
}
MODELS = {"fluid": fluid.measure}

_ALLOWED = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow,
    ast.UAdd, ast.USub, ast.Call, ast.keyword, ast.Name, ast.Load, ast.Constant,
)  # fmt: skip
# The least and the largest number of arguments of PLAIN; None: any number.
_ARGUMENTS = {"min": (2, None), "max": (2, None), "abs": (1, 1), "better": (4, 4)}
MOST_POWER = 16  # the largest exponent: a float has no more than 1e308


@dataclass(frozen=True)
class Reference:
    """The metric and the runs in a call of a measure; empty fields mean every column or case."""

    metric: str
    column: str = ""  # name of a column or group
    case: str = ""
    scenario: str = ""

    def cells(self, of: Scenario) -> list[tuple[str, str]]:
        """The column and case of each cell; of: the scenario that the reference names."""
        return [
            (column, case)
            for case in of.case_names
            for column in of.columns_of(self.column)
            if self.case in ("", case)
        ]


class NotMeasuredError(Exception):
    """A measure needs a run that does not exist."""


def _parse(text: str, where: str) -> ast.Expression:
    text = " ".join(text.split())
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise LabError(f"{where}: {text!r}: {error.msg}") from None
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise LabError(f"{where}: {text!r} may have only arithmetic, not {type(node).__name__}")
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
            raise LabError(f"{where}: {text!r}: only functions can be called, by name")
    _check_types(tree, f"{where}: {text!r}")
    return tree


def _check_types(tree: ast.Expression, where: str) -> None:
    """LabError if arithmetic has something else than numbers, or a function too few or too many
    arguments."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    others = [node for node in calls if node.func.id not in _ARGUMENTS]  # they take names
    names = {id(a) for node in others for a in (*node.args, *(k.value for k in node.keywords))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in names:
            if type(node.value) not in (int, float):
                raise LabError(f"{where}: {ast.unparse(node)} is not a number")
            if abs(node.value) > sys.float_info.max:
                raise LabError(f"{where}: a number is too large")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            power = getattr(node.right, "operand", node.right)
            if type(value := getattr(power, "value", None)) not in (int, float) or not (
                abs(value) <= MOST_POWER
            ):
                raise LabError(f"{where}: an exponent is a number from -{MOST_POWER} to"
                               f" {MOST_POWER}")  # fmt: skip
        if isinstance(node, ast.Call) and node.func.id in _ARGUMENTS:
            least, most = _ARGUMENTS[node.func.id]
            count, more = len(node.args), " or more" * (most is None)
            if node.keywords or not least <= count <= (most or count):
                raise LabError(f"{where}: {node.func.id}() takes {least} number{'s' * (least > 1)}"
                               f"{more}, not {count + len(node.keywords)}")  # fmt: skip


def _evaluate(tree: ast.Expression, names: Mapping[str, Any], where: str) -> float:
    """The value of an expression; LabError if it has none, such as a root of a negative number."""
    try:
        return float(_compute(tree, names))
    except ZeroDivisionError:
        raise
    except (ArithmeticError, TypeError) as error:
        raise LabError(f"{where}: {ast.unparse(tree)} has no value: {error}") from None


def _compute(tree: ast.Expression, names: Mapping[str, Any]) -> Any:
    return eval(compile(tree, "measure", "eval"), {"__builtins__": {}}, names)


# Metrics ----------------------------------------------------------------------------------------


def metric_names(of: Scenario) -> list[str]:
    return [*of.metrics, *METRICS]


class _Names(Mapping):
    """The names that a scenario's own metric can use, with their values in a run."""

    def __init__(self, of: Scenario, run: Any) -> None:
        self.scenario = of
        self.run = run

    def __getitem__(self, name: str) -> Any:
        if name in PLAIN:
            return PLAIN[name]
        if name in self.scenario.metrics or name in METRICS:
            return _known(value(self.scenario, self.run, name))
        settings = self.run["settings"]
        for param in reversed(settings.get("param", [])):
            if param.partition("=")[0].partition(".")[2] == name:
                return float(param.partition("=")[2])
        if name == "x" and "case" in self.run:
            return _known(self.scenario.case_of(self.run["case"]).x)
        if name == "rtt":
            return min(settings["rtt"])
        return _known(settings.get(name))

    def __iter__(self):
        return iter(())

    def __len__(self) -> int:
        return 0


def _known(number: float | None) -> float:
    if not isinstance(number, (int, float)):
        raise NotMeasuredError
    return number


def value(of: Scenario, run: Any, name: str) -> float | None:
    """A metric of a run, the scenario's own or a general one; None if it was not measured."""
    asked = split(name)
    if asked.base not in of.metrics:
        return metric(run, name)
    try:
        of_part = _Names(of, part(run, asked.which, asked.stage))
        where = str(of.path)
        return _evaluate(_parse(of.metrics[asked.base], where), of_part, where)
    except (NotMeasuredError, ZeroDivisionError, KeyError, IndexError):
        return None


def at_least(of: Scenario, run: Any, name: str) -> float | None:
    """As value(), or its substitute from given()."""
    found = value(of, run, name)
    return given(run, name) if found is None else found


# Findings ---------------------------------------------------------------------------------------


def references(of: Scenario, finding: Finding, table: str = "[[finding]]") -> list[Reference]:
    """The references in a finding's measure; LabError if it names something that does not exist.

    table: the table of the file with the finding, for messages; empty if it is not in a file.
    """
    if finding.share:
        return [r for name in finding.cases for r in references(of, finding.of(name))]
    where = f"{of.path}: {table} {finding.claim!r}, measure" if table else finding.claim
    tree = _parse(finding.measure, where)
    found, modelled = [], False
    functions = [*STATISTICS, *PLAIN, *MODELS]
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and (node.id not in functions or id(node) not in called):
            raise LabError(f"{where}: no {node.id!r}; there are: {', '.join(functions)}")
        if isinstance(node, ast.Call) and node.func.id in STATISTICS:
            found.append(_reference(node, where))
        if isinstance(node, ast.Call) and node.func.id in MODELS:
            modelled = True
            _check_model(node, where)
    if not found and not modelled:
        raise LabError(f"{where}: the measure uses no metric of a run")
    for reference in found:
        _check(of, reference, where)
    return found


def _reference(node: ast.Call, where: str) -> Reference:
    arguments = [*node.args, *(k.value for k in node.keywords)]
    if not all(isinstance(a, ast.Constant) and isinstance(a.value, str) for a in arguments):
        raise LabError(f"{where}: {node.func.id}() takes only names in quotes")
    try:
        return Reference(
            *(a.value for a in node.args), **{k.arg: k.value.value for k in node.keywords}
        )
    except TypeError:
        raise LabError(
            f"{where}: {node.func.id}() takes metric, column, case and scenario"
        ) from None


def _check_model(node: ast.Call, where: str) -> None:
    if [getattr(a, "value", None) in fluid.MEASURES for a in node.args] != [True] or node.keywords:
        raise LabError(f"{where}: {node.func.id}() takes one of: {', '.join(fluid.MEASURES)}")


def _check(of: Scenario, reference: Reference, where: str) -> None:
    if reference.scenario and reference.scenario not in scenarios.names():
        raise LabError(f"{where}: no scenario {reference.scenario!r}")
    other = scenarios.load(reference.scenario) if reference.scenario else of
    metrics = metric_names(other)
    for what, name, there in (
        ("metric", split(reference.metric).base, metrics),
        ("column", reference.column, [*(c.name for c in other.column), *other.group]),
        ("case", reference.case, [c.name for c in other.case]),
    ):
        if name and name not in there:
            raise LabError(
                f"{where}: {other.name} has no {what} {name!r};"
                f" there are: {', '.join(there) or 'none'}"
            )


def _parameters(of: Scenario) -> set[str]:
    """The names of the module parameters that a scenario sets."""
    layers = (of.settings, *(one.set for one in (*of.case, *of.column)))
    texts = (layer["param"] for layer in layers if "param" in layer)
    return {name for text in texts for _, name, _ in parse.params(text)}


def check(of: Scenario) -> None:
    """LabError if the metrics, expectations or findings of a scenario name something that does not
    exist."""
    for name, text in of.metrics.items():
        where = f"{of.path}: [metrics] {name}"
        there = {*PLAIN, *metric_names(of), *KEYS, *_parameters(of), "x"}
        for node in ast.walk(_parse(text, where)):
            if isinstance(node, ast.Name) and node.id == name:
                raise LabError(f"{where}: the metric uses itself")
            if isinstance(node, ast.Name) and node.id not in there:
                raise LabError(f"{where}: no metric, setting or parameter {node.id!r}")
    for table in of.table:
        if (name := split(table.metric).base) not in metric_names(of):
            raise LabError(f"{of.path}: [[table]] {table.claim!r}: no metric {name!r};"
                           f" there are: {', '.join(metric_names(of))}")  # fmt: skip
    for finding in of.finding:
        references(of, finding)
    for quality in of.quality:
        of_senders(of, quality)


def of_senders(of: Scenario, quality: Quality) -> dict[str, Finding]:
    """For each sender with the columns of a quality: the finding that it is good.

    LabError if no sender has the columns.
    """
    more = quality.good > quality.bad
    low, high = (quality.good, math.inf) if more else (-math.inf, quality.good)
    found, wrong = {}, [f"{of.path}: [[quality]] {quality.what!r}, measure: no column for {{cc}}"]
    for cc in dict.fromkeys(cc for column in of.column for cc in of.senders(column)):
        measure = quality.measure.replace("{cc}", cc)
        finding = Finding(quality.what, measure, low, high, kind="ours")
        if measure != quality.measure:
            try:
                references(of, finding, "[[quality]]")
                found[cc] = finding
            except LabError as error:
                wrong.append(str(error))
    if not found:  # any other error is more useful than a missing column
        raise LabError(next((w for w in wrong[1:] if " has no column " not in w), wrong[0]))
    return found


Lookup = Callable[[str, str, str], list[Any]]


def measure(of: Scenario, finding: Finding, lookup: Lookup) -> float:
    """The value of a finding's measure; lookup returns runs by scenario, column and case.

    For a finding with a share, the share of the cases in which it holds.
    """
    if finding.share:
        good = [finding.low <= value <= finding.high for _, value in by_case(of, finding, lookup)]
        return fmean(good)

    def over(statistic: Callable[[list[float]], float]) -> Callable[..., float]:
        def compute(*names: str, **more: str) -> float:
            by_cell = _values(of, Reference(*names, **more), lookup)
            return statistic([v for values in by_cell for v in values])

        return compute

    functions = {name: over(statistic) for name, statistic in STATISTICS.items()}
    references(of, finding)
    tree = _parse(finding.measure, str(of.path))
    try:
        measured = _evaluate(tree, functions | PLAIN | MODELS, str(of.path))
    except ZeroDivisionError:
        raise NotMeasuredError from None
    if math.isnan(measured):
        raise NotMeasuredError
    return measured


MISSING = 0.05  # share of the cases of a finding with a share that may lack a run (lab's limits)


def by_case(of: Scenario, finding: Finding, lookup: Lookup) -> list[tuple[str, float]]:
    """The name of each case of a finding with a share, and its value; without missing cases.

    NotMeasuredError if more than MISSING of the cases have no value.
    """
    found, wrong = [], []
    for name in finding.cases:
        try:
            found.append((name, measure(of, finding.of(name), lookup)))
        except NotMeasuredError as error:
            wrong.append(error)
    if len(wrong) > MISSING * len(finding.cases):
        raise wrong[0]
    return found


def _values(of: Scenario, reference: Reference, lookup: Lookup) -> list[list[float]]:
    """For each cell of a reference, the metric of each seed."""
    other = scenarios.load(reference.scenario) if reference.scenario else of
    return [
        [_known(at_least(other, run, reference.metric)) for run in lookup(other.name, column, case)]
        for column, case in reference.cells(other)
    ]


def interval(of: Scenario, finding: Finding, lookup: Lookup) -> Interval | None:
    """The result of measure() with its interval; None if the measure uses only models.

    The seeds are drawn for all cells together, so that a draw compares the same seeds of two
    columns.  n is the smallest number of seeds of a cell.  There is no interval if n is 1, or if
    the measure uses least or most, or divides by a value that may be 0.
    """
    measured = measure(of, finding, lookup)
    if finding.share:
        return Interval(of.seeds, measured)
    cells = [v for r in references(of, finding) for v in _values(of, r, lookup)]
    if not cells:
        return None
    fewest = min(map(len, cells))

    def over(
        statistic: Callable[[np.ndarray], np.ndarray], draws: intervals.Draws
    ) -> Callable[..., np.ndarray]:
        def compute(*names: str, **more: str) -> np.ndarray:
            by_cell = _values(of, Reference(*names, **more), lookup)
            drawn = [np.asarray(values)[draws[len(values)]] for values in by_cell]
            return statistic(np.concatenate(drawn, axis=-1))

        return compute

    def of_draws(draws: intervals.Draws) -> np.ndarray:
        functions = {name: over(statistic, draws) for name, statistic in _DRAWN.items()}
        return _compute(tree, functions | _DRAWN_PLAIN | MODELS)

    tree = _parse(finding.measure, str(of.path))
    called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if fewest < 2 or called & (STATISTICS.keys() - _DRAWN.keys()):
        return Interval(fewest, measured)
    if all(value == values[0] for values in cells for value in values):
        return Interval(fewest, measured, measured, measured, same=True)
    with np.errstate(all="ignore"):
        return Interval(fewest, measured, *intervals.bounds(of_draws, map(len, cells)))


def holds(finding: Finding, measured: float) -> bool:
    """Whether the measured value is within the finding's bounds, or is at least its share."""
    return measured >= finding.share if finding.share else finding.low <= measured <= finding.high
