# SPDX-License-Identifier: GPL-2.0
"""The only exception type that is shown to users, and how."""

import sys


class LabError(Exception):
    """An error for the user; the message is one line that also says what to do next.

    status: the exit status, 1 for a failed run, 2 for bad usage or input.
    log: the end of the kernel or build log of the failure, shown together with the message.
    """

    def __init__(self, message: str, status: int = 1, log: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.log = log


def show(command: str, error: LabError) -> int:
    """Shows why a command failed, after the log of what failed; returns the exit status."""
    if log := error.log.strip("\n"):
        print(log, file=sys.stderr)
    print(f"{command}: {error}", file=sys.stderr)
    return error.status
