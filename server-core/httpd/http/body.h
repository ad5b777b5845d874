/*
 * Bodies of requests (RFC 9112 §6.2, §7.1): found to their end and thrown away, for nothing that is served
 * here takes one.
 *
 * Like the parser of heads it may be fed in pieces of any size. Framing is taken strictly: CR LF ends a line,
 * a size has hexadecimal digits only, and lines hold nothing that a header value may not.
 */
#ifndef TRIMTAB_HTTPD_HTTP_BODY_H
#define TRIMTAB_HTTPD_HTTP_BODY_H

#include <stddef.h>
#include <stdint.h>

/* Of a body, and of its framing: what others read with their defaults. */
#define BODY_BYTES_MAX (1 << 20)

struct body {
    uint64_t left;  /* bytes still to come: of the body, or of its present chunk */
    uint32_t taken; /* in all, framing included, */
    uint32_t bytes; /* without it */
    uint8_t state;
};

enum body_outcome { BODY_INCOMPLETE, BODY_COMPLETE, BODY_BROKEN, BODY_TOO_LARGE };

/* Begins a body of `length` bytes, or one in chunks. */
void body_begin(struct body *body, uint64_t length);
void body_begin_chunked(struct body *body);

/* Reads over `length` further bytes, of which *used belong to the body; all of them unless it is complete or
 * in error. */
enum body_outcome body_skip(struct body *body, const char *data, size_t length, size_t *used);

#endif
