/*
 * Event mechanisms: how a worker learns from the kernel which descriptors are ready.
 *
 * DESIGN. One file per family, one line per mechanism in the table in mechanisms.c. There are two kinds. One
 * that reports *edges* (epoll-et, io_uring) says once that something has become ready: a connection is added
 * once, asks for writability only when a send has blocked, and whoever receives an event must remember it
 * until a read or a write has come up empty. One that reports *levels* (select, poll, epoll) repeats itself
 * until that has happened, so what is asked for has to follow the state of the connection: reading while a
 * request is awaited, writing while a reply is blocked. connection_watch() does for both what they need.
 *
 * Every descriptor carries a tag of the caller's; events come back with it.
 */
#ifndef TRIMTAB_HTTPD_IO_EVENTS_H
#define TRIMTAB_HTTPD_IO_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an event says; several may be set. */
enum event_flag {
    EVENT_READABLE = 1,
    EVENT_WRITABLE = 2,
    EVENT_PEER_CLOSED =
        4, /* the peer will send no more, or the connection is broken: reading ends or fails */
};

struct event {
    uint64_t tag;
    uint32_t flags;
};

struct event_set;

/* Functions that return int return 0, or -1 with errno set. */
struct event_mechanism {
    const char *name;
    bool level;           /* reports levels; otherwise edges */
    bool ring;            /* asks by a ring of io_uring */
    unsigned descriptors; /* it can only watch descriptors below this number; 0: any */

    /* Returns NULL, or why this kernel cannot do it. NULL: every Linux can. */
    const char *(*unavailable)(void);

    /* Makes an empty set. Returns NULL with errno set on failure. */
    struct event_set *(*create)(void);
    void (*destroy)(struct event_set *set);

    /* Adds a descriptor that other processes may watch too: of them one is woken by an arrival, not all,
     * where the kernel has a way to say so. Reported as readable for as long as it is. */
    int (*add_listener)(struct event_set *set, int fd, uint64_t tag);
    /* No arrival is told to this set from then on. */
    int (*remove_listener)(struct event_set *set, int fd);

    /* Adds a connection, watched for reading. What has arrived before is reported too. */
    int (*add_connection)(struct event_set *set, int fd, uint64_t tag);

    /* To be called before the descriptor of a connection is closed. NULL: closing it is enough. */
    void (*remove_connection)(struct event_set *set, int fd);

    /* Watches a connection for `interest`, EVENT_READABLE and EVENT_WRITABLE, from now on. */
    int (*watch)(struct event_set *set, int fd, uint64_t tag, uint32_t interest);

    /* Has the present readiness of a connection reported again, although nothing changed. `interest`: what it
     * is watched for. NULL where levels are reported. */
    int (*rearm)(struct event_set *set, int fd, uint64_t tag, uint32_t interest);

    /* Waits up to timeout_ms (-1: for ever) and fills in up to `size` events. Returns their number; 0 also
     * when a signal came. */
    int (*wait)(struct event_set *set, struct event *events, int size, int timeout_ms);
};

/* Returns entry `index` of the table of mechanisms, or NULL behind the last. */
const struct event_mechanism *event_mechanism_at(size_t index);

#endif
