/*
 * Counts of requests per file size.
 *
 * A size has a class of its own while there are at most 64 sizes. When a 65th comes, all classes are folded
 * into powers of two: the class of 2^k then holds the sizes above 2^(k-1) up to 2^k.
 */
#ifndef TRIMTAB_LOADGEN_SIZE_CLASSES_H
#define TRIMTAB_LOADGEN_SIZE_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

#define SIZE_CLASSES_MAX 64

/* How a request of a started session ends; every one ends in exactly one of these ways. */
enum outcome {
    OUTCOME_REPLIED,
    OUTCOME_TIMED_OUT_BEFORE_READ,
    OUTCOME_TIMED_OUT_AFTER_READ,
    OUTCOME_FAILED,
    OUTCOME_ABANDONED,
    OUTCOME_COUNT
};

struct size_class {
    uint64_t size_bytes; /* the size, or the largest one of the class */
    uint64_t outcomes[OUTCOME_COUNT];
};

struct size_classes {
    struct size_class classes[SIZE_CLASSES_MAX]; /* in ascending order of size_bytes */
    unsigned count;
    bool powers_of_two;
};

/* Counts one request for a file of `size_bytes` (at most 2^63). `classes` starts zeroed. */
void size_classes_count(struct size_classes *classes, uint64_t size_bytes, enum outcome outcome);

/* Adds the counts of `from` to `to`. When either is in powers of two, or both together have too many sizes,
 * `to` is so afterwards. */
void size_classes_merge(struct size_classes *to, const struct size_classes *from);

/* Returns how many requests of a class there were: the sum over its outcomes. */
uint64_t size_class_asked(const struct size_class *class);

#endif
