#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Loading, choosing, using and unloading tcp_mccp_path.  Runs as root in the lab kernel (scripts/lab
# exec -- tests/selftests/mccp_path.sh) or on any kernel that has the module; prints KTAP.
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

MODULE=tcp_mccp_path
CCS=mccp_path
BAD_VALUES="mccp_agile=2 mccp_floor=0 mccp_floor=65 mccp_rtt0_ms=1001 mccp_rtt0_ms=-1
	mccp_ssthresh=1000001"
GOOD_VALUE=mccp_floor=4
LONG_CC=mccp_path
# the estimate is the rate of the link: 95.64 Mb/s of payload
SS_SHOWS=".*bbr:\(bw:9[0-9]{7}bps,mrtt:10"
EVENT=mccp_path/mccp_update
TRACED="mode=[01] abe=1[12][0-9]{6} sample=[0-9]+ interval_us=[0-9]+ dt_us=[0-9]+ unstable=[0-9]+ weight=[0-9]+ rtt_us=[0-9]+ rtt_min_us=1[0-9]{4} counter=[0-9]+ cwnd=[0-9]+ ssthresh=[0-9]+"

# shellcheck source=tests/selftests/cc_lib.sh
. "$DIR/cc_lib.sh"

ksft_main "$@"
