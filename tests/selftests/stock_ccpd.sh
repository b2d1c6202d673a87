#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ccpd, ccp and ccpd_path on a distribution's kernel: loading, choosing, using and unloading it,
# with real programs.
#
# The router's queue holds two bandwidth-delay products, 2 P, because ccpd fills a path only from
# 1.5 P on, by its own algebra.
#
# Run by scripts/stock run, as root.  Exit status: 0 all passed, 1 not, 4 skipped.

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/stock_lib.sh
. "$DIR/stock_lib.sh"

RATE_MBIT=20
RTT_MS=40
SECONDS_EACH=5
PIPE=$((RATE_MBIT * RTT_MS * 1000 / 8 / 1514))	# P, segments
TRUTH_KBPS=$((RATE_MBIT * 1000 * 1448 / 1514))

setup()
{
	setup_narrow
}

# The capacity is that of the link, which Reno and CUBIC do not show.  The window is the one of this
# law and of no other: Kp (B + P) / (1 + 2 Kp) = 1.2 P for Kp = 2 and B = 2 P.  Congestion controls
# that wait for a loss reach 3 P.  ccpd_path aims at a queue of P / 16 to P / 8.
law_shows()
{
	local least=108 most=132

	[ "$1" != ccpd_path ] || { least=95 && most=120; }
	diag "shows $(shown_kbps) kb/s of $TRUTH_KBPS, in flight $(ss_field unacked) of $PIPE"
	within $((TRUTH_KBPS * 9 / 10)) "$(shown_kbps)" $((TRUTH_KBPS * 11 / 10)) &&
		within $((PIPE * least / 100)) "$(ss_field unacked)" $((PIPE * most / 100))
}

CCS="ccpd ccp ccpd_path"

# The socket of a closed flow may exist for a moment longer, so unloading is tried repeatedly.
unload()
{
	local cc module

	for cc in $CCS; do
		module=$(module_of "$cc")
		! loaded "$module" || wait_for 30 rmmod "$module" || return
	done
}

# offers CC: whether CC is available
offers()
{
	grep -qw "$1" /proc/sys/net/ipv4/tcp_available_congestion_control
}

modprobe_loads()
{
	modprobe "tcp_$1" && offers "$1" && unload && ! offers "$1"
}

# autoload CC: setting it by name loads its module.  Only the first namespace may have ccpd and ccp
# as its default.
autoload()
{
	! loaded "$(module_of "$1")" && sysctl -qw "net.ipv4.tcp_congestion_control=$1" &&
		loaded "$(module_of "$1")" && sysctl -qw net.ipv4.tcp_congestion_control=reno &&
		unload
}

by_sysctl()
{
	set_sysctl "$2" && carries "$@"
	local status=$?

	set_sysctl reno
	return $status
}

by_route()
{
	routes congctl "$2" && carries "$@"
	local status=$?

	routes
	return $status
}

busy_module_stays()
{
	start_flow 4 3 -C ccpd && wait_for 3 uses ccpd || return
	if rmmod tcp_ccpd 2>rmmod.txt; then
		diag "rmmod took the module from under a flow"
		return 1
	fi
	diag "$(cat rmmod.txt)"
	loaded tcp_ccpd && end_flow
}

unchosen_module_goes()
{
	offers ccpd && offers ccpd_path && unload && ! offers ccpd && ! offers ccpd_path
}

requires tcp_ccpd
own_log stock_ccpd
ksft_begin 13
diag "kernel $(uname -r)"

ksft_test "modprobe loads it, rmmod unloads it" modprobe_loads ccpd
ksft_test "modprobe loads ccpd_path, rmmod unloads it" modprobe_loads ccpd_path
ksft_test "sysctl ccpd loads it" autoload ccpd
ksft_test "sysctl ccp loads it" autoload ccp
ksft_test "sysctl ccpd_path loads it" autoload ccpd_path
# The way to choose a sender does not depend on its packets.  So each sender, each way to choose it
# and each address family is tested, but not each combination.
ksft_test "ccpd_path by sysctl, IPv4" by_sysctl 4 ccpd_path
ksft_test "ccpd_path by socket, IPv6" by_socket 6 ccpd_path
ksft_test "ccpd by route, IPv4" by_route 4 ccpd
ksft_test "ccpd by socket, IPv6" by_socket 6 ccpd
ksft_test "ccp by socket, IPv4" by_socket 4 ccp
ksft_test "no unloading while a flow uses it" busy_module_stays
ksft_test "unloading when no flow does" unchosen_module_goes
ksft_test "kernel log without warnings" kernel_is_quiet

ksft_end
