/*
 * Unit tests of arch/queue.c.
 */
#include "httpd/arch/queue.h"
#include "tests/unit.h"

#include <stdatomic.h>

static uint64_t waits;
static struct counters row;

static void items_leave_in_the_order_in_which_they_came(void **state)
{
    int numbers[6];
    void *in[] = {&numbers[0], &numbers[1], &numbers[2], &numbers[3], &numbers[4], &numbers[5]};
    void *out[6];
    struct queue queue;

    (void)state;
    assert_true(queue_init(&queue, 4, &row));
    assert_true(queue_push(&queue, in, 3, &waits));
    assert_int_equal(queue_pop(&queue, out, 2, 1, 0, &waits), 2);
    assert_ptr_equal(out[0], in[0]);
    assert_ptr_equal(out[1], in[1]);
    /* Now the ring wraps round. */
    assert_true(queue_push(&queue, in + 3, 3, &waits));
    assert_int_equal(row.queue_length, 4);
    assert_int_equal(queue_pop(&queue, out, 6, 1, 0, &waits), 4);
    for (int i = 0; i < 4; i++)
        assert_ptr_equal(out[i], in[i + 2]);
    assert_int_equal(queue_pop(&queue, out, 6, 1, 0, &waits), 0);
    assert_int_equal(row.queue_items, 6);
    assert_int_equal(row.queue_batches, 2);
    assert_int_equal(row.queue_length, 0);
    assert_int_equal(row.queue_length_max, 4);
    queue_release(&queue);
}

static void what_does_not_fit_is_refused_whole(void **state)
{
    int number;
    void *items[] = {&number, &number, &number};
    struct queue queue;

    (void)state;
    assert_true(queue_init(&queue, 2, &row));
    assert_false(queue_push(&queue, items, 3, &waits));
    assert_int_equal(row.queue_length, 0);
    assert_true(queue_push(&queue, items, 2, &waits));
    assert_false(queue_push(&queue, items, 1, &waits));
    queue_release(&queue);
}

static void one_of_several_consumers_takes_its_share_only(void **state)
{
    int number;
    void *items[10];
    struct queue queue;

    (void)state;
    for (size_t i = 0; i < 10; i++)
        items[i] = &number;
    assert_true(queue_init(&queue, 10, &row));
    assert_true(queue_push(&queue, items, 10, &waits));
    assert_int_equal(queue_pop(&queue, items, 10, 4, 0, &waits), 3);
    assert_int_equal(queue_pop(&queue, items, 10, 4, 0, &waits), 2);
    assert_int_equal(queue_pop(&queue, items, 10, 1, 0, &waits), 5);
    queue_release(&queue);
}

static void an_empty_queue_is_waited_for_no_longer_than_asked(void **state)
{
    void *item;
    struct queue queue;

    (void)state;
    assert_true(queue_init(&queue, 1, &row));
    assert_int_equal(queue_pop(&queue, &item, 1, 1, 1, &waits), 0);
    queue_close(&queue);
    assert_int_equal(queue_pop(&queue, &item, 1, 1, -1, &waits), 0);
    queue_release(&queue);
}

#define THREADS 4
#define ITEMS   20000

struct shared_queue {
    struct queue queue;
    char taken[ITEMS];
    _Atomic unsigned next, taken_count;
};

static void *produce(void *argument)
{
    struct shared_queue *shared = argument;
    uint64_t lock_waits = 0;
    unsigned i;

    while ((i = shared->next++) < ITEMS) {
        void *item = &shared->taken[i];

        assert_true(queue_push(&shared->queue, &item, 1, &lock_waits));
    }
    return NULL;
}

static void *consume(void *argument)
{
    struct shared_queue *shared = argument;
    uint64_t lock_waits = 0;
    void *items[16];
    size_t count;

    while ((count = queue_pop(&shared->queue, items, 16, THREADS, -1, &lock_waits)) > 0) {
        for (size_t i = 0; i < count; i++)
            ++*(char *)items[i];
        shared->taken_count += (unsigned)count;
    }
    return NULL;
}

static void many_threads_take_each_item_once(void **state)
{
    static struct shared_queue shared;
    pthread_t producers[THREADS], consumers[THREADS];

    (void)state;
    assert_true(queue_init(&shared.queue, ITEMS, &row));
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&consumers[i], NULL, consume, &shared), 0);
        assert_int_equal(pthread_create(&producers[i], NULL, produce, &shared), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(producers[i], NULL);
    queue_close(&shared.queue);
    for (int i = 0; i < THREADS; i++)
        pthread_join(consumers[i], NULL);
    assert_int_equal(shared.taken_count, ITEMS);
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(shared.taken[i], 1);
    queue_release(&shared.queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_leave_in_the_order_in_which_they_came),
        cmocka_unit_test(what_does_not_fit_is_refused_whole),
        cmocka_unit_test(one_of_several_consumers_takes_its_share_only),
        cmocka_unit_test(an_empty_queue_is_waited_for_no_longer_than_asked),
        cmocka_unit_test(many_threads_take_each_item_once),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
