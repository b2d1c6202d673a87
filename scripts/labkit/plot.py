# SPDX-License-Identifier: GPL-2.0
"""Pictures of runs, and the report."""

import base64
import html
import io
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from . import run, scenario
from .paths import REPO
from .result import series

REPORT = REPO / "report"


def windows_and_queue(results: list[Any], title: str, until: float | None = None) -> plt.Figure:
    """Congestion window and queue over time, a line per run; until: seconds that are shown."""
    figure, (windows, queue) = plt.subplots(2, 1, sharex=True, figsize=(9, 6.5))
    for r in results:
        where = Path(r["series"])
        table = series(where / "flows.csv", (0, 1, 2))
        first = table[table[:, 1] == 0]
        lines = windows.plot(first[:, 0], first[:, 2], label=r["cc"], linewidth=1)
        table = series(where / "links.csv", (0, 2))
        queue.plot(table[:, 0], table[:, 1], color=lines[0].get_color(), linewidth=1)
    windows.set(ylabel="window of one flow, packets", title=title, yscale="log")
    queue.set(ylabel="queue, packets", xlabel="time, s", ylim=(0, None), xlim=(0, until))
    windows.legend(loc="upper right", fontsize="small")
    for axes in (windows, queue):
        axes.grid(alpha=0.3)
    figure.tight_layout()
    return figure


def save(figure: plt.Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def report(names: list[str], parallel: int) -> int:
    """Runs scenarios and writes report/index.html."""
    from .cli import Progress

    laboratory = run.Laboratory()
    wanted = [scenario.load(name) for name in names]
    known = laboratory.ccs()
    jobs, absent = [], set()
    for s in wanted:
        settings = scenario.override(s, [])
        for cc in ["mix"] if settings.mix else s.cc:
            if cc in ("mix", *known):
                jobs.append(run.Job(s, settings, cc, 1))
            else:
                absent.add(cc)
    with Progress([f"{job.scenario.name} {job.cc}" for job in jobs]) as shown:
        results = run.run_all(laboratory, jobs, parallel, None, shown.update)
    parts = [_section(s, [r for r in results if r["scenario"] == s.name]) for s in wanted]
    missing = f"<p>Not built: {', '.join(sorted(absent))}.</p>" if absent else ""
    page = _PAGE.format(kernel=laboratory.kernel.release, missing=missing, body="\n".join(parts))
    REPORT.mkdir(exist_ok=True)
    target = REPORT / "index.html"
    part = target.with_suffix(".part")
    part.write_text(page)
    part.rename(target)
    compared = [e for r in results for e in r.get("expected", [])]
    good = sum(e.get("within", False) for e in compared)
    print(f"{target}: {len(results)} runs; {good} of {len(compared)} numbers within their bounds")
    return 0


def _section(s: scenario.Scenario, results: list[Any]) -> str:
    from .cli import rate

    if not results:
        return ""
    figure = windows_and_queue(results, s.title)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=90)
    plt.close(figure)
    data = base64.b64encode(picture.getvalue()).decode()
    rows = []
    for r in results:
        flows, link = r["flows"], r["links"][0]
        done = [f["completion_s"] for f in flows if "completion_s" in f]
        cells = [
            r["cc"],
            rate(sum(f["goodput_bps"] for f in flows)),
            f"{max(done):.3f}" if done else "",
            str(sum(f["retransmits"] for f in flows)),
            f"{link['utilization']:.3f}",
            f"{link['queue_mean']:.0f}" if "queue_mean" in link else "",
            str(link.get("queue_max", "")),
            str(link["drops"]),
        ]
        rows.append("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>")
    compared = [
        f'<tr class="{"good" if e.get("within") else "bad"}"><td>{html.escape(e["source"])}</td>'
        f"<td>{html.escape(r['cc'])}</td><td>{e['metric']}</td><td>{e['paper']:g}</td>"
        f"<td>{e.get('measured', float('nan')):.4g}</td></tr>"
        for r in results
        for e in r.get("expected", [])
    ]
    origin = f"<p>Seed {html.escape(s.seed)}: {html.escape(s.figure)}.</p>" if s.seed else ""
    settings = ", ".join(f"{k}={v}" for k, v in s.settings.items())
    paper = _COMPARED.format(rows="\n".join(compared)) if compared else ""
    return f"""<h2>{html.escape(s.name)}: {html.escape(s.title)}</h2>{origin}
<p><code>{html.escape(settings)}</code></p>
<table><tr><th>cc</th><th>goodput</th><th>completion, s</th><th>retransmits</th>
<th>utilization</th><th>mean queue</th><th>max queue</th><th>drops</th></tr>
{"".join(rows)}</table>{paper}
<img alt="windows and queue" src="data:image/png;base64,{data}">"""


_COMPARED = """<h3>Beside the paper</h3>
<table><tr><th>source</th><th>cc</th><th>metric</th><th>paper</th><th>measured</th></tr>
{rows}</table>"""

_PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>tcpcc report</title>
<style>
body {{ font: 15px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }}
table {{ border-collapse: collapse; }} td, th {{ padding: .2em .8em; text-align: right; }}
td:first-child, th:first-child {{ text-align: left; }} tr:nth-child(even) {{ background: #f4f4f4; }}
.good td:last-child {{ color: #060; }} .bad td:last-child {{ color: #b00; font-weight: bold; }}
img {{ max-width: 100%; }}
</style>
<h1>tcpcc report</h1>
<p>Measured on kernel {kernel} in virtual time, one flow's seed 1, by <code>make report</code>.</p>
{missing}
{body}
</html>
"""
