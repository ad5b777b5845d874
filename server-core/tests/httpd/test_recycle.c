/*
 * Who gives way, by a clock of our own: who has been idle longest, though not all are looked through each
 * time.
 */
#include "common/clock.h"
#include "httpd/connection/recycle.h"
#include "tests/unit.h"

#define NOW_NS (1000 * NS_PER_S)
#define MANY   1000

static struct worker worker;
static struct recycling recycling;
static struct connection connections[MANY];
static unsigned looked_at;

static int start(void **state)
{
    (void)state;
    worker = (struct worker){.now_ns = NOW_NS};
    timers_init(&worker.timers, NOW_NS);
    recycling = (struct recycling){0};
    looked_at = 0;
    return 0;
}

/* Opens a connection that has been idle since then. */
static void open_idle(struct connection *connection, uint64_t since_ns)
{
    *connection = (struct connection){.fd = -1, .started_ns = since_ns};
    timers_set(&worker.timers, &connection->timer, NOW_NS + 100 * NS_PER_S);
}

static void give_way(struct connection *connection)
{
    timers_cancel(&connection->timer);
    connection->state = CLOSED;
}

/* All fit; counts how many were asked about. */
static bool fits(const struct connection *connection, const void *user)
{
    (void)connection, (void)user;
    looked_at++;
    return true;
}

static struct connection *choose(void)
{
    return recycle_choose(&recycling, &worker, fits, NULL);
}

static void test_all_give_way_in_the_order_in_which_they_became_idle(void **state)
{
    uint64_t before_ns = 0;

    (void)state;
    for (uint64_t i = 0; i < MANY; i++)
        open_idle(&connections[i], NOW_NS - 10 * NS_PER_S + i * 617 % MANY * NS_PER_MS);
    for (int i = 0; i < MANY; i++) {
        struct connection *connection = choose();

        assert_non_null(connection);
        assert_true(connection->started_ns > before_ns);
        before_ns = connection->started_ns;
        give_way(connection);
    }
    assert_null(choose());
    assert_true(looked_at < 10 * MANY); /* and not half of them each time */
}

static void test_one_that_has_asked_meanwhile_is_passed_over(void **state)
{
    (void)state;
    open_idle(&connections[0], NOW_NS - 3 * NS_PER_S);
    open_idle(&connections[1], NOW_NS - 2 * NS_PER_S);
    assert_ptr_equal(choose(), &connections[0]);
    connections[0].started_ns = NOW_NS;
    assert_ptr_equal(choose(), &connections[1]);
    connections[1].state = SENDING;
    assert_null(choose());
}

static void test_next_connection_in_the_same_structure_is_not_taken_for_the_one_before(void **state)
{
    (void)state;
    open_idle(&connections[0], NOW_NS - 3 * NS_PER_S);
    open_idle(&connections[1], NOW_NS - 2 * NS_PER_S);
    assert_ptr_equal(choose(), &connections[0]);
    give_way(&connections[0]);
    open_idle(&connections[0], NOW_NS);
    assert_ptr_equal(choose(), &connections[1]);
}

static void test_nobody_gives_way_who_was_busy_a_moment_ago(void **state)
{
    (void)state;
    open_idle(&connections[0], NOW_NS - RECYCLE_IDLE_NS + 1);
    assert_null(choose());
    assert_false(recycling_look(&recycling, &worker));
    assert_true(recycling.again_ns == NOW_NS + 1);
    worker.now_ns = NOW_NS + 1;
    assert_ptr_equal(choose(), &connections[0]);
    assert_true(recycling_look(&recycling, &worker));
}

static void test_one_that_becomes_idle_later_is_found_as_soon_as_it_may_give_way(void **state)
{
    const uint64_t later_ns = NOW_NS + 10 * NS_PER_MS;

    (void)state;
    open_idle(&connections[0], NOW_NS - 3 * NS_PER_S);
    connections[0].state = SENDING;
    assert_false(recycling_look(&recycling, &worker));
    connections[0].state = READING;
    connections[0].started_ns = worker.now_ns = later_ns;
    assert_false(recycling_look(&recycling, &worker));
    worker.now_ns = recycling.again_ns;
    assert_false(recycling_look(&recycling, &worker));
    assert_true(recycling.again_ns == later_ns + RECYCLE_IDLE_NS);
    worker.now_ns = recycling.again_ns;
    assert_true(recycling_look(&recycling, &worker));
    assert_ptr_equal(choose(), &connections[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_all_give_way_in_the_order_in_which_they_became_idle, start),
        cmocka_unit_test_setup(test_one_that_has_asked_meanwhile_is_passed_over, start),
        cmocka_unit_test_setup(test_next_connection_in_the_same_structure_is_not_taken_for_the_one_before,
                               start),
        cmocka_unit_test_setup(test_nobody_gives_way_who_was_busy_a_moment_ago, start),
        cmocka_unit_test_setup(test_one_that_becomes_idle_later_is_found_as_soon_as_it_may_give_way, start),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
