# SPDX-License-Identifier: GPL-2.0
"""Applications on the path: viewers of a video, and programs of users."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import REPO
from labkit.errors import LabError
from labkit.measure.job import Job
from labkit.measure.runner import run_all
from labkit.measure.series import series
from labkit.model import scenario
from labkit.world.laboratory import Laboratory

EXAMPLE = REPO / "docs/example"
DUMBBELL = scenario.load("dumbbell")


def run(laboratory: Laboratory, out: Path, *sets: str, cc: str = "cubic") -> dict:
    settings = scenario.override(DUMBBELL, ["flows=0", *sets])
    return run_all(laboratory, [Job(DUMBBELL, settings, cc, 1)], out=out)[0]


# Video ------------------------------------------------------------------------------------------

LADDER = np.array([0.3, 0.75, 1.2, 1.85, 2.85, 4.3]) * 1e6


def test_a_viewer_waits_as_long_as_the_link_needs(laboratory, tmp_path) -> None:
    """The only rate is above the link's: a chunk of 2 s takes 4 s plus the headers' share.  While
    it comes, the chunk before plays; the rest of the time the viewer waits."""
    made = run(laboratory, tmp_path, "video=1:2m/2s", "rate=1mbit", "duration=60", "buffer=100")
    chunk = 2e6 * 2 / 1e6 * 1514 / 1448
    video = made["video"]
    assert video["startup_s"] == pytest.approx(chunk, rel=0.1)  # plus handshake and slow start
    playing = 60 - made["video"]["startup_s"] - 2  # at most: the viewer comes within 2 s
    assert video["rebuffer_s"] == pytest.approx(playing * (chunk - 2) / chunk, abs=2.2)
    assert video["bitrate_bps"] == 2e6 and video["switches"] == 0
    # After each chunk the server has nothing to send for a round trip of 40 ms.
    assert made["links"][0]["utilization_equilibrium"] > 0.95


def test_rates_are_chosen_as_the_papers_say(laboratory, tmp_path) -> None:
    """For each chunk, by the buffer's level, or by the rates of the last five; several viewers."""

    def by_buffer(store: float, past: list[float], before: float) -> float:
        if store <= 5:
            return LADDER[0]
        if store >= 15:
            return LADDER[-1]
        line = LADDER[0] + (LADDER[-1] - LADDER[0]) * (store - 5) / 10
        above, below = (LADDER[np.sign(LADDER - before) == sign] for sign in (1, -1))
        if len(above) and line >= above[0]:
            return max(rate for rate in LADDER if rate < line)
        if len(below) and line <= below[-1]:
            return min(rate for rate in LADDER if rate > line)
        return before

    def by_rate(store: float, past: list[float], before: float) -> float:
        if not past:
            return LADDER[0]
        mean = len(past[-5:]) / sum(1 / rate for rate in past[-5:])
        return max(LADDER[0], *LADDER[mean >= LADDER])

    for name, choose in (("buffer", by_buffer), ("rate", by_rate)):
        made = run(laboratory, tmp_path, f"video=2:{name}", "rate=6mbit", "duration=90",
                   "change=30:rate=2mbit,60:rate=12mbit")  # fmt: skip
        table = series(Path(made["series"]) / "video.csv", (0, 1, 2, 3, 4, 5))
        seen = set()
        for viewer in range(2):
            past: list[float] = []
            before = LADDER[0]
            for _, _, rate, size, store, took in table[table[:, 1] == viewer]:
                if np.isnan(took):
                    assert rate == choose(store, past, before)
                    assert size == rate * 4 / 8
                    before = rate
                    seen.add(rate)
                else:
                    past.append(size * 8 / took)
        assert len(seen) > 3, "no rate to speak of was chosen"
        assert made["video"]["switches"] > 2


def test_what_is_in_store_is_what_came_less_what_played(laboratory, tmp_path) -> None:
    made = run(laboratory, tmp_path, "video=1:buffer:12s", "rate=8mbit", "duration=40")
    table = series(Path(made["series"]) / "video.csv", (0, 4, 5))
    asked, there = (table[np.isnan(table[:, 2]) == which] for which in (True, False))
    assert asked[:, 1].max() <= 8 + 1e-9, "no room for the chunk that was asked for"
    for (at, store, _), (_, _, took), (later, then, _) in zip(
        asked, there, asked[1:], strict=False
    ):
        played = later - at - (took if not store else max(0.0, took - store))
        assert then == pytest.approx(store + 4 - played, abs=1e-6)
    assert made["video"]["rebuffer_s"] == 0


# Programs ---------------------------------------------------------------------------------------


def test_a_program_has_the_path_and_the_congestion_control(laboratory, tmp_path) -> None:
    """curl's own time agrees with what the link carried.  BBR ignores these losses, Reno does not.
    The same run gives the same bytes."""
    sets = [f"program=s0:{EXAMPLE}/serve,r@0.1:{EXAMPLE}/fetch", "rate=20mbit", "loss=1%",
            "duration=40"]  # fmt: skip
    bbr, again = (run(laboratory, tmp_path / name, *sets, cc="bbr") for name in "ab")
    server, client = bbr["program"]
    assert (server["host"], client["host"], client["at_s"]) == ("s0", "r", 0.1)
    assert client["said"].startswith("5000000 bytes in ")
    seconds = float(client["said"].split()[3])
    assert client["took_s"] == pytest.approx(seconds, abs=0.01)
    assert 5e6 * 8 / 20e6 < seconds < 2 * 5e6 * 8 / 20e6
    assert bbr["links"][0]["utilization"] * 20e6 * 40 / 8 == pytest.approx(5e6 * 1.05, rel=0.05)
    samples = [(Path(one["series"]) / "links.csv").read_bytes() for one in (bbr, again)]
    assert samples[0] == samples[1]
    reno = run(laboratory, tmp_path / "c", *sets, cc="reno")
    assert reno["program"][1]["took_s"] > 3 * client["took_s"]
    assert (Path(reno["series"]) / "program1.out").read_text().startswith("5000000 bytes")


def _executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_iperf3_which_polls_comes_to_its_end(laboratory, tmp_path) -> None:
    """For a round trip after the test, iperf3 polls without a pause for the other side's result."""
    serve = _executable(tmp_path / "serve", '#!/bin/sh\nexec iperf3 -s -1 -B "$SENDER"\n')
    fetch = _executable(tmp_path / "fetch", '#!/bin/sh\nexec iperf3 -c "$SENDER" -R -t 2 -J |'
                        " jq -c .end.sum_received.bits_per_second\n")  # fmt: skip
    made = run(laboratory, tmp_path, f"program=s0:{serve},r@0.1:{fetch}", "rate=10mbit",
               "duration=4")  # fmt: skip
    assert float(made["program"][1]["said"]) == pytest.approx(10e6 * 1448 / 1514, rel=0.05)
    assert 2 < made["program"][1]["took_s"] < 3


NGINX = """#!/bin/sh
head -c 5000000 /dev/zero >file
echo "pid $PWD/pid; error_log $PWD/log; user root; events {} http { access_log off;
client_body_temp_path $PWD/b; proxy_temp_path $PWD/p; fastcgi_temp_path $PWD/f;
uwsgi_temp_path $PWD/u; scgi_temp_path $PWD/s; server { listen $SENDER:8000; root $PWD; } }" >conf
exec nginx -p "$PWD" -c "$PWD/conf" -g 'daemon off;'
"""

QUIC = f"""#!{sys.executable}
import asyncio, os, ssl, sys, time
from aioquic.asyncio import connect, serve
from aioquic.quic.configuration import QuicConfiguration

there = os.environ["SENDER"], 4433

def answer(reader, writer):
    async def go():
        writer.write(bytes(int(await reader.readline())))
        writer.write_eof()
    asyncio.ensure_future(go())

async def server():
    own = QuicConfiguration(is_client=False)
    own.load_cert_chain(os.environ["HERE"] + "/cert", os.environ["HERE"] + "/key")
    await serve(*there, configuration=own, stream_handler=answer)
    await asyncio.Future()

async def client():
    own = QuicConfiguration(is_client=True, verify_mode=ssl.CERT_NONE)
    async with connect(*there, configuration=own) as connection:
        reader, writer = await connection.create_stream()
        writer.write(b"1000000\\n")
        writer.write_eof()
        print(len(await reader.read()), "bytes")

asyncio.run(SIDE())
"""


NGINX_HERE = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")


@pytest.mark.skipif(not NGINX_HERE, reason="nginx is not installed")
def test_nginx(laboratory, tmp_path) -> None:
    serve = _executable(tmp_path / "serve", NGINX.replace("exec nginx", f"exec {NGINX_HERE}"))
    made = run(laboratory, tmp_path, f"program=s0:{serve},r@0.1:{EXAMPLE}/fetch")
    assert made["program"][1]["said"].startswith("5000000 bytes in ")


def _python_with_quic() -> str:
    """The path of a python3 that has aioquic; empty if there is none."""
    python = shutil.which("python3") or ""
    done = subprocess.run([python, "-c", "import aioquic"], capture_output=True) if python else None
    return python if done and not done.returncode else ""


@pytest.mark.skipif(not _python_with_quic(), reason="python3 has no aioquic")
def test_a_quic_stack(laboratory, tmp_path) -> None:
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=lab",
                    "-keyout", tmp_path / "key", "-out", tmp_path / "cert"], check=True,
                   capture_output=True)  # fmt: skip
    text = QUIC.replace(sys.executable, _python_with_quic())
    serve, fetch = (_executable(tmp_path / side, text.replace("SIDE", side))
                    for side in ("server", "client"))  # fmt: skip
    made = run(laboratory, tmp_path, f"program=s0:{serve},r@0.1:{fetch}", "rate=10mbit")
    assert made["program"][1]["said"] == "1000000 bytes"
    assert made["program"][1]["took_s"] > 0.8


def test_a_program_that_fails_makes_the_run_fail(lab, tmp_path) -> None:
    path = _executable(tmp_path / "wrong", "#!/bin/sh\necho out of luck >&2\nexit 3\n")
    said = lab("run", "dumbbell", "--set", "flows=0", "--set", f"program=r:{path}", "--set",
               "duration=1", status=1).stderr  # fmt: skip
    assert said == f"lab: {path} on r ended with status 3: out of luck\n"


@pytest.mark.parametrize(
    ("sets", "names"),
    [
        (["flows=0"], "nothing sends"),
        (["flows=0", "video=1", "bytes=1M"], "bytes needs flows"),
        (["video=0"], "VIEWERS"),
        (["video=1:2m+1m/4s"], "rising RATES/CHUNK"),
        (["video=1:4s/4s"], "rising RATES/CHUNK"),
        (["video=1:1m/40s:30s"], "not shorter than a chunk"),
        (["video=1:best"], "buffer or rate"),
        (["program=s0"], "HOST[@SECONDS]:PATH"),
        (["program=x:/bin/true"], "HOST[@SECONDS]:PATH"),
        (["program=s0@soon:/bin/true"], "HOST[@SECONDS]:PATH"),
        (["program=s1:/bin/true"], "there are: s0, r"),
        (["program=r@20:/bin/true"], "after the end of the run"),
        (["program=r:./nonesuch"], "No such file"),
        (["program=r:README.md"], "begins with #!/"),
        (["program=r:/bin/true", "network=tree"], "needs a single link"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(monkeypatch, sets, names) -> None:
    monkeypatch.chdir(REPO)
    with pytest.raises(LabError) as caught:
        scenario.override(DUMBBELL, sets)
    assert names in str(caught.value) and "\n" not in str(caught.value)
