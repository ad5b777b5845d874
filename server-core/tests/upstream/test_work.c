/*
 * What is worked on and who waits, by a clock that the test holds.
 */
#include "common/clock.h"
#include "tests/unit.h"
#include "upstream/query.h"
#include "upstream/work.h"

#include <string.h>

/* With two places the third request waits for the first one's end, and takes its own time from there. */
static void test_a_request_waits_for_a_place(void **state)
{
    (void)state;
    struct work work = {.concurrency = 2};
    struct job jobs[3];
    for (int i = 0; i < 3; i++)
        work_take(&work, &jobs[i], 1000 * (uint64_t)(i + 1), 0);
    assert_int_equal(1, work.queued);
    assert_true(work_due_ns(&work) == 1 * NS_PER_MS);
    assert_null(work_next_done(&work, NS_PER_MS - 1));
    assert_ptr_equal(&jobs[0], work_next_done(&work, NS_PER_MS));
    assert_int_equal(0, work.queued);
    assert_ptr_equal(&jobs[1], work_next_done(&work, 2 * NS_PER_MS));
    assert_true(work_due_ns(&work) == 4 * NS_PER_MS); /* begun at 1 ms, takes 3 */
    assert_ptr_equal(&jobs[2], work_next_done(&work, 4 * NS_PER_MS));
    assert_true(work_due_ns(&work) == TIMER_NEVER);
    assert_int_equal(1, work.counts.waited);
    assert_int_equal(1000, work.counts.wait_us);
    assert_int_equal(6000, work.counts.service_us);
    assert_int_equal(0, work.counts.late);
    alarm_heap_free(&work.in_service);
}

/* Those that wait come in the order in which they came, also when one in the middle is given up. */
static void test_the_line_keeps_its_order(void **state)
{
    (void)state;
    struct work work = {.concurrency = 1};
    struct job jobs[5];
    for (int i = 0; i < 5; i++)
        work_take(&work, &jobs[i], 0, 0);
    assert_int_equal(4, work.counts.queue_length_max);
    work_drop(&work, &jobs[2], 0);
    work_drop(&work, &jobs[4], 0);
    assert_ptr_equal(&jobs[0], work_next_done(&work, 0));
    assert_ptr_equal(&jobs[1], work_next_done(&work, 0));
    assert_ptr_equal(&jobs[3], work_next_done(&work, 0));
    assert_null(work_next_done(&work, 0));
    assert_int_equal(0, work.queued);
    alarm_heap_free(&work.in_service);
}

/* Who gives up a request that is worked on makes room for the next. */
static void test_a_dropped_request_frees_its_place(void **state)
{
    (void)state;
    struct work work = {.concurrency = 1};
    struct job first, second;
    work_take(&work, &first, 5000, 0);
    work_take(&work, &second, 1000, 0);
    work_drop(&work, &first, NS_PER_MS);
    work_drop(&work, &first, NS_PER_MS);
    assert_ptr_equal(&second, work_next_done(&work, 2 * NS_PER_MS));
    alarm_heap_free(&work.in_service);
}

/* A request that ends a tenth of its time too late is counted; one that ends a little late is not. */
static void test_late_ends_are_counted(void **state)
{
    (void)state;
    struct work work = {0};
    struct job a, b, c;
    work_take(&work, &a, 100000, 0);
    assert_ptr_equal(&a, work_next_done(&work, 109 * NS_PER_MS));
    assert_int_equal(0, work.counts.late);
    work_take(&work, &b, 100000, 0);
    assert_ptr_equal(&b, work_next_done(&work, 111 * NS_PER_MS));
    assert_int_equal(1, work.counts.late);
    work_take(&work, &c, 0, 0);
    assert_ptr_equal(&c, work_next_done(&work, 2 * NS_PER_MS));
    assert_int_equal(2, work.counts.late);
    alarm_heap_free(&work.in_service);
}

static bool parse(const char *target, struct query *query)
{
    return query_parse(target, strlen(target), query);
}

/* Size and time are read as they stand; everything else is refused. */
static void test_queries_are_read_strictly(void **state)
{
    (void)state;
    struct query query;
    assert_true(parse("/dynamic/drawn?size=16384&us=2500", &query));
    assert_int_equal(16384, query.size_bytes);
    assert_int_equal(2500, query.service_us);
    assert_true(parse("/dynamic/drawn?size=0", &query));
    assert_int_equal(0, query.service_us);
    assert_true(parse("/dynamic/drawn?size=1073741824", &query));
    assert_false(parse("/dynamic/drawn?size=1073741825", &query));
    assert_false(parse("/dynamic/drawn?size=99999999999999999999999", &query));
    assert_false(parse("/dynamic/drawn?size=1&us=3600000001", &query));
    assert_false(parse("/dynamic/drawn?size=", &query));
    assert_false(parse("/dynamic/drawn?size=1&us=", &query));
    assert_false(parse("/dynamic/drawn?size=1&us=1 ", &query));
    assert_false(parse("/dynamic/drawn?size=-1", &query));
    assert_false(parse("/dynamic", &query));
    assert_false(parse("", &query));
    assert_true(query_is_status("/status", 7));
    assert_false(query_is_status("/statu", 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_waits_for_a_place),
        cmocka_unit_test(test_the_line_keeps_its_order),
        cmocka_unit_test(test_a_dropped_request_frees_its_place),
        cmocka_unit_test(test_late_ends_are_counted),
        cmocka_unit_test(test_queries_are_read_strictly),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
