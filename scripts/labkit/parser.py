# SPDX-License-Identifier: GPL-2.0
"""The argument parser that all commands use."""

import argparse
import contextlib
from typing import NoReturn

from .errors import LabError


class Parser(argparse.ArgumentParser):
    """Raises a LabError of status 2 for an argument error, so that it is one line."""

    def error(self, message: str) -> NoReturn:
        raise LabError(f"{message} (see {self.prog} --help)", status=2)


def seconds(text: str) -> float:
    """Parses a time limit: seconds, more than 0."""
    with contextlib.suppress(ValueError):
        if 0 < float(text) < 1e6:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
