/*
 * A worker: everything that one serving process, or one thread of it, works with.
 *
 * The master fills in the first part before it forks. The architecture's run() makes the rest in the new
 * process by worker_open(), once for each event loop; one with several threads gives each of them a struct
 * worker of its own, made by worker_new().
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_WORKER_H
#define TRIMTAB_HTTPD_CONNECTION_WORKER_H

#include "httpd/cache/file_cache.h"
#include "httpd/config/architecture.h"
#include "httpd/connection/timers.h"
#include "httpd/connection/turns.h"
#include "httpd/counters/scoreboard.h"
#include "httpd/http/reply.h"
#include "httpd/io/events.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes read at once: a short read is proof that the socket is drained (io/epoll.c), so it should be more
 * than any usual batch of pipelined requests. */
#define INPUT_BYTES 16384

#define WORKER_SOURCES_MAX 3

struct connection;
struct log_ring;
struct log_rings;
struct contents_cache;

struct worker {
    /* From the master. */
    const struct config *config;
    const struct architecture *architecture;
    struct layout layout;
    void *common; /* what the architecture's prepare() made */
    struct scoreboard *scoreboard;
    struct log_rings *log_rings; /* NULL: there is no access log */
    pid_t master;
    unsigned process; /* which of layout.processes */
    unsigned row;     /* of counters; a worker with row < layout.serving has a share of max_connections */
    const struct live_settings *settings;
    struct counters *counters;
    struct histogram *service_time;
    struct log_ring *access_log; /* of the row; NULL: there is none */
    const int *listeners;        /* listening sockets, shared with other processes */
    size_t listener_count;
    int wake_fd;         /* eventfd: the settings have changed, or a client waits that nobody has taken */
    const int *wake_fds; /* those of the workers that accept, by row; NULL: there is no other */

    const struct driver *driver; /* the architecture's: how connections wait, and replies get out */
    void *own;                   /* what the architecture has for this worker alone */

    /* Further descriptors that the event loop watches, each with what to do when it is readable. */
    struct worker_source {
        int fd;
        void (*ready)(struct worker *worker);
    } sources[WORKER_SOURCES_MAX];
    unsigned source_count;

    /* Set by an architecture whose processes or threads share a cache, of whose users this worker is then
     * number `row`; NULL: this worker makes its own. */
    struct file_table *table;

    /* The server that it belongs to is copy `copy` of `copies`, usually the only one: its rows of counters
     * are every `copies`th from `copy` on, and it has its share of max_connections. */
    unsigned copies, copy;

    /* Made by worker_open(). */
    const struct event_mechanism *mechanism; /* as `events` says; NULL: the driver has connections wait */
    struct event_set *events;                /* of the master where processes share their descriptors */
    struct file_cache *cache;
    struct contents_cache *contents; /* of the process, for sendfile = off */
    struct timers timers;
    struct turns turns; /* of connections that could send more */
    struct connection *free_connections;

    /* Brought up to date by worker_refresh() once per turn of the loop. */
    struct http_date date;
    struct http_date expires; /* the last one that a reply has said */
    uint64_t now_ns;          /* also after each reply */
    uint64_t begun_bytes;     /* of replies that have begun since */
    int64_t max_connections;
    int64_t accept_limit;
    enum sendfile_mode sendfile;
    uint64_t keepalive_timeout_ns;
    uint64_t request_timeout_ns;
    uint64_t min_bytes_per_s;
    bool shutting_down; /* see live_settings */
    bool closing_idle;

    char input[INPUT_BYTES];   /* for connections that have nothing left over from earlier reads */
    char text[REPLY_TEXT_MAX]; /* for the head of a reply, until it has been sent or copied */
};

/*
 * The life of a worker process: gives up rights (config/identity.h), dies with its master, ignores the
 * signals meant for the master, pins itself and runs the architecture. Returns the exit code of the process.
 */
int worker_run(struct worker *worker);

/* Makes a further worker for a thread of the same process, with a row of counters of its own. The thread pins
 * itself with worker_pin() if it should be. Returns NULL when there is no memory; free() it. */
struct worker *worker_new(const struct worker *like, unsigned row);

/* Has the worker count in row `row`. */
void worker_take_row(struct worker *worker, unsigned row);

/* Returns the counters of row `row`; in a copy, of that row of the copy. */
struct counters *worker_counters(const struct worker *worker, unsigned row);

/* Pins the calling process or thread to the CPU that `affinity` has for the worker's row, if any. */
void worker_pin(const struct worker *worker);

/* Makes the event set, the cache and the timers, and reads the settings. Logs what is wrong and returns
 * false. worker_close() gives everything back. */
bool worker_open(struct worker *worker);
void worker_close(struct worker *worker);

/* Returns the row in shared memory of the worker that is number `row` of this architecture, or of this copy.
 */
unsigned worker_shared_row(const struct worker *worker, unsigned row);

/* Returns how many connections may be open in all workers together; in a copy, in all workers of this copy.
 */
int64_t worker_connections_in_all(const struct worker *worker);

/* Reads the clocks and the live settings. */
void worker_refresh(struct worker *worker);

#endif
