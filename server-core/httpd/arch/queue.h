/*
 * Bounded queues between the stages of a pipeline and between user threads and kernel threads.
 *
 * DESIGN. A ring of pointers under one mutex. Producers that have several items (a poller has a whole batch)
 * put them in together, and consumers may take several at once, so that the lock and the wake-up are paid for
 * once a batch. A sleeping consumer is woken only if there is one. Queues never block their producers: the
 * number of things that can be under way is bounded (max_connections), and so is each queue.
 */
#ifndef TRIMTAB_HTTPD_ARCH_QUEUE_H
#define TRIMTAB_HTTPD_ARCH_QUEUE_H

#include "httpd/counters/metrics.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    size_t capacity, first, length;
    size_t shortest; /* that it has been since queue_look() */
    unsigned sleepers;
    bool closed;
    struct counters *row; /* whose queue_* fields tell of this queue; written under the lock only */
    void **items;
};

/* How many items a queue of connections can ever have to hold: whatever is in one has a descriptor, or had
 * one a moment ago. */
size_t queue_connections_max(void);

/* Makes a queue for up to `capacity` items; what goes through it is counted in `row`. Returns false with
 * errno set when there is no memory. */
bool queue_init(struct queue *queue, size_t capacity, struct counters *row);

/* Frees what the queue owns; its items are the caller's. Nobody may be using it. */
void queue_release(struct queue *queue);

/*
 * Appends `count` items, in their order. Adds 1 to *lock_waits if the lock was held by another. Returns false
 * and appends nothing if they do not fit.
 */
bool queue_push(struct queue *queue, void *const *items, size_t count, uint64_t *lock_waits);

/*
 * Takes up to `size` of the oldest items, but no more than an even share for each of `consumers`. Waits for
 * the first one up to timeout_ms (-1: for ever). Returns how many; 0 when the time is over or the queue was
 * closed and is empty. Adds 1 to *lock_waits if the lock was held by another.
 */
size_t queue_pop(struct queue *queue, void **items, size_t size, unsigned consumers, int timeout_ms,
                 uint64_t *lock_waits);

/* Says whether it holds nothing now. */
bool queue_is_empty(struct queue *queue);

/* What a controller wants to know of a queue. */
struct queue_look {
    uint64_t taken;   /* items taken from it so far */
    size_t waiting;   /* items that it has held all the time since the last look, at least */
    unsigned waiters; /* consumers that wait for an item now */
};

/* Looks at it, and begins a new time between two looks. Adds 1 to *lock_waits if the lock was held by
 * another. */
struct queue_look queue_look(struct queue *queue, uint64_t *lock_waits);

/* Wakes all who wait in queue_pop(), now and for ever. */
void queue_close(struct queue *queue);

#endif
