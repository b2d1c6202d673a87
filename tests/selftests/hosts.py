#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Flows from one network namespace to another, controlled by commands on standard input.

On an emulated processor, starting Python for each flow would take longer than the flow.
A command is a line with a word and settings.  The answer to each is a line: "ok" with numbers, or
"failed: why".

  send bytes=N [cc=A,B,...] [tfo=1] [mptcp=1] [option=NAME] [device=NAME] [to=ADDRESS]
  [at=ADDRESS] [source=NAMESPACE] [mark=FILE]		ms, ms of silence, kb/s
	One connection sends N bytes, in equal parts with each congestion control in turn.  It
	ends when the receiver reports that it has all.  Silence: the longest time in which the
	receiver got nothing.  The rate: the capacity that the congestion control shows at the
	end; 0: none.  option: one of OPTIONS, for the sender's socket, and for the receiver's if
	both need it.  at: the receiver's address as the sender sees it, if it is translated.
	mark: this file is created when a third is acknowledged, because repeated calls of ss
	would disturb a slow machine.
  talk segs=N,M,... idle=S,T,... cc=A,B,...		ms of each exchange, then B's after a comma
	One connection for each congestion control.  After an idle time of S seconds it sends a
	request of N segments, and waits for the answer of one byte.  After the same idle time it
	sends M segments, and so on.  Then the same with T.  Several connections take turns: each
	waits for its slot, in which no other one uses the path.
  watch cc=A seconds=S losses=N [to=ADDRESS]	segments, us, kb/s, and pairs of segments
	One connection that always has data to send, until there were N losses, or for S seconds.
	Answer: ssthresh at the begin and at the end; cwnd, smoothed rtt, least rtt, and the shown
	capacity at the end; for each loss the window before and ssthresh after it, "W:T".
  churn cc=A,B,... seconds=S rounds=N cpu=N		how many changes
	One connection that always sends, on that processor, and changes its congestion control
	all the time: for at least S seconds, and at least N times through all of them.
"""

import contextlib
import ctypes
import os
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SEG = 1448  # payload of a segment with time stamps, bytes
CHUNK = bytes(1 << 14)
PATIENCE_S = 120.0  # time limit for each operation
SLOT_S = 0.75  # slot of a connection if several take turns: longer than an exchange
CLONE_NEWNET = 0x40000000
IPPROTO_MPTCP = 262
TCP_NOTSENT_LOWAT = 25
TCP_CC_INFO = 26
TCP_MD5SIG_EXT = 32
TCP_MD5SIG_FLAG_PREFIX = 1
TCP_AO_ADD_KEY = 38
TCP_CA_RECOVERY = 3
BBR_INFO = 20  # bytes of a struct tcp_bbr_info

def ip_option(sock: socket.socket) -> None:
    """Four bytes of IP options that have no effect."""
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, b"\1\1\1\0")


def extension(name: int) -> Callable[[socket.socket], None]:
    """Return: a function that sets an extension header with only padding."""
    return lambda sock: sock.setsockopt(socket.IPPROTO_IPV6, name, b"\0\0\1\4" + bytes(4))


def any_address(sock: socket.socket) -> bytes:
    """Return: a struct sockaddr_storage for any address."""
    return struct.pack("=H126x", sock.family)


def md5(sock: socket.socket) -> None:
    """Sets a TCP-MD5 key for any peer, with a struct tcp_md5sig."""
    signed = any_address(sock) + struct.pack("=BBHi80s", TCP_MD5SIG_FLAG_PREFIX, 0, 3, 0, b"key")
    sock.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG_EXT, signed)


def ao(sock: socket.socket) -> None:
    """Sets a TCP-AO key for any peer, with a struct tcp_ao_add; ENOPROTOOPT without TCP-AO."""
    key = struct.pack("=64siIHBBBBBB80s", b"hmac(sha1)", 0, 0, 0, 0, 100, 100, 12, 0, 3, b"key")
    sock.setsockopt(socket.IPPROTO_TCP, TCP_AO_ADD_KEY, any_address(sock) + key)


OPTIONS: dict[str, Callable[[socket.socket], None]] = {
    "ip": ip_option, "hop": extension(socket.IPV6_HOPOPTS), "dest": extension(socket.IPV6_DSTOPTS),
    "md5": md5, "ao": ao,
}  # fmt: skip
BOTH_ENDS = {"md5", "ao"}

Ends = tuple[str, str, str]  # namespaces of sender and receiver, address of the receiver

_libc = ctypes.CDLL(None, use_errno=True)


def enter(namespace: str) -> None:
    """Later sockets of this thread are created in this network namespace."""
    fd = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    failed = _libc.setns(fd, CLONE_NEWNET)
    os.close(fd)
    if failed:
        raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")


class Receiver(threading.Thread):
    """Accepts one connection; sends one byte after each complete count of received bytes."""

    def __init__(self, listener: socket.socket, counts: list[int]) -> None:
        super().__init__(daemon=True)
        self.listener, self.counts = listener, counts
        self.silence = 0.0  # the longest, s
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError), self.listener:
            connection, _ = self.listener.accept()
            with connection:
                connection.settimeout(PATIENCE_S)
                self._read(connection)

    def _read(self, connection: socket.socket) -> None:
        room = bytearray(1 << 18)
        last = time.monotonic()
        for count in self.counts or [1 << 62]:
            left = count
            while left > 0:
                got = connection.recv_into(room)
                if not got:
                    return
                left -= got
                now = time.monotonic()
                self.silence, last = max(self.silence, now - last), now
            connection.send(b".")


def connect(
    source: str, target: str, address: str, counts: list[int], mptcp: bool, unsent: bool,
    option: str = "",
) -> tuple[socket.socket, Receiver, tuple[str, int]]:
    """Return: a socket that is not connected yet, its receiver, and the receiver's address."""
    protocol = IPPROTO_MPTCP if mptcp else socket.IPPROTO_TCP
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    enter(target)
    listener = socket.socket(family, socket.SOCK_STREAM, protocol)
    if not mptcp:  # MPTCP has this option only from 6.2 on
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 8)
    if option in BOTH_ENDS:
        OPTIONS[option](listener)
    listener.bind(("", 0))  # any address, because the address may be in another VRF
    listener.listen()
    listener.settimeout(PATIENCE_S)
    enter(source)
    client = socket.socket(family, socket.SOCK_STREAM, protocol)
    client.settimeout(PATIENCE_S)
    if option:
        OPTIONS[option](client)
    if unsent:  # little is queued, so that data is sent by the congestion control chosen for it
        client.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, len(CHUNK))
    return client, Receiver(listener, counts), (address, listener.getsockname()[1])


def choose(client: socket.socket, cc: str) -> None:
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())


def push(client: socket.socket, count: int, mark: str = "") -> None:
    """Sends count bytes in small parts, so that little is queued.  Creates the file mark when a
    third is acknowledged."""
    third = count // 3
    while count > 0:
        if not select.select([], [client], [], PATIENCE_S)[1]:
            raise TimeoutError("timed out")
        count -= client.send(CHUNK[:count])
        if mark and acknowledged(client) >= third:
            Path(mark).touch()
            mark = ""
    while mark and acknowledged(client) < third:  # everything is queued already
        time.sleep(0.01)
    if mark:
        Path(mark).touch()


def acknowledged(client: socket.socket) -> int:
    """Return: tcpi_bytes_acked of linux/tcp.h."""
    info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("=Q", info, 120)[0]


def heard(client: socket.socket) -> None:
    if client.recv(1) != b".":
        raise ConnectionError("the receiver has gone")


def capacity(client: socket.socket) -> int:
    """The rate that the congestion control shows in BBR's format, as ss does, bytes/s; 0: none."""
    info = client.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 64)
    return struct.unpack_from("=Q", info)[0] if len(info) == BBR_INFO else 0


def send(
    names: Ends, bytes: str, cc: str = "", tfo: str = "", mptcp: str = "", option: str = "",
    device: str = "", at: str = "", mark: str = "",
) -> str:  # fmt: skip
    count, ccs = int(bytes), cc.split(",") if cc else []
    client, receiver, where = connect(*names, [count], bool(mptcp), len(ccs) > 1, option)
    if at:
        where = (at, where[1])
    with client:
        if device:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
        if ccs:
            choose(client, ccs[0])
        begun = time.monotonic()
        if tfo:
            # Without a cookie this only requests one.
            with contextlib.suppress(BlockingIOError):
                count -= client.sendto(CHUNK[:count], socket.MSG_FASTOPEN, where)
        else:
            client.connect(where)
        part = -(-count // max(1, len(ccs)))
        for number, name in enumerate(ccs or [""]):
            if number:
                choose(client, name)
            push(client, min(part, count), mark)
            count -= min(part, count)
        heard(client)
        took = time.monotonic() - begun
        shown = 0 if mptcp else capacity(client)
    receiver.join(PATIENCE_S)
    return f"{took * 1000:.0f} {receiver.silence * 1000:.0f} {shown * 8 // 1000}"


def talk(names: Ends, segs: str, idle: str, cc: str) -> str:
    sizes = [int(size) * SEG for size in segs.split(",")]
    pauses = [float(pause) for pause in idle.split(",")]
    ccs = cc.split(",")
    cycle, begun = len(ccs) * SLOT_S, time.monotonic()

    def exchanges(number: int, cc: str) -> str:
        time.sleep(number * SLOT_S)
        client, _, where = connect(*names, sizes * len(pauses), False, False)
        took = []
        with client:
            choose(client, cc)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.connect(where)
            for pause in pauses:
                for size in sizes:
                    time.sleep(pause)
                    if len(ccs) > 1:
                        time.sleep((begun + number * SLOT_S - time.monotonic()) % cycle)
                    start = time.monotonic()
                    client.sendall(bytes_of(size))
                    heard(client)
                    took.append(round((time.monotonic() - start) * 1000))
        return " ".join(map(str, took))

    with ThreadPoolExecutor(len(ccs)) as pool:
        return ",".join(pool.map(exchanges, range(len(ccs)), ccs))


def bytes_of(size: int) -> bytes:
    return (CHUNK * (size // len(CHUNK) + 1))[:size]


def state(client: socket.socket) -> tuple[int, int, int, int, bool]:
    """Return: cwnd, ssthresh (segments); smoothed and least rtt (us); whether it is in recovery."""
    info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    # linux/tcp.h: 32-bit numbers from byte 8 on, 64-bit numbers from byte 104 to 136
    rtt, _, ssthresh, cwnd = struct.unpack_from("4I", info, 8 + 15 * 4)
    (rtt_min,) = struct.unpack_from("I", info, 136 + 3 * 4)
    return cwnd, ssthresh, rtt, rtt_min, info[1] >= TCP_CA_RECOVERY


def watch(names: Ends, cc: str, seconds: str, losses: str) -> str:
    client, _, where = connect(*names, [], False, False)
    seen: list[str] = []
    with client:
        choose(client, cc)
        client.connect(where)
        client.setblocking(False)
        end = time.monotonic() + float(seconds)
        cwnd, ssthresh, rtt, rtt_min, _ = state(client)
        first = ssthresh
        while time.monotonic() < end and len(seen) < int(losses):
            with contextlib.suppress(BlockingIOError):
                while True:
                    client.send(CHUNK)
            time.sleep(0.004)
            before, was = cwnd, ssthresh
            cwnd, ssthresh, rtt, rtt_min, recovers = state(client)
            if ssthresh != was and recovers:
                seen.append(f"{before}:{ssthresh}")
        shown = capacity(client) * 8 // 1000
        reset(client)
    return " ".join([f"{first} {ssthresh} {cwnd} {rtt} {rtt_min} {shown}", *seen])


def reset(client: socket.socket) -> None:
    """When the socket is closed, queued data is discarded, and a reset is sent."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def churn(names: Ends, cc: str, seconds: str, rounds: str, cpu: str) -> str:
    os.sched_setaffinity(0, {int(cpu)})
    client, _, where = connect(*names, [], False, True)
    changes, ccs = 0, cc.split(",")
    least = int(rounds) * len(ccs)
    with client:
        client.connect(where)
        start = time.monotonic()
        end, last = start + float(seconds), start + PATIENCE_S
        while (now := time.monotonic()) < end or (changes < least and now < last):
            # A module that is being unloaded cannot be chosen.
            with contextlib.suppress(FileNotFoundError, BlockingIOError):
                choose(client, ccs[changes % len(ccs)])
            changes += 1
            push(client, 3 * SEG)
        reset(client)
    return str(changes)


DOES: dict[str, Callable[..., str]] = {"send": send, "talk": talk, "watch": watch, "churn": churn}


def main() -> None:
    """Arguments: the sender's namespace, the receiver's, and the receiver's address."""
    names = (sys.argv[1], sys.argv[2], sys.argv[3])
    enter(names[0])  # so that scripts find this process by its namespace, and can kill it
    for line in sys.stdin:
        verb, *settings = line.split()
        options = dict(setting.split("=", 1) for setting in settings)
        where = (options.pop("source", names[0]), names[1], options.pop("to", names[2]))
        try:
            print("ok", DOES[verb](where, **options), flush=True)
        except (OSError, TypeError, KeyError) as error:
            print(f"failed: {error}", flush=True)


if __name__ == "__main__":
    main()
