/*
 * How the bytes of a connection travel: as they are (transport_plain), or through TLS (tls.h). The
 * connections of a run all travel in one way.
 */
#ifndef TRIMTAB_LOADGEN_TRANSPORT_H
#define TRIMTAB_LOADGEN_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct connections;
struct connection;

/* The three functions that move bytes return what recv(2) and send(2) do: more than 0; 0 at the end of the
 * stream; -1 with errno, which is EAGAIN when the socket is to say first that it has more, or room. */
struct transport {
    /* Does what comes between a connection of the kernel and the first request, or goes on with it. Returns 1
     * when requests may be sent. */
    ssize_t (*open)(struct connections *all, struct connection *connection);
    ssize_t (*send)(struct connections *all, struct connection *connection, const void *data, size_t size);
    /* Receives up to `size` bytes into `buffer`, or nowhere when that is NULL. */
    ssize_t (*receive)(struct connections *all, struct connection *connection, void *buffer, size_t size);
    /* Gives back what `open` has taken; the socket stays open. */
    void (*close)(struct connections *all, struct connection *connection);
    /* Says whether nothing more is waiting after a `receive` that went well; `filled`: it filled its buffer.
     * As a rule the socket then makes a new event for what comes later. */
    bool (*drained)(const struct connection *connection, bool filled);
    /* Says of a stream that has ended whether its other end has said so. If not, it may have been cut off. */
    bool (*said_farewell)(const struct connection *connection);
};

extern const struct transport transport_plain;

#endif
