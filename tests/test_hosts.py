# SPDX-License-Identifier: GPL-2.0
"""Each sender on hosts as real ones are, and through accidents of the path.

A transfer finishes, in at most 1.25 of CUBIC's time.  If a sender shows a capacity, it is within a
tenth of the truth from one second of sending on, while there is a queue to see.
"""

from pathlib import Path

import numpy as np
import pytest

from conftest import REPO, assert_ktap, runs_made_once, wanted_kernels
from labkit.measure.metrics import payload_bps
from labkit.measure.series import series

SENDERS = ["reno", "bbr", "ccpd", "ccpd_path", "mccp", "mccp_path", "acp", "estcp", "nist_fast"]
# make check-kernels also has the senders that differ from these only in their law, and the papers'
# rivals.
if wanted_kernels():
    SENDERS += ["ccp", "nist_reno", "nist_bic", "nist_ctcp", "nist_hstcp", "nist_htcp",
                "nist_scalable", "jtcp", "newjersey", "rcp", "xcp"]  # fmt: skip
SHOW_CAPACITY = ["bbr", "ccpd", "ccp", "ccpd_path", "mccp", "mccp_path"]
# Show the rate that they get.  It is the capacity only while the queue does not run empty.
SHOW_SHARE = ["mccp", "mccp_path"]

PATH = ("rate=20mbit", "rtt=40ms", "buffer=2bdp")
BULK = ("bytes=8M", "timeout=60")
IDLE = ("host=fq",)
# Most of the papers' laws mistake this jitter for a queue
JITTER = ["nic, ACKs every 10 ms", "slow, ACKs every 10 ms", "short of CPU"]
# A blackout of 0.3 s that begins at one of these times loses the ACK of a segment that has arrived.
# The timer sends the segment again, so it arrives twice, and the timeout is undone.  Then the real
# losses are found.
UNDONE_S = [1.0, 1.2, 1.4]
CASES = {
    "nic, ACKs every 2 ms": ("host=nic", "batch=2ms", *BULK),
    "nic, ACKs every 10 ms": ("host=nic", "batch=10ms", *BULK),
    "slow, ACKs every 2 ms": ("host=nic,slow", "batch=2ms", *BULK),
    "slow, ACKs every 10 ms": ("host=nic,slow", "batch=10ms", *BULK),
    "short of CPU": ("host=vm", *BULK),
    "fq": ("host=fq", *BULK),
    "default buffers": ("host=default", *BULK),
    "idle for 0.1 s": ("app=12k+100k/200ms", "duration=4", *IDLE),
    "idle for 5 s": ("app=12k+290k/5s", "duration=31", *IDLE),
    "idle for 30 s": ("app=12k+290k/30s", "duration=95", "sample=50ms", *IDLE),
    "blackout of 0.3 s": ("blackout=1.5:0.3", *BULK),
    "blackout of 1.5 s": ("blackout=1.5:1.5", *BULK),
    "blackout of 10 s": ("blackout=1.5:10", *BULK),
    **{f"blackout at {s} s": (f"blackout={s}:0.3", *BULK) for s in UNDONE_S},
    "reordering by 1": ("reorder=0.01:1", *BULK),
    "reordering by 10": ("reorder=0.01:10", *BULK),
    "reordering by 100": ("reorder=0.01:100", *BULK),
    "from bbr at 1 s": ("host=fq", *BULK),
}

@pytest.fixture(scope="module")
def measured():
    """measured(case, cc): the result of that run, made once."""

    def settings(case: str, cc: str) -> tuple[list[str], str]:
        sets = [*PATH, *CASES[case]]
        return ([*sets, f"switch=1:{cc}"], "bbr") if case == "from bbr at 1 s" else (sets, cc)

    return runs_made_once(settings)


def _time(r: dict) -> float:
    """The time of a transfer, or the mean time of all requests, s.  Each request must be answered.

    The silence of a blackout is subtracted.  It ends when TCP's timer, which doubles, sends after
    the end of the blackout: it lasts up to twice the blackout, with any congestion control.
    """
    (flow,) = r["flows"]
    if "requests" in flow:
        assert flow["answered"] == flow["requests"]
        return flow["request_mean_s"]
    silence = 0.0
    if "blackout" in r["settings"]:
        rows = series(Path(r["series"]) / "flows.csv", (0, 7))
        moved = rows[1:, 0][np.diff(rows[:, 1]) > 0]
        silence = np.diff(moved).max()
    return flow["completion_s"] - silence


def _queued(r: dict, times_s: np.ndarray, before_s: float = 0.08) -> np.ndarray:
    """Whether the bottleneck always had a queue in the two round trips before each of times_s."""
    rows = series(Path(r["series"]) / "links.csv", (0, 2))
    empty_s = np.append(-np.inf, rows[rows[:, 1] == 0, 0])
    last_s = empty_s[np.searchsorted(empty_s, times_s, side="right") - 1]
    return times_s - last_s > before_s


def _shown(r: dict, case: str, cc: str) -> np.ndarray:
    """Capacities, bit/s, after the first second; only the last one after a blackout or a switch."""
    rows = series(Path(r["series"]) / "flows.csv", (0, 13))
    rows = rows[rows[:, 0] > 1]
    if cc in SHOW_SHARE:
        rows = rows[_queued(r, rows[:, 0])]
    return rows[-1:, 1] if case.startswith(("blackout", "from")) else rows[:, 1]


@pytest.mark.parametrize("cc", SENDERS)
@pytest.mark.parametrize("case", [c for c in CASES if c not in JITTER and "blackout at" not in c])
def test_sender(measured, case, cc):
    r = measured(case, cc)
    assert _time(r) <= 1.25 * _time(measured(case, "cubic"))
    if cc in SHOW_CAPACITY and not case.startswith("idle"):
        shown = _shown(r, case, cc)
        assert len(shown)
        assert shown == pytest.approx(payload_bps(r), rel=0.1)


@pytest.mark.parametrize("cc", ["ccpd_path", "mccp_path"])
@pytest.mark.parametrize("begin_s", UNDONE_S)
def test_undone_timeout(measured, begin_s, cc):
    """An undone timeout restores the estimate, and the next losses are judged by that estimate."""
    case = f"blackout at {begin_s} s"
    assert _time(measured(case, cc)) <= 1.25 * _time(measured(case, "cubic"))


def _stock_cases(lab, senders: str, *cases: str) -> None:
    """Runs tests of stock kernels (stock_cases.sh), but in virtual time."""
    script = REPO / "tests/selftests/stock_cases.sh"
    call = lab("exec", "--", "env", f"TCPCC_SENDERS={senders}", script, *cases, status=None)
    assert_ktap(call.stdout)


@pytest.mark.parametrize("cc", ["ccpd_path", "mccp_path", "acp"])
def test_answers_after_idle_times_where_acks_overtake_each_other(lab, cc):
    """Several times, because jitter is random."""
    _stock_cases(lab, cc, *["idle"] * 4)


def test_a_flow_switches_to_a_sender_again_and_again(lab):
    """Between it and each of the others.  A sender goes on from the window that it finds."""
    _stock_cases(lab, "ccpd_path mccp mccp_path acp estcp nist_fast", "switch")


def test_one_of_twenty_overtakes_the_others(lab):
    """By up to 60 ms of 100, so the least round-trip time is not that of most packets."""
    cases = ["reordering_1", "reordering_10", "reordering_100"]
    _stock_cases(lab, "ccpd ccpd_path mccp_path acp", *cases)


@pytest.mark.parametrize("case", JITTER)
def test_ccpd_path_tells_jitter_from_a_queue(measured, case):
    """As fast as above, and with less than half of CUBIC's queue: it must not just fill the queue.

    The capacity that it shows is within a half of the truth, as on stock kernels (stock_hosts.sh).
    """
    r = measured(case, "ccpd_path")
    assert _shown(r, case, "ccpd_path") == pytest.approx(payload_bps(r), rel=0.5)
    assert _time(r) <= 1.25 * _time(measured(case, "cubic"))
    assert r["links"][0]["queue_mean"] < measured(case, "cubic")["links"][0]["queue_mean"] / 2
