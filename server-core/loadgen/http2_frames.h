/*
 * Requests as frames, and frames as replies: what http2.c has of a connection and its streams, and what
 * libnghttp2 calls.
 */
#ifndef TRIMTAB_LOADGEN_HTTP2_FRAMES_H
#define TRIMTAB_LOADGEN_HTTP2_FRAMES_H

#include "loadgen/connections.h"

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stdint.h>

/* What is read, and written, at once. */
#define HTTP2_INPUT_BYTES  65536
#define HTTP2_OUTPUT_BYTES 16384

struct http2 {
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *options;
    const char *scheme;
    const char *authority;
    unsigned streams;
    struct http2_stream *free; /* kept for later */
    char input[HTTP2_INPUT_BYTES];
    char output[HTTP2_OUTPUT_BYTES];
};

/* A request and its reply. */
struct http2_stream {
    struct http2_stream *next, *previous; /* in the order in which they were asked */
    uint64_t intended_ns;
    uint64_t asked_ns;
    uint64_t received; /* bytes of the body */
    struct asked asked;
    struct reply_head head; /* its texts are the stream's own, NULL for none */
    int32_t id;
    uint32_t request;
    uint32_t contents_sent; /* bytes of a POST */
    bool begun;             /* the first bytes of the reply have come */
    bool head_complete;
    bool ended;     /* the server has said that this is all */
    bool malformed; /* what came is not a reply */
    bool reset;     /* by the server */
    bool given_up;  /* has been counted, and its end is awaited */
};

struct http2_streams {
    struct http2_stream *first, *last;
};

struct http2_connection {
    struct connections *all;
    struct connection *connection;
    nghttp2_session *session;
    struct http2_streams under_way;
    struct http2_streams again; /* to be asked once more, on the next connection */
    unsigned in_flight;         /* streams that are under way and not given up */
    uint64_t due_ns;            /* when the next request is */
    bool answered;              /* a request on this connection */
    bool leaving;               /* the server has sent GOAWAY: */
    int32_t last_id;            /* the last stream that it takes */
    uint32_t error;             /* why, 0 for no error */
    bool timed_out;             /* a request of the session has */
    char *unsent;               /* what the socket has not taken yet, else NULL */
    size_t unsent_bytes;
    size_t unsent_begin;
};

/* Makes what libnghttp2 is to call. */
void http2_frames_init(struct http2 *http2);

/* Hands the request of the stream to libnghttp2. */
void http2_submit(struct http2_connection *multiplexed, struct http2_stream *stream);

/* Says whether a request waits for the replies to all those before: the first of a burst, and the one behind
 * it. */
bool http2_waits(const struct connections *all, const struct connection *connection);

/* Makes a stream; takes one out of a list, or puts it at its end; and frees one. */
struct http2_stream *http2_stream_new(struct http2 *http2);
void http2_stream_append(struct http2_streams *list, struct http2_stream *stream);
void http2_stream_remove(struct http2_streams *list, struct http2_stream *stream);
void http2_stream_free(struct http2 *http2, struct http2_stream *stream);

/* The connection is at its end: counts the requests that are under way as ended by `outcome`, or as failed
 * for `reason` with its detail where that is OUTCOME_FAILED. Returns whether there were any. */
bool http2_end_requests(struct connections *all, struct connection *connection, enum outcome outcome,
                        enum failure reason, unsigned detail);

/* Takes leave of the server, if that is the way to end, and forgets the connection; what is to be asked again
 * stays, but with `for_good`. */
void http2_close(struct connections *all, struct connection *connection, bool for_good);

#endif
