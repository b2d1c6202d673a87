# SPDX-License-Identifier: GPL-2.0
"""The subcommands of scripts/testbed."""

import argparse
import json
import signal
import sys
from pathlib import Path

from .errors import LabError, show
from .measure import testbed
from .measure.job import Job
from .model import scenario
from .parser import Parser
from .paths import cache
from .tell.terminal import table


def _parser() -> Parser:
    parser = Parser(
        prog="testbed",
        description="Runs the lab's scenarios in real time on the running kernel, with iperf3, in"
        " network namespaces that are removed when the run ends or is killed.  Needs root.",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    text = "Runs a scenario, once for each column or --cc."
    running = verbs.add_parser("run", help=text, description=text)
    running.add_argument("scenario", metavar="SCENARIO",
                         help="a name that 'scripts/lab list' shows")  # fmt: skip
    running.add_argument("--cc", action="append", metavar="NAME",
                         help="a column of the scenario, or any congestion control of this kernel;"
                         " may be repeated")  # fmt: skip
    running.add_argument("--case", default="", metavar="NAME",
                         help="a case of the scenario, or the beginning of its name")  # fmt: skip
    running.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                         help="a setting: see 'scripts/lab run --help'; may be"
                         " repeated")  # fmt: skip
    running.add_argument("--repeat", type=_count, default=1, metavar="N",
                         help="number of runs of each, in place of the lab's seeds (default"
                         " 1)")  # fmt: skip
    running.add_argument("--out", type=Path, metavar="DIR",
                         help="directory for the output of iperf3 and tc (default: the cache)")
    running.add_argument("--json", action="store_true", help="print only a JSON array")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1000")
    return int(text)


def _run(args: argparse.Namespace) -> int:
    wanted = scenario.load(args.scenario)
    case = wanted.case_like(args.case) if args.case else None
    mixed = scenario.override(wanted, args.set, case=case).mix
    if mixed and args.cc:
        raise LabError("mix sets every flow's congestion control: drop --cc, or mix", status=2)
    columns = [wanted.column_of(cc) for cc in args.cc] if args.cc else list(wanted.column)
    if mixed:
        columns = [scenario.Column("")]
    jobs = []
    for column in columns:
        settings = scenario.override(wanted, args.set, column, case)
        jobs += [Job(wanted, settings, column.cc or "mix", seed, column.name,
                     case.name if case else "")
                 for seed in range(1, 1 + args.repeat)]  # fmt: skip
    out = args.out.absolute() if args.out else cache("testbed")
    results = []

    def warn(text: str) -> None:
        print(f"testbed: {text}", file=sys.stderr)

    for k, job in enumerate(jobs, 1):
        if sys.stderr.isatty():
            warn(f"{job.name}, {k} of {len(jobs)}")
        results.append(testbed.run(job, out, warn))
    if args.json:
        from .measure import cells

        print(json.dumps(cells.with_cells(results), indent=1))
    else:
        print(table(results))
    return 0


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit status.

    An error is one line on standard error, after the log of a failed run if there is one.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _run(_parser().parse_args(argv))
    except LabError as error:
        return show("testbed", error)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print(f"testbed: {error.strerror}: {error.filename or 'no file'}", file=sys.stderr)
        return 1
