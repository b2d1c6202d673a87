# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Common functions of the selftests for distributions' kernels, which source this file.
# A router between sender and receiver, and iperf3:
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

# requires MODULE: skips all tests if this module, or a program that the tests need, is missing
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
	# metrics of one flow must not be used by the next flow
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

# address NAMESPACE DEVICE NETWORK HOST: sets the addresses of a device
address()
{
	ip -n "$1" addr add "10.77.$3.$4/24" dev "$2"
	ip -n "$1" addr add "fd77:$3::$4/64" dev "$2" nodad
	ip -n "$1" link set "$2" up
}

# Two cards of this driver, which has TSO also in QEMU, are assumed to be connected to each other
DRIVER=e1000

# Gives one card ($CARD) to the sender and one ($PEER) to the receiver, in network 3; both are
# empty if there are not two cards
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

# routes [OPTION...]: sets the sender's routes, with these attributes
routes()
{
	ip -n "$SND" route replace default via 10.77.1.2 "$@" &&
		ip -n "$SND" -6 route replace default via fd77:1::2 "$@"
}

# loaded MODULE: whether it is loaded
loaded()
{
	[ -d "/sys/module/$1" ]
}

# module_of CC: prints the name of its module
module_of()
{
	modprobe -R "tcp_$1"
}

# set_sysctl CC: sets the sender's default congestion control
set_sysctl()
{
	snd sysctl -qw net.ipv4.tcp_congestion_control="$1"
}

NETWORK=2		# number of the receiver's network
destination()
{
	case $1 in
	4) echo 10.77.$NETWORK.2 ;;
	6) echo fd77:$NETWORK::2 ;;
	esac
}

# start_flow IP SECONDS [IPERF3 OPTION...]: starts a flow in the background; its process is $CLIENT
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

# uses CC: whether a socket that carries data uses CC.  iperf3's control connection has the same
# destination, and the same congestion control unless it was set for the socket.
uses()
{
	snd ss -Htin 'dport = :5201' | grep -qw "$1"
}

# Prints the received payload, kb/s, from iperf3's report
goodput_kbps()
{
	awk -F'[:,]' '/"sum_received"/ { found = 1 }
		found && /"bits_per_second"/ { printf "%d\n", $2 / 1000; exit }' report
}

# link_percent MBIT PAYLOAD: prints the goodput in percent of the largest one for frames with this
# payload
link_percent()
{
	local kbps

	kbps=$(goodput_kbps)
	echo $((${kbps:-0} * 100 / ($1 * 1000 * $2 / 1514)))
}

# reports_cc CC: whether iperf3 reports that it used CC
reports_cc()
{
	grep -q "\"sender_tcp_congestion\":[[:space:]]*\"$1\"" report && return
	diag "iperf3 reports $(grep sender_tcp_congestion report)"
	return 1
}

# hosts.py ------------------------------------------------------------------------------

# Starts hosts.py between sender and receiver; its process is $HOSTS_PID
start_hosts()
{
	coproc HOSTS { exec "$DIR/hosts.py" "$SND" "$RCV" 10.77.2.2; }
}

# tell COMMAND...: starts a command of hosts.py, and does not wait for its answer
tell()
{
	echo "$*" >&"${HOSTS[1]}"
}

# Waits for the answer to the command, and sets $ANSWER
answer()
{
	local word

	read -r -t 3600 word ANSWER <&"${HOSTS[0]}" && [ "$word" = ok ] && return
	diag "hosts.py: ${word-} ${ANSWER-}"
	return 1
}

# ask COMMAND...: runs a command of hosts.py, and sets $ANSWER
ask()
{
	tell "$@" && answer
}

# Over a FIFO --------------------------------------------------------------------------
#
# A script sets $RATE_MBIT, the rate of the link, $RTT_MS, its rtt, and $SECONDS_EACH, the length
# of a flow.  It has law_shows(), which checks the output of "ss -tin" in ss.txt, from the last two
# seconds of a flow, whether the law of this congestion control is in effect.

# setup_narrow [BYTES]: a router that shapes data, with a queue of BYTES, or of two bandwidth-delay
# products
setup_narrow()
{
	local queue=${1-$((RATE_MBIT * RTT_MS * 1000 / 4))}

	setup_router &&
		tc -n "$RTR" qdisc add dev rtr0 root netem delay "${RTT_MS}ms" limit 10000 || return
	# A burst of one frame: with two frames, packet pairs would pass without a gap.
	tc -n "$RTR" qdisc add dev rtr1 root handle 1: tbf rate "${RATE_MBIT}mbit" \
		burst 1600 limit 100mb || return
	tc -n "$RTR" qdisc add dev rtr1 parent 1: bfifo limit "$queue"
}

# carries IP CC [IPERF3 OPTION...]: whether a flow of CC carries data, and its law is in effect.  In
# an emulated guest on a busy host a late timer may send two segments at once, and their pair shows
# a faster link for a second.  So if only law_shows() fails, a second flow decides.
carries()
{
	local status=0

	carry "$@" || status=$?
	[ $status = 2 ] || return $status
	diag "once more"
	carry "$@"
}

# Return: 2 if only law_shows() fails
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

# look TIMES: writes the output of ss for iperf3's sockets to ss.txt, TIMES times, 0.3 s apart.  If
# all were within a few round trips, one state of the filters, or one late ACK, would be in all.
look()
{
	snd sh -c "ss -Htin 'dport = :5201'; echo
		for n in \$(seq 2 $1); do sleep 0.3; ss -Htin 'dport = :5201'; echo; done" >ss.txt
}

# ss_values NAME: prints the value at each look, of the socket that has sent most, which is never
# the control connection
ss_values()
{
	awk -v name="$1" 'NF { sent = 0; value = ""
		for (i = 1; i <= NF; i++) {
			if ($i ~ /^bytes_sent:/) sent = substr($i, 12) + 0
			if (index($i, name ":") == 1) value = substr($i, length(name) + 2) }
		if (sent > most) { most = sent; found = value } }
		!NF { if (found != "") print found; most = 0; found = "" }' ss.txt
}

# Prints the median of the numbers in its input, because a window varies within a round trip.
median()
{
	sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

# ss_field NAME: prints the median of the looks
ss_field()
{
	ss_values "$1" | median
}

# Prints the capacity that is shown in BBR's format, kb/s
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
# A script sets $CC and $MODULE, the name and module of its congestion control, $QDISC, the kind
# of its qdisc with options, $RATE_MBIT, its rate, $FLOWS, the number of simultaneous flows, and two
# counters of the qdisc: $OURS, for packets of its protocol, and $OTHERS.

# Removes what would disturb the next test
clear_router()
{
	end_long
	qdisc "$RTR" rtr1 del 2>/dev/null
}

# qdisc NAMESPACE DEVICE COMMAND...: runs a command for the root qdisc
qdisc()
{
	tc -n "$1" qdisc "$3" dev "$2" root "${@:4}"
}

# field NAME: prints a number from the saved statistics of a qdisc
field()
{
	sed -n "s/.*\b$1 \([0-9.]*\).*/\1/p" qdisc.txt
}

# within LEAST VALUE MOST: whether VALUE is in this range
within()
{
	awk -v a="$1" -v x="${2:-none}" -v b="$3" 'BEGIN { exit !(x ~ /^[0-9.]+$/ && a <= x && x <= b) }'
}

# shows NAMESPACE DEVICE FIELD LEAST: saves the statistics; whether FIELD is at least LEAST
shows()
{
	tc -n "$1" -s qdisc show dev "$2" >qdisc.txt
	[ "$(field "$3")" -ge "$4" ]
}

# shows_options "KIND OPTION...", PATTERN...: changes the qdisc to these options; tc's output must
# match all patterns
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

# Each module is loaded by the name of what it registers.  Unprivileged processes may not choose a
# sender with feedback, so only the first namespace can have it as its default.
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
	# The socket of a closed flow may exist for a moment longer.
	wait_for 30 rmmod "$MODULE" && rmmod tcp_feedback && rmmod sch_tcpcc
}

# fills_link PAYLOAD: whether flows fill the link, with this payload in frames of 1514 bytes
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

# A flow without the protocol passes the qdisc
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

# Flows continue while the qdisc below them is changed, and modules in use cannot be unloaded.
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
