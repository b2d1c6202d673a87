# SPDX-License-Identifier: GPL-2.0
"""The results that are computed from a run's series."""

from pathlib import Path

import numpy as np
import pytest

from labkit.measure import metrics, provenance, result, stages, statistics
from labkit.model import scenario
from labkit.model.settings import compile_settings
from labkit.tell import findings


def _rows(
    at: np.ndarray, windows: np.ndarray, thresholds: np.ndarray, states: np.ndarray | int = 0,
    gains: np.ndarray | float = np.nan,
) -> np.ndarray:  # fmt: skip
    """Rows for stages._windows(): time, flow, window, bytes, ssthresh, state, grant, BBR's gain."""
    nothing = np.zeros(len(at))
    granted = np.where(at < 1, 0, 5e6 + at)
    return np.transpose([at, nothing, windows, nothing, thresholds, nothing + states, granted,
                         nothing + gains])  # fmt: skip


def test_who_has_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three flows send at one rate.  The third has no connection, all the time.  A fourth
    ended before the second half."""
    at = np.arange(0.1, 10, 0.1)
    nothing = np.zeros(len(at))
    rows = [
        np.transpose([at, nothing + flow, nothing + 10, *[nothing + np.nan] * 6, 1e5 * at,
                      *[nothing + np.nan] * 3])
        for flow in (0, 1)
    ]  # fmt: skip
    monkeypatch.setattr(result, "series", lambda *_: np.concatenate(rows))
    flows = [{"id": i, "cc": "cubic", "start_s": 0.0, "end_s": 10.0} for i in range(4)]
    flows[3] |= {"end_s": 2.0, "completion_s": 2.0}
    later = result._flow_means(flows, Path(), 10)
    assert later == pytest.approx([8e5, 8e5, 0])
    assert statistics.jain(later) == pytest.approx(2 / 3)


def test_a_flow_without_connection_is_not_fair(monkeypatch: pytest.MonkeyPatch) -> None:
    """One flow has all of its half of a link of 10 Mb/s; the other has no connection."""
    texts = {"flows": "2", "rate": "10mbit", "duration": "10", "stages": "5"}
    settings = compile_settings(scenario.load("dumbbell").settings | texts)
    at = np.arange(0.1, 10, 0.1)
    nothing = np.zeros(len(at))
    own = np.transpose([at, nothing, nothing + 10, 5e6 / 8 * at, *[nothing] * 4])
    link = np.transpose([at, nothing, 5e6 / 8 * at, *[nothing] * 5])
    monkeypatch.setattr(stages, "series", lambda path, _: link if "links" in path.name else own)
    flows = [{"id": i, "cc": "cubic", "start_s": 0.0, "end_s": 10.0} for i in range(2)]
    for stage in stages.of_stages(flows, [{"rate_bps": 10e6}], settings, Path()):
        assert stage["fair_error"] == 1
        assert stage["settle_s"] == stage["converge_s"] == 5


@pytest.mark.parametrize(
    ("texts", "rates"),
    [
        ({"change": "10:rate=5mbit"}, (10e6, 5e6)),
        ({"change": "5:rate=20mbit,15:rate=5mbit"}, (20e6, 5e6)),
        ({"police": "5mbit:20k"}, (5e6, 5e6)),
        ({}, (10e6, 10e6)),
    ],
)
def test_a_stage_has_the_rate_of_its_time(
    texts: dict[str, str], rates: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link is full in both stages, and one flow has all of it."""
    texts = {"rate": "10mbit", "duration": "20", "stages": "10"} | texts
    settings = compile_settings(scenario.load("dumbbell").settings | texts)
    at = np.arange(0.1, 20.05, 0.1)
    nothing = np.zeros(len(at))
    sent = np.array([settings.capacity_bits(t) for t in at]) / 8
    own = np.transpose([at, nothing, nothing + 10, sent * 1448 / 1514, *[nothing] * 4])
    link = np.transpose([at, nothing, sent, *[nothing] * 5])
    monkeypatch.setattr(stages, "series", lambda path, _: link if "links" in path.name else own)
    flow = {"id": 0, "cc": "cubic", "start_s": 0.0, "end_s": 20.0}
    links = [{"rate_bps": 10e6}]
    for stage in stages.of_stages([flow], links, settings, Path()):
        assert stage["fair_error"] == pytest.approx(0, abs=1e-6)
    for of_link, of_flow, rate in zip(links[0]["stages"], flow["stages"], rates, strict=True):
        assert of_link["utilization_equilibrium"] == pytest.approx(1)
        assert of_flow["fair_bps"] == pytest.approx(rate)
    assert links[0]["stages"][1]["full_s"] < 1


def test_the_queue_at_the_beginning_of_a_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a step down at 5 s the queue falls by 10 packets each 0.1 s; a mean would be less."""
    texts = {"rate": "10mbit", "duration": "10", "stages": "5.5,7"}
    settings = compile_settings(scenario.load("dumbbell").settings | texts)
    at = np.arange(1, 100) / 10
    nothing = np.zeros(len(at))
    queue = np.where(at < 5, 2, (100 - 100 * (at - 5)).clip(0).round())
    own = np.transpose([at, nothing, nothing + 10, 1e6 * at, *[nothing] * 4])
    link = np.transpose([at, queue, 1e6 * at, *[nothing] * 5])
    monkeypatch.setattr(stages, "series", lambda path, _: link if "links" in path.name else own)
    flow = {"id": 0, "cc": "cubic", "start_s": 0.0, "end_s": 10.0}
    links = [{"rate_bps": 10e6}]
    made = stages.of_stages([flow], links, settings, Path())
    assert [stage.get("queue_begin") for stage in links[0]["stages"]] == [None, 50, 0]
    run = {"links": links, "flows": [flow], "stages": made}
    assert metrics.metric(run, "queue_begin@1") == 50
    assert metrics.metric(run, "queue_begin@0") is None


@pytest.mark.parametrize(("begin", "samples"), [("9.96", 0), ("9.7", 1), ("9.5", 2)])
def test_a_stage_with_too_few_samples_has_no_result(
    begin: str, samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links are sampled every 0.1 s, the eight flows every 0.2 s.  Of a flow with a connection one
    sample says nothing: neither that it has no share, nor a rate."""
    texts = {"flows": "8", "rate": "80mbit", "duration": "10", "stages": begin}
    settings = compile_settings(scenario.load("dumbbell").settings | texts)
    at = np.arange(1, 100) / 10
    nothing = np.zeros(len(at))
    link = np.transpose([at, nothing, 1e7 * at, *[nothing] * 5])
    own = np.concatenate([np.transpose([at, nothing + flow, nothing + 10, 1e7 / 8 * at,
                                        *[nothing] * 4])[::2] for flow in range(8)])  # fmt: skip
    monkeypatch.setattr(stages, "series", lambda path, _: link if "links" in path.name else own)
    flows = [{"id": i, "cc": "cubic", "start_s": 0.0, "end_s": 10.0} for i in range(8)]
    links = [{"rate_bps": 80e6}]
    first, last = stages.of_stages(flows, links, settings, Path())
    assert "fair_error" in first
    assert last == {"from": float(begin), "to": 10.0}
    assert [flow["stages"][1] for flow in flows] == [{}] * 8
    of_link = links[0]["stages"][1]
    assert of_link.pop("users") == 8
    assert bool(of_link) == (samples > 1)
    assert not any(np.isnan(value) for value in of_link.values())
    assert metrics.metric({"flows": flows, "links": links, "stages": [first, last]},
                          "fair_error@1") is None  # fmt: skip


def test_a_flow_that_ends_between_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """The only sample of one flow is at its begin; the other has no sample in its second half."""
    at, nothing = np.array([1.0, 1.0]), np.zeros(2)
    estimates = [nothing + 1e7, nothing + 0.04, nothing + 20, nothing + 5]
    rows = np.transpose([at, [0, 1], nothing + 10, nothing + 8, nothing + 0.05, *estimates,
                         nothing + 1e4, *[nothing + np.nan] * 3])  # fmt: skip
    monkeypatch.setattr(result, "series", lambda *_: rows)
    flows = [
        {"id": i, "cc": "ccpd_path", "start_s": start, "end_s": 3.0, "completion_s": 3 - start}
        for i, start in enumerate((1.0, 0.5))
    ]
    result._flow_means(flows, Path(), 10)
    for flow in flows:
        assert flow["cwnd_mean"] == 10
        assert flow["in_flight_equilibrium"] == 8
        assert flow["estimated_level"] == 5


def test_a_link_without_a_sample_in_the_second_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of 10 s with a sample every 5 s: the last one would be at the end."""
    settings = compile_settings(scenario.load("dumbbell").settings | {"duration": "10"})
    rows = np.array([[5.0, 7, 1e6, *[np.nan] * 3, 9, 8]])
    monkeypatch.setattr(result, "series", lambda *_: rows)
    counted = {"name": "bottleneck", "sent_bytes": 2e6, "queue_max": 9, "drops": 0}
    (link,) = result._links({"links": [counted], "end_s": 10.0}, settings, Path())
    assert link["queue_mean"] == 8 and link["queue_max"] == 9
    assert not [name for name in link if "equilibrium" in name or name == "queue_least"]


def test_means_are_over_time() -> None:
    """A queue of 10 for 5 s, sampled every 0.1 s, and of 0 for 5 s, sampled every 0.4 s."""
    at = np.concatenate((np.arange(0.1, 5.05, 0.1), np.arange(5.4, 10.05, 0.4)))
    queue, nothing = np.where(at < 5.05, 10, 0), np.zeros(len(at))
    unknown = np.full(len(at), np.nan)
    link = np.transpose([at, queue, 1e5 * at, nothing, queue, nothing, queue, unknown])
    found = stages._link_stage(link, 0, 1e6)
    assert found["queue_equilibrium"] == pytest.approx(5, abs=0.2)
    link[:, 7] = np.where(at < 5.05, 4, 0)  # the mean between samples is lower
    assert stages._link_stage(link, 0, 1e6)["queue_equilibrium"] == pytest.approx(2, abs=0.1)
    assert found["flows_estimated"] == pytest.approx(5, abs=0.2)
    flow = np.transpose([at, nothing, queue, 1e5 * at])
    assert stages._flow_stage(flow, 0)["cwnd_equilibrium"] == pytest.approx(5, abs=0.2)


def test_capacity_is_that_of_the_path_until_the_end() -> None:
    """A transfer that ends before its path changes has not seen the change.  An equal share of the
    rate is of its mean over the time of the flow, or over the second half of a stage."""
    rates = {5.0: (1e8, 1e8), 15.0: (5e7, 125e7 / 15), 25.0: (2e7, 6.4e7)}
    change = [{"at": 20.0, "rate": 2e7}, {"at": 10.0, "rate": 5e7}, {"at": 2.0, "rtt": 0.08}]
    change.sort(key=lambda c: c["at"])
    for end, (rate, mean) in rates.items():
        run = {"settings": {"rate": 1e8, "mtu": 1500, "ip": 4, "change": change, "flows": 1},
               "virtual_s": end, "flows": [{}], "links": []}  # fmt: skip
        payload = rate * 1448 / 1514
        run["flows"][0] |= {"estimated_capacity_bps": payload, "start_s": 0.0, "end_s": end,
                            "goodput_bps": mean * 1448 / 1514 / 2}  # fmt: skip
        assert metrics.metric(run, "capacity_error") == pytest.approx(0)
        assert metrics.metric(run, "share_of_fair") == pytest.approx(0.5)
    run |= {"stages": [{"from": 0.0, "to": 15.0}, {"from": 15.0, "to": 25.0}]}
    run["flows"] = [{"stages": [{"goodput_bps": rate * 1448 / 1514} for rate in (5e7, 1e7)]}]
    assert metrics.metric(run, "share_of_fair@0") == pytest.approx(0.75)
    assert metrics.metric(run, "share_of_fair@1") == pytest.approx(0.5)


def test_nothing_is_not_fair() -> None:
    assert statistics.jain([]) is None
    assert statistics.jain([0.0, 0.0]) is None
    assert statistics.jain([1.0, 1.0]) == 1
    assert metrics.metric({"flows": [{"goodput_bps": 0.0}], "links": []}, "jain") is None


def test_a_sawtooth() -> None:
    """From 50 to 100 in ten seconds, first up to 120; later it is sampled less often."""
    at = np.concatenate((np.arange(0.1, 20, 0.1), np.arange(20, 100, 0.4)))
    windows = np.where(at < 10, 2 + 11.8 * at, 50 + 5 * (at % 10))
    thresholds = np.where(at < 10, np.nan, 50 + at // 10 / 100)
    found = stages._windows(_rows(at, windows, thresholds), 0)
    assert found["cwnd_mean"] == pytest.approx((9 * 75 + 61) / 10, rel=0.01)
    assert found["cwnd_reduced"] == pytest.approx(120, abs=2)
    assert found["cycle_s"] == pytest.approx(10, rel=0.01)
    assert found["cwnd_least"] == windows.min()
    assert found["granted_least_bps"] == pytest.approx(5e6 + 1)
    quiet = stages._windows(_rows(at, windows, np.full(len(at), np.nan)), 0)
    assert set(quiet) == {
        "cwnd_mean", "window_mean", "cwnd_least", "cwnd_most", "granted_least_bps",
    }  # fmt: skip
    assert found["cwnd_most"] == windows.max()


def test_a_window_that_is_being_reduced() -> None:
    """One second of recovery from 100 to 50, a tenth of the time.  window_mean has 50 for it."""
    at = np.arange(0.01, 10, 0.01)
    recovery = at < 1
    windows = np.where(recovery, 100 - 50 * at, 50)
    rows = _rows(at, windows, np.full(len(at), 50), np.where(recovery, 3, 0))
    found = stages._windows(rows, 0)
    assert found["window_mean"] == 50
    assert found["cwnd_mean"] == pytest.approx(52.5, abs=0.1)
    rows = _rows(at, windows, np.full(len(at), np.nan), np.where(recovery, 3, 0))
    assert stages._windows(rows, 0)["window_mean"] == pytest.approx(52.5, abs=0.1)  # as with BBR


def test_what_a_loss_leaves() -> None:
    """Windows of 100 and 80 are halved.  Recoveries at the ends of the stage are left out."""
    at = np.arange(0.01, 10, 0.01)
    state = np.zeros(len(at))
    for since in (0, 2, 5, 9.5):
        state[(at >= since) & (at < since + 1)] = 3
    windows = np.select([at < 2, at < 5, at < 6], [100, 50, 80], 40)
    windows = np.where((at >= 4) & (at < 5), 80, windows)
    found = stages._windows(_rows(at, windows, np.full(len(at), 50), state), 0)
    assert found["cwnd_kept"] == pytest.approx(0.5)
    # A recovery that ends with another gain is left out: the half is not the effect of the loss.
    gains = np.where(at < 6, 2.89, 2)
    rows = _rows(at, np.where(at < 5, 100, windows), np.full(len(at), 50), state, gains)
    assert stages._windows(rows, 0)["cwnd_kept"] == 1
    assert "cwnd_kept" not in stages._windows(rows[at >= 4], 0)


def test_what_a_stage_does_to_a_link() -> None:
    """100 Mb/s: half is used for 3 s, then all.  The estimate reaches 10 users after 6 s."""
    at = np.arange(0.01, 10, 0.01)
    sent = np.cumsum(np.where(at < 3, 50e6, 100e6)) * 0.01 / 8
    users = np.where(at < 6, 15, 10.2)
    queue = np.where(at < 4, 3, 7)
    rows = np.transpose([at, queue, sent, 0 * at, users, 0 * at, queue + 2])
    then = {"flows_estimated": 10.2}
    found = stages._link_changes(rows, then, 100e6, 0)
    assert found["queue_max"] == 9
    assert found["full_s"] == pytest.approx(3 + stages.FULL_OVER_S, abs=0.05)
    assert found["flows_settle_s"] == pytest.approx(6, abs=0.02)
    assert found["flows_most"] == 15
    assert stages._link_changes(rows, {}, 1e9, 0)["full_s"] == pytest.approx(9.99)


def test_windows_that_come_together() -> None:
    """One falls from 100, the other rises to 50 within 40 s.  A single window is always alike."""
    at = np.arange(0, 200, 0.1)
    nothing = np.full(len(at), np.nan)
    old = _rows(at, np.maximum(50, 100 - 1.25 * (at - 100).clip(0)), nothing)
    new = _rows(at, np.minimum(50, 1.25 * (at - 100).clip(0)), nothing)[1000:]
    apart = _rows(at, np.full(len(at), 40), nothing)
    # From 51.5 and 48.5 on, a sixteenth apart, they are alike; means lag by half of their length
    assert stages._converged([old, new], 100, 200) == pytest.approx(100 + 38.8 + 2.5, abs=0.6)
    assert stages._converged([old, apart], 150, 200) == 200
    assert stages._converged([old], 0, 100) == stages.ALIKE_OVER_S


def test_a_scenarios_metric_of_a_stage() -> None:
    """The NIST study's example: 409 and 395 of 882 packets use 0.91; 901 and 102 fill 0.69."""
    of = scenario.load("nist")
    settings = scenario.override(of, [], case=of.case_of("42 ms")).as_json()

    def run(*windows: float) -> dict:
        flows = [{"cc": "", "stages": [{}, {"window_mean": w}]} for w in windows]
        return {"settings": settings, "flows": flows, "links": [], "stages": [{}, {}]}

    def value(name: str, *windows: float) -> float | None:
        return findings.value(of, run(*windows), name)

    assert value("link_used@1", 409, 395) == pytest.approx(0.91, abs=0.005)
    assert value("buffer_used@1", 409, 395) == 0
    assert value("link_used@1", 901, 102) == 1
    assert value("buffer_used@1", 901, 102) == pytest.approx(0.69, abs=0.005)
    assert value("window_jain@1", 901, 102) == pytest.approx(0.61, abs=0.005)
    assert value("link_used@0", 409, 395) is None
    assert value("link_used@2", 409, 395) is None


def test_a_machine_without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that was unpacked there runs; only its commit is unknown."""
    monkeypatch.setenv("PATH", "/nowhere")
    assert provenance.git("rev-parse", "HEAD") == ""
    assert provenance.source() == ""


def test_documents_and_tests_change_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages of results are committed one after the other, which does not change what was run."""
    monkeypatch.setattr(provenance, "REPO", tmp_path)
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME",
                 "GIT_COMMITTER_EMAIL"):  # fmt: skip
        monkeypatch.setenv(name, "nobody")

    def commit(name: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("one")
        provenance.git("add", ".")
        provenance.git("commit", "-qm", name)
        return provenance.git("rev-parse", "HEAD")

    provenance.git("init", "-q")
    law = commit("law.c")
    commit("docs/results/page.png")
    page = commit("scripts/README.md")
    commit("tests/selftests/law.sh")
    commit("tests/test_law.py")
    assert provenance.source() == provenance.source(page) == law
    (tmp_path / "docs" / "results" / "page.png").write_text("other")
    assert not provenance.changed()
    (tmp_path / "law.c").write_text("other")
    assert provenance.changed()
    other = commit("more.c")
    assert provenance.source() == provenance.git("rev-parse", "HEAD") == other
    assert provenance.source(page) == law
    # but modules in tests/ that runs load change them
    other = commit("tests/starts/tcp_start.c")
    assert provenance.source() == other
