# SPDX-License-Identifier: GPL-2.0
"""The starts of tests/starts do what their papers and drafts say: by how much a window grows in a
round trip, and where the growth ends."""

from pathlib import Path

import numpy as np
import pytest

from labkit.measure.series import series

RTT_S = 0.1
SEGMENT = 1448  # bytes of data, with time stamps
FRAME = 1514
FULL = {rate: rate * 1e6 * RTT_S / 8 / FRAME for rate in (100, 200, 1000)}  # segments, by Mb/s


def samples(lab, cc: str, **settings: object) -> tuple[dict, dict[str, np.ndarray]]:
    """One flow with that start over an empty path: its result, and its samples, one per ms."""
    keys = {"rtt": "100ms", "sample": "1ms", "buffer": "8bdp", "timeout": 60} | settings
    sets = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    result = lab("run", "dumbbell", "--json", "--cc", cc, *sets).json[0]
    columns = ("time_s", "cwnd", "in_flight", "rtt_s", "ssthresh", "acked_bytes", "ca_state")
    table = series(Path(result["series"]) / "flows.csv", columns)
    return result, dict(zip(columns, table.T, strict=True))


def windows(found: dict[str, np.ndarray], rounds: int) -> list[int]:
    """The window at the end of each of the first round trips after the handshake, segments."""
    ends = [RTT_S * (n + 2) - 0.0015 for n in range(rounds)]
    return [int(found["cwnd"][found["time_s"].searchsorted(end) - 1]) for end in ends]


def growth(found: dict[str, np.ndarray], where: np.ndarray) -> float:
    """By how much each segment acknowledged grew the window in these samples, segments."""
    more = np.diff(found["cwnd"])[where[1:]].sum()
    return float(more / (np.diff(found["acked_bytes"])[where[1:]].sum() / SEGMENT))


@pytest.mark.parametrize(("cc", "first", "factor"), [
    ("search", 10, 2), ("rapid", 20, 3), ("suss", 10, 4),
])  # fmt: skip
def test_the_factor_of_a_round_trip(lab, cc, first, factor):
    _, found = samples(lab, cc, rate="1gbit", bytes="5M")
    assert windows(found, 5) == [first * factor**n for n in range(5)]


@pytest.mark.parametrize(("mbps", "fours"), [(1000, 4), (200, 3)])
def test_suss_goes_on_by_two(lab, mbps, fours):
    """If a train grew by four to a length of d, it will be 4 d in the next round, and 4 d must be
    less than the rtt.  So a factor of four follows only windows that are less than a quarter of
    what the path holds."""
    _, found = samples(lab, "suss", rate=f"{mbps}mbit", bytes="20M")
    *by_four, last = windows(found, fours + 2)
    assert by_four == [10 * 4**n for n in range(fours + 1)]
    assert by_four[-2] < FULL[mbps] / 4 < by_four[-1]
    assert last == 2 * by_four[-1]


def test_suss_ends_by_hystart(lab):
    """At the end of the first round whose whole train is longer than half of the rtt.  Windows are
    2560, 5120, ..., and the path holds more than twice the first."""
    result, found = samples(lab, "suss", rate="1gbit", bytes="40M")
    assert 2560 < FULL[1000] / 2 < 5120
    assert found["ssthresh"][-1] == 2 * 5120
    assert result["links"][0]["drops"] == 0


def missing(found: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The ends of bins, s, and for each the share of deliveries that are missing in the last 10
    bins.  The expected deliveries are twice those of 10 bins a round trip ago.

    A bin is 0.35 of the round trip.  If a bin must be divided, its deliveries are taken as even.
    The round trip is that of the segment that is acknowledged now.
    """
    time, acked = found["time_s"], found["acked_bytes"]
    first = (acked > 1).argmax()
    ends = np.arange(time[first], time[-1], 0.35 * RTT_S)
    sent = np.maximum.accumulate(acked + found["in_flight"] * SEGMENT)
    past = np.interp(np.interp(ends, time, acked), sent, time)
    binned = np.interp(ends, time, acked)
    there = past - ends[0] > 11 * (ends[1] - ends[0])

    def delivered(until: np.ndarray) -> np.ndarray:
        since = until - 10 * (ends[1] - ends[0])
        return np.interp(until, ends, binned) - np.interp(since, ends, binned)

    return ends[there], 1 - delivered(ends[there]) / (2 * delivered(past[there]))


def test_search_ends_where_deliveries_stop_doubling(lab):
    """At the first end of a bin at which 35 % are missing, with the window of 5 bins before."""
    result, found = samples(lab, "search", rate="100mbit", bytes="20M")
    ends, share = missing(found)
    over = found["time_s"][np.isfinite(found["ssthresh"]).argmax()]
    at = ends.searchsorted(over) - 1
    assert share[at] > 0.345
    assert (share[:at] < 0.355).all()
    was = found["cwnd"][found["time_s"].searchsorted(over - 5 * (ends[1] - ends[0]))]
    assert found["ssthresh"][-1] == pytest.approx(was, rel=0.01)
    assert result["links"][0]["drops"] == 0


def test_rapid_grows_by_two_beside_a_queue(lab):
    """If the least rtt of a round shows a queue of more than 4 ms."""
    _, found = samples(lab, "rapid", rate="100mbit", bytes="20M")
    grows = np.concatenate([[False], np.diff(found["acked_bytes"]) > 0])
    open_ = grows & (found["ca_state"] == 0)
    assert growth(found, open_ & (found["rtt_s"] < RTT_S + 0.001)) == pytest.approx(2, rel=0.02)
    assert growth(found, open_ & (found["rtt_s"] > 2 * RTT_S)) == pytest.approx(1, rel=0.02)


def test_rapid_leaves_seven_tenths_of_what_came_through(lab):
    """The window is 0.7 of path and buffer, however much was lost."""
    _, found = samples(lab, "rapid", rate="200mbit", bytes="40M", buffer="0.5bdp")
    lost = (found["ca_state"] == 3).argmax()
    end = lost + (found["ca_state"][lost:] != 3).argmax()
    assert found["cwnd"][lost - 1] > 1.5 * FULL[200]
    assert found["cwnd"][end] == pytest.approx(0.7 * 1.5 * FULL[200], rel=0.02)
