/*
 * The stages of the pipeline architecture, and what they share; pipeline.c explains how they work together.
 */
#ifndef TRIMTAB_HTTPD_ARCH_PIPELINE_H
#define TRIMTAB_HTTPD_ARCH_PIPELINE_H

#include "httpd/arch/pipeline_control.h"
#include "httpd/arch/posting.h"
#include "httpd/arch/queue.h"
#include "httpd/connection/connection.h"
#include "httpd/connection/worker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A connection, which several threads have a hand in. */
struct pipeline_connection {
    struct connection connection;
    uint16_t listener;           /* index of the one that accepted it */
    uint8_t outcome;             /* enum send_outcome of the writer that sent */
    bool expired;                /* it was cut off because its reply made no progress */
    bool in_write_set;           /* the one in which only replies that block are watched */
    _Atomic bool blocked;        /* it waits to become writable */
    struct posting posting;      /* from here on what stays when the structure is used again */
    _Atomic uint64_t entered_ns; /* the queue that it is in, if that is to be known */
    unsigned home;               /* row of the reader that it belongs to; never changes */
};

/* Items that a reader and a writer take from their queues at most before others get their turn. */
#define PIPELINE_BATCH       256
#define PIPELINE_WRITE_BATCH 64

struct pipeline;

/* One thread of a stage. `worker` is its context; only readers have a cache and timers in theirs. */
struct stage {
    struct pipeline *pipeline;
    struct worker *worker;
    pthread_t thread;
    unsigned index; /* within the stage */
};

struct reader {
    struct stage stage;
    struct queue queue;            /* of items (below) */
    struct queue *write;           /* where its replies go */
    void *replies[PIPELINE_BATCH]; /* prepared since they were last handed over */
    size_t reply_count;
};

struct acceptor {
    struct stage stage;
    int wake_fd;                 /* eventfd: there is room again, or the settings have changed */
    _Atomic int64_t connections; /* accepted here and still open */
    _Atomic bool full;           /* it waits for room */
    _Atomic bool recycling;      /* a reader is to close an idle connection, for a client waits */
    _Atomic bool over;           /* it hands no more sockets to readers */
};

struct pipeline {
    struct worker *worker; /* of the process */
    unsigned partitions, reader_count, writer_count, write_queue_count, acceptor_count;
    struct reader *readers; /* reader r is of partition r modulo partitions */
    struct stage *writers;  /* writer w serves queue w modulo write_queue_count */
    struct queue *write_queues;
    struct acceptor *acceptors; /* one for each listener */
    struct stage read_poll, write_poll, control;
    struct stage_control read_control;  /* a pool for each partition */
    struct stage_control write_control; /* a pool for each queue */
    int control_wake;                   /* eventfd: the settings have changed */
    struct event_set *read_set;
    int write_set;       /* epoll */
    int write_poll_wake; /* eventfd */
    uint64_t poll_delay_ns;
    _Atomic bool stopping;    /* all connections are closed: pollers and acceptors end */
    _Atomic bool shed_wanted; /* an acceptor has run out of descriptors */
};

/*
 * An item of a reader's queue is a connection, or an accepted socket with the index of its listener, or a
 * request to look at the settings.
 */
#define ITEM_LOOK NULL

static inline void *item_of_socket(int fd, unsigned listener)
{
    return (void *)(((uintptr_t)(unsigned)fd << 16 | listener) << 1 | 1);
}

static inline bool item_is_socket(const void *item)
{
    return (uintptr_t)item & 1;
}

static inline int item_socket(const void *item)
{
    return (int)((uintptr_t)item >> 17);
}

static inline uint16_t item_listener(const void *item)
{
    return (uint16_t)((uintptr_t)item >> 1);
}

/* The threads of the stages; each takes its struct stage. */
void *pipeline_accept(void *stage);
void *pipeline_read_poll(void *stage);
void *pipeline_read(void *stage);
void *pipeline_write_poll(void *stage);
void *pipeline_write(void *stage);
void *pipeline_control(void *stage);

/* How its connections are allocated and replies go to Write. */
extern const struct driver pipeline_driver;

/* Has a reader look at the settings. */
void pipeline_wake_reader(struct pipeline *pipeline, unsigned reader, uint64_t *lock_waits);

/* Tells the acceptor of a connection that it has been closed. */
void pipeline_release_quota(struct pipeline *pipeline, unsigned listener);

/* Has Write Poll report when the connection, which the caller holds, is writable. It is not the caller's any
 * more when this returns. Returns false, and leaves it to the caller, on failure. */
bool pipeline_await_writable(struct pipeline *pipeline, struct pipeline_connection *connection);

/* Notes when a connection gets into a queue, if admission is controlled; and, where that was noted, that it
 * has been taken out of it. */
void pipeline_note_entry(const struct pipeline *pipeline, struct pipeline_connection *connection);
void pipeline_note_exit(struct admission *admission, struct pipeline_connection *connection);

/* Has Read Poll watch the process's wake-up. Returns false with errno set on failure. */
bool pipeline_watch_wake(struct pipeline *pipeline);

/* Makes an eventfd readable. */
void pipeline_wake(int fd);

#endif
