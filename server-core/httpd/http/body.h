/*
 * Bodies of requests (RFC 9112 §6.2, §7.1): found to their end and thrown away, for nothing that is served
 * here takes one. Like the parser of heads it may be fed in pieces of any size.
 */
#ifndef TRIMTAB_HTTPD_HTTP_BODY_H
#define TRIMTAB_HTTPD_HTTP_BODY_H

#include "common/chunks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a body, and of its framing: what others read with their defaults. */
#define BODY_BYTES_MAX (1 << 20)

struct body {
    struct chunks chunks;
    uint32_t taken; /* in all, framing included */
    uint32_t bytes; /* without it: those that have come of a body in chunks; all of any other */
    bool in_chunks;
};

enum body_outcome { BODY_INCOMPLETE, BODY_COMPLETE, BODY_BROKEN, BODY_TOO_LARGE };

/* Begins a body of `length` bytes, BODY_BYTES_MAX at most, or one in chunks. */
void body_begin(struct body *body, uint32_t length);
void body_begin_chunked(struct body *body);

/* Reads over `length` further bytes, of which *used belong to the body; all of them unless it is complete or
 * in error. */
enum body_outcome body_skip(struct body *body, const char *data, size_t length, size_t *used);

#endif
