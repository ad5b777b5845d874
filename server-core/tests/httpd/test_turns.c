/*
 * Turns: who came first goes on first, nobody stands in line twice, and who leaves leaves no gap.
 */
#include "httpd/connection/turns.h"
#include "tests/unit.h"

static void test_all_go_on_in_the_order_in_which_they_came(void **state)
{
    struct turn all[3] = {0};
    struct turns turns = {0};

    (void)state;
    assert_null(turns_take(&turns));
    for (int i = 0; i < 3; i++)
        turns_append(&turns, &all[i]);
    assert_ptr_equal(turns_take(&turns), &all[0]);
    turns_append(&turns, &all[0]);
    assert_ptr_equal(turns_take(&turns), &all[1]);
    assert_ptr_equal(turns_take(&turns), &all[2]);
    assert_ptr_equal(turns_take(&turns), &all[0]);
    assert_null(turns_take(&turns));
}

static void test_one_that_is_there_already_keeps_its_turn(void **state)
{
    struct turn all[2] = {0};
    struct turns turns = {0};

    (void)state;
    turns_append(&turns, &all[0]);
    turns_append(&turns, &all[1]);
    turns_append(&turns, &all[0]);
    assert_ptr_equal(turns_take(&turns), &all[0]);
    assert_ptr_equal(turns_take(&turns), &all[1]);
    assert_null(turns_take(&turns));
}

static void test_one_that_leaves_is_passed_over_wherever_it_stands(void **state)
{
    (void)state;
    for (int leaving = 0; leaving < 3; leaving++) {
        struct turn all[3] = {0};
        struct turns turns = {0};

        for (int i = 0; i < 3; i++)
            turns_append(&turns, &all[i]);
        turns_remove(&turns, &all[leaving]);
        turns_remove(&turns, &all[leaving]); /* it is not there any more */
        for (int i = 0; i < 3; i++) {
            if (i != leaving)
                assert_ptr_equal(turns_take(&turns), &all[i]);
        }
        assert_null(turns_take(&turns));
        turns_append(&turns, &all[leaving]);
        assert_ptr_equal(turns_take(&turns), &all[leaving]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_go_on_in_the_order_in_which_they_came),
        cmocka_unit_test(test_one_that_is_there_already_keeps_its_turn),
        cmocka_unit_test(test_one_that_leaves_is_passed_over_wherever_it_stands),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
