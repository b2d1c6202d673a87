#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ESTCP's sender and the transport of its codepoints, without its router: a filter at the
# receiver acts as a router, marks a share of the packets and changes phases.  Other filters
# act as paths and hosts without ESTCP.  Runs as root in the lab kernel
# (scripts/lab exec -- tests/selftests/estcp.sh) or on any kernel that has the modules;
# prints KTAP.  Arguments are the names of tests to run; without arguments all tests run.
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |  100 Mbit/s, 10 ms, 100 pkts  |  192.0.2.2   |
#   +--------------+                               +--------------+
#
# The delay is at the receiver, never at the sender.

DIR=$(dirname "$(readlink -f "$0")")
CC=estcp
MODULE=tcp_estcp
# shellcheck source=tests/selftests/host_lib.sh
. "$DIR/host_lib.sh"

EVENT=$TRACING/events/estcp/estcp_update

# The class: data has DSCP 3, and echoes have DSCP 7
CLASS=0x0c
ECHO=0x1c

# Tests in the order in which they run; each is a function of this name.
TESTS="registers autoloads needs_privileges refuses_bad_values refuses_bad_dscps
	loads_with_dscps marks_its_class marks_its_class_v6
	echoes_codepoints echoes_codepoints_v6 echoes_delayed_acks tells_echoes_from_data
	other_dscps other_dscps_under_traffic leaves_others_alone
	leaves_ecn_alone leaves_ecn_with_the_dscp_alone without_a_router without_a_receiver
	bleached_bits bleached_class bleached_class_on_the_way_back follows_marks follows_marks_v6
	without_offloads follows_phases router_goes_away notices_rfc3168
	loses_its_way bears_losses sends_both_ways starts_again_after_idle shows_in_proc
	forgets_receivers checksums_are_right changes_under_traffic stays_while_used
	survives_netns_exit unloads_beside_receivers loads_again_and_again
	refused_in_namespaces kernel_is_quiet"

setup()
{
	modprobe tcp_estcp && setup_hosts && loss 0
}

# dsfield BYTE [MASK]: prints the u32 match for packets with this dsfield; FAMILY is ip or ip6
FAMILY=ip
dsfield()
{
	if [ $FAMILY = ip ]; then
		echo "match u8 $1 ${2:-0xff} at 1"
	else
		printf 'match u16 0x%04x 0x%04x at 0\n' $(($1 << 4)) $((${2:-0xff} << 4))
	fi
}

# becomes BYTE: prints the actions that set a packet's dsfield
becomes()
{
	if [ $FAMILY = ip ]; then
		echo "action pedit munge offset 1 u8 set $1 pipe action csum ip4h"
	else
		printf 'action pedit munge offset 0 u16 set 0x%04x retain 0x0ff0\n' $(($1 << 4))
	fi
}

# filter ingress|egress PREF ARGS...: prints a filter command for tc -b
filter()
{
	local where=$1 pref=$2 protocol=ip

	shift 2
	[ $FAMILY = ip ] || protocol=ipv6
	echo "filter add dev veth0 $where protocol $protocol pref $pref u32 $*"
}

# rewrite NAMESPACE BYTE MASK NEW: packets that arrive there with dsfield BYTE get NEW
rewrite()
{
	filter ingress 20 "$(dsfield "$2" "$3")" "$(becomes "$4")" | tc -n "$1" -b -
}

# no_filters: removes the filters, after they have processed the packets under way.
no_filters()
{
	sleep 0.1
	for ns in "$SND" "$RCV"; do
		printf 'filter del dev veth0 %s\n' ingress egress | tc -n "$ns" -b -
	done
}

# phase NAMESPACE ingress|egress EVERY USUAL OTHER: a router that gives one in EVERY data packets
# codepoint OTHER, and all others USUAL.
phase()
{
	filter "$2" 20 "$(dsfield $CLASS 0xfc)" "$(becomes $((CLASS | $4)))" pipe action gact pass \
		random netrand pipe "$3" "$(becomes $((CLASS | $5)))" | tc -n "$1" -b -
}

# even N, odd N: an even or odd phase at the receiver, in which one in N packets is marked
even()
{
	phase "$RCV" ingress "$1" 0 1
}

odd()
{
	phase "$RCV" ingress "$1" 2 3
}

# other_phase even|odd ARGS: replaces the present phase by this one
other_phase()
{
	tc -n "$RCV" filter del dev veth0 ingress
	"$@"
}

# tally NAMESPACE BYTE: counts packets that arrive with this DSCP, for each codepoint; see tallied
tally()
{
	local i

	for i in 0 1 2 3; do
		filter ingress $((i + 1)) "$(dsfield $(($2 | i)))" action pass
	done | tc -n "$1" -b -
}

# tallied NAMESPACE: prints the four counts, one for each codepoint
tallied()
{
	tc -s -n "$1" filter show dev veth0 ingress |
		awk '/ pref / { ours = / pref [1-4] / } ours && / pkt / { n = n space $4; space = " " }
			END { print n }'
}

# flow [-6] ARGS...: one transfer; prints how many milliseconds it took.  SERVER has further
# arguments for the receiver.
PORT=5000
SERVER=""
flow()
{
	local family=-4 address=192.0.2.2 start

	if [ $FAMILY = ip6 ]; then
		family=-6 address=2001:db8::2
	fi
	PORT=$((PORT + 1))
	# shellcheck disable=SC2046,SC2086
	listens $([ $family = -6 ] && echo -6) --port $PORT $SERVER || return
	start=$(date +%s%N)
	snd "$DIR/flow.py" $address --port $PORT "$@" >/dev/null || return
	wait
	echo $((($(date +%s%N) - start) / 1000000))
}

# v6 CMD...: runs CMD with FAMILY set to IPv6
v6()
{
	local status

	FAMILY=ip6
	"$@"
	status=$?
	FAMILY=ip
	return $status
}

# traced CMD...: runs CMD, and writes the sender's trace events to trace.txt
traced()
{
	local status

	modprobe tcp_estcp && mount_tracing || return
	echo > $TRACING/trace
	echo 1 > $EVENT/enable || return
	"$@"
	status=$?
	echo 0 > $EVENT/enable
	grep -o 'estcp_update: .*' $TRACING/trace > trace.txt
	return $status
}

# last NAME: prints the value of NAME in the last line of trace.txt
last()
{
	tail -n 1 trace.txt | sed -n "s/.* $1=\([0-9]*\).*/\1/p"
}

# within NAME LEAST MOST: whether the value in the last line of trace.txt is in this range
within()
{
	local value

	value=$(last "$1")
	if [ "${value:--1}" -lt "$2" ] || [ "$value" -gt "$3" ]; then
		echo "# $1 is '$value', not $2 to $3"
		return 1
	fi
}

refuses_bad_values()
{
	refuses estcp_prior=65537 estcp_patience=0 estcp_patience=101 estcp_prior=x \
		estcp_each_loss=2 &&
		[ "$(stat -c %a "$PARAMETERS/estcp_distrusted")" = 444 ]
}

# The DSCPs are a parameter of tcp_feedback, which both ends have.
DSCPS=/sys/module/tcp_feedback/parameters/estcp_dscp

refuses_bad_dscps()
{
	local PARAMETERS=${DSCPS%/*} status=0

	own_log estcp_dscp
	refuses estcp_dscp=3,3 estcp_dscp=0,7 estcp_dscp=3,0 estcp_dscp=64,7 estcp_dscp=3,64 \
		estcp_dscp=3 estcp_dscp=3, estcp_dscp=3,7,9 estcp_dscp=-3,7 estcp_dscp=4294967299,7 \
		estcp_dscp=x estcp_dscp= || status=1
	[ "$(dmesg | sed "1,/$LOG_START/d" | grep -c "estcp_dscp: .* is not two different whole numbers from 1 to 63 .* staying at 3,7")" = 12 ] ||
		{ echo "# not said why"; status=1; }
	unset LOG_START
	return $status
}

# Both orders are accepted: 7,3 is not refused although each DSCP had the other role before
loads_with_dscps()
{
	local status=0

	unload
	! modprobe tcp_feedback estcp_dscp=5,5 2>/dev/null &&
		modprobe tcp_feedback estcp_dscp=7,3 && [ "$(cat $DSCPS)" = 7,3 ] || status=1
	modprobe -r tcp_feedback
	modprobe "$MODULE" && [ "$(cat $DSCPS)" = 3,7 ] && return $status
}

# Each segment with data is in the class, with codepoint 00.  No other packet is.
marks_its_class()
{
	local data=0 pure status=0

	tally "$RCV" $CLASS
	pure=$(count snd OutEchoes)
	flow --bytes 300000 --cc estcp >/dev/null || status=1
	# shellcheck disable=SC2046
	set -- $(tallied "$RCV")
	no_filters
	data=$1
	if [ "$data" -lt 20 ] || [ "$2 $3 $4" != "0 0 0" ]; then
		echo "# data: $*"
		status=1
	fi
	[ "$(count snd OutEchoes)" = "$pure" ] || status=1
	return $status
}

marks_its_class_v6()
{
	v6 marks_its_class
}

# echoed CODEPOINT: all data arrives with this codepoint, and all ACKs echo it
echoed()
{
	local status=0 received sent echoes wanted=(0 0 0 0)

	sent=$(count rcv OutEchoes)
	received=$(($(count snd InEchoes) + $(count snd InUnexpected)))
	rewrite "$RCV" $CLASS 0xfc $((CLASS | $1))
	tally "$SND" $ECHO
	flow --bytes 300000 --cc estcp >/dev/null || status=1
	sleep 0.1
	echoes=$(tallied "$SND")
	no_filters
	sent=$(($(count rcv OutEchoes) - sent))
	received=$(($(count snd InEchoes) + $(count snd InUnexpected) - received))
	if [ $sent != $received ] || [ $sent -lt 20 ]; then
		echo "# $sent echoes sent, $received received"
		status=1
	fi
	wanted[$1]=$sent
	[ "$echoes" = "${wanted[*]}" ] || { echo "# codepoint $1: ACKs $echoes"; status=1; }
	return $status
}

echoes_codepoints()
{
	echoed 0 && echoed 1 && echoed 2 && echoed 3
}

echoes_codepoints_v6()
{
	v6 echoes_codepoints
}

# Without early demultiplexing the socket is not found, so that ACKs are delayed.
echoes_delayed_acks()
{
	local status

	rcv sysctl -qw net.ipv4.ip_early_demux=0
	echoed 3 && follows_marks
	status=$?
	rcv sysctl -qw net.ipv4.ip_early_demux=1
	return $status
}

# Data and echoes are distinguished only by the DSCP: with the other's DSCP a packet is ignored.
tells_echoes_from_data()
{
	local before status=0

	before=$(($(count snd InEchoes) + $(count snd InUnexpected)))
	rewrite "$SND" $ECHO 0xfc $((CLASS | 1))
	as_reno 0 && [ ! -s trace.txt ] || status=1
	no_filters
	[ $(($(count snd InEchoes) + $(count snd InUnexpected))) = "$before" ] || status=1

	before=$(count rcv InData)
	rewrite "$RCV" $CLASS 0xfc $((ECHO | 1))
	as_reno 0 && [ ! -s trace.txt ] || status=1
	no_filters
	[ "$(count rcv InData)" = "$before" ] || status=1
	return $status
}

# use_dscps DATA ECHO CMD...: runs CMD with these DSCPs, also in the filters
use_dscps()
{
	local CLASS=$(($1 << 2)) ECHO=$(($2 << 2)) status

	echo "$1,$2" >$DSCPS || return
	shift 2
	"$@"
	status=$?
	echo 3,7 >$DSCPS && return $status
}

class_works()
{
	marks_its_class && v6 marks_its_class && echoed 1 && v6 echoed 2
}

# DSCPs with other bits than 3 and 7; the same two exchanged; the largest and the smallest
other_dscps()
{
	use_dscps 10 46 class_works && use_dscps 7 3 class_works && use_dscps 63 1 class_works &&
		use_dscps 10 46 follows_marks
}

# The next segments of a running flow have the new DSCPs.
other_dscps_under_traffic()
{
	local status=0

	run_long --cc estcp || return
	use_dscps 10 46 class_passes || status=1
	class_passes || status=1
	end_long
	busywait no_senders && return $status
}

# Data and echoes with these DSCPs arrive.
class_passes()
{
	local status=0

	sleep 0.1
	tally "$RCV" $CLASS
	tally "$SND" $ECHO
	sleep 0.1
	# shellcheck disable=SC2046
	set -- $(tallied "$RCV") $(tallied "$SND")
	no_filters
	if [ "$1" -lt 100 ] || [ "$5" -lt 50 ]; then
		echo "# $*"
		status=1
	fi
	return $status
}

counters()
{
	rcv grep -v ^Receivers /proc/net/tcpcc_feedback
	snd cat /proc/net/tcpcc_feedback
}

leaves_others_alone()
{
	local before status=0

	before=$(counters)
	tally "$RCV" $CLASS
	tally "$SND" $ECHO
	flow --cc cubic >/dev/null && v6 flow --cc cubic >/dev/null || status=1
	[ "$(tallied "$RCV") $(tallied "$SND")" = "0 0 0 0 0 0 0 0" ] || status=1
	no_filters
	[ "$(counters)" = "$before" ] && return $status
}

# ecn 1|2: sets tcp_ecn at both ends; 1: connections request ECN
ecn()
{
	snd sysctl -qw net.ipv4.tcp_ecn="$1" && rcv sysctl -qw net.ipv4.tcp_ecn="$1"
}

# A connection that uses ECN is Reno's: no packet is in the class, and ECN works.
leaves_ecn_alone()
{
	local before status=0

	before=$(counters)
	ecn 1
	tally "$RCV" $CLASS
	tally "$SND" $ECHO
	filter ingress 9 "$(dsfield 2)" action pass | tc -n "$RCV" -b -
	took "$(flow --bytes 10000000 --cc estcp)" 800 1200 || status=1
	[ "$(tallied "$RCV") $(tallied "$SND")" = "0 0 0 0 0 0 0 0" ] || status=1
	tc -s -n "$RCV" filter show dev veth0 ingress pref 9 | grep -Eq ' [1-9][0-9]{2,} pkt' ||
		status=1
	no_filters
	ecn 2
	[ "$(counters)" = "$before" ] && return $status
}

# A connection with ECN that uses DSCP 3 for another purpose: its ACKs are not changed.
leaves_ecn_with_the_dscp_alone()
{
	local before status=0

	before=$(counters)
	ecn 1
	rewrite "$RCV" 2 0xff $((CLASS | 2))
	tally "$SND" $ECHO
	flow --bytes 2000000 --cc reno >/dev/null || status=1
	[ "$(tallied "$SND")" = "0 0 0 0" ] || { echo "# ACKs $(tallied "$SND")"; status=1; }
	no_filters
	ecn 2
	[ "$(counters)" = "$before" ] && return $status
}

# as_reno MODE: whether a flow is in this mode, and as fast as Reno
as_reno()
{
	traced flow --bytes 10000000 --cc estcp > time.txt || return
	took "$(cat time.txt)" 800 1200 || return
	[ -s trace.txt ] || return 0
	within mode "$1" "$1" && within alpha 16777216 16777216
}

# Only codepoint 00: Reno from begin to end
without_a_router()
{
	as_reno 0 && [ -s trace.txt ]
}

# A receiver without room for the flow acts like one without the module.
without_a_receiver()
{
	local status=0

	echo 1 > /sys/module/tcp_feedback/parameters/receivers || return
	flow --cc estcp >/dev/null
	as_reno 0 && [ ! -s trace.txt ] || status=1
	echo 16384 > /sys/module/tcp_feedback/parameters/receivers
	return $status
}

# A host behind the router clears the bits, or sets both.
bleached_bits()
{
	local status=0 value

	for value in 1 2; do
		rewrite "$RCV" $CLASS 0xfc $((CLASS | value)) || return
		as_reno 0 || status=1
		no_filters
	done
	return $status
}

bleached_class()
{
	local status=0

	rewrite "$RCV" $CLASS 0xfc 0 || return
	as_reno 0 && [ ! -s trace.txt ] || status=1
	no_filters
	return $status
}

bleached_class_on_the_way_back()
{
	local status=0

	rewrite "$SND" $ECHO 0xfc 0 || return
	as_reno 0 && [ ! -s trace.txt ] || status=1
	no_filters
	return $status
}

# If 1 in 4 is marked, g is 2^21 us, and alpha at 10 ms is 1/200.  If 3 in 4 are marked, g is
# 2^13 us, and alpha is 1.22.  Five standard deviations of 3450 packets, or of half as many with
# delayed ACKs, are 0.04.
follows_marks()
{
	local status=0

	even 4
	traced flow --bytes 5000000 --cc estcp >/dev/null || status=1
	within mode 1 1 && within share 13900 18900 && within alpha 50000 136000 || status=1
	no_filters
	phase "$RCV" ingress 4 3 2
	traced flow --bytes 5000000 --cc estcp >/dev/null || status=1
	within mode 1 1 && within share 46600 51700 && within alpha 13400000 31000000 || status=1
	no_filters
	return $status
}

follows_marks_v6()
{
	v6 follows_marks
}

without_offloads()
{
	offloads off || return
	marks_its_class && v6 marks_its_class && echoed 1 && v6 echoed 2 && follows_marks
	local status=$?

	offloads on && return $status
}

# Each new phase multiplies the window once by rtt_min / rtt_cur.
follows_phases()
{
	local status=0

	even 4
	traced five_phases || status=1
	no_filters
	within mode 1 1 && within phases 4 4 || status=1
	awk '{ split("", v); for (i = 2; i <= NF; i++) { split($i, a, "="); v[a[1]] = a[2] + 0 } }
		NR > 1 && v["phases"] != phases {
			beta = v["beta"] / 65536
			if (!n++ && beta > 0.5)
				beta = 0.5	# the reduction that ends slow start
			if (v["cwnd"] > cwnd * beta + 1 || v["cwnd"] < cwnd * beta - 1)
				{ print "# from " cwnd " to " v["cwnd"] ", beta " beta; bad = 1 }
		}
		{ phases = v["phases"]; cwnd = v["cwnd"] }
		END { exit bad || n != 4 }' trace.txt || status=1
	return $status
}

five_phases()
{
	run_long --cc estcp || return
	for next in odd even odd even; do
		sleep 0.6
		other_phase $next 4
	done
	sleep 0.3
	end_long
}

# Marks cease: only 00 arrives.  Then ACKs are not in the class any more.  Then both return.
router_goes_away()
{
	local status=0

	even 4
	run_long --cc estcp || return
	traced sleep 0.5
	within mode 1 1 || status=1
	other_phase :
	traced sleep 0.5
	within mode 2 2 || status=1
	even 4
	traced sleep 0.5
	within mode 1 1 || status=1
	rewrite "$SND" $ECHO 0xfc 0
	sleep 0.5
	tc -n "$SND" filter del dev veth0 ingress
	traced sleep 0.05
	head -n 1 trace.txt | grep -q mode=2 || status=1
	traced sleep 0.5
	within mode 1 1 || status=1
	end_long
	no_filters
	return $status
}

# The router is at the sender, followed by a queue that marks according to RFC 3168: 01 becomes
# 11.  The sender notices this, and forgets it after two phases without such marks.
notices_rfc3168()
{
	local status=0 before

	before=$(cat $PARAMETERS/estcp_distrusted)
	phase "$SND" egress 4 1 0
	tc -n "$SND" qdisc replace dev veth0 parent 1: red limit 151400 min 3000 max 60000 \
		avpkt 1514 burst 3 probability 0.05 bandwidth 100mbit ecn || status=1
	run_long --cc estcp || return
	traced sleep 2
	tc -s -n "$SND" qdisc show dev veth0 | sed -n '/red/,$s/.*marked \([0-9]*\).*/# RED: marked \1/p'
	[ "$(cat $PARAMETERS/estcp_distrusted)" = $((before + 1)) ] || { echo "# not noticed"; status=1; }
	within mode 2 2 || status=1
	loss 0
	traced clean_phases
	within mode 1 1 || status=1
	end_long
	no_filters
	return $status
}

clean_phases()
{
	local marks

	for marks in "3 2" "1 0" "3 2"; do
		tc -n "$SND" filter del dev veth0 egress
		# shellcheck disable=SC2086
		phase "$SND" egress 4 $marks
		sleep 0.6
	done
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

# A path that fails for half a second
loses_its_way()
{
	local status=0

	even 4
	run_long --bytes 5000000 --cc estcp || return
	sleep 0.2
	loss 100
	sleep 0.5
	loss 0
	busywait ended || status=1
	wait
	no_filters
	return $status
}

ended()
{
	! snd ss -tnH 'dport = :5000' | grep -q ESTAB
}

# Losses without a queue do not reduce the window.  Reno takes 10 s, ESTCP 0.9 s.
bears_losses()
{
	local status=0

	phase "$RCV" ingress 16 1 0
	loss 0.5
	took "$(flow --bytes 10000000 --cc estcp)" 800 2500 || status=1
	loss 0
	no_filters
	return $status
}

# Both ends of a connection send; the router is in only one direction.
sends_both_ways()
{
	local status=0

	SERVER="--bytes 2000000 --cc estcp"
	tally "$SND" $CLASS
	even 4
	flow --both --bytes 2000000 --cc estcp >/dev/null || status=1
	# this direction has no router
	# shellcheck disable=SC2046
	set -- $(tallied "$SND")
	if [ "$1" -le 40 ] || [ "$2 $3 $4" != "0 0 0" ]; then
		echo "# $*"
		status=1
	fi
	no_filters
	v6 flow --both --bytes 2000000 --cc estcp >/dev/null || status=1
	SERVER="--bytes 2000000 --cc acp"
	flow --both --bytes 2000000 --cc estcp >/dev/null || status=1
	SERVER=""
	return $status
}

# The phase changes during an idle time.  The window is not reduced for that.
starts_again_after_idle()
{
	local status=0

	even 4
	traced idle_flow || status=1
	no_filters
	within mode 1 1 && within codepoint 2 3 || status=1
	awk '{ for (i = 2; i <= NF; i++) { split($i, a, "="); v[a[1]] = a[2] + 0 } }
		v["codepoint"] < 2 { before = v["ssthresh"] }
		v["codepoint"] >= 2 { after = v["ssthresh"]; exit after < before }' trace.txt || status=1
	return $status
}

idle_flow()
{
	local status

	flow --pause 3 --bytes 400000 --cc estcp --cc "" > time.txt &
	sleep 1.5
	other_phase odd 4
	wait $!
	status=$?
	wait
	return $status
}

# g is 2^13 us, and alpha about 1.2
shows_in_proc()
{
	local status=0

	modprobe tcpcc_view && phase "$RCV" ingress 4 1 0 || return
	run_long --cc estcp || return
	busywait proc_shows ' mode=marks rtt_min_us=10[0-9]{3} g_us_per_seg=[0-9]+ alpha_milli_segs=1[0-4][0-9]{2} beta_permille=[0-9]{2,3} phases=0$' ||
		{ sed 's/^/# /' proc.txt; status=1; }
	ss_shows ' bbr:' && status=1
	end_long
	no_filters
	return $status
}

changes_under_traffic()
{
	local status=0

	even 4
	flow --bytes 20000000 --cc estcp --cc cubic --cc estcp --cc acp --cc estcp --cc bbr \
		--cc estcp >/dev/null || status=1
	no_filters
	busywait no_senders && return $status
}

ksft_main "$@"
