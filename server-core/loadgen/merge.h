/*
 * Adds up the results of several generators, of one machine or many, that loaded a server at the same time.
 */
#ifndef TRIMTAB_LOADGEN_MERGE_H
#define TRIMTAB_LOADGEN_MERGE_H

#include "loadgen/options.h"

#include <stddef.h>
#include <stdio.h>

/* Reads the results in the files of `options`, and writes one to `out`. Returns false, with a sentence in
 * `error`, when one is not readable or they do not belong together. */
bool merge_results(FILE *out, const struct options *options, char *error, size_t error_size);

#endif
