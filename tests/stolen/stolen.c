// SPDX-License-Identifier: GPL-2.0
/*
 * Takes a processor away, as a hypervisor does that serves other guests.
 *
 * A thread lets the processor work for a random time, and then holds it with interrupts off for
 * another random time.  During this time the processor receives no packet, expires no timer and
 * runs no process.  The other processors and the clock go on.
 *
 *	insmod stolen.ko cpu=0 least_us=1000 most_us=20000
 *	cat /sys/module/stolen/parameters/{times,taken_us}
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/random.h>

#define STOLEN_MOST_US	1000000U	/* far below the limit of the kernel's watchdogs */

static unsigned int cpu;
module_param(cpu, uint, 0444);
MODULE_PARM_DESC(cpu, "number of the processor");

static unsigned int least_us = 1000;
module_param(least_us, uint, 0444);
MODULE_PARM_DESC(least_us, "least time for which the processor is taken away, us");

static unsigned int most_us = 20000;
module_param(most_us, uint, 0444);
MODULE_PARM_DESC(most_us, "largest time for which it is taken away, us");

static unsigned int works_us = 40000;
module_param(works_us, uint, 0444);
MODULE_PARM_DESC(works_us, "between these it works for a time from least_us to this, us");

static unsigned long times;
module_param(times, ulong, 0444);
MODULE_PARM_DESC(times, "number of times that it was taken away");

static unsigned long taken_us;
module_param(taken_us, ulong, 0444);
MODULE_PARM_DESC(taken_us, "total time for which it was taken away, us");

static struct task_struct *thief;

static u32 stolen_between_us(u32 least, u32 most)
{
	return least + get_random_u32() % (most - least + 1);
}

static int stolen_run(void *unused)
{
	while (!kthread_should_stop()) {
		u32 works = stolen_between_us(least_us, works_us);
		u32 taken = stolen_between_us(least_us, most_us);
		ktime_t until;

		usleep_range(works, works + 1);
		local_irq_disable();
		until = ktime_add_us(ktime_get(), taken);
		while (ktime_before(ktime_get(), until))
			cpu_relax();
		local_irq_enable();
		times++;
		taken_us += taken;
	}
	return 0;
}

static int __init stolen_begin(void)
{
	if (!least_us || least_us > most_us || least_us > works_us || most_us > STOLEN_MOST_US ||
	    works_us > STOLEN_MOST_US) {
		pr_err("needed: 0 < least_us <= most_us and works_us, both <= %u\n",
		       STOLEN_MOST_US);
		return -EINVAL;
	}
	if (!cpu_online(cpu)) {
		pr_err("there is no processor %u\n", cpu);
		return -EINVAL;
	}
	thief = kthread_create(stolen_run, NULL, "stolen/%u", cpu);
	if (IS_ERR(thief))
		return PTR_ERR(thief);
	kthread_bind(thief, cpu);
	sched_set_fifo(thief);
	wake_up_process(thief);
	return 0;
}

static void __exit stolen_end(void)
{
	kthread_stop(thief);
}

module_init(stolen_begin);
module_exit(stolen_end);

MODULE_AUTHOR("The tcpcc developers");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Takes a processor away for milliseconds at a time");
