/*
 * Connections, each with the session that it serves, the request that it is at, and its timers.
 *
 * DESIGN. A connection is in one of six states:
 *
 *     CONNECTING --established--> ASKING --head complete--> READING_BODY --complete--> next request or end
 *       ^                           ^  \------------- reply without body ------------/    |          |
 *       |                           \------- THINKING <------------ think time -----------/         |
 *       \--- next session ---- IDLE <-------- session went well, with RST as the end ---------------/
 *
 * Between the first two, one of TLS is HANDSHAKING, and one to a server that speaks first (sql_exchange.h) is
 * GREETING. In all but the last it has a session, and is in one of two queues of timeouts: that of connects,
 * then that of sessions. (In the closed loop, where a session may last as long as the run, the second timeout
 * is that of a request, and a heap takes the place of the queue. A reply only puts off the moment; its alarm
 * is set again when it has gone off too early, which is once in a timeout and not once in a reply.) An IDLE
 * one has no session and is in neither; see kept_sockets.h.
 *
 * Sockets are edge-triggered and stay registered as long as they are open. Each is watched for what it is to
 * receive; for room to send only from when a connect or a request has had to wait for it. On the loopback
 * neither does, and a session of a kept socket makes no epoll_ctl(2) at all.
 *
 * When the server, or the way of asking, ends a connection with a reply and the session goes on, the next
 * request goes back to CONNECTING, on a new socket. When the client has had all its replies, or a timeout is
 * over, it closes, as a browser does: with FIN, and with RST when the kernel still holds data nobody has
 * read.
 *
 * Here is what is known of them. Who uses whom: open_sessions.h has what happens to all sessions, and asks by
 * exchange.h, sql_exchange.h or http2.h; these use connection.h, which is the life of one connection.
 */
#ifndef TRIMTAB_LOADGEN_CONNECTIONS_H
#define TRIMTAB_LOADGEN_CONNECTIONS_H

#include "common/chunks.h"
#include "loadgen/accounting.h"
#include "loadgen/network.h"
#include "loadgen/options.h"
#include "loadgen/reply.h"
#include "loadgen/sessions.h"
#include "loadgen/sql_reply.h"
#include "loadgen/timers.h"

#include <stdbool.h>
#include <stdint.h>

struct transport;

/* How a request is asked (asked.h). */
struct asked {
    bool conditional; /* in the conditional form of its kind */
    bool verifying;   /* the body of its reply is compared with what it should be */
    bool wrong;       /* and it differs */
};

enum connection_state { CONNECTING, HANDSHAKING, GREETING, ASKING, READING_BODY, THINKING, IDLE };

struct connection {
    struct timeout timeout;
    struct alarm think;    /* in the heap while THINKING or paced */
    struct alarm deadline; /* closed loop: goes off when a request times out, or earlier */
    uint64_t deadline_ns;  /* when it does time out */
    uint64_t intended_ns;  /* of the session while CONNECTING or HANDSHAKING, then of the request */
    uint64_t connected_ns; /* when the kernel's connection was established */
    uint64_t body_left;    /* bytes still to be read, while READING_BODY, or REPLY_BODY_ENDLESS */
    struct chunks chunks;  /* of a body that has them */
    struct asked asked;    /* the present request */
    struct reply_head head;
    char *partial_head;     /* the beginning of a head that did not come in one piece, else NULL */
    uint32_t partial_bytes; /* of it */
    uint32_t request;       /* index of the present request in the plan */
    uint32_t last_request;  /* of the session */
    uint32_t offered_end;   /* the request behind the last one that has been offered */
    uint32_t sent;          /* bytes of the present request */
    uint32_t statement_end; /* of statements: where in the request the present one ends */
    struct sql_reply results;
    int descriptor;
    uint32_t watched;               /* what epoll reports of the socket, 0 for nothing yet */
    size_t source;                  /* the address that the socket is bound to, as network counts them */
    struct connection *next_idle;   /* in the list of those whose session has ended */
    void *secured;                  /* what tls.c has of the connection, else NULL */
    struct http2_connection *http2; /* what http2.c has of it, else NULL */
    enum connection_state state;
    bool emptied;     /* over TLS: a read of the socket since its last event did not fill its buffer */
    bool heard;       /* the server has sent something on this connection */
    bool reply_begun; /* a byte of the present reply has come */
    bool failed;      /* a request of the session has failed */
    bool to_reopen;   /* the next request needs a new connection */
    bool reopened;    /* this is not the session's first connection */
    bool slow;        /* reads at a pace, through a small window */
    bool paced;       /* and may not read before its alarm */
};

/* Names of users and databases have at most 80 characters of four bytes. */
#define SQL_NAME_BYTES 321

/* What every client says to a server that speaks first; of no length to one that does not. */
struct sql_login {
    char packet[SQL_HEADER_BYTES + 64 + 2 * SQL_NAME_BYTES];
    uint32_t length;
};

/* Room for most whole replies, so that they take one system call; longer bodies the kernel discards. */
#define RECEIVE_BYTES 16384

/* All open sessions, and what they share. */
struct connections {
    const struct session_plan *plan;
    struct network network;
    const struct transport *transport;
    struct tls *tls;     /* for transport_tls, else NULL */
    struct http2 *http2; /* over HTTP/2, else NULL */
    struct sql_login login;
    struct account *account;
    uint64_t connect_timeout_ns;
    uint64_t timeout_ns; /* of a session, or in the closed loop of a request */
    bool closed_loop;
    bool endless;    /* closed loop: after its last request a session begins anew, on the same connection */
    bool close_each; /* a connection for each request */
    /* Pauses that the log does not give are drawn; unused while the shape is 0. */
    struct distribution active_off;
    struct distribution inactive_off;
    double slow_share;        /* of the sessions */
    double slow_pace;         /* bytes per second */
    int slow_window_bytes;    /* receive buffer */
    double conditional_share; /* of the requests that could be conditional */
    unsigned verify_every;    /* one reply of so many is verified; 0: none */
    uint64_t verify_count;    /* requests counted for that */
    uint64_t random_state;    /* of every random choice */
    bool stopping;            /* closed loop: sessions end with the reply they wait for */
    int epoll;
    uint64_t open;
    uint64_t
        broken_off; /* sessions that a failure has ended, or kept from starting, since the start of the run */
    struct timeout_queue connect_timeouts;
    struct timeout_queue session_timeouts;
    struct alarm_heap thinkers;
    struct alarm_heap deadlines;
    /* Those without a session, by source: their sockets wait, closed and watched, for the next one. */
    struct connection *idle[NETWORK_SOURCES_MAX];
    unsigned idle_count;
    uint64_t received_ns; /* when the last bytes were received */
    char received[RECEIVE_BYTES];
};

/* Says whether requests are statements, and the server speaks first. */
static inline bool connections_of_statements(const struct connections *all)
{
    return all->login.length > 0;
}

/* Returns what a request asks for. */
static inline struct request_kind *connection_kind(const struct connections *all, uint32_t request)
{
    return &all->plan->kinds[all->plan->requests[request].kind];
}

/* Returns the size class of a request whose reply has not told its size. */
static inline uint64_t connection_planned_size(const struct connections *all, uint32_t request)
{
    uint64_t size = connection_kind(all, request)->size;
    return size == SIZE_UNKNOWN ? 0 : size;
}

#endif
