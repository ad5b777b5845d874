/*
 * See arrivals.h.
 */
#include "arrivals.h"

#include "random.h"

#include <math.h>

static double exponential_gap(struct arrivals *arrivals)
{
    return -log(random_uniform(&arrivals->random_state)) * arrivals->interval_ns;
}

void arrivals_init(struct arrivals *arrivals, double rate_per_s, bool poisson, uint64_t seed)
{
    *arrivals = (struct arrivals){.interval_ns = 1e9 / rate_per_s, .poisson = poisson, .random_state = seed};
    if (poisson)
        arrivals->next_ns = exponential_gap(arrivals);
}

void arrivals_advance(struct arrivals *arrivals)
{
    arrivals->index++;
    if (arrivals->poisson)
        arrivals->next_ns += exponential_gap(arrivals);
    else
        arrivals->next_ns = (double)arrivals->index * arrivals->interval_ns;
}
