/*
 * The master: owns the listeners, the shared memory and the workers. It serves no requests; what it does all
 * day is in serve.c.
 */
#ifndef TRIMTAB_HTTPD_PROCESS_MASTER_H
#define TRIMTAB_HTTPD_PROCESS_MASTER_H

#include "httpd/config/architecture.h"
#include "httpd/config/load.h"
#include "httpd/counters/scoreboard.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct worker_process {
    pid_t pid;                /* 0: dead, to be replaced at restart_ns */
    struct event_set *events; /* of a process that shares our descriptors */
    uint64_t started_ns, restart_ns;
    uint64_t delay_ns; /* before the next restart, should it die soon again */
};

/* What serves by one reading of the configuration. */
struct master {
    const struct config_source *source;
    struct config *config; /* from malloc, like the other memory below */
    const struct architecture *architecture;
    struct layout layout;
    struct scoreboard *scoreboard;
    struct log_rings *log_rings; /* of the access log; NULL: there is none */
    void *common;                /* what the architecture's prepare() made: one block */
    int *listeners;              /* one set behind the other (listeners.h); -1: its successor has it */
    size_t listener_count;       /* of all sets */
    struct worker_process *workers;
    int *wake_fds;         /* of the workers */
    unsigned worker_count; /* processes; their first rows of counters have the same numbers */
    int signals;           /* signalfd */
    uint64_t worker_restarts;
    uint64_t started_ns;
    bool shutting_down;   /* its workers end and are not replaced */
    uint64_t kill_ns;     /* when what still runs is killed */
    struct master *older; /* what a reload has replaced, while its workers still finish; NULL: nothing */
};

#endif
