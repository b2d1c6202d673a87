#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The command tcpcc with real routes, flows and files, on a kernel that has the modules.  Runs as
# root in the lab kernel (scripts/lab exec -- tests/selftests/tcpcc.sh) or on any other machine
# that is not in use; prints KTAP.  Arguments are the names of tests to run; without arguments all
# tests run.
#
#   +--------------+  192.0.2.0/24, 2001:db8::/64  +--------------+
#   | $SND    veth +-------------------------------+ veth    $RCV |
#   |  192.0.2.1   |            10 ms              |  192.0.2.2   |
#   +--------------+                               +--------------+

# The variables that lib.sh needs are not used in this file.
# shellcheck disable=SC2034

DIR=$(dirname "$(readlink -f "$0")")

# shellcheck source=tests/selftests/lib.sh
. "$DIR/lib.sh"

# tcpcc of the checkout, or the installed one
TCPCC=${TCPCC-$DIR/../../scripts/tcpcc}
SYSCTL_FILE=/etc/sysctl.d/90-tcpcc.conf
LOAD_FILE=/etc/modules-load.d/tcpcc.conf

TESTS="says_status tries_v4_and_v6 keeps_the_route ends_by_timer ends_with_command
	undoes_after_kill leaves_others_routes refuses needs_root sets_and_unsets
	doctor_is_content doctor_sees_window doctor_sees_application doctor_sees_buffer
	doctor_sees_shaper doctor_sees_policer watches kernel_is_quiet"

setup()
{
	sysctl -qw net.ipv4.tcp_congestion_control=reno \
		net.ipv4.tcp_mem="1000000 1000000 1000000"
	modprobe tcpcc_view && setup_pair &&
		# a route with a gateway and attributes that tcpcc must copy
		snd ip route add 198.51.100.0/24 via 192.0.2.2 mtu lock 1400 initcwnd 20 &&
		rcv ip addr add 198.51.100.2/24 dev lo
}

after_failure()
{
	end_long 2>/dev/null
	[ -z "${TRY-}" ] || kill "$TRY" 2>/dev/null
	snd "$TCPCC" status >/dev/null 2>&1
	rm -f $SYSCTL_FILE $LOAD_FILE
}

# chosen ADDRESS: prints the congestion control that the route to ADDRESS sets for a new flow
chosen()
{
	snd ip -j route get "$1" | grep -o '"congestion":"[a-z_]*"' | cut -d'"' -f4
}

has()
{
	[ "$(chosen "$1")" = "$2" ]
}

# try_in_background ARGUMENTS...: starts "tcpcc try", and waits until it has begun
try_in_background()
{
	# without snd, because $! would be the shell that runs snd
	ip netns exec "$SND" "$TCPCC" try --json "$@" >try.json 2>try.err &
	TRY=$!
	busywait grep -q begins try.json || { sed 's/^/# /' try.err; return 1; }
}

says_status()
{
	snd ip route add 203.0.113.0/24 via 192.0.2.2 congctl ccpd_path &&
		"$TCPCC" status --json >status.json || return
	snd ip route del 203.0.113.0/24
	python3 - "$SND" <<-'END'
		import json, sys
		shown = json.load(open("status.json"))
		assert shown["modules"]["tcp_ccpd_path"]["loaded"], shown["modules"]
		assert shown["modules"]["tcp_ccpd"] == {"installed": True, "loaded": False, "users": 0}
		spaces = {one["name"]: one for one in shown["namespaces"]}
		assert spaces["this"]["default"] == "reno"
		mine = spaces[sys.argv[1]]
		assert mine["routes"] == [{"destination": "203.0.113.0/24", "cc": "ccpd_path"}], mine
		receiver = spaces[sys.argv[1].replace("snd", "rcv")]
		assert receiver["qdiscs"][0]["kind"] == "netem", receiver
	END
}

# Flows that begin during the trial use it.  Earlier and later flows do not.
tries_v4_and_v6()
{
	local status=0

	for TO in 192.0.2.2 2001:db8::2; do
		[ -z "$(chosen $TO)" ] && try_in_background $TO || return
		has $TO ccpd_path || status=1
		receiver "$([ $TO = 192.0.2.2 ] || echo -6)" || return
		[ "$(sender --bytes 100000)" = ccpd_path ] || status=1
		wait %%
		kill "$TRY" && wait "$TRY" || status=1
		[ -z "$(chosen $TO)$(snd ip route show proto 242; snd ip -6 route show proto 242)" ] ||
			status=1
		grep -q undone try.json || status=1
	done
	return $status
}

# The host route has all attributes of the route that it replaces.
keeps_the_route()
{
	local shown

	try_in_background 198.51.100.2 || return
	shown=$(snd ip route show 198.51.100.2)
	kill "$TRY" && wait "$TRY"
	echo "# $shown"
	[[ $shown == *"via 192.0.2.2 dev veth0"*"mtu lock 1400"*"initcwnd 20"*"congctl ccpd_path"* ]]
}

ends_by_timer()
{
	try_in_background 192.0.2.2 --for 2s && has 192.0.2.2 ccpd_path && wait "$TRY" &&
		[ -z "$(chosen 192.0.2.2)" ]
}

ends_with_command()
{
	snd "$TCPCC" try 192.0.2.2 --cc ccp -- sh -c \
		'ip route get 192.0.2.2 | grep -q "congctl ccp" && exit 7' 2>/dev/null
	[ $? = 7 ] && [ -z "$(chosen 192.0.2.2)" ]
}

# If a trial is killed, the next call undoes it, and does not change any other trial.
undoes_after_kill()
{
	local status=0 first

	try_in_background 198.51.100.2 || return
	first=$TRY
	try_in_background 192.0.2.2 || return
	kill -9 "$TRY"
	wait "$TRY" 2>/dev/null
	has 192.0.2.2 ccpd_path || status=1
	# a call in another namespace does not undo it
	rcv "$TCPCC" status >/dev/null && has 192.0.2.2 ccpd_path || status=1
	snd "$TCPCC" status --json >/dev/null 2>said.txt || status=1
	grep -q "undid ccpd_path for 192.0.2.2" said.txt || status=1
	[ -z "$(chosen 192.0.2.2)" ] && has 198.51.100.2 ccpd_path || status=1
	kill "$first" && wait "$first" || status=1
	return $status
}

leaves_others_routes()
{
	local status=0

	snd ip route add 192.0.2.2/32 dev veth0 initcwnd 30 || return
	! snd "$TCPCC" try 192.0.2.2 --for 1s 2>said.txt || status=1
	grep -q "or your own route" said.txt && [ "$(wc -l <said.txt)" = 1 ] || status=1
	snd ip route show 192.0.2.2/32 | grep -q "initcwnd 30" || status=1
	snd ip route del 192.0.2.2/32
	return $status
}

# one_line STATUS WORDS ARGUMENTS...: tcpcc must fail with this status, and one line with WORDS
one_line()
{
	local wanted=$1 words=$2 status

	shift 2
	snd timeout 20 "$TCPCC" "$@" >/dev/null 2>said.txt
	status=$?
	sed 's/^/# /' said.txt
	[ $status = "$wanted" ] && [ "$(wc -l <said.txt)" = 1 ] && grep -q "$words" said.txt
}

refuses()
{
	one_line 1 "no congestion control 'nosuch'; there are: " set nosuch &&
		one_line 1 "no route to 203.0.113.9" try 203.0.113.9 &&
		one_line 1 "is this machine" try 192.0.2.1 &&
		one_line 1 "cannot resolve" try no.such.name.invalid &&
		one_line 2 "is not a time" try 192.0.2.2 --for ever &&
		one_line 2 "no program" try 192.0.2.2 -- /no/such/program &&
		one_line 1 "nothing to undo" unset &&
		[ ! -e $SYSCTL_FILE ] && [ -z "$(chosen 192.0.2.2)" ]
}

nobody()
{
	snd setpriv --reuid=65534 --clear-groups "$TCPCC" "$@"
}

needs_root()
{
	nobody status --json >/dev/null && nobody doctor 192.0.2.2 >/dev/null &&
		nobody watch --count 1 >/dev/null &&
		! nobody try 192.0.2.2 2>said.txt &&
		grep -q "needs root: sudo tcpcc try 192.0.2.2" said.txt &&
		! nobody set ccpd_path 2>said.txt && grep -q "needs root" said.txt
}

sets_and_unsets()
{
	local key=net.ipv4.tcp_congestion_control

	"$TCPCC" set ccpd >/dev/null && "$TCPCC" set ccpd_path >said.txt || return
	sed 's/^/# /' said.txt
	grep -q "wrote $SYSCTL_FILE" said.txt && grep -q "wrote $LOAD_FILE" said.txt || return
	[ "$(sysctl -n $key)" = ccpd_path ] && [ "$(sed '/^#/d' $LOAD_FILE)" = tcp_ccpd_path ] ||
		return
	# as after a boot
	sysctl -qw $key=cubic && sysctl -qp $SYSCTL_FILE && [ "$(sysctl -n $key)" = ccpd_path ] ||
		return
	[ "$("$TCPCC" status --json | jq -r .persistent)" = ccpd_path ] || return
	"$TCPCC" unset >/dev/null && [ ! -e $SYSCTL_FILE ] && [ ! -e $LOAD_FILE ] &&
		[ "$(sysctl -n $key)" = reno ]
}

# diagnose: runs "tcpcc doctor" during a transfer; its output is in doctor.txt.  Return: its status
diagnose()
{
	local status=0

	snd "$TCPCC" doctor 192.0.2.2 --json >doctor.json || status=$?
	python3 -c "import json
for one in json.load(open('doctor.json')):
    print(one['check'], one['state'], one['says'], one['mend'], sep=' | ')" | tee doctor.txt |
		grep -v '| ok' | sed 's/^/# /'
	end_long
	return $status
}

# Only the path limits the flow, so doctor reports nothing.
doctor_is_content()
{
	local status=0

	snd tc qdisc add dev veth0 root netem rate 100mbit limit 1000
	run_long --cc ccpd_path && sleep 2
	diagnose || status=1
	snd tc qdisc del dev veth0 root
	grep -q "^flow | ok | .* is the limit: 9[0-9].* Mb/s" doctor.txt &&
		grep -q "^route | ok" doctor.txt && return $status
}

doctor_sees_window()
{
	local status=0 rmem

	rmem=$(rcv sysctl -n net.ipv4.tcp_rmem)
	rcv sysctl -qw net.ipv4.tcp_rmem="4096 32768 32768"
	run_long --cc cubic && sleep 2 && diagnose
	[ $? = 1 ] && grep -q "^receive window | limits" doctor.txt || status=1
	rcv sysctl -qw net.ipv4.tcp_rmem="$rmem"
	return $status
}

doctor_sees_application()
{
	listens --port 5000 || return
	snd python3 - <<-'END' &
		import socket, time
		with socket.create_connection(("192.0.2.2", 5000)) as flow:
		    for _ in range(400):
		        flow.sendall(bytes(20000))
		        time.sleep(0.02)
	END
	sleep 3
	diagnose
	[ $? = 1 ] && grep -q "^application | limits" doctor.txt
}

doctor_sees_buffer()
{
	local status=0 wmem

	wmem=$(snd sysctl -n net.ipv4.tcp_wmem)
	snd sysctl -qw net.ipv4.tcp_wmem="4096 16384 65536"
	run_long --cc cubic && sleep 3 && diagnose
	[ $? = 1 ] && grep -q "^send buffer | limits" doctor.txt || status=1
	snd sysctl -qw net.ipv4.tcp_wmem="$wmem"
	return $status
}

doctor_sees_shaper()
{
	local status=0

	snd tc qdisc replace dev veth0 root tbf rate 50mbit burst 10k limit 100k
	run_long --cc cubic && sleep 2 && diagnose
	[ $? = 1 ] && grep -q "^shaper | limits.* tbf on veth0" doctor.txt || status=1
	snd tc qdisc del dev veth0 root
	return $status
}

doctor_sees_policer()
{
	local status=0

	snd tc qdisc add dev veth0 clsact
	snd tc filter add dev veth0 egress matchall action police rate 50mbit burst 64k \
		conform-exceed drop
	run_long --cc cubic && sleep 2 && diagnose
	[ $? = 1 ] && grep -q "^policer | limits | egress" doctor.txt || status=1
	snd tc qdisc del dev veth0 clsact
	return $status
}

watches()
{
	snd tc qdisc add dev veth0 root netem rate 100mbit limit 1000
	run_long --cc ccpd_path && sleep 1
	snd "$TCPCC" watch 192.0.2.2 --port 5000 --count 3 --interval 0.3s --json >watch.json
	snd "$TCPCC" watch 192.0.2.2 --port 5000 --count 1 | sed 's/^/# /'
	end_long
	snd tc qdisc del dev veth0 root
	python3 - <<-'END'
		import json
		ticks = [json.loads(line) for line in open("watch.json")]
		assert len(ticks) == 3, ticks
		for tick in ticks:
		    flow, = tick["flows"]
		    assert flow["cc"] == "ccpd_path" and flow["peer"] == "192.0.2.2:5000", flow
		    assert 85e6 < flow["capacity_bps"] < 115e6, flow
		    assert 0.009 < flow["rtt_min_s"] < 0.015, flow
		    assert flow["window_segs"] > 20 and flow["view"]["mode"], flow
		# a rate is the sample of one ACK, and one such sample may be low
		rates = sorted(tick["flows"][0]["rate_bps"] for tick in ticks)
		assert 85e6 < rates[1] < 115e6 and rates[0] > 0, rates
	END
}

ksft_main "$@"
