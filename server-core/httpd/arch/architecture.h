/*
 * What an architecture is to the rest of the server: a name, the knobs it understands, and the code that a
 * serving process runs.
 *
 * A new architecture is one file that defines a `struct architecture`, and one line in the table in
 * architecture.c. It is built from the same parts as all others (connection.h, file_cache.h, io/), so that a
 * difference between two architectures is a difference of architecture.
 */
#ifndef TRIMTAB_HTTPD_ARCH_ARCHITECTURE_H
#define TRIMTAB_HTTPD_ARCH_ARCHITECTURE_H

#include "httpd/knobs.h"

#include <stdbool.h>
#include <stddef.h>

struct worker;

struct architecture {
    const char *name;
    const char *help;

    /* The knobs it understands beside those that every architecture does (root, listen, stats_socket,
     * architecture, backlog, sndbuf); ends with KNOB_COUNT. All others must keep their defaults. */
    const enum knob_id *knobs;

    /* Serves until the worker is told to shut down and its last connection is closed. Runs in each of the
     * `workers` processes that the master forks. Returns the exit code of the process. */
    int (*run)(struct worker *worker);
};

/* Returns entry `index` of the table of architectures, or NULL behind the last. */
const struct architecture *architecture_at(size_t index);

bool architecture_understands(const struct architecture *architecture, enum knob_id id);

#endif
