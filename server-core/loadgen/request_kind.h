/*
 * One thing to ask for: a request, ready to be sent.
 */
#ifndef TRIMTAB_LOADGEN_REQUEST_KIND_H
#define TRIMTAB_LOADGEN_REQUEST_KIND_H

#include "loadgen/reply.h"

#include <stdbool.h>
#include <stdint.h>

#define SIZE_UNKNOWN UINT64_MAX
#define ROWS_UNKNOWN UINT64_MAX

enum method { METHOD_GET, METHOD_HEAD, METHOD_POST };

/* What all requests have in common. */
struct request_form {
    const char *authority; /* the Host field */
    bool http_1_0;
    bool close;  /* the connection is to end with the reply */
    bool http_2; /* only path and body are text; the rest is said in frames, and none of the above matters */
    bool sql;    /* they are statements for a MariaDB server, likewise */
};

struct request_kind {
    /* Request line, fields, empty line, and for POST the body; over HTTP/2 path and body; or packets of
     * statements. */
    char *text;
    uint32_t text_length;
    uint32_t path_length; /* over HTTP/2 */
    enum method method;
    uint64_t size;        /* bytes that the body of the reply, or the rows, must have, or SIZE_UNKNOWN */
    uint64_t rows;        /* that statements must send, find or change, or ROWS_UNKNOWN */
    uint64_t content_key; /* of the file, see content.h */
    /* The same request under the condition that the file has changed, over HTTP/2 the value of that
     * condition, once a reply has told by what to name its present state; NULL before. */
    char *conditional_text;
    uint32_t conditional_length;
    bool by_tag;          /* the condition is on the entity tag, and not on the time of modification */
    uint64_t learnt_size; /* the length that a reply with a body had, 0 before */
};

/* Makes the request for `uri`; `contents` is the body of a POST, and else NULL. */
struct request_kind request_kind_make(const struct request_form *form, enum method method, const char *uri,
                                      const char *contents, uint64_t size);

/* Makes the request of `statements`, with a semicolon between each two. One without any statement has no
 * text. */
struct request_kind request_kind_make_sql(const char *statements, uint64_t size, uint64_t rows);

/* Makes the conditional request from a reply's entity tag or else its time of modification (RFC 9110 §13.1),
 * unless it has neither. */
void request_kind_learn(struct request_kind *kind, const struct reply_head *head);

void request_kind_free(struct request_kind *kind);

/* The name of a method in a request line. */
const char *method_name(enum method method);

#endif
