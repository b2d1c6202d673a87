# SPDX-License-Identifier: GPL-2.0
"""Each tool of scripts/lint reports nothing, and the laboratory's packages keep their order."""

import ast
import subprocess
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from conftest import REPO
from labkit.measure import provenance

LABKIT = REPO / "scripts" / "labkit"
# From the bottom up: each may import those before it.  Modules that are not in the list are
# commands, and may import all.
PACKAGES = ["errors", "paths", "host", "libraries", "model", "world", "measure", "tell"]

TOOLS = ["checkpatch", "sparse", "warnings", "shellcheck", "ruff", "redefinitions", "codespell"]


@pytest.mark.parametrize("tool", TOOLS)
def test_lint(tool: str) -> None:
    done = subprocess.run([REPO / "scripts/lint", tool], capture_output=True, text=True)
    if done.returncode:
        pytest.fail(done.stdout + done.stderr, pytrace=False)


def imports(root: Path) -> dict[str, set[str]]:
    """For each module of the package in root: the modules that it imports, at its head or later.

    Names are relative to root: tell.page.
    """
    paths = {p: ".".join(p.relative_to(root).with_suffix("").parts) for p in root.rglob("*.py")}
    known, found = set(paths.values()), {}
    for path, module in paths.items():
        used = found[module] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                start = [*module.split("."), ""][: -node.level - 1]
                base = [*start, *(node.module or "").split(".")]
                for name in node.names:
                    full = ".".join(filter(None, [*base, name.name]))
                    used.add(full if full in known else full.rpartition(".")[0])
    return found


def upward(found: dict[str, set[str]]) -> list[str]:
    """The imports of a higher package by a lower one."""

    def floor(module: str) -> int:
        first = module.partition(".")[0]
        return PACKAGES.index(first) if first in PACKAGES else len(PACKAGES)

    return [f"{module} imports {other}" for module, used in sorted(found.items())
            for other in sorted(used) if floor(other) > floor(module)]  # fmt: skip


def test_no_package_of_the_laboratory_imports_one_above_it() -> None:
    found = imports(LABKIT)
    assert "model.scenario" in found["measure.job"], "this test sees no imports"
    assert not upward(found)


def test_no_modules_of_the_laboratory_import_each_other() -> None:
    try:
        TopologicalSorter(imports(LABKIT)).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])), pytrace=False)


# They only make the values of settings from texts, and a run's key has the values.
TEXTS = {"errors", "paths", "model.parse", "model.toml", "model.units"}


def test_a_result_is_computed_again_if_any_of_its_code_changes() -> None:
    """The digest covers result.py and what it imports, except a run's key and its origin."""
    found, done = imports(LABKIT), {*TEXTS, "measure.job", "measure.provenance"}
    open_, needed = {"measure.result"}, set()
    while open_ := open_ - done:
        done, needed = done | open_, needed | open_
        open_ = set().union(*(found[module] for module in open_))
    assert "model.network" in needed, "this test sees no imports"
    assert {f"{module.replace('.', '/')}.py" for module in needed} == {*provenance._MEASURING}


def test_imports_that_go_up_or_round_are_found(tmp_path) -> None:
    for package in ("model", "tell"):
        (tmp_path / package).mkdir()
    (tmp_path / "model" / "units.py").write_text("from .scenario import Scenario\n")
    (tmp_path / "model" / "scenario.py").write_text(
        "def load():\n    from ..tell import page\n    from . import units\n"
    )
    (tmp_path / "tell" / "page.py").write_text("from ..model.scenario import load\n")
    found = imports(tmp_path)
    assert found == {
        "model.units": {"model.scenario"}, "model.scenario": {"tell.page", "model.units"},
        "tell.page": {"model.scenario"},
    }  # fmt: skip
    assert upward(found) == ["model.scenario imports tell.page"]
    with pytest.raises(CycleError):
        TopologicalSorter(found).prepare()
