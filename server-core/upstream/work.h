/*
 * What the upstream works on: so many requests at a time, each for the time that it asks for; the others wait
 * in line, first come, first served. No CPU time is spent on it: to work on a request is to wait.
 */
#ifndef TRIMTAB_UPSTREAM_WORK_H
#define TRIMTAB_UPSTREAM_WORK_H

#include "common/alarm_heap.h"

#include <stdbool.h>
#include <stdint.h>

/* One request. Zeroed, it is none. */
struct job {
    struct alarm alarm;          /* its end, while it is worked on */
    struct job *next, *previous; /* in the line */
    uint64_t service_ns;
    uint64_t came_ns;
    bool waits, in_service;
};

/* Sums since the start. */
struct work_counts {
    uint64_t requests;         /* that came */
    uint64_t done;             /* whose time was over */
    uint64_t waited;           /* that did not find a place at once */
    uint64_t wait_us;          /* in line, of those that were begun */
    uint64_t service_us;       /* asked for by those that were begun */
    uint64_t late;             /* ended later than they should, as the process had no CPU */
    uint64_t queue_length_max; /* the longest line */
};

struct work {
    uint64_t concurrency; /* worked on at a time; 0: all that come */
    struct alarm_heap in_service;
    struct job *first, *last; /* the line */
    uint64_t queued;
    struct work_counts counts;
};

/* A request comes that takes `service_us`. */
void work_take(struct work *work, struct job *job, uint64_t service_us, uint64_t now_ns);

/* Nobody waits for the request any more; does nothing for one that is done. */
void work_drop(struct work *work, struct job *job, uint64_t now_ns);

/* Returns a request whose time is over by now, NULL if there is none; the next in line takes its place. */
struct job *work_next_done(struct work *work, uint64_t now_ns);

/* Returns when the next request is done, TIMER_NEVER if none is worked on. */
uint64_t work_due_ns(const struct work *work);

#endif
