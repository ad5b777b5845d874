/*
 * Serving a connection: the state machine that every architecture runs.
 *
 *                    +------------- next request ------------+
 *                    v                                       |
 *   accepted --> READING --- request complete --> SENDING ---+--- last reply --> LINGERING --> closed
 *                    |                               |       |                                   ^
 *                    +--- idle too long, peer gone --+-------+-----------------------------------+
 *
 * READING reads until the socket is drained; SENDING writes until the reply is out, the socket's buffer is
 * full, or as much has been sent as others can wait for. LINGERING has shut down its sending side and
 * discards what the peer still sends, so that a reset does not destroy the last reply on its way (RFC 9112
 * §9.6). WAITING, for another process or thread to fetch what is needed, may come before both.
 *
 * SYSTEM CALLS of a request for a small file on a persistent connection: recv and send, and a share of one
 * wait for events; for a larger one sendfile besides. A read that fills less than the buffer proves the
 * socket drained, so there is no recv that finds nothing.
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_SERVING_H
#define TRIMTAB_HTTPD_CONNECTION_SERVING_H

#include "httpd/connection/connection.h"

/* Takes over a socket that another process has accepted, with `length` bytes that it has received. They are
 * served by serving_begin_adopted(). Returns NULL, with the socket closed, when there is no memory. */
struct connection *serving_adopt(struct worker *worker, int fd, bool blocking, const char *input,
                                 size_t length);
void serving_begin_adopted(struct worker *worker, struct connection *connection);

/* Has a connection go on that was suspended. */
void serving_resume(struct worker *worker, struct connection *connection);

/* Runs the connection as far as it goes after an event (flags of io/events.h). */
void serving_run(struct worker *worker, struct connection *connection, uint32_t event_flags);

/* Goes on after an attempt to send the rest of the reply, made here or by another thread. */
void serving_sent(struct worker *worker, struct connection *connection, enum send_outcome outcome);

/* The same for bytes that have been received already, with an architecture that receives by itself. While a
 * reply is under way they are kept. */
void serving_received(struct worker *worker, struct connection *connection, const char *data, size_t length);

/* Sets the timeout of a connection that waits for the peer to send. Who has never asked keeps the one that it
 * came with. */
void serving_await_request(struct worker *worker, struct connection *connection);

/* Called by timers_expire() with the worker. */
void serving_expired(void *worker, struct timer *timer);

/* Called with the worker and each connection's timer when the worker is to shut down: serves what has been
 * received, then closes the connection unless a reply or a request is under way, or it has just come. */
void serving_retire(void *worker, struct timer *timer);

/* Says whether an idle connection may be closed. One that has just come is about to ask, and a client whose
 * first request gets no reply cannot tell why: it is given RECYCLE_IDLE_NS to do so, after which its timer
 * ends it. */
bool serving_may_retire(struct worker *worker, struct connection *connection);

#endif
