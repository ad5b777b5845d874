/*
 * Pins the calling process to one CPU.
 */
#ifndef TRIMTAB_AFFINITY_H
#define TRIMTAB_AFFINITY_H

#include <stdbool.h>

#define AFFINITY_CPU_MAX 1023 /* the largest CPU number that a cpu_set_t can name: CPU_SETSIZE - 1 */

/* Says whether the calling process may run on CPU number `cpu` (≥ 0) according to sched_getaffinity(2). */
bool affinity_cpu_usable(int cpu);

/* Pins the calling thread to CPU `cpu`. Returns 0, or -1 with errno as sched_setaffinity(2) left it. */
int affinity_pin(int cpu);

#endif
