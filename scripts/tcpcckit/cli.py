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
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 30s, 10m or 2h")
    seconds = float(found[1]) * {"m": 60, "min": 60, "h": 3600}.get(found[2] or "s", 1)
    if not 0 < seconds <= 7 * 86400:
        raise argparse.ArgumentTypeError(f"{text!r} must be more than 0 and at most a week")
    return seconds


def _whole(most: int) -> Any:
    """Makes a parser of whole numbers from 1 to most."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {most}")
        return int(text)

    return parse


def _name(text: str) -> str:
    if not re.fullmatch(r"\w{1,15}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a congestion control")
    return text


def _parser() -> _Parser:
    parser = _Parser(
        prog="tcpcc",
        description="Shows which TCP congestion control this machine uses, selects one for a"
        " destination or for the system, and finds what limits a path.  It sends no data anywhere.",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)

    def verb(name: str, does: Any, text: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=text, description=text)
        added.set_defaults(does=does)
        added.add_argument("--json", action="store_true", help="print only JSON")
        return added

    verb("status", _status, "Show the modules, and what each namespace, route and device uses.")
    trying = verb("try", _try, "Use a congestion control for one destination, and undo it at the"
                  " end: when COMMAND ends (-- COMMAND), at Ctrl-C, or after TIME.")  # fmt: skip
    trying.add_argument("host", metavar="HOST",
                        help="an address, or a name, which means all its addresses")
    trying.add_argument("--cc", type=_name, default=DEFAULT_CC, metavar="NAME",
                        help=f"the congestion control (default {DEFAULT_CC})")  # fmt: skip
    trying.add_argument("--for", type=_seconds, default=TRY_SECONDS, dest="seconds", metavar="TIME",
                        help="the maximum time: 30s, 10m, 2h (default 10m)")  # fmt: skip
    setting = verb("set", _set, "Set the system's default, now and after each boot; or, with"
                   " PARAMETER=VALUE, set parameters of a sender that tcpcc load has loaded.")
    setting.add_argument("cc", type=_name, metavar="NAME")
    setting.add_argument("parameters", nargs="*", type=_parameter, metavar="PARAMETER=VALUE")
    verb("unset", _unset, "Undo set.")
    loading = verb("load", _load, "Load senders as BPF programs, if the kernel can load no module."
                   "  A sender that is loaded is replaced for new connections.")  # fmt: skip
    loading.add_argument("senders", nargs="+", type=_name, metavar="NAME")
    loading.add_argument("--verify", action="store_true",
                         help="only run the kernel's verifier, and print its counts")
    unloading = verb("unload", _unload, "Undo load.")
    unloading.add_argument("senders", nargs="+", type=_name, metavar="NAME")
    asking = verb("doctor", _doctor, "Find what limits TCP on this machine or to a host, and how to"
                  " fix it.  The exit status is 1 if there is a limit.")  # fmt: skip
    asking.add_argument("host", metavar="HOST", nargs="?", default="")
    watching = verb("watch", _watch, "Show the windows, rates and queues of flows, live.")
    watching.add_argument("host", metavar="HOST", nargs="?", default="")
    watching.add_argument("--port", type=_whole(65535), default=0, metavar="N",
                          help="only connections to this port of the peer")
    watching.add_argument("--interval", type=_seconds, default=0.5, metavar="TIME",
                          help="time between updates (default 0.5s)")  # fmt: skip
    watching.add_argument("--count", type=_whole(10**9 - 1), default=0, metavar="N",
                          help="number of updates (default: until Ctrl-C)")  # fmt: skip
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
    print(f"new connections use {change.now}; the previous default was {change.before}")
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
            raise TcpccError("tcpcc runs only on Linux")
        own, dashes, command = _split(sys.argv[1:] if argv is None else argv)
        args = _parser().parse_args(own)
        if dashes and args.verb != "try":
            raise TcpccError(f"{args.verb} takes no command: -- COMMAND is only for try", status=2)
        args.command = command
        for gone in choose.sweep():
            print(f"tcpcc: undid {gone.cc} for {gone.host}, because its tcpcc try was killed",
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


