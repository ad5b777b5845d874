/*
 * One request and its reply on a connection.
 *
 * DESIGN. A request is sent in one piece if the socket takes it. Of the reply, the head is received together
 * with as much of the body as comes along, and parsed; the rest of the body is not copied: recv(2) with
 * MSG_TRUNC lets the kernel discard it, unless it must be decrypted (transport.h), is verified, or comes in
 * chunks. Whatever goes wrong ends
 * the session, and with it the connection: every function says whether there still is one. Requests that are
 * statements are sent here too; sql_exchange.h reads what comes back.
 */
#ifndef TRIMTAB_LOADGEN_EXCHANGE_H
#define TRIMTAB_LOADGEN_EXCHANGE_H

#include "loadgen/connections.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Begins the present request of `connection`, meant for `intended_ns`. Returns false when the session has
 * ended. */
bool exchange_ask(struct connections *all, struct connection *connection, uint64_t intended_ns);

/* Sends what is left of the present request. Returns false when the session has ended. */
bool exchange_send(struct connections *all, struct connection *connection);

/* Says whether the present request has been sent completely. */
bool exchange_sent(const struct connections *all, const struct connection *connection);

/* Receives up to `size` bytes, into `buffer`, or nowhere when that is NULL. Returns their number; 0 when
 * nothing more is to be had now; and -1 when the session has ended, or the end of the stream was that of a
 * reply and it goes on over another connection. */
ssize_t exchange_receive(struct connections *all, struct connection *connection, void *buffer, size_t size);

/* Says whether nothing more is to be read now, after a read that went well. `filled`: it filled its buffer;
 * `until_empty` as for exchange_read. */
bool exchange_drained(const struct connections *all, const struct connection *connection, bool filled,
                      bool until_empty);

/* Goes on with the session after a whole reply, which has been counted. Returns whether it does, on the same
 * connection. */
bool exchange_go_on(struct connections *all, struct connection *connection);

/* Receives once, and goes on with the session when that completes a reply. `until_empty`: the end of the
 * stream is known to follow, so a short read is not the last one. Returns whether to call again: more may be
 * waiting, on a session that goes on. */
bool exchange_read(struct connections *all, struct connection *connection, bool until_empty);

#endif
