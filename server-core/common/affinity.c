/*
 * See affinity.h.
 */
#include "affinity.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

bool affinity_cpu_usable(int cpu)
{
    cpu_set_t allowed;

    if (cpu < 0 || cpu > AFFINITY_CPU_MAX || sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return false;
    return CPU_ISSET(cpu, &allowed);
}

size_t affinity_usable(int *cpus, size_t room)
{
    size_t count = 0;

    for (int cpu = 0; cpu <= AFFINITY_CPU_MAX && count < room; cpu++) {
        if (affinity_cpu_usable(cpu))
            cpus[count++] = cpu;
    }
    return count;
}

int affinity_restrict(const int *cpus, size_t count)
{
    cpu_set_t only;

    CPU_ZERO(&only);
    for (size_t i = 0; i < count; i++) {
        if (cpus[i] < 0 || cpus[i] > AFFINITY_CPU_MAX) {
            errno = EINVAL;
            return -1;
        }
        CPU_SET(cpus[i], &only);
    }
    return sched_setaffinity(0, sizeof(only), &only);
}

int affinity_pin(int cpu)
{
    return affinity_restrict(&cpu, 1);
}

/* Reads a CPU number off the front of *text; -1 when there is none that may be used. */
static int take_cpu(const char **text)
{
    char *end;
    long cpu = **text >= '0' && **text <= '9' ? strtol(*text, &end, 10) : -1;

    if (cpu < 0 || cpu > AFFINITY_CPU_MAX || !affinity_cpu_usable((int)cpu))
        return -1;
    *text = end;
    return (int)cpu;
}

size_t affinity_parse_list(const char *text, int *cpus, size_t room)
{
    size_t count = 0;

    for (;;) {
        int first = take_cpu(&text);
        int last = first;
        if (first >= 0 && *text == '-') {
            text++;
            last = take_cpu(&text);
        }
        if (first < 0 || last < first)
            return 0;
        for (int cpu = first; cpu <= last; cpu++) {
            if (count == room || !affinity_cpu_usable(cpu))
                return 0;
            cpus[count++] = cpu;
        }
        if (*text == '\0')
            return count;
        if (*text++ != ',')
            return 0;
    }
}
