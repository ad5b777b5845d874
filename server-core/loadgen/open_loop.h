/*
 * The open loop: sessions arrive at the moments of the arrival clock, whatever has become of those before.
 *
 * DESIGN. One thread waits for the earliest of: a socket event, the next arrival, the end of a think time, a
 * timeout, the next progress line. Every pass does a bounded amount of each kind of work, so that a backlog
 * of one kind delays the others by some hundred microseconds at most. Arrivals whose moment has passed are
 * started at once; how late that was is accounted. After the last arrival the loop goes on until every
 * session has ended, which the timeouts bound.
 */
#ifndef TRIMTAB_LOADGEN_OPEN_LOOP_H
#define TRIMTAB_LOADGEN_OPEN_LOOP_H

#include "loadgen/arrivals.h"
#include "loadgen/connection.h"
#include "loadgen/options.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>

struct open_loop {
    const struct options *options;
    struct connections *all;                    /* with plan, network, account, timeout_ns and epoll set */
    FILE *out;                                  /* for progress lines */
    const volatile sig_atomic_t *signal_number; /* not 0: stop offering and end all sessions */
    uint64_t start_ns;                          /* the moment that the arrivals count from */
};

struct open_loop_end {
    uint64_t end_ns;
    double cpu_share; /* of one CPU, from the start to the last arrival */
};

/* Runs to the end, or until a signal has come. Afterwards no session is open. */
struct open_loop_end open_loop_run(const struct open_loop *loop);

#endif
