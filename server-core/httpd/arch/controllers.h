/*
 * The controllers of a stage, after SEDA (Welsh, Culler and Brewer, SOSP 2001; Welsh and Culler, USITS 2003):
 * how many threads it has, how much each of them takes at a time, and how much is let in.
 *
 * They are values: what has been observed since the last tick goes in, what is to be done comes out. The
 * clock, the queues and the threads belong to whoever asks, who asks every CONTROL_TICK_MS.
 */
#ifndef TRIMTAB_HTTPD_ARCH_CONTROLLERS_H
#define TRIMTAB_HTTPD_ARCH_CONTROLLERS_H

#include <stdbool.h>
#include <stdint.h>

#define CONTROL_TICK_MS 100

/*
 * Threads by queue length. A queue that has never been empty since the last tick is one that the threads
 * cannot cope with: then there are more of them, by one for each THREADS_WAITING that wait, at most twice as
 * many. Threads that have had nothing to do for THREADS_QUIET_TICKS go, one a tick.
 */
#define THREADS_WAITING     4
#define THREADS_QUIET_TICKS 10

struct thread_controller {
    unsigned threads; /* low…high: how many are to work */
    unsigned low, high;
    unsigned quiet_ticks; /* for so many somebody has been idle at each look */
};

/* Begins with `low` (at least 1) threads. */
void thread_controller_init(struct thread_controller *controller, unsigned low, unsigned high);

/* Has a tick pass in which at least `waiting` items waited all the time, and at whose end `idle` threads had
 * nothing to do. Returns how many threads are to work now. */
unsigned thread_controller_tick(struct thread_controller *controller, uint64_t waiting, unsigned idle);

/*
 * The batch by throughput: the smallest that costs no throughput, for a small one keeps no reply waiting for
 * others. It begins with the largest and is halved as long as the throughput stays; a step that costs more
 * than BATCH_TOLERANCE is taken back. While the queue is never empty it is doubled, as long as that empties
 * it or gains more than BATCH_TOLERANCE, for what was found out when the clients set the throughput need not
 * hold when the stage does. A step that was taken back is not tried again until the load shifts: the
 * throughput changes by more than BATCH_SHIFT without a step before. Throughputs are those of
 * BATCH_WINDOW_TICKS.
 */
#define BATCH_WINDOW_TICKS 5
#define BATCH_TOLERANCE    0.10
#define BATCH_SHIFT        0.25

struct batch_controller {
    unsigned batch; /* 1…high: items taken at a time at most */
    unsigned high;
    unsigned floor, ceiling;                     /* a smaller one costs throughput, a larger one gains none */
    enum { STEP_NONE, STEP_DOWN, STEP_UP } step; /* the last one, which has not been judged yet */
    double reference_rps;                        /* the throughput before it; 0: none is known */
    unsigned ticks;                              /* of the window under way */
    double items;                                /* in it */
    bool stands;                                 /* the queue has not been empty in it */
};

/* Begins with a batch of `high` (at least 1). */
void batch_controller_init(struct batch_controller *controller, unsigned high);

/* Has a tick pass in which the stage took `items` from its queue, where at least `waiting` waited all the
 * time. Returns how many a thread is to take at a time. */
unsigned batch_controller_tick(struct batch_controller *controller, uint64_t items, uint64_t waiting);

/*
 * Admission by the 90th percentile of what the stage has its items wait. Above the target less is let in: a
 * share of what the stage could serve (multiplicative decrease), but at least half of what it serves: items
 * that wait already are worked off by that, and letting in less would leave it idle when they are gone. Below
 * half the target more is let in, by a share of what was when the last decrease began (additive increase). In
 * between nothing changes.
 */
#define ADMISSION_LOW_RPS  1.0
#define ADMISSION_HIGH_RPS 1e6
#define ADMISSION_DECREASE 1.2
#define ADMISSION_INCREASE 0.02
#define ADMISSION_LEAST    0.5  /* of what the stage serves */
#define ADMISSION_WORST    10.0 /* targets: what is worse counts as this, so that it is forgotten in time */
#define ADMISSION_MEMORY   0.7  /* weight of the past in the smoothed percentile */

struct admission_controller {
    double rate_rps; /* ADMISSION_LOW_RPS…ADMISSION_HIGH_RPS: requests let in */
    double smoothed_us;
    double step_rps; /* of an increase */
    bool decreasing;
    uint64_t stalled_ticks; /* for so many items wait and none is served */
};

/* What a stage was like in a tick. */
struct stage_tick {
    uint64_t wait_p90_us; /* of the items whose wait ended; 0 if there was none */
    uint64_t served;      /* how many these were */
    uint64_t waiting;     /* items that waited all the time at least */
};

/* Begins by letting everything in. */
void admission_controller_init(struct admission_controller *controller);

/* Has a tick pass. `target_us` (at least 1): what the 90th percentile is to stay below. Returns how many
 * requests a second are to be let in. */
double admission_controller_tick(struct admission_controller *controller, uint64_t target_us,
                                 const struct stage_tick *tick);

/* Lets so many a second pass, those of one tick at once. Zeroed: it is full. */
struct token_bucket {
    double spent;
    uint64_t then_ns; /* when it was last looked at */
};

/* Says whether one more may pass at `now_ns`, and if so counts it. The rate may be another each time; a time
 * before the last one counts as the last one. */
bool token_bucket_take(struct token_bucket *bucket, double rate_rps, uint64_t now_ns);

#endif
