# SPDX-License-Identifier: GPL-2.0
"""The lab with files from outside of the repository: a user's modules, scenarios and kernels.  And
docs/lab.md, whose commands are run here."""

import contextlib
import json
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import uuid
from itertools import pairwise
from pathlib import Path

import polars
import pytest

from conftest import REPO, wanted_kernels
from labkit import cli
from labkit.errors import LabError
from labkit.measure.job import Job, identity
from labkit.model import scenario, sweep
from labkit.model.settings import KEYS
from labkit.paths import cache, cache_root
from labkit.tell.outcome import Cell, Report
from labkit.world import kernel, others, tree
from labkit.world.laboratory import Laboratory
from labkit.world.plan import compile_plan

PAGE = REPO / "docs/lab.md"
EXAMPLE = REPO / "docs/example"
RELEASE = "6.12.117"  # the kernel of the page's results

SHORT = ("--set", "duration=0.3")


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy of the example, outside of the repository."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "example"))


# The page ---------------------------------------------------------------------------------------


def _sections() -> dict[str, str]:
    parts = re.split(r"^## (.*)$", PAGE.read_text(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _commands(section: str) -> list[tuple[str, str]]:
    """The commands of a section's console blocks, each with the output that the page shows."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", section, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            lines = part.splitlines()
            n = 1
            while lines[n - 1].endswith("\\"):
                n += 1
            found.append(("\n".join(lines[:n]), "\n".join(lines[n:])))
    return found


def _pattern(expected: str) -> str:
    """A pattern for these lines.  In a line ... stands for any text, alone for any lines."""
    return "".join(
        r"(?:.*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + r"\n"
        for line in expected.splitlines()
    )


@pytest.mark.parametrize("title", _sections())
def test_the_page_is_what_comes_out(title, example) -> None:
    """LAB_PAGE=write writes the output into the page.  Text that the page had as ... must then be
    cut by hand."""
    commands = _commands(_sections()[title])
    path = f"{REPO / 'scripts'}:{os.environ['PATH']}"
    same_kernel = Laboratory().kernel.release.startswith(RELEASE)
    for command, expected in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=example, text=True, stdin=subprocess.DEVNULL, timeout=600,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ | {"PATH": path},
        )
        said = re.sub(r"^[\w ./]+: (compiling|ready after .*)\n", "", done.stdout, flags=re.M)
        said = said.replace(f"{example}", "~/example").replace(str(Path.home()), "~")
        refused = expected.rpartition("\n")[2].startswith("lab: ")
        assert bool(done.returncode) == refused, f"{command}\n{done.stdout}"
        if os.environ.get("LAB_PAGE") == "write":
            if not re.fullmatch(_pattern(expected), said):
                said = re.sub(r"-[0-9a-f]{12}(?=$|[.])", "-...", said, flags=re.M)  # a key
                old, new = (f"$ {command}\n{text}".rstrip("\n") for text in (expected, said))
                PAGE.write_text(PAGE.read_text().replace(old, new))
        elif same_kernel or refused:
            assert re.fullmatch(_pattern(expected), said), f"{command}\n{said}"


# Modules ----------------------------------------------------------------------------------------


def _state(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (p for p in folder.rglob("*") if p.is_file())
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in files}


def test_a_module_is_built_once_for_each_content(lab, example) -> None:
    """The module is loaded, and is part of key and provenance.  Its folder does not change."""
    folder = example / "my_cc"
    source = folder / "my_cc.c"
    new = f"/* {uuid.uuid4()} */\n"  # the cache may outlive the directory of the test
    source.write_text(new + source.read_text())
    before = _state(folder)

    def run() -> tuple[dict, str]:
        call = lab("run", "dumbbell", "--json", "--module", folder, "--cc", "my_cc", *SHORT)
        return call.json[0], call.stderr

    first, said = run()
    assert "compiling" in said
    again, said = run()
    assert "compiling" not in said
    assert first["series"] == again["series"]
    assert _state(folder) == before
    source.write_text(source.read_text().replace("target = 5;", "target = 1;"))
    other, said = run()
    assert "compiling" in said
    digests = [run["provenance"]["modules"]["my_cc"] for run in (first, again, other)]
    assert digests[0] == digests[1] != digests[2]
    assert other["series"] != first["series"]
    assert first["flows"][0]["cc"] == "my_cc" and first["flows"][0]["goodput_bps"] > 1e6


def test_a_run_that_does_not_use_the_module_is_the_same_as_without(example) -> None:
    dumbbell = scenario.load("dumbbell")
    job = Job(dumbbell, scenario.override(dumbbell, []), "cubic", 1)
    there = Laboratory(), Laboratory(modules=(example / "my_cc",))
    assert identity(there[0], job) == identity(there[1], job)
    assert "my_cc" not in compile_plan(job.settings, job.cc, 1, there[1].others).modules


def test_several_modules_of_several_files(lab, tmp_path) -> None:
    """One has a Kbuild with its own module name and a subfolder; the other uses its symbol."""
    (tmp_path / "one/inner").mkdir(parents=True)
    (tmp_path / "one/Kbuild").write_text("obj-m := both.o\nboth-y := a.o inner/b.o\n")
    (tmp_path / "one/inner/b.h").write_text("int number_of_b(void);\n")
    (tmp_path / "one/inner/b.c").write_text('#include "b.h"\nint number_of_b(void) { return 7; }\n')
    (tmp_path / "one/a.c").write_text(
        '#include <linux/module.h>\n#include "inner/b.h"\n'
        "int number_of_a(void);\nint number_of_a(void) { return number_of_b(); }\n"
        'EXPORT_SYMBOL_GPL(number_of_a);\nMODULE_DESCRIPTION("a");\nMODULE_LICENSE("GPL");\n'
    )
    (tmp_path / "user-of.c").write_text(
        "#include <linux/module.h>\nint number_of_a(void);\n"
        'static int __init start(void) { pr_info("it is %d\\n", number_of_a()); return 0; }\n'
        'module_init(start);\nMODULE_DESCRIPTION("u");\nMODULE_LICENSE("GPL");\n'
    )
    modules = ["--module", tmp_path / "one", "--module", tmp_path / "user-of.c"]
    assert "it is 7" in lab("exec", *modules, "--", "dmesg").stdout
    (run,) = lab("run", "dumbbell", "--json", *modules, *SHORT).json
    assert set(run["provenance"]["modules"]) >= {"both", "user_of"}


def test_messages_of_compiler_linker_and_kernel(lab, example) -> None:
    folder = example / "my_cc"
    source = folder / "my_cc.c"
    good = source.read_text()

    def refused(old: str, new: str) -> str:
        assert old in good
        source.write_text(good.replace(old, new))
        said = lab("exec", "--module", folder, "--", "true", status=1).stderr
        assert said.splitlines()[-1].startswith("lab: ") and "Traceback" not in said
        return said

    said = refused("div_u64", "div_u46")
    line = 1 + good[: good.index("div_u64")].count("\n")
    assert re.search(rf"^{source}:{line}:\d+: error: implicit .*div_u46", said, re.M), said
    assert re.search(r"^ +\| +\^~+$", said, re.M), "the compiler's mark is lost"
    assert f"lab: {folder} does not build" in said
    said = refused("static int __init my_cc_register(void)\n{", "int no_such_symbol(void);\n\n"
                   "static int __init my_cc_register(void)\n{\n\tno_such_symbol();")  # fmt: skip
    assert 'modpost: "no_such_symbol"' in said
    assert "cubic already registered" in refused('"my_cc", .owner', '"cubic", .owner')


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/nonesuch", "no such file"),
        ("scripts/lab", "a .c file"),
        ("rivals", "no Kbuild"),
        ("scripts/networks", "0 .c files"),
        ("/usr", "only the module's folder"),
    ],
)
def test_what_is_no_module_is_refused_in_one_line(lab_kernel, path, names) -> None:
    with pytest.raises(LabError) as caught:
        others.with_modules(lab_kernel, Path(), (REPO / path,))
    assert caught.value.status == 2
    assert names in str(caught.value) and "\n" not in str(caught.value)


def test_a_name_that_the_kernel_has_is_refused(lab, example) -> None:
    shutil.move(example / "my_cc/my_cc.c", example / "tcp_cubic.c")
    said = lab("exec", "--module", example / "tcp_cubic.c", "--", "true", status=2).stderr
    assert "tcp_cubic is built into" in said


# Scenarios and networks -------------------------------------------------------------------------


def _wrong(of: str, old: str, new: str, folder: Path) -> Path:
    text = (EXAMPLE / of).read_text()
    assert old in text
    path = folder / of
    path.write_text(text.replace(old, new, 1))
    return path


@pytest.mark.parametrize(
    ("old", "new", "table", "key"),
    [
        ('rate = "20mbit"', 'rate = "fast"', "settings", "rate"),
        ('rate = "20mbit"', 'colour = "red"', "settings", "colour"),
        ('rtt = "80ms"', 'rtt = "80mx"', "[[case]] 2, set", "rtt"),
        ('rtt = "80ms"', 'colour = "red"', "[[case]] 2, set", "colour"),
        ("x = 20", "y = 20", "[[case]]", "'y'"),
        ('cc = "cubic"', "cc = 5", "[[column]]", "cc"),
        ('network = "./none.toml"', "", "", ""),
    ],
)
def test_errors_of_a_file_name_table_and_key(tmp_path, old, new, table, key) -> None:
    if not new:  # a missing file beside the scenario
        old, new, table, key = 'rate = "20mbit"', old, "settings", f"network={tmp_path}/none.toml"
    path = _wrong("my.toml", old, new, tmp_path)
    with pytest.raises(LabError) as caught:
        scenario.load(str(path))
    said = str(caught.value)
    assert "\n" not in said
    assert str(path) in said and table in said and key in said


@pytest.mark.parametrize(
    ("old", "new", "table", "key"),
    [
        ('rate = "20mbit"', 'rate = "fast"', "[[link]]", "rate"),
        ('rate = "20mbit"', 'colour = "red"', "[[link]]", "colour"),
        ('path = "1-2"', "", "[[users]]", "path"),
        ('path = "1-2"', 'path = "1-3"', "[[users]]", "path"),
        ("[[users]]", "[[user]]", "", "user"),
    ],
)
def test_errors_of_a_network_name_table_and_key(tmp_path, old, new, table, key) -> None:
    path = _wrong("net.toml", old, new, tmp_path)
    with pytest.raises(LabError) as caught:
        scenario.override(scenario.load("dumbbell"), [f"network={path}"])
    said = str(caught.value)
    assert "\n" not in said
    assert str(path) in said and table in said and key in said


def test_files_are_beside_the_scenario_that_names_them(lab, example, tmp_path) -> None:
    """Not in the working directory, which is the repository here."""
    (example / "two.toml").write_text(
        'title = "t"\ncc = ["reno"]\n[settings]\nnetwork = "./net.toml"\nduration = 0.3\n'
    )
    (run,) = lab("run", example / "two.toml", "--json").json
    assert [link["rate_bps"] for link in run["links"]] == [20_000_000, 10_000_000]
    assert run["scenario"] == "two"
    (example / "my.trace").write_text("1\n2\n")
    (example / "two.toml").write_text(
        'title = "t"\ncc = ["reno"]\n[settings]\ntrace = "./my.trace"\nduration = 0.3\n'
    )
    settings = scenario.override(scenario.load(str(example / "two.toml")), [])
    assert settings.trace[0].path == str(example / "my.trace")


@pytest.mark.parametrize("text", ["0\n4294967295\n", "0\n" * 50_000 + "1\n"])
def test_a_trace_that_is_too_slow_or_too_fast_is_refused(tmp_path, text) -> None:
    """Its rate would be rounded to 0, by which a delay in packets cannot be computed."""
    path = tmp_path / "bad.trace"
    path.write_text(text)
    with pytest.raises(LabError, match=r"a mean rate from 1kbit to 400gbit: .*bad\.trace has"):
        scenario.override(scenario.load("dumbbell"), [f"trace={path}", "reorder=0.01:20"])


BESIDE = """
title = "t"
column = [{ name = "{sender} beside CUBIC", set = { mix = "{sender}:1,cubic:1" } }]
[settings]
duration = 0.3
"""


def test_the_command_of_a_cell_makes_its_runs(lab, tmp_path) -> None:
    """The scenario may be a file, judge another sender, and use another kernel and modules."""
    path = tmp_path / "mine" / "beside.toml"
    path.parent.mkdir()
    path.write_text(BESIDE)
    of = scenario.load(str(path), ("reno",))
    options = ("--variant", "hz250", "--module", "/my/cc")
    cell = Cell(of, of.column[0], None, options=options)
    program, *words = shlex.split(cell.command)
    assert (program, words) == ("scripts/lab", [
        "run", str(path), "--cc", "reno beside CUBIC", "--sender", "reno", *options
    ])  # fmt: skip
    (run,) = lab(*words[: -len(options)], "--json").json
    assert [flow["cc"] for flow in run["flows"]] == ["reno", "cubic"]
    made = Report("6.12", options=options, asked=("--cc", "reno", "--draw", "7"))
    assert made.command(of) == shlex.join(
        ["scripts/lab", "report", str(path), "--cc", "reno", "--draw", "7", *options]
    )
    drawn = scenario.load("field-random", (), 7)
    command = Cell(drawn, drawn.column[0], drawn.case[0]).command
    assert command.startswith("scripts/lab run field-random --cc ccpd_path --case '001 ")
    args = cli._parser().parse_args(shlex.split(command)[1:])
    assert (args.draw, args.sender) == (7, [])
    assert args.case == scenario.load(args.scenario, (), args.draw).case[0].name


@pytest.mark.parametrize(
    ("options", "says"),
    [(["--sender", "reno"], "dumbbell has no {sender}: drop --sender"),
     (["--draw", "7"], "dumbbell has no random paths: drop --draw")],
)  # fmt: skip
def test_what_a_scenario_does_not_have_is_not_chosen(lab, options, says) -> None:
    assert says in lab("run", "dumbbell", *options, status=2).stderr


def test_a_laboratory_says_how_to_choose_it(lab_kernel) -> None:
    assert Laboratory().options == ()


# Sweeps, tables, packets, qlog ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sets", "sweeps", "fixed", "swept"),
    [
        (["rate=10mbit,20mbit"], [], [], ["rate=10mbit", "rate=20mbit"]),
        (["rtt=10ms,20ms"], [], ["rtt=10ms,20ms"], [""]),
        ([], ["rtt=10ms,20ms"], [], ["rtt=10ms", "rtt=20ms"]),
        (["mix=cubic:1,reno:1"], [], ["mix=cubic:1,reno:1"], [""]),
        ([], ["mix=cubic:1,reno:1;cubic:2"], [], ["mix=cubic:1,reno:1", "mix=cubic:2"]),
        (["loss=0,nonesuch"], [], ["loss=0,nonesuch"], [""]),  # no sweep, but one bad value
        (["blackout=1:1,1.5:0.3"], [], ["blackout=1:1,1.5:0.3"], [""]),  # they overlap
        (["stages=5,3"], [], ["stages=5,3"], [""]),
        (["trace=scripts/lab,scripts/lint,scripts/python"], [],
         ["trace=scripts/lab,scripts/lint,scripts/python"], [""]),
        (["host=exact,nic"], [], ["host=exact,nic"], [""]),
        ([], ["host=exact,nic"], [], ["host=exact", "host=nic"]),
        (["mtu=600", "ip=4,6"], ["loss=0,1%"], ["mtu=600"],
         ["ip=4 loss=0", "ip=4 loss=1%", "ip=6 loss=0", "ip=6 loss=1%"]),
    ],
)  # fmt: skip
def test_what_is_a_sweep(sets, sweeps, fixed, swept) -> None:
    found, points = sweep.points(sets, sweeps)
    assert found == fixed
    assert [" ".join(point) for point in points] == swept


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--sweep", "rate"], "KEY=A,B,C"),
        (["--sweep", "rate=1mbit,,2mbit"], "KEY=A,B,C"),
        (["--sweep", "colour=red,blue"], "no setting 'colour'"),
        (["--sweep", "loss=0,2"], "from 0 to 0.5"),
        (["--sweep", "ip=4,6", "--set", "ip=4,6"], "two sweeps"),
        (["--set", "blackout=1:1,1.5:0.3"], "blackouts that do not overlap"),
        (["--set", "stages=5,3"], "rising times between stages"),
        (["--set", "trace=scripts/a,scripts/b,scripts/c"], "one path, for the data, or two"),
    ],
)
def test_what_is_no_sweep_is_refused_in_one_line(arguments, names) -> None:
    given: dict[str, list[str]] = {"--sweep": [], "--set": []}
    for option, text in zip(arguments[::2], arguments[1::2], strict=True):
        given[option].append(text)
    with pytest.raises(LabError) as caught:
        fixed, points = sweep.points(given["--set"], given["--sweep"])
        for point in points:
            scenario.override(scenario.load("dumbbell"), [*fixed, *point])
    assert caught.value.status == 2
    assert names in str(caught.value) and "\n" not in str(caught.value)


def test_keys_that_take_a_list_are_no_sweep() -> None:
    """All keys whose parser accepts two values with a comma between them."""
    two = {
        "rtt": "1ms,2ms", "trace": "scripts/traces/wifi.gz,scripts/traces/cellular-up.gz",
        "mix": "cubic,reno", "jitter_back": "0:1ms,1:2ms", "stop": "0:1,1:2", "stages": "1,2",
        "program": "s0:scripts/lab,r:scripts/lint", "blackout": "1:1,3:1", "lie": "0:1mbit,1:2mbit",
        "switch": "1:reno,2:cubic", "cross": "udp:1mbit:0-1,udp:1mbit:1-2", "host": "nic,fq",
        "change": "1:loss=0,2:loss=0.1", "param": "tcp_ccpd.kp=4,tcp_ccpd.ki=3",
    }  # fmt: skip
    assert {*two} == {*sweep.LISTS}
    for key, value in two.items():
        assert KEYS[key].parse(value)
    for known in (k for key, k in KEYS.items() if key not in two and k.default is not None):
        with pytest.raises(ValueError):
            known.parse(f"{known.default},{known.default}")


def test_live_needs_a_terminal(lab) -> None:
    call = lab("run", "dumbbell", "--live", *SHORT, status=2)
    assert call.stderr == "lab: --live needs a terminal: remove it\n"


def _packets(path: Path) -> list[tuple[float, int, bytes]]:
    """The packets of a pcap file: time (s), length (bytes), and first bytes of each."""
    content = path.read_bytes()
    assert struct.unpack_from("<I", content) == (0xA1B23C4D,)
    found, at = [], 24
    while at < len(content):
        seconds, ns, kept, length = struct.unpack_from("<4I", content, at)
        found.append((seconds + ns * 1e-9, length, content[at + 16 : at + 16 + kept]))
        at += 16 + kept
    return found


@pytest.mark.parametrize("devices", [1, 64, 65, 100])
def test_a_capture_of_any_number_of_devices(lab, devices) -> None:
    """Each device has its file, and what follows -- is the command."""
    taps = " ".join(f"here:lo:{n}.pcap" for n in range(devices))
    call = lab("exec", "--", "sh", "-ec", f"""
        ip netns add here
        cd /tmp
        {kernel.capture()} 0 10 {taps} -- ls -d /tmp
        cat *.pcap | wc -c""")
    written = [f"{n}.pcap 0" for n in range(devices)]
    assert call.stdout.splitlines() == ["/tmp", *written, str(24 * devices)]


@pytest.mark.parametrize("arguments", ["", "0", "0 10", "0 10 here:lo:x", "0 10 here:lo:x --"])
def test_a_capture_without_its_arguments(arguments) -> None:
    call = subprocess.run([kernel.capture(), *arguments.split()], capture_output=True, text=True)
    assert call.returncode == 2
    assert call.stderr == "usage: capture START PACKETS NS:DEV:FILE... -- CMD...\n"


def test_a_sweep_with_all_that_it_can_leave(lab, tmp_path) -> None:
    """One call makes all outputs.  Tables, packets and qlog agree with the results."""
    csv, parquet, pcap, qlog = (tmp_path / name for name in ("t.csv", "t.parquet", "p", "q"))
    runs = lab(
        "run", "dumbbell", "--cc", "reno", "--set", "rate=10mbit,20mbit", "--sweep",
        "rtt=10ms,20ms", "--set", "duration=0.5", "--json", "--csv", csv, "--parquet", parquet,
        "--pcap", pcap, "--qlog", qlog, "--out", tmp_path / "with",
    ).json  # fmt: skip
    assert [run["case"] for run in runs] == [f"rate={rate}mbit rtt={rtt}ms"
                                             for rate in (10, 20) for rtt in (10, 20)]  # fmt: skip
    assert len({run["cell"]["metrics"]["goodput_bps"]["mean"] for run in runs}) == 4

    table = polars.read_parquet(parquet)
    again = polars.read_csv(csv)
    assert table.columns == again.columns and len(table) == len(again) == 8
    flows = table.filter(polars.col("kind") == "flow")
    assert flows["set_rtt"].to_list() == [0.01, 0.02, 0.01, 0.02]
    assert flows["goodput_bps"].to_list() == [run["flows"][0]["goodput_bps"] for run in runs]
    links = again.filter(polars.col("kind") == "link")
    assert links["utilization"].to_list() == [run["links"][0]["utilization"] for run in runs]

    (plain,) = lab("run", "dumbbell", "--cc", "reno", "--set", "rate=20mbit", "--set", "rtt=20ms",
                   "--set", "duration=0.5", "--json", "--out", tmp_path / "without").json
    run, name = runs[-1], Path(runs[-1]["series"]).name
    for series in ("flows.csv", "links.csv"):
        same = [(Path(one["series"]) / series).read_bytes() for one in (run, plain)]
        assert same[0] == same[1], f"{series}: capturing changes the run"

    sent = [(at, length) for at, length, packet in _packets(pcap / name / "bottleneck.pcap")
            if packet[30:34] == bytes((10, 77, 2, 2))]  # fmt: skip
    summary = json.loads((Path(run["series"]) / "summary.json").read_text())
    counted = next(link for link in summary["links"] if link["name"] == "bottleneck")
    assert sum(length for at, length in sent if at <= 0.5) == counted["sent_bytes"]
    gaps = [(b[0] - a[0]) / (b[1] * 8 / 20e6) for a, b in pairwise(sent)]
    assert min(gaps) > 0.9999 and sorted(gaps)[len(gaps) // 2] == pytest.approx(1, abs=1e-4)
    first = _packets(pcap / name / "sender-s0.pcap")[0]
    assert first[0] < 1e-6 and first[2][47] & 2, "the first packet is no SYN at the beginning"

    made = json.loads((qlog / f"{name}.qlog").read_text())
    assert made["qlog_version"] == "0.3"
    (trace,) = made["traces"]
    times = [event["time"] for event in trace["events"]]
    assert times == sorted(times)
    metrics = [e["data"] for e in trace["events"] if e["name"] == "recovery:metrics_updated"]
    last = (Path(run["series"]) / "flows.csv").read_text().splitlines()[-1].split(",")
    assert metrics[-1]["congestion_window"] == int(last[2]) * 1448
    assert metrics[-1]["bytes_in_flight"] == int(last[3]) * 1448
    assert metrics[-1]["smoothed_rtt"] == pytest.approx(float(last[4]) * 1e3)
    assert metrics[-1]["min_rtt"] == pytest.approx(20, abs=1)
    lengths = [e["data"]["raw"]["length"] for e in trace["events"]
               if e["name"] == "transport:packet_sent"]  # fmt: skip
    assert sum(lengths) >= run["flows"][0]["bytes"] - 1448


def test_live_plots_what_goes_on_and_what_has_ended() -> None:
    master, slave = pty.openpty()
    with subprocess.Popen(
        [REPO / "scripts/lab", "run", "dumbbell", "--cc", "reno", "--live", "--set",
         "duration=8"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "150"},
    ) as run:  # fmt: skip
        os.close(slave)
        said = b""
        with contextlib.suppress(OSError):  # when the terminal ends
            while part := os.read(master, 65536):
                said += part
        os.close(master)
        assert b"goodput" in run.stdout.read()
    assert run.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said.decode(errors="replace"))
    assert "1 of 1 runs" in text and "rate over time" in text
    before, _, after = text.partition("1 of 1 runs")
    assert re.search("[━╸╺]  [▁▂▃▄▅▆▇█]+  [▁▂▃▄▅▆▇█]+", before), "no plot while the run goes on"
    assert re.search("[▁▂▃▄▅▆▇█]{5}", after), "no plot of what has ended"


# Kernel trees -----------------------------------------------------------------------------------


@pytest.fixture
def small_tree(tmp_path: Path) -> Path:
    """A tree that the lab accepts as kernel source, with files that a build has left."""
    root = tmp_path / "linux"
    for name, text in {
        "Makefile": "VERSION = 6\nPATCHLEVEL = 12\n", "arch/um/Kconfig": "", "net/a.c": "int a;\n",
        "net/a.o": "made", ".config": "made", "include/config/x.h": "made",
        "drivers/gpu/b.c": "int b;\n", "drivers/gpu/Kconfig": "", ".gitignore": "*.o\n.config\n",
    }.items():  # fmt: skip
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize("git", [False, True])
def test_a_tree_is_known_by_its_content(small_tree, git) -> None:
    if git:
        (small_tree / "include/config/x.h").unlink()
        for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=u", "-c", "user.email=u@e",
                                                        "commit", "-qm", "all"]):  # fmt: skip
            subprocess.run(["git", "-C", small_tree, *command], check=True)
    seen = [tree.content_of(small_tree)]
    os.utime(small_tree / "net/a.c", (1, 1))
    (small_tree / "net/a.o").write_text("made again")
    assert tree.content_of(small_tree) == seen[0]
    (small_tree / "net/a.c").write_text("int c;\n")
    seen.append(tree.content_of(small_tree))
    (small_tree / "net/new.c").write_text("int d;\n")
    seen.append(tree.content_of(small_tree))
    (small_tree / "net/new.c").write_text("int e;\n")
    seen.append(tree.content_of(small_tree))
    assert len({*seen}) == 4


def test_a_copy_has_source_alone_and_the_tree_stays(small_tree, tmp_path) -> None:
    before = _state(small_tree)
    (tmp_path / "copy").mkdir()
    tree.copy(small_tree, tmp_path / "copy", kernel.MACHINE_EXCLUDES)
    copied = {str(p.relative_to(tmp_path / "copy")) for p in (tmp_path / "copy").rglob("*")
              if p.is_file()}  # fmt: skip
    assert copied == {"Makefile", "arch/um/Kconfig", "net/a.c", "drivers/gpu/Kconfig", ".gitignore"}
    assert _state(small_tree) == before
    assert tree.version_of(small_tree) == "6.12"


@pytest.mark.parametrize("where", ["/nonesuch", "scripts"])
def test_what_is_no_kernel_tree_is_refused_in_one_line(lab, where) -> None:
    call = lab("run", "dumbbell", "--kernel-tree", where, *SHORT, status=2)
    assert call.stderr.startswith("lab: ") and call.stderr.count("\n") == 1
    assert "no kernel source" in call.stderr


def test_a_tree_that_the_lab_cannot_change_is_refused_in_one_line(lab, small_tree) -> None:
    (small_tree / "arch/um/include/linux").mkdir(parents=True)
    (small_tree / "arch/um/include/linux/time-internal.h").write_text("nothing\n")
    said = lab("run", "dumbbell", "--kernel-tree", small_tree, *SHORT, status=1).stderr
    assert said.splitlines()[-1].startswith(f"lab: {small_tree}: arch/um/")
    assert "Traceback" not in said


@pytest.mark.skipif(not wanted_kernels(), reason="builds a kernel: make check-kernels has it")
def test_a_kernel_of_ones_own(lab, tmp_path) -> None:
    """An unpacked source with a patch of one line: connections begin with 20 segments, not 10.

    The command is that of the page.
    """
    source = tmp_path / "net-next"
    source.mkdir()
    package = max(cache("dl").glob(f"linux-source-{kernel.DEFAULT_VERSION}_*.deb"))
    unpack = f"""dpkg-deb --fsys-tarfile "$0" |
        tar -xO ./usr/src/linux-source-{kernel.DEFAULT_VERSION}.tar.xz | xz -dc -T0 |
        tar -x -C "$1" --strip-components=1 --no-same-owner"""
    subprocess.run(["bash", "-o", "pipefail", "-c", unpack, package, source], check=True)
    header = source / "include/net/tcp.h"
    text = header.read_text()
    assert "TCP_INIT_CWND\t\t10" in text
    header.write_text(text.replace("TCP_INIT_CWND\t\t10", "TCP_INIT_CWND\t\t20"))
    state = {str(p): os.lstat(p).st_mtime_ns for p in source.rglob("*")}
    command = re.search(r"^lab (run .*--kernel-tree.*)$", PAGE.read_text(), re.M)[1]
    arguments = command.replace("~/net-next", str(source)).split()
    (run,) = lab(*arguments, "--json", timeout=7200).json
    assert {str(p): os.lstat(p).st_mtime_ns for p in source.rglob("*")} == state
    windows = []
    for one in (run, lab(*arguments[:2], *arguments[4:], "--json").json[0]):
        rows = (Path(one["series"]) / "flows.csv").read_text().splitlines()
        windows.append(int(rows[1].split(",")[2]))
    assert windows == [20, 10]
    assert run["provenance"]["kernel"].startswith("tree-6.12-")
    again = lab(*arguments, "--json")
    assert "compiling" not in again.stderr


# Grids ------------------------------------------------------------------------------------------


def test_a_plan_names_the_runs_and_merge_brings_them(lab, tmp_path, monkeypatch) -> None:
    """If a plan's command made a run elsewhere, the report need not make it."""
    own = tmp_path / "cache"
    own.mkdir()
    for path in cache_root().iterdir():
        if path.name not in ("report", "run"):
            (own / path.name).symlink_to(path)
    monkeypatch.setenv("TCPCC_CACHE", str(own))
    grid = tmp_path / "grid.toml"
    grid.write_text(
        'title = "t"\nseeds = 2\ncc = ["reno"]\n[settings]\nduration = 0.3\n'
        '[[case]]\nname = "one way"\n[[case]]\nname = "slow"\nset = { rate = "10mbit" }\n'
    )
    rows = lab("plan", grid, "--keep", tmp_path / "runs", "--json").json
    assert [(row["column"], row["case"], row["seed"]) for row in rows] == [
        ("reno", "one way", 1), ("reno", "one way", 2), ("reno", "slow", 1), ("reno", "slow", 2),
    ]  # fmt: skip
    assert not any(row["kept"] for row in rows) and len({row["id"] for row in rows}) == 4
    made = [lab(*row["command"][1:], "--json").json[0] for row in rows[1:3]]
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {r["id"] for r in rows[1:3]}
    # A run that is kept is not made again: of the two seeds of one command, the second is new.
    words = rows[0]["command"][1:]
    at = words.index("--seed")
    both = lab(*words[:at], "--seeds", "2,1", *words[at + 2 :], "--json").json
    assert both[0]["wall_s"] == made[0]["wall_s"]
    again = lab("plan", grid, "--keep", tmp_path / "runs", "--json").json
    assert [row["kept"] for row in again] == [True, True, True, False]
    # a result that cannot be read, as after a full disk, is made again
    damaged = tmp_path / "runs" / rows[0]["id"] / "result.json"
    whole = damaged.read_text()
    damaged.write_text(whole[:100])
    again = lab("plan", grid, "--keep", tmp_path / "runs", "--json").json
    assert [row["kept"] for row in again] == [False, True, True, False]
    damaged.write_text(whole)
    (tmp_path / "runs/0123456789ab-1").mkdir()  # of a run that was killed
    assert "3 runs added, 0 already there" in lab("merge", tmp_path / "runs").stdout
    assert "0 runs added, 3 already there" in lab("merge", tmp_path / "runs").stdout
    home = lab("plan", grid, "--json").json  # what the report finds
    assert [row["kept"] for row in home] == [True, True, True, False]
