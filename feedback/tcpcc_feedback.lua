-- SPDX-License-Identifier: GPL-2.0
--
-- The congestion header of explicit feedback, in Wireshark and tshark:
--
--     wireshark -X lua_script:feedback/tcpcc_feedback.lua
--
-- or copy this file to ~/.local/lib/wireshark/plugins.  What the bytes mean is
-- in include/tcpcc_feedback.h, and constants have the names that they have there.
--
-- Filters: tcpcc, tcpcc.rate < 1000000, tcpcc.congestion, tcpcc.rtt > 100000,
-- tcpcc.echo.no_limit, tcpcc.bad_length, ...  A rate is in bytes/s, as on the wire, and so is
-- a difference of XCP; its tcpcc.rtt is in us as that of others, and tcpcc.gap in ns.
--
-- This is a post-dissector, which looks for the option by itself.  In the table
-- "tcp.option" it would take the place of Wireshark's own for all experiments of
-- kind 253; a script that hands one of the others back to that cannot give it the
-- TCP header that Fast Open's asks for, and Wireshark crashes.

local TCPCC_FB_KIND = 253
local TCPCC_FB_EXID = 0xAC50

local TCPCC_FB_LEN_ECHO = 8
local TCPCC_FB_LEN_DATA = 12
local TCPCC_FB_LEN_BOTH = 16

local TCPCC_FB_INFO = 4
local TCPCC_FB_WORD = 8

local TCPCC_FB_RTT_MAX = 0xffffff
local TCPCC_FB_XCP_BITS = 14
local TCPCC_FB_XCP_RTT_BITS = 10
local TCPCC_FB_XCP_GAP_BITS = 9
local TCPCC_FB_NO_LIMIT = 0x1fffffff
local TCPCC_FB_RATE_MAX = 100000000000

local TCPCC_FB_ACP = 1
local TCPCC_FB_XCP = 2
local TCPCC_FB_RCP = 3

local tcpcc = Proto("tcpcc", "Congestion Header")
local options = Field.new("tcp.options")

local protocols = {
	[TCPCC_FB_ACP] = "ACP",
	[TCPCC_FB_XCP] = "XCP",
	[TCPCC_FB_RCP] = "RCP",
}

local f_protocol = ProtoField.uint8("tcpcc.protocol", "Protocol", base.DEC, protocols, 0xf0)
local f_reserved = ProtoField.uint8("tcpcc.reserved", "Reserved", base.HEX, nil, 0x0f)
local f_rtt = ProtoField.uint32("tcpcc.rtt", "Round-trip time", base.UNIT_STRING, { " us" })
local f_gap = ProtoField.uint64("tcpcc.gap", "Time between packets", base.UNIT_STRING, { " ns" })

-- What a word is made of, as a router left it and as the receiver echoes it
local function word_fields(abbrev, name, prefix)
	return {
		word = ProtoField.uint32(abbrev, name, base.HEX),
		version = ProtoField.uint32(prefix .. "version", "Version", base.DEC, nil, 0xc0000000),
		congestion = ProtoField.bool(prefix .. "congestion", "Congestion", 32,
					     { "above 95 % of some link", "no" }, 0x20000000),
		exponent = ProtoField.uint32(prefix .. "exponent", "Exponent", base.DEC, nil, 0x1f000000),
		mantissa = ProtoField.uint32(prefix .. "mantissa", "Mantissa", base.DEC, nil, 0xffffff),
		rate = ProtoField.uint64(prefix .. "rate", "Rate", base.UNIT_STRING, { " bytes/s" }),
		no_limit = ProtoField.bool(prefix .. "no_limit", "No limit"),
		delta = ProtoField.int32(prefix .. "delta", "Difference", base.UNIT_STRING,
					 { " bytes/s" }),
	}
end

local f_word = word_fields("tcpcc.word", "Word", "tcpcc.")
local f_echo = word_fields("tcpcc.echo", "Echo", "tcpcc.echo.")

tcpcc.fields = { f_protocol, f_reserved, f_rtt, f_gap }
for _, fields in ipairs({ f_word, f_echo }) do
	for _, field in pairs(fields) do
		table.insert(tcpcc.fields, field)
	end
end

local function remark(name, text, group, severity)
	return ProtoExpert.new("tcpcc." .. name, text, expert.group[group], expert.severity[severity])
end

local e_length = remark("bad_length", "No congestion header has this length", "MALFORMED", "ERROR")
local e_cut = remark("cut", "The capture has not all of the congestion header", "UNDECODED", "NOTE")
local e_protocol = remark("unknown_protocol", "Unknown protocol: the receiver ignores the word",
			  "UNDECODED", "WARN")
local e_version = remark("unknown_version", "Unknown version: all leave the word alone",
			 "UNDECODED", "WARN")
local e_reserved = remark("reserved_bits", "Reserved bits are set, and ignored", "PROTOCOL", "NOTE")
local e_place = remark("misplaced", "Hosts look for it only in the first option", "PROTOCOL", "WARN")
local e_second = remark("second", "Only the first congestion header of a segment counts",
			"PROTOCOL", "WARN")
tcpcc.experts = { e_length, e_cut, e_protocol, e_version, e_reserved, e_place, e_second }

-- An echo does not say whose it is: the protocol by the flow that it answers
local seen = {}

function tcpcc.init()
	seen = {}
end

local function flow(from, from_port, to, to_port)
	return string.format("%s %d %s %d", from, from_port, to, to_port)
end

-- Bit/s, as tc writes them
local function bits(rate)
	for _, unit in ipairs({ { 1e9, "G" }, { 1e6, "M" }, { 1e3, "K" }, { 1, "" } }) do
		if rate * 8 >= unit[1] or unit[1] == 1 then
			return string.format("%.4g%sbit", rate * 8 / unit[1], unit[2])
		end
	end
end

-- Returns a word in words.
local function add_word(tree, range, f, protocol)
	local item = tree:add(f.word, range)
	local text

	item:add(f.version, range)
	if range:bitfield(0, 2) ~= 0 then
		item:add_proto_expert_info(e_version)
		return "?"
	end
	if protocol == TCPCC_FB_XCP then
		local delta = range:bitfield(2, 30)

		delta = delta < 2 ^ 29 and delta or delta - 2 ^ 30
		text = delta == TCPCC_FB_NO_LIMIT and "largest" or string.format("%+d", delta)
		item:add(f.delta, range, delta)
	else
		item:add(f.congestion, range)
		if range:bitfield(3, 29) == TCPCC_FB_NO_LIMIT then
			item:add(f.no_limit, range, true)
			text = "none"
		else
			local rate = range:bitfield(8, 24) * 2 ^ range:bitfield(3, 5)

			rate = math.min(rate, TCPCC_FB_RATE_MAX)
			item:add(f.exponent, range)
			item:add(f.mantissa, range)
			text = bits(rate)
			item:add(f.rate, range, UInt64(rate)):append_text(" (" .. text .. ")")
		end
		if range:bitfield(2, 1) == 1 then
			text = text .. ",congested"
		end
	end
	item:append_text(" (" .. text .. ")")
	return text
end

-- One of XCP's two numbers in the info: how many bits are before it, and in its mantissa
local function add_number(tree, field, info, before, bits)
	local e = info:bitfield(before, TCPCC_FB_XCP_BITS - bits)
	local m = info:bitfield(before + TCPCC_FB_XCP_BITS - bits, bits)
	local most = m == 2 ^ bits - 1 and e == 2 ^ (TCPCC_FB_XCP_BITS - bits) - 1
	local item = tree:add(field, info, field == f_gap and UInt64(m * 2 ^ e) or m * 2 ^ e)

	if m == 0 then
		item:append_text(" (none yet)")
	elseif most then
		item:append_text(" (or more)")
	end
end

local function add_xcp_info(tree, info)
	local before = 32 - 2 * TCPCC_FB_XCP_BITS

	add_number(tree, f_rtt, info, before, TCPCC_FB_XCP_RTT_BITS)
	add_number(tree, f_gap, info, before + TCPCC_FB_XCP_BITS, TCPCC_FB_XCP_GAP_BITS)
end

-- That of ACP and RCP, and what it would be of a protocol that nobody knows
local function add_info(tree, info)
	local item = tree:add(f_reserved, info(0, 1))
	local range = info(1, 3)

	if info:bitfield(4, 4) ~= 0 then
		item:add_proto_expert_info(e_reserved)
	end
	item = tree:add(f_rtt, range)
	if range:uint() == 0 then
		item:append_text(" (none yet)")
	elseif range:uint() == TCPCC_FB_RTT_MAX then
		item:append_text(" (or more)")
	end
end

-- The option, of our ExID and of a length that it should have
local function add_header(tree, option, pinfo)
	local ahead = flow(pinfo.src, pinfo.src_port, pinfo.dst, pinfo.dst_port)
	local back = flow(pinfo.dst, pinfo.dst_port, pinfo.src, pinfo.src_port)
	local text = ""

	if option:len() ~= TCPCC_FB_LEN_ECHO then
		local info = option(TCPCC_FB_INFO, 4)
		local protocol = info:bitfield(0, 4)
		local item = tree:add(f_protocol, info(0, 1))

		if not protocols[protocol] then
			item:add_proto_expert_info(e_protocol)
		end
		if protocol == TCPCC_FB_XCP then
			add_xcp_info(tree, info)
		else
			add_info(tree, info)
		end
		text = protocol == TCPCC_FB_XCP and " Change=" or " Rate="
		text = text .. add_word(tree, option(TCPCC_FB_WORD, 4), f_word, protocol)
		seen[ahead] = protocol
	end
	if option:len() ~= TCPCC_FB_LEN_DATA then
		text = text .. " Echo=" .. add_word(tree, option(option:len() - 4, 4), f_echo, seen[back])
	end
	tree:append_text("," .. text)
	pinfo.cols.info:append(text)
end

-- The options of one TCP header; cut: the frame is longer than what was captured
local function add_options(tree, all, cut, pinfo)
	local at, count = 0, 0

	while at + 1 < all:len() and all(at, 1):uint() ~= 0 do
		local left = all:len() - at
		local n = all(at, 1):uint() == 1 and 1 or all(at + 1, 1):uint()

		if all(at, 1):uint() == TCPCC_FB_KIND and n >= 4 and left >= 4 and
		   all(at + 2, 2):uint() == TCPCC_FB_EXID then
			local option = all(at, math.min(n, left))
			local item = tree:add(tcpcc, option)

			count = count + 1
			if n > left and cut then
				item:add_proto_expert_info(e_cut)
			elseif n > left or n ~= TCPCC_FB_LEN_ECHO and n ~= TCPCC_FB_LEN_DATA and
			       n ~= TCPCC_FB_LEN_BOTH then
				item:add_proto_expert_info(e_length)
			else
				add_header(item, option, pinfo)
			end
			if all(0, 1):uint() ~= TCPCC_FB_KIND then
				item:add_proto_expert_info(e_place)
			end
			if count > 1 then
				item:add_proto_expert_info(e_second)
			end
		end
		if n == 0 or all(at, 1):uint() ~= 1 and n < 2 then
			return
		end
		at = at + n
	end
end

function tcpcc.dissector(tvb, pinfo, tree)
	-- more than one in a tunnel, and in what an ICMP error quotes
	for _, field in ipairs({ options() }) do
		add_options(tree, field.range, tvb:captured_len() < tvb:reported_len(), pinfo)
	end
end

register_postdissector(tcpcc)
