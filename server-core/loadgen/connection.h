/*
 * The life of one connection (connections.h): what ends it, opens it again, and what it waits for.
 */
#ifndef TRIMTAB_LOADGEN_CONNECTION_H
#define TRIMTAB_LOADGEN_CONNECTION_H

#include "loadgen/connections.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Goes on to the next request of the session, after the present one has been counted. Returns false when
 * there is none: the caller ends the session. */
bool connection_next_request(struct connections *all, struct connection *connection);

/* Closes the connection and opens another one for the rest of the session. Returns false when the session has
 * ended. */
bool connection_reopen(struct connections *all, struct connection *connection);

/* Counts a session whose connect failed at once with `error`: over before it has a socket, which is to ask
 * `offered` requests from `first` on. */
void connection_fail_to_start(struct connections *all, uint32_t first, uint32_t offered, int error);

/* Has epoll report `events`, from now on, besides what it reports already. */
void connection_watch(struct connections *all, struct connection *connection, uint32_t events);

/* Has epoll say when more can be sent. */
void connection_watch_sending(struct connections *all, struct connection *connection);

/* Starts the timeout of the session, or in the closed loop of its next request. */
void connection_start_timeout(struct connections *all, struct connection *connection, uint64_t now_ns);

/* Ends a session: counts the offered requests from the present one on as abandoned, closes, frees
 * `connection`. */
void connection_end(struct connections *all, struct connection *connection, enum session_end end);

/* Ends a session because its present request, or the connection that it needs, failed: for `reason`, with the
 * detail that account_failure wants. */
void connection_fail(struct connections *all, struct connection *connection, enum failure reason,
                     unsigned detail);

/* Likewise, for the reason that `error`, an errno of the socket, stands for. */
void connection_fail_with_errno(struct connections *all, struct connection *connection, int error);

/* Likewise, because the transport returned `status`: 0 for the end of the stream, -1 for what errno says. */
void connection_fail_to_receive(struct connections *all, struct connection *connection, ssize_t status);

#endif
