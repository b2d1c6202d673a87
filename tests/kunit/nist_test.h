/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the NIST study's senders share: flows without a socket.  A test
 * includes the law's source, then this file.
 */
#ifndef _NIST_TEST_H
#define _NIST_TEST_H

#include <kunit/test.h>

#include "near.h"

/* @x thousandths of a segment, as a window */
static inline u64 milli(u32 x)
{
	return div_u64((u64)x << NIST_SCALE, 1000);
}

/* A flow with a window of @segs segments, as nist_init() would leave it */
static inline void begin(struct nist *nist, size_t size, u32 segs)
{
	memset(nist, 0, size);
	nist->cwnd = nist_segs(segs);
	nist->prior = nist->cwnd;
	nist->now_us = USEC_PER_SEC;
	nist->rtt_min_us = U32_MAX;
	if (nist_law.start)
		nist_law.start(nist);
}

/* A round trip in which each segment of the window is acknowledged for itself */
static inline void round_trip(struct nist *nist)
{
	u32 n = nist->cwnd >> NIST_SCALE;

	while (n--)
		nist_law.increase(nist, 1);
}

/* By what the window grows in a round trip */
static inline u64 growth(struct nist *nist)
{
	u64 before = nist->cwnd;

	round_trip(nist);
	return nist->cwnd - before;
}

/* A loss, as nist_ssthresh() would have it */
static inline void lose(struct nist *nist)
{
	nist->prior = nist->cwnd;
	nist->cwnd = max(nist_law.decrease(nist), nist_segs(NIST_CWND_MIN));
}

/* No window leads the law out of what a window can be, nor past slow start's pace. */
static inline void survives(struct kunit *test, struct nist *nist)
{
	static const u32 windows[] = {
		1, 2, 3, 13, 14, 31, 1000, 83000, 333333333, NIST_CWND_MAX,
	};
	int i, j;

	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		for (j = 0; j < 4; j++) {
			u64 most;

			nist->cwnd = nist_segs(windows[i]);
			nist->now_us += USEC_PER_SEC << 10 * j;
			most = nist->cwnd + nist_segs(j + 1);
			nist_law.increase(nist, j + 1);
			KUNIT_EXPECT_LE(test, nist->cwnd, most);
			nist_law.increase(nist, U32_MAX);
			KUNIT_EXPECT_LE(test, nist->cwnd, nist_segs(NIST_CWND_MAX));
			nist->cwnd = nist_segs(windows[i]);
			lose(nist);
			KUNIT_EXPECT_LE(test, nist->cwnd,
					max(nist->prior, nist_segs(NIST_CWND_MIN)));
			KUNIT_EXPECT_GE(test, nist->cwnd, nist_segs(NIST_CWND_MIN));
			if (nist_law.timeout)
				KUNIT_EXPECT_LE(test, nist_law.timeout(nist), nist->prior);
		}
	}
}

#endif /* _NIST_TEST_H */
