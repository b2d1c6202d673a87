#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The life of tcp_ccpd.  Runs as root in the lab kernel (scripts/lab exec --
# tests/selftests/ccpd.sh) or on any kernel that has the module; prints KTAP.
# Arguments name the tests to run; none: all.
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |  100 Mbit/s, 10 ms, 100 pkts  |  192.0.2.2   |
#   +--------------+                               +--------------+
#
# The delay sits at the receiver, never at the sender.

# What cc_lib.sh asks for is not used here.
# shellcheck disable=SC2034

DIR=$(dirname "$(readlink -f "$0")")

MODULE=tcp_ccpd
CCS="ccpd ccp"
RESTRICTED=$CCS
BAD_VALUES="kp=0 kp=17 kp=-1 kp=x kp=2.5 kd=100001 b_min=1000001"
GOOD_VALUE=kp=4
LONG_CC=ccpd
# the estimate is that of the link: 95.64 Mb/s of payload
SS_SHOWS=".*bbr:\(bw:9[0-9]{7}bps,mrtt:10"
EVENT=ccpd/ccpd_update
TRACED="capacity_bps=9[0-9]{7} .*storage=[0-9]+ level=[0-9]+ in_flight=[0-9]+ p=-?[0-9]+ d=-?[0-9]+ cwnd=[0-9]+"

# shellcheck source=tests/selftests/cc_lib.sh
. "$DIR/cc_lib.sh"

ksft_main "$@"
