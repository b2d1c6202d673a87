#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of the router qdisc xcp: the common tests of router qdiscs, its own options, the changes
# that it writes to packets, and packets that it does not change.  Runs as root in the lab
# kernel (scripts/lab exec -- tests/selftests/sch_xcp.sh) or on any kernel that has the
# module, with any tc that finds q_xcp.so; prints KTAP.  Arguments are the names of tests to
# run; without arguments all tests run.
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |  xcp here          10 ms here |  192.0.2.2   |
#   +--------------+                               +--------------+

# shellcheck disable=SC2119 # run_long can do without arguments

KIND=xcp
DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/sch_lib.sh
. "$DIR/sch_lib.sh"

CHANGED=changed

# Tests in the order in which they run; each is a function of this name.
TESTS="loads needs_bandwidth default_bandwidth shows_options shows_json changes_options
	refuses_bad_options refuses_atomically shapes_exactly shapes_segments marks_packets
	marks_v6 takes_back leaves_others_alone leaves_other_flows_alone limits_packets
	changes_under_traffic survives_attributes shrinks_without_loss replaces_under_traffic
	deletes_under_traffic below_htb statistics_move forgets_on_down device_goes
	unloads_under_traffic loads_again_and_again kernel_is_quiet"

shows_options()
{
	qdisc add xcp bandwidth 155mbit limit 1000 &&
		has "xcp .* root .* bandwidth 155Mbit limit 1000p alpha 0.4 beta 0.226 gamma 0.1" &&
		has "input 0bit to_raise 0bit to_cut 0bit control_interval 50ms persistent_queue 0b state waiting" &&
		has "periods 0 headers 0 changed 0 echoes 0 no_header [0-9]* malformed 0 unwritable 0" &&
		qdisc del
}

shows_json()
{
	local name

	qdisc add xcp bandwidth 155mbit || return
	[ "$(field bandwidth)" = 19375000 ] && [ "$(field beta)" = 0.226 ] &&
		[ "$(field control_interval)" = 0.05 ] && [ "$(field state)" = waiting ] || return
	for name in limit alpha gamma input to_raise to_cut persistent_queue periods headers \
		    changed echoes no_header malformed unwritable; do
		field $name >/dev/null || return
	done
	qdisc del
}

changes_options()
{
	qdisc add xcp bandwidth 1gbit limit 100 && qdisc change xcp alpha 0.2 beta 0 gamma 0.05 &&
		has "bandwidth 1Gbit limit 100p alpha 0.2 beta 0 gamma 0.05" &&
		qdisc replace xcp bandwidth 400gbit && has "bandwidth 400Gbit limit 100p alpha 0.2" &&
		qdisc change xcp bandwidth 1kbit alpha 0.000001 && has "bandwidth 1Kbit .* alpha 1e-06" &&
		qdisc del
}

refuses_bad_options()
{
	qdisc add xcp bandwidth 1gbit || return
	says "bandwidth must be from 1kbit to 1tbit" qdisc change xcp bandwidth 999bit &&
		says "bandwidth must be from 1kbit to 1tbit" qdisc change xcp bandwidth 2tbit &&
		says "limit must be at least 1 packet" qdisc change xcp limit 0 &&
		says "alpha must be above 0 and at most 4" qdisc change xcp alpha 0 &&
		says "alpha must be above 0 and at most 4" qdisc change xcp alpha 4.01 &&
		says "beta must be from 0 to 4" qdisc change xcp beta 5 &&
		says "gamma must be from 0 to 1" qdisc change xcp gamma 1.1 &&
		says "bandwidth needs a rate" qdisc change xcp bandwidth &&
		says '"fast" is not a rate' qdisc change xcp bandwidth fast &&
		says '"-1" is not a number' qdisc change xcp alpha -1 &&
		says 'no option "interval"' qdisc change xcp interval 10ms &&
		says "Usage: ... xcp bandwidth RATE" qdisc change xcp help && qdisc del
}

refuses_atomically()
{
	qdisc add xcp bandwidth 1gbit &&
		says "gamma must be" qdisc change xcp bandwidth 2gbit limit 7 alpha 1 gamma 2 &&
		has "bandwidth 1Gbit limit 1000p alpha 0.4" && qdisc del
}

# Negative feedback is the excess, or gamma times the input if that is more, and is distributed by
# bytes.  The frame of 166 bytes gets its part, although it requests more.  The packets of the flow
# that builds the queue have no rtt, so d is 50 ms.
takes_back()
{
	local gamma cut part info="781 << 18 | 6 << 24"

	# TCP keeps few packets in a qdisc of its own host, so beta is large
	qdisc add xcp bandwidth 10mbit beta 4 && word 0 "$info" >/dev/null && run_long &&
		sleep 2 || return
	for gamma in 0 1; do
		qdisc change xcp gamma $gamma && sleep 0.1 || return
		part=$((0x40000000 - $(word 0x1fffffff "$info")))
		cut=$(field to_cut)
		awk -v gamma=$gamma -v cut="$cut" -v input="$(field input)" -v part="$part" 'BEGIN {
			all = gamma * input > cut ? gamma * input : cut
			off = part * input * 0.05 / 166 / all - 1
			exit !(cut > 100000 && off * off < 0.04) }' || {
			echo "# gamma $gamma: $part of $cut"; return 1; }
	done
	# a packet that already loses more is not changed
	[ "$(word 0x3fff0000 "$info")" = $((0x3fff0000)) ] || return
	end_flows
	qdisc del
}

statistics_move()
{
	qdisc add xcp bandwidth 10mbit && headers >/dev/null && [ "$(field state)" = running ] &&
		run_long && sleep 1 || return
	[ "$(field periods)" -gt 5 ] && [ "$(field no_header)" -gt 500 ] &&
		[ "$(field input)" -gt 1000000 ] && [ "$(field persistent_queue)" -gt 1000 ] &&
		[ "$(field to_cut)" -gt 1000 ] && [ "$(field to_raise)" = 0 ] || return
	end_flows
	# on an idle link nothing is left to give or to take
	sleep 60
	[ "$(field input)" = 0 ] && [ "$(field to_cut)" = 0 ] && [ "$(field to_raise)" = 0 ] &&
		[ "$(field control_interval)" = 0.05 ] && [ "$(field persistent_queue)" = 0 ] &&
		[ "$(field state)" = running ] && qdisc del
}

ksft_main "$@"
