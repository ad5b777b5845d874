/*
 * The metrics of a worker, in one table from which the counters in shared memory, `show schema`, `show
 * stats`, `show metrics` and the test of the documentation derive.
 *
 * Each worker has counters of its own, which only it writes, with plain increments; the master reads them at
 * any time. All are 64 bits wide, so a reader sees each either before or after an increment.
 */
#ifndef TRIMTAB_HTTPD_COUNTERS_METRICS_H
#define TRIMTAB_HTTPD_COUNTERS_METRICS_H

#include "httpd/http/status.h"

#include <stddef.h>
#include <stdint.h>

#define METRIC_SERVICE_TIME "service_time_us"

/* name, unit, kind, how workers add up, help */
#define METRICS(X)                                                                                           \
    X(connections_open, "1", "gauge", "sum", "connections open now")                                         \
    X(connections_accepted, "1", "counter", "sum", "connections accepted")                                   \
    X(accept_phases, "1", "counter", "sum", "times that the accept phase of the event loop was entered")     \
    X(accept_calls, "1", "counter", "sum", "accept4 calls, successful or not")                               \
    X(connections_closed_by_client, "1", "counter", "sum", "connections that the client closed or reset")    \
    X(connections_closed_by_server, "1", "counter", "sum", "connections that the server closed or lost")     \
    X(connections_timed_out, "1", "counter", "sum", "connections closed because a timeout expired")          \
    X(requests, "1", "counter", "sum", "requests read, good or bad")                                         \
    X(requests_aborted, "1", "counter", "sum", "requests whose connection closed before the reply was out")  \
    X(bytes_sent, "By", "counter", "sum", "bytes of heads and bodies handed to the kernel")                  \
    X(sendfile_calls, "1", "counter", "sum", "sendfile calls")                                               \
    X(sendfile_partial, "1", "counter", "sum", "sendfile calls that sent less than they were asked to")      \
    X(write_calls, "1", "counter", "sum", "calls that send contents from memory, where sendfile is off")     \
    X(write_partial, "1", "counter", "sum", "such calls that sent less than they were asked to")             \
    X(contents_hits, "1", "counter", "sum", "replies whose contents the server had in memory")               \
    X(contents_misses, "1", "counter", "sum", "replies whose contents had to be read")                       \
    X(contents_evictions, "1", "counter", "sum", "contents dropped from memory to make room")                \
    X(event_calls, "1", "counter", "sum", "calls that wait for events")                                      \
    X(events_returned, "1", "counter", "sum", "events that those calls returned")                            \
    X(cache_hits, "1", "counter", "sum", "look-ups answered by the open-file cache")                         \
    X(cache_misses, "1", "counter", "sum", "look-ups that had to open a file, found or not")                 \
    X(cache_evictions, "1", "counter", "sum", "cache entries evicted to make room or to free descriptors")   \
    X(access_log_dropped, "1", "counter", "sum",                                                             \
      "lines of the access log lost because it could not keep up")                                           \
    X(lock_waits, "1", "counter", "sum", "times that a lock was held by another and had to be waited for")   \
    X(queue_items, "1", "counter", "sum", "items taken from the queue of this stage or helper")              \
    X(queue_batches, "1", "counter", "sum", "times that the queue was emptied or worked on in one go")       \
    X(queue_length, "1", "gauge", "sum", "items waiting in the queue of this stage or helper now")           \
    X(queue_length_max, "1", "maximum", "max", "items that have waited in that queue at most")               \
    X(helper_requests, "1", "counter", "sum",                                                                \
      "requests handed to a helper because serving them could block")                                        \
    X(pool_size, "1", "gauge", "sum", "processes among which new connections are divided now")               \
    X(connections_forwarded, "1", "counter", "sum", "connections handed to another process")                 \
    X(user_switches, "1", "counter", "sum", "switches between user-level threads")                           \
    X(kernel_threads_added, "1", "counter", "sum", "kernel threads added because one was blocked")           \
    X(requests_refused, "1", "counter", "sum", "requests answered 503 by the admission control of a stage")  \
    X(stage_threads, "1", "gauge", "sum", "threads that a stage has at work")                                \
    X(stage_batch, "1", "gauge", "max", "items that a thread of a stage takes at a time at most")            \
    X(stage_wait_p90_us, "us", "gauge", "max", "90th percentile of what items wait for a stage")             \
    X(admission_rps, "1/s", "gauge", "max", "requests a second that a stage admits; 0: all of them")

struct counters {
#define METRIC_FIELD(name, unit, kind, aggregation, help) uint64_t name;
#define REPLIES_FIELD(code, name, reason)                 uint64_t replies_##code;
    METRICS(METRIC_FIELD)
    HTTP_STATUSES(REPLIES_FIELD)
#undef METRIC_FIELD
#undef REPLIES_FIELD
};

#define METRIC_COUNT (sizeof(struct counters) / sizeof(uint64_t))

struct metric {
    const char *name, *unit, *kind, *aggregation, *help;
};

/* One row per counter, in the order of the fields of struct counters. */
extern const struct metric METRIC_TABLE[METRIC_COUNT];

/* Returns the counter of replies with a status. */
uint64_t *metrics_replies(struct counters *counters, enum http_status status);

#endif
