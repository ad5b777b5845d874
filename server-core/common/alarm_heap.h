/*
 * Moments in any order, the earliest first: a heap.
 *
 * It links nodes that are part of the caller's structure (see container_of), and allocates nothing per node
 * but its array. That has the moments beside the pointers: to find the earliest of thousands, none of the
 * nodes is looked at. Where there is no memory for that the process ends, with a sentence.
 */
#ifndef TRIMTAB_ALARM_HEAP_H
#define TRIMTAB_ALARM_HEAP_H

#include <stddef.h>
#include <stdint.h>

#define TIMER_NEVER UINT64_MAX

/* The structure of type `type` that holds `node` as its member `member`. */
#define container_of(node, type, member) ((type *)(void *)((char *)(node) - offsetof(type, member)))

/* A node of the heap; zero before it is added. */
struct alarm {
    uint64_t due_ns;
    size_t place; /* in the heap's array, from 1 on; 0 while it is in none */
};

struct alarm_place {
    uint64_t due_ns;
    struct alarm *node;
};

struct alarm_heap {
    struct alarm_place *places;
    size_t count;
};

void alarm_heap_add(struct alarm_heap *heap, struct alarm *node, uint64_t due_ns);

/* Takes `node` out, if it is in the heap. */
void alarm_heap_remove(struct alarm_heap *heap, struct alarm *node);

/* Returns the earliest node, NULL when there is none. */
struct alarm *alarm_heap_first(const struct alarm_heap *heap);

/* Returns when the earliest node is due, TIMER_NEVER when there is none. */
uint64_t alarm_heap_due_ns(const struct alarm_heap *heap);

void alarm_heap_free(struct alarm_heap *heap);

#endif
