/*
 * Hashes for tables in memory. They need no seed: only names and numbers of files that exist are ever
 * inserted, and a table of owners (arch/amped.c) has as many slots as it has.
 */
#ifndef TRIMTAB_HTTPD_CACHE_HASH_H
#define TRIMTAB_HTTPD_CACHE_HASH_H

#include <stdint.h>

/* Of a short text: FNV-1a, 32 bits. */
static inline uint32_t hash_text(const char *text)
{
    uint32_t hash = 2166136261u;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

/* Of a number: Fibonacci hashing (Knuth, TAOCP 6.4), of which the upper half is the better one. */
static inline uint32_t hash_number(uint64_t number)
{
    return (uint32_t)(number * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

#endif
