#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Loading, choosing, using and unloading tcp_newjersey.  Runs as root in the lab kernel (scripts/lab
# exec -- tests/selftests/newjersey.sh) or on any kernel that has the module; prints KTAP.
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

MODULE=tcp_newjersey
CCS=newjersey
RESTRICTED=newjersey
BAD_VALUES="nj_k=0 nj_k=17 nj_careful=2 nj_rtt=2 nj_rtt=x"
GOOD_VALUE=nj_k=2
LONG_CC=newjersey
# the estimate is the rate of the link: 95.64 Mb/s of payload
SS_SHOWS=".*bbr:\(bw:9[0-9]{7}bps,mrtt:10"
EVENT=newjersey/newjersey_update
TRACED="rate=1[12][0-9]{6} segs=[0-9]+ passed_us=[0-9]+ tau_us=1[0-9]{4} unit_us=[0-9]+ warned=0 cwnd=[0-9]+ ssthresh=[0-9]+"

# shellcheck source=tests/selftests/cc_lib.sh
. "$DIR/cc_lib.sh"

ksft_main "$@"
