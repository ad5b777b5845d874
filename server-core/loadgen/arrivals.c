/*
 * See arrivals.h.
 */
#include "arrivals.h"

#include <math.h>

/* A uniform random number in (0, 1]: splitmix64 (Steele, Lea and Flood, 2014), of whose 64 bits a double
 * holds 53. */
static double uniform(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (double)((z >> 11) + 1) * 0x1p-53;
}

static double exponential_gap(struct arrivals *arrivals)
{
    return -log(uniform(&arrivals->random_state)) * arrivals->interval_ns;
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
