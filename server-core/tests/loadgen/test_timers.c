/*
 * The heap of think times and the queue of timeouts, against what sorting would give.
 */
#include "loadgen/timers.h"
#include "tests/unit.h"

enum { COUNT = 1000 };

static uint64_t pseudo_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Alarms come back in the order of their moments, whatever the order they were set in. */
static void test_alarms_come_back_in_order(void **state)
{
    (void)state;
    static struct alarm alarms[COUNT];
    struct alarm_heap heap = {0};
    uint64_t random = 1, previous = 0;
    for (int i = 0; i < COUNT; i++)
        alarm_heap_add(&heap, &alarms[i], pseudo_random(&random) % 500);
    for (int i = 0; i < COUNT; i++) {
        struct alarm *first = alarm_heap_first(&heap);
        assert_int_equal(first->due_ns, alarm_heap_due_ns(&heap));
        assert_true(first->due_ns >= previous);
        previous = first->due_ns;
        alarm_heap_remove(&heap, first);
    }
    assert_null(alarm_heap_first(&heap));
    assert_true(alarm_heap_due_ns(&heap) == TIMER_NEVER);
    alarm_heap_free(&heap);
}

/* Alarms taken out of the middle do not come, and the others still come in order. */
static void test_removed_alarms_do_not_come(void **state)
{
    (void)state;
    static struct alarm alarms[COUNT];
    struct alarm_heap heap = {0};
    uint64_t random = 2, previous = 0;
    for (int i = 0; i < COUNT; i++)
        alarm_heap_add(&heap, &alarms[i], pseudo_random(&random));
    for (int i = 0; i < COUNT; i += 2)
        alarm_heap_remove(&heap, &alarms[i]);
    int left = 0;
    for (struct alarm *first; (first = alarm_heap_first(&heap)) != NULL; left++) {
        assert_int_equal(1, (first - alarms) % 2);
        assert_true(first->due_ns >= previous);
        previous = first->due_ns;
        alarm_heap_remove(&heap, first);
    }
    assert_int_equal(COUNT / 2, left);
    alarm_heap_free(&heap);
}

/* Timeouts come first in, first out; a cancelled one, at either end or between, is gone. */
static void test_timeouts_are_first_in_first_out(void **state)
{
    (void)state;
    struct timeout_queue queue;
    struct timeout timeouts[5];
    timeout_queue_init(&queue);
    assert_null(timeout_queue_first(&queue));
    assert_true(timeout_queue_due_ns(&queue) == TIMER_NEVER);
    for (uint64_t i = 0; i < 5; i++)
        timeout_queue_append(&queue, &timeouts[i], 10 * (i + 1));
    timeout_cancel(&timeouts[0]);
    timeout_cancel(&timeouts[2]);
    timeout_cancel(&timeouts[4]);
    assert_int_equal(20, timeout_queue_due_ns(&queue));
    assert_ptr_equal(&timeouts[1], timeout_queue_first(&queue));
    timeout_cancel(&timeouts[1]);
    assert_ptr_equal(&timeouts[3], timeout_queue_first(&queue));
    timeout_cancel(&timeouts[3]);
    assert_null(timeout_queue_first(&queue));
}

/* A due time before that of the last timeout cannot overtake it. */
static void test_timeout_never_overtakes_an_earlier_one(void **state)
{
    (void)state;
    struct timeout_queue queue;
    struct timeout first, second;
    timeout_queue_init(&queue);
    timeout_queue_append(&queue, &first, 100);
    timeout_queue_append(&queue, &second, 99);
    assert_ptr_equal(&first, timeout_queue_first(&queue));
    assert_int_equal(100, second.due_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alarms_come_back_in_order),
        cmocka_unit_test(test_removed_alarms_do_not_come),
        cmocka_unit_test(test_timeouts_are_first_in_first_out),
        cmocka_unit_test(test_timeout_never_overtakes_an_earlier_one),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
