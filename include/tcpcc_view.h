/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of this project's congestion controls that ss cannot show.
 *
 * inet_diag has structures for BBR, Vegas and DCTCP only.  Monitoring tools would misread a
 * number with another meaning in them.  So .get_info fills these structures only if the meaning
 * is the same.  /proc/net/tcpcc (tcpcc_view.c) shows the rest: it calls .get_info with
 * TCPCC_VIEW, and the congestion control adds its fields by name.
 */
#ifndef _TCPCC_VIEW_H
#define _TCPCC_VIEW_H

#include <linux/inet_diag.h>
#include <linux/types.h>

/*
 * The ext argument of .get_info that asks for a struct tcpcc_view.  inet_diag does not use this bit
 * for any structure.
 */
#define TCPCC_VIEW		BIT(31)

#define TCPCC_VIEW_FIELDS	8U

/**
 * struct tcpcc_view - the state of a socket's congestion control
 * @form: room for a congestion control that ignores ext, and fills inet_diag's structure; not read
 * @mode: name of the congestion control's state; NULL: it does not support TCPCC_VIEW
 * @count: how many of @field are set
 * @field: a name that ends with its unit (_bps, _us, _segs), and a value
 */
struct tcpcc_view {
	union tcp_cc_info form;
	const char *mode;
	unsigned int count;
	struct {
		const char *name;
		u64 value;
	} field[TCPCC_VIEW_FIELDS];
};

/**
 * tcpcc_view_of() - the view that a caller of .get_info asks for
 * @ext: argument of .get_info
 * @info: argument of .get_info
 * @mode: name of the congestion control's state
 *
 * Return: the view, to which the congestion control adds its fields; NULL: the caller is inet_diag
 * or getsockopt
 */
static inline struct tcpcc_view *tcpcc_view_of(u32 ext, union tcp_cc_info *info,
					       const char *mode)
{
	struct tcpcc_view *view;

	if (ext != TCPCC_VIEW)
		return NULL;
	view = container_of(info, struct tcpcc_view, form);
	view->mode = mode;
	return view;
}

/**
 * tcpcc_view_add() - add a field to a view
 * @view: from tcpcc_view_of()
 * @name: a string constant that ends with its unit
 * @value: in that unit
 */
static inline void tcpcc_view_add(struct tcpcc_view *view, const char *name, u64 value)
{
	if (WARN_ON_ONCE(view->count >= TCPCC_VIEW_FIELDS))
		return;
	view->field[view->count].name = name;
	view->field[view->count++].value = value;
}

/**
 * tcpcc_info_rate() - give ss what it can show: a rate and the least rtt
 * @ext: argument of .get_info
 * @attr: argument of .get_info
 * @info: argument of .get_info
 * @bytes_ps: estimate of the path's rate, bytes/s
 * @rtt_min_us: least round-trip time, us; 0: none yet
 *
 * These two have the same meaning as in BBR's structure.  The gains are zero, and ss does not print
 * gains of zero.
 *
 * Return: the return value of .get_info, bytes
 */
static inline size_t tcpcc_info_rate(u32 ext, int *attr, union tcp_cc_info *info,
				     u64 bytes_ps, u32 rtt_min_us)
{
	if (!(ext & (BIT(INET_DIAG_BBRINFO - 1) | BIT(INET_DIAG_VEGASINFO - 1))))
		return 0;

	memset(&info->bbr, 0, sizeof(info->bbr));
	info->bbr.bbr_bw_lo = (u32)bytes_ps;
	info->bbr.bbr_bw_hi = (u32)(bytes_ps >> 32);
	info->bbr.bbr_min_rtt = rtt_min_us;
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

#endif /* _TCPCC_VIEW_H */
