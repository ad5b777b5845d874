/*
 * What an architecture does for its connections in its own way: where their memory comes from, how they wait
 * for the peer, and how their replies get out. What is NULL is done in the usual way: memory from malloc, an
 * event set that says which connections can go on, and a reply that is sent where it was made.
 *
 * An architecture that has more to remember of a connection than struct connection embeds that first in a
 * structure of its own; `connection_bytes` has every connection allocated as long.
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_DRIVER_H
#define TRIMTAB_HTTPD_CONNECTION_DRIVER_H

#include "httpd/send/sendfile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;
struct event_loop;
struct request;
struct worker;

/* What deliver() tells beside the events of io/events.h. */
#define DELIVER_EXPIRED UINT32_C(8)  /* its timeout */
#define DELIVER_RETIRE  UINT32_C(16) /* the server is to shut down */

struct driver {
    size_t connection_bytes; /* of a connection, from the architecture's structure */
    size_t fresh_bytes;      /* from its beginning on, that are zeroed when it is used again */
    bool never_waits;        /* for a disk: others do that, and close large files too (cache/file_close.h) */

    /* Returns a chunk of CONNECTIONS_PER_CHUNK zeroed structures, or NULL. */
    struct connection *(*allocate)(struct worker *worker);

    /* How a connection waits, if not in the worker's event set: watch() waits from now on for what the
     * connection's state asks for. open(): begins to wait for a request; returns false with errno. close():
     * closes its socket. */
    bool (*open)(struct worker *worker, struct connection *connection);
    void (*watch)(struct worker *worker, struct connection *connection);
    void (*close)(struct worker *worker, int fd);

    /* Whether a complete request, with the `length` bytes from its first on, is to be served now; otherwise
     * the connection is suspended, or gone. */
    bool (*admit)(struct worker *worker, struct connection *connection, const struct request *request,
                  const char *input, size_t length);

    /* Sends what may be sent now of the reply under way. SEND_ELSEWHERE: somebody else does, and whoever has
     * the connection then tells serving_sent(). */
    enum send_outcome (*send)(struct worker *worker, struct connection *connection);

    /* Has event_loop_accept() called where the connection will be served, and returns what that does. */
    bool (*accept)(struct worker *worker, struct event_loop *loop, int listener);

    /* Takes what the event loop has to say about a connection: events, and the flags above. */
    void (*deliver)(struct worker *worker, struct connection *connection, uint32_t what);

    /* Where others send connections to this event loop, or it to others: whether more may come; what is to be
     * done when it accepts no more. */
    bool (*expects_more)(const struct worker *worker);
    void (*leave)(struct worker *worker);
};

/* Where everything is done in the usual way. */
extern const struct driver driver_usual;

#endif
