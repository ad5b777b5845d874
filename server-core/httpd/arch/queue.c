/*
 * See queue.h.
 */
#include "httpd/arch/queue.h"

#include "common/clock.h"
#include "httpd/config/knobs.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

size_t queue_connections_max(void)
{
    const rlim_t most = (rlim_t)KNOBS[KNOB_MAX_CONNECTIONS].high;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > most)
        return 2 * (size_t)most;
    return 2 * (size_t)limit.rlim_cur;
}

bool queue_init(struct queue *queue, size_t capacity, struct counters *row)
{
    pthread_condattr_t monotonic;

    *queue =
        (struct queue){.capacity = capacity, .row = row, .items = calloc(capacity, sizeof(*queue->items))};
    if (!queue->items)
        return false;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&queue->filled, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return true;
}

void queue_release(struct queue *queue)
{
    if (!queue->items)
        return;
    pthread_cond_destroy(&queue->filled);
    pthread_mutex_destroy(&queue->lock);
    free(queue->items);
    queue->items = NULL;
}

static void lock(struct queue *queue, uint64_t *lock_waits)
{
    if (pthread_mutex_trylock(&queue->lock) == 0)
        return;
    ++*lock_waits;
    pthread_mutex_lock(&queue->lock);
}

bool queue_push(struct queue *queue, void *const *items, size_t count, uint64_t *lock_waits)
{
    unsigned sleepers;

    if (count == 0)
        return true;
    lock(queue, lock_waits);
    if (count > queue->capacity - queue->length) {
        pthread_mutex_unlock(&queue->lock);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        queue->items[(queue->first + queue->length + i) % queue->capacity] = items[i];
    queue->length += count;
    queue->row->queue_length = queue->length;
    if (queue->length > queue->row->queue_length_max)
        queue->row->queue_length_max = queue->length;
    sleepers = queue->sleepers;
    pthread_mutex_unlock(&queue->lock);
    for (size_t i = 0; i < count && i < sleepers; i++)
        pthread_cond_signal(&queue->filled);
    return true;
}

/* Sleeps until woken or until `deadline_ns` (0: none). Returns false when the time is over. */
static bool sleep_until(struct queue *queue, uint64_t deadline_ns)
{
    const struct timespec deadline = {
        .tv_sec = (time_t)(deadline_ns / NS_PER_S),
        .tv_nsec = (long)(deadline_ns % NS_PER_S),
    };
    int error;

    queue->sleepers++;
    error = deadline_ns ? pthread_cond_timedwait(&queue->filled, &queue->lock, &deadline)
                        : pthread_cond_wait(&queue->filled, &queue->lock);
    queue->sleepers--;
    return error != ETIMEDOUT;
}

size_t queue_pop(struct queue *queue, void **items, size_t size, unsigned consumers, int timeout_ms,
                 uint64_t *lock_waits)
{
    uint64_t deadline_ns = 0;
    size_t count;

    lock(queue, lock_waits);
    while (queue->length == 0 && !queue->closed && timeout_ms != 0) {
        if (timeout_ms > 0 && deadline_ns == 0)
            deadline_ns = clock_now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
        if (!sleep_until(queue, deadline_ns))
            break;
    }
    count = (queue->length + consumers - 1) / consumers;
    if (count > size)
        count = size;
    for (size_t i = 0; i < count; i++)
        items[i] = queue->items[(queue->first + i) % queue->capacity];
    queue->first = (queue->first + count) % queue->capacity;
    queue->length -= count;
    if (queue->length < queue->shortest)
        queue->shortest = queue->length;
    queue->row->queue_length = queue->length;
    queue->row->queue_items += count;
    queue->row->queue_batches += count > 0;
    pthread_mutex_unlock(&queue->lock);
    return count;
}

bool queue_is_empty(struct queue *queue)
{
    bool empty;

    pthread_mutex_lock(&queue->lock);
    empty = queue->length == 0;
    pthread_mutex_unlock(&queue->lock);
    return empty;
}

struct queue_look queue_look(struct queue *queue, uint64_t *lock_waits)
{
    struct queue_look look;

    lock(queue, lock_waits);
    look = (struct queue_look){
        .taken = queue->row->queue_items, .waiting = queue->shortest, .waiters = queue->sleepers};
    queue->shortest = queue->length;
    pthread_mutex_unlock(&queue->lock);
    return look;
}

void queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}
