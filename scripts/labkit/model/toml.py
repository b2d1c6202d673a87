# SPDX-License-Identifier: GPL-2.0
"""TOML files as typed objects; an error names the table and the key."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..errors import LabError

Kind = TypeVar("Kind")
Number = int | float  # an int stays an int: 56 is not shown as 56.0

# msgspec's error messages, and the words that replace them for the author of a file.
_SAID = (
    (re.compile(r"Object contains unknown field `(.*)`"), r"no key '\1'"),
    (re.compile(r"Object missing required field `(.*)`"), r"'\1' is missing"),
    (re.compile(r"Expected `(.*)`, got `(.*)`"), r"a value is of type \1, not \2"),
    (re.compile(r"\bobject\b"), "table"),
    (re.compile(r"\bnull\b"), "nothing"),
)


def says(text: str) -> msgspec.Meta:
    """The description of a key on the schema page: key: Annotated[str, says("...")].

    A field without it is not a key of the file.
    """
    return msgspec.Meta(description=text)


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a file: its keys and their types.  An unknown key is an error."""


def decode(text: str, kind: type[Kind], hook: Callable[[type, Any], Any] | None = None) -> Kind:
    """Decodes a file's text as an object of kind; ValueError says what is wrong, and where.

    hook converts a value to one of our own types, and may raise ValueError, too.
    """
    try:
        return msgspec.toml.decode(text, type=kind, dec_hook=hook)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        for pattern, words in _SAID:
            what = pattern.sub(words, what)
        raise ValueError(": ".join(filter(None, (_where(path.rstrip("`")), what)))) from None


def read(path: Path, kind: type[Kind]) -> Kind:
    """Decodes a file as an object of kind; LabError names the file and the error."""
    try:
        return decode(path.read_text(), kind)
    except ValueError as error:
        raise LabError(f"{path}: {error}") from None


def _where(path: str) -> str:
    """A msgspec path in words: .finding[1].low becomes "[[finding]] 2, low"."""
    words = []
    for name, index in re.findall(r"([^.\[\]]+)(?:\[\.\.\.\])?(?:\[(\d+)\])?", path):
        shown = name if words or not index else f"[[{name}]]"
        words.append(f"{shown} {int(index) + 1}" if index else shown)
    return ", ".join(words)
