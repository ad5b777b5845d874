/*
 * Parses HTTP/1.x request heads (RFC 9112), strictly and incrementally.
 *
 * DESIGN. The parser looks at whole lines. It remembers how far it has come, so the caller may call it again
 * with the same bytes and more behind them; no byte is examined twice, however the request was cut into
 * packets. It copies nothing: the target is given by its place in the caller's bytes.
 *
 * Strict means that whatever RFC 9112 lets a server refuse is refused where leniency has been used to smuggle
 * requests: bare LF, obs-fold, space before the colon, missing or repeated Host, Content-Length together with
 * Transfer-Encoding or repeated. Nothing that is served here takes a body: that of a GET or HEAD is read to
 * its end and thrown away (http/body.h); other methods are refused without reading it.
 */
#ifndef TRIMTAB_HTTPD_HTTP_REQUEST_H
#define TRIMTAB_HTTPD_HTTP_REQUEST_H

#include "httpd/http/body.h"
#include "httpd/http/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REQUEST_LINE_MAX = 8192,     /* bytes of the request line without CR LF; RFC 9112 §3 asks for 8000 */
    REQUEST_HEADERS_MAX = 16384, /* bytes of all header lines together, with their CR LF */
    REQUEST_HEADER_COUNT_MAX = 100,
    /* No head is longer: request line and CR LF, an empty line before it, headers, one byte over the limit.
     */
    REQUEST_BYTES_MAX = REQUEST_LINE_MAX + 2 + 2 + REQUEST_HEADERS_MAX + 1,
};

enum request_method { METHOD_GET, METHOD_HEAD, METHOD_OTHER };

/* A zeroed structure is a request of which nothing has been seen. */
struct request {
    /* Progress. */
    uint32_t parsed;  /* bytes of complete lines, and of the body behind them */
    uint32_t scanned; /* bytes known to hold no further end of a line */
    uint32_t header_bytes;
    uint16_t header_count;
    uint8_t line_kind;
    bool complete;        /* there is something to reply */
    uint32_t head_length; /* once the head is complete */
    struct body body;

    /* What the head said. */
    uint8_t method;        /* enum request_method */
    uint8_t minor_version; /* of HTTP/1.x */
    bool host_seen, content_length_seen, transfer_encoding_seen;
    bool has_body, wants_close, wants_keep_alive, expects_continue;
    bool conditional;       /* has a header of RFC 9110 §13.1 or §14.2; http/conditions.h evaluates them */
    uint32_t target_offset; /* path and query of the target; the caller's bytes hold them */
    uint32_t target_length;
    uint64_t content_length;

    /* The outcome. */
    uint16_t status; /* 0: serve it; otherwise the error to reply with (enum http_status) */
    bool keep_alive; /* the connection may go on after the reply */
    bool more_comes; /* bytes that will not be read: those behind an error, or of a body */
};

/*
 * Looks at `data`, `length` bytes received since the start of this request. Returns false while the request
 * is incomplete. Returns true, and does so again for the same bytes, when there is something to reply: then
 * request->parsed bytes belong to it, and status and keep_alive are set. (After an error that ends the
 * connection, bytes behind are of no interest.)
 */
bool request_parse(struct request *request, const char *data, size_t length);

/* Says how many of the `length` bytes that an incomplete request has been parsed from must be there when it
 * goes on: the caller may forget those behind, which are of a body. */
size_t request_keep(struct request *request, size_t length);

/* A header line of a complete head; zeroed before the first search. */
struct header {
    const char *value; /* without white space at its ends */
    size_t value_length;
    uint32_t next; /* where the next line begins */
};

/* Finds the next line of header `name` (in any case of letters) behind *header. Returns false when there is
 * none. For headers that hardly any request has; the usual ones are taken while the head is parsed. */
bool request_find_header(const struct request *request, const char *data, const char *name,
                         struct header *header);

#endif
