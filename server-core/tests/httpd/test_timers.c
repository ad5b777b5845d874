/*
 * The timer wheel, driven by a clock of our own.
 */
#include "common/clock.h"
#include "httpd/connection/timers.h"
#include "tests/unit.h"

#include <stdbool.h>
#include <stdlib.h>

#define START_NS (1000 * NS_PER_S)
#define TICK_NS  (UINT64_C(1) << TIMER_TICK_SHIFT)

static struct timers timers;
static unsigned expirations;
static struct timer *last_expired;

static int start(void **state)
{
    (void)state;
    timers_init(&timers, START_NS);
    expirations = 0;
    last_expired = NULL;
    return 0;
}

static void note(void *user, struct timer *timer)
{
    (void)user;
    expirations++;
    last_expired = timer;
}

static void advance_to(uint64_t now_ns)
{
    timers_expire(&timers, now_ns, note, NULL);
}

static void test_timer_expires_after_its_deadline_and_never_before(void **state)
{
    const uint64_t delays_ns[] = {1, NS_PER_MS, NS_PER_S, 33 * NS_PER_S, 100 * NS_PER_S, 3600 * NS_PER_S};

    (void)state;
    for (size_t i = 0; i < sizeof(delays_ns) / sizeof(*delays_ns); i++) {
        struct timer timer = {0};
        const uint64_t deadline_ns = START_NS + delays_ns[i];

        start(NULL);
        timers_set(&timers, &timer, deadline_ns);
        for (uint64_t now_ns = START_NS; now_ns < deadline_ns; now_ns += delays_ns[i] / 10 + 1) {
            advance_to(now_ns);
            assert_int_equal(expirations, 0);
        }
        advance_to(deadline_ns + TICK_NS);
        assert_int_equal(expirations, 1);
        advance_to(deadline_ns + 100 * NS_PER_S);
        assert_int_equal(expirations, 1);
    }
}

static void test_deadline_that_is_put_off_does_not_expire_at_the_old_time(void **state)
{
    struct timer timer = {0};

    (void)state;
    timers_set(&timers, &timer, START_NS + NS_PER_S);
    timers_set(&timers, &timer, START_NS + 5 * NS_PER_S);
    advance_to(START_NS + 4 * NS_PER_S);
    assert_int_equal(expirations, 0);
    advance_to(START_NS + 5 * NS_PER_S + TICK_NS);
    assert_int_equal(expirations, 1);
}

static void test_deadline_that_is_brought_forward_expires_at_the_new_time(void **state)
{
    struct timer timer = {0};

    (void)state;
    timers_set(&timers, &timer, START_NS + 5 * NS_PER_S);
    timers_set(&timers, &timer, START_NS + NS_PER_S);
    advance_to(START_NS + NS_PER_S + TICK_NS);
    assert_int_equal(expirations, 1);
}

static void test_cancelled_timer_never_expires(void **state)
{
    struct timer timer = {0}, other = {0};

    (void)state;
    timers_set(&timers, &timer, START_NS + NS_PER_S);
    timers_set(&timers, &other, START_NS + NS_PER_S);
    timers_cancel(&timer);
    timers_cancel(&timer);
    advance_to(START_NS + 100 * NS_PER_S);
    assert_int_equal(expirations, 1);
    assert_ptr_equal(last_expired, &other);
}

static void set_again(void *user, struct timer *timer)
{
    note(user, timer);
    if (expirations < 3)
        timers_set(&timers, timer, START_NS + expirations * 40 * NS_PER_S);
}

static void test_expired_timer_can_be_set_again_at_once(void **state)
{
    struct timer timer = {0};

    (void)state;
    timers_set(&timers, &timer, START_NS + NS_PER_S);
    timers_expire(&timers, START_NS + 200 * NS_PER_S, set_again, NULL);
    timers_expire(&timers, START_NS + 400 * NS_PER_S, set_again, NULL);
    assert_int_equal(expirations, 3);
}

static void test_waiting_as_long_as_told_meets_each_deadline(void **state)
{
    struct timer timer = {0};
    const uint64_t deadline_ns = START_NS + 75 * NS_PER_S + 123;
    uint64_t now_ns = START_NS;
    unsigned waits = 0;

    (void)state;
    assert_int_equal(timers_wait_ms(&timers, now_ns), -1);
    timers_set(&timers, &timer, deadline_ns);
    while (expirations == 0) {
        const int wait_ms = timers_wait_ms(&timers, now_ns);

        assert_true(wait_ms > 0);
        now_ns += (uint64_t)wait_ms * NS_PER_MS;
        advance_to(now_ns);
        waits++;
    }
    assert_true(now_ns >= deadline_ns);
    assert_true(now_ns < deadline_ns + 2 * TICK_NS);
    assert_true(waits <= 4); /* one per turn of the wheel */
    assert_int_equal(timers_wait_ms(&timers, now_ns), -1);
}

static void test_random_deadlines_are_all_met_in_time(void **state)
{
    enum { COUNT = 2000 };
    static struct timer many[COUNT];
    static uint64_t deadlines_ns[COUNT];
    uint64_t now_ns = START_NS;

    (void)state;
    srandom(7);
    for (unsigned step = 0; step < 4000; step++) {
        const unsigned i = (unsigned)random() % COUNT;

        /* Whatever should have expired is not running any more, whatever should not is. */
        now_ns += (uint64_t)random() % (50 * NS_PER_MS);
        advance_to(now_ns);
        for (unsigned k = 0; k < COUNT; k++) {
            const bool running = many[k].next != NULL;

            if (running)
                assert_true(deadlines_ns[k] + 2 * TICK_NS > now_ns);
            else
                assert_true(deadlines_ns[k] <= now_ns);
        }
        if (random() % 8 == 0) {
            timers_cancel(&many[i]);
            deadlines_ns[i] = 0;
        } else {
            deadlines_ns[i] = now_ns + (uint64_t)random() % (60 * NS_PER_S);
            timers_set(&timers, &many[i], deadlines_ns[i]);
        }
    }
}

#define TIMER_TEST(name) cmocka_unit_test_setup(name, start)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TIMER_TEST(test_timer_expires_after_its_deadline_and_never_before),
        TIMER_TEST(test_deadline_that_is_put_off_does_not_expire_at_the_old_time),
        TIMER_TEST(test_deadline_that_is_brought_forward_expires_at_the_new_time),
        TIMER_TEST(test_cancelled_timer_never_expires),
        TIMER_TEST(test_expired_timer_can_be_set_again_at_once),
        TIMER_TEST(test_waiting_as_long_as_told_meets_each_deadline),
        TIMER_TEST(test_random_deadlines_are_all_met_in_time),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
