/*
 * A connection: what is known of it, from the accepted descriptor to its close. What it goes through is in
 * serving.h.
 *
 * MEMORY. An idle connection is this structure and nothing else: a worker reads into one buffer of its own,
 * and only what is left over (part of a request, or requests behind a reply that blocks) is copied to memory
 * of the connection, until it has been dealt with.
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_CONNECTION_H
#define TRIMTAB_HTTPD_CONNECTION_CONNECTION_H

#include "httpd/connection/driver.h"
#include "httpd/connection/timers.h"
#include "httpd/connection/turns.h"
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
    bool watched;                /* the event set has it, */
    uint8_t interest;            /* for this (io/events.h) */
    bool reading_head;           /* the timer runs for a request head and not for idleness */
    bool pacing;                 /* it runs for the reply under way */
    bool replying;               /* a request was read whose reply is not out */
    bool has_asked;              /* its first request was read */
    struct protocol protocol;    /* what has come and what is replied to it */
    struct delivery delivery;    /* how that gets out */
    uint64_t progress;           /* of the peer when its pace was last looked at (connection_keeps_pace()) */
    uint64_t started_ns;         /* when its request was complete; in between, since when it has been idle */
    struct log_entry *log_entry; /* of the access log, if there is one */
    struct connection *next_free;
    struct turn turn; /* to go on with its reply */
};

/* Takes over an accepted socket. `blocking`: the mode that the socket is in. Where there is an event set it
 * is not in that yet: its request may be there already, so serving_run() or connection_watch() is to
 * follow. Returns NULL, with the socket closed, when there is no memory for it. */
struct connection *connection_open(struct worker *worker, int fd, bool blocking);

/* Adds a chunk of memory for connections to what is free. */
void connection_add_chunk(void *worker, struct connection *chunk);

/* The same for a socket that does not count as accepted. */
struct connection *connection_take(struct worker *worker, int fd, bool blocking);

/* Forgets a connection that another process has taken over. */
void connection_give_away(struct worker *worker, struct connection *connection);

/* Has a connection wait for somebody else. Meanwhile its timeout runs. */
void connection_suspend(struct worker *worker, struct connection *connection);

/* Closes the socket and gives the structure back. It stays readable until the next connection is opened, so
 * callers further up see the state CLOSED. */
void connection_close(struct worker *worker, struct connection *connection, enum close_reason reason);

/* Has the event set watch for what the connection's state waits for. */
void connection_watch(struct worker *worker, struct connection *connection);

/* Has the event set report the connection again, for it has not been worked on to the end. */
void connection_rearm(struct worker *worker, struct connection *connection);

/* Begin a line of the access log, if there is one (worker->access_log), and end it, if it was begun
 * (connection->log_entry), with what has become of the reply. */
void connection_log_request(struct worker *worker, struct connection *connection,
                            const struct request *request, const char *data);
void connection_log_reply(struct worker *worker, struct connection *connection);

/* Releases what the reply under way holds. */
void connection_drop_reply(struct connection *connection);

/* Ends a connection whose last reply is out: closes it, or lingers if the peer may still be sending. */
void connection_finish(struct worker *worker, struct connection *connection);

/* Receives once, into memory of the worker or behind what is kept of earlier bytes. Returns how many bytes
 * have come, at which `feed` then looks with what was kept; 0: none, or the connection has been closed. */
size_t connection_receive(struct worker *worker, struct connection *connection, struct feed *feed);

/* Reads and forgets what the peer sends after the last reply. */
void connection_discard(struct worker *worker, struct connection *connection);

/*
 * For a connection whose time is over while it sends a reply or reads the body of a request: says whether the
 * peer has taken or sent as much as it must (min_bytes_per_s), and then gives it another request_timeout.
 * What it took is what it has acknowledged; what only fills the kernel's buffers does not count. Who has
 * taken all that was sent, and waits for a turn, is not to blame.
 */
bool connection_keeps_pace(struct worker *worker, struct connection *connection);

/* Begins to count the time of a reply, unless that has begun. Bytes that get through do not put it off. */
void connection_pace(struct worker *worker, struct connection *connection);

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

static inline struct connection *connection_of_turn(struct turn *turn)
{
    return (struct connection *)((char *)turn - offsetof(struct connection, turn));
}

static inline struct connection *connection_of_tag(uint64_t tag)
{
    return (struct connection *)(uintptr_t)tag;
}

#endif
