/*
 * User threads: one for each connection, scheduled at user level on top of the event loop (knot, nm).
 *
 * DESIGN. The event loop is the scheduler. What it has to say about a connection (an event, an expired
 * timeout, the end of the server) is delivered to the connection's thread: the scheduler switches to it, and
 * the thread runs until it has to wait, which it does by switching back. Its code is straight: it reads
 * requests, has the file opened, sends the reply, and waits in each place until it can go on. A thread serves
 * a connection from its first request to its end and then the next one; threads are made as connections need
 * them, and a few are kept for the next ones: what a stack has once touched stays in memory as long as the
 * stack.
 *
 * What may wait for a disk, opening a file that the kernel does not have in its cache of names and sending,
 * is done by `open` and `send`, which may put the thread to sleep and have others run meanwhile: there the
 * architectures differ. Between two sleeps nobody else runs on this scheduler, so no locks are needed.
 */
#ifndef TRIMTAB_HTTPD_ARCH_USER_THREADS_H
#define TRIMTAB_HTTPD_ARCH_USER_THREADS_H

#include "httpd/arch/fibre.h"
#include "httpd/connection/connection.h"
#include "httpd/connection/worker.h"

#include <stdbool.h>
#include <stdint.h>

struct user_scheduler;

/* A connection that a user thread serves. */
struct user_connection {
    struct connection connection;
    struct user_thread *thread; /* NULL: it has none yet */
    uint8_t asked;              /* names that its request needs (file_cache_would_wait()) */
};

#define USER_THREAD_MAPPINGS 2 /* of memory: a stack and its guard page (arch/fibre.c) */

struct user_thread {
    struct user_scheduler *scheduler;
    struct fibre *fibre;
    struct user_connection *own; /* its connection; NULL: it is free */
    enum send_outcome outcome;   /* of what another kernel thread has sent for it */
    uint32_t delivered;          /* what it has not looked at yet */
    bool waiting;                /* for that */
    char *wanted;                /* the file whose opening it has to wait for, below the directory root */
    int root;
    struct user_thread *next_free;
};

struct user_scheduler {
    struct worker *worker;
    struct fibre *fibre;      /* of the event loop */
    struct user_thread *free; /* without a connection */
    unsigned free_count;

    /* Sends what can be sent of the reply of the thread's connection. */
    enum send_outcome (*send)(struct user_thread *thread);

    /* Does user_thread_open(), which may wait for a disk. */
    void (*open)(struct user_thread *thread);

    /* Who goes on with a reply that did not fit the socket when it is writable: the scheduler, without waking
     * the thread until the reply is out, or the thread. */
    bool continuations;
};

/* How connections are delivered to user threads. */
extern const struct driver user_threads_driver;

/* Makes `scheduler` that of `worker`. `fibre`: the one that its event loop runs on. */
void user_threads_begin(struct user_scheduler *scheduler, struct worker *worker, struct fibre *fibre);

/* Frees the threads; all connections have ended. */
void user_threads_end(struct user_scheduler *scheduler);

/* Opens the file that the thread wants, so that its name is in the kernel's cache and opening it again will
 * not wait. May be called by any kernel thread. */
void user_thread_open(const struct user_thread *thread);

/* For a thread: has the others run until somebody calls user_thread_resume(). */
void user_thread_sleep(struct user_thread *thread);

/* For the scheduler: runs a thread until it sleeps or waits. */
void user_thread_resume(struct user_thread *thread);

#endif
