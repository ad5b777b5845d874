/*
 * The arrival clock: exact spacing without drift, and Poisson gaps of the right shape.
 */
#include "loadgen/arrivals.h"
#include "tests/unit.h"

#include <math.h>

/* The millionth deterministic arrival is where a million intervals end, though the interval is no whole
 * number of nanoseconds. */
static void test_deterministic_arrivals_do_not_drift(void **state)
{
    (void)state;
    struct arrivals arrivals;
    arrivals_init(&arrivals, 30000.0 / 7.29, false, 1);
    assert_int_equal(0, arrivals_next_ns(&arrivals));
    for (int i = 0; i < 1000000; i++)
        arrivals_advance(&arrivals);
    assert_int_equal((uint64_t)(1000000 * (1e9 / (30000.0 / 7.29))), arrivals_next_ns(&arrivals));
}

/* One deterministic arrival follows another after one interval, rounded by a nanosecond at most. */
static void test_deterministic_arrivals_are_equally_spaced(void **state)
{
    (void)state;
    struct arrivals arrivals;
    uint64_t previous = 0;
    arrivals_init(&arrivals, 3000, false, 1);
    for (int i = 0; i < 1000; i++) {
        arrivals_advance(&arrivals);
        uint64_t gap = arrivals_next_ns(&arrivals) - previous;
        assert_in_range(gap, 333333, 333334);
        previous = arrivals_next_ns(&arrivals);
    }
}

/* Exponential gaps: their mean is the interval, and the share of gaps longer than the mean is 1/e. */
static void test_poisson_gaps_are_exponential(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    struct arrivals arrivals;
    uint64_t previous = 0;
    int longer = 0;
    arrivals_init(&arrivals, 1000, true, 42);
    for (int i = 0; i < COUNT; i++) {
        uint64_t moment = arrivals_next_ns(&arrivals);
        longer += moment - previous > 1000000;
        previous = moment;
        arrivals_advance(&arrivals);
    }
    /* Both lie within five standard deviations of a sample of this size. */
    assert_true(fabs((double)previous / COUNT / 1e6 - 1) < 5 / sqrt(COUNT));
    assert_true(fabs((double)longer / COUNT - exp(-1)) < 5 * 0.48 / sqrt(COUNT));
}

/* Equal seeds give equal arrivals, other seeds others. */
static void test_seed_determines_poisson_arrivals(void **state)
{
    (void)state;
    struct arrivals a, b, c;
    arrivals_init(&a, 1000, true, 7);
    arrivals_init(&b, 1000, true, 7);
    arrivals_init(&c, 1000, true, 8);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(arrivals_next_ns(&a), arrivals_next_ns(&b));
        assert_int_not_equal(arrivals_next_ns(&a), arrivals_next_ns(&c));
        arrivals_advance(&a);
        arrivals_advance(&b);
        arrivals_advance(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deterministic_arrivals_do_not_drift),
        cmocka_unit_test(test_deterministic_arrivals_are_equally_spaced),
        cmocka_unit_test(test_poisson_gaps_are_exponential),
        cmocka_unit_test(test_seed_determines_poisson_arrivals),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
