/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface of tc (iproute2 6.1 and later) for plug-ins.  It is declared here because no
 * package contains the headers of tc.  tc finds "struct qdisc_util NAME_qdisc_util" in q_NAME.so.
 * The functions are exported by the tc program itself; tests/test_sch.py checks this.
 */
#ifndef _TCPCC_IPROUTE2_H
#define _TCPCC_IPROUTE2_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

struct qdisc_util {
	struct qdisc_util *next;
	const char *id;
	int (*parse_qopt)(const struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_qopt)(const struct qdisc_util *qu, FILE *f,
			  struct rtattr *opt);
	int (*print_xstats)(const struct qdisc_util *qu, FILE *f,
			    struct rtattr *xstats);
	int (*parse_copt)(const struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_copt)(const struct qdisc_util *qu, FILE *f,
			  struct rtattr *opt);
	int (*has_block)(const struct qdisc_util *qu, struct rtattr *opt,
			 __u32 block_idx, bool *p_has);
};

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* size of the message buffer that tc passes to parse_qopt, bytes */
#define TC_MESSAGE	1024

enum output_type {
	PRINT_FP = 1,
	PRINT_JSON = 2,
	PRINT_ANY = 4,
};

enum color_attr {
	COLOR_NONE = 6,
};

int print_color_string(enum output_type type, enum color_attr color,
		       const char *key, const char *fmt, const char *value);
int print_color_uint(enum output_type type, enum color_attr color,
		     const char *key, const char *fmt, unsigned int value);
int print_color_u64(enum output_type type, enum color_attr color,
		    const char *key, const char *fmt, uint64_t value);
int print_color_float(enum output_type type, enum color_attr color,
		      const char *key, const char *fmt, double value);
int print_color_bool(enum output_type type, enum color_attr color,
		     const char *key, const char *fmt, bool value);
void tc_print_rate(enum output_type type, const char *key, const char *fmt,
		   unsigned long long rate);
void print_nl(void);

int get_rate64(__u64 *rate, const char *str);
int get_percent_rate64(__u64 *rate, const char *str, const char *dev);
int get_time64(__s64 *time, const char *str);
int get_unsigned(unsigned int *value, const char *str, int base);

int addattr32(struct nlmsghdr *n, int size, int type, __u32 value);
int addattr64(struct nlmsghdr *n, int size, int type, __u64 value);
struct rtattr *addattr_nest(struct nlmsghdr *n, int size, int type);
int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest);
int parse_rtattr(struct rtattr *tb[], int max, struct rtattr *rta, int len);

#endif /* _TCPCC_IPROUTE2_H */
