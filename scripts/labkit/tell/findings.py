# SPDX-License-Identifier: GPL-2.0
"""What a scenario's file says about its runs: metrics of its own, and findings.

A metric of its own is arithmetic over one run's metrics (result.METRICS), the numbers among its
settings, its module parameters (kp for tcp_ccpd.kp=4) and its case's x:

    [metrics]
    share_of_buffer = "queue_max / buffer"

Like these it may be restricted, where it is used, to some flows, a link or a stage:
share_of_buffer@1.

A finding's measure is arithmetic over many runs: mean, median, least and most of a metric of a
column's runs, of one case or of all, in this scenario or in another:

    median('completion_s', 'cubic') / median('completion_s', 'ccpd', scenario='ccpd-table3')

or of a model that needs no runs: fluid('margin'), with the names of fluid.MEASURES.
"""

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from ..errors import LabError
from ..measure.metrics import METRICS, metric, part, split
from ..model import fluid
from ..model import scenario as scenarios
from ..model.scenario import Finding, Scenario

STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "mean": fmean, "median": median, "least": min, "most": max,
}  # fmt: skip
PLAIN = {"min": min, "max": max, "abs": abs}
MODELS = {"fluid": fluid.measure}

_ALLOWED = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Call, ast.keyword,
    ast.Name, ast.Load, ast.Constant,
)  # fmt: skip


@dataclass(frozen=True)
class Reference:
    """The runs that one call in a measure is about: of every column and case if it names none."""

    metric: str
    column: str = ""
    case: str = ""
    scenario: str = ""

    def cells(self, of: Scenario) -> list[tuple[str, str]]:
        """Column and case of each cell, in the scenario it names."""
        return [
            (column.name, case)
            for case in [c.name for c in of.case] or [""]
            for column in of.column
            if self.column in ("", column.name) and self.case in ("", case)
        ]


class NotMeasuredError(Exception):
    """A measure needs a run that there is not."""


def _parse(text: str, where: str) -> ast.Expression:
    text = " ".join(text.split())
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise LabError(f"{where}: {text!r}: {error.msg}") from None
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise LabError(f"{where}: {text!r} is more than arithmetic: {type(node).__name__}")
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
            raise LabError(f"{where}: {text!r}: only a function by its name can be called")
    return tree


def _evaluate(tree: ast.Expression, names: Mapping[str, Any]) -> float:
    return float(eval(compile(tree, "measure", "eval"), {"__builtins__": {}}, names))


# Metrics ----------------------------------------------------------------------------------------


def metric_names(of: Scenario) -> list[str]:
    return [*of.metrics, *METRICS]


class _Names(Mapping):
    """What a metric of a scenario's own may name, of one run."""

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
    """A metric of a run, the scenario's own or any run's; None if it was not measured."""
    asked = split(name)
    if asked.base not in of.metrics:
        return metric(run, name)
    try:
        of_part = _Names(of, part(run, asked.which, asked.stage))
        return _evaluate(_parse(of.metrics[asked.base], str(of.path)), of_part)
    except (NotMeasuredError, ZeroDivisionError, KeyError, IndexError):
        return None


def at_least(of: Scenario, run: Any, name: str) -> float | None:
    """The same, but a flow that did not finish took as long as it was given."""
    found = value(of, run, name)
    if found is None and split(name).base == "completion_s":
        found = run["settings"].get("timeout")
    return found


# Findings ---------------------------------------------------------------------------------------


def references(of: Scenario, finding: Finding) -> list[Reference]:
    """Which runs a finding is about; an error that names the file if it names what is not there."""
    where = f"{of.path}: {finding.claim!r}"
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
        raise LabError(f"{where}: the measure names no metric of a run")
    for reference in found:
        _check(of, reference, where)
    return found


def _reference(node: ast.Call, where: str) -> Reference:
    arguments = [*node.args, *(k.value for k in node.keywords)]
    if not all(isinstance(a, ast.Constant) and isinstance(a.value, str) for a in arguments):
        raise LabError(f"{where}: {node.func.id}() takes names, in quotes")
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
        ("column", reference.column, [c.name for c in other.column]),
        ("case", reference.case, [c.name for c in other.case]),
    ):
        if name and name not in there:
            raise LabError(
                f"{where}: {other.name} has no {what} {name!r};"
                f" there are: {', '.join(there) or 'none'}"
            )


def check(of: Scenario) -> None:
    """Refuses a scenario whose metrics, expectations or findings name what is not there."""
    for name, text in of.metrics.items():
        tree = _parse(text, f"{of.path}: {name}")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == name:
                raise LabError(f"{of.path}: the metric {name!r} is made of itself")
    for expected in of.expected:
        if split(expected.metric).base not in metric_names(of):
            raise LabError(
                f"{of.path}: [[expected]]: no metric {expected.metric!r};"
                f" there are: {', '.join(metric_names(of))}"
            )
    for finding in of.finding:
        references(of, finding)


Lookup = Callable[[str, str, str], list[Any]]


def measure(of: Scenario, finding: Finding, lookup: Lookup) -> float:
    """What the finding measures, of the runs that lookup has by scenario, column and case."""

    def over(statistic: Callable[[list[float]], float]) -> Callable[..., float]:
        def compute(*names: str, **more: str) -> float:
            reference = Reference(*names, **more)
            other = scenarios.load(reference.scenario) if reference.scenario else of
            values = [
                at_least(other, run, reference.metric)
                for column, case in reference.cells(other)
                for run in lookup(other.name, column, case)
            ]
            return statistic([_known(v) for v in values])

        return compute

    functions = {name: over(statistic) for name, statistic in STATISTICS.items()}
    references(of, finding)
    tree = _parse(finding.measure, str(of.path))
    try:
        measured = _evaluate(tree, functions | PLAIN | MODELS)
    except ZeroDivisionError:
        raise NotMeasuredError from None
    if math.isnan(measured):
        raise NotMeasuredError
    return measured


def holds(finding: Finding, measured: float) -> bool:
    return finding.low <= measured <= finding.high
