// SPDX-License-Identifier: GPL-2.0
/*
 * Who sends more than an ACP link granted.
 *
 * The link wants the same rate p of each flow, so one number says what any of them was
 * granted: the sum of p over time.  A flow that has used less of it than that is within
 * its grant, and nothing need be known of it.  So only those are kept that are ahead of
 * it, with how far.  A flow that sends k times its grant gets ahead by k - 1 of it all the
 * time; one that is ahead by ACP_POLICE_PERIODS periods' worth is no transient any more,
 * and what it sends beyond is to be dropped.  It then gets its grant.
 *
 * A grant is known to its flow a round trip later, and followed by Eq. 4's filter another
 * one later.  So the rate that is reckoned with rises with p at once and falls behind it by
 * an eighth in a period.  A flow may have @slack more than that, for what senders and
 * routers round differently, and never less than ACP_POLICE_LEAST packets in a period: TCP
 * can't send less than one in a round trip.
 *
 * The table is small, and its hash is keyed.  A flow that finds its set full is not
 * policed in that period, but takes from the flow that is least ahead as much as it sends,
 * and then its place: the places come to belong to those who send most.  So no flow within
 * its grant is taken for another's, but if two of 2^32 hashes are equal.
 */

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/time64.h>

#include "acp_law.h"
#include "acp_police.h"

/* What a flow is granted in a time, bytes; neither product overflows 64 bits */
static u64 acp_police_worth(u64 rate, u32 slack, u64 us)
{
	u64 bytes = div_u64(rate * min_t(u64, us, LAW_INTERVAL_MAX), USEC_PER_SEC);

	return bytes + div_u64(bytes * slack, LAW_UNIT);
}

/**
 * acp_police_grant() - a control period has ended
 * @p: police
 * @rate: what the link wants of each flow, bytes/s, below 2^LAW_RATE_BITS
 * @slack: by which share a flow may exceed that, 1 / LAW_UNIT, at most 1
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
 * acp_police_exceeds() - whether a packet is beyond what its flow was granted
 * @p: police
 * @hash: of the flow
 * @len: of the packet, bytes
 *
 * If not, it counts as sent.
 *
 * Return: true if it is
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
 * Return: those that are ahead by half of what is allowed, of those that are known
 */
u32 acp_police_over(const struct acp_police *p)
{
	u32 i, flows = 0;

	for (i = 0; i < ACP_POLICE_SETS * ACP_POLICE_WAYS; i++)
		flows += p->set[i / ACP_POLICE_WAYS].used[i % ACP_POLICE_WAYS] >
			 p->granted + p->ahead / 2;
	return flows;
}
