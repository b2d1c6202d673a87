#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of the router qdisc estcp: the common tests of router qdiscs, its own options, which
# packets it changes and which not, phases, and a separate class beside other traffic.  Runs
# as root in the lab kernel (scripts/lab exec -- tests/selftests/sch_estcp.sh) or on any
# kernel that has the module, with any tc that finds q_estcp.so; prints KTAP.  Arguments are
# the names of tests to run; without arguments all tests run.
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |  estcp here        10 ms here |  192.0.2.2   |
#   +--------------+                               +--------------+

KIND=estcp
DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/sch_lib.sh
. "$DIR/sch_lib.sh"

# DSCP 3 as a byte, flows of this class, and their echoes' DSCP 7
DSFIELD=12
ECHO=28
CLASS=(--dsfield "$DSFIELD")

# Tests in the order in which they run; each is a function of this name.
TESTS="loads needs_bandwidth default_bandwidth shows_options shows_json changes_options
	refuses_bad_options refuses_atomically shapes_segments marks_data marks_v6 marks_encrypted
	leaves_others_alone leaves_ecn_alone other_dscp overwrites_foreign changes_phase
	phase_v6 follows_equation is_patient limits_packets changes_under_traffic
	shrinks_without_loss replaces_under_traffic deletes_under_traffic below_htb
	beside_others beside_udp forgets_on_down device_goes unloads_under_traffic
	loads_again_and_again survives_attributes kernel_is_quiet"

# codepoints ADDRESS COUNT BATCH [DSFIELD [PROTOCOL]]: prints how many arrive with 00, 01, 10, 11
codepoints()
{
	raw "$SND" codepoints "$1" "$RCV" "${4-$DSFIELD}" "$2" "$3" "${5-6}"
}

# are WHAT COUNTS: whether the four counts meet the awk condition WHAT
are()
{
	echo "$2" | awk "{ exit !($1) }" || { echo "# $2, not $1"; return 1; }
}

shows_options()
{
	qdisc add estcp bandwidth 100mbit limit 500 target 5s &&
		has "estcp .* root .* bandwidth 100Mbit limit 500p target 5s gamma 0 kappa 0.5 g 10ms holdoff 500ms patience 1 dscp 3" &&
		has "current_g 10ms share 0.732009 phase 0 last_phase 0us this_phase 0us state waiting" &&
		has "marked 0 unmarked 0 other 0 foreign 0 held 0 unwritable 0" && qdisc del
}

shows_json()
{
	local name

	qdisc add estcp bandwidth 100mbit || return
	[ "$(field bandwidth)" = 12500000 ] && [ "$(field target)" = 5 ] &&
		[ "$(field kappa)" = 0.5 ] && [ "$(field g)" = 0.01 ] &&
		[ "$(field current_g)" = 0.01 ] && [ "$(field state)" = waiting ] || return
	for name in limit gamma holdoff patience dscp share phase last_phase this_phase marked \
		    unmarked other foreign held unwritable; do
		field $name >/dev/null || return
	done
	qdisc del
}

changes_options()
{
	qdisc add estcp bandwidth 1gbit limit 100 &&
		qdisc change estcp target 2s gamma 0.000125 kappa 0.25 g 20ms holdoff 300ms patience 4 dscp 0x2e &&
		has "bandwidth 1Gbit limit 100p target 2s gamma 0.000125 kappa 0.25 g 20ms holdoff 300ms patience 4 dscp 46" &&
		has "current_g 20ms share 0.6" &&
		qdisc change estcp holdoff 0 && has "holdoff 200ms" &&
		qdisc replace estcp bandwidth 400gbit && has "bandwidth 400Gbit limit 100p target 2s" &&
		qdisc change estcp bandwidth 1kbit && has "bandwidth 1Kbit" && qdisc del
}

refuses_bad_options()
{
	qdisc add estcp bandwidth 1gbit || return
	says "bandwidth must be from 1kbit to 1tbit" qdisc change estcp bandwidth 2tbit &&
		says "limit must be at least 1 packet" qdisc change estcp limit 0 &&
		says "target must be from 200ms to 1000s" qdisc change estcp target 199999us &&
		says "senders ignore shorter phases" qdisc change estcp target 1ms &&
		says "target must be from 200ms to 1000s" qdisc change estcp target 1001s &&
		qdisc change estcp target 200ms && has "target 200ms" &&
		qdisc change estcp target 5s &&
		says "gamma must be from 0 to 4" qdisc change estcp gamma 4.1 &&
		says "kappa must be from 0.001 to 4" qdisc change estcp kappa 0 &&
		says "kappa must be from 0.001 to 4" qdisc change estcp kappa 4.1 &&
		says "g must be from 1024us to 16777216us" qdisc change estcp g 1ms &&
		says "g must be from 1024us to 16777216us" qdisc change estcp g 17s &&
		says "holdoff must be shorter than target" qdisc change estcp holdoff 5s &&
		says "patience must be from 0 to 1000000" qdisc change estcp patience 1000001 &&
		says "dscp must be from 1 to 63" qdisc change estcp dscp 0 &&
		says "dscp must be from 1 to 63" qdisc change estcp dscp 64 &&
		says "target needs a time" qdisc change estcp target &&
		says '"soon" is not a time' qdisc change estcp target soon &&
		says '"5" is not a number' qdisc change estcp gamma 5 &&
		says '"x" is not a whole number' qdisc change estcp dscp x &&
		says 'no option "phase"' qdisc change estcp phase 1 &&
		says "Usage: ... estcp bandwidth RATE" qdisc change estcp help || return
	# a hold-off that was valid with the old target
	qdisc change estcp holdoff 2s &&
		says "holdoff must be shorter than target" qdisc change estcp target 2s &&
		has "target 5s" && qdisc del
}

refuses_atomically()
{
	qdisc add estcp bandwidth 1gbit &&
		says "dscp must be" qdisc change estcp bandwidth 2gbit limit 7 target 1s g 2ms dscp 0 &&
		has "bandwidth 1Gbit limit 1000p target 5s .* g 10ms" && has "current_g 10ms" &&
		qdisc del
}

# The share of marks is correct to four standard deviations, and the counters are correct.
marks_share()
{
	local g came

	for g in 1024us 100ms 16777216us; do
		qdisc add estcp bandwidth 1gbit g $g && came=$(codepoints "$1" 2000 1) &&
			are "\$1 + \$2 == 2000 && ($(field share) - \$2 / 2000) ^ 2 < 0.002" "$came" &&
			are "\$1 == $(field unmarked) && \$2 == $(field marked)" "$came" &&
			[ "$(field phase)" = 0 ] && [ "$(field state)" = running ] && qdisc del || return
	done
}

marks_data()
{
	marks_share 192.0.2.2
}

marks_v6()
{
	marks_share 2001:db8::2
}

# Packets of ESP and AH are marked: TCP is not visible, but the bits belong to the segment.
marks_encrypted()
{
	local address protocol came

	for address in 192.0.2.2 2001:db8::2; do
		for protocol in 50 51; do
			qdisc add estcp bandwidth 1gbit &&
				came=$(codepoints $address 100 1 $DSFIELD $protocol) &&
				are "\$1 + \$2 == 100 && \$1 > 5 && \$2 > 50" "$came" &&
				[ "$(field marked)" -gt 50 ] && qdisc del || return
		done
	done
}

leaves_others_alone()
{
	local address count

	for address in 192.0.2.2 2001:db8::2; do
		qdisc add estcp bandwidth 1gbit &&
			count=$(raw "$SND" others $address "$RCV" $DSFIELD $ECHO) && [ "$count" = 36 ] &&
			[ "$(field other)" -ge 40 ] && [ "$(field marked)" = 0 ] &&
			[ "$(field unmarked)" = 0 ] && [ "$(field foreign)" = 0 ] &&
			[ "$(field state)" = waiting ] && qdisc del || return
	done
}

# A flow that has negotiated ECN: all of its data arrives with 10, and none with a mark.
leaves_ecn_alone()
{
	local CLASS=() capable ce data

	snd sysctl -qw net.ipv4.tcp_ecn=1
	rcv sysctl -qw net.ipv4.tcp_ecn=1
	capable=$(mib rcv InECT0Pkts)
	ce=$(mib rcv InCEPkts)
	qdisc add estcp bandwidth 100mbit && flow --bytes 2000000 && busywait empty
	data=$(($(mib rcv InECT0Pkts) - capable))
	snd sysctl -qw net.ipv4.tcp_ecn=2
	rcv sysctl -qw net.ipv4.tcp_ecn=2
	[ $data -ge 1380 ] && [ "$(mib rcv InCEPkts)" = "$ce" ] && [ "$(field other)" -ge 1380 ] &&
		[ "$(field marked)" = 0 ] && qdisc del
}

other_dscp()
{
	local came

	qdisc add estcp bandwidth 1gbit dscp 46 && came=$(codepoints 192.0.2.2 100 1) &&
		are "\$1 == 100" "$came" && [ "$(field marked)" = 0 ] &&
		came=$(codepoints 192.0.2.2 100 1 $((46 << 2))) && are "\$2 > 20" "$came" &&
		[ "$(field marked)" -gt 20 ] && qdisc change estcp dscp 3 &&
		came=$(codepoints 192.0.2.2 100 1 $((46 << 2))) && are "\$1 == 100" "$came" &&
		came=$(codepoints 192.0.2.2 100 1) && are "\$2 > 20" "$came" && qdisc del
}

# A packet of the class leaves with the codepoint of this link, for any codepoint at arrival.
overwrites_foreign()
{
	local ecn came address

	# p of 10 ms is 0.73: five standard deviations
	for address in 192.0.2.2 2001:db8::2; do
		qdisc add estcp bandwidth 1gbit || return
		for ecn in 0 1 2 3; do
			came=$(codepoints $address 100 1 $((DSFIELD | ecn))) &&
				are "\$1 + \$2 == 100 && \$1 > 5 && \$2 > 50" "$came" || return
		done
		[ "$(field foreign)" = 300 ] && [ $(($(field marked) + $(field unmarked))) = 400 ] &&
			qdisc del || return
	done
}

# The pair of codepoints changes at the first drop, and not again during the hold-off of 100 ms.
phases()
{
	local came

	qdisc add estcp bandwidth 10mbit limit 20 target 1s &&
		came=$(codepoints "$1" 50 1) && are "\$1 + \$2 == 50 && \$1 > 0 && \$2 > 20" "$came" &&
		[ "$(field phase)" = 0 ] || return
	# an overflow: packets that were queued before it also leave in the new phase
	came=$(codepoints "$1" 60 60) && are "\$1 + \$2 <= 5 && \$3 + \$4 >= 16" "$came" &&
		[ "$(field phase)" = 1 ] && [ "$(field held)" -ge 30 ] || return
	came=$(codepoints "$1" 60 60) && are "\$1 + \$2 == 0 && \$3 + \$4 >= 20" "$came" &&
		[ "$(field phase)" = 1 ] || return
	sleep 0.1
	came=$(codepoints "$1" 50 1) && are "\$3 + \$4 == 50 && \$3 > 5 && \$4 > 5" "$came" &&
		[ "$(field phase)" = 1 ] || return
	came=$(codepoints "$1" 60 60) && are "\$1 + \$2 >= 16 && \$3 + \$4 <= 5" "$came" &&
		[ "$(field phase)" = 2 ] || return
	# overflows of other traffic do not end a phase
	sleep 0.1
	raw "$SND" burst "$1" 200 100 && sleep 0.1 && [ "$(field phase)" = 2 ] &&
		came=$(codepoints "$1" 50 1) && are "\$1 + \$2 == 50" "$came" && qdisc del
}

changes_phase()
{
	phases 192.0.2.2
}

phase_v6()
{
	phases 2001:db8::2
}

# g of the next phase follows the paper's equation, with both kinds of gain.
follows_equation()
{
	local gain g before phase

	for gain in "kappa 0.5" "kappa 1" "gamma 0.02"; do
		# shellcheck disable=SC2086
		qdisc add estcp bandwidth 10mbit limit 20 target 2s holdoff 10ms g 50ms $gain || return
		before=0.05
		for phase in 1 2 3 4; do
			sleep 1.$((phase * 2))
			codepoints 192.0.2.2 60 60 >/dev/null && [ "$(field phase)" = $phase ] || return
			g=$(field current_g)
			[ "$phase" = 1 ] || awk -v g="$g" -v was="$before" -v last="$(field last_phase)" \
				-v kind="${gain% *}" -v gain="${gain#* }" 'BEGIN {
				if (kind == "kappa") gain *= was / last
				want = was + gain * (2 - last)
				if (want > 2 * was) want = 2 * was
				exit !((g / want - 1) ^ 2 < 1e-8) }' || {
				echo "# $gain: $g after $before"; return 1; }
			before=$g
		done
		qdisc del
	done
}

# Before the first overflow g is halved once per target, but only while data is sent.
is_patient()
{
	qdisc add estcp bandwidth 1gbit target 1s patience 2 g 100ms || return
	codepoints 192.0.2.2 10 1 >/dev/null && sleep 1.9 && codepoints 192.0.2.2 10 1 >/dev/null &&
		[ "$(field current_g)" = 0.1 ] || return
	sleep 0.2
	codepoints 192.0.2.2 10 1 >/dev/null && [ "$(field current_g)" = 0.05 ] || return
	sleep 1.1
	codepoints 192.0.2.2 10 1 >/dev/null && [ "$(field current_g)" = 0.025 ] || return
	sleep 60
	codepoints 192.0.2.2 10 1 >/dev/null && [ "$(field current_g)" = 0.0125 ] && qdisc del
}

# rate CC: prints the rate of a flow of CC in the other class, bytes/s
rate()
{
	local CLASS=() start

	start=$(date +%s%N)
	flow --bytes 10000000 --cc "$1" &&
		echo $((10000000000000000 / ($(date +%s%N) - start)))
	wait # rate runs in a subshell, so the next receiver gets the same port
}

# stream [-6]: starts an endless flow of the class in the background
stream()
{
	receiver "${1-}" || return
	sender "${CLASS[@]}" --bytes 500000000 >/dev/null 2>&1 &
}

# The setup of tc-estcp(8): an HTB class for ESTCP, selected by the DSCP, and one for others
two_classes()
{
	qdisc add handle 1: htb default 2 &&
		tc -n "$SND" class add dev veth0 parent 1: classid 1:1 htb rate 50mbit &&
		tc -n "$SND" class add dev veth0 parent 1: classid 1:2 htb rate 50mbit &&
		tc -n "$SND" qdisc add dev veth0 parent 1:1 estcp bandwidth 49mbit limit 8 &&
		tc -n "$SND" qdisc add dev veth0 parent 1:2 fq_codel &&
		tc -n "$SND" filter add dev veth0 parent 1: protocol ip prio 1 \
			flower ip_tos 0xc/0xfc classid 1:1 &&
		tc -n "$SND" filter add dev veth0 parent 1: protocol ipv6 prio 2 \
			flower ip_tos 0xc/0xfc classid 1:1
}

# Each packet is in its class, and neither class takes capacity from the other.
beside_others()
{
	local address cc alone beside count before

	two_classes || return

	# each packet is in its class, except for packets of flows of earlier tests
	for address in 192.0.2.2 2001:db8::2; do
		before=$(KIND=fq_codel field packets)
		count=$(($(field marked) + $(field unmarked)))
		codepoints $address 100 1 >/dev/null || return
		[ $(($(field marked) + $(field unmarked) - count)) -ge 100 ] &&
			[ $(($(KIND=fq_codel field packets) - before)) -lt 50 ] || return
		count=$(field packets)
		codepoints $address 100 1 0 >/dev/null && raw "$SND" burst $address 100 100 || return
		sleep 0.1
		[ $(($(KIND=fq_codel field packets) - before)) -ge 200 ] &&
			[ $(($(field packets) - count)) -lt 50 ] || return
	done

	# neither class takes capacity from the other
	for cc in reno cubic; do
		alone=$(rate $cc) && stream && stream -6 && sleep 2 && beside=$(rate $cc) || return
		[ "$(field drops)" -gt 0 ] && [ "$(field other)" -lt 50 ] || return
		count=$(field bytes)
		sleep 2
		count=$((($(field bytes) - count) / 2))
		echo "# $cc: $alone bytes/s alone, $beside beside $count of the class"
		[ $((beside * 100)) -ge $((alone * 97)) ] && [ "$alone" -gt 5000000 ] &&
			[ "$count" -gt 5800000 ] || return
		end_long
	done
	qdisc del
}

# Prints the rate of a class, measured for two seconds, bytes/s
class_rate()
{
	local count

	count=$(KIND=$1 field bytes) && sleep 2 && echo $((($(KIND=$1 field bytes) - count) / 2))
}

# UDP sends 80 Mb/s in a class of 50 Mb/s.  It takes no capacity from ESTCP, nor ESTCP from it.
beside_udp()
{
	local alone estcp udp flood

	two_classes && stream && stream -6 && sleep 2 && alone=$(class_rate estcp) || return
	while raw "$SND" burst 192.0.2.2 1000 1000; do
		sleep 0.1
	done &
	flood=$!
	sleep 1
	estcp=$(class_rate estcp)
	udp=$(class_rate fq_codel)
	kill $flood
	end_long
	echo "# $alone bytes/s of ESTCP alone, $estcp beside $udp of UDP"
	[ $((estcp * 100)) -ge $((alone * 97)) ] && [ "$estcp" -gt 5800000 ] &&
		[ "$udp" -gt 5800000 ] && qdisc del
}

forgets_on_down()
{
	qdisc add estcp bandwidth 10mbit limit 20 && codepoints 192.0.2.2 60 60 >/dev/null &&
		[ "$(field phase)" = 1 ] && raw "$SND" burst 192.0.2.2 20 1000 &&
		ip -n "$SND" link set veth0 down && ip -n "$SND" link set veth0 up || return
	[ "$(field qlen)" = 0 ] && [ "$(field state)" = waiting ] && [ "$(field phase)" = 0 ] &&
		[ "$(field current_g)" = 0.01 ] || return
	ip -n "$SND" addr replace 2001:db8::1/64 dev veth0 nodad
	flow --bytes 100000 && [ "$(field state)" = running ] && qdisc del
}

ksft_main "$@"
