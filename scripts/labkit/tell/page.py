# SPDX-License-Identifier: GPL-2.0
"""The report's page: one file, with its pictures and raw results in it."""

import base64
import html
import io
import json
import shlex
from collections.abc import Callable
from statistics import fmean, median
from typing import Any

import matplotlib.pyplot as plt

from ..measure import cells as of_cells
from ..measure import intervals
from ..measure.intervals import Interval
from ..measure.metrics import split
from ..model.scenario import Scenario
from . import claims, findings, plot
from .claims import Claim, Judge, Paper, Shown
from .outcome import Cell, Measured, Report

e = html.escape

MANY = 40  # findings of a scenario, or rows of its table, that are folded


# Numbers ----------------------------------------------------------------------------------------


def _rate(bps: float) -> str:
    for size, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if bps >= size:
            return f"{bps / size:.3g} {unit}"
    return f"{bps:.3g} b/s"


def _plain(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _share(value: float) -> str:
    return f"{value * 100:.3g} %"


# What metrics are called in a table, and how their numbers are written.
_METRICS: dict[str, tuple[str, Callable[[float], str]]] = {
    "completion_s": ("time, s", lambda v: f"{v:.2f}" if v < 100 else f"{v:.1f}"),
    "goodput_bps": ("goodput", _rate),
    "utilization": ("utilization", lambda v: f"{v:.3f}"),
    "jain": ("Jain's index", lambda v: f"{v:.3f}"),
    "jain_equilibrium": ("Jain's index, second half", lambda v: f"{v:.3f}"),
    "window_jain": ("Jain's index of windows", lambda v: f"{v:.3f}"),
    "queue_mean": ("mean queue", _plain),
    "queue_max": ("max queue", _plain),
    "capacity_error": ("capacity off by", _share),
    "buffer_error": ("buffer off by", _share),
    "level_error": ("level off by", _share),
}
_ALWAYS = ("goodput_bps", "retransmits", "utilization", "queue_mean", "queue_max", "drops")


def _words(metric: str) -> str:
    found = split(metric)
    name = _METRICS.get(found.base, (found.base.replace("_", " "),))[0]
    flows = found.which.replace("link", "link ")
    if found.which.isdecimal():
        flows = f"flow {int(found.which) + 1}"
    elif found.which[:1].isdecimal():
        flows = "flows {} to {}".format(*(int(n) + 1 for n in found.which.split("-")))
    stage = "" if found.stage is None else f"stage {found.stage + 1}"
    return ", ".join(filter(None, (name, flows, stage)))


def _text(metric: str, value: float) -> str:
    return _METRICS.get(split(metric).base, ("", _plain))[1](value)


def _bound(low: float, high: float) -> str:
    if low == float("-inf"):
        return f"at most {_plain(high)}"
    return f"at least {_plain(low)}" if high == float("inf") else f"{_plain(low)} to {_plain(high)}"


def _seeds(n: int) -> str:
    return f"{n} seeds" if n > 1 else "one seed"


def _between(found: Interval, text: Callable[[float], str]) -> str:
    """The interval, and how many seeds it is of where these are few."""
    if found.low is None:
        return "one seed" if found.n == 1 else ""
    few = f" (n={found.n})" if found.n <= intervals.FEW else ""
    return f"{text(found.low)} to {text(found.high)}{few}"


# Findings ---------------------------------------------------------------------------------------


def _finding(m: Measured) -> str:
    f = m.finding
    state, mark = {
        True: ("holds", "holds"), False: ("fails", "does not hold"), None: ("open", "not measured")
    }[m.holds]  # fmt: skip
    name = m.scenario.name
    links = [f'<a href="#{name}-table">table</a>'] if m.scenario.column else []
    if m.scenario.plot:
        links.append(f'<a href="#{name}-picture">picture</a>')
    if m.scenario.column:
        links.append(f'<a href="#{name}-raw">raw</a>')
    note = f"<p class=note>{e(_unwrap(f.note))}</p>" if f.note else ""
    return (
        f'<li class="{state}"><span class=mark>{mark}</span> {e(f.claim)}.'
        f'<p>{_numbers(m)}. <a href="#{name}">{name}</a>: {", ".join(links)}</p>{note}</li>'
    )


def _numbers(m: Measured) -> str:
    parts = []
    if m.finding.paper is not None:
        parts.append(f"paper {_plain(m.finding.paper)}")
    if m.value is not None:
        parts.append(f"measured <b>{_plain(m.value)}</b>{_spread(m.interval)}")
    parts.append(f"wanted {_bound(m.finding.low, m.finding.high)}")
    if m.why_not:
        parts.append(e(m.why_not))
    if m.unfinished:
        parts.append(f"{m.unfinished} of {m.runs} runs did not finish: counted as the time given")
    return "; ".join(parts)


def _spread(found: Interval | None) -> str:
    if not found:
        return ""
    if found.low is None:
        return f" ({_seeds(found.n)})"
    return f" (95 %: {_plain(found.low)} to {_plain(found.high)}; {_seeds(found.n)})"


def _findings(measured: list[Measured]) -> str:
    """By paper and scenario; what does not hold before what does."""
    parts = []
    for paper in dict.fromkeys(m.scenario.paper for m in measured):
        parts.append(f"<h3>{e(paper or 'Other')}</h3>")
        mine = [m for m in measured if m.scenario.paper == paper]
        for name in dict.fromkeys(m.scenario.name for m in mine):
            of = sorted((m for m in mine if m.scenario.name == name), key=lambda m: m.holds is True)
            parts.append(f"<h4>{e(of[0].scenario.title)}</h4>")
            held = sum(m.holds is True and not m.finding.note for m in of)
            if held <= MANY:
                parts.append(f"<ul class=findings>{''.join(map(_finding, of))}</ul>")
                continue
            # What needs no word comes last, in small.
            of.sort(key=lambda m: m.holds is True and not m.finding.note)
            parts.append(
                f"<ul class=findings>{''.join(map(_finding, of[:-held]))}</ul>"
                f"<details><summary>{held} more that hold</summary>"
                f"<ul class=findings>{''.join(map(_finding, of[-held:]))}</ul></details>"
            )
    return "\n".join(parts)


# Tables -----------------------------------------------------------------------------------------


def _main_metrics(of: Scenario) -> list[str]:
    """What the table begins with: what the paper has numbers of."""
    if "pairs" in of.plot:
        return ["completion_s:0", "completion_s:1"]
    wanted = dict.fromkeys(x.metric for x in of.expected)
    wanted |= dict.fromkeys(
        p.partition(":")[2] for p in of.plot if p.startswith(("sweep:", "links:"))
    )
    return list(wanted) or ["completion_s" if "bytes" in of.settings else "goodput_bps"]


def _other_metrics(of: Scenario, cells: list[Cell]) -> list[str]:
    main = _main_metrics(of)
    restricted = {split(m).base for m in main}
    wanted = [*_ALWAYS, *(m for m in of.metrics if m not in restricted)]
    if any(len(run["flows"]) > 1 for cell in cells for run in cell.runs):
        wanted.append("jain")
    wanted += [f"{p.partition(':')[2]}_error" for p in of.plot if p.startswith("estimates:")]
    return [m for m in dict.fromkeys(wanted) if m not in main]


def _measured_cells(cell: Cell, metric: str, compared: bool) -> str:
    """Mean, its interval, median, and least to most of a cell's runs; the paper beside them."""
    values = [findings.value(cell.scenario, run, metric) for run in cell.runs]
    done = [v for v in values if v is not None]
    paper = next(iter(plot.expected(cell, metric)), None)
    texts = []
    if compared:
        texts.append(_paper(paper, metric) if paper else "")
    open_ = len(values) - len(done)
    if done:
        texts.append(f"<b>{_text(metric, fmean(done))}</b>")
        if cell.scenario.seeds > 1:
            between = _between(intervals.mean(done), lambda v: _text(metric, v))
            texts += [between, _text(metric, median(done)), _range(metric, done)]
    else:
        texts += ["-"] * (4 if cell.scenario.seeds > 1 else 1)
    if open_:
        texts[-1] += f" <em>{open_} of {len(values)} not done</em>"
    if compared:
        texts += _ratio(paper, fmean(done), bool(open_)) if paper and done else ["", ""]
    return "".join(f"<td>{t}</td>" for t in texts)


def _mean(metric: str, values: list[float]) -> str:
    """And its interval, in small."""
    if not values:
        return ""
    found = intervals.mean(values)
    text = _text(metric, found.value)
    if found.low is None:
        return text
    return f"{text} <small>{_between(found, lambda v: _text(metric, v))}</small>"


def _range(metric: str, values: list[float]) -> str:
    return f"{_text(metric, min(values))} to {_text(metric, max(values))}"


def _paper(expected: Any, metric: str) -> str:
    text = _text(metric, expected.mean)
    if len(expected.trials) > 1:
        text += f" ({_range(metric, expected.trials)})"
    return text


def _ratio(expected: Any, mean: float, unfinished: bool) -> list[str]:
    if expected.within:
        beside, within = f"{mean - expected.mean:+.2f}", f"within {expected.within:g}"
    else:
        ratio = mean / expected.mean if expected.mean else float("nan")
        beside, within = f"{ratio:.2f}", f"within {expected.tolerance:.0%}"
    good = expected.near(mean) and not unfinished
    mark = f'<span class="yes">✓ {within}' if good else f'<span class="no">✗ not {within}'
    return [beside, f"{mark}</span>"]


def _table(report: Report, of: Scenario, cells: list[Cell]) -> str:
    main, others = _main_metrics(of), _other_metrics(of, cells)
    others = [
        m for m in others
        if any(findings.value(of, run, m) is not None for cell in cells for run in cell.runs)
    ]  # fmt: skip
    head = ["<th rowspan=2></th>"]
    below = []
    for metric in main:
        compared = any(x.metric == metric for x in of.expected)
        several = ["mean", "95 %", "median", "least to most"]
        shown = ["paper (trials)"] * compared
        shown += several if of.seeds > 1 else ["measured, one seed"]
        shown += ["to paper", ""] * compared
        head.append(f"<th colspan={len(shown)}>{e(_words(metric))}</th>")
        below += shown
    head += [f"<th rowspan=2>{e(_words(m))}</th>" for m in others]
    rows = [f"<tr>{''.join(head)}</tr>", f"<tr>{''.join(f'<th>{b}</th>' for b in below)}</tr>"]
    for cell in cells:
        rows.append(_row(report, cell, main, others))
    return f"<div class=scroll><table>{''.join(rows)}</table></div>"


def _row(report: Report, cell: Cell, main: list[str], others: list[str]) -> str:
    key = (cell.scenario.name, cell.column.name, cell.case.name if cell.case else "")
    title = f"<td>{e(cell.name)}</td>"
    if not cell.runs:
        why = report.skipped.get(key, "failed, see above")
        return f"<tr>{title}<td colspan=99><em>{e(why)}</em></td></tr>"
    expected = cell.scenario.expected
    parts = [_measured_cells(cell, m, any(x.metric == m for x in expected)) for m in main]
    for metric in others:
        values = [findings.value(cell.scenario, run, metric) for run in cell.runs]
        parts.append(f"<td>{_mean(metric, [v for v in values if v is not None])}</td>")
    return f"<tr>{title}{''.join(parts)}</tr>"


# Scenarios --------------------------------------------------------------------------------------


def _picture(asked: str, cells: list[Cell]) -> str:
    shown = [cell for cell in cells if cell.runs]
    if not shown and plot.of_runs(asked):
        return ""
    figure, words = plot.draw(asked, shown)
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=90, pil_kwargs={"optimize": True})
    plt.close(figure)
    coded = base64.b64encode(data.getvalue()).decode()
    columns = ", ".join(dict.fromkeys(cell.column.name for cell in shown))
    alt = f"{words}: {columns}; the numbers are in the table above" if shown else words
    return (
        f'<figure><img alt="{e(alt)}" src="data:image/png;base64,{coded}">'
        f"<figcaption>{e(words)}.</figcaption></figure>"
    )


def _raw(of: Scenario, cells: list[Cell]) -> str:
    runs = [{k: v for k, v in run.items() if k != "series"} for cell in cells for run in cell.runs]
    runs = of_cells.with_cells(runs)
    coded = base64.b64encode(json.dumps(runs, separators=(",", ":")).encode()).decode()
    return (
        f'<a id="{of.name}-raw" download="{of.name}.json" '
        f'href="data:application/json;base64,{coded}">all {len(runs)} runs as JSON</a>'
    )


def _commands(of: Scenario) -> str:
    """One run of a column, and of all."""
    if not of.column:
        return f"scripts/lab report {of.name}"
    parts = ["scripts/lab run", of.name]
    case = ["--case", shlex.quote(of.case[0].name)] if of.case else []
    one = [*parts, "--cc", shlex.quote(of.column[0].name), *case]
    return f"{' '.join(one)}\n{' '.join([*parts, *case])}\nscripts/lab report {of.name}"


def _section(report: Report, of: Scenario) -> str:
    cells = report.of(of)
    about = "".join(f"<p>{e(_unwrap(p))}</p>" for p in of.about.strip().split("\n\n") if p)
    origin = ": ".join(filter(None, (of.paper, of.figure)))
    settings = " ".join(f"{k}={v}" for k, v in of.settings.items())
    table = _table(report, of, cells) if cells else ""
    if len(cells) > MANY:
        table = f"<details><summary>{len(cells)} rows</summary>{table}</details>"
    pictures = "".join(_picture(asked, cells) for asked in of.plot)
    seeds = f"seeds 1 to {of.seeds}" if of.seeds > 1 else "seed 1"
    made = f"{seeds} · {_raw(of, cells)}" if of.column else "a model, without runs"
    return f"""<section>
<h3 id="{of.name}">{e(of.title)}</h3>
<p class=origin>{e(origin)} · <code>{of.name}</code> · {made}</p>
{about}
<p><code>{e(settings)}</code></p>
<div id="{of.name}-table">{table}</div>
<div id="{of.name}-picture">{pictures}</div>
<details><summary>Run it</summary><pre>{e(_commands(of))}</pre></details>
</section>"""


def _unwrap(text: str) -> str:
    return " ".join(text.split())


def compose(report: Report, wanted: list[Scenario], measured: list[Measured]) -> str:
    """The page."""
    good = sum(m.holds is True for m in measured)
    bad = sum(m.holds is False for m in measured)
    open_ = len(measured) - good - bad
    count = f"{good} of {len(measured)} findings hold, {bad} do not"
    count += f", {open_} could not be measured" if open_ else ""
    problems = "".join(
        f"<li>{e(what)}: {e(why)}</li>" for what, why in dict.fromkeys(report.failed)
    )
    missing = "".join(
        f"<li>{e(', '.join(columns))}: {e(why)}</li>" for why, columns in report.left_out().items()
    )
    trouble = ""
    if problems:
        trouble += f"<h2>Runs that failed</h2><ul class=failed>{problems}</ul>"
    if missing:
        trouble += f"<h2>Left out</h2><ul>{missing}</ul>"
    sections = []
    for paper in dict.fromkeys(s.paper for s in wanted):
        sections.append(f"<h2>{e(paper or 'Other')}</h2>")
        sections += [_section(report, s) for s in wanted if s.paper == paper]
    return _PAGE.format(
        kernel=e(report.release), runs=report.made + report.reused, count=count,
        origins=e("; ".join(report.origins()) or "nothing"),
        trouble=trouble, findings=_findings(measured), sections="\n".join(sections), style=_STYLE,
    )  # fmt: skip


# Claims -----------------------------------------------------------------------------------------

_CLASSES = {"holds": "yes", "does not hold": "no", "holds in part": "part"}


def compose_claims(papers: list[Paper], judge: Judge, wanted: list[Scenario]) -> str:
    """The page of all that the papers have, with links to what is in the report."""
    linked = {s.name for s in wanted}
    heads = "".join(f"<th>{e(s)}</th>" for s in (*claims.STATES, "all"))
    rows, sections = [], []
    for paper in papers:
        found = claims.counts(paper.claims, judge)
        numbers = [*(found[s] for s in claims.STATES), len(paper.claims)]
        name = e(paper.name.partition(" ")[0])
        cells = "".join(f"<td>{n}</td>" for n in numbers)
        rows.append(f'<tr><td><a href="#p{name}">{e(paper.name)}</a></td>{cells}</tr>')
        body = "\n".join(_claim(c, judge, linked) for c in paper.claims)
        sections.append(
            f'<h2 id="p{name}">{e(paper.name)}: {e(paper.title)}</h2><div class=scroll>'
            f"<table class=claims><tr><th>where</th><th>what it says</th><th>state</th>"
            f"<th>shown by</th><th>what is missing</th></tr>\n{body}</table></div>"
        )
    return _CLAIMS.format(
        style=_STYLE, counts=f"<table><tr><th></th>{heads}</tr>{''.join(rows)}</table>",
        sections="\n".join(sections),
    )  # fmt: skip


def _claim(claim: Claim, judge: Judge, linked: set[str]) -> str:
    entry, state = claim.entry, claim.state(judge)
    by = "<br>".join(_shown(s, judge, linked) for s in claim.shown)
    missing = [f"to do: {entry.todo}"] * bool(entry.todo)
    missing += [f"not shown: {entry.why_not}"] * bool(entry.why_not)
    return (
        f"<tr><td>{e(entry.at)}</td><td>{e(entry.says)}</td>"
        f'<td class="{_CLASSES.get(state, "")}">{e(state)}</td><td>{by}</td>'
        f"<td>{'<br>'.join(map(e, missing))}</td></tr>"
    )


def _shown(shown: Shown, judge: Judge, linked: set[str]) -> str:
    place, colon, what = shown.where.partition(": ")
    if place in linked:
        place = f'<a href="index.html#{place}">{place}</a>'
    words = shown.words(judge)
    return f"{place}{colon}{e(what)}" + (f" ({words})" if words else "")


_STYLE = """
:root { color-scheme: light dark; --line: #ccc; --soft: #f3f3f3; --good: #0a6b1f; --bad: #b00020;
  --open: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --line: #444; --soft: #222; --good: #6fcf80;
  --bad: #ff8a8a; --open: #e0b050; } body { background: #141414; color: #ddd; }
  a { color: #8ab4f8; } img { background: #fff; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 66em; margin: 1.5em auto; padding: 0 1em; }
h2 { margin-top: 2em; border-bottom: 1px solid var(--line); } h3 { margin: 2em 0 .3em; }
h4 { margin: 1.2em 0 .2em; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85em; font-variant-numeric: tabular-nums; }
td, th { padding: .15em .6em; text-align: right; white-space: nowrap; }
th { font-weight: 600; border-bottom: 1px solid var(--line); text-align: center; }
td:first-child { text-align: left; } tr:nth-child(odd) td { background: var(--soft); }
.yes, .holds .mark { color: var(--good); } .no, .fails .mark, .failed { color: var(--bad); }
.open .mark { color: var(--open); }
.findings { list-style: none; padding: 0; }
.findings li { border-left: 4px solid var(--good); padding: .1em .8em; margin: .8em 0; }
.findings li.fails { border-color: var(--bad); } .findings li.open { border-color: var(--open); }
.findings p { margin: .1em 0; font-size: .9em; } .mark { font-weight: bold; }
.mark::after { content: ":"; } .note { opacity: .85; }
.claims td { text-align: left; vertical-align: top; white-space: normal; min-width: 6em; }
.part { color: var(--open); }
.count { font-size: 1.25em; font-weight: bold; } .origin { margin: 0; font-size: .9em; }
figure { margin: 1em 0; } img { max-width: 100%; } figcaption { font-size: .85em; }
code, pre { font-size: .85em; overflow-x: auto; overflow-wrap: anywhere; }
@media print { body { max-width: none; font-size: 10pt; } section, li { break-inside: avoid; }
  details { display: block; } .scroll { overflow: visible; } td, th { white-space: normal; } }
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tcpcc: the papers' numbers beside ours</title>
<style>{style}</style>
</head>
<body>
<h1>The papers' numbers beside ours</h1>
<p>Tables and figures of published TCP congestion control, measured again with this project's
modules in a real Linux kernel (user-mode Linux {kernel}, virtual time): {runs} runs.
Each table and figure is a file in <code>scripts/scenarios</code>; the same seed gives the same
result on any machine.
Made from {origins}; each run's JSON has digests of its kernel, modules and programs, and a run is
made again when one of these, or what it executes, has changed.
<code>make report</code> makes this page again, and only the runs that have changed.</p>
<p>Where a cell was run with several seeds, &ldquo;95 %&rdquo; and the small numbers are the mean's
interval (percentile bootstrap over the seeds). With two or three seeds, which is then said, it goes
from the least to the most of them, and has the true mean in half, or three quarters, of cases.</p>
<p class=count>{count}.</p>
<p><a href="claims.html">What the papers have and claim, and what shows it</a>.</p>
{trouble}
<h2>Findings</h2>
{findings}
{sections}
</body>
</html>
"""

_CLAIMS = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tcpcc: what the papers claim, and what shows it</title>
<style>{style}</style>
</head>
<body>
<h1>What the papers claim, and what shows it</h1>
<p>All tables, figures, equations and theorems of the papers, and what their text claims, in our
words (<code>scripts/claims.toml</code>). A claim is shown by findings of <a href="index.html">the
report</a>, or tested by <code>make check</code>: then its state is not known here.</p>
<div class=scroll>{counts}</div>
{sections}
</body>
</html>
"""
