/*
 * Size classes: exact up to 64 sizes, powers of two beyond, nothing lost on the way.
 */
#include "loadgen/size_classes.h"
#include "tests/unit.h"

#include <string.h>

static struct size_classes classes;

static int clear(void **state)
{
    (void)state;
    memset(&classes, 0, sizeof(classes));
    return 0;
}

/* Sixty-four sizes have a class each, in ascending order, though they came in another. */
static void test_64_sizes_stay_exact(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 64 * 3; i++)
        size_classes_count(&classes, i * 37 % 64 * 100, OUTCOME_REPLIED);
    assert_false(classes.powers_of_two);
    assert_int_equal(64, classes.count);
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(i * 100, classes.classes[i].size_bytes);
        assert_int_equal(3, size_class_asked(&classes.classes[i]));
    }
}

/* The 65th size folds all of them into powers of two, with their counts. */
static void test_65th_size_folds_into_powers_of_two(void **state)
{
    (void)state;
    for (uint64_t size = 1; size <= 65; size++)
        size_classes_count(&classes, size, size % 2 ? OUTCOME_FAILED : OUTCOME_ABANDONED);
    size_classes_count(&classes, 0, OUTCOME_REPLIED);
    size_classes_count(&classes, 921600, OUTCOME_REPLIED);
    static const struct {
        uint64_t size_bytes, asked, failed;
    } expected[] = {{0, 1, 0},  {1, 1, 1},   {2, 1, 0},    {4, 2, 1},   {8, 4, 2},
                    {16, 8, 4}, {32, 16, 8}, {64, 32, 16}, {128, 1, 1}, {1048576, 1, 0}};
    assert_true(classes.powers_of_two);
    assert_int_equal(sizeof(expected) / sizeof(expected[0]), classes.count);
    for (unsigned i = 0; i < classes.count; i++) {
        assert_int_equal(expected[i].size_bytes, classes.classes[i].size_bytes);
        assert_int_equal(expected[i].asked, size_class_asked(&classes.classes[i]));
        assert_int_equal(expected[i].failed, classes.classes[i].outcomes[OUTCOME_FAILED]);
    }
}

/* A power of two is the upper bound of its own class. */
static void test_power_of_two_belongs_to_its_own_class(void **state)
{
    (void)state;
    for (uint64_t size = 1; size <= 65; size++)
        size_classes_count(&classes, size, OUTCOME_REPLIED);
    size_classes_count(&classes, 1024, OUTCOME_REPLIED);
    size_classes_count(&classes, 1025, OUTCOME_REPLIED);
    assert_int_equal(1024, classes.classes[classes.count - 2].size_bytes);
    assert_int_equal(2048, classes.classes[classes.count - 1].size_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_64_sizes_stay_exact, clear),
        cmocka_unit_test_setup(test_65th_size_folds_into_powers_of_two, clear),
        cmocka_unit_test_setup(test_power_of_two_belongs_to_its_own_class, clear),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
