/*
 * See timers.h.
 */
#include "timers.h"

#include "memory.h"

void timeout_queue_init(struct timeout_queue *queue)
{
    queue->head = (struct timeout){.next = &queue->head, .previous = &queue->head};
}

void timeout_queue_append(struct timeout_queue *queue, struct timeout *node, uint64_t due_ns)
{
    struct timeout *last = queue->head.previous;

    node->due_ns = due_ns < last->due_ns ? last->due_ns : due_ns;
    node->previous = last;
    node->next = &queue->head;
    last->next = node;
    queue->head.previous = node;
}

void timeout_cancel(struct timeout *node)
{
    node->previous->next = node->next;
    node->next->previous = node->previous;
}

struct timeout *timeout_queue_first(const struct timeout_queue *queue)
{
    return queue->head.next == &queue->head ? NULL : queue->head.next;
}

uint64_t timeout_queue_due_ns(const struct timeout_queue *queue)
{
    const struct timeout *first = timeout_queue_first(queue);
    return first == NULL ? TIMER_NEVER : first->due_ns;
}

static void put(struct alarm_heap *heap, size_t index, struct alarm *node)
{
    heap->alarms[index] = node;
    node->index = index;
}

/* Moves `node` up from the free place `index` to where its parent is not later. */
static void sift_up(struct alarm_heap *heap, size_t index, struct alarm *node)
{
    while (index > 0 && node->due_ns < heap->alarms[(index - 1) / 2]->due_ns) {
        put(heap, index, heap->alarms[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(heap, index, node);
}

/* Moves `node` down from the free place `index` to where its children are not earlier. */
static void sift_down(struct alarm_heap *heap, size_t index, struct alarm *node)
{
    for (;;) {
        size_t child = 2 * index + 1;
        if (child + 1 < heap->count && heap->alarms[child + 1]->due_ns < heap->alarms[child]->due_ns)
            child++;
        if (child >= heap->count || node->due_ns <= heap->alarms[child]->due_ns)
            break;
        put(heap, index, heap->alarms[child]);
        index = child;
    }
    put(heap, index, node);
}

void alarm_heap_add(struct alarm_heap *heap, struct alarm *node, uint64_t due_ns)
{
    heap->alarms = memory_room_for_one(heap->alarms, heap->count, sizeof(*heap->alarms));
    node->due_ns = due_ns;
    sift_up(heap, heap->count++, node);
}

void alarm_heap_remove(struct alarm_heap *heap, struct alarm *node)
{
    struct alarm *last = heap->alarms[--heap->count];

    if (last == node)
        return;
    if (last->due_ns < node->due_ns)
        sift_up(heap, node->index, last);
    else
        sift_down(heap, node->index, last);
}

struct alarm *alarm_heap_first(const struct alarm_heap *heap)
{
    return heap->count == 0 ? NULL : heap->alarms[0];
}

uint64_t alarm_heap_due_ns(const struct alarm_heap *heap)
{
    return heap->count == 0 ? TIMER_NEVER : heap->alarms[0]->due_ns;
}

void alarm_heap_free(struct alarm_heap *heap)
{
    free(heap->alarms);
}
