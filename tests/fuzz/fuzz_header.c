// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes include/tcpcc_feedback.h: words, and TCP headers of any bytes.
 *
 * The result of parsing is compared with that of a second parser in this file.  An inserted option
 * must be found again.  Of the other options only the last SACK blocks and the echo may be removed,
 * and no more of them than necessary.
 */

#include "fuzz.h"
#include "tcpcc_feedback.h"

/* The first bytes of an input; the rest is the TCP header */
struct input {
	u8 flags;	/* HAS_WORD... */
	u8 protocol;
	u8 segs;
	u8 codepoint;
	u32 info;
	u32 word;
	u32 echo;
	u64 rate;
};

#define HAS_WORD	BIT(0)
#define HAS_ECHO	BIT(1)
#define CONGESTED	BIT(2)

/* Result of the parser in this file */
struct options {
	unsigned int end;		/* bytes of the header; 0: its length is wrong */
	unsigned int ours;		/* offset of the first option with our ExID */
	unsigned int last;		/* end of the options that can be read */
	unsigned int sack;		/* offset of the last SACK option */
	bool signature;
	bool stamp;
	u32 stamp_value;
};

static void read_options(struct options *o, const u8 *th, unsigned int len)
{
	unsigned int at = 20;

	memset(o, 0, sizeof(*o));
	if (len < 20 || th[12] < 0x50 || (th[12] & 0xf0) >> 2 > (int)len)
		return;
	o->end = (th[12] & 0xf0) >> 2;
	while (at < o->end && th[at] != 0) {
		unsigned int n;

		if (th[at] == 1) {
			at++;
			continue;
		}
		if (at + 2 > o->end)
			break;
		n = th[at + 1];
		if (n < 2 || at + n > o->end)
			break;
		if (th[at] == 253 && n > 3 && th[at + 2] == 0xac &&
		    th[at + 3] == 0x50 && !o->ours)
			o->ours = at;
		if (th[at] == 5 && (n == 2 || n == 10 || n == 18 || n == 26 ||
				    n == 34))
			o->sack = at;
		if (th[at] == 19 || th[at] == 29)
			o->signature = true;
		if (th[at] == 8 && n == 10 && !o->stamp) {
			o->stamp = true;
			o->stamp_value = (u32)th[at + 2] << 24 |
					 th[at + 3] << 16 | th[at + 4] << 8 |
					 th[at + 5];
		}
		at += n;
	}
	o->last = at;
}

static void check_parse(const u8 *th, unsigned int len, const struct options *o)
{
	struct tcpcc_fb_header h = {};
	int found = tcpcc_fb_parse(th, len, &h);
	const u8 *opt = th + o->ours;
	u32 stamp = 0;

	CHECK(tcpcc_fb_header_len(th, len) == o->end);
	CHECK(tcpcc_fb_timestamp(th, len, &stamp) == o->stamp);
	CHECK(stamp == o->stamp_value);
	if (!o->ours) {
		CHECK(found == 0);
		return;
	}
	if (opt[1] != 8 && opt[1] != 12 && opt[1] != 16) {
		CHECK(found == -EBADMSG);
		return;
	}
	CHECK(found == 1 && h.offset == o->ours);
	CHECK(h.has_word == (opt[1] != 8) && h.has_echo == (opt[1] != 12));
	if (h.has_word) {
		CHECK(h.protocol == opt[4] / 16);
		CHECK(h.info == (u32)(opt[4] % 16 * 16777216 + opt[5] * 65536 +
				      opt[6] * 256 + opt[7]));
		CHECK(tcpcc_fb_rtt_us(h.info) == h.info % 16777216);
		CHECK(h.word == get_unaligned_be32(opt + 8));
	}
	if (h.has_echo)
		CHECK(h.echo == get_unaligned_be32(opt + opt[1] - 4));
}

static unsigned int option_len(bool word, bool echo)
{
	return word && echo ? 16 : word ? 12 : echo ? 8 : 0;
}

static void check_insert(const u8 *th, unsigned int len,
			 const struct options *o, const struct input *in)
{
	struct tcpcc_fb_header h = {
		.has_word	= in->flags & HAS_WORD,
		.has_echo	= in->flags & HAS_ECHO,
		.protocol	= in->protocol & 15,
		.info		= in->info,
		.word		= in->word,
		.echo		= in->echo,
	};
	const struct tcpcc_fb_header wish = h;
	struct tcpcc_fb_header found;
	unsigned int need = option_len(h.has_word, h.has_echo);
	unsigned int least = h.has_word ? 12 : need;
	unsigned int blocks = o->sack ? th[o->sack + 1] / 8 : 0;
	unsigned int spare = blocks ? 8 * (blocks - 1) : 0;
	unsigned int dropped = 99, kept, more;
	u8 *out = malloc(TCPCC_TCP_HEADER_MAX), *again;
	int n = tcpcc_fb_insert(out, th, len, &h, &dropped);

	if (!o->end) {
		CHECK(n == -EINVAL && !dropped);
	} else if (o->signature || o->ours) {
		CHECK(n == (o->signature && o->ours ? n :
			    o->signature ? -EPERM : -EEXIST));
		CHECK(n == -EPERM || n == -EEXIST);
		CHECK(!dropped);
	} else if (!need) {
		CHECK(n == -EINVAL && !dropped);
	} else if (o->end + least - spare > 60) {
		CHECK(n == -ENOSPC && !dropped);
	} else {
		CHECK(n > 0 && n <= 60 && n % 4 == 0 && out[12] >> 4 == n / 4);
		/* no more was removed than necessary */
		CHECK(8 * dropped <= spare);
		CHECK(h.has_word == wish.has_word);
		CHECK(h.has_echo == wish.has_echo ||
		      o->end + need - spare > 60);
		need = option_len(h.has_word, h.has_echo);
		CHECK(n == (int)(o->end + need - 8 * dropped));
		CHECK(!dropped || o->end + need - 8 * (dropped - 1) > 60);
		/* the header, except its length */
		CHECK(!memcmp(out, th, 12) && !memcmp(out + 13, th + 13, 7));
		CHECK((out[12] & 15) == (th[12] & 15));
		/* our option */
		CHECK(tcpcc_fb_parse(out, n, &found) == 1);
		CHECK(found.offset == 20 && found.has_word == h.has_word &&
		      found.has_echo == h.has_echo);
		CHECK(!h.has_echo || found.echo == wish.echo);
		CHECK(!h.has_word ||
		      (found.word == wish.word &&
		       found.protocol == wish.protocol &&
		       found.info == wish.info % 268435456));
		/* the other options */
		kept = dropped ? o->sack + 2 + 8 * (blocks - dropped) : o->end;
		more = kept + 8 * dropped;
		CHECK(!memcmp(out + 20 + need, th + 20, o->sack ?
			      min(o->sack + 1, kept) - 20 : kept - 20));
		if (dropped) {
			CHECK(out[o->sack + need + 1] ==
			      th[o->sack + 1] - 8 * dropped);
			CHECK(!memcmp(out + o->sack + need + 2,
				      th + o->sack + 2, kept - o->sack - 2));
		}
		CHECK(!memcmp(out + kept + need, th + more, o->end - more));
		/* a second insertion fails */
		again = malloc(TCPCC_TCP_HEADER_MAX);
		h = wish;
		CHECK(tcpcc_fb_insert(again, out, n, &h, &dropped) == -EEXIST);
		free(again);
	}
	free(out);
}

static s64 difference(u32 word)
{
	s64 low = word & 0x3fffffff;

	return low < 1 << 29 ? low : low - (1 << 30);
}

/* A number of XCP, computed by division, with the smallest exponent that fits */
static u64 nearest(u64 value, u64 mantissas, unsigned int exponents)
{
	u64 unit = 1;
	unsigned int e;

	for (e = 0; e < exponents; e++, unit *= 2) {
		u64 m = value / unit + (value % unit * 2 >= unit && unit > 1);

		if (m < mantissas)
			return m * unit;
	}
	return (mantissas - 1) * (unit / 2);
}

static void check_infos(const struct input *in)
{
	u32 rtt = in->info % 16384 / 1024, gap = in->word % 16384 / 512;
	u32 info = tcpcc_fb_xcp_info(in->info, in->rate);

	CHECK(!(info >> 28));
	CHECK(tcpcc_fb_xcp_rtt_us(info) == nearest(in->info, 1024, 16));
	CHECK(tcpcc_fb_xcp_gap_ns(info) == nearest(in->rate, 512, 32));
	/* the same with smaller numbers, which are more common */
	info = tcpcc_fb_xcp_info(in->info >> 8, in->rate >> 32);
	CHECK(tcpcc_fb_xcp_rtt_us(info) == nearest(in->info >> 8, 1024, 16));
	CHECK(tcpcc_fb_xcp_gap_ns(info) == nearest(in->rate >> 32, 512, 32));
	/* each number is read correctly, whatever the other one is */
	info = in->info << 14 | in->word % 16384;
	CHECK(tcpcc_fb_xcp_rtt_us(info) == in->info % 1024 << rtt);
	CHECK(tcpcc_fb_xcp_gap_ns(info) == (u64)(in->word % 512) << gap);

	CHECK(tcpcc_fb_rtt_info(in->info) == (in->info < 16777215 ? in->info : 16777215));
}

static void check_words(const struct input *in)
{
	bool congested = in->flags & CONGESTED;
	u32 word = tcpcc_fb_encode(in->rate, congested);
	u64 rate = tcpcc_fb_decode(word), before, after;
	u32 limited, sum, tally;
	s64 want;
	int i;

	/* a rate is encoded and decoded: rounded down, by at most one in 2^23 */
	CHECK(!(word >> 30) && !(word & TCPCC_FB_CONGESTION) == !congested);
	if (in->rate == TCPCC_FB_RATE_NONE)
		CHECK(rate == TCPCC_FB_RATE_NONE);
	else if (in->rate >= TCPCC_FB_RATE_MAX)
		CHECK(rate <= TCPCC_FB_RATE_MAX &&
		      rate > TCPCC_FB_RATE_MAX - (TCPCC_FB_RATE_MAX >> 23));
	else
		CHECK(rate <= in->rate && in->rate - rate <= in->rate >> 23);

	/* a router only lowers the rate, and does not clear H_congestion */
	limited = tcpcc_fb_limit(in->word, in->rate, congested);
	if (in->word >> 30) {
		CHECK(limited == in->word);
	} else {
		before = tcpcc_fb_decode(in->word);
		after = tcpcc_fb_decode(limited);
		CHECK(after <= before);
		CHECK(after <= in->rate);
		CHECK(after == before || after == rate);
		CHECK(!(limited >> 30));
		CHECK(!(limited & TCPCC_FB_CONGESTION) ==
		      !(congested || in->word & TCPCC_FB_CONGESTION));
		/* the second of two equal routers changes nothing */
		CHECK(tcpcc_fb_limit(limited, in->rate, congested) == limited);
	}

	CHECK(tcpcc_fb_combine(TCPCC_FB_ACP, in->echo, in->word, in->segs) ==
	      in->word);
	sum = tcpcc_fb_combine(TCPCC_FB_XCP, in->echo, in->word, in->segs);
	want = difference(in->echo) + difference(in->word) * in->segs;
	want = clamp_t(s64, want, -(1 << 29) + 1, (1 << 29) - 1);
	if (in->echo == TCPCC_FB_NO_LIMIT || in->word == TCPCC_FB_NO_LIMIT)
		want = TCPCC_FB_NO_LIMIT;
	CHECK(!(sum >> 30) && difference(sum) == want);

	tally = tcpcc_fb_combine(TCPCC_FB_ESTCP, in->echo & 0x3fffffff,
				 in->codepoint, in->segs);
	CHECK(!(tally >> 30) && tcpcc_fb_last(tally) == (in->codepoint & 3));
	for (i = 0; i < 4; i++) {
		u32 old = tcpcc_fb_count(in->echo, i);
		u32 new = tcpcc_fb_count(tally, i);

		CHECK(!old || new);
		CHECK(new >= (old + 1) / 2);
		CHECK(i == (in->codepoint & 3) || new <= old);
	}
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	struct options options;
	struct input in;
	u8 *th;

	if (size < sizeof(in))
		return 0;
	memcpy(&in, data, sizeof(in));
	size -= sizeof(in);
	th = alone(data + sizeof(in), size);
	read_options(&options, th, size);
	check_infos(&in);
	check_words(&in);
	check_parse(th, size, &options);
	check_insert(th, size, &options, &in);
	free(th);
	return 0;
}
