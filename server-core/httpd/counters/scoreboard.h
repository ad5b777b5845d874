/*
 * The memory that the master and its workers share: settings that may change while the server runs (written
 * by the master), and rows of counters with a histogram of service times each. Every process, and every
 * thread that counts, has a row of its own (config/architecture.h), which only it writes.
 *
 * Nobody ever waits for anybody here. The memory belongs to the master, so counters survive the death of a
 * worker, and its replacement goes on counting in the same place. Clearing the counters does not touch them:
 * what they were is remembered and subtracted when they are read. That takes effect at once, for all workers
 * at the same moment, and disturbs none of them.
 */
#ifndef TRIMTAB_HTTPD_COUNTERS_SCOREBOARD_H
#define TRIMTAB_HTTPD_COUNTERS_SCOREBOARD_H

#include "common/histogram.h"
#include "httpd/config/config.h"
#include "httpd/counters/metrics.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_LINE_BYTES 64

/* Returns how many bytes the cache lines take that so many bytes begin. */
static inline size_t whole_lines(size_t bytes)
{
    return (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
}

/* Buckets of at most 3 % of the values in them: 10 KB a worker. */
#define SERVICE_TIME_PRECISION_BITS 6

struct live_settings {
    _Alignas(CACHE_LINE_BYTES) _Atomic int64_t max_connections; /* over all workers */
    _Atomic int64_t accept_limit;                               /* KNOB_INF: none */
    _Atomic int sendfile;                                       /* enum sendfile_mode */
    _Atomic uint64_t keepalive_timeout_ns;
    _Atomic uint64_t request_timeout_ns;
    _Atomic uint64_t min_bytes_per_s;
    _Atomic int stage_threads, stage_batch; /* enum stage_size */
    _Atomic int64_t admission_p90_ms;       /* KNOB_OFF: all are admitted */
    _Atomic bool shutting_down;             /* no more are accepted, and replies end their connections */
    _Atomic bool closing_idle;              /* those that have nothing under way are closed too */
};

struct scoreboard;

/* Maps the memory for `rows` rows of counters and takes the settings over from the configuration. Returns
 * NULL with errno set on failure. */
struct scoreboard *scoreboard_create(const struct config *config, unsigned rows);

/* Unmaps it. */
void scoreboard_destroy(struct scoreboard *scoreboard);

struct live_settings *scoreboard_settings(struct scoreboard *scoreboard);

/* Copies the live knobs of the configuration into the settings. */
void scoreboard_apply(struct scoreboard *scoreboard, const struct config *config);

/* Of row `row`. */
struct counters *scoreboard_counters(struct scoreboard *scoreboard, unsigned row);
struct histogram *scoreboard_service_time(struct scoreboard *scoreboard, unsigned row);

/* Since when the one connection of row `row` has been idle; 0: it is not, or the row has more than one. */
_Atomic uint64_t *scoreboard_idle_since_ns(struct scoreboard *scoreboard, unsigned row);

/* Whether the worker of row `row` says that it listens (arch/listening.h). */
_Atomic bool *scoreboard_listens(struct scoreboard *scoreboard, unsigned row);

/* --- reading, in the master --- */

/* Has the counters start from zero in what the next two say. */
void scoreboard_clear(struct scoreboard *scoreboard);

/* Fills in what the counters of a row say, in the order of METRIC_TABLE. */
void scoreboard_read(struct scoreboard *scoreboard, unsigned row, uint64_t values[METRIC_COUNT]);

/* Returns the service times of `count` rows from row `first` on together, to be freed; NULL when there is no
 * memory. */
struct histogram *scoreboard_service_times(struct scoreboard *scoreboard, unsigned first, unsigned count);

#endif
