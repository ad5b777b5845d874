/*
 * A result that was written before, read back.
 */
#ifndef TRIMTAB_LOADGEN_RESULT_FILE_H
#define TRIMTAB_LOADGEN_RESULT_FILE_H

#include "loadgen/accounting.h"
#include "loadgen/options.h"

#include <stdbool.h>
#include <stddef.h>

struct loaded_result {
    struct options options;  /* what the result says of them; the URL is allocated */
    struct account *account; /* everything but what only progress lines need */
    double elapsed_s;
    double window_s;
    double cpu_share;
    bool interrupted;
    char limited[160]; /* the first reason why it was generator-limited; empty when it was not */
};

/* Reads the last result of the JSON lines in `file`. Returns false, with a sentence in `error` that names the
 * file, when there is none or it is not one of trimtab-load. Released with result_file_free either way. */
bool result_file_read(struct loaded_result *result, const char *file, char *error, size_t error_size);
void result_file_free(struct loaded_result *result);

#endif
