// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the congestion header: rates as words, options in plain memory, and
 * contents from hostile or faulty hosts.  Then tests of its transport: echoes that come
 * late, twice or never, and echoes for which there is no room.
 */
/* senders must not use these symbols instead of those of tcp_feedback.ko */
#define __DISABLE_EXPORTS

#include "../../feedback/tcp_feedback.c"

#include <linux/random.h>
#include <linux/slab.h>

#include <kunit/test.h>

#define MBPS	125000ULL

/* Builds a TCP header with these options, and sets doff.  Return: its length, bytes */
static unsigned int header(u8 *th, const u8 *options, unsigned int len)
{
	memset(th, 0, TCPCC_TCP_HEADER);
	th[12] = (TCPCC_TCP_HEADER + len) / 4 << 4;
	memcpy(th + TCPCC_TCP_HEADER, options, len);
	return TCPCC_TCP_HEADER + len;
}

/* The options of Linux: timestamps, and SACK with @blocks blocks.  Return: length, bytes */
static unsigned int linux_options(u8 *o, bool timestamps, unsigned int blocks)
{
	static const u8 ts[12] = { 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2 };
	unsigned int at = 0, i;

	if (timestamps) {
		memcpy(o, ts, sizeof(ts));
		at = sizeof(ts);
	}
	if (blocks) {
		o[at++] = 1;
		o[at++] = 1;
		o[at++] = 5;
		o[at++] = 2 + 8 * blocks;
		for (i = 0; i < 8 * blocks; i++)
			o[at++] = 0x10 * (i / 8 + 1) + i % 8;
	}
	return at;
}

/* Rates are rounded down, to 1 in 2^23, from 1 kb/s to 400 Gb/s and up to the limit */
static void rates_survive(struct kunit *test)
{
	u64 rate;

	for (rate = 125; rate <= TCPCC_FB_RATE_MAX; rate += rate / 7) {
		u32 word = tcpcc_fb_encode(rate, false);
		u64 back = tcpcc_fb_decode(word);

		KUNIT_EXPECT_LE(test, back, rate);
		KUNIT_EXPECT_LE(test, rate - back, rate >> 23);
		KUNIT_EXPECT_EQ(test, word & ~TCPCC_FB_RATE_MASK, 0);
		/* normalised: an exponent above 0 needs the full mantissa */
		if (word >> 24)
			KUNIT_EXPECT_TRUE(test, word & BIT(23));
		/* a rounded rate is exact */
		KUNIT_EXPECT_EQ(test, tcpcc_fb_encode(back, false), word);
	}
}

static void words_by_number(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, tcpcc_fb_encode(0, false), 0);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_encode(0xffffff, false), 0xffffff);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_encode(0x1000000, false), 0x01800000);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_encode(0x1000001, false), 0x01800000);
	/* 155 Mb/s are 19375000 bytes/s */
	KUNIT_EXPECT_EQ(test, tcpcc_fb_encode(155 * MBPS, true),
			0x20000000 | 0x01000000 | 19375000 / 2);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_decode(0x21000000 | 19375000 / 2),
			155 * MBPS);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_encode(TCPCC_FB_RATE_NONE, false),
			0x1fffffff);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_decode(0x3fffffff), TCPCC_FB_RATE_NONE);
}

static void absurd_rates_are_clamped(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, tcpcc_fb_decode(0x1ffffffe), TCPCC_FB_RATE_MAX);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_decode(0x1effffff), TCPCC_FB_RATE_MAX);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_decode(0x1f000000), 0);
	KUNIT_EXPECT_LE(test, tcpcc_fb_decode(tcpcc_fb_encode(U64_MAX - 1, 0)),
			TCPCC_FB_RATE_MAX);
	/* a word that is not normalised is also a rate */
	KUNIT_EXPECT_EQ(test, tcpcc_fb_decode(0x1f000001), 1ULL << 31);
}

static void routers_take_the_least(struct kunit *test)
{
	u32 none = tcpcc_fb_encode(TCPCC_FB_RATE_NONE, false);
	u32 slow = tcpcc_fb_encode(10 * MBPS, false);

	KUNIT_EXPECT_EQ(test, tcpcc_fb_limit(none, 10 * MBPS, false), slow);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_limit(slow, 20 * MBPS, false), slow);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_limit(slow, 20 * MBPS, true),
			slow | TCPCC_FB_CONGESTION);
	/* the congestion bit of an earlier router stays */
	KUNIT_EXPECT_EQ(test, tcpcc_fb_limit(none | TCPCC_FB_CONGESTION,
					     10 * MBPS, false),
			slow | TCPCC_FB_CONGESTION);
	/* a word with an unknown version is not changed */
	KUNIT_EXPECT_EQ(test, tcpcc_fb_limit(0x7fffffff, 1, true), 0x7fffffff);
}

static void words_combine(struct kunit *test)
{
	const u32 minus_5 = -5 & 0x3fffffff;

	KUNIT_EXPECT_EQ(test, tcpcc_fb_combine(TCPCC_FB_ACP, 7, 3, 10), 3);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_combine(TCPCC_FB_RCP, 7, 3, 10), 3);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_combine(TCPCC_FB_XCP, 7, 3, 10), 37);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_combine(TCPCC_FB_XCP, 7, minus_5, 1), 2);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_combine(TCPCC_FB_XCP, 2, minus_5, 1),
			-3 & 0x3fffffff);
	/* words that no router has changed */
	KUNIT_EXPECT_EQ(test, tcpcc_fb_combine(TCPCC_FB_XCP, 0x1fffffff, minus_5, 1),
			0x1fffffff);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_combine(TCPCC_FB_XCP, minus_5, 0x1fffffff, 2),
			0x1fffffff);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_combine(TCPCC_FB_XCP, 0, 0x1fffffff, 2), 0x1fffffff);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_combine(TCPCC_FB_XCP, 0x1fffffff,
					       0x1fffffff, U32_MAX), 0x1fffffff);
	/* sums do not wrap */
	KUNIT_EXPECT_EQ(test, tcpcc_fb_combine(TCPCC_FB_XCP, 0x1ffffffe,
					       0x1ffffffe, U32_MAX), 0x1fffffff);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_combine(TCPCC_FB_XCP, 0x20000000,
					       0x20000000, U32_MAX), 0x20000001);
}

/* A change is 30 bits in two's complement, without the version in the bits above. */
static void changes_of_xcp(struct kunit *test)
{
	static const struct {
		s32 change;
		u32 word;
	} c[] = {
		{ 0, 0 }, { 1, 1 }, { -1, 0x3fffffff }, { 1250, 1250 }, { -5, 0x3ffffffb },
		{ 1 << 28, 0x10000000 }, { -(1 << 28), 0x30000000 },
		{ (1 << 29) - 1, TCPCC_FB_NO_LIMIT }, { -(1 << 29), 0x20000000 },
		{ 1 - (1 << 29), 0x20000001 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		KUNIT_EXPECT_EQ(test, tcpcc_fb_change(c[i].word), c[i].change);
		KUNIT_EXPECT_EQ(test, tcpcc_fb_change_word(c[i].change), c[i].word);
	}
	for (i = 0; i < 1U << 30; i += (1U << 30) / 9973)
		KUNIT_EXPECT_EQ(test, tcpcc_fb_change_word(tcpcc_fb_change(i)), i);
	/* sums; one is as large as the word that no router has changed */
	KUNIT_EXPECT_EQ(test, tcpcc_fb_combine(TCPCC_FB_XCP, tcpcc_fb_change_word(-7),
					       tcpcc_fb_change_word(5), 1),
			tcpcc_fb_change_word(-2));
	KUNIT_EXPECT_EQ(test, tcpcc_fb_combine(TCPCC_FB_XCP, 1 << 28, 1 << 28, 1),
			TCPCC_FB_NO_LIMIT);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_combine(TCPCC_FB_XCP, tcpcc_fb_change_word(-(1 << 28)),
					       tcpcc_fb_change_word(-(1 << 28)), 3),
			tcpcc_fb_change_word(1 - (1 << 29)));
	KUNIT_EXPECT_EQ(test, tcpcc_fb_combine(TCPCC_FB_XCP, TCPCC_FB_NO_LIMIT, 0, 1),
			TCPCC_FB_NO_LIMIT);
}

static u32 codepoint(u32 old, u32 word)
{
	return tcpcc_fb_combine(TCPCC_FB_ESTCP, old, word, 1);
}

/* ESTCP's codepoints are counted separately, and the word has the last one. */
static void codepoints_combine(struct kunit *test)
{
	u32 word = 0, i;

	KUNIT_EXPECT_EQ(test, codepoint(0, 0), 0x00000001);
	KUNIT_EXPECT_EQ(test, codepoint(0, 1), 0x10000080);
	KUNIT_EXPECT_EQ(test, codepoint(0, 2), 0x20004000);
	KUNIT_EXPECT_EQ(test, codepoint(0, 3), 0x30200000);
	for (i = 0; i < 100; i++)
		word = codepoint(word, i % 10 == 9 ? 3 : i % 2);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_count(word, 0), 50);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_count(word, 1), 40);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_count(word, 2), 0);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_count(word, 3), 10);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_last(word), 3);
	/* only two bits of a codepoint are used */
	word = codepoint(0, ~0U);
	KUNIT_EXPECT_EQ(test, word, 0x30200000);
}

/* If a count is full, all counts are halved: their shares stay, and so does the last codepoint. */
static void codepoints_keep_their_shares(struct kunit *test)
{
	u32 word, i;

	word = codepoint(0, 2);
	for (i = 0; i < 4000; i++) {
		word = codepoint(word, i % 4 == 0);
		KUNIT_EXPECT_EQ(test, word >> TCPCC_FB_VERSION_SHIFT, 0);
		KUNIT_EXPECT_GE(test, tcpcc_fb_count(word, 2), 1);
	}
	KUNIT_EXPECT_GE(test, tcpcc_fb_count(word, 0), 63);
	KUNIT_EXPECT_LE(test, abs((int)tcpcc_fb_count(word, 0) -
				  3 * (int)tcpcc_fb_count(word, 1)), 4);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_last(word), 0);
	/* many at once */
	word = tcpcc_fb_combine(TCPCC_FB_ESTCP, word, 3, U32_MAX);
	KUNIT_EXPECT_GE(test, tcpcc_fb_count(word, 3), 63);
	KUNIT_EXPECT_EQ(test, word >> TCPCC_FB_VERSION_SHIFT, 0);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_last(word), 3);
}

/* The bytes are as include/tcpcc_feedback.h documents them */
static void bytes_of_the_option(struct kunit *test)
{
	static const u8 data[12] = {
		253, 12, 0xac, 0x50, 0x10, 0x01, 0x38, 0x80,
		0x1f, 0xff, 0xff, 0xff,
	};
	static const u8 both[16] = {
		253, 16, 0xac, 0x50, 0x30, 0xff, 0xff, 0xff,
		0x00, 0x00, 0x00, 0x01, 0x21, 0x02, 0x03, 0x04,
	};
	static const u8 xcp[16] = {
		253, 16, 0xac, 0x50, 0x27, 0x9c, 0x4f, 0x93,
		0x3f, 0xff, 0xff, 0xfb, 0x21, 0x02, 0x03, 0x04,
	};
	static const u8 echo[8] = {
		253, 8, 0xac, 0x50, 0x21, 0x02, 0x03, 0x04,
	};
	struct tcpcc_fb_header h = {
		.has_word = true, .protocol = TCPCC_FB_ACP,
		.info = tcpcc_fb_rtt_info(80000), .word = TCPCC_FB_NO_LIMIT,
	};
	u8 opt[TCPCC_FB_LEN_BOTH];

	KUNIT_EXPECT_EQ(test, tcpcc_fb_build(opt, &h), 12);
	KUNIT_EXPECT_EQ(test, memcmp(opt, data, 12), 0);

	h.protocol = TCPCC_FB_RCP;
	h.info = tcpcc_fb_rtt_info(17 * 1000 * 1000);
	h.word = 1;
	h.has_echo = true;
	h.echo = 0x21020304;
	KUNIT_EXPECT_EQ(test, tcpcc_fb_build(opt, &h), 16);
	KUNIT_EXPECT_EQ(test, memcmp(opt, both, 16), 0);

	/* XCP: 80 ms are 625 << 7 us, 51.6 us are 403 << 7 ns; -5 bytes/s */
	h.protocol = TCPCC_FB_XCP;
	h.info = tcpcc_fb_xcp_info(80000, 51600);
	h.word = -5 & 0x3fffffff;
	KUNIT_EXPECT_EQ(test, tcpcc_fb_build(opt, &h), 16);
	KUNIT_EXPECT_EQ(test, memcmp(opt, xcp, 16), 0);
	/* a value that is too large for its field does not change other fields */
	h.protocol = 0xf2;
	h.info |= 0xf0000000;
	KUNIT_EXPECT_EQ(test, tcpcc_fb_build(opt, &h), 16);
	KUNIT_EXPECT_EQ(test, memcmp(opt, xcp, 16), 0);

	h.has_word = false;
	KUNIT_EXPECT_EQ(test, tcpcc_fb_build(opt, &h), 8);
	KUNIT_EXPECT_EQ(test, memcmp(opt, echo, 8), 0);

	h.has_echo = false;
	KUNIT_EXPECT_EQ(test, tcpcc_fb_build(opt, &h), 0);
}

/* H_rtt of ACP and RCP has 24 bits; the reader ignores the four bits above */
static void rtt_of_acp(struct kunit *test)
{
	u32 i;

	KUNIT_EXPECT_EQ(test, tcpcc_fb_rtt_info(0), 0);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_rtt_info(80000), 80000);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_rtt_info(0xfffffe), 0xfffffe);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_rtt_info(0xffffff), 0xffffff);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_rtt_info(0x1000000), 0xffffff);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_rtt_info(U32_MAX), 0xffffff);
	for (i = 0; i < 16; i++)
		KUNIT_EXPECT_EQ(test, tcpcc_fb_rtt_us(i << 24 | 80000), 80000);
}

static u32 rtt_after(u32 rtt_us)
{
	return tcpcc_fb_xcp_rtt_us(tcpcc_fb_xcp_info(rtt_us, 0));
}

static u64 gap_after(u64 gap_ns)
{
	return tcpcc_fb_xcp_gap_ns(tcpcc_fb_xcp_info(0, gap_ns));
}

/* XCP's two numbers are rounded to the nearest value, halves up */
static void numbers_of_xcp_round(struct kunit *test)
{
	static const u32 rtt[][2] = {
		{ 0, 0 }, { 1, 1 }, { 1023, 1023 }, { 1024, 1024 },
		{ 1025, 1026 }, { 2045, 2046 }, { 2046, 2046 }, { 2047, 2048 },
		{ 2049, 2048 }, { 2050, 2052 }, { 80000, 80000 },
		{ 80063, 80000 }, { 80064, 80128 }, { 33521664, 33521664 },
	};
	static const u64 gap[][2] = {
		{ 0, 0 }, { 1, 1 }, { 511, 511 }, { 512, 512 }, { 513, 514 },
		{ 1021, 1022 }, { 1023, 1024 }, { 1025, 1024 }, { 1026, 1028 },
		{ 51600, 51584 }, { 51647, 51584 }, { 51648, 51712 },
		{ 511ULL << 31, 511ULL << 31 },
	};
	u32 info;
	u64 n;
	int i;

	for (i = 0; i < ARRAY_SIZE(rtt); i++)
		KUNIT_EXPECT_EQ(test, rtt_after(rtt[i][0]), rtt[i][1]);
	for (i = 0; i < ARRAY_SIZE(gap); i++)
		KUNIT_EXPECT_EQ(test, gap_after(gap[i][0]), gap[i][1]);

	/* an error of at most 0.1 % and 0.2 % over the whole range */
	for (n = 1; n <= 33521664; n += div_u64(n, 97) + 1) {
		u64 off = rtt_after(n) > n ? rtt_after(n) - n : n - rtt_after(n);

		KUNIT_EXPECT_LE(test, off << 10, n);
	}
	for (n = 1; n <= 511ULL << 31; n += div_u64(n, 97) + 1) {
		u64 off = gap_after(n) > n ? gap_after(n) - n : n - gap_after(n);

		KUNIT_EXPECT_LE(test, off << 9, n);
	}

	/* the two fields do not overlap */
	info = tcpcc_fb_xcp_info(80000, 51600);
	KUNIT_EXPECT_EQ(test, info, (7 << 10 | 625) << 14 | 7 << 9 | 403);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_xcp_rtt_us(info), 80000);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_xcp_gap_ns(info), 51584);
}

static void numbers_of_xcp_saturate(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, tcpcc_fb_xcp_info(0, 0), 0);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_xcp_info(33521665, 0), 0x3fff << 14);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_xcp_info(33554432, 0), 0x3fff << 14);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_xcp_info(U32_MAX, 0), 0x3fff << 14);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_xcp_info(0, (511ULL << 31) + 1), 0x3fff);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_xcp_info(0, 1ULL << 40), 0x3fff);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_xcp_info(0, U64_MAX), 0x3fff);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_xcp_info(U32_MAX, U64_MAX), 0xfffffff);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_xcp_rtt_us(U32_MAX), 33521664);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_xcp_gap_ns(U32_MAX), 511ULL << 31);
}

/*
 * All exponents and mantissas can be read.  Written again, the number is the same, with the
 * smallest exponent.
 */
static void numbers_of_xcp_survive(struct kunit *test)
{
	u32 field, again;

	for (field = 0; field < 1 << 14; field++) {
		u32 rtt_us = (field & 1023) << (field >> 10);
		u64 gap_ns = (u64)(field & 511) << (field >> 9);

		KUNIT_ASSERT_EQ(test, tcpcc_fb_xcp_rtt_us(field << 14 | 0x3fff), rtt_us);
		again = tcpcc_fb_xcp_info(rtt_us, 0) >> 14;
		KUNIT_ASSERT_EQ(test, rtt_after(rtt_us), rtt_us);
		KUNIT_ASSERT_TRUE(test, again < 1024 || again & 512);
		KUNIT_ASSERT_TRUE(test, !(field & 512) || again == field);

		KUNIT_ASSERT_EQ(test, tcpcc_fb_xcp_gap_ns(0x3fff << 14 | field), gap_ns);
		again = tcpcc_fb_xcp_info(0, gap_ns);
		KUNIT_ASSERT_EQ(test, gap_after(gap_ns), gap_ns);
		KUNIT_ASSERT_TRUE(test, again < 512 || again & 256);
		KUNIT_ASSERT_TRUE(test, !(field & 256) || again == field);
	}
}

/* An inserted option is found again, with any of the kernel's own options. */
static void inserted_is_found(struct kunit *test)
{
	u8 options[40], th[60], out[60];
	unsigned int ts, blocks, form, dropped, len;
	struct tcpcc_fb_header got;
	int n;

	for (ts = 0; ts < 2; ts++)
		for (blocks = 0; blocks < 4; blocks++)
			for (form = 1; form < 4; form++) {
				struct tcpcc_fb_header h = {
					.has_word = form & 1,
					.has_echo = form & 2,
					.protocol = TCPCC_FB_ACP,
					.info = 123456, .word = 0x1234567,
					.echo = 0x27654321,
				};

				len = linux_options(options, ts, blocks);
				len = header(th, options, len);
				n = tcpcc_fb_insert(out, th, len, &h, &dropped);
				KUNIT_ASSERT_GT(test, n, 20);
				KUNIT_ASSERT_LE(test, n, 60);
				KUNIT_EXPECT_EQ(test, out[12] >> 4, n / 4);
				KUNIT_EXPECT_EQ(test, tcpcc_fb_parse(out, n,
								     &got), 1);
				KUNIT_EXPECT_EQ(test, got.offset, 20);
				KUNIT_EXPECT_EQ(test, got.has_word, h.has_word);
				KUNIT_EXPECT_EQ(test, got.has_echo, h.has_echo);
				if (got.has_word) {
					KUNIT_EXPECT_EQ(test, got.word, h.word);
					KUNIT_EXPECT_EQ(test, got.info, h.info);
					KUNIT_EXPECT_EQ(test, got.protocol, h.protocol);
				}
				if (got.has_echo)
					KUNIT_EXPECT_EQ(test, got.echo, h.echo);
			}
}

/* From an ACK with timestamps and three SACK blocks, the last block is removed. */
static void sack_gives_way(struct kunit *test)
{
	struct tcpcc_fb_header h = { .has_echo = true, .echo = 1 };
	u8 options[40], two[40], th[60], out[60];
	unsigned int len, dropped;

	len = linux_options(options, true, 3);
	len = header(th, options, len);
	KUNIT_ASSERT_EQ(test, len, 60);
	linux_options(two, true, 2);
	KUNIT_ASSERT_EQ(test, tcpcc_fb_insert(out, th, len, &h, &dropped), 60);
	KUNIT_EXPECT_EQ(test, dropped, 1);
	KUNIT_EXPECT_EQ(test, out[12] >> 4, 15);
	KUNIT_EXPECT_EQ(test, memcmp(out + 28, two, 32), 0);

	/* four blocks without timestamps: one is removed, and everything else fits */
	len = linux_options(options, false, 4);
	len = header(th, options, len);
	linux_options(two, false, 3);
	KUNIT_ASSERT_EQ(test, tcpcc_fb_insert(out, th, len, &h, &dropped), 56);
	KUNIT_EXPECT_EQ(test, dropped, 1);
	KUNIT_EXPECT_EQ(test, memcmp(out + 28, two, 28), 0);

	/* data with an echo: one block is left, and the echo stays */
	h.has_word = true;
	len = linux_options(options, true, 3);
	len = header(th, options, len);
	linux_options(two, true, 1);
	KUNIT_ASSERT_EQ(test, tcpcc_fb_insert(out, th, len, &h, &dropped), 60);
	KUNIT_EXPECT_EQ(test, dropped, 2);
	KUNIT_EXPECT_TRUE(test, h.has_echo);
	KUNIT_EXPECT_EQ(test, memcmp(out + 36, two, 24), 0);
}

/* If there is no SACK option to shorten, the echo is left out, then the whole option. */
static void no_room(struct kunit *test)
{
	struct tcpcc_fb_header h = { .has_word = true, .has_echo = true };
	u8 options[40] = { 30, 28 }, th[60], out[60];	/* MPTCP */
	unsigned int len, dropped;

	len = header(th, options, 28);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_insert(out, th, len, &h, &dropped), 60);
	KUNIT_EXPECT_FALSE(test, h.has_echo);

	h.has_echo = true;
	options[1] = 32;
	len = header(th, options, 32);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_insert(out, th, len, &h, &dropped),
			-ENOSPC);
	h.has_word = false;
	h.has_echo = true;
	KUNIT_EXPECT_EQ(test, tcpcc_fb_insert(out, th, len, &h, &dropped), 60);
}

/* A signed segment is not changed, nor is one that already has our option. */
static void not_to_be_changed(struct kunit *test)
{
	struct tcpcc_fb_header h = { .has_echo = true };
	u8 md5[20] = { 1, 1, 19, 18 }, ao[16] = { 29, 16 };
	u8 ours[8] = { 253, 8, 0xac, 0x50 };
	u8 other[8] = { 253, 8, 0xac, 0x51 };
	unsigned int dropped;
	u8 th[60], out[60];

	KUNIT_EXPECT_EQ(test, tcpcc_fb_insert(out, th, header(th, md5, 20), &h,
					      &dropped), -EPERM);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_insert(out, th, header(th, ao, 16), &h,
					      &dropped), -EPERM);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_insert(out, th, header(th, ours, 8), &h,
					      &dropped), -EEXIST);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_insert(out, th, header(th, other, 8), &h,
					      &dropped), 36);
}

static void hostile_lengths(struct kunit *test)
{
	struct tcpcc_fb_header h;
	u8 good[12] = { 253, 12, 0xac, 0x50, 0x10 };
	u8 options[40], th[60];
	unsigned int len, i;

	/* every length in the option, with every length of the header */
	for (i = 0; i < 256; i++) {
		memset(options, 1, sizeof(options));
		memcpy(options, good, sizeof(good));
		options[1] = i;
		for (len = 4; len <= 40; len += 4) {
			bool fits = i <= len;
			int want = 0;

			if (fits && i >= 4)
				want = i == 8 || i == 12 || i == 16 ? 1 :
				       -EBADMSG;
			header(th, options, len);
			KUNIT_EXPECT_EQ(test, tcpcc_fb_parse(th, 20 + len, &h),
					want);
		}
	}

	/* doff is longer than the segment, or shorter than a header */
	header(th, good, 12);
	for (len = 0; len < 32; len++)
		KUNIT_EXPECT_EQ(test, tcpcc_fb_parse(th, len, &h), 0);
	for (i = 0; i < 5; i++) {
		th[12] = i << 4;
		KUNIT_EXPECT_EQ(test, tcpcc_fb_parse(th, 60, &h), 0);
	}

	/* not found after the end of options, or after an option with a bad length */
	memset(options, 0, sizeof(options));
	memcpy(options + 4, good, 12);
	KUNIT_EXPECT_EQ(test, tcpcc_fb_parse(th, header(th, options, 16), &h), 0);
	options[0] = 8;
	KUNIT_EXPECT_EQ(test, tcpcc_fb_parse(th, header(th, options, 16), &h), 0);
	options[1] = 1;
	KUNIT_EXPECT_EQ(test, tcpcc_fb_parse(th, header(th, options, 16), &h), 0);
	/* found after another option */
	options[1] = 4;
	KUNIT_EXPECT_EQ(test, tcpcc_fb_parse(th, header(th, options, 16), &h), 1);
	KUNIT_EXPECT_EQ(test, h.offset, 24);
	/* a kind in the last byte has no length */
	memset(options, 1, sizeof(options));
	options[39] = 253;
	KUNIT_EXPECT_EQ(test, tcpcc_fb_parse(th, header(th, options, 40), &h), 0);
}

/* RFC 7323's option is found at any place; options that only begin like it are not */
static void timestamps(struct kunit *test)
{
	static const struct {
		u8 options[16];
		bool there;
	} c[] = {
		{ { 1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8 }, true },
		{ { 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0 }, true },
		{ { 253, 4, 0xac, 0x50, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8 }, true },
		{ { 0, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8 }, false },
		{ { 8, 9, 1, 2, 3, 4, 5, 6, 7, 0 }, false },
		{ { 1, 1, 1, 1, 1, 1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7 }, false },
		{ { 5, 10, 1, 2, 3, 4, 5, 6, 8, 10, 1, 2, 3, 4, 5, 6 }, false },
	};
	u8 th[TCPCC_TCP_HEADER + 16] = {};
	int i;

	th[12] = sizeof(th) / 4 << 4;
	for (i = 0; i < ARRAY_SIZE(c); i++) {
		u32 stamp = 0;

		memcpy(th + TCPCC_TCP_HEADER, c[i].options, 16);
		KUNIT_EXPECT_EQ_MSG(test, tcpcc_fb_timestamp(th, sizeof(th), &stamp),
				    c[i].there, "options %d", i);
		KUNIT_EXPECT_EQ(test, stamp, c[i].there ? 0x01020304 : 0);
		/* the header ends within the option */
		KUNIT_EXPECT_FALSE(test, tcpcc_fb_timestamp(th, sizeof(th) - 1, &stamp));
	}
}

/*
 * A connection continues for many GiB without a congestion header.  The next header counts at
 * once, at any sequence number, but not one with numbers far outside of the windows.
 */
static void expected_after_gigabytes(struct kunit *test)
{
	const u32 window = 1 << 20, flight = 1 << 19;
	u32 step;
	u64 far;

	for (step = 0; step < 1024; step++) {
		/* 1.75 GiB and 12345 bytes further each time */
		u32 at = step * 1879048192U + step * 12345;
		const struct tcpcc_fb_expected e = {
			.rcv_wup = at, .rcv_nxt = at + 1000, .rcv_wnd = window,
			.snd_una = ~at, .snd_nxt = ~at + flight,
			.snd_wnd = window,
		};

		KUNIT_ASSERT_TRUE(test, tcpcc_fb_is_expected(&e, at + 1000, at + 1100, ~at));
		/* the limits of what is expected */
		KUNIT_ASSERT_TRUE(test, tcpcc_fb_is_expected(&e, at - 100, at, ~at));
		KUNIT_ASSERT_FALSE(test, tcpcc_fb_is_expected(&e, at - 101, at - 1, ~at));
		KUNIT_ASSERT_TRUE(test, tcpcc_fb_is_expected(&e, at + window, at + window, ~at));
		KUNIT_ASSERT_FALSE(test, tcpcc_fb_is_expected(&e, at + window + 1,
							      at + window + 1, ~at));
		KUNIT_ASSERT_TRUE(test, tcpcc_fb_is_expected(&e, at, at, ~at + flight));
		KUNIT_ASSERT_FALSE(test, tcpcc_fb_is_expected(&e, at, at, ~at + flight + 1));
		KUNIT_ASSERT_TRUE(test, tcpcc_fb_is_expected(&e, at, at, ~at - window));
		KUNIT_ASSERT_FALSE(test, tcpcc_fb_is_expected(&e, at, at, ~at - window - 1));
		for (far = 1 << 21; far < (1ULL << 32) - (1 << 21); far += 1 << 26) {
			u32 there = at + (u32)far;

			KUNIT_ASSERT_FALSE(test, tcpcc_fb_is_expected(&e, there, there, ~at));
			KUNIT_ASSERT_FALSE(test, tcpcc_fb_is_expected(&e, at, at,
								      ~at + (u32)far));
		}
	}
}

/* Unknown protocols and versions are returned as they are.  The caller of the parser decides. */
static void unknown_versions(struct kunit *test)
{
	u8 opt[12] = { 253, 12, 0xac, 0x50, 0xff, 1, 2, 3, 0xff, 0, 0, 0 };
	struct tcpcc_fb_header h;
	u8 th[60];

	KUNIT_EXPECT_EQ(test, tcpcc_fb_parse(th, header(th, opt, 12), &h), 1);
	KUNIT_EXPECT_EQ(test, h.protocol, 15);
	KUNIT_EXPECT_EQ(test, h.info, 0xf010203);
	KUNIT_EXPECT_EQ(test, h.word >> TCPCC_FB_VERSION_SHIFT, 3);
}

/*
 * Random bytes, in memory that ends at the given length.  KASAN finds any access after the
 * end.
 */
static void garbage(struct kunit *test)
{
	unsigned int i, len, dropped;

	for (i = 0; i < 20000; i++) {
		struct tcpcc_fb_header h;
		u8 *th, out[60];
		int n;

		len = get_random_u32() % 61;
		th = kmalloc(len, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, th);
		get_random_bytes(th, len);
		if (len > 24 && i % 2) {
			th[12] = len / 4 << 4;
			th[20] = i % 4 == 1 ? 253 : 5;
			th[21] = get_random_u32() % 20;
			th[22] = 0xac;
			th[23] = 0x50;
		}
		n = tcpcc_fb_parse(th, len, &h);
		if (n == 1)
			KUNIT_EXPECT_LE(test, h.offset + 8, len);
		h = (struct tcpcc_fb_header){ .has_word = true,
					      .has_echo = true };
		n = tcpcc_fb_insert(out, th, len, &h, &dropped);
		KUNIT_EXPECT_LE(test, n, 60);
		KUNIT_EXPECT_NE(test, n, 0);
		if (n > 0)
			KUNIT_EXPECT_EQ(test, tcpcc_fb_parse(out, n, &h), 1);
		kfree(th);
	}
}

/* ------------------------------------------------------------------------- */
/* The transport                                                             */

/* State of a namespace for each test: on 6.1 tests run before the module has made any */
static int carriage_begin(struct kunit *test)
{
	struct feedback_net *fn = kunit_kzalloc(test, sizeof(*fn), GFP_KERNEL);

	if (!fn)
		return -ENOMEM;
	spin_lock_init(&fn->lock);
	refcount_set(&fn->users, 1);
	fn->counters = alloc_percpu(struct feedback_counters);
	if (!fn->counters)
		return -ENOMEM;
	if (rhashtable_init(&fn->table, &feedback_params)) {
		free_percpu(fn->counters);
		return -ENOMEM;
	}
	test->priv = fn;
	return 0;
}

static void carriage_end(struct kunit *test)
{
	struct feedback_net *fn = test->priv;

	if (!fn)
		return;
	rhashtable_destroy(&fn->table);
	free_percpu(fn->counters);
}

/* A socket without a connection, with a window of 10000 bytes in both directions */
static struct sock *carried(struct kunit *test)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;

	KUNIT_ASSERT_NOT_NULL(test, tp);
	write_pnet(&sk->sk_net, &init_net);
	/* if spinlocks are debugged on one processor, zero means a held lock */
	spin_lock_init(&sk->sk_lock.slock);
	sk->sk_state = TCP_ESTABLISHED;
	tp->snd_una = 1000000;
	tp->snd_nxt = 1005000;
	tp->max_window = 10000;
	tp->rcv_wup = 500000;
	tp->rcv_nxt = 500000;
	tp->rcv_wnd = 10000;
	return sk;
}

static struct tcpcc_feedback *sender(struct kunit *test, struct sock *sk, u8 protocol)
{
	struct feedback_net *fn = test->priv;
	struct tcpcc_feedback *fb = feedback_new(fn, feedback_make_cookie(sk));

	KUNIT_ASSERT_NOT_NULL(test, fb);
	fb->sender = true;
	fb->protocol = protocol;
	spin_lock_bh(&fn->lock);
	KUNIT_EXPECT_EQ(test, feedback_link(fb), 0);
	spin_unlock_bh(&fn->lock);
	return fb;
}

static void sender_goes(struct tcpcc_feedback *fb)
{
	struct feedback_net *fn = fb->fn;

	spin_lock_bh(&fn->lock);
	feedback_unlink(fb);
	spin_unlock_bh(&fn->lock);
	feedback_free(fb);
}

static struct feedback_segment segment(struct kunit *test)
{
	return (struct feedback_segment) {
		.fn = test->priv, .family = NFPROTO_IPV4,
		.offset = sizeof(struct iphdr),
	};
}

static u64 counted(struct kunit *test, enum feedback_counter what)
{
	const struct feedback_net *fn = test->priv;
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(fn->counters, cpu)->value[what];
	return sum;
}

/*
 * An echo of 7, and then one of -5 with an older ACK number.  Return: how many the sender takes;
 * @word: their result
 */
static u32 echoes_of(struct kunit *test, enum tcpcc_fb_protocol protocol, u32 *word)
{
	const struct feedback_segment s = segment(test);
	struct sock *sk = carried(test);
	struct tcpcc_feedback *fb = sender(test, sk, protocol);
	const struct tcp_sock *tp = tcp_sk(sk);
	bool class = protocol == TCPCC_FB_ESTCP;
	u32 n;

	feedback_take_echo(&s, tp, fb, tp->snd_una + 1000, 7, class);
	feedback_take_echo(&s, tp, fb, tp->snd_una - 1, -5 & 0x3fffffff, class);
	n = tcpcc_feedback_take(fb, word);
	/* each echo is taken once */
	KUNIT_EXPECT_EQ(test, tcpcc_feedback_take(fb, word), 0);
	sender_goes(fb);
	return n;
}

/* An older rate is ignored; an older change counts. */
static void older_echoes(struct kunit *test)
{
	u32 word = 0;

	KUNIT_EXPECT_EQ(test, echoes_of(test, TCPCC_FB_XCP, &word), 2);
	KUNIT_EXPECT_EQ(test, word, 2);
	KUNIT_EXPECT_EQ(test, counted(test, FB_IN_UNEXPECTED), 0);
	KUNIT_EXPECT_EQ(test, echoes_of(test, TCPCC_FB_ACP, &word), 1);
	KUNIT_EXPECT_EQ(test, word, 7);
	KUNIT_EXPECT_EQ(test, echoes_of(test, TCPCC_FB_RCP, &word), 1);
	KUNIT_EXPECT_EQ(test, word, 7);
	KUNIT_EXPECT_EQ(test, echoes_of(test, TCPCC_FB_ESTCP, &word), 1);
	KUNIT_EXPECT_EQ(test, counted(test, FB_IN_UNEXPECTED), 3);
	KUNIT_EXPECT_EQ(test, counted(test, FB_IN_ECHOES), 5);
}

/* A pure ACK with this ACK number and, unless it is 0, this timestamp */
static bool acceptable(const struct tcp_sock *tp, u32 seq, u32 ack, u32 stamp)
{
	u8 options[40], th[TCPCC_TCP_HEADER_MAX];
	unsigned int len = linux_options(options, stamp, 0);

	if (stamp)
		put_unaligned_be32(stamp, options + 4);
	len = header(th, options, len);
	put_unaligned_be32(seq, th + 4);
	put_unaligned_be32(ack, th + 8);
	return feedback_acceptable(tp, th, len, seq);
}

/* Limits of how old an ACK may be so that its echo counts, repeated or not */
static void repeated_acks_are_bounded(struct kunit *test)
{
	struct tcp_sock *tp = tcp_sk(carried(test));

	KUNIT_EXPECT_TRUE(test, acceptable(tp, 500000, 1000000, 0));
	KUNIT_EXPECT_TRUE(test, acceptable(tp, 500000, 990000, 0));
	KUNIT_EXPECT_FALSE(test, acceptable(tp, 500000, 989999, 0));
	KUNIT_EXPECT_FALSE(test, acceptable(tp, 499999, 1000000, 0));
	tp->rx_opt.tstamp_ok = 1;
	tp->rx_opt.ts_recent = 7000;
	KUNIT_EXPECT_TRUE(test, acceptable(tp, 500000, 990000, 7000));
	KUNIT_EXPECT_TRUE(test, acceptable(tp, 500000, 990000, 6999));
	KUNIT_EXPECT_FALSE(test, acceptable(tp, 500000, 990000, 6998));
	KUNIT_EXPECT_FALSE(test, acceptable(tp, 500000, 990000, 0));
}

/* For any number of repeated ACKs the sum stays in the range of a word. */
static void repeated_sums_are_clamped(struct kunit *test)
{
	const struct feedback_segment s = segment(test);
	struct sock *sk = carried(test);
	struct tcpcc_feedback *fb = sender(test, sk, TCPCC_FB_XCP);
	u32 word, i;

	for (i = 0; i < 1000; i++)
		feedback_take_echo(&s, tcp_sk(sk), fb, 999000, 1000000, false);
	KUNIT_EXPECT_EQ(test, tcpcc_feedback_take(fb, &word), 1000);
	KUNIT_EXPECT_EQ(test, word, TCPCC_FB_NO_LIMIT);
	for (i = 0; i < 1000; i++)
		feedback_take_echo(&s, tcp_sk(sk), fb, 999000,
				   -1000000 & 0x3fffffff, false);
	KUNIT_EXPECT_EQ(test, tcpcc_feedback_take(fb, &word), 1000);
	KUNIT_EXPECT_EQ(test, word, -0x1fffffff & 0x3fffffff);
	sender_goes(fb);
}

/* A word arrives in @n segments that GRO has merged. */
static void words_arrive(struct kunit *test, struct sock *sk, struct tcpcc_feedback *fb,
			 u8 protocol, u32 word, u32 n)
{
	const struct feedback_segment s = segment(test);
	const struct tcpcc_fb_header h = {
		.has_word = true, .protocol = protocol, .word = word & 0x3fffffff,
	};

	feedback_take_word(&s, sk, n, fb, &h);
}

/* The result if a word is taken out to be sent, finds no room, and a newer word has arrived */
static u32 put_back(struct kunit *test, u8 protocol, u32 word, u32 newer)
{
	const struct feedback_segment s = segment(test);
	struct sock *sk = carried(test);
	struct tcpcc_feedback *fb = sender(test, sk, TCPCC_FB_ACP);
	u64 pending;

	words_arrive(test, sk, fb, protocol, word, 1);
	pending = atomic64_xchg(&fb->pending, 0);
	KUNIT_EXPECT_EQ(test, pending, BIT_ULL(32) | (word & 0x3fffffff));
	if (newer)
		words_arrive(test, sk, fb, protocol, newer, 1);
	feedback_put_back(&s, fb, pending);
	pending = atomic64_read(&fb->pending);
	KUNIT_EXPECT_EQ(test, pending >> 32, 1);
	sender_goes(fb);
	return pending;
}

static void echoes_are_put_back(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, put_back(test, TCPCC_FB_XCP, 7, 0), 7);
	KUNIT_EXPECT_EQ(test, put_back(test, TCPCC_FB_XCP, 7, -5), 2);
	KUNIT_EXPECT_EQ(test, put_back(test, TCPCC_FB_XCP, -7, 5), -2 & 0x3fffffff);
	KUNIT_EXPECT_EQ(test, put_back(test, TCPCC_FB_ACP, 7, 0), 7);
	KUNIT_EXPECT_EQ(test, put_back(test, TCPCC_FB_ACP, 7, 9), 9);
	KUNIT_EXPECT_EQ(test, put_back(test, TCPCC_FB_RCP, 7, 9), 9);
	KUNIT_EXPECT_EQ(test, counted(test, FB_OUT_ECHO_DELAYED), 6);
}

/* Sends an ACK whose options have room for @room more bytes. */
static void ack_leaves(struct kunit *test, struct sock *sk, unsigned int room)
{
	const struct feedback_segment s = segment(test);
	unsigned int len = TCPCC_TCP_HEADER_MAX - room;
	u8 options[40] = { 30, 40 - room };	/* MPTCP */
	struct sk_buff *skb = alloc_skb(128, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, 32);
	skb_reset_network_header(skb);
	skb_put_zero(skb, sizeof(struct iphdr) + len);
	skb_set_transport_header(skb, sizeof(struct iphdr));
	header(skb_transport_header(skb), options, 40 - room);
	skb->ip_summed = CHECKSUM_PARTIAL;
	/* hooks are called under this lock */
	rcu_read_lock();
	feedback_out(&s, sk, skb, feedback_find(s.fn, feedback_cookie(sk)));
	rcu_read_unlock();
	kfree_skb(skb);
}

/* A change waits for an ACK with enough room: the sum of all changes that have arrived. */
static void no_room_for_a_sum(struct kunit *test)
{
	struct sock *sk = carried(test);
	struct tcpcc_feedback *fb = sender(test, sk, TCPCC_FB_XCP);
	int i;

	for (i = 1; i <= 10; i++) {
		words_arrive(test, sk, fb, TCPCC_FB_XCP, -100 * i, 3);
		words_arrive(test, sk, fb, TCPCC_FB_XCP, 50, 1);
		ack_leaves(test, sk, i % 2 * 4);
	}
	KUNIT_EXPECT_EQ(test, atomic64_read(&fb->pending),
			BIT_ULL(32) | (-16000 & 0x3fffffff));
	KUNIT_EXPECT_EQ(test, counted(test, FB_OUT_NO_ROOM), 10);
	KUNIT_EXPECT_EQ(test, counted(test, FB_OUT_ECHO_DELAYED), 10);
	sender_goes(fb);
}

static struct kunit_case feedback_cases[] = {
	KUNIT_CASE(rates_survive),
	KUNIT_CASE(words_by_number),
	KUNIT_CASE(absurd_rates_are_clamped),
	KUNIT_CASE(routers_take_the_least),
	KUNIT_CASE(words_combine),
	KUNIT_CASE(changes_of_xcp),
	KUNIT_CASE(codepoints_combine),
	KUNIT_CASE(codepoints_keep_their_shares),
	KUNIT_CASE(bytes_of_the_option),
	KUNIT_CASE(rtt_of_acp),
	KUNIT_CASE(numbers_of_xcp_round),
	KUNIT_CASE(numbers_of_xcp_saturate),
	KUNIT_CASE(numbers_of_xcp_survive),
	KUNIT_CASE(inserted_is_found),
	KUNIT_CASE(sack_gives_way),
	KUNIT_CASE(no_room),
	KUNIT_CASE(not_to_be_changed),
	KUNIT_CASE(hostile_lengths),
	KUNIT_CASE(timestamps),
	KUNIT_CASE(expected_after_gigabytes),
	KUNIT_CASE(unknown_versions),
	KUNIT_CASE(garbage),
	KUNIT_CASE(older_echoes),
	KUNIT_CASE(repeated_acks_are_bounded),
	KUNIT_CASE(repeated_sums_are_clamped),
	KUNIT_CASE(echoes_are_put_back),
	KUNIT_CASE(no_room_for_a_sum),
	{}
};

static struct kunit_suite feedback_suite = {
	.name = "tcp_feedback",
	.init = carriage_begin,
	.exit = carriage_end,
	.test_cases = feedback_cases,
};

kunit_test_suite(feedback_suite);
