#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ACP and ESTCP if the sender's packets arrive at the router in a tunnel: tests what works
# there, and that nothing fails if the law cannot work.  With iperf3, on a distribution's
# kernel.
#
#   +----------+                 +------------------+                 +----------+
#   |   $SND   +-----------------+       $RTR       +-----------------+   $RCV   |
#   |          |                 |   acp or estcp   |                 |          |
#   |   tun0 ============= ESP, IPIP, GRE or WireGuard ============ tun0    |
#   +----------+                 +------------------+                 +----------+
#    10.77.4.1                                                          10.77.4.2
#
# The law works if a router finds what it changes, in the TCP header (acp) or in the IP header
# (estcp), and if the change leaves the tunnel at the other end.  Both conditions are met
# without a tunnel, and if the qdisc is on the tunnel's own device.  For packets in a tunnel,
# acp sees no TCP.  estcp sees its class only in ESP in transport mode, which keeps the IP
# header of the segment.  In all other cases the senders are Reno: they fill the link and the
# queue.
#
# Run by scripts/stock run, as root.  Exit status: 0 all passed, 1 not, 4 skipped.

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/stock_lib.sh
. "$DIR/stock_lib.sh"

RATE_MBIT=6
RTT_MS=60
FLOWS=2
SECONDS_EACH=5

# The size of the queue: one bandwidth-delay product, packets, which Reno needs.  The packets
# that are queued when a flow ends, and are counted as received in time, are 1 % of all
BDP=$((RATE_MBIT * RTT_MS / 12))

# The mode of a sender whose law is in effect, and the options of its router
declare -A MODE=([acp]=feedback [estcp]=marks)
declare -A QDISC_OF=([acp]="acp bandwidth ${RATE_MBIT}mbit limit $BDP"
	[estcp]="estcp bandwidth ${RATE_MBIT}mbit limit $BDP target 1s")

# The counter of packets for the router, or of those that it has changed
declare -A OURS_OF=([acp]=headers [estcp]=marked)

# Loads ESP's algorithms before the tests: the kernel waits only a minute for an algorithm, and the
# clock jumps while the guest reads files of the host.  look_at runs once here, so that later calls
# are fast, too.
setup()
{
	modprobe -q ghash-generic # part of the crypto library in 7.2, not a module
	modprobe -a esp4 gcm seqiv wireguard tcp_acp_host tcp_estcp tcpcc_view &&
		setup_router && look_at acp "$RTR" rtr1 && tc -n "$RTR" qdisc add dev rtr0 root netem delay ${RTT_MS}ms limit 10000
}

after_failure()
{
	clear_router
	close_tunnel
}

# Tunnels -------------------------------------------------------------------------------

# device KIND [OPTION...]: sets up tun0 at both ends
device()
{
	local ns host peer kind=$1

	shift
	for ns in "$SND" "$RCV"; do
		host=1 peer=2
		[ "$ns" = "$SND" ] || host=2 peer=1
		ip -n "$ns" link add tun0 type "$kind" local 10.77.$host.$host \
			remote 10.77.$peer.$peer ttl 64 "$@" &&
			ip -n "$ns" addr add 10.77.4.$host/24 dev tun0 &&
			ip -n "$ns" link set tun0 up || return
	done
	NETWORK=4
}

# wireguard MTU: sets up tun0 at both ends
wireguard()
{
	local ns host peer other

	for ns in "$SND" "$RCV"; do
		(umask 077 && wg genkey >"key-$ns") && ip -n "$ns" link add tun0 mtu "$1" type wireguard || return
	done
	for ns in "$SND" "$RCV"; do
		host=1 peer=2 other=$RCV
		[ "$ns" = "$SND" ] || host=2 peer=1 other=$SND
		ip netns exec "$ns" wg set tun0 listen-port 51820 private-key "key-$ns" \
			peer "$(wg pubkey <"key-$other")" endpoint 10.77.$peer.$peer:51820 \
			allowed-ips 10.77.4.0/24 &&
			ip -n "$ns" addr add 10.77.4.$host/24 dev tun0 &&
			ip -n "$ns" link set tun0 up || return
	done
	NETWORK=4
}

# esp MODE: encrypts all traffic between the two hosts
esp()
{
	local ns way from to spi direction

	for ns in "$SND" "$RCV"; do
		for way in "10.77.1.1 10.77.2.2 1" "10.77.2.2 10.77.1.1 2"; do
			read -r from to spi <<<"$way"
			direction=out
			[ "$ns$spi" = "${SND}1" ] || [ "$ns$spi" = "${RCV}2" ] || direction=in
			ip -n "$ns" xfrm state add src "$from" dst "$to" proto esp spi "$spi" \
				reqid "$spi" mode "$1" \
				aead "rfc4106(gcm(aes))" 0x0123456789abcdef0123456789abcdef01234567 128 &&
				ip -n "$ns" xfrm policy add src "$from" dst "$to" dir $direction \
					tmpl src "$from" dst "$to" proto esp reqid "$spi" mode "$1" || return
		done
	done
}

close_tunnel()
{
	local ns

	for ns in "$SND" "$RCV"; do
		ip -n "$ns" link del tun0 2>/dev/null
		ip -n "$ns" xfrm policy flush
		ip -n "$ns" xfrm state flush
	done
	NETWORK=2
}

# Prints the number of packets that the ends of tunnels have refused, for ECN bits or other reasons
refused()
{
	local ns

	for ns in "$SND" "$RCV"; do
		ip netns exec "$ns" sh -c 'cat /sys/class/net/tun0/statistics/rx_errors \
			/sys/class/net/tun0/statistics/rx_dropped 2>/dev/null
			sed "s/.*[[:space:]]//" /proc/net/xfrm_stat'
	done | awk '{ sum += $1 } END { print sum + 0 }'
}

# Flows ---------------------------------------------------------------------------------

# In the last seconds of a flow: records how many senders have their law in effect, and the queue
look_at()
{
	local cc=$1

	: >modes
	: >queues
	for _ in 1 2 3; do
		sleep 0.5
		snd grep "cc=$cc " /proc/net/tcpcc | grep -c "mode=${MODE[$cc]} " >>modes
		tc -n "$2" -s qdisc show dev "$3" | sed -n 's/.* backlog [^ ]* \([0-9]*\)p .*/\1/p' >>queues
	done
}

# flows CC NAMESPACE DEVICE: runs flows through the qdisc there
flows()
{
	local before echoes

	read -ra QDISC <<<"${QDISC_OF[$1]}"
	CC=$1
	before=$(refused)
	echoes=$(count snd InEchoes)
	qdisc "$2" "$3" add "${QDISC[@]}" && start_flow 4 $SECONDS_EACH -P $FLOWS -C "$1" &&
		sleep $((SECONDS_EACH - 3)) && look_at "$@" && end_flow || return
	tc -n "$2" -s qdisc show dev "$3" >qdisc.txt
	qdisc "$2" "$3" del
	echoes=$(($(count snd InEchoes) - echoes))
	diag "$1: senders $(xargs <modes), queues $(xargs <queues) packets, $echoes echoes, ${OURS_OF[$1]} $(field "${OURS_OF[$1]}"), $(grep -o 'dropped [0-9]*' qdisc.txt)"
	if [ "$(refused)" != "$before" ]; then
		diag "tunnel ends refused $(($(refused) - before)) packets"
		return 1
	fi
}

# senders N: whether N senders have their law in effect
senders()
{
	[ "$(sort -u modes)" = "$1" ]
}

# works CC PAYLOAD [NAMESPACE DEVICE]: whether the law works, with this payload in frames of 1514
# bytes
works()
{
	flows "$1" "${3-$RTR}" "${4-rtr1}" && senders $FLOWS && fills_link "$2" &&
		[ "$(field "${OURS_OF[$1]}")" -gt 500 ] || return
	# with estcp the queue is full once in each phase
	[ "$1" = estcp ] || [ "$(median <queues)" -le $((BDP / 10)) ]
}

# is_reno CC PAYLOAD: whether the router finds no packet of its protocol, and the senders are Reno
is_reno()
{
	flows "$1" "$RTR" rtr1 && senders 0 && fills_link "$2" &&
		[ "$(field "${OURS_OF[$1]}")" = 0 ]
}

# hears_nothing CC PAYLOAD: whether the router changes packets, but the end of the tunnel drops this
hears_nothing()
{
	flows "$1" "$RTR" rtr1 && senders 0 && fills_link "$2" &&
		[ "$(field "${OURS_OF[$1]}")" -gt 500 ]
}

# inside CMD...: runs CMD with the tunnel $TUNNEL
inside()
{
	local status

	"${TUNNEL[@]}" || return
	"$@"
	status=$?
	close_tunnel
	return $status
}

requires sch_tcpcc
requires tcp_acp_host
command -v wg >/dev/null || skip_all "needs wg"
own_log stock_tunnels
ksft_begin 24
diag "kernel $(uname -r)"

# ACP's segments reserve 16 bytes more than ESTCP's
ksft_test "acp without a tunnel works" works acp 1432
ksft_test "estcp without a tunnel works" works estcp 1448

TUNNEL=(esp transport)
ksft_test "acp in ESP, transport mode, is Reno" inside is_reno acp 1398
ksft_test "estcp in ESP, transport mode, works" inside works estcp 1414
TUNNEL=(esp tunnel)
ksft_test "acp in ESP, tunnel mode, is Reno" inside is_reno acp 1378
ksft_test "estcp in ESP, tunnel mode, is Reno" inside hears_nothing estcp 1394
for way in gre:1424 ipip:1428; do
	kind=${way%:*} payload=${way#*:}
	for tos in "" "tos inherit"; do
		read -ra TUNNEL <<<"device $kind $tos"
		name=$kind${tos:+ with $tos}
		ksft_test "acp in $name is Reno" inside is_reno acp $((payload - 16))
		ksft_test "estcp in $name is Reno" inside is_reno estcp "$payload"
	done
	# at this device a packet is only the segment with an IP header: 1480 or 1476 bytes
	TUNNEL=(device "$kind")
	ksft_test "acp at the device of $kind works" inside works acp 1444 "$SND" tun0
	ksft_test "estcp at the device of $kind works" inside works estcp 1460 "$SND" tun0
done
# with this MTU packets have 1440 bytes at the device, and frames outside have 1514 bytes
TUNNEL=(wireguard 1440)
ksft_test "acp in WireGuard is Reno" inside is_reno acp 1372
ksft_test "estcp in WireGuard is Reno" inside is_reno estcp 1388
ksft_test "acp at the device of WireGuard works" inside works acp 1442 "$SND" tun0
ksft_test "estcp at the device of WireGuard works" inside works estcp 1459 "$SND" tun0
ksft_test "no wrong checksum" checksums_are_right
ksft_test "kernel log without warnings" kernel_is_quiet
ksft_end
