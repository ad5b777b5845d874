/*
 * A log-linear histogram of non-negative integers (mostly microseconds).
 *
 * DESIGN
 * Values below 2^precision_bits have a bucket each. Above that every octave [2^k, 2^(k+1)) is cut
 * into 2^(precision_bits-1) buckets of equal width, so a bucket is never wider than
 * 2^(1-precision_bits) of the values in it: 11 bits give three significant digits, 5 bits 6 %.
 * Values from 2^40 on (12.7 days in microseconds) share the last bucket; their sum and maximum
 * stay exact.
 *
 * The structure has a fixed size for a given precision and holds no pointers, so it may live in
 * memory shared between processes. One writer at a time; any number of readers may look at the
 * same moment, without locks: they see every bucket either before or after an increment. Two
 * histograms of the same precision add up exactly (histogram_merge), across processes and
 * machines.
 */
#ifndef TRIMTAB_HISTOGRAM_H
#define TRIMTAB_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HISTOGRAM_PRECISION_MIN = 2,
    HISTOGRAM_PRECISION_MAX = 14,
    /* Three significant digits: buckets at most 1/1024 of their values wide. */
    HISTOGRAM_PRECISION_3_DIGITS = 11,
};

struct histogram {
    uint32_t precision_bits;
    uint32_t bucket_count;
    uint64_t count; /* recorded values */
    uint64_t sum;   /* of the recorded values, modulo 2^64 */
    uint64_t max;   /* largest recorded value, 0 if none */
    uint64_t buckets[];
};

/* Bytes that a histogram of this precision takes; precision_bits within the limits above. */
size_t histogram_bytes(unsigned precision_bits);

/* Makes an empty histogram of `memory`, which has room for histogram_bytes(precision_bits) and is
 * aligned for uint64_t. Returns `memory`. */
struct histogram *histogram_init(void *memory, unsigned precision_bits);

/* Allocates and initialises a histogram; NULL when there is no memory. Released with free(). */
struct histogram *histogram_new(unsigned precision_bits);

/* Forgets all values; only the writer may do this. */
void histogram_clear(struct histogram *h);

void histogram_record(struct histogram *h, uint64_t value);

/* Records `value` `times` times. */
void histogram_record_many(struct histogram *h, uint64_t value, uint64_t times);

/* Replaces the sum and the maximum, which the buckets alone do not tell exactly: the last step when a
 * histogram is restored from what histogram_next has told. */
void histogram_set_totals(struct histogram *h, uint64_t sum, uint64_t max);

/* Adds all values of `from` to `to`. Returns false, and changes nothing, when their precisions
 * differ. */
bool histogram_merge(struct histogram *to, const struct histogram *from);

/* Takes the values of `from` out of `h` again, which must have been merged into it or recorded before; the
 * largest value stays what it was. Returns false, and changes nothing, when their precisions differ. */
bool histogram_subtract(struct histogram *h, const struct histogram *from);

uint64_t histogram_count(const struct histogram *h);
uint64_t histogram_max(const struct histogram *h);

/* Sum of the recorded values, modulo 2^64. */
uint64_t histogram_sum(const struct histogram *h);

/* Arithmetic mean of the recorded values (exact, not from buckets); 0 when empty. */
double histogram_mean(const struct histogram *h);

/* The smallest bucket bound that at least the share `q` (0…1) of the values does not exceed, and
 * never more than the maximum: a quantile is overstated by at most one bucket width and never
 * understated. 0 when empty. */
uint64_t histogram_quantile(const struct histogram *h, double q);

/* Walks over the non-empty buckets in ascending order. Start with *position = 0; each call that
 * returns true has put the largest value belonging to a bucket and the bucket's count into *value
 * and *count. Recording *value *count times into an empty histogram of the same precision restores
 * the buckets. */
bool histogram_next(const struct histogram *h, uint32_t *position, uint64_t *value, uint64_t *count);

#endif
