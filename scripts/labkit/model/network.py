# SPDX-License-Identifier: GPL-2.0
"""Networks: bottleneck links in a row, with users whose paths are a part of the row; or links
between nodes.

    users 1            users 3, 4           users 5 to 7
       |                  |                    |
       d1 -- b1 ========= d2 -- b2 =========== d3 -- b3 === users' receivers
               link 1 |          link 2 |           link 3
                  receivers          receivers

A link is a queue that is served at the link's rate (b), with its propagation delay before it (d).
A scenario without the setting network has one link, from its settings rate, rtt, flows and so on.
Other networks are files: network=NAME is a file in scripts/networks, network=./FILE.toml is any
other file.

    [[link]]                    links in the order of the row
    rate = "155mbit"
    delay = "20ms"              one way

    [[users]]                   a group of equal users, with one flow each
    count = 2
    path = "1-3"                from the first link to the last
    access = "20ms"             one-way delay of their access link
    start = "20s"               of the first user; default 0
    every = "80ms"              between the starts of one user and the next; default 0
    stop = "60s"                of all users; default: the end of the run

In a tree or mesh each link names its nodes, and carries data in this direction:

    [[link]]
    from = "home"
    to = "isp"

Then a path is a list of nodes: path = "home-isp-far".  By default acknowledgments return along the
same path, with its delays but without its queues.  With back = "far-sea-home" they take other
links, and pass their queues.
"""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache as remembered
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import msgspec

from ..paths import REPO, absolute
from .toml import Part, decode, says

NETWORKS = REPO / "scripts" / "networks"


@dataclass(frozen=True)
class Link:
    """A bottleneck."""

    rate: int  # bit/s
    delay: float  # s, one way
    # the nodes at its beginning and its end; None in a row
    ends: tuple[str, str] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Group:
    """Users on one host, with the same path and round-trip time."""

    first: int  # links, from 0
    last: int
    rtt: float  # s, without queueing
    # s, the maximum random delay of an ACK; no repr, because the settings in a run's key have it
    jitter: float = field(default=0.0, repr=False)
    # links of the path in order, if they are not a row; and links of the ACKs' path, if it differs
    way: tuple[int, ...] = field(default=(), repr=False)
    back: tuple[int, ...] = field(default=(), repr=False)

    @property
    def path(self) -> tuple[int, ...]:
        return self.way or tuple(range(self.first, self.last + 1))


@dataclass(frozen=True)
class User:
    """One flow."""

    group: int
    start: float  # s
    stop: float  # s; math.inf: the flow does not stop


@dataclass(frozen=True)
class Network:
    """Links, the groups of users, and the users in the order of their numbers."""

    links: tuple[Link, ...]
    groups: tuple[Group, ...]
    users: tuple[User, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes of a tree or mesh; empty for a row."""
        return tuple(dict.fromkeys(node for link in self.links for node in link.ends or ()))

    def longest_rtt(self, link: int) -> float:
        """The longest round-trip time of the link's users, s; of all users if the link has none."""
        users = [g.rtt for g in self.groups if link in (*g.path, *g.back)]
        return max(users or [group.rtt for group in self.groups])

    def fair(self, since: float, until: float) -> list[float | None]:
        """The max-min fair share of each user, bit/s, from since to until, s.

        None for a user that is not active during all of that time.
        """
        there = [u for u, user in enumerate(self.users)
                 if user.start <= since and user.stop >= until]  # fmt: skip
        share: list[float | None] = [None] * len(self.users)
        spare = [float(link.rate) for link in self.links]
        paths = {u: self.groups[self.users[u].group].path for u in there}
        while open_ := [u for u in there if share[u] is None]:
            crowd = [sum(k in paths[u] for u in open_) for k in range(len(spare))]
            least, tightest = min((spare[k] / n, k) for k, n in enumerate(crowd) if n)
            for u in open_:
                if tightest in paths[u]:
                    share[u] = least
                    for k in paths[u]:
                        spare[k] -= least
        return share

    def present(self, link: int, since: float, until: float) -> int:
        """The number of users of the link that are active from since to until, s."""
        return sum(
            user.start <= since and user.stop >= until and link in self.groups[user.group].path
            for user in self.users
        )


def dumbbell(
    rate: int, hosts: Iterable[tuple[float, float]], start: float, stop: float = math.inf
) -> Network:
    """A network with one link.

    rate: bit/s.  hosts: the round-trip time and the jitter of each user, s.  start: interval
    between the starts of users, s.  stop: end of all users, s.
    Data is delayed by half of the shortest rtt, and a user's ACKs by the rest of the user's rtt.
    """
    hosts = list(hosts)
    alike = list(dict.fromkeys(hosts))
    return Network(
        (Link(rate, min(rtt for rtt, _ in hosts) / 2),),
        tuple(Group(0, 0, rtt, jitter) for rtt, jitter in alike),
        tuple(User(alike.index(host), start * i, stop) for i, host in enumerate(hosts)),
    )


def names() -> list[str]:
    return sorted(path.stem for path in NETWORKS.glob("*.toml"))


@remembered
def load(name: str, rate: Callable[[str], int], time: Callable[[str], float]) -> Network:
    """Loads a network's file by its name or path; ValueError describes an error in it.

    rate and time are the parsers of rates and times that a scenario's keys use.
    """
    path = check(name)
    try:
        return _made(decode(path.read_text(), File), rate, time)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def scaled(network: Network, by: float) -> Network:
    """The network with each rate multiplied by a factor."""
    links = (replace(link, rate=max(1000, round(link.rate * by))) for link in network.links)
    return replace(network, links=tuple(links))


class _LinkTable(Part):
    """A bottleneck."""

    rate: Annotated[str, says("rate of the link, in the form of the setting rate")]
    delay: Annotated[str, says("one-way propagation delay: 20ms")]
    start: Annotated[str, says("in a tree or mesh, the node where it begins")] = msgspec.field(
        default="", name="from")  # fmt: skip
    to: Annotated[str, says("in a tree or mesh, the node where it ends")] = ""


class _UsersTable(Part):
    """A group of equal users."""

    path: Annotated[str, says("links: 1-3, or 2; or nodes: home-isp-far")]
    count: Annotated[int, msgspec.Meta(ge=1), says("number of users, with one flow each")] = 1
    back: Annotated[str, says("nodes of the acknowledgments' path, if it differs")] = ""
    access: Annotated[str, says("one-way delay of their access link")] = "0"
    start: Annotated[str, says("start of the first user")] = "0"
    every: Annotated[str, says("time between the starts of one user and the next")] = "0"
    stop: Annotated[str, says("end of all users; default: the end of the run")] = ""


class File(Part):
    link: Annotated[list[_LinkTable], says("bottlenecks, 1 to 16")]
    users: Annotated[list[_UsersTable], says("groups of users, and their paths")]
    title: Annotated[str, says("one line: what it shows")] = ""


def _made(file: File, rate: Callable[[str], int], time: Callable[[str], float]) -> Network:
    meshed = any(t.start or t.to for t in file.link)
    if meshed and not all(t.start and t.to for t in file.link):
        raise ValueError("either all links have from and to, or none has")
    links = tuple(
        Link(_value(rate, t.rate, "link", n, "rate"), _value(time, t.delay, "link", n, "delay"),
             (t.start, t.to) if meshed else None)
        for n, t in enumerate(file.link, 1)
    )  # fmt: skip
    if not 1 + meshed <= len(links) <= 16:
        raise ValueError(f"a network has {1 + meshed} to 16 links, not {len(links)}")
    if meshed and len({link.ends for link in links}) < len(links):
        raise ValueError("two links have the same from and to: drop one of them")
    if not file.users:
        raise ValueError("a network needs users: add a [[users]] with a path")
    groups: list[Group] = []
    users: list[User] = []
    for n, table in enumerate(file.users, 1):
        access, first, every, stop = (
            _value(time, text, "users", n, key) if text else math.inf
            for key, text in (("access", table.access), ("start", table.start),
                              ("every", table.every), ("stop", table.stop))
        )  # fmt: skip
        if table.back and not meshed:
            raise ValueError("back needs links with from and to")
        group = _value(
            lambda path, of=table, access=access: _group_of_nodes(links, path, of.back, access)
            if meshed else _group(links, path, access), table.path, "users", n, "path",
        )  # fmt: skip
        if group not in groups:
            groups.append(group)
        for i in range(table.count):
            start = first + i * every
            if start >= stop:
                raise ValueError(f"a user of path {table.path} would stop before it starts")
            users.append(User(groups.index(group), round(start, 9), stop))
    if meshed and len(groups) > MESH_GROUPS:
        raise ValueError(f"a network has at most {MESH_GROUPS} kinds of users, not {len(groups)}")
    return Network(links, tuple(groups), tuple(users))


def _value(parse: Callable[[str], Any], text: str, table: str, number: int, key: str) -> Any:
    """Parses a key's text; the text of a ValueError names the table."""
    try:
        return parse(text)
    except ValueError as error:
        raise ValueError(f"[[{table}]] {number}, {key}: {error}") from None


MESH_GROUPS = 90  # for which there are addresses


def _group_of_nodes(links: tuple[Link, ...], path: str, back: str, access: float) -> Group:
    ends = [link.ends for link in links]

    def way(text: str) -> tuple[int, ...]:
        nodes = text.split("-")
        if missing := [pair for pair in pairwise(nodes) if pair not in ends]:
            raise ValueError(f"path {text!r}: no link from {missing[0][0]} to {missing[0][1]}")
        if len(nodes) < 2 or len({*nodes}) < len(nodes):
            raise ValueError(f"path {text!r}: write two nodes or more, each once: home-isp-far")
        return tuple(ends.index(pair) for pair in pairwise(nodes))

    there, again = way(path), way(back) if back else ()
    if back and (ends[again[0]][0], ends[again[-1]][1]) != (ends[there[-1]][1], ends[there[0]][0]):
        raise ValueError(f"back {back!r} does not go from the end of {path!r} to its beginning")
    delay = sum(links[k].delay for k in (*there, *(again or there)))
    return Group(there[0], there[-1], round(2 * access + delay, 9), way=there, back=again)


def _group(links: tuple[Link, ...], path: str, access: float) -> Group:
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", path)
    first = int(found[1]) if found else 0
    last = int(found[2] or first) if found else 0
    if not 1 <= first <= last <= len(links):
        raise ValueError(f"path {path!r}: write links as 1-{len(links)}, or one link")
    delay = sum(link.delay for link in links[first - 1 : last])
    return Group(first - 1, last - 1, round(2 * (access + delay), 9))


def check(name: str) -> Path:
    """The path of a network's file, from its name or path; ValueError if there is no such file."""
    if "/" in name or name.endswith(".toml"):
        path = absolute(name)
        if path.suffix != ".toml" or not path.is_file():
            raise ValueError("the path of an existing file that ends in .toml")
        return path
    if name not in names():
        raise ValueError(f"a path, such as ./net.toml, or one of: {', '.join(names())}")
    return NETWORKS / f"{name}.toml"
