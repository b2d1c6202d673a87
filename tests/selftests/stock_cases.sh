#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Effects of hosts and paths on a flow, on a distribution's kernel.  Each sender must finish in at
# most 1.25 times the time of CUBIC in the same case, in the median of three.  Arguments are the
# names of cases to run.  With "+" before a name only the senders $FEW run it, because it is long.
#
# The path is that of stock_lib.sh: $RATE_MBIT Mb/s with a queue of two bandwidth-delay
# products, $RTT_MS ms, receive buffers autotuned by the kernel.
#
# Run by scripts/stock run --nics, as root; all cases but "cards" also run in the lab, where they
# take seconds.  Exit status: 0 all passed, 1 not, 4 skipped.

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/stock_lib.sh
. "$DIR/stock_lib.sh"

# The senders; TCPCC_SENDERS replaces this list
SENDERS=${TCPCC_SENDERS:-ccpd ccp ccpd_path mccp mccp_path acp estcp nist_reno nist_bic nist_ctcp nist_fast \
	nist_hstcp nist_htcp nist_scalable jtcp newjersey rcp xcp}
FEW=${TCPCC_SENDERS:-ccpd ccpd_path mccp}
OTHERS="cubic reno bbr"

# Senders that show the capacity of the path
SHOW_CAPACITY="ccpd ccp ccpd_path mccp bbr"

RATE_MBIT=20
RTT_MS=40
TRUTH_KBPS=$((RATE_MBIT * 1000 * 1448 / 1514))
SHORT=1000000		# bytes; takes half a second
LONG=3500000		# bytes; takes 1.5 seconds
SWITCH=1400000

declare -A CUBIC	# case -> CUBIC's times, ms
declare -A TOGETHER	# congestion control -> its times in long_idle, ms

setup()
{
	setup_narrow && take_cards && modprobe -a tcp_bbr ifb sch_fq || return
	setup_ingress rcv0 ifb0
	[ -z "$CARD" ] || {
		setup_ingress "$PEER" ifb1
		tc -n "$RCV" qdisc add dev "$PEER" root netem delay "${RTT_MS}ms" limit 10000
		tc -n "$RCV" qdisc add dev ifb1 root handle 1: tbf rate "${RATE_MBIT}mbit" \
			burst 1600 limit 100mb
		tc -n "$RCV" qdisc add dev ifb1 parent 1: bfifo \
			limit $((RATE_MBIT * RTT_MS * 1000 / 4))
	}
	snd sysctl -qw net.ipv4.tcp_fastopen=3 && rcv sysctl -qw net.ipv4.tcp_fastopen=3 || return
	qdisc "$SND" snd0 add pfifo limit 1000
	start_hosts
}

# setup_ingress DEVICE IFB: packets that arrive at the receiver's DEVICE pass the qdisc of IFB
setup_ingress()
{
	ip -n "$RCV" link add "$2" type ifb && ip -n "$RCV" link set "$2" up &&
		tc -n "$RCV" qdisc add dev "$1" clsact &&
		tc -n "$RCV" filter add dev "$1" ingress matchall action mirred egress redirect \
			dev "$2"
}

# Restores what a case has changed
after_failure()
{
	restore
}

restore()
{
	qdisc "$SND" snd0 replace pfifo limit 1000
	tc -n "$RCV" qdisc del dev ifb0 root 2>/dev/null
	tc -n "$RTR" qdisc del dev rtr0 clsact 2>/dev/null
	tc -n "$RTR" qdisc replace dev rtr0 root netem delay "${RTT_MS}ms" limit 10000
	routes
	ip -n "$SND" mptcp endpoint flush
	ip -n "$SND" addr del 10.77.1.3/24 dev snd0 2>/dev/null
	return 0
}

# Cases -------------------------------------------------------------------------------
#
# The argument of a case is a congestion control.  It sets $TIMES, ms.

# send CC BYTES [SETTING...]: a transfer; sets $TIMES, $SILENCE_MS and $SHOWN_KBPS
send()
{
	ask send cc="$1" bytes="$2" "${@:3}" || return
	read -r TIMES SILENCE_MS SHOWN_KBPS <<<"$ANSWER"
}

# send_showing CC [SETTING...]: a long transfer, which also shows the capacity.  In an emulated
# guest a late timer may send two segments at once, and their pair shows a faster link for some
# time.  So if the first flow fails, a second one decides.
send_showing()
{
	send "$1" $LONG "${@:2}" && { shows_capacity "$1" || {
		diag "once more"
		send "$1" $LONG "${@:2}" && shows_capacity "$1"
	}; }
}

# For a path on which a queue is visible after a second
shows_capacity()
{
	[[ " $SHOW_CAPACITY " = *" $1 "* ]] || return 0
	diag "$1 shows $SHOWN_KBPS kb/s of $TRUTH_KBPS"
	within $((TRUTH_KBPS * 9 / 10)) "$SHOWN_KBPS" $((TRUTH_KBPS * 11 / 10))
}

pfifo()
{
	send_showing "$1"
}

fq()
{
	qdisc "$SND" snd0 replace fq && send_showing "$1"
}

# With TSO at the sender, GRO and interrupts at the receiver
cards()
{
	[ -n "$CARD" ] || { diag "no two cards"; return 1; }
	qdisc "$SND" "$CARD" replace fq && send_showing "$1" to=10.77.3.2
}

# requests CC,... IDLE,...: responses of 8 and 200 segments, over fq, delayed by $RTT_MS +- 2 ms
requests()
{
	qdisc "$SND" snd0 replace fq &&
		tc -n "$RTR" qdisc replace dev rtr0 root netem delay "${RTT_MS}ms" 2ms limit 10000 &&
		ask talk cc="$1" segs=8,200 idle="$2" && TIMES=$ANSWER
}

idle()
{
	requests "$1" 0.1,1,3
}

# All senders run at the same time, because they are idle nearly all of the time
long_idle()
{
	local cc all=()

	[ -n "${TOGETHER[$1]-}" ] || {
		read -ra all <<<"cubic $SENDERS"
		requests "$(IFS=,; echo "${all[*]}")" 10,30 || return
		for cc in "${all[@]}"; do
			TOGETHER[$cc]=${ANSWER%%,*} ANSWER=${ANSWER#*,}
		done
	}
	TIMES=${TOGETHER[$1]}
}

# A flow switches to and from each of the others
switch()
{
	local cc parts=$1

	for cc in $SENDERS $OTHERS; do
		[ "$cc" = "$1" ] || [ "$1" = cubic ] || parts=$parts,$cc,$1
	done
	send "$parts" $SWITCH
}

counter()
{
	"$1" nstat -asz "$2" | awk -v name="$2" '$1 == name { print $2 }'
}

# The first connection brings a cookie, the second has data in its SYN.
tfo()
{
	local before

	send "$1" 1448 tfo=1 || return
	before=$(counter snd TcpExtTCPFastOpenActive)
	send "$1" $((8 * 1448)) tfo=1 || return
	[ "$(counter snd TcpExtTCPFastOpenActive)" -gt "$before" ] || {
		diag "the SYN had no data"
		return 1
	}
}

has_two()
{
	[ "$(grep -cw "$1" ss.txt)" -ge 2 ]
}

two_subflows()
{
	snd ss -Htin >ss.txt
	has_two "$1"
}

# Two subflows over the same link.  The route sets the congestion control, because a subflow does
# not inherit the choice of its socket, and because a namespace may not have every congestion
# control as its default.
mptcp()
{
	local before

	ip -n "$SND" addr add 10.77.1.3/24 dev snd0 &&
		ip -n "$SND" mptcp limits set subflow 2 &&
		ip -n "$RCV" mptcp limits set subflow 2 &&
		ip -n "$SND" mptcp endpoint add 10.77.1.3 dev snd0 subflow &&
		routes congctl "$1" || return
	before=$(counter rcv MPTcpExtMPJoinAckRx)
	tell send bytes=$SHORT mptcp=1 || return
	busywait two_subflows "$1"
	answer && TIMES=${ANSWER%% *} || return
	if ! has_two "$1" || [ "$(counter rcv MPTcpExtMPJoinAckRx)" -le "$before" ]; then
		diag "no two subflows of $1:"
		sed 's/^/# /' ss.txt
		return 1
	fi
}

# blackout CC SECONDS: both directions fail, without an error message.  The kernel retransmits after
# times that double, and that begin with an rto which depends on the rtt, and so on the queue.  The
# silence until a retransmission succeeds is not due to the congestion control.  So times are
# compared without it.  The silence must not be shorter than the blackout, nor longer than the
# backoff allows.  After the blackout, segments that had arrived before it make the timeout look
# spurious, and TCP continues with what is in flight.  The printed law may then leave no room for a
# segment that would show the losses, so that a second timeout follows.  Its rto is computed from an
# rtt that includes the blackout.
blackout()
{
	local try lasted_ms least most

	least=$(awk -v s="$2" 'BEGIN { print 800 * s }')
	# If the silence was shorter, the flow had ended before the filters were installed: an
	# emulated guest must first read them from its host.
	for try in 1 2 3; do
		dark "$1" "$2" || return
		diag "$1: $TIMES ms, of them $SILENCE_MS of silence; a blackout of up to $lasted_ms ms"
		if [ "$SILENCE_MS" -ge "$least" ] || [ $try = 3 ]; then
			break
		fi
		diag "too late for the flow: once more"
		restore
	done
	TIMES=$((TIMES - SILENCE_MS))
	most=$((2 * lasted_ms + 1500))
	within "$least" "$SILENCE_MS" $most || {
		[[ " ccpd ccp " = *" $1 "* ]] && within "$least" "$SILENCE_MS" $((2 * most)) &&
			xfail "$SILENCE_MS ms of silence: a second timeout"
	}
}

# dark CC SECONDS: a flow with a blackout; sets the flow's values, and $lasted_ms, an upper bound of
# the length of the blackout
dark()
{
	local begun

	rm -f third
	tc -n "$RTR" qdisc add dev rtr0 clsact &&
		tell send cc="$1" bytes=$LONG mark=third || return
	# before that the module may have to be loaded
	busywait [ -e third ]
	begun=${EPOCHREALTIME/./}
	tc -n "$RTR" -batch - <<-END || return
		filter add dev rtr0 ingress matchall action drop
		filter add dev rtr0 egress matchall action drop
	END
	sleep "$2"
	tc -n "$RTR" qdisc del dev rtr0 clsact
	lasted_ms=$(((${EPOCHREALTIME/./} - begun) / 1000))
	answer && read -r TIMES SILENCE_MS SHOWN_KBPS <<<"$ANSWER"
}

blackout_300ms()
{
	blackout "$1" 0.3
}

blackout_1500ms()
{
	blackout "$1" 1.5
}

blackout_10s()
{
	blackout "$1" 10
}

# reordering CC DELAY: one of twenty packets is not delayed, and overtakes the others; a packet
# takes 0.6 ms
reordering()
{
	tc -n "$RCV" qdisc replace dev ifb0 root netem delay "$2" reorder 95% gap 20 limit 10000 &&
		send "$1" $SHORT
}

reordering_1()
{
	reordering "$1" 0.65ms
}

reordering_10()
{
	reordering "$1" 6.1ms
}

reordering_100()
{
	reordering "$1" 60.6ms
}

# Tests -------------------------------------------------------------------------------

# cubic CASE: measures CUBIC, with which the others are compared
cubic()
{
	"$1" cubic || return
	restore
	CUBIC[$1]=$TIMES
	diag "CUBIC: $TIMES ms"
}

# known_ms CASE CC: prints the time, ms, that a sender may take which is known to be slower than
# CUBIC
#
# With the printed law, after a loss before any queue (or reordering that is taken for a loss and
# not undone) the known buffer is almost 0 (head of tcp_ccpd.c).  The window then may be only two
# segments, and the receiver may delay their ACK for 40 ms.  MCCP's samples cover two ACKs.  If
# these have jitter, its estimate is less than the window, and the start ends at the initial
# ssthresh of 24.  With one segment more in each round trip, 200 segments take nine round trips,
# each with 2 ms of jitter and two segments more.
known_ms()
{
	case $1/$2 in
	switch/ccpd|switch/ccp)
		echo $((SWITCH * (RTT_MS + 41) / (2 * 1448))) ;;
	reordering_100/ccpd|reordering_100/ccp)
		echo $((SHORT * (RTT_MS + 101) / (2 * 1448))) ;;
	idle/mccp|long_idle/mccp)
		echo $((9 * (RTT_MS + 4))) ;;
	*)
		echo 0 ;;
	esac
}

# late_ones CASE CC TIME...: prints the times that exceed 1.25 times CUBIC's in this case.  The
# first window of ACP, RCP and XCP is 1, and CUBIC's is 10, so their first eight segments may take
# three round trips more.
late_ones()
{
	local time most=() more=0

	read -ra most <<<"${CUBIC[$1]-}"
	case $2 in
	acp|rcp|xcp) more=$((3 * RTT_MS)) ;;
	esac
	for time in "${@:3}"; do
		[ "$((time * 4))" -le "$((${most[0]-0} * 5 + more * 4))" ] || echo "$time"
		more=0
		most=("${most[@]:1}")
	done
}

# of_three: prints the median of each number in three lines
of_three()
{
	awk '{ for (i = 1; i <= NF; i++) { sum[i] += $i
			if (NR == 1 || $i < least[i]) least[i] = $i
			if (NR == 1 || $i > most[i]) most[i] = $i } }
		END { for (i = 1; i <= NF; i++) printf "%d ", sum[i] - least[i] - most[i] }'
}

# as_fast_as_cubic CASE CC: times differ because of jitter, and of which packets overtake others.
# So if one is late, the median of three decides.
as_fast_as_cubic()
{
	local late slowest times

	"$@" || return
	restore
	diag "$2: $TIMES ms; CUBIC: ${CUBIC[$1]-none}"
	# shellcheck disable=SC2086
	late=$(late_ones "$@" $TIMES)
	[ -n "$late" ] || return 0
	times=$TIMES
	for _ in 1 2; do
		TOGETHER=()
		"$@" || return
		restore
		diag "$2, once more: $TIMES ms"
		times+=$'\n'$TIMES
	done
	TIMES=$(of_three <<<"$times")
	# shellcheck disable=SC2086
	late=$(late_ones "$@" $TIMES)
	[ -z "$late" ] || {
		diag "more than 1.25 times: ${late//$'\n'/ }"
		slowest=$(sort -n <<<"$late" | tail -n 1)
		[ "$slowest" -le "$(known_ms "$@")" ] && xfail "$slowest ms"
	}
}

requires tcp_ccpd
own_log stock_cases
# shellcheck disable=SC2086
points()
{
	local case n=1

	for case; do
		case $case in
		+*) set -- $FEW ;;
		*) set -- $SENDERS ;;
		esac
		n=$((n + 1 + $#))
	done
	echo $n
}
ksft_begin "$(points "$@")"
diag "kernel $(uname -r), $(nproc) processors"
for case; do
	ccs=$SENDERS
	[ "${case#+}" = "$case" ] || ccs=$FEW
	case=${case#+}
	ksft_test "$case: cubic" cubic "$case"
	for cc in $ccs; do
		ksft_test "$case: $cc" as_fast_as_cubic "$case" "$cc"
	done
done
ksft_test "kernel log without warnings" kernel_is_quiet
ksft_end
