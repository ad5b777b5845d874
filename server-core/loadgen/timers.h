/*
 * The two kinds of timers that sessions need.
 *
 * Timeouts all have the same length, so the ones set later are due later: a queue is enough, and every
 * operation takes constant time. Think times differ: they are kept in a binary heap. Both link nodes that are
 * part of the caller's structure (see container_of) and allocate nothing per timer but the heap's array of
 * pointers.
 */
#ifndef TRIMTAB_LOADGEN_TIMERS_H
#define TRIMTAB_LOADGEN_TIMERS_H

#include <stddef.h>
#include <stdint.h>

#define TIMER_NEVER UINT64_MAX

/* The structure of type `type` that holds `node` as its member `member`. */
#define container_of(node, type, member) ((type *)(void *)((char *)(node) - offsetof(type, member)))

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

/* Takes `node` out of the queue that it is in. */
void timeout_cancel(struct timeout *node);

/* Returns the first node, NULL when there is none. */
struct timeout *timeout_queue_first(const struct timeout_queue *queue);

/* Returns when the first node is due, TIMER_NEVER when there is none. */
uint64_t timeout_queue_due_ns(const struct timeout_queue *queue);

/* A node of the heap. */
struct alarm {
    uint64_t due_ns;
    size_t index; /* in the heap's array */
};

struct alarm_heap {
    struct alarm **alarms;
    size_t count;
};

void alarm_heap_add(struct alarm_heap *heap, struct alarm *node, uint64_t due_ns);
void alarm_heap_remove(struct alarm_heap *heap, struct alarm *node);

/* Returns the earliest node, NULL when there is none. */
struct alarm *alarm_heap_first(const struct alarm_heap *heap);

/* Returns when the earliest node is due, TIMER_NEVER when there is none. */
uint64_t alarm_heap_due_ns(const struct alarm_heap *heap);

void alarm_heap_free(struct alarm_heap *heap);

#endif
