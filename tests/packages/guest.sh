#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Does what an administrator does with the packages, on the machine that clean_systems.py boots.
# Runs only with the senders as BPF programs ("bpf"), with the modules ("first"), and after a reboot
# ("second").  Prints KTAP on the serial line.
#
#   +--------------+   192.0.2.0/24   +----------------+
#   | the machine  +------------------+ namespace peer |
#   |  192.0.2.1   |  20 ms, 20 Mb/s  |   192.0.2.2    |
#   +--------------+                  +----------------+

exec >/dev/ttyS0 2>&1 </dev/null
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
PEER=192.0.2.2
N=0
cd "$(mktemp -d)" || exit 1

point()
{
	N=$((N + 1))
	if "$@" >log 2>&1; then
		echo "ok $N $1"
	else
		sed 's/^/# /' log
		echo "not ok $N $1"
	fi
}

peer()
{
	ip netns exec peer "$@"
}

network()
{
	ip netns add peer &&
		ip link add veth0 type veth peer name veth0 netns peer &&
		ip addr add 192.0.2.1/24 dev veth0 && ip link set veth0 up &&
		ip -n peer addr add $PEER/24 dev veth0 && ip -n peer link set veth0 up &&
		ip -n peer link set lo up &&
		tc -n peer qdisc add dev veth0 root netem delay 20ms &&
		tc qdisc add dev veth0 root netem rate 20mbit limit 200 || return
	peer iperf3 -s -D && sleep 2
}

# used FILE: prints the congestion control with which iperf3 -J has sent
used()
{
	python3 -c "import json, sys
end = json.load(open(sys.argv[1]))['end']
assert end['sum_received']['bits_per_second'] > 1e6, end
print(end['sender_tcp_congestion'])" "$1"
}

# Users without privileges may not load BPF programs either: this is Debian's default.
has_nothing_to_build_with()
{
	local program

	for program in cc gcc clang make dkms; do
		! command -v $program || return
	done
	[ ! -e "/lib/modules/$(uname -r)/build" ] && ! modprobe tcp_ccpd_path &&
		[ "$(sysctl -n kernel.unprivileged_bpf_disabled)" = 2 ]
}

# Before the boot the unit was enabled, with a parameter, and sysctl.d got a file with the default.
bpf_is_the_default_after_a_boot()
{
	systemctl status --no-pager tcpcc-bpf@ccpd_path systemd-sysctl
	[ "$(sysctl -n net.ipv4.tcp_congestion_control)" = bpf_ccpd_path ] &&
		iperf3 -c $PEER -t 3 -J >default.json && [ "$(used default.json)" = bpf_ccpd_path ]
}

bpf_status()
{
	tcpcc status && tcpcc status --json >status.json && python3 - <<-'PY'
		import json
		shown = json.load(open("status.json"))
		assert shown["bpf"].keys() == {"ccpd_path"}, shown["bpf"]
		assert shown["bpf"]["ccpd_path"]["kp"] == 6, shown["bpf"]
		assert shown["namespaces"][0]["default"] == "bpf_ccpd_path", shown["namespaces"]
		assert not any(of["loaded"] for of in shown["modules"].values()), shown["modules"]
	PY
}

bpf_parameters()
{
	tcpcc set ccpd_path kp=5 | grep -x 'kp is 5' || return
	tcpcc set ccpd_path kp=17 2>said
	[ $? = 2 ] && cat said &&
		grep -qx "tcpcc: kp: '17' is not a whole number from 1 to 16, staying at 5" said
}

bpf_watches()
{
	iperf3 -C bpf_ccpd_path -c $PEER -t 6 >/dev/null &
	sleep 2
	tcpcc watch $PEER --port 5201 --count 3 --json >watch.json
	wait $!
	cat watch.json
	grep -q '"claim_bps": [1-9]' watch.json
}

# with CAPABILITIES CMD...: runs CMD as user nobody with only these capabilities
with()
{
	local capabilities=$1

	shift
	setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps "-all,$capabilities" \
		--ambient-caps "-all,$capabilities" --bounding-set "-all,$capabilities" "$@"
}

# Loading needs two capabilities and a directory for the pins, but not root.  Only a process with
# CAP_NET_ADMIN may choose ccpd; iperf3 has it here.
bpf_without_root()
{
	! with -all tcpcc load ccpd 2>said && cat said && grep -q "run it as root" said &&
		! with +bpf,+perfmon tcpcc load ccpd 2>said && cat said &&
		grep -q "chmod 711 /sys/fs/bpf and install -d -o USER" said || return
	chmod 711 /sys/fs/bpf && chown nobody /sys/fs/bpf/tcpcc &&
		! with +bpf,+net_admin tcpcc load ccpd 2>said && cat said &&
		grep -q "that needs CAP_PERFMON$" said || return
	with +bpf,+perfmon tcpcc load ccpd && with +bpf tcpcc set ccpd kp=3 &&
		iperf3 -C bpf_ccpd -c $PEER -t 2 -J >nobody.json && [ "$(used nobody.json)" = bpf_ccpd ] &&
		with +bpf tcpcc unload ccpd || return
	chown root /sys/fs/bpf/tcpcc && chmod 1700 /sys/fs/bpf
}

bpf_unit_stops_and_starts()
{
	sysctl -w net.ipv4.tcp_congestion_control=cubic && systemctl disable --now tcpcc-bpf@ccpd_path &&
		! iperf3 -C bpf_ccpd_path -c $PEER -t 1 && tcpcc load ccpd_path && tcpcc set bpf_ccpd_path 2>said &&
		cat said && grep -q 'systemctl enable tcpcc-bpf@ccpd_path.service' said &&
		tcpcc unset && tcpcc unload ccpd_path &&
		systemctl enable --now tcpcc-bpf@ccpd_path && systemctl reload tcpcc-bpf@ccpd_path &&
		iperf3 -C bpf_ccpd_path -c $PEER -t 1
}

# Unloads while a flow runs; the flow continues
bpf_unloads()
{
	iperf3 -C bpf_ccpd_path -c $PEER -t 4 -J >flow.json &
	sleep 1
	tcpcc unload ccpd_path && ! grep -w bpf_ccpd_path /proc/sys/net/ipv4/tcp_available_congestion_control || return
	wait $!
	[ "$(used flow.json)" = bpf_ccpd_path ]
}

says_what_is_there()
{
	tcpcc status --json >status.json && python3 - <<-'PY'
		import json
		shown = json.load(open("status.json"))
		modules = shown["modules"]
		missing = [name for name, of in modules.items() if not of["installed"]]
		loaded = [name for name, of in modules.items() if of["loaded"]]
		assert not missing, missing
		assert not loaded, loaded
		assert shown["namespaces"][0]["default"] == "cubic", shown
	PY
}

tries_for_a_transfer()
{
	tcpcc try $PEER -- iperf3 -c $PEER -t 4 -J >try.json && cat try.json &&
		[ "$(used try.json)" = ccpd_path ]
}

is_as_before()
{
	[ -z "$(ip route show proto 242)" ] && iperf3 -c $PEER -t 2 -J >plain.json &&
		[ "$(used plain.json)" = cubic ]
}

doctor_has_the_modules()
{
	tcpcc doctor $PEER --json >doctor.json
	cat doctor.json
	python3 -c "import json
found = {one['check']: one['state'] for one in json.load(open('doctor.json'))}
assert found['modules'] == 'ok' and found['route'] == 'ok', found"
}

doctor_finds_the_window()
{
	local status=0 was

	was=$(peer sysctl -n net.ipv4.tcp_rmem)
	peer sysctl -qw net.ipv4.tcp_rmem="4096 16384 16384"
	iperf3 -c $PEER -t 12 >/dev/null &
	sleep 8
	tcpcc doctor $PEER >doctor.txt
	[ $? = 1 ] || status=1
	cat doctor.txt
	wait $!
	peer sysctl -qw net.ipv4.tcp_rmem="$was"
	grep -q '^limits *receive window' doctor.txt && return $status
}

# Works without a terminal.
watches()
{
	iperf3 -C ccpd_path -c $PEER -t 8 >/dev/null &
	sleep 4
	modprobe tcpcc_view && tcpcc watch $PEER --port 5201 --count 1 --json >watch.json
	wait $!
	cat watch.json
	grep -q '"capacity_bps": [0-9]' watch.json && grep -q '"mode"' watch.json
}

tc_knows_the_qdiscs()
{
	local kind

	for kind in acp estcp rcp xcp; do
		tc qdisc replace dev lo root $kind bandwidth 10mbit &&
			tc -s qdisc show dev lo | grep -q "qdisc $kind .*bandwidth 10Mbit" || return
	done
	tc qdisc del dev lo root
}

sets()
{
	tcpcc set ccpd_path && [ -s /etc/sysctl.d/90-tcpcc.conf ] &&
		[ "$(sysctl -n net.ipv4.tcp_congestion_control)" = ccpd_path ]
}

is_the_default_after_a_boot()
{
	[ "$(sysctl -n net.ipv4.tcp_congestion_control)" = ccpd_path ] &&
		[ -e /sys/module/tcp_ccpd_path ] && iperf3 -c $PEER -t 3 -J >default.json &&
		[ "$(used default.json)" = ccpd_path ]
}

unsets()
{
	tcpcc unset && [ ! -e /etc/sysctl.d/90-tcpcc.conf ] && [ ! -e /etc/modules-load.d/tcpcc.conf ] &&
		[ "$(sysctl -n net.ipv4.tcp_congestion_control)" != ccpd_path ]
}

# Prints how many bytes of the flow with the module's congestion control the peer has acknowledged
acked()
{
	ss -tinHO "dport = :5201" | grep ' ccpd_path ' | grep -o 'bytes_acked:[0-9]*' | cut -d: -f2 |
		sort -n | tail -n 1
}

# A flow continues while the packages are removed, and afterwards
goes_below_a_flow()
{
	local before

	iperf3 -C ccpd_path -c $PEER -t 36000 -b 1M >/dev/null &
	sleep 2
	dpkg --purge tcpcc tcpcc-dkms || return
	before=$(acked)
	sleep 2
	[ "$(acked)" -gt "$before" ] && [ -e /sys/module/tcp_ccpd_path ] || return
	kill $!
	! wait $!
}

# The module's file is gone, so modprobe does not know the module.  The module stays loaded until
# its flows have ended, and until the namespaces that copied it as their default are gone.
leaves_nothing()
{
	local left

	ip netns pids peer | xargs kill
	ip netns del peer
	for _ in 1 2 3 4 5; do
		rmmod tcp_ccpd_path && break
		sleep 1
	done
	left=$(find /usr /etc /lib/modules /var/lib/dkms \( -name '*tcpcc*' -o -name 'tcp_ccpd*' \) \
		! -path '/usr/lib/python3*' 2>/dev/null)
	echo "$left"
	[ -z "$left" ] && [ ! -e /sys/module/tcp_ccpd_path ] && ! modprobe tcp_ccpd_path
}

goes_on_without()
{
	iperf3 -c $PEER -t 2 -J >plain.json && [ "$(used plain.json)" = cubic ]
}

kernel_is_quiet()
{
	! dmesg | grep -E 'BUG|WARNING|Oops|Call Trace|protection fault'
}

BPF="network has_nothing_to_build_with bpf_is_the_default_after_a_boot bpf_status bpf_parameters
	bpf_watches bpf_without_root bpf_unit_stops_and_starts bpf_unloads kernel_is_quiet"
FIRST="network says_what_is_there tries_for_a_transfer is_as_before doctor_has_the_modules
	doctor_finds_the_window watches tc_knows_the_qdiscs sets kernel_is_quiet"
SECOND="network is_the_default_after_a_boot unsets goes_below_a_flow goes_on_without
	leaves_nothing kernel_is_quiet"

case $1 in bpf) list=$BPF ;; first) list=$FIRST ;; *) list=$SECOND ;; esac
# shellcheck disable=SC2086 # a list
set -- $list
echo
echo "KTAP version 1"
echo "1..$#"
for test; do
	point "$test"
done
sync
