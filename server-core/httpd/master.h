/*
 * The master: owns the listeners, the shared memory, the stats socket and the workers. It serves no requests.
 */
#ifndef TRIMTAB_HTTPD_MASTER_H
#define TRIMTAB_HTTPD_MASTER_H

#include "httpd/arch/architecture.h"
#include "httpd/shared.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct worker_process {
    pid_t pid; /* 0: dead, to be replaced at restart_ns */
    int wake_fd;
    struct event_set *events; /* of a process that shares our descriptors */
    uint64_t started_ns, restart_ns;
    uint64_t delay_ns; /* before the next restart, should it die soon again */
};

struct master {
    struct config *config;
    const struct architecture *architecture;
    struct layout layout;
    struct shared *shared;
    struct log_rings *log_rings; /* of the access log; NULL: there is none */
    void *common;                /* what the architecture's prepare() made: one block from malloc */
    int *listeners;              /* one set behind the other (listeners.h) */
    size_t listener_count;       /* of all sets */
    struct worker_process *workers;
    unsigned worker_count; /* processes; their first rows of counters have the same numbers */
    int signals;           /* signalfd */
    uint64_t worker_restarts;
    uint64_t started_ns;
    bool shutting_down;
    uint64_t kill_ns; /* when what still runs is killed */
};

/* Serves with a configuration that has passed its checks. Returns the exit code of the program. */
int master_run(struct config *config);

/* Has the workers look at the settings, which have changed. */
void master_wake_workers(struct master *master);

/* Begins to stop: workers finish the replies under way, and are killed after two seconds. */
void master_shut_down(struct master *master);

#endif
