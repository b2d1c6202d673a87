# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What the selftests for distributions' kernels share; they source it.  A router
# between sender and receiver, and iperf3:
#
#   +---------+                +---------------------+                +-----------+
#   |  $SND   | snd0      rtr0 |        $RTR         | rtr1      rcv0 |   $RCV    |
#   |         +----------------+                     +----------------+           |
#   | iperf3  |                | <- acks     data -> |                | iperf3 -s |
#   +---------+                +---------------------+                +-----------+
#        10.77.1.1      10.77.1.2               10.77.2.1      10.77.2.2
#        fd77:1::1      fd77:1::2               fd77:2::1      fd77:2::2

# shellcheck disable=SC2119,SC2120 # routes can do without arguments

# shellcheck source=tests/selftests/lib.sh
. "$DIR/lib.sh"

RTR=rtr-$$

# requires MODULE: it, and the programs that the tests run
requires()
{
	local tool

	for tool in ip tc ss iperf3 ethtool modprobe; do
		command -v $tool >/dev/null || skip_all "needs $tool"
	done
	modprobe -n "$1" 2>/dev/null || skip_all "no module $1 for $(uname -r)"
}

rtr()
{
	ip netns exec "$RTR" "$@"
}

setup_router()
{
	local ns

	for ns in "$SND" "$RTR" "$RCV"; do
		ip netns add "$ns" || return
		ip -n "$ns" link set lo up
	done
	ip link add snd0 netns "$SND" type veth peer name rtr0 netns "$RTR" &&
		ip link add rtr1 netns "$RTR" type veth peer name rcv0 netns "$RCV" || return
	address "$SND" snd0 1 1
	address "$RTR" rtr0 1 2
	address "$RTR" rtr1 2 1
	address "$RCV" rcv0 2 2
	routes
	ip -n "$RCV" route add default via 10.77.2.1
	ip -n "$RCV" route add default via fd77:2::1
	rtr sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	# What one flow learned must not help the next.
	snd sysctl -qw net.ipv4.tcp_no_metrics_save=1
}

cleanup()
{
	local ns

	end_long 2>/dev/null
	for ns in "$SND" "$RTR" "$RCV"; do
		ip netns del "$ns" 2>/dev/null
	done
}

# address NAMESPACE DEVICE NETWORK HOST
address()
{
	ip -n "$1" addr add "10.77.$3.$4/24" dev "$2"
	ip -n "$1" addr add "fd77:$3::$4/64" dev "$2" nodad
	ip -n "$1" link set "$2" up
}

# Two cards of this driver, which has TSO in QEMU too, are taken to be connected with each other
DRIVER=e1000

# The sender gets one, $CARD, and the receiver one, $PEER, in network 3; empty without two
take_cards()
{
	local driver cards=()

	CARD=""
	PEER=""
	modprobe -q $DRIVER
	for driver in /sys/class/net/*/device/driver; do
		[ "$(basename "$(readlink -f "$driver")")" != $DRIVER ] ||
			cards+=("$(basename "${driver%/device/driver}")")
	done
	[ ${#cards[@]} = 2 ] || return 0
	CARD=${cards[0]}
	PEER=${cards[1]}
	ip link set "$CARD" netns "$SND" && ip link set "$PEER" netns "$RCV" || return
	address "$SND" "$CARD" 3 1
	address "$RCV" "$PEER" 3 2
}

# routes [OPTION...]: the sender's, with these attributes
routes()
{
	ip -n "$SND" route replace default via 10.77.1.2 "$@" &&
		ip -n "$SND" -6 route replace default via fd77:1::2 "$@"
}

# loaded MODULE
loaded()
{
	[ -d "/sys/module/$1" ]
}

# module_of CC: the name of the module that has it
module_of()
{
	modprobe -R "tcp_$1"
}

# set_sysctl CC: what the sender uses
set_sysctl()
{
	snd sysctl -qw net.ipv4.tcp_congestion_control="$1"
}

NETWORK=2		# in which the receiver is
destination()
{
	case $1 in
	4) echo 10.77.$NETWORK.2 ;;
	6) echo fd77:$NETWORK::2 ;;
	esac
}

# start_flow IP SECONDS [IPERF3 OPTION...]: in the background; its process is $CLIENT
start_flow()
{
	local to seconds=$2

	to=$(destination "$1")
	shift 2
	rm -f report
	rcv iperf3 -s -1 >server 2>&1 &
	SERVER=$!
	busywait listening 5201 || {
		diag "no server: $(cat server)"
		return 1
	}
	snd iperf3 -J -c "$to" -t "$seconds" -O 1 "$@" >report 2>error &
	CLIENT=$!
}

end_flow()
{
	local status=0

	wait "$CLIENT" || {
		status=1
		diag "iperf3: $(cat error report | grep -i error)"
	}
	wait "$SERVER"
	return $status
}

# uses CC: a socket that carries data does; its control connection has the same
# destination and the same congestion control unless that is the socket's own
uses()
{
	snd ss -Htin 'dport = :5201' | grep -qw "$1"
}

# Payload that arrived, kb/s, from iperf3's report
goodput_kbps()
{
	awk -F'[:,]' '/"sum_received"/ { found = 1 }
		found && /"bits_per_second"/ { printf "%d\n", $2 / 1000; exit }' report
}

# link_percent MBIT PAYLOAD: goodput in per cent of what frames with that much of it can be
link_percent()
{
	local kbps

	kbps=$(goodput_kbps)
	echo $((${kbps:-0} * 100 / ($1 * 1000 * $2 / 1514)))
}

# reports_cc CC: whether iperf3 used it
reports_cc()
{
	grep -q "\"sender_tcp_congestion\":[[:space:]]*\"$1\"" report && return
	diag "iperf3 reports $(grep sender_tcp_congestion report)"
	return 1
}

# hosts.py ------------------------------------------------------------------------------

# Begins it between sender and receiver; its process is $HOSTS_PID
start_hosts()
{
	coproc HOSTS { exec "$DIR/hosts.py" "$SND" "$RCV" 10.77.2.2; }
}

# tell COMMAND...: which runs while the script goes on
tell()
{
	echo "$*" >&"${HOSTS[1]}"
}

# The answer to it, in $ANSWER
answer()
{
	local word

	read -r -t 3600 word ANSWER <&"${HOSTS[0]}" && [ "$word" = ok ] && return
	diag "hosts.py: ${word-} ${ANSWER-}"
	return 1
}

# ask COMMAND...
ask()
{
	tell "$@" && answer
}

# Over a FIFO --------------------------------------------------------------------------
#
# A script says the link's rate, $RATE_MBIT, its round trip, $RTT_MS, how long a flow
# lasts, $SECONDS_EACH, and has law_shows() which tells from "ss -tin" in ss.txt, in the two
# seconds before the flow ends, whether this congestion control's law is at work.

# setup_narrow [BYTES]: a router that shapes data, behind a queue of so many, or of two
# bandwidth-delay products
setup_narrow()
{
	local queue=${1-$((RATE_MBIT * RTT_MS * 1000 / 4))}

	setup_router &&
		tc -n "$RTR" qdisc add dev rtr0 root netem delay "${RTT_MS}ms" limit 10000 || return
	# A burst of one frame and not two, or packet pairs would pass it side by side.
	tc -n "$RTR" qdisc add dev rtr1 root handle 1: tbf rate "${RATE_MBIT}mbit" \
		burst 1600 limit 100mb || return
	tc -n "$RTR" qdisc add dev rtr1 parent 1: bfifo limit "$queue"
}

# carries IP CC [IPERF3 OPTION...]: a flow of it has data in it, and its law shows.  Where the
# guest is emulated and the host is busy, a timer may be late and let two segments out side by
# side: their pair shows a faster link, for a second.  So if only the law does not show, a
# second flow decides.
carries()
{
	local status=0

	carry "$@" || status=$?
	[ $status = 2 ] || return $status
	diag "once more"
	carry "$@"
}

# Return: 2: all is well, but the law does not show
carry()
{
	local ip=$1 cc=$2 status=0

	shift 2
	start_flow "$ip" "$SECONDS_EACH" "$@" && busywait uses "$cc" || return
	sleep $((SECONDS_EACH - 2))
	look 5
	end_flow && reports_cc "$cc" || return
	diag "$cc, IPv$ip: $(goodput_kbps) kb/s"
	law_shows "$cc" || {
		status=2
		sed 's/^/# /' ss.txt
	}
	return $status
}

# look TIMES: what ss shows of iperf3's sockets, into ss.txt, so many times, 0.3 s apart.  Looks
# within a few round trips would show one state of the filters, and one late ACK in them all.
look()
{
	snd sh -c "ss -Htin 'dport = :5201'; echo
		for n in \$(seq 2 $1); do sleep 0.3; ss -Htin 'dport = :5201'; echo; done" >ss.txt
}

# ss_values NAME: at each look, of the socket that has sent most, of which the control
# connection is none
ss_values()
{
	awk -v name="$1" 'NF { sent = 0; value = ""
		for (i = 1; i <= NF; i++) {
			if ($i ~ /^bytes_sent:/) sent = substr($i, 12) + 0
			if (index($i, name ":") == 1) value = substr($i, length(name) + 2) }
		if (sent > most) { most = sent; found = value } }
		!NF { if (found != "") print found; most = 0; found = "" }' ss.txt
}

# The middle one of the numbers that are read: a window swings within a round trip.
median()
{
	sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

# ss_field NAME: the median of the looks
ss_field()
{
	ss_values "$1" | median
}

# The capacity that is shown in BBR's form, kb/s
shown_kbps()
{
	ss_values bbr | sed -n 's/^(bw:\([0-9.e+]*\)\([KMG]\{0,1\}\)bps.*/\1 \2/p' |
		awk '{ printf "%d\n", $1 * ($2 == "G" ? 1e6 : $2 == "M" ? 1e3 : $2 == "K" ? 1 : 1e-3) }' |
		median
}

by_socket()
{
	carries "$@" -C "$2"
}

# With a qdisc of ours at the router -----------------------------------------------------
#
# A script says its congestion control's name and module, $CC and $MODULE, the kind of its
# qdisc with options, $QDISC, its rate, $RATE_MBIT, how many $FLOWS there are at once, and
# two counters of the qdisc: $OURS of packets that are for it, and $OTHERS.

# What the next test would stumble over
clear_router()
{
	end_long
	qdisc "$RTR" rtr1 del 2>/dev/null
}

# qdisc NAMESPACE DEVICE COMMAND...: of the root
qdisc()
{
	tc -n "$1" qdisc "$3" dev "$2" root "${@:4}"
}

# field NAME: a number from the statistics of a qdisc that were kept
field()
{
	sed -n "s/.*\b$1 \([0-9.]*\).*/\1/p" qdisc.txt
}

# within LEAST VALUE MOST
within()
{
	awk -v a="$1" -v x="${2:-none}" -v b="$3" 'BEGIN { exit !(x ~ /^[0-9.]+$/ && a <= x && x <= b) }'
}

# shows NAMESPACE DEVICE FIELD LEAST: keeps the statistics; whether this one is at least so much
shows()
{
	tc -n "$1" -s qdisc show dev "$2" >qdisc.txt
	[ "$(field "$3")" -ge "$4" ]
}

# shows_options "KIND OPTION...", PATTERN...: having been changed to these tc shows what matches all
shows_options()
{
	local pattern options

	read -ra options <<<"$1"
	qdisc "$RTR" rtr1 add "${QDISC[@]}" && qdisc "$RTR" rtr1 change "${options[@]}" || return
	tc -n "$RTR" -s qdisc show dev rtr1 >qdisc.txt
	qdisc "$RTR" rtr1 del
	for pattern in "${@:2}"; do
		grep -q "$pattern" qdisc.txt && continue
		sed 's/^/# /' qdisc.txt
		return 1
	done
}

# Each is loaded by the name of what it registers.  Not everybody may choose a sender with
# feedback, so no namespace but the first can have it as its default.
aliases_load()
{
	sysctl -qw net.ipv4.tcp_congestion_control="$CC" && loaded "$MODULE" &&
		loaded tcp_feedback && sysctl -qw net.ipv4.tcp_congestion_control=reno &&
		qdisc "$RTR" rtr1 add "${QDISC[@]}" && loaded sch_tcpcc &&
		qdisc "$RTR" rtr1 del && unload &&
		modprobe "tcp_$CC" && modprobe "sch_${QDISC[0]}" && loaded "$MODULE" && loaded sch_tcpcc
}

unload()
{
	# A closed flow's socket may live on for a moment: not yet is no failure.
	wait_for 30 rmmod "$MODULE" && rmmod tcp_feedback && rmmod sch_tcpcc
}

# fills_link PAYLOAD: of frames of 1514 bytes
fills_link()
{
	local percent

	percent=$(link_percent "$RATE_MBIT" "$1")
	diag "$(goodput_kbps) kb/s, $percent % of the link"
	reports_cc "$CC" && within 90 "$percent" 101
}

shares_equally()
{
	local jain

	jain=$(awk -F'[:,]' '/"receiver":/ { found = 1 }
		found && /"bits_per_second"/ { n++; sum += $2; squares += $2 * $2; found = 0 }
		END { if (n == '"$FLOWS"') print sum * sum / (n * squares) }' report)
	diag "Jain's index: ${jain:-no}"
	within 0.95 "$jain" 1
}

# A flow that knows nothing of it
carries_cubic()
{
	local percent

	qdisc "$RTR" rtr1 add "${QDISC[@]}" && start_flow 4 1 -C cubic || return
	end_flow || return
	tc -n "$RTR" -s qdisc show dev rtr1 >qdisc.txt
	qdisc "$RTR" rtr1 del
	percent=$(link_percent "$RATE_MBIT" 1448)
	diag "$(goodput_kbps) kb/s, $percent % of the link"
	[ "$(field "$OURS")" = 0 ] && [ "$(field "$OTHERS")" -gt 5000 ] && reports_cc cubic &&
		within 90 "$percent" 101
}

# Flows go on whatever is done to the qdisc below them, and nothing goes that they use.
survives_changes()
{
	local kind

	qdisc "$RTR" rtr1 add "${QDISC[@]}" && start_flow 4 60 -P "$FLOWS" -C "$CC" &&
		busywait shows "$RTR" rtr1 "$OURS" 1000 || return
	for kind in "pfifo limit 100" "${QDISC[0]} bandwidth 50mbit" fq_codel \
		"${QDISC[0]} bandwidth 10mbit"; do
		sleep 0.1
		# shellcheck disable=SC2086
		qdisc "$RTR" rtr1 replace $kind || return
	done
	for _ in $(seq 5); do
		sleep 0.1
		qdisc "$RTR" rtr1 del && qdisc "$RTR" rtr1 add "${QDISC[@]}" || return
	done
	! rmmod "$MODULE" 2>/dev/null && ! rmmod tcp_feedback 2>/dev/null &&
		! rmmod sch_tcpcc 2>/dev/null && busywait shows "$RTR" rtr1 "$OURS" 1000 || return
	end_long
	qdisc "$RTR" rtr1 del
}
