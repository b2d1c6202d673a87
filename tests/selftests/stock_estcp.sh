#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ESTCP on a distribution's kernel: loading its modules by their aliases, the router's
# qdisc with tc, and hosts that it synchronizes, with iperf3 traffic.
#
# The router's qdisc limits the rate to $RATE_MBIT Mb/s, in phases of $TARGET_MS ms.  ACKs
# are delayed by $RTT_MS ms.
#
# Run by scripts/stock run, as root.  Exit status: 0 all passed, 1 not, 4 skipped.

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/stock_lib.sh
. "$DIR/stock_lib.sh"

RATE_MBIT=30
RTT_MS=20
FLOWS=4
TARGET_MS=500
CC=estcp
MODULE=tcp_estcp
QDISC=(estcp bandwidth "${RATE_MBIT}mbit" limit 50 target "${TARGET_MS}ms")
OURS=marked
OTHERS=other

setup()
{
	setup_router && tc -n "$RTR" qdisc add dev rtr0 root netem delay ${RTT_MS}ms limit 10000
}

after_failure()
{
	clear_router
}

options_are_shown()
{
	shows_options "estcp kappa 0.25 dscp 0x2e" "phase 0 " \
		"^qdisc estcp .* bandwidth ${RATE_MBIT}Mbit limit 50p target ${TARGET_MS}ms gamma 0 kappa 0.25 .* dscp 46"
}

# Prints the length of the last phase, in seconds
last_phase_s()
{
	sed -n 's/.*\blast_phase \([0-9.]*\)\([mu]\{0,1\}\)s.*/\1 \2/p' qdisc.txt |
		awk '{ print $1 / ($2 == "u" ? 1000000 : $2 == "m" ? 1000 : 1) }'
}

# flows IP: runs flows; the statistics are saved after ten phases
flows()
{
	rm -f qdisc.txt
	qdisc "$RTR" rtr1 add "${QDISC[@]}" && start_flow "$1" 8 -P $FLOWS -C estcp || return
	sleep 4.5	# polling would take more time than this wait
	busywait shows "$RTR" rtr1 phase 10
	: >phases
	for _ in 1 2 3; do
		sleep 0.4
		busywait shows "$RTR" rtr1 phase $(($(field phase) + 1))
		last_phase_s >>phases
	done
	end_flow
	qdisc "$RTR" rtr1 del
	diag "$(grep -w g qdisc.txt) phases of $(tr '\n' ' ' <phases)s"
}

# The length of phases is correct to two fifths, also with an emulated clock
keeps_phases()
{
	local length

	[ "$(wc -l <phases)" = 3 ] || return
	while read -r length; do
		within 0.3 "$length" 0.7 || return
	done <phases
}

# All packets of flows in the class are marked, with both codepoints of a pair
marks()
{
	[ "$(field marked)" -gt 5000 ] && [ "$(field unmarked)" -gt 1000 ] &&
		[ "$(field unwritable)" = 0 ] && [ "$(count snd InEchoes)" -gt 1000 ]
}

requires sch_tcpcc
requires tcp_estcp
own_log stock_estcp
ksft_begin 14
diag "kernel $(uname -r)"

ksft_test "names load the modules" aliases_load
ksft_test "tc sets options and shows them" options_are_shown
for ip in 4 6; do
	flows $ip
	# an IPv6 header has 20 bytes more
	ksft_test "estcp fills the link, IPv$ip" fills_link $((1488 - 10 * ip))
	ksft_test "its phases last as long as they should, IPv$ip" keeps_phases
	ksft_test "its flows share equally, IPv$ip" shares_equally
	ksft_test "its packets are marked, IPv$ip" marks
done
ksft_test "CUBIC through estcp" carries_cubic
ksft_test "estcp is replaced and deleted under traffic" survives_changes
ksft_test "no wrong checksum" checksums_are_right
ksft_test "kernel log without warnings" kernel_is_quiet
ksft_end
