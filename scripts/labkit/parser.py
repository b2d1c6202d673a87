# SPDX-License-Identifier: GPL-2.0
"""The argument parser that all commands use."""

import argparse
from typing import NoReturn

from .errors import LabError


class Parser(argparse.ArgumentParser):
    """Raises a LabError of status 2 for an argument error, so that it is one line."""

    def error(self, message: str) -> NoReturn:
        raise LabError(f"{message} (see {self.prog} --help)", status=2)
