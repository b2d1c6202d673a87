# SPDX-License-Identifier: GPL-2.0
"""make bench measures everything and judges it correctly.  The costs themselves are not tested."""

import json
import random
import re
import subprocess

import matplotlib.pyplot as plt
import pytest

from conftest import REPO, wanted_kernels
from labkit import cli
from labkit.errors import LabError
from labkit.measure import bench, scale
from labkit.tell import plot, summary
from labkit.world import machine, stock

LOG = """\
[    0.530000] tcp_feedback: loading out-of-tree module taints kernel.
[    1.390000] feedback_bench: v4 from socket to socket: 2571328 ps per segment
[    1.400000] feedback_bench: v4 no flow, out: 5937 ps per segment
[    1.400000] feedback_bench: v6 no flow, out: -15 ps per segment
[    2.100000] cc_bench: nist_bic: open, 44 segments: 1000 sockets: 6120 ps per ACK
[    2.110000] cc_bench: reno: recovery: 1 sockets: -20 ps per ACK
[    2.120000] cc_bench: acp: 1000 sockets: 64 bytes per socket, 4096 left
[    2.130000] cc_bench: acp, granted: limited: 1 sockets: 41000 ps per ACK
[    2.140000] cc_bench: acp, granted: 1 sockets: 60 bytes per socket, 0 left
[    2.150000] cc_bench: limited: 1 sockets had 800 to 1000 ACKs each
[    2.390000] sch_bench: fq_codel, IPv6: 66000 ps per packet
listening
transfer: veth, fq: cubic: 1100000000 bytes/s
transfer: veth, fq: acp: 1000000000 bytes/s
transfer: veth, fq: cubic: 900000000 bytes/s
transfer: veth, fq: cubic: 910000 us busy per GB
transfer: veth, fq: cubic: 9
"""


PACKETS = {f"{name}, {kind}" for name in bench.ROUTERS for kind in bench.kinds(name)}


def whole_run(ns=1.0, acp=1e9, cubic=1e9):
    """The result of parse() for a run in which every time is ns."""
    found = {("host", what, family): [ns] for what in bench.HOSTS for family in bench.FAMILIES}
    found |= {("router", what): [ns] for what in PACKETS}
    found |= {("ack", cc, ack, "1"): [ns] for cc in bench.SENDERS for ack in bench.ACKS}
    found |= {("transfer", path, cc): [cubic] for path in bench.HOST for cc in bench.SENT}
    found |= {("busy", path, cc): [0.5] for path in bench.HOST for cc in bench.SENT}
    return found | {("transfer", path, "acp"): [acp] for path in bench.HOST}


def full_run(seed):
    """The result of parse() for a guest of the full measurement, with a number for each name."""
    pick = random.Random(seed)
    found = whole_run()
    for cc in bench.SENDERS:
        for number in bench.Effort().sockets:
            found |= {("ack", cc, ack, str(number)): [1.0] for ack in bench.ACKS}
        found["memory", cc, str(bench.MANY)] = [1.0]
    found = {key: [round(pick.uniform(20, 60), 3)] for key in found}
    return found | {key: [float(pick.randrange(10**9))] for key in found if key[0] == "transfer"}


def log_of(found):
    """The log of a guest, of which parse() makes found."""
    form = {
        "ack": "cc_bench: {0}: {1}: {2} sockets: {ps} ps per ACK",
        "memory": "cc_bench: {0}: {1} sockets: {number:.0f} bytes per socket, 0 left",
        "host": "feedback_bench: {1} {0}: {ps} ps per segment",
        "router": "sch_bench: {0}: {ps} ps per packet",
        "transfer": "transfer: {0}: {1}: {number:.0f} bytes/s",
        "busy": "transfer: {0}: {1}: {us} us busy per GB",
    }
    return "\n".join(
        form[of].format(*key, number=one, ps=round(one * 1000), us=round(one * 1e6))
        for (of, *key), numbers in found.items() for one in numbers
    )


@pytest.fixture
def results(tmp_path, monkeypatch):
    """An empty directory in place of docs/results."""
    folder = tmp_path / "results"
    monkeypatch.setattr(summary.records, "RESULTS", folder)
    monkeypatch.setattr(summary, "COST", folder / "cost.json")
    monkeypatch.setattr(summary, "require_committed", lambda: None)
    return folder


@pytest.fixture
def command(monkeypatch):
    """command("--docs"): the exit status of lab bench; its guests have the logs of full_run()."""
    runs = {}

    def measure(laboratory, effort, number, progress):
        return log_of(runs.setdefault(number, full_run(number)))

    def call(*arguments):
        args = cli._parser().parse_args(["bench", *map(str, arguments)])
        return args.does(args)

    monkeypatch.setattr(bench, "_measure", measure)
    call.runs = runs
    return call


def row_of(made, what, family="", unit=""):
    (row,) = (row for row in made if (row.what, row.family) == (what, family)
              and unit in ("", row.unit))  # fmt: skip
    return row


def test_parses_a_log():
    assert bench.parse(LOG) == {
        ("host", "from socket to socket", "v4"): [2571.328],
        ("host", "no flow, out", "v4"): [5.937],
        ("host", "no flow, out", "v6"): [-0.015],
        ("ack", "nist_bic", "open, 44 segments", "1000"): [6.12],
        ("ack", "reno", "recovery", "1"): [-0.02],
        ("memory", "acp", "1000"): [64.0],
        ("left", "acp", "1000"): [4096.0],
        ("ack", "acp, granted", "limited", "1"): [41.0],
        ("memory", "acp, granted", "1"): [60.0],
        ("left", "acp, granted", "1"): [0.0],
        ("router", "fq_codel, IPv6"): [66.0],
        ("transfer", "veth, fq", "cubic"): [1.1e9, 9e8],
        ("transfer", "veth, fq", "acp"): [1e9],
        ("busy", "veth, fq", "cubic"): [0.91],
    }


def test_takes_medians_and_judges():
    runs = [whole_run(4, 1e9, 9e8), whole_run(5, 8e8), whole_run(90)]
    made = bench.rows(runs, (1,))
    row = row_of(made, "no flow, in", "v4")
    assert (row.median, min(row.samples), max(row.samples), row.met) == (5, 4, 90, True)
    assert row.ratio == 1 and row.of == bench.WHOLE
    assert row_of(made, "pie, IPv6").met is None and row_of(made, "acp, IPv6", unit="ns").met
    assert row_of(made, "acp, IPv6", unit="of cake's").met is False
    # the share of CUBIC's rate in the same guest; must not be less than the bound
    share = row_of(made, "acp, veth", unit="of cubic's")
    assert share.samples == (1e9 / 9e8, 0.8, 1) and share.median == 1 and share.met
    assert row_of(made, "acp, veth", unit=bench.RATE).median == 8
    runs = [whole_run(5.1, acp=8.9e8)]
    runs[0]["transfer", "veth, fq", "bbr"] = [1.1e9]
    made = bench.rows(runs, (1,))
    missed = {(row.what, row.unit) for row in made if row.met is False}
    missed -= {(f"{name}, {kind}", "of cake's") for name in bench.OURS for kind in bench.TRAFFIC}
    assert missed == {("no flow, in", "ns"), ("no flow, out", "ns"),
                      ("ccpd_path, veth, fq", "of bbr's"),
                      *((f"acp, {path}", "of cubic's") for path in bench.HOST)}  # fmt: skip
    assert "NOT MET" in bench.table(made) and "not met" in bench.notes(made, 0)[0]
    lines = {line.rpartition("  ")[0][:20].strip(): line for line in bench.table(made).splitlines()}
    assert lines["ccpd_path of bbr's"].endswith("NOT MET")
    cheap = {("router", what): [0.1] for what in PACKETS if what.startswith(bench.OURS)}
    assert not bench.notes(bench.rows([whole_run() | cheap], (1,)), 0)


def test_the_table_of_throughput_has_ranges_and_the_load_is_told(results):
    made = bench.rows([whole_run(acp=8e8), whole_run(acp=9e8)], (1,))
    summary.write_cost(summary.cost(made, 2, 3.25))
    page = (results / "cost.md").read_text()
    assert "6.8 (0.80-0.90)" in page and "0.500 (0.500-0.500)" in page
    assert "its load was 3.2 on" in page
    summary.write_cost(summary.cost(made, 2, 0.1))
    assert "its load was" not in (results / "cost.md").read_text()


def test_the_numbers_are_beside_the_page(results, command, tmp_path):
    """All of the five guests of make bench, and the same in the file for lab compare."""
    status = command("--docs", "--output", tmp_path / "report/bench.json")
    runs = [bench.parse(log_of(run)) for run in command.runs.values()]
    made = bench.rows(runs, bench.Effort().sockets)
    assert len(runs) == 5 and status == any(row.met is False for row in made)
    text = (results / "cost.json").read_text()
    assert (tmp_path / "report/bench.json").read_text() == text
    assert len(text) < 50_000  # docs/results has a limit
    of = json.loads(text)
    assert of["guests"] == 5 and of["processor"] and of["cpus"] and "load" in of
    read = {(row.what, row.family, row.sockets, row.unit): row.json()
            for row in bench.rows_in(of["tables"])}  # fmt: skip
    assert len(read) == len(made)
    for row in made:
        again, was = read[row.what, row.family, row.sockets, row.unit], row.json()
        del again["samples"], was["samples"]
        if row.ratios and not row.family:  # the table has the range of the ratio
            del again["low"], again["high"], was["low"], was["high"]
        numbers = {key for key, value in was.items() if isinstance(value, float)}
        assert {key: again.pop(key) for key in numbers} == pytest.approx(
            {key: was.pop(key) for key in numbers}, rel=6e-4)  # fmt: skip
        assert again == was
    page = (results / "cost.md").read_text()
    assert bench.table(bench.rows_in(of["tables"])) in page and "](cost.json)" in page
    assert "in the range of 5 of them with a probability of 93.8 %" in " ".join(page.split())


def drawn(axis, names):
    """The points of an axis: name, colour, and the least, the median and the largest value."""
    for line, _, (bars,) in axis.containers:
        ends = [bar[:, 0] for bar in bars.get_segments()]
        for x, y, (low, high) in zip(*line.get_data(), ends, strict=True):
            yield names[round(y)], line.get_color(), (low, x, high)


def test_the_pictures_have_the_numbers_of_the_page(results, command):
    command("--docs")
    page = (results / "cost.md").read_text()
    made = bench.rows_in(json.loads((results / "cost.json").read_text())["tables"])
    acks, routers = plot.ack_costs(made), plot.router_costs(made)
    for part, figure in (("acks", acks), ("routers", routers)):
        picture = results / f"cost-{part}.png"
        assert f"](cost-{part}.png)" in page and 5000 < picture.stat().st_size < 60_000
        plot._save(figure, results / "again.png")
        assert picture.read_bytes() == (results / "again.png").read_bytes()

    sockets = {colour: number for number, colour in plot.SOCKETS.items()}
    shown = {
        (name.split(" / ")[0], name.split(" / ")[1], axis.get_title(), sockets[colour]): points
        for axis in acks.axes for name, colour, points in drawn(
            axis, [label.get_text() for label in acks.axes[0].get_yticklabels()])
    }  # fmt: skip
    wanted = {
        (row.name, row.of, row.kind, row.sockets): (min(row.ratios), row.ratio, max(row.ratios))
        for row in made if row.kind in bench.ACKS and row.name != "cubic"
    }
    assert shown == {key: pytest.approx(ratios) for key, ratios in wanted.items()}
    assert len(shown) == (len(bench.SENDERS) - 1) * len(bench.ACKS) * 3

    shown, kinds = {}, list(bench.TRAFFIC)
    for place, axis in enumerate(routers.axes):
        of = ["fq_codel", "cake"][place // len(kinds)]
        first = routers.axes[place - place % len(kinds)]
        names = [label.get_text() for label in first.get_yticklabels()]
        shown |= {(name, of, kinds[place % len(kinds)]): points
                  for name, _, points in drawn(axis, names)}  # fmt: skip
    wanted = {
        (name, of, kind): (min(row.ratios or row.samples), row.ratio if row.ratios else row.median,
                           max(row.ratios or row.samples))
        for of, unit in (("fq_codel", "ns"), ("cake", "of cake's")) for kind in kinds
        for name in bench.ROUTERS if kind in bench.kinds(name) and name != "fq_codel"
        if of == "fq_codel" or name in bench.OURS
        for row in [row_of(made, f"{name}, {kind}", unit=unit)]
    }
    assert shown == {key: pytest.approx(ratios) for key, ratios in wanted.items()}


def test_what_no_picture_can_show_is_at_its_edge():
    """And noise is hollow."""
    run = whole_run(4)
    run["ack", "ccpd", "open", "1"] = [-2.0]  # noise
    run["ack", "ccp", "open", "1"] = [4000.0]
    figure = plot.ack_costs(bench.rows([run], (1,)))
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    points = {name: ratios for name, _, ratios in drawn(figure.axes[0], names)}
    low, high = plot.ACK_RATIOS
    assert points["ccpd / cubic"] == (low,) * 3 and points["ccp / cubic"] == (high,) * 3
    hollow = {names[round(y)] for line, _, _ in figure.axes[0].containers
              if line.get_markerfacecolor() == "white" for y in line.get_ydata()}  # fmt: skip
    assert hollow == {"ccpd / cubic"}
    plt.close(figure)


@pytest.mark.parametrize("changed", [True, False])
def test_the_numbers_tell_whether_they_are_of_a_commit(monkeypatch, changed):
    """make bench also measures a source with uncommitted changes."""
    monkeypatch.setattr(summary.provenance, "changed", lambda: changed)
    assert summary.cost(bench.rows([whole_run()], (1,)), 1, 0)["clean"] is not changed


def test_a_number_that_a_guest_lacks_is_told_before_the_next_guest(command):
    run = full_run(0)
    del run["busy", "loopback, 64 flows", "cubic"]
    command.runs[0] = run
    with pytest.raises(LabError, match="no value for busy loopback, 64 flows cubic"):
        command()
    assert len(command.runs) == 1


def test_a_transfer_without_a_byte_gets_no_verdict(command, tmp_path):
    """A busy machine may give a sender no time."""
    command.runs[2] = full_run(2)
    command.runs[2]["transfer", "veth", "cubic"] = [0.0]
    command("--output", tmp_path / "a.json")
    made = bench.rows_in(json.loads((tmp_path / "a.json").read_text())["tables"])
    noise = {(row.what, row.unit) for row in made if row.noise}
    assert noise == {(f"{cc}, veth", "of cubic's") for cc in bench.SENT}
    assert row_of(made, "acp, veth", unit="of cubic's").met is None
    (line,) = (text for text in bench.table(made).splitlines()
               if text.startswith("  ccpd_path of bbr's"))  # fmt: skip
    assert not line.endswith("noise")


def test_no_measurement_begins_if_its_file_cannot_be_written(lab, tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file/bench.json", tmp_path):
        said = lab("bench", "--output", path, status=2, timeout=20).stderr
        assert said.startswith(f"lab: cannot write {path}: ") and said.count("\n") == 1
    said = lab("bench", "--scale", "--output", tmp_path / "a.json", status=2, timeout=20).stderr
    assert said.startswith("lab: --output is not for --scale") and said.count("\n") == 1


def test_make_bench_writes_the_file_that_its_help_names():
    told = subprocess.run(["make", "-n", "bench"], cwd=REPO, capture_output=True, text=True)
    assert "scripts/lab bench --output report/bench.json\n" in told.stdout
    said = subprocess.run(["make", "-s", "help"], cwd=REPO, capture_output=True, text=True)
    assert "report/bench.json" in said.stdout


def test_an_ack_is_judged_by_a_ratio_in_each_guest():
    """A time would not do: the whole machine may be slower during one guest than the other."""
    runs = [whole_run(4), whole_run(40)]
    runs[0][("ack", "ccpd", "open", "1")] = [3.0]
    runs[1][("ack", "ccpd", "open", "1")] = [44.0]
    row = row_of(bench.rows(runs, (1,)), "ccpd, open")
    assert row.ratios == (0.75, 1.1) and row.met and row.of == "cubic"
    runs[0][("ack", "ccpd", "open", "1")] = [4.4]
    made = bench.rows(runs, (1,))
    assert row_of(made, "ccpd, open").met is False
    line = next(text for text in bench.table(made).splitlines() if text.split()[:1] == ["ccpd"])
    assert "(1.10)" in line and line.endswith("cubic: NOT MET")
    assert row_of(made, "bbr, open").met is None


def test_noise_gets_no_verdict():
    """A cost below what can be measured, or a ratio to such a cost, is neither met nor missed."""
    runs = [whole_run(40), whole_run(40)]
    runs[0][("ack", "ccpd", "open", "1")] = [-20.0]  # the median of both is below the bound
    for run in runs:
        run[("ack", "bbr", "recovery", "1")] = [0.1]
        run[("host", "no flow, in", "v6")] = [-0.1]
        run[("router", "xcp, 1 flow")] = [0.2]
    made = bench.rows(runs, (1,))
    noise = {row.what for row in made if row.noise}
    senders = {cc for cc, (_, of) in bench.SENDERS.items() if of == "bbr"}
    assert noise == {"ccpd, open", "bbr, recovery", "no flow, in", "xcp, 1 flow",
                     *(f"{cc}, recovery" for cc in senders)}  # fmt: skip
    assert all(row.met is None and row.json().get("met") is None for row in made if row.noise)
    acks = bench.table(made).partition("\n\n")[0].splitlines()
    ends = {line.split()[0]: line.rpartition("  ")[2] for line in acks}
    assert ends["ccpd"] == "cubic: noise" and ends["acp"] == "bbr: noise"
    assert ends["ccp"] == "cubic: met"


def test_progress_counts_what_a_guest_will_print() -> None:
    """100 000 sockets are one line and half of the time: counted as one, 423 min seemed left."""
    effort = bench.Effort()
    calls = [line.split() for line in bench._job(effort, 0).splitlines() if line]
    lines = [f"{what} {of[0]}" for what, *of in calls if what in ("acks", "host", "router") and of]
    transfers = sum(what == "sends" for what, *of in calls if of) * 2 * (len(bench.SENT) + 1)
    spent = sum(map(bench._seconds, lines + ["transfer: veth: reno: 1 bytes/s"] * transfers))
    assert spent == pytest.approx(effort.seconds)
    assert bench._seconds("acks 100000") > 0.4 * effort.seconds


def test_each_of_many_sockets_gets_acks(lab):
    """At least one before the measurement, and one in it.  The bench fails unless senders follow
    the words."""
    senders = {cc: of for cc, (of, _) in bench.SENDERS.items() if cc.endswith(bench.GRANTED)}
    ccs = ",".join(["reno", *(cc.replace(bench.GRANTED, "+") for cc in senders)])
    modules = " ".join(senders.values())
    script = f"modprobe -a {modules}; modprobe cc_bench sockets=3000 chunks=2"
    log = lab("exec", "--", "sh", "-ec", f"{script} rounds=1 ccs={ccs}; dmesg").stdout
    wanted = {("ack", cc, ack, "3000") for cc in ("reno", *senders) for ack in bench.ACKS}
    assert bench.parse(log).keys() >= wanted
    found = re.findall(r"cc_bench: ([^:]+): 3000 sockets had (\d+) to \d+ ACKs each", log)
    assert {name: int(few) for name, few in found} == {
        ack: 3 if "recovery" in ack else 2 for ack in bench.ACKS}  # fmt: skip


def test_what_costs_more_is_told_beyond_the_noise():
    before = bench.rows([whole_run(20)], (1,), bench.INSTRUCTIONS)
    known = {row.key: max(row.steady) for row in before if row.ratios}
    runs = [whole_run(20), whole_run(20)]
    runs[0][("router", "acp, 1 flow")] = [20.4]  # in one of two runs: 2 % of noise
    for run, other in zip(runs, (17.0, 18.0), strict=True):  # others' noise does not count
        run[("router", "pie, 1 flow")] = run[("router", "fq_codel, 1 flow")] = [other]
    runs[1][("ack", "ccpd", "open", "1")] = [30.0]  # the smaller of the two has not changed
    made = bench.rows(runs, (1,), bench.INSTRUCTIONS)
    assert bench.noise([row for row in made if "ccpd" not in row.what]) == pytest.approx(0.02)
    assert not bench.regressions(made, known, 0)
    runs[1] = whole_run(20)
    for run in runs:
        run[("ack", "ccpd", "open", "1")] = [20.3]
        run[("ack", "ccp", "open", "1")] = [20.5]
        run[("host", "sender, in", "v6")] = [9.0]  # too few instructions to judge
    made = bench.rows(runs, (1,), bench.INSTRUCTIONS)
    assert not bench.regressions(made, known, 0.03)
    assert bench.regressions(made, known, 0) == ["ccp, open: 1.025 of cubic, before 1.000"]
    assert not any(row.bound and row.unit == bench.NS for row in made)
    assert "loopback" not in "".join(row.what for row in made)
    assert "an ACK, instructions" in bench.table(made) and "veth" not in bench.table(made)


def test_an_interrupt_in_one_of_three_runs_is_no_noise():
    runs = [whole_run(20), whole_run(20), whole_run(20)]
    runs[0][("ack", "cubic", "open", "1")] = [22.0]  # the reference of the other senders
    runs[1][("router", "acp, 1 flow")] = [21.0]
    runs[2][("router", "acp, 1 flow")] = [20.4]
    made = bench.rows(bench.undisturbed(runs), (1,), bench.INSTRUCTIONS)
    assert row_of(made, "ccpd, open").ratios == (1, 1)
    assert row_of(made, "acp, 1 flow", unit=bench.INSTRUCTIONS).samples == (20, 20.4)
    assert bench.noise(made) == pytest.approx(0.02)
    del runs[1][("router", "acp, 1 flow")]
    with pytest.raises(LabError, match="router acp, 1 flow"):
        bench.rows(bench.undisturbed(runs), (1,), bench.INSTRUCTIONS)


def test_costs_no_more_than_what_is_written():
    """An ACK, a segment or a packet costs no more instructions than the documents say, beyond the
    noise of the count.  Any machine finds an increase, also a busy one."""
    written = json.loads(summary.COUNTED.read_text())
    kernel = stock.ensure("6.12")
    made = bench.count(kernel, guests=1)
    assert {row.key for row in made if row.ratios} <= set(written["ratios"]), \
        "scripts/lab bench --instructions --docs"
    more = bench.regressions(made, written["ratios"], written["noise"])
    if more:
        # the random numbers of one guest may be unlucky: the least of two others counts
        more = bench.regressions(
            bench.count(kernel, guests=2), written["ratios"], written["noise"])
    assert not more, f"{kernel.package}; what is written is of {written['kernel']}"
    # with more noise than this the test could not detect an increase of 5 %
    assert max(bench.noise(made), written["noise"]) < 0.05


@pytest.mark.parametrize("key", [
    ("ack", "ccpd", "limited", "1"), ("host", "no flow, in", "v6"), ("router", "acp, 1 flow"),
    ("transfer", "veth", "cubic"),
])  # fmt: skip
def test_lacks_nothing_silently(key):
    run = whole_run()
    del run[key]
    with pytest.raises(LabError, match=" ".join(key)):
        bench.rows([whole_run(), run], (1,))


def test_memory_of_a_socket_is_told_where_there_are_many():
    run = whole_run()
    for cc in bench.SENDERS:
        run |= {("ack", cc, ack, "100000"): [2.0] for ack in bench.ACKS}
        run["memory", cc, "100000"] = [8.0 if cc == "acp" else 0.0]
    made = bench.rows([run], (1, 100_000))
    held = {row.what: row.median for row in made if row.unit == bench.BYTES}
    assert held == {f"{cc}, memory": 8.0 * (cc == "acp") for cc in bench.SENDERS}
    lines = bench.table(made).splitlines()
    assert any(line.endswith("8.0  bbr: met") for line in lines if line.startswith("  acp "))


@pytest.mark.parametrize(
    "row",
    [{"what": "x", "ratio": 1}, {"what": 5, "unit": "ns", "least": True, "low": 1, "high": 2},
     {"what": "x", "unit": "ns", "least": True, "low": "a", "high": 2}, "what",
     {"fields": ["median"], "unit": "ns", "kinds": ["a"], "rows": {"x": []}},
     {"fields": ["median"], "unit": "ns", "kinds": ["a"], "rows": {"x": [[]]}},
     {"fields": ["median"], "unit": "ns", "kinds": ["a"], "rows": {"x": [["b"]]}},
     {"fields": ["median"], "unit": "ns", "kinds": ["a"], "rows": {"x": [[10**400]]}},
     {"what": "x", "unit": "ns", "least": True, "low": 1, "high": 10**400},
     {"fields": ["median"], "kinds": ["a"], "rows": {"x": [[1]]}}],
)  # fmt: skip
def test_what_is_no_bench_is_told(lab, tmp_path, row):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"tables": [row]} if "fields" in row else [row]))
    said = lab("compare", path, path, status=2).stderr
    assert said.startswith(f"lab: {path}") and said.count("\n") == 1


@pytest.mark.parametrize("short", [True, False])
def test_two_benches_are_compared_by_their_ratios(lab, tmp_path, short):
    def bench_file(name, *runs):
        made = bench.rows(list(runs), (1,))
        if short:  # as --output writes it
            summary.write_numbers(summary.cost(made, len(runs), 0), tmp_path / name)
        else:
            (tmp_path / name).write_text(json.dumps([row.json() for row in made]))
        return tmp_path / name

    slow = [whole_run(40), whole_run(40)]  # another machine
    for run in slow:
        run[("ack", "ccpd", "open", "1")] = [44.0]
        run[("host", "sender, in", "v6")] = [30.0]
    slow[0][("router", "acp, IPv6")] = [44.0]  # unchanged in the other run
    a, b = bench_file("a.json", whole_run(), whole_run()), bench_file("b.json", *slow)
    call = lab("compare", a, b, "--json", status=1)
    verdicts = {row["what"]: row["verdict"] for row in call.json if "verdict" in row}
    assert verdicts == {"ccpd, open, 1 sockets": "worse", "sender, in, v6": "better"}
    told = lab("compare", a, b, status=1).stdout
    assert "are worse, 1 better" in told and "1.100 to 1.100  worse" in told
    assert lab("compare", a, a).stdout.startswith("of ")
    less = bench_file("c.json", whole_run(acp=9.5e8))
    told = lab("compare", a, less, status=1).stdout
    assert "acp, loopback" in told and "of cubic's" in told
    (tmp_path / "d.json").write_text("[]")
    for other in ("d.json", "none.json"):
        assert "not a file of lab bench" in lab("compare", a, tmp_path / other, status=2).stderr


def test_measures(lab, tmp_path):
    call = lab("bench", "--quick", "--json", "--output", tmp_path / "new/bench.json", status=None,
               timeout=120)  # fmt: skip
    assert call.status in (0, 1), call.stderr  # 1: a bound is not met, as on a busy machine
    rows = call.json
    numbers = json.loads((tmp_path / "new/bench.json").read_text())
    assert len(bench.rows_in(numbers["tables"])) == len(rows) and numbers["guests"] == 1
    hosts = {(row["what"], row["family"]) for row in rows if "family" in row}
    assert hosts == {(what, family) for what in bench.HOSTS for family in bench.FAMILIES}
    acks = {row["what"] for row in rows if row.get("sockets") == 1}
    assert acks == {f"{cc}, {ack}" for cc in bench.SENDERS for ack in bench.ACKS}
    others = {row["what"] for row in rows if not {"family", "sockets"} & row.keys()}
    assert others == {*PACKETS, *(f"{cc}, {path}" for cc in bench.SENT for path in bench.HOST)}
    for row in rows:
        assert row["low"] <= row["median"] <= row["high"] and row["samples"] == 1
        if "bound" in row:
            assert row["met"] is (None if row.get("noise") else row["met"] is True)
    assert call.status == any(row.get("met") is False for row in rows)
    busy = [row["median"] for row in rows if row["unit"] == bench.BUSY_UNIT]
    assert len(busy) == len(bench.SENT) * len(bench.HOST)
    assert 0 < sorted(busy)[len(busy) // 2] < 20  # on a busy machine some have no time to send
    # The clock is real: a segment takes time from socket to socket, and a hook takes a part of it.
    whole = next(row["median"] for row in rows if row["what"] == bench.WHOLE)
    assert whole > 100
    assert all(0 < row["ratio"] < 1 for row in rows if row["what"] in ("sender, out", "sender, in"))


@pytest.mark.skipif(not wanted_kernels(), reason="boots a guest: make check-kernels runs it")
def test_the_cost_of_cake_does_not_depend_on_what_came_before():
    """If all flows had the same two addresses, the second measurement would take a third of the
    first."""
    kernel = stock.ensure("6.12")
    made = stock.build(kernel, ("W=1", "TCPCC_BENCH=y"))
    turn = "modprobe sch_bench dev=v0 packets=10000; modprobe -r sch_bench"
    job = f"""ip link add v0 type dummy && ip link set v0 up
tc qdisc replace dev v0 root cake bandwidth 1tbit
{turn}; {turn}; dmesg"""
    log = machine.boot(kernel, ["sh", "-ec", job], modules=made, emulate=True).stdout
    first, second = bench.parse(log)["router", "cake"]
    assert second == pytest.approx(first, rel=0.1)


def test_speed_beside_ns3():
    """The lab and ns-3 are measured on the same network; without ns-3 only the lab is."""
    command = [REPO / "tests/speed/speed.py", "--rounds", "1", "--flows", "1", "--json"]
    call = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert call.returncode == 0, call.stderr
    (row,) = json.loads(call.stdout)
    assert row["flows"] == 1 and row["lab"][0] > 0  # the value depends on the machine
    assert row["lab_core"][0] > 0 and ("ns3" in row) == ("ns3_core" in row)
    assert ("ns3" in row) != ("no ns-3" in call.stderr)


def memory_log(left=(0, 4096), kb=100):
    lines = [f"[    1.0] cc_bench: {name}: 1000 sockets: {held} bytes per socket, {of} left"
             for name in (*scale.SENDERS, "socket") for held, of in zip((9, 8), left, strict=True)]
    lines += ["feedback_bench: v4 entry: 114 bytes",
              *(f"qdisc {name} {kb} {kb + 64} {end}" for name in scale.QDISCS
                for end in (kb, kb + 4))]  # fmt: skip
    return "\n".join(lines)


def test_no_sender_is_left_out():
    names = {path.stem for path in REPO.glob("**/tcp_*.c") if path.parent.name in
             (REPO.name, "nist", "rivals")}  # fmt: skip
    assert {module for module, _ in bench.SENDERS.values() if module.startswith("tcp_")} - {
        "tcp_bbr", "tcp_vegas", "tcp_dctcp"} == names  # fmt: skip
    measured = {module for cc, (module, _) in bench.SENDERS.items() if cc in scale.SENDERS}
    assert names <= measured


def test_memory_that_grows_is_told():
    of = scale.parse_memory(memory_log(), 1000)
    assert of["socket"] == {"bytes": 8, "grown": 4096} and of["entry"] == 114
    assert of["qdiscs"]["acp"] == {"bytes": 1024, "grown": 4096} and not scale.grown(of)
    of = scale.parse_memory(memory_log((4096, 400_000)), 1000)
    assert scale.grown(of) == ["socket", *scale.SENDERS]
    for missing in ("entry", "qdisc pie", "cc_bench: acp:"):
        log = "\n".join(line for line in memory_log().splitlines() if missing not in line)
        with pytest.raises(LabError, match="no value"):
            scale.parse_memory(log, 1000)


def test_a_leak_of_one_small_qdisc_is_more_than_noise():
    """Each qdisc that is made leaves the smallest one behind, of 192 bytes."""
    assert 192 * scale.DEVICES * (scale.TIMES - 1) > 2 * scale.NOISE
    log = memory_log()
    assert not scale.grown(scale.parse_memory(log, 1000))
    leak = 100 + 192 * scale.DEVICES * scale.TIMES // 1024
    log = log.replace("qdisc pie 100 164 104", f"qdisc pie 100 164 {leak}")
    assert scale.grown(scale.parse_memory(log, 1000)) == ["pie"]


def test_the_first_run_and_the_boots_of_a_report_are_told():
    speed = (REPO / "tests/speed/speed.py").read_text()
    assert f"\nNS3_MOST = {scale.NS3_MOST} " in speed
    made = json.loads(summary.SCALE.read_text())
    made["start"] |= {"kernel": 119, "fetch": 40, "demo": 181}
    told = scale.tables(made)
    assert "119 s to fetch and build the kernel and run it once (40 s of it to fetch" in told["lab"]
    assert "kernel in 2:00 wanted: met; demo in 3:00 wanted: NOT MET" in told["lab"]
    of = {"runs": 10, "packets": 1_002_000_000, "longest": 200_200_000, "packets_per_s": 1,
          "hours": {"1": 2}}  # fmt: skip
    told = scale.tables(made | {"report": of})["report"]
    assert "10 runs of 1.00 billion packets (the longest has 200.0 million)" in told


def test_processors_and_mininet_lack_nothing_silently():
    log = "\n".join(
        f"[ 1.0] sch_bench: {name}: {n} processors: {1000 * n} packets per second, 2 lost"
        for _ in range(2) for name in ("noqueue", *scale.QDISCS) for n in (1, 2)
    )
    found = scale.parse_processors(log)
    assert found["rates"]["acp"] == {"1": [1000, 1000], "2": [2000, 2000]}
    assert found["lost"] == 0.002 and scale.spared({"processors": [1, 2]} | found) == 2
    with pytest.raises(LabError, match="no value for cake"):
        scale.parse_processors(log.replace("cake", "cakes"))
    said = "flows 1\n*** Creating network\ntransfer: mininet: cubic: 1448000 bytes/s\nflows 50\n"
    with pytest.raises(LabError, match="no value"):
        scale.parse_mininet(said)
    assert scale.parse_mininet(said + "transfer: mininet: cubic: 2896 bytes/s\n") == {
        "1": 1000, "50": 2}  # fmt: skip


def test_what_is_written_is_what_was_measured(tmp_path, monkeypatch):
    """The page has the numbers of the file beside it.  The costs of the first run are kept."""
    made = json.loads(summary.SCALE.read_text())
    written = summary.SCALE.with_suffix(".md").read_text()
    monkeypatch.setattr(summary.records, "RESULTS", tmp_path)
    monkeypatch.setattr(summary, "SCALE", tmp_path / "scale.json")
    summary.write_scale(made)
    assert (tmp_path / "scale.md").read_text() == written
    made["start"] |= {"kernel": 500, "demo": 50}
    summary.write_scale(made)
    del made["start"]["kernel"], made["start"]["demo"]
    summary.write_scale(made)
    assert "500 s to fetch and build the kernel" in (tmp_path / "scale.md").read_text()


def test_exponents():
    rows = [{"x": x, "y": 3 * x**2} for x in (1, 10, 100, 1000)]
    assert scale.exponent(rows, "x", "y") == pytest.approx(2)


@pytest.mark.skipif(not wanted_kernels(), reason="takes minutes: make check-kernels runs it")
def test_measures_what_more_costs(lab):
    """Every measure once, and short: each one has numbers, and the numbers are possible."""
    made = lab("bench", "--scale", "--quick", "--json", timeout=600).json
    several = made["processors"]
    for name in ("noqueue", *scale.QDISCS):
        for n in several["processors"]:
            (rate,) = several["rates"][name][str(n)]
            assert rate > 1000, name
    memory = made["memory"]
    assert 2000 < memory["socket"]["bytes"] < 6000 and 64 <= memory["entry"] <= 256
    # only senders that allocate memory of their own have some
    held = {cc: row["bytes"] for cc, row in memory["senders"].items()}
    assert held["cubic"] == held["ccpd_path"] == 0 < held["acp"] < 1000
    assert not scale.grown(memory)
    assert memory["qdiscs"]["cake"]["bytes"] > memory["qdiscs"]["fq_codel"]["bytes"] > 10_000
    (row,) = made["lab"]["rows"]
    assert row["lab"][0] > 0 and row["lab_core"][0] > 0
    if isinstance(made["lab"]["mininet"], dict):
        assert 0 < made["lab"]["mininet"]["1"] < 10_000  # the link carries no more
    few, more = made["growth"]["packets"]
    assert 1.5 < more["packets"] / few["packets"] < 3
    assert all(row["memory"] > 20e6 and row["kept"] > 1000 for row in made["growth"]["flows"])
    one, two = made["growth"]["runs"]
    assert 1.8 < two["kept"] / one["kept"] < 2.2 and two["packets"] == 2 * one["packets"]
    assert made["start"][scale.BOOT] > 0
    assert scale.tables(made).keys() == {"processors", "memory", "lab", "growth"}


@pytest.mark.parametrize("arguments", [["--runs", "0"], ["--runs", "many"], ["--fast"]])
def test_refuses_bad_arguments(lab, arguments):
    said = lab("bench", *arguments, status=2).stderr
    assert said.startswith("lab: ") and said.count("\n") == 1
