// SPDX-License-Identifier: GPL-2.0
/*
 * Runs every sender through the same scripts of events that can happen to a socket.
 *
 * reno and cubic validate the model of the kernel: their windows must be those of RFC 5681,
 * RFC 6937, RFC 9438 and tcp_input.c.  bbr runs for information, and nothing is asserted.
 *
 * Known failures are in a table, with the reason, and must fail.  A failure that is repaired
 * must be removed from the table.
 */
#include "cc_script.h"

#include "near.h"
#include "tcpcc_view.h"

/* The path of most scripts, us */
#define RTT	(40 * USEC_PER_MSEC)

/**
 * struct cc_sender - properties of a sender
 * @name: its name
 * @ece_least: the least window after a CE mark, thousandths of the window before
 * @ece_most: the largest window after a CE mark, thousandths of the window before
 * @swings: its law computes the window anew at each ACK, and any value is possible; so the
 *	window at the ACK that undoes a loss is not checked
 * @free: nothing is asserted
 */
struct cc_sender {
	const char	*name;
	u16		ece_least;
	u16		ece_most;
	bool		swings;
	bool		free;
};

/*
 * A CE mark has the effect of a loss (RFC 3168 section 6.1.2), with the factor of the law.  If
 * a law has no factor, at least a half and at most 0.9 is required (RFC 8511 uses 0.85).
 */
static const struct cc_sender senders[] = {
	{ "reno", 500, 500 },
	{ "cubic", 700, 700 },
	{ "bbr", .free = true },
	{ "ccpd", 500, 900, .swings = true },
	{ "ccp", 500, 900, .swings = true },
	{ "ccpd_path", 500, 900, .swings = true },
	{ "mccp", 500, 900 },
	{ "mccp_path", 500, 900 },
	{ "acp", 500, 900 },
	{ "estcp", 500, 900 },
	{ "nist_reno", 500, 500 },
	{ "nist_bic", 800, 800 },
	{ "nist_ctcp", 500, 500 },
	{ "nist_fast", 500, 500 },
	{ "nist_hstcp", 500, 900 },
	{ "nist_htcp", 500, 800 },
	{ "nist_scalable", 875, 875 },
	{ "jtcp", 500, 500 },
	{ "newjersey", 500, 900 },
	/* there is no feedback from routers here */
	{ "xcp", 500, 500 },
	{ "rcp", 500, 500 },
};

/**
 * struct cc_known - a script that a sender is known to fail
 * @sender: name of the sender
 * @script: name of the script
 * @why: reason of the failure
 */
struct cc_known {
	const char *sender;
	const char *script;
	const char *why;
};

#define NO_BUFFER	"no queue was seen, so that B and with it Eq. 3's window are small, as printed"

static const struct cc_known known[] = {
	{ "ccpd", "timeout", NO_BUFFER },
	{ "ccp", "timeout", NO_BUFFER },
	{ "nist_fast", "bunches", "wants 200 packets in a queue of 138, as the study has it" },
	{}
};

static bool is(const struct cc_flow *f, const char *name)
{
	return !strcmp(f->name, name);
}

static const struct cc_sender *sender_of(const struct cc_flow *f)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(senders); i++)
		if (is(f, senders[i].name))
			return &senders[i];
	return NULL;
}

/* Sets the path to @mbps Mb/s and a buffer of @buffer segments */
static void path(struct cc_flow *f, u32 mbps, u32 buffer)
{
	f->rate_bps = (u64)mbps * 1000 * 1000 / 8;
	f->buffer = buffer;
}

/* Ends slow start by a loss, and continues for some round trips */
static void settle(struct cc_flow *f)
{
	cc_bulk(f, 3 * RTT);
	cc_drop(f, 1);
	cc_bulk(f, 6 * RTT);
	cc_idle(f, 2 * RTT);
}

/* ------------------------------------------------------------------------- */
/* The scripts                                                               */

/* RFC 5681 section 3.1: one segment more for each acknowledged segment */
static void slow_start(struct cc_flow *f)
{
	u32 first = cc_cwnd(f), i;

	for (i = 1; i <= 3; i++) {
		u64 before = tcp_sk(f->sk)->delivered;
		u32 cwnd = cc_cwnd(f);

		cc_bulk(f, i == 1 ? RTT + RTT / 2 : RTT);
		if (is(f, "reno") || is(f, "cubic"))
			cc_expect(f, cc_cwnd(f) == first << i, "round %u", i);
		if (!cc_ops(f)->cong_control)
			cc_expect(f, cc_cwnd(f) <= cwnd + tcp_sk(f->sk)->delivered - before,
				  "faster than slow start");
	}
}

/* ACKs for 45 segments each, as a receiver with GRO sends them */
static void stretch_acks(struct cc_flow *f)
{
	u32 cwnd;

	cc_stretch(f, 45);
	cc_bulk(f, 2 * RTT + RTT / 2);
	if (is(f, "reno"))
		cc_expect(f, cc_cwnd(f) == 40, "slow start");
	cc_drop(f, 1);
	cc_bulk(f, 3 * RTT);
	cwnd = cc_cwnd(f);
	cc_bulk(f, 5 * RTT);
	if (is(f, "reno"))
		cc_expect(f, cc_cwnd(f) >= cwnd + 4 && cc_cwnd(f) <= cwnd + 6,
			  "avoidance from %u", cwnd);
}

/*
 * NIST SP 500-282 section 5.1: a loss reduces the window once, and the window does not grow
 * in the rest of the round trip.  The first ACK after that may increase it.
 */
static void nothing_grows(struct cc_flow *f, u64 until_us)
{
	const u32 ssthresh = cc_ssthresh(f), reductions = f->reductions;

	while (cc_state(f) == TCP_CA_Recovery && cc_now() + RTT / 100 < until_us) {
		u32 cwnd = cc_cwnd(f);

		f->most = cwnd;
		cc_bulk(f, RTT / 100);
		cc_expect(f, f->most <= max(cwnd, ssthresh + 1), "%u in recovery from %u",
			  f->most, cwnd);
	}
	cc_expect(f, f->reductions == reductions && cc_ssthresh(f) == ssthresh,
		  "%u reductions", f->reductions);
}

/* RFC 6675, RFC 6937: the window at the end of recovery, and the growth after it */
static void fast_recovery(struct cc_flow *f)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	u64 end_us;
	u32 cwnd;

	cc_bulk(f, 3 * RTT);
	cc_drop(f, 1);
	cc_bulk(f, RTT + RTT / 2);
	cc_expect(f, f->recoveries == 1, "%u recoveries", f->recoveries);
	cc_expect(f, cc_state(f) == TCP_CA_Recovery, "not in recovery");
	end_us = cc_now() + RTT;
	if (strstarts(f->name, "nist_"))
		nothing_grows(f, end_us);
	cc_bulk(f, end_us - cc_now());
	cc_expect(f, cc_state(f) == TCP_CA_Open, "still in recovery");
	cc_expect(f, !f->timeouts, "a timeout");
	cwnd = cc_cwnd(f);
	if (is(f, "reno"))
		cc_expect(f, tp->snd_ssthresh == f->was_cwnd / 2, "of %u", f->was_cwnd);
	if (is(f, "cubic"))
		cc_expect(f, tp->snd_ssthresh == f->was_cwnd * 717 / 1024, "of %u",
			  f->was_cwnd);
	if (is(f, "reno") || is(f, "cubic"))
		cc_expect(f, cwnd == tp->snd_ssthresh || cwnd == tp->snd_ssthresh + 1,
			  "after recovery");
	cc_bulk(f, 10 * RTT);
	if (is(f, "reno"))
		cc_expect(f, cc_cwnd(f) >= cwnd + 9 && cc_cwnd(f) <= cwnd + 11,
			  "avoidance from %u", cwnd);
	/*
	 * RFC 9438 section 4.2: the window needs K = 3.91 s from 56 to 80.  After 0.4 s and one
	 * round trip it is 80 - 0.4 (3.91 - 0.44)^3 = 63.3.  The kernel rounds its target.
	 */
	if (is(f, "cubic"))
		cc_expect(f, cc_cwnd(f) >= 62 && cc_cwnd(f) <= 65, "avoidance from %u of %u",
			  cwnd, f->was_cwnd);
}

/* RFC 5681 section 3.1, equation 4; RFC 6298: the window after a timeout, and its growth */
static void timeout(struct cc_flow *f)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	u32 delivered;

	cc_bulk(f, 3 * RTT);
	cc_blackout(f, 500 * USEC_PER_MSEC);
	cc_bulk(f, 300 * USEC_PER_MSEC);
	cc_expect(f, cc_state(f) == TCP_CA_Loss && f->timeouts == 1, "%u timeouts",
		  f->timeouts);
	if (is(f, "reno"))
		cc_expect(f, cc_cwnd(f) == 1 && tp->snd_ssthresh == f->was_cwnd / 2, "of %u",
			  f->was_cwnd);
	if (is(f, "cubic"))
		cc_expect(f, cc_cwnd(f) == 1 && tp->snd_ssthresh == f->was_cwnd * 717 / 1024,
			  "of %u", f->was_cwnd);
	delivered = tp->delivered;
	cc_bulk(f, 2000 * USEC_PER_MSEC);
	cc_expect(f, cc_state(f) == TCP_CA_Open, "never recovers");
	cc_expect(f, tp->delivered - delivered > 200, "only %u segments afterwards",
		  tp->delivered - delivered);
}

/* An outage of 1.5 s on a link that is in use */
static void outage(struct cc_flow *f)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	u32 before, after;

	path(f, 20, 130);
	cc_bulk(f, 2 * USEC_PER_SEC);
	before = tp->delivered;
	cc_bulk(f, USEC_PER_SEC);
	before = tp->delivered - before;
	cc_blackout(f, 1500 * USEC_PER_MSEC);
	/* at the end of the outage the timer has backed off to 2 s */
	cc_bulk(f, 5 * USEC_PER_SEC);
	after = tp->delivered;
	cc_bulk(f, USEC_PER_SEC);
	after = tp->delivered - after;
	cc_expect(f, after >= before / 2, "%u segments in a second after %u", after, before);
}

/* A segment is overtaken by a round trip of others.  DSACK shows that the loss was spurious. */
static void undo_by_dsack(struct cc_flow *f)
{
	path(f, 100, CC_WIRES);
	cc_bulk(f, RTT + RTT / 2);
	cc_late(f, RTT);
	cc_bulk(f, 3 * RTT);
	cc_expect(f, f->undos == 1, "%u recoveries, %u undone", f->recoveries, f->undos);
	/* the same in congestion avoidance */
	cc_drop(f, 1);
	cc_bulk(f, 6 * RTT);
	cc_late(f, RTT);
	cc_bulk(f, 8 * RTT);
	cc_expect(f, f->undos == 2, "%u recoveries, %u undone", f->recoveries, f->undos);
}

/* The same, but time stamps show it (Eifel, RFC 4015) */
static void undo_by_eifel(struct cc_flow *f)
{
	f->timestamps = true;
	undo_by_dsack(f);
}

/* All ACKs are 400 ms late, without a loss.  F-RTO (RFC 5682) finds the spurious timeout. */
static void undo_of_timeout(struct cc_flow *f)
{
	path(f, 100, CC_WIRES);
	settle(f);
	cc_bulk(f, 2 * RTT + RTT / 2);
	cc_stall(f, 400 * USEC_PER_MSEC);
	cc_bulk(f, 1200 * USEC_PER_MSEC);
	cc_expect(f, f->timeouts == 1 && f->undos == 1, "%u timeouts, %u undone",
		  f->timeouts, f->undos);
	cc_bulk(f, 4 * RTT);
	cc_expect(f, cc_state(f) == TCP_CA_Open, "not open");
}

/* One mark causes one reduction, and so do marks on all segments of a round trip. */
static void ecn(struct cc_flow *f)
{
	const struct cc_sender *sender = sender_of(f);
	u32 before;

	path(f, 100, CC_WIRES);
	settle(f);
	cc_bulk(f, 10 * RTT);
	cc_watch(f);
	cc_mark(f, 1);
	cc_bulk(f, 5 * RTT);
	before = f->was_cwnd;
	cc_expect(f, f->reductions == 1, "asked for the threshold %u times", f->reductions);
	cc_expect(f, cc_state(f) == TCP_CA_Open, "not open");
	cc_expect(f, f->least <= before * sender->ece_most / 1000 + 1, "%u, of %u", f->least,
		  before);
	cc_expect(f, f->swings || f->least + 1 >= before * sender->ece_least / 1000,
		  "only %u, of %u", f->least, before);

	cc_bulk(f, 10 * RTT);
	cc_watch(f);
	before = cc_cwnd(f);
	cc_mark(f, before);
	cc_bulk(f, 3 * RTT);
	cc_expect(f, f->reductions <= 2, "asked for the threshold %u times", f->reductions);
	cc_expect(f, f->swings || f->least + 1 >= before * sender->ece_least / 1000 *
		  sender->ece_least / 1000, "only, of %u", before);
}

/* RFC 7661: the window does not grow if it is not used. */
static void limited(struct cc_flow *f)
{
	u32 before = cc_cwnd(f);

	cc_limited(f, 4, 20 * RTT);
	cc_watch(f);
	cc_limited(f, 4, 40 * RTT);
	cc_expect(f, f->most <= max(before, 10U), "%u, from %u, in slow start", f->most,
		  before);
	settle(f);
	cc_watch(f);
	cc_bulk(f, 20 * RTT);
	cc_idle(f, 2 * RTT);
	/* the used window; if it swings, the present one may be anywhere below that */
	before = f->swings ? f->most : cc_cwnd(f);
	cc_watch(f);
	cc_limited(f, 4, 60 * RTT);
	cc_expect(f, f->most <= before, "%u, from %u, in avoidance", f->most, before);
}

/* Requests of 8 segments, 5 s apart, and then one of 200 */
static void requests(struct cc_flow *f)
{
	u64 began_us;
	int i;

	for (i = 0; i < 4; i++) {
		began_us = cc_now();
		cc_respond(f, 8);
		cc_expect(f, cc_now() - began_us < 5 * RTT, "8 segments took %llu us",
			  cc_now() - began_us);
		cc_idle(f, 5 * USEC_PER_SEC);
	}
	began_us = cc_now();
	cc_respond(f, 200);
	/* with 10, 20, 40, 80 segments it takes five round trips; twice that is allowed */
	cc_expect(f, cc_now() - began_us < 10 * RTT, "200 segments took %llu us",
		  cc_now() - began_us);
}

/* The same with pacing, as over fq */
static void requests_over_fq(struct cc_flow *f)
{
	WRITE_ONCE(f->sk->sk_pacing_status, SK_PACING_NEEDED);
	requests(f);
}

/* The window after idle times of 0.1, 10 and 30 s */
static void idle(struct cc_flow *f)
{
	static const u32 idle_ms[] = { 100, 10000, 30000 };
	u32 before, first;
	int i;

	settle(f);
	cc_bulk(f, 10 * RTT);
	for (i = 0; i < ARRAY_SIZE(idle_ms); i++) {
		cc_idle(f, idle_ms[i] * USEC_PER_MSEC);
		before = min_t(u32, cc_cwnd(f), TCP_INIT_CWND);
		first = cc_respond(f, 60);
		cc_expect(f, first >= before, "%u segments went at first after %u ms", first,
			  idle_ms[i]);
		cc_bulk(f, 4 * RTT);
	}
}

/* The MTU falls and rises, and the path's rate in bytes per second stays the same. */
static void mtu(struct cc_flow *f)
{
	static const u16 sizes[] = { 1448, 536, 1448, 8948, 1228 };
	struct tcp_sock *tp = tcp_sk(f->sk);
	u64 bytes;
	int i;

	path(f, 20, 130);
	cc_bulk(f, 2 * USEC_PER_SEC);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		cc_mss(f, sizes[i]);
		cc_bulk(f, USEC_PER_SEC);
		bytes = tp->delivered;
		cc_bulk(f, USEC_PER_SEC);
		bytes = (tp->delivered - bytes) * sizes[i];
		cc_expect(f, bytes > 2500000 / 4, "%llu of 2500000 bytes in a second of %u",
			  bytes, sizes[i]);
	}
}

/* Brings a flow into state @state */
static void enter(struct cc_flow *f, u8 state)
{
	cc_bulk(f, 2 * RTT + RTT / 2);
	switch (state) {
	case TCP_CA_Disorder:
		cc_late(f, 3);
		cc_bulk(f, RTT);
		break;
	case TCP_CA_CWR:
		cc_mark(f, 1);
		cc_bulk(f, RTT + RTT / 2);
		break;
	case TCP_CA_Recovery:
		cc_drop(f, 1);
		cc_bulk(f, RTT + RTT / 2);
		break;
	case TCP_CA_Loss:
		cc_blackout(f, 300 * USEC_PER_MSEC);
		cc_bulk(f, 260 * USEC_PER_MSEC);
		break;
	}
}

/* Switches from and to other congestion controls in each state, and checks that data flows */
static void switches(struct cc_flow *f)
{
	static const char * const others[] = { "reno", "cubic", "bbr" };
	const char *name = f->name;
	u32 before;
	u8 state;
	int i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		for (state = TCP_CA_Open; state <= TCP_CA_Loss; state++) {
			cc_switch(f, others[i]);
			enter(f, state);
			cc_switch(f, name);
			cc_bulk(f, 20 * RTT);
			enter(f, state);
			cc_switch(f, others[i]);
			cc_bulk(f, 20 * RTT);
		}
	}
	cc_switch(f, name);
	before = tcp_sk(f->sk)->delivered;
	cc_bulk(f, 2 * USEC_PER_SEC);
	cc_expect(f, tcp_sk(f->sk)->delivered - before > 500, "only %u segments",
		  tcp_sk(f->sk)->delivered - before);
}

/* Limits that a user may set: snd_cwnd_clamp (as by TCP_WINDOW_CLAMP), and SO_MAX_PACING_RATE */
static void limits(struct cc_flow *f)
{
	tcp_sk(f->sk)->snd_cwnd_clamp = 20;
	cc_bulk(f, 6 * RTT);
	tcp_sk(f->sk)->snd_cwnd_clamp = CC_CLAMP;
	cc_idle(f, 2 * RTT);
	f->sk->sk_max_pacing_rate = 1000000;
	WRITE_ONCE(f->sk->sk_pacing_rate, 1000000);
	WRITE_ONCE(f->sk->sk_pacing_status, SK_PACING_NEEDED);
	cc_bulk(f, 20 * RTT);
}

/*
 * ACKs come in bunches, one every 2 ms, and ACKs of one poll are processed 0.3 us apart.
 * On a stock kernel CUBIC loses 13 segments in 8 s here; ten times as many are allowed.
 * In addition, a slow start that ignores delays may lose what path and buffer hold, 207.
 */
static void bunches(struct cc_flow *f)
{
	struct tcp_sock *tp = tcp_sk(f->sk);
	u32 delivered;

	path(f, 20, 138);
	f->batch_us = 2000;
	f->poll_ns = 300;
	cc_bulk(f, USEC_PER_SEC);
	delivered = tp->delivered;
	cc_bulk(f, 7 * USEC_PER_SEC);
	delivered = tp->delivered - delivered;
	/* 20 Mb/s are 1726 segments of 1448 bytes per second */
	cc_expect(f, delivered > 7 * 1726 * 9 / 10, "%u of %u segments", delivered, 7 * 1726);
	cc_expect(f, tp->lost < 10 * 13 + 207, "%u segments lost", tp->lost);
}

/* ------------------------------------------------------------------------- */
/* How they run                                                              */

typedef void (*cc_script)(struct cc_flow *f);

static const char *is_known(const char *sender, const char *script)
{
	const struct cc_known *k;

	for (k = known; k->sender; k++)
		if (!strcmp(k->sender, sender) && !strcmp(k->script, script))
			return k->why;
	return NULL;
}

static struct cc_flow *begin(struct kunit *test, const char *name)
{
	struct cc_flow *f = kvzalloc(sizeof(*f), GFP_KERNEL);
	int err;

	KUNIT_ASSERT_NOT_NULL(test, f);
	/* start at a full second, so that jiffies do not depend on the script before this one */
	cc_sleep_until((div_u64(cc_now(), USEC_PER_SEC) + 1) * USEC_PER_SEC);
	err = cc_open(f, name, RTT);
	if (err) {
		cc_close(f);
		kvfree(f);
		KUNIT_ASSERT_EQ_MSG(test, err, 0, "no %s", name);
	}
	return f;
}

static void run(struct kunit *test, const char *script, cc_script play)
{
	const struct cc_sender *sender = test->param_value;
	const char *why = is_known(sender->name, script);
	struct cc_flow *f = begin(test, sender->name);

	f->swings = sender->swings;
	play(f);
	if (sender->free) {
		if (f->failures)
			kunit_info(test, "%s: %s\n", sender->name, f->why);
	} else if (why) {
		KUNIT_EXPECT_GT_MSG(test, f->failures, 0,
				    "%s passes %s: take it out of the table (%s)",
				    sender->name, script, why);
	} else {
		KUNIT_EXPECT_EQ_MSG(test, f->failures, 0, "%s: %s", sender->name, f->why);
	}
	cc_close(f);
	kvfree(f);
}

#define CC_SCRIPT(_name)						\
static void test_##_name(struct kunit *test)				\
{									\
	run(test, #_name, _name);					\
}

CC_SCRIPT(slow_start)
CC_SCRIPT(stretch_acks)
CC_SCRIPT(fast_recovery)
CC_SCRIPT(timeout)
CC_SCRIPT(outage)
CC_SCRIPT(undo_by_dsack)
CC_SCRIPT(undo_by_eifel)
CC_SCRIPT(undo_of_timeout)
CC_SCRIPT(ecn)
CC_SCRIPT(limited)
CC_SCRIPT(requests)
CC_SCRIPT(requests_over_fq)
CC_SCRIPT(idle)
CC_SCRIPT(mtu)
CC_SCRIPT(switches)
CC_SCRIPT(limits)
CC_SCRIPT(bunches)

/* A socket that is closed, in any state, releases the module of its sender. */
static void test_close(struct kunit *test)
{
	const struct cc_sender *sender = test->param_value;
	struct cc_flow *f = begin(test, sender->name);
	struct module *owner = cc_ops(f)->owner;
	int others;
	u8 state;

	if (!owner) {
		cc_close(f);
		kvfree(f);
		return;
	}
	others = module_refcount(owner) - 1;
	for (state = TCP_CA_Open; state <= TCP_CA_Loss; state++) {
		enter(f, state);
		cc_close(f);
		kvfree(f);
		KUNIT_EXPECT_EQ_MSG(test, module_refcount(owner), others,
				    "%s keeps its module when it is closed in state %u",
				    sender->name, state);
		f = begin(test, sender->name);
	}
	/* before anything was sent */
	cc_close(f);
	kvfree(f);
	KUNIT_EXPECT_EQ(test, module_refcount(owner), others);
}

/* The value of field @name that a sender shows in /proc/net/tcpcc */
static u64 shown(struct kunit *test, struct cc_flow *f, const char *name)
{
	struct tcpcc_view view = {};
	unsigned int i;
	int attr;

	cc_ops(f)->get_info(f->sk, TCPCC_VIEW, &attr, &view.form);
	for (i = 0; i < view.count; i++)
		if (!strcmp(view.field[i].name, name))
			return view.field[i].value;
	KUNIT_FAIL(test, "%s shows no %s", f->name, name);
	return 0;
}

/* A step, us: less than the time between two ACKs at 20 Mb/s, 0.58 ms */
#define STEP	100

/* Runs until a loss is found.  A step has at most one ACK, and the segments that it releases. */
static void go_on_to_recovery(struct kunit *test, struct cc_flow *f)
{
	u32 i;

	for (i = 0; i < 200 * RTT / STEP && cc_state(f) != TCP_CA_Recovery; i++)
		cc_bulk(f, STEP);
	KUNIT_ASSERT_EQ(test, cc_state(f), TCP_CA_Recovery);
}

/*
 * Recovery, ACK by ACK.  The window does not exceed its value before the loss, and neither does
 * what is in flight, including retransmissions.  The estimates of the path do not change,
 * because no rtt counts.
 *
 * Return: by how many segments the window was smaller than before, at most
 */
static u32 recover(struct kunit *test, struct cc_flow *f)
{
	static const char * const known_of[] = {
		"capacity_bps", "rtt_min_us", "rtt_max_us", "level_segs",
	};
	struct tcp_sock *tp = tcp_sk(f->sk);
	u32 held = max(f->was_cwnd, cc_ssthresh(f)), least = held;
	u64 before[ARRAY_SIZE(known_of)];
	u32 i, j;

	for (j = 0; j < ARRAY_SIZE(known_of); j++)
		before[j] = shown(test, f, known_of[j]);
	for (i = 0; i < 20 * RTT / STEP && cc_state(f) == TCP_CA_Recovery; i++) {
		KUNIT_EXPECT_LE(test, cc_cwnd(f), held);
		KUNIT_EXPECT_LE(test, tcp_packets_in_flight(tp), held);
		for (j = 0; j < ARRAY_SIZE(known_of); j++)
			KUNIT_EXPECT_EQ_MSG(test, shown(test, f, known_of[j]), before[j],
					    "%s: %s", f->name, known_of[j]);
		least = min(least, cc_cwnd(f));
		cc_bulk(f, STEP);
	}
	KUNIT_EXPECT_EQ(test, cc_state(f), TCP_CA_Open);
	return held - least;
}

/*
 * The CCPD paper's Section V.  Slow start is TCP's.  When a loss ends it, capacity and buffer
 * are known.  In recovery the window stays the same, and so do the estimates of the path,
 * because rtts of retransmissions are not used.  Section III.B: retransmitted segments are in
 * flight like all others, and therefore within the window.
 */
static void test_recovery_as_printed(struct kunit *test)
{
	static const char * const names[] = { "ccpd", "ccp" };
	struct cc_flow *f;
	u32 i, retrans;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		f = begin(test, names[i]);
		path(f, 20, 130);
		go_on_to_recovery(test, f);
		EXPECT_NEAR(test, shown(test, f, "capacity_bps"), f->rate_bps * 8, 20000);
		/* the last segment in the buffer waited for the 130 before it */
		EXPECT_NEAR(test, shown(test, f, "buffer_segs"), 130, 20000);
		recover(test, f);

		/* one segment is lost in avoidance, and does not count as in flight any more */
		cc_bulk(f, 20 * RTT);
		retrans = tcp_sk(f->sk)->total_retrans;
		cc_drop(f, 1);
		go_on_to_recovery(test, f);
		KUNIT_EXPECT_LE(test, recover(test, f), 1);
		KUNIT_EXPECT_EQ(test, tcp_sk(f->sk)->total_retrans, retrans + 1);
		cc_close(f);
		kvfree(f);
	}
}

static void name_of(const struct cc_sender *sender, char *desc)
{
	strscpy(desc, sender->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(senders, senders, name_of);

static struct kunit_case script_cases[] = {
	KUNIT_CASE_PARAM(test_slow_start, senders_gen_params),
	KUNIT_CASE_PARAM(test_stretch_acks, senders_gen_params),
	KUNIT_CASE_PARAM(test_fast_recovery, senders_gen_params),
	KUNIT_CASE_PARAM(test_timeout, senders_gen_params),
	KUNIT_CASE_PARAM(test_outage, senders_gen_params),
	KUNIT_CASE_PARAM(test_undo_by_dsack, senders_gen_params),
	KUNIT_CASE_PARAM(test_undo_by_eifel, senders_gen_params),
	KUNIT_CASE_PARAM(test_undo_of_timeout, senders_gen_params),
	KUNIT_CASE_PARAM(test_ecn, senders_gen_params),
	KUNIT_CASE_PARAM(test_limited, senders_gen_params),
	KUNIT_CASE_PARAM(test_requests, senders_gen_params),
	KUNIT_CASE_PARAM(test_requests_over_fq, senders_gen_params),
	KUNIT_CASE_PARAM(test_idle, senders_gen_params),
	KUNIT_CASE_PARAM(test_mtu, senders_gen_params),
	KUNIT_CASE_PARAM(test_switches, senders_gen_params),
	KUNIT_CASE_PARAM(test_limits, senders_gen_params),
	KUNIT_CASE_PARAM(test_bunches, senders_gen_params),
	KUNIT_CASE_PARAM(test_close, senders_gen_params),
	KUNIT_CASE(test_recovery_as_printed),
	{}
};

static struct kunit_suite script_suite = {
	.name = "cc_scripts",
	.test_cases = script_cases,
};

kunit_test_suite(script_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Every sender through the same scripts");
