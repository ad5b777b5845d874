/*
 * A connection: the state machine that every architecture runs, from the accepted descriptor to its close.
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
 * §9.6).
 *
 * MEMORY. An idle connection is this structure and nothing else: a worker reads into one buffer of its own,
 * and only what is left over (part of a request, or requests behind a reply that blocks) is copied to memory
 * of the connection, until it has been dealt with.
 *
 * SYSTEM CALLS of a request for a small file on a persistent connection: recv, send (the head, with MSG_MORE)
 * and sendfile; and a share of one wait for events. A read that fills less than the buffer proves the socket
 * drained, so there is no recv that finds nothing.
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_CONNECTION_H
#define TRIMTAB_HTTPD_CONNECTION_CONNECTION_H

#include "httpd/connection/driver.h"
#include "httpd/connection/timers.h"
#include "httpd/connection/worker.h"
#include "httpd/http/protocol.h"
#include "httpd/send/delivery.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CONNECTIONS_PER_CHUNK 64 /* allocated at once */

struct log_entry;

enum connection_state {
    READING,
    SENDING,
    WAITING, /* for another process or thread to fetch what it needs; then READING or SENDING again */
    LINGERING,
    CLOSED,
};

enum close_reason { CLOSED_BY_CLIENT, CLOSED_BY_SERVER, CLOSED_BY_TIMEOUT };

/* What all architectures need of a connection; one that needs more embeds this first in its own (driver.h).
 */
struct connection {
    struct timer timer; /* runs as long as the connection is open */
    int fd;
    uint8_t state;               /* enum connection_state */
    bool readable;               /* the socket may hold bytes that no read has shown to be the last */
    bool peer_closed;            /* and its end is known to come */
    uint8_t interest;            /* what the event set watches it for (io/events.h) */
    bool reading_head;           /* the timer runs for a request head and not for idleness */
    bool pacing;                 /* it runs for the reply under way */
    bool has_turn;               /* to go on with its reply (turns.h) */
    struct protocol protocol;    /* what has come and what is replied to it */
    struct delivery delivery;    /* how that gets out */
    uint64_t progress;           /* of the peer when its pace was last looked at (connection_keeps_pace()) */
    uint64_t started_ns;         /* when its request was complete; before the first, when it was opened */
    struct log_entry *log_entry; /* of the access log, if there is one */
    struct connection *next_free, *turn_before, *turn_after;
};

/* Takes over an accepted socket. `blocking`: the mode that the socket is in. Returns NULL, with the socket
 * closed, when there is no memory for it. */
struct connection *connection_open(struct worker *worker, int fd, bool blocking);

/* Adds a chunk of memory for connections to what is free. */
void connection_add_chunk(void *worker, struct connection *chunk);

/* Makes a connection of a socket without counting it as accepted; its timeout begins. Returns NULL, with the
 * socket closed, when there is no memory. */
struct connection *connection_take(struct worker *worker, int fd, bool blocking);

/* Takes over a socket that another process has accepted, with `length` bytes that it has received. They are
 * served by connection_serve_adopted(). Returns NULL, with the socket closed, when there is no memory. */
struct connection *connection_adopt(struct worker *worker, int fd, bool blocking, const char *input,
                                    size_t length);
void connection_serve_adopted(struct worker *worker, struct connection *connection);

/* Forgets a connection that another process has taken over. */
void connection_give_away(struct worker *worker, struct connection *connection);

/* Has a connection wait for somebody else, and go on when that is done. Meanwhile its timeout runs. */
void connection_suspend(struct worker *worker, struct connection *connection);
void connection_resume(struct worker *worker, struct connection *connection);

/* Runs the connection as far as it goes after an event (flags of io/events.h). */
void connection_run(struct worker *worker, struct connection *connection, uint32_t event_flags);

/* Goes on after an attempt to send the rest of the reply, made here or by another thread. */
void connection_sent(struct worker *worker, struct connection *connection, enum send_outcome outcome);

/* The same for bytes that have been received already, with an architecture that receives by itself. While a
 * reply is under way they are kept. */
void connection_received(struct worker *worker, struct connection *connection, const char *data,
                         size_t length);

/* Closes the socket and gives the structure back. It stays readable until the next connection is opened, so
 * callers further up see the state CLOSED. */
void connection_close(struct worker *worker, struct connection *connection, enum close_reason reason);

/* Has the event set watch for what the connection's state waits for. */
void connection_watch(struct worker *worker, struct connection *connection);

/* Begin a line of the access log, if there is one (worker->access_log), and end it, if it was begun
 * (connection->log_entry), with what has become of the reply. */
void connection_log_request(struct worker *worker, struct connection *connection,
                            const struct request *request, const char *data);
void connection_log_reply(struct worker *worker, struct connection *connection);

/* Ends a connection whose last reply is out: closes it, or lingers if the peer may still be sending. */
void connection_finish(struct worker *worker, struct connection *connection);

/*
 * For a connection whose time is over while it sends a reply or reads the body of a request: says whether the
 * peer has taken or sent as much as it must (min_bytes_per_s), and then gives it another request_timeout.
 * What it took is what it has acknowledged; what only fills the kernel's buffers does not count. Who has
 * taken all that was sent, and waits for a turn, is not to blame.
 */
bool connection_keeps_pace(struct worker *worker, struct connection *connection);

/* Begins to count the time of a reply, unless that has begun. Bytes that get through do not put it off. */
void connection_pace(struct worker *worker, struct connection *connection);

/* Called by timers_expire() with the worker. */
void connection_expired(void *worker, struct timer *timer);

/* Called with the worker and each connection's timer when the worker is to shut down: serves what has been
 * received, then closes the connection unless a reply or a request is under way. */
void connection_retire(void *worker, struct timer *timer);

/* Says whether nothing is under way: no reply, and no part of a request. */
static inline bool connection_is_idle(const struct connection *connection)
{
    return connection->state == READING && !connection->protocol.input;
}

/* The tag under which a connection is in the event set: its address, which is a multiple of 8. */
static inline uint64_t connection_tag(struct connection *connection)
{
    return (uint64_t)(uintptr_t)connection;
}

static inline struct connection *connection_of_timer(struct timer *timer)
{
    return (struct connection *)((char *)timer - offsetof(struct connection, timer));
}

static inline struct connection *connection_of_tag(uint64_t tag)
{
    return (struct connection *)(uintptr_t)tag;
}

#endif
