/*
 * Fuzz targets. Each defines LLVMFuzzerTestOneInput(), which libFuzzer calls with inputs that it makes up
 * (`make fuzz`), and replay.c with those that are kept in corpus/ (`make test`).
 */
#ifndef TRIMTAB_TEST_FUZZ_H
#define TRIMTAB_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program, with the place, when what must hold does not. */
#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                   \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

#endif
