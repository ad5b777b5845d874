/* The log-linear histogram; histogram.h says how it works. */
#include "histogram.h"

#include <stdlib.h>

enum { VALUE_BITS = 40 };

/* Relaxed atomics make plain loads and stores that the compiler may neither tear nor cache: all
 * that one writer and many readers need. */
static uint64_t load(const uint64_t *cell)
{
    return __atomic_load_n(cell, __ATOMIC_RELAXED);
}

static void store(uint64_t *cell, uint64_t value)
{
    __atomic_store_n(cell, value, __ATOMIC_RELAXED);
}

static void add(uint64_t *cell, uint64_t amount)
{
    store(cell, load(cell) + amount);
}

static uint32_t bucket_count(unsigned precision_bits)
{
    uint32_t exact = 1U << precision_bits;
    uint32_t per_octave = exact / 2;
    return exact + (VALUE_BITS - precision_bits) * per_octave;
}

static uint32_t bucket_of(const struct histogram *h, uint64_t value)
{
    unsigned precision = h->precision_bits;
    if (value >> precision == 0)
        return (uint32_t)value;
    if (value >> VALUE_BITS != 0)
        return h->bucket_count - 1;
    /* Dropping `shift` low bits leaves a number of exactly `precision` bits: its upper half. */
    unsigned shift = (unsigned)(64 - __builtin_clzll(value)) - precision;
    uint32_t per_octave = 1U << (precision - 1);
    return shift * per_octave + (uint32_t)(value >> shift);
}

static uint64_t largest_value_in(const struct histogram *h, uint32_t bucket)
{
    uint32_t per_octave = 1U << (h->precision_bits - 1);
    if (bucket < 2 * per_octave)
        return bucket;
    unsigned shift = bucket / per_octave - 1;
    uint64_t upper_half = bucket % per_octave + per_octave;
    return ((upper_half + 1) << shift) - 1;
}

size_t histogram_bytes(unsigned precision_bits)
{
    return sizeof(struct histogram) + bucket_count(precision_bits) * sizeof(uint64_t);
}

struct histogram *histogram_init(void *memory, unsigned precision_bits)
{
    struct histogram *h = memory;
    h->precision_bits = precision_bits;
    h->bucket_count = bucket_count(precision_bits);
    histogram_clear(h);
    return h;
}

struct histogram *histogram_new(unsigned precision_bits)
{
    void *memory = malloc(histogram_bytes(precision_bits));
    return memory == NULL ? NULL : histogram_init(memory, precision_bits);
}

void histogram_clear(struct histogram *h)
{
    store(&h->count, 0);
    store(&h->sum, 0);
    store(&h->max, 0);
    for (uint32_t i = 0; i < h->bucket_count; i++)
        store(&h->buckets[i], 0);
}

void histogram_record(struct histogram *h, uint64_t value)
{
    histogram_record_many(h, value, 1);
}

void histogram_record_many(struct histogram *h, uint64_t value, uint64_t times)
{
    add(&h->buckets[bucket_of(h, value)], times);
    add(&h->count, times);
    add(&h->sum, value * times);
    if (value > load(&h->max))
        store(&h->max, value);
}

void histogram_set_totals(struct histogram *h, uint64_t sum, uint64_t max)
{
    store(&h->sum, sum);
    store(&h->max, max);
}

bool histogram_merge(struct histogram *to, const struct histogram *from)
{
    if (to->precision_bits != from->precision_bits)
        return false;
    for (uint32_t i = 0; i < to->bucket_count; i++)
        add(&to->buckets[i], load(&from->buckets[i]));
    add(&to->count, load(&from->count));
    add(&to->sum, load(&from->sum));
    if (load(&from->max) > load(&to->max))
        store(&to->max, load(&from->max));
    return true;
}

bool histogram_subtract(struct histogram *h, const struct histogram *from)
{
    if (h->precision_bits != from->precision_bits)
        return false;
    for (uint32_t i = 0; i < h->bucket_count; i++)
        store(&h->buckets[i], load(&h->buckets[i]) - load(&from->buckets[i]));
    store(&h->count, load(&h->count) - load(&from->count));
    store(&h->sum, load(&h->sum) - load(&from->sum));
    return true;
}

uint64_t histogram_count(const struct histogram *h)
{
    return load(&h->count);
}

uint64_t histogram_max(const struct histogram *h)
{
    return load(&h->max);
}

uint64_t histogram_sum(const struct histogram *h)
{
    return load(&h->sum);
}

double histogram_mean(const struct histogram *h)
{
    uint64_t count = load(&h->count);
    return count == 0 ? 0.0 : (double)load(&h->sum) / (double)count;
}

uint64_t histogram_quantile(const struct histogram *h, double q)
{
    /* Counted over the buckets, so that a reader beside the writer divides what it also walks. */
    uint64_t total = 0;
    for (uint32_t i = 0; i < h->bucket_count; i++)
        total += load(&h->buckets[i]);
    if (total == 0)
        return 0;

    double wanted = q * (double)total;
    uint64_t max = load(&h->max);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < h->bucket_count; i++) {
        seen += load(&h->buckets[i]);
        if (seen > 0 && (double)seen >= wanted) {
            uint64_t value = largest_value_in(h, i);
            return i == h->bucket_count - 1 || value > max ? max : value;
        }
    }
    return max;
}

bool histogram_next(const struct histogram *h, uint32_t *position, uint64_t *value, uint64_t *count)
{
    for (uint32_t i = *position; i < h->bucket_count; i++) {
        uint64_t in_bucket = load(&h->buckets[i]);
        if (in_bucket != 0) {
            *position = i + 1;
            *value = largest_value_in(h, i);
            *count = in_bucket;
            return true;
        }
    }
    return false;
}
