/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The congestion header of explicit feedback: what it looks like on the wire,
 * functions that read and write it, and the interface of tcp_feedback.ko, which
 * carries it for a sender's congestion control.
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
 * On segments with data of a host that is a receiver too, 16 bytes: the same
 * with length 16, and after it
 *
 *   +---------------------------------------------------------------+
 *   |                             echo                              |
 *   +---------------------------------------------------------------+
 *
 * On segments without data, and on those of a receiver that is no sender of this
 * kind, 8 bytes: kind 253, length 8, ExID, echo.
 *
 *   byte  0     kind, 253
 *   byte  1     length, 8, 12 or 16
 *   bytes 2-3   ExID, 0xAC50
 *   bytes 4-7   bits 31-28: protocol: 1 ACP, 2 XCP, 3 RCP
 *               bits 27-0: info: what the sender says of itself
 *   bytes 8-11  word: what routers change
 *   then        echo: the word of the last segment that the receiver got; of XCP:
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
 *   bits 13-9   e, bits 8-0    m: gap, m << e nanoseconds, the rtt over the window in
 *               packets; the largest: 1097 s or more
 *
 * Of both 0 means: none yet.  Who writes one rounds it to the nearest, and takes the least
 * exponent that will do; who reads one takes every exponent.
 *
 * A word of ACP and RCP is a rate:
 *
 *   bits 31-30  version, 0; a word of another version is left alone
 *   bit  29     H_congestion: the input of some router is above 95 % of its link
 *   bits 28-24  exponent e
 *   bits 23-0   mantissa m
 *
 * and means m << e bytes/s; all of bits 28-0 set mean that nobody has set a limit
 * yet.  Who writes a rate rounds it down and takes the least exponent that will
 * do; who reads one takes every exponent, and what is above 100 GB/s for that.
 * The 30 bits of an XCP word are a number in two's complement, bytes/s, and add up.
 *
 * A router may change the word, and only it, and corrects the TCP checksum by
 * the difference.  Protocol, info and echo are the hosts'.
 *
 * The option is the first one of its segment, so that a host tells by one byte
 * that a segment carries none.  A router should look for it everywhere.
 *
 * ESTCP has no option: what its routers say is two bits in the IP header, see
 * include/tcpcc_estcp.h.  Of what was taken of them a word is made that never is on
 * the wire:
 *
 *   bits 31-30  0
 *   bits 29-28  the codepoint that came last
 *   bits 27-21  ACKs that brought 11, bits 20-14: 10, bits 13-7: 01, bits 6-0: 00
 *
 * Where a count would pass 127, all four are halved before, rounding up, so that
 * their shares stay and none that has come is lost.
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
#define TCPCC_FB_ECHO		12	/* 4 where there is no word */

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

/* What has come of codepoints */
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
 * @has_word: @protocol, @info and @word are there
 * @has_echo: @echo is there
 * @protocol: enum tcpcc_fb_protocol, or what the wire says
 * @info: 28 bits; for ACP and RCP see tcpcc_fb_rtt_us(), for XCP tcpcc_fb_xcp_rtt_us() and
 *	tcpcc_fb_xcp_gap_ns()
 * @word: on its way
 * @echo: on its way back
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
/* Infos                                                                     */

/**
 * tcpcc_fb_rtt_info() - an rtt as the info of ACP and RCP
 * @rtt_us: us; 0: none yet
 *
 * Return: the info, with @rtt_us or TCPCC_FB_RTT_MAX if that is less
 */
static inline u32 tcpcc_fb_rtt_info(u32 rtt_us)
{
	return min(rtt_us, TCPCC_FB_RTT_MAX);
}

/**
 * tcpcc_fb_rtt_us() - H_rtt in an info of ACP or RCP
 * @info: as it came; its four highest bits are reserved, and ignored
 *
 * Return: us, at most TCPCC_FB_RTT_MAX; 0: none yet
 */
static inline u32 tcpcc_fb_rtt_us(u32 info)
{
	return info & TCPCC_FB_RTT_MAX;
}

/* The largest exponent of an XCP number that has a mantissa of so many bits */
static inline u32 tcpcc_fb_xcp_most(u32 bits)
{
	return (1 << (TCPCC_FB_XCP_BITS - bits)) - 1;
}

/* @value as exponent and mantissa of so many bits, to the nearest; halves go up */
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

/* What tcpcc_fb_xcp_pack() has packed into the lowest bits of @field */
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
 * Both are rounded to the nearest number that there is: @rtt_us, up to 33521664, is off by
 * at most 0.1 %, @gap_ns, up to 511 << 31, by at most 0.2 %.  What is above becomes that.
 * A number above 0 does not become 0.
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
 * @info: as it came
 *
 * Return: us, at most 33521664; 0: none yet
 */
static inline u32 tcpcc_fb_xcp_rtt_us(u32 info)
{
	return tcpcc_fb_xcp_unpack(info >> TCPCC_FB_XCP_BITS, TCPCC_FB_XCP_RTT_BITS);
}

/**
 * tcpcc_fb_xcp_gap_ns() - the gap in an info of XCP
 * @info: as it came
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
 * @congested: H_congestion
 *
 * Return: the word, its rate rounded down, at most TCPCC_FB_RATE_MAX
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
 * tcpcc_fb_decode() - the rate that a word stands for
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
 * tcpcc_fb_limit() - what a router makes of a word
 * @word: as it came
 * @rate: the most that this link wants, bytes/s
 * @congested: H_congestion of this link
 *
 * Return: the word to go on, @word itself if its version is not known
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
 * tcpcc_fb_change() - the change of a rate that a word of XCP stands for
 * @word: of version 0
 *
 * Return: bytes/s, -2^29 to 2^29 - 1, which is TCPCC_FB_NO_LIMIT: nobody has changed it
 */
static inline s32 tcpcc_fb_change(u32 word)
{
	return (s32)(word << 2) >> 2;
}

/**
 * tcpcc_fb_change_word() - the change of a rate as a word of XCP
 * @change: bytes/s, within what 30 bits in two's complement can be
 *
 * Return: the word
 */
static inline u32 tcpcc_fb_change_word(s32 change)
{
	return change & ~(3U << TCPCC_FB_VERSION_SHIFT);
}

/**
 * tcpcc_fb_count() - how often a codepoint has come
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
 * tcpcc_fb_last() - which codepoint came last
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
 * @old: the word before, 0 if there is none
 * @codepoint: what has come; all but its two lowest bits are ignored
 * @n: how often, at least 1
 *
 * Return: the word with it
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
 * tcpcc_fb_adds_up() - whether words are differences, and none of them stands for another
 * @protocol: enum tcpcc_fb_protocol
 *
 * Return: true: each counts, whenever it comes; false: the newest says all
 */
static inline bool tcpcc_fb_adds_up(u8 protocol)
{
	return protocol == TCPCC_FB_XCP;
}

/**
 * tcpcc_fb_combine() - two words, one after the other, as one
 * @protocol: enum tcpcc_fb_protocol
 * @old: the word before, 0 if there is none
 * @word: the word that comes; of TCPCC_FB_ESTCP: the codepoint that comes
 * @segs: segments that carried @word
 *
 * Of rates the newest wins.  Differences, which XCP has, add up; with one that no
 * router has seen, or beyond what a word can be, they are TCPCC_FB_NO_LIMIT, which is no
 * grant.  Codepoints are counted.
 *
 * Return: the word that says the same as both
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
 * tcpcc_fb_header_len() - bytes of a TCP header with its options
 * @th: where it starts
 * @len: bytes that may be read from there
 *
 * Return: 20 to 60, at most @len; 0: it lies
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
 * tcpcc_fb_option() - bytes of the option that starts somewhere
 * @th: the TCP header
 * @at: offset of the option's first byte
 * @end: bytes of the TCP header, more than @at
 *
 * Return: at least 1, so that @at plus this is at most @end; 0: no more options,
 * or none that could be read
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

/* The option at @at, of @n bytes, bears our ExID. */
static inline bool tcpcc_fb_is_ours(const u8 *th, unsigned int at,
				    unsigned int n)
{
	return th[at] == TCPCC_FB_KIND && n >= 4 &&
	       get_unaligned_be16(th + at + 2) == TCPCC_FB_EXID;
}

/**
 * tcpcc_fb_timestamp() - the timestamp of a segment (RFC 7323)
 * @th: TCP header
 * @len: bytes that may be read from there
 * @stamp: where to put it
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
 * @len: bytes that may be read from there
 * @h: where to put it
 *
 * Nothing beyond @len is read, whatever the header says.  What the fields hold
 * is not judged: protocol and version may be unknown.
 *
 * Return: 1: found; 0: there is none; -EBADMSG: there is one, of a length that
 * none has
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
 * struct tcpcc_fb_expected - what a connection can expect of a segment
 * @rcv_wup: the least sequence number that may still be on its way
 * @rcv_nxt: the next one to receive
 * @rcv_wnd: bytes that may come from @rcv_wup on
 * @snd_una: the first one not acknowledged
 * @snd_nxt: the next one to send
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
 * tcpcc_fb_is_expected() - whether sequence number and ACK are those of a connection
 * @e: what it expects now, not at the last header: after 2 GiB of others without one that
 *     would be on the wrong side
 * @seq: of the segment's first byte
 * @end: after its last
 * @ack: its ACK
 *
 * By RFC 9293 section 3.10.7.4 and RFC 5961 section 5.2.
 *
 * Return: true: TCP will accept it, unless it looks into its timestamp
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
 * @opt: where, TCPCC_FB_LEN_BOTH bytes
 * @h: what; offset does not matter, nor do bits of protocol and info that the wire has no
 *	room for
 *
 * Return: its length, bytes; 0: there is nothing to write
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
 * tcpcc_fb_insert() - a TCP header with the congestion header as first option
 * @out: where to write it, TCPCC_TCP_HEADER_MAX bytes, apart from @th
 * @th: the TCP header as it is
 * @len: bytes that may be read from there
 * @h: what to insert; has_echo is cleared if there is no room for the echo
 * @dropped: the number of SACK blocks that gave way
 *
 * Where options need more than 40 bytes, SACK blocks give way, the last first,
 * since it has been reported before and the receiver may say less (RFC 2018);
 * one stays.  Then the echo of a segment with a word gives way: the next one will
 * say it.  A header that is signed (MD5, TCP-AO) stays as it is.
 *
 * Return: bytes of the new header; -ENOSPC: there is no room; -EINVAL: this is
 * nothing to insert into; -EPERM: signed; -EEXIST: has one
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
		/* whole blocks, and one stays */
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
/* The carriage, tcp_feedback.ko                                             */

struct tcpcc_feedback;

struct tcpcc_feedback *tcpcc_feedback_attach(struct sock *sk,
					     enum tcpcc_fb_protocol protocol);
void tcpcc_feedback_detach(struct sock *sk, struct tcpcc_feedback *fb);
void tcpcc_feedback_request(struct sock *sk, struct tcpcc_feedback *fb,
			    u32 info, u32 word);
u32 tcpcc_feedback_take(struct tcpcc_feedback *fb, u32 *word);

#endif /* _TCPCC_FEEDBACK_H */
