# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Common functions of the selftests of senders with feedback, which source this file and set $CC
# and $MODULE.  The pair of namespaces of lib.sh, with a clsact qdisc for filters at both ends,
# and 100 Mbit/s behind the sender.  Tests of loading and unloading a module whose flows hold
# a reference.

# shellcheck source=tests/selftests/lib.sh
. "$DIR/lib.sh"

# shellcheck disable=SC2034
PARAMETERS=/sys/module/$MODULE/parameters

setup_hosts()
{
	sysctl -qw net.ipv4.tcp_congestion_control=reno
	setup_pair && tc -n "$SND" qdisc add dev veth0 clsact &&
		tc -n "$RCV" qdisc add dev veth0 clsact && setup_link
}

setup_link()
{
	tc -n "$SND" qdisc add dev veth0 root handle 1: tbf rate 100mbit burst 1514 limit 151400
}

# offloads on|off: sets TSO, GSO, GRO and checksum offload at both ends
offloads()
{
	local ns

	for ns in "$SND" "$RCV"; do
		ip netns exec "$ns" ethtool -K veth0 tso "$1" gso "$1" gro "$1" \
			tx "$1" >/dev/null 2>&1 || return
	done
}

# took MILLISECONDS LEAST MOST: whether the time is in this range
took()
{
	if [ "${1:-0}" -lt "$2" ] || [ "$1" -gt "$3" ]; then
		echo "# took '$1' ms, not $2 to $3"
		return 1
	fi
}

registers()
{
	modprobe "$MODULE" && [ -d /sys/module/tcp_feedback ] &&
		sysctl -n net.ipv4.tcp_available_congestion_control | grep -qw "$CC" &&
		[ "$(count snd Senders)" = 0 ]
}

# choose USER: a socket of this user chooses $CC
choose()
{
	snd setpriv --reuid "$1" --clear-groups python3 -c 'import socket, sys
socket.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[1].encode())' \
		"$CC" 2>&1
}

autoloads()
{
	modprobe -r "$MODULE" && [ ! -d /sys/module/tcp_feedback ] || return
	choose 0 && [ -d "/sys/module/$MODULE" ]
}

# An unprivileged process may not choose it, so only the first namespace may have it as default.
needs_privileges()
{
	modprobe "$MODULE" && choose 0 && choose 65534 | grep -q PermissionError
}

# Must be the last test: see cc_lib.sh
refused_in_namespaces()
{
	modprobe "$MODULE" && ! snd sysctl -qw net.ipv4.tcp_congestion_control="$CC" 2>/dev/null
}

# proc_shows PATTERN: whether /proc/net/tcpcc shows this for the sender
proc_shows()
{
	snd grep "cc=$CC " /proc/net/tcpcc | tee proc.txt | grep -Eq "$1"
}

# refuses PARAMETER=VALUE...: whether each value is refused, and the old value stays
refuses()
{
	local setting name value was

	for setting; do
		value=${setting#*=} name=${setting%=*}
		was=$(cat "$PARAMETERS/$name")
		if (echo "$value" > "$PARAMETERS/$name") 2>/dev/null; then
			echo "# $name accepts $value"
			return 1
		fi
		[ "$(cat "$PARAMETERS/$name")" = "$was" ] || return
	done
}

no_senders()
{
	[ "$(count snd Senders)" = 0 ]
}

stays_while_used()
{
	local status=0

	run_long --cc "$CC" || return
	busywait ss_shows " $CC " || status=1
	unload && status=1
	modprobe -r tcp_feedback 2>/dev/null && status=1
	end_long
	busywait unload || status=1
	modprobe "$MODULE" || status=1
	return $status
}

# The unsent data of a killed sender keeps its namespace and the module as long as TCP retries.
# These are some minutes, which take no real time in virtual time.
survives_netns_exit()
{
	run_long --cc "$CC" || return
	busywait ss_shows " $CC " || return
	cleanup
	for _ in $(seq 100); do
		unload && break
		sleep 10
	done
	[ ! -d /sys/module/tcp_feedback ] && modprobe "$MODULE" && setup
}

# Receivers hold no reference to the modules.
unloads_beside_receivers()
{
	flow --cc "$CC" >/dev/null && [ "$(count rcv Receivers)" -gt 0 ] &&
		busywait unload && [ ! -d /sys/module/tcp_feedback ] && modprobe "$MODULE"
}

loads_again_and_again()
{
	local _

	for _ in $(seq 50); do
		modprobe -r "$MODULE" && modprobe "$MODULE" || return
	done
}

forgets_receivers()
{
	flow --cc "$CC" >/dev/null || return
	[ "$(count rcv Receivers)" -gt 0 ] || return
	for _ in $(seq 20); do
		sleep 2
		[ "$(count rcv Receivers)" != 0 ] || break
	done
	[ "$(count rcv Receivers)" = 0 ] && [ "$(count snd Senders)" = 0 ]
}

ss_shows()
{
	snd ss -tinH 'dport = :5000' | tee ss.txt | grep -q "$1"
}

# Unloads all senders with feedback, because a test may have switched between them.
unload()
{
	modprobe -r tcp_acp_host tcp_estcp tcp_xcp tcp_rcp 2>/dev/null
}
