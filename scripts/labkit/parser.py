# SPDX-License-Identifier: GPL-2.0
"""The commands' arguments: what their parsers have in common."""

import argparse
from typing import NoReturn

from .errors import LabError


class Parser(argparse.ArgumentParser):
    """Errors are one line, as everywhere: a LabError of status 2."""

    def error(self, message: str) -> NoReturn:
        raise LabError(f"{message} (see {self.prog} --help)", status=2)
