# SPDX-License-Identifier: GPL-2.0
"""Results as tables for other programs: a row for each flow and each link of each run.

The column kind says which of the two a row is.  All rows have the run's identity (scenario, cc,
column, case, seed, kernel, commit, series) and its settings, set_rate and so on; then the numbers
of the flow or link, in the units of results.  Fields that do not apply are empty.
"""

import json
from pathlib import Path
from typing import Any

import polars

from ..errors import LabError
from .metrics import Json

_RUN = ("scenario", "cc", "column", "case", "seed", "kernel", "virtual_s", "series")


def frame(results: list[Json]) -> polars.DataFrame:
    """The table of the results."""
    rows = [row for result in results for row in _rows(result)]
    return polars.DataFrame(rows, infer_schema_length=None)


def write(results: list[Json], csv: Path | None, parquet: Path | None) -> None:
    """Writes the table to these files; None: no file.  LabError if that fails."""
    table = frame(results)
    for path, save in ((csv, table.write_csv), (parquet, table.write_parquet)):
        if path:
            try:
                save(path)
            except OSError as error:
                raise LabError(f"cannot write {path}: {error.strerror or error}") from None


def _rows(result: Json) -> list[Json]:
    of_run = {name: result.get(name) for name in _RUN}
    of_run["column"] = result.get("column", result["cc"])
    of_run["commit"] = result.get("provenance", {}).get("commit")
    of_run |= {f"set_{name}": _cell(value) for name, value in result["settings"].items()}
    rows = []
    for kind, parts in (("flow", result["flows"]), ("link", result["links"])):
        for number, part in enumerate(parts):
            own = {k: value for k, value in part.items() if not isinstance(value, list | dict)}
            own[kind] = own.pop("name", number) if kind == "link" else number
            if kind == "flow":
                own["flow_cc"] = own.pop("cc")
            rows.append({"kind": kind} | of_run | own)
    return rows


def _cell(value: Any) -> Any:
    """A setting as one value: the element of a list of one, and JSON for other structures."""
    if isinstance(value, list | tuple) and len(value) == 1 and not isinstance(value[0], dict):
        return value[0]
    return json.dumps(value) if isinstance(value, list | tuple | dict) else value
