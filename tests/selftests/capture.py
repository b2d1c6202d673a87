#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""ACP flows through a router that lowers their rates, captured on both sides of it.

Runs as root in the lab kernel, and prints JSON: the captures at sender and receiver, in base64, and
the feedback that the senders received, as their tracepoint acp_update shows it.

   sender ---- router, 10 Mbit/s by ACP ---- receiver, 10 ms

One flow uses IPv4, and sends in one direction.  The other uses IPv6, and both ends send.
"""

import base64
import json
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from raw import ETHERNET, SO_RCVBUFFORCE, SO_TIMESTAMPNS, socket_in

ETH_P_ALL = 3
LINKTYPE_ETHERNET = 1
SNAPLEN = 128  # all headers
EVENTS = Path("/sys/kernel/tracing")
FLOW = Path(__file__).with_name("flow.py")

SETUP = """
ip netns add snd
ip netns add rtr
ip netns add rcv
ip link add snd netns rtr type veth peer name eth netns snd
ip link add rcv netns rtr type veth peer name eth netns rcv
ip -n snd addr add 192.0.2.1/25 dev eth
ip -n rtr addr add 192.0.2.2/25 dev snd
ip -n rtr addr add 192.0.2.129/25 dev rcv
ip -n rcv addr add 192.0.2.130/25 dev eth
ip -n snd addr add 2001:db8:1::1/64 dev eth nodad
ip -n rtr addr add 2001:db8:1::2/64 dev snd nodad
ip -n rtr addr add 2001:db8:2::1/64 dev rcv nodad
ip -n rcv addr add 2001:db8:2::2/64 dev eth nodad
ip -n snd link set eth up
ip -n rtr link set snd up
ip -n rtr link set rcv up
ip -n rcv link set eth up
ip -n snd route add default via 192.0.2.2
ip -n snd route add default via 2001:db8:1::2
ip -n rcv route add default via 192.0.2.129
ip -n rcv route add default via 2001:db8:2::1
ip netns exec rtr sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
ip netns exec snd ethtool -K eth tso off gso off gro off tx off
ip netns exec rtr ethtool -K snd tso off gso off gro off tx off
ip netns exec rtr ethtool -K rcv tso off gso off gro off tx off
ip netns exec rcv ethtool -K eth tso off gso off gro off tx off
modprobe tcp_acp_host
tc -n rtr qdisc add dev rcv root acp bandwidth 10mbit limit 30
tc -n rcv qdisc add dev eth root netem delay 10ms rate 10mbit
"""


def run(command: str) -> None:
    subprocess.run(command.split(), check=True, stdout=subprocess.DEVNULL)


def start(namespace: str, *arguments: str) -> subprocess.Popen:
    command = ["ip", "netns", "exec", namespace, FLOW, *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def tap(namespace: str) -> socket.socket:
    """A socket that receives all frames of the namespace's device, in both directions."""
    made = socket_in(namespace, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 29)
    made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    made.setblocking(False)
    return made


def pcap(frames: list[tuple[int, bytes]], linktype: int, snaplen: int = 65535) -> bytes:
    """Return: a capture file of these frames, each with its time in ns."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snaplen, linktype)]
    for ns, frame in frames:
        kept = frame[:snaplen]
        parts.append(struct.pack("<IIII", *divmod(ns, 10**9), len(kept), len(frame)) + kept)
    return b"".join(parts)


def captured(made: socket.socket) -> str:
    frames = []
    while True:
        try:
            frame, ancillary, *_ = made.recvmsg(1 << 16, 64)
        except BlockingIOError:
            break
        seconds, ns = struct.unpack("qq", ancillary[0][2])
        if frame[ETHERNET - 2 : ETHERNET] in (b"\x08\x00", b"\x86\xdd"):
            frames.append((seconds * 10**9 + ns, frame))
    return base64.b64encode(pcap(frames, LINKTYPE_ETHERNET, SNAPLEN)).decode()


def main() -> None:
    for line in SETUP.strip().splitlines():
        run(line)
    taps = {name: tap(name) for name in ("snd", "rcv")}
    (EVENTS / "events/acp/acp_update/enable").write_text("1")
    servers = [
        start("rcv", "--port", "5004"),
        start("rcv", "-6", "--port", "5006", "--bytes", "150000", "--cc", "acp"),
    ]
    time.sleep(1)  # in virtual time: afterwards all receivers listen
    ends = ["--bytes", "300000", "--cc", "acp"]
    clients = [
        start("snd", "192.0.2.130", "--port", "5004", *ends),
        start("snd", "2001:db8:2::2", "--port", "5006", "--both", *ends),
    ]
    if sum(flow.wait() for flow in clients + servers):
        sys.exit("capture.py: a flow failed")
    told = [line for line in (EVENTS / "trace").read_text().splitlines() if "acp_update" in line]
    json.dump({"told": told, **{name: captured(made) for name, made in taps.items()}}, sys.stdout)


if __name__ == "__main__":
    main()
