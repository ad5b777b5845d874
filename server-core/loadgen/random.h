/*
 * Pseudo-random numbers: splitmix64 (Steele, Lea and Flood, 2014), one word of state, good for simulation.
 */
#ifndef TRIMTAB_LOADGEN_RANDOM_H
#define TRIMTAB_LOADGEN_RANDOM_H

#include <math.h>
#include <stdint.h>

#define RANDOM_GAMMA UINT64_C(0x9e3779b97f4a7c15)

/* The generator's output function: mixes the bits of `z`. */
static inline uint64_t random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Returns a uniform random number in (0, 1], of the 53 bits that a double holds, and advances *state. */
static inline double random_uniform(uint64_t *state)
{
    return (double)((random_mix(*state += RANDOM_GAMMA) >> 11) + 1) * 0x1p-53;
}

/* The distributions below are drawn by inversion of a uniform number. */

static inline double random_exponential(uint64_t *state, double mean)
{
    return -log(random_uniform(state)) * mean;
}

/* Weibull: P(X > x) = exp(-(x / scale)^shape). */
static inline double random_weibull(uint64_t *state, double shape, double scale)
{
    return scale * pow(-log(random_uniform(state)), 1 / shape);
}

/* Pareto: P(X > x) = (minimum / x)^shape for x ≥ minimum. */
static inline double random_pareto(uint64_t *state, double shape, double minimum)
{
    return minimum * pow(random_uniform(state), -1 / shape);
}

#endif
