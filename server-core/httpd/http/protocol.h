/*
 * The server's side of HTTP/1.x on one connection, without I/O: what has come, which request is next, what is
 * replied to it, and whether the connection goes on.
 *
 *     bytes that have come --> feed --> next request --> reply (reply.h) --> "n bytes are out" --+
 *                               ^                                                                |
 *                               +------------------- the reply is over ------- keep_alive -------+--> the end
 *
 * Whoever runs it owns the socket, the clock and the files. Bytes may come in pieces of any size: those that
 * cannot be dealt with yet (part of a request, or requests behind a reply that is under way) are kept in
 * memory of the protocol until they can, and nothing is kept between requests that come whole.
 */
#ifndef TRIMTAB_HTTPD_HTTP_PROTOCOL_H
#define TRIMTAB_HTTPD_HTTP_PROTOCOL_H

#include "httpd/http/reply.h"
#include "httpd/http/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input;

/* Zeroed: nothing has come. */
struct protocol {
    struct input *input; /* what is kept; NULL: nothing */
    struct reply reply;  /* under way */
    bool keep_alive;     /* after the reply */
    bool more_comes;     /* the peer may be sending what will not be read (RFC 9112 §9.6) */
};

/* Bytes that are looked at, and how far the first request in them is known. */
struct feed {
    struct request request;
    const char *bytes;
    size_t length;
    struct input *input; /* that they have been taken out of; NULL: they are the caller's */
};

/* Begins to look at `length` bytes that have come just now, while nothing is kept. */
static inline void protocol_feed(struct feed *feed, const char *bytes, size_t length)
{
    *feed = (struct feed){.bytes = bytes, .length = length};
}

/* The same for what is kept, which it takes out. Returns false if there is nothing. */
bool protocol_feed_kept(struct protocol *protocol, struct feed *feed);

/* Says whether there is a complete request: feed->request, which begins at feed->bytes. */
static inline bool protocol_next(struct feed *feed)
{
    return feed->length > 0 && request_parse(&feed->request, feed->bytes, feed->length);
}

/* That request is to be answered now: says in `protocol` whether the connection may go on after it, if the
 * server wants that too (`may_stay`). */
static inline void protocol_accept(struct protocol *protocol, const struct feed *feed, bool may_stay)
{
    const struct request *request = &feed->request;

    protocol->keep_alive = request->keep_alive && may_stay;
    protocol->more_comes = request->more_comes || request->parsed < feed->length;
}

/* Goes on to what stands behind the request. */
static inline void protocol_step(struct feed *feed)
{
    feed->bytes += feed->request.parsed;
    feed->length -= feed->request.parsed;
    if (feed->length > 0)
        feed->request = (struct request){0};
}

/* Ends the look at the bytes and keeps those that are left. Returns false when there is no memory. */
bool protocol_keep(struct protocol *protocol, struct feed *feed);

/* Ends it and forgets them. */
void protocol_forget(struct feed *feed);

/* Keeps `length` bytes more behind those that are kept. Returns false when there is no memory. */
bool protocol_append(struct protocol *protocol, const char *bytes, size_t length);

/* Returns where bytes behind those that are kept can be received into, with room for *room bytes; NULL when
 * there is no memory. protocol_filled() says how many have come. */
char *protocol_room(struct protocol *protocol, size_t *room);
void protocol_filled(struct protocol *protocol, size_t length);

/* Returns how many bytes are kept, and how many have come of the body of the first request in them. */
size_t protocol_kept_bytes(const struct protocol *protocol);
uint64_t protocol_body_bytes(const struct protocol *protocol);

/* Frees all that is kept. */
void protocol_drop_input(struct protocol *protocol);

#endif
