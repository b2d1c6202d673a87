# SPDX-License-Identifier: GPL-2.0
"""scripts/lab compare: what is worse, what cannot be compared, and where it finds results."""

import copy
import json
from pathlib import Path

import pytest

from conftest import a_run
from labkit.errors import LabError
from labkit.measure import provenance, store
from labkit.measure.compare import compare, read

# Differences by noise between the same seeds of two versions, bit/s
NOISE = (3e5, -2e5, 4e5, -5e5, 1e5, -3e5, 2e5, -1e5, 0, -2e5)


def written(path: Path, runs: list[dict] | dict | str) -> Path:
    path.write_text(runs if isinstance(runs, str) else json.dumps(runs))
    return path


@pytest.fixture
def sets(tmp_path):
    """Two files: ten seeds, and the same seeds with noise and with more goodput (bit/s)."""

    def make(more: float = 0, drops: int = 10) -> tuple[Path, Path]:
        a = [a_run(s, 1e8 + s * 1e6) for s in range(10)]
        b = [a_run(s, 1e8 + s * 1e6 + noise + more, drops) for s, noise in enumerate(NOISE)]
        return written(tmp_path / "a.json", a), written(tmp_path / "b.json", b)

    return make


def test_worse_is_1_and_says_what(lab, sets) -> None:
    """Seeds differ by 9 %, the sets by half a per cent: only differences of pairs show it."""
    call = lab("compare", *sets(more=-5e5), status=1)
    assert "\nworse: dumbbell cubic goodput_bps\n" in call.stdout
    assert call.stdout.count("  worse") == 1 and "1 are worse" in call.stdout
    more_drops = lab("compare", *sets(drops=12), "--json", status=1).json
    assert {r["metric"]: r.get("verdict") for r in more_drops} == {
        "goodput_bps": None, "utilization": None, "jain": None, "drops": "worse",
        "retransmits": "worse",
    }  # fmt: skip
    (row,) = (r for r in more_drops if r["metric"] == "drops")
    assert row == {
        "scenario": "dumbbell", "cc": "cubic", "metric": "drops", "n": 10, "a": 10, "b": 12,
        "difference": 2, "low": 2, "high": 2, "verdict": "worse",
    }  # fmt: skip


def test_better_the_same_and_noise_are_0(lab, sets) -> None:
    assert "1 better" in lab("compare", *sets(more=5e5)).stdout
    assert "2 better" in lab("compare", *sets(drops=8)).stdout
    shown = lab("compare", *sets()).stdout
    assert "1 of 5 metrics of 1 cells differ; of 5 with an interval 0 are worse" in shown
    same = sets()[0]
    assert lab("compare", same, same).stdout.startswith("0 of 5 metrics of 1 cells differ")


def test_one_seed_is_compared_by_value(lab, tmp_path) -> None:
    a = written(tmp_path / "a.json", [a_run(1)])
    call = lab("compare", a, written(tmp_path / "b.json", [a_run(1, 1e6)]))
    assert "one seed: no intervals" in call.stdout and "-99 Mb/s" in call.stdout
    assert "have no interval" in call.stderr


def test_a_transfer_that_does_not_end_any_more_is_worse() -> None:
    a = [a_run(s, settings={"bytes": 1, "timeout": 300.0}) for s in range(3)]
    b = copy.deepcopy(a)
    for run in a:
        run["flows"][0]["completion_s"] = 10.0
    (worse,) = compare(a, b).of("worse")
    assert (worse.metric, worse.a, worse.b) == ("completion_s", 10, 300)


def test_a_program_that_does_not_end_any_more_is_worse() -> None:
    """program_s is the mean of the programs that ended: of the few that end it may be better."""

    def runs(took: list[float | None]) -> list[dict]:
        made = [a_run(seed, 1e8) for seed in range(len(took))]
        for run, took_s in zip(made, took, strict=True):
            server, client = {"program": "serve"}, {"program": "fetch"}
            run["program"] = [server, client | ({} if took_s is None else {"took_s": took_s})]
        return made

    made = compare(runs([2.0] * 10), runs([1.0, *[None] * 9]))
    (row,) = made.of("worse")
    assert (row.metric, row.a, row.b, row.difference.n) == ("program_unfinished", 1, 1.9, 10)


def test_what_is_in_one_set_only_is_told_and_not_compared() -> None:
    a = [a_run(s) for s in range(4)] + [a_run(1, cc="bbr")]
    b = [a_run(s, settings={"rate": 1}) for s in range(2, 5)]
    made = compare(a, b)
    assert {row.cell for row in made.rows} == {("dumbbell", "cubic", "")}
    assert {row.difference.n for row in made.rows} == {2}
    assert made.notes == [
        "dumbbell cubic: settings differ",
        "1 cells have 2 or 3 seeds in common: if only chance changes a metric, it is worse beyond"
        " its interval in a quarter or an eighth of the cases",
        "3 of 5 runs of A are not in the other set",
        "1 of 3 runs of B are not in the other set",
    ]  # fmt: skip


def test_a_directory_is_its_files(tmp_path) -> None:
    written(tmp_path / "one.json", [a_run(1), a_run(2)])
    written(tmp_path / "other.json", a_run(1, cc="reno"))
    (tmp_path / "dumbbell-bbr-1").mkdir()
    written(tmp_path / "dumbbell-bbr-1" / "result.json", a_run(1, cc="bbr"))
    written(tmp_path / "dumbbell-bbr-1" / "summary.json", "what a run leaves beside it")
    assert sorted(run["cc"] for run in read(str(tmp_path))) == ["bbr", "cubic", "cubic", "reno"]


def test_a_commit_is_what_the_store_has_of_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(store, "root", lambda: tmp_path)
    known = {"v1^{commit}": "d0c5", "d0c5": "c0ffee"}  # v1 itself changed only documents
    monkeypatch.setattr(provenance, "git", lambda *of: next(filter(None, map(known.get, of)), ""))
    for place, (seed, commit, clean) in enumerate(
        [(2, "c0ffee", True), (1, "c0ffee", True), (3, "c0ffee", False), (4, "f00d", True)]
    ):
        (tmp_path / str(place)).mkdir()
        run = a_run(seed, provenance={"commit": commit, "clean": clean})
        written(tmp_path / str(place) / "result.json", run)
    assert [run["seed"] for run in read("v1")] == [1, 2]
    monkeypatch.setattr(provenance, "git", lambda *of: "dead")
    with pytest.raises(LabError, match="no run made of that commit") as error:
        read("v2")
    assert error.value.status == 2


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """keep(name, run, commit, *used): a run in the store, and the commits that used it."""
    monkeypatch.setattr(store, "root", lambda: tmp_path)
    monkeypatch.setattr(provenance, "git", lambda *of: of[-1].partition("^")[0] if len(of) == 5
                        else next(w for w in of if w.startswith("c")))  # fmt: skip

    def keep(name: str, run: dict, commit: str, *used: str, code: str = "now") -> None:
        (tmp_path / name).mkdir()
        made = {"commit": commit, "clean": True, "measuring": code}
        written(tmp_path / name / "result.json", run | {"provenance": made})
        lines = [json.dumps([of, "dumbbell", run["cc"], ""]) + "\n" for of in used]
        (tmp_path / name / store.USED).write_text("".join(lines))

    return keep


def test_a_run_is_of_all_commits_that_used_it(kept, monkeypatch) -> None:
    """A report of a later commit does not repeat a run that the commit does not change."""
    monkeypatch.setattr(provenance, "source", lambda commit="HEAD": commit)
    kept("aa-1", a_run(1), "c1", "c2")
    kept("bb-2", a_run(2, drops=10), "c1")
    kept("cc-2", a_run(2, drops=12), "c2")
    assert [run["seed"] for run in read("c1")] == [run["seed"] for run in read("c2")] == [1, 2]
    made = compare(read("c1"), read("c2"))
    (row,) = (row for row in made.rows if row.metric == "drops")
    assert (row.a, row.b, row.difference.n) == (10, 11, 2)


def test_who_uses_a_run_is_noted_once(tmp_path, monkeypatch) -> None:
    run = a_run(1, column="of mine", case="slow")
    for commit in ("c1", "c1", "c2", ""):
        monkeypatch.setattr(provenance, "commit", lambda commit=commit: commit)
        store._note_use(tmp_path, run)
    lines = [json.loads(line) for line in (tmp_path / store.USED).read_text().splitlines()]
    assert lines == [[c, "dumbbell", "of mine", "slow"] for c in ("c1", "c2")]


def test_of_several_kernels_that_of_both_commits_is_compared(kept, monkeypatch) -> None:
    monkeypatch.setattr(provenance, "source", lambda commit="HEAD": commit)
    kept("aa-1", a_run(1), "c1", "c2")
    kept("bb-1", a_run(1, drops=99), "c1")
    kept("cc-2", a_run(2), "c1")
    kept("dd-2", a_run(2, drops=99), "c1")
    kept("ee-2", a_run(2), "c2")
    made = compare(read("c1"), read("c2"))
    assert {row.difference.n for row in made.rows} == {1}
    assert {row.metric: row.a for row in made.rows}["drops"] == 10
    assert made.notes[0] == (
        "1 runs of A are left out: the store has several of the same name and seed, of other"
        " kernels or settings"
    )


def test_runs_that_other_code_read_are_read_again_or_left_out(kept, monkeypatch) -> None:
    monkeypatch.setattr(provenance, "source", lambda commit="HEAD": commit)
    kept("aa-1", a_run(1, drops=99), "c1", code="old")
    kept("bb-1", a_run(1, drops=12), "c2")
    again = a_run(1, drops=11, series=str(store.root() / "aa-1"), provenance={"measuring": "now"})
    monkeypatch.setattr(store, "read_again", lambda home, run: again if home.name[0] == "a" else 0)
    (row,) = (row for row in compare(read("c1"), read("c2")).rows if row.metric == "drops")
    assert (row.a, row.b) == (11, 12)
    monkeypatch.setattr(store, "read_again", lambda home, run: None)
    with pytest.raises(LabError, match="computed from their samples by other code"):
        compare(read("c1"), read("c2"))
    kept("cc-2", a_run(2), "c1", "c2")
    made = compare(read("c1"), read("c2"))
    assert {row.difference.n for row in made.rows} == {1}
    assert made.notes[0].startswith("1 runs are left out: other code computed them")


WRONG = {
    "not JSON": ("{", "b.json is not JSON"),
    "not text": ("\udcff", "b.json is not JSON"),
    "much too deep": ("[" * 100_000, "b.json is not JSON"),
    "empty": ("[]", "it has no results"),
    "a number": ("7", "entry 1 is not a result of scripts/lab run: not an object"),
    "another program's": ([{"a": 1}], "its scenario is missing or has a wrong type"),
    "a seed as text": ([a_run(1) | {"seed": "1"}], "its seed is missing or has a wrong type"),
    "flows of no kind": ([a_run(1) | {"flows": 3}], "its flows is missing or has a wrong type"),
    "a flow of no kind": ([a_run(1) | {"flows": [3]}], "is not an object"),
    "a column of no kind": ([a_run(1) | {"column": ["x"]}], "column or case is not text"),
    "words for numbers": ([a_run(1, "fast")], "its goodput_bps is not a number"),
    "no number": ([a_run(1, float("nan"))], "its goodput_bps is not a number"),
    "more than a number": ([a_run(1, 10**400)], "its goodput_bps is not a number"),
    "a timeout in words": (
        [a_run(1, settings={"timeout": "late"})], "its completion_s is not a number",
    ),
    "a run twice": ([a_run(1), a_run(1)], "more than one run of dumbbell cubic, seed 1"),
    "nothing in common": ([a_run(2)], "seed in common"),
    "no metric in common": ([a_run(1) | {"flows": [{}], "links": [{}]}], "share no metric"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_bad_input_is_2_and_one_line(lab, tmp_path, what: str) -> None:
    content, says = WRONG[what]
    a, b = written(tmp_path / "a.json", [a_run(1)]), tmp_path / "b.json"
    if isinstance(content, str):
        b.write_bytes(content.encode(errors="surrogateescape"))
    else:
        written(b, content)
    for pair in ((a, b), (b, a)):
        call = lab("compare", *pair, status=2)
        assert says in call.stderr and call.stderr.startswith("lab: ")
        assert call.stderr.count("\n") == 1 and not call.stdout
