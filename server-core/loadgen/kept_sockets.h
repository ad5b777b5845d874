/*
 * Sockets that wait for a session.
 *
 * DESIGN. Where connections end with RST, the socket of a session that went well is kept: closed towards the
 * server, but bound, registered with epoll, and as good as a new one. It serves the next session from the
 * same source address. To make, bind, register and close a socket takes half as long as to connect it.
 */
#ifndef TRIMTAB_LOADGEN_KEPT_SOCKETS_H
#define TRIMTAB_LOADGEN_KEPT_SOCKETS_H

#include "loadgen/connections.h"

#include <stdbool.h>

/* Ends the connection of a session that has had all its replies, and keeps its socket. Returns false when it
 * is not to be kept: only a socket that is like a new one is. */
bool kept_socket_put(struct connections *all, struct connection *connection);

/* Begins to connect a socket for a session, from the source whose turn it is: one that was kept, or a new
 * one. Unless that fails, *connection is the session's, with nothing but its socket set; when it does, errno
 * says why. */
enum connect_status kept_socket_connect(struct connections *all, bool slow, struct connection **connection);

/* Closes and frees a connection without a session; errno stays what it is. */
void kept_socket_discard(struct connection *connection);

/* Discards all of them. */
void kept_sockets_free(struct connections *all);

#endif
