/*
 * The memory that the master and its workers share: settings that may change while the server runs (written
 * by the master), and rows of counters with a histogram of service times each. Every process, and every
 * thread that counts, has a row of its own (arch/architecture.h), which only it writes.
 *
 * Nobody ever waits for anybody here. The memory belongs to the master, so counters survive the death of a
 * worker, and its replacement goes on counting in the same place.
 */
#ifndef TRIMTAB_HTTPD_SHARED_H
#define TRIMTAB_HTTPD_SHARED_H

#include "common/histogram.h"
#include "httpd/config.h"
#include "httpd/metrics.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CACHE_LINE_BYTES 64

/* Buckets of at most 3 % of the values in them: 10 KB a worker. */
#define SERVICE_TIME_PRECISION_BITS 6

struct live_settings {
    _Alignas(CACHE_LINE_BYTES) _Atomic int64_t max_connections; /* over all workers */
    _Atomic int64_t accept_limit;                               /* KNOB_INF: none */
    _Atomic int sendfile;                                       /* enum sendfile_mode */
    _Atomic uint64_t keepalive_timeout_ns;
    _Atomic uint64_t request_timeout_ns;
    _Atomic uint64_t min_bytes_per_s;
    _Atomic bool shutting_down; /* no more are accepted, and replies end their connections */
    _Atomic bool closing_idle;  /* those that have nothing under way are closed too */
};

struct shared;

/* Maps the memory for `rows` rows of counters and takes the settings over from the configuration. Returns
 * NULL with errno set on failure. */
struct shared *shared_create(const struct config *config, unsigned rows);

/* Unmaps it. */
void shared_destroy(struct shared *shared);

struct live_settings *shared_settings(struct shared *shared);

/* Copies the live knobs of the configuration into the settings. */
void shared_apply(struct shared *shared, const struct config *config);

/* Of row `row`. */
struct counters *shared_counters(struct shared *shared, unsigned row);
struct histogram *shared_service_time(struct shared *shared, unsigned row);

/* Since when the one connection of row `row` has been idle; 0: it is not, or the row has more than one. */
_Atomic uint64_t *shared_idle_since_ns(struct shared *shared, unsigned row);

#endif
