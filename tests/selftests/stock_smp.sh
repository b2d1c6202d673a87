#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# All senders with two processors: flows on both switch between senders at the same time, while
# modules are loaded and unloaded.
#
# Run by scripts/stock run --cpus 2, as root.  Exit status: 0 all passed, 1 not, 4 skipped.

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/stock_lib.sh
. "$DIR/stock_lib.sh"

SENDERS="ccpd ccp ccpd_path mccp mccp_path acp estcp nist_reno nist_bic nist_ctcp nist_fast nist_hstcp
	nist_htcp nist_scalable jtcp newjersey rcp xcp"
RATE_MBIT=20
RTT_MS=10
SECONDS_EACH=3

setup()
{
	setup_narrow && modprobe tcp_bbr || return
	# ACKs are processed on both processors, not only on that of the flow.
	ip netns exec "$SND" sh -c 'echo 3 >/sys/class/net/snd0/queues/rx-0/rps_cpus'
}

# modules: prints the modules of senders that are loaded
modules()
{
	local cc module

	for cc in $SENDERS; do
		module=$(module_of "$cc")
		! loaded "$module" || echo "$module"
	done | sort -u
}

has_two_processors()
{
	[ "$(nproc)" = 2 ]
}

# churn CPU ROUNDS CC,...: starts a flow on that processor, in the background, which switches
# between these.  There is no time limit for a round: the first use of each loads a module, which
# may take seconds.
churn()
{
	echo "churn cc=$3 seconds=$SECONDS_EACH rounds=$2 cpu=$1" |
		"$DIR/hosts.py" "$SND" "$RCV" 10.77.2.2 >"churn$1.txt" 2>&1 &
}

# churned ROUNDS: each of the two flows has used all senders this often
churned()
{
	local cpu word changes status=0 least

	least=$(($1 * $(list | tr , '\n' | wc -l)))

	for cpu in 0 1; do
		read -r word changes <"churn$cpu.txt"
		diag "processor $cpu: $word $changes changes"
		[ "$word" = ok ] && [ "$changes" -ge $least ] || status=1
	done
	return $status
}

list()
{
	# shellcheck disable=SC2086
	set -- $SENDERS cubic bbr reno
	local IFS=,

	echo "$*"
}

changes_on_both()
{
	churn 0 10 "$(list)"
	churn 1 10 "$(list | tr , '\n' | tac | paste -sd ,)"
	wait
	churned 10
}

# If a sender is chosen while its module is unloaded, it is either not available, or it holds the
# module.  Loading a module takes longer than a switch.
unloads_under_flows()
{
	local module tries=0 gone=0

	churn 0 2 "$(list)"
	churn 1 2 "$(list)"
	sleep 1
	while [ -n "$(jobs -pr)" ]; do
		for module in $(modules); do
			tries=$((tries + 1))
			! rmmod "$module" 2>/dev/null || gone=$((gone + 1))
		done
		sleep 0.05
	done
	wait
	diag "$gone of $tries attempts removed a module"
	[ $gone -ge 10 ] && churned 2
}

all_go()
{
	local module

	for module in $(modules); do
		wait_for 30 rmmod "$module" || { diag "$module stays"; return 1; }
	done
	[ -z "$(modules)" ]
}

requires tcp_ccpd
own_log stock_smp
ksft_begin 5
diag "kernel $(uname -r)"
ksft_test "there are two processors" has_two_processors
ksft_test "flows change their congestion control on both" changes_on_both
ksft_test "modules are unloaded under such flows" unloads_under_flows
ksft_test "all are unloaded when the flows have ended" all_go
ksft_test "kernel log without warnings" kernel_is_quiet
ksft_end
