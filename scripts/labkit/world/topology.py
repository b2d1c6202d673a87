# SPDX-License-Identifier: GPL-2.0
"""The namespaces of a run, and the cables between them.

    s0 --+
    s1 --+-- d ------ b ====== r        s0...  senders, one namespace per round-trip time
    ...  |            |                 d      delay and loss: netem, never on a sender
                      x                 b      the bottleneck: only its wire and its queue
                                        r      the receiver          x  cross traffic

d delays data by half of the shortest rtt, and the ACKs of each group of senders by the rest of the
group's rtt.  So all groups share the losses and the queue.  Namespace a, between b and r, exists
only if the settings need it: for batches of data or ACKs, reordering, losses behind the bottleneck,
and blackouts.

The effects of a host's network card are in the last device before the host, d-s0 or a-r.  A netem
holds packets until the interrupt (slot), and a second netem below it passes ACKs one after the
other (rate).  TCP's large packets are cut when they leave the sender, as by a card with TSO.  So
the path loses, polices or delays single packets.

Networks of several links have d1, b1, d2, b2, ... in a row; see network.py.  A sender is at the d
where its path begins.  A receiver (r1, r2, ...) is behind the b where its path ends: at the next d,
because all packets that leave a b go through one queue.  In such a network each b delays the ACKs
by its link's delay.

In a tree or mesh there is a j at each node, between the bs of the links that end there and the ds
of the links that begin there.  A sender is at the d where its path begins.  Each group of users has
its own receiver, at the j where its path ends, so that there is only one route to each address.
"""

from dataclasses import dataclass

from ..model.network import Network
from ..model.settings import Settings
from ..model.traces import Trace

BOTTLENECK = "bottleneck"
POLICER = "policer"
BLACKOUT = "blackout"
LAST_HOP = "last_hop"


@dataclass(frozen=True)
class Hop:
    """A cable between two namespaces; the devices at its ends have names such as s0-d and d-s0."""

    a: str
    b: str
    net: int  # the third number of 10.77.N.0/24, or the fourth group of fd77:0:0:N::/64

    def device(self, end: str) -> str:
        return f"{end}-{self.b if end == self.a else self.a}"

    def address(self, end: str, ip: int) -> str:
        host = 1 if end == self.a else 2
        return f"10.77.{self.net}.{host}" if ip == 4 else f"fd77:0:0:{self.net}::{host}"

    def mac(self, end: str) -> str:
        return f"02:77:00:00:{self.net:02x}:{1 if end == self.a else 2:02x}"


class Row:
    """The names of the namespaces of a network, and the cables between them."""

    def __init__(self, settings: Settings) -> None:
        self.net: Network = settings.net
        links = range(len(self.net.links))
        several = len(links) > 1
        self.d = [f"d{k + 1}" if several else "d" for k in links]
        self.b = [f"b{k + 1}" if several else "b" for k in links]
        self.senders = [f"s{g}" for g in range(len(self.net.groups))]
        self.hops = [
            Hop(f"s{g}", self.d[group.first], 10 + g) for g, group in enumerate(self.net.groups)
        ]
        # Hop.net: 1 and 2 for one link; for several links, numbers below 200 are for groups
        self.hops += [
            Hop(d, b, 200 + k if several else 1)
            for k, (d, b) in enumerate(zip(self.d, self.b, strict=True))
        ]
        if self.net.nodes:
            self._join_nodes()
        else:
            self._join_in_a_row(settings)

    def _join_in_a_row(self, settings: Settings) -> None:
        links = range(len(self.net.links))
        several = len(links) > 1
        ends = sorted({group.last for group in self.net.groups})
        self.receivers = {k: f"r{k + 1}" if several else "r" for k in ends}
        self.hops += [
            Hop(b, d, 220 + k) for k, (b, d) in enumerate(zip(self.b, self.d[1:], strict=False))
        ]
        for k, r in self.receivers.items():
            if has_a(settings):
                self.hops += [Hop("b", "a", 4), Hop("a", "r", 2)]
            else:
                self.hops.append(Hop(self.door(k), r, 240 + k if several else 2))
        if settings.cross:
            self.hops.append(Hop("x", "b", 3))
        self.spaces = [*self.senders]
        for k in links:
            self.spaces += filter(None, (self.d[k], self.b[k], self.receivers.get(k)))
        self.spaces += ["x"] * bool(settings.cross) + ["a"] * has_a(settings)
        self.exits = [
            self.between(b, d).device(b) for b, d in zip(self.b, self.d[1:], strict=False)
        ] + [f"{self.b[-1]}-{'a' if has_a(settings) else self.receivers[links[-1]]}"]

    def _join_nodes(self) -> None:
        nodes = self.net.nodes
        begin, end = ([f"j{nodes.index(link.ends[i]) + 1}" for link in self.net.links]
                      for i in (0, 1))  # fmt: skip
        groups = self.net.groups
        self.receivers = {g: f"r{g + 1}" for g in range(len(groups))}
        for k in range(len(self.d)):
            self.hops += [Hop(begin[k], self.d[k], 216 + k), Hop(self.b[k], end[k], 232 + k)]
        self.hops += [Hop(end[groups[g].last], r, 100 + g) for g, r in self.receivers.items()]
        self.spaces = [*self.senders, *self.receivers.values(), *self.d, *self.b]
        self.spaces += [f"j{i + 1}" for i in range(len(nodes))]
        self.exits = [self.between(b, j).device(b) for b, j in zip(self.b, end, strict=True)]

    def ways(self, group: int) -> tuple[list[str], list[str]]:
        """The namespaces on the path of a group's data, and on that of its ACKs (tree or mesh)."""

        def over(links: tuple[int, ...]) -> list[str]:
            nodes = (self.exits[k].partition("-")[2] for k in links)
            return [name for k, j in zip(links, nodes, strict=True)
                    for name in (self.d[k], self.b[k], j)]  # fmt: skip

        of = self.net.groups[group]
        data = [self.senders[group], *over(of.path), self.receivers[group]]
        if not of.back:
            return data, data[::-1]
        return data, [self.receivers[group], data[-2], *over(of.back), *data[1::-1]]

    def receiver(self, group: int) -> str:
        """The receiver of a group of users."""
        return self.receivers[group if self.net.nodes else self.net.groups[group].last]

    def door(self, k: int) -> str:
        """The namespace to which receivers behind link k are connected."""
        return self.d[k + 1] if k + 1 < len(self.d) else self.b[k]

    def between(self, a: str, b: str) -> Hop:
        return next(hop for hop in self.hops if {hop.a, hop.b} == {a, b})

    def address(self, host: str, ip: int) -> str:
        """The address of a sender, a receiver or the cross traffic, which have only one cable."""
        return next(hop for hop in self.hops if host in (hop.a, hop.b)).address(host, ip)

    def traced(self, s: Settings) -> dict[str, Trace]:
        """The trace of each bottleneck that is served by one, by the device's name."""
        devices = [self.exits[0]] + ["b-d"] * bool(s.reverse or len(s.trace) > 1)
        return dict(zip(devices, (s.trace[0], s.trace[-1]), strict=False)) if s.trace else {}

    def link_names(self) -> list[str]:
        """The names of the bottlenecks in results."""
        count = len(self.net.links)
        return [BOTTLENECK] if count == 1 else [f"link{k + 1}" for k in range(count)]


def has_a(s: Settings) -> bool:
    return bool(
        s.last_hop or s.burstloss or s.batch or s.aggregate or s.reorder or s.blackout
        or "nic" in s.host
    )


def ways_back(row: Row, k: int) -> list[tuple[str, float, float]]:
    """The devices from link k's d to its senders, with the delay of ACKs there.

    The delay, s, is a fixed part and the maximum of a random part.
    """
    links, found = row.net.links, []
    for sender, group in zip(row.senders, row.net.groups, strict=True):
        if group.first == k:
            again = () if len(links) == 1 else group.back or group.path
            elsewhere = sum(links[i].delay for i in (*group.path, *again))
            found.append((f"{row.d[k]}-{sender}", group.rtt - elsewhere, group.jitter))
    return found
