/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <linux/delay.h>
#include <linux/rcupdate.h>
#include <linux/vmstat.h>

static inline s64 bench_memory_now(void)
{
	rcu_barrier();
	return (s64)(global_node_page_state_pages(NR_SLAB_UNRECLAIMABLE_B) +
		     global_node_page_state_pages(NR_SLAB_RECLAIMABLE_B)) * PAGE_SIZE;
}

/*
 * Memory of all slab objects of the kernel, after RCU has freed what it can.  Hash tables shrink in
 * the background, so this waits until two readings, 20 ms apart, are equal, at most fifty times.
 *
 * Return: bytes, to within some hundred kB
 */
static inline s64 bench_memory(void)
{
	s64 bytes = bench_memory_now(), before;
	int tries = 50;

	do {
		before = bytes;
		msleep(20);
		bytes = bench_memory_now();
	} while (bytes != before && --tries);
	return bytes;
}

#endif
