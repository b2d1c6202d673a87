# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Common functions of the selftests, which source this file from $DIR: KTAP, waiting, counters
# of tcp_feedback, and two namespaces:
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |            10 ms              |  192.0.2.2   |
#   +--------------+                               +--------------+
#
# The delay is at the receiver, never at the sender.
#
# A script has setup() and cleanup().  It either lists its tests, each of them a function, in
# TESTS and calls ksft_main, or it calls ksft_begin, ksft_test and ksft_end.

set -u

KSFT_FAIL=1
KSFT_SKIP=4

TRACING=/sys/kernel/tracing
SND=snd-$$
RCV=rcv-$$

# Tests ---------------------------------------------------------------------------------

TEST=0			# number of the last test
PASSED=0
FAILED=0
NOT_MET=0		# number of known failures (XFAIL)
SKIPPED=""		# why the running test is skipped
XFAILED=""		# what the running test does not meet, and why

skip_all()
{
	echo "1..0 # SKIP $*"
	exit $KSFT_SKIP
}

# skip REASON: marks the running test as skipped
skip()
{
	SKIPPED=$*
}

# xfail REASON: marks the running test as a known failure
xfail()
{
	XFAILED=$*
}

diag()
{
	echo "# $*"
}

# ksft_begin N: begins a run of N tests, in a directory that is removed at the end of the script
ksft_begin()
{
	[ "$(id -u)" = 0 ] || skip_all "needs root"
	cd "$(mktemp -d)" || exit $KSFT_FAIL
	trap 'cleanup; rm -rf "$PWD"' EXIT
	trap 'exit $KSFT_FAIL' INT TERM
	READY=$PWD/ready
	mkfifo "$READY" || exit $KSFT_FAIL
	echo "KTAP version 1"
	echo "1..$1"
	setup || { echo "Bail out! no namespaces"; exit $KSFT_FAIL; }
}

# ksft_test NAME CMD...: runs CMD as a test
ksft_test()
{
	local name=$1

	shift
	TEST=$((TEST + 1))
	SKIPPED="" XFAILED=""
	if ! "$@"; then
		echo "not ok $TEST $name"
		FAILED=$((FAILED + 1))
		after_failure
	elif [ -n "$SKIPPED" ]; then
		echo "ok $TEST $name # SKIP $SKIPPED"
	elif [ -n "$XFAILED" ]; then
		echo "ok $TEST $name # XFAIL $XFAILED"
		NOT_MET=$((NOT_MET + 1))
	else
		echo "ok $TEST $name"
		PASSED=$((PASSED + 1))
	fi
}

# Removes what a failed test may have left; a script may redefine this function.
after_failure()
{
	:
}

ksft_end()
{
	echo "# Totals: pass:$PASSED fail:$FAILED xfail:$NOT_MET xpass:0" \
		"skip:$((TEST - PASSED - FAILED - NOT_MET)) error:0"
	[ $FAILED = 0 ]
}

# ksft_main [TEST]...: runs these tests, or all
ksft_main()
{
	local name

	# shellcheck disable=SC2086,SC2153
	[ $# != 0 ] || set -- $TESTS
	ksft_begin $#
	for name; do
		ksft_test "$name" "$name"
	done
	ksft_end
}

# own_log NAME: kernel_is_quiet ignores kernel messages before this call
own_log()
{
	LOG_START="$1 $$ starts"
	echo "$LOG_START" >/dev/kmsg
}

kernel_is_quiet()
{
	! dmesg | sed ${LOG_START+-e "1,/$LOG_START/d"} -e 's/^/# /' |
		grep -E 'BUG|WARNING|Oops|Call Trace|protection fault|UBSAN|refcount_t|suspicious|new suspected memory leaks|sleeping'
}

# Waiting -------------------------------------------------------------------------------

# wait_for SECONDS CMD...: waits until CMD succeeds, at most this long
wait_for()
{
	local tries=$(($1 * 20))

	shift
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.05
	done
}

# busywait CMD...: waits until CMD succeeds, at most 10 s
busywait()
{
	wait_for 10 "$@"
}

# Two namespaces ------------------------------------------------------------------------

# snd CMD..., rcv CMD...: runs CMD in the sender's or the receiver's namespace
snd()
{
	ip netns exec "$SND" "$@"
}

rcv()
{
	ip netns exec "$RCV" "$@"
}

# listening PORT: whether the receiver has a socket that listens on this port
listening()
{
	rcv ss -tlnH "sport = :$1" | grep -q .
}

setup_pair()
{
	local end

	ip netns add "$SND" && ip netns add "$RCV" &&
		ip link add veth0 netns "$SND" type veth peer name veth0 netns "$RCV" || return
	for end in "$SND 1" "$RCV 2"; do
		set -- "${end% *}" "${end#* }"
		ip -n "$1" link set lo up
		ip -n "$1" addr add "192.0.2.$2/24" dev veth0
		ip -n "$1" addr add "2001:db8::$2/64" dev veth0 nodad
		ip -n "$1" link set veth0 up
		# metrics of one flow must not be used by the next flow
		ip netns exec "$1" sysctl -qw net.ipv4.tcp_no_metrics_save=1
	done
	setup_delay
}

setup_delay()
{
	tc -n "$RCV" qdisc add dev veth0 root netem delay 10ms limit 10000
}

cleanup()
{
	end_long 2>/dev/null
	ip netns del "$SND" 2>/dev/null
	ip netns del "$RCV" 2>/dev/null
}

# receiver [-6]: starts a receiver of one transfer in the background, on a new port.  SERVER
# has further arguments for it.
PORT=5000
SERVER=""
receiver()
{
	local option=()

	TO=192.0.2.2
	if [ "${1-}" = -6 ]; then
		option=(-6)
		TO=2001:db8::2
	fi
	PORT=$((PORT + 1))
	# shellcheck disable=SC2086
	listens "${option[@]}" --port $PORT $SERVER
}

# listens ARGS...: starts a receiver in the background, and returns when it listens.  <> does
# not block if no receiver ever opens the pipe.
listens()
{
	rcv "$DIR/flow.py" "$@" >"$READY" &
	read -r -t 10 <>"$READY"
}

# sender ARGS...: sends to that receiver; prints the congestion control of the socket
sender()
{
	snd "$DIR/flow.py" "$TO" --port $PORT "$@"
}

# run_long [ARGS...]: starts a transfer on port 5000 in the background: 4 s at 100 Mbit/s
run_long()
{
	# shellcheck disable=SC2086
	listens --port 5000 $SERVER || return
	snd "$DIR/flow.py" 192.0.2.2 --port 5000 --bytes 50000000 "$@" >/dev/null 2>&1 &
}

# Ends the receiver first, because its reset also ends the transmission of a closed socket.
end_long()
{
	ip netns pids "$RCV" | xargs -r kill
	ip netns pids "$SND" | xargs -r kill
	wait
}

mount_tracing()
{
	[ -d $TRACING/events ] || mount -t tracefs none $TRACING
}

# tcp_feedback ----------------------------------------------------------------------------

# count snd|rcv NAME: prints a counter of tcp_feedback
count()
{
	local number

	number=$($1 sed -n "s/^$2 //p" /proc/net/tcpcc_feedback 2>/dev/null)
	echo "${number:-0}"
}

# mib snd|rcv NAME...: prints the sum of counters of /proc/net/netstat; a missing counter is 0
mib()
{
	# shellcheck disable=SC2016 # the dollars are awk's
	"$1" awk -v names="${*:2}" 'BEGIN { split(names, n); for (i in n) wanted[n[i]] }
		NR % 2 { split($0, k); next }
		{ for (i in k) if (k[i] in wanted) sum += $i } END { print sum + 0 }' /proc/net/netstat
}

# grows snd|rcv NAME BEFORE: whether the counter exceeds BEFORE; prints a message if not
grows()
{
	local now

	now=$(count "$1" "$2")
	[ "$now" -gt "$3" ] || { echo "# $1 $2 stays at $now"; return 1; }
}

# TCP and tcp_feedback have received no wrong checksum so far.
checksums_are_right()
{
	local ns

	for ns in snd rcv; do
		$ns grep ^Tcp: /proc/net/snmp | tail -n 1 |
			awk '{ exit $14 + $16 != 0 }' || return
		[ "$(count $ns InBadChecksum)" = 0 ] && [ "$(count $ns OutNoMemory)" = 0 ] || return
	done
}
