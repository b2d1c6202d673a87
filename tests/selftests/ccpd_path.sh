#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Loading, choosing, using and unloading tcp_ccpd_path, between the hosts of ccpd.sh.  Prints
# KTAP; arguments are the names of tests to run; without arguments all tests run.

# The variables that cc_lib.sh needs are not used in this file.
# shellcheck disable=SC2034

DIR=$(dirname "$(readlink -f "$0")")

MODULE=tcp_ccpd_path
CCS=ccpd_path
BAD_VALUES="kp=0 kp=17 kd=100001 kd=-1 start=2 drain=0 drain=3601 drain=x visits=-1 visits=10081"
GOOD_VALUE=drain=5
LONG_CC=ccpd_path
# the estimate is the rate of the link: 95.64 Mb/s of payload
SS_SHOWS=".*bbr:\(bw:9[0-9]{7}bps,mrtt:10"
EVENT=ccpd_path/ccpd_path_update
TRACED="capacity_bps=9[0-9]{7} claim_bps=[0-9]+ .*q0_us=[0-9]+ level=[0-9]+ in_flight=[0-9]+ p=-?[0-9]+ d=-?[0-9]+ cwnd=[0-9]+"

# shellcheck source=tests/selftests/cc_lib.sh
. "$DIR/cc_lib.sh"

ksft_main "$@"
