/*
 * The two kinds of timers that sessions need.
 *
 * Timeouts all have the same length, so the ones set later are due later: a queue is enough, and every
 * operation takes constant time. Think times differ: they are kept in a heap (common/alarm_heap.h). Both link
 * nodes that are part of the caller's structure (see container_of).
 */
#ifndef TRIMTAB_LOADGEN_TIMERS_H
#define TRIMTAB_LOADGEN_TIMERS_H

#include "common/alarm_heap.h"

#include <stdint.h>

/* A node of a queue of timeouts. */
struct timeout {
    uint64_t due_ns;
    struct timeout *next, *previous;
};

/* The queue: a ring that `head` closes. */
struct timeout_queue {
    struct timeout head;
};

void timeout_queue_init(struct timeout_queue *queue);

/* Appends `node`, due at `due_ns`. A due time before that of the last node counts as that one's. */
void timeout_queue_append(struct timeout_queue *queue, struct timeout *node, uint64_t due_ns);

/* Takes `node` out of the queue that it is in. One that has been in a queue may be taken out again. */
void timeout_cancel(struct timeout *node);

/* Returns the first node, NULL when there is none. */
struct timeout *timeout_queue_first(const struct timeout_queue *queue);

/* Returns when the first node is due, TIMER_NEVER when there is none. */
uint64_t timeout_queue_due_ns(const struct timeout_queue *queue);

#endif
