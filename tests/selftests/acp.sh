#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ACP from end to end, without its router: loading and unloading of tcp_acp_host and
# tcp_feedback, the header on the wire in all offload states, a filter that acts as a
# router and writes a rate into each header, and paths without a router.  Runs as root in
# the lab kernel (scripts/lab exec -- tests/selftests/acp.sh) or on any kernel that has
# the modules; prints KTAP.  Arguments are the names of tests to run; without arguments
# all tests run.
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |  100 Mbit/s, 10 ms, 100 pkts  |  192.0.2.2   |
#   +--------------+                               +--------------+
#
# The delay is at the receiver, never at the sender.

DIR=$(dirname "$(readlink -f "$0")")

CC=acp
MODULE=tcp_acp_host
# ten round trips of 10 ms
START_MS=100
BAD_VALUES="acp_slow=0 acp_slow=1001 acp_overhead=257 acp_pacing=2 acp_patience=0"
SS_SHOWS=' acp .*bbr:(bw:40000000bps,mrtt:10[^,]*)'
PROC_SHOWS=' mode=feedback granted_bps=40000000 .*desired_milli_segs=3[23][0-9]{3} window_milli_segs=3[23][0-9]{3} mrtt_us=10[0-9]{3}$'
EVENT=acp/acp_update
# windows of 33 segments, times 65536
TRACED='mode=1 echoes=1 feedback_bps=5000000 congested=0 rtt_us=10[0-9]{3} mrtt_us=10[0-9]{3} acked=[0-9]+ desired=2[12][0-9]{5} window=2[12][0-9]{5}$'

# shellcheck source=tests/selftests/explicit_lib.sh
. "$DIR/explicit_lib.sh"

# Tests in the order in which they run; each is a function of this name.
TESTS="registers autoloads needs_privileges refuses_bad_values carries carries_v6 carries_without_timestamps
	carries_at_once leaves_others_alone without_a_router follows_a_router follows_a_router_v6
	without_offloads keeps_to_the_mtu learns_a_smaller_mtu keeps_its_reserve goes_no_further_than_probed
	big_tcp sack_gives_way loses_its_way
	sends_both_ways answers_with_data stripped stripped_on_the_way_back router_goes_away
	malformed unknown_version blind_echoes blind_words words_for_nobody starts_again_after_idle shows_in_ss
	shows_in_proc traces
	forgets_receivers has_room_for_so_many checksums_are_right
	changes_under_traffic stays_while_used survives_netns_exit unloads_beside_receivers
	loads_again_and_again refused_in_namespaces kernel_is_quiet"

carries_without_timestamps()
{
	snd sysctl -qw net.ipv4.tcp_timestamps=0
	carried --cc acp && carried -6 --cc acp
	local status=$?

	snd sysctl -qw net.ipv4.tcp_timestamps=1
	return $status
}

# Without delay and shaper, ACKs arrive before the call that sends has returned.
carries_at_once()
{
	tc -n "$SND" qdisc del dev veth0 root && tc -n "$RCV" qdisc del dev veth0 root || return
	echoed 10 --cc acp && echoed 10 -6 --cc acp
	local status=$?

	setup_link && setup_delay && return $status
}

# Receivers of earlier tests may be forgotten during this test.
leaves_others_alone()
{
	local before

	settle || return
	before=$(echo "$COUNTED" | grep -v ^Receivers)
	flow --cc cubic >/dev/null && flow -6 --cc cubic >/dev/null && settle &&
		[ "$(echo "$COUNTED" | grep -v ^Receivers)" = "$before" ]
}

without_offloads()
{
	offloads off || return
	carries && carries_v6 && without_a_router && follows_a_router && follows_a_router_v6
	local status=$?

	offloads on && return $status
}

# The largest packet is as large as the MTU allows, also if a flow changed its congestion control.
keeps_to_the_mtu()
{
	local mtu family was status=0

	was=$(count snd OutTooBig)
	for mtu in 1280 1500 9000; do
		ip -n "$SND" link set veth0 mtu $mtu
		ip -n "$RCV" link set veth0 mtu $mtu
		tc -n "$SND" qdisc change dev veth0 root handle 1: tbf rate 100mbit \
			burst $((mtu + 14)) limit 151400
		for family in "" -6; do
			# shellcheck disable=SC2086
			flow $family --cc acp >/dev/null || status=1
		done
	done
	[ "$(count snd OutTooBig)" = "$was" ] || status=1
	ip -n "$SND" link set veth0 mtu 1500
	ip -n "$RCV" link set veth0 mtu 1500
	# data that was queued in the larger segments of cubic is sent without a header
	flow --bytes 5000000 --cc cubic --cc acp >/dev/null || status=1
	snd grep -A1 '^Ip: Forw' /proc/net/snmp | tail -n 1 |
		awk '{ exit $18 + $19 != 0 }' || status=1
	return $status
}

# The MTU of the route falls before and during a flow: headers continue.
learns_a_smaller_mtu()
{
	local status=0 big echoes

	big=$(count snd OutTooBig)
	ip -n "$SND" route add 192.0.2.2 dev veth0 mtu 900 || return
	flow --cc acp >/dev/null && [ "$(count snd OutTooBig)" = "$big" ] || status=1
	ip -n "$SND" route change 192.0.2.2 dev veth0 mtu 700
	run_long --cc acp || return
	# 20 + 20 + 12 bytes of headers, and 16 reserved
	busywait ss_shows ' mss:632 ' || status=1
	ip -n "$SND" route change 192.0.2.2 dev veth0 mtu 600
	busywait ss_shows ' mss:532 ' || { sed 's/^/# /' ss.txt; status=1; }
	sleep 0.1
	big=$(count snd OutTooBig) echoes=$(count snd InEchoes)
	sleep 0.1
	[ "$(count snd OutTooBig)" = "$big" ] && grows snd InEchoes $((echoes + 50)) || status=1
	end_long
	ip -n "$SND" route del 192.0.2.2
	return $status
}

# Segments are smaller by the longest header, 16 bytes, and by IP options of 8 and 16 bytes, but
# not by more, in whatever order these options are set and removed.
keeps_its_reserve()
{
	local family less

	for family in "" -6; do
		receiver $family || return
		less=$(snd "$DIR/segments.py" reserve $TO $PORT acp)
		[ "$less" = "16 24 32 24 16 0 16 32 16 8 24 16 0" ] ||
			{ echo "# smaller by ${less:-nothing known}"; return 1; }
	done
}

# Packets of more than 1023 bytes are lost without an ICMP message, and TCP has found that 1020
# pass.  An echo on a full segment of a host without the reserve would be lost with the segment.
# (An accepted socket does not notice what TCP found until something updates its MSS; the reserve
# does that.)
goes_no_further_than_probed()
{
	local ns status=0 was cc

	offloads off || return
	tc -n "$SND" qdisc change dev veth0 root handle 1: tbf rate 100mbit burst 1514 limit 10000000
	for ns in "$SND" "$RCV"; do
		ip netns exec "$ns" sysctl -qw net.ipv4.tcp_mtu_probing=2 net.ipv4.tcp_base_mss=968 \
			net.ipv4.tcp_probe_threshold=1000
		tc -n "$ns" filter add dev veth0 ingress pref 1 protocol ip \
			u32 match u16 0x0400 0x0400 at 2 action drop
	done
	for cc in cubic acp; do
		was=$(retransmitted)
		SERVER="--bytes 1000000 --cc acp"
		took "$(flow --both --bytes 1000000 --cc $cc)" 50 1000 || status=1
		SERVER=""
		was=$(($(retransmitted) - was))
		[ $was = 0 ] || { echo "# $cc sent $was segments again"; status=1; }
	done
	rewrite_nothing
	for ns in "$SND" "$RCV"; do
		ip netns exec "$ns" sysctl -qw net.ipv4.tcp_mtu_probing=0 net.ipv4.tcp_base_mss=1024 \
			net.ipv4.tcp_probe_threshold=8
	done
	tc -n "$SND" qdisc change dev veth0 root handle 1: tbf rate 100mbit burst 1514 limit 151400
	offloads on && return $status
}

# Packets of more than 64 kB, and packets whose length field the header would overflow
big_tcp()
{
	local ns status=0 was big

	for ns in "$SND" "$RCV"; do
		tc -n "$ns" qdisc del dev veth0 root
		ip -n "$ns" link set veth0 gso_max_size 185000 gro_max_size 185000 || return
	done
	tc -n "$RCV" filter add dev veth0 ingress protocol ipv6 \
		basic match 'meta(pkt_len gt 65549)' action pass || return
	was=$(retransmitted)
	receiver -6 && snd "$DIR/segments.py" lengths $TO $PORT acp 65440 65600 || status=1
	was=$(($(retransmitted) - was))
	[ $was = 0 ] || { echo "# $was segments sent again"; status=1; }
	big=$(tc -n "$RCV" -s filter show dev veth0 ingress | sed -n 's/.*Sent [0-9]* bytes \([0-9]*\) pkt.*/\1/p')
	[ "${big:-0}" -ge 20 ] || { echo "# ${big:-no} packets of more than 64 kB"; status=1; }
	rewrite_nothing
	for ns in "$SND" "$RCV"; do
		ip -n "$ns" link set veth0 gso_max_size 65536 gro_max_size 65536
	done
	setup_delay && setup_link || status=1
	return $status
}

# With many losses ACKs have three SACK blocks and timestamps: two blocks remain, with an echo.
# The router's rate holds in spite of the losses, and the window is not reduced: 1.11 s with
# retransmissions, plus a start, and the loss of the last segment.
sack_gives_way()
{
	local sacks time

	sacks=$(count rcv OutSackDropped)
	router && loss 5 || return
	time=$(flow --bytes 20000000 --cc acp)
	loss 0
	rewrite_nothing
	grows rcv OutSackDropped "$sacks" && took "$time" 4200 6400
}

# One end of the connection sends with ACP, and the other end with another congestion control
answers_with_data()
{
	local echoes status=0

	echoes=$(count snd InEchoes)
	SERVER="--bytes 2000000 --cc cubic"
	flow --both --bytes 2000000 --cc acp >/dev/null || status=1
	SERVER=""
	grows snd InEchoes "$echoes" || status=1
	return $status
}

# On a path that removes headers the flow is Reno's
stripped()
{
	local echoes status=0

	sleep 0.3
	echoes=$(count snd InEchoes)
	rewrite "$RCV" 20 12 0 u8 254 || return
	took "$(flow --bytes 10000000 --cc acp)" 800 1200 || status=1
	rewrite_nothing
	[ "$(count snd InEchoes)" = "$echoes" ] || status=1
	return $status
}

stripped_on_the_way_back()
{
	local echoes status=0

	sleep 0.3
	echoes=$(count snd InEchoes)
	rewrite "$SND" 20 8 0 u8 254 || return
	took "$(flow --bytes 10000000 --cc acp)" 800 1200 || status=1
	rewrite_nothing
	[ "$(count snd InEchoes)" = "$echoes" ] || status=1
	return $status
}

malformed()
{
	local before unknown status=0

	before=$(count rcv InMalformed) unknown=$(count rcv InUnknown)
	rewrite "$RCV" 20 12 1 u8 10 || return
	took "$(flow --cc acp)" 50 500 || status=1
	rewrite_nothing
	grows rcv InMalformed "$before" && [ "$(count rcv InUnknown)" = "$unknown" ] || status=1
	return $status
}

unknown_version()
{
	local before status=0

	before=$(count rcv InUnknown)
	rewrite "$RCV" 20 12 8 u8 0x40 || return
	took "$(flow --cc acp)" 50 500 || status=1
	rewrite_nothing
	grows rcv InUnknown "$before" || status=1
	before=$(count snd InUnknown)
	rewrite "$SND" 20 8 4 u8 0xff || return
	took "$(flow --cc acp)" 50 500 || status=1
	rewrite_nothing
	grows snd InUnknown "$before" || status=1
	return $status
}

# Prints the local port of the sender of a flow to port 5000
port_of()
{
	snd ss -tnH 'dport = :5000' | awk '{ sub(/.*:/, "", $4); print $4; exit }'
}

# Forged echoes of 100 GB/s, from a host that cannot see the flow, while a router grants 5 MB/s
blind_echoes()
{
	local before status=0

	router && run_long --cc acp || return
	busywait ss_shows 'bw:40000000bps' && busywait ss_shows 'cwnd:3[0-9] ' || status=1
	before=$(count snd InNotAccepted)
	rcv "$DIR/raw.py" blind 192.0.2.1 5000 "$(port_of)" 1000 || status=1
	sleep 0.01
	[ $(($(count snd InNotAccepted) - before)) = 1000 ] || status=1
	ss_shows 'bw:40000000bps' || { sed 's/^/# /' ss.txt; status=1; }
	ss_shows 'cwnd:3[0-9] ' || { sed 's/^/# /' ss.txt; status=1; }
	rewrite_nothing
	end_long
	return $status
}

# Forged words have no effect on a flow of cubic: it is not remembered, and ACKs have no header.
blind_words()
{
	local echoes status=0

	sleep 20	# until the flows received before are forgotten
	echoes=$(count rcv OutEchoes)
	run_long --cc cubic || return
	busywait ss_shows ' cubic ' || status=1
	snd "$DIR/raw.py" blind 192.0.2.2 "$(port_of)" 5000 1000 || status=1
	sleep 0.1
	[ "$(count rcv Receivers) $(count rcv OutEchoes)" = "0 $echoes" ] || status=1
	end_long
	return $status
}

words_for_nobody()
{
	local before receivers counted

	before=$(count rcv InNotAccepted) receivers=$(count rcv Receivers)
	snd "$DIR/raw.py" blind 192.0.2.2 4999 4998 1000 && sleep 0.1 || return
	counted=$(($(count rcv InNotAccepted) - before))
	diag "$counted counted, of 1000; receivers: $receivers, then $(count rcv Receivers)"
	# packets of the test before may be counted, too
	[ "$(count rcv Receivers)" -le "$receivers" ] && [ $counted -ge 1000 ]
}

# If only one receiver may be remembered, another flow works, but without feedback.
has_room_for_so_many()
{
	local full status=0

	sleep 20	# until the flows received before are forgotten
	full=$(count rcv InTableFull)
	echo 1 > /sys/module/tcp_feedback/parameters/receivers || return
	flow --cc acp >/dev/null && took "$(flow --bytes 10000000 --cc acp)" 800 1200 || status=1
	[ "$(count rcv Receivers)" = 1 ] && grows rcv InTableFull "$full" || status=1
	echo 16384 > /sys/module/tcp_feedback/parameters/receivers
	return $status
}

ksft_main "$@"
