#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The senders that are a law and no more on a distribution's kernel: each is loaded by its
# name, fills a link under iperf3, and goes.
#
# Run by scripts/stock run, as root.  Exit status: 0 all passed, 1 not, 4 skipped.

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/stock_lib.sh
. "$DIR/stock_lib.sh"

SENDERS="mccp_path nist_reno nist_bic nist_ctcp nist_fast nist_hstcp nist_htcp nist_scalable"

RATE_MBIT=20
RTT_MS=40
SECONDS_EACH=3
LOW=80

setup()
{
	setup_narrow
}

loads()
{
	! loaded "tcp_$1" && set_sysctl "$1" && loaded "tcp_$1" && set_sysctl reno
}

# A flow uses it, and it stays; then it goes.
unloads()
{
	start_flow 4 1 -C "$1" && wait_for 3 uses "$1" && ! rmmod "tcp_$1" 2>rmmod.txt &&
		end_flow && wait_for 30 rmmod "tcp_$1" && ! loaded "tcp_$1"
}

requires tcp_mccp_path
requires tcp_nist_reno
own_log stock_senders
# shellcheck disable=SC2086
set -- $SENDERS
ksft_begin $((3 * $# + 1))
diag "kernel $(uname -r)"

# A law knows nothing of addresses: one family each is enough.
ip=4
for cc; do
	ksft_test "naming $cc loads it" loads "$cc"
	ksft_test "$cc fills the link, IPv$ip" by_socket $ip "$cc"
	ip=$((10 - ip))
	ksft_test "$cc goes when no flow uses it" unloads "$cc"
done
ksft_test "kernel log without warnings" kernel_is_quiet
ksft_end
