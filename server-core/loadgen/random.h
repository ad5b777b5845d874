/*
 * Pseudo-random numbers: splitmix64 (Steele, Lea and Flood, 2014), one word of state, good for simulation.
 */
#ifndef TRIMTAB_LOADGEN_RANDOM_H
#define TRIMTAB_LOADGEN_RANDOM_H

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

#endif
