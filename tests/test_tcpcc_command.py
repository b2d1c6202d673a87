# SPDX-License-Identifier: GPL-2.0
"""The command tcpcc: how it reads recorded outputs of ss, ip, tc and ethtool, and what it does in a
kernel (tests/selftests/tcpcc.sh)."""

import json
import re
import signal
import subprocess
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from conftest import REPO, assert_ktap
from tcpcckit import choose, doctor, status, system, units, watch
from tcpcckit.system import Flow, Kernel, TcpccError

# Recorded: iproute2 6.1, Linux 6.12
SS_CCPD_PATH = """ESTAB 0      1828216 192.0.2.1:56032 192.0.2.2:5001 \
skmem:(r0,rb131072,t0,tb2750976,f584,w1859000,o0,bl0,d0) ccpd_path wscale:7,7 rto:220 \
rtt:10.064/0.124 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:231 bytes_sent:6646520 \
bytes_acked:6475657 segs_out:4594 segs_in:361 data_segs_out:4592 \
bbr:(bw:145957760bps,mrtt:10) send 265888712bps lastrcv:570 pacing_rate 155080120bps \
delivery_rate 131661504bps delivered:4475 busy:570ms rwnd_limited:20ms(3.5%) unacked:118 \
rcv_space:14480 rcv_ssthresh:64088 notsent:1657352 minrtt:10 snd_wnd:5423104
"""
SS_CUBIC_V6 = """ESTAB 0      1468308 [2001:db8::1]:40924 [2001:db8::2]:5003 \
skmem:(r0,rb131072,t53072,tb2142720,f3436,w1491604,o0,bl0,d0) cubic wscale:7,7 rto:220 \
rtt:14.36/0 mss:1428 pmtu:1500 rcvmss:536 advmss:1428 cwnd:227 ssthresh:227 \
bytes_sent:6783000 bytes_retrans:98532 bytes_acked:6504541 segs_out:4755 segs_in:230 \
data_segs_out:4753 send 180588301bps lastrcv:580 pacing_rate 216692752bps \
delivery_rate 94320424bps delivered:4559 busy:580ms rwnd_limited:20ms(3.4%) unacked:126 \
retrans:0/69 rcv_space:14280 rcv_ssthresh:64108 notsent:1288380 minrtt:10 snd_wnd:3720192
"""
SS_RECEIVER = """ESTAB 0      0      192.0.2.2:5001 192.0.2.1:56032 \
skmem:(r0,rb6064771,t20,tb46080,f0,w0,o0,bl0,d0) ts sack ecn cubic wscale:7,7 rto:210 rtt:10/5 \
ato:40 mss:1448 pmtu:1500 rcvmss:1448 advmss:1448 cwnd:10 bytes_received:6646520 segs_out:370 \
segs_in:4594 data_segs_in:4592 send 11584000bps lastsnd:570 pacing_rate 23168000bps delivered:1 \
app_limited rcv_rtt:10 rcv_space:287784 rcv_ssthresh:5423014 minrtt:10 snd_wnd:64256
"""
VIEW = """192.0.2.1:56032 192.0.2.2:5001 cc=ccpd_path mode=competing capacity_bps=145957760 \
claim_bps=135879112 rtt_min_us=10000 rtt_max_us=48811 buffer_segs=489 level_segs=1
"""
QDISCS = json.loads(
    '[{"kind":"htb","handle":"1:","dev":"veth0","root":true,"refcnt":2,"options":{"r2q":10,'
    '"default":"0x1"},"bytes":63029538,"packets":41653,"drops":2,"overlimits":3425,"requeues":0,'
    '"backlog":0,"qlen":0},{"kind":"fq_codel","handle":"8002:","dev":"veth0","parent":"1:1",'
    '"options":{"limit":10240},"bytes":63029538,"packets":41653,"drops":2,"overlimits":0,'
    '"requeues":0,"backlog":0,"qlen":0}]'
)
FEATURES = """Features for veth0:
rx-checksumming: on
	tx-checksum-ipv4: off [fixed]
tcp-segmentation-offload: on
	tx-tcp-segmentation: on
generic-segmentation-offload: on
generic-receive-offload: off
large-receive-offload: off [fixed]
"""
MODULES_DEP = """kernel/net/ipv4/tcp_htcp.ko.xz:
kernel/net/sched/sch_fq.ko.xz:
updates/dkms/tcp_ccpd.ko.xz:
updates/dkms/tcp_acp_host.ko: updates/dkms/tcp_feedback.ko
"""
MODULES_ALIAS = """# Aliases extracted from modules themselves.
alias tcp_acp tcp_acp_host
alias tcp_ccp tcp_ccpd
alias pci:v00008086d*sv*sd*bc*sc*i* e1000
"""

KERNEL = Kernel("6.12.9-amd64", True, {name: name for name in system.MODULES},
                {"tcp_ccpd_path": 1}, available=("reno", "cubic", "ccpd_path"),
                allowed=("reno", "cubic"), default="cubic")  # fmt: skip
SYSCTLS = {"tcp_rmem": "4096 131072 6291456", "tcp_wmem": "4096 16384 4194304",
           "tcp_mem": "100 200 300", "tcp_window_scaling": "1", "tcp_sack": "1",
           "tcp_timestamps": "1", "tcp_ecn": "1", "tcp_moderate_rcvbuf": "1"}  # fmt: skip
FLOW = Flow("192.0.2.1:1", "192.0.2.2:2", "ESTAB", "cubic", cwnd_segs=100, mss_bytes=1448,
            pmtu_bytes=1500, rtt_s=0.105, rtt_min_s=0.1, delivery_bps=100e6, busy_s=10,
            sent_bytes=10**8, sent_segs=70_000, sndbuf_bytes=4194304,
            queued_bytes=3_000_000)  # fmt: skip
ROUTE = {"dst": "192.0.2.2", "gateway": "198.51.100.1", "dev": "eth0"}
FQ = {"kind": "fq", "dev": "eth0", "root": True}
QUIET = doctor.Evidence(
    KERNEL, SYSCTLS, {"TcpExtTCPMemoryPressures": 0}, "server", (FLOW,), ROUTE, "eth0", 1500,
    {"tcp-segmentation-offload": True}, (FQ,),
)  # fmt: skip


# What tools print -------------------------------------------------------------------------------


def test_reads_ss():
    ours, theirs, receiver = system.parse_sockets(SS_CCPD_PATH + SS_CUBIC_V6 + SS_RECEIVER)
    assert (ours.cc, theirs.cc, receiver.cc) == ("ccpd_path", "cubic", "cubic")
    assert (ours.host, theirs.host) == ("192.0.2.2", "2001:db8::2")
    assert ours.cwnd_segs == 231
    assert ours.capacity_bps == 145957760
    assert ours.delivery_bps == 131661504
    assert (ours.rtt_s, ours.rtt_min_s) == (0.010064, 0.01)
    assert ours.bdp_bytes == 145957760 * 0.01 / 8
    assert ours.rwnd_limited_s == 0.02
    assert (ours.sndbuf_bytes, ours.queued_bytes) == (2750976, 1859000)
    assert theirs.retransmitted_segs == 69
    assert theirs.retransmitted_share == 69 / 4753
    # 4.36 ms of 94 Mb/s
    assert round(theirs.queue_segs) == round(0.00436 * 94320424 / 8 / 1428)
    assert receiver.ecn and receiver.app_limited and not receiver.sent_bytes
    # words of newer versions of ss, also unknown ones, are not the name
    for more in ("ts usec_ts sack ecn", "ts sack ecn ecnseen fastopen_child", "ts another"):
        (other,) = system.parse_sockets(SS_RECEIVER.replace("ts sack ecn", more))
        assert (other.cc, other.cwnd_segs) == ("cubic", 10)


def test_addresses_of_ss():
    ends = {"192.0.2.1:80": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::1",
            "[::ffff:192.0.2.1]:80": "192.0.2.1", "[fe80::1]%eth0:80": "fe80::1",
            "[fe80::1%eth0]:80": "fe80::1"}  # fmt: skip
    assert {end: system.address_of(end) for end in ends} == ends


def test_joins_the_view(monkeypatch):
    """Both addresses together identify the congestion control's own estimate."""
    monkeypatch.setattr(system, "read", lambda path: VIEW)
    monkeypatch.setattr(system, "ask", lambda *command, netns=None: SS_CCPD_PATH + SS_CUBIC_V6)
    ours, theirs = system.flows()
    assert ours.view["mode"] == "competing"
    assert ours.view["buffer_segs"] == 489
    assert not theirs.view


@pytest.mark.parametrize("device", ["eth0", "br-lan", "eth0.100", "wg_1", "enp3s0f1np1"])
def test_joins_the_view_of_a_socket_with_a_device(monkeypatch, device):
    """ss shows the device to which a socket is bound, or that of a link-local address."""
    bound = SS_CCPD_PATH.replace("192.0.2.1:", f"192.0.2.1%{device}:")
    local = SS_CCPD_PATH.replace("192.0.2.1:", f"[fe80::1]%{device}:").replace(
        "192.0.2.2:", f"[fe80::2]%{device}:")  # fmt: skip
    view = VIEW + VIEW.replace("192.0.2.1:", "[fe80::1]:").replace("192.0.2.2:", "[fe80::2]:")
    monkeypatch.setattr(system, "read", lambda path: view)
    monkeypatch.setattr(system, "ask", lambda *command, netns=None: bound + local)
    assert [flow.view.get("mode") for flow in system.flows()] == ["competing", "competing"]


def test_reads_modules_and_features():
    found = system.parse_modules(MODULES_DEP, MODULES_ALIAS)
    assert found["tcp_htcp"] == "tcp_htcp"
    assert (found["tcp_ccp"], found["tcp_acp"]) == ("tcp_ccpd", "tcp_acp_host")
    features = system.parse_features(FEATURES)
    assert features["tcp-segmentation-offload"] and not features["generic-receive-offload"]


def test_names_the_projects_modules():
    """The command has the same list of modules as Kbuild."""
    objects = re.findall(r"^obj-m [:+]= ([^$\n]*)$", (REPO / "Kbuild").read_text(), re.M)
    names = {word.rpartition("/")[2].removesuffix(".o") for line in objects for word in
             line.split()}  # fmt: skip
    assert names == set(system.MODULES)


def test_a_missing_tool_is_named():
    with pytest.raises(TcpccError, match="no-such-tool is missing: install the package"):
        system.ask("no-such-tool")


# Routes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "shown", "wanted"),
    [
        ("192.0.2.9", "default via 198.51.100.1 dev eth0 proto dhcp src 198.51.100.7 metric 100 ",
         "-4 192.0.2.9/32 via 198.51.100.1 dev eth0 src 198.51.100.7 proto 242 congctl x"),
        ("192.0.2.9", "192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.1 linkdown ",
         "-4 192.0.2.9/32 dev eth0 src 192.0.2.1 proto 242 congctl x"),
        ("2001:db8::9", "2001:db8::/32 via fe80::1 dev eth0 proto ra metric 1024 expires 1790sec"
         " mtu lock 1400 hoplimit 64 pref medium",
         "-6 2001:db8::9/128 via fe80::1 dev eth0 mtu lock 1400 hoplimit 64 metric 1 proto 242"
         " congctl x"),
        ("192.0.2.9", "192.0.2.0/24 proto static initcwnd 20 congctl lock cubic \\\tnexthop via"
         " 198.51.100.1 dev eth0 weight 2 \\\tnexthop via 198.51.100.2 dev eth1 weight 1 linkdown",
         "-4 192.0.2.9/32 initcwnd 20 proto 242 congctl x nexthop via 198.51.100.1 dev eth0"
         " weight 2 nexthop via 198.51.100.2 dev eth1 weight 1"),
        ("192.0.2.9", "default via inet6 fe80::1 dev wg0 onlink",
         "-4 192.0.2.9/32 via inet6 fe80::1 dev wg0 onlink proto 242 congctl x"),
    ],
)  # fmt: skip
def test_copies_a_route(address, shown, wanted):
    assert choose.host_route(address, shown, "x") == wanted.split()


@pytest.mark.parametrize("shown", ["local 192.0.2.9 dev lo table local src 192.0.2.9", "",
                                   "unreachable default dev lo"])  # fmt: skip
def test_refuses_what_is_no_way_out(shown):
    with pytest.raises(TcpccError, match=r"192\.0\.2\.9 is this machine, or has no route"):
        choose.host_route("192.0.2.9", shown, "x")


def test_killed_tries_are_told_from_living_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(choose, "RUN", tmp_path)
    monkeypatch.setattr(choose, "_planned", lambda host, cc: [["-4", "192.0.2.9/32"]])
    monkeypatch.setattr(choose, "_check", lambda route, cc: None)
    said = []
    monkeypatch.setattr(system, "ask", lambda *command, netns=None: said.append(command) or "")
    monkeypatch.setattr(system, "is_root", lambda: True)
    with choose.trying("host", "x", 60):
        (made, alive), = choose.tries()
        assert alive and made.routes == [["-4", "192.0.2.9/32"]]
        assert not choose.sweep()
        killed = (tmp_path / made.path).read_text()
    assert not choose.tries()
    (tmp_path / "try-killed.json").write_text(killed)
    (tmp_path / "try-damaged.json").write_text("{")
    said.clear()
    assert [gone.host for gone in choose.sweep()] == ["host"]
    assert said == [("ip", "-4", "route", "del", "192.0.2.9/32")]
    assert not choose.tries()


def test_a_command_that_ignores_its_end_does_not_prolong_a_try(tmp_path, monkeypatch):
    monkeypatch.setattr(choose, "RUN", tmp_path)
    monkeypatch.setattr(choose, "GRACE_S", 0.2)
    monkeypatch.setattr(choose, "_planned", lambda host, cc: [["-4", "192.0.2.9/32"]])
    monkeypatch.setattr(choose, "_check", lambda route, cc: None)
    monkeypatch.setattr(choose, "load", lambda kernel, cc: None)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(system, "is_root", lambda: True)
    said = []
    monkeypatch.setattr(system, "ask", lambda *command, netns=None: said.append(command) or "")
    command = ["sh", "-c", "trap '' TERM; exec sleep 30"]
    begun = time.monotonic()
    assert choose.try_("host", "x", 1, command, lambda text, data: None) == 124
    assert time.monotonic() - begun < 25
    assert said[-1] == ("ip", "-4", "route", "del", "192.0.2.9/32")


# What to do without a module --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "cc", "says"),
    [
        (replace(KERNEL, installed={}), "ccpd",
         "linux-headers-6.12.9-amd64 && sudo dkms autoinstall"),
        (replace(KERNEL, installed={}, headers=True), "ccpd", "9-amd64: sudo dkms autoinstall"),
        (replace(KERNEL, installed={}, loads_modules=False), "acp", "cannot load modules"),
        (KERNEL, "nosuch", "there are: ccpd, ccpd_path, cubic"),
    ],
)  # fmt: skip
def test_says_how_to_get_it(kernel, cc, says):
    assert says in choose.how_to_get(kernel, cc)


@pytest.mark.parametrize("reason", [{"secure_boot": True}, {"lockdown": "integrity"}])
def test_says_what_a_refused_signature_needs(monkeypatch, reason):
    def refused(*command, netns=None):
        raise TcpccError("modprobe: could not insert 'tcp_ccpd': Operation not permitted")

    monkeypatch.setattr(system, "ask", refused)
    with pytest.raises(TcpccError, match="mokutil --import"):
        choose.load(replace(KERNEL, **reason), "ccpd")


def test_finds_what_overrides(tmp_path):
    for name, text in {
        "50-early.conf": "net.ipv4.tcp_congestion_control = bbr",
        "95-late.conf": "# x\nnet/ipv4/tcp_congestion_control=bbr",
        "99-other.conf": "#net.ipv4.tcp_congestion_control = bbr\nnet.ipv4.tcp_ecn = 1",
    }.items():
        (tmp_path / name).write_text(text)
    found = [path for path in choose.overriding((str(tmp_path),)) if "/etc/sysctl.conf" not in path]
    assert found == [str(tmp_path / "95-late.conf")]


# The doctor -------------------------------------------------------------------------------------


def test_doctor_is_content():
    made = doctor.findings(QUIET)
    assert {one.state for one in made} == {"ok"}, doctor.text(made)
    assert "only the path is the limit: 100 Mb/s" in doctor.text(made)


@pytest.mark.parametrize(
    ("change", "check", "says", "mend"),
    [
        # 1 Gb/s x 100 ms are 12.5 MB; needed is twice that, 25 MB or 23.8 MiB; rounded up: 32 MiB
        ({"flows": (replace(FLOW, capacity_bps=1e9),)}, "tcp_wmem", "23.8 MiB", '16384 33554432"'),
        ({"flows": (replace(FLOW, rwnd_limited_s=3.4),)}, "receive window", "34%", "tcp_rmem"),
        ({"flows": (replace(FLOW, window_scaling=False),)}, "receive window", "64 KiB", ""),
        ({"flows": (replace(FLOW, sndbuf_limited_s=2),)}, "send buffer", "20%", "tcp_wmem"),
        ({"flows": (replace(FLOW, sndbuf_limited_s=2, sndbuf_bytes=87040),)}, "send buffer",
         "SO_SNDBUF", ""),
        ({"flows": (replace(FLOW, app_limited=True, queued_bytes=4194304),)}, "send buffer",
         "is full", "tcp_wmem"),
        ({"flows": (replace(FLOW, app_limited=True, queued_bytes=0),)}, "application",
         "less data than the window", ""),
        ({"flows": (replace(FLOW, retransmitted_segs=2100),)}, "losses", "3.0%", "maxrate 95mbit"),
        ({"flows": (replace(FLOW, pmtu_bytes=1000),)}, "mtu", "1000 bytes", "ip route get"),
        ({"route": ROUTE | {"metrics": [{"window": 30000}]}}, "route window", "30000", "ip route"),
        ({"sysctls": SYSCTLS | {"tcp_window_scaling": "0"}}, "tcp_window_scaling", "64 KiB",
         "tcp_window_scaling=1"),
        ({"sysctls": SYSCTLS | {"tcp_sack": "0"}}, "tcp_sack", "several losses", "tcp_sack=1"),
        ({"sysctls": SYSCTLS | {"tcp_moderate_rcvbuf": "0"}}, "tcp_moderate_rcvbuf", "not grow",
         "rcvbuf=1"),
        ({"counters": {"TcpExtTCPMemoryPressures": 7}}, "tcp_mem", "7 times", '"200 400 600"'),
        ({"qdiscs": (QDISCS[0],)}, "shaper", "3425 times", "tc -s qdisc show dev eth0"),
        ({"policers": ("ingress",)}, "policer", "ingress of eth0", "tc -s filter"),
        ({"kernel": replace(KERNEL, installed={}, loaded={})}, "modules", "not built",
         "sudo apt-get install linux-headers-6.12.9-amd64 && sudo dkms autoinstall"),
        ({"kernel": replace(KERNEL, installed={}, loaded={}, loads_modules=False)}, "modules",
         "cannot load modules", ""),
    ],
)  # fmt: skip
def test_doctor_finds_a_limit(change, check, says, mend):
    """Each of these changes makes one limit, and no other."""
    found = [one for one in doctor.findings(replace(QUIET, **change)) if one.state == "limits"]
    assert [one.check for one in found] == [check]
    assert says in found[0].says
    assert (mend in found[0].mend) if mend else not found[0].mend


@pytest.mark.parametrize(
    ("change", "check", "mend"),
    [
        ({"sysctls": SYSCTLS | {"tcp_ecn": "2"}}, "ecn", "tcp_ecn=1"),
        ({"qdiscs": (FQ | {"kind": "pfifo_fast"},)}, "pacing", "root fq"),
        ({"features": {"tcp-segmentation-offload": False}}, "offloads", "-K eth0 tso on"),
        ({"features": None}, "offloads", "install ethtool"),
        ({"kernel": replace(KERNEL, loaded={}, secure_boot=True)}, "signatures", "mokutil"),
        ({"kernel": replace(KERNEL, loaded={}, lockdown="integrity")}, "signatures", "mokutil"),
        ({"flows": (replace(FLOW, pmtu_bytes=1420),)}, "mtu", ""),
        ({"flows": ()}, "flow", ""),
        ({"flows": (replace(FLOW, rtt_s=0.25),)}, "queue", "tcpcc try server"),
        ({"counters": {"TcpExtTCPRcvQDrop": 4}}, "receive queues", "nstat"),
        ({"overriding": ("/etc/sysctl.d/99-x.conf",)}, "choice", "99-x.conf"),
        ({"view": False}, "view", "modprobe tcpcc_view"),
    ],
)
def test_doctor_notes(change, check, mend):
    """Changes that cost something, now or later, but are not the limit."""
    found = [one for one in doctor.findings(replace(QUIET, **change)) if one.state != "ok"]
    assert [(one.check, one.state) for one in found] == [(check, "note")]
    assert mend in found[0].mend


# For the eye ------------------------------------------------------------------------------------


def test_watch_chooses_and_draws():
    seen = watch.Watch(["192.0.2.2"], 5001)
    flows = system.parse_sockets(SS_CCPD_PATH + SS_CUBIC_V6 + SS_RECEIVER)
    chosen = seen.chosen(flows)
    assert [flow.peer for flow in chosen] == ["192.0.2.2:5001"]
    seen.frame([replace(chosen[0], cwnd_segs=115)], 200)
    frame = seen.frame(chosen, 200)
    assert "231  132 Mb/s" in re.sub(r" {2,}", "  ", frame)
    assert frame.endswith("window up to 231: ▄█")
    assert max(map(len, seen.frame(chosen, 40).splitlines())) == 40
    # the whole table fits a terminal of 80 columns
    assert seen.frame(chosen, 80).splitlines()[0].endswith("queue")
    assert "69 retransmitted" in watch.Watch().frame([flows[1]], 80)
    assert "no open connection" in seen.frame([], 80)


def test_watch_keeps_numbers_apart():
    """Long names, high rates and long queues fit into 80 columns; no number is cut or joined."""
    (flow,) = system.parse_sockets(SS_CCPD_PATH)
    long = replace(flow, cc="nist_scalable", peer="255.255.255.255:65535", cwnd_segs=123456,
                   delivery_bps=1.234e9, capacity_bps=999.7e6, rtt_s=12.345, rtt_min_s=0.0000456)
    head, first, _, second, _ = watch.Watch().frame([replace(flow, rtt_s=0.0999), long],
                                                    80).splitlines()  # fmt: skip
    assert head.split() == [name for name, _ in watch._COLUMNS]
    assert first.split()[1:] == ["ccpd_path", "231", "132", "Mb/s", "146", "Mb/s", "99.9", "ms",
                                 "10", "ms", "1022"]  # fmt: skip
    assert second.split()[1:] == ["nist_scalable", "123456", "1.23", "Gb/s", "1", "Gb/s", "12.3",
                                  "s", "45.6", "us", "1315k"]  # fmt: skip
    assert second.split()[0] == "255.255.255:65535"


def test_watch_does_not_mix_flows_with_the_same_ports():
    """Records of BPF senders name a flow by its ports.  Two flows to different peers may have the
    same ports, also if only one of them is shown."""
    (flow,) = system.parse_sockets(SS_CCPD_PATH)
    ours = replace(flow, cc="bpf_ccpd_path", capacity_bps=0.0)
    other = replace(ours, peer="198.51.100.2:5001")
    views = SimpleNamespace(read=lambda: {(56032, 5001): {"capacity_bps": 10**6}})
    (alone,) = watch._with_views([ours], [ours], views)
    assert alone.capacity_bps == 1e6 and alone.view == {"capacity_bps": 10**6}
    (beside,) = watch._with_views([ours], [ours, other], views)
    assert beside == ours
    cubic = replace(other, cc="cubic")
    assert watch._with_views([ours, cubic], [ours, cubic], views) == [alone, cubic]


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (units.rate(999.4e6), "999 Mb/s"), (units.rate(999.7e6), "1 Gb/s"),
        (units.rate(999.7), "1 kb/s"), (units.rate(1.2345e12), "1234 Gb/s"),
        (units.rate(0), "0 b/s"), (units.size(1023), "1023 bytes"),
        (units.size(1023 << 10), "1023 KiB"), (units.size((1 << 20) - 1), "1 MiB"),
        (units.size(4 << 20), "4 MiB"), (units.size(1000 << 30), "1000 GiB"),
    ],
)  # fmt: skip
def test_numbers_have_no_exponent(shown, text):
    assert shown == text


def test_status_for_the_eye():
    shown = {
        "kernel": "6.12.9-amd64", "loads_modules": True, "secure_boot": True, "lockdown": "none",
        "modules": {"tcp_ccpd": {"installed": True, "loaded": True, "users": 2}},
        "available": ["reno"], "allowed": ["reno", "cubic"], "persistent": None,
        "tries": [{"host": "server", "cc": "ccpd", "alive": False, "seconds_left": 3.2}],
        "namespaces": [{"name": "this", "default": "cubic",
                        "routes": [{"destination": "192.0.2.0/24", "cc": "ccpd"}],
                        "sockets": {"cubic": 3}, "qdiscs": []}],
    }  # fmt: skip
    text = status.text(shown)
    for part in ("tcp_ccpd (2 in use)", "Secure Boot", "server: ccpd, killed", "cubic 3",
                 "192.0.2.0/24: ccpd"):  # fmt: skip
        assert part in text


# In a kernel ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "VERB"),
        (["choose"], "invalid choice: 'choose'"),
        (["try"], "HOST"),
        (["try", "host", "--for", "-1"], "'-1' is not a time"),
        (["set", "a b"], "'a b' is not the name of a congestion control"),
        (["watch", "--port", "70000"], "'70000' is not a whole number from 1 to 65535"),
        (["watch", "--count", "-1"], "'-1' is not a whole number from 1"),
        (["status", "--", "true"], "status takes no command"),
    ],
)
def test_bad_usage_is_one_line(arguments, says):
    done = subprocess.run([REPO / "scripts/tcpcc", *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("tcpcc: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_in_a_kernel(lab):
    """Routes, flows and files, in namespaces of the lab's guest."""
    assert_ktap(lab("exec", "--", REPO / "tests/selftests/tcpcc.sh", status=None).stdout)
