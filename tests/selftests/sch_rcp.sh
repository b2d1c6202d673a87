#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of the router qdisc rcp: the common tests of router qdiscs, its own options, the rate
# that it writes, in both forms of the law, and packets that it does not change.  Runs as root
# in the lab kernel (scripts/lab exec -- tests/selftests/sch_rcp.sh) or on any kernel that has
# the module, with any tc that finds q_rcp.so; prints KTAP.  Arguments are the names of tests to
# run; without arguments all tests run.
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |  rcp here          10 ms here |  192.0.2.2   |
#   +--------------+                               +--------------+

# shellcheck disable=SC2119 # run_long can do without arguments

KIND=rcp
DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/sch_lib.sh
. "$DIR/sch_lib.sh"

# Tests in the order in which they run; each is a function of this name.
TESTS="loads needs_bandwidth default_bandwidth shows_options shows_json changes_options
	refuses_bad_options refuses_atomically shapes_exactly shapes_segments marks_packets
	marks_v6 falls_to_the_floor leaves_others_alone leaves_other_flows_alone limits_packets
	changes_under_traffic survives_attributes shrinks_without_loss replaces_under_traffic
	deletes_under_traffic below_htb statistics_move forgets_on_down device_goes
	unloads_under_traffic loads_again_and_again kernel_is_quiet"

shows_options()
{
	qdisc add rcp bandwidth 155mbit limit 1000 &&
		has "rcp .* root .* bandwidth 155Mbit limit 1000p alpha 0.4 beta 0.4 gamma 1 interval 10ms floor 0.01 start 0.05" &&
		has "desired 7750Kbit input 0bit control_interval 10ms mean_rtt 200ms queue 0b state waiting" &&
		has "periods 0 headers 0 lowered 0 echoes 0 no_header [0-9]* malformed 0 unwritable 0" &&
		qdisc del
}

shows_json()
{
	local name

	qdisc add rcp bandwidth 155mbit || return
	[ "$(field bandwidth)" = 19375000 ] && [ "$(field floor)" = 0.01 ] &&
		[ "$(field interval)" = 0.01 ] && [ "$(field desired)" = 968750 ] &&
		[ "$(field mean_rtt)" = 0.2 ] && [ "$(field state)" = waiting ] || return
	for name in limit alpha beta gamma start input control_interval queue periods headers \
		    lowered echoes no_header malformed unwritable; do
		field $name >/dev/null || return
	done
	qdisc del
}

changes_options()
{
	qdisc add rcp bandwidth 1gbit limit 100 &&
		qdisc change rcp alpha 0.1 beta 1 gamma 0.9 interval 0 floor 1 start 0.5 &&
		has "bandwidth 1Gbit limit 100p alpha 0.1 beta 1 gamma 0.9 interval 0us floor 1 start 0.5" &&
		has "desired 500Mbit input 0bit control_interval 200ms" &&
		qdisc change rcp interval 20ms floor 1000 && has "interval 20ms floor 1000" &&
		has "control_interval 20ms" &&
		qdisc replace rcp bandwidth 400gbit && has "bandwidth 400Gbit limit 100p alpha 0.1" &&
		qdisc change rcp bandwidth 1kbit && has "bandwidth 1Kbit" && has "desired 896bit" &&
		qdisc del
}

refuses_bad_options()
{
	qdisc add rcp bandwidth 1gbit || return
	says "bandwidth must be from 1kbit to 1tbit" qdisc change rcp bandwidth 999bit &&
		says "bandwidth must be from 1kbit to 1tbit" qdisc change rcp bandwidth 2tbit &&
		says "limit must be at least 1 packet" qdisc change rcp limit 0 &&
		says "alpha must be above 0 and at most 4" qdisc change rcp alpha 0 &&
		says "alpha must be above 0 and at most 4" qdisc change rcp alpha 4.01 &&
		says "beta must be from 0 to 4" qdisc change rcp beta 5 &&
		says "gamma must be above 0 and at most 1" qdisc change rcp gamma 0 &&
		says "gamma must be above 0 and at most 1" qdisc change rcp gamma 1.1 &&
		says "interval must be 0 or from 1ms to 10s" qdisc change rcp interval 999us &&
		says "interval must be 0 or from 1ms to 10s" qdisc change rcp interval 11s &&
		says "floor must be from 0 to 1000" qdisc change rcp floor 1001 &&
		says "start must be above 0 and at most 1" qdisc change rcp start 0 &&
		says "start must be above 0 and at most 1" qdisc change rcp start 1.1 &&
		says "bandwidth needs a rate" qdisc change rcp bandwidth &&
		says '"fast" is not a rate' qdisc change rcp bandwidth fast &&
		says '"-1" is not a number' qdisc change rcp alpha -1 &&
		says '"soon" is not a time' qdisc change rcp interval soon &&
		says 'no option "flows"' qdisc change rcp flows 1 &&
		says "Usage: ... rcp bandwidth RATE" qdisc change rcp help && qdisc del
}

refuses_atomically()
{
	qdisc add rcp bandwidth 1gbit &&
		says "interval must be" qdisc change rcp bandwidth 2gbit limit 7 alpha 1 interval 1us &&
		has "bandwidth 1Gbit limit 1000p alpha 0.4" && has "desired 50Mbit" && qdisc del
}

# The paper of 2005: with a queue of more than 0.9 * C * d, R falls in one step to one packet, of
# the size of those that arrived, per mean rtt of 200 ms.  Then it grows by a tenth in each rtt, up
# to the capacity.
falls_to_the_floor()
{
	local floor came

	# a frame of 166 bytes, and 300 of 1042; less if other packets were on the link
	qdisc add rcp bandwidth 1mbit interval 0 alpha 0.1 beta 1 floor 1 start 1 &&
		[ "$(word 0x1fffffff 200000)" = 125000 ] &&
		raw "$SND" burst 192.0.2.2 300 1000 >/dev/null && sleep 0.3 || return
	floor=$(((166 + 300 * 1042) * 5 / 301))
	came=$(field desired)
	[ "$came" -le $floor ] && [ "$came" -gt $((floor * 9 / 10)) ] &&
		[ "$(field mean_rtt)" = 0.2 ] || return
	# after these, this packet is the largest
	[ "$(word 0x1fffffff 200000)" -le $((166 * 5)) ] || return
	# with the default floor R falls to almost 0
	qdisc change rcp floor 0.01 && raw "$SND" burst 192.0.2.2 300 1000 >/dev/null && sleep 0.3 &&
		[ "$(field desired)" -le $((floor / 90)) ] || return
	sleep 60
	[ "$(field desired)" = 125000 ] && [ "$(word 0x1fffffff 200000)" = 125000 ] && qdisc del
}

statistics_move()
{
	qdisc add rcp bandwidth 10mbit && headers >/dev/null && [ "$(field state)" = running ] || return
	run_long && sleep 1 || return
	[ "$(field periods)" -gt 50 ] && [ "$(field no_header)" -gt 500 ] &&
		[ "$(field input)" -gt 1000000 ] && [ "$(field queue)" -gt 1000 ] &&
		[ "$(field desired)" -lt 625000 ] || return
	end_flows
	# on an idle link R becomes the capacity
	sleep 60
	[ "$(field input)" = 0 ] && [ "$(field queue)" = 0 ] && [ "$(field desired)" = 1250000 ] &&
		[ "$(field control_interval)" = 0.01 ] && [ "$(field state)" = running ] && qdisc del
}

ksft_main "$@"
