# SPDX-License-Identifier: GPL-2.0
"""The lab's networks in Mininet, on this machine's own kernel and in real time.

    sudo mn --custom scripts/mn_tcpcc.py --controller none --topo tcpcc,SCENARIO[,KEY=VALUE]...
            [--test traffic | --test bulk | --test rtts]

SCENARIO is a name from scripts/lab list.  KEY=VALUE is a setting as in scripts/lab run --set.
cc=NAME is a column of the scenario, or a congestion control.  With --test traffic each user is an
iperf3 that starts and stops at the times in the network's file.  With --test bulk the first sender
has all flows at once, for the duration of the scenario.  With --test rtts each sender pings once.
Without a test, Mininet shows its prompt.  The hosts are s0, s1, ... (senders), d and b (a link's
delay and its queue), and r (receivers).

    sudo mn --custom scripts/mn_tcpcc.py --controller none --topo tcpcc,acp-fig8,cc=acp,scale=0.1
    sudo mn --custom scripts/mn_tcpcc.py --controller none \\
            --topo tcpcc,dumbbell,cc=acp,qdisc=acp,flows=4,rate=20mbit,rtt=40ms --test traffic

The modules of congestion controls and queues must be installed, and iperf3 and ethtool.
"""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

from mininet.log import info, output
from mininet.node import Node
from mininet.topo import Topo

# mn executes this file without __file__.
sys.path.insert(0, str(Path(sys._getframe().f_code.co_filename).resolve().parent))

from labkit import libraries

libraries.borrow()

from labkit.errors import LabError  # noqa: E402
from labkit.model import scenario  # noqa: E402
from labkit.paths import GUEST  # noqa: E402
from labkit.world import queues, script  # noqa: E402
from labkit.world.topology import Row  # noqa: E402

FIRST_PORT = 5201


class Place(Node):
    """A namespace of the network, which the lab's commands set up."""

    def popen(self, *args, **kwargs):
        """Runs a command in the network namespace only.

        mnexec also enters the mount namespace, and so leaves a chroot.  In a guest of the lab it
        would then write to /proc/sys of the host.
        """
        return super().popen(*args, mncmd=["nsenter", "-n", "-t", str(self.pid)], **kwargs)

    def config(self, commands=(), **_):
        for what, text in commands:
            process = self.popen(["sh", "-c", what], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            _, error = process.communicate(text.encode())
            if process.returncode:
                raise SystemExit(f"{self.name}: {what}: {error.decode().strip()}")
        return {}


class Network(Topo):
    """The network of a scenario."""

    def build(self, name="dumbbell", cc="cubic", **settings):
        try:
            of = scenario.load(str(name))
            column = of.column_of(str(cc))
            given = [f"{key}={value}" for key, value in settings.items()]
            self.settings = scenario.override(of, given, column)
        except LabError as error:
            raise SystemExit(f"{name}: {error}") from None
        self.cc = column.cc
        self.row = Row(self.settings)
        for place in self.row.spaces:
            self.addHost(place, cls=Place, ip=None, commands=self._commands(place))
        for hop in self.row.hops:
            self.addLink(hop.a, hop.b, intfName1=hop.device(hop.a), addr1=hop.mac(hop.a),
                         intfName2=hop.device(hop.b), addr2=hop.mac(hop.b))  # fmt: skip

    def _commands(self, place):
        """The setup of a place: pairs of a command and its input."""
        s, row = self.settings, self.row
        devices = [hop.device(place) for hop in row.hops if place in (hop.a, hop.b)]
        version = "" if s.ip == 4 else "-6 "
        tc = queues.for_stock_kernels("\n".join(queues.queues(s, row, place)), s)
        commands = [(command, "") for command in script.sysctls(s, place)]
        commands += [(f"ip link set {device} mtu {s.mtu}", "") for device in devices]
        commands.append((f"ip {version}-batch -", "\n".join(script.addresses(s, row, place))))
        commands += [(command, "") for command in script.offloads(s, row, place)]
        if tc:
            commands.append(("tc -batch -", tc))
        return commands


def traffic(net):
    """Runs an iperf3 for each user; prints each rate in the second half of the last stage."""
    topo = net.topo
    s, row = topo.settings, topo.row
    users = row.net.users
    clients = {}
    for number, user in enumerate(users):
        receiver = net[row.receiver(user.group)]
        receiver.popen(["iperf3", "-s", "-1", "-p", str(FIRST_PORT + number)])
    time.sleep(1)
    began = time.monotonic()
    for number in sorted(range(len(users)), key=lambda n: users[n].start):
        user = users[number]
        group = row.net.groups[user.group]
        time.sleep(max(0, began + user.start - time.monotonic()))
        length = min(user.stop, s.end) - user.start
        address = row.address(row.receiver(user.group), s.ip)
        command = f"iperf3 -C {topo.cc} -J -i 1 -t {length:g} -p {FIRST_PORT + number} -c {address}"
        info(f"*** {time.monotonic() - began:.1f} s: user {number + 1} begins\n")
        clients[number] = net[row.senders[user.group]].popen(command.split())
    since = sum(s.bounds[-1]) / 2
    fair = row.net.fair(since, s.end)
    output(f"{'user':>4} {'links':>6} {'rtt':>7} {'Mb/s':>8} {'max-min':>8}\n")
    for number, user in enumerate(users):
        group = row.net.groups[user.group]
        mbps = _mbps(clients[number].communicate()[0], since - user.start)
        links = "-".join(str(k + 1) for k in dict.fromkeys((group.path[0], group.path[-1])))
        share = f"{fair[number] / 1e6:8.2f}" if fair[number] else "       -"
        output(f"{number + 1:>4} {links:>6} {group.rtt * 1e3:>4g} ms {mbps:>8} {share}\n")
    for b, device in zip(row.b, row.exits, strict=True):
        output(f"\n{b}: " + net[b].cmd(f"tc -s qdisc show dev {device}").strip() + "\n")


def _mbps(report, since):
    """The mean rate in iperf3's report from since, s, on, in Mb/s; - if iperf3 had ended."""
    try:
        intervals = [interval["sum"] for interval in json.loads(report)["intervals"]]
    except (ValueError, KeyError):
        error = re.search(rb'"error":\s*"([^"]*)"', report)
        raise SystemExit(f"iperf3: {error[1].decode() if error else 'no report'}") from None
    rates = [i["bits_per_second"] for i in intervals if i["start"] >= since - 0.5]
    return f"{sum(rates) / len(rates) / 1e6:.2f}" if rates else "-"


def bulk(net):
    """Sends all flows from the first sender to its receiver; prints bytes/s like the bench."""
    s, row = net.topo.settings, net.topo.row
    to = row.address(row.receiver(0), s.ip)
    served = net[row.receiver(0)].popen([GUEST / "transfer.py", "serve", to, str(s.flows), "1"],
                                        stdout=subprocess.PIPE)  # fmt: skip
    served.stdout.readline()
    sent = net[row.senders[0]].popen([GUEST / "transfer.py", "send", to, str(s.flows),
                                      str(round(s.end * 1e3)), "mininet", net.topo.cc])  # fmt: skip
    output(sent.communicate()[0].decode())
    served.terminate()  # because the reset of a flow may be lost


def rtts(net):
    """Pings from each sender to its receiver; prints the rtt, and that of the network's file."""
    row, ip = net.topo.row, net.topo.settings.ip
    for number, (name, group) in enumerate(zip(row.senders, row.net.groups, strict=True)):
        address = row.address(row.receiver(number), ip)
        said = net[name].cmd(f"ping -c 1 -W 2 {address}")
        found = re.search(r"time=([\d.]+) ms", said)
        links = "-".join(str(k + 1) for k in dict.fromkeys((group.path[0], group.path[-1])))
        answer = f"{float(found[1]):.1f} ms" if found else "no answer"
        output(f"{name:>4}  links {links:<6} {group.rtt * 1e3:g} ms: {answer}\n")


topos = {"tcpcc": Network}
tests = {"traffic": traffic, "bulk": bulk, "rtts": rtts}
