#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The life of tcp_ccpd: loading, parameters, the ways to choose it, what it
# shows, changing it under traffic, unloading.  Runs as root in the lab kernel
# (scripts/lab exec -- tests/selftests/ccpd.sh) or on any kernel that has the
# module; prints KTAP.  Arguments name the tests to run; none: all.
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |  100 Mbit/s, 10 ms, 100 pkts  |  192.0.2.2   |
#   +--------------+                               +--------------+
#
# The delay sits at the receiver, never at the sender.

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/lib.sh
. "$DIR/lib.sh"

PARAMETERS=/sys/module/tcp_ccpd/parameters

# Tests in the order of their run; each is a function of this name.
TESTS="registers autoloads refuses_bad_values refuses_bad_load by_sysctl by_route
	by_route_v6 by_socket shows_in_ss traces changes_under_traffic
	stays_while_used survives_netns_exit loads_again_and_again kernel_is_quiet"

setup()
{
	sysctl -qw net.ipv4.tcp_congestion_control=reno
	setup_pair && tc -n "$SND" qdisc add dev veth0 root tbf rate 100mbit burst 1514 limit 151400
}

# flow [-6] ARGS...: one transfer; prints the congestion control that it used
flow()
{
	receiver "${1-}" && sender "$@"
}

flow_uses()
{
	local want=$1 got

	shift
	got=$(flow "$@")
	[ "$got" = "$want" ] || { echo "# used '$got', not $want"; return 1; }
}

available()
{
	sysctl -n net.ipv4.tcp_available_congestion_control | grep -qw "$1"
}

registers()
{
	modprobe tcp_ccpd && available ccpd && available ccp && available ccpd_path
}

autoloads()
{
	local name

	for name in ccpd ccp ccpd_path; do
		modprobe -r tcp_ccpd || return
		snd sysctl -qw net.ipv4.tcp_congestion_control=$name || return
		[ -d /sys/module/tcp_ccpd ] || return
		snd sysctl -qw net.ipv4.tcp_congestion_control=reno
	done
}

refuses_bad_values()
{
	local name value was

	for name in kp=0 kp=17 kp=-1 kp=x kp=2.5 kd=100001 b_min=1000001 \
		    path_kp=0 path_drain=0 path_drain=3601; do
		value=${name#*=} name=${name%=*}
		was=$(cat "$PARAMETERS/$name")
		if (echo "$value" > "$PARAMETERS/$name") 2>/dev/null; then
			echo "# $name accepts $value"
			return 1
		fi
		[ "$(cat "$PARAMETERS/$name")" = "$was" ] || return
		dmesg | tail -n 1 | grep -q "$name: '$value' is not a whole number" || return
	done
	echo 4 > $PARAMETERS/kp && [ "$(cat $PARAMETERS/kp)" = 4 ] && echo 2 > $PARAMETERS/kp
}

refuses_bad_load()
{
	modprobe -r tcp_ccpd || return
	! modprobe tcp_ccpd kp=99 2>/dev/null && [ ! -d /sys/module/tcp_ccpd ] &&
		modprobe tcp_ccpd kp=4 && [ "$(cat $PARAMETERS/kp)" = 4 ] &&
		modprobe -r tcp_ccpd && modprobe tcp_ccpd
}

by_sysctl()
{
	local name

	for name in ccpd ccp ccpd_path; do
		snd sysctl -qw net.ipv4.tcp_congestion_control=$name
		flow_uses $name && flow_uses $name -6 || return
	done
	snd sysctl -qw net.ipv4.tcp_congestion_control=reno
}

by_route()
{
	ip -n "$SND" route add 192.0.2.2 dev veth0 congctl ccpd && flow_uses ccpd &&
		flow_uses reno -6
	local status=$?

	ip -n "$SND" route del 192.0.2.2
	return $status
}

by_route_v6()
{
	ip -n "$SND" -6 route add 2001:db8::2 dev veth0 congctl ccpd_path &&
		flow_uses ccpd_path -6 && flow_uses reno
	local status=$?

	ip -n "$SND" -6 route del 2001:db8::2 dev veth0
	return $status
}

by_socket()
{
	flow_uses ccp --cc ccp && flow_uses ccpd_path -6 --cc ccpd_path
}

# With a transfer under way the estimate is that of the link: 95.64 Mb/s of payload.
ss_shows()
{
	snd ss -tinH 'dport = :5000' | tee ss.txt |
		grep -Eq "$1 .*bbr:\(bw:9[0-9]{7}bps,mrtt:10"
}

unload()
{
	modprobe -r tcp_ccpd 2>/dev/null
}

shows_in_ss()
{
	local status=0

	run_long --cc ccpd_path || return
	busywait ss_shows ccpd_path || { sed 's/^/# /' ss.txt; status=1; }
	end_long
	return $status
}

traces()
{
	local status=0

	[ -d $TRACING/events ] || mount -t tracefs none $TRACING
	echo > $TRACING/trace
	echo 1 > $TRACING/events/ccpd/ccpd_update/enable || return
	flow --cc ccpd >/dev/null || status=1
	echo 0 > $TRACING/events/ccpd/ccpd_update/enable
	grep -Eq 'ccpd_update: sport=[0-9]+ dport=[0-9]+ capacity_bps=9[0-9]{7} .*storage=[0-9]+ level=[0-9]+ in_flight=[0-9]+ p=-?[0-9]+ d=-?[0-9]+ cwnd=[0-9]+' \
		$TRACING/trace || status=1
	return $status
}

changes_under_traffic()
{
	flow_uses ccpd_path --bytes 20000000 --cc cubic --cc ccpd --cc bbr --cc ccpd_path \
		--cc reno --cc ccp --cc ccpd --cc ccpd_path
}

stays_while_used()
{
	local status=0

	run_long --cc ccpd || return
	busywait ss_shows ccpd || status=1
	unload && status=1
	end_long
	busywait unload || status=1
	modprobe tcp_ccpd || status=1
	return $status
}

# What a dead sender had still to send keeps its namespace, and the module, for
# as long as TCP tries: some minutes, which cost nothing in virtual time.
survives_netns_exit()
{
	run_long --cc ccpd_path || return
	busywait ss_shows ccpd_path || return
	cleanup
	for _ in $(seq 100); do
		unload && break
		sleep 10
	done
	[ ! -d /sys/module/tcp_ccpd ] && modprobe tcp_ccpd && setup
}

loads_again_and_again()
{
	local _

	for _ in $(seq 50); do
		modprobe -r tcp_ccpd && modprobe tcp_ccpd || return
	done
}

ksft_main "$@"
