/*
 * The controllers of a stage: each alone, over random observations, and with a simulated stage whose load
 * makes a step.
 */
#include "httpd/arch/controllers.h"
#include "tests/unit.h"

#include <math.h>

#define TICKS(seconds) ((seconds) * 1000 / CONTROL_TICK_MS)
#define TICK_S         (CONTROL_TICK_MS / 1000.0)

/* Returns a number from 0 to below `below`; the same ones in each run (Marsaglia's xorshift64). */
static uint64_t draw(uint64_t below)
{
    static uint64_t state = 88172645463325252U;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* --- threads --- */

static void test_threads_are_added_by_how_many_items_wait(void **state)
{
    struct thread_controller controller;

    (void)state;
    thread_controller_init(&controller, 1, 10);
    assert_int_equal(thread_controller_tick(&controller, THREADS_WAITING - 1, 0), 1);
    assert_int_equal(thread_controller_tick(&controller, 1000, 0), 2);
    assert_int_equal(thread_controller_tick(&controller, THREADS_WAITING, 0), 3);
    assert_int_equal(thread_controller_tick(&controller, 1000, 0), 6);
    assert_int_equal(thread_controller_tick(&controller, 1000, 0), 10);
    assert_int_equal(thread_controller_tick(&controller, 1000, 0), 10);
}

static void test_threads_go_only_after_a_quiet_time(void **state)
{
    struct thread_controller controller;

    (void)state;
    thread_controller_init(&controller, 2, 8);
    controller.threads = 5;
    for (unsigned i = 0; i < THREADS_QUIET_TICKS; i++)
        assert_int_equal(thread_controller_tick(&controller, 0, 3), 5);
    assert_int_equal(thread_controller_tick(&controller, 0, 3), 4);
    assert_int_equal(thread_controller_tick(&controller, 0, 0), 4); /* all are busy: it begins anew */
    assert_int_equal(thread_controller_tick(&controller, 0, 1), 4);
    for (int i = 0; i < TICKS(10); i++)
        thread_controller_tick(&controller, 0, 1);
    assert_int_equal(controller.threads, 2);
}

static void test_threads_stay_within_bounds_whatever_is_observed(void **state)
{
    (void)state;
    for (int run = 0; run < 200; run++) {
        const unsigned low = 1 + (unsigned)draw(5), high = low + (unsigned)draw(1000);
        struct thread_controller controller;

        thread_controller_init(&controller, low, high);
        for (int i = 0; i < 200; i++) {
            const unsigned before = controller.threads;
            const unsigned now =
                thread_controller_tick(&controller, draw(2) ? draw(UINT32_MAX) : draw(20), (unsigned)draw(3));

            assert_in_range(now, low, high);
            assert_true(now + 1 >= before && now <= 2 * before);
        }
    }
}

/* A stage in which each thread serves one item a tick. Returns how often the number of threads changed in the
 * last half of the time. */
static int drive_threads(struct thread_controller *controller, double arrivals, double *queue, int ticks)
{
    int changes = 0;

    for (int i = 0; i < ticks; i++) {
        const unsigned before = controller->threads;
        const double left = fmax(0, *queue + arrivals - before);
        const double idle = left > 0 ? 0 : floor(before - *queue - arrivals);

        *queue = left;
        thread_controller_tick(controller, (uint64_t)left, (unsigned)fmax(0, idle));
        changes += i >= ticks / 2 && controller->threads != before;
    }
    return changes;
}

static void test_threads_follow_a_step_of_the_load_and_then_rest(void **state)
{
    static const double LOADS[] = {3.5, 40.5, 900.5, 12.5, 0.5};
    struct thread_controller controller;
    double queue = 0;

    (void)state;
    thread_controller_init(&controller, 1, 1024);
    for (size_t i = 0; i < sizeof(LOADS) / sizeof(*LOADS); i++) {
        assert_int_equal(drive_threads(&controller, LOADS[i], &queue, TICKS(300)), 0);
        assert_true(controller.threads >= LOADS[i]);
        assert_true(controller.threads <= LOADS[i] + 1);
        assert_true(queue < THREADS_WAITING);
    }
}

/* --- batch --- */

/* Has a window pass with a throughput. Returns the batch. */
static unsigned window(struct batch_controller *controller, double rate_rps)
{
    for (int i = 0; i < BATCH_WINDOW_TICKS; i++)
        batch_controller_tick(controller, (uint64_t)(rate_rps * TICK_S), 0);
    return controller->batch;
}

static void test_a_batch_that_costs_throughput_is_taken_back(void **state)
{
    struct batch_controller controller;

    (void)state;
    batch_controller_init(&controller, 64);
    assert_int_equal(window(&controller, 10000), 64); /* this is what it is to be */
    assert_int_equal(window(&controller, 10000), 32);
    assert_int_equal(window(&controller, 10000), 16);
    assert_int_equal(window(&controller, 8000), 32);
    for (int i = 0; i < 100; i++)
        assert_int_equal(window(&controller, 10000), 32);
}

static void test_a_batch_begins_anew_when_the_load_shifts(void **state)
{
    struct batch_controller controller;

    (void)state;
    batch_controller_init(&controller, 64);
    for (int i = 0; i < 20; i++)
        window(&controller, 1000);
    assert_int_equal(controller.batch, 1);
    assert_int_equal(window(&controller, 5000), 64);
    for (int i = 0; i < 20; i++)
        window(&controller, 5000);
    assert_int_equal(controller.batch, 1);
    assert_int_equal(window(&controller, 0), 64);
}

static void test_a_batch_stays_within_bounds_whatever_is_observed(void **state)
{
    (void)state;
    for (int run = 0; run < 200; run++) {
        const unsigned high = 1 + (unsigned)draw(1000);
        struct batch_controller controller;

        batch_controller_init(&controller, high);
        for (int i = 0; i < 1000; i++)
            assert_in_range(batch_controller_tick(&controller, draw(2) ? draw(5) : draw(UINT32_MAX), draw(2)),
                            1, high);
    }
}

/* A stage that pays for each batch as for `overhead` items. Returns how often the batch changed in the last
 * half of the time. */
static int drive_batch(struct batch_controller *controller, double offered_rps, double most_rps,
                       double overhead, int ticks)
{
    int changes = 0;

    for (int i = 0; i < ticks; i++) {
        const unsigned before = controller->batch;
        const double could_rps = most_rps * before / (before + overhead);
        const double noise = 0.98 + 0.04 * (double)draw(1000) / 1000;

        batch_controller_tick(controller, (uint64_t)(fmin(offered_rps, could_rps) * noise * TICK_S),
                              offered_rps > could_rps ? 1000 : 0);
        changes += i >= ticks / 2 && controller->batch != before;
    }
    return changes;
}

static void test_the_batch_keeps_throughput_over_steps_of_the_load_and_then_rests(void **state)
{
    const double most_rps = 50000;

    (void)state;
    for (int run = 0; run < 50; run++) {
        const double overhead = (double)draw(16);
        struct batch_controller controller;

        batch_controller_init(&controller, 256);
        for (int step = 0; step < 10; step++) {
            const double offered_rps = 1000 + (double)draw(200000);
            const double best_rps = fmin(offered_rps, most_rps * 256 / (256 + overhead));

            assert_int_equal(drive_batch(&controller, offered_rps, most_rps, overhead, TICKS(60)), 0);
            assert_true(fmin(offered_rps, most_rps * controller.batch / (controller.batch + overhead)) >
                        0.8 * best_rps);
        }
    }
}

static void test_a_load_that_grows_slowly_beyond_a_small_batch_gets_a_larger_one(void **state)
{
    struct batch_controller controller;

    (void)state;
    batch_controller_init(&controller, 256);
    for (double offered_rps = 1000; offered_rps < 100000; offered_rps *= 1.05)
        drive_batch(&controller, offered_rps, 50000, 16, TICKS(10));
    assert_in_range(controller.batch, 64, 256);
}

/* --- admission --- */

static void test_less_is_admitted_above_the_target_and_more_below_half_of_it(void **state)
{
    struct admission_controller controller;
    double rate_rps;

    (void)state;
    admission_controller_init(&controller);
    rate_rps = admission_controller_tick(&controller, 1000, &(struct stage_tick){100000, 600, 50});
    assert_true(fabs(rate_rps - 6000 / ADMISSION_DECREASE) < 1); /* of what could be served */
    controller.smoothed_us = 700;
    assert_true(admission_controller_tick(&controller, 1000, &(struct stage_tick){700, 600, 0}) == rate_rps);
    controller.smoothed_us = 0;
    assert_true(admission_controller_tick(&controller, 1000, &(struct stage_tick){100, 600, 0}) > rate_rps);
}

static void test_a_stage_that_serves_nobody_while_items_wait_is_above_the_target(void **state)
{
    struct admission_controller controller;

    (void)state;
    admission_controller_init(&controller);
    for (int i = 0; i < TICKS(2); i++)
        admission_controller_tick(&controller, 1000, &(struct stage_tick){.waiting = 3});
    assert_true(controller.rate_rps == ADMISSION_LOW_RPS);
    for (int i = 0; i < TICKS(2); i++) /* nobody wants anything */
        admission_controller_tick(&controller, 1000, &(struct stage_tick){0});
    assert_true(controller.rate_rps > ADMISSION_LOW_RPS);
}

static void test_the_rate_stays_within_bounds_whatever_is_observed(void **state)
{
    (void)state;
    for (int run = 0; run < 200; run++) {
        struct admission_controller controller;

        admission_controller_init(&controller);
        for (int i = 0; i < 1000; i++) {
            const struct stage_tick tick = {draw(2) ? draw(1000) : draw(UINT64_MAX), draw(100000), draw(100)};
            const double rate_rps = admission_controller_tick(&controller, 1 + draw(60000000), &tick);

            assert_true(rate_rps >= ADMISSION_LOW_RPS && rate_rps <= ADMISSION_HIGH_RPS);
        }
    }
}

/* A stage that serves so many a second, in the order in which they come; and what became of a time there. */
struct simulated {
    double queue, admitted, worst_wait_us;
    int above; /* ticks in which the wait was over twice the target */
};

static struct simulated drive_admission(struct admission_controller *controller, double offered_rps,
                                        double capacity_rps, uint64_t target_us, double queue, int ticks)
{
    struct simulated seen = {.queue = queue};

    for (int i = 0; i < ticks; i++) {
        const double admitted = fmin(offered_rps, controller->rate_rps) * TICK_S;
        const double served = fmin(seen.queue + admitted, capacity_rps * TICK_S);
        const double wait_us = 1e6 * fmax(seen.queue, seen.queue + admitted - served) / capacity_rps;
        const struct stage_tick tick = {(uint64_t)wait_us, (uint64_t)served,
                                        (uint64_t)fmax(0, seen.queue - served)};

        seen.queue += admitted - served;
        seen.admitted += admitted;
        seen.worst_wait_us = fmax(seen.worst_wait_us, wait_us);
        seen.above += wait_us > 2 * (double)target_us;
        admission_controller_tick(controller, target_us, &tick);
    }
    return seen;
}

static void test_overload_keeps_the_wait_near_its_target_and_the_stage_busy(void **state)
{
    static const double OVERLOADS[] = {1.3, 2, 5, 20};
    const double capacity_rps = 20000;
    const uint64_t target_us = 50000;

    (void)state;
    for (size_t i = 0; i < sizeof(OVERLOADS) / sizeof(*OVERLOADS); i++) {
        const double offered_rps = OVERLOADS[i] * capacity_rps;
        struct admission_controller controller;
        struct simulated seen;

        admission_controller_init(&controller);
        seen = drive_admission(&controller, capacity_rps / 2, capacity_rps, target_us, 0, TICKS(10));
        assert_true(seen.above == 0 && seen.admitted > 0.99 * capacity_rps / 2 * 10);
        seen = drive_admission(&controller, offered_rps, capacity_rps, target_us, seen.queue, TICKS(15));
        seen = drive_admission(&controller, offered_rps, capacity_rps, target_us, seen.queue, TICKS(60));
        assert_true(seen.above <= TICKS(60) / 20);
        assert_true(seen.admitted > 0.75 * capacity_rps * 60);
        /* The overload is over: all are admitted again. */
        seen = drive_admission(&controller, capacity_rps / 2, capacity_rps, target_us, seen.queue, TICKS(15));
        seen = drive_admission(&controller, capacity_rps / 2, capacity_rps, target_us, seen.queue, TICKS(10));
        assert_true(seen.above == 0 && seen.admitted > 0.99 * capacity_rps / 2 * 10);
    }
}

/* What waited when the overload was noticed takes its time to be worked off, and is over target as long. */
static void test_a_backlog_is_worked_off_and_leaves_no_idle_stage_behind(void **state)
{
    static const double OVERLOADS[] = {1.3, 2.5, 12};
    const double capacity_rps = 400;
    const uint64_t target_us = 20000;

    (void)state;
    for (size_t i = 0; i < sizeof(OVERLOADS) / sizeof(*OVERLOADS); i++) {
        const double offered_rps = OVERLOADS[i] * capacity_rps;
        struct admission_controller controller;
        struct simulated seen;

        admission_controller_init(&controller);
        seen = drive_admission(&controller, capacity_rps / 2, capacity_rps, target_us, 0, TICKS(5));
        seen = drive_admission(&controller, offered_rps, capacity_rps, target_us, seen.queue, TICKS(5));
        assert_true(seen.admitted > 0.6 * capacity_rps * 5);
        seen = drive_admission(&controller, offered_rps, capacity_rps, target_us, seen.queue, TICKS(5));
        assert_true(seen.above <= TICKS(5) / 20 && seen.admitted > 0.7 * capacity_rps * 5);
    }
}

static void test_a_bucket_lets_as_many_pass_as_the_rate_says(void **state)
{
    struct token_bucket bucket = {0};
    unsigned passed = 0;

    (void)state;
    for (uint64_t now_ns = 0; now_ns < UINT64_C(10000000000); now_ns += 100000)
        passed += token_bucket_take(&bucket, 500, now_ns);
    assert_in_range(passed, 5000, 5050); /* and one tick's at the beginning */
}

static void test_a_bucket_holds_one_tick_and_no_less_than_one(void **state)
{
    struct token_bucket bucket = {0};
    unsigned passed = 0;

    (void)state;
    for (int i = 0; i < 100; i++)
        passed += token_bucket_take(&bucket, 200, 1000);
    assert_int_equal(passed, 20);
    assert_false(token_bucket_take(&bucket, 200, 500)); /* the time before does not count */
    bucket = (struct token_bucket){0};
    assert_true(token_bucket_take(&bucket, ADMISSION_LOW_RPS, 1000));
    assert_false(token_bucket_take(&bucket, ADMISSION_LOW_RPS, 1000));
    assert_true(token_bucket_take(&bucket, ADMISSION_LOW_RPS, 1000002000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_are_added_by_how_many_items_wait),
        cmocka_unit_test(test_threads_go_only_after_a_quiet_time),
        cmocka_unit_test(test_threads_stay_within_bounds_whatever_is_observed),
        cmocka_unit_test(test_threads_follow_a_step_of_the_load_and_then_rest),
        cmocka_unit_test(test_a_batch_that_costs_throughput_is_taken_back),
        cmocka_unit_test(test_a_batch_begins_anew_when_the_load_shifts),
        cmocka_unit_test(test_a_batch_stays_within_bounds_whatever_is_observed),
        cmocka_unit_test(test_the_batch_keeps_throughput_over_steps_of_the_load_and_then_rests),
        cmocka_unit_test(test_a_load_that_grows_slowly_beyond_a_small_batch_gets_a_larger_one),
        cmocka_unit_test(test_less_is_admitted_above_the_target_and_more_below_half_of_it),
        cmocka_unit_test(test_a_stage_that_serves_nobody_while_items_wait_is_above_the_target),
        cmocka_unit_test(test_the_rate_stays_within_bounds_whatever_is_observed),
        cmocka_unit_test(test_overload_keeps_the_wait_near_its_target_and_the_stage_busy),
        cmocka_unit_test(test_a_backlog_is_worked_off_and_leaves_no_idle_stage_behind),
        cmocka_unit_test(test_a_bucket_lets_as_many_pass_as_the_rate_says),
        cmocka_unit_test(test_a_bucket_holds_one_tick_and_no_less_than_one),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
