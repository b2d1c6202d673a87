#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Makes the transfers of a test bed, with iperf3, and samples its links meanwhile.

Runs as the first process of its own namespaces (measure/testbed.py), so whatever it leaves behind
ends with it.  Reads the plan from standard input and writes the measurements to standard output,
both as JSON.  Exit status 3: the set-up failed, and its error is on standard error.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SAMPLE_S = 0.1
GRACE_S = 20.0  # for iperf3 to end after its time


def tool(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def busy() -> dict[str, tuple[int, int]]:
    """For each processor: busy ticks, and all ticks."""
    found = {}
    for line in Path("/proc/stat").read_text().splitlines():
        name, *ticks = line.split()
        if name.startswith("cpu") and name != "cpu":
            numbers = [int(tick) for tick in ticks[:8]]
            found[name] = (sum(numbers) - numbers[3] - numbers[4], sum(numbers))
    return found


def look(link: Json) -> Json:
    """Bytes that left a link's device, packets that it dropped, and those that wait."""
    shown = json.loads(tool("tc", "-n", link["ns"], "-j", "-s", "qdisc", "show", "dev",
                            link["dev"]))  # fmt: skip
    root = next(one for one in shown if one.get("root"))
    # if a shaper has a queue below it, that queue has the packets
    queue = next((one for one in shown if one["handle"] == "10:"), root)
    return {"bytes": root["bytes"], "drops": queue["drops"], "queue": queue["qlen"]}


def main() -> int:
    plan = json.load(sys.stdin)
    done = subprocess.run(["sh", "-c", plan["setup"]], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
    if done.returncode:
        sys.stderr.write(done.stderr)
        return 3
    servers = [
        subprocess.Popen(["ip", "netns", "exec", flow["peer"], "iperf3", "-s", "-1", "-p",
                          str(flow["port"])], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
        for flow in plan["flows"]
    ]  # fmt: skip
    for flow in plan["flows"]:
        until = time.monotonic() + 60
        wanted = ["ip", "netns", "exec", flow["peer"], "ss", "-Hltn", f"sport = :{flow['port']}"]
        while not tool(*wanted):
            if time.monotonic() > until:
                sys.stderr.write("iperf3 does not begin to listen\n")
                return 3
            time.sleep(0.05)

    before, cpu = [look(link) for link in plan["links"]], busy()
    clients: list[subprocess.Popen[str] | None] = [None] * len(plan["flows"])
    samples: list[list[Any]] = []
    begin = time.monotonic()
    last = max(flow["start_s"] for flow in plan["flows"]) + plan["end_s"] + GRACE_S
    while True:
        now = time.monotonic() - begin
        for k, flow in enumerate(plan["flows"]):
            if clients[k] is None and now >= flow["start_s"]:
                much = ["-n", str(flow["bytes"])] if flow["bytes"] else ["-t", str(flow["length"])]
                clients[k] = subprocess.Popen(
                    ["ip", "netns", "exec", flow["ns"], "iperf3", "-J", "-i", "0.5",
                     "-c", flow["dst"], "-p", str(flow["port"]), "-C", flow["cc"], *much],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                    text=True,
                )  # fmt: skip
        samples.append([now, *(look(link)["queue"] for link in plan["links"])])
        if all(client and client.poll() is not None for client in clients) or now > last:
            break
        time.sleep(SAMPLE_S)
    end = time.monotonic() - begin
    after, ticks = [look(link) for link in plan["links"]], busy()
    reports = []
    for client in clients:
        if client and client.poll() is None:
            client.kill()
        text = client.communicate()[0] if client else ""
        try:
            reports.append(json.loads(text))
        except ValueError:
            reports.append({"error": "it did not end in time"})
    for server in servers:
        server.kill()
    work = [(ticks[k][0] - cpu[k][0]) / max(1, ticks[k][1] - cpu[k][1]) for k in cpu if k in ticks]
    links = [
        {"name": link["name"], "sent_bytes": b["bytes"] - a["bytes"], "drops":
         b["drops"] - a["drops"]}
        for link, a, b in zip(plan["links"], before, after, strict=True)
    ]  # fmt: skip
    json.dump({"end_s": end, "reports": reports, "links": links, "samples": samples,
               "busiest_cpu": max(work)}, sys.stdout)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
