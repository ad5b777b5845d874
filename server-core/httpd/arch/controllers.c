/*
 * See controllers.h.
 */
#include "httpd/arch/controllers.h"

#include <math.h>

#define TICKS_PER_S (1000.0 / CONTROL_TICK_MS)

void thread_controller_init(struct thread_controller *controller, unsigned low, unsigned high)
{
    *controller = (struct thread_controller){.threads = low, .low = low, .high = high};
}

unsigned thread_controller_tick(struct thread_controller *controller, uint64_t waiting, unsigned idle)
{
    const unsigned room = controller->high - controller->threads;
    const unsigned most = room < controller->threads ? room : controller->threads;
    const uint64_t wanted = waiting / THREADS_WAITING;

    if (idle == 0) {
        controller->quiet_ticks = 0;
        controller->threads += wanted < most ? (unsigned)wanted : most;
    } else if (controller->quiet_ticks < THREADS_QUIET_TICKS) {
        controller->quiet_ticks++;
    } else if (controller->threads > controller->low) {
        controller->threads--;
    }
    return controller->threads;
}

/* Forgets what was found out about another load. */
static void begin_anew(struct batch_controller *controller, double rate_rps)
{
    *controller = (struct batch_controller){.batch = controller->high,
                                            .high = controller->high,
                                            .floor = 1,
                                            .ceiling = controller->high,
                                            .reference_rps = rate_rps,
                                            .stands = true};
}

void batch_controller_init(struct batch_controller *controller, unsigned high)
{
    controller->high = high;
    begin_anew(controller, 0);
}

/* Judges the last step by how the throughput has changed since, and by the queue. Returns false if it has to
 * be taken back, which is done. */
static bool was_right(struct batch_controller *controller, double change, bool stands)
{
    if (controller->step == STEP_DOWN && change < -BATCH_TOLERANCE) {
        controller->batch *= 2;
        controller->floor = controller->batch;
        return false;
    }
    if (controller->step == STEP_UP && change <= BATCH_TOLERANCE && stands) {
        controller->batch /= 2;
        controller->ceiling = controller->batch;
        return false;
    }
    if (controller->step == STEP_UP)
        controller->floor = controller->batch;
    return true;
}

/* Makes the next step, if there is one. */
static void make_step(struct batch_controller *controller, bool stands)
{
    controller->step = STEP_NONE;
    if (stands && controller->batch <= controller->ceiling / 2) {
        controller->batch *= 2;
        controller->step = STEP_UP;
    } else if (controller->batch / 2 >= controller->floor) {
        controller->batch /= 2;
        controller->step = STEP_DOWN;
    }
}

/* Has a window with a throughput of `rate_rps` pass. */
static void judge(struct batch_controller *controller, double rate_rps, bool stands)
{
    const double change = rate_rps / controller->reference_rps - 1;

    if (!was_right(controller, change, stands)) {
        controller->step = STEP_NONE;
        return;
    }
    if (controller->step != STEP_UP && fabs(change) > BATCH_SHIFT) {
        begin_anew(controller, rate_rps);
        return;
    }
    if (controller->step == STEP_UP)
        controller->reference_rps = rate_rps;
    else if (controller->step == STEP_NONE || change > 0) /* a slow drift, but not what a step has cost */
        controller->reference_rps += (rate_rps - controller->reference_rps) / 4;
    make_step(controller, stands);
}

unsigned batch_controller_tick(struct batch_controller *controller, uint64_t items, uint64_t waiting)
{
    double rate_rps;
    bool stands;

    controller->items += (double)items;
    controller->stands = controller->stands && waiting > 0;
    if (++controller->ticks < BATCH_WINDOW_TICKS)
        return controller->batch;
    rate_rps = controller->items * TICKS_PER_S / BATCH_WINDOW_TICKS;
    stands = controller->stands;
    controller->ticks = 0;
    controller->items = 0;
    controller->stands = true;
    if (rate_rps == 0 || controller->reference_rps == 0)
        begin_anew(controller, rate_rps);
    else
        judge(controller, rate_rps, stands);
    return controller->batch;
}

void admission_controller_init(struct admission_controller *controller)
{
    *controller = (struct admission_controller){.rate_rps = ADMISSION_HIGH_RPS};
}

double admission_controller_tick(struct admission_controller *controller, uint64_t target_us,
                                 const struct stage_tick *tick)
{
    const double target = (double)target_us;
    const double served_rps = (double)tick->served * TICKS_PER_S;
    double p90 = (double)tick->wait_p90_us;

    /* Nobody's wait has ended to tell of it, but they wait as long as this goes on. */
    controller->stalled_ticks = tick->served == 0 && tick->waiting > 0 ? controller->stalled_ticks + 1 : 0;
    p90 = fmax(p90, (double)controller->stalled_ticks * CONTROL_TICK_MS * 1000);
    p90 = fmin(p90, ADMISSION_WORST * target);
    controller->smoothed_us = ADMISSION_MEMORY * controller->smoothed_us + (1 - ADMISSION_MEMORY) * p90;
    /* What is over must not be punished twice: the percentile of this tick has to be too high as well. */
    if (controller->smoothed_us > target && p90 > target) {
        const double could_rps = fmin(controller->rate_rps, served_rps);

        if (!controller->decreasing)
            controller->step_rps = ADMISSION_INCREASE * could_rps;
        controller->decreasing = true;
        controller->rate_rps = fmax(could_rps / ADMISSION_DECREASE, ADMISSION_LEAST * served_rps);
        controller->rate_rps = fmax(ADMISSION_LOW_RPS, controller->rate_rps);
    } else if (controller->smoothed_us < target / 2) {
        controller->decreasing = false;
        controller->rate_rps =
            fmin(ADMISSION_HIGH_RPS, controller->rate_rps + fmax(ADMISSION_LOW_RPS, controller->step_rps));
    }
    return controller->rate_rps;
}

bool token_bucket_take(struct token_bucket *bucket, double rate_rps, uint64_t now_ns)
{
    const double size = fmax(1, rate_rps / TICKS_PER_S);

    if (now_ns > bucket->then_ns) {
        bucket->spent = fmax(0, bucket->spent - (double)(now_ns - bucket->then_ns) * 1e-9 * rate_rps);
        bucket->then_ns = now_ns;
    }
    if (bucket->spent + 1 > size)
        return false;
    bucket->spent++;
    return true;
}
