/*
 * The reply of a connection on its way: begun, gone on with, and what follows from an attempt to send. The
 * sending itself is the matter of the driver (driver.h), usually of delivery.h.
 *
 * The usual head lies finished in the cache; it and others are put together in memory of the worker and given
 * to the socket at once, and only what the socket does not take is copied.
 */
#ifndef TRIMTAB_HTTPD_CONNECTION_SENDING_H
#define TRIMTAB_HTTPD_CONNECTION_SENDING_H

#include "httpd/connection/connection.h"

/* Begins to send connection->protocol.reply. Leaves the connection READING (the reply is out), SENDING (the
 * socket is full, or somebody else sends), LINGERING or CLOSED. */
void sending_begin(struct worker *worker, struct connection *connection);

/* Goes on, on a connection that is SENDING; with the same outcomes. */
void sending_continue(struct worker *worker, struct connection *connection);

/* Draws the conclusion from an attempt to send, in the thread whose worker the connection belongs to; with
 * the same outcomes. */
void sending_settle(struct worker *worker, struct connection *connection, enum send_outcome outcome);

/* For a driver: sends here and now (delivery_pass()); only what is in memory (delivery_pass_resident()). */
static inline enum send_outcome sending_pass(struct connection *connection, struct counters *counters)
{
    return delivery_pass(&connection->delivery, &connection->protocol.reply, connection->fd, counters);
}

static inline enum send_outcome sending_pass_resident(struct connection *connection,
                                                      struct counters *counters)
{
    return delivery_pass_resident(&connection->delivery, &connection->protocol.reply, connection->fd,
                                  counters);
}

/* For a driver that leaves all sending to somebody else. */
enum send_outcome sending_leave_to_others(struct worker *worker, struct connection *connection);

#endif
