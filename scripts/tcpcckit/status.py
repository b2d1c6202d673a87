# SPDX-License-Identifier: GPL-2.0
"""tcpcc status: the modules, and their use by namespaces, routes, sockets and devices."""

import time
from collections import Counter
from dataclasses import asdict
from typing import Any

from . import bpf, choose, system
from .system import Namespace, TcpccError

Json = dict[str, Any]


def of_namespace(space: Namespace) -> Json:
    """The default, routes, sockets and qdiscs of a namespace."""
    return {
        "name": space.name,
        "default": system.sysctl("tcp_congestion_control", space.path),
        "routes": [
            {"destination": route["dst"], "cc": cc}
            for route in system.routes(space.path)
            if (cc := system.metrics(route).get("congestion"))
        ],
        "sockets": dict(sorted(Counter(flow.cc for flow in system.flows(space.path)).items())),
        "qdiscs": [
            {"device": one["dev"], "kind": one["kind"], "parent": one.get("parent", "root"),
             "drops": one.get("drops", 0), "backlog_packets": one.get("qlen", 0)}
            for one in system.qdiscs(space.path) if one["kind"] != "noqueue"
        ],
    }  # fmt: skip


def status() -> Json:
    """The full status.  Other namespaces need root; one that vanishes meanwhile is left out."""
    kernel = system.kernel()
    shown: Json = {
        "kernel": kernel.release,
        "loads_modules": kernel.loads_modules,
        "secure_boot": kernel.secure_boot,
        "lockdown": kernel.lockdown,
        "modules": {name: {"installed": name in kernel.installed, "loaded": name in kernel.loaded,
                           "users": kernel.loaded.get(name, 0)} for name in system.MODULES},
        "bpf": {sender: bpf.parameters(sender) for sender in bpf.loaded()} if system.is_root()
        else None,
        "available": [*kernel.available],
        "allowed": [*kernel.allowed],
        "persistent": choose.persistent() or None,
        "tries": [asdict(made) | {"alive": alive, "seconds_left": max(0, made.until - time.time())}
                  for made, alive in choose.tries()],
        "namespaces": [],
    }  # fmt: skip
    for space in system.namespaces():
        try:
            shown["namespaces"].append(of_namespace(space))
        except TcpccError:
            if space.path is None:
                raise
    return shown


def text(shown: Json) -> str:
    """The status as text."""
    modules = shown["modules"]
    installed = [name for name, of in modules.items() if of["installed"]]
    loaded = [f"{name} ({of['users']} in use)" if of["users"] else name
              for name, of in modules.items() if of["loaded"]]  # fmt: skip
    boot = {True: ", Secure Boot", False: ", no Secure Boot", None: ""}[shown["secure_boot"]]
    lock = f", lock-down {shown['lockdown']}" if shown["lockdown"] != "none" else ""
    takes = "loads modules" if shown["loads_modules"] else "cannot load modules"
    lines = [
        f"kernel      {shown['kernel']}, {takes}{boot}{lock}",
        f"installed   {_list(installed) or 'no module of tcpcc for this kernel: see tcpcc doctor'}",
        f"loaded      {_list(loaded) or 'no module of tcpcc'}",
        *([f"as BPF      {_list(list(shown['bpf']))}"] if shown.get("bpf") else []),
        f"allowed     for every process: {', '.join(shown['allowed'])}",
        f"after boot  {shown['persistent'] or 'the default of the system (tcpcc set changes it)'}",
    ]
    for made in shown["tries"]:
        left = f"ends in {made['seconds_left']:.0f} s" if made["alive"] else \
            "killed: the next tcpcc command of root undoes it"  # fmt: skip
        lines.append(f"try         {made['host']}: {made['cc']}, {left}")
    for space in shown["namespaces"]:
        name = "here" if space["name"] == "this" else f"namespace {space['name']}"
        lines += ["", f"{name}: {space['default']} is the default"]
        lines += [f"  route     {route['destination']}: {route['cc']}" for route in space["routes"]]
        counts = ", ".join(f"{cc} {n}" for cc, n in space["sockets"].items())
        lines.append(f"  sockets   {counts or 'none'}")
        lines += [
            f"  qdisc     {one['device']}: {one['kind']} ({one['parent']}),"
            f" {one['drops']} dropped, {one['backlog_packets']} queued"
            for one in space["qdiscs"]
        ]
    if not system.is_root():
        lines += ["", "only root can see other network namespaces"]
    return "\n".join(lines)


def _list(names: list[str], width: int = 84) -> str:
    """Names as text, wrapped into lines."""
    lines = [""]
    for name in names:
        if lines[-1] and len(lines[-1]) + len(name) + 2 > width:
            lines.append("")
        lines[-1] += f"{', ' * bool(lines[-1])}{name}"
    return "\n            ".join(lines)
