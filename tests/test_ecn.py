# SPDX-License-Identifier: GPL-2.0
"""Each sender where routers mark packets (ECN) instead of dropping them.

The sender answers the marks: the queue is at its target, almost nothing is dropped, and the link is
used as Reno uses it.
"""

from pathlib import Path
from statistics import mean

import pytest

from conftest import runs_made_once, wanted_kernels
from labkit.measure.job import Job, identity
from labkit.measure.runner import run_all
from labkit.measure.series import series
from labkit.model import scenario
from labkit.model.settings import ETHERNET_HEADER
from labkit.world import kernel
from labkit.world import laboratory as laboratory_module
from labkit.world.laboratory import Laboratory
from labkit.world.plan import compile_plan
from labkit.world.queues import NEWER
from test_hosts import SENDERS

# Deep buffers, so that marks limit the queue, and not the end of the buffer.
PATH = ("rate=20mbit", "rtt=40ms", "buffer=8bdp", "duration=10", "sample=10ms", "ecn=on")
# red's thresholds depend on the buffer.  pie drops instead of marking if its probability is above a
# tenth: Reno's first overshoot in a deep buffer is over only after ten seconds.
CASES = {
    # On faster paths ccpd_path's own queue is shorter than any target.
    "fq_codel, 5 Mb/s": ("qdisc=fq_codel", "rate=5mbit"),
    "codel, 4 flows": ("qdisc=codel", "flows=4"),
    "cake": ("qdisc=cake",),
    "pie": ("qdisc=pie", "buffer=2bdp"),
    "pie, deep": ("qdisc=pie",),
    "red": ("qdisc=red", "buffer=2bdp"),
}
# FAST keeps alpha packets per flow in the queue, marked or not; by default 200.  These values make
# a queue of 5 ms for all flows together.
FAST = {case: 2 if case in ("fq_codel, 5 Mb/s", "codel, 4 flows") else 8 for case in CASES}

# Largest mean queue, s: twice the target.  fq_codel, codel and cake mark if the queue was never
# below 5 ms for 100 ms, so a queue that does not run empty has at least 5 ms.  A window of which a
# mark leaves 0.85 (RFC 8511) adds half of its swing, 0.15 / 2 of the rtt with the queue: 3.7 ms.  A
# sender that keeps less of its window empties the queue.  pie's target is the mean itself, 15 ms.
# red's mean is between its min and its max; max is a quarter of the buffer.
MOST_S = {"fq_codel": 0.01, "codel": 0.01, "cake": 0.01, "pie": 0.03, "red": 0.02}
# The loss rate with which Reno has a window of 66 packets, as on 20 Mb/s: 3 / 2 / 66^2.  With as
# many drops, drops limit the sender, not marks.
MOST_DROPPED = 3.4e-4
# Share of what Reno uses there; Reno halves its window at each mark
LEAST_USED = 0.95
# Here the use of the link depends on the exact round trip, so one path shows little: with red
# nist_ctcp uses 0.77 to 0.89 of the link (Reno 0.85 to 0.88), with codel ccpd_path 0.93 to 0.95.
# The mean over ten paths with these round trips is compared with Reno's mean over the same paths.
NEAR = {("nist_ctcp", "red"), ("ccpd_path", "codel, 4 flows")}
OTHERS_MS = (35, 36, 37, 38, 39, 41, 42, 43, 44, 45)

UNMET = {
    ("bbr", "fq_codel, 5 Mb/s"): "takes no notice of marks",
    ("bbr", "codel, 4 flows"): "takes no notice of marks",
    ("mccp", "codel, 4 flows"): "NCD begins fast probing anew although routers mark (without it,"
    " mccp_ncd=0, the queue is 8 ms)",
    **dict.fromkeys(
        [(cc, "red") for cc in ("ccpd", "ccp")],
        "a mark ends slow start at a queue of 1 BDP, and Eq. 3 fills a path only when it has"
        " seen 1 + 1/Kp",
    ),
    **dict.fromkeys(
        [(cc, "pie, deep") for cc in ("ccpd", "ccp")],
        "when slow start has overflowed it pie drops and marks no more, and the paper's law does"
        " not give way to losses",
    ),
}


@pytest.fixture(scope="module")
def measured():
    """measured(case, cc, rtt_ms): the result of that run, made once."""

    def settings(case: str, cc: str, rtt_ms: int = 40) -> tuple[list[str], str]:
        alpha = [f"param=tcp_nist_fast.alpha={FAST[case]}"] if cc == "nist_fast" else []
        return [*PATH, *CASES[case], *alpha, f"rtt={rtt_ms}ms"], cc

    return runs_made_once(settings)


def _pairs():
    """Every sender in every case; in "pie, deep" only the paper's laws, and CUBIC and Reno."""
    for case in CASES:
        for cc in ("cubic", "reno", "ccpd", "ccp") if case == "pie, deep" else ("cubic", *SENDERS):
            why = UNMET.get((cc, case))
            marks = [pytest.mark.xfail(strict=True, reason=why)] if why else []
            yield pytest.param(case, cc, marks=marks)


def _dropped(r: dict) -> float:
    """Share of packets that the bottleneck dropped in the second half of the run."""
    rows = series(Path(r["series"]) / "links.csv", (0, 4, 6))
    sent, drops = rows[-1, 1:] - rows[rows[:, 0] <= r["virtual_s"] / 2][-1, 1:]
    return drops / (sent + drops)


@pytest.mark.parametrize(("case", "cc"), list(_pairs()))
def test_marks_are_answered(measured, case, cc):
    """In the second half of the run; in the first half the sender answers slow start's queue."""
    r = measured(case, cc)
    (link,) = r["links"]
    most_s = MOST_S[case.partition(",")[0]]
    frame_s = (r["settings"]["mtu"] + ETHERNET_HEADER) * 8 / link["rate_bps"]
    queue_s = link["queue_equilibrium"] * frame_s
    assert queue_s <= most_s
    assert link["marks"] or queue_s < most_s / 2, "the queue is above its target, unmarked"
    assert _dropped(r) <= MOST_DROPPED
    paths = OTHERS_MS if (cc, case) in NEAR else (40,)
    used, by_reno = (
        mean(measured(case, who, ms)["links"][0]["utilization_equilibrium"] for ms in paths)
        for who in (cc, "reno")
    )
    assert used >= LEAST_USED * by_reno


def test_marks_are_counted_over_ipv6_too(laboratory):
    name = scenario.load("dumbbell")
    settings = scenario.override(name, [*PATH, *CASES["cake"], "duration=2", "ip=6"])
    (r,) = run_all(laboratory, [Job(name, settings, "reno", 1)])
    assert r["links"][0]["marks"]


def test_warn_marks_behind_a_third_of_the_buffer(laboratory):
    """Nothing is dropped.  Reno halves its window at each mark, so its mean queue is below that."""
    name = scenario.load("dumbbell")
    settings = scenario.override(name, [*PATH, "buffer=2bdp", "qdisc=warn"])
    (r,) = run_all(laboratory, [Job(name, settings, "reno", 1)])
    (link,) = r["links"]
    assert link["marks"] and not _dropped(r)
    assert 0 < link["queue_equilibrium"] < r["settings"]["buffer"] / 3


def test_cake_holds_the_buffer(laboratory):
    """cake's limit is in bytes of memory; the lab computes it for 50 packets.  One more may fit."""
    name = scenario.load("dumbbell")
    sets = ["buffer=50", "qdisc=cake", "duration=0.5", "sample=100us"]
    job = Job(name, scenario.override(name, sets), "reno", 1)
    (link,) = run_all(laboratory, [job])[0]["links"]
    assert link["drops"]
    assert 50 <= link["queue_max"] <= 51


# dualpi2 ----------------------------------------------------------------------------------------

# Reno with L4S packets, which have another code point of ECN than those of classic flows.  In 7.2
# no congestion control of the kernel sends them.
L4S = """
#include <linux/module.h>
#include <linux/netfilter_ipv4.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

static struct tcp_congestion_ops l4s __read_mostly = {
	.name = "l4s",
	.owner = THIS_MODULE,
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static unsigned int l4s_hook(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	const struct sock *sk = skb->sk;

	if (!sk || !sk_fullsock(sk) || !sk_is_tcp(sk) || inet_csk(sk)->icsk_ca_ops != &l4s)
		return NF_ACCEPT;
	if ((ip_hdr(skb)->tos & INET_ECN_MASK) == INET_ECN_ECT_0)
		ipv4_change_dsfield(ip_hdr(skb), (__u8)~INET_ECN_MASK, INET_ECN_ECT_1);
	return NF_ACCEPT;
}

static const struct nf_hook_ops l4s_hooks = {
	.hook = l4s_hook, .pf = NFPROTO_IPV4, .hooknum = NF_INET_LOCAL_OUT,
};

static int __net_init l4s_enter(struct net *net)
{
	return nf_register_net_hook(net, &l4s_hooks);
}

static void __net_exit l4s_leave(struct net *net)
{
	nf_unregister_net_hook(net, &l4s_hooks);
}

static struct pernet_operations l4s_net = { .init = l4s_enter, .exit = l4s_leave };

static int __init l4s_init(void)
{
	int status = register_pernet_subsys(&l4s_net);

	return status ?: tcp_register_congestion_control(&l4s);
}

static void __exit l4s_exit(void)
{
	tcp_unregister_congestion_control(&l4s);
	unregister_pernet_subsys(&l4s_net);
}

module_init(l4s_init);
module_exit(l4s_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reno with L4S packets");
"""

# Reno needs an acknowledgment for each packet for the constant in its formula.
DUAL = ("rate=40mbit", "rtt=20ms", "qdisc=dualpi2", "ecn=on", "ack=every", "buffer=1000")
FRAME_S = 1514 * 8 / 40e6


@pytest.fixture(scope="module")
def newer(tmp_path_factory) -> Laboratory:
    """The newest wanted kernel, with the module L4S."""
    versions = [v for v in wanted_kernels() if kernel.is_since(v, NEWER["dualpi2"])]
    if not versions:
        pytest.skip("dualpi2 needs Linux 6.17 or later: make check-kernels runs it")
    if not kernel.available(versions[-1]):
        pytest.skip(f"no linux-source-{versions[-1]}")
    module = tmp_path_factory.mktemp("module") / "l4s.c"
    module.write_text(L4S)
    return Laboratory(versions[-1], modules=(module,))


def _dual(laboratory: Laboratory, *sets: str) -> dict:
    name = scenario.load("dumbbell")
    settings = scenario.override(name, [*DUAL, *sets])
    (r,) = run_all(laboratory, [Job(name, settings, "reno", 1)])
    return r


@pytest.mark.parametrize(("options", "target_ms"), [((), 15), (("router=target 30ms",), 30)])
def test_dualpi2_keeps_its_target(newer, options, target_ms):
    """The mean queue of classic packets is the target, tc's or another, and marks alone limit the
    windows after the start.

    With a share p of marks Reno's mean window is sqrt(3 / 2p).  A flow's window is its share of
    what path and queue hold.
    """
    r = _dual(newer, "flows=4", "duration=60", *options)
    (link,) = r["links"]
    assert link["queue_equilibrium"] * FRAME_S == pytest.approx(target_ms / 1e3, rel=0.2)
    assert not _dropped(r)
    window = (0.02 + target_ms / 1e3) / FRAME_S / 4
    share = link["marks"] / (60 / FRAME_S)
    assert 0.5 < share / (1.5 / window**2) < 2


def test_dualpi2_has_two_queues(newer):
    """An L4S flow waits for no longer than its threshold of 1 ms, and a classic one beside it for
    the target of 15 ms.

    An L4S packet is marked if it has waited for 1 ms.  It may wait for three packets more: one that
    is on the link, its own time there, and one of the other queue, as the scheduler gives a tenth
    of the link to that.
    """
    r = _dual(newer, "mix=l4s:1,cubic:1", "duration=30")
    quick, classic = (flow["rtt_mean_s"] - 0.02 for flow in r["flows"])
    assert 0 < quick < 1e-3 + 3 * FRAME_S
    assert classic == pytest.approx(0.015, rel=0.2)
    (link,) = r["links"]
    assert link["marks"] and not link["drops"]
    assert link["utilization_equilibrium"] > 0.95


def test_dualpi2_has_the_whole_buffer(newer):
    """By default it has memory for twice the packets' bytes; small packets take more."""
    r = _dual(newer, "mtu=576", "buffer=50", "router=target 1s", "ecn=off", "duration=2")
    (link,) = r["links"]
    assert link["drops"] and 50 <= link["queue_max"] <= 51


def test_dualpi2_has_a_tc_that_knows_it(laboratory, monkeypatch):
    """It is part of the run's key; a run with another qdisc has the host's tc."""
    name = scenario.load("dumbbell")
    new, old = (Job(name, scenario.override(name, [f"qdisc={qdisc}"]), "reno", 1)
                for qdisc in ("dualpi2", "pie"))  # fmt: skip
    for job in (new, old):
        plan = compile_plan(job.settings, job.cc, 1)
        assert plan.newer_tc == ('PATH="$PWD/newer:$PATH"' in plan.setup) == (job is new)
    monkeypatch.setattr(laboratory_module, "_newer_tc", lambda: {"tc": "one"})
    keys = [identity(laboratory, job) for job in (new, old)]
    monkeypatch.setattr(laboratory_module, "_newer_tc", lambda: {"tc": "another"})
    again = [identity(laboratory, job) for job in (new, old)]
    assert keys[0] != again[0] and keys[1] == again[1]
