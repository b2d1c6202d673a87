#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of tcpcc_view, which provides /proc/net/tcpcc.  Runs as root in the lab kernel
# (scripts/lab exec -- tests/selftests/view.sh) or on any kernel that has the module and the
# congestion controls for its test, tcpcc_view_cc; prints KTAP.  Arguments are the names of tests
# to run; without arguments all tests run.
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |       100 Mbit/s, 10 ms       |  192.0.2.2   |
#   +--------------+                               +--------------+
#
# The contents of a line, and reads of a large table, are tested in tests/kunit/tcpcc_view_test.c.

# The variables that lib.sh needs are not used in this file.
# shellcheck disable=SC2034

DIR=$(dirname "$(readlink -f "$0")")

# shellcheck source=tests/selftests/lib.sh
. "$DIR/lib.sh"

VIEW=/proc/net/tcpcc
LINE="cc=view_answers mode=testing rate_bps=[0-9]+ mss_bytes=[0-9]+$"

TESTS="loads everybody_reads shows_its_namespace shows_v6 changes_under_reading
	unloads_while_open unloads_while_read outlives_namespace small_table kernel_is_quiet"

setup()
{
	sysctl -qw net.ipv4.tcp_congestion_control=reno
	modprobe tcpcc_view_cc && setup_pair &&
		tc -n "$SND" qdisc add dev veth0 root tbf rate 100mbit burst 1514 limit 151400
}

loads()
{
	modprobe tcpcc_view && [ -e $VIEW ] && snd test -e $VIEW
}

# Everybody may read the file, as with /proc/net/tcp
everybody_reads()
{
	[ "$(stat -Lc %a $VIEW)" = 444 ] && setpriv --reuid=65534 --clear-groups cat $VIEW
}

# shows ADDRESS ADDRESS: whether there is one line, of a connection to port $PORT (default 5000)
shows()
{
	snd cat $VIEW >view.txt
	[ "$(wc -l <view.txt)" = 1 ] && grep -Eq "^$1:[0-9]+ $2:$PORT $LINE" view.txt
}

# The receiver's end is not shown: it has another congestion control, in another namespace.
shows_its_namespace()
{
	local status=0

	PORT=5000
	run_long --cc view_answers || return
	busywait shows 192.0.2.1 192.0.2.2 || { sed 's/^/# /' view.txt; status=1; }
	[ -z "$(rcv cat $VIEW)$(cat $VIEW)" ] || status=1
	end_long
	return $status
}

shows_v6()
{
	local status=0

	receiver -6 || return
	sender --bytes 20000000 --cc view_answers >/dev/null &
	busywait shows '\[2001:db8::1\]' '\[2001:db8::2\]' ||
		{ sed 's/^/# /' view.txt; status=1; }
	end_long
	return $status
}

# read_for PID: reads until that process has ended; fails if a line is incomplete, or none is seen
read_for()
{
	local seen=0

	while kill -0 "$1" 2>/dev/null; do
		snd cat $VIEW >view.txt || return
		! grep -Evq "^[^ ]+:[0-9]+ [^ ]+:[0-9]+ $LINE" view.txt || return
		[ ! -s view.txt ] || seen=$((seen + 1))
		sleep 0.01
	done
	[ $seen -gt 10 ]
}

# Reads while flows switch between congestion controls that answer and that do not
changes_under_reading()
{
	local changes=()

	for _ in $(seq 20); do
		changes+=(--cc view_answers --cc view_rude --cc bbr --cc view_answers --cc reno)
	done
	receiver || return
	sender --bytes 20000000 "${changes[@]}" >/dev/null &
	read_for $! || { sed 's/^/# /' view.txt; end_long; return 1; }
	end_long
}

# An open file does not hold the module.  After unloading a read fails.
unloads_while_open()
{
	local status=0

	exec 7<$VIEW
	modprobe -r tcpcc_view || status=1
	[ ! -e $VIEW ] || status=1
	! cat <&7 2>/dev/null || status=1
	exec 7<&-
	modprobe tcpcc_view && return $status
}

unloads_while_read()
{
	local status=0 reader _

	run_long --cc view_answers || return
	snd sh -c "while :; do cat $VIEW; sleep 0.003; done" >/dev/null 2>&1 &
	reader=$!
	for _ in $(seq 50); do
		modprobe -r tcpcc_view || status=1
		modprobe tcpcc_view || status=1
		sleep 0.01
	done
	kill $reader 2>/dev/null
	end_long
	return $status
}

# An open file keeps its namespace, which then has no sockets, until it is closed.
outlives_namespace()
{
	local status=0 member

	ip netns add "gone-$$" || return
	ip netns exec "gone-$$" sleep 1000 &
	member=$!
	busywait [ -e "/proc/$member/net/tcpcc" ] && sleep 0.1
	exec 7<"/proc/$member/net/tcpcc"
	kill $member
	wait $member
	ip netns del "gone-$$" || status=1
	[ -z "$(cat <&7)" ] || status=1
	exec 7<&-
	modprobe -r tcpcc_view && modprobe tcpcc_view || status=1
	return $status
}

# A namespace with its own table of 16 buckets and 200 connections: each is shown once
small_table()
{
	local status=0 saved

	saved=$(sysctl -n net.ipv4.tcp_child_ehash_entries) || { skip "no such tables"; return; }
	sysctl -qw net.ipv4.tcp_child_ehash_entries=16
	ip netns add "small-$$" && ip -n "small-$$" link set lo up
	sysctl -qw "net.ipv4.tcp_child_ehash_entries=$saved"
	ip netns exec "small-$$" python3 - <<-END || status=1
		import socket
		server = socket.create_server(("127.0.0.1", 5000), backlog=300)
		server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
		pairs = []
		for _ in range(200):
		    one = socket.socket()
		    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"view_answers")
		    one.connect(("127.0.0.1", 5000))
		    pairs.append((one, server.accept()[0]))
		want = sorted(one.getsockname()[1] for one, _ in pairs)
		with open("$VIEW") as file:
		    lines = file.read().splitlines()
		seen = sorted(int(line.split()[0].partition(":")[2]) for line in lines)
		assert seen == want, (len(seen), len(want))
	END
	ip netns del "small-$$"
	return $status
}

ksft_main "$@"
