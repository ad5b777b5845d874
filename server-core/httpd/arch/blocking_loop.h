/*
 * The loop of the architectures that give each connection a process or a kernel thread of its own.
 *
 * Accept one connection, serve it to its end, accept the next. Whoever waits sleeps in the kernel: while it
 * has no connection in a wait for a listener, of which an arrival wakes one sleeper; while it has one in a
 * wait for that socket alone. The connection runs the same state machine as in all other architectures.
 */
#ifndef TRIMTAB_HTTPD_ARCH_BLOCKING_LOOP_H
#define TRIMTAB_HTTPD_ARCH_BLOCKING_LOOP_H

#include "httpd/connection/driver.h"

#include <stdbool.h>

/* Of an architecture that runs this loop. */
extern const struct driver driver_blocking_loop;

/* What a pool of threads wants to know; all functions get `user`. */
struct blocking_pool {
    void *user;
    void (*taken)(void *user); /* this thread has a connection now */
    void (*free_again)(void *user);
    bool (*may_end)(void *user); /* it has been free for keepalive_timeout: may it end? */
};

/* Runs until the worker is told to shut down and its connection has ended, or its pool lets it end.
 * Connections are accepted while the worker's row is less than max_connections. `pool` may be NULL. Returns
 * the exit code. */
int blocking_loop_run(struct worker *worker, const struct blocking_pool *pool);

#endif
