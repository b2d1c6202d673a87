#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A sender that is short of processor time, on a distribution's kernel: its processor is taken away
# for 1 to 20 ms at a time, while the path and the receiver go on.
#
#	stock_stolen.sh STOLEN.KO
#
# The sender has processor 0 and one card; path and receiver have processor 1 and the other card.
# Behind that card are $RATE_MBIT Mb/s, $RTT_MS ms, and a buffer of two bandwidth-delay products.
# ccpd_path should have the throughput of CUBIC, in the mean of $RUNS transfers each.  CUBIC keeps
# the buffer so full that no absence empties it.  It is known that ccpd_path has less.
#
# Run by scripts/stock run --nics, as root.  Exit status: 0 all passed, 1 not, 4 skipped.

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/stock_lib.sh
. "$DIR/stock_lib.sh"

STOLEN=$1
shift
RATE_MBIT=20
RTT_MS=40
RUNS=3
SECONDS_EACH=10
NETWORK=3
TESTS="kept_away as_much_as_cubic"

setup()
{
	modprobe -a tcp_ccpd_path tcp_bbr ifb sch_fq && own_log stock_stolen &&
		ip netns add "$SND" && ip netns add "$RCV" && take_cards && [ -n "$CARD" ] || return
	# metrics of one flow must not be used by the next flow
	snd sysctl -qw net.ipv4.tcp_no_metrics_save=1
	snd ethtool -K "$CARD" tso off gso off >/dev/null
	rcv ethtool -K "$PEER" gro off >/dev/null
	qdisc "$SND" "$CARD" replace fq
	irq_on "$CARD" 0 && irq_on "$PEER" 1 || return
	# The path is behind the receiver's card, so that it does not need the sender's processor.
	ip -n "$RCV" link add ifb1 type ifb && ip -n "$RCV" link set ifb1 up &&
		tc -n "$RCV" qdisc add dev "$PEER" clsact &&
		tc -n "$RCV" filter add dev "$PEER" ingress matchall action mirred egress redirect \
			dev ifb1 &&
		tc -n "$RCV" qdisc add dev "$PEER" root netem delay "${RTT_MS}ms" limit 10000 &&
		tc -n "$RCV" qdisc add dev ifb1 root handle 1: tbf rate "${RATE_MBIT}mbit" burst 1600 \
			limit 100mb &&
		tc -n "$RCV" qdisc add dev ifb1 parent 1: bfifo limit $((RATE_MBIT * RTT_MS * 1000 / 4)) &&
		insmod "$STOLEN" cpu=0 least_us=1000 most_us=20000 works_us=40000
}

cleanup()
{
	rmmod stolen 2>/dev/null
	ip netns del "$SND" 2>/dev/null
	ip netns del "$RCV" 2>/dev/null
}

# irq_on DEVICE CPU: this processor handles the interrupts of the device
irq_on()
{
	local irq

	irq=$(awk -F: -v name="$1" '$0 ~ "[ ,]" name "(,|$)" { print $1 + 0; exit }' /proc/interrupts)
	[ -n "$irq" ] || {
		diag "no interrupt of $1"
		return 1
	}
	echo "$2" >"/proc/irq/$irq/smp_affinity_list"
}

# transfer CC: measures the goodput, kb/s
transfer()
{
	rcv taskset -c 1 iperf3 -s -1 >server 2>&1 &
	SERVER=$!
	busywait listening 5201 &&
		snd taskset -c 0 iperf3 -J -c "$(destination 4)" -t $SECONDS_EACH -C "$1" >report 2>error
	wait "$SERVER"
	reports_cc "$1" && KBPS=$(goodput_kbps)
}

counted()
{
	cat "/sys/module/stolen/parameters/$1"
}

# On average 10.5 ms of absence follow 20.5 ms of work: in 3 s 97 times, 1.02 s in sum
kept_away()
{
	local times taken_us

	times=$(counted times) taken_us=$(counted taken_us)
	sleep 3
	times=$(($(counted times) - times)) taken_us=$(($(counted taken_us) - taken_us))
	diag "in 3 s $times times, $taken_us us"
	within 60 "$times" 120 && within 700000 "$taken_us" 1300000
}

as_much_as_cubic()
{
	local cc
	local -A sum=()

	for _ in $(seq $RUNS); do
		for cc in cubic ccpd_path bbr; do
			transfer $cc || return
			diag "$cc: $KBPS kb/s"
			sum[$cc]=$((${sum[$cc]-0} + KBPS))
		done
	done
	kernel_is_quiet || return
	[ "${sum[ccpd_path]}" -ge "${sum[cubic]}" ] ||
		xfail "$((1000 * sum[ccpd_path] / sum[cubic])) thousandths of what CUBIC has," \
			"BBR $((1000 * sum[bbr] / sum[cubic]))"
}

requires tcp_ccpd_path
ksft_main "$@"
