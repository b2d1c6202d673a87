#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ACP from end to end, without its router: the life of tcp_acp_host and of
# tcp_feedback, the header on the wire in all offload states, routers that are
# played by a filter which writes a rate into each header, and paths that have
# none.  Runs as root in the lab kernel (scripts/lab exec -- tests/selftests/acp.sh)
# or on any kernel that has the modules; prints KTAP.  Arguments name the tests to
# run; none: all.
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |  100 Mbit/s, 10 ms, 100 pkts  |  192.0.2.2   |
#   +--------------+                               +--------------+
#
# The delay sits at the receiver, never at the sender.

DIR=$(dirname "$(readlink -f "$0")")
CC=acp
MODULE=tcp_acp_host
# shellcheck source=tests/selftests/host_lib.sh
. "$DIR/host_lib.sh"

# Tests in the order of their run; each is a function of this name.
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

setup()
{
	setup_hosts
}

# rewrite NAMESPACE BYTES-OF-IP-HEADER LENGTH EDIT...: segments that come in there with
# an option of that length; offsets in EDIT are from the option's first byte
rewrite()
{
	local ns=$1 at=$(($2 + 20)) length=$3 family=ip munge=""

	[ "$2" = 20 ] || family=ipv6
	shift 3
	while [ $# != 0 ]; do
		munge="$munge munge offset $((at + $1)) $2 set $3"
		shift 3
	done
	# shellcheck disable=SC2086
	tc -n "$ns" filter add dev veth0 ingress protocol $family \
		u32 match u32 "0xfd$(printf %02x "$length")ac50" 0xffffffff at $at \
		action pedit $munge pipe action csum tcp
}

# What is on its way still meets it.
rewrite_nothing()
{
	sleep 0.1
	tc -n "$SND" filter del dev veth0 ingress
	tc -n "$RCV" filter del dev veth0 ingress
}

# A router that wants 5 MB/s of everybody
router()
{
	rewrite "$RCV" "${1:-20}" 12 8 u32 5000000
}

# flow [-6] ARGS...: one transfer; prints how many milliseconds it took
flow()
{
	local start

	receiver "${1-}" || return
	start=$(date +%s%N)
	sender "$@" >/dev/null || return
	wait
	echo $((($(date +%s%N) - start) / 1000000))
}

refuses_bad_values()
{
	refuses acp_slow=0 acp_slow=1001 acp_overhead=257 acp_pacing=2 acp_patience=0
}

# What was on its way has been counted.
settle()
{
	COUNTED=""
	busywait stands_still
}

stands_still()
{
	local before=$COUNTED

	COUNTED=$(snd cat /proc/net/tcpcc_feedback; rcv cat /proc/net/tcpcc_feedback)
	[ "$COUNTED" = "$before" ]
}

# Every segment with data has a header, of which there are 600, and the sender takes each echo.
carried()
{
	local data

	settle || return
	data=$(count rcv InData)
	echoed 100 "$@" && grows rcv InData $((data + 600))
}

# echoed LEAST ARGS...: of a flow the sender takes each echo, but for those of the FIN and of
# what was before it: they may find no sender any more.
echoed()
{
	local least=$1 sent taken

	shift
	settle || return
	sent=$(count rcv OutEchoes) taken=$(count snd InEchoes)
	flow "$@" >/dev/null && settle && grows rcv OutEchoes $((sent + least)) || return
	sent=$(($(count rcv OutEchoes) - sent)) taken=$(($(count snd InEchoes) - taken))
	if [ $taken -gt $sent ] || [ $taken -lt $((sent - 2)) ]; then
		echo "# $sent echoes sent, $taken taken"
		return 1
	fi
}

carries()
{
	carried --cc acp
}

carries_v6()
{
	carried -6 --cc acp
}

carries_without_timestamps()
{
	snd sysctl -qw net.ipv4.tcp_timestamps=0
	carried --cc acp && carried -6 --cc acp
	local status=$?

	snd sysctl -qw net.ipv4.tcp_timestamps=1
	return $status
}

# Without a delay and a shaper: ACKs are there before the call that sends has returned.
carries_at_once()
{
	tc -n "$SND" qdisc del dev veth0 root && tc -n "$RCV" qdisc del dev veth0 root || return
	echoed 10 --cc acp && echoed 10 -6 --cc acp
	local status=$?

	setup_link && setup_delay && return $status
}

# Receivers of before may be forgotten meanwhile.
leaves_others_alone()
{
	local before

	settle || return
	before=$(echo "$COUNTED" | grep -v ^Receivers)
	flow --cc cubic >/dev/null && flow -6 --cc cubic >/dev/null && settle &&
		[ "$(echo "$COUNTED" | grep -v ^Receivers)" = "$before" ]
}

# Nobody sets a limit: Reno, which fills this link.
without_a_router()
{
	took "$(flow --bytes 10000000 --cc acp)" 800 1200
}

# 10 MB at 5 MB/s, in packets of 1510 bytes that carry 1432: 2.11 s and a start
follows_a_router()
{
	router || return
	took "$(flow --bytes 10000000 --cc acp)" 2090 2200
	local status=$?

	rewrite_nothing
	return $status
}

follows_a_router_v6()
{
	router 40 || return
	took "$(flow -6 --bytes 10000000 --cc acp)" 2120 2260
	local status=$?

	rewrite_nothing
	return $status
}

without_offloads()
{
	offloads off || return
	carries && carries_v6 && without_a_router && follows_a_router && follows_a_router_v6
	local status=$?

	offloads on && return $status
}

# The largest packet is what the MTU allows, and is not larger for a flow that changed.
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
	# what had been queued for the larger segments of another goes without
	flow --bytes 5000000 --cc cubic --cc acp >/dev/null || status=1
	snd grep -A1 '^Ip: Forw' /proc/net/snmp | tail -n 1 |
		awk '{ exit $18 + $19 != 0 }' || status=1
	return $status
}

# By what a route says, before and while a flow goes on: headers go on too.
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

# Segments are smaller by the longest header, 16 bytes, and by IP's options of 8 and 16 bytes, in
# whatever order these come and go, and never by more.
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

retransmitted()
{
	{ snd cat /proc/net/snmp; rcv cat /proc/net/snmp; } |
		awk '/^Tcp: [0-9]/ { n += $13 } END { print n }'
}

# Beyond 1023 bytes packets vanish without a word, and TCP has found that 1020 pass.  An echo on a
# full segment of a host that has no reserve would be lost with it.  (A socket that was connected
# to does not know what is found until something makes it look: the reserve does.)
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

# Packets of more than 64 kB, and those whose length the header would bring beyond its field
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

# loss PERCENT: of what the sender sends
loss()
{
	if [ "$1" = 0 ]; then
		tc -n "$SND" qdisc replace dev veth0 parent 1: bfifo limit 151400
	else
		tc -n "$SND" qdisc replace dev veth0 parent 1: netem loss "$1%" limit 1000
	fi
}

# With much loss ACKs have three blocks and timestamps: two are left, and an echo.
# A limit holds in spite of the loss, and its window is not reduced: 1.11 s with what is sent
# again, a start, and a last segment lost.
sack_gives_way()
{
	local sacks time

	sacks=$(count rcv OutSackDropped)
	router && loss 5 || return
	time=$(flow --bytes 5000000 --cc acp)
	loss 0
	rewrite_nothing
	grows rcv OutSackDropped "$sacks" && took "$time" 1050 1600
}

# Half a second without a path, and Reno under loss
loses_its_way()
{
	local status=0

	router && run_long --bytes 5000000 --cc acp || return
	sleep 0.3
	loss 100
	sleep 0.5
	loss 0
	busywait ended || status=1
	wait
	rewrite_nothing
	loss 1
	took "$(flow --bytes 5000000 --cc acp)" 500 6000 || status=1
	loss 0
	return $status
}

ended()
{
	! snd ss -tnH 'dport = :5000' | grep -q ESTAB
}

# Two senders on one connection
sends_both_ways()
{
	local family status=0

	SERVER="--bytes 2000000 --cc acp"
	for family in "" -6; do
		# shellcheck disable=SC2086
		flow $family --both --bytes 2000000 --cc acp >/dev/null || status=1
	done
	SERVER=""
	grows snd InData 60 && grows rcv InEchoes 60 || status=1
	return $status
}

# One sender, and another on the same connection that knows nothing of it
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

# A path that takes headers away: as Reno
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

# It wants 5 MB/s for half a second, then it is gone, then it is there again.
router_goes_away()
{
	local status=0

	router && run_long --cc acp || return
	busywait ss_shows 'bw:40000000bps' || status=1
	rewrite_nothing
	busywait ss_shows 'bw:0bps' || status=1
	router
	busywait ss_shows 'bw:40000000bps' || status=1
	rewrite_nothing
	end_long
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

# The port of the sender of a flow to port 5000
port_of()
{
	snd ss -tnH 'dport = :5000' | awk '{ sub(/.*:/, "", $4); print $4; exit }'
}

# Echoes of 100 GB/s, from somebody who cannot see the flow, while a router wants 5 MB/s
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

# A flow of cubic does not learn of headers: nothing is remembered of it, its ACKs have none.
blind_words()
{
	local echoes status=0

	sleep 20	# in which what received before is forgotten
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
	local before receivers

	before=$(count rcv InNotAccepted) receivers=$(count rcv Receivers)
	snd "$DIR/raw.py" blind 192.0.2.2 4999 4998 1000 && sleep 0.1 || return
	[ "$(count rcv Receivers)" -le "$receivers" ] &&
		[ $(($(count rcv InNotAccepted) - before)) = 1000 ]
}

# After a pause one packet is sent, of what the rate sends in a millisecond (5000 bytes), and
# the next when it is acknowledged: not the 33 segments of before.
starts_again_after_idle()
{
	local status=0

	modprobe tcp_acp_host && mount_tracing || return
	echo > $TRACING/trace
	echo 1 > $TRACING/events/acp/acp_update/enable || return
	router && flow --pause 3 --cc acp --cc acp >/dev/null || status=1
	rewrite_nothing
	echo 0 > $TRACING/events/acp/acp_update/enable
	sed -n "s/.* \([0-9.]*\): acp_update: sport=[0-9]* dport=$PORT .*acked=\([0-9]*\) .*window=\([0-9]*\)/\1 \2 \3/p" \
		$TRACING/trace > idle.txt
	# what is acknowledged within 5 ms of that ACK was sent before it came
	awk 'last && $1 - last > 2 { seen++; first = $1 } first && $1 - first < 0.005 { sent += $2 }
		{ last = $1 } END { exit seen != 1 || sent < 1 || sent > 4 }' idle.txt ||
		{ awk 'last && $1 - last > 2 { n = 3 } { last = $1 } n-- > 0 { print "# " $0 }' idle.txt; status=1; }
	return $status
}

shows_in_ss()
{
	local status=0

	router && run_long --cc acp || return
	busywait ss_shows ' acp .*bbr:(bw:40000000bps,mrtt:10[^,]*)' ||
		{ sed 's/^/# /' ss.txt; status=1; }
	rewrite_nothing
	end_long
	return $status
}

shows_in_proc()
{
	local status=0

	modprobe tcpcc_view && router && run_long --cc acp || return
	busywait proc_shows ' mode=feedback granted_bps=40000000 .*desired_milli_segs=3[23][0-9]{3} window_milli_segs=3[23][0-9]{3} mrtt_us=10[0-9]{3}$' ||
		{ sed 's/^/# /' proc.txt; status=1; }
	rewrite_nothing
	end_long
	return $status
}

# Windows of 33 segments, times 65536
traces()
{
	local status=0

	modprobe tcp_acp_host && mount_tracing || return
	echo > $TRACING/trace
	echo 1 > $TRACING/events/acp/acp_update/enable || return
	router && flow --cc acp >/dev/null || status=1
	rewrite_nothing
	echo 0 > $TRACING/events/acp/acp_update/enable
	grep -Eq 'acp_update: sport=[0-9]+ dport=[0-9]+ mode=1 echoes=1 feedback_bps=5000000 congested=0 rtt_us=10[0-9]{3} mrtt_us=10[0-9]{3} acked=[0-9]+ desired=2[12][0-9]{5} window=2[12][0-9]{5}$' \
		$TRACING/trace || status=1
	return $status
}

# One may be remembered: another flow works, without feedback.
has_room_for_so_many()
{
	local full status=0

	sleep 20	# in which what received before is forgotten
	full=$(count rcv InTableFull)
	echo 1 > /sys/module/tcp_feedback/parameters/receivers || return
	flow --cc acp >/dev/null && took "$(flow --bytes 10000000 --cc acp)" 800 1200 || status=1
	[ "$(count rcv Receivers)" = 1 ] && grows rcv InTableFull "$full" || status=1
	echo 16384 > /sys/module/tcp_feedback/parameters/receivers
	return $status
}

changes_under_traffic()
{
	flow --bytes 20000000 --cc acp --cc cubic --cc acp --cc bbr --cc acp --cc reno \
		--cc acp >/dev/null && busywait no_senders
}

ksft_main "$@"
