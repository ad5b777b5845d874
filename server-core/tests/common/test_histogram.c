/* Tests of common/histogram: bucket widths, exact fields, quantiles, merging. */
#include "common/histogram.h"
#include "tests/unit.h"

#include <stdlib.h>

/* Small values are told apart whatever the precision: quantiles of 1…10 are exact. */
static void test_small_values_are_exact(void **state)
{
    (void)state;
    struct histogram *h = histogram_new(5);
    for (uint64_t v = 1; v <= 10; v++)
        histogram_record(h, v);
    assert_int_equal(10, histogram_count(h));
    assert_int_equal(10, histogram_max(h));
    assert_float_equal(5.5, histogram_mean(h), 0);
    assert_int_equal(5, histogram_quantile(h, 0.5));
    assert_int_equal(9, histogram_quantile(h, 0.9));
    assert_int_equal(10, histogram_quantile(h, 1.0));
    assert_int_equal(1, histogram_quantile(h, 0.0));
    free(h);
}

/* An empty histogram answers zero to every question. */
static void test_empty_histogram_yields_zero(void **state)
{
    (void)state;
    struct histogram *h = histogram_new(HISTOGRAM_PRECISION_3_DIGITS);
    uint32_t position = 0;
    uint64_t value, count;
    assert_int_equal(0, histogram_quantile(h, 0.99));
    assert_float_equal(0.0, histogram_mean(h), 0);
    assert_int_equal(0, histogram_max(h));
    assert_false(histogram_next(h, &position, &value, &count));
    free(h);
}

/* At every precision, each value lies in a bucket that is not wider than the promise and whose bound
 * is not below it; checked round every power of two and at random places. */
static void test_bucket_bound_is_within_the_promised_error(void **state)
{
    (void)state;
    for (unsigned precision = HISTOGRAM_PRECISION_MIN; precision <= HISTOGRAM_PRECISION_MAX; precision++) {
        struct histogram *h = histogram_new(precision);
        uint64_t random = 88172645463325252ULL;
        for (int i = 0; i < 200; i++) {
            uint64_t value;
            if (i < 120) {
                value = (1ULL << (i / 3)) + (uint64_t)(i % 3) - 1;
            } else {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                value = random >> (24 + i % 40);
            }
            histogram_clear(h);
            histogram_record(h, value);
            uint32_t position = 0;
            uint64_t bound, count;
            assert_true(histogram_next(h, &position, &bound, &count));
            assert_int_equal(1, count);
            assert_true(bound >= value);
            assert_true((double)(bound - value) <= (double)value / (double)(1ULL << (precision - 1)));
            assert_false(histogram_next(h, &position, &bound, &count));
        }
        free(h);
    }
}

/* Values beyond the last bucket keep their exact maximum and sum, and stay countable. */
static void test_huge_value_is_kept_in_the_last_bucket(void **state)
{
    (void)state;
    struct histogram *h = histogram_new(HISTOGRAM_PRECISION_3_DIGITS);
    histogram_record(h, 1ULL << 50);
    assert_int_equal(1, histogram_count(h));
    assert_int_equal(1ULL << 50, histogram_max(h));
    assert_int_equal(1ULL << 50, histogram_quantile(h, 0.5));
    free(h);
}

/* A histogram of all values equals the merge of two of its halves, bucket by bucket. */
static void test_merge_of_halves_equals_the_whole(void **state)
{
    (void)state;
    struct histogram *parts[2] = {histogram_new(HISTOGRAM_PRECISION_3_DIGITS),
                                  histogram_new(HISTOGRAM_PRECISION_3_DIGITS)};
    struct histogram *whole = histogram_new(HISTOGRAM_PRECISION_3_DIGITS);
    for (uint64_t i = 0; i < 5000; i++) {
        uint64_t value = i * i * 37;
        histogram_record(parts[i % 2], value);
        histogram_record(whole, value);
    }
    assert_true(histogram_merge(parts[0], parts[1]));
    assert_memory_equal(whole, parts[0], histogram_bytes(HISTOGRAM_PRECISION_3_DIGITS));
    free(parts[0]);
    free(parts[1]);
    free(whole);
}

/* Buckets of different widths do not add up, so the merge is refused and nothing changes. */
static void test_merge_of_other_precision_is_refused(void **state)
{
    (void)state;
    struct histogram *coarse = histogram_new(5);
    struct histogram *fine = histogram_new(11);
    histogram_record(fine, 7);
    assert_false(histogram_merge(coarse, fine));
    assert_int_equal(0, histogram_count(coarse));
    free(coarse);
    free(fine);
}

/* What histogram_next lists is enough to rebuild the buckets elsewhere. */
static void test_listed_buckets_restore_the_histogram(void **state)
{
    (void)state;
    struct histogram *original = histogram_new(HISTOGRAM_PRECISION_3_DIGITS);
    struct histogram *restored = histogram_new(HISTOGRAM_PRECISION_3_DIGITS);
    for (uint64_t value = 1; value < 1ULL << 39; value = value * 3 + 1)
        histogram_record(original, value);
    uint32_t position = 0;
    uint64_t value, count;
    while (histogram_next(original, &position, &value, &count))
        for (uint64_t i = 0; i < count; i++)
            histogram_record(restored, value);
    assert_int_equal(original->bucket_count, restored->bucket_count);
    assert_memory_equal(original->buckets, restored->buckets, original->bucket_count * sizeof(uint64_t));
    free(original);
    free(restored);
}

/* What was merged can be taken out again, but for the maximum. */
static void test_subtracted_histogram_leaves_the_rest(void **state)
{
    (void)state;
    struct histogram *early = histogram_new(HISTOGRAM_PRECISION_3_DIGITS);
    struct histogram *all = histogram_new(HISTOGRAM_PRECISION_3_DIGITS);

    for (uint64_t value = 1; value <= 100; value++) {
        histogram_record(all, value);
        histogram_record(value <= 40 ? early : all, value);
    }
    assert_true(histogram_subtract(all, early));
    assert_int_equal(160 - 40, histogram_count(all));
    assert_int_equal(2 * 5050 - 2 * 820, histogram_sum(all));
    assert_int_equal(41, histogram_quantile(all, 0.01));
    free(early);
    free(all);
}

/* Walking over a histogram and recording what the walk tells restores it, sum and maximum included. */
static void test_walk_restores_a_histogram(void **state)
{
    (void)state;
    struct histogram *one = histogram_new(HISTOGRAM_PRECISION_3_DIGITS);
    struct histogram *copy = histogram_new(HISTOGRAM_PRECISION_3_DIGITS);
    uint32_t position = 0;
    uint64_t value, count;

    for (uint64_t i = 0; i < 1000; i++)
        histogram_record(one, i * i * 7919 % 1000003);
    while (histogram_next(one, &position, &value, &count))
        histogram_record_many(copy, value, count);
    histogram_set_totals(copy, histogram_sum(one), histogram_max(one));
    assert_memory_equal(one, copy, histogram_bytes(HISTOGRAM_PRECISION_3_DIGITS));
    free(one);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_subtracted_histogram_leaves_the_rest),
        cmocka_unit_test(test_walk_restores_a_histogram),
        cmocka_unit_test(test_small_values_are_exact),
        cmocka_unit_test(test_empty_histogram_yields_zero),
        cmocka_unit_test(test_bucket_bound_is_within_the_promised_error),
        cmocka_unit_test(test_huge_value_is_kept_in_the_last_bucket),
        cmocka_unit_test(test_merge_of_halves_equals_the_whole),
        cmocka_unit_test(test_merge_of_other_precision_is_refused),
        cmocka_unit_test(test_listed_buckets_restore_the_histogram),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
