/*
 * A worker: everything that one serving process of an architecture works with.
 *
 * The master fills in the first part before it forks; worker_run() makes the rest in the new process, and
 * hands it to the architecture.
 */
#ifndef TRIMTAB_HTTPD_WORKER_H
#define TRIMTAB_HTTPD_WORKER_H

#include "httpd/config.h"
#include "httpd/file_cache.h"
#include "httpd/io/events.h"
#include "httpd/shared.h"
#include "httpd/timers.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes read at once: a short read is proof that the socket is drained (io/epoll_et.c), so it should be more
 * than any usual batch of pipelined requests. */
#define INPUT_BYTES 16384

struct connection;

struct worker {
    /* From the master. */
    const struct config *config;
    unsigned index;
    pid_t master;
    const struct live_settings *settings;
    struct counters *counters;
    struct histogram *service_time;
    const int *listeners; /* listening sockets, shared by all workers */
    size_t listener_count;
    int wake_fd; /* eventfd: the settings have changed */

    /* Set by an architecture in which other threads send: a reply is only prepared (reply_begin()), and
     * connection_sent() takes it back. */
    bool hands_over_replies;

    /* Made by worker_run(). */
    const struct event_mechanism *mechanism;
    struct event_set *events;
    struct file_cache *cache;
    struct timers timers;
    struct connection *free_connections;

    /* Brought up to date by worker_refresh() once per turn of the loop. */
    struct http_date date;
    uint64_t now_ns; /* also after each reply */
    int64_t max_connections;
    int64_t accept_limit;
    enum sendfile_mode sendfile;
    uint64_t keepalive_timeout_ns;
    uint64_t request_timeout_ns;
    bool shutting_down;

    char input[INPUT_BYTES]; /* for connections that have nothing left over from earlier reads */
};

/*
 * The life of a worker process: dies with its master, ignores the signals meant for the master, pins itself,
 * makes what it needs and runs the architecture. Returns the exit code of the process.
 */
int worker_run(struct worker *worker);

/* Reads the clocks and the live settings. */
void worker_refresh(struct worker *worker);

#endif
