/*
 * The distributions that pauses and bursts are drawn from.
 */
#include "loadgen/random.h"
#include "tests/unit.h"

enum { COUNT = 200000 };

/* Five standard deviations of a share of 1/2 or less among COUNT values. */
static const double TOLERANCE = 5 * 0.5 / 447.2;

static double weibull(uint64_t *state)
{
    return random_weibull(state, 0.382, 1.46);
}

static double pareto(uint64_t *state)
{
    return random_pareto(state, 1.5, 1);
}

static double exponential(uint64_t *state)
{
    return random_exponential(state, 3);
}

static double uniform(uint64_t *state)
{
    return random_uniform(state);
}

static double share_beyond(double (*draw)(uint64_t *), double limit)
{
    uint64_t random_state = 4711;
    int beyond = 0;

    for (int i = 0; i < COUNT; i++)
        beyond += draw(&random_state) > limit;
    return (double)beyond / COUNT;
}

/* The share of values beyond a limit is what the distribution says, in the middle and in the tail. */
static void test_shares_beyond_limits_are_as_defined(void **state)
{
    (void)state;
    const double limits[] = {0.1, 0.5, 0.9, 1.5, 2, 5, 20, 100};

    for (unsigned i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        double x = limits[i];
        assert_float_equal(exp(-pow(x / 1.46, 0.382)), share_beyond(weibull, x), TOLERANCE);
        assert_float_equal(x < 1 ? 1 : pow(1 / x, 1.5), share_beyond(pareto, x), TOLERANCE);
        assert_float_equal(exp(-x / 3), share_beyond(exponential, x), TOLERANCE);
        assert_float_equal(x > 1 ? 0 : 1 - x, share_beyond(uniform, x), TOLERANCE);
    }
}

/* Pauses are numbers of seconds: never negative, never infinite. */
static void test_values_are_finite_and_not_negative(void **state)
{
    (void)state;
    uint64_t random_state = 1;

    for (int i = 0; i < COUNT; i++) {
        double drawn[] = {weibull(&random_state), pareto(&random_state), exponential(&random_state)};
        for (unsigned k = 0; k < 3; k++)
            assert_true(isfinite(drawn[k]) && drawn[k] >= 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_beyond_limits_are_as_defined),
        cmocka_unit_test(test_values_are_finite_and_not_negative),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
