/*
 * The worker processes that make the load, and the process that watches them.
 *
 * DESIGN. The parent forks the workers and makes no load itself. Every worker has its account in memory that
 * it shares with the parent, and is its only writer. Once a second the parent reads what has been counted and
 * prints a progress line, and besides a line at either edge of the goodput window; at the end it adds the
 * accounts up. Nothing is sent between the processes but a request to stop, which is a flag in the same
 * memory. One worker is no special case.
 *
 * Workers do not outlive the parent: the kernel kills them when it dies (PR_SET_PDEATHSIG of prctl(2)).
 */
#ifndef TRIMTAB_LOADGEN_WORKERS_H
#define TRIMTAB_LOADGEN_WORKERS_H

#include "loadgen/accounting.h"
#include "loadgen/connections.h"
#include "loadgen/options.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct workers_run {
    const struct options *options;
    struct connections *all;                    /* what every worker starts from: plan and network are set */
    const struct arrival_trace *trace;          /* as for the loop */
    const int *cpus;                            /* to pin the workers to, in turn */
    size_t cpu_count;                           /* 0: not pinned */
    FILE *out;                                  /* for progress and the window */
    const volatile sig_atomic_t *signal_number; /* not 0: the run is to end now */
    const sigset_t *waiting_mask;               /* signal mask while waiting; otherwise signals are blocked */
};

struct workers_end {
    struct account *total; /* all accounts added up; released with free() */
    uint64_t start_ns;
    uint64_t end_ns;  /* of the worker that ended last */
    double cpu_share; /* of the busiest worker, until the end of the duration */
};

/* Runs the load to its end. Returns false, with a sentence in `error`, when a worker could not be started or
 * died. */
bool workers_run(const struct workers_run *run, struct workers_end *end, char *error, size_t error_size);

#endif
