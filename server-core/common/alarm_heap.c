/*
 * See alarm_heap.h.
 */
#include "alarm_heap.h"

#include <stdio.h>
#include <stdlib.h>

/* Four children a place: half as many levels as with two, and children that lie side by side. */
#define CHILDREN 4

static void put(struct alarm_heap *heap, size_t index, struct alarm_place place)
{
    heap->places[index] = place;
    place.node->place = index + 1;
}

/* Moves what belongs to `place` up from the free place `index` to where its parent is not later. */
static void sift_up(struct alarm_heap *heap, size_t index, struct alarm_place place)
{
    while (index > 0 && place.due_ns < heap->places[(index - 1) / CHILDREN].due_ns) {
        put(heap, index, heap->places[(index - 1) / CHILDREN]);
        index = (index - 1) / CHILDREN;
    }
    put(heap, index, place);
}

/* Moves it down from the free place `index` to where its children are not earlier. */
static void sift_down(struct alarm_heap *heap, size_t index, struct alarm_place place)
{
    for (;;) {
        size_t first = CHILDREN * index + 1, earliest = first;
        for (size_t child = first + 1; child < first + CHILDREN && child < heap->count; child++)
            if (heap->places[child].due_ns < heap->places[earliest].due_ns)
                earliest = child;
        if (first >= heap->count || place.due_ns <= heap->places[earliest].due_ns)
            break;
        put(heap, index, heap->places[earliest]);
        index = earliest;
    }
    put(heap, index, place);
}

/* The array grows when its length reaches a power of two, so no capacity needs to be stored. */
static void make_room(struct alarm_heap *heap)
{
    if ((heap->count & (heap->count - 1)) != 0)
        return;
    heap->places = reallocarray(heap->places, heap->count == 0 ? 1 : 2 * heap->count, sizeof(*heap->places));
    if (heap->places == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
}

void alarm_heap_add(struct alarm_heap *heap, struct alarm *node, uint64_t due_ns)
{
    make_room(heap);
    node->due_ns = due_ns;
    sift_up(heap, heap->count++, (struct alarm_place){due_ns, node});
}

void alarm_heap_remove(struct alarm_heap *heap, struct alarm *node)
{
    if (node->place == 0)
        return;
    size_t index = node->place - 1;
    struct alarm_place last = heap->places[--heap->count];
    node->place = 0;
    if (last.node == node)
        return;
    if (last.due_ns < node->due_ns)
        sift_up(heap, index, last);
    else
        sift_down(heap, index, last);
}

struct alarm *alarm_heap_first(const struct alarm_heap *heap)
{
    return heap->count == 0 ? NULL : heap->places[0].node;
}

uint64_t alarm_heap_due_ns(const struct alarm_heap *heap)
{
    return heap->count == 0 ? TIMER_NEVER : heap->places[0].due_ns;
}

void alarm_heap_free(struct alarm_heap *heap)
{
    free(heap->places);
}
