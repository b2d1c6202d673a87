#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Loading, choosing, using and unloading tcp_jtcp.  Runs as root in the lab kernel (scripts/lab
# exec -- tests/selftests/jtcp.sh) or on any kernel that has the module; prints KTAP.
# Arguments are the names of tests to run; without arguments all tests run.
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |  100 Mbit/s, 10 ms, 100 pkts  |  192.0.2.2   |
#   +--------------+                               +--------------+
#
# The delay is at the receiver, never at the sender.

# The variables that cc_lib.sh needs are not used in this file.
# shellcheck disable=SC2034

DIR=$(dirname "$(readlink -f "$0")")

MODULE=tcp_jtcp
CCS=jtcp
RESTRICTED=jtcp
BAD_VALUES="jtcp_k=0 jtcp_k=65 jtcp_guard=2 jtcp_clock=2 jtcp_clock=x"
GOOD_VALUE=jtcp_k=2
LONG_CC=jtcp
# it shows nothing for which ss has a format
SS_SHOWS=".* cwnd:"
EVENT=jtcp/jtcp_update
TRACED="grows=-?[0-9]+ windows=[012] rtt_us=1[0-9]{4} rtt_min_us=1[0-9]{4} rtt_max_us=[0-9]+ cwnd=[0-9]+ ssthresh=[0-9]+"

# shellcheck source=tests/selftests/cc_lib.sh
. "$DIR/cc_lib.sh"

ksft_main "$@"
