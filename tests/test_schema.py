# SPDX-License-Identifier: GPL-2.0
"""The page of the schema agrees with the code.  Errors in a file name the file, the table and the
key."""

import re
from pathlib import Path

import msgspec
import pytest

from conftest import REPO
from labkit.errors import LabError
from labkit.measure.metrics import METRICS
from labkit.model import network, scenario
from labkit.model.settings import KEYS
from labkit.tell import findings, plot, schema

EXAMPLE = REPO / "docs/example"


def test_the_page_is_current() -> None:
    assert schema.PAGE.read_text() == schema.page(), "scripts/lab schema --write"


def test_the_page_has_everything() -> None:
    """Each setting, metric, plot and function, and each key of each table that a file may have."""
    sections = dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", schema.page(), re.M))
    for title, names in (("Settings", KEYS), ("Metrics", METRICS), ("Plots", plot.KINDS),
                         ("Measures", (*findings.STATISTICS, *findings.PLAIN))):  # fmt: skip
        assert {*names} - {*re.findall(r"`([^`]*)`", sections[title])} == set()
    keys = set(re.findall(r"^\| `(\w+)` \| .* \| (?:needed|[^|]*) \| [^|\s]", schema.page(), re.M))
    for kind in (scenario.Column, scenario.Case, scenario.Finding,
                 scenario.Quality, scenario.Table, scenario.Written, network.File):  # fmt: skip
        own = {field.encode_name for field in msgspec.inspect.type_info(kind).fields}
        assert own - {"name", "path", "judged", "drawn"} - keys == set()


# Lines that are added to the example's scenario or to its head; table and key in the error.
_WRONG = [
    ("seeds = 0", "", "seeds"),
    ('cc = "cubic"', "", "cc"),
    ('judged = ["x"]', "", "'judged'"),
    ('plot = "sweep:speed"', "", "plot 'sweep:speed'"),
    ('plot = "portraits"', "", "no plot 'portraits'"),
    ('goals = "fields"', "", "no goals 'fields'"),
    ('[[case]]\nname = "z"\nset = { bytes = "1M", duration = 5 }',
     "[[case]] 'z', [[column]] 'my_cc'", "bytes and duration"),
    ('[[case]]\nx = 1', "[[case]] 3", "'name' is missing"),
    ('[[column]]\nname = "z"', "[[column]] 'z'", "needs cc"),
    ('[metrics]\nm = "speed * 2"', "[metrics] m", "parameter 'speed'"),
    ('[metrics]\nm = "jain +"', "[metrics] m", "invalid syntax"),
    ('[[finding]]\nclaim = "c"\nmeasure = "mean(\'speed\')"\nlow = 1', "[[finding]] 'c', measure",
     "no metric 'speed'"),
    ('[[finding]]\nclaim = "c"\nmeasure = "mean(\'jain\')"\nlow = "x"', "[[finding]] 2", "low"),
    ('[[finding]]\nclaim = "c"', "[[finding]] 2", "'measure' is missing"),
    ('[[table]]\nclaim = "c"\nmetric = "speed"\nwithin = 1\nrows = { cubic = [1, 2] }',
     "[[table]] 'c'", "no metric 'speed'"),
    ('[[table]]\nclaim = "c"\nmetric = "jain"\nwithin = 1\nrows = { cubic = [1] }',
     "[[table]] 'c'", "1 numbers for 2 cases"),
    ('[[quality]]\nwhat = "w"\nmeasure = "mean(\'jain\')"\ngood = 1\nbad = 0', "[[quality]] 'w'",
     "measure"),
    ('[group]\ng = ["reno"]', "[group] 'g'", "no column 'reno'"),
    ('[notes]\n"30 ms" = "why"', "[notes]", "no case '30 ms'"),
    ("[draw]\npaths = 1", "[draw]", "paths, seed, packets"),
]  # fmt: skip


@pytest.mark.parametrize(("added", "table", "key"), _WRONG)
def test_errors_name_file_table_and_key(tmp_path: Path, added, table, key) -> None:
    text = (EXAMPLE / "my.toml").read_text()
    path = tmp_path / "my.toml"
    if added.startswith("["):
        path.write_text(f"{text}\n{added}\n")
    else:
        path.write_text(f"{added}\n{re.sub(r'^(plot|seeds) = .*', '', text, flags=re.M)}")
    with pytest.raises(LabError) as caught:
        of = scenario.load(str(path))
        findings.check(of)
        plot.check(of)
    said = str(caught.value)
    assert "\n" not in said
    assert said.startswith(f"{path}: {table}") and key in said
