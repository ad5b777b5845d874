/*
 * The contents of generated files: a function of URL path and offset, so that replies can be verified without
 * a copy. The definition stands in tuner/trimtab_tuner/workloads/content.py, which writes the files; a test
 * compares the two.
 */
#ifndef TRIMTAB_LOADGEN_CONTENT_H
#define TRIMTAB_LOADGEN_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the key of the file that `target`, a path with or without a query, asks for. */
uint64_t content_key(const char *target);

/* Says whether the `length` bytes at `data` are those at `offset` of the file with this key. */
bool content_matches(uint64_t key, uint64_t offset, const char *data, size_t length);

#endif
