# SPDX-License-Identifier: GPL-2.0
"""What runs for each ACK and each packet has no division and no locked instruction, except for
those that are listed here with a reason; and the state of a socket is small.

The modules are built for Debian's 6.12 (x86-64) with line tables, which change no instruction.
Beginning at the callbacks for an ACK or a packet, the test follows calls, jumps and pointers to
functions through the machine code of all our modules.  addr2line tells which functions of the
source an instruction was compiled from, also those that are inline.  An instruction or a call that
belongs to a function of RARE is left out.  The kernel's own functions are not read, but named.

(If the compiler joins equal code of two functions, it is told of one of them only.)
"""

import re
import subprocess
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conftest import REPO
from labkit.measure import bench
from labkit.world import stock

# One worker builds the modules, and reads them.
pytestmark = pytest.mark.xdist_group("hot_path")

# The members of struct tcp_congestion_ops that TCP calls for ACKs and while it sends.  The others
# are for a loss, the beginning and end of a connection, and ss.
HOT = ("cong_avoid", "cong_control", "in_ack_event", "pkts_acked", "cwnd_event", "min_tso_segs")

ROUTER = "sch_tcpcc"
CACHE_LINE = 64  # bytes
PRIVATE = 104  # bytes for a congestion control in a socket, ICSK_CA_PRIV_SIZE

# What does not run for each ACK or packet, with all that it calls
RARE = {
    name: reason
    for reason, names in {
        "once in a round trip": """ccpd_pair_done ccpd_round ccpd_round_rate path_round
            mccp_path_round explicit_round""",
        "a train of the start begins or ends": """path_train_send path_train_zero path_train_done
            path_train_lost""",
        "a moment of the estimate: at most 64 in a round trip": "mccp_moment mccp_path_moment",
        "the rules of a law are due: once in a round trip, or in a fixed time": """nist_periodic
            htcp_rules""",
        "the window is smaller, or larger by 1/64": "hstcp_alpha",
        "the size of segments has changed": """ccpd_mss_changed path_rescale mccp_new_mss
            explicit_resize""",
        "the mode changes: the first word of a router after Reno": "explicit_heard",
        "a phase of the router has ended": "estcp_changed estcp_next_phase",
        "a control period of the router has ended": "acp_reckon rcp_law_advance xcp_law_advance",
        "the first packet": "acp_law_start xcp_law_start",
        "a flow is new": "acp_law_share",
        "a packet was dropped, or none for long": "estcp_law_overflow estcp_law_hurry",
        "sending begins": "mccp_begin",
    }.items()
    for name in names.split()
}

# The divisions for an ACK, and why they are there.  A function that has none any more must be
# removed from this list.
DIVISIONS = {
    "ccpd_d_term": "Eq. 3 divides by the time between two ACKs; not if S is the same",
    "ccpd_pace": "the pacing rate, which the kernel computes for congestion controls without one",
    "path_q0_us": "only if q0 holds less than a few segments: at a low rate or on a short path",
    "path_start_rate": "only MPTCP, while a burst is sent",
    "path_train_late": "only in the start, if a train is late or losses overflow",
    "acp_filter": "Eq. 4 divides by the window, for each word",
    "explicit_desired": "Eq. 3 divides by the size of a packet, for each word",
    "explicit_proven": "only if a word grants more than the last round trip proved",
    "explicit_rate": "the pacing rate, which the kernel computes for congestion controls without"
                     " .cong_control",
    "explicit_reno_rate": "the same: percent",
    "explicit_reduction": "in recovery, as tcp_cwnd_reduction()",
    "estcp_increase": "only if an ACK adds two segments or more",
    "estcp_listen": "only if an ACK has several codepoints",
    "estcp_alpha": "each 16th ACK",
    "estcp_share": "each 16th ACK, and for the tracepoint",
    "estcp_beta": "for the tracepoint",
    "nist_inverse": "only if the whole segments of the window have changed",
    "bic_f": "Eq. 10 divides by a parameter",
    "bic_next": "only in a search beyond the former window",
}  # fmt: skip

LOCKED = {
    "tcpcc_feedback_take": "only if words have arrived: they come from another context",
}

# The kernel's functions that are called
KERNEL = {
    "tcp_slow_start", "tcp_reno_cong_avoid", "tcp_cong_avoid_ai", "tcp_rate_check_app_limited",
    "__rcu_read_lock", "__rcu_read_unlock", "_printk", "__stack_chk_fail",
}  # fmt: skip
KERNEL_ROUTER = {
    "ktime_get", "qdisc_watchdog_schedule_range_ns", "sk_skb_reason_drop", "skb_copy_bits",
    "skb_ensure_writable", "skb_get_hash_perturb", "__skb_get_hash_net", "prandom_u32_state",
    "__stack_chk_fail",
    # only for a packet of several segments
    "__skb_gso_segment", "netif_skb_features", "qdisc_tree_reduce_backlog", "consume_skb",
}  # fmt: skip

# Calls by a pointer, which the test cannot follow
POINTERS = {
    "tcpcc_enqueue_one": "the callbacks of a kind, which are inline in its own enqueue, too",
    "feedback_reserve": "TCP's own, if the space for options has changed",
}


_DIVISION = re.compile(r"i?div[bwlq]? ")
_LOCKED = re.compile(r"lock |xchg[bwlq]? .*\(")  # xchg with memory is locked without a prefix
_POINTER = "a pointer"
# Not code of the kernel that runs: entries for tracing, and replacements of instructions
_NOTHING = ("__fentry__", "__SCT__", "__x86_return_thunk", "__tracepoint_")

Place = tuple[str, int]  # a section, and an address in it


@dataclass
class Module:
    """The machine code of a module."""

    path: Path
    functions: dict[Place, str] = field(default_factory=dict)  # their names, by their beginnings
    objects: dict[str, tuple[str, int, int]] = field(default_factory=dict)  # section, address, size
    # what calls or jumps to a function, or has its address: the function's place or name
    edges: list[tuple[Place, Place | str]] = field(default_factory=list)
    flagged: list[tuple[Place, str]] = field(default_factory=list)  # divisions, locked instructions
    pointers: dict[Place, Place] = field(default_factory=dict)  # in data, to functions
    chains: dict[Place, list[str]] = field(default_factory=dict)  # see chains_of()
    starts: dict[str, list[int]] = field(default_factory=dict)  # of functions, by section

    def owner(self, place: Place) -> Place | None:
        """The beginning of the function that contains this place."""
        section, address = place
        at = bisect_right(self.starts.get(section, []), address) - 1
        return (section, self.starts[section][at]) if at >= 0 else None


class Tools:
    """Programs for object files, of the kernel's compiler."""

    def __init__(self, kernel: stock.StockKernel) -> None:
        self.home = kernel.root / "usr/bin"

    def __call__(self, name: str, *arguments: object, text: str = "") -> list[str]:
        """The lines that the program prints; text: its input."""
        done = subprocess.run([self.home / name, *map(str, arguments)], input=text, text=True,
                              capture_output=True, check=True)  # fmt: skip
        return done.stdout.splitlines()


def read(tools: Tools, path: Path) -> Module:
    """Reads a module; the chains are those of all places of edges and flagged."""
    made = Module(path)
    for line in tools("objdump", "-t", path):
        m = re.match(r"([0-9a-f]+) (.{7}) (\S+)\t([0-9a-f]+) +(?:\.hidden )?(\S+)$", line)
        if not m or m[5].startswith("__pfx_"):
            continue
        if m[2].endswith("F"):
            made.functions[m[3], int(m[1], 16)] = m[5]
        elif m[2].endswith("O"):
            made.objects[m[5]] = (m[3], int(m[1], 16), int(m[4], 16))
    for section, address in sorted(made.functions):
        made.starts.setdefault(section, []).append(address)
    by_name = {name: place for place, name in made.functions.items()}

    section = ""
    # the calls and jumps of the text, by where a relocation would be: after one byte or two
    calls: dict[Place, tuple[Place, Place]] = {}
    for line in tools("objdump", "-dw", "--no-show-raw-insn", path):
        if m := re.match(r"Disassembly of section (.*):", line):
            section = m[1]
        elif m := re.match(r" +([0-9a-f]+):\t(.*)", line):
            place, text = (section, int(m[1], 16)), f"{m[2]} "
            if _DIVISION.match(text) or _LOCKED.match(text):
                made.flagged.append((place, "division" if _DIVISION.match(text) else "locked"))
            elif re.match(r"(call|jmp) +\*", text):
                made.edges.append((place, _POINTER))
            elif m := re.match(r"(?:call|j\w+) +([0-9a-f]+) ", text):
                for after in (1, 2):
                    calls[section, place[1] + after] = (place, (section, int(m[1], 16)))
    relocated = set()  # calls and jumps whose target in the text does not count
    for line in tools("objdump", "-r", path):
        if m := re.match(r"RELOCATION RECORDS FOR \[(.*)\]", line):
            section = m[1]
            continue
        m = re.match(r"([0-9a-f]+) R_X86_64_(\w+) +(\S+?)(?:([+-]0x[0-9a-f]+))?$", line)
        if not m:
            continue
        place, symbol, add = (section, int(m[1], 16)), m[3], int(m[4] or "0", 16)
        code = section in made.starts
        # the processor adds to the address of the next instruction, which is four bytes later
        add += 4 if m[2] in ("PC32", "PLT32") else 0
        target = by_name.get(symbol) or ((symbol, add) if symbol in made.starts else symbol)
        if isinstance(target, str):
            if place in calls:
                relocated.add(calls[place][0])
                target = _POINTER if target.startswith("__x86_indirect_thunk") else target
                made.edges.append((place, target))
        elif not code:
            made.pointers[place] = target
        elif place in calls or target in made.functions:
            if place in calls:
                relocated.add(calls[place][0])
            made.edges.append((place, target))
    made.edges += {edge for edge in calls.values() if edge[0] not in relocated}
    read_chains(tools, made)
    return made


def read_chains(tools: Tools, made: Module) -> None:
    """Sets the chains of a module: for a place, the functions of our source that it was compiled
    from, the innermost first; several if functions are inline."""
    wanted = defaultdict(set)
    for section, address in [place for place, _ in [*made.edges, *made.flagged]]:
        wanted[section].add(address)
    for section, addresses in wanted.items():
        lines = tools("addr2line", "-afi", "-e", made.path, "-j", section,
                      text="".join(f"{address:#x}\n" for address in sorted(addresses)))  # fmt: skip
        chain: list[str] = []
        names = iter(lines)
        for line in names:
            if re.match(r"0x[0-9a-f]+$", line):
                chain = made.chains.setdefault((section, int(line, 16)), [])
            elif "/linux-headers-" not in next(names):
                chain.append(line)


def roots(tools: Tools, made: Module) -> dict[Place, str]:
    """The functions that are called for each ACK or packet, and as what."""
    if made.path.stem == ROUTER:
        return {place: name for place, name in made.functions.items()
                if re.search("_(enqueue|dequeue)$", name)}  # fmt: skip
    lines = "\n".join(tools("pahole", "-C", "tcp_congestion_ops", made.path))
    members = {int(at): name
               for name, at in re.findall(r"\(\*(\w+)\)\(.*/\* +(\d+) ", lines)}  # fmt: skip
    size = int(re.search(r"size: (\d+)", lines)[1])
    found = {}
    for name in ops_names():
        section, start, length = made.objects.get(name, ("", 0, 0))
        for (where, at), target in made.pointers.items():
            member = members.get((at - start) % size)
            if where == section and start <= at < start + length and member in HOT:
                found[made.owner(target)] = member
    return found


def ops_names() -> set[str]:
    """The names that struct tcp_congestion_ops has in our sources."""
    texts = [path.read_text() for path in module_sources()]
    pattern = r"struct tcp_congestion_ops (\w+)(?:\[\d*\])?\s"
    return {name for text in texts for name in re.findall(pattern, text)}


def module_sources() -> list[Path]:
    """The files of the senders and of what they include."""
    folders = ("", "include", "feedback", "nist")
    return [path for folder in folders for path in (REPO / folder).glob("*.[ch]")]


def follow(modules: dict[str, Module], first: list[tuple[Module, Place]]) -> dict[str, dict]:
    """What is reached from the functions first: by "division", "locked", "pointer" and "kernel",
    the function of the source or the name in the kernel, with the places; and "rare", the functions
    of RARE that were met."""
    exported = {name: (made, place) for made in modules.values()
                for place, name in made.functions.items()
                if name.startswith("tcpcc_feedback_")}  # fmt: skip
    found: dict[str, dict] = defaultdict(lambda: defaultdict(list))
    seen, todo = set(), list(first)
    while todo:
        made, start = todo.pop()
        if (made.path, start) in seen:
            continue
        seen.add((made.path, start))
        if made.functions[start].split(".")[0] in RARE:
            found["rare"][made.functions[start].split(".")[0]] = []
            continue
        for place, what in [*made.flagged, *made.edges]:
            if made.owner(place) != start:
                continue
            # the kernel's inline functions are also compiled as functions of our modules
            chain = made.chains[place] or [made.functions[start]]
            if rare := [name for name in chain if name in RARE]:
                found["rare"].update(dict.fromkeys(rare))
                continue
            where = f"{made.path.stem}: {' in '.join(chain)}"
            if what in ("division", "locked"):
                known = DIVISIONS if what == "division" else LOCKED
                name = next((name for name in chain if name in known), chain[0])
                found[what][name].append(where)
            elif what == _POINTER:
                found["pointer"][chain[0]].append(where)
            elif isinstance(what, tuple):
                target = made.owner(what)
                if target and target != start:
                    todo.append((made, target))
            elif what in exported:
                todo.append(exported[what])
            elif not what.startswith(_NOTHING):
                found["kernel"][what].append(where)
    return found


@pytest.fixture(scope="module")
def built() -> tuple[Tools, dict[str, Module]]:
    """Our modules with line tables, by their names."""
    kernel = stock.ensure("6.12")
    made = stock.build(kernel, ("W=1", "KCFLAGS=-g"), strict=False)
    tools = Tools(kernel)
    paths = (made / "lib/modules" / kernel.release / "updates").glob("*.ko")
    return tools, {path.stem: read(tools, path) for path in paths}


SENDERS = sorted({module for module, of in bench.SENDERS.values() if of})


@pytest.fixture(scope="module", params=["sender", "router"])
def reached(request, built) -> tuple[str, dict[str, dict]]:
    """What each ACK of a sender with a goal reaches, or each packet of a router."""
    tools, modules = built
    names = SENDERS if request.param == "sender" else [ROUTER]
    first = {name: roots(tools, modules[name]) for name in names}
    if request.param == "sender":
        assert all({"cong_avoid", "cong_control"} & set(of.values()) for of in first.values())
        assert sum("min_tso_segs" in of.values() for of in first.values()) == 1
    else:
        assert len(first[ROUTER]) == 2 * len(bench.OURS)
    places = [(modules[name], place) for name, of in first.items() for place in of]
    return request.param, follow(modules, places)


def told(found: dict[str, list[str]], known: set[str]) -> str:
    """The places of what is not known, and the names that are known but were not found."""
    more = [f"{name}: {place}" for name in sorted(found.keys() - known) for place in found[name]]
    return "\n".join(["", *more, *(f"{name}: no more" for name in sorted(known - found.keys()))])


@pytest.mark.parametrize(("what", "listed"), [("division", DIVISIONS), ("locked", LOCKED)])
def test_no_division_and_no_locked_instruction(reached, what, listed):
    kind, found = reached
    known = set(listed) if kind == "sender" else set()
    assert found[what].keys() == known, told(found[what], known)


def test_what_is_called_beyond_our_code(reached):
    kind, found = reached
    known = KERNEL if kind == "sender" else KERNEL_ROUTER
    assert found["kernel"].keys() == known, told(found["kernel"], known)
    assert found["pointer"].keys() <= POINTERS.keys(), told(found["pointer"], set(POINTERS))


def test_nothing_is_left_out_that_is_not_there(built):
    """A function that was renamed, or that nothing reaches any more, must leave the list RARE."""
    tools, modules = built
    met = set()
    for names in (SENDERS, [ROUTER]):
        first = [(modules[name], place) for name in names for place in roots(tools, modules[name])]
        met |= set(follow(modules, first)["rare"])
    assert met == set(RARE)


# What is allocated for a socket, and in which module; fn is for a network namespace
ALLOCATED = {"ca->history": ("abe_history", "tcp_mccp"), "fb": ("tcpcc_feedback", "tcp_feedback")}
# More than two cache lines, and why
LARGER = {
    "abe_history": "its ring of moments, Eq. 4: an ACK that is no moment does not touch it",
}


def size_of(tools: Tools, name: str, made: Module) -> int:
    """The size of a struct, bytes; 0 if no code of the module uses it."""
    found = re.search(r"size: (\d+)", "\n".join(tools("pahole", "-C", name, made.path)))
    return int(found[1]) if found else 0


def test_the_state_of_a_socket_fits_in_its_place(built):
    """Each sender has a check of this when it is built, and so the sizes are those of the check."""
    tools, modules = built
    lines = "\n".join(tools("pahole", "-C", "inet_connection_sock", modules["tcp_ccpd"].path))
    assert re.search(rf"icsk_ca_priv\[\d+\]; +/\* +\d+ +{PRIVATE} \*/", lines)
    for name in SENDERS:
        (path,) = (path for path in module_sources() if path.stem == name)
        text = path.read_text()
        states = re.findall(r"sizeof\(struct (\w+)\) (?:<=|>) ICSK_CA_PRIV_SIZE", text)
        states += re.findall(r'NIST_MODULE\("\w+", struct (\w+),', text)
        assert states, name
        sizes = [size_of(tools, state, modules[name]) for state in (*states, "nist")]
        assert 0 < max(sizes) <= PRIVATE, name


def test_a_socket_has_at_most_two_cache_lines_of_its_own_beyond_that(built):
    tools, modules = built
    pattern = r"\b\w*alloc\w*\(sizeof\(\*?(.*?)\),"
    found = {name for path in module_sources() for name in re.findall(pattern, path.read_text())}
    assert found == {*ALLOCATED, "fn"}
    sizes = {name: size_of(tools, name, modules[of]) for name, of in ALLOCATED.values()}
    assert {name for name, size in sizes.items() if size > 2 * CACHE_LINE} == set(LARGER), sizes
