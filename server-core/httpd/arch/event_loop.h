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

struct worker;

/* Runs until the worker is told to shut down and has no connection left. Returns the exit code of the
 * process. */
int event_loop_run(struct worker *worker);

#endif
