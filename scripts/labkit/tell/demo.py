# SPDX-License-Identifier: GPL-2.0
"""The demos, each with a table and a picture: a transfer on a long, fast and lossy path; and for
ACP, users that join and leave."""

import sys
from typing import Any

from ..measure import intervals
from ..measure.job import Job
from ..measure.runner import run_all
from ..model import scenario
from ..model.settings import Settings
from ..world.laboratory import Laboratory
from .outcome import Cell
from .terminal import Progress, rate

SEEDS = (1, 2, 3)
BAR = 24  # characters

# Settings for the best possible result of a congestion control with slow start: without loss or
# buffer overflow, the link is busy as soon as the window reaches the BDP.
LIMIT = ("loss=0", "buffer=6bdp", "qdisc=fifo")


def main(with_docs: bool = False) -> int:
    """with_docs: also write the table into README."""
    if with_docs:
        from . import summary  # loads matplotlib

        summary.require_committed()
    text, runs = _measured(Laboratory())
    if with_docs:
        write(text)
    print("\nNext:")
    print(f"  cwnd and queue over time  {_picture(runs)}")
    print("  one run, other settings   scripts/lab run dumbbell --cc ccpd_path --set rtt=80ms")
    print("  a shell in that kernel    scripts/lab shell")
    print("  on this machine           make && sudo make install, then")
    print("                            sysctl net.ipv4.tcp_congestion_control=ccpd_path")
    return 0


def to_readme(laboratory: Laboratory) -> None:
    """Makes the runs of the demo, and writes their table into README."""
    write(_measured(laboratory)[0])


def write(text: str) -> None:
    """text: the table of the demo, with its first lines."""
    from . import docs  # loads matplotlib

    print(f"\n{docs.README}: {'changed' if docs.write_demo(text) else 'as before'}")


def _measured(laboratory: Laboratory) -> tuple[str, dict[str, list[Any]]]:
    """Makes the runs, and prints the table: the text that it printed, and each sender's results."""
    wanted = scenario.load("demo")
    settings = scenario.override(wanted, [])
    known = laboratory.ccs()
    ccs = [cc for cc in wanted.cc if cc in known]
    for cc in wanted.cc:
        if cc not in known:
            print(f"skipped {cc}: its module is not in this tree", file=sys.stderr)
    limit = Job(wanted, scenario.override(wanted, LIMIT), "reno", SEEDS[0])
    jobs = [limit, *(Job(wanted, settings, cc, seed) for cc in ccs for seed in SEEDS)]
    head = (
        f"{settings.bytes / 1e6:g} MB over {rate(settings.rate)}, {settings.min_rtt * 1e3:g} ms,"
        f" {settings.loss:g} loss, a buffer of {settings.buffer_packets} packets"
        f" ({settings.buffer_packets / settings.bdp:.1f} BDP);\n"
        f"Linux {laboratory.kernel.release} in virtual time, means of {len(SEEDS)} seeds\n"
    )
    print(head, flush=True)
    with Progress([f"{job.cc}" for job in jobs]) as shown:
        best, *results = run_all(laboratory, jobs, 0, None, shown.update)
    runs = {cc: [r for r in results if r["cc"] == cc] for cc in ccs}
    table = _table(best, runs, settings)
    print(table)
    return f"{head}\n{table}", runs


def acp() -> int:
    """Ten users join and leave: compares ACP with CUBIC over fq_codel, stage by stage."""
    laboratory = Laboratory()
    wanted = scenario.load("acp-demo")
    jobs = [
        Job(wanted, scenario.override(wanted, [], column), column.cc, SEEDS[0], column.name)
        for column in wanted.column
    ]
    settings = jobs[0].settings
    print(
        f"{wanted.title}: {rate(settings.rate)}, {settings.min_rtt * 1e3:g} ms,"
        f" a buffer of {settings.buffer_of(0)} packets;\n"
        f"Linux {laboratory.kernel.release} in virtual time\n",
        flush=True,
    )
    with Progress([job.column for job in jobs]) as shown:
        results = run_all(laboratory, jobs, 0, None, shown.update)
    print(_stages(results))
    print("\nNext:")
    print(f"  rates and queue over time    {_rates(wanted, results)}")
    print("  the paper's networks         scripts/lab run acp-fig8; scripts/lab list")
    print("  state of the routers         tc -s qdisc show, see docs/acp.md")
    return 0


def _stages(results: list[Any]) -> str:
    """A table with a line for each stage: the results of its second half."""
    lines = [f"{'':<18}{'users':>6}{'link used':>11}{'queue':>7}{'off by':>9}{'settled':>10}"
             f"{'router saw':>12}"]  # fmt: skip
    for r in results:
        (link,) = r["links"]
        name = r.get("column", r["cc"])
        for stage, of_link in zip(r["stages"], link["stages"], strict=True):
            saw = f"{of_link['flows_estimated']:.1f}" if "flows_estimated" in of_link else "-"
            lines.append(
                f"{name:<18}{of_link['users']:>6}{of_link['utilization_equilibrium']:>11.0%}"
                f"{of_link['queue_equilibrium']:>7.0f}{stage['fair_error']:>9.0%}"
                f"{stage['settle_s']:>8.1f} s{saw:>12}"
            )
            name = ""
        lines.append(
            f"{'':<18}in total: {link['utilization']:.0%} used, {link['drops']} drops, at most"
            f" {link['queue_max']} packets queued\n"
        )
    lines.append("off by: largest difference of a user's rate from its fair share; settled: seconds"
                 "\nfrom the start of a stage until all windows stay near their means; queue in"
                 " packets")  # fmt: skip
    return "\n".join(lines)


def _rates(wanted: scenario.Scenario, results: list[Any]) -> str:
    from . import plot

    cells = [Cell(wanted, column, None, [r])
             for column, r in zip(wanted.column, results, strict=True)]  # fmt: skip
    path = plot.REPORT / "demo-acp.png"
    plot.save(plot.draw("rates", cells)[0], path)
    return str(path)


def _table(best: Any, runs: dict[str, list[Any]], settings: Settings) -> str:
    floor = best["flows"][0]["completion_s"]
    rows = {cc: _means(of, settings) for cc, of in runs.items()}
    rows["limit"] = _means([best], settings)
    slowest = max(row["time"] for row in rows.values())
    lines = [
        f"{'':<10}{'time':>10}{'95 %':>13}{'x limit':>9}{'goodput':>13}"
        f"{'retrans':>9}{'queue':>8}{'max':>7}"
    ]
    for name, row in rows.items():
        time = f"{'>' if row['open'] else ''}{row['time']:.2f} s"
        lines.append(
            f"{name:<10}{time:>10}{row['between']:>13}{row['time'] / floor:>9.2f}"
            f"{rate(row['goodput']):>13}{row['retransmits']:>9.0f}{row['queue']:>8.0f}"
            f"{row['queue_max']:>7.0f}  {_bar(row['time'] / slowest)}"
        )
        if row["open"]:
            lines[-1] += f" {row['open']} of {len(runs[name])} not done after {settings.end:g} s"
    least = _least_s(settings)
    lines.append(f"{'physical':<10}{f'{least:.2f} s':>10}{'':>13}{least / floor:>9.2f}")
    lines.append(
        "\nlimit: slow start without loss, and with a buffer that is never full;\nphysical: all"
        " bytes at the link's rate, plus 1.5 round trips;\nqueue, max: mean and maximum, packets;\n"
        f"95 %: interval of the mean time; of {len(SEEDS)} seeds it is from minimum to maximum"
    )
    return "\n".join(lines)


def _least_s(settings: Settings) -> float:
    """The shortest possible transfer, s: handshake, all bytes at the link's rate, and the one-way
    delay of the last byte."""
    assert settings.bytes is not None
    return settings.bytes * 8 / settings.rate + 1.5 * settings.min_rtt


def _means(results: list[Any], settings: Settings) -> dict[str, Any]:
    """Means over the runs of a congestion control.

    A flow that did not finish counts with the duration of the run.
    """
    flows = [r["flows"][0] for r in results]
    links = [r["links"][0] for r in results]

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    took = intervals.mean([f.get("completion_s", settings.end) for f in flows])
    return {
        "time": took.value,
        "between": "" if took.low is None or took.same else f"{took.low:.2f}-{took.high:.2f}",
        "open": sum("completion_s" not in f for f in flows),
        "goodput": mean([f["goodput_bps"] for f in flows]),
        "retransmits": mean([f["retransmits"] for f in flows]),
        "queue": mean([link["queue_mean"] for link in links]),
        "queue_max": max(link["queue_max"] for link in links),
    }


def _bar(share: float) -> str:
    """A bar for a share from 0 to 1, with eighths of a character if the terminal supports UTF-8."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    if encoding != "utf8":
        return "#" * max(1, round(share * BAR))
    eighths = max(1, round(share * BAR * 8))
    parts = ("", *"\u258f\u258e\u258d\u258c\u258b\u258a\u2589")
    return "\u2588" * (eighths // 8) + parts[eighths % 8]


def _picture(runs: dict[str, list[Any]]) -> str:
    from . import plot

    first = [of[0] for of in runs.values()]
    until = min(30.0, max(r["virtual_s"] for r in first))
    path = plot.REPORT / "demo.png"
    plot.save(plot.windows_and_queue(first, "100 MB, seed 1", until), path)
    return str(path)
