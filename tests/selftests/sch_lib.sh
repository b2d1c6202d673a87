# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Common tests of the router qdiscs; $KIND is the kind of qdisc.  It is at the sender's end of
# the pair of namespaces in lib.sh.  Flows have the options $CLASS of flow.py.

# shellcheck source=tests/selftests/lib.sh
. "$DIR/lib.sh"

CLASS=()

# The kind's counter of changed headers
CHANGED=lowered

setup()
{
	# resolve neighbours before the tests
	setup_pair && snd ping -qc 1 192.0.2.2 >/dev/null && snd ping -qc 1 2001:db8::2 >/dev/null
}

# Removes what would disturb the next test
after_failure()
{
	end_long 2>/dev/null
	qdisc del 2>/dev/null
}

qdisc()
{
	tc -n "$SND" qdisc "$1" dev veth0 root "${@:2}"
}

# has TEXT: whether tc's output for the qdisc contains TEXT
has()
{
	tc -n "$SND" -s qdisc show dev veth0 >shown.txt
	grep -q -- "$1" shown.txt || { sed 's/^/# /' shown.txt; return 1; }
}

# field NAME: prints a value from the qdisc's JSON
field()
{
	# shellcheck disable=SC2153 # the script that sources us has it
	tc -n "$SND" -s -j qdisc show dev veth0 | jq -er --arg kind "$KIND" --arg name "$1" \
		'first(.[] | select(.kind == $kind) | .. | objects | select(has($name)) | .[$name])'
}

empty()
{
	[ "$(field qlen)" = 0 ] && [ "$(field backlog)" = 0 ]
}

# passed N: whether more than N packets have left the qdisc
passed()
{
	[ "$(field packets)" -gt "$1" ]
}

# says TEXT CMD...: CMD must fail with a message that contains TEXT
says()
{
	local text=$1

	shift
	if "$@" 2>said.txt; then
		echo "# accepted: $*"
		return 1
	fi
	grep -q -- "$text" said.txt || { sed 's/^/# /' said.txt; return 1; }
}

# flow [-6] ARGS...: one transfer
flow()
{
	receiver "${1-}" && sender "$@" "${CLASS[@]}" >/dev/null
}

# raw NAMESPACE ARGS...: packets made by hand, see raw.py
raw()
{
	ip netns exec "$1" "$DIR/raw.py" "${@:2}"
}

flows_are_gone()
{
	! snd ss -tnH | grep -q .
}

# end_flows: like end_long, and waits until no socket can send into the next test's qdisc
end_flows()
{
	end_long
	wait_for 60 flows_are_gone
}

unload()
{
	modprobe -r sch_tcpcc 2>/dev/null
}

loads()
{
	modprobe "sch_$KIND" && [ -d /sys/module/sch_tcpcc ] && unload &&
		modprobe sch_tcpcc && qdisc add "$KIND" bandwidth 1mbit && qdisc del
}

loads_once()
{
	modprobe "sch_$KIND" && [ -d /sys/module/sch_tcpcc ]
}

needs_bandwidth()
{
	says "bandwidth is missing" qdisc add "$KIND" &&
		says "bandwidth is missing" qdisc add "$KIND" limit 10 &&
		! tc -n "$SND" qdisc show dev veth0 | grep -q "$KIND"
}

default_bandwidth()
{
	echo 155000 >/sys/module/sch_tcpcc/parameters/bandwidth
	TC_LIB_DIR=/nowhere qdisc add "$KIND"
	local status=$?

	echo 0 >/sys/module/sch_tcpcc/parameters/bandwidth
	[ $status = 0 ] && has "bandwidth 155Mbit limit 1000p" && qdisc del
}

# Arrival rates are exact to 10^-5, and to 10^-3 at 400 Gbit/s, where a packet takes 12 ns
shapes_exactly()
{
	local rate want got

	qdisc add "$KIND" bandwidth 1gbit limit 10000 || return
	for rate in 100kbit=100000 10mbit=10000000 155mbit=155000000 10gbit=10000000000 \
		    400gbit=400000000000; do
		want=${rate#*=}
		qdisc change "$KIND" bandwidth "${rate%=*}" && sleep 1 || return
		got=$(raw "$SND" pace 192.0.2.2 "$RCV" 500 1472) || return
		awk -v got="$got" -v want="$want" 'BEGIN {
			off = got / want - 1
			exit (off < 0 ? -off : off) > (want > 1e11 ? 1e-3 : 1e-5) }' || {
			echo "# $got bit/s, not $want"; return 1; }
	done
	qdisc del
}

shapes_segments()
{
	snd ethtool -K veth0 tso on gso on
	qdisc add "$KIND" bandwidth 100mbit && flow --bytes 2000000 || return
	# a segment has 1448 bytes
	busywait empty && [ "$(field packets)" -ge 1382 ] && qdisc del
}

# Kinds with a congestion header --------------------------------------------------------

# headers [ADDRESS]: sends headers over a new link of 10 Mbit/s, and checks each word against the
# law; prints the number of headers, and the number of changed ones
headers()
{
	raw "$SND" header "$KIND" "${1-192.0.2.2}" "$RCV" 1250000
}

# word WORD INFO: prints the word after the router
word()
{
	raw "$SND" word "$KIND" 192.0.2.2 "$RCV" $(($1)) $(($2))
}

marks_packets()
{
	local counted

	qdisc add "$KIND" bandwidth 10mbit && counted=$(headers "$@") &&
		[ "$(field headers) $(field $CHANGED)" = "$counted" ] &&
		[ "$(field state)" != waiting ] && qdisc del
}

marks_v6()
{
	marks_packets 2001:db8::2
}

# Words of other protocols, echoes, and malformed headers are not changed
leaves_others_alone()
{
	local address counted

	for address in 192.0.2.2 2001:db8::2; do
		qdisc add "$KIND" bandwidth 1mbit &&
			counted=$(raw "$SND" strange "$KIND" $address "$RCV") || return
		[ "$(field $CHANGED)" = 0 ] && [ "$(field malformed)" = 2 ] &&
			[ "$(field echoes)" = 1 ] && [ "$(field headers)" = 0 ] &&
			[ "$(field no_header)" -ge $((counted - 3)) ] &&
			[ "$(field state)" = waiting ] && qdisc del || return
	done
}

# One flow of each protocol at the same time: only words of this protocol are changed.
leaves_other_flows_alone()
{
	local cc came watcher

	modprobe -a tcp_acp_host tcp_xcp tcp_rcp && qdisc add "$KIND" bandwidth 10mbit limit 50 || return
	raw "$RCV" words 3 >words.txt &
	watcher=$!
	for cc in acp xcp rcp; do
		receiver || return
		sender --cc $cc --bytes 500000000 >/dev/null 2>&1 &
	done
	wait $watcher
	end_flows || return
	for cc in acp xcp rcp; do
		came=$(sed -n "s/^$cc //p" words.txt)
		if [ $cc = "$KIND" ]; then
			[ "${came#* }" -gt 10 ] && [ "$(field headers)" -ge "${came% *}" ]
		else
			[ "${came% *}" -gt 10 ] && [ "${came#* }" = 0 ]
		fi || { sed 's/^/# /' words.txt; return 1; }
	done
	qdisc del
}

forgets_on_down()
{
	qdisc add "$KIND" bandwidth 10mbit && headers >/dev/null &&
		raw "$SND" burst 192.0.2.2 100 1000 >/dev/null && [ "$(field state)" != waiting ] &&
		ip -n "$SND" link set veth0 down && ip -n "$SND" link set veth0 up || return
	[ "$(field qlen)" = 0 ] && [ "$(field state)" = waiting ] || return
	ip -n "$SND" addr replace 2001:db8::1/64 dev veth0 nodad
	flow --bytes 100000 && qdisc del
}

# All kinds -----------------------------------------------------------------------------

limits_packets()
{
	qdisc add "$KIND" bandwidth 1mbit limit 10 && raw "$SND" burst 192.0.2.2 50 1000 >/dev/null || return
	[ "$(field drops)" -ge 35 ] && [ "$(field qlen)" -le 10 ] && qdisc del
}

changes_under_traffic()
{
	local rate

	qdisc add "$KIND" bandwidth 100mbit limit 10000 && run_long "${CLASS[@]}" || return
	for rate in 10mbit 1gbit 8kbit 50mbit 400gbit 100mbit; do
		sleep 0.1
		qdisc change "$KIND" bandwidth $rate limit 20000 || return
	done
	sleep 0.2
	[ "$(field drops)" = 0 ] || return
	end_flows
	qdisc del
}

shrinks_without_loss()
{
	local queued

	qdisc add "$KIND" bandwidth 1mbit limit 1000 && raw "$SND" burst 192.0.2.2 100 1000 >/dev/null || return
	queued=$(field qlen)
	qdisc change "$KIND" limit 10 && [ "$queued" -ge 90 ] && [ "$(field qlen)" -ge 85 ] &&
		[ "$(field drops)" = 0 ] || return
	qdisc change "$KIND" bandwidth 1gbit && sleep 0.01 && [ "$(field qlen)" = 0 ] &&
		[ "$(field packets)" -ge 100 ] && qdisc del
}

replaces_under_traffic()
{
	local kind

	qdisc add "$KIND" bandwidth 100mbit && run_long "${CLASS[@]}" || return
	for kind in "pfifo limit 100" "$KIND bandwidth 50mbit" "fq_codel" "$KIND bandwidth 200mbit" \
		    "$KIND bandwidth 10mbit" "pfifo limit 10" "$KIND bandwidth 1gbit"; do
		sleep 0.05
		# shellcheck disable=SC2086
		qdisc replace $kind || return
	done
	busywait passed 100 || return
	end_flows
	qdisc del
}

deletes_under_traffic()
{
	local _

	qdisc add "$KIND" bandwidth 100mbit && run_long "${CLASS[@]}" || return
	for _ in $(seq 20); do
		sleep 0.02
		qdisc del && qdisc add "$KIND" bandwidth 100mbit || return
	done
	end_flows
	qdisc del
}

below_htb()
{
	qdisc add handle 1: htb default 1 &&
		tc -n "$SND" class add dev veth0 parent 1: classid 1:1 htb rate 100mbit &&
		tc -n "$SND" qdisc add dev veth0 parent 1:1 handle 10: "$KIND" bandwidth 50mbit &&
		flow --bytes 5000000 || return
	busywait empty && [ "$(field packets)" -gt 3000 ] || return
	# the same with a class that is slower than its child; then the child is deleted
	tc -n "$SND" class change dev veth0 parent 1: classid 1:1 htb rate 20mbit &&
		flow --bytes 2000000 && run_long "${CLASS[@]}" && sleep 0.2 &&
		tc -n "$SND" qdisc del dev veth0 parent 1:1 handle 10: && sleep 0.1 &&
		tc -n "$SND" qdisc add dev veth0 parent 1:1 handle 10: "$KIND" bandwidth 50mbit || return
	end_flows
	qdisc del
}

# The device is deleted with packets in its queue.
device_goes()
{
	qdisc add "$KIND" bandwidth 1mbit && raw "$SND" burst 192.0.2.2 100 1000 >/dev/null &&
		ip -n "$SND" link del veth0 && sleep 1 || return
	cleanup
	setup
}

unloads_under_traffic()
{
	qdisc add "$KIND" bandwidth 100mbit && run_long "${CLASS[@]}" && sleep 0.1 || return
	unload && return 1
	qdisc del && busywait unload || return
	sleep 0.1
	end_long
	[ ! -d /sys/module/sch_tcpcc ] && modprobe "sch_$KIND"
}

loads_again_and_again()
{
	local _

	for _ in $(seq 50); do
		modprobe -r sch_tcpcc && modprobe "sch_$KIND" &&
			qdisc add "$KIND" bandwidth 1mbit && qdisc del || return
	done
}

# Random requests with attributes of any kind, $ATTRIBUTES of them with seed $SEED; attributes.py
survives_attributes()
{
	snd "$DIR/attributes.py" veth0 "$KIND" "${ATTRIBUTES:-3000}" "${SEED:-1}" || return
	qdisc del 2>/dev/null
	return 0
}
