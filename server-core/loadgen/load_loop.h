/*
 * The loop of one worker process.
 *
 * DESIGN. One thread waits for the earliest of: a socket event, the next arrival, the end of a think time, a
 * timeout. Every pass does a bounded amount of each kind of work, so that a backlog of one kind delays the
 * others by some hundred microseconds at most.
 *
 * In the open loop, sessions arrive at the moments of the arrival clock, whatever has become of those before.
 * Arrivals whose moment has passed are started at once; how late that was is accounted. Of several workers,
 * number i of n starts the arrivals i, i + n, i + 2n, …: together they keep to one clock.
 *
 * In the closed loop, a number of sessions is kept open: when one ends, the next begins. Every worker has its
 * share of them.
 *
 * After the duration the loop goes on until every session has ended, which the timeouts bound. In the closed
 * loop a session ends then with the reply it waits for.
 */
#ifndef TRIMTAB_LOADGEN_LOAD_LOOP_H
#define TRIMTAB_LOADGEN_LOAD_LOOP_H

#include "loadgen/connections.h"
#include "loadgen/options.h"

#include <stdbool.h>
#include <stdint.h>

struct load_loop {
    const struct options *options;
    struct connections *all;           /* initialised, with plan, network and account set */
    int timer;                         /* from load_loop_make_timer */
    const struct arrival_trace *trace; /* for arrivals from a trace, else NULL */
    const volatile bool *stop;         /* true: start nothing more and cut all sessions off */
    uint64_t start_ns;                 /* the moment that arrivals and duration count from; may lie ahead */
    unsigned worker;                   /* number of this worker, below `workers` */
    unsigned workers;
};

struct load_loop_end {
    uint64_t end_ns;
    double cpu_share; /* of one CPU, from the start to the end of the duration */
};

/* Makes the timer that ends the loop's waits, and has `epoll` report it. (The timeout of a wait would be set
 * and cancelled again with every reply.) Returns -1, with errno, when it cannot. */
int load_loop_make_timer(int epoll);

/* Runs to the end, or until it is to stop. Afterwards no session is open. */
struct load_loop_end load_loop_run(const struct load_loop *loop);

#endif
