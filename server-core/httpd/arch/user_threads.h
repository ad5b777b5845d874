/*
 * User threads: one for each connection, scheduled at user level on top of the event loop (knot, nm).
 *
 * DESIGN. A thread accepts a connection, serves it from its first request to its end, and then waits for the
 * next one. Its code is straight:
 *
 *     accept --> read a request --> look up names --> make the reply --> send it --+--> linger, close
 *                      ^                                                           |
 *                      +-----------------------------------------------------------+
 *
 * In each place it tries first, and if it has to wait it switches to the scheduler, which is the event loop:
 * that runs whichever thread has got what it waits for (an event, an expired timeout, the end of the server,
 * a client to accept). Threads are made as they are needed, and a few are kept: what a stack has once touched
 * stays in memory as long as the stack.
 *
 * What may wait for a disk, opening a file that the kernel does not have in its cache of names and sending
 * what the server does not have in its own memory, is done by `open` and `send`, which may put the thread to
 * sleep and have others run meanwhile: there the architectures differ. Between two sleeps nobody else runs on
 * this scheduler, so no locks are needed; but bytes in memory of the worker (its input, the text of a reply)
 * are gone after one.
 */
#ifndef TRIMTAB_HTTPD_ARCH_USER_THREADS_H
#define TRIMTAB_HTTPD_ARCH_USER_THREADS_H

#include "httpd/arch/fibre.h"
#include "httpd/connection/connection.h"
#include "httpd/connection/worker.h"

#include <stdbool.h>
#include <stddef.h>
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
    enum send_outcome outcome;   /* of the last attempt to send, by whomever */
    uint32_t delivered;          /* what it has not looked at yet */
    bool waiting;                /* for that */
    size_t received;             /* bytes since it last had to wait; many are a reason to let others run */
    char *wanted;                /* the file whose opening it has to wait for, below the directory root */
    int root;
    struct user_thread *next_free;
};

struct user_scheduler {
    struct worker *worker;
    struct fibre *fibre;      /* of the event loop */
    struct user_thread *free; /* without a connection */
    unsigned free_count;

    /* Where the thread that is resumed next accepts, and whether the accept phase goes on after it. */
    struct event_loop *accept_loop;
    int accept_listener;
    bool accept_goes_on;

    /* Sends what can be sent of the reply of the thread's connection. */
    enum send_outcome (*send)(struct user_thread *thread);

    /* Does user_thread_open(), which may wait for a disk. */
    void (*open)(struct user_thread *thread);

    /* Who goes on with a reply that did not fit the socket when it is writable: the scheduler, without waking
     * the thread until the reply is out, or the thread. */
    bool continuations;
};

/* How user threads accept, send, and hear of events. */
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
