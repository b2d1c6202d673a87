#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tcp_ccpd on a distribution's kernel: loading, choosing, using and unloading it,
# with real programs.
#
# The queue of the router holds two bandwidth-delay products: by its own algebra ccpd
# fills a path only from 1.5 on.
#
# Run by scripts/stock run, as root.  Exit status: 0 all passed, 1 not, 4 skipped.

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/stock_lib.sh
. "$DIR/stock_lib.sh"

RATE_MBIT=20
RTT_MS=40
SECONDS_EACH=5
LOW=80

setup()
{
	setup_narrow
}

# A closed flow's socket may live on for a moment: not yet is no failure.
unload()
{
	wait_for 30 rmmod tcp_ccpd && ! loaded tcp_ccpd
}

offers_all()
{
	local cc

	for cc in ccpd ccp ccpd_path; do
		grep -qw "$cc" /proc/sys/net/ipv4/tcp_available_congestion_control ||
			return 1
	done
}

modprobe_loads()
{
	modprobe tcp_ccpd && offers_all && unload
}

# autoload NAME: naming it is enough to load the module that has it
autoload()
{
	! loaded tcp_ccpd && set_sysctl "$1" && loaded tcp_ccpd && set_sysctl reno && unload
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
	loaded tcp_ccpd && unload && ! offers_all
}

requires tcp_ccpd
own_log stock_ccpd
ksft_begin 16
diag "kernel $(uname -r)"

ksft_test "modprobe loads it, rmmod unloads it" modprobe_loads
ksft_test "sysctl ccpd loads it" autoload ccpd
ksft_test "sysctl ccp loads it" autoload ccp
ksft_test "sysctl ccpd_path loads it" autoload ccpd_path
for ip in 4 6; do
	ksft_test "ccpd by sysctl, IPv$ip" by_sysctl $ip ccpd
	ksft_test "ccpd by socket, IPv$ip" by_socket $ip ccpd
	ksft_test "ccpd by route, IPv$ip" by_route $ip ccpd
	ksft_test "ccpd_path by socket, IPv$ip" by_socket $ip ccpd_path
done
ksft_test "ccp by socket" by_socket 4 ccp
ksft_test "no unloading while a flow uses it" busy_module_stays
ksft_test "unloading when no flow does" unchosen_module_goes
ksft_test "kernel log without warnings" kernel_is_quiet

ksft_end
