/*
 * See timers.h.
 */
#include "timers.h"

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
    node->next = node->previous = node;
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
