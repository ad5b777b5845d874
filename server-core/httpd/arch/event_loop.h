/*
 * The event loop of the single-threaded architectures.
 *
 * Four phases follow each other for ever:
 *   getevents  one wait for events;
 *   accept     if a listener is ready: accept until the kernel has no more, the worker has its share of
 *              max_connections, or accept_limit connections were accepted;
 *   work       each connection that the wait reported, or that was accepted just now, runs as far as it can;
 *   sending    some of the large replies that could go on do so (httpd/connection/turns.h).
 */
#ifndef TRIMTAB_HTTPD_ARCH_EVENT_LOOP_H
#define TRIMTAB_HTTPD_ARCH_EVENT_LOOP_H

#include <stdbool.h>

struct connection;
struct event_loop;
struct worker;

/* Runs until the worker is told to shut down and has no connection left. Returns the exit code of the
 * process. */
int event_loop_run(struct worker *worker);

/* For driver->accept(): accepts a connection, which is worked on in this turn. Puts it, or NULL, into
 * *connection. Returns false when the accept phase should not go on with this listener. */
bool event_loop_accept(struct event_loop *loop, int listener, struct connection **connection);

/* For the same, when it cannot serve another connection now, for the reason that errno has: accepts none for
 * a while. */
void event_loop_back_off(struct event_loop *loop, const char *what);

#endif
