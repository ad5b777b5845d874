/*
 * The monotonic clock, in whole units.
 *
 * Every interval in the server and in the load generator is measured with CLOCK_MONOTONIC: it never jumps
 * when somebody sets the time. Reading it is a vDSO call (no switch to the kernel) of some 20 ns; loops read
 * it once per batch of events and pass the value on.
 */
#ifndef TRIMTAB_CLOCK_H
#define TRIMTAB_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)
#define US_PER_S  UINT64_C(1000000)

/* Returns the nanoseconds since an arbitrary fixed moment (the start of the machine). */
static inline uint64_t clock_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Returns `seconds` (≥ 0, fractions allowed) as whole nanoseconds. */
static inline uint64_t clock_seconds_to_ns(double seconds)
{
    return (uint64_t)(seconds * 1e9);
}

#endif
