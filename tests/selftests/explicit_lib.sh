# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Common functions of the selftests of the explicit senders, ACP, XCP and RCP: a filter that acts
# as a router, flows, and tests of include/tcpcc_explicit.h and tcp_feedback.  A selftest sources
# this file from $DIR, and sets, beside $CC and $MODULE for host_lib.sh:
#
#   START_MS	additional time that the start of a flow through router() may take, ms
#   BAD_VALUES	PARAMETER=VALUE with values that are refused
#   SS_SHOWS	pattern of what ss shows of a flow through router()
#   PROC_SHOWS	pattern of what /proc/net/tcpcc shows of it
#   EVENT	its tracepoint
#   TRACED	pattern of what EVENT shows of it

# shellcheck source=tests/selftests/host_lib.sh
. "$DIR/host_lib.sh"

setup()
{
	setup_hosts
}

# rewrite NAMESPACE BYTES-OF-IP-HEADER LENGTH EDIT...: changes segments that arrive there with
# a congestion header of this length; offsets in EDIT count from the first byte of the option
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

# Removes these filters, after they have changed the segments that are under way.
rewrite_nothing()
{
	sleep 0.1
	tc -n "$SND" filter del dev veth0 ingress
	tc -n "$RCV" filter del dev veth0 ingress
}

# Starts a router that grants 5 MB/s to each flow.  If the feedback of a protocol is not a rate,
# its script redefines router() and no_router(), for the same rate.
router()
{
	rewrite "$RCV" "${1:-20}" 12 8 u32 5000000
}

no_router()
{
	rewrite_nothing
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

retransmitted()
{
	{ snd cat /proc/net/snmp; rcv cat /proc/net/snmp; } |
		awk '/^Tcp: [0-9]/ { n += $13 } END { print n }'
}

# traced CMD...: runs CMD with the tracepoint enabled; the trace is in $TRACING/trace
traced()
{
	# shellcheck disable=SC2153
	local status event=$TRACING/events/$EVENT/enable

	modprobe "$MODULE" && mount_tracing || return
	# the default clock may have a resolution of only 10 ms
	echo mono >$TRACING/trace_clock && echo >$TRACING/trace || return
	echo 1 >"$event" || return
	"$@"
	status=$?
	echo 0 >"$event"
	return $status
}

refuses_bad_values()
{
	# shellcheck disable=SC2086,SC2153
	modprobe "$MODULE" && refuses $BAD_VALUES
}

by_socket()
{
	local got

	receiver || return
	got=$(sender --cc "$CC")
	wait
	[ "$got" = "$CC" ] || { echo "# used '$got'"; return 1; }
}

# Waits until the counters of both ends do not change any more.
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

# Each segment with data, of more than 600, has a header, and the sender takes each echo.
carried()
{
	local data

	settle || return
	data=$(count rcv InData)
	echoed 100 "$@" && grows rcv InData $((data + 600))
}

# echoed LEAST ARGS...: runs a flow with at least LEAST echoes; the sender must take each echo.
# Exceptions are the echoes of the FIN and of the segment before it, because the sender may be
# gone then.  With two processors, the ACK of one may overtake an ACK of the other.  The echo of an
# old ACK is not used (InUnexpected), and TCP refuses the ACK if its time stamp is older, too
# (PAWS).  With one processor there are no old ACKs.
echoed()
{
	local least=$1 sent taken refused old=0

	shift
	settle || return
	sent=$(count rcv OutEchoes) taken=$(count snd InEchoes)
	refused=$(mib snd PAWSEstab PAWSOldAck)
	[ "$(nproc)" = 1 ] || old=$(count snd InUnexpected)
	flow "$@" >/dev/null && settle && grows rcv OutEchoes $((sent + least)) || return
	sent=$(($(count rcv OutEchoes) - sent)) taken=$(($(count snd InEchoes) - taken))
	refused=$(($(mib snd PAWSEstab PAWSOldAck) - refused))
	[ "$(nproc)" = 1 ] || old=$(($(count snd InUnexpected) - old))
	if [ $taken -gt $sent ] || [ $taken -lt $((sent - refused - old - 2)) ] ||
	   [ $((old * 20)) -gt "$sent" ]; then
		echo "# $sent echoes sent, $taken taken, $old old; TCP refused $refused"
		snd sed 's/^/# /' /proc/net/tcpcc_feedback
		return 1
	fi
}

carries()
{
	carried --cc "$CC"
}

carries_v6()
{
	carried -6 --cc "$CC"
}

# Without a router the sender is Reno, which fills this link.
without_a_router()
{
	took "$(flow --bytes 10000000 --cc "$CC")" 800 1200
}

# 10 MB at 5 MB/s, in packets of 1510 bytes with 1432 or 1412 bytes of payload, take 2.11 or
# 2.14 s, plus the start
follows_a_router()
{
	router || return
	took "$(flow --bytes 10000000 --cc "$CC")" 2090 $((2110 + START_MS))
	local status=$?

	no_router
	return $status
}

follows_a_router_v6()
{
	router 40 || return
	took "$(flow -6 --bytes 10000000 --cc "$CC")" 2120 $((2140 + START_MS))
	local status=$?

	no_router
	return $status
}

# loss PERCENT: drops this part of what the sender sends
loss()
{
	if [ "$1" = 0 ]; then
		tc -n "$SND" qdisc replace dev veth0 parent 1: bfifo limit 151400
	else
		tc -n "$SND" qdisc replace dev veth0 parent 1: netem loss "$1%" limit 1000
	fi
}

# A path that fails for half a second; then Reno with losses
loses_its_way()
{
	local status=0

	router && run_long --bytes 5000000 --cc "$CC" || return
	sleep 0.3
	loss 100
	sleep 0.5
	loss 0
	busywait ended || status=1
	wait
	no_router
	loss 1
	took "$(flow --bytes 5000000 --cc "$CC")" 500 6000 || status=1
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

	SERVER="--bytes 2000000 --cc $CC"
	for family in "" -6; do
		# shellcheck disable=SC2086
		flow $family --both --bytes 2000000 --cc "$CC" >/dev/null || status=1
	done
	SERVER=""
	grows snd InData 60 && grows rcv InEchoes 60 || status=1
	return $status
}

# is_in MODE: whether the sender of run_long is in this mode
is_in()
{
	proc_shows " mode=$1 "
}

# A router appears, goes away, and appears again.
router_goes_away()
{
	modprobe tcpcc_view && traced goes_and_comes && fell_back
}

goes_and_comes()
{
	local status=0

	# the flow of the test before may still be in /proc/net/tcpcc
	busywait no_senders && router && run_long --cc "$CC" || return
	busywait is_in feedback || status=1
	no_router
	busywait is_in fallback || status=1
	router
	busywait is_in feedback || status=1
	no_router
	end_long
	return $status
}

# The first fallback must come after four round trips without a word, plus up to one, because the
# last word may have come at the begin or at the end of a round trip.  The rtt is the one that the
# sender traces: 10 ms without a queue.
fell_back()
{
	sed -n "s/.* \([0-9.]*\): ${EVENT#*/}: .* mode=\([12]\) echoes=\([0-9]*\) .* rtt_us=\([0-9]*\) .*/\1 \2 \3 \4/p" $TRACING/trace |
		awk '$2 == 1 && $3 { heard = $1; longest = 0 } $4 > longest { longest = $4 }
			$2 == 2 { silence = 1000000 * ($1 - heard); exit }
			END { print "# fallback after " silence " us, of round trips of " longest
				exit silence < 39000 || silence > 5.5 * longest || longest > 20000 }'
}

# The script's lie() makes a receiver echo a grant that no link can carry.  No window exceeds
# 2.25 times what this link delivers in a round trip, 84 segments.  As printed, with trust 0, any
# grant is followed.
believes_so_much()
{
	local most

	lie && most=$(largest) || return
	if [ "$most" -lt 84 ] || [ "$most" -gt 189 ]; then
		echo "# windows of up to $most segments"
		return 1
	fi
	echo 0 >"$PARAMETERS/${CC}_trust"
	most=$(largest)
	echo 225 >"$PARAMETERS/${CC}_trust"
	rewrite_nothing
	[ "$most" -gt 1000 ] || { echo "# believed: windows of up to $most segments"; return 1; }
}

# Prints the largest window of a flow in mode feedback, segments
largest()
{
	traced flow --bytes 2000000 --cc "$CC" >/dev/null || return
	sed -n "s/.* ${EVENT#*/}: .* mode=1 .*window=\([0-9]*\)$/\1/p" $TRACING/trace |
		awk '$1 > most { most = $1 } END { print int(most / 65536) }'
}

# After a pause at most the packets of one millisecond at this rate (5000 bytes) are sent, and the
# next ones when an ACK has come: not the 33 segments of the window before the pause.
starts_again_after_idle()
{
	local status=0

	router && traced flow --pause 3 --cc "$CC" --cc "$CC" >/dev/null || status=1
	no_router
	sed -n "s/.* \([0-9.]*\): ${EVENT#*/}: sport=[0-9]* dport=$PORT .*acked=\([0-9]*\) .*window=\([0-9]*\)/\1 \2 \3/p" \
		$TRACING/trace > idle.txt
	# segments that are acknowledged within 5 ms of that ACK were sent before it arrived
	awk 'last && $1 - last > 2 { seen++; first = $1 } first && $1 - first < 0.005 { sent += $2 }
		{ last = $1 } END { exit seen != 1 || sent < 1 || sent > 4 }' idle.txt ||
		{ awk 'last && $1 - last > 2 { n = 3 } { last = $1 } n-- > 0 { print "# " $0 }' idle.txt; status=1; }
	return $status
}

shows_in_ss()
{
	local status=0

	router && run_long --cc "$CC" || return
	# shellcheck disable=SC2153
	busywait ss_shows "$SS_SHOWS" || { sed 's/^/# /' ss.txt; status=1; }
	no_router
	end_long
	return $status
}

shows_in_proc()
{
	local status=0

	modprobe tcpcc_view && busywait no_senders && router && run_long --cc "$CC" || return
	# shellcheck disable=SC2153
	busywait proc_shows "$PROC_SHOWS" || { sed 's/^/# /' proc.txt; status=1; }
	no_router
	end_long
	return $status
}

traces()
{
	local status=0

	router && traced flow --cc "$CC" >/dev/null || status=1
	no_router
	# shellcheck disable=SC2153
	grep -Eq "${EVENT#*/}: sport=[0-9]+ dport=[0-9]+ $TRACED" $TRACING/trace || status=1
	return $status
}

changes_under_traffic()
{
	flow --bytes 20000000 --cc "$CC" --cc cubic --cc "$CC" --cc bbr --cc "$CC" --cc reno \
		--cc "$CC" >/dev/null && busywait no_senders
}
