/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Module parameters with a range.
 *
 * A value outside the range is refused, at load time and later through sysfs,
 * with -EINVAL and a line in the log that names the range.  The old value stays.
 */
#ifndef _TCPCC_PARAM_H
#define _TCPCC_PARAM_H

#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

/**
 * struct tcpcc_param - an unsigned parameter and its range
 * @value: the variable; it may change at any time, so read it with READ_ONCE()
 * @min: smallest value allowed
 * @max: largest value allowed
 */
struct tcpcc_param {
	unsigned int *value;
	unsigned int min;
	unsigned int max;
};

static int tcpcc_param_set(const char *val, const struct kernel_param *kp)
{
	const struct tcpcc_param *p = kp->arg;
	unsigned int v;

	if (!val || kstrtouint(val, 0, &v) || v < p->min || v > p->max) {
		if (!val)
			val = "nothing";
		pr_err("%s: '%.*s' is not a whole number from %u to %u, staying at %u\n",
		       kp->name, (int)min_t(size_t, strcspn(val, "\n"), 32),
		       val, p->min, p->max, *p->value);
		return -EINVAL;
	}
	WRITE_ONCE(*p->value, v);
	return 0;
}

static int tcpcc_param_get(char *buffer, const struct kernel_param *kp)
{
	const struct tcpcc_param *p = kp->arg;

	return sysfs_emit(buffer, "%u\n", READ_ONCE(*p->value));
}

static const struct kernel_param_ops tcpcc_param_ops = {
	.set	= tcpcc_param_set,
	.get	= tcpcc_param_get,
};

/* Define parameter @name, an unsigned int from @lo to @hi, initially @init. */
#define TCPCC_PARAM(name, init, lo, hi, desc)				\
	static unsigned int name __read_mostly = (init);		\
	static const struct tcpcc_param tcpcc_param_##name = {		\
		.value = &(name), .min = (lo), .max = (hi),		\
	};								\
	module_param_cb(name, &tcpcc_param_ops,				\
			(void *)&tcpcc_param_##name, 0644);		\
	MODULE_PARM_DESC(name, desc " (" #lo " to " #hi ", default " #init ")")

#endif /* _TCPCC_PARAM_H */
