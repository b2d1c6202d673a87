// SPDX-License-Identifier: GPL-2.0
/*
 * SEARCH: slow start that ends when the amount delivered stops doubling.
 *
 *   J. Chung, M. Kachooei, F. Li, M. Claypool, "SEARCH -- a New Slow Start Algorithm for TCP and
 *   QUIC", draft-chung-ccwg-search, version 3.0 of the algorithm (2024), section 3
 *
 * A measurement window of 3.5 round trips has 10 bins.  15 more bins are kept, so that it can be
 * compared with the deliveries of a round trip ago.  In slow start twice as much was sent then as
 * was acknowledged, and this amount should be delivered now.  If 35 % of it are missing, the start
 * ends.  The window is set to that of two round trips ago, because the end is noticed so late.
 *
 * Later versions count sent data instead of twice the delivered data, and end the start at 26 %.
 */
#include "starts.h"

#define SEARCH_WINDOW	10	/* bins */
#define SEARCH_BINS	25
#define SEARCH_BIN_RTT	35	/* length of a bin, hundredths of the first rtt: 3.5 / 10 */
#define SEARCH_MISSING	35	/* hundredths */
#define SEARCH_LATE	5	/* whole bins in two round trips: 2 / 0.35 */

/**
 * struct search - per-socket state
 * @after: state after the start
 * @bin_us: length of a bin, us; 0: there is no rtt yet
 * @bin_end_us: end of the open bin, us
 * @delivered: tp->delivered when the open bin began
 * @rtt_us: the latest rtt, us
 * @bins: number of complete bins
 * @bin: segments delivered in each of the last SEARCH_BINS bins
 */
struct search {
	struct starts	after;
	u32		bin_us;
	u32		bin_end_us;
	u32		delivered;
	u32		rtt_us;
	u32		bins;
	u16		bin[SEARCH_BINS];
};

/* Segments delivered in the @n bins before the bin @end */
static u32 search_sum(const struct search *s, u32 end, u32 n)
{
	u32 sum = 0, i;

	for (i = end - n; i != end; i++)
		sum += s->bin[i % SEARCH_BINS];
	return sum;
}

/* Completes the bins that have ended: the last one has all new deliveries, the others have none. */
static void search_fill(struct search *s, u32 now_us, u32 delivered)
{
	u32 passed = (now_us - s->bin_end_us) / s->bin_us + 1, i;

	for (i = 1; i < min_t(u32, passed, SEARCH_BINS); i++)
		s->bin[(s->bins + passed - 1 - i) % SEARCH_BINS] = 0;
	s->bins += passed;
	s->bin_end_us += passed * s->bin_us;
	s->bin[(s->bins - 1) % SEARCH_BINS] = min_t(u32, delivered - s->delivered, U16_MAX);
	s->delivered = delivered;
}

/**
 * search_missing() - whether too little of what slow start sent a round trip ago is delivered
 * @s: the flow, with its bins
 *
 * A round trip is not always a whole number of bins, so both ends of the window are parts of bins.
 *
 * Return: true if at least SEARCH_MISSING hundredths are missing
 */
static bool search_missing(const struct search *s)
{
	u32 back = s->rtt_us / s->bin_us, part = s->rtt_us % s->bin_us;
	u32 end = s->bins - back, first = end - SEARCH_WINDOW - 1, last = end - 1;
	u64 now, sent;

	if (s->bins < back + SEARCH_WINDOW + 1 || back + SEARCH_WINDOW + 1 > SEARCH_BINS)
		return false;
	now = search_sum(s, s->bins, SEARCH_WINDOW);
	sent = 2ULL * search_sum(s, last, SEARCH_WINDOW - 1) * s->bin_us +
	       2ULL * s->bin[first % SEARCH_BINS] * part +
	       2ULL * s->bin[last % SEARCH_BINS] * (s->bin_us - part);
	return sent && now * s->bin_us * 100 <= sent * (100 - SEARCH_MISSING);
}

tcpcc_cong_control(search_control)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct search *s = inet_csk_ca(sk);
	u32 now_us = tp->tcp_mstamp, cwnd;

	if (rs->rtt_us > 0)
		s->rtt_us = rs->rtt_us;
	if (starts_after(sk, rs) || rs->acked_sacked <= 0)
		return;
	if (tcp_is_cwnd_limited(sk))
		tcp_slow_start(tp, rs->acked_sacked);
	if (!s->rtt_us)
		return;
	if (!s->bin_us) {
		s->bin_us = max(s->rtt_us / 100 * SEARCH_BIN_RTT, 1U);
		s->bin_end_us = now_us + s->bin_us;
	}
	if ((s32)(now_us - s->bin_end_us) <= 0)
		return;
	search_fill(s, now_us, tp->delivered);
	if (!search_missing(s))
		return;
	cwnd = tcp_snd_cwnd(tp);
	starts_leave(sk, max_t(s32, cwnd - search_sum(s, s->bins, SEARCH_LATE), TCP_INIT_CWND));
}

static void search_init(struct sock *sk)
{
	memset(inet_csk_ca(sk), 0, sizeof(struct search));
}

STARTS_MODULE(search, "SEARCH: slow start that ends when deliveries stop doubling");
