// SPDX-License-Identifier: GPL-2.0
/*
 * ccpd_path: CCPD for real paths.  It uses the law of tcp_ccpd.c with three changes: a storage B
 * that fills any path, a share of the capacity for each of several flows, and a fast start.
 * docs/ccpd_path.md describes all of it on one page, with measurements.
 *
 * Eq. 3 as printed leaves a path whose buffer is smaller than 1 + 1 / Kp bandwidth-delay
 * products partly empty (see the head of tcp_ccpd.c).  Here the storage is the one for which
 * the same algebra gives a full path and a small queue, q0:
 *
 *   B = C * (rtt_min * (1 + 1 / Kp) + q0 * (2 + 1 / Kp))
 *
 * C in Eqs. 5 and 6 is replaced by the flow's own claim.  The claim is the rate that was delivered
 * to the flow in the last round trip, plus a share of the rest of C.  The share is zero when the
 * queue is 2 * q0, and a small flow's share is larger in proportion to its rate.  Flows therefore
 * converge to equal rates, with a queue between q0 and 2 * q0 (plus what Kp makes each window
 * overshoot), for any number of flows.  If there is almost no queue, a flow claims a quarter more
 * than was delivered, even if that is more than the known C; and up to C as much as twice.
 *
 *      a train is late, losses,                  no rtt_min for 10 s, or a queue
 *      or a queue                                that others keep up
 *   SLOW START ----------------------> AVOIDANCE -----------------> DRAIN
 *       ^                               |     ^                       |
 *       +-------------------------------+     +-----------------------+
 *            retransmission timeout               after two round trips
 *
 * Start.  In each round trip the flow sends one train of segments, and nothing else.  The first
 * train is the initial window.  If a train arrives at the rate at which it left, the next train is
 * faster and at most five times as long.  If it arrives late, its arrival rate is the capacity.
 * The rate is measured from the end of one batch of ACKs to the end of another batch.  If a train
 * has too few batches for that, the next train lasts longer.  Jitter also makes a train late.  So
 * if the delay continues to vary and no queue stands, the claim is twice the delivered rate, until
 * a queue stands.  With visits= the first train is sent at the rate of the last connection to this
 * peer, if one is remembered.  On a short path many hosts may answer at once, and each train shows
 * the capacity of the whole link.  So there plain slow start follows a late train, which takes
 * little time, and two losses in a train end the start.
 *
 * Losses.  Many losses beside a queue are an overflow: the claim falls, by at most a half.  Losses
 * without a queue are noise and are ignored, up to an eighth of a round trip.  If more are lost in
 * two successive round trips, or more than half in one, something drops all packets above a certain
 * rate (a policer).  That rate then caps C until a queue is seen.  After fifteen round trips the
 * cap rises by 1/64 in each round trip without such losses, so that a wrong cap ends.  A buffer of
 * a few segments cannot lose many: there two losses, if they are more than an eighth, are an
 * overflow.  Losses found by a timeout are an outage, and do not count.
 *
 * Drains.  If rtt_min was not met and the queue did not run empty for 10 s, the window is halved
 * for two round trips, to measure rtt_min again.  An idle time has the same effect and restarts
 * the 10 s.
 *
 * Delay that varies.  The queueing delay is counted from the least mean rtt of a round trip, not
 * from the least rtt: if ACKs come in bunches, even an empty path takes longer than the least rtt.
 *
 * Way back.  A queue on the way back is not ours.  The peer's time stamps tell it from a queue on
 * the way there.
 *
 * Capacity that moves.  The capacity is taken to move if the delivered rate fell at once, and then
 * the queue ran empty in several successive round trips.  For 8 s the window then follows the queue
 * instead of the rate: it grows by an eighth when a packet met an empty path, and falls slowly
 * otherwise.  If no packet meets an empty path for long, the capacity has fallen, or other flows
 * have come, and the law takes over again.
 *
 * Bunches.  On Wi-Fi, or in a virtual machine, the link waits, and then takes many packets at once.
 * The amount delivered in one round trip is then random, and less than the path could carry.  ACKs
 * that come in bunches indicate such a link.  The capacity is then treated as one that moves, with
 * a slightly smaller window.
 *
 * A queue of others.  A queue that stays above 2 * q0 is not caused by this law.  A drain finds the
 * cause.  If the delay does not fall, twice in a row, the path itself is longer: rtt_min has grown.
 * Flows with this law all give way, so a queue of theirs is soon gone.  If the queue is still there
 * after fifteen successive round trips (fewer, if they are long), a flow that yields only to losses
 * shares the link.  Beside such a rival a lower limit of the window, the floor, keeps this flow
 * from starving.  The floor grows as fast as CUBIC's window does on average, and faster up to a
 * sixth of the capacity.
 *
 * Real hosts.
 *   o A flow that has too little to send cannot see how much it could have: its round trips do not
 *     lower the claim, and do not end the start.  If a host is too slow for several trains, plain
 *     slow start follows.
 *   o After a timeout slow start ends at the claim from before the timeout, not at C.
 *   o If a loss was spurious it is undone: the claim from before it comes back, and the cap ends.
 *     ssthresh holds that claim, as a window.
 *   o A CE mark multiplies the claim by 0.85 (RFC 8511), at most once in a round trip.
 *   o The flow paces, by the kernel's timer or by fq.  If TCP's bursts would overflow a small
 *     buffer, they are shorter, down to single segments.  With SO_MAX_PACING_RATE, or as a subflow
 *     of MPTCP, no pair is timed; a subflow sends no trains either.
 *
 * Any process may choose it (TCP_CONG_NON_RESTRICTED): it reacts to queues before losses, and
 * reduces its claim by a quarter after many losses beside a queue.
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

/* Units of narrow fields, us */
#define PATH_TICK	250000
#define PATH_NOISE	64
#define PATH_QUEUE	8

/* Not known yet: the largest number that @noise holds */
#define PATH_NO_NOISE	0x1fffU

/*
 * Time stamps are in ms, about 2^10 us.  A difference in 10 bits is unambiguous up to PATH_FAR.  If
 * the capacity moves, a delay above PATH_STALL is a link that stops for a while, and not a queue;
 * field-moving, cellular both ways.  The way back takes at most PATH_BACK times rtt_min longer than
 * its least, which is what the deep buffer of an uplink holds; field-back.  PATH_NO_CLOCK is the
 * largest number that @back holds.
 * Both clocks round down, so a sample may be wrong by one, and so may the sample from when rtt_min
 * was met.  If a peer's clock falls behind by more than these two, after the start, its unit is
 * not the ms.
 */
#define PATH_MS		10
#define PATH_FAR	500U
#define PATH_STALL	120U
#define PATH_BACK	8
#define PATH_ROUNDED	2
#define PATH_NO_CLOCK	0x1ffU

/*
 * Losses of a round trip count if they are at least PATH_LOSSES segments, and more than one in
 * PATH_OVERFLOW beside a queue (an overflow), one in PATH_POLICER without a queue (a policer), or
 * one in PATH_CAPPED without a queue if a policer is known; path-loss, path-policer
 */
#define PATH_LOSSES	8U
#define PATH_OVERFLOW	50
#define PATH_POLICER	8
#define PATH_CAPPED	64

/* Many segments are missing: more than one in so many of those in flight; field-crowd */
#define PATH_REPAIR	4

/* A repair without an rtt is too fast if it loses so many times as many segments as arrive */
#define PATH_BLIND	4

/* A train was too fast if it lost more than one in so many segments; host=vm, path-flows */
#define PATH_TOO_FAST	4

/*
 * The cap is the rate that a policer let through, less 1/2^5.  After PATH_ROUNDS it rises in each
 * round trip without such losses, by 1/2^6 for each 2^16 us of the rtt, from one to four times;
 * path-policer, field-random
 */
#define PATH_CAP_BELOW	5
#define PATH_CAP_GROWTH	6

/* The least window, segments: a receiver then never waits to acknowledge */
#define PATH_LEAST_WINDOW	4U

/* The window is also at least so many fourths of claim * base; field-crowd, field-random */
#define PATH_KEEP	3

/*
 * If no queue stood in so many successive round trips, the base moves 1/2^3 of the way to the mean
 * rtt in each; host=vm, path-flows
 */
#define PATH_CLEAR_ROUNDS 7
#define PATH_RISE	3

/*
 * Segments may wait for the next bunch at most 2^2 times as long as the path is.  A longer delay is
 * a queue, of many flows of our kind or of a rival; field-batches
 */
#define PATH_WAITS	2

/*
 * The capacity moves if fewer than PATH_FALL eighths of the claim were delivered in a round trip,
 * and the queue was then empty for PATH_EMPTY_ROUNDS, or one less if they are long.  With only two
 * long ones, looks of several flows look the same; field-crowd (4 flows, 200 ms).  This state lasts
 * for PATH_MOVES ticks; field-moving, path-flows
 */
#define PATH_FALL	5
#define PATH_EMPTY_ROUNDS 4
#define PATH_MOVES	31U

/*
 * The window in that state, in units of 1/2^6 segments.  It grows by 1/2^3 for each 2^16 us of the
 * rtt (from one to four times), and falls by 1/2^6 for each rtt_min that a round trip takes (up to
 * 16 times).  In equilibrium the queue is empty in one of nine round trips, if they are short.  The
 * state ends at an overflow (field-guests), and if the queue was not empty in
 * PATH_ROUNDS - PATH_REPAIRS successive round trips; field-moving, field-random, field-crowd
 */
#define PATH_WINDOW_PART 6
#define PATH_WINDOW_GROWS 3
#define PATH_WINDOW_FALLS 6
#define PATH_WINDOW_LONG 16U
#define PATH_WINDOW_MOST BIT(30)

/*
 * An ACK belongs to a bunch if it follows the ACK before in less than 1/2^5 of the time that the
 * path needs for the segments that it acknowledges.  The limit cannot be stricter: two full
 * segments take 36 times as long as their ACK on a way back of the same rate.  A pause comes before
 * a bunch: longer than 3/2^4 of rtt_min, and longer than PATH_PAUSE_SEGS take at the capacity.
 * (With 1/2^3, jitter of rtt_min/4 on the ACKs of one of two flows would look like bunches.)  Each
 * ACK of a bunch adds PATH_BUNCH to a counter, up to PATH_BUNCHES_MOST, and each other ACK
 * subtracts one.  From PATH_BUNCHES on ACKs come in bunches, and PATH_FEW_LOSSES are enough for an
 * overflow; they also end a train on a short path; field-moving, field-hosts, field-starvation
 */
#define PATH_AT_ONCE	5
#define PATH_PAUSE	4
#define PATH_PAUSE_SEGS	4
#define PATH_BUNCH	3
#define PATH_BUNCHES	8
#define PATH_BUNCHES_MOST 15
#define PATH_FEW_LOSSES	2

/*
 * Jitter may have stretched a late train if the jitter is more than 1/2^4 of rtt_min, and more than
 * so many segments take at the capacity; field-random, test_ccpd.py
 */
#define PATH_JITTER	4
#define PATH_JITTER_SEGS 6

/*
 * A look at the path tells something only if enough was withdrawn: more than PATH_LEAST_WITNESS
 * segments, which others cannot replace within two round trips, and 1/2^5 of what the path holds;
 * path-share, path-flows.  Or, on a path that holds few segments, 1/2^3 of it; field-random
 */
#define PATH_LEAST_WITNESS	8U
#define PATH_WITNESS	5
#define PATH_FEW_WITNESS	3

/* A flow that gave way looks at the path after drain/2^2; field-random, field-moving */
#define PATH_SOONER	2

/* A flow that has seen no pair assumes that it is one of 2^3 on the path; path-flows */
#define PATH_UNKNOWN	3

/*
 * The least q0, segments: a window is a whole number of segments, an ACK is for two, and a link may
 * take several at once.  CoDel's target, 5 ms, is four at 10 Mb/s; field-random, test_ecn.py
 */
#define PATH_LEAST_QUEUE	4U

/*
 * A train has at most PATH_TRAIN_GROWTH times as many segments as the train before.  It is sent in
 * 1/2^5 of rtt_min, or in a longer time if ACKs come in batches; path-start, field-batches
 */
#define PATH_TRAIN_GROWTH	5
#define PATH_TRAIN_TIME	5

/*
 * After so many trains for which the host had too little to send, plain slow start follows, which
 * does not wait for the end of each train; lab bench.  An idle time of the application restarts the
 * count: then the application limits the flow, and not the host.
 */
#define PATH_HELD	4

/* A shorter train, segments, has no rate: one ACK may be for all of it (cc_scripts, limits) */
#define PATH_LEAST_TRAIN	8U

/*
 * A first train at a remembered rate has at most 1/2^3 of what the path held.  If the rate is now a
 * fourth, half of a bandwidth-delay product of buffer is enough for this train.  If it is in time,
 * half of what the path held follows.  The rtt may now be from 1/2 to 10 times the remembered one
 * (Careful Resume); path-visit
 */
#define PATH_VISIT_PART	3
#define PATH_VISIT_FAR	10

/* ACKs at most so far apart, us, belong to one batch; field-batches */
#define PATH_CLOSE_US	50U

/* A train must span so many batches (rounded) to tell a rate; field-batches */
#define PATH_SURE	4U

/* Slow start ends at a queue of 2 * q0 plus this, us, for a host's own delays; stock_hosts */
#define PATH_HOST_DELAY_US	1000

/*
 * A round trip of fewer segments cannot show that the capacity moves, and its mean rtt is too
 * random to set the base; path-flows, test_ccpd.py
 */
#define PATH_BATCH	16U

/*
 * On an empty path the claim may exceed the delivered rate by a quarter for each 2^16 us of the
 * rtt, from one to four quarters; field-random (cellular), field-moving
 */
#define PATH_ROOM	16
#define PATH_ROOM_MOST	4U

/*
 * A claim below half of what was delivered lately may exceed the delivered rate by PATH_ROOM_MOST
 * quarters, if @empty shows so many successive round trips; field-random --draw 7 (cellular)
 */
#define PATH_REGAIN	2U

/*
 * A value of @empty: in the round trip before, of those in which losses count, so many segments
 * were lost without a queue that a policer may have dropped them; field-loss (bursts of 20)
 */
#define PATH_SUSPECT	7U

/* Round trips with a queue above 2 * q0, before the flow looks at the path; path-flows */
#define PATH_DOUBT	2

/*
 * Eighths of the floor.  A flow that gives way to a queue looks again each time that its window
 * becomes less; field-moving (low orbit), field-crowd (20 and 80 ms)
 */
#define PATH_LESS	3

/* A look told nothing.  If the queue stays for PATH_ROUNDS more, it is a rival's. */
#define PATH_UNSURE	3

/*
 * After that look a round trip counts as one, plus one for each 2^17 us of its rtt.  Reason: each
 * loss of a rival empties the queue and restarts the count.  CUBIC has a loss every few seconds,
 * but fifteen long round trips take longer; field-beside.  Round trips without a queue are counted
 * in the same way, for a capacity that moves; field-moving, field-random
 */
#define PATH_LONG_ROUND	17

/* Beside a rival, before our first loss: the floor grows fast even if the buffer is full */
#define PATH_CATCH_UP	3

/* It grows fast until this part of the capacity, 1/6, is ours; field-beside, path-share */
#define PATH_OUR_PART	6

/*
 * In so many round trips after slow start a loss may still belong to the losses that ended it: two
 * repairs and the DSACK of each, one after the other; stock_cases, reordering_100
 */
#define PATH_REPAIRS	4U

/*
 * After so many round trips without a drain a standing queue is one of ours; path-flows.  After so
 * many without a policer's losses its cap rises, since each rise causes some losses; path-policer.
 */
#define PATH_ROUNDS	15U

/*
 * sk_pacing_shift: TCP's default, with which a TSO burst takes 1 ms at the pacing rate; and the
 * largest that is set here, 61 us; field-rates
 */
#define PATH_TSO_SHIFT	10
#define PATH_TSO_SHIFT_MOST 14

/*
 * At any pacing rate TCP may send bursts of 64 kB, which is so many segments, halved for each
 * 2^9 us of the rtt (tcp_tso_rtt_log); field-rates
 */
#define PATH_TSO_SEGS	44U
#define PATH_TSO_RTT	9

/*
 * On paths longer than this such a burst is at most PATH_LEAST_QUEUE.  On shorter ones many hosts
 * may answer at once, and hosts need up to 1/2^4 of this to take packets; rfc9743-datacentre, lab
 * bench
 */
#define PATH_SHORT_US	(4U << PATH_TSO_RTT)

/*
 * A shorter path is inside a host, as over loopback or veth.  Segments wait for a processor there,
 * and not for a link: q0 is 2^PATH_HOST_Q0 us larger, and nothing is paced; lab bench
 */
#define PATH_HOST_US	32U
#define PATH_HOST_Q0	10

/*
 * An ACK for more than so many segments would itself release a burst: a delayed ACK is for two, and
 * one more segment is sent.  Each ACK releases at least PATH_CLOCKED_SEGS; field-random
 */
#define PATH_CLOCKED	3U
#define PATH_CLOCKED_SEGS 2

/*
 * A packet for a small buffer has what the path carries in so many us: one segment up to 375 Mb/s.
 * Smaller packets would cost a host too much.  And TCP keeps only two such packets in the device,
 * which may report that they have left later than this.
 */
#define PATH_PACKET_US	32

TCPCC_PARAM(kp, 4, 1, 16, "Proportional gain Kp of Eq. 3, no unit");
TCPCC_PARAM(kd, 100, 0, 100000, "Derivative gain Kd of Eq. 3, us");
TCPCC_PARAM(start, 1, 0, 1,
	    "1: start with packet trains at the measured capacity; 0: slow start");
TCPCC_PARAM(drain, 10, 1, 3600,
	    "Time without a new rtt_min before the queue is drained, s");
TCPCC_PARAM(visits, 0, 0, 10080,
	    "How long a connection's capacity is used for new ones to the same peer, min; 0: off");

enum path_mode {
	PATH_SLOW_START,	/* trains, or window grows by what is acknowledged */
	PATH_AVOIDANCE,		/* window from Eq. 3 */
	PATH_DRAIN,		/* window halved to see rtt_min */
	PATH_NOT_OURS,		/* before_loss: of another congestion control */
};

enum path_train {
	TRAIN_NONE,		/* plain slow start */
	TRAIN_WANTED,		/* waits for the next ACK, after an undone loss or a TFO SYN */
	TRAIN_SENT,		/* waits for the train's first ACK */
	TRAIN_FIRST,		/* waits for the end of its first batch of ACKs */
	TRAIN_OPEN,		/* waits for its last ACK */
};

enum path_rival {
	PATH_FRIENDLY,		/* all flows that share the queue give way to it */
	PATH_EMPTY,		/* one look found no queue: perhaps the path is longer */
	PATH_FOREIGN,		/* a rival keeps the queue up */
	PATH_UNASKED,		/* no look yet, or none since the path became longer */
};

/**
 * struct cpath_train - how a train arrives
 * @begin: tp->delivered at the end of its first batch of ACKs; before its first ACK: delivered and
 *	lost when the train left
 * @begin_us: the time of that end
 * @last_us: the time of the latest ACK
 * @gap_us: the largest time between two ACKs
 * @best_segs: segments delivered since @begin when the rate was largest
 * @best_us: the time that these took; in the first batch, the length of that batch
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
 * @t: state of a train; it shares memory with the state of a timed pair, which no train has
 * @claim: our part of the capacity, BW_SCALE; of a train, the rate at which it is sent
 * @delay_sum: sum of (rtt - rtt_min) of the segments acknowledged in this round trip, PATH_NOISE us
 * @cap: the rate that a policer lets through, BW_SCALE, if @capped
 * @floor: beside a rival, the least window, segments; if path_has_window(), the least window
 *	there, 1/2^PATH_WINDOW_PART segments
 * @train_end: of a train: delivered and lost segments when all of it has arrived or is lost
 * @prev: in avoidance: the previous evaluation of Eq. 3
 * @train_us: of a train: the time in which it is sent, us; 0: at once
 * @train_rtt_us: its least rtt, us
 * @before_us: in a drain: mean rtt before the drain, us
 * @withdrawn: in a drain: by how much it has reduced what is in flight, segments
 * @round_lost: losses reported by ACKs in this round trip, segments
 * @rtt_min_stamp: when rtt_min was last met, or the queue was last empty, PATH_TICK
 * @met: an ACK of this round trip showed that the claim was delivered; path_has_met()
 * @late: in avoidance: the start ended with a late train, and no queue was seen since
 * @noise: mean delay of an empty path beyond rtt_min, PATH_NOISE us
 * @round_queue: least rtt of the previous round trip, beyond rtt_min, PATH_QUEUE us
 * @train_stamp: of a train: the peer's time stamp at the end of the first batch of its ACKs
 * @room: largest rtt beyond rtt_min, PATH_QUEUE us
 * @way: the peer's time stamp minus the sending time when rtt_min was met, ms, modulo 2^8
 * @back: by how much the way back is longer than it was then, ms; PATH_NO_CLOCK: not known
 * @mode: enum path_mode
 * @capped: there is a policer
 * @limited: the application had too little to send in this round trip
 * @rounds: round trips in this mode, up to PATH_ROUNDS; long ones may count as several.  While
 *   trains are sent: those for which the host had too little, up to PATH_HELD
 * @doubt: round trips with a queue above 2 * q0, up to PATH_UNSURE; beside a rival: looks that
 *	found no queue, or PATH_CATCH_UP
 * @rival: enum path_rival
 * @moves: the capacity is taken to move, or to have fallen (@fell), for so many PATH_TICKs more
 * @empty: successive round trips with almost no queue, of those that path_watch() sees, up to
 *	PATH_EMPTY_ROUNDS; or PATH_SUSPECT
 * @fell: the capacity fell, and has not risen since; of a train: its rate is a remembered one
 * @tick: path_now() at the last count of @moves, modulo 2
 * @clear: successive round trips in which a packet took less than the base
 * @paused: in avoidance: since the last pause all ACKs belonged to a bunch
 * @bunches: in avoidance: counter of ACKs in bunches, up to PATH_BUNCHES_MOST
 * @train: in slow start: enum path_train
 * @train_zero: nothing was in flight before this train
 * @train_limited: the application or a window left too little to send for this train
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
		struct {
			u32	before_us;
			u32	withdrawn;
		};
	};
	u16	round_lost;
	u16	rtt_min_stamp:14,
		met:1,
		late:1;
	union {
		u16	round_queue;
		u16	train_stamp;
	};
	u16	room;
	u32	noise:13,
		way:10,
		back:9;
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
 * q0 is rtt_min/16 (PATH_SHORT_US/16 on a short path: hosts need as long to take packets), or a
 * quarter of the buffer if that is less, but at least rtt_min/64.  If the delay varies by itself,
 * as on Wi-Fi, q0 is as large as that variation, up to rtt_min/2: such a path never shows less
 * delay, and the law would always give way.  q0 is at least the time of PATH_LEAST_QUEUE segments,
 * since windows are whole segments.  In a buffer with no room for twice that it is half of the
 * buffer, down to half as many segments: 2 * q0 would overflow the buffer in each round trip.  On a
 * short path q0 is at least the time of a TSO burst, up to rtt_min/4, because a burst queues behind
 * itself.  Inside a host a delay shows no queue, and q0 is larger.
 *
 * Return: us, at least 1
 *
 * Always inline, as all that each ACK needs: a call of this function costs 16 instructions (see
 * docs/results/counted.md for what an ACK costs).
 */
static __always_inline u32 path_q0_us(u32 bw, u32 rtt_min_us, u32 room_us, u32 varies_us)
{
	u32 most = max(rtt_min_us, PATH_SHORT_US) >> 4, q0 = room_us >> 2;
	u32 segs = PATH_LEAST_QUEUE, us;

	if (q0 > most)
		q0 = min(q0, max(most, min(varies_us, rtt_min_us >> 1)));
	q0 = max(q0, (rtt_min_us >> 6) + 1);

	if (rtt_min_us < PATH_SHORT_US) {
		segs = PATH_TSO_SEGS >> (rtt_min_us >> PATH_TSO_RTT);
		/* without a branch, which would double the work of the verifier of BPF */
		q0 += (rtt_min_us - PATH_HOST_US) >> 31 << PATH_HOST_Q0;
	}
	/* q0 already holds that many: no division is needed */
	if (!bw || (u64)bw * q0 > segs << BW_SCALE)
		return q0;
	us = (PATH_LEAST_QUEUE << BW_SCALE) / bw + 1;
	if (room_us)
		us = min(us, max(room_us, us) / 2);
	if (segs > PATH_LEAST_QUEUE)
		us = max(us, min((segs << BW_SCALE) / bw + 1, rtt_min_us >> 2));
	/* this may be more than rtt_min/16, and than a quarter of the buffer */
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
 * rate * (1 + ln(C / rate) / 8 * (1 - queue / (2 * q0))): a flow alone asks for its rate, one of N
 * equal flows for up to ln(N) / 8 more, and no flow for more than its rate if the queue is 2 * q0.
 * With the logarithm a small flow grows faster than a large one by the same factor for any N.
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
 * n = rtt / 2^PATH_ROOM us, from 1 to PATH_ROOM_MOST.  On a long path there are few round trips in
 * which to follow the capacity, so each step is n times as large.
 */
static u32 path_long(u32 rtt_us)
{
	return clamp(rtt_us >> PATH_ROOM, 1U, PATH_ROOM_MOST);
}

/**
 * path_room() - what a flow may ask for if there is almost no queue
 * @rate: what it was delivered in the last round trip, BW_SCALE
 * @n: the largest step, quarters of the rate, at most PATH_ROOM_MOST; path_step()
 * @bw: capacity, BW_SCALE
 * @queue_us: mean queueing delay in that round trip, us
 * @q0_us: queueing delay to aim at, us
 *
 * rate * (1 + (1 - 2 * queue / q0) * n / 4).  If there is no queue, the capacity is more than what
 * is known of it, or another flow has left.  In equilibrium there is a queue of q0, and the result
 * is the rate.
 *
 * Steps with n > 1 end at @bw; above it n is 1.  A claim above the capacity fills a queue one round
 * trip later, and on a long path that queue is long.  While it stands, random losses count as an
 * overflow; field-loss (5 %, 300 ms).
 *
 * Return: rate, BW_SCALE
 */
static u32 path_room(u32 rate, u32 n, u32 bw, u32 queue_us, u32 q0_us)
{
	u64 step;

	if (queue_us >= q0_us / 2)
		return rate;
	step = div_u64((u64)(rate >> 2) * (q0_us - 2 * queue_us), q0_us);
	return min_t(u64, max(rate + step, min_t(u64, rate + n * step, bw)), U32_MAX);
}

/**
 * path_is_longer() - has the path become longer, so that there is no queue?
 * @withdrawn: by how much we have reduced what is in flight, segments
 * @fell_us: by how much the delay has fallen since then, us
 * @rtt_us: mean rtt now, us
 * @bw: capacity, BW_SCALE
 *
 * If the delay fell by less than a quarter of the time that the withdrawn segments take to pass,
 * there is no queue, and the remaining delay is the path's own.  One of many flows withdraws so
 * little that changes of the others hide the effect.  Such a flow cannot decide.
 *
 * Return: true if the path is longer; false if it is not, or if this flow cannot decide
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

static u16 path_tick(u64 us)
{
	return div_u64(us, PATH_TICK);
}

/*
 * Time in units of PATH_TICK.  The clock has 64 bits of us.  tcp_jiffies32 wraps 300 s after the
 * boot, and the difference of two stamps of 14 bits would jump there.
 */
static u16 path_now(const struct sock *sk)
{
	return path_tick(tcp_sk(sk)->tcp_mstamp);
}

/* The time since @stamp, PATH_TICK, below 2^14 */
static u16 path_since(const struct sock *sk, u16 stamp)
{
	return (path_now(sk) - stamp) & (BIT(14) - 1);
}

static u32 path_ticks(u32 seconds)
{
	return seconds * (USEC_PER_SEC / PATH_TICK);
}

/*
 * Before an epoch ends.  Its best pair may show less than half of the rate known before, although
 * this flow got less than 3/4 of what that pair shows.  Then packets of other flows may have come
 * between those of the pair, so the known rate only halves.  Reason: a flow that believes such a
 * pair takes itself for most of the path; one of 16 flows took 40 of 50 Mb/s; field-crowd (200 ms).
 */
static void path_doubt_pair(struct ccpd_probe *p)
{
	struct ccpd_pair *b = p->best;

	if (b[0].bw && b[0].bw < b[1].bw / 2 && ccpd_delivery_rate(p) < b[0].bw - (b[0].bw >> 2)) {
		b[1].bw /= 2;
		b[0].bw = 0;
	}
}

/*
 * Counts @moves down and ages the delivery rates, by the PATH_TICKs of a round trip.  So the rates
 * of the last 4 to 8 s are remembered.  @begin is the time of the last ACK before the segment was
 * sent whose ACK ends the round trip.  One more tick may have passed since the last count: @tick
 * has whether that tick was odd.
 */
static void path_age(struct sock *sk, u64 begin)
{
	struct cpath *ca = inet_csk_ca(sk);
	u16 now = path_now(sk), ticks = now - path_tick(begin);

	ticks = min(ticks + ((ticks ^ now ^ ca->tick) & 1), CCPD_EPOCH);
	if (!ticks)
		return;
	ca->tick = now & 1;
	ca->moves -= min_t(u16, ca->moves, ticks);
	ca->fell &= !!ca->moves;
	if (ca->probe.epoch + ticks >= CCPD_EPOCH)
		path_doubt_pair(&ca->probe);
	ccpd_age(&ca->probe, ticks);
}

/* Lately this flow had more than half of the capacity that pairs show. */
static bool path_had_most(const struct cpath *ca)
{
	u32 pair = ccpd_pair_bw(&ca->probe);

	return pair && ccpd_delivery_rate(&ca->probe) > pair / 2;
}

/* For how many more than one a long round trip counts */
static u32 path_more_rounds(const struct cpath *ca)
{
	return ca->probe.rtt_s >> (PATH_LONG_ROUND + 3);
}

/* Forgets PATH_SUSPECT, and returns whether it was there. */
static bool path_suspected(struct cpath *ca)
{
	if (ca->empty != PATH_SUSPECT)
		return false;
	ca->empty = 0;
	return true;
}

/* ACKs come in bunches. */
static bool path_bunched(const struct cpath *ca)
{
	return ca->bunches >= PATH_BUNCHES && ca->mode != PATH_SLOW_START;
}

/* The capacity may rise again to what it was lately, or a round trip cannot show it. */
static bool path_moves(const struct cpath *ca)
{
	return (ca->moves && !ca->fell) || path_bunched(ca);
}

/*
 * Is @floor the window of a capacity that moves?  Not if ACKs come in bunches: a round trip then
 * has too few of them to show whether the queue was empty.  Nor if its memory holds a policer's
 * cap, or the floor beside a rival.
 */
static __always_inline bool path_has_window(const struct cpath *ca)
{
	return ca->moves && !ca->fell && !path_bunched(ca) && !ca->capped &&
	       ca->rival != PATH_FOREIGN;
}

/*
 * What a capacity that moves may be now, BW_SCALE; 0 if it does not move.  It is the largest rate
 * that was delivered in the last seconds, or the claim if that rate caused an overflow.  It is at
 * most twice the claim: that rate may have ended before this state began, and a window for all of
 * it would overflow the buffer at once; field-random --draw 12 (path 075)
 */
static u32 path_moving_rate(const struct cpath *ca)
{
	if (!path_moves(ca))
		return 0;
	if (ca->fell)
		return ca->claim;
	return min_t(u64, 2ULL * ca->claim, ccpd_delivery_rate(&ca->probe));
}

/*
 * The window for a capacity that moves, segments: what fills a path of @us at that rate, or @floor
 * if that is more.  If ACKs come in bunches it is 11/8 of the former.  No more, because perhaps
 * only the ACKs come in bunches, and the link never waits; test_hosts.py.
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
 * After an overflow, or a CE mark: the capacity has fallen, or other flows have come.  It does not
 * count as one that moves until path_watch() says so again.  If ACKs come in bunches, the claim is
 * used meanwhile in place of the largest delivered rate.
 */
static void path_too_much(struct cpath *ca)
{
	ca->late = 0;
	if (path_bunched(ca))
		ca->moves = PATH_MOVES;
	else if (!path_has_window(ca))
		ca->moves = 0;
	ca->fell = !!ca->moves;
}

/*
 * The capacity C, at most a policer's cap.  If no pair was seen, C is the delivered rate and 1/32,
 * up to the cap.  Without this 1/32 the claim could never grow, because no more is delivered than
 * what was claimed.
 */
static __always_inline u32 path_capacity(const struct cpath *ca)
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
	ca->noise = min(us / PATH_NOISE, PATH_NO_NOISE - 1);
}

/* A segment whose rtt is less than half of the smoothed rtt has overtaken others. */
static bool path_overtook(const struct cpath *ca, u32 rtt_us)
{
	return rtt_us && rtt_us < ca->probe.rtt_s >> 4;
}

/* @segs segments of this round trip took @us more than rtt_min. */
static void path_add_delay(struct cpath *ca, u32 us, u32 segs)
{
	ca->delay_sum = min_t(u64, ca->delay_sum + (u64)(us / PATH_NOISE) * segs, U32_MAX);
}

/*
 * rtt_min has become less than @before_us by chance.  What an empty path takes on average is the
 * same as before, so its excess over rtt_min is larger; and so is that of the @overtaken segments
 * that were already counted in this round trip.  If the path has become shorter, later round trips
 * lower the average again.
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

/* No delay on the way back is known. */
static bool path_back_is_clear(const struct cpath *ca)
{
	return !ca->back || ca->back == PATH_NO_CLOCK;
}

/* More than rtt_min/8 on the way back is a standing queue; less may be jitter of ACKs */
static bool path_back_stands(const struct cpath *ca)
{
	return !path_back_is_clear(ca) && ca->back << PATH_MS > ca->probe.rtt_min_us >> 3;
}

/*
 * The delay of the way back beyond its least, us.  Rounding is added only if a queue stands there.
 * Inline, because each ACK needs it twice.
 */
static __always_inline u32 path_back_us(const struct cpath *ca)
{
	if (path_back_is_clear(ca))
		return 0;
	return (ca->back + (path_back_stands(ca) ? PATH_ROUNDED : 0)) << PATH_MS;
}

/* The base: the mean rtt of a path without a queue on the way there, us */
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

/* The smoothed rtt, us, including the present delay of the way back */
static u32 path_smoothed_us(const struct cpath *ca)
{
	return (ca->probe.rtt_s >> 3) + path_back_us(ca);
}

/* Queueing delay by the least rtt of this round trip, us */
static u32 path_round_queue_us(const struct cpath *ca)
{
	return path_beyond_us(ca, ca->probe.round_rtt_us);
}

/* The same of the previous round trip */
static u32 path_queue_before_us(const struct cpath *ca)
{
	return path_beyond_us(ca, ca->probe.rtt_min_us + ca->round_queue * PATH_QUEUE);
}

/* Queueing delay by the smoothed rtt, from which path_rtt() has removed the way back, us */
static u32 path_queue_us(const struct cpath *ca)
{
	return ccpd_queue_us(&ca->probe, ca->probe.rtt_min_us + path_noise_us(ca));
}

/*
 * By how much the delay varies, us: q0 may be as large.  It is what an empty path takes beyond
 * rtt_min.  But flows that share a queue know different values, since a late flow has never met an
 * empty path, and the flow with the largest q0 would get the whole capacity.  So after the first
 * drain the value is limited to twice the mean deviation of the rtt, which is the same for all that
 * share a queue.  If the rtt hardly deviates, half of the value counts, up to rtt_min/8.
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
 * q0, us; @bw: the capacity, BW_SCALE.  If the capacity moves, PATH_LEAST_QUEUE segments are
 * counted at the claim: at @bw, the largest rate of the last seconds, they might take less time
 * than one segment takes now.  On a short path they are counted at @bw, because a TSO burst is sent
 * at that rate; field-random.
 */
static __always_inline u32 path_q0(const struct sock *sk, u32 bw)
{
	const struct cpath *ca = inet_csk_ca(sk);

	if (path_moves(ca) && ca->probe.rtt_min_us >= PATH_SHORT_US)
		bw = min(bw, ca->claim);
	return path_q0_us(bw, ca->probe.rtt_min_us, path_room_us(ca), path_varies_us(sk));
}

/*
 * The least claim: the least window in a round trip.  With less, pacing would delay segments by
 * more than a round trip, and no round trip could show a larger rate.
 */
static u32 path_least_claim(const struct cpath *ca)
{
	return ccpd_bw(PATH_LEAST_WINDOW, 1, (u64)path_smoothed_us(ca) * NSEC_PER_USEC);
}

/*
 * If ACKs come in bunches, or a round trip has few segments, the mean rtt of a round trip is
 * random. The least of such means would be too low, and the flow would take everything else for a
 * queue and give way to it.  So the base is an average over many round trips here.  The differences
 * of delay within a round trip are part of it, not a queue.
 *
 * If bunches take longer than the path, all segments that one releases may wait for another one.
 * That looks like a queue, and with at most twice the least window it is none of this flow's.  But
 * it may be one of many flows, each with such a window: if each took that queue for the path, all
 * would keep it up.  So it counts only up to PATH_WAITS.  @mean_us: mean rtt beyond rtt_min, us
 */
static void path_learn_average(struct cpath *ca, u32 mean_us, u32 q0)
{
	u32 known_us = path_noise_us(ca), least_us = ca->probe.round_rtt_us - ca->probe.rtt_min_us;
	u32 differ_us = mean_us - min(mean_us, least_us);
	bool waits = path_bunched(ca) && path_round_queue_us(ca) > q0 &&
		     mean_us <= ca->probe.rtt_min_us << PATH_WAITS &&
		     ca->claim / 2 <= path_least_claim(ca);

	if (mean_us < known_us)
		path_set_noise(ca, known_us - ((known_us - mean_us) >> PATH_RISE));
	else if (waits)
		path_set_noise(ca, known_us + ((mean_us - known_us) >> PATH_RISE));
	else if (differ_us > known_us && least_us < q0 / 2)
		path_set_noise(ca, known_us + ((differ_us - known_us) >> PATH_RISE));
}

/*
 * The base is the least mean rtt of a round trip.  The mean includes batches of ACKs, and whatever
 * else delays single packets, so these are not taken for a queue.  But the least of many means is
 * too low by chance.  So if in PATH_CLEAR_ROUNDS successive round trips some packet took less than
 * the base, no queue stands, and the base follows the mean.  Exception: if the largest delay ever
 * seen is below rtt_min/16, packets take less than the base even beside a queue of ours.
 *
 * A look withdraws the queue.  So its mean counts even if few segments arrived: otherwise a flow
 * with a small window would keep a base that includes the queue of its own first train.
 *
 * Packets that keep their order wait for the slowest one before them.  If jitter exceeds rtt_min/4,
 * all packets of a large round trip take longer than the few from which the base was learned, even
 * without a queue.  There it is enough if a packet took less than base + q0/2; field-random.
 */
static u32 path_learn_base(struct cpath *ca, u32 delivered, u32 q0)
{
	u32 known_us = ca->noise * PATH_NOISE, mean_us;
	u32 none_us = known_us > ca->probe.rtt_min_us >> 2 ? q0 / 2 : 0;

	if (ca->probe.round_rtt_us == U32_MAX || delivered < PATH_LEAST_WINDOW)
		return path_queue_us(ca);
	mean_us = div_u64((u64)ca->delay_sum * PATH_NOISE, delivered);
	if ((path_bunched(ca) || (delivered < PATH_BATCH && ca->mode != PATH_DRAIN)) &&
	    ca->noise != PATH_NO_NOISE) {
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
 * The rtt of a packet that was not delayed more than others, with which pairs are compared: the
 * least of this round trip and of the previous one, since a standing queue delays all packets.
 * With the mean in its place, pairs that were held back and arrived together would count.  At the
 * start it is the rtt of the handshake, since all ACKs of the first window may have been held back.
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
 * A queue on the way back is not ours, and giving way does not empty it.  The peer's time stamp
 * minus the sending time of the segment is the delay of the way there, plus a constant offset of
 * the clocks.  If the rtt becomes longer and this difference does not, the rest is delay of the way
 * back (LEDBAT and TCP-LP do the same).  The echoed time stamp cannot be used: it belongs to the
 * first segment that an ACK is for, and the rtt to the last.
 *
 * The estimate rises at once, and falls by half of the difference with each ACK.  A small window
 * has few ACKs in a round trip: with small steps it would give way to each rise.  Below 8 ms 1 ms
 * stays until the smoothed rtt meets rtt_min, because the clocks cannot show the 1 to 3 ms to which
 * the queue has fallen, and q0 is less than that.  The estimate is at most PATH_BACK times rtt_min,
 * or 1 ms: a peer that lies cannot cause a longer queue than that.  field-back, field-random
 *
 * The difference for an empty way there, @way, is taken when the smoothed rtt meets rtt_min (@met)
 * and the way back has no delay.  A new rtt_min may result from a shorter way back while there is a
 * queue on the way there, so it may only lower @way.  In the start any ACK may lower it, since the
 * first ACK may have waited for the receiver's timer; and so may any ACK of the first round trip in
 * a mode, which after the start is for segments that the start has sent.
 */
static void path_way_back(struct sock *sk, u32 rtt_us, bool met)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 rtt_min_us = ca->probe.rtt_min_us, beyond_ms = (rtt_us - rtt_min_us) >> PATH_MS;
	u32 way = tp->rx_opt.rcv_tsval - (u32)div_u64(tp->tcp_mstamp - rtt_us, USEC_PER_MSEC);
	s32 there_ms = sign_extend32(way - ca->way, 9), back = ca->back, back_ms;
	s32 least_ms;

	if (!tp->rx_opt.rcv_tsecr || back == PATH_NO_CLOCK ||
	    (beyond_ms > PATH_STALL && (path_moves(ca) || beyond_ms > PATH_FAR)))
		return;
	if ((met && !back) ||
	    (there_ms < 0 &&
	     (rtt_us == rtt_min_us || ca->mode == PATH_SLOW_START || !ca->rounds))) {
		ca->way = way;
		there_ms = 0;
	}
	back_ms = min_t(s32, beyond_ms - there_ms - PATH_ROUNDED,
			PATH_BACK * rtt_min_us >> PATH_MS);
	/* more than q0 on the way there is a queue of our own, and then 1 ms is a part of it */
	least_ms = back && !met && rtt_min_us < 8 << PATH_MS &&
		   there_ms <= PATH_ROUNDED + (s32)(path_q0(sk, path_capacity(ca)) >> PATH_MS);
	if (there_ms < -PATH_ROUNDED)
		back = PATH_NO_CLOCK;
	else
		back = max3(back_ms, (back + back_ms) >> 1, least_ms);
	ca->back = back;
}

/*
 * The rtt of an ACK, and what follows from it.  Segments that are acknowledged without an rtt, as
 * in a repair, are counted with the smoothed rtt.  So is a segment that overtook others, since it
 * does not show what an empty path takes.
 *
 * The delay of the way back is subtracted before the rtt is smoothed.  It is known at once, and a
 * smoothed rtt would follow it later: meanwhile the difference would look like a queue of ours, or
 * would hide one.
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

	if (!p->rtt_s) {
		/* after a mark without an rtt the window stays until there is one */
		if (ca->mode == PATH_AVOIDANCE)
			ca->claim = 0;
		return 0;
	}
	if (rtt_us) {
		bool met = p->rtt_s >> 3 <= before_us + (before_us >> 7);

		/* met again, and not by chance: no need to look for it */
		if (met)
			ca->rtt_min_stamp = path_now(sk);
		if (p->rtt_min_us < before_us && before_us != U32_MAX) {
			s32 delivered = tcp_sk(sk)->delivered - rs->acked_sacked -
					p->round_delivered;

			path_rtt_min(ca, before_us, overtook ? max(delivered, 0) : 0);
		}
		took_us = rtt_us - p->rtt_min_us;
		if (took_us / PATH_QUEUE > ca->room)
			ca->room = min(took_us / PATH_QUEUE, U16_MAX);
		path_way_back(sk, rtt_us, met || before_us == U32_MAX);
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
 * Is the rate of this ACK that of a part of a round trip, so that it does not end one?  It is for a
 * segment that overtook others.  It is for a retransmitted segment whose ACK came too soon to be
 * for the retransmission (RFC 3522).
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
	/* the state of a train shares memory with these */
	if (ca->mode == PATH_SLOW_START) {
		ca->empty = 0;
		ca->paused = 0;
		ca->bunches = 0;
	}
	/* @train_end shares memory with the window of a capacity that moves */
	if (mode == PATH_SLOW_START)
		ca->moves = 0;
	ca->mode = mode;
	ca->late = 0;
	ca->rounds = 0;
	ca->prev.sum = 0;
}

/* The largest queue ever seen had fewer than PATH_LOSSES segments. */
static bool path_buffer_is_small(const struct cpath *ca, u32 bw)
{
	return ccpd_segs(bw, path_room_us(ca)) < PATH_LOSSES << SEG_SCALE;
}

/*
 * The most segments in one packet; 0: as many as TCP wants.  On a short path TCP sends bursts of
 * PATH_TSO_SEGS at any pacing rate, and one or two of them overflow a small buffer.  There a packet
 * has what the path carries in PATH_PACKET_US.  Not if the capacity moves: the window that fills
 * the path is then not known well enough.  And where ACKs clock the segments, as path_clock() says,
 * no segment may wait for others that would leave in the same packet; field-random --draw 7
 */
static u32 path_burst_segs(const struct cpath *ca)
{
	u32 rtt_min_us = ca->probe.rtt_min_us, bw = ccpd_capacity(&ca->probe), segs = 0, large;

	if (ca->mode == PATH_SLOW_START || rtt_min_us >= PATH_SHORT_US || !ca->room)
		return 0;
	large = max(2 * (PATH_TSO_SEGS >> (rtt_min_us >> PATH_TSO_RTT)), PATH_LOSSES);
	if (!(ca->moves && !ca->fell) && ccpd_segs(bw, path_room_us(ca)) < large << SEG_SCALE)
		segs = min_t(u64, 1 + (ccpd_segs(bw, PATH_PACKET_US) >> SEG_SCALE), PATH_TSO_SEGS);
	if (segs != 1 && path_buffer_is_small(ca, path_capacity(ca)))
		segs = PATH_CLOCKED_SEGS;
	return segs;
}

/*
 * A TSO burst takes 1/2^shift s at the pacing rate.  It queues behind itself, and the law gives way
 * to that queue.  So the burst is limited to rtt_min/16, as q0 is.  A driver that needs longer
 * bursts, as Wi-Fi drivers do, has set a smaller shift, which is kept.
 */
static void path_set_burst(struct sock *sk)
{
	const struct cpath *ca = inet_csk_ca(sk);
	int log2_us = fls(ca->probe.rtt_min_us >> 4) - 1;

	if (READ_ONCE(sk->sk_pacing_shift) >= PATH_TSO_SHIFT)
		sk_pacing_shift_update(sk, clamp(20 - log2_us, PATH_TSO_SHIFT,
						 PATH_TSO_SHIFT_MOST));
	path_limit_burst(sk, path_burst_segs(ca));
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
 * Counts whether this ACK, for @acked segments, came in a bunch.  Packets of one flow that follow
 * each other directly have ACKs at the capacity of the link; ACKs in a bunch come faster than that.
 * A bunch also has a pause before it.  (In a queue on the way back ACKs are as close, but without
 * pauses.)  While segments are missing, each arriving segment has its own ACK; these do not count.
 */
static __always_inline void path_count_bunches(struct sock *sk, u32 acked, u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 gap_ns = (u32)tp->tcp_clock_cache - ca->prev.ns;
	/* what the path carries in the time since the last ACK, SEG_SCALE; 2^10 ns: about 1 us */
	u64 carried = (u64)bw * gap_ns >> (BW_SCALE - SEG_SCALE + 10);

	if (!ca->prev.sum || tp->sacked_out)
		return;
	if (carried <= (u64)acked << (SEG_SCALE - PATH_AT_ONCE)) {
		if (ca->paused)
			ca->bunches = min(ca->bunches + PATH_BUNCH, PATH_BUNCHES_MOST);
		return;
	}
	ca->paused = carried > PATH_PAUSE_SEGS << SEG_SCALE &&
		     gap_ns >> 10 > 3 * (ca->probe.rtt_min_us >> PATH_PAUSE);
	if (ca->bunches)
		ca->bunches--;
}

/* Eq. 3, on an ACK for @acked segments, at least one; @bw: the capacity, BW_SCALE */
static __always_inline void path_avoid(struct sock *sk, u32 acked, u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	const struct ccpd_probe *p = &ca->probe;
	u32 claim = ca->claim, empty, base, q0, window;
	struct ccpd_eval e;
	s64 holds, most;

	/* nothing is measured yet: keep the window */
	if (unlikely(!claim))
		return;
	q0 = path_q0(sk, bw);
	path_count_bunches(sk, acked, bw);

	empty = p->rtt_min_us + path_noise_us(ca);
	base = empty + path_back_us(ca);
	holds = ccpd_segs(claim, base);
	e.kp = READ_ONCE(kp);
	e.storage = path_storage(claim, e.kp, base, q0);
	e.limit = ccpd_segs(claim, base + 2 * q0);
	most = e.limit + ccpd_segs(bw, p->rtt_min_us);
	/*
	 * During the repair of an overflow, not more than the path has ever held, or it would
	 * overflow again.  If no delay of 2 * q0 was ever seen, no buffer was full, and the losses
	 * are noise.  No pair is timed during losses, so the claim may exceed @bw.
	 */
	if (unlikely(inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery) &&
	    path_room_us(ca) >= 2 * q0)
		most = min(most, ccpd_segs(max(bw, claim), base + path_room_us(ca)));
	e.level = ccpd_segs(claim, ccpd_queue_us(p, empty));
	e.in_flight = tcp_packets_in_flight(tp);
	e.kd_us = READ_ONCE(kd);
	window = ccpd_eq3(&e, &ca->prev, tp->tcp_clock_cache, most);
	if (unlikely(ca->rival == PATH_FOREIGN))
		window = max(window, ca->floor);
	if (unlikely(path_moves(ca)))
		window = max(window, path_moving_window(ca, base + q0));
	/*
	 * 3/4 of claim * base lets a queue drain soon enough, and repairs continue meanwhile.  With
	 * less, all flows that share a queue would give way at once, and leave the path empty.
	 */
	window = max_t(u32, window, PATH_KEEP * holds >> (SEG_SCALE + 2));
	path_set_cwnd(sk, window);

	if (trace_ccpd_path_update_enabled())
		trace_ccpd_path_update(sk, ccpd_bytes_ps(bw, p->mss) * 8,
				       ccpd_bytes_ps(ca->claim, p->mss) * 8,
				       p->rtt_s >> 3, base, q0, e.level >> SEG_SCALE,
				       e.in_flight, e.p >> SEG_SCALE, e.d >> SEG_SCALE,
				       window);
}

/*
 * A path on which many hosts may answer at once.  If all of its segments met their queue, only the
 * handshake tells that it is short.
 */
static bool path_is_short(const struct sock *sk)
{
	const struct cpath *ca = inet_csk_ca(sk);

	return ccpd_least_us(sk, &ca->probe) < PATH_SHORT_US;
}

/*
 * The window in a repair.  If many flows start together, each measures the same capacity
 * with a pair, and asks for all of it.  It then overflows the path again while it repairs its
 * losses, since the claim falls by at most a half in a round trip.  So while many segments are
 * missing and a queue stands, a flow sends only as much as arrives, plus one segment for each ACK
 * as long as nothing is lost in this round trip.  What a recent round trip delivered may always be
 * in flight.  The queue is judged by TCP's srtt, because a retransmission has no rtt but that of
 * time stamps, in ms.  Without time stamps an old queue would seem to stand, so there is no limit.
 * Nor if the capacity moves: it has fallen, and may rise during the repair.  Nor in the first round
 * trip after a late train: nothing else was in flight, so the queue is gone.
 * On a short path each two segments that arrive release one, even if the law asks for less.
 * Otherwise all that is in flight may be lost, and only a timeout of many round trips would tell.
 * (The handshake does not tell here: on a slow link a segment takes longer than the path.)
 * @acked: segments that this ACK acknowledges; @bw: the capacity, BW_SCALE
 */
static noinline void path_repair(struct sock *sk, u32 acked, u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct cpath *ca = inet_csk_ca(sk);
	u32 in_flight = tcp_packets_in_flight(tp), base_us = path_base_us(ca), window;

	if (ca->probe.rtt_min_us < PATH_SHORT_US) {
		window = in_flight + (acked + (tp->delivered & 1)) / 2;
		path_set_cwnd(sk, max(tcp_snd_cwnd(tp), window));
	}
	if (tp->lost_out <= in_flight / PATH_REPAIR || !tp->rx_opt.rcv_tsecr || path_moves(ca) ||
	    (ca->late && !ca->rounds) ||
	    tp->srtt_us >> 3 < base_us + 2 * path_q0(sk, bw) + BIT(PATH_MS))
		return;
	window = max_t(u32, in_flight + acked + !ca->round_lost,
		       ccpd_segs(ccpd_delivery_rate(&ca->probe), base_us) >> SEG_SCALE);
	path_set_cwnd(sk, min(tcp_snd_cwnd(tp), window));
}

/*
 * Bursts are not paced inside a host.  Nor on a path shorter than 2^PATH_TSO_RTT us, until a
 * segment is lost or marked: a timer for each burst costs the host more there than the bursts cost
 * the path; lab bench
 */
static bool path_is_free(const struct sock *sk, u32 rtt_min_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return rtt_min_us < PATH_HOST_US ||
	       (!(rtt_min_us >> PATH_TSO_RTT) && !(tp->total_retrans | tp->delivered_ce));
}

/*
 * Pacing joins the segments that several ACKs release to one burst, which overflows a small buffer
 * of a short path.  If segments do not leave one by one there, each ACK releases what it
 * acknowledges plus one segment, at once; but not if it acknowledges many.
 *
 * Return: true if this ACK releases segments in that way
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

/* A subflow of MPTCP sends no trains. */
static bool path_sends_trains(const struct sock *sk)
{
	return READ_ONCE(start) && !sk_is_mptcp(sk);
}

/* A train is under way; it is timed in place of a pair. */
static bool path_in_train(const struct cpath *ca)
{
	return ca->mode == PATH_SLOW_START && ca->train > TRAIN_WANTED;
}

/* Segments that have left the network since the connection began: delivered or lost */
static u32 path_through(const struct tcp_sock *tp)
{
	return tp->delivered + tp->lost;
}

/*
 * Sends the next train: @segs segments, or as many as the windows allow, are sent in @time_us after
 * what is in flight.
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

/* The time in which @segs segments are sent at the rate of this train, us */
static u32 path_train_time(const struct cpath *ca, u32 segs)
{
	return div_u64((u64)segs << BW_SCALE, max(ca->claim, 1U)) + 1;
}

/*
 * At the first ACK of the initial window, which left at once, or of a train after an idle time: the
 * train consists of what there was to send, and is used as it is.
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

/*
 * A timeout in a train was spurious.  What it took for lost will arrive, and then counts a second
 * time in path_through(), because TCP does not correct tp->lost.
 */
static void path_train_undo(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 end = path_through(tp) + tcp_packets_in_flight(tp);

	/* if it is negative, only a part of the train was sent, and the part begins where it did */
	if (ca->train == TRAIN_SENT)
		ca->t.begin += max((s32)(end - ca->train_end), 0);
	ca->train_end = end;
}

/* Ends a train; @train: what follows */
static void path_train_stop(struct sock *sk, enum path_train train)
{
	struct cpath *ca = inet_csk_ca(sk);

	if (path_in_train(ca)) {
		ccpd_pair_drop(sk, &ca->probe);
		/* that was the rate of sending: no rate of the path is known */
		ca->claim = 0;
		ca->fell = 0;
		ca->round_queue = 0;
	}
	ca->train = train;
}

/* Plain slow start follows the last train, which had @segs segments. */
static void path_train_end(struct sock *sk, u32 segs)
{
	path_train_stop(sk, TRAIN_NONE);
	path_set_cwnd(sk, tcp_packets_in_flight(tcp_sk(sk)) + segs);
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
 * A train at a remembered rate has overflowed a buffer.  The claim is then half of the delivered
 * rate (the safe retreat of Careful Resume).
 */
static void path_retreat(struct sock *sk, u32 segs, u32 best)
{
	const struct cpath *ca = inet_csk_ca(sk);
	u32 came = ccpd_bw(segs - ca->round_lost, 1, (u64)ca->train_us * NSEC_PER_USEC);

	path_train_leave(sk, (best ?: came) / 2);
}

/*
 * After a first train at a remembered rate.  If it was in time, the next train is half of what the
 * path held then, at the same rate.  If it was late, it was too short to tell a rate: a train of
 * the usual length follows, a quarter faster than this one arrived, so that it is late if that was
 * the capacity.
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

/* Many of a train of @segs segments were lost, and there was no queue. */
static bool path_is_policed(const struct cpath *ca, u32 segs)
{
	return ca->round_lost >= PATH_LOSSES && ca->round_lost > segs / PATH_POLICER &&
	       path_room_us(ca) < ca->train_us / 4;
}

/*
 * The train came in enough batches to tell a rate: PATH_SURE gaps, rounded.  Gaps are never equal,
 * and the largest of four is more than a quarter of their sum.  (The ten segments of the first
 * train have four gaps.)
 */
static bool path_train_sure(const struct cpath *ca)
{
	u32 gap_us = ca->t.gap_us;

	return ca->t.last_us - ca->t.begin_us + gap_us / 2 >= PATH_SURE * gap_us;
}

/* The rate at which a train arrived if that is below 7/8 of the rate of sending; otherwise 0 */
static u32 path_train_late(const struct cpath *ca)
{
	const struct cpath_train *t = &ca->t;
	u32 best = ccpd_bw(t->best_segs, 1, (u64)t->best_us * NSEC_PER_USEC);

	if (!path_train_sure(ca))
		return 0;
	return best < ca->claim - (ca->claim >> 3) ? best : 0;
}

/*
 * All of a train has arrived or is lost.  If it took longer to arrive than to be sent, its arrival
 * rate is the capacity.  Otherwise the next train is faster: as fast as makes this train a quarter
 * of the path, and with at most PATH_TRAIN_GROWTH times as many segments.  If batches are too long
 * for this train to tell a rate, the next one lasts longer, at most a round trip.  If such a train
 * is late and does not tell a rate either, its mean rate is taken: otherwise the same train would
 * follow for ever.
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
	u32 rest;
	u64 rate;

	ca->fell = 0;
	path_learn_base(ca, segs, path_q0(sk, path_capacity(ca)));
	/* half of what the path held came in time: the capacity is what it was */
	if (revisit && !ca->train_zero && !best && path_train_sure(ca)) {
		ccpd_pair_add(&ca->probe, ca->claim, 2 * rtt_us);
		path_train_leave(sk, ca->claim);
		return;
	}
	/* not sent as one train, or limited before it began: the same train again */
	if (segs < PATH_LEAST_TRAIN || (ca->train_limited && !ca->train_zero)) {
		segs = max(segs, TCP_INIT_CWND);
		if (++ca->rounds < PATH_HELD)
			path_train_send(sk, segs, max(time_us, (rtt_us >> PATH_TRAIN_TIME) + 1));
		else
			path_train_end(sk, segs);
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
		/* with the contents of the bucket; or the rate after the bucket was empty */
		rate = ccpd_bw(segs - segs / 4, 1, (u64)time_us * NSEC_PER_USEC);
		rest = tcp_sk(sk)->delivered - t->begin - t->best_segs;
		/* a peer's clock, or a single batch, may say that @best_us is longer */
		if (rest && took_us > t->best_us + (time_us >> 3))
			rate = ccpd_bw(rest, 1, (u64)(took_us - t->best_us) * NSEC_PER_USEC);
		path_train_leave(sk, rate);
		ca->cap = rate;
		ca->capped = 1;
		return;
	}
	/* others have a queue; U32_MAX: no ACK of the train had an rtt, so this is not known */
	if (ca->train_rtt_us != U32_MAX &&
	    ca->train_rtt_us > rtt_us + 2 * q0 + PATH_HOST_DELAY_US + t->gap_us) {
		path_train_end(sk, segs);
		return;
	}
	/* too fast, without a rate: what arrived follows within a round trip, or is the rate */
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
		/* perhaps many hosts answer at once: slow start up to the window for that rate */
		if (path_is_short(sk)) {
			path_train_end(sk, segs);
			ca->claim = best;
			return;
		}
		path_train_leave(sk, best);
		ca->late = 1;
		return;
	}
	rate = ca->claim + div_u64((u64)ca->claim * rtt_us, 4 * ca->train_us);
	if (!path_train_sure(ca)) {
		/* late as a whole: not faster than that; if it is the longest, that is the rate */
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
 * A train on a short path has lost segments: others fill the switch, and the next train would make
 * it worse.  So the start is over.  The claim is what has arrived until now of what a round trip
 * sends.  The end of the train is not waited for: if it is lost, too, only a timeout of many round
 * trips would tell.
 */
static void path_train_lost(struct sock *sk)
{
	struct cpath *ca = inet_csk_ca(sk);
	/* the round trip may be said to begin later: ccpd_mss_changed(), ccpd_timeout() */
	s32 segs = max((s32)(tcp_sk(sk)->delivered - ca->probe.round_delivered), 1);
	u32 rtt_us = ca->probe.rtt_min_us;
	u32 best = ca->train == TRAIN_OPEN ? path_train_late(ca) : 0;

	if (best)
		ccpd_pair_add(&ca->probe, best, 2 * rtt_us);
	path_train_leave(sk, ccpd_bw(segs, 1, (u64)rtt_us * NSEC_PER_USEC));
}

/*
 * The time in which the segments after the first batch arrived at the peer, us; 0: not known.  If
 * ACKs queue behind data on the way back they come closer to one another than the segments did, and
 * the peer's time stamps show that.  They count ms, so a few ms do not tell a rate.  If they show
 * more time than any queue can explain, their unit is not the ms, and they are not used.
 */
static u32 path_train_span(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct cpath *ca = inet_csk_ca(sk);
	u32 span_us = (u32)tp->tcp_mstamp - ca->t.begin_us;
	u16 ms = (u16)tp->rx_opt.rcv_tsval - ca->train_stamp;
	/* both are rounded down */
	u32 peer_us = ms ? (ms - 1) * USEC_PER_MSEC : 0;

	if (peer_us <= span_us || peer_us > span_us + ca->probe.rtt_min_us + path_room_us(ca))
		return span_us;
	return ms > PATH_SURE ? peer_us : 0;
}

/*
 * Has enough of a train arrived to tell its rate?  A few segments show a wrong rate if the first
 * ACK was late, so at most a quarter, @left, may be missing; stock_cases.  But after a loss the
 * rest may be lost, too, and the second train at a remembered rate has to be in time by its half.
 */
static bool path_train_tells(const struct cpath *ca, s32 left)
{
	return left <= (s32)(path_train_segs(ca) >> 2) || ca->round_lost ||
	       (ca->fell && !ca->train_zero);
}

/*
 * The start, on each ACK.  Nothing but the train is sent until all of it has arrived: segments that
 * ACKs released meanwhile would delay it.  ACKs come in batches, and only the end of a batch shows
 * when a segment arrived.  So the rate is measured from the end of the first batch, over at least
 * half of the time of sending, and the largest such rate is used: that one is at the end of another
 * batch.  One from before path_train_tells() is used only if there is no later one: the end of the
 * train may be lost, or was not sent.  @rtt_us: of this ACK, 0: none
 */
static void path_train(struct sock *sk, u32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	struct cpath_train *t = &ca->t;
	u32 now_us = tp->tcp_mstamp, gap_us, span_us, segs;
	bool early;
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
		left = ca->train_end - path_through(tp);
		/* the last ACK of an odd number of segments waited for the delayed-ACK timer */
		if (!rtt_us && !left) {
			now_us = t->last_us;
			break;
		}
		t->gap_us = max(t->gap_us, now_us - t->last_us);
		span_us = path_train_span(sk);
		segs = tp->delivered - t->begin;
		/* the best until now; so many segments were missing then */
		early = !path_train_tells(ca, left + segs - t->best_segs);
		if (span_us >= ca->train_us / 2 &&
		    ((early && path_train_tells(ca, left)) ||
		     (u64)segs * t->best_us >= (u64)t->best_segs * span_us)) {
			t->best_segs = segs;
			t->best_us = span_us;
		}
		break;
	}
	t->last_us = now_us;
	if (rtt_us)
		ca->train_rtt_us = min(ca->train_rtt_us, rtt_us);
	/*
	 * Nothing else is sent, but segments that are lost or late must not delay the next train:
	 * the last sixteenth is not waited for.  If a buffer overflows, the end of the train is
	 * lost, and only a timeout would tell.  After the second train at a remembered rate ACKs
	 * do release more: that comes after the part which is measured.
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

/* Slow start: trains, or plain slow start.  @rtt_us: of this ACK, 0: none */
static void path_slow_start(struct sock *sk, u32 acked, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 bw = (ca->probe.sure ? ccpd_pair_bw(&ca->probe) : 0) ?: ca->claim;

	if (path_in_train(ca) && ca->round_lost >= PATH_FEW_LOSSES && ca->probe.rtt_s &&
	    path_is_short(sk)) {
		path_train_lost(sk);
		return;
	}
	if (ca->train != TRAIN_NONE) {
		path_train(sk, rtt_us);
		return;
	}
	if (acked && tcp_in_slow_start(tp) && tcp_is_cwnd_limited(sk))
		tcp_slow_start(tp, acked);

	if (!tcp_in_slow_start(tp)) {
		/*
		 * After a timeout: the claim is that from before it.  After a change of the
		 * congestion control there is none, and the window stays until it is measured.
		 * Without an rtt nothing is: the rate of a segment whose ACK was delayed tells no
		 * window.
		 */
		ca->claim = ca->probe.rtt_s ? ca->claim ?: path_capacity(ca) : 0;
		path_enter(ca, PATH_AVOIDANCE);
	} else if (bw && ca->probe.rtt_s) {
		/* the window that the law would set for a flow alone on the path */
		u32 rtt_min_us = ca->probe.rtt_min_us, q0;
		s64 target;

		/* on a short path many hosts may answer at once: as if there was no buffer */
		if (rtt_min_us < PATH_SHORT_US)
			q0 = path_q0_us(path_capacity(ca), rtt_min_us, 0, 0);
		else
			q0 = path_q0(sk, path_capacity(ca));
		target = ccpd_segs(bw, rtt_min_us + q0);

		if ((s64)tcp_snd_cwnd(tp) << SEG_SCALE >= target) {
			ca->claim = min(bw, path_capacity(ca));
			path_enter(ca, PATH_AVOIDANCE);
		}
	}
}

/*
 * An ACK in slow start.  If it ends the start, the law sets the window by the result.  Not inline,
 * for the reason given at path_round()
 */
static noinline void path_start(struct sock *sk, u32 acked, u32 rtt_us)
{
	struct cpath *ca = inet_csk_ca(sk);

	path_slow_start(sk, acked, rtt_us);
	if (ca->mode == PATH_AVOIDANCE) {
		path_avoid(sk, acked, path_capacity(ca));
		/* on a short path at least the first retransmission leaves */
		if (inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery &&
		    ca->probe.rtt_min_us < PATH_SHORT_US)
			path_repair(sk, acked + 1, path_capacity(ca));
	}
}

/* The window of the claim without a queue, segments */
static u32 path_claim_segs(const struct cpath *ca)
{
	return ccpd_segs(ca->claim, ca->probe.rtt_min_us) >> SEG_SCALE;
}

/* The floor, in case there is a rival: the window from before this flow gave way */
static void path_set_floor(struct cpath *ca)
{
	ca->capped = 0;
	ca->floor = path_claim_segs(ca);
}

/*
 * A look at the path: half of what is in flight is withdrawn, to measure the delay without it.
 * A long path is unused for long then.  So a flow that has most of it withdraws a quarter there, if
 * the queue is at most an eighth of rtt_min, which is the most that the law makes without jitter;
 * field-rates.
 * Beside a rival it is our part of the queue.  If all flows have this law, that empties the queue,
 * since all do the same; if one is a rival, it does not.
 */
static void path_drain(struct sock *sk)
{
	u32 in_flight = tcp_packets_in_flight(tcp_sk(sk)), less = in_flight / 2;
	struct cpath *ca = inet_csk_ca(sk);
	u32 known = path_capacity(ca);

	path_enter(ca, PATH_DRAIN);
	/* the next losses that count are not those of the next round trip */
	path_suspected(ca);
	ca->before_us = ca->probe.rtt_s >> 3;
	if (ca->rival == PATH_FOREIGN) {
		less = min_t(u64, in_flight, div_u64((u64)in_flight * path_round_queue_us(ca),
						     max(ca->before_us, 1U)));
		/* perhaps the queue falls after a rival's loss: what it fell so far is not ours */
		ca->before_us = ca->probe.round_rtt_us;
	} else if (ca->probe.rtt_min_us >> PATH_LONG_ROUND && ca->claim > known - (known >> 2) &&
		   path_round_queue_us(ca) <= ca->probe.rtt_min_us >> 3) {
		less /= 2;
	}
	path_set_cwnd(sk, in_flight - less);
	/* none, if the least window was in flight */
	ca->withdrawn = in_flight - min(in_flight, tcp_snd_cwnd(tcp_sk(sk)));
}

/*
 * Have all flows that share the queue withdrawn their parts?  Then at most an eighth of it is left.
 * One rival beside four flows of our kind would still have a fifth.
 */
static bool path_emptied(const struct cpath *ca)
{
	return path_round_queue_us(ca) <= path_beyond_us(ca, ca->before_us) / 8;
}

/*
 * The claim is below 3/4 of the capacity, and more than 3/4 was delivered in the last seconds.
 * This happens if the path has become longer by less than 2 * q0: the flow takes that for a queue,
 * and gives way to it.
 */
static bool path_has_given_way(const struct cpath *ca)
{
	u32 bw = path_capacity(ca), most = bw - (bw >> 2);

	return ca->claim < most && ccpd_delivery_rate(&ca->probe) > most;
}

/*
 * The path is longer: a delay that stays with half of the window is not a queue.  Or a flow that
 * starts has used what both looks left.  A look soon shows that: path_base_in_doubt()
 */
static void path_has_grown(struct cpath *ca)
{
	struct ccpd_probe *p = &ca->probe;
	u32 mean_us = p->rtt_s >> 3;

	ca->rival = PATH_UNASKED;
	ca->doubt = 0;
	ca->room -= min(ca->room, (p->round_rtt_us - p->rtt_min_us) / PATH_QUEUE);
	p->rtt_min_us = p->round_rtt_us;
	/* which includes the way back */
	if (ca->back != PATH_NO_CLOCK)
		ca->back = 0;
	path_set_noise(ca, mean_us - min(mean_us, p->rtt_min_us));
}

/* After two round trips with half of the window: what does the rtt tell about the path? */
static void path_drained(struct sock *sk, u32 bw, bool crowded)
{
	struct cpath *ca = inet_csk_ca(sk);
	u32 mean_us = ca->probe.rtt_s >> 3;
	u32 fell_us = ca->before_us - min(ca->before_us, mean_us);
	bool emptied = path_emptied(ca), gave_way = path_has_given_way(ca);
	u32 withdrawn = ca->withdrawn;

	/* forgets @withdrawn */
	path_enter(ca, PATH_AVOIDANCE);
	ca->rtt_min_stamp = path_now(sk);
	if (ca->rival == PATH_FOREIGN) {
		/* one empty queue may result from a rival's loss: two are needed */
		if (emptied)
			ca->doubt = ca->doubt % PATH_CATCH_UP + 1;
		else if (ca->doubt != PATH_CATCH_UP)
			ca->doubt = 0;
		if (ca->doubt == PATH_DOUBT) {
			ca->rival = PATH_FRIENDLY;
			ca->doubt = 0;
			/* the floor beside a rival is not a window of a capacity that moves */
			ca->moves = 0;
		}
		return;
	}
	/*
	 * Has the path become longer?  This cannot be decided without a pair, since the flow then
	 * does not know its part of the path; nor if the capacity moves, since that changes the
	 * delay, too.  The path is not longer if a packet met almost no queue; nor if only the way
	 * back is longer, unless this flow gave way: a path may become longer in both directions.
	 */
	if (ccpd_pair_bw(&ca->probe) && !path_has_window(ca) &&
	    path_round_queue_us(ca) > path_q0(sk, path_capacity(ca)) / 2 &&
	    (crowded || gave_way || !path_back_us(ca)) &&
	    path_is_longer(withdrawn, fell_us, mean_us, bw)) {
		if (ca->rival == PATH_EMPTY) {
			path_has_grown(ca);
			return;
		}
		/* perhaps another flow has used at once what we left: look a second time */
		if (!ca->doubt)
			path_set_floor(ca);
		ca->rival = PATH_EMPTY;
		ca->doubt = PATH_DOUBT - 1;
		/*
		 * Immediately: otherwise the window of the old rtt_min would build a queue of ours
		 * before the second look, and the end of that queue would look like that of a
		 * rival's; test_ccpd.py.
		 */
		if (crowded || gave_way)
			path_drain(sk);
		return;
	}
	ca->rival = PATH_FRIENDLY;
	/* if the capacity has fallen, the queue is ours */
	if (!crowded || path_has_window(ca)) {
		ca->doubt = 0;
	} else if (ca->doubt == PATH_UNSURE) {
		ca->rival = PATH_FOREIGN;
		ca->doubt = PATH_CATCH_UP;
	} else {
		/* a drain for another reason than this queue */
		if (!ca->doubt)
			path_set_floor(ca);
		ca->doubt = PATH_UNSURE;
	}
}

/*
 * Has the flow given way in vain?  Its window has just become less than PATH_LESS eighths of the
 * floor, from @was, and the delay is below 3/4 of the largest one.  Then the path may be longer,
 * and the first look did not show it, because the queue of an earlier rate was leaving, as when a
 * path becomes slower and longer at once; field-moving (low orbit).  A later look withdraws too
 * little.  PATH_LESS is less than a half, since two flows of our kind have a half each.  A rival's
 * queue is near the largest one, or longer than the path if the buffer is deep, and another look
 * would only delay the answer to it; field-beside (100 ms in 4 BDP).
 */
static bool path_gives_way_in_vain(const struct cpath *ca, u32 was, u32 queue_us)
{
	u32 least = (ca->floor >> 3) * PATH_LESS, room_us = path_room_us(ca);

	return was >= least && path_claim_segs(ca) < least && queue_us < room_us - room_us / 4 &&
	       queue_us < ca->probe.rtt_min_us && path_has_given_way(ca);
}

/*
 * A queue above 2 * q0.  For two round trips the law gives way, as it does in all flows of our
 * kind.  Then the window is halved, in case the path has become longer.  If it has not, the law
 * gives way further, and looks again if that was in vain.  A queue of flows of our kind becomes
 * shorter by rtt/16 from one round trip to another now and then.  A queue that does not do so for
 * PATH_ROUNDS (long ones count as several) is kept up by a rival.  @was: the window of the claim in
 * the round trip before, segments
 */
static void path_crowded(struct sock *sk, u32 queue_us, u32 was)
{
	struct cpath *ca = inet_csk_ca(sk);
	u32 before_us = path_queue_before_us(ca), part_us = ca->probe.rtt_s >> 7;
	bool look;

	if (!ca->doubt)
		path_set_floor(ca);
	if (ca->doubt != PATH_UNSURE) {
		look = ++ca->doubt == PATH_DOUBT;
	} else if (path_gives_way_in_vain(ca, was, queue_us)) {
		/* this look, like the first, does not tell whether there is a rival */
		ca->doubt = PATH_DOUBT;
		look = true;
	} else {
		ca->rounds = min(ca->rounds + path_more_rounds(ca), PATH_ROUNDS);
		if (queue_us + part_us < before_us)
			ca->rounds = PATH_DOUBT;
		look = ca->rounds == PATH_ROUNDS;
	}
	if (look)
		path_drain(sk);
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
 * Beside a rival, which gives way only to losses, the floor W holds the window that we had.  It
 * follows additive increase and multiplicative decrease, as fast as CUBIC does on average: CUBIC
 * goes from 0.7 W to W in cbrt(0.75 W) s, which is W^(2/3) / 3 per second.  If W is less than half
 * of the path, it grows as fast as half of the path would.  With less than a sixth of the capacity
 * it grows by a half in each round trip: before the first loss, and later while half of the buffer
 * is free, as after a loss of the rival.
 *
 * This ends if we withdraw our part of the queue and the queue is gone: then all others have this
 * law and have done the same, or there is no other flow.  We do it when they do, because then the
 * queue falls without a loss.
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
		return;		/* the window is not used, or a repair has less */
	} else if (rate < bw / PATH_OUR_PART &&
		   (ca->doubt == PATH_CATCH_UP || queue_us < path_room_us(ca) / 2)) {
		ca->floor += 1 + ca->floor / 2;
	} else if (queue_us > 2 * q0) {
		ca->doubt %= PATH_CATCH_UP;
		ca->floor += 1 + div_u64(per_s * (ca->probe.rtt_s >> 3), USEC_PER_SEC);
	}
}

/*
 * The cap after a round trip without a policer's losses.  It ends beside a queue, or if it exceeds
 * the capacity that pairs show.  (The delivered rate cannot end it: it never exceeds the cap.)
 */
static void path_cap_rises(struct cpath *ca, u32 queue_us, u32 q0)
{
	u32 pair = ccpd_pair_bw(&ca->probe);

	if (queue_us > 2 * q0 || (ca->capped && pair && ca->cap >= pair))
		ca->capped = 0;
	else if (ca->capped && ca->rounds == PATH_ROUNDS)
		ca->cap = min_t(u64, ca->cap + (u64)((ca->cap >> PATH_CAP_GROWTH) + 1) *
					       path_long(ca->probe.rtt_s >> 3), U32_MAX);
}

/*
 * Was a late train stretched by jitter, and not by a slow link?  The two differ when segments
 * follow at the rate of the train: on a slow link the delay does not vary.  If it continues to
 * vary, and no queue stands, it was jitter, and the rate of the train is not the capacity.
 */
static bool path_late_by_jitter(const struct cpath *ca, u32 bw, u32 mean_us)
{
	u32 rtt_min_us = ca->probe.rtt_min_us, noise_us = path_noise_us(ca);

	return noise_us > rtt_min_us >> PATH_JITTER &&
	       ccpd_segs(bw, noise_us) > PATH_JITTER_SEGS << SEG_SCALE &&
	       mean_us < max(rtt_min_us / 2, noise_us) / 2;
}

/*
 * The n of path_room().  A flow that had more than half of the capacity lately, and now has less
 * than half of that, returns there in few round trips, as slow start returns to ssthresh.  The
 * capacity has fallen and risen again, or other flows have left.  From there on it grows as usual.
 * One of several flows must not grow in this way: it would take what another has just left.  Nor
 * may a flow whose ACKs come in bunches, because one round trip then delivers little by chance.
 */
static u32 path_step(const struct cpath *ca)
{
	if (ca->empty >= PATH_REGAIN && ca->claim < ccpd_delivery_rate(&ca->probe) / 2 &&
	    path_had_most(ca) && !path_bunched(ca))
		return PATH_ROOM_MOST;
	return path_long(ca->probe.rtt_s >> 3);
}

/*
 * The claim after a round trip.  Losses beside a queue are an overflow.  Without a queue a few
 * losses are noise, and count as delivered, but only up to the capacity: beyond it they may be an
 * overflow that ended within the round trip, and a larger claim would cause a larger one.  Many
 * losses without a queue are a policer's, if the next round trip has as many, or if more than half
 * is lost.  A burst of losses, as when a radio link fades, is over in the next round trip.
 */
static u32 path_next_claim(struct cpath *ca, u32 rate, u32 delivered, u32 lost, u32 bw, u32 q0,
			   u32 mean_us)
{
	u32 queue_us = path_round_queue_us(ca), share;
	bool empty = path_queue_us(ca) < 2 * q0;
	/* a burst may overflow a buffer within a round trip: only the mean delay shows that */
	bool policed = empty && mean_us < q0 && !path_bunched(ca);
	bool again = path_suspected(ca);

	/* the end of a bunch may overflow a buffer: that loses few segments */
	if (lost >= PATH_FEW_LOSSES && lost > delivered / PATH_OVERFLOW && path_bunched(ca) &&
	    mean_us >= q0) {
		path_too_much(ca);
		return ca->claim - ca->claim / 4;
	}
	/* such a buffer can lose only a few: the delivered rate is the capacity */
	if (ca->claim && lost >= PATH_FEW_LOSSES && lost > delivered / PATH_POLICER &&
	    path_buffer_is_small(ca, bw)) {
		path_too_much(ca);
		return clamp(rate, ca->claim - ca->claim / 4, ca->claim);
	}
	if (lost >= PATH_LOSSES && lost > delivered / (!empty ? PATH_OVERFLOW :
						       ca->capped ? PATH_CAPPED : PATH_POLICER)) {
		if (policed && !ca->capped && !again && lost <= delivered) {
			ca->empty = PATH_SUSPECT;
			return ca->claim ?: rate;
		}
		if (policed) {
			rate -= rate >> PATH_CAP_BELOW;
			ca->cap = rate;
			ca->capped = 1;
			/* until the new rate takes effect */
			ca->rounds = 0;
			/* cap and floor share memory: the floor is lost */
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
	/* a late train that jitter stretched: twice the rate, as in slow start */
	ca->late &= path_late_by_jitter(ca, bw, mean_us);
	if (ca->late)
		return max_t(u64, ca->claim, min_t(u64, 2ULL * rate, U32_MAX));
	if (empty && lost)
		rate = clamp_t(u64, rate + div_u64((u64)rate * min(lost, delivered), delivered),
			       rate, max(rate, bw));
	if (ca->capped)
		rate = min(rate, bw);
	/* half way, since it takes a round trip to have an effect */
	share = path_share(rate, bw, queue_us, q0);
	if (!ca->capped)
		share = max(share, path_room(rate, path_step(ca), bw, mean_us, q0));
	/*
	 * A packet met an empty way there, so the path would have carried more than was delivered:
	 * the claim does not fall.  Unless the path was empty because many segments were lost.
	 */
	if (!ca->capped &&
	    ca->probe.round_rtt_us - ca->probe.rtt_min_us < q0 / 2 + path_back_us(ca) &&
	    lost <= delivered / PATH_POLICER)
		share = max(share, ca->claim);
	return ca->claim ? ((u64)ca->claim + share) >> 1 : share;
}

/*
 * The window of a capacity that moves, after a round trip.  A window proportional to the delivered
 * rate would be too small when the capacity rises, and too large when it falls.  So the window
 * depends on how often the queue is empty, at any rate: it grows if a packet met an empty path, and
 * falls otherwise, by more if a long queue made the round trip long.  If the queue is never empty
 * any more, other flows keep it up, or the capacity has fallen: this state ends.
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
		/* a packet met an empty path: no drain is needed */
		ca->rtt_min_stamp = path_now(sk);
		ca->rounds = PATH_REPAIRS;
		if (tcp_is_cwnd_limited(sk))
			ca->floor += (ca->floor >> PATH_WINDOW_GROWS) *
				     path_long(ca->probe.rtt_s >> 3);
	}
	ca->floor = clamp(ca->floor, PATH_LEAST_WINDOW << PATH_WINDOW_PART, PATH_WINDOW_MOST);
}

/*
 * Does the capacity move?  It does if the delivered rate fell at once, and within 8 s the queue was
 * empty in several successive round trips, in which the claim rose.  A further fall renews this
 * state.  It cannot be decided by a flow that had less than half of the capacity, since other flows
 * may come and go.
 */
static void path_watch(struct sock *sk, u32 rate, bool empty)
{
	struct cpath *ca = inet_csk_ca(sk);
	bool follows = path_has_window(ca);

	/* a round trip without a loss */
	path_suspected(ca);
	/* long round trips count twice after the first, so that three are enough */
	if (!empty)
		ca->empty = 0;
	else
		ca->empty = min(ca->empty + 1 + (ca->empty && path_more_rounds(ca)),
				PATH_EMPTY_ROUNDS);
	if (ca->rounds < PATH_REPAIRS || ca->capped || !path_had_most(ca))
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
 * The capacity as far as it is known.  Among many flows, or with continuous losses, no pair arrives
 * intact; then this flow takes itself for one of 2^PATH_UNKNOWN.  If an eighth more is delivered
 * than pairs show, without a queue, there may be twice that rate; a smaller difference is the noise
 * of measuring a round trip.
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
 * Does this ACK show that 15/16 of the claim was delivered?  The ACK that ends a round trip may be
 * in the middle of a bunch, and then counts only a part of it.  So it is if ACKs come in bunches,
 * and on a short path, where a TSO burst takes much of a round trip.
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
 * Does the base include a queue, of the first trains or of others?  Perhaps it does if it is more
 * than rtt_min/16 beyond rtt_min, and no packet takes less than half of that: then the delay does
 * not vary.  A flow with such a base keeps its share of a queue to which other flows give way, and
 * they take it for a rival; field-crowd (2 flows, 10 Mb/s).  Jitter looks the same where many
 * packets wait for the slowest one before them.  But it takes longer than TCP_INIT_CWND segments,
 * the mean queue of the first trains of two flows; field-random
 */
static bool path_base_in_doubt(const struct cpath *ca)
{
	u32 noise_us = path_noise_us(ca), rtt_min_us = ca->probe.rtt_min_us;

	return noise_us > rtt_min_us >> 4 && !path_bunched(ca) &&
	       ca->probe.round_rtt_us - rtt_min_us > noise_us / 2 &&
	       ccpd_segs(path_capacity(ca), noise_us) <= TCP_INIT_CWND << SEG_SCALE;
}

/*
 * Is it time for a look at the path?  Yes, if the base is now less than @base_us, its former value,
 * by more than @q0: the path is shorter, and our queue hides by how much.  Yes, if the base may be
 * wrong.  Yes, if it was not met for long, or sooner if this flow gave way to a queue.  And yes, if
 * a queue has stood for PATH_ROUNDS and the claim is less than @known, the measured capacity.
 */
static bool path_wants_look(const struct sock *sk, u32 base_us, u32 known, u32 q0)
{
	const struct cpath *ca = inet_csk_ca(sk);
	u32 since = path_since(sk, ca->rtt_min_stamp), most = path_ticks(READ_ONCE(drain));

	if (path_base_us(ca) + q0 < base_us || since > most ||
	    (ca->rival == PATH_UNASKED && ca->rounds == PATH_ROUNDS && path_base_in_doubt(ca)))
		return true;
	if (ca->rival == PATH_FOREIGN)
		return false;
	if (!ca->doubt && since > most >> PATH_SOONER && path_has_given_way(ca))
		return true;
	return ca->rounds == PATH_ROUNDS && path_queue_us(ca) > 2 * q0 &&
	       path_round_queue_us(ca) > q0 && ca->claim < known - (known >> 3);
}

/*
 * Once per round trip: what was delivered and lost, and the least rtt, decide the next claim.  Not
 * inline: in path_cong_control() it would use registers that each ACK needs.
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
	u32 bw, claim, was;

	/* an earlier ACK showed the claim, which the ACK that ends the round trip does not */
	if (ca->met) {
		rate = max(rate, ca->claim);
		/* on a short path a burst is not counted as the largest delivered rate */
		if (path_bunched(ca))
			ca->probe.rate[0] = max(ca->probe.rate[0], rate);
	}
	bw = path_round_capacity(ca, rate, q0);
	ca->rounds = min(ca->rounds + 1, PATH_ROUNDS);
	switch (ca->mode) {
	case PATH_SLOW_START:
		/* a queue for a whole round trip, or losses: the path is full */
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

	/* what is delivered now was sent with the previous window */
	if (ca->rounds < 2)
		return;

	if (mean_us < q0 / 2)
		ca->rtt_min_stamp = path_now(sk);
	if (!ca->limited && !lost && delivered >= PATH_BATCH)
		path_watch(sk, rate, mean_us < q0 / 2);
	claim = path_next_claim(ca, rate, delivered, lost, bw, q0, mean_us);
	/* nothing is added until the reduction after a CE mark takes effect */
	if (ca->claim && inet_csk(sk)->icsk_ca_state == TCP_CA_CWR)
		claim = min(claim, ca->claim);
	claim = max(claim, path_least_claim(ca));
	/* here and not sooner: else the verifier of BPF has twice the work */
	was = path_claim_segs(ca);
	ca->claim = claim;

	if (path_wants_look(sk, base_us, known, q0)) {
		path_drain(sk);
	} else if (ca->rival == PATH_FOREIGN) {
		/* a flow that never met an empty path may not see a queue: many losses show it */
		path_compete(sk, rate, bw, queue_us, q0,
			     lost && (crowded || lost > delivered / PATH_POLICER));
	} else if (!path_moves(ca) && (crowded || ca->rival == PATH_EMPTY)) {
		path_crowded(sk, queue_us, was);
	} else {
		ca->doubt = 0;
		if (!ca->limited)
			path_follow(sk, q0);
	}
}

/*
 * A round trip of a repair in which only retransmissions without an rtt arrived, @delivered of
 * them, so the queue is not known.  If most of what was sent is lost, the claim falls to what
 * arrived, by at most a half.  If it stayed, a flow would send at that rate as long as nothing else
 * arrives.  It may be less than path_least_claim(): the link may carry less than four segments in a
 * round trip; field-random --draw 11, a policer.
 */
static void path_blind_round(struct cpath *ca, u32 rate, u32 delivered)
{
	if (ca->mode == PATH_SLOW_START)
		return;
	/* what is lost now was sent with the previous window */
	if (ca->rounds < 2) {
		ca->rounds++;
		return;
	}
	if (ca->round_lost <= PATH_BLIND * delivered)
		return;
	path_too_much(ca);
	ca->claim = min(ca->claim, max(rate, ca->claim / 2));
}

/*
 * MPTCP.  TCP notices that there is too little to send when the application writes.  A subflow gets
 * its data in another way, and one with an unused window would look like a slow path.
 */
static void path_look_for_data(struct sock *sk)
{
	if (sk_is_mptcp(sk))
		tcp_rate_check_app_limited(sk);
}

/* A pair needs a burst, which is not possible if pacing has a limit. */
static bool path_may_burst(const struct sock *sk)
{
	return !sk_is_mptcp(sk) && READ_ONCE(sk->sk_max_pacing_rate) == ~0UL;
}

/*
 * Starts a pair: the segments that this ACK releases leave at once, and are timed.  They build a
 * queue, so they are at most a fourth of the largest queue ever seen: more would overflow a small
 * buffer; field-beside.  @bw: the capacity, BW_SCALE
 */
static bool path_pair_start(struct sock *sk, u32 bw)
{
	struct cpath *ca = inet_csk_ca(sk);
	u32 in_flight = tcp_packets_in_flight(tcp_sk(sk)), most;

	if (!ccpd_pair_start(sk, &ca->probe))
		return false;
	if (ca->mode == PATH_AVOIDANCE) {
		most = max_t(s64, ccpd_segs(bw, path_room_us(ca) / 4) >> SEG_SCALE,
			     PATH_LEAST_QUEUE);
		if (tcp_snd_cwnd(tcp_sk(sk)) - in_flight > most) {
			path_set_cwnd(sk, in_flight + most);
			ccpd_pair_begin(sk, &ca->probe, most);
		}
	}
	return true;
}

/*
 * The pacing rate of a burst, bytes/s: unlimited, so that a pair may form.  But MPTCP distributes
 * data by the pacing rates of its subflows, and an unlimited one would get all.  A subflow's rate
 * is that of the kernel's slow start: twice the window in a round trip.
 */
static u64 path_start_rate(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!sk_is_mptcp(sk) || !tp->srtt_us)
		return ~0ULL;
	return div_u64((u64)tcp_snd_cwnd(tp) * tp->mss_cache * 16 * USEC_PER_SEC, tp->srtt_us);
}

/*
 * The largest pacing rate for a capacity of @bw, BW_SCALE: a sixteenth more, since the capacity may
 * have grown.  But a small buffer has no room for that: there it is @bw, if a pair has shown it and
 * a queue stands.
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
 * A @burst, which is timed or which an ACK clocks, is not paced.  Everything else but a train is
 * sent a quarter faster than the claim, but not above path_most_rate(): segments that refill the
 * path would meet a queue that the window does not show yet.  Slow start is not paced until the
 * first pair is seen, since a pair needs a burst.  @bw: the capacity, BW_SCALE
 */
static __always_inline void path_pace(struct sock *sk, bool burst, u64 bw)
{
	const struct cpath *ca = inet_csk_ca(sk);
	u64 claim = ca->claim, rate;

	if (ca->mode == PATH_AVOIDANCE)
		claim = max_t(u64, claim, path_moving_rate(ca));
	if (burst || !claim) {
		ccpd_set_rate(sk, path_start_rate(sk));
		return;
	}
	rate = min(claim + (claim >> 2), path_most_rate(sk, bw));
	/*
	 * A larger claim is a guess, for which a small buffer has no room.  But it is all that is
	 * known if no rate was measured.
	 */
	if (!path_is_single(sk) || !bw)
		rate = max(claim, rate);
	/*
	 * The window exceeds the claim, and ACKs clock it.  Beside a rival the claim is the
	 * delivered rate, and the window grows by at most a half in a round trip.  At 2 * bw it
	 * would fill the rest of a small buffer at once after a look.
	 */
	if (unlikely(ca->rival == PATH_FOREIGN))
		rate = 2 * claim;
	else if (unlikely(path_has_window(ca)))
		rate = 2 * bw;
	ccpd_set_rate(sk, ccpd_bytes_ps(min_t(u64, rate, U32_MAX), ca->probe.mss));
}

/* A train is sent at the rate of the claim; at once, if that is not known. */
static void path_pace_train(struct sock *sk)
{
	const struct cpath *ca = inet_csk_ca(sk);

	ccpd_set_rate(sk, ca->claim ? ccpd_bytes_ps(ca->claim, ca->probe.mss) :
				      path_start_rate(sk));
}

/* The size of segments has changed. */
static void path_rescale(struct sock *sk)
{
	struct cpath *ca = inet_csk_ca(sk);
	u32 old = ca->probe.mss, new = tcp_sk(sk)->mss_cache;
	struct cpath_train t = ca->t;

	ca->claim = ccpd_rescale(ca->claim, old, new);
	/* the floor, or the cap in the same memory; in a train, where it ends */
	if (!path_in_train(ca))
		ca->floor = ccpd_rescale(ca->floor, old, new);
	ccpd_mss_changed(sk, &ca->probe);
	/* this gives up a pair, and a train has none in this memory */
	if (path_in_train(ca))
		ca->t = t;
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
			/* a queue on the way back brings ACKs closer together */
			ccpd_pair_drop(sk, p);
		else if (rs->rtt_us > 0 && ccpd_pair_ack(sk, p, rs->rtt_us))
			ccpd_pair_done(sk, p, path_least_us(sk));
		if (path_has_met(ca, rs))
			ca->met = 1;
		if (ccpd_round_is_over(p, rs) && !path_of_a_part(sk, rs))
			rate = ccpd_round_rate(p, rs);
	}
	if (rate) {
		/* a timeout takes everything for lost: that tells nothing of the path's rate */
		if (state != TCP_CA_Loss && p->round_rtt_us != U32_MAX)
			path_round(sk, rate);
		else if (state == TCP_CA_Recovery)
			path_blind_round(ca, rate, tp->delivered - p->round_delivered);
		if (!ca->limited)
			path_age(sk, rs->prior_mstamp);
		path_round_begin(sk);
	}

	if (state == TCP_CA_Loss) {
		path_train_stop(sk, TRAIN_NONE);
		if (ca->mode != PATH_SLOW_START)
			path_enter(ca, PATH_SLOW_START);
	}

	if (ca->mode == PATH_SLOW_START) {
		path_start(sk, rs->acked_sacked, rtt_us);
		if (path_in_train(ca)) {
			path_pace_train(sk);
			return;
		}
		bw = path_capacity(ca);
		/* the window may have grown by what the ACK acknowledges */
		cwnd++;
	} else {
		bw = path_capacity(ca);
		if (ca->mode == PATH_AVOIDANCE && rs->acked_sacked) {
			path_avoid(sk, rs->acked_sacked, bw);
			if (unlikely(state == TCP_CA_Recovery))
				path_repair(sk, rs->acked_sacked, bw);
			if (p->rtt_min_us < PATH_SHORT_US)
				burst = path_is_free(sk, p->rtt_min_us) ||
					path_clock(sk, rs->acked_sacked, bw);
		}
		cwnd += 2;
	}

	if (state == TCP_CA_Open && tcp_snd_cwnd(tp) >= cwnd && path_may_burst(sk))
		burst |= path_pair_start(sk, bw);
	path_pace(sk, burst, bw);
}

/*
 * Sends a train at the rate of the last connection to this peer in place of the initial window, as
 * long as the window in the peer's SYN allows.
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
	segs = div64_u64(visit.bytes_ps * min(rtt_us, visit.rtt_min_us), (u64)mss * USEC_PER_SEC);
	segs = min_t(u64, segs >> PATH_VISIT_PART, room);
	if (segs <= tcp_snd_cwnd(tp))
		return;
	path_train_send(sk, segs, div64_u64(segs * mss * USEC_PER_SEC, visit.bytes_ps) + 1);
	ca->train_zero = 1;
	ca->fell = 1;
	path_pace_train(sk);
}

static void path_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->rtt_min_stamp = path_now(sk);
	ca->before_loss = PATH_NOT_OURS;
	ca->noise = PATH_NO_NOISE;
	ca->rival = PATH_UNASKED;
	ccpd_probe_init(sk, &ca->probe);
	ccpd_set_rate(sk, path_start_rate(sk));
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);

	/*
	 * The initial window is the first train, or the window of another congestion control if
	 * nothing is in flight.  If it has segments in flight, its window and its ssthresh go on:
	 * plain slow start, or avoidance.
	 */
	if (!path_sends_trains(sk))
		return;
	if (!tp->packets_out) {
		path_train_send(sk, tcp_snd_cwnd(tp), 0);
		ca->train_zero = 1;
		path_revisit(sk);
	} else if (tp->delivered <= 1) {
		/* only the data of a SYN, which was not acknowledged */
		ca->train = TRAIN_WANTED;
	}
}

/* Remembers the largest rate of the last seconds for the next connection, if past the start */
static void path_release(struct sock *sk)
{
	const struct cpath *ca = inet_csk_ca(sk);
	const struct ccpd_probe *p = &ca->probe;
	u32 rate = ccpd_delivery_rate(p);

	if (READ_ONCE(sk->sk_pacing_shift) > PATH_TSO_SHIFT)
		sk_pacing_shift_update(sk, PATH_TSO_SHIFT);
	path_limit_burst(sk, 0);
	if (READ_ONCE(visits) && ca->mode != PATH_SLOW_START && !ca->capped && rate)
		path_visits_store(sk, ccpd_bytes_ps(rate, p->mss), p->rtt_min_us);
}

/*
 * The window that the claim corresponds to.  A loss in slow start does not end it.  Losses soon
 * after slow start count as losses in it: if they are undone, so is the end of slow start.
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

/*
 * The claim after a mark in the start, if no round trip has shown a rate.  The rate of a train is
 * none, since the path may not carry it.  The train before came in time: this is the least rate
 * from which path_train_done() goes to that of this train.  Before that it is what was sent in a
 * round trip: the first train, or the window.
 */
static u32 path_start_claim(const struct sock *sk)
{
	const struct cpath *ca = inet_csk_ca(sk);
	u32 segs = tcp_snd_cwnd(tcp_sk(sk)), quarters_us;

	if (path_in_train(ca)) {
		quarters_us = 4 * ca->train_us;
		if (!ca->train_zero)
			return div_u64((u64)ca->claim * quarters_us,
				       quarters_us + ca->probe.rtt_min_us);
		segs = path_train_segs(ca);
	}
	/* the first ACK of data may have the mark: then TCP knows the rtt of the handshake */
	return ccpd_bw(segs ?: TCP_INIT_CWND, 1,
		       (u64)((ca->probe.rtt_s ?: tcp_sk(sk)->srtt_us) >> 3) * NSEC_PER_USEC);
}

/* TCP asks for ssthresh before it tells the reason.  TCP_CA_CWR: a router has marked a packet. */
static void path_set_state(struct sock *sk, u8 state)
{
	struct cpath *ca = inet_csk_ca(sk);
	u32 claim;

	if (state == TCP_CA_Loss)
		ccpd_timeout(sk, &ca->probe);
	if (state != TCP_CA_CWR)
		return;
	if (ca->mode == PATH_SLOW_START) {
		claim = ccpd_delivery_rate(&ca->probe) ?: path_start_claim(sk);
		/* after a timeout not more than before it */
		if (!path_in_train(ca) && ca->claim)
			claim = min(claim, ca->claim);
		path_train_leave(sk, claim);
	} else {
		path_too_much(ca);
	}
	ca->claim = (u64)ca->claim * CCPD_ECN_KEEP >> 8;
}

/* The losses were spurious: the claim from before them comes back. */
static u32 path_undo_cwnd(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cpath *ca = inet_csk_ca(sk);
	u32 claim;

	ca->capped = 0;
	if (ca->mode != PATH_SLOW_START)
		path_suspected(ca);
	if (ca->before_loss == PATH_SLOW_START) {
		/*
		 * The loss has ended the start, or a timeout the train, which does not come back.
		 * Plain slow start goes on.
		 */
		if (ca->mode != PATH_SLOW_START ||
		    (ca->train == TRAIN_NONE && inet_csk(sk)->icsk_ca_state == TCP_CA_Loss)) {
			path_enter(ca, PATH_SLOW_START);
			/* else slow start would end at the rate of the repairs, without a pair */
			if (!ccpd_pair_bw(&ca->probe))
				ca->claim = 0;
			/* a train shares memory with the floor */
			ca->rival = PATH_FRIENDLY;
			ca->doubt = 0;
			ca->train = path_sends_trains(sk) && !path_is_short(sk) ? TRAIN_WANTED :
										  TRAIN_NONE;
		} else if (path_in_train(ca) && inet_csk(sk)->icsk_ca_state == TCP_CA_Loss) {
			path_train_undo(sk);
		}
	} else if (ca->before_loss != PATH_NOT_OURS) {
		claim = ccpd_bw(min_t(u32, tp->snd_ssthresh, BIT(30) - 1), 1,
				(u64)(ca->probe.rtt_s >> 3) * NSEC_PER_USEC);
		/* a claim that was not known is not known now */
		if (ca->claim)
			ca->claim = max(ca->claim, claim);
		if (ca->mode == PATH_SLOW_START)
			path_enter(ca, PATH_AVOIDANCE);
	}
	return max(tcp_snd_cwnd(tp), tp->prior_cwnd);
}

/*
 * Slow start begins again after an idle time of a retransmission timeout (RFC 5681, section 4.1).
 * It is not paced, so a window of 200 segments would leave as one burst.  TCP itself does this only
 * if .cong_control is not set.
 */
static void path_restart(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle) &&
	    (s32)(tcp_jiffies32 - tp->lsndtime) > (s32)inet_csk(sk)->icsk_rto)
		tcp_snd_cwnd_set(tp, min_t(u32, tcp_snd_cwnd(tp), TCP_INIT_CWND));
}

/*
 * A segment is sent while nothing is in flight.  After an idle time of a round trip no queue on the
 * path is ours.  It is not an idle time if a small window was acknowledged as a whole, which
 * happens in each round trip; nor if the segment waited for pacing, and not for the application or
 * the end of an outage.
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
			ca->rounds = 0;
		}
		if (!ca->claim)
			path_restart(sk);
	} else {
		path_enter(ca, PATH_AVOIDANCE);
		path_suspected(ca);
	}
	ca->rtt_min_stamp = path_now(sk);
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
	/* a train may share memory with the pair, and with nothing else */
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
