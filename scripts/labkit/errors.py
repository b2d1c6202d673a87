# SPDX-License-Identifier: GPL-2.0
"""The one exception that users see."""


class LabError(Exception):
    """Something the user must know; its text is one line saying what to do next.

    status is the exit status: 1 for a failed run, 2 for bad usage or input.
    log is what the failure left behind (the end of a kernel or build log), shown below the line.
    """

    def __init__(self, message: str, status: int = 1, log: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.log = log
