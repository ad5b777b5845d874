/*
 * The arrival clock: exact spacing without drift, and Poisson gaps of the right shape.
 */
#include "loadgen/arrivals.h"
#include "tests/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The millionth deterministic arrival is where a million intervals end, though the interval is no whole
 * number of nanoseconds. */
static void test_deterministic_arrivals_do_not_drift(void **state)
{
    (void)state;
    struct arrivals arrivals;
    arrivals_init(&arrivals, ARRIVALS_DETERMINISTIC, NULL, 30000.0 / 7.29, 1);
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
    arrivals_init(&arrivals, ARRIVALS_DETERMINISTIC, NULL, 3000, 1);
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
    arrivals_init(&arrivals, ARRIVALS_POISSON, NULL, 1000, 42);
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
    arrivals_init(&a, ARRIVALS_POISSON, NULL, 1000, 7);
    arrivals_init(&b, ARRIVALS_POISSON, NULL, 1000, 7);
    arrivals_init(&c, ARRIVALS_POISSON, NULL, 1000, 8);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(arrivals_next_ns(&a), arrivals_next_ns(&b));
        assert_int_not_equal(arrivals_next_ns(&a), arrivals_next_ns(&c));
        arrivals_advance(&a);
        arrivals_advance(&b);
        arrivals_advance(&c);
    }
}

static struct arrival_trace trace;
static char error[256];

static bool read_trace(const char *text)
{
    FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    bool ok = arrival_trace_read(&trace, in, "file", error, sizeof(error));
    fclose(in);
    return ok;
}

/* A trace keeps its shape, is stretched to the rate, and repeats itself one mean gap after its end. */
static void test_trace_is_stretched_and_repeated(void **state)
{
    (void)state;
    struct arrivals arrivals;
    const double expected_ms[] = {0, 100, 700, 900, 1200, 1300, 1900, 2100, 2400};

    assert_true(read_trace("# three gaps\n0\n1.0\r\n7\n\n 9e0 \n"));
    assert_float_equal(4.0 / 12, arrival_trace_rate(&trace), 1e-12);
    arrivals_init(&arrivals, ARRIVALS_TRACE, &trace, 4 / 1.2, 1);
    for (unsigned i = 0; i < 9; i++) {
        assert_float_equal(expected_ms[i], (double)arrivals_next_ns(&arrivals) / 1e6, 1e-5);
        arrivals_advance(&arrivals);
    }
    arrival_trace_free(&trace);
}

/* What is no trace is refused with the line and what was expected. */
static void test_bad_trace_is_refused(void **state)
{
    (void)state;
    const struct {
        const char *text, *error;
    } cases[] = {
        {"0\n2\n1\n",
         "file:3: expected a moment in seconds, at most 1e+09 and not before that of the line before"},
        {"-1\n2\n",
         "file:1: expected a moment in seconds, at most 1e+09 and not before that of the line before"},
        {"1\nsoon\n",
         "file:2: expected a moment in seconds, at most 1e+09 and not before that of the line before"},
        {"1\nnan\n",
         "file:2: expected a moment in seconds, at most 1e+09 and not before that of the line before"},
        {"1\n1e10\n",
         "file:2: expected a moment in seconds, at most 1e+09 and not before that of the line before"},
        {"# 1\n5\n", "file: expected at least two different moments"},
        {"5\n5\n", "file: expected at least two different moments"},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_false(read_trace(cases[i].text));
        assert_string_equal(cases[i].error, error);
        arrival_trace_free(&trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deterministic_arrivals_do_not_drift),
        cmocka_unit_test(test_deterministic_arrivals_are_equally_spaced),
        cmocka_unit_test(test_poisson_gaps_are_exponential),
        cmocka_unit_test(test_seed_determines_poisson_arrivals),
        cmocka_unit_test(test_trace_is_stretched_and_repeated),
        cmocka_unit_test(test_bad_trace_is_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
