#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the packetdrill scripts in packetdrill/, which check windows ACK by ACK, each in its own
# network namespace.  packetdrill is https://github.com/google/packetdrill; none of the supported
# distributions has it.
#
# Exit status: 0 all passed, 1 not, 4 skipped.

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/lib.sh
. "$DIR/lib.sh"

# No metrics of a peer are saved; options and codepoints are as the scripts expect them.
SYSCTLS="net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_timestamps=0 net.ipv4.tcp_ecn=0"

# Each script has its own namespace
setup()
{
	:
}

cleanup()
{
	:
}

drill()
{
	unshare --net sh -c "ip link set lo up && sysctl -qw $SYSCTLS &&
		exec packetdrill --tolerance_usecs=50000 '$1'" >said 2>&1 || {
		sed 's/^/# /' said
		return 1
	}
}

command -v packetdrill >/dev/null || skip_all "needs packetdrill"
modprobe -q tun
modprobe -qa tcp_nist_reno tcp_nist_scalable || skip_all "no module tcp_nist_reno for $(uname -r)"
scripts=("$DIR"/packetdrill/*.pkt)
ksft_begin ${#scripts[@]}
for script in "${scripts[@]}"; do
	ksft_test "$(basename "$script" .pkt)" drill "$script"
done
ksft_end
