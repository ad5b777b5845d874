/*
 * HTTP/2 towards the server (RFC 9113), with libnghttp2.
 *
 * DESIGN. A session is one connection, and each of its requests a stream of it. The requests of a burst run
 * at once, up to a number of streams: the first of a burst goes alone, as a browser must read a page before
 * it knows what belongs to it; the others follow without waiting for each other's replies, each its pause
 * after the one before was asked. The next burst begins its pause after the last reply of this one. An
 * endless session of the closed loop keeps that many streams busy.
 *
 * A stream that fails, or in the closed loop times out, ends its request alone. A connection that fails ends
 * all that are under way. After a GOAWAY without an error the streams that the server still takes go on;
 * those that it does not are asked again, as it has done nothing for them, with the rest of the session on a
 * new connection.
 *
 * http2.c decides what is asked and when; http2_frames.c turns frames into requests and replies.
 */
#ifndef TRIMTAB_LOADGEN_HTTP2_H
#define TRIMTAB_LOADGEN_HTTP2_H

#include "loadgen/connections.h"

#include <stdbool.h>
#include <stdint.h>

struct http2;
struct http2_connection;

/* Makes what the connections of a run share: `streams` is how many requests a session asks at once,
 * `authority` is to live as long. */
struct http2 *http2_new(bool over_tls, const char *authority, unsigned streams);

/* Frees it, NULL too. No connection may be left. */
void http2_free(struct http2 *http2);

/* Begins, or after a GOAWAY goes on with, the session of `connection`, whose transport is open. Returns false
 * when it has ended. So do the next three. */
bool http2_begin(struct connections *all, struct connection *connection);

/* The alarm of a pause has gone off. */
bool http2_wake(struct connections *all, struct connection *connection, uint64_t now_ns);

/* Sends what has not gone out yet. */
bool http2_send(struct connections *all, struct connection *connection);

/* Receives once, and goes on with the session. Returns what exchange_read does. */
bool http2_read(struct connections *all, struct connection *connection, bool until_empty);

/* Says whether everything has gone out that was to be sent. */
bool http2_sent(const struct connection *connection);

/* Closed loop: when the request that was asked first times out; `otherwise_ns` when none is under way. */
uint64_t http2_due_ns(const struct connections *all, const struct connection *connection,
                      uint64_t otherwise_ns);

/* Closed loop: gives up the requests that have timed out, and no others. Returns whether there were any;
 * http2_wake asks for others in their place. */
bool http2_give_up(struct connections *all, struct connection *connection, uint64_t now_ns);

#endif
