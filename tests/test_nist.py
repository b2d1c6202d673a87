# SPDX-License-Identifier: GPL-2.0
"""The connection phase and the timeouts of the NIST study's model, compared with the kernel's.

The study models the defaults of another system (its section 5.1.1), and timeouts between twice and
32 times the propagation delay (5.1.3.3).  The kernel's own ones are not changed: docs/nist.md has
the differences.
"""

import json

import pytest

# Equations 1 to 3: a first timeout of 3 s, which doubles, and three SYNs
SYN_S, SYN_MOST = 3, 3
# The study's round-trip times, s
RTTS_S = [0.042, 0.162, 0.324]


def study() -> list[float]:
    """When the study's source sends its SYNs, and when it gives up, in s after the first SYN."""
    at, wait = [0.0], float(SYN_S)
    for _ in range(SYN_MOST):
        at.append(at[-1] + wait)
        wait *= 2
    return at


GUEST = """
import ctypes, json, os, socket, struct, subprocess, sys, threading, time

def run(*commands):
    for command in commands:
        subprocess.run(command.split(), check=True)

def enter(name):
    libc = ctypes.CDLL(None)
    libc.setns(os.open(f"/run/netns/{name}", os.O_RDONLY), 0)

run("ip netns add a", "ip netns add b",
    "ip link add name va netns a type veth peer name vb netns b",
    "ip -n a addr add 10.0.0.1/24 dev va", "ip -n b addr add 10.0.0.2/24 dev vb",
    "ip -n a link set va up", "ip -n b link set vb up",
    "ip netns exec a sysctl -qw net.ipv4.tcp_syn_retries=2")
enter("b")
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
listener = socket.create_server(("10.0.0.2", 1))
enter("a")

# A listener behind a path on which nothing arrives: what it sends is seen before it is dropped.
def fails(linear):
    run(f"ip netns exec a sysctl -qw net.ipv4.tcp_syn_linear_timeouts={linear}",
        "tc -n b qdisc add dev vb clsact",
        "tc -n b filter add dev vb ingress protocol ip matchall action drop")
    seen, done = [], threading.Event()
    def look():
        wire.settimeout(0.05)
        while not done.is_set():
            try:
                packet = wire.recv(2000)
            except TimeoutError:
                continue
            if packet[12:14] == b"\\x08\\0" and packet[23] == 6 and packet[47] == 2:
                seen.append(time.monotonic())
    eyes = threading.Thread(target=look)
    eyes.start()
    client = socket.socket()
    begun = time.monotonic()
    try:
        client.connect(("10.0.0.2", 1))
    except TimeoutError:
        pass
    gave_up = time.monotonic() - begun
    done.set()
    eyes.join()
    run("tc -n b qdisc del dev vb clsact")
    return [*(at - seen[0] for at in seen), gave_up]

def rto(rtt):
    run(f"tc -n b qdisc replace dev vb root netem delay {rtt * 1000}ms")
    client = socket.create_connection(("10.0.0.2", 1))
    peer, _ = listener.accept()
    for _ in range(40):
        client.send(b".")
        peer.recv(1)
        peer.send(b".")
        client.recv(1)
    info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return struct.unpack_from("I", info, 8)[0] / 1e6

print(json.dumps({"linear": fails(4), "doubling": fails(0), "rto": [rto(s) for s in RTTS]}))
"""


@pytest.fixture(scope="module")
def kernel(lab, tmp_path_factory) -> dict:
    script = tmp_path_factory.mktemp("nist") / "guest.py"
    script.write_text(f"RTTS = {RTTS_S}\n{GUEST}")
    return json.loads(lab("exec", "--", "/usr/bin/python3", script).stdout)


def test_connection_of_the_study() -> None:
    """Fig. 5-2: a connection fails after three SYNs, within 21 s."""
    assert study() == [0, 3, 9, 21]


def test_connection_of_the_kernel(kernel) -> None:
    """A SYN is repeated twice: after 1 s (RFC 6298), then after twice that.  Since 6.5 four more
    come before these, 1 s apart, which do not count.
    """
    assert kernel["doubling"] == pytest.approx([0, 1, 3, 7], rel=0.05)
    assert kernel["linear"] == pytest.approx([0, 1, 2, 3, 4, 5, 7, 11], rel=0.05)


def test_timeouts_of_the_kernel(kernel) -> None:
    """200 ms more than the smoothed rtt; so with an rtt above 200 ms, less than twice the delay."""
    for rto, rtt in zip(kernel["rto"], RTTS_S, strict=True):
        assert rto == pytest.approx(rtt + 0.2, rel=0.05)
    within = [2 * s <= rto <= 32 * s for rto, s in zip(kernel["rto"], RTTS_S, strict=True)]
    assert within == [True, True, False]
