#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# tcp_ccpd on a distribution's kernel: loading, choosing, using and unloading it,
# with real programs.
#
#   +---------+                +---------------------+                +-----------+
#   |   snd   | snd0      rtr0 |         rtr         | rtr1      rcv0 |    rcv    |
#   |         +----------------+ netem           tbf +----------------+           |
#   | iperf3  |                | <- acks     data -> |                | iperf3 -s |
#   +---------+                +---------------------+                +-----------+
#        10.77.1.1      10.77.1.2               10.77.2.1      10.77.2.2
#        fd77:1::1      fd77:1::2               fd77:2::1      fd77:2::2
#
# The router shapes data to $RATE_MBIT Mb/s and delays acknowledgments by
# $RTT_MS ms.  The queue holds two bandwidth-delay products: by its own algebra
# ccpd fills a path only from 1.5 on.
#
# Run by scripts/stock run, as root.  Exit status: 0 all passed, 1 not, 4 skipped.

# shellcheck disable=SC2317 # most functions are called through check and wait_for

RATE_MBIT=20
RTT_MS=40
SECONDS_EACH=5
LOW=80		# per cent of what the link can carry as payload
HIGH=102

ksft_pass=0
ksft_fail=1
ksft_skip=4

snd=snd-$$ rtr=rtr-$$ rcv=rcv-$$
work=
failed=0
number=0

cleanup()
{
	trap - EXIT INT TERM
	for ns in "$snd" "$rtr" "$rcv"; do
		# shellcheck disable=SC2046 # a list of processes
		kill $(ip netns pids "$ns" 2>/dev/null) 2>/dev/null
		ip netns del "$ns" 2>/dev/null
	done
	[ -z "$work" ] || rm -rf "$work"
}

trap cleanup EXIT
trap 'exit $ksft_fail' INT TERM

skip_all()
{
	echo "1..0 # SKIP $*"
	exit "$ksft_skip"
}

diag()
{
	echo "# $*"
}

# check NAME COMMAND...: one test point
check()
{
	name=$1
	shift
	number=$((number + 1))
	if "$@"; then
		echo "ok $number $name"
	else
		echo "not ok $number $name"
		failed=$((failed + 1))
	fi
}

# wait_for SECONDS COMMAND...: polls until the command succeeds
wait_for()
{
	tries=$(($1 * 10))
	shift
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.1
	done
}

in_snd()
{
	ip netns exec "$snd" "$@"
}

setup()
{
	for ns in "$snd" "$rtr" "$rcv"; do
		ip netns add "$ns" || return
		ip -n "$ns" link set lo up
	done
	ip link add snd0 netns "$snd" type veth peer name rtr0 netns "$rtr" || return
	ip link add rtr1 netns "$rtr" type veth peer name rcv0 netns "$rcv" || return

	address "$snd" snd0 1 1
	address "$rtr" rtr0 1 2
	address "$rtr" rtr1 2 1
	address "$rcv" rcv0 2 2
	routes
	ip -n "$rcv" route add default via 10.77.2.1
	ip -n "$rcv" route add default via fd77:2::1
	ip netns exec "$rtr" sysctl -qw net.ipv4.ip_forward=1 \
		net.ipv6.conf.all.forwarding=1
	# What one flow learned must not help the next.
	in_snd sysctl -qw net.ipv4.tcp_no_metrics_save=1

	bdp=$((RATE_MBIT * RTT_MS * 1000 / 8))
	tc -n "$rtr" qdisc add dev rtr0 root netem delay ${RTT_MS}ms limit 10000 || return
	# A burst of one frame and not two, or packet pairs would pass it side by side.
	tc -n "$rtr" qdisc add dev rtr1 root handle 1: tbf rate ${RATE_MBIT}mbit \
		burst 1600 limit 100mb || return
	tc -n "$rtr" qdisc add dev rtr1 parent 1: bfifo limit $((2 * bdp))
}

# address NAMESPACE DEVICE NETWORK HOST
address()
{
	ip -n "$1" addr add "10.77.$3.$4/24" dev "$2"
	ip -n "$1" addr add "fd77:$3::$4/64" dev "$2" nodad
	ip -n "$1" link set "$2" up
}

# routes [OPTION...]: the sender's, with these attributes
routes()
{
	ip -n "$snd" route replace default via 10.77.1.2 "$@" &&
		ip -n "$snd" -6 route replace default via fd77:1::2 "$@"
}

loaded()
{
	[ -d /sys/module/tcp_ccpd ]
}

unloaded()
{
	! loaded
}

# A closed flow's socket may live on for a moment: not yet is no failure.
unload()
{
	wait_for 30 rmmod tcp_ccpd && unloaded
}

offers_all()
{
	for cc in ccpd ccp ccpd_path; do
		grep -qw "$cc" /proc/sys/net/ipv4/tcp_available_congestion_control ||
			return 1
	done
}

set_sysctl()
{
	in_snd sysctl -qw net.ipv4.tcp_congestion_control="$1"
}

modprobe_loads()
{
	modprobe tcp_ccpd && offers_all && unload
}

# autoload NAME: naming it is enough to load the module that has it
autoload()
{
	unloaded && set_sysctl "$1" && loaded && set_sysctl reno && unload
}

destination()
{
	case $1 in
	4) echo 10.77.2.2 ;;
	6) echo fd77:2::2 ;;
	esac
}

listening()
{
	ip netns exec "$rcv" ss -Hltn 'sport = :5201' | grep -q .
}

# start_flow IP SECONDS [IPERF3 OPTION...]: in the background; its process is $client
start_flow()
{
	destination=$(destination "$1")
	seconds=$2
	shift 2
	ip netns exec "$rcv" iperf3 -s -1 >"$work/server" 2>&1 &
	server=$!
	wait_for 10 listening || return
	in_snd iperf3 -J -c "$destination" -t "$seconds" -O 1 "$@" \
		>"$work/report" 2>"$work/error" &
	client=$!
}

end_flow()
{
	wait "$client"
	status=$?
	wait "$server"
	return "$status"
}

# uses CC: a socket that carries data does; its control connection has the same
# destination and the same congestion control unless that is the socket's own
uses()
{
	in_snd ss -Htin 'dport = :5201' | grep -qw "$1"
}

# Payload that arrived, kb/s, from iperf3's report
goodput_kbps()
{
	awk -F'[:,]' '/"sum_received"/ { found = 1 }
		found && /"bits_per_second"/ { printf "%d\n", $2 / 1000; exit }' \
		"$work/report"
}

# fills_link IP CC [IPERF3 OPTION...]
fills_link()
{
	ip=$1 cc=$2
	shift 2
	start_flow "$ip" "$SECONDS_EACH" "$@" || {
		diag "no server: $(cat "$work/server")"
		return 1
	}
	seen=yes
	wait_for 3 uses "$cc" || seen=no
	in_snd ss -Htin 'dport = :5201' >"$work/ss"
	end_flow || {
		diag "iperf3: $(cat "$work/error" "$work/report" | grep -i error)"
		return 1
	}

	# Of a frame of 1514 bytes, 14 + 20 or 40 + 32 are headers.
	case $ip in
	4) ideal=$((RATE_MBIT * 1000 * 1448 / 1514)) ;;
	6) ideal=$((RATE_MBIT * 1000 * 1428 / 1514)) ;;
	esac
	kbps=$(goodput_kbps)
	percent=$((${kbps:-0} * 100 / ideal))
	diag "$cc, IPv$ip: ${kbps:-no} kb/s, $percent % of $ideal"
	if [ "$seen" = no ]; then
		diag "ss does not show $cc:"
		sed 's/^/# /' "$work/ss"
		return 1
	fi
	grep -q "\"sender_tcp_congestion\":[[:space:]]*\"$cc\"" "$work/report" || {
		diag "iperf3 reports $(grep sender_tcp_congestion "$work/report")"
		return 1
	}
	[ "$percent" -ge "$LOW" ] && [ "$percent" -le "$HIGH" ]
}

by_sysctl()
{
	set_sysctl "$2" && fills_link "$@"
	result=$?
	set_sysctl reno
	return "$result"
}

by_socket()
{
	fills_link "$@" -C "$2"
}

by_route()
{
	routes congctl "$2" && fills_link "$@"
	result=$?
	routes
	return "$result"
}

busy_module_stays()
{
	start_flow 4 3 -C ccpd && wait_for 3 uses ccpd || return
	if rmmod tcp_ccpd 2>"$work/rmmod"; then
		diag "rmmod took the module from under a flow"
		return 1
	fi
	diag "$(cat "$work/rmmod")"
	loaded && end_flow
}

unchosen_module_goes()
{
	loaded && unload && ! offers_all
}

# Only what came since the start: other drivers' complaints are not ours.
log_is_clean()
{
	dmesg | sed "1,/stock_ccpd $$ starts/d" >"$work/dmesg"
	! grep -E 'WARNING|BUG|Oops|Call Trace|protection fault|UBSAN|refcount_t' \
		"$work/dmesg" | sed 's/^/# /' | grep .
}

[ "$(id -u)" = 0 ] || skip_all "needs root"
for tool in ip tc ss iperf3 modprobe; do
	command -v $tool >/dev/null || skip_all "needs $tool"
done
modprobe -n tcp_ccpd 2>/dev/null || skip_all "no module tcp_ccpd for $(uname -r)"

echo "KTAP version 1"
echo "1..16"
work=$(mktemp -d)
echo "stock_ccpd $$ starts" >/dev/kmsg
diag "kernel $(uname -r)"
setup || {
	echo "Bail out! cannot set up the namespaces"
	exit $ksft_fail
}

check "modprobe loads it, rmmod unloads it" modprobe_loads
check "sysctl ccpd loads it" autoload ccpd
check "sysctl ccp loads it" autoload ccp
check "sysctl ccpd_path loads it" autoload ccpd_path
for ip in 4 6; do
	check "ccpd by sysctl, IPv$ip" by_sysctl $ip ccpd
	check "ccpd by socket, IPv$ip" by_socket $ip ccpd
	check "ccpd by route, IPv$ip" by_route $ip ccpd
	check "ccpd_path by socket, IPv$ip" by_socket $ip ccpd_path
done
check "ccp by socket" by_socket 4 ccp
check "no unloading while a flow uses it" busy_module_stays
check "unloading when no flow does" unchosen_module_goes
check "kernel log without warnings" log_is_clean

[ $failed -eq 0 ] || exit $ksft_fail
exit $ksft_pass
