# SPDX-License-Identifier: GPL-2.0
"""Each tool of scripts/lint is content."""

import subprocess

import pytest

from conftest import REPO

TOOLS = ["checkpatch", "sparse", "warnings", "shellcheck", "ruff", "redefinitions", "codespell"]


@pytest.mark.parametrize("tool", TOOLS)
def test_lint(tool: str) -> None:
    done = subprocess.run([REPO / "scripts/lint", tool], capture_output=True, text=True)
    if done.returncode:
        pytest.fail(done.stdout + done.stderr, pytrace=False)
