// SPDX-License-Identifier: GPL-2.0
/*
 * ccpd_path: CCPD for real paths.  The law of tcp_ccpd.c, with a storage that a path needs to
 * be full, a share for each of several flows, and a fast start.  docs/ccpd_path.md has all of it
 * on one page, with what was measured.
 *
 * Eq. 3 as printed leaves a path whose buffer is smaller than 1 + 1 / Kp bandwidth-delay
 * products partly empty (see the head of tcp_ccpd.c).  Here the storage is the one for which
 * the same algebra gives a full path and a small queue, q0:
 *
 *   B = C * (rtt_min * (1 + 1 / Kp) + q0 * (2 + 1 / Kp))
 *
 * C in Eqs. 5 and 6 is replaced by the flow's own claim: what the flow was delivered in the
 * last round trip, plus a share of what is left of C.  That share falls to zero as the queue
 * rises to 2 * q0, and is relatively larger for a smaller flow.  Flows therefore meet at equal
 * rates, with a queue between q0 and 2 * q0 (and what Kp makes each window overshoot) however
 * many they are.  Where there is next to no queue a flow claims a quarter more than it was
 * delivered, whatever is known of C.
 *
 *      a train is late, losses,                  no rtt_min for 10 s, or a queue
 *      or a queue                                that others keep up
 *   SLOW START ----------------------> AVOIDANCE -----------------> DRAIN
 *       ^                               |     ^                       |
 *       +-------------------------------+     +-----------------------+
 *            retransmission timeout               after two round trips
 *
 * Start.  Each round trip sends a train, and nothing else.  The first is the initial window.
 * If a train arrived as it left the next one is faster, and five times as long at most.  The rate
 * at which one arrives late is the capacity.  Rates are counted from the end of one batch of ACKs
 * to that of another, and where a train has too few batches the next takes longer.  Jitter makes a
 * train late, too: where the delay goes on to vary, and no queue stands, the claim is twice what
 * was delivered, until one does.  With visits= the first train is at the rate that the last
 * connection to this peer had, if there was one.
 *
 * Losses.  Many losses beside a queue are an overflow: the claim falls, by at most a half.
 * Without a queue they are noise and do not count, unless they are more than an eighth.  Then
 * something drops what is above its rate (a policer).  That rate caps C until a queue is seen.
 * Fifteen round trips later the cap rises by 1/64 in each without such losses, so that it ends.  A
 * buffer of a few segments cannot lose many: two, and more than an eighth, are an overflow there.
 * An outage is none: losses that a timeout tells of do not count here.
 *
 * Drains.  The window is halved for two round trips when neither rtt_min was met nor the queue
 * ran empty for 10 s, so that rtt_min stays true.  An idle time does the same and starts the 10 s
 * anew.
 *
 * Delay that varies.  The queue is what a round trip takes beyond the least mean rtt of one,
 * not beyond the least rtt: where ACKs come in bunches an empty path takes more than that.
 *
 * A congested way back is no queue of ours: the peer's time stamps tell it from one.
 *
 * Capacity that moves.  Where what is delivered fell at once, and the queue then ran empty round
 * after round, the window follows the queue for 8 s, and not the rate: it grows by an eighth where
 * a packet met an empty path, and falls slowly otherwise.  If none meets one for long the capacity
 * has fallen, or others have come, and the law takes over.
 *
 * Bunches.  On Wi-Fi, or from a virtual machine, the link waits, and then takes much at once.  What
 * one round trip delivers is chance's there, and less than the path carries.  ACKs that come in
 * bunches tell of it.  Then the capacity is taken for one that moves, with a little less window.
 *
 * A strange queue.  A queue that stays above 2 * q0 is not of its making.  A drain tells why: if
 * the delay does not fall, twice in a row, it is the path's own, and rtt_min has grown.  All of our
 * kind give way, and a queue of theirs is gone soon.  If it is there in fifteen round trips, or
 * fewer long ones, one after the other, a flow that yields only to losses shares the link.  Beside
 * such a flow a floor below the window keeps the law from starving.  It grows as fast as CUBIC's
 * window on average, and faster up to a fourth of the path.
 *
 * Real hosts.
 *   o A flow that has too little to send learns nothing of what it could have: its round trips
 *     do not lower the claim, and do not end the start.
 *   o After a timeout slow start ends at the claim from before it, not at C.
 *   o A spurious loss is undone: the claim from before it comes back, the cap ends.  ssthresh
 *     holds that claim, as a window.
 *   o A CE mark leaves 0.85 of the claim (RFC 8511), at most once in a round trip.
 *   o It paces, by the kernel's timer or by fq.  Where TCP's bursts overflow a small buffer
 *     segments leave one by one.  Under SO_MAX_PACING_RATE, and of a subflow of
 *     MPTCP, no pair is timed, and the latter sends no trains.
 *
 * Any process may choose it (TCP_CONG_NON_RESTRICTED): it answers queues before losses, and
 * many losses beside a queue by a quarter of its claim.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <net/mptcp.h>
#include <net/tcp.h>

#include "ccpd_probe.h"
#include "path_single.h"
#include "path_visits.h"
#include "tcpcc_compat.h"
#include "tcpcc_param.h"
#include "tcpcc_view.h"

#define CREATE_TRACE_POINTS
#include "trace_ccpd_path.h"

/* Units of what is kept in 16 bits: a quarter of a second in jiffies, and two in us */
#define PATH_TICK	(HZ / 4)
#define PATH_NOISE	64
#define PATH_QUEUE	8

/* Not known yet */
#define PATH_NO_NOISE	U16_MAX

/*
 * Time stamps are in ms, about 2^10 us.  8 bits tell no more than PATH_FAR.  Both clocks are
 * rounded down, so a sample may be one off, and the one from when rtt_min was met another.  A peer
 * whose clock falls behind by more than these two, after the start, does not count ms.
 */
#define PATH_MS		10
#define PATH_FAR	120U
#define PATH_ROUNDED	2
#define PATH_NO_CLOCK	U8_MAX

/*
 * A round trip's losses count when they are this many, segments, and more than this part of
 * it beside a queue (an overflow), or without one (a policer, and one that is known); path-loss,
 * path-policer.
 */
#define PATH_LOSSES	8U
#define PATH_OVERFLOW	50
#define PATH_POLICER	8
#define PATH_CAPPED	64

/* Much is missing: more than this part of what is in flight; field-crowd */
#define PATH_REPAIR	4

/* A train that has lost more than this part of it was too fast; host=vm, path-flows */
#define PATH_TOO_FAST	4

/*
 * The cap of a policer is 1/2^5 less than what comes through, and PATH_ROUNDS later rises by 1/2^6
 * for each 2^16 us of a round trip without loss, up to four; path-policer, field-random
 */
#define PATH_CAP_BELOW	5
#define PATH_CAP_GROWTH	6

/* Windows are at least this, segments, so that ACKs need not be delayed */
#define PATH_LEAST_WINDOW	4U

/* And so many fourths of what the claim needs without a queue; field-crowd, field-random */
#define PATH_KEEP	3

/*
 * Where no queue stood in so many rounds one after the other, what an empty path takes follows
 * the mean by 1/2^3; host=vm, path-flows
 */
#define PATH_CLEAR_ROUNDS 7
#define PATH_RISE	3

/*
 * A capacity moves if less than so many eighths of the claim were delivered, and then the queue ran
 * empty for so many rounds; so it is taken to be for so long, PATH_TICK; field-moving, path-flows
 */
#define PATH_FALL	5
#define PATH_EMPTY_ROUNDS 4
#define PATH_MOVES	31U

/*
 * The window meanwhile is in 1/2^6 segments.  It grows by 1/2^3 for each 2^16 us of a round trip,
 * up to four, falls by 1/2^6 for each rtt_min, up to 16, and by 1/2^2 at an overflow.  So the queue
 * runs empty in one of nine round trips, if they are short.  That ends when it did not in
 * PATH_ROUNDS - PATH_REPAIRS of them; field-moving, field-random, field-crowd
 */
#define PATH_WINDOW_PART 6
#define PATH_WINDOW_GROWS 3
#define PATH_WINDOW_FALLS 6
#define PATH_WINDOW_LONG 16U
#define PATH_WINDOW_OVERFLOW 2
#define PATH_WINDOW_MOST BIT(30)

/*
 * An ACK is of a bunch if it comes 2^5 times as soon after another as the path carries what it
 * acknowledges.  More cannot be asked for: two full segments take 36 times as long as their ACK
 * does on a way back of the same rate.
 * Before a bunch there is a pause: of more than 3/2^4 of a round trip, and of more than
 * PATH_PAUSE_SEGS at the rate of the path.  With 1/2^3, jitter of 1/2^2 of a round trip on the ACKs
 * of one of two flows is taken for bunches, too.  An ACK of a bunch counts PATH_BUNCH, up to
 * PATH_BUNCHES_MOST, and another takes one away.  From PATH_BUNCHES on there are bunches, and
 * PATH_FEW_LOSSES are enough for an overflow; field-moving, field-hosts, field-starvation
 */
#define PATH_AT_ONCE	5
#define PATH_PAUSE	4
#define PATH_PAUSE_SEGS	4
#define PATH_BUNCH	3
#define PATH_BUNCHES	8
#define PATH_BUNCHES_MOST 15
#define PATH_FEW_LOSSES	2

/*
 * A late train may have been stretched by jitter, where that is more than 1/2^4 of rtt_min and than
 * so many segments take; field-random, test_ccpd.py
 */
#define PATH_JITTER	4
#define PATH_JITTER_SEGS 6

/*
 * What must be withdrawn to tell something from it: more than so many segments, which others do not
 * replace within two round trips, and 1/2^5 of what the path holds; path-share, path-flows.  Or
 * 1/2^3 of that, where it holds few; field-random
 */
#define PATH_LEAST_WITNESS	8U
#define PATH_WITNESS	5
#define PATH_FEW_WITNESS	3

/* A flow that gave way looks at the path after 1/2^2 of the time; field-random, field-moving */
#define PATH_SOONER	2

/* Where no pair was seen a flow takes itself for one of 2^3 that share the path; path-flows */
#define PATH_UNKNOWN	3

/*
 * The least queue to aim at, segments: windows are of whole segments, ACKs are for two, and a link
 * takes several at once.  CoDel's target, 5 ms, is four at 10 Mb/s; field-random, test_ecn.py
 */
#define PATH_LEAST_QUEUE	4U

/*
 * A train of the start has at most so many times as many segments as the one before, and leaves in
 * 1/2^5 of a round trip, if batches do not ask for longer; path-start, field-batches
 */
#define PATH_TRAIN_GROWTH	5
#define PATH_TRAIN_TIME	5

/* A shorter train, segments, says nothing: it may be a single ACK's (cc_scripts, limits) */
#define PATH_LEAST_TRAIN	8U

/*
 * A first train at a remembered rate is 1/2^3 of what the path held at most: at a fourth of the
 * rate a buffer of half of what the path then holds takes it.  If it is in time, half of what the
 * path held follows.  The rtt may be half of what it was, to ten times as long (Careful Resume);
 * path-visit.
 */
#define PATH_VISIT_PART	3
#define PATH_VISIT_FAR	10

/* ACKs so close to one another, us, are of one batch; field-batches */
#define PATH_CLOSE_US	50U

/* A train spans so many batches, to the nearest, or does not tell a rate; field-batches */
#define PATH_SURE	4U

/* Slow start ends at a queue of 2 * q0 and this, us: more than a host's own delays; stock_hosts */
#define PATH_HOST_DELAY_US	1000

/*
 * Fewer segments than this in a round trip say nothing of a capacity that moves, and their mean
 * little of an empty path; path-flows, test_ccpd.py
 */
#define PATH_BATCH	16U

/*
 * What an empty path may have beyond a rate: a quarter for each 2^16 us of a round trip, up to
 * four; field-random (cellular), field-moving
 */
#define PATH_ROOM	16
#define PATH_ROOM_MOST	4U

/* Rounds for which to give way to a queue above 2 * q0 before a look; path-flows */
#define PATH_DOUBT	2

/* A look has been taken, and told nothing: somebody else's, if it stays for PATH_ROUNDS */
#define PATH_UNSURE	3

/*
 * After that look a round trip counts once, and once more for each 2^17 us that it takes.  A loss
 * of the rival's empties the queue, and the count begins anew.  CUBIC has one every few seconds,
 * and fifteen long round trips take longer than that; field-beside.  So it counts without a queue,
 * since a capacity that moves does not wait for long ones; field-moving, field-random
 */
#define PATH_LONG_ROUND	17

/* Beside a rival, before our first loss: the window grows fast however full the buffer is */
#define PATH_CATCH_UP	3

/* It does so until 1/6 of the capacity is ours; field-beside, path-share */
#define PATH_OUR_PART	6

/*
 * Rounds of avoidance in which a loss is still of those that ended slow start: two repairs, and
 * the DSACK of each, one after the other; stock_cases, reordering_100
 */
#define PATH_REPAIRS	4U

/*
 * Rounds without a drain after which a standing queue is one of ours; path-flows.  And without a
 * policer's losses, after which its cap rises: each rise costs some; path-policer.
 */
#define PATH_ROUNDS	15U

/*
 * sk_pacing_shift: TCP's own, by which a burst for TSO takes a millisecond, and the largest: 61 us;
 * field-rates
 */
#define PATH_TSO_SHIFT	10
#define PATH_TSO_SHIFT_MOST 14

/*
 * Whatever the rate of pacing is, TCP sends bursts of 64 kB, so many segments, halved for each
 * 2^9 us of the round trip (tcp_tso_rtt_log); field-rates
 */
#define PATH_TSO_SEGS	44U
#define PATH_TSO_RTT	9

/* On longer paths such a burst is no more than PATH_LEAST_QUEUE */
#define PATH_SHORT_US	(4U << PATH_TSO_RTT)

/*
 * An ACK for more than so many segments, two of a delayed one and one more, would release a burst
 * itself; field-random
 */
#define PATH_CLOCKED	3U

/*
 * At most one segment in so many us leaves by itself, 375 Mb/s.  More would cost a host too much,
 * and TCP has two packets in a device at least, which may take longer to say that they have left.
 */
#define PATH_SINGLE_US	32

TCPCC_PARAM(kp, 4, 1, 16, "Proportional gain Kp of Eq. 3, no unit");
TCPCC_PARAM(kd, 100, 0, 100000, "Derivative gain Kd of Eq. 3, us");
TCPCC_PARAM(start, 1, 0, 1,
	    "1: start with trains at the measured capacity; 0: slow start");
TCPCC_PARAM(drain, 10, 1, 3600,
	    "Time without a new rtt_min before the queue is drained, s");
TCPCC_PARAM(visits, 0, 0, 10080,
	    "Start at the capacity of a connection to the same peer that ended so long ago, min");

enum path_mode {
	PATH_SLOW_START,	/* trains, or window grows by what is acknowledged */
	PATH_AVOIDANCE,		/* window from Eq. 3 */
	PATH_DRAIN,		/* window halved to see rtt_min */
	PATH_NOT_OURS,		/* before_loss: of another congestion control */
};

enum path_train {
	TRAIN_NONE,		/* plain slow start */
	TRAIN_WANTED,		/* until the next ACK */
	TRAIN_SENT,		/* until its first ACK */
	TRAIN_FIRST,		/* until the last of its first batch */
	TRAIN_OPEN,		/* until its last */
};

enum path_rival {
	PATH_FRIENDLY,		/* all that share the queue give way to it */
	PATH_EMPTY,		/* one look says that there is no queue: the path is longer */
	PATH_FOREIGN,		/* it is kept up by others */
	PATH_UNASKED,		/* no drain has told yet */
};

/**
 * struct cpath_train - how a train arrives
 * @begin: tp->delivered when its first batch had come; until its first ACK, before it, with losses
 * @begin_us: when that batch had come
 * @last_us: when the latest ACK came
 * @gap_us: the largest time between two ACKs
 * @best_segs: delivered from then on when the rate was largest
 * @best_us: in this time; in the first batch, how long that has taken
 */
struct cpath_train {
	u32	begin;
	u32	begin_us;
	u32	last_us;
	u32	gap_us;
	u32	best_segs;
	u32	best_us;
};

/**
 * struct cpath - per-socket state
 * @probe: the estimators
 * @t: of a train, in place of the pair that is timed: there is none then
 * @claim: our part of the capacity, BW_SCALE; in a train the rate at which it leaves
 * @delay_sum: of the segments acknowledged in this round trip, rtt beyond rtt_min, PATH_NOISE us
 * @cap: what a policer lets through, BW_SCALE, if @capped
 * @floor: least window beside others, segments; while path_has_window() the least one there,
 *	1/2^PATH_WINDOW_PART segments
 * @train_end: of a train: what is delivered or lost when all of it is through
 * @prev: in avoidance: the evaluation before
 * @train_us: of a train: the time in which it leaves, us; 0: at once
 * @train_rtt_us: its least rtt, us
 * @before_us: in a drain: mean rtt before it, us
 * @round_lost: losses that ACKs told of in this round trip, segments
 * @rtt_min_stamp: when rtt_min was last met, or the queue ran empty, PATH_TICK
 * @met: the claim was delivered in this round trip; path_has_met()
 * @late: in avoidance: the start ended with a train that was late, and no queue was seen since
 * @noise: mean delay of an empty path beyond rtt_min, PATH_NOISE us
 * @round_queue: least rtt of the round trip before, beyond rtt_min, PATH_QUEUE us
 * @train_stamp: of a train: the peer's time stamp when the first batch of its ACKs had come
 * @room: largest rtt beyond rtt_min, PATH_QUEUE us
 * @way: when rtt_min was met: the peer's time stamp less the time of sending, ms, modulo 2^8
 * @back: what the way back takes beyond what it took then, ms; PATH_NO_CLOCK: cannot be told
 * @mode: enum path_mode
 * @capped: there is a policer
 * @limited: the application had too little to send in this round trip
 * @rounds: in this mode, up to PATH_ROUNDS; while a rival is looked for long ones count for more
 * @doubt: rounds with a queue above 2 * q0, up to PATH_UNSURE; beside a rival, looks after which
 *	the queue was gone, or PATH_CATCH_UP
 * @rival: enum path_rival
 * @moves: for so many PATH_TICKs more the capacity may be what it was before, or @fell
 * @empty: rounds one after the other with next to no queue, up to PATH_EMPTY_ROUNDS
 * @fell: it has fallen, and is not known to have risen again; of a train: its rate is remembered
 * @tick: path_now() when that was counted, modulo 2
 * @clear: rounds one after the other in which a packet took less than what an empty path takes
 * @paused: in avoidance: no ACK has come since a pause but those of a bunch
 * @bunches: in avoidance: of the latest ACKs, how many came in bunches, up to PATH_BUNCHES_MOST
 * @train: in slow start: enum path_train
 * @train_zero: nothing was in flight before it
 * @train_limited: the application, or a window, left too little for this train
 * @before_loss: @mode before the last loss
 */
struct cpath {
	union {
		struct ccpd_probe probe;
		struct cpath_train t;
	};
	u32	claim;
	u32	delay_sum;
	union {
		u32	cap;
		u32	floor;
		u32	train_end;
	};
	union {
		struct ccpd_prev prev;
		struct {
			u32	train_us;
			u32	train_rtt_us;
		};
		u32	before_us;
	};
	u16	round_lost;
	u16	rtt_min_stamp:14,
		met:1,
		late:1;
	u16	noise;
	union {
		u16	round_queue;
		u16	train_stamp;
	};
	u16	room;
	u8	way;
	u8	back;
	u16	mode:2,
		capped:1,
		limited:1,
		rounds:4,
		doubt:2,
		rival:2,
		fell:1,
		tick:1,
		before_loss:2;
	u8	moves:5,
		clear:3;
	union {
		struct {
			u8	train:3,
				train_zero:1,
				train_limited:1;
		};
		struct {
			u8	empty:3,
				paused:1,
				bunches:4;
		};
	};
};

/* ------------------------------------------------------------------------- */
/* The law: pure functions, driven by tests/kunit                             */

/**
 * path_q0_us() - the queueing delay to aim at, q0
 * @bw: capacity, BW_SCALE
 * @rtt_min_us: us
 * @room_us: the largest delay beyond that, us
 * @varies_us: by how much the delay varies, us; path_varies_us()
 *
 * A sixteenth of the propagation delay, or a quarter of the buffer where that
 * is less; where no queue was ever seen, a sixty-fourth.  Where the delay varies
 * by itself, as on Wi-Fi, as much as that, up to a quarter: less than that is
 * never seen, and the law would give way to it all the time.  Never less than
 * PATH_LEAST_QUEUE segments take, or windows of whole segments would miss it.  Down to half as
 * many where a buffer has no room for twice as many: 2 * q0 overflows it in each round trip.
 * Nor less than a burst for TSO takes, up to a quarter of the propagation delay: it queues
 * behind itself.
 *
 * Return: us, at least 1
 */
static u32 path_q0_us(u32 bw, u32 rtt_min_us, u32 room_us, u32 varies_us)
{
	u32 segs = PATH_LEAST_QUEUE, least = (rtt_min_us >> 6) + 1, us;
	u32 most = max3(rtt_min_us >> 4, least, min(varies_us, rtt_min_us >> 2));
	u32 q0 = clamp(room_us >> 2, least, most);

	if (rtt_min_us < PATH_SHORT_US)
		segs = PATH_TSO_SEGS >> (rtt_min_us >> PATH_TSO_RTT);
	/* that many take no longer: nothing to divide */
	if (!bw || (u64)bw * q0 > segs << BW_SCALE)
		return q0;
	us = (PATH_LEAST_QUEUE << BW_SCALE) / bw + 1;
	if (room_us)
		us = min(us, max(room_us, us) / 2);
	if (segs > PATH_LEAST_QUEUE)
		us = max(us, min((segs << BW_SCALE) / bw + 1, rtt_min_us >> 2));
	/* a larger least, which may be larger than the most */
	return max(q0, us);
}

/**
 * path_storage() - the storage for which Eq. 3 fills the path
 * @claim: our part of the capacity, BW_SCALE
 * @gain: Kp
 * @rtt_min_us: us
 * @q0_us: queueing delay to aim at, us
 *
 * B = claim * (rtt_min * (1 + 1 / Kp) + q0 * (2 + 1 / Kp)), from Eq. 3 in
 * equilibrium with w = f = claim * (rtt_min + q0) and x = claim * q0.
 *
 * Return: Kp * B, SEG_SCALE: so there is nothing to divide
 */
static s64 path_storage(u32 claim, u32 gain, u32 rtt_min_us, u32 q0_us)
{
	return (gain + 1) * ccpd_segs(claim, rtt_min_us) +
	       (2 * gain + 1) * ccpd_segs(claim, q0_us);
}

/**
 * path_log2() - binary logarithm, linear between powers of two
 * @v: at least 1
 *
 * Return: log2(v), scaled by 2^8, at most 0.09 too small
 */
static u32 path_log2(u32 v)
{
	u32 e = fls(v) - 1;

	return (e << 8) + ((v << (31 - e) & S32_MAX) >> 23);
}

/**
 * path_share() - what a flow may ask of the capacity
 * @rate: what it was delivered in the last round trip, BW_SCALE
 * @bw: capacity, BW_SCALE
 * @queue_us: queueing delay in that round trip, us
 * @q0_us: queueing delay to aim at, us
 *
 * rate * (1 + ln(C / rate) / 8 * (1 - queue / (2 * q0))): a flow that has the
 * capacity to itself asks for no more, one of N equal flows for up to ln(N) / 8
 * more, and none for more once the queue is 2 * q0.  The logarithm makes small
 * flows grow faster than large ones by the same factor at any N.
 *
 * Return: rate, BW_SCALE
 */
static u32 path_share(u32 rate, u32 bw, u32 queue_us, u32 q0_us)
{
	u32 room, share;
	u64 more;

	if (!rate || rate >= bw || queue_us >= 2 * q0_us)
		return rate;
	room = div_u64((u64)(2 * q0_us - queue_us) << 7, q0_us);  /* 2^8 */
	share = path_log2(bw) - path_log2(rate);		  /* 2^8 */
	/* ln 2 / 8 is 22 / 2^8; the product is below 2^32 * 2^8 * 2^13 * 2^5 */
	more = (u64)rate * room * share * 22 >> 24;
	return min_t(u64, rate + more, bw);
}

/*
 * rtt / 2^PATH_ROOM us, from 1 to PATH_ROOM_MOST: a long path has few round trips in which to
 * follow the capacity.
 */
static u32 path_long(u32 rtt_us)
{
	return clamp(rtt_us >> PATH_ROOM, 1U, PATH_ROOM_MOST);
}

/**
 * path_room() - what a flow may ask for where there is next to no queue
 * @rate: what it was delivered in the last round trip, BW_SCALE
 * @rtt_us: round-trip time, us
 * @queue_us: mean queueing delay in that round trip, us
 * @q0_us: queueing delay to aim at, us
 *
 * rate * (1 + (1 - 2 * queue / q0) * n / 4): where nobody keeps up a queue the capacity is more
 * than is known of it, or somebody has left.  In equilibrium there is one, and this asks for none.
 * n: path_long()
 *
 * Return: rate, BW_SCALE
 */
static u32 path_room(u32 rate, u32 rtt_us, u32 queue_us, u32 q0_us)
{
	u32 part = (rate >> 2) * path_long(rtt_us);

	if (queue_us >= q0_us / 2)
		return rate;
	return min_t(u64, rate + div_u64((u64)part * (q0_us - 2 * queue_us), q0_us), U32_MAX);
}

/**
 * path_is_longer() - was there no queue that we withdrew from?
 * @withdrawn: what we have less in flight than before, segments
 * @fell_us: by how much the delay has fallen since, us
 * @rtt_us: mean rtt now, us
 * @bw: capacity, BW_SCALE
 *
 * If the delay fell by less than a quarter of what we withdrew takes to pass, there is no queue,
 * and what delay is left is the path's own.  One of many flows withdraws so little that what the
 * others do meanwhile hides it.  It cannot tell that.
 *
 * Return: whether it is the path that is longer
 */
static bool path_is_longer(u32 withdrawn, u32 fell_us, u32 rtt_us, u32 bw)
{
	s64 fell = ccpd_segs(bw, fell_us);
	s64 pipe = ccpd_segs(bw, rtt_us) >> SEG_SCALE;
	u32 least = withdrawn > PATH_LEAST_WITNESS ? PATH_WITNESS : PATH_FEW_WITNESS;

	return withdrawn >= pipe >> least && fell < (s64)withdrawn << (SEG_SCALE - 2);
}

/* ------------------------------------------------------------------------- */
/* What is known of the path                                                 */

/* Time in units of PATH_TICK */
static u16 path_now(void)
{
	return tcp_jiffies32 / PATH_TICK;
}

/* How long ago that was, PATH_TICK, below 2^14 */
static u16 path_since(u16 stamp)
{
	return (path_now() - stamp) & (BIT(14) - 1);
}

/* Once in a PATH_TICK, and in a round trip: rates of 4 to 8 s ago are remembered. */
static void path_age(struct cpath *ca)
{
	if (ca->tick == (path_now() & 1))
		return;
	ca->tick ^= 1;
	ca->moves -= !!ca->moves;
	ca->fell &= !!ca->moves;
	ccpd_age(&ca->probe);
}

/* For how many more than one a round trip counts, which is long. */
static u32 path_more_rounds(const struct cpath *ca)
{
	return ca->probe.rtt_s >> (PATH_LONG_ROUND + 3);
}

/* ACKs come in bunches. */
static bool path_bunched(const struct cpath *ca)
{
	return ca->mode != PATH_SLOW_START && ca->bunches >= PATH_BUNCHES;
}

/* The capacity may be again what it was in the last seconds, or more than a round trip shows. */
static bool path_moves(const struct cpath *ca)
{
	return (ca->moves && !ca->fell) || path_bunched(ca);
}

/*
 * It moves, and @floor is a window for that.  Where ACKs come in bunches a round trip has too few
 * of them to tell if the queue ran empty.  A policer's cap, and the floor beside a rival, have the
 * same place.
 */
static bool path_has_window(const struct cpath *ca)
{
	return ca->moves && !ca->fell && !path_bunched(ca) && !ca->capped &&
	       ca->rival != PATH_FOREIGN;
}

/*
 * What the capacity may be where it moves, BW_SCALE; 0: it does not.  It is the most that was
 * delivered lately, if that was not too much.
 */
static u32 path_moving_rate(const struct cpath *ca)
{
	if (!path_moves(ca))
		return 0;
	return ca->fell ? ca->claim : ccpd_delivery_rate(&ca->probe);
}

/*
 * The window there, segments: what fills a path of @us at that rate, or what the queue says.  Three
 * eighths more where ACKs come in bunches: it may be that only ACKs do, and the link never waits;
 * test_hosts.py.
 */
static u32 path_moving_window(const struct cpath *ca, u32 us)
{
	s64 fills = ccpd_segs(path_moving_rate(ca), us);

	if (path_bunched(ca))
		return 11 * fills >> (SEG_SCALE + 3);
	return max_t(s64, fills >> SEG_SCALE,
		     path_has_window(ca) ? ca->floor >> PATH_WINDOW_PART : 0);
}

/*
 * An overflow, or a mark: the window was too large, or the capacity is not what it was before.
 * Where ACKs come in bunches what is claimed takes the place of the most that was delivered lately.
 */
static void path_too_much(struct cpath *ca)
{
	ca->late = 0;
	if (path_has_window(ca)) {
		ca->floor -= ca->floor >> PATH_WINDOW_OVERFLOW;
		return;
	}
	ca->fell = path_bunched(ca);
	ca->moves = ca->fell ? PATH_MOVES : 0;
}

/*
 * C, as far as a policer lets it through.  Without a pair it is a little more than what was
 * delivered, until that is the cap: what was delivered is no more than what was claimed, and as a
 * capacity it would keep the claim as it is.
 */
static u32 path_capacity(const struct cpath *ca)
{
	u32 bw = ccpd_capacity(&ca->probe);

	if (!ca->capped)
		return bw;
	if (!ccpd_pair_bw(&ca->probe))
		bw = min_t(u64, (u64)bw + (bw >> PATH_CAP_BELOW), U32_MAX);
	return min(bw, ca->cap);
}

static void path_set_noise(struct cpath *ca, u32 us)
{
	ca->noise = min(us / PATH_NOISE, PATH_NO_NOISE - 1U);
}

/* A segment that took less than half of what others take has overtaken them. */
static bool path_overtook(const struct cpath *ca, u32 rtt_us)
{
	return rtt_us && rtt_us < ca->probe.rtt_s >> 4;
}

/* So many segments took @us more than rtt_min, in this round trip. */
static void path_add_delay(struct cpath *ca, u32 us, u32 segs)
{
	ca->delay_sum = min_t(u64, ca->delay_sum + (u64)(us / PATH_NOISE) * segs, U32_MAX);
}

/*
 * A smaller rtt than @before_us, the least until now, by luck: an empty path takes the same, and
 * so did the @overtaken segments of this round trip.  Where none are, the path may have become
 * shorter, and what is delivered now shows it.
 */
static void path_rtt_min(struct cpath *ca, u32 before_us, u32 overtaken)
{
	u32 less_us = before_us - ca->probe.rtt_min_us;

	ca->room = min(ca->room + less_us / PATH_QUEUE, U16_MAX);
	path_add_delay(ca, less_us, overtaken);
	if (ca->noise != PATH_NO_NOISE)
		path_set_noise(ca, ca->noise * PATH_NOISE + less_us);
}

/* What an empty path takes beyond rtt_min on average, us */
static u32 path_noise_us(const struct cpath *ca)
{
	return ca->noise == PATH_NO_NOISE ? 0 : ca->noise * PATH_NOISE;
}

/* Nothing is known to delay on the way back. */
static bool path_back_is_clear(const struct cpath *ca)
{
	return !ca->back || ca->back == PATH_NO_CLOCK;
}

/* More than rtt_min/8 on the way back is a queue that stands there; less may be jitter of ACKs */
static bool path_back_stands(const struct cpath *ca)
{
	return !path_back_is_clear(ca) && ca->back << PATH_MS > ca->probe.rtt_min_us >> 3;
}

/* What the way back takes beyond its least, us; what was rounded off is added to a queue only */
static u32 path_back_us(const struct cpath *ca)
{
	if (path_back_is_clear(ca))
		return 0;
	return (ca->back + (path_back_stands(ca) ? PATH_ROUNDED : 0)) << PATH_MS;
}

/* What a path without a queue on the way there takes on average, us */
static u32 path_base_us(const struct cpath *ca)
{
	return ca->probe.rtt_min_us + path_noise_us(ca) + path_back_us(ca);
}

static u32 path_beyond_us(const struct cpath *ca, u32 rtt_us)
{
	return rtt_us - min(rtt_us, path_base_us(ca));
}

/* Largest delay beyond rtt_min, us */
static u32 path_room_us(const struct cpath *ca)
{
	return ca->room * PATH_QUEUE;
}

/* The smoothed rtt, us, with what the way back takes now */
static u32 path_smoothed_us(const struct cpath *ca)
{
	return (ca->probe.rtt_s >> 3) + path_back_us(ca);
}

/* Queueing delay, us, in the least rtt of this round trip */
static u32 path_round_queue_us(const struct cpath *ca)
{
	return path_beyond_us(ca, ca->probe.round_rtt_us);
}

/* And in the round trip before */
static u32 path_queue_before_us(const struct cpath *ca)
{
	return path_beyond_us(ca, ca->probe.rtt_min_us + ca->round_queue * PATH_QUEUE);
}

/* And in the smoothed rtt, of which path_rtt() has taken the way back out */
static u32 path_queue_us(const struct cpath *ca)
{
	return ccpd_queue_us(&ca->probe, ca->probe.rtt_min_us + path_noise_us(ca));
}

/*
 * By how much the delay varies, us: as much may q0 be.  What an empty path takes beyond rtt_min is
 * another for each flow, since who comes late has met no empty path, and the one with the largest
 * q0 has all.  So once there was a drain it counts no more than twice what an rtt differs from
 * those before: that is the same for all that share a queue.  Where rtts are alike half of it
 * counts, up to twice the least q0.
 */
static u32 path_varies_us(const struct sock *sk)
{
	const struct cpath *ca = inet_csk_ca(sk);
	u32 noise_us = path_noise_us(ca);

	if (ca->rival == PATH_UNASKED)
		return noise_us;
	/* mdev_us is four times the mean deviation */
	return max(min(noise_us, tcp_sk(sk)->mdev_us / 2),
		   min(noise_us / 2, ca->probe.rtt_min_us >> 3));
}

/*
 * @bw: the capacity, BW_SCALE.  Where it moves, the least queue is PATH_LEAST_QUEUE segments at the
 * claim: at @bw, the most that was seen lately, they may take less time than one takes now.  Not on
 * a short path: a burst for TSO leaves it at @bw; field-random.
 */
static u32 path_q0(const struct sock *sk, u32 bw)
{
	const struct cpath *ca = inet_csk_ca(sk);

	if (path_moves(ca) && ca->probe.rtt_min_us >= PATH_SHORT_US)
		bw = min(bw, ca->claim);
	return path_q0_us(bw, ca->probe.rtt_min_us, path_room_us(ca), path_varies_us(sk));
}

/*
 * Where ACKs come in bunches a round trip has a few of them, and chance decides its mean.  So it
 * does where a round trip has few segments.  What an empty path takes is an average of many there:
 * the least would be the luckiest, and a flow that takes all else for a queue goes on giving way.
 * By how much the delays of a round trip differ is a part of it, and no queue.
 */
static void path_learn_average(struct cpath *ca, u32 mean_us, u32 q0)
{
	u32 known_us = path_noise_us(ca), least_us = ca->probe.round_rtt_us - ca->probe.rtt_min_us;
	u32 differ_us = mean_us - min(mean_us, least_us);

	if (mean_us < known_us)
		path_set_noise(ca, known_us - ((known_us - mean_us) >> PATH_RISE));
	else if (differ_us > known_us && least_us < q0 / 2)
		path_set_noise(ca, known_us + ((differ_us - known_us) >> PATH_RISE));
}

/*
 * What an empty path takes is the least mean rtt of a round trip.  ACKs that come in bunches,
 * and all else that delays a packet now and then, are in the mean.  So they are no queue.  The
 * least of many means is a mean of few: where a packet has met less than that in round after
 * round, no queue stands, and it follows the mean.  Not where all the delay that was ever seen is
 * less than the largest q0: there a packet meets less than that beside a queue of ours as well.
 * Packets that keep their order wait for the slowest before them.  Where jitter is more than the
 * largest q0, many of them all take longer than the few from which the base was learned, without
 * a queue.  So there something that met less than q0 / 2 beyond the base will do; field-random.
 */
static u32 path_learn_base(struct cpath *ca, u32 delivered, u32 q0)
{
	u32 known_us = ca->noise * PATH_NOISE, mean_us;
	u32 none_us = known_us > ca->probe.rtt_min_us >> 2 ? q0 / 2 : 0;

	if (ca->probe.round_rtt_us == U32_MAX || delivered < PATH_LEAST_WINDOW)
		return path_queue_us(ca);
	mean_us = div_u64((u64)ca->delay_sum * PATH_NOISE, delivered);
	if ((path_bunched(ca) || delivered < PATH_BATCH) && ca->noise != PATH_NO_NOISE) {
		path_learn_average(ca, mean_us, q0);
		return mean_us - min(mean_us, known_us);
	}
	ca->clear = path_round_queue_us(ca) > none_us ||
		    path_room_us(ca) < ca->probe.rtt_min_us >> 4 ?
		    0 : min(ca->clear + 1, PATH_CLEAR_ROUNDS);
	if (mean_us < known_us)
		path_set_noise(ca, mean_us);
	else if (ca->clear == PATH_CLEAR_ROUNDS)
		path_set_noise(ca, known_us + ((mean_us - known_us) >> PATH_RISE));
	return mean_us - min(mean_us, known_us);
}

/*
 * The rtt of a packet that was not delayed more than others: the least of this round trip and
 * of the one before, since a queue that stands, ours or others', delays all.  The mean would
 * let pairs count that were held back and came together.  At the start it is the rtt of the
 * handshake, since all ACKs of the first window may have been held back together.
 */
static u32 path_least_us(const struct sock *sk)
{
	const struct cpath *ca = inet_csk_ca(sk);

	if (ca->mode == PATH_SLOW_START)
		return ccpd_least_us(sk, &ca->probe);
	return min(ca->probe.round_rtt_us,
		   ca->probe.rtt_min_us + ca->round_queue * PATH_QUEUE);
}

/*
 * A queue on the way back is none of ours, and to give way does not empty it.  The peer's time
 * stamp less the time at which the segment left is what the way there took, and how far the clocks
 * are apart.  So what an rtt is longer by, and the way there is not, is of the way back (as LEDBAT
 * and TCP-LP tell them apart).  The stamp that the peer echoes would not do: it is of the first
 * segment that an ACK is for, and the rtt is of the last.
 *
 * The estimate moves by at most 1 ms per ACK, since one sample says little.  It is at most four
 * times rtt_min: a peer that lies gains no more queue than that.
 *
 * The way there is empty where rtt_min is met again, @met: by what is smoothed, so not while the
 * way back takes more.  A new rtt_min may come from a shorter way back, beside a queue there.  So
 * it may only make the way there shorter.  In the start any ACK may, since the first may have
 * waited for its timer.  So may one of a mode's first round trip: after the start it is for what
 * that has sent.
 */
static void path_way_back(struct sock *sk, u32 rtt_us, bool met)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 rtt_min_us = ca->probe.rtt_min_us, beyond_ms = (rtt_us - rtt_min_us) >> PATH_MS;
	u8 way = tp->rx_opt.rcv_tsval - (u32)div_u64(tp->tcp_mstamp - rtt_us, USEC_PER_MSEC);
	s32 there_ms = (s8)(way - ca->way), back_ms;

	if (!tp->rx_opt.rcv_tsecr || ca->back == PATH_NO_CLOCK || beyond_ms > PATH_FAR)
		return;
	if ((met && !ca->back) ||
	    (there_ms < 0 &&
	     (rtt_us == rtt_min_us || ca->mode == PATH_SLOW_START || !ca->rounds))) {
		ca->way = way;
		there_ms = 0;
	}
	back_ms = min_t(s32, beyond_ms - there_ms - PATH_ROUNDED, 4 * rtt_min_us >> PATH_MS);
	if (there_ms < -PATH_ROUNDED)
		ca->back = PATH_NO_CLOCK;
	else if (ca->back < back_ms)
		ca->back++;
	else if (ca->back && ca->back > back_ms)
		ca->back--;
}

/*
 * What an ACK acknowledges without an rtt of its own, as in a repair, took what others take.  So
 * did an overtaker, for this: it does not tell what an empty path takes.
 *
 * A queue on the way back is known at once, and a smoothed rtt follows it by and by: in between the
 * difference would look like a queue of ours, or hide one.  So it is taken out of what is smoothed.
 *
 * Return: rtt of this ACK, us; 0: none
 */
static u32 path_rtt(struct sock *sk, const struct rate_sample *rs)
{
	struct cpath *ca = inet_csk_ca(sk);
	struct ccpd_probe *p = &ca->probe;
	u32 before_us = p->rtt_min_us, others_us = p->rtt_s >> 3;
	u32 rtt_us = ccpd_rtt(sk, p, rs), took_us, back_us;
	bool overtook = path_overtook(ca, rtt_us);

	if (!p->rtt_s)
		return 0;
	if (rtt_us) {
		bool met = p->rtt_s >> 3 <= before_us + (before_us >> 7);

		/* met again, and not by chance: no need to look for it */
		if (met)
			ca->rtt_min_stamp = path_now();
		if (p->rtt_min_us < before_us && before_us != U32_MAX) {
			s32 delivered = tcp_sk(sk)->delivered - rs->acked_sacked -
					p->round_delivered;

			path_rtt_min(ca, before_us, overtook ? max(delivered, 0) : 0);
		}
		ca->room = max_t(u32, ca->room,
				 min((rtt_us - p->rtt_min_us) / PATH_QUEUE, U16_MAX));
		path_way_back(sk, rtt_us, met || before_us == U32_MAX);
		took_us = rtt_us - p->rtt_min_us;
		back_us = min(took_us, path_back_us(ca));
		took_us -= back_us;
		p->rtt_s -= back_us;
	}
	if (!rtt_us || overtook)
		took_us = others_us - min(others_us, p->rtt_min_us);
	path_add_delay(ca, took_us, rs->acked_sacked);
	return rtt_us;
}

/*
 * The rate of an overtaker is that of a part of a round trip, which it does not end.  So is that
 * of a segment sent twice, if its ACK came too soon to be one of the second time (RFC 3522).
 */
static bool path_of_a_part(const struct sock *sk, const struct rate_sample *rs)
{
	const struct cpath *ca = inet_csk_ca(sk);
	u32 others_us = path_smoothed_us(ca);

	if (rs->is_retrans && tcp_stamp_us_delta(tcp_sk(sk)->tcp_mstamp, rs->prior_mstamp) <
			      others_us - (others_us >> 2))
		return true;
	return path_overtook(ca, max(rs->rtt_us, 0L));
}

/* ------------------------------------------------------------------------- */
/* The sender                                                                */

static void path_set_cwnd(struct sock *sk, u32 cwnd)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, min(max(cwnd, PATH_LEAST_WINDOW), tp->snd_cwnd_clamp));
}

static void path_enter(struct cpath *ca, enum path_mode mode)
{
	/* what is known of a train is in the place of these */
	if (ca->mode == PATH_SLOW_START) {
		ca->empty = 0;
		ca->paused = 0;
		ca->bunches = 0;
	}
	/* the end of a train is in the place of the window where the capacity moves */
	if (mode == PATH_SLOW_START)
		ca->moves = 0;
	ca->mode = mode;
	ca->late = 0;
	ca->rounds = 0;
	ca->prev.sum = 0;
}

/*
 * Whatever the rate of pacing is, TCP sends bursts of PATH_TSO_SEGS on a short path, and one of
 * them, or two, overflow a small buffer.  There segments leave one by one, as long as a host has
 * time for that.  Not where the capacity moves: what fills the path is not known that well then.
 */
static bool path_bursts_overflow(const struct cpath *ca)
{
	u32 rtt_min_us = ca->probe.rtt_min_us, bw = ccpd_capacity(&ca->probe), segs;

	if (ca->mode == PATH_SLOW_START || rtt_min_us >= PATH_SHORT_US || !ca->room ||
	    bw > BIT(BW_SCALE) / PATH_SINGLE_US || (ca->moves && !ca->fell))
		return false;
	segs = max(2 * (PATH_TSO_SEGS >> (rtt_min_us >> PATH_TSO_RTT)), PATH_LOSSES);
	return ccpd_segs(bw, path_room_us(ca)) < segs << SEG_SCALE;
}

/*
 * A burst for TSO takes 1/2^shift s at the rate of pacing.  It queues behind itself, and the law
 * gives way to a queue: so it takes a sixteenth of a round trip at most, as the largest q0.  A
 * driver that wants longer bursts, as those of Wi-Fi do, has set a smaller shift: it stays.
 */
static void path_set_burst(struct sock *sk)
{
	const struct cpath *ca = inet_csk_ca(sk);
	int log2_us = fls(ca->probe.rtt_min_us >> 4) - 1;

	if (READ_ONCE(sk->sk_pacing_shift) >= PATH_TSO_SHIFT)
		sk_pacing_shift_update(sk, clamp(20 - log2_us, PATH_TSO_SHIFT,
						 PATH_TSO_SHIFT_MOST));
	path_set_single(sk, path_bursts_overflow(ca));
}

static void path_round_begin(struct sock *sk)
{
	struct cpath *ca = inet_csk_ca(sk);
	const struct ccpd_probe *p = &ca->probe;

	ca->delay_sum = 0;
	if (p->round_rtt_us != U32_MAX)
		ca->round_queue = min((p->round_rtt_us - p->rtt_min_us) / PATH_QUEUE, U16_MAX);
	ca->round_lost = 0;
	ca->limited = 0;
	ca->met = 0;
	path_set_burst(sk);
	ccpd_round_begin(sk, &ca->probe);
}

/*
 * Does this ACK, for @acked segments, come in a bunch?  Packets of one flow that follow each other
 * show the rate of the link, which is more than the flow's.  A bunch comes faster than that.  There
 * is a pause before it: behind others' packets on the way back ACKs are as close, without pauses.
 * While segments are missing each that comes has an ACK to itself, and that is not counted.
 */
static void path_count_bunches(struct sock *sk, u32 acked, u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 gap_ns = (u32)tp->tcp_clock_cache - ca->prev.ns;
	/* what the path carries since the ACK before, SEG_SCALE; 2^10 ns are about a us */
	u64 carried = (u64)bw * gap_ns >> (BW_SCALE - SEG_SCALE + 10);

	if (!ca->prev.sum || tp->sacked_out)
		return;
	if (carried <= (u64)acked << (SEG_SCALE - PATH_AT_ONCE)) {
		if (ca->paused)
			ca->bunches = min(ca->bunches + PATH_BUNCH, PATH_BUNCHES_MOST);
		return;
	}
	ca->paused = gap_ns >> 10 > 3 * (ca->probe.rtt_min_us >> PATH_PAUSE) &&
		     carried > PATH_PAUSE_SEGS << SEG_SCALE;
	if (ca->bunches)
		ca->bunches--;
}

/* The largest queue that was ever seen is of fewer than PATH_LOSSES segments. */
static bool path_buffer_is_small(const struct cpath *ca, u32 bw)
{
	return ccpd_segs(bw, path_room_us(ca)) < PATH_LOSSES << SEG_SCALE;
}

/* Eq. 3, on an ACK for @acked segments, at least one; @bw: the capacity, BW_SCALE */
static void path_avoid(struct sock *sk, u32 acked, u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	const struct ccpd_probe *p = &ca->probe;
	u32 empty = p->rtt_min_us + path_noise_us(ca), base = empty + path_back_us(ca);
	u32 q0 = path_q0(sk, bw), window;
	struct ccpd_eval e = {
		.kp = READ_ONCE(kp),
		.kd_us = READ_ONCE(kd),
		.limit = ccpd_segs(ca->claim, base + 2 * q0),
		.level = ccpd_segs(ca->claim, ccpd_queue_us(p, empty)),
		.in_flight = tcp_packets_in_flight(tp),
	};
	s64 most;

	/* nothing measured yet: keep the window until it is */
	if (!ca->claim)
		return;
	path_count_bunches(sk, acked, bw);
	e.storage = path_storage(ca->claim, e.kp, base, q0);
	most = e.limit + ccpd_segs(bw, p->rtt_min_us);
	/*
	 * While an overflow is repaired: no more than the path has ever held, or it overflows
	 * again.  Where no delay of 2 * q0 was ever seen no buffer was full, and losses are noise.
	 * Amid losses no pair is timed, and the claim may be more than @bw.
	 */
	if (unlikely(inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery) &&
	    path_room_us(ca) >= 2 * q0)
		most = min(most, ccpd_segs(max(bw, ca->claim), base + path_room_us(ca)));
	window = ccpd_eq3(&e, &ca->prev, tp->tcp_clock_cache, most);
	if (unlikely(ca->rival == PATH_FOREIGN))
		window = max(window, ca->floor);
	if (unlikely(path_moves(ca)))
		window = max(window, path_moving_window(ca, base + q0));
	/*
	 * Most of what the claim needs empties a queue soon enough, and repairs go on meanwhile.
	 * With less, all that share a queue give way to it at once, and find the path empty.
	 */
	window = max_t(u32, window, PATH_KEEP * ccpd_segs(ca->claim, base) >> (SEG_SCALE + 2));
	path_set_cwnd(sk, window);

	if (trace_ccpd_path_update_enabled())
		trace_ccpd_path_update(sk, ccpd_bytes_ps(bw, p->mss) * 8,
				       ccpd_bytes_ps(ca->claim, p->mss) * 8,
				       p->rtt_s >> 3, base, q0, e.level >> SEG_SCALE,
				       e.in_flight, e.p >> SEG_SCALE, e.d >> SEG_SCALE,
				       window);
}

/*
 * The most to have in flight in a repair.  Of many flows that start together each takes the same
 * capacity from a pair, and asks for all of it: it overflows the path again while it repairs what
 * is lost, since the claim falls by half in a round trip at most.  So while much is missing, and a
 * queue stands, no more leaves than arrives, and a segment more for each ACK until something is
 * lost in this round trip; and what was delivered in a recent one may be there.  The queue is in
 * TCP's own rtt, since repairs have none but that of time stamps, which count ms.  Without them a
 * queue that is gone would seem to stand.  Where the capacity moves it has fallen, and may rise
 * meanwhile.
 * @acked: segments, of this ACK; @bw: the capacity, BW_SCALE
 */
static noinline void path_repair(struct sock *sk, u32 acked, u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct cpath *ca = inet_csk_ca(sk);
	u32 base_us = path_base_us(ca), window;

	if (!tp->rx_opt.rcv_tsecr || path_moves(ca) ||
	    tp->srtt_us >> 3 < base_us + 2 * path_q0(sk, bw) + BIT(PATH_MS))
		return;
	window = max_t(u32, tcp_packets_in_flight(tp) + acked + !ca->round_lost,
		       ccpd_segs(ccpd_delivery_rate(&ca->probe), base_us) >> SEG_SCALE);
	path_set_cwnd(sk, min(tcp_snd_cwnd(tp), window));
}

/*
 * Pacing makes bursts of what ACKs release in the meantime, and one would overflow a small buffer
 * of a short path.  Where segments do not leave one by one an ACK releases what it acknowledges
 * there, and one segment more, at once; if it does not acknowledge many.
 *
 * Return: whether it is so
 */
static bool path_clock(struct sock *sk, u32 acked, u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct cpath *ca = inet_csk_ca(sk);

	if (path_is_single(sk) || acked > PATH_CLOCKED || !ca->claim ||
	    !path_buffer_is_small(ca, bw))
		return false;
	path_set_cwnd(sk, min(tcp_snd_cwnd(tp), tcp_packets_in_flight(tp) + acked + 1));
	return true;
}

/* Segments leave in trains, and no pair is timed: the train is in its place. */
static bool path_in_train(const struct cpath *ca)
{
	return ca->mode == PATH_SLOW_START && ca->train > TRAIN_WANTED;
}

/* What has left the network, segments, since the connection began */
static u32 path_through(const struct tcp_sock *tp)
{
	return tp->delivered + tp->lost;
}

/*
 * The next train: @segs segments, as far as windows and the receiver allow, leave in @time_us
 * behind what is in flight.
 */
static void path_train_send(struct sock *sk, u32 segs, u32 time_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 in_flight = tcp_packets_in_flight(tp);
	s32 bytes = tcp_wnd_end(tp) - tp->snd_nxt;
	u32 room = max(bytes, 0) / ca->probe.mss;

	segs = max(min(segs, room), 1U);
	path_set_cwnd(sk, in_flight + segs);
	segs = min(segs, max(tcp_snd_cwnd(tp), in_flight + 1) - in_flight);
	ca->claim = ccpd_bw(segs, 1, (u64)time_us * NSEC_PER_USEC);
	ca->train_us = time_us;
	ca->t.begin = path_through(tp) + in_flight;
	ca->train_end = ca->t.begin + segs;
	ca->train = TRAIN_SENT;
	ca->train_limited = segs < PATH_LEAST_TRAIN;
	ca->train_zero = 0;
	path_round_begin(sk);
}

/* Segments of the train that is under way */
static u32 path_train_segs(const struct cpath *ca)
{
	return (ccpd_segs(ca->claim, ca->train_us) + (1 << (SEG_SCALE - 1))) >> SEG_SCALE;
}

/* In what time @segs segments leave at the rate of this train, us */
static u32 path_train_time(const struct cpath *ca, u32 segs)
{
	return div_u64((u64)segs << BW_SCALE, max(ca->claim, 1U)) + 1;
}

/*
 * The first ACK of the initial window, which left at once, or of what was sent after an idle time:
 * the train is what was there to send, and it is no less for that.
 */
static void path_train_zero(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 segs = path_through(tp) + tcp_packets_in_flight(tp) - ca->t.begin;

	ca->train_end = ca->t.begin + segs;
	if (ca->train_us) {
		ca->train_us = path_train_time(ca, segs);
		return;
	}
	ca->train_us = (ca->probe.rtt_min_us >> PATH_TRAIN_TIME) + 1;
	ca->claim = ccpd_bw(segs, 1, (u64)ca->train_us * NSEC_PER_USEC);
}

/* No train is under way. */
static void path_train_stop(struct sock *sk, enum path_train train)
{
	struct cpath *ca = inet_csk_ca(sk);

	if (path_in_train(ca)) {
		ccpd_pair_drop(sk, &ca->probe);
		/* at that rate it left: the path's is not known */
		ca->claim = 0;
		ca->round_queue = 0;
	}
	ca->train = train;
}

static void path_train_leave(struct sock *sk, u32 claim)
{
	struct cpath *ca = inet_csk_ca(sk);

	path_train_stop(sk, TRAIN_NONE);
	ca->claim = claim;
	path_enter(ca, PATH_AVOIDANCE);
	path_round_begin(sk);
}

/*
 * A train at a remembered rate has overflowed a buffer: half of what was delivered is left
 * (Careful Resume's safe retreat).
 */
static void path_retreat(struct sock *sk, u32 segs, u32 best)
{
	const struct cpath *ca = inet_csk_ca(sk);
	u32 came = ccpd_bw(segs - ca->round_lost, 1, (u64)ca->train_us * NSEC_PER_USEC);

	path_train_leave(sk, (best ?: came) / 2);
}

/*
 * The first train was at a remembered rate.  In time: half of what the path held then follows, at
 * that rate.  Late: it is too short to tell a rate.  One of the usual length follows, a quarter
 * faster than it came, so that it is late where that was the capacity.
 */
static void path_visit_train(struct sock *sk, u32 best)
{
	struct cpath *ca = inet_csk_ca(sk);
	u32 late = min_t(u64, best + ((u64)best >> 2), U32_MAX);
	u32 rtt_us = ca->probe.rtt_min_us, time_us = (rtt_us >> (late ? PATH_TRAIN_TIME : 1)) + 1;
	u64 segs = ccpd_segs(late ?: ca->claim, time_us) >> SEG_SCALE;

	path_train_send(sk, clamp_t(u64, segs, TCP_INIT_CWND, S32_MAX), time_us);
	ca->fell = !late;
}

/* Of a train of @segs much was lost, and there was no queue. */
static bool path_is_policed(const struct cpath *ca, u32 segs)
{
	return ca->round_lost >= PATH_LOSSES && ca->round_lost > segs / PATH_POLICER &&
	       path_room_us(ca) < ca->train_us / 4;
}

/*
 * It came in enough batches to tell a rate.  Gaps are never quite equal, and the largest of four is
 * more than a quarter of all: the ten segments of the first train come with four gaps.
 */
static bool path_train_sure(const struct cpath *ca)
{
	u32 gap_us = ca->t.gap_us;

	return ca->t.last_us - ca->t.begin_us + gap_us / 2 >= PATH_SURE * gap_us;
}

/* The rate at which a train arrives if it is less than that at which it left; 0: it is not */
static u32 path_train_late(const struct cpath *ca)
{
	const struct cpath_train *t = &ca->t;
	u32 best = ccpd_bw(t->best_segs, 1, (u64)t->best_us * NSEC_PER_USEC);

	if (!path_train_sure(ca))
		return 0;
	return best < ca->claim - (ca->claim >> 3) ? best : 0;
}

/*
 * A train is through.  If it took longer to arrive than to leave, the rate at which it arrived is
 * the capacity.  Otherwise the next one may be faster: so that it holds a quarter of what
 * the path does at that rate, and PATH_TRAIN_GROWTH times as much as this at most.  Where batches
 * are too long for a train to tell, the next one takes longer: a round trip at most.  If that is
 * late and does not tell either, its rate has to do: the same train would follow for ever.
 */
static void path_train_done(struct sock *sk)
{
	struct cpath *ca = inet_csk_ca(sk);
	const struct cpath_train *t = &ca->t;
	u32 segs = path_train_segs(ca), took_us = t->last_us - t->begin_us;
	u32 rtt_us = ca->probe.rtt_min_us, time_us = ca->train_us;
	u32 q0 = path_q0_us(ca->claim, rtt_us, 0, 0);
	u32 best = path_train_late(ca);
	bool revisit = ca->fell;
	u64 rate;

	ca->fell = 0;
	path_learn_base(ca, segs, path_q0(sk, path_capacity(ca)));
	/* half of what the path held came in time: that is the capacity still */
	if (revisit && !ca->train_zero && !best && path_train_sure(ca)) {
		ccpd_pair_add(&ca->probe, ca->claim, 2 * rtt_us);
		path_train_leave(sk, ca->claim);
		return;
	}
	/* not sent as one: nothing learned, nothing gained; or said of the time before it */
	if (segs < PATH_LEAST_TRAIN || (ca->train_limited && !ca->train_zero)) {
		segs = max(segs, TCP_INIT_CWND);
		path_train_send(sk, segs, max(time_us, (rtt_us >> PATH_TRAIN_TIME) + 1));
		return;
	}
	if (revisit && ca->round_lost >= PATH_LOSSES && ca->round_lost > segs / PATH_OVERFLOW &&
	    ca->round_lost < segs) {
		path_retreat(sk, segs, best);
		return;
	}
	if (path_is_policed(ca, segs)) {
		segs -= min_t(u32, ca->round_lost, segs - 1);
		if (time_us < rtt_us) {
			path_train_send(sk, segs * PATH_TRAIN_GROWTH, rtt_us);
			return;
		}
		/* with what its bucket held, or after that was empty */
		rate = ccpd_bw(segs - segs / 4, 1, (u64)time_us * NSEC_PER_USEC);
		if (took_us - t->best_us > time_us >> 3)
			rate = ccpd_bw(tcp_sk(sk)->delivered - t->begin - t->best_segs, 1,
				       (u64)(took_us - t->best_us) * NSEC_PER_USEC);
		path_train_leave(sk, rate);
		ca->cap = rate;
		ca->capped = 1;
		return;
	}
	/* others have a queue; U32_MAX: no ACK of it could be timed, and that says nothing */
	if (ca->train_rtt_us != U32_MAX &&
	    ca->train_rtt_us > rtt_us + 2 * q0 + PATH_HOST_DELAY_US + t->gap_us) {
		path_train_stop(sk, TRAIN_NONE);
		path_set_cwnd(sk, tcp_packets_in_flight(tcp_sk(sk)) + segs);
		return;
	}
	/* too fast, and nothing tells by how much: what came, in a round trip, or that is it */
	if (ca->round_lost >= PATH_LOSSES && ca->round_lost > segs / PATH_TOO_FAST && !best) {
		segs -= min_t(u32, ca->round_lost, segs - 1);
		if (time_us < rtt_us)
			path_train_send(sk, max(segs, TCP_INIT_CWND), rtt_us);
		else
			path_train_leave(sk, ccpd_bw(segs, 1, (u64)time_us * NSEC_PER_USEC));
		return;
	}
	if (revisit && ca->train_zero && path_train_sure(ca)) {
		path_visit_train(sk, best);
		return;
	}
	if (best) {
		ccpd_pair_add(&ca->probe, best, 2 * rtt_us);
		path_train_leave(sk, best);
		ca->late = 1;
		return;
	}
	rate = ca->claim + div_u64((u64)ca->claim * rtt_us, 4 * ca->train_us);
	if (!path_train_sure(ca)) {
		/* not faster than the whole of it has come; and none takes longer than this one */
		if (took_us > time_us + (time_us >> 3) + t->gap_us) {
			rate = ccpd_bw(segs, 1, (u64)(took_us - t->gap_us) * NSEC_PER_USEC);
			if (time_us >= rtt_us) {
				path_train_leave(sk, rate);
				return;
			}
		}
		time_us = clamp(PATH_SURE * t->gap_us, time_us, max(rtt_us, time_us));
	}
	rate = min_t(u64, rate, U32_MAX);
	segs = clamp_t(u64, ccpd_segs(rate, time_us) >> SEG_SCALE, TCP_INIT_CWND,
		       max(segs, TCP_INIT_CWND) * PATH_TRAIN_GROWTH);
	path_train_send(sk, segs, time_us);
}

/*
 * In what time what has come since the first batch arrived, us; 0: not known.  ACKs that queue
 * behind data on the way back come closer to one another than that, and the peer's clock shows it.
 * It counts ms, so a few of them do not tell a rate.  If it shows more than a queue can explain, it
 * ticks faster than that, and is not used.
 */
static u32 path_train_span(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct cpath *ca = inet_csk_ca(sk);
	u32 span_us = (u32)tp->tcp_mstamp - ca->t.begin_us;
	u16 ms = (u16)tp->rx_opt.rcv_tsval - ca->train_stamp;
	/* rounded down, both of them */
	u32 peer_us = ms ? (ms - 1) * USEC_PER_MSEC : 0;

	if (peer_us <= span_us || peer_us > span_us + ca->probe.rtt_min_us + path_room_us(ca))
		return span_us;
	return ms > PATH_SURE ? peer_us : 0;
}

/*
 * The start, on an ACK.  A train leaves, and nothing else until it is through: what ACKs would
 * release in between would delay it.  ACKs come in batches, of which nothing but the end says when
 * something came.  So the rate is counted from the end of the first batch, over half of the time
 * that the train took to leave at least, and is the largest that there was: then that is the
 * end of another.  @rtt_us: of this ACK, 0: none.
 */
static void path_train(struct sock *sk, u32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	struct cpath_train *t = &ca->t;
	u32 now_us = tp->tcp_mstamp, gap_us, span_us, segs;
	s32 left;

	switch (ca->train) {
	case TRAIN_NONE:
		return;
	case TRAIN_WANTED:
		if (ca->probe.rtt_s)
			path_train_send(sk, TCP_INIT_CWND,
					(ca->probe.rtt_min_us >> PATH_TRAIN_TIME) + 1);
		return;
	case TRAIN_SENT:
		if (!after(path_through(tp), t->begin) || !ca->probe.rtt_s)
			break;
		if (ca->train_zero)
			path_train_zero(sk);
		t->begin = tp->delivered;
		t->begin_us = now_us;
		ca->train_stamp = tp->rx_opt.rcv_tsval;
		t->last_us = now_us;
		t->gap_us = 0;
		t->best_segs = 0;
		t->best_us = 0;
		ca->train_rtt_us = U32_MAX;
		ca->train = TRAIN_FIRST;
		break;
	case TRAIN_FIRST:
		gap_us = now_us - t->last_us;
		t->best_us += gap_us;
		if (gap_us <= PATH_CLOSE_US && t->best_us <= ca->train_us >> 3) {
			t->begin = tp->delivered;
			t->begin_us = now_us;
			ca->train_stamp = tp->rx_opt.rcv_tsval;
			break;
		}
		t->best_us = 0;
		ca->train = TRAIN_OPEN;
		fallthrough;
	case TRAIN_OPEN:
		/* the last of an odd number has waited for the delayed-ACK timer */
		if (!rtt_us && path_through(tp) == ca->train_end) {
			now_us = t->last_us;
			break;
		}
		t->gap_us = max(t->gap_us, now_us - t->last_us);
		span_us = path_train_span(sk);
		segs = tp->delivered - t->begin;
		if (span_us >= ca->train_us / 2 &&
		    (u64)segs * t->best_us >= (u64)t->best_segs * span_us) {
			t->best_segs = segs;
			t->best_us = span_us;
		}
		break;
	}
	t->last_us = now_us;
	if (rtt_us)
		ca->train_rtt_us = min(ca->train_rtt_us, rtt_us);
	/*
	 * Nothing else leaves; what is lost of it, or late, must not hold up the next.  Where a
	 * queue overflows the end of it is lost, and nothing tells of that before a timeout.
	 * Behind half of what a remembered path held ACKs release more: that is behind the part
	 * which tells.
	 */
	left = ca->train_end - path_through(tp);
	if (!ca->fell || ca->train_zero)
		tcp_snd_cwnd_set(tcp_sk(sk), max(left, 1));
	if (ca->train > TRAIN_SENT &&
	    (left <= (s32)(path_train_segs(ca) >> 4) || !tcp_packets_in_flight(tp) ||
	     (ca->round_lost > path_train_segs(ca) / PATH_OVERFLOW &&
	      now_us - t->begin_us > ca->train_us && path_train_late(ca)) ||
	     (ca->fell && !ca->train_zero && now_us - t->begin_us > ca->train_us / 2 &&
	      path_train_sure(ca) && !path_train_late(ca))))
		path_train_done(sk);
}

/* @rtt_us: of this ACK, 0: none.  Not inline, as path_round() */
static noinline void path_slow_start(struct sock *sk, u32 acked, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = (ca->probe.sure ? ccpd_pair_bw(&ca->probe) : 0) ?: ca->claim;

	if (ca->train != TRAIN_NONE) {
		path_train(sk, rtt_us);
		return;
	}
	if (acked && tcp_is_cwnd_limited(sk))
		tcp_slow_start(tp, acked);

	if (!tcp_in_slow_start(tp)) {
		/* after a timeout: with the claim from before it */
		ca->claim = ca->claim ?: path_capacity(ca);
		path_enter(ca, PATH_AVOIDANCE);
	} else if (bw && ca->probe.rtt_s) {
		/* the window that the law would set with the path to itself */
		s64 target = ccpd_segs(bw, ca->probe.rtt_min_us +
					    path_q0(sk, path_capacity(ca)));

		if ((s64)tcp_snd_cwnd(tp) << SEG_SCALE >= target) {
			ca->claim = min(bw, path_capacity(ca));
			path_enter(ca, PATH_AVOIDANCE);
		}
	}
}

/* The window to hold beside others, if it comes to that: the one from before we gave way */
static void path_set_floor(struct cpath *ca)
{
	ca->capped = 0;
	ca->floor = ccpd_segs(ca->claim, ca->probe.rtt_min_us) >> SEG_SCALE;
}

/*
 * Half of what is in flight is withdrawn, to see the delay without it.  Beside others our part of
 * the queue: all of our kind empty it so, one of them and a rival do not.
 */
static void path_drain(struct sock *sk)
{
	u32 in_flight = tcp_packets_in_flight(tcp_sk(sk)), less = in_flight / 2;
	struct cpath *ca = inet_csk_ca(sk);

	path_enter(ca, PATH_DRAIN);
	ca->before_us = ca->probe.rtt_s >> 3;
	if (ca->rival == PATH_FOREIGN) {
		less = min_t(u64, in_flight, div_u64((u64)in_flight * path_round_queue_us(ca),
						     max(ca->before_us, 1U)));
		/* a rival's loss may be what we see: the rest of its fall is not ours */
		ca->before_us = ca->probe.round_rtt_us;
	}
	path_set_cwnd(sk, in_flight - less);
}

/*
 * All that share the queue have withdrawn what they had in it: an eighth of it is left at most.
 * One rival beside four of our kind has a fifth.
 */
static bool path_emptied(const struct cpath *ca)
{
	return path_round_queue_us(ca) <= path_beyond_us(ca, ca->before_us) / 8;
}

/*
 * It claims less than 3/4 of the capacity, and more was delivered to it in the last seconds.  So it
 * is with a flow whose path has become longer by less than 2 * q0: it takes that for a queue, and
 * gives way to it.
 */
static bool path_has_given_way(const struct cpath *ca)
{
	u32 bw = path_capacity(ca), most = bw - (bw >> 2);

	return ca->claim < most && ccpd_delivery_rate(&ca->probe) > most;
}

/* The path is longer: what delays at half the window, and did not fall with it, is no queue. */
static void path_has_grown(struct cpath *ca)
{
	struct ccpd_probe *p = &ca->probe;
	u32 mean_us = p->rtt_s >> 3;

	ca->rival = PATH_FRIENDLY;
	ca->doubt = 0;
	ca->room -= min(ca->room, (p->round_rtt_us - p->rtt_min_us) / PATH_QUEUE);
	p->rtt_min_us = p->round_rtt_us;
	path_set_noise(ca, mean_us - min(mean_us, p->rtt_min_us));
}

/* Two rounds at half the window: what is the rtt now, and what does it tell? */
static void path_drained(struct sock *sk, u32 bw, bool crowded)
{
	struct cpath *ca = inet_csk_ca(sk);
	u32 mean_us = ca->probe.rtt_s >> 3;
	u32 fell_us = ca->before_us - min(ca->before_us, mean_us);
	bool emptied = path_emptied(ca), gave_way = path_has_given_way(ca);

	path_enter(ca, PATH_AVOIDANCE);
	ca->rtt_min_stamp = path_now();
	if (ca->rival == PATH_FOREIGN) {
		/* a rival's own loss may do that once */
		if (emptied)
			ca->doubt = ca->doubt % PATH_CATCH_UP + 1;
		else if (ca->doubt != PATH_CATCH_UP)
			ca->doubt = 0;
		if (ca->doubt == PATH_DOUBT) {
			ca->rival = PATH_FRIENDLY;
			ca->doubt = 0;
			/* the floor is none of its windows */
			ca->moves = 0;
		}
		return;
	}
	/*
	 * Who never saw a pair does not know what part of the path it has.  Where a packet has met
	 * next to no queue, the path is no longer than it was.  It is empty, too, where nothing
	 * delays but what is known to be of the way back.  But a path may become longer both ways:
	 * this is not asked of a flow that gave way.  And what the delay does where the capacity
	 * moves is not for what was withdrawn.
	 */
	if (ccpd_pair_bw(&ca->probe) && !path_has_window(ca) &&
	    path_round_queue_us(ca) > path_q0(sk, path_capacity(ca)) / 2 &&
	    (crowded || gave_way || !path_back_us(ca)) &&
	    path_is_longer(tcp_snd_cwnd(tcp_sk(sk)), fell_us, mean_us, bw)) {
		if (ca->rival == PATH_EMPTY) {
			path_has_grown(ca);
			return;
		}
		/* perhaps another flow took at once what we left: look a second time */
		ca->rival = PATH_EMPTY;
		ca->doubt = PATH_DOUBT - 1;
		/*
		 * At once: the window of the old rtt_min would build a queue of our own before the
		 * second look, and its fall would be taken for a rival's; test_ccpd.py.
		 */
		if (crowded || gave_way)
			path_drain(sk);
		return;
	}
	ca->rival = PATH_FRIENDLY;
	/* a fall of the capacity leaves a queue, and that is ours */
	if (!crowded || path_has_window(ca)) {
		ca->doubt = 0;
	} else if (ca->doubt == PATH_UNSURE) {
		ca->rival = PATH_FOREIGN;
		ca->doubt = PATH_CATCH_UP;
	} else {
		/* a drain that nothing made us doubt before */
		if (!ca->doubt)
			path_set_floor(ca);
		ca->doubt = PATH_UNSURE;
	}
}

/*
 * A queue above 2 * q0.  For a round or two the law gives way, as all of our kind do at once, then
 * the window is halved: perhaps the path has become longer.  If not, the law gives way further.  A
 * queue of our kind is less in one round trip or another, by a sixteenth of it; what is there for
 * PATH_ROUNDS, or fewer long ones, without that is kept up by a flow that knows no such law.
 */
static void path_crowded(struct sock *sk, u32 queue_us)
{
	struct cpath *ca = inet_csk_ca(sk);
	u32 before_us = path_queue_before_us(ca), part_us = ca->probe.rtt_s >> 7;

	if (!ca->doubt)
		path_set_floor(ca);
	if (ca->doubt == PATH_UNSURE) {
		ca->rounds = min(ca->rounds + path_more_rounds(ca), PATH_ROUNDS);
		if (queue_us + part_us < before_us)
			ca->rounds = PATH_DOUBT;
		else if (ca->rounds == PATH_ROUNDS)
			path_drain(sk);
	} else if (++ca->doubt == PATH_DOUBT) {
		path_drain(sk);
	}
}

/* The integer cube root */
static u32 path_cbrt(u32 v)
{
	u32 root = 0, bit;

	for (bit = BIT(10); bit; bit >>= 1) {
		u64 more = root | bit;

		if (more * more * more <= v)
			root = more;
	}
	return root;
}

/*
 * Beside a flow that gives way only to losses, the window that we had is held, and follows
 * additive increase, multiplicative decrease, as fast as CUBIC's does on average: from 0.7 of W
 * to W in cbrt(0.75 W) s, which is W^(2/3) / 3 in a second.  With less than half of the path it
 * grows as fast as with that.  With less than a sixth it grows by a half in a round trip before
 * the first loss, and after that while half of the buffer is free, as after a loss of the rival's.
 *
 * That ends when we have withdrawn our part of the queue, and it is gone: then all others are of
 * our kind and have done the same, or there is nobody else.  It looks when they do, since it sees
 * the queue fall without a loss.
 */
static void path_compete(struct sock *sk, u32 rate, u32 bw, u32 queue_us, u32 q0, bool overflow)
{
	struct cpath *ca = inet_csk_ca(sk);
	u32 half = min_t(s64, ccpd_segs(bw / 2, ca->probe.rtt_s >> 3) >> SEG_SCALE, S32_MAX);
	u32 root = path_cbrt(max(ca->floor, half)), before_us = path_queue_before_us(ca);
	u64 per_s = root * root / 3;

	if (overflow) {
		ca->floor = max(ca->floor * 7 / 10, PATH_LEAST_WINDOW);
		ca->doubt %= PATH_CATCH_UP;
		path_enter(ca, PATH_AVOIDANCE);
	} else if (queue_us < before_us - before_us / 4 ||
		   (ca->doubt % PATH_CATCH_UP && ca->rounds == PATH_ROUNDS)) {
		path_drain(sk);
	} else if (!tcp_is_cwnd_limited(sk) || ca->floor > tcp_snd_cwnd(tcp_sk(sk))) {
		return;		/* what it has is not used, or a repair has less */
	} else if (rate < bw / PATH_OUR_PART &&
		   (ca->doubt == PATH_CATCH_UP || queue_us < path_room_us(ca) / 2)) {
		ca->floor += 1 + ca->floor / 2;
	} else if (queue_us > 2 * q0) {
		ca->doubt %= PATH_CATCH_UP;
		ca->floor += 1 + div_u64(per_s * (ca->probe.rtt_s >> 3), USEC_PER_SEC);
	}
}

/*
 * What a policer lets through, after a round trip without its losses.  What is delivered is no more
 * than the cap, and does not end it; what pairs show does.
 */
static void path_cap_rises(struct cpath *ca, u32 queue_us, u32 q0)
{
	u32 pair = ccpd_pair_bw(&ca->probe);

	if (queue_us > 2 * q0 || (ca->capped && pair && ca->cap >= pair))
		ca->capped = 0;
	else if (ca->capped && ca->rounds == PATH_ROUNDS)
		ca->cap += ((ca->cap >> PATH_CAP_GROWTH) + 1) * path_long(ca->probe.rtt_s >> 3);
}

/*
 * Jitter stretches a train as a slow link does.  They differ in what follows at that rate: on a
 * slow link it meets no queue, and its delay does not vary.  Where the delay goes on to vary, and
 * no queue stands, it was jitter, and the rate of the train is no capacity.
 */
static bool path_late_by_jitter(const struct cpath *ca, u32 bw, u32 mean_us)
{
	u32 rtt_min_us = ca->probe.rtt_min_us, noise_us = path_noise_us(ca);

	return noise_us > rtt_min_us >> PATH_JITTER &&
	       ccpd_segs(bw, noise_us) > PATH_JITTER_SEGS << SEG_SCALE &&
	       mean_us < max(rtt_min_us / 2, noise_us) / 2;
}

/*
 * What to claim after a round trip.  Losses beside a queue are those of
 * an overflow.  Without a queue a few are noise: what they took is counted as
 * delivered, as far as the capacity goes; many are a policer's.  More than the capacity may be an
 * overflow that is gone within a round trip, and to ask for it would make the next one larger.
 */
static u32 path_next_claim(struct cpath *ca, u32 rate, u32 delivered, u32 lost, u32 bw, u32 q0,
			   u32 mean_us)
{
	u32 queue_us = path_round_queue_us(ca), share;
	bool empty = path_queue_us(ca) < 2 * q0;
	/* a burst may overflow a buffer and be gone within a round trip: the mean tells of it */
	bool policed = empty && mean_us < q0 && !path_bunched(ca);

	/* the end of a bunch may find a buffer full: few are lost then, of others, too */
	if (lost >= PATH_FEW_LOSSES && lost > delivered / PATH_OVERFLOW && path_bunched(ca) &&
	    mean_us >= q0) {
		path_too_much(ca);
		return ca->claim - ca->claim / 4;
	}
	/* a few are all that such a buffer can lose: what came through is what there is */
	if (lost >= PATH_FEW_LOSSES && lost > delivered / PATH_POLICER &&
	    path_buffer_is_small(ca, bw)) {
		path_too_much(ca);
		return clamp(rate, ca->claim - ca->claim / 4, ca->claim);
	}
	if (lost >= PATH_LOSSES && lost > delivered / (!empty ? PATH_OVERFLOW :
						       ca->capped ? PATH_CAPPED : PATH_POLICER)) {
		if (policed) {
			rate -= rate >> PATH_CAP_BELOW;
			ca->cap = rate;
			ca->capped = 1;
			/* until that is felt */
			ca->rounds = 0;
			/* the floor is gone: cap and floor are in one place */
			ca->rival = PATH_FRIENDLY;
			ca->doubt = 0;
		}
		path_too_much(ca);
		/* repairs may stall, and a stall is no rate */
		return policed ? rate : max(rate - rate / 4, ca->claim / 2);
	}
	path_cap_rises(ca, queue_us, q0);
	if (path_bunched(ca))
		ca->capped = 0;
	if (ca->limited)
		return max(ca->claim, rate);
	/* as in slow start */
	ca->late &= path_late_by_jitter(ca, bw, mean_us);
	if (ca->late)
		return max_t(u64, ca->claim, min_t(u64, 2ULL * rate, U32_MAX));
	if (empty && lost)
		rate = clamp_t(u64, rate + div_u64((u64)rate * min(lost, delivered), delivered),
			       rate, max(rate, bw));
	if (ca->capped)
		rate = min(rate, bw);
	/* half way, since a round trip passes before it is felt */
	share = path_share(rate, bw, queue_us, q0);
	if (!ca->capped)
		share = max(share, path_room(rate, ca->probe.rtt_s >> 3, mean_us, q0));
	/*
	 * A packet met an empty path, which would have carried more than was delivered.  Not if it
	 * was empty since much was lost.
	 */
	if (!ca->capped && ca->probe.round_rtt_us - ca->probe.rtt_min_us < q0 / 2 &&
	    lost <= delivered / PATH_POLICER)
		share = max(share, ca->claim);
	return ((u64)ca->claim + share) >> 1;
}

/*
 * The window of a capacity that moves, after a round trip.  A window in proportion to what was
 * delivered is too small where the capacity rises, and too large where it falls.  So it follows how
 * often the queue runs empty, whatever the rate is: as much of it is needed as an average of many
 * rises takes.  A round trip beside a long queue is a long one.  If it does not run empty any more,
 * something else keeps it up, or the capacity has fallen.
 */
static void path_follow(struct sock *sk, u32 q0)
{
	struct cpath *ca = inet_csk_ca(sk);
	u32 n;

	if (!path_has_window(ca))
		return;
	if (path_round_queue_us(ca) >= q0 / 2) {
		n = clamp(path_smoothed_us(ca) / path_base_us(ca), 1U, PATH_WINDOW_LONG);
		ca->floor -= (ca->floor >> PATH_WINDOW_FALLS) * n;
		ca->fell = ca->rounds == PATH_ROUNDS;
	} else {
		/* a packet met an empty path: no need to look for it */
		ca->rtt_min_stamp = path_now();
		ca->rounds = PATH_REPAIRS;
		if (tcp_is_cwnd_limited(sk))
			ca->floor += (ca->floor >> PATH_WINDOW_GROWS) *
				     path_long(ca->probe.rtt_s >> 3);
	}
	ca->floor = clamp(ca->floor, PATH_LEAST_WINDOW << PATH_WINDOW_PART, PATH_WINDOW_MOST);
}

/*
 * Does the capacity move?  Something took much of what we were delivered, and is gone within 8 s:
 * what is delivered fell at once, and then the queue ran empty for several rounds in which we
 * took more and more.  Of one of several flows that says nothing: the others come and go.  A
 * further fall shows that it still moves.
 */
static void path_watch(struct sock *sk, u32 rate, bool empty)
{
	struct cpath *ca = inet_csk_ca(sk);
	u32 pair = ccpd_pair_bw(&ca->probe);
	bool follows = path_has_window(ca);

	ca->empty = empty ? min(ca->empty + 1 + path_more_rounds(ca), PATH_EMPTY_ROUNDS) : 0;
	if (ca->rounds < PATH_REPAIRS || !pair || ca->capped ||
	    ccpd_delivery_rate(&ca->probe) <= pair / 2)
		return;
	if (rate < (ca->claim >> 3) * PATH_FALL)
		ca->fell = !path_moves(ca);
	else if (ca->fell && ca->empty == PATH_EMPTY_ROUNDS)
		ca->fell = 0;
	else
		return;
	ca->moves = PATH_MOVES;
	if (!ca->fell && !follows && ca->rival != PATH_FOREIGN) {
		ca->doubt = 0;
		ca->floor = min(tcp_snd_cwnd(tcp_sk(sk)), PATH_WINDOW_MOST >> PATH_WINDOW_PART)
			    << PATH_WINDOW_PART;
	}
}

/*
 * The capacity as far as it is known.  A crowd, or losses all the time, let no pair through.
 * Where more is delivered than the pairs show, by more than an eighth, there may be twice as
 * much: less is the noise of a round trip's two ends.
 */
static u32 path_round_capacity(const struct cpath *ca, u32 rate, u32 q0)
{
	u32 pair = ccpd_pair_bw(&ca->probe);

	if (!ca->capped && !pair)
		return min_t(u64, (u64)rate << PATH_UNKNOWN, U32_MAX);
	if (!ca->capped && rate > pair + (pair >> 3) && path_queue_us(ca) < q0)
		return min_t(u64, 2ULL * rate, U32_MAX);
	return path_capacity(ca);
}

/*
 * The ACK that ends a round trip is amid what came at once, and counts a part of it: where ACKs
 * come in bunches, and on a short path, where a burst for TSO takes much of a round trip.  So look
 * for one that shows that 15/16 of the claim was delivered.
 */
static bool path_has_met(const struct cpath *ca, const struct rate_sample *rs)
{
	return (ca->probe.rtt_min_us < PATH_SHORT_US ? ca->mode == PATH_AVOIDANCE :
						       path_bunched(ca)) &&
	       rs->delivered > 0 && rs->interval_us > 0 &&
	       (u64)rs->delivered << BW_SCALE >= (u64)(ca->claim - (ca->claim >> 4)) *
						 rs->interval_us;
}

/*
 * The least window, in a round trip.  With less, pacing would hold segments back for longer
 * than a round trip, and no round trip would show that there is more.
 */
static u32 path_least_claim(const struct cpath *ca)
{
	return ccpd_bw(PATH_LEAST_WINDOW, 1, (u64)path_smoothed_us(ca) * NSEC_PER_USEC);
}

/*
 * Is it time to look at the path without us?  Where the base has become less by more than @q0 than
 * @base_us, which it was: the path is shorter, and what is in flight is a queue that hides by how
 * much.  Where rtt_min was not met for long.  And where a queue stands, or we gave way to one.
 * @known: a guess of the capacity is no reason for a look, what was measured is
 */
static bool path_wants_look(const struct cpath *ca, u32 base_us, u32 known, u32 q0)
{
	u32 since = path_since(ca->rtt_min_stamp), most = READ_ONCE(drain) * (HZ / PATH_TICK);

	if (path_base_us(ca) + q0 < base_us || since > most)
		return true;
	if (ca->rival == PATH_FOREIGN)
		return false;
	if (!ca->doubt && since > most >> PATH_SOONER && path_has_given_way(ca))
		return true;
	return ca->rounds == PATH_ROUNDS && path_queue_us(ca) > 2 * q0 &&
	       path_round_queue_us(ca) > q0 && ca->claim < known - (known >> 3);
}

/*
 * Once per round trip: what the round delivered and lost, and the
 * least rtt in it, decide what to claim in the next.  As a part of path_cong_control() it would
 * take registers from each ACK.
 */
static noinline void path_round(struct sock *sk, u32 rate)
{
	struct cpath *ca = inet_csk_ca(sk);
	u32 delivered = max(tcp_sk(sk)->delivered - ca->probe.round_delivered, 1U);
	u32 lost = ca->round_lost;
	u32 known = path_capacity(ca), q0 = path_q0(sk, known);
	u32 queue_us = path_round_queue_us(ca);
	bool crowded = queue_us > 2 * q0;
	u32 base_us = path_base_us(ca), mean_us = path_learn_base(ca, delivered, q0);
	u32 bw, claim;

	/* what the ACK that ends the round trip does not count has come too */
	if (ca->met) {
		rate = max(rate, ca->claim);
		/* a burst is no average of several round trips, and tells nothing of the most */
		if (path_bunched(ca))
			ca->probe.rate[0] = max(ca->probe.rate[0], rate);
	}
	bw = path_round_capacity(ca, rate, q0);
	ca->rounds = min(ca->rounds + 1, PATH_ROUNDS);
	switch (ca->mode) {
	case PATH_SLOW_START:
		/* a queue that lasts a round trip, or losses: the pipe is full */
		if ((lost >= PATH_LOSSES && lost > delivered / PATH_OVERFLOW) ||
		    (queue_us > 2 * q0 + PATH_HOST_DELAY_US && !ca->limited)) {
			/* repairs may stall, and a stall is no rate */
			ca->claim = ccpd_delivery_rate(&ca->probe) ?: rate;
			path_enter(ca, PATH_AVOIDANCE);
		}
		return;
	case PATH_DRAIN:
		if (ca->rounds >= 2)
			path_drained(sk, bw, crowded);
		return;
	}

	/* what is delivered now was sent under the window before */
	if (ca->rounds < 2)
		return;

	if (mean_us < q0 / 2)
		ca->rtt_min_stamp = path_now();
	if (!ca->limited && !lost && delivered >= PATH_BATCH)
		path_watch(sk, rate, mean_us < q0 / 2);
	claim = path_next_claim(ca, rate, delivered, lost, bw, q0, mean_us);
	/* until what a CE mark left of the claim is felt, nothing is added to it */
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_CWR)
		claim = min(claim, ca->claim);
	ca->claim = max(claim, path_least_claim(ca));

	if (path_wants_look(ca, base_us, known, q0)) {
		path_drain(sk);
	} else if (ca->rival == PATH_FOREIGN) {
		/* who never saw the path empty takes a queue for none: many losses tell of it */
		path_compete(sk, rate, bw, queue_us, q0,
			     lost && (crowded || lost > delivered / PATH_POLICER));
	} else if (!path_moves(ca) && (crowded || ca->rival == PATH_EMPTY)) {
		path_crowded(sk, queue_us);
	} else {
		ca->doubt = 0;
		if (!ca->limited)
			path_follow(sk, q0);
	}
}

/*
 * MPTCP.  TCP notes that there is too little to send when the application writes.  A subflow is
 * filled without that, and one with an unused window would look like a slow path.
 */
static void path_look_for_data(struct sock *sk)
{
	if (sk_is_mptcp(sk))
		tcp_rate_check_app_limited(sk);
}

/* Of a burst that is paced no pair is timed. */
static bool path_may_burst(const struct sock *sk)
{
	return !sk_is_mptcp(sk) && READ_ONCE(sk->sk_max_pacing_rate) == ~0UL;
}

/*
 * A burst that is timed is not paced, and builds a queue of its own: a fourth of the largest that
 * was ever seen at most, or it overflows a small buffer; field-beside.  @bw: the capacity
 */
static bool path_pair_start(struct sock *sk, u32 bw)
{
	struct cpath *ca = inet_csk_ca(sk);
	u32 in_flight = tcp_packets_in_flight(tcp_sk(sk)), most;

	if (!ccpd_pair_start(sk, &ca->probe))
		return false;
	if (ca->mode == PATH_AVOIDANCE) {
		most = max(ccpd_segs(bw, path_room_us(ca) / 4) >> SEG_SCALE,
			   PATH_LEAST_QUEUE);
		if (tcp_snd_cwnd(tcp_sk(sk)) - in_flight > most) {
			path_set_cwnd(sk, in_flight + most);
			ccpd_pair_begin(sk, &ca->probe, most);
		}
	}
	return true;
}

/*
 * Without a limit, so that a pair may form.  But MPTCP shares data out by the pacing rates of its
 * subflows, and one without a limit would have all.  A subflow's is the kernel's own in slow
 * start: twice the window in a round trip, bytes/s.
 */
static u64 path_start_rate(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!sk_is_mptcp(sk) || !tp->srtt_us)
		return ~0ULL;
	return div_u64((u64)tcp_snd_cwnd(tp) * tp->mss_cache * 16 * USEC_PER_SEC, tp->srtt_us);
}

/*
 * The most to pace at, BW_SCALE, where the capacity is @bw: a sixteenth more, since it may be more
 * by now.  A small buffer has no room for that where it is known: a pair has shown it, and a queue
 * stands.
 */
static u64 path_most_rate(const struct sock *sk, u64 bw)
{
	const struct cpath *ca = inet_csk_ca(sk);
	const struct ccpd_probe *p = &ca->probe;

	if (path_is_single(sk) && ccpd_pair_bw(p) >= ccpd_delivery_rate(p) &&
	    path_queue_us(ca) >= p->rtt_min_us >> 6)
		return bw;
	return bw + (bw >> 4);
}

/*
 * A burst that is timed, or that an ACK clocks, is not paced.  A train leaves at the rate of
 * our claim, all else a quarter faster, but not beyond path_most_rate(): what
 * refills the path would meet a queue that the window does not show yet.  Until
 * the first pair is seen slow start is not paced: a pair needs a burst.  @bw: the capacity, which a
 * train does not need
 */
static void path_pace(struct sock *sk, bool burst, u64 bw)
{
	const struct cpath *ca = inet_csk_ca(sk);
	u64 claim = ca->claim, rate;

	if (ca->mode == PATH_AVOIDANCE)
		claim = max_t(u64, claim, path_moving_rate(ca));
	rate = claim;
	if (burst || !claim) {
		ccpd_set_rate(sk, path_start_rate(sk));
		return;
	}
	if (ca->mode != PATH_SLOW_START || ca->train <= TRAIN_WANTED) {
		rate = min(claim + (claim >> 2), path_most_rate(sk, bw));
		/* a claim of more than that is a guess, and a small buffer has no room for it */
		if (!path_is_single(sk))
			rate = max(claim, rate);
		/*
		 * The window is beyond the claim, and ACKs clock it.  Beside a rival the claim is
		 * what was delivered, and the window grows by a half at most: after a look it would
		 * fill what is left of a small buffer at once.
		 */
		if (ca->rival == PATH_FOREIGN)
			rate = 2 * claim;
		else if (path_has_window(ca))
			rate = 2 * bw;
	}
	ccpd_set_rate(sk, ccpd_bytes_ps(min_t(u64, rate, U32_MAX), ca->probe.mss));
}

/* Segments have another size. */
static void path_rescale(struct sock *sk)
{
	struct cpath *ca = inet_csk_ca(sk);
	u32 old = ca->probe.mss, new = tcp_sk(sk)->mss_cache;

	ca->claim = ccpd_rescale(ca->claim, old, new);
	/* the floor, or the cap in its place; of a train it is a count of packets */
	if (ca->mode != PATH_SLOW_START || ca->capped)
		ca->floor = ccpd_rescale(ca->floor, old, new);
	ccpd_mss_changed(sk, &ca->probe);
}

tcpcc_cong_control(path_cong_control)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	struct ccpd_probe *p = &ca->probe;
	u8 state = inet_csk(sk)->icsk_ca_state;
	bool burst = false;
	u32 cwnd = tcp_snd_cwnd(tp), rate = 0, rtt_us, bw;

	path_look_for_data(sk);
	if (p->mss != tp->mss_cache)
		path_rescale(sk);
	if (rs->is_app_limited || cwnd == tp->snd_cwnd_clamp)
		ca->limited = 1;
	if (rs->losses)
		ca->round_lost = min_t(u32, ca->round_lost + rs->losses, U16_MAX);

	rtt_us = path_rtt(sk, rs);
	if (path_in_train(ca)) {
		ca->train_limited |= rs->is_app_limited;
	} else {
		if (state != TCP_CA_Open || rs->is_retrans || path_back_stands(ca))
			/* in a queue on the way back ACKs come closer together than they were */
			ccpd_pair_drop(sk, p);
		else if (rs->rtt_us > 0 && ccpd_pair_ack(sk, p, rs->rtt_us))
			ccpd_pair_done(sk, p, path_least_us(sk));
		if (path_has_met(ca, rs))
			ca->met = 1;
		if (ccpd_round_is_over(p, rs) && !path_of_a_part(sk, rs))
			rate = ccpd_round_rate(p, rs);
	}
	if (rate) {
		/* what a timeout takes for lost says nothing of the path's rate */
		if (state != TCP_CA_Loss && p->round_rtt_us != U32_MAX)
			path_round(sk, rate);
		if (!ca->limited)
			path_age(ca);
		path_round_begin(sk);
	}

	if (state == TCP_CA_Loss) {
		path_train_stop(sk, TRAIN_NONE);
		if (ca->mode != PATH_SLOW_START)
			path_enter(ca, PATH_SLOW_START);
	}

	if (ca->mode == PATH_SLOW_START) {
		path_slow_start(sk, rs->acked_sacked, rtt_us);
		if (path_in_train(ca)) {
			path_pace(sk, false, 0);
			return;
		}
		bw = path_capacity(ca);
		/* the window of what the start has shown */
		if (ca->mode == PATH_AVOIDANCE)
			path_avoid(sk, rs->acked_sacked, bw);
		/* one ACK, and what it acknowledges, releases as many */
		cwnd++;
	} else {
		bw = path_capacity(ca);
		if (ca->mode == PATH_AVOIDANCE && rs->acked_sacked) {
			path_avoid(sk, rs->acked_sacked, bw);
			if (unlikely(state == TCP_CA_Recovery) &&
			    tp->lost_out > tcp_packets_in_flight(tp) / PATH_REPAIR)
				path_repair(sk, rs->acked_sacked, bw);
			if (p->rtt_min_us < PATH_SHORT_US)
				burst = path_clock(sk, rs->acked_sacked, bw);
		}
		cwnd += 2;
	}

	if (state == TCP_CA_Open && tcp_snd_cwnd(tp) >= cwnd && path_may_burst(sk))
		burst |= path_pair_start(sk, bw);
	path_pace(sk, burst, bw);
}

/*
 * A train at the rate of the last connection to this peer takes the place of the initial window, as
 * far as the window in the peer's SYN allows.
 */
static void path_revisit(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 rtt_us = tp->srtt_us >> 3, mss = ca->probe.mss;
	u32 room = (tcp_wnd_end(tp) - tp->snd_nxt) / mss;
	struct path_visit visit;
	u64 segs;

	if (!path_visits_find(sk, READ_ONCE(visits), &visit) || rtt_us < visit.rtt_min_us / 2 ||
	    rtt_us > PATH_VISIT_FAR * (u64)visit.rtt_min_us)
		return;
	segs = div_u64(visit.bytes_ps * min(rtt_us, visit.rtt_min_us), mss * USEC_PER_SEC);
	segs = min_t(u64, segs >> PATH_VISIT_PART, room);
	if (segs <= tcp_snd_cwnd(tp))
		return;
	path_train_send(sk, segs, div64_u64(segs * mss * USEC_PER_SEC, visit.bytes_ps) + 1);
	ca->train_zero = 1;
	ca->fell = 1;
	path_pace(sk, false, 0);
}

static void path_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->rtt_min_stamp = path_now();
	ca->before_loss = PATH_NOT_OURS;
	ca->noise = PATH_NO_NOISE;
	ca->rival = PATH_UNASKED;
	ccpd_probe_init(sk, &ca->probe);
	ccpd_set_rate(sk, path_start_rate(sk));
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);

	/* the first window is a burst too, if all of it is there to send */
	if (READ_ONCE(start) && !sk_is_mptcp(sk)) {
		ca->train = TRAIN_WANTED;
		if (!tp->packets_out) {
			path_train_send(sk, tcp_snd_cwnd(tp), 0);
			ca->train_zero = 1;
			path_revisit(sk);
		}
	}
}

/* For the next connection: the most that this one was delivered lately, if not in its start */
static void path_release(struct sock *sk)
{
	const struct cpath *ca = inet_csk_ca(sk);
	const struct ccpd_probe *p = &ca->probe;
	u32 rate = ccpd_delivery_rate(p);

	if (READ_ONCE(sk->sk_pacing_shift) > PATH_TSO_SHIFT)
		sk_pacing_shift_update(sk, PATH_TSO_SHIFT);
	path_set_single(sk, false);
	if (READ_ONCE(visits) && ca->mode != PATH_SLOW_START && !ca->capped && rate)
		path_visits_store(sk, ccpd_bytes_ps(rate, p->mss), p->rtt_min_us);
}

/*
 * What the claim is worth as a window; a loss in slow start does not end it.  Nor do those that
 * follow: if they are undone, so is the end of slow start.
 */
static u32 path_ssthresh(struct sock *sk)
{
	struct cpath *ca = inet_csk_ca(sk);

	if (ca->before_loss != PATH_SLOW_START || ca->mode != PATH_AVOIDANCE ||
	    ca->rounds >= PATH_REPAIRS)
		ca->before_loss = ca->mode;
	if (ca->before_loss == PATH_SLOW_START)
		return TCP_INFINITE_SSTHRESH;
	return clamp_t(s64, ccpd_segs(ca->claim, ca->probe.rtt_s >> 3) >> SEG_SCALE,
		       PATH_LEAST_WINDOW, TCP_INFINITE_SSTHRESH - 1);
}

/* TCP asks for ssthresh before it says why: here, that a router has marked a packet. */
static void path_set_state(struct sock *sk, u8 state)
{
	struct cpath *ca = inet_csk_ca(sk);

	if (state == TCP_CA_Loss)
		ccpd_timeout(sk, &ca->probe);
	if (state != TCP_CA_CWR)
		return;
	if (ca->mode == PATH_SLOW_START)
		path_train_leave(sk, ccpd_delivery_rate(&ca->probe) ?: ca->claim);
	else
		path_too_much(ca);
	ca->claim = (u64)ca->claim * CCPD_ECN_KEEP >> 8;
}

/* It was no loss: what the losses took of the claim comes back. */
static u32 path_undo_cwnd(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 claim;

	ca->capped = 0;
	if (ca->before_loss == PATH_SLOW_START) {
		/* the train that the loss has ended is no train any more */
		if (ca->mode != PATH_SLOW_START || ca->train == TRAIN_NONE) {
			path_enter(ca, PATH_SLOW_START);
			/* without a pair, what came amid repairs would be the window to stop at */
			if (!ccpd_pair_bw(&ca->probe))
				ca->claim = 0;
			/* a train takes the place of the floor */
			ca->rival = PATH_FRIENDLY;
			ca->doubt = 0;
			ca->train = READ_ONCE(start) ? TRAIN_WANTED : TRAIN_NONE;
		}
	} else if (ca->before_loss != PATH_NOT_OURS) {
		claim = ccpd_bw(min_t(u32, tp->snd_ssthresh, BIT(30) - 1), 1,
				(u64)(ca->probe.rtt_s >> 3) * NSEC_PER_USEC);
		ca->claim = max(ca->claim, claim);
		if (ca->mode == PATH_SLOW_START)
			path_enter(ca, PATH_AVOIDANCE);
	}
	return max(tcp_snd_cwnd(tp), tp->prior_cwnd);
}

/*
 * Slow start begins anew after an idle time of a retransmission timeout (RFC 5681, section
 * 4.1), since nothing paces it, and a window of 200 would leave as one burst.  TCP does it
 * itself only where .cong_control is not set.
 */
static void path_restart(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle) &&
	    (s32)(tcp_jiffies32 - tp->lsndtime) > (s32)inet_csk(sk)->icsk_rto)
		tcp_snd_cwnd_set(tp, min_t(u32, tcp_snd_cwnd(tp), TCP_INIT_CWND));
}

/*
 * Nothing is in flight, and a segment leaves.  After an idle time of a round trip no queue on
 * the path is ours.  A small window may be acknowledged as a whole: then nothing is in flight
 * for a moment in each round trip, and that is no idle time.  Nor is it one if pacing, and
 * neither the application nor an outage, kept the segment back.
 */
static void path_tx_start(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);

	if ((!tp->app_limited && !tp->lost_out) ||
	    tcp_stamp_us_delta(tp->tcp_mstamp, tp->delivered_mstamp) < ca->probe.rtt_s >> 3)
		return;
	if (ca->mode == PATH_SLOW_START) {
		if (path_in_train(ca) && ca->train_us) {
			path_train_send(sk, path_train_segs(ca), ca->train_us);
			ca->train_zero = 1;
		}
		if (!ca->claim)
			path_restart(sk);
	} else {
		path_enter(ca, PATH_AVOIDANCE);
	}
	ca->rtt_min_stamp = path_now();
	path_round_begin(sk);
}

tcpcc_cwnd_events(path_cwnd_event, path_tx_start, NULL);

static u32 path_sndbuf_expand(struct sock *sk)
{
	/* Eq. 3 may ask for several times what is in flight */
	return 3;
}

static size_t path_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	static const char * const mode[] = { "slow-start", "avoidance", "drain" };
	const struct cpath *ca = inet_csk_ca(sk);
	const struct ccpd_probe *p = &ca->probe;
	u32 bw = path_capacity(ca), mss = tcp_sk(sk)->mss_cache;
	u32 rtt_min_us = p->rtt_s ? p->rtt_min_us : 0;
	struct tcpcc_view *view;

	view = tcpcc_view_of(ext, info, ca->mode == PATH_AVOIDANCE &&
			     ca->rival == PATH_FOREIGN ? "competing" : mode[ca->mode]);
	if (!view)
		return tcpcc_info_rate(ext, attr, info, ccpd_bytes_ps(bw, mss), rtt_min_us);

	tcpcc_view_add(view, "capacity_bps", ccpd_bytes_ps(bw, mss) * 8);
	tcpcc_view_add(view, "claim_bps", ccpd_bytes_ps(ca->claim, mss) * 8);
	tcpcc_view_add(view, "rtt_min_us", rtt_min_us);
	tcpcc_view_add(view, "rtt_max_us", rtt_min_us + path_room_us(ca));
	if (p->rtt_s) {
		tcpcc_view_add(view, "buffer_segs",
			       ccpd_whole_segs(ccpd_segs(bw, path_room_us(ca))));
		tcpcc_view_add(view, "level_segs",
			       ccpd_whole_segs(ccpd_segs(bw, path_queue_us(ca))));
	}
	return 0;
}

static struct tcp_congestion_ops path_ops __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "ccpd_path",
	.owner		= THIS_MODULE,
	.init		= path_init,
	.release	= path_release,
	.cong_control	= path_cong_control,
	.ssthresh	= path_ssthresh,
	.set_state	= path_set_state,
	.undo_cwnd	= path_undo_cwnd,
	TCPCC_CWND_EVENTS(path_cwnd_event, path_tx_start, NULL),
	.sndbuf_expand	= path_sndbuf_expand,
	.get_info	= path_get_info,
};

static int __init path_register(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct cpath) > ICSK_CA_PRIV_SIZE);
	/* a train may take the place of the pair, and of nothing else */
	BUILD_BUG_ON(sizeof(struct cpath_train) > offsetof(struct ccpd_probe, best));

	err = path_visits_register();
	if (err)
		return err;
	err = tcp_register_congestion_control(&path_ops);
	if (err)
		path_visits_unregister();
	return err;
}

static void __exit path_unregister(void)
{
	tcp_unregister_congestion_control(&path_ops);
	path_visits_unregister();
}

module_init(path_register);
module_exit(path_unregister);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP CCPD for real paths: full speed, a small queue");
