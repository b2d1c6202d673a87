# SPDX-License-Identifier: GPL-2.0
"""The subcommands of tcpcc."""

import argparse
import json
import os
import re
import sys
from dataclasses import asdict
from typing import Any, NoReturn

from . import bpf, choose, doctor, status, watch
from .system import TcpccError

DEFAULT_CC = "ccpd_path"
TRY_SECONDS = 600.0


class _Parser(argparse.ArgumentParser):
    """Raises a TcpccError for an argument error, so that it is one line."""

    def error(self, message: str) -> NoReturn:
        raise TcpccError(f"{message} (see {self.prog} --help)", status=2)


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|min|h)?", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: 30s, 10m, 2h")
    seconds = float(found[1]) * {"m": 60, "min": 60, "h": 3600}.get(found[2] or "s", 1)
    if not 0 < seconds <= 7 * 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and a week")
    return seconds


def _name(text: str) -> str:
    if not re.fullmatch(r"\w{1,15}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a congestion control")
    return text


def _parser() -> _Parser:
    parser = _Parser(
        prog="tcpcc",
        description="TCP congestion control on this machine: what uses which, choosing one for a"
        " destination or for good, and what limits a path.  Nothing is sent anywhere.",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)

    def verb(name: str, does: Any, text: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=text, description=text)
        added.set_defaults(does=does)
        added.add_argument("--json", action="store_true", help="JSON, and nothing else")
        return added

    verb("status", _status, "Modules, and which namespaces, routes, sockets and devices use what.")
    trying = verb("try", _try, "One congestion control for one destination, undone at the end."
                  "  With -- COMMAND until that ends, else until Ctrl-C.")  # fmt: skip
    trying.add_argument("host", metavar="HOST", help="name or address; all its addresses")
    trying.add_argument("--cc", type=_name, default=DEFAULT_CC, metavar="NAME",
                        help=f"default {DEFAULT_CC}")  # fmt: skip
    trying.add_argument("--for", type=_seconds, default=TRY_SECONDS, dest="seconds", metavar="TIME",
                        help="at most: 30s, 10m, 2h (default 10m)")  # fmt: skip
    setting = verb("set", _set, "The system's default, now and after each boot; with"
                   " PARAMETER=VALUE parameters of a sender that tcpcc load has loaded.")
    setting.add_argument("cc", type=_name, metavar="NAME")
    setting.add_argument("parameters", nargs="*", type=_parameter, metavar="PARAMETER=VALUE")
    verb("unset", _unset, "Takes back what set has done.")
    loading = verb("load", _load, "Senders as BPF programs, where no module can be loaded;"
                   " again: a new version for new connections.")  # fmt: skip
    loading.add_argument("senders", nargs="+", type=_name, metavar="NAME")
    loading.add_argument("--verify", action="store_true",
                         help="only ask the kernel's verifier, and show what it counts")
    unloading = verb("unload", _unload, "Takes back what load has done.")
    unloading.add_argument("senders", nargs="+", type=_name, metavar="NAME")
    asking = verb("doctor", _doctor, "What limits TCP here or to a host, and what mends it; exit"
                  " status 1 if something does.")  # fmt: skip
    asking.add_argument("host", metavar="HOST", nargs="?", default="")
    watching = verb("watch", _watch, "Windows, rates and queues of flows, live.")
    watching.add_argument("host", metavar="HOST", nargs="?", default="")
    watching.add_argument("--port", type=int, default=0, metavar="N", help="of the peer")
    watching.add_argument("--interval", type=_seconds, default=0.5, metavar="TIME",
                          help="default 0.5s")  # fmt: skip
    watching.add_argument("--count", type=int, default=0, metavar="N",
                          help="so many times (default: until Ctrl-C)")  # fmt: skip
    return parser


def _status(args: argparse.Namespace) -> int:
    shown = status.status()
    print(json.dumps(shown, indent=1) if args.json else status.text(shown))
    return 0


def _try(args: argparse.Namespace) -> int:
    def say(text: str, data: dict[str, Any]) -> None:
        if args.json:
            print(json.dumps(data), flush=True)
        else:
            print(f"tcpcc: {text}", file=sys.stderr, flush=True)

    return choose.try_(args.host, args.cc, args.seconds, args.command, say)


def _changed(args: argparse.Namespace, change: choose.Change, what: str) -> int:
    if args.json:
        print(json.dumps(asdict(change), indent=1))
        return 0
    for path in change.files:
        print(f"{what} {path}")
    print(f"new connections use {change.now}; it was {change.before}")
    for note in change.notes:
        print(f"tcpcc: {note}", file=sys.stderr)
    return 0


def _parameter(text: str) -> tuple[str, str]:
    found = re.fullmatch(r"(\w+)=(.*)", text, re.ASCII)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not PARAMETER=VALUE")
    return found[1], found[2]


def _set(args: argparse.Namespace) -> int:
    if args.parameters:
        for name, value in args.parameters:
            bpf.set_parameter(args.cc, name, value)
        now = bpf.parameters(args.cc)
        print(json.dumps(now, indent=1) if args.json else
              "\n".join(f"{name} is {now[name]}" for name, _ in args.parameters))  # fmt: skip
        return 0
    return _changed(args, choose.set_(args.cc), "wrote")


def _unset(args: argparse.Namespace) -> int:
    return _changed(args, choose.unset(), "removed")


def _load(args: argparse.Namespace) -> int:
    done = {}
    for sender in args.senders:
        if args.verify:
            done[sender] = [asdict(one) for one in bpf.verify(sender)]
        else:
            done[sender] = bpf.load(sender)
        if not args.json:
            for one in done[sender]:
                print("{program}: {instructions} instructions, {states} states".format_map(one)
                      if args.verify else f"registered {one}")  # fmt: skip
    if args.json:
        print(json.dumps(done, indent=1))
    return 0


def _unload(args: argparse.Namespace) -> int:
    for sender in args.senders:
        bpf.unload(sender)
    if args.json:
        print(json.dumps({"loaded": bpf.loaded()}, indent=1))
    return 0


def _doctor(args: argparse.Namespace) -> int:
    made = doctor.findings(doctor.look(args.host))
    print(json.dumps([asdict(one) for one in made], indent=1) if args.json else doctor.text(made))
    return int(any(one.state == "limits" for one in made))


def _watch(args: argparse.Namespace) -> int:
    return watch.watch(args.host, args.port, args.interval, args.count, args.json)


def _split(words: list[str]) -> tuple[list[str], bool, list[str]]:
    """The words before --, whether there is a --, and the words after it."""
    if "--" not in words:
        return words, False, []
    k = words.index("--")
    return words[:k], True, words[k + 1 :]


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit status.  An error is one line on standard error."""
    try:
        if sys.platform != "linux":
            raise TcpccError("this is for Linux")
        own, dashes, command = _split(sys.argv[1:] if argv is None else argv)
        args = _parser().parse_args(own)
        if dashes and args.verb != "try":
            raise TcpccError(f"{args.verb} takes no command: -- is for try", status=2)
        args.command = command
        for gone in choose.sweep():
            print(f"tcpcc: undid {gone.cc} for {gone.host}, whose tcpcc try was killed",
                  file=sys.stderr)  # fmt: skip
        return args.does(args)
    except TcpccError as error:
        print(f"tcpcc: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as error:
        print(f"tcpcc: {error.strerror}: {error.filename or 'no file'}", file=sys.stderr)
        return 1


