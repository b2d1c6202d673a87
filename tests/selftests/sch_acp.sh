#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of the router qdisc acp: loading, options and messages for bad options, changing,
# replacing and unloading it under traffic, use below htb, and what it shows.  Runs as
# root in the lab kernel (scripts/lab exec -- tests/selftests/sch_acp.sh) or on any kernel
# that has the module, with any tc that finds q_acp.so; prints KTAP.  Arguments are the
# names of tests to run; without arguments all tests run.
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |  acp here          10 ms here |  192.0.2.2   |
#   +--------------+                               +--------------+

# shellcheck disable=SC2119 # run_long can do without arguments

KIND=acp
DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/sch_lib.sh
. "$DIR/sch_lib.sh"

# Tests in the order in which they run; each is a function of this name.
TESTS="loads needs_bandwidth default_bandwidth default_newcomers shows_options shows_json changes_options
	refuses_bad_options refuses_atomically shapes_exactly shapes_segments marks_packets
	marks_v6 leaves_others_alone leaves_other_flows_alone limits_packets changes_under_traffic survives_attributes
	shrinks_without_loss replaces_under_traffic deletes_under_traffic below_htb
	statistics_move polices forgets_on_down device_goes unloads_under_traffic
	loads_again_and_again kernel_is_quiet"

# Without any options, as for net.core.default_qdisc, the defaults apply: new flows are counted
default_newcomers()
{
	local status=0

	echo 155000 >/sys/module/sch_tcpcc/parameters/bandwidth
	TC_LIB_DIR=/nowhere qdisc add acp || status=1
	echo 0 >/sys/module/sch_tcpcc/parameters/bandwidth
	[ $status = 0 ] && has "newcomers 1" && has "flows_known 10" && qdisc del
}

shows_options()
{
	qdisc add acp bandwidth 155mbit limit 1000 &&
		has "acp .* root .* bandwidth 155Mbit limit 1000p ki 0.1587 kq 0.3175 gamma 0.1 target 0.99 congestion 0.95 flows 10 interval 50ms police 0 newcomers 1" &&
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
		    no_header malformed unwritable police policed flows_over newcomers flows_known; do
		field $name >/dev/null || return
	done
	qdisc del
}

changes_options()
{
	qdisc add acp bandwidth 1gbit limit 100 &&
		qdisc change acp ki 0.2 kq 0.4 gamma 0.05 target 0.9 congestion 0.8 flows 3 interval 20ms police 0.25 newcomers 0 &&
		has "bandwidth 1Gbit limit 100p ki 0.2 kq 0.4 gamma 0.05 target 0.9 congestion 0.8 flows 3 interval 20ms police 0.25 newcomers 0" &&
		has "estimated_flows 3.00 control_interval 20ms" &&
		qdisc change acp newcomers 1 && has "police 0.25 newcomers 1" &&
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
		says "police must be from 0 to 1" qdisc change acp police 1.01 &&
		says "newcomers must be 0 or 1" qdisc change acp newcomers 2 &&
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

statistics_move()
{
	local first flows

	qdisc add acp bandwidth 10mbit && headers >/dev/null && [ "$(field state)" = free ] || return
	first=$(field desired)
	run_long || return
	sleep 1
	[ "$(field periods)" -gt 5 ] && [ "$(field no_header)" -gt 500 ] &&
		[ "$(field input)" -gt 1000000 ] && [ "$(field state)" = congested ] &&
		[ "$(field desired)" != "$first" ] || return
	end_flows
	# an idle link keeps its estimate, and its rate becomes the share of so many flows
	sleep 1
	flows=$(field estimated_flows)
	sleep 60
	[ "$(field estimated_flows)" = "$flows" ] && [ "$(field input)" = 0 ] &&
		[ "$(field state)" = free ] &&
		awk -v flows="$flows" -v desired="$(field desired)" \
			'BEGIN { sum = flows * desired / 1250000; exit sum < 0.98 || sum > 1 }' && qdisc del
}

# A flow of CUBIC, which follows no grant, is alone on the link.  What exceeds its grant is
# dropped, at least half of the link is used, and the grant stays above a tenth of the link's
# rate.  With "police 0" the grant falls below that, and a flow that follows it would get only that.
polices()
{
	local policed

	qdisc add acp bandwidth 10mbit police 0.1 && headers >/dev/null &&
		run_long && sleep 10 || return
	[ "$(field desired)" -gt 125000 ] && [ "$(field bytes)" -gt 6250000 ] &&
		qdisc change acp police 0 || return
	policed=$(field policed)
	[ "$policed" -gt 20 ] && [ "$(field drops)" = "$policed" ] && sleep 10 || return
	[ "$(field policed)" = "$policed" ] && [ "$(field flows_over)" = 0 ] &&
		[ "$(field desired)" -lt 125000 ] || return
	# after a restart nothing is dropped until a period has ended and a rate was granted
	qdisc change acp police 0.1 && sleep 0.03 && [ "$(field policed)" = "$policed" ] || return
	end_flows
	qdisc del
}

ksft_main "$@"
