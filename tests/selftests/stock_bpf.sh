#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The senders as BPF on a distribution's kernel: the verifier accepts them, each does the same as
# its module at each ACK, and tcpcc loads, sets, replaces and unloads them.
#
#	stock_bpf.sh TCP_TWIN.KO [TEST...]
#
# tcp_twin (tests/bpf) calls a module and its BPF program for each ACK of one flow.  The flows have
# losses, marks, reordering, timeouts and idle times.
#
# Run by scripts/stock run, as root.  Exit status: 0 all passed, 1 not, 4 skipped.

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/lib.sh
. "$DIR/lib.sh"

TWIN=$1
shift
TCPCC=$(readlink -f "$DIR/../../scripts/tcpcc")

SENDERS="ccpd ccp ccpd_path mccp mccp_path nist_reno nist_bic nist_ctcp nist_fast nist_hstcp
	nist_htcp nist_scalable"
TESTS="verifier $SENDERS another_parameter parameters watched replaced unloaded locked_down"

setup()
{
	grep -q ' /sys/fs/bpf ' /proc/mounts || mount -t bpf bpf /sys/fs/bpf
	own_log stock_bpf
	setup_pair || return
	for end in "$SND" "$RCV"; do
		ip netns exec "$end" sysctl -qw net.ipv4.tcp_ecn=1
		ip netns exec "$end" ethtool -K veth0 tso off gso off gro off >/dev/null
	done
}

cleanup()
{
	local pid

	for pid in $(ip netns pids "$RCV" 2>/dev/null); do
		kill "$pid"
	done
	ip netns del "$SND" 2>/dev/null
	ip netns del "$RCV" 2>/dev/null
}

tcpcc()
{
	"$TCPCC" "$@"
}

# object_of SENDER, cc_of SENDER: print its object file, and its name as BPF
object_of()
{
	case $1 in
	ccp) echo ccpd ;;
	*) echo "$1" ;;
	esac
}

cc_of()
{
	case $1 in
	nist_scalable) echo bpf_nist_stcp ;;
	*) echo "bpf_$1" ;;
	esac
}

# flow CC [IPERF3 OPTION...]: each flow has its own server, and waits for the server's end, because
# a server that has lost the client's last segment is busy until it is retransmitted.
flow()
{
	local cc=$1 server status=0

	shift
	ip netns exec "$RCV" iperf3 -s -1 >/dev/null 2>&1 &
	server=$!
	if ! busywait listening 5201 || ! timeout 200 ip netns exec "$SND" \
			iperf3 -c 192.0.2.2 -C "$cc" "$@" >iperf 2>&1 </dev/null; then
		status=1
		diag "iperf3: $(tail -n 1 iperf)"
		kill $server
	fi
	wait $server
	return $status
}

path()
{
	tc -n "$SND" qdisc replace dev veth0 root netem "$@"
}

# twin_begin SENDER
twin_begin()
{
	modprobe "tcp_$1" && tcpcc load "$(object_of "$1")" >/dev/null &&
		insmod "$TWIN" first="$1" second="$(cc_of "$1")" \
			pointer="$(case $1 in mccp*) echo 1 ;; *) echo 0 ;; esac)"
}

twin_end()
{
	busywait rmmod tcp_twin
}

counted()
{
	cat "/sys/module/tcp_twin/parameters/$1"
}

# Flows on several paths: full speed over a small queue, losses, marks, reordering, timeouts, and
# an application that often has nothing to send
flows()
{
	path rate 20mbit delay 10ms limit 60 && flow twin -t 3 &&
		path rate 20mbit delay 10ms loss 2% limit 60 && flow twin -t 3 &&
		path rate 20mbit delay 10ms loss 1% ecn limit 60 && flow twin -t 3 &&
		path delay 10ms 5ms reorder 25% 50% limit 1000 && flow twin -t 2 -b 30M &&
		path rate 5mbit delay 20ms loss 15% limit 30 && flow twin -t 6 &&
		path rate 20mbit delay 10ms limit 100 && flow twin -t 3 -b 3M -l 60k
}

# same SENDER: whether module and BPF do the same
same()
{
	local acks differences status=0

	twin_begin "$1" || return
	flows || status=1
	acks=$(counted acks) differences=$(counted differences)
	diag "twin $1: $(counted calls) calls, $acks ACKs, $differences differ," \
		"$(counted first_ns) ns and $(counted second_ns) ns"
	twin_end || return
	[ $status = 0 ] && [ "$acks" -gt 2000 ] && [ "$differences" = 0 ]
}

for sender in $SENDERS; do
	eval "$sender() { same $sender; }"
done

# With a different parameter the results differ, and the comparison must detect that.
another_parameter()
{
	local differences

	twin_begin ccpd && tcpcc set ccpd kp=3 >/dev/null || return
	path rate 20mbit delay 10ms limit 60 && flow twin -t 4
	differences=$(counted differences)
	diag "$differences of $(counted calls) calls differ"
	tcpcc set ccpd kp=2 >/dev/null
	twin_end && [ "$differences" -gt 0 ]
}

# Prints the verifier's counts, for comparison
verifier()
{
	local sender status=0

	for sender in ccpd ccpd_path mccp mccp_path nist_reno nist_bic nist_ctcp nist_fast nist_hstcp \
			nist_htcp nist_scalable; do
		tcpcc load --verify $sender >counts || status=1
		sed "s/^/# verifier $sender /" counts
	done
	return $status
}

parameters()
{
	tcpcc load ccpd_path >/dev/null && tcpcc set ccpd_path kp=5 drain=20 >said &&
		grep -q "kp is 5" said && tcpcc status --json | grep -A4 '"ccpd_path"' | grep -q '"drain": 20' &&
		! tcpcc set ccpd_path kp=17 2>said &&
		grep -qx "tcpcc: kp: '17' is not a whole number from 1 to 16, staying at 5" said &&
		! tcpcc set ccpd_path nothing=1 2>said && grep -q "has no parameter nothing" said
}

# tcpcc watch shows values that ss cannot show
watched()
{
	path rate 20mbit delay 10ms limit 60
	flow bpf_ccpd_path -t 5 &
	sleep 2
	nsenter --net="/run/netns/$SND" "$TCPCC" watch --json --count 3 --interval 0.5s --port 5201 >said
	wait $!
	grep -q '"claim_bps": [1-9]' said || { sed 's/^/# /' said | cut -c 1-300; return 1; }
}

# A new version is loaded under running flows: these keep the old one, and new flows use the new one
replaced()
{
	local was now

	path rate 20mbit delay 10ms limit 60
	was=$(stat -c %i /sys/fs/bpf/tcpcc/ccpd_path/bpf_ccpd_path)
	flow bpf_ccpd_path -t 4 &
	sleep 1
	tcpcc load ccpd_path >/dev/null || return
	now=$(stat -c %i /sys/fs/bpf/tcpcc/ccpd_path/bpf_ccpd_path)
	wait $! || return
	case $(uname -r) in
	6.1.*) ;;	# no links: the program is removed and registered again
	*) [ "$was" = "$now" ] || { diag "the link is another one"; return 1; } ;;
	esac
	flow bpf_ccpd_path -t 2
}

unloaded()
{
	local sender

	for sender in /sys/fs/bpf/tcpcc/*; do
		tcpcc unload "$(basename "$sender")" || return
	done
	! grep -q bpf_ /proc/sys/net/ipv4/tcp_available_congestion_control &&
		! tcpcc unload ccpd 2>said && grep -q "not loaded as BPF" said
}

# With lockdown no unsigned module can be loaded, but a BPF sender can.  This is the last test,
# because lockdown cannot be undone.
locked_down()
{
	local level

	mount -t securityfs securityfs /sys/kernel/security 2>/dev/null
	path rate 20mbit delay 10ms limit 60
	for level in integrity confidentiality; do
		echo $level >/sys/kernel/security/lockdown || return
		! insmod "$TWIN" 2>/dev/null || return
		tcpcc load ccpd_path >/dev/null && flow bpf_ccpd_path -t 2 && tcpcc unload ccpd_path &&
			diag "$level: loaded, $(awk '/receiver/ { print $7, $8 }' iperf)" || return
	done
	kernel_is_quiet
}

ksft_main "$@"
