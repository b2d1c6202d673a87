# SPDX-License-Identifier: GPL-2.0
"""The subcommands of scripts/stock."""

import argparse
import json
import signal
import sys

from .errors import LabError, show
from .parser import Parser, seconds
from .world import machine, stock


def _parser() -> Parser:
    parser = Parser(
        prog="stock",
        description="Runs our modules on distributions' unmodified kernels, in QEMU.",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    text = "Lists the kernels, and which of them are in the cache."
    verbs.add_parser("list", help=text, description=text).set_defaults(does=_list_verb)
    text = "Builds the modules for a kernel; prints the directory with the result."
    building = verbs.add_parser("build", help=text, description=text)
    building.set_defaults(does=_build_verb)
    text = "Runs a command as root on a kernel; prints its output, and returns its exit status."
    running = verbs.add_parser(
        "run", help=text, description=f"{text} The command sees this machine's files, but cannot"
        " change them."
    )
    running.set_defaults(does=_run_verb)
    for verb in (building, running):
        verb.add_argument("--kernel", metavar="VERSION", default="6.12",
                          help=f"kernel: one of {', '.join(stock.SUITES)} (default"
                          " 6.12)")  # fmt: skip
    running.add_argument("--timeout", type=seconds, default=600, metavar="SECONDS",
                         help="limit in real seconds, including boot (default 600)")  # fmt: skip
    running.add_argument("--cpus", type=int, choices=range(1, 9), metavar="N",
                         help="number of processors, 1 to 8 (default 2 with KVM, else"
                         " 1)")  # fmt: skip
    running.add_argument("--nics", action="store_true",
                         help="add two network cards that are connected with each"
                         " other")  # fmt: skip
    running.add_argument("command", nargs="+", metavar="COMMAND",
                         help="the command and its arguments, after --")  # fmt: skip
    return parser


def _list_verb(_: argparse.Namespace) -> int:
    for version, suite in stock.SUITES.items():
        done = stock.home_of(version) / ".done"
        have = json.loads(done.read_text())["release"] if done.exists() else "not fetched yet"
        print(f"{version:6}{suite:10}{have}")
    return 0


def _build_verb(args: argparse.Namespace) -> int:
    print(stock.build(stock.ensure(args.kernel)))
    return 0


def _run_verb(args: argparse.Namespace) -> int:
    kernel = stock.ensure(args.kernel)
    return machine.boot(
        kernel, args.command, timeout_s=args.timeout, cpus=args.cpus, nics=args.nics, echo=True
    ).returncode


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit status.

    An error is one line on standard error, after the guest's log if there is one.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        args = _parser().parse_args(argv)
        return args.does(args)
    except LabError as error:
        return show("stock", error)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print(f"stock: {error.strerror}: {error.filename or 'no file'}", file=sys.stderr)
        return 1
