/*
 * Memory that must be there. The generator needs little memory and cannot measure anything without it, so it
 * ends with a sentence rather than handing the case up through every function.
 */
#ifndef TRIMTAB_LOADGEN_MEMORY_H
#define TRIMTAB_LOADGEN_MEMORY_H

#include <stdio.h>
#include <stdlib.h>

/* Returns its argument; ends the process with status 1 when it is NULL. */
static inline void *memory_needed(void *memory)
{
    if (memory == NULL) {
        fputs("trimtab-load: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* Makes room for one more element of `element_size` bytes in the array `array` of `count` elements. Arrays
 * grow when their length reaches a power of two, so no capacity needs to be stored. Returns the array. */
static inline void *memory_room_for_one(void *array, size_t count, size_t element_size)
{
    if ((count & (count - 1)) != 0)
        return array;
    return memory_needed(reallocarray(array, count == 0 ? 1 : 2 * count, element_size));
}

#endif
