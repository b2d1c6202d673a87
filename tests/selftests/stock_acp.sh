#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ACP on a distribution's kernel: loading its modules by their aliases, the router's
# qdisc with tc, and hosts that use it, with iperf3 traffic; then the same on a network
# card with segmentation offload:
#
#   +------------+ 10.77.3.1   10.77.3.2 +------------+
#   |    $SND    +-----------------------+    $RCV    |
#   +------------+ fd77:3::1   fd77:3::2 +------------+
#
# A qdisc at the router, or at the sender, limits the rate to $RATE_MBIT Mb/s.  ACKs are
# delayed by $RTT_MS ms.
#
# Run by scripts/stock run --nics, as root.  Exit status: 0 all passed, 1 not, 4 skipped.

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/stock_lib.sh
. "$DIR/stock_lib.sh"

RATE_MBIT=80
RTT_MS=20
FLOWS=4
CC=acp
MODULE=tcp_acp_host
QDISC=(acp bandwidth "${RATE_MBIT}mbit" limit 300)
OURS=headers
OTHERS=no_header

setup()
{
	setup_router && setup_cards &&
		tc -n "$RTR" qdisc add dev rtr0 root netem delay ${RTT_MS}ms limit 10000
}

# The receiving kernel must see each segment, and check its checksum in software.
setup_cards()
{
	take_cards || return
	[ -n "$CARD" ] || return 0
	rcv ethtool -K "$PEER" rx off gro off
	tc -n "$RCV" qdisc add dev "$PEER" root netem delay ${RTT_MS}ms limit 10000
}

after_failure()
{
	clear_router
	[ -z "${CARD-}" ] || qdisc "$SND" "$CARD" del 2>/dev/null
}

options_are_shown()
{
	shows_options "acp ki 0.2 interval 20ms" "estimated_flows .* state waiting" \
		"^qdisc acp .* bandwidth ${RATE_MBIT}Mbit limit 300p ki 0.2 .* interval 20ms"
}

# acp_flows IP SECONDS NAMESPACE DEVICE: runs flows through the qdisc there.  Its statistics, and
# the number of segments sent (SENT), are saved after two thirds of the packets, which are counted,
# because an emulated clock is not reliable.
acp_flows()
{
	rm -f qdisc.txt
	qdisc "$3" "$4" add "${QDISC[@]}" && start_flow "$1" "$2" -P $FLOWS -C acp || return
	busywait shows "$3" "$4" headers $((RATE_MBIT * 55 * ($2 + 1)))
	SENT=$(count snd OutData)
	end_flow
	qdisc "$3" "$4" del
	diag "$(grep estimated_flows qdisc.txt)"
}

# fills IP: a frame has 14 + 20 or 40 + 32 bytes of headers, and ACP reserves 16 bytes
fills()
{
	local payload=1432

	[ "$1" = 4 ] || payload=1412
	fills_link $payload
}

drops_nothing()
{
	[ "$(field dropped)" = 0 ]
}

estimates_flows()
{
	within $((FLOWS - 1)).5 "$(field estimated_flows)" $FLOWS.5
}

# All packets but the first ones of a connection have a header, and most rates are lowered.
has_headers()
{
	diag "$(grep malformed qdisc.txt)"
	[ "$(field headers)" -gt 5000 ] && [ "$(field no_header)" -lt 200 ] &&
		[ "$(field lowered)" -gt 5000 ] &&
		[ "$(field malformed)" = 0 ] && [ "$(field unwritable)" = 0 ]
}

# Prints the number of packets that the card has segmented
card_segmented()
{
	snd ethtool -S "$CARD" | sed -n 's/.*tx_tcp_seg_good: //p'
}

# on_card CMD...: runs CMD if there is a card, otherwise skips the test
on_card()
{
	local NETWORK=3

	if [ -z "${CARD-}" ]; then
		skip "needs two cards of $DRIVER that are connected"
		return
	fi
	"$@"
}

# TSO packets of TCP arrive at the qdisc, which splits them into segments with a header each, so
# that the card has nothing to segment.
segments_before_card()
{
	local before whole sent pacing=/sys/module/tcp_acp_host/parameters/acp_pacing

	before=$(count snd OutData) whole=$(card_segmented)
	# with pacing at these rates TCP would send no packets of several segments
	echo 0 > $pacing
	acp_flows "$1" 1 "$SND" "$CARD" || return
	echo 1 > $pacing
	sent=$((SENT - before))
	diag "$sent from TCP, $(field headers) from the qdisc"
	fills "$1" && drops_nothing && has_headers &&
		[ $((sent * 3)) -lt $(($(field headers) * 2)) ] && [ "$(card_segmented)" = "$whole" ]
}

# Without the qdisc the card segments TSO packets, and each segment has the header.  This card
# supports only IPv4.
segments_on_card()
{
	local sent received echoes whole

	sent=$(count snd OutData) received=$(count rcv InData) echoes=$(count snd InEchoes)
	whole=$(card_segmented)
	qdisc "$SND" "$CARD" add pfifo && start_flow 4 1 -C acp -b ${RATE_MBIT}M && end_flow || return
	qdisc "$SND" "$CARD" del
	sent=$(($(count snd OutData) - sent))
	received=$(($(count rcv InData) - received))
	whole=$(($(card_segmented) - whole))
	diag "$sent from TCP, $whole of them cut by the card, $received at the receiver"
	reports_cc acp && [ $whole -gt 100 ] && [ $received -gt 5000 ] &&
		[ $((sent * 3)) -lt $((received * 2)) ] && grows snd InEchoes $((echoes + 1000))
}

requires sch_tcpcc
requires tcp_acp_host
own_log stock_acp
ksft_begin 20
diag "kernel $(uname -r)"

ksft_test "names load the modules" aliases_load
ksft_test "tc sets options and shows them" options_are_shown
for ip in 4 6; do
	acp_flows $ip 2 "$RTR" rtr1
	ksft_test "acp fills the link, IPv$ip" fills $ip
	ksft_test "acp drops nothing, IPv$ip" drops_nothing
	ksft_test "acp estimates the flows, IPv$ip" estimates_flows
	ksft_test "acp's flows share equally, IPv$ip" shares_equally
	ksft_test "acp's headers are there, IPv$ip" has_headers
done
ksft_test "CUBIC through acp" carries_cubic
ksft_test "acp is replaced and deleted under traffic" survives_changes
for ip in 4 6; do
	ksft_test "acp before a card with TSO, IPv$ip" on_card segments_before_card $ip
done
ksft_test "headers on a card with TSO" on_card segments_on_card
ksft_test "no wrong checksum" checksums_are_right
ksft_test "unloading" unload
ksft_test "kernel log without warnings" kernel_is_quiet
ksft_end
