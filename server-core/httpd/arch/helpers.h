/*
 * Helper processes: they do for an event loop what may wait for a disk. A helper opens a file and reads a
 * part of it, so that names and pages are in the kernel's caches, and says when it is done; the event loop
 * then does the same without waiting.
 *
 *                          ┌─ channel ─▶ helper 0 ─┐
 *   event loop ── queue ───┼─ channel ─▶ helper 1 ─┼─▶ completions ─▶ event loop
 *                          └─ channel ─▶ helper n ─┘
 *
 * A helper has one job at a time; the others wait in a queue of the event loop. A helper that was killed and
 * replaced says so, and its job is done again.
 */
#ifndef TRIMTAB_HTTPD_ARCH_HELPERS_H
#define TRIMTAB_HTTPD_ARCH_HELPERS_H

#include "httpd/connection/connection.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct helpers;
struct worker;

/* A connection that may wait for a helper. */
struct helped_connection {
    struct connection connection;
    uint64_t job; /* that it is WAITING for */
};

/* The descriptors between an event loop and `count` helpers, made before either is forked. */
struct helper_channels {
    unsigned count;
    int completions[2]; /* helpers write to [1] */
    int (*requests)[2]; /* one pair for each helper, which reads from [1] */
};

/* Makes the channels in `channels`, whose `requests` have room for `count` pairs. Returns false with errno.
 */
bool helper_channels_open(struct helper_channels *channels, unsigned count);

/* The event loop's side. `done` is called with a connection that has waited, for a job up to `to`. */
struct helpers *helpers_create(struct worker *worker, const struct helper_channels *channels,
                               void (*done)(struct worker *worker, struct helped_connection *connection,
                                            off_t to));

/* Has a helper open `path` and read it from `from` up to `to`, and suspends the connection until then.
 * Returns false when there is no memory. */
bool helpers_ask(struct helpers *helpers, struct helped_connection *connection, const char *path, off_t from,
                 off_t to);

/* Reads completions; to be called when channels->completions[0] is readable. */
void helpers_complete(struct helpers *helpers);

/* Has the helpers end, and frees everything. */
void helpers_destroy(struct helpers *helpers);

/* What a helper process does: serves event loops until it is told to end. Returns the exit code. */
int helper_run(struct worker *worker, const struct helper_channels *channels, unsigned number);

#endif
