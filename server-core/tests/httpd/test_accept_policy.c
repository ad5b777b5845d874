/*
 * How many connections `accept_limit = auto` accepts.
 */
#include "httpd/config/knobs.h"
#include "httpd/connection/accept_policy.h"
#include "tests/unit.h"

static void test_the_longer_queue_is_emptied_more(void **state)
{
    (void)state;
    assert_int_equal(accept_policy_balance(10, 1024, 90), 1);
    assert_int_equal(accept_policy_balance(50, 1024, 50), 25);
    assert_int_equal(accept_policy_balance(90, 1024, 10), 81);
}

static void test_all_are_accepted_when_nobody_has_work(void **state)
{
    (void)state;
    assert_int_equal(accept_policy_balance(10, 1024, 0), 10);
}

static void test_one_is_always_accepted(void **state)
{
    (void)state;
    assert_int_equal(accept_policy_balance(1, 1024, 1000), 1);
    assert_int_equal(accept_policy_balance(0, 1024, 0), 1);
    assert_int_equal(accept_policy_balance(0, 1024, UINT32_MAX), 1);
}

static void test_a_queue_that_is_nearly_full_is_emptied(void **state)
{
    (void)state;
    assert_int_not_equal(accept_policy_balance(767, 1024, 100000), KNOB_INF);
    assert_int_equal(accept_policy_balance(768, 1024, 100000), KNOB_INF);
    assert_int_equal(accept_policy_balance(1, 1, 100000), KNOB_INF);
    assert_int_equal(accept_policy_balance(UINT32_MAX, UINT32_MAX, UINT32_MAX), KNOB_INF);
}

static void test_without_a_listener_there_is_no_limit(void **state)
{
    (void)state;
    assert_int_equal(accept_policy_balance_listener(-1, 10), KNOB_INF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_longer_queue_is_emptied_more),
        cmocka_unit_test(test_all_are_accepted_when_nobody_has_work),
        cmocka_unit_test(test_one_is_always_accepted),
        cmocka_unit_test(test_a_queue_that_is_nearly_full_is_emptied),
        cmocka_unit_test(test_without_a_listener_there_is_no_limit),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
