# SPDX-License-Identifier: GPL-2.0
"""Writes the page of the schema, docs/schema.md: the keys of scenario and network files, taken from
the code that reads them."""

import inspect
import math
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import msgspec

from ..measure.metrics import METRICS
from ..model import draw, fluid, network, scenario
from ..model.settings import KEYS
from ..paths import REPO
from . import findings, plot

PAGE = REPO / "docs/schema.md"

_HEAD = """# Scenario and network files

`scripts/lab schema --write` makes this page from the code that reads the files; do not edit it. The
files are TOML. An error in a file is one line, with the file, the table and the key.
"""

# The names of types in msgspec, and in the documentation.
_TYPES = {
    "StrType": "text", "IntType": "whole number", "FloatType": "number",
    "BoolType": "true or false", "AnyType": "value", "CustomType": "table of settings",
}  # fmt: skip


def page() -> str:
    """The text of docs/schema.md."""
    parts = [
        _HEAD,
        "## A scenario", _told(scenario), *_tables(msgspec.inspect.type_info(scenario.Written)),
        "### [draw]", _told(draw), _table(
            ("range", "written as", "what it is"),
            ((f"`{name}`", '`{ from = "...", to = "..." }`' if of.parse else '`{ of = ["..."] }`',
              of.says) for name, of in draw.AXES.items()),
        ),
        "## Settings", _SETTINGS, _table(("key", "default", "takes", "what it is"), _keys()),
        "## Metrics", _METRICS,
        _table(("metric", "what it is"), ((f"`{m}`", of.says) for m, of in METRICS.items())),
        "## Measures", _told(findings), _functions(),
        "## Plots", "The values of `plot`.", _table(
            ("plot", "suffix", "what it shows"),
            ((f"`{name}`", of.usage, of.says) for name, of in plot.KINDS.items()),
        ),
        "## A network", _told(network), *_tables(msgspec.inspect.type_info(network.File)),
    ]  # fmt: skip
    return "\n".join(part.strip("\n") + "\n" for part in parts)


_SETTINGS = """
Settings are in `[settings]`, and in `set` of a case or a column. Those of a case override
`[settings]`, those of a column override both, and `--set KEY=VALUE` on the command line overrides
all. A value is text or a number; a list is the same as its parts with commas between them. Times
are in seconds, or with the unit ms or us; rates in bit/s, or with kbit, mbit, gbit; sizes in bytes,
or with k, M, G; a share may be in %. If two keys exclude each other, an error says so. In the last
column, an example follows a colon.
"""
_METRICS = """
A metric is a number of a run. `table`, `metrics`, measures and plots use its name.
`cwnd_mean:cubic`, `:0` or `:0-9` is the metric of only these flows, and `queue_mean:link2` that of
only this link. `@1` after any of these means the second stage. A metric that was not measured has
no value.
"""

def _told(module: ModuleType) -> str:
    """The docstring of a module without its first paragraph, which is about the module."""
    return inspect.cleandoc(module.__doc__ or "").partition("\n\n")[2]


def _keys() -> Iterable[tuple[str, ...]]:
    for name, key in KEYS.items():
        yield f"`{name}`", key.default or "", _takes(name), key.help


def _takes(name: str) -> str:
    """The values that a key accepts: its error message for "?", which no key accepts."""
    try:
        KEYS[name].parse("?")
    except ValueError as error:
        said = str(error)
        # The path of the missing file does not belong on the page.
        return said.partition(",")[0] if said.startswith("a file's path") else said
    raise AssertionError(f"{name} takes '?'")


def _functions() -> str:
    of_runs, of_numbers, of_models = (
        ", ".join(f"`{name}`" for name in names)
        for names in (findings.STATISTICS, findings.PLAIN, fluid.MEASURES)
    )
    return (f"Functions of runs: {of_runs}. Functions of numbers: {of_numbers}. `fluid` takes one"
            f" of {of_models}.")


def _tables(file: Any) -> list[str]:
    """The Markdown tables of a file's keys, and of its inner tables, which have headings."""
    rows, inner = [], []
    for field in file.fields:
        if not isinstance(field.type, msgspec.inspect.Metadata):
            continue  # not a key of the file
        kind, said = field.type.type, field.type.extra_json_schema["description"]
        rows.append((f"`{field.encode_name}`", _kind(kind), _default(field), said))
        if of := _table_of(kind):
            inner += [f"### [[{field.encode_name}]]", inspect.cleandoc(of.cls.__doc__),
                      *_tables(of)]  # fmt: skip
    return [_table(("key", "type", "default", "what it is"), rows), *inner]


def _table_of(kind: Any) -> Any:
    of = getattr(kind, "item_type", None)
    return of if isinstance(of, msgspec.inspect.StructType) else None


def _kind(kind: Any) -> str:
    """A type in words."""
    if isinstance(kind, msgspec.inspect.UnionType):
        words = [_kind(k) for k in kind.types if not isinstance(k, msgspec.inspect.NoneType)]
        return "number" if words == ["whole number", "number"] else " or ".join(words)
    if isinstance(kind, msgspec.inspect.DictType):
        value = _kind(kind.value_type)
        return f"a {'value' if ' or ' in value else value} for each name"
    if _table_of(kind):
        return "tables"
    if of := getattr(kind, "item_type", None):
        kind = _kind(of)
        return f"list of {kind}" if " or " in kind else f"list of {kind}s"
    return _TYPES[type(kind).__name__]


def _default(field: Any) -> str:
    if field.required:
        return "needed"
    empty = field.default in (msgspec.NODEFAULT, "", (), None)
    if empty or (isinstance(field.default, float) and not math.isfinite(field.default)):
        return ""
    number = isinstance(field.default, float)
    return f"{field.default:g}" if number else str(field.default).lower()


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    """Text escaped for a cell of a Markdown table."""
    if text.startswith("`"):
        return text
    return "".join(f"\\{c}" if c in "|*<[" else c for c in text)
