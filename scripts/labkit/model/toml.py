# SPDX-License-Identifier: GPL-2.0
"""TOML files as typed objects, or a line that says what is wrong in which of their tables."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..errors import LabError

Kind = TypeVar("Kind")
Number = int | float  # 56 stays 56

# What msgspec says, and how a file's writer reads it.
_SAID = (
    (re.compile(r"Object contains unknown field `(.*)`"), r"no key '\1'"),
    (re.compile(r"Object missing required field `(.*)`"), r"'\1' is missing"),
    (re.compile(r"Expected `(.*)`, got `(.*)`"), r"a value is of type \1, not \2"),
    (re.compile(r"\bobject\b"), "table"),
    (re.compile(r"\bnull\b"), "nothing"),
)


def says(text: str) -> msgspec.Meta:
    """What a key says of itself on the schema's page: key: Annotated[str, says("...")].

    A field without it is no key of the file.
    """
    return msgspec.Meta(description=text)


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a file: its keys and their types, and no others."""


def decode(text: str, kind: type[Kind], hook: Callable[[type, Any], Any] | None = None) -> Kind:
    """A file's text as that kind; ValueError says what is wrong, and where.

    hook makes a value of a type of our own, and may raise ValueError, too.
    """
    try:
        return msgspec.toml.decode(text, type=kind, dec_hook=hook)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        for pattern, words in _SAID:
            what = pattern.sub(words, what)
        raise ValueError(": ".join(filter(None, (_where(path.rstrip("`")), what)))) from None


def read(path: Path, kind: type[Kind]) -> Kind:
    """A file as that kind; LabError names it in a line that says what is wrong."""
    try:
        return decode(path.read_text(), kind)
    except ValueError as error:
        raise LabError(f"{path}: {error}") from None


def _where(path: str) -> str:
    """.finding[1].low: "[[finding]] 2, low"."""
    words = []
    for name, index in re.findall(r"([^.\[\]]+)(?:\[\.\.\.\])?(?:\[(\d+)\])?", path):
        shown = name if words or not index else f"[[{name}]]"
        words.append(f"{shown} {int(index) + 1}" if index else shown)
    return ", ".join(words)
