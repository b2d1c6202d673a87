#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Loads, uses, changes and unloads all modules, many times.

A round creates two network namespaces and loads some modules.  Two flows send, one on each
processor, and change their congestion control.  During that time qdiscs below them are added,
changed and deleted, and unloading of all modules is tried.  Then the flows end in one of three
ways: closed, killed, or killed after their namespaces were deleted.  The seed determines the
random choices.

life.py [--rounds N] [--seed N]	Prints KTAP.  Exit status: 0 all passed, 1 not, 4 skipped.
"""

import argparse
import contextlib
import ctypes
import errno
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hosts import enter

# Modules of congestion controls that are not named tcp_<name>
MODULES = {"ccp": "tcp_ccpd", "acp": "tcp_acp_host"}
SENDERS = ["ccpd", "ccp", "ccpd_path", "mccp", "mccp_path", "acp", "estcp", "nist_reno", "nist_bic",
           "nist_ctcp", "nist_fast", "nist_hstcp", "nist_htcp", "nist_scalable", "jtcp",
           "newjersey", "rcp", "xcp"]  # fmt: skip
SCHED = "sch_tcpcc"
SHARED = ["tcp_feedback", "tcpcc_view"]  # loaded by other modules, and unloaded last
# Low rates, because the packets of flows take most of the time of a round
QDISCS = [*(f"{kind} bandwidth 20mbit" for kind in ("acp", "estcp", "rcp", "xcp")),
          "tbf rate 20mbit burst 3000 limit 60000"]  # fmt: skip
OFFERED = ["cubic", "reno", *SENDERS]

ROUND_S = 0.1  # of sending
LAST_S = 200.0  # time limit until the last socket is gone
# The smallest object that a module allocates, bytes: a leak of one per round shows as this growth.
# In SLAB_ROUNDS rounds it is more than the variation of the kernel's own caches.
SLAB_LEAST = 64
SLAB_ROUNDS = 1000

# Not reports of KCSAN, which are about the whole kernel: the test for KCSAN searches for ours.
COMPLAINTS = re.compile(
    "BUG(?!: KCSAN)|WARNING|Oops|Call Trace|protection fault|UBSAN|refcount_t|suspicious"
    "|new suspected memory leaks|sleeping|unregister_netdevice"
)

_libc = ctypes.CDLL(None, use_errno=True)


def module_of(cc: str) -> str:
    return MODULES.get(cc, f"tcp_{cc}")


def loaded(module: str) -> bool:
    return Path("/sys/module", module).exists()


def call(*command: str, text: str = "") -> None:
    """Runs a command; RuntimeError if that fails."""
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} {text}: {done.stderr.strip()}")


def batch(program: str, *lines: str, namespace: str = "") -> None:
    """Runs several commands with one call of ip or tc, because starting programs is slow."""
    where = ["-n", namespace] if namespace else []
    call(program, *where, "-batch", "-", text="\n".join(lines))


def set_default(cc: str) -> None:
    """Sets the default for new sockets, if this congestion control exists now."""
    with contextlib.suppress(FileNotFoundError, BlockingIOError):
        Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text(cc)


def remove(module: str) -> bool:
    """Return: whether the module was unloaded; OSError if it failed, but not because of its use."""
    if not _libc.delete_module(module.encode(), os.O_NONBLOCK):
        return True
    if ctypes.get_errno() not in (errno.EAGAIN, errno.EBUSY, errno.ENOENT):
        raise OSError(ctypes.get_errno(), f"cannot remove {module}")
    return False


def make_pair(names: tuple[str, str]) -> None:
    """Creates two namespaces with a path of 5 ms."""
    batch("ip", *(f"netns add {name}" for name in names),
          f"link add veth0 netns {names[0]} type veth peer veth0 netns {names[1]}")  # fmt: skip
    for number, name in enumerate(names, 1):
        batch("ip", "link set lo up", "link set veth0 up",
              f"addr add 192.0.2.{number}/24 dev veth0", namespace=name)  # fmt: skip
    batch("tc", "qdisc add dev veth0 root netem delay 5ms", namespace=names[1])


def flow(names: tuple[str, str], ccs: list[str], cpu: int) -> None:
    """Sends for ever, with each congestion control in turn.  Never returns."""
    os.sched_setaffinity(0, {cpu % (os.cpu_count() or 1)})
    enter(names[1])
    # A receiver whose sender is gone holds its namespace and the default while it retries.
    Path("/proc/sys/net/ipv4/tcp_orphan_retries").write_text("1")
    server = socket.create_server(("192.0.2.2", 0))

    def drain() -> None:
        connection, _ = server.accept()
        with contextlib.suppress(OSError):
            while connection.recv(1 << 16):
                pass

    threading.Thread(target=drain, daemon=True).start()
    enter(names[0])
    client = socket.socket()
    # It closes with a reset, so that unsent data holds neither namespace nor module.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.connect(server.getsockname())
    signal.signal(signal.SIGTERM, lambda *_: (client.close(), os._exit(0)))
    with contextlib.suppress(OSError):
        for number in range(1 << 30):
            # A module that is being unloaded cannot be chosen.
            with contextlib.suppress(FileNotFoundError, BlockingIOError):
                cc = ccs[number % len(ccs)].encode()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc)
            for _ in range(8):
                client.send(bytes(1 << 13))


def begin(names: tuple[str, str], ccs: list[str], cpu: int) -> int:
    """Starts a flow in its own process.  Return: the process id."""
    child = os.fork()
    if not child:
        try:
            flow(names, ccs, cpu)
        finally:
            os._exit(1)
    return child


class Life:
    """A number of rounds, and counts of their events."""

    def __init__(self, rounds: int, seed: int) -> None:
        self.rounds, self.chance = rounds, random.Random(seed)
        self.seen: Counter[str] = Counter()
        self.slab: dict[int, int] = {}  # slab memory before a round, bytes

    def round(self, number: int) -> None:
        names = (f"life-a-{number}", f"life-b-{number}")
        make_pair(names)
        some = self.chance.sample(SENDERS, 3)
        modules = sorted({SCHED, *map(module_of, some)})
        self.seen["loaded"] += sum(not loaded(module) for module in modules)
        call("modprobe", "-a", *modules)
        flows = [begin(names, [*some, "cubic"], 0), begin(names, some[::-1], 1)]
        end = time.monotonic() + ROUND_S
        while time.monotonic() < end:
            self.disturb(names[0])
        self.finish(names, flows)

    def disturb(self, name: str) -> None:
        """Replaces or deletes the qdisc below the flows, and tries to unload every module."""
        qdiscs = self.chance.sample(QDISCS, 2)
        batch("tc", *(f"qdisc replace dev veth0 root {qdisc}" for qdisc in qdiscs), namespace=name)
        self.unload()
        if self.chance.random() < 0.5:
            batch("tc", "qdisc del dev veth0 root", namespace=name)
        set_default(self.chance.choice(OFFERED))
        time.sleep(0.02)

    def unload(self) -> None:
        for module in [*map(module_of, SENDERS), SCHED, *SHARED]:
            if loaded(module):
                self.seen["removed" if remove(module) else "refused"] += 1

    def finish(self, names: tuple[str, str], flows: list[int]) -> None:
        way = self.chance.choice(["closed", "killed", "orphaned"])
        self.seen[way] += 1
        if way == "orphaned":
            self.forget(names)
        for child in flows:
            os.kill(child, signal.SIGTERM if way == "closed" else signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            # a flow that had ended by itself before has failed
            self.seen["broken flows"] += os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0
        if way != "orphaned":
            self.forget(names)

    def forget(self, names: tuple[str, str]) -> None:
        batch("ip", *(f"netns del {name}" for name in names))

    def all(self) -> str:
        for number in range(self.rounds):
            if number in (self.rounds // 10, self.rounds - 1):
                self.slab[number] = slab_bytes()
            self.round(number)
        print("#", ", ".join(f"{count} {what}" for what, count in sorted(self.seen.items())))
        if self.seen["broken flows"]:
            return "flows ended by themselves"
        missing = [what for what in ("loaded", "removed", "refused") if not self.seen[what]]
        return f"never {missing[0]}" if missing else ""

    def unloads(self) -> str:
        set_default("cubic")
        end = time.monotonic() + LAST_S
        while left := [m for m in [*map(module_of, SENDERS), SCHED, *SHARED] if loaded(m)]:
            if time.monotonic() > end:
                return f"stay: {' '.join(left)}"
            self.unload()
            time.sleep(0.1)
        return ""

    def leaves_nothing(self) -> str:
        if leaks := leaked():
            return leaks
        if self.rounds < SLAB_ROUNDS:
            print(f"# not said of fewer than {SLAB_ROUNDS} rounds")
            return ""
        (first, before), (last, after) = self.slab.items()
        grown = (after - before) / (last - first)
        print(f"# {grown:.1f} bytes of slab more in a round")
        return "" if grown < SLAB_LEAST else "slab grows"


def slab_bytes() -> int:
    """Return: unreclaimable slab memory, bytes, after everything else was reclaimed."""
    Path("/proc/sys/vm/drop_caches").write_text("3")
    time.sleep(1)
    return int(re.search(r"SUnreclaim: *(\d+)", Path("/proc/meminfo").read_text())[1]) << 10


def leaked() -> str:
    """Return: leaks that kmemleak reports, if this kernel has it.  It needs two scans."""
    if not Path("/sys/kernel/debug/kmemleak").exists():
        with contextlib.suppress(RuntimeError):
            call("mount", "-t", "debugfs", "none", "/sys/kernel/debug")
    found = Path("/sys/kernel/debug/kmemleak")
    if not found.exists():
        return ""
    for _ in range(2):
        time.sleep(6)  # younger objects do not count
        found.write_text("scan")
    return "\n# ".join(found.read_text().splitlines()[:40])


def quiet(start: str) -> str:
    log = subprocess.run(["dmesg"], capture_output=True, text=True).stdout
    lines = [x for x in log.partition(start)[2].splitlines() if COMPLAINTS.search(x)]
    return "\n# ".join(lines[:20])


def main() -> int:
    parser = argparse.ArgumentParser(description="The life of all modules, many times")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if os.geteuid():
        print("1..0 # SKIP needs root")
        return 4
    start = f"life {os.getpid()} starts"
    Path("/dev/kmsg").write_text(f"{start}\n")
    life = Life(arguments.rounds, arguments.seed)
    points: dict[str, Callable[[], str]] = {
        f"{arguments.rounds} rounds": life.all,
        "all modules go": life.unloads,
        "nothing is left": life.leaves_nothing,
        "kernel log without warnings": lambda: quiet(start),
    }
    print(f"KTAP version 1\n1..{len(points)}")
    failed = 0
    for number, (name, test) in enumerate(points.items(), 1):
        try:
            why = test()
        except (RuntimeError, OSError) as error:
            why = str(error)
        failed += bool(why)
        print(f"# {why}\nnot ok {number} {name}" if why else f"ok {number} {name}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
