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
 * What all of the kernel's objects take, bytes, to some hundred kB; without those that RCU frees.
 * A hash table shrinks in the background: so this waits until two readings are equal, 20 ms apart,
 * fifty times at most.
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
