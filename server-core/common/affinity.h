/*
 * Where the calling process or thread may run.
 */
#ifndef TRIMTAB_AFFINITY_H
#define TRIMTAB_AFFINITY_H

#include <stdbool.h>
#include <stddef.h>

#define AFFINITY_CPU_MAX 1023 /* the largest CPU number that a cpu_set_t can name: CPU_SETSIZE - 1 */

/* Says whether the calling process may run on CPU number `cpu` (≥ 0) according to sched_getaffinity(2). */
bool affinity_cpu_usable(int cpu);

/* Puts the CPUs that the calling process may run on into `cpus`, in the order of their numbers; no more than
 * it has `room` for. Returns how many they are. */
size_t affinity_usable(int *cpus, size_t room);

/* Reads a list of CPUs such as "0-3,8" into `cpus`, which has room for `room` numbers. Returns how many they
 * are; 0 when the text is no such list, names a CPU that this process may not use, or is too long. */
size_t affinity_parse_list(const char *text, int *cpus, size_t room);

/* Pins the calling thread to CPU `cpu`. Returns 0, or -1 with errno as sched_setaffinity(2) left it. */
int affinity_pin(int cpu);

/* Lets the calling thread run on any of `count` CPUs and nowhere else. Returns as affinity_pin() does. */
int affinity_restrict(const int *cpus, size_t count);

#endif
