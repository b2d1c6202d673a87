/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The congestion header of explicit feedback: its format on the wire, functions that
 * read and write it, and the interface of tcp_feedback.ko, which carries it for a
 * sender's congestion control.
 *
 * The header is a TCP option, in the form of RFC 6994 for experiments: kind 253
 * and a 16-bit experiment identifier (ExID).  Numbers are in network byte order.
 *
 * On segments with data, 12 bytes:
 *
 *    0               1               2               3
 *   +---------------+---------------+---------------+---------------+
 *   |   kind 253    |   length 12   |          ExID 0xAC50          |
 *   +-------+-------+---------------+---------------+---------------+
 *   | proto |                          info                         |
 *   +-------+-------+---------------+---------------+---------------+
 *   |                             word                              |
 *   +---------------------------------------------------------------+
 *
 * On segments with data of a host that also returns an echo, 16 bytes: the same
 * with length 16, followed by
 *
 *   +---------------------------------------------------------------+
 *   |                             echo                              |
 *   +---------------------------------------------------------------+
 *
 * On segments without data, and on all segments of a receiver that does not itself use
 * ACP, XCP or RCP, 8 bytes: kind 253, length 8, ExID, echo.
 *
 *   byte  0     kind, 253
 *   byte  1     length, 8, 12 or 16
 *   bytes 2-3   ExID, 0xAC50
 *   bytes 4-7   bits 31-28: protocol: 1 ACP, 2 XCP, 3 RCP
 *               bits 27-0: info: values that the sender reports to routers
 *   bytes 8-11  word: the field that routers change
 *   then        echo: the word of the last segment that the receiver got; with XCP:
 *               the sum of the words that it got since its last echo
 *
 * The info of ACP and RCP:
 *
 *   bits 27-24  reserved; sent as zero, ignored when received
 *   bits 23-0   H_rtt: the sender's rtt estimate, microseconds; 0: none yet; 0xffffff:
 *               16.8 s or more
 *
 * The info of XCP has two numbers, each with an exponent e and a mantissa m:
 *
 *   bits 27-24  e, bits 23-14  m: rtt, m << e microseconds; the largest: 33.5 s or more
 *   bits 13-9   e, bits 8-0    m: gap, m << e nanoseconds, the rtt divided by the window
 *               in packets; the largest: 1097 s or more
 *
 * In both, 0 means that there is none yet.  The writer rounds to the nearest value and uses
 * the smallest exponent that fits.  The reader accepts any exponent.
 *
 * A word of ACP and RCP is a rate:
 *
 *   bits 31-30  version, 0; a word of another version is not changed
 *   bit  29     H_congestion: the input of a router on the path is above 95 % of its link
 *   bits 28-24  exponent e
 *   bits 23-0   mantissa m
 *
 * The rate is m << e bytes/s.  If bits 28-0 are all set, no limit has been set yet.  The
 * writer rounds a rate down and uses the smallest exponent that fits.  The reader accepts
 * any exponent, and takes a rate above 100 GB/s as 100 GB/s.
 *
 * The lower 30 bits of an XCP word are a number in two's complement, bytes/s: a change of
 * the rate.  Changes add up.
 *
 * A router may change the word and nothing else.  It corrects the TCP checksum by the
 * difference.  Only hosts write protocol, info and echo.
 *
 * A host writes the option as the first one of the segment.  So the other host has to check
 * only one byte to see that a segment has no such option.  A router should check all options.
 *
 * ESTCP has no option: its routers write two bits in the IP header, a codepoint (see
 * include/tcpcc_estcp.h).  The codepoints that came back are counted in a word that is never
 * sent:
 *
 *   bits 31-30  0
 *   bits 29-28  the codepoint that came last
 *   bits 27-21  ACKs that brought 11, bits 20-14: 10, bits 13-7: 01, bits 6-0: 00
 *
 * If a count would exceed 127, all four counts are halved first, and rounded up.  So their
 * shares are kept, and a count above 0 stays above 0.
 */
#ifndef _TCPCC_FEEDBACK_H
#define _TCPCC_FEEDBACK_H

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include "tcpcc_compat.h"

struct sock;

#define TCPCC_FB_KIND		253
#define TCPCC_FB_EXID		0xAC50

#define TCPCC_FB_LEN_ECHO	8
#define TCPCC_FB_LEN_DATA	12
#define TCPCC_FB_LEN_BOTH	16

/* Offsets within the option */
#define TCPCC_FB_INFO		4	/* after the protocol */
#define TCPCC_FB_WORD		8
#define TCPCC_FB_ECHO		12	/* 4 if there is no word */

#define TCPCC_FB_PROTOCOL_SHIFT	28
#define TCPCC_FB_INFO_MASK	0xfffffffU

/* Info of ACP and RCP */
#define TCPCC_FB_RTT_MAX	0xffffffU

/* Info of XCP: bits of each number, and of its mantissa */
#define TCPCC_FB_XCP_BITS	14
#define TCPCC_FB_XCP_RTT_BITS	10
#define TCPCC_FB_XCP_GAP_BITS	9

#define TCPCC_FB_VERSION_SHIFT	30
#define TCPCC_FB_CONGESTION	BIT(29)
#define TCPCC_FB_RATE_MASK	0x1fffffffU
#define TCPCC_FB_NO_LIMIT	TCPCC_FB_RATE_MASK

/* Bytes/s: no limit, and the most that a limit can be */
#define TCPCC_FB_RATE_NONE	(~0ULL)
#define TCPCC_FB_RATE_MAX	100000000000ULL

/* The word of ESTCP, which counts codepoints */
#define TCPCC_FB_COUNT_BITS	7
#define TCPCC_FB_COUNT_MAX	127U
#define TCPCC_FB_LAST_SHIFT	28

#define TCPCC_TCP_HEADER	20	/* without options */
#define TCPCC_TCP_HEADER_MAX	60

enum tcpcc_fb_protocol {
	TCPCC_FB_ACP = 1,
	TCPCC_FB_XCP = 2,
	TCPCC_FB_RCP = 3,
	TCPCC_FB_ESTCP = 4,	/* never in an option */
};

/**
 * struct tcpcc_fb_header - a congestion header, unpacked
 * @offset: where in the TCP header the option was found, bytes
 * @has_word: @protocol, @info and @word are valid
 * @has_echo: @echo is valid
 * @protocol: enum tcpcc_fb_protocol; of a received header, any value of 4 bits
 * @info: 28 bits; for ACP and RCP see tcpcc_fb_rtt_us(), for XCP tcpcc_fb_xcp_rtt_us() and
 *	tcpcc_fb_xcp_gap_ns()
 * @word: the word on the way to the receiver
 * @echo: the word on the way back to the sender
 */
struct tcpcc_fb_header {
	u8 offset;
	bool has_word;
	bool has_echo;
	u8 protocol;
	u32 info;
	u32 word;
	u32 echo;
};

/* ------------------------------------------------------------------------- */
/* Info                                                                      */

/**
 * tcpcc_fb_rtt_info() - an rtt as the info of ACP and RCP
 * @rtt_us: us; 0: none yet
 *
 * Return: the info: @rtt_us, at most TCPCC_FB_RTT_MAX
 */
static inline u32 tcpcc_fb_rtt_info(u32 rtt_us)
{
	return min(rtt_us, TCPCC_FB_RTT_MAX);
}

/**
 * tcpcc_fb_rtt_us() - H_rtt in an info of ACP or RCP
 * @info: as received; its four highest bits are reserved and ignored
 *
 * Return: us, at most TCPCC_FB_RTT_MAX; 0: none yet
 */
static inline u32 tcpcc_fb_rtt_us(u32 info)
{
	return info & TCPCC_FB_RTT_MAX;
}

/* The largest exponent of an XCP number whose mantissa has @bits bits */
static inline u32 tcpcc_fb_xcp_most(u32 bits)
{
	return (1 << (TCPCC_FB_XCP_BITS - bits)) - 1;
}

/* Rounds @value to an exponent and a mantissa of @bits bits; half is rounded up */
static inline u32 tcpcc_fb_xcp_pack(u64 value, u32 bits)
{
	u32 e, m;

	value = min(value, (BIT_ULL(bits) - 1) << tcpcc_fb_xcp_most(bits));
	e = max_t(u32, fls64(value), bits) - bits;
	m = (value + (BIT_ULL(e) >> 1)) >> e;
	if (m >> bits) {
		/* rounded up to the next power of two */
		m >>= 1;
		e++;
	}
	return e << bits | m;
}

/* The inverse of tcpcc_fb_xcp_pack(); reads the lowest TCPCC_FB_XCP_BITS of @field */
static inline u64 tcpcc_fb_xcp_unpack(u32 field, u32 bits)
{
	return (field & (BIT_ULL(bits) - 1)) <<
	       (field >> bits & tcpcc_fb_xcp_most(bits));
}

/**
 * tcpcc_fb_xcp_info() - an rtt and a gap as the info of XCP
 * @rtt_us: us; 0: none yet
 * @gap_ns: time between two packets of a window that is spread over a round trip, ns;
 *	0: none yet
 *
 * Both are rounded to the nearest number that can be written.  The error of @rtt_us, up to
 * 33521664, is at most 0.1 %, and that of @gap_ns, up to 511 << 31, at most 0.2 %.  A larger
 * number becomes this limit.  A number above 0 does not become 0.
 *
 * Return: the info
 */
static inline u32 tcpcc_fb_xcp_info(u32 rtt_us, u64 gap_ns)
{
	return tcpcc_fb_xcp_pack(rtt_us, TCPCC_FB_XCP_RTT_BITS) << TCPCC_FB_XCP_BITS |
	       tcpcc_fb_xcp_pack(gap_ns, TCPCC_FB_XCP_GAP_BITS);
}

/**
 * tcpcc_fb_xcp_rtt_us() - the rtt in an info of XCP
 * @info: as received
 *
 * Return: us, at most 33521664; 0: none yet
 */
static inline u32 tcpcc_fb_xcp_rtt_us(u32 info)
{
	return tcpcc_fb_xcp_unpack(info >> TCPCC_FB_XCP_BITS, TCPCC_FB_XCP_RTT_BITS);
}

/**
 * tcpcc_fb_xcp_gap_ns() - the gap in an info of XCP
 * @info: as received
 *
 * Return: ns, at most 511 << 31, which is 1097 s; 0: none yet
 */
static inline u64 tcpcc_fb_xcp_gap_ns(u32 info)
{
	return tcpcc_fb_xcp_unpack(info, TCPCC_FB_XCP_GAP_BITS);
}

/* ------------------------------------------------------------------------- */
/* Words                                                                     */

/**
 * tcpcc_fb_encode() - a rate as a word
 * @rate: bytes/s; TCPCC_FB_RATE_NONE: no limit
 * @congested: value of H_congestion
 *
 * Return: the word; its rate is rounded down, and at most TCPCC_FB_RATE_MAX
 */
static inline u32 tcpcc_fb_encode(u64 rate, bool congested)
{
	u32 word = congested ? TCPCC_FB_CONGESTION : 0;
	u32 e;

	if (rate == TCPCC_FB_RATE_NONE)
		return word | TCPCC_FB_NO_LIMIT;
	rate = min_t(u64, rate, TCPCC_FB_RATE_MAX);
	e = max(fls64(rate), 24) - 24;
	return word | e << 24 | (u32)(rate >> e);
}

/**
 * tcpcc_fb_decode() - the rate in a word
 * @word: of version 0
 *
 * Return: bytes/s, at most TCPCC_FB_RATE_MAX; TCPCC_FB_RATE_NONE: no limit
 */
static inline u64 tcpcc_fb_decode(u32 word)
{
	u32 rate = word & TCPCC_FB_RATE_MASK;

	if (rate == TCPCC_FB_NO_LIMIT)
		return TCPCC_FB_RATE_NONE;
	/* below 2^24 * 2^31 */
	return min_t(u64, (u64)(rate & 0xffffff) << (rate >> 24),
		     TCPCC_FB_RATE_MAX);
}

/**
 * tcpcc_fb_limit() - limit the rate in a word, as a router does
 * @word: as received
 * @rate: the highest rate that this link allows, bytes/s
 * @congested: H_congestion of this link
 *
 * Return: the word to send on; @word itself if its version is unknown
 */
static inline u32 tcpcc_fb_limit(u32 word, u64 rate, bool congested)
{
	if (word >> TCPCC_FB_VERSION_SHIFT)
		return word;
	if (rate < tcpcc_fb_decode(word))
		word = tcpcc_fb_encode(rate, word & TCPCC_FB_CONGESTION);
	return congested ? word | TCPCC_FB_CONGESTION : word;
}

/**
 * tcpcc_fb_change() - the change of a rate in a word of XCP
 * @word: of version 0
 *
 * Return: bytes/s, -2^29 to 2^29 - 1; 2^29 - 1 is TCPCC_FB_NO_LIMIT: no router has lowered it
 */
static inline s32 tcpcc_fb_change(u32 word)
{
	return (s32)(word << 2) >> 2;
}

/**
 * tcpcc_fb_change_word() - the change of a rate as a word of XCP
 * @change: bytes/s, in the range of 30 bits in two's complement
 *
 * Return: the word
 */
static inline u32 tcpcc_fb_change_word(s32 change)
{
	return change & ~(3U << TCPCC_FB_VERSION_SHIFT);
}

/**
 * tcpcc_fb_count() - how often a codepoint was received
 * @word: of TCPCC_FB_ESTCP
 * @codepoint: 0 to 3
 *
 * Return: ACKs, at most TCPCC_FB_COUNT_MAX
 */
static inline u32 tcpcc_fb_count(u32 word, u8 codepoint)
{
	return word >> (codepoint * TCPCC_FB_COUNT_BITS) & TCPCC_FB_COUNT_MAX;
}

/**
 * tcpcc_fb_last() - the codepoint that was received last
 * @word: of TCPCC_FB_ESTCP
 *
 * Return: 0 to 3
 */
static inline u8 tcpcc_fb_last(u32 word)
{
	return word >> TCPCC_FB_LAST_SHIFT & 3;
}

/**
 * tcpcc_fb_tally() - count one more codepoint
 * @old: the word so far; 0: none
 * @codepoint: the received one; all but its two lowest bits are ignored
 * @n: how often, at least 1; more than 63 count as 63
 *
 * Return: the new word
 */
static inline u32 tcpcc_fb_tally(u32 old, u32 codepoint, u32 n)
{
	u32 word = 0;
	bool halve;
	u32 i;

	codepoint &= 3;
	n = min(n, TCPCC_FB_COUNT_MAX / 2);
	halve = tcpcc_fb_count(old, codepoint) + n > TCPCC_FB_COUNT_MAX;
	for (i = 0; i < 4; i++) {
		u32 count = tcpcc_fb_count(old, i);

		if (halve)
			count = (count + 1) / 2;
		if (i == codepoint)
			count = min(count + n, TCPCC_FB_COUNT_MAX);
		word |= count << (i * TCPCC_FB_COUNT_BITS);
	}
	return word | codepoint << TCPCC_FB_LAST_SHIFT;
}

/**
 * tcpcc_fb_adds_up() - whether words are differences
 * @protocol: enum tcpcc_fb_protocol
 *
 * Return: true: words are differences, so each counts, even one that comes late; false: the
 * newest word replaces all older ones
 */
static inline bool tcpcc_fb_adds_up(u8 protocol)
{
	return protocol == TCPCC_FB_XCP;
}

/**
 * tcpcc_fb_combine() - combine two successive words into one
 * @protocol: enum tcpcc_fb_protocol
 * @old: the word so far; 0: none
 * @word: the next word; of TCPCC_FB_ESTCP: the next codepoint
 * @segs: segments that carried @word
 *
 * A newer rate replaces an older one.  Differences (XCP) add up.  If no router has changed
 * one of them, or if their sum is too large for a word, the result is TCPCC_FB_NO_LIMIT,
 * which the sender does not take as a grant.  Codepoints are counted.
 *
 * Return: the combined word
 */
static inline u32 tcpcc_fb_combine(u8 protocol, u32 old, u32 word, u32 segs)
{
	const s64 most = (1 << 29) - 1;
	s64 sum;

	if (protocol == TCPCC_FB_ESTCP)
		return tcpcc_fb_tally(old, word, segs);
	if (!tcpcc_fb_adds_up(protocol))
		return word;
	if (old == TCPCC_FB_NO_LIMIT || word == TCPCC_FB_NO_LIMIT)
		return TCPCC_FB_NO_LIMIT;
	sum = tcpcc_fb_change(old) + (s64)tcpcc_fb_change(word) * segs;
	return tcpcc_fb_change_word(clamp_t(s64, sum, -most, most));
}

/* ------------------------------------------------------------------------- */
/* Options, in plain memory                                                  */

/**
 * tcpcc_fb_header_len() - length of a TCP header with its options
 * @th: its first byte
 * @len: bytes that may be read from @th on
 *
 * Return: bytes, 20 to 60, at most @len; 0: the length in the header is invalid
 */
static inline unsigned int tcpcc_fb_header_len(const u8 *th, unsigned int len)
{
	unsigned int doff;

	if (len < TCPCC_TCP_HEADER)
		return 0;
	doff = (th[12] >> 4) * 4;
	return doff < TCPCC_TCP_HEADER || doff > len ? 0 : doff;
}

/**
 * tcpcc_fb_option() - length of one option
 * @th: the TCP header
 * @at: offset of the option's first byte, bytes
 * @end: length of the TCP header, bytes, more than @at
 *
 * Return: bytes, at least 1, at most @end - @at; 0: no more options, or an invalid one
 */
static inline unsigned int tcpcc_fb_option(const u8 *th, unsigned int at,
					   unsigned int end)
{
	if (th[at] == 0)
		return 0;
	if (th[at] == 1)
		return 1;
	if (at + 1 >= end || th[at + 1] < 2 || th[at + 1] > end - at)
		return 0;
	return th[at + 1];
}

/* Whether the option at @at, of @n bytes, has our ExID */
static inline bool tcpcc_fb_is_ours(const u8 *th, unsigned int at,
				    unsigned int n)
{
	return th[at] == TCPCC_FB_KIND && n >= 4 &&
	       get_unaligned_be16(th + at + 2) == TCPCC_FB_EXID;
}

/**
 * tcpcc_fb_timestamp() - the timestamp of a segment (RFC 7323)
 * @th: TCP header
 * @len: bytes that may be read from @th on
 * @stamp: set to TSval, if there is one
 *
 * Return: whether there is one
 */
static inline bool tcpcc_fb_timestamp(const u8 *th, unsigned int len, u32 *stamp)
{
	unsigned int end = tcpcc_fb_header_len(th, len);
	unsigned int at, n;

	for (at = TCPCC_TCP_HEADER; at < end; at += n) {
		n = tcpcc_fb_option(th, at, end);
		if (!n)
			return false;
		if (th[at] == 8 && n == 10) {
			*stamp = get_unaligned_be32(th + at + 2);
			return true;
		}
	}
	return false;
}

/**
 * tcpcc_fb_parse() - find and unpack the congestion header of a segment
 * @th: TCP header
 * @len: bytes that may be read from @th on
 * @h: set to the fields, if the header is found
 *
 * Nothing beyond @len is read, even if the header claims to be longer.  The fields are not
 * checked: protocol and version may be unknown.
 *
 * Return: 1: found; 0: there is none; -EBADMSG: there is one with an invalid length
 */
static inline int tcpcc_fb_parse(const u8 *th, unsigned int len,
				 struct tcpcc_fb_header *h)
{
	unsigned int end = tcpcc_fb_header_len(th, len);
	unsigned int at, n;

	for (at = TCPCC_TCP_HEADER; at < end; at += n) {
		n = tcpcc_fb_option(th, at, end);
		if (!n)
			return 0;
		if (!tcpcc_fb_is_ours(th, at, n))
			continue;
		if (n != TCPCC_FB_LEN_ECHO && n != TCPCC_FB_LEN_DATA &&
		    n != TCPCC_FB_LEN_BOTH)
			return -EBADMSG;
		memset(h, 0, sizeof(*h));
		h->offset = at;
		h->has_word = n != TCPCC_FB_LEN_ECHO;
		h->has_echo = n != TCPCC_FB_LEN_DATA;
		if (h->has_word) {
			h->info = get_unaligned_be32(th + at + TCPCC_FB_INFO);
			h->protocol = h->info >> TCPCC_FB_PROTOCOL_SHIFT;
			h->info &= TCPCC_FB_INFO_MASK;
			h->word = get_unaligned_be32(th + at + TCPCC_FB_WORD);
		}
		if (h->has_echo)
			h->echo = get_unaligned_be32(th + at + n - 4);
		return 1;
	}
	return 0;
}

/**
 * struct tcpcc_fb_expected - state of a connection that limits which segments are valid
 * @rcv_wup: the smallest sequence number at which a valid segment may end
 * @rcv_nxt: the next sequence number to receive
 * @rcv_wnd: receive window, bytes from @rcv_wup on
 * @snd_una: the first sequence number that is not acknowledged
 * @snd_nxt: the next sequence number to send
 * @snd_wnd: the largest window that the other end has offered, bytes, below 2^30
 */
struct tcpcc_fb_expected {
	u32 rcv_wup;
	u32 rcv_nxt;
	u32 rcv_wnd;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_wnd;
};

/**
 * tcpcc_fb_is_expected() - whether sequence number and ACK are valid for a connection
 * @e: its current state.  A copy from the last header would be wrong after 2 GiB of segments
 *     without one, because sequence numbers wrap
 * @seq: sequence number of the segment's first byte
 * @end: sequence number after its last byte
 * @ack: its ACK
 *
 * By RFC 9293 section 3.10.7.4 and RFC 5961 section 5.2.
 *
 * Return: true: TCP will accept the segment, unless it rejects the timestamp
 */
static inline bool tcpcc_fb_is_expected(const struct tcpcc_fb_expected *e,
					u32 seq, u32 end, u32 ack)
{
	s32 window = e->rcv_wup + e->rcv_wnd - e->rcv_nxt;

	return (s32)(end - e->rcv_wup) >= 0 &&
	       (s32)(e->rcv_nxt + max(window, 0) - seq) >= 0 &&
	       (s32)(ack - (e->snd_una - e->snd_wnd)) >= 0 &&
	       (s32)(e->snd_nxt - ack) >= 0;
}

/**
 * tcpcc_fb_build() - write the option
 * @opt: buffer of TCPCC_FB_LEN_BOTH bytes
 * @h: the fields to write; offset is not used, and bits of protocol and info that do not fit
 *	are cut off
 *
 * Return: length of the option, bytes; 0: @h has neither word nor echo
 */
static inline unsigned int tcpcc_fb_build(u8 *opt,
					  const struct tcpcc_fb_header *h)
{
	unsigned int len = 4;

	if (h->has_word) {
		put_unaligned_be32((u32)h->protocol << TCPCC_FB_PROTOCOL_SHIFT |
				   (h->info & TCPCC_FB_INFO_MASK),
				   opt + TCPCC_FB_INFO);
		put_unaligned_be32(h->word, opt + TCPCC_FB_WORD);
		len = TCPCC_FB_LEN_DATA;
	}
	if (h->has_echo) {
		put_unaligned_be32(h->echo, opt + len);
		len += 4;
	}
	if (len == 4)
		return 0;
	opt[0] = TCPCC_FB_KIND;
	opt[1] = len;
	put_unaligned_be16(TCPCC_FB_EXID, opt + 2);
	return len;
}

/**
 * tcpcc_fb_insert() - copy a TCP header, with the congestion header as its first option
 * @out: buffer for the copy, TCPCC_TCP_HEADER_MAX bytes; must not overlap @th
 * @th: the TCP header
 * @len: bytes that may be read from @th on
 * @h: the congestion header; has_echo is cleared if there is no room for the echo
 * @dropped: set to the number of SACK blocks that were left out
 *
 * If the options need more than 40 bytes, SACK blocks are left out, the last one first: it
 * has been reported before, and a receiver may report fewer blocks (RFC 2018).  One block
 * stays.  If that is not enough, a segment with a word goes without its echo: the next
 * segment can carry the echo.  A signed header (MD5, TCP-AO) is not changed.
 *
 * Return: length of the new header, bytes; -ENOSPC: there is no room; -EINVAL: @th is not
 * valid, or @h is empty; -EPERM: @th is signed; -EEXIST: @th has a congestion header
 */
static inline int tcpcc_fb_insert(u8 *out, const u8 *th, unsigned int len,
				  struct tcpcc_fb_header *h,
				  unsigned int *dropped)
{
	unsigned int end = tcpcc_fb_header_len(th, len);
	unsigned int at, n, sack = 0, blocks = 0, cut = 0, need;
	u8 opt[TCPCC_FB_LEN_BOTH];

	*dropped = 0;
	if (!end)
		return -EINVAL;
	for (at = TCPCC_TCP_HEADER; at < end; at += n) {
		n = tcpcc_fb_option(th, at, end);
		if (!n)
			break;
		if (th[at] == 19 || th[at] == 29)
			return -EPERM;
		if (tcpcc_fb_is_ours(th, at, n))
			return -EEXIST;
		if (th[at] == 5 && n % 8 == 2) {
			sack = at;
			blocks = n / 8;
		}
	}

	need = tcpcc_fb_build(opt, h);
	if (!need)
		return -EINVAL;
	if (end + need > TCPCC_TCP_HEADER_MAX) {
		/* whole blocks; one is kept */
		cut = (end + need - TCPCC_TCP_HEADER_MAX + 7) / 8;
		cut = min(cut, blocks ? blocks - 1 : 0);
		if (end + need - 8 * cut > TCPCC_TCP_HEADER_MAX &&
		    h->has_word && h->has_echo) {
			h->has_echo = false;
			need = tcpcc_fb_build(opt, h);
		}
		if (end + need - 8 * cut > TCPCC_TCP_HEADER_MAX)
			return -ENOSPC;
	}

	memcpy(out, th, TCPCC_TCP_HEADER);
	memcpy(out + TCPCC_TCP_HEADER, opt, need);
	if (cut) {
		unsigned int kept = sack + 2 + 8 * (blocks - cut);
		unsigned int rest = sack + th[sack + 1];

		memcpy(out + TCPCC_TCP_HEADER + need, th + TCPCC_TCP_HEADER,
		       kept - TCPCC_TCP_HEADER);
		memcpy(out + kept + need, th + rest, end - rest);
		out[sack + need + 1] = 2 + 8 * (blocks - cut);
		end = kept + end - rest;
	} else {
		memcpy(out + TCPCC_TCP_HEADER + need, th + TCPCC_TCP_HEADER,
		       end - TCPCC_TCP_HEADER);
	}
	*dropped = cut;
	end += need;
	out[12] = (end / 4) << 4 | (th[12] & 0xf);
	return end;
}

/* ------------------------------------------------------------------------- */
/* The interface of tcp_feedback.ko                                          */

struct tcpcc_feedback;

struct tcpcc_feedback *tcpcc_feedback_attach(struct sock *sk,
					     enum tcpcc_fb_protocol protocol);
void tcpcc_feedback_detach(struct sock *sk, struct tcpcc_feedback *fb);
void tcpcc_feedback_request(struct sock *sk, struct tcpcc_feedback *fb,
			    u32 info, u32 word);
u32 tcpcc_feedback_take(struct tcpcc_feedback *fb, u32 *word);

#endif /* _TCPCC_FEEDBACK_H */
