#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of tcp_rcp without its router: a filter acts as the router, and writes a rate into each
# header.  The transport of headers is tested in acp.sh.  Runs as root in the lab kernel
# (scripts/lab exec -- tests/selftests/rcp.sh) or on any kernel that has the modules; prints
# KTAP.  Arguments are the names of tests to run; without arguments all tests run.
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |  100 Mbit/s, 10 ms, 100 pkts  |  192.0.2.2   |
#   +--------------+                               +--------------+
#
# The delay is at the receiver, never at the sender.

# The variables that explicit_lib.sh needs are not used in this file.
# shellcheck disable=SC2034

DIR=$(dirname "$(readlink -f "$0")")

CC=rcp
MODULE=tcp_rcp
# ten round trips of 10 ms
START_MS=100
BAD_VALUES="rcp_overhead=257 rcp_trust=10001 rcp_patience=0 rcp_patience=101 rcp_patience=x"
SS_SHOWS=' rcp .*bbr:(bw:40000000bps,mrtt:10[^,]*)'
PROC_SHOWS=' mode=feedback granted_bps=40000000 desired_milli_segs=3[23][0-9]{3} mrtt_us=10[0-9]{3}$'
EVENT=rcp/explicit_update
# windows of 33 segments, times 65536
TRACED='mode=1 echoes=1 feedback_bps=5000000 rtt_us=10[0-9]{3} mrtt_us=10[0-9]{3} acked=[0-9]+ window=2[12][0-9]{5}$'

# shellcheck source=tests/selftests/explicit_lib.sh
. "$DIR/explicit_lib.sh"

# Tests in the order in which they run; each is a function of this name.
TESTS="registers autoloads needs_privileges refuses_bad_values by_socket carries carries_v6
	without_a_router follows_a_router follows_a_router_v6 keeps_its_rate bears_no_rate router_goes_away
	loses_its_way sends_both_ways believes_so_much starts_again_after_idle shows_in_ss
	shows_in_proc traces checksums_are_right changes_under_traffic stays_while_used
	survives_netns_exit unloads_beside_receivers loads_again_and_again
	refused_in_namespaces kernel_is_quiet"

# One in twenty packets is lost.  Retransmissions are sent at the same rate: 5 MB take 1.06 s plus
# a twentieth, plus a start, and the loss of the last segment.
keeps_its_rate()
{
	local time

	router && loss 5 || return
	time=$(flow --bytes 5000000 --cc rcp)
	loss 0
	no_router
	took "$time" 1090 1600
}

# For a second a router grants 1 B/s (a segment in 1432 s), or 0.  When it grants 5 MB/s again,
# the sender must still receive this.
bears_no_rate()
{
	local rate status=0

	for rate in 1 0; do
		router && run_long --cc rcp && busywait ss_shows 'bw:40000000bps' || status=1
		rewrite_nothing
		rewrite "$RCV" 20 12 8 u32 $rate
		busywait ss_shows "bw:$((rate * 8))bps" || status=1
		sleep 1
		busywait ss_shows 'pacing_rate 1[0-9]\{4\}bps' || status=1
		rewrite_nothing
		router
		busywait ss_shows 'bw:40000000bps' || { sed 's/^/# /' ss.txt; status=1; }
		no_router
		end_long
	done
	return $status
}

# A receiver that echoes 100 GB/s instead
lie()
{
	rewrite "$SND" 20 8 4 u32 0x0dba43b7
}

ksft_main "$@"
