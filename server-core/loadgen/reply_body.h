/*
 * The body of an HTTP/1.x reply: where it ends (RFC 9112 §6.3), and its contents, which are compared with
 * what they should be if the reply is verified.
 *
 * DESIGN. As a rule the length is known: the bytes that come are subtracted from it. A body that ends with
 * the connection is one whose length nobody reaches. Chunks are taken apart where they were received
 * (common/chunks.h); what they hold counts, not their framing.
 */
#ifndef TRIMTAB_LOADGEN_REPLY_BODY_H
#define TRIMTAB_LOADGEN_REPLY_BODY_H

#include "loadgen/connections.h"

#include <stdbool.h>
#include <stddef.h>

enum reply_body {
    REPLY_BODY_GOES_ON,
    REPLY_BODY_COMPLETE, /* the head has its length */
    REPLY_BODY_EXCEEDED, /* there are bytes behind it */
    REPLY_BODY_BROKEN,   /* these are no chunks, or have more than REPLY_HEAD_MAX bytes of framing in a row */
};

/* Begins the body of the reply whose head `connection` has. */
void reply_body_begin(struct connection *connection);

/* Says whether bytes of the body are looked at, so that they must be received. */
bool reply_body_looked_at(const struct connection *connection);

/* Returns how many bytes to ask the transport for: one more than may come, so that a server which sends too
 * much is found out. */
size_t reply_body_wanted(const struct connection *connection);

/* Takes the next `length` bytes, which `data` need not hold if nobody looks at them. */
enum reply_body reply_body_take(const struct connections *all, struct connection *connection,
                                const char *data, size_t length);

/* Says whether the body is complete now that the stream has ended; then the head has its length. */
bool reply_body_close(const struct connections *all, struct connection *connection);

#endif
