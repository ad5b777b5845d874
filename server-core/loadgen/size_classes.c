/*
 * See size_classes.h.
 */
#include "size_classes.h"

#include <string.h>

/* The smallest power of two that is not below `size`; 0 for 0. */
static uint64_t power_of_two_from(uint64_t size)
{
    return size <= 1 ? size : UINT64_C(1) << (64 - __builtin_clzll(size - 1));
}

/* Returns the index of the first class that is not below `size_bytes`, `count` when all are. */
static unsigned find_class(const struct size_classes *classes, uint64_t size_bytes)
{
    unsigned low = 0, high = classes->count;

    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (classes->classes[middle].size_bytes < size_bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the class of exactly this bound, which is made when there is none; NULL when there is no room. */
static struct size_class *obtain_class(struct size_classes *classes, uint64_t size_bytes)
{
    unsigned index = find_class(classes, size_bytes);
    struct size_class *class = &classes->classes[index];

    if (index < classes->count && class->size_bytes == size_bytes)
        return class;
    if (classes->count == SIZE_CLASSES_MAX)
        return NULL;
    memmove(class + 1, class, (classes->count - index) * sizeof(*class));
    *class = (struct size_class){.size_bytes = size_bytes};
    classes->count++;
    return class;
}

/* Replaces the exact classes by powers of two. */
static void fold(struct size_classes *classes)
{
    struct size_classes folded = {.powers_of_two = true};

    for (unsigned i = 0; i < classes->count; i++) {
        const struct size_class *from = &classes->classes[i];
        struct size_class *to = obtain_class(&folded, power_of_two_from(from->size_bytes));
        for (unsigned outcome = 0; outcome < OUTCOME_COUNT; outcome++)
            to->outcomes[outcome] += from->outcomes[outcome];
    }
    *classes = folded;
}

/* Returns the class that `size_bytes` belongs to, folding all of them when there is no room for another. */
static struct size_class *class_of(struct size_classes *classes, uint64_t size_bytes)
{
    struct size_class *class = NULL;

    if (!classes->powers_of_two) {
        class = obtain_class(classes, size_bytes);
        if (class == NULL)
            fold(classes);
    }
    return class == NULL ? obtain_class(classes, power_of_two_from(size_bytes)) : class;
}

void size_classes_count(struct size_classes *classes, uint64_t size_bytes, enum outcome outcome)
{
    class_of(classes, size_bytes)->outcomes[outcome]++;
}

void size_classes_merge(struct size_classes *to, const struct size_classes *from)
{
    if (from->powers_of_two && !to->powers_of_two)
        fold(to);
    for (unsigned i = 0; i < from->count; i++) {
        struct size_class *class = class_of(to, from->classes[i].size_bytes);
        for (unsigned outcome = 0; outcome < OUTCOME_COUNT; outcome++)
            class->outcomes[outcome] += from->classes[i].outcomes[outcome];
    }
}

uint64_t size_class_asked(const struct size_class *class)
{
    uint64_t asked = 0;

    for (unsigned outcome = 0; outcome < OUTCOME_COUNT; outcome++)
        asked += class->outcomes[outcome];
    return asked;
}
