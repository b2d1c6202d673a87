// SPDX-License-Identifier: GPL-2.0
/*
 * Finds flows that send more than an ACP link granted.
 *
 * The desired rate p is the same for each flow, so the grant of any flow is one number: the sum of
 * p over time.  A flow that has used less than this sum is within its grant and needs no state.
 * Only flows that are ahead of the sum are kept, with how far they are ahead.  A flow that sends k
 * times its grant gets ahead by k - 1 grants in each period.  If a flow is ahead by the grant of
 * ACP_POLICE_PERIODS periods, this is not a transient any more, and what it sends beyond that is to
 * be dropped.  The flow then gets its grant.
 *
 * A flow learns its grant a round trip later, and the filter of Eq. 4 follows the grant another
 * round trip later.  So the granted rate rises with p at once, but falls by at most an eighth per
 * period.  A flow may send @slack more than that, because senders and routers round differently.
 * Its grant is at least ACP_POLICE_LEAST packets per period, because TCP cannot send less than one
 * packet per round trip.
 *
 * The table is small, and its hash is keyed.  If the set of a flow is full, the flow is not
 * policed.  Instead, each of its packets lowers the entry that is least ahead by the length of the
 * packet, until the flow can take over that entry.  In the end the entries belong to the flows that
 * send most.  A flow within its grant is never confused with another flow, unless two of 2^32
 * hashes are equal.
 */

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/time64.h>

#include "acp_law.h"
#include "acp_police.h"

/* The grant of a flow in so many @us, bytes; neither product overflows 64 bits */
static u64 acp_police_worth(u64 rate, u32 slack, u64 us)
{
	u64 bytes = div_u64(rate * min_t(u64, us, LAW_INTERVAL_MAX), USEC_PER_SEC);

	return bytes + div_u64(bytes * slack, LAW_UNIT);
}

/**
 * acp_police_grant() - compute the grants at the end of a control period
 * @p: police
 * @rate: the desired rate, bytes/s, below 2^LAW_RATE_BITS
 * @slack: share by which a flow may exceed @rate, 1 / LAW_UNIT, at most LAW_UNIT
 * @interval_us: control period, us
 * @size: mean size of packets, bytes
 * @now_ns: time
 */
void acp_police_grant(struct acp_police *p, u64 rate, u32 slack, u32 interval_us,
		      u32 size, u64 now_ns)
{
	u64 us = div_u64(now_ns - p->time_ns, NSEC_PER_USEC);
	u64 least = (u64)ACP_POLICE_LEAST * size;

	p->rate = max(rate, p->rate - (p->rate >> 3));
	p->granted += max(acp_police_worth(p->rate, slack, us), least);
	p->ahead = ACP_POLICE_PERIODS *
		   max(acp_police_worth(p->rate, slack, interval_us), least) +
		   (u64)ACP_POLICE_PACKETS * size;
	p->time_ns = now_ns;
}

/**
 * acp_police_exceeds() - whether a packet exceeds what its flow may send
 * @p: police
 * @hash: hash of the flow
 * @len: length of the packet, bytes
 *
 * If the packet does not exceed it, the packet counts as sent.
 *
 * Return: true if the packet exceeds it
 */
bool acp_police_exceeds(struct acp_police *p, u32 hash, u32 len)
{
	struct acp_police_set *set = &p->set[hash % ACP_POLICE_SETS];
	int i, least = 0;
	u64 used;

	for (i = 0; i < ACP_POLICE_WAYS; i++) {
		if (set->hash[i] == hash)
			break;
		if (set->used[i] < set->used[least])
			least = i;
	}
	if (i == ACP_POLICE_WAYS) {
		i = least;
		if (set->used[i] > p->granted) {
			set->used[i] -= min_t(u64, len, set->used[i] - p->granted);
			return false;
		}
		set->hash[i] = hash;
	}
	used = max(set->used[i], p->granted) + len;
	if (used > p->granted + p->ahead)
		return true;
	set->used[i] = used;
	return false;
}

/**
 * acp_police_over() - how many flows are well ahead of their grant
 * @p: police
 *
 * Return: the number of flows in the table that are ahead by more than half of the allowed amount
 */
u32 acp_police_over(const struct acp_police *p)
{
	u32 i, flows = 0;

	for (i = 0; i < ACP_POLICE_SETS * ACP_POLICE_WAYS; i++)
		flows += p->set[i / ACP_POLICE_WAYS].used[i % ACP_POLICE_WAYS] >
			 p->granted + p->ahead / 2;
	return flows;
}
