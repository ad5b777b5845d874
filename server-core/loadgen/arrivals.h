/*
 * When sessions begin: the arrival clock of an open loop.
 *
 * The moments are computed from the start of the run and from nothing else: neither replies nor delays of the
 * generator move them. Deterministic arrivals are equally spaced, the n-th (from 0) at n × interval, so
 * rounding never adds up. Poisson arrivals have independent, exponentially distributed gaps of the same mean,
 * the first gap before the first arrival, and are the same for the same seed.
 */
#ifndef TRIMTAB_LOADGEN_ARRIVALS_H
#define TRIMTAB_LOADGEN_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

struct arrivals {
    double interval_ns;
    bool poisson;
    uint64_t index;        /* of the next arrival */
    uint64_t random_state; /* of the generator of the gaps */
    double next_ns;        /* of the next arrival, from the start */
};

/* Gets the clock ready: `rate_per_s` > 0 arrivals a second in the mean. */
void arrivals_init(struct arrivals *arrivals, double rate_per_s, bool poisson, uint64_t seed);

/* Returns the moment of the next arrival in nanoseconds from the start of the run. */
static inline uint64_t arrivals_next_ns(const struct arrivals *arrivals)
{
    return (uint64_t)arrivals->next_ns;
}

/* Goes on to the arrival after the next one. */
void arrivals_advance(struct arrivals *arrivals);

#endif
