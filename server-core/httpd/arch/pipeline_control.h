/*
 * What controls the stages Read and Write of a pipeline: how many threads work, how much each takes at a
 * time, and which requests are admitted. The controllers themselves are in controllers.h; here is what they
 * observe and what obeys them.
 */
#ifndef TRIMTAB_HTTPD_ARCH_PIPELINE_CONTROL_H
#define TRIMTAB_HTTPD_ARCH_PIPELINE_CONTROL_H

#include "common/histogram.h"
#include "httpd/arch/controllers.h"
#include "httpd/connection/worker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The threads of a stage that divide the same work among them: the readers of a partition, the writers of a
 * queue. */
struct pool {
    struct thread_controller threads;
    struct batch_controller batching;
    uint64_t taken; /* from the queues of the pool, as of the last tick */
    unsigned most, largest_batch;
    _Atomic unsigned active; /* the first so many of the threads work */
    _Atomic unsigned batch;  /* items that each of them takes at a time at most */
    pthread_mutex_t lock;
    pthread_cond_t called; /* there are more active ones, or the pool is closed */
    bool closed;
};

/* What a pool was like since the last tick. */
struct pool_tick {
    uint64_t taken;   /* items taken from its queues so far */
    uint64_t waiting; /* items that waited all the time at least */
    unsigned idle;    /* active threads that have nothing to do */
};

/* A stage under control. The threads of the stage use `admission` only, under its lock. */
struct stage_control {
    struct worker *worker; /* whose counters tell of the stage */
    struct pool *pools;
    unsigned pool_count;
    struct admission {
        pthread_mutex_t lock;
        struct admission_controller controller;
        struct token_bucket bucket;
        struct histogram *waits_us; /* since the last tick */
        double rate_rps;
    } admission;
};

/* Makes `pool_count` pools of `threads` in all, dealt out in turn, each of which takes up to `largest_batch`
 * items at a time; all threads work, or one of each pool if their number is adaptive. Returns false with
 * errno set when there is no memory. */
bool stage_control_init(struct stage_control *control, unsigned pool_count, unsigned threads,
                        unsigned largest_batch, bool adaptive);

/* Blocks until thread number `position` of the pool is to work, or the pool is closed. */
void pool_await_call(struct pool *pool, unsigned position);

/* Calls all threads, now and for ever. */
void pool_close(struct pool *pool);

/* Notes that an item's wait, which began at `since_ns`, is over. */
void admission_note_wait(struct admission *admission, uint64_t since_ns);

/* Says whether the stage admits one more request, and if so counts it. */
bool admission_take(struct admission *admission, uint64_t now_ns);

/* Says whether anything is to be controlled, as the settings are now. */
bool stage_control_wanted(const struct live_settings *settings);

/* Has a tick pass of `elapsed_ns` in which pool number i was like look(user, i) says; obeys the settings. */
void stage_control_tick(struct stage_control *control, uint64_t elapsed_ns,
                        struct pool_tick (*look)(void *user, unsigned pool), void *user);

#endif
