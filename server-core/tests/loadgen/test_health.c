/*
 * When a result is the server's, and when the generator was the limit.
 */
#include "loadgen/health.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

static struct account *account;
static struct health health;

static int open_account(void **state)
{
    (void)state;
    account = account_new(0, UINT64_MAX);
    return 0;
}

static int close_account(void **state)
{
    (void)state;
    free(account);
    return 0;
}

/* So many arrivals, `late` of them by `late_us`. */
static void arrive(unsigned arrivals, unsigned late, uint64_t late_us)
{
    for (unsigned i = 0; i < arrivals; i++) {
        account_arrival(account, 1);
        account_start(account, 5000, 5000 + (i < late ? late_us * 1000 : 0));
    }
}

static void assert_limited(const char *reason_part)
{
    assert_string_equal("generator-limited", health_verdict(&health));
    assert_int_equal(1, health.reason_count);
    assert_non_null(strstr(health.reasons[0], reason_part));
}

/* A few very late arrivals of a thousand are the tail of a busy machine. */
static void test_few_late_arrivals_are_ok(void **state)
{
    (void)state;
    arrive(1000, 5, 50000);
    health_judge(&health, account, false, 0.9);
    assert_string_equal("ok", health_verdict(&health));
    assert_int_equal(5, account->late_arrivals);
    assert_int_equal(50000, health.lateness_max_us);
}

/* Two percent beyond the limit mean that the load was not the one asked for. */
static void test_two_percent_of_late_arrivals_are_limited(void **state)
{
    (void)state;
    arrive(1000, 20, 12000);
    health_judge(&health, account, false, 0.5);
    assert_limited("20 of 1000 arrivals were more than 10000 us late");
}

/* One late arrival of twenty says nothing about the generator; five of a hundred do. */
static void test_unlucky_moment_of_a_tiny_run_is_ok(void **state)
{
    (void)state;
    arrive(20, 1, 30000);
    health_judge(&health, account, false, 0.1);
    assert_string_equal("ok", health_verdict(&health));
    arrive(80, 4, 30000);
    health_judge(&health, account, false, 0.1);
    assert_limited("5 of 100 arrivals");
}

/* A saturated CPU is no fault while arrivals are on time. */
static void test_saturated_cpu_alone_is_ok(void **state)
{
    (void)state;
    arrive(1000, 1000, 500);
    health_judge(&health, account, false, 1.0);
    assert_string_equal("ok", health_verdict(&health));
    assert_int_equal(0, account->late_arrivals);
}

/* A saturated CPU with arrivals late by more than a millisecond is one. */
static void test_saturated_cpu_with_late_arrivals_is_limited(void **state)
{
    (void)state;
    arrive(1000, 20, 2000);
    health_judge(&health, account, false, 0.98);
    assert_limited("98 % of its CPU");
}

/* One dropped session is enough, whatever the reason. */
static void test_any_dropped_session_is_limited(void **state)
{
    (void)state;
    static const struct {
        enum drop drop;
        const char *reason;
    } cases[] = {
        {DROP_PORTS, "no local port"}, {DROP_DESCRIPTORS, "open files"}, {DROP_LATENESS, "connect timeout"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        account->sessions_dropped[DROP_PORTS] = account->sessions_dropped[DROP_DESCRIPTORS] = 0;
        account->sessions_dropped[cases[i].drop] = 1;
        health_judge(&health, account, false, 0.1);
        assert_limited(cases[i].reason);
    }
}

#define HEALTH_TEST(name) cmocka_unit_test_setup_teardown(name, open_account, close_account)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HEALTH_TEST(test_few_late_arrivals_are_ok),
        HEALTH_TEST(test_two_percent_of_late_arrivals_are_limited),
        HEALTH_TEST(test_unlucky_moment_of_a_tiny_run_is_ok),
        HEALTH_TEST(test_saturated_cpu_alone_is_ok),
        HEALTH_TEST(test_saturated_cpu_with_late_arrivals_is_limited),
        HEALTH_TEST(test_any_dropped_session_is_limited),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
