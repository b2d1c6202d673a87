# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of a module whose congestion controls need no router: loading, parameters, the ways to
# choose it, what it shows, changing it under traffic, unloading.  A selftest sources this file
# from $DIR, uses the two namespaces of lib.sh, and sets:
#
#   MODULE	name of the module
#   CCS		its congestion controls
#   RESTRICTED	those of CCS that unprivileged processes may not choose
#   BAD_VALUES	PARAMETER=VALUE with values that are refused
#   GOOD_VALUE	PARAMETER=VALUE with a value that is accepted, and is not the default
#   LONG_CC	the congestion control for long transfers
#   SS_SHOWS	pattern of what ss shows of LONG_CC during a transfer
#   EVENT	its tracepoint
#   TRACED	pattern of what EVENT shows of LONG_CC

# shellcheck source=tests/selftests/lib.sh
. "$DIR/lib.sh"

# shellcheck disable=SC2153
PARAMETERS=/sys/module/$MODULE/parameters

# Tests in the order in which they run; each is a function of this name.
# shellcheck disable=SC2034
TESTS="registers autoloads refuses_bad_values refuses_bad_load by_sysctl by_route
	by_route_v6 by_socket shows_in_ss traces changes_under_traffic
	stays_while_used survives_netns_exit loads_again_and_again refused_in_namespaces
	kernel_is_quiet"

setup()
{
	sysctl -qw net.ipv4.tcp_congestion_control=reno
	setup_pair && tc -n "$SND" qdisc add dev veth0 root tbf rate 100mbit burst 1514 limit 151400
}

# flow [-6] ARGS...: one transfer, until it has arrived; prints its congestion control
flow()
{
	local status

	receiver "${1-}" && sender "$@"
	status=$?
	wait
	# the last ACKs are still on their way
	sleep 0.1
	return $status
}

# flow_uses CC ARGS...: one transfer, whose socket has CC at its end.  If CC is in CCS, the
# module's tracepoint must have seen ACKs of this transfer: the law has run, and data has
# arrived.  Otherwise it must have seen none.
flow_uses()
{
	# shellcheck disable=SC2153
	local want=$1 got seen event=$TRACING/events/$EVENT

	shift
	mount_tracing
	echo >$TRACING/trace
	echo 1 >"$event/enable" || return
	got=$(flow "$@")
	echo 0 >"$event/enable"
	# flow() has incremented PORT in a subshell
	seen=$(grep -c "${EVENT#*/}: sport=[0-9]* dport=$((PORT + 1)) " $TRACING/trace)
	[ "$got" = "$want" ] || { echo "# used '$got', not $want"; return 1; }
	case " $CCS " in
	*" $want "*)
		[ "$seen" -gt 0 ] || { echo "# $want has seen no ACK"; return 1; } ;;
	*)
		[ "$seen" = 0 ] || { echo "# not $want alone: $seen ACKs"; return 1; } ;;
	esac
}

available()
{
	sysctl -n net.ipv4.tcp_available_congestion_control | grep -qw "$1"
}

registers()
{
	local name

	modprobe "$MODULE" || return
	for name in $CCS; do
		available "$name" || return
	done
}

# is_restricted NAME: whether unprivileged processes may not choose it
is_restricted()
{
	case " ${RESTRICTED-} " in
	*" $1 "*) ;;
	*) false ;;
	esac
}

# default NAME: makes it the default; a restricted one only in the first namespace
default()
{
	if is_restricted "$1"; then
		sysctl -qw "net.ipv4.tcp_congestion_control=$1"
	else
		snd sysctl -qw "net.ipv4.tcp_congestion_control=$1"
	fi
}

autoloads()
{
	local name

	for name in $CCS; do
		modprobe -r "$MODULE" || return
		default "$name" || return
		[ -d "/sys/module/$MODULE" ] || return
		sysctl -qw net.ipv4.tcp_congestion_control=reno
		snd sysctl -qw net.ipv4.tcp_congestion_control=reno
	done
}

refuses_bad_values()
{
	local name value was

	for name in "$PARAMETERS"/*; do
		case " ${BAD_VALUES//[$'\t\n']/ } " in
		*" ${name##*/}="*) ;;
		*) echo "# no bad value for ${name##*/}"; return 1 ;;
		esac
	done
	for name in $BAD_VALUES; do
		value=${name#*=} name=${name%=*}
		was=$(cat "$PARAMETERS/$name")
		if (echo "$value" > "$PARAMETERS/$name") 2>/dev/null; then
			echo "# $name accepts $value"
			return 1
		fi
		[ "$(cat "$PARAMETERS/$name")" = "$was" ] || return
		dmesg | tail -n 1 | grep -q "$name: '$value' is not a whole number" || return
	done
	value=${GOOD_VALUE#*=} name=${GOOD_VALUE%=*}
	was=$(cat "$PARAMETERS/$name")
	echo "$value" > "$PARAMETERS/$name" && [ "$(cat "$PARAMETERS/$name")" = "$value" ] &&
		echo "$was" > "$PARAMETERS/$name"
}

refuses_bad_load()
{
	modprobe -r "$MODULE" || return
	! modprobe "$MODULE" "${BAD_VALUES%% *}" 2>/dev/null && [ ! -d "/sys/module/$MODULE" ] &&
		modprobe "$MODULE" "$GOOD_VALUE" &&
		[ "$(cat "$PARAMETERS/${GOOD_VALUE%=*}")" = "${GOOD_VALUE#*=}" ] &&
		modprobe -r "$MODULE" && modprobe "$MODULE"
}

by_sysctl()
{
	local name

	for name in $CCS; do
		! is_restricted "$name" || continue
		snd sysctl -qw "net.ipv4.tcp_congestion_control=$name"
		flow_uses "$name" && flow_uses "$name" -6 || return
		snd sysctl -qw net.ipv4.tcp_congestion_control=reno
	done
}

# Must be the last test.  If a namespace is refused a restricted congestion control, Debian's 6.1
# and 7.2 keep a reference to its module (tcp_set_default_congestion_control() takes it before it
# checks the flag).  So the module cannot be unloaded any more.
refused_in_namespaces()
{
	local name

	for name in $CCS; do
		is_restricted "$name" || continue
		! snd sysctl -qw "net.ipv4.tcp_congestion_control=$name" 2>/dev/null &&
			[ "$(snd sysctl -n net.ipv4.tcp_congestion_control)" = reno ] || return
	done
}

by_route()
{
	ip -n "$SND" route add 192.0.2.2 dev veth0 congctl "${CCS%% *}" &&
		flow_uses "${CCS%% *}" && flow_uses reno -6
	local status=$?

	ip -n "$SND" route del 192.0.2.2
	return $status
}

by_route_v6()
{
	ip -n "$SND" -6 route add 2001:db8::2 dev veth0 congctl "$LONG_CC" &&
		flow_uses "$LONG_CC" -6 && flow_uses reno
	local status=$?

	ip -n "$SND" -6 route del 2001:db8::2 dev veth0
	return $status
}

by_socket()
{
	local name

	for name in $CCS; do
		flow_uses "$name" --cc "$name" && flow_uses "$name" -6 --cc "$name" || return
	done
}

ss_shows()
{
	snd ss -tinH 'dport = :5000' | tee ss.txt | grep -Eq "$LONG_CC $SS_SHOWS"
}

unload()
{
	modprobe -r "$MODULE" 2>/dev/null
}

shows_in_ss()
{
	local status=0

	run_long --cc "$LONG_CC" || return
	busywait ss_shows || { sed 's/^/# /' ss.txt; status=1; }
	end_long
	return $status
}

traces()
{
	# shellcheck disable=SC2153
	local status=0 event=$TRACING/events/$EVENT

	mount_tracing
	echo > $TRACING/trace
	echo 1 > "$event/enable" || return
	flow --cc "$LONG_CC" >/dev/null || status=1
	echo 0 > "$event/enable"
	grep -Eq "${EVENT#*/}: sport=[0-9]+ dport=[0-9]+ $TRACED" $TRACING/trace || status=1
	return $status
}

changes_under_traffic()
{
	local name changes=()

	for name in $CCS $CCS; do
		changes+=(--cc cubic --cc "$name" --cc bbr --cc reno --cc "$name")
	done
	flow_uses "$name" --bytes 20000000 "${changes[@]}"
}

stays_while_used()
{
	local status=0

	run_long --cc "$LONG_CC" || return
	busywait ss_shows || status=1
	unload && status=1
	end_long
	busywait unload || status=1
	modprobe "$MODULE" || status=1
	return $status
}

# The unsent data of a killed sender keeps its namespace and the module as long as TCP retries.
# These are some minutes, which take no real time in virtual time.
survives_netns_exit()
{
	run_long --cc "$LONG_CC" || return
	busywait ss_shows || return
	cleanup
	for _ in $(seq 100); do
		unload && break
		sleep 10
	done
	[ ! -d "/sys/module/$MODULE" ] && modprobe "$MODULE" && setup
}

loads_again_and_again()
{
	local _

	for _ in $(seq 50); do
		modprobe -r "$MODULE" && modprobe "$MODULE" || return
	done
}
