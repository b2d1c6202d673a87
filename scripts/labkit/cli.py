# SPDX-License-Identifier: GPL-2.0
"""The subcommands of scripts/lab."""

import argparse
import contextlib
import json
import os
import shlex
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from .errors import LabError, show
from .measure import runner, store
from .measure.job import Job
from .model import scenario, sweep
from .model.settings import KEYS
from .parser import Parser, seconds
from .paths import absolute
from .tell.terminal import Progress, compared, table
from .world import guests, laboratory
from .world import kernel as kernels
from .world.laboratory import Laboratory


def _parser() -> Parser:
    parser = Parser(
        prog="lab",
        description="Runs TCP congestion control on a real kernel in virtual time.",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)

    def verb(name: str, does: Callable[[argparse.Namespace], int], text: str, **more: Any):
        # argparse expands % in help, but not in description.
        added = verbs.add_parser(name, help=text.replace("%", "%%"), description=text, **more)
        added.set_defaults(does=does)
        return added

    def with_kernel(added: argparse.ArgumentParser) -> None:
        which = added.add_mutually_exclusive_group()
        which.add_argument("--kernel", metavar="VERSION", default=kernels.DEFAULT_VERSION,
                           help=f"lab kernel (default {kernels.DEFAULT_VERSION})")  # fmt: skip
        which.add_argument("--kernel-tree", metavar="PATH", type=Path,
                           help="your own kernel source, 6.1 to 7.2; a copy is built once for each"
                           " content")  # fmt: skip
        added.add_argument("--variant", choices=("clang", "debug", "hz250", "hz1000"), default="",
                           help="build of the lab kernel. clang: built by clang; debug: with"
                           " sanitizers, 20 times slower; hz250, hz1000: with 250 or 1000 ticks per"
                           " second in place of 100")  # fmt: skip

    def with_modules(added: argparse.ArgumentParser) -> None:
        added.add_argument("--module", action="append", default=[], metavar="PATH", type=Path,
                           help="your own module, which is built for the lab kernel and loaded: a"
                           " folder with a Kbuild, a folder with one .c file, or a .c file; may be"
                           " repeated")  # fmt: skip

    listing = verb("list", _list, "Lists the scenarios, and what each one reproduces.")
    listing.add_argument("--json", action="store_true", help="print a JSON array")

    schema = verb("schema", _schema, "Prints what a scenario file and a network file may contain:"
                  " settings, columns, cases, metrics, findings, plots.")  # fmt: skip
    schema.add_argument("--write", action="store_true", help="write it to docs/schema.md instead")

    running = verb(
        "run", _run, "Runs a scenario, once for each column or --cc.",
        epilog="settings (an example follows the last colon, the default is in brackets):"
        "\n" + _describe_keys(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    running.add_argument("scenario", metavar="SCENARIO",
                         help="a name that 'lab list' shows, or the path of a TOML file")
    running.add_argument("--cc", action="append", metavar="NAME",
                         help="a column of the scenario, or any congestion control; may be"
                         " repeated")  # fmt: skip
    running.add_argument("--sender", action="append", default=[], metavar="NAME",
                         help="in scenarios with {sender}, the congestion control that is judged"
                         f" (default {scenario.DEFAULT_SENDER}); may be repeated")  # fmt: skip
    running.add_argument("--draw", type=_seed, metavar="N",
                         help="seed of the random paths of scenarios such as field-random")
    running.add_argument("--case", default="", metavar="NAME",
                         help="a case of the scenario, or the beginning of its name")  # fmt: skip
    seeding = running.add_mutually_exclusive_group()
    seeding.add_argument("--seed", type=_seed, default=1, metavar="N",
                         help="seed of all random numbers (default 1)")  # fmt: skip
    seeding.add_argument("--seeds", type=_seeds, metavar="LIST",
                         help="several seeds, such as 1-10 or 1,4,7-9: the table has means and"
                         " their 95 %% intervals, and the differences between columns over the same"
                         " seeds")  # fmt: skip
    running.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                         help="a setting (see below); may be repeated")  # fmt: skip
    running.add_argument("--sweep", action="append", default=[], metavar="KEY=A,B,C",
                         help="a run for each value; with several --sweep, for each combination."
                         " --set KEY=A,B,C does the same if KEY takes only one value: --set"
                         " rate=10mbit,20mbit. But --set rtt=10ms,20ms sets the round trips of two"
                         " flows; --sweep rtt=10ms,20ms makes a run for each. Separate values that"
                         " contain commas by ;: 'mix=cubic:1,bbr:1;cubic:2'")  # fmt: skip
    running.add_argument("--json", action="store_true", help="print only a JSON array")
    running.add_argument("--jobs", type=_jobs, default=0, metavar="N",
                         help="runs at the same time (default: one per core)")  # fmt: skip
    running.add_argument("--out", type=Path, metavar="DIR",
                         help="directory for the time series (default: the cache)")  # fmt: skip
    running.add_argument("--keep", type=Path, metavar="DIR",
                         help="keep the results in DIR in the report's format, and make only the"
                         " runs that DIR does not have; 'lab merge DIR' adds them to the report's"
                         " own")
    running.add_argument("--csv", type=Path, metavar="FILE",
                         help="also write the results as a table, with a row for each flow and each"
                         " link (the column kind says which)")  # fmt: skip
    running.add_argument("--parquet", type=Path, metavar="FILE", help="also write this table as"
                         " Parquet")
    running.add_argument("--pcap", type=Path, metavar="DIR",
                         help="also capture the packets at bottlenecks and senders, in a directory"
                         " for each run; this does not change the run")  # fmt: skip
    running.add_argument("--qlog", type=Path, metavar="DIR",
                         help="also write windows, round trips and rates of each flow as qlog 0.3,"
                         " for qvis, in a file for each run")  # fmt: skip
    running.add_argument("--live", action="store_true",
                         help="on a terminal, show the progress of the runs, their rate over time,"
                         " and bars of the results so far")  # fmt: skip
    with_kernel(running)
    with_modules(running)

    executing = verb("exec", _exec, "Runs a command as root in the lab kernel.")
    with_kernel(executing)
    with_modules(executing)
    executing.add_argument("--seed", type=_seed, default=1, metavar="N",
                           help="seed of all random numbers (default 1)")  # fmt: skip
    executing.add_argument("--timeout", type=seconds, metavar="S",
                           help="real seconds after which the command is stopped (default:"
                           " none)")  # fmt: skip
    executing.add_argument("command", nargs="+", metavar="-- COMMAND...")

    shell = verb("shell", _shell, "Starts a shell as root in the lab kernel.")
    with_kernel(shell)
    with_modules(shell)

    comparing = verb(
        "compare", _compare, "Shows what is better or worse in one set of results than in another:"
        " for each metric the means, and the difference over the same seeds with its 95 %"
        " interval.",
        epilog="exit status: 0 if nothing is worse by more than its interval, 1 if something is, 2"
        " if the sets cannot be compared.  A result with one seed has no interval, and is never"
        " worse.",
    )  # fmt: skip
    for name in ("A", "B"):
        comparing.add_argument(name.lower(), metavar=name,
                               help="a file that 'lab run --json' wrote, a directory of such files,"
                               " or a commit for which 'lab report' has kept runs; or two files"
                               " that 'lab bench' wrote: they differ if the values of their guests"
                               " do not overlap")  # fmt: skip
    comparing.add_argument("--json", action="store_true", help="print only a JSON array")

    reporting = verb("report", _report, "Runs every scenario, or those that are named; writes"
                     " report/index.html and report/claims.html.")  # fmt: skip
    reporting.add_argument("scenarios", nargs="*", metavar="SCENARIO",
                           help="names, paths of TOML files, or patterns such as 'field-*';"
                           " rfc9743: the tests that RFC 9743 asks for, on a page for each"
                           " --cc")  # fmt: skip
    reporting.add_argument("--cc", action="append", default=[], metavar="NAME",
                           help="only columns of this congestion control, which may be any; or, in"
                           " scenarios with {sender}, the sender that is judged; may be"
                           " repeated")  # fmt: skip
    reporting.add_argument("--draw", type=_seed, metavar="N",
                           help="seed of the random paths of scenarios such as field-random, in"
                           " place of the scenario's own seed")  # fmt: skip
    reporting.add_argument("--seeds", type=_count, metavar="N",
                           help="only the first N seeds of each scenario")  # fmt: skip
    reporting.add_argument("--out", type=Path, metavar="DIR",
                           help="write only index.html, and write it to DIR in place of report")
    with_kernel(reporting)
    with_modules(reporting)
    reporting.add_argument("--jobs", type=_jobs, default=0, metavar="N",
                           help="runs at the same time (default: one per core)")  # fmt: skip
    reporting.add_argument("--docs", action="store_true",
                           help="also write the numbers in the documents that come from these"
                           " scenarios (of demo: README's table, too), and docs/results from all"
                           " kept runs")  # fmt: skip

    searching = verb("search", _search, "Searches for the path on which a congestion control is"
                     " worst compared with others, and writes it as a scenario for 'lab run"
                     " FILE.toml'.")
    searching.add_argument("--cc", required=True, metavar="NAME", help="the congestion control to"
                           " find a bad path for")
    searching.add_argument("--against", action="append", required=True, metavar="NAME",
                           help="a congestion control to compare the goodput with; may be repeated:"
                           " the best of them counts")
    searching.add_argument("--seed", type=_seed, default=1, metavar="N",
                           help="seed of the search; the same seed makes the same runs (default 1)")
    searching.add_argument("--seeds", type=_count, default=2, metavar="N",
                           help="runs for each path (default 2)")  # fmt: skip
    searching.add_argument("--budget", type=_count, default=120, metavar="N",
                           help="paths to try (default 120); about a dozen more simplify the worst"
                           " path")
    searching.add_argument("--ranges", type=Path, metavar="FILE",
                           help="a scenario file whose [draw] has the ranges (default:"
                           " field-random)")
    searching.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                           help="a setting of all paths; may be repeated")  # fmt: skip
    with_kernel(searching)
    with_modules(searching)
    searching.add_argument("--jobs", type=_jobs, default=0, metavar="N",
                           help="runs at the same time (default: one per core)")  # fmt: skip
    searching.add_argument("--out", type=Path, metavar="FILE",
                           help="file to write the scenario to (default:"
                           " worst-NAME-SEED.toml)")  # fmt: skip

    planning = verb("plan", _plan, "Prints the runs of a report, for an engine that makes them"
                    " elsewhere, such as scripts/workflow.  'lab merge' adds their results to the"
                    " report's.")  # fmt: skip
    planning.add_argument("scenarios", nargs="+", metavar="SCENARIO",
                          help="names, paths of TOML files, or patterns")  # fmt: skip
    planning.add_argument("--keep", type=Path, metavar="DIR",
                          help="directory in which the commands keep the results (default: the"
                          " report's own)")  # fmt: skip
    planning.add_argument("--json", action="store_true",
                          help="print a JSON array with id, scenario, column, case, seed, packets"
                          " (about), kept, and the command that makes the run")  # fmt: skip
    with_kernel(planning)
    with_modules(planning)

    merging = verb("merge", _merge, "Adds the results that 'lab run --keep DIR' kept in DIR to"
                   " those of the report.")  # fmt: skip
    merging.add_argument("dirs", nargs="+", metavar="DIR", type=Path)

    verb("claims", _claims, "Prints the claims of the papers, the scenario or test that shows each"
         " one, and whether it holds.")

    benching = verb("bench", _bench, "Measures the cost of an ACK, a segment and a packet in real"
                    " time; exit status 1 if a bound is not met.")  # fmt: skip
    with_kernel(benching)
    benching.add_argument("--runs", type=_count, metavar="N",
                          help="number of guests, which run one after the other (default 6; 3 with"
                          " --instructions)")
    benching.add_argument("--quick", action="store_true",
                          help="only about a second, to check that it works")  # fmt: skip
    benching.add_argument("--instructions", action="store_true",
                          help="count instructions in place of time, on Debian's 6.12 in QEMU: the"
                          " same result on every machine, in three to four minutes")  # fmt: skip
    benching.add_argument("--scale", action="store_true",
                          help="measure several processors at a router, a million sockets, the lab"
                          " compared with ns-3 and Mininet, and how the cost grows, in about ten"
                          " minutes")  # fmt: skip
    benching.add_argument("--fresh", action="store_true",
                          help="with --scale, also measure the cost of the first run, with an empty"
                          " cache: ten minutes more")  # fmt: skip
    benching.add_argument("--json", action="store_true",
                          help="print only a JSON array, or with --scale an object")  # fmt: skip
    benching.add_argument("--output", metavar="FILE", type=Path,
                          help="also write the numbers as JSON, for lab compare; not with --scale")
    benching.add_argument("--docs", action="store_true", help="also write docs/results/cost.md,"
                          " counted.md or scale.md")  # fmt: skip

    agreeing = verb("agree", _agree, "Compares the lab's results with those of a stock kernel in"
                    " QEMU, of other values of HZ and of offload; exit status 1 if they do not"
                    " agree.")
    agreeing.add_argument("--testbed", action="store_true",
                          help="compare six scenarios with scripts/testbed on a stock kernel"
                          " instead")
    agreeing.add_argument("--json", action="store_true", help="print only a JSON array")

    showing = verb("demo", _demo, "Runs six congestion controls on a long, lossy, fast path.  With"
                   " acp: users that join and leave on a path with ACP's routers, which set the"
                   " rates.")
    showing.add_argument("what", nargs="?", choices=["acp"], metavar="acp")
    showing.add_argument("--docs", action="store_true", help="also write the table into README.md")
    return parser


def _seed(text: str) -> int:
    if not text.isdecimal() or not 0 <= int(text) < 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^63-1")
    return int(text)


def _seeds(text: str) -> tuple[int, ...]:
    """Parses a list of seeds such as 1,4,7-9, and keeps its order; at most 1000 seeds."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low = _seed(first)
        high = _seed(last) if dash else low
        if high < low or high - low >= 1000:
            raise argparse.ArgumentTypeError(f"{part!r} is not a range of at most 1000 seeds")
        found += range(low, high + 1)
    if len(found) > 1000 or len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"{text!r} has a seed twice, or more than 1000 seeds")
    return tuple(found)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1000")
    return int(text)


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) > 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 1000")
    return int(text)


def _describe_keys() -> str:
    width = max(map(len, KEYS))
    return "\n".join(
        f"  {name:{width}}  {key.help}" + (f" [{key.default}]" if key.default else "")
        for name, key in KEYS.items()
    )


# Subcommands ------------------------------------------------------------------------------------


def _list(args: argparse.Namespace) -> int:
    found = [scenario.load(name) for name in scenario.names()]
    if args.json:
        shown = [
            {"name": s.name, "title": s.title, "cc": list(s.cc), "settings": s.settings}
            | ({"seed": s.paper} if s.paper else {})
            | ({"figure": s.figure} if s.figure else {})
            | ({} if (columns := [c.name for c in s.column]) == [*s.cc] else {"columns": columns})
            | ({"cases": [c.name for c in s.case]} if s.case else {})
            for s in found
        ]
        print(json.dumps(shown, indent=1))
        return 0
    width = max(len(s.name) for s in found)
    for s in found:
        of = f"  [{', '.join(filter(None, (s.paper, s.figure)))}]" if s.paper else ""
        print(f"{s.name:{width}}  {s.title}{of}")
    return 0


def _schema(args: argparse.Namespace) -> int:
    from .tell import schema

    if args.write:
        schema.PAGE.write_text(schema.page())
        print(schema.PAGE)
    else:
        print(schema.page(), end="")
    return 0


def _run(args: argparse.Namespace) -> int:
    if "" in args.sender:
        raise LabError("--sender is empty: name a congestion control", status=2)
    wanted = scenario.load(args.scenario, tuple(dict.fromkeys(args.sender)), args.draw)
    if args.sender and not wanted.judged:
        raise LabError(f"{wanted.name} has no {{sender}}: drop --sender", status=2)
    if args.draw is not None and not wanted.drawn:
        raise LabError(f"{wanted.name} has no random paths: drop --draw", status=2)
    if not wanted.column:
        raise LabError(f"{wanted.name} is a model without runs: use scripts/lab report"
                       f" {wanted.name}",
                       status=2)  # fmt: skip
    for cc in args.cc or ():
        if args.cc.count(cc) > 1:
            raise LabError(f"--cc {cc} is given twice, and would count as more seeds: drop one",
                           status=2)  # fmt: skip
        if not cc:
            names = ", ".join(column.name for column in wanted.column)
            raise LabError(f"--cc is empty: name a congestion control, or a column of {names}",
                           status=2)  # fmt: skip
    case = wanted.case_like(args.case) if args.case else None
    fixed, points = sweep.points(args.set, args.sweep)
    jobs = []
    for point in points:
        sets = [*fixed, *point]
        columns = [wanted.column_of(cc) for cc in args.cc] if args.cc else list(wanted.column)
        if scenario.override(wanted, sets, case=case).mix:
            if args.cc and any(column not in wanted.column for column in columns):
                raise LabError("mix sets every flow's congestion control: drop --cc, or mix",
                               status=2)  # fmt: skip
            columns = columns if args.cc else [scenario.Column("")]
        name = " ".join(filter(None, (case and case.name, *point)))
        for column in columns:
            own = scenario.override(wanted, sets, column, case)
            jobs += [Job(wanted, own, column.cc or "mix", seed, column.name, name)
                     for seed in args.seeds or (args.seed,)]  # fmt: skip
    if args.qlog and any(job.settings.sample == 0 for job in jobs):
        raise LabError("--qlog needs samples: drop sample=0, or --qlog", status=2)
    for path in filter(None, (args.csv, args.parquet)):
        _require_writable(path)
    where = _laboratory(args)
    out, pcap, keep = (path and path.absolute() for path in (args.out, args.pcap, args.keep))
    watch: Any = Progress
    if args.live:
        from .tell.live import Live as watch
    with watch([job.name for job in jobs]) as shown:
        results = runner.run_all(where, jobs, args.jobs, out, shown.update, pcap, shown.ended,
                                 keep)  # fmt: skip
    if args.csv or args.parquet:
        from .measure import tables

        tables.write(results, args.csv, args.parquet)
    if args.qlog:
        from .measure import qlog

        for result in results:
            qlog.write(result, args.qlog / f"{Path(result['series']).name}.qlog")
    if args.json:
        from .measure import cells

        print(json.dumps(cells.with_cells(results), indent=1))
    else:
        print(table(results))
        if wanted.case and not case:
            print("these are only the settings that all cases of the scenario have in common; for"
                  f" one of its {len(wanted.case)} cases add --case"
                  f" {shlex.quote(wanted.case[0].name)}")
    return 0


def _require_writable(path: Path) -> None:
    """LabError if a file cannot be written, so that this does not cost all runs."""
    there = path.exists()
    try:
        with path.open("ab"):
            pass
        if not there:
            path.unlink()
    except OSError as error:
        raise LabError(f"cannot write {path}: {error.strerror}", status=2) from None


def _laboratory(args: argparse.Namespace) -> Laboratory:
    """The laboratory that --kernel, --kernel-tree, --variant and --module select."""
    modules = tuple(map(absolute, getattr(args, "module", ())))
    tree = args.kernel_tree and absolute(args.kernel_tree)
    return Laboratory(args.kernel, args.variant, modules, tree)


def _exec(args: argparse.Namespace) -> int:
    return laboratory.execute(_laboratory(args), args.command, args.seed, args.timeout)


def _shell(args: argparse.Namespace) -> int:
    if not sys.stdin.isatty():
        raise LabError("lab shell needs a terminal; in scripts use lab exec", status=2)
    return laboratory.shell(_laboratory(args))


def _compare(args: argparse.Namespace) -> int:
    from .measure import bench
    from .measure.compare import compare, read

    files = [Path(args.a), Path(args.b)]
    if any(bench.is_bench(path) for path in files):
        found = bench.changes(*files)
        shown = [change.json() for change in found]
        print(json.dumps(shown, indent=1) if args.json else bench.told(found))
        return int(any(change.verdict == "worse" for change in found))
    made = compare(read(args.a), read(args.b))
    if args.json:
        print(json.dumps([row.json() for row in made.rows], indent=1))
    else:
        print(compared(made))
    for note in made.notes:
        print(f"lab: {note}", file=sys.stderr)
    return int(bool(made.of("worse")))


def _report(args: argparse.Namespace) -> int:
    from .tell import report, rfc9743

    if "" in args.cc:
        raise LabError("--cc is empty: name a congestion control", status=2)
    if args.scenarios == [rfc9743.NAME]:
        if args.out:
            raise LabError("the pages of rfc9743 go to report: drop --out", status=2)
        return rfc9743.main(tuple(args.cc), args.jobs, args.docs, args.seeds, _laboratory(args))
    args.cc = [*dict.fromkeys(args.cc)]
    given = {"--cc": args.cc or None, "--seeds": args.seeds, "--draw": args.draw}
    other = [name for name, value in given.items() if value is not None]
    if args.docs and other:
        raise LabError("documents need the columns, seeds and paths of the scenarios: drop --docs,"
                       f" or {' and '.join(other)}", status=2)  # fmt: skip
    out = args.out.absolute() if args.out else None
    return report.main(args.scenarios, args.jobs, args.docs, tuple(args.cc), args.seeds, args.draw,
                       out, _laboratory(args))  # fmt: skip


def _search(args: argparse.Namespace) -> int:
    from .measure import search

    where = _laboratory(args)
    for cc in (args.cc, *args.against):
        if cc not in where.ccs():
            raise LabError(f"no congestion control {cc} is built", status=2)
    of = search.Search(
        where, args.cc, tuple(args.against), search.ranges_of(args.ranges, args.seed),
        tuple(args.set), args.seeds, args.jobs, lambda text: print(text, file=sys.stderr),
    )  # fmt: skip
    scenario.overridden(scenario.load("dumbbell"), of.sets)
    path, ratio = of.run(args.seed, args.budget)
    target = args.out or Path(f"worst-{args.cc}-{args.seed}.toml")
    given = [word for cc in args.against for word in ("--against", cc)]
    given += [word for one in args.set for word in ("--set", one)]
    search.write(target, of, path, ratio, " ".join(
        ["scripts/lab search --cc", args.cc, *given, "--seed", str(args.seed), "--budget",
         str(args.budget)]))  # fmt: skip
    print(f"{target}: {args.cc} has {ratio:.3g} of the goodput of the best other; {of.made} new"
          " runs")
    return 0


def _plan(args: argparse.Namespace) -> int:
    from .tell import report

    names = dict.fromkeys(n for pattern in args.scenarios for n in scenario.matching(pattern))
    where = _laboratory(args)
    keep = args.keep.absolute() if args.keep else store.root()
    rows = []
    for (_, column, case), task in report.plan([scenario.load(name) for name in names], where):
        of = task.job.scenario
        command = ["scripts/lab", "run", of.words, "--cc", column, *["--case", case] * bool(case),
                   "--seed", str(task.job.seed), *where.options, "--keep", str(keep)]  # fmt: skip
        rows.append({
            "id": task.home.name, "scenario": of.name, "column": column, "case": case,
            "seed": task.job.seed, "packets": round(task.job.packets),
            "kept": store.usable(keep / task.home.name), "command": command,
        })  # fmt: skip
    if args.json:
        print(json.dumps(rows, indent=1))
    else:
        for row in rows:
            print(row["id"], "kept " if row["kept"] else "wanted", shlex.join(row["command"]))
    return 0


def _merge(args: argparse.Namespace) -> int:
    for folder in args.dirs:
        if not folder.is_dir():
            raise LabError(f"{folder}: no such directory", status=2)
        print("{}: {} runs added, {} already there".format(folder, *store.merge(folder)))
    return 0


def _claims(args: argparse.Namespace) -> int:
    from .tell import claims, records, report

    papers = claims.load()
    known = report.kept(claims.scenarios_of(papers))
    print(claims.table(papers, claims.judge(known, records.judge(records.load()))))
    return 0


def _bench(args: argparse.Namespace) -> int:
    from .measure import bench
    from .tell import summary
    from .world import stock

    if args.docs:
        summary.require_committed()
    if args.scale and args.output:
        raise LabError("--output is not for --scale, which writes its numbers with --docs or"
                       " --json", status=2)  # fmt: skip
    if args.scale:
        return _scale(args)
    if args.output:
        summary.make_writable(args.output)
    load = os.getloadavg()[0]
    effort = bench.QUICK if args.quick else bench.Effort()
    guests = args.runs or (bench.COUNT_GUESTS if args.instructions else effort.runs)
    if args.instructions:
        kernel = stock.ensure("6.12")
        made, load = bench.count(kernel, guests), 0.0
    else:
        made = bench.run(_laboratory(args), replace(effort, runs=guests))
    numbers = summary.cost(made, guests, load)
    if args.output:
        summary.write_numbers(numbers, args.output)
    print(json.dumps([row.json() for row in made], indent=1) if args.json else bench.table(made))
    if args.docs and args.instructions:
        summary.write_counted(made, kernel.package, guests)
    elif args.docs:
        summary.write_cost(numbers)
    for note in bench.notes(made, load):
        print(f"lab: {note}", file=sys.stderr)
    return int(any(row.met is False for row in made))


def _scale(args: argparse.Namespace) -> int:
    from .measure import scale
    from .tell import report, summary

    laboratory = _laboratory(args)
    effort = scale.QUICK if args.quick else scale.Effort()
    made = scale.measure(
        laboratory, effort,
        lambda: [task.job for _, task in report.plan(report.of_papers(), laboratory)], args.fresh,
    )  # fmt: skip
    print(json.dumps(made, indent=1) if args.json else "\n\n".join(scale.tables(made).values()))
    if args.docs:
        summary.write_scale(made)
    return int(bool(scale.grown(made["memory"])))


def _agree(args: argparse.Namespace) -> int:
    from .measure import agreement

    rows = agreement.beside_testbed() if args.testbed else agreement.measure()
    shown = [row.json() for row in rows]
    print(json.dumps(shown, indent=1) if args.json else agreement.table(rows))
    agree = [place["agrees"] for row in shown for place in row["elsewhere"].values()]
    if missing := agree.count(None):
        print(f"lab: {missing} of {len(agree)} values are missing in both places: they say nothing",
              file=sys.stderr)  # fmt: skip
    return int(False in agree)


def _demo(args: argparse.Namespace) -> int:
    from .tell import demo

    if args.what and args.docs:
        raise LabError("no document has the table of acp: drop --docs, or acp", status=2)
    return demo.acp() if args.what else demo.main(args.docs)


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns its exit status.  An error is one line on standard error."""
    signal.signal(signal.SIGTERM, _interrupted)
    try:
        args = _parser().parse_args(argv)
        status = args.does(args)
        sys.stdout.flush()
        return status
    except LabError as error:
        return show("lab", error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as error:
        print(f"lab: {error.strerror}: {error.filename or 'no file'}", file=sys.stderr)
        return 1
    finally:
        guests.end_all()


def _interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt
