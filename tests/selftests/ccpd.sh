#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Loading, choosing, using and unloading tcp_ccpd.  Runs as root in the lab kernel (scripts/lab
# exec -- tests/selftests/ccpd.sh) or on any kernel that has the module; prints KTAP.
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

MODULE=tcp_ccpd
CCS="ccpd ccp"
RESTRICTED=$CCS
BAD_VALUES="kp=0 kp=17 kp=-1 kp=x kp=2.5 kd=100001 b_min=1000001"
GOOD_VALUE=kp=4
LONG_CC=ccpd
# the estimate is the rate of the link: 95.64 Mb/s of payload
SS_SHOWS=".*bbr:\(bw:9[0-9]{7}bps,mrtt:10"
EVENT=ccpd/ccpd_update
TRACED="capacity_bps=9[0-9]{7} .*storage=[0-9]+ level=[0-9]+ in_flight=[0-9]+ p=-?[0-9]+ d=-?[0-9]+ cwnd=[0-9]+"

# shellcheck source=tests/selftests/cc_lib.sh
. "$DIR/cc_lib.sh"

ksft_main "$@"
