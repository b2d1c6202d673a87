#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The life of the router qdisc acp: loading, options and what is said of bad ones,
# changing it, replacing it and unloading it under traffic, below htb, what it
# shows.  Runs as root in the lab kernel (scripts/lab exec --
# tests/selftests/sch_acp.sh) or on any kernel that has the module, and with any tc
# that finds q_acp.so; prints KTAP.  Arguments name the tests to run; none: all.
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |  acp here          10 ms here |  192.0.2.2   |
#   +--------------+                               +--------------+

# shellcheck disable=SC2119 # run_long can do without arguments

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/lib.sh
. "$DIR/lib.sh"

# Tests in the order of their run; each is a function of this name.
TESTS="loads needs_bandwidth default_bandwidth shows_options shows_json changes_options
	refuses_bad_options refuses_atomically shapes_exactly shapes_segments marks_packets
	marks_v6 leaves_others_alone limits_packets changes_under_traffic
	shrinks_without_loss replaces_under_traffic deletes_under_traffic below_htb
	statistics_move forgets_on_down device_goes unloads_under_traffic
	loads_again_and_again kernel_is_quiet"

setup()
{
	# they shall know each other
	setup_pair && snd ping -qc 1 192.0.2.2 >/dev/null && snd ping -qc 1 2001:db8::2 >/dev/null
}

# What the next test would stumble over
after_failure()
{
	end_long 2>/dev/null
	qdisc del 2>/dev/null
}

qdisc()
{
	tc -n "$SND" qdisc "$1" dev veth0 root "${@:2}"
}

# has TEXT: whether what is shown of the qdisc contains it
has()
{
	tc -n "$SND" -s qdisc show dev veth0 >shown.txt
	grep -q -- "$1" shown.txt || { sed 's/^/# /' shown.txt; return 1; }
}

# field NAME: a value from the JSON of the qdisc
field()
{
	tc -n "$SND" -s -j qdisc show dev veth0 | /usr/bin/python3 -c '
import json, sys
q = [q for q in json.load(sys.stdin) if q["kind"] == "acp"][0]
print({**q, **q["options"]}[sys.argv[1]])' "$1"
}

empty()
{
	[ "$(field qlen)" = 0 ] && [ "$(field backlog)" = 0 ]
}

# passed N: whether more than N packets have left
passed()
{
	[ "$(field packets)" -gt "$1" ]
}

# says TEXT CMD...: CMD fails, and with these words
says()
{
	local text=$1

	shift
	if "$@" 2>said.txt; then
		echo "# accepted: $*"
		return 1
	fi
	grep -q -- "$text" said.txt || { sed 's/^/# /' said.txt; return 1; }
}

# flow [-6] ARGS...: one transfer
flow()
{
	receiver "${1-}" && sender "$@" >/dev/null
}

# raw NAMESPACE ARGS...: packets made by hand, see raw.py
raw()
{
	ip netns exec "$1" "$DIR/raw.py" "${@:2}"
}

unload()
{
	modprobe -r sch_tcpcc 2>/dev/null
}

loads()
{
	modprobe sch_acp && [ -d /sys/module/sch_tcpcc ] && unload &&
		modprobe sch_tcpcc && qdisc add acp bandwidth 1mbit && qdisc del
}

loads_once()
{
	modprobe sch_acp && [ -d /sys/module/sch_tcpcc ]
}

needs_bandwidth()
{
	says "bandwidth is missing" qdisc add acp &&
		says "bandwidth is missing" qdisc add acp limit 10 &&
		! tc -n "$SND" qdisc show dev veth0 | grep -q acp
}

default_bandwidth()
{
	echo 155000 >/sys/module/sch_tcpcc/parameters/bandwidth
	TC_LIB_DIR=/nowhere qdisc add acp
	local status=$?

	echo 0 >/sys/module/sch_tcpcc/parameters/bandwidth
	[ $status = 0 ] && has "bandwidth 155Mbit limit 1000p" && qdisc del
}

shows_options()
{
	qdisc add acp bandwidth 155mbit limit 1000 &&
		has "acp .* root .* bandwidth 155Mbit limit 1000p ki 0.1587 kq 0.3175 gamma 0.1 target 0.99 congestion 0.95 flows 10 interval 50ms" &&
		has "desired 0bit input 0bit estimated_flows 10.00 control_interval 50ms persistent_queue 0b state waiting" &&
		qdisc del
}

shows_json()
{
	local name

	qdisc add acp bandwidth 155mbit || return
	[ "$(field bandwidth)" = 19375000 ] && [ "$(field ki)" = 0.1587 ] &&
		[ "$(field interval)" = 0.05 ] && [ "$(field state)" = waiting ] || return
	for name in limit kq gamma target congestion flows desired input estimated_flows \
		    control_interval persistent_queue periods headers lowered echoes \
		    no_header malformed unwritable; do
		field $name >/dev/null || return
	done
	qdisc del
}

changes_options()
{
	qdisc add acp bandwidth 1gbit limit 100 &&
		qdisc change acp ki 0.2 kq 0.4 gamma 0.05 target 0.9 congestion 0.8 flows 3 interval 20ms &&
		has "bandwidth 1Gbit limit 100p ki 0.2 kq 0.4 gamma 0.05 target 0.9 congestion 0.8 flows 3 interval 20ms" &&
		has "estimated_flows 3.00 control_interval 20ms" &&
		qdisc replace acp bandwidth 400gbit && has "bandwidth 400Gbit limit 100p ki 0.2" &&
		qdisc change acp bandwidth 1kbit && has "bandwidth 1Kbit" && qdisc del
}

refuses_bad_options()
{
	qdisc add acp bandwidth 1gbit || return
	says "bandwidth must be from 1kbit to 1tbit" qdisc change acp bandwidth 999bit &&
		says "bandwidth must be from 1kbit to 1tbit" qdisc change acp bandwidth 2tbit &&
		says "limit must be at least 1 packet" qdisc change acp limit 0 &&
		says "ki must be above 0 and at most 4" qdisc change acp ki 0 &&
		says "ki must be above 0 and at most 4" qdisc change acp ki 4.01 &&
		says "kq must be from 0 to 4" qdisc change acp kq 5 &&
		says "gamma must be above 0 and at most 1" qdisc change acp gamma 1.1 &&
		says "target must be above 0 and at most 1" qdisc change acp target 0 &&
		says "congestion must be above 0 and at most 1" qdisc change acp congestion 2 &&
		says "flows must be from 1 to 16777216" qdisc change acp flows 0 &&
		says "interval must be from 1ms to 10s" qdisc change acp interval 10us &&
		says "interval must be from 1ms to 10s" qdisc change acp interval 11s &&
		says "bandwidth needs a rate" qdisc change acp bandwidth &&
		says '"fast" is not a rate' qdisc change acp bandwidth fast &&
		says '"-1" is not a number' qdisc change acp ki -1 &&
		says 'no option "speed"' qdisc change acp speed 1 &&
		says "Usage: ... acp bandwidth RATE" qdisc change acp help && qdisc del
}

refuses_atomically()
{
	qdisc add acp bandwidth 1gbit &&
		says "interval must be" qdisc change acp bandwidth 2gbit limit 7 ki 1 interval 1us &&
		has "bandwidth 1Gbit limit 1000p ki 0.1587" && qdisc del
}

# Rates of what arrives: to 10^-5, and where a packet takes 12 ns to 10^-3
shapes_exactly()
{
	local rate want got

	qdisc add acp bandwidth 1gbit limit 10000 || return
	for rate in 100kbit=100000 10mbit=10000000 155mbit=155000000 10gbit=10000000000 \
		    400gbit=400000000000; do
		want=${rate#*=}
		qdisc change acp bandwidth "${rate%=*}" && sleep 1 || return
		got=$(raw "$SND" pace 192.0.2.2 "$RCV" 500 1472) || return
		awk -v got="$got" -v want="$want" 'BEGIN {
			off = got / want - 1
			exit (off < 0 ? -off : off) > (want > 1e11 ? 1e-3 : 1e-5) }' || {
			echo "# $got bit/s, not $want"; return 1; }
	done
	qdisc del
}

shapes_segments()
{
	snd ethtool -K veth0 tso on gso on
	qdisc add acp bandwidth 100mbit && flow --bytes 2000000 || return
	# a segment has 1448 bytes
	busywait empty && [ "$(field packets)" -ge 1382 ] && qdisc del
}

marks_packets()
{
	qdisc add acp bandwidth 1mbit &&
		raw "$SND" header 192.0.2.2 "$RCV" 125000 && [ "$(field headers)" = 7 ] &&
		[ "$(field lowered)" = 6 ] && [ "$(field state)" = free ] && qdisc del
}

marks_v6()
{
	qdisc add acp bandwidth 1mbit && raw "$SND" header 2001:db8::2 "$RCV" 125000 &&
		[ "$(field lowered)" = 6 ] && qdisc del
}

leaves_others_alone()
{
	qdisc add acp bandwidth 1mbit && raw "$SND" strange 192.0.2.2 "$RCV" &&
		[ "$(field lowered)" = 0 ] && [ "$(field malformed)" = 2 ] &&
		[ "$(field echoes)" = 1 ] && [ "$(field headers)" = 0 ] &&
		[ "$(field state)" = waiting ] && qdisc del
}

limits_packets()
{
	qdisc add acp bandwidth 1mbit limit 10 && raw "$SND" burst 192.0.2.2 50 1000 >/dev/null || return
	[ "$(field drops)" -ge 35 ] && [ "$(field qlen)" -le 10 ] && qdisc del
}

changes_under_traffic()
{
	local rate

	qdisc add acp bandwidth 100mbit limit 10000 && run_long || return
	for rate in 10mbit 1gbit 8kbit 50mbit 400gbit 100mbit; do
		sleep 0.1
		qdisc change acp bandwidth $rate limit 20000 || return
	done
	sleep 0.2
	[ "$(field drops)" = 0 ] || return
	end_long
	qdisc del
}

shrinks_without_loss()
{
	local queued

	qdisc add acp bandwidth 1mbit limit 1000 && raw "$SND" burst 192.0.2.2 100 1000 >/dev/null || return
	queued=$(field qlen)
	qdisc change acp limit 10 && [ "$queued" -ge 90 ] && [ "$(field qlen)" -ge 85 ] &&
		[ "$(field drops)" = 0 ] || return
	qdisc change acp bandwidth 1gbit && sleep 0.01 && [ "$(field qlen)" = 0 ] &&
		[ "$(field packets)" -ge 100 ] && qdisc del
}

replaces_under_traffic()
{
	local kind

	qdisc add acp bandwidth 100mbit && run_long || return
	for kind in "pfifo limit 100" "acp bandwidth 50mbit" "fq_codel" "acp bandwidth 200mbit" \
		    "acp bandwidth 10mbit" "pfifo limit 10" "acp bandwidth 1gbit"; do
		sleep 0.05
		# shellcheck disable=SC2086
		qdisc replace $kind || return
	done
	busywait passed 100 || return
	end_long
	qdisc del
}

deletes_under_traffic()
{
	local _

	qdisc add acp bandwidth 100mbit && run_long || return
	for _ in $(seq 20); do
		sleep 0.02
		qdisc del && qdisc add acp bandwidth 100mbit || return
	done
	end_long
	qdisc del
}

below_htb()
{
	qdisc add handle 1: htb default 1 &&
		tc -n "$SND" class add dev veth0 parent 1: classid 1:1 htb rate 100mbit &&
		tc -n "$SND" qdisc add dev veth0 parent 1:1 handle 10: acp bandwidth 50mbit &&
		flow --bytes 5000000 || return
	busywait empty && [ "$(field packets)" -gt 3000 ] || return
	# and with a class that is slower than its child; then the child goes
	tc -n "$SND" class change dev veth0 parent 1: classid 1:1 htb rate 20mbit &&
		flow --bytes 2000000 && run_long && sleep 0.2 &&
		tc -n "$SND" qdisc del dev veth0 parent 1:1 handle 10: && sleep 0.1 &&
		tc -n "$SND" qdisc add dev veth0 parent 1:1 handle 10: acp bandwidth 50mbit || return
	end_long
	qdisc del
}

statistics_move()
{
	local first

	qdisc add acp bandwidth 10mbit && raw "$SND" header 192.0.2.2 "$RCV" 1250000 || return
	first=$(field desired)
	run_long || return
	sleep 1
	[ "$(field periods)" -gt 5 ] && [ "$(field no_header)" -gt 500 ] &&
		[ "$(field input)" -gt 1000000 ] && [ "$(field state)" = congested ] &&
		[ "$(field desired)" != "$first" ] || return
	end_long
	# idle, it comes to want its whole bandwidth of one flow
	sleep 60
	[ "$(field desired)" = 1250000 ] && [ "$(field input)" = 0 ] &&
		[ "$(field state)" = free ] && qdisc del
}

forgets_on_down()
{
	qdisc add acp bandwidth 10mbit && raw "$SND" header 192.0.2.2 "$RCV" 1250000 &&
		raw "$SND" burst 192.0.2.2 100 1000 >/dev/null &&
		ip -n "$SND" link set veth0 down && ip -n "$SND" link set veth0 up || return
	[ "$(field qlen)" = 0 ] && [ "$(field state)" = waiting ] || return
	ip -n "$SND" addr replace 2001:db8::1/64 dev veth0 nodad
	flow --bytes 100000 && qdisc del
}

# The device goes with packets in its queue.
device_goes()
{
	qdisc add acp bandwidth 1mbit && raw "$SND" burst 192.0.2.2 100 1000 >/dev/null &&
		ip -n "$SND" link del veth0 && sleep 1 || return
	cleanup
	setup
}

unloads_under_traffic()
{
	qdisc add acp bandwidth 100mbit && run_long && sleep 0.1 || return
	unload && return 1
	qdisc del && busywait unload || return
	sleep 0.1
	end_long
	[ ! -d /sys/module/sch_tcpcc ] && modprobe sch_acp
}

loads_again_and_again()
{
	local _

	for _ in $(seq 50); do
		modprobe -r sch_tcpcc && modprobe sch_acp &&
			qdisc add acp bandwidth 1mbit && qdisc del || return
	done
}

ksft_main "$@"
