#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of the NIST study's senders: loading, parameters, transfers, transfers side by side,
# changing them under traffic, unloading.  Runs as root in the lab kernel
# (scripts/lab exec -- tests/selftests/nist.sh) or on any kernel that has the modules;
# prints KTAP.  Arguments are the names of tests to run; without arguments all tests run.
#
# The namespaces are those of lib.sh, with 100 Mbit/s at the sender.

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/selftests/lib.sh
. "$DIR/lib.sh"

LAWS="reno bic ctcp fast hstcp htcp scalable"

# Tests in the order in which they run; each is a function of this name.
TESTS="registers only_reno_is_free autoloads refuses_bad_values refuses_bad_load transfers ends_slow_start
	times_out coexist changes_under_traffic stays_while_used kernel_is_quiet"

setup()
{
	sysctl -qw net.ipv4.tcp_congestion_control=reno
	setup_pair && shape
}

shape()
{
	tc -n "$SND" qdisc replace dev veth0 root handle 1: tbf rate 100mbit burst 1514 limit 151400
}

each_law()
{
	local law

	for law in $LAWS; do
		"$@" "$law" || { echo "# $law"; return 1; }
	done
}

unload()
{
	modprobe -r "tcp_nist_$1" 2>/dev/null
}

# Unloads a module when its closed sockets are gone
unload_idle()
{
	[ ! -d "/sys/module/tcp_nist_$1" ] || busywait unload "$1"
}

is_there()
{
	modprobe "tcp_nist_$1" &&
		sysctl -n net.ipv4.tcp_available_congestion_control | grep -qw "nist_$1"
}

registers()
{
	each_law is_there
}

# An unprivileged process may choose nist_reno, but no law that takes more than Reno.
only_reno_is_free()
{
	local free

	free=$(sysctl -n net.ipv4.tcp_allowed_congestion_control | grep -o 'nist_[a-z]*')
	# shellcheck disable=SC2086
	[ "$free" = nist_reno ] || { echo "# free to choose:" $free; return 1; }
}

# No law needs the module of another law.
comes_alone()
{
	# except nist_reno, only the first namespace may have these as its default
	sysctl -qw net.ipv4.tcp_congestion_control=reno
	each_law unload_idle && sysctl -qw "net.ipv4.tcp_congestion_control=nist_$1" &&
		[ "$(echo /sys/module/tcp_nist_*)" = "/sys/module/tcp_nist_$1" ]
}

autoloads()
{
	each_law comes_alone
	local status=$?

	sysctl -qw net.ipv4.tcp_congestion_control=reno
	each_law is_there && return $status
}

# refuses LAW PARAMETER=VALUE...: whether each value is refused, and the old value stays
refuses()
{
	local law=$1 name value was

	shift
	for name in sst_max=1 sst_int=0 sst_int=2147483649 "$@"; do
		value=${name#*=} name=/sys/module/tcp_nist_$law/parameters/${name%=*}
		was=$(cat "$name") || return
		if (echo "$value" >"$name") 2>/dev/null || [ "$(cat "$name")" != "$was" ]; then
			echo "# $name accepts $value"
			return 1
		fi
		dmesg | tail -n 1 | grep -q "'$value' is not a whole number" || return
	done
}

refuses_bad_values()
{
	refuses reno && refuses bic beta=1000 b=1 sigma=0 s_max=0 low_window=1 bic_linux=2 &&
		refuses ctcp alpha=1001 beta=0 gamma=0 zeta=-1 k=1001 low_window=x &&
		refuses fast alpha=0 tune=2 alpha1=0 alpha2=0 alpha3=0 m0m1=-1 gain=0 \
			weight=1001 update=0 update_alpha=0 &&
		refuses hstcp low_window=0 high_window=2 beta_high=501 &&
		refuses htcp delta_l=60001 delta_b=1001 beta_max=499 weight=0 update=0 \
			htcp_linux=2 &&
		refuses scalable alpha=0 beta=1000 low_window=0
}

refuses_bad_load()
{
	unload_idle "fast" || return
	! modprobe tcp_nist_fast alpha=0 2>/dev/null && [ ! -d /sys/module/tcp_nist_fast ] &&
		modprobe tcp_nist_fast alpha=80 &&
		[ "$(cat /sys/module/tcp_nist_fast/parameters/alpha)" = 80 ] &&
		unload "fast" && modprobe tcp_nist_fast
}

# flow_uses CC ARGS...: one transfer; its socket must have CC
flow_uses()
{
	local want=$1 got

	shift
	receiver "${1-}" && got=$(sender "$@")
	[ "$got" = "$want" ] || { echo "# used '$got', not $want"; return 1; }
}

carries()
{
	flow_uses "nist_$1" --cc "nist_$1" && flow_uses "nist_$1" -6 --cc "nist_$1"
}

transfers()
{
	each_law carries
}

shows_threshold()
{
	snd ss -tinH 'dport = :5000' | grep -q "nist_$1.* ssthresh:$2 "
}

# The first slow start ends at sst_int, which shows that the law itself runs.
ends_at_threshold()
{
	local status=0

	unload_idle "$1" && modprobe "tcp_nist_$1" sst_int=50 && run_long --cc "nist_$1" || return
	busywait shows_threshold "$1" 50 || status=1
	end_long
	unload_idle "$1" && modprobe "tcp_nist_$1" && return $status
}

ends_slow_start()
{
	each_law ends_at_threshold
}

# field NAME: prints a field of ss for the transfer on port 5000
field()
{
	snd ss -tinH 'dport = :5000' | sed -n "s/.* $1:\\([0-9]*\\) .*/\\1/p"
}

has_timed_out()
{
	[ "$(field cwnd)" = 1 ] && [ -n "$(field ssthresh)" ]
}

# BIC keeps 0.8 of its window at a loss, but a timeout sets ssthresh to half of the window.
times_out()
{
	local cwnd ssthresh

	run_long --cc nist_bic && busywait ss_shows bic && sleep 0.5 || return
	tc -n "$SND" qdisc replace dev veth0 root handle 2: netem loss 100% || return
	sleep 0.05	# ACKs in flight still arrive
	cwnd=$(field cwnd)
	busywait has_timed_out
	ssthresh=$(field ssthresh)
	shape
	end_long
	[ "$ssthresh" = $((cwnd / 2)) ] || { echo "# $ssthresh after $cwnd"; return 1; }
}

# All seven at the same time, through one queue
coexist()
{
	local law flows=() pid status=0

	for law in $LAWS; do
		receiver && { sender --cc "nist_$law" --bytes 5000000 >"used-$law" & } || return
		flows+=($!)
	done
	for pid in "${flows[@]}"; do
		wait "$pid" || status=1
	done
	for law in $LAWS; do
		[ "$(cat "used-$law")" = "nist_$law" ] || status=1
	done
	return $status
}

changes_under_traffic()
{
	local law args=()

	for law in $LAWS; do
		args+=(--cc "nist_$law" --cc cubic)
	done
	flow_uses nist_bic --bytes 30000000 "${args[@]}" --cc nist_bic
}

ss_shows()
{
	snd ss -tinH 'dport = :5000' | grep -q "nist_$1"
}

# A module cannot be unloaded while a flow uses it.  After the flow it can.
stays_and_goes()
{
	local status=0

	run_long --cc "nist_$1" || return
	busywait ss_shows "$1" || status=1
	unload "$1" && status=1
	end_long
	busywait unload "$1" || status=1
	modprobe "tcp_nist_$1" || status=1
	return $status
}

stays_while_used()
{
	each_law stays_and_goes
}

ksft_main "$@"
