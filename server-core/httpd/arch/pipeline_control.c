/*
 * See pipeline_control.h.
 */
#include "httpd/arch/pipeline_control.h"

#include "common/clock.h"

#include <stdlib.h>

#define WAITS_PRECISION_BITS 6 /* buckets of at most 3 % */

/* The controller's first thread alone is active from the beginning: a thread that already waits at the queue
 * takes from it once more, whoever is active. */
static bool pool_init(struct pool *pool, unsigned threads, unsigned largest_batch, bool adaptive)
{
    *pool = (struct pool){.most = threads,
                          .largest_batch = largest_batch,
                          .active = adaptive ? 1 : threads,
                          .batch = largest_batch};
    thread_controller_init(&pool->threads, 1, threads);
    batch_controller_init(&pool->batching, largest_batch);
    return pthread_mutex_init(&pool->lock, NULL) == 0 && pthread_cond_init(&pool->called, NULL) == 0;
}

bool stage_control_init(struct stage_control *control, unsigned pool_count, unsigned threads,
                        unsigned largest_batch, bool adaptive)
{
    *control = (struct stage_control){
        .pools = calloc(pool_count, sizeof(*control->pools)),
        .pool_count = pool_count,
        .admission = {.waits_us = histogram_new(WAITS_PRECISION_BITS), .rate_rps = ADMISSION_HIGH_RPS},
    };
    admission_controller_init(&control->admission.controller);
    if (!control->pools || !control->admission.waits_us ||
        pthread_mutex_init(&control->admission.lock, NULL) != 0)
        return false;
    for (unsigned i = 0; i < pool_count; i++) {
        if (!pool_init(&control->pools[i], (unsigned)config_share(threads, pool_count, i), largest_batch,
                       adaptive))
            return false;
    }
    return true;
}

void pool_await_call(struct pool *pool, unsigned position)
{
    if (position < atomic_load(&pool->active))
        return;
    pthread_mutex_lock(&pool->lock);
    while (position >= atomic_load(&pool->active) && !pool->closed)
        pthread_cond_wait(&pool->called, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void pool_close(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->closed = true;
    pthread_cond_broadcast(&pool->called);
    pthread_mutex_unlock(&pool->lock);
}

void admission_note_wait(struct admission *admission, uint64_t since_ns)
{
    const uint64_t now_ns = clock_now_ns();

    pthread_mutex_lock(&admission->lock);
    histogram_record(admission->waits_us, now_ns > since_ns ? (now_ns - since_ns) / NS_PER_US : 0);
    pthread_mutex_unlock(&admission->lock);
}

bool admission_take(struct admission *admission, uint64_t now_ns)
{
    bool admitted;

    pthread_mutex_lock(&admission->lock);
    admitted = token_bucket_take(&admission->bucket, admission->rate_rps, now_ns);
    pthread_mutex_unlock(&admission->lock);
    return admitted;
}

bool stage_control_wanted(const struct live_settings *settings)
{
    return atomic_load(&settings->stage_threads) == STAGE_ADAPTIVE ||
           atomic_load(&settings->stage_batch) == STAGE_ADAPTIVE ||
           atomic_load(&settings->admission_p90_ms) != KNOB_OFF;
}

static void control_threads(struct pool *pool, const struct pool_tick *tick, bool adaptive)
{
    unsigned active = pool->most;

    if (adaptive)
        active = thread_controller_tick(&pool->threads, tick->waiting, tick->idle);
    else
        thread_controller_init(&pool->threads, 1, pool->most);
    if (active == atomic_load(&pool->active))
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->active, active);
    pthread_cond_broadcast(&pool->called);
    pthread_mutex_unlock(&pool->lock);
}

static void control_batch(struct pool *pool, uint64_t items, uint64_t waiting, bool adaptive)
{
    if (!adaptive)
        batch_controller_init(&pool->batching, pool->largest_batch);
    atomic_store(&pool->batch,
                 adaptive ? batch_controller_tick(&pool->batching, items, waiting) : pool->largest_batch);
}

/* Returns the 90th percentile of the waits that are over, which are then forgotten, and puts their number
 * into *count. */
static uint64_t take_waits(struct admission *admission, uint64_t *count)
{
    const uint64_t p90_us = histogram_quantile(admission->waits_us, 0.9);

    *count = histogram_count(admission->waits_us);
    histogram_clear(admission->waits_us);
    return p90_us;
}

static void control_admission(struct stage_control *control, uint64_t waiting, uint64_t elapsed_ns,
                              int64_t target_ms)
{
    struct admission *admission = &control->admission;
    struct counters *counters = control->worker->counters;
    struct stage_tick tick = {.waiting = waiting};

    pthread_mutex_lock(&admission->lock);
    tick.wait_p90_us = take_waits(admission, &tick.served);
    tick.served = tick.served * CONTROL_TICK_MS * NS_PER_MS / elapsed_ns;
    if (target_ms == KNOB_OFF) {
        admission_controller_init(&admission->controller);
        admission->rate_rps = admission->controller.rate_rps;
        tick.wait_p90_us = 0;
    } else {
        admission->rate_rps = admission_controller_tick(&admission->controller,
                                                        (uint64_t)target_ms * (NS_PER_MS / NS_PER_US), &tick);
    }
    counters->stage_wait_p90_us = tick.wait_p90_us;
    counters->admission_rps = target_ms == KNOB_OFF ? 0 : (uint64_t)admission->rate_rps;
    pthread_mutex_unlock(&admission->lock);
}

void stage_control_tick(struct stage_control *control, uint64_t elapsed_ns,
                        struct pool_tick (*look)(void *user, unsigned pool), void *user)
{
    const struct live_settings *settings = control->worker->settings;
    struct counters *counters = control->worker->counters;
    uint64_t waiting = 0, threads = 0, batch = 0;

    for (unsigned i = 0; i < control->pool_count; i++) {
        struct pool *pool = &control->pools[i];
        const struct pool_tick tick = look(user, i);
        /* As many as in a tick of the usual length, for on a busy CPU this one comes late. */
        const uint64_t items = (tick.taken - pool->taken) * CONTROL_TICK_MS * NS_PER_MS / elapsed_ns;

        pool->taken = tick.taken;
        waiting += tick.waiting;
        control_threads(pool, &tick, atomic_load(&settings->stage_threads) == STAGE_ADAPTIVE);
        control_batch(pool, items, tick.waiting, atomic_load(&settings->stage_batch) == STAGE_ADAPTIVE);
        threads += atomic_load(&pool->active);
        if (atomic_load(&pool->batch) > batch)
            batch = atomic_load(&pool->batch);
    }
    control_admission(control, waiting, elapsed_ns, atomic_load(&settings->admission_p90_ms));
    counters->stage_threads = threads;
    counters->stage_batch = batch;
}
