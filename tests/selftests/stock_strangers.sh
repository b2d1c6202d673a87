#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Mechanisms that real hosts have between TCP and the network.  With each of them a transfer of
# ACP must succeed.  Its feedback either works (headers are sent, echoes return, and the sender
# follows them) or is absent (no echo, and Reno).  docs/acp.md has a table of the results.
#
# The path is that of stock_lib.sh, with ACP's qdisc at the router, and, for mechanisms of a
# link, a second link from the sender to the router:
#
#   $SND acc0 ---------- acc1 $RTR      10.77.4.1, 10.77.4.2; fd77:4::1, fd77:4::2
#
# Arguments are the names of tests to run; without arguments all tests run.
#
# Run by scripts/stock run, as root.  Exit status: 0 all passed, 1 not, 4 skipped.

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/stock_lib.sh
. "$DIR/stock_lib.sh"

RATE_MBIT=80
RTT_MS=5
BYTES=300000
BOX=box-$$		# a container on the sender

setup()
{
	setup_router && modprobe -a tcp_acp_host br_netfilter &&
		tc -n "$RCV" qdisc add dev rcv0 root netem delay ${RTT_MS}ms limit 10000 &&
		qdisc "$RTR" rtr1 add acp bandwidth ${RATE_MBIT}mbit limit 300 &&
		snd sysctl -qw net.ipv4.tcp_fastopen=3 && rcv sysctl -qw net.ipv4.tcp_fastopen=3 &&
		start_hosts
}

cleanup_box()
{
	ip netns del "$BOX" 2>/dev/null
}

# Restores what a case has changed
restore()
{
	local ns

	for ns in "$SND" "$RTR" "$RCV"; do
		ip netns exec "$ns" nft flush ruleset
	done
	ip -n "$SND" link del acc0 2>/dev/null
	ip -n "$SND" rule del fwmark 7 2>/dev/null
	ip -n "$SND" mptcp endpoint flush
	routes
	[ -z "$HELPERS" ] || {
		# shellcheck disable=SC2086
		kill $HELPERS
		# shellcheck disable=SC2086
		wait $HELPERS 2>/dev/null
		HELPERS=""
	}
	cleanup_box
}

# A transfer and its feedback -----------------------------------------------------------

box()
{
	ip netns exec "$BOX" "$@"
}

# counters SENDER: sets $NOW, the sums of the counters of this end and of the receiver.  Starting
# processes takes time here.
counters()
{
	local ns name value

	NOW=()
	for ns in "$1" rcv; do
		while read -r name value; do
			NOW[$name]=$((${NOW[$name]-0} + value))
		done < <($ns cat /proc/net/tcpcc_feedback)
	done
}

stand_still()
{
	local was="${NOW[*]}"

	counters "$1"
	[ "${NOW[*]}" = "$was" ]
}

# transfer SENDER IP [SETTING...]: sets $CAME, the increase of each counter, and $SHOWN, the rate
# that the sender followed, kb/s; 0: Reno
declare -A NOW CAME
transfer()
{
	local source=$1 ip=$2 name all=""

	counters "$source"
	CAME=()
	for name in "${!NOW[@]}"; do
		CAME[$name]=-${NOW[$name]}
	done
	ask send cc=acp bytes=$BYTES to="$(destination "$ip")" "${@:3}" || return
	read -r _ _ SHOWN <<<"$ANSWER"
	busywait stand_still "$source" || return
	for name in "${!NOW[@]}"; do
		CAME[$name]=$((CAME[$name] + NOW[$name]))
		[ "${CAME[$name]}" = 0 ] || all="$all $name=${CAME[$name]}"
	done
	diag "IPv$ip, $SHOWN kb/s:$all"
}

# works SENDER IP [SETTING...]: whether feedback works, with at least 207 segments, which are
# acknowledged at once.  The sender is gone before the last echoes arrive.
works()
{
	transfer "$@" && [ "${CAME[InData]}" -ge 200 ] && [ "${CAME[InEchoes]}" -ge 190 ] &&
		[ "$SHOWN" -gt 10000 ] && [ "${CAME[InMalformed]}${CAME[InBadChecksum]}" = 00 ]
}

# absent SENDER IP [SETTING...]: whether there is no feedback, and the flow is Reno's
absent()
{
	transfer "$@" && [ "${CAME[InData]}${CAME[OutEchoes]}${CAME[InEchoes]}$SHOWN" = 0000 ]
}

# both CMD... : runs CMD for IPv4 and IPv6
both()
{
	"$@" 4 && "$@" 6
}

# helper NAMESPACE ARGUMENT...: starts strangers.py in the background
HELPERS=""
helper()
{
	: >"helper-$1.txt"	# may contain the "ready" of an earlier helper
	ip netns exec "$1" "$DIR/strangers.py" "${@:2}" >"helper-$1.txt" 2>&1 &
	HELPERS="$HELPERS $!"
	busywait grep -q ready "helper-$1.txt" || { sed 's/^/# /' "helper-$1.txt"; return 1; }
}

# link_to_router SENDERS ROUTERS: uses these devices at the ends of the second link
link_to_router()
{
	local end

	for end in "$SND $1 1" "$RTR $2 2"; do
		# shellcheck disable=SC2086
		set -- $end
		address "$1" "$2" 4 "$3"
		ip -n "$1" link set "$2" up
	done
}

make_link()
{
	ip link add acc0 netns "$SND" type veth peer name acc1 netns "$RTR" &&
		ip -n "$SND" link set acc0 up && ip -n "$RTR" link set acc1 up
}

over_link()
{
	ip -n "$SND" route replace default via 10.77.4.2 &&
		ip -n "$SND" -6 route replace default via fd77:4::2
}

# seen DEVICE: whether a router on that device finds the headers
seen()
{
	qdisc "$SND" "$1" replace acp bandwidth ${RATE_MBIT}mbit limit 300 && both works snd &&
		tc -n "$SND" -s qdisc show dev "$1" >qdisc.txt &&
		[ "$(field headers)" -ge 200 ] && [ "$(field malformed)" = 0 ]
}

# rules NAMESPACE: sets nft rules from standard input
rules()
{
	ip netns exec "$1" nft -f -
}

# Hosts -------------------------------------------------------------------------------

forwarding()
{
	both works snd
}

# queue [gso]: nfqueue before and after our hooks, at both ends; a process decides on each packet
queue()
{
	local ns

	for ns in "$SND" "$RCV"; do
		rules "$ns" <<-END || return
			table inet t {
				chain arrive { type filter hook input priority 0; meta l4proto tcp queue num 5; };
				chain leave { type filter hook output priority 0; meta l4proto tcp queue num 5; };
			}
		END
		# shellcheck disable=SC2086
		helper "$ns" queue 5 ${1-} || return
	done
	both works snd
}

nfqueue()
{
	queue
}

nfqueue_of_gso()
{
	queue gso
}

# trace_locks PROCESS: traces which functions take a plain spin lock, in this process and in what
# interrupts it; each unlock also takes as long as saving the stack
trace_locks()
{
	mount_tracing && [ -e $TRACING/set_ftrace_pid ] && mkdir $TRACING/instances/locks && (
		cd $TRACING/instances/locks && echo _raw_spin_lock >set_ftrace_filter &&
			echo "$1" >set_ftrace_pid && echo function >current_tracer
	) && (
		cd $TRACING && echo _raw_spin_unlock >set_ftrace_filter &&
			echo "$1" >set_ftrace_pid && echo function >current_tracer &&
			echo 1 >options/func_stack_trace
	)
}

# Ends the trace, and writes a line for each lock with the function that took it to locks.txt
end_trace()
{
	(
		cd $TRACING && echo 0 >options/func_stack_trace && echo nop >current_tracer &&
			echo >set_ftrace_pid && echo >set_ftrace_filter
	)
	grep ' _raw_spin_lock <-' $TRACING/instances/locks/trace >locks.txt
	rmdir $TRACING/instances/locks
}

# Every second segment arrives at the receiver's hook in a process, after the verdict, and the
# others in softirqs that interrupt this process.  If a hook took the socket's lock as a softirq
# does, the next hook might find it locked by the process that it interrupted, and spin for ever:
# this case would not end.  A lock that is held for only ten instructions is almost never found
# locked, so unlocking takes longer here.  If it is still not found locked, the trace shows that a
# hook took it.
nfqueue_of_some()
{
	local status=0

	rules "$RCV" <<-END || return
		table inet t {
			chain arrive { type filter hook input priority 0; meta l4proto tcp numgen inc mod 2 0 queue num 5; };
		}
	END
	helper "$RCV" queue 5 && trace_locks "${HELPERS##* }" || return
	transfer snd 4 bytes=$((BYTES * 3)) && [ "${CAME[InData]}" -ge 600 ] &&
		[ "${CAME[InEchoes]}" -ge 600 ] || status=1
	end_trace
	# locks of TCP itself, which runs with bottom halves disabled, show that the trace works
	diag "$(grep -c . locks.txt) locks, $(grep -c '<-tcp_v4_rcv' locks.txt) in tcp_v4_rcv()"
	grep -q '<-tcp_v4_rcv' locks.txt && ! grep '<-feedback_' locks.txt && return $status
}

conntrack()
{
	local ns

	for ns in "$SND" "$RTR" "$RCV"; do
		rules "$ns" <<-END || return
			table inet t {
				chain arrive { type filter hook input priority 0; ct state invalid counter drop; };
				chain pass { type filter hook forward priority 0; ct state invalid counter drop; };
				chain leave { type filter hook output priority 0; ct state invalid counter drop; };
			}
		END
	done
	both works snd && snd nft list ruleset | grep -c 'packets 0 bytes 0 drop' | grep -qx 3 &&
		rcv nft list ruleset | grep -c 'packets 0 bytes 0 drop' | grep -qx 3
}

# The router replaces all source addresses by the same one
nat_of_source()
{
	rules "$RTR" <<-END || return
		table inet t {
			chain post { type nat hook postrouting priority 100; oifname rtr1 masquerade; }
		}
	END
	both works snd
}

# dnat NAMESPACE HOOK IPV4-ADDRESS IPV6-ADDRESS: the sender uses these addresses for the receiver
dnat()
{
	local ns=$1 hook=$2 to4=$3 to6=$4

	rules "$ns" <<-END || return
		table ip t { chain c { type nat hook $hook priority -100; ip daddr $to4 dnat to 10.77.2.2; }; }
		table ip6 t { chain c { type nat hook $hook priority -100; ip6 daddr $to6 dnat to fd77:2::2; }; }
	END
	works snd 4 at="$to4" && works snd 6 at="$to6"
}

nat_of_destination()
{
	dnat "$RTR" prerouting 10.77.1.2 fd77:1::2
}

# The sender itself translates an address that no other host knows
nat_at_the_sender()
{
	dnat "$SND" output 10.77.9.9 fd77:9::9
}

# The sender's device is in a VRF.  With a qdisc on the VRF's device packets take a longer way
# through the kernel.
vrf()
{
	local status=0

	make_link && ip -n "$SND" link add red type vrf table 100 && ip -n "$SND" link set red up &&
		ip -n "$SND" link set acc0 master red && link_to_router acc0 acc1 &&
		ip -n "$SND" route add default via 10.77.4.2 vrf red &&
		ip -n "$SND" -6 route add default via fd77:4::2 vrf red || return
	works snd 4 device=red && works snd 6 device=red &&
		qdisc "$SND" red add pfifo limit 1000 &&
		works snd 4 device=red && works snd 6 device=red || status=1
	ip -n "$SND" link del red
	return $status
}

vrf_of_receiver()
{
	local status=0

	rcv sysctl -qw net.ipv4.tcp_l3mdev_accept=1 &&
		ip -n "$RCV" link add blue type vrf table 100 && ip -n "$RCV" link set blue up &&
		ip -n "$RCV" link set rcv0 master blue &&
		ip -n "$RCV" addr add fd77:2::2/64 dev rcv0 nodad &&
		ip -n "$RCV" route add default via 10.77.2.1 vrf blue &&
		ip -n "$RCV" -6 route add default via fd77:2::1 vrf blue || return
	# a device that leaves or enters a VRF loses its neighbour entries
	both works snd || status=1
	ip -n "$RCV" link del blue
	ip -n "$RCV" addr add fd77:2::2/64 dev rcv0 nodad 2>/dev/null
	ip -n "$RCV" route replace default via 10.77.2.1
	ip -n "$RCV" -6 route replace default via fd77:2::1
	rcv sysctl -qw net.ipv4.tcp_l3mdev_accept=0
	return $status
}

# netfilter sets a mark after our hook, so that the packet is routed again.
policy_routing()
{
	local before

	make_link && link_to_router acc0 acc1 && ip -n "$SND" rule add fwmark 7 table 100 &&
		ip -n "$SND" route add default via 10.77.4.2 table 100 || return
	rules "$SND" <<-END || return
		table ip t { chain c { type route hook output priority 0; meta l4proto tcp meta mark set 7; }; }
	END
	before=$(snd cat /sys/class/net/acc0/statistics/tx_bytes)
	works snd 4 && [ $(($(snd cat /sys/class/net/acc0/statistics/tx_bytes) - before)) -gt $BYTES ]
}

# bonding MODE: two links are bonded, at both ends
bonding()
{
	local ns status=0 n

	for ns in "$SND" "$RTR"; do
		ip -n "$ns" link add bond0 type bond mode "$1" miimon 100 || return
	done
	for n in 1 2; do
		ip link add "leg$n" netns "$SND" type veth peer name "leg$n" netns "$RTR" || return
		for ns in "$SND" "$RTR"; do
			ip -n "$ns" link set "leg$n" master bond0 || return
		done
	done
	for ns in "$SND" "$RTR"; do
		ip -n "$ns" link set bond0 up
	done
	link_to_router bond0 bond0 && over_link && seen bond0 || status=1
	for ns in "$SND" "$RTR"; do
		ip -n "$ns" link del bond0
	done
	ip -n "$SND" link del leg1
	ip -n "$SND" link del leg2
	return $status
}

bonding_active_backup()
{
	bonding active-backup
}

bonding_balance_rr()
{
	bonding balance-rr
}

bridge_with_filter()
{
	local ns status=0

	make_link || return
	for ns in "$SND" "$RTR"; do
		ip -n "$ns" link add br0 type bridge && ip -n "$ns" link set br0 up || return
		ip netns exec "$ns" sysctl -qw net.bridge.bridge-nf-call-iptables=1 \
			net.bridge.bridge-nf-call-ip6tables=1 || return
	done
	ip -n "$SND" link set acc0 master br0 && ip -n "$RTR" link set acc1 master br0 &&
		link_to_router br0 br0 && over_link && seen br0 || status=1
	for ns in "$SND" "$RTR"; do
		ip -n "$ns" link del br0
	done
	return $status
}

# A container: its veth is in a bridge of its host, which translates its addresses
container()
{
	local status=0

	ip netns add "$BOX" && ip -n "$BOX" link set lo up &&
		ip link add box0 netns "$BOX" type veth peer name box1 netns "$SND" &&
		ip -n "$SND" link add br0 type bridge && ip -n "$SND" link set box1 master br0 up &&
		address "$SND" br0 5 1 && address "$BOX" box0 5 2 &&
		ip -n "$BOX" route add default via 10.77.5.1 &&
		ip -n "$BOX" route add default via fd77:5::1 &&
		snd sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 || return
	rules "$SND" <<-END || return
		table inet t { chain post { type nat hook postrouting priority 100; oifname snd0 masquerade; }; }
	END
	works box 4 source="$BOX" && works box 6 source="$BOX" || status=1
	ip -n "$SND" link del br0
	snd sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
	return $status
}

vlan()
{
	make_link && ip -n "$SND" link add link acc0 name tag0 type vlan id 5 &&
		ip -n "$RTR" link add link acc1 name tag1 type vlan id 5 &&
		link_to_router tag0 tag1 && over_link && seen acc0
}

vlan_in_vlan()
{
	make_link && ip -n "$SND" link add link acc0 name outer type vlan proto 802.1ad id 5 &&
		ip -n "$RTR" link add link acc1 name outer type vlan proto 802.1ad id 5 &&
		ip -n "$SND" link set outer up && ip -n "$RTR" link set outer up &&
		ip -n "$SND" link add link outer name tag0 type vlan id 6 &&
		ip -n "$RTR" link add link outer name tag1 type vlan id 6 &&
		link_to_router tag0 tag1 && over_link && seen acc0
}

xdp_generic()
{
	helper "$SND" xdp snd0 && helper "$RCV" xdp rcv0 &&
		ip -n "$RCV" link show rcv0 | grep -q xdpgeneric && both works snd
}

# Sockets -----------------------------------------------------------------------------

ip_options()
{
	works snd 4 option=ip
}

# Our hook does not search for TCP after extension headers.
extension_headers()
{
	absent snd 6 option=hop && absent snd 6 option=dest
}

# A signature covers the options, so a signed segment is not changed.
signed()
{
	local ip

	for ip in 4 6; do
		absent snd $ip option="$1" && [ "${CAME[OutSigned]}" -ge 20 ] || return
	done
}

tcp_md5()
{
	signed md5
}

tcp_ao()
{
	transfer snd 4 option=ao >/dev/null || {
		[[ "$ANSWER" = *"Protocol not available"* ]] || return
		skip "this kernel has no TCP-AO"
		return 0
	}
	signed ao
}

# MPTCP's own options take the room that our option needs.
mptcp()
{
	absent snd 4 mptcp=1 && [ "${CAME[OutNoRoom]}" -ge 20 ] &&
		[ "$(counter snd MPTcpExtMPCapableSYNACKRX)" -ge 1 ]
}

counter()
{
	"$1" nstat -asz "$2" | awk -v name="$2" '$1 == name { print $2 }'
}

fast_open()
{
	local before

	ask send bytes=1000 tfo=1 || return
	before=$(counter snd TcpExtTCPFastOpenActive)
	works snd 4 tfo=1 && [ "$(counter snd TcpExtTCPFastOpenActive)" -gt "$before" ]
}

syn_cookies()
{
	local before status=0

	before=$(counter rcv TcpExtSyncookiesRecv)
	rcv sysctl -qw net.ipv4.tcp_syncookies=2
	both works snd && [ $(($(counter rcv TcpExtSyncookiesRecv) - before)) = 2 ] || status=1
	rcv sysctl -qw net.ipv4.tcp_syncookies=1
	return $status
}

# The router answers the SYN, and translates sequence numbers and timestamps of later segments.
synproxy()
{
	rtr sysctl -qw net.netfilter.nf_conntrack_tcp_loose=0 || return
	rules "$RTR" <<-END || return
		table ip t {
			chain before { type filter hook prerouting priority raw; iifname rtr0 tcp flags syn notrack; };
			chain pass {
				type filter hook forward priority 0
				iifname rtr0 ct state invalid,untracked synproxy mss 1460 wscale 7 timestamp sack-perm
				ct state invalid drop
			}
		}
	END
	works snd 4
}

TESTS="forwarding nfqueue nfqueue_of_gso nfqueue_of_some conntrack nat_of_source nat_of_destination nat_at_the_sender
	vrf vrf_of_receiver policy_routing bonding_active_backup bonding_balance_rr bridge_with_filter
	container vlan vlan_in_vlan xdp_generic ip_options extension_headers tcp_md5 tcp_ao mptcp fast_open
	syn_cookies synproxy checksums_are_right kernel_is_quiet"

requires sch_tcpcc
requires tcp_acp_host
command -v nft >/dev/null || skip_all "needs nft"
own_log stock_strangers
# shellcheck disable=SC2086
[ $# != 0 ] || set -- $TESTS
ksft_begin $#
diag "kernel $(uname -r)"
for name; do
	ksft_test "$name" "$name"
	restore
done
ksft_end
