/*
 * One open session each: a connection, the request that it is at, and its timers.
 *
 * DESIGN. A connection is in one of four states:
 *
 *     CONNECTING --established--> ASKING --head complete--> READING_BODY --complete--> next request or end
 *                                   ^  \------------- reply without body ------------/        |
 *                                   \------- THINKING <------------ think time ---------------/
 *
 * and always in one of two queues of timeouts: that of connects, then that of sessions. Sockets are
 * edge-triggered and registered once. A body is not copied: recv(2) with MSG_TRUNC lets the kernel discard
 * it. When the client has had all its replies, or a timeout is over, it closes, as a browser does: with FIN,
 * and with RST when the kernel still holds data nobody has read.
 */
#ifndef TRIMTAB_LOADGEN_CONNECTION_H
#define TRIMTAB_LOADGEN_CONNECTION_H

#include "loadgen/accounting.h"
#include "loadgen/network.h"
#include "loadgen/reply.h"
#include "loadgen/sessions.h"
#include "loadgen/timers.h"

#include <stdbool.h>
#include <stdint.h>

struct connection;

/* Room for most whole replies, so that they take one system call; longer bodies are discarded in the kernel.
 */
#define RECEIVE_BYTES 16384

/* All open sessions, and what they share. */
struct connections {
    const struct session_plan *plan;
    struct network network;
    struct account account;
    uint64_t timeout_ns; /* of a connect, and then again of the session */
    int epoll;
    uint64_t open;
    struct timeout_queue connect_timeouts;
    struct timeout_queue session_timeouts;
    struct alarm_heap thinkers;
    char received[RECEIVE_BYTES];
};

/* Gets ready for no open session; plan, network, account, timeout_ns and epoll are the caller's to set. */
void connections_init(struct connections *all);

/* Frees what connections_init and the sessions since have taken. All sessions must have ended. */
void connections_free(struct connections *all);

/* Starts session number `session` of the plan, which was to start at `intended_ns`, and accounts for it. */
void connections_start(struct connections *all, uint32_t session, uint64_t intended_ns);

/* Handles the epoll events of one socket; `connection` is the pointer registered with it. */
void connection_handle(struct connections *all, struct connection *connection, uint32_t events);

/* Goes on with up to `limit` sessions whose think time is over at `now_ns`. */
void connections_wake(struct connections *all, uint64_t now_ns, unsigned limit);

/* Ends the sessions whose timeouts are over at `now_ns`. */
void connections_expire(struct connections *all, uint64_t now_ns);

/* Ends all sessions; the requests that they are at count as abandoned. */
void connections_interrupt(struct connections *all);

/* Returns when connections_wake or connections_expire will have something to do, TIMER_NEVER if nothing. */
uint64_t connections_due_ns(const struct connections *all);

#endif
