# SPDX-License-Identifier: GPL-2.0
"""Paths drawn at random: a seed always gives the same ones, within the ranges, and each can run."""

import tomllib
from dataclasses import replace

import pytest
from msgspec import structs

from labkit.errors import LabError
from labkit.model import draw, scenario

# not the seed of the report, so make check has other paths
SEED = 7
FILE = tomllib.loads((scenario.SCENARIOS / "field-random.toml").read_text())["draw"]


def _cases(seed: int, paths: int = 60) -> list[tuple[str, dict[str, str]]]:
    return replace(draw.read(FILE, seed), paths=paths).cases()


def test_a_seed_is_a_set_of_paths() -> None:
    first, again, other = _cases(SEED), _cases(SEED), _cases(SEED + 1)
    assert first == again and first != other
    assert len(dict(first)) == 60
    # a larger number of paths begins with the same paths
    assert [of for _, of in _cases(SEED, 80)[:60]] == [of for _, of in first]
    assert draw.read(FILE).seed == FILE["seed"] != SEED


def test_drawn_paths_are_within_the_ranges_and_can_be_run() -> None:
    of = scenario.load("dumbbell")
    ranges = draw.read(FILE).ranges
    seen: set[str] = set()
    for seed in range(SEED, SEED + 5):
        for _, path in _cases(seed):
            settings = scenario.override(structs.replace(of, settings=path), [])
            seen |= {*path}
            assert settings.rate <= ranges["rate"].high and settings.loss <= 0.05
            assert settings.min_rtt <= ranges["rtt"].high and max(settings.rtt) <= 0.6
            assert settings.flows <= 64 and settings.buffer_packets >= draw.LEAST_PACKETS * 0.9
            sent = settings.capacity_bits(settings.end) / draw.FRAME_BITS
            assert sent <= FILE["packets"] * 1.05 or max(settings.rtt) * draw.ROUNDS > 30
            assert settings.end >= draw.ROUNDS * settings.min_rtt * 0.99
    assert seen >= {"loss", "aggregate", "batch", "jitter", "flows", "start", "scatter", "qdisc",
                    "ecn", "police", "change", "trace", "rtt_trace", "reverse"}  # fmt: skip


def test_a_point_is_a_path() -> None:
    """Coordinates from 0 to 1 go from one end of a range to the other, on a logarithmic scale."""
    ranges = draw.read(FILE).ranges
    off = [0.0] * len(draw.AXES)
    least = draw.path(ranges, off, 10**6)
    assert least == {"rate": "1mbit", "rtt": "1ms", "buffer": "4", "duration": "30"}
    places = list(draw.AXES)
    middle = draw.path(ranges, [0.5] * 3 + [1.0] + off[4:], 10**7)
    assert (middle["rate"], middle["rtt"], middle["loss"]) == ("100mbit", "24.5ms", "0.05")
    far = list(off)
    far[places.index("moves")] = 1.0
    assert draw.path(ranges, far, 10**6)["rtt_trace"] == "scripts/traces/orbit.rtt"
    # if a path would have too many packets for the run, its rate is reduced
    slow = draw.path(ranges, [1.0, 1.0, 1.0, *off[3:]], 10**5)
    assert slow["rate"] == "252mbit" and slow["duration"] == "4.8"


def test_steps_stay_between_the_rate_and_the_least() -> None:
    rates = [scenario.override(scenario.load("dumbbell"), [f"change={draw.steps(1e8, 5, 0.5, 20)}",
                                                           "duration=20"])]  # fmt: skip
    changes = [change.rate for change in rates[0].change]
    assert len(changes) == 39 and 2e7 <= min(changes) < 3e7 and 8e7 < max(changes) <= 1e8
    assert draw.steps(1e8, 5, 10, 4) == "2:rate=20mbit"
    # the time of the last step is rounded, but not up to the end of the run
    assert draw.steps(1e8, 5, 1.10961, 111).rpartition(",")[2].startswith("109.9:")


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"paths": 0}, "[draw] paths is a whole number from 1"),
        ({"seed": "x"}, "[draw] seed is a whole number"),
        ({"more": 1}, "[draw] has paths, seed, packets, and [draw.ranges]"),
        ({"ranges": {"rate": {"from": "1mbit", "to": "2mbit"}}}, "is missing; there are: rate,"),
        ({"ranges": FILE["ranges"] | {"speed": {}}}, "speed is no property"),
        ({"ranges": FILE["ranges"] | {"rate": {"from": "2mbit", "to": "1mbit"}}}, "rate is { from"),
        ({"ranges": FILE["ranges"] | {"rtt": {"from": "soon", "to": "1s"}}}, "such as 40ms"),
        ({"ranges": FILE["ranges"] | {"qdisc": {"of": []}}}, "qdisc is { of ="),
        ({"ranges": FILE["ranges"] | {"moves": {"of": ["walk"]}}}, "values are police, steps,"),
        ({"ranges": FILE["ranges"] | {"loss": FILE["ranges"]["loss"] | {"chance": 2}}},
         "may have a chance from 0 to 1"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_draw_is_named(change, names) -> None:
    with pytest.raises(ValueError) as error:
        draw.read(FILE | change)
    assert names in str(error.value)


def test_a_scenario_has_the_paths_of_another_seed(tmp_path) -> None:
    of, other = scenario.load("field-random"), scenario.load("field-random", seed=SEED)
    assert len(of.case) == len(other.case) == 200
    assert not {c.name for c in of.case} & {c.name for c in other.case}
    assert {f.share for f in of.finding} == {0.95, 1}
    bad = tmp_path / "bad.toml"
    bad.write_text('title = "B"\n[draw]\npaths = 3\n')
    with pytest.raises(LabError, match=r"bad\.toml: \[draw\] has paths, seed"):
        scenario.load(str(bad))
