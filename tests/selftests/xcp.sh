#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of tcp_xcp, and of its law with a router.  The router is the qdisc xcp at the sender: XCP's
# feedback is a change, and a filter cannot know when to stop.  The transport of headers is tested
# in acp.sh.  Runs as root in the lab kernel (scripts/lab exec -- tests/selftests/xcp.sh) or on any
# kernel that has the modules; prints KTAP.  Arguments are the names of tests to run; without
# arguments all tests run.
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |  100 Mbit/s, 10 ms, 100 pkts  |  192.0.2.2   |
#   +--------------+  with a router: 40 Mbit/s     +--------------+
#
# The delay is at the receiver, never at the sender.

# The variables that explicit_lib.sh needs are not used in this file.
# shellcheck disable=SC2034

DIR=$(dirname "$(readlink -f "$0")")

CC=xcp
MODULE=tcp_xcp
# the router's first period, five periods up to the windows that the path must have shown, and as
# many to fill the rest, of which a round trip fills four tenths
START_MS=150
BAD_VALUES="xcp_overhead=257 xcp_pacing=2 xcp_trust=10001 xcp_patience=0 xcp_patience=101 xcp_patience=x"
# it shows nothing for which ss has a format
SS_SHOWS=' xcp .* cwnd:3[4-7] '
PROC_SHOWS=' mode=feedback window_milli_segs=3[3-6][0-9]{3} mrtt_us=10[0-9]{3}$'
EVENT=xcp/explicit_update
# the router's rate is 33 segments in 10 ms, 36 in 11; times 65536
TRACED='mode=1 echoes=1 feedback_bps=-?[0-9]+ rtt_us=1[01][0-9]{3} mrtt_us=10[0-9]{3} acked=[0-9]+ window=2[1-3][0-9]{5}$'

# shellcheck source=tests/selftests/explicit_lib.sh
. "$DIR/explicit_lib.sh"

# Tests in the order in which they run; each is a function of this name.
TESTS="registers autoloads needs_privileges refuses_bad_values by_socket carries carries_v6
	without_a_router follows_a_router follows_a_router_v6 loses_acks delays_acks
	router_goes_away loses_its_way sends_both_ways acp_in_its_router in_acps_router
	believes_so_much starts_again_after_idle shows_in_ss shows_in_proc traces
	checksums_are_right changes_under_traffic stays_while_used survives_netns_exit
	unloads_beside_receivers loads_again_and_again refused_in_namespaces kernel_is_quiet"

# router [KIND]: starts the qdisc, xcp by default, at 40 Mbit/s
router()
{
	# a number is the length of the IP header, which a qdisc does not need
	[ "${1-}" = acp ] || set -- xcp
	tc -n "$SND" qdisc replace dev veth0 root handle 2: "$1" bandwidth 40mbit limit 100
}

no_router()
{
	tc -n "$SND" qdisc replace dev veth0 root handle 1: tbf rate 100mbit burst 1514 limit 151400
}

# loss PERCENT: drops this part of what the sender sends, behind the router
loss()
{
	tc -n "$RCV" filter del dev veth0 ingress
	[ "$1" = 0 ] || tc -n "$RCV" filter add dev veth0 ingress matchall \
		action gact pass random netrand drop $((100 / $1))
}

# dropped: prints the number of packets that the router has dropped
dropped()
{
	tc -n "$SND" -s qdisc show dev veth0 root | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p'
}

# sends MBIT: whether the router sends at this rate, measured for a second
sends()
{
	local bytes

	bytes=$(sent)
	sleep 1
	bytes=$(($(sent) - bytes))
	within $(($1 * 125000 * 97 / 100)) $bytes $(($1 * 125000 * 103 / 100))
}

sent()
{
	tc -n "$SND" -s qdisc show dev veth0 root | sed -n 's/^ Sent \([0-9]*\) .*/\1/p'
}

within()
{
	if [ "$2" -lt "$1" ] || [ "$2" -gt "$3" ]; then
		echo "# $2 is not from $1 to $3"
		return 1
	fi
}

# window: prints the window of run_long, segments
window()
{
	ss_shows cwnd && sed -n 's/.* cwnd:\([0-9]*\) .*/\1/p' ss.txt
}

# settles: whether a running flow follows the router's capacity when that changes.  Nothing is
# dropped, and the window is what the router sends in a round trip of 10 to 12 ms, in packets of
# 1510 bytes.  (No queue is visible, because TCP keeps little in the qdiscs of its own host.)
settles()
{
	local mbit status=0

	for mbit in 40 20 60; do
		tc -n "$SND" qdisc change dev veth0 root xcp bandwidth ${mbit}mbit &&
			sleep 1 && sends $mbit && within $((mbit * 8 / 10)) "$(window)" $((mbit + 1)) ||
			status=1
	done
	[ "$(dropped)" = 0 ] || { echo "# $(dropped) dropped"; status=1; }
	return $status
}

# Every second ACK with an echo is lost, together with its change.
loses_acks()
{
	local status=0

	router && run_long --bytes 100000000 --cc xcp && sleep 0.5 || return
	tc -n "$SND" filter add dev veth0 ingress protocol ip \
		u32 match u32 0xfd08ac50 0xffffffff at 40 action gact pass random determ drop 2 || return
	settles || status=1
	no_router
	end_long
	tc -n "$SND" filter del dev veth0 ingress
	return $status
}

# A delayed ACK is for several segments, and echoes the sum of their changes.
delays_acks()
{
	local data echoes status=0

	SERVER=--answer
	router && run_long --both --bytes 100000000 --cc xcp || return
	SERVER=""
	sleep 0.5
	data=$(count rcv InData) echoes=$(count rcv OutEchoes)
	settles || status=1
	data=$(($(count rcv InData) - data)) echoes=$(($(count rcv OutEchoes) - echoes))
	[ $((echoes * 3)) -le $((data * 2)) ] || { echo "# $echoes echoes for $data segments"; status=1; }
	no_router
	end_long
	return $status
}

# beside KIND CC OTHER: flows of CC and OTHER through that router; CC gets no feedback: it is Reno
beside()
{
	local status=0

	modprobe tcpcc_view && busywait no_senders && router "$1" && run_long --cc "$3" || return
	CC=$3
	busywait is_in feedback || status=1
	flow --cc "$2" >/dev/null || status=1
	is_in feedback || status=1
	end_long
	run_long --cc "$2" || return
	CC=$2
	busywait proc_shows ' mode=' || status=1
	sleep 0.5
	is_in start || { sed 's/^/# /' proc.txt; status=1; }
	CC=xcp
	no_router
	end_long
	return $status
}

acp_in_its_router()
{
	beside xcp acp xcp
}

in_acps_router()
{
	beside acp xcp acp
}

# A receiver that echoes 268 MB/s more with each packet
lie()
{
	rewrite "$SND" 20 8 4 u32 0x10000000
}

ksft_main "$@"
