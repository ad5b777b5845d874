/*
 * Event mechanisms: how a worker learns from the kernel which descriptors are ready.
 *
 * DESIGN. One file per mechanism, one line in the table in events.c. The interface is that of the most frugal
 * mechanism, edge-triggered epoll: a connection is added once, asks for writability only when a send has
 * blocked, and an event may be reported once only, so whoever receives it must remember it until a read or a
 * write has come up empty. Mechanisms that report levels need do no more than that.
 *
 * Every descriptor carries a tag of the caller's; events come back with it.
 */
#ifndef TRIMTAB_HTTPD_IO_EVENTS_H
#define TRIMTAB_HTTPD_IO_EVENTS_H

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

    /* Makes an empty set. Returns NULL with errno set on failure. */
    struct event_set *(*create)(void);
    void (*destroy)(struct event_set *set);

    /* Adds a descriptor that other processes may watch too: of them one is woken by an arrival, not all.
     * Reported as readable for as long as it is. */
    int (*add_listener)(struct event_set *set, int fd, uint64_t tag);
    int (*remove_listener)(struct event_set *set, int fd);

    /* Adds a connection, watched for reading. What has arrived before is reported too. It leaves the set when
     * its descriptor is closed. */
    int (*add_connection)(struct event_set *set, int fd, uint64_t tag);

    /* Watches a connection for writing too, from now until it is closed. */
    int (*watch_writable)(struct event_set *set, int fd, uint64_t tag);

    /* Has the present readiness of a connection reported (again), although nothing changed. `writable_too`:
     * watch_writable() has been called for it. */
    int (*rearm)(struct event_set *set, int fd, uint64_t tag, int writable_too);

    /* Waits up to timeout_ms (-1: for ever) and fills in up to `size` events. Returns their number; 0 also
     * when a signal came. */
    int (*wait)(struct event_set *set, struct event *events, int size, int timeout_ms);
};

/* Returns entry `index` of the table of mechanisms, or NULL behind the last. */
const struct event_mechanism *event_mechanism_at(size_t index);

#endif
