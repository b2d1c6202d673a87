#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The lab's networks in Mininet: scripts/mn_tcpcc.py on a distribution's kernel.
# Runs as root where the modules and Mininet are installed; prints KTAP.

DIR=$(dirname "$(readlink -f "$0")")

# shellcheck source=tests/selftests/lib.sh
. "$DIR/lib.sh"

TESTS="three_links mesh four_users bad_setting"
CUSTOM=$DIR/../../scripts/mn_tcpcc.py

setup()
{
	:
}

cleanup()
{
	:
}

# mininet ARGUMENT...: its output is in said.txt.  There is no time limit here, because an
# emulated clock jumps while the guest waits for its host.  The host has a time limit.
mininet()
{
	mn --custom "$CUSTOM" --controller none "$@" > said.txt 2>&1
}

failed()
{
	tail -n 15 said.txt | sed 's/^/# /'
	return 1
}

# Three links and four hosts: each path has the delay of its file, to half a millisecond.
three_links()
{
	mininet --topo tcpcc,acp-fig8,cc=cubic --test rtts || failed || return
	[ "$(grep -c ' links ' said.txt)" = 4 ] || failed || return
	awk '/ links / { want = $4; have = $6; n++; if (have < want || have > want + 0.5) exit 1 }
		END { exit n != 4 }' said.txt || failed
}

# A mesh in which one way back differs from the way there.
mesh()
{
	mininet --topo tcpcc,dumbbell,cc=cubic,network=mesh,duration=5 --test rtts || failed || return
	awk '/ links / { want = $4; have = $6; n++; if (have < want || have > want + 1.5) exit 1 }
		END { exit n != 3 }' said.txt || failed
}

# Four users of ACP share a link, which estimates their number correctly and drops nothing.
four_users()
{
	mininet --topo tcpcc,dumbbell,cc=acp,qdisc=acp,flows=4,rate=20mbit,rtt=40ms,buffer=200,duration=8 \
		--test traffic || failed || return
	grep -q '(dropped 0,' said.txt || failed || return
	awk '$3 ~ /^[0-9.]+$/ && $4 == "ms" { n++; if ($5 < 4.4 || $5 > 5) exit 1 }
		END { exit n != 4 }' said.txt || failed
}

# A wrong setting is reported in one line.
bad_setting()
{
	mininet --topo tcpcc,dumbbell,rate=fast --test rtts
	! grep -q Traceback said.txt || failed || return
	grep -q 'a rate from 1kbit' said.txt || failed
}

command -v mn >/dev/null || skip_all "needs Mininet"
ksft_main "$@"
