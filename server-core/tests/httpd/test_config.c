/*
 * A configuration against the limits of a machine.
 */
#include "httpd/config/architecture.h"
#include "httpd/config/load.h"
#include "httpd/log.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

#define MAPPINGS 65530 /* what the kernel allows a process where nobody has set it */

static struct config config;
static char complaint[512];

/* Sets up a configuration; `max_connections` and `cache_entries` are given as text. */
static void configure(const char *architecture, const char *max_connections, const char *cache_entries)
{
    config_init(&config);
    assert_true(config_set(&config, "architecture", architecture, "test"));
    assert_true(config_set(&config, "max_connections", max_connections, "test"));
    assert_true(config_set(&config, "cache_entries", cache_entries, "test"));
    log_divert(complaint, sizeof(complaint));
}

static bool fits(void)
{
    const bool fitting = config_fit_mappings(&config, MAPPINGS);

    log_divert(NULL, 0);
    return fitting;
}

static void test_user_threads_without_room_for_their_stacks_are_refused(void **state)
{
    static const char *const architectures[] = {"knot", "nm"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        configure(architectures[i], "31700", "1000");
        assert_true(fits());
        config_release(&config);
        configure(architectures[i], "31800", "1000");
        assert_false(fits());
        assert_non_null(
            strstr(complaint, "max_connections = 31800: 31800 connections a process take 63600 "));
        assert_non_null(strstr(complaint, "65530 (vm.max_map_count)"));
        config_release(&config);
    }
}

static void test_cache_of_uring_is_capped_to_what_can_be_mapped(void **state)
{
    (void)state;
    configure("uring", "1000", "1000000");
    assert_true(fits());
    assert_int_equal(config_integer(&config, KNOB_CACHE_ENTRIES), MAPPINGS - 1000 - 2000);
    config_release(&config);
    configure("uring", "64000", "1000");
    assert_false(fits());
    config_release(&config);
}

static void test_who_maps_nothing_has_no_such_limit(void **state)
{
    (void)state;
    configure("symped", "1000000", "1000000");
    assert_true(fits());
    assert_int_equal(config_integer(&config, KNOB_CACHE_ENTRIES), 1000000);
    config_release(&config);
}

static bool is_common(enum knob_id id)
{
    static const enum knob_id none[] = {KNOB_COUNT};
    const struct architecture without = {.knobs = none};

    return architecture_understands(&without, id);
}

static void test_no_architecture_lists_a_knob_twice_or_one_that_all_have(void **state)
{
    const struct architecture *architecture;

    (void)state;
    for (size_t i = 0; (architecture = architecture_at(i)) != NULL; i++) {
        unsigned listed[KNOB_COUNT] = {0};

        for (const enum knob_id *id = architecture->knobs; *id != KNOB_COUNT; id++) {
            assert_false(is_common(*id));
            assert_int_equal(listed[*id]++, 0);
        }
    }
}

static const struct architecture *named(const char *name)
{
    size_t i = 0;

    while (strcmp(architecture_at(i)->name, name) != 0)
        i++;
    return architecture_at(i);
}

static void test_copies_take_the_knobs_of_what_can_be_copied_and_no_others(void **state)
{
    const struct architecture *n_copy = named("n-copy");
    const char *name;

    (void)state;
    for (size_t i = 0; (name = KNOBS[KNOB_COPY_OF].choice(i)) != NULL; i++) {
        assert_string_not_equal(name, "n-copy");
        for (const enum knob_id *id = named(name)->knobs; *id != KNOB_COUNT; id++)
            assert_true(architecture_understands(n_copy, *id));
    }
    assert_true(architecture_understands(n_copy, KNOB_READERS));  /* of the pipeline alone */
    assert_false(architecture_understands(n_copy, KNOB_HELPERS)); /* of those that cannot be copied */
    assert_false(architecture_understands(named("symped"), KNOB_READERS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_user_threads_without_room_for_their_stacks_are_refused),
        cmocka_unit_test(test_cache_of_uring_is_capped_to_what_can_be_mapped),
        cmocka_unit_test(test_who_maps_nothing_has_no_such_limit),
        cmocka_unit_test(test_no_architecture_lists_a_knob_twice_or_one_that_all_have),
        cmocka_unit_test(test_copies_take_the_knobs_of_what_can_be_copied_and_no_others),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
