/*
 * See affinity.h.
 */
#include "affinity.h"

#include <errno.h>
#include <sched.h>

bool affinity_cpu_usable(int cpu)
{
    cpu_set_t allowed;

    if (cpu < 0 || cpu > AFFINITY_CPU_MAX || sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return false;
    return CPU_ISSET(cpu, &allowed);
}

int affinity_pin(int cpu)
{
    cpu_set_t only;

    if (cpu < 0 || cpu > AFFINITY_CPU_MAX) {
        errno = EINVAL;
        return -1;
    }
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    return sched_setaffinity(0, sizeof(only), &only);
}
