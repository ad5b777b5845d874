/*
 * A connection: the state machine that every architecture runs, from the accepted descriptor to its close.
 *
 *                    +------------- next request ------------+
 *                    v                                       |
 *   accepted --> READING --- request complete --> SENDING ---+--- last reply --> LINGERING --> closed
 *                    |                               |       |                                   ^
 *                    +--- idle too long, peer gone --+-------+-----------------------------------+
 *
 * READING reads until the socket is drained; SENDING writes until the reply is out or the socket's buffer is
 * full. LINGERING has shut down its sending side and discards what the peer still sends, so that a reset does
 * not destroy the last reply on its way (RFC 9112 §9.6).
 *
 * MEMORY. An idle connection is this structure and nothing else: a worker reads into one buffer of its own,
 * and only what is left over (part of a request, or requests behind a reply that blocks) is copied to memory
 * of the connection, until it has been dealt with.
 *
 * SYSTEM CALLS of a request for a small file on a persistent connection: recv, send (the head, with MSG_MORE)
 * and sendfile; and a share of one wait for events. A read that fills less than the buffer proves the socket
 * drained, so there is no recv that finds nothing.
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_H
#define TRIMTAB_HTTPD_CONNECTION_H

#include "httpd/worker.h"

#include <stdint.h>

struct connection;

/* Takes over an accepted socket. `blocking`: the mode that the socket is in. */
void connection_open(struct worker *worker, int fd, bool blocking);

/* Runs the connection as far as it goes after an event (flags of io/events.h). */
void connection_run(struct worker *worker, struct connection *connection, uint32_t event_flags);

/* Called by timers_expire() with the worker. */
void connection_expired(void *worker, struct timer *timer);

/* Called with the worker and each connection's timer when the worker is to shut down: serves what has been
 * received, then closes the connection unless a reply or a request is under way. */
void connection_retire(void *worker, struct timer *timer);

/* The tag under which a connection is in the event set: its address, which is a multiple of 8. */
static inline uint64_t connection_tag(struct connection *connection)
{
    return (uint64_t)(uintptr_t)connection;
}

static inline struct connection *connection_of_tag(uint64_t tag)
{
    return (struct connection *)(uintptr_t)tag;
}

#endif
