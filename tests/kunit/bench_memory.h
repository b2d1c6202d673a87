/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <linux/rcupdate.h>
#include <linux/vmstat.h>

/* What all of the kernel's objects take, bytes, to some hundred kB; without those that RCU frees */
static inline s64 bench_memory(void)
{
	rcu_barrier();
	return (s64)(global_node_page_state_pages(NR_SLAB_UNRECLAIMABLE_B) +
		     global_node_page_state_pages(NR_SLAB_RECLAIMABLE_B)) * PAGE_SIZE;
}

#endif
